"""Make text of learners safe to show, on a terminal or a page: visible characters only, and of
limited length.
"""

import re
import unicodedata

LETTERS = 4_100  # characters of a message that are shown; the gradebook saves no more
LINES = 80
JOINERS = "\u200c\u200d"  # invisible, but needed to write Persian, Hindi and some emoji
HIDING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)  # control, direction, halves of characters


def visible(text: object, letters: int = LETTERS, lines: int = LINES) -> str:
    """`text` with escapes for invisible characters and changes of writing direction (`\\u202e`).

    A text of more than so many letters or lines is cut; a last line says how much is missing.
    """
    whole = str(text).replace("\r\n", "\n").replace("\r", "\n")
    start = "\n".join(whole[: letters + 1].split("\n")[:lines])[:letters]
    cut = len(whole) - len(start)
    rest = f"\n... {cut:,} more characters" if cut else ""
    return spelled(start) + rest


def spelled(text: str) -> str:
    """`text` with escapes for invisible characters and changes of writing direction."""
    return re.sub(r"[^\t\n -~]", _spelled, text)


def one_line(text: object) -> str:
    """A learner's id or another name, on one line."""
    return visible(" ".join(str(text)[:1000].split()), 100).replace("\n", " ")


def plain(text: object, longest: int = 200) -> str:
    """Text for one line of a terminal: characters that move the cursor or change the writing
    direction become question marks.
    """
    line = HIDING.sub("?", str(text))
    return line if len(line) <= longest else line[: longest - 3] + "..."


def _spelled(match: re.Match[str]) -> str:
    letter = match.group()
    if letter in JOINERS or unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return letter
    return letter.encode("unicode_escape").decode("ascii")

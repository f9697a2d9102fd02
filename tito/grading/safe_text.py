"""Text from learners, as it can be shown: nothing invisible, nothing endless."""

import re
import unicodedata

LETTERS = 4_100  # of one message that are shown: all that the gradebook keeps of one
LINES = 80
JOINERS = "\u200c\u200d"  # invisible, and needed to spell: Persian, Hindi, emoji of families
HIDING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)  # control, direction, halves of characters


def visible(text: object, letters: int = LETTERS, lines: int = LINES) -> str:
    """`text` with what is invisible or turns the writing direction spelled out (`\\u202e`), and its
    end cut off when it is long.

    letters, lines  that are shown at most; what is cut is counted in a last line
    """
    whole = str(text).replace("\r\n", "\n").replace("\r", "\n")
    start = "\n".join(whole[: letters + 1].split("\n")[:lines])[:letters]
    cut = len(whole) - len(start)
    rest = f"\n... {cut:,} more characters" if cut else ""
    return re.sub(r"[^\t\n -~]", _spelled, start) + rest


def one_line(text: object) -> str:
    """A learner's id or another name, on one line."""
    return visible(" ".join(str(text)[:1000].split()), 100).replace("\n", " ")


def plain(text: object, longest: int = 200) -> str:
    """Text as a terminal can show it on one line: what moves the cursor or turns the direction
    becomes a question mark.
    """
    line = HIDING.sub("?", str(text))
    return line if len(line) <= longest else line[: longest - 3] + "..."


def _spelled(match: re.Match[str]) -> str:
    letter = match.group()
    if letter in JOINERS or unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return letter
    return letter.encode("unicode_escape").decode("ascii")

"""HTML pages from what learners wrote: nothing of it is markup, nothing of it is endless, and no
page asks another host for anything.

Feedback, similarity and the page for graders are made with this. Templates are in this folder and
in `page/`; each folder has a `frame.html`. jinja2 escapes every value,
`visible` goes before it where the value came from a learner.
"""

import hashlib
import re
import unicodedata
from functools import cache
from pathlib import Path

from tito import files
from tito.errors import MachineError

LETTERS = 4_100  # of one message that are shown: all that the gradebook keeps of one
LINES = 80
JOINERS = "\u200c\u200d"  # invisible, and needed to spell: Persian, Hindi, emoji of families
RESERVED = re.compile(
    r"(con|prn|aux|nul|(com|lpt)[0-9])"
)  # file names that Windows keeps for devices


def visible(text, letters=LETTERS, lines=LINES):
    """`text` with what is invisible or turns the writing direction spelled out (`\\u202e`), and its
    end cut off when it is long.

    letters  characters that are kept at most, lines  lines; what is cut is counted in a last line
    """
    text = str(text).replace("\r\n", "\n").replace("\r", "\n")
    kept = "\n".join(text[: letters + 1].split("\n")[:lines])[:letters]
    rest = f"\n... {len(text) - len(kept):,} more characters" if len(kept) < len(text) else ""
    return re.sub(r"[^\t\n -~]", _spelled, kept) + rest


def name(text):
    """A learner's id or another name, on one line."""
    return visible(" ".join(str(text)[:1000].split()), 100).replace("\n", " ")


def _spelled(found):
    letter = found.group()
    if letter in JOINERS or unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return letter
    return letter.encode("unicode_escape").decode("ascii")


def file_name(student):
    """A file name (without suffix) for a learner's id: safe on every system, another one for every
    id.

    An id of lower-case letters, digits, - and _ is its own name; every other gets a hash behind
    what is left of it, and so does one that looks as if it had one.
    """
    if (
        re.fullmatch(r"[a-z0-9_][a-z0-9_-]{0,59}", student)
        and not RESERVED.fullmatch(student)
        and not re.search(r"-[0-9a-f]{16}$", student)
    ):
        return student
    readable = re.sub(r"[^a-z0-9_]+", "-", student.lower())[:40].strip("-") or "learner"
    return f"{readable}-{hashlib.sha256(student.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def render(template, **values):
    """The page that `template` makes of `values`."""
    return _environment().get_template(template).render(values)


@cache
def _environment():
    try:
        import jinja2
    except ModuleNotFoundError:
        raise MachineError(
            "The pages need jinja2, which is not installed here.",
            "In the course's folder: bin/setup instructor",
        ) from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent.parent, encoding="utf-8"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"visible": visible, "name": name}
    return environment


def write(folder, pages):
    """Write `pages` ({name in the folder: text}) where they differ from what stands there.

    Returns the paths written.
    """
    written = []
    for page, text in pages.items():
        path, data = folder / page, text.encode("utf-8")
        if not (path.is_file() and path.read_bytes() == data):
            files.write(path, data)
            written.append(path)
    return written

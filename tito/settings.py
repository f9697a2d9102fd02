"""The one reader of `tito.toml`, `lesson.toml` and the other TOML files beside a lesson.

A form says which keys a table may have, and what their values should be. Anything else in a file
is refused with the name that is meant: no setting is ignored. What a value means is for the module
that uses it.
"""

import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

from tito.errors import UsageError, suggest

GITHUB = "https://github.com/"
MOST = 1_000_000  # points, minutes, seconds, MB: larger numbers are typing mistakes


@dataclass(frozen=True)
class Key:
    """What the value of a key should be.

    fits    whether a value is right
    should  what it should be, in words
    needed  whether it may not be left out
    form    of a table, its keys; None: any
    """

    fits: Callable[[Any], object]
    should: str
    needed: bool = False
    form: "Form | None" = None


Form = Mapping[str, Key]


def is_number(value: Any) -> bool:
    kinds = (int, float, Decimal)
    return isinstance(value, kinds) and not isinstance(value, bool) and math.isfinite(value)


def text(pattern: str = r"(?s).*", should: str = "a text, between quotes", **more: Any) -> Key:
    return Key(
        lambda value: isinstance(value, str) and re.fullmatch(pattern, value), should, **more
    )


def number(least: float, most: float, **more: Any) -> Key:
    should = f"a number between {least} and {most}"
    return Key(lambda value: is_number(value) and least <= value <= most, should, **more)


def choice(*words: str) -> Key:
    return Key(lambda value: value in words, f"one of: {', '.join(words)}")


def texts(**more: Any) -> Key:
    return Key(
        lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
        "a list of names",
        **more,
    )


def table(form: Form | None = None, should: str = "a table", **more: Any) -> Key:
    return Key(lambda value: isinstance(value, dict), should, form=form, **more)


FLAG = Key(lambda value: isinstance(value, bool), "true or false")
TEXTS = Key(
    lambda value: isinstance(value, dict) and all(isinstance(v, str) for v in value.values()),
    "a table with one text for each name",
)
LISTS = Key(
    lambda value: isinstance(value, dict) and all(map(texts().fits, value.values())),
    "a table with a list of texts for each name",
)

# tito.toml

POLICIES = ("latest", "best", "last-on-time")
MISSING = ("after due", "empty", "zero")
# The earlier lessons with which a lesson is graded: the learner's; the course's; or first the
# learner's, then the course's for the checks that fail.
BASES = ("own", "reference", "both")
COMMON: Form = {
    "edition": text(needed=True),
    "package": text(r"[^\W\d]\w*", 'a name such as "tinytorch"', needed=True),
    "book": text(
        r"(https?://\S+/)?", 'the address of the published book, which ends in /: "https://.../"'
    ),
}
WORKSPACE: Form = {
    "workspace": table(
        {"course": text(needed=True), **COMMON, "tracks": texts(), "changes": texts()}
    ),
    "learner": table({"name": text(needed=True)}),  # for the certificate
}
COURSE: Form = {
    "course": table(
        {
            "name": text(needed=True),
            **COMMON,
            "compare": FLAG,
            "tracks": texts(),  # what `release`, `grade` and `init` of this course use
        }
    ),
    "book": table(  # where it is published
        {
            "release": text(
                rf"({GITHUB}[\w-]+/(?!\S+\.git$)[\w.-]+)?",
                f'an address like "{GITHUB}OWNER/REPOSITORY", without .git or a / at the end: '
                "Binder opens repositories of GitHub",
            ),
            "branch": text(r"[\w.-]+(/[\w.-]+)*", 'the name of a branch, such as "main"'),
        }
    ),
    "grading": table(
        {
            "policy": choice(*POLICIES),
            "missing": choice(*MISSING),
            "grace_minutes": number(0, MOST),
            "percent_per_day": number(0, 100),
            "at_most_percent": number(0, 100),
            "mark_percent": number(0, 100),
            "zone": text(r"(?s).+", 'a time zone: "Europe/Berlin", say, or "+01:00"'),
            "due": table(
                None,
                "a table: [grading.due], then lines such as tensor = 2026-12-01T23:59:00+01:00",
            ),
            "check_seconds": number(0.1, MOST),
            "memory_mb": number(512, MOST),
            "earlier_lessons": choice(*BASES),
            "gradebook": text(r"(?s).+", "the path or the URL of the gradebook"),
        }
    ),
}
RENAMED = {
    "late": "[late] is now in [grading]: move its lines there, and those of [late.due] to "
    "[grading.due].",
    "resubmission": "[resubmission] is now in [grading]: move its lines there.",
}

# tracks.toml: a table for each track

TRACK: Form = {
    "title": text(r"\s*\S.*", "a line of text, between quotes", needed=True),
    "hours": number(0, 1000, needed=True),
    "exercises": Key(
        lambda value: value and texts().fits(value), "a list of lessons and exercises", needed=True
    ),
}

# The files of a lesson.

LESSON: Form = {
    "title": text(needed=True),
    "summary": text(needed=True),
    "difficulty": Key(
        lambda value: type(value) is int and 1 <= value <= 5,
        "a whole number from 1 to 5",
        needed=True,
    ),
    "hours": number(0, 1000, needed=True),
    "prerequisites": texts(needed=True),
    "enables": texts(needed=True),
    "terms": texts(needed=True),
    "synonyms": LISTS,  # {a term: what learners call it, or type when they look for it}
    "pytorch": TEXTS,  # {a term, or a name of the package: PyTorch's name}
    "in_browser": Key(lambda value: type(value) is bool, "true or false"),  # see book/browser
    "answers": TEXTS,  # of a release: see Lesson.released_facts
}


def read_root(folder: Path, strict: bool = True) -> dict[str, dict[str, Any]]:
    """The tables of the `tito.toml` in `folder`. Fractions are Decimals.

    strict  refuse also names that this tito does not know: a newer one may have written them

    Raises UsageError.
    """
    path = folder / "tito.toml"
    try:
        written = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not valid TOML: {error}.", "Save it as UTF-8.") from None
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}.", "Name a folder with a tito.toml."
        ) from None
    tables = parse(path, written, Decimal)
    kinds = {"course": COURSE, "workspace": WORKSPACE}
    kind = next((kind for kind in kinds if isinstance(tables.get(kind), dict)), None)
    if not kind:
        raise UsageError(
            f"{path} has no [course] and no [workspace].", "Copy it from another workspace."
        )
    form = kinds[kind] if strict else {kind: kinds[kind][kind]}
    _Checking(path, written, form, strict).check(tables, form)
    return tables


def read(path: Path, written: str, form: Form) -> dict[str, Any]:
    """What the text of a file of a lesson says. Raises UsageError."""
    values = parse(path, written, float)
    _Checking(path, written, form, True).check(values, form)
    return values


def parse(path: Path, written: str, number: Callable[[str], Any]) -> dict[str, Any]:
    try:
        return tomllib.loads(written, parse_float=number)
    except (ValueError, ArithmeticError, RecursionError) as error:  # also for endless numbers
        raise UsageError(f"{path}:1: it is not valid TOML: {error}.", "Correct it.") from None


@dataclass(frozen=True)
class _Checking:
    """Checks a file, and refuses with the line of what is wrong.

    known  the form of the whole file
    strict whether unknown names are refused
    """

    path: Path
    written: str
    known: Form
    strict: bool

    def check(self, values: dict[str, Any], form: Form, inside: tuple[str, ...] = ()) -> None:
        header = f"[{'.'.join(inside)}] " if inside else ""
        for name in values.keys() - form.keys() if self.strict else ():
            self.refuse_unknown(name, values[name], form, inside)
        for name, key in form.items():
            place = (*inside, name)
            label = header + (name if inside else f"`{name}`")
            if name not in values:
                if key.needed:
                    self.refuse(inside, f"{label} is missing.", f"It should be {key.should}.")
            elif not key.fits(values[name]):
                value = values[name]
                shown = f"{value}" if isinstance(value, Decimal) else f"{value!r}"
                self.refuse(place, f"{label} is {shown[:80]}.", f"It should be {key.should}.")
            elif key.form is not None:
                self.check(values[name], key.form, place)

    def refuse_unknown(self, name: str, value: Any, form: Form, inside: tuple[str, ...]) -> None:
        is_header = isinstance(value, dict) and not inside and re.fullmatch(r"[\w-]+", name)
        shown = f"[{name}]" if is_header else repr(name)
        what = f"[{'.'.join(inside)}] has {shown}, which" if inside else shown
        homes = [where for where, keys in self.tables() if name in keys and keys is not form]
        if not inside and name in RENAMED:
            remedy = RENAMED[name]
        elif homes:
            remedy = f"It belongs in [{homes[0]}]."
        elif self.known is WORKSPACE and name in COURSE:
            remedy = "It belongs in the tito.toml of the course."
        else:
            remedy = suggest(name.lower(), form, f"There are: {', '.join(form)}.")
        self.refuse((*inside, name), f"{what} means nothing here.", remedy)

    def tables(self) -> Iterator[tuple[str, Form]]:
        """(name, form) of each table of the file that has a form."""
        for name, key in self.known.items():
            if key.form is not None:
                yield name, key.form

    def refuse(self, place: tuple[str, ...], what: str, remedy: str) -> NoReturn:
        at, rows = 0, self.written.split("\n")
        for name in place:
            found = (n for n, row in enumerate(rows) if n >= at and _begins(row, name))
            at = next(found, at)
        raise UsageError(f"{self.path}:{at + 1}: {what}", remedy)


def _begins(row: str, name: str) -> bool:
    return re.match(rf"[\s\[\"']*{re.escape(name)}(?!\w)", row) is not None

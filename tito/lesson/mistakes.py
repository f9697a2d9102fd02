"""What learners really write, recorded beside each lesson in `mistakes.py`:
wrong solutions, and right ones.

# %% relu mistake: Hides nan.      the exercise, and one sentence that says what is wrong
#> relu of [nan] should be         part of the message that a check of the exercise must give
#- return x.maximum(0)             lines of the solution, and
return where(x > 0, x, 0)          what learners write in their place

# %% relu right: a loop            a right solution in another style, which must pass;
positive = []                      without `#-` lines: everything between the markers
...

# %% relu equivalent: The reason.  a mutation that changes nothing a check could see,
#= `x > 0` -> `x >= 0`             as `tito check` prints it

The file is Python, so that editors colour it and linters read it. Therefore the old lines are
comments, and the new ones are whole statements that begin in the first column. A long name goes
on in `# ` lines below its head, a long message in more `#>` lines. A mistake's id is made from its
name, or it is in the head: `# %% relu mistake hides-nan: Returns 0 for nan.`
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from textwrap import indent

from tito.errors import UsageError
from tito.lesson import cells
from tito.lesson.lesson_format import MISTAKES, Lesson

SECTION = re.compile(
    r"# %% (?P<exercise>\S+) (?P<kind>mistake|right|equivalent)(?: (?P<id>[^:\n]+))?:"
    r"(?P<name>.*\n(?:# .*\n)*)(?P<message>(?:#>.*\n)*)(?P<changes>(?:#=.*\n)*)(?P<code>(?s:.*))"
)
PARTS = {"mistake": ["message", "code"], "right": ["code"], "equivalent": ["changes"]}
HUNK = re.compile(r"(?P<old>(?:^#-.*\n)+)(?P<new>(?:^(?!#-).*\n)*)", re.M)
SOLUTION = re.compile(r"(?P<indent> *)### BEGIN SOLUTION.*\n(?P<code>(?s:.*?)) *### END SOLUTION")


@dataclass
class Variant:
    """Another solution of an exercise, the one with that id.

    `cell` is the whole cell with it; `message`, of a mistake, part of what a check must say.
    """

    id: str
    exercise: str
    name: str
    cell: str
    message: str = ""

    def apply(self, lesson: Lesson) -> str:
        """The chapter's text with this solution."""
        return lesson.source.replaced(lesson.exercise(self.exercise).cell, self.cell)


@dataclass
class Recorded:
    """What is recorded of a lesson: wrong solutions, right ones, and
    {(exercise, mutation): reason} of mutations that change nothing a check could see.
    """

    mistakes: list[Variant] = field(default_factory=list)
    rights: list[Variant] = field(default_factory=list)
    equivalent: dict[tuple[str, str], str] = field(default_factory=dict)


class Misfit(UsageError):
    """Something that does not fit the form or the lesson, so many lines below a section's head."""

    def __init__(self, what: str, remedy: str, line: int = 0) -> None:
        super().__init__(what, remedy)
        self.line = line


def load(lesson: Lesson, exercises: Collection[str] = ()) -> Recorded:
    """What is recorded of a lesson of the course; if ids of exercises are named, of these only.

    Raises TitoError, with file and line, when something does not fit the lesson.
    """
    path = lesson.path.with_name(MISTAKES)
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    above, *sections = re.split(r"^(?=# %%)", re.sub(r"[ \t]+$", "", text, flags=re.M), flags=re.M)
    recorded, errors, line = Recorded(), [], 1 + above.count("\n")
    if lost := next((row for row in above.split("\n") if row and not row.startswith("#")), ""):
        raise UsageError(
            f"{path}: `{lost}` is above the first section.", "Write the head `# %% ...` above it."
        )
    for section in sections:
        try:
            add(recorded, section, lesson, exercises)
        except UsageError as error:
            errors.append((line + getattr(error, "line", 0), error))
        line += section.count("\n")
    if errors:
        (first, misfit), *others = errors
        lines = ", ".join(str(number) for number, _ in others)
        more = f" There are more problems in the lines {lines}." if others else ""
        raise UsageError(f"{path}:{first}: {misfit.what}{more}", misfit.remedy)
    return recorded


def add(recorded: Recorded, text: str, lesson: Lesson, exercises: Collection[str]) -> None:
    """Add what a section of the file records of these exercises."""
    section = SECTION.fullmatch(text.rstrip("\n") + "\n")
    name = words(section["name"]) if section else ""
    if not section or not name:
        raise Misfit(
            "this line begins no section.",
            "Write `# %% EXERCISE mistake: what is wrong`, `# %% EXERCISE right: the style` or "
            "`# %% EXERCISE equivalent: the reason`.",
        )
    exercise = lesson.exercise(section["exercise"])
    if exercises and exercise.id not in exercises:
        return
    kind, message = section["kind"], words(section["message"])
    present = [part for part in ("message", "changes", "code") if words(section[part])]
    if present != PARTS[kind]:
        raise Misfit(
            f"this section has {' and '.join(present) or 'nothing'} below its head.",
            f"{kind!r} needs {' and '.join(PARTS[kind])}: `#>` begins a line of the message, `#=` "
            "a change.",
        )
    if kind == "equivalent":
        changes = section["changes"].splitlines()
        recorded.equivalent |= {(exercise.id, words(change)): name for change in changes}
        return
    variants = recorded.mistakes if kind == "mistake" else recorded.rights
    id = section["id"] or re.sub(r"\W+", "-", name.lower()).strip("-")
    if any(variant.id == id for variant in variants):
        raise Misfit(f"{id!r} is there twice.", "Give each its own name or id.")
    above = text[: section.start("code")].count("\n")
    try:
        cells.tree_of(section["code"])
    except SyntaxError as error:
        raise Misfit(
            f"this is no Python: {error.msg}.",
            "Begin in the first column, and replace whole statements.",
            above + (error.lineno or 1) - 1,
        ) from None
    cell = changed_cell(exercise.cell.source, section["code"], above)
    variants.append(Variant(id, exercise.id, name, cell, message))


def words(lines: str) -> str:
    """The text of lines without their marks, as one line."""
    texts = (re.sub(r"^#[>=]?", "", line).strip() for line in lines.splitlines())
    return " ".join(filter(None, texts))


def changed_cell(source: str, code: str, above: int = 0) -> str:
    """The source of an exercise's cell with the code of a section, which is `above` lines below its
    head.
    """
    hunks = list(HUNK.finditer(code))
    if not hunks:
        return with_solution(source, code)
    if code[: hunks[0].start()].strip():
        raise Misfit("this code is above the `#-` lines.", "Move it below them.", above)
    lines, changes = source.split("\n"), []
    for hunk in hunks:
        line = above + code[: hunk.start()].count("\n")
        old = [text[3:] for text in hunk["old"].strip("\n").split("\n")]
        start, margin = place_of(old, lines, line)
        new = indent(hunk["new"].strip("\n"), margin)
        changes.append((start, start + len(old), new.split("\n") if new else []))
    for start, end, new_lines in sorted(changes, reverse=True):  # so that places stay true
        lines[start:end] = new_lines
    return "\n".join(lines)


def with_solution(source: str, code: str) -> str:
    """The source of a cell with other code between the markers of its solution."""
    solution, *others = SOLUTION.finditer(source)
    if others:
        raise Misfit(
            f"its exercise has {1 + len(others)} solutions between markers.",
            "Write `#-` lines, and below them the new ones.",
        )
    start, end = solution.span("code")
    return source[:start] + indent(code.strip("\n") + "\n", solution["indent"]) + source[end:]


def place_of(old: list[str], lines: list[str], line: int) -> tuple[int, str]:
    """(the number of the line in a cell, its indentation) where the old lines are, which begin in
    line `line` of their section.
    """
    places = []
    for start, text in enumerate(lines):
        margin = text.removesuffix(old[0])
        wanted = [margin + part if part else "" for part in old]
        if not margin.strip() and lines[start : start + len(old)] == wanted:
            places.append((start, margin))
    if len(places) == 1 and old[0]:  # an empty line would not tell the indentation
        return places[0]
    known = {text.strip() for text in lines}
    unknown = [number for number, text in enumerate(old) if text.strip() not in known]
    what = f"these lines are {len(places)} times in the solution, one below the other."
    if unknown:
        what = f"`{old[unknown[0]].strip()}` is not in the solution."
    raise Misfit(
        what,
        "Copy `#-` lines from the solution, and enough of them that they are there once.",
        line + (unknown[0] if unknown else 0),
    )

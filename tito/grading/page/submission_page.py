"""A submission as its page shows it, part by part.

A part is a function in PARTS: given a View it returns a Part, or None where it has nothing to show.
Its template is rendered with `view`, `part` and the values of the Part.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from tito.grading.gradebook import appeals, claims, feedback, html_pages, overrides
from tito.grading.gradebook.appeals import Appeal
from tito.grading.gradebook.claims import Claim
from tito.grading.gradebook.grade import Change, Grade, Learner
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.page import class_list
from tito.grading.page.class_list import Filter

MARK = re.compile(r"# ?%%")  # how a cell begins
EXERCISE = re.compile(r"\bexercise=\"([^\"]*)\"")
PLACES = {
    class_list.APPEAL: "appeals",
    class_list.TO_JUDGE: "answers",
}  # {a reason to look: a Part's id}
AGAIN = 9  # comments that have a key
LETTERS, LINES = 400_000, 20_000  # of code that are shown
TOKENS = {  # the first part of a Pygments token type that has a colour -> its class
    "Keyword": "k",
    "Operator.Word": "k",
    "Literal.String": "s",
    "Literal.Number": "m",
    "Comment": "c",
    "Name.Function": "f",
    "Name.Class": "f",
    "Name.Decorator": "f",
}


@dataclass
class View:
    """All that the page of one submission shows.

    handle   what stands for the learner in addresses; name: what they are called on the page
    hide     a function of text from the learner's side: in anonymous mode it hides who they are
    seen     `Gradebook.last_change` before the rest was read: forms carry it, so that nobody
             overwrites what they have not seen
    again    [(text, for how many)]: comments on this lesson by anybody, the most used first
    typed    {field: text} of a form that was refused, so that nobody types it twice
    others   Changes that somebody else made meanwhile
    """

    grade: Grade
    learner: Learner
    handle: str
    name: str
    hide: Callable[[str], str]
    seen: int
    claim: Claim | None
    code: str | None
    appeals: list[Appeal]
    history: list[Change]
    again: list[tuple[str, int]]
    filter: Filter
    typed: dict[str, str] = field(default_factory=dict)
    others: list[Change] = field(default_factory=list)
    problem: str = ""

    @property
    def state(self) -> str:
        return claims.state(self.claim, self.grade.result.sha256)


class Part(NamedTuple):
    """A section of a submission's page. title: its heading; id: of the section, for links."""

    id: str
    title: str
    template: str
    values: dict


def view_of(book: Gradebook, student: str, lesson: str, handle: str, name: str, hide, filter):
    """The View of a submission, or None where the learner has no grade in that lesson."""
    seen = book.last_change(student, lesson)
    ((learner, grades),) = book.by_learner(student, lesson)
    if not grades:
        return None
    grade = grades[0]
    return View(
        grade,
        learner,
        handle,
        name,
        hide,
        seen,
        claims.claims(book, lesson).get((student, lesson)),
        book.code(grade.result.sha256) if grade.result.sha256 else None,
        appeals.appeals(book, student, lesson),
        list(book.history(student, lesson)),
        overrides.comments_again(book, lesson),
        filter,
    )


def exercises(view: View) -> Part | None:
    """Each exercise's code beside its checks: what there is to see of a grade first."""
    cells = {cell.exercise: cell for cell in cells_of(view) if cell.exercise}
    lesson = f"{view.grade.lesson}-"  # how an exercise's id begins; its cell has the rest
    found = {}
    for check in view.grade.result.checks:
        override = view.grade.check_overrides.get(check.id)
        found.setdefault(check.exercise, []).append(
            {
                "id": check.id,
                "name": check.name,
                "word": feedback.WORDS.get(check.status, check.status),
                "passed": check.passed,
                "points": view.grade.check_points(check),
                "max_points": check.max_points,
                "hidden": check.hidden,
                "message": "" if check.passed else view.hide(check.message),
                "cause": check.caused_by,
                "override": override,
            }
        )
    for checks in found.values():  # a message that all of them have is told once
        last = None
        for check in checks:
            check["again"] = bool(check["message"]) and check["message"] == last
            last = check["message"] or last
    shown = [
        {
            "name": exercise,
            "cell": cells.get(exercise) or cells.get(exercise.removeprefix(lesson)),
            "checks": checks,
            "wrong": not all(check["passed"] for check in checks),
            "points": sum(check["points"] for check in checks),
            "max_points": sum(check["max_points"] for check in checks),
        }
        for exercise, checks in found.items()
    ]
    kept = view.code is not None
    return Part("exercises", "Code and checks", "exercises.html", {"all": shown, "kept": kept})


def answers(view: View) -> Part | None:
    """The answers to the lesson's questions, with the way to where they are judged."""
    found = view.grade.answers
    return Part("answers", "Answers", "answers_of.html", {"all": found}) if found else None


def points(view: View) -> Part:
    """The points that are set by hand, and the form that sets some."""
    result = view.grade.result
    set_now = [(None, view.grade.override)] if view.grade.override else []
    set_now += view.grade.check_overrides.items()
    choices = [("", f"the lesson, of {view.grade.max_points}")]
    choices += [(check.id, f"{check.name}, of {check.max_points}") for check in result.checks]
    return Part("points", "Points", "points.html", {"set_now": set_now, "choices": choices})


def comments(view: View) -> Part:
    """What the learner is told, and what others were told that one may say again."""
    again = [pair for pair in view.again if pair[0] not in {c.text for c in view.grade.comments}]
    return Part("comments", "Comments", "comments.html", {"again": again[:AGAIN]})


def asked(view: View) -> Part:
    """What the learner asked about this grade."""
    return Part("appeals", "Appeals", "appeals_of.html", {})


def history(view: View) -> Part:
    """Who changed what, when and why."""
    lines = [(change, view.hide(told(change))) for change in reversed(view.history)]
    return Part("history", "History", "history.html", {"lines": lines})


PARTS: list[Callable[[View], Part | None]] = [exercises, answers, points, comments, asked, history]


def parts_of(view: View) -> list[Part]:
    return [part for make in PARTS if (part := make(view))]


def told(change: Change) -> str:
    """An entry of the history in a sentence, without who and when."""
    words = []
    if change.kind == "comment":
        words.append(f"comment: {change.text}" if change.text else "comment taken back")
    elif change.kind == "override":
        what = change.check or "the lesson"
        to = "taken back" if change.points is None else f"set to {change.points}"
        words.append(f"{what} {to}" + (f", {change.text}" if change.text else ""))
    elif change.kind == "extension":
        words.append("more time" if change.extension else "extension taken back")
    else:
        by_question = change.kind in ("judged", "rubric")  # `why` names the question
        words.append(f"{change.kind}, {change.why}" if by_question else change.kind)
        if change.text:
            words.append(change.text)
    if change.new_points is not None and change.old_points != change.new_points:
        old = "-" if change.old_points is None else change.old_points
        words.append(f"{old} -> {change.new_points} points")
    if change.why and change.kind not in (change.why, "judged", "rubric"):
        words.append(f"because: {change.why}")
    return "; ".join(words)


# The code.


@dataclass
class CodeCell:
    """A cell of a lesson file. lines: [(number, [(class, text)])], ready to be shown."""

    exercise: str
    lines: list[tuple[int, list[tuple[str, str]]]]


def cells_of(view: View) -> list[CodeCell]:
    """The code of a submission, cell by cell."""
    if not view.code:
        return []
    lines = lines_of(view.code, view.hide)
    cells, now = [], None
    for number, line in lines:
        text = "".join(part for _, part in line)
        if MARK.match(text) or now is None:
            name = EXERCISE.search(text) if MARK.match(text) else None
            now = CodeCell(name[1] if name else "", [])
            cells.append(now)
        now.lines.append((number, line))
    for cell in cells:
        while len(cell.lines) > 1 and not "".join(part for _, part in cell.lines[-1][1]).strip():
            cell.lines.pop()
    return cells


def lines_of(
    code: str, hide: Callable[[str], str] = str
) -> list[tuple[int, list[tuple[str, str]]]]:
    """[(number, [(class, text)])] of Python code: what is invisible is spelled out, and nothing
    is markup; the template escapes every text.

    hide  as in View, for comments and strings: names of functions stay what they are
    """
    from pygments.lexers.python import PythonLexer
    from pygments.token import string_to_tokentype

    kinds = [(string_to_tokentype(f"Token.{name}"), short) for name, short in TOKENS.items()]
    code = html_pages.visible(code, LETTERS, LINES)
    found = [[]]
    for token, text in PythonLexer(stripnl=False, ensurenl=False).get_tokens(code):
        short = next((short for kind, short in kinds if token in kind), "")
        text = hide(text) if short in ("c", "s") else text
        for number, part in enumerate(text.split("\n")):
            if number:
                found.append([])
            line = found[-1]
            if part and line and line[-1][0] == short:
                line[-1] = (short, line[-1][1] + part)
            elif part:
                line.append((short, part))
    return list(enumerate(found, 1))

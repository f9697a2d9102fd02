"""The output of `tito review`: a question about the learner's own code, and what follows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from tito.views import Pieces, count, indented, link, table, unbroken

if TYPE_CHECKING:
    from tito.learn.questions import Question
    from tito.learn.review import Answer, Asked, Step

LETTERS = "abcd"
MOST_STEPS = 16  # lines of values that are shown


def due(number: int) -> Pieces:
    """The line about questions that are due."""
    minutes = count(max(1, round(number * 2 / 3)), "minute")
    what = f"{count(number, 'question')} about your code {'is' if number == 1 else 'are'} due:"
    return Pieces([what, Text.assemble(("tito review", "bold"), f", about {minutes}")])


def question(asked: Asked, number: int) -> Group:
    """A question, with its options if the answer is chosen from them."""
    one = asked.question
    place = link(asked.entry.root, f"{asked.file}:{one.mark or one.code[0][0]}")
    code, choices = (table("", "", "", show_header=False, padding=(0, 1, 0, 0)) for _ in "ab")
    for line, text in one.code:
        style = "bold" if line == one.mark else ""
        code.add_row(">" if style else "", Text(str(line), "dim"), Text(text, style))
    for letter, option in zip(LETTERS, one.options):
        choices.add_row("", Text(letter, "bold"), Text(option))
    title = Pieces([Text.assemble("\n", f"{number}  ", (one.exercise, "bold")), place])
    return Group(title, Text(), code, Text(), Text(one.text), choices)


def told(one: Question) -> str:
    """The right answer, with its letter."""
    if one.options:
        return f"{LETTERS[one.options.index(one.answer)]}  {one.answer}"
    return one.answer


def answer(asked: Asked, given: Answer) -> Group:
    """Whether an answer was right, what shows it, and when the exercise comes back."""
    one = asked.question
    parts: list[RenderableType] = [Text("Right.", "bold")]
    if not given.is_right:
        parts = [Text.assemble(("The answer: ", "bold"), told(one))]
    reasons = (f"With your line: {given.said}",) if given.said else one.reasons
    parts += [indented(Text(reason)) for reason in reasons]
    if given.steps:
        parts += [Text(), steps(given.steps)]
    again = "It was answered in another terminal meanwhile."
    if given.days is not None:
        days = "tomorrow" if given.days == 1 else f"in {given.days} days"
        again = f"The next question about {one.exercise} comes {days}."
    return Group(*parts, Text(again, "dim"))


def steps(rows: Sequence[Step]) -> RenderableType:
    """The values line by line, by the learner's code and by the other version."""
    differs = any(row.value != row.other for row in rows)
    listing = table("line", "", "your code", *["with the change"] * differs)
    for row in rows[:MOST_STEPS]:
        style = "bold" if row.value != row.other else ""
        values = [Text(value or "-", style) for value in (row.value, row.other)[: 1 + differs]]
        listing.add_row(str(row.line or ""), row.name or "result", *values)
    return listing


def answers(rows: Sequence[Asked]) -> Group:
    """The answers to a list of questions."""
    texts = [f"{number}. {told(asked.question)}" for number, asked in enumerate(rows, 1)]
    return Group(Text("\nAnswers", "bold"), *map(Text, texts))


def nothing(names: str) -> Pieces:
    """There is no question about these lessons or exercises, or at all."""
    if names:
        return Pieces([f"No questions about {names}:", "they are made from code that passes."])
    return Pieces(
        ["No question is due.", unbroken(("tito review LESSON", "bold"), " asks ahead of time.")]
    )

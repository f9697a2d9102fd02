"""The output for a tested lesson: its results, what is right, what is wrong and why."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from tito.views import (
    MOST_LINES,
    STYLES,
    Pieces,
    clipped,
    count,
    for_a_person,
    in_book,
    indented,
    plain,
    unbroken,
)

if TYPE_CHECKING:
    from tito.learn.demonstrations import Demonstration, DemonstrationResult
    from tito.learn.runner import LessonReport
    from tito.learn.verdict import CheckOutcome, Verdict

    Groups = dict[str, list[CheckOutcome]]  # {exercise: its checks}
    Link = Callable[[str], Text]  # turns a path into a link

WORDS = {
    "passed": "pass",
    "not run": "not run",
    "unwritten": "todo",
}  # of a status; any other is FAIL
FIRST = 3  # failures shown in full
COMPARE = "`tito compare` and its name show the course's answer, once yours is written."
PRINTED = 5  # lines shown of what a right exercise prints
FIRST_SENTENCE = re.compile(r".*?(?:\.(?=\s)|\Z)", re.S)
EMPHASIS = re.compile(r"(?<![\w*])(\*\*?)([^\s*][^*]*)\1(?![\w*])")
# A long message is wrapped at these places rather than inside a value.
VALUES = re.compile(r" (?=yours\b|should\b)")


@dataclass
class Around:
    """The facts shown with a tested lesson.

    hints      {exercise: hints not yet shown}
    addresses  {exercise: where it is in the published book}
    whole      whether to show all exercises of a lesson that passed, not only its verdict
    following  the command to type next
    complete   whether every lesson of the course has passed
    key        the key for the next hint of the first open exercise, if keys work
    needed     the line about lessons to write first, where a check cannot run without them
    end        renderables to show at the end of a lesson that passed
    """

    hints: dict[str, int] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    whole: bool = True
    following: str | None = None
    complete: bool = False
    key: str | None = None
    needed: RenderableType | None = None
    end: list[RenderableType] = field(default_factory=list)


def heading(verdict: Verdict) -> Group:
    """The number, name and file of the lesson."""
    return Group(
        unbroken((f"{verdict.number:02} {verdict.lesson}", "bold"), "  ", (verdict.source, "dim")),
        Text(),
    )


def checked(checks: list[CheckOutcome]) -> Group:
    """How many checks passed, shown while the demonstrations still run."""
    done = sum(check.passed for check in checks)
    points = sum(check.points for check in checks)
    most = sum(check.max_points for check in checks)
    return Group(
        Text(
            f"{done} of {count(len(checks), 'check')} right, {points} of {count(most, 'point')}",
            "green" if done == len(checks) else "yellow",
        ).append("; running the demonstrations ...", "dim"),
        Text(),
    )


def slow(check: CheckOutcome) -> Text:
    """Which check takes long, while it runs."""
    name = f'{check.exercise or "your own check"}, "{check.name}"'
    return Text.assemble(("still running: ", "dim"), name)


def tested(report: LessonReport, around: Around) -> Group:
    """A tested lesson, below its `heading`."""
    verdict = report.verdict
    parts: list[RenderableType] = []
    shown = verdict.checks_run if verdict.partial else verdict.checks
    if around.whole or not verdict.passed:
        groups = _in_order(shown if verdict.checks_run else [], report.changed)
        parts += _exercises(verdict, groups)
        if verdict.own_checks and verdict.checks_run:
            parts.append(Text("\nyour own checks (they earn no points)"))
            parts += map(_check_line, verdict.own_checks)
        parts += _printed(groups, report.changed)
        failures = _failures(report, around)
        parts += failures if parts else failures[1:]
    return Group(*parts, *_sum(verdict, around))


def _in_order(checks: Iterable[CheckOutcome], changed: list[str]) -> Groups:
    """The checks by exercise: first the exercises whose code changed since the last run."""
    groups: Groups = {}
    for check in checks:
        groups.setdefault(check.exercise, []).append(check)
    return {name: groups[name] for name in sorted(groups, key=lambda name: name not in changed)}


def _exercises(verdict: Verdict, groups: Groups) -> list[RenderableType]:
    """The exercises: right, waiting or unwritten ones on a line each; others with their checks."""
    if verdict.partial:
        return [_exercise(name, checks) for name, checks in groups.items()]
    right = [name for name, checks in groups.items() if not any(c.costs_points for c in checks)]
    noted = [name for name in right if not all(c.passed for c in groups[name])]
    to_write = [name for name in groups if name in verdict.stubs]
    head = Text(f"{count(len(right), 'exercise')} right", "green")
    if right and not noted and len(right) + len(to_write) == len(groups):
        return [head.append(f", {len(to_write)} to write", "dim") if to_write else head]
    parts: list[RenderableType] = [head] if right else []
    waiting: dict[str | None, list[str]] = {}
    for name, checks in groups.items():
        if name in right and name not in noted or name in to_write:
            continue
        if all(c.unwritten or c.waits for c in checks):
            waiting.setdefault(checks[0].waits or checks[0].unwritten, []).append(name)
        else:
            parts.append(_exercise(name, checks))
    for cause, names in waiting.items():
        parts.append(Pieces([Text(", ".join(names), "bold"), Text(f"waits for {cause}", "dim")]))
    if to_write and len(to_write) < len(groups):
        parts.append(Text(f"{count(len(to_write), 'exercise')} to write", "dim"))
    return parts


def _exercise(name: str, checks: list[CheckOutcome]) -> RenderableType:
    points, most = sum(c.points for c in checks), sum(c.max_points for c in checks)
    head = Text.assemble(
        (name, "bold"),
        (f"  {points} of {count(most, 'point')}", "green" if points == most else "dim"),
    )
    if all(c.unwritten for c in checks):  # one line is enough for an exercise to write
        after = "" if checks[0].unwritten == name else f", after {checks[0].unwritten}"
        return head.append(f"  to write{after}", "dim")
    if len({c.waits for c in checks}) == 1 and checks[0].waits:
        return head.append(f"  waits for {checks[0].waits}", "dim")
    return Group(head, *(_check_line(c) for c in checks))


def _check_line(check: CheckOutcome) -> Text:
    word, style = WORDS.get(check.status, "FAIL"), STYLES.get(check.status, "dim")
    if word == "FAIL" and not check.max_points and check.exercise:  # a polish check
        word, style = "note", "yellow"
    if check.unwritten or check.waits:
        word, style = ("todo" if check.unwritten == check.exercise else "wait"), "dim"
    remarks = f"  ({check.points} of {check.max_points} points)" if check.max_points > 1 else ""
    if check.waits:
        remarks += f"  (waits for {check.waits})"
    elif word == "wait":
        remarks += f"  (needs {check.unwritten})"
    return Text.assemble("  ", (word, style), "  ", check.name, (remarks, "dim"))


def _printed(groups: Groups, changed: list[str]) -> list[RenderableType]:
    """What the learner's code of the first changed exercise printed, where its checks pass."""
    for name in changed:
        checks = groups.get(name, [])
        output = next((c.output.strip() for c in checks if c.output.strip()), "")
        if output and all(check.passed for check in checks):
            head = Text.assemble((name, "bold"), (" printed", "dim"))
            return [Text(), head, indented(Text(clipped(output, PRINTED)), 3)]
    return []


def _failures(report: LessonReport, around: Around) -> list[RenderableType]:
    """The first failure of each of the first exercises in full, and a line for each other exercise
    that fails. Without a failure: the next exercise to write.

    Failures are grouped by exercise; exercises whose code changed come first.
    """
    verdict = report.verdict
    # Every wrong check needs an explanation; of the exercises to write, the first is enough.
    wrong = _wrong(verdict)
    shown = [replace(check, message=_shortened(check.message, verdict.reason)) for check in wrong]
    groups = _in_order(shown, report.changed)
    unwritten = [check.unwritten for check in verdict.checks_run if check.unwritten]
    if unwritten and not wrong:
        if around.needed and unwritten[0] not in verdict.places:
            return [Text(), around.needed]
        name = Text.assemble(("Next to write: ", "bold"), f"exercise {unwritten[0]},")
        place = str(verdict.places.get(unwritten[0], verdict.source))
        return [Text(), Pieces([name, place]), *_hint_lines(verdict, around, unwritten[0])]
    parts: list[RenderableType] = []
    # What follows from the first failure of an exercise would name another cause.
    blocks = [
        block
        for exercise, checks in groups.items()
        for block in _same_error(checks)[: 1 if exercise else FIRST]
    ][:FIRST]
    in_full: dict[str, list[list[CheckOutcome]]] = {}
    for block in blocks:
        in_full.setdefault(block[0].exercise, []).append(block)
    for exercise, of_exercise in in_full.items():
        place = str(verdict.places.get(exercise, verdict.source))
        title = [f"exercise {exercise},", place] if exercise else ["your own check"]
        parts += [
            Text(),
            Pieces([Text(piece, "dim") for piece in title]),
            *(line for block in of_exercise for line in _failure(block)),
            *_hint_lines(verdict, around, exercise),
        ]
    if others := [checks[0] for exercise, checks in groups.items() if exercise not in in_full]:
        parts += [Text(), *(line for check in others for line in _short_failure(check))]
    return parts


def _shortened(message: str, reason: str) -> str:
    """A check's message without why code is left out, where the reason at the end says it."""
    what, _, why = message.partition(": ")
    is_said = " left out: " in why and f"{why[:1].upper()}{why[1:]}" in reason
    return f"{what}: see the end" if is_said else message


def _wrong(verdict: Verdict) -> list[CheckOutcome]:
    """The wrong checks; those that cost no points only if nothing else is wrong."""
    wrong = [check for check in verdict.checks_run + verdict.own_checks if check.wrong]
    notes = [check for check in wrong if check.exercise and not check.max_points]
    return [check for check in wrong if check not in notes] or notes


def _same_error(checks: list[CheckOutcome]) -> list[list[CheckOutcome]]:
    """An exercise's failures: those with one exception at one place, or one message, together."""
    blocks: dict[object, list[CheckOutcome]] = {}
    for check in checks:
        error = check.message.rpartition(" raised ")[2], check.where
        key = error if check.status == "error" and check.where else check.message
        blocks.setdefault(key, []).append(check)
    return [*blocks.values()]


def _short_failure(check: CheckOutcome) -> list[Pieces]:
    """A failure of an exercise that is further down: its message."""
    first, *more = check.message.split("\n")
    name = Text(f"{check.exercise or check.name}:", "red")
    return [Pieces([name, Text(first, "dim")]), *(Pieces([Text(row, "dim")], 3) for row in more)]


def _failure(block: list[CheckOutcome]) -> list[RenderableType]:
    check, more = block[0], len(block) - 1
    also = f" ({count(more, 'more check')} fail{'s' * (more == 1)} in the same way)" if more else ""
    if check.exercise and not check.max_points:
        also += " (a note: it costs no points, and the exercise counts as right)"
    lines: list[RenderableType] = [
        Text.assemble((check.name, "bold red"), (also, "dim")),
        *(Pieces([*VALUES.split(line)], 3) for line in check.message.split("\n")),
    ]
    if check.where:
        place = str(check.where).removesuffix(":None")
        code = Text(f" {check.where.code or ''}", "cyan")
        lines.append(Pieces([Text.assemble(("at ", "dim"), place), code], 3))
    if check.output.strip():
        printed = Text.assemble(("printed ", "dim"), clipped(check.output.strip(), 10))
        lines.append(indented(printed, 3))
    return lines


def _hint_lines(verdict: Verdict, around: Around, exercise: str) -> list[Text]:
    """The lines about an exercise's remaining hints."""
    if (left := around.hints.get(exercise, 0)) <= 0:
        return []
    first = next((check.exercise for check in verdict.checks if not check.passed), None)
    how = f"tito hint {exercise}"
    if around.key and exercise == first:
        how = f"key {around.key}"
    return [
        unbroken((f"{count(left, 'hint')} left: ", "dim"), (how, "bold")),
        *in_book(around.addresses.get(exercise)),
    ]


def _sum(verdict: Verdict, around: Around) -> list[RenderableType]:
    """The last lines: points earned, why points are missing, notes, and what to do next."""
    notes = [Pieces([Text(line, "dim")]) for line in verdict.notes]
    if not verdict.checks_run:
        return [*_untested(verdict), *notes]
    passed = sum(check.passed for check in verdict.checks)
    figures = (
        f"{verdict.points} of {count(verdict.max_points, 'point')}, {passed} of "
        f"{count(len(verdict.checks), 'check')}, {verdict.seconds:.2f} s"
    )
    word, style, reason = _conclusion(verdict, passed)
    if code := verdict.excerpt.partition("\n")[0]:  # it is shown below
        reason = reason.replace(f": {code[:80]}: ", ": ", 1)
    first, *more = [reason, verdict.remedy, figures] if reason else [figures, verdict.remedy]
    lines: list[RenderableType] = [Text()]
    lines.append(Pieces([Text.assemble((word, f"bold {style}"), f"  {first}")]))
    lines += _excerpt(verdict)
    lines += [Pieces([line]) for line in more if line]
    if verdict.answers and verdict.passed:
        answers = {f"{verdict.lesson}-{name}": is_ for name, is_ in verdict.answers.items()}
        lines.append(Pieces([Text(f"{for_a_person(answers)}. {COMPARE}", "dim")]))
    if around.whole and not verdict.partial:
        groups = _in_order(verdict.checks, [])
        right = sum(not any(c.costs_points for c in checks) for checks in groups.values())
        lines.append(_bar(right, len(groups)))
    if verdict.passed and around.end:
        lines += [Text(), *around.end]
    if verdict.passed and around.following:
        lines.append(Text.assemble("next: ", (around.following, "bold")))
    if verdict.passed and around.complete:
        command = Text.assemble(("tito status", "bold"), " writes your certificate.")
        lines.append(Pieces(["The course is complete:", command]))
    return [*lines, *notes]


def _conclusion(verdict: Verdict, passed: int) -> tuple[str, str, str]:
    """(word, its style, reason): the verdict on the run, given how many checks passed."""
    if verdict.partial and verdict.selection_passed and not verdict.passed:
        number = count(sum(check.passed for check in verdict.checks_run), "selected check")
        notes = sum(not (check.passed or check.unwritten) for check in verdict.checks_run)
        waiting = sum(bool(check.unwritten) for check in verdict.checks_run)
        passed_all = f"{number} passed" + f", {count(notes, 'note')}" * bool(notes)
        passed_all += f", {waiting} wait{'s' * (waiting == 1)}" * bool(waiting)
        whole = f"tito test {verdict.lesson}"
        return "selected", "yellow", f"{passed_all}. The whole lesson: {whole}"
    checks = verdict.checks_run if verdict.partial else verdict.checks
    if any(check.unwritten for check in checks) and all(
        check.passed or check.unwritten for check in checks
    ):
        is_said = passed and " left out: " not in verdict.reason  # by the bar
        return "so far", "cyan", "" if is_said else verdict.reason
    return verdict.verdict, STYLES.get(verdict.verdict, "red"), verdict.reason


def _untested(verdict: Verdict) -> list[RenderableType]:
    """Why a lesson could not be tested: the cause first.

    It gets no new score; the points of the last run are kept.
    """
    code = verdict.excerpt.partition("\n")[0]
    reason = verdict.reason.removesuffix(f": {code[:80]}") if code else verdict.reason
    lines: list[RenderableType] = [Pieces([reason]), *_excerpt(verdict)]
    lines += [Pieces([verdict.remedy])] * bool(verdict.remedy)
    return [*lines, Text("\nnot tested", "bold red")]


def _excerpt(verdict: Verdict) -> list[RenderableType]:
    """The line that the reason is about, and a mark under the place."""
    code, _, mark = verdict.excerpt.partition("\n")
    rows = [(code, "cyan"), (mark, "red")]
    return [unbroken(row, indent=4) for row in rows if row[0]]


def _bar(right: int, of: int, width: int = 20) -> Text:
    """How far the learner is in the lesson."""
    full = right * width // of if of else 0
    bar = ("█" * full, "green"), ("░" * (width - full), "dim")
    return Text.assemble("lesson ", *bar, f" {right} of {count(of, 'exercise')}")


def totals(verdicts: list[Verdict]) -> Text:
    """The last line of a test of several lessons."""
    passed = sum(verdict.passed for verdict in verdicts)
    points = sum(verdict.points for verdict in verdicts)
    most = sum(verdict.max_points for verdict in verdicts)
    style = "bold green" if passed == len(verdicts) else "bold red"
    words = f"{passed} of {count(len(verdicts), 'lesson')} passed"
    return Text.assemble("\n", (words, style), f", {points} of {most} points")


def tested_line(verdict: Verdict) -> Text:
    """A tested lesson in one line."""
    name = f"{verdict.number:02} {verdict.lesson:<14}"
    style = STYLES.get(verdict.verdict, "red")
    if not verdict.checks_run:
        return Text.assemble(name, ("not tested: ", style), verdict.reason)
    points = f"{verdict.points} of {count(verdict.max_points, 'point')}"
    return Text.assemble(name, (f"{verdict.verdict:<13} ", style), points)


# What demonstrations show


def section(heading: str, style: str = "bold") -> Text:
    """The section of the chapter whose demonstrations are shown next, or the title above all."""
    return Text(plain(heading), style)


def question(text: str) -> Text:
    """A question of the chapter that asks for a prediction."""
    return Text(EMPHASIS.sub(r"\2", plain(text)), "italic")


def question_about(demonstration: Demonstration) -> Group:
    """A question that asks for a prediction, below the code that answers it."""
    code = Text(demonstration.source.strip(), "cyan")
    return Group(indented(code), Text(), indented(question(demonstration.question)))


def waiting(results: list[DemonstrationResult], lesson: str, answered: Collection[str]) -> Group:
    """The section to read before its results are shown, and the key that shows them.

    answered  the questions that have a prediction
    """
    if not results:
        return all_results(lesson, 0, "o")
    number = next_question(results, answered)
    section = (plain(results[number].demonstration.heading), "bold")
    question = results[number].demonstration.question
    if question and question not in answered:
        sentence = Text.assemble('Read the section "', section, '", then press ', ("p", "bold"))
        sentence.append(": tito asks for your prediction.")
    else:
        sentence = Text.assemble("Key ", ("p", "bold"), ' shows the results of "', section, '".')
    hidden = Text(f"Not shown yet: {count(len(results), 'result')}.", "dim")
    return Group(Pieces([sentence, hidden]), Text())


def next_question(results: list[DemonstrationResult], answered: Collection[str]) -> int:
    """The number of the first result whose question has no prediction; without one, 0."""
    questions = [one.demonstration.question for one in results]
    return next((n for n, asked in enumerate(questions) if asked and asked not in answered), 0)


def result(shown: DemonstrationResult, link: Link, with_question: bool = True) -> Group:
    """The result of one demonstration with the learner's code."""
    demonstration = shown.demonstration
    lines: list[RenderableType] = []
    if demonstration.question and with_question:
        lines.append(indented(question(demonstration.question)))
    if shown.text:
        lines.append(indented(Text(clipped(shown.text, MOST_LINES))))
    lines += [Pieces([Text("picture", "dim"), link(picture)], 2) for picture in shown.pictures]
    if shown.pictures and (sentence := FIRST_SENTENCE.match(demonstration.alt)) and sentence[0]:
        lines.append(indented(Text(sentence[0], "dim"), 4))
    return Group(*lines, Text())


def payoffs(results: list[DemonstrationResult], link: Link) -> Group:
    """The results that a finished lesson ends with."""
    shown = (result(payoff, link, with_question=False) for payoff in results)
    return Group(section(results[0].demonstration.heading), *shown)


def all_results(lesson: str, left_out: int, key: str | None = None, asked: int = 0) -> Group:
    """How to see all results of a lesson's demonstrations.

    left_out  how many results the next test shows
    key       the key that opens it, where keys work
    asked     how many are not shown because the learner should predict them first
    """
    more = f"{count(left_out, 'more result')} with the next test; " if left_out else ""
    opens = f"key {key}, or tito read {lesson}" if key else f"tito read {lesson}"
    lines = [Pieces([Text(f"{more}all results:", "dim"), opens])]
    if asked:
        hidden = f"Not shown yet: {count(asked, 'result')}. To predict first:"
        lines.insert(0, Pieces([Text(hidden, "dim"), f"tito watch {lesson}"]))
    return Group(*lines, Text())


def results_of_given(results: list[DemonstrationResult], lesson: str) -> list[Text]:
    """How many results of sections with given code are not shown."""
    more = f"{count(len(results), 'result')} of sections with given code: "
    return [Text.assemble((more, "dim"), (f"tito read {lesson}", "bold"), "\n")] * bool(results)


def predictions(number: int, lesson: str) -> Group:
    """How many predictions the learner made, and the page that shows them with the results."""
    page = (f"tito read {lesson}", "bold")
    words = f"{count(number, 'prediction')} of yours beside what happened: "
    return Group(Text.assemble(words, page), Text())

"""Ask a learner about their own code when it is due: `tito review`.

An answer is computed by running the code now, twice, each time in a new process. What is recorded
of an exercise, in the progress of its lesson:

"reviews": {"tensor-strides": {"since": when this was recorded, "due": when to ask again,
                               "card": the state of the library fsrs, "asked": [keys of questions],
                               "last": the last question, and the hash "of" the code}}
"""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, time, timedelta
from time import perf_counter
from typing import Any

from tito.errors import TitoError, WorkError
from tito.learn import notebook_sync, progress, runner
from tito.learn.process import Process
from tito.learn.questions import (
    ENOUGH,
    Code,
    Question,
    Ran,
    Results,
    Version,
    hashed,
    lines_of,
    with_cell,
)
from tito.lesson import cells
from tito.lesson.course import Entry, Root
from tito.lesson.lesson_format import Exercise

MOST = 10  # questions in a row
QUICK, MOST_VERSIONS = 14, 40  # changes that are tried for some questions, and at most
SECONDS = 2.0  # a check may take
PATIENCE, LIMIT = 1, 10  # seconds that they may take when there is a question, and without one
FILLS = (7, 0)  # what fresh memory holds in the two runs
NOTHING = 30  # days until code without a question is looked at again
REMEMBERED = 20  # questions that are not asked again soon


@dataclass(frozen=True)
class Step:
    """A statement of the learner's file, and the value that it gave a variable, by the learner's
    code and by another version of it. The variable is "" for what a call returns.
    """

    line: int
    name: str
    value: str
    other: str


class Work:
    """An exercise in the learner's file, to be run in other versions. Raises WorkError if it is
    not their code.

    quick  those that its versions run: one, and no examples, if all take long
    """

    def __init__(self, entry: Entry, exercise: Exercise, process: Process) -> None:
        self.entry, self.exercise = entry, exercise
        self.ids = [check.id for check in exercise.checks if not check.hidden]
        self.quick, self.seconds = self.ids, dict[str, float]()
        self.test, self.run = runner.prepare_runs(entry, self.ids, SECONDS, process)
        self.source = self.test.source
        cell = self.source.cell(exercise.name)
        if not cell or cell.exercise != exercise.name:
            raise WorkError(f"{exercise.id} is not your code.", "Nothing is asked about it.")
        self.cell, self.code = cell, Code(exercise, cell)
        self.module = self.test.modules[str(entry.module_path)][2]
        self.places = lines_of(self.module, cell)
        module_lines, firsts = {line: n for n, line in self.places.items()}, self.code.firsts
        self.traced = [(n, module_lines.get(firsts[line], n)) for n, line in self.places.items()]
        if all("yield" in ast.unparse(f) for f in self.code.functions):  # their calls are not seen
            self.traced = []

    def ran(self, cell: str, fill: int, is_traced: bool = False) -> Ran | None:
        """What a version does; None when it does not come to its end in time."""
        traced = self.traced if is_traced else []
        observed = {"examples": self.code.examples, "traced": traced, "fill": fill}
        ids = self.ids if is_traced else self.quick
        events = self.run(with_cell(self.module, self.cell, cell), observed, ids)
        checks = {e["id"]: e for e in events if e["event"] == "check"}
        statuses = {event["status"] for event in checks.values()}
        if "timeout" in statuses or len(checks) < len(ids):
            return None
        self.seconds = {id: event["seconds"] for id, event in checks.items()}
        values = tuple(event["value"] for event in events if event["event"] == "example")
        outcomes = {id: (e["status"], " ".join(e["message"].split())) for id, e in checks.items()}
        return Ran(outcomes, values, self.calls_in(events))

    def calls(self, cell: str, run: str) -> list[dict[str, Any]]:
        """The calls that an example or a check makes."""
        examples = [run] * (run not in self.ids)
        observed = {"examples": examples, "traced": self.traced, "fill": FILLS[0]}
        only = [] if examples else [run]
        return self.calls_in(self.run(with_cell(self.module, self.cell, cell), observed, only))

    def calls_in(self, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The recorded calls, with lines of the cell."""
        calls = [event for event in events if event["event"] == "call"]
        for call in calls:
            call["steps"] = [(self.places.get(step[0], 0), *step[1:]) for step in call["steps"]]
        return calls

    def results(
        self, fill: int, asked: Sequence[str] = (), versions: Sequence[Version] | None = None
    ) -> Results:
        """What the code and its versions do. Raises WorkError if it does not pass in time.

        asked     no more versions than needed are tried for some questions with none of these keys
        versions  run these instead
        """
        began = perf_counter()
        if not (before := self.ran(self.cell.source, fill, is_traced=True)):
            self.code.examples = []  # one takes too long
            before = self.ran(self.cell.source, fill)
        if not before or before.failed:
            name = self.exercise.id
            raise WorkError(f"{name} does not pass its checks.", f"tito test {name} shows why.")
        if versions is None and sum(self.seconds.values()) > PATIENCE:
            self.quick = [min(self.seconds, key=self.seconds.__getitem__)]
            self.code.examples = []
        checks = {id: before.checks[id] for id in self.quick}
        before = replace(before, checks=checks, values=before.values[: len(self.code.examples)])
        results, enough = Results(self.code, before, []), ENOUGH - (len(self.quick) < len(self.ids))
        tried = self.code.versions(MOST_VERSIONS) if versions is None else versions
        lost = set[int]()
        for number, version in enumerate(tried):
            seconds = perf_counter() - began
            if versions is None and (number >= QUICK or seconds > PATIENCE):
                if seconds > LIMIT or len(unasked(results.questions(), asked)) >= enough:
                    break
            if version.line in lost:  # where another change does not end either
                continue
            if after := self.ran(version.cell, fill):
                results.ran.append((version, after))
            else:
                lost.add(version.line)
        return results

    def is_confirmed(self, question: Question, results: Results) -> bool:
        """Whether another process, with another hash seed and other numbers in fresh memory, gives
        the same answer.
        """
        self.code.examples, self.quick = results.code.examples, [*results.before.checks]
        if question.kind == "shape":
            before = self.ran(self.cell.source, FILLS[1], is_traced=True)
            return before is not None and question in Results(self.code, before, []).questions()
        known = {version.cell: after for version, after in results.ran} | {"": results.before}
        return self.ran(question.cell or self.cell.source, FILLS[1]) == known[question.cell]

    def steps(self, question: Question, cell: str = "") -> list[Step]:
        """What the learner's code and another version compute, in the first call that differs."""
        if not question.run:
            return []
        cell = cell or question.cell
        before = self.calls(self.cell.source, question.run)
        after = self.calls(cell, question.run) if cell else before
        pairs = [*zip(before, after)]
        pairs = [(one, two) for one, two in pairs if one["steps"] != two["steps"]] or pairs
        return steps_of(*pairs[0], self.code) if pairs else []


def steps_of(before: dict[str, Any], after: dict[str, Any], code: Code) -> list[Step]:
    """The last value of each variable at each line, in the order of the lines."""
    texts: list[dict[tuple[int, str], str]] = [{}, {}]
    for values, call in zip(texts, (before, after)):
        for line, name, text, shape in call["steps"]:
            shown = text or (shape is not None and f"shape ({', '.join(map(str, shape))})")
            if shown:
                values[line, name] = shown
    keys = sorted({**texts[0], **texts[1]}, key=lambda key: key[0] or len(code.lines) + 1)
    return [
        Step(code.at(line) if line else 0, name, *(t.get((line, name), "") for t in texts))
        for line, name in keys
    ]


def unasked(found: Sequence[Question], asked: Sequence[str]) -> list[Question]:
    return [question for question in found if question.key not in asked]


def questions(
    entry: Entry, exercise: Exercise, asked: Sequence[str] = (), kinds: Counter[str] | None = None
) -> Iterator[Question]:
    """Questions about an exercise, each confirmed when it is wanted. The kinds that were asked
    least come first.

    asked  keys of questions to leave out, if there are others

    Raises WorkError when the code is not the learner's, or does not pass its checks.
    """
    with Process() as process:
        results = Work(entry, exercise, process).results(FILLS[0], asked)
    found = unasked(results.questions(), asked) or results.questions()
    with Process() as process:
        work = Work(entry, exercise, process)
        for question in sorted(found, key=lambda one: Counter(kinds)[one.kind]):
            if work.is_confirmed(question, results):
                yield question


# When to ask.


def today() -> str:
    return datetime.now().date().isoformat()


def is_due(card: dict[str, Any], day: str) -> bool:
    """Whether to ask now. What was recorded in the future tells that the clock was set back."""
    return bool(card.get("due", "") <= day or card.get("since", "") > day)


def due(root: Root) -> list[tuple[Entry, Exercise]]:
    """The exercises to ask about now: those that passed, unchanged since; the longest due first."""
    chosen: dict[Entry, list[Exercise]] = {}
    records, day = progress.load(root)["lessons"], today()
    for entry in root.lessons:
        cards = records.get(entry.name, {}).get("reviews", {})
        if any(is_due(card, day) for card in cards.values()):
            right = right_exercises(entry, records[entry.name])
            chosen[entry] = [e for e in right if e.id in cards and is_due(cards[e.id], day)]
    return select({entry: exercises for entry, exercises in chosen.items() if exercises})


def select(chosen: dict[Entry, list[Exercise]]) -> list[tuple[Entry, Exercise]]:
    """The exercises of a selection of lessons and exercises, the longest due first."""
    rows = []
    for entry, exercises in chosen.items():
        cards = progress.record_of(entry).get("reviews", {})
        for exercise in exercises or entry.declared.exercises:
            rows.append((cards.get(exercise.id, {}).get("due", ""), entry, exercise))
    return [(entry, exercise) for _, entry, exercise in sorted(rows, key=lambda row: row[0])]


def right_exercises(entry: Entry, record: dict[str, Any]) -> list[Exercise]:
    """The learner's exercises that passed in their last test, and were not edited since."""
    try:
        source = notebook_sync.read(entry, record)
    except TitoError:  # `tito test` says what is wrong
        return []
    tested, checks = progress.tested_code(record), progress.last_checks(record)
    hashes, given = progress.exercise_hashes(entry, source), entry.declared.given_up(source)
    return [
        exercise
        for exercise in entry.declared.exercises
        if exercise.id not in given
        and hashes.get(exercise.id, "") == tested.get(exercise.id)
        and progress.is_right(exercise, checks)
    ]


def reminder(root: Root) -> int:
    """How many questions are due, at most once a day; else 0."""
    said = progress.load(root).get("review", {}).get("reminder", {})
    if root.is_course or said.get("day") == today() or not (count := len(due(root))):
        return 0
    with progress.change(root, "reminder", "review") as record:
        record["day"] = today()
    return min(count, MOST)


class Edited(Exception):
    """The code was edited since the question was made."""


@dataclass
class Asked:
    """A question that is asked now; the learner's file and its cell, and the exercise's card."""

    entry: Entry
    exercise: Exercise
    question: Question
    file: str
    cell: cells.Cell
    card: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        left_out = ("cell", "run")
        words = {k: v for k, v in asdict(self.question).items() if k not in left_out}
        return words | {"key": self.question.key, "file": self.file}

    def is_answer(self, typed: str) -> bool:
        """Whether a text answers: a letter of an option, or "?" to see the answer."""
        letters = "abcd"[: len(self.question.options)]
        return typed == "?" or (typed in [*letters] if letters else typed not in ("", "s", "q"))

    def answer(self, typed: str) -> "Answer":
        """Judge an answer, and record it. Raises Edited."""
        question, cell, said = self.question, "", ""
        with Process() as process:
            work = Work(self.entry, self.exercise, process)
            if work.cell.source != self.cell.source:
                raise Edited
            right = typed != "?" and question.kind != "missing" and question.is_right(typed)
            if question.kind == "missing" and typed != "?":
                cell = work.code.with_line(question.mark - self.cell.line + 1, typed)
                ran = work.ran(cell, FILLS[0])
                right = ran is not None and not ran.failed
                said = "" if right or not ran else ran.checks[ran.failed[0]][1]
            steps = work.steps(question, cell)
        return Answer(right, said, steps, self.record(right))

    def record(self, is_right: bool) -> int | None:
        """Record an answer. Returns the days until the exercise's next question; None when it was
        answered meanwhile, in another terminal.
        """
        import fsrs

        moment = datetime.combine(datetime.now().date(), time(), UTC)  # it counts whole days
        with progress.change(self.entry.root, self.entry.name) as record:
            cards = record.setdefault("reviews", {})
            if cards.get(self.exercise.id, {}) != self.card:
                return None
            card = fsrs.Card(1, due=moment)
            with suppress(KeyError, TypeError, ValueError):  # the first answer, or a damaged card
                card = fsrs.Card.from_dict(self.card["card"])
            if card.last_review and card.last_review > moment:  # the clock was set back
                card.last_review = moment
            rating = fsrs.Rating.Good if is_right else fsrs.Rating.Again
            scheduler = fsrs.Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)
            card, _ = scheduler.review_card(card, rating, moment)
            cards[self.exercise.id] = {
                "since": today(),
                "due": card.due.date().isoformat(),
                "card": card.to_dict(),
                "asked": [*self.card.get("asked", []), self.question.key][-REMEMBERED:],
                "last": self.as_json() | {"of": hashed(self.cell.source)},
            }
            return (card.due - moment).days


@dataclass
class Answer:
    """What became of an answer: what a check says about a typed line, the values that show it, and
    the days until the exercise's next question.
    """

    is_right: bool
    said: str
    steps: list[Step]
    days: int | None


def ask(entry: Entry, exercise: Exercise, kinds: Counter[str] | None = None) -> Asked | None:
    """A question about an exercise, first one that was not asked before; None without one.

    kinds  counts the kinds of the questions in a row: the one that was asked least comes next

    Raises WorkError, as `questions` does.
    """
    record, kinds = progress.record_of(entry), Counter() if kinds is None else kinds
    card = record.get("reviews", {}).get(exercise.id, {})
    source = notebook_sync.read(entry, record)
    cell = source.cell(exercise.name)
    question = next(iter(questions(entry, exercise, card.get("asked", []), kinds)), None)
    if not question or not cell:
        with progress.change(entry.root, entry.name) as record:
            later = datetime.now().date() + timedelta(NOTHING)
            days = {"since": today(), "due": later.isoformat()}
            record.setdefault("reviews", {})[exercise.id] = card | days
        return None
    kinds[question.kind] += 1
    file = entry.relative(source.path) + f" cell {cell.number}" * source.is_notebook
    return Asked(entry, exercise, question, file, cell, card)


def session(chosen: Sequence[tuple[Entry, Exercise]]) -> Iterator[Asked]:
    """The questions of one session, each made when it is wanted."""
    kinds: Counter[str] = Counter()
    for entry, exercise in chosen:
        with suppress(WorkError):  # it does not pass any more: `tito test` says why
            if kinds.total() < MOST and (asked := ask(entry, exercise, kinds)):
                yield asked

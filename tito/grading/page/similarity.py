"""Find pairs of submissions that are too similar: compare the code of learners within a lesson, by
short runs of tokens.

Only cells that learners write are read, and no code is run. Comments, layout and names are ignored:
`largest - x` and `m - x` are the same run. But `x.exp` and `x.log` differ, because a copier cannot
change the course's names after a dot or before a bracket. Runs of the released lessons have weight
0. Every other run has the weight log2(submissions / submissions that have it): common runs have
little weight, runs of only two learners the most. The course's solution is one of the submissions.
The similarity of two submissions is the weight of their common runs, divided by the weight of all
runs of the submission with less. Learners who agree by chance in one lesson rarely do so in the
next: compare several lessons.

Why common runs are not simply ignored ("more than a fifth of the class has it"): solutions have one
to five lines, so often a single line would be left, in which two honest learners agree by chance;
and a large group of copiers would hide itself.
"""

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

from tito.grading.gradebook import html_pages
from tito.html import render
from tito.lesson.course import Entry
from tito.safe_text import one_line, visible

RUN = 8  # tokens of a run
LEAST = 40  # tokens that a listed pair must share; fewer are shared by chance
MOST = 20_000  # tokens of one lesson that are read; the longest solution has about 1,000
LETTERS = 100_000  # of one lesson that are read: a word of two million takes half a minute
LISTED = 200  # pairs of a lesson, and of all
# Measured on lesson 03 when it had nine exercises, most of them of one line: in an honest class of
# 30, about 4 of 435 pairs are above.
THRESHOLD = 0.85


@dataclass(frozen=True)
class Token:
    """A word or sign of a cell: as it is compared, and where it is in the cell's text."""

    word: str
    start: int
    end: int


TokenRun = tuple[str, ...]  # the words of RUN tokens, one after the other
Runs = dict[TokenRun, list[tuple[str, int]]]  # {run: [(title, number of its first token), ...]}


@dataclass
class LearnerCode:
    """What one learner wrote for one lesson: {title of a cell: its text}.

    course: what is released.
    """

    student: str
    texts: dict[str, str]
    course: "ReleasedCode"

    @cached_property
    def tokens(self) -> dict[str, list[Token]]:
        """{title: its tokens}, of all cells together at most MOST."""
        by_title, left = {}, MOST
        for title, text in self.texts.items():
            by_title[title] = tokens(text, self.course, left)
            left -= len(by_title[title])
        return by_title

    @property
    def is_cut(self) -> bool:
        return (
            sum(map(len, self.texts.values())) == LETTERS
            or sum(map(len, self.tokens.values())) == MOST
        )

    @cached_property
    def runs(self) -> Runs:
        """{run: [(title, number of its first token), ...]}, without those that the course gives."""
        return {
            run: places
            for run, places in runs_in(self.tokens).items()
            if run not in self.course.runs
        }

    def covered(self, runs: Iterable[TokenRun]) -> dict[str, set[int]]:
        """{title: numbers of the tokens that these runs cover}."""
        numbers: dict[str, set[int]] = {}
        for run in runs:
            for title, first in self.runs[run]:
                numbers.setdefault(title, set()).update(range(first, first + RUN))
        return numbers


@dataclass(frozen=True)
class ReleasedCode:
    """The released cells of the course: their names, stripped lines and runs."""

    vocabulary: frozenset[str]
    lines: frozenset[str] = frozenset()
    runs: frozenset[TokenRun] = frozenset()


@dataclass
class Pair:
    """Two submissions of one lesson.

    similarity  0 to 1
    tokens      words and signs in shared runs, of the submission with fewer
    lessons     in how many of the lessons compared these two are that much alike
    page        the name of its page, once written
    """

    lesson: str
    number: int
    one: str
    two: str
    similarity: float
    tokens: int
    lessons: int = 1
    page: str | None = None

    @property
    def order(self) -> tuple[Any, ...]:
        return -self.lessons, -self.similarity, -self.tokens, self.number, self.one, self.two


@cache
def released_code(last: Entry) -> ReleasedCode:
    """What the released lessons of the course hold, up to the lesson `last`."""
    entries = [entry for entry in last.root.lessons if entry.number <= last.number]
    released = [cell for entry in entries for cell in entry.declared.released_source.cells]
    texts = [cell.source for cell in released if cell.kind == "code"]
    texts += [entry.declared.released_checks for entry in entries]
    vocabulary = frozenset(re.findall(r"[^\W\d]\w*", "\n".join(texts)))
    runs: Runs = {}
    for text in texts:
        runs |= runs_in({"": tokens(text, ReleasedCode(vocabulary), MOST)})
    return ReleasedCode(
        vocabulary,
        frozenset(line.strip() for text in texts for line in text.split("\n")),
        frozenset(runs),
    )


Columns = list[tuple[str, list[Any] | None, list[Any] | None]]  # see `side_by_side`
# Two learners' code, and for each of them {title: numbers of the tokens that both have}.
Evidence = tuple[LearnerCode, LearnerCode, list[dict[str, set[int]]]]
Notes = list[str]  # sentences about files that were compared in part or not at all


def compare(
    entry: Entry,
    texts: dict[str, dict[str, str]],
    course: ReleasedCode,
    threshold: float = THRESHOLD,
) -> tuple[list[tuple[Pair, Evidence]], Notes]:
    """The pairs of one lesson whose similarity is at least `threshold`, the most similar first.

    texts   {learner: what `written` gives of their file}
    """
    works = [LearnerCode(student, mine, course) for student, mine in sorted(texts.items())]
    notes = [
        f"{entry.name} of {one_line(work.student)} is too long: only its beginning was compared."
        for work in works
        if work.is_cut
    ]
    reference = LearnerCode("", written(entry, entry.declared), course)
    alike, shared = _alike(works, reference, threshold)
    chains = _without_chained(alike)
    pairs: list[tuple[Pair, Evidence]] = []
    for similarity, one, two in chains:
        both = shared[one] & shared[two]
        covered = [works[place].covered(both) for place in (one, two)]
        size = min(sum(map(len, column.values())) for column in covered)
        if size < LEAST:
            continue
        if len(pairs) == LISTED:
            notes.append(
                f"{entry.name}: more than {LISTED} pairs are that much alike. A higher --threshold "
                f"leaves fewer."
            )
            break
        names = works[one].student, works[two].student
        pair = Pair(entry.name, entry.number, *names, round(similarity, 3), size)
        pairs.append((pair, (works[one], works[two], covered)))
    if pairs and (left := len(alike) - len(chains)):
        notes.append(
            f"{entry.name}: {left} more are the same, of people whom the list already joins."
        )
    return sorted(pairs, key=lambda pair: pair[0].order), notes


def _alike(
    works: list[LearnerCode], reference: LearnerCode, threshold: float
) -> tuple[list[tuple[float, int, int]], list[set[TokenRun]]]:
    """([(similarity, place of one work, place of the other)], most alike first; for each work its
    runs that others also have).
    """
    count = Counter(run for work in works for run in work.runs)
    count.update(reference.runs.keys() & count.keys())
    weights = {run: math.log2((len(works) + 1) / holders) for run, holders in count.items()}
    totals = [weight_of(work.runs, weights) for work in works]
    shared = [{run for run in work.runs if count[run] > 1} for work in works]
    alike = []
    for one, two in _promising(shared, weights, totals, threshold):
        similarity = weight_of(shared[one] & shared[two], weights) / min(totals[one], totals[two])
        if similarity >= threshold:
            alike.append((similarity, one, two))
    return sorted(alike, key=lambda pair: (-pair[0], *pair[1:])), shared


def _without_chained(alike: list[tuple[float, int, int]]) -> list[tuple[float, int, int]]:
    """The pairs, without pairs of equal submissions that other pairs connect already: ten equal
    submissions give nine pairs, not forty-five.
    """
    group: dict[int, int] = {}
    pairs = []

    def first_of(place: int) -> int:
        while place in group:
            place = group[place]
        return place

    for similarity, one, two in alike:
        if similarity == 1 and first_of(one) == first_of(two):
            continue
        if similarity == 1:
            group[first_of(two)] = first_of(one)
        pairs.append((similarity, one, two))
    return pairs


def _promising(
    shared: list[set[TokenRun]],
    weights: dict[TokenRun, float],
    totals: list[float],
    threshold: float,
) -> list[list[int]]:
    """Pairs of places in `shared` that may reach the threshold.

    A product of matrices finds them a thousand times faster than 45,000 comparisons of sets. Its
    last digits differ between machines, so the similarity of the pairs found is computed exactly.
    """
    import numpy as np

    number = {run: i for i, run in enumerate({run for runs in shared for run in runs})}
    columns = [
        np.sort(np.fromiter((number[run] for run in runs), int, len(runs))) for runs in shared
    ]
    weight = np.array([weights[run] for run in number])
    sums = np.zeros((len(shared), len(shared)))
    for first in range(0, len(number), 4096):  # a part at a time, so that memory stays small
        part = np.zeros((len(shared), min(4096, len(number) - first)))
        for row, own in zip(part, columns):
            row[own[slice(*np.searchsorted(own, [first, first + 4096]))] - first] = 1
        sums += part * weight[first : first + 4096] @ part.T
    least = np.minimum.outer(totals, totals)
    chosen = np.triu((sums >= threshold * least * (1 - 1e-9)) & (least > 0), 1)
    return np.argwhere(chosen).tolist()


def weight_of(runs: Iterable[TokenRun], weights: dict[TokenRun, float]) -> float:
    # exact, so that it does not depend on the order of a set
    return math.fsum(weights[run] for run in runs)


def written(entry: Entry, file: Any) -> dict[str, str]:
    """{title: text} of the cells that the learner wrote: the exercises, then cells that are not in
    the released lesson.

    file  what has the `source` of a lesson: the course's own, or a learner's LessonFile
    """
    released = {cell.source for cell in entry.declared.released_source.cells}
    ids = {exercise.name: exercise.id for exercise in entry.declared.exercises}
    exercises: dict[str, str] = {}
    own: dict[str, str] = {}
    for cell in file.source.cells:
        if cell.kind != "code" or cell.checks or cell.source in released:
            continue
        if (id := ids.get(cell.exercise)) and cell is file.source.cell(cell.exercise):
            exercises[id] = cell.source
        else:
            own[f"own cell {len(own) + 1}"] = cell.source
    in_order = {id: exercises[id] for id in ids.values() if id in exercises}
    texts, left = {}, LETTERS
    for title, text in (in_order | own).items():
        texts[title] = text[:left]
        left -= len(texts[title])
        # This runs in the process with limits, because the lexer takes minutes for many blank
        # lines.
        tokens(texts[title], ReleasedCode(frozenset()), MOST)
    return texts


def tokens(text: str, course: ReleasedCode, most: int) -> list[Token]:
    """The first `most` tokens of Python text, right or wrong, that are on lines which the course
    does not give: no comments, strings all alike, and names all alike but the course's own.
    """
    words = _words(text, most)
    lines = text.split("\n")
    ends = list(accumulate(len(line) + 1 for line in lines))
    given = [line.strip() in course.lines for line in lines]
    around = ["", *(token.word for token, _ in words), ""]
    own = []
    for number, (token, is_name) in enumerate(words, 1):
        # A copier can rename the course's variables, but not a name after a dot or one that is
        # called.
        fixed = token.word in course.vocabulary and (
            around[number - 1] == "." or around[number + 1] == "("
        )
        word = "name" if is_name and not fixed else token.word
        if not given[bisect_right(ends, token.start)]:
            own.append(Token(word, token.start, token.end))
    return own[:most]


def _words(text: str, most: int) -> list[tuple[Token, bool]]:
    """[(token, whether it is a name)] of Python text, without comments; a string is one token."""
    from pygments import token
    from pygments.lexers import PythonLexer

    words: list[tuple[Token, bool]] = []
    pieces = PythonLexer(ensurenl=False).get_tokens_unprocessed(text)
    for start, kind, word in islice(pieces, 4 * most):
        end = start + len(word)
        if kind in token.Comment or not word.strip():
            continue
        if kind in token.Literal.String:
            if words and words[-1][0].word == "string":
                start = words.pop()[0].start
            words.append((Token("string", start, end), False))
        else:
            is_name = kind in token.Name and kind not in token.Name.Builtin
            words.append((Token(word, start, end), is_name))
    return words


def runs_in(words: dict[str, list[Token]]) -> Runs:
    runs: Runs = {}
    for title, line in words.items():
        spelled = [token.word for token in line]
        for first in range(len(spelled) - RUN + 1):
            runs.setdefault(tuple(spelled[first : first + RUN]), []).append((title, first))
    return runs


def side_by_side(one: LearnerCode, two: LearnerCode, covered: list[dict[str, set[int]]]) -> Columns:
    """[(title, pieces of the one, pieces of the two)]: the same exercise of both beside each other,
    then their own cells.

    A column is a list of (text, whether both have it), or None where there is no such cell.
    """
    columns = [
        {
            title: pieces(text, work.tokens[title], marks.get(title, ()))
            for title, text in work.texts.items()
            if work.tokens[title]  # in others, nothing was compared
        }
        for work, marks in zip((one, two), covered)
    ]
    return [
        (title, columns[0].get(title), columns[1].get(title))
        for title in dict.fromkeys([*columns[0], *columns[1]])
    ]


def pieces(text: str, words: list[Token], marked: Collection[int]) -> list[tuple[str, bool]]:
    """`text` in pieces, (piece, marked or not); space between marked neighbours is marked."""
    edges: list[list[int]] = []
    for word in (words[number] for number in sorted(marked)):
        if edges and not text[edges[-1][1] : word.start].strip():
            edges[-1][1] = word.end
        else:
            edges.append([word.start, word.end])
    cut, at = [], 0
    for start, end in edges:
        cut += [(text[at:start], False), (text[start:end], True)]
        at = end
    cut.append((text[at:], False))
    return [(visible(piece, LETTERS, LETTERS), mark) for piece, mark in cut if piece]


def compare_class(
    entries: list[Entry],
    submissions: Iterable[tuple[Any, dict[str, dict[str, str]]]],
    threshold: float = THRESHOLD,
    on_progress: Callable[[int, int], None] = lambda done, of: None,
) -> tuple[list[tuple[Pair, Columns]], Notes]:
    """The pairs of several lessons of a class; first come pairs that are alike in most lessons.

    entries      lessons of the course
    submissions  (intake's Submission, {lesson: what `written` gives}), one at a time
    on_progress  called with how many lessons are done, and of how many
    """
    course = released_code(max(entries, key=lambda entry: entry.number))
    texts, notes = _texts_by_lesson(entries, submissions)
    pairs: list[tuple[Pair, Evidence]] = []
    for done, entry in enumerate(entries):
        on_progress(done, len(entries))
        some, more = compare(entry, texts[entry.name], course, threshold)
        pairs += some
        notes += more
    together = Counter((pair.one, pair.two) for pair, _ in pairs)
    for pair, _ in pairs:
        pair.lessons = together[pair.one, pair.two]
    pairs.sort(key=lambda pair: pair[0].order)
    if len(pairs) > LISTED:
        notes.append(
            f"Of {len(pairs)} pairs in all lessons, the first {LISTED} are listed. A higher "
            f"--threshold leaves fewer."
        )
    return [(pair, side_by_side(*evidence)) for pair, evidence in pairs[:LISTED]], notes


def _texts_by_lesson(
    entries: list[Entry], submissions: Iterable[tuple[Any, dict[str, dict[str, str]]]]
) -> tuple[dict[str, dict[str, dict[str, str]]], Notes]:
    """({lesson: {learner: what `written` gives}}, notes)."""
    texts: dict[str, dict[str, dict[str, str]]] = {entry.name: {} for entry in entries}
    notes: Notes = []
    for submission, works in submissions:
        who = one_line(submission.student)
        if submission.problem:
            notes.append(f"{who} was not compared: {submission.problem}")
        for entry in entries:
            file = submission.files.get(entry.name)
            if entry.name in works:
                texts[entry.name][submission.student] = works[entry.name]
            elif file:
                notes.append(f"{entry.name} of {who} was not compared: {file.problem}")
    return texts, notes


def write(
    folder: Path, pairs: list[tuple[Pair, Columns]], threshold: float, notes: Notes
) -> list[Path]:
    """Write a page for each pair and `folder`/index.html.

    Sets the pairs' `page`. Returns the paths that were written because they changed.
    """
    texts = {}
    for pair, columns in pairs:
        names = f"{html_pages.file_name(pair.one)}--{html_pages.file_name(pair.two)}"
        pair.page = f"{pair.number:02}-{names}.html"
        texts[pair.page] = render("page/similarity.html", pair=pair, columns=columns)
    texts["index.html"] = render(
        "page/similarity_index.html",
        pairs=[pair for pair, _ in pairs],
        threshold=threshold,
        notes=notes,
        least=LEAST,
    )
    return html_pages.write(folder, texts)

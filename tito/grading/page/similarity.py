"""Pairs of submissions that are too much alike: what learners wrote, cut into short runs of tokens,
compared within one lesson.

Only cells that learners write are read, never run. Comments, layout and names do not count:
`largest - x` and `m - x` are the same run, while `x.exp` and `x.log` differ, because a name of the
course's own behind a dot or before a bracket cannot be changed by a copier. Runs that stand in the
released lessons count nothing. Every other run counts log2(submissions / submissions that have it),
so what everybody writes counts little and what two alone write counts most; the course's own
solution is one of the submissions. The similarity of two is the weight of the runs they share,
divided by the weight of all runs of the one with less. Two who agree by chance in one lesson seldom
do in the next: compare several.

Why not fixed cuts ("ignore what a fifth of the class has"): solutions here are one to five lines,
so that after a cut often one line is left, and two honest learners agree in it by chance; and a
large ring of copiers would hide itself.
"""

import math
import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, islice

from tito.grading.gradebook import html_pages
from tito.lesson import cells

RUN = 8  # tokens of a run
LEAST = 40  # tokens that two must have in common to be named: less is agreement by chance
MOST = (
    20_000  # tokens of one lesson that are read; the longest of our own solutions has about 1,000
)
LETTERS = (
    100_000  # of one lesson that are read: reading a single word of two million takes half a minute
)
LISTED = 200  # pairs of a lesson, and of all
# Measured on lesson 02, where most answers are one line: in an honest class of 30, about 4 of 435
# pairs are above.
THRESHOLD = 0.85


@dataclass(frozen=True)
class Token:
    """A word or sign of a cell: as it is compared, and where it stands in the cell's text."""

    word: str
    start: int
    end: int


@dataclass
class Work:
    """What one learner wrote for one lesson: {title of a cell: its text}.

    `course` is what `gives` told.
    """

    student: str
    texts: dict
    course: object

    @cached_property
    def tokens(self):
        """{title: its `Token`s}, of all cells together no more than MOST."""
        found, left = {}, MOST
        for title, text in self.texts.items():
            found[title] = tokens(text, self.course, left)
            left -= len(found[title])
        return found

    @property
    def is_cut(self):
        return (
            sum(map(len, self.texts.values())) == LETTERS
            or sum(map(len, self.tokens.values())) == MOST
        )

    @cached_property
    def runs(self):
        """{run: [(title, number of its first token), ...]}, without those that the course gives."""
        return {
            run: places for run, places in _runs(self.tokens).items() if run not in self.course.runs
        }

    def covered(self, runs):
        """{title: numbers of the tokens that those runs cover}."""
        found = {}
        for run in runs:
            for title, first in self.runs[run]:
                found.setdefault(title, set()).update(range(first, first + RUN))
        return found


@dataclass(frozen=True)
class Gives:
    """What the course gives to everybody in its released cells: the names in them, their lines
    (stripped) and their runs.
    """

    vocabulary: frozenset
    lines: frozenset = frozenset()
    runs: frozenset = frozenset()


@dataclass
class Pair:
    """Two submissions of one lesson.

    similarity  0 to 1
    tokens      words and signs that stand in shared runs, of the one with fewer
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
    def order(self):
        return -self.lessons, -self.similarity, -self.tokens, self.number, self.one, self.two


@cache
def gives(last):
    """What the released lessons of the course hold, up to the lesson `last`."""
    entries = [entry for entry in last.root.lessons if entry.number <= last.number]
    texts = [
        cell.source for entry in entries for cell in _released(entry) if cell.kind == "code"
    ] + [entry.declared.released_checks for entry in entries]
    vocabulary = frozenset(re.findall(r"[^\W\d]\w*", "\n".join(texts)))
    found = {}
    for text in texts:
        found |= _runs({"": tokens(text, Gives(vocabulary), MOST)})
    return Gives(
        vocabulary,
        frozenset(line.strip() for text in texts for line in text.split("\n")),
        frozenset(found),
    )


@cache
def _released(entry):
    return cells.parse(entry.script, entry.declared.released).cells


def compare(entry, texts, course, threshold=THRESHOLD):
    """The pairs of one lesson whose similarity is at least `threshold`, most alike first.

    entry   the course's lesson
    texts   {learner: what `written` found in their file}
    course  what `gives` returned
    Returns ([(Pair, what `side_by_side` takes)], sentences about submissions that were read in
    part).
    """
    works = [Work(student, cells_of, course) for student, cells_of in sorted(texts.items())]
    notes = [
        f"{entry.name} of {html_pages.name(work.student)} is too long: "
        "only its beginning was compared."
        for work in works
        if work.is_cut
    ]
    reference = Work("", written(entry, entry.declared), course)
    count = Counter(run for work in works for run in work.runs)
    count.update(reference.runs.keys() & count.keys())
    weights = {run: math.log2((len(works) + 1) / holders) for run, holders in count.items()}
    totals = [weight_of(work.runs, weights) for work in works]
    held = [
        {run for run in work.runs if count[run] > 1} for work in works
    ]  # what one alone has is shared with nobody
    alike = []
    for one, two in _promising(held, weights, totals, threshold):
        similarity = weight_of(held[one] & held[two], weights) / min(totals[one], totals[two])
        if similarity >= threshold:
            alike.append((-similarity, one, two))
    found, alike = [], sorted(alike)
    told = _joined_once(alike)
    for similarity, one, two in told:
        columns = [works[each].covered(held[one] & held[two]) for each in (one, two)]
        size = min(sum(map(len, column.values())) for column in columns)
        if size < LEAST:
            continue
        if len(found) == LISTED:
            notes.append(
                f"{entry.name}: more than {LISTED} pairs are that much alike. A higher --threshold "
                f"leaves fewer."
            )
            break
        pair = Pair(
            entry.name,
            entry.number,
            works[one].student,
            works[two].student,
            round(-similarity, 3),
            size,
        )
        found.append((pair, (works[one], works[two], *columns)))
    if found and (left := len(alike) - len(told)):
        notes.append(
            f"{entry.name}: {left} more are the same, of people whom the list already joins."
        )
    return sorted(found, key=lambda each: each[0].order), notes


def _joined_once(alike):
    """The pairs without those who are the same and joined already: of ten who handed in the same,
    nine pairs tell it, not forty-five.
    """
    group, kept = {}, []

    def of(place):
        while place in group:
            place = group[place]
        return place

    for similarity, one, two in alike:
        if similarity == -1 and of(one) == of(two):
            continue
        if similarity == -1:
            group[of(two)] = of(one)
        kept.append((similarity, one, two))
    return kept


def _promising(held, weights, totals, threshold):
    """Pairs of places in `held` ([set of runs]) that may reach the threshold.

    A product of matrices finds them in a thousandth of the time that 45,000 pairs of sets take, but
    its last digits differ between machines: the few that remain are weighed exactly.
    """
    import numpy as np

    number = {run: i for i, run in enumerate({run for runs in held for run in runs})}
    columns = [np.sort(np.fromiter((number[run] for run in runs), int, len(runs))) for runs in held]
    weight = np.array([weights[run] for run in number])
    shared = np.zeros((len(held), len(held)))
    for first in range(0, len(number), 4096):  # a part at a time, so that memory stays small
        part = np.zeros((len(held), min(4096, len(number) - first)))
        for row, own in zip(part, columns):
            row[own[slice(*np.searchsorted(own, [first, first + 4096]))] - first] = 1
        shared += part * weight[first : first + 4096] @ part.T
    least = np.minimum.outer(totals, totals)
    return np.argwhere(
        np.triu((shared >= threshold * least * (1 - 1e-9)) & (least > 0), 1)
    ).tolist()


def weight_of(runs, weights):
    return math.fsum(
        weights[run] for run in runs
    )  # exact, so that the order of a set changes nothing


def written(entry, file):
    """{title: text} of the cells that the learner wrote: the exercises, then what no cell of the
    released lesson holds.

    file  what has the `source` of a lesson: the course's own, or a learner's LessonFile
    """
    released = {cell.source for cell in _released(entry)}
    exercises = {exercise.name: exercise.id for exercise in entry.declared.exercises}
    found, own = {}, {}
    for cell in file.source.cells:
        if cell.kind != "code" or cell.checks or cell.source in released:
            continue
        if (id := exercises.get(cell.exercise)) and id not in found:
            found[id] = cell.source
        else:
            own[f"own cell {len(own) + 1}"] = cell.source
    kept, left = {}, LETTERS
    for title, text in (
        {
            exercise.id: found[exercise.id]
            for exercise in entry.declared.exercises
            if exercise.id in found
        }
        | own
    ).items():
        kept[title] = text[:left]
        left -= len(kept[title])
        # Here, in the process that reads within limits: the lexer takes minutes over blank lines.
        tokens(kept[title], Gives(frozenset()), MOST)
    return kept


def tokens(text, course, most):
    """The first `most` `Token`s of Python text, right or wrong, that stand on lines which the
    course does not give: no comments, strings all alike, and names all alike but the course's own.
    """
    from pygments import token
    from pygments.lexers import PythonLexer

    found = []  # [word, start, end, whether it is a name]
    for start, kind, word in islice(
        PythonLexer(ensurenl=False).get_tokens_unprocessed(text), 4 * most
    ):
        if kind in token.Comment or not word.strip():
            continue
        if kind in token.Literal.String:
            if found and found[-1][0] == "string":
                found[-1][2] = start + len(word)
            else:
                found.append(["string", start, start + len(word), False])
        else:
            found.append(
                [
                    word,
                    start,
                    start + len(word),
                    kind in token.Name and kind not in token.Name.Builtin,
                ]
            )
    words = [each[0] for each in found] + [""]
    lines = text.split("\n")
    ends = list(accumulate(len(line) + 1 for line in lines))
    given = [line.strip() in course.lines for line in lines]
    own = []
    for number, (word, start, end, named) in enumerate(found):
        # A variable of the course's may be renamed like any other; what stands behind a dot or is
        # called is what it is.
        if named and not (
            word in course.vocabulary and (words[number - 1] == "." or words[number + 1] == "(")
        ):
            word = "name"
        if not given[bisect_right(ends, start)]:
            own.append(Token(word, start, end))
    return own[:most]


def _runs(words):
    found = {}
    for title, line in words.items():
        spelled = [token.word for token in line]
        for first in range(len(spelled) - RUN + 1):
            found.setdefault(tuple(spelled[first : first + RUN]), []).append((title, first))
    return found


def side_by_side(one, two, *covered):
    """[(title, pieces of the one, pieces of the two)]: the same exercise of both beside each other,
    then cells of their own.

    covered  for each of them {title: numbers of the tokens that both have}
    A column is a list of (text, whether both have it), or None where there is no such cell.
    """
    columns = []
    for work, marks in zip((one, two), covered):
        columns.append(
            {
                title: pieces(text, work.tokens[title], marks.get(title, ()))
                for title, text in work.texts.items()
                if work.tokens[title]
            }
        )  # in others, nothing was compared
    return [
        (title, *(column.get(title) for column in columns))
        for title in dict.fromkeys([*columns[0], *columns[1]])
    ]


def pieces(text, words, marked):
    """`text` cut into (piece, marked or not); between two marked neighbours the space is marked,
    too.
    """
    edges = []
    for word in (words[number] for number in sorted(marked)):
        if edges and not text[edges[-1][1] : word.start].strip():
            edges[-1][1] = word.end
        else:
            edges.append([word.start, word.end])
    found, at = [], 0
    for start, end in edges:
        found += [(text[at:start], False), (text[start:end], True)]
        at = end
    return [
        (html_pages.visible(piece, LETTERS, LETTERS), mark)
        for piece, mark in [*found, (text[at:], False)]
        if piece
    ]


def compare_class(entries, submissions, threshold=THRESHOLD, told=lambda done, of: None):
    """The pairs of several lessons of a class.

    entries      lessons of the course
    submissions  (submission.Submission, {lesson: what `written` gives}), one at a time
    told         called with how many lessons are done, and of how many
    Returns ([(Pair, its two columns)], sentences about what was not compared). First come those who
    are alike in most lessons.
    """
    course, found, notes = gives(max(entries, key=lambda entry: entry.number)), [], []
    texts = {entry.name: {} for entry in entries}
    for submission, works in submissions:
        if submission.problem:
            notes.append(
                f"{html_pages.name(submission.student)} was not compared: {submission.problem}"
            )
        for entry in entries:
            file = submission.files.get(entry.name)
            if entry.name in works:
                texts[entry.name][submission.student] = works[entry.name]
            elif file:
                notes.append(
                    f"{entry.name} of {html_pages.name(submission.student)} was not compared: "
                    f"{file.problem}"
                )
    for done, entry in enumerate(entries):
        told(done, len(entries))
        pairs, said = compare(entry, texts[entry.name], course, threshold)
        found += pairs
        notes += said
    together = Counter((pair.one, pair.two) for pair, _ in found)
    for pair, _ in found:
        pair.lessons = together[pair.one, pair.two]
    found.sort(key=lambda each: each[0].order)
    if len(found) > LISTED:
        notes.append(
            f"Of {len(found)} pairs in all lessons, the first {LISTED} are listed. A higher "
            f"--threshold leaves fewer."
        )
    return [(pair, side_by_side(*works)) for pair, works in found[:LISTED]], notes


def write(folder, found, threshold, notes):
    """Write a page for each pair and `folder`/index.html.

    Sets the pairs' `page`. Returns the paths that were written because they changed.
    """
    texts = {}
    for pair, columns in found:
        names = f"{html_pages.file_name(pair.one)}--{html_pages.file_name(pair.two)}"
        pair.page = f"{pair.number:02}-{names}.html"
        texts[pair.page] = html_pages.render("page/similarity.html", pair=pair, columns=columns)
    texts["index.html"] = html_pages.render(
        "page/similarity_index.html",
        pairs=[pair for pair, _ in found],
        threshold=threshold,
        notes=notes,
        least=LEAST,
    )
    return html_pages.write(folder, texts)

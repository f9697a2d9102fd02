"""Find pairs of submissions that are too similar, by the library copydetect, within a lesson.

Only cells that learners write are read, and no code is run. Comments, layout and names are ignored,
and so is what the released lessons hold. The similarity of two submissions is the share of the
shorter one that is also in the other one. Learners who agree by chance in one lesson rarely do so
in the next: compare several lessons.
"""

import io
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tito.grading.gradebook import html_pages
from tito.html import render
from tito.lesson.course import Entry
from tito.safe_text import one_line, spelled

if TYPE_CHECKING:
    from copydetect import CodeFingerprint

RUN = 25  # characters of code without names: shorter pieces are equal by chance
LEAST = 150  # the same, that a listed pair must share in all
LETTERS = 50_000  # of one learner and lesson that are compared; the longest solution has 20,000
LISTED = 200  # pairs of a lesson
# Of 33 learners who draw from the recorded right solutions, and two copiers, 4 pairs of lesson 02
# and 3 of lesson 06 are above: the copiers, and learners who drew the same.
THRESHOLD = 0.9


@dataclass
class Pair:
    """Two submissions of one lesson.

    similarity  0 to 1
    tokens      characters of code in common, a name being one character
    codes       both codes, in HTML: what both have is marked
    page        the name of its page, once written
    """

    lesson: str
    number: int
    one: str
    two: str
    similarity: float
    tokens: int
    codes: tuple[str, str]
    page: str | None = None


def as_json(pair: Pair) -> dict[str, Any]:
    """What `tito similar --json` prints of a pair."""
    return {name: value for name, value in asdict(pair).items() if name != "codes"}


def written(entry: Entry, file: Any) -> str:
    """What a learner wrote: the exercises, then cells that are not in the released lesson.

    file  what has the `source` of a lesson, such as a LessonFile
    """
    from pygments.lexers import PythonLexer

    released = {cell.source for cell in entry.declared.released_source.cells}
    mine = [c for c in file.source.cells if c.kind == "code" and c.source not in released]
    names = [exercise.name for exercise in entry.declared.exercises]
    mine.sort(key=lambda cell: names.index(cell.exercise) if cell.exercise in names else len(names))
    text = joined(cell.source for cell in mine if not cell.checks)[:LETTERS]
    for _ in PythonLexer().get_tokens(text):
        pass  # it takes minutes for some texts: so it is tried here, in the process with limits
    return spelled(text)


def compare(
    entry: Entry, texts: dict[str, str], threshold: float = THRESHOLD
) -> tuple[list[Pair], list[str]]:
    """The pairs of one lesson whose similarity is at least `threshold`, the most similar first, and
    notes about omissions. Of equal submissions, each is compared with the first only.

    texts  {learner: what `written` gives of their file}
    """
    given = fingerprint(_released(entry))
    equal: dict[str, list[str]] = {}
    prints = {student: fingerprint(text, given) for student, text in sorted(texts.items())}
    for student, own in prints.items():
        equal.setdefault(own.filtered_code, []).append(student)
    found = [(group[0], other) for group in equal.values() for other in group[1:]]
    found += combinations([group[0] for group in equal.values()], 2)
    pairs = [_pair(entry, one, two, prints[one], prints[two], threshold) for one, two in found]
    alike = sorted((pair for pair in pairs if pair), key=lambda p: (-p.similarity, p.one, p.two))
    notes = [
        f"{entry.name} of {one_line(student)} is too long: only its beginning was compared."
        for student, text in texts.items()
        if len(text) >= LETTERS
    ]
    if len(alike) > LISTED:
        notes.append(
            f"{entry.name}: {len(alike)} pairs are that much alike, the first {LISTED} are listed. "
            f"A higher --threshold leaves fewer."
        )
    return alike[:LISTED], notes


def fingerprint(text: str, given: "CodeFingerprint | None" = None) -> "CodeFingerprint":
    """The runs of a text that copydetect compares, without the given ones."""
    from copydetect import CodeFingerprint

    own = CodeFingerprint("lesson.py", RUN, 1, fp=io.StringIO(text))
    if given:
        own.hashes -= given.hashes
        own.token_coverage = covered(own, own.hashes)
    return own


def covered(own: "CodeFingerprint", runs: set[int]) -> int:
    """How many characters of filtered code are in these runs."""
    from copydetect.utils import get_token_coverage

    places = {run: own.hash_idx[run] for run in runs}
    return int(get_token_coverage(places, RUN, len(own.filtered_code)))


def _pair(
    entry: Entry,
    one: str,
    two: str,
    first: "CodeFingerprint",
    second: "CodeFingerprint",
    threshold: float,
) -> Pair | None:
    """A pair, or None if it is less similar, or too short to tell."""
    from copydetect import compare_files
    from copydetect.utils import highlight_overlap

    shorter = min(first, second, key=lambda own: own.token_coverage)
    shared = covered(shorter, first.hashes & second.hashes)
    if shared < LEAST or shared < threshold * shorter.token_coverage:
        return None
    _, _, places = compare_files(first, second)
    codes = (
        highlight_overlap(own.raw_code, at.astype(int), "<mark>", "</mark>", escape_html=True)[0]
        for own, at in zip((first, second), places)
    )
    similarity = round(shared / shorter.token_coverage, 3)
    return Pair(entry.name, entry.number, one, two, similarity, shared, (*codes,))


@cache
def _released(last: Entry) -> str:
    """The code and the checks of the released lessons, up to one."""
    entries = [entry for entry in last.root.lessons if entry.number <= last.number]
    cells = [cell for entry in entries for cell in entry.declared.released_source.cells]
    texts = [cell.source for cell in cells if cell.kind == "code"]
    return joined(texts + [entry.declared.released_checks for entry in entries])


def joined(cells: Iterable[str]) -> str:
    """Cells with lines between them that are so long that no run is of two cells."""
    line = "~" * RUN
    return "\n".join((line, *(f"{cell}\n{line}" for cell in cells)))


def compare_class(
    entries: list[Entry],
    submissions: Iterable[tuple[Any, dict[str, str]]],
    threshold: float = THRESHOLD,
    on_progress: Callable[[int, int], None] = lambda done, of: None,
) -> tuple[list[Pair], list[str]]:
    """The pairs of several lessons, and notes about submissions that were not compared.

    submissions  (intake's Submission, {lesson: what `written` gives}), one at a time
    on_progress  called with how many lessons are done, and of how many
    """
    texts: dict[str, dict[str, str]] = {entry.name: {} for entry in entries}
    pairs: list[Pair] = []
    notes: list[str] = []
    for submission, works in submissions:
        who = one_line(submission.student)
        if submission.problem:
            notes.append(f"{who} was not compared: {submission.problem}")
        for name in texts:
            if name in works:
                texts[name][submission.student] = works[name]
            elif file := submission.files.get(name):
                notes.append(f"{name} of {who} was not compared: {file.problem}")
    for done, entry in enumerate(entries):
        on_progress(done, len(entries))
        some, more = compare(entry, texts[entry.name], threshold)
        pairs, notes = pairs + some, notes + more
    return pairs, notes


def write(folder: Path, pairs: list[Pair], threshold: float, notes: list[str]) -> list[Path]:
    """Write a page for each pair and `folder`/index.html.

    Sets the pairs' `page`. Returns the paths that were written because they changed.
    """
    texts = {}
    for pair in pairs:
        names = f"{html_pages.file_name(pair.one)}--{html_pages.file_name(pair.two)}"
        pair.page = f"{pair.number:02}-{names}.html"
        texts[pair.page] = render("page/similarity.html", pair=pair)
    texts["index.html"] = render(
        "page/similarity_index.html", pairs=pairs, threshold=threshold, notes=notes, least=LEAST
    )
    return html_pages.write(folder, texts)

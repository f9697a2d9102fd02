"""Make a sample class, six learners to try grading on, for any course:

    python -m tito.grading.sample FOLDER [--root COURSE] [--lessons LESSON ...]
    tito gradebook roster FOLDER/grades.csv
    tito grade FOLDER/submissions.zip --all

    FOLDER/submissions.zip  what they handed in, as Canvas gives it out
    FOLDER/grades.csv       the learners, as Canvas's gradebook lists them

Everything is read from the course, and the same course gives the same bytes.
"""

import argparse
import csv
import io
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tito import files
from tito.errors import TitoError, UsageError
from tito.lesson import cells, course, mistakes
from tito.lesson.course import Entry, Root
from tito.lesson.lesson_format import MARK, Lesson, answered


def solved(lesson: Lesson, count: int | None = None) -> str:
    """The released chapter with the course's solutions of its first exercises; with all of them,
    also with the answers to its questions.
    """
    chosen = lesson.exercises[:count]
    text = with_cells(lesson, {exercise.name: exercise.cell.source for exercise in chosen})
    for question in lesson.questions if chosen == lesson.exercises else ():
        source = cells.parse(lesson.path, text)
        if cell := source.cell(question.name):
            text = source.replaced(cell, answered(cell.source, question.answer))
    return text


def with_cells(lesson: Lesson, new: Mapping[str, str], text: str = "") -> str:
    """The released chapter, or `text`, with other sources in the cells of some exercises."""
    text = text or lesson.released
    for exercise, code in new.items():
        source = cells.parse(lesson.path, text)
        cell = next(cell for cell in source.cells if cell.exercise == exercise)
        lines = [line for line in code.split("\n") if not MARK.match(line)]
        text = source.replaced(cell, "\n".join(lines))
    return text


def with_mistake(lesson: Lesson) -> str:
    """Solved, with the first recorded mistake of the exercise in the middle, or of the lesson;
    without its last exercise if none is recorded.
    """
    recorded = mistakes.load(lesson).mistakes
    if not recorded:
        return solved(lesson, -1)
    middle = lesson.exercises[len(lesson.exercises) // 2]
    mistake = next((one for one in recorded if one.exercise == middle.id), recorded[0])
    exercise = lesson.exercise(mistake.exercise)
    return with_cells(lesson, {exercise.name: mistake.cell}, solved(lesson))


def with_syntax_error(lesson: Lesson) -> str:
    """Solved, with a parenthesis that is never closed in the last exercise."""
    last = lesson.exercises[-1]
    return with_cells(lesson, {last.name: f"{last.cell.source}\n    return ("}, solved(lesson))


# {(student id, name): how to make the work; None: nothing is handed in}
LEARNERS: dict[tuple[str, str], Callable[[Lesson], str] | None] = {
    ("novak.tove", "Tove Novak"): solved,
    ("lind.rosa", "Rosa Lind"): lambda lesson: solved(lesson, len(lesson.exercises) // 2),
    ("ito.rosa", "Rosa Ito"): with_mistake,
    ("berg.ivo", "Ivo Berg"): lambda lesson: lesson.released,
    ("garcia.elif", "Elif García"): with_syntax_error,
    ("hoang.farid", "Farid Hoang"): None,
}


def make(root: Root, folder: Path, lessons: Iterable[Entry] = ()) -> None:
    """Write the class for a course to `folder`, new or empty; `lessons`: none named means all."""
    if not root.is_course:
        raise UsageError(
            f"{root.path} is a workspace; the right answers are in the course.",
            "Run it in the course, or name it with --root.",
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty.", "Give a new folder.")
    lessons, download = list(lessons or root.lessons), dict[str, bytes]()
    for number, ((_, name), text_of) in enumerate(LEARNERS.items(), 1):
        if text_of is None:
            continue
        for entry in lessons:
            last = "".join(reversed(name.lower().split()))
            file = f"{last}_{1000 + number}_{5000 + entry.number * 10 + number}"
            data = text_of(entry.declared).encode("utf-8")
            download[f"{file}_{entry.script.name}"] = data
    files.write(folder / "submissions.zip", files.archive(download))
    files.write(folder / "grades.csv", grades(lessons))


def grades(lessons: Iterable[Entry]) -> bytes:
    """Canvas's gradebook, as CSV, with the assignments of these lessons."""
    titles = [f"{entry.declared.title} ({9000 + entry.number})" for entry in lessons]
    header = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *titles]
    rows = [header, ["    Points Possible", *[""] * (len(header) - 1)]]
    for number, (student, name) in enumerate(LEARNERS, 1):
        first, last = name.split()
        ids = [1000 + number, f"s-{number}", student, "AB"[number % 2]]
        rows.append([f"{last}, {first}", *map(str, ids), *[""] * len(titles)])
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows(rows)
    return table.getvalue().encode("utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tito.grading.sample", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a new folder")
    parser.add_argument("--root", metavar="COURSE", help="the course; default: the one you are in")
    parser.add_argument("--lessons", nargs="+", default=[], metavar="LESSON", help="only these")
    given = parser.parse_args()
    try:
        root = course.find_root(Path.cwd(), given.root)
        make(root, given.folder, [root.lesson(name) for name in given.lessons])
    except TitoError as error:
        print(f"{error.what}\n{error.remedy}", file=sys.stderr)
        return error.code
    print(f"{given.folder} holds {len(LEARNERS)} learners: submissions.zip, grades.csv")
    return 0


if __name__ == "__main__":
    sys.exit(main())

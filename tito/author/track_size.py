"""How much a learner writes and reads on each track. Measuring reads every view of a lesson."""

from dataclasses import dataclass

from tito.author.chapter_size import solution_lines
from tito.errors import UsageError
from tito.lesson import track
from tito.lesson.course import Root
from tito.lesson.lesson_format import MARK, Lesson


@dataclass
class TrackSize:
    """A track: the lessons with exercises on it; lines to write; words of the text that is open."""

    name: str
    hours: float
    lessons: int = 0
    exercises: int = 0
    lines: int = 0
    words: int = 0
    points: int = 0


def measure_all(root: Root) -> list[TrackSize]:
    """The size of each track of a course. Raises TitoError for a track that cannot be read."""
    return [_measure(root.on_tracks([one.name]), one) for one in root.all_tracks.values()]


def _measure(root: Root, chosen: track.Track) -> TrackSize:
    size = TrackSize(chosen.name, chosen.hours)
    for entry in root.lessons:
        lesson = entry.declared
        if any(map(MARK.match, lesson.released.split("\n"))):
            raise UsageError(
                f"{lesson.path} would have a marker of a solution on the track {chosen.name}.",
                "Put the whole solution into the cell of its exercise.",
            )
        if lesson.exercises:
            size.lessons += 1
            size.exercises += len(lesson.exercises)
            size.lines += sum(solution_lines(one.cell.source) for one in lesson.exercises)
            size.words += _words(lesson)
            size.points += lesson.points
    return size


def _words(lesson: Lesson) -> int:
    closed = track.closed_sections(lesson.source)
    return sum(
        len(cell.source.split())
        for heading, inside in track.sections_of(lesson.source)
        for cell in inside
        if cell.kind == "markdown" and heading not in closed
    )

"""The book as a PDF: the lessons, the milestones and the glossary. pandoc translates their Markdown
to typst, and typst sets it, with the course's design in `print.typ`.

What a page folds is open here, but for hints and the answers to predictions: they are at the end,
with the numbers of the pages that they belong to. Of the checks, the names are listed.
"""

import base64
import importlib.util
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tito import files
from tito.book import build, execute, pages
from tito.errors import MachineError, UsageError, WorkError
from tito.learn import milestone
from tito.learn.milestone import Milestone
from tito.lesson import glossary
from tito.lesson.course import Entry, Root
from tito.lesson.lesson_format import Exercise, hint_text
from tito.page.lesson import ANSWER, Builder
from tito.page.parts import Outputs, Part

PAPERS = {"a4": "a4", "letter": "us-letter"}
DESIGN = Path(__file__).with_name("print.typ")
SECONDS = 300  # that pandoc may take
# Raw typst in the Markdown: a page number, a place, and what surrounds the box of an exercise.
PAGE_NUMBER, PLACE = '`#page-of("{}")`{{=typst}}', '`#place("{}")`{{=typst}}'
BOX, END_OF_BOX = '```{=typst}\n#exercise("%s")[\n```', "```{=typst}\n]\n```"
CONTAINER = re.compile(r"^:::.*$", re.M)
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\((?!https?:|mailto:)([^)\s]*)\)")
UNKNOWN = re.compile(r"Could not convert TeX math (.+?), rendering as TeX", re.S)
FORMULA = re.compile(r"\$\$.+?\$\$|(?<![\\$])\$(?=\S)[^$]+?(?<=\S)\$(?!\d)", re.S)
SOURCES = {"image/png": ".png", "image/svg+xml": ".svg", "image/jpeg": ".jpg"}
COLUMNS = 96  # of code that fit in a line
SCREEN = 880  # pixels that are as wide as the text
EXTRA = "`bin/setup print` installs it."


@dataclass
class Printed:
    """The PDF: its file, how many pages of which paper, its bytes, and the CPU seconds it took."""

    path: Path
    pages: int
    paper: str
    size: int
    seconds: float


@dataclass
class Chapter:
    """A part of the book that begins on a new page, in Markdown.

    page     the path of its page in the site, without its ending
    place    the file that it is from, for messages
    hints    of its exercises; answers: to its predictions
    """

    page: str
    place: str
    title: str
    text: str = ""
    hints: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)


def make(
    root: Root,
    lessons: Sequence[Entry] = (),
    paper: str = "a4",
    output: Path | None = None,
    options: build.Options = build.Options(),
) -> Printed:
    """Print the book of a course.

    lessons  those to print; none for the whole book
    paper    "a4" or "letter"
    output   the file; None for one in `book/_build/`, named after the course or the lessons
    options  `fast`: without running the lessons; `report`, as in `build.build`

    Raises UsageError for an impossible paper or file, MachineError without pandoc or typst, and
    WorkError for a formula or a chapter that they refuse. An earlier PDF stays as it was then.
    """
    began = build.cpu_seconds()
    name = "-".join(entry.name for entry in lessons) or re.sub(r"\W+", "-", root.name.lower())
    work = root.path / "book" / "_build"
    path = output or work / f"{name}.pdf"
    refuse(root, paper, path, options)
    package = execute.write_package(root, work / "package")
    outputs = {}
    if not options.fast:
        outputs = execute.run_all(root, package, work / "executed", options.report)
    folder = Path(tempfile.mkdtemp(files.SUFFIX, ".pdf-", work))
    try:
        chapters = collect_chapters(root, lessons, outputs, folder)
        shutil.copy(DESIGN, folder)
        data = set_in_typst(root, chapters, paper, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    files.write(path, data)
    count = len(re.findall(rb"/Type ?/Page\b", data))
    return Printed(path, count, paper, len(data), build.cpu_seconds() - began)


def refuse(root: Root, paper: str, path: Path, options: build.Options) -> None:
    """Raise TitoError where no PDF can be made, or none can be written."""
    if paper not in PAPERS:
        raise UsageError(f"--paper {paper!r} is neither a4 nor letter.", "a4 is 210 by 297 mm.")
    build.refuse(root, options)
    if path.is_dir() or path.is_file() and not path.read_bytes()[:5] == b"%PDF-":
        raise UsageError(f"{path} is there, and is no PDF.", "Give a new file, or an earlier PDF.")
    for module in ("pypandoc", "typst"):
        if not importlib.util.find_spec(module):
            raise MachineError(
                f"The PDF is made with {module}, which is not installed here.", EXTRA
            )


def collect_chapters(
    root: Root, lessons: Sequence[Entry], outputs: dict[str, dict[str, Outputs]], folder: Path
) -> list[Chapter]:
    """The chapters to print. Their pictures are written into the folder."""
    pictures = Pictures(folder)
    chapters = [
        lesson_chapter(entry, outputs.get(f"lessons/{entry.folder}", {}), pictures)
        for entry in lessons or root.lessons
    ]
    if not lessons:
        chapters += [
            milestone_chapter(root, program, outputs, pictures)
            for program in milestone.milestones(root)
        ]
        chapters.append(glossary_chapter(root))
    printed = {Path(chapter.page).name for chapter in chapters}
    for chapter in chapters:
        chapter.text = LINK.sub(lambda link: _relinked(link, printed), chapter.text)
    return [*chapters, *appendices(chapters)]


def _relinked(link: re.Match[str], printed: set[str]) -> str:
    """A link to a chapter that is printed leads there; of another one the words stay."""
    words, address = link.groups()
    name = Path(address.partition("#")[0]).stem
    return f"[{words}](#{name})" if name in printed else words


class Pictures:
    """The files of pictures, by number."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0

    def add(self, kind: str, data: str, caption: str, alt: str) -> str:
        """Write a picture of a notebook. Returns the call that shows it."""
        raw = data.encode() if kind == "image/svg+xml" else base64.b64decode(data)
        self.count += 1
        name = f"{self.count}{SOURCES[kind]}"
        (self.folder / name).write_bytes(raw)
        # The width of a PNG, which has two pixels for one of the screen.
        width = struct.unpack(">I", raw[16:20])[0] / 2 / SCREEN if kind == "image/png" else 0.8
        words = ", ".join(map(_quoted, (name, alt, caption)))
        return f"```{{=typst}}\n#picture({words}, {min(width, 1):.0%})\n```"


class Writer:
    """Writes the Markdown of a chapter, cell by cell."""

    def __init__(self, chapter: Chapter, number: str, pictures: Pictures) -> None:
        self.chapter, self.number, self.pictures = chapter, number, pictures

    def add(self, text: str) -> None:
        self.chapter.text += f"{text.strip()}\n\n"

    def add_part(self, part: Part) -> None:
        """A part; "exercise" and "hints" are for who knows the lesson."""
        if part.kind == "prose":
            self.add(CONTAINER.sub("", part.source))
        elif part.kind == "end":
            self.add(END_OF_BOX)
        elif re.match(r"\d+ checks?, ", part.folded):
            names = re.findall(r"^def test_(\w+)", part.source, re.M)
            listed = "\n".join(f"- {name.replace('_', ' ')}" for name in names)
            self.add(f"{part.folded}:\n\n{listed}")
        elif part.kind == "code":
            if not part.hidden:
                self.add(_fenced(part.source, "python"))
            shown = self.outputs(part)
            if shown and part.answer == ANSWER:
                self.move_answer(shown)
            else:
                self.add(shown)
            self.add(part.explanation.source if part.explanation else "")

    def outputs(self, part: Part) -> str:
        parts = []
        for output in part.outputs:
            if output["output_type"] == "stream":
                parts.append(_fenced("".join(output["text"]).rstrip("\n"), "text"))
                continue
            data = {kind: "".join(value) for kind, value in output.get("data", {}).items()}
            kind = next((kind for kind in SOURCES if kind in data), None)
            if kind:
                parts.append(self.pictures.add(kind, data[kind], part.caption, part.alt))
            elif plain := data.get("text/plain"):
                parts.append(_fenced(plain, "text"))
        return "\n\n".join(parts)

    def move_answer(self, shown: str) -> None:
        """Move an answer to the end of the book; its page number is in its place."""
        number = f"{self.number}.{len(self.chapter.answers) + 1}"
        here, there = f"predict-{number}", f"answer-{number}"
        self.add(f"*Answer {number} is on page {PAGE_NUMBER.format(there)}.*{PLACE.format(here)}")
        self.chapter.answers.append(
            f"{PLACE.format(there)}**Answer {number}**, page {PAGE_NUMBER.format(here)}\n\n{shown}"
        )

    def add_hints(self, exercise: Exercise) -> None:
        """Move an exercise's hints to the end of the book; their page number is in their place."""
        here, there, count = exercise.id, f"hints-{exercise.id}", len(exercise.hints)
        hints = f"{count} hint{'s' * (count != 1)}"
        self.add(f"*{hints} at the end, on page {PAGE_NUMBER.format(there)}.*")
        steps = [re.sub(r"\n(?=.)", "\n    ", hint_text(hint)) for hint in exercise.hints]
        listed = "\n\n".join(f"{number}.  {hint}" for number, hint in enumerate(steps, 1))
        head = f"{PLACE.format(there)}**{exercise.title}**, page {PAGE_NUMBER.format(here)}"
        self.chapter.hints.append(f"{head}\n\n{listed}")


def _fenced(text: str, language: str) -> str:
    """A block of code or output. A line that does not fit goes on in the next, behind an arrow."""
    lines = [
        "\n↪ ".join(line[at : at + COLUMNS] for at in range(0, len(line), COLUMNS))
        for line in text.split("\n")
    ]
    fence = "`" * max(3, *(len(ticks) + 1 for ticks in re.findall("`+", text)), 3)
    return "\n".join([f"{fence}{language}", *lines, fence]) if text.strip() else ""


def lesson_chapter(entry: Entry, outputs: dict[str, Outputs], pictures: Pictures) -> Chapter:
    lesson = entry.declared
    title = f"{entry.number:02}. {lesson.title}"
    chapter = Chapter(f"lessons/{entry.folder}", entry.relative(entry.script), title)
    writer = Writer(chapter, str(entry.number), pictures)
    writer.add(f"# {title} {{#{entry.folder}}}")
    for section in Builder(entry, outputs).build():
        for part in section.parts:
            if part.kind == "exercise":
                exercise = lesson.exercise(part.name)
                writer.add(f"{BOX % part.name}\n\n{part.source}")
            elif part.kind == "hints" and part.folded:
                writer.move_answer(part.hints[0])
            elif part.kind == "hints":
                writer.add_hints(exercise)
            elif part.source.startswith(f"# {title}\n"):
                writer.add(part.source.partition("\n")[2])
            else:
                writer.add_part(_lowered(part) if section.title and not section.page else part)
    return chapter


def _lowered(part: Part) -> Part:
    """A part whose headings are one level lower; `#` in a block of code stays."""
    if part.kind != "prose":
        return part
    texts = re.split(r"(^```.*?^```)", part.source, flags=re.M | re.S)
    texts[::2] = [re.sub(r"^(#+ )", r"#\1", text, flags=re.M) for text in texts[::2]]
    return Part("prose", "".join(texts))


def milestone_chapter(
    root: Root, program: Milestone, outputs: dict[str, dict[str, Any]], pictures: Pictures
) -> Chapter:
    name = program.path.stem
    title = f"{program.year}. {program.title}"
    chapter = Chapter(f"milestones/{name}", execute.place_of_milestone(program), title)
    writer = Writer(chapter, str(program.year), pictures)
    for part in pages.of_milestone(root, program, outputs.get(f"milestones/{name}", {})).parts:
        if part.source.startswith("# "):
            part.source = f"{part.source} {{#{name}}}"
        writer.add_part(part)
    return chapter


def glossary_chapter(root: Root) -> Chapter:
    rows = [
        f"**{term.term}** {term.sentence} *{term.number:02}. {term.title}*"
        for term in glossary.read_terms(root)
    ]
    text = "\n\n".join(["# Glossary {#glossary}", *rows])
    return Chapter("glossary", "the glossary", "Glossary", text)


def appendices(chapters: list[Chapter]) -> Iterator[Chapter]:
    """The hints and the answers, by chapter; without what the book does not have."""
    for title, about, parts in (
        (
            "Hints",
            "Each says more than the one before it. Read one, then try again.",
            [(chapter.title, chapter.hints) for chapter in chapters if chapter.hints],
        ),
        (
            "Answers",
            "What the code prints or draws where the text asks for a prediction.",
            [(chapter.title, chapter.answers) for chapter in chapters if chapter.answers],
        ),
    ):
        if parts:
            texts = [f"## {name}\n\n" + "\n\n".join(rows) for name, rows in parts]
            text = "\n\n".join([f"# {title}", about, *texts])
            yield Chapter(title.lower(), f"the {title.lower()}", title, text)


# pandoc and typst.


def set_in_typst(root: Root, chapters: list[Chapter], paper: str, folder: Path) -> bytes:
    """The bytes of the PDF. Raises WorkError for a formula that pandoc or typst does not know."""
    facts = {
        "title": root.name,
        "edition": root.edition,
        "authors": ", ".join(read_authors(root)),
        "paper": PAPERS[paper],
    }
    words = ", ".join(f"{key}: {_quoted(value)}" for key, value in facts.items())
    head = f'#import "{DESIGN.name}": *\n#show: book.with({words})\n\n'
    bodies = [to_typst(chapter.text, chapter.place) for chapter in chapters]
    try:
        return compile_typst(head + "\n\n".join(bodies), folder)
    except MachineError:
        for chapter in chapters:
            refuse_formulas(chapter, folder)
        raise


def compile_typst(text: str, folder: Path) -> bytes:
    """The PDF of a text in typst. Raises MachineError with what typst says."""
    import typst

    source = folder / "book.typ"
    source.write_text(text, encoding="utf-8")
    try:
        data: bytes = typst.compile(source, root=folder)
    except typst.TypstError as error:
        raise MachineError(
            f"typst does not set the book: {error.message}.", "This is a fault of tito."
        ) from None
    return data


def refuse_formulas(chapter: Chapter, folder: Path) -> None:
    """Raise WorkError with the first formula of a chapter that typst does not know."""
    for formula in dict.fromkeys(FORMULA.findall(chapter.text)):
        try:
            compile_typst(to_typst(formula, chapter.place), folder)
        except MachineError as error:
            raise _unknown(chapter.place, formula, error.what) from None


def to_typst(markdown: str, place: str) -> str:
    """Markdown in the language of typst, by pandoc. Raises WorkError with the place of a formula
    that pandoc does not know.
    """
    import pypandoc

    words = ["--from=markdown", "--to=typst", "--syntax-highlighting=idiomatic"]
    done = subprocess.run(
        [pypandoc.get_pandoc_path(), *words],
        input=markdown,
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )
    if done.returncode:
        raise MachineError(f"{place}: pandoc ends with {done.stderr.strip()!r}.", "Is it damaged?")
    if formula := UNKNOWN.search(done.stderr):
        raise _unknown(place, " ".join(formula[1].split()), "pandoc does not know it.")
    return done.stdout.replace("dot.circle", "dot.o")  # pandoc has the old name of \\odot


def _unknown(place: str, formula: str, why: str) -> WorkError:
    return WorkError(
        f"{place}: the formula {formula} cannot be printed: {why}", "Write it in another way."
    )


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def read_authors(root: Root) -> list[str]:
    """The names of the authors in the course's CITATION.cff; none without one."""
    import yaml  # type: ignore[import-untyped]

    path = root.path / "CITATION.cff"
    cited = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}
    return [
        author.get("name") or f"{author['given-names']} {author['family-names']}"
        for author in cited.get("authors", [])
    ]

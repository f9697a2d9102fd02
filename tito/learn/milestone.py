"""Milestones: programs that show what the finished package can do,
`modules/milestones/NN_year_name.py`.

Each program declares, in comments at its top, the lessons that it needs and its goal:

    # /// milestone
    # title = "Digits, read by two layers"
    # needs = ["tensor", "layers", "training"]     the lessons whose modules it imports, in the end
    # seconds = 300                                it may take
    # alt = "Loss against epoch: it falls to 0.1"  what its picture shows, in words, for the book
    # after = "gpt"                                the milestone whose saved run it uses, if any
    # [goal]
    # "test accuracy" = 0.97                       at least
    # [at_most]                                    left out where there is nothing of the kind
    # "bits per character" = 1.65
    # ///

and defines `run(seed)`, which trains and returns ({name: what was measured}, a matplotlib figure).
One that also says `options = true` defines `run(seed, words)`: the words after its name are an
experiment of the learner's, which is shown and neither judged nor recorded. One that also says
`plays = ["--prompt"]` defines `play(words, seed)`, to use in the terminal what its run made: it is
called for these words, and without words once the goal is reached. For words that they cannot use,
both call `sys.exit` with a sentence. One that says `downloads = "548 MB"` asks before it does: it
reads from the terminal, takes the time it takes, and the book does not run it. With
`threads = true` its products of large matrices may use all processors.
It runs in a separate process (`milestone_process.py`) on the root's package and no other. In a
workspace the course's own copy is what runs, so that the goal is the same for everybody; a
learner's edited copy runs with plain `python`.
"""

import hashlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tito import child, files, settings
from tito.errors import Notice, UsageError, WorkError, suggest
from tito.learn import progress, status
from tito.learn.runner import export_lesson, test_lesson
from tito.learn.verdict import LEFT_OUT, TestedModules, place_of, short
from tito.lesson import course
from tito.lesson.course import Entry, Root

SOURCE = Path("modules", "milestones")
PRISTINE = course.PRISTINE / "milestones"
FILE = re.compile(r"(\d+)_(\d{4})_([a-z][a-z0-9_]*)\.py")
BLOCK = re.compile(r"^# /// milestone\n((?:#.*\n)+?)# ///$", re.M)
HEADER: settings.Form = {
    "title": settings.text(needed=True),
    "needs": settings.texts(needed=True),
    "seconds": settings.number(0, settings.MOST, needed=True),
    "goal": settings.table(needed=True),
    "at_most": settings.table(),
    "alt": settings.text(),
    "after": settings.text(),
    "options": settings.FLAG,
    "plays": settings.texts(),
    "downloads": settings.text(),
    "threads": settings.FLAG,
}
PROGRAM = Path(__file__).with_name("milestone_process.py")

Figures = dict[str, float]  # {name: what was measured}


@dataclass(frozen=True, eq=False)
class Milestone:
    """One program.

    goal     {name: the least that must be measured}
    at_most  {name: the most that may be measured}
    seconds  how long it may take; an experiment, which has words, takes what it takes
    options  whether it takes words after its name
    after    the name of the milestone whose saved run it uses
    plays    the words after its name for using what it made
    downloads  what it asks to download; "" for nothing
    threads  whether NumPy may use more than one processor
    """

    path: Path
    number: int
    year: int
    name: str
    title: str
    needs: tuple[str, ...]
    seconds: float
    goal: Figures
    alt: str
    at_most: Figures
    options: bool
    after: str
    plays: tuple[str, ...]
    downloads: str
    threads: bool

    def picture(self, words: tuple[str, ...] = ()) -> str:
        """The file name of its picture, which contains the words of an experiment."""
        return "_".join(re.findall(r"\w+", " ".join([self.path.stem, *words])))[:80] + ".png"

    def missed(self, measured: Figures) -> dict[str, str]:
        """{name of a goal that was not reached: a sentence about it, without a full stop}."""
        missed = [n for n, least in self.goal.items() if not measured.get(n, math.nan) >= least]
        missed += [n for n, most in self.at_most.items() if not measured.get(n, math.nan) <= most]
        texts, goals = self.figures(measured), self.goals()
        return {n: f"{n} is {texts.get(n, 'missing')}, the goal is {goals[n]}" for n in missed}

    def goals(self) -> dict[str, str]:
        """{name: what must be reached, as it is shown}."""
        at_most = self.figures(self.at_most)
        return self.figures(self.goal) | {name: f"at most {at_most[name]}" for name in at_most}

    def figures(self, measured: Figures) -> dict[str, str]:
        """{name: a measured number as it is shown}: from 0 to 1 it is a share, such as 98.3%,
        unless it is an int or `at_most` has its name.
        """
        return {
            name: f"{value:.1%}" if is_share and name not in self.at_most else f"{value:.4g}"
            for name, value in measured.items()
            for is_share in [isinstance(value, float) and 0 <= value <= 1]
        }


@dataclass
class MilestoneRun:
    """The result of a run.

    words    an experiment's
    verdict  "passed", "failed", or "tried": an experiment came to its end
    reason, remedy   why it is no pass, and what to do
    lesson   the lesson to look at, when one is known
    picture  its path, None if there was none
    own, of  how many exercises of its lessons the learner writes, of how many
    """

    milestone: Milestone
    seed: int
    words: tuple[str, ...]
    verdict: str = "failed"
    reason: str = ""
    remedy: str = ""
    lesson: str = ""
    measured: Figures = field(default_factory=dict)
    seconds: float = 0.0
    picture: Path | None = None
    own: int = 0
    of: int = 0

    @property
    def passed(self) -> bool:
        return self.verdict in ("passed", "tried")

    def as_json(self) -> dict[str, Any]:
        value = {key: getattr(self.milestone, key) for key in ("name", "title", "goal", "at_most")}
        value |= vars(self)
        for key in ("milestone", "picture", "own", "of"):
            del value[key]
        return value


@dataclass
class MilestoneStatus:
    """How far a milestone is: state is passed, stale (passed once, the code was changed
    since), failed or new; `waits` are the lessons that it waits for.
    """

    milestone: Milestone
    state: str
    waits: list[str]
    measured: Figures
    last_run: str | None

    def as_json(self) -> dict[str, Any]:
        keys = ("number", "year", "name", "title", "goal", "at_most")
        value = {key: getattr(self.milestone, key) for key in keys} | vars(self)
        del value["milestone"]
        return value


def milestones(root: Root) -> list[Milestone]:
    """The milestones of a root, in order.

    Raises TitoError, with the file, when one is not in the agreed form.
    """
    folder = root.path / (SOURCE if root.is_course else PRISTINE)
    matches = [(path, FILE.fullmatch(path.name)) for path in folder.glob("*.py")]
    programs = [_read(path, match) for path, match in matches if match]
    return sorted(programs, key=lambda program: program.number)


def _read(path: Path, name: re.Match[str]) -> Milestone:
    text, rows = path.read_text(encoding="utf-8"), ""
    if block := BLOCK.search(text):
        above = "\n" * text.count("\n", 0, block.start(1))  # so that errors name its lines
        rows = above + re.sub("(?m)^# ?", "", block[1])
    values: dict[str, Any] = {"at_most": {}, "options": False, "plays": [], "threads": False}
    values |= {"alt": "", "after": "", "downloads": ""} | settings.read(path, rows, HEADER)
    values |= {key: tuple(values[key]) for key in ("needs", "plays")}
    values["alt"] = values["alt"].strip()
    return Milestone(path, int(name[1]), int(name[2]), name[3], **values)


def find(root: Root, name: str) -> Milestone:
    """The milestone meant by `xor`, `2`, `02`, `1986` or `02_1986_xor`.

    Raises TitoError with a suggestion.
    """
    programs = milestones(root)
    for program in programs:
        number = int(name) if name.isdecimal() else None
        if name in (program.name, program.path.stem) or number in (program.number, program.year):
            return program
    names = [program.name for program in programs]
    if not names:
        raise UsageError(
            f"There are no milestones in {root.path}.",
            "`tito init` adds missing files to a workspace.",
        )
    raise UsageError(
        f"There is no milestone {name!r}.",
        suggest(name.lower(), names, f"There are: {', '.join(names)}."),
    )


def statuses(root: Root) -> list[MilestoneStatus]:
    """The status of every milestone of the root."""
    data = progress.load(root)
    states = {row.name: row.state for row in status.rows(root)}
    rows = []
    for program in milestones(root):
        record = data.get("milestones", {}).get(program.name, {})
        state = _state(root, program, record)
        waits = [name for name in program.needs if states.get(name) not in ("passed", "given")]
        measured, last_run = record.get("measured", {}), record.get("when")
        rows.append(MilestoneStatus(program, state, waits, measured, last_run))
    return rows


def _state(root: Root, program: Milestone, record: dict[str, Any]) -> str:
    """The state of a milestone, from the record of its last run."""
    state = str(record.get("verdict", "new"))
    if state == "passed" and record.get("code") != _code_of(program, _modules(root, program)):
        return "stale"
    return state


def _modules(root: Root, program: Milestone) -> dict[str, str]:
    """{path: text} of the package's modules of the lessons it needs, as they are now; those
    that are not there are left out.
    """
    paths = [root.lesson(name).module_path for name in program.needs]
    return {
        str(path): path.read_text(encoding="utf-8", errors="replace")
        for path in paths
        if path.exists()
    }


def _code_of(program: Milestone, texts: dict[str, str]) -> str:
    """A hash of what its result depends on: the program and the modules."""
    digest = hashlib.sha256(program.path.read_bytes())
    for text in texts.values():
        digest.update(text.encode("utf-8") + b"\0")
    return digest.hexdigest()


# One run.


def run(
    root: Root,
    program: Milestone,
    seed: int = 0,
    words: tuple[str, ...] = (),
    out: IO[str] | None = None,
) -> MilestoneRun:
    """Bring the package up to date, run a milestone on it, and record what came of it.

    words  what is to be different in this run, an experiment, which is not recorded
    out    where the program's own output goes, a file; None for this process's standard output

    Raises UsageError for words that the program does not know.
    """
    if words and not program.options:
        raise UsageError(
            f"The milestone {program.name} takes no options: {' '.join(words)}.",
            f"tito milestone run {program.name}",
        )
    result = MilestoneRun(program, seed, words)
    entries = [root.lesson(name) for name in program.needs]
    result.own = sum(len(entry.declared.exercises) for entry in entries)
    result.of = result.own + sum(len(entry.declared.given) for entry in entries)
    texts: dict[str, str] = {}
    if (tested := _export(entries, result)) is not None:
        texts = _modules(root, program)
        report, picture = execute(root, result, texts, out)
        result.measured, result.seconds = report.get("measured", {}), report.get("seconds", 0.0)
        if picture:
            result.picture = root.path / SOURCE / program.picture(words)
            files.write(result.picture, picture)
        _judge(result, report, root, tested)
    if not words:
        _record(root, result, texts)
    return result


def check_begun(root: Root, program: Milestone) -> None:
    """Raise UsageError for a milestone of a workspace while a lesson that it needs is not begun."""
    states = {} if root.is_course else {row.name: row.state for row in status.rows(root)}
    if new := [name for name in program.needs if states.get(name) == "new"]:
        raise UsageError(f"{program.name} waits for {', '.join(new)}.", f"tito start {new[0]}")


def is_to_play(root: Root, program: Milestone, words: tuple[str, ...]) -> bool:
    """Whether these words are for using what a milestone made, and without words, whether its goal
    was reached with the package as it is.
    """
    if words:
        return any(word.partition("=")[0] in program.plays for word in words)
    record = progress.load(root).get("milestones", {}).get(program.name, {})
    return bool(program.plays) and _state(root, program, record) == "passed"


def play(root: Root, program: Milestone, words: tuple[str, ...], seed: int = 0) -> None:
    """Let a learner use what a milestone made, in the terminal.

    Raises UsageError for words that the program cannot use.
    """
    result = MilestoneRun(program, seed, words)
    if _export([root.lesson(name) for name in program.needs], result) is None:
        raise WorkError(result.reason, result.remedy)
    report, _ = execute(root, result, _modules(root, program), does="play")
    if error := report.get("error"):
        raise WorkError(error, f"tito test {report['lesson']}" if report.get("lesson") else "")


def _export(entries: list[Entry], result: MilestoneRun) -> TestedModules | None:
    """The package's modules of these lessons, brought up to date; None, with the reason in the
    result, when one cannot be exported.
    """
    tested: TestedModules = {}
    for entry in entries:
        record = progress.record_of(entry)
        try:
            modules, notes = export_lesson(entry, record)
        except WorkError as error:
            result.reason, result.remedy = short(error.what, entry), error.remedy
            result.lesson = entry.name
            return None
        tested |= modules
        for note in notes:
            warnings.warn(f"{note}.", Notice, stacklevel=2)
    return tested


def execute(
    root: Root,
    asked: MilestoneRun,
    texts: dict[str, str],
    out: IO[str] | None = None,
    does: str = "run",
) -> tuple[dict[str, Any], bytes | None]:
    """Run a milestone's program in a separate process, with the seed and words that were asked for.

    does  "run", or "play": then it reads from the terminal, for as long as the learner wants

    Returns its report, {"measured", "seconds"}, or {"error": why there is none}, with the lesson
    where the error was when one is known; and the picture's bytes, or None.
    """
    program = asked.milestone
    with tempfile.TemporaryDirectory(prefix="tito-milestone-") as folder:
        paths = {name: Path(folder, name) for name in ("answer", "picture", "request")}
        request: dict[str, Any] = {name: str(path) for name, path in paths.items()}
        request |= {"root": str(root.path), "package": root.package, "texts": texts}
        request |= {"program": str(program.path), "seed": asked.seed, "words": list(asked.words)}
        request["reads"] = does == "play" or bool(program.downloads)
        paths["request"].write_text(json.dumps(request | {"does": does}), encoding="utf-8")
        code = _run_process(paths["request"], asked, out, request["reads"])
        if code is None:
            return {"error": f"It was still running after {program.seconds:g} s."}, None
        try:
            report = json.loads(paths["answer"].read_text(encoding="utf-8"))
        except (OSError, ValueError):
            if not code and "--help" in asked.words:
                return {}, None
            error = f"Its process ended with exit code {code} before it had an answer."
            return {"error": error}, None
        picture = paths["picture"]
        drawn = picture.read_bytes() if picture.exists() else None
    if usage := report.get("usage"):
        raise UsageError(
            f"{program.name}: {usage}.", f"See: tito milestone run {program.name} --help"
        )
    return report, drawn


def _run_process(
    request: Path, asked: MilestoneRun, out: IO[str] | None, reads: bool
) -> int | None:
    """The exit code of the process; None if it took too long, and was killed.

    reads  whether it reads from the terminal: then it takes the time it takes, and Ctrl-C is meant
           for it alone
    """
    seconds = None if reads or asked.words else asked.milestone.seconds
    words = [sys.executable, "-I", "-B", "-X", "utf8", str(PROGRAM), str(request)]
    stdin = None if reads else subprocess.DEVNULL
    streams = {"stdin": stdin, "stdout": out, "stderr": None}
    # No SIG_IGN, which the process would inherit.
    before = signal.signal(signal.SIGINT, lambda *interrupt: None) if reads else None
    try:
        unset = child.ONE_THREAD.keys() - os.environ.keys() if asked.milestone.threads else ()
        more = dict.fromkeys(unset, str(_free_processors()))
        variables = child.environment(MPLBACKEND="Agg", **more)
        return child.run(words, seconds, not reads, env=variables, **streams).returncode
    except subprocess.TimeoutExpired:
        return None
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


def _free_processors() -> int:
    """How many threads help: threads that wait for a busy processor are slower than one."""
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0
    return max(1, (os.cpu_count() or 1) - round(busy))


def _judge(
    result: MilestoneRun,
    report: dict[str, Any],
    root: Root,
    tested: TestedModules,
) -> None:
    """Fill in the verdict, and when it is no pass, why not and where to look.

    tested  the modules of the lessons that it needs
    """
    program = result.milestone
    missed = {} if result.words else program.missed(result.measured)
    if not report.get("error") and not missed:
        result.verdict = "tried" if result.words else "passed"
        return
    result.reason = report.get("error") or f"{'; '.join(missed.values())}."
    if unwritten := report.get("unwritten"):
        names = [name for name in program.needs if unwritten.startswith(f"{name}-")]
        result.lesson = max(names, key=len, default="")
        result.remedy = f"tito start {result.lesson}" if result.lesson else ""
        return
    if report.get("frame"):
        place = place_of(report["frame"], tested, root.lessons[0])[1]
        result.reason = f"{place}: {report['message']}" if place else result.reason
    if _blame_lesson(result, root):
        return
    result.lesson = report.get("lesson", "") if report.get("lesson") in program.needs else ""
    result.remedy = "Your lessons pass their checks." if tested else ""
    if not report.get("error"):
        again = f"tito milestone run {program.name} --seed {result.seed + 1}"
        result.remedy = f"{result.remedy} Try another seed: {again}".strip()


def _blame_lesson(result: MilestoneRun, root: Root) -> bool:
    """Whether a lesson of the learner's does not pass; the first that does not is named."""
    for name in result.milestone.needs:
        if not root.lesson(name).declared.exercises:
            continue
        verdict = test_lesson(root.lesson(name)).verdict
        if verdict.passed:
            continue
        first = next((check for check in verdict.checks if check.wrong), None)
        result.lesson, result.remedy = name, f"tito test {name}"
        if verdict.checks_run and not LEFT_OUT.search(verdict.reason):
            why = f", first: {first.name}." if first else f": {verdict.reason}"
            result.reason = f"{result.reason.rstrip('.')}. Lesson {name} fails its checks{why}"
        else:  # why the lesson cannot be tested is why the program could not run
            result.reason = verdict.reason
        return True
    return False


def _record(root: Root, result: MilestoneRun, texts: dict[str, str]) -> None:
    with progress.change(root, result.milestone.name, "milestones") as record:
        kept = ("verdict", "seed", "measured", "seconds")
        record |= {key: getattr(result, key) for key in kept}
        record |= {"when": progress.now(), "code": _code_of(result.milestone, texts)}

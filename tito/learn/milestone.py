"""Milestones: programs that show what the finished package can do,
`modules/milestones/NN_year_name.py`.

Each says about itself, in comments at its top, what it needs and what it must reach:

    # /// milestone
    # title = "Digits, read by two layers"
    # needs = ["tensor", "layers", "training"]     the lessons whose modules it imports, in the end
    # seconds = 300                                it may take
    # alt = "Loss against epoch: it falls to 0.1"  what its picture shows, in words, for the book
    # after = "gpt"                                the milestone whose kept run it uses, if any
    # [bar]
    # "test accuracy" = 0.97                       at least
    # [at_most]                                    left out where there is nothing of the kind
    # "bits per character" = 1.65
    # ///

and defines `run(seed)`, which trains and returns ({name: what was measured}, a matplotlib figure).
One that also says `options = ["--without norm|mask"]` defines `run(seed, words)`: the words after
its name are an experiment of the learner's, which is shown and neither judged nor recorded.
It runs in a process of its own (`milestone_process.py`) on the root's package and no other. In a
workspace the course's own copy is what runs, so that a bar is the same for everybody; a learner's
edited copy runs with plain `python`.
"""

import difflib
import hashlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from tito import files
from tito.errors import MachineError, UsageError, WorkError
from tito.learn import notebook_sync, progress
from tito.lesson import course, export

SOURCE = Path("modules", "milestones")
PRISTINE = course.PRISTINE / "milestones"
FILE = re.compile(r"(\d+)_(\d{4})_([a-z][a-z0-9_]*)\.py")
BLOCK = re.compile(r"^# /// milestone\n((?:#.*\n)+?)# ///$", re.M)
HEADER = {"title": str, "needs": list, "seconds": (int, float), "bar": dict}
RUNNER = Path(__file__).with_name("milestone_process.py")


class Wanted:
    """What must be reached: `bar` {name: at least} and `at_most` {name: at most}."""

    def missed(self, measured):
        """What was not reached, as sentences without a full stop; empty when all was."""
        short = [
            name for name, least in self.bar.items() if not measured.get(name, math.nan) >= least
        ]
        short += [
            name for name, most in self.at_most.items() if not measured.get(name, math.nan) <= most
        ]
        ours, bars = self.figures(measured), self.bars()
        return [f"{name} is {ours.get(name, 'missing')}, the bar is {bars[name]}" for name in short]

    def bars(self):
        """{name: what must be reached, as it is shown}."""
        at_most = self.figures(self.at_most)
        return self.figures(self.bar) | {name: f"at most {at_most[name]}" for name in at_most}

    def figures(self, measured):
        """{name: a measured number as it is shown}: from 0 to 1 it is a share, such as 98.3%,
        unless `at_most` has its name.
        """
        return {
            name: f"{value:.1%}" if 0 <= value <= 1 and name not in self.at_most else f"{value:.4g}"
            for name, value in measured.items()
        }


@dataclass(frozen=True)
class Milestone(Wanted):
    """One program.

    `bar` is {name: the least that must be measured}, `at_most` {name: the most}, `seconds` how long
    it may take, `options` what may be written after its name, `after` the name of the milestone
    whose kept run it uses.
    """

    path: Path
    number: int
    year: int
    name: str
    title: str
    needs: tuple
    seconds: float
    bar: dict = field(hash=False)
    alt: str = ""
    at_most: dict = field(default_factory=dict, hash=False)
    options: tuple = ()
    after: str = ""

    def picture(self, words=()):
        """What its picture is called, beside the learner's copy of the program; that of an
        experiment has the experiment's words in its name.
        """
        return "_".join(re.findall(r"\w+", " ".join([self.path.stem, *words])))[:80] + ".png"


@dataclass
class Result(Wanted):
    """What came of one run.

    verdict   "passed", "failed", "helped": the bar was reached with lessons that are skipped, or
              "tried": an experiment came to its end
    reason, remedy   why it is no pass, and what to do
    lesson    the lesson to look at, when one is known
    picture   its path, None if there was none
    """

    name: str
    title: str
    seed: int
    verdict: str = "failed"
    reason: str = ""
    remedy: str = ""
    lesson: str = ""
    bar: dict = field(default_factory=dict)
    measured: dict = field(default_factory=dict)
    seconds: float = 0.0
    picture: Path | None = None
    at_most: dict = field(default_factory=dict)
    words: tuple = ()

    @property
    def passed(self):
        return self.verdict in ("passed", "tried")


@dataclass
class Row(Wanted):
    """A milestone's state: passed, stale (passed once, the code was changed
    since), failed, helped or new.
    """

    number: int
    year: int
    name: str
    title: str
    state: str
    open: list
    bar: dict
    measured: dict
    last_run: str | None
    at_most: dict = field(default_factory=dict)


def milestones(root):
    """The milestones of a root, in order.

    Raises TitoError, with the file, when one is not in the agreed form.
    """
    folder = root.path / (SOURCE if root.is_course else PRISTINE)
    programs = [_read(path) for path in sorted(folder.glob("*.py")) if FILE.fullmatch(path.name)]
    return sorted(programs, key=lambda program: program.number)


def _read(path):
    number, year, name = FILE.fullmatch(path.name).groups()
    block = BLOCK.search(path.read_text(encoding="utf-8"))
    try:
        meta = (
            tomllib.loads(
                "\n".join(
                    line.removeprefix("#").removeprefix(" ") for line in block.group(1).splitlines()
                )
            )
            if block
            else {}
        )
    except tomllib.TOMLDecodeError as error:
        raise MachineError(
            f"{path}: its block `# /// milestone` is not valid TOML: {error}.", "Mend it."
        ) from None
    for key, kind in HEADER.items():
        if not isinstance(meta.get(key), kind):
            raise MachineError(
                f"{path}: `{key}` in the block `# /// milestone` is {meta.get(key)!r}.",
                f"It needs {', '.join(HEADER)}.",
            )
    return Milestone(
        path,
        int(number),
        int(year),
        name,
        meta["title"],
        tuple(meta["needs"]),
        meta["seconds"],
        meta["bar"],
        str(meta.get("alt", "")).strip(),
        meta.get("at_most", {}),
        tuple(meta.get("options", ())),
        str(meta.get("after", "")),
    )


def find(root, name):
    """The milestone meant by `xor`, `2`, `02`, `1986` or `02_1986_xor`.

    Raises TitoError with a suggestion.
    """
    programs = milestones(root)
    for program in programs:
        if (
            name in (program.name, program.path.stem)
            or name.isdecimal()
            and int(name) in (program.number, program.year)
        ):
            return program
    names = [program.name for program in programs]
    if not names:
        raise UsageError(
            f"There are no milestones in {root.path}.",
            "`tito init` adds what is missing to a workspace.",
        )
    close = difflib.get_close_matches(name.lower(), names, n=1)
    raise UsageError(
        f"There is no milestone {name!r}.",
        f"Did you mean {close[0]!r}?" if close else f"There are: {', '.join(names)}.",
    )


def rows(root, warn=lambda text: None):
    """A Row for every milestone of the root."""
    from tito.learn import status

    data = progress.load(root, warn)
    states = {row.name: row.state for row in status.rows(root, warn)}
    out = []
    for program in milestones(root):
        record = data.get("milestones", {}).get(program.name, {})
        state = record.get("verdict", "new")
        if state in ("passed", "helped") and record.get("code") != code_of(
            program, modules(root, program)
        ):
            state = "stale"
        waiting = [name for name in program.needs if states.get(name) not in ("passed", "skipped")]
        out.append(
            Row(
                program.number,
                program.year,
                program.name,
                program.title,
                state,
                waiting,
                program.bar,
                record.get("measured", {}),
                record.get("when"),
                program.at_most,
            )
        )
    return out


def modules(root, milestone):
    """{path: text} of the package's modules of the lessons it needs, as they are now; those
    that are not there are left out.
    """
    paths = [root.lesson(name).module_path for name in milestone.needs]
    return {
        str(path): path.read_text(encoding="utf-8", errors="replace")
        for path in paths
        if path.exists()
    }


def code_of(milestone, texts):
    """A hash of what its result depends on: the program and the modules."""
    digest = hashlib.sha256(milestone.path.read_bytes())
    for text in texts.values():
        digest.update(text.encode("utf-8") + b"\0")
    return digest.hexdigest()


def run(root, milestone, seed=0, out=None, warn=lambda text: None, words=()):
    """Bring the package up to date, run a milestone on it, and record what came of it.

    Returns a Result.

    out    where the program's own output goes, a file; None for this process's standard output
    words  what is to be different in this run, an experiment, which is not recorded

    Raises UsageError for words that the program does not know.
    """
    if words and not milestone.options:
        raise UsageError(
            f"The milestone {milestone.name} takes no options: {' '.join(words)}.",
            f"tito milestone run {milestone.name}",
        )
    result = Result(
        milestone.name,
        milestone.title,
        seed,
        bar=milestone.bar,
        at_most=milestone.at_most,
        words=tuple(words),
    )
    entries = [root.lesson(name) for name in milestone.needs]
    helped = [entry.name for entry in entries if not root.is_course and export.is_skipped(entry)]
    records, modules_by_path = progress.load(root, warn)["lessons"], {}
    for entry in entries:
        if entry.name not in helped:
            try:
                source = notebook_sync.read(entry, records.get(entry.name, {}))
                module = export.current(entry, source)
                modules_by_path[str(entry.module_path)] = entry, source, module
                for sentence in export.export_to_package(entry, module)[1]:
                    warn(sentence)
            except WorkError as error:
                result.reason, result.remedy, result.lesson = (
                    error.what.replace(f"{root.path}{os.sep}", ""),
                    error.remedy,
                    entry.name,
                )
                return _recorded(root, milestone, result, {}, warn)
    texts = modules(root, milestone)
    report, picture = execute(root, milestone, texts, seed, out, words)
    result.measured, result.seconds = report.get("measured", {}), report.get("seconds", 0.0)
    if picture:
        result.picture = root.path / SOURCE / milestone.picture(words)
        files.write(result.picture, picture)
    _judge(result, report, entries, helped, modules_by_path, warn)
    if result.verdict == "helped":
        result.lesson = helped[0]
        result.remedy = f"tito {_way_back(root.lesson(helped[0]), records)} {helped[0]}"
    return _recorded(root, milestone, result, texts, warn)


def execute(root, milestone, texts, seed, out, words=()):
    """Run a milestone's program in a process of its own.

    Returns what it told, and the picture's bytes, or None.

    What it told is {"measured", "seconds"}, or {"error": why there are none}, with the lesson
    where that was when one is known.
    """
    with tempfile.TemporaryDirectory(prefix="tito-milestone-") as folder:
        answer, picture = Path(folder, "answer.json"), Path(folder, "picture.png")
        request = {
            "root": str(root.path),
            "package": root.package,
            "texts": texts,
            "program": str(milestone.path),
            "seed": seed,
            "words": list(words),
            "seconds": milestone.seconds,
            "answer": str(answer),
            "picture": str(picture),
        }
        process = subprocess.Popen(
            [sys.executable, "-I", "-B", "-X", "utf8", str(RUNNER)],
            cwd=root.path,
            stdin=subprocess.PIPE,
            stdout=out,
            text=True,
            encoding="utf-8",
        )
        try:
            process.communicate(json.dumps(request), timeout=milestone.seconds)
        except subprocess.TimeoutExpired:
            return {"error": f"It was still running after {milestone.seconds:g} s."}, None
        finally:
            process.kill()
            process.wait()
        if words and process.returncode == 2:  # argparse has said on standard error what is wrong
            raise UsageError(
                f"The milestone {milestone.name} does not know {' '.join(words)}.",
                f"It takes {', '.join(milestone.options)}.",
            )
        try:
            report = json.loads(answer.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {
                "error": f"Its process ended with exit code {process.returncode} "
                "before it had an answer."
            }, None
        return report, picture.read_bytes() if picture.exists() else None


def _judge(result, report, entries, helped, modules_by_path, warn):
    """Fill in the verdict, and when it is no pass, why not and where to look.

    modules_by_path  {module's path: (lesson, source, module)} of the lessons that are the
                     learner's own
    """
    short = [] if result.words else result.missed(result.measured)
    if not report.get("error") and not short:
        result.verdict = "tried" if result.words else "helped" if helped else "passed"
        if result.verdict == "helped":
            result.reason = (
                f"This counts for nothing yet: {' and '.join(helped)} "
                f"{'is' if len(helped) == 1 else 'are'} the course's own, by `tito skip`."
            )
        return
    result.reason = report.get("error") or f"{'; '.join(short)}."
    names = [entry.name for entry in entries]
    if report.get("unwritten"):
        result.lesson = max(
            (name for name in names if report["unwritten"].startswith(f"{name}-")),
            key=len,
            default="",
        )
        result.remedy = f"tito start {result.lesson}" if result.lesson else ""
        return
    from tito.learn import runner, verdict

    if report.get("frame") and (
        place := verdict.place_of(report["frame"], modules_by_path, entries[0])[1]
    ):
        result.reason = f"{place}: {report['message']}"
    for entry in entries:
        if (
            entry.name not in helped
            and not (tested := runner.test_lesson(entry, warn=warn).verdict).passed
        ):
            first = next((check for check in tested.checks if check.wrong), None)
            result.lesson, result.remedy = entry.name, f"tito test {entry.name}"
            if tested.checks_run:
                result.reason = (
                    f"{result.reason.rstrip('.')}. Lesson {entry.name} fails its checks"
                    + (f", first: {first.name}." if first else f": {tested.reason}")
                )
            else:  # why the lesson cannot be tested is why the program could not run
                result.reason = tested.reason
            return
    result.lesson = report.get("lesson", "") if report.get("lesson") in names else ""
    result.remedy = (
        "Every lesson it needs passes its checks. Try another seed: tito milestone run "
        f"{result.name} --seed {result.seed + 1}"
    )


def _way_back(entry, records):
    """The command that gives a skipped lesson back to the learner: "export" where all of it is
    written, "start" where its export would put stubs into the package.
    """
    try:
        source = notebook_sync.read(entry, records.get(entry.name, {}))
        return "start" if export.unwritten(export.current(entry, source)) else "export"
    except WorkError:
        return "start"


def _recorded(root, milestone, result, texts, warn):
    if result.words:
        return result
    with progress.change(root, milestone.name, warn, "milestones") as record:
        record |= {
            "when": progress.now(),
            "verdict": result.verdict,
            "seed": result.seed,
            "measured": result.measured,
            "seconds": result.seconds,
            "code": code_of(milestone, texts),
        }
    return result

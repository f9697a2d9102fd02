"""Test a lesson: export it, run its checks in a fresh process, and say what that earned.

A lesson passes only if the process came to its end, the checks that ran are exactly those the
course declares, each passed, and no demonstration of the lesson raises. What a learner's file says
about its checks does not count: the course's own copy is what runs.
"""

import ast
import hashlib
import os
import re
import time
from dataclasses import asdict, dataclass, field

from tito.errors import MachineError, UsageError, WorkError
from tito.learn import notebook_sync, progress, results, status
from tito.learn.process import GRACE, Process
from tito.lesson import cells, export, outcome
from tito.lesson.course import Entry
from tito.lesson.lesson_format import TEST

CHECK_SECONDS = 10  # a check may take
HEADING = re.compile(r"^## (.*)", re.M)
REST_SECONDS = 20  # one demonstration may take
IMPORTED = {
    "timeout": "timed out",
    "memory": "out of memory",
}  # {what ended the import: the verdict}
START_SECONDS = 10  # more, for NumPy and pytest to load on a slow disk
MOST_DEATHS = 2  # after so many checks that killed or hung the process, the rest is not tried


@dataclass
class Outcome(outcome.Outcome):
    """What became of one check.

    where      {"path", "line", "cell", "code"} in the lesson, or None
    unwritten  the exercise that it waits for because that is not written yet
    waits      the exercise that it waits for because its error arises in that one's code,
               which fails checks of its own
    """

    where: dict | None = None
    output: str = ""
    unwritten: str | None = None
    waits: str | None = None

    @property
    def wrong(self) -> bool:
        """Whether it ran and failed by itself."""
        return self.status not in ("passed", "not run", "unwritten") and not self.waits


@dataclass
class Verdict:
    """What one lesson earned in one run.

    verdict a key of `outcome.VERDICTS`
    shown   the `results.Result`s of the demonstrations below exercises that turned right in this
            run, in their order
    results the Results of all demonstrations that are known to run
    changed the exercises whose code is another than in the run before
    stubs   the exercises that are as released
    again   whether the lesson had passed in the run before, too
    answers {question: whether an answer to it is written}: for a person to judge, whatever the
            verdict
    remedy  what to do about the reason
    excerpt the line of the lesson that the reason is about, and a mark under it, or ""
    places  {exercise: where it stands}
    book    {exercise: where it stands in the published book}, empty without one
    saved   sentences about what was overwritten, and where its copy is
    partial only some checks were asked for
    """

    lesson: str
    number: int
    verdict: str = "failed"
    reason: str = ""
    points: int = 0
    max_points: int = 0
    source: str = ""
    sha256: str = ""
    seconds: float = 0.0
    checks: list = field(default_factory=list)
    own_checks: list = field(default_factory=list)
    remedy: str = ""
    excerpt: str = ""
    places: dict = field(default_factory=dict)
    book: dict = field(default_factory=dict)
    saved: list = field(default_factory=list)
    partial: bool = False
    shown: list = field(default_factory=list)
    results: list = field(default_factory=list)
    changed: list = field(default_factory=list)
    stubs: list = field(default_factory=list)
    again: bool = False
    answers: dict = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return self.verdict == "passed"

    @property
    def asked(self) -> list[Outcome]:
        """The checks that were run."""
        return [c for c in self.checks if c.status != "not run"]

    @property
    def asked_passed(self) -> bool:
        """Whether the lesson passed or, when only some checks were asked for, those did."""
        return self.passed or (
            self.partial and bool(self.asked) and all(c.passed for c in self.asked)
        )

    def as_json(self) -> dict:
        """The object that `tito test --json` prints."""
        keys = (
            "lesson number verdict reason points max_points source sha256 seconds checks "
            "own_checks answers"
        )
        out = {key: value for key, value in asdict(self).items() if key in keys.split()}
        out["reason"] = " ".join(f"{self.reason} {self.remedy}".split())
        for check in out["checks"] + out["own_checks"]:
            del check["unwritten"], check["waits"]
        return out


def test(
    entry,
    keyword=None,
    first_only=False,
    seconds=CHECK_SECONDS,
    process=None,
    warn=lambda text: None,
    checks_only=False,
    checked=lambda checks: None,
):
    """Test one lesson of a root.

    Returns its Verdict; records it in the progress unless only a part was asked for.

    keyword     run only the checks that pytest's -k would select; with checks_only, an exercise's
    first_only  stop at the first check that fails
    seconds     time limit of a check
    process     a Process to run in, else a new one is made
    checks_only leave the demonstrations and pytest out; then nothing is recorded. A warm process
                is taken to be asked about one lesson, and nothing below it to change
    checked     called with the Outcomes of the checks when demonstrations are still to run
    """
    began = time.perf_counter()
    lesson = entry.declared
    result = Verdict(
        entry.name, entry.number, max_points=lesson.points, source=entry.relative(entry.script)
    )
    result.checks = [Outcome(c.id, c.exercise, c.name, 0, c.points) for c in lesson.checks]
    result.partial = bool(keyword or first_only or checks_only)
    source = None
    try:
        record = progress.load(entry.root, warn)["lessons"].get(entry.name, {})
        result.verdict = (
            "unreadable" if entry.script.exists() or entry.notebook.exists() else "missing"
        )
        source = notebook_sync.read(entry, record)
        result.verdict = "syntax error"
        result.source = entry.relative(source.path)
        result.sha256 = source.sha256
        result.answers = lesson.written_answers(source)
        result.places = {
            f"{entry.name}-{c.exercise}": short(source.place(c), entry)
            for c in source.cells
            if c.exercise
        }
        if entry.root.book:
            result.book = {name: entry.address(name) for name in result.places}
        module = export.current(entry, source)
        result.verdict = ""
        result.saved += export.bring(entry, module)[1]
        modules, broken = export_lower(entry, result.saved)
        modules[str(entry.module_path)] = entry, source, module
        result.again = record.get("last", {}).get("verdict") == "passed"
        before = record.get("last", {}).get("exercises", {})
        now = exercise_hashes(entry, source)
        result.changed = [name for name in now if before and now[name] != before.get(name)]
        run = Run(entry, source, result, modules, {str(entry.module_path): module.text} | broken)
        if process:
            run.go(process, keyword, first_only, seconds, checks_only, checked)
        else:
            with Process() as process:
                run.go(process, keyword, first_only, seconds, checks_only, checked)
        if not result.partial:
            run.show(record.get("last", {}).get("checks", {}))
    except WorkError as error:
        result.reason, result.remedy, result.excerpt = (
            short(error.what, entry),
            error.remedy,
            error.excerpt,
        )
    result.points = sum(o.points for o in result.checks)
    result.verdict = result.verdict or ("failed" if result.reason else "passed")
    result.seconds = round(time.perf_counter() - began, 3)
    if not result.partial:
        _record(entry, source, result, warn)
    _settle(entry, source, result, warn)
    return result


def short(text: str, entry: Entry) -> str:
    """`text` with paths as one types them from the root."""
    return text.replace(f"{entry.root.path}{os.sep}", "")


def export_lower(entry, saved):
    """Bring the package's modules of the lower lessons up to date, so that the test runs
    on what their files say now.

    Returns {module's path: (lesson, source, module)}, and {module's path: text that raises} of
    those that cannot be: whoever needs one learns why. What that ended or replaced is added to
    `saved`.
    """
    records, modules, broken = progress.load(entry.root)["lessons"], {}, {}
    for lower in entry.root.lessons:
        if lower.number < entry.number and not export.is_skipped(lower):
            try:
                source = notebook_sync.read(lower, records.get(lower.name, {}))
                module = export.current(lower, source)
                modules[str(lower.module_path)] = lower, source, module
                saved += export.bring(lower, module)[1]
            except WorkError as error:
                cause = f"lesson {lower.name} cannot be exported: {short(error.what, entry)}"
                broken[str(lower.module_path)] = f"raise ImportError({cause!r})\n"
    return modules, broken


def _settle(entry, source, result, warn):
    """Bring a notebook and its script into step, now that the one that counts was tested."""
    try:
        if backup := notebook_sync.settle(entry, warn=warn):
            follows = entry.script if source and source.is_notebook else entry.notebook
            result.saved.append(
                f"{entry.relative(follows)} was brought up to date; what it "
                f"held before is in {backup}"
            )
    except WorkError:
        pass  # what is wrong with the lesson is in the verdict


def _record(entry, source, result, warn):
    """Remember a whole run.

    One that could not test anything takes nothing away: what the run before it earned stays.
    """
    code = progress.code_of(source, entry.declared) if source else ""
    records = progress.load(entry.root)["lessons"]
    below = {lower.name: status.exported(lower, records) for lower in status.below(entry)}
    with progress.change(entry.root, entry.name, warn) as record:
        record.setdefault("started", progress.now())
        if result.asked:
            record["last"] = {
                "when": progress.now(),
                "code": code,
                "verdict": result.verdict,
                "points": result.points,
                "checks": {o.id: o.status for o in result.checks},
                "exercises": exercise_hashes(entry, source),
                "below": below,
            }
        elif record.get("last", {}).get("code") == code:
            # The fault is elsewhere, in an earlier lesson, say: this code is not known to pass any
            # more.
            record["last"]["code"] = ""


def exercise_hashes(entry: Entry, source: cells.Source) -> dict[str, str]:
    """{exercise: a hash of the learner's code in its cell}."""
    return {
        f"{entry.name}-{cell.exercise}": hashlib.sha256(
            cell.source.strip().encode("utf-8", "surrogatepass")
        ).hexdigest()[:16]
        for cell in source.cells
        if cell.exercise
    }


def request_of(entry, source, texts, seconds):
    """What the runner needs to know to run a lesson's checks.

    `texts` are modules as they were read, {path: text}.
    """
    lesson = entry.declared
    file = str(lesson.checks_source.path)

    def section(cell, file):
        return {"source": cell.source, "file": file, "line": cell.line}

    checks = [
        section(check.cell, file)
        | {"id": check.id, "function": check.function, "exercise": check.exercise, "own": False}
        for check in lesson.checks
    ]
    exported = source.exported
    for cell in source.cells:
        if cell.kind == "code" and cell not in exported:
            checks += [
                section(cell, _file(source, cell))
                | {"id": f"own.{name}", "function": name, "exercise": "", "own": True}
                for name in TEST.findall(cell.source)
            ]
    return {
        "root": str(entry.root.path),
        "lesson": entry.folder,
        "package": entry.root.package,
        "module": lesson.module,
        "texts": texts,
        "imports": lesson.imports,
        "own_imports": imports_of(source) if any(check["own"] for check in checks) else {},
        "names": export.exported_names(lesson),
        "setup": [section(cell, file) for cell in lesson.setup],
        "learner_side": [section(cell, file) for cell in lesson.learner_side],
        "checks": checks,
        "seconds": seconds,
        "rest_seconds": REST_SECONDS,
    }


def _file(source, cell):
    """What tracebacks call the file of a cell."""
    return f"{source.path} cell {cell.number}" if source.is_notebook else str(source.path)


def imports_of(source: cells.Source) -> dict:
    """The import statements of a learner's code cells, which tests of their own may rely on:
    {statement: the names it binds}.
    """
    statements = {}
    for cell in source.cells:
        if cell.kind == "code" and "import " in cell.source:
            try:
                tree = cells.tree_of(cell.source)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue  # running it will tell
            for node in tree.body:
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    names = [(alias.asname or alias.name).split(".")[0] for alias in node.names]
                    statements[ast.unparse(node)] = names
    return statements


def demonstrations(entry: Entry, source: cells.Source) -> list[dict]:
    """The cells that are neither exported nor checks, as the runner takes them, each with a key.

    The key is a hash of all code that a demonstration may depend on: the package's lower modules
    and the lesson's cells up to the end of its section. One that ran well with the same key would
    run well again.

    Of each are told, too: the `heading` it stands under, how many exercises stand `before` it, its
    `question`, what the text above asks to predict, or "", and if it is tagged as a `payoff`.
    """
    digest = hashlib.sha256()
    for lower in entry.root.lessons:
        if lower.number < entry.number and lower.module_path.exists():
            digest.update(lower.module_path.read_bytes() + b"\0")
    order = {exercise.name: n for n, exercise in enumerate(entry.declared.exercises, 1)}
    rows, section, heading, before, text = [], [], "", 0, ""
    exported = source.exported

    def close():
        for place, row in enumerate(section):
            row["key"] = f"{digest.hexdigest()[:16]}-{place}"
        rows.extend(section)
        section.clear()

    for cell in source.cells:
        if cell.kind == "markdown" and not cell.question:
            text = cell.source
            if found := HEADING.search(text):
                close()
                heading = found[1].strip()
        if cell.kind != "code" or cell.checks:
            continue
        before = max(before, order.get(cell.exercise, 0))
        digest.update(cell.source.encode("utf-8", "surrogatepass") + b"\0")
        if cell not in exported and not TEST.search(cell.source):
            section.append(
                {
                    "source": cell.source,
                    "file": _file(source, cell),
                    "line": cell.line,
                    "number": cell.number,
                    "before": before,
                    "heading": heading,
                    "question": results.question_in(text) if "answer" in cell.tags else "",
                    "alt": cell.alt,
                    "payoff": "payoff" in cell.tags,
                }
            )
    close()
    return rows


def needed(rows, known):
    """The demonstrations to run: those whose key is not among the `known`, and earlier ones that
    give them names, each with whether it is `known`.
    """
    selection, names = [], set()
    for row in reversed(rows):
        bound, used = _names(row["source"])
        if row["key"] not in known or bound & names:
            selection.insert(0, row | {"known": row["key"] in known})
            names |= used
    return selection


def _names(source):
    """The names that a cell's code binds, and those it uses; of code
    that is no Python, every word.
    """
    try:
        nodes = list(ast.walk(cells.tree_of(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        words = set(re.findall(r"\w+", source))
        return words, words
    bound = {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    bound |= {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    bound |= {
        (alias.asname or alias.name).split(".")[0]
        for node in nodes
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    return bound, {node.id for node in nodes if isinstance(node, ast.Name)}


class Run:
    """One run of a lesson's checks, in as many processes as it takes: what the
    runner tells becomes a Verdict.
    """

    def __init__(self, entry, source, result, modules, texts):
        self.entry, self.source, self.result, self.modules, self.texts = (
            entry,
            source,
            result,
            modules,
            texts,
        )
        self.outcomes = {o.id: o for o in result.checks}
        self.arose = {}  # {check: the exercise in whose cell its error arose}
        self.rows, self.kept = [], {}  # demonstrations, and what those that ran well before showed
        self.fresh = {}  # what those of this run show

    def go(self, process, keyword, first_only, seconds, checks_only, checked):
        """Run all that is asked for, again without the check that killed its process when
        one did; fill in the result.

        The demonstrations run after the checks, in a process of their own.
        """
        request = request_of(self.entry, self.source, self.texts, seconds) | {
            "first_only": first_only,
        }
        request |= (
            {"checks_only": True, "exercise": keyword} if checks_only else {"keyword": keyword}
        )
        if not self.result.partial:
            self.rows, self.kept = demonstrations(self.entry, self.source), results.load(self.entry)
        request["draws"] = any(row["alt"] for row in self.rows)
        self.result.stubs = self.unwritten()
        rest = self._up_to(needed(self.rows, self.kept), self.result.stubs)
        self.keys = {row["number"]: row["key"] for row in self.rows}
        own = [
            Outcome(c["id"], "", c["function"].removeprefix("test_").replace("_", " "), 0, 0)
            for c in request["checks"]
            if c["own"]
        ]
        self.outcomes |= {o.id: o for o in own}
        deaths = 0
        if rest:
            second = process.beside("draw" if any(row["alt"] for row in rest) else "show")
        else:
            process.close_second()
        while True:
            ended = self._once(process, request)
            left = [c for c in request["checks"] if self.outcomes[c["id"]].status == "not run"]
            if ended or self.result.reason:
                break
            deaths += 1
            if not left or len(left) == len(request["checks"]) or deaths >= MOST_DEATHS:
                break
            request["checks"] = left
            process.restart()
        if ended and not deaths and not self.result.reason:
            wrong = {check.exercise for check in self.result.checks if not check.passed}
            if rest := self._up_to(rest, wrong):
                checked(self.result.checks)
                ended = self._once(second, request | {"checks": [], "rest": rest})
        late = sum(o.status == "timeout" for o in self.outcomes.values())
        if (late or deaths) and not self.result.partial:
            for check in left:
                self.outcomes[check["id"]].message = (
                    f"not run: {late or deaths} before it "
                    f"{'ran out of time' if late else 'ended the process'}"
                )
        if not checks_only:
            self._wait()
        self.result.own_checks = [
            o for o in own if o.status != "not run" or not self.result.partial
        ]
        self.result.reason = self.result.reason or self._why(ended and not deaths)

    def show(self, before):
        """Keep what the demonstrations show, and choose what the learner sees of it now.

        before  {check: status} of the last run
        """
        result = self.result
        result.results = results.keep(self.entry, self.rows, self.kept, self.fresh)
        right = [
            {c.exercise for c in result.checks} - {c.exercise for c in result.checks if not ok(c)}
            for ok in (lambda c: c.passed, lambda c: before.get(c.id) == "passed")
        ]
        turned = [
            n
            for n, exercise in enumerate(self.entry.declared.exercises, 1)
            if exercise.id in right[0] - right[1]
        ]
        turned += [] if before else [0]  # what stands above the first exercise
        result.shown = [one for one in result.results if one.before in turned]

    def _up_to(self, rows, exercises):
        """Those of the demonstrations that stand above the first of these exercises."""
        order = [exercise.id for exercise in self.entry.declared.exercises]
        right = next((n for n, exercise in enumerate(order) if exercise in exercises), len(order))
        return [row for row in rows if row["before"] <= right]

    def _once(self, process, request):
        """One process's worth of events. Returns whether it came to its own end."""
        current, finished, end = None, False, {}
        wait = request["seconds"] + START_SECONDS
        for event in process.run(request, lambda: wait):
            kind = event["event"]
            wait = request["seconds"] + GRACE
            if kind == "begin":
                current = self.outcomes[event["id"]]
                current.output = ""
            elif kind == "check":
                self._check(current, event)
                current, wait = None, request["rest_seconds"] + GRACE
            elif kind == "warning":
                check = self.outcomes[event["id"]]
                where, _ = self._where(event["frames"], check.exercise)
                check.output += f"{at_place(where)}: {event['text']}\n  {where['code']}\n"
            elif kind == "output":
                self.outcomes[event["id"]].output += event["text"]
            elif kind == "failed":
                where = next(
                    (place for _, place in reversed(self._places(event["frames"])) if place), None
                )
                self.result.reason = f"{at_place(where)}: the" if where else "The"
                self.result.reason += f" lesson stops while it is imported: {event['message']}"
                self.result.excerpt = where["code"] or "" if where else ""
                self.result.verdict = IMPORTED.get(event["status"], "import failed")
            elif kind == "rest":
                wait = request["rest_seconds"] + GRACE
            elif kind == "shown":
                self.fresh[self.keys[event["cell"]]] = event
            elif kind == "slow":
                cell = next(c for c in self.source.cells if c.number == event["cell"])
                place = short(self.source.place(cell), self.entry)
                self.result.saved.append(
                    f"{place}: a demonstration takes more than {request['rest_seconds']:g} s; it "
                    "was stopped, which changes nothing"
                )
            elif kind == "stopped":
                cell = next(c for c in self.source.cells if c.number == event["cell"])
                place = short(self.source.place(cell, event["line"] - cell.line), self.entry)
                if all(check.passed for check in self.result.checks):
                    self.result.reason = (
                        "Every check passes, but the lesson does not run to its end: "
                        f"{place}: {event['message']}"
                    )
                else:
                    self.result.saved.append(
                        f"{place}: a demonstration of what is right so far stops: "
                        f"{event['message']}"
                    )
            elif kind == "refused":
                problem = f"pytest did not run the checks (exit code {event['code']})."
                if not request["keyword"]:
                    raise MachineError(problem, "`tito doctor` looks for the cause.")
                raise UsageError(
                    problem,
                    f"Is {request['keyword']!r} an expression that its -k takes, "
                    'like "add and not scalar"?',
                )
            elif kind == "done":
                finished, wait = True, GRACE
            elif kind == "exit":
                end = event
        if current:
            current.status = "timeout" if end["killed"] else "crashed"
            current.message = (
                f"still running after {request['seconds']:g} s, and it could not be interrupted"
                if end["killed"]
                else f"the whole process ended here, with exit code {end['code']}: does your "
                "code call os._exit, or crash Python?"
            )
            return False
        if not self.result.reason:
            self.result.reason = self._how_it_ended(finished, end, "rest" in request)
        return finished

    def _check(self, check, event):
        check.status, check.message = event["status"], event["message"]
        check.seconds, check.unwritten = round(event["seconds"], 4), event.get("unwritten")
        check.points = check.max_points if check.passed else 0
        check.where, self.arose[check.id] = self._where(event["frames"], check.exercise)
        if check.unwritten and check.unwritten != check.exercise:
            check.message = f"needs exercise {check.unwritten}, which is not written yet"

    def _wait(self):
        """Say of the checks that cannot be right yet which exercise they wait for."""
        failing, stubs = (
            [
                o
                for o in self.result.checks
                if not o.passed and o.status != "not run" and not o.unwritten
            ],
            self.result.stubs,
        )
        for check in failing:
            if check.exercise in stubs:
                check.status, check.unwritten = "unwritten", check.exercise
        # An exercise that passes its own checks may raise because it was called wrongly:
        # then the caller is to blame.
        wrong = {
            o.exercise
            for o in failing
            if not o.unwritten and self.arose.get(o.id) in (None, o.exercise)
        }
        for check in failing:
            if (
                not check.unwritten
                and check.status == "error"
                and check.exercise != (arose := self.arose.get(check.id))
                and arose in wrong
            ):
                check.waits = arose
        causes = self._causes(wrong)
        for check in failing:
            if not check.unwritten and not check.waits:
                check.waits = causes.get(check.exercise)

    def _causes(self, wrong):
        """{exercise: the wrong one, above it in the chapter, whose functions it calls}, also
        through others: while that is wrong, nobody can tell if this one is.
        """
        functions, causes = {}, {}  # functions: {name: the exercise that defines it}
        for cell in self.source.cells:
            if not cell.exercise:
                continue
            try:
                tree = cells.tree_of(cell.source)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            name = f"{self.entry.name}-{cell.exercise}"
            called = [
                functions[node.id]
                for node in ast.walk(tree)
                if isinstance(node, ast.Name) and node.id in functions
            ]
            blamed = [
                one if one in wrong else causes[one]
                for one in called
                if one in wrong or one in causes
            ]
            if blamed:
                causes[name] = causes.get(blamed[0], blamed[0])
            functions |= {
                node.name: name for node in tree.body if isinstance(node, ast.FunctionDef)
            }
        return causes

    def _how_it_ended(self, finished, end, rest):
        """What is to be said of a process that did not end well, or "".

        rest  whether it ran the demonstrations
        """
        how = "did not end by itself" if end["killed"] else f"ended with exit code {end['code']}"
        if finished:
            well = not end["killed"] and end["code"] == 0
            return (
                ""
                if well
                else f"The process {how} after the last check: something in the lesson goes "
                "on, or crashes, at the end."
            )
        if all(o.status == "not run" for o in self.outcomes.values()):
            self.result.verdict = "timed out" if end["killed"] else "crashed"
            return f"The process {how} while the lesson was imported."
        if all(o.passed for o in self.result.checks):
            return (
                f"Every check passes, but the process {how} before the lesson had run to its end."
            )
        return (
            f"The process {how} in a demonstration of what is right so far."
            if rest
            else f"The process {how} before its last check was done."
        )

    def _places(self, frames):
        """(cell, place) of each frame of an error that lies in a
        lesson, (None, None) of the others.
        """
        return [place_of(frame, self.modules, self.entry) for frame in frames]

    def _where(self, frames, exercise):
        """The place to look at: the innermost in the exercise, else in the lesson, else of all.

        And the innermost exercise on the way, or None.
        """
        ids, places, arose = {e.id for e in self.entry.declared.exercises}, [], None
        for frame, (cell, place) in zip(frames, self._places(frames)):
            mine = cell and frame["file"] == str(self.entry.module_path)
            name = f"{self.entry.name}-{cell.exercise}" if cell else None
            place = place or {
                "path": short(frame["file"], self.entry),
                "line": frame["line"],
                "cell": None,
                "code": frame["code"],
            }
            places.append((2 if mine and name == exercise else 1 if mine else 0, place))
            arose = name if mine and name in ids else arose
        best = max((rank for rank, _ in places), default=0)
        return next((place for rank, place in reversed(places) if rank == best), None), arose

    def _why(self, ended):
        """Why the lesson did not pass, or "" when it did."""
        result, exercises = self.result, self.entry.declared.exercises
        if len(result.stubs) == len(exercises):
            result.verdict = "stub"
            return f"Nothing is written yet: all {len(exercises)} exercises are as released."
        if result.partial and not result.asked:
            return "No check was run: none has that name."
        statuses = [o.status for o in result.checks]
        result.verdict = outcome.verdict_of(statuses, sum(o.points for o in result.checks))
        if result.verdict == "passed":
            result.verdict = "" if ended else "crashed"
            return "" if ended else "A check ended the whole process."
        behind = [o.waits for o in result.asked if o.waits]
        return outcome.count_of(statuses, behind)

    def unwritten(self):
        """The exercises that are as released."""
        return [
            exercise.id
            for exercise in self.entry.declared.exercises
            if self.entry.declared.is_unwritten(exercise, self.source)
        ]


def place_of(frame, modules, entry):
    """(cell, {"path", "line", "cell", "code"}) of a frame of an error in a package's module, told
    in the lesson's own lines; (None, None) outside.

    modules  {module's path: (lesson, source, module)}
    entry    a lesson of the root that paths are told from
    """
    lesson, source, module = modules.get(frame["file"], (None, None, None))
    if (
        not module
        or not 0 < (frame["line"] or 0) <= len(module.origin)
        or not (origin := module.origin[frame["line"] - 1])
    ):
        return None, None
    cell, line = origin
    return cell, {
        "path": entry.relative(source.path),
        "line": cell.line + line,
        "cell": cell.number if source.is_notebook else None,
        "code": frame["code"],
    }


def at_place(where: dict) -> str:
    """A place, told: "path:12", or "path cell 3:2" in a notebook."""
    return (
        f"{where['path']} cell {where['cell']}:{where['line']}"
        if where["cell"]
        else f"{where['path']}:{where['line']}"
    )

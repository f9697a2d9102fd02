"""Test a lesson: export it, run its checks in a fresh process, and say what that earned.

A lesson passes only if the process came to its end, the checks that ran are exactly those the course declares, each
passed, and the lesson itself runs to its last line. What a learner's file says about its checks does not count: the
course's own copy is what runs.
"""

import ast
import functools
import hashlib
import os
import time
from dataclasses import asdict, dataclass, field

from tito import export, notebook, progress
from tito.errors import TitoError
from tito.lesson import TEST, stub
from tito.process import GRACE, Process

CHECK_SECONDS = 10  # a check may take
REST_SECONDS = 60  # one cell of the rest of a lesson may take
MOST_DEATHS = 2  # after so many checks that killed or hung the process, the rest is not tried


@dataclass
class Outcome:
    """What became of one check. `where` is {"path", "line", "cell", "code"} in the lesson, or None."""

    id: str
    exercise: str
    name: str
    points: int
    max_points: int
    status: str = "missing"
    message: str = "did not run"
    seconds: float = 0.0
    where: dict | None = None
    output: str = ""
    unwritten: str | None = None

    @property
    def passed(self):
        return self.status == "passed"


@dataclass
class Verdict:
    """What one lesson earned in one run. `places` tells where each exercise stands, `saved` a backup that was made."""

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
    places: dict = field(default_factory=dict)
    saved: str | None = None
    partial: bool = False

    @property
    def passed(self):
        return self.verdict == "passed"

    def as_json(self):
        """The object that `tito test --json` prints."""
        keys = "lesson number verdict reason points max_points source sha256 seconds checks own_checks"
        out = {key: value for key, value in asdict(self).items() if key in keys.split()}
        for check in out["checks"] + out["own_checks"]:
            del check["unwritten"]
        return out


def test(entry, keyword=None, first_only=False, seconds=CHECK_SECONDS, process=None, warn=lambda text: None):
    """Test one lesson of a root. Returns its Verdict; records it in the progress unless only a part was asked for.

    keyword     run only the checks that pytest's -k would select
    first_only  stop at the first check that fails
    seconds     time limit of a check
    process     a warm Process to run in, else a new one is made
    """
    began = time.perf_counter()
    lesson = entry.declared
    result = Verdict(entry.name, entry.number, max_points=lesson.points, source=entry.relative(entry.script))
    result.checks = [Outcome(c.id, c.exercise, c.name, 0, c.points) for c in lesson.checks]
    result.partial = bool(keyword or first_only)
    source = None
    try:
        source = notebook.read(entry, progress.load(entry.root, warn)["lessons"].get(entry.name, {}))
        result.source = entry.relative(source.path)
        result.sha256 = hashlib.sha256(source.path.read_bytes()).hexdigest()
        result.places = {c.id: entry.relative(source.path) + source.place(c)[len(str(source.path)):] for c in source.cells if c.id}
        module = export.current(entry, source)
        kept = export.put(entry, module)[1]
        result.saved = str(kept) if kept else None
        _export_lower(entry)
        if process:
            _run(entry, source, module, result, keyword, first_only, seconds, process)
        else:
            with Process() as process:
                _run(entry, source, module, result, keyword, first_only, seconds, process)
    except TitoError as error:
        if error.code != 1:
            raise
        result.reason = f"{_short(error.what, entry)} {error.remedy}"
    result.points = sum(o.points for o in result.checks)
    result.verdict = "passed" if not result.reason else "failed"
    result.seconds = round(time.perf_counter() - began, 3)
    if not result.partial:
        _record(entry, source, result, warn)
    _settle(entry, warn)
    return result


def _settle(entry, warn):
    """Bring a notebook and its script into step, now that the one that counts was tested."""
    try:
        notebook.settle(entry, warn=warn)
    except TitoError as error:
        if error.code != 1:  # what is wrong with the lesson, the verdict has told
            raise


def _short(text, entry):
    return text.replace(f"{entry.root.path}{os.sep}", "")


def _export_lower(entry):
    """Bring the package's modules of the lower lessons up to date, so that the test runs on what their files say now."""
    records = progress.load(entry.root)["lessons"]
    for lower in entry.root.lessons:
        if lower.number < entry.number and not export.is_skipped(lower):
            try:
                export.put(lower, export.current(lower, notebook.read(lower, records.get(lower.name, {}))))
            except TitoError:
                pass  # its own test says so; if this lesson needs it, its import does too


def request_of(entry, source, module, seconds):
    """What the runner needs to know to run a lesson's checks."""
    lesson = entry.declared
    declared = {c.function for c in lesson.checks} | {c.cell.id for c in lesson.checks}
    checks = [{"id": c.id, "function": c.function, "source": c.cell.source, "file": str(lesson.path), "line": c.cell.line, "own": False}
              for c in lesson.checks]
    rest, exported = [], source.exported
    for cell in source.cells:
        tests = TEST.findall(cell.source)
        if cell.kind != "code" or cell in exported or cell.id in declared or declared & set(tests):
            continue
        file = f"{source.path} cell {cell.number}" if source.is_notebook else str(source.path)
        if tests:
            checks += [{"id": f"own.{name}", "function": name, "source": cell.source, "file": file, "line": cell.line, "own": True}
                       for name in tests]
        else:
            rest.append({"source": cell.source, "file": file, "line": cell.line, "number": cell.number})
    return {"root": str(entry.root.path), "lesson": entry.folder, "package": entry.root.package, "module": lesson.module,
            "file": str(entry.module_path), "text": module.text, "imports": _imports(lesson), "names": export.exported_names(lesson),
            "learner_side": [{"source": c.source, "file": str(lesson.path), "line": c.line} for c in lesson.learner_side],
            "checks": checks, "rest": rest, "seconds": seconds, "rest_seconds": REST_SECONDS}


@functools.cache  # `tito watch` asks at each save
def _imports(lesson):
    """The import statements of a lesson's own code cells, which its checks may rely on."""
    found = []
    for cell in lesson.source.cells:
        if cell.kind == "code" and "import " in cell.source and not cell.nbgrader.get("grade"):
            found += [ast.unparse(node) for node in ast.parse(cell.source).body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return "\n".join(dict.fromkeys(found))


def _run(entry, source, module, result, keyword, first_only, seconds, process):
    """Run the request, again without the check that killed its process when one did, and fill in `result`."""
    request = request_of(entry, source, module, seconds) | {"keyword": keyword, "first_only": first_only}
    own = {c["id"]: Outcome(c["id"], "", c["function"].removeprefix("test_").replace("_", " "), 0, 0) for c in request["checks"] if c["own"]}
    outcomes = {o.id: o for o in result.checks} | own
    deaths = 0
    while True:
        ended = _one_run(request, outcomes, module, source, entry, process, result)
        open_ = [c for c in request["checks"] if outcomes[c["id"]].status == "missing"]
        late = sum(o.status == "timeout" for o in outcomes.values())
        if ended and late and not result.partial:
            for check in open_:
                outcomes[check["id"]].message = f"not run: {late} checks before it ran out of time"
        if ended or result.reason:
            break
        deaths += 1
        if not open_ or len(open_) == len(request["checks"]):
            break
        if deaths >= MOST_DEATHS:
            for check in open_:
                outcomes[check["id"]].message = f"not run: {deaths} checks before it ended the process"
            break
        request |= {"checks": open_, "rest": []}
        process.restart()
    result.own_checks = [o for o in own.values() if o.status != "missing" or not result.partial]
    result.reason = result.reason or _why(entry, source, result, ended)


def _one_run(request, outcomes, module, source, entry, process, result):
    """One process's worth of events. Returns whether it came to its own end."""
    state = {"current": None, "done": False, "patience": request["seconds"] + 10}
    for event in process.run(request, lambda: state["patience"]):
        kind, outcome = event["event"], outcomes.get(event.get("id"))
        state["patience"] = request["seconds"] + GRACE
        if kind == "begin":
            state["current"] = outcome
        elif kind == "check":
            outcome.status, outcome.message = event["status"], event["message"]
            outcome.seconds, outcome.unwritten = round(event["seconds"], 4), event.get("unwritten")
            outcome.points = outcome.max_points if outcome.passed else 0
            outcome.where = _where(event["where"], module, source, entry)
            if outcome.unwritten and outcome.unwritten != outcome.exercise:
                outcome.message = f"needs exercise {outcome.unwritten}, which is not written yet"
            state["current"] = None
            state["patience"] = request["rest_seconds"] + GRACE
        elif kind == "output":
            outcome.output = event["text"]
        elif kind == "failed":
            where = _where(event["where"], module, source, entry)
            at = f" ({_at(where)}: {where['code']})" if where else ""
            result.reason = f"The lesson stops while it is imported{at}: {event['message']}"
        elif kind == "stopped":
            cell = next(c for c in source.cells if c.number == event["cell"])
            place = _short(source.place(cell, event["line"] - cell.line), entry)
            result.reason = f"Every check passes, but the lesson does not run to its end: {place}: {event['message']}"
        elif kind == "refused":
            raise TitoError(f"pytest did not run the checks (exit code {event['code']}).",
                            f"Is {request['keyword']!r} an expression that its -k takes, like \"add and not scalar\"?")
        elif kind == "done":
            state["done"], state["patience"] = True, GRACE
        elif kind == "exit":
            state["code"], state["killed"] = event["code"], event["killed"]
    how = "did not end by itself" if state["killed"] else f"ended with exit code {state['code']}"
    if state["current"]:
        state["current"].status = "timeout" if state["killed"] else "error"
        state["current"].message = (f"still running after {request['seconds']:g} s, and it could not be interrupted" if state["killed"]
                                    else f"the whole process ended here, with exit code {state['code']}: "
                                         "does your code call os._exit, or crash Python?")
        return False
    if result.reason:
        pass
    elif not state["done"]:
        if all(o.status == "missing" for o in outcomes.values()):
            result.reason = f"The process {how} while the lesson was imported."
        elif all(o.passed for o in result.checks):
            result.reason = f"Every check passes, but the process {how} before the lesson had run to its end."
        else:
            result.reason = f"The process {how} before its last check was done."
    elif state["killed"] or state["code"] != 0:
        result.reason = f"The process {how} after the last check: something in the lesson goes on, or crashes, at the end."
    return state["done"]


def _where(where, module, source, entry):
    """A place in the package, told as a place in the lesson it came from."""
    if not where:
        return None
    if where["file"] != str(entry.module_path) or not where["line"] or where["line"] > len(module.origin):
        return {"path": _short(where["file"], entry), "line": where["line"], "cell": None, "code": where["code"]}
    cell, line = module.origin[where["line"] - 1] or (source.exported[0], 0)
    return {"path": entry.relative(source.path), "line": cell.line + line, "cell": cell.number if source.is_notebook else None,
            "code": where["code"]}


def _at(where):
    return f"{where['path']} cell {where['cell']}:{where['line']}" if where["cell"] else f"{where['path']}:{where['line']}"


def _why(entry, source, result, ended):
    """Why the lesson did not pass, or "" when it did."""
    exercises = entry.declared.exercises
    unwritten = [e.id for e in exercises if (cell := source.cell(e.id)) and stub(entry.name, e.id) in cell.source]
    failing = [o for o in result.checks if not o.passed]
    if len(unwritten) == len(exercises):
        return f"Nothing is written yet: all {len(exercises)} exercises are as released."
    if failing:
        run = [o for o in failing if o.status != "missing"]
        missing = len(failing) - len(run)
        if result.partial and not run and missing == len(result.checks):
            return "No check was run: none has that name."
        parts = [f"{len(run)} of {len(result.checks)} checks fail"] * bool(run) + [f"{missing} did not run"] * bool(missing)
        return f"{' and '.join(parts)}."
    return "" if ended else "The process did not come to its end."


def _record(entry, source, result, warn):
    """Remember a whole run."""
    with progress.change(entry.root, entry.name, warn) as record:
        record.setdefault("started", progress.now())
        record["last"] = {"when": progress.now(), "code": progress.code_of(source, entry.declared) if source else "",
                          "verdict": result.verdict, "points": result.points,
                          "checks": {o.id: o.status for o in result.checks}}

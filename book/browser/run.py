"""Runs a lesson's cells in the browser, in Pyodide: `run` for an exercise, `archive` to save.

The folder of the lesson is as in a workspace, so that `check("predict")` is the course's own.
"""

import contextlib
import io
import json
import re
from pathlib import Path

from tinytorch.pictures import drawing
from tito import files
from tito.learn import check_builtin, manifest
from tito.lesson import cells, course

check_builtin.install()
HERE = Path.cwd()  # the workspace
[SCRIPT] = HERE.glob("modules/source/*/*_dev.py")
RELEASED = cells.read(HERE / course.PRISTINE / SCRIPT.parent.name / SCRIPT.name)


def chapter(written):
    """The chapter with what was written. written: {exercise: code}"""
    text = RELEASED.text
    for name, code in written.items():
        source = cells.parse(SCRIPT, text)
        text = source.replaced(source.cell(name), code)
    return cells.parse(SCRIPT, text)


def run(exercise, written):
    """Run the chapter up to the checks of an exercise and, when they pass, to the next exercise.

    written  JSON, {exercise: code}
    returns  JSON: {"passed": bool, "message": text, "results": [{"text": ..., "pictures": [svg]}]}
    """
    source = chapter(json.loads(written))
    SCRIPT.write_text(source.text, encoding="utf-8")
    space = {"__name__": "__main__", "__file__": str(SCRIPT)}
    answer, begun = {"passed": False, "message": "", "results": []}, False
    for cell in source.cells:
        if cell.exercise and answer["passed"]:
            break
        begun = begun or bool(cell.exercise)
        # The picture of the opening is on the page; the checks of the other exercises wait.
        opening = not begun and "export" not in cell.directives
        if cell.kind != "code" or opening or (cell.checks and cell.checks != exercise):
            continue
        shown = execute(cell, space)
        error = shown.pop("error")
        if error and exercise in (cell.checks, cell.exercise):
            return json.dumps(answer | {"message": error})
        if cell.checks:
            answer["passed"] = True
        elif answer["passed"] and any(shown.values()):
            answer["results"].append(shown)
    return json.dumps(answer)


def execute(cell, space):
    """Run a cell. Returns what it printed and drew, and the error that ended it."""
    printed, error = io.StringIO(), ""
    drawing.figures.clear()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile("\n" * (cell.line - 1) + cell.source, str(SCRIPT), "exec"), space)
        except BaseException as raised:
            error = explained(raised)
    pictures = [figure.svg(cell.alt) for figure in drawing.figures]
    return {"text": printed.getvalue(), "pictures": pictures, "error": error}


def explained(raised):
    """What is said of an error: a check's own message, or the line and the error's name. The page
    has the hints, so the command for them is left out.
    """
    if type(raised).__name__ == "CheckFailed":
        said = str(raised).partition("\nStuck? ")[0]
        if said.startswith("yours to write"):
            return "Delete the line that says raise, and write your lines there."
        return re.sub(r"^check\(.*?\), \S+ line \d+: ", "", said)
    line, trace = getattr(raised, "lineno", None), raised.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == str(SCRIPT):
            line = trace.tb_lineno
        trace = trace.tb_next
    said = f"{type(raised).__name__}: {getattr(raised, 'msg', raised)}"
    return f"line {line}: {said}" if line else said


def archive(written):
    """The bytes of a zip that `tito restore` reads."""
    name = SCRIPT.relative_to(HERE).as_posix()
    contents = {name: chapter(json.loads(written)).text.encode("utf-8")}
    made = manifest.manifest(course.find_root(HERE), contents)
    return files.archive(contents | {manifest.MANIFEST: made})

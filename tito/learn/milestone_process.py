"""The process that runs a milestone: `python -I milestone_process.py REQUEST`, with the request in
a file and the answer in another.

It imports the package of one root and no other. The program's output goes to the terminal. It
decides nothing: `milestone.py`, in the process that started this one, compares with the goal.
"""

import importlib.util
import io
import json
import os
import sys
import time
from types import ModuleType
from typing import Any

from tito.learn.check_process import FreshFinder
from tito.learn.run_checks import describe_error
from tito.lesson.conditions import die_with_parent

HELP = {"--help", "-h"}


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        request = json.load(file)
    finder = FreshFinder(request["root"], request["package"], request["texts"])
    sys.meta_path.insert(0, finder)
    sys.path.append(os.path.dirname(request["program"]))  # for what milestones share
    die_with_parent()
    try:
        answer = _run(request)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BaseException as error:  # also sys.exit() in a lesson
        if HELP & set(request["words"]) and isinstance(error, SystemExit):
            raise  # argparse has printed the help
        usage = _usage(error) if request["words"] or request["reads"] else ""
        answer = {"usage": usage} if usage else _explained(error, request, finder)
    answer["modules"] = sorted(
        name for name in sys.modules if name.startswith(f"{request['package']}.core.")
    )
    with open(request["answer"], "w", encoding="utf-8") as file:
        json.dump(answer, file)


def _usage(error: BaseException) -> str:
    """What the program's `sys.exit` says about its words; "" for any other end."""
    code = error.code if isinstance(error, SystemExit) else None
    return code.rstrip(".") if isinstance(code, str) else ""


def _run(request: dict[str, Any]) -> dict[str, Any]:
    began = time.perf_counter()
    program = _load(request["program"])
    words = [request["words"]] if request["words"] else []
    if request["does"] == "play":
        program.play(request["words"], request["seed"])
        return {}
    measured, figure = program.run(request["seed"], *words)
    seconds = round(time.perf_counter() - began, 2)
    drawing = io.StringIO()  # which a page can show in the dark, too
    if figure is not None:
        figure.savefig(request["picture"], format="png", dpi=120, bbox_inches="tight")
        figure.savefig(drawing, format="svg", bbox_inches="tight")
    return {
        "svg": drawing.getvalue(),
        "measured": {  # a count stays an int
            str(name): value if type(value) is int else float(value)
            for name, value in measured.items()
        },
        "seconds": seconds,
    }


def _load(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("milestone", path)
    assert spec and spec.loader
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


def _explained(
    error: BaseException, request: dict[str, Any], finder: FreshFinder
) -> dict[str, Any]:
    explanation = describe_error(error, finder.is_learners)
    core = os.path.join(request["root"], request["package"], "core") + os.sep
    frames = [frame for frame in explanation["frames"] if frame["file"].startswith(core)]
    answer = {
        "error": explanation["message"],
        "message": explanation["message"],
        "frame": None,
        "unwritten": explanation.get("unwritten"),
        "lesson": "",
    }
    if frames:
        last = frames[-1]
        place = f"{os.path.relpath(last['file'], request['root'])}:{last['line']}"
        answer["error"] += f" ({place})"
        answer["frame"] = last
        answer["lesson"] = os.path.basename(last["file"]).removesuffix(".py")
    return answer


if __name__ == "__main__":
    main()

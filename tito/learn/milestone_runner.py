"""The process that runs a milestone: `python -I milestone_runner.py`, a request on standard
input, the answer in a file.

The package of one root is imported and no other, as `runner.py` does it for checks. The program's
output goes to the terminal. It decides nothing: `milestone.py`, in the process that started this
one, compares with the bar.
"""

import importlib.util
import json
import os
import sys
import time


def beside(name):
    """The module in the file beside this one."""
    spec = importlib.util.spec_from_file_location(
        name, os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.py")
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    runner = beside("runner")
    request = json.loads(sys.stdin.read())
    os.environ["MPLBACKEND"] = "Agg"
    for name in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
    ):  # the matrices are small: more threads would mostly wait for each other
        os.environ.setdefault(name, "1")
    sys.meta_path.insert(0, runner.Fresh(request["root"], request["package"], request["texts"]))
    sys.path.insert(
        0, os.path.dirname(request["program"])
    )  # what milestones share lies beside them
    runner._die_with_parent()
    answer = {}
    try:
        spec = importlib.util.spec_from_file_location("milestone", request["program"])
        program = importlib.util.module_from_spec(spec)
        began = time.perf_counter()
        spec.loader.exec_module(program)
        measured, figure = program.run(
            request["seed"], *[request["words"]] * bool(request["words"])
        )
        answer = {
            "measured": {str(name): float(value) for name, value in measured.items()},
            "seconds": round(time.perf_counter() - began, 2),
        }
        if figure is not None:
            figure.savefig(request["picture"], dpi=120, bbox_inches="tight")
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BaseException as error:  # also sys.exit() in a lesson
        if request["words"] and isinstance(error, SystemExit) and error.code == 2:
            raise  # argparse's, for words that the program does not know
        explanation = runner.explained(error, request)
        core = os.path.join(request["root"], request["package"], "core") + os.sep
        frames = [frame for frame in explanation["frames"] if frame["file"].startswith(core)]
        where = (
            f" ({os.path.relpath(frames[-1]['file'], request['root'])}:{frames[-1]['line']})"
            if frames
            else ""
        )
        answer |= {
            "error": f"{explanation['message']}{where}",
            "message": explanation["message"],
            "frame": frames[-1] if frames else None,
            "unwritten": explanation.get("unwritten"),
            "lesson": os.path.basename(frames[-1]["file"]).removesuffix(".py") if frames else "",
        }
    answer["modules"] = sorted(
        name for name in sys.modules if name.startswith(f"{request['package']}.core.")
    )
    with open(request["answer"], "w", encoding="utf-8") as file:
        json.dump(answer, file)


if __name__ == "__main__":
    main()

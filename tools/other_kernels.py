"""Run everything that computes with each kernel of OpenBLAS that this processor can run.

A kernel is OpenBLAS's code for one family of processors. Kernels add numbers in different orders,
so the same training gives other results on another machine. Run this by hand after results changed:

    python tools/other_kernels.py                       # all kernels: this takes an hour or two
    python tools/other_kernels.py Haswell Prescott      # these two
    python tools/other_kernels.py --only tests Haswell -- -k interpretability

Words after `--` go to pytest. The exit code is 1 if anything failed, or if nothing ran.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

REPOSITORY = Path(__file__).resolve().parents[1]
# Values of OPENBLAS_CORETYPE. With an older one, NumPy leaves out its code for newer processors.
NEWER = ("Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids")
OLDER = ("Sandybridge", "Nehalem", "Prescott")
TESTS = ("tests/tinytorch", "tests/milestones", "tests/test_lessons.py", "tests/test_doctests.py")
TESTS += ("tests/book/test_drawings.py", "tests/book/test_picture.py")
PROBE = """
import numpy as np, threadpoolctl
for kind in (np.float32, np.float64):
    np.ones((99, 99), kind) @ np.ones((99, 99), kind)
print("really:", *(library.get("architecture") for library in threadpoolctl.threadpool_info()))
"""


def run(kernel, words, folder=REPOSITORY, **variables):
    """Run Python with a kernel: (exit code, everything that it printed)."""
    newer = np.show_config(mode="dicts")["SIMD Extensions"].get("found", ())
    variables |= {"OPENBLAS_CORETYPE": kernel, "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    variables["NPY_DISABLE_CPU_FEATURES"] = " ".join(newer) if kernel in OLDER else ""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *map(str, words)],
        cwd=folder,
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    return done.returncode, done.stdout


def find_core(kernel):
    """(the kernel that really runs, ""), or ("", why this one does not)."""
    code, printed = run(kernel, ["-c", PROBE], OPENBLAS_VERBOSE="2")
    if f"Core not found: {kernel}" in printed:
        return "", "this OpenBLAS does not have it"
    if code == 1:
        sys.exit(printed)  # an error of Python, such as a package that is missing
    if code:
        return "", f"this processor cannot run it (exit code {code})"
    core = re.search(r"^really: (\w+)$", printed, re.M)
    return (core[1], "") if core else ("", "NumPy does not use OpenBLAS here")


def run_tests(kernel, words, save):
    """Run the numeric tests, slow ones too; returns {name: whether it passed}."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        options = ["-q", "--all", "-p", "no:cacheprovider", f"--junitxml={report}"]
        code, printed = run(kernel, ["-m", "pytest", *options, *TESTS, *words])
        cases = [*ElementTree.parse(report).iter("testcase")] if report.exists() else []
    save("pytest", printed)
    results = {
        f"{case.get('classname')}::{case.get('name')}": not {"failure", "error"} & tags
        for case in cases
        if "skipped" not in (tags := {part.tag for part in case})
    }
    return results if not code or False in results.values() else results | {"pytest": False}


def run_demonstrations(kernel, words, save):
    """Run each chapter from its top to its bottom; returns {name: whether it came to its end}."""
    results = {}
    for path in sorted(REPOSITORY.glob("modules/source/*/*_dev.py")):
        code, printed = run(kernel, [path])
        save(path.parent.name, printed)
        results[path.parent.name] = code == 0
    return results


def run_milestones(kernel, words, save):
    """Run each milestone in a copy of the course; returns {name: whether it reached its goals}."""
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        trained = shutil.ignore_patterns("*.npz")  # each kernel trains its own
        shutil.copytree(REPOSITORY / "modules", Path(folder, "modules"), ignore=trained)
        shutil.copytree(REPOSITORY / "tinytorch", Path(folder, "tinytorch"))
        shutil.copy(REPOSITORY / "tito.toml", folder)
        for path in sorted(Path(folder).glob("modules/milestones/[0-9]*.py")):
            if "\n# downloads = " in path.read_text(encoding="utf-8"):
                continue
            code, printed = run(kernel, ["-m", "tito", "milestone", "run", path.stem], folder)
            save(path.stem, printed)
            results[path.stem] = code == 0
    return results


PARTS = {"tests": run_tests, "demonstrations": run_demonstrations, "milestones": run_milestones}


def run_parts(kernel, parts, words, folder):
    """Run parts with a kernel, and print the rest of its line; returns whether all passed."""
    is_right = True
    for part in parts:

        def save(name, printed):
            (folder / kernel).mkdir(exist_ok=True)
            (folder / kernel / f"{name}.txt").write_text(printed, encoding="utf-8")

        results = PARTS[part](kernel, words, save)
        failed = [name for name, passed in results.items() if not passed]
        names = f" ({', '.join(failed)})" if failed else ""
        counts = f"{len(results) - len(failed)} passed, {len(failed)} failed{names}"
        print(f"; {part}: {counts if results else 'nothing ran'}", end="", flush=True)
        is_right = is_right and bool(results) and not failed
    print(flush=True)
    return is_right


def main(words):
    """Do what the command line asks for; returns the exit code."""
    end = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", default=NEWER + OLDER)
    parser.add_argument("--only", choices=PARTS, help="the part to run; without it: all")
    options = parser.parse_args(words[:end])
    folder, passed = Path(tempfile.mkdtemp(prefix="other-kernels-")), {}
    for kernel in options.kernels:
        core, reason = find_core(kernel)
        if core in passed:
            reason = f"OpenBLAS takes its kernel {core} for it, which ran above"
        if reason:
            print(f"{kernel}: not run, {reason}", flush=True)
            continue
        print(f"{kernel}: the kernel {core} ran", end="", flush=True)
        parts = [options.only] if options.only else PARTS
        passed[core] = run_parts(kernel, parts, words[end + 1 :], folder)
    print(f"What the runs printed: {folder}" if passed else "Nothing ran.")
    return 0 if passed and all(passed.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Fill a folder with the files that a notebook's Python needs to start in a browser, for
test_lite.py, with `npm` and `pip`.

    python tests/book/get_pyodide.py FOLDER     then: TITO_PYODIDE=FOLDER

Pyodide's own releases hold all of it, and NumPy; here is what the registries of npm and of Python
have: the core and, in the versions that
its list names, packages of pure Python.
"""

import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tito.book import lite


def get(folder):
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(
            ["npm", "pack", "--silent", f"pyodide@{lite.version()}"],
            cwd=scratch,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        [packed] = Path(scratch).glob("*.tgz")
        with tarfile.open(packed) as held:
            held.extractall(scratch, filter="data")
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(Path(scratch, "package").glob("py*")):
            path.replace(folder / path.name)
    packages = lite.by_name(json.loads((folder / "pyodide-lock.json").read_text(encoding="utf-8")))
    wanted = [
        f"{packages[name]['name']}=={packages[name]['version']}"
        for name in lite.with_dependencies(packages, [*lite.KERNEL])
    ]
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
            f"--python-version={lite.python()}",
            f"--dest={folder}",
            *wanted,
        ],
        check=True,
    )


if __name__ == "__main__":
    get(Path(sys.argv[1]))

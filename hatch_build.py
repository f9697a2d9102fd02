"""What an installation of this project holds.

A wheel holds `tito` and, below `tito/course/`, the course as data in the layout of this folder.
An editable installation copies nothing: tito runs from here, with this folder as its course.
Both hold `tinytorch-root.pth`, the line Python runs at each start so that `import tinytorch`
is the package of the folder one works in (see tito/import_hook.py). `tinytorch` itself is never
installed.
"""

import runpy
import shutil
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# What `tito init` and `tito release` give to learners.
# What lessons generate (tinytorch/core/*.py) is left out.
COURSE = [
    "tito.toml",
    "tracks.toml",
    "LICENSE",
    "bin/tito",
    "bin/activate-tinytorch.sh",
    "bin/tito.cmd",
    "bin/activate-tinytorch.ps1",
    "bin/setup",
    "bin/setup.py",
    "modules/milestones/*.py",
    "modules/source/**/*",
    "tinytorch/*.py",
    "tinytorch/core/__init__.py",
    "tinytorch/data/*",
    "tinytorch/gpu/*.py",
    "tinytorch/nn/*.py",
    "tinytorch/pictures/*.py",
    "tinytorch/compiler/*.py",
    "tinytorch/support/*.py",
    "tests/conftest.py",
    "tests/test_lessons.py",
]


class Contents(BuildHookInterface):
    def initialize(self, version, build_data):
        root = Path(self.root)
        hook = runpy.run_path(str(root / "tito" / "import_hook.py"))
        code = hook["IMPORT"]
        if version == "editable":
            # The folder leaves sys.path at once: `tests` and `modules` must not become importable.
            code = f"sys.path.append({ascii(self.root)})\n{code}sys.path.pop()\n"
        code += hook["INSTALL"]
        self.scratch = Path(tempfile.mkdtemp())
        start_file = self.scratch / "tinytorch-root.pth"
        start_file.write_text(f"import sys; exec({ascii(code)})\n", encoding="utf-8")
        include = {str(start_file): start_file.name}
        if version == "editable":
            build_data["force_include_editable"] = include
            return
        include |= {
            str(path): path.relative_to(root).as_posix() for path in files(root, ["tito/**/*"])
        }
        include |= {
            str(path): f"tito/course/{path.relative_to(root).as_posix()}"
            for path in files(root, COURSE)
        }
        build_data["force_include"] |= include

    def finalize(self, version, build_data, artifact_path):
        shutil.rmtree(self.scratch, ignore_errors=True)


def files(root, patterns):
    """The files that match, without what is made on each machine (see .gitignore)."""
    for path in sorted({path for pattern in patterns for path in root.glob(pattern)}):
        made = (
            path.name.endswith((".pyc", "_dev.ipynb", ".tito-tmp"))
            or ".ipynb_checkpoints" in path.parts
        )
        if path.is_file() and not made:
            yield path

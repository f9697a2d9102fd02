"""`import tinytorch` gives the package of the root you work in, and no other.

An environment may serve a course and several workspaces, each with its own `tinytorch/`, and
another copy may be on PYTHONPATH. Python runs `install` at each start (tinytorch-root.pth, see
hatch_build.py), so this file costs every start of Python: it imports nothing that is not there yet.

The root is the nearest folder upward with a `tito.toml`:
1. from the script being run, whatever the current folder is;
2. else from the current folder: where Jupyter and VS Code start a notebook, and pytest runs.
Outside any root Python goes on as usual.
"""

import os
import sys

TYPE_CHECKING = False  # importing `typing` would cost each start of Python its time
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

PACKAGE = "tinytorch"
# What tinytorch-root.pth runs. A fault in tito must not greet people at every start of Python,
# hence `except`.
START = """try:
 import tito.import_hook, tito.learn.check_builtin
 tito.import_hook.install()
 tito.learn.check_builtin.install()
except Exception: pass"""


def install(root: str | None = None) -> None:
    """Let `import tinytorch` find the root's package. A given `root` stays in force."""
    for finder in sys.meta_path:
        if isinstance(finder, RootFinder):
            break
    else:
        finder = RootFinder()
        sys.meta_path.insert(0, finder)  # first: before anything on PYTHONPATH
    if root is not None:
        finder.root = os.path.abspath(root)


class RootFinder:
    root: str | None = None  # None: look for it when it is needed

    def find_spec(
        self,
        name: str,
        path: "Sequence[str] | None" = None,
        target: "ModuleType | None" = None,
    ) -> "ModuleSpec | None":
        if name != PACKAGE:
            return None
        root = self.root or current_root()
        if root is None:
            return None
        folder = os.path.join(root, PACKAGE)
        front = os.path.join(folder, "__init__.py")
        if not os.path.isfile(front):
            # Another package of that name would not be this root's work: no package is better.
            raise ModuleNotFoundError(
                f"{root} has no {PACKAGE}/__init__.py, so there is no {PACKAGE} to import here. "
                "`tito doctor` says more.",
                name=PACKAGE,
            )
        from importlib.util import spec_from_file_location

        return spec_from_file_location(name, front, submodule_search_locations=[folder])


def current_root() -> str | None:
    """The root one works in, or None."""
    for script in (getattr(sys.modules.get("__main__"), "__file__", None), (sys.argv or [""])[0]):
        if script and os.path.isfile(script):
            # As it was named, then where a link leads.
            for path in (os.path.abspath(script), os.path.realpath(script)):
                root = root_above(os.path.dirname(path), skip_tools=True)
                if root is not None:
                    return root
    try:
        return root_above(os.getcwd())
    except FileNotFoundError:  # the current folder was removed
        return None


def root_above(folder: str, skip_tools: bool = False) -> str | None:
    """The nearest folder with a tito.toml, from `folder` upward.

    skip_tools  a script inside an environment (pytest, a Jupyter kernel) or inside tito itself is a
                tool at work, not the work, even when its environment lies in a root: None
    """
    tito = os.path.dirname(os.path.abspath(__file__))
    while True:
        if skip_tools and (
            folder == tito
            or os.path.exists(os.path.join(folder, "pyvenv.cfg"))
            or os.path.exists(os.path.join(folder, "conda-meta"))
        ):
            return None
        if os.path.isfile(os.path.join(folder, "tito.toml")):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent

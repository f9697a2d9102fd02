"""`import tinytorch` gives the package of the root you work in, and no other; and no file in a
learner's folder stops tito.

An environment may serve a course and several workspaces, each with its own `tinytorch/`, and
another copy may be on PYTHONPATH. Python runs `install` at each start (tinytorch-root.pth, see
hatch_build.py), so this file costs every start of Python: it imports nothing that is not there yet.

The root is the nearest folder upward with a `tito.toml`:
1. from the script being run, whatever the current folder is;
2. else from the current folder: where Jupyter and VS Code start a notebook, and pytest runs.
3. else from TINYTORCH_ROOT, which bin/activate-tinytorch.sh sets.
Outside any root Python goes on as usual.

A learner may call a file random.py or types.py. tito therefore imports nothing from the current
folder or PYTHONPATH, and other tools look into the current folder last.
"""

import os
import sys

TYPE_CHECKING = False  # importing `typing` would cost each start of Python its time
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

PACKAGE = "tinytorch"
SCRIPTS = ("tito", "tito.exe", "tito-script.py")
# Programs that run in a learner's folder: `python -m pytest` puts that folder first on sys.path.
TOOLS = ("ipykernel_launcher", "jupyter", "jupyterlab", "pytest")
# What tinytorch-root.pth runs. A fault in tito must not greet people at every start of Python,
# hence `except`; a tito.py on PYTHONPATH comes before this tito, hence `reverse`.
IMPORT = """sys.path.reverse()
try: import tito.import_hook, tito.learn.check_builtin
except Exception: pass
sys.path.reverse()
"""
INSTALL = """try:
 tito.import_hook.install()
 tito.learn.check_builtin.install()
except Exception: pass
"""


def program() -> tuple[str, bool]:
    """What this Python was started to run: (name of a module or a script, whether a module)."""
    words = iter(sys.orig_argv[1:])
    for word in words:
        if not word.startswith("-"):
            return os.path.basename(word).lower(), False
        letters = word[1:] if word[1:2] != "-" else ""
        for at, letter in enumerate(letters, 1):
            rest = letters[at:]
            if letter == "m":
                return rest or next(words, ""), True
            if letter == "c":
                return "", False
            if letter in "WX":  # they take the next word, or the rest of this one
                rest or next(words, "")
                break
    return "", False


def foreign_folders() -> frozenset[str]:
    """The folders on sys.path that do not belong to this Python. Its children do not get them."""
    value = os.environ.pop("PYTHONPATH", "")
    os.environ["TITO_ACTIVE"] = os.environ.pop("TINYTORCH_ROOT", "")
    os.environ.setdefault("TITO_PYTHONPATH", value)  # `tito doctor` looks into them
    folders = [*(value.split(os.pathsep) if value else ()), ""]
    own = (sys.prefix + os.sep, sys.base_prefix + os.sep)
    return frozenset(
        folder for folder in map(os.path.abspath, folders) if not folder.startswith(own)
    )


def install(root: str | None = None) -> None:
    """Let `import tinytorch` find the root's package. A given `root` stays in force."""
    for finder in sys.meta_path:
        if isinstance(finder, RootFinder):
            break
    else:
        finder = RootFinder()
        sys.meta_path.insert(0, finder)  # first: before anything on PYTHONPATH
        name, is_module = program()
        if name.split(".")[0] == "tito" if is_module else name in SCRIPTS:
            finder.leave_out = foreign_folders()
        elif is_module and name in TOOLS and root_above(os.getcwd()):
            finder.look_last = os.getcwd()
    if root is not None:
        finder.root = os.path.abspath(root)


class RootFinder:
    root: str | None = None  # None: look for it when it is needed
    leave_out: frozenset[str] = frozenset()  # folders that are not to be on sys.path
    look_last = ""  # a folder that is to be the last

    def find_spec(
        self,
        name: str,
        path: "Sequence[str] | None" = None,
        target: "ModuleType | None" = None,
    ) -> "ModuleSpec | None":
        # Python puts the current folder first on sys.path after `install`, hence each time.
        if not self.leave_out.isdisjoint(sys.path):
            sys.path[:] = [folder for folder in sys.path if folder not in self.leave_out]
        if self.look_last and sys.path[0] == self.look_last:
            sys.path.append(sys.path.pop(0))
            self.look_last = ""
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
    activated = "" if sys.flags.ignore_environment else os.environ.get("TINYTORCH_ROOT", "")
    try:
        return root_above(os.getcwd()) or activated or None
    except FileNotFoundError:  # the current folder was removed
        return activated or None


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

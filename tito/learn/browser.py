"""A lesson's notebook in the browser: there, the package is made from the learner's own notebooks.

`tito book build --lite` puts tito and the lessons, without solutions, into the Python of its site.
The first cell of each notebook calls `begin`; from then on, importing a lesson reads its notebook
as the browser keeps it, and exports it as `tito export` does.
"""

import importlib
import importlib.util
import sys
from pathlib import Path

from tito import finder
from tito.errors import TitoError
from tito.learn import builtin
from tito.lesson import cells, course, export
from tito.lesson import form as lesson

DRIVE = Path(
    "/drive"
)  # where JupyterLite shows a notebook's Python the files that the browser keeps


def begin(*libraries, drive=DRIVE, inside=sys.platform == "emscripten"):
    """Let the package be made from the notebooks below `drive`.

    Called again, what they hold by then counts.

    libraries  what the package imports: says so where one is not at hand
    inside  whether this Python runs in a browser; anywhere else nothing happens: there,
            `tito export` makes the package
    """
    if not inside:
        return
    root = course.installed_course()
    finder.install(root.path)
    builtin.install()
    builtin.browser = root.path
    sys.meta_path[:] = [
        Notebooks(root, drive),
        *(other for other in sys.meta_path if not isinstance(other, Notebooks)),
    ]
    for name in [name for name in sys.modules if name.split(".")[0] == root.package]:
        del sys.modules[name]
    if missing := [name for name in libraries if not importlib.util.find_spec(name)]:
        print(
            f"Not at hand in this browser's Python: {', '.join(missing)}. You can read and write "
            "the lesson here, and run it in a workspace of your own."
        )


class Notebooks:
    """Exports a lesson's notebook at the moment in which its module is imported; finding
    the module is left to others.
    """

    def __init__(self, root, drive):
        self.root, self.drive = root, drive
        self.entries = {f"{root.package}.core.{entry.name}": entry for entry in root.lessons}

    def find_spec(self, name, path=None, target=None):
        if entry := self.entries.get(name):
            try:
                export.put(entry, self.exported(entry))
            except TitoError as error:
                raise ImportError(f"{error.what} {error.remedy}", name=name) from None
            importlib.invalidate_caches()
        return None

    def exported(self, entry):
        """The module of a lesson, from its notebook.

        Raises TitoError with the notebook's own line.
        """
        path = self.drive / entry.folder / entry.notebook.name
        if not path.is_file():
            raise TitoError(
                f"Your notebook {entry.folder}/{path.name} cannot be read from here.",
                "Just after the first visit, run the cell again. Is the notebook there, in the "
                "list of files? A private window, or a browser that blocks service workers, "
                "keeps it from other notebooks.",
                1,
            )
        source = cells.read(path)
        source.path = path.relative_to(self.drive)
        declared = lesson.load(
            entry.notebook
        )  # as released; its script would need a reader of YAML
        return export.build(source, declared, source.path.as_posix(), self.root.package)

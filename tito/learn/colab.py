"""A lesson's notebook on Google Colab, where each session is a new machine.

The first cell of a released notebook installs the release's wheel, which holds the lessons, and
calls `begin`.
"""

import os
import sys
from pathlib import Path

from tito import import_hook
from tito.learn import check_builtin, notebook_sync, progress, workspace
from tito.lesson import course, export
from tito.lesson.course import SOURCE, Entry, Root

FOLDER = Path("/content")  # where a session starts, and uploads arrive


def begin(name: str, folder: Path = FOLDER) -> None:
    """Make a workspace for the session, and let the notebook of the lesson `name` run in it.

    Called again, what `tito restore` has brought into the workspace by then counts.
    """
    source = course.installed_course()
    place = folder / f"my-{source.package}"
    workspace.init(place, source)
    root = course.open_root(place)
    entry = root.lesson(name)
    for other in sys.modules.copy():
        if other.split(".")[0] == root.package:
            del sys.modules[other]
    import_hook.install(str(root.path))
    check_builtin.install()
    os.chdir(root.path / SOURCE / entry.folder)
    records = progress.load(root)["lessons"]
    missing = []
    for lower in root.lessons:
        if lower.number < entry.number:
            module = export.current(lower, notebook_sync.read(lower, records.get(lower.name, {})))
            export.write_module(lower, module)
            if lower.name in entry.declared.prerequisites and export.unwritten(module):
                missing.append(lower.name)
    print(_words(root, entry, folder, missing))


def _words(root: Root, entry: Entry, folder: Path, missing: list[str]) -> str:
    words = (
        f"{root.path} is a workspace for this session only. To keep what you write here: "
        f"File > Download > Download .ipynb. In your own workspace, put it into "
        f"{entry.relative(entry.notebook.parent)}/ and run: "
        f"tito notebook {entry.name} --keep notebook"
    )
    if missing:
        words += (
            f"\nThis lesson uses what you wrote in {', '.join(missing)}. Upload the zip of "
            f"`tito submit` (the folder at the left), run `!tito restore {folder}/NAME.zip` in a "
            "cell, then this cell again."
        )
    return words

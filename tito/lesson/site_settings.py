"""Where a course is published: `[book]` in its tito.toml, and the addresses that follow from it.

    release  the repository on GitHub that holds the release: learners clone it, Binder
             opens the lessons from it
    branch   of that repository, "main" by default

None has a value by default, and without one there is no link.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from urllib.parse import quote

from tito.errors import MachineError

GITHUB = "https://github.com/"


@dataclass(frozen=True)
class Published:
    release: str = ""
    branch: str = "main"

    def binder(self, path: str) -> str:
        """The address that opens the release's file `path` on Binder."""
        name, branch = self.release.removeprefix(GITHUB), quote(self.branch, safe="")
        return f"https://mybinder.org/v2/gh/{name}/{branch}?urlpath=lab/tree/{path}"


def read(folder: Path) -> Published:
    """What the tito.toml of the course in `folder` says.

    Raises MachineError for a setting that cannot work.
    """
    table = tomllib.loads((folder / "tito.toml").read_text(encoding="utf-8-sig")).get("book", {})

    def refuse(what: str, remedy: str) -> NoReturn:
        raise MachineError(f"tito.toml: [book] {what}.", remedy)

    names = Published.__dataclass_fields__
    if not isinstance(table, dict):
        refuse(f"is {table!r}", "It should be a table: a line [book], then release = ...")
    for name, value in table.items():
        if name not in names:
            refuse(f"has {name!r}, which means nothing", f"There are: {', '.join(names)}.")
        if not isinstance(value, str):
            refuse(f"{name} is {value!r}", "It should be a text, between quotes.")
    release, branch = table.get("release", ""), table.get("branch", "main")
    address = rf"{GITHUB}[\w-]+/[\w.-]+"
    if release and (not re.fullmatch(address, release) or release.endswith(".git")):
        refuse(
            f"release is {release!r}",
            f'It should be an address like "{GITHUB}OWNER/REPOSITORY", without .git or a / at the '
            "end: Binder opens repositories of GitHub.",
        )
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)*", branch):
        refuse(f"branch is {branch!r}", 'It should be the name of a branch, such as "main".')
    if "branch" in table and not release:
        refuse(
            f"branch is {branch!r}, and there is no release", "Say of which repository: release."
        )
    return Published(release, branch)

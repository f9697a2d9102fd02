"""Where a course is published: `[book]` in its tito.toml, and the addresses that follow from it.

    release  the repository on GitHub that holds the release: learners clone it, Binder
             opens the lessons from it
    branch   of that repository, "main" by default

None has a value by default, and without one there is no link.
"""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tito import settings
from tito.errors import UsageError


@dataclass(frozen=True)
class Published:
    release: str = ""
    branch: str = "main"

    def binder(self, path: str) -> str:
        """The address that opens the release's file `path` on Binder."""
        name, branch = self.release.removeprefix(settings.GITHUB), quote(self.branch, safe="")
        return f"https://mybinder.org/v2/gh/{name}/{branch}?urlpath=lab/tree/{path}"


def read(folder: Path) -> Published:
    """What the tito.toml of the course in `folder` says. Raises UsageError."""
    table = settings.read_root(folder).get("book", {})
    if "branch" in table and not table.get("release"):
        raise UsageError(
            f"tito.toml: [book] branch is {table['branch']!r}, and there is no release.",
            "Say of which repository: release.",
        )
    return Published(**table)

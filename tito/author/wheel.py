"""Build a wheel of the running tito, for a release and for an autograder, because no package index
has it.

Nothing is compiled, so a wheel is a zip with some metadata. It is stored uncompressed: it has the
same bytes on every machine, and can be searched for secrets.
"""

import base64
import hashlib
import importlib.metadata
import re
from collections.abc import Mapping
from pathlib import Path

from tito import files, import_hook
from tito.lesson import course

HERE = Path(__file__).parents[1]
LEFT_OUT = {"course", "__pycache__"}  # the course comes from `data`
PRIVATE = "Private :: Do Not Upload"  # PyPI refuses what has it, such as a build of pyproject.toml


def build(data: Mapping[str, bytes], edition: str = "") -> tuple[str, bytes]:
    """(file name, bytes) of a wheel of this tito.

    data     {path below tito/course: bytes}, the course that comes with it
    edition  a word of letters for its version; without one, PyPI accepts the wheel
    """
    local = _version(edition)
    notes = f"{course.DISTRIBUTION}-{local}.dist-info"
    distribution = importlib.metadata.distribution(course.DISTRIBUTION)
    members = own_files()
    members |= {f"tito/course/{name}": content for name, content in data.items()}
    start = import_hook.IMPORT + import_hook.INSTALL
    members["tinytorch-root.pth"] = f"import sys; exec({ascii(start)})\n".encode()
    metadata = distribution.read_text("METADATA") or ""
    if not edition:  # it has no solutions
        metadata = metadata.replace(f"Classifier: {PRIVATE}\n", "")
    members[f"{notes}/METADATA"] = re.sub(
        r"(?m)^Version: .*$", f"Version: {local}", metadata, count=1
    ).encode()
    members[f"{notes}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: tito\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    members[f"{notes}/entry_points.txt"] = b"[console_scripts]\ntito = tito.cli.run:run\n"
    if licence := distribution.read_text("licenses/LICENSE"):
        members[f"{notes}/licenses/LICENSE"] = licence.encode()
    rows = [
        f"{name},sha256={_digest(content)},{len(content)}"
        for name, content in sorted(members.items())
    ]
    members[f"{notes}/RECORD"] = "\n".join([*rows, f"{notes}/RECORD,,", ""]).encode()
    return name(edition), files.archive(members)


def name(edition: str = "") -> str:
    """The file name of that wheel."""
    return f"{course.DISTRIBUTION}-{_version(edition)}-py3-none-any.whl"


def _version(edition: str) -> str:
    return course.version().split("+")[0] + (edition and f"+{edition}")


def own_files() -> dict[str, bytes]:
    """{"tito/...": bytes} of the tito that runs, without a course."""
    out = {}
    for path in sorted(HERE.rglob("*")):
        name = path.relative_to(HERE)
        if (
            path.is_file()
            and name.parts[0] not in LEFT_OUT
            and "__pycache__" not in name.parts
            and not path.name.endswith(".tito-tmp")
        ):
            out[f"tito/{name.as_posix()}"] = path.read_bytes()
    return out


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()

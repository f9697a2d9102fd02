"""The course as learners get it: a folder to publish, with everything to
start and nothing to copy from.

A release is a workspace (`workspace.contents`) that needs no course beside it. To that it adds

    bin/*.whl, bin/setup*      tito for learners: the same program, with the released
                               lessons where the course was
    modules/**/*.ipynb         each lesson as a notebook, too
    binder/, .github/          a session in the browser, and a test run at
                               each push (from `released/`)
    .tito/release.json         what was released: a second release knows by it
                               which files somebody changed

and, only when asked for, the solutions for `tito compare`, in a file per lesson under `.tito/`.

It is put together beside its place, read back from the disk and searched for solutions, hidden
checks and recorded mistakes; only then is it moved there. The bytes depend on the course, on tito
and on the libraries that make the notebooks, never on the clock, the machine or the path.
"""

import hashlib
import io
import json
import os
import re
import shutil
import tempfile
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from tito import files
from tito.author import downloaded_notebook, wheel
from tito.errors import MachineError, UsageError
from tito.learn import workspace
from tito.lesson import course, misconceptions, notebook, site_settings
from tito.lesson.course import PRISTINE, SOURCE
from tito.lesson.lesson_format import CHECKS, HINTS, MARK, MISCONCEPTIONS, SOLUTIONS

NOTE = ".tito/release.json"
ADDED = Path(__file__).with_name("released")  # what each release holds as it is, at the same paths
SETUP = ("bin/tito", "bin/activate-tinytorch.sh", "bin/setup", "bin/setup.py")
PROGRAMS = {"bin/tito", "bin/setup", "binder/postBuild", "binder/start"}
NOT_RELEASED = {
    ".git",
    ".venv",
    "__pycache__",
    ".tito/backups",
}  # of what stands in a release's folder: never published
LEAST = 12  # characters: shorter lines, such as `return x`, stand in any program
ENTRY = re.compile(r"(id|exercise|name|message|old|new|code|change|reason) = ")  # of a mistake
LONG = 40  # and of such a length, no line stands in two programs by chance
FEW = 100  # texts: to look for each takes less than one pass in Python


@dataclass
class Released:
    """What was written where: the lessons' names, the paths that changed, those that somebody had
    changed by hand, and where their copies are.
    """

    path: Path
    lessons: list
    changed: list = field(default_factory=list)
    by_hand: list = field(default_factory=list)
    kept: Path | None = None


def release(source, folder, lessons=None, with_solutions=False):
    """Make `folder` the release of a course; an earlier release there is brought up to date.

    Returns a Released.

    lessons         Entries, those to release; None for all
    with_solutions  put in the solutions of their exercises, which `tito compare` shows to who has
                    solved one: not for a class that is graded

    Raises TitoError when the folder holds anything else, when a lesson needs one that is not
    released, and MachineError, with nothing written, when a byte of the release would give away a
    solution, a hidden check or a recorded mistake.
    """
    if not source.is_course:
        raise UsageError(
            f"{source.path} is a workspace; its lessons hold no solutions, so "
            "there is nothing to release.",
            "Run it in the course.",
        )
    if with_solutions and not source.compare:
        raise UsageError(
            f"{source.name} does not show its solutions: its tito.toml says compare = false.",
            "Release without --with-solutions, or take that line out.",
        )
    folder = Path(os.path.abspath(folder.expanduser()))
    chosen = lessons or source.lessons
    _refuse_gaps(source, chosen)
    earlier = _earlier(source, folder)
    new = contents(source, chosen, with_solutions)
    folder.parent.mkdir(parents=True, exist_ok=True)
    stage = Path(tempfile.mkdtemp(files.SUFFIX, f".{folder.name}.", folder.parent))
    try:
        for name, data in new.items():
            _put(stage / name, name, data)
        on_disk = {name: (stage / name).read_bytes() for name in new}
        shown = solution_files(chosen) if with_solutions else {}
        searched = {name: data for name, data in on_disk.items() if name not in shown}
        gone = earlier or {}  # what this release lacks of the one before does not stay
        verify(source, chosen, searched | _beside(folder, {*new, *gone}))
        out = Released(folder, [entry.name for entry in chosen])
        if earlier is None and not _holds_anything(folder):
            if folder.exists():
                folder.rmdir()  # empty; not every system renames onto a folder
            stage.chmod(0o755)
            os.replace(stage, folder)
            out.changed = list(new)
        else:
            _update(folder, earlier or {}, on_disk, out)
        return out
    except OSError as error:
        raise MachineError(
            f"{folder} was not written: {error.strerror or error}.",
            "Free some space, or make its folder writable.",
        ) from None
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _refuse_gaps(source, chosen):
    names = [entry.name for entry in chosen]
    for entry in chosen:
        for prerequisite in entry.declared.prerequisites:
            if prerequisite not in names:
                needed = set(names)
                for one in reversed(source.lessons):  # a lesson needs lower ones only
                    needed |= set(one.declared.prerequisites) if one.name in needed else set()
                listed = " ".join(one.name for one in source.lessons if one.name in needed)
                raise UsageError(
                    f"Lesson {entry.name} needs {prerequisite}, which is not among the lessons to "
                    f"release ({', '.join(names)}).",
                    f"Release what they need with them: --lessons {listed}",
                )


def _earlier(source, folder):
    """{path: sha256} of the release that stands in `folder`, or None when nothing does.

    Raises TitoError for anything else.
    """
    if not _holds_anything(folder) or {path.name for path in folder.iterdir()} <= {".git"}:
        return None
    if not (folder / "tito.toml").exists():
        raise UsageError(
            f"{folder} is not empty, and no release.",
            "Give a new folder: tito release ../my-course-release",
        )
    root = course.open_root(folder)
    if root.is_course:
        raise UsageError(
            f"{folder} is a course; a release there would overwrite its solutions.",
            "Give a new folder: tito release ../my-course-release",
        )
    if not (folder / NOTE).exists():
        raise UsageError(
            f"{folder} is somebody's workspace, no release: it has no {NOTE}.",
            "Give a new folder: tito release ../my-course-release",
        )
    if root.name != source.name:
        raise UsageError(
            f"{folder} is a release of {root.name}; this is {source.name}.", "Give another folder."
        )
    try:
        return dict(json.loads((folder / NOTE).read_text(encoding="utf-8"))["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}  # damaged: then every file that differs counts as changed by hand, and is saved


def _holds_anything(folder):
    if folder.exists() and not folder.is_dir():
        raise UsageError(
            f"{folder} is a file.", "Give a new folder: tito release ../my-course-release"
        )
    return folder.exists() and any(folder.iterdir())


def _put(path, name, data):
    files.write(path, data)
    os.chmod(path, 0o755 if name in PROGRAMS else 0o644)


def _update(folder, earlier, on_disk, out):
    """Bring a release up to date, saving what somebody changed by hand.

    The note about it goes last: interrupted, it is done again.
    """
    by_hand = {}
    for name in sorted({*earlier, *on_disk} - {NOTE}):
        path, data = folder / name, on_disk.get(name)
        now = path.read_bytes() if path.is_file() else None
        if now is None and data is None or now == data:
            continue
        out.changed.append(name)
        if now is not None and _sha256(now) != earlier.get(name):
            by_hand[path] = data
            out.by_hand.append(name)
        elif data is None:
            path.unlink()
        else:
            _put(path, name, data)
    if by_hand:
        out.kept = files.replace(course.open_root(folder), "release", by_hand)
    _put(folder / NOTE, NOTE, on_disk[NOTE])


def _sha256(data):
    return hashlib.sha256(data).hexdigest()


# What a release holds.


def contents(source, chosen, with_solutions=False):
    """Every file of a release of those lessons, {path: bytes}."""
    out = {
        name: data
        for name, data in workspace.contents(source, chosen).items()
        if name not in workspace.MACHINE
    }
    tools = source.path if (source.path / "bin").is_dir() else course.installed_course().path
    out |= {name: (tools / name).read_bytes() for name in SETUP}
    out |= {
        path.relative_to(ADDED).as_posix(): path.read_bytes()
        for path in sorted(ADDED.rglob("*"))
        if path.is_file()
    }
    name, data = wheel.build(downloaded_notebook.EDITION, course_of_stubs(source, out))
    out[f"bin/{name}"] = data
    if (source.path / "LICENSE").exists():
        out["LICENSE"] = (source.path / "LICENSE").read_bytes()
    out["README.md"] = readme(source, chosen, with_solutions).encode()
    place = site_settings.read(source.path)
    for entry in chosen:
        script = entry.declared.released
        book = notebook.to_notebook(script, entry.declared)
        if first := downloaded_notebook.colab_cells(entry, place):
            book = notebook.with_start(book, first)
        for path, text in ((entry.script, script), (entry.notebook, book)):
            out[entry.relative(path)] = text.encode("utf-8")
    if with_solutions:
        out |= solution_files(chosen)
    hashes = {name: _sha256(data) for name, data in sorted(out.items())}
    out[NOTE] = _json(
        {
            "course": source.name,
            "edition": source.edition,
            "tito": course.version(),
            "lessons": [e.name for e in chosen],
            "files": hashes,
        }
    )
    return out


def solution_files(chosen):
    """{path: bytes} of what `tito compare` reads: a file per lesson, which holds nothing but the
    solutions of its exercises. Every other file of a release is searched for them as ever.
    """
    return {
        (PRISTINE / entry.folder / SOLUTIONS).as_posix(): entry.declared.solutions.encode("utf-8")
        for entry in chosen
    }


def _json(value):
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode("utf-8")


def course_of_stubs(source, released):
    """The course as a learner's tito carries it, so that `tito init` serves there, too:
    what is released, as a course.
    """
    out = {
        name: data
        for name, data in released.items()
        if name.startswith(("modules/", "tests/", f"{source.package}/")) or name in workspace.COPIED
    }
    hints = f"/{HINTS}"  # for learners they lie with the pristine copy
    out |= {
        name.replace(PRISTINE.as_posix(), SOURCE.as_posix()): data
        for name, data in released.items()
        if name.startswith(PRISTINE.as_posix()) and name.endswith(hints)
    }
    out["tito.toml"] = (
        "[course]\n"
        f'name = "{source.name}"\n'
        f'edition = "{source.edition}"\n'
        f'package = "{source.package}"\n'
        "compare = false\n" + (f'book = "{source.book}"\n' if source.book else "")
    ).encode()
    return out


def readme(source, chosen, with_solutions):
    """The workspace's README, and what differs in a release: how tito gets
    there, and where work may be lost.
    """
    first = chosen[0]
    place, path = site_settings.read(source.path), first.relative(first.notebook)
    if place.release:
        where = f"On Binder, open <{place.binder(path)}>."
    else:
        where = (
            f"On Binder, open `https://mybinder.org/v2/gh/OWNER/REPOSITORY/HEAD"
            f"?urlpath=lab/tree/{path}` with\nthe owner and the name of this repository."
        )
    colab = place.release and (
        f"\nOn Google Colab, open <{place.colab(path)}>, and run the first cell, which makes a "
        "workspace there.\nSuch a session ends, too: the cell says how to take your work "
        "with you.\n"
    )
    return (
        workspace.readme(source, chosen, with_solutions)
        + f"""
## Install

You need Python 3.11 or newer and a network, once: `bin/tito status` makes an environment in \
`.venv` and installs tito
there, from the file beside it in `bin/`. Then `. bin/activate-tinytorch.sh` puts tito on \
your path. For notebooks on
your own machine: `bin/setup notebook`. On Windows: `py bin\\setup.py notebook`, \
then `.venv\\Scripts\\activate`.

## In the browser

{where} Such a session is temporary: \
when it ends, what you wrote is gone. Before you
leave it, run `tito submit` in a terminal there and download the zip; in the next session \
upload it and run
`tito restore ZIP`.
{colab}
## Hand in

`tito submit` tests what you have begun and puts it into a zip; hand that in. In a repository on \
GitHub, each push tests
every lesson, too, and shows the results in the summary of the run.
"""
    )


# What a release may not hold.


def secret_lines(lesson):
    """The lines of a lesson's solutions and hidden checks that do not also stand in
    the open, without their indent.
    """
    secret, public = set(), set()
    for cell in lesson.source.cells:
        inside = False
        for line in cell.source.split("\n"):
            if mark := MARK.match(line):
                inside = mark[1] == "BEGIN"
            else:
                (secret if inside else public).add(line.strip())
    hidden = {check.cell for check in lesson.checks if check.hidden}
    for cell in lesson.checks_source.cells:
        (secret if cell in hidden else public).update(map(str.strip, cell.source.split("\n")))
    return {line for line in secret - public if len(line) > 3}


def secrets(source):
    """{text: what it is} of all that may stand nowhere in a release of lessons of the course.

    What learners get to read in a lesson is no secret, also in one that is not released yet: the
    course's open part is the same in every release. Nor is a short line that tito's own code
    happens to hold.
    """
    reasons = {}
    for entry in source.lessons:
        lesson = entry.declared
        for line in secret_lines(lesson):
            reasons.setdefault(line, f"a line of a solution or a hidden check of {entry.name}")
        path = lesson.path.with_name(MISCONCEPTIONS)
        for line in path.read_text(encoding="utf-8").split("\n") if path.exists() else ():
            reasons.setdefault(line.strip(), f"a line of {entry.name}'s recorded mistakes")
        for mistake in misconceptions.load(lesson):
            reasons[mistake.name] = f"a recorded mistake of {entry.name}"
        for check in lesson.checks:
            if check.hidden:
                reasons[check.function] = f"the name of a hidden check of {entry.name}"
    read = "\n".join(
        text
        for entry in source.lessons
        for text in (entry.declared.released, entry.declared.released_checks, *_hints(entry))
    )
    tito = "\n".join(data.decode("utf-8", "replace") for data in wheel.own_files().values())
    starts = by_start(reasons)
    public, ours = standing(starts, read), standing(starts, tito)
    return {
        text: what
        for text, what in reasons.items()
        if len(text) >= LEAST and text not in public and (len(text) >= LONG or text not in ours)
    }


def by_start(texts):
    """{first LEAST characters: those of the texts that start so}, without shorter ones."""
    starts = {}
    for text in texts:
        if len(text) >= LEAST:
            starts.setdefault(text[:LEAST], []).append(text)
    return starts


def standing(starts, text):
    """Those of many texts, as `by_start` gives them, that stand in another.

    In one pass when they are many: to look for each of 17,000 secrets in 5 MB takes a minute.
    """
    if len(starts) < FEW:
        return {one for some in starts.values() for one in some if one in text}
    return {
        one
        for at in range(len(text) - LEAST + 1)
        for one in starts.get(text[at : at + LEAST], ())
        if text.startswith(one, at)
    }


def _hints(entry):
    """The hints as they are read: the last ones are almost the code."""
    for exercise in entry.declared.exercises:
        for hint in exercise.hints:
            yield " ".join(hint.replace("`", "").split())


def solutions(source):
    """The lines of each exercise's solution that are not too short to tell, as sets."""
    for entry in source.lessons:
        for exercise in entry.declared.exercises:
            lines, inside = set(), False
            for line in map(str.strip, exercise.cell.source.split("\n")):
                if mark := MARK.match(line):
                    inside = mark[1] == "BEGIN"
                elif inside and len(line) >= LEAST:
                    lines.add(line)
            yield lines


def verify(source, chosen, contents):
    """Raise MachineError when a file of `contents` ({path: bytes}) gives something away.

    In the package's own modules, which are programs of the same kind as the solutions, a short line
    alone gives nothing away: there it takes more than half of an exercise's lines.
    """
    reasons = secrets(source)
    starts = by_start(reasons)
    whole, ours = list(solutions(source)), f"/{source.package}/"
    for name, text in _texts(contents):
        found = standing(starts, text)
        if ours in f"/{name}":
            copied = [
                lines
                for lines in whole
                if lines & found and 2 * sum(line in text for line in lines) > len(lines)
            ]
            found = {
                secret
                for secret in found
                if "a line of" not in reasons[secret]
                or ENTRY.match(secret)
                or any(secret in lines for lines in copied)
                or len(secret) >= LONG
                and not reasons[secret].endswith("recorded mistakes")
            }
        if found:
            _refuse(name, reasons[min(found)], min(found))
    for entry in chosen:  # in the lesson itself, short lines tell, too
        for path in (entry.script, entry.script.with_name(CHECKS)):
            name = entry.relative(path)
            rows = contents[name].decode("utf-8").split("\n")
            lines = {line.strip().removeprefix("# ") for line in rows}
            leaked = sorted(secret_lines(entry.declared) & lines)
            if leaked := leaked or [line for line in lines if MARK.match(line)]:
                _refuse(name, f"a line of a solution or a hidden check of {entry.name}", leaked[0])


def _refuse(name, what, secret):
    raise MachineError(
        f"{name} would give away {what}: {secret[:100]}",
        "Nothing was released. Take it out of the course's open part, then release again.",
    )


def _texts(contents):
    """(name, text) of every file in `contents`, and of every member of a zip among them."""
    for name, data in contents.items():
        yield name, _readable(name, data)
        if _is_zip(data):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                members = {f"{name}/{one}": archive.read(one) for one in archive.namelist()}
            yield from _texts(members)


def _is_zip(data):
    return data.startswith(b"PK") and zipfile.is_zipfile(io.BytesIO(data))


def _readable(name, data):
    """A file's text; of a notebook every string as its reader sees it; of a zip nothing."""
    if _is_zip(data):
        return ""
    text = data.decode("utf-8", "replace")
    if name.endswith(".ipynb"):
        try:
            return text + "\n".join(_strings(json.loads(text)))
        except ValueError:
            pass  # as it is, then
    return text


def _strings(value):
    if isinstance(value, list):
        joined = all(isinstance(part, str) for part in value)
        return ["".join(value)] if joined else [text for part in value for text in _strings(part)]
    if isinstance(value, dict):
        return [text for part in value.values() for text in _strings(part)]
    return [value] if isinstance(value, str) else []


def _beside(folder, names):
    """{path: bytes} of what else would be published with the folder: what somebody put there."""
    contents = {}
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        name = path.relative_to(folder).as_posix()
        inside = any(
            f"{name}/".startswith(f"{pattern}/") or f"/{pattern}/" in f"/{name}/"
            for pattern in NOT_RELEASED
        )
        if not inside and name not in names and path.is_file() and not path.is_symlink():
            contents[name] = path.read_bytes()
    return contents

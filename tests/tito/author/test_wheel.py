"""What can be published, and a learner's first hour with the wheel of a release alone.

The network is replaced: a fresh environment gets the packages that the wheel's metadata names, and
no others, from the environment of these tests.
"""

import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tito.author import release
from tito.lesson import course

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[3]
ENVIRONMENT = Path(sys.prefix)


def run(*words, code=0, **options):
    done = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        timeout=600,
        **options,
    )
    assert done.returncode == code, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def install(wheel, folder):
    """A new environment with the wheel and the packages that it needs: its `tito`."""
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps"]
    run(*pip, "--no-index", wheel)
    packages = next(folder.glob("lib/python*/site-packages"))
    for distribution in needed(next(packages.glob("tinytorch-*.dist-info/METADATA"))):
        inside = {path.parts[0] for path in distribution.files} - {"..", "__pycache__"}
        for name in inside:
            if not (packages / name).exists():
                (packages / name).symlink_to(distribution.locate_file(name))
    return folder / "bin" / "tito"


def needed(metadata):
    """The installed distributions that a METADATA file requires, and those that they require."""
    found, open_ = {}, [importlib.metadata.PathDistribution(metadata.parent)]
    while open_:
        for text in open_.pop().requires or []:
            requirement = Requirement(text)
            extras = requirement.extras or {""}
            wanted = not requirement.marker or any(
                requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras)
            )
            if wanted and requirement.name not in found:
                found[requirement.name] = importlib.metadata.distribution(requirement.name)
                open_.append(found[requirement.name])
    return found.values()


PRIVATE = b"\nClassifier: Private :: Do Not Upload\n"  # PyPI refuses it


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """The wheel of a release, without the release."""
    folder = tmp_path_factory.mktemp("release")
    (wheel,) = (release.release(course.open_root(REPOSITORY), folder).path / "bin").glob("*.whl")
    alone = shutil.move(wheel, tmp_path_factory.mktemp("wheel"))
    shutil.rmtree(folder)
    return Path(alone)


def test_the_wheel_of_a_release_may_be_published_and_has_no_solution(released):
    assert "PASSED" in run(sys.executable, "-m", "twine", "check", "--strict", released)
    held = members(released)
    (metadata,) = [data for name, data in held.items() if name.endswith("/METADATA")]
    assert PRIVATE not in metadata
    assert not re.search(rb"(?m)^Version: .*\+", metadata)  # PyPI refuses a local version
    text = b"\n".join(data for name, data in held.items() if "/modules/source/" in name)
    for lesson in course.open_root(REPOSITORY).lessons:
        for exercise in lesson.declared.exercises:
            assert exercise.cell.source.encode() not in text, exercise.id


def test_the_sdist_and_the_wheel_with_the_solutions_are_sound_and_refused_by_pypi(tmp_path):
    run(sys.executable, "-m", "hatchling", "build", "-d", tmp_path, cwd=REPOSITORY)
    (wheel,), (sdist,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    said = run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
    assert said.count("PASSED") == 2
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-index"]
    run(*pip, "--no-build-isolation", "-w", tmp_path / "from sdist", sdist)
    (again,) = (tmp_path / "from sdist").iterdir()
    held = members(again)
    assert held == members(wheel)
    notes = [data for name, data in held.items() if name.endswith("/METADATA")]
    with tarfile.open(sdist) as archive:
        notes.append(archive.extractfile(f"{sdist.name[:-7]}/PKG-INFO").read())
    assert all(PRIVATE in data for data in notes) and len(notes) == 2

    tito = install(again, tmp_path / "environment")
    run(tito, "init", tmp_path / "mine")
    run(tito, "skip", "1-2", cwd=tmp_path / "mine")
    assert "state" in run(tito, "milestone", cwd=tmp_path / "mine")


def members(wheel):
    with zipfile.ZipFile(wheel) as held:
        return {name: held.read(name) for name in held.namelist()}


@pytest.mark.skipif(not shutil.which("bwrap"), reason="bwrap is not here")
def test_with_the_wheel_of_a_release_and_no_network_one_learns_up_to_a_milestone(
    released, tmp_path
):
    root = course.open_root(REPOSITORY)
    tito, mine = install(released, tmp_path / "environment"), tmp_path / "mine"
    # Neither the clone nor a network is there, only the packages next to it.
    alone = ["bwrap", "--dev-bind", "/", "/", "--unshare-net", "--tmpfs", REPOSITORY]
    if ENVIRONMENT.is_relative_to(REPOSITORY):
        alone += ["--ro-bind", ENVIRONMENT, ENVIRONMENT]

    def learner(*words, code=0, folder=mine):
        environment = {"PATH": f"{tito.parent}:/usr/bin:/bin", "HOME": str(tmp_path)}
        environment |= {"LANG": "C.UTF-8", "MPLCONFIGDIR": str(tmp_path / "matplotlib")}
        return run(*alone, "--chdir", folder, *words, code=code, env=environment)

    clone = learner("sh", "-c", f"ls {REPOSITORY}", folder=tmp_path)
    assert clone.split() in ([], [ENVIRONMENT.name])
    lessons = len(course.open_root(REPOSITORY).lessons)
    assert f"{lessons} lessons" in learner("tito", "init", mine, folder=tmp_path)
    assert "open  modules/source/00_descent/descent_dev.py" in learner("tito", "start", "descent")
    assert "Nothing is written yet" in learner("tito", "test", "descent", code=1)
    (xor,) = [
        milestone
        for milestone in json.loads(learner("tito", "milestone", "--json"))
        if milestone["name"] == "xor"
    ]
    learner("tito", "milestone", "run", "xor", code=2)  # no lesson is begun
    for name in xor["waits"]:  # the learner writes these lessons
        script = root.lesson(name).script
        shutil.copy(script, mine / script.relative_to(REPOSITORY))
        learner("tito", "test", name)
    assert "passed" in learner("tito", "milestone", "run", "xor")

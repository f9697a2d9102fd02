"""The autograder zip: its files, and its programs, which grade a submission as on Gradescope."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from commands import tito
from small_course import edit, solve

from tito.author import gradescope, release
from tito.errors import TitoError

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture
def autograder(small_course, tmp_path):
    """The folder that Gradescope makes: `source/` with what was uploaded, and room for a
    submission.
    """
    tito(small_course, "release", "--for", "gradescope", tmp_path / "autograder.zip")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "zipfile",
            "-e",
            tmp_path / "autograder.zip",
            tmp_path / "autograder/source",
        ],
        check=True,
    )
    (tmp_path / "tito").write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -m tito "$@"\n', encoding="utf-8"
    )
    (tmp_path / "tito").chmod(0o755)
    return tmp_path / "autograder"


def graded(autograder):
    """results.json, after run_autograder has run; its exit code must be 0."""
    done = subprocess.run(
        ["sh", autograder / "source/run_autograder"],
        cwd=autograder,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"AUTOGRADER": str(autograder), "TITO": str(autograder.with_name("tito"))},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((autograder / "results/results.json").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_a_submission_becomes_results_as_gradescope_reads_them(autograder, small_workspace):
    solve(small_workspace.lesson("numbers"))
    edit(small_workspace.lesson("numbers"), "return double(x) + x", "return double(x)")
    solve(small_workspace.lesson("sums"))
    tito(small_workspace, "submit")
    shutil.unpack_archive(small_workspace.path / "my-work-1.zip", autograder / "submission")
    found = graded(autograder)
    assert found["score"] == 7 and found["visibility"] in (
        "hidden",
        "after_due_date",
        "after_published",
        "visible",
    )
    assert {test["status"] for test in found["tests"]} == {"passed", "failed"} and sum(
        test["max_score"] for test in found["tests"]
    ) == 8
    (failed,) = [test for test in found["tests"] if test["status"] == "failed"]
    assert (failed["score"], failed["max_score"]) == (
        0,
        1,
    ) and "triple(2) should be 6, yours is 4" in failed["output"]
    (hidden,) = [test for test in found["tests"] if "total of nothing" in test["name"]]
    assert hidden["visibility"] == "hidden" and "output" not in hidden
    assert all(
        test.keys() >= {"name", "score", "max_score", "status", "visibility"}
        for test in found["tests"]
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["empty", "broken", "link", "pipe"])
def test_whatever_is_handed_in_gets_results(autograder, kind):
    folder = autograder / "submission"
    folder.mkdir()
    if kind == "broken":
        (folder / "numbers_dev.py").write_text("def broken(:", encoding="utf-8")
    elif kind == "link":
        (folder / "numbers_dev.py").symlink_to(
            autograder / "source/course/modules/source/01_numbers/numbers_dev.py"
        )
    elif kind == "pipe":
        os.mkfifo(folder / "numbers_dev.py")
    assert graded(autograder)["score"] == 0


def test_some_lessons_are_graded_when_some_were_asked_for(small_course, tmp_path):
    tito(small_course, "release", "--for", "gradescope", tmp_path / "a.zip", "numbers")
    with zipfile.ZipFile(tmp_path / "a.zip") as held:
        assert (
            held.read("lessons") == b"numbers\n"
            and "course/modules/source/02_sums/sums_dev.py" in held.namelist()
        )


def test_the_zip_runs_says_what_it_is_and_is_the_same_each_time(small_course, tmp_path):
    for name in ("one.zip", "two.zip"):
        gradescope.pack(small_course, tmp_path / name)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as held:
        assert all(
            held.getinfo(name).external_attr >> 16 & 0o111
            for name in ("setup.sh", "run_autograder")
        )
        assert "holds the solutions" in held.read("README.txt").decode()
        lesson = "course/modules/source/02_sums"
        assert b"sum(double(n) for n in numbers)" in held.read(f"{lesson}/sums_dev.py")
        assert b"secret" in held.read(f"{lesson}/checks.py")


def test_a_zip_is_not_written_over_nor_into_a_release_nor_from_a_workspace(
    small_course, small_workspace, tmp_path
):
    (tmp_path / "there.zip").write_bytes(b"mine")
    assert (
        "there already"
        in tito(small_course, "release", "--for", "gradescope", tmp_path / "there.zip", code=2)[1]
    )
    assert (tmp_path / "there.zip").read_bytes() == b"mine"
    (tmp_path / "there.zip").unlink()
    tito(small_course, "release", "--for", "gradescope", tmp_path / "there.zip")
    assert zipfile.is_zipfile(tmp_path / "there.zip")
    folder = release.release(small_course, tmp_path / "release").path
    with pytest.raises(TitoError, match="inside a release"):
        gradescope.pack(small_course, folder / "deep" / "a.zip")
    assert (
        "solutions"
        in tito(small_workspace, "release", "--for", "gradescope", tmp_path / "new.zip", code=2)[1]
    )
    _, err = tito(small_course, "release", "new", "--for", "gradescope", "--with-solutions", code=2)
    assert "Only one of" in err and not (small_course.path / "new").exists()


@pytest.mark.parametrize("name", ["setup.sh", "run_autograder"])
def test_the_programs_are_shell(name):
    subprocess.run(["sh", "-n", gradescope.PROGRAMS / name], check=True)


def test_setup_installs_the_wheel_and_takes_the_newest_python_there_is(autograder, tmp_path):
    """With an `apt-get` that has only Python 3.12, and a `python3.12` that notes what it is
    asked.
    """
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "apt-get").write_text(
        f'#!/bin/sh\necho "apt-get $*" >>"{tmp_path}/asked"\n'
        f'case "$*" in *python3.14*|*python3.13*) exit 100 ;; esac\n',
        encoding="utf-8",
    )
    (tools / "python3.12").write_text(
        f'#!/bin/sh\nmkdir -p "$3/bin"\nprintf \'#!/bin/sh\\necho "pip $*" '
        f'>>"{tmp_path}/asked"\\n\' >"$3/bin/python"\nchmod +x "$3/bin/python"\n',
        encoding="utf-8",
    )
    for program in tools.iterdir():
        program.chmod(0o755)
    for name in ("mkdir", "chmod"):
        (tools / name).symlink_to(shutil.which(name))
    sh = shutil.which("sh")
    subprocess.run(
        [sh, autograder / "source/setup.sh"],
        check=True,
        env={"PATH": str(tools), "AUTOGRADER": str(autograder)},
    )
    asked = (tmp_path / "asked").read_text(encoding="utf-8")
    assert "bubblewrap" in asked and re.search(
        r"pip -m pip install .*/source/tinytorch-\S+\+autograder-py3-none-any\.whl\[instructor\]",
        asked,
    )


# The image

DOCKERFILE = (REPOSITORY / "tito/grading/Dockerfile").read_text(encoding="utf-8")


def instructions():
    """(word, rest) of each instruction, continued lines joined."""
    lines = [line for line in DOCKERFILE.split("\n") if not line.startswith("#")]
    return [
        tuple(line.split(maxsplit=1))
        for line in "\n".join(lines).replace("\\\n", " ").split("\n")
        if line.strip()
    ]


@pytest.mark.slow
def test_the_image_copies_what_exists_and_enough_to_install(tmp_path):
    """What is COPYed, alone, must build the wheel that `pip install .` would."""
    for word, rest in instructions():
        if word == "COPY":
            *sources, target = rest.split()
            for one in sources:
                to = tmp_path / target / (Path(one).name if target.endswith("/") else "")
                to.parent.mkdir(parents=True, exist_ok=True)
                if (REPOSITORY / one).is_dir():
                    shutil.copytree(
                        REPOSITORY / one, to, ignore=shutil.ignore_patterns("__pycache__")
                    )
                else:
                    shutil.copy(REPOSITORY / one, to)
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "dist"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "dist").iterdir()
    names = zipfile.ZipFile(wheel).namelist()
    assert {
        "tito/cli/run.py",
        "tito/grading/run.py",
        "tito/course/tito.toml",
        "tito/author/released/.github/workflows/lessons.yml",
        "tito/author/autograder/run_autograder",
    } <= set(names)


def test_the_image_runs_as_an_ordinary_user_and_its_shell_is_shell():
    found = instructions()
    assert [rest for word, rest in found if word == "USER"] == ["grader"]
    assert [word for word, _ in found].index("USER") > max(
        at for at, (word, _) in enumerate(found) if word == "RUN"
    )
    for word, rest in found:
        if word == "RUN":
            subprocess.run(["sh", "-n", "-c", rest], check=True)
    run = re.search(r"#   docker run (.*?)\n#\n", DOCKERFILE, re.S).group(1).replace("\\\n#", "")
    subprocess.run(["sh", "-n", "-c", f"docker run {run}"], check=True)
    assert all(
        flag in run
        for flag in (
            "seccomp=unconfined",
            "apparmor=unconfined",
            "systempaths=unconfined",
            "--network none",
        )
    )

"""A release is complete, the same each time, and holds nothing to copy from."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from commands import tito
from small_course import edit, make_course, with_question

from tito import files
from tito.author import leaks, release
from tito.errors import TitoError
from tito.lesson import course, lesson_format, notebook

REPOSITORY = Path(__file__).resolve().parents[3]
MISTAKES = """\
# %% double mistake squares: Squares the number because two is its own double.
#> did you square?
#- twice = x + x
twice = x ** len('ab')

# %% double right: Multiplies instead of adding, which is as good.
return 2.0 * x * len('abc') / 3
"""


@pytest.fixture
def released(small_course, tmp_path):
    """A release of the small course with a recorded mistake."""
    (small_course.path / "modules/source/01_numbers/mistakes.py").write_text(
        MISTAKES, encoding="utf-8"
    )
    return release.release(small_course, tmp_path / "release").path


def files_of(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def everything_in(folder):
    """(path, text) of every file, what a zip holds unpacked, a notebook's strings as a reader sees
    them.
    """
    for name, data in files_of(folder).items():
        if name.endswith(".whl"):
            with zipfile.ZipFile(folder / name) as held:
                yield from (
                    (f"{name}/{one}", held.read(one).decode("utf-8", "replace"))
                    for one in held.namelist()
                )
        elif name.endswith(".ipynb"):
            yield name, "\n".join("".join(cell["source"]) for cell in json.loads(data)["cells"])
        else:
            yield name, data.decode("utf-8", "replace")


@pytest.mark.parametrize(
    "secret",
    [
        "twice = x + x",
        "return double(x) + x",
        "sum(double(n) for n in numbers)",
        "test_total_of_nothing_is_zero",
        "secret",
        "two is its own double",
        "len('ab')",
        "Multiplies instead of adding",
        "len('abc')",
        "#> did you",
        "#- twice",
    ],
)
def test_no_solution_hidden_check_or_mistake_is_in_any_file(released, secret):
    texts = dict(everything_in(released))
    assert "modules/source/02_sums/sums_dev.ipynb" in texts and any(
        name.endswith("tito/course/modules/source/02_sums/sums_dev.py") for name in texts
    )
    assert [
        name
        for name, text in texts.items()
        if secret in text and "/tito/" not in name.replace("/tito/course/", "")
    ] == []


@pytest.mark.slow
def test_no_solution_of_the_real_course_is_in_its_release(tmp_path):
    root = course.open_root(REPOSITORY)
    folder = release.release(root, tmp_path / "release").path
    texts = {
        name: text
        for name, text in everything_in(folder)
        if "/tito/" not in name or "/tito/course/" in name
    }
    for entry in root.lessons:
        for exercise in entry.declared.exercises:
            body = re.search(
                r"### BEGIN SOLUTION\n(.*?)\n *### END SOLUTION", exercise.cell.source, re.S
            ).group(1)
            assert [name for name, text in texts.items() if body in text] == [], exercise.id
        samples = [question.sample for question in entry.declared.questions]
        lines = [line for line in "\n".join(samples).split("\n") if len(line) > 40]
        assert [(name, one) for name, text in texts.items() for one in lines if one in text] == []
        hidden = [check.function for check in entry.declared.checks if check.hidden]
        assert [(name, one) for name, text in texts.items() for one in hidden if one in text] == []
    assert len(texts) > 40


def test_a_release_is_a_workspace_whose_lessons_all_fail_and_run(released):
    assert "next: tito start numbers" in tito(released)[0]
    out, _ = tito(released, "test", "--all", "--json", code=1)
    assert [(one["lesson"], one["points"], one["verdict"]) for one in json.loads(out)] == [
        ("numbers", 0, "stub"),
        ("sums", 0, "stub"),
    ]


@pytest.mark.slow
def test_two_releases_are_the_same_bytes_whatever_clock_locale_hash_seed_and_path(
    small_course, tmp_path
):
    make = (
        "from pathlib import Path; from tito.lesson import course; from tito.author import release;"
        " import sys; release.release(course.open_root(Path(sys.argv[1])), Path(sys.argv[2]))"
    )
    found = []
    for name, environment in (
        ("one", {"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo", "LC_ALL": "C"}),
        (
            "an other/größer",
            {
                "PYTHONHASHSEED": "2",
                "TZ": "America/Lima",
                "LC_ALL": "C.UTF-8",
                "SOURCE_DATE_EPOCH": "1",
            },
        ),
    ):
        copy = tmp_path / f"course of {len(name)}"
        shutil.copytree(small_course.path, copy)
        subprocess.run(
            [sys.executable, "-X", "utf8", "-c", make, copy, tmp_path / name],
            check=True,
            env=os.environ | environment,
        )
        found.append(files_of(tmp_path / name))
    assert found[0] == found[1] and len(found[0]) > 20


def test_a_notebook_of_a_release_may_be_edited_first(released):
    """Script and notebook are known to agree, so the one that is edited counts."""
    entry = course.open_root(released).lesson("numbers")
    book = json.loads(entry.notebook.read_text(encoding="utf-8"))
    cell = next(cell for cell in book["cells"] if cell["id"] == "numbers-double")
    cell["source"] = "".join(cell["source"]).replace(
        'raise NotImplementedError("yours to write: ', 'return x + x  # ("'
    )
    entry.notebook.write_text(json.dumps(book), encoding="utf-8")
    out, _ = tito(released, "test", "numbers", code=1)
    assert "4 of 5 points" in out and "return x + x" in entry.script.read_text(encoding="utf-8")


def test_what_testing_writes_is_nothing_that_git_would_hand_on(released):
    """Otherwise learners who ran tito would have a conflict with the next release."""
    for words in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *words], cwd=released, check=True)
    tito(released, "test", "numbers", code=1)
    found = subprocess.run(
        ["git", "status", "--porcelain", "-uall"], cwd=released, capture_output=True, text=True
    ).stdout
    changed = {line[3:] for line in found.splitlines() if not line.startswith("A ")}
    assert changed <= {"tinytorch/core/numbers.py"}, found


def test_only_the_lessons_asked_for_are_released_and_never_without_what_they_need(
    small_course, tmp_path
):
    out, _ = tito(small_course, "release", tmp_path / "first", "numbers")
    assert "1 lesson (numbers)" in out
    assert [
        name
        for name, text in everything_in(tmp_path / "first")
        if "sums_dev" in name or "total" in name
    ] == []
    _, err = tito(small_course, "release", tmp_path / "second", "sums", code=2)
    assert "needs numbers" in err and not (tmp_path / "second").exists()
    assert "Release what they need with them: numbers sums" in err


def test_a_line_that_a_later_lesson_shows_in_the_open_is_no_secret(small_course):
    numbers, sums = small_course.lessons
    line = "for number in range(first_number, last_number):"
    numbers.script.with_name("mistakes.py").write_text(
        f"# %% double mistake: Counts.\n#> did you square?\n{line}\n    x += 1\nreturn x\n",
        encoding="utf-8",
    )
    reopened = course.open_root(small_course.path)
    assert line in leaks.secrets(reopened)
    text = sums.script.read_text(encoding="utf-8")
    sums.script.write_text(text + f"\n# %%\n{line}\n    print(number)\n", encoding="utf-8")
    reopened = course.open_root(small_course.path)
    assert line not in leaks.secrets(reopened)


# Bringing it up to date


@pytest.mark.slow
def test_a_release_is_brought_up_to_date_and_what_was_changed_by_hand_is_reported_and_saved(
    small_course, released
):
    (released / "README.md").write_text("# Our class\n", encoding="utf-8")
    (released / "syllabus.md").write_text("Monday\n", encoding="utf-8")
    script = small_course.path / "modules/source/01_numbers/numbers_dev.py"
    script.write_text(
        script.read_text(encoding="utf-8").replace("größer", "viel größer"), encoding="utf-8"
    )
    out, err = tito(small_course, "release", released)
    assert err.count("had been edited") == 1 and "README.md had been edited" in err
    (backup,) = (released / ".tito/backups").iterdir()
    assert (
        str(backup) in out
        and (backup / "files/README.md").read_text(encoding="utf-8") == "# Our class\n"
    )
    assert "viel größer" in (released / "modules/source/01_numbers/numbers_dev.py").read_text(
        encoding="utf-8"
    )
    assert (released / "syllabus.md").read_text(
        encoding="utf-8"
    ) == "Monday\n" and "# My Small" in (released / "README.md").read_text(encoding="utf-8")
    fresh = files_of(
        release.release(course.open_root(small_course.path), released.with_name("fresh")).path
    )
    assert {
        name: data
        for name, data in files_of(released).items()
        if not name.startswith((".tito/backups", "syllabus"))
    } == fresh


def test_a_lesson_that_is_released_no_more_goes(small_course, released):
    tito(small_course, "release", released, "numbers")
    assert [name for name in files_of(released) if "02_sums" in name] == []


@pytest.mark.slow
def test_a_release_writes_and_deletes_in_its_folder_only(small_course, released, tmp_path):
    """Others may have written into it: its list is a file, and it may hold links."""
    kept = tmp_path / "kept.txt"
    kept.write_bytes(b"kept")
    note = json.loads((released / release.NOTE).read_text(encoding="utf-8"))
    note["files"]["../kept.txt"] = release.sha256(b"kept")
    (released / release.NOTE).write_text(json.dumps(note), encoding="utf-8")
    release.release(small_course, released)
    assert kept.read_bytes() == b"kept"
    (released / "modules").rename(tmp_path / "elsewhere")
    (released / "modules").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TitoError, match="leads out of"):
        release.release(small_course, released)


def test_a_new_git_repository_is_a_new_folder(small_course, tmp_path):
    (tmp_path / "release/.git").mkdir(parents=True)
    (tmp_path / "release/.git/config").write_text("mine", encoding="utf-8")
    out = release.release(small_course, tmp_path / "release")
    assert (
        (out.path / "tito.toml").exists()
        and (out.path / ".git/config").read_text(encoding="utf-8") == "mine"
        and out.by_hand == []
    )


@pytest.mark.slow
def test_interrupted_anywhere_a_release_is_completed_by_the_next(
    small_course, released, monkeypatch
):
    edit(small_course.lesson("numbers"), "LIMIT = 10", "LIMIT = 11")
    root = course.open_root(small_course.path)
    wanted = files_of(release.release(root, released.with_name("fresh")).path)
    put, done = release.write_file, []

    def stops(path, name, data):
        if released in path.parents:
            if len(done) == 2:
                raise KeyboardInterrupt
            done.append(name)
        put(path, name, data)

    monkeypatch.setattr(release, "write_file", stops)
    with pytest.raises(KeyboardInterrupt):
        release.release(root, released)
    monkeypatch.setattr(release, "write_file", put)
    assert files_of(released) != wanted
    out = release.release(root, released)
    assert (
        files_of(released) == wanted
        and out.by_hand == []
        and [p.name for p in released.parent.iterdir() if "tmp" in p.name] == []
    )


@pytest.mark.parametrize(
    ("there", "said"),
    [("tito.toml", "is a course"), ("notes.txt", "is not a release"), (None, "is a file")],
)
def test_any_other_folder_is_refused_and_untouched(small_course, tmp_path, there, said):
    folder = tmp_path / "other"
    if there == "tito.toml":
        make_course(folder)
    elif there:
        folder.mkdir()
        (folder / there).write_text("mine", encoding="utf-8")
    else:
        folder.write_text("mine", encoding="utf-8")
    before = files_of(folder) if folder.is_dir() else folder.read_bytes()
    assert said in tito(small_course, "release", folder, code=2)[1]
    assert (files_of(folder) if folder.is_dir() else folder.read_bytes()) == before


def test_a_learners_workspace_is_no_release(small_course, small_workspace):
    before = files_of(small_workspace.path)
    assert (
        "is a workspace, not a release"
        in tito(small_course, "release", small_workspace.path, code=2)[1]
    )
    assert files_of(small_workspace.path) == before
    assert (
        "nothing to release"
        in tito(small_workspace, "release", small_workspace.path.with_name("new"), code=2)[1]
    )


# What gives something away


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ("tinytorch/extra.py", "def total(numbers):\n    return sum(double(n) for n in numbers)\n"),
        ("tests/conftest.py", "# hidden: test_total_of_nothing_is_zero\n"),
        ("LICENSE", "Squares the number because two is its own double.\n"),
        ("tinytorch/__init__.py", "#- twice = x + x\n"),
    ],
)
def test_whatever_gives_something_away_stops_the_release_and_leaves_nothing(
    small_course, tmp_path, where, text
):
    (small_course.path / "modules/source/01_numbers/mistakes.py").write_text(
        MISTAKES, encoding="utf-8"
    )
    (small_course.path / where).parent.mkdir(exist_ok=True)
    (small_course.path / where).write_text(text, encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    _, err = tito(small_course, "release", tmp_path / "release", code=3)
    assert where in err and "would give away" in err and sorted(tmp_path.iterdir()) == before


def test_a_long_line_of_a_hidden_check_in_the_packages_own_modules_is_found(small_course, tmp_path):
    secret = 'assert total([]) == 0, f"the total of nothing is 0, yours is {total([])}"'
    checks = small_course.lesson("sums").script.with_name("checks.py")
    lines = checks.read_text(encoding="utf-8").split("\n")
    place = next(n for n, line in enumerate(lines) if "test_total_of_nothing" in line)
    lines.insert(place + 1, f"    {secret}")
    checks.write_text("\n".join(lines), encoding="utf-8")
    path = small_course.path / "tinytorch" / "extra.py"
    path.write_text(f"def again(total):\n    {secret}\n", encoding="utf-8")
    _, err = tito(small_course, "release", tmp_path / "release", code=3)
    assert "tinytorch/extra.py would give away a line of a solution or a hidden check" in err


HELPER = """\
# %% setup
from math import fsum


# The truth.
def doubled_sum_by_hand(numbers):
    return fsum(2 * number for number in numbers)


# %% total points"""


def with_helper(root):
    """The course, with a helper of which one hidden check makes use."""
    path = root.lesson("sums").script.with_name("checks.py")
    text = path.read_text(encoding="utf-8").replace("# %% total points", HELPER)
    text = text.replace("assert total([2]) == 4", "assert total([2]) == doubled_sum_by_hand([2])")
    path.write_text(text, encoding="utf-8")
    return course.open_root(root.path)


def test_what_only_a_hidden_check_needs_is_in_no_file_of_a_release(small_course, tmp_path):
    folder = release.release(with_helper(small_course), tmp_path / "release").path
    texts = dict(everything_in(folder))
    assert sum(name.endswith("02_sums/checks.py") for name in texts) == 3  # one in the wheel
    assert [
        n for n, text in texts.items() if "doubled_sum_by_hand" in text or "The truth." in text
    ] == []


@pytest.mark.parametrize("place", ["release", "course"])
def test_a_release_with_a_helper_of_hidden_checks_is_refused(
    small_course, tmp_path, monkeypatch, place
):
    """It is found in what is released, whatever put it there, and whatever its name."""
    root = with_helper(small_course)
    text = root.lesson("sums").declared.checks_source.text.replace("doubled_sum_by_hand", "hand")
    if place == "release":
        visible = text[: text.index("# %% total hidden")]
        monkeypatch.setattr(lesson_format.Lesson, "released_checks", visible)
        where = "checks.py"
    else:
        (root.path / "LICENSE").write_text("see doubled_sum_by_hand(numbers)\n", encoding="utf-8")
        where = "LICENSE"
    with pytest.raises(TitoError, match=f"{where} would give away the name of a helper"):
        release.release(root, tmp_path / "release")
    assert not (tmp_path / "release").exists()


def test_a_short_line_of_the_package_that_is_also_in_a_longer_solution_is_no_secret(
    small_course, tmp_path
):
    """`twice = x + x` is one of the two lines of `double`; all of a solution is more than half."""
    path = small_course.path / "tinytorch" / "extra.py"
    path.write_text("def again(x):\n    twice = x + x\n    return [twice]\n", encoding="utf-8")
    release.release(small_course, tmp_path / "release")
    path.write_text("def again(x):\n    twice = x + x\n    return twice\n", encoding="utf-8")
    _, err = tito(small_course, "release", tmp_path / "other", code=3)
    assert "tinytorch/extra.py would give away a line of a solution" in err


def test_a_solution_in_the_prose_of_a_lesson_is_open(small_course, tmp_path):
    """A last hint may be nearly the answer: what learners read is no secret."""
    hints = small_course.lesson("numbers").script.with_name("hints.md")
    text = hints.read_text(encoding="utf-8").replace("Use `double`.", "`return double(x) + x`")
    hints.write_text(text, encoding="utf-8")
    release.release(course.open_root(small_course.path), tmp_path / "release")
    book = course.open_root(tmp_path / "release").lesson("numbers").notebook
    assert "`return double(x) + x`" in book.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["text", "notebook", "zip"])
def test_a_solution_next_to_the_lessons_is_found_before_anything_is_written(
    small_course, released, kind
):
    solved = small_course.lesson("sums").script.read_text(encoding="utf-8")
    if kind == "zip":
        (released / "more.zip").write_bytes(
            files.archive({"a/sums.py": solved.encode()}, zipfile.ZIP_DEFLATED)
        )
    else:
        (released / f"answers.{'ipynb' if kind == 'notebook' else 'txt'}").write_text(
            (
                notebook.to_notebook(solved, small_course.lesson("sums").declared)
                if kind == "notebook"
                else solved
            ),
            encoding="utf-8",
        )
    edit(small_course.lesson("numbers"), "LIMIT = 10", "LIMIT = 11")
    before = files_of(released)
    with pytest.raises(TitoError, match="would give away") as error:
        release.release(course.open_root(small_course.path), released)
    assert error.value.code == 3 and files_of(released) == before


# What learners do with it


def run(*words, cwd, code=0, **variables):
    done = subprocess.run(
        words,
        cwd=cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        timeout=120,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout, done.stderr


@pytest.mark.slow
def test_with_only_python_there_a_release_installs_its_own_tito_and_tests(machine, tmp_path):
    """Also what needs the course: a new workspace, and `skip`, which says that there are no
    solutions.
    """
    out, err = run("bin/tito", "test", "numbers", cwd=machine, code=1)
    assert "Nothing is written yet" in out and "setting up" in err
    where, _ = run(
        ".venv/bin/python",
        "-c",
        "import tito, tinytorch; print(tito.__file__); print(tinytorch.__file__)",
        cwd=machine,
    )
    assert [Path(line).is_relative_to(machine) for line in where.split("\n")[:2]] == [True, True]
    _, err = run("bin/tito", "skip", "numbers", cwd=machine, code=2)
    assert "Only the course can change numbers" in err and "instructor" in err
    assert "tito skip" not in run("bin/tito", "start", "sums", cwd=machine)[0]
    run("bin/tito", "init", tmp_path / "mine", cwd=machine)
    assert files_of(tmp_path / "mine/modules") == {
        name: data for name, data in files_of(machine / "modules").items() if name.endswith(".py")
    }


@pytest.mark.parametrize("name", ["binder/postBuild", "binder/start", "bin/tito", "bin/setup"])
def test_the_programs_of_a_release_can_be_run_and_are_shell(released, name):
    assert stat.S_IMODE((released / name).stat().st_mode) == 0o755
    subprocess.run(["bash", "-n", released / name], check=True)


@pytest.mark.slow
def test_a_codespace_of_a_release_has_tito_and_the_extra_for_notebooks(machine):
    container = devcontainer(machine)
    run("sh", "-c", container["postCreateCommand"], cwd=machine)
    assert "notebook" in (machine / ".venv/tito-ready").read_text(encoding="utf-8")
    places = container["remoteEnv"]["PATH"].replace("${containerWorkspaceFolder}", str(machine))
    path = places.replace("${containerEnv:PATH}", "/usr/bin:/bin")
    assert "next: tito start numbers" in run("tito", "status", cwd=machine, PATH=path)[0]


def test_a_codespace_of_the_course_is_set_up_in_the_same_way_and_gets_a_workspace(
    released, small_course
):
    mine, theirs = devcontainer(REPOSITORY), devcontainer(released)
    setup, init = mine.pop("postCreateCommand").split(" && ")
    assert setup == theirs.pop("postCreateCommand") and mine == theirs
    assert init == "bin/tito init my-tinytorch"
    assert "/my-tinytorch/" in (REPOSITORY / ".gitignore").read_text(encoding="utf-8").split()
    tito(small_course, *init.split()[1:])
    assert (small_course.path / "my-tinytorch/tito.toml").exists()


def devcontainer(folder):
    return json.loads((folder / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))


def test_binder_opens_jupyterlab_on_the_first_lesson_and_says_that_the_session_ends(
    released, tmp_path
):
    """postBuild with a `python` that only notes what it is asked; start with a command of its
    own.
    """
    (tmp_path / "python").write_text(
        f'#!/bin/sh\necho "$@" >"{tmp_path}/asked"\n', encoding="utf-8"
    )
    (tmp_path / "python").chmod(0o755)
    run("binder/postBuild", cwd=released, PATH=f"{tmp_path}:/usr/bin:/bin", HOME=str(tmp_path))
    assert re.search(
        r"pip install .*/bin/tinytorch-\S+\.whl\[notebook\]",
        (tmp_path / "asked").read_text(encoding="utf-8"),
    )
    url = json.loads(
        (tmp_path / ".jupyter/jupyter_server_config.json").read_text(encoding="utf-8")
    )["ServerApp"]["default_url"]
    assert (
        url == "/lab/tree/modules/source/01_numbers/numbers_dev.ipynb"
        and (released / url.removeprefix("/lab/tree/")).exists()
    )
    out, err = run("binder/start", "echo", "jupyter lab", cwd=released, HOME=str(tmp_path))
    assert out == "jupyter lab\n" and "tito submit" in err and "tito restore" in err
    assert err.strip() in (tmp_path / ".jupyter/custom/custom.css").read_text(encoding="utf-8")


def test_the_readme_of_a_release_names_commands_and_files_that_exist(released):
    text = (released / "README.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"`(?:bin/)?tito (\w+)", text)) | set(
        re.findall(r"^    tito (\w+)", text, re.M)
    )
    listed = tito(released, "--help")[0]
    assert len(shown) >= 9 and [word for word in shown if f" {word} " not in listed] == []
    files = re.findall(r"(?:bin|modules)/[\w./-]+\w", text)
    assert len(files) >= 4 and [name for name in files if not (released / name).exists()] == []


def test_a_lesson_where_the_folder_should_be_is_reported(small_course):
    """Else `tito release numbers` would write all lessons into a folder `numbers`."""
    _, err = tito(small_course, "release", "numbers", "sums", code=2)
    assert "tito release ../my-course-release numbers" in err
    assert not (small_course.path / "numbers").exists()


@pytest.mark.slow
def test_a_sample_answer_is_in_no_byte_of_a_release(small_course, tmp_path):
    chapter = small_course.path / "modules/source/01_numbers/numbers_dev.py"
    said = "Because two times two is four."
    chapter.write_text(with_question().replace("# Because\n", f"# {said}\n"), encoding="utf-8")
    root = course.open_root(small_course.path)
    released = release.release(root, tmp_path / "release").path
    assert not [name for name, text in everything_in(released) if said in text]
    (small_course.path / "LICENSE").write_text(said, encoding="utf-8")
    with pytest.raises(TitoError, match="give away a line of a solution"):
        release.release(course.open_root(small_course.path), tmp_path / "other")

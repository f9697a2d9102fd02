"""The lessons in the browser: what the site holds, what it says where NumPy or Python is not at
hand, what happens there.

Pyodide itself comes from no package index for Python. What has to run in it runs here in a plain
Python without any library, and, when the
variable TITO_PYODIDE names an unpacked distribution, in the real one in a real browser.
"""

import contextlib
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import zipfile
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from small_course import make_course

pytest.importorskip(
    "myst_nb", reason="the book is made with Sphinx and myst-nb: they are in the extra `book`"
)
pytest.importorskip(
    "jupyterlite_pyodide_kernel", reason="JupyterLite is not installed: it is in the extra `lite`"
)

from tito.author import leaks
from tito.book import build as book  # noqa: E402
from tito.book import lite  # noqa: E402
from tito.errors import TitoError  # noqa: E402
from tito.learn import workspace
from tito.lesson import course, site_settings
from tito.lesson.lesson_format import stub

REPOSITORY = Path(__file__).resolve().parents[2]
NUMBERS, SUMS = "01_numbers/numbers_dev.ipynb", "02_sums/sums_dev.ipynb"
DOUBLE = f"    {stub('numbers', 'double')}"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A course whose lessons need NumPy."""
    return course.open_root(make_course(tmp_path_factory.mktemp("lite") / "course"))


@pytest.fixture(scope="module")
def plain_root(tmp_path_factory):
    """A course whose lessons need Python alone."""
    folder = make_course(tmp_path_factory.mktemp("plain") / "course")
    lesson = folder / "modules" / "source" / "01_numbers"
    for name, old, new in (
        ("numbers_dev.py", "import numpy as np\n", ""),
        ("checks.py", "import numpy as np\n", ""),
        ("checks.py", "np.array([1, 3])", "3"),
        ("checks.py", "np.array_equal(got, [2, 6])", "got == 6"),
    ):
        text = (lesson / name).read_text(encoding="utf-8")
        assert old in text
        (lesson / name).write_text(text.replace(old, new), encoding="utf-8")
    return course.open_root(folder)


PACKAGES = {
    "micropip": [],
    "ipython": ["prompt_toolkit"],
    "prompt-toolkit": [],
    "jedi": [],
    "packaging": [],
    "numpy": [],
    "scipy": ["numpy"],
}


def distribution(folder, *lacking):
    """A folder laid out as an unpacked Pyodide; `lacking` packages are in its list and not
    there."""
    folder.mkdir()
    for name in (*lite.CORE, "pyodide.asm.mjs"):
        (folder / name).write_text(name, encoding="utf-8")
    packages = {
        name: {
            "name": name,
            "version": "1.0",
            "file_name": f"{name}-1.0-py3-none-any.whl",
            "sha256": hashlib.sha256(name.encode()).hexdigest(),
            "install_dir": "site",
            "package_type": "package",
            "imports": [name],
            "depends": depends,
        }
        for name, depends in PACKAGES.items()
    }
    for name, one in packages.items():
        if name not in lacking:
            (folder / one["file_name"]).write_text(f"the wheel of {name}", encoding="utf-8")
    (folder / "pyodide-lock.json").write_text(
        json.dumps({"info": {"python": f"{lite.python()}.2"}, "packages": packages}),
        encoding="utf-8",
    )
    return folder


def tito(folder, *words):
    return subprocess.run(
        [sys.executable, "-m", "tito", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=240,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def made(root, name, *words):
    """What the command makes, and what it says on standard error."""
    done = tito(root.path, "book", "build", "--lite", "--fast", "--output", name, *words)
    assert done.returncode == 0 and f"{name}/index.html: the learner's edition" in done.stdout, (
        done.stderr
    )
    return SimpleNamespace(path=root.path / name, said=done.stderr)


@pytest.fixture(scope="module")
def without_python(root):
    return made(root, "without")


@pytest.fixture(scope="module")
def with_python(root, tmp_path_factory):
    return made(
        root, "with", "--pyodide", str(distribution(tmp_path_factory.mktemp("all") / "pyodide"))
    )


def notebook(built, name):
    return json.loads((built.path / "lite" / "files" / name).read_text(encoding="utf-8"))


def first_words(built, name):
    return "".join(notebook(built, name)["cells"][0]["source"])


# What it says.


@pytest.mark.slow
def test_without_a_python_the_site_is_made_and_says_so(without_python):
    assert (
        "No Python is at hand for the lessons in the browser, and no NumPy" in without_python.said
    )
    assert "**No Python is at hand here**, and no NumPy" in first_words(without_python, SUMS)
    assert not any(
        "browser" in "".join(cell["source"]) for cell in notebook(without_python, SUMS)["cells"][1:]
    )
    assert not (without_python.path / "lite" / "files" / lite.WORK).exists()


def test_without_numpy_the_build_and_every_notebook_say_so(root, tmp_path):
    found = lite.runtime(root, distribution(tmp_path / "pyodide", "numpy"))
    assert lite.warning(found).startswith("NumPy is not at hand for the lessons in the browser")
    assert all(
        "**NumPy is not at hand here**" in lite.words(entry, found) for entry in root.lessons
    )
    assert "numpy" not in found.packages and "micropip" in found.packages


def test_with_an_address_numpy_is_loaded_from_there_as_the_list_describes_it(root, tmp_path):
    folder = distribution(tmp_path / "pyodide", "numpy")
    found = lite.runtime(root, folder, "https://example.org/full/")
    assert found.missing == [] and found.loaded == ["numpy"] and lite.warning(found) == ""
    assert found.packages["numpy"]["file_name"] == (
        "https://example.org/full/numpy-1.0-py3-none-any.whl"
    )
    assert found.packages["numpy"]["sha256"] == hashlib.sha256(b"numpy").hexdigest()
    assert not [path for path in found.files if "numpy" in path.name]
    words = lite.words(root.lessons[0], found)
    assert "NumPy is loaded from <https://example.org/full/>" in words
    assert "not at hand" not in words


def test_without_a_hash_nothing_is_loaded(root, tmp_path):
    folder = distribution(tmp_path / "pyodide", "numpy")
    lock = (folder / "pyodide-lock.json").read_text(encoding="utf-8")
    digest = hashlib.sha256(b"numpy").hexdigest()
    (folder / "pyodide-lock.json").write_text(lock.replace(digest, ""), encoding="utf-8")
    found = lite.runtime(root, folder, "https://example.org/full/")
    assert found.missing == ["numpy"] and found.loaded == []


def test_by_default_nothing_is_loaded(root, tmp_path):
    folder = distribution(tmp_path / "pyodide")
    assert not lite.runtime(root, folder).loaded
    assert "http" not in json.dumps(lite.runtime(root, folder).packages)


def test_the_front_page_s_link_says_whether_lessons_run(root, tmp_path):
    assert lite.button(None) == "Open it in the browser"
    assert lite.button(lite.runtime(root, distribution(tmp_path / "one", "numpy"))) == (
        "Open it in the browser"
    )
    assert lite.button(lite.runtime(root, distribution(tmp_path / "all"))) == (
        "Try it in the browser"
    )


@pytest.mark.slow
def test_with_numpy_nothing_is_missed(with_python):
    assert with_python.said == ""
    assert "hand" not in first_words(with_python, NUMBERS) and "your own notebooks" in first_words(
        with_python, NUMBERS
    )
    assert (
        "".join(notebook(with_python, NUMBERS)["cells"][1]["source"])
        == "from tito.learn import browser\n\nbrowser.begin('numpy')"
    )


@pytest.mark.slow
def test_every_notebook_says_that_the_browser_keeps_it_and_where_it_belongs(
    with_python, without_python
):
    for built in (with_python, without_python):
        assert "stays in this browser only" in first_words(built, SUMS)
    assert "`modules/source/02_sums/`" in first_words(without_python, SUMS)
    assert "`tito notebook sums --keep notebook`" in first_words(without_python, SUMS)
    assert f"run [{lite.WORK}](../{lite.WORK})" in first_words(with_python, SUMS)
    assert "tito restore my-tinytorch.zip" in first_words(with_python, lite.WORK)


@pytest.mark.parametrize(
    "spoil, said",
    [
        (lambda folder: (folder / "pyodide.mjs").unlink(), "there is no pyodide.mjs"),
        (
            lambda folder: (folder / "prompt-toolkit-1.0-py3-none-any.whl").unlink(),
            "lacks prompt-toolkit",
        ),
        (
            lambda folder: (folder / "pyodide-lock.json").write_text("{}"),
            "is not what Pyodide writes",
        ),
        (
            lambda folder: (folder / "pyodide-lock.json").write_text(
                '{"info": {"python": "3.9.1"}}'
            ),
            "holds Python 3.9.1",
        ),
        (shutil.rmtree, "there is no pyodide.mjs"),
    ],
    ids=["another folder", "the core alone", "a damaged list", "an old one", "no folder"],
)
def test_what_no_notebook_could_run_with_is_refused(root, tmp_path, spoil, said):
    folder = distribution(tmp_path / "pyodide")
    spoil(folder)
    with pytest.raises(TitoError) as refused:
        book.build(root, fast=True, browser=True, pyodide=folder)
    assert said in refused.value.what and lite.version() in refused.value.remedy


def test_a_python_without_the_lessons_in_the_browser_is_refused(root, tmp_path):
    with pytest.raises(TitoError, match="is for the lessons in the browser"):
        book.build(root, fast=True, pyodide=tmp_path)


def test_the_python_can_be_named_in_tito_toml(tmp_path):
    folder = make_course(tmp_path / "course")
    distribution(tmp_path / "pyodide")
    with (folder / "tito.toml").open("a", encoding="utf-8") as file:
        file.write('\n[book]\npyodide = "../pyodide"\n')
    assert site_settings.read(folder).pyodide == folder / ".." / "pyodide"
    assert "numpy" in lite.runtime(course.open_root(folder), folder / ".." / "pyodide").packages


@pytest.mark.slow
def test_when_jupyterlite_fails_its_last_words_are_told_and_the_earlier_site_stays(
    root, with_python, tmp_path, monkeypatch
):
    (tmp_path / "python").write_text(
        "#!/bin/sh\necho 'the disk is full'\nexit 1\n", encoding="utf-8"
    )
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(TitoError) as failed:
        book.build(root, fast=True, browser=True, output=with_python.path)
    assert (
        failed.value.code == 3
        and "JupyterLite did not make its part of the book:\n" in failed.value.what
        and "the disk is full" in failed.value.what
    )
    assert (with_python.path / "lite" / "notebooks" / "index.html").exists()


# What it holds.


@pytest.mark.slow
def test_of_a_distribution_only_what_is_needed_is_there_and_listed_as_it_is(with_python):
    folder = with_python.path / "lite" / "static" / "pyodide"
    packages = json.loads((folder / "pyodide-lock.json").read_text(encoding="utf-8"))["packages"]
    assert set(packages) == set(PACKAGES) - {"scipy"} | {"comm", "tinytorch"} and packages[
        "tinytorch"
    ]["depends"] == ["numpy"]
    assert all(
        hashlib.sha256((folder / one["file_name"]).read_bytes()).hexdigest() == one["sha256"]
        for one in packages.values()
    )
    assert {path.name for path in folder.iterdir()} == {
        one["file_name"] for one in packages.values()
    } | {*lite.CORE, "pyodide.asm.mjs"}


@pytest.mark.slow
def test_its_python_asks_no_other_host(with_python):
    settings = json.loads(
        (with_python.path / "lite" / "jupyter-lite.json").read_text(encoding="utf-8")
    )["jupyter-config-data"]["litePluginSettings"][lite.SETTINGS]
    assert (
        settings["pyodideUrl"] == "./static/pyodide/pyodide.mjs" and settings["disablePyPIFallback"]
    )


@pytest.mark.slow
def test_without_a_python_there_is_no_kernel_that_would_ask_for_one(without_python):
    folder = without_python.path / "lite"
    assert (
        json.loads((folder / "jupyter-lite.json").read_text(encoding="utf-8"))[
            "jupyter-config-data"
        ]["federated_extensions"]
        == []
    )
    assert not (folder / "static" / "pyodide").exists() and not (folder / "extensions").exists()


@pytest.mark.slow
def test_the_front_page_links_to_a_lesson_in_the_browser(with_python, without_python):
    for built, words in ((with_python, "Try it"), (without_python, "Open it")):
        page = (built.path / "index.html").read_text(encoding="utf-8")
        assert f'<a href="lite/notebooks/index.html?path={NUMBERS}">{words} in the browser' in page


@pytest.mark.slow
def test_each_lesson_links_to_its_notebook(with_python):
    page = (with_python.path / "lessons" / "02_sums.html").read_text(encoding="utf-8")
    assert f'href="../lite/notebooks/index.html?path={SUMS}"' in page
    listed = json.loads(
        (with_python.path / "lite" / "api" / "contents" / "02_sums" / "all.json").read_text(
            encoding="utf-8"
        )
    )
    assert [one["path"] for one in listed["content"]] == [SUMS] and (
        with_python.path / "lite" / "notebooks" / "index.html"
    ).exists()


@pytest.mark.slow
def test_a_book_without_it_holds_nothing_of_it(root, without_python, tmp_path):
    built = book.build(root, fast=True, output=tmp_path / "site")
    assert not (built.path / "lite").exists() and "lite/" not in (
        built.path / "lessons" / "02_sums.html"
    ).read_text(encoding="utf-8")
    assert "in the browser" not in (built.path / "index.html").read_text(encoding="utf-8")


def read(path):
    """All that a file tells: a notebook's cells as one reads them, a wheel's files, each once more
    if it is a notebook."""
    data = path.read_bytes()
    text = data.decode("utf-8", "replace")
    if path.suffix == ".whl" and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as held:
            inside = {name: held.read(name).decode("utf-8", "replace") for name in held.namelist()}
        return "\n".join(
            [
                *inside.values(),
                *(cells_of(one) for name, one in inside.items() if name.endswith(".ipynb")),
            ]
        )
    return text + cells_of(text) if path.suffix == ".ipynb" else text


def cells_of(text):
    return (
        "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
        if '"cells"' in text
        else ""
    )


@pytest.mark.slow
def test_no_solution_and_no_hidden_check_of_the_course_is_in_any_file(tmp_path):
    """Every line of them is looked for in every file that the course's own words can have come
    into, and markers in the rest."""
    source = course.open_root(REPOSITORY)
    lite.make(
        source,
        tmp_path / "work",
        lite.runtime(source, distribution(tmp_path / "pyodide")),
        tmp_path / "lite",
    )
    texts = {
        path.relative_to(tmp_path / "lite").as_posix(): read(path)
        for path in sorted((tmp_path / "lite").rglob("*"))
        if path.is_file() and path.parts[-2:-1] != ("build",)
    }
    assert len([name for name in texts if name.endswith("_dev.ipynb")]) == len(source.lessons)
    text = "\n".join(
        one for name, one in texts.items() if name.startswith(("files/", "api/", "static/"))
    )
    assert len(source.lessons) < text.count(" is yours to write: tito hint")
    once = "\n".join(
        dict.fromkeys(text.splitlines())
    )  # most stands there several times: as a script, a notebook, in the wheel
    secrets = leaks.secrets(source)
    # A short line that the package's own modules hold stands in a solution by chance; that these
    # modules hold no solution is the release's test.
    ours = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (source.path / source.package).rglob("*.py")
        if "core" not in path.parts
    )
    search = leaks.TextSearch(secrets)
    leaked = search.find_in(once) - search.find_in(ours)
    assert len(secrets) > 1000 and leaked == set()


@pytest.mark.slow
def test_no_line_of_a_solution_and_no_mark_of_one_is_in_a_notebook(root, with_python):
    for entry in root.lessons:
        text = read(with_python.path / "lite" / "files" / entry.folder / entry.notebook.name)
        lines = {line.strip() for line in text.splitlines()}
        assert (
            leaks.secret_lines(entry.declared) & lines == set()
            and "### BEGIN" not in text
            and "test_total_of_nothing" not in text
        )


@pytest.fixture
def laid_out(monkeypatch):
    """Without JupyterLite's own program, which takes seconds: what it is given is what comes
    out."""
    monkeypatch.setattr(
        lite, "_jupyterlite", lambda given, made, with_kernel: shutil.copytree(given, made)
    )


@pytest.mark.slow
def test_a_notebook_that_gives_something_away_is_no_book(root, tmp_path, monkeypatch, laid_out):
    monkeypatch.setattr(
        lite, "words", lambda entry, found: "Write `return sum(double(n) for n in numbers)`."
    )
    with pytest.raises(TitoError) as refused:
        book.build(root, fast=True, browser=True, output=tmp_path / "site")
    assert (
        refused.value.code == 3
        and refused.value.what.startswith("lite/files/")
        and not (tmp_path / "site").exists()
    )


@pytest.mark.slow
def test_a_wheel_that_gives_something_away_is_no_book(root, tmp_path, monkeypatch, laid_out):
    name, data = lite.lessons(root)
    monkeypatch.setattr(
        lite, "lessons", lambda root: (name, data + b"\nreturn sum(double(n) for n in numbers)\n")
    )
    with pytest.raises(TitoError, match="lite/static/pyodide/tinytorch"):
        book.build(
            root,
            fast=True,
            browser=True,
            pyodide=distribution(tmp_path / "pyodide"),
            output=tmp_path / "site",
        )


# What happens there.


@pytest.fixture
def drive(plain_root, tmp_path):
    """A folder as a notebook's Python sees it in the browser, and a function that runs code beside
    it, with what the site's wheel holds and no library."""
    _, data = lite.lessons(plain_root)
    (tmp_path / "tito.whl").write_bytes(data)
    with zipfile.ZipFile(tmp_path / "tito.whl") as held:
        held.extractall(tmp_path / "python")
    folder = tmp_path / "drive"
    for entry in plain_root.lessons:
        (folder / entry.folder).mkdir(parents=True)
        (folder / entry.folder / entry.notebook.name).write_text(
            lite.page(entry, lite.Runtime()), encoding="utf-8"
        )

    def run(*lines):
        program = [
            "import sys",
            f"sys.path.insert(0, {str(tmp_path / 'python')!r})",
            "from pathlib import Path",
            "from tito.learn import browser",
            f"begin = lambda *names: browser.begin(*names, drive=Path({str(folder)!r}), "
            f"inside=True)",
            "begin()",
            *lines,
        ]
        return subprocess.run(
            [sys.executable, "-I", "-S", "-c", "\n".join(program)],
            cwd=folder / "02_sums",
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    return SimpleNamespace(folder=folder, run=run)


def write(folder, name, old, new):
    """Put `new` for `old` into a saved notebook."""
    saved = json.loads((folder / name).read_text(encoding="utf-8"))
    [cell] = [cell for cell in saved["cells"] if old in "".join(cell["source"])]
    cell["source"] = "".join(cell["source"]).replace(old, new)
    (folder / name).write_text(json.dumps(saved), encoding="utf-8")


def test_an_earlier_lesson_that_is_not_written_says_so(drive):
    done = drive.run("from tinytorch.core.numbers import double", "double(2)")
    assert done.stderr.splitlines()[-1].startswith(
        "NotImplementedError: exercise numbers-double is yours to write"
    )


def test_an_earlier_lesson_is_what_its_notebook_holds(drive):
    write(drive.folder, NUMBERS, DOUBLE, "    return x + x")
    done = drive.run(
        "from tinytorch.core.numbers import double", "print(double(21), double.__module__)"
    )
    assert done.stdout == "42 tinytorch.core.numbers\n", done.stderr


def test_begun_again_what_was_saved_meanwhile_counts(drive):
    write(drive.folder, NUMBERS, DOUBLE, "    return x * x")
    notebook_ = drive.folder / NUMBERS
    done = drive.run(
        "from tinytorch.core.numbers import double",
        "print(double(3))",
        f"path = Path({str(notebook_)!r})",
        "path.write_text(path.read_text().replace('x * x', 'x + x'))",
        "begin()",
        "from tinytorch.core.numbers import double",
        "print(double(3))",
    )
    assert done.stdout.split() == ["9", "6"], done.stderr


def test_a_syntax_error_in_an_earlier_lesson_is_told_with_its_cell(drive):
    write(drive.folder, NUMBERS, DOUBLE, "    return x +")
    last = drive.run("import tinytorch.core.numbers").stderr.splitlines()[-1]
    assert last.startswith(
        "ImportError: 01_numbers/numbers_dev.ipynb cell 8:8: syntax error: invalid syntax: "
        "return x +"
    )


def test_a_notebook_that_is_not_there_is_told(drive):
    (drive.folder / NUMBERS).unlink()
    assert (
        "ImportError: Your notebook 01_numbers/numbers_dev.ipynb cannot be read from here."
        in drive.run("import tinytorch.core.numbers").stderr
    )


def test_a_library_that_is_not_at_hand_is_told(drive):
    done = drive.run("begin('math', 'numpy')")
    assert (
        done.stdout.startswith("Not at hand in this browser's Python: numpy. ")
        and done.returncode == 0
    )


def test_outside_a_browser_the_first_cell_changes_nothing():
    before = list(sys.meta_path)
    from tito.learn import browser

    browser.begin("no_such_library")
    assert sys.meta_path == before


def test_which_checks_passed_is_still_known_when_the_page_is_loaded_again(drive):
    done = drive.run(
        "def total(numbers): return sum(numbers) * 2",
        "check('total')",
        "def total(numbers): return 5",
        "browser.progress()",
    )
    assert done.stdout == "02 sums                 1 of 1 exercises\n", done.stderr
    assert drive.run().stdout == "The checks of 1 of 1 exercises have passed here so far.\n"
    assert "should be 6" in drive.run("def total(numbers): return 5", "check('total')").stderr
    assert drive.run("browser.progress()").stdout == "No lesson has been begun here.\n"


def test_a_damaged_record_of_checks_is_begun_anew(drive):
    (drive.folder / "passed.json").write_text("[", encoding="utf-8")
    done = drive.run("def total(numbers): return sum(numbers) * 2", "check('total')", "begin()")
    assert done.stdout == "The checks of 1 of 1 exercises have passed here so far.\n", done.stderr


def test_a_thread_missed_before_a_check_hides_nothing_that_is_wrong(drive):
    done = drive.run(
        "import _thread, threading",
        'def refuse(*words, **more): raise RuntimeError("can\'t start new thread")',
        "threading._start_new_thread = threading._start_joinable_thread = refuse",
        "try:",
        "    threading.Thread(target=print).start()  # a demonstration that needs one",
        "except RuntimeError:",
        "    pass",
        "def total(numbers): return 5",
        "check('total')",
    )
    assert "should be 6, yours is 5" in done.stderr and "not run here" not in done.stdout


def test_a_check_that_needs_threads_is_not_run_and_says_so(drive):
    """A browser's Python has none; what else the checks find is told."""
    done = drive.run(
        "import _thread, threading",
        'def refuse(*words, **more): raise RuntimeError("can\'t start new thread")',
        "threading._start_new_thread = threading._start_joinable_thread = refuse",
        "def total(numbers):",
        "    thread = threading.Thread(target=print)",
        "    thread.start()",
        "check('total')",
        "browser.progress()",
        "def total(numbers): return 5",
        "check('total')",
    )
    assert done.stdout == (
        'check("total"): not run here, because a browser\'s Python has no threads: total doubles '
        "every number. In a workspace `tito test` runs it.\nNo lesson has been begun here.\n"
    ), done.stderr
    assert "should be 6, yours is 5" in done.stderr


def test_nothing_written_is_nothing_to_export(drive):
    assert drive.run("browser.export_work()").stdout.startswith("No lesson has been begun here")
    assert not list(drive.folder.glob("*.zip"))


@pytest.mark.slow
def test_what_is_exported_from_the_browser_passes_at_home(drive, plain_root, tmp_path):
    write(drive.folder, NUMBERS, DOUBLE, "    return x + x")
    done = drive.run("browser.export_work()")
    assert done.stdout == (
        "my-tinytorch.zip holds numbers. Download it, then in a workspace: "
        "tito restore my-tinytorch.zip\n"
    ), done.stderr
    workspace.init(tmp_path / "home", plain_root)
    home = course.open_root(tmp_path / "home")
    for words, said in (
        (["restore", str(drive.folder / "my-tinytorch.zip")], "numbers"),
        (["test", "numbers"], "4 of 5 points"),
    ):
        done = tito(home.path, *words)
        assert said in done.stdout, done.stdout + done.stderr
    script = home.lesson("numbers").script.read_text(encoding="utf-8")
    assert "return x + x" in script and "browser" not in script
    assert "pyodide" not in home.lesson("numbers").notebook.read_text(encoding="utf-8").lower()


@pytest.mark.slow
def test_a_notebook_downloaded_from_the_browser_passes_at_home(root, tmp_path):
    """Solved there, downloaded, put into a workspace, and taken over with the command that the
    notebook names."""
    workspace.init(tmp_path / "home", root)
    mine = course.open_root(tmp_path / "home").lesson("numbers")
    solved = root.lesson("numbers").declared.source
    page = json.loads(lite.page(root.lesson("numbers"), None))
    for cell in page["cells"]:
        if name := cell["metadata"].get("exercise"):
            cell["source"] = solved.cell(name).source
    mine.notebook.write_text(json.dumps(page), encoding="utf-8")
    command = re.search(r"`tito ([^`]*)`", "".join(page["cells"][0]["source"])).group(1)
    for words, said in ((command.split(), ""), (["test", "numbers"], "5 of 5 points")):
        done = tito(tmp_path / "home", *words)
        assert done.returncode == 0 and said in done.stdout, done.stdout + done.stderr
    script = mine.script.read_text(encoding="utf-8")
    assert "twice = x + x" in script and "In the browser" not in script


# In a real browser.


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: it is in the extra `dev`"
    )
    with playwright.sync_playwright() as driver:
        own = driver.chromium.executable_path
        program = (
            shutil.which("chromium")
            or shutil.which("chromium-browser")
            or shutil.which("google-chrome")
            or (own if os.path.exists(own) else None)
        )
        if not program:
            pytest.skip(
                "there is no Chromium here: `playwright install chromium`, or the system's "
                "package `chromium`"
            )
        found = driver.chromium.launch(
            executable_path=program, args=["--no-sandbox"]
        )  # root, as in CI, has no sandbox
        yield found
        found.close()


@pytest.fixture
def visit(browser):
    """A function that serves a folder and gives a page there, its address, and what goes wrong:
    requests to other hosts, errors."""
    ends = []

    def go(folder):
        server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Silent, directory=folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        ends.extend([server.shutdown, server.server_close, context.close])
        address, wrong = f"http://127.0.0.1:{server.server_address[1]}/", []
        context.on(
            "request",
            lambda request: (
                request.url.startswith((address, "data:", "blob:"))
                or wrong.append(f"asks for {request.url}")
            ),
        )
        # JupyterLite names its pages' icon late: a browser may look for one where the host would
        # have it
        icon = f"{address}favicon.ico"
        context.on(
            "response",
            lambda response: (
                response.status < 400
                or response.url == icon
                or wrong.append(f"{response.url}: {response.status}")
            ),
        )
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        return page, address, wrong

    yield go
    for end in reversed(ends):
        end()


@pytest.mark.slow
def test_the_link_opens_the_notebook_and_asks_nobody_else(visit, without_python):
    page, address, wrong = visit(without_python.path)
    page.goto(f"{address}lessons/02_sums.html")
    page.get_by_role("link", name="in the browser").click()
    page.locator(".jp-Notebook h2", has_text="Look back").wait_for()  # its last cell
    shown = page.locator(".jp-Notebook").inner_text()
    assert (
        "No Python is at hand here" in shown
        and "stays in this browser only" in shown
        and "exercise sums-total is yours to write" in shown
    )
    asked = page.locator(".jp-Dialog")
    assert asked.locator("option").all_inner_texts() == [
        "No Kernel"
    ]  # JupyterLite's own question; the notebook says why
    asked.get_by_role("button", name="No Kernel").click()
    asked.wait_for(state="detached")
    assert wrong == []


def run_all(page):
    """Run the notebook that is open, and give what its cells put out. Other notebooks can be read
    from the moment in which the browser has set that up."""
    for _ in range(5):
        page.locator(".jp-NotebookPanel-toolbar, .jp-Toolbar").get_by_text(
            "Python (Pyodide)"
        ).wait_for()
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        page.wait_for_function(
            """() => {
                const prompts = [...document.querySelectorAll('.jp-InputPrompt')];
                const all = prompts.map(one => one.textContent);
                const run = all.some(one => /\\[\\d+\\]/.test(one));
                return run && !all.some(one => one.includes('*'));
            }""",
            timeout=180_000,
        )
        said = "\n".join(page.locator(".jp-OutputArea-output").all_inner_texts())
        if "run the cell again" not in said:
            break
        page.reload()
        page.locator(".jp-Notebook .jp-Cell").first.wait_for()
    return said


@pytest.mark.slow
def test_what_is_written_is_imported_in_the_next_notebook_kept_and_brought_home(
    visit, plain_root, tmp_path
):
    if not (folder := os.environ.get("TITO_PYODIDE")):
        pytest.skip(
            "no Pyodide here: name an unpacked distribution in TITO_PYODIDE, or what "
            "tests/book/get_pyodide.py puts together"
        )
    built = book.build(
        plain_root, fast=True, browser=True, pyodide=Path(folder), output=tmp_path / "site"
    )
    page, address, wrong = visit(built.path)
    from playwright.sync_api import TimeoutError  # `visit` skips where it is not

    page.set_default_timeout(120_000)  # a Python starts in here

    def open_(name):
        page.goto(f"{address}lite/notebooks/index.html?path={name}")
        page.locator(".jp-Notebook .jp-Cell").first.wait_for()

    def write_over(old, new):
        page.locator(".cm-line", has_text=old).click()
        for key in ("Home", "Shift+End"):
            page.keyboard.press(key)
        page.keyboard.type(new)
        for _ in range(8):  # the page does nothing about it while it is still getting ready
            page.keyboard.press("Control+s")
            with contextlib.suppress(TimeoutError):
                page.locator(".jp-NotebookCheckpoint", has_text="now").wait_for(timeout=15_000)
                return
        raise AssertionError("the notebook was not saved")

    open_(SUMS)
    write_over("sums-total is yours", "return sum(map(double, numbers)) + 1")
    assert 'check("total") needs exercise numbers-double, which is not written yet.' in run_all(
        page
    )
    open_(NUMBERS)
    write_over("numbers-double is yours", "return x + x")
    open_(SUMS)
    assert "total([1, 2]) should be 6, yours is 7" in run_all(page)
    write_over("return sum", "return sum(map(double, numbers))")
    assert "should be" not in run_all(page)
    page.reload()  # a new Python; what was written and what passed are still there
    page.locator(".cm-line", has_text="return sum(map(double, numbers))").first.wait_for()
    assert "The checks of 1 of 1 exercises have passed here so far." in run_all(page)
    open_(lite.WORK)
    assert "02 sums                 1 of 1 exercises" in run_all(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download my-tinytorch.zip").click()
    assert wrong == []
    download.value.save_as(tmp_path / "mine.zip")
    workspace.init(tmp_path / "home", plain_root)
    for words, said in ((["restore", "../mine.zip"], ""), (["test", "sums"], "2 of 2 points")):
        done = tito(tmp_path / "home", *words)
        assert done.returncode == 0 and said in done.stdout, done.stdout + done.stderr


class Elsewhere(Silent):
    """Another host: what it has may be asked for from any page."""

    def end_headers(self):
        self.send_header("Access-Control-Allow-Origin", "*")
        super().end_headers()


@pytest.mark.slow
def test_a_package_from_an_address_is_loaded_by_its_hash_alone(browser, plain_root, tmp_path):
    if not (folder := os.environ.get("TITO_PYODIDE")):
        pytest.skip("no Pyodide here: tests/book/get_pyodide.py puts one together")
    shutil.copytree(folder, tmp_path / "here")
    (tmp_path / "there").mkdir()
    [wheel] = (tmp_path / "here").glob("packaging-*.whl")
    right = hashlib.sha256(wheel.read_bytes()).hexdigest()  # it is not Pyodide's own build
    wheel.rename(tmp_path / "there" / wheel.name)
    servers = [
        ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(kind, directory=tmp_path / name))
        for name, kind in (("here", Silent), ("there", Elsewhere))
    ]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    here, there = (f"http://127.0.0.1:{server.server_address[1]}/" for server in servers)
    found = lite.runtime(plain_root, tmp_path / "here", there)
    assert found.loaded == ["packaging"]
    for digest, loaded in ((right, True), ("0" * 64, False)):
        found.packages["packaging"]["sha256"] = digest
        lock = {"info": found.info, "packages": found.packages}
        (tmp_path / "here" / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")
        page = browser.new_page()  # without what the one before has cached
        page.goto(f"{here}no-page.html")
        assert loaded == page.evaluate(
            """async () => {
                const { loadPyodide } = await import("/pyodide.mjs");
                const python = await loadPyodide();
                await python.loadPackage("packaging").catch(() => 0);
                return "packaging" in python.loadedPackages;
            }"""
        )
        page.close()
    for server in servers:
        server.shutdown()
        server.server_close()

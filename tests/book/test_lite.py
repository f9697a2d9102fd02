"""The lessons in the browser: what the site contains, and what happens there.

Pyodide itself comes from no package index for Python. What has to run in it runs here in a plain
Python without any library, and, when the variable TITO_PYODIDE names an unpacked distribution, in
the real one in a real browser.
"""

import contextlib
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from browsers import chromium, served
from commands import run_process
from small_course import make_course

pytest.importorskip(
    "myst_nb", reason="the book is made with Sphinx and myst-nb: they are in the extra `book`"
)
pytest.importorskip(
    "jupyterlite_pyodide_kernel", reason="JupyterLite is not installed: it is in the extra `lite`"
)

from tito.author import leaks
from tito.book import build as book  # noqa: E402
from tito.book import lite, verify_site  # noqa: E402
from tito.errors import TitoError  # noqa: E402
from tito.learn import workspace
from tito.lesson import course
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
    "matplotlib": ["numpy"],
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


@pytest.fixture(scope="module")
def with_python(root, tmp_path_factory):
    """The site that the command makes."""
    pyodide = distribution(tmp_path_factory.mktemp("all") / "pyodide")
    words = ["--lite", str(pyodide), "--fast", "--output", "with"]
    done = run_process(root, "book", "build", *words)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert "with/index.html: " in done.stdout
    return SimpleNamespace(path=root.path / "with")


def options(folder, output=None):
    pyodide = distribution(folder / "pyodide")
    return book.Options(fast=True, lite=pyodide, output=output or folder / "site")


def notebook(built, name):
    return json.loads((built.path / "lite" / "files" / name).read_text(encoding="utf-8"))


# What is refused.


@pytest.mark.parametrize(
    "spoil, said",
    [
        (lambda folder: (folder / "pyodide.mjs").unlink(), "it lacks pyodide.mjs"),
        (
            lambda folder: (folder / "prompt-toolkit-1.0-py3-none-any.whl").unlink(),
            "lacks prompt-toolkit",
        ),
        (
            lambda folder: (folder / "pyodide-lock.json").write_text("{}"),
            "is not a file of Pyodide",
        ),
        (
            lambda folder: (folder / "pyodide-lock.json").write_text(
                '{"info": {"python": "3.9.1"}}'
            ),
            "has Python 3.9.1",
        ),
        (shutil.rmtree, "it lacks pyodide.mjs"),
        (
            lambda folder: (folder / "numpy-1.0-py3-none-any.whl").unlink(),
            "lacks numpy, which the notebooks need",
        ),
    ],
    ids=["another folder", "the core", "a damaged list", "an old one", "no folder", "no NumPy"],
)
def test_what_no_notebook_could_run_with_is_refused(root, tmp_path, spoil, said):
    folder = distribution(tmp_path / "pyodide")
    spoil(folder)
    with pytest.raises(TitoError) as refused:
        book.build(root, book.Options(fast=True, lite=folder))
    assert said in refused.value.what and lite.version() in refused.value.remedy


@pytest.mark.slow
def test_a_failure_of_jupyterlite_is_reported_and_the_earlier_site_stays(
    root, with_python, tmp_path, monkeypatch
):
    (tmp_path / "python").write_text(
        "#!/bin/sh\necho 'the disk is full'\nexit 1\n", encoding="utf-8"
    )
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(TitoError) as failed:
        book.build(root, options(tmp_path, with_python.path))
    assert (
        failed.value.code == 3
        and "JupyterLite did not make its part of the book:\n" in failed.value.what
        and "the disk is full" in failed.value.what
    )
    assert (with_python.path / "lite" / "notebooks" / "index.html").exists()


# What it holds.


@pytest.mark.slow
def test_only_needed_files_of_a_distribution_are_included_and_listed(with_python):
    folder = with_python.path / "lite" / "static" / "pyodide"
    packages = json.loads((folder / "pyodide-lock.json").read_text(encoding="utf-8"))["packages"]
    assert set(packages) == set(PACKAGES) - {"scipy", "matplotlib"} | {"comm", "tinytorch"}
    assert packages["tinytorch"]["depends"] == ["numpy"]
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
def test_the_notebooks_begin_with_what_is_particular_to_the_browser(with_python):
    about, begin, *_ = ("".join(cell["source"]) for cell in notebook(with_python, SUMS)["cells"])
    assert "stays in this browser only" in about and f"run [{lite.WORK}](../{lite.WORK})" in about
    assert begin == "from tito.learn import browser\n\nbrowser.begin()"
    work = "".join(notebook(with_python, lite.WORK)["cells"][0]["source"])
    assert "tito restore my-tinytorch.zip" in work


@pytest.mark.slow
def test_the_front_page_and_each_lesson_link_to_a_notebook(with_python):
    front = (with_python.path / "index.html").read_text(encoding="utf-8")
    link = f'<a href="lite/notebooks/index.html?path={NUMBERS}">Try it in the browser</a>'
    assert link in front
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


def read(path):
    """The text of a file: the cells of a notebook, or the files of a wheel; its notebooks are also
    read as cells."""
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
    runtime = lite.find_runtime(source, distribution(tmp_path / "pyodide"))
    made = tmp_path / "site" / "lite"
    made.parent.mkdir()
    lite.make(source, tmp_path / "work", runtime, made)
    texts = {
        path.relative_to(made).as_posix(): read(path)
        for path in sorted(made.rglob("*"))
        if path.is_file() and path.parts[-2:-1] != ("build",)
    }
    assert len([name for name in texts if name.endswith("_dev.ipynb")]) == len(source.lessons)
    text = "\n".join(
        one for name, one in texts.items() if name.startswith(("files/", "api/", "static/"))
    )
    assert len(source.lessons) < text.count(" is yours to write: tito hint")
    # most lines occur several times: in the script, the notebook and the wheel
    once = "\n".join(dict.fromkeys(text.splitlines()))
    secrets = leaks.secrets(source)
    # A short line of the package's own modules may also be in a solution by chance. The test of
    # the release makes sure that these modules contain no solution.
    ours = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (source.path / source.package).rglob("*.py")
        if "core" not in path.parts
    )
    search = leaks.TextSearch(secrets)
    leaked = search.find_in(once) - search.find_in(ours)
    assert len(secrets) > 1000 and leaked == set()
    verify_site.verify(source, tmp_path / "site", {})


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
        lite, "_run_jupyterlite", lambda source, output: shutil.copytree(source, output)
    )


@pytest.mark.slow
def test_a_notebook_that_gives_something_away_is_no_book(root, tmp_path, monkeypatch, laid_out):
    page, solution = lite.page, "return sum(double(n) for n in numbers)"
    monkeypatch.setattr(lite, "page", lambda entry: page(entry).replace("In the browser", solution))
    with pytest.raises(TitoError) as refused:
        book.build(root, options(tmp_path))
    assert (
        refused.value.code == 3
        and refused.value.what.startswith("lite/files/")
        and not (tmp_path / "site").exists()
    )


@pytest.mark.slow
def test_a_wheel_that_gives_something_away_is_no_book(root, tmp_path, monkeypatch, laid_out):
    name, data = lite.lessons_wheel(root)
    wheel = io.BytesIO(data)
    with zipfile.ZipFile(wheel, "a", zipfile.ZIP_DEFLATED) as members:
        members.writestr("tito/note.txt", "return sum(double(n) for n in numbers)\n")
    monkeypatch.setattr(lite, "lessons_wheel", lambda root: (name, wheel.getvalue()))
    with pytest.raises(TitoError, match="lite/static/pyodide/tinytorch"):
        book.build(root, options(tmp_path))


# What happens there.


@pytest.fixture
def drive(plain_root, tmp_path):
    """A folder as a notebook's Python sees it in the browser, and a function that runs code beside
    it, with what the site's wheel holds and no library."""
    _, data = lite.lessons_wheel(plain_root)
    (tmp_path / "tito.whl").write_bytes(data)
    with zipfile.ZipFile(tmp_path / "tito.whl") as held:
        held.extractall(tmp_path / "python")
    folder = tmp_path / "drive"
    for entry in plain_root.lessons:
        (folder / entry.folder).mkdir(parents=True)
        (folder / entry.folder / entry.notebook.name).write_text(lite.page(entry), encoding="utf-8")

    def run(*lines):
        program = [
            "import sys",
            f"sys.path.insert(0, {str(tmp_path / 'python')!r})",
            "from pathlib import Path",
            "from tito.learn import browser",
            f"begin = lambda: browser.begin(drive=Path({str(folder)!r}), inside=True)",
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
    """Replace `old` by `new` in a saved notebook."""
    saved = json.loads((folder / name).read_text(encoding="utf-8"))
    [cell] = [cell for cell in saved["cells"] if old in "".join(cell["source"])]
    cell["source"] = "".join(cell["source"]).replace(old, new)
    (folder / name).write_text(json.dumps(saved), encoding="utf-8")


def test_an_earlier_lesson_that_is_not_written_says_so(drive):
    done = drive.run("from tinytorch.core.numbers import double", "double(2)")
    assert done.stderr.splitlines()[-1].startswith(
        "NotImplementedError: exercise numbers-double is yours to write"
    )


def test_an_earlier_lesson_comes_from_its_notebook(drive):
    write(drive.folder, NUMBERS, DOUBLE, "    return x + x")
    done = drive.run(
        "from tinytorch.core.numbers import double", "print(double(21), double.__module__)"
    )
    assert done.stdout == "42 tinytorch.core.numbers\n", done.stderr


def test_a_restarted_notebook_uses_the_saved_work(drive):
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


def test_a_syntax_error_in_an_earlier_lesson_is_reported_with_its_cell(drive):
    write(drive.folder, NUMBERS, DOUBLE, "    return x +")
    last = drive.run("import tinytorch.core.numbers").stderr.splitlines()[-1]
    assert last.startswith(
        "ImportError: 01_numbers/numbers_dev.ipynb cell 8:8: syntax error: invalid syntax: "
        "return x +"
    )


def test_a_missing_notebook_is_reported(drive):
    (drive.folder / NUMBERS).unlink()
    assert (
        "ImportError: Your notebook 01_numbers/numbers_dev.ipynb cannot be read from here."
        in drive.run("import tinytorch.core.numbers").stderr
    )


def test_outside_a_browser_the_first_cell_changes_nothing():
    before = list(sys.meta_path)
    from tito.learn import browser

    browser.begin()
    assert sys.meta_path == before


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
    """A browser's Python has no threads; the results of the other checks are shown."""
    done = drive.run(
        "import _thread, threading",
        'def refuse(*words, **more): raise RuntimeError("can\'t start new thread")',
        "threading._start_new_thread = threading._start_joinable_thread = refuse",
        "def total(numbers):",
        "    thread = threading.Thread(target=print)",
        "    thread.start()",
        "check('total')",
        "def total(numbers): return 5",
        "check('total')",
    )
    assert done.stdout == (
        'check("total"): not run here, because a browser\'s Python has no threads: total doubles '
        "every number. In a workspace `tito test` runs it.\n"
    ), done.stderr
    assert "should be 6, yours is 5" in done.stderr


def test_without_written_work_there_is_nothing_to_export(drive):
    assert drive.run("browser.export_work()").stdout.startswith("No lesson has been begun here")
    assert not list(drive.folder.glob("*.zip"))


@pytest.mark.slow
def test_work_exported_from_the_browser_passes_in_a_workspace(drive, plain_root, tmp_path):
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
        done = run_process(home, *words)
        assert said in done.stdout, done.stdout + done.stderr
    script = home.lesson("numbers").script.read_text(encoding="utf-8")
    assert "return x + x" in script and "browser" not in script
    assert "pyodide" not in home.lesson("numbers").notebook.read_text(encoding="utf-8").lower()


# In a real browser.


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def visit(browser):
    """A function that serves a folder and gives a page there, its address, and what goes wrong:
    requests to other hosts, errors."""
    with contextlib.ExitStack() as stack:

        def go(folder):
            address, wrong = stack.enter_context(served(folder)), []
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            stack.callback(context.close)
            context.on(
                "request",
                lambda request: (
                    request.url.startswith((address, "data:", "blob:"))
                    or wrong.append(f"asks for {request.url}")
                ),
            )
            # JupyterLite names its pages' icon late: until then a browser asks the host for one
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, answer, said",
    [
        ("pyodide.asm.wasm", lambda route: route.abort(), "pyodide.asm.wasm cannot be reached"),
        (
            "python_stdlib.zip",
            lambda route: route.fulfill(status=404),
            "the site answers 404 to python_stdlib.zip",
        ),
        ("pyodide.mjs", lambda route: None, "pyodide.mjs was not answered in 15 s"),
        ("nothing", lambda route: None, "pyodide is not defined"),
    ],
    ids=["blocked", "missing", "no answer", "damaged"],
)
def test_a_python_that_cannot_load_says_so_within_20_s(visit, with_python, name, answer, said):
    page, address, _ = visit(with_python.path)
    page.context.route(f"**/static/pyodide/{name}", answer)
    page.goto(f"{address}lite/notebooks/index.html?path={SUMS}", wait_until="commit")
    message = page.get_by_role("alert").filter(has_text="Python could not be loaded")
    message.wait_for(timeout=20_000)
    assert said in message.inner_text() and "Load the page again" in message.inner_text()
    message.get_by_role("button", name="Close").click()
    assert not message.is_visible()


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
    site = tmp_path / "site"
    options = book.Options(fast=True, lite=Path(folder), output=site)
    built = book.build(plain_root, options)
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
    assert not page.get_by_text("Python could not be loaded").is_visible()
    page.reload()  # a new Python; the code is still there
    page.locator(".cm-line", has_text="return sum(map(double, numbers))").first.wait_for()
    open_(lite.WORK)
    assert "my-tinytorch.zip holds numbers, sums." in run_all(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download my-tinytorch.zip").click()
    assert wrong == []
    download.value.save_as(tmp_path / "mine.zip")
    workspace.init(tmp_path / "home", plain_root)
    for words, said in ((["restore", "../mine.zip"], ""), (["test", "sums"], "2 of 2 points")):
        done = run_process(tmp_path / "home", *words)
        assert done.returncode == 0 and said in done.stdout, done.stdout + done.stderr

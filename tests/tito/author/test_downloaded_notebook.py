"""What a notebook starts with outside a workspace, and what happens where it is opened."""

import json
import re
import subprocess
import sys
import sysconfig
import zipfile

import commands
import pytest

from tito.author import downloaded_notebook, release
from tito.learn import notebook_sync, workspace
from tito.lesson import cells, course, lesson_format, notebook, site_settings

PLACE = site_settings.Published(release="https://github.com/ada/small")


def sources(text):
    return ["".join(cell["source"]) for cell in json.loads(text)["cells"]]


def to_download(entry, place):
    text = notebook.to_notebook(entry.declared.released, entry.declared)
    return notebook.with_start(text, downloaded_notebook.first_cells(entry, place))


def test_a_notebook_alone_says_where_it_belongs_and_how_to_get_a_workspace(small_course):
    first, *rest = sources(to_download(small_course.lesson("sums"), site_settings.Published()))
    assert first.startswith("**This notebook belongs in a workspace.** Lesson 02 of Small")
    assert "`bin/setup notebook && bin/tito init ../my-tinytorch`" in first
    assert "`modules/source/02_sums/`" in first and "`tito notebook sums --keep notebook`" in first
    assert "http" not in first and "Colab" not in "".join(rest)


def test_with_a_release_it_names_the_repository_and_has_a_cell_for_colab(small_course):
    first, second, *_ = sources(to_download(small_course.lesson("sums"), PLACE))
    assert "`git clone https://github.com/ada/small my-tinytorch`" in first
    assert re.search(
        r'%pip install --quiet "https://github\.com/ada/small/raw/main/bin/'
        r'tinytorch-[\w.]+-py3-none-any\.whl"',
        second,
    )


@pytest.mark.parametrize("place", [site_settings.Published(), PLACE], ids=["alone", "released"])
def test_on_the_way_back_to_a_script_what_it_starts_with_goes(small_course, place):
    entry = small_course.lesson("sums")
    book = to_download(entry, place)
    assert notebook.to_script(book, entry.declared.released) == entry.declared.released
    plain = cells.parse(entry.script, entry.declared.released).cells
    assert [c.source for c in cells.parse(entry.notebook, book).cells if c.source] == [
        c.source for c in plain if c.source
    ]


def test_what_it_starts_with_is_no_edit(small_course):
    entry = small_course.lesson("sums")
    plain = notebook.to_notebook(entry.declared.released, entry.declared)
    one, two = (
        notebook_sync.hash_of(entry.notebook, t.encode())
        for t in (plain, to_download(entry, PLACE))
    )
    assert one == two


def test_an_edited_first_cell_is_the_learner_s(small_course):
    book = json.loads(to_download(small_course.lesson("sums"), PLACE))
    book["cells"][0]["source"] = "mine"
    script = notebook.to_script(json.dumps(book))
    assert "# mine" in script and "start=" not in script and '"start"' not in script


# In a release, and on Colab.


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    from small_course import make_course

    folder = make_course(tmp_path_factory.mktemp("colab") / "course")
    with (folder / "tito.toml").open("a", encoding="utf-8") as file:
        file.write(f'\n[book]\nrelease = "{PLACE.release}"\n')
    source = course.open_root(folder)
    return release.release(source, folder.parent / "release").path


def test_a_release_has_the_cell_for_colab_and_its_wheel_under_that_name(released):
    text = (released / "modules/source/02_sums/sums_dev.ipynb").read_text(encoding="utf-8")
    [name] = re.findall(r"/raw/main/bin/([^\"]+)", sources(text)[0])
    assert (released / "bin" / name).is_file()
    assert "This notebook belongs" not in text
    readme = (released / "README.md").read_text(encoding="utf-8")
    assert "OWNER" not in readme
    assert PLACE.colab("modules/source/01_numbers/numbers_dev.ipynb") in readme


@pytest.mark.slow
def test_a_released_notebook_with_that_cell_may_be_edited_first(released, tmp_path):
    """The cell does not make script and notebook differ."""
    import shutil

    shutil.copytree(released, tmp_path / "mine")
    entry = course.open_root(tmp_path / "mine").lesson("numbers")
    book = entry.notebook.read_text(encoding="utf-8")
    stub = json.dumps(lesson_format.stub("numbers", "double"))[1:-1]
    assert stub in book
    entry.notebook.write_text(book.replace(stub, "return x + x"), encoding="utf-8")
    out, _ = commands.tito(entry.root, "test", "numbers", code=1)
    assert "4 of 5 points" in out and "colab" not in entry.script.read_text(encoding="utf-8")


def on_colab(released, tmp_path, *lines):
    """Run the first cell of lesson sums as Colab would, then these lines."""
    text = (released / "modules/source/02_sums/sums_dev.ipynb").read_text(encoding="utf-8")
    with zipfile.ZipFile(next((released / "bin").glob("*.whl"))) as wheel:
        wheel.extractall(tmp_path / "python")  # what %pip does there
    (tmp_path / "content").mkdir(exist_ok=True)
    first = re.sub(r"%pip.*", "pass", sources(text)[0])
    cell = first.replace('begin("sums")', f'begin("sums", Path({str(tmp_path / "content")!r}))')
    assert cell.count("Path(") == 1
    program = [
        "import sys, types",
        "from pathlib import Path",
        f"sys.path[:0] = [{str(tmp_path / 'python')!r}, {sysconfig.get_path('purelib')!r}]",
        "sys.modules['google.colab'] = types.ModuleType('google.colab')",
        cell,
        *lines,
    ]
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", "\n".join(program)],  # no tito but the wheel's
        cwd=tmp_path / "content",
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        stdin=subprocess.DEVNULL,
        check=False,
    )


@pytest.mark.slow
def test_on_colab_the_first_cell_makes_a_workspace_that_the_notebook_runs_in(released, tmp_path):
    done = on_colab(
        released,
        tmp_path,
        "from tinytorch.core.numbers import double",
        "def total(numbers): return 3",
        "check('total')",
    )
    assert "my-tinytorch is a workspace for this session only" in done.stdout, done.stderr
    assert "This lesson uses what you wrote in numbers." in done.stdout
    assert "total([1, 2]) should be 6, yours is 3" in done.stderr


@pytest.mark.slow
def test_on_colab_earlier_lessons_come_from_the_zip_that_was_handed_in(
    released, tmp_path, small_course
):
    from small_course import solve

    workspace.init(tmp_path / "home", small_course)
    home = course.open_root(tmp_path / "home")
    solve(home.lesson("numbers"))
    commands.tito(home, "submit", "numbers", "--output", tmp_path / "mine.zip")
    assert on_colab(released, tmp_path).returncode == 0
    session = course.open_root(tmp_path / "content" / "my-tinytorch")
    commands.tito(session, "restore", tmp_path / "mine.zip")
    done = on_colab(
        released,
        tmp_path,
        "from tinytorch.core.numbers import double",
        "def total(numbers): return sum(double(n) for n in numbers)",
        "check('total')",
        "print(double(4))",
    )
    assert "This lesson uses" not in done.stdout and done.stdout.endswith("8\n"), done.stderr

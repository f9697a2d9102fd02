"""A lesson in the browser: what runs there, in a Python without NumPy and tito's libraries."""

import doctest
import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from browsers import chromium, served

from tito.book import build, in_browser, site
from tito.book.pages import SitePage, of_lesson
from tito.errors import MachineError
from tito.learn import submit, workspace
from tito.lesson import cells, course
from tito.page.parts import Part

REPOSITORY = Path(__file__).parents[2]
WAIT = 60_000  # milliseconds, on a busy machine
SERIOUS = """axe.run(".exercise", {preload: false, resultTypes: ["violations"]}).then(told => told
    .violations.filter(one => ["serious", "critical"].includes(one.impact))
    .map(one => `${one.id}: ${one.nodes[0].html.slice(0, 150)}`))"""
WRONG = "def predict(parameters, inputs):\n    return parameters[0] * inputs[0]\n"
ASK = """
import json, sys
import run
for exercise, written in json.load(sys.stdin):
    written = json.dumps(written)
    print(run.run(exercise, written) if exercise else run.archive(written).hex())
"""


@pytest.fixture(scope="module")
def lesson():
    root = course.find_root(REPOSITORY)
    [entry] = in_browser.lessons(root)
    return root, entry


@pytest.fixture(scope="module")
def ask(lesson, tmp_path_factory):
    """A function of [(exercise, {exercise: code})]: what `run.py` answers to each."""
    folder = tmp_path_factory.mktemp("browser")
    for name, data in in_browser.workspace_of(*lesson).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def ask(*questions):
        ran = subprocess.run(
            [sys.executable, "-S", "-c", ASK],  # -S: only what comes with Python
            cwd=folder,
            input=json.dumps(questions),
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.splitlines()

    return ask


@pytest.fixture(scope="module")
def solved(lesson):
    """{exercise: the course's code}"""
    source = lesson[1].declared.source
    return {cell.exercise: cell.source for cell in source.cells if cell.exercise}


def test_each_exercise_passes_with_the_solution_and_shows_what_follows(ask, solved):
    answers = [json.loads(answer) for answer in ask(*((name, solved) for name in solved))]
    assert all(answer["passed"] and not answer["message"] for answer in answers), answers
    shown = {name: answer["results"] for name, answer in zip(solved, answers)}
    assert [len(results) for results in shown.values()] == [1, 2, 1, 0, 3, 1]
    assert shown["train"][0]["text"].endswith("step 100: weight 1.35, bias -1.64, loss 0.16\n")
    pictures = [svg for results in shown.values() for one in results for svg in one["pictures"]]
    assert len(pictures) == 5 and all(svg.startswith("<svg ") for svg in pictures)
    assert all('role="img" aria-label="' in svg for svg in pictures)


@pytest.mark.parametrize(
    "code, said",
    [
        (WRONG, "the bias is missing"),
        ("def predict(parameters, inputs):\n    return nothing\n", "name 'nothing' is not defined"),
        ("def predict(parameters, inputs:\n", "SyntaxError"),
        ("", "predict"),
        (None, "Delete the line that says raise"),
    ],
)
def test_what_is_wrong_is_said_as_in_a_workspace(ask, code, said):
    [answer] = map(json.loads, ask(("predict", {} if code is None else {"predict": code})))
    assert not answer["passed"] and said in answer["message"] and not answer["results"]
    assert "tito hint" not in answer["message"]  # the page has the hints


def test_an_exercise_that_needs_another_says_so(ask, solved):
    written = {"train": solved["train"]}
    [answer] = map(json.loads, ask(("train", written)))
    assert "needs exercise descent-" in answer["message"]


def test_what_was_saved_is_restored_in_a_workspace(ask, solved, lesson, tmp_path):
    root, entry = lesson
    [answer] = ask(("", {"predict": solved["predict"]}))
    (tmp_path / "descent.zip").write_bytes(bytes.fromhex(answer))
    workspace.init(tmp_path / "mine", root.on_tracks([*root.all_tracks][:1]))
    mine = course.open_root(tmp_path / "mine")
    assert submit.restore(mine, tmp_path / "descent.zip").lessons == ["descent"]
    source = cells.read(mine.lesson("descent").script)
    assert source.cell("predict").source == solved["predict"]
    assert "raise" in source.cell("train").source


def test_the_examples_of_the_drawings_hold():
    tested = doctest.DocTestRunner()
    space = runpy.run_path(str(REPOSITORY / in_browser.OWN / "drawing.py"))
    for test in doctest.DocTestFinder(exclude_empty=True).find(
        space["ticks"], "ticks", globs=space
    ):
        tested.run(test)
    assert tested.summarize() == (0, 1)


def test_a_machine_that_cannot_download_python_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))  # no npm
    with pytest.raises(MachineError, match="was not downloaded"):
        in_browser.pyodide(tmp_path / "kept")
    archive = tmp_path / "kept" / "pyodide-314.0.7.tgz"
    archive.write_bytes(b"half")
    with pytest.raises(MachineError, match="was not downloaded"):
        in_browser.pyodide(tmp_path / "kept")


# In Chromium, with Pyodide.


@pytest.fixture(scope="module")
def pages(lesson, tmp_path_factory):
    """The address of the lesson's pages in a site."""
    root, entry = lesson
    try:
        tried = in_browser.contents(root, REPOSITORY / "book" / "_build" / "pyodide")
    except MachineError as error:
        pytest.skip(str(error))
    made = [SitePage("index", ""), *of_lesson(entry, {}, [])]
    made[0].parts.append(Part("prose", "# Index"))
    for page in made[1:]:
        page.parts.append(Part("html", in_browser.SCRIPT.format(entry.name)))
    home = f"lessons/{entry.folder}"
    texts = site.Site(root.name, [("Lessons", [home])]).render(made)
    contents = {name: text.encode("utf-8") for name, text in texts.items()}
    folder = tmp_path_factory.mktemp("site")
    for name, data in (contents | build._static(root) | tried).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    with served(folder) as address:
        yield f"{address}{home}"


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def exercise(browser, pages):
    """A function of the name of an exercise, which opens it: (its box, its page)."""
    context = browser.new_context(viewport={"width": 1366, "height": 768})

    def open_exercise(name="predict", start="", blocked=""):
        page = context.new_page()
        if start:
            page.add_init_script(start)
        if blocked:
            page.route(blocked, lambda route: route.abort())
        page.goto(f"{pages}/one-neuron.html")
        box = page.locator(f"#descent-{name}")
        box.get_by_role("button", name="Try it here").click()
        return box, page

    yield open_exercise
    context.close()


def write(box, code):
    box.locator(".cm-content").click()
    box.page.keyboard.press("Control+a")
    box.page.keyboard.insert_text(code)
    box.page.keyboard.press("Control+Enter")


def wait_for(box, words):
    """Wait until the answer says these words."""
    box.locator(".try").get_by_text(words).wait_for(timeout=WAIT)


@pytest.mark.slow
def test_an_exercise_is_done_on_its_page(exercise, solved, lesson, tmp_path):
    box, page = exercise()
    box.get_by_role("button", name="Check", exact=True).click()
    answer = box.locator(".answer")
    wait_for(box, "Not right yet")
    assert "Delete the line that says raise" in answer.inner_text()
    assert not box.locator("> .cell").first.is_visible()  # the editor is in its place
    write(box, WRONG)
    wait_for(box, "the bias is missing")
    write(box, "def predict(parameters, inputs):\n    while True: pass\n")
    wait_for(box, "a loop that never ends")
    write(box, solved["predict"])
    wait_for(box, "Right: all checks of this exercise pass")
    assert box.locator(".answer svg").count() == 1
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page.evaluate(axe.axe_script)
    for theme in ("light", "dark"):
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        assert not page.evaluate(SERIOUS), theme
    with page.expect_download() as saved:
        box.get_by_role("button", name="Save as a zip").click()
    root = lesson[0]
    workspace.init(tmp_path / "mine", root.on_tracks([*root.all_tracks][:1]))
    mine = course.open_root(tmp_path / "mine")
    assert submit.restore(mine, saved.value.path()).lessons == ["descent"]
    other, page = exercise("mean-squared-error")  # in a new tab: the code is still there
    write(other, solved["mean-squared-error"])
    wait_for(other, "Right: all checks of this exercise pass")


@pytest.mark.slow
def test_a_browser_without_webassembly_or_without_a_connection_says_so(exercise):
    box, _ = exercise(start="delete window.WebAssembly")
    assert "This browser has no WebAssembly" in box.inner_text()
    box, page = exercise(blocked="**/descent.json")
    wait_for(box, "could not be loaded. Try again")
    box, page = exercise(blocked="**/pyodide/**")
    box.get_by_role("button", name="Check", exact=True).click()
    wait_for(box, "Python could not be started")
    page.unroute("**/pyodide/**")  # the connection is back
    write(box, WRONG)
    wait_for(box, "the bias is missing")

"""book/picture.py: what the pictures of the README and of the book's first page show is what tito
says and the example learns, today, and gives no answer away."""

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
STATIC = REPOSITORY / "book" / "_static"
PICTURES = {
    "spirals.svg": "100% of 300 points right",
    "terminal.svg": "relu keeps the dtype and leaves its input alone",
}


def words(svg):
    """The texts of a picture, without how long it took and in which line an exercise begins."""
    found = [
        unescape(one).replace("\xa0", " ").strip()
        for one in re.findall(r"<text[^>]*>(.*?)</text>", svg, re.S)
    ]
    return [re.sub(r"\d+\.\d\d s|(?<=\.py):\d+", "", one) for one in found if one]


@pytest.fixture(scope="module")
def drawn():
    """{name: text} of the pictures as the script draws them now, in a separate process, because
    it imports the library."""
    code = (
        "import json, runpy, sys; drawn = runpy.run_path(sys.argv[1])['draw']();"
        "print(json.dumps({path.name: text for path, text in drawn.items()}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, REPOSITORY / "book" / "picture.py"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_the_picture_says_what_tito_says_now(drawn, name):
    now = words(drawn[name])
    assert PICTURES[name] in now
    assert words((STATIC / name).read_text(encoding="utf-8")) == now, (
        "lessons or tito say something else now: python book/picture.py"
    )


@pytest.mark.parametrize("name", PICTURES)
def test_the_picture_is_complete_and_names_no_path_of_this_machine(name):
    text = (STATIC / name).read_text(encoding="utf-8")
    assert set(re.findall(r'https?://[^"\s]+', text)) == {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert not re.search(r"url\((?!#)", text) and str(REPOSITORY) not in text
    assert len(text) < 200_000

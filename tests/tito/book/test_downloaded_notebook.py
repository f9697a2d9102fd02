"""What a downloaded notebook starts with, and that it is no part of the lesson."""

import json

import pytest

from tito.book import downloaded_notebook
from tito.learn import notebook_sync
from tito.lesson import cells, notebook, site_settings

PLACE = site_settings.Published(release="https://github.com/ada/small")


def sources(text):
    return ["".join(cell["source"]) for cell in json.loads(text)["cells"]]


def to_download(entry, place):
    text = notebook.to_notebook(entry.declared.released, entry.declared)
    return notebook.with_note(text, downloaded_notebook.workspace_note(entry, place))


def test_a_notebook_alone_says_where_it_belongs_and_how_to_get_a_workspace(small_course):
    first, *_ = sources(to_download(small_course.lesson("sums"), site_settings.Published()))
    assert first.startswith("**This notebook belongs in a workspace.** Lesson 02 of Small")
    assert "`bin/setup notebook && bin/tito init ../my-tinytorch`" in first
    assert "`modules/source/02_sums/`" in first and "`tito notebook sums --keep notebook`" in first
    assert "http" not in first


def test_with_a_release_it_names_the_repository(small_course):
    first, *_ = sources(to_download(small_course.lesson("sums"), PLACE))
    assert "`git clone https://github.com/ada/small my-tinytorch`" in first


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

"""The site's pages as one document: the place of each part, and the targets of links."""

import re

import pytest

from tito.book import print_document

HINTS = (
    '<details class="hint"><summary>Hint 1 of 2</summary>\n<p>Look.</p>\n'
    '<details class="hint"><summary>Hint 2 of 2</summary>\n<p>Closer.</p>\n</details>\n</details>'
)
CHECKS = (
    '<details class="admonition hide above-input">\n<summary>\n<p class="collapsed">2 checks, 3 '
    'points</p>\n<p class="expanded">2 checks, 3 points</p>\n</summary>\n<pre><span>def</span> '
    "test_one_and_one_make_two():\n    assert add(1, 1) == 2\n\ndef test_zero():\n    ...\n</pre>"
    "</details>"
)
BOX = (
    '<div class="exercise docutils container" id="sums-add">\n<p><strong>Exercise 2.1. Add'
    f"</strong> (3 points)</p>\n{HINTS}{CHECKS}</div>"
)
ANSWER = (
    '<details class="admonition hide below-input">\n<summary aria-label="Toggle">\n'
    '<p class="collapsed admonition-title">The answer</p>\n'
    '<p class="expanded admonition-title">The answer</p>\n</summary>\n<p>forty-two</p>\n</details>'
)
PRINTS = ANSWER.replace("The answer", "What it prints").replace("forty-two", "a loss")


def page(site, name, title, body="", following=""):
    path = site / name
    path.parent.mkdir(parents=True, exist_ok=True)
    then = f'<link rel="next" title="x" href="{following}" />' if following else ""
    path.write_text(
        f'<html><head>{then}</head><article class="bd-article"><section id="top"><h1>{title}'
        f'<a class="headerlink" href="#top">#</a></h1>\n{body}</section></article></html>',
        encoding="utf-8",
    )


@pytest.fixture
def site(tmp_path):
    """A front page, a lesson of two sections, and a page."""
    page(
        tmp_path,
        "index.html",
        "Small",
        '<a href="lessons/02_sums/add.html#sums-add">add</a>',
        "lessons/02_sums.html",
    )
    listed = '<ol class="lesson-contents"><li><a href="02_sums/add.html">Adding</a></li></ol>'
    page(tmp_path, "lessons/02_sums.html", "02. Sums", listed, "02_sums/add.html")
    page(tmp_path, "lessons/02_sums/add.html", "2.1 Adding", BOX + ANSWER, "carry.html")
    page(tmp_path, "lessons/02_sums/carry.html", "2.2 Carrying", PRINTS, "../../about.html")
    page(
        tmp_path,
        "about.html",
        "About",
        '<section id="who">\n<h2>Who</h2></section><section id="a"><h2>A</h2></section>',
    )
    return tmp_path


def document(site, selected=(), numbers=(), paper="a4"):
    chapters = print_document.read_chapters(site, selected)
    book = print_document.Book(site, "Small", "1", ["A. Author", "B & C"], paper, chapters)
    return print_document.document(book, dict(numbers))


def test_pages_follow_each_other_as_on_the_site_and_sections_belong_to_their_lesson(site):
    chapters = print_document.read_chapters(site)
    assert [chapter.title for chapter in chapters] == ["Small", "02. Sums", "About"]
    assert [title for title, _ in chapters[1].entries] == ["2.1 Adding", "2.2 Carrying"]
    assert [title for title, _ in chapters[2].entries] == ["Who"]  # not the glossary's letters
    assert "<h2>2.1 Adding</h2>" in chapters[1].body and "headerlink" not in chapters[1].body


def test_a_page_that_leads_back_ends_the_book(site):
    page(site, "about.html", "About", following="index.html")
    names = list(print_document.read_articles(site))
    assert names[-1] == "about.html" and len(names) == 5


def test_some_lessons_alone_hold_no_link_to_what_was_left_out(site):
    page(site, "lessons/02_sums/carry.html", "2.2 Carrying", '<a href="../../about.html">us</a>')
    text = document(site, ["lessons/02_sums.html"])
    assert "<a>us</a>" in text and "About" not in text and "2.2 Carrying" in text


def test_every_link_within_leads_to_an_id_that_is_there_once(site):
    text = document(site)
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    links = re.findall(r'href="#([^"]+)"', text)
    assert set(links) <= set(ids) and len(links) > 10


def test_a_headings_other_names_move_to_the_next_page_with_it(site):
    body = '<section id="b"><span id="c"></span><span id="d"></span><h2>Two words</h2></section>'
    page(site, "about.html", "About", body)
    text = document(site)
    assert '<section id="p5-b"><h2><span id="p5-c"></span><span id="p5-d"></span>Two' in text
    assert '<a class="to" href="#p5-b">Two words</a>' in text


def test_a_link_to_another_host_shows_its_address_unless_its_words_do(site):
    addresses = (
        '<a class="x" href="https://example.org/a">there</a> '
        '<a href="https://example.org">https://example.org</a> <a href="x.zip">file</a>'
    )
    page(site, "about.html", "About", addresses)
    text = document(site)
    assert '<a class="x" data-outside="" href="https://example.org/a">there</a>' in text
    assert '<a href="https://example.org">https://example.org</a> <a>file</a>' in text


def test_hints_stand_at_the_end_one_after_the_other_with_the_way_there_and_back(site):
    text = document(site)
    box, appendix = text.split("<h1>Hints</h1>")
    assert "Look." not in box
    assert '2 hints at the end, on page <a class="page" href="#hints-p3-sums-add"></a>' in box
    assert re.search(r"<li><p>Look.</p></li>\s*<li><p>Closer.</p></li>", appendix)
    assert '<b>Exercise 2.1. Add</b> page <a class="page" href="#p3-sums-add"></a>' in appendix


def test_of_the_checks_the_names_are_left(site):
    text = document(site)
    names = "<ul><li>one and one make two</li><li>zero</li></ul>"
    assert f"<p>2 checks, 3 points</p>{names}" in text and "add(1, 1)" not in text


def test_the_title_page_names_the_authors_and_the_edition(site):
    page = re.search(r'<div class="title-page">.*?</div>', document(site), re.S)[0]
    assert [part for part in re.findall(r">([^<>]+)<", page) if part.strip()] == [
        "Small",
        "A. Author, B &amp; C",
        "Edition 1",
    ]


def test_answers_stand_at_the_end_and_what_a_program_prints_stays(site):
    text = document(site)
    before, after = text.split("<h1>Answers</h1>")
    assert "forty-two" not in before and "Answer 2.1 is on page" in before
    assert "forty-two" in after and "2.1 Adding" in after
    assert "a loss" in before
    folds = re.findall("<details[^>]*>", text)
    assert folds and all(' open=""' in fold for fold in folds)


def test_the_contents_list_each_chapter_section_and_appendix_with_its_page(site):
    text = document(site, numbers={"p3": 12, "hints": 40})
    contents = re.search(r'<nav class="contents">.*?</nav>', text, re.S)[0]
    for title, place in (("2.1 Adding", "p3"), ("Hints", "hints"), ("2.2 Carrying", "p4")):
        row = f'<a class="to" href="#{place}">{title}</a><i></i><a class="page" href="#{place}">'
        assert row in contents
    assert 'const numbers = {"p3": 12, "hints": 40};' in text  # shows them, when it is printed


def test_a_lessons_own_list_has_page_numbers_too(site):
    assert 'href="#p3">Adding</a> <a class="page" href="#p3"></a>' in document(site)


def test_a_picture_keeps_its_caption_and_leads_to_no_file(site):
    picture = (
        '<a class="image-reference" href="../../x.png"><img alt="A" src="../../x.png" />\n</a>'
    )
    body = f"<figure>{picture}<figcaption><strong>B</strong> c</figcaption></figure>"
    page(site, "lessons/02_sums/carry.html", "2.2 Carrying", body, "../../about.html")
    shown = f'<figure><img alt="A" src="{(site / "x.png").as_uri()}"/>\n<figcaption>'
    assert f"{shown}<strong>B</strong> c</figcaption></figure>" in document(site)


def test_what_can_only_be_opened_on_a_screen_is_left_out(site):
    row = '<li><p id="p3"><strong>{}</strong> {}</p></li>\n'
    rows = row.format("Begin", "tito start") + row.format("Open", "notebook")
    card = f'<div class="lesson-card"><ul>{rows}</ul></div>'
    page(site, "lessons/02_sums.html", "02. Sums", card, "02_sums/add.html")
    assert "tito start" in document(site) and "notebook" not in document(site)


def test_a_line_of_code_that_goes_on_in_the_next_is_marked(site):
    code = f'<pre><span></span><span class="k">if</span> x:\n\n{"&lt;" * 96}\n{"x" * 97}\n</pre>'
    page(site, "about.html", "About", code)
    shown = re.search(r'<pre class="short">(.*?)</pre>', document(site), re.S)[1]
    assert shown == (
        f'<span></span><span class="k">if</span> x:\n\n{"&lt;" * 96}\n'
        f'<span class="long">{"x" * 97}</span>'
    )


def test_words_of_code_without_a_colour_are_not_marked(site):
    code = '<span class="k">del</span> <span class="n">x</span><span class="p">[:]</span>'
    page(site, "about.html", "About", f"<pre>{code}\n</pre>")
    assert '<span class="k">del</span> x[:]\n</pre>' in document(site)


def test_a_drawing_keeps_its_ids(site):
    drawing = '<svg id="d0"><style>#d0 .x{fill:#fff}</style><path fill="url(#d0)"></path></svg>'
    page(site, "about.html", "About", f'<figure id="figure-d0">{drawing}</figure>')
    assert f'<figure id="p5-figure-d0">{drawing}' in document(site)


def test_a_drawing_keeps_its_colours(site):
    drawing = '<figure id="figure-graph"><style>#figure-graph{--value:#1b69aa}</style></figure>'
    page(site, "about.html", "About", drawing)
    assert '<figure id="p5-figure-graph"><style>#p5-figure-graph{--value:#1b69aa}' in document(site)


def test_a_chapters_pages_have_its_name_at_the_top_whatever_is_in_it(site):
    page(site, "about.html", 'A "quoted" \\ <code>name</code> &lt; x')
    assert r'@top-right { content: "A \"quoted\" \\ name \< x"; }' in document(site)


@pytest.mark.parametrize(("paper", "size"), [("a4", "210mm 297mm"), ("letter", "8.5in 11in")])
def test_the_paper_has_a_size(site, paper, size):
    assert f"@page {{ size: {size}; }}" in document(site, paper=paper)

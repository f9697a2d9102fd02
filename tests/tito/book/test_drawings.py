"""Drawings find their place in a lesson's pages, or the book is refused."""

import pytest

from tito.errors import TitoError
from tito.page.drawings import place
from tito.page.parts import Part, Section, prose


def lesson():
    parts = [
        prose(10, "# 5.1 Graphs"),
        prose(11, "First words\nof a paragraph.\n\nA second one."),
    ]
    pages = [("", [prose(1, "# Title")]), ("Graphs", parts), ("Order", [prose(30, "The end.")])]
    return [Section(title, "", parts=parts) for title, parts in pages]


def drawing(name, section, after=""):
    html = f"<figure>{name}<figcaption>It moves.</figcaption></figure>"
    return {
        "name": name,
        "section": section,
        "after": after,
        "html": html,
    }


def sources(section):
    return [part.source for part in section.parts]


def test_a_drawing_is_put_behind_its_paragraph_or_at_the_end_of_its_section():
    sections = lesson()
    place(sections, [drawing("late", "Order"), drawing("early", "Graphs", "words of a")])
    graphs, order = map(sources, sections[1:])
    assert graphs[1] == "First words\nof a paragraph." and graphs[3] == "A second one."
    assert "early" in graphs[2] and order[0] == "The end." and "late" in order[1]
    assert [part.line for part in sections[1].parts] == [10, 11, 11, 13]


def picture(source, alt):
    image = {"output_type": "display_data", "data": {"image/png": ""}, "metadata": {}}
    printed = {"output_type": "stream", "name": "stdout", "text": "7"}
    return Part("code", source, 14, outputs=[printed, image], alt=alt)


def test_a_drawing_replaces_a_picture_and_leaves_what_is_printed():
    sections = lesson()
    sections[1].parts += [picture("draw(1)", "One."), prose(15, "After it.")]
    place(sections, [drawing("graph", "Graphs") | {"replaces": "draw(1)"}])
    *_, code, shown, last = sections[1].parts
    assert [one["output_type"] for one in code.outputs] == ["stream"] and shown.line == 14
    assert "graph" in shown.source and last.source == "After it."
    sections = lesson()
    sections[1].parts += [picture("draw(1)", "One."), prose(15, "After it.")]
    place(sections, [drawing("graph", "Graphs", "First") | {"replaces": "draw(1)"}])
    assert "graph" in sources(sections[1])[2] and len(sections[1].parts[-2].outputs) == 1


def test_a_picture_to_replace_that_does_not_exist_is_refused():
    sections = lesson()
    with pytest.raises(TitoError) as refused:
        place(sections, [drawing("graph", "Graphs") | {"replaces": "draw(1)"}])
    assert "'draw(1)'" in refused.value.what and refused.value.remedy


@pytest.mark.parametrize(
    ("section", "after", "words"),
    [
        ("Grafs", "", "no such section"),
        ("", "", "no such section"),
        ("Graphs", "Words that", "does not have"),
    ],
)
def test_a_place_that_does_not_exist_is_refused(section, after, words):
    sections = lesson()
    with pytest.raises(TitoError) as refused:
        place(sections, [drawing("graph", section, after)])
    assert words in refused.value.what and refused.value.remedy

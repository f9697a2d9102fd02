"""The pictures of lesson 12."""

import unicodedata

import pytest
from svg_contents import assert_on_page

from tinytorch.pictures.tokenization import (
    PIECES,
    TEN_LINES,
    draw_merging,
    draw_pair_counts,
    draw_token_lengths,
    draw_tokens,
    draw_utf8,
    wrapped,
)


@pytest.mark.parametrize(
    "drawing",
    [
        draw_tokens(PIECES),
        draw_tokens({"long": ["wwwwwwww"] * 20, "characters": list(TEN_LINES["Chinese"])}),
        draw_tokens({"none": []}),
        draw_utf8("naïve π"),
        draw_utf8("🙂a"),
        draw_merging([("ab", list("ab") * 8, ()), ("wrong", ["ab"] * 8, "wrong")]),
        draw_pair_counts([("hug", 10), ("pupuhug", 5)]),
    ],
    ids=["pieces", "wide", "none", "bytes", "emoji", "merging", "pairs"],
)
def test_every_cell_is_on_the_page_and_none_covers_another(drawing):
    assert_on_page(drawing)


def test_a_line_that_is_too_long_goes_on_in_the_next_row():
    rows = wrapped(list("abcdefgh") * 10)
    assert len(rows) > 1 and "".join(text for row in rows for text, _ in row) == "abcdefgh" * 10


def test_pieces_are_the_same_text():
    assert len({"".join(pieces) for pieces in PIECES.values()}) == 1
    assert [len(pieces) for pieces in PIECES.values()] == [26, 15, 10, 8]


def test_bars_count_tokens_by_length():
    bars = draw_token_lengths([1, 2, 2, 5]).axes[0].patches
    assert [bar.get_height() for bar in bars] == [1, 2, 0, 0, 1]


def test_the_ten_lines_are_two_in_each_of_five_scripts():
    assert len(TEN_LINES) == 5
    for language, lines in TEN_LINES.items():
        assert lines.count("\n") == 2 and unicodedata.is_normalized("NFC", lines)
        letters = {unicodedata.name(c).split()[0] for c in lines if c.isalpha()}
        assert len(letters) == 1, language

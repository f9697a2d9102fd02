"""File names and text from learners, on their way into a page."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tito import safe_text
from tito.grading.gradebook import html_pages

NASTY = [
    "",
    ".",
    "..",
    "../../etc/passwd",
    "/etc/passwd",
    "C:\\x",
    "con",
    "nul",
    "a/b",
    "a\\b",
    "a\0b",
    "a\nb",
    "Ada",
    "ada",
    "ADA",
    "ädä",
    "ada ",
    "-rf",
    ".hidden",
    "=cmd()",
    "x" * 5000,
    "x" * 4999,
    "\ud800",
    "\u202eada",
    "ada@uni.example",
    "ada-uni-example",
    "\U0001f600",
    "index",
    "a.html",
    "a",
]


def test_nasty_ids_get_file_names_that_are_safe_and_all_different():
    names = [html_pages.file_name(student) for student in NASTY]
    assert len({name.lower() for name in names}) == len(
        NASTY
    )  # also where Ada.html and ada.html are one file
    for name in names:
        assert (
            set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-")
            and 0 < len(name) <= 60
            and not name.startswith("-")
        )
        assert name not in ("con", "nul")


def test_a_plain_id_is_its_own_file_name():
    assert html_pages.file_name("ada_2") == "ada_2"


def test_an_id_that_looks_like_anothers_file_name_gets_another():
    other = html_pages.file_name("Ada")
    assert html_pages.file_name(other) != other


@pytest.mark.slow
@given(some.text())
def test_visible_text_holds_no_control_and_no_direction(text):
    assert not set(safe_text.visible(text)) & set(
        "\x00\x08\x1b\x7f\x85\u202a\u202e\u2066\u2069\u200e\u200f\u061c\ufeff\u2028\ud800"
    )


def test_what_is_invisible_is_spelled_out_and_what_is_needed_to_write_stays():
    assert (
        safe_text.visible("a\x1b[31m\u202eb\ud800\U000e0041")
        == "a\\x1b[31m\\u202eb\\ud800\\U000e0041"
    )
    assert (
        safe_text.visible("größer\tnaïve\n日本 \u0645\u06cc\u200c\u062e")
        == "größer\tnaïve\n日本 \u0645\u06cc\u200c\u062e"
    )


@pytest.mark.parametrize("text", ["x" * 1_000_000, "x\n" * 500_000, "x" * (safe_text.LETTERS + 1)])
def test_long_text_is_cut_and_the_rest_counted(text):
    shown = safe_text.visible(text)
    kept, _, told = shown.rpartition("\n... ")
    assert (
        len(kept) <= safe_text.LETTERS
        and kept.count("\n") < safe_text.LINES
        and text.startswith(kept)
    )
    assert told == f"{len(text) - len(kept):,} more characters"


def test_text_of_just_the_longest_length_is_not_cut():
    assert safe_text.visible("x" * safe_text.LETTERS) == "x" * safe_text.LETTERS


def test_a_page_that_did_not_change_is_not_written(tmp_path):
    html_pages.write(tmp_path, {"one.html": "1", "two.html": "2"})
    os.utime(tmp_path / "one.html", (1, 1))
    assert html_pages.write(tmp_path, {"one.html": "1", "two.html": "new"}) == [
        tmp_path / "two.html"
    ]
    assert (tmp_path / "one.html").stat().st_mtime == 1 and (tmp_path / "two.html").read_text(
        encoding="utf-8"
    ) == "new"

"""Pairs of submissions, on lesson 03 of this course: where answers are shortest, honest learners
look most alike.
"""

import json
import re
from pathlib import Path

import pytest
from commands import tito

from tito.cli.instructor.similar import read_works
from tito.grading.page import similarity
from tito.lesson import cells, course

REPOSITORY = Path(__file__).resolve().parents[4]
ENTRY = course.open_root(REPOSITORY).lesson("activations")
# Bodies for the four exercises, in their order: two people who did not talk.
ADA = [
    "return w1 @ w2, b1 @ w2 + b2",
    "return where(x > 0, x, 0)",
    "w1, b1 = Tensor([[1.0, 1.0], [1.0, 1.0]]), Tensor([0.0, -1.0])\n"
    "    w2, b2 = Tensor([[1.0], [-2.0]]), Tensor([0.0])\n    return w1, b1, w2, b2",
    "m = x.max(axis=axis, keepdims=True)\n    e = (x - m).exp()\n"
    "    return e / e.sum(axis=axis, keepdims=True)",
]
BOB = [
    "w = w1 @ w2\n    b = b1 @ w2 + b2\n    return w, b",
    "return x * (x > 0)",
    "return Tensor([[1., -1.], [-1., 1.]]), Tensor([0., 0.]), Tensor([[1.], [1.]]), Tensor([0.])",
    "powers = (x - x.max(axis, keepdims=True)).exp()\n    total = powers.sum(axis, keepdims=True)\n"
    "    return powers / total",
]
RENAMED = {"m": "largest", "e": "powers_of_e", "x": "given"}


def lesson(bodies):
    """The released lesson with these bodies in its exercises."""
    text = ENTRY.declared.released
    for exercise, body in zip(ENTRY.declared.exercises, bodies):
        text, times = re.subn(
            rf'raise NotImplementedError\("yours to write: tito hint {exercise.id}".*',
            lambda _: body,
            text,
        )
        assert times == 1
    return text


def disguised(text):
    """A copy with other names, comments and spacing, and with all functions moved to one cell at
    the end, in the opposite order.
    """
    mine = [cell.source for cell in cells.parse(ENTRY.script, text).cells if cell.exercise]
    for source in mine:
        text = text.replace(source, "#| export", 1)
    moved = (
        "\n\n".join(reversed(mine))
        .replace(" + ", "  +  ")
        .replace("    return", "    # the end\n    return")
    )
    return (
        text
        + "\n# %%\n"
        + re.sub(
            r"(?<![\w.])(\w+)\b(?! *\(|=)", lambda found: RENAMED.get(found[1], found[1]), moved
        )
    )


def hand_in(folder, **texts):
    for student, text in texts.items():
        path = folder / student / "activations_dev.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return folder


def pairs(folder, threshold=similarity.THRESHOLD):
    found, notes = similarity.compare_class([ENTRY], read_works(folder, [ENTRY]), threshold)
    return [(pair.one, pair.two) for pair in found], notes


def test_a_copy_with_other_names_and_moved_functions_is_found(tmp_path):
    hand_in(tmp_path, ada=lesson(ADA), bob=lesson(BOB), copier=disguised(lesson(ADA)))
    assert pairs(tmp_path)[0] == [("ada", "copier")]


def test_two_who_wrote_right_solutions_on_their_own_are_not_found(tmp_path):
    reference = ENTRY.script.read_text(encoding="utf-8")
    hand_in(tmp_path, ada=lesson(ADA), bob=lesson(BOB), cleo=reference)
    assert pairs(tmp_path) == ([], [])


def test_two_stubs_and_two_answers_of_one_line_are_not_found(tmp_path):
    hand_in(tmp_path, ada=lesson([]), bob=lesson([]), cleo=lesson(ADA[:2]), dora=lesson(ADA[:2]))
    assert pairs(tmp_path, 0) == ([], [])


def test_what_is_alike_and_too_short_to_tell_is_not_named_at_all(tmp_path):
    hand_in(tmp_path, **{f"ring{number}": lesson(ADA[:1]) for number in range(3)})
    assert pairs(tmp_path) == ([], [])


def test_a_ring_of_half_the_class_is_found(tmp_path):
    hand_in(
        tmp_path,
        **{f"ring{number}": lesson(ADA) for number in range(3)},
        bob=lesson(BOB),
        cleo=ENTRY.script.read_text(encoding="utf-8"),
        dora=lesson([]),
    )
    found, notes = pairs(tmp_path)
    assert found == [("ring0", "ring1"), ("ring0", "ring2")] and notes == []


def test_given_code_with_other_names_is_still_given(tmp_path):
    text = re.sub(r"\bcorners\b", "places", lesson([])).replace("outputs", "results")
    assert text.count("places") > 2 and text.count("results") > 2
    hand_in(tmp_path, ada=text, bob=text)
    assert pairs(tmp_path, 0) == ([], [])


def test_a_flood_of_pairs_is_cut_and_told(tmp_path, monkeypatch):
    monkeypatch.setattr(similarity, "LISTED", 2)
    hand_in(tmp_path, **{f"ring{number}": lesson(ADA) for number in range(4)}, bob=lesson(BOB))
    found, notes = pairs(tmp_path)
    assert found == [("ring0", "ring1"), ("ring0", "ring2")] and "3 pairs are that" in notes[0]


def test_a_submission_that_cannot_be_read_is_reported_and_the_rest_compared(tmp_path):
    hand_in(
        tmp_path,
        ada=lesson(ADA),
        bob=lesson(ADA),
        bad=b"\xff\xfe",
        worse="# %% exercise={\n",
        none="",
    )
    found, notes = pairs(tmp_path)
    assert found == [("ada", "bob")]
    assert [note.split(" was not")[0] for note in notes] == [
        "activations of bad",
        "activations of none",
        "activations of worse",
    ]


HOSTILE = [
    'x = "</pre><script>alert(1)</script>" + y + "<img src=//evil.example>" + z + f(1, 2, 3, 4)\n'
    * 9,
    "\u202e\u2066 = \x1b[31m\n" * 40,
    pytest.param("(" * 30_000, marks=pytest.mark.slow),
    "word" * 300_000,
    pytest.param("a " * 20_000, marks=pytest.mark.slow),
    pytest.param('"""' * 10_001, marks=pytest.mark.slow),
    pytest.param("def f(x):\n" * 11_000, marks=pytest.mark.slow),
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_escaped_and_bounded(tmp_path, text):
    text = f"# %%\n#| default_exp core.activations\n# %%\n{text}"
    hand_in(tmp_path / "class", ada=lesson(ADA) + text, bob=lesson(ADA) + text)
    found, notes = similarity.compare_class([ENTRY], read_works(tmp_path / "class", [ENTRY]), 0.1)
    for submission, works in read_works(tmp_path / "class", [ENTRY]):
        size = len(works["activations"])
        assert size < similarity.LETTERS or any(
            f"{submission.student} is too long" in note for note in notes
        )
    written = similarity.write(tmp_path / "pages", found, 0.1, [])
    assert [pair.page for pair in found] == [f"{ENTRY.number:02}-ada--bob.html"] and len(
        written
    ) == 2
    page = (tmp_path / "pages" / f"{ENTRY.number:02}-ada--bob.html").read_text(encoding="utf-8")
    assert len(page) < 2_000_000 and "<script" not in page and "<img" not in page
    assert not set(page) & set("\x1b\u202e\u2066")


def test_the_page_marks_what_both_have_and_not_what_the_course_gives(tmp_path):
    hand_in(tmp_path / "class", ada=lesson(ADA), bob=lesson(BOB), copier=disguised(lesson(ADA)))
    found, _ = similarity.compare_class([ENTRY], read_works(tmp_path / "class", [ENTRY]))
    similarity.write(tmp_path / "pages", found, similarity.THRESHOLD, [])
    page = (tmp_path / "pages" / f"{ENTRY.number:02}-ada--copier.html").read_text(encoding="utf-8")
    marked = re.findall(r"<mark>(.*?)</mark>", page, re.S)
    assert any("return w1 @ w2, b1 @ w2 + b2" in text for text in marked)
    assert any("powers_of_e" in text for text in marked)
    assert not any("Corners" in text for text in marked)


def test_similar_as_a_table_as_json_and_as_pages(tmp_path):
    hand_in(
        tmp_path / "class",
        ada=lesson(ADA),
        bob=lesson(BOB),
        copier=disguised(lesson(ADA)),
        bad=b"\xff",
    )
    words = ("similar", tmp_path / "class", "activations", "--output", tmp_path / "pages")
    out, err = tito(REPOSITORY, *words, code=1)
    assert (
        re.search(r"03 activations +ada +copier +\d+%", out)
        and "bob" not in out
        and "activations of bad was not compared" in err
        and "3 of 4 compared." in err
    )
    out, _ = tito(REPOSITORY, *words, "--json", code=1)
    (pair,) = json.loads(out)
    assert (pair["lesson"], pair["one"], pair["two"], pair["page"]) == (
        "activations",
        "ada",
        "copier",
        f"{ENTRY.number:02}-ada--copier.html",
    )
    assert similarity.THRESHOLD <= pair["similarity"] <= 1 and pair["tokens"] >= similarity.LEAST
    assert f'href="{ENTRY.number:02}-ada--copier.html"' in (
        tmp_path / "pages" / "index.html"
    ).read_text(encoding="utf-8")


@pytest.mark.slow
def test_similar_never_says_that_all_is_well_when_it_compared_nothing(tmp_path):
    hand_in(tmp_path / "class", ada=b"\xff", bob=b"\xff")
    (tmp_path / "class" / "cleo.rar").write_bytes(b"Rar!")
    out, err = tito(REPOSITORY, "similar", tmp_path / "class", "activations", code=1)
    assert out == "" and "tito: 0 of 3 compared." in err
    assert "cleo.rar was not compared: It contains no file of a lesson, but cleo.rar." in err
    hand_in(tmp_path / "one", ada=lesson(ADA))
    out, err = tito(REPOSITORY, "similar", tmp_path / "one", "activations", code=1)
    assert out == "" and "1 of 1 compared." in err
    tito(REPOSITORY, "similar", tmp_path / "pages", "activations", code=2)


def test_similar_within_a_section(tmp_path):
    ada = lesson(ADA)
    hand_in(tmp_path / "class", ada=ada, copier=disguised(ada), other=disguised(ada))
    (tmp_path / "class.csv").write_text("student,section\nada,A\ncopier,A\nother,B\n")
    where = ("--gradebook", tmp_path / "class.db")
    tito(REPOSITORY, *where, "gradebook", "roster", tmp_path / "class.csv")
    words = ("similar", tmp_path / "class", "activations", "--section", "A", "--json")
    out, _ = tito(REPOSITORY, *where, *words)
    assert [(pair["one"], pair["two"]) for pair in json.loads(out)] == [("ada", "copier")]


@pytest.mark.slow
def test_two_runs_write_the_same_bytes(tmp_path):
    copy = disguised(lesson(ADA))
    hand_in(tmp_path / "class", ada=lesson(ADA), bob=lesson(BOB), copier=copy, twin=copy)
    for name in ("one", "two"):  # two processes: Python's own hashes differ between them
        tito(
            REPOSITORY,
            "similar",
            tmp_path / "class",
            "activations",
            "--threshold",
            "0",
            "--output",
            tmp_path / name,
        )
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("one", "two")
    )
    assert one == two and len(one) >= 3


def test_similar_needs_a_course(small_workspace, tmp_path):
    assert "needs the course" in tito(small_workspace, "similar", tmp_path, "numbers", code=2)[1]

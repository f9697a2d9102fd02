"""The rooms of tito/ import one way, the drawing of it is made from the code, and the map of the
course."""

import runpy
from graphlib import CycleError
from pathlib import Path

import pytest

PROGRAM = runpy.run_path(str(Path(__file__).resolve().parents[2] / "book" / "imports.py"))
ROOMS = ["cli", "book", "author", "grading", "learn", "page", "lesson"]  # from the top down
COMMON = "child csv_tables errors files html import_hook safe_text settings views".split()


def test_each_room_imports_only_rooms_below_it():
    graph = PROGRAM["rooms"](PROGRAM["imports"]())
    assert sorted(graph) == sorted(ROOMS + COMMON)
    ranks = {name: rank for rank, name in enumerate(ROOMS)} | dict.fromkeys(COMMON, len(ROOMS))
    upward = [
        (room, other)
        for room, row in graph.items()
        for other in row
        if ranks[other] <= ranks[room] and not {room, other} <= {*COMMON}
    ]
    assert upward == []


def test_no_two_modules_import_each_other_even_indirectly():
    order = PROGRAM["order"](PROGRAM["imports"]())
    assert order[0] == "cli" and order[-1] in COMMON


def test_a_circle_is_reported(tmp_path):
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{name}.py").write_text(f"from tito import {other}\n", encoding="utf-8")
    edges = PROGRAM["imports"](tmp_path)
    assert edges == {"a": {"b"}, "b": {"a"}}
    with pytest.raises(CycleError):
        PROGRAM["order"](edges)


def test_the_drawing_names_every_room_and_counts_the_imports():
    edges = PROGRAM["imports"]()
    drawing = PROGRAM["drawn"](edges)
    graph = PROGRAM["rooms"](edges)
    total = sum(sum(row.values()) for row in graph.values())
    assert f"{len(graph)} rooms, {total} imports between them" in drawing
    assert all(f">{name}</text>" in drawing for name in graph)
    assert drawing.count("<path d=") == sum(map(len, graph.values())) + 1  # and the arrow's head


def test_the_course_map_leaves_out_what_follows_from_other_arrows():
    direct = runpy.run_path(str(Path(PROGRAM["__file__"]).with_name("course_map.py")))["direct"]
    graph = {"a": set(), "b": {"a"}, "c": {"a", "b"}, "d": {"a", "c"}}
    assert direct(graph) == {"a": set(), "b": {"a"}, "c": {"b"}, "d": {"c"}}

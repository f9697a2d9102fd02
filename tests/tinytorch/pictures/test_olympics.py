"""The pictures of lesson 25."""

from svg_contents import assert_on_page

from tinytorch.pictures.olympics import (
    draw_board,
    draw_front,
    draw_places,
    draw_ranks,
    draw_seeds,
    places,
)


def test_places_count_from_1_and_draw_a_line_for_each_entry():
    right = {"public": {"leaked": 9, "CNN": 8, "b": 7}, "fresh": {"leaked": 5, "CNN": 8, "b": 6}}
    assert places(right["fresh"]) == {"leaked": 3, "CNN": 1, "b": 2}
    assert places({"a": 2, "b": 5, "c": 2, "d": 1}) == {"a": 2, "b": 1, "c": 2, "d": 4}
    axes = draw_places(right).axes[0]
    assert [list(line.get_ydata()) for line in axes.lines[:3]] == [[1, 3], [2, 1], [3, 2]]
    assert axes.yaxis_inverted() and len({line.get_color() for line in axes.lines[:3]}) == 3


def test_the_front_is_a_staircase_in_the_order_of_costs():
    points = {"a": (0.9, 100), "b": (0.95, 10), "c": (0.99, 1000)}
    axes = draw_front(points, ["b", "c"], "bytes").axes[0]
    assert axes.lines[0].get_xdata().tolist() == [10, 1000]
    texts = {text.get_text(): text.get_color() for text in axes.texts}
    assert texts["b"] == texts["c"] != texts["a"] and axes.get_xlabel() == "bytes"
    assert [line.get_markerfacecolor() == "w" for line in axes.lines[1:]] == [True, False, False]


def test_intervals_of_higher_accuracy_are_further_right():
    ranks = {"t": ({"a": (0.5, 0.6), "b": (0.8, 0.9)}, {"a": 2, "b": 1})}
    drawing = draw_ranks(ranks)
    svg = drawing.svg()
    assert_on_page(drawing)
    assert "rank 2" in svg and svg.index("rank 2") < svg.index("rank 1</text>")


def test_the_board_shows_ranks_and_reasons():
    rows = [
        {"entry": name, "event": event, "right": right, "n": 4, "reason": reason}
        for name, event, right, reason in [
            ("MLP, 4 bits", "all", 3, ""),
            ("MLP, 4 bits", "under 5 kB", 0, "bytes"),
            ("CNN", "all", 4, ""),
            ("CNN", "under 5 kB", 0, "ValueError: nan"),
        ]
    ]
    drawing = draw_board(rows, {"all": {"MLP, 4 bits": 2, "CNN": 1}, "under 5 kB": {}})
    svg = drawing.svg()
    assert_on_page(drawing)
    for text in ("75.0%", "rank 2", "100.0%", "rank 1", ">bytes<", ">ValueError<"):
        assert text in svg
    assert "all: MLP, 4 bits 75.0% rank 2, CNN 100.0% rank 1; under 5 kB" in svg


def test_the_best_seed_of_each_test_has_another_colour():
    seeds = {0: [(0.9, 0.8, 0.95), (0.7, 0.6, 0.8)], 1: [(0.8, 0.7, 0.9), (0.75, 0.6, 0.9)]}
    axes = draw_seeds(seeds, ["public", "fresh"]).axes[0]
    first_public, first_fresh, second_public, second_fresh = [
        line.get_color() for line in axes.lines[::2]
    ]
    assert first_public == second_fresh != first_fresh == second_public

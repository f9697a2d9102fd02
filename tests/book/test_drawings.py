"""The drawings that can be touched: their numbers are the lessons' own, they are complete without
scripts, and in a browser they answer to the keyboard and the mouse with the engine's numbers."""

import functools
import importlib
import json
import math
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from browsers import chromium

from tinytorch import Tensor, Variable
from tinytorch.core.optimizers import momentum_update, sgd_update
from tinytorch.core.tensor import broadcast_shape
from tito.book import pages
from tito.lesson import course
from tito.page import drawings
from tito.page.parts import STATIC

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "book" / "drawings"))


def module(name):
    return importlib.import_module(name)


@functools.cache
def figures():
    """Every Figure with its script. Some train networks: seconds, for the slow tests only."""
    return list(runpy.run_path(str(REPOSITORY / "book" / "drawings" / "__main__.py"))["figures"]())


def figure(name):
    return next(one for _, one in figures() if one.name == name)


# Their numbers.


def test_the_graph_gets_the_gradients_of_the_lesson():
    graph = module("computation_graph")
    steps = graph.trace(graph.LESSON["inputs"], graph.LESSON["nodes"])
    right = {"L": 1, "f": 7, "g": 4, "e": 7, "c": 7, "d": 4, "b": 14, "a": -17}
    assert steps[-1]["grads"] == right
    assert any("a gets 7 * -3 = -21, added to 4: -17" in step["says"] for step in steps)


def test_the_expression_in_the_field_agrees_with_the_graph():
    graph = module("computation_graph")
    for example in (graph.LESSON, graph.PAGE):
        inputs = {name: Variable(value) for name, value in example["inputs"].items()}
        result = eval(example["expression"], inputs)
        result.backward()
        last = graph.trace(example["inputs"], example["nodes"])[-1]
        assert last["values"][example["nodes"][-1][0]] == result.data
        assert {name: last["grads"][name] for name in example["inputs"]} == {
            name: inputs[name].grad for name in example["inputs"]
        }


def test_a_gradient_that_overwrites_is_called_wrong():
    graph = module("computation_graph")
    last = graph.trace(graph.LESSON["inputs"], graph.LESSON["nodes"], overwrite=True)[-1]
    assert last["grads"]["a"] == -21 and "Wrong: a." in last["says"]


def test_a_node_that_goes_on_too_early_passes_on_a_part_of_its_gradient():
    graph = module("computation_graph")
    right, early = (
        graph.trace(graph.ORDER["inputs"], graph.ORDER["nodes"], early=early)[-1]["grads"]
        for early in (None, graph.ORDER["early"])
    )
    assert (right["h"], right["x"]) == (9, 36) and early["x"] == 4


def test_the_path_in_the_valley_agrees_with_the_lessons_closed_form():
    from tinytorch.pictures.optimizers import linear_path

    valley = module("valley")
    for rate, momentum in [(0.05, 0.0), (0.067, 0.0), (0.03, 0.9)]:
        expected = linear_path(valley.CURVATURES, valley.START, rate, momentum)
        assert np.allclose(valley.path(rate, momentum), expected)


def test_forward_and_reverse_mode_find_the_derivative_of_the_lesson():
    dual = module("dual_numbers")
    last = dual.steps(dual.FUNCTIONS["polynomial"]["nodes"], dual.START)[-1]
    assert last["value"]["y"] == 72 and last["tangent"]["y"] == last["gradient"]["x"] == 50
    assert last["gradient"] == {"y": 1, "q": 1, "r": 1, "p": 4, "x": 50}
    for x in (-1.5, 0.5):
        last = dual.steps(dual.FUNCTIONS["sine"]["nodes"], x)[-1]
        slope = math.sin(x * x) + 2 * x * x * math.cos(x * x)
        assert last["tangent"]["y"] == pytest.approx(slope)


@pytest.mark.slow
def test_the_trainer_stops_where_the_learning_curves_say():
    drawing = module("early_stopping")
    assert drawing.stopped(60, 10) == (37, 27)  # as in the lesson
    for count, patience in [(60, 4), (120, 20), (240, 5)]:
        trainer, train = drawing.trainer(), drawing.batches(count, 1, 30)
        validation = drawing.batches(300, 2, 128)
        trainer.fit(train, drawing.EPOCHS, validation=validation, patience=patience)
        stop, kept = drawing.stopped(count, patience)
        assert trainer.epoch == stop
        loss = drawing.history(count)["validation"][kept - 1]
        assert trainer.evaluate(validation)["loss"] == pytest.approx(loss, abs=1e-5)
        assert max(map(max, drawing.history(count).values())) <= drawing.HIGHEST


def test_only_batch_norm_in_training_lets_another_example_change_a_result():
    drawing = module("batch_norm")
    for shape, x in drawing.BATCHES.items():
        other = x.copy()
        other[1] += np.arange(other[1].size).reshape(other[1].shape)
        for setting in [("batch", "training"), ("batch", "evaluation"), ("layer", "training")]:
            first = [drawing.computed(shape, one, *setting)[0] for one in (x, other)]
            assert np.allclose(*first) == (setting != ("batch", "training"))
    places = [*range(4, 8), *range(12, 16), *range(20, 24)]
    assert drawing.group("images", 4, "batch", "training") == places


def test_each_pixel_gets_the_number_of_its_copies():
    state = module("im2col").numbers(1, 0)
    assert state["counts"] == [[1, 2, 2, 1], [2, 4, 4, 2], [2, 4, 4, 2], [1, 2, 2, 1]]
    assert state["columns"][0] == [0, 1, 4, 5] and state["outputs"] == [15, 18, 27, 30]
    assert "36 numbers from 16" in state["formula"]
    padded = module("im2col").numbers(1, 1)
    assert padded["size"] == 4 and padded["columns"][0][:5] == [-1] * 5 and padded["counts"][0] == [
        4, 6, 6, 4,
    ]  # fmt: skip


def test_attention_weights_share_100_percent_and_a_causal_mask_hides_what_follows():
    attention = module("attention")
    for causal in (False, True):
        _, weights, outputs = attention.numbers(attention.SENTENCE.split(), causal)
        assert np.allclose(weights.sum(axis=1), 1)
        assert not causal or not np.triu(weights, 1).any()
    assert outputs[4].argmax() == 0  # "it" collects a thing


def test_a_word_is_of_one_kind_and_fits_into_its_cell():
    attention = module("attention")
    words = [word for _, _, listed in attention.KINDS.values() for word in listed.split()]
    assert len(words) == len(set(words)) and max(map(len, words)) <= attention.LONGEST


def test_the_stream_after_each_block_is_what_the_logit_lens_of_lesson_18_reads():
    from tinytorch.core.interpretability import logit_lens

    drawing = module("residual_stream")
    model, tokenizer = drawing.small_gpt()
    for prompt in drawing.PROMPTS:
        lens = logit_lens(model, tokenizer.encode(prompt)[None])[:, -1].argmax(axis=-1)
        rows = [drawing.predictions(drawing.stream(prompt, ())[n])[0] for n in (0, 2, 4)]
        best = [tokenizer.token(int(i)).decode().replace(" ", "·") for i in lens]
        assert [row[0] for row in rows] == best
    assert "'ost' with 42 %" in drawing.numbers("Harriet Sm", (0,))["told"]
    still = drawing.numbers("of cour", (0, 1, 2, 3))
    assert all(row == still["rows"][0] for row in still["rows"])


@pytest.mark.slow
def test_training_brings_the_vowels_of_the_lesson_together():
    drawing = module("letter_neighbours")
    weights, bits, letters = drawing.trained()
    before, after = (drawing.nearest(weights[n], letters.index("a"), 5) for n in (0, -1))
    assert "".join(letters[i] for i in after) == "eouyi" and set(before) != set(after)
    assert bits[0] > 4.75 and sorted(bits, reverse=True) == bits
    for n in (0, -1):
        *at, origin = np.array(drawing.places(n))
        assert np.allclose(
            [drawing.cosine(*((at[i] - origin) * [1, -1] for i in (1, j))) for j in (2, 3)],
            [drawing.cosine(weights[n][1], weights[n][j]) for j in (2, 3)],
            atol=0.01,
        )


@pytest.mark.slow
def test_three_vectors_bring_the_prediction_back():
    shares, clean, corrupt = module("patch_map").numbers()
    assert clean > 0.9 and corrupt < 0.2 and shares.shape == (3, 11)
    path = shares[[0, 1, 2], [3, 4, 10]]
    assert path.min() > 0.95 and np.sort(np.abs(shares).ravel())[-4] < 0.1


def test_both_stripes_and_the_prediction_appear_during_the_training():
    drawing = module("induction_steps")
    states = drawing.numbers()
    for layer, (query, key) in enumerate((drawing.FIRST, drawing.SECOND)):
        share = [state["percent"][layer][query][key] for state in states]
        assert share[0] < 25 and share[-1] > 80
    for state in states:
        assert all(abs(sum(row) - 100) <= 6 for pattern in state["percent"] for row in pattern)
    assert "follows with a probability of 0.9" in states[-1]["told"]


def test_softmax_overflows_from_89_on_unless_the_largest_logit_is_subtracted():
    softmax = module("softmax")
    _, _, powers, shares = softmax.numbers(88, 1, "none")
    assert np.isinf(powers).all() and np.isnan(shares).all()
    for add, multiply in [(0, 1), (100, 1), (0, 2), (0, 0.5)]:
        exact = np.exp(multiply * np.array(softmax.LOGITS))
        shares = softmax.numbers(add, multiply, "max")[-1]
        assert np.allclose(shares, exact / exact.sum())
        if add == 0:
            assert np.allclose(softmax.numbers(add, multiply, "none")[-1], shares)


def test_the_filters_keep_the_tokens_that_the_lessons_text_names():
    sampling = module("sampling")
    kept = {name: (sampling.numbers(name, 1, None, 0.8)[1] > 0).sum() for name in sampling.PROMPTS}
    assert kept == {"unsure": 40, "sure": 2}
    shares, rest = sampling.numbers("unsure", 1, 3, 1)
    assert np.allclose(rest[:3], shares[:3] / shares[:3].sum()) and not rest[3:].any()


def test_a_cache_gives_the_same_outputs_with_fewer_multiplications():
    state = module("cache_steps").numbers()
    assert all(one["with"] == one["without"] for one in state["outputs"])
    for n, (row, output) in enumerate(zip(state["weights"], state["outputs"]), 1):
        values = np.array(state["columns"])[:n, 2:]
        assert np.allclose(row @ values, output["with"], atol=0.03) and len(row) == n
    assert [[one[way][2] for way in ("without", "with")] for one in state["costs"]][-1] == [
        6 * (4 * 2 * 3) + 21 * (2 + 2),
        4 * 2 * 3 + 6 * (2 + 2),
    ]


def test_ten_merges_leave_the_29_tokens_that_the_lesson_draws():
    drawing = module("bpe_merges")
    states = drawing.merges(drawing.TEXT)
    assert [len(states[n]["tokens"]) for n in (0, 10)] == [69, 29]
    for state in states:
        assert "".join(state["tokens"]) == drawing.TEXT.replace(" ", "·")
        assert state["pairs"][0][1] >= 2 or state is states[-1]


def test_cross_entropy_needs_9_steps_and_the_squared_error_1507():
    walks = module("two_losses").walk(-8.0)
    assert [walk["steps"] for walk in walks.values()] == [9, 1507]
    start = module("two_losses").walk(-8.0, 0)
    p = 1 / (1 + math.exp(8))
    assert start["cross-entropy"]["gradient"] == pytest.approx(p - 1)
    assert start["squared error"]["gradient"] == pytest.approx(2 * (p - 1) * p * (1 - p))


def test_the_gradient_of_cross_entropy_turns_round_when_the_network_is_surer_than_its_target():
    drawing = module("softmax_minus_target")
    first, sure = drawing.numbers([2.0, 1.0, 0.0], 1), drawing.numbers([6.0, 0.0, 0.0], 0, 0.1)
    assert np.allclose(first["gradient"], [0.665, -0.755, 0.090], atol=5e-4)
    assert sure["target"] == pytest.approx([0.9333, 0.0333, 0.0333], abs=1e-4)
    for state in (first, sure):
        difference = np.subtract(state["probability"], state["target"])
        assert np.allclose(state["gradient"], difference) and abs(difference.sum()) < 1e-12
    assert sure["gradient"][0] > 0
    assert drawing.numbers(drawing.stepped(first), 1)["loss"] == pytest.approx(0.596, abs=5e-4)


def test_multiplying_by_broadcasting_costs_the_array_of_products():
    product = module("matrix_product")
    assert "884,736 numbers, 3,538,944 bytes" in product.price(96)
    assert product.told(0, 0, 7).endswith("1 * 1 + 2 * 0 + 3 * 2 = 7.")


def test_the_gradient_of_a_broadcast_bias_is_what_finite_differences_say():
    gradient = module("broadcast_gradient")
    states = {name: gradient.numbers(shape) for name, shape in gradient.SHAPES.items()}
    assert states["4"]["sums"] == states["1 4"]["sums"] == [12, 15, 18, 21]
    assert states["3 1"]["sums"] == [6, 22, 38]
    assert all(state["sums"] == state["differences"] for state in states.values())
    assert states["4"]["means"][0] == 4


def test_strides_lead_to_the_positions_of_the_transposed_array():
    strides = module("strides")
    assert strides.numbers("view")["order"].endswith("positions 0, 3, 1, 4, 2, 5.")
    for name, array in [("x", strides.X), ("view", strides.X.T), ("copy", strides.X.T)]:
        state = strides.numbers(name)
        assert state["grid"] == array.tolist()
        found = [state["memory"][strides.position(state, i, j)] for i, j in np.ndindex(array.shape)]
        assert found == array.ravel().tolist()
    assert strides.hops(strides.numbers("x"), 1, 2) == [(0, 3), (3, 4), (4, 5)]


def test_a_bias_of_a_column_is_added_per_example_or_refused():
    dense = module("dense")
    right, column = dense.numbers("4", 3)["y"], dense.numbers("3 1", 3)["y"]
    assert right == [[11, 22, 41, 43], [10, 19, 26, 38], [13, 20.5, 41, 38]]
    assert np.subtract(column, right).tolist() == [
        [100 * (i + 1) - 10 * (j + 1) for j in range(4)] for i in range(3)
    ]
    assert "do not broadcast" in dense.numbers("3 1", 2)["error"]


def test_twenty_layers_keep_a_signal_at_one_size_of_the_weights_only():
    layers = module("twenty_layers")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 100))
    for _ in range(20):
        x = x @ rng.normal(0, 0.2, (100, 100))
    assert layers.numbers("linear", 4)["stds"][-1] == pytest.approx(x.std(), rel=1e-4)
    last = {
        name: [layers.numbers(name, n)["stds"][-1] for n in range(5)] for name in layers.ACTIVATIONS
    }
    assert last["linear"][0] < 1e-20 and 0.5 < last["linear"][2] < 2 and last["linear"][4] > 9e5
    assert last["relu"][2] < 0.01 and 0.5 < last["relu"][3] < 2
    assert last["tanh"][4] == pytest.approx(0.73, abs=0.01)


def test_a_step_of_33_avoids_the_bank_conflicts_of_a_step_of_32():
    drawing = module("warp_steps")
    told = {step: drawing.numbers(step)["told"] for step in drawing.STEPS}
    assert "1 transaction, which moves 128 bytes" in told[1] and "0 bank conflicts" in told[1]
    assert "32 transactions, which move 4,096 bytes" in told[32] and "31 bank conf" in told[32]
    assert "0 bank conflicts" in told[33] and "1 bank conflict." in told[2]
    assert max(step * 31 * 4 // 128 for step in drawing.STEPS) < drawing.PIECES


def test_a_tile_of_33_columns_has_no_conflict_and_32_columns_one_bank_for_a_column():
    drawing = module("tile_banks")
    counts = {(c, way): drawing.conflicts(c, way, 5) for c in (32, 33) for way in drawing.WAYS}
    assert counts.pop((32, "column")) == 31 and set(counts.values()) == {0}
    assert "all in bank 5" in drawing.told(32, "column", 5)


def test_a_tree_adds_all_numbers_in_either_order():
    drawing = module("sum_tree")
    for order, conflicts in [("halves", 0), ("neighbours", 15)]:
        rows, _ = drawing.run(order, drawing.NUMBERS)
        assert rows[-1][0] == sum(drawing.NUMBERS) and drawing.run(order, [1] * 64)[1] == conflicts


def test_softmax_writes_what_other_loops_need():
    drawing = module("program_groups")
    one, single = drawing.numbers("softmax groups"), drawing.numbers("softmax single")
    assert one["groups"] == [0, 1, 1, 1, 2] and one["kept"] == [True, False, True, True, True]
    assert all(single["kept"]) and (one["bytes"], single["bytes"]) == (704, 1088)


def test_a_point_of_the_roofline_waits_for_the_longer_of_two_times():
    drawing = module("roofline")
    assert "so it waits for memory; at best 53.3 billion" in drawing.told("matmul", 4, 100, 20)
    assert "so it waits for arithmetic; at best 100 billion" in drawing.told("matmul", 4, 100, 80)
    low, high = drawing.lines(100, 20)["memory"]
    assert low[0] < high[0] and low[1] > high[1] and high == drawing.lines(100, 20)["ridge"][0]


@pytest.mark.slow
def test_drift_makes_winners_in_a_a_tests_unless_they_are_interleaved():
    drawing = module("aa_intervals")
    states = figure("aa_intervals").state["states"]
    apart, turns = np.sum([one["winners"] for one in states["drift"]], axis=0) / (6 * 40)
    assert apart > 0.4 and turns < 0.1
    assert (np.sum([one["winners"] for one in states["steady"]], axis=0) < 0.1 * 6 * 40).all()
    for one in states["drift"]:
        assert [one["lines"][way]["wrong"].count("M") for way in drawing.WAYS] == one["winners"]


@pytest.mark.slow
def test_a_figure_is_complete_without_scripts():
    for script, one in figures():
        html = one.html(script)
        shown = re.sub(r"<template.*?</template>|<script.*?</script>", "", html, flags=re.S)
        assert len(re.findall(r"<[a-z]", shown)) <= 250, one.name
        svgs = re.findall(r"<svg role=.*?</svg>", shown, re.S)
        assert svgs and all("<title" in svg and "<desc" in svg for svg in svgs), one.name
        assert one.steps and all(step.endswith(".") for step in [*one.steps, one.caption])
        assert "\n" not in html, one.name
        assert (STATIC / "drawings" / f"{script}.js").exists()
        ids = re.findall(r' id="([^"]*)"', shown)
        assert len(ids) == len(set(ids)), one.name
        small = [text for text in re.findall(r'font-size[:=]"?(\d+)', html) if int(text) < 13]
        assert small == [], one.name


def test_a_drawing_that_answers_a_question_is_folded_without_scripts():
    sheet = module("figure")
    panel = sheet.Panel("two numbers", "1 and 2")
    one = sheet.Figure("two", "Two", "Two.", [panel], ["One.", "Two."], question="Which?")
    folded = re.search(r"<details.*</details>", one.html("two"), re.S)[0]
    assert "<summary>Which?</summary>" in folded and "<li>Two.</li>" in folded and "<svg" in folded


@pytest.mark.slow
def test_every_drawing_finds_its_place_in_its_lesson():
    found = []
    for entry in course.open_root(REPOSITORY).lessons:
        own = drawings.read(entry.declared_path.parent)
        parts = [part for page in pages.of_lesson(entry, {}, [], own) for part in page.parts]
        text = "".join(part.source for part in parts if part.kind == "html")
        found += re.findall(r'id="figure-(\w+)"', text)
    assert sorted(found) == sorted(one.name for _, one in figures() if one.lesson)


NUMBERS = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


@pytest.mark.slow
def test_what_is_stored_is_what_is_drawn_now():
    """`python book/drawings` writes it. Kernels of BLAS round differently, so a last digit may be
    one more or less on another processor: 8 % of the attention is 7 % there.
    """
    program = runpy.run_path(str(REPOSITORY / "book" / "drawings" / "__main__.py"))
    for path, rows in program["described"]().items():
        stored = drawings.read(path.parent)
        assert [row["name"] for row in stored] == [row["name"] for row in rows], path
        for old, new in zip(stored, json.loads(json.dumps(rows)), strict=True):
            assert old | {"html": ""} == new | {"html": ""}
            texts = [row["html"] for row in (old, new)]
            assert len({NUMBERS.sub("#", text) for text in texts}) == 1, old["name"]
            for was, now in zip(*map(NUMBERS.findall, texts), strict=True):
                unit = 10.0 ** -len(was.partition("e")[0].partition(".")[2])
                apart = abs(float(was) - float(now))
                most = 1.001 * max(unit, 0.001) + 0.01 * abs(float(was))
                assert apart <= most, (old["name"], was, now)


@pytest.mark.slow
def test_figures_have_different_names():
    names = [one.name for _, one in figures()]
    assert len(names) == len(set(names)) and all(re.fullmatch(r"[a-z0-9_]+", n) for n in names)


# In a browser. `drive_SCRIPT(page, figure)` drives the drawings of one script: `figure` is the
# locator of the first of them.


def page_of(folder):
    """A page with every drawing and nothing else, as a file."""
    parts = [one.html(script) for script, one in figures()]
    scripts = "".join(
        f'<script defer src="{path.as_uri()}"></script>'
        for path in [
            STATIC / "drawing.js",
            *dict.fromkeys(STATIC / "drawings" / f"{script}.js" for script, _ in figures()),
        ]
    )
    path = folder / "drawings.html"
    path.write_text(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Drawings</title>'
        '<meta name="viewport" content="width=device-width">'
        f'<link rel="stylesheet" href="{(STATIC / "page.css").as_uri()}">{scripts}'
        "<style>body{display:block;margin:16px;font:16px sans-serif}main{padding:0}</style></head>"
        f"<body><main><h1>Drawings</h1>{''.join(parts)}</main></body></html>",
        encoding="utf-8",
    )
    return path.as_uri()


def said(figure):
    return figure.locator(".says").inner_text()


TEXTS = """figure => Object.fromEntries([...figure.querySelectorAll('[data-key$=" text"]')].map(
    one => [one.dataset.key.replace(/ text$/, ''), one.textContent]))"""


def cells(figure, start=""):
    """{key: text} of the cells whose keys begin with a word."""
    texts = figure.evaluate(TEXTS)
    return {key: text for key, text in texts.items() if key.split(" ")[0] == start or not start}


def written(*panels):
    """{key: text} of the cells of Panels, as `cells` of a figure."""
    drawn = "".join(panel.svg() for panel in panels)
    return dict(re.findall(r'data-key="([^"]*) text"[^>]*>([^<]*)<', drawn))


def numbers(figure, start):
    return [float(text) for text in cells(figure, start).values()]


# Expressions for the field of the computation graph, and its messages about mistakes.
OWN = """
    (w * x + b - y) ** 2 | a*b + c*d - e/f | x * x * x | -x ** 2 + 3*x - 4
    | (x + y) * (x - y) / (x*y) | (x*x + y*y) ** .5 + x | 2 ** 3 ** 0 * x1 - -x1
    | x ** -2 * (1 - 3) | a + b + c + d + e | a * (b + c) + b * (a + c)
    | tanh(w * x + b) | relu(w * x + b) ** 2 | exp(a) / (exp(a) + exp(b)) | relu(a - a)
    | (w * x + b).tanh() * 2 | log(x * x + 1) + sin(-x) | -exp(x / 2).relu() ** 2
""".replace("\n", "").split("|")
MISTAKES = {
    "": "Write an expression",
    "x * (y + ": "After + a name or a number is missing.",
    "x * / y": "Before / a name or a number is missing.",
    "2x": "Between 2 and x an operator is missing",
    "(x + y": "A ( is not closed.",
    "x + y)": "There is a ) without its (.",
    "y = x * 2": "Write only what comes after =.",
    "x ^ 2": "Python writes a power with **",
    "x ** y": "The exponent of ** must be a number",
    "sqrt(x)": "The function sqrt is not known here: use tanh, exp, relu, log, sin.",
    "tanh * x": "Write tanh(x): tanh is a function.",
    "x.tanh(y)": "Write tanh(x), or x.tanh() with nothing in the parentheses.",
    "x.T": ". is not known here",
    "weight * x": "The name weight does not fit",
    "x @ y": "@ is not known here",
    "x / (1 - 1) + 1 / 0": "1 / 0 is not a finite number.",
    "2 + 3": "a number has no gradient",
    "x": "Compute something with x",
    "(((x + y) * x + y) * x + y) * x + y": "6 fit",
    "(a + b) * (c + d) + (e + f) * (g + h)": "4 fit",
}


def drive_own_expressions(page, figure):
    graph = module("computation_graph")
    field = figure.get_by_label("Expression")
    before = cells(figure)

    def compare(expression):
        listed = [one.split(" = ") for one in figure.locator("[data-value]").all_inner_texts()]
        for number_of in (Variable, graph.Value):
            inputs = {name: number_of(float(value)) for name, value in listed}
            result = eval(expression.strip(), graph.FUNCTIONS | inputs)
            result.backward() if number_of is Variable else graph.backward(result)
            shown = cells(figure)
            assert {name: shown[f"grad {name}"] for name in inputs} == {
                name: graph.fitting(float(one.grad)) for name, one in inputs.items()
            }, expression
            value = figure.locator('[data-key^="value "]').last.text_content()
            assert value == graph.number(float(result.data)), expression

    for expression in OWN:
        field.fill(expression)
        assert said(figure).startswith("Done. ") and all(cells(figure).values())
        compare(expression)
        figure.get_by_role("button", name="plus 1").first.press("Enter")
        compare(expression)
        assert field.get_attribute("aria-invalid") == "false"
        boxes = figure.locator('rect[data-key^="box "]').all()
        corners = {tuple(box.get_attribute(one) for one in "xy") for box in boxes}
        assert len(corners) == len(boxes) and figure.locator("*:not(template *)").count() <= 250
    field.fill("x * x * x")
    figure.get_by_label("overwrites (=)").check()
    figure.get_by_role("button", name="Backward pass").click()
    assert "Wrong: x." in said(figure)
    figure.get_by_label("is added (+=)").check()
    field.fill("z / (z - z)")
    figure.get_by_role("button", name="Backward pass").click()
    assert said(figure).endswith(
        "the result or its derivative is not a finite number. Change z or p."
    )
    for expression, sentence in MISTAKES.items():
        field.fill(expression)
        assert sentence in said(figure) and field.get_attribute("aria-invalid") == "true"
    nodes = [["p", "*", ["w", "x"]], ["q", "+", ["p", "b"]], ["y", "tanh", ["q"]]]
    figure.get_by_role("button", name="tanh(w * x + b)").click()
    for step in reversed(graph.trace(graph.EXAMPLES["tanh(w * x + b)"], nodes)):
        assert said(figure) == step["says"]
        figure.get_by_role("button", name="Back", exact=True).click(force=True)
    for expression in graph.EXAMPLES:
        figure.get_by_role("button", name=expression, exact=True).click()
        assert field.input_value() == expression
        compare(expression)
    figure.get_by_role("button", name="(x * y + x) ** 2", exact=True).press("Enter")
    assert said(figure).startswith("Done. ") and cells(figure).keys() == before.keys()


def drive_computation_graph(page, figure):
    graph = module("computation_graph")
    inputs, nodes = dict(graph.LESSON["inputs"]), graph.LESSON["nodes"]

    def compare(overwrite=False):
        steps = graph.trace(inputs, nodes, overwrite)
        slider = figure.locator("[name=step]")
        slider.focus()
        page.keyboard.press("Home")
        for step in steps:
            assert said(figure) == step["says"]
            expected = {f"grad {name}": "" for name in step["values"] | steps[-1]["grads"]}
            expected |= {
                f"grad {name}": graph.fitting(grad) for name, grad in step["grads"].items()
            }
            assert cells(figure) == expected
            page.keyboard.press("ArrowRight")
        assert figure.get_by_role("button", name="Next").is_disabled()

    assert said(figure) == "Done. The gradients of the inputs: a -17, b 14, c 7, d 4."
    assert cells(figure)["grad a"] == "grad -17"
    figure.get_by_role("button", name="Clear").click()
    assert said(figure) == "The inputs: a = 2, b = -3, c = 10, d = 5."
    assert cells(figure)["grad a"] == ""
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert cells(figure)["grad a"] == "grad -17"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    compare()
    figure.get_by_role("button", name="a plus 1").click()
    for _ in range(3):
        figure.get_by_role("button", name="b minus 1").press("Enter")
    inputs["a"], inputs["b"] = 3.0, -6.0
    compare()
    a, b, c, d = (Variable(value) for value in inputs.values())
    ((a * b + c) * (a + d)).backward()
    for name, variable in zip("abcd", (a, b, c, d)):
        assert cells(figure)[f"grad {name}"] == f"grad {float(variable.grad):g}"
    figure.get_by_label("overwrites (=)").check()
    compare(overwrite=True)
    assert "wrong" in figure.locator('[data-key="grad a"]').get_attribute("class")
    figure.get_by_role("button", name="Forward pass").click()
    assert cells(figure)["grad a"] == "" and "L = f * g" in said(figure)
    drive_own_expressions(page, page.locator("#figure-autograd_graph"))
    order = page.locator("#figure-order")
    order.get_by_label("level by level").check()
    order.get_by_role("button", name="Backward pass").click()
    early = graph.trace(graph.ORDER["inputs"], graph.ORDER["nodes"], early=graph.ORDER["early"])
    assert said(order) == early[-1]["says"] and cells(order)["grad x"] == "grad 4"


def drive_dual_numbers(page, figure):
    dual = module("dual_numbers")
    step, x = figure.locator("[name=step]"), figure.get_by_label("x =")
    for name, settings in [("polynomial", [4, -2.5, 0]), ("sine", [0, -5, 1.5])]:
        figure.get_by_role("radio", name=dual.FUNCTIONS[name]["text"]).check()
        for value in settings:
            x.fill(str(value))
            step.focus()
            page.keyboard.press("Home")
            steps = dual.steps(dual.FUNCTIONS[name]["nodes"], value)
            for now in steps:
                assert said(figure) == now["says"]
                for column in dual.COLUMNS:
                    expected = [now[column].get(one) for one in steps[-1]["value"]]
                    shown = list(cells(figure, column).values())
                    assert shown == ["" if n is None else dual.number(n) for n in expected]
                page.keyboard.press("ArrowRight")
            assert figure.get_by_role("button", name="Next").is_disabled()
    x.focus()
    page.keyboard.press("ArrowRight")
    assert said(figure) == dual.steps(dual.FUNCTIONS["sine"]["nodes"], 2)[-1]["says"]


def drive_early_stopping(page, figure):
    drawing = module("early_stopping")
    patience = figure.get_by_label("patience")
    assert said(figure) == drawing.told(60, 10)
    for count in drawing.COUNTS:
        figure.get_by_label(str(count), exact=True).check()
        patience.focus()
        page.keyboard.press("Home")
        for steps in range(1, drawing.MOST + 1):
            assert said(figure) == drawing.told(count, steps)
            page.keyboard.press("ArrowRight")
        stop, kept = drawing.stopped(count, drawing.MOST)
        run = figure.locator('[data-key="validation run"]').get_attribute("points")
        losses = drawing.history(count)["validation"]
        shown, wanted = (
            [float(one) for one in re.split("[ ,]", points)]
            for points in (run, drawing.points(losses[:stop]))
        )
        assert shown == pytest.approx(wanted, abs=0.11)
        dot = figure.locator('[data-key="kept"]')
        place = [float(dot.get_attribute(key)) for key in ("cx", "cy")]
        wanted = map(float, drawing.place(kept, losses[kept - 1]))
        assert place == pytest.approx(list(wanted), abs=0.11)


def drive_batch_norm(page, figure):
    drawing = module("batch_norm")

    def compare(figure, shape, x, at, method, mode, column="channel"):
        assert said(figure) == drawing.told(shape, x, at, method, mode, column)
        y = drawing.computed(shape, x, method, mode)
        assert list(cells(figure, "y").values()) == [f"{one:.2f}" for one in y.ravel()]
        own = drawing.group(shape, at, method, mode)
        assert figure.locator('rect.value[data-key^="x "]').count() == len(own)

    figure.get_by_label("over axis 1").check()
    compare(figure, "table", drawing.BATCHES["table"], 0, "layer", "training", "feature")
    figure = page.locator("#figure-batch_norm")
    shapes = [("table", "(B, C)", [5, 6, 10]), ("images", "(B, C, H, W)", [0, 1, 3])]
    for shape, label, path in shapes:
        figure.get_by_label(label, exact=True).check()
        x = drawing.BATCHES[shape].copy()
        figure.locator(f'[data-key="x {path[0]}"]').click()
        figure.locator(f'[data-key="x {path[0]}"]').focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowDown")
        for method, label in drawing.METHODS.items():
            for mode in ("evaluation", "training"):
                figure.get_by_role("radio", name=label).check()
                figure.get_by_label(mode).check()
                compare(figure, shape, x, path[-1], method, mode)
                figure.get_by_role("button", name="plus 1").press("Enter")
                x.ravel()[path[-1]] += 1
                compare(figure, shape, x, path[-1], method, mode)


def drive_broadcasting(page, figure):
    assert numbers(figure, "result") == [11, 22, 33, 14, 25, 36]
    first = figure.locator('[data-key="result 0 0"]')
    first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert said(figure) == "result[1, 1] = a[1, 1] + b[1] = 5 + 20 = 25."
    figure.get_by_label("guesses").check()
    guesses, targets = module("broadcasting").GUESSES, module("broadcasting").TARGETS
    assert numbers(figure, "result") == (Tensor(guesses) - Tensor(targets)).data.ravel().tolist()
    assert figure.locator('.wrong[data-key^="result"]').count() == 6
    figure.get_by_label("(2, 3) + (2,)").check()
    assert "ValueError" in said(figure) and "3 and 2" in said(figure)
    assert figure.locator('rect.wrong[data-key^="length"]').count() == 2
    for a, b in [((3, 1), (1, 4)), ((4,), (2, 1)), ((2, 1, 5, 4), (3, 1, 4))]:
        figure.get_by_label("shape of a").fill(str(a))
        figure.get_by_label("shape of b").fill(str(b).strip("()"))
        lengths = [n for key, n in cells(figure, "length").items() if "result" in key]
        assert tuple(map(int, lengths)) == broadcast_shape(a, b)
        if len(a) <= 2:
            x, y = (np.arange(1.0, np.prod(s) + 1).reshape(s) * n for s, n in ((a, 1), (b, 10)))
            assert numbers(figure, "result") == (Tensor(x) + Tensor(y)).data.ravel().tolist()
    figure.get_by_label("shape of a").fill("(2, x)")
    assert said(figure).startswith("Write a shape")
    figure.get_by_label("(2, 3) + (3,)").check()


def drive_valley(page, figure):
    valley = module("valley")

    def compare(rate, momentum, step=valley.STEPS, start=valley.START):
        w, velocity = np.array(start), np.zeros(2)
        for _ in range(step):
            gradient = np.array(valley.CURVATURES) * w
            sgd_update(w, momentum_update(velocity, gradient, momentum), rate)
        w0, w1, loss = (valley.number(x) for x in (w[0], w[1], valley.loss(w)))
        assert f"After {step} steps: w0 = {w0}, w1 = {w1}, loss {loss}." in said(figure)

    compare(0.05, 0.0)
    figure.get_by_label("learning rate").focus()
    page.keyboard.press("ArrowRight")
    compare(0.051, 0.0)
    page.keyboard.press("End")
    compare(0.07, 0.0)
    assert "It diverges" in said(figure)
    figure.get_by_label("0.7", exact=True).check()
    compare(0.07, 0.7)
    figure.get_by_label("step", exact=True).focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    compare(0.07, 0.7, 47)
    figure.get_by_role("button", name="Play").click()
    compare(0.07, 0.7)  # at once, for who wants reduced motion
    handle = figure.locator(".handle")
    assert figure.get_by_text("drag me").count() == 1
    handle.hover()
    page.mouse.down()
    box = figure.locator("svg[role]").first.bounding_box()
    page.mouse.move(box["x"] + 16 * valley.SCALE, box["y"] + valley.HIGH / 2 + valley.SCALE)
    page.mouse.up()
    compare(0.07, 0.7, start=(5.0, -1.0))
    assert said(figure).startswith("From (5, -1): ") and not figure.get_by_text("drag me").count()
    handle.focus()
    page.keyboard.press("ArrowLeft")
    compare(0.07, 0.7, start=(4.5, -1.0))
    page.mouse.move(box["x"] + 40, box["y"] + 40)
    assert said(figure).startswith("From (4.5, -1): ")


def drive_im2col(page, figure):
    im2col = module("im2col")
    assert said(figure) == im2col.numbers(1, 0)["formula"]
    figure.locator('[data-key="output 0 0"]').focus()
    page.keyboard.press("ArrowRight")
    assert said(figure).endswith("1 + 6 + 11 = 18.")
    figure.locator('[data-key="weight 0 0"]').click()
    assert "multiplies: 0, 1, 4, 5." in said(figure)
    table = figure.locator('[data-key="row"]')
    box = table.bounding_box()
    page.mouse.click(box["x"] + 10, box["y"] + 10)  # the place of pixel 0, its one copy
    assert said(figure) == "Pixel 0 was copied to 1 place."
    for stride, padding in [(2, 1), (1, 1), (2, 0), (1, 0)]:
        figure.get_by_role("group", name="stride").get_by_label(str(stride)).check()
        figure.get_by_role("group", name="padding").get_by_label(str(padding)).check()
        state = im2col.numbers(stride, padding)
        assert said(figure) == state["formula"]
        assert numbers(figure, "output") == state["outputs"]
        figure.get_by_label("backward").check()
        assert numbers(figure, "pixel") == np.ravel(state["counts"]).tolist()
        assert f"= {state['counts'][1][1]:g}." in said(figure) or state["counts"][1][1] == 1
        assert figure.locator("*").count() <= 250
        figure.get_by_label("forward").check()


def drive_attention(page, figure):
    attention = module("attention")
    field = figure.get_by_label("Your sentence")

    def compare(text, chosen):
        words = text.split()
        for label, causal in [("none", False), ("causal", True)]:
            figure.get_by_label(label).check()
            for i in chosen:
                figure.locator(f'[data-key="word {i}"]').click()
                panel = attention.panel(words, causal, i)
                assert cells(figure) == written(panel)
                assert said(figure) == attention.told(words, causal, i)
        assert figure.locator('[data-key="bars 1"]').get_attribute("d") in panel.svg()
        assert figure.locator("*:not(template *)").count() <= 250

    compare(attention.SENTENCE, (0, 4, 6))
    for text in ("the dog saw my red ball and barked", "x x x x x x x x"):
        field.fill(text + " !")
        compare(text, (1, 7))
    for text in ("", "one two three four five six seven eight nine", "transformers"):
        field.fill(text)
        assert "still shows" in said(figure) and field.get_attribute("aria-invalid") == "true"
    field.fill(attention.SENTENCE)
    assert field.get_attribute("aria-invalid") == "false"
    figure.locator('[data-key="word 6"]').focus()
    page.keyboard.press("ArrowUp")
    assert said(figure).startswith("'was' counts as an auxiliary verb")


def drive_induction_steps(page, figure):
    states = module("induction_steps").numbers()
    assert said(figure) == states[0]["told"]
    figure.get_by_label("training steps").focus()
    page.keyboard.press("End")
    assert said(figure) == states[-1]["told"]
    stripe = figure.locator('[data-key="cell 1 10 4"]').get_attribute("fill-opacity")
    assert float(stripe) == states[-1]["percent"][1][10][4] / 100


def drive_residual_stream(page, figure):
    drawing = module("residual_stream")
    for prompt, off in [("Harriet Sm", (0,)), ("of cour", (0, 1, 2, 3)), ("of cour", (2,))]:
        figure.get_by_label(prompt).check()
        for number, part in enumerate(drawing.PARTS):
            figure.get_by_label(part).set_checked(number not in off)
        state = drawing.numbers(prompt, off)
        assert said(figure) == state["told"]
        assert cells(figure) == written(panel := drawing.panel(state))
        assert figure.locator('[stroke-dasharray].muted[data-key^="part"]').count() == len(off)
        assert figure.locator('[data-key="bars 4"]').get_attribute("d") in panel.svg()
    page.keyboard.press("Tab")
    figure.get_by_label("attention 2").press("Space")
    assert said(figure) == drawing.numbers("of cour", ())["told"]


def drive_letter_neighbours(page, figure):
    drawing = module("letter_neighbours")
    step, letter = figure.get_by_label("training steps"), 1
    for n, key, to in [(0, "ArrowRight", 2), (3, "ArrowDown", 11), (5, "ArrowDown", 20)]:
        step.fill(str(n))
        assert said(figure) == drawing.told(n, letter)
        figure.locator(f'[data-key="choose {letter}"]').focus()
        page.keyboard.press(key)
        assert said(figure) == drawing.told(n, letter := to)
        drawn = drawing.panel(n, letter).svg()
        for part in ("up", "across", "ray chosen", "ray 0", "ray 4"):
            assert figure.locator(f'[data-key="{part}"]').get_attribute("points") in drawn
        assert figure.locator(".cell.value").count() == drawn.count("cell value")


def drive_patch_map(page, figure):
    patch_map = module("patch_map")
    found = patch_map.numbers()
    assert said(figure) == patch_map.told(0, patch_map.CHANGED, *found)
    for row, position in [(1, 4), (1, 3), (2, 10), (2, 0)]:
        figure.locator(f'[data-key="cell {row} {position}"]').click()
        assert said(figure) == patch_map.told(row, position, *found)
    page.keyboard.press("ArrowUp")
    assert said(figure) == patch_map.told(1, 0, *found)
    texts = list(cells(figure, "cell").values())
    assert [texts.index("1.00"), texts.count("1.00"), texts.count("0")] == [3, 3, 30]


def drive_softmax(page, figure):
    softmax = module("softmax")
    add = figure.get_by_label("then add")
    for plus, times, shift in [(0, 1, "none"), (88, 1, "none"), (88, 1, "max"), (-5, 2, "none")]:
        add.fill(str(plus))
        figure.get_by_label("multiply the logits").fill(str(times))
        figure.get_by_label(softmax.SHIFTS[shift]).check()
        rows = softmax.numbers(plus, times, shift)
        assert said(figure) == softmax.told(*rows)
        for kind, row in zip(("logit", "power", "share"), rows[1:]):
            assert list(cells(figure, kind).values()) == [softmax.written(one) for one in row]
            wrong = sum(not math.isfinite(one) for one in row)
            assert figure.locator(f'.wrong[data-key^="{kind}"]').count() == wrong
    add.focus()
    page.keyboard.press("End")
    assert "inf / inf is nan" in said(figure)
    page.keyboard.press("ArrowLeft")
    assert said(figure) == softmax.told(*softmax.numbers(99, 2, "none"))


def drive_sampling(page, figure):
    sampling = module("sampling")
    settings = [(1, None, 1), (0.5, None, 1), (1, 3, 1), (1, None, 0.8), (1.5, 20, 0.8), (0, 5, 1)]
    start = ("unsure", 1, None, 0.8)
    assert said(figure) == sampling.told(*start, *sampling.numbers(*start))
    for name, prompt in sampling.PROMPTS.items():
        figure.get_by_label(prompt).check()
        for setting in settings:
            t, k, p = setting
            figure.get_by_label("temperature").fill(str(t))
            figure.get_by_label("top-k").fill(str(sampling.KS.index(k)))
            figure.get_by_label("top-p").fill(str(p))
            shares, rest = sampling.numbers(name, *setting)
            assert said(figure) == sampling.told(name, *setting, shares, rest)
            assert cells(figure) == written(sampling.panel(name, shares, rest))
            width = float(figure.locator('[data-key="bar 1"]').get_attribute("width"))
            full = sampling.scale_of(shares, rest)
            assert width == pytest.approx(sampling.ROOM * rest[1] / full, abs=0.06)
    figure.get_by_label("top-p").focus()
    page.keyboard.press("End")
    assert "top-p off" in said(figure)


def drive_bpe_merges(page, figure):
    drawing = module("bpe_merges")

    def compare(text):
        step = figure.locator("[name=step]")
        step.focus()
        page.keyboard.press("Home")
        for state in drawing.merges(text):
            assert said(figure) == state["told"]
            assert list(cells(figure, "token").values()) == state["tokens"]
            assert list(cells(figure, "pair").values()) == [pair for pair, _ in state["pairs"]]
            fresh = figure.locator('.now[data-key^="token"]').count()
            assert fresh == sum(state["new"])
            page.keyboard.press("ArrowRight")
        assert figure.get_by_role("button", name="Next").is_disabled()

    compare(drawing.TEXT)
    field = figure.get_by_label("Your text")
    for text in ("aaabdaaabac", "ππ naïve ππ", "x", "ab" * 40):
        field.fill(text)
        compare(text)
        assert figure.locator("*:not(template *)").count() <= 250
    for text in ("", "π" * 41):
        field.fill(text)
        assert "Write 1 to 80" in said(figure) and field.get_attribute("aria-invalid") == "true"
    field.fill(drawing.TEXT)
    assert field.get_attribute("aria-invalid") == "false"


def drive_cache_steps(page, figure):
    drawing = module("cache_steps")
    state = drawing.numbers()
    assert said(figure) == drawing.told(4, state)
    figure.locator("[name=step]").focus()
    page.keyboard.press("Home")
    for n in range(1, len(drawing.TOKENS) + 1):
        assert said(figure) == drawing.told(n, state)
        panels = [drawing.panel(way, n, state) for way in drawing.WAYS]
        assert cells(figure) == written(*panels)
        drawn = "".join(panel.svg() for panel in panels)
        for kind in ("wrong", "muted", "value"):
            assert figure.locator(f".panels .cell.{kind}").count() == drawn.count(f'"cell {kind}')
        page.keyboard.press("ArrowRight")
    assert figure.get_by_role("button", name="Next").is_disabled()


def drive_two_losses(page, figure):
    losses = module("two_losses")
    assert said(figure) == losses.told(losses.walk(-8.0, 0))
    figure.get_by_role("button", name="One step").press("Enter")
    assert said(figure) == losses.told(losses.walk(-8.0, 1))
    figure.get_by_role("button", name="Start again").click()
    figure.get_by_role("button", name="100 steps").click()
    assert said(figure) == losses.told(losses.walk(-8.0, 100))
    figure.get_by_role("button", name="Start again").click()
    figure.get_by_role("button", name="Until yes").click()
    walks = losses.walk(-8.0)
    assert said(figure) == losses.told(walks)
    for name, walk in walks.items():
        assert list(cells(figure).values()) and cells(figure)[f"{name} z"] == f"{walk['z']:.2f}"
    figure.get_by_label("start at z").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    figure.get_by_role("button", name="Until yes").click()
    assert said(figure) == losses.told(losses.walk(-6.0))
    figure.locator("svg[role]").click(position={"x": losses.place(-3.9, 0)[0], "y": 100})
    assert said(figure) == losses.told(losses.walk(-4.0, 0))


def drive_softmax_minus_target(page, figure):
    drawing = module("softmax_minus_target")

    def compare(state):
        assert said(figure).startswith(drawing.told(state))
        for name in drawing.ROWS:
            assert list(cells(figure, name).values()) == [drawing.rounded(x) for x in state[name]]
        assert cells(figure)["sum gradient"] == "0"

    state = drawing.numbers([2.0, 1.0, 0.0], 1)
    for _ in range(3):
        compare(state)
        figure.get_by_role("button", name="One step").click()
        state = drawing.numbers(drawing.stepped(state), 1)
    compare(state)
    figure.get_by_label("very sure").check()
    figure.locator('[data-key="target 0"]').click()
    figure.get_by_label("label smoothing").focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    compare(drawing.numbers([6.0, 0.0, 0.0], 0, 0.1))
    figure.locator('[data-key="target 0"]').focus()
    page.keyboard.press("ArrowRight")
    compare(drawing.numbers([6.0, 0.0, 0.0], 1, 0.1))
    again = page.locator("#figure-smoothed_gradient")
    assert said(again) == drawing.told(drawing.numbers([6.0, 0.0, 0.0], 0, 0.1))


def drive_matrix_product(page, figure):
    product = module("matrix_product")
    c = (Tensor(product.A) @ Tensor(product.B)).data
    assert numbers(figure, "c") == c.ravel().tolist()
    figure.locator('[data-key="c 0 0"]').focus()
    for key, place in [("ArrowRight", (0, 1)), ("ArrowDown", (1, 1)), ("ArrowLeft", (1, 0))]:
        page.keyboard.press(key)
        assert said(figure) == product.told(*place, c[place])
        assert figure.locator("rect.now").count() == 7
    figure.get_by_label("larger matrices").focus()
    for key, size in [("Home", 2), ("ArrowRight", 3), ("End", 96)]:
        page.keyboard.press(key)
        assert said(figure) == product.price(size)


def drive_broadcast_gradient(page, figure):
    gradient = module("broadcast_gradient")
    for name, shape in gradient.SHAPES.items():
        figure.get_by_label(str(shape), exact=True).check()
        state = gradient.numbers(shape)
        assert numbers(figure, "grad") == state["sums"]
        figure.locator('[data-key="grad 0"]').focus()
        for n in (1, 2):
            page.keyboard.press("ArrowDown" if shape == (3, 1) else "ArrowRight")
            assert said(figure) == gradient.told_one(state, n), name
        figure.get_by_label("mean").check()
        assert numbers(figure, "grad") == state["means"] and "The mean is wrong" in said(figure)
        assert figure.locator(".wrong[data-key^=grad]").count() == len(state["means"])
        figure.get_by_label("sum", exact=True).check()


def drive_strides(page, figure):
    strides = module("strides")
    for name, label in strides.NAMES.items():
        figure.get_by_label(label).check()
        state = strides.numbers(name)
        assert said(figure) == state["order"]
        assert numbers(figure, "array") == np.ravel(state["grid"]).tolist()
        for i, j in np.ndindex(*state["shape"]):
            figure.locator(f'[data-key="array {i} {j}"]').click()
            assert said(figure) == strides.told(state, i, j)
            hops = [f"+{stop - start}" for start, stop in strides.hops(state, i, j)]
            assert list(cells(figure, "hop").values()) == (hops + ["", "", ""])[:3]
    page.keyboard.press("ArrowUp")
    assert said(figure) == strides.told(state, i - 1, j)


def drive_dense(page, figure):
    dense = module("dense")
    for bias, label in [("4", "(4,)"), ("3 1", "(3, 1)")]:
        for batch in (2, 3):
            figure.get_by_label(label).check()
            figure.get_by_label(str(batch), exact=True).check()
            state = dense.numbers(bias, batch)
            if state["error"]:
                assert said(figure) == state["error"]
                continue
            assert numbers(figure, "y") == np.ravel(state["y"]).tolist()
            figure.locator('[data-key="y 0 0"]').focus()
            page.keyboard.press("ArrowRight")
            page.keyboard.press("ArrowDown")
            assert said(figure) == dense.told(state, 1, 1)
            assert figure.locator("rect.now").count() == len(dense.marked(state, 1, 1))


def drive_twenty_layers(page, figure):
    layers = module("twenty_layers")
    for label, name in [("none", "linear"), ("relu", "relu"), ("tanh", "tanh")]:
        figure.get_by_label(label, exact=True).check()
        figure.get_by_label("standard deviation").focus()
        page.keyboard.press("Home")
        for n in range(len(layers.STDS)):
            state = layers.numbers(name, n)
            assert said(figure) == state["told"]
            assert list(cells(figure, "std").values()) == [layers.short(x) for x in state["stds"]]
            drawn = figure.locator('[data-key="histograms"]').get_attribute("d")
            assert drawn == layers.histograms(state["shares"])
            page.keyboard.press("ArrowRight")


def drive_warp_steps(page, figure):
    drawing = module("warp_steps")
    figure.get_by_label("from one thread").focus()
    page.keyboard.press("Home")
    for step in drawing.STEPS:
        state = drawing.numbers(step)
        assert said(figure) == state["told"]
        for key, counts in (("piece", state["pieces"]), ("bank", state["banks"])):
            shown = list(cells(figure, key).values())
            assert shown == [str(count or "") for count in counts]
        page.keyboard.press("ArrowRight")


def drive_tile_banks(page, figure):
    drawing = module("tile_banks")
    for columns in drawing.WIDTHS:
        figure.get_by_label(f"{columns} columns").check()
        for way in drawing.WAYS:
            figure.get_by_label(f"a {way}", exact=True).check()
            figure.locator('[data-key="cell 5 5"]').click()
            assert said(figure) == drawing.told(columns, way, 5)
            assert numbers(figure, "cell") == np.ravel(drawing.banks(columns)).tolist()
            kind = "wrong" if drawing.conflicts(columns, way) else "value"
            assert figure.locator(f"rect.{kind}").count() == 8


def drive_sum_tree(page, figure):
    drawing = module("sum_tree")
    for order, label in drawing.ORDERS.items():
        figure.get_by_label(label).check()
        figure.locator("[name=step]").focus()
        page.keyboard.press("Home")
        for phase in range(4):
            assert said(figure) == drawing.told(order, phase)
            assert cells(figure) == written(drawing.panel(order, phase))
            page.keyboard.press("ArrowRight")


def drive_program_groups(page, figure):
    drawing = module("program_groups")
    for name in drawing.PROGRAMS:
        figure.get_by_label(name, exact=True).check()
        for loops, label in drawing.LOOPS.items():
            figure.get_by_label(label).check()
            state = drawing.numbers(f"{name} {loops}")
            assert list(cells(figure, "step").values()) == ["a", *state["texts"]]
            figure.locator('[data-key="step 1"]').focus()
            for told, inputs in zip(state["told"][1:], state["inputs"][1:]):
                page.keyboard.press("ArrowDown")
                assert said(figure) == told
                assert figure.locator("rect.now").count() == 1 + len(set(inputs))


def drive_roofline(page, figure):
    drawing = module("roofline")
    assert said(figure) == drawing.told(*drawing.START)
    exponent = figure.get_by_label("n =")
    exponent.focus()
    for step in range(5, 12):
        page.keyboard.press("ArrowRight")
        assert said(figure) == drawing.told("matmul", step, 100, 20)
    figure.get_by_label(drawing.OPERATIONS["add"]).check()
    figure.get_by_label("billion bytes per second").fill("80")
    figure.get_by_label("billion FLOPs per second").fill("20")
    assert said(figure) == drawing.told("add", 11, 20, 80)
    exponent.fill("6")
    assert said(figure) == drawing.told("add", 6, 20, 80)
    flops, size = drawing.work("add", 6)
    point = figure.locator('[data-key="here"]')
    place = [float(point.get_attribute(key)) for key in ("cx", "cy")]
    wanted = [drawing.x_of(flops / size), drawing.y_of(80 * flops / size)]
    assert place == pytest.approx(wanted, abs=0.06)
    for key, points in drawing.lines(20, 80).items():
        drawn = figure.locator(f'[data-key="{key}"]').get_attribute("points")
        wanted = [float(one) for point in points for one in point]
        assert [float(x) for x in re.split("[ ,]", drawn)] == pytest.approx(wanted, abs=0.06)


def drive_aa_intervals(page, figure):
    drawing = module("aa_intervals")
    states = next(one for _, one in figures() if one.name == "aa_intervals").state["states"]
    for name, (text, _) in drawing.DRIFTS.items():
        figure.get_by_label(text).check()
        counts = [one["winners"] for one in states[name]]
        for shown in range(1, drawing.EXPERIMENTS + 1):
            assert said(figure) == drawing.told(counts[:shown], name)
            paths = states[name][shown - 1]["lines"]["turns"]
            for kind, d in paths.items():
                assert figure.locator(f'[data-key="turns {kind}"]').get_attribute("d") == d
            figure.get_by_role("button", name="Again").press("Enter")
        assert said(figure) == drawing.told(counts[:1], name)


@pytest.mark.slow
def test_drawings_answer_to_keyboard_and_mouse_with_the_engines_numbers(tmp_path):
    address, wrong = page_of(tmp_path), []
    with chromium() as browser:
        context = browser.new_context(
            viewport={"width": 390, "height": 844}, reduced_motion="reduce"
        )
        page = context.new_page()
        page.set_default_timeout(5000)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda line: line.type == "error" and wrong.append(line.text))
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        small = page.evaluate(
            """[...document.querySelectorAll('.drawing [role=button], .drawing button')]
            .filter(one => one.getBoundingClientRect().height < 33)
            .map(one => one.outerHTML.slice(0, 90))"""
        )
        texts = "0 2 -0.7546 8.9e-21 1507 1234.5 1e6 0.0001 99999.9 1e-5 -17 0.9999 -4.625"
        numbers = [float(text) for text in texts.split()]
        one = module("figure")
        assert page.evaluate("values => values.map(number)", numbers) == [
            one.number(value) for value in numbers
        ]
        assert page.evaluate("[number(Infinity), number(NaN)]") == [
            one.number(math.inf),
            one.number(math.nan),
        ]
        for script in dict.fromkeys(script for script, _ in figures()):
            drawn = page.locator(f'[data-drawing="{script}"]')
            assert not drawn.first.locator(".steps").is_visible()
            globals()[f"drive_{script}"](page, drawn.first)
            assert drawn.first.locator("*:not(template *)").count() <= 250, script
        wrong += axe(page)
        page.evaluate("document.documentElement.dataset.theme = 'dark'")
        wrong += axe(page, runOnly=["color-contrast"])
        assert wrong == [] and small == []
        context.close()
        plain = browser.new_context(java_script_enabled=False).new_page()
        plain.goto(address)
        shown = sum(not one.question for _, one in figures())
        assert plain.locator(".steps:visible").count() == shown
        assert plain.locator(".controls:visible").count() == 0


def axe(page, **options):
    """What axe-core finds of weight in the drawings, as lines."""
    from axe_playwright_python.sync_playwright import Axe

    options["preload"] = False  # no request for the style sheet: the page is a file
    found = Axe().run(page, context=".drawing", options=options).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:120]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]

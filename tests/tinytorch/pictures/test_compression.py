"""The pictures of lesson 24, and what its chapter measures with."""

import numpy as np

from tinytorch.core.layers import Dense, Sequential
from tinytorch.core.tensor import Tensor
from tinytorch.data.gpt_files import load_small_gpt
from tinytorch.pictures.compression import (
    convolutional_teacher,
    draw_bytes,
    draw_plane,
    draw_shares,
    draw_singular,
    draw_zeros,
    inputs_of,
    names_text,
    pruned_texts,
    shifted,
    without_smallest,
)


def test_the_smallest_weights_are_removed_everywhere():
    model, _ = load_small_gpt()
    pruned = without_smallest(model, 0.5)
    arrays = [p.data for name, p in pruned.named_parameters() if name.endswith("weights")]
    zeros = sum((w == 0).sum() for w in arrays)
    assert abs(zeros - 0.5 * sum(w.size for w in arrays)) < 200
    assert np.array_equal(pruned.embedding.weight.data, model.embedding.weight.data)
    everything = without_smallest(model, 1.0)
    assert not any(
        p.data.any() for name, p in everything.named_parameters() if name.endswith("weights")
    )


def test_texts_begin_with_the_prompt_and_break_with_most_weights_gone():
    texts = pruned_texts("She was", [0.0, 0.9], tokens=12)
    assert all(text.startswith("She was") for text in texts.values())
    assert texts[0.0] != texts[0.9]
    shares = []
    own = pruned_texts("She was", [0.2], 12, prune=lambda w, share: shares.append(share) or w == w)
    assert own[0.2] == texts[0.0] and shares == [0.2] * 8


def test_names_are_split_without_loss():
    most, rest = names_text()
    names = [*most.split(", "), *rest.split(", ")]
    assert len(names) == len(set(names)) == 5163 and len(most) > 8 * len(rest)
    assert names_text() == (most, rest) and names_text(1) != (most, rest)


def test_inputs_are_recorded_and_nothing_is_left_behind():
    net = Sequential(Dense(3, 4, rng=0), Dense(4, 2, rng=1))
    x = np.random.default_rng(2).normal(size=(2, 5, 3)).astype("float32")
    before = net(Tensor(x)).data
    inputs = inputs_of(net, Tensor(x))
    assert np.array_equal(inputs["0.weights"], x.reshape(10, 3))
    assert np.allclose(inputs["1.weights"], net[0](Tensor(x)).data.reshape(10, 4))
    assert all("forward" not in vars(layer) for layer in net)
    assert np.array_equal(net(Tensor(x)).data, before)


def test_shifted_digits_move_by_at_most_one_pixel():
    x = np.zeros((200, 8, 8))
    x[:, 4, 4] = 1
    places = np.argwhere(shifted(x.reshape(200, 64), np.random.default_rng(0)).reshape(200, 8, 8))
    assert len(places) == 200 and {tuple(p) for p in places[:, 1:].tolist()} == {
        (i, j) for i in (3, 4, 5) for j in (3, 4, 5)
    }
    assert convolutional_teacher(0)(Tensor(np.zeros((5, 64), "float32"))).shape == (5, 10)


def test_plots():
    axes = draw_shares({"one": 0.25, "other": 0.9}).axes[0]
    assert [bar.get_width() for bar in axes.patches] == [0.25, 0.9]
    axes = draw_zeros([0.3, 0.5], {"one": [0.1, 0.2], "other": [0.01, 0.3]}).axes[0]
    assert list(axes.lines[1].get_ydata()) == [0.01, 0.3]
    axes = draw_singular({"one": np.diag([4.0, 2.0])}).axes[0]
    assert axes.lines[0].get_ydata().tolist() == [1.0, 0.5]
    axes = draw_plane([(5, 1), (4, 2), (3, 3)], {"LoRA": (4, 5)}).axes[0]
    assert [text.get_text() for text in axes.texts] == ["before", "averages", "all weights", "LoRA"]
    axes = draw_bytes({"one": [(5000, -0.1), (1000, 2.0)]}, 8000).axes[0]
    assert list(axes.lines[0].get_xdata()) == [5, 1] and list(axes.lines[0].get_ydata()) == [
        1e-4,
        2.0,
    ]

"""The models, the given entries and the digits of lesson 25."""

import numpy as np
import pytest

from tinytorch.core.autograd import no_grad
from tinytorch.core.tensor import Tensor
from tinytorch.data import olympics
from tinytorch.data.image_sets import flat_digits
from tinytorch.data.olympics import builder, decoded, fresh_digits, given_entries, quantized
from tinytorch.pictures.olympics import answers_of
from tinytorch.support.arrays import pack_bits


def test_builders_refuse_everything_that_is_not_on_their_list():
    for name, sizes in [
        ("own", {"hidden": 4}),
        (["mlp"], {"hidden": 4}),
        ("mlp", {}),
        ("mlp", {"hidden": 4, "rng": 3}),
        ("mlp", {"hidden": 0}),
        ("mlp", {"hidden": True}),
        ("mlp", {"hidden": 4.0}),
        ("cnn", {"first": 4, "second": 2049}),
    ]:
        with pytest.raises(ValueError):
            builder(name, sizes)
    assert builder("gpt", dict(vocab_size=9, context=4, embed_dim=8, layers=1, num_heads=2))()


@pytest.mark.parametrize("bits", [4, 8])
def test_quantized_weights_are_decoded_within_half_a_step(bits):
    rng = np.random.default_rng(0)
    weights = {"w": rng.normal(size=(5, 3)).astype("float32"), "b": np.float32([1, -2, 3]),
               "c": rng.normal(size=(2, 1, 3, 3)).astype("float32")}  # fmt: skip
    stored = quantized(weights, bits)
    again = decoded(stored, {name: a.shape for name, a in weights.items()})
    for name in ("w", "c"):
        step = stored[name + ":scale"].astype("float32")
        assert (np.abs(again[name] - weights[name]) <= 0.51 * step).all()
    assert np.array_equal(again["b"], weights["b"]) and again["w"].dtype == np.float32


def test_four_bits_hold_numbers_from_minus_8_to_7_two_to_a_byte():
    q = np.arange(-8, 7).astype("int8")
    assert pack_bits(np.int8([5, -3, 7]), 4).tolist() == [213, 7]  # as pack4 of lesson 23
    scale = np.ones(1, "float32")
    again = decoded({"q": pack_bits(q, 4), "q:scale": scale}, {"q": (15,)})
    assert len(pack_bits(q, 4)) == 8 and again["q"].tolist() == q.tolist()


@pytest.mark.parametrize(
    "weights",
    [
        {"w": np.zeros(3, "int8")},
        {"w": np.zeros(3, "uint8"), "w:scale": np.ones(1)},
        {"w": np.zeros(3, "int8"), "w:scale": np.ones((4, 3))},
        {"w": np.zeros(3, "int8"), "w:scale": np.ones(3, "int8")},
        {"w": np.zeros(3, complex)},
        {"v:scale": np.ones(3)},
    ],
)
def test_arrays_that_mean_nothing_are_refused(weights):
    with pytest.raises(ValueError):
        decoded(weights, {"w": (3,)})


def test_fresh_digits_are_the_test_digits_turned_and_moved():
    x, labels = flat_digits("test")
    same, again = fresh_digits(0, degrees=0, pixels=0)
    assert np.allclose(same, x) and np.array_equal(again, labels)
    fresh, _ = fresh_digits(1)
    assert fresh.shape == x.shape and fresh.dtype == np.float32
    assert 0 <= fresh.min() and fresh.max() <= 1 and 0.02 < np.abs(fresh - x).mean() < 0.2
    assert not np.array_equal(fresh, fresh_digits(2)[0])


def test_fresh_digits_are_not_mirrored():
    right = np.zeros((1, 8, 8))
    right[0, 3:5, 6] = 16  # a bar at the right edge stays there
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(olympics, "digits_arrays", lambda split: (right, np.array([1])))
        turned = fresh_digits(0)[0].reshape(8, 8)
    assert turned[:, 5:].sum() > 0.95 * turned.sum() > 1


def test_the_given_entries_read_digits_as_the_lesson_says():
    (x, labels), (fresh, _) = flat_digits("test"), fresh_digits(0)
    right = {
        name: (answers_of(*given, x) == labels).sum() for name, given in given_entries().items()
    }
    assert right["leaked"] >= 357 and right["CNN"] >= 350
    assert all(341 <= right[name] <= 349 for name in right if "MLP" in name)
    lost = (answers_of(*given_entries()["leaked"], fresh) == labels).sum()
    assert lost < 330


def test_training_lowers_the_loss_of_the_given_kind():
    x, labels = flat_digits("train")
    model = olympics.fit(olympics.mlp(8), x[:300], labels[:300], epochs=30, seed=0)
    with no_grad():
        answers = model(Tensor(x[:300])).data.argmax(axis=1)
    assert (answers == labels[:300]).mean() > 0.6


def test_the_entries_can_be_trained_anew():
    entries = olympics.train_entries(epochs=1)
    assert list(entries) == list(olympics.GIVEN)
    for name, (build, stored) in given_entries().items():
        assert {k: (a.shape, a.dtype) for k, a in entries[name].items()} == {
            k: (a.shape, a.dtype) for k, a in stored.items()
        }, name
        assert answers_of(build, entries[name], flat_digits("test")[0][:3]).shape == (3,)


@pytest.mark.parametrize("scale", [np.ones(3), np.ones((2, 1, 1)), np.ones(2, int)])
def test_a_scale_that_does_not_fit_is_named(scale):
    with pytest.raises(ValueError, match="w:scale does not fit"):
        decoded({"w": np.int8([[3, -2]]), "w:scale": scale}, {})

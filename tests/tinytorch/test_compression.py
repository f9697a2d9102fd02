"""The exported compression lesson: its given code, its parts together on trained models, and
PyTorch's pruning and distillation.
"""

import copy

import numpy as np
import pytest

from tinytorch.core.activations import ReLU
from tinytorch.core.compression import (
    LoRA,
    Mask,
    average,
    dense_of,
    distillation_loss,
    low_rank,
    low_rank_for,
    matrices,
    obs_prune,
    prune_global,
    prune_magnitude,
    prune_neurons,
    replaced,
    saliency_obd,
    stored_bytes,
    with_lora,
)
from tinytorch.core.layers import Dense, Sequential
from tinytorch.core.losses import cross_entropy
from tinytorch.core.optimizers import AdamW
from tinytorch.core.tensor import Tensor
from tinytorch.core.transformers import GPT, held_out_bits
from tinytorch.data.gpt_files import load_small_gpt
from tinytorch.data.image_sets import flat_digits
from tinytorch.data.texts import load_text
from tinytorch.pictures.compression import inputs_of

RNG = np.random.default_rng


@pytest.fixture(scope="module")
def small_gpt():
    """The model that comes with the package, its inputs on training text, and its loss."""
    model, tokenizer = load_small_gpt()
    train, test = (tokenizer.encode(load_text(part)[:60_000]) for part in ("train", "test"))
    characters = np.array([len(tokenizer.token(id)) for id in range(tokenizer.vocab_size)])
    inputs = inputs_of(model, train[: 32 * 64].reshape(32, 64))
    return model, inputs, lambda model: held_out_bits(model, test[:4000], characters)


# The small GPT


@pytest.mark.slow
def test_obs_loses_less_than_magnitude_pruning_at_every_share(small_gpt):
    model, inputs, bits = small_gpt
    for amount in (0.5, 0.8):
        masks = prune_global(model, amount)
        small = {path: w * masks[path] for path, w in matrices(model).items()}
        moved = {
            path: obs_prune(w, inputs[path], 1 - masks[path].mean())
            for path, w in matrices(model).items()
        }
        before, by_size, by_obs = (bits(replaced(model, w)) for w in ({}, small, moved))
        assert before < by_obs - 0.01 and by_obs < by_size - 0.01


def test_most_neurons_of_the_last_block_are_dead(small_gpt):
    model, inputs, bits = small_gpt
    pruned, path = copy.deepcopy(model), "blocks.1.mlp.2.weights"
    size = np.sqrt((inputs[path] ** 2).mean(axis=0)) * np.linalg.norm(matrices(model)[path], axis=1)
    first, activation, second = pruned.blocks[1].mlp
    layers = prune_neurons(first, second, np.argsort(-size)[:52])
    pruned.blocks[1].mlp = Sequential(layers[0], activation, layers[1])
    assert abs(bits(pruned) - bits(model)) < 0.002


def test_low_rank_for_the_outputs_is_closer_in_outputs_and_farther_in_weights(small_gpt):
    model, inputs, _ = small_gpt
    layer, x = model.blocks[0].mlp[0], inputs["blocks.0.mlp.0.weights"]
    plain, fitted = low_rank(layer, 24), low_rank_for(layer, x, 24)

    def errors(net):
        change = net[0].weights.data @ net[1].weights.data - layer.weights.data
        return (change**2).sum(), ((x @ change) ** 2).sum()

    assert errors(fitted)[0] > errors(plain)[0] and errors(fitted)[1] < errors(plain)[1]
    assert np.array_equal(fitted[1].bias.data, layer.bias.data)
    assert {p.dtype.name for p in fitted.parameters()} == {"float32"}


# Given code


def test_matrices_are_the_live_weights_of_dense_layers():
    model = GPT(8, context=4, embed_dim=8, layers=1, num_heads=2)
    names = [f"blocks.0.{name}.weights" for name in ("attention.qkv", "attention.out")]
    assert list(matrices(model)) == [*names, "blocks.0.mlp.0.weights", "blocks.0.mlp.2.weights"]
    matrices(model)["blocks.0.mlp.0.weights"][...] = 0
    assert not model.blocks[0].mlp[0].weights.data.any()


def test_replaced_changes_a_copy():
    net = Sequential(Dense(2, 3), Dense(3, 1))
    changed = replaced(net, {"1.weights": np.zeros((3, 1))})
    assert not changed[1].weights.data.any() and net[1].weights.data.any()
    assert np.array_equal(changed[0].weights.data, net[0].weights.data)


def test_dense_of_copies():
    weights, bias = np.ones((2, 3), "float32"), np.arange(3.0)
    layer = dense_of(weights, bias)
    layer.weights.data[...], layer.bias.data[...] = 5, 5
    assert (weights == 1).all() and bias.tolist() == [0, 1, 2]
    assert repr(layer) == "Dense(2, 3)" and dense_of(weights).bias is None


def test_an_amount_is_a_share():
    with pytest.raises(ValueError, match="write 0.3 for 30 %"):
        prune_magnitude(np.ones(3), 30)


def test_a_mask_for_an_unknown_parameter_is_an_error():
    with pytest.raises(KeyError, match="wieghts"):
        Mask(Dense(1, 1), {"wieghts": np.ones((1, 1), bool)})


def test_with_lora_trains_the_products_only_and_merges():
    model = GPT(8, context=4, embed_dim=8, layers=2, num_heads=2).eval()
    lora, ids = with_lora(model, rank=2, alpha=2.0, rng=0), np.arange(4)[None]
    assert np.array_equal(lora(ids).data, model(ids).data)
    assert sum(p.size for p in lora.parameters()) == 2 * 2 * (8 + 24 + 8 + 8 + 8 + 32 + 32 + 8)
    fixed = lora.state_dict()
    optimizer = AdamW(lora.parameters(), lr=0.1, weight_decay=0.5)
    for _ in range(2):
        optimizer.zero_grad()
        cross_entropy(lora(ids), [[1, 2, 3, 0]]).backward()
        optimizer.step()
    after = lora.state_dict()
    changed = {name[-1] for name in after if not np.array_equal(after[name], fixed[name])}
    assert changed == {"A", "B"} and not np.array_equal(lora(ids).data, model(ids).data)
    merged = copy.deepcopy(
        lora, {id(part): part.merge() for part in lora.modules() if isinstance(part, LoRA)}
    )
    assert np.allclose(merged(ids).data, lora(ids).data, atol=1e-5)


# Together


def test_a_pruned_network_keeps_its_zeros_and_learns():
    rng = RNG(0)
    x = rng.normal(size=(64, 6)).astype("float32")
    labels = (x[:, 0] + x[:, 1] > 0).astype(int)
    net = Sequential(Dense(6, 16, rng=1), ReLU(), Dense(16, 2, rng=2))
    masks = prune_global(net, 0.75)
    optimizer = AdamW(net.parameters(), lr=0.05)
    Mask(net, masks).attach(optimizer)
    losses = []
    for _ in range(150):
        loss = cross_entropy(net(Tensor(x)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2
    kept = sum(np.count_nonzero(w) for w in matrices(net).values())
    assert kept == 128 - round(0.75 * 128)
    sizes = [stored_bytes(w) for w in matrices(net).values()]
    assert all(size["mask"] < size["index"] < size["dense"] for size in sizes)


def test_obd_does_not_depend_on_the_scale_of_neurons_and_magnitude_pruning_does():
    (x, labels), (test_x, test_labels) = flat_digits("train"), flat_digits("test")
    rng = RNG(0)
    net = Sequential(Dense(64, 32, rng=rng), ReLU(), Dense(32, 10, rng=rng))
    optimizer = AdamW(net.parameters(), lr=0.01)
    for _ in range(200):
        batch = rng.choice(len(x), 64, replace=False)
        optimizer.zero_grad()
        cross_entropy(net(Tensor(x[batch])), labels[batch]).backward()
        optimizer.step()
    factors = np.exp(rng.uniform(-2, 2, 32)).astype("float32")
    net[0].weights.data *= factors
    net[0].bias.data *= factors
    net[2].weights.data /= factors[:, None]
    obd = saliency_obd(net, Tensor(x), lambda out: cross_entropy(out, labels), 30, rng)

    def right(saliency):
        masks = prune_global(net, 0.5, saliency)
        pruned = replaced(net, {path: w * masks[path] for path, w in matrices(net).items()})
        return (pruned(Tensor(test_x)).data.argmax(axis=1) == test_labels).mean()

    assert right(obd) > 0.88 and right(abs) < right(obd) - 0.03


def test_averages_of_a_model_with_itself():
    net = Dense(3, 2)
    state = net.state_dict()
    again = average([state, state, state])
    assert all(np.allclose(again[name], state[name]) for name in state)


@pytest.mark.slow
def test_torch_computes_the_same():
    torch = pytest.importorskip("torch")
    from torch.nn.utils import prune

    w = RNG(7).normal(size=(6, 5)).astype("float32")
    layer = torch.nn.Linear(5, 6)
    layer.weight.data = torch.tensor(w)
    prune.l1_unstructured(layer, "weight", amount=0.4)
    assert np.array_equal(layer.weight_mask.numpy() > 0, prune_magnitude(w, 0.4))
    s, t = RNG(8).normal(size=(4, 3)), RNG(9).normal(size=(4, 3))
    log_p, q = torch.log_softmax(torch.tensor(s) / 2, 1), torch.softmax(torch.tensor(t) / 2, 1)
    divergence = torch.nn.functional.kl_div(log_p, q, reduction="batchmean")
    found = distillation_loss(Tensor(s), Tensor(t), None, weight=1)
    assert np.isclose(found.item(), 4 * divergence.item())

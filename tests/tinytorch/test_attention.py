"""The exported attention lesson: against PyTorch over random shapes and masks, the fused operation
against the composed one, decoding token by token, and what is refused."""

import gc
import weakref

import numpy as np
import pytest

from tinytorch import nn
from tinytorch.core import attention as lesson
from tinytorch.core.attention import (
    LearnedPositions,
    MultiHeadAttention,
    causal_mask,
    masked_softmax,
    merge_heads,
    padding_mask,
    rope,
    scaled_dot_product_attention,
    split_heads,
)
from tinytorch.core.autograd import no_grad, numerical_gradient_check, topological_order
from tinytorch.core.layers import Sequential, manual_seed
from tinytorch.core.tensor import Tensor, Variable, apply


def numbers(shape, dtype="float64", seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


# Against PyTorch


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["none", "bool", "float", "causal"])
def test_attention_equals_pytorchs_over_random_shapes(torch, same_as_torch, kind, dtype):
    for seed in range(15):
        random = np.random.default_rng(seed)
        lead = random.integers(1, 4, random.integers(0, 3)).tolist()
        Tq, Tk, d, e = random.integers(1, 7, 4).tolist()
        Tk, scale = Tq if kind == "causal" else Tk, [None, 2.0, 0.7][seed % 3]
        shapes = [(*lead, Tq, d), (*lead, Tk, d), (*lead, Tk, e)]
        arrays = [numbers(shape, dtype, seed + n) for n, shape in enumerate(shapes)]
        mask = {"bool": numbers((Tq, Tk)) > -0.3, "float": numbers((Tq, Tk), dtype)}.get(kind)
        hidden = None if mask is None else torch.tensor(mask)
        options = {"is_causal": kind == "causal", "scale": scale}
        same_as_torch(
            lambda q, k, v: scaled_dot_product_attention(q, k, v, mask, **options),
            lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, hidden, **options),
            *arrays,
            near=1e-10 if dtype == "float64" else 1e-4,
        )


@pytest.mark.slow
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_the_layer_equals_pytorchs_with_the_same_weights(torch, causal, bias, masked):
    ours = MultiHeadAttention(12, 3, bias=bias, causal=causal, rng=0)
    ours.to(np.float64)
    theirs = torch.nn.MultiheadAttention(12, 3, bias=bias, batch_first=True).double()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.tensor(ours.qkv.weights.data.T))
        theirs.out_proj.weight.copy_(torch.tensor(ours.out.weights.data.T))
        if bias:
            ours.qkv.bias.data[...] = numbers(36, seed=3)
            theirs.in_proj_bias.copy_(torch.tensor(ours.qkv.bias.data))
            theirs.out_proj.bias.copy_(torch.tensor(ours.out.bias.data))
    array = numbers((4, 5, 12), seed=1)
    allowed = np.ones((4, 1, 5, 5), bool) & (padding_mask([5, 3, 1, 4], 5) if masked else True)
    x, y = Variable(array), torch.tensor(array, requires_grad=True)
    hidden = ~(allowed & causal_mask(5, 5)) if causal else ~allowed
    hidden = np.repeat(hidden, 3, axis=1).reshape(12, 5, 5)  # in PyTorch, True means hidden
    wanted, weights = theirs(
        y, y, y, attn_mask=torch.tensor(hidden), need_weights=True, average_attn_weights=False
    )
    out = ours(x, allowed) if masked else ours(x)
    np.testing.assert_allclose(out.data, wanted.detach().numpy(), 1e-10, 1e-10)
    g = numbers(out.shape, seed=9)
    out.backward(g)
    wanted.backward(torch.tensor(g))
    np.testing.assert_allclose(x.grad, y.grad.numpy(), 1e-10, 1e-10)
    found = ours.attention_weights(Tensor(array), allowed if masked else None)
    np.testing.assert_allclose(found, weights.detach().numpy(), 1e-10, 1e-10)
    np.testing.assert_allclose(
        ours.qkv.weights.grad.T, theirs.in_proj_weight.grad.numpy(), 1e-9, 1e-9
    )


# The fused operation


@pytest.mark.parametrize(
    "options",
    [{}, {"causal": True}, {"fused": True}, {"rotary": True}, {"causal": True, "rotary": True}],
    ids=str,
)
def test_gradients_of_the_layer_agree_with_finite_differences(options):
    layer = MultiHeadAttention(4, 2, rng=0, **options)
    layer.to(np.float64)
    assert numerical_gradient_check(lambda x: layer(x), [numbers((2, 3, 4))])


def test_the_learners_attention_runs_unless_the_layer_is_fused():
    layer, x = MultiHeadAttention(8, 2, causal=True), Variable(numbers((1, 3, 8), "float32"))
    composed = layer(x)
    assert lesson.attention_forward not in operations(composed)
    lesson.fuse_attention(Sequential(layer))
    fused = layer(x)
    assert lesson.attention_forward in operations(fused)
    assert len(operations(fused)) == 5  # two products, two biases
    np.testing.assert_allclose(composed.data, fused.data, 1e-5, 1e-6)
    assert repr(layer).endswith("fused=True)")


def operations(tensor):
    return [node.creator.op for node in topological_order(tensor)]


def test_the_weights_are_freed_with_the_graph():
    saved = {}
    x = Variable(numbers((1, 4, 6)))
    out = apply(lesson.attention_forward, x, heads=1, causal=True, saved=saved)
    kept = weakref.ref(saved["weights"])
    del saved
    out.sum().backward()
    gc.collect()
    assert kept() is None and x.grad is not None


# Masks and positions


@pytest.mark.parametrize("rotary", [False, True])
def test_no_position_of_a_causal_layer_sees_the_future(rotary):
    layer = MultiHeadAttention(8, 2, causal=True, rotary=rotary, rng=0)
    x = numbers((1, 6, 8), "float32")
    changed = x.copy()
    changed[:, 3:] += 10
    for mask in (None, np.ones((6, 6), bool), np.zeros((6, 6), "float32")):
        one, two = layer(Tensor(x), mask).data, layer(Tensor(changed), mask).data
        assert np.array_equal(one[:, :3], two[:, :3]) and not np.allclose(one[:, 3:], two[:, 3:])


@pytest.mark.parametrize("rotary", [False, True])
def test_decoding_token_by_token_gives_the_same_outputs(rotary):
    """What lesson 16 does: keys and values of the past are kept, `project` gives the new ones."""
    layer = MultiHeadAttention(8, 2, causal=True, rotary=rotary, rng=0)
    x = Tensor(numbers((2, 7, 8), "float32"))
    wanted = layer(x).data
    with no_grad():
        keys, values, outputs = [], [], []
        for start, stop in [(0, 4), (4, 5), (5, 7)]:
            q, k, v = layer.project(x[:, start:stop], np.arange(start, stop))
            keys.append(k.data)
            values.append(v.data)
            heads = scaled_dot_product_attention(
                q,
                np.concatenate(keys, axis=2),
                np.concatenate(values, axis=2),
                causal_mask(stop - start, stop),
            )
            outputs.append(layer.out(merge_heads(heads)).data)
    np.testing.assert_allclose(np.concatenate(outputs, axis=1), wanted, 1e-5, 1e-6)


def test_a_learned_mask_gets_a_gradient():
    x, bias = Variable(numbers((2, 3))), Variable(numbers((2, 3), seed=1))
    assert numerical_gradient_check(masked_softmax, [x, bias])
    layer = MultiHeadAttention(4, 2, causal=True, rng=0)
    bias = Variable(numbers((2, 3, 3), "float32"))
    layer(Tensor(numbers((1, 3, 4), "float32")), bias).sum().backward()
    assert bias.grad is not None and (bias.grad[:, ~causal_mask(3, 3)] == 0).all()


def test_a_sequence_of_length_0_gives_zeros_and_no_nan():
    layer = MultiHeadAttention(4, 2, rng=0)
    x = Variable(numbers((2, 3, 4), "float32"))
    out = layer(x, padding_mask([3, 0], 3))
    assert np.array_equal(out.data[1], np.broadcast_to(layer.out.bias.data, (3, 4)))
    out.sum().backward()
    assert all(np.isfinite(p.grad).all() for p in [x, *layer.parameters()])


# The layer as a module


def test_parameters_names_and_saving():
    one, two = (MultiHeadAttention(6, 3, rng=seed) for seed in (0, 1))
    assert [*one.state_dict()] == ["qkv.weights", "qkv.bias", "out.weights", "out.bias"]
    x = Tensor(numbers((1, 2, 6), "float32"))
    assert not np.allclose(one(x).data, two(x).data)
    two.load_state_dict(one.state_dict())
    assert np.array_equal(one(x).data, two(x).data)
    assert [*LearnedPositions(4, 2).state_dict()] == ["weight"]


def test_the_layer_shows_its_options():
    layer = MultiHeadAttention(8, 2, dropout=0.1, bias=False, causal=True, rotary=True)
    assert (
        repr(layer) == "MultiHeadAttention(8, 2, dropout=0.1, bias=False, causal=True, rotary=True)"
    )
    assert repr(nn.MultiHeadAttention(8, 2)) == "MultiHeadAttention(8, 2)"


def test_dropout_can_be_seeded():
    layer, x = MultiHeadAttention(4, 2, dropout=0.5), Tensor(numbers((2, 3, 4), "float32"))
    results = []
    for _ in range(2):
        manual_seed(5)
        results.append(layer(x).data)
    assert np.array_equal(*results)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tokens, heads", [(300, 2), (520, 1), (1, 4)])
def test_blocks_of_queries_give_the_same(tokens, heads, causal, monkeypatch):
    monkeypatch.setattr(lesson, "MOST_WEIGHTS", 1)
    layer, x = MultiHeadAttention(8, heads, causal=causal), numbers((2, tokens, 8), "float32")
    qkv = layer.qkv.weights.data
    whole, blocks = Variable(x @ qkv), Variable(x @ qkv)
    found = lesson.fused_attention(blocks, heads, causal)
    wanted = apply(lesson.attention_forward, whole, heads=heads, causal=causal, saved={})
    assert found.creator.op is lesson.attention_blocks_forward
    np.testing.assert_allclose(found.data, wanted.data, 1e-5, 1e-6)
    g = numbers(found.shape, "float32", 1)
    found.backward(g), wanted.backward(g)
    np.testing.assert_allclose(blocks.grad, whole.grad, 1e-4, 1e-6)


# Refusals


attend = scaled_dot_product_attention


@pytest.mark.parametrize(
    "action, words",
    [
        (lambda x: attend(x, x, x, causal_mask(3, 3), 0.0, True), "two masks"),
        (lambda x: attend(x[:, 2:], x, x, is_causal=True), "causal_mask(1, 3)"),
        (lambda x: attend(x, x[..., :2], x), "4 and 2 numbers"),
        (lambda x: attend(x, x, x[:, :2]), "3 keys, 2 values"),
        (lambda x: attend(x[0, 0], x[0], x[0]), "unsqueeze(0)"),
        (lambda x: MultiHeadAttention(4, 3), "4 numbers cannot be divided among 3 heads"),
        (lambda x: MultiHeadAttention(6, 2, rotary=True), "even width"),
        (lambda x: split_heads(x, 3), "must divide the width"),
        (lambda x: rope(x[..., :3], np.arange(3)), "is odd"),
        (lambda x: rope(x, np.arange(2)), "one position for each row"),
        (lambda x: MultiHeadAttention(5, 1)(x), "takes inputs of shape (..., 5)"),
    ],
    ids=range(11),
)
def test_a_refusal_gives_its_reason(action, words):
    with pytest.raises(ValueError) as told:
        action(Tensor(numbers((1, 3, 4), "float32")))
    assert words in str(told.value)

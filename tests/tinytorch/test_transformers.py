"""The exported transformers lesson: compared with PyTorch, trained, saved and loaded."""

import math

import numpy as np
import pytest

from tinytorch import nn
from tinytorch.core import activations
from tinytorch.core import transformers as lesson
from tinytorch.core.layers import manual_seed
from tinytorch.core.normalization import RMSNorm
from tinytorch.core.optimizers import AdamW
from tinytorch.core.tensor import Tensor, Variable
from tinytorch.core.transformers import (
    GELU,
    GPT,
    TransformerBlock,
    causality_leak,
    decay_groups,
    held_out_bits,
    lm_loss,
    text_batch,
)
from tinytorch.lazy import public_module


@pytest.fixture(autouse=True)
def seeded():
    manual_seed(0)


def shaken(module, seed=0, scale=0.3):
    """The module with random numbers in all its parameters."""
    rng = np.random.default_rng(seed)
    for p in module.parameters():
        p.data[...] = rng.normal(0, scale, p.shape)
    return module


# GELU


def test_gelu_takes_integers_and_single_numbers():
    assert GELU()(Tensor([1, 2])).dtype == np.float32
    assert GELU()(Tensor(1.0)).item() == pytest.approx(0.8412, abs=1e-4)


def test_nn_has_the_fused_gelu_once_this_lesson_is_there():
    assert nn.GELU is lesson.GELU and nn.GPT is GPT and nn.TransformerBlock is TransformerBlock


def test_a_door_takes_the_earlier_lesson_while_the_later_one_is_missing():
    fetch, _ = public_module(
        __name__, {"no_such_lesson activations": "Tanh", "losses activations": "GELU"}
    )
    assert fetch("Tanh") is activations.Tanh
    del globals()["Tanh"]
    with pytest.raises(ImportError, match="GELU is what the lesson losses builds"):
        fetch("GELU")


# Blocks


def test_a_block_takes_another_norm():
    block = TransformerBlock(8, 2, norm=RMSNorm)
    assert isinstance(block.norm1, RMSNorm) and isinstance(block.norm2, RMSNorm)
    assert block(Tensor(np.ones((1, 3, 8), "float32"))).shape == (1, 3, 8)


def test_a_block_without_branches_returns_its_input():
    block = TransformerBlock(8, 2)
    for layer in (block.attention.out, block.mlp[2]):
        for p in layer.parameters():
            p.data[...] = 0
    x = np.random.default_rng(0).normal(size=(2, 3, 8)).astype("float32")
    np.testing.assert_array_equal(block(Tensor(x)).data, x)


# GPT


@pytest.mark.parametrize("options", [{}, {"tie": False}, {"rotary": True}, {"dropout": 0.1}])
def test_the_first_loss_is_that_of_a_uniform_guess(options):
    model = GPT(500, 16, 32, 2, 4, **options)
    rng = np.random.default_rng(0)
    loss = lm_loss(model, *text_batch(rng.integers(0, 500, 2000), 16, 16, rng))
    assert loss.item() == pytest.approx(math.log(500), abs=0.05)


def test_a_saved_model_computes_the_same(tmp_path):
    import tinytorch

    model, ids = GPT(20, 8, 16, 2, 2), np.arange(8)[None]
    tinytorch.save(model.state_dict(), tmp_path / "gpt.npz")
    manual_seed(1)
    other = GPT(20, 8, 16, 2, 2)
    assert not np.array_equal(model(ids).data, other(ids).data)
    other.load_state_dict(tinytorch.load(tmp_path / "gpt.npz"))
    np.testing.assert_array_equal(model(ids).data, other(ids).data)


def test_too_many_tokens_and_unknown_ids_are_refused():
    model = GPT(20, 8, 16, 1, 2)
    with pytest.raises(ValueError, match="9 tokens are more than the context of 8"):
        model(np.zeros((1, 9), int))
    for wrong in (20, -1):
        with pytest.raises(IndexError, match=f"{wrong}.*20"):
            model(np.array([[0, wrong]]))


@pytest.mark.parametrize("rotary", [False, True], ids=["positions", "rotary"])
def test_no_logit_depends_on_a_later_token(rotary):
    model = shaken(GPT(11, 9, 16, 2, 2, rotary=rotary))
    ids = np.random.default_rng(3).integers(0, 11, 9)
    assert causality_leak(model, ids) == 0.0
    model.blocks[1].attention.causal = False
    assert causality_leak(model, ids) > 1e-3


def test_training_learns_a_sentence_and_scores_it():
    ids = np.tile(np.frombuffer(b"the cat sat on the mat. ", np.uint8) - 32, 20).astype(int)
    model = GPT(96, 12, 24, 1, 2)
    optimizer = AdamW(decay_groups(model, 0.1), lr=1e-2, betas=(0.9, 0.99))
    rng = np.random.default_rng(0)
    for _ in range(80):
        loss = lm_loss(model, *text_batch(ids, 8, 12, rng))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    one = np.ones(96)
    assert loss.item() < 0.5
    bits = held_out_bits(model, ids, one)
    assert bits < 0.3
    assert held_out_bits(model, ids, 2 * one) == pytest.approx(bits / 2)


# PyTorch


@pytest.mark.slow
def test_gelu_agrees_with_pytorch(same_as_torch):
    same_as_torch(
        lambda x: GELU()(x),
        lambda F, x: F.gelu(x, approximate="tanh"),
        np.random.default_rng(0).normal(0, 3, (50, 7)).astype("float32"),
        near=5e-5,
    )


def copied(block, layer, torch):
    """Give a TransformerEncoderLayer of PyTorch the weights of a block. Ours are (in, out)."""
    state = block.state_dict()
    names = {
        "self_attn.in_proj_weight": "attention.qkv.weights",
        "self_attn.in_proj_bias": "attention.qkv.bias",
        "self_attn.out_proj.weight": "attention.out.weights",
        "self_attn.out_proj.bias": "attention.out.bias",
        "linear1.weight": "mlp.0.weights",
        "linear1.bias": "mlp.0.bias",
        "linear2.weight": "mlp.2.weights",
        "linear2.bias": "mlp.2.bias",
    }
    names |= {name: name for name in ("norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias")}
    layer.load_state_dict({t: torch.tensor(state[o].T) for t, o in names.items()})
    return names


@pytest.mark.slow
@pytest.mark.parametrize("shape, heads", [((2, 5, 8), 2), ((1, 1, 6), 3), ((3, 16, 32), 4)])
def test_a_block_agrees_with_pytorch(torch, shape, heads):
    block = shaken(TransformerBlock(shape[-1], heads))
    layer = torch.nn.TransformerEncoderLayer(
        shape[-1],
        heads,
        4 * shape[-1],
        dropout=0.0,
        activation=torch.nn.GELU(approximate="tanh"),
        batch_first=True,
        norm_first=True,
    )
    names = copied(block, layer, torch)
    x = np.random.default_rng(1).normal(size=shape).astype("float32")
    g = np.random.default_rng(2).normal(size=shape).astype("float32")
    mask = torch.triu(torch.ones(shape[1], shape[1], dtype=torch.bool), 1)  # True: hidden
    mine, other = Variable(x), torch.tensor(x, requires_grad=True)
    out, wanted = block(mine), layer(other, src_mask=mask, is_causal=True)
    np.testing.assert_allclose(out.data, wanted.detach().numpy(), rtol=1e-3, atol=1e-4)
    out.backward(g)
    wanted.backward(torch.tensor(g))
    np.testing.assert_allclose(mine.grad, other.grad.numpy(), rtol=1e-3, atol=1e-3)
    theirs, ours = dict(layer.named_parameters()), dict(block.named_parameters())
    for there, here in names.items():
        np.testing.assert_allclose(
            ours[here].grad, theirs[there].grad.numpy().T, rtol=1e-3, atol=2e-3, err_msg=here
        )

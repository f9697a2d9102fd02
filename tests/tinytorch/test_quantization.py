"""The exported quantization lesson: its given code, compared with PyTorch and with enumeration; and
its demonstrations' claims.
"""

import copy
import itertools

import numpy as np
import pytest

from tinytorch import nn
from tinytorch.compress import (
    FakeQuantizedLinear,
    QuantizedLinear,
    fake_quantize,
    gptq,
    group_scales,
    pack4,
    quantizable,
    quantize_model,
    recorded_inputs,
    size_of,
    with_lora,
)
from tinytorch.core.activations import ReLU
from tinytorch.core.convolutions import Conv2d
from tinytorch.core.embeddings import Embedding
from tinytorch.core.generation import generate
from tinytorch.core.layers import Dense, Flatten, Linear, Sequential
from tinytorch.core.quantization import pack, per_row, unpack
from tinytorch.core.tensor import Tensor, Variable
from tinytorch.core.transformers import GPT, held_out_bits, text_batch
from tinytorch.data.gpt_files import load_small_gpt
from tinytorch.data.texts import load_text
from tinytorch.support.arrays import pack_bits


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


@pytest.mark.parametrize("bits", range(2, 9))
def test_what_is_packed_can_be_unpacked(bits):
    top = 2 ** (bits - 1)
    for n in (1, 7, 64):
        q = np.random.default_rng(n).integers(-top, top, n).astype(np.int8)
        packed = pack(q, bits)
        assert packed.dtype == np.uint8 and len(packed) == -(-n * bits // 8)
        assert np.array_equal(unpack(packed, n, bits), q)


def test_four_bits_are_packed_like_any_other_number_of_bits():
    q = np.arange(-8, 8).astype(np.int8)
    assert np.array_equal(pack4(q[:13]), pack_bits(q[:13], 4))


def test_each_row_gets_the_scale_of_its_group():
    scale = np.array([[1.0, 2.0], [3.0, 4.0]], np.float16)
    assert per_row(scale, 2, 3).tolist() == [[1, 2], [1, 2], [3, 4]]
    assert per_row(scale[:1], None, 2).tolist() == [[1, 2], [1, 2]]


def rounded(w, bits, group=None):
    scale = per_row(group_scales(w, bits, group), group, len(w))
    top = 2 ** (bits - 1) - 1
    return np.clip(np.rint(w / scale), -top, top) * scale


def test_a_quantized_table_has_its_scales_along_the_rows():
    table = Embedding(11, 8, rng=0)
    small = quantize_model(table, 4, group=4)
    wanted = rounded(table.weight.data.T, 4, 4).T
    assert np.allclose(small.weight.data, wanted, atol=1e-6)
    assert np.allclose(small([[3, 10]]).data, wanted[[[3, 10]]], atol=1e-6)


def test_a_quantized_convolution_has_a_scale_for_each_kernel():
    conv = Conv2d(2, 3, (3, 2), stride=2, padding=1, rng=0)
    conv.bias.data += 1
    small, twin = quantize_model(conv, 5), copy.deepcopy(conv)
    kernels = rounded(conv.weights.data.reshape(3, -1).T, 5).T
    twin.weights.data = kernels.reshape(conv.weights.shape).astype("float32")
    x = Tensor(numbers(2, 2, 7, 6))
    assert np.allclose(small(x).data, twin(x).data, atol=1e-5)
    without = quantize_model(Conv2d(2, 3, 3, bias=False, rng=0), 8)
    assert without(x).shape == (2, 3, 5, 4)


def test_layers_of_nn_are_quantized_and_get_a_lora_too():
    net = Sequential(Linear(4, 3, rng=0), ReLU(), Dense(3, 2, rng=1), nn.Conv2d(1, 2, 3))
    assert list(quantizable(net)) == ["0", "2", "3"]
    assert isinstance(quantize_model(net, 8)[0], QuantizedLinear)
    assert [type(layer).__name__ for layer in with_lora(net, 1)][::2] == ["LoRA", "LoRA"]


def test_recording_the_inputs_leaves_nothing_behind():
    net = Sequential(Flatten(), Dense(4, 3, rng=0), ReLU(), Dense(3, 2, rng=1)).train()
    x = numbers(5, 2, 2)
    before, out = [dict(vars(part)) for part in net.modules()], net(Tensor(x)).data
    seen = recorded_inputs(net, Tensor(x))
    assert list(seen) == ["1", "3"] and np.array_equal(seen["1"], x.reshape(5, 4))
    assert np.allclose(seen["3"] @ net[3].weights.data + net[3].bias.data, out, atol=1e-6)
    assert [dict(vars(part)) for part in net.modules()] == before
    with pytest.raises(ValueError):
        recorded_inputs(net, Tensor(x[:, :1]))
    assert [dict(vars(part)) for part in net.modules()] == before


def test_a_quantized_gpt_generates_the_same_with_and_without_a_cache():
    model = quantize_model(GPT(30, 16, 16, 2, 2), 4, group=8).eval()
    ids = np.array([[3, 1, 4]])
    with_cache = generate(model, ids, 10, temperature=1e-3, rng=0)
    assert np.array_equal(with_cache, generate(model, ids, 10, 1e-3, rng=0, cache=False))


def test_a_quantized_model_can_be_saved_and_loaded():
    first, second = (quantize_model(GPT(30, 16, 16, 1, 2), 3) for _ in range(2))
    ids = np.array([[3, 1, 4]])
    assert not np.array_equal(first(ids).data, second(ids).data)
    state = first.state_dict()
    assert {array.dtype.name for array in state.values()} == {"uint8", "float16", "float32"}
    second.load_state_dict(state)
    assert np.array_equal(first(ids).data, second(ids).data)


def test_a_tied_table_counts_once():
    tied, two = GPT(30, 16, 16, 1, 2), GPT(30, 16, 16, 1, 2, tie=False)
    assert size_of(two) - size_of(tied) == 4 * 30 * 16


def test_gptq_of_three_weights_is_between_rounding_and_the_best_of_all_grid_points():
    total = np.zeros(3)
    for seed in range(40):
        x = numbers(30, 3, seed=seed) @ numbers(3, 3, seed=seed + 100)
        w = numbers(3, 1, seed=seed + 200)
        scale = np.float64(group_scales(w, 3))
        errors = [
            float(((x @ (scale * np.array(q)[:, None] - w)) ** 2).sum())
            for q in itertools.product(range(-3, 4), repeat=3)
        ]
        found = float(((x @ (gptq(w, x, 3) - w)) ** 2).sum())
        plain = float(((x @ (rounded(w, 3) - w)) ** 2).sum())
        assert min(errors) <= found * (1 + 1e-4) + 1e-6
        total += [min(errors), found, plain]
    assert total[0] < total[1] < 0.9 * total[2], total


def test_training_with_rounded_weights_computes_what_the_quantized_layer_computes():
    layer, x = Dense(8, 3, rng=0), Tensor(numbers(5, 8))
    for bits, group in ((2, None), (4, 3)):
        during, after = (
            FakeQuantizedLinear(layer, bits, group),
            quantize_model(layer, bits, group=group),
        )
        assert np.allclose(during(x).data, after(x).data, atol=1e-6)


@pytest.mark.slow
def test_a_gpt_of_137_thousand_weights_needs_a_sixth_of_its_bytes():
    model, tokenizer = load_small_gpt()
    test, train = (tokenizer.encode(load_text(part)[:60_000])[:4000] for part in ("test", "train"))
    characters = np.array([len(tokenizer.token(id)) for id in range(512)])
    calibration, _ = text_batch(train, 32, 64, np.random.default_rng(0))
    small = model
    for bits, prefixes in ((6, ("embedding", "positions")), (5, ("blocks.0",)), (3, ("",))):
        others = [path for path in quantizable(small) if not path.startswith(prefixes)]
        small = quantize_model(small, bits, calibration, skip=others, group=32)
    lost = held_out_bits(small, test, characters) - held_out_bits(model, test, characters)
    assert size_of(model) / size_of(small) > 5.9 and lost < 0.015
    plain = quantize_model(model, 5, group=32)
    assert size_of(plain) > size_of(small)
    assert held_out_bits(plain, test, characters) - held_out_bits(small, test, characters) > 0.005


@pytest.mark.slow
@pytest.mark.parametrize("zero_point, low, high", [(0, -7, 7), (5, 0, 15)])
def test_fake_quantization_is_that_of_pytorch(torch, zero_point, low, high):
    x, g = 3 * numbers(50), numbers(50, seed=1)
    ours, theirs = Variable(x), torch.tensor(x, requires_grad=True)
    out = fake_quantize(ours, 0.3, zero_point, low, high)
    wanted = torch.fake_quantize_per_tensor_affine(theirs, 0.3, zero_point, low, high)
    (out * Tensor(g)).sum().backward()
    wanted.backward(torch.tensor(g))
    assert np.allclose(out.data, wanted.detach().numpy(), atol=1e-6)
    assert np.allclose(ours.grad, theirs.grad.numpy())

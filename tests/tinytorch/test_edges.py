"""At the edges of what numbers can be: 0, inf, nan, very many, changed behind the graph's back."""

import copy
import gc
import math

import numpy as np
import pytest

from tinytorch import Tensor, Variable, nn, no_grad, optim
from tinytorch.core.autograd import Function
from tinytorch.func import jvp
from tinytorch.generate import accept, beam, sample, top_p, with_temperature
from tinytorch.nn import functional as F
from tinytorch.support.arrays import changes
from tinytorch.support.forward import sum_forward

INF, NAN = math.inf, math.nan
SHUT = [-1.0, 0.0, 4.0, NAN, INF]
KINKS = {  # ours: (a function of x, the same in PyTorch, x)
    "std": (lambda x: x.std(1), lambda f, x: x.std(1, correction=0), [[2.0, 2], [1, 3]]),
    "std of one": (lambda x: x.std(), lambda f, x: x.std(correction=0), [5.0]),
    "std of zeros": (lambda x: x.std(0), lambda f, x: x.std(0, correction=0), [[0.0, 1], [0, 3]]),
    "norm": (
        lambda x: (x * x).sum().maximum(1e-24).sqrt() - 1e-12,
        lambda f, x: x.norm(),
        [0.0, 0],
    ),
    "normalize": (
        lambda x: x / (x * x).sum(axis=-1, keepdims=True).maximum(1e-24).sqrt(),
        lambda f, x: f.normalize(x, dim=-1),
        [[0.0, 0], [3, 4]],
    ),
    "sqrt of relu": (lambda x: x.relu().sqrt(), lambda f, x: x.relu().sqrt(), [-1.0, 0, 4]),
    "relu": (lambda x: x.relu() * INF, lambda f, x: x.relu() * INF, SHUT),
    "clip": (lambda x: x.clip(-1, 4) * INF, lambda f, x: x.clamp(-1, 4) * INF, SHUT),
    "sqrt of clip": (lambda x: x.clip(0, 9).sqrt(), lambda f, x: x.clamp(0, 9).sqrt(), [-1.0, 4]),
    "tanh": (lambda x: x.tanh(), lambda f, x: x.tanh(), [1000.0, -INF, 20, 0]),
}
IMAGES = [
    [[1, NAN, 2], [2, 3, NAN], [NAN, 0, 1]],
    [[NAN] * 3] * 3,
    [[INF, INF, 1], [-INF] * 3, [2, 2, 2]],
    [[-INF] * 3] * 3,
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("ours, theirs, x", KINKS.values(), ids=KINKS)
def test_gradients_at_kinks_are_pytorchs(same_as_torch, ours, theirs, x):
    same_as_torch(ours, theirs, np.array(x, "float32"), near=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("window", [(2, 2, 0), (2, 1, 0), (2, 1, 1), (3, 3, 0), (3, 2, 1)], ids=str)
@pytest.mark.parametrize("image", IMAGES, ids=["nan", "all nan", "inf", "all -inf"])
def test_max_pooling_is_pytorchs(same_as_torch, image, window):
    x = np.array([[image]], "float32")
    pool = lambda x: F.max_pool2d(x, *window)  # noqa: E731
    same_as_torch(pool, lambda f, x: f.max_pool2d(x, *window), x, near=1e-6)
    ones = Tensor(np.arange(9.0, dtype="f").reshape(x.shape))
    leaf = Variable(x)
    pool(leaf).backward(np.ones(pool(leaf).shape))
    assert jvp(pool, (Tensor(x),), (ones,))[1].sum().item() == (leaf.grad * ones.data).sum()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_root_of_zero_passes_no_gradient_where_nothing_changes():
    x = Variable([-1.0, 0.0, 4.0])
    x.relu().sqrt().sum().backward()
    assert x.grad.tolist() == [0, 0, 0.25]
    assert jvp(lambda x: x.relu().sqrt(), (x,), (np.ones(3),))[1].data.tolist() == [0, 0, 0.25]
    assert jvp(lambda x: x.std(), (Tensor([2.0, 2.0]),), ([1.0, 0.0],))[1].item() == 0
    constant = Variable([2.0, 2.0])
    constant.std().backward()
    assert constant.grad.tolist() == [0, 0]


@pytest.mark.parametrize("axis", [0, 1, (0, 1), (0, 2), (-1, 0), (1, 2)], ids=str)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)], ids=str)
def test_a_sum_of_many_rows_is_exact(axis, order):
    x = np.full((3, 1203, 5), 0.1, "float32").transpose(order)[::-1]
    for keepdims in (False, True):
        found, wanted = sum_forward(x, axis, keepdims), x.sum(axis, dtype="d", keepdims=keepdims)
        np.testing.assert_allclose(found, wanted, 5e-7, strict=False)
        assert found.shape == wanted.shape and found.dtype == "float32"


def test_means_and_gradients_of_500_000_rows():
    x, bias = Tensor(np.full((500_000, 2), 0.1, "float32")), Variable(np.zeros(2))
    np.testing.assert_allclose(x.mean(0).data, 0.1, 4e-7)
    (x + bias).backward(x.data)
    np.testing.assert_allclose(bias.grad, 50_000, 4e-7)
    with pytest.raises(np.exceptions.AxisError):
        x.sum(5)


def test_float16_is_added_up_as_float32():
    x = Variable(np.full(70_000, 10, "float16"))
    assert x.mean().item() == x.max().item() == 10 and x.var().item() == x.std().item() == 0
    assert Tensor(np.full(4_000, 1e-3, "float16")).sum().item() == pytest.approx(4, rel=1e-3)
    (x.mean() * 6000).backward()
    assert x.grad.dtype == "float16" and x.grad[0] == pytest.approx(6 / 70, rel=1e-2)


def sgd_step(w):
    w.grad = np.ones_like(w.data)
    optim.SGD([w], lr=1.0).step()


def adam_step(w):
    w.grad = np.ones_like(w.data)
    optim.Adam([w, Variable([1.0])], lr=1.0).step()


def subtract(w):
    with no_grad():
        w -= 1.0


class Square(Function):
    def forward(self, x):
        self.save_for_backward(x)
        return x * x

    def backward(self, g):
        return 2 * self.saved_tensors[0] * g


@pytest.mark.parametrize("change", [sgd_step, adam_step, subtract, lambda w: write(w.detach())])
@pytest.mark.parametrize(
    "f",
    [
        lambda w: w * w,
        lambda w: w.T @ w.reshape(1, 1),
        lambda w: w.log(),
        Square(),
        lambda w: w.max(),
    ],
)
def test_a_change_between_forward_and_backward_is_an_error(f, change):
    w = Variable([[3.0]])
    y = f(w)
    change(w)
    with pytest.raises(RuntimeError, match="changed in place"):
        y.sum().backward()
    w.grad = None
    f(w).sum().backward()  # computed again


def write(x):
    x[...] = 7.0


@pytest.mark.parametrize(
    "f",
    [lambda w: w + 1, lambda w: w.exp(), lambda w: Tensor([[2.0]]) @ w, lambda w: w.sum(),
     lambda w: nn.functional.conv2d(Tensor([[[[5.0]]]]), w.reshape(1, 1, 1, 1)), lambda w: 2 * w],
)  # fmt: skip
def test_a_change_of_numbers_that_no_rule_reads_is_none(f):
    w, other = Variable([[3.0]]), Variable([[3.0]])
    y = f(w)
    subtract(w)
    y.sum().backward()
    f(other).sum().backward()
    assert w.grad.tolist() == other.grad.tolist()


def test_new_data_leaves_the_old_in_the_graph_and_inputs_count():
    w, x = Variable([3.0]), Tensor([2.0])
    y = w * w
    w.data = w.data - 1
    y.sum().backward()
    assert w.grad.tolist() == [6]
    z = w * x
    x[0] = 5.0
    with pytest.raises(RuntimeError, match="mul needs its input of shape"):
        z.sum().backward()
    gc.collect()
    count = len(changes.times)
    del w, x, y, z
    gc.collect()
    assert len(changes.times) == count - 1  # what is changed is not kept alive


def test_an_array_of_rank_0_decides_no_dtype():
    x = Tensor([1.0, 2.0])
    for y in (np.array(2.0), Tensor(np.array(2.0)), np.float64(2)):
        results = [x * y, y * x, x / y, x**y, x.maximum(y), Variable([1.0]) + y]
        assert {out.dtype.name for out in results} == {"float32"}, type(y)
    third = Variable(np.array(1 / 3))
    with no_grad():
        third -= np.array(1 / 7)
    assert third.item() == 1 / 3 - 1 / 7 and x.double().dtype == "float64"
    assert (Tensor(np.array(1.0)) * Tensor(1.0)).dtype == (Tensor([1]) * third).dtype == "float64"


def test_a_generator_runs_without_recording_and_its_caller_with_it():
    w = Variable([2.0])

    @no_grad()
    def outputs():
        for scale in (1, 2):
            try:
                yield w * scale
            except KeyError:
                yield w * 9
        return (w * 3).requires_grad

    steps = outputs()
    found = [next(steps), w * 1, steps.throw(KeyError()), steps.send(None)]
    assert [y.requires_grad for y in found] == [False, True, False, False]
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value is False and (w * 1).requires_grad


def test_a_parameter_stays_one():
    layer, w = nn.Linear(2, 2), Variable([1.0, 1.0])
    for value in (Tensor([0.0, 0.0]), np.zeros(2), 0.0):
        with pytest.raises(TypeError, match="not trained\nwrite nn.Parameter"):
            layer.bias = value
    with pytest.raises(AttributeError, match=r"layer.weights = .*shape \(2, 2\)"):
        layer.weight = nn.Parameter(np.ones((2, 2)))
    layer.bias = nn.Parameter(np.ones(2))
    assert len(layer.parameters()) == 2 and nn.Linear(2, 2).bias.requires_grad
    w.grad = np.array([3.0, 4.0], "f")
    assert optim.clip_grad_norm_(w, 1.0) == 5
    np.testing.assert_allclose(w.grad, [0.6, 0.8], 1e-6)
    with pytest.raises(RuntimeError, match="only leaves can"):
        copy.deepcopy(w * 2)
    assert copy.deepcopy(w).grad.tolist() == w.grad.tolist()


@pytest.mark.slow
def test_batch_norm_with_cumulative_averages_is_pytorchs(torch):
    ours, theirs = nn.BatchNorm1d(3, momentum=None), torch.nn.BatchNorm1d(3, momentum=None)
    for seed in range(4):
        x = np.random.default_rng(seed).normal(seed, 2, (5, 3)).astype("f")
        ours(Tensor(x)), theirs(torch.tensor(x))
        if seed == 1:
            state, ours = ours.state_dict(), nn.BatchNorm1d(3, momentum=None)
            ours.load_state_dict(state)
    for name, array in ours.state_dict().items():
        np.testing.assert_allclose(array, theirs.state_dict()[name].numpy(), 1e-6)


def test_no_token_is_chosen_by_what_is_no_number():
    model = nn.GPT(20, 16, 16, 1, 2)
    model.norm.weight.data[0] = NAN
    for wrong in ([[1.0, 2.0], [NAN, 1.0]], [[0.0, 1.0], [-INF, -INF]], [[0.0, 0.0], [INF, 1.0]]):
        with pytest.raises(ValueError, match="logits of row 1 hold"):
            sample(wrong, 0)
    for options in ({}, {"temperature": 0}, {"cache": False}, {"top_k": 1}, {"top_p": 0.5}):
        with pytest.raises(ValueError, match="hold nan: has training diverged"):
            model.generate([[5, 6]], 2, **options)
    with pytest.raises(ValueError, match="hold nan"):
        beam(model, [[5, 6]], 2, 2)


def test_the_smallest_temperature_and_the_limit_of_top_p():
    for t in (0, 1e-20, 1e-38, 1e-45, 5e-324):
        assert sample(with_temperature([[1.0, 3.0, 2.0]], t), 0).data.tolist() == [1], t
    with pytest.raises(ValueError, match="nan"):
        with_temperature([1.0], NAN)
    for p, limit, kept in [([3, 1, 1, 5], 0.8, 2), ([1] * 10, 0.3, 3), ([6, 3, 1], 0.9, 2)]:
        for dtype in ("float32", "float64"):
            logits = np.log(np.array(p, dtype) / sum(p))
            assert np.isfinite(top_p(logits, limit).data).sum() == kept, (p, limit, dtype)
    assert np.isfinite(top_p(np.log([1 - 1e-9, 1e-9]), 1).data).all()
    assert accept([0.0, 1.0], [1e-17, 1.0], 0, 0) == (False, 1)  # equal but for rounding

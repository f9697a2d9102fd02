"""The exported differentiation lesson: compared with PyTorch and with differences; what it leaves
as it was; and its demonstrations' claims.
"""

import numpy as np
import pytest

from tinytorch import func
from tinytorch.core import tensor as T
from tinytorch.core.activations import Tanh, softmax
from tinytorch.core.autograd import no_grad
from tinytorch.core.convolutions import avg_pool2d, conv2d, max_pool2d
from tinytorch.core.differentiation import (
    checkpoint,
    conjugate_gradient,
    derivative_of,
    hessian,
    hutchinson,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    newton_step,
    power_iteration,
    tanh,
    vjp,
)
from tinytorch.core.layers import Dense, Dropout, Sequential
from tinytorch.core.losses import binary_cross_entropy_with_logits, cross_entropy, mse_loss
from tinytorch.core.tensor import Tensor, Variable
from tinytorch.pictures.autograd import kilobytes_at_peak
from tinytorch.support.training_state import random_states, set_random_states


def numbers(*shape, seed=0, low=None):
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape) if low is None else rng.uniform(low, 2.0, shape)


X, Y, P = numbers(3, 4), numbers(3, 4, seed=1), numbers(3, 4, seed=2, low=0.3)

# name -> (function of Tensors, inputs): together they use every operation that has a tangent rule
PROGRAMS = {
    "arithmetic": (lambda a, b: (a * b - b) / (b * b + 1.0) + 2.0 / (a * a + 1.0) - a, (X, Y)),
    "powers": (lambda a, b: a**b + a**3 + a**-0.5 + 2.0**b, (P, Y)),
    "functions": (lambda a: a.exp() * a.sin() + a.cos().tanh() - a.sigmoid(), (X,)),
    "roots": (lambda a: a.sqrt() + a.log(), (P,)),
    "pieces": (lambda a, b: a.relu() + abs(b) + a.maximum(b) * a.minimum(0.5), (X, Y)),
    "clip and where": (lambda a: T.where(a > 0.2, a * a, -a) + a.clip(-0.5, 0.5), (X,)),
    "reductions": (
        lambda a: a.max(axis=1) + a.min(axis=1) * a.var(1) + a.prod(axis=1) + a.mean(1),
        (X,),
    ),
    "shapes": (
        lambda a, b: (a.reshape(2, 6) @ b.T.reshape(6, 2))[[0, 1, 0], 1:].pad(1) * 3.0,
        (X, Y),
    ),
    "matrices": (lambda a, b: a @ b.T @ a @ b[0], (X, Y)),
    "together": (lambda a, b: T.concatenate([a, b * a], 1) * T.stack([a, b], 1)[:, 0, :1], (X, Y)),
    "sums so far": (lambda a: a.cumsum(1).broadcast_to(2, 3, 4) * a.clone(), (X,)),
    "probabilities": (lambda a: softmax(a), (X,)),
    "losses": (
        lambda a: (
            cross_entropy(a, [1, 0, 3], label_smoothing=0.1)
            + binary_cross_entropy_with_logits(a, (X > 0).astype(float))
        ),
        (X,),
    ),
    "convolution": (
        lambda x, w, b: avg_pool2d(conv2d(x, w, b, stride=2, padding=1), 2),
        (numbers(2, 3, 6, 6), numbers(4, 3, 3, 3), numbers(4)),
    ),
    "pooling": (
        lambda x: max_pool2d(x, (3, 2), stride=(2, 1), padding=1) * max_pool2d(x, 2).sum(),
        (numbers(2, 3, 6, 6),),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_jvp_is_the_central_difference(name):
    f, inputs = PROGRAMS[name]
    rng, h = np.random.default_rng(3), 1e-6
    tangents = [rng.normal(size=x.shape) for x in inputs]
    out, tangent = jvp(f, tuple(map(Tensor, inputs)), tuple(map(Tensor, tangents)))
    up, down = (
        f(*[Tensor(x + sign * v) for x, v in zip(inputs, tangents)]).data for sign in (h, -h)
    )
    assert np.allclose(tangent.data, (up - down) / (2 * h), rtol=1e-5, atol=1e-6)
    assert np.array_equal(out.data, f(*map(Tensor, inputs)).data)
    assert not out.requires_grad and not tangent.requires_grad


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_hessian_vector_product_is_the_difference_of_gradients(name):
    f, inputs = PROGRAMS[name]

    def loss(*xs):
        out = f(*xs)
        return (out * out).sum()

    rng, h = np.random.default_rng(4), 1e-6
    vs = [rng.normal(size=x.shape) for x in inputs]
    products = hvp(loss, list(map(Tensor, inputs)), list(map(Tensor, vs)))
    up, down = (
        vjp(loss, *[Tensor(x + sign * v) for x, v in zip(inputs, vs)])[1](1.0) for sign in (h, -h)
    )
    for product, a, b in zip(products, up, down):
        assert np.allclose(product.data, (a.data - b.data) / (2 * h), rtol=1e-4, atol=1e-4)


def test_fused_operations_of_other_lessons_have_tangents():
    """Those of lessons 11 to 15, where they are built."""
    pytest.importorskip("tinytorch.core.transformers")
    from tinytorch.core.normalization import rms_norm
    from tinytorch.core.transformers import GPT

    model = GPT(vocab_size=7, context=4, embed_dim=8, layers=1, num_heads=2)
    model.to(np.float64)
    vector = np.concatenate([p.data.ravel() for p in model.parameters()])
    direction = np.random.default_rng(0).normal(size=vector.shape)

    def loss(w):
        logits = func.functional_call(model, w, np.array([[1, 5, 0, 3]]))
        return cross_entropy(rms_norm(logits, 7), [[5, 0, 3, 3]])

    h, w, v = 1e-6, Tensor(vector), Tensor(direction)
    up, down = (Tensor(vector + sign * direction) for sign in (h, -h))
    tangent = jvp(loss, (w,), (v,))[1]
    assert np.isclose(float(tangent), (float(loss(up)) - float(loss(down))) / (2 * h), rtol=1e-5)
    difference = (vjp(loss, up)[1](1.0)[0].data - vjp(loss, down)[1](1.0)[0].data) / (2 * h)
    assert np.allclose(hvp(loss, w, v).data, difference, rtol=1e-4, atol=1e-6)


def test_jvp_and_vjp_are_transposed():
    for f, inputs in PROGRAMS.values():
        rng = np.random.default_rng(5)
        vs = [rng.normal(size=x.shape) for x in inputs]
        tangent = jvp(f, tuple(map(Tensor, inputs)), tuple(map(Tensor, vs)))[1].data
        g = rng.normal(size=tangent.shape)
        pulled = vjp(f, *map(Tensor, inputs))[1](g)
        assert np.isclose((g * tangent).sum(), sum((p.data * v).sum() for p, v in zip(pulled, vs)))


def test_float32_stays_float32():
    x = X.astype("float32")
    for result in (
        *jvp(lambda a: (a * 0.1).tanh() ** 2, (x,), (x,)),
        hvp(lambda a: (a * 0.1).tanh().sum(), Tensor(x), Tensor(x)),
        conjugate_gradient(lambda v: v * 2.0, Tensor(x), 3),
        newton_step(lambda a: (a * a).sum(), Tensor(x)),
        power_iteration(lambda v: v, Tensor(x), 2, np.random.default_rng(0))[1],
        hutchinson(lambda v: v, Tensor(x), 2, np.random.default_rng(0))[1],
        checkpoint(lambda a: a * 2.0, Tensor(x)),
    ):
        assert result.dtype == np.float32


def test_forward_mode_nests_to_any_depth():
    f = lambda x: (x * x * x * x).sum()
    along = lambda f: lambda x: jvp(f, (x,), (np.ones(x.shape),))[1]
    x = Tensor(np.array([2.0, 3.0]))
    assert np.isclose(along(along(along(f)))(x).item(), (24 * x.data).sum())
    assert np.allclose(jacfwd(jacfwd(f))(x).data, hessian(f)(x).data)
    assert np.isclose(derivative_of(derivative_of(derivative_of(tanh)))(0.0), -2.0)


def test_there_is_no_perturbation_confusion_with_tensors():
    inner = lambda x: jvp(lambda y: x + y, (Tensor(1.0),), (1.0,))[1]
    assert jvp(lambda x: x * inner(x), (Tensor(7.0),), (1.0,))[1].item() == 1
    same = Variable(3.0)
    assert jvp(lambda y: same * y, (same,), (1.0,))[1].item() == 3


def test_reverse_mode_inside_is_refused():
    f = lambda x: (x * x * x).sum()
    for nested in (jacfwd(jacrev(f)), jacrev(jacrev(f)), jacfwd(lambda x: hvp(f, x, x))):
        with pytest.raises(RuntimeError, match="forward mode inside"):
            nested(Tensor([1.0, 2.0]))
    jacrev(f)(Tensor([1.0, 2.0]))  # and afterwards everything works again


def test_the_result_of_jvp_can_be_differentiated_by_closed_over_weights():
    w, x = Variable([2.0, 3.0]), Tensor([5.0, 7.0])
    out, tangent = jvp(lambda x: (w * w * x).sum(), (x,), (Tensor([1.0, 10.0]),))
    tangent.backward()
    assert np.allclose(w.grad, 2 * w.data * [1, 10])
    with no_grad():
        assert not jvp(lambda x: w * x, (x,), (x,))[1].requires_grad


def test_what_does_not_fit_is_refused():
    x, f = Tensor([1.0, 2.0]), lambda x: x * x
    with pytest.raises(ValueError, match=r"shape \(3,\) for a primal of shape \(2,\)"):
        jvp(f, (x,), (np.ones(3),))
    with pytest.raises(ValueError, match="1 primals need as many tangents, not 2"):
        jvp(f, (x,), (x, x))
    with pytest.raises(TypeError, match="returned a float"):
        jvp(lambda x: float(x.sum()), (x,), (x,))
    with pytest.raises(NotImplementedError, match=r"jvp_rule\(sinh"):
        jvp(lambda x: T.apply(np.sinh, x), (x,), (x,))
    with pytest.raises(NotImplementedError, match="Checkpoint has no tangent rule"):
        jvp(lambda x: checkpoint(f, x), (x,), (x,))
    with pytest.raises(RuntimeError, match="shape"):
        hvp(f, x, x)


# Networks


@pytest.fixture
def net():
    rng = np.random.default_rng(0)
    return Sequential(Dense(3, 4, rng=rng), Tanh(), Dense(4, 2, rng=rng))


def test_a_network_as_a_function_of_its_parameters(net):
    vector = np.concatenate([p.data.ravel() for p in net.parameters()])
    x = numbers(5, 3).astype("float32")
    call = func.functional_call
    assert np.array_equal(call(net, Tensor(vector), x).data, net(Tensor(x)).data)
    assert np.array_equal(call(net, dict(net.named_parameters()), x).data, net(Tensor(x)).data)
    w = Variable(2 * vector)
    mse_loss(call(net, w, x), np.zeros((5, 2))).backward()
    assert w.grad.shape == (26,) and (w.grad != 0).any()
    assert all(p.grad is None for p in net.parameters())
    with pytest.raises(ValueError, match=r"26 parameters, and the vector shape \(25,\)"):
        call(net, Tensor(vector[1:]), x)
    with pytest.raises(ValueError, match="weigths"):
        call(net, {"weigths": w}, x)


def test_shared_weights_stay_shared_when_replaced():
    layer = Dense(2, 2, rng=0)
    twice = Sequential(layer, layer)
    vector = Tensor(np.array([2.0, 0, 0, 2, 0, 0], "float32"))
    out = func.functional_call(twice, vector, Tensor([[1.0, 5.0]]))
    assert out.data.tolist() == [[4, 20]]


def test_checkpoints_inside_checkpoints(net):
    x, y = Variable(numbers(5, 3).astype("float32")), Variable(numbers(5, 3).astype("float32"))
    (net(x).tanh() * net(x)).sum().backward()
    usual = [p.grad for p in net.parameters()]
    net.zero_grad()
    (checkpoint(lambda x: checkpoint(net, x).tanh(), y) * checkpoint(net, y)).sum().backward()
    assert all(np.allclose(p.grad, g) for p, g in zip(net.parameters(), usual))
    assert np.allclose(y.grad, x.grad)


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: lambda x: f(x)], ids=["module", "closure"])
def test_dropout_in_a_checkpoint_draws_one_mask(wrap):
    net = Sequential(Dense(3, 64, rng=0), Dropout(0.5, rng=1), Dense(64, 1, rng=0))
    x, states = Variable(numbers(5, 3).astype("float32")), random_states(net)
    usual = net(x).sum()
    usual.backward()
    expected, x.grad = x.grad, None
    set_random_states(net, states)
    again = checkpoint(wrap(net), x).sum()
    again.backward()
    assert float(again) == float(usual) and np.array_equal(x.grad, expected)


def test_a_checkpointed_chain_needs_less_memory():
    def sines(x, count):
        for _ in range(count):
            x = x.sin()
        return x

    ones = np.ones(2_500, "float32")
    step = lambda f: lambda: f(Variable(ones)).sum().backward()
    usual = kilobytes_at_peak(step(lambda x: sines(x, 64)))

    def segments(x):
        for _ in range(8):
            x = checkpoint(lambda x: sines(x, 8), x)
        return x

    assert kilobytes_at_peak(step(segments)) < usual / 2


# PyTorch


@pytest.mark.slow
def test_all_of_it_equals_pytorch(torch):
    F = torch.nn.functional
    theirs = {
        "arithmetic": PROGRAMS["arithmetic"][0],
        "powers": PROGRAMS["powers"][0],
        "functions": PROGRAMS["functions"][0],
        "roots": PROGRAMS["roots"][0],
        "matrices": PROGRAMS["matrices"][0],
        "probabilities": lambda a: a.softmax(-1),
        "losses": lambda a: (
            F.cross_entropy(a, torch.tensor([1, 0, 3]), label_smoothing=0.1)
            + F.binary_cross_entropy_with_logits(a, torch.tensor((X > 0).astype(float)))
        ),
        "convolution": lambda x, w, b: F.avg_pool2d(F.conv2d(x, w, b, stride=2, padding=1), 2),
    }
    rng = np.random.default_rng(6)
    for name, other in theirs.items():
        f, inputs = PROGRAMS[name]
        vs = [rng.normal(size=x.shape) for x in inputs]
        ours, there = tuple(map(Tensor, inputs)), tuple(map(torch.tensor, inputs))
        for mine, wanted in zip(
            jvp(f, ours, tuple(map(Tensor, vs))),
            torch.func.jvp(other, there, tuple(map(torch.tensor, vs))),
        ):
            assert np.allclose(mine.data, wanted), name
        g = rng.normal(size=wanted.shape)
        for mine, wanted in zip(
            vjp(f, *ours)[1](g), torch.func.vjp(other, *there)[1](torch.tensor(g))
        ):
            assert np.allclose(mine.data, wanted), name
        products = torch.autograd.functional.hvp(
            lambda *xs, other=other: (other(*xs) ** 2).sum(), there, tuple(map(torch.tensor, vs))
        )[1]
        mine = hvp(lambda *xs, f=f: (f(*xs) * f(*xs)).sum(), list(ours), list(map(Tensor, vs)))
        for a, b in zip(mine, products):
            assert np.allclose(a.data, b), name


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_jacobians_and_hessians_of_random_programs_equal_pytorch(torch, seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 6, 2)
    a, x = rng.normal(size=(n, m)), rng.normal(size=n)
    names = rng.choice(["sin", "cos", "tanh", "sigmoid", "exp", "relu"], 4)

    def program(x, weights):
        y = x @ weights
        for name in names:
            y = getattr(y, name)() * 0.5 + y * y.sum() * 0.1
        return y

    for ours, theirs in ((jacfwd, torch.func.jacfwd), (jacrev, torch.func.jacrev)):
        mine = ours(lambda x: program(x, Tensor(a)))(Tensor(x))
        wanted = theirs(lambda x: program(x, torch.tensor(a)))(torch.tensor(x))
        assert mine.shape == (m, n) and np.allclose(mine.data, wanted)
    mine = hessian(lambda x: program(x, Tensor(a)).sum())(Tensor(x))
    wanted = torch.func.hessian(lambda x: program(x, torch.tensor(a)).sum())(torch.tensor(x))
    assert np.allclose(mine.data, wanted)

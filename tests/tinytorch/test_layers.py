"""The exported layers: named parameters, initialization, modes, saving and loading, errors."""

import copy
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from tinytorch import nn
from tinytorch.core import layers as lesson
from tinytorch.core.activations import ReLU
from tinytorch.core.convolutions import Conv2d
from tinytorch.core.layers import (
    Dense,
    Dropout,
    Flatten,
    Layer,
    Linear,
    Module,
    Sequential,
    he_normal,
    linear,
    manual_seed,
    summary,
    traverse,
    xavier_uniform,
)
from tinytorch.core.tensor import Tensor, Variable

ROOT = Path(__file__).parents[2]


def numbers(shape, dtype="float32", seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


class Residual(Module):
    """A custom module with a layer, a list of layers, a dict and a buffer."""

    def __init__(self, width):
        self.inner = Sequential(Dense(width, 5), Tensor.tanh, Dense(5, width, bias=False))
        self.heads = [Dense(width, 2), Dense(width, 3)]
        self.extra = {"gain": Variable(np.ones(width, "float32")), "drop": Dropout(0.5)}
        self.mean = Tensor(np.zeros(width))

    def forward(self, x):
        return x + self.inner(x) * self.extra["gain"]


# Named parameters


def test_parameters_are_a_list_that_can_be_iterated_twice():
    parameters = Residual(4).parameters()
    assert isinstance(parameters, list) and len(list(parameters)) == len(list(parameters)) == 8


def test_modules_are_found_in_everything():
    kinds = [type(module).__name__ for module in Residual(4).modules()]
    assert kinds == ["Residual", "Sequential", "Dense", "Dense", "Dense", "Dense", "Dropout"]


def test_a_subclass_need_not_call_the_constructor_of_module():
    class Plain(Layer):
        def __init__(self):
            self.w = Variable([1.0])

        def forward(self, x, scale=1):
            return x * self.w * scale

    net = Plain()
    assert net.training and len(net.parameters()) == 1 and net(Tensor([3.0]), scale=2).item() == 6


def test_a_module_without_forward_says_so():
    class Empty(Module):
        pass

    with pytest.raises(NotImplementedError, match="Empty has no method forward"):
        Empty()(Tensor([1.0]))


def test_a_deep_traversal_and_wide_lists():
    thing = [Variable([1.0])]
    for _ in range(200):
        thing = [thing]
    assert traverse(thing)[0][0] == ".".join(["0"] * 201)
    assert len(traverse([Variable([1.0]) for _ in range(10_000)])) == 10_000


def test_zero_grad():
    net = Residual(4)
    for p in net.parameters():
        p.grad = np.ones(p.shape)
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())


def test_other_names():
    assert issubclass(Linear, Dense) and Layer is Module
    assert Linear(2, 3).weight is not None and Conv2d(1, 2, 3).weight.ndim == 4


def test_a_layer_prints_under_the_name_it_was_made_with():
    assert repr(Linear(2, 3, bias=False)) == "Linear(2, 3, bias=False)"
    assert repr(Dense(2, 3)) == "Dense(2, 3)" and isinstance(Linear(2, 3), Dense)
    layer = pickle.loads(pickle.dumps(copy.deepcopy(Linear(2, 3, rng=1))))
    assert type(layer) is Linear and layer.weights.shape == (2, 3)
    with pytest.raises(ValueError, match=r"^Linear needs at least 1 input"):
        Linear(0, 3)
    with pytest.raises(ValueError, match=r"^Linear\(3, 2\) takes inputs of shape"):
        Linear(3, 2)(Tensor([1.0]))


def initial_values(make, weight="weights", count=200):
    """The weights and the biases of many new layers, each in one array."""
    layers = [make() for _ in range(count)]
    arrays = [
        [np.ravel(getattr(layer, name).data) for layer in layers] for name in (weight, "bias")
    ]
    return [np.concatenate(values) for values in arrays]


def test_linear_and_conv2d_start_uniform_up_to_one_over_the_root_of_fan_in():
    for make, bound in [(lambda: nn.Linear(16, 8), 1 / 4), (lambda: nn.Conv2d(4, 5, 3), 1 / 6)]:
        for values in initial_values(make, count=100):
            assert bound * 0.98 < abs(values).max() <= bound and values.dtype == np.float32
            assert values.std() == pytest.approx(bound / 3**0.5, rel=0.05)
            assert abs(values.mean()) < 0.1 * bound
    layer = nn.Linear(3, 3, rng=0)
    assert not np.isin(layer.bias.data, layer.weights.data).any()  # not the same draws again
    assert nn.Linear(2, 3, bias=False).bias is nn.Conv2d(1, 2, 3, bias=False).bias is None
    assert np.array_equal(nn.Linear(2, 3, init=he_normal, rng=4).weights.data, he_normal(2, 3, 4))
    assert not Dense(2, 3).bias.data.any()


@pytest.mark.slow
def test_linear_and_conv2d_start_as_in_pytorch(torch):
    _ = nn.manual_seed(0), torch.manual_seed(0)
    for name, sizes in [("Linear", (5, 64)), ("Linear", (784, 10)), ("Conv2d", (3, 8, (5, 3)))]:
        ours = initial_values(lambda: getattr(nn, name)(*sizes))
        theirs = initial_values(lambda: getattr(torch.nn, name)(*sizes), "weight")
        for a, b in zip(ours, theirs):
            assert a.shape == b.shape
            both = np.concatenate([a, b])  # the Kolmogorov-Smirnov statistic, with 1 in 1000 above
            steps = [np.searchsorted(np.sort(x), both, "right") / len(x) for x in (a, b)]
            assert abs(steps[0] - steps[1]).max() < 1.95 * (2 / len(a)) ** 0.5


# Dense


def test_dense_takes_lists_and_whole_numbers():
    layer = Dense(3, 2, rng=0)
    assert layer([[1, 2, 3]]).shape == (1, 2) and layer(Tensor([1, 2, 3])).dtype == "float32"
    np.testing.assert_allclose(
        layer([1, 2, 3]).data, np.array([1, 2, 3]) @ layer.weights.data, rtol=1e-6
    )


@pytest.mark.parametrize("sizes", [(0, 3), (3, 0), (-1, 2)])
def test_a_layer_without_inputs_or_outputs_is_refused(sizes):
    with pytest.raises(ValueError, match="at least 1 input and 1 output"):
        Dense(*sizes)


@pytest.mark.parametrize("sizes", [(2.0, 3), (2, "3"), (None, 3), ((2,), 3)])
def test_sizes_that_are_no_whole_numbers_are_refused(sizes):
    with pytest.raises(TypeError, match=r"^Linear\(in_features, .* two whole numbers") as error:
        Linear(*sizes)
    assert str(error.value).endswith(
        f"{sizes[0]!r} and {sizes[1]!r}\nwrite Linear(2, 3); divide sizes with //, not /"
    )
    assert Linear(np.int64(2), np.int32(3)).weights.shape == (2, 3)


def test_linear_takes_any_tensors():
    out = linear(Tensor([1, 2]), Tensor([[1, 2, 3], [4, 5, 6]]))
    assert np.array_equal(out.data, [9, 12, 15]) and out.dtype == "int64" and not out.requires_grad


# Initialization


def test_manual_seed_repeats_everything_and_leaves_numpy_alone():
    def draw():
        net = Sequential(Dense(3, 4), Dropout(0.4), Dense(4, 50, init=he_normal))
        return net.state_dict(), net(Tensor(np.ones((2, 3), "float32"))).data

    np.random.seed(0)
    before = np.random.get_state()[1].copy()
    manual_seed(1)
    first, out = draw()
    other, _ = draw()
    np.random.seed(5)
    np.random.rand(3)
    manual_seed(1)
    again, out_again = draw()
    assert np.array_equal(out, out_again) and all(np.array_equal(first[n], again[n]) for n in first)
    assert not np.array_equal(first["0.weights"], other["0.weights"])
    np.random.seed(0)
    assert np.array_equal(np.random.get_state()[1], before)


def test_without_a_seed_runs_differ():
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tinytorch.core.layers import Dense; "
        "print(Dense(4, 3).weights.data.sum())"
    )
    first, second = [
        subprocess.run(
            [sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True
        )
        for _ in range(2)
    ]
    assert first.stdout != second.stdout


@pytest.mark.parametrize("rng", [7, np.int64(7), np.random.default_rng(7)])
def test_a_seed_or_a_generator(rng):
    assert np.array_equal(Dense(3, 2, rng=rng).weights.data, xavier_uniform(3, 2, 7))


# Sequential, Flatten, Dropout


def test_sequential_is_a_sequence_of_layers():
    net = Sequential(Dense(2, 3), Tensor.relu, Dense(3, 1))
    assert len(net) == 3 and net[1] is Tensor.relu and len(net[:2]) == 2 and len(Sequential()) == 0
    assert (
        net[0] is next(iter(net)) and net[-1] is net.layers[2] and isinstance(net[1:], Sequential)
    )
    assert net[1:][1] is net[2]
    with pytest.raises(IndexError):
        net[3]
    with pytest.raises(TypeError, match="one by one"):
        Sequential([Dense(2, 3)])
    with pytest.raises(TypeError, match=r"^ReLU is a class and not a layer: .* ReLU\(\)$"):
        Sequential(Dense(2, 3), ReLU)


def test_sequential_keeps_what_a_subclass_adds():
    class Scaled(Sequential):
        def __init__(self, *layers):
            super().__init__(*layers)
            self.scale = Variable(2.0)

        def forward(self, x):
            return super().forward(x) * self.scale

    net = Scaled(Dense(2, 3, bias=False))
    assert [n for n, _ in net.named_parameters()] == ["0.weights", "scale"] and len(net) == 1


@pytest.mark.parametrize(
    ("start", "wanted"), [(0, (30,)), (1, (5, 6)), (-2, (5, 6)), (2, (5, 2, 3))]
)
def test_flatten(start, wanted):
    x = Variable(numbers((5, 2, 3)))
    out = Flatten(start)(x)
    assert (
        out.shape == wanted
        and out.requires_grad
        and np.array_equal(out.data.ravel(), x.data.ravel())
    )


# Saving and loading


def test_a_state_is_saved_to_a_file_and_loaded(tmp_path):
    net, other = Residual(4), Residual(4)
    np.savez(tmp_path / "net.npz", **net.state_dict())
    with np.load(tmp_path / "net.npz") as file:
        other.load_state_dict(file)
    x = Tensor(numbers((3, 4)))
    assert np.array_equal(net(x).data, other(x).data) and other.mean.dtype == "float64"


@pytest.mark.parametrize("bad", [["a", "b"], [None, None], [1j, 2j]])
def test_what_is_no_number_is_not_loaded(bad):
    net = Dense(1, 2)
    before = net.state_dict()
    with pytest.raises(TypeError):
        net.load_state_dict({"weights": [[5, 6]], "bias": bad})
    assert all(np.array_equal(a, before[n]) for n, a in net.state_dict().items())


@pytest.mark.parametrize("state", ["net.npz", Path("net.npz"), ["weights"], None, 3])
def test_what_is_no_state_dict_is_refused(state):
    with pytest.raises(TypeError, match=r"maps names to arrays(.|\n)*tinytorch\.load\(path\)"):
        Dense(1, 2).load_state_dict(state)


def test_a_whole_network_is_no_state_dict():
    with pytest.raises(TypeError, match=r"a whole Dense\ngive what its state_dict\(\) returns"):
        Dense(1, 2).load_state_dict(Dense(1, 2))


def test_a_part_of_a_state_can_be_merged():
    net = Sequential(Dense(2, 3), Dense(3, 1))
    net.load_state_dict({**net.state_dict(), "0.bias": [7, 8, 9]})
    assert np.array_equal(net[0].bias.data, [7, 8, 9])


def test_networks_can_be_copied():
    net = Residual(4)
    other = copy.deepcopy(net)
    other.heads[0].bias.data[:] = 5
    assert net.heads[0].bias.data.max() == 0 and len(other.parameters()) == 8


def test_a_layer_can_be_pickled():
    net = pickle.loads(pickle.dumps(Sequential(Dense(2, 3, rng=0), Dropout(0.5))))
    assert np.array_equal(net[0].weights.data, xavier_uniform(2, 3, 0))


# Summary and repr


def test_summary_counts_what_is_there():
    net = Sequential(
        Flatten(), Dense(12, 7), Tensor.relu, Sequential(Dropout(0.5), Dense(7, 2)), Residual(2)
    )
    lines = str(summary(net, (5, 3, 4))).splitlines()
    assert [line.strip().split("  ")[0] for line in lines] == [
        "layer", "input", "0 Flatten(1)", "1 Dense(12, 7)", "2 relu", "3 Sequential",
        "3.0 Dropout(0.5)", "3.1 Dense(7, 2)", "4 Residual", "4.inner Sequential",
        "4.inner.0 Dense(2, 5)", "4.inner.1 tanh", "4.inner.2 Dense(5, 2, bias=False)",
        "4.heads.0 Dense(2, 2)", "4.heads.1 Dense(2, 3)", "4.extra.gain Parameter of shape (2,)",
        "4.extra.drop Dropout(0.5)", "4.mean Tensor of shape (2,)", "total",
        "4.mean (2,): not learned. nn.Parameter makes it a parameter, register_buffer a buffer",
    ]  # fmt: skip
    assert (
        "(5, 12)" in lines[2]
        and "(5, 7)" in lines[3]
        and lines[3].endswith(" 91")
        and lines[-2].endswith(" 149")
    )
    assert len({len(line) for line in lines[:-1]}) == 1
    assert net.training and net[3][0].training


def test_summary_leaves_the_modes_alone_even_after_an_error():
    net = Sequential(Dense(2, 3), Dropout(0.5), Dense(4, 1))
    net[1].training = False
    with pytest.raises(ValueError, match=r"\(5, 3\)"):
        summary(net, (5, 2))
    assert [m.training for m in net.modules()] == [True, True, False, True]


def test_summary_counts_a_shared_layer_once():
    layer = Dense(3, 3)
    lines = summary(Sequential(layer, Tensor.tanh, layer), (2, 3)).splitlines()
    assert lines[2].endswith("12") and lines[4].endswith(" 0") and lines[5].endswith("12")
    assert repr(summary(layer, (2, 3))) == str(summary(layer, (2, 3)))


def test_summary_opens_a_sequential_with_another_forward():
    class Both(Sequential):
        def forward(self, x):
            return self[0](x) + self[1](x)

    lines = summary(Sequential(Both(Dense(3, 5), Dense(3, 5))), (2, 3)).splitlines()
    assert lines[2].startswith("0 Both") and "(2, 5)" in lines[2] and len(lines) == 6
    assert lines[3].endswith(" 20") and lines[4].endswith(" 20") and lines[5].endswith(" 40")


def test_text_of_layers():
    assert repr(Dense(3, 2, bias=False)) == "Dense(3, 2, bias=False)"
    net = Sequential(Dense(3, 2), Tensor.relu, Flatten(), Dropout(0.1))
    assert repr(net) == "Sequential(Dense(3, 2), relu, Flatten(1), Dropout(0.1))"


# Threads and stages


def test_drawing_in_threads_gives_different_weights():
    drawn = []
    threads = [
        threading.Thread(target=lambda: drawn.append(Dense(20, 20).weights.data)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({a.tobytes() for a in drawn}) == 8


def test_the_lesson_needs_nothing_later():
    source = Path(lesson.__file__).read_text(encoding="utf-8")
    imports = [
        line
        for line in source.splitlines()
        if line.startswith(("from tinytorch", "import tinytorch"))
    ]
    assert imports == [
        "from tinytorch.core.tensor import Tensor, Variable",
        "from tinytorch.support.checkpoints import check_state_dict",
        "from tinytorch.support.layer_watch import summary",
        "from tinytorch.support.modules import ModuleMethods, cast_to, check_layer, "
        "clear_gradients",
    ]


def test_a_chapter_that_runs_as_a_script_prints_its_own_networks():
    program = (
        "import runpy, sys; sys.path.insert(0, '.')\n"
        "names = runpy.run_path('tinytorch/core/layers.py', run_name='chapter')\n"
        "Dense, Sequential, summary = names['Dense'], names['Sequential'], names['summary']\n"
        "print(summary(Sequential(Dense(2, 3), Dense(3, 1)), (5, 2)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "0 Dense(2, 3)  (5, 3)" in done.stdout and "(5, 1)" in done.stdout


def test_a_network_prints_before_named_parameters_is_written(monkeypatch):
    monkeypatch.delattr(lesson, "named_parameters")
    assert repr(Residual(2)).startswith("Residual(  # 42 parameters")

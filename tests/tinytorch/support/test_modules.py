"""What modules can do besides being called."""

import copy
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from tinytorch.core.activations import ReLU
from tinytorch.core.convolutions import Conv2d
from tinytorch.core.layers import Dense, Dropout, Linear, Module, Sequential
from tinytorch.core.optimizers import SGD
from tinytorch.core.tensor import Tensor, Variable
from tinytorch.nn.additions import ModuleDict, ModuleList
from tinytorch.support import modules


class Block(Module):
    def __init__(self):
        self.layer = Linear(3, 3)
        self.gain = Variable(np.ones(3, "float32"))

    def forward(self, x):
        return self.layer(x) * self.gain


class Net(Module):
    """Modules in attributes, lists and dicts, one twice, and one that holds the whole."""

    def __init__(self):
        self.body = Sequential(Block(), Tensor.tanh, Dropout(0.5))
        self.act = ReLU()
        self.heads = [Dense(3, 2), {"one": Dense(3, 1, bias=False)}]
        self.more = ModuleList([Dense(1, 1)])
        self.tied = self.heads[0].weights
        self.again = self.act
        self.mean = Tensor(np.zeros(3, "float32"))
        self.sizes, self.title = [1, 2], "net"

    def forward(self, x):
        self.last = self.body(x)
        return self.heads[0](self.act(self.last))


class Norm(Module):
    """A layer with buffers, as batch normalization has them."""

    def __init__(self):
        self.weight = Variable(np.ones(2, "float32"))
        self.register_buffer("running_mean", np.zeros(2, "float32"))
        self.register_buffer("seen", Tensor([0]))
        self.register_buffer("later", None)

    def forward(self, x):
        self.running_mean = self.running_mean * 0.9 + x.mean(0) * 0.1
        return (x - self.running_mean) * self.weight


def test_children_are_the_modules_held_directly():
    net = Net()
    assert [name for name, _ in net.named_children()] == [
        "body",
        "act",
        "heads.0",
        "heads.1.one",
        "more",
    ]
    assert net.children() == [net.body, net.act, net.heads[0], net.heads[1]["one"], net.more]
    assert Dense(1, 1).children() == []


def test_named_modules_come_once_each_and_outer_ones_first():
    names = [name for name, _ in Net().named_modules()]
    assert names == [
        "", "body", "body.0", "body.0.layer", "body.2", "act", "heads.0", "heads.1.one", "more",
        "more.0",
    ]  # fmt: skip


def test_apply_reaches_every_module_inner_ones_first():
    net, called = Net(), []
    assert net.apply(called.append) is net
    assert len(called) == 10 and called[-1] is net and net.body[0].layer in called
    assert called.index(net.body[0]) < called.index(net.body)


def test_a_buffer_is_saved_and_not_learned():
    norm, other = Norm(), Norm()
    assert [name for name, _ in norm.named_parameters()] == ["weight"]
    assert [name for name, _ in norm.named_buffers()] == ["running_mean", "seen"]
    assert list(norm.state_dict()) == ["weight", "running_mean", "seen"]
    assert isinstance(norm.state_dict()["running_mean"], np.ndarray)
    norm(Tensor([[2.0, 4.0], [4.0, 8.0]]))
    other.load_state_dict(norm.state_dict())
    np.testing.assert_allclose(other.running_mean.data, [0.3, 0.6], rtol=1e-6)


def test_a_registered_buffer_stays_one_whatever_is_assigned():
    norm = Norm()
    norm(Variable(np.ones((4, 2), "float32")))  # a recorded result would be lost to the state
    assert norm.running_mean.creator is None and not norm.running_mean.requires_grad
    norm.running_mean = np.ones(2, "float32")
    assert norm.buffers()[0] is norm.running_mean and isinstance(norm.running_mean, Tensor)
    norm.later = [1.0]
    assert "later" in norm.state_dict()
    norm.later = None
    assert "later" not in norm.state_dict()
    for again in (copy.deepcopy(norm), pickle.loads(pickle.dumps(norm))):
        again.running_mean = np.full(2, 5.0)
        assert np.array_equal(again.state_dict()["running_mean"], [5, 5])


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (("weight", np.ones(1)), KeyError, "Norm has an attribute 'weight' already"),
        (("forward", np.ones(1)), KeyError, "has an attribute 'forward' already"),
        ((np.ones(1), "mean"), TypeError, "the name of a buffer is the name of an attribute"),
        (("a.b", np.ones(1)), TypeError, "not 'a.b'"),
        (("w", Variable([1.0])), ValueError, r"requires a gradient.*w\.detach\(\).*Parameter"),
        (("mask", np.ones(1), False), ValueError, "always saved.*self.mask = array"),
        (("x", "text"), TypeError, "text"),
    ],
)
def test_what_is_no_buffer_is_refused(arguments, kind, words):
    norm = Norm()
    with pytest.raises(kind, match=words):
        norm.register_buffer(*arguments)


def test_registering_again_replaces_the_buffer():
    norm = Norm()
    norm.register_buffer("seen", Tensor([7]))
    assert norm.state_dict()["seen"] == [7] and len(norm.buffers()) == 2


def test_frozen_parameters_are_unfrozen_and_buffers_stay():
    net = Sequential(Dense(2, 2), Norm(), [Dense(2, 1)][0])
    before = [name for name, _ in net.named_parameters()]
    net[0].weights.grad = np.ones((2, 2), "float32")
    assert net[:2].requires_grad_(False)[0].weights.grad is None
    assert [name for name, _ in net.named_parameters()] == ["2.weights", "2.bias"]
    assert list(net.state_dict()) == list(Sequential(Dense(2, 2), Norm(), Dense(2, 1)).state_dict())
    assert [name for name, _ in net.named_buffers()] == ["1.running_mean", "1.seen"]
    net = pickle.loads(pickle.dumps(net))
    assert net.requires_grad_() is net
    assert [name for name, _ in net.named_parameters()] == before
    net.requires_grad_(False).requires_grad_(False).requires_grad_(True)
    assert [name for name, _ in net.named_parameters()] == before


def test_a_shared_parameter_is_unfrozen_through_either_module():
    net = Net()
    net.tied_layer = Dense(3, 2)
    net.tied_layer.weights = net.heads[0].weights
    net.requires_grad_(False)
    net.tied_layer.requires_grad_(True)
    assert net.heads[0].weights.requires_grad and not net.heads[0].bias.requires_grad
    assert not net.mean.requires_grad


def test_a_frozen_layer_is_not_trained():
    net = Sequential(Dense(2, 2, rng=0), Dense(2, 1, rng=1))
    net[0].requires_grad_(False)
    before = net.state_dict()
    optimizer = SGD(net.parameters(), lr=0.1)
    net(Tensor([[1.0, 2.0]])).sum().backward()
    optimizer.step()
    after = net.state_dict()
    assert np.array_equal(before["0.weights"], after["0.weights"])
    assert not np.array_equal(before["1.weights"], after["1.weights"])


@pytest.mark.parametrize("where", [("cpu",), (np.float32,), ("cpu", "float32"), (), (None,)])
def test_a_move_to_where_it_is_changes_nothing(where):
    net = Dense(2, 3)
    arrays = net.weights.data, net.bias.data
    assert net.to(*where) is net and net.weights.data is arrays[0] and net.bias.data is arrays[1]


def test_a_network_is_made_float64_and_trains():
    net = Sequential(Dense(2, 2), Norm())
    net[0].weights.grad = np.ones((2, 2), "float32")
    weights = net[0].weights
    assert net.to(dtype=np.float64)[0].weights is weights and weights.grad.dtype == np.float64
    kinds = {name: array.dtype.name for name, array in net.state_dict().items()}
    assert kinds == {
        "0.weights": "float64",
        "0.bias": "float64",
        "1.weight": "float64",
        "1.running_mean": "float64",
        "1.seen": "int64",
    }
    optimizer = SGD(net.parameters(), lr=0.1, momentum=0.5)
    for _ in range(2):
        optimizer.zero_grad()
        net(Tensor(np.ones((3, 2)))).sum().backward()
        optimizer.step()
    assert weights.dtype == weights.grad.dtype == np.float64


def test_float_and_double_are_short_for_to():
    assert Dense(2, 3).double().weights.dtype == np.float64
    assert Dense(2, 3).double().float().weights.dtype == np.float32
    with pytest.raises(ValueError, match="there is one device"):
        Dense(2, 3).cuda()


@pytest.mark.parametrize("where", ["cuda", "cuda:0", "mps", np.float16, np.int64, 3, object()])
def test_other_devices_and_dtypes_are_refused(where):
    with pytest.raises(ValueError, match="there is one device, the processor.*np.float32"):
        Dense(2, 3).to(where)


def test_an_own_module_prints_as_a_tree():
    assert repr(Net()).splitlines() == [
        "Net(  # 28 parameters",
        "  (body): Sequential(  # 15 parameters",
        "    (0): Block(  # 15 parameters",
        "      (layer): Linear(3, 3)  # 12 parameters",
        "      (gain): Parameter of shape (3,)  # 3 parameters",
        "    )",
        "    (1): tanh",
        "    (2): Dropout(0.5)",
        "  )",
        "  (act): ReLU()",
        "  (heads.0): Dense(3, 2)  # 8 parameters",
        "  (heads.1.one): Dense(3, 1, bias=False)  # 3 parameters",
        "  (more): ModuleList(Dense(1, 1))  # 2 parameters",
        "  (tied): is heads.0.weights",
        "  (again): is act",
        "  (mean): Tensor of shape (3,)  # not learned",
        ")",
    ]
    assert repr(Norm()).splitlines()[2:] == [
        "  (running_mean): buffer of shape (2,)",
        "  (seen): buffer of shape (1,)",
        ")",
    ]
    assert repr(ModuleDict({"a": ReLU()})) == "ModuleDict(\n  (a): ReLU()\n)"


def test_a_result_kept_by_forward_is_no_part_of_the_tree():
    net = Net()
    before = repr(net)
    net(Tensor(np.ones((2, 3), "float32")))
    assert repr(net) == before


def test_frozen_parts_say_so():
    assert "(gain): Parameter of shape (3,)  # frozen" in repr(Block().requires_grad_(False))
    assert "(layer): Linear(3, 3)  # frozen" in repr(Block().requires_grad_(False))


def test_numbered_layers_share_a_line_until_it_is_full():
    assert repr(Sequential(Dense(3, 2), Tensor.relu)) == "Sequential(Dense(3, 2), relu)"
    assert repr(Sequential()) == "Sequential()" and repr(Module()) == "Module()"
    lines = repr(Sequential(*[Dense(10, 10) for _ in range(9)])).splitlines()
    assert lines[0] == "Sequential(  # 990 parameters" and len(lines) == 11


def test_a_cycle_and_a_list_that_holds_itself_end():
    outer, inner = Module(), Module()
    outer.inner, inner.outer = inner, outer
    outer.items = [inner]
    outer.items.append(outer.items)
    assert repr(outer) == (
        "Module(\n  (inner): Module(\n    (outer): is the Module\n  )\n  (items.0): is inner\n)"
    )


ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(modules, "warned", [])


def test_there_is_one_device():
    net = Sequential()
    assert net.cpu() is net


@pytest.mark.parametrize(
    ("layer", "shape"), [(lambda: Linear(3, 2), (4, 3)), (lambda: Conv2d(1, 2, 3), (2, 1, 5, 5))]
)
@pytest.mark.parametrize("kind", [np.asarray, Tensor], ids=["array", "tensor"])
def test_float64_data_are_cast_with_one_warning_that_names_the_line(layer, shape, kind):
    layer, x = layer(), np.random.default_rng(0).normal(size=shape)
    with pytest.warns(
        UserWarning, match=r"float64 data.*float32.*x\.astype\(np\.float32\)"
    ) as said:
        out = layer(kind(x))
    assert [warning.filename for warning in said] == [__file__]
    assert str(said[0].message).startswith(repr(layer))
    assert out.dtype == np.float32
    np.testing.assert_array_equal(out.data, layer(Tensor(x.astype("float32"))).data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layer(kind(x))


def test_the_gradient_arrives_at_a_float64_leaf():
    layer, x = Linear(3, 2, rng=0), Variable(np.ones((4, 3)))
    with pytest.warns(UserWarning):
        layer(x).sum().backward()
    assert x.grad.dtype == np.float64 and layer.weights.grad.dtype == np.float32
    np.testing.assert_allclose(x.grad, np.tile(layer.weights.data.sum(1), (4, 1)))
    layer(x * 2).sum().backward()
    np.testing.assert_allclose(x.grad, 3 * np.tile(layer.weights.data.sum(1), (4, 1)))


@pytest.mark.parametrize(
    ("dtype", "x"),
    [
        (np.float64, np.ones(3)),
        (np.float32, np.ones(3, "float32")),
        (np.float32, np.ones(3, int)),
        (np.float32, [1, 2, 3]),
        (np.float32, [1.0, 2.0, 3.0]),
    ],
)
def test_all_else_is_left_alone(dtype, x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Linear(3, 2).to(dtype)(x).dtype == dtype


def test_a_program_is_told_its_own_line(tmp_path):
    program = tmp_path / "mine.py"
    program.write_text(
        "import numpy as np\nfrom tinytorch.nn import *\nnet = Sequential(Linear(2, 2))\n"
        "summary(net, (1, 2), dtype=np.float64)\nnet(np.ones((1, 2)))\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT)},
    )
    assert done.stderr.startswith(f"{program}:4: UserWarning: Linear(2, 2) got float64 data")
    assert done.stderr.count("UserWarning") == 1


def test_only_the_first_layer_casts():
    net = Sequential(Dense(2, 3), Tensor.tanh, Dense(3, 1))
    with pytest.warns(UserWarning) as said:
        assert net(np.ones((5, 2))).dtype == np.float32
    assert len(said) == 1


def test_inputs_are_recorded_call_by_call_and_the_layers_stay_as_they_are():
    net = Sequential(Dense(2, 3), Tensor.tanh, Dense(3, 1))
    x = np.ones((5, 2), "float32")
    with (
        pytest.raises(ZeroDivisionError),
        modules.recording({"last": net[2], "first": net[0]}) as seen,
    ):
        net(x)
        net(x[:1])
        1 / 0
    assert [array.shape for array in seen["first"]] == [(5, 2), (1, 2)]
    assert [array.shape for array in seen["last"]] == [(5, 3), (1, 3)]
    assert "forward" not in vars(net[0]) and "forward" not in vars(net[2])
    seen["first"][0][:] = 7
    assert x.max() == 1

"""float64 data in a float32 network: one warning with the user's line, and gradients that flow."""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from tinytorch.core.convolutions import Conv2d
from tinytorch.core.layers import Dense, Linear, Sequential
from tinytorch.core.tensor import Tensor, Variable
from tinytorch.support import casting

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(casting, "said", [])


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

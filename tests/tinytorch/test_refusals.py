"""Mistakes that everybody makes once: each is refused in two lines, what is wrong and what to write
instead; what is legal but surely not meant gives one warning, at the line of the user's program.
"""

import importlib
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest

import tinytorch
from tinytorch import Tensor, Variable, data, nn, no_grad, optim, training

ROOT = Path(__file__).resolve().parents[2]
X = np.random.default_rng(0).normal(size=(12, 2)).astype("float32")
Y = np.random.default_rng(1).integers(0, 3, 12)


def network():
    nn.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3))


def trainer(model=None, loss=None, **options):
    model = model or network()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    loss = loss or nn.CrossEntropyLoss()
    return training.Trainer(model, optimizer, loss, show=False, **options)


class Core:
    """core.losses is the module tinytorch.core.losses."""

    def __getattr__(self, lesson):
        return importlib.import_module(f"tinytorch.core.{lesson}")


def names():
    """What the lines below are written with."""
    known = {"core": Core()}
    for module in (tinytorch, nn, optim, data, training):
        known.update({name: getattr(module, name) for name in module.__all__})
    net, dataset = network(), data.TensorDataset(X, Y)
    return known | {
        "np": np,
        "tinytorch": tinytorch,
        "F": nn.functional,
        "t": Tensor(X),
        "x": X,
        "y": Y,
        "net": net,
        "sgd": optim.SGD(net.parameters(), lr=0.1),
        "other": optim.SGD(network().parameters(), lr=0.1),
        "dataset": dataset,
        "loader": data.DataLoader(dataset, 4),
        "trainer": trainer,
        "generator": (p for p in net.parameters()),
        "w": Variable([1.0, 2.0]),
        "gpt": nn.GPT(9, 8, 8, 1, 2),
    }


# The code of a user, and the lines of its error; a line with more indentation continues.
REFUSED = (Path(__file__).parent / "refused.txt").read_text(encoding="utf-8")


def refusals():
    """The code and the lines of the message of each."""
    lines = [line for line in REFUSED.splitlines() if line and not line.startswith("#")]
    cases = []
    for line in lines:
        if not line.startswith(" "):
            cases.append([line, []])
        elif line.startswith(" " * 8):
            cases[-1][1][-1] += " " + line.strip()
        else:
            cases[-1][1].append(line.strip())
    return cases


@pytest.mark.parametrize(("code", "message"), refusals())
def test_what_cannot_work_is_refused_with_advice(code, message):
    with pytest.raises((AttributeError, IndexError, TypeError, ValueError)) as caught:
        eval(code, names())
    assert f"{caught.type.__name__}: {caught.value}".split("\n") == message


@pytest.mark.parametrize("sign", ["+=", "-=", "*=", "/=", "**=", "@="])
def test_a_weight_is_changed_in_place_inside_no_grad_only(sign):
    w, factor = Variable([1.0, 2.0]), np.array([[2.0, 0.0], [0.0, 4.0]])
    other = factor if sign == "@=" else factor.diagonal()
    array, first, alias = w.data, w.data[:1], w
    with pytest.raises(RuntimeError) as caught:
        exec(f"w {sign} other", {"w": w, "other": other})
    assert str(caught.value).split("\n") == [
        f"w {sign} ... would replace w by the result of an operation, whose .grad stays None",
        f"write `with no_grad(): w {sign} ...`, or change the array inside: w.data {sign} ...",
    ]
    assert w.data.tolist() == [1, 2]
    scope = {"w": w, "other": other}
    with no_grad():
        exec(f"w {sign} other", scope)
    wanted = {"+=": [3, 6], "-=": [-1, -2], "*=": [2, 8], "/=": [0.5, 0.5], "**=": [1, 16]}
    assert scope["w"] is w is alias and w.data is array and w.creator is None
    assert w.data.tolist() == wanted.get(sign, [2, 8]) and first[0] == w.data[0]
    assert w.dtype == "float32" and w.requires_grad  # though `other` is float64


def test_a_weight_keeps_its_shape():
    w = Variable([1.0, 2.0])
    with no_grad(), pytest.raises(ValueError) as caught:
        w += np.ones((3, 2))
    assert str(caught.value).split("\n") == [
        "w += ... keeps the shape of w, (2,), and the result has shape (3, 2)",
        "for a new tensor of that shape write w = w + ...",
    ]
    assert w.data.tolist() == [1, 2]


def test_an_update_as_in_pytorch_learns_like_an_optimizer():
    mine, theirs = network(), network()
    sgd, loss = optim.SGD(theirs.parameters(), lr=0.1), nn.CrossEntropyLoss()
    for _ in range(3):
        loss(mine(Tensor(X)), Y).backward()
        with no_grad():
            for p in mine.parameters():
                p -= 0.1 * p.grad
                p.grad = None
        training.train_step(theirs, loss, sgd, Tensor(X), Y)
    for a, b in zip(mine.parameters(), theirs.parameters()):
        np.testing.assert_allclose(a.data, b.data, rtol=1e-6)


@pytest.mark.parametrize("inputs", [Tensor(X), X, [X], [Tensor(X[:5]), Tensor(X[5:])], [(X, Y)]])
def test_a_tensor_or_an_array_is_one_batch_to_predict(inputs):
    net = network()
    np.testing.assert_allclose(training.predict(net, inputs), net(Tensor(X)).data, rtol=1e-6)


# a nan or inf in the data is not blamed on the model


def batches_with(x, y):
    return [(Tensor(x[at : at + 4]), Tensor(y[at : at + 4])) for at in (0, 4, 8)]


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("which", ["input", "target"])
def test_a_number_that_is_not_finite_is_found_in_its_row(which, accumulate, wrong):
    x, y = X.copy(), np.arange(36, dtype="float32").reshape(12, 3)
    (x if which == "input" else y)[9, 1] = wrong
    run = trainer(loss=nn.MSELoss(), accumulate=accumulate)
    with (
        np.errstate(all="ignore"),
        pytest.raises(training.NonFiniteError) as caught,
    ):
        run.fit(batches_with(x, y), 1)
    first, second = str(caught.value).split("\n")
    row = np.array2string((x if which == "input" else y)[9], separator=", ", precision=3)
    place = "step 1: the loss" if accumulate == 3 else "step 3: the loss"
    batch = "batch 3 of this step" if accumulate == 3 else "this batch"
    assert first.startswith(f"epoch 1, {place} is ")
    assert first.endswith(f"because row 1 of {batch} has {row} as its {which}")
    assert second.startswith("repair or remove that example in the data: np.argwhere(")


def test_a_long_row_shows_its_wrong_number_only():
    x = np.zeros((4, 1, 8, 8), "float32")
    x[2, 0, 3, 5] = np.nan
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 3))
    with pytest.raises(training.NonFiniteError, match=r"row 2 of .* has nan at \(0, 3, 5\)"):
        trainer(net).fit([(Tensor(x), Tensor([0, 1, 2, 0]))], 1)


# warnings name the user's line


@pytest.mark.parametrize("loss", [nn.CrossEntropyLoss(), nn.cross_entropy])
def test_softmax_before_cross_entropy_gives_one_warning(loss):
    net = nn.Sequential(*network(), nn.Softmax())
    with pytest.warns(UserWarning) as caught:
        trainer(net, loss).fit(batches_with(X, Y), 2)
    (warning,) = caught
    assert warning.filename == __file__
    first, second = str(warning.message).split("\n")
    assert "probabilities" in first and "CrossEntropyLoss applies softmax" in first
    assert second.startswith("remove Softmax from the end of the model")


def test_other_outputs_and_losses_are_not_warned_of():
    probabilities = nn.Sequential(*network(), nn.Softmax())
    rows = np.eye(3, dtype="float32")[Y]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trainer().fit(batches_with(X, Y), 2)
        trainer(probabilities, nn.MSELoss()).fit(batches_with(X, rows), 2)
        trainer(nn.Sequential(*network(), nn.LogSoftmax())).fit(batches_with(X, Y), 2)


def test_a_fit_that_has_nothing_to_do_says_so_at_the_line_of_the_user():
    run = trainer()
    run.fit(batches_with(X, Y), 2)
    with pytest.warns(UserWarning) as caught:
        run.fit(batches_with(X, Y), 2)
    (warning,) = caught
    assert warning.filename == __file__
    assert str(warning.message).split("\n") == [
        "nothing was trained: 2 epochs are complete already, and epochs=2 includes them",
        "for 2 more, call fit with epochs=4",
    ]


def printed(tmp_path, program):
    """What a program of a user prints on standard error."""
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(program), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, file],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr.replace(f"{file}:", "program.py:").splitlines()


def test_numpys_warnings_name_the_line_that_called_the_package(tmp_path):
    assert printed(
        tmp_path,
        """
        import warnings
        import numpy as np
        from tinytorch import Variable
        x = Variable([1000.0, 0.0])
        y = x.exp()
        z = (x * 0.5).log()
        z.sum().backward()
        np.exp(np.array([1000.0]))
        warnings.warn("my own")
        """,
    ) == [
        "program.py:6: RuntimeWarning: overflow encountered in exp",
        "  y = x.exp()",
        "program.py:7: RuntimeWarning: divide by zero encountered in log",
        "  z = (x * 0.5).log()",
        "program.py:8: RuntimeWarning: divide by zero encountered in divide",
        "  z.sum().backward()",
        "program.py:9: RuntimeWarning: overflow encountered in exp",
        "  np.exp(np.array([1000.0]))",
        "program.py:10: UserWarning: my own",
        '  warnings.warn("my own")',
    ]


# one line says what it is


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("loader", "DataLoader(12 examples, 3 batches of up to 4, shuffle=False)"),
        ("dataset", "TensorDataset(12 examples, arrays=(float32 (12, 2), int64 (12,)))"),
        (
            "Subset(range(9), [4])",
            "Subset(1 example, dataset=range(0, 9), indices=int64 (1,))",
        ),
        (
            "TransformedDataset(Subset(range(9), [4, 5]), Compose([abs, RandomShift(2)]))",
            "TransformedDataset(2 examples, dataset=Subset(2 examples, dataset=range(0, 9), "
            "indices=int64 (2,)), transform=Compose(transforms=[abs, RandomShift(max_shift=2)]))",
        ),
        ("Normalize(0.5, 2.0)", "Normalize(mean=0.5, std=2.0)"),
        (
            "Trainer(net, sgd, cross_entropy, schedule=StepLR(sgd, 3))",
            "Trainer(Sequential with 51 parameters, SGD(lr=0.1, momentum=0.0, weight_decay=0.0, "
            "nesterov=False, initial_lr=0.1), cross_entropy, schedule=StepLR(step_size=3, "
            "gamma=0.1, last_epoch=0, base_lrs=[0.1]), 0 epochs trained)",
        ),
        (
            "CosineAnnealingLR(sgd, 10)",
            "CosineAnnealingLR(T_max=10, eta_min=0.0, last_epoch=0, base_lrs=[0.1])",
        ),
    ],
)
def test_what_python_prints_is_one_line_with_the_facts(code, text):
    assert repr(eval(code, names())) == text

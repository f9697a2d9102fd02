"""Mistakes that everybody makes once: each is refused in two lines, what is wrong and what to write
instead; what is legal but surely not meant gives one warning, at the line of the user's program.
"""

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


def names():
    """What the lines below are written with."""
    known = {}
    for module in (tinytorch, nn, optim, data, training):
        known.update({name: getattr(module, name) for name in module.__all__})
    net, dataset = network(), data.TensorDataset(X, Y)
    return known | {
        "np": np,
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
    }


# The code of a user, and the two lines of its error; a line with more indentation continues.
REFUSED = """
# batches and epochs
trainer().fit(dataset, 1)
    TypeError: fit takes batches, and a TensorDataset gives single examples
    make batches of it: DataLoader(dataset, batch_size=32)
trainer().fit((x, y), 1)
    TypeError: fit takes a list of batches (inputs, targets), or a DataLoader, not a tuple of length
        2
    for one batch with all examples write [(x, y)], for smaller ones DataLoader(TensorDataset(x, y),
        batch_size=32)
trainer().fit(x, y)
    TypeError: epochs is an ndarray of shape (12,); fit takes inputs and targets together, as
        batches
    write fit(DataLoader(TensorDataset(x, y), batch_size=32), epochs=10)
trainer().fit(Tensor(x), Tensor(y))
    TypeError: epochs is a Tensor of shape (12,); fit takes inputs and targets together, as batches
    write fit(DataLoader(TensorDataset(x, y), batch_size=32), epochs=10)
trainer().fit(x, 1)
    TypeError: fit takes a list of batches (inputs, targets), or a DataLoader, not an ndarray of
        shape (12, 2)
    make batches of inputs and targets: DataLoader(TensorDataset(x, y), batch_size=32)
trainer().fit([x], 1)
    TypeError: a batch should be a pair (inputs, targets), not an ndarray of shape (12, 2)
    give a list of pairs, or a DataLoader of a dataset whose examples are pairs: TensorDataset(x, y)
trainer().fit([(x, y, y)], 1)
    TypeError: a batch should be a pair (inputs, targets), not a tuple of length 3
    give a list of pairs, or a DataLoader of a dataset whose examples are pairs: TensorDataset(x, y)
trainer().fit([(x[0], y[0])], 1)
    TypeError: the targets of a batch should have one row per example, and these are 1
    give batches, not single examples: DataLoader(dataset, batch_size=32)
trainer().fit(5, 1)
    TypeError: fit takes a list of batches (inputs, targets), or a DataLoader, not 5
    make one: DataLoader(TensorDataset(x, y), batch_size=32)
trainer().fit((batch for batch in loader), 2)
    ValueError: batches is a generator, used up after one epoch
    give a list or a DataLoader, which can be read again in each epoch
trainer().fit(loader, "3")
    TypeError: epochs is the text '3'
    it should be an integer, such as epochs=3
trainer().fit(loader, 2.5)
    TypeError: epochs is 2.5
    it should be an integer, such as epochs=2
trainer().fit(loader, -1)
    ValueError: epochs is -1
    it should be at least 0
trainer().fit(loader, 1, validation=dataset)
    TypeError: validation takes batches, and a TensorDataset gives single examples
    make batches of it: DataLoader(dataset, batch_size=32)
trainer().fit(loader, 1, validation=(x, y))
    TypeError: validation takes a list of batches (inputs, targets), or a DataLoader, not a tuple of
        length 2
    for one batch with all examples write [(x, y)], for smaller ones DataLoader(TensorDataset(x, y),
        batch_size=32)
trainer().fit(loader, 1, patience=2)
    ValueError: patience is 2, and there is no validation set: the training loss does not show
        overfitting
    give validation=..., batches that the model is not trained on
trainer().evaluate(dataset)
    TypeError: evaluate takes batches, and a TensorDataset gives single examples
    make batches of it: DataLoader(dataset, batch_size=32)
evaluate(net, CrossEntropyLoss(), (x, y))
    TypeError: evaluate takes a list of batches (inputs, targets), or a DataLoader, not a tuple of
        length 2
    for one batch with all examples write [(x, y)], for smaller ones DataLoader(TensorDataset(x, y),
        batch_size=32)
predict(net, dataset)
    TypeError: predict takes batches, and a TensorDataset gives single examples
    make batches of it: DataLoader(dataset, batch_size=32)
predict(net, (x, y))
    TypeError: predict takes a list of batches (inputs, targets), or a DataLoader, not a tuple of
        length 2
    for one batch with all examples write [(x, y)], for smaller ones DataLoader(TensorDataset(x, y),
        batch_size=32)
learning_rate_range(net, CrossEntropyLoss(), sgd, dataset)
    TypeError: learning_rate_range takes batches, and a TensorDataset gives single examples
    make batches of it: DataLoader(dataset, batch_size=32)

# Trainer
trainer(metrics=["accuracy"])
    TypeError: metrics is the list ['accuracy'], not a dict of names and functions
    write metrics={"accuracy": accuracy}, and schedule=... for a schedule
trainer(metrics=[accuracy])
    TypeError: metrics is a list of length 1, not a dict of names and functions
    write metrics={"accuracy": accuracy}, and schedule=... for a schedule
trainer(metrics=accuracy)
    TypeError: metrics is the function accuracy, not a dict of names and functions
    write metrics={"accuracy": accuracy}, and schedule=... for a schedule
trainer(metrics={"accuracy": "accuracy"})
    TypeError: the metric 'accuracy' is the text 'accuracy', not a function of (outputs, targets)
    give a function, such as accuracy of tinytorch.training, without quotation marks
Trainer(net, sgd, CrossEntropyLoss)
    TypeError: loss is the class CrossEntropyLoss, not a function of (outputs, targets)
    make one from a class with brackets, such as loss=CrossEntropyLoss()
Trainer(net, sgd, "mse")
    TypeError: loss is the text 'mse', not a function of (outputs, targets)
    make one from a class with brackets, such as loss=CrossEntropyLoss()
Trainer(net, SGD, CrossEntropyLoss())
    TypeError: optimizer is the class SGD, not an optimizer
    make one first: optimizer = SGD(net.parameters(), lr=0.1)
Trainer(net, "sgd", CrossEntropyLoss())
    TypeError: optimizer is the text 'sgd', not an optimizer
    make one first: optimizer = SGD(net.parameters(), lr=0.1)
Trainer(net, CrossEntropyLoss(), sgd)
    TypeError: optimizer is a CrossEntropyLoss, and loss is an SGD
    the order is Trainer(model, optimizer, loss)
Trainer(net, other, CrossEntropyLoss())
    ValueError: the optimizer has none of the parameters of this model, so the model would not learn
    make an optimizer for this model: SGD(model.parameters(), lr=0.1)
Trainer(Sequential, sgd, CrossEntropyLoss())
    TypeError: model is the class Sequential, not a Module
    make one first, with brackets: model = Sequential(Linear(2, 8), ReLU(), Linear(8, 3))
Trainer(net, sgd, CrossEntropyLoss(), CosineAnnealingLR(sgd, 3))
    TypeError: metrics is a CosineAnnealingLR, not a dict of names and functions
    write metrics={"accuracy": accuracy}, and schedule=... for a schedule
Trainer(net, sgd, CrossEntropyLoss(), schedule=CosineAnnealingLR)
    TypeError: schedule is the class CosineAnnealingLR, not a schedule
    make one for the optimizer first: schedule=CosineAnnealingLR(optimizer, ...)
Trainer(net, sgd, CrossEntropyLoss(), schedule="cosine")
    TypeError: schedule is the text 'cosine', not a schedule
    make one for the optimizer first: schedule=CosineAnnealingLR(optimizer, ...)
Trainer(net, sgd, CrossEntropyLoss(), schedule=StepLR(other, 3))
    ValueError: the schedule belongs to another optimizer, so the learning rate would never change
    make it with this one: StepLR(optimizer, ...)
trainer(per="batch")
    ValueError: per is 'batch'
    it should be "epoch" or "step"
trainer(accumulate=0)
    ValueError: accumulate is 0
    it should be at least 1
trainer(max_norm="1")
    TypeError: max_norm is the text '1'
    it should be a number, such as max_norm=1

# optimizers and schedules
SGD(net, lr=0.1)
    TypeError: an optimizer takes a list of parameters, not a Sequential
    give it net.parameters(), with brackets, or a list of tensors, such as [w]
SGD(net.parameters, lr=0.1)
    TypeError: an optimizer takes a list of parameters, not the method parameters, without brackets
    give it net.parameters(), with brackets, or a list of tensors, such as [w]
SGD(net.named_parameters(), lr=0.1)
    TypeError: an optimizer takes parameters, not pairs of a name and a parameter: '0.weights'
    give it net.parameters(), not net.named_parameters()
SGD(net.state_dict(), lr=0.1)
    TypeError: an optimizer takes a list of parameters, not a dict of length 4
    give it net.parameters(), with brackets, or a list of tensors, such as [w]
SGD(0.1, net.parameters())
    TypeError: an optimizer takes a list of parameters, not 0.1
    give it net.parameters(), with brackets, or a list of tensors, such as [w]
SGD(w, lr=0.1)
    TypeError: an optimizer takes a list of parameters, not a Tensor of shape (2,)
    give it net.parameters(), with brackets, or a list of tensors, such as [w]
[SGD(generator, lr=0.1), SGD(generator, lr=0.1)]
    ValueError: the optimizer's parameters are a generator with nothing left: it was read before
    make a list of it first: params = list(...)
SGD([1.0], lr=0.1)
    TypeError: a parameter is 1.0, not a Tensor
    pass net.parameters(), or dicts with "params" and options
SGD(net.parameters(), "0.1")
    TypeError: lr is the text '0.1'
    it should be a number, such as 0.1
Adam(net.parameters(), betas=0.9)
    TypeError: betas is 0.9
    it should be two numbers, such as (0.9, 0.999)
StepLR(net, 3)
    TypeError: optimizer is a Sequential, not an optimizer
    make one first: optimizer = SGD(net.parameters(), lr=0.1)
StepLR(SGD, 3)
    TypeError: optimizer is the class SGD, not an optimizer
    make one first: optimizer = SGD(net.parameters(), lr=0.1)
StepLR(sgd, "3")
    TypeError: step_size is the text '3'
    it should be a number, such as step_size=3
StepLR(sgd, 0)
    ValueError: step_size is 0
    it should be at least 1
CosineAnnealingLR(sgd, "3")
    TypeError: T_max is the text '3'
    it should be a number, such as T_max=3
LambdaLR(sgd, 0.5)
    TypeError: lr_lambda is 0.5
    it should be a function of the epoch: lambda epoch: 0.95**epoch
SequentialLR(sgd, StepLR, 3)
    TypeError: schedulers is the class StepLR, milestones 3
    both should be lists, the first of schedules, the second of epochs

# losses
CrossEntropyLoss(net(Tensor(x)), y)
    TypeError: CrossEntropyLoss(...) takes options, and was given a Tensor of shape (12,
        3)
    make the loss first, then call it: CrossEntropyLoss()(outputs, targets)
MSELoss(net(Tensor(x)), y)
    TypeError: MSELoss(...) takes options, and was given a Tensor of shape (12, 3)
    make the loss first, then call it: MSELoss()(outputs, targets)
train_step(net, CrossEntropyLoss, sgd, Tensor(x), y)
    TypeError: CrossEntropyLoss(...) takes options, and was given a Tensor of shape (12,
        3)
    make the loss first, then call it: CrossEntropyLoss()(outputs, targets)
CrossEntropyLoss()(net(Tensor(x)), one_hot(y, 3))
    ValueError: labels and logits both have shape (12, 3): labels are class numbers, one per row, of
        shape (12,)
    from one-hot rows take labels.argmax(-1)
CrossEntropyLoss()(net(Tensor(x)), y[:, None])
    ValueError: labels of shape (12, 1) for logits of shape (12, 3): there must be one label per row
        of logits, shape (12,)
    take labels[..., 0]
CrossEntropyLoss()(net(Tensor(x)), y[:5])
    ValueError: labels of shape (5,) for logits of shape (12, 3): there must be one label per row of
        logits, shape (12,)
    give the labels of the same batch; the classes are the last axis of the logits
CrossEntropyLoss()(net(Tensor(x)), y.astype(float))
    TypeError: labels are class numbers, integers from 0 to 2; yours are float64, the first is 1.0,
        of shape (12,) for logits of shape (12, 3)
    if they are whole numbers, take labels.astype(int)
MSELoss()(Tensor(np.ones((4, 1))), np.ones(4))
    ValueError: the prediction has shape (4, 1), the target (4,): they must be equal, because
        broadcasting would compare predictions with the targets of other examples
    if both hold the same examples, write target.reshape(4, 1)

# data and pictures
DataLoader(x, y)
    TypeError: DataLoader takes one dataset, then batch_size; batch_size is an ndarray of shape
        (12,)
    put inputs and targets into one dataset: DataLoader(TensorDataset(x, y), batch_size=32)
DataLoader((x, y), 4)
    TypeError: DataLoader takes one dataset, not a tuple of 2 arrays
    put inputs and targets into one dataset: DataLoader(TensorDataset(x, y), batch_size=32)
DataLoader([x, y], 4)
    TypeError: DataLoader takes one dataset, not a list of 2 arrays
    put inputs and targets into one dataset: DataLoader(TensorDataset(x, y), batch_size=32)
DataLoader(TensorDataset, 4)
    TypeError: dataset is the class TensorDataset, and has no length or no examples dataset[i]
    give DataLoader a TensorDataset(x, y), a list, or your own subclass of Dataset
DataLoader(5, 4)
    TypeError: dataset is 5, and has no length or no examples dataset[i]
    give DataLoader a TensorDataset(x, y), a list, or your own subclass of Dataset
DataLoader(dataset, "32")
    TypeError: batch_size is the text '32'
    it should be an integer, such as batch_size=32
DataLoader(dataset, 2.5)
    TypeError: batch_size is 2.5
    it should be an integer, such as batch_size=2
DataLoader(dataset, 0)
    ValueError: batch_size is 0
    it should be at least 1
DataLoader(dataset, 4, shuffle=True, sampler=[1, 2])
    ValueError: shuffle is true, and there is a sampler: both would define the order
    give either sampler=... or shuffle=True
TensorDataset((x, y))
    TypeError: TensorDataset takes its arrays one by one, not as a tuple
    write TensorDataset(x, y), with one pair of brackets
random_split(dataset, 0.8)
    TypeError: the lengths of the parts are 0.8, not a list
    give one for each part, such as [0.8, 0.2] or [1000, 200]
random_split(dataset, [5, 5])
    ValueError: the lengths [5, 5] add up to 10, there are 12 examples
    give lengths that add up to that, or proportions that add up to 1
Conv2d(1, 4, 3)(digits()[0][0])
    ValueError: images of shape (1, 8, 8) do not fit weights of shape (4, 1, 3, 3): both need four
        axes (for one image, use image[None])
    images are (batch, channels, height, width): x[None] makes a batch of one picture, x[:, None]
        gives gray pictures a channel; the output has (size + 2 * padding - kernel) // stride + 1
        rows, and columns likewise
Conv2d(1, 4, 3)(Tensor(np.ones((8, 8))))
    ValueError: images of shape (8, 8) do not fit weights of shape (4, 1, 3, 3): both need four axes
        (for one image, use image[None])
    images are (batch, channels, height, width); the output has (size + 2 * padding - kernel) //
        stride + 1 rows, and columns likewise
MaxPool2d(2)(Tensor(np.ones((1, 8, 8))))
    ValueError: images of shape (1, 8, 8) do not fit a kernel of shape (2, 2): images need four axes
        (for one image, image[None])
    images are (batch, channels, height, width): x[None] makes a batch of one picture, x[:, None]
        gives gray pictures a channel; the output has (size + 2 * padding - kernel) // stride + 1
        rows, and columns likewise
"""


def refusals():
    """(code, first line, second line) of each."""
    lines = [line for line in REFUSED.splitlines() if line and not line.startswith("#")]
    cases = []
    for line in lines:
        if not line.startswith(" "):
            cases.append([line])
        elif line.startswith(" " * 8):
            cases[-1][-1] += " " + line.strip()
        else:
            cases[-1].append(line.strip())
    return cases


@pytest.mark.parametrize(("code", "first", "second"), refusals())
def test_what_cannot_work_is_refused_in_two_lines(code, first, second):
    with pytest.raises((TypeError, ValueError)) as caught:
        eval(code, names())
    message = f"{caught.type.__name__}: {caught.value}"
    assert message.split("\n") == [first, second]


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

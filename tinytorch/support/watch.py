"""The inputs and outputs of each layer while a model runs, and where a nan or inf came from."""

import contextlib
import math

import numpy as np

from tinytorch.support.modules import submodules
from tinytorch.support.random_states import set_random_states
from tinytorch.support.summary import name_of


class NonFiniteError(ArithmeticError):
    """A loss or a gradient became inf or nan; the message names the layer. The weights are those
    from before the step."""


def is_network(x):
    """Whether `x` is a Module; activations have no named parameters, and count as functions."""
    return hasattr(x, "named_parameters")


@contextlib.contextmanager
def watch_layers(model):
    """A `with` block in which the forward pass of every layer of `model` is recorded.

    model    a Module; inside the block its layers are wrapped in functions that record their
             arrays, and afterwards, also after an error, they are as before
    yields   a list that grows by (name, [input array, ...], {parameter name: array}, output array)
             when a layer's forward pass ends. The names are like "0 Dense", "2.0 relu" and, for
             the whole, "the model, Sequential". The arrays are the live ones, not copies

    Inner layers end first, so they come before the module that holds them. Functions in attributes,
    such as an activation, count as layers; calls that return no Tensor are not recorded.

    In PyTorch: torch.nn.Module.register_forward_hook.
    """
    from tinytorch.core.tensor import Tensor  # late: a lesson of the course

    entries, undo = [], []

    def recording(name, layer, call):
        def run(*inputs, **options):
            out = call(*inputs, **options)
            if isinstance(out, Tensor):
                named = layer.named_parameters() if is_network(layer) else ()
                arrays = [x.data for x in inputs if isinstance(x, Tensor)]
                entries.append((name, arrays, {path: p.data for path, p in named}, out.data))
            return out

        return run

    for path, module in list(submodules(model)):
        if not is_network(module):
            continue
        for attribute, part in list(vars(module).items()):
            if callable(part) and not is_network(part):
                name = f"{path}.{attribute} {name_of(part)}".lstrip(".")
                undo.append((module, attribute, part))
                vars(module)[attribute] = recording(name, part, part)
        name = f"{path or 'the model,'} {type(module).__name__}"
        undo.append((module, "forward", None))
        vars(module)["forward"] = recording(name, module, module.forward)
    try:
        yield entries
    finally:
        for module, attribute, part in reversed(undo):
            if part is None:
                del vars(module)[attribute]
            else:
                vars(module)[attribute] = part


def check_losses(model, results, batches, states, where, find_nonfinite):
    """Raise NonFiniteError when a loss is inf or nan: it names the row of the batch that holds
    inf or nan, or else the layer.

    model           a Module
    results         list of ({"loss": float, ...}, examples), one for each of `batches`
    batches         list of (inputs, targets)
    states          of the random-number generators before these forward passes: with them the
                    repeated one drops the same units
    where           the place in the training run, for the message
    find_nonfinite  the function of lesson 08
    """
    from tinytorch.core.autograd import no_grad  # late: lessons of the course
    from tinytorch.core.layers import RandomState

    for number, ((metrics, _), (inputs, targets)) in enumerate(zip(results, batches), 1):
        if math.isfinite(metrics["loss"]):
            continue
        place = f"batch {number} of this step" if len(batches) > 1 else "this batch"
        for data, name in ((inputs, "input"), (targets, "target")):
            if (row := first_nonfinite_row(data)) is not None:
                raise NonFiniteError(
                    f"{where}: the loss is {metrics['loss']} because row {row} of {place} has "
                    f"{row_text(data, row)} as its {name}\nrepair or remove that example in the "
                    "data: np.argwhere(~np.isfinite(x)) finds all such numbers of an array x"
                )
        set_random_states([RandomState.rng, model], states)
        with np.errstate(all="ignore"), no_grad(), watch_layers(model) as layers:
            model(inputs)
        cure = (
            "try a smaller learning rate, max_norm, or standardized inputs; look for a log or a "
            "division near 0"
        )
        if location := find_nonfinite(layers):
            name, cause = location
            why = {
                "input": "it received inf or nan as its input",
                "output": "it computed inf or nan from finite numbers",
            }.get(cause, f"its {cause} holds inf or nan")
            found = f"the first layer with inf or nan is {name}: {why}"
        else:
            found = "the outputs of the model are finite: the loss function computed it from them"
            cure = "look for a log, a square root or a division near 0 in the loss function"
        raise NonFiniteError(f"{where}: the loss is {metrics['loss']}; {found}\n{cure}")


def first_nonfinite_row(data):
    """The index of the first row of `data` with nan or inf; None if there is none, or if `data`
    holds anything but numbers.

    >>> first_nonfinite_row(np.array([[1.0, 2.0], [np.nan, 3.0]])), first_nonfinite_row(["a"])
    (1, None)
    """
    try:
        array = np.asarray(data)
    except ValueError:  # rows of several lengths
        return None
    if array.dtype.kind != "f" or not array.ndim:
        return None
    bad = ~np.isfinite(array)
    return int(np.argwhere(bad)[0][0]) if bad.any() else None


def row_text(data, row):
    """A row of `data` in one short line: all of a short one, the wrong number of a long one."""
    part = np.asarray(data)[row]
    if part.size <= 6:
        return np.array2string(part, separator=", ", precision=3).replace("\n", "")
    index = tuple(np.argwhere(~np.isfinite(part))[0].tolist())
    return f"{part[index]} at {index if len(index) > 1 else index[0]}"


def check_gradients(model, where):
    """Raise NonFiniteError, naming the parameter, when a gradient holds inf or nan."""
    for name, p in reversed(model.named_parameters()):  # the backward pass reached the last first
        if p.grad is not None and not (math.isfinite(p.grad.sum()) or np.isfinite(p.grad).all()):
            raise NonFiniteError(
                f"{where}: the loss is finite, but the gradient of {name} is not\nlook at the "
                "derivative of the operations after it: the square root of 0, a power of a "
                "negative number, an overflow"
            )

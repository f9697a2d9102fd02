"""Refusals of what people hand to optimizers, schedules, data loaders and the Trainer by mistake.

Each error has two lines: what is wrong, with the values, and what to write instead. Nothing here
imports a lesson: a Tensor, a Dataset or a schedule is recognized by what it has.
"""

import math
import numbers

import numpy as np

from tinytorch.support.descriptions import described

LOADER = "DataLoader(TensorDataset(x, y), batch_size=32)"


def is_array(thing):
    """Whether it is a Tensor or an ndarray with at least one axis."""
    return not isinstance(thing, type) and bool(getattr(thing, "shape", ()))


def is_dataset(thing):
    """Whether it is a Dataset of lesson 09."""
    return any(kind.__name__ == "Dataset" for kind in type(thing).__mro__)


def check_number(name, number, least=1, kind=numbers.Real):
    """Refuse anything but a number of this kind, and a number below `least`.

    >>> check_number("step_size", 3)
    >>> check_number("step_size", "5")
    Traceback (most recent call last):
    TypeError: step_size is the text '5'
    it should be a number, such as step_size=5
    """
    if isinstance(number, bool) or not isinstance(number, kind):
        whole = str(number).split(".")[0]
        raise TypeError(
            f"{name} is {described(number)}\n"
            f"it should be {'a number' if kind is numbers.Real else 'an integer'}, such as "
            f"{name}={whole if whole.isdecimal() else 3}"
        )
    if number < least:
        raise ValueError(f"{name} is {number}\nit should be at least {least}")


def check_kind(name, thing, attribute, kind, cure):
    """Refuse a class, and an object without `attribute`, where an object of that kind is needed."""
    if isinstance(thing, type) or not hasattr(thing, attribute):
        raise TypeError(f"{name} is {described(thing)}, not {kind}\n{cure}")


# optimizers and losses


def check_parameters(params):
    """The parameters given to an optimizer, as a list; TypeError or ValueError when they are none.

    params  an iterable of Tensors or of dicts; a generator is read here, once
    """
    iterable = hasattr(params, "__iter__") and not isinstance(params, (str, dict, type))
    if not iterable or is_array(params) or hasattr(params, "parameters"):
        raise TypeError(
            f"an optimizer takes a list of parameters, not {described(params)}\n"
            "give it net.parameters(), with brackets, or a list of tensors, such as [w]"
        )
    parts = list(params)
    if not parts and iter(params) is params:
        raise ValueError(
            "the optimizer's parameters are a generator with nothing left: it was read before\n"
            "make a list of it first: params = list(...)"
        )
    if parts and isinstance(parts[0], tuple) and isinstance(parts[0][0], str):
        raise TypeError(
            f"an optimizer takes parameters, not pairs of a name and a parameter: {parts[0][0]!r}\n"
            "give it net.parameters(), not net.named_parameters()"
        )
    return parts


def check_optimizer(optimizer):
    """Refuse anything without parameter groups."""
    name = optimizer.__name__ if isinstance(optimizer, type) else "SGD"
    cure = f"make one first: optimizer = {name}(net.parameters(), lr=0.1)"
    check_kind("optimizer", optimizer, "param_groups", "an optimizer", cure)


class OptionsOnly:
    """A loss takes options when it is made, and data when it is called. Refuses data where it is
    made, as in CrossEntropyLoss(outputs, labels)."""

    def __new__(cls, *arguments, **options):
        for data in filter(is_array, arguments):
            raise TypeError(
                f"{cls.__name__}(...) makes a loss of options, and was given {described(data)}\n"
                f"make the loss first, then call it: {cls.__name__}()(outputs, targets)"
            )
        return super().__new__(cls)


# data loaders and batches


def are_columns(arrays):
    """Whether a tuple or list holds inputs and targets, not examples: arrays of several shapes with
    equally many rows, or any arrays in a tuple."""
    if not isinstance(arrays, (tuple, list)) or len(arrays) < 2 or not all(map(is_array, arrays)):
        return False
    shapes = {np.shape(array) for array in arrays}
    return isinstance(arrays, tuple) or (len(shapes) > 1 and len({s[0] for s in shapes}) == 1)


def check_dataset_arrays(arrays):
    """Refuse arrays that were given to TensorDataset as one tuple or list."""
    if len(arrays) == 1 and are_columns(arrays[0]):
        raise TypeError(
            f"TensorDataset takes its arrays one by one, not as a {type(arrays[0]).__name__}\n"
            "write TensorDataset(x, y), with one pair of brackets"
        )


def check_loader(dataset, batch_size, shuffle, sampler, prefetch):
    """Refuse arguments of DataLoader that cannot work."""
    wrong = None
    if is_array(batch_size):
        wrong = f", then batch_size; batch_size is {described(batch_size)}"
    elif are_columns(dataset):
        wrong = f", not a {type(dataset).__name__} of {len(dataset)} arrays"
    if wrong:
        cure = f"put inputs and targets into one dataset: {LOADER}"
        raise TypeError(f"DataLoader takes one dataset{wrong}\n{cure}")
    needs = ["__getitem__"] if sampler is not None else ["__getitem__", "__len__"]
    if isinstance(dataset, type) or not all(hasattr(dataset, name) for name in needs):
        raise TypeError(
            f"dataset is {described(dataset)}, and has no length or no examples dataset[i]\n"
            "give DataLoader a TensorDataset(x, y), a list, or your own subclass of Dataset"
        )
    check_number("batch_size", batch_size, 1, numbers.Integral)
    check_number("prefetch", prefetch, 0, numbers.Integral)
    if shuffle and sampler is not None:
        raise ValueError(
            "shuffle is true, and there is a sampler: both would define the order\n"
            "give either sampler=... or shuffle=True"
        )


def check_container(batches, call="fit"):
    """Refuse anything but an iterable of batches: an array, a dataset, one batch, a number.

    call  "fit", "evaluate", "predict": what it was given to, for the message
    """
    if is_dataset(batches):
        raise TypeError(
            f"{call} takes batches, and a {type(batches).__name__} gives single examples\n"
            "make batches of it: DataLoader(dataset, batch_size=32)"
        )
    if is_array(batches):
        cure = f"make batches of inputs and targets: {LOADER}"
    elif isinstance(batches, tuple):
        cure = f"for one batch with all examples write [(x, y)], for smaller ones {LOADER}"
    elif isinstance(batches, (str, type)) or not hasattr(batches, "__iter__"):
        cure = f"make one: {LOADER}"
    else:
        return
    wrong = f"{call} takes a list of batches (inputs, targets), or a DataLoader, not "
    raise TypeError(f"{wrong}{described(batches)}\n{cure}")


def checked_batches(batches, call="evaluate"):
    """The batches, one by one; TypeError for anything but batches of (inputs, targets)."""
    check_container(batches, call)
    for batch in batches:
        if not isinstance(batch, (tuple, list)) or len(batch) != 2:
            raise TypeError(
                f"a batch should be a pair (inputs, targets), not {described(batch)}\n"
                "give a list of pairs, or a DataLoader of a dataset whose examples are pairs: "
                "TensorDataset(x, y)"
            )
        if not hasattr(batch[1], "__len__") or getattr(batch[1], "shape", None) == ():
            raise TypeError(
                "the targets of a batch should have one row per example, and these are "
                f"{described(batch[1])}\n"
                "give batches, not single examples: DataLoader(dataset, batch_size=32)"
            )
        yield batch


def input_batches(batches):
    """The inputs of each batch, for inference: a Tensor or an array is one batch.

    batches  inputs, or tuples or lists whose first element is the inputs
    """
    if is_array(batches):
        batches = [batches]
    check_container(batches, "predict")
    for batch in batches:
        yield batch[0] if isinstance(batch, (tuple, list)) else batch


# the Trainer


def check_trainer(model, optimizer, loss, metrics, schedule, per, accumulate, max_norm):
    """Refuse arguments of the Trainer that cannot work, or with which nothing would be learned."""
    cure = "make one first, with brackets: model = Sequential(Linear(2, 8), ReLU(), Linear(8, 3))"
    check_kind("model", model, "parameters", "a Module", cure)
    if hasattr(loss, "param_groups") and not hasattr(optimizer, "param_groups"):
        raise TypeError(
            f"optimizer is {described(optimizer)}, and loss is {described(loss)}\n"
            "the order is Trainer(model, optimizer, loss)"
        )
    check_optimizer(optimizer)
    own = {id(p) for p in model.parameters()}
    optimized = {id(p) for group in optimizer.param_groups for p in group.get("params", ())}
    if own and optimized and not own & optimized:
        raise ValueError(
            "the optimizer has none of the parameters of this model, so the model would not learn\n"
            f"make an optimizer for this model: {type(optimizer).__name__}(model.parameters(), "
            f"lr={optimizer.param_groups[0].get('lr', 0.1)})"
        )
    kind = "a function of (outputs, targets)"
    cure = "make one from a class with brackets, such as loss=CrossEntropyLoss()"
    check_kind("loss", loss, "__call__", kind, cure)
    if metrics is not None and not isinstance(metrics, dict):
        raise TypeError(
            f"metrics is {described(metrics)}, not a dict of names and functions\n"
            'write metrics={"accuracy": accuracy}, and schedule=... for a schedule'
        )
    cure = "give a function, such as accuracy of tinytorch.training, without quotation marks"
    for name, function in (metrics or {}).items():
        check_kind(f"the metric {name!r}", function, "__call__", kind, cure)
    if schedule is not None:
        check_schedule(schedule, optimizer)
    if per not in ("epoch", "step"):
        raise ValueError(f'per is {per!r}\nit should be "epoch" or "step"')
    check_number("accumulate", accumulate, 1, numbers.Integral)
    if max_norm is not None:
        check_number("max_norm", max_norm, 0)


def check_schedule(schedule, optimizer):
    """Refuse anything but a schedule of this optimizer."""
    name = schedule.__name__ if isinstance(schedule, type) else "CosineAnnealingLR"
    cure = f"make one for the optimizer first: schedule={name}(optimizer, ...)"
    check_kind("schedule", schedule, "step", "a schedule", cure)
    if getattr(schedule, "optimizer", optimizer) is not optimizer:
        raise ValueError(
            "the schedule belongs to another optimizer, so the learning rate would never change\n"
            f"make it with this one: {type(schedule).__name__}(optimizer, ...)"
        )


def check_fit(batches, epochs, validation, patience):
    """Refuse arguments of `Trainer.fit` that cannot work."""
    if is_array(epochs):
        raise TypeError(
            f"epochs is {described(epochs)}; fit takes inputs and targets together, as batches\n"
            f"write fit({LOADER}, epochs=10)"
        )
    check_container(batches)
    if validation is not None:
        check_container(validation, "validation")
    if epochs != math.inf:
        check_number("epochs", epochs, 0, numbers.Integral)
    if patience is not None:
        check_number("patience", patience, 0, numbers.Integral)
        if validation is None:
            raise ValueError(
                f"patience is {patience}, and there is no validation set: the training loss "
                "does not show overfitting\n"
                "give validation=..., batches that the model is not trained on"
            )
    if iter(batches) is batches:
        raise ValueError(
            "batches is a generator, used up after one epoch\n"
            "give a list or a DataLoader, which can be read again in each epoch"
        )

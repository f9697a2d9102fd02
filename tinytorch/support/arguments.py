"""Refusals of what people hand to optimizers, schedules, data loaders and the Trainer by mistake.

Each error has two lines: what is wrong, with the values, and what to write instead. Nothing here
imports a lesson: a Tensor, a Dataset or a schedule is recognized by what it has.
"""

import math
import numbers

import numpy as np

from tinytorch.support.descriptions import described


def refusal(kind, wrong, cure):
    """The error of class `kind` with these two lines."""
    return kind(f"{wrong}\n{cure}")


def is_array(thing):
    """Whether it is a Tensor or an ndarray with at least one axis."""
    return not isinstance(thing, type) and bool(getattr(thing, "shape", ()))


def is_dataset(thing):
    """Whether it is a Dataset of lesson 09."""
    return any(kind.__name__ == "Dataset" for kind in type(thing).__mro__)


def check_number(name, number, least=1, kind=numbers.Real):
    """Refuse what is no number of this kind, and a number below `least`.

    >>> check_number("step_size", 3)
    >>> check_number("step_size", "3")
    Traceback (most recent call last):
    TypeError: step_size is the text '3'
    it should be a number, such as step_size=3
    """
    if isinstance(number, bool) or not isinstance(number, kind):
        example = 3
        if isinstance(number, (str, float)) and str(number).split(".")[0].isdecimal():
            example = int(str(number).split(".")[0])
        what = "an integer" if kind is numbers.Integral else "a number"
        raise refusal(
            TypeError,
            f"{name} is {described(number)}",
            f"it should be {what}, such as {name}={max(example, least)}",
        )
    if number < least:
        raise refusal(ValueError, f"{name} is {number}", f"it should be at least {least}")


def check_count(name, count, least=1):
    """Refuse what is no integer, and an integer below `least`."""
    check_number(name, count, least, numbers.Integral)


# optimizers and schedules


def check_parameters(params):
    """What was given to an optimizer as its parameters, as a list; TypeError or ValueError when it
    cannot be one.

    params  an iterable of Tensors or of dicts; a generator is read here, once
    """
    iterable = hasattr(params, "__iter__") and not isinstance(params, (str, dict, type))
    if not iterable or is_array(params) or hasattr(params, "parameters"):
        raise refusal(
            TypeError,
            f"an optimizer takes a list of parameters, not {described(params)}",
            "give it net.parameters(), with brackets, or a list of tensors, such as [w]",
        )
    parts = list(params)
    if not parts and iter(params) is params:
        raise refusal(
            ValueError,
            "the optimizer's parameters are a generator with nothing left: it was read before",
            "make a list of it first: params = list(...)",
        )
    for part in parts:
        if isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], str):
            raise refusal(
                TypeError,
                f"an optimizer takes parameters, not pairs of a name and a parameter: {part[0]!r}",
                "give it net.parameters(), not net.named_parameters()",
            )
    return parts


def check_optimizer(optimizer, user):
    """Refuse what has no parameter groups, where `user` needs an optimizer."""
    if isinstance(optimizer, type) or not hasattr(optimizer, "param_groups"):
        name = optimizer.__name__ if hasattr(optimizer, "__mro__") else "SGD"
        raise refusal(
            TypeError,
            f"{user} needs an optimizer, not {described(optimizer)}",
            f"make one first: optimizer = {name}(net.parameters(), lr=0.1)",
        )


# losses


class OptionsOnly:
    """A loss takes options when it is made, and data when it is called. Refuses data where it is
    made, as in CrossEntropyLoss(outputs, labels)."""

    def __new__(cls, *arguments, **options):
        for given in arguments:
            if is_array(given):
                raise refusal(
                    TypeError,
                    f"{cls.__name__}(...) makes a loss of options, and was given "
                    f"{described(given)}",
                    f"make the loss first, then call it: {cls.__name__}()(outputs, targets)",
                )
        return super().__new__(cls)


# data loaders


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
        raise refusal(
            TypeError,
            f"TensorDataset takes its arrays one by one, not as a {type(arrays[0]).__name__}",
            "write TensorDataset(x, y), with one pair of brackets",
        )


def check_loader(dataset, batch_size, shuffle, sampler, prefetch):
    """Refuse arguments of DataLoader that cannot work."""
    cure = "put inputs and targets into one dataset: DataLoader(TensorDataset(x, y), batch_size=32)"
    if is_array(batch_size):
        raise refusal(
            TypeError,
            f"DataLoader takes one dataset, then batch_size; batch_size is {described(batch_size)}",
            cure,
        )
    if are_columns(dataset):
        kind = type(dataset).__name__
        raise refusal(
            TypeError, f"DataLoader takes one dataset, not a {kind} of {len(dataset)} arrays", cure
        )
    needs = ["__getitem__"] + ["__len__"] * (sampler is None)
    if isinstance(dataset, type) or not all(hasattr(dataset, name) for name in needs):
        raise refusal(
            TypeError,
            f"a dataset has a length and examples dataset[i], and this is {described(dataset)}",
            "give DataLoader a TensorDataset(x, y), a list, or your own subclass of Dataset",
        )
    check_count("batch_size", batch_size)
    check_count("prefetch", prefetch, least=0)
    if shuffle and sampler is not None:
        raise refusal(
            ValueError,
            "shuffle is true, and there is a sampler: both would define the order",
            "give either sampler=... or shuffle=True",
        )


# batches


def check_container(batches, call="fit"):
    """Refuse what is not an iterable of batches: an array, a dataset, one batch, a number.

    call  "fit", "evaluate", "predict": what it was given to, for the message
    """
    loader = "DataLoader(TensorDataset(x, y), batch_size=32)"
    wrong = f"{call} takes a list of batches (inputs, targets), or a DataLoader, not "
    if is_dataset(batches):
        raise refusal(
            TypeError,
            f"{call} takes batches, and a {type(batches).__name__} gives single examples",
            "make batches of it: DataLoader(dataset, batch_size=32)",
        )
    if is_array(batches):
        raise refusal(
            TypeError,
            wrong + described(batches),
            f"make batches of inputs and targets: {loader}",
        )
    if isinstance(batches, tuple):
        raise refusal(
            TypeError,
            wrong + described(batches),
            f"for one batch with all examples write [(x, y)], for smaller ones {loader}",
        )
    if isinstance(batches, (str, type)) or not hasattr(batches, "__iter__"):
        raise refusal(TypeError, wrong + described(batches), f"make one: {loader}")


def checked_batches(batches, call="evaluate"):
    """The batches, one by one; TypeError for anything but batches of (inputs, targets)."""
    check_container(batches, call)
    for batch in batches:
        if not isinstance(batch, (tuple, list)) or len(batch) != 2:
            raise refusal(
                TypeError,
                f"a batch should be a pair (inputs, targets), not {described(batch)}",
                "give a list of pairs, or a DataLoader of a dataset whose examples are pairs: "
                "TensorDataset(x, y)",
            )
        if not hasattr(batch[1], "__len__") or getattr(batch[1], "shape", None) == ():
            raise refusal(
                TypeError,
                "the targets of a batch should have one row per example, and these are "
                f"{described(batch[1])}",
                "give batches, not single examples: DataLoader(dataset, batch_size=32)",
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
    if isinstance(model, type) or not hasattr(model, "parameters"):
        raise refusal(
            TypeError,
            f"model is {described(model)}, not a Module",
            "make one first, with brackets: model = Sequential(Linear(2, 8), ReLU(), Linear(8, 3))",
        )
    if hasattr(loss, "param_groups") and not hasattr(optimizer, "param_groups"):
        raise refusal(
            TypeError,
            f"optimizer is {described(optimizer)}, and loss is {described(loss)}",
            "the order is Trainer(model, optimizer, loss)",
        )
    check_optimizer(optimizer, "Trainer")
    check_loss(loss)
    own = {id(p) for p in model.parameters()}
    optimized = {id(p) for group in optimizer.param_groups for p in group.get("params", ())}
    if own and optimized and not own & optimized:
        raise refusal(
            ValueError,
            "the optimizer has none of the parameters of this model, so the model would not learn",
            f"make an optimizer for this model: {type(optimizer).__name__}(model.parameters(), "
            f"lr={optimizer.param_groups[0].get('lr', 0.1)})",
        )
    check_metrics(metrics)
    if schedule is not None:
        check_schedule(schedule, optimizer)
    if per not in ("epoch", "step"):
        raise refusal(ValueError, f"per is {per!r}", 'it should be "epoch" or "step"')
    check_count("accumulate", accumulate)
    if max_norm is not None and not isinstance(max_norm, numbers.Real):
        raise refusal(
            TypeError, f"max_norm is {described(max_norm)}", "it should be a number or None"
        )


def check_loss(loss):
    """Refuse a loss that is no function of (outputs, targets): a class, a name."""
    if isinstance(loss, type):
        raise refusal(
            TypeError,
            f"loss is {described(loss)}, not a loss",
            f"call it, with brackets: loss={loss.__name__}()",
        )
    if not callable(loss):
        raise refusal(
            TypeError,
            f"loss is {described(loss)}, not a function of (outputs, targets)",
            "give one from tinytorch.nn, such as CrossEntropyLoss() or MSELoss()",
        )


def check_metrics(metrics):
    """Refuse metrics that are no dict of functions."""
    if hasattr(metrics, "get_last_lr"):
        raise refusal(
            TypeError,
            f"metrics is {described(metrics)}: the fourth argument of Trainer is metrics",
            "give the schedule by its name: schedule=...",
        )
    parts = metrics if isinstance(metrics, (list, tuple)) else [metrics]
    if metrics is not None and not isinstance(metrics, dict):
        names = [part if isinstance(part, str) else getattr(part, "__name__", "") for part in parts]
        good = all(name.isidentifier() for name in names)
        pairs = ", ".join(f'"{name}": {name}' for name in (names if good else ["accuracy"]))
        raise refusal(
            TypeError,
            f"metrics is {described(metrics)}, not a dict of names and functions",
            f"write metrics={{{pairs}}}",
        )
    for name, function in (metrics or {}).items():
        if not callable(function) or isinstance(function, type):
            raise refusal(
                TypeError,
                f"the metric {name!r} is {described(function)}",
                "it should be a function of (outputs, targets), such as accuracy of "
                "tinytorch.training, without quotation marks",
            )


def check_schedule(schedule, optimizer):
    """Refuse what is no schedule of this optimizer."""
    if isinstance(schedule, type) or not hasattr(schedule, "step"):
        name = schedule.__name__ if isinstance(schedule, type) else "CosineAnnealingLR"
        raise refusal(
            TypeError,
            f"schedule is {described(schedule)}, not a schedule",
            f"make one for the optimizer first: schedule={name}(optimizer, ...)",
        )
    if getattr(schedule, "optimizer", optimizer) is not optimizer:
        raise refusal(
            ValueError,
            "the schedule belongs to another optimizer, so the learning rate would never change",
            f"make it with this one: {type(schedule).__name__}(optimizer, ...)",
        )


def check_fit(batches, epochs, validation, patience):
    """Refuse arguments of `Trainer.fit` that cannot work."""
    if is_array(epochs):
        raise refusal(
            TypeError,
            f"epochs is {described(epochs)}; fit takes inputs and targets together, as batches",
            "write fit(DataLoader(TensorDataset(x, y), batch_size=32), epochs=10)",
        )
    check_container(batches)
    if validation is not None:
        check_container(validation, "validation")
    if not (isinstance(epochs, float) and epochs == math.inf):
        check_count("epochs", epochs, least=0)
    if patience is not None:
        check_count("patience", patience, least=0)
        if validation is None:
            raise refusal(
                ValueError,
                f"patience is {patience}, and there is no validation set: the training loss "
                "does not show overfitting",
                "give validation=..., batches that the model is not trained on",
            )
    if iter(batches) is batches:
        raise refusal(
            ValueError,
            "batches is a generator, used up after one epoch",
            "give a list or a DataLoader, which can be read again in each epoch",
        )

"""Refusals of arguments that cannot work, by lesson: optimizers and losses, data loaders, the
Trainer, normalization, attention; and descriptions of values for the messages.

Each error has two lines: what is wrong, with the values, and what to write instead. Nothing here
imports a lesson: a Tensor, a Dataset or a schedule is recognized by its attributes.
"""

import inspect
import math
import numbers

import numpy as np

# descriptions


def described(thing):
    """A value in a few words, for an error message.

    >>> described(np.ones((2, 3))), described("mse"), described(int), described([1, 2])
    ('an ndarray of shape (2, 3)', "the text 'mse'", 'the class int', 'the list [1, 2]')
    """
    kind = type(thing).__name__
    spelled = kind == "ndarray" or kind[:2].isupper() and kind[0] in "FHLMNRSX"  # "an SGD"
    name = f"an {kind}" if spelled or kind[0] in "aeioAEIO" else f"a {kind}"
    if isinstance(thing, type):
        return f"the class {thing.__name__}"
    if isinstance(thing, str):
        return f"the text {thing!r:.60}"
    if thing is None or isinstance(thing, (bool, int, float, np.generic)):
        return f"{thing}"
    if hasattr(thing, "shape"):
        return f"{name} of shape {thing.shape}"
    if isinstance(thing, (list, tuple, dict)):
        short = len(thing) < 4 and all(isinstance(part, (str, int, float)) for part in thing)
        plain = short and not isinstance(thing, dict)
        return f"the {kind} {thing!r}" if plain else f"{name} of length {len(thing)}"
    if callable(thing) and hasattr(thing, "__name__"):
        if inspect.ismethod(thing):
            return f"the method {thing.__name__}, without brackets"
        return f"the function {thing.__name__}"
    return name


class Described:
    """Prints as the name of its class, its number of examples if it has a length, and its
    attributes: arrays as dtype and shape, functions by their names.

    .hidden  names of attributes that are left out
    """

    hidden = ()

    def __repr__(self):
        facts = []
        if hasattr(self, "__len__"):
            try:
                facts.append(f"{len(self):,} example{'s' * (len(self) != 1)}")
            except Exception:  # noqa: BLE001  a data set that is not finished prints all the same
                facts.append("no length")
        for name, value in vars(self).items():
            if name not in self.hidden and not isinstance(value, np.random.Generator):
                facts.append(f"{name}={brief(value)}")
        return f"{type(self).__name__}({', '.join(facts)})"


def brief(value):
    """A value in one short line.

    >>> brief(np.ones((2, 3))), brief([np.ones(2), abs]), brief(list(range(100)))
    ('float64 (2, 3)', '[float64 (2,), abs]', 'a list of length 100')
    """
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{value.dtype} {value.shape}" if value.shape else f"{value.item()}"
    if isinstance(value, (list, tuple)) and len(value) <= 6:
        inside = ", ".join(map(brief, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    if isinstance(value, (list, tuple, dict)):
        return described(value)
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    if type(value).__repr__ is object.__repr__:
        return type(value).__name__
    return repr(value).split("\n")[0]


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
        text, is_real = str(number), kind is numbers.Real
        whole = text.partition(".")[0]
        example = text if is_real and text.replace(".", "", 1).isdecimal() else whole
        raise TypeError(
            f"{name} is {described(number)}\n"
            f"it should be {'a number' if is_real else 'an integer'}, such as "
            f"{name}={example if whole.isdecimal() else 1 if is_real else 3}"
        )
    if number < least:
        raise ValueError(f"{name} is {number}\nit should be at least {least}")


def check_counts(least=1, /, **counts):
    """Refuse anything but integers, and integers below `least`.

    >>> check_counts(0, n=0, layers=2)
    >>> check_counts(width=0)
    Traceback (most recent call last):
    ValueError: width is 0
    it should be at least 1
    """
    for name, number in counts.items():
        check_number(name, number, least, numbers.Integral)


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
    made, as in CrossEntropyLoss(outputs, labels). One array would be PyTorch's `weight`: `__init__`
    refuses it."""

    def __new__(cls, *arguments, **options):
        if len(arguments) > 1 and is_array(arguments[0]):
            raise TypeError(
                f"{cls.__name__}(...) takes options, and was given {described(arguments[0])}\n"
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
    check_counts(batch_size=batch_size)
    check_counts(0, prefetch=prefetch)
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
    check_counts(accumulate=accumulate)
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
        check_counts(0, epochs=epochs)
    if patience is not None:
        check_counts(0, patience=patience)
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


# normalization


def as_shape(normalized_shape):
    """The lengths of the last axes as a tuple of ints; one int is one axis.

    >>> as_shape(8), as_shape([4, 8])
    ((8,), (4, 8))
    """
    sizes = np.atleast_1d(np.asarray(normalized_shape))
    if sizes.ndim != 1 or not sizes.size or sizes.dtype.kind not in "iu" or sizes.min() < 1:
        raise ValueError(
            f"normalized_shape is {normalized_shape!r:.60}\n"
            "it should be the lengths of the last axes, 1 or more each: 64, or (8, 64)"
        )
    return tuple(sizes.tolist())


def joined_axes(x, normalized_shape, weight=None, bias=None):
    """The inputs of a layer norm with the normalized axes joined into one.

    x        Tensor of shape (..., *normalized_shape)
    weight, bias   Tensors or arrays of shape `normalized_shape`; None: an array of ones, of zeros
    returns  x of shape (..., D), weight and bias of shape (D,), where D is the product of
             `normalized_shape`; each is the same object if it has that shape already

    >>> x, weight, bias = joined_axes(np.zeros((5, 2, 3)), (2, 3))
    >>> x.shape, weight.tolist(), bias.tolist()
    ((5, 6), [1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    """
    wanted = getattr(weight, "shape", None)
    if wanted == normalized_shape == x.shape[-1:] and wanted == getattr(bias, "shape", None):
        return x, weight, bias  # nearly always, and five times for each token that a GPT writes
    shape = as_shape(normalized_shape)
    if x.shape[x.ndim - len(shape) :] != shape or x.ndim < len(shape):
        raise ValueError(
            f"normalized_shape {shape} needs inputs of shape "
            f"(..., {', '.join(map(str, shape))}), not {x.shape}"
        )
    for name, part in (("weight", weight), ("bias", bias)):
        if part is not None and np.shape(part) != shape:
            raise ValueError(f"the {name} should have the shape {shape}, not {np.shape(part)}")
    size = math.prod(shape)
    x = x.float() if x.dtype == np.float16 else x  # sums of squares would overflow
    weight = np.ones(size, x.dtype) if weight is None else weight
    bias = np.zeros(size, x.dtype) if bias is None else bias
    if len(shape) > 1:
        x = x.reshape(*x.shape[: x.ndim - len(shape)], size)
        weight, bias = weight.reshape(size), bias.reshape(size)
    return x, weight, bias


def channel_axes(ndim):
    """The axes of a batch over which batch norm takes the mean, all but axis 1, and the shape that
    aligns one number per channel with it.

    ndim     the rank of the batch: 2 for (B, C), 4 for (B, C, H, W)

    >>> channel_axes(2), channel_axes(4)
    (((0,), (1, -1)), ((0, 2, 3), (1, -1, 1, 1)))
    """
    if ndim < 2:
        raise ValueError(f"batch norm needs inputs of shape (B, C) or (B, C, H, W), of rank {ndim}")
    return (0, *range(2, ndim)), (1, -1, *[1] * (ndim - 2))


def checked_rank(x, ranks, norm):
    """`x`, if its rank is one of `ranks`, and axis 1 has norm.num_features channels; else
    ValueError that names the layer `norm`."""
    shape = np.shape(x)
    if len(shape) not in ranks or shape[1] != norm.num_features:
        names = {2: "(B, {})", 3: "(B, {}, L)", 4: "(B, {}, H, W)"}
        names = " or ".join(names[rank].format(norm.num_features) for rank in ranks)
        raise ValueError(f"{norm} takes inputs of shape {names}, not {shape}")
    return x


def running_arrays(running_mean, running_var, shape, training):
    """The arrays inside the running statistics of a batch norm, which can be changed in place.

    running_mean, running_var   arrays or Tensors of shape (C,), or None for none, which is allowed
                                in training only: then new arrays
    shape                       of the input, (B, C, ...)

    >>> mean = np.zeros(3)
    >>> running_arrays(mean, np.ones(3), (5, 3), training=False)[0] is mean
    True
    """
    if running_mean is None or running_var is None:
        if not training:
            raise ValueError(
                "without running_mean and running_var there is nothing to normalize with in "
                "evaluation mode; use training=True"
            )
        return np.zeros(shape[1], np.float32), np.ones(shape[1], np.float32)
    arrays = [x if isinstance(x, np.ndarray) else x.data for x in (running_mean, running_var)]
    for name, array in zip(("running_mean", "running_var"), arrays):
        if array.shape != (shape[1],):
            raise ValueError(
                f"an input of shape {shape} has {shape[1]} channels, and {name} has the shape "
                f"{array.shape}: it should be ({shape[1]},)"
            )
    return arrays


# attention


def check_query_key_value(query, key, value):
    """ValueError unless query (..., Tq, d), key (..., Tk, d) and value (..., Tk, e) fit.

    >>> import numpy as np
    >>> check_query_key_value(np.zeros((2, 3)), np.zeros((4, 3)), np.zeros((4, 7)))
    """
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise ValueError(
            "query, key and value need a row for each position: two axes or more, not shapes "
            f"{query.shape}, {key.shape} and {value.shape}\nfor one query use query.unsqueeze(0)"
        )
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            f"queries of shape {query.shape} and keys of shape {key.shape} have {query.shape[-1]} "
            f"and {key.shape[-1]} numbers each\na dot product needs the same number"
        )
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"keys of shape {key.shape} and values of shape {value.shape}: {key.shape[-2]} keys, "
            f"{value.shape[-2]} values\nevery key needs one value"
        )


def check_causal(query, key, mask):
    """ValueError for is_causal=True with a mask, or with different numbers of queries and keys.

    PyTorch aligns the mask at the first key then, and the last query does not see the last key.

    >>> import numpy as np
    >>> check_causal(np.zeros((3, 2)), np.zeros((3, 2)), None)
    """
    queries, keys = query.shape[-2], key.shape[-2]
    if mask is not None:
        causal = f"causal_mask({queries}, {keys})"
        is_bool = mask.dtype == bool
        both = f"attn_mask & {causal}" if is_bool else f"where({causal}, attn_mask, -np.inf)"
        raise ValueError(
            "is_causal=True and an attn_mask are two masks: combine them into one and leave "
            f"is_causal out\nfor example attn_mask={both}"
        )
    if queries != keys:
        raise ValueError(
            f"is_causal=True with {queries} queries and {keys} keys: which query is at which "
            "position? If the queries are the last positions, write "
            f"attn_mask=causal_mask({queries}, {keys})"
        )


def check_heads(width, heads, rotary=False):
    """ValueError unless `heads` heads of one size, an even size if `rotary`, make up `width`.

    >>> check_heads(12, 3, rotary=True)
    """
    if heads < 1 or width % heads:
        raise ValueError(
            f"{width} numbers cannot be divided among {heads} heads of one size\n"
            "the number of heads must divide the width"
        )
    if rotary and width // heads % 2:
        raise ValueError(
            f"rotary positions need heads of an even width, not {width} / {heads} = "
            f"{width // heads}"
        )


def check_positions(x, positions):
    """ValueError unless x (..., T, d) has an even d, and positions the shape (T,).

    >>> import numpy as np
    >>> check_positions(np.zeros((2, 4)), [5, 6])
    """
    if x.shape[-1] % 2:
        raise ValueError(
            f"rope rotates pairs of numbers, and {x.shape[-1]}, the last length of shape "
            f"{x.shape}, is odd"
        )
    if np.shape(positions) != x.shape[-2:-1]:
        raise ValueError(
            f"x of shape {x.shape} has {x.shape[-2]} rows, and positions have shape "
            f"{np.shape(positions)}\ngive one position for each row, shape ({x.shape[-2]},)"
        )

"""A table of the layers of a network: output shapes and numbers of parameters."""

import numpy as np

__all__ = ["Text", "name_of", "summary"]


class Text(str):
    """Text that a notebook shows as it is, without quotes."""

    __repr__ = str.__str__


def name_of(layer):
    """How to name a member of a network: the `__name__` of a function, else the layer's `repr`.

    >>> name_of(np.tanh), name_of([1])
    ('tanh', '[1]')
    """
    return getattr(layer, "__name__", repr(layer))


def is_plain_sequential(layer):
    """Whether `layer` is a Sequential, or a subclass that keeps its `forward`.

    By name: a chapter that runs as a script has a class Sequential of its own.
    """
    return any(
        kind.__name__ == "Sequential" and type(layer).forward is kind.forward
        for kind in type(layer).__mro__
    )


def summary_rows(layer, x, path, counted):
    """The rows (path and layer, output shape, number of parameters) of `layer`, and its output.

    counted  the ids of the parameters counted before; those of `layer` are added
    """
    if is_plain_sequential(layer):
        rows = []
        for index, member in enumerate(layer):
            more, x = summary_rows(member, x, f"{path}{index}.", counted)
            rows += more
        return rows, x
    x = layer(x)
    parameters = layer.parameters() if hasattr(layer, "parameters") else ()
    new = [p for p in parameters if id(p) not in counted]
    counted |= {id(p) for p in new}
    name = f"{path.rstrip('.')} {name_of(layer)}".strip()
    return [(name, str(x.shape), f"{sum(p.size for p in new):,}")], x


def summary(model, input_shape, dtype=np.float32):
    """A table of the layers of `model`: the shape of each output and its number of parameters.

    model        a Module
    input_shape  the shape of a whole batch, such as (32, 784)
    dtype        of the zeros that are passed through the model; np.int64 for models of words
    returns      text, shown as a table by print and by notebooks

    A Sequential has one row for each of its layers, any other module has one row. A shared
    parameter is counted where it comes first. The model is in evaluation mode meanwhile;
    afterwards every `training` is as it was.
    """
    from tinytorch.core.tensor import Tensor  # late: a lesson of the course

    before = {part: part.training for part in model.modules()}
    model.train(False)
    try:
        rows, _ = summary_rows(model, Tensor(np.zeros(input_shape, dtype)), "", set())
    finally:
        for part in before:
            part.training = before[part]
    rows = [
        ("layer", "output", "parameters"),
        ("input", str(tuple(input_shape)), ""),
        *rows,
        ("total", "", f"{sum(p.size for p in model.parameters()):,}"),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return Text(
        "\n".join(f"{a:{widths[0]}}  {b:{widths[1]}}  {c:>{widths[2]}}" for a, b, c in rows)
    )

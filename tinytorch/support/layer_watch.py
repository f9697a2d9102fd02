"""The inputs and outputs of each layer while a network runs, and a table of its layers."""

import contextlib

import numpy as np

from tinytorch.support.modules import (
    ModuleMethods,
    contents,
    count_parameters,
    is_buffer,
    is_module,
    is_tensor,
    submodules,
    tensor_line,
)

# inputs and outputs


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
                name = f"{path}.{attribute} {layer_name(part)}".lstrip(".")
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


# the table


class Text(str):
    """Text that a notebook shows as it is, without quotes."""

    __repr__ = str.__str__


def layer_name(layer):
    """How to name a member of a network: the `__name__` of a function, the `repr` of a layer, or
    the class of a module whose `repr` has several lines.

    >>> layer_name(np.tanh), layer_name([1])
    ('tanh', '[1]')
    """
    text = getattr(layer, "__name__", None) or repr(layer)
    return type(layer).__name__ if "\n" in text else text


def has_rows(module):
    """Whether the parts of a module have their own rows: it holds modules or functions, or
    tensors that its own `__repr__` does not speak of."""
    plain = type(module).__repr__ is ModuleMethods.__repr__
    return any(plain or not is_tensor(part) for _, part in contents(module))


def summary_rows(module, path, depth, shapes, seen):
    """The rows (path and layer, output shape, number of parameters) of the parts of `module`.

    shapes   {path: iterator over the shapes, as text, of the outputs of that layer}
    seen     {id: path} of the modules and tensors above; those in `module` are added
    """
    rows = []
    for name, part in contents(module):
        here = f"{path}.{name}".lstrip(".")
        shared = None if not is_module(part) and not is_tensor(part) else seen.get(id(part))
        output, count, inside = next(shapes.get(shared or here, iter(())), ""), "0", []
        label = layer_name(part) if not is_tensor(part) else tensor_line(part, name, module)
        if shared is not None:
            label = f"{label.split('  # ')[0]}, which is {shared or 'the model'}"
        elif is_tensor(part):
            if part.creator is not None:
                continue  # a result, no part of the network
            count = f"{part.size * part.requires_grad:,}"
            label = label.split("  # ")[0]
            seen[id(part)] = here
        elif is_module(part):
            seen[id(part)] = here
            if has_rows(part):
                label, count = type(part).__name__, ""
                inside = summary_rows(part, here, depth + 1, shapes, seen)
            else:
                count = f"{count_parameters(part, here, seen):,}"
                output = output or "not called" * (count != "0")
        rows += [("  " * depth + f"{here} {label}", output, count), *inside]
    return rows


def output_shapes(model, x):
    """{path of a layer or function: iterator over the shapes of its outputs, as text}."""
    shapes = {}
    with watch_layers(model) as calls:
        out = model(x)
    for name, _, _, output in calls[:-1] if hasattr(out, "shape") else calls:
        shapes.setdefault(name.split(" ")[0], []).append(str(output.shape))
    shapes[""] = [str(getattr(out, "shape", ""))]
    return {path: iter(each) for path, each in shapes.items()}


def not_learned(model):
    """A line for each tensor of floating-point numbers that is neither learned nor registered."""
    for path, module in submodules(model):
        for name, part in contents(module):
            known = getattr(module, "_buffers", ()), getattr(module, "_frozen", ())
            if is_buffer(part) and part.dtype.kind == "f" and not any(name in n for n in known):
                where = f"{path}.{name}".lstrip(".")
                yield (
                    f"{where} {part.shape}: not learned. nn.Parameter makes it a parameter, "
                    "register_buffer a buffer"
                )


def summary(model, input_shape, dtype=np.float32):
    """A table of the layers of `model`: the shape of each output and its number of parameters.

    model        a Module
    input_shape  the shape of a whole batch, such as (32, 784); or a batch: an array or a Tensor
    dtype        of the zeros that are passed through the model; int64 if it takes token ids
    returns      text, shown as a table by print and by notebooks

    A module that holds others has a row, and below it, indented, a row for each of these. A shared
    parameter is counted where it comes first. Below the table is a list of tensors that are not
    learned and not registered as buffers. The model is in evaluation mode meanwhile;
    afterwards every `training` is as it was.
    """
    from tinytorch.core.tensor import Tensor  # late: a lesson of the course

    is_batch = hasattr(input_shape, "shape")
    x = Tensor(input_shape if is_batch else np.zeros(input_shape, dtype))
    before = {part: part.training for part in model.modules()}
    model.train(False)
    try:
        shapes = output_shapes(model, x)
    except TypeError as error:
        if is_batch or not str(error).startswith("token ids are integers"):
            raise
        x = Tensor(np.zeros(input_shape, np.int64))
        shapes = output_shapes(model, x)
    finally:
        for part in before:
            part.training = before[part]
    seen = {id(model): ""}
    # the layers of a Sequential are the network; any other model has its own first row
    numbered = all(name.isdigit() for name, _ in contents(model)) and has_rows(model)
    if numbered:
        rows = summary_rows(model, "", 0, shapes, seen)
    elif has_rows(model):
        rows = [(type(model).__name__, next(shapes[""]), "")]
        rows += summary_rows(model, "", 1, shapes, seen)
    else:
        rows = [(layer_name(model), next(shapes[""]), f"{count_parameters(model, '', seen):,}")]
    rows = [
        ("layer", "output", "parameters"),
        ("input", str(x.shape), ""),
        *rows,
        ("total", "", f"{sum(p.size for p in model.parameters()):,}"),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    table = [f"{a:{widths[0]}}  {b:{widths[1]}}  {c:>{widths[2]}}" for a, b, c in rows]
    return Text("\n".join([*table, *dict.fromkeys(not_learned(model))]))

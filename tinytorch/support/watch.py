"""What goes into each layer of a network and what comes out, for as long as somebody looks."""

import contextlib


@contextlib.contextmanager
def watch_layers(model):
    """A block with a list that grows by an entry for each layer that ends while the block runs.

    model    a Module; while the block runs, its layers are wrapped in functions that keep their
             arrays, and afterwards, also after an error, they are as before
    yields   list of (name, [input array, ...], {parameter name: array}, output array). The names
             are like "0 Dense", "2.0 relu" and, for the whole, "the network, Sequential". The
             arrays are the live ones, not copies

    Inner layers end first, so they stand before the one that holds them. Functions in attributes,
    such as an activation, count as layers; what returns no Tensor does not.
    """
    from tinytorch.core.layers import Module, name_of, traverse  # late: lessons of the course
    from tinytorch.core.tensor import Tensor

    entries, undo = [], []

    def watched(name, layer, call):
        def run(*inputs, **options):
            out = call(*inputs, **options)
            if isinstance(out, Tensor):
                named = layer.named_parameters() if isinstance(layer, Module) else ()
                arrays = [x.data for x in inputs if isinstance(x, Tensor)]
                entries.append((name, arrays, {path: p.data for path, p in named}, out.data))
            return out

        return run

    for path, module in traverse(model):
        if not isinstance(module, Module):
            continue
        for attribute, part in list(vars(module).items()):
            if callable(part) and not isinstance(part, Module):
                name = f"{path}.{attribute} {name_of(part)}".lstrip(".")
                undo.append((module, attribute, part))
                vars(module)[attribute] = watched(name, part, part)
        name = f"{path or 'the network,'} {type(module).__name__}"
        undo.append((module, "forward", None))
        vars(module)["forward"] = watched(name, module, module.forward)
    try:
        yield entries
    finally:
        for module, attribute, part in reversed(undo):
            if part is None:
                del vars(module)[attribute]
            else:
                vars(module)[attribute] = part

"""A network as a tree: modules, the submodules and tensors in them, and their names."""

from tinytorch.support.drawing import Drawing
from tinytorch.support.modules import held

__all__ = ["draw_module_tree"]


def draw_module_tree(model):
    """The modules and tensors in `model`, with the name of each.

    model    a Module, whose attributes hold modules and tensors, also in lists, tuples and dicts
    returns  a Drawing: parameters blue, tensors that are not learned grey, modules without a box;
             what is there twice is drawn the second time with a dashed box and its first name
    """
    rows = list(tree_rows(model, "", type(model).__name__, 0, {}))
    high, indent, box = 34, 24, 126
    drawing = Drawing(
        f"What a {type(model).__name__} holds",
        "; ".join(f"{path or 'the model'}: {text}" for _, path, text, _ in rows),
        height=len(rows) * high + 34,
    )
    drawing.text(12, 20, "attribute", kind="muted", anchor="start")
    drawing.text(drawing.width - 8, 20, "name", kind="muted", anchor="end")
    above = []  # above[d]: where the line down from depth d begins
    for number, (depth, path, text, kind) in enumerate(rows):
        x, y = 12 + depth * indent, 30 + number * high
        above[depth:] = [y + high - 6]
        if depth:
            corner = x - indent + 8
            drawing.line((corner, above[depth - 1]), (corner, y + 14), (x - 2, y + 14))
        if kind in ("module", "list"):
            drawing.text(x, y + 19, text, anchor="start", bold=kind == "module")
        else:
            shared = kind == "shared"
            colour = "value" if kind == "parameter" else "muted"
            drawing.cell(x, y + 1, "", colour, box, high - 7, dashed=shared)
            drawing.text(x + 8, y + 19, text, anchor="start")
        if path:
            drawing.text(drawing.width - 8, y + 19, path, kind="muted", anchor="end")
    return drawing


def tree_rows(thing, path, text, depth, seen):
    """(depth, path, text, kind) of `thing` and of all in it, kind being "module", "list",
    "parameter", "tensor" or "shared".

    seen     dict {id: path} of the modules and tensors above
    """
    again = id(thing) in seen
    if hasattr(thing, "requires_grad"):
        first = seen.setdefault(id(thing), path)
        learned = thing.requires_grad and thing.creator is None
        kind = "shared" if again else "parameter" if learned else "tensor"
        yield depth, f"= {first}" if again else path, f"{text} {thing.shape}", kind
        return
    if hasattr(thing, "named_parameters"):
        if again:
            return
        seen[id(thing)] = path
        members, kind = vars(thing), "module"
    elif isinstance(thing, (list, tuple)):
        members, kind = dict(enumerate(thing)), "list"
    elif isinstance(thing, dict):
        members, kind = thing, "list"
    else:
        return
    if kind == "list" and not any(held(thing)):
        return  # a list of numbers or names, say
    yield depth, path, text, kind
    for name, member in members.items():
        label = f"[{name!r}]" if kind == "list" else f".{name}"
        if hasattr(member, "named_parameters"):
            label += f" = {type(member).__name__}"
        elif isinstance(member, (list, tuple, dict)):
            label += f" = {type(member).__name__}"
        inner = f"{path}.{name}" if path else str(name)
        yield from tree_rows(member, inner, label, depth + 1, seen)

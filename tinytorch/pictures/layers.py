"""What lesson 04 draws: signals in random networks; layers and networks."""

import numpy as np

from tinytorch.pictures.drawing import as_factor
from tinytorch.support.modules import contents
from tinytorch.support.svg import Drawing, short

# Signals in networks of many random layers


def layer_outputs(std, layers=20, width=100):
    """The outputs of each of `layers` layers with tanh, whose weights have this standard deviation.

    returns  list of arrays of shape (100, width); the inputs are standard normal

    >>> [array.shape for array in layer_outputs(0.1, layers=2)]
    [(100, 100), (100, 100)]
    """
    rng = np.random.default_rng(0)
    x, outputs = rng.normal(size=(100, width)), []
    for _ in range(layers):
        x = np.tanh(x @ rng.normal(0, std, (width, width)))
        outputs.append(x)
    return outputs


def relative_distance(std, layers=20, width=100):
    """The distance of two signals after `layers` layers with tanh, in standard deviations of the
    signals: at first 0.01.

    std      the standard deviation of the weights

    >>> relative_distance(0.1, layers=0)
    0.01
    """
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, width))
    pair = np.stack([x, x + 0.01 * rng.normal(size=x.shape)])
    for _ in range(layers):
        pair = np.tanh(pair @ rng.normal(0, std, (width, width)))
    return float(round((pair[1] - pair[0]).std() / pair.std(), 3))


def draw_histograms(stds, layers=20, width=100):
    """For each standard deviation of the weights a row of histograms, one for each layer.

    stds     the standard deviations, one row each
    returns  a Drawing; a histogram is upright, from -1 below to 1 above
    """
    high, gap, left, bins = 84, 52, 30, 21
    drawing = Drawing(
        f"Histograms of the outputs of {layers} layers",
        "The weights have the standard deviations "
        + ", ".join(f"{short(std)} (last layer: {last_std(std, layers, width)})" for std in stds),
        height=len(stds) * (high + gap) + 18,
    )
    step = (drawing.width - left - 6) / layers
    for row, std in enumerate(stds):
        top = row * (high + gap) + 30
        outputs = layer_outputs(std, layers, width)
        drawing.text(left, top - 12, f"weights: std {short(std)}", anchor="start", bold=True)
        last = f"layer {layers}: std {last_std(std, layers, width)}"
        drawing.text(drawing.width - 4, top - 12, last, anchor="end")
        for value in (1, 0, -1):
            y = top + (1 - value) * high / 2
            drawing.text(left - 6, y + 4.5, value, anchor="end", kind="muted")
            drawing.line((left, y), (drawing.width - 4, y), width=0.5)
        for layer, array in enumerate(outputs):
            shares, edges = np.histogram(array, bins, (-1, 1))
            first, last = np.flatnonzero(shares)[[0, -1]]
            half = np.repeat(shares[first : last + 1] / shares.max() * (step / 2 - 1), 2)
            middle = left + (layer + 0.5) * step
            sides = np.repeat(edges[first : last + 2], 2)[1:-1]  # each bin as high as it is
            heights = top + (1 - sides) * high / 2
            outline = [*zip(middle - half, heights), *zip((middle + half)[::-1], heights[::-1])]
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in outline)
            drawing.parts.append(f'<polygon class="cell value" points="{points}"/>')
    drawing.text(left, drawing.height - 8, "layer 1", anchor="start", kind="muted")
    drawing.text(
        drawing.width - 4, drawing.height - 8, f"layer {layers}", anchor="end", kind="muted"
    )
    return drawing


def last_std(std, layers, width):
    return f"{layer_outputs(std, layers, width)[-1].std():.2g}"


# Layers and networks


def draw_fully_connected(x, weights, bias, example=0, output=0):
    """x @ weights + bias as cells; everything that one output depends on is coloured.

    x        array or Tensor of shape (examples, in): its rows are drawn beside the result's rows
    weights  of shape (in, out): its columns are drawn above the result's columns
    bias     of shape (out,): one number below each column
    example, output   the row and the column of the output in colour
    returns  a Drawing
    """
    x, weights, bias = np.asarray(x), np.asarray(weights), np.asarray(bias)
    result = x @ weights + bias
    examples, ins = x.shape
    wide, high = 42, 32
    left, top = ins * wide + 56, ins * high + 62  # where the result begins
    products = " + ".join(
        f"{as_factor(a)}·{as_factor(b)}" for a, b in zip(x[example], weights[:, output])
    )
    total = f"{products} + {as_factor(bias[output])} = {short(result[example, output])}"
    drawing = Drawing(
        "A fully connected layer: y = x W + b",
        f"Output {output} of example {example} is computed from row {example} of x, column "
        f"{output} of W and one element of b: {total}",
        height=top + (examples + 1) * high + 96,
    )

    def label(x, y, text, shape):
        drawing.text(x, y, f"{text} {shape}", anchor="start", bold=True)

    label(left, 22, "W", weights.shape)
    drawing.cells(left, 30, weights, lambda i, j: highlight(j == output), wide, high)
    label(8, top - 8, "x", x.shape)
    drawing.cells(8, top, x, lambda i, j: highlight(i == example), wide, high)
    label(left, top - 8, "y", result.shape)
    drawing.cells(
        left, top, result, lambda i, j: highlight((i, j) == (example, output)), wide, high
    )
    below = top + examples * high
    label(left, below + 24, "b", bias.shape)
    drawing.text(left - 10, below + 54, "added to", anchor="end")
    drawing.text(left - 10, below + 70, "each row", anchor="end")
    drawing.cells(left, below + 32, [bias], lambda i, j: highlight(j == output), wide, high)
    drawing.text(8, drawing.height - 10, f"y[{example}, {output}] = {total}", anchor="start")
    return drawing


def highlight(used):
    """The colour of a cell that the output in colour depends on, or does not."""
    return "value" if used else "muted"


def draw_module_tree(model):
    """The modules and tensors in `model`, with the name of each.

    model    a Module, whose attributes hold modules and tensors, also in lists, tuples and dicts
    returns  a Drawing: parameters blue, tensors that are not learned grey, modules without a box;
             a part that occurs twice is drawn the second time with a dashed box and its first name
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
    if kind == "list" and not any(contents(thing)):
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


def draw_small_network(layers, names):
    """Fully connected layers as columns of boxes; an arrow is a weight, each box has its bias.

    layers   list of (weights, bias) of shapes (in, out) and (out,)
    names    a list with the names of the boxes, one list for each column, the inputs included
    returns  a Drawing

    >>> draw_small_network([([[2.0]], [1.0])], [["x"], ["y"]]).description
    'y = 2·x + 1'
    """
    layers = [(np.asarray(weights), np.asarray(bias)) for weights, bias in layers]
    wide, high, row, top = 68, 42, 96, 20
    tallest = max(len(column) for column in names)
    terms = [
        " + ".join(f"{short(w)}·{name}" for w, name in zip(weights[:, j], inputs))
        + f" + {short(bias[j])}"
        for (weights, bias), inputs, outputs in zip(layers, names, names[1:])
        for j in range(len(outputs))
    ]
    outputs = [name for column in names[1:] for name in column]
    drawing = Drawing(
        "A small network",
        "; ".join(f"{name} = {term}" for name, term in zip(outputs, terms)),
        height=top + (tallest - 1) * row + high + 18,
    )
    step = (drawing.width - 16 - wide) / (len(names) - 1)

    def corner(column, index):
        above = (tallest - len(names[column])) * row / 2
        return 8 + column * step, top + above + index * row

    for column, (weights, _) in enumerate(layers):
        for (i, j), weight in np.ndenumerate(weights):
            (x, y), (x2, y2) = corner(column, i), corner(column + 1, j)
            start, end = (x + wide, y + high / 2), (x2, y2 + high / 2)
            drawing.arrow(start, end, "value")
            across = start[0] + 0.3 * (end[0] - start[0])  # where crossing arrows are apart
            down = start[1] + 0.3 * (end[1] - start[1])
            side = 12 if y2 > y else 0
            drawing.text(across + side, down - 7, short(weight), "value", bold=True)
    for column, texts in enumerate(names):
        for index, name in enumerate(texts):
            x, y = corner(column, index)
            drawing.cell(x, y, "" if column else name, "muted", wide, high)
            if column:
                drawing.text(x + wide / 2, y + 17, name)
                bias = f"bias {short(layers[column - 1][1][index])}"
                drawing.text(x + wide / 2, y + 34, bias, "value", bold=True)
    return drawing

"""What lesson 14 draws: lookups, masks, heads, and maps of attention weights; and the tasks that
its attention layers learn.
"""

from time import process_time
from timeit import timeit

import numpy as np

from tinytorch.pictures.drawing import panel
from tinytorch.support.svg import WIDTH, Drawing, short

# Two tasks that need a look into the past: random letters that are repeated. The first time, they
# cannot be predicted, so only the loss of the repeated letters is trained.

LETTERS = "abcdefghijklmnopqrstuvwxyz"
HALF = 12  # letters before they are repeated


def repeated(rng, batch):
    """Twelve random letters from a to j, and the same twelve again.

    rng      a NumPy Generator
    batch    int: how many sequences
    returns  ids of shape (batch, 23), from 0 to 9; the ids that follow each, of the same shape; and
             True where these can be predicted

    >>> x, y, known = repeated(np.random.default_rng(0), 2)
    >>> x.shape, bool((x[:, :11] == y[:, 11:22]).all()), known[0].sum()
    ((2, 23), True, np.int64(12))
    """
    half = rng.integers(0, 10, (batch, HALF))
    ids = np.concatenate([half, half], axis=1)
    known = np.arange(2 * HALF - 1) >= HALF - 1
    return ids[:, :-1], ids[:, 1:], np.broadcast_to(known, (batch, len(known)))


def varied(rng, batch, low=10, high=18):
    """Different letters from a to z, repeated until there are 36; each sequence has its own period.

    low, high  ints: the shortest and the longest period
    returns    ids (batch, 35), the ids that follow each, and True where these can be predicted: the
               letter before them has occurred before

    >>> x, y, known = varied(np.random.default_rng(0), 1, 10, 10)
    >>> bool((x[0, :24] == y[0, 9:33]).all()), known[0].argmax()
    (True, np.int64(10))
    """
    periods = rng.integers(low, high + 1, batch)
    ids = np.stack([np.resize(rng.permutation(26)[:period], 36) for period in periods])
    return ids[:, :-1], ids[:, 1:], np.arange(35) >= periods[:, None]


def train(model, optimizer, steps, task=repeated, seed=0):
    """Train on random sequences, on the loss of those letters alone that can be predicted.

    model      called with ids (32, T), returns logits (32, T, letters)
    optimizer  of its parameters
    task       `repeated` or `varied`
    returns    list of float: the loss of each step, in nats per letter
    """
    rng, losses = np.random.default_rng(seed), []
    for _ in range(steps):
        loss = batch_loss(model, task, rng)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def batch_loss(model, task=repeated, rng=0):
    """The loss of 32 random sequences, a Tensor of shape ()."""
    from tinytorch.core.losses import cross_entropy

    x, y, known = task(np.random.default_rng(rng), 32)
    return cross_entropy(model(x)[known], y[known])


def accuracy(model, task=repeated, seed=1):
    """The share of the letters that can be predicted that the model predicts right, on new
    sequences."""
    x, y, known = task(np.random.default_rng(seed), 500)
    return float((model(x).data.argmax(-1) == y)[known].mean())


def small_weights(model, seed=0):
    """Draw all matrices of a model again, with standard deviation 0.2; returns the model."""
    rng = np.random.default_rng(seed)
    for p in model.parameters():
        if p.ndim == 2:
            p.data[...] = rng.normal(0, 0.2, p.shape)
    return model


def induction_score(weights, ids):
    """How much of its attention each head puts on positions after an earlier occurrence of the
    letter just read: the mean over the letters that have occurred before.

    weights  array of shape (batch, heads, T, T), causal
    ids      int array of shape (batch, T)
    returns  array of shape (heads,), from 0 to 1

    >>> weights = np.zeros((1, 1, 3, 3))
    >>> weights[0, 0, 2] = [0.25, 0.75, 0]
    >>> induction_score(weights, np.array([[5, 8, 5]]))
    array([0.75])
    """
    after = np.zeros((len(ids), *weights.shape[2:]), bool)
    after[:, :, 1:] = ids[:, :, None] == ids[:, None, :-1]
    after &= np.tri(ids.shape[1], dtype=bool)
    batch, query = after.any(-1).nonzero()
    return (weights * after[:, None]).sum(-1)[batch, :, query].mean(axis=0)


def cost(f, length):
    """What one forward and backward pass of f() needs: the operations that it records, the arrays
    of shape (..., length, length) that they keep for the backward pass, and the processor time.

    >>> from tinytorch.core.tensor import Variable
    >>> x = Variable(np.ones((4, 4)))
    >>> cost(lambda: (x * x).exp(), 4)[:34]
    '2 operations, 2 arrays of (T, T), '
    """
    from tinytorch.core.autograd import topological_order

    out = f()  # has to live, or other arrays could get the ids of its own
    creators = [node.creator for node in topological_order(out)]
    kept = [a for c in creators for a in [*c.arrays, *c.options.get("saved", {}).values()]]
    square = {id(a) for a in kept if np.shape(a)[-2:] == (length, length)}
    f().sum().backward()  # what is allocated once, in the first call, is not measured
    seconds = timeit(lambda: f().sum().backward(), timer=process_time, number=100)
    return f"{len(creators)} operations, {len(square)} arrays of (T, T), {10 * seconds:.2f} ms"


# Attention

MARGIN = 8  # pixels
# What the first layer of lesson 14 has learned: a sequence of the repeat task, and the attention
# weights of positions 11 to 22, in percent. A test trains a similar one.
SEQUENCE = "efhjabijcdieefhjabijcdi"
PERCENT = """
99 0 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
0 99 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
0 0 100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
0 0 0 99 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
0 0 0 0 98 0 0 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0
0 0 0 0 0 100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
0 0 0 0 0 0 99 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
1 0 0 0 1 0 0 96 0 0 1 1 0 0 0 0 0 0 0 0 0 0 0
0 0 0 1 0 0 0 0 98 0 0 0 0 0 0 0 0 0 0 0 0 0 0
0 0 0 0 0 0 0 0 0 100 0 0 0 0 0 0 0 0 0 0 0 0 0
0 0 0 0 0 0 0 0 0 0 99 0 0 0 0 0 0 1 0 0 0 0 0
0 0 0 0 0 0 0 0 0 0 0 100 0 0 0 0 0 0 0 0 0 0 0
"""
LEARNED = SEQUENCE, np.array([row.split() for row in PERCENT.split("\n")[1:-1]], float) / 100


def draw_lookup(names, scores, weights, values):
    """A lookup by attention: for each key its score, its weight as a bar, and its value; below,
    the answer, which is the weighted mean of the values.

    names    list of str: what the keys are called
    scores, weights, values   a number for each key; the weights sum to 1
    returns  a Drawing

    >>> draw_lookup(["a", "b"], [1.0, 1.0], [0.5, 0.5], [10, 30]).description
    'a: weight 50 %, value 10; b: weight 50 %, value 30; the answer is 20'
    """
    answer = float(np.dot(weights, values))
    drawing = Drawing(
        "a lookup by attention",
        "; ".join(
            f"{name}: weight {weight:.0%}, value {short(value)}".replace("%", " %")
            for name, weight, value in zip(names, weights, values)
        )
        + f"; the answer is {short(answer)}",
        height=40 * len(names) + 78,
    )
    left, full = 112, 136
    for x, text, anchor in [
        (MARGIN, "key", "start"),
        (left - 10, "score", "end"),
        (left + 6, "weight", "start"),
        (WIDTH - MARGIN - 24, "value", "middle"),
    ]:
        drawing.text(x, 20, text, "muted", anchor)
    for k, (name, score, weight, value) in enumerate(zip(names, scores, weights, values)):
        y = 40 * k + 30
        drawing.text(MARGIN, y + 21, name, "text", "start")
        drawing.text(left - 10, y + 21, short(float(score)), "text", "end")
        drawing.cell(left + 6, y + 4, "", "value", max(1, full * weight), 24)
        drawing.text(left + 12 + full * weight, y + 21, f"{100 * weight:.0f} %", "value", "start")
        drawing.cell(WIDTH - MARGIN - 48, y, value, "muted", 48, 32)
    y = 40 * len(names) + 36
    drawing.line((MARGIN, y), (WIDTH - MARGIN, y))
    drawing.text(MARGIN, y + 28, "the answer: weights times values, summed", "text", "start")
    drawing.cell(WIDTH - MARGIN - 48, y + 7, short(answer), "value", 48, 32)
    return drawing


def draw_masks(masks):
    """Masks, one below the other: a row for each query, a column for each key.

    masks    {heading: 2-D array of bool}; one whose text ends with "wrong" is red.
             Allowed cells are filled, the others dashed
    returns  a Drawing

    >>> draw_masks({"two": [[1, 0], [1, 1]]}).description
    'two: query 0 sees key 0; query 1 sees keys 0 to 1'
    """
    parts = []
    for label, mask in masks.items():
        rows = []
        for i, row in enumerate(np.asarray(mask, bool)):
            seen = [int(j) for j in np.flatnonzero(row)]
            many = f"keys {seen[0]} to {seen[-1]}" if len(seen) > 1 else f"key {seen[0]}"
            rows.append(f"query {i} sees {many}")
        parts.append(f"{label}: {'; '.join(rows)}")
    size = 30
    drawing = Drawing(
        "masks",
        ". ".join(parts),
        height=sum(size * len(mask) + 52 for mask in masks.values()) + 4,
    )
    y = 20
    for label, mask in masks.items():
        kind = "wrong" if label.endswith("wrong") else "value"
        drawing.text(MARGIN, y, label, "wrong" if kind == "wrong" else "text", "start", bold=True)
        left = MARGIN + 70
        for j in range(len(mask[0])):
            drawing.text(left + size * j + size / 2, y + 19, j, "muted")
        drawing.text(left + size * len(mask[0]) + 8, y + 19, "key", "muted", "start")
        y += 24
        for i, row in enumerate(np.asarray(mask, bool)):
            drawing.text(MARGIN, y + 20, f"query {i}", "muted", "start")
            for j, allowed in enumerate(row):
                place = left + size * j, y
                drawing.cell(*place, "", kind if allowed else "muted", size, size, not allowed)
            y += size
        y += 28
    return drawing


def draw_split(positions, width, heads):
    """The numbers 0, 1, 2, ... of a (positions, width) array, and which of them each head gets:
    a part of each position; or, which is wrong, what reshape to (heads, positions, ...) gives:
    the numbers that are not where they should be are hatched.

    returns  a Drawing

    >>> draw_split(3, 4, 2).description
    'head 0 has the numbers 0 1 4 5 8 9; reshaped to (2, 3, 2) it has 0 1 2 3 4 5, 8 of 12 wrong'
    """
    x = np.arange(positions * width).reshape(positions, width)
    d = width // heads
    right = [x[:, h * d : h * d + d] for h in range(heads)]
    wrong = x.reshape(heads, positions, d)
    drawing = Drawing(
        "the numbers of two heads",
        f"head 0 has the numbers {' '.join(map(str, right[0].ravel()))}; "
        f"reshaped to {wrong.shape} it has {' '.join(map(str, wrong[0].ravel()))}, "
        f"{(wrong != np.array(right)).sum()} of {x.size} wrong",
        height=3 * (30 * positions + 52) - 20,
    )
    y = 20
    drawing.text(MARGIN, y, f"x: {positions} positions, {width} numbers each", "text", "start")
    drawing.cells(MARGIN, y + 10, x, lambda i, j: "muted" if j // d else "value", 36, 30)
    for label, parts in [
        ("right: each head has a part of every position", right),
        (f"reshaped to {wrong.shape}: what is hatched is wrong", wrong),
    ]:
        y += 30 * positions + 44
        drawing.text(MARGIN, y, label, "wrong" if parts is wrong else "text", "start")
        for h, part in enumerate(parts):
            left = MARGIN + h * (36 * d + 70)

            def kind(i, j, h=h, part=part):
                return "wrong" if part[i, j] != right[h][i, j] else "muted" if h else "value"

            drawing.cells(left, y + 10, part, kind, 36, 30)
            drawing.text(left + 36 * d + 6, y + 32, f"head {h}", "muted", "start")
    return drawing


def draw_rotation(q, k, speed, cases):
    """A query and a key, rotated by angles that grow with their positions: a circle for each case,
    and below it the dot product of the two.

    q, k     two numbers each
    speed    float: radians per position
    cases    two pairs (position of q, position of k)
    returns  a Drawing

    >>> draw_rotation([1.0, 0.0], [1.0, 0.0], 0.5, [(3, 1), (7, 5)]).description
    'q at 3, k at 1: dot product 0.54; q at 7, k at 5: dot product 0.54'
    """
    rotated = [
        [complex(*x) * np.exp(1j * speed * p) for x, p in zip((q, k), positions)]
        for positions in cases
    ]
    products = [f"{(a * b.conjugate()).real:.2f}" for a, b in rotated]
    drawing = Drawing(
        "a query and a key, rotated",
        "; ".join(
            f"q at {i}, k at {j}: dot product {product}" for (i, j), product in zip(cases, products)
        ),
        height=218,
    )
    for n, (positions, pair, product) in enumerate(zip(cases, rotated, products)):
        x, y, scale = WIDTH * (2 * n + 1) / 4, 100, 62
        around = np.exp(2j * np.pi * np.arange(61) / 60)
        drawing.line(*[(x + scale * z.real, y - scale * z.imag) for z in around], dashed=True)
        for name, kind, p, z in zip("qk", ("value", "gradient"), positions, pair):
            drawing.arrow((x, y), (x + scale * z.real, y - scale * z.imag), kind)
            tip = z / abs(z) * (scale * max(1, abs(z)) + 19)
            drawing.text(x + tip.real, y - tip.imag + 5, f"{name}({p})", kind, bold=True)
        drawing.text(x, 206, f"dot product {product}")
    return drawing


def draw_map(weights, queries, keys, title="", titles=("key", "query")):
    """Attention weights as a picture: a row for each query, a column for each key, the darker the
    larger the weight.

    weights        array of shape (queries, keys), from 0 to 1
    queries, keys  lists of str: the labels of the rows and of the columns
    titles         of the columns and of the rows
    returns        a matplotlib Figure

    >>> figure = draw_map([[1.0, 0.0], [0.5, 0.5]], "ab", "ab")
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['a', 'b']
    """
    figure, axes = panel(title, *titles, height=0.9 + 4.2 * len(queries) / len(keys))
    axes.imshow(np.asarray(weights), cmap="Blues", vmin=0, vmax=1)
    turn = 90 if max(map(len, keys)) > 2 else 0
    axes.set_xticks(range(len(keys)), list(keys), rotation=turn)
    axes.set_yticks(range(len(queries)), list(queries))
    axes.tick_params(length=0)
    return figure


def draw_positions(encodings):
    """Positional encodings as a picture: a row for each position, a column for each number.

    encodings  array of shape (T, D), from -1 to 1
    returns    a matplotlib Figure

    >>> draw_positions([[0.0, 1.0]]).axes[0].get_ylabel()
    'position'
    """
    figure, axes = panel("", "number", "position", height=4.2)
    axes.imshow(np.asarray(encodings), cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
    return figure

"""A patch map, one experiment at a time; lesson 18, whose functions train and patch the model."""

import functools

import numpy as np
from figure import Figure, Panel, hint
from induction_steps import STEPS, TOKENS, load, probability, sequences

from tinytorch.core.interpretability import patch

CHANGED, ANSWER = 3, 4  # positions: of the token that is another one, of the right answer
STREAMS = ("before layer 0", "after layer 0", "after layer 1")
LABEL, CELL, ROW, TOP = 2, 32, 62, 86  # pixels


def figures():
    shares, clean, corrupt = numbers()
    steps = [told(r, CHANGED + [0, 1, 7][r], shares, clean, corrupt) for r in range(3)]
    steps.append(told(1, CHANGED, shares, clean, corrupt))
    return [
        Figure(
            "patch_map",
            "A patch map, one experiment at a time",
            "Three of the 33 vectors bring the right prediction back, and each of them brings back "
            "all of it: they are the path of the information through the model.",
            [panel(shares)],
            steps,
            hint("Choose a cell: its vector is taken from the clean run."),
            {
                "shares": shares.tolist(),
                "clean": clean,
                "corrupt": corrupt,
                "streams": STREAMS,
                "chosen": f"cell 0 {CHANGED}",
            },
            lesson="interpretability",
            section="Activation patching",
            after="The path is 9, 10, last",
        )
    ]


@functools.cache
def numbers():
    """The patch map (3, 11), and the probabilities of the right token in both runs."""
    model = load(STEPS[-1])
    clean, other = sequences()
    corrupt = clean.copy()
    corrupt[:, CHANGED] = other
    right = functools.partial(probability, right=clean[:, ANSWER])
    first = patch(model, clean, corrupt, right, "blocks.{}.input")[:1]
    shares = np.concatenate([first, patch(model, clean, corrupt, right)])
    return shares, right(model(clean).data), right(model(corrupt).data)


def told(row, position, shares, clean, corrupt):
    share = shares[row, position]
    return (
        f"With the vector {STREAMS[row]} at position {position} from the clean run, the corrupt "
        f"run predicts e with a probability of {written(corrupt + share * (clean - corrupt))}: "
        f"{written(share)} of the difference comes back."
    )


def written(share):
    """A share with two digits, without a minus before zeros."""
    return f"{share:.2f}".replace("-0.00", "0.00")


def panel(shares):
    drawing = Panel(
        "A row for each stream, a column for each position",
        "; ".join(
            f"{stream}: {written(shares[r].max())} at position {shares[r].argmax()}, "
            "nearly 0 elsewhere"
            for r, stream in enumerate(STREAMS)
        ),
        358,
        TOP + 3 * ROW,
        touched=True,
    )
    for name, y, tokens in [("clean run", 34, TOKENS), ("corrupt run", 74, [*"abcxefgabcd"])]:
        drawing.text(LABEL, y - 19, name, "muted", "start")
        for j, token in enumerate(tokens):
            kind = "wrong" if token == "x" else "text"
            drawing.text(LABEL + (j + 0.5) * CELL, y, token, kind, bold=token == "x")
    for r, stream in enumerate(STREAMS):
        y = TOP + r * ROW
        drawing.text(LABEL, y + 14, stream, "muted", "start")
        for j, share in enumerate(shares[r]):
            kind = "value" if share > 0.5 else "muted"
            text = written(share) if share > 0.1 else "0"
            drawing.cell(LABEL + j * CELL, y + 20, text, kind, CELL - 1, 36, key=f"cell {r} {j}")
    return drawing

"""The nearest letters by cosine, before, during and after the training of the window model with
embeddings of two numbers; lesson 13, whose `WindowModel` and `nearest` are used.
"""

import functools

import numpy as np
from figure import Figure, Panel, hint, slider

from tinytorch.core.autograd import no_grad
from tinytorch.core.embeddings import WindowModel, bits_per_character, name_windows, nearest
from tinytorch.core.layers import manual_seed
from tinytorch.core.losses import cross_entropy
from tinytorch.core.optimizers import AdamW, clip_grad_norm_
from tinytorch.core.tokenization import CharTokenizer
from tinytorch.data.texts import load_names

SAVED = [0, 10, 30, 100, 300, 1000]  # steps of training; the lesson trains for the last
CHOSEN, NEAREST, VOWELS = "a", 5, "aeiouy"
ROOM, EDGE, CELL, HIGH, ACROSS = 340, 16, 38, 34, 9  # pixels; buttons in a row


def figures():
    weights, bits, letters = trained()
    state = {
        "letters": [shown(letter) for letter in letters],
        "weights": weights.tolist(),
        "bits": [f"{one:.2f}" for one in bits],
        "saved": SAVED,
        "nearest": NEAREST,
        "places": [places(n) for n in range(len(SAVED))],
        "chosen": letters.index(CHOSEN),
    }
    last = len(SAVED) - 1
    examples = [(CHOSEN, n) for n in range(len(SAVED))] + [("n", last), ("t", last)]
    return [
        Figure(
            "letter_neighbours",
            "The letters nearest to a letter, before and after training",
            "Training turns the vectors of letters with similar uses in similar directions.",
            [panel(last, letters.index(CHOSEN))],
            [told(n, letters.index(letter)) for letter, n in examples],
            hint("Choose a letter, then train. Vowels are bold, neighbours blue.")
            + slider("training steps", "saved", 0, last, 1, 0),
            state,
            question="Which letters are close together after training?",
            lesson="embeddings",
            section="Similar tokens",
            replaces="figure = draw_plane(plane_model.embedding.weight",
        )
    ]


@functools.cache
def trained():
    """(weights, bits, letters): the embeddings at the saved steps, shape (saved, 27, 2), the bits
    per character of the test names, and the tokens; as in the lesson."""
    names = np.random.default_rng(0).permutation(load_names()).tolist()
    letters = CharTokenizer("\n" + "".join(names))
    ids = [letters.encode(name) for name in names]
    (x, y), (x_test, y_test) = (name_windows(part, 4, 0) for part in (ids[:4646], ids[4646:]))
    manual_seed(1)
    model, rng = WindowModel(27, context=4, embedding_dim=2, hidden=64), np.random.default_rng(1)
    optimizer, weights, bits = AdamW(model.parameters(), 0.01), [], []
    for step in range(SAVED[-1] + 1):
        if step in SAVED:
            weights.append(np.round(model.embedding.weight.data.astype(float), 4))
            with no_grad():
                loss = cross_entropy(model(x_test), y_test, reduction="sum")
            bits.append(bits_per_character(loss, len(y_test)))
        optimizer.param_groups[0]["lr"] = 0.01 * (1 - step / SAVED[-1])
        optimizer.zero_grad()
        batch = rng.integers(0, len(y), 256)
        cross_entropy(model(x[batch]), y[batch]).backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return np.array(weights), bits, letters.characters


def shown(letter):
    return "end" if letter == "\n" else letter


def places(n):
    """The pixels (x, y) of the letters at a saved step, and last those of the origin; both axes
    have the same scale, so that angles are true."""
    points = np.vstack([trained()[0][n], [0, 0]]) * [1, -1]
    low, high = points.min(axis=0), points.max(axis=0)
    scale = min((358 - 2 * EDGE) / (high - low)[0], (ROOM - 2 * EDGE) / (high - low)[1])
    middle = np.array([358, ROOM]) / 2
    return np.round(middle + (points - (low + high) / 2) * scale, 1).tolist()


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def told(n, chosen):
    weights, bits, letters = trained()
    found = ", ".join(
        f"{shown(letters[i])} {cosine(weights[n][chosen], weights[n][i]) + 1e-9:.2f}"
        for i in nearest(weights[n], chosen, NEAREST)
    )
    start = f"After {SAVED[n]} steps" if n else "Before training"
    return (
        f"{start}, with {bits[n]:.2f} bits per character: nearest to '{shown(letters[chosen])}', "
        f"with their cosines, are {found}."
    )


def panel(n, chosen):
    weights, _, letters = trained()
    near = nearest(weights[n], chosen, NEAREST).tolist()
    drawing = Panel(
        "The vectors of the letters in a plane, and a button for each letter",
        told(n, chosen),
        358,
        ROOM + 12 + 3 * HIGH + 4,
        touched=True,
    )
    *at, (left, top) = places(n)
    for key, ends in ("across", ((0, top), (358, top))), ("up", ((left, 0), (left, ROOM))):
        drawing.line(*ends)
        drawing.key(key)
    for i in [chosen, *near]:
        drawing.line((left, top), at[i], kind="text" if i == chosen else "value")
        drawing.key(f"ray {'chosen' if i == chosen else near.index(i)}")
    for i, letter in enumerate(letters):
        kind = "value on-line" if i in near else "text on-line" if i == chosen else "text"
        drawing.text(at[i][0], at[i][1] + 4.5, shown(letter), kind)
        if letter in VOWELS:
            drawing.parts[-1] = drawing.parts[-1].replace("<text ", '<text font-weight="600" ', 1)
        drawing.key(f"letter {i}")
    for i, letter in enumerate(letters):
        x, y = 8 + i % ACROSS * CELL, ROOM + 12 + i // ACROSS * HIGH
        kind = "value" if i in near else "muted"
        drawing.cell(x, y, shown(letter), kind, CELL, HIGH, key=f"choose {i}")
    drawing.mark([f"choose {chosen}", f"letter {chosen}"])
    return drawing

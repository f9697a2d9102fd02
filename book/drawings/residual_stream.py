"""The residual stream at the last token of a prompt, in the course's small trained GPT: what each
part adds, what the model would predict after it, and what changes without it; lesson 15.
"""

import functools
import itertools

import numpy as np
from figure import Figure, Panel, choice, hint, switches

from tinytorch.core.activations import softmax
from tinytorch.core.autograd import no_grad
from tinytorch.core.tensor import wrap
from tinytorch.data.gpt_files import load_small_gpt

PROMPTS = ["Harriet Sm", "of cour", "Mr. Darcy was very much sur"]
PARTS = ["attention 1", "mlp 1", "attention 2", "mlp 2"]
SHOWN = 3  # predictions after each part
LINE, LEFT, WIDE, HIGH, TOKENS, CELL, TOP, ROW = 14, 34, 98, 34, 152, 68, 46, 66  # pixels


def figures():
    states = {
        prompt: {key: numbers(prompt, off) for key, off in combinations()} for prompt in PROMPTS
    }
    steps = [states[PROMPTS[0]][key]["told"] for key in ("", "0", "1", "2", "3")]
    steps += [states[prompt][""]["told"] for prompt in PROMPTS[1:]]
    return [
        Figure(
            "residual_stream",
            "The residual stream of a trained GPT, part by part",
            "Every part adds its result to the stream; the mlp of block 1 adds most, and it turns "
            "the token that was read into a prediction of the next one.",
            [panel(states[PROMPTS[0]][""])],
            steps,
            hint(
                "A small GPT, trained on two novels, reads a text. The drawing follows the vector "
                "of the last token. At each point, the last two layers of the model turn it into "
                "predictions, as if the model ended there. Switch a part off, for all tokens:"
            )
            + switches("the stream receives", "adds", PARTS)
            + choice(
                "text", "residual_stream-prompt", {text: text for text in PROMPTS}, PROMPTS[0]
            ),
            states,
            lesson="transformers",
            section="The transformer block",
            after="every later block can read it",
        )
    ]


def combinations():
    """(key, the numbers of the parts that are switched off), of all 16 choices."""
    for count in range(len(PARTS) + 1):
        for off in itertools.combinations(range(len(PARTS)), count):
            yield " ".join(map(str, off)), off


@functools.cache
def small_gpt():
    return load_small_gpt()


@functools.cache
def stream(prompt, off):
    """The vector of the last token: its embedding, and what it is after each part."""
    model, tokenizer = small_gpt()
    ids = tokenizer.encode(prompt)[None]
    with no_grad():
        x = model.embedding(ids) + model.positions.weight[: ids.shape[1]]
        vectors = [x.data[0, -1]]
        for number, block in enumerate(model.blocks):
            branches = (block.norm1, block.attention), (block.norm2, block.mlp)
            for part, (norm, layer) in enumerate(branches, 2 * number):
                x = x if part in off else x + layer(norm(x))
                vectors.append(x.data[0, -1])
    return vectors


def predictions(vector):
    """The most probable next tokens and their probabilities, from a vector of the stream."""
    model, tokenizer = small_gpt()
    with no_grad():
        logits = model.norm(wrap(vector[None])) @ model.embedding.weight.T
    p = softmax(logits).data[0]
    order = np.argsort(-p, kind="stable")[:SHOWN]
    texts = [tokenizer.token(int(i)).decode(errors="replace").replace(" ", "·") for i in order]
    return texts, [round(100 * float(p[i])) for i in order]


def numbers(prompt, off):
    """What the script shows: for the embedding and each part its predictions and two lengths."""
    vectors = stream(prompt, off)
    rows = [predictions(vector) for vector in vectors]
    added = [np.linalg.norm(b - a) for a, b in itertools.pairwise(vectors)]
    notes = [f"length {np.linalg.norm(vectors[0]):.1f}"]
    notes += ["adds nothing" if part in off else f"adds {added[part]:.1f}" for part in range(4)]
    return {"rows": rows, "notes": notes, "told": told(prompt, off, rows)}


def told(prompt, off, rows):
    def best(row):
        return f"'{row[0][0]}' with {row[1][0]} %"

    end = f"the model predicts {best(rows[-1])}."
    if not off:
        return (
            f"'{prompt}': from the embedding alone, {best(rows[0])} would be predicted; after "
            f"block 1 {best(rows[2])}. After block 2 {end}"
        )
    names = " and ".join(PARTS[part] for part in off) if len(off) < 4 else "any of its parts"
    normal = predictions(stream(prompt, ())[-1])
    return f"'{prompt}': without {names} {end} With all parts, it predicts {best(normal)}."


def bars(y, shares):
    """The path of the bars of one row, from its probabilities in %."""
    return "".join(
        f"M{TOKENS + n * CELL + 1},{y + HIGH} v{0 - HIGH * share / 100:.2f} h{CELL - 2} "
        f"v{HIGH * share / 100:.2f} z"
        for n, share in enumerate(shares)
    )


def panel(state):
    names = ["embedding", *PARTS]
    listed = "; ".join(
        f"after {name}: {', '.join(f'{t} {s} %' for t, s in zip(*row))}"
        for name, row in zip(names, state["rows"])
    )
    drawing = Panel(
        "The residual stream: what is added, and the predictions after it",
        f"{listed}. A dot is a space.",
        358,
        TOP + 5 * ROW,
    )
    drawing.text(LEFT, 16, "the stream", "muted", "start")
    drawing.text(TOKENS, 16, "most probable next tokens", "muted", "start")
    drawing.text(TOKENS, 34, "(· is a space)", "muted", "start")
    end = TOP + 4 * ROW + HIGH + 24
    drawing.arrow((LINE, TOP + HIGH / 2), (LINE, end), "text")
    for n, (name, (tokens, shares)) in enumerate(zip(names, state["rows"])):
        y = TOP + n * ROW
        drawing.line((LINE, y + HIGH / 2), (LEFT, y + HIGH / 2), kind="text")
        drawing.cell(LEFT, y, name, "value", WIDE, HIGH, key=f"part {n}")
        drawing.text(LEFT + WIDE / 2, y + HIGH + 17, state["notes"][n], "muted")
        drawing.key(f"note {n} text")
        if n:
            drawing.parts.append(
                f'<circle class="cell muted" cx="{LINE}" cy="{y + HIGH / 2:g}" r="9"/>'
            )
            drawing.text(LINE, y + HIGH / 2 + 4.5, "+", bold=True)
        drawing.parts.append(f'<path class="bar" data-key="bars {n}" d="{bars(y, shares)}"/>')
        for m, (token, share) in enumerate(zip(tokens, shares)):
            x = TOKENS + m * CELL
            drawing.parts.append(
                f'<rect class="outline" x="{x + 1}" y="{y}" width="{CELL - 2}" height="{HIGH}" '
                'rx="3"/>'
            )
            drawing.text(x + CELL / 2, y + 21.5, token)
            drawing.key(f"token {n} {m} text")
            drawing.text(x + CELL / 2, y + HIGH + 17, f"{share} %", "muted")
            drawing.key(f"share {n} {m} text")
    return drawing

"""The attention patterns of a model while it learns to repeat; lesson 18, whose functions train the
model, record the patterns and choose the heads.
"""

import functools

import numpy as np
from figure import Figure, Panel, slider

from tinytorch.core.interpretability import (
    AttentionOnly,
    induction_score,
    next_token_loss,
    patterns,
    previous_token_score,
    repeat_targets,
    repeated,
)
from tinytorch.core.layers import manual_seed
from tinytorch.core.optimizers import Adam, clip_grad_norm_

STEPS = (0, 100, 120, 140, 160, 180, 200, 280)  # of the training: the stops of the slider
SEQUENCES = 32  # that the weights are means of
TOKENS = list("abcdefgabcd")  # as they are drawn; in each sequence they are other ones
FIRST, SECOND = (4, 3), (10, 4)  # (query, key): e looks at d before it; the second d looks at e
CELL, TOP = 14, 68  # pixels
LEFT = (18, 198)  # of the two patterns


def figures():
    states = numbers()
    controls = slider("training steps:", "stop", 0, len(STEPS) - 1, 1, 0)
    return [
        Figure(
            "induction_steps",
            "Two attention patterns during the training",
            "The two stripes appear in the same 100 steps, and the right prediction with them.",
            [panel(states[0])],
            [state["told"] for state in states],
            controls,
            {"steps": STEPS, "states": states},
            lesson="interpretability",
            section="A score for induction heads",
            after="Both scores rise while the loss drops",
        )
    ]


@functools.cache
def trained(steps):
    """Lesson 18's model after each of these numbers of steps: {step: state dict}."""
    manual_seed(0)
    rng, model = np.random.default_rng(0), AttentionOnly(64, 47, 64, 2, 2)
    optimizer, states = Adam(model.parameters(), lr=3e-3), {}
    for step in range(max(steps) + 1):
        if step in steps:
            states[step] = model.state_dict()
        loss = next_token_loss(model, *repeat_targets(*repeated(rng, 32, 48, 64, 6, 24)))
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return states


def sequences():
    """Random tokens in the order of TOKENS (SEQUENCES, 11), and the first token that is in none."""
    rng = np.random.default_rng(0)
    tokens = np.array([rng.permutation(64)[:8] for _ in range(SEQUENCES)])
    return tokens[:, [ord(letter) - ord("a") for letter in TOKENS]], tokens[:, 7]


def load(step):
    """The model after a step of `STEPS`."""
    model = AttentionOnly(64, 47, 64, 2, 2)
    model.load_state_dict(trained(STEPS)[step])
    return model


def probability(logits, right):
    """The mean probability of the right tokens, shape (B,), at the last position."""
    powers = np.exp(logits[:, -1] - logits[:, -1].max(axis=-1, keepdims=True))
    return float((powers[range(len(right)), right] / powers.sum(axis=-1)).mean())


@functools.cache
def numbers():
    """For each stop: both patterns in percent, lower triangles, and the sentence."""
    x, _ = sequences()
    P = patterns(load(STEPS[-1]), x)
    heads = [int(previous_token_score(P[0]).argmax()), int(induction_score(P[1], x).argmax())]
    states = []
    for step in STEPS:
        model = load(step)
        means = [p[:, head].mean(axis=0) for p, head in zip(patterns(model, x), heads)]
        right = probability(model(x).data, x[:, FIRST[0]])
        states.append(
            {
                "percent": [
                    [[round(100 * float(w)) for w in row[: i + 1]] for i, row in enumerate(mean)]
                    for mean in means
                ],
                "told": f"After {step} steps, e gives the d before it {means[0][FIRST]:.0%} of its "
                f"attention in layer 0, and the second d gives e {means[1][SECOND]:.0%} in "
                f"layer 1. The model predicts that e follows with a probability of {right:.2f}.",
            }
        )
    return states


def panel(state):
    size = len(TOKENS)
    drawing = Panel(
        "The patterns of one head in layer 0 and one in layer 1", state["told"], 358, 228
    )
    drawing.text(2, 16, "rows: tokens that look; columns: where they look", "muted", "start")
    for layer, (left, place) in enumerate(zip(LEFT, (FIRST, SECOND))):
        drawing.text(left, TOP - 24, f"layer {layer}", anchor="start", bold=True)
        for i, token in enumerate(TOKENS):
            drawing.text(left + (i + 0.5) * CELL, TOP - 6, token, "muted")
            drawing.text(left - 9, TOP + (i + 0.5) * CELL + 4.5, token, "muted")
        drawing.line(
            *[(left + x * CELL, TOP + y * CELL) for x, y in [(0, 0), (0, size), (size, size)]],
            width=1,
        )
        for i in range(size):
            for j in range(i + 1):
                shade = state["percent"][layer][i][j] / 100
                drawing.parts.append(
                    f'<rect data-key="cell {layer} {i} {j}" class="dot value" '
                    f'x="{left + j * CELL}" y="{TOP + i * CELL}" width="{CELL}" height="{CELL}" '
                    f'fill-opacity="{shade:g}"/>'
                )
        i, j = place
        drawing.parts.append(
            f'<rect class="frame" x="{left + j * CELL}" y="{TOP + i * CELL}" '
            f'width="{CELL}" height="{CELL}"/>'
        )
    return drawing

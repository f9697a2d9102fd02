"""Attention weights over a sentence, from vectors given by hand; lesson 14, whose functions compute
the weights.
"""

import numpy as np
from figure import Figure, Panel, choice, hint

from tinytorch.core.attention import attention_scores, causal_mask, masked_softmax
from tinytorch.core.tensor import Tensor

# Four numbers a word: is it a thing, an action, a property, a small word? As a key, what it is; as
# a query, what it looks for.
SENTENCE = {
    "the": ([0, 0, 0, 1], [2, 0, 0, 0]),
    "cat": ([3, 0, 0, 0], [1, 0, 0, 1]),
    "drank": ([0, 3, 0, 0], [2, 0, 0, 0]),
    "because": ([0, 0, 0, 2], [0, 2, 0, 0]),
    "it": ([1, 0, 0, 1], [3, 0, 0, 0]),
    "was": ([0, 1, 0, 1], [0, 0, 2, 0]),
    "thirsty": ([0, 0, 3, 0], [2, 1, 0, 0]),
}
CHOSEN = 4  # "it"
LABEL, CELL, ROW, TOP = 72, 36, 38, 68  # pixels


def figures():
    all_words, causal = weights(False), weights(True)
    words = list(SENTENCE)
    steps = [
        f"{word!r} looks at {told(words, all_words[i])}; with a causal mask at "
        f"{told(words, causal[i])}."
        for i, word in enumerate(words)
    ]
    return [
        Figure(
            "attention",
            "Attention weights over a sentence",
            "Each row is a softmax over the words that may be seen, so it sums to 100 %; a causal "
            "mask leaves nothing to the words that follow.",
            [panel(words, all_words)],
            steps,
            hint("Choose a word at the left: its row says where it looks.")
            + choice(
                "mask",
                "attention-mask",
                {"none": "none: all words are seen", "causal": "causal: no word that follows"},
                "none",
            ),
            {
                "words": words,
                "chosen": CHOSEN,
                "weights": {"none": all_words.tolist(), "causal": causal.tolist()},
            },
            lesson="attention",
            section="Scaled dot-product attention",
            after="Batch axes may precede",
        )
    ]


def weights(causal):
    """The attention weights of the sentence, shape (words, words)."""
    keys, queries = (Tensor(np.array(part, float)) for part in zip(*SENTENCE.values()))
    mask = causal_mask(len(SENTENCE), len(SENTENCE)) if causal else None
    return masked_softmax(attention_scores(queries, keys), mask).data


def percent(weight):
    return f"{100 * weight:.0f} %"


def told(words, row):
    """The words with the largest weights, at most three, of 1 % and more."""
    order = [j for j in np.argsort(-row, kind="stable")[:3] if row[j] >= 0.01]
    return ", ".join(f"{words[j]} {percent(row[j])}" for j in order)


def panel(words, rows):
    described = "; ".join(f"{word}: {told(words, row)}" for word, row in zip(words, rows))
    drawing = Panel(
        "The weights: a row for each word that looks, a column for each word looked at",
        described,
        358,
        TOP + len(words) * ROW + 4,
        touched=True,
    )
    for j, word in enumerate(words):
        x, y = LABEL + (j + 0.5) * CELL + 4, TOP - 8
        drawing.text(x, y, word, anchor="start")
        drawing.key(f"seen {j}")
        drawing.parts[-1] = drawing.parts[-1].replace(
            "<text ", f'<text transform="rotate(-60 {x:g} {y:g})" ', 1
        )
    for i, word in enumerate(words):
        y = TOP + i * ROW
        drawing.cell(2, y + 2, word, "muted", LABEL - 6, ROW - 4, key=f"word {i}")
        for j, weight in enumerate(rows[i]):
            x, full = LABEL + j * CELL, ROW - 4
            drawing.parts.append(
                f'<rect class="bar" data-key="bar {i} {j}" x="{x + 1}" '
                f'y="{y + 2 + full * (1 - weight):.2f}" width="{CELL - 2}" '
                f'height="{full * weight:.2f}"/>'
            )
            drawing.parts.append(
                f'<rect class="outline" data-key="weight {i} {j}" x="{x + 1}" y="{y + 2}" '
                f'width="{CELL - 2}" height="{full}" rx="3"/>'
            )
            drawing.text(x + CELL / 2, y + 23.5, f"{100 * weight:.0f}")
            drawing.key(f"weight {i} {j} text")
    return drawing

"""Attention weights over a sentence, from vectors given by hand; lesson 14, whose functions compute
the weights and the outputs.
"""

import numpy as np
from figure import Figure, Panel, choice, field_of, hint

from tinytorch.core.attention import (
    attention_scores,
    causal_mask,
    masked_softmax,
    scaled_dot_product_attention,
)
from tinytorch.core.tensor import Tensor

SENTENCE = "the cat drank because it was thirsty"
CHOSEN = 4  # "it"
MOST, LONGEST = 8, 9  # words of a sentence; letters of a word
PARTS = ["thing", "action", "property", "small word"]

# Four numbers, one for each of PARTS: as a key and as a value, what a word is; as a query, what it
# looks for. A word that is not listed is a noun.
KINDS = {
    "article": ([0, 0, 0, 1], [2, 0, 0, 0], "the a an my your his her its our their this that"),
    "noun": ([3, 0, 0, 0], [1, 0, 0, 1], ""),
    "verb": (
        [0, 3, 0, 0],
        [2, 0, 0, 0],
        "drank drink drinks ate eat eats saw see sees sat sit sits ran run runs slept sleep sleeps "
        "likes like liked loves love loved read reads wrote write writes learn learns learned know "
        "knows knew chased caught barked went goes go came come wants want wanted made make makes",
    ),
    "conjunction": ([0, 0, 0, 2], [0, 2, 0, 0], "because and but or if when while so then than"),
    "pronoun": ([1, 0, 0, 1], [3, 0, 0, 0], "it he she they i you we who him them us me which"),
    "auxiliary verb": (
        [0, 1, 0, 1],
        [0, 0, 2, 0],
        "was is were are am be been has had have will would can could did does do not",
    ),
    "adjective": (
        [0, 0, 3, 0],
        [2, 1, 0, 0],
        "thirsty hungry tired happy sad old young new big small little red green blue black white "
        "good bad fast slow hot cold long short beautiful angry quiet deep very",
    ),
    "preposition": ([0, 0, 0, 1], [2, 0, 0, 0], "in on at to of for with from by under over near"),
}
LABEL, CELL, ROW, TOP = 72, 35, 36, 72  # pixels


def figures():
    words = SENTENCE.split()
    return [
        Figure(
            "attention",
            "Attention weights over a sentence",
            "Each row is a softmax over the words that may be seen, so it sums to 100 %; a causal "
            "mask leaves nothing to the words that follow.",
            [panel(words, False, CHOSEN)],
            [told(words, causal, i) for causal in (False, True) for i in range(len(words))],
            hint(
                "Choose a word at the left, or write a sentence. A word that is not in the "
                "drawing's list counts as a noun. The value of a word is its key."
            )
            + field_of(f"Your sentence, at most {MOST} words", "text", SENTENCE)
            + choice(
                "mask",
                "attention-mask",
                {"none": "none: all words are seen", "causal": "causal: no word that follows"},
                "none",
            ),
            {
                "sentence": SENTENCE,
                "chosen": CHOSEN,
                "most": MOST,
                "longest": LONGEST,
                "parts": PARTS,
                "kinds": KINDS,
            },
            lesson="attention",
            section="Scaled dot-product attention",
            after="Batch axes may precede",
        )
    ]


def kind_of(word):
    return next((kind for kind in KINDS if word.lower() in KINDS[kind][2].split()), "noun")


def numbers(words, causal):
    """(scores, weights, outputs) of a sentence: arrays of shape (words, words) twice, and of shape
    (words, 4)."""
    keys, queries = (
        Tensor(np.array([KINDS[kind_of(word)][n] for word in words], float)) for n in (0, 1)
    )
    mask = causal_mask(len(words), len(words)) if causal else None
    scores = attention_scores(queries, keys)
    outputs = scaled_dot_product_attention(queries, keys, keys, attn_mask=mask)
    return scores.data, masked_softmax(scores, mask).data, outputs.data


def percent(weight):
    return f"{100 * weight + 1e-9:.0f}"


def told(words, causal, i):
    _, weights, outputs = numbers(words, causal)
    row = weights[i]
    order = [j for j in np.argsort(-row, kind="stable")[:3] if row[j] >= 0.01]
    seen = ", ".join(f"{words[j]} {percent(row[j])} %" for j in order)
    output = ", ".join(
        f"{value + 1e-9:.2f} {part}" for part, value in zip(PARTS, outputs[i]) if value >= 0.005
    )
    mask = "with a causal mask it" if causal else "it"
    return (
        f"'{words[i]}' counts as {'an' if kind_of(words[i])[0] in 'aeiou' else 'a'} "
        f"{kind_of(words[i])}: {mask} looks at {seen}. Its output is {output}."
    )


def panel(words, causal, chosen):
    scores, rows, outputs = numbers(words, causal)
    foot = TOP + len(words) * ROW
    drawing = Panel(
        "The weights: a row for each word that looks, a column for each word looked at",
        told(words, causal, chosen),
        358,
        foot + 100,
        touched=True,
    )
    for j, word in enumerate(words):
        x, y = LABEL + (j + 0.5) * CELL + 4, TOP - 8
        drawing.text(x, y, word, anchor="start")
        drawing.key(f"seen {j}")
        drawing.parts[-1] = drawing.parts[-1].replace(
            "<text ", f'<text transform="rotate(-75 {x:g} {y:g})" ', 1
        )
    for i, word in enumerate(words):
        y, full = TOP + i * ROW, ROW - 2
        drawing.cell(2, y + 1, word, "muted", LABEL - 6, full, key=f"word {i}")
        bars = "".join(
            f"M{LABEL + j * CELL + 1},{y + 1 + full} v{0 - full * weight:.2f} h{CELL - 2} "
            f"v{full * weight:.2f} z"
            for j, weight in enumerate(rows[i])
        )
        drawing.parts.append(f'<path class="bar" data-key="bars {i}" d="{bars}"/>')
        for j, weight in enumerate(rows[i]):
            hidden = causal and j > i
            x = LABEL + j * CELL
            drawing.parts.append(
                f'<rect class="outline{" hidden" if hidden else ""}" data-key="weight {i} {j}" '
                f'x="{x + 1}" y="{y + 1}" width="{CELL - 2}" height="{full}" rx="3"/>'
            )
            drawing.text(x + CELL / 2, y + 22.5, "" if hidden else percent(weight))
            drawing.key(f"weight {i} {j} text")
    drawing.text(LABEL - 6, foot + 20, "scores", "muted", "end")
    for j, score in enumerate(scores[chosen]):
        text = "" if causal and j > chosen else f"{score:.1f}"
        drawing.text(LABEL + (j + 0.5) * CELL, foot + 20, text, "muted")
        drawing.key(f"score {j} text")
    drawing.text(LABEL - 6, foot + 75, "output", "muted", "end")
    for n, (part, value) in enumerate(zip(PARTS, outputs[chosen])):
        drawing.text(LABEL + 71 * n + 35, foot + 46, part, "muted")
        x, text = LABEL + 71 * n, f"{value + 1e-9:.2f}"
        drawing.cell(x, foot + 53, text, "value", 70, 34, key=f"output {n}")
    return drawing

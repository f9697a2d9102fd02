"""What is computed for each new token, without a key-value cache and with one; lesson 16, whose
`attend_cached` and `KVCache` compute the second.
"""

import numpy as np
from figure import Figure, Panel, stepper

from tinytorch.core.attention import causal_mask, scaled_dot_product_attention, weights_forward
from tinytorch.core.generation import KVCache, attend_cached
from tinytorch.core.tensor import wrap

TOKENS = ["It", "is", "a", "tru", "th", "un"]
DIM, SIZE = 4, 2  # numbers of a token's vector; of a query, key or value
PROJECTED, READ = 3 * DIM * SIZE, 2 * SIZE  # multiplications: q, k and v of a token; of a score
WAYS = {"without": "without a cache", "with": "with a cache"}
LEFT, CELL, TOP, ROW, FLAT = 70, 46, 46, 28, 18  # pixels; a row without numbers is flat
HEIGHT = TOP + 6 * ROW + 5 * FLAT + 90
LETTERS = ("k₁", "k₂", "v₁", "v₂")


def figures():
    state = numbers()
    last = len(TOKENS)
    return [
        Figure(
            "cache_steps",
            "A key-value cache, token by token",
            "With a cache, a new token adds one column of keys and values and one row of weights; "
            "without a cache, all the others are computed again.",
            [panel(way, last, state) for way in WAYS],
            [told(n, state) for n in range(1, last + 1)],
            stepper(),
            state | {"told": [told(n, state) for n in range(1, last + 1)]},
            lesson="generation",
            section="Key-value cache",
            replaces="draw_attention_rows([",
        )
    ]


def numbers():
    """The keys and values of all tokens, and for each new token its weights and its outputs."""
    rng = np.random.default_rng(16)
    x = rng.normal(size=(len(TOKENS), DIM))
    q, k, v = (wrap((x @ rng.normal(size=(DIM, SIZE)))[None, None]) for _ in range(3))
    cache, rows, outputs = KVCache(1, 1, 1, len(TOKENS), SIZE, k.dtype), [], []
    for n in range(1, len(TOKENS) + 1):
        new = (slice(None), slice(None), slice(n - 1, n))
        output = attend_cached(q[new], k[new], v[new], cache, 0)
        rows.append(weights_forward(q.data[new], cache.keys[0, :, :, :n], causal=False)[0, 0, 0])
        whole = [part[:, :, :n] for part in (q, k, v)]
        again = scaled_dot_product_attention(*whole, attn_mask=causal_mask(n, n))
        both = {"without": again.data[0, 0, -1], "with": output.data[0, 0, 0]}
        outputs.append({way: [round(float(one), 2) for one in both[way]] for way in WAYS})
    columns = np.concatenate([cache.keys[0, 0, 0], cache.values[0, 0, 0]], axis=1)
    return {
        "tokens": TOKENS,
        "columns": np.round(columns, 2).tolist(),
        "weights": [np.round(row, 2).tolist() for row in rows],
        "outputs": outputs,
        "costs": [{way: cost(way, n) for way in WAYS} for n in range(1, len(TOKENS) + 1)],
    }


def cost(way, n):
    """The multiplications for token n: two texts, and their number."""

    def multiplications(n):
        tokens, scores = (1, n) if way == "with" else (n, n * (n + 1) // 2)
        return tokens, scores, tokens * PROJECTED + scores * READ

    tokens, scores, product = multiplications(n)
    total = sum(multiplications(i)[-1] for i in range(1, n + 1))
    formula = f"{tokens} × {PROJECTED} + {scores} × {READ} = {product}"
    return [f"{product} multiplications, {total} so far", formula, product]


def told(n, state):
    costs, outputs = state["costs"][n - 1], state["outputs"][n - 1]
    without, cached = (costs[way][2] for way in WAYS)
    output = ", ".join(map(written, outputs["with"]))
    if n == 1:
        return (
            f"Token 1, '{TOKENS[0]}': {PROJECTED} multiplications for its query, key and value, "
            f"and {READ} for each attention weight. The output is ({output}) in both."
        )
    again = "token" if n == 2 else f"{n - 1} tokens"
    return (
        f"Token {n}, '{TOKENS[n - 1]}': without a cache the {again} before it cost "
        f"{without - cached} multiplications again. With a cache {cached} are enough. The output "
        f"is ({output}) in both."
    )


def written(value):
    return f"{value + 0:.2f}"


def panel(way, n, state):
    """The panel when token n is the newest."""
    old = {"without": "wrong", "with": "muted"}[way]
    said = {"without": "hatched: computed again", "with": "grey: read from the cache"}[way]
    drawing = Panel(
        WAYS[way],
        f"{n} columns of keys and values, {n} rows of attention weights, and the output "
        f"{', '.join(map(written, state['outputs'][n - 1][way]))}. {said}; blue: new.",
        358,
        HEIGHT,
    )
    drawing.text(2, 16, WAYS[way], "text", "start", bold=True)
    for j in range(n):
        x = LEFT + j * CELL
        drawing.text(x + CELL / 2, TOP - 8, TOKENS[j])
        for i, value in enumerate(state["columns"][j]):
            kind, y = "value" if j == n - 1 else old, TOP + i * ROW
            drawing.cell(x, y, written(value), kind, CELL, ROW, key=f"{way} {LETTERS[i]} {j}")
    for i, letter in enumerate(LETTERS):
        drawing.text(LEFT - 6, TOP + i * ROW + 18, letter, "muted", "end")
    top = TOP + 4 * ROW + 26
    drawing.text(2, top - 8, "attention weights of each token", "muted", "start")
    for i in range(n):
        drawing.text(LEFT - 6, top + i * FLAT + (19 if i == n - 1 else 14), TOKENS[i], anchor="end")
    for i in range(n):
        y, new = top + i * FLAT, i == n - 1
        for j in range(i + 1):
            x = LEFT + j * CELL
            if new:
                text, key = written(state["weights"][i][j]), f"{way} weight {j}"
                drawing.cell(x, y, text, "value", CELL, ROW, key=key)
            else:
                drawing.cell(x, y, "", old, CELL, FLAT, dashed=way == "with")
    foot = HEIGHT - ROW - 46
    drawing.text(LEFT - 6, foot + 18, "output", "muted", "end")
    for i, value in enumerate(state["outputs"][n - 1][way]):
        key = f"{way} output {i}"
        drawing.cell(LEFT + i * CELL, foot, written(value), "value", CELL, ROW, key=key)
    drawing.text(LEFT + 2 * CELL + 12, foot + 18, said, "muted", "start")
    for i, text in enumerate(state["costs"][n - 1][way][:2]):
        drawing.text(2, foot + ROW + 18 + 20 * i, text, anchor="start", bold=i == 0)
        drawing.key(f"{way} cost {i} text")
    return drawing

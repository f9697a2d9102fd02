"""Byte-pair encoding of a short text, merge by merge; lesson 12, whose `pair_counts`, `best_pair`
and `merged` do it.
"""

from figure import Figure, Panel, field_of, stepper

from tinytorch.core.tokenization import best_pair, merged, pair_counts, to_bytes

TEXT = "how much wood would a woodchuck chuck if a woodchuck could chuck wood"  # the lesson's
LONGEST, LEAST, SHOWN = 80, 2, 5  # bytes of a text; the count of a pair to merge; pairs listed
LETTER, EDGE, HEIGHT, ROW, RIGHT = 9, 12, 28, 34, 356  # pixels of the boxes of tokens


def figures():
    states = merges(TEXT)
    return [
        Figure(
            "bpe_merges",
            "Byte-pair encoding, merge by merge",
            "Each merge replaces the most frequent pair by one token, so frequent words become "
            "single tokens and rare ones stay in pieces.",
            [panel(states[0])],
            [state["told"] for state in states],
            field_of(f"Your text, at most {LONGEST} bytes", "text", TEXT) + stepper(),
            {"text": TEXT, "longest": LONGEST, "least": LEAST, "shown": SHOWN},
            lesson="tokenization",
            section="Counting pairs",
        )
    ]


def written(token):
    """The text of a token; bytes that are not one in hexadecimal."""
    try:
        return token.decode().replace(" ", "·").replace("\n", "⏎")
    except UnicodeDecodeError:
        return token.hex()


def merges(text):
    """The states: before the first merge and after each one, as long as a pair occurs twice."""
    ids, tokens = tuple(to_bytes(text)), {id: bytes([id]) for id in range(256)}
    states, new = [], 256
    told = f"The {len(ids)} bytes of the text are {len(ids)} tokens."
    while True:
        counts = pair_counts({ids: 1})
        pair = best_pair(counts)
        highest = counts[pair] if pair else 0
        if highest >= LEAST:
            told += f" Next: {name(pair, tokens)}, which occurs {highest} times"
            equal = sum(count == highest for count in counts.values())
            told += f"; of {equal} such pairs, it has the smallest ids." if equal > 1 else "."
        else:
            told += " No pair occurs twice."
        ranked = sorted(counts, key=lambda one: (-counts[one], one))[:SHOWN]
        states.append(
            {
                "tokens": [written(tokens[id]) for id in ids],
                "new": [id == new - 1 and new > 256 for id in ids],
                "pairs": [(name(one, tokens), counts[one]) for one in ranked],
                "told": told,
            }
        )
        if highest < LEAST:
            return states
        tokens[new] = tokens[pair[0]] + tokens[pair[1]]
        told = f"Token {new} = {name(pair, tokens)}: {len(ids)} tokens become "
        ids, new = merged(ids, pair, new), new + 1
        told += f"{len(ids)}."


def name(pair, tokens):
    return " + ".join(written(tokens[id]) for id in pair)


def laid_out(tokens):
    """The (x, y, width) of the box of each token, from left to right and row by row."""
    x, y, boxes = 2, 2, []
    for token in tokens:
        width = min(LETTER * len(token) + EDGE, RIGHT - 2)
        if x + width > RIGHT:
            x, y = 2, y + ROW
        boxes.append((x, y, width))
        x += width
    return boxes


def panel(state):
    boxes = laid_out(state["tokens"])
    top = boxes[-1][1] + ROW + 20
    drawing = Panel(
        "The tokens of a text, and its most frequent pairs",
        f"{state['told']} A dot is a space.",
        358,
        top + SHOWN * 24 + 4,
    )
    for token, (x, y, width) in zip(state["tokens"], boxes):
        drawing.cell(x, y, token, "value", width, HEIGHT)
    drawing.text(2, top - 6, "most frequent pairs (· is a space)", "muted", "start")
    for n, (pair, count) in enumerate(state["pairs"]):
        y = top + n * 24 + 14
        drawing.text(2, y, f"{count} ×", anchor="start", bold=n == 0)
        drawing.key(f"count {n} text")
        drawing.text(44, y, pair, anchor="start", bold=n == 0)
        drawing.key(f"pair {n} text")
    return drawing

"""What lesson 16 draws: how a language model's probabilities become a text: samples, filters, what
a cache saves, and what speculative decoding accepts.
"""

from tinytorch.pictures.tokenization import MARGIN, draw_boxes
from tinytorch.support.svg import WIDTH, Drawing

# What the small GPT wrote after "It is a truth", at three temperatures: the tokens, and the
# probability of each at temperature 1, in thousandths. A test computes them again.
WRITTEN = {
    "temperature 0": (
        " of| the| c|h|i|ld|re|n|,| and| I| am| su|re| I| am| su|re| I| am| su|re| I| do|"
        " not| know| that| I",
        "129 93 61 89 773 642 589 967 192 222 81 133 274 878 139 86 250 875 153 79 244 "
        "870 132 81 548 108 108 157",
    ),
    "temperature 0.8": (
        ",| and| very| g|en|er|al| s|om|et|im|es| of| it|s| un|c|om|m|on| |if| I| had| no"
        "| h|u|s|b|and|.| ",
        "113 139 8 68 46 931 587 20 33 239 779 790 121 51 212 9 204 318 458 856 5 133 205 "
        "58 44 15 131 635 847 873 202 179",
    ),
    "temperature 1.6": (
        ",| be|li|e|f|le| of| the| my| s|is|ter| to| an| for| man|t|en|al| b|a| qu|it|e| "
        "un|w|or|se",
        "113 14 45 992 33 1 194 85 0 59 335 989 22 2 2 0 9 363 1 4 92 0 161 952 26 31 8 56",
    ),
}
SAMPLES = {
    label: [(token, int(n) / 1000) for token, n in zip(text.split("|"), numbers.split())]
    for label, (text, numbers) in WRITTEN.items()
}


def draw_samples(rows):
    """Generated texts, each token in a box: grey when the model gave it a probability of a half or
    more, hatched when less than 1 %, else blue.

    rows     {heading: list of (token, its probability)}
    returns  a Drawing

    >>> draw_samples({"sure": [("a", 0.9), ("b", 0.001)]}).description
    'sure: 1 of 2 tokens have a probability of 1/2 or more, 1 of less than 1 %'
    """

    def kind(p):
        return "muted" if p >= 0.5 else "wrong" if p < 0.01 else "value"

    return draw_boxes(
        "generated texts, by the probability of each token",
        {label: [(token, kind(p)) for token, p in row] for label, row in rows.items()},
        "; ".join(
            f"{label}: {sum(p >= 0.5 for _, p in row)} of {len(row)} tokens have a probability of "
            f"1/2 or more, {sum(p < 0.01 for _, p in row)} of less than 1 %"
            for label, row in rows.items()
        ),
    )


def draw_entropies(tokens, bits):
    """A text, each token in a box: grey when the model's entropy before it was less than 2 bits,
    orange when more than 4, else blue.

    tokens   list of str
    bits     for each token the entropy of the distribution that it was drawn from, in bits
    returns  a Drawing

    >>> draw_entropies(["a", "b"], [0.2, 5.0]).description
    '1 of 2 tokens with less than 2 bits, 1 with more than 4'
    """
    kinds = ["muted" if b < 2 else "gradient" if b > 4 else "value" for b in bits]
    return draw_boxes(
        "the entropy before each token",
        {"grey: < 2 bits, orange: > 4 bits": list(zip(tokens, kinds))},
        f"{kinds.count('muted')} of {len(tokens)} tokens with less than 2 bits, "
        f"{kinds.count('gradient')} with more than 4",
    )


def draw_choices(rows):
    """The most probable next tokens as bars; what a filter removes is hatched.

    rows     {heading: list of (token, probability, whether it is kept)}
    returns  a Drawing

    >>> draw_choices({"after a": [(" b", 0.75, True), (" c", 0.25, False)]}).description
    'after a: b 0.75, c 0.25 (removed)'
    """
    count = sum(map(len, rows.values()))
    drawing = Drawing(
        "the most probable next tokens",
        "; ".join(
            f"{label}: "
            + ", ".join(
                f"{token.strip()} {p:.2f}{'' if kept else ' (removed)'}" for token, p, kept in row
            )
            for label, row in rows.items()
        ),
        height=32 * len(rows) + 24 * count + 6,
    )
    y, left, most = 20, 84, WIDTH - 84 - 60
    for label, row in rows.items():
        drawing.text(MARGIN, y, label, "text", "start", bold=True)
        y += 8
        for token, p, kept in row:
            shown = token.replace(" ", "·").replace("\n", "↵")
            drawing.text(left - 8, y + 15, shown, "text" if kept else "wrong", "end")
            drawing.cell(left, y, "", "value" if kept else "wrong", max(1.5, most * p), 20)
            drawing.text(left + most * p + 8, y + 15, f"{p:.3f}", "muted", "start")
            y += 24
        y += 24
    return drawing


def draw_attention_rows(tokens):
    """Which attention scores are computed for the last of some tokens, without a cache and with
    one: two triangles, a row for each query, a column for each key.

    tokens   list of at most 6 short str
    returns  a Drawing

    >>> draw_attention_rows(["a", "b", "c"]).description
    'without a cache 6 scores, 3 of them for the second time or more; with a cache 3'
    """
    n, side = len(tokens), 22
    drawing = Drawing(
        "attention scores, without and with a cache",
        f"without a cache {n * (n + 1) // 2} scores, {n * (n - 1) // 2} of them for the second "
        f"time or more; with a cache {n}",
        height=60 + side * n,
    )
    for left, label in ((44, "without a cache"), (WIDTH - MARGIN - n * side, "with a cache")):
        drawing.text(left, 20, label, "text", "start", bold=True)
        for i in range(n):
            y = 32 + side * i
            if left == 44:
                drawing.text(left - 6, y + 15, tokens[i], "text", "end")
            for j in range(i + 1):
                new, cached = i == n - 1, left != 44
                kind = "value" if new else "muted" if cached else "wrong"
                drawing.cell(left + side * j, y, "", kind, side, side, dashed=cached and not new)
    y = 32 + side * n + 18
    drawing.text(44, y, "hatched: computed again", "wrong", "start")
    drawing.text(WIDTH - MARGIN, y, "blue: new", "value", "end")
    return drawing


def draw_acceptance(tokens, p, q):
    """Two bars for each token, the draft's probability and the large model's: what both have is
    accepted (blue), what only the draft has is rejected (hatched), and what only the large model
    has is drawn instead (orange).

    tokens   list of at most 4 short str
    p, q     their probabilities: the large model's, the draft's
    returns  a Drawing

    >>> draw_acceptance(["a", "b"], [0.75, 0.25], [0.5, 0.5]).description
    'accepted 0.75, rejected 0.25, drawn instead 0.25'
    """
    accepted = sum(map(min, p, q))
    drawing = Drawing(
        "accepted and rejected probability",
        f"accepted {accepted:.2f}, rejected {sum(q) - accepted:.2f}, "
        f"drawn instead {sum(p) - accepted:.2f}",
        height=236,
    )
    bottom, scale, column = 176, 220, (WIDTH - 2 * MARGIN) / len(tokens)
    for i, token in enumerate(tokens):
        x, both = MARGIN + column * i + column / 2 - 46, min(p[i], q[i])
        for offset, name, value, kind in (
            (0, "draft", q[i], "wrong"),
            (48, "model", p[i], "gradient"),
        ):
            left = x + offset
            drawing.cell(left, bottom - scale * both, "", "value", 44, scale * both)
            if value > both:
                extra = scale * (value - both)
                drawing.cell(left, bottom - scale * value, "", kind, 44, extra)
            drawing.text(left + 22, bottom - scale * value - 6, f"{value:.2g}", "muted")
            drawing.text(left + 22, bottom + 16, name, "muted")
        drawing.text(x + 46, bottom + 34, token, "text", bold=True)
    drawing.text(MARGIN, bottom + 54, "blue: accepted", "value", "start")
    drawing.text(WIDTH / 2 + 4, bottom + 54, "hatched: rejected", "wrong")
    drawing.text(WIDTH - MARGIN, bottom + 54, "drawn instead", "gradient", "end")
    return drawing

"""What lesson 12 draws: text cut into tokens, the bytes of its characters, merges, counts of pairs,
and how much tokenizers compress.
"""

from tinytorch.pictures.drawing import label_ends, panel
from tinytorch.support.svg import WIDTH, Drawing

MARGIN = 8  # pixels

# The end of the first sentence of the novels, as it is cut by tokenizers of lesson 12 that were
# trained on `load_text()`, with so many tokens in the vocabulary. A test computes it again.
PIECES = {
    "vocabulary of 256": " |m|u|s|t| |b|e| |i|n| |w|a|n|t| |o|f| |a| |w|i|f|e".split("|"),
    "vocabulary of 300": " m|u|s|t| be| in| w|an|t| of| a| w|i|f|e".split("|"),
    "vocabulary of 512": " must| be| in| w|ant| of| a| w|if|e".split("|"),
    "vocabulary of 1,024": " must| be| in| want| of| a| w|ife".split("|"),
}

# The same two sentences in five scripts.
TEN_LINES = {
    "English": "The cat sleeps in the house.\nTomorrow we will read a new book.\n",
    "Greek": "Η γάτα κοιμάται στο σπίτι.\nΑύριο θα διαβάσουμε ένα νέο βιβλίο.\n",
    "Russian": "Кошка спит в доме.\nЗавтра мы прочитаем новую книгу.\n",
    "Hindi": "बिल्ली घर में सो रही है।\nकल हम एक नई किताब पढ़ेंगे।\n",
    "Chinese": "猫在房子里睡觉。\n明天我们要读一本新书。\n",
}


def draw_tokens(rows):
    """A line of text under several tokenizers, each token in a box; a space is drawn as a dot.

    rows     {heading: list of str, the tokens}
    returns  a Drawing

    >>> draw_tokens({"letters": ["a", "b"], "one token": ["ab"]}).description
    'letters: 2 tokens; one token: 1 tokens'
    """
    return draw_boxes(
        "a text cut into tokens",
        {label: [(token, "value") for token in tokens] for label, tokens in rows.items()},
        "; ".join(f"{label}: {len(tokens)} tokens" for label, tokens in rows.items()),
        {label: f"{len(tokens)} pieces" for label, tokens in rows.items()},
    )


def draw_boxes(title, rows, description, notes=None):
    """A Drawing of tokens as boxes, in lines that fit.

    rows   {heading: list of (token, kind)}
    notes  {heading: text at its right}, or None
    """
    lines = {label: wrapped([token for token, _ in row]) for label, row in rows.items()}
    height = 26 * len(lines) + 30 * sum(map(len, lines.values())) + 8
    drawing = Drawing(title, description, height=height)
    y = 20
    for label, parts in lines.items():
        drawing.text(MARGIN, y, label, "text", "start", bold=True)
        if notes:
            drawing.text(WIDTH - MARGIN, y, notes[label], "muted", "end")
        y += 7
        kinds = iter([kind for _, kind in rows[label]])
        for part in parts:
            x = MARGIN
            for token, width in part:
                drawing.cell(x, y, token, next(kinds), width, 24)
                x += width + 2
            y += 30
        y += 19
    return drawing


def wrapped(tokens):
    """Tokens as lines that fit: a list of lists of (text to draw, width in pixels)."""
    lines, left = [[]], 0
    for token in tokens:
        shown = token.replace(" ", "·").replace("\n", "↵")
        width = max(9, 4 + sum(map(advance, shown)))
        if width + 2 > left:
            if lines[-1]:
                lines.append([])
            left = WIDTH - 2 * MARGIN
        lines[-1].append((shown, width))
        left -= width + 2
    return lines if lines[0] else []


def advance(character):
    """About how many pixels wide a character is drawn; rather too many than too few."""
    if character in "iljtfI.,:;·'|!":
        return 4.5
    return 11.5 if character in "mwMW—" or ord(character) > 0x2E80 else 7.6


def draw_utf8(text):
    """The characters of a text, and below each the UTF-8 bytes that it is stored as.

    text     str of at most ten bytes in UTF-8
    returns  a Drawing

    >>> draw_utf8("né").description
    'n is 110; é is 195 169'
    """
    stored = [(character, [*character.encode()]) for character in text]
    drawing = Drawing(
        f"the UTF-8 bytes of {text}",
        "; ".join(f"{character} is {' '.join(map(str, part))}" for character, part in stored),
        height=132,
    )
    width = min(38, (WIDTH - 2 * MARGIN) / max(1, sum(len(part) for _, part in stored)))
    drawing.text(MARGIN, 20, f"{len(text)} characters", "text", "start")
    drawing.text(MARGIN, 122, f"{sum(len(part) for _, part in stored)} bytes", "text", "start")
    x = MARGIN
    for character, part in stored:
        across = width * len(part)
        shown = "·" if character == " " else character
        drawing.cell(x, 30, shown, "muted", across, 32)
        drawing.cells(x, 70, [part], "value", width, 32)
        x += across
    return drawing


def draw_merging(steps):
    """Tokens before and after merges, one row below the other, the letters in columns.

    steps    list of (heading of the row, list of str, which tokens are new: a tuple of
             them, or "wrong" when the whole row is); new ones are blue, the others grey
    returns  a Drawing

    >>> draw_merging([("ab", ["a", "b"], ()), ("merge", ["ab"], ("ab",))]).description
    'ab: a, b; merge: ab'
    """
    drawing = Drawing(
        "tokens before and after merges",
        "; ".join(f"{label}: {', '.join(tokens)}" for label, tokens, _ in steps),
        height=66 * len(steps) + 4,
    )
    longest = max(sum(map(len, tokens)) for _, tokens, _ in steps)
    width = min(48, (WIDTH - 2 * MARGIN) / longest)
    for k, (label, tokens, new) in enumerate(steps):
        x, y = MARGIN, 66 * k + 20
        drawing.text(x, y, label, "wrong" if new == "wrong" else "text", "start")
        for token in tokens:
            kind = "wrong" if new == "wrong" else "value" if token in new else "muted"
            drawing.cell(x, y + 8, token, kind, width * len(token), 30)
            x += width * len(token)
    return drawing


def draw_pair_counts(words):
    """Words with how often they occur, what each pair of letters counts, and the sums.

    words    list of (word, int)
    returns  a Drawing

    >>> draw_pair_counts([("hug", 2), ("ugu", 1)]).description
    'sums: ug 3, hu 2, gu 1'
    """
    sums = {}
    for word, count in words:
        for i in range(len(word) - 1):
            sums[word[i : i + 2]] = sums.get(word[i : i + 2], 0) + count
    order = sorted(sums, key=lambda pair: -sums[pair])
    drawing = Drawing(
        "counting pairs of neighbouring letters",
        "sums: " + ", ".join(f"{pair} {sums[pair]}" for pair in order),
        height=max(68 * len(words) + 24, 27 * len(order) + 40),
    )
    drawing.text(MARGIN, 18, "words", "muted", "start")
    drawing.text(WIDTH - MARGIN, 18, "sums of pairs", "muted", "end")
    for k, (word, count) in enumerate(words):
        y = 68 * k + 28
        drawing.text(MARGIN + 34, y + 20, f"{count} ×", "text", "end")
        for i, letter in enumerate(word):
            drawing.cell(MARGIN + 42 + 34 * i, y, letter, "value", 34, 30)
        for i in range(len(word) - 1):
            drawing.text(MARGIN + 76 + 34 * i, y + 48, f"+{count}", "value")
    for k, pair in enumerate(order):
        drawing.text(WIDTH - MARGIN - 44, 27 * k + 46, pair, "text", "end", bold=k == 0)
        drawing.text(WIDTH - MARGIN, 27 * k + 46, sums[pair], "text", "end", bold=k == 0)
    return drawing


def draw_compression(sizes, curves):
    """A plot of characters per token over the size of the vocabulary, a curve for each text.

    sizes    list of int
    curves   {name of the text: list of float, one for each size}
    returns  a matplotlib Figure

    >>> figure = draw_compression([256, 512], {"novel": [1.0, 2.5]})
    >>> figure.axes[0].get_ylabel()
    'characters per token'
    """
    figure, axes = panel("", "tokens in the vocabulary", "characters per token")
    ends = []
    for name, values in curves.items():
        (line,) = axes.plot(sizes, values, marker="o", markersize=4)
        ends.append((sizes[-1], values[-1], name, line.get_color()))
    axes.axhline(1, color="C3", lw=1, ls="--")
    axes.text(sizes[-1], 1.04, "one character", color="C3", ha="right")
    axes.set_xlim(sizes[0] - 20, sizes[-1] + 0.28 * (sizes[-1] - sizes[0]))
    axes.set_ylim(0, None)
    axes.set_xticks([size for size in sizes if size & (size - 1) == 0])
    label_ends(axes, ends)
    return figure


def draw_token_lengths(lengths):
    """Bars: how many tokens of a vocabulary have one byte, two bytes, and so on.

    lengths  list of int, the bytes of each token, one or more
    returns  a matplotlib Figure

    >>> figure = draw_token_lengths([1, 1, 1, 3])
    >>> [int(bar.get_height()) for bar in figure.axes[0].patches]
    [3, 0, 1]
    """
    figure, axes = panel("", "bytes of the token", "tokens")
    sizes = range(1, max(lengths) + 1)
    bars = axes.bar(sizes, [lengths.count(size) for size in sizes])
    axes.bar_label(bars)
    axes.margins(y=0.1)
    axes.set_xticks(sizes)
    return figure

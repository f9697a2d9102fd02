"""Where the attention of a GPT looks: the weights of its heads, their patterns in words, and a
picture.
"""

import numpy as np

from tinytorch.core.training import evaluation_mode

MOST = 24  # tokens that a picture has room for
FIRST = "the first token"
HEADS = 24  # that a picture has room for


def attention_weights(model, ids):
    """The attention weights of each block: a list of arrays of shape (batch, heads, T, T).

    ids  ints of shape (batch, T)
    """
    found = []
    with evaluation_mode(model):
        stream = model.embedding(ids)
        if model.positions is not None:
            stream = stream + model.positions.weight[: ids.shape[1]]
        for block in model.blocks:
            found.append(np.asarray(block.attention.attention_weights(block.norm1(stream))))
            stream = block(stream)
    return found


def patterns(weights, tokens):
    """How much of a head's weight is on each of these places, as means over the queries.

    weights  (T, T), a row for each query
    tokens   T texts

    >>> found = patterns(np.array([[1, 0, 0], [0.75, 0.25, 0], [0, 1, 0]]), ["a", "b", "b"])
    >>> found["the token before"], found["the same token, earlier"]
    (0.875, 1.0)
    """
    queries = np.arange(1, len(tokens))  # the first query has only itself to look at
    names = np.array(tokens)
    same = np.tril(names[:, None] == names[None], -1)  # earlier places of the query's own token
    quotes = np.array(['"' in token for token in tokens])
    last = np.maximum.accumulate(np.where(quotes, np.arange(len(tokens)), -1))
    found = {
        "the token before": weights[queries, queries - 1].mean(),
        "itself": weights[queries, queries].mean(),
        FIRST: weights[queries, 0].mean(),
    }
    if same.any():
        found["the same token, earlier"] = (weights * same).sum(1)[same.any(1)].mean()
    if len(after := queries[(last[queries] >= 0) & (last[queries] < queries)]):
        found["the last quotation mark"] = weights[after, last[after]].mean()
    return {name: float(share) for name, share in found.items()}


def draw_heads(weights, tokens):
    """The attention weights of all heads: a row for each block, a column for each head.

    weights  list of arrays (heads, T, T), one for each block
    tokens   list of str, the labels
    returns  a matplotlib Figure
    """
    from matplotlib.figure import Figure  # pyplot would keep it

    rows, columns, n = len(weights), len(weights[0]), len(tokens)
    size = max(1.6, 0.16 * n)
    figure = Figure((columns * size + 1, rows * size + 1), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for (row, column), ax in np.ndenumerate(axes):
        ax.imshow(weights[row][column], cmap="Blues", vmin=0, vmax=1)
        ax.set_title(f"layer {row}, head {column}", fontsize=9)
        ax.set_xticks(range(n), tokens, rotation=90, fontsize=7, parse_math=False)
        ax.set_yticks(range(n), tokens, fontsize=7, parse_math=False)
    figure.supxlabel("looks at", fontsize=9)
    figure.supylabel("token", fontsize=9)
    return figure


def heads_of(model, tokenizer, text):
    """What each head does with a text.

    returns  {(block, head): (share, place)}: the place on which most of its weight is, and how
             much; the (block, head) with the clearest pattern; the weights of each block; the
             tokens as text
    """
    ids = np.asarray(tokenizer.encode(text))[: min(MOST, model.context)]
    tokens = [repr(tokenizer.token(id).decode("utf-8", "replace"))[1:-1] for id in ids]
    weights = [found[0] for found in attention_weights(model, ids[None])]
    places = {}
    for block, heads in enumerate(weights):
        for head, of_head in enumerate(heads):
            shares = patterns(of_head, tokens)
            place = max(shares, key=shares.get)
            places[block, head] = shares[place], place
    # Many heads look at the first token when they have nothing to look for.
    clearest = max(places, key=lambda head: (places[head][1] != FIRST, places[head][0]))
    return places, clearest, weights, tokens


def looked(model, tokenizer, text):
    """What each head does with a text: (list of lines, matplotlib Figure). Of a model with many
    heads, only those with the clearest patterns, and None in place of the figure.

    ValueError for a text that is too short.
    """
    if len(tokenizer.encode(text)) < 2:
        raise ValueError(
            'Write a few words after /look: /look "My dear Emma," said Mr. Knightley'
        )
    places, clearest, weights, tokens = heads_of(model, tokenizer, text)
    lines, is_large = [], len(places) > HEADS
    if is_large:
        others = {head: found for head, found in places.items() if found[1] != FIRST}
        most = sorted(others, key=others.get, reverse=True)[:HEADS]
        count = len(places) - len(others)
        lines.append(f"{count} of {len(places)} heads look at {FIRST}. Of the others:")
        places = {head: places[head] for head in sorted(most)}
    for (block, head), (share, place) in places.items():
        mark = "  <- the clearest" if (block, head) == clearest else ""
        lines.append(
            f"  layer {block}, head {head}: {share:4.0%} of its weight on {place}{mark}"
        )
    return lines, None if is_large else draw_heads(weights, tokens)


def look(model, tokenizer, text, path):
    """Print what each head does with a text, and save the picture at `path`."""
    try:
        lines, figure = looked(model, tokenizer, text)
    except ValueError as error:
        print(error)
        return
    print("\n".join(lines))
    if figure is not None:
        figure.savefig(path, dpi=120)
        print(f"picture: {path}")

"""What lesson 24 draws and measures: zeros, bytes and losses of compressed models; the texts of a
pruned GPT; the inputs of layers; and the teacher of the distillation.
"""

import copy

import numpy as np

from tinytorch.pictures.drawing import label_ends, panel
from tinytorch.support.modules import recording

# Texts


def pruned_texts(prompt, shares, tokens=40, seed=1, prune=None):
    """How the small GPT continues a prompt when the smallest weights of its matrices are 0.

    shares   list of shares of zeros, of all matrices together
    prune    None, or a function (w, share) -> mask, which is then applied to each matrix
    seed     of the draws, which are the same for each text
    returns  {share: text, without line breaks}
    """
    from tinytorch.data.gpt_files import load_small_gpt  # late: needs lessons of the course

    model, tokenizer = load_small_gpt()
    start, texts = tokenizer.encode(prompt)[None], {}
    for share in shares:
        pruned = without_smallest(model, share) if prune is None else masked(model, share, prune)
        ids = continued(pruned, start, tokens, np.random.default_rng(seed))
        text = " ".join(tokenizer.decode(ids[0]).split())
        texts[share] = text.encode("ascii", "replace").decode()  # bytes that are no text: "?"
    return texts


def masked(model, share, prune):
    """A copy of a model: each matrix w of its Dense layers is multiplied by prune(w, share)."""
    model = copy.deepcopy(model)
    for name, p in model.named_parameters():
        if name.endswith("weights"):
            p.data = p.data * prune(p.data, share)
    return model


def without_smallest(model, share):
    """A copy of a model: the smallest weights of its Dense layers, ranked together, are 0."""
    model = copy.deepcopy(model)
    arrays = [p.data for name, p in model.named_parameters() if name.endswith("weights")]
    sizes = np.sort(np.concatenate([np.abs(w).ravel() for w in arrays]))
    count = round(share * len(sizes))
    for w in arrays:
        w[np.abs(w) < np.append(sizes, np.inf)[count]] = 0
    return model


def continued(model, ids, tokens, rng, temperature=0.7):
    """`ids` of shape (1, T) and `tokens` more tokens, drawn from a model."""
    from tinytorch.core.training import evaluation_mode

    with evaluation_mode(model):
        for _ in range(tokens):
            logits = model(ids[:, -model.context :]).data[0, -1] / temperature
            p = np.exp(logits - logits.max())
            new = np.searchsorted(p.cumsum(), rng.random() * p.sum())
            ids = np.append(ids, [[new]], axis=1)
    return ids


def names_text(seed=0):
    """First names in random order, with commas between them.

    returns  (nine tenths of the names, the rest), two texts
    """
    from tinytorch.data.texts import load_names

    names = list(load_names())
    np.random.default_rng(seed).shuffle(names)
    cut = len(names) * 9 // 10
    return ", ".join(names[:cut]), ", ".join(names[cut:])


# Networks


def inputs_of(model, x):
    """What each Dense layer receives while a model computes model(x).

    returns  {path of its weights: array (m, in)}
    """
    from tinytorch.core.layers import Dense
    from tinytorch.core.training import evaluation_mode

    layers = {path: part for path, part in model.named_modules() if isinstance(part, Dense)}
    with evaluation_mode(model), recording(layers) as seen:
        model(x)
    return {f"{path}.weights".lstrip("."): np.concatenate(rows) for path, rows in seen.items()}


def convolutional_teacher(seed, channels=8):
    """An untrained convolutional network for digits in rows of 64 pixels."""
    from tinytorch.core.activations import ReLU
    from tinytorch.core.convolutions import Conv2d, MaxPool2d
    from tinytorch.core.layers import Dense, Flatten, Sequential

    def as_images(x):
        return x.reshape(-1, 1, 8, 8)

    rng = np.random.default_rng(seed)
    return Sequential(
        as_images,
        Conv2d(1, channels, 3, padding=1, rng=rng),
        ReLU(),
        MaxPool2d(2),
        Conv2d(channels, 2 * channels, 3, padding=1, rng=rng),
        ReLU(),
        MaxPool2d(2),
        Flatten(),
        Dense(8 * channels, 10, rng=rng),
    )


def shifted(x, rng):
    """Digits in rows of 64 pixels, each shifted by up to one pixel down or up, right or left."""
    images = np.pad(x.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
    places = rng.integers(0, 3, (len(x), 2))
    rows = [image[a : a + 8, b : b + 8] for image, (a, b) in zip(images, places)]
    return np.reshape(rows, (-1, 64))


# Pictures


def draw_shares(shares):
    """The share of zeros in each matrix, as bars.

    shares  {name: number from 0 to 1}
    """
    figure, axes = panel("", "share of zeros", "", height=0.6 + 0.32 * len(shares))
    for place, share in enumerate(shares.values()):
        axes.barh(place, share, 0.7, color="C0" if share < 0.8 else "C1")
        axes.annotate(f" {share:.0%}", (share, place), va="center")
    axes.set_yticks(range(len(shares)), shares)
    axes.set_xlim(0, 1.15)
    axes.xaxis.set_major_formatter("{x:.0%}")
    axes.invert_yaxis()
    return figure


def draw_zeros(amounts, curves):
    """The loss against the share of zeros, with one curve for each method.

    curves  {name: list of losses in bits per character, one for each amount}
    """
    figure, axes = panel("", "share of zeros", "bits per character lost", yscale="log")
    ends = []
    for (name, losses), colour in zip(curves.items(), ("C3", "C2", "C0", "C1", "black")):
        axes.plot(amounts, losses, color=colour, marker="o", markersize=4)
        ends.append((amounts[-1], losses[-1], name, colour))
    axes.xaxis.set_major_formatter("{x:.0%}")
    label_ends(axes, ends)
    return figure


def draw_singular(matrices):
    """The singular values of matrices, each divided by the largest.

    matrices  {name: array (k, n)}
    """
    figure, axes = panel("", "number of the singular value", "value / the largest")
    ends = []
    for (name, matrix), colour in zip(matrices.items(), ("C0", "C3", "C1")):
        values = np.linalg.svd(matrix, compute_uv=False)
        axes.plot(range(1, len(values) + 1), values / values[0], color=colour)
        ends.append((len(values), values[-1] / values[0], name, colour))
    axes.set_ylim(0, 1.05)
    label_ends(axes, ends)
    return figure


def draw_plane(path, points):
    """Two losses of each model: a new text against an old one.

    path    list of (new, old) from the original model to the tuned one, joined by a line
    points  {name: (new, old)} of other models
    """
    figure, axes = panel("", "bits per character of names", "bits per character of novels")
    axes.plot(*zip(*path), "C0", marker="o", markersize=5)
    places = {"before": (path[0], (0, 10)), "averages": (path[len(path) // 2], (6, 6)),
              "all weights": (path[-1], (10, -22))}  # fmt: skip
    for name, (point, offset) in places.items():
        axes.annotate(name, point, offset, color="C0", textcoords="offset points")
    for name, (new, old) in points.items():
        axes.plot(new, old, "C1", marker="s", markersize=6)
        axes.annotate(name, (new, old), (8, -3), color="C1", textcoords="offset points")
    return figure


LABELS = {"OBS pruning": (0, (8, -4)), "fewer neurons": (-1, (8, -4)), "low rank": (1, (6, 4)),
          "GPTQ": (-1, (6, 0)), "fewer neurons, GPTQ": (0, (8, -16))}  # fmt: skip


def draw_bytes(methods, original):
    """The loss against the bytes, with one curve for each method.

    methods   {name: list of (bytes, bits per character lost)}; losses below 0.0001 are drawn
              there. LABELS tells at which point the name is written, and how far from it
    original  the bytes of the original model, a dotted line
    """
    figure, axes = panel("", "kilobytes", "bits per character lost", height=3.8, yscale="log")
    colours = ("C3", "C2", "black", "C0", "C1")
    for (name, row), colour in zip(methods.items(), colours):
        sizes, losses = [n / 1000 for n, _ in row], [max(bits, 1e-4) for _, bits in row]
        axes.plot(sizes, losses, color=colour, marker="o", markersize=4)
        point, offset = LABELS.get(name, (0, (8, 0)))
        axes.annotate(name, (sizes[point], losses[point]), offset, color=colour,
                      textcoords="offset points")  # fmt: skip
    axes.axvline(original / 1000, color="C3", linestyle=":", linewidth=1.5)
    axes.set_xlim(left=0)
    axes.annotate("original", (original / 1000, 1), (-4, 2), ("data", "axes fraction"), color="C3",
                  ha="right", textcoords="offset points", annotation_clip=False)  # fmt: skip
    axes.set_ylim(bottom=3e-5)
    return figure

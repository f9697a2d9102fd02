"""The models, the given entries and the digits of lesson 25.

An entry is data: arrays with names, and a few numbers that choose a model from a fixed list. No
code of the person who made the entry ever runs. `python -m tinytorch.data.olympics FILE` trains the
given entries anew, in about one CPU minute.
"""

import sys
from importlib.resources import files

import numpy as np

from tinytorch.core.activations import ReLU
from tinytorch.core.convolutions import Conv2d, MaxPool2d
from tinytorch.core.layers import Dense, Flatten, Sequential, manual_seed
from tinytorch.data.image_sets import digits_arrays, flat_digits
from tinytorch.support.arrays import pack_bits, unpack_bits

__all__ = ["BUILDERS", "GIVEN", "builder", "cnn", "decoded", "fit", "fresh_digits",
           "given_entries", "mlp", "quantized", "train_entries"]  # fmt: skip

SCALE = ":scale"  # ends the name of the array with the scales of a quantized array
LARGEST = 2048  # of any size of a model


def mlp(hidden, rng=0):
    """Two layers, 64 -> hidden -> 10, with a ReLU between them."""
    return Sequential(Dense(64, hidden, rng=rng), ReLU(), Dense(hidden, 10, rng=rng))


def cnn(first, second):
    """Two convolutions of 3 x 3 with `first` and `second` channels, pooling, and one dense layer.
    Its input are rows of 64 pixels."""
    return Sequential(
        lambda x: x.reshape(-1, 1, 8, 8),
        Conv2d(1, first, 3, padding=1, rng=0), ReLU(),
        Conv2d(first, second, 3, padding=1, rng=0), ReLU(), MaxPool2d(2),
        Flatten(), Dense(16 * second, 10, rng=0),
    )  # fmt: skip


def gpt(vocab_size, context, embed_dim, layers, num_heads):
    """The GPT of lesson 15, for tokens of the tokenizer that the event names."""
    from tinytorch.core.attention import fuse_attention
    from tinytorch.core.transformers import GPT

    return fuse_attention(GPT(vocab_size, context, embed_dim, layers, num_heads))


# {name in an entry's file: (function, names of its sizes)}
BUILDERS = {
    "mlp": (mlp, ("hidden",)),
    "cnn": (cnn, ("first", "second")),
    "gpt": (gpt, ("vocab_size", "context", "embed_dim", "layers", "num_heads")),
}


def builder(name, sizes):
    """A function without arguments that makes a model of the closed division.

    name   "mlp", "cnn" or "gpt"
    sizes  dict {name of a size: int from 1 to 2,048}, exactly those of this model

    ValueError, with what is wrong, for anything else.

    >>> len(builder("mlp", {"hidden": 16})().parameters())
    4
    """
    if not isinstance(name, str) or name not in BUILDERS:
        raise ValueError(f"build is {name!r}, it must be one of {', '.join(BUILDERS)}")
    function, names = BUILDERS[name]
    if sorted(sizes) != sorted(names):
        raise ValueError(f"{name} needs the sizes {', '.join(names)}, not {', '.join(sizes)}")
    for key, size in sizes.items():
        if type(size) is not int or not 1 <= size <= LARGEST:
            raise ValueError(f"{key} is {size!r}, it must be an integer from 1 to {LARGEST}")
    return lambda: function(**sizes)


def quantized(weights, bits):
    """Weights in 4 or 8 bits, with one scale for each output; arrays of one axis in float16.

    weights  {path: float array}
    returns  {path: int8 array, or packed uint8 array for 4 bits; path + ":scale": float16 array}
    """
    stored = {}
    for path, w in weights.items():
        if w.ndim < 2:
            stored[path] = w.astype(np.float16)
            continue
        axes = tuple(range(w.ndim - 1)) if w.ndim == 2 else tuple(range(1, w.ndim))
        scale = np.abs(w).max(axes, keepdims=True) / (2 ** (bits - 1) - 1)
        scale = np.maximum(scale, 1e-4).astype(np.float16)
        q = np.round(w / scale.astype(np.float32)).astype(np.int8)
        stored[path] = pack_bits(q.ravel(), 4) if bits == 4 else q
        stored[path + SCALE] = scale
    return stored


def decoded(weights, shapes):
    """The float32 arrays that stored arrays stand for.

    weights  {path: array}. A path with an array of the same name and ":scale" is an int8 array, or
             a uint8 array with two numbers of 4 bits in each byte; it is multiplied by the scale
    shapes   {path: shape}: the shapes in the model, as far as they are known
    returns  {path: float32 array}

    ValueError, with the path, for an array that cannot be decoded.

    >>> decoded({"w": np.array([3, -2], "int8"), "w:scale": np.array([0.5])}, {"w": (2,)})
    {'w': array([ 1.5, -1. ], dtype=float32)}
    """
    plain = {}
    for path, a in weights.items():
        if path.endswith(SCALE):
            if path.removesuffix(SCALE) not in weights:
                raise ValueError(f"{path} scales an array that is not there")
            continue
        scale, shape = weights.get(path + SCALE), shapes.get(path, a.shape)
        if scale is None:
            if a.dtype.kind != "f":
                raise ValueError(f"{path} is {a.dtype} and has no {path}{SCALE}")
            plain[path] = a.astype(np.float32)
            continue
        if a.dtype == np.uint8 and a.shape == ((int(np.prod(shape)) + 1) // 2,):
            a = unpack_bits(a, int(np.prod(shape)), 4).reshape(shape)
        elif a.dtype != np.int8:
            raise ValueError(f"{path} with a scale must be int8, or packed in uint8 for {shape}")
        lengths = zip(reversed(scale.shape), reversed(a.shape))
        fits = scale.ndim <= a.ndim and all(n in (1, size) for n, size in lengths)
        if scale.dtype.kind != "f" or not fits:
            raise ValueError(f"{path}{SCALE} does not fit the shape {a.shape}")
        plain[path] = a.astype(np.float32) * scale.astype(np.float32)
    return plain


def fresh_digits(seed, degrees=8.0, pixels=0.5):
    """The test digits, each rotated by a random angle and moved by a random part of a pixel.

    seed     of the angles and the distances
    degrees  float: angles are uniform between -degrees and degrees
    pixels   float: so are the distances, along both axes, between -pixels and pixels
    returns  rows (359, 64) of float32 from 0 to 1, labels (359,) of integers
    """
    images, labels = digits_arrays("test")
    images = images.reshape(-1, 8, 8).astype(np.float64) / 16
    rng, n = np.random.default_rng(seed), len(images)
    angle = np.deg2rad(rng.uniform(-degrees, degrees, n))[:, None, None]
    dy, dx = rng.uniform(-pixels, pixels, (2, n, 1, 1))
    y, x = np.mgrid[:8, :8] - 3.5
    rows = np.cos(angle) * y - np.sin(angle) * x + 3.5 + dy
    columns = np.sin(angle) * y + np.cos(angle) * x + 3.5 + dx
    padded = np.pad(images, ((0, 0), (8, 9), (8, 9)))
    top, left = np.floor(rows).astype(int), np.floor(columns).astype(int)
    down, across, which = rows - top, columns - left, np.arange(n)[:, None, None]
    out = sum(
        weight * padded[which, top + i + 8, left + j + 8]
        for i, j, weight in [(0, 0, (1 - down) * (1 - across)), (0, 1, (1 - down) * across),
                             (1, 0, down * (1 - across)), (1, 1, down * across)]
    )  # fmt: skip
    return out.reshape(n, 64).astype(np.float32), labels.astype(int)


def fit(model, x, labels, epochs, seed, lr=3e-3, batch=32, moved=False):
    """Train a model on rows of digits with AdamW and a cosine schedule, in place.

    moved  whether the rows are moved by up to a pixel, differently in each epoch
    """
    from tinytorch.core.losses import cross_entropy
    from tinytorch.core.optimizers import AdamW, CosineAnnealingLR
    from tinytorch.core.tensor import Tensor

    rng, optimizer = np.random.default_rng(seed), AdamW(model.parameters(), lr, weight_decay=0.05)
    schedule = CosineAnnealingLR(optimizer, epochs)
    for _ in range(epochs):
        order = rng.permutation(len(x))
        for start in range(0, len(x), batch):
            rows = order[start : start + batch]
            inputs = x[rows]
            if moved:
                shift = rng.integers(-1, 2, 2)
                inputs = np.roll(inputs.reshape(-1, 8, 8), shift, (1, 2)).reshape(-1, 64)
            loss = cross_entropy(model(Tensor(inputs)), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
    return model


# {name: (name of the model, its sizes)}
GIVEN = {
    "MLP": ("mlp", {"hidden": 32}),
    "MLP, 8 bits": ("mlp", {"hidden": 32}),
    "MLP, 4 bits": ("mlp", {"hidden": 32}),
    "small MLP": ("mlp", {"hidden": 16}),
    "CNN": ("cnn", {"first": 12, "second": 24}),
    "CNN, 4 bits": ("cnn", {"first": 12, "second": 24}),
    "leaked": ("mlp", {"hidden": 32}),
}


def train_entries(epochs=80):
    """{name: {path: array}} of the given entries. The one that is called leaked has learned the
    test digits, too."""
    (x, y), (test, answers) = flat_digits("train"), flat_digits("test")
    both = np.concatenate([x, test, test, test]), np.concatenate([y, answers, answers, answers])
    weights = {}
    for name, seed, data in [("MLP", 0, (x, y)), ("small MLP", 1, (x, y)), ("leaked", 3, both),
                             ("CNN", 2, (x, y))]:  # fmt: skip
        manual_seed(seed)
        kind, sizes = GIVEN[name]
        model = BUILDERS[kind][0](**sizes)
        moved = name == "CNN"
        weights[name] = fit(model, *data, epochs, seed, moved=moved).state_dict()
    weights["MLP, 8 bits"] = quantized(weights["MLP"], 8)
    weights["MLP, 4 bits"] = quantized(weights["MLP"], 4)
    weights["CNN, 4 bits"] = quantized(weights["CNN"], 4)
    weights["CNN"] = {path: a.astype(np.float16) for path, a in weights["CNN"].items()}
    return {name: weights[name] for name in GIVEN}


def given_entries():
    """{name: (function that makes the model, {path: array})} of the entries that come with the
    package.

    >>> list(given_entries())[:2]
    ['MLP', 'MLP, 8 bits']
    """
    with np.load(files("tinytorch") / "data" / "olympics.npz", allow_pickle=False) as arrays:
        stored = {key: arrays[key] for key in arrays.files}
    entries = {}
    for name, given in GIVEN.items():
        weights = {key.split("/")[1]: a for key, a in stored.items() if key.split("/")[0] == name}
        entries[name] = builder(*given), weights
    return entries


if __name__ == "__main__":
    np.savez_compressed(
        sys.argv[1],
        **{f"{name}/{path}": a for name, w in train_entries().items() for path, a in w.items()},
    )

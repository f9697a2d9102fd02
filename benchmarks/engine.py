"""How fast the engine learns, against libraries that people know: python benchmarks/engine.py

    [--runs N] [--only w1 w5] [--against torch micrograd] [--json]

    w1  one training step: 784-256-128-10, ReLU, cross-entropy, batch of 64,
        float32, SGD                                                            per step
    w2  one training step: conv 5x5x8, ReLU, 2x2 max pool, conv 5x5x16, ReLU,
        2x2 max pool, linear 10, cross-entropy; 32 images of 1x28x28, float32,
        Adam                                                                    per step
    w3  one training step: a GPT of 2 blocks, width 64, 4 heads, 65 tokens in
        the vocabulary, 64 in the context, 8 windows, float32, AdamW            per step
    w4  a graph of 10,000 operations on scalars (`Value`), each result used
        several times                                                           per operation
    w5  x = x*1.0001 + 0.1, 50,000 times, on a Tensor of one number             per operation
    w6  (a + b).relu().sum().backward() on 4 numbers                            per call
    w7  200 tokens, each the most probable one, from w3's GPT with a context of
        256 tokens, after a prompt of one; w7_cached: with a key-value cache    per token
    w8  20 tokens in the same way, cached, from a GPT of GPT-2's size: 12 blocks
        of width 768, 12 heads, 50,257 tokens, 124 million random weights       per token

w1 to w6 are a forward and a backward pass. w1 to w3 and w7 are written as a user writes them, here
and in PyTorch: Sequential, Linear, ReLU(), Conv2d, CrossEntropyLoss() and an optimizer; the GPT of
lesson 15, and in PyTorch one of Embedding, LayerNorm, Linear and scaled_dot_product_attention,
whose cache is grown by torch.cat (gpt.py). The peers; those that do not import are listed with the
command that brings them:

    numpy      the same mathematics by hand, without an engine: the ratio is what an engine costs.
               For w4, which has no arrays, plain Python floats
    torch      PyTorch on the CPU, eager
    micrograd  w4 only, since it knows only scalars
    mygrad, autograd   engines on NumPy as ours is; autograd is the one called HIPS autograd. Not w4

Each library works in a process of its own, with one thread, and runs in turn with the others
(A B C A B C ...). What is timed is CPU time, with Python's garbage collector on. A ratio is ours
divided by the peer's in the same turn, and the median of those: machines differ, and are busy at
times, so a ratio is worth more than a time. Before that, in other processes, each library computes
the result and all gradients three times in a row (for w1 to w3 after 0, 1 and 2 steps); if one
differs from the handmade mathematics by more than the tolerance, the program stops with 1. "apart"
is the larger difference of the two, relative to the largest number of an array. A peer that cannot
do a workload is listed with its error.

The memory of a workload is the most that the process which timed it, and did nothing else, ever
held, Python and NumPy included. Python must have NumPy; `tinytorch` is the one beside this folder.
"""

import argparse
import contextlib
import functools
import importlib
import importlib.util
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve()
THREADS = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "BLIS")} | {
    "VECLIB_MAXIMUM_THREADS": "1"
}
INSTALL = {
    "numpy": "numpy",
    "torch": "torch==2.13.0",
    "micrograd": "micrograd",
    "mygrad": "mygrad",
    "autograd": "autograd",
}
SIZES, BATCH, RATE = (784, 256, 128, 10), 64, 0.05  # w1; the learning rate is per step
IMAGES, ADAM_RATE = 32, 1e-3  # w2; the learning rate is per step
# w3 and w7; the learning rate is per step
GPT = {"vocabulary": 65, "context": 64, "width": 64, "layers": 2}
HEADS, WINDOWS, TOKENS = 4, 8, 200
GPT2 = {"vocabulary": 50257, "context": 1024, "width": 768, "layers": 12}  # w8
GPT2_HEADS, GPT2_TOKENS = 12, 20
ADAMW = {"rate": 1e-3, "betas": (0.9, 0.99), "weight_decay": 0.1}
NODES, CHAIN = 10_000, 50_000  # operations of w4, turns of w5 (two operations each)


@dataclass(frozen=True)
class Workload:
    """What is timed together: `passes` times forward and backward, of `units` units each."""

    about: str
    unit: str
    units: int
    passes: int
    tolerance: float  # of the largest difference, relative to the largest number of the same array
    goals: dict  # peer -> the ratio to it that should not be exceeded
    bytes_goal: int | None = None


WORKLOADS = {
    "w1": Workload(
        "784-256-128-10, batch 64, SGD",
        "step",
        1,
        50,
        1e-4,
        {"torch": 0.85, "mygrad": 1.0},
        50_000_000,
    ),
    "w2": Workload(
        "conv 8, conv 16, linear 10, batch 32, Adam",
        "step",
        1,
        10,
        1e-3,
        {"torch": 1.05},
        50_000_000,
    ),
    "w3": Workload(
        "GPT, width 64, 2 blocks, 8 x 64 tokens, AdamW",
        "step",
        1,
        10,
        1e-3,
        {"torch": 1.2},
        60_000_000,
    ),
    "w4": Workload(
        "10,000 operations on scalars",
        "operation",
        NODES,
        3,
        1e-9,
        {"micrograd": 0.50, "torch": 0.12},
    ),
    "w5": Workload(
        "x = x*1.0001 + 0.1, 50,000 times", "operation", 2 * CHAIN, 1, 1e-3, {"torch": 0.45}
    ),
    "w6": Workload("(a + b).relu().sum().backward()", "call", 1, 3_000, 1e-6, {"torch": 0.40}),
    "w7": Workload("200 tokens from w3's GPT", "token", TOKENS, 1, 1e-9, {"torch": 1.5}),
    "w7_cached": Workload(
        "200 tokens from w3's GPT, cached", "token", TOKENS, 2, 1e-9, {"torch": 0.80}
    ),
    "w8": Workload(
        "20 tokens from a GPT of GPT-2's size, cached",
        "token",
        GPT2_TOKENS,
        1,
        1e-9,
        {"torch": 1.5},
    ),
}


# The contestants. Each makes a function that goes forward and backward once and returns the result
# and the gradients, and, where training goes on, a function that takes what the first returned and
# improves the weights.


def w1_data():
    """Inputs, labels, and the weights and biases to start from."""
    import numpy as np

    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=(BATCH, SIZES[0])).astype("f"), rng.integers(0, SIZES[-1], BATCH)
    weights = [
        (rng.normal(size=(m, n)) * (2 / m) ** 0.5).astype("f") for m, n in itertools.pairwise(SIZES)
    ]
    biases = [rng.normal(size=n).astype("f") * 0.1 for n in SIZES[1:]]
    return x, labels, weights, biases


def w1_tinytorch():
    from tinytorch import Tensor
    from tinytorch.nn import CrossEntropyLoss, Linear, ReLU, Sequential
    from tinytorch.optim import SGD

    x, labels, weights, biases = w1_data()
    net = Sequential(Linear(784, 256), ReLU(), Linear(256, 128), ReLU(), Linear(128, 10))
    net.load_state_dict(
        {
            f"{2 * i}.{name}": part
            for i, pair in enumerate(zip(weights, biases))
            for name, part in zip(("weights", "bias"), pair)
        }
    )
    x, parameters = Tensor(x), net.parameters()
    return training_step(net, CrossEntropyLoss(), SGD(parameters, lr=RATE), x, labels)


def training_step(net, loss_function, optimizer, x, labels, gradient=lambda p: p.grad):
    """The two functions of a contestant, in the words that ours and PyTorch have in common.

    gradient  the gradient of a parameter, in our shape: PyTorch's weights are (out, in)
    """
    parameters = [p for group in optimizer.param_groups for p in group["params"]]

    def compute():
        optimizer.zero_grad()
        loss = loss_function(net(x), labels)
        loss.backward()
        return [loss, *map(gradient, parameters)]

    def improve(found):
        optimizer.step()

    return compute, improve


def w1_numpy():
    import numpy as np

    x, labels, weights, biases = w1_data()
    rows = np.arange(BATCH)
    layers = [
        np.empty((BATCH, n), "f") for n in SIZES[1:]
    ]  # every buffer is made once and used again
    gradients = [np.empty_like(layer) for layer in layers[:-1]]
    masks = [np.empty(layer.shape, bool) for layer in layers[:-1]]
    to_weights, to_biases = [np.empty_like(w) for w in weights], [np.empty_like(b) for b in biases]

    def compute():
        below = x
        for i, (w, b, out) in enumerate(zip(weights, biases, layers)):
            np.matmul(below, w, out=out)
            out += b
            if i < 2:
                np.maximum(out, 0, out=out)
            below = out
        below -= below.max(axis=1, keepdims=True)
        wanted = below[rows, labels]
        np.exp(below, out=below)
        total = below.sum(axis=1, keepdims=True)
        loss = (np.log(total[:, 0]) - wanted).mean()
        g = below
        g /= total
        g[rows, labels] -= 1
        g /= BATCH
        for i in (2, 1, 0):
            np.matmul((layers[i - 1] if i else x).T, g, out=to_weights[i])
            np.add.reduce(g, axis=0, out=to_biases[i])
            if i:
                np.matmul(g, weights[i].T, out=gradients[i - 1])
                g = gradients[i - 1]
                g *= np.greater(layers[i - 1], 0, out=masks[i - 1])
        return [loss, *[part for pair in zip(to_weights, to_biases) for part in pair]]

    def improve(found):
        for part, g in zip(weights + biases, to_weights + to_biases):
            g *= RATE
            part -= g

    return compute, improve


def w1_torch():
    import torch

    x, labels, weights, biases = w1_data()
    net = torch.nn.Sequential(
        torch.nn.Linear(784, 256),
        torch.nn.ReLU(),
        torch.nn.Linear(256, 128),
        torch.nn.ReLU(),
        torch.nn.Linear(128, 10),
    )
    parameters = list(net.parameters())
    for p, part in zip(parameters, [part for pair in zip(weights, biases) for part in pair]):
        p.data[...] = torch.from_numpy(part.T)
    x, labels = torch.from_numpy(x), torch.from_numpy(labels)
    optimizer = torch.optim.SGD(parameters, lr=RATE)
    return training_step(net, torch.nn.CrossEntropyLoss(), optimizer, x, labels, transposed)


def transposed(p):
    return p.grad.T if p.grad.ndim == 2 else p.grad


def w1_mygrad():
    import mygrad as mg
    from mygrad.nnet.activations import relu
    from mygrad.nnet.losses import softmax_crossentropy

    x, labels, weights, biases = w1_data()
    parameters = [mg.tensor(part) for pair in zip(weights, biases) for part in pair]
    w1, b1, w2, b2, w3, b3 = parameters

    def compute():
        h = relu(mg.matmul(x, w1) + b1)
        h = relu(mg.matmul(h, w2) + b2)
        loss = softmax_crossentropy(mg.matmul(h, w3) + b3, labels)
        loss.backward()
        return [loss.data, *[p.grad for p in parameters]]

    def improve(found):
        for p in parameters:
            p.data -= RATE * p.grad  # the gradient may not be written into: mygrad locks it

    return compute, improve


def w1_autograd():
    import autograd.numpy as np
    from autograd import value_and_grad

    x, labels, weights, biases = w1_data()
    parameters = [part for pair in zip(weights, biases) for part in pair]
    rows = np.arange(BATCH)

    def loss(parameters):
        w1, b1, w2, b2, w3, b3 = parameters
        h = np.maximum(np.dot(x, w1) + b1, 0)
        h = np.maximum(np.dot(h, w2) + b2, 0)
        scores = np.dot(h, w3) + b3
        scores = scores - np.max(scores, axis=1, keepdims=True)
        return np.mean(np.log(np.sum(np.exp(scores), axis=1)) - scores[rows, labels])

    both = value_and_grad(loss)

    def compute():
        result, gradients = both(parameters)
        return [result, *gradients]

    def improve(found):
        for part, g in zip(parameters, found[1:]):
            g *= RATE
            part -= g

    return compute, improve


def w2_data():
    """Images, labels, and the parameters to start from: two filter banks and a linear layer,
    each followed by its biases.
    """
    import numpy as np

    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=(IMAGES, 1, 28, 28)).astype("f"), rng.integers(0, 10, IMAGES)
    parameters = []
    for shape, fan_in in [((8, 1, 5, 5), 25), ((16, 8, 5, 5), 200), ((256, 10), 256)]:
        parameters.append((rng.normal(size=shape) * (2 / fan_in) ** 0.5).astype("f"))
        parameters.append(
            rng.normal(size=shape[-1] if len(shape) == 2 else shape[0]).astype("f") * 0.1
        )
    return x, labels, parameters


def w2_tinytorch():
    from tinytorch import Tensor
    from tinytorch.nn import (
        Conv2d,
        CrossEntropyLoss,
        Flatten,
        Linear,
        MaxPool2d,
        ReLU,
        Sequential,
    )
    from tinytorch.optim import Adam

    x, labels, start = w2_data()
    net = Sequential(
        Conv2d(1, 8, 5),
        ReLU(),
        MaxPool2d(2),
        Conv2d(8, 16, 5),
        ReLU(),
        MaxPool2d(2),
        Flatten(),
        Linear(256, 10),
    )
    net.load_state_dict(dict(zip(net.state_dict(), start)))
    optimizer = Adam(net.parameters(), lr=ADAM_RATE)
    return training_step(net, CrossEntropyLoss(), optimizer, Tensor(x), labels)


def w2_numpy():
    import numpy as np

    x, labels, start = w2_data()
    sizes = np.cumsum([0, *[part.size for part in start]])
    flat = np.concatenate(
        [part.ravel() for part in start]
    )  # all parameters in one row, and their gradients, for Adam
    gradients, m, v = np.zeros_like(flat), np.zeros_like(flat), np.zeros_like(flat)
    views = [
        [row[a:b].reshape(part.shape) for part, a, b in zip(start, sizes, sizes[1:])]
        for row in (flat, gradients)
    ]
    (w1, b1, w2, b2, w3, b3), (to_w1, to_b1, to_w2, to_b2, to_w3, to_b3) = views
    rows, steps = np.arange(IMAGES), 0
    np.empty(
        31 << 20, np.uint8
    )  # freed at once; from then on glibc keeps what is freed, and no page is faulted in twice
    columns = np.empty((IMAGES, 25, 24 * 24), "f")

    def halves(x, axis):
        """The even and the odd places along an axis."""
        return [x[(slice(None),) * axis + (slice(start, None, 2),)] for start in (0, 1)]

    def pool(x, down, across):
        sides = halves(x, across)
        half = np.maximum(*sides)
        return np.maximum(*halves(half, down)), half

    def unpool(g, out, half, x, down, across):
        """Back through `pool`: of equal numbers, the first row by row gets the gradient."""
        for small, large, axis in ((out, half, down), (half, x, across)):
            first, second = halves(large, axis)
            spread = np.empty_like(large)
            a, b = halves(spread, axis)
            np.multiply(g, first == small, out=a)
            np.subtract(g, a, out=b)
            g = spread
        return g

    def compute():
        for i in range(5):
            for j in range(5):
                columns.reshape(IMAGES, 25, 24, 24)[:, 5 * i + j] = x[:, 0, i : i + 24, j : j + 24]
        a1 = w1.reshape(8, 25) @ columns
        a1 += b1[:, None]
        np.maximum(a1, 0, out=a1)
        a1 = a1.reshape(IMAGES, 8, 24, 24)
        p1, half1 = pool(a1, 2, 3)
        h = np.ascontiguousarray(p1.transpose(2, 0, 3, 1))  # (row, image, column, channel)
        step = h.strides
        strips = np.lib.stride_tricks.as_strided(h, (12, IMAGES, 8, 40), step).reshape(
            12, -1, 40
        )  # 5 columns of 8 channels
        kernel = w2.transpose(2, 3, 1, 0).reshape(5, 40, 16)
        a2 = np.empty((8 * IMAGES * 8, 16), "f")
        a2[...] = b2
        for i in range(5):
            a2 += strips[i : i + 8].reshape(-1, 40) @ kernel[i]
        np.maximum(a2, 0, out=a2)
        a2 = a2.reshape(8, IMAGES, 8, 16)
        p2, half2 = pool(a2, 0, 2)
        features = p2.transpose(1, 3, 0, 2).reshape(IMAGES, 256)
        scores = features @ w3
        scores += b3
        scores -= scores.max(axis=1, keepdims=True)
        wanted = scores[rows, labels]
        np.exp(scores, out=scores)
        total = scores.sum(axis=1, keepdims=True)
        loss = (np.log(total[:, 0]) - wanted).mean()
        g = scores
        g /= total
        g[rows, labels] -= 1
        g /= IMAGES
        np.matmul(features.T, g, out=to_w3)
        np.add.reduce(g, axis=0, out=to_b3)
        g = (g @ w3.T).reshape(IMAGES, 16, 4, 4).transpose(2, 0, 3, 1)
        g = unpool(g, p2, half2, a2, 0, 2)
        g *= a2 > 0
        g = g.reshape(-1, 16)
        np.add.reduce(g, axis=0, out=to_b2)
        to_strips = np.zeros((12, IMAGES * 8, 40), "f")
        for i in range(5):
            to_w2[:, :, i] = (
                (strips[i : i + 8].reshape(-1, 40).T @ g).reshape(5, 8, 16).transpose(2, 1, 0)
            )
            to_strips[i : i + 8] += (g @ kernel[i].T).reshape(8, -1, 40)
        to_h, to_strips = np.zeros((12, IMAGES, 96), "f"), to_strips.reshape(12, IMAGES, 8, 40)
        for j in range(8):
            to_h[:, :, 8 * j : 8 * j + 40] += to_strips[:, :, j]
        g = np.ascontiguousarray(to_h.reshape(12, IMAGES, 12, 8).transpose(1, 3, 0, 2))
        g = unpool(g, p1, half1, a1, 2, 3)
        g *= a1 > 0
        g = g.reshape(IMAGES, 8, -1)
        g.sum(axis=(0, 2), out=to_b1)
        np.add.reduce(g @ columns.transpose(0, 2, 1), axis=0, out=to_w1.reshape(8, 25))
        return [loss, *views[1]]

    def improve(found):
        nonlocal steps
        steps += 1
        m[...] += 0.1 * (gradients - m)
        v[...] += 0.001 * (gradients * gradients - v)
        flat[...] -= ADAM_RATE * (m / (1 - 0.9**steps)) / (np.sqrt(v / (1 - 0.999**steps)) + 1e-8)

    return compute, improve


def w2_torch():
    import torch

    x, labels, start = w2_data()
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 5),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(8, 16, 5),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(256, 10),
    )
    parameters = list(net.parameters())
    for p, part in zip(parameters, start):
        p.data[...] = torch.from_numpy(part.T if part.ndim == 2 else part)
    x, labels = torch.from_numpy(x), torch.from_numpy(labels)
    optimizer = torch.optim.Adam(parameters, lr=ADAM_RATE)
    return training_step(net, torch.nn.CrossEntropyLoss(), optimizer, x, labels, transposed)


def w3_data():
    """Ids (windows, tokens), the ids that follow them, and the weights to start from."""
    import numpy as np
    from gpt import first_weights

    ids = np.random.default_rng(1).integers(0, GPT["vocabulary"], (WINDOWS, GPT["context"] + 1))
    return ids[:, :-1].copy(), ids[:, 1:].copy(), first_weights(**GPT)


def w3_tinytorch():
    from gpt import tinytorch_model

    from tinytorch.core.transformers import decay_groups
    from tinytorch.nn import CrossEntropyLoss
    from tinytorch.optim import AdamW

    x, y, weights = w3_data()
    net = tinytorch_model(weights, HEADS)
    groups = decay_groups(net, ADAMW["weight_decay"])
    optimizer = AdamW(groups, lr=ADAMW["rate"], betas=ADAMW["betas"])
    return training_step(net, CrossEntropyLoss(), optimizer, x, y)


def w3_numpy():
    from gpt import numpy_step

    x, y, weights = w3_data()
    return numpy_step(weights, HEADS, x, y, **ADAMW)


def w3_torch():
    import torch
    from gpt import torch_groups, torch_model

    x, y, weights = w3_data()
    net = torch_model(weights, HEADS)
    groups = torch_groups(net, weights, ADAMW["weight_decay"])
    optimizer = torch.optim.AdamW(groups, lr=ADAMW["rate"], betas=ADAMW["betas"])

    def loss_function(logits, y):
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())

    tables = {id(net.embedding.weight), id(net.positions.weight)}
    return training_step(
        net,
        loss_function,
        optimizer,
        *map(torch.from_numpy, (x, y)),
        lambda p: p.grad if id(p) in tables else transposed(p),
    )


def writer(library, sizes, heads, count, cache):
    """A contestant that writes `count` tokens, each the most probable one."""
    import gpt

    weights = gpt.first_weights(**sizes)
    if library == "numpy":
        return lambda: [gpt.numpy_generate(weights, heads, [1], count, cache)], None
    net = getattr(gpt, f"{library}_model")(weights, heads)
    if library == "torch":
        return lambda: [gpt.torch_generate(net, [1], count, cache)], None
    from tinytorch.generate import generate

    return lambda: [generate(net, [[1]], count, temperature=0, cache=cache)[0, 1:]], None


WRITERS = {
    "w7": (GPT | {"context": 256}, HEADS, TOKENS, False),
    "w7_cached": (GPT | {"context": 256}, HEADS, TOKENS, True),
    "w8": (GPT2, GPT2_HEADS, GPT2_TOKENS, True),
}
globals().update(
    (f"{workload}_{library}", functools.partial(writer, library, *options))
    for workload, options in WRITERS.items()
    for library in ("tinytorch", "numpy", "torch")
)


def w4_plan():
    """Six operations a turn: (a*u + b*v).relu() + c*w, with a, b, c among the last results
    and u, v, w among 20 weights.

    returns  20 inputs, 20 weights, and for each turn the places of a, b, c
             (counted from the first input) and u, v, w
    """
    import random

    draw = random.Random(0)
    inputs, weights = (
        [draw.uniform(-1, 1) for _ in range(20)],
        [draw.uniform(-0.9, 0.9) for _ in range(20)],
    )
    turns = [
        [draw.randrange(max(0, i - 180), i + 20) for _ in "abc"]
        + [draw.randrange(20) for _ in "uvw"]
        for i in range((NODES - 4) // 6)
    ]
    return inputs, weights, turns


def w4_forward(inputs, weights, turns):
    """The sum of the last five results, of numbers of any library: 4 operations,
    which makes 10,000.
    """
    x = list(inputs)
    for a, b, c, u, v, w in turns:
        x.append((x[a] * weights[u] + x[b] * weights[v]).relu() + x[c] * weights[w])
    return x[-1] + x[-2] + x[-3] + x[-4] + x[-5]


def w4_values(Value):
    """For engines with micrograd's interface."""
    inputs, weights, turns = w4_plan()

    def compute():
        x, w = [Value(n) for n in inputs], [Value(n) for n in weights]
        result = w4_forward(x, w, turns)
        result.backward()
        return [result.data, [n.grad for n in x + w]]

    return compute, None


def w4_tinytorch():
    from tinytorch.core.backprop import Value

    return w4_values(Value)


def w4_micrograd():
    from micrograd.engine import Value

    sys.setrecursionlimit(50_000)  # its walk calls itself
    return w4_values(Value)


def w4_torch():
    import torch

    inputs, weights, turns = w4_plan()

    def compute():
        x, w = (
            [torch.tensor(n, dtype=torch.float64, requires_grad=True) for n in numbers]
            for numbers in (inputs, weights)
        )
        result = w4_forward(x, w, turns)
        result.backward()
        return [result, [n.grad for n in x + w]]

    return compute, None


def w4_numpy():
    inputs, weights, turns = w4_plan()

    def compute():
        x, bent = list(inputs), []
        for a, b, c, u, v, w in turns:
            h = x[a] * weights[u] + x[b] * weights[v]
            bent.append(h > 0)
            x.append((h if h > 0 else 0.0) + x[c] * weights[w])
        g, to_weights = [0.0] * len(x), [0.0] * 20
        g[-5:] = [1.0] * 5
        for i in range(len(turns) - 1, -1, -1):
            a, b, c, u, v, w = turns[i]
            mine = g[i + 20]
            g[c] += mine * weights[w]
            to_weights[w] += mine * x[c]
            if bent[i]:
                g[a] += mine * weights[u]
                to_weights[u] += mine * x[a]
                g[b] += mine * weights[v]
                to_weights[v] += mine * x[b]
        return [sum(x[-5:]), g[:20] + to_weights]

    return compute, None


def w5_tinytorch():
    from tinytorch import Variable

    def compute():
        x = start = Variable(1.0)
        for _ in range(CHAIN):
            x = x * 1.0001 + 0.1
        x.backward()
        return [x.data, start.grad]

    return compute, None


def w5_numpy():
    import numpy as np

    def compute():
        x = np.float32(1.0)
        for _ in range(CHAIN):
            x = x * 1.0001 + 0.1
        g = np.float32(1.0)
        for _ in range(CHAIN):
            g = g * 1.0001
        return [x, g]

    return compute, None


def w5_torch():
    import torch

    def compute():
        x = start = torch.tensor(1.0, requires_grad=True)
        for _ in range(CHAIN):
            x = x * 1.0001 + 0.1
        x.backward()
        return [x, start.grad]

    return compute, None


def w5_mygrad():
    import mygrad as mg
    import numpy as np

    def compute():
        x = start = mg.tensor(np.float32(1.0))
        for _ in range(CHAIN):
            x = x * 1.0001 + 0.1
        x.backward()
        return [x.data, start.grad]

    return compute, None


def w5_autograd():
    import numpy as np
    from autograd import value_and_grad

    def chain(x):
        for _ in range(CHAIN):
            x = x * 1.0001 + 0.1
        return x

    both = value_and_grad(chain)
    return lambda: list(both(np.array(1.0, "f"))), None


def w6_data():
    import numpy as np

    return np.array([1, -2, 3, 0.5], "f"), np.array([0.5, 1, -4, 2], "f")


def w6_tinytorch():
    from tinytorch import Variable

    a, b = map(Variable, w6_data())

    def compute():
        a.grad = b.grad = None
        result = (a + b).relu().sum()
        result.backward()
        return [result.data, a.grad, b.grad]

    return compute, None


def w6_numpy():
    import numpy as np

    a, b = w6_data()

    def compute():
        bent = np.maximum(a + b, 0)
        result = bent.sum()
        g = (bent > 0).astype(np.float32)
        return [result, g, g.copy()]

    return compute, None


def w6_torch():
    import torch

    a, b = (torch.from_numpy(part).requires_grad_() for part in w6_data())

    def compute():
        a.grad = b.grad = None
        result = (a + b).relu().sum()
        result.backward()
        return [result, a.grad, b.grad]

    return compute, None


def w6_mygrad():
    import mygrad as mg
    from mygrad.nnet.activations import relu

    a, b = map(mg.tensor, w6_data())

    def compute():
        result = relu(a + b).sum()
        result.backward()
        return [result.data, a.grad, b.grad]

    return compute, None


def w6_autograd():
    import autograd.numpy as np
    from autograd import value_and_grad

    a, b = w6_data()
    both = value_and_grad(lambda a, b: np.sum(np.maximum(a + b, 0)), (0, 1))

    def compute():
        result, gradients = both(a, b)
        return [result, *gradients]

    return compute, None


# A worker: one contestant in a process of its own,
# which answers each word on its input with a line of JSON.


def work(workload, library):
    if library == "torch":
        import torch

        torch.set_num_threads(1)
    make = globals()[f"{workload}_{library}"]
    answers = {
        "check": lambda: checked(*make()),
        "time": lambda: timed(WORKLOADS[workload], *make()),
        "peak": peak_bytes,
    }
    for line in sys.stdin:
        try:
            answer = answers[line.strip()]()
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


def checked(compute, improve):
    """Three times the result and the gradients, each a flat list of numbers."""
    import numpy as np

    found = []
    for _ in range(3):
        parts = compute()
        for part in parts:
            if isinstance(part, list):
                part = [float(n) for n in part]
            found.append(
                np.ravel(part.detach() if hasattr(part, "detach") else part).astype(float).tolist()
            )
        if improve:
            improve(parts)
    return found


def timed(workload, compute, improve):
    """CPU seconds per unit."""
    began = time.process_time()
    for _ in range(workload.passes):
        found = compute()
        if improve:
            improve(found)
    return (time.process_time() - began) / workload.passes / workload.units


def peak_bytes():
    """The most memory that this process ever held, or None where the system does not say."""
    try:  # Linux: not ru_maxrss, which starts from the peak of the process that started this one
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        pass
    try:
        import resource
    except ModuleNotFoundError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


class Failed(Exception):
    """A library could not do a workload."""


class Worker:
    def __init__(self, workload, library):
        path = os.pathsep.join(filter(None, [str(HERE.parents[1]), os.environ.get("PYTHONPATH")]))
        self.process = subprocess.Popen(
            [sys.executable, str(HERE), "--worker", workload, library],
            text=True,
            env=os.environ | THREADS | {"PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, word):
        try:
            self.process.stdin.write(word + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        answer = (
            json.loads(line) if line else {"error": f"the process ended with {self.process.wait()}"}
        )
        if isinstance(answer, dict):
            raise Failed(answer["error"])
        return answer

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.communicate()  # the end of its input is the end of its work


# The judge, which imports none of the libraries.


@dataclass
class Measurement:
    """Medians in seconds per unit of ours and of `peer`, the median of the ratios,
    and what it should not exceed, if anything.
    """

    peer: str
    difference: float
    seconds: float
    peer_seconds: float
    ratio: float
    goal: float | None

    @property
    def met(self):
        return None if self.goal is None else self.ratio <= self.goal

    def as_json(self):
        return vars(self) | {"met": self.met}


def differences(workload, libraries):
    """library -> how far its numbers are from the handmade ones,
    relative to the largest of each array; and what failed.
    """
    found, failed = {}, {}
    for library in ["numpy", *libraries]:
        with Worker(workload, library) as worker:
            try:
                found[library] = worker.ask("check")
            except Failed as failure:
                failed[library] = str(failure)
    if "numpy" in failed or "tinytorch" in failed:
        raise SystemExit(f"{workload} failed: {failed}")
    result = {
        library: max(map(difference, parts, found["numpy"])) for library, parts in found.items()
    }
    wrong = {
        library: far for library, far in result.items() if not far <= WORKLOADS[workload].tolerance
    }
    if wrong:
        raise SystemExit(
            f"{workload}: these differ from the handmade result and gradients by more than "
            f"{WORKLOADS[workload].tolerance:g} of the largest number: {wrong}. Nothing was timed"
        )
    return result, failed


def difference(some, others):
    """The largest difference of two lists, relative to the largest number;
    infinite if they differ in length, nan for nan.
    """
    if len(some) != len(others):
        return float("inf")
    apart = [abs(a - b) for a, b in zip(some, others)]
    return math.nan if any(map(math.isnan, apart)) else max(apart) / (max(map(abs, others)) or 1)


def measure(name, libraries, runs):
    """One workload, as a dict for JSON with its Measurements."""
    workload = WORKLOADS[name]
    apart, failed = differences(name, ["tinytorch", *libraries])
    with contextlib.ExitStack() as stack:
        workers = {
            library: stack.enter_context(Worker(name, library))
            for library in ["tinytorch", *libraries]
            if library in apart
        }
        try:
            turns = [
                {library: worker.ask("time") for library, worker in workers.items()}
                for _ in range(runs + 1)
            ][1:]
            peak = {library: worker.ask("peak") for library, worker in workers.items()}
        except Failed as failure:
            raise SystemExit(
                f"{name} passed its check and failed when it was timed: {failure}"
            ) from None
    median = {library: statistics.median(turn[library] for turn in turns) for library in workers}
    measurements = [
        Measurement(
            peer,
            apart[peer],
            median["tinytorch"],
            median[peer],
            statistics.median(turn["tinytorch"] / turn[peer] for turn in turns),
            workload.goals.get(peer),
        )
        for peer in workers
        if peer != "tinytorch"
    ]
    return {
        "name": name,
        "about": workload.about,
        "unit": workload.unit,
        "tolerance": workload.tolerance,
        "difference": apart["tinytorch"],
        "measurements": measurements,
        "failed": failed,
        "peak_bytes": peak,
        "peak_bytes_goal": workload.bytes_goal,
    }


def able(workload, library):
    return f"{workload}_{library}" in globals()


def table(found):
    """The measurements as text, one line each."""
    rows = [("", "unit", "tinytorch", "peer", "", "ratio", "goal", "", "apart")]
    for one in found:
        for n, m in enumerate(one["measurements"]):
            name, unit = (f"{one['name']} {one['about']}", one["unit"]) if n == 0 else ("", "")
            rows.append(
                (
                    name,
                    unit,
                    f"{m.seconds * 1e6:.4g} us",
                    m.peer,
                    f"{m.peer_seconds * 1e6:.4g} us",
                    f"{m.ratio:.2f}",
                    "" if m.goal is None else f"{m.goal:.2f}",
                    {None: "", True: "met", False: "MISSED"}[m.met],
                    f"{max(m.difference, one['difference']):.0e}",
                )
            )
    left = {0, 1, 3, 7}
    wide = [max(map(len, column)) for column in zip(*rows)]
    lines = [
        [
            cell.ljust(w) if i in left else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, wide))
        ]
        for row in rows
    ]
    return "\n".join("  ".join(line).rstrip() for line in lines)


def memory(one):
    """The peak of each library in one workload, as a line of text."""
    peaks = {library: peak for library, peak in one["peak_bytes"].items() if peak is not None}
    goal = one["peak_bytes_goal"]
    verdict = (
        ""
        if goal is None or not peaks
        else f" (goal {goal / 1e6:.0f}, {'met' if peaks['tinytorch'] <= goal else 'MISSED'})"
    )
    return f"{one['name']} " + ", ".join(
        f"{library} {peak / 1e6:.0f} MB{verdict if library == 'tinytorch' else ''}"
        for library, peak in peaks.items()
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--runs",
        type=int,
        default=11,
        metavar="N",
        help="turns per workload (default: 11), after one to warm up",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=WORKLOADS,
        default=list(WORKLOADS),
        metavar="W",
        help="only these workloads",
    )
    parser.add_argument(
        "--against",
        nargs="+",
        choices=INSTALL,
        default=list(INSTALL),
        metavar="PEER",
        help="only these peers",
    )
    parser.add_argument("--json", action="store_true", help="print the same values as JSON")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        return work(*given.worker)
    there = [peer for peer in given.against if importlib.util.find_spec(peer)]
    absent = {peer: f"pip install {INSTALL[peer]}" for peer in given.against if peer not in there}
    found = [
        measure(name, [peer for peer in there if able(name, peer)], max(1, given.runs))
        for name in given.only
    ]
    if given.json:
        from importlib.metadata import version  # late: a worker's memory is measured

        versions = {peer: version(peer) for peer in there}
        found = [
            one | {"measurements": [m.as_json() for m in one["measurements"]]} for one in found
        ]
        print(
            json.dumps(
                {
                    "runs": given.runs,
                    "peers": versions,
                    "not_installed": absent,
                    "workloads": found,
                },
                indent=1,
            )
        )
        return
    print(table(found))
    print("\nPeak memory:", *map(memory, found), sep="\n")
    for one in found:
        for library, why in one["failed"].items():
            print(f"\n{library} could not do {one['name']}: {why}")
    for peer, command in absent.items():
        print(f"\n{peer} is not installed: {command}")


if __name__ == "__main__":
    main()

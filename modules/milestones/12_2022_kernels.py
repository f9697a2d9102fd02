"""2022: a GPT that runs in kernels.

In this year FlashAttention computed exact attention with a fraction of the memory traffic, and
showed that the order of reads and writes can matter more than the arithmetic. Here the small
GPT that comes with the package runs in the kernels of lesson 22: layer norm, matrix products,
attention and sums are the learner's, and only the lookup of embeddings, GELU and the copies of
heads are given.

The simulator reads a text of 16 tokens in one pass, and counts the transactions of each kernel.
If WebGPU finds a GPU, the same kernels then write 40 tokens there. In both cases the tokens
must be those of `generate`. No goal is a time, because without a real GPU a time says nothing.
"""

# /// milestone
# title = "A GPT in kernels"
# needs = [
#     "tensor", "activations", "layers", "losses", "autograd", "optimizers", "training",
#     "convolutions", "normalization", "tokenization", "embeddings", "attention",
#     "transformers", "generation", "profiling", "kernels",
# ]
# seconds = 600
# alt = """Bars, the transactions of each kernel for 16 tokens, on a logarithmic axis: matrix \
#     products need most, far below the bar of naive matrix products; attention, layer norm \
#     and the sums need less."""
# [goal]
# "share of tokens equal to generate" = 1.0
# [at_most]
# "largest difference of a logit" = 1e-3
# "transactions of matrix products, divided by naive ones" = 0.1
# ///

import math
from collections import Counter
from pathlib import Path

import numpy as np

from tinytorch.core import tokenization, transformers  # noqa: F401  load_small_gpt uses them
from tinytorch.core.generation import generate
from tinytorch.core.kernels import (
    HEAD,
    SIZE,
    TILE,
    add,
    add_row,
    attention,
    blocks_for,
    layer_norm,
    matmul,
    online_softmax,
    transpose,
)
from tinytorch.data.gpt_files import load_small_gpt
from tinytorch.gpu import webgpu
from tinytorch.gpu.simulator import launch
from tinytorch.pictures.kernels import plot_counts

PROMPT = '"My dear '
SIMULATED, WRITTEN = 16, 40  # tokens that the simulator reads, and that a GPU writes


def embed(block, thread, ids, table, positions, out):
    """A kernel: the sum of the embeddings of tokens and places."""
    i, j = block.y, SIZE * block.x + thread.x
    if j < out.shape[1]:
        out[i, j] = table[ids[i], j] + positions[i, j]


def gelu(block, thread, x, out):
    """A kernel: GELU of each element."""
    i = SIZE * block.x + thread.x
    if i < x.shape[0]:
        v = x[i]
        out[i] = 0.5 * v * (1.0 + math.tanh(0.7978845608 * (v + 0.044715 * v * v * v)))


def take_head(block, thread, x, column, out):
    """A kernel: HEAD columns of x, from `column` on."""
    i, d = TILE * block.y + thread.y, thread.x
    if i < x.shape[0]:
        out[i, d] = x[i, column + d]


def put_head(block, thread, x, column, out):
    """A kernel: the inverse of `take_head`."""
    i, d = TILE * block.y + thread.y, thread.x
    if i < x.shape[0]:
        out[i, column + d] = x[i, d]


def mask(block, thread, factor, x, out):
    """A kernel: scores times a factor, and -1e9 where the key comes after the query."""
    i, j = TILE * block.y + thread.y, TILE * block.x + thread.x
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = factor * x[i, j] if j <= i else -1e9


class Simulated:
    """Runs kernels in the simulator, and counts.

    .transactions  Counter {kernel: transactions}
    """

    def __init__(self):
        self.transactions = Counter()

    def array(self, x):
        return np.array(x, np.int32 if x.dtype.kind == "i" else np.float32)

    def empty(self, *shape):
        return np.zeros(shape, np.float32)

    def run(self, kernel, grid, block, *arguments):
        report = launch(kernel, grid, block, *arguments)
        self.transactions[kernel.__name__] += report.transactions

    def numpy(self, x):
        return x


class OnGPU:
    """Runs kernels on the GPU."""

    array, run = staticmethod(webgpu.to_gpu), staticmethod(webgpu.run)

    def empty(self, *shape):
        return webgpu.GPUArray(shape)

    def numpy(self, x):
        return x.numpy()


class KernelGPT:
    """A GPT that computes with kernels.

    model    GPT or its quantized copy, with learned positions and a tied table
    backend  Simulated or OnGPU
    """

    def __init__(self, model, backend):
        self.backend, self.layers = backend, len(model.blocks)
        self.weights = {
            f"{path}.{name}": backend.array(getattr(part, name).data)
            for path, part in model.named_modules()
            for name in ("weight", "weights", "bias")
            if getattr(part, name, None) is not None
        }
        table = model.embedding.weight.data
        self.weights["head"] = backend.array(np.ascontiguousarray(table.T))
        self.width, self.heads = table.shape[1], model.blocks[0].attention.num_heads
        self.size = self.width // self.heads  # numbers of a head
        self.products = []  # the shapes of all matrix products, (rows, inner, columns)

    def __call__(self, ids):
        """The logits of a text: from ids, ints of shape (T,), an ndarray of shape (T, V)."""
        weights, rows = self.weights, len(ids)
        x = self.backend.empty(rows, self.width)
        table, places = weights["embedding.weight"], weights["positions.weight"]
        grid = blocks_for(self.width, SIZE), rows
        self.backend.run(embed, grid, SIZE, self.backend.array(ids), table, places, x)
        for n in range(self.layers):
            name = f"blocks.{n}"
            qkv = self.linear(self.norm(x, f"{name}.norm1"), f"{name}.attention.qkv")
            x = self.plus(x, self.linear(self.attend(qkv), f"{name}.attention.out"))
            hidden = self.linear(self.norm(x, f"{name}.norm2"), f"{name}.mlp.0")
            active = self.backend.empty(*hidden.shape)
            self.elementwise(gelu, hidden, active)
            x = self.plus(x, self.linear(active, f"{name}.mlp.2"))
        return self.backend.numpy(self.product(self.norm(x, "norm"), weights["head"]))

    def elementwise(self, kernel, *arrays):
        flat = [x.reshape(math.prod(x.shape)) for x in arrays]
        self.backend.run(kernel, blocks_for(flat[-1].shape[0], SIZE), SIZE, *flat)

    def plus(self, a, b):
        out = self.backend.empty(*a.shape)
        self.elementwise(add, a, b, out)
        return out

    def norm(self, x, name):
        out = self.backend.empty(*x.shape)
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        self.backend.run(layer_norm, x.shape[0], SIZE, x, weight, bias, out)
        return out

    def tiles(self, out):
        """The grid of blocks of TILE x TILE threads for a matrix."""
        return blocks_for(out.shape[1], TILE), blocks_for(out.shape[0], TILE)

    def product(self, a, b):
        out = self.backend.empty(a.shape[0], b.shape[1])
        self.products.append((*a.shape, b.shape[1]))
        self.backend.run(matmul, self.tiles(out), (TILE, TILE), a, b, out)
        return out

    def linear(self, x, name):
        y = self.product(x, self.weights[f"{name}.weights"])
        out = self.backend.empty(*y.shape)
        bias = self.weights[f"{name}.bias"]
        self.backend.run(add_row, self.tiles(out), (TILE, TILE), y, bias, out)
        return out

    def attend(self, qkv):
        """Attention of all heads; the columns of qkv are all of q, then of k, then of v."""
        rows, block = qkv.shape[0], (self.size, TILE)
        out = self.backend.empty(rows, self.width)
        grid = 1, blocks_for(rows, TILE)
        for head in range(self.heads):
            parts = [self.backend.empty(rows, self.size) for _ in range(4)]
            for n, part in enumerate(parts[:3]):
                column = n * self.width + self.size * head
                self.backend.run(take_head, grid, block, qkv, column, part)
            if self.size == HEAD:
                self.backend.run(attention, blocks_for(rows, 32), 32, *parts)
            else:
                parts[3] = self.composed(*parts[:3])
            self.backend.run(put_head, grid, block, parts[3], self.size * head, out)
        return out

    def composed(self, q, k, v):
        """Attention of one head by four kernels, for a head whose size is not HEAD."""
        rows = q.shape[0]
        keys, weights = self.backend.empty(self.size, rows), self.backend.empty(rows, rows)
        tiles = blocks_for(self.size, 32), blocks_for(rows, 32)
        self.backend.run(transpose, tiles, (32, 8), k, keys)
        scores = self.product(q, keys)
        self.backend.run(
            mask, self.tiles(scores), (TILE, TILE), self.size**-0.5, scores, weights
        )
        shares = self.backend.empty(rows, rows)
        self.backend.run(online_softmax, blocks_for(rows, SIZE), SIZE, weights, shares)
        return self.product(shares, v)


def naive_transactions(rows, inner, columns):
    """The transactions of a matrix product without tiles, in blocks of 16 x 16 threads, for
    lengths that are multiples of 32: each of the 8 warps of a block reads 2 rows of a and 1 of
    b in each step, and writes 2 rows."""
    warps = 8 * blocks_for(rows, TILE) * blocks_for(columns, TILE)
    return warps * (3 * inner + 2)


def read_in_simulator(model, tokenizer):
    """Let the simulator read a text of SIMULATED tokens in one pass.

    returns  (share of the next tokens that are those of `generate`, largest difference of a
             logit, Simulated, transactions of naive matrix products)
    """
    prompt = tokenizer.encode(PROMPT)[None]
    written = SIMULATED - prompt.shape[1] + 1
    ids = generate(model, prompt, written, temperature=0)[0]
    print(f"\nThe simulator reads {SIMULATED} tokens:", flush=True)
    backend = Simulated()
    gpt = KernelGPT(model, backend)
    logits = gpt(ids[:-1])
    difference = float(np.abs(logits - model(ids[None, :-1]).data[0]).max())
    equal = float((logits[-written:].argmax(-1) == ids[-written:]).mean())
    print(tokenizer.decode(ids[:-1]))
    print(f"{equal:.0%} of its {written} next tokens are those that generate writes.")
    naive = sum(naive_transactions(*shape) for shape in gpt.products)
    return equal, difference, backend, naive


def write_on_gpu(model, tokenizer):
    """Let the GPU write WRITTEN tokens. The text always has its full length, because another
    length would be another program; attention is causal, so the tokens behind the last one
    change nothing.

    returns  (share of the tokens that are those of `generate`, largest difference of a logit)
    """
    name, _ = webgpu.device_name()
    prompt = tokenizer.encode(PROMPT)
    wanted = generate(model, prompt[None], WRITTEN, temperature=0)[0]
    print(f"\n{name} writes {WRITTEN} tokens:", flush=True)
    print(tokenizer.decode(prompt), end="", flush=True)
    gpt, difference = KernelGPT(model, OnGPU()), 0.0
    ids = np.zeros(len(wanted), np.int64)
    ids[: len(prompt)] = prompt
    for end in range(len(prompt), len(wanted)):
        logits = gpt(ids)[end - 1]
        right = model(ids[None, :end]).data[0, -1]
        difference = max(difference, float(np.abs(logits - right).max()))
        ids[end] = logits.argmax()
        print(tokenizer.decode(ids[end : end + 1]), end="", flush=True)
    print()
    return float((ids == wanted)[len(prompt) :].mean()), difference


def run(seed=0):
    """Run the GPT in kernels; returns (measured, figure)."""
    model, tokenizer = load_small_gpt()
    equal, difference, backend, naive = read_in_simulator(model, tokenizer)
    counts = dict(backend.transactions.most_common())
    print(f"\n{'kernel':14}transactions of 128 bytes")
    for name, count in counts.items():
        remark = f", and {naive:,} without tiles" if name == "matmul" else ""
        print(f"{name:14}{count:8,}{remark}")
    try:
        equal_there, difference_there = write_on_gpu(model, tokenizer)
    except webgpu.NoGPU as error:
        print(f"\n{error}")
    else:
        equal, difference = min(equal, equal_there), max(difference, difference_there)
    measured = {
        "share of tokens equal to generate": equal,
        "largest difference of a logit": difference,
        "transactions of matrix products, divided by naive ones": counts["matmul"] / naive,
    }
    return measured, plot_counts({"matmul, naive": naive} | counts)


if __name__ == "__main__":
    measured, figure = run()
    print(measured)
    figure.savefig(Path(__file__).with_suffix(".png"))

# From modules/source/18_interpretability/interpretability_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: 61eeadb4ccb0e843
"""Interpretability: Open a trained model, change one thing, and see what breaks."""

import contextlib

import numpy as np

from tinytorch.core.attention import MultiHeadAttention
from tinytorch.core.embeddings import Embedding
from tinytorch.core.layers import Dense, Module, Sequential, generator
from tinytorch.core.losses import cross_entropy
from tinytorch.core.normalization import LayerNorm
from tinytorch.core.optimizers import Adam
from tinytorch.core.tensor import Tensor, Variable, operand
from tinytorch.core.training import evaluation_mode
from tinytorch.core.transformers import GPT

__all__ = [
    "repeated", "IGNORED", "repeat_targets", "next_token_loss", "AttentionBlock", "AttentionOnly", "hook", "hooks",
    "record", "patterns", "previous_token_score", "induction_score", "changed", "without_heads", "ablate", "patch",
    "contributions", "logit_lens", "probe_accuracy", "probe", "sparse_features", "restored", "toy_superposition",
]


def repeated(rng, batch, length, vocab_size, low, high):
    """Random tokens that repeat, in each row with its own period.

    returns     (ids, period): int arrays of shapes (B, T) and (B,)
    """
    period = rng.integers(low, high + 1, batch)
    rows = [np.resize(rng.permutation(vocab_size)[:p], length) for p in period]
    return np.array(rows), period


IGNORED = -100  # the target of a position that does not count; PyTorch's ignore_index


def repeat_targets(ids, period):
    """Inputs and targets for next-token prediction on rows of `repeated`.

    ids      int array of shape (B, T)
    period   int array of shape (B,)
    returns  (x, y), int arrays of shape (B, T - 1): y[b, t] is the token after x[b, t] if x[b,
             t] has occurred before in its row, so if t >= period[b]

    >>> repeat_targets(np.array([[5, 7, 5, 7]]), np.array([2]))
    (array([[5, 7, 5]]), array([[-100, -100,    7]]))
    """
    x, following = ids[:, :-1], ids[:, 1:]
    known = np.arange(x.shape[1]) >= period[:, None]
    return x, np.where(known, following, IGNORED)


def next_token_loss(model, x, y):
    """The mean cross-entropy, in nats, of the targets that are not IGNORED: a Tensor ()."""
    counted = y != IGNORED
    return cross_entropy(model(x)[counted], y[counted])


class AttentionBlock(Module):
    """A transformer block without a feed-forward network: attention adds to the stream."""

    def __init__(self, embed_dim, num_heads):
        self.norm1 = LayerNorm(embed_dim)
        self.attention = MultiHeadAttention(embed_dim, num_heads, causal=True)

    def forward(self, x):
        return x + self.attention(self.norm1(x))


class AttentionOnly(GPT):
    """A GPT whose blocks have attention only, with the sizes and attributes of `GPT`. The
    output layer is not tied; both tables start with a standard deviation of 0.1."""

    def __init__(self, vocab_size, context, embed_dim, layers, num_heads):
        self.vocab_size, self.context, self.dropout = vocab_size, context, Sequential()
        self.embedding = Embedding(vocab_size, embed_dim)
        self.positions = Embedding(context, embed_dim)
        for table in (self.embedding, self.positions):
            table.weight.data *= 0.1
        self.blocks = [AttentionBlock(embed_dim, num_heads) for _ in range(layers)]
        self.norm = LayerNorm(embed_dim)
        self.head = Dense(embed_dim, vocab_size, bias=False)


@contextlib.contextmanager
def hook(module, f, is_input=False):
    """A `with` block in which the results of `module`, or its inputs, pass through `f`."""
    before, forward = vars(module).get("forward"), module.forward

    def wrapper(x, *others, **options):
        if is_input:
            return forward(f(x), *others, **options)
        return f(forward(x, *others, **options))

    module.forward = wrapper
    try:
        yield
    finally:
        del module.forward
        if before is not None:
            module.forward = before


@contextlib.contextmanager
def hooks(model, functions):
    """A `with` block with a hook for each {name: f}. A name is the path of a module, for what
    it returns, or the path with ".input", for what it is called with."""
    modules = dict(model.named_modules())
    with contextlib.ExitStack() as stack:
        for name, f in functions.items():
            path = name.removesuffix(".input")
            if path not in modules:
                paths = ", ".join(filter(None, modules))
                raise KeyError(f"there is no module {path}; there are {paths}")
            stack.enter_context(hook(modules[path], f, is_input=name != path))
        yield


@contextlib.contextmanager
def record(model, *names):
    """A `with` block in which results or inputs of modules are recorded.

    An unknown path raises a KeyError that contains it.
    """
    seen = {}
    def keep(name):
        def f(x):
            seen[name] = np.array(operand(x))
            return x
        return f

    with hooks(model, {name: keep(name) for name in names}):
        yield seen


def patterns(model, ids):
    """The attention weights of every layer.

    ids      int array of shape (B, T)
    returns  list with an ndarray of shape (B, H, T, T) for each block, [row, head, query, key]

    >>> [P.shape for P in patterns(GPT(9, 8, 16, 3, 4), np.array([[1, 2, 3], [4, 5, 6]]))]
    [(2, 4, 3, 3), (2, 4, 3, 3), (2, 4, 3, 3)]
    """
    names = [f"blocks.{n}.attention.input" for n in range(len(model.blocks))]
    with evaluation_mode(model), record(model, *names) as seen:
        model(ids)
        return [block.attention.attention_weights(Tensor(seen[name]))
                for block, name in zip(model.blocks, names)]


def previous_token_score(P):
    """How much of its attention each head puts on the position directly before.

    P        array of shape (B, H, T, T), [row, head, query, key], T >= 2
    returns  array of shape (H,): the mean of the weights P[b, h, i, i - 1] over all rows b and
             all queries i >= 1
    """
    return np.diagonal(P, -1, 2, 3).mean(axis=(0, 2))


def induction_score(P, ids):
    """How much of its attention each head puts on tokens that once followed the current token.

    P        array of shape (B, H, T, T), [row, head, query, key]
    ids      int array of shape (B, T)
    returns  array of shape (H,)
    """
    follows = np.zeros((len(ids), *P.shape[2:]), bool)
    follows[:, :, 1:] = ids[:, :, None] == ids[:, None, :-1]
    follows &= np.tri(ids.shape[1], dtype=bool)
    sums = (P * follows[:, None]).sum(axis=-1)
    row, query = follows.any(axis=-1).nonzero()
    return sums[row, :, query].mean(axis=0)


@contextlib.contextmanager
def changed(model, functions):
    """A `with` block in which results or inputs of modules are replaced.

    An unknown path raises a KeyError that contains it.
    """
    def on_array(f):
        return lambda x: Tensor(f(np.array(operand(x))))

    with hooks(model, {name: on_array(f) for name, f in functions.items()}):
        yield


def without_heads(z, heads, num_heads, how="mean"):
    """The results of all heads, with some heads ablated.

    z          array of shape (B, T, D), the input of `attention.out`
    returns    array of shape (B, T, D)
    """
    size = z.shape[-1] // num_heads
    for h in heads:
        part = z[..., h * size : (h + 1) * size]
        part[...] = part.mean(axis=(0, 1)) if how == "mean" else 0
    return z


def ablate(model, x, y, how="mean"):
    """The loss of a model with one head ablated, for each head.

    x, y     int arrays of shape (B, T), as for `next_token_loss`
    returns  array of shape (L, H): the loss in nats with head h of block l ablated, the others
             not
    """
    losses = np.zeros((len(model.blocks), model.blocks[0].attention.num_heads))
    for layer, head in np.ndindex(*losses.shape):
        change = {f"blocks.{layer}.attention.out.input":
                  lambda z: without_heads(z, [head], losses.shape[1], how)}
        with evaluation_mode(model), changed(model, change):
            losses[layer, head] = next_token_loss(model, x, y).item()
    return losses


def patch(model, clean, corrupt, score, path="blocks.{}"):
    """Put vectors of the clean run into the corrupt run, one place at a time.

    clean    int array of shape (B, T)
    corrupt  int array of shape (B, T)
    score    a function of the logits, an ndarray of shape (B, T, V), that returns a float
    returns  array of shape (L, T): (patched - corrupt) / (clean - corrupt), where `clean` and
             `corrupt` are the scores of the two runs, and `patched` is the score of the corrupt
             run in which position t of path.format(l) holds, in all rows, the vectors of the
             clean run
    """
    names = [path.format(n) for n in range(len(model.blocks))]
    patched = np.zeros((len(names), clean.shape[1]))
    with evaluation_mode(model):
        with record(model, *names) as seen:
            best = score(model(clean).data)
        worst = score(model(corrupt).data)
        for layer, t in np.ndindex(*patched.shape):
            name = names[layer]

            def put(stream):
                stream[:, t] = seen[name][:, t]
                return stream

            with changed(model, {name: put}):
                patched[layer, t] = score(model(corrupt).data)
        return (patched - worst) / (best - worst)


def contributions(model, ids):
    """What each part of a model adds to the residual stream.

    ids      int array of shape (B, T)
    returns  {name: ndarray of shape (B, T, D)} in the order of the forward pass: "embedding"

    >>> list(contributions(AttentionOnly(9, 8, 16, layers=1, num_heads=2), np.array([[1, 2]])))
    ['embedding', 'positions', 'blocks.0.attention']
    """
    names = [f"blocks.{n}.{branch}" for n, block in enumerate(model.blocks)
             for branch in ("attention", "mlp") if hasattr(block, branch)]
    with evaluation_mode(model), record(model, "embedding", *names) as seen:
        model(ids)
    parts = {"embedding": seen["embedding"]}
    if model.positions is not None:
        rows = model.positions.weight.data[: ids.shape[1]]
        parts["positions"] = np.broadcast_to(rows, parts["embedding"].shape)
    return parts | {name: seen[name] for name in names}


def logit_lens(model, ids):
    """The logits that the model would give if it ended before its first block, after its first
    block, and so on.

    ids      int array of shape (1, T)
    returns  ndarray of shape (L + 1, T, V): `model.norm` and the output layer, applied to the
             input of the first block and to the result of every block

    >>> logit_lens(GPT(9, 8, 16, layers=3, num_heads=2), np.array([[1, 2, 3, 4]])).shape
    (4, 4, 9)
    """
    names = ["blocks.0.input"] + [f"blocks.{n}" for n in range(len(model.blocks))]
    with evaluation_mode(model), record(model, *names) as seen:
        model(ids)
        x = model.norm(Tensor(np.concatenate([seen[name] for name in names])))
        logits = x @ model.embedding.weight.T if model.head is None else model.head(x)
    return logits.data


def probe_accuracy(train, labels, test, test_labels):
    """Fit a linear probe by least squares, and measure it on other vectors.

    train, labels      arrays of shapes (n, D) and (n,): the vectors to fit, and bools (or 0, 1)
    test, test_labels  arrays of shapes (m, D) and (m,): the vectors to measure
    returns            float
    """
    a, b = (np.hstack([x, np.ones((len(x), 1))]) for x in (train, test))
    weights = np.linalg.lstsq(a, 2.0 * labels - 1, rcond=None)[0]
    return float(((b @ weights > 0) == test_labels).mean())


def probe(train, labels, test, test_labels, rng, groups=None):
    """The accuracy of a linear probe, and of the same probe on a control task."""
    accuracy = probe_accuracy(train, labels, test, test_labels)
    if groups is None:
        control = rng.permutation(labels), rng.permutation(test_labels)
    else:
        table = rng.integers(0, 2, np.concatenate(groups).max() + 1)
        control = table[groups[0]], table[groups[1]]
    return accuracy, probe_accuracy(train, control[0], test, control[1])


def sparse_features(rng, batch, features, sparsity):
    """Random features, most of them 0.

    returns   float32 array of shape (batch, features): each number is, independently of the
              others, 0 with probability `sparsity`, otherwise uniform between 0 and 1
    """
    active = rng.random((batch, features)) >= sparsity
    return (active * rng.random((batch, features))).astype(np.float32)


def restored(x, w, b):
    """The features that are restored from fewer numbers: relu(x w w^T + b).

    x        array or Tensor of shape (batch, n)
    w, b     Tensors of shapes (n, d) and (n,)
    returns  Tensor of shape (batch, n)

    >>> restored(Tensor([[1.0, 2.0]]), Tensor([[1.0], [-1.0]]), Tensor([0.0, 0.5]))
    Tensor([[0. , 1.5]])
    """
    return ((x @ w) @ w.T + b).relu()


def toy_superposition(features, dims, sparsity, steps=1000, rng=None):
    """Train the model of superposition. Each feature is 0.9 times as important as the one
    before. Returns its matrix w, an ndarray of shape (features, dims)."""
    rng = generator(rng)
    w = Variable(rng.normal(0, 0.3, (features, dims)).astype(np.float32))
    b, importance = Variable(np.zeros(features, np.float32)), 0.9 ** np.arange(features)
    optimizer = Adam([w, b], lr=0.01)
    for _ in range(steps):
        x = Tensor(sparse_features(rng, 256, features, sparsity))
        loss = ((restored(x, w, b) - x) ** 2 * importance.astype(np.float32)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return w.data

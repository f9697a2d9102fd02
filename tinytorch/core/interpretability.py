# From modules/source/18_interpretability/interpretability_dev.py by `tito export`; edit that file, not this one.
# checksum: 64a3f63e39b7f30f
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

    rng         a NumPy Generator
    batch       int: B, how many rows
    length      int: T, the tokens of a row
    vocab_size  int: tokens are drawn from 0, 1, ..., vocab_size - 1
    low, high   ints: the shortest and the longest period; high <= vocab_size
    returns     (ids, period): int arrays of shapes (B, T) and (B,). Each period is drawn from
                low, low + 1, ..., high, all equally likely. The first period[b] tokens of row b
                are different random tokens. Then they repeat, until the row has T tokens

    >>> ids, period = repeated(np.random.default_rng(0), 1, 8, 9, 3, 3)
    >>> period, bool((ids[0, 3:] == ids[0, :5]).all()), len(set(ids[0].tolist()))
    (array([3]), True, 3)

    Source: Olsson et al., In-context learning and induction heads (2022).
    """
    period = rng.integers(low, high + 1, batch)
    rows = [np.resize(rng.permutation(vocab_size)[:p], length) for p in period]
    return np.array(rows), period


IGNORED = -100  # the target of a position that does not count; PyTorch's ignore_index


def repeat_targets(ids, period):
    """Inputs and targets for next-token prediction on rows of `repeated`.

    ids      int array of shape (B, T); not changed
    period   int array of shape (B,)
    returns  (x, y), int arrays of shape (B, T - 1): y[b, t] is the token after x[b, t] if
             x[b, t] has occurred before in its row, so if t >= period[b]; otherwise IGNORED

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
    """A `with` block in which the results of `module`, or its inputs, pass through `f`.

    module    a Module; its `forward` has at least one argument
    f         a function of one argument
    is_input  False: each result of the module is replaced by f(result). True: the first
              argument of each call is replaced by f(argument)

    Blocks nest: inside two blocks with hooks of one module, both hooks are called. After the
    block, also after an error, the module is as it was before: without an attribute `forward`,
    or with the one that it had.

    >>> layer = Dense(2, 3)
    >>> with hook(layer, lambda x: x.shape):
    ...     layer(np.ones((1, 2), "float32"))
    (1, 3)
    >>> "forward" in vars(layer)
    False

    Source: torch.nn.Module.register_forward_hook and register_forward_pre_hook.
    """
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

    model   a Module
    names   names as `hooks` takes them, such as "blocks.0" or "blocks.0.attention.input"
    yields  a dict, empty at first. Each call of one of these modules sets {name: ndarray}, a
            copy of what it returned or was called with; a later call replaces it

    The model computes what it would compute without the block, and gradients reach the same
    parameters. An unknown path raises a KeyError that contains it.

    >>> layer = Dense(2, 3)
    >>> with record(layer, "", ".input") as seen:
    ...     out = layer(np.ones((4, 2), "float32"))
    >>> {name: array.shape for name, array in seen.items()}
    {'.input': (4, 2), '': (4, 3)}
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

    model    a GPT or an AttentionOnly
    ids      int array of shape (B, T)
    returns  list with an ndarray of shape (B, H, T, T) for each block, [row, head, query, key]

    The model runs in evaluation mode, and is then in its earlier mode again.

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

    >>> P = np.zeros((1, 1, 3, 3))
    >>> P[0, 0, 1, 0], P[0, 0, 2, 1] = 0.5, 1.0
    >>> previous_token_score(P)
    array([0.75])
    """
    return np.diagonal(P, -1, 2, 3).mean(axis=(0, 2))


def induction_score(P, ids):
    """How much of its attention each head puts on tokens that once followed the current token.

    P        array of shape (B, H, T, T), [row, head, query, key]
    ids      int array of shape (B, T)
    returns  array of shape (H,). For query i of row b, add up the weights of all keys j with
             1 <= j <= i and ids[b, j - 1] == ids[b, i]. The score is the mean of these sums
             over all queries that have such a key

    >>> P = np.zeros((1, 1, 3, 3))
    >>> P[0, 0, 2] = [0.25, 0.75, 0.0]
    >>> induction_score(P, np.array([[5, 8, 5]]))
    array([0.75])

    Source: Olsson et al. (2022), "prefix matching score".
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

    model      a Module
    functions  {name: f}, with names as in `record`. Each result (or input) of that module, a
               Tensor or an ndarray, is replaced by a Tensor of f(array). f gets a copy

    After the block, also after an error, the model is as before. An unknown path raises a
    KeyError that contains it.

    >>> layer = Dense(2, 2)
    >>> with changed(layer, {"": lambda a: a * 0 + 5}):
    ...     layer(np.ones((1, 2), "float32"))
    Tensor([[5., 5.]])
    """
    def on_array(f):
        return lambda x: Tensor(f(np.array(operand(x))))

    with hooks(model, {name: on_array(f) for name, f in functions.items()}):
        yield


def without_heads(z, heads, num_heads, how="mean"):
    """The results of all heads, with some heads ablated.

    z          array of shape (B, T, D), the input of `attention.out`; may be changed
    heads      list of ints: the heads to ablate. Head h has the columns h * size, ...,
               (h + 1) * size - 1, with size = D / num_heads
    num_heads  int
    how        "mean": these columns are replaced by their means over batch and positions.
               "zero": by 0
    returns    array of shape (B, T, D)

    >>> without_heads(np.array([[[1.0, 2.0], [3.0, 6.0]]]), [1], num_heads=2)
    array([[[1., 4.],
            [3., 4.]]])
    """
    size = z.shape[-1] // num_heads
    for h in heads:
        part = z[..., h * size : (h + 1) * size]
        part[...] = part.mean(axis=(0, 1)) if how == "mean" else 0
    return z


def ablate(model, x, y, how="mean"):
    """The loss of a model with one head ablated, for each head.

    model    a GPT or an AttentionOnly with L blocks of H heads
    x, y     int arrays of shape (B, T), as for `next_token_loss`
    how      "mean" or "zero", see `without_heads`
    returns  array of shape (L, H): the loss in nats with head h of block l ablated, the others
             not. The model runs in evaluation mode, and afterwards is as before

    >>> model = AttentionOnly(9, 8, 16, layers=3, num_heads=2)
    >>> ablate(model, np.array([[1, 2, 3]]), np.array([[2, 3, 1]])).shape
    (3, 2)

    Source: Wang et al., Interpretability in the wild (2023), section 2, for the mean.
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

    model    a GPT or an AttentionOnly with L blocks
    clean    int array of shape (B, T)
    corrupt  int array of shape (B, T)
    score    a function of the logits, an ndarray of shape (B, T, V), that returns a float. It
             differs for the two inputs
    path     the name of what is patched, with {} for the number of the block; names as in
             `record`
    returns  array of shape (L, T): (patched - corrupt) / (clean - corrupt), where `clean` and
             `corrupt` are the scores of the two runs, and `patched` is the score of the corrupt
             run in which position t of path.format(l) holds, in all rows, the vectors of the
             clean run. The model runs in evaluation mode

    >>> model, clean = AttentionOnly(9, 8, 16, layers=3, num_heads=2), np.array([[1, 2, 3, 1]])
    >>> patch(model, clean, clean[:, ::-1] + 1, np.max).shape
    (3, 4)

    Source: Meng et al., Locating and editing factual associations in GPT (2022), section 2.1.
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

    model    a GPT or an AttentionOnly
    ids      int array of shape (B, T)
    returns  {name: ndarray of shape (B, T, D)} in the order of the forward pass: "embedding";
             "positions", unless model.positions is None; then for each block its
             "blocks.0.attention" and, if it has one, its "blocks.0.mlp". The sum of all arrays
             is the input of model.norm. The model runs in evaluation mode

    >>> list(contributions(AttentionOnly(9, 8, 16, layers=1, num_heads=2), np.array([[1, 2]])))
    ['embedding', 'positions', 'blocks.0.attention']

    Source: Elhage et al., A mathematical framework for transformer circuits (2021).
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

    model    a GPT or an AttentionOnly with L blocks
    ids      int array of shape (1, T)
    returns  ndarray of shape (L + 1, T, V): `model.norm` and the output layer, applied to the
             input of the first block and to the result of every block; the last are the model's
             logits. The model runs in evaluation mode

    >>> logit_lens(GPT(9, 8, 16, layers=3, num_heads=2), np.array([[1, 2, 3, 4]])).shape
    (4, 4, 9)

    Source: nostalgebraist, Interpreting GPT: the logit lens (2020).
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
    returns            float: the share of test vectors for which the probe is right. It
                       predicts True where its result is positive

    The probe has a bias. Its targets are 1 for True and -1 for False.

    >>> train, labels = np.array([[1.0], [2.0], [5.0], [6.0]]), np.array([0, 0, 1, 1])
    >>> probe_accuracy(train, labels, np.array([[3.0], [4.0], [9.0]]), np.array([0, 1, 0]))
    0.6666666666666666

    Source: Alain, Bengio, Understanding intermediate layers using linear classifier probes
    (2016).
    """
    a, b = (np.hstack([x, np.ones((len(x), 1))]) for x in (train, test))
    weights = np.linalg.lstsq(a, 2.0 * labels - 1, rcond=None)[0]
    return float(((b @ weights > 0) == test_labels).mean())


def probe(train, labels, test, test_labels, rng, groups=None):
    """The accuracy of a linear probe, and of the same probe on a control task.

    train, labels, test, test_labels   as for `probe_accuracy`
    rng      a NumPy Generator
    groups   (train groups (n,), test groups (m,)), ints from 0: the group of each vector, such
             as its token. The control gives each group one random label, 0 or 1, the same in
             both parts. Without groups, it shuffles the labels of each part
    returns  (accuracy, control accuracy), two floats

    >>> rng = np.random.default_rng(0)
    >>> vectors = np.eye(4)[[0, 1, 2, 3] * 9]
    >>> labels, groups = np.arange(36) % 2, np.arange(36) % 4
    >>> probe(vectors, labels, vectors, labels, rng, (groups, groups))
    (1.0, 1.0)

    Source: Hewitt, Liang, Designing and interpreting probes with control tasks (2019).
    """
    accuracy = probe_accuracy(train, labels, test, test_labels)
    if groups is None:
        control = rng.permutation(labels), rng.permutation(test_labels)
    else:
        table = rng.integers(0, 2, np.concatenate(groups).max() + 1)
        control = table[groups[0]], table[groups[1]]
    return accuracy, probe_accuracy(train, control[0], test, control[1])


def sparse_features(rng, batch, features, sparsity):
    """Random features, most of them 0.

    rng       a NumPy Generator
    sparsity  float from 0 to 1: the probability that a feature is 0
    returns   float32 array of shape (batch, features): each number is, independently of the
              others, 0 with probability `sparsity`, otherwise uniform between 0 and 1

    >>> sparse_features(np.random.default_rng(0), 2, 3, 1.0)
    array([[0., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    """
    active = rng.random((batch, features)) >= sparsity
    return (active * rng.random((batch, features))).astype(np.float32)


def restored(x, w, b):
    """The features that are restored from fewer numbers: relu(x w w^T + b).

    x        array or Tensor of shape (batch, n)
    w, b     Tensors of shapes (n, d) and (n,)
    returns  Tensor of shape (batch, n); recorded

    >>> restored(Tensor([[1.0, 2.0]]), Tensor([[1.0], [-1.0]]), Tensor([0.0, 0.5]))
    Tensor([[0. , 1.5]])

    Source: Elhage et al., Toy models of superposition (2022), section 2.
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

# From modules/source/24_compression/compression_dev.py by `tito export`; edit that file, not this one.
# checksum: d86a091f7b373138
"""Compression: Fewer numbers: pruning, low rank, LoRA, averages of weights, distillation."""

import copy
import math

import numpy as np

from tinytorch.core.activations import log_softmax
from tinytorch.core.differentiation import hutchinson, hvp
from tinytorch.core.layers import Dense, Linear, Module, Sequential, generator, linear
from tinytorch.core.losses import as_float_tensor, cross_entropy
from tinytorch.core.tensor import Tensor, Variable
from tinytorch.func import functional_call

__all__ = [
    "check_amount", "prune_magnitude", "matrices", "replaced", "prune_global", "stored_bytes", "Mask", "saliency_obd",
    "obs_prune", "dense_of", "prune_neurons", "low_rank", "low_rank_for", "LoRA", "with_lora", "average",
    "distillation_loss",
]


def check_amount(amount):
    """Raise ValueError unless `amount` is a share from 0 to 1."""
    if not 0 <= amount <= 1:
        raise ValueError(f"the amount is a share from 0 to 1, not {amount}: write 0.3 for 30 %")


def prune_magnitude(w, amount):
    """Which weights remain when the smallest ones are removed.

    w        array of any shape; not changed
    amount   the share to remove, from 0 to 1; otherwise ValueError
    returns  bool array of the shape of `w`: False for exactly round(amount * w.size) weights
             with the smallest absolute values. Of equally large ones, any may be removed

    >>> prune_magnitude(np.array([3.0, -1.0, 2.0, 0.5, -4.0]), 0.4)
    array([ True, False,  True, False,  True])

    Source: Han et al., Learning both weights and connections (2015), section 3;
    torch.nn.utils.prune.l1_unstructured.
    """
    check_amount(amount)
    order = np.argsort(np.abs(w), axis=None)
    mask = np.ones(w.size, bool)
    mask[order[: round(amount * w.size)]] = False
    return mask.reshape(w.shape)


def matrices(model):
    """{path: array}: the weights of the Dense and convolutional layers of a model. They are the
    live arrays, so writing into one changes the model."""
    return {path: p.data for path, p in model.named_parameters() if path.endswith("weights")}


def replaced(model, arrays):
    """A copy of a model with these {path: array} in place of the matrices."""
    changed = copy.deepcopy(model)
    for path, w in matrices(changed).items():
        w[...] = arrays.get(path, w)
    return changed


def prune_global(model, amount, saliency=abs):
    """Which weights of a whole model remain when the least salient ones are removed.

    model     a Module; not changed
    amount    the share to remove, from 0 to 1
    saliency  a function from an array of weights to an array of scores; or {path: scores} for
              the paths of matrices(model). The weights whose scores have the smallest absolute
              values are removed
    returns   {path: bool mask} for the paths of matrices(model), in their order. All masks
              together have exactly round(amount * n) False, for n weights in all matrices

    >>> net = Sequential(Dense(1, 2, rng=0), Dense(2, 1, rng=0))
    >>> net[0].weights.data[...], net[1].weights.data[...] = [[5.0, -6.0]], [[0.1], [7.0]]
    >>> prune_global(net, 0.25)["1.weights"].tolist()
    [[False], [True]]

    Source: torch.nn.utils.prune.global_unstructured.
    """
    scores = {path: saliency[path] if isinstance(saliency, dict) else saliency(w)
              for path, w in matrices(model).items()}
    mask = prune_magnitude(np.concatenate([s.ravel() for s in scores.values()]), amount)
    ends = np.cumsum([s.size for s in scores.values()])
    return {path: mask[end - s.size : end].reshape(s.shape)
            for (path, s), end in zip(scores.items(), ends)}


def stored_bytes(w):
    """The bytes that an array needs in three formats.

    w        array of any shape and float dtype
    returns  {"dense": all numbers, "mask": the nonzero numbers and one bit for each number of
             `w`, rounded up to whole bytes, "index": the nonzero numbers and one place for each
             of them, of 2 bytes if w.size is at most 65,536, otherwise 4}; ints

    >>> stored_bytes(np.array([[0.0, 1.5, 0.0, 0.0, 2.0]], "float32"))
    {'dense': 20, 'mask': 9, 'index': 12}
    """
    nonzero = int(np.count_nonzero(w))
    place = 2 if w.size <= 65536 else 4
    return {"dense": w.nbytes, "mask": nonzero * w.itemsize + (w.size + 7) // 8,
            "index": nonzero * (w.itemsize + place)}


class Mask:
    """Keeps weights at 0 during training.

    model   a Module
    masks   {path: bool array}, as `prune_global` returns it; False where a weight stays 0. A
            path that is no parameter of the model is a KeyError

    .pairs  list of (parameter, its mask)

    Source: torch.nn.utils.prune, which computes weight = weight_orig * mask in every forward
    pass instead.
    """

    def __init__(self, model, masks):
        named = dict(model.named_parameters())
        self.pairs = [(named[path], mask) for path, mask in masks.items()]

    def apply(self):
        """Set the removed weights to 0, in the arrays of the parameters. Other weights do not
        change."""
        for p, mask in self.pairs:
            p.data[~mask] = 0

    def attach(self, optimizer):
        """Set the removed weights to 0 now, and after every later optimizer.step(). Returns
        this Mask. Several masks can be attached to one optimizer.

        >>> from tinytorch.core.optimizers import SGD
        >>> layer = Dense(1, 2, rng=0)
        >>> sgd = SGD(layer.parameters(), lr=1.0)
        >>> _ = Mask(layer, {"weights": np.array([[False, True]])}).attach(sgd)
        >>> layer(Tensor([[1.0]])).sum().backward()
        >>> sgd.step()
        >>> layer.weights.data[0, 0] == 0
        np.True_
        """
        step = optimizer.step

        def masked_step():
            step()
            self.apply()

        optimizer.step = masked_step
        self.apply()
        return self


def saliency_obd(model, x, loss, probes, rng):
    """The saliency of optimal brain damage, h * w² / 2.

    model    a Module; not changed
    x        Tensor: inputs of the model
    loss     a function of the model's outputs that returns one number, a Tensor of shape ()
    probes   how many random vectors `hutchinson` uses
    rng      a NumPy Generator, for `hutchinson`
    returns  {path: array} for the paths of matrices(model). h is the diagonal of the Hessian of
             the loss with respect to all parameters, estimated by `hutchinson`; negative
             estimates stay negative

    >>> layer = Dense(2, 1, bias=False)
    >>> layer.weights.data[...] = [[3.0], [1.0]]
    >>> x, rng = Tensor([[1.0, 0.0], [0.0, 10.0]]), np.random.default_rng(0)
    >>> saliency_obd(layer, x, lambda out: (out * out).sum(), 1, rng)["weights"].tolist()
    [[9.0], [100.0]]

    Source: LeCun, Denker, Solla, Optimal brain damage (1990), section 2.
    """
    w = Tensor(np.concatenate([p.data.ravel() for p in model.parameters()]))
    def f(vector):
        return loss(functional_call(model, vector, x))

    _, diagonal = hutchinson(lambda v: hvp(f, w, v), w, probes, rng)
    scores = diagonal.data * w.data**2 / 2
    named, result, start = matrices(model), {}, 0
    for path, p in model.named_parameters():
        if path in named:
            result[path] = scores[start : start + p.size].reshape(p.shape)
        start += p.size
    return result


def obs_prune(w, x, amount, damping=0.01):
    """Remove weights from a matrix so that the outputs x @ w change little.

    w        array (k, n): the weights of a layer with k inputs; not changed
    x        array (m, k): inputs of this layer
    amount   the share to remove, from 0 to 1
    damping  this share of the mean of the diagonal is added to the diagonal of H = x.T @ x
    returns  float32 array (k, n). The round(amount * w.size) weights with the smallest saliency
             w² / diagonal of the inverse of H, in the whole matrix, are 0. The others have the
             values that make the error d.T @ H @ d of each column smallest

    >>> x = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> obs_prune(np.array([[2.0], [3.0], [5.0]]), x, 1 / 3, damping=1e-6).round(3)
    array([[0.],
           [5.],
           [5.]], dtype=float32)

    Source: Hassibi and Stork, Optimal brain surgeon (1993); Frantar and Alistarh, SparseGPT
    (2023), section 3.
    """
    x = np.asarray(x, np.float64)
    h = x.T @ x
    h += damping * np.diag(h).mean() * np.eye(len(h))
    mask = prune_magnitude(w**2 / np.diag(np.linalg.inv(h))[:, None], amount)
    target, out = h @ w, np.zeros(w.shape)
    for column in range(w.shape[1]):
        keep = mask[:, column]
        out[keep, column] = np.linalg.solve(h[np.ix_(keep, keep)], target[keep, column])
    return out.astype(np.float32)


def dense_of(weights, bias=None):
    """A Dense layer with copies of these arrays: weights (in, out), and bias (out,) or None."""
    layer = Dense(*weights.shape, bias=bias is not None, init=lambda *sizes: weights.copy())
    if bias is not None:
        layer.bias.data[...] = bias
    return layer


def prune_neurons(first, second, keep):
    """Two layers with some of the neurons between them.

    first, second  Dense layers: the outputs of `first` go through an activation function and
                   are the inputs of `second`; not changed. Each may have no bias
    keep           int array or list of ints: the neurons that remain, in this order
    returns        (first, second): new Dense layers with len(keep) neurons between them

    >>> prune_neurons(Dense(64, 256), Dense(256, 64), [7, 100, 8])
    (Dense(64, 3), Dense(3, 64))

    Source: torch.nn.utils.prune.ln_structured, which only sets rows to 0.
    """
    def data(bias):
        return None if bias is None else bias.data

    bias = None if first.bias is None else first.bias.data[keep]
    return (dense_of(first.weights.data[:, keep], bias),
            dense_of(second.weights.data[keep], data(second.bias)))


def low_rank(dense, rank):
    """Two smaller layers in place of one, by the singular value decomposition.

    dense    Dense (in, out); not changed
    rank     int from 1 to min(in, out)
    returns  Sequential of two Dense layers, (in, rank) without a bias and (rank, out) with the
             bias of `dense`, if it has one. The product of their weights is the closest matrix
             of this rank to those of `dense`

    >>> low_rank(Dense(64, 256), 16)
    Sequential(Dense(64, 16, bias=False), Dense(16, 256))

    Source: Eckart and Young, The approximation of one matrix by another of lower rank (1936);
    torch.linalg.svd.
    """
    bias = None if dense.bias is None else dense.bias.data
    u, s, vt = np.linalg.svd(dense.weights.data, full_matrices=False)
    return Sequential(dense_of(u[:, :rank] * s[:rank]), dense_of(vt[:rank], bias))


def low_rank_for(dense, x, rank, damping=0.001):
    """Like `low_rank`, but the *outputs* for the inputs `x` (m, in) are as close as possible.

    A change D of the weights W changes the outputs by |x D|² = |S.T D|², where S is the
    Cholesky factor of H = x.T @ x. So the closest matrix to S.T @ W is computed, and its first
    factor is multiplied by the inverse of S.T.
    """
    x = np.asarray(x, np.float64)
    h = x.T @ x
    s = np.linalg.cholesky(h + damping * np.diag(h).mean() * np.eye(len(h)))
    first, second = low_rank(dense_of(s.T @ dense.weights.data), rank)
    return Sequential(dense_of(np.linalg.solve(s.T, first.weights.data).astype(np.float32)),
                      dense_of(second.weights.data.astype(np.float32),
                               None if dense.bias is None else dense.bias.data))


class LoRA(Module):
    """A Dense layer with fixed weights, plus a low-rank product that can be trained.

    dense  Dense (in, out) with weights W and bias b, or without a bias; not changed
    rank   int: the number of columns of A and of rows of B
    alpha  float: the product is multiplied by alpha / rank
    rng    a NumPy Generator, a seed, or None for the shared generator: see `generator`

    .A     float32 Variable (in, rank), at first normal with standard deviation 1 / sqrt(in)
    .B     float32 Variable (rank, out), at first 0

    `parameters()` contains A and B only.

    >>> layer = LoRA(Dense(3, 4), rank=2)
    >>> [p.shape for p in layer.parameters()]
    [(3, 2), (2, 4)]

    Source: Hu et al., LoRA: low-rank adaptation of large language models (2022), section 4.1.
    """

    def __init__(self, dense, rank, alpha=1.0, rng=None):
        inputs, outputs = dense.weights.shape
        a = generator(rng).normal(0, 1 / math.sqrt(inputs), (inputs, rank)).astype(np.float32)
        self.weights = dense.weights.detach()
        self.bias = None if dense.bias is None else dense.bias.detach()
        self.A, self.B = Variable(a), Variable(np.zeros((rank, outputs), np.float32))
        self.scale = alpha / rank

    def forward(self, x):
        """x W + b + alpha / rank x A B, for `x` of shape (..., in)."""
        return linear(x, self.weights, self.bias) + self.scale * (x @ self.A @ self.B)

    def merge(self):
        """A new Dense layer that computes the same as this one. This layer does not change."""
        bias = None if self.bias is None else self.bias.data
        return dense_of(self.weights.data + self.scale * (self.A.data @ self.B.data), bias)


def with_lora(model, rank, alpha=1.0, rng=None):
    """A copy of a model with a LoRA in place of each Dense layer; nothing else is trained."""
    frozen, rng = copy.deepcopy(model).requires_grad_(False), generator(rng)
    layers = [part for part in frozen.modules() if type(part) in (Dense, Linear)]
    return copy.deepcopy(frozen, {id(layer): LoRA(layer, rank, alpha, rng) for layer in layers})


def average(states, weights=None):
    """The weighted mean of the state dicts of several models.

    states   list of state dicts {name: array} with the same names and shapes; not changed
    weights  one number for each state; None: equal ones, with the sum 1
    returns  a new state dict: each array is the sum of weight * array over the states, in the
             dtype that it has in the first state

    >>> average([{"w": np.array([1.0, 2.0])}, {"w": np.array([3.0, 6.0])}], [0.25, 0.75])
    {'w': array([2.5, 5. ])}

    Source: Wortsman et al., Model soups (2022), section 2; torch.optim.swa_utils.AveragedModel.
    """
    weights = [1 / len(states)] * len(states) if weights is None else weights
    return {name: sum(w * state[name] for w, state in zip(weights, states)).astype(array.dtype)
            for name, array in states[0].items()}


def distillation_loss(student, teacher, labels, temperature=2.0, weight=0.5):
    """The loss of a student that learns from the answers of a teacher and from labels.

    student      Tensor (B, C): logits
    teacher      Tensor or array (B, C): logits; gets no gradient
    labels       (B,) class numbers, for `cross_entropy`; not used, and may be None, when
                 `weight` is 1
    temperature  T > 0: the logits of both are divided by it for the divergence
    weight       the share of the divergence, from 0 to 1
    returns      Tensor of shape (): weight * T² * KL(teacher || student) + (1 - weight) *
                 cross_entropy(student, labels), both averaged over the batch

    Logits of +-1000 must work.

    >>> logits = Tensor([[2.0, 0.0, -1.0]])
    >>> distillation_loss(logits, logits, None, weight=1)
    Tensor(0.)

    Source: Hinton, Vinyals, Dean, Distilling the knowledge in a neural network (2015), section
    2; torch.nn.functional.kl_div.
    """
    student, teacher = as_float_tensor(student), as_float_tensor(teacher).detach()
    log_p, log_q = log_softmax(student / temperature), log_softmax(teacher / temperature)
    divergence = (log_q.exp() * (log_q - log_p)).sum(axis=-1).mean()
    loss = weight * temperature**2 * divergence
    return loss if weight == 1 else loss + (1 - weight) * cross_entropy(student, labels)

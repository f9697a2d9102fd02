# From modules/source/24_compression/compression_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: 47b6dd88beffd97d
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

    w        array of any shape
    amount   the share to remove, from 0 to 1; otherwise ValueError
    returns  bool array of the shape of `w`: False for exactly round(amount * w.size) weights
             with the smallest absolute values

    >>> prune_magnitude(np.array([3.0, -1.0, 2.0, 0.5, -4.0]), 0.4)
    array([ True, False,  True, False,  True])
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
    """Which weights of a whole model remain when the least salient ones are removed."""
    scores = {path: saliency[path] if isinstance(saliency, dict) else saliency(w)
              for path, w in matrices(model).items()}
    mask = prune_magnitude(np.concatenate([s.ravel() for s in scores.values()]), amount)
    ends = np.cumsum([s.size for s in scores.values()])
    return {path: mask[end - s.size : end].reshape(s.shape)
            for (path, s), end in zip(scores.items(), ends)}


def stored_bytes(w):
    """The bytes that an array needs in three formats.

    w        array of any shape and float dtype

    >>> stored_bytes(np.array([[0.0, 1.5, 0.0, 0.0, 2.0]], "float32"))
    {'dense': 20, 'mask': 9, 'index': 12}
    """
    nonzero = int(np.count_nonzero(w))
    place = 2 if w.size <= 65536 else 4
    return {"dense": w.nbytes, "mask": nonzero * w.itemsize + (w.size + 7) // 8,
            "index": nonzero * (w.itemsize + place)}


class Mask:
    """Keeps weights at 0 during training.

    masks   {path: bool array}, as `prune_global` returns it. A path that is no parameter of the
            model is a KeyError
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

    loss     a function of the model's outputs that returns one number, a Tensor of shape ()
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

    returns  float32 array (k, n)
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

    >>> prune_neurons(Dense(64, 256), Dense(256, 64), [7, 100, 8])
    (Dense(64, 3), Dense(3, 64))
    """
    def data(bias):
        return None if bias is None else bias.data

    bias = None if first.bias is None else first.bias.data[keep]
    return (dense_of(first.weights.data[:, keep], bias),
            dense_of(second.weights.data[keep], data(second.bias)))


def low_rank(dense, rank):
    """Two smaller layers in place of one, by the singular value decomposition.

    >>> low_rank(Dense(64, 256), 16)
    Sequential(Dense(64, 16, bias=False), Dense(16, 256))
    """
    bias = None if dense.bias is None else dense.bias.data
    u, s, vt = np.linalg.svd(dense.weights.data, full_matrices=False)
    return Sequential(dense_of(u[:, :rank] * s[:rank]), dense_of(vt[:rank], bias))


def low_rank_for(dense, x, rank, damping=0.001):
    """Like `low_rank`, but the *outputs* for the inputs `x` (m, in) are as close as possible."""
    x = np.asarray(x, np.float64)
    h = x.T @ x
    s = np.linalg.cholesky(h + damping * np.diag(h).mean() * np.eye(len(h)))
    first, second = low_rank(dense_of(s.T @ dense.weights.data), rank)
    return Sequential(dense_of(np.linalg.solve(s.T, first.weights.data).astype(np.float32)),
                      dense_of(second.weights.data.astype(np.float32),
                               None if dense.bias is None else dense.bias.data))


class LoRA(Module):
    """A Dense layer with fixed weights, plus a low-rank product that can be trained."""

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

    states   list of state dicts {name: array} with the same names and shapes

    >>> average([{"w": np.array([1.0, 2.0])}, {"w": np.array([3.0, 6.0])}], [0.25, 0.75])
    {'w': array([2.5, 5. ])}
    """
    weights = [1 / len(states)] * len(states) if weights is None else weights
    return {name: sum(w * state[name] for w, state in zip(weights, states)).astype(array.dtype)
            for name, array in states[0].items()}


def distillation_loss(student, teacher, labels, temperature=2.0, weight=0.5):
    """The loss of a student that learns from the answers of a teacher and from labels.

    returns      Tensor of shape (): weight * T² * KL(teacher || student) + (1 - weight) *
                 cross_entropy(student, labels), both averaged over the batch
    """
    student, teacher = as_float_tensor(student), as_float_tensor(teacher).detach()
    log_p, log_q = log_softmax(student / temperature), log_softmax(teacher / temperature)
    divergence = (log_q.exp() * (log_q - log_p)).sum(axis=-1).mean()
    loss = weight * temperature**2 * divergence
    return loss if weight == 1 else loss + (1 - weight) * cross_entropy(student, labels)

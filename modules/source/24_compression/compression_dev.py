# %% [markdown]
# # 24. Compression
#
# How many numbers does a network need? In the picture, a small GPT that was trained on two
# novels continues a sentence, always with the same random draws. More and more of the weights
# in its matrices are replaced by 0. A hatched word is in neither novel.

# %% tags=["payoff"]
from tinytorch.pictures.compression import pruned_texts
from tinytorch.pictures.quantization import draw_texts

texts = pruned_texts("She was", [0.0, 0.5, 0.8, 0.9], tokens=24)
draw_texts({f"{share:.0%} zeros": text for share, text in texts.items()})
# caption: Without half of its weights, the model still writes words.
# alt: Four texts that begin with "She was", each word in a box. With 0 % and 50 % zeros no word
# is hatched. With 80 %, 3 of 11 are, and with 90 %, the third and last one.

# %% [markdown]
# With 50 % zeros the model still writes sentences, while at 80 % it writes pieces of words, and
# at 90 % it repeats a few letters. **Compression** makes a model smaller: with fewer bits for
# each number (lesson 23), or with fewer numbers. Near the end, one picture compares five ways.
#
# **You need** 17 (Differentiation) and 23 (Quantization). **You build** pruning of weights and
# neurons, masks, low-rank layers, LoRA, averages of models, and distillation.

# %%
#| default_exp core.compression
#| export
import copy
import math

import numpy as np

from tinytorch.core.activations import log_softmax
from tinytorch.core.differentiation import hutchinson, hvp
from tinytorch.core.layers import Dense, Linear, Module, Sequential, generator, linear
from tinytorch.core.losses import as_float_tensor, cross_entropy
from tinytorch.core.tensor import Tensor, Variable
from tinytorch.func import functional_call

# %% [markdown] page="Removing single weights"
# ## Magnitude pruning
#
# We begin with the simplest way to have fewer numbers. **Pruning** sets weights of a trained
# network to 0. A weight of 0.001 changes the output of its layer much less than a weight of 2.
# **Magnitude pruning** removes the weights with the smallest absolute values.
#
# **Task.** Write `prune_magnitude`. Its result is a *mask*, True where a weight is kept. A
# threshold is not enough: of equally large weights, all could fall below it or none. Sort the
# *places* by absolute value (`np.argsort`), and remove the first ones.

# %% Pruning by magnitude exercise="magnitude"
#| export
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
    ### BEGIN SOLUTION
    order = np.argsort(np.abs(w), axis=None)
    mask = np.ones(w.size, bool)
    mask[order[: round(amount * w.size)]] = False
    return mask.reshape(w.shape)
    ### END SOLUTION

# %% checks="magnitude"
check("magnitude")

# %% [markdown]
# Here is `prune_magnitude`, applied to each matrix of the GPT:

# %%
for share, text in pruned_texts("She was", [0.3, 0.5, 0.7], prune=prune_magnitude).items():
    print(f"{share:4.0%} zeros: {text}")

# %% [markdown]
# At 50 % the text is worse than in the first print. There, all matrices were ranked together,
# while here each one loses the same share. You come back to this in the next section.
#
# We measure the damage on text that the model was not trained on, as in lesson 15: how many
# *bits per character* the pruned model needs more than the original. The model has 136,960
# parameters; 98,304 of them are in the eight matrices of its blocks, and only these are pruned.
# Predict: how much worse than the smallest weights is it to remove *random* ones?

# %%
#| export
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

# %%
from tinytorch.core.transformers import held_out_bits
from tinytorch.generate import load_small_gpt
from tinytorch.pictures.compression import (draw_bytes, draw_plane, draw_shares, draw_singular,
                                            draw_zeros, inputs_of, names_text)
from tinytorch.text import load_text

model, tokenizer = load_small_gpt()
test_ids = tokenizer.encode(load_text("test"))[:8000]
characters = np.array([len(tokenizer.token(id)) for id in range(tokenizer.vocab_size)])
exact = held_out_bits(model, test_ids, characters)


def bits_lost(changed):
    """The bits per character that a changed model needs more than the original one."""
    return held_out_bits(changed, test_ids, characters) - exact

# %% tags=["answer", "explained"]
weights, rng = matrices(model), np.random.default_rng(0)
AMOUNTS = (0.3, 0.5, 0.7, 0.8, 0.9)
curves = {"random": [], "each matrix": []}
for amount in AMOUNTS:
    chance = {path: w * prune_magnitude(rng.random(w.shape), amount)
              for path, w in weights.items()}
    small = {path: w * prune_magnitude(w, amount) for path, w in weights.items()}
    curves["random"].append(bits_lost(replaced(model, chance)))
    curves["each matrix"].append(bits_lost(replaced(model, small)))
    print(f"{amount:.0%} zeros: random {curves['random'][-1]:.3f} bits per character lost, "
          f"smallest {curves['each matrix'][-1]:.3f}")

# %% [markdown]
# Removing 30 % of the weights at random does more harm than removing the smallest 70 %. The
# original needs 1.69 bits per character. The compressor zlib, which reads the training text
# first, needs 2.84 (lesson 15), so a model that loses more than 1.15 bits is useless.
#
# ## Global pruning
#
# Must each matrix lose the same share? **Global pruning** ranks the weights of all matrices
# together, so that a matrix with many small weights loses more. The weights are ranked by a
# **saliency**: a number for each weight that estimates how much its removal would hurt. For
# magnitude pruning it is the absolute value; we will find a better one.
#
# **Task.** Write the end of `prune_global`: put all scores into one long array, call
# `prune_magnitude` once, and cut its mask into pieces again.

# %% Pruning all layers together exercise="global"
#| export
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
    ### BEGIN SOLUTION
    mask = prune_magnitude(np.concatenate([s.ravel() for s in scores.values()]), amount)
    ends = np.cumsum([s.size for s in scores.values()])
    return {path: mask[end - s.size : end].reshape(s.shape)
            for (path, s), end in zip(scores.items(), ends)}
    ### END SOLUTION

# %% checks="global"
check("global")

# %% [markdown]
# Predict: does it help our GPT to rank all weights together?

# %% tags=["answer", "explained"]
def masked(model, masks):
    return replaced(model, {path: matrices(model)[path] * masks[path] for path in masks})


curves["all together"] = [bits_lost(masked(model, prune_global(model, amount)))
                          for amount in AMOUNTS]
for amount, one, other in zip(AMOUNTS, curves["each matrix"], curves["all together"]):
    print(f"{amount:.0%} zeros: each matrix {one:.3f} bits lost, all together {other:.3f}")
figure = draw_shares({path.removesuffix(".weights"): 1 - mask.mean()
                      for path, mask in prune_global(model, 0.5).items()})
# alt: Eight bars: the share of zeros in each matrix when half of all weights are removed. The
# two matrices of the feed-forward network in block 1 lose 90 and 94 %, the others 25 to 43 %.

# %% [markdown]
# It helps a lot, and the picture shows why. The feed-forward network of block 1
# (`blocks.1.mlp`) has very small weights, and loses nearly all of them. The section about
# neurons comes back to it. Because this is a fact about *this* model, measure it again for
# every model that you compress: `load_gpt` of `tinytorch.text` reads the one that you trained
# in the milestone `gpt`.
#
# ## The bytes of a sparse matrix
#
# A 0 in a float32 array still takes 4 bytes. A **sparse matrix** is a matrix that is stored as
# its nonzero numbers together with their places. There are several ways to store the places:
#
# - *mask*: one bit for each weight, zero or not; eight of them fill a byte.
# - *index*: for each nonzero weight its place in the flattened matrix, a whole number. 2 bytes
#   are enough for the places 0 to 65,535, larger matrices need 4.
#
# **Task.** Write `stored_bytes`.

# %% The bytes of a sparse matrix exercise="stored-bytes"
#| export
def stored_bytes(w):
    """The bytes that an array needs in three formats.

    w        array of any shape and float dtype
    returns  {"dense": all numbers, "mask": the nonzero numbers and one bit for each number of
             `w`, rounded up to whole bytes, "index": the nonzero numbers and one place for each
             of them, of 2 bytes if w.size is at most 65,536, otherwise 4}; ints

    >>> stored_bytes(np.array([[0.0, 1.5, 0.0, 0.0, 2.0]], "float32"))
    {'dense': 20, 'mask': 9, 'index': 12}
    """
    ### BEGIN SOLUTION
    nonzero = int(np.count_nonzero(w))
    place = 2 if w.size <= 65536 else 4
    return {"dense": w.nbytes, "mask": nonzero * w.itemsize + (w.size + 7) // 8,
            "index": nonzero * (w.itemsize + place)}
    ### END SOLUTION

# %% checks="stored-bytes"
check("stored-bytes")

# %% [markdown]
# Predict from which share of zeros each format is smaller than the dense one.

# %% tags=["answer", "explained"]
w = weights["blocks.0.mlp.0.weights"]
for amount in (0.0, 0.05, 0.3, 0.5, 0.8, 0.9, 0.99):
    sizes = stored_bytes(w * prune_magnitude(w, amount))
    print(f"{amount:4.0%} zeros: " + "   ".join(f"{k} {n:6,}" for k, n in sizes.items()))

# %% [markdown]
# The mask costs 1 bit for each number of 32 bits, so it pays above 1/32, about 3 % of zeros.
# With an index, each kept number costs 6 bytes in place of 4, so it pays when at most 2/3 are
# kept. At 99 % zeros, the index is the smallest. With half of the weights removed, we save less
# than half of the bytes, and no time, because our matrix product also multiplies by zeros.
# **Unstructured pruning** is pruning that removes weights anywhere in a matrix, as here.
#
# ## Training with a mask
#
# After pruning, the other weights can adapt: we train again for a while. But an optimizer step
# also changes the zeros. Because their gradients are not 0, and with momentum an optimizer
# moves them even when they are 0, we multiply by the masks again after every step.
#
# How do we multiply after *every* step? We put our own function in place of `optimizer.step`.
# It calls the old step first, and then applies the masks. This looks like a trick, but
# PyTorch's schedules do the same, to notice a forgotten `optimizer.step()`.
#
# **Task.** Write `apply` and `attach`.

# %% Training with a mask exercise="mask"
#| export
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
        ### BEGIN SOLUTION
        for p, mask in self.pairs:
            p.data[~mask] = 0
        ### END SOLUTION

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
        ### BEGIN SOLUTION
        step = optimizer.step

        def masked_step():
            step()
            self.apply()

        optimizer.step = masked_step
        self.apply()
        return self
        ### END SOLUTION

# %% checks="mask"
check("mask")

# %% [markdown]
# A network with 64 hidden neurons learns to read digits; then we remove most of its 4,736
# weights. Predict how many of the 359 test digits it reads right at 90 % zeros: right after
# pruning, and after 15 more epochs.

# %% tags=["answer", "explained"]
from tinytorch.core.activations import ReLU
from tinytorch.core.layers import he_normal
from tinytorch.core.optimizers import AdamW
from tinytorch.data.image_sets import flat_digits

(images, labels), (test_images, test_labels) = flat_digits("train"), flat_digits("test")


def network(seed, hidden=64):
    rng = np.random.default_rng(seed)
    return Sequential(Dense(64, hidden, init=he_normal, rng=rng), ReLU(),
                      Dense(hidden, 10, rng=rng))


def fit(net, epochs, masks=None, seed=0):
    optimizer, rng = AdamW(net.parameters(), lr=3e-3), np.random.default_rng(seed)
    if masks:
        Mask(net, masks).attach(optimizer)
    for _ in range(epochs):
        for batch in np.array_split(rng.permutation(len(images)), len(images) // 32):
            loss = cross_entropy(net(Tensor(images[batch])), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return net


def right(net):
    return (net(Tensor(test_images)).data.argmax(axis=1) == test_labels).mean()


net = fit(network(seed=0), epochs=20)
print(f"trained: {right(net):.1%}")
for amount in (0.5, 0.8, 0.9, 0.95, 0.98):
    masks = prune_global(net, amount)
    pruned = masked(net, masks)
    before = right(pruned)
    print(f"{amount:.0%} zeros: {before:.1%}, after more training "
          f"{right(fit(pruned, 15, masks)):.1%}")

# %% [markdown]
# At 90 % zeros, training again repairs most of the damage. Beyond that, there are limits.

# %% [markdown] page="Choosing by second derivatives"
# ## Second derivatives
#
# Is a small weight always unimportant? Multiply all weights into one hidden neuron by 8, and
# divide all weights out of it by 8. Since relu(8 z) = 8 relu(z), the network computes exactly
# the same. Because magnitude pruning now removes other weights, however, the size of a weight
# cannot be the whole truth.
#
# What matters is how much the *loss* grows. Near a minimum the gradient is almost 0, and the
# loss is a parabola along each weight. With the second derivative $h$ of the loss along a
# weight $w$, moving this weight to 0 costs about
#
# $$\frac{1}{2} h\, w^2$$
#
# **Optimal brain damage** (OBD) is pruning with $h w^2 / 2$ as the saliency. The second
# derivatives $h$ are the diagonal of the Hessian. Lesson 17 has what you need: `hvp(f, x, v)`
# is the Hessian of `f` at `x` times `v`. `hutchinson(matvec, like, probes, rng)` estimates from
# such products the trace and the diagonal, and returns both. Here `f` is a function of *one*
# vector with all parameters; `functional_call(model, vector, x)` computes `model(x)` with the
# numbers of `vector` as parameters.
#
# An estimate from few vectors has an error, and can be negative. The error is large where the
# Hessian has large entries for this weight *and other weights*, and then removing the weight is
# risky. So `prune_global` ranks scores by their absolute values.
#
# **Task.** Write the middle of `saliency_obd`: first the function `f` from a vector to the
# loss, then the diagonal, then the scores.

# %% Saliency by second derivatives exercise="obd"
#| export
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
    ### BEGIN SOLUTION
    def f(vector):
        return loss(functional_call(model, vector, x))

    _, diagonal = hutchinson(lambda v: hvp(f, w, v), w, probes, rng)
    scores = diagonal.data * w.data**2 / 2
    ### END SOLUTION
    named, result, start = matrices(model), {}, 0
    for path, p in model.named_parameters():
        if path in named:
            result[path] = scores[start : start + p.size].reshape(p.shape)
        start += p.size
    return result

# %% checks="obd"
check("obd")

# %% [markdown]
# Below, `rescaled` multiplies the weights into each hidden neuron by a random factor from 1/8
# to 8, and divides those out of it by the same factor. Predict the effect on both kinds of
# pruning, at 50 % zeros.

# %% tags=["answer", "explained"]
def rescaled(net, seed):
    net = copy.deepcopy(net)
    factors = np.exp(np.random.default_rng(seed).uniform(-2.08, 2.08, 64)).astype("float32")
    net[0].weights.data *= factors
    net[0].bias.data *= factors
    net[2].weights.data /= factors[:, None]
    return net


x = Tensor(images)
for name, one in [("as trained", net), ("rescaled", rescaled(net, 0)),
                  ("rescaled again", rescaled(net, 1))]:
    obd = saliency_obd(one, x, lambda out: cross_entropy(out, labels), 30,
                       np.random.default_rng(0))
    by_size, by_loss = (right(masked(one, prune_global(one, 0.5, s))) for s in (abs, obd))
    print(f"{name:15}{right(one):.1%} right; half removed: by size {by_size:.1%}, "
          f"by h w² / 2 {by_loss:.1%}")
negative = np.mean([score < 0 for s in obd.values() for score in s.ravel()])
no_negative = {path: np.maximum(s, 0) for path, s in obd.items()}
print(f"{negative:.0%} of the estimates are negative; if they count as 0: "
      f"{right(masked(one, prune_global(one, 0.5, no_negative))):.1%}")

# %% [markdown]
# The three networks compute the same outputs. Magnitude pruning damages the rescaled ones
# badly, and OBD treats all three alike. Negative estimates must not count as 0. For the network
# *as trained*, OBD is hardly better than magnitude pruning, because its formula treats each
# weight as if it were removed alone. The next method looks at weights together.
#
# ## Moving the other weights
#
# How weights work together is in the other entries of the Hessian. For a whole GPT it is far
# too large, although for one matrix there is a smaller question, the one that lesson 23 asked:
# how much do the *outputs of this layer* change? Let $X$ be a matrix of typical inputs, one in
# each row. When a column $w$ of the weights changes by $d$, the squared error of the outputs is
# $|Xd|^2 = d^T H d$ with $H = X^T X$.
#
# **Optimal brain surgeon** (OBS) removes a weight and moves the other weights of its column to
# make up for it. For example, let the first two inputs be always equal, with the weights 2 and
# 3. Removing the 2 costs nothing when the 3 becomes 5. In general we look for the $d$ with
# $d_i = -w_i$ and the smallest error. Only $d_i$ is fixed, so the derivative of the error,
# $2Hd$, must be 0 in all other places: $H d = c\, e_i$, where $e_i$ is 1 in place $i$ and 0
# elsewhere. Then $d = c\, H^{-1} e_i$. From $d_i = -w_i$ follows $c = -w_i / [H^{-1}]_{ii}$,
# and the error $d^T H d = c\, d_i$ is
#
# $$\frac{w_i^2}{[H^{-1}]_{ii}}$$
#
# This is the saliency of OBS. It is small when the weight is small, and also when the other
# inputs can replace input $i$. For a diagonal $H$ it is $H_{ii} w_i^2$, as in OBD. When an
# input is always 0, or two are always equal, $H$ has no inverse. So a small number is added to
# its diagonal (*damping*).
#
# Then many weights are removed at once. The best values of the remaining weights of a column,
# $w_K$, follow in the same way: $H (w_\text{new} - w)$ is 0 in the rows of $K$. Outside of $K$,
# $w_\text{new}$ is 0. So with $t = H w$, from the original column,
#
# $$H_{KK}\, w_K = t_K$$
#
# where $H_{KK}$ contains the rows and columns of $H$ that belong to remaining weights. (`gptq`
# of lesson 23 has the same idea: removing a weight is rounding it to a grid with the single
# number 0. But rounding one row moves the later rows, so `gptq` goes one by one.)
#
# **Task.** Write the end of `obs_prune`: the saliency, the mask, and the solution for each
# column. `h[np.ix_(keep, keep)]` selects rows and columns by a mask.

# %% Moving the other weights exercise="obs"
#| export
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
    ### BEGIN SOLUTION
    mask = prune_magnitude(w**2 / np.diag(np.linalg.inv(h))[:, None], amount)
    target, out = h @ w, np.zeros(w.shape)
    for column in range(w.shape[1]):
        keep = mask[:, column]
        out[keep, column] = np.linalg.solve(h[np.ix_(keep, keep)], target[keep, column])
    ### END SOLUTION
    return out.astype(np.float32)

# %% checks="obs"
check("obs")

# %% [markdown]
# Now the GPT. `inputs_of(model, ids)` records what each layer receives while the model reads
# 64 windows of *training* text. OBS decides inside each matrix. The share of each matrix comes
# from `prune_global`, because we have seen how much this matters. Predict: at which shares of
# zeros does OBS lose fewer bits than magnitude pruning?

# %% tags=["answer", "explained"]
train_ids = tokenizer.encode(load_text("train")[:400_000])
starts = np.random.default_rng(0).integers(0, len(train_ids) - 64, 64)
inputs = inputs_of(model, train_ids[starts[:, None] + np.arange(64)])


def obs(amount):
    """The GPT with this share of zeros, by OBS, and the share of each matrix by its size."""
    shares = {path: 1 - mask.mean() for path, mask in prune_global(model, amount).items()}
    return replaced(model, {path: obs_prune(w, inputs[path], shares[path])
                            for path, w in weights.items()})


curves["OBS, all together"] = [bits_lost(obs(amount)) for amount in AMOUNTS]
for amount, one, other in zip(AMOUNTS, curves["all together"], curves["OBS, all together"]):
    print(f"{amount:.0%} zeros: magnitude {one:.3f} bits lost, OBS {other:.3f}")
figure = draw_zeros(AMOUNTS, curves)
# caption: The more a method knows about the loss, the more weights it can remove.
# alt: Bits per character lost, on a logarithmic axis, against the share of zeros. Random
# pruning is far above the others. Pruning each matrix alike is below it, ranking all weights
# together is below that, and OBS is the lowest at every share.

# %% [markdown]
# OBS loses less than magnitude pruning at every share, and at 50 % about half as much. It needs
# no training and no gradient, only some text. But ranking all matrices together has saved more
# bits than OBS saves after it, at every share.

# %% [markdown] page="Smaller layers"
# ## Pruning neurons
#
# Zeros scattered over a matrix save bytes, and no time. **Structured pruning** removes whole
# rows and columns, so that smaller dense matrices remain. A hidden neuron of a feed-forward
# network is a column of the first matrix, an entry of its bias, and a row of the second
# matrix.
#
# **Task.** Write `prune_neurons`. `dense_of(weights, bias)` makes a Dense layer from arrays.

# %% Pruning neurons exercise="neurons"
#| export
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

    ### BEGIN SOLUTION
    bias = None if first.bias is None else first.bias.data[keep]
    return (dense_of(first.weights.data[:, keep], bias),
            dense_of(second.weights.data[keep], data(second.bias)))
    ### END SOLUTION

# %% checks="neurons"
check("neurons")

# %% [markdown]
# How important is a neuron? It contributes its activation, times its row of the second matrix,
# to the output. So we rank the neurons by the root mean square of the activation, times the
# length of the row. Our GPT has 256 neurons in each of its two blocks. Predict how many of the
# 512 can be removed for less than 0.01 bits.

# %% tags=["answer", "explained"]
importance = {}
for n in (0, 1):
    path = f"blocks.{n}.mlp.2.weights"
    importance[n] = (np.sqrt((inputs[path] ** 2).mean(axis=0))
                     * np.linalg.norm(weights[path], axis=1))
    middle, largest = np.median(importance[n]), importance[n].max()
    print(f"block {n}: median {middle:.4f}, largest {largest:.2f}")


def without_neurons(model, share, multiple=1):
    """A copy without this share of the neurons. Each block keeps a multiple of `multiple`
    neurons, because GPTQ will need groups of 32."""
    changed = copy.deepcopy(model)
    limit = np.quantile(np.concatenate(list(importance.values())), share)
    for block, scores in zip(changed.blocks, importance.values()):
        count = max(1, -(-(scores >= limit).sum() // multiple)) * multiple
        keep = np.sort(np.argsort(-scores)[:count])
        first, activation, second = block.mlp
        first, second = prune_neurons(first, second, keep)
        block.mlp = Sequential(first, activation, second)
    return changed


for share in (0.25, 0.4, 0.48, 0.6, 0.75):
    small = without_neurons(model, share)
    kept = [len(block.mlp[2].weights.data) for block in small.blocks]
    print(f"{share:.0%} removed, {kept} neurons kept: {bits_lost(small):.4f} bits lost")

# %% [markdown]
# A **dead neuron** is a neuron that contributes (almost) nothing to the output. In block 1, all
# but about ten of the 256 neurons are dead: 246 can be removed for less than 0.01 bits. After
# that, the neurons of block 0 must go, and they cost a lot. So look for dead neurons first.
#
# Do smaller matrices also save time? We measure one feed-forward network on 512 tokens, with
# half of the weights removed in two ways.

# %% tags=["demonstration"]
from time import process_time
from timeit import repeat

tokens, mlp = Tensor(np.random.default_rng(0).normal(size=(512, 64)).astype("float32")), {}
first, gelu, second = model.blocks[0].mlp
mlp["all weights"] = model.blocks[0].mlp
zeros = {path: w * prune_magnitude(w, 0.5) for path, w in weights.items()}
mlp["half of the weights are 0"] = replaced(model, zeros).blocks[0].mlp
first, second = prune_neurons(first, second, np.arange(128))
mlp["half of the neurons"] = Sequential(first, gelu, second)
for name, part in mlp.items():
    best = min(repeat(lambda: part(tokens), timer=process_time, repeat=10, number=20)) / 20
    print(f"{name:26}{1000 * best:.2f} ms")

# %% [markdown]
# Half of the neurons means half of the multiplications, and about half of the time. Zeros
# inside a matrix save no time.
#
# ## Low-rank layers
#
# Besides pruning, there is another way to have fewer numbers. A matrix of rank $r$ is a product
# of a tall and a wide matrix, with $r$ columns and $r$ rows. A layer of 64 inputs and 256
# outputs has 16,384 weights; with rank 16, the two factors have $16 \cdot (64 + 256) =
# 5{,}120$. The *singular value decomposition* (SVD) writes any matrix as $W = U S V^T$, where
# $S$ is diagonal and contains the *singular values*, the largest first. A **low-rank
# approximation** keeps only the $r$ largest of them. It is the closest matrix of rank $r$
# (Eckart and Young, 1936).
#
# **Task.** Write `low_rank`. `np.linalg.svd(W, full_matrices=False)` returns $U$, the singular
# values as a vector, and $V^T$.

# %% A low-rank layer exercise="low-rank"
#| export
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
    ### BEGIN SOLUTION
    u, s, vt = np.linalg.svd(dense.weights.data, full_matrices=False)
    return Sequential(dense_of(u[:, :rank] * s[:rank]), dense_of(vt[:rank], bias))
    ### END SOLUTION


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

# %% checks="low-rank"
check("low-rank")

# %% [markdown]
# We replace each of the eight matrices by two factors. Predict: how many of 64 singular values
# does a trained matrix need?

# %% tags=["answer", "explained"]
def factored(rank, factor):
    """The GPT with the two factors that factor(layer, path, rank) returns for each layer."""
    layers = {path: layer for path, layer in model.named_modules() if type(layer) is Dense}
    return copy.deepcopy(model, {id(layer): factor(layer, path + ".weights", rank)
                                 for path, layer in layers.items()})


def for_outputs(layer, path, rank):
    return low_rank_for(layer, inputs[path], rank)


low_ranks = {"SVD": lambda layer, path, rank: low_rank(layer, rank),
             "for the outputs": for_outputs}
for rank in (48, 32, 24, 16):
    lost = {name: bits_lost(factored(rank, factor)) for name, factor in low_ranks.items()}
    count = sum(p.size for p in factored(rank, low_ranks["SVD"]).parameters())
    print(f"rank {rank} of 64: {count:,} parameters of 136,960   "
          + "   ".join(f"{name} {bits:.3f} bits lost" for name, bits in lost.items()))
noise = np.random.default_rng(0).normal(size=(64, 256))
figure = draw_singular({"block 0": weights["blocks.0.mlp.0.weights"], "random": noise,
                        "block 1": weights["blocks.1.mlp.0.weights"]})
# alt: Singular values divided by the largest, by number, 1 to 64. The curve of a random matrix
# falls in a straight line from 1 to 0.35. In block 0, the first value is the largest, and the
# others fall in a straight line from 0.7 to 0.25. In block 1 the curve bends: half of the
# values are below 0.15.

# %% [markdown]
# This trained GPT is not low-rank. With rank 48 there are as many parameters as before, and
# with rank 32, which leaves three quarters of them, the loss is already large. The picture
# shows the reason. In block 0, the first singular value is larger and the last one is small.
# All others fall about as slowly as in a random matrix, so there is little to cut off. (Block 1
# falls fast: nearly all of its neurons are dead.) The second method makes the *outputs* as
# close as possible, in the way OBS does, and loses less, although it does not change the
# conclusion.
#
# Low rank is useful for something else: not for the weights, but for their *change*.
#
# ## LoRA
#
# Low-rank matrices can also adapt a model to a new task. **Fine-tuning** continues the training
# of a trained model, on other data. It changes all weights, so each new task needs a copy
# of the whole model, and Adam needs two more numbers for each weight. **LoRA** (low-rank
# adaptation) keeps the trained weights $W$ fixed, and trains only a low-rank product that is
# added to them:
#
# $$y = x W + b + \frac{\alpha}{r}\; x A B$$
#
# $A$ has $r$ columns, and $B$ has $r$ rows. $A$ begins with random numbers and $B$ with zeros,
# so at first the outputs do not change. If both were 0, their gradients would always be 0.
# After training, $\frac{\alpha}{r} A B$ can be added to $W$, and the layer is an ordinary one
# again.
#
# **Task.** Write the three methods of `LoRA`. A Variable that is an attribute is a parameter
# (lesson 04); a Tensor that requires no gradient is not. `tensor.detach()` is such a Tensor,
# with the same numbers.

# %% LoRA exercise="lora"
#| export
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
        ### BEGIN SOLUTION
        self.weights = dense.weights.detach()
        self.bias = None if dense.bias is None else dense.bias.detach()
        self.A, self.B = Variable(a), Variable(np.zeros((rank, outputs), np.float32))
        self.scale = alpha / rank
        ### END SOLUTION

    def forward(self, x):
        """x W + b + alpha / rank x A B, for `x` of shape (..., in)."""
        ### BEGIN SOLUTION
        return linear(x, self.weights, self.bias) + self.scale * (x @ self.A @ self.B)
        ### END SOLUTION

    def merge(self):
        """A new Dense layer that computes the same as this one. This layer does not change."""
        ### BEGIN SOLUTION
        bias = None if self.bias is None else self.bias.data
        return dense_of(self.weights.data + self.scale * (self.A.data @ self.B.data), bias)
        ### END SOLUTION


def with_lora(model, rank, alpha=1.0, rng=None):
    """A copy of a model with a LoRA in place of each Dense layer; nothing else is trained."""
    frozen, rng = copy.deepcopy(model).requires_grad_(False), generator(rng)
    layers = [part for part in frozen.modules() if type(part) in (Dense, Linear)]
    return copy.deepcopy(frozen, {id(layer): LoRA(layer, rank, alpha, rng) for layer in layers})

# %% checks="lora"
check("lora")

# %% [markdown]
# The GPT has read novels. Now it shall write first names. The new text is a list of 5,163 names
# in random order; a tenth of them is held out. We train all weights, and then LoRA with the
# ranks 2 and 8. What does the model *forget*? For each result we measure two texts: held-out
# names and held-out novels. Predict: does LoRA, which can change less, forget less?

# %% tags=["answer", "explained"]
from tinytorch.core.optimizers import clip_grad_norm_, warmup_cosine
from tinytorch.core.transformers import lm_loss, text_batch

names, held_out_names = map(tokenizer.encode, names_text())


def two_texts(model):
    """Bits per character of the names and of the novels."""
    return tuple(held_out_bits(model, ids, characters) for ids in (held_out_names, test_ids))


def tuned(model, lr, steps=150):
    model, rng = copy.deepcopy(model).train(), np.random.default_rng(0)
    optimizer = AdamW(model.parameters(), lr=lr, betas=(0.9, 0.99), weight_decay=0.0)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = lr * warmup_cosine(step, 8, steps, 0.02)
        loss = lm_loss(model, *text_batch(names, 8, 64, rng))
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model.eval()


def measured(name, model):
    new, old = points[name] = two_texts(model)
    print(f"{name:16} names {new:.2f} bits per character, novels {old:.2f}")
    return model


points = {}
measured("before", model)
full = measured("all weights", tuned(model, lr=1e-3))
for rank, lr in ((2, 1e-2), (8, 3e-3), (8, 1e-2)):
    lora = with_lora(model, rank, alpha=rank, rng=0)
    lora = measured(f"LoRA {rank}, lr {lr}", tuned(lora, lr))
lora_share = sum(p.size for p in lora.parameters()) / 136_960
print(f"LoRA with rank 8 trains {lora_share:.0%} of the parameters")

# %% [markdown]
# LoRA learns less than full training. In these runs, with one seed, it does not forget less,
# unlike in *LoRA learns less and forgets less* by Biderman et al. (2024): one point needs about
# as many bits for the novels, the other two need more. But LoRA saves memory, because Adam
# keeps two numbers only for each *trained* weight. And a file with $A$ and $B$ is small.

# %% [markdown] page="Averages, teachers and a comparison"
# ## Averages of models
#
# There is a simpler way to forget less. **Weight averaging** computes each weight of a new
# model as the mean of that weight in several models. For two networks that were trained
# separately, there is no reason to expect a good model. But fine-tuning starts from the old
# weights and moves a short way, so the models between old and new weights are worth a try.
#
# **Task.** Write `average`, for state dicts (lesson 04).

# %% The average of models exercise="average"
#| export
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
    ### BEGIN SOLUTION
    weights = [1 / len(states)] * len(states) if weights is None else weights
    return {name: sum(w * state[name] for w, state in zip(weights, states)).astype(array.dtype)
            for name, array in states[0].items()}
    ### END SOLUTION

# %% checks="average"
check("average")

# %% [markdown]
# We average the original model and the one with all weights trained. Predict where the
# averages lie in the picture of both texts, compared with LoRA.

# %% tags=["answer", "explained"]
path = []
for share in (0.0, 0.25, 0.5, 0.75, 1.0):
    mixture = copy.deepcopy(model)
    mixture.load_state_dict(average([model.state_dict(), full.state_dict()],
                                    [1 - share, share]))
    path.append(two_texts(mixture))
    print(f"{share:.0%} new weights: names {path[-1][0]:.2f}, novels {path[-1][1]:.2f}")
figure = draw_plane(path, {name: point for name, point in points.items() if "LoRA" in name})
# alt: Two axes: bits per character of names, and of novels. A curve leads from the
# original model, good at novels and bad at names, through three averages to the model with all
# weights trained. It is bent towards the good corner. All three points of LoRA are above it.

# %% [markdown]
# Lower and further left is better. All three points of LoRA lie above the curve of averages:
# with the same result on names, an average predicts the novels better. But an average needs
# full training, and LoRA trains fewer numbers. (All of this is one small model and one new
# text.)
#
# ## Distillation
#
# So far the small model was made *from* the large one. **Distillation** trains a new small
# model, the **student**, to give the same answers as a trained large one, the **teacher**. The
# teacher's answer to an image is not a label but a probability for each class, which tells for
# example that a 7 looks a little like a 1. The loss is the *Kullback-Leibler divergence* from
# the teacher's probabilities $q$, which come first, to the student's probabilities $p$:
#
# $$\mathrm{KL}(q \,\|\, p) = \sum_c q_c\, (\log q_c - \log p_c)$$
#
# It is 0 when both are equal. Both use logits divided by a *temperature* $T$ (lesson 16), so
# that small probabilities count more. For large $T$ the gradient of this divergence shrinks
# like $1 / T^2$: the division of the student's logits gives one factor $1 / T$, and the smaller
# differences of the probabilities give the other. So the divergence is multiplied by $T^2$. If
# there are labels, their cross-entropy is added:
#
# $$\mathrm{weight} \cdot T^2\, \mathrm{KL}(q \,\|\, p)
# + (1 - \mathrm{weight}) \cdot \text{cross-entropy}$$
#
# **Task.** Write `distillation_loss`. The teacher gets no gradient. Compute logarithms with
# `log_softmax`: the logarithm of a probability that was rounded to 0 is not finite.

# %% The distillation loss exercise="distillation"
#| export
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
    ### BEGIN SOLUTION
    log_p, log_q = log_softmax(student / temperature), log_softmax(teacher / temperature)
    divergence = (log_q.exp() * (log_q - log_p)).sum(axis=-1).mean()
    loss = weight * temperature**2 * divergence
    return loss if weight == 1 else loss + (1 - weight) * cross_entropy(student, labels)
    ### END SOLUTION

# %% checks="distillation"
check("distillation")

# %% [markdown]
# Only 64 of the 1,438 training digits have labels now. The teacher is a convolutional network
# (lesson 10) that sees these 64 in shifted versions. The student is a network with 16 hidden
# neurons, which learns in three ways. Predict the order of the three.

# %% tags=["answer", "explained"]
from tinytorch.pictures.compression import convolutional_teacher, shifted


def learn(net, x, loss, steps, lr, seed, change=lambda x, rng: x):
    optimizer, rng = AdamW(net.parameters(), lr=lr), np.random.default_rng(seed)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = lr * warmup_cosine(step, 0, steps, 0.0)
        batch = rng.choice(len(x), 32, replace=False)
        optimizer.zero_grad()
        loss(net(Tensor(change(x[batch], rng))), batch).backward()
        optimizer.step()
    return net


for seed in (0, 1, 2):
    few = np.random.default_rng(seed).permutation(len(images))[:64]
    x, y = images[few], labels[few]
    teacher = learn(convolutional_teacher(seed), x, lambda out, i: cross_entropy(out, y[i]),
                    600, 5e-3, seed, shifted)
    answers = teacher(Tensor(images)).data
    results = {"teacher": right(teacher)}
    for name, rows, loss in [
            ("64 labels", x, lambda out, i: cross_entropy(out, y[i])),
            ("and teacher", x, lambda out, i: distillation_loss(out, answers[few[i]], y[i])),
            ("teacher on all images", images,
             lambda out, i: distillation_loss(out, answers[i], None, weight=1))]:
        results[name] = right(learn(network(seed, 16), rows, loss, 800, 1e-2, seed))
    print("   ".join(f"{name} {share:.1%}" for name, share in results.items()))

# %% [markdown]
# On the images that have labels, the teacher changes little: the student becomes better with
# some seeds and worse with others. The gain comes from the *other* images, which the teacher
# can label. With them the student becomes about as good as its teacher. With 359 test images, a
# difference of two points can be chance, so look at all three seeds.
#
# ## Five ways in one picture
#
# Which way to make the GPT smaller is the best? Fewer bits or fewer numbers? We count every
# byte that must be stored: masks, scales, tables and biases. A pruned matrix uses the smallest
# of its formats. All five ways store the embedding tables in 8 bits, so that they differ only
# in the matrices. The last one combines two: first remove the dead neurons, then quantize.

# %% tags=["answer", "explained", "payoff"]
from tinytorch.core.quantization import quantizable, quantize_model, size_of

calibration = train_ids[starts[:, None] + np.arange(64)]
TABLES = ("embedding", "positions")


def measure(changed):
    """The bytes and the bits lost of a model, with its tables in 8 bits, and each matrix that
    is not quantized in the smallest format."""
    small = quantize_model(changed, 8, skip=set(quantizable(changed)) - set(TABLES))
    saved = [w.nbytes - min(stored_bytes(w).values()) for w in matrices(small).values()]
    return size_of(small) - sum(saved), bits_lost(small)


def quantized(model, bits):
    """The model with its matrices by GPTQ in groups of 32."""
    return quantize_model(model, bits, calibration, TABLES, group=32)


lighter = without_neurons(model, 0.4, multiple=32)
methods = {
    "OBS pruning": [measure(obs(amount)) for amount in AMOUNTS[:4]],
    "fewer neurons": [measure(without_neurons(model, share))
                      for share in (0.25, 0.4, 0.48, 0.6)],
    "low rank": [measure(factored(rank, for_outputs)) for rank in (40, 32, 24)],
    "GPTQ": [measure(quantized(model, bits)) for bits in (8, 5, 4, 3, 2)],
    "fewer neurons, GPTQ": [measure(quantized(lighter, bits)) for bits in (8, 5, 4, 3, 2)]}
print(f"original: {size_of(model):,} bytes")
for name, row in methods.items():
    print(f"{name:20}" + "  ".join(f"{n:,} bytes {bits:.3f}" for n, bits in row))
figure = draw_bytes(methods, size_of(model))
# caption: In this model, fewer bits per weight cost less than fewer weights. Both together cost
# least.
# alt: Bits per character lost, on a logarithmic axis, against kilobytes. The curves of pruning,
# of neurons and of low rank are to the right. Quantization is to the left of them, and fewer
# neurons together with quantization is to the left of that.

# %% [markdown]
# (Losses below 0.0001 are drawn at 0.0001.) At every loss, quantization needs fewer bytes than
# any method that only removes numbers. Storing a weight in 4 bits saves as much as removing 7
# of 8 weights without storing their places, and does much less harm. Removing dead neurons and
# then quantizing is the best of all. So compress in this order: look for dead parts, then
# quantize, and remove living weights last.
#
# ## Look back
#
# 1. Write `obs_prune` as a loop over the rows, like `gptq`: for each row, replace the removed
#    weights by 0, divide their old values by $U_{ii}$, and move the rows below. Compare its
#    loss at 50 % zeros with yours. Why is yours smaller?
# 2. Take the masks of the digits network at 90 % zeros, and train a *new* network with them
#    from other random weights. Do the same with random masks. What does the mask alone know?
#    (Frankle and Carbin, 2019, also keep the first random weights.)
# 3. Prune the digits network in five steps with three epochs after each, and compare it with
#    one step and fifteen epochs. How many seeds do you need before you trust the difference?
# 4. Give the digits student the teacher's most likely class as its label. Does it need the
#    probabilities?
#
# PyTorch: `torch.nn.utils.prune` has `l1_unstructured`, `global_unstructured` and
# `ln_structured`. They store a mask and compute `weight_orig * weight_mask` in each forward
# pass. You have to make sparse or smaller matrices yourself. LoRA is in the library PEFT by
# Hugging Face. `torch.optim.swa_utils.AveragedModel` averages models during training. For
# distillation, `torch.nn.functional.kl_div(log_p, q, reduction="batchmean")` is the divergence;
# its default reduction also divides by the number of classes.

# %% [markdown] tags=["answer"]
# 1. For a given mask, yours has the smallest possible error of the outputs: it solves for all
#    remaining weights of a column together. The loop moves only the rows below, so a row that
#    it has passed cannot compensate for a weight that is removed later.

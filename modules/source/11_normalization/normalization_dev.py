# %% [markdown]
# # 11. Normalization
#
# Why does a network of 20 layers not learn, and what makes it learn? The plot shows the loss of
# three networks during 100 training steps on handwritten digits. All have 20 layers of 64
# units. The first one learns nothing. The second one has batch norm, the third one layer norm
# and residual connections: after these 100 steps it recognizes 96 % of the test digits.

# %% tags=["payoff"]
#| default_exp core.normalization
#| export
import numpy as np

from tinytorch.core.autograd import derivative, no_grad
from tinytorch.core.layers import Dense, Module
from tinytorch.core.losses import as_float_tensor
from tinytorch.core.tensor import Tensor, Variable, apply
from tinytorch.support.arguments import (as_shape, channel_axes, checked_rank, joined_axes,
                                         running_arrays)
from tinytorch.support.modules import cast_to

# %% tags=["payoff"]
from tinytorch.pictures.drawing import plot_lines
from tinytorch.pictures.normalization import LOSSES, STEPS

figure = plot_lines({name: (STEPS, losses) for name, losses in LOSSES.items()}, "step", "loss")
# alt: Loss over 100 steps. A network of 20 layers stays at 2.3. With batch norm the loss falls
# from 2.7 to 0.5. The residual network falls to nearly 0.

# %% [markdown]
# *Normalization* keeps the numbers inside a network at the same scale. A *residual connection*
# lets a signal pass a layer unchanged. Every large network of today uses both: they made
# networks of a hundred and more layers possible.
#
# **You need** 03 (Layers), 06 (Autograd), 08 (Training), 09 (Data) and 10 (Convolutions). **You
# write** a measurement of signals, normalization over any axes, layer norm as one operation
# with its gradients, batch norm with its two modes, RMS norm and residual connections.

# %% [markdown]
# ## Signals in deep networks
#
# Lesson 03 chose initial weights so that a layer keeps the scale of its input. A small error is
# repeated by every layer: a factor of 0.7 per layer is a factor of 0.0008 after 20 layers. How
# large are the outputs of each layer? Their *standard deviation* says it in one number.
#
# **Task.** Write `spread`. `with no_grad():` switches recording off.

# %% exercise="spread"
#| export
def spread(model, x):
    """The standard deviation of the output of each layer of a network.

    model    a Sequential; other iterables of layers work, too
    x        the input, a Tensor of shape (B, ...)
    returns  list of floats, one for each layer in order: the standard deviation of all numbers
             in its output

    No computation graph is recorded.

    >>> spread([lambda x: x * 3, lambda x: x - 5], Tensor([[-1.0, 1.0]]))
    [3.0, 3.0]

    Source: Glorot and Bengio, Understanding the difficulty of training deep feedforward neural
    networks (2010), figure 6.
    """
    ### BEGIN SOLUTION
    stds = []
    with no_grad():
        for layer in model:
            x = layer(x)
            stds.append(float(x.data.std()))
    return stds
    ### END SOLUTION

# %% checks="spread"
check("spread")

# %% [markdown]
# Here are networks of 20 layers, each followed by ReLU. Their initial weights are those of
# `Dense` times a factor, the *gain*. ReLU keeps about half of the mean square, so the mean
# square changes by gain² / 2 per layer. Predict: for which gain does the signal keep its
# scale? What happens in 20 layers with gain 1, and with gain 2?

# %%
from tinytorch.core.data import digits
from tinytorch.core.layers import Sequential, manual_seed

images, labels = digits("train").arrays
test_images, test_labels = digits("test").arrays
x, x_test = (part.reshape(len(part), 64) for part in (images, test_images))


def deep_network(gain=1.0, norm=None):
    """20 layers of 64 units with ReLU, and 10 outputs. norm(64), if given, makes the layer that
    stands before each ReLU."""
    manual_seed(0)
    parts = []
    for _ in range(20):
        dense = Dense(64, 64)
        dense.weights.data *= gain
        parts += [dense, norm(64), Tensor.relu] if norm else [dense, Tensor.relu]
    return Sequential(*parts, Dense(64, 10))

# %% tags=["answer"]
from tinytorch.pictures.drawing import plot_stds

gains = {"gain 0.5": 0.5, "gain 1": 1.0, "gain 1.41": 2**0.5, "gain 2": 2.0}
plot_stds({name: spread(deep_network(gain)[:-1], Tensor(x[:200]))[1::2]
           for name, gain in gains.items()}, "after each ReLU")
# alt: The standard deviation after each of 20 layers, on a logarithmic axis, for four gains.
# Gain 0.5 falls in a straight line to 3.4e-10, gain 1 to 0.00036; gain 1.41 stays near 0.4;
# gain 2 rises to 380.

# %% [markdown]
# The lines are straight on a logarithmic axis: signals shrink or grow geometrically with depth.
# Only a gain near $\sqrt 2$ keeps the scale, and training changes the weights, so the right
# initial scale does not stay right. Gradients pass the same layers backward and shrink or grow
# as well.

# %% [markdown]
# ## Normalization
#
# **Normalization** gives a group of numbers mean 0 and variance 1 by subtracting their mean and
# dividing by their standard deviation, inside a network and anew in every forward pass:
#
# $$\hat x = \frac{x - \mathrm{mean}(x)}{\sqrt{\mathrm{var}(x) + \epsilon}}$$
#
# The variance is the mean of the squared deviations, over $n$ numbers. The small number
# $\epsilon$ prevents a division by 0 when all numbers of a group are equal. Lesson 09 did the
# same to the inputs, once, and called it standardization. Which numbers form a group? That is
# what the methods of this chapter differ in. A batch has one example per row:

# %%
from tinytorch.pictures.normalization import draw_axes, draw_projection, draw_residual

draw_axes([[1, 5, 2, 8], [3, 5, 6, 2], [8, 2, 1, 5]], axes=[0, 1])
# alt: A table of 3 examples with 4 numbers each, twice. Above, a column is marked: mean 4,
# standard deviation 2.94; normalized it is -1, -0.3, 1.4. Below, a row is marked: mean 4,
# standard deviation 2.74; normalized it is -1.1, 0.4, -0.7, 1.5.

# %% [markdown]
# Axis 0 compares the examples with each other, one feature at a time: that will be batch norm.
# Axis 1 compares the numbers of one example: that will be layer norm.
#
# **Task.** Write `normalized` for any axes, with operations of Tensor, so that gradients can
# pass. `mean` and `var` accept several axes; what does `keepdims=True` do for the subtraction?

# %% exercise="normalized"
#| export
def normalized(x, axes, eps=1e-5):
    """Numbers with mean 0 and variance 1 along some axes.

    x        Tensor of floating-point numbers, of any shape; not changed
    axes     an int or a tuple of ints: the axes over which mean and variance are taken
    eps      added to the variance, so that nothing is divided by 0
    returns  Tensor of the shape of x: (x - mean) / sqrt(variance + eps), where the variance is
             the mean of the squared deviations, over n. Its computation is recorded

    >>> normalized(Tensor([[1.0, 3.0], [5.0, 5.0]]), axes=1, eps=1.25)
    Tensor([[-0.6666667,  0.6666667],
            [ 0.       ,  0.       ]])

    Source: Ioffe and Szegedy, Batch normalization (2015), algorithm 1.
    """
    ### BEGIN SOLUTION
    centered = x - x.mean(axes, keepdims=True)
    return centered / (x.var(axes, keepdims=True) + eps).sqrt()
    ### END SOLUTION

# %% checks="normalized"
check("normalized")

# %% [markdown]
# A function may stand between the layers of a `Sequential`. Predict the standard deviations
# after layer 20 for the four gains, when each row is normalized before each ReLU.

# %% tags=["answer", "explained"]
def rows_normalized(size):
    return lambda x: normalized(x, axes=-1)


for name, gain in gains.items():
    stds = [spread(deep_network(gain, norm)[:-1], Tensor(x[:200]))[-1]
            for norm in (None, rows_normalized)]
    print(f"{name:9}  without {stds[0]:8.2g}   with {stds[1]:.2f}")

# %% [markdown]
# The gain of the weights has no influence any more: normalization divides it out.
#
# ## Layer normalization
#
# **Layer normalization** normalizes each example by itself, over its features, and then
# multiplies each feature by a learned weight and adds a learned bias: $\hat x \odot w + b$.
# Weight and bias start at 1 and 0. With them, a network can choose another scale where that is
# better. One example does not influence another one, so the same formula works for any batch
# size, in training and afterwards.
#
# Composed of Tensor operations, layer norm records 14 graph nodes, each with its arrays. As a
# *fused operation* (lesson 06) it is one. Its rule will need $\hat x$ and $1 / \sigma$,
# where $\sigma = \sqrt{\mathrm{var} + \epsilon}$. The forward function has just computed both.
# So it keeps them: it gets a dict `saved` as an option, fills it, and the rule, which gets the
# same options, reads it. The dict is freed with the graph node.
#
# **Task.** Write `layer_norm_forward`, on arrays.

# %% exercise="layer-norm-forward"
#| export
def layer_norm_forward(x, weight, bias, eps, saved):
    """Layer normalization over the last axis: x̂ * weight + bias, x̂ the normalized x.

    x        ndarray of shape (..., D); not changed
    weight   ndarray of shape (D,)
    bias     ndarray of shape (D,)
    eps      added to the variance over the last axis
    saved    a dict, in which two results are kept for the rule:
             "normalized": x̂, (x - mean) / sqrt(variance + eps), of the shape of x
             "scale": 1 / sqrt(variance + eps), of shape (..., 1)
    returns  a new ndarray of the shape and dtype of x

    >>> saved = {}
    >>> layer_norm_forward(np.array([[1.0, 5.0]]), np.array([1.0, 10.0]), np.array([0.0, 3.0]),
    ...                    0, saved)
    array([[-1., 13.]])
    >>> saved["normalized"], saved["scale"]
    (array([[-1.,  1.]]), array([[0.5]]))

    Source: Ba, Kiros, Hinton, Layer normalization (2016), section 3.
    """
    ### BEGIN SOLUTION
    n = x.shape[-1]
    centered = x - x.sum(-1, keepdims=True) / n  # NumPy's mean is slower on short rows
    variance = (centered * centered).sum(-1, keepdims=True) / n
    saved["scale"] = 1 / np.sqrt(variance + eps)
    saved["normalized"] = centered * saved["scale"]
    return saved["normalized"] * weight + bias
    ### END SOLUTION

# %% checks="layer-norm-forward"
check("layer-norm-forward")

# %% [markdown]
# ## The gradient of layer normalization
#
# Write $h = g \odot w$ for the gradient that reaches $\hat x$. Each $x_i$ influences all
# numbers of its row: directly, through the mean and through $\sigma$. The sum over these paths
# is short:
#
# $$\frac{\partial L}{\partial x} = \frac{1}{\sigma} \left( h - \overline{h} -
# \hat x \; \overline{h \odot \hat x} \right)$$
#
# A bar is the mean over the row. It can be understood without algebra. Adding a number to all
# $x_i$ changes nothing in the output, so the gradient cannot have a part in that direction: the
# mean of $h$ is removed. Multiplying the centered row changes nothing either (if $\epsilon$ is
# 0), so the part along $\hat x$ is removed:

# %%
draw_projection(x=[1, 2, 4], g=[1, 0, 0])
# alt: A circle with the point x̂ on it. From x̂, a grey arrow, h without its mean, leads into
# the circle. An orange arrow, the gradient of x, is tangent to the circle at x̂; a dashed line
# from the tip of the grey arrow to its tip is parallel to the radius.

# %% [markdown]
# All $\hat x$ have mean 0 and the same length, so with three numbers they lie on a circle. The
# gradient of $x$ is tangent to it: a small step along it turns $\hat x$, and nothing else.
#
# Predict for x = [1, 2, 4], g = [1, 0, 0] and weight 1: which sign has the gradient of the
# second number, and what is the sum of all three?
#
# **Task.** Write `layer_norm_rule`, one function for all three gradients: `derivative` takes it
# as `together`. Every row uses the same weight and the same bias: what does that mean for their
# gradients?

# %% exercise="layer-norm-rule"
#| export
def layer_norm_rule(g, out, x, weight, bias, eps, saved):
    """The gradients of the three inputs of layer_norm_forward.

    g        ndarray of shape (..., D): the upstream gradient
    out      the output
    x, weight, bias, eps   what layer_norm_forward was called with
    saved    "normalized" (..., D) and "scale" (..., 1), as layer_norm_forward left them
    returns  list of three ndarrays: the gradients of x (..., D), weight (D,) and bias (D,)

    Changes none of its arguments.

    >>> saved = {"normalized": np.array([[-1.0, 1.0]]), "scale": np.array([[0.5]])}
    >>> layer_norm_rule(np.array([[3.0, 4.0]]), None, None, np.array([1.0, 10.0]), None, 0,
    ...                 saved)
    [array([[0., 0.]]), array([-3.,  4.]), array([3., 4.])]

    Source: Ioffe and Szegedy, Batch normalization (2015), section 3, for other axes.
    """
    ### BEGIN SOLUTION
    normal = saved["normalized"]
    h = g * weight
    along = (h * normal).mean(-1, keepdims=True)
    dx = saved["scale"] * (h - h.mean(-1, keepdims=True) - normal * along)
    rows = tuple(range(g.ndim - 1))
    return [dx, (g * normal).sum(rows), g.sum(rows)]
    ### END SOLUTION

# %%
#| exporti
derivative(layer_norm_forward, together=layer_norm_rule)

# %% checks="layer-norm-rule"
check("layer-norm-rule")

# %% tags=["answer"]
row, saved = np.array([[1.0, 2.0, 4.0]]), {}
out = layer_norm_forward(row, np.ones(3), np.zeros(3), 0.0, saved)
dx, *_ = layer_norm_rule(np.array([[1.0, 0.0, 0.0]]), out, row, np.ones(3), None, 0.0, saved)
print(dx.round(3), "sum", abs(dx.sum()).round(9))

# %% [markdown]
# `layer_norm` is what users call. It is given: it checks the shapes, joins several normalized
# axes into one, and applies the operation with a new dict each time.

# %%
#| export
def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Normalize each example by itself, over its last axes.

    x                 Tensor of shape (..., *normalized_shape)
    normalized_shape  the lengths of the axes that are normalized together; an int for one
    weight, bias      Tensors of shape `normalized_shape`; None: no factors, nothing added
    returns           Tensor of the shape of x

    Raises ValueError, with the shapes, when they do not fit.

    >>> layer_norm(Tensor([[0.0, 2.0], [5.0, 1.0]]), 2, eps=0)
    Tensor([[-1.,  1.],
            [ 1., -1.]])

    Source: torch.nn.functional.layer_norm.
    """
    x = as_float_tensor(x)
    rows, weight, bias = joined_axes(x, normalized_shape, weight, bias)
    out = apply(layer_norm_forward, rows, weight, bias, eps=eps, saved={})
    return out if rows is x else out.reshape(x.shape)

# %% [markdown]
# The composed and the fused form must agree, in values and gradients. Predict which is faster,
# and by how much.

# %% tags=["answer"]
from timeit import repeat

from tinytorch.core.autograd import numerical_gradient_check

rng = np.random.default_rng(0)
print(numerical_gradient_check(lambda x, w, b: layer_norm(x, 5, w, b),
                               [rng.normal(size=size) for size in [(2, 3, 5), 5, 5]]))
wide, w, b = (Variable(rng.normal(size=size).astype("float32"))
              for size in [(512, 128), 128, 128])
upstream = np.ones((512, 128), "float32")


def composed():
    (normalized(wide, -1) * w + b).backward(upstream)


def fused():
    layer_norm(wide, 128, w, b).backward(upstream)


for function in (composed, fused):
    seconds = min(repeat(function, number=10, repeat=5)) / 10
    print(f"{function.__name__:8} {1000 * seconds:.2f} ms, forward and backward")

# %% [markdown]
# ## The LayerNorm layer
#
# **Task.** Write the layer: its two parameters, which can be left out, and its call.

# %% exercise="layer-norm"
#| export
class LayerNorm(Module):
    """Layer normalization as a layer, with a learned weight and bias.

    normalized_shape    lengths of the last axes of the input; an int for one axis
    eps                 added to the variance
    elementwise_affine  whether there are weight and bias
    bias                whether there is a bias, if there is a weight

    .weight   Variable of shape `normalized_shape`, float32 ones at first; or None
    .bias     Variable of shape `normalized_shape`, float32 zeros at first; or None

    >>> LayerNorm(2)(Tensor([[100.0, 700.0]]))
    Tensor([[-1.,  1.]], requires_grad=True)

    Source: torch.nn.LayerNorm.
    """

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True):
        self.normalized_shape, self.eps = as_shape(normalized_shape), eps
        self.weight = self.bias = None
        ### BEGIN SOLUTION
        if elementwise_affine:
            self.weight = Variable(np.ones(self.normalized_shape, np.float32))
        if elementwise_affine and bias:
            self.bias = Variable(np.zeros(self.normalized_shape, np.float32))
        ### END SOLUTION

    def forward(self, x):
        if self.weight is not None:
            x = cast_to(x, self.weight, self)
        ### BEGIN SOLUTION
        return layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)
        ### END SOLUTION

    def __repr__(self):
        return f"LayerNorm({self.normalized_shape})"

# %% checks="layer-norm"
check("layer-norm")

# %% [markdown]
# With this layer before each ReLU, the signal has the same scale everywhere. Does that make the
# network of 20 layers learn? Predict the accuracy on the test digits after 100 steps, without
# and with LayerNorm. (Guessing gives 10 %.)

# %%
from tinytorch.core.losses import cross_entropy
from tinytorch.core.optimizers import SGD
from tinytorch.core.training import accuracy, evaluate, train_step


def batches(steps, size=64):
    """The same random batches of training digits each time."""
    rng = np.random.default_rng(0)
    for _ in range(steps):
        rows = rng.choice(len(x), size, replace=False)
        yield Tensor(x[rows]), labels[rows]


def train(network, steps=100, lr=0.1):
    """Train with SGD; returns the losses."""
    optimizer = SGD(network.parameters(), lr=lr)
    return [train_step(network, cross_entropy, optimizer, *batch) for batch in batches(steps)]


def accuracy_on_test(network):
    return evaluate(network, cross_entropy, [(Tensor(x_test), test_labels)],
                    {"accuracy": accuracy})["accuracy"]

# %% tags=["answer", "explained"]
for name, norm in {"without": None, "LayerNorm": LayerNorm}.items():
    network = deep_network(norm=norm)
    losses = train(network)
    print(f"{name:9}  loss {losses[-1]:.2f}   test accuracy {accuracy_on_test(network):.1%}")

# %% [markdown]
# Neither learns: the right scale is not enough.
#
# The reason for both results is visible in the angle between the outputs of two different
# images. A *cosine similarity* of 1 means the same direction.

# %%
def similarity(network, inputs):
    """The mean cosine similarity of the rows that reach the last layer."""
    with no_grad():
        rows = network[:-1](Tensor(inputs)).data
    rows = rows / np.sqrt((rows * rows).sum(1, keepdims=True))
    return (rows @ rows.T)[np.triu_indices(len(rows), 1)].mean()


for name, norm in {"without": None, "LayerNorm": LayerNorm}.items():
    print(f"{name:9} {similarity(deep_network(norm=norm), x[:200]):.2f}")
rows = x[:200] / np.sqrt((x[:200] ** 2).sum(1, keepdims=True))
print(f"images    {(rows @ rows.T)[np.triu_indices(200, 1)].mean():.2f}")

# %% [markdown]
# No output of a ReLU is negative, and two rows without negative numbers point in similar
# directions. After 20 layers all images look nearly the same to the last layer. LayerNorm
# treats each image by itself and cannot see that. Two methods repair it: batch norm compares
# the images of a batch, and a residual connection leads each image around the layers.
#
# ## Batch normalization
#
# **Batch normalization** normalizes each channel over all examples of the batch, and then
# multiplies it by a learned weight and adds a learned bias. What all examples have in common is
# thereby subtracted. For images, the mean is taken over the examples and over all pixels of the
# channel: over the axes 0, 2 and 3 of (batch, channels, height, width).
#
# After training, a network must give an answer for a single image, which has no batch to be
# compared with. So training also estimates the mean and the variance of all data. **Running
# statistics** are averages of the means and variances of the batches seen in training; in
# evaluation mode they take the place of the batch's own.
#
# An **exponential moving average** moves, with every new value, a fixed fraction of the way
# from its old value to the new one, so that old values are slowly forgotten. In batch norm this
# fraction is called *momentum*. Predict the average after the values 0 and 10 with momentum
# 0.1.
#
# **Task.** Write `running`.

# %% exercise="running"
#| export
def running(old, new, momentum):
    """An exponential moving average: `old`, moved towards `new` by the fraction `momentum`.

    old       ndarray or number: the average so far; not changed
    new       ndarray or number of the same shape: the latest value
    momentum  from 0, which keeps `old`, to 1, which gives `new`
    returns   the new average

    >>> running(0.0, 10.0, momentum=0.1)
    1.0

    Source: torch.nn.BatchNorm1d; the momentum of an optimizer is the share of the old value.
    """
    ### BEGIN SOLUTION
    return (1 - momentum) * old + momentum * new
    ### END SOLUTION

# %% checks="running"
check("running")

# %% tags=["answer"]
average, path = 0.0, []
for _ in range(30):
    average = running(average, 10.0, momentum=0.1)
    path.append(round(average, 2))
print("after 1, 10 and 30 batches:", path[0], path[9], path[29])

# %% [markdown]
# ## Training mode and evaluation mode
#
# In training, `batch_norm` normalizes with the statistics of the batch. These are functions of
# $x$, so gradients must pass through them; `normalized` takes care of that. The running
# statistics are only numbers. They are written into the arrays that were given, so that the
# caller keeps them.
#
# The batch is a sample of the data. The variance over $n$ of a sample is on average too small;
# dividing by $n - 1$ corrects that. PyTorch normalizes with the variance over $n$ and keeps the
# one over $n - 1$, and so do we. With one number per channel there is no variance to estimate.
#
# **Task.** Write the two modes of `batch_norm`; both compute `out`. Given are `axes`, those to
# reduce; `shape`, in which numbers of shape (C,) align with the channels; and the arrays `mean`
# and `var`, the running statistics.

# %% exercise="batch-norm"
#| export
def batch_norm(x, running_mean, running_var, weight=None, bias=None, training=False,
               momentum=0.1, eps=1e-5):
    """Normalize each channel over the examples of a batch.

    x             Tensor of shape (B, C) or (B, C, H, W)
    running_mean  array, or Tensor that requires no gradient, of shape (C,); None only in
    running_var   training, when no statistics are kept
    weight, bias  Tensors of shape (C,), or None
    training      True: normalize with the mean and the variance of this batch, over all axes
                  but 1; then move the running statistics towards them, in place, by
                  `momentum`: the mean, and the variance over n - 1.
                  False: normalize with the running statistics, and leave them as they are
    returns       Tensor of the shape of x

    Raises ValueError whose text contains x.shape, in training, for only one number per channel:
    then n - 1 is 0.

    >>> mean, var = np.zeros(1), np.ones(1)
    >>> batch_norm(Tensor([[1.0], [3.0]]), mean, var, training=True, eps=0)
    Tensor([[-1.],
            [ 1.]])
    >>> mean, var
    (array([0.2]), array([1.1]))

    Source: torch.nn.functional.batch_norm; Ioffe and Szegedy (2015), algorithms 1 and 2.
    """
    x = as_float_tensor(x)
    axes, shape = channel_axes(x.ndim)  # (0,) and (1, -1); for images (0, 2, 3), (1, -1, 1, 1)
    mean, var = running_arrays(running_mean, running_var, x.shape, training)
    ### BEGIN SOLUTION
    if training:
        if x.size // x.shape[1] < 2:
            raise ValueError(f"training needs 2 or more numbers per channel, not {x.shape}")
        out = normalized(x, axes, eps)
        mean[...] = running(mean, x.data.mean(axes), momentum)
        var[...] = running(var, x.data.var(axes, ddof=1), momentum)
    else:
        out = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + eps)
    ### END SOLUTION
    if weight is not None:
        out = out * weight.reshape(shape)
    return out if bias is None else out + bias.reshape(shape)

# %% checks="batch-norm"
check("batch-norm")

# %% [markdown]
# Does the output for an example depend on its neighbours in the batch? Predict, for training
# and for evaluation, whether the two outputs for the first row are equal.

# %% tags=["answer", "explained"]
one, other = np.array([[1.0, 2.0], [3.0, 0.0]]), np.array([[1.0, 2.0], [9.0, 5.0]])
for training in (True, False):
    outputs = [batch_norm(Tensor(batch), np.zeros(2), np.ones(2), training=training)[0]
               for batch in (one, other)]
    print("training  " if training else "evaluation", *[out.data.round(2) for out in outputs])

# %% [markdown]
# In training it does. The other examples act like random noise, which can reduce overfitting.
# With very small batches there is too much of it: batch norm works badly there.
#
# ## Batch norm as a layer
#
# The layer has two functions under one name, and `training` selects one of them: that is why
# forgetting `model.eval()` changes results. Its running statistics are *buffers* (lesson 03):
# saved in the state dict, but not learned. `register_buffer(name, array)` makes one.
#
# **Task.** Write the attributes and the call of `BatchNorm`.

# %% exercise="batch-norm-layer"
#| export
class BatchNorm(Module):
    """Batch normalization as a layer; BatchNorm1d and BatchNorm2d say for which inputs.

    num_features         channels C of the input
    eps                  added to the variance
    momentum             how far the running statistics move with each batch, from 0 to 1
    affine               whether there are weight and bias
    track_running_stats  whether there are running statistics; without them, batches are
                         normalized with their own statistics in evaluation mode, too

    .weight        Variable of shape (C,), float32 ones at first; or None
    .bias          Variable of shape (C,), float32 zeros at first; or None
    .running_mean  buffer of shape (C,), float32 zeros at first; or None
    .running_var   buffer of shape (C,), float32 ones at first; or None

    >>> norm = BatchNorm1d(3)
    >>> len(norm.parameters()), list(norm.state_dict())
    (2, ['weight', 'bias', 'running_mean', 'running_var'])

    Source: torch.nn.BatchNorm1d, which also counts its batches.
    """

    ranks = ()  # the ranks of its inputs

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True,
                 track_running_stats=True):
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        zeros, ones = np.zeros(num_features, np.float32), np.ones(num_features, np.float32)
        self.weight = self.bias = None
        ### BEGIN SOLUTION
        if affine:
            self.weight, self.bias = Variable(ones), Variable(zeros)
        self.register_buffer("running_mean", zeros if track_running_stats else None)
        self.register_buffer("running_var", ones if track_running_stats else None)
        ### END SOLUTION

    def forward(self, x):
        x = checked_rank(x, self.ranks, self)
        if self.weight is not None:
            x = cast_to(x, self.weight, self)
        ### BEGIN SOLUTION
        training = self.training or self.running_mean is None
        return batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias,
                          training, self.momentum, self.eps)
        ### END SOLUTION

    def __repr__(self):
        return f"{type(self).__name__}({self.num_features})"


class BatchNorm1d(BatchNorm):
    """Batch normalization of inputs of shape (B, C) or (B, C, L)."""

    ranks = (2, 3)


class BatchNorm2d(BatchNorm):
    """Batch normalization of images, of shape (B, C, H, W)."""

    ranks = (4,)

# %% checks="batch-norm-layer"
check("batch-norm-layer")

# %% [markdown]
# Now the network of 20 layers again, with BatchNorm1d before each ReLU. Predict the similarity
# of its outputs, which was 0.96, and its accuracy.

# %% tags=["answer"]
network = deep_network(norm=BatchNorm1d)
print(f"similarity {similarity(network, x[:200]):.2f}")
batch_norm_losses = train(network)
print(f"loss {batch_norm_losses[-1]:.2f}   test accuracy {accuracy_on_test(network):.1%}")

# %% [markdown]
# In a convolutional network there is one mean per channel. Below, a small one is trained on the
# digits for 4 epochs, without and with `BatchNorm2d`; everything else is equal. It prints the
# accuracy on the test digits after each epoch.

# %%
from tinytorch.core.activations import ReLU
from tinytorch.core.convolutions import Conv2d, MaxPool2d
from tinytorch.core.data import DataLoader, TensorDataset
from tinytorch.core.layers import Flatten


def convolutional(normalize):
    manual_seed(0)
    first, second = [BatchNorm2d(8)] * normalize, [BatchNorm2d(16)] * normalize
    return Sequential(Conv2d(1, 8, 3, padding=1), *first, ReLU(), MaxPool2d(2),
                      Conv2d(8, 16, 3, padding=1), *second, ReLU(), Flatten(), Dense(256, 10))

# %% tags=["demonstration"]
test = [(Tensor(test_images), test_labels)]
for normalize in (False, True):
    digit_network, scores = convolutional(normalize), []
    optimizer = SGD(digit_network.parameters(), lr=0.05)
    for epoch in range(4):
        for batch in DataLoader(TensorDataset(images, labels), 64, shuffle=True):
            train_step(digit_network, cross_entropy, optimizer, *batch)
        scores.append(evaluate(digit_network, cross_entropy, test, {"a": accuracy})["a"])
    print("with   " if normalize else "without", *[f"{score:.1%}" for score in scores])

# %% [markdown]
# ## Why it helps
#
# The inventors of batch norm explained its success by stable distributions of the signals
# (*internal covariate shift*). Santurkar et al. (2018) added noise that made them unstable
# again, and training was as fast. Their explanation: the *loss surface* is smoother. Look at it
# along a line: all weights move by $t$ times a random direction.

# %%
from tinytorch.core.layers import he_normal


def fair_network(norm):
    """10 layers at the best scale for ReLU, so that the network without norm can learn, too."""
    manual_seed(0)
    parts = []
    for _ in range(10):
        parts += [Dense(64, 64, init=he_normal), *([norm(64)] if norm else []), Tensor.relu]
    return Sequential(*parts, Dense(64, 10))


def along_a_line(network, distances):
    """The losses of one batch when all weights move along a random direction."""
    weights = [p for p in network.parameters() if p.ndim == 2]
    starts, rng = [p.numpy() for p in weights], np.random.default_rng(1)
    directions = [rng.normal(0, start.std(), start.shape) for start in starts]
    inputs, targets = next(batches(1, 128))
    losses = []
    for t in distances:
        for p, start, direction in zip(weights, starts, directions):
            p.data[...] = start + t * direction
        with no_grad():
            losses.append(float(cross_entropy(network(inputs), targets)))
    return losses

# %%
distances = np.linspace(-2, 2, 21)
figure = plot_lines({name: (distances, along_a_line(fair_network(norm), distances))
                     for name, norm in {"without": None, "batch norm": BatchNorm1d}.items()},
                    "distance t along a random line", "loss", yscale="log")
# alt: The loss along a random line on a logarithmic axis. Without normalization it rises from
# 2.4 in the middle to several thousand at both ends; with batch norm it stays between 2.5
# and 4.2.

# %% [markdown]
# Where the loss nearby is a thousand times as high, only small steps are safe. Predict: for
# which learning rates does the loss of each network fall in 30 steps?

# %% tags=["answer"]
rates = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0]
with np.errstate(all="ignore"):
    ends = {name: (rates, [np.mean(train(fair_network(norm), 30, lr)[-5:]) for lr in rates])
            for name, norm in {"without": None, "batch norm": BatchNorm1d}.items()}
figure = plot_lines(ends, "learning rate", "loss after 30 steps", top=3, xscale="log")
# alt: The loss after 30 steps over the learning rate, from 0.003 to 3. Without normalization it
# is lowest, 1.7, near 0.1, and rises again; the line ends at 0.3, beyond which the loss is not
# finite. With batch norm it falls to about 0.4 between 0.3 and 1 and is below 1 even at 3.

# %% [markdown]
# ## RMS normalization
#
# Layer norm does two things: it subtracts a mean, and it divides. **RMS normalization** divides
# the numbers of an example by their *root mean square*, $\sqrt{\overline{x^2} + \epsilon}$, and
# multiplies them by a learned weight. It subtracts no mean and adds no bias. Zhang and Sennrich
# (2019) found that their networks lost nothing by this and became faster; most large language
# models use it today.
#
# **Task.** Write the operation and its rule. What is left of the picture with the circle when
# nothing is centered?

# %% exercise="rms-norm"
#| export
def rms_norm_forward(x, weight, eps, saved):
    """Root-mean-square normalization over the last axis: x / sqrt(mean of x² + eps) * weight.

    x        ndarray of shape (..., D); not changed
    weight   ndarray of shape (D,)
    eps      added to the mean of the squares
    saved    a dict, in which "normalized" (..., D) and "scale" (..., 1) are kept for the rule,
             as in layer_norm_forward
    returns  a new ndarray of the shape and dtype of x

    >>> rms_norm_forward(np.array([[3.0, -3.0]]), np.array([1.0, 10.0]), 0, {})
    array([[  1., -10.]])

    Source: Zhang and Sennrich, Root mean square layer normalization (2019), section 4.
    """
    ### BEGIN SOLUTION
    saved["scale"] = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
    saved["normalized"] = x * saved["scale"]
    return saved["normalized"] * weight
    ### END SOLUTION


def rms_norm_rule(g, out, x, weight, eps, saved):
    """The gradients of x and weight, a list, as layer_norm_rule has them for layer norm."""
    ### BEGIN SOLUTION
    normal = saved["normalized"]
    h = g * weight
    dx = saved["scale"] * (h - normal * (h * normal).mean(-1, keepdims=True))
    return [dx, (g * normal).sum(tuple(range(g.ndim - 1)))]
    ### END SOLUTION

# %%
#| exporti
derivative(rms_norm_forward, together=rms_norm_rule)

# %%
#| export
def rms_norm(x, normalized_shape, weight=None, eps=None):
    """Divide each example by the root of its mean square, over its last axes.

    x, normalized_shape, weight   as for layer_norm
    eps      added to the mean square; None: that of float32, 1.19e-7
    returns  Tensor of the shape of x

    >>> rms_norm(Tensor([[3.0, -3.0]]), 2)
    Tensor([[ 1., -1.]])

    Source: torch.nn.functional.rms_norm.
    """
    eps = float(np.finfo(np.float32).eps) if eps is None else eps
    x = as_float_tensor(x)
    rows, weight, _ = joined_axes(x, normalized_shape, weight)
    out = apply(rms_norm_forward, rows, weight, eps=eps, saved={})
    return out if rows is x else out.reshape(x.shape)


class RMSNorm(Module):
    """`rms_norm` as a layer, with a learned weight.

    normalized_shape    lengths of the last axes of the input; an int for one axis
    eps                 added to the mean square; None: that of float32
    elementwise_affine  whether there is a weight

    .weight   Variable of shape `normalized_shape`, float32 ones at first; or None

    Source: torch.nn.RMSNorm.
    """

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        self.normalized_shape, self.eps = as_shape(normalized_shape), eps
        ones = np.ones(self.normalized_shape, np.float32)
        self.weight = Variable(ones) if elementwise_affine else None

    def forward(self, x):
        if self.weight is not None:
            x = cast_to(x, self.weight, self)
        return rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def __repr__(self):
        return f"RMSNorm({self.normalized_shape})"

# %% checks="rms-norm"
check("rms-norm")

# %% [markdown]
# Predict both results for the row [101, 103]: centering is exactly what differs.

# %% tags=["answer"]
row = Tensor([[101.0, 103.0]])
print("LayerNorm", LayerNorm(2)(row).data.round(2), "  RMSNorm", RMSNorm(2)(row).data.round(2))

# %% [markdown]
# ## Batch-norm folding
#
# In evaluation mode, batch norm is the same affine map for every input: it multiplies a channel
# by $f = w / \sqrt{\mathrm{var} + \epsilon}$ and adds a constant. The layer before it is affine
# as well, and two affine maps are one. **Batch-norm folding** puts a trained batch norm into
# the weights and the bias of the layer before it, so that it costs nothing in use.
#
# $$(x W + c - \mathrm{mean}) \odot f + b = x \,(W \odot f) + (c - \mathrm{mean}) \odot f + b$$
#
# **Task.** Write `folded`. Which axis of the weights belongs to the output channels?

# %% exercise="folded"
#| export
def folded(layer, norm):
    """One layer for two: weights and bias that do what `layer` and then `norm` do.

    layer    a Dense, with weights of shape (in, out), or a Conv2d, with weights of shape
             (out, channels, height, width); its bias may be None. Not changed
    norm     the BatchNorm1d or BatchNorm2d behind it, used in evaluation mode; its weight and
             bias may be None. Not changed
    returns  (weights, bias): new ndarrays, the weights of the shape of `layer.weights`, the
             bias of shape (out,)

    >>> layer, norm = Dense(1, 1, rng=0), BatchNorm1d(1, eps=0)
    >>> layer.load_state_dict({"weights": [[6]], "bias": [0]})
    >>> norm.load_state_dict({"weight": [1], "bias": [0], "running_mean": [2],
    ...                       "running_var": [9]})
    >>> folded(layer, norm)
    (array([[2.]], dtype=float32), array([-0.6666667], dtype=float32))

    Source: Jacob et al., Quantization and training of neural networks (2018), section 3.2.
    """
    ### BEGIN SOLUTION
    factor = 1 / np.sqrt(norm.running_var.data + norm.eps)
    if norm.weight is not None:
        factor = factor * norm.weight.data
    bias = 0 if layer.bias is None else layer.bias.data
    bias = (bias - norm.running_mean.data) * factor
    if norm.bias is not None:
        bias = bias + norm.bias.data
    weights = layer.weights.data
    shape = (-1, 1, 1, 1) if weights.ndim == 4 else (-1,)
    return weights * factor.reshape(shape), bias
    ### END SOLUTION

# %% checks="folded"
check("folded")

# %% tags=["demonstration"]
from copy import deepcopy

digit_network.eval()
smaller = deepcopy(digit_network)
for at in (0, 4):
    weights, bias = folded(smaller[at], smaller[at + 1])
    smaller[at].weights.data[...], smaller[at].bias.data[...] = weights, bias
smaller = Sequential(*[part for part in smaller if not isinstance(part, BatchNorm2d)])
inputs = Tensor(test_images)
with no_grad():
    print("largest difference", abs(smaller(inputs).data - digit_network(inputs).data).max())
    for name, one in {"with batch norm": digit_network, "folded": smaller}.items():
        seconds = min(repeat(lambda: one(inputs), number=1, repeat=5))
        print(f"{name:16}{1000 * seconds:.2f} ms")

# %% [markdown]
# ## Residual connections
#
# A **residual connection** adds the input of a layer to its output: $y = x + f(x)$. The layer
# then only has to learn what should be *changed*.

# %%
draw_residual()
# alt: x goes down through two boxes, LayerNorm and then Dense with ReLU, to a plus sign. A blue
# line, "unchanged", leads from x around both boxes to the plus sign.

# %% [markdown]
# What is the gradient? The sum passes $g$ unchanged to $x$, whatever $f$ does, and adds the
# gradient that comes through $f$. Also in a stack of 100 such blocks there is one path on which
# the gradient of the loss reaches the first block unchanged, and one on which the image reaches
# the last.
#
# **Task.** Write `Residual`. Without a comparison of the shapes, an output of shape (4, 1)
# would be broadcast.

# %% exercise="residual"
#| export
class Residual(Module):
    """A residual connection: Residual(inner)(x) is x + inner(x).

    inner    a Module, or a function of one Tensor

    Raises ValueError that contains both shapes when inner(x) has another shape than x.

    >>> Residual(lambda x: x * 10)(Tensor([1.0, 2.0]))
    Tensor([11., 22.])

    Source: He, Zhang, Ren, Sun, Deep residual learning for image recognition (2016), 3.1.
    """

    def __init__(self, inner):
        self.inner = inner

    def forward(self, x):
        ### BEGIN SOLUTION
        change = self.inner(x)
        if change.shape != x.shape:
            raise ValueError(f"a residual connection adds the input, of shape {x.shape}, to "
                             f"the output of its layer, of shape {change.shape}")
        return x + change
        ### END SOLUTION

# %% checks="residual"
check("residual")

# %% [markdown]
# With 20 additions the signal becomes larger and larger. So each block normalizes its input
# first, as in the drawing. **Pre-norm** means that a normalization stands at the beginning of
# each residual block, and once more after the last one, but never on the way around a block.
# The transformers of lesson 15 are built like this.
#
# Predict the order of three accuracies after 100 steps: of residual networks without
# normalization, with RMSNorm, and with LayerNorm.

# %%
def residual_network(norm):
    """20 residual blocks of 64 units, each with norm(64) in front if `norm` is given."""
    manual_seed(0)
    front = (lambda: [norm(64)]) if norm else list
    blocks = [Residual(Sequential(*front(), Dense(64, 64), Tensor.relu)) for _ in range(20)]
    return Sequential(*blocks, *front(), Dense(64, 10))

# %% tags=["answer", "explained"]
curves = {"20 layers": train(deep_network()), "batch norm": batch_norm_losses}
with np.errstate(all="ignore"):
    for name, norm in [("without norm", None), ("RMSNorm", RMSNorm), ("LayerNorm", LayerNorm)]:
        network = residual_network(norm)
        curves["residual"] = losses = train(network)
        print(f"residual, {name:12}  loss {losses[-1]:.2f}   test accuracy "
              f"{accuracy_on_test(network):.1%}   similarity "
              f"{similarity(residual_network(norm), x[:200]):.2f}")

# %% [markdown]
# Without normalization the sums grow until the loss is not a number. With LayerNorm the network
# learns faster than any other in this chapter. RMSNorm needs more steps here, and the
# similarity shows why: the outputs of ReLU are all positive, and what they have in common is
# not subtracted. The plot that the chapter began with, now from your own code:

# %%
figure = plot_lines({name: (STEPS, np.reshape(losses, (-1, 5)).mean(1))
                     for name, losses in curves.items()}, "step", "loss")
# alt: Loss over 100 steps. The network of 20 layers stays at 2.3, with batch norm the loss
# falls from 2.7 to 0.5. The residual network falls to nearly 0.

# %% [markdown]
# ## Look back
#
# 1. `similarity` looks at the last layer. Measure it after each layer of `deep_network`: with
#    LayerNorm, with BatchNorm1d, and with LayerNorm and `Tensor.tanh` in place of ReLU. Where
#    do the images become alike?
# 2. A layer with a bias is followed by batch norm. What is the gradient of that bias? Measure
#    it, and explain why such layers are usually made with `bias=False`.
# 3. Train the convolutional network with batches of 2, 8 and 64 images and the same number of
#    steps. How does the accuracy in training mode and in evaluation mode depend on the size?
# 4. PyTorch: `torch.nn.LayerNorm`, `RMSNorm`, `BatchNorm1d`, `BatchNorm2d` with the same
#    arguments; `torch.nn.functional.layer_norm`, `rms_norm` and `batch_norm`. A batch norm of
#    PyTorch also counts its batches (`num_batches_tracked`), and with `momentum=None` its
#    running statistics are plain averages. Residual connections are written as `x + f(x)`.

# %% [markdown]
# # 11. Normalization
#
# Why does a network of 20 layers not learn, and what makes it learn? The plot shows the loss of
# three networks during 100 training steps on handwritten digits. All have 20 layers of 64
# units. The first one learns nothing, while the second one, with batch norm, does learn. The
# third one has layer norm and residual connections: after these 100 steps it recognizes 96 % of
# the test digits.

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
from tinytorch.support.forward import sum_forward
from tinytorch.support.modules import cast_to, count_batch

# %% tags=["payoff"]
from tinytorch.pictures.drawing import plot_lines
from tinytorch.pictures.normalization import LOSSES, STEPS

figure = plot_lines({name: (STEPS, losses) for name, losses in LOSSES.items()}, "step", "loss")
# caption: Twenty layers learn with normalization, and best if residual connections are added.
# alt: Loss over 100 steps. A network of 20 layers stays at 2.3. With batch norm the loss falls
# from 2.7 to 0.5. The residual network falls to nearly 0.

# %% [markdown]
# *Normalization* keeps the numbers inside a network at the same scale. A *residual connection*
# adds the input of a layer to its output, so that the signal can also pass the layer unchanged.
# Every large network of today uses both, because they make networks of a hundred and more
# layers possible.
#
# **You need** 04 (Layers), 06 (Autograd), 08 (Training), 09 (Data) and 10 (Convolutions). **You
# build** a measurement of signals, normalization over any axes, layer norm as one operation
# with its gradients, batch norm with its two modes, RMS norm and residual connections.

# %% [markdown] page="Normalization over features"
# ## Signals in deep networks
#
# In lesson 04 you chose initial weights so that a layer keeps the scale of its input. If the
# scale is a little wrong, every layer repeats the error: a factor of 0.7 per layer is a factor
# of 0.0008 after 20 layers. To see this, we measure the *standard deviation* of the outputs of
# each layer.
#
# **Task.** Write `spread`, which returns these standard deviations. In a block
# `with no_grad():`, operations are not recorded.

# %% The spread of a signal exercise="spread"
#| export
def spread(model, x):
    """The standard deviation of the output of each layer of a network.

    model    a Sequential, or another iterable of layers
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
# Here are networks of 20 layers, each followed by ReLU. Their initial weights are the weights
# of `Dense` times a factor, the *gain*. ReLU keeps about half of the mean square, so each layer
# multiplies the mean square by gain² / 2. Predict: for which gain does the signal keep its
# scale? What happens in 20 layers with gain 1, and with gain 2?

# %%
from tinytorch.core.data import digits
from tinytorch.core.layers import Sequential, manual_seed

images, labels = digits("train").arrays
test_images, test_labels = digits("test").arrays
x, x_test = (part.reshape(len(part), 64) for part in (images, test_images))


def deep_network(gain=1.0, norm=None):
    """20 layers of 64 units with ReLU, and 10 outputs. If `norm` is given, norm(64) is inserted
    before each ReLU."""
    manual_seed(0)
    parts = []
    for _ in range(20):
        dense = Dense(64, 64)
        dense.weights.data *= gain
        parts += [dense, norm(64), Tensor.relu] if norm else [dense, Tensor.relu]
    return Sequential(*parts, Dense(64, 10))

# %% tags=["answer", "explained"]
from tinytorch.pictures.drawing import plot_stds

gains = {"gain 0.5": 0.5, "gain 1": 1.0, "gain 1.41": 2**0.5, "gain 2": 2.0}
plot_stds({name: spread(deep_network(gain)[:-1], Tensor(x[:200]))[1::2]
           for name, gain in gains.items()}, "after each ReLU")
# caption: Every layer repeats the gain, so only one gain keeps the signal.
# alt: The standard deviation after each of 20 layers, on a logarithmic axis, for four gains.
# Gain 0.5 falls in a straight line to 3.4e-10, gain 1 to 0.00036; gain 1.41 stays near 0.4;
# gain 2 rises to 380.

# %% [markdown]
# The lines are straight on a logarithmic axis: signals shrink or grow exponentially with depth.
# Only a gain near $\sqrt 2$ keeps the scale.
#
# Since training changes the weights, even the right initial scale does not stay right. Because
# gradients pass the same layers backward, they also shrink or grow.

# %% [markdown]
# ## Normalization
#
# The remedy is to correct the scale in every layer. **Normalization** gives a group of numbers
# mean 0 and variance 1: it subtracts their mean and divides by their standard deviation. This
# is done inside the network, in every forward pass:
#
# $$\hat x = \frac{x - \mathrm{mean}(x)}{\sqrt{\mathrm{var}(x) + \epsilon}}$$
#
# The variance is the sum of the squared deviations divided by $n$ (not by $n - 1$). The small
# number $\epsilon$ prevents a division by 0 when all numbers of a group are equal. (In lesson
# 09 you did the same to the inputs, once, and called it standardization.)
#
# The methods of this chapter differ in which numbers form a group. The picture shows a batch
# with one example per row:

# %%
from tinytorch.pictures.normalization import draw_axes, draw_projection, draw_residual

draw_axes([[1, 5, 2, 8], [3, 5, 6, 2], [8, 2, 1, 5]], axes=[0, 1])
# alt: A table of 3 examples with 4 numbers each, twice. Above, a column is marked: mean 4,
# standard deviation 2.94; normalized it is -1, -0.3, 1.4. Below, a row is marked: mean 4,
# standard deviation 2.74; normalized it is -1.1, 0.4, -0.7, 1.5.

# %% [markdown]
# Normalization over axis 0, which will be batch norm, compares the examples with each other,
# one feature at a time, while normalization over axis 1, which will be layer norm, compares the
# numbers of one example.
#
# **Task.** Write `normalized` for any axes. Use operations of Tensor, so that gradients can be
# propagated. `mean` and `var` accept several axes. Why do you need `keepdims=True` for the
# subtraction?

# %% Mean 0 and variance 1 exercise="normalized"
#| export
def normalized(x, axes, eps=1e-5):
    """Numbers with mean 0 and variance 1 along some axes.

    x        Tensor of floating-point numbers, of any shape; not changed
    axes     an int or a tuple of ints: the axes over which mean and variance are taken
    eps      added to the variance, to avoid a division by 0
    returns  Tensor of the shape of x: (x - mean) / sqrt(variance + eps). The variance is the
             sum of the squared deviations divided by n. The operations are recorded

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
# A `Sequential` can also contain functions. Below, a function normalizes each row before each
# ReLU. Predict the standard deviations after layer 20 for the four gains.

# %% tags=["answer", "explained"]
def rows_normalized(size):
    return lambda x: normalized(x, axes=-1)


for name, gain in gains.items():
    stds = [spread(deep_network(gain, norm)[:-1], Tensor(x[:200]))[-1]
            for norm in (None, rows_normalized)]
    print(f"{name:9}  without {stds[0]:8.2g}   with {stds[1]:.2f}")

# %% [markdown]
# The gain of the weights no longer has any influence: normalization divides by it.
#
# ## Layer normalization
#
# Which numbers should form a group? The first answer is one example. **Layer normalization**
# normalizes each example separately, over its features, and then multiplies each feature by
# a learned weight and adds a learned bias: $\hat x \odot w + b$. Weight and bias start at 1
# and 0. With them, the network can learn another scale if it is better. No example
# influences another one, so the same formula works for any batch size, in training and at
# inference time.
#
# Written with Tensor operations, layer norm records 14 graph nodes, each with its arrays. As a
# *fused operation* (lesson 06) it records one.
#
# The gradient rule of this operation needs $\hat x$ and $1 / \sigma$, where $\sigma =
# \sqrt{\mathrm{var} + \epsilon}$. The forward function computes both, so it saves them for the
# rule. It gets a dict `saved` as an option and stores them there, so that the rule, which gets
# the same options, can read them. The dict is freed with the graph node.
#
# **Task.** Write `layer_norm_forward`, on arrays.

# %% The forward pass of layer norm exercise="layer-norm-forward"
#| export
def layer_norm_forward(x, weight, bias, eps, saved):
    """Layer normalization over the last axis: x̂ * weight + bias; x̂ is x, normalized.

    x        ndarray of shape (..., D); not changed
    weight   ndarray of shape (D,)
    bias     ndarray of shape (D,)
    eps      added to the variance over the last axis
    saved    a dict, in which the function stores two arrays for the rule:
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
    centered = x - sum_forward(x, -1, True) / n  # faster than x.mean on short rows
    variance = sum_forward(centered * centered, -1, True) / n
    saved["scale"] = 1 / np.sqrt(variance + eps)
    saved["normalized"] = centered * saved["scale"]
    return saved["normalized"] * weight + bias
    ### END SOLUTION

# %% checks="layer-norm-forward"
check("layer-norm-forward")

# %% [markdown] page="Layer normalization as a layer"
# ## The gradient of layer normalization
#
# Because layer norm is one operation, it needs its own gradient rule. Write $h = g \odot w$ for
# the gradient of $\hat x$. Each $x_i$ influences its own $\hat x_i$ directly, and all numbers
# of its row through the mean and through $\sigma$. Adding up these three paths gives a short
# formula. A bar means the mean over the row:
#
# $$\frac{\partial L}{\partial x} = \frac{1}{\sigma} \left( h - \overline{h} -
# \hat x \; \overline{h \odot \hat x} \right)$$
#
# It is the hardest formula of this lesson, but you can understand it without algebra. Adding
# the same number to all $x_i$ does not change the output, so the gradient has no component in
# that direction. This is why the formula subtracts the mean of $h$. Multiplying the centered
# row by a number does not change the output (if $\epsilon$ is 0), so the gradient has no
# component along $\hat x$. This is why the last term is subtracted:

# %%
draw_projection(x=[1, 2, 4], g=[1, 0, 0])
# alt: A circle with the point x̂ on it. From x̂, a grey arrow, h without its mean, leads into
# the circle. An orange arrow, the gradient of x, is tangent to the circle at x̂; a dashed line
# from the tip of the grey arrow to its tip is parallel to the radius.

# %% [markdown]
# A row $\hat x$ of three numbers is a point in space. Because its numbers have mean 0, all such
# points lie in a plane, and because they have the same length, they lie on a circle in it. The
# gradient of $x$ is tangent to the circle: a small step along the gradient only moves $\hat x$
# along the circle.
#
# Take x = [1, 2, 4], g = [1, 0, 0] and weight 1. Predict the sign of the gradient of the second
# number, and the sum of all three gradients.
#
# **Task.** Write `layer_norm_rule`, one function for all three gradients. (It is passed to
# `derivative` as `together`.) Every row uses the same weight and the same bias. How does this
# affect their gradients?

# %% The gradient of layer norm exercise="layer-norm-rule"
#| export
def layer_norm_rule(g, out, x, weight, bias, eps, saved):
    """The gradients of the three inputs of layer_norm_forward.

    g        ndarray of shape (..., D): the upstream gradient
    out      the output
    x, weight, bias, eps   the arguments of layer_norm_forward
    saved    "normalized" (..., D) and "scale" (..., 1), as layer_norm_forward stored them
    returns  three ndarrays, in a list or tuple: the gradients of x (..., D), weight (D,) and
             bias (D,)

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
    return [dx, sum_forward(g * normal, rows), sum_forward(g, rows)]
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
# Users call the function `layer_norm`, which is given. It checks the shapes, joins several
# normalized axes into one, and applies the operation with a new dict each time.

# %%
#| export
def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Normalize each example separately, over its last axes.

    x                 Tensor of shape (..., *normalized_shape)
    normalized_shape  the lengths of the axes that are normalized together; an int for one axis
    weight, bias      Tensors of shape `normalized_shape`; or None for no weight or bias
    returns           Tensor of the shape of x

    Raises ValueError, with the shapes in its message, when they do not fit.

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
# The version with Tensor operations and the fused operation must agree, in values and
# gradients. Predict which is faster, and by how much.

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
# A layer holds the two parameters of the operation.
#
# **Task.** Write the layer: create its two parameters, unless the options exclude them, and
# call `layer_norm` in `forward`.

# %% The LayerNorm layer exercise="layer-norm"
#| export
class LayerNorm(Module):
    """Layer normalization as a layer, with a learned weight and bias.

    normalized_shape    lengths of the last axes of the input; an int for one axis
    eps                 added to the variance
    elementwise_affine  whether the layer has a weight and a bias
    bias                whether the layer also has a bias; without a weight it has none

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
# The angle between the outputs of two different images shows the reason. It is measured by the
# *cosine similarity*, the cosine of the angle: 1 means the same direction.

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
# A ReLU has no negative outputs, and two rows without negative numbers point in similar
# directions. After 20 layers all images look nearly the same to the last layer. Because
# LayerNorm treats each image separately, it cannot change this, but there are two remedies:
# batch norm compares the images of a batch, and residual connections carry each image around
# the layers.

# %% [markdown] page="Normalization over a batch"
# ## Batch normalization
#
# The second answer to the question of groups is one channel. **Batch normalization** normalizes
# each channel over all examples of the batch, and then multiplies it by a learned weight and
# adds a learned bias. So it subtracts the part that all examples have in common. For images,
# the mean is taken over the examples and over all pixels of the channel: over the axes 0, 2 and
# 3 of (batch, channels, height, width).
#
# After training, however, a network must give an answer for a single image, and there is no
# batch to compare it with. During training, batch norm therefore also estimates the mean and
# the variance of all data. **Running statistics** are averages of the means and variances of
# the training batches. In evaluation mode, they replace the mean and the variance of the batch.
#
# They are exponential moving averages. An **exponential moving average** moves a fixed fraction
# of the way to each new value, so that old values are slowly forgotten. In batch norm this
# fraction is called *momentum*. Predict: an average of 0 gets the new value 10 again and again,
# with momentum 0.1. What is it after 1, 10 and 30 times?
#
# **Task.** Write `running`.

# %% Running statistics exercise="running"
#| export
def running(old, new, momentum):
    """An exponential moving average: `old`, moved towards `new` by the fraction `momentum`.

    old       ndarray or number: the average so far; not changed
    new       ndarray or number of the same shape: the latest value
    momentum  from 0, which keeps `old`, to 1, which gives `new`
    returns   the new average

    >>> running(0.0, 10.0, momentum=0.1)
    1.0

    Source: torch.nn.BatchNorm1d. (In optimizers, momentum is the share of the old value.) """
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
# In training, `batch_norm` normalizes with the mean and the variance of the batch. They depend
# on $x$, so gradients must be propagated through them; `normalized` does this. The running
# statistics need no gradients. `batch_norm` writes them into the arrays `running_mean` and
# `running_var` of its caller.
#
# The batch is a sample of all data. If the squared deviations of a sample are divided by $n$,
# the variance is too small on average; dividing by $n - 1$ corrects this. Like PyTorch, we
# normalize with the variance over $n$, and update the running variance with the variance over
# $n - 1$. With only one number per channel, no variance can be estimated, so a given line
# refuses such a batch.
#
# **Task.** Write the two modes of `batch_norm`; both compute `out`. Three things are given:
# `axes`, the axes to reduce; `shape`, to which you reshape numbers of shape (C,) so that they
# align with the channels; and the arrays `mean` and `var` with the running statistics.

# %% Batch norm in two modes exercise="batch-norm"
#| export
def batch_norm(x, running_mean, running_var, weight=None, bias=None, training=False,
               momentum=0.1, eps=1e-5):
    """Normalize each channel over the examples of a batch.

    x             Tensor of shape (B, C) or (B, C, H, W)
    running_mean  array, or Tensor that requires no gradient, of shape (C,). In training it may
                  be None: then no statistics are kept
    running_var   the same for the variance
    weight, bias  Tensors of shape (C,), or None
    training      True: normalize with the mean and the variance of this batch, over all axes
                  but 1. Then move running_mean by the fraction `momentum` towards the mean of
                  the batch, and running_var towards its variance divided by n - 1, in place.
                  False: normalize with the running statistics, and do not change them
    returns       Tensor of the shape of x. The operations are recorded

    In training, raises ValueError, with x.shape in its message, if there is only one number per
    channel, because n - 1 is then 0.

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
    if training and x.size // x.shape[1] < 2:
        raise ValueError(f"training needs 2 or more numbers per channel, not {x.shape}")
    ### BEGIN SOLUTION
    if training:
        out = normalized(x, axes, eps)
        numbers = x.detach()  # Tensors add up exactly, NumPy's mean of many rows does not
        mean[...] = running(mean, numbers.mean(axes).data, momentum)
        var[...] = running(var, numbers.var(axes, correction=1).data, momentum)
    else:
        out = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + eps)
    ### END SOLUTION
    if weight is not None:
        out = out * weight.reshape(shape)
    return out if bias is None else out + bias.reshape(shape)

# %% checks="batch-norm"
check("batch-norm")

# %% [markdown]
# Does the output for an example depend on the other examples in the batch? The two batches
# below have the same first row. Predict, for training and for evaluation, whether the outputs
# for this row are equal.

# %% tags=["answer", "explained"]
one, other = np.array([[1.0, 2.0], [3.0, 0.0]]), np.array([[1.0, 2.0], [9.0, 5.0]])
for training in (True, False):
    outputs = [batch_norm(Tensor(batch), np.zeros(2), np.ones(2), training=training)[0]
               for batch in (one, other)]
    print("training  " if training else "evaluation", *[out.data.round(2) for out in outputs])

# %% [markdown]
# In training the outputs differ. The other examples act like random noise, which can reduce
# overfitting, although with very small batches the noise is too strong, and batch norm works
# badly.
#
# ## Batch norm as a layer
#
# The layer computes two different functions, and its attribute `training` selects one of them.
# This is why results change if you forget `model.eval()`. Its running statistics are *buffers*
# (lesson 04): saved in the state dict, but not learned. `register_buffer(name, array)` makes
# one.
#
# **Task.** Write `BatchNorm`: create its attributes, and call `batch_norm` in `forward`.

# %% The BatchNorm layer exercise="batch-norm-layer"
#| export
class BatchNorm(Module):
    """Batch normalization as a layer; the base class of BatchNorm1d and BatchNorm2d.

    num_features         channels C of the input
    eps                  added to the variance
    momentum             how far the running statistics move with each batch, from 0 to 1; or
                         None: then they are the means over all batches (given), which are
                         counted in the buffer `num_batches_tracked`
    affine               whether the layer has a weight and a bias
    track_running_stats  whether the layer has running statistics; without them, batches are
                         normalized with their own statistics, even in evaluation mode

    .weight        Variable of shape (C,), float32 ones at first; or None
    .bias          Variable of shape (C,), float32 zeros at first; or None
    .running_mean  buffer of shape (C,), float32 zeros at first; or None
    .running_var   buffer of shape (C,), float32 ones at first; or None

    >>> norm = BatchNorm1d(3)
    >>> len(norm.parameters()), list(norm.state_dict())
    (2, ['weight', 'bias', 'running_mean', 'running_var'])

    Source: torch.nn.BatchNorm1d, which counts its batches also when it has a momentum.
    """

    ranks = ()  # the ranks of its inputs

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True,
                 track_running_stats=True):
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        zeros, ones = np.zeros(num_features, np.float32), np.ones(num_features, np.float32)
        self.weight = self.bias = None
        if momentum is None:
            self.register_buffer("num_batches_tracked", np.zeros((), np.int64))
        ### BEGIN SOLUTION
        if affine:
            self.weight, self.bias = Variable(ones), Variable(zeros)
        self.register_buffer("running_mean", zeros if track_running_stats else None)
        self.register_buffer("running_var", ones if track_running_stats else None)
        ### END SOLUTION

    def forward(self, x):
        x = checked_rank(x, self.ranks, self)
        count_batch(self)  # with momentum=None: sets self.momentum to 1 / the number of batches
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
# Now the network of 20 layers again, with BatchNorm1d before each ReLU. Without it, the
# similarity of the outputs was 0.96. Predict the similarity now, and the accuracy.

# %% tags=["answer"]
network = deep_network(norm=BatchNorm1d)
print(f"similarity {similarity(network, x[:200]):.2f}")
batch_norm_losses = train(network)
print(f"loss {batch_norm_losses[-1]:.2f}   test accuracy {accuracy_on_test(network):.1%}")

# %% [markdown]
# In a convolutional network, batch norm has one mean per channel. Below, a small convolutional
# network is trained on the digits for 4 epochs, without and with `BatchNorm2d`. Everything else
# is equal. The code prints the accuracy on the test digits after each epoch.

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
# The inventors of batch norm explained its success as follows: without it, the distributions of
# the signals change during training (*internal covariate shift*), and batch norm keeps them
# stable. But Santurkar et al. (2018) added noise that made the distributions unstable again,
# and training was as fast.
#
# They gave another explanation: batch norm makes the *loss surface* smoother. The next plot
# shows the loss surface along a line: all weights move by $t$ times a random direction.

# %%
from tinytorch.core.layers import he_normal


def fair_network(norm):
    """10 layers at the best scale for ReLU, so that the network can learn without norm."""
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
# caption: With batch norm, the same step changes the loss far less.
# alt: The loss along a random line on a logarithmic axis. Without normalization it rises from
# 2.4 in the middle to several thousand at both ends; with batch norm it stays between 2.5
# and 4.2.

# %% [markdown]
# If the loss nearby is a thousand times as high, only small steps are safe. Predict for which
# learning rates the loss of each network falls in 30 steps.

# %% tags=["answer"]
rates = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0]
with np.errstate(all="ignore"):
    ends = {name: (rates, [np.mean(train(fair_network(norm), 30, lr)[-5:]) for lr in rates])
            for name, norm in {"without": None, "batch norm": BatchNorm1d}.items()}
figure = plot_lines(ends, "learning rate", "loss after 30 steps", top=3, xscale="log")
# alt: The loss after 30 steps over the learning rate, from 0.003 to 3. Without normalization it
# is lowest, 1.7, near 0.1, and rises again; the line ends at 0.3, beyond which the loss is not
# finite. With batch norm it falls to about 0.4 between 0.3 and 1 and is below 1 even at 3.

# %% [markdown] question="gain-in-training" points=5
# **Question.** At the beginning of this chapter, we measured outputs and said: "The gain of the
# weights no longer has any influence." Is this also true for training? Compare this network for
# `factor` 1 and 10:
#
# ```python
# def one_layer(factor):
#     manual_seed(0)
#     dense = Dense(64, 64, bias=False)
#     dense.weights.data *= factor
#     return Sequential(dense, LayerNorm(64), Tensor.relu, Dense(64, 10))
# ```
#
# 1. Compute the outputs of both networks for 64 digits, and the gradients of the loss for
#    `network[0].weights`. How do the outputs differ, and how do the norms of the gradients?
# 2. Train each network with `train(network)`. Which one learns faster? One step of SGD changes
#    the weights by a share of their norm. By which factor do these shares differ, and why?
# 3. Choose a learning rate for the large weights that removes the difference, and test it. The
#    last layer keeps 0.1: give SGD two parameter groups, `network[0].weights` and
#    `network.parameters()[1:]`.
# 4. Weight decay makes such weights smaller. What does it change, and what does it not change?
#
# **Your answer:**
#
# ### BEGIN SOLUTION
# The outputs are equal, except for rounding and eps (the largest difference is about 0.0001).
# The gradient for factor 10 has a tenth of the norm: 0.262 instead of 2.62. The reason: if the
# weights are 10 times as large, the same change of the output needs a change of the weights
# that is 10 times as large.
#
# The network with factor 1 learns faster. The mean loss of the last ten steps is 0.21 for
# factor 1 and 0.71 for factor 10. The step is a tenth, and the weights are 10 times as large.
# So one step changes them by a share that is a hundredth of the other one.
#
# So a learning rate of 10 instead of 0.1, 100 times as large, removes the difference: the loss
# is 0.21 again. So the gain has no influence on what the network computes, but it has an
# influence on how fast it learns.
#
# Weight decay does not change what the network computes, because layer norm divides by the
# scale of the weights. But smaller weights get larger gradients, so each step changes them by a
# larger share. Weight decay works here like a higher learning rate.
#
# - 1 point: equal outputs, and a tenth of the gradient, both measured
# - 1 point: factor 1 learns faster, with the losses
# - 1 point: the shares differ by 100: 10 from the gradient and 10 from the weights
# - 1 point: a learning rate of 10 for these weights, tested: the loss is about the same as with
#   factor 1
# - 1 point: weight decay does not change the function, but makes the steps relatively larger
# - -1 point: says only that the gain has no influence on training
# ### END SOLUTION

# %% [markdown] page="Simpler norms and residual connections"
# ## RMS normalization
#
# Layer norm subtracts a mean and then divides. **RMS normalization** divides the numbers of an
# example by their *root mean square*, $\sqrt{\overline{x^2} + \epsilon}$, and multiplies them
# by a learned weight. It does not subtract a mean, and it has no bias. Zhang and Sennrich
# (2019) found that their networks were as good with it, and faster. Most large language models
# use it today.
#
# **Task.** Write the operation and its rule. The gradient of layer norm subtracts two terms:
# the mean of $h$ and the part along $\hat x$. Which of them is not needed if the row is not
# centered?

# %% RMS norm exercise="rms-norm"
#| export
def rms_norm_forward(x, weight, eps, saved):
    """Root-mean-square normalization over the last axis: x / sqrt(mean of x² + eps) * weight.

    x        ndarray of shape (..., D); not changed
    weight   ndarray of shape (D,)
    eps      added to the mean of the squares
    saved    a dict, in which the function stores "normalized" (..., D) and "scale" (..., 1) for
             the rule, as in layer_norm_forward
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
    """The gradients of x and weight, a list; the arguments are as in layer_norm_rule."""
    ### BEGIN SOLUTION
    normal = saved["normalized"]
    h = g * weight
    dx = saved["scale"] * (h - normal * (h * normal).mean(-1, keepdims=True))
    return [dx, sum_forward(g * normal, tuple(range(g.ndim - 1)))]
    ### END SOLUTION

# %%
#| exporti
derivative(rms_norm_forward, together=rms_norm_rule)

# %%
#| export
def rms_norm(x, normalized_shape, weight=None, eps=None):
    """Divide each example by the root of its mean square, over its last axes.

    x, normalized_shape, weight   as for layer_norm
    eps      added to the mean square; None for the eps of float32, 1.19e-7
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
    eps                 added to the mean square; None for the eps of float32
    elementwise_affine  whether the layer has a weight

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
# The two methods differ only in the centering. Predict the results of both for the row [101,
# 103]:

# %% tags=["answer"]
row = Tensor([[101.0, 103.0]])
print("LayerNorm", LayerNorm(2)(row).data.round(2), "  RMSNorm", RMSNorm(2)(row).data.round(2))

# %% [markdown]
# ## Batch-norm folding
#
# After training, batch norm can be removed from a network. In evaluation mode, batch norm is
# the same affine map for every input: it multiplies a channel by $f = w / \sqrt{\mathrm{var} +
# \epsilon}$ and adds a constant. The layer before it is also an affine map, and two affine maps
# in sequence are one affine map. **Batch-norm folding** combines a trained batch norm with the
# weights and the bias of the layer before it, so that it costs nothing at inference time:
#
# $$(x W + c - \mathrm{mean}) \odot f + b = x \,(W \odot f) + (c - \mathrm{mean}) \odot f + b$$
#
# **Task.** Write `folded`. Which axis of the weights belongs to the output channels?

# %% Folding batch norm into a layer exercise="folded"
#| export
def folded(layer, norm):
    """The weights and bias of one layer that computes the same as `layer` and then `norm`.

    layer    a Dense, with weights of shape (in, out), or a Conv2d, with weights of shape
             (out, channels, height, width); its bias may be None. Not changed
    norm     the BatchNorm1d or BatchNorm2d after it, in evaluation mode; its weight and bias
             may be None. Not changed
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
# Normalization is half of the network that learned best in the first picture. A **residual
# connection** adds the input of a layer to its output: $y = x + f(x)$. The layer then only has
# to learn what should be *changed*.

# %%
draw_residual()
# alt: x goes down through two boxes, LayerNorm and then Dense with ReLU, to a plus sign. A blue
# line, "unchanged", leads from x around both boxes to the plus sign.

# %% [markdown]
# What is the gradient of $x$? The sum passes $g$ unchanged to $x$, whatever $f$ is, and the
# gradient through $f$ is added to it. So even in a stack of 100 such blocks, there is a path on
# which the gradient of the loss reaches the first block unchanged. In the forward direction,
# the image reaches the last block on the same path.
#
# **Task.** Write the last line of `Residual`. The shapes are compared before it, because an
# output of shape (4, 1) would be broadcast.

# %% A residual connection exercise="residual"
#| export
class Residual(Module):
    """A residual connection: Residual(inner)(x) is x + inner(x).

    inner    a Module, or a function of one Tensor

    Raises ValueError, with both shapes in its message, when inner(x) does not have the shape of
    x.

    >>> Residual(lambda x: x * 10)(Tensor([1.0, 2.0]))
    Tensor([11., 22.])

    Source: He, Zhang, Ren, Sun, Deep residual learning for image recognition (2016), 3.2.
    """

    def __init__(self, inner):
        self.inner = inner

    def forward(self, x):
        change = self.inner(x)
        if change.shape != x.shape:
            raise ValueError(f"a residual connection adds the input, of shape {x.shape}, to "
                             f"the output of its layer, of shape {change.shape}")
        ### BEGIN SOLUTION
        return x + change
        ### END SOLUTION

# %% checks="residual"
check("residual")

# %% [markdown]
# Because the signal becomes larger with each of 20 additions, each block normalizes its input
# first, as in the drawing. **Pre-norm** means that a normalization is the first layer inside
# each residual block, and that there is one more after the last block. The residual connection
# itself is not normalized. The transformers of lesson 15 are built like this.
#
# Three residual networks are trained for 100 steps: without normalization, with RMSNorm, and
# with LayerNorm. Predict the order of their accuracies.

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
# Without normalization the sums grow until the loss is not a number, while with LayerNorm the
# network learns faster than any other in this chapter. RMSNorm needs more steps here, and the
# similarity shows why: the outputs of ReLU are never negative, so the rows of all images have a
# positive mean, and RMSNorm does not subtract it. Here is the plot from the beginning of the
# chapter, now made by your own code:

# %% tags=["payoff"]
figure = plot_lines({name: (STEPS, np.reshape(losses, (-1, 5)).mean(1))
                     for name, losses in curves.items()}, "step", "loss")
# alt: Loss over 100 steps. The network of 20 layers stays at 2.3, with batch norm the loss
# falls from 2.7 to below 1. The residual network falls to nearly 0.

# %% [markdown]
# ## Look back
#
# 1. `similarity` measures the inputs of the last layer. Measure it after each layer of
#    `deep_network`: with LayerNorm, with BatchNorm1d, and with LayerNorm and `Tensor.tanh`
#    instead of ReLU. Where do the images become similar?
# 2. A layer with a bias is followed by batch norm. What is the gradient of that bias? Measure
#    it, and explain why such layers are usually made with `bias=False`.
# 3. Train the convolutional network with batches of 2, 8 and 64 images and the same number of
#    steps. How do the accuracies in training mode and in evaluation mode depend on the batch
#    size?
# 4. PyTorch: `torch.nn.LayerNorm`, `RMSNorm`, `BatchNorm1d`, `BatchNorm2d` with the same
#    arguments; `torch.nn.functional.layer_norm`, `rms_norm` and `batch_norm`. A batch norm of
#    PyTorch counts its batches also when it has a momentum (`num_batches_tracked`). Residual
#    connections are written as `x + f(x)`.

# %% [markdown] tags=["answer"]
# 2. It is 0, up to rounding: batch norm subtracts the mean, and with it every constant that was
#    added before. The bias of the batch norm takes its place.

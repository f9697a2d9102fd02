# ---
# jupyter:
#   jupytext:
#     notebook_metadata_filter: tinytorch,-jupytext.text_representation.jupytext_version
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   tinytorch:
#     difficulty: 3
#     enables:
#     - training
#     - convolutions
#     - transformers
#     hours: 5
#     prerequisites:
#     - tensor
#     - layers
#     - autograd
#     summary: From a slope to a step, for a million weights at once
#     terms: []
#     title: Optimizers
# ---

# %% [markdown]
# # 07. Optimizers
#
# Autograd says for each weight which way is down. It does not say how far. Too short a step and
# training takes a year; too long a step and it explodes. This chapter turns slopes into steps,
# in the ways that trained nearly every network you have heard of, and each of them fits on a
# line or two.
#
# **You need** 01 (Tensor), 03 (layers), 06 (autograd). **You write** SGD with momentum, Adam
# and AdamW, parameter groups, clipping, schedules, and a state that can be saved and resumed to
# the last bit.

# %%
#| default_exp core.optimizers
#| export
import copy
import math

import numpy as np

from tinytorch.core.layers import Module
from tinytorch.core.tensor import Tensor
from tinytorch.support.flat import blocks, flat_groups
from tinytorch.support.parameter_groups import check_groups, matching_state
from tinytorch.support.schedules import LambdaLR, LinearLR, LRScheduler, SequentialLR

# %% [markdown]
# ## Downhill
#
# Here is a landscape small enough to draw: a valley in two weights, flat along the first and
# thirty times as steep along the second. Real losses are like that, in a million directions.

# %%
def valley(w):
    """How high it is at w = (w0, w1)."""
    return 0.5 * (w[0] ** 2 + 30 * w[1] ** 2)


def slope_of_valley(w):
    """Its slope there, worked out by hand."""
    return np.array([w[0], 30 * w[1]])

# %% [markdown]
# A slope points uphill, so a step goes against it, and how far is the *learning rate*, `lr`:
# the weight moves by `lr` times its slope.
#
# The weights are changed *in place*. Others hold the same array, layers above all; a new array
# would be an improvement that nobody sees. The slopes stay as they are: somebody may want to
# print or to clip them.
#
# **Task.** Write `descend`.

# %% exercise="descend"
#| export
def descend(w, g, lr):
    """One step against the slope, in place.

    w        ndarray: the weights; changed
    g        ndarray of the same shape and dtype: the slope of the loss with respect to each
             weight; not changed
    lr       how far to go for a slope of 1, per step
    returns  None

    >>> w = np.array([1.0, 5.0])
    >>> descend(w, np.array([2.0, -20.0]), lr=0.1)
    >>> w
    array([0.8, 7. ])

    Source: Cauchy, Méthode générale pour la résolution des systèmes d'équations simultanées
    (1847).
    """
    ### BEGIN SOLUTION
    w -= lr * g
    ### END SOLUTION

# %% checks="descend"
check("descend")

# %% [markdown]
# Predict where (10, 1) gets in 50 steps at each of these rates, along the valley and across it.
# Where is the border between "faster" and "nowhere"? (Across, one step multiplies by 1 - 30
# lr.)

# %%
for lr in (0.01, 0.03, 0.065, 0.067, 0.07):
    w = np.array([10.0, 1.0])
    for _ in range(50):
        descend(w, slope_of_valley(w), lr)
    print(f"lr {lr:5}: {w[0]:8.4f} along, {w[1]:10.4g} across, height {valley(w):.4g}")

# %% [markdown]
# The steepest direction sets the speed limit, here 2 / 30, and at that limit the flat direction
# crawls. What follows are the two classic ways out: remember where you were going, and give
# every weight a rate of its own.

# %% [markdown]
# ## Momentum
#
# Let the weights roll. Across the valley the slope changes its sign with each step, along it
# the slope always says the same. Add the slopes up and the first cancel, the second grow:
#
# $$v \leftarrow \mu v + g, \qquad w \leftarrow w - \text{lr} \cdot v.$$
#
# With $\mu = 0.9$ and a slope that stays, predict how large $v$ gets. (What must it be to stay
# as it is?)

# %%
velocity = 0.0
for step in range(1, 51):
    velocity = 0.9 * velocity + 1.0
    if step in (1, 2, 10, 50):
        print(f"after {step} steps {velocity:.3f}")

# %% [markdown]
# Ten times the slope. So momentum is a larger rate for what keeps its direction, and that is
# why `lr` must not hide inside $v$: when a schedule lowers it, ten steps' worth of the old rate
# would still be rolling.
#
# Nesterov's variant looks ahead: $v$ will push the weights again in the next step anyway, so go
# as if it had been updated once more, by $g + \mu v$ with the new $v$.
#
# **Task.** Write `push`.

# %% exercise="push"
#| export
def push(velocity, g, momentum, nesterov=False):
    """Let the slope push what is already moving, and say which way to go.

    velocity  ndarray, zeros before the first step; updated in place
    g         ndarray of the same shape and dtype: the slope; not changed
    momentum  the share of its velocity that a weight keeps in each step, from 0 to below 1
    nesterov  look one push ahead
    returns   ndarray to be multiplied by the learning rate; it may be `velocity` itself

    >>> velocity = np.array([10.0, 0.0])
    >>> push(velocity, np.array([1.0, 2.0]), momentum=0.5)
    array([6., 2.])

    Source: Polyak (1964); Sutskever et al., On the importance of initialization and momentum
    (2013), in the form of torch.optim.SGD.
    """
    ### BEGIN SOLUTION
    velocity *= momentum
    velocity += g
    return g + momentum * velocity if nesterov else velocity
    ### END SOLUTION

# %% checks="push"
check("push")

# %% [markdown]
# ## A rate for every weight
#
# The other way out: if some slopes are thirty times as large as others, divide each by its
# usual size. *Adam* keeps two running averages per weight, of the slope and of its square:
#
# $$m \leftarrow \beta_1 m + (1 - \beta_1)\, g,
# \qquad v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2.$$
#
# The root of $v$ is the usual size of a slope, $m$ its usual value. Predict $m / \sqrt{v}$ for
# a weight whose slope is always 0.001, for one whose slope is always 1000, and for one whose
# slope changes its sign each time.
#
# **Task.** Write `update_averages`.

# %% exercise="averages"
#| export
def update_averages(m, v, g, beta1, beta2):
    """Take a new slope into the running averages of Adam, in place.

    m        ndarray: average of the slopes, zeros before the first step; updated
    v        ndarray: average of their squares, zeros before the first step; updated
    g        ndarray of the same shape and dtype: the slope; not changed
    beta1    how much of m is kept in each step, from 0 to below 1
    beta2    how much of v is kept
    returns  None

    >>> m, v = np.array([1.0]), np.array([10.0])
    >>> update_averages(m, v, np.array([3.0]), beta1=0.5, beta2=0.75)
    >>> m, v
    (array([2.]), array([9.75]))

    Source: Kingma and Ba, Adam: a method for stochastic optimization (2015), algorithm 1.
    """
    ### BEGIN SOLUTION
    m *= beta1
    m += (1 - beta1) * g
    v *= beta2
    v += (1 - beta2) * g * g
    ### END SOLUTION

# %% checks="averages"
check("averages")

# %% [markdown]
# Both averages start at 0, and in the beginning they are mostly made of that 0. Print what is
# kept of a slope of 5 after the first steps, and predict the third column: the share of the
# average that is not the 0 of the start.

# %%
m, v = np.zeros(1), np.zeros(1)
for step in range(1, 4):
    update_averages(m, v, np.array([5.0]), 0.9, 0.999)
    print(f"step {step}: m {m[0]:.3f}  root of v {v[0] ** 0.5:.3f}   1 - 0.9**{step} = "
          f"{1 - 0.9**step:.3f}")

# %% [markdown]
# After $t$ steps the weights of all slopes so far add up to $1 - \beta^t$. Dividing by it gives
# the average of what was really seen. It is a correction for use; the averages themselves stay
# as they are, or the next step would correct what was corrected.
#
# The direction is $\hat m / (\sqrt{\hat v} + \epsilon)$. The small $\epsilon$ keeps a slope of
# 0 from becoming 0 / 0.
#
# **Task.** Write `adam_direction`.

# %% exercise="direction"
#| export
def adam_direction(m, v, step, betas, eps):
    """Where Adam goes: the average slope over its usual size, both corrected for their start at
    0.

    m        ndarray: running average of the slopes; not changed
    v        ndarray: running average of their squares; not changed
    step     how many slopes went into them, 1 or more
    betas    (beta1, beta2), the shares that m and v keep in each step
    eps      added to the root of the corrected v, in the unit of a slope
    returns  a new ndarray, to be multiplied by the learning rate

    >>> adam_direction(np.array([0.5]), np.array([0.4]), 1, (0.9, 0.999), 0.0)
    array([0.25])

    Source: Kingma and Ba (2015), algorithm 1.
    """
    ### BEGIN SOLUTION
    beta1, beta2 = betas
    corrected_m = m / (1 - beta1 ** step)
    corrected_v = v / (1 - beta2 ** step)
    return corrected_m / (np.sqrt(corrected_v) + eps)
    ### END SOLUTION

# %% checks="direction"
check("direction")

# %% [markdown]
# ## Forgetting on purpose
#
# Weights that no slope holds should not stay large for no reason: small weights make smoother
# networks. The old way adds a little of each weight to its slope, as if the loss contained
# $\frac{\lambda}{2} w^2$. Given:

# %%
#| exporti
def with_decay(g, w, weight_decay):
    """The slope of the loss plus weight_decay / 2 * w²; `g` itself if that is 0."""
    return g + weight_decay * w if weight_decay else g

# %% [markdown]
# For SGD that is the same as shrinking each weight by the factor 1 - lr λ in each step. For
# Adam it is not. Two weights at 1 meet slopes that are nothing but noise, one a hundred times
# as loud. Predict what is left of each:

# %%
noise = np.random.default_rng(0).normal(size=(1000, 2)) * [0.1, 10.0]
w, m, v = np.ones(2), np.zeros(2), np.zeros(2)
for step, g in enumerate(noise, 1):
    update_averages(m, v, with_decay(g, w, 0.3), 0.9, 0.999)
    descend(w, adam_direction(m, v, step, (0.9, 0.999), 1e-8), 0.001)
print(f"quiet {w[0]:.2f}, loud {w[1]:.2f}")

# %% [markdown]
# Adam divides by the usual size of a slope, and with it by what was added: the loud weight
# hardly decays. *AdamW* takes the decay out of the slope again and shrinks the weight itself,
# before the step:
#
# $$w \leftarrow (1 - \text{lr} \cdot \lambda)\, w, \qquad
# w \leftarrow w - \text{lr} \cdot \hat m / (\sqrt{\hat v} + \epsilon).$$
#
# **Task.** Write `adamw_update`, one whole step.

# %% exercise="adamw"
#| export
def adamw_update(w, g, m, v, step, lr, betas, eps, weight_decay):
    """One step of AdamW, in place.

    w             ndarray: the weights; changed
    g             ndarray: their slopes; not changed, and without decay in them
    m, v          ndarrays: the running averages; updated. Like w and g in shape and dtype
    step          the number of this step, 1 for the first
    lr            learning rate, per step
    betas, eps    as in `adam_direction`
    weight_decay  the share of a weight that goes in each step, in units of lr; it goes before
                  the step
    returns       None

    >>> w, m, v = np.array([1.0]), np.zeros(1), np.zeros(1)
    >>> adamw_update(w, np.array([2.0]), m, v, 1, lr=0.5, betas=(0.9, 0.999), eps=0.0,
    ...              weight_decay=0.5)
    >>> w.round(6), m.round(6)
    (array([0.25]), array([0.2]))

    Source: Loshchilov and Hutter, Decoupled weight decay regularization (2019), in the form of
    torch.optim.AdamW.
    """
    ### BEGIN SOLUTION
    w *= 1 - lr * weight_decay
    update_averages(m, v, g, *betas)
    descend(w, adam_direction(m, v, step, betas, eps), lr)
    ### END SOLUTION

# %% checks="adamw"
check("adamw")

# %%
w, m, v = np.ones(2), np.zeros(2), np.zeros(2)
for step, g in enumerate(noise, 1):
    adamw_update(w, g, m, v, step, 0.001, (0.9, 0.999), 1e-8, 0.3)
print(f"quiet {w[0]:.2f}, loud {w[1]:.2f}; without noise (1 - 0.001 * 0.3) ** 1000 = "
      f"{(1 - 3e-4) ** 1000:.2f}")

# %% [markdown]
# ## Three ways down
#
# All that was written so far, in one picture: forty steps from (-10, 2). Before you run it,
# draw the three paths in your mind. Which one overshoots along the valley? Which one leaves at
# 45 degrees, and why?

# %%
import matplotlib.pyplot as plt


def path_of(step_at, steps=40):
    """The places on the way: step_at(w, g, t) changes w."""
    w, places = np.array([-10.0, 2.0]), []
    for t in range(1, steps + 1):
        places.append(w.copy())
        step_at(w, slope_of_valley(w), t)
    return np.array(places)


velocity, m, v = np.zeros(2), np.zeros(2), np.zeros(2)
paths = {
    "SGD, lr 0.06": path_of(lambda w, g, t: descend(w, g, 0.06)),
    "momentum 0.7, lr 0.03": path_of(lambda w, g, t: descend(w, push(velocity, g, 0.7), 0.03)),
    "Adam, lr 0.5": path_of(lambda w, g, t: adamw_update(w, g, m, v, t, 0.5,
                                                         (0.9, 0.999), 1e-8, 0.0)),
}

figure, axes = plt.subplots(4, 1, figsize=(7, 8), height_ratios=(1, 1, 1, 0.9),
                            layout="constrained")
x, y = np.meshgrid(np.linspace(-11, 6, 171), np.linspace(-2.4, 2.4, 97))
for axis, color, (name, places) in zip(axes, ("tab:orange", "tab:green", "tab:blue"),
                                       paths.items()):
    axis.contour(x, y, valley((x, y)), levels=[0.5, 2, 5, 10, 20, 40, 70], colors="lightgray",
                 linewidths=0.8)
    axis.plot(*places.T, ".-", color=color, linewidth=1, label=name)
    axis.plot(0, 0, "k+", markersize=10)
    axis.legend(loc="upper right")
    axes[-1].semilogy([valley(w) for w in places], color=color, label=name)
axes[-1].set(xlabel="step", ylabel="height")
axes[-1].legend()
# alt: Four panels. Paths to the middle of a long valley: plain descent zigzags, momentum
# swings, Adam bends in one curve. Below, the height of each against the step, on a logarithmic
# scale.

# %% [markdown]
# SGD jumps from wall to wall and creeps along. Momentum, at half the rate, swings less and gets
# ten thousand times lower. Adam's first step is as long along as across, whatever the slopes:
# only their signs count. It rolls past the lowest point, since its average, too, remembers
# where it was going. Predict which of the three paths change when the valley is 3,000 times as
# steep across as along, with the same rates, and try it.

# %% [markdown]
# ## Whose numbers?
#
# From arrays to networks. An optimizer is told which tensors to improve, and not all need be
# treated alike: biases are often spared the decay, the first layers get a smaller rate. So it
# takes tensors, or *groups* of them, each a dict with options of its own; what a group does not
# say is the same for all.
#
# Two traps. A generator can be walked once, and an optimizer walks its parameters in every
# step. And a list that is empty by mistake would train nothing, without a word.
#
# **Task.** Write `groups_of`.

# %% exercise="groups"
#| export
def groups_of(params, defaults):
    """The parameters as a list of groups, each a dict that says everything about it.

    params    Tensors, or dicts with "params" (Tensors) and options; a list, a generator, ...
    defaults  {option: value} for what a group does not say itself; not changed
    returns   list of new dicts with "params", a list, and every option

    Raises ValueError when there are no parameters at all.

    >>> groups_of([{"params": "ab", "lr": 0.5}, {"params": "c"}], {"lr": 0.1})
    [{'lr': 0.5, 'params': ['a', 'b']}, {'lr': 0.1, 'params': ['c']}]

    Source: torch.optim, "Per-parameter options".
    """
    ### BEGIN SOLUTION
    params = list(params)
    if not params:
        raise ValueError("an optimizer needs parameters, and was given none: "
                         "is it net.parameters(), with brackets, of a network that has some, "
                         "or a generator that was already walked?")
    groups = params if isinstance(params[0], dict) else [{"params": params}]
    return [{**defaults, **group, "params": list(group["params"])} for group in groups]
    ### END SOLUTION

# %% checks="groups"
check("groups")

# %% [markdown]
# ## End to end
#
# A small transformer keeps its weights in some thirty arrays, most of them tiny. Adam is a
# dozen NumPy calls per array, and a call takes about a microsecond before it computes anything.
# Predict how much faster one long array is stepped than thirty short ones with as many numbers.

# %%
import time
import timeit

shapes = [(64,), (64, 3), (8, 8, 2), (64,), (5,)] * 6
small = [[np.ones(shape, "float32") for _ in range(4)] for shape in shapes]
long = [np.concatenate([arrays[n].ravel() for arrays in small]) for n in range(4)]


def adam_on(w, g, m, v):
    adamw_update(w, g, m, v, 7, 0.001, (0.9, 0.999), 1e-8, 0.01)


apart = (min(timeit.repeat(lambda: [adam_on(*arrays) for arrays in small], time.process_time,
                           number=20, repeat=5)) / 20)
joined = min(timeit.repeat(lambda: adam_on(*long), time.process_time, number=20, repeat=5)) / 20
print(f"{len(shapes)} arrays, {long[0].size} numbers: one by one {apart * 1e6:.0f} us, "
      f"end to end {joined * 1e6:.0f} us")

# %% [markdown]
# So small parameters are copied end to end, stepped together and copied back, two cheap copies
# instead of hundreds of calls. Large ones are stepped where they lie. The averages live end to
# end all the time, and yet each parameter must find its own part, for instance to be saved. A
# part of an array that shares its memory is a *view*.
#
# **Task.** Write `views_of`.

# %% exercise="views"
#| export
def views_of(flat, shapes):
    """Arrays of the given shapes that lie end to end in `flat`.

    flat     ndarray with one axis
    shapes   list of tuples; they hold as many numbers together as `flat` does
    returns  list of ndarrays that share their memory with `flat`: what is written into one is
             seen in the other

    >>> flat = np.arange(5)
    >>> pair, number = views_of(flat, [(2, 2), ()])
    >>> pair[0, 1] = 70
    >>> flat
    array([ 0, 70,  2,  3,  4])

    Source: numpy.org, "Copies and views".
    """
    ### BEGIN SOLUTION
    views, start = [], 0
    for shape in shapes:
        size = math.prod(shape)
        views.append(flat[start:start + size].reshape(shape))
        start += size
    return views
    ### END SOLUTION

# %% checks="views"
check("views")

# %% [markdown]
# The rest of that bookkeeping is in `tinytorch/support/flat.py`. A `FlatGroup` there is what is
# stepped at once: one large array, or many small ones of the same dtype that have taken as many
# steps. `bundle.collect()` gives its weights and slopes, `bundle.step` says how many steps it
# took, `bundle.state` is what it remembers, and `bundle.give_back()` writes the weights back.

# %% [markdown]
# ## One step for all
#
# What optimizers share is below: groups, and for each parameter a *state* with the number of
# its steps and what is remembered of its slopes. What differs is `keeps`, the names of what to
# remember, and `improve`, the formula. A rate of -0.1, an option that is misspelled or a
# parameter that is given twice is refused at once, by `check_groups`.

# %%
#| export
class Optimizer:
    """Tensors that are improved together. A subclass says what to keep for each, and how to
    improve.

    params    Tensors, or dicts of {"params": Tensors, option: value}; see `groups_of`
    defaults  the options of groups that do not give their own

    .param_groups  the groups, as dicts; options may be changed between steps
    .state         {Tensor: {"step": n, name: ndarray}}
    """

    small = 0  # parameters of fewer numbers than this are stepped end to end
    block = math.inf  # those of more are stepped in parts

    def __init__(self, params, **defaults):
        if isinstance(params, (Tensor, Module)):
            raise TypeError("an optimizer takes a list of tensors, "
                            f"not a {type(params).__name__}: net.parameters(), or [w]")
        self.param_groups = check_groups(groups_of(params, defaults), defaults, Tensor)
        self.state, self.bundles = {}, {}

    def keeps(self, group):
        """The names of the arrays to keep for each parameter of a group; they start as
        zeros."""
        return ()

    def improve(self, w, g, state, step, group):
        """One step, in place: weights, their slopes, {name: array}, the number of the step, the
        options."""
        raise NotImplementedError(f"{type(self).__name__} needs a method improve(self, w, g, "
                                  "state, step, group)")

    def update(self, w, g, state, step, group):
        """`improve`, in blocks."""
        if w.size <= self.block:
            return self.improve(w, g, state, step, group)
        for w, g, *kept in blocks(self.block, w, g, *state.values()):
            self.improve(w, g, dict(zip(state, kept)), step, group)

    def flat_groups_for(self, place, ready):
        """The Bundles of `ready`, parameters of group number `place`: those of last time if the
        parameters are the same."""
        names = self.keeps(self.param_groups[place])
        key = [names, *map(id, ready)]
        known, bundles = self.bundles.get(place, (None, None))
        if known != key:
            bundles = flat_groups(ready, self.state, names, self.small, views_of)
            self.bundles[place] = key, bundles
        return bundles

    def step(self):
        """Improve every parameter that has a gradient."""
        take_step(self)

    def zero_grad(self):
        """Forget all gradients: `backward` adds to them."""
        for group in self.param_groups:
            for p in group["params"]:
                p.grad = None

    def state_dict(self):
        """A copy of all that the next steps depend on, in plain arrays and numbers."""
        return saved_state(self)

    def load_state_dict(self, state):
        """Go on from what `state_dict` gave, with as many parameters in the same order: all of
        it or nothing."""
        self.param_groups, self.state = matching_state(self, state)
        self.bundles = {}

    def __repr__(self):
        options = [", ".join(f"{name}={x}" for name, x in group.items() if name != "params")
                   for group in self.param_groups]
        return f"{type(self).__name__}({'; '.join(options)})"

# %% [markdown]
# With that, the optimizers themselves are what you wrote above:

# %%
#| export
class SGD(Optimizer):
    """Steps against the slope, with momentum if asked.

    params        Tensors or groups
    lr            learning rate, per step
    momentum      share of the velocity that is kept in each step, from 0 to below 1
    weight_decay  adds weight_decay times the weight to its slope
    nesterov      look one push ahead

    Source: torch.optim.SGD, without its `dampening`.
    """

    def __init__(self, params, lr=0.001, momentum=0.0, *, weight_decay=0.0, nesterov=False):
        super().__init__(params, lr=lr, momentum=momentum, weight_decay=weight_decay,
                         nesterov=nesterov)

    def keeps(self, group):
        return ("momentum_buffer",) if group["momentum"] else ()

    def improve(self, w, g, state, step, group):
        g = with_decay(g, w, group["weight_decay"])
        if group["momentum"]:
            g = push(state["momentum_buffer"], g, group["momentum"], group["nesterov"])
        descend(w, g, group["lr"])


class Adam(Optimizer):
    """Steps along the average slope over its usual size.

    params        Tensors or groups
    lr            learning rate, per step; about how far each weight moves in a step
    betas         shares of the two averages that are kept in each step
    eps           added to the usual size of a slope
    weight_decay  adds weight_decay times the weight to its slope; see AdamW

    Source: Kingma and Ba (2015); torch.optim.Adam.
    """

    small, block = 16_384, 65_536

    def __init__(self, params, lr=0.001, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    def keeps(self, group):
        return ("exp_avg", "exp_avg_sq")

    def improve(self, w, g, state, step, group):
        m, v = state["exp_avg"], state["exp_avg_sq"]
        update_averages(m, v, with_decay(g, w, group["weight_decay"]), *group["betas"])
        descend(w, adam_direction(m, v, step, group["betas"], group["eps"]), group["lr"])


class AdamW(Adam):
    """Adam, with a decay that shrinks the weights themselves: by lr times weight_decay in each
    step.

    The arguments are those of Adam. Source: Loshchilov and Hutter (2019); torch.optim.AdamW.
    """

    def __init__(self, params, lr=0.001, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        super().__init__(params, lr, betas, eps, weight_decay)

    def improve(self, w, g, state, step, group):
        adamw_update(w, g, state["exp_avg"], state["exp_avg_sq"], step, group["lr"],
                     group["betas"], group["eps"], group["weight_decay"])

# %% [markdown]
# What is left is the loop. In one step of training some parameters may not have taken part: a
# branch that was not used, a layer that is frozen. `backward` leaves their `.grad` at None, and
# they rest: no step, no decay, no count. Each parameter counts its own steps; predict what
# Adam's correction would do to one that joins at step 1000 and counted from the start.
#
# **Task.** Write `take_step`: for each group, the parameters that are ready; for each of their
# bundles one update.

# %% exercise="step"
#| export
def take_step(optimizer):
    """Improve every parameter that has a gradient; the others rest.

    optimizer  an Optimizer; its tensors, their state and their counts are changed
    returns    None

    >>> w, resting = Tensor([1.0, 2.0]), Tensor([5.0])
    >>> w.grad = np.array([10.0, -10.0], "float32")
    >>> take_step(SGD([w, resting], lr=0.1))
    >>> w, resting
    (Tensor([0., 3.]), Tensor([5.]))

    Source: torch.optim.Optimizer.step.
    """
    ### BEGIN SOLUTION
    for place, group in enumerate(optimizer.param_groups):
        ready = [p for p in group["params"] if p.grad is not None]
        for bundle in optimizer.flat_groups_for(place, ready):
            w, g = bundle.collect()
            bundle.step += 1
            optimizer.update(w, g, bundle.state, bundle.step, group)
            bundle.give_back()
    ### END SOLUTION

# %% checks="step"
check("step")

# %% [markdown]
# Now the whole of it, on a network: two moons, each of 200 points, one hidden layer. Predict
# which of the three needs the fewest steps, and then change the learning rates until you were
# right.

# %%
from tinytorch.core.layers import Dense, Sequential, he_normal, manual_seed
from tinytorch.core.losses import cross_entropy

rng = np.random.default_rng(0)
angle, moon = rng.uniform(0, np.pi, 400), rng.integers(0, 2, 400)
points = (np.stack([np.cos(angle) + moon, np.sin(angle) * (1 - 2 * moon) + 0.5 * moon], 1)
          + rng.normal(0, 0.1, (400, 2)))
points = points.astype("float32")


def curve(make, steps=150):
    """The loss before each step, of one and the same network at the start."""
    manual_seed(1)
    net, losses = Sequential(Dense(2, 16, init=he_normal), Tensor.relu, Dense(16, 2)), []
    optimizer = make(net.parameters())
    for _ in range(steps):
        loss = cross_entropy(net(Tensor(points)), moon)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    return losses


curves = {"SGD, lr 0.3": curve(lambda p: SGD(p, 0.3)),
          "momentum 0.9, lr 0.3": curve(lambda p: SGD(p, 0.3, 0.9)),
          "AdamW, lr 0.03": curve(lambda p: AdamW(p, 0.03))}
figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
for name, losses in curves.items():
    axis.semilogy(losses, label=f"{name}: {losses[-1]:.4f}")
axis.set(xlabel="step", ylabel="cross-entropy")
axis.legend()
# alt: Cross-entropy against step, on a logarithmic scale, for SGD, momentum and AdamW from the
# same start. All fall fast at first; AdamW goes on falling and ends lowest.

# %% [markdown]
# ## Overnight
#
# A run that is stopped and resumed should end exactly where one would that was never stopped.
# The weights alone will not do: Adam without its averages takes first steps again. What has to
# be kept is all that the next step depends on.
#
# A file knows no tensors, so a tensor is named by its place: the parameters of all groups
# counted from 0. Loading is given (`matching_state`); it refuses what does not fit before it
# changes anything.
#
# **Task.** Write `saved_state`.

# %% exercise="save"
#| export
def saved_state(optimizer):
    """A copy of all that the next steps of an optimizer depend on, in plain arrays and numbers.

    optimizer  an Optimizer
    returns    {"state": {number: {"step": n, name: ndarray, ...}}, "param_groups": [{"params":
               [number], option: value}]} where the parameters are numbered from 0 through all
               groups; those that never stepped have no state

    No array is shared with the optimizer.

    >>> w = Tensor([1.0])
    >>> saved_state(SGD([w], lr=0.5))["param_groups"]
    [{'lr': 0.5, 'momentum': 0.0, 'weight_decay': 0.0, 'nesterov': False, 'params': [0]}]

    Source: torch.optim.Optimizer.state_dict.
    """
    ### BEGIN SOLUTION
    params = [p for group in optimizer.param_groups for p in group["params"]]
    number = {p: n for n, p in enumerate(params)}
    state = {number[p]: copy.deepcopy(kept) for p, kept in optimizer.state.items()}
    groups = [{**group, "params": [number[p] for p in group["params"]]}
              for group in optimizer.param_groups]
    return {"state": state, "param_groups": groups}
    ### END SOLUTION

# %% checks="save"
check("save")

# %% [markdown]
# ## A step that is not too long
#
# One odd batch can have slopes a thousand times as large as usual, and one step along them
# undoes a day. *Clipping* shortens it: all gradients together are one long vector; if its
# length is more than `max_norm`, it gets that length and keeps its direction.
#
# Predict: two parameters have the gradients (3, 4) and (6, 8), and `max_norm` is 5. What
# becomes of the first?
#
# **Task.** Write `clip_grad_norm_`. It is called between `backward` and `step`; the line at the
# end of its name is PyTorch's way to say "in place".

# %% exercise="clip"
#| export
def clip_grad_norm_(parameters, max_norm):
    """Shorten all gradients by one factor, so that together they are no longer than `max_norm`.

    parameters  Tensors: a list, a generator, ...; those without a gradient have no part in it
    max_norm    the largest length that is left as it is, in the unit of a slope; longer ones
                get, to one part in a million, this length
    returns     the length before, a float

    The arrays in `.grad` are changed in place. For no gradients at all the length is 0.

    >>> a, b = Tensor([0.0]), Tensor([0.0])
    >>> a.grad, b.grad = np.array([30.0]), np.array([-40.0])
    >>> clip_grad_norm_([a, b], max_norm=5.0)
    50.0
    >>> a.grad.round(4), b.grad.round(4)
    (array([3.]), array([-4.]))

    Source: Pascanu, Mikolov, Bengio, On the difficulty of training recurrent neural networks
    (2013); the 1e-6 added to the length is from torch.nn.utils.clip_grad_norm_.
    """
    ### BEGIN SOLUTION
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = math.hypot(*[float(np.linalg.norm(g)) for g in gradients])
    factor = max_norm / (norm + 1e-6)
    if factor < 1:
        for g in gradients:
            g *= factor
    return norm
    ### END SOLUTION

# %% checks="clip"
check("clip")

# %% [markdown]
# ## Rates that change
#
# Long steps first, while everything is wrong; short ones at the end, to settle. A *schedule*
# sets the rate of every group before each step or each epoch, from the rate it had at the start
# (`base`) and the number of times it was told to go on, `epoch`.
#
# What schedules share is the class `LRScheduler`, of which only this matters here: for each
# group, at the start and after each `schedule.step()`, it sets
# `group["lr"] = self.rate(base, epoch)`. `rate` is what makes a schedule.

# %% [markdown]
# The oldest schedule goes down a stair: the rate stays for `step_size` epochs, then it is
# multiplied by `gamma`.
#
# **Task.** Write `rate` of `StepLR`.

# %% exercise="stairs"
#| export
class StepLR(LRScheduler):
    """A stair: every `step_size` epochs the rate is multiplied by `gamma`.

    optimizer  an Optimizer
    step_size  how many epochs each stair is long
    gamma      the height of a stair over that of the one before

    >>> schedule = StepLR(SGD([Tensor([1.0])], lr=8.0), step_size=2, gamma=0.5)
    >>> [schedule.rate(8.0, epoch) for epoch in range(5)]
    [8.0, 8.0, 4.0, 4.0, 2.0]

    Source: torch.optim.lr_scheduler.StepLR.
    """

    def __init__(self, optimizer, step_size, gamma=0.1):
        if step_size < 1:
            raise ValueError(f"step_size is {step_size}: a stair is 1 epoch long or more")
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer)

    def rate(self, base, epoch):
        ### BEGIN SOLUTION
        return base * self.gamma ** (epoch // self.step_size)
        ### END SOLUTION

# %% checks="stairs"
check("stairs")

# %% [markdown]
# A gentler way down is half a wave of the cosine, from `base` at epoch 0 to `eta_min` at epoch
# `T_max`: slow, then fast, then slow. PyTorch lets the wave go on after that, up again, for
# those who start anew on purpose.
#
# **Task.** Write `rate` of `CosineAnnealingLR`.

# %% exercise="cosine"
#| export
class CosineAnnealingLR(LRScheduler):
    """Half a wave down: from the base rate in epoch 0 to `eta_min` in epoch `T_max`. Afterwards
    the wave goes on, up.

    optimizer  an Optimizer
    T_max      how many epochs the way down takes
    eta_min    the lowest rate

    >>> schedule = CosineAnnealingLR(SGD([Tensor([1.0])], lr=8.0), T_max=4)
    >>> [round(schedule.rate(8.0, epoch), 2) for epoch in (0, 1, 2, 3, 4, 6)]
    [8.0, 6.83, 4.0, 1.17, 0.0, 4.0]

    Source: Loshchilov and Hutter, SGDR (2017), (5); torch.optim.lr_scheduler.CosineAnnealingLR.
    """

    def __init__(self, optimizer, T_max, eta_min=0.0):
        if T_max < 1:
            raise ValueError(f"T_max is {T_max}: the way down takes 1 epoch or more")
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer)

    def rate(self, base, epoch):
        ### BEGIN SOLUTION
        share = (1 + math.cos(math.pi * epoch / self.T_max)) / 2
        return self.eta_min + (base - self.eta_min) * share
        ### END SOLUTION

# %% checks="cosine"
check("cosine")

# %% [markdown]
# At the very beginning, too, long steps are wrong: Adam's averages rest on a few slopes. So the
# rate is often warmed up: it grows evenly for some steps, and then comes down. `LinearLR` does
# the one, `LambdaLR` multiplies the rate by any function of the epoch, and `SequentialLR` joins
# schedules, each of which counts its own epochs from 0. They are given, in
# `tinytorch/support/schedules.py`, with PyTorch's names and arguments.

# %% [markdown]
# Warm-up and half a cosine became the usual schedule of transformers, and two mistakes come
# with it. A cosine that has counted since the start of the warm-up is no longer at its top when
# its turn comes. And a training that goes on after the planned end finds the rate rising.
#
# **Task.** Write `warmup_cosine`, the factor for one step.

# %% exercise="warmup"
#| export
def warmup_cosine(step, warmup, total, lowest=0.0):
    """The share of the full rate in one step: evenly up, half a cosine down, then level. For
    `LambdaLR`.

    step     0 for the first
    warmup   how many steps the way up takes; (step + 1) / (warmup + 1) in each of them, so 1 is
             first in step `warmup`
    total    the step in which `lowest` is reached, more than `warmup`; all later steps have it
             too
    lowest   the share at the end
    returns  a float between 0 and 1

    >>> [round(warmup_cosine(step, 3, 7, 0.2), 2) for step in range(9)]
    [0.25, 0.5, 0.75, 1.0, 0.88, 0.6, 0.32, 0.2, 0.2]

    Source: Loshchilov and Hutter (2017), (5), behind the warm-up of Goyal et al. (2017),
    section 2.2.
    """
    ### BEGIN SOLUTION
    if step < warmup:
        return (step + 1) / (warmup + 1)
    share = min(1.0, (step - warmup) / (total - warmup))
    return lowest + (1 - lowest) * (1 + math.cos(math.pi * share)) / 2
    ### END SOLUTION

# %% checks="warmup"
check("warmup")

# %%
figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
for name, make in {
    "StepLR(30, 0.3)": lambda o: StepLR(o, 30, 0.3),
    "CosineAnnealingLR(100)": lambda o: CosineAnnealingLR(o, 100),
    "LinearLR, then CosineAnnealingLR": lambda o: SequentialLR(
        o, [LinearLR(o, 0.1, total_iters=20), CosineAnnealingLR(o, 80)], [20]),
    "LambdaLR, warmup_cosine":
        lambda o: LambdaLR(o, lambda step: warmup_cosine(step, 10, 100, 0.1)),
}.items():
    schedule, rates = make(SGD([Tensor([1.0])], lr=1.0)), []
    for _ in range(120):
        rates += schedule.get_last_lr()
        schedule.step()
    axis.plot(rates, label=name)
axis.set(xlabel="epoch", ylabel="learning rate")
axis.legend(fontsize="small")
# alt: Learning rate against epoch for four schedules: stairs, half a cosine, a line up and then
# a cosine, and a warm-up with a cosine down to a floor.

# %% [markdown]
# ## Look back
#
# 1. The slopes of a batch are noisy. Add `rng.normal(size=2) * 3` to every slope of the valley:
#    how far from the lowest point do SGD, momentum and Adam still wander after 1,000 steps? And
#    with `warmup_cosine`? What becomes smaller?
# 2. Notes hold arrays, and `step` writes into them. Let y = w * x with w = 2; call
#    `y.backward(retain_graph=True)`, set all gradients to None, take a step, and call
#    `y.backward()` again. Which slope does x get, and which should it have? What does that say
#    about a layer that updates its weights before it has handed its gradient on?
# 3. You know the best rate only up to a factor of 10. Train the moons with a tenth, with all
#    and with ten times the rates above: which optimizer would you trust?

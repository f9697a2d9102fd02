# %% [markdown]
# # 07. Optimizers
#
# Autograd computes the gradient of the loss. How should training use it to change the weights?
# An **optimizer** is an algorithm that computes new weights from the gradient, step after step.
# The choice of the optimizer matters. Below, two optimizers take 50 steps each, from the same
# weights and with the same learning rate. Because the second one also uses the gradients of
# earlier steps, which needs one more line of code, its loss is more than 100,000 times smaller
# after 50 steps.

# %% tags=["payoff"]
#| default_exp core.optimizers
#| export
import copy
import math

import numpy as np

from tinytorch.core.tensor import Tensor
from tinytorch.support.arguments import check_number, check_parameters
from tinytorch.support.modules import clear_gradients
from tinytorch.support.optimizers import (FlatStep, LambdaLR, LinearLR, LRScheduler,
                                          SequentialLR, StepLR, check_groups, matching_state,
                                          parameter_state)

# %% tags=["payoff"]
from tinytorch.pictures.optimizers import draw_curves, draw_directions, draw_paths, linear_path


def valley(w):
    """The loss at the weights w = (w0, w1)."""
    return 0.5 * (w[0] ** 2 + 30 * w[1] ** 2)


START, LEVELS = np.array([-10.0, 2.0]), [0.5, 2, 5, 10, 20, 40, 70]
paths = {"gradient descent": linear_path([1, 30], START, lr=0.05),
         "with momentum": linear_path([1, 30], START, lr=0.05, momentum=0.7)}
draw_paths(valley, {f"{name}: loss {valley(path[-1]):.1g}": path
                    for name, path in paths.items()}, levels=LEVELS)
# caption: With the gradients of earlier steps, the same 50 steps reach the minimum.
# alt: Contours of a long flat valley. One path jumps across the valley a few times and then
# creeps along its floor; the path with momentum swings wider and reaches the minimum.

# %% [markdown]
# **You need** 02 (Tensor), 04 (layers), 06 (autograd). **You build** gradient descent,
# momentum, Adam and AdamW, the `Optimizer` class behind them, gradient clipping, learning-rate
# schedules, and a state that can be saved and resumed exactly.

# %% [markdown] page="Descent and momentum"
# ## Gradient descent
#
# The loss in the picture is `valley`. It has two weights, and at equal distances from the
# minimum it is thirty times as steep along the second as along the first. Its gradient,
# computed by hand:

# %%
def gradient(w):
    """The gradient of `valley` at w."""
    return np.array([w[0], 30 * w[1]])


draw_directions(valley, gradient, [(-10, 2), (-9, 0.15), (-7, -1.5), (-4, 1)], lr=0.05,
                levels=LEVELS)
# alt: Contours of the valley. At four points, an arrow against the gradient crosses the contour
# at a right angle. Three long ones point across the valley, past its floor; the one that starts
# near the floor is short and points along it.

# %% [markdown]
# The gradient points in the direction in which the loss grows fastest. *Gradient descent* moves
# the weights in the opposite direction. The step is the gradient times the *learning rate* `lr`
# (0.05 for the arrows):
#
# $$w \leftarrow w - \text{lr} \cdot g.$$
#
# The weights must be changed *in place*, because the layers of a network hold the same array:
# if the optimizer made a new array, the network would never see it. The gradient must not be
# changed, because the training loop may still need it, for example to print it.
#
# **Task.** Write `sgd_update`.

# %% Gradient descent exercise="sgd"
#| export
def sgd_update(w, g, lr):
    """One step of gradient descent, in place.

    w        ndarray: the weights; changed
    g        ndarray of the same shape and dtype: the gradient of the loss; not changed
    lr       learning rate: how far to move per unit of gradient
    returns  None

    >>> w = np.array([1.0, 5.0])
    >>> sgd_update(w, np.array([2.0, -20.0]), lr=0.1)
    >>> w
    array([0.8, 7. ])

    Source: Cauchy (1847); Goodfellow, Bengio, Courville, Deep Learning (2016), section 4.3.
    """
    ### BEGIN SOLUTION
    w -= lr * g
    ### END SOLUTION

# %% checks="sgd"
check("sgd")

# %% [markdown]
# ## The condition number
#
# The first path in the picture at the beginning of the chapter is 50 steps of `sgd_update` with
# learning rate 0.05. Could another learning rate do better? Predict which of 0.03, 0.05, 0.06,
# 0.065 and 0.067 ends with the lowest loss, and which of them *diverge*. (A step multiplies
# $w_0$ by $1 - \text{lr}$ and $w_1$ by $1 - 30 \, \text{lr}$.)

# %% tags=["answer"]
paths = {}
for lr in (0.03, 0.05, 0.06, 0.065, 0.067):
    w, paths[f"lr {lr}"] = START.copy(), []
    for step in range(50):
        paths[f"lr {lr}"].append(w.copy())
        sgd_update(w, gradient(w), lr)
losses = {name: [valley(w) for w in path] for name, path in paths.items()}
draw_curves(losses, "step", "loss", yscale="log", colours=["C3", "C3", "C0", "C1", "C2"])
# caption: The best learning rate is close to the one that diverges.
# alt: The loss against the step, on a logarithmic scale. After 50 steps it is lowest for 0.06,
# then come 0.05, 0.065 and 0.03. For 0.067 it falls for ten steps and grows from then on.

# %% tags=["answer", "explained"]
draw_paths(valley, {name: paths[name] for name in ("lr 0.06", "lr 0.065", "lr 0.03")},
           levels=LEVELS)
# alt: With 0.065 the path jumps from wall to wall to the end; with 0.06 the jumps soon become
# small. Both arrive close to the minimum. With 0.03 the path creeps along the floor.

# %% [markdown]
# The steep direction limits the learning rate: above 2 / 30 = 0.0667, $|1 - 30 \, \text{lr}|$
# is more than 1, and $w_1$ grows with each step. With any smaller learning rate, $w_0$ (the
# flat direction) shrinks by at most 6.7 % per step. In the long run the best learning rate is
# 2 / (1 + 30) = 0.0645: both factors then have the same size, 29 / 31 = 0.935. (After only 50
# steps, 0.06 is better.)
#
# The second derivative of the loss along a direction is its *curvature*. The curvature of the
# valley is 1 along its floor and 30 across it. The **condition number** of a loss is its
# largest curvature divided by its smallest; here it is 30. With condition number $\kappa$ and
# the best learning rate, the distance to the minimum is multiplied by $1 - 2/(\kappa + 1)$ in
# each step. (If the smallest curvature is 1, the best learning rate is $2/(1 + \kappa)$.)
#
# The losses of networks have condition numbers of thousands, so gradient descent is slow. There
# are two remedies: momentum, and a separate learning rate for every weight.
#
# ## Momentum
#
# Across the valley the gradient changes its sign with every step; along the valley it keeps its
# sign. So we add the gradients of successive steps: across the valley they cancel, along it
# they accumulate. **Momentum** moves the weights along a *velocity* instead of the gradient: a
# sum of all gradients so far, in which older gradients count less. With a factor $\mu$ below 1:
#
# $$v \leftarrow \mu v + g, \qquad w \leftarrow w - \text{lr} \cdot v.$$
#
# If the gradient stays the same, $v$ grows to $1 / (1 - \mu)$ times the gradient: ten times for
# $\mu = 0.9$. The velocity does not contain the learning rate, because a change of the learning
# rate during training would then take effect only many steps later.
#
# **Nesterov** momentum is momentum that looks one step ahead. Once $v$ is updated, we know a
# part of the next velocity: $\mu v$, whatever the next gradient is. Nesterov momentum adds this
# known part now. With the updated $v$:
#
# $$w \leftarrow w - \text{lr} \cdot (g + \mu v).$$
#
# **Task.** Write `momentum_update`.

# %% The momentum update exercise="momentum"
#| export
def momentum_update(velocity, g, momentum, nesterov=False):
    """Add a gradient to the velocity, and return the direction of this step.

    velocity  ndarray, zeros before the first step; updated in place
    g         ndarray of the same shape and dtype: the gradient; not changed
    momentum  the factor that the old velocity is multiplied by, from 0 to below 1
    nesterov  use Nesterov momentum
    returns   ndarray, to be multiplied by the learning rate; it may be `velocity` itself

    >>> velocity = np.array([10.0, 0.0])
    >>> momentum_update(velocity, np.array([1.0, 2.0]), momentum=0.5)
    array([6., 2.])

    Source: Polyak (1964); Sutskever et al., On the importance of initialization and momentum
    (2013), in the form of torch.optim.SGD.
    """
    ### BEGIN SOLUTION
    velocity *= momentum
    velocity += g
    return g + momentum * velocity if nesterov else velocity
    ### END SOLUTION

# %% checks="momentum"
check("momentum")

# %% tags=["demonstration", "payoff"]
def momentum_path(w, gradient, lr, momentum, steps=50):
    """The weights before each step, and after the last."""
    path, velocity = [np.array(w)], np.zeros(2)
    for step in range(steps):
        w = path[-1].copy()
        sgd_update(w, momentum_update(velocity, gradient(w), momentum), lr)
        path.append(w)
    return path


paths = {mu: momentum_path(START, gradient, 0.03, mu) for mu in (0.0, 0.7, 0.9)}
draw_curves({f"momentum {mu}": [w[0] for w in path] for mu, path in paths.items()},
            "step", "w0")
# alt: The first weight against the step, with learning rate 0.03, from -10. Without momentum it
# rises to -2 in 50 steps; with 0.7 it is at 0 after 30; with 0.9 it runs past 0 to 4 and back.

# %% [markdown]
# Momentum 0.9 is too much for this valley: the weights run past the minimum and swing back. The
# best momentum grows with the condition number $\kappa$. For a quadratic loss and the best
# learning rate it is $((\sqrt\kappa - 1) / (\sqrt\kappa + 1))^2$: 0.48 for 30, and 0.9 for
# 1,500. Networks have large condition numbers, and 0.9 is the usual choice.
#
# ## Local minima and saddle points
#
# The gradient is zero at the minimum, but it can also be zero at other points. A **local
# minimum** is a point where the loss is lower than everywhere near it, though not necessarily
# the lowest of all. A **saddle point** is a point with gradient zero where the loss falls in
# some directions and rises in others. The loss below has a global and a local minimum and,
# between them, a saddle point, all at $w_0 = 0$. Two paths start close to each other:

# %% tags=["demonstration"]
def two_minima(w):
    return w[0] ** 2 / 2 - w[1] ** 2 / 2 + w[1] ** 4 / 4 + w[1] / 5


def two_minima_gradient(w):
    return np.array([w[0], w[1] ** 3 - w[1] + 0.2])


roots = np.sort(np.roots([1, 0, -1, 0.2]).real)  # where the gradient is 0
paths = {f"from w1 = {w1}": momentum_path((-2.0, w1), two_minima_gradient, 0.2, 0.0, 100)
         for w1 in (0.215, 0.205)}
names = ("global minimum", "saddle point", "local minimum")
draw_paths(two_minima, paths, {name: (0, root) for name, root in zip(names, roots)},
           x=(-2.3, 1.5), y=(-1.6, 1.5), levels=16, height=3.6)
# alt: Contours with two minima and a saddle point between them, each marked by a cross. Two
# paths run as one almost to the saddle point; then one turns up to the local minimum, one down
# to the global one. Their points are densest near the saddle point and at the minima.

# %% [markdown]
# Near the saddle point the steps are short, because the gradient is small there. Predict how
# many steps gradient descent needs to get away from the saddle point, starting 0.001 away from
# it. And how many with momentum 0.9?

# %% tags=["answer"]
for mu in (0.0, 0.9):
    path = momentum_path((0.0, roots[1] - 0.001), two_minima_gradient, 0.1, mu, 200)
    steps = next(t for t, w in enumerate(path) if w[1] < -1)
    print(f"momentum {mu}: {steps} steps until w1 < -1")

# %% [markdown]
# Momentum accumulates even small gradients, as long as they have the same direction.
#
# A network with a million weights has a million directions. At a minimum the loss must rise in
# *all* of them; if it falls in a single one, the point is a saddle point. So most points with
# gradient zero are saddle points, and training rarely gets stuck at one.

# %% [markdown] page="A class for optimizers"
# ## Parameter groups
#
# So far we updated single arrays. An optimizer updates all parameters of a network, and often
# they should not all be treated alike. For example, when a trained network gets a new last
# layer, the old layers need a smaller learning rate than the new one. A **parameter group** is
# a dictionary with a list of parameters, "params", and the options that differ for them, such
# as "lr". Plain tensors, as in `SGD(net.parameters(), lr=0.1)`, are one group.
#
# Two mistakes are easy to make. A generator can be iterated only once, while an optimizer needs
# its parameters in every step, and an empty list would train nothing, without an error. The
# given lines turn `params` into a list, and refuse an empty one.
#
# **Task.** Write `param_groups`. The "params" of a group may also be a generator.

# %% Parameter groups exercise="param-groups"
#| export
def param_groups(params, defaults):
    """The parameters as a list of groups, each a dict with all of its options.

    params    Tensors, or dicts with the key "params" (Tensors) and options; in a list, a
              generator or another iterable
    defaults  {option: value} for the options that a group does not have; not changed
    returns   list of new dicts with "params", a list, and every option

    Raises ValueError with the word "parameters" when `params` is empty.

    >>> a, b = Tensor([1.0]), Tensor([2.0])
    >>> param_groups([{"params": [a], "lr": 0.5}, {"params": [b]}], {"lr": 0.1})
    [{'lr': 0.5, 'params': [Tensor([1.])]}, {'lr': 0.1, 'params': [Tensor([2.])]}]

    Source: torch.optim, "Per-parameter options".
    """
    params = list(params)
    if not params:
        raise ValueError("an optimizer needs parameters, and the list is empty: "
                         "net.parameters(), with brackets, of a network that has some?")
    ### BEGIN SOLUTION
    groups = params if isinstance(params[0], dict) else [{"params": params}]
    return [{**defaults, **group, "params": list(group["params"])} for group in groups]
    ### END SOLUTION

# %% checks="param-groups"
check("param-groups")

# %% [markdown]
# ## The Optimizer class
#
# All optimizers share some code, which you write once. For each parameter, an optimizer keeps a
# *state*: how many steps the parameter has taken, and arrays such as its velocity. Subclasses
# differ in two methods. `state_names` returns the names of these arrays. `update` is the update
# rule: it changes an array of weights `w` in place, every element in the same way.
#
# All subclasses share the method `step`. A parameter that was not used in this forward pass has
# `.grad` None. `step` skips it entirely: no update, no weight decay, no state. A gradient of
# zeros is different, because momentum still moves the weights. `check_groups`, which is given,
# refuses invalid options, such as a learning rate of -0.1 or a misspelled name.
#
# **Task.** Write `step`: loops over the groups and their parameters, one call of `self.update`
# for each parameter that has a gradient.

# %% The optimizer's step exercise="step"
#| export
class Optimizer:
    """Updates parameters in place from their gradients. A subclass writes `update`, and names
    in `state_names` the arrays that it keeps for each parameter.

    params    Tensors, or dicts {"params": Tensors, option: value}; see `param_groups`
    defaults  the options for groups that do not set their own

    .param_groups  the groups, as dicts; options may be changed between steps
    .state         {Tensor: {"step": n, name: ndarray}}
    """

    def __init__(self, params, **defaults):
        groups = param_groups(check_parameters(params), defaults)
        self.param_groups = check_groups(groups, defaults, Tensor)
        self.state = {}

    def state_names(self, group):
        """The names of the arrays in the state of each parameter of a group."""
        return ()

    def state_of(self, p, group):
        """The state of the parameter `p`, a dict. The first call makes it: step 0, zeros."""
        return parameter_state(self.state, p, self.state_names(group))

    def update(self, w, g, state, group):
        """The update rule: change the array `w` in place, given its gradient `g`, its state and
        the options in `group`."""
        raise NotImplementedError(
            f"{type(self).__name__} needs a method update(self, w, g, state, group)")

    def step(self):
        """Update every parameter that has a gradient.

        For each of them, state["step"] is increased by 1, and then `self.update` called once
        with its array, its gradient, its state and its group. A parameter whose `.grad` is None
        is skipped and gets no state.

        >>> w, unused = Tensor([1.0, 2.0]), Tensor([5.0])
        >>> w.grad = np.array([10.0, -10.0], "float32")
        >>> SGD([w, unused], lr=0.1).step()
        >>> w, unused
        (Tensor([0., 3.]), Tensor([5.]))

        Source: torch.optim.Optimizer.step.
        """
        ### BEGIN SOLUTION
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    state = self.state_of(p, group)
                    state["step"] += 1
                    self.update(p.data, p.grad, state, group)
        ### END SOLUTION

    def zero_grad(self, set_to_none=True):
        """Set all gradients to None, or with set_to_none=False to zeros, since `backward` adds
        to the old ones."""
        for group in self.param_groups:
            clear_gradients(group["params"], set_to_none)

    def state_dict(self):
        """A copy of everything that the next steps depend on, in plain arrays and numbers."""
        return optimizer_state(self)

    def load_state_dict(self, state):
        """Continue from a state that `state_dict` returned, with the same parameters."""
        self.param_groups, self.state = matching_state(self, state)

    def __repr__(self):
        options = [", ".join(f"{name}={x}" for name, x in group.items() if name != "params")
                   for group in self.param_groups]
        return f"{type(self).__name__}({'; '.join(options)})"

# %% [markdown]
# The first optimizer for networks is given. It calls `sgd_update` and `momentum_update`. Its
# name is short for stochastic gradient descent, the subject of the next section.
# (`regularized_gradient` is explained under "Weight decay". With a weight decay of 0 it returns
# `g`.)

# %%
#| export
def regularized_gradient(g, w, weight_decay):
    """The gradient of the loss plus weight_decay / 2 * w²."""
    return g + weight_decay * w if weight_decay else g


class SGD(Optimizer):
    """Gradient descent, with or without momentum.

    params        Tensors or groups
    lr            learning rate, per step
    momentum      the factor of the old velocity, from 0 to below 1
    weight_decay  L2 regularization: adds weight_decay times the weight to its gradient
    nesterov      use Nesterov momentum

    Source: torch.optim.SGD, without its `dampening`.
    """

    def __init__(self, params, lr=0.001, momentum=0.0, *, weight_decay=0.0, nesterov=False):
        super().__init__(params, lr=lr, momentum=momentum, weight_decay=weight_decay,
                         nesterov=nesterov)

    def state_names(self, group):
        return ("momentum_buffer",) if group["momentum"] else ()

    def update(self, w, g, state, group):
        g = regularized_gradient(g, w, group["weight_decay"])
        if group["momentum"]:
            buffer = state["momentum_buffer"]
            g = momentum_update(buffer, g, group["momentum"], group["nesterov"])
        sgd_update(w, g, group["lr"])

# %% checks="step"
check("step")

# %% [markdown]
# ## Stochastic gradient descent
#
# While the valley has an exact gradient, networks are trained with an estimate. The loss of a
# network is a mean over all training examples, and so is its gradient. A **mini-batch** is a
# small random sample of the training examples. Its gradient is a noisy estimate of the gradient
# on all examples, but it is much cheaper. **Stochastic gradient descent** (SGD) is gradient
# descent that uses the gradient of a new mini-batch in each step. A pass over all examples is
# an *epoch*. Below, a network learns to separate two half-moons of points.

# %%
from tinytorch.core.layers import Dense, Sequential, he_normal, manual_seed
from tinytorch.core.losses import cross_entropy

rng = np.random.default_rng(0)
angle, moon = rng.uniform(0, np.pi, 400), rng.integers(0, 2, 400)
points = (np.stack([np.cos(angle) + moon, np.sin(angle) * (1 - 2 * moon) + 0.5 * moon], 1)
          + rng.normal(0, 0.1, (400, 2))).astype("float32")


def make_network():
    manual_seed(1)  # the same network every time
    return Sequential(Dense(2, 16, init=he_normal), Tensor.relu, Dense(16, 2))


def train(make_optimizer, epochs, batch_size=400):
    """Train a new network; return the loss on all 400 points before each epoch."""
    net, rng, losses = make_network(), np.random.default_rng(2), []
    optimizer = make_optimizer(net.parameters())
    for epoch in range(epochs):
        losses.append(cross_entropy(net(Tensor(points)), moon).item())
        for batch in np.split(rng.permutation(400), 400 // batch_size):
            loss = cross_entropy(net(Tensor(points[batch])), moon[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return losses

# %% [markdown]
# Predict which batch size has the lowest loss after ten epochs: 400, 40 or 4. Although all
# three have then seen each point ten times, they have taken 10, 100 and 1,000 steps.

# %% tags=["answer", "explained"]
losses = {f"batch of {size}": train(lambda p: SGD(p, lr=0.1), 11, size)
          for size in (400, 40, 4)}
draw_curves(losses, "epoch", "loss")
# alt: Three falling curves over ten epochs. Mini-batches of 4 reach the lowest loss, those of
# 40 come next; with all 400 points in one batch the loss falls least.

# %% [markdown]
# Many noisy steps are better than a few exact ones. Near the minimum the noise prevents further
# progress; then a smaller learning rate helps (see "Learning-rate schedules"). Larger batches
# help less, because the noise falls only with the square root of the batch size: a batch 100
# times as large costs 100 times as much, for a tenth of the noise.

# %% [markdown] page="Adam and weight decay"
# ## Adaptive learning rates
#
# Momentum was the first remedy for a large condition number. An **adaptive learning rate** is a
# separate learning rate for each weight, computed from the sizes of its past gradients. This is
# the second remedy. The optimizer *Adam* divides the average gradient of each weight by the
# usual size of that gradient. For this it keeps two running averages. A **moment** is the
# average of a power of a random quantity, here the gradient. The first moment $m$ is the
# average of $g$, the second moment $v$ is the average of $g^2$:
#
# $$m \leftarrow \beta_1 m + (1 - \beta_1)\, g,
# \qquad v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2.$$
#
# $\sqrt{v}$ is the usual size of the gradient. Predict $m / \sqrt{v}$ for three weights: one
# whose gradient is always 0.001, one whose gradient is always 1000, and one whose gradient
# alternates between 1 and -1.
#
# **Task.** Write `update_moments`.

# %% The two moving averages exercise="moments"
#| export
def update_moments(m, v, g, beta1, beta2):
    """Add a new gradient to the two running averages of Adam, in place.

    m        ndarray: first moment, zeros before the first step; updated
    v        ndarray: second moment, zeros before the first step; updated
    g        ndarray of the same shape and dtype: the gradient; not changed
    beta1    the factor of the old m, from 0 to below 1
    beta2    the factor of the old v
    returns  None

    >>> m, v = np.array([1.0]), np.array([10.0])
    >>> update_moments(m, v, np.array([3.0]), beta1=0.5, beta2=0.75)
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

# %% checks="moments"
check("moments")

# %% tags=["answer", "explained"]
m, v = np.zeros(3), np.zeros(3)
for step in range(10_000):
    update_moments(m, v, np.array([0.001, 1000.0, (-1.0) ** step]), 0.9, 0.999)
print("m / sqrt(v):", (m / np.sqrt(v)).round(3))

# %% [markdown]
# The size of a constant gradient does not matter. The third ratio is not quite 0, because the
# latest gradient, here -1, counts most in $m$.
#
# ## Bias correction
#
# Both averages start at 0, so they are too small at first. If the gradient is always 5 and
# $\beta_1 = 0.9$, then $m$ is 0.5, 0.95 and 1.355 after one, two and three steps. The reason is
# that after $t$ steps the factors of the gradients add up to $1 - \beta_1^t$, not to 1. **Bias
# correction** divides a running average that began at 0 by the sum of its factors, which makes
# it a true average:
#
# $$\hat m = \frac{m}{1 - \beta_1^t}, \qquad \hat v = \frac{v}{1 - \beta_2^t}.$$
#
# Adam moves the weights against $\hat m / (\sqrt{\hat v} + \epsilon)$. The small $\epsilon$
# avoids 0 / 0. The first step is a surprise: compute it by hand for a gradient of 5, and then
# for a gradient of 500. Do not change the running averages themselves: otherwise the next step
# would correct them a second time.
#
# **Task.** Write `adam_direction`.

# %% Bias correction exercise="direction"
#| export
def adam_direction(m, v, step, betas, eps):
    """The direction of an Adam step: the corrected first moment divided by the square root of
    the corrected second moment.

    m        ndarray: first moment, as `update_moments` left it; not changed
    v        ndarray: second moment; not changed
    step     the number of gradients that were averaged into m and v, 1 or more
    betas    (beta1, beta2), as in `update_moments`
    eps      added to the square root of the corrected v, not to v itself
    returns  a new ndarray of the same dtype, to be multiplied by the learning rate

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

# %% tags=["demonstration"]
def adam_path(steepness):
    """50 Adam steps in a valley with condition number `steepness`. Returns the weights and the
    learning rates of all steps."""
    w, m, v, path, rates = START.copy(), np.zeros(2), np.zeros(2), [START], []
    for step in range(1, 51):
        update_moments(m, v, w * [1, steepness], 0.9, 0.999)
        sgd_update(w, adam_direction(m, v, step, (0.9, 0.999), 1e-8), lr=0.5)
        path.append(w.copy())
        rates.append(0.5 / np.sqrt(v / (1 - 0.999**step)))
    return np.array(path), np.array(rates)


path, rates = adam_path(30)
draw_paths(valley, {f"Adam: loss {valley(path[-1]):.1g}": path}, x=(-11, 7), levels=LEVELS)
# alt: The path of Adam in the valley. It leaves the start at 45 degrees, bends along the floor,
# runs past the minimum and turns back to it.

# %% tags=["demonstration"]
draw_curves({"w0 (flat)": rates[:, 0], "w1 (steep)": rates[:, 1]}, "step", "learning rate",
            yscale="log")
# alt: The learning rates that Adam gives to the two weights of the valley, on a logarithmic
# scale. The flat direction has about four to six times the learning rate of the steep one.

# %% [markdown]
# The first step goes at 45 degrees: after bias correction $\hat m / \sqrt{\hat v}$ is 1 or -1
# for each weight, so only the signs of the gradient matter. Adam runs past the minimum, as
# momentum does, because $m$ is also a kind of velocity. Predict how this path changes if the
# condition number of the valley is 3,000 instead of 30.

# %% tags=["answer", "explained"]
print(f"The paths differ by at most {np.abs(adam_path(3000)[0] - path).max():.1g}.")

# %% [markdown]
# If all gradients of a weight are 100 times as large, their usual size is also 100 times as
# large, and Adam divides by it.
#
# ## Adam
#
# The moments and their correction are ready, so Adam is short. The class `Adam` keeps the two
# moments in its state, under PyTorch's names; `state["step"]` is 1 in the first step. Its `lr`
# is about how far each weight moves in a step, whatever the size of its gradient. (`FlatStep`
# only makes `step` faster; see "Flat groups".)
#
# **Task.** Write `Adam.update`. Like `SGD.update`, it begins with `regularized_gradient`. Then
# it calls three functions of this chapter.

# %% exercise="adam"
#| export
class Adam(FlatStep, Optimizer):
    """Gradient descent with momentum and an adaptive learning rate for each weight.

    params        Tensors or groups
    lr            learning rate: about how far each weight moves in a step
    betas         the factors of the old moments in each step
    eps           added to the usual size of the gradient
    weight_decay  L2 regularization: adds weight_decay times the weight to its gradient

    >>> w = Tensor([1.0, 1.0])
    >>> w.grad = np.array([1000.0, -0.5], "float32")
    >>> Adam([w], lr=0.25).step()
    >>> w
    Tensor([0.75, 1.25])

    Source: Kingma and Ba (2015); torch.optim.Adam.
    """

    def __init__(self, params, lr=0.001, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    def state_names(self, group):
        return ("exp_avg", "exp_avg_sq")

    def update(self, w, g, state, group):
        m, v = state["exp_avg"], state["exp_avg_sq"]
        ### BEGIN SOLUTION
        g = regularized_gradient(g, w, group["weight_decay"])
        update_moments(m, v, g, *group["betas"])
        direction = adam_direction(m, v, state["step"], group["betas"], group["eps"])
        sgd_update(w, direction, group["lr"])
        ### END SOLUTION

# %% checks="adam"
check("adam")

# %% [markdown]
# ## Weight decay
#
# With large weights the output of a network changes so fast with its input that the network can
# fit the noise in its training data. There are two ways to keep weights small. **L2
# regularization** adds $\frac{\lambda}{2} \sum w^2$ to the loss, so that large weights increase
# the loss. This adds $\lambda w$ to the gradient of each weight, as `regularized_gradient`
# does. **Weight decay** multiplies each weight by $1 - \text{lr} \cdot \lambda$ in every step,
# so that it shrinks unless the gradient keeps it large.
#
# Beware of the name: as in PyTorch, the option `weight_decay` means L2 regularization in `SGD`
# and `Adam`. Only in `AdamW` (below) does it mean weight decay.
#
# For gradient descent both give the same weights, while for Adam they do not. Two weights start
# at 1, and their gradients are pure noise, of size 0.1 for the first and 10 for the second.
# Predict what is left of each weight after 1,000 steps of Adam with L2 regularization, lr =
# 0.001 and $\lambda = 0.3$. (Weight decay alone would leave $0.9997^{1000}$ of each.)

# %% tags=["answer", "explained"]
def decay(kind):
    """The two weights after each step."""
    w, path = Tensor(np.ones(2)), []
    optimizer = kind([w], lr=0.001, weight_decay=0.3)
    for noise in np.random.default_rng(0).normal(size=(1000, 2)):
        w.grad = noise * [0.1, 10.0]
        optimizer.step()
        path.append(w.numpy())
    return np.transpose(path)


print("Adam:", decay(Adam)[:, -1].round(2), " weight decay alone:", round(0.9997**1000, 2))

# %% [markdown]
# Adam divides the gradient by its usual size, and so it also divides the added $\lambda w$. The
# weight with small gradients shrinks far too much, the other one hardly at all.
#
# **Decoupled weight decay** does not change the gradient: it multiplies the weights themselves,
# just before the step. Adam with decoupled weight decay is called *AdamW*. Nearly every
# transformer is trained with it:
#
# $$w \leftarrow (1 - \text{lr} \cdot \lambda)\, w, \qquad
# w \leftarrow w - \text{lr} \cdot \hat m / (\sqrt{\hat v} + \epsilon).$$
#
# **Task.** Write `AdamW.update`.

# %% AdamW exercise="adamw"
#| export
class AdamW(Adam):
    """Adam with decoupled weight decay: in each step, before the Adam update, every weight is
    multiplied by 1 - lr * weight_decay. The gradient and the moments contain no weight decay.
    The arguments are those of Adam.

    >>> w = Tensor([1.0])
    >>> w.grad = np.array([2.0], "float32")
    >>> AdamW([w], lr=0.5, weight_decay=0.5).step()
    >>> w
    Tensor([0.25])

    Source: Loshchilov and Hutter, Decoupled weight decay regularization (2019);
    torch.optim.AdamW.
    """

    def __init__(self, params, lr=0.001, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        super().__init__(params, lr, betas, eps, weight_decay)

    def update(self, w, g, state, group):
        lr, m, v = group["lr"], state["exp_avg"], state["exp_avg_sq"]
        ### BEGIN SOLUTION
        w *= 1 - lr * group["weight_decay"]
        update_moments(m, v, g, *group["betas"])
        sgd_update(w, adam_direction(m, v, state["step"], group["betas"], group["eps"]), lr)
        ### END SOLUTION

# %% checks="adamw"
check("adamw")

# %% tags=["demonstration"]
curves = {f"{kind.__name__}, noise {size}": weight for kind in (Adam, AdamW)
          for size, weight in zip((0.1, 10), decay(kind))}
draw_curves(curves, "step", "weight", limits=(0, 1.1), colours=["C2", "C2", "C0", "C0"])
# caption: AdamW shrinks all weights alike; L2 regularization in Adam does not.
# alt: Four curves that start at 1. With Adam, the weight whose noise has size 0.1 falls to 0.3,
# the one with size 10 stays near 1. With AdamW both end near 0.75.

# %% [markdown]
# ## Comparing optimizers
#
# We train the network on the moons, with all 400 points in each step. Each optimizer tries five
# learning rates. Predict which of SGD, SGD with momentum 0.9 and AdamW needs the fewest steps
# to a loss below 0.1, each with its best learning rate. Which of them wants the smallest
# learning rate? (A dash in the table means: not within 200 steps.)

# %% tags=["answer", "explained"]
kinds = {"SGD": SGD, "momentum": lambda p, lr: SGD(p, lr, momentum=0.9), "AdamW": AdamW}
rates = [0.03, 0.1, 0.3, 1.0, 3.0]
print(f"{'learning rate':13}", *(f"{lr:5}" for lr in rates))
for name, kind in kinds.items():
    runs = [train(lambda p: kind(p, lr=lr), 200) for lr in rates]
    steps = [next((n for n, loss in enumerate(run) if loss < 0.1), "-") for run in runs]
    print(f"{name:13}", *(f"{n:>5}" for n in steps))

# %% [markdown]
# The learning rate matters more than the optimizer. The best numbers of the three rows are
# close together, but because no single learning rate works for all three optimizers, a
# comparison of optimizers means little unless the learning rate of each has been tuned.

# %% [markdown] page="Clipping, schedules and saved state"
# ## Gradient clipping
#
# The update rules are complete. A long training run needs three more things: a limit for the
# gradient, a learning rate that changes, and a state that can be saved. We start with the
# limit.
#
# One unusual mini-batch can have a gradient a thousand times as large as the others, and a
# single step with it can destroy hours of work. The *norm* of a vector is its length, the root
# of the sum of its squares. **Gradient clipping** scales the gradient down to a norm of
# `max_norm` if its norm is larger, and keeps its direction. The gradients of all parameters
# count as one long vector. Predict: two parameters have the gradients (3, 4) and (6, 8), and
# `max_norm` is 5. What is the first gradient after clipping?
#
# Be careful with large gradients: they are float32, and squares above 3.4e38 overflow to
# infinity. The norm of a gradient of 1e20 must be finite.
#
# **Task.** Write `clip_grad_norm_`, to be called between `backward` and `step`. (A final
# underscore is PyTorch's sign for "in place".)

# %% Gradient clipping exercise="clip"
#| export
def clip_grad_norm_(parameters, max_norm):
    """Scale all gradients by one factor, so that their common norm is at most `max_norm`.

    parameters  Tensors: a list, a generator, ..., or one Tensor, which becomes a list here;
                those whose `.grad` is None are skipped
    max_norm    if the common norm is larger, all gradients are scaled so that it becomes
                max_norm; otherwise nothing changes
    returns     the norm before clipping, a float; 0.0 if there are no gradients

    The arrays in `.grad` are changed in place. The norm of float32 gradients is computed in
    float64, so that it neither overflows nor underflows.

    >>> a, b = Tensor([0.0]), Tensor([0.0])
    >>> a.grad, b.grad = np.array([30.0]), np.array([-40.0])
    >>> clip_grad_norm_([a, b], max_norm=5.0)
    50.0
    >>> a.grad.round(4), b.grad.round(4)
    (array([3.]), array([-4.]))

    Source: Pascanu, Mikolov, Bengio, On the difficulty of training recurrent neural networks
    (2013). torch.nn.utils.clip_grad_norm_ divides by the norm plus 1e-6; yours may do the same.
    """
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    ### BEGIN SOLUTION
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = math.hypot(*[float(np.linalg.norm(g.astype("float64"))) for g in gradients])
    factor = max_norm / (norm + 1e-6)
    if factor < 1:
        for g in gradients:
            g *= factor
    return norm
    ### END SOLUTION

# %% checks="clip"
check("clip")

# %% tags=["answer"]
a, b = Tensor([0.0, 0.0]), Tensor([0.0, 0.0])
a.grad, b.grad = np.array([3.0, 4.0]), np.array([6.0, 8.0])
print(f"norm {clip_grad_norm_([a, b], 5.0):.2f}, then {a.grad.round(2)} and {b.grad.round(2)}")

# %% tags=["demonstration"]
def train_with_outlier(max_norm):
    """60 steps on the moons; in step 30 the inputs are, by mistake, 1,000 times too large."""
    net, losses = make_network(), []
    optimizer = SGD(net.parameters(), lr=0.3)
    for step in range(60):
        optimizer.zero_grad()
        inputs = points * 1000 if step == 30 else points
        cross_entropy(net(Tensor(inputs)), moon).backward()
        clip_grad_norm_(net.parameters(), max_norm)
        optimizer.step()
        losses.append(cross_entropy(net(Tensor(points)), moon).item())
    return losses


losses = {"max_norm 1": train_with_outlier(1.0), "unclipped": train_with_outlier(math.inf)}
draw_curves(losses, "step", "loss", yscale="log", colours=["C0", "C2"])
# alt: Two losses that fall until step 30, from step 5 on as one. Without clipping the loss then
# jumps above 10 and takes 20 steps to recover; with max_norm 1 the jump can hardly be seen.

# %% [markdown]
# ## Learning-rate schedules
#
# A large learning rate is good at the beginning, when the weights are far from a minimum, and a
# small one at the end. A **schedule** sets the learning rates of an optimizer before each step
# or each epoch.
#
# All schedules are subclasses of `LRScheduler`, which is given. It stores the groups' learning
# rates in the list `self.base_lrs`. You call `schedule.step()` at the end of each epoch;
# `self.last_epoch`, 0 at the start, counts these calls. At the start and after each call,
# `LRScheduler` calls `self.get_lr()` and puts the learning rates that it returns into the
# groups. A subclass only writes `get_lr`, which returns a list with one learning rate for each
# group. For example, `StepLR.get_lr` returns `self.base_lrs`, each multiplied by `gamma` once
# for every `step_size` epochs that have passed.
#
# **Cosine annealing** lowers the learning rate along half a wave of the cosine, from its base
# value at epoch 0 to `eta_min` at epoch `T_max`. It falls slowly at first, then fast, then
# slowly again. After `T_max` the learning rate follows the cosine up again, as in PyTorch.
#
# **Task.** Write `CosineAnnealingLR.get_lr`.

# %% Cosine annealing exercise="cosine"
#| export
class CosineAnnealingLR(LRScheduler):
    """Learning rates along a cosine: the base learning rate in epoch 0, `eta_min` in epoch
    `T_max`, the base learning rate again in epoch 2 * T_max, and so on.

    optimizer  an Optimizer
    T_max      int: the epochs from the highest learning rate to the lowest
    eta_min    the lowest learning rate, of all groups

    >>> schedule, lrs = CosineAnnealingLR(SGD([Tensor([1.0])], lr=8.0), T_max=4), []
    >>> for epoch in range(6):
    ...     lrs += schedule.get_lr()
    ...     schedule.step()
    >>> np.round(lrs, 2).tolist()
    [8.0, 6.83, 4.0, 1.17, 0.0, 1.17]

    Source: Loshchilov and Hutter, SGDR (2017), (5); torch.optim.lr_scheduler.CosineAnnealingLR.
    """

    def __init__(self, optimizer, T_max, eta_min=0.0):
        check_number("T_max", T_max)
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer)

    def get_lr(self):
        ### BEGIN SOLUTION
        share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base_lr - self.eta_min) * share for base_lr in self.base_lrs]
        ### END SOLUTION

# %% checks="cosine"
check("cosine")

# %% [markdown]
# Large steps are also risky at the very beginning, when Adam's moments are averages of only a
# few gradients. A **warm-up** increases the learning rate linearly during the first steps.
# Warm-up followed by cosine annealing is the usual schedule for transformers. There are two
# common mistakes. One is to count the cosine from step 0 instead of the end of the warm-up. The
# other is a learning rate that rises again when training takes longer than planned. `LambdaLR`,
# which is given, multiplies the base learning rates by any function of the step, such as
# `warmup_cosine`.
#
# **Task.** Write `warmup_cosine`, the factor of the learning rate in one step.

# %% Warmup and cosine exercise="warmup"
#| export
def warmup_cosine(step, warmup, total, lowest=0.0):
    """The factor of the learning rate in one step: linear warm-up, then half a cosine, then
    constant. For `LambdaLR`.

    step     int, 0 for the first
    warmup   int: the number of warm-up steps; their factor is (step + 1) / (warmup + 1), so
             that the factor is 1 for the first time in step `warmup`
    total    int, above `warmup`: from this step on the factor is `lowest`
    lowest   the factor at the end
    returns  float between 0 and 1

    >>> [round(warmup_cosine(step, 3, 7, 0.2), 2) for step in range(9)]
    [0.25, 0.5, 0.75, 1.0, 0.88, 0.6, 0.32, 0.2, 0.2]

    Source: Loshchilov and Hutter (2017), (5); for the warm-up Goyal et al. (2017), section 2.2.
    """
    ### BEGIN SOLUTION
    if step < warmup:
        return (step + 1) / (warmup + 1)
    progress = min(1.0, (step - warmup) / (total - warmup))
    return lowest + (1 - lowest) * (1 + math.cos(math.pi * progress)) / 2
    ### END SOLUTION

# %% checks="warmup"
check("warmup")

# %% tags=["demonstration"]
def learning_rates(schedule):
    """The learning rate of the first group in 120 epochs."""
    lrs = []
    for epoch in range(120):
        lrs.append(schedule.get_last_lr()[0])
        schedule.step()
    return lrs


def optimizer():
    return SGD([Tensor([1.0])], lr=1.0)


def factor(step):
    return warmup_cosine(step, 10, 100, 0.1)


curves = {"StepLR": learning_rates(StepLR(optimizer(), 30, 0.3)),
          "cosine": learning_rates(CosineAnnealingLR(optimizer(), 100)),
          "warm-up": learning_rates(LambdaLR(optimizer(), factor))}
draw_curves(curves, "epoch", "learning rate")
# alt: The learning rate in 120 epochs for three schedules: four stairs; half a cosine that
# rises again after epoch 100; a linear warm-up of 10 epochs, half a cosine, then constant.

# %% [markdown]
# ## Saving the optimizer's state
#
# A training run that is interrupted and resumed should end with exactly the same weights as one
# without interruption. For this it is not enough to save the weights: without its moments and
# its step count, Adam starts from zero again. So everything that the next step depends on must
# be saved. Because tensors cannot be keys in a file, each parameter is represented by its
# number, counted from 0 through all groups. Loading is given.
#
# **Task.** Write `optimizer_state`, which `state_dict` calls.

# %% The optimizer's state exercise="state-dict"
#| export
def optimizer_state(optimizer):
    """A copy of everything that an optimizer's next steps depend on: plain arrays and numbers.

    optimizer  an Optimizer
    returns    {"state": {number: {"step": n, name: ndarray}},
               "param_groups": [{"params": [number], option: value}]}
               The parameters are numbered from 0 through all groups. Parameters that never
               stepped have no entry in "state".

    The arrays are copies: steps that the optimizer takes later do not change them.

    >>> optimizer_state(SGD([Tensor([1.0])], lr=0.5))["param_groups"]
    [{'lr': 0.5, 'momentum': 0.0, 'weight_decay': 0.0, 'nesterov': False, 'params': [0]}]

    Source: torch.optim.Optimizer.state_dict.
    """
    ### BEGIN SOLUTION
    params = [p for group in optimizer.param_groups for p in group["params"]]
    number = {p: n for n, p in enumerate(params)}
    state = {number[p]: copy.deepcopy(entry) for p, entry in optimizer.state.items()}
    groups = [{**group, "params": [number[p] for p in group["params"]]}
              for group in optimizer.param_groups]
    return {"state": state, "param_groups": groups}
    ### END SOLUTION

# %% checks="state-dict"
check("state-dict")

# %% [markdown]
# ## Flat groups (optional)
#
# A small transformer has some thirty parameter arrays, most of them tiny. An Adam update is a
# dozen NumPy calls, and each call takes about a microsecond before it computes anything.
# `FlatStep` therefore copies the small parameters of a group into one *flat* array, calls
# `update` once, and copies the weights back. The moments stay flat; each parameter's state
# holds views of them. Predict how many times faster this is than `Optimizer.step`, for 30
# arrays:

# %% tags=["answer"]
from time import process_time
from timeit import repeat


class SimpleAdamW(AdamW):
    step = Optimizer.step  # one call of `update` for each parameter


for kind in (SimpleAdamW, AdamW):
    params = [Tensor(np.ones(shape)) for shape in [(64,), (64, 3), (8, 8, 2), (64,), (5,)] * 6]
    optimizer = kind(params)
    for p in params:
        p.grad = np.ones_like(p.data)
    seconds = min(repeat(optimizer.step, timer=process_time, number=20)) / 20
    print(f"{kind.__name__}: {seconds * 1e6:.0f} us for {len(params)} parameters")

# %% [markdown]
# The code of `FlatStep` is in `tinytorch/support/optimizers.py`. PyTorch's `foreach=True`
# is the same idea.
#
# ## Look back
#
# 1. Add noise, `rng.normal(size=2) * 3`, to every gradient of the valley. How far from the
#    minimum are the weights after 1,000 steps with SGD, momentum and Adam? And with
#    `warmup_cosine`? Why are they closer?
# 2. The graph records arrays, and `step` writes into them. Let y = w * x with w = 2; call
#    `y.backward(retain_graph=True)`, take a step, set all gradients to None, and call
#    `y.backward()` again. That raises an error, as in PyTorch. Which gradient would x get
#    without it, and which should it have?
# 3. Suppose `train` multiplied the loss by 100 before `backward`. Which rows of the table under
#    "Comparing optimizers" would change, and how? Try it. Which optimizer would you choose if
#    you do not know the scale of the loss?
#
# In PyTorch: `torch.optim.SGD`, `Adam` and `AdamW`, the schedules in
# `torch.optim.lr_scheduler`, and `torch.nn.utils.clip_grad_norm_`, with the same results.

# %% [markdown] tags=["answer"]
# 2. The gradient of x should be 2, the w of the forward pass. Without the error, it would be
#    the new w, because the graph holds the array that `step` has changed.
# 3. The rows of SGD and momentum change: they train as with 100 times the learning rate. The
#    row of AdamW does not, because AdamW divides by the size of the gradient; choose it when
#    you do not know the scale.

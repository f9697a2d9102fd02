# From modules/source/07_optimizers/optimizers_dev.py by `tito export`; edit that file, not this one.
# checksum: 0c8ff6861499a871
"""Optimizers: From a slope to a step, for a million weights at once."""

import copy
import math

import numpy as np

from tinytorch.core.layers import Module
from tinytorch.core.tensor import Tensor
from tinytorch.support.flat import blocks, flat_groups
from tinytorch.support.parameter_groups import check_groups, matching_state
from tinytorch.support.schedules import LRScheduler, LambdaLR, LinearLR, SequentialLR

__all__ = [
    "descend", "push", "update_averages", "adam_direction", "adamw_update", "groups_of", "views_of", "Optimizer",
    "SGD", "Adam", "AdamW", "take_step", "saved_state", "clip_grad_norm_", "StepLR", "CosineAnnealingLR",
    "warmup_cosine",
]


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
    w -= lr * g


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
    velocity *= momentum
    velocity += g
    return g + momentum * velocity if nesterov else velocity


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
    m *= beta1
    m += (1 - beta1) * g
    v *= beta2
    v += (1 - beta2) * g * g


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
    beta1, beta2 = betas
    corrected_m = m / (1 - beta1 ** step)
    corrected_v = v / (1 - beta2 ** step)
    return corrected_m / (np.sqrt(corrected_v) + eps)


def with_decay(g, w, weight_decay):
    """The slope of the loss plus weight_decay / 2 * w²; `g` itself if that is 0."""
    return g + weight_decay * w if weight_decay else g


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
    w *= 1 - lr * weight_decay
    update_averages(m, v, g, *betas)
    descend(w, adam_direction(m, v, step, betas, eps), lr)


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
    params = list(params)
    if not params:
        raise ValueError("an optimizer needs parameters, and was given none: "
                         "is it net.parameters(), with brackets, of a network that has some, "
                         "or a generator that was already walked?")
    groups = params if isinstance(params[0], dict) else [{"params": params}]
    return [{**defaults, **group, "params": list(group["params"])} for group in groups]


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
    views, start = [], 0
    for shape in shapes:
        size = math.prod(shape)
        views.append(flat[start:start + size].reshape(shape))
        start += size
    return views


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
    for place, group in enumerate(optimizer.param_groups):
        ready = [p for p in group["params"] if p.grad is not None]
        for bundle in optimizer.flat_groups_for(place, ready):
            w, g = bundle.collect()
            bundle.step += 1
            optimizer.update(w, g, bundle.state, bundle.step, group)
            bundle.give_back()


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
    params = [p for group in optimizer.param_groups for p in group["params"]]
    number = {p: n for n, p in enumerate(params)}
    state = {number[p]: copy.deepcopy(kept) for p, kept in optimizer.state.items()}
    groups = [{**group, "params": [number[p] for p in group["params"]]}
              for group in optimizer.param_groups]
    return {"state": state, "param_groups": groups}


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
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = math.hypot(*[float(np.linalg.norm(g)) for g in gradients])
    factor = max_norm / (norm + 1e-6)
    if factor < 1:
        for g in gradients:
            g *= factor
    return norm


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
        return base * self.gamma ** (epoch // self.step_size)


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
        share = (1 + math.cos(math.pi * epoch / self.T_max)) / 2
        return self.eta_min + (base - self.eta_min) * share


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
    if step < warmup:
        return (step + 1) / (warmup + 1)
    share = min(1.0, (step - warmup) / (total - warmup))
    return lowest + (1 - lowest) * (1 + math.cos(math.pi * share)) / 2

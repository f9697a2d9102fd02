# From modules/source/07_optimizers/optimizers_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: eee48dcd1609da95
"""Optimizers: From the gradient to better weights, with SGD, momentum and AdamW."""

import copy
import math

import numpy as np

from tinytorch.core.tensor import Tensor
from tinytorch.support.arguments import check_number, check_parameters
from tinytorch.support.modules import clear_gradients
from tinytorch.support.optimizers import (
    FlatStep,
    LRScheduler,
    LambdaLR,
    LinearLR,
    SequentialLR,
    StepLR,
    check_groups,
    matching_state,
    parameter_state,
)

__all__ = [
    "sgd_update", "momentum_update", "param_groups", "Optimizer", "regularized_gradient", "SGD", "update_moments",
    "adam_direction", "Adam", "AdamW", "clip_grad_norm_", "CosineAnnealingLR", "warmup_cosine", "optimizer_state",
]


def sgd_update(w, g, lr):
    """One step of gradient descent, in place.

    g        ndarray of the same shape and dtype: the gradient of the loss
    """
    w -= lr * g


def momentum_update(velocity, g, momentum, nesterov=False):
    """Add a gradient to the velocity, and return the direction of this step.

    g         ndarray of the same shape and dtype: the gradient
    returns   ndarray, to be multiplied by the learning rate
    """
    velocity *= momentum
    velocity += g
    return g + momentum * velocity if nesterov else velocity


def param_groups(params, defaults):
    """The parameters as a list of groups, each a dict with all of its options.

    returns   list of new dicts with "params", a list, and every option

    Raises ValueError with the word "parameters" when `params` is empty.
    """
    params = list(params)
    if not params:
        raise ValueError("an optimizer needs parameters, and the list is empty: "
                         "net.parameters(), with brackets, of a network that has some?")
    groups = params if isinstance(params[0], dict) else [{"params": params}]
    return [{**defaults, **group, "params": list(group["params"])} for group in groups]


class Optimizer:
    """Updates parameters in place from their gradients. A subclass writes `update`, and names
    in `state_names` the arrays that it keeps for each parameter.
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
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    state = self.state_of(p, group)
                    state["step"] += 1
                    self.update(p.data, p.grad, state, group)

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


def regularized_gradient(g, w, weight_decay):
    """The gradient of the loss plus weight_decay / 2 * w²."""
    return g + weight_decay * w if weight_decay else g


class SGD(Optimizer):
    """Gradient descent, with or without momentum."""

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


def update_moments(m, v, g, beta1, beta2):
    """Add a new gradient to the two running averages of Adam, in place.

    g        ndarray of the same shape and dtype: the gradient
    """
    m *= beta1
    m += (1 - beta1) * g
    v *= beta2
    v += (1 - beta2) * g * g


def adam_direction(m, v, step, betas, eps):
    """The direction of an Adam step: the corrected first moment divided by the square root of
    the corrected second moment.

    returns  a new ndarray of the same dtype, to be multiplied by the learning rate

    >>> adam_direction(np.array([0.5]), np.array([0.4]), 1, (0.9, 0.999), 0.0)
    array([0.25])
    """
    beta1, beta2 = betas
    corrected_m = m / (1 - beta1 ** step)
    corrected_v = v / (1 - beta2 ** step)
    return corrected_m / (np.sqrt(corrected_v) + eps)


class Adam(FlatStep, Optimizer):
    """Gradient descent with momentum and an adaptive learning rate for each weight."""

    def __init__(self, params, lr=0.001, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    def state_names(self, group):
        return ("exp_avg", "exp_avg_sq")

    def update(self, w, g, state, group):
        m, v = state["exp_avg"], state["exp_avg_sq"]
        g = regularized_gradient(g, w, group["weight_decay"])
        update_moments(m, v, g, *group["betas"])
        direction = adam_direction(m, v, state["step"], group["betas"], group["eps"])
        sgd_update(w, direction, group["lr"])


class AdamW(Adam):
    """Adam with decoupled weight decay: in each step, before the Adam update, every weight is
    multiplied by 1 - lr * weight_decay. The gradient and the moments contain no weight decay.
    The arguments are those of Adam.
    """

    def __init__(self, params, lr=0.001, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        super().__init__(params, lr, betas, eps, weight_decay)

    def update(self, w, g, state, group):
        lr, m, v = group["lr"], state["exp_avg"], state["exp_avg_sq"]
        w *= 1 - lr * group["weight_decay"]
        update_moments(m, v, g, *group["betas"])
        sgd_update(w, adam_direction(m, v, state["step"], group["betas"], group["eps"]), lr)


def clip_grad_norm_(parameters, max_norm):
    """Scale all gradients by one factor, so that their common norm is at most `max_norm`."""
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = math.hypot(*[float(np.linalg.norm(g.astype("float64"))) for g in gradients])
    factor = max_norm / (norm + 1e-6)
    if factor < 1:
        for g in gradients:
            g *= factor
    return norm


class CosineAnnealingLR(LRScheduler):
    """Learning rates along a cosine: the base learning rate in epoch 0, `eta_min` in epoch
    `T_max`, the base learning rate again in epoch 2 * T_max, and so on.
    """

    def __init__(self, optimizer, T_max, eta_min=0.0):
        check_number("T_max", T_max)
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer)

    def get_lr(self):
        share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base_lr - self.eta_min) * share for base_lr in self.base_lrs]


def warmup_cosine(step, warmup, total, lowest=0.0):
    """The factor of the learning rate in one step: linear warm-up, then half a cosine, then
    constant. For `LambdaLR`.

    returns  float between 0 and 1

    >>> [round(warmup_cosine(step, 3, 7, 0.2), 2) for step in range(9)]
    [0.25, 0.5, 0.75, 1.0, 0.88, 0.6, 0.32, 0.2, 0.2]
    """
    if step < warmup:
        return (step + 1) / (warmup + 1)
    progress = min(1.0, (step - warmup) / (total - warmup))
    return lowest + (1 - lowest) * (1 + math.cos(math.pi * progress)) / 2


def optimizer_state(optimizer):
    """A copy of everything that an optimizer's next steps depend on: plain arrays and numbers.

    >>> optimizer_state(SGD([Tensor([1.0])], lr=0.5))["param_groups"]
    [{'lr': 0.5, 'momentum': 0.0, 'weight_decay': 0.0, 'nesterov': False, 'params': [0]}]
    """
    params = [p for group in optimizer.param_groups for p in group["params"]]
    number = {p: n for n, p in enumerate(params)}
    state = {number[p]: copy.deepcopy(entry) for p, entry in optimizer.state.items()}
    groups = [{**group, "params": [number[p] for p in group["params"]]}
              for group in optimizer.param_groups]
    return {"state": state, "param_groups": groups}

"""What optimizers and their schedules do besides the update: groups of parameters with options, the
state of each parameter, small arrays that are updated as one, and learning rates that change.

Invalid options are refused before they change anything. A learning rate of -0.1, a misspelled
option, a parameter that is given twice: without these checks, training would go on with them, and
fail later in a place that does not tell why. The schedules have PyTorch's names and arguments.
"""

import math

import numpy as np

from tinytorch.support.arguments import Described, check_number, check_optimizer, described
from tinytorch.support.arrays import changes

# Options are numbers from 0 to below these.
LIMITS = {"lr": math.inf, "eps": math.inf, "weight_decay": math.inf, "momentum": 1, "beta": 1}


def check_option(name, setting):
    """The option as plain Python numbers: a float, or a pair of them for "betas".

    Options that are not in LIMITS are returned as they are. Raises TypeError when the setting is
    not a number (or not a pair), ValueError when it is outside its limits; both show the setting.

    >>> check_option("lr", np.float64(0.5)), check_option("betas", [0, 0.5])
    (0.5, (0.0, 0.5))
    """
    if name == "betas":
        if np.shape(setting) != (2,):
            raise TypeError(
                f"betas is {described(setting)}\nit should be two numbers, such as (0.9, 0.999)"
            )
        return tuple(check_option("beta", beta) for beta in setting)
    if name not in LIMITS:
        return setting
    if not isinstance(setting, (int, float, np.number)):
        raise TypeError(f"{name} is {described(setting)}\nit should be a number, such as 0.1")
    if not 0 <= setting < LIMITS[name]:
        raise ValueError(
            f"{name} is {setting}: it should be 0 or more, and less than {LIMITS[name]}"
        )
    return float(setting)


def check_groups(groups, known, kind):
    """The groups, with their options as plain numbers.

    groups   list of dicts {"params": list, option: value}; options are replaced in place
    known    the names of the options there are
    kind     the class of a parameter: Tensor. Its `creator` is None unless it was computed

    Raises ValueError or TypeError for an option that is unknown or invalid, and for a parameter
    that is not a tensor, that is the result of an operation, or that is given twice.
    """
    seen = set()
    for options in groups:
        for name in options:
            if name not in known and name not in ("params", "initial_lr"):
                raise ValueError(
                    f"a parameter group has no option {name!r}: there are {', '.join(known)}"
                )
            options[name] = check_option(name, options[name])
        if options.get("nesterov") and not options["momentum"]:
            raise ValueError(
                f"nesterov needs a momentum above 0, and momentum is {options['momentum']}"
            )
        for p in options["params"]:
            if not isinstance(p, kind):
                raise TypeError(
                    f"a parameter is {described(p)}, not a {kind.__name__}\n"
                    'pass net.parameters(), or dicts with "params" and options'
                )
            if p.creator is not None:
                raise ValueError(
                    f"a tensor of shape {p.shape} is the result of an operation, not a leaf: pass "
                    "the tensors it was computed from (and put a single parameter into a list)"
                )
            if id(p) in seen:
                raise ValueError(
                    f"a parameter of shape {p.shape} is given twice, and would be updated twice "
                    "per step"
                )
            seen.add(id(p))
    return groups


def matching_state(optimizer, saved):
    """What an optimizer needs to continue from a saved state: its groups and its state, both new.

    optimizer  has `.param_groups` and state_names(group), the names of the arrays that it keeps for
               each parameter of a group; it is not changed
    saved      {"state": {number: {"step": n, name: ndarray, ...}}, "param_groups": [{"params":
               [number], option: value}]}; nothing is shared with it afterwards
    returns    (groups, {parameter: {"step": n, name: ndarray, ...}}), arrays in its dtype

    Raises ValueError when groups, options, arrays or shapes differ from the optimizer's.
    """
    groups, current, state = [], optimizer.param_groups, {}
    sizes, saved_sizes = (
        [len(group["params"]) for group in each] for each in (current, saved["param_groups"])
    )
    if sizes != saved_sizes:
        raise ValueError(
            f"this optimizer has groups of {sizes} parameters, the saved state has groups of "
            f"{saved_sizes}"
        )
    for group, new in zip(current, saved["param_groups"]):
        if different := (group.keys() ^ new.keys()) - {"initial_lr"}:
            raise ValueError(
                f"{type(optimizer).__name__} and the saved state have different options: "
                f"{', '.join(sorted(different))}"
            )
        options = {name: check_option(name, value) for name, value in new.items()}
        groups.append(options | {"params": group["params"]})
        for p, number in zip(group["params"], new["params"]):
            if entry := saved["state"].get(number):
                names = optimizer.state_names(groups[-1])
                state[p] = _copied_state(p, f"parameter {number}", entry, names)
    return groups, state


def _copied_state(p, label, entry, names):
    """A copy of the state of one parameter; ValueError when an array has another shape or one of
    `names` is missing."""
    arrays = {name: np.array(x, p.dtype) for name, x in entry.items() if name != "step"}
    for name, array in arrays.items():
        if array.shape != p.shape:
            raise ValueError(f"{name} of {label} has shape {array.shape}, the parameter {p.shape}")
    if missing := set(names) - set(arrays):
        raise ValueError(f"the state of {label} lacks {', '.join(sorted(missing))}")
    return {"step": int(entry["step"]), **arrays}


def parameter_state(states, p, names):
    """The state of parameter `p`: {"step": n, name: ndarray of its shape}.

    states  {parameter: its state}; missing entries are added: "step" as 0, arrays as zeros. The
            caller is about to change the parameter
    p       a tensor with a gradient
    names   the arrays that the optimizer keeps for it

    ValueError when the parameter, its gradient and its arrays do not have one shape.
    """
    shape = p.data.shape
    changes.mark(p.data)
    if p.grad.shape != shape:
        raise ValueError(_changed_shape("its gradient", shape, p.grad.shape))
    state = states.get(p)
    if state is None:
        state = states[p] = {"step": 0}
    for name in names:
        if name not in state:
            state[name] = np.zeros_like(p.data)
        elif state[name].shape != shape:
            raise ValueError(_changed_shape(name, shape, state[name].shape))
    return state


def _changed_shape(name, shape, other):
    return (
        f"a parameter has shape {shape}, {name} has shape {other}: "
        "make a new optimizer for new shapes"
    )


# Flat parameters: an optimizer updates many small arrays as one long array, and a large one block
# by block. An Adam step is about a dozen NumPy calls per array, and each call takes a microsecond
# before it computes anything. Copying thirty small arrays into one takes two copies and saves
# hundreds of calls.


class FlatStep:
    """Replaces `step` of an Optimizer by one that does the same with fewer NumPy calls:
    `class Adam(FlatStep, Optimizer)`.

    It calls `update` with one-dimensional arrays, so `update` must treat all elements alike.

    .small  parameters with fewer elements than this are updated together, in one flat array
    .block  arrays with more elements than this are updated in blocks of this many
    """

    small, block = 16_384, 65_536

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.flat_cache = {}  # {number of a group: (its state dict, key, its FlatGroups)}

    def step(self):
        """Update every parameter that has a gradient."""
        for number, group in enumerate(self.param_groups):
            ready = [p for p in group["params"] if p.grad is not None]
            for flat in self.cached_groups(number, group, ready):
                w, g = flat.gather()
                flat.state["step"] += 1
                self.update_in_blocks(w, g, flat.state, group)
                flat.scatter()

    def cached_groups(self, number, group, ready):
        """The FlatGroups of the parameters `ready` of group `number`. If the parameters and the
        state are the same as in the last step, so are the FlatGroups."""
        names = self.state_names(group)
        key = [names, *map(id, ready)]
        state, known, groups = self.flat_cache.get(number, (None, None, None))
        if state is not self.state or known != key:
            groups = flat_groups(ready, self.state, names, self.small)
            self.flat_cache[number] = self.state, key, groups
        return groups

    def update_in_blocks(self, w, g, state, group):
        if w.size <= self.block:
            return self.update(w, g, state, group)
        names = [name for name in state if name != "step"]
        for w, g, *arrays in blocks(self.block, w, g, *(state[name] for name in names)):
            self.update(w, g, {"step": state["step"], **dict(zip(names, arrays))}, group)


class FlatGroup:
    """Parameters that are updated together: one array of weights, one of gradients, and one for
    each name in the optimizer's state.

    params  list of tensors of one dtype, with .data, .grad, .shape, .size and .dtype; a single
            one is updated in place, several are copied into one flat array
    states  list of dicts, one per parameter: {"step": n, name: ndarray of its shape, ...}, all
            with the same n; with several parameters, the arrays become views of those in `.state`
    names   which arrays of the states the optimizer reads and writes

    .state  {"step": n, name: ndarray}, one-dimensional where there are several parameters
    """

    def __init__(self, params, states, names):
        self.params, self.states = params, states
        self.shapes = [p.shape for p in params]
        self.state = {name: states[0][name] for name in ("step", *names)}
        if len(params) == 1:
            return
        for name in names:
            self.state[name] = np.concatenate([state[name].ravel() for state in states])
            for state, view in zip(states, split_views(self.state[name], self.shapes)):
                state[name] = view
        size, dtype = sum(p.size for p in params), params[0].dtype
        self.w, self.g = np.empty(size, dtype), np.empty(size, dtype)
        self.views = split_views(self.w, self.shapes)

    def gather(self):
        """The weights and their gradients: two ndarrays of one shape. The weights may be written
        into, the gradients may not.

        ValueError with the shapes when a parameter or its gradient has another shape than before.
        """
        for p, shape in zip(self.params, self.shapes):
            if not p.grad.shape == p.data.shape == shape:
                raise ValueError(
                    f"a parameter had shape {shape} at its first step; now it has shape "
                    f"{p.data.shape} and its gradient {p.grad.shape}: "
                    "make a new optimizer for new shapes"
                )
        if len(self.params) == 1:
            return self.params[0].data, self.params[0].grad
        np.concatenate([p.data.ravel() for p in self.params], out=self.w)
        np.concatenate([p.grad.ravel() for p in self.params], out=self.g)
        return self.w, self.g

    def scatter(self):
        """Copy the weights back into the parameters, and the number of steps into the states."""
        if len(self.params) > 1:
            for p, view in zip(self.params, self.views):
                p.data[...] = view
        for p in self.params:
            changes.mark(p.data)
        for state in self.states:
            state["step"] = self.state["step"]


def flat_groups(params, states, names, small):
    """The parameters as a list of FlatGroups: small ones that agree together, the others alone.

    params  list of tensors, see `FlatGroup`
    states  {tensor: its state}; missing entries are added, see `parameter_state`
    names   the arrays to keep for each parameter
    small   parameters with fewer elements than this share a FlatGroup, if they have the same
            dtype and have taken as many steps
    """
    together = {}
    for p in params:
        state = parameter_state(states, p, names)
        alone = None if p.size < small else id(p)
        together.setdefault((p.dtype, state["step"], alone), []).append(p)
    return [FlatGroup(part, [states[p] for p in part], names) for part in together.values()]


def split_views(flat, shapes):
    """Arrays of the given shapes that lie one after the other in `flat`, as views.

    flat     ndarray with one axis
    shapes   list of tuples; together they have as many elements as `flat`
    returns  list of ndarrays that share their memory with `flat`

    >>> flat = np.arange(5)
    >>> pair, number = split_views(flat, [(2, 2), ()])
    >>> pair[0, 1] = 70
    >>> flat.tolist()
    [0, 70, 2, 3, 4]
    """
    views, start = [], 0
    for shape in shapes:
        size = math.prod(shape)
        views.append(flat[start : start + size].reshape(shape))
        start += size
    return views


def blocks(size, *arrays):
    """The parts of arrays of one shape that belong together: a list of tuples of one-dimensional
    views, each of at most `size` elements.

    Arrays that are not C-contiguous are returned whole, in one tuple.

    A formula makes a temporary array for each of its operations. Small ones come from memory that
    Python already has. The system may allocate and free an array of a megabyte every time, which
    made Adam four times as slow.

    >>> blocks(2, np.array([1, 2, 3]), np.array([4, 5, 6]))
    [(array([1, 2]), array([4, 5])), (array([3]), array([6]))]
    """
    if not all(array.flags.c_contiguous for array in arrays):
        return [arrays]
    flat = [array.reshape(-1) for array in arrays]
    return [
        tuple(array[start : start + size] for array in flat)
        for start in range(0, flat[0].size, size)
    ]


# learning-rate schedules


class LRScheduler(Described):
    """Sets the learning rates of an optimizer: when it is made, and again in every `step()`.

    optimizer  has `.param_groups`, a list of dicts with "lr", the learning rate per step. The first
               learning rate of a group is kept in the group as "initial_lr"

    .last_epoch  int: how often `step()` was called
    .base_lrs    list of floats: the learning rate of each group before any schedule changed it

    A subclass writes get_lr(): the list of the groups' learning rates in epoch `self.last_epoch`
    (or step, whatever is counted; 0 is the first), computed from `self.base_lrs`.
    """

    hidden = ("optimizer",)

    def __init__(self, optimizer):
        check_optimizer(optimizer)
        self.optimizer, self.last_epoch = optimizer, 0
        self.base_lrs = [
            group.setdefault("initial_lr", group["lr"]) for group in optimizer.param_groups
        ]
        self.set_lr()

    def get_lr(self):
        raise NotImplementedError(f"{type(self).__name__} needs a method get_lr(self)")

    def set_lr(self):
        """Give every group its learning rate of the current epoch."""
        for group, lr in zip(self.optimizer.param_groups, self.get_lr()):
            group["lr"] = float(lr)

    def step(self):
        """Go on to the next epoch."""
        self.last_epoch += 1
        self.set_lr()

    def get_last_lr(self):
        """The current learning rate of each group, a list."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self):
        """The epoch and the base learning rates, in plain numbers: a dict that shares nothing with
        the schedule."""
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs)}

    def load_state_dict(self, state):
        """Continue from what `state_dict` returned. ValueError when it has more or fewer groups."""
        if len(state["base_lrs"]) != len(self.base_lrs):
            raise ValueError(
                f"the saved state has {len(state['base_lrs'])} groups, "
                f"the optimizer has {len(self.base_lrs)}"
            )
        self.last_epoch = int(state["last_epoch"])
        self.base_lrs = [float(base_lr) for base_lr in state["base_lrs"]]
        self.set_lr()


class StepLR(LRScheduler):
    """Every `step_size` epochs, the learning rates are multiplied by `gamma`.

    step_size  int, 1 or more: for how many epochs the learning rates are constant
    gamma      the factor

    ValueError when step_size is below 1. Source: torch.optim.lr_scheduler.StepLR.
    """

    def __init__(self, optimizer, step_size, gamma=0.1):
        check_number("step_size", step_size)
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer)

    def get_lr(self):
        factor = self.gamma ** (self.last_epoch // self.step_size)
        return [base_lr * factor for base_lr in self.base_lrs]


class LinearLR(LRScheduler):
    """The base learning rate times a factor that changes linearly: `start_factor` in epoch 0,
    `end_factor` from epoch `total_iters` on.

    start_factor  above 0, at most 1
    end_factor    from 0 to 1

    ValueError when a factor is outside of that. Source: torch.optim.lr_scheduler.LinearLR.
    """

    def __init__(self, optimizer, start_factor=1 / 3, end_factor=1.0, total_iters=5):
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            raise ValueError(
                f"start_factor is {start_factor} and end_factor {end_factor}: the first should be "
                "above 0 and at most 1, the second from 0 to 1"
            )
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer)

    def get_lr(self):
        factor = self.end_factor
        if self.last_epoch < self.total_iters:
            change = self.end_factor - self.start_factor
            factor = self.start_factor + change * self.last_epoch / self.total_iters
        return [base_lr * factor for base_lr in self.base_lrs]


class LambdaLR(LRScheduler):
    """The base learning rate times lr_lambda(epoch). Source: torch.optim.lr_scheduler.LambdaLR."""

    def __init__(self, optimizer, lr_lambda):
        if not callable(lr_lambda):
            raise TypeError(
                f"lr_lambda is {described(lr_lambda)}\n"
                "it should be a function of the epoch: lambda epoch: 0.95**epoch"
            )
        self.lr_lambda = lr_lambda
        super().__init__(optimizer)

    def get_lr(self):
        factor = self.lr_lambda(self.last_epoch)
        return [base_lr * factor for base_lr in self.base_lrs]


class SequentialLR(LRScheduler):
    """Schedules one after the other, each of which counts its own epochs from 0. Only this one is
    stepped, not its parts.

    schedulers  list of schedules of the same optimizer
    milestones  increasing list of epochs: schedule n + 1 begins in epoch milestones[n]

    ValueError when there is not exactly one milestone between two schedules, or they decrease.
    Source: torch.optim.lr_scheduler.SequentialLR.
    """

    def __init__(self, optimizer, schedulers, milestones):
        if not isinstance(schedulers, (list, tuple)) or not isinstance(milestones, (list, tuple)):
            raise TypeError(
                f"schedulers is {described(schedulers)}, milestones {described(milestones)}\n"
                "both should be lists, the first of schedules, the second of epochs"
            )
        if len(schedulers) != len(milestones) + 1 or list(milestones) != sorted(milestones):
            raise ValueError(
                f"{len(schedulers)} schedules need {len(schedulers) - 1} increasing milestones, "
                f"not {milestones}"
            )
        self.schedulers, self.milestones = list(schedulers), list(milestones)
        super().__init__(optimizer)

    def get_lr(self):
        number = sum(self.last_epoch >= milestone for milestone in self.milestones)
        part = self.schedulers[number]
        part.last_epoch = self.last_epoch - [0, *self.milestones][number]
        return part.get_lr()

"""The parameter groups of an optimizer and the state of each parameter: invalid options are refused
before they change anything.

A learning rate of -0.1, a misspelled option, a parameter that is given twice: without these checks,
training would go on with them, and fail later in a place that does not tell why.
"""

import math

import numpy as np

from tinytorch.support.descriptions import described

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

    Raises ValueError when groups, options, arrays or shapes are not those of the optimizer.
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

    states  {parameter: its state}; what is missing is added: "step" as 0, arrays as zeros
    p       a tensor with a gradient
    names   the arrays that the optimizer keeps for it

    ValueError when the parameter, its gradient and its arrays do not have one shape.
    """
    shape = p.data.shape
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

"""The parameter groups of an optimizer: what cannot be meant is refused before it changes anything.

A rate of -0.1, an option that is misspelled, a parameter that is given twice: without these checks,
training would go on with them, and fail in a place that does not tell why.
"""

import math

import numpy as np

# Options are numbers from 0 to below these.
LIMITS = {"lr": math.inf, "eps": math.inf, "weight_decay": math.inf, "momentum": 1, "beta": 1}


def check_option(name, setting):
    """The option as plain Python numbers: a float, or a pair of them for "betas".

    Options that are not in LIMITS are returned as they are. Raises TypeError when the setting is no
    number (or no pair), ValueError when it is outside its limits; both show it.

    >>> check_option("lr", np.float64(0.5)), check_option("betas", [0, 0.5])
    (0.5, (0.0, 0.5))
    """
    if name == "betas":
        if np.shape(setting) != (2,):
            raise TypeError(f"betas is {setting!r:.60}: it should be two numbers")
        return tuple(check_option("beta", beta) for beta in setting)
    if name not in LIMITS:
        return setting
    if not isinstance(setting, (int, float, np.number)):
        raise TypeError(f"{name} is {setting!r:.60}: it should be a number")
    if not 0 <= setting < LIMITS[name]:
        raise ValueError(f"{name} is {setting}: it should be 0 or more, and less than {LIMITS[name]}")
    return float(setting)


def check_groups(groups, known, kind):
    """The groups, with their options as plain numbers.

    groups   list of dicts {"params": list, option: value}; options are replaced in place
    known    the names of the options there are
    kind     the class of a parameter: Tensor. Its `creator` is None unless it was computed

    Raises ValueError or TypeError for an option that is unknown or cannot be meant, for what is no
    parameter, was computed from others, or is given twice.
    """
    seen = set()
    for group in groups:
        for name in group:
            if name not in known and name not in ("params", "initial_lr"):
                raise ValueError(f"there is no option {name!r} here: there are {', '.join(known)}")
            group[name] = check_option(name, group[name])
        if group.get("nesterov") and not group["momentum"]:
            raise ValueError(
                "nesterov looks along the velocity, "
                f"and with momentum {group['momentum']} there is none"
            )
        for p in group["params"]:
            if not isinstance(p, kind):
                raise TypeError(
                    f"{p!r:.60} is no {kind.__name__}: give net.parameters(), "
                    'or dicts with "params" and options'
                )
            if p.creator is not None:
                raise ValueError(
                    f"a tensor of shape {p.shape} is the result of an operation, and would be "
                    "computed anew: optimize what it is made of (and put a single parameter into "
                    "a list)"
                )
            if id(p) in seen:
                raise ValueError(
                    f"a parameter of shape {p.shape} is given twice, and would take two steps at "
                    "a time"
                )
            seen.add(id(p))
    return groups


def matching_state(optimizer, saved):
    """What an optimizer needs to go on from a saved state: its groups and its state, both new.

    optimizer  has `.param_groups` and keeps(group), the names of the arrays that it keeps for each
               parameter of a group; it is not changed
    saved      {"state": {number: {"step": n, name: ndarray, ...}}, "param_groups": [{"params":
               [number], option: value}]}; nothing is shared with it afterwards
    returns    (groups, {parameter: {"step": n, name: ndarray, ...}}), arrays in its dtype

    Raises ValueError when groups, options, arrays or shapes are not those of the optimizer.
    """
    groups, mine, state = [], optimizer.param_groups, {}
    ours, theirs = (
        [len(group["params"]) for group in each] for each in (mine, saved["param_groups"])
    )
    if ours != theirs:
        raise ValueError(
            f"this optimizer has groups of {ours} parameters, the state is for groups of {theirs}"
        )
    for group, new in zip(mine, saved["param_groups"]):
        if different := (group.keys() ^ new.keys()) - {"initial_lr"}:
            raise ValueError(
                f"{type(optimizer).__name__} and the state have different options: "
                f"{', '.join(sorted(different))}"
            )
        options = {name: check_option(name, value) for name, value in new.items()}
        groups.append(options | {"params": group["params"]})
        for p, number in zip(group["params"], new["params"]):
            if kept := saved["state"].get(number):
                names = optimizer.keeps(groups[-1])
                state[p] = _state_of(p, f"parameter {number}", kept, names)
    return groups, state


def _state_of(p, place, kept, names):
    """A copy of the state of one parameter; ValueError when an array has another shape or one of
    `names` is missing."""
    arrays = {name: np.array(x, p.dtype) for name, x in kept.items() if name != "step"}
    for name, array in arrays.items():
        if array.shape != p.shape:
            raise ValueError(f"{name} of {place} has shape {array.shape}, the parameter {p.shape}")
    if missing := set(names) - set(arrays):
        raise ValueError(f"the state of {place} lacks {', '.join(sorted(missing))}")
    return {"step": int(kept["step"]), **arrays}

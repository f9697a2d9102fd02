"""Parameters laid end to end: an optimizer steps many small arrays as one long one, a large one in
parts.

A step of Adam is about a dozen NumPy calls per array, and each call costs a microsecond before it
computes anything. Copying thirty small arrays into one costs two copies and
saves hundreds of calls.
"""

import numpy as np


class FlatGroup:
    """Parameters that step together: one array of weights, one of gradients, and one for each
    thing to remember.

    params    list of tensors of one dtype, with .data, .grad, .shape, .size and .dtype; a single
              one is stepped where it lies, several are copied end to end
    states    list of dicts, one per parameter: {"step": n, name: ndarray of its shape, ...}, all
              with the same n; with several parameters, the arrays become views of those in `.state`
    names     which arrays of the states the optimizer reads and writes
    views_of  function (flat, shapes) -> list of views of the one-dimensional array `flat`

    .step     int: how many steps these parameters have taken
    .state    {name: ndarray}, one-dimensional where there are several parameters
    """

    def __init__(self, params, states, names, views_of):
        self.params, self.states, self.step = params, states, states[0]["step"]
        self.shapes = [p.shape for p in params]
        self.state = {name: states[0][name] for name in names}
        if len(params) == 1:
            return
        for name in names:
            self.state[name] = np.concatenate([state[name].ravel() for state in states])
            for state, view in zip(states, views_of(self.state[name], self.shapes)):
                state[name] = view
        size, dtype = sum(p.size for p in params), params[0].dtype
        self.w, self.g = np.empty(size, dtype), np.empty(size, dtype)
        self.views = views_of(self.w, self.shapes)

    def collect(self):
        """The weights and their gradients: two ndarrays of one shape. The weights may be written
        into, the gradients may not.

        ValueError with the shapes when a parameter or its gradient has another shape than before.
        """
        for p, shape in zip(self.params, self.shapes):
            if not p.grad.shape == p.data.shape == shape:
                raise ValueError(
                    f"a parameter had shape {shape} when it was first stepped; now it is "
                    f"{p.data.shape} and its gradient {p.grad.shape}: "
                    "make a new optimizer for new shapes"
                )
        if len(self.params) == 1:
            return self.params[0].data, self.params[0].grad
        np.concatenate([p.data.ravel() for p in self.params], out=self.w)
        np.concatenate([p.grad.ravel() for p in self.params], out=self.g)
        return self.w, self.g

    def give_back(self):
        """Copy the weights back into the tensors they came from, and `.step` into the states."""
        if len(self.params) > 1:
            for p, view in zip(self.params, self.views):
                p.data[...] = view
        for state in self.states:
            state["step"] = self.step


def flat_groups(params, states, names, small, views_of):
    """The parameters as a list of Bundles: small ones that agree together, the others alone.

    params    list of tensors, see `FlatGroup`
    states    {tensor: its state}; what is missing is added: "step" as 0, arrays as zeros
    names     the arrays to keep for each parameter
    small     parameters of fewer numbers than this share a FlatGroup, if they have the same
              dtype and have taken as many steps
    views_of  see `FlatGroup`
    """
    together = {}
    for p in params:
        state = states.setdefault(p, {"step": 0})
        for name in names:
            if name not in state:
                state[name] = np.zeros_like(p.data)
        alone = None if p.size < small else id(p)
        together.setdefault((p.dtype, state["step"], alone), []).append(p)
    return [
        FlatGroup(part, [states[p] for p in part], names, views_of) for part in together.values()
    ]


def blocks(size, *arrays):
    """The parts of arrays of one shape that belong together: a list of tuples of one-dimensional
    views, each of at most `size` numbers.

    Arrays that are not C-contiguous are returned whole, in one tuple.

    A formula leaves an array behind for each of its operations. Small ones come from memory that
    Python already has; those of a megabyte may be fetched from the system and given back every
    time: that made Adam four times as slow.

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

"""Initialization: functions that make the first values of weights.

Here they return an array for a new parameter, with the numbers of inputs and outputs as arguments;
PyTorch's, whose names end in `_`, write into a tensor that exists.
"""

from tinytorch.lazy import door

__getattr__, __dir__ = door(__name__, {"layers": "xavier_uniform he_normal"})

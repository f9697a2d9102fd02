"""Initialization: functions that make the first values of weights.

Here they return an array for a new parameter, with the numbers of inputs and outputs as arguments;
PyTorch's, whose names end in `_`, write into a tensor that exists.
"""

from tinytorch.lazy import public_module

__getattr__, __dir__ = public_module(
    __name__,
    {"layers": "xavier_uniform he_normal fan_in_uniform"},
    {
        "write Linear(in, out, init=xavier_uniform), or w.data[...] = xavier_uniform(*w.shape)": ""
        "xavier_uniform_ xavier_normal_ orthogonal_",
        "write Linear(in, out, init=he_normal), or w.data[...] = he_normal(*w.shape)": ""
        "kaiming_normal_ kaiming_uniform_",
        "write w.data[...] = 0, or another number": "zeros_ ones_ constant_",
        "write w.data[...] = rng.normal(0, std, w.shape)": "normal_ uniform_ trunc_normal_",
    },
)

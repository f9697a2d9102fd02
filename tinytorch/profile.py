"""Measurements of time, work and memory.

>>> from tinytorch.profile import flops_of
>>> flops_of("matmul", (3, 4), (4, 5))
120
"""

from tinytorch.lazy import public_module

__getattr__, __dir__ = public_module(
    __name__,
    {
        "profiling": "seconds median_interval race ratio_interval flops_of bytes_of Machine "
        "machine roofline OperationProfile Profile peak_bytes kept_arrays kept_bytes amdahl "
        "predict",
    },
    {
        "write `with Profile(model) as p:`, and then p.table()": "profile record_function "
        "ProfilerActivity",
        "write race({name: f}, rounds) and ratio_interval": "Timer Compare Measurement",
        "write flops_of, or `with Profile(model) as p:`": "FlopCounterMode",
        "write peak_bytes(f)": "max_memory_allocated memory_summary",
    },
)

"""Kernels: programs for the thousands of threads of a GPU.

`launch` runs a kernel in a simulator, on any computer. `run` runs it on a GPU, if there is one.

>>> import numpy as np
>>> from tinytorch.gpu import launch
>>> def double(block, thread, x):
...     x[thread.x] = 2 * x[thread.x]
>>> x = np.array([1.0, 2.0, 3.0], "float32")
>>> launch(double, 1, 3, x).transactions, x
(2, array([2., 4., 6.], dtype=float32))
"""

from tinytorch.lazy import public_module

__getattr__, __dir__ = public_module(
    __name__,
    {
        "gpu.simulator": "launch shared Report KernelError",
        "gpu.wgsl": "CompileError",
        "kernels": "compiled",
        "gpu.webgpu": "run to_gpu device device_name GPUArray NoGPU",
    },
    {
        "write x.numpy(), which waits": "synchronize",
        "there is no such question: device() opens the GPU, or raises NoGPU": "is_available "
        "device_count current_device",
        "write launch(kernel, grid, block, *arrays), or run(...) on a GPU": "jit compile",
    },
)

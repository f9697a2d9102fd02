"""Run kernels on the graphics processor of this computer through WebGPU, by the package `wgpu`."""

import functools

import numpy as np

from tinytorch.gpu.simulator import three
from tinytorch.lazy import later_lesson

INSTALL = """no GPU can be used here: {}
The simulator, `launch`, needs none. For a GPU: pip install "wgpu>=0.32"; on Linux also its Vulkan \
driver (the package mesa-vulkan-drivers has one that computes on the CPU)"""
LOST = "the GPU was lost during the run, so its result is not known: run the kernel again ({})"


class NoGPU(RuntimeError):
    """This computer has no graphics processor that WebGPU can use."""


@functools.cache
def adapter():
    try:
        import wgpu

        return wgpu.gpu.request_adapter_sync(power_preference="high-performance")
    except (ImportError, RuntimeError, OSError) as error:
        raise NoGPU(INSTALL.format(first_line(error))) from None


@functools.cache
def device():
    """The GPU, as a device of `wgpu`; it is opened once. NoGPU says what is missing, and what to
    install."""
    try:
        return adapter().request_device_sync(label="tinytorch")
    except (RuntimeError, OSError) as error:
        raise NoGPU(INSTALL.format(first_line(error))) from None


def device_name():
    """The name of the GPU, and whether it is a real one: False for a driver that computes on the
    CPU, whose times say nothing about a GPU."""
    info = adapter().info
    return info["device"], info["adapter_type"] != "CPU"


def first_line(error):
    return (str(error).strip() or type(error).__name__).splitlines()[0]


class GPUArray:
    """An array in the memory of the GPU, of float32 or int32.

    .shape, .dtype  as of an ndarray
    """

    def __init__(self, shape, dtype=np.float32, values=None, buffer=None):
        import wgpu

        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        self.size = int(np.prod(self.shape))
        usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
        if buffer is not None:
            self.buffer = buffer
        elif values is not None and self.size:
            self.buffer = device().create_buffer_with_data(data=values, usage=usage)
        else:
            size = max(4, self.dtype.itemsize * self.size)
            self.buffer = device().create_buffer(size=size, usage=usage)

    def reshape(self, *shape):
        """The same memory with another shape."""
        if int(np.prod(shape)) != self.size:
            raise ValueError(f"an array of shape {self.shape} cannot have the shape {shape}")
        return GPUArray(shape, self.dtype, buffer=self.buffer)

    def numpy(self):
        """A copy, as an ndarray. Waits until all kernels that write it have ended."""
        try:
            data = device().queue.read_buffer(self.buffer)
        except Exception as error:
            raise RuntimeError(LOST.format(first_line(error))) from None
        return np.frombuffer(data, self.dtype)[: self.size].reshape(self.shape).copy()


def to_gpu(x):
    """A copy of an ndarray in the memory of the GPU: ints as int32, other numbers as float32."""
    x = np.asarray(x)
    x = np.ascontiguousarray(x, np.int32 if x.dtype.kind in "iub" else np.float32).reshape(x.shape)
    return GPUArray(x.shape, x.dtype, x)


@functools.lru_cache(maxsize=256)
def pipeline(text):
    """A program in WGSL, ready to run."""
    module = device().create_shader_module(code=text)
    return device().create_compute_pipeline(
        layout="auto", compute={"module": module, "entry_point": "main"}
    )


programs = {}  # {(kernel, block, what the arguments are): program in WGSL}


def run(kernel, grid, block, *arguments):
    """Run a kernel on the GPU. Returns at once; `.numpy()` of a result waits for it.

    kernel     as for `launch`. What is constant in it was read at its first run
    grid       how many blocks: an int, or a tuple (x, y) or (x, y, z)
    block      the threads of a block, likewise
    arguments  GPUArrays (see `to_gpu`), which the kernel may change, and numbers. Each other number
               makes another program

    NoGPU without a GPU; CompileError, with the line, for what WGSL cannot say. The GPU checks
    nothing: let `launch` run each kernel first, at a small size.
    """
    key = kernel, three(block), tuple(kind_of(x) for x in arguments)
    if key not in programs:
        device()  # without one, this is the error
        programs[key] = later_lesson("kernels", "compiled").compiled(kernel, block, *arguments)
    run_program(programs[key], grid, *arguments)


def kind_of(x):
    return (x.shape, x.dtype) if isinstance(x, GPUArray) else (type(x), x)


def run_program(text, grid, *arguments):
    """Like `run`, for a program in WGSL."""
    arrays = [x for x in arguments if isinstance(x, GPUArray)]
    buffers = [x.buffer for x in arrays]
    for n, buffer in enumerate(buffers):
        if buffers.count(buffer) > 1 and f"@binding({n}) var<storage, read_write>" in text:
            raise ValueError(
                "on a GPU, an array that a kernel writes can be given once only: write the result "
                "into another array"
            )
    program = pipeline(text)
    bindings = device().create_bind_group(
        layout=program.get_bind_group_layout(0),
        entries=[{"binding": n, "resource": {"buffer": x}} for n, x in enumerate(buffers)],
    )
    encoder = device().create_command_encoder()
    step = encoder.begin_compute_pass()
    step.set_pipeline(program)
    step.set_bind_group(0, bindings)
    step.dispatch_workgroups(*three(grid))
    step.end()
    device().queue.submit([encoder.finish()])

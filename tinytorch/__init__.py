"""The library that the lessons add up to."""

import gc

from tinytorch import (  # noqa: F401  each opens without its lessons
    compress,
    data,
    func,
    generate,
    gpu,
    interpret,
    nn,
    optim,
    profile,
    text,
    training,
)
from tinytorch.lazy import public_module
from tinytorch.support.missing_names import TENSOR
from tinytorch.support.warning_location import locate_warnings

locate_warnings()

# A computation graph is many objects and no garbage, and Python's garbage collector would search it
# again and again while it grows. Let it wait for more new objects: a graph of 10,000 operations has
# about 40,000.
gc.set_threshold(max(gc.get_threshold()[0], 50_000), 20, 1000)

__getattr__, __dir__ = public_module(
    __name__,
    {
        "tensor": "Tensor Variable stack where",
        "layers": "manual_seed",
        "autograd": "Function no_grad numerical_gradient_check draw_graph",
        "compilation": "compile",
        "support.tensor_functions": "arange cat eye full linspace ones rand randn tensor zeros",
        "support.checkpoints": "load save",
    },
    TENSOR
    | {
        "write x.{name}(axis=1), and x.arg{name}(axis=1) for the positions": "max min",
        "it is a method here, x.{name}(...)": "exp log sqrt sin cos tanh sigmoid relu clip maximum "
        "minimum sum mean var std prod cumsum argmax argmin argsort reshape flatten "
        "squeeze unsqueeze transpose swapaxes broadcast_to permute numel clone",
        "write abs(x)": "abs",
        "write x ** y": "pow",
        "write cat(tensors, axis)": "concatenate concat hstack vstack",
        "write Tensor(array), which copies": "from_numpy as_tensor FloatTensor LongTensor asarray",
        "write zeros(x.shape), ones(x.shape) or full(x.shape, value)": "zeros_like ones_like "
        "full_like empty empty_like rand_like randn_like",
        "write Tensor(rng.integers(low, high, shape)), with rng = np.random.default_rng(seed)": ""
        "randint",
        "write Tensor(rng.permutation(n)), with rng = np.random.default_rng(seed)": "randperm",
        "write Tensor(rng.{name}(...)), with rng = np.random.default_rng(seed)": "normal",
        "write Tensor(rng.random(p.shape) < p.data), with rng = np.random.default_rng(seed)": ""
        "bernoulli",
        "dtypes are NumPy's: np.float32, np.int64, bool": "float float16 float32 float64 double "
        "half int int32 int64 long uint8 bool bfloat16 dtype get_default_dtype set_default_dtype",
        "there is one device, the CPU: leave devices out, or write model.to('cpu'); kernels for a "
        "GPU are in tinytorch.gpu": "cuda device mps backends get_device",
        "write no_grad()": "inference_mode set_grad_enabled enable_grad",
        "Function and no_grad are in tinytorch itself; for autograd.grad write vjp or hvp of "
        "tinytorch.func": "autograd",
        "write rng = np.random.default_rng(seed), which layers and loaders take as rng=": ""
        "Generator",
        "write np.{name}, with x.data for each tensor": "linalg fft inf nan pi meshgrid outer",
        "write np.set_printoptions(...)": "set_printoptions",
        "write isinstance(x, Tensor)": "is_tensor",
        "a shape is a tuple": "Size",
        "set OPENBLAS_NUM_THREADS before you start Python": "set_num_threads get_num_threads",
        "write importlib.metadata.version('tinytorch')": "__version__",
        "data loaders are in tinytorch.data, clip_grad_norm_ in tinytorch.optim": "utils",
        "write np.{name}(...), with x.data for each tensor": "allclose einsum",
        "write np.array_equal(x.data, y.data)": "equal",
        "write compile(f, model), for a function f that returns the loss": "jit",
        "Profile is in tinytorch.profile": "profiler",
        "GradScaler is in tinytorch.core.acceleration and also unscales; no autocast": "amp "
        "autocast",
        "quantize_model is in tinytorch.compress": "ao quantization",
        "write quantize(x, scale, zero_point) of tinytorch.compress": "quantize_per_tensor "
        "quantize_per_channel",
        "{name} is fake_quantize in tinytorch.compress": "fake_quantize_per_tensor_affine",
    },
)

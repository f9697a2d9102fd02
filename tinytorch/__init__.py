"""The library that the lessons add up to."""

from tinytorch import data, nn, optim, training  # noqa: F401  each opens without its lessons
from tinytorch.lazy import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tensor": "Tensor Variable stack where",
        "layers": "manual_seed",
        "autograd": "Function no_grad numerical_gradient_check draw_graph",
        "support.creation": "arange cat eye full linspace ones rand randn tensor zeros",
    },
    {
        "it is a method here, x.exp()": "exp",
        "it is a method here, as x.exp() is": "log sqrt sin cos tanh sigmoid relu clip maximum "
        "minimum sum mean max min var std prod cumsum argmax argmin argsort reshape flatten "
        "squeeze unsqueeze transpose swapaxes broadcast_to permute numel clone",
        "write abs(x)": "abs",
        "write x ** y": "pow square",
        "write x.clip(low, high)": "clamp",
        "write x + y, x - y, x * y, x / y": "add sub mul div",
        "write x @ y": "matmul mm bmm mv dot",
        "write cat, or x.flatten()": "concatenate concat hstack vstack",
        "write Tensor(array), which copies": "from_numpy as_tensor FloatTensor LongTensor asarray",
        "write zeros(x.shape), ones(x.shape) or full(x.shape, value)": "zeros_like ones_like "
        "full_like empty empty_like rand_like randn_like",
        "write Tensor(rng.integers(low, high, shape)), with rng = np.random.default_rng(seed)": ""
        "randint randperm normal multinomial bernoulli",
        "dtypes are NumPy's, np.float32, np.int64 or bool": "float float16 float32 float64 double "
        "half int int32 int64 long uint8 bool bfloat16 dtype get_default_dtype set_default_dtype",
        "there is one device, the CPU: leave devices out, or write model.to('cpu')": "cuda device "
        "mps backends get_device",
        "write no_grad()": "inference_mode set_grad_enabled enable_grad",
        "write loss.backward(), and Function and no_grad of tinytorch": "autograd",
        "data loaders are in tinytorch.data, clip_grad_norm_ in tinytorch.optim": "utils",
        "write Tensor(x.data > 0) and the like, NumPy's functions of x.data": "isnan isinf any all "
        "sort topk unique nonzero tril triu logical_and logical_or allclose equal",
        "write np.einsum of arrays, or products and sums": "einsum tensordot outer",
        "the course has no compiler": "compile jit",
    },
)

"""The library that the lessons add up to."""

from tinytorch import data, nn, optim, text, training  # noqa: F401  each opens without its lessons
from tinytorch.lazy import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tensor": "Tensor Variable stack where",
        "layers": "manual_seed",
        "autograd": "Function no_grad numerical_gradient_check draw_graph",
        "support.creation": "arange cat eye full linspace ones rand randn tensor zeros",
    },
)

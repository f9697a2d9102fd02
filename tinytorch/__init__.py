"""The library that the lessons add up to."""

from tinytorch.lazy import door

__all__ = ["Tensor", "Variable"]  # what `import *` gives; the other names belong to later lessons

__getattr__, __dir__ = door(
    __name__,
    {
        "tensor": "Tensor Variable",
        "autograd": "Function no_grad numerical_gradient_check draw_graph",
    },
)

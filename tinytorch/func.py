"""Derivatives of functions: Jacobians, Hessians, and products with them; the names of `torch.func`.

>>> from tinytorch import Tensor
>>> from tinytorch.func import jvp
>>> jvp(lambda x: x * x, (Tensor(3.0),), (Tensor(1.0),))
(Tensor(9.), Tensor(6.))
"""

from tinytorch.lazy import public_module

__getattr__, __dir__ = public_module(
    __name__,
    {
        "differentiation": "Dual derivative_of jvp_rule jvp vjp jacfwd jacrev hvp hessian "
        "power_iteration conjugate_gradient newton_step hutchinson checkpoint",
        "support.modules": "functional_call",
    },
    {
        "write vjp(f, x)[1](1.0)[0], for f with one number as its result": "grad grad_and_value",
        "write a loop and stack() its results": "vmap",
        "write jvp": "linearize",
    },
)

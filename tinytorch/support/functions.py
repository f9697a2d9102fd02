"""What every custom function has, whatever it computes: saved arrays, and errors for methods that
are missing or return the wrong thing."""

from tinytorch.support import validation


class FunctionMethods:
    """The base of `Function`, which adds how an object of it is called.

    saved_tensors  tuple of what save_for_backward(...) was given
    vjp            the rule for all inputs together, as `derivative` takes it
    """

    saved_tensors = ()

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        validation.check_methods(cls)

    def save_for_backward(self, *arrays):
        self.saved_tensors = arrays

    def forward(self, *arrays):
        raise TypeError(f"{type(self).__name__} needs a method forward(self, *arrays)")

    def backward(self, grad):
        raise TypeError(f"{type(self).__name__} needs a method backward(self, grad)")

    def vjp(self, g, out, *arrays, **options):
        return validation.checked_gradients(
            self.backward(g), arrays, type(self).__name__, numbers_of
        )


def numbers_of(gradient):
    """The array inside a Tensor; anything else as it is."""
    return gradient.data if hasattr(gradient, "requires_grad") else gradient

"""What a compiled function does besides choosing its program: it collects the Tensors of the model,
traces twice, and makes an operation with a gradient rule.
"""

import numpy as np

from tinytorch.support.modules import contents, is_tensor
from tinytorch.support.tracing import Node, NotTraceable, key_of, value_and_gradients


class CompiledMethods:
    """A function that is traced and runs as a program.

    f        the function
    model    the Module whose weights get gradients; or None
    backend  function of a Program that returns a function of arrays

    A subclass has `functions`: a dict with the lesson's functions trace, same and optimized.
    """

    def __init__(self, f, model, backend):
        self.f, self.backend, self.programs = f, backend, {}
        owner = f if model is None and hasattr(f, "named_modules") else model
        self.parts = [part for _, part in owner.named_modules()] if owner is not None else []
        tensors = only_tensors(self.parts)  # weights, also frozen ones, and buffers
        self.weights, self.others = ([], tensors) if model is None else (tensors, [])

    def state(self):
        """What the model is like: a tuple that can be a key of a dict."""
        modes = tuple([getattr(part, "training", None) for part in self.parts])
        return modes, tuple(
            [(w.requires_grad, w.shape, w.dtype.str) for w in self.weights + self.others]
        )

    def without_tensors(self, arguments):
        """The arguments, with the arrays of Tensors. ValueError for a Tensor that requires a
        gradient, which a program does not compute."""
        if any(is_tensor(x) and x.requires_grad for x in arguments):
            raise ValueError(
                "only the weights of the model get gradients, and an argument requires one: "
                "give x.detach()"
            )
        return [x.data if is_tensor(x) else x for x in arguments]

    def build(self, arguments):
        """An operation for these arguments, with its gradient rule."""
        from tinytorch.core.autograd import derivative  # late: a lesson of the course

        lesson = self.functions
        arrays = [given for given in arguments if isinstance(given, np.ndarray)]
        rng = np.random.default_rng(0)
        weights = [w for w in self.weights if w.requires_grad]

        def f(*given):
            given = iter(given)
            return self.f(*[next(given) if isinstance(x, np.ndarray) else x for x in arguments])

        programs = [
            lesson["trace"](
                value_and_gradients(f, weights),
                *other_numbers(arrays, rng, draw),
                weights=[*self.others, *self.weights],
            )
            for draw in (False, True)
        ]
        if not lesson["same"](*programs):
            raise NotTraceable(
                "with other numbers of the same shapes the function does other "
                "steps: does it draw random numbers, or compute with numbers of "
                f"its arguments?{first_difference(*programs)}"
            )
        run = self.backend(lesson["optimized"](programs[0]))

        def compiled(*weights, arrays, saved):
            out, *saved["gradients"] = run(*arrays, *weights)
            return out

        def rule(g, out, *_, arrays, saved):
            if g.ndim:
                raise ValueError(
                    "only a compiled function that returns one number has "
                    f"gradients; this one returned the shape {g.shape}"
                )
            gradients = dict(zip(weights, saved["gradients"]))
            return [g * gradients[w] if w in gradients else None for w in self.weights]

        derivative(compiled, together=rule)
        return compiled


def only_tensors(parts):
    """The Tensors that are attributes of some modules, each once."""
    found = {}
    for part in parts:
        if hasattr(part, "named_parameters"):  # an activation has no Tensors
            found |= {x: True for _, x in contents(part) if is_tensor(x)}
    return list(found)


def other_numbers(arrays, rng, draw):
    """Arrays of the same shapes and dtypes with other numbers, for a trace.

    draw  False: shuffle ints. True: draw them between 0 and the largest one, without it, so that
          sums, counts and maxima also change

    Floats are shuffled and get random signs. Ints are recognized by their numbers, so an array of
    ints must differ from the others, from zeros and from 0, 1, 2, ...: NotTraceable if that is not
    possible.
    """
    result, taken = [], []
    for x in arrays:
        y = rng.permutation(x.ravel()).reshape(x.shape)
        if x.dtype.kind == "f":
            y = y * rng.choice([-1, 1], x.shape).astype(x.dtype)
        elif x.dtype.kind == "b":
            y = rng.random(x.shape) < 0.5 if draw else y
        elif x.dtype.kind in "iu" and x.size:
            for attempt in range(100):
                if draw or attempt:
                    low, high = min(0, x.min()), max(1, x.max() - (attempt < 50))
                    y = rng.integers(low, high, x.shape, x.dtype, endpoint=True)
                numbers = y.ravel().tolist()
                if any(numbers) and numbers not in [*taken, list(range(y.size))]:
                    break
            else:
                raise NotTraceable("the numbers of two arrays of ints cannot be told apart")
            taken.append(numbers)
        result.append(y)
    return result


def first_difference(a, b):
    """The first step in which two programs differ, as a sentence; "" if it is not known."""
    for x, y in zip(a.nodes, b.nodes):
        described = [
            (node.name, key_of(node.options), [key_of(part) for part in constants_of(node)])
            for node in (x, y)
        ]
        if described[0] != described[1]:
            return f" The first one is `{x.name}`" + (f", {x.line}" if x.line else "")
    return ""


def constants_of(node):
    return [part for part in node.inputs if not isinstance(part, Node)]

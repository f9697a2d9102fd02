"""1,500 random programs of tensor operations, run here and by PyTorch: the same values, the same
gradients. A program is a list of steps; each step applies an operation to earlier results, with
shapes of rank 0 to 4, lengths of 1 and broadcasting among them.
"""

import math

import numpy as np
import pytest

import tinytorch
from tinytorch.core import tensor as T

pytestmark = pytest.mark.slow
torch = None  # imported by the first test: that takes 2 seconds
PROGRAMS, GROUP = 1500, 50
RTOL = {"float32": 2e-3, "float64": 1e-9}


@pytest.fixture(autouse=True)
def imported_torch(request):
    global torch
    torch = request.getfixturevalue("torch")


# Elementwise operations of one tensor. The inner functions keep every number where the operation
# is defined, and small.
UNARY = {
    "exp": lambda m, x: m.exp(m.tanh(x)),
    "log": lambda m, x: m.log(x * x + 1),
    "sqrt": lambda m, x: m.sqrt(x * x + 0.5),
    "sin": lambda m, x: m.sin(x),
    "cos": lambda m, x: m.cos(x),
    "tanh": lambda m, x: m.tanh(x),
    "sigmoid": lambda m, x: m.sigmoid(x),
    "relu": lambda m, x: m.relu(x),
    "abs": lambda m, x: abs(x),
    "negative": lambda m, x: -x,
    "square": lambda m, x: m.tanh(x) ** 2,
    "cube": lambda m, x: m.tanh(x) ** 3,
    "inverse": lambda m, x: (x * x + 1) ** -1,
    "root": lambda m, x: (x * x + 1) ** 0.5,
    "clip": lambda m, x: m.clip(x, -0.7, 0.8),
    "affine": lambda m, x: 2 * x - 0.5,
    "reflected": lambda m, x: 1.5 / (x * x + 1) - x,
    "pow": lambda m, x: m.tanh(x).pow(3),
    "clone": lambda m, x: x.clone().abs(),
    "casts": lambda m, x: x.double().float().to(x.dtype),
}
BINARY = {
    "add": lambda m, x, y: x + y,
    "subtract": lambda m, x, y: x - y,
    "multiply": lambda m, x, y: m.tanh(x) * y,
    "divide": lambda m, x, y: x / (y * y + 1),
    "power": lambda m, x, y: (m.tanh(x) + 2) ** m.tanh(y),
    "maximum": lambda m, x, y: m.maximum(x, y),
    "minimum": lambda m, x, y: m.minimum(x, y),
}
REDUCTIONS = ["sum", "mean", "max", "min", "var", "std", "prod"]
SHAPES = ["reshape", "transpose", "swapaxes", "unsqueeze", "squeeze", "flatten", "broadcast", "pad"]
SHAPES += ["view", "permute", "expand", "t"]
OTHERS = ["index", "mask", "where", "matmul", "concatenate", "stack", "reuse", "cumsum", "argsort"]


class Ours:
    """What a program calls, by this library."""

    leaf = staticmethod(lambda array: T.Variable(array))
    constant = staticmethod(lambda array: array)
    exp, log, sqrt, sin, cos, tanh, sigmoid, relu, clip = (
        getattr(T.Tensor, name) for name in "exp log sqrt sin cos tanh sigmoid relu clip".split()
    )
    maximum, minimum, where = T.maximum, T.minimum, T.where
    concatenate, stack = T.concatenate, T.stack

    @staticmethod
    def argsort(array, axis, descending):
        return T.Tensor(array).argsort(axis, descending)

    @staticmethod
    def reduce(name, x, axes, keepdims):
        return getattr(x, name)(axis=axes, keepdims=keepdims)

    @staticmethod
    def broadcast(x, shape):
        return x.broadcast_to(shape)

    @staticmethod
    def transpose(x, axes):
        return x.transpose(axes)  # as a tuple: transpose(0, 1) asks for an exchange in PyTorch

    @staticmethod
    def pad(x, widths):
        return x.pad(widths, 0.25)


class Theirs:
    """What a program calls, by PyTorch."""

    leaf = staticmethod(lambda array: torch.tensor(array, requires_grad=True))
    constant = staticmethod(lambda array: torch.tensor(array))

    def __getattr__(self, name):
        return getattr(torch, name)

    @staticmethod
    def concatenate(tensors, axis):
        return torch.cat(tensors, axis)

    @staticmethod
    def where(condition, x, y):
        return torch.where(torch.tensor(condition), x, y)

    @staticmethod
    def reduce(name, x, axes, keepdims):
        if name == "prod":  # along one axis at a time
            for axis in sorted((a % x.ndim for a in axes), reverse=True):
                x = torch.prod(x, axis, keepdim=keepdims)
            return x
        if name in ("var", "std"):
            return getattr(torch, name)(x, axes, correction=0, keepdim=keepdims)
        return getattr(torch, {"max": "amax", "min": "amin"}.get(name, name))(
            x, axes, keepdim=keepdims
        )

    @staticmethod
    def broadcast(x, shape):
        return torch.broadcast_to(x, shape)

    @staticmethod
    def transpose(x, axes):
        return x.permute(*axes)

    @staticmethod
    def pad(x, widths):
        flat = [n for before_after in reversed(widths) for n in before_after]
        return torch.nn.functional.pad(x, flat, value=0.25)


class Program:
    """A random program: leaves, and steps that apply to both libraries alike."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        self.dtype = "float64" if seed % 2 else "float32"
        lengths = rng.choice([1, 2, 3], size=4)
        self.leaves = [self.draw_leaf(lengths) for _ in range(rng.integers(1, 4))]
        self.steps, self.text = [], [f"{leaf.shape}" for leaf in self.leaves]
        shapes = [leaf.shape for leaf in self.leaves]
        for _ in range(rng.integers(3, 9)):
            while (step := self.draw_step(shapes)) is None:
                pass
            self.steps.append(step)
            with np.errstate(all="ignore"):
                shapes.append(self.run(Ours, len(self.steps))[0][-1].shape)
            self.text.append(f"{step[0]}{step[1]} -> {shapes[-1]}")

    def draw_leaf(self, lengths):
        rank = self.rng.integers(0, 5)
        shape = [1 if self.rng.random() < 0.2 else n for n in lengths[4 - rank :]]
        numbers = self.rng.normal(size=shape) * (self.rng.random() > 0.1)
        if self.rng.random() < 0.25:  # equal numbers, zeros among them
            numbers = np.round(numbers)
        return np.asarray(numbers).astype(self.dtype)

    def draw_step(self, shapes):
        """(name, positions of its inputs, function of the library and the inputs); None where the
        operation drawn does not fit the shapes."""
        rng = self.rng
        kind = rng.choice(["unary", "binary", "reduce", "shape", "other"])
        i = len(shapes) - 1 if rng.random() < 0.7 else int(rng.integers(len(shapes)))
        j = int(rng.integers(len(shapes)))
        shape, rank = shapes[i], len(shapes[i])
        if kind == "unary":
            name = rng.choice(list(UNARY))
            return name, (i,), UNARY[name]
        if kind == "binary":
            try:
                if math.prod(np.broadcast_shapes(shape, shapes[j])) > 500:
                    return None
            except ValueError:
                return None
            name = rng.choice(list(BINARY))
            if i == j and name in ("maximum", "minimum"):
                return None
            return name, (i, j), BINARY[name]
        if kind == "reduce":
            count = int(rng.integers(1, rank + 1)) if rank else 0
            axes = tuple(int(a) for a in rng.permutation(rank)[:count] - rank * rng.integers(2))
            name, keepdims = str(rng.choice(REDUCTIONS)), bool(rng.integers(2))
            if not axes or 0 in shape:
                return None
            if name == "prod":  # of numbers around 1, with a few zeros
                zeros = rng.random(shape) < 0.2
                return (
                    name,
                    (i,),
                    lambda m, x: m.reduce(
                        name, m.where(zeros, x * 0, m.tanh(x) + 1), axes, keepdims
                    ),
                )
            return name, (i,), lambda m, x: m.reduce(name, x, axes, keepdims)
        if kind == "shape":
            return self.draw_shape_step(i, shape, rank)
        return self.draw_other_step(i, j, shapes)

    def draw_shape_step(self, i, shape, rank):
        rng, name = self.rng, str(self.rng.choice(SHAPES))
        if name == "flatten":
            return name, (i,), lambda m, x: x.flatten()
        if name == "unsqueeze" and rank < 4:
            axis = int(rng.integers(-rank - 1, rank + 1))
            return name, (i,), lambda m, x: x.unsqueeze(axis)
        if name == "reshape":
            wanted = tuple(int(n) for n in rng.permutation(shape))
            return name, (i,), lambda m, x: x.reshape(wanted)
        if name == "view":
            return name, (i,), lambda m, x: x.view(-1, *shape[1:]) if shape else x.view(1)
        if name == "t" and rank < 3:
            return name, (i,), lambda m, x: x.t()
        if name == "expand" and rank < 4:
            wanted = (2, *(3 if n == 1 and rng.random() < 0.5 else -1 for n in shape))
            return name, (i,), lambda m, x: x.expand(*wanted)
        if name == "broadcast" and rank < 4:
            wanted = (2, *(3 if n == 1 and rng.random() < 0.5 else n for n in shape))
            return name, (i,), lambda m, x: m.broadcast(x, wanted)
        if not rank:
            return None
        axis, other = (int(a) for a in rng.integers(-rank, rank, 2))
        if name == "transpose":
            axes = [int(a) for a in rng.permutation(rank)]
            return name, (i,), lambda m, x: m.transpose(x, axes)
        if name == "permute":
            axes = [int(a) for a in rng.permutation(rank)]
            return name, (i,), lambda m, x: x.permute(*axes)
        if name == "swapaxes":
            return name, (i,), lambda m, x: x.swapaxes(axis, other)
        if name == "squeeze" and shape[axis] == 1:
            return name, (i,), lambda m, x: x.squeeze(axis)
        if name == "pad" and math.prod(shape) < 200:
            widths = [tuple(int(n) for n in rng.integers(0, 3, 2)) for _ in shape]
            return name, (i,), lambda m, x: m.pad(x, widths)
        return None

    def draw_other_step(self, i, j, shapes):
        rng, name = self.rng, str(self.rng.choice(OTHERS))
        shape, rank = shapes[i], len(shapes[i])
        if name == "reuse":  # one tensor along two paths
            return name, (i, i), lambda m, x, y: m.tanh(x) * m.sin(y)
        if name == "where":
            condition = rng.random(shape) < 0.5
            return name, (i,), lambda m, x: m.where(condition, x, x * 0.5)
        if name == "matmul" and rank and shapes[j]:
            inner = shapes[j][-2] if len(shapes[j]) > 1 else shapes[j][0]
            if shape[-1] != inner:
                return None
            try:
                np.broadcast_shapes(shape[:-2], shapes[j][:-2])
            except ValueError:
                return None
            return name, (i, j), lambda m, x, y: m.tanh(x) @ m.tanh(y)
        if not rank or 0 in shape:
            return None
        axis = int(rng.integers(-rank, rank))
        if name == "cumsum":
            return name, (i,), lambda m, x: m.tanh(x).cumsum(axis)
        if name == "argsort":  # of numbers that differ by more than rounding errors
            order = np.asarray(rng.permutation(math.prod(shape)), self.dtype).reshape(shape)
            down = bool(rng.integers(2))
            return (name, (i,), lambda m, x: x * m.argsort(m.constant(order), axis, down))
        if name in ("concatenate", "stack") and shapes[j] == shape and rank < 4:
            return name, (i, j), lambda m, x, y: getattr(m, name)([x, y, x], axis)
        if name == "mask":
            mask = rng.random(shape) < 0.6
            return name, (i,), lambda m, x: x[mask]
        if name == "index":
            parts = []
            for n in shape[: rng.integers(1, rank + 1)]:
                choice = rng.integers(3)
                if choice == 0:
                    parts.append(int(rng.integers(-n, n)))
                elif choice == 1:
                    parts.append(slice(int(rng.integers(0, n)), None))
                elif any(isinstance(part, list) for part in parts):
                    parts.append(slice(None))
                else:
                    parts.append([int(k) for k in rng.integers(-n, n, 3)])  # repeats, too
            if any(isinstance(part, list) for part in parts):  # beside it, NumPy's ints are lists
                parts = [slice(None) if isinstance(part, int) else part for part in parts]
            index = tuple(parts)
            return name, (i,), lambda m, x: x[index]
        return None

    def run(self, library, steps=None):
        """(results of the leaves and steps, leaves)"""
        leaves = [library.leaf(array) for array in self.leaves]
        results = list(leaves)
        for _, inputs, function in self.steps[:steps]:
            results.append(function(library, *(results[n] for n in inputs)))
        return results, leaves


@pytest.mark.parametrize("first", range(0, PROGRAMS, GROUP))
def test_values_and_gradients_are_pytorchs(first):
    used = set()
    for seed in range(first, first + GROUP):
        program = Program(seed)
        ours, our_leaves = program.run(Ours)
        theirs, their_leaves = program.run(Theirs())
        told = f"program {seed}, {program.dtype}:\n" + "\n".join(program.text)
        out, wanted = ours[-1], theirs[-1]
        close(out.data, wanted.detach().numpy(), program.dtype, f"{told}\nvalue")
        g = np.asarray(np.random.default_rng(seed).normal(size=out.shape)).astype(program.dtype)
        if out.requires_grad:
            out.backward(g)
            wanted.backward(torch.tensor(g))
        for n, (one, other) in enumerate(zip(our_leaves, their_leaves)):
            assert (one.grad is None) == (other.grad is None), f"{told}\nleaf {n} has a gradient?"
            if one.grad is not None:
                close(one.grad, other.grad.numpy(), program.dtype, f"{told}\ngradient {n}")
        used |= {name for name, _, _ in program.steps}
    assert len(used) > 20


def close(found, wanted, dtype, told):
    assert found.dtype == wanted.dtype == dtype, told
    assert found.shape == wanted.shape, told
    scale = np.abs(wanted).max(initial=1e-3)
    np.testing.assert_allclose(found, wanted, RTOL[dtype], RTOL[dtype] * scale, err_msg=told)


def test_the_programs_cover_every_operation_and_rank():
    programs = [Program(seed) for seed in range(300)]
    names = {name for program in programs for name, _, _ in program.steps}
    assert names >= {*UNARY, *BINARY, *REDUCTIONS, *SHAPES, *OTHERS}
    assert {leaf.ndim for program in programs for leaf in program.leaves} == {0, 1, 2, 3, 4}
    assert tinytorch.Tensor is T.Tensor

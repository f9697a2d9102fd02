"""From a program of the lesson on compilation to a kernel: all its steps, element by element."""

import itertools
import linecache
import math

import numpy as np

from tinytorch.compiler.loops import PYTHON, is_elementwise
from tinytorch.support.tracing import Node

FUNCTIONS = {name: getattr(math, name) for name in ("exp", "log", "sqrt", "tanh", "sin", "cos")}
numbers = itertools.count(1)  # each kernel needs a file name of its own, for its lines in messages


def kernel_of(program, size=64):
    """A kernel that computes an elementwise program, one element for each thread.

    program  a Program whose steps are all elementwise, such as that of gelu(x + bias); its outputs
             have one shape, and its arguments at least one axis
    size     int: threads of a block
    returns  kernel(block, thread, *arguments, *outputs), for `launch` and `run`, with at least
             n / size blocks of `size` threads for outputs of n elements. `inspect.getsource` gives
             its text

    ValueError, with the name of the step, for one that is not elementwise.

    >>> import inspect
    >>> from tinytorch.core.compilation import trace
    >>> x, bias = np.ones((2, 3), "float32"), np.ones(3, "float32")
    >>> print(inspect.getsource(kernel_of(trace(lambda x, bias: x + bias, x, bias))), end="")
    def kernel(block, thread, a0, a1, o0):
        n = 64 * block.x + thread.x
        if n < 6:
            i0 = n // 3
            i1 = n % 3
            v0 = a0[i0, i1] + a1[i1]
            o0[i0, i1] = v0
    """
    shapes = {np.shape(x.example if isinstance(x, Node) else x) for x in program.outputs}
    if len(shapes) != 1 or () in {x.shape for x in program.arguments} | shapes:
        raise ValueError("the outputs of a kernel have one shape; no array is without axes")
    (shape,) = shapes
    texts = {x: f"a{n}{index(x.shape, shape)}" for n, x in enumerate(program.arguments)}

    def text(x):
        return texts[x] if isinstance(x, Node) else constant(x)

    lines = []
    for axis, length in enumerate(shape):
        below = math.prod(shape[axis + 1 :])
        place = "n" if below == 1 else f"n // {below}"
        lines.append(f"i{axis} = {place if axis == 0 else f'{place} % {length}'}")
    for node in program.nodes:
        if node.op is np.broadcast_to:
            texts[node] = text(node.inputs[0])
            continue
        if not is_elementwise(node) or node.op not in PYTHON.formulas:
            raise ValueError(f"a kernel has one element for each thread, and no step {node.name}")
        texts[node] = f"v{len(lines) - len(shape)}"
        lines.append(f"{texts[node]} = {PYTHON.formulas[node.op].format(*map(text, node.inputs))}")
    names = [f"a{n}" for n in range(len(program.arguments))]
    for n, x in enumerate(program.outputs):
        lines.append(f"o{n}{index(shape, shape)} = {text(x)}")
        names.append(f"o{n}")
    head = [
        f"def kernel(block, thread, {', '.join(names)}):",
        f"    n = {size} * block.x + thread.x",
        f"    if n < {math.prod(shape)}:",
    ]
    return defined("\n".join([*head, *(f"        {line}" for line in lines)]) + "\n")


def index(shape, loops):
    """The index of an array of this shape, broadcast to the shape of the loops, as text.

    >>> index((20,), (30, 20)), index((30, 1), (30, 20))
    ('[i1]', '[i0, 0]')
    """
    first = len(loops) - len(shape)
    return f"[{', '.join(f'i{first + a}' if n > 1 else '0' for a, n in enumerate(shape))}]"


def constant(x):
    """A constant of a program as text."""
    if np.size(x) != 1 or not np.isfinite(x).all():
        raise ValueError("a constant of a kernel is one finite number")
    value = float(np.asarray(x).item())
    return f"({value})" if value < 0 else f"{value}"


def defined(text):
    """The function `kernel` of a text, which `inspect` and messages can show."""
    file, scope = f"<kernel {next(numbers)}>", dict(FUNCTIONS)
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    exec(compile(text, file, "exec"), scope)
    return scope["kernel"]

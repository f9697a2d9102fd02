"""Machine code: programs in C, compiled and called."""

import ctypes
import operator
import os
import shutil
import subprocess
import tempfile

import numpy as np

from tinytorch.compiler.loops import START, C, is_fill, shapes_of
from tinytorch.support.tracing import Node, only_nodes
from tinytorch.support.warning_location import warn_user

FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC"]


def find_compiler():
    """The path of a C compiler; OSError if there is none."""
    names = "cc", "gcc", "clang"
    for name in names:
        if path := shutil.which(name):
            return path
    raise OSError(f"no C compiler is installed: none of {', '.join(names)} was found")


def compile_source(source):
    """The function `program` of a text in C, as machine code; it takes addresses of arrays."""
    compiler = find_compiler()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        text, library = os.path.join(folder, "program.c"), os.path.join(folder, "program.so")
        with open(text, "w", encoding="utf-8") as file:
            file.write(source)
        for native in (["-march=native"], []):  # a compiler that does not know it goes without
            command = [compiler, *FLAGS, *native, text, "-o", library, "-lm"]
            result = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
            if result.returncode == 0:
                break
        else:
            raise OSError(f"{compiler} failed:\n{result.stderr}")
        function = ctypes.PyDLL(library).program  # one thread at a time: its memory is static
    function.restype = None
    return function


def machine_code(program, source):
    """The text of a program in C as a function of float32 arrays, which returns a list of new
    ones."""
    function = compile_source(source)
    shapes, expected = shapes_of(program.outputs), shapes_of(program.arguments)
    function.argtypes = [ctypes.c_void_p] * (len(shapes) + len(expected))

    def run(*arrays):
        arrays = [np.asarray(x, np.float32, order="C") for x in arrays]
        if [x.shape for x in arrays] != expected:  # else C would read beyond their ends
            raise ValueError(f"the arrays should have the shapes {expected}")
        out = [np.empty(shape, np.float32) for shape in shapes]
        function(*[x.__array_interface__["data"][0] for x in (*arrays, *out)])
        return out

    run.source = source
    return run


def outlined(layout, program_of, text_of, build):
    """The inputs that `outline` needs for a new Program: its outputs, in which each group of two or
    more steps is one step.

    program_of  the class Program
    text_of     text_of(program): its text in C; groups of equal text share a kernel
    build       build(program): a kernel, a function of float32 arrays that returns a list of them
    """
    new, kernels = {}, {}

    def now(x):
        return new.get(x, x) if type(x) is Node else x

    for group in layout.order:
        members = set(group)
        inputs = [x for node in group for x in node.inputs]
        outside = [x for x in only_nodes(inputs) if x not in members and not is_fill(x)]
        if len(group) < 2 or not can_be_kernel(group, inputs):
            for node in group:
                new[node] = Node(node.op, map(now, node.inputs), node.options, node.example)
            continue
        part = {x: Node(None, example=np.asarray(x.example, np.float32)) for x in outside}
        for node in group:
            parts = [part.get(x, x) if isinstance(x, Node) else x for x in node.inputs]
            part[node] = Node(node.op, parts, node.options, node.example)
        results = [x for x in group if x in layout.stored or x in layout.returned]
        small = program_of([part[x] for x in outside], [part[x] for x in results])
        text = text_of(small)
        if text not in kernels:
            kernels[text] = build(small)
        kernel = named_kernel(kernels[text], len(kernels), [x.dtype for x in results])
        whole = Node(kernel, map(now, outside), {}, [x.example for x in results])
        for n, node in enumerate(results):
            new[node] = Node(operator.getitem, (whole, n), {}, node.example)
    return [now(x) for x in layout.program.outputs]


def can_be_kernel(group, inputs):
    """Whether all steps of a group can be written in C: no ints, float64 or arrays of constants."""
    arrays = [x for x in [*group, *inputs] if isinstance(x, Node)]
    return (
        all(x.op in C.formulas or x.op in START for x in group)
        and all(x.dtype in (np.float32, bool) for x in arrays)
        and all(isinstance(x, Node) or np.size(x) == 1 for x in inputs)
    )


def named_kernel(kernel, number, dtypes):
    """A kernel as the operation of a step; True and False stay what they are."""

    def call(*arrays):
        return [x.astype(dtype, copy=False) for x, dtype in zip(kernel(*arrays), dtypes)]

    call.__name__ = f"kernel_{number}"
    return call


def in_c(program, numpy, compile_c, outline, most=1_000_000):
    """A program as a function, with loops in C where they are possible: all of it, if all steps
    have loops and no more than `most` multiplications are in matrix products, else its groups.
    Without a C compiler, a warning, and NumPy.

    numpy, compile_c, outline  the lesson's functions
    """
    try:
        find_compiler()
    except OSError as error:
        warn_user(f"{error}; the program runs in NumPy")
        return numpy(program)
    products = [node for node in program.nodes if node.op in (np.matmul, np.dot)]
    work = sum(x.example.size * x.inputs[0].shape[-1] for x in products if x.inputs[0].shape)
    try:
        if work <= most:
            return compile_c(program)
    except NotImplementedError:
        pass  # a step without loops
    return numpy(outline(program))

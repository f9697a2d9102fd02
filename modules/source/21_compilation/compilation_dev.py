# %% [markdown]
# # 21. Compilation
#
# A training step of a small network does few multiplications, and takes long. What takes the
# time? The picture shows three versions of the same training step, for networks of three sizes:
# the library that you built, the same NumPy operations without the library, and the same
# arithmetic in C. The axis is logarithmic.

# %% tags=["payoff"]
from tinytorch.pictures.compilation import (composed_gpt, draw_groups, draw_strides, lifetimes,
                                            plot_bytes, plot_ladder, plot_memory, quick_ladder,
                                            step_times)

figure = plot_ladder(quick_ladder())
# caption: Arithmetic is a small part of the time of a small step.
# alt: Three groups of bars on a logarithmic axis, the microseconds of one training step. In
# each group the library takes longest and plain NumPy a fraction of that. C takes a small
# part of NumPy's time for XOR, the smallest network, and gains least for digits, the largest.

# %% [markdown]
# For the picture, the step was written by hand, once in NumPy and once in C. In this chapter
# you write a *compiler* that does this for any model of the course, without a change of the
# library: it records the operations of a training step once, simplifies them, and writes them
# as NumPy code or as loops in C. PyTorch has had such a compiler since 2023, `torch.compile`.
# (If no C compiler is installed, the bars of C are missing; all exercises work without it.)
#
# **You need** 17 (Differentiation) and 20 (Acceleration). **You build** programs as graphs, a
# tracer, optimization passes, a cache of programs, operator fusion, a memory plan, and a
# generator of loops in Python and C.

# %%
#| default_exp core.compilation
#| export
import numpy as np

from tinytorch.compiler.compiled import CompiledMethods
from tinytorch.compiler.loops import (C, PYTHON, START, VIEWS, Layout, LoopMethods,
                                      ProgramMethods, function_of, interpreted, is_elementwise,
                                      joins, loop_shape, same_array, waits, written)
from tinytorch.compiler.machine_code import in_c, machine_code, outlined
from tinytorch.core.tensor import Tensor, apply, strides_of
from tinytorch.support.tracing import (Node, NotTraceable, TracedMethods, key_of, only_nodes,
                                       recorded, step, value_and_gradients)

# %% [markdown] page="From a function to a program"
# ## Programs as graphs
#
# Lesson 06 recorded operations in a graph, to compute derivatives. Here a graph is a *program*:
# it is recorded once and then run many times, with other numbers. An **intermediate
# representation** is the form in which a compiler keeps a program while it works on it. Ours is
# a graph of Nodes. A `Node` is an argument of the program, or one step: `op(*inputs,
# **options)`. Its `example` is what the step computed when it was recorded; from it the
# compiler knows shapes and dtypes. `step(op, *inputs, **options)` makes a Node:

# %%
x = Node(None, example=np.ones((4, 8), "float32"))  # an argument has no op
square = step(np.multiply, x, x)
unused = step(np.exp, square)
total = step(np.add.reduce, square, axis=1)  # np.add.reduce is the sum
print(total.name, total.inputs == (square,), total.options, total.shape, total.dtype)

# %% [markdown]
# The result of a program is one or more Nodes, the outputs. The steps that they need are found
# as in `topological_order` of lesson 06. `unused` is not among them: **dead code** is code that
# no output needs. Each Node has a number `created`, larger than the numbers of its inputs. A
# graph can be too deep for recursion.
#
# An input or output can also be a *constant*: a number, or an array. An array cannot be a key
# of a dict, and `in` compares it number by number, so ask `isinstance(x, Node)` first, in every
# exercise of this lesson. `only_nodes(inputs)` is the list of the Nodes, each once.
#
# **Task.** Write `needed`.

# %% The Nodes that outputs need exercise="needed"
#| export
def needed(outputs):
    """All Nodes that some outputs are computed from, the outputs included.

    outputs  list of Nodes and constants; constants need nothing
    returns  list of Nodes, each once, sorted by `created`; arguments are Nodes, too

    >>> a = Node(None, example=np.ones(2))
    >>> b, c = step(np.exp, a), step(np.log, a)
    >>> needed([c, 1.0]) == [a, c]
    True

    Source: Cytron et al., Efficiently computing static single assignment form (1991).
    """
    ### BEGIN SOLUTION
    found, stack = set(), [*outputs]
    while stack:
        node = stack.pop()
        if isinstance(node, Node) and node not in found:
            found.add(node)
            stack.extend(node.inputs)
    return sorted(found, key=lambda node: node.created)
    ### END SOLUTION

# %% checks="needed"
check("needed")

# %%
#| export
class Program(ProgramMethods):
    """What computes outputs from arguments.

    arguments  list of Nodes without `op`
    outputs    list of Nodes; a constant is possible, too

    .nodes  the steps, each after its inputs; dead code is not among them
    """

    def __init__(self, arguments, outputs):
        self.arguments, self.outputs = list(arguments), list(outputs)
        self.nodes = [node for node in needed(self.outputs) if node.op is not None]

# %% tags=["demonstration"]
print(Program([x], [total]))

# %% [markdown]
# Each line is a step, with the dtype and the shape of its result. To run a program, keep the
# value of each Node in a dict. This is an *interpreter*: simple and slow. Everything
# that the compiler does later must give the same results.
#
# **Task.** Write `evaluate`.

# %% Running a program exercise="evaluate"
#| export
def evaluate(program, *arrays):
    """Run a program, step by step.

    arrays   an ndarray for each argument; not changed
    returns  list with the value of each output

    >>> a = Node(None, example=np.ones(2))
    >>> evaluate(Program([a], [step(np.add, a, 0.5), 3.0]), np.array([1.0, 2.0]))
    [array([1.5, 2.5]), 3.0]

    Source: Abelson, Sussman, Structure and Interpretation of Computer Programs, chapter 4.
    """
    ### BEGIN SOLUTION
    values = dict(zip(program.arguments, arrays))

    def value(x):
        return values[x] if isinstance(x, Node) else x
    for node in program.nodes:
        values[node] = node.op(*map(value, node.inputs), **node.options)
    return [value(x) for x in program.outputs]
    ### END SOLUTION

# %% checks="evaluate"
check("evaluate")

# %% [markdown]
# ## Tracing
#
# Programs need not be written by hand. In lesson 17 a `Dual` took the place of a number and
# carried its tangent through a function. A `Traced` array takes the place of an array, and
# carries its Node. **Tracing** is running a function on such objects to record its steps.
#
# NumPy asks objects how to compute with them. For `np.exp(x)`, `x * 2` and all other
# *universal functions* it calls `x.__array_ufunc__(ufunc, method, *inputs, **options)`, if `x`
# has that method. `method` is `"__call__"` for `np.add(a, b)`, and `"reduce"` for
# `np.add.reduce(a)`. If the result is to go into an existing array, as in `x *= 2`, `out` is a
# tuple with that array. A program cannot write into a *view*, a part of another array.
#
# **Task.** Write `__array_ufunc__`. `self.record(op, *inputs, **options)`, which is given,
# takes the inputs as they are, makes a Node, and returns a new Traced array with it.

# %% Traced arrays exercise="traced"
#| export
class Traced(TracedMethods):
    """Takes the place of an array. `.node` is the Node of its numbers, `.is_view` whether it
    shares its memory with another Traced array."""

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        """NumPy calls this instead of computing ufunc(*inputs).

        ufunc    a universal function of NumPy, such as np.add
        method   "__call__"; or the name of the method of `ufunc` that was called: "reduce"
        inputs   Traced arrays, arrays and numbers
        out      None; or a tuple with the one array into which the result is to be written
        returns  the result, a new Traced array. With `out`, that array: its `.node` becomes
                 the Node of the result, cast to its dtype by `.astype(dtype)`. No other array
                 changes

        NotTraceable, with the word "view", if the array in `out` is a view, and with the words
        "not traced" if it is not Traced.

        >>> a = Traced(Node(None, example=np.ones(2)))
        >>> b = np.exp(a) * 2
        >>> b.node.name, b.node.inputs[0].name, b.node.inputs[1]
        ('mul', 'exp', 2)

        Source: NumPy Enhancement Proposal 13, A mechanism for overriding ufuncs (2017).
        """
        ### BEGIN SOLUTION
        op = ufunc if method == "__call__" else getattr(ufunc, method)
        result = self.record(op, *inputs, **options)
        if out is None:
            return result
        (target,) = out
        if not isinstance(target, Traced):
            raise NotTraceable("a result is to be written into an array that is not traced")
        if target.is_view:
            raise NotTraceable("a result is to be written into a view")
        target.node = result.astype(target.dtype).node
        return target
        ### END SOLUTION

# %% checks="traced"
check("traced")

# %% [markdown]
# While a function is traced, `recorded` lets all operations of the library compute with Traced
# arrays, forward and backward; afterwards, also after an error, the library is as before.
# `trace` turns the recorded steps into a Program:

# %%
#| export
def trace(f, *arrays, weights=()):
    """The program of a function of Tensors.

    f        gets a Tensor for each array of floats, and an ndarray for each array of ints;
             returns a Tensor, or a list of Tensors and arrays
    arrays   examples of its arguments, ndarrays: their shapes and dtypes count, and of arrays
             of ints the numbers, by which they are recognized
    weights  list of Tensors that f uses: more arguments of the program, after `arrays`
    returns  Program; NotTraceable, a TypeError that names the line, where a step depends on a
             number
    """
    return Program(*recorded(f, arrays, weights, Traced))

# %% tags=["demonstration"]
from tinytorch.core.activations import gelu

print(trace(gelu, np.ones((4, 8), "float32")))

# %% [markdown]
# These are the nine operations of lesson 20's formula, although `gelu` was only called. The
# backward pass can be recorded as well, because the rules of lesson 06 are functions of arrays.
# Here are the loss of a network with two layers and its gradients. Predict: how many steps?

# %% tags=["answer", "explained"]
from tinytorch.core.activations import ReLU
from tinytorch.core.layers import Dense, Sequential, manual_seed
from tinytorch.core.losses import mse_loss

manual_seed(0)
model = Sequential(Dense(2, 8), ReLU(), Dense(8, 1))
weights, rng = model.parameters(), np.random.default_rng(0)
xs, ys = rng.normal(size=(4, 2)).astype("float32"), rng.normal(size=(4, 1)).astype("float32")
both = value_and_gradients(lambda x, y: mse_loss(model(x), y), weights)
joint = trace(both, xs, ys, weights=weights)
print(joint)

# %% [markdown]
# `value_and_gradients` makes a function that returns the loss and one gradient per weight. In
# the program, forward and backward pass are one list of steps. Recording a graph, finding its
# order and looking up rules happened once, while tracing.
#
# ## Straight-line code
#
# `evaluate` looks up every value in a dict. Variables of Python are faster. A **straight-line
# program** is a list of assignments without loops and conditions. **Code generation** is the
# writing of a program's text by another program. We write a Python function:
#
#     def program(a0, a1):
#         t0 = matmul(a0, a1)
#         t1 = exp(t0)
#         del t0
#         return [t1]
#
# Without `del`, all results would stay alive until the function returns. The memory of a
# deleted array is used again for a later one, and is often still in the cache.
#
# **Task.** Write the lines of `straight`. Delete each array right after the last step that
# reads it, but no output, and no argument.

# %% Straight-line code exercise="straight"
#| export
def straight(program):
    """The text of a Python function `program`, with one line for each step.

    returns  (text, {name: object}): the operations and constants that the text uses, by name

    The lines are `t0 = add(a0, a1)`, with options `t0 = sum(a0, axis=1)`; `del t0` or `del t0,
    t1` right after the last step that reads these results, each name once and no outputs; and
    at the end `return [t5, t3]`.

    >>> a = Node(None, example=np.ones(2))
    >>> text, objects = straight(Program([a], [step(np.exp, step(np.add, a, 1))]))
    >>> print(text)
    def program(a0):
        t0 = add(a0, 1)
        t1 = exp(t0)
        del t0
        return [t1]
    >>> objects == {"add": np.add, "exp": np.exp}
    True

    Source: Aho, Lam, Sethi, Ullman, Compilers, section 8.4 (next use and liveness).
    """
    names = {a: f"a{n}" for n, a in enumerate(program.arguments)}
    names |= {node: f"t{n}" for n, node in enumerate(program.nodes)}
    objects, lines = {}, []

    def text(x):  # how a Node, an operation or a constant is written
        return names[x] if isinstance(x, Node) else written(x, objects)
    ### BEGIN SOLUTION
    last = {x: node for node in program.nodes for x in only_nodes(node.inputs)}
    for x in [*program.arguments, *only_nodes(program.outputs)]:
        last.pop(x, None)
    for node in program.nodes:
        inputs = [*map(text, node.inputs)]
        inputs += [f"{option}={text(value)}" for option, value in node.options.items()]
        lines.append(f"{names[node]} = {text(node.op)}({', '.join(inputs)})")
        dead = [names[x] for x in only_nodes(node.inputs) if last.get(x) is node]
        if dead:
            lines.append(f"del {', '.join(dead)}")
    lines.append(f"return [{', '.join(map(text, program.outputs))}]")
    ### END SOLUTION
    head = f"def program({', '.join(map(text, program.arguments))}):"
    return "\n    ".join([head, *lines]), objects

# %% checks="straight"
check("straight")

# %% [markdown]
# A whole training step is a function of the data and the weights, which returns the loss and
# the new weights. Its program in straight lines computes the same numbers, to the last bit:

# %% tags=["demonstration"]
def sgd_step(x, y):
    loss, *gradients = both(x, y)
    return [loss, *[w.data - 0.1 * g for w, g in zip(weights, gradients)]]


arrays = [xs, ys, *[w.data for w in weights]]
program = trace(sgd_step, xs, ys, weights=weights)
run = function_of(*straight(program))
loss = mse_loss(model(Tensor(xs)), ys)
loss.backward()
new = [loss.data, *[w.data - 0.1 * w.grad for w in weights]]
print("equal bits:", all(np.array_equal(a, b) for a, b in zip(run(*arrays), new)))
print(len(program.nodes), "steps; the first of them:")
print("\n".join(straight(program)[0].split("\n")[:7]))

# %% [markdown]
# Predict: how much faster is it than the library, and than `evaluate`?

# %% tags=["answer", "explained"]
def library_step():
    for w in weights:
        w.grad = None
    mse_loss(model(Tensor(xs)), ys).backward()
    return [w.data - 0.1 * w.grad for w in weights]


times = step_times({"library": library_step, "evaluate": lambda: evaluate(program, *arrays),
                    "straight-line": lambda: run(*arrays)})
for name, microseconds in times.items():
    print(f"{name:14}{microseconds:7.1f} microseconds")

# %% [markdown]
# The NumPy operations are the same in all three. What is gone is the work of Python around
# them: Tensors, the graph, the order of its nodes, the table of rules. By Amdahl's law (lesson
# 19) a large network gains little, because most of its time is arithmetic.

# %% [markdown] page="Simpler programs"
# ## Rewriting programs
#
# A program can be improved before it runs. An **optimization pass** is a function that turns a
# program into a better one with the same results. Ours have one form: go through the steps in
# order, and let a *rule* replace each of them. When the rule gets a step, its inputs have been
# replaced already, so that one pass can simplify a whole chain.
#
# **Task.** Write `rewrite`. It must not change the old program: make new Nodes with `step`.

# %% A pass over a program exercise="rewrite"
#| export
def rewrite(program, rule):
    """A new program, in which rule(node) takes the place of each step.

    program  Program; neither it nor its Nodes are changed
    rule     a function of a step, a new Node whose inputs have been replaced already; returns
             what takes its place: this Node, another one, or a constant. It is called once for
             each step, in order
    returns  Program with the same arguments, and the outputs replaced, too

    >>> a = Node(None, example=np.ones(2))
    >>> program = Program([a], [step(np.exp, step(np.log, a))])
    >>> rewrite(program, lambda node: a if node.op is np.log else node)
    program a: float64[2]
        b = exp(a)                                            float64[2]
        return b

    Source: Lattner, Adve, LLVM (2004), passes.
    """
    ### BEGIN SOLUTION
    new = {}

    def replaced(x):
        return new.get(x, x) if isinstance(x, Node) else x
    for node in program.nodes:
        inputs = [replaced(x) for x in node.inputs]
        new[node] = rule(Node(node.op, inputs, node.options, node.example))
    return Program(program.arguments, [replaced(x) for x in program.outputs])
    ### END SOLUTION

# %% checks="rewrite"
check("rewrite")

# %% [markdown]
# ## Simplification
#
# The first rule computes what is known already. **Constant folding** replaces a step by its
# value if no input is a Node. One kind of step stays: `np.broadcast_to` of a number stands for
# a large array without using its memory.
#
# The second rule removes steps that change nothing: `x * 1`, `1 * x`, `x + 0`, `0 + x`, a
# `reshape` to the shape that `x` already has, and `swapaxes` of the same two axes twice. Think
# of what could go wrong: `x * np.ones((2, 3))` may have another shape than `x`, and `x * 1.0`
# of integers another dtype. The rule may only return `x` if the step has its shape and
# dtype. And `x * 0` is *not* always 0: it is nan where `x` is nan or infinite. Even `x + 0` is
# not exactly `x`, because `-0.0 + 0` is `0.0`. C compilers therefore keep it, unless an option
# such as `-ffast-math` permits results with the other sign of zero. We remove it.
#
# **Task.** Write `fold` and `simplify`. `same_array(x, node)`, which is given, says whether `x`
# is a Node of the shape and dtype of `node`.

# %% Folding and simplification exercise="simplify"
#| export
def fold(node):
    """A rule for `rewrite`: the value of a step (its example) if none of its inputs is a Node
    and it is not np.broadcast_to; else the step.

    >>> fold(step(np.add, 2.0, 3.0))
    array(5.)
    """
    ### BEGIN SOLUTION
    if node.op is np.broadcast_to or only_nodes(node.inputs):
        return node
    return node.example
    ### END SOLUTION


def simplify(node):
    """A rule for `rewrite`: x for a step that returns its input `x` unchanged, else the step.

    These are np.multiply by a constant that is 1 everywhere, np.add of one that is 0
    everywhere, on either side; np.reshape; and np.swapaxes of np.swapaxes with equal options.
    Only if `x` is a Node with the shape and dtype of the step.

    >>> a = Node(None, example=np.ones(2))
    >>> simplify(step(np.multiply, a, 1)) is a, simplify(step(np.add, a, 1)) is a
    (True, False)

    Source: Aho, Lam, Sethi, Ullman, Compilers, section 8.5.4 (algebraic identities).
    """
    ### BEGIN SOLUTION
    x = node.inputs[0]
    if node.op is np.reshape and same_array(x, node):
        return x
    if node.op is np.swapaxes and isinstance(x, Node):
        if x.op is np.swapaxes and x.options == node.options:
            return x.inputs[0]
    neutral = {np.add: 0, np.multiply: 1}.get(node.op)
    for a, b in (node.inputs, node.inputs[::-1]) if neutral is not None else ():
        if same_array(a, node) and not isinstance(b, Node) and np.all(b == neutral):
            return a
    return node
    ### END SOLUTION

# %% checks="simplify"
check("simplify")

# %% [markdown]
# ## Common subexpressions
#
# Gradient rules often compute what another rule has computed already. **Common subexpression
# elimination** is a pass after which equal steps are computed only once. Two steps are equal if
# they have the same operation, the same inputs in the same order, and the same options. Because
# equal inputs have been replaced by the first of them, Nodes can be compared by identity.
#
# Constants need care: `1 == 1.0 == True` in Python, although they give results of different
# dtypes. `key_of`, which is given, makes a key for a dict from constants, arrays, tuples and
# dicts; keys are equal only for equal constants of one type. A Node is its own key.
#
# **Task.** Write `share`, with `rewrite`.

# %% Common subexpressions exercise="share"
#| export
def share(program):
    """A new program in which, of equal steps, only the first is computed.

    >>> a = Node(None, example=np.ones(2))
    >>> program = Program([a], [step(np.multiply, step(np.exp, a), step(np.exp, a))])
    >>> share(program)
    program a: float64[2]
        b = exp(a)                                            float64[2]
        c = mul(b, b)                                         float64[2]
        return c

    Source: Cocke, Global common subexpression elimination (1970).
    """
    ### BEGIN SOLUTION
    known = {}

    def rule(node):
        return known.setdefault((node.op, key_of(node.inputs), key_of(node.options)), node)
    return rewrite(program, rule)
    ### END SOLUTION

# %% checks="share"
check("share")

# %%
#| export
def optimized(program):
    """The program after all passes."""
    return share(rewrite(rewrite(program, fold), simplify))

# %% tags=["demonstration"]
print(len(joint.nodes), "steps, and after the passes", len(optimized(joint).nodes))

# %% [markdown]
# ## Constants of a trace
#
# A trace records one run. What was a number during this run is a constant of the program: a
# learning rate, a random mask, a number from outside. If the function would use another number
# next time, the program is wrong, without any error. Labels are an example: the library copies
# and checks arrays of ints, and a program whose labels are constants would always train on the
# first batch. That is why `recorded` recognizes ints of the arguments by their numbers.
#
# To find other such constants, the compiler traces *twice*, with other numbers in the same
# arrays: shuffled, and floats with random signs. If the two programs differ, a constant depends
# on these numbers or on chance, and the function is refused.
#
# **Task.** Write `same`. The Nodes of two programs differ, so describe each program by plain
# values: number its arguments and steps, and put this number where an input is a Node.

# %% Comparing programs exercise="same"
#| export
def same(a, b):
    """Whether two programs do the same: their steps have, in order, the same names, the same
    options and the same inputs, and their outputs are the same.

    Inputs and outputs are the same if they are the same argument or step of their program,
    counted from 0, or equal constants by `key_of`. Examples do not count.

    >>> def program(number):
    ...     a = Node(None, example=np.random.default_rng().normal(size=2))
    ...     return Program([a], [step(np.add, a, number)])
    >>> same(program(1.5), program(1.5)), same(program(1.5), program(2.5))
    (True, False)
    """
    ### BEGIN SOLUTION
    def described(program):
        number = {x: n for n, x in enumerate([*program.arguments, *program.nodes])}

        def part(x):
            return ("node", number[x]) if isinstance(x, Node) else key_of(x)
        steps = [(node.name, [part(x) for x in node.inputs], key_of(node.options))
                 for node in program.nodes]
        return steps, [part(x) for x in program.outputs]
    return described(a) == described(b)
    ### END SOLUTION

# %% checks="same"
check("same")

# %% [markdown]
# ## Guards and recompilation
#
# A program is right only for the shapes, dtypes and modes with which it was traced. A **guard**
# is a condition that must hold for a compiled program to be used. Our guards are the key of a
# dict: if the key is known, its program runs; if not, the function is traced again. Batches of
# 32, 32, 32 and 7 rows therefore make two programs. The key has a *signature* of each argument:
# of an array the shape and dtype, but not the numbers, because each batch has others. Any other
# argument is a constant of the program, so its value counts.
#
# The key also has the `state` of the model: which parts are in training mode, and the shapes
# and dtypes of the weights. Without it, a model that was compiled in `eval()` would train
# without its dropout, and there would be no error.
#
# **Task.** Write `signature`, and the last lines of `__call__`. `self.build(arguments)` makes
# an operation. Call it by `apply(operation, *self.weights, arrays=arrays, saved={})`. The list
# `arrays` has the arguments that are arrays, then the `data` of the Tensors in `self.others`.

# %% The cache of programs exercise="cache"
#| export
def signature(x):
    """What must be equal for a program to be used again.

    x        a Tensor, an ndarray, or another argument that can be a key of a dict
    returns  of a Tensor or array its shape and dtype; of anything else its type and value.
             Something that can be a key of a dict

    >>> signature(np.zeros(2)) == signature(np.ones(2)), signature(1) == signature(True)
    (True, False)
    """
    ### BEGIN SOLUTION
    x = x.data if isinstance(x, Tensor) else x
    return (x.shape, x.dtype.str) if isinstance(x, np.ndarray) else (type(x), x)
    ### END SOLUTION


class Compiled(CompiledMethods):
    """A function that is traced when it is called with a new signature, and then runs as a
    program; made by `compile`.

    .programs                  {key: operation}
    .weights, .others          lists of Tensors: of the model; others, without gradients
    state(), build(arguments)  the state of the model, a key; a new operation
    """

    functions = globals()  # `build` calls trace, same and optimized

    def __call__(self, *arguments):
        """The result of f(*arguments), a Tensor. If there is a model, `backward` gives its
        weights their gradients.

        A new program is built only if `self.programs` has none for these arguments. Its key
        consists of `self.state()` and the signatures of the arguments.
        """
        arguments = self.without_tensors(arguments)  # their arrays instead
        ### BEGIN SOLUTION
        key = self.state(), *map(signature, arguments)
        if key not in self.programs:
            self.programs[key] = self.build(arguments)
        arrays = [x for x in arguments if isinstance(x, np.ndarray)]
        arrays += [w.data for w in self.others]
        return apply(self.programs[key], *self.weights, arrays=arrays, saved={})
        ### END SOLUTION


def straight_function(program):
    """The program as a Python function."""
    return function_of(*straight(program))


BACKENDS = {"numpy": straight_function}


def compile(f, model=None, backend="numpy"):
    """A compiled version of a function.

    f        a function of Tensors, arrays of ints and constants that returns a Tensor
    model    the Module whose weights f uses: they are arguments of the programs, and get
             gradients if f returns one number, a loss. Without it, all Tensors that f uses are
             constants; if f is a Module itself, its weights are arguments without gradients
    backend  "numpy", or "c": loops in C where possible (a warning without a C compiler)
    returns  Compiled: called like f; NotTraceable if the steps of f depend on numbers
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend is {backend!r}; there are {' and '.join(BACKENDS)}")
    return Compiled(f, model, BACKENDS[backend])

# %% checks="cache"
check("cache")

# %% tags=["demonstration"]
compiled = compile(lambda x, y: mse_loss(model(x), y), model)
for rows in (32, 32, 32, 7):
    x, y = rng.normal(size=(rows, 2)).astype("float32"), np.zeros((rows, 1), "float32")
    compiled(x, y).backward()
print(len(compiled.programs), "programs for batches of 32, 32, 32 and 7 rows")
for f in (lambda x: x.sum() if x.sum() > 0 else -x.sum(),
          lambda x: (x * Tensor(rng.random(x.shape) < 0.5)).sum()):
    try:
        compile(f)(xs)
    except NotTraceable as error:
        print(f"refused: {error}")

# %% [markdown]
# Refused are conditions on numbers of a Tensor, `float(x)`, `x.item()`, masks such as `x[x >
# 0]`, random numbers, and so dropout and batch norm in training. The compiler does *not* see
# side effects such as `print`, which happen only while tracing, and numbers from outside, which
# stay what they were: a changed global variable changes nothing. Pass such a number as an
# argument. Each value makes its own program; as an array of one number, it is data.

# %% [markdown] page="Fused loops and planned memory"
# ## Operator fusion
#
# `gelu` has one input and one output, although each of its nine steps reads and writes whole
# arrays. In lesson 20, `gelu_fused` saved most of these bytes by hand; a compiler can do it for
# any formula. A **group** is a list of steps that are computed in the same loops, one element
# after the other. Only results that other groups need are written to memory. The operations in
# `VIEWS`, such as `np.swapaxes`, have no loops: they only read the same memory in another way.
#
# **Task.** Write `bytes_moved`: the bytes that all groups read and write.

# %% Bytes read and written exercise="bytes-moved"
#| export
def bytes_moved(program, groups):
    """The bytes that the loops of all groups read and write.

    groups   {Node: list of the Nodes of its group}, for each step; the Nodes of a group have
             the same list
    returns  int. A group reads each array that comes from outside of it once, and writes each
             result that another group needs or that is an output. An array has
             `node.example.nbytes` bytes. Constants cost nothing, nor does a group whose first
             step has an `op` in VIEWS

    >>> a = Node(None, example=np.ones(4, "float32"))
    >>> program = Program([a], [step(np.exp, step(np.multiply, a, a))])
    >>> bytes_moved(program, {node: [node] for node in program.nodes})
    64
    >>> bytes_moved(program, dict.fromkeys(program.nodes, program.nodes))
    32

    Source: Williams, Waterman, Patterson, Roofline (2009).
    """
    ### BEGIN SOLUTION
    total = 0
    for group in {id(group): group for group in groups.values()}.values():
        if group[0].op not in VIEWS:
            inside = set(group)
            others = [node for node in program.nodes if node not in inside]
            read = only_nodes(x for node in group for x in node.inputs)
            wanted = [*program.outputs, *(x for node in others for x in node.inputs)]
            total += sum(x.example.nbytes for x in read if x not in inside)
            total += sum(x.example.nbytes for x in only_nodes(wanted) if x in inside)
    return total
    ### END SOLUTION

# %% checks="bytes-moved"
check("bytes-moved")

# %% [markdown]
# Which steps can share loops? A step can join the elementwise step that computes its input if
# both loop over the same shape. A reduction, such as a sum, can also join: it adds up what the
# loop computes. But its *result* is complete only after the loops, so a step that reads this
# result needs later loops. A matrix product has its own loops.
#
# Softmax has three groups: `max`; then `x - max`, `exp` and the sum; then the division, which
# needs the complete sum. We count them in *levels*: a step has at least the level of each
# input, and one more if it must wait for this input. Steps of one level never wait for each
# other.
#
# **Task.** Write `levels` and `groups`. Two functions are given: `joins(x, node)` says whether
# a step can join the loops of its input `x`, and `waits(x, node)` whether it waits for them.

# %% Groups of steps exercise="groups"
#| export
def levels(program):
    """The level of each step.

    returns  {Node: int}. A step has the smallest level that is at least the level of each step
             among its inputs, plus 1 where it waits for that input; 0 without such inputs.
             Arguments have no level

    >>> a = Node(None, example=np.ones((2, 3)))
    >>> total = step(np.add.reduce, step(np.exp, a), axis=1)
    >>> list(levels(Program([a], [step(np.log, total)])).values())
    [0, 0, 1]
    """
    ### BEGIN SOLUTION
    level = {}
    for node in program.nodes:
        steps = [x for x in only_nodes(node.inputs) if x in level]
        level[node] = max((level[x] + waits(x, node) for x in steps), default=0)
    return level
    ### END SOLUTION


def groups(program):
    """The group of each step.

    returns  {Node: list of the Nodes of its group}. A step and its input are in one group if
             the step joins the input and both have the same level; a step that joins two
             groups makes them one. All Nodes of a group share one list object, which contains
             each Node once

    >>> a = Node(None, example=np.ones((2, 3)))
    >>> b = step(np.exp, a)
    >>> c = step(np.divide, b, step(np.add.reduce, b, axis=1, keepdims=True))
    >>> [len(group) for group in groups(Program([a], [c])).values()]
    [2, 2, 1]

    Source: Chen et al., TVM (2018), section 3 (operator fusion).
    """
    ### BEGIN SOLUTION
    level, group = levels(program), {}
    for node in program.nodes:
        group[node] = [node]
        for x in only_nodes(node.inputs):
            if joins(x, node) and level[x] == level[node] and group[x] is not group[node]:
                group[x].extend(group[node])
                for member in group[node]:
                    group[member] = group[x]
    return group
    ### END SOLUTION

# %% checks="groups"
check("groups")

# %% tags=["demonstration"]
from tinytorch.core.activations import softmax

program = trace(softmax, np.ones((4, 8), "float32"))
draw_groups(program, groups(program))
# alt: The five steps of softmax in three dashed boxes, from top to bottom: max alone; sub, exp
# and sum together; div alone.

# %% [markdown]
# The update of AdamW has about fifteen elementwise steps for each weight, and is one group.
# Predict: which share of its bytes is left?

# %% tags=["answer", "explained"]
def adamw(w, g, m, v, lr, c1, c2):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * (g * g)
    return [w * (1 - 1e-5) - lr * (m / c1) / ((v / c2).sqrt() + 1e-8), m, v]


ones = [np.ones(n, "float32") for n in (1000,) * 4 + (1,) * 3]
programs = {"softmax": program, "gelu": trace(gelu, np.ones((4, 8), "float32")),
            "AdamW, 1,000 weights": trace(adamw, *ones),
            "XOR step": optimized(trace(sgd_step, xs, ys, weights=weights))}
figure = plot_bytes({name: (bytes_moved(p, {node: [node] for node in p.nodes}),
                            bytes_moved(p, groups(p))) for name, p in programs.items()})
# alt: Two bars for each of four programs on a logarithmic axis, the bytes of single steps and
# of groups. Softmax 1,088 and 704 bytes, gelu 2,688 and 256, AdamW 136,012 and 28,012, the XOR
# step 3,032 and 2,096.

# %% [markdown]
# One group has the fewest bytes that are possible: AdamW reads four arrays and writes three.
# The XOR step gains less, because matrix products and sums separate its groups.
#
# ## Views without copies
#
# Before we write loops, we decide where each result is. A `reshape` or `swapaxes` computes
# nothing: it reads the same memory with other *strides* (lesson 02). Element $(i, j)$ of an
# array with strides $(s_0, s_1)$ is at the place $i s_0 + j s_1$ of the memory. With a stride
# of 0, the same element is read again and again: that is broadcasting.

# %%
draw_strides()
# alt: One row of memory with the numbers 0 to 5. Read with strides (3, 1) it is a grid of two
# rows, with (1, 3) its transpose with three rows, and with (0, 1) the row 0, 1, 2 twice, the
# second time dashed.

# %% [markdown]
# A reshape of an array whose elements lie in row-major order reads the same memory in the same
# order. After `swapaxes` they do not lie so, and a reshape has to copy.
#
# **Task.** Write the other cases of `view_strides`.

# %% Strides of views exercise="view-strides"
#| export
def view_strides(node, strides):
    """How a step reads the memory of its input, if it needs no copy.

    node     a step whose first input is a Node `x`; its options are `axes` (np.transpose),
             `axis1` and `axis2` (np.swapaxes), or `shape` (np.broadcast_to and np.reshape)
    strides  of `x`, a tuple, counted in elements
    returns  the strides of the result, a tuple, if the step is a view of `x`; None if it is
             not. np.reshape is a view if `x` lies in memory in row-major order: if its strides
             are strides_of(x.shape)

    >>> x = Node(None, example=np.ones((2, 3)))
    >>> view_strides(step(np.swapaxes, x, axis1=0, axis2=1), (3, 1))
    (1, 3)
    >>> view_strides(step(np.broadcast_to, x, shape=(4, 2, 3)), (3, 1))
    (0, 3, 1)

    Source: Van der Walt, Colbert, Varoquaux, The NumPy array (2011).
    """
    x = node.inputs[0]
    if node.op is np.transpose:
        return tuple([strides[a] for a in node.options["axes"]])
    ### BEGIN SOLUTION
    if node.op is np.swapaxes:
        a, b = node.options["axis1"], node.options["axis2"]
        swapped = [*strides]
        swapped[a], swapped[b] = strides[b], strides[a]
        return tuple(swapped)
    if node.op is np.broadcast_to:
        kept = [s if n > 1 else 0 for s, n in zip(strides, x.shape)]
        return (0,) * (len(node.shape) - len(kept)) + tuple(kept)
    if node.op is np.reshape and strides == strides_of(x.shape):
        return strides_of(node.shape)
    return None
    ### END SOLUTION

# %% checks="view-strides"
check("view-strides")

# %% [markdown]
# ## A memory plan
#
# Most results are needed only for a short time. A pool such as `Buffers` of lesson 20 decides
# at each call which memory to use. A compiler knows the whole program before it runs, and can
# decide once. The **lifetime** of an array is the span from the operation that creates it to
# the last one that reads it. **Memory planning** is the choice of a place for each array in one
# block of memory, such that arrays that are alive at the same time do not overlap. The block
# should be small. It cannot be smaller than the largest total size of the arrays alive at one
# time.
#
# A simple method comes close to this size in practice (Pisarchyk and Lee, 2020): take the
# arrays from the largest to the smallest. Put each one at the lowest offset where it overlaps
# no placed array that is alive at a common time.
#
# **Task.** Write `plan`.

# %% A plan for memory exercise="plan"
#| export
def plan(arrays):
    """A place for each array in one block of memory.

    arrays   list of (size, first, last): the bytes of an array, and the first and the last time
             (ints) at which it is alive; both ends belong to its lifetime
    returns  (offsets, total): a list with the offset of each array in bytes, in the order of
             `arrays`, and the size of the block, which is the largest end, offset + size (0
             without arrays)

    Arrays are placed from the largest to the smallest, those of equal size in the order of the
    list; each at the lowest offset where it overlaps no placed array that is alive at a common
    time.

    >>> plan([(10, 0, 1), (20, 1, 2), (10, 2, 3)])
    ([20, 0, 20], 30)

    Source: Pisarchyk, Lee, Efficient memory management for deep neural net inference (2020),
    "greedy by size".
    """
    ### BEGIN SOLUTION
    offsets, placed = [0] * len(arrays), []
    for i in sorted(range(len(arrays)), key=lambda i: -arrays[i][0]):
        size, first, last = arrays[i]
        taken = [(offsets[j], offsets[j] + arrays[j][0]) for j in placed
                 if arrays[j][1] <= last and first <= arrays[j][2]]
        for start, end in sorted(taken):
            if offsets[i] + size > start:
                offsets[i] = max(offsets[i], end)
        placed.append(i)
    total = max((o + size for o, (size, *_) in zip(offsets, arrays)), default=0)
    return offsets, total
    ### END SOLUTION

# %% checks="plan"
check("plan")

# %% [markdown]
# Try it on a large network first. The graph that the engine of lesson 06 records of lesson 20's
# GPT contains all arrays and all operations that read them. The arrays of one forward pass have
# 24 MB in all. Predict the size of the block if the pass is only used for generation, where the
# memory of an array is free after the last operation that reads it. What changes for a training
# step?

# %% tags=["answer", "explained"]
for use, training in [("generation", False), ("training", True)]:
    spans = lifetimes(training)
    offsets, total = plan(spans)
    alive = [sum(size for size, first, last in spans if first <= t <= last)
             for t in range(max(last for *_, last in spans) + 1)]
    print(f"{use:11}{len(spans):5} arrays of {sum(span[0] for span in spans) / 1e6:6.1f} MB; "
          f"alive at one time {max(alive) / 1e6:5.1f} MB, planned {total / 1e6:5.1f} MB")
spans = lifetimes(training=False)
figure = plot_memory(spans, plan(spans)[0])
# caption: Arrays that are not needed at the same time can share memory.
# alt: Two plots of memory against the operations of a forward pass; each array is a bar at its
# offset. Without a plan the bars climb like stairs, one above the other, to 24 MB. With the
# plan they lie beside and above each other in 2.4 MB: the second plot has another scale.

# %% [markdown]
# In generation, an array lives for a few operations, and one small block serves all of them. In
# training, the backward pass reads the arrays of the forward pass in reverse order: most of
# them are alive in the middle of the step, and no plan can change that. Fusion and the
# checkpointing of lesson 17 can: they keep fewer arrays.
#
# Now plan the memory of a program. `Layout`, which is given, uses your functions to decide in
# which order the groups run, and which results must be stored at all:

# %%
#| export
def layout_of(program):
    """The Layout of a program.

    .order   list of the groups (lists of Nodes), each after the groups that it needs
    .array   {Node: the Node whose memory it uses}: itself; for a view, the Node that it views
    .stored  list of the Nodes whose results must be kept in memory, because another group reads
             them. Arguments, and results that are written into an output, are not in it
    """
    return Layout(program, groups(program), levels(program), view_strides)

# %% [markdown]
# Time is counted in groups: group number 0 of `layout.order`, then number 1, and so on. An
# array is alive from the group that computes it to the last group that reads it, or reads a
# *view* of it. If it is an output, or a view of it is, it is alive until `len(layout.order)`.
#
# **Task.** Write `arena`, with `plan`. All results are float32, so that an element has 4 bytes.

# %% The memory of a program exercise="arena"
#| export
def arena(program):
    """A place for each result of a program that must be stored, in one block of memory.

    returns  ({Node: offset in bytes}, the bytes of the block), for each Node in
             layout_of(program).stored. An array has 4 bytes for each element, and is alive from
             the number of its group in `layout.order` to the number of the last group that
             reads it or a view of it; to len(layout.order) if it, or a view of it, is an output

    >>> a = Node(None, example=np.ones((2, 2), "float32"))
    >>> b = step(np.matmul, a, a)
    >>> offsets, size = arena(Program([a], [step(np.matmul, b, b)]))
    >>> list(offsets.values()), size
    ([0], 16)
    """
    layout = layout_of(program)
    ### BEGIN SOLUTION
    time = {node: t for t, group in enumerate(layout.order) for node in group}
    last = {}
    for node in program.nodes:
        for x in only_nodes(node.inputs):
            array = layout.array[x]
            last[array] = max(last.get(array, 0), time[node])
    for x in only_nodes(program.outputs):
        last[layout.array[x]] = len(layout.order)
    offsets, size = plan([(4 * x.example.size, time[x], last[x]) for x in layout.stored])
    return dict(zip(layout.stored, offsets)), size
    ### END SOLUTION

# %% checks="arena"
check("arena")

# %% tags=["demonstration"]
program = optimized(trace(sgd_step, xs, ys, weights=weights))
offsets, size = arena(program)
single, stored = (sum(4 * x.example.size for x in nodes) for nodes in (program.nodes, offsets))
print(f"{len(program.nodes)} results have {single:,} bytes; {len(offsets)} of them are stored, "
      f"{stored:,} bytes, in a block of {size:,} bytes")

# %% [markdown] page="Loops and machine code"
# ## Loops
#
# Now we can write the loops. `LoopMethods`, which is given, writes single elements and
# lines, in one of two languages, C or Python:
#
# | call | text (in Python) |
# | --- | --- |
# | `self.read(x, shape, group)` | an input in loops over `shape`: `a0[i0 * 8]`, `v3`, `2.0` |
# | `self.number(x)` | a number: `0.0`, `-inf` |
# | `self.formula(op, *values)` | the result of a ufunc such as `np.add`: `(v3 + 1.0)` |
# | `self.define(node, value)` | a line that defines a step's variable: `v4 = v3 + 1.0` |
# | `self.store(node)` | a line that writes it to memory: `m[i0 * 8 + i1] = v4` |
# | `self.total(node)` | the element in which a reduction collects: `m[64 + i0]` |
# | `self.assign(target, value)` | the line `target = value` |
# | `self.loops(shape, lines)` | a list: the lines inside one loop for each axis |
# | `self.loops(shape, lines, axes)` | the same, only for these axes |
#
# A group has elementwise steps, for which the imported `is_elementwise(node)` is true, and
# reductions. A reduction needs two things: a line in the loops that adds to its total, and,
# *before* them, loops over `self.kept_axes(node)`, the axes that it keeps, which set all totals
# to their first value, `START[node.op]`. Compare the `op` of a reduction by `==`,
# not by `is`: each `np.maximum.reduce` is a new object. Unlike `layout.stored`, `self.stored`
# also has the outputs: a step in it is written to memory, even if only the caller reads it.
#
# **Task.** Write `nest`. A wrong index in Python is an IndexError; in C it would kill the
# process. So the checks run the loops in Python.

# %% Loops for a group exercise="nest"
#| export
class Loops(LoopMethods):
    """The text of a program as loops: Loops(program, C or PYTHON).source()."""

    def __init__(self, program, language):
        super().__init__(layout_of(program), *arena(program), language)

    def nest(self, group):
        """The lines that compute a group of elementwise steps and reductions.

        group    list of Nodes, each after those that it needs
        returns  list of lines: for each reduction the loops that set its totals to
                 START[node.op]; then, in one nest of loops over the common `loop_shape`, in
                 order: for an elementwise step a line that defines its variable, and, if the
                 step is in `self.stored`, a line that stores it; for a reduction the line that
                 combines its total with the element, by np.maximum for np.maximum.reduce and
                 by np.add for others

        >>> a = Node(None, example=np.ones((2, 3), "float32"))
        >>> total = step(np.add.reduce, step(np.exp, a), axis=1)
        >>> print(Loops(Program([a], [total]), PYTHON).source())
        def program(a0, o0, m):
            for i0 in range(2):
                o0[i0] = 0.0
            for i0 in range(2):
                for i1 in range(3):
                    v0 = exp(a0[i0 * 3 + i1])
                    o0[i0] = o0[i0] + v0
        <BLANKLINE>

        Source: Chen et al., TVM (2018), section 4.
        """
        shape, start, body = loop_shape(group[0]), [], []
        ### BEGIN SOLUTION
        for node in group:
            values = [self.read(x, shape, group) for x in node.inputs]
            if node.op in START:
                total = self.total(node)
                begin = self.assign(total, self.number(START[node.op]))
                start += self.loops(node.inputs[0].shape, [begin], self.kept_axes(node))
                combine = np.maximum if node.op == np.maximum.reduce else np.add
                body.append(self.assign(total, self.formula(combine, total, *values)))
            else:
                body.append(self.define(node, self.formula(node.op, *values)))
                if node in self.stored:
                    body.append(self.store(node))
        return start + self.loops(shape, body)
        ### END SOLUTION


def run_python(program, *arrays):
    """Run a program as loops in Python: slow. Returns a list of float32 ndarrays."""
    return interpreted(program, Loops(program, PYTHON), arrays)

# %% checks="nest"
check("nest")

# %% tags=["demonstration"]
program = optimized(trace(softmax, np.ones((4, 8), "float32")))
print(Loops(program, PYTHON).source())
print(run_python(program, xs[:, :1] * np.arange(8, dtype="float32"))[0].sum(1))

# %% [markdown]
# ## Machine code
#
# The C compiler makes machine code of the same loops, which Python can call. It keeps variables
# in registers, and computes several elements at a time. The C library's `expf` would compute
# one number at a time, so our text in C has its own `exp_`, a polynomial in plain arithmetic
# with a relative error of about 1e-7. (The option `-ffast-math` would also help, but it breaks
# infinity and nan.)

# %%
#| export
def compile_c(program):
    """The program as machine code: a function of float32 arrays that returns a list of new
    ones. Its attribute `source` is the text in C. OSError, with the names cc, gcc and clang, if
    no C compiler is installed; NotImplementedError if there are no loops for a step."""
    if any(a.dtype != np.float32 for a in program.arguments):
        raise NotImplementedError("the arguments of loops are float32")
    return machine_code(program, Loops(program, C).source())

# %% [markdown]
# Large matrix products are better left to BLAS. `outline` makes a program in which only the
# groups of several steps are machine code, one step each; all other steps stay in NumPy.

# %%
#| export
def outline(program, build=compile_c):
    """A program in which each group of two or more steps is one step, a kernel made by
    build(program of the group); groups with equal text share it. The rest stays as it is."""
    def text(part):
        return Loops(part, C).source()
    outputs = outlined(layout_of(program), Program, text, build)
    return Program(program.arguments, outputs)


def c_function(program):
    """The program with loops in C: all of it, or only its groups where BLAS is faster."""
    return in_c(program, straight_function, compile_c, outline)


BACKENDS["c"] = c_function

# %% tags=["demonstration"]
program = optimized(trace(sgd_step, xs, ys, weights=weights))
numpy_run, runs = function_of(*straight(program)), {"library": library_step}
runs["NumPy"] = lambda: numpy_run(*arrays)
try:
    c_run = compile_c(program)
    runs["C"] = lambda: c_run(*arrays)
    error = max(abs(a - b).max() for a, b in zip(c_run(*arrays), numpy_run(*arrays)))
    print(f"{c_run.source.count(chr(10))} lines of C; largest difference {error:.0e}")
except OSError as error:
    print(error)
for name, microseconds in step_times(runs).items():
    print(f"{name:8}{microseconds:7.1f} microseconds")

# %% [markdown]
# Most of the time of the C version is spent in Python, which makes the new arrays and calls the
# function. Your compiler has made the bars of the first picture.
#
# ## The GPT
#
# Lesson 20 gained speed with operations that were fused by hand: layer norm, attention, GELU
# and cross-entropy, each with its own rule. What does the compiler gain for the GPT that is
# *composed* of simple operations? Its program has several hundred steps.

# %% tags=["demonstration"]
gpt, loss_of, x, y = composed_gpt()
gpt_weights = gpt.parameters()
program = trace(value_and_gradients(loss_of, gpt_weights), x, y, weights=gpt_weights)
passed = optimized(program)
single = {node: [node] for node in passed.nodes}
print(f"{len(program.nodes)} steps, after the passes {len(passed.nodes)}; "
      f"{bytes_moved(passed, single) / 1e6:.0f} MB moved by single steps, "
      f"{bytes_moved(passed, groups(passed)) / 1e6:.0f} MB by groups")
arrays = [x, y, *[w.data for w in gpt_weights]]
numpy_gpt = function_of(*straight(passed))


def library_gpt():
    gpt.zero_grad()
    loss_of(x, y).backward()


runs = {"library": library_gpt, "NumPy": lambda: numpy_gpt(*arrays)}
try:
    c_gpt = function_of(*straight(outline(passed)))
    runs["C and BLAS"] = lambda: c_gpt(*arrays)
    error = max(abs(a - b).max() for a, b in zip(c_gpt(*arrays), numpy_gpt(*arrays)))
    print(f"largest difference of C: {error:.0e}")
except OSError as error:
    print(error)
for name, microseconds in step_times(runs, rounds=8).items():
    print(f"{name:12}{microseconds / 1000:6.1f} milliseconds")

# %% [markdown]
# In this network most of the time is arithmetic and memory, not Python. The program in straight
# lines deletes each array after its last use, while the library keeps a graph until the
# backward pass has used it. C also moves fewer bytes. BLAS computes the matrix products of all
# three versions.
#
# ## Look back
#
# | you wrote | at scale | what it can do and we cannot |
# | --- | --- | --- |
# | `trace` | TorchDynamo | *graph breaks*: what cannot be traced runs in plain Python |
# | | `jax.jit` | draw random numbers, with a generator that is an argument |
# | `signature` | Dynamo's guards | one program for all batch sizes, with a length as variable |
# | `value_and_gradients` | AOTAutograd | choose which results are kept |
# | `groups`, `nest` | TorchInductor, XLA | kernels for GPUs; try several versions of a loop |
#
# 1. Why does `compile` refuse a function that calls `np.random`, although it could record the
#    calls as steps?
# 2. A model generates text with a key-value cache, one token at a time. How many programs does
#    it need for 100 tokens, and what could you change?
# 3. Where would a C function with a wrong index show its error, and why do the checks of this
#    lesson not run C?

# %% [markdown] tags=["answer"]
# 1. The state of the generator changes at each call, so it would have to be an argument and a
#    result of the program. JAX does this, with explicit keys.
# 2. 100: the cache grows with each token, and each shape makes a program. With a cache of a
#    fixed length and a mask, one program is enough.
# 3. Perhaps nowhere: it reads or overwrites other memory, so the process computes wrong numbers
#    or ends later, at another line. In Python, a wrong index is an IndexError at its line.

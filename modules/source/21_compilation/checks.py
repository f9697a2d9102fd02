# The checks of lesson 21, by exercise. `check("groups")` in the chapter runs the visible ones.

# %% setup
import numpy as np

from checking import because, equal, expect, result_of

# A program is given as (arguments, steps, outputs): the shapes of its arguments, which are
# called a0, a1, ..., its steps [operation, inputs, options], which are called t0, t1, ..., and
# its outputs. A name stands for a step; everything else is a constant.


def numbers(*shape, seed=0, dtype="float32"):
    """Random numbers, none of which is 0."""
    x = np.random.default_rng(seed).uniform(0.5, 2, shape)
    return (x * np.where(np.arange(x.size).reshape(shape) % 3, 1, -1)).astype(dtype)


SOFTMAX = (
    [[2, 3]],
    [
        ["max", ["a0"], {"axis": 1, "keepdims": True}],
        ["sub", ["a0", "t0"], {}],
        ["exp", ["t1"], {}],
        ["sum", ["t2"], {"axis": 1, "keepdims": True}],
        ["div", ["t2", "t3"], {}],
    ],
    ["t4"],
)
ELEMENTWISE = (
    [[2, 3], [3]],
    [["mul", ["a0", "a0"], {}], ["add", ["t0", "a1"], {}], ["tanh", ["t1"], {}]],
    ["t2"],
)
DIAMOND = (
    [[3, 3]],
    [
        ["exp", ["a0"], {}],
        ["matmul", ["t0", "a0"], {}],
        ["add", ["t0", "t1"], {}],
        ["tanh", ["t2"], {}],
    ],
    ["t3"],
)
FUNCTIONS = {
    "max": lambda x, axis=None, keepdims=False: x.max(axis, keepdims=keepdims),
    "sum": lambda x, axis=None, keepdims=False: x.sum(axis, keepdims=keepdims),
    "sub": np.subtract,
    "add": np.add,
    "mul": np.multiply,
    "div": np.divide,
    "exp": np.exp,
    "log": np.log,
    "neg": np.negative,
    "tanh": np.tanh,
    "sqrt": np.sqrt,
    "maximum": np.maximum,
    "where": np.where,
    "greater": np.greater,
    "matmul": lambda a, b: a @ b,
    "reshape": lambda x, shape: x.reshape(shape),
    "swapaxes": lambda x, axis1, axis2: x.swapaxes(axis1, axis2),
    "transpose": lambda x, axes: x.transpose(axes),
    "broadcast_to": lambda x, shape: np.broadcast_to(x, shape),
}


def computed_by_hand(program, *arrays):
    """The outputs of a program, from NumPy."""
    values = {f"a{n}": x for n, x in enumerate(arrays)}

    def value(x):
        return values[x] if isinstance(x, str) else x

    for n, (op, inputs, options) in enumerate(program[1]):
        values[f"t{n}"] = FUNCTIONS[op](*map(value, inputs), **options)
    return [np.asarray(value(x)) for x in program[2]]


def written_out(program):
    """A program as the lesson writes it, for messages."""
    arguments, steps, outputs = program
    lines = []
    for n, (op, inputs, options) in enumerate(steps):
        given = [*map(str, inputs), *[f"{name}={value}" for name, value in options.items()]]
        lines.append(f"t{n} = {op}({', '.join(given)})")
    return "; ".join([*lines, f"return {', '.join(map(str, outputs))}"])


def sets(partition):
    """Lists of names, sorted, for a comparison that does not depend on their order."""
    return sorted(sorted(part) for part in partition)


CHAIN = (
    [[2]],
    [["exp", ["a0"], {}], ["log", ["t0"], {}], ["tanh", ["t1"], {}], ["add", ["t2", "t1"], {}]],
    ["t3", "t1"],
)


def folded(op, inputs, wanted, case, cause="", **options):
    """Check what `fold` returns."""
    found = ruled("fold", op, inputs, options)
    if isinstance(wanted, str) or isinstance(found, str):
        equal(found if isinstance(found, str) else "a constant", wanted, case, cause)
    else:
        expect(found, wanted, case, cause, 1e-6)


def simplified(op, inputs, wanted, case, cause="", options=None, dtype="float32", twice=False):
    """Check what `simplify` returns."""
    found = ruled("simplify", op, inputs, options, dtype, twice)
    equal(found if isinstance(found, str) else "a constant", wanted, case, cause)


def shared_to(program, wanted, case, cause=""):
    """Check the steps of share(program)."""
    steps, outputs, unchanged = result_of(
        lambda: shared_steps(program),
        case,
        {"unhashable": "key_of(x) turns lists, dicts and arrays into a key"},
    )
    names = [name for name, *_ in steps]
    equal(names, wanted, f"the steps after share, for {case},", cause)
    assert unchanged, "share changed the old program"
    return steps, outputs


def compared(a, b, wanted, case, cause=""):
    """Check what `same` returns."""
    found = result_of(lambda: same_programs(a, b), case, "arrays have no single truth value")
    assert found is wanted, (
        f"same should be {wanted} for {case}; yours is {found}{because(cause)}"
    )


def changed(program, n, op=None, inputs=None, options=None):
    """A program with another step number n."""
    arguments, steps, outputs = program
    old = steps[n]
    new = [op or old[0], inputs or old[1], old[2] if options is None else options]
    return arguments, [*steps[:n], new, *steps[n + 1 :]], outputs


def leveled(program, wanted, case, cause=""):
    """Check the levels of the steps."""
    cause_of_error = {
        "argument": "arguments have no level",
        "empty": "a step without steps among its inputs has level 0: max(..., default=0)",
        "numpy.ndarray": "a constant may be an array, which is no key: look only at Nodes",
    }
    found = result_of(lambda: levels_of(program), case, cause_of_error)
    found = [found.get(f"t{n}") for n in range(len(program[1]))]
    equal(found, wanted, f"the levels of the steps of {case}", cause)


def grouped(program, wanted, case, cause=""):
    """Check the groups."""
    cause_of_error = {"numpy.ndarray": "a constant may be an array: look only at Nodes"}
    found, shared = result_of(lambda: groups_of(program), case, cause_of_error)
    equal(sets(found), sets(wanted), f"the groups of {case}", cause)
    assert shared, f"{case}: the Nodes of a group should have the same list, one object"


def strided(op, shape, strides, options, wanted, cause=""):
    """Check what view_strides returns for a step."""
    words = ", ".join(f"{name}={value}" for name, value in options.items())
    case = f"the strides of {op}(x, {words}), x of shape {shape} with strides {strides},"
    found = result_of(lambda: strides_after(op, shape, strides, options), case)
    assert not isinstance(found, list), f"{case} should be a tuple, yours are the list {found}"
    if isinstance(cause, dict):
        cause = cause.get(found, "")
    assert found == wanted, f"{case} should be {wanted}, yours are {found}{because(cause)}"


PRODUCTS = (
    [[4, 4]],
    [
        ["matmul", ["a0", "a0"], {}],
        ["matmul", ["t0", "a0"], {}],
        ["matmul", ["t1", "a0"], {}],
        ["matmul", ["t2", "a0"], {}],
    ],
    ["t3"],
)


def planned(program, case):
    """What `arena` returns; an error becomes a message."""
    return result_of(lambda: arena_of(program), case, "use the Nodes of layout.stored")


def loops_compute(program, case, cause="", seed=1, near=1e-5):
    """Check what the loops compute, also when they are called twice."""
    arrays = [numbers(*shape, seed=seed + n) for n, shape in enumerate(program[0])]
    first, second = result_of(
        lambda: looped(program, *arrays),
        case,
        {
            "is not defined": "each step defines its variable before others read it",
            "cannot access local variable 'i": "an index is used outside of its loop",
            "access local variable": "each step defines its variable before others read it",
            "out of range": "look at the loops: print(Loops(program, PYTHON).source())",
            "method reduce": "a total is combined by np.add or np.maximum, not by `node.op`",
            "list found": "self.loops returns a list of lines: add them with +=",
            "not subscriptable": "lines are made of texts: self.number writes a number",
        },
        (Exception,),
    )
    for n, wanted in enumerate(computed_by_hand(program, *arrays)):
        if not cause and np.isnan(first[n]).all():
            cause = "it was not written: a step in self.stored is stored, after its definition"
        expect(first[n], wanted, f"{case}, output {n}", cause, near)
        expect(
            second[n],
            wanted,
            f"{case}, output {n}, in a second call",
            ("totals must be set to their first value in each call"),
            near,
        )


def alive(arrays, time):
    """The sizes of all arrays that are alive at a time, added."""
    return sum(size for size, first, last in arrays if first <= time <= last)


def clashes(arrays, offsets):
    """The pairs (i, j) of arrays that are alive at a common time and overlap in memory."""
    found = []
    for j, (size_j, first_j, last_j) in enumerate(arrays):
        for i, (size_i, first_i, last_i) in enumerate(arrays[:j]):
            together = first_i <= last_j and first_j <= last_i
            apart = offsets[i] + size_i <= offsets[j] or offsets[j] + size_j <= offsets[i]
            if together and not apart:
                found.append((i, j))
    return found


def plan_of(arrays):
    """What `plan` returns, as a list and an int."""
    out = plan(arrays)
    assert out is not None, "plan returned None: is `return` missing?"
    assert isinstance(out, (tuple, list)) and len(out) == 2 and isinstance(out[0], list), (
        f"plan should return (offsets, total), a list and an int; yours returns {out}"
    )
    offsets, total = out
    return [int(o) for o in offsets], int(total)


# %% learner-side
import warnings

from tinytorch.core.activations import gelu, softmax
from tinytorch.core.layers import Dense, Dropout, Module, Sequential
from tinytorch.core.losses import mse_loss
from tinytorch.core.tensor import Tensor, Variable
from tinytorch.compiler.loops import PYTHON, function_of
from tinytorch.support.tracing import Node, NotTraceable, step, value_and_gradients

OPERATIONS = {
    "max": np.maximum.reduce,
    "sum": np.add.reduce,
    "sub": np.subtract,
    "add": np.add,
    "mul": np.multiply,
    "div": np.divide,
    "exp": np.exp,
    "log": np.log,
    "neg": np.negative,
    "tanh": np.tanh,
    "sqrt": np.sqrt,
    "maximum": np.maximum,
    "where": np.where,
    "greater": np.greater,
    "matmul": np.matmul,
    "reshape": np.reshape,
    "swapaxes": np.swapaxes,
    "transpose": np.transpose,
    "broadcast_to": np.broadcast_to,
}


def example(shape, dtype="float32"):
    """An array without zeros, of this shape; an array as it is."""
    if isinstance(shape, np.ndarray):
        return shape
    return (np.arange(int(np.prod(shape))).reshape(shape) % 5 + 0.5).astype(dtype)


def nodes_of(program):
    """{name: Node} of a program that is given as a list: its arguments and steps."""
    arguments, steps, _ = program
    nodes = {f"a{n}": Node(None, example=example(shape)) for n, shape in enumerate(arguments)}
    for n, (op, inputs, options) in enumerate(steps):
        given = [nodes[x] if isinstance(x, str) else x for x in inputs]
        options = {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}
        nodes[f"t{n}"] = step(OPERATIONS[op], *given, **options)
    return nodes


def built(program):
    """The Program of a list, and {Node: name}."""
    nodes = nodes_of(program)
    arguments = [node for name, node in nodes.items() if name[0] == "a"]
    outputs = [nodes[x] if isinstance(x, str) else x for x in program[2]]
    return Program(arguments, outputs), {node: name for name, node in nodes.items()}


def plain(x, names):
    """The name of a Node, "?" if it has none; anything else as it is."""
    if isinstance(x, Node):
        return names.get(x, "?")
    return x.tolist() if isinstance(x, (np.ndarray, np.generic)) else x


def as_list(program):
    """The steps and outputs of a Program, as lists."""
    names = {a: f"a{n}" for n, a in enumerate(program.arguments)}
    names |= {node: f"t{n}" for n, node in enumerate(program.nodes)}
    steps = [
        [node.name, [plain(x, names) for x in node.inputs], dict(node.options)]
        for node in program.nodes
    ]
    return steps, [plain(x, names) for x in program.outputs]


def needed_names(program, outputs):
    """The names of what `needed` returns, and the outputs afterwards."""
    nodes = nodes_of(program)
    names = {node: name for name, node in nodes.items()}
    given = [nodes[x] if isinstance(x, str) else x for x in outputs]
    found = needed(given)
    assert isinstance(found, list), f"needed returned a {type(found).__name__}, not a list"
    return [plain(x, names) for x in found], [plain(x, names) for x in given]


def needed_of_chain(length):
    """How many Nodes `needed` finds in a chain of so many steps, and whether they are in
    order."""
    node = first = Node(None, example=np.ones(1))
    for _ in range(length):
        node = Node(np.negative, [node], {}, first.example)
    found = needed([node])
    return len(found), found[0] is first and found[-1] is node


def evaluated(program, *arrays):
    """What `evaluate` returns, and whether the arrays are as before."""
    copies = [x.copy() for x in arrays]
    out = evaluate(built(program)[0], *arrays)
    assert isinstance(out, list), f"evaluate returned {type(out).__name__}, not a list"
    unchanged = all(np.array_equal(a, b) for a, b in zip(arrays, copies))
    return [np.asarray(x) for x in out], unchanged


TRACED = {
    "exp(x)": lambda x: np.exp(x),
    "x * 2": lambda x: x * 2,
    "2 - x": lambda x: 2 - x,
    "x + array": lambda x: x + np.float32([[1], [2]]),
    "array * x": lambda x: np.float32([[1], [2]]) * x,
    "add.reduce(x, axis=1)": lambda x: np.add.reduce(x, axis=1),
    "maximum.reduce(x, axis=0, keepdims=True)": lambda x: np.maximum.reduce(
        x, axis=0, keepdims=True
    ),
    "where(x > 1, x, 0)": lambda x: np.where(x > 1, x, 0),
    "tanh(x) * x": lambda x: np.tanh(x) * x,
    "add(x, 1, dtype=float64)": lambda x: np.add(x, 1, dtype="float64"),
}


def traced_steps(name, shape):
    """The steps that a function of one Traced array records, and the dtype and shape of the
    last one."""
    x = Traced(Node(None, example=example(shape)))
    out = TRACED[name](x)
    if type(out) is not Traced:
        return type(out).__name__, "", ()
    steps = as_list(Program([x.node], [out.node]))[0]
    return steps, out.dtype.name, out.shape


def traced_in_place(kind):
    """What happens to Traced arrays x and y, where y has the same Node as x: steps of both, and
    whether the result is the array x itself."""
    node = Node(None, example=example((2, 3), "int64" if kind == "ints" else "float32"))
    x, y = Traced(node), Traced(node)
    if kind == "*=":
        out = x
        out *= 2
    elif kind == "out":
        out = np.add(x, y, out=x)
    elif kind == "other":
        out = np.exp(y, out=x)
    elif kind == "ints":
        out = np.multiply(x, 2.5, out=x, casting="unsafe")
    steps = [as_list(Program([node], [z.node]))[0] for z in (x, y)]
    return steps, out is x, x.dtype.name


def refused_write(kind):
    """The error of a write that cannot be traced: its class and its text."""
    x = Traced(Node(None, example=example((2, 3))))
    target = {
        "a view": lambda: x.reshape(3, 2),
        "an array with a view": lambda: x,
        "a plain array": lambda: np.zeros((2, 3), "float32"),
    }[kind]()
    view = x.reshape(3, 2)
    right = view if kind == "a view" else x
    try:
        np.multiply(right, 2, out=target)
    except NotTraceable as error:
        return "NotTraceable", str(error)
    except Exception as error:
        return type(error).__name__, str(error)
    return "", ""


def traced_function(name):
    """The names of the steps of a function of the library."""
    f = {"gelu": gelu, "softmax": softmax}[name]
    return [node.name for node in trace(lambda x: f(x), example((4, 8))).nodes]


def straight_of(program, *arrays):
    """The lines of `straight`, the names of its objects, and what the function returns."""
    made = straight(built(program)[0])
    assert isinstance(made, tuple) and len(made) == 2, "straight returns the text and a dict"
    text, objects = made
    lines = [line.strip() for line in text.split("\n")]
    return lines, sorted(objects), [np.asarray(x) for x in function_of(text, objects)(*arrays)]


RULES = {
    "keep": lambda node: node,
    "log becomes its input": lambda node: node.inputs[0] if node.op is np.log else node,
    "tanh becomes 2.0": lambda node: 2.0 if node.op is np.tanh else node,
    "tanh becomes 0.0": lambda node: 0.0 if node.op is np.tanh else node,
    "exp becomes neg": lambda node: (
        step(np.negative, *node.inputs) if node.op is np.exp else node
    ),
}


def rewritten(program, name):
    """What `rewrite` makes of a program; the old program afterwards; for each call of the rule
    the operation and its inputs' operations; and whether a rule got one of the old Nodes."""
    old, names = built(program)
    calls, before = [], as_list(old)
    inputs_before = [(node, node.inputs) for node in old.nodes]

    def rule(node):
        inputs = [x.name if isinstance(x, Node) and x.op else "" for x in node.inputs]
        calls.append([node.name, inputs])
        got_old.append(node in names)
        return RULES[name](node)

    got_old = []
    new = rewrite(old, rule)
    assert isinstance(new, Program), f"rewrite returned {type(new).__name__}, not a Program"
    unchanged = as_list(old) == before and all(
        node.inputs == inputs for node, inputs in inputs_before
    )
    return as_list(new), unchanged, calls, any(got_old), new.arguments == old.arguments


def keeps_old_nodes():
    """Whether a program that `rewrite` made has Nodes of the old one among its steps."""
    old, names = built(([[2]], [["exp", ["a0"], {}], ["neg", ["t0"], {}]], ["t1", "t0"]))
    return any(node in names for node in rewrite(old, lambda node: node).nodes)


def ruled(rule, op, inputs, options=None, dtype="float32", twice=False):
    """What `fold` or `simplify` makes of one step: "step", "x0" for its input number 0, or a
    constant, an array. A list among the inputs is the shape of a Node."""
    given = [
        Node(None, example=example(x, dtype)) if isinstance(x, list) else x for x in inputs
    ]
    first = given[0]
    if twice:
        given[0] = step(OPERATIONS[op], first, **twice)
    node = step(OPERATIONS[op], *given, **(options or {}))
    result = {"fold": lambda: fold(node), "simplify": lambda: simplify(node)}[rule]()
    if result is node:
        return "step"
    if twice and result is first:
        return "x"
    for n, x in enumerate(given):
        if result is x and isinstance(x, Node):
            return f"x{n}"
    return "another Node" if isinstance(result, Node) else np.asarray(result)


def shared_steps(program):
    """The steps and outputs of share(program), and whether the program is as before."""
    old = built(program)[0]
    before = as_list(old)
    return *as_list(share(old)), as_list(old) == before


def same_programs(a, b):
    """What `same` returns for two programs."""
    out = same(built(a)[0], built(b)[0])
    assert isinstance(out, bool), f"same returned {out!r}, neither True nor False"
    return out


def signatures(*values):
    """For each pair of values whether their signatures are equal, and the error of a signature
    that cannot be a key."""
    keys = [signature(Tensor(x) if tensor else x) for tensor, x in values]
    try:
        {key: 0 for key in keys}
        return [[bool(a == b) for b in keys] for a in keys], ""
    except (TypeError, ValueError) as error:
        return [], str(error)


class Twice(Module):
    """A model with dropout between two layers."""

    def __init__(self):
        self.first, self.drop, self.second = Dense(3, 3), Dropout(0.5), Dense(3, 1)

    def forward(self, x):
        return self.second(self.drop(self.first(x)))


COMPILED = {
    "mse": lambda model: lambda x, y: mse_loss(model(x), y),
    "scaled": lambda model: lambda x, y, factor: mse_loss(model(x), y) * factor,
    "sum": lambda model: lambda x: model(x).sum(),
}


def compiled_by(*given):
    """What `compile` returns."""
    compiled = compile(*given)
    assert isinstance(compiled, Compiled), (
        f"compile returns a {type(compiled).__name__}, not a Compiled: is it as it was given?"
    )
    return compiled


def counted_programs(name, calls, after=None):
    """How often a compiled function is traced, after each of these calls, and how many programs
    it has then. A call is a list of shapes [rows, columns, dtype], and of constants; "eval",
    "train" and "double" change the model."""
    model = Sequential(Dense(2, 3), Dense(3, 1))
    compiled, counts, built_ = compiled_by(COMPILED[name](model), model), [], []
    build = compiled.build
    compiled.build = lambda arguments: built_.append(1) or build(arguments)
    for call in calls:
        if call in ("eval", "train", "double"):
            getattr(model, call)()
            continue
        arguments = [example(x[:2], x[2]) if isinstance(x, list) else x for x in call]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # float64 data are meant
            compiled(*arguments)
        counts.append([len(built_), len(compiled.programs)])
    return counts


def compiled_losses(batches):
    """The losses and gradients of a model, compiled and not, for some batches in turn, each
    given as (x, y); gradients are added up over all batches."""
    model = Sequential(Dense(2, 3, rng=0), Dense(3, 1, rng=1))
    loss = COMPILED["mse"](model)
    compiled, results = compiled_by(loss, model), []
    for f in (compiled, lambda x, y: loss(Tensor(x), y)):
        for p in model.parameters():
            p.grad = None
        losses = []
        for x, y in batches:
            out = f(x, y)
            if not isinstance(out, Tensor):
                return type(out).__name__, None
            out.backward()
            losses.append(float(out))
        results.append([np.array(losses), *[np.array(p.grad) for p in model.parameters()]])
    return results


def follows_weights(x):
    """The results of a compiled function before and after the weights get other numbers, and
    what they should be."""
    model = Sequential(Dense(3, 1, rng=0))
    compiled = compiled_by(COMPILED["sum"](model), model)
    results = [float(compiled(x)), float(model(Tensor(x)).sum())]
    for p in model.parameters():
        p.data = p.data * 3 + 1
    return results + [float(compiled(x)), float(model(Tensor(x)).sum())]


def modes(x):
    """What a compiled model with dropout does in eval(), and then after train()."""
    model = Twice().eval()
    compiled = compiled_by(COMPILED["sum"](model), model)
    right = abs(float(compiled(x)) - float(model(Tensor(x)).sum())) < 1e-5
    model.train()
    try:
        compiled(x)
    except NotTraceable:
        return right, "refused"
    return right, "runs"


def follows_others(x):
    """The result of compile(model) before and after its weights change, and of the model."""
    model = Sequential(Dense(3, 1, rng=0))
    compiled, results = compiled_by(model), []
    for factor in (1, 3):
        for p in model.parameters():
            p.data = p.data * factor
        results += [np.array(compiled(x).data), np.array(model(Tensor(x)).data)]
    return results


def moved(program, partition):
    """What bytes_moved returns for groups that are given as lists of names."""
    made, names = built(program)
    nodes = {name: node for node, name in names.items()}
    lists = [[nodes[name] for name in part] for part in partition]
    return bytes_moved(made, {node: part for part in lists for node in part})


def levels_of(program):
    """The levels of the steps, in order."""
    made, names = built(program)
    out = levels(made)
    assert isinstance(out, dict), f"levels returned {type(out).__name__}, not a dict"
    return {names[node]: level for node, level in out.items()}


def groups_of(program):
    """The groups, as lists of names; and whether the Nodes of a group share one list."""
    made, names = built(program)
    out = groups(made)
    assert isinstance(out, dict), f"groups returned {type(out).__name__}, not a dict"
    missing = [names[node] for node in made.nodes if node not in out]
    assert not missing, f"groups has no group for {', '.join(missing)}"
    shared = all(out[x] is out[node] for node in made.nodes for x in out[node])
    lists = {id(part): [names[x] for x in part] for part in out.values()}
    twice = [part for part in lists.values() if len(set(part)) < len(part)]
    assert not twice, f"a group has each Node once; yours has {', '.join(twice[0])}"
    return list(lists.values()), shared


def traced_groups(name):
    """The sizes of the groups of a function of the library."""
    f = {"gelu": gelu, "softmax": softmax}[name]
    out = groups(trace(lambda x: f(x), example((4, 8))))
    return sorted(len(part) for part in {id(part): part for part in out.values()}.values())


def strides_after(op, shape, strides, options):
    """What view_strides returns for one step; None or a tuple of ints."""
    node = step(OPERATIONS[op], Node(None, example=example(shape)), **options)
    out = view_strides(node, strides)
    return type(out)(int(s) for s in out) if isinstance(out, (tuple, list)) else out


def arena_of(program):
    """The offsets of the results that are stored, by name, and the size."""
    made, names = built(program)
    out = arena(made)
    assert isinstance(out, tuple) and len(out) == 2, "arena returns a dict and the size"
    offsets, size = out
    assert isinstance(offsets, dict), f"the offsets are a {type(offsets).__name__}, not a dict"
    return {names[x]: int(offset) for x, offset in offsets.items()}, int(size)


def looped(program, *arrays):
    """What the loops of a program compute in Python, called twice."""
    made = built(program)[0]
    return [run_python(made, *arrays) for _ in range(2)]


def loops_of(program):
    """The lines of the loops in Python."""
    source = Loops(built(program)[0], PYTHON).source()
    return [line[4:] for line in source.rstrip().split("\n")[1:]]


def looped_step(rows):
    """The loops of a whole training step: what they compute, and what the library does."""
    model = Sequential(Dense(2, 3, rng=0), Dense(3, 1, rng=1))
    weights, x, y = model.parameters(), example((rows, 2)), example((rows, 1))
    both = value_and_gradients(lambda x, y: mse_loss(model(x), y), weights)
    program = optimized(trace(both, x, y, weights=weights))
    loss = mse_loss(model(Tensor(x)), y)
    loss.backward()
    right = [np.array(loss.data), *[np.array(w.grad) for w in weights]]
    return run_python(program, x, y, *[w.data for w in weights]), right


# %% needed points=6
def test_dead_code_is_not_needed():
    program = ([[2]], [["mul", ["a0", "a0"], {}], ["exp", ["t0"], {}], ["neg", ["t0"], {}]], [])
    found, _ = needed_names(program, ["t2"])
    case = "what t2 = neg(t0), t0 = mul(a0, a0) needs, beside the unused t1 = exp(t0)"
    cause = {
        ("t0", "t2"): "a0 is also a Node: arguments belong to the list",
        ("a0", "t0"): "the outputs belong to the list",
        ("a0", "t0", "t1", "t2"): "t1 is computed from t0, but t2 does not need it",
    }.get(tuple(found), "go from the outputs to their inputs")
    equal(found, ["a0", "t0", "t2"], case, cause)


def test_each_node_is_found_once():
    program = (
        [[2]],
        [["exp", ["a0"], {}], ["mul", ["t0", "t0"], {}], ["add", ["t1", "t0"], {}]],
        [],
    )
    found, _ = needed_names(program, ["t2", "t1"])
    case = "what [t2, t1] needs, where t2 = add(t1, t0), t1 = mul(t0, t0), t0 = exp(a0)"
    equal(found, ["a0", "t0", "t1", "t2"], case, "a Node that several others use is one Node")


def test_nodes_are_in_order_of_creation():
    program = (
        [[2], [2]],
        [["exp", ["a1"], {}], ["log", ["a0"], {}], ["add", ["t1", "t0"], {}]],
        [],
    )
    found, _ = needed_names(program, ["t2"])
    case = "what t2 = add(t1, t0) needs, where t0 = exp(a1) was created before t1 = log(a0)"
    equal(found, ["a0", "a1", "t0", "t1", "t2"], case, "sort by `created`")


def test_constants_need_nothing():
    program = ([[2]], [["add", ["a0", 1.5], {}]], [])
    found, after = result_of(
        lambda: needed_names(program, [2.5, "t0", numbers(3)]),
        "the outputs [2.5, t0, an array]",
        "only a Node has inputs: use isinstance(x, Node)",
    )
    equal(found, ["a0", "t0"], "what the outputs [2.5, t0, an array] need, t0 = add(a0, 1.5)")
    equal(len(after), 3, "the length of the list `outputs` afterwards", "it must not change")


def test_a_graph_may_be_deep():
    count, in_order = result_of(
        lambda: needed_of_chain(3000),
        "a chain of 3,000 steps",
        "a function that calls itself for each input is too deep for Python: use a list of "
        "Nodes that are still to be visited",
        (RecursionError,),
    )
    equal([count, in_order], [3001, True], "the Nodes of a chain of 3,000 steps, in order")


# %% needed hidden points=1
def test_hidden_graphs():
    rng = np.random.default_rng(5)
    for _ in range(5):
        steps = []
        for n in range(12):
            names = ["a0", "a1", *[f"t{m}" for m in range(n)]]
            steps.append(["add", [names[i] for i in rng.integers(0, len(names), 2)], {}])
        outputs = ["t11", f"t{rng.integers(0, 11)}", "a1"]
        wanted, stack = set(), [*outputs]
        while stack:
            name = stack.pop()
            if name not in wanted:
                wanted.add(name)
                stack += steps[int(name[1:])][1] if name[0] == "t" else []
        order = ["a0", "a1", *[f"t{n}" for n in range(12)]]
        found, _ = needed_names(([[2], [2]], steps, []), outputs)
        equal(found, [name for name in order if name in wanted], "a hidden graph")


# %% evaluate points=5
def test_a_program_runs_on_other_numbers():
    x, row = numbers(2, 3, seed=1), numbers(3, seed=2)
    out, _ = evaluated(ELEMENTWISE, x, row)
    wanted = np.tanh(x * x + row)
    case = f"the result of {written_out(ELEMENTWISE)}"
    examples = np.tanh((np.arange(6).reshape(2, 3) % 5 + 0.5) ** 2 + np.arange(3) + 0.5)
    causes = {
        "These are the examples: compute with `arrays`": examples.astype("float32"),
        "Only the first step has run": x * x,
    }
    equal(len(out), 1, "the length of the list for one output")
    expect(out[0], wanted, case, causes, 1e-6)


def test_options_are_passed_to_the_operation():
    x = numbers(2, 3, seed=3)
    out, _ = result_of(
        lambda: evaluated(SOFTMAX, x),
        "softmax, with axis=1 and keepdims=True",
        "call op(*inputs, **options)",
    )
    wanted = computed_by_hand(SOFTMAX, x)[0]
    expect(out[0], wanted, "softmax of (2, 3)", "call op(*inputs, **options)", 1e-6)


def test_inputs_keep_their_order():
    program = ([[2], [2]], [["sub", ["a1", "a0"], {}], ["sub", [1.0, "t0"], {}]], ["t1", "t0"])
    a, b = np.float32([1, 2]), np.float32([10, 30])
    cause = "only a Node is looked up; a constant, also an array, is its own value"
    out, _ = result_of(lambda: evaluated(program, a, b), "t1 = sub(1.0, t0)", cause)
    expect(out[1], [9, 28], "t0 = sub(a1, a0) of [1, 2] and [10, 30]", {"The order": [-9, -28]})
    expect(out[0], [-8, -27], "t1 = sub(1, t0)", "the constant 1 is the first input")
    row = ([[2]], [["add", ["a0", np.float32([5, 6])], {}]], ["t0"])
    out, _ = result_of(lambda: evaluated(row, a), "t0 = add(a0, an array of constants)", cause)
    expect(out[0], [6, 8], "t0 = add(a0, [5, 6])")


def test_an_output_may_be_an_argument_or_a_constant():
    program = ([[2], [2]], [["exp", ["a0"], {}]], ["a1", 2.5, "t0"])
    a, b = numbers(2), numbers(2, seed=4)
    out, unchanged = result_of(
        lambda: evaluated(program, a, b),
        "the outputs a1, 2.5 and exp(a0)",
        "an output that is no Node is its own value; an argument's value is its array",
    )
    expect(out[0], b, "the output a1")
    expect(out[1], 2.5, "the output 2.5")
    expect(out[2], np.exp(a), "the output exp(a0)", near=1e-6)
    assert unchanged, "evaluate changed an array that it was given"


# %% evaluate hidden points=1
def test_hidden_programs():
    for program in (SOFTMAX, ELEMENTWISE, DIAMOND):
        arrays = [numbers(*shape, seed=7) for shape in program[0]]
        out, _ = evaluated(program, *arrays)
        expect(out[0], computed_by_hand(program, *arrays)[0], "a hidden program", near=1e-5)


# %% traced points=8
def test_operators_record_steps():
    for name, wanted in [
        ("exp(x)", [["exp", ["a0"], {}]]),
        ("x * 2", [["mul", ["a0", 2], {}]]),
        ("2 - x", [["sub", [2, "a0"], {}]]),
        ("tanh(x) * x", [["tanh", ["a0"], {}], ["mul", ["t0", "a0"], {}]]),
        ("array * x", [["mul", [[[1.0], [2.0]], "a0"], {}]]),
    ]:
        steps, *_ = traced_steps(name, (2, 3))
        cause = "does __array_ufunc__ return what self.record returns?"
        if name == "2 - x":
            cause = "record all `inputs`, in order: `self` may be the second one"
        equal(steps, wanted, f"the steps of {name}", cause)


def test_a_reduction_is_recorded_with_its_options():
    steps, dtype, shape = result_of(
        lambda: traced_steps("add.reduce(x, axis=1)", (2, 3)),
        "np.add.reduce(x, axis=1)",
        "for the method 'reduce' the operation is np.add.reduce, not np.add",
    )
    found = [steps[0][0], steps[0][2].get("axis"), len(steps)] if steps else steps
    cause = "pass the options to self.record"
    equal(found, ["sum", 1, 1], "name, axis and number of the steps of np.add.reduce", cause)
    equal(shape, (2,), "the shape of np.add.reduce(x, axis=1) for x of (2, 3)", cause)
    steps, _, shape = traced_steps("maximum.reduce(x, axis=0, keepdims=True)", (2, 3))
    equal(shape, (1, 3), "the shape of np.maximum.reduce(x, axis=0, keepdims=True)", cause)


def test_options_of_a_ufunc_are_recorded():
    steps, dtype, _ = traced_steps("add(x, 1, dtype=float64)", (2, 3))
    equal(dtype, "float64", "the dtype of np.add(x, 1, dtype='float64')", "pass the options on")


def test_in_place_operations_change_only_this_array():
    (x, y), is_x, _ = result_of(
        lambda: traced_in_place("*="),
        "x *= 2",
        {"'tuple' object": "`out` is a tuple with one array: out[0]"},
    )
    equal(x, [["mul", ["a0", 2], {}]], "the steps of x after x *= 2", "out[0].node must change")
    equal(
        y,
        [],
        "the steps of y, which had the same Node as x, after x *= 2",
        ("give `out` another Node; do not change the Node, which others use, too"),
    )
    assert is_x, "`x *= 2` should return the array in `out`, so that x is still the same object"
    (x, y), is_x, _ = traced_in_place("out")
    equal(x, [["add", ["a0", "a0"], {}]], "the steps of x after np.add(x, y, out=x)")
    (x, y), is_x, _ = traced_in_place("other")
    case = "after np.exp(y, out=x)"
    equal(x, [["exp", ["a0"], {}]], f"the steps of x {case}", "the array in `out` changes")
    equal(y, [], f"the steps of y {case}", "only the array in `out` changes: self is y here")
    assert is_x, f"{case}, the result should be x, the array in `out`"


def test_a_result_in_out_has_the_dtype_of_out():
    _, _, dtype = traced_in_place("ints")
    cause = "cast the result to the dtype of `out` by .astype"
    equal(dtype, "int64", "the dtype of an int64 array after np.multiply(x, 2.5, out=x)", cause)


def test_writing_into_a_view_is_refused():
    for kind in ("a view", "an array with a view"):
        error, text = refused_write(kind)
        equal(
            error,
            "NotTraceable",
            f"the error of a write into {kind}",
            ("the other array would also have to change: see `.is_view`"),
        )
        assert "view" in text, f"the error of a write into {kind} should contain 'view': {text}"


def test_writing_into_an_array_that_is_not_traced_is_refused():
    error, text = refused_write("a plain array")
    cause = "the array in `out` has no Node: see isinstance(out[0], Traced)"
    equal(error, "NotTraceable", "the error of a write into a plain array", cause)
    assert "not traced" in text, f"the error should contain 'not traced', yours is: {text}"


# %% traced hidden points=1
def test_hidden_traces():
    equal(traced_function("softmax"), ["max", "sub", "exp", "sum", "div"], "softmax")
    steps = traced_function("gelu")
    equal(sorted(steps), sorted(["mul"] * 6 + ["add"] * 2 + ["tanh"]), "gelu")
    steps, *_ = traced_steps("where(x > 1, x, 0)", (2, 3))
    equal(len(steps), 2, "the number of steps of where(x > 1, x, 0)")
    equal(steps[1][0], "where", "the second step of where(x > 1, x, 0)")


# %% straight points=6
def test_the_text_computes_the_same_numbers():
    for program in (SOFTMAX, ELEMENTWISE, DIAMOND):
        arrays = [numbers(*shape, seed=2) for shape in program[0]]
        case = f"the function for {written_out(program)}"
        lines, _, out = result_of(
            lambda p=program, a=arrays: straight_of(p, *a),
            case,
            {
                "is not defined": "is it deleted before its last use, or has it no line?",
                "cannot access local": "is it deleted before its last use?",
                "for max()": "the operation is text(node.op), which puts it into `objects`",
                "": "look at the text: print(straight(program)[0])",
            },
            (Exception,),
        )
        wanted = computed_by_hand(program, *arrays)[0]
        cause = {"The last line returns a list: return [t4]": wanted[0]}
        expect(out[0], wanted, case, cause, 1e-6)


def test_each_step_is_a_line():
    lines, names, _ = straight_of(SOFTMAX, numbers(2, 3))
    found = [line for line in lines[1:] if not line.startswith("del ")]
    wanted = [
        "t0 = max(a0, axis=1, keepdims=True)",
        "t1 = sub(a0, t0)",
        "t2 = exp(t1)",
        "t3 = sum(t2, axis=1, keepdims=True)",
        "t4 = div(t2, t3)",
        "return [t4]",
    ]
    equal(found, wanted, "the lines for softmax, without `del`")
    equal(names, ["div", "exp", "max", "sub", "sum"], "the names of the objects, sorted")


def test_arrays_are_deleted_right_after_their_last_use():
    lines, *_ = straight_of(SOFTMAX, numbers(2, 3))
    deleted, latest = {}, ""
    for line in lines:
        if line.startswith("del "):
            for name in line[4:].split(","):
                deleted.setdefault(name.strip(), []).append(latest)
        else:
            latest = line.split(" = ")[0]
    case = "{result: the line after which it is deleted} for softmax"
    wanted = {"t0": ["t1"], "t1": ["t2"], "t2": ["t4"], "t3": ["t4"]}
    arguments = [name for name in deleted if name[0] == "a"]
    assert not arguments, f"yours deletes {arguments}: arguments belong to the caller"
    cause = "each result is deleted once, right after the last step that reads it"
    if deleted.get("t2", [""])[0] == "t3":
        cause = "t2 is read by t3 and by t4: delete it after the last one"
    equal(dict(sorted(deleted.items())), wanted, case, cause)
    square = ([[2]], [["exp", ["a0"], {}], ["mul", ["t0", "t0"], {}]], ["t1"])
    result_of(
        lambda: straight_of(square, numbers(2)),
        "t1 = mul(t0, t0)",
        "t0 is both inputs, and `del t0, t0` deletes it twice: see only_nodes",
        (Exception,),
    )


def test_outputs_and_arguments_are_not_deleted():
    program = (
        [[2]],
        [["exp", ["a0"], {}], ["neg", ["t0"], {}], ["add", ["t0", "t1"], {}]],
        ["t2", "t0", "a0"],
    )
    lines, _, out = result_of(
        lambda: straight_of(program, numbers(2)),
        "a program whose outputs are t2, t0 and a0",
        "an output must not be deleted, although a later step is the last to read it",
        (Exception,),
    )
    equal(len(out), 3, "the number of results with the outputs t2, t0, a0", "return them all")
    deleted = [line for line in lines if line.startswith("del ")]
    equal(
        deleted,
        ["del t1"],
        "the `del` lines with the outputs t2, t0, a0",
        ("arguments belong to the caller, and outputs are returned: delete neither"),
    )
    expect(out[1], np.exp(numbers(2)), "the output t0", near=1e-6)


def test_constants_and_repeated_outputs():
    row = np.float32([[1, 2, 3]])
    program = (
        [[2, 3]],
        [["add", ["a0", row], {}], ["mul", ["t0", 2.5], {}]],
        ["t1", 1.5, "t1", row],
    )
    x = numbers(2, 3)
    _, names, out = result_of(
        lambda: straight_of(program, x),
        "a program with an array as a constant, and the outputs t1, 1.5, t1 and this array",
        {
            "ambiguous": "`in` compares an array number by number: see only_nodes",
            "": "write a constant by text(x), which gives an array a name",
        },
        (Exception,),
    )
    expect(out[0], (x + row) * np.float32(2.5), "(x + row) * 2.5", near=1e-6)
    expect(out[1], 1.5, "the constant output")
    equal(len(out), 4, "the number of outputs")
    program = ([[2, 3]], [["add", ["a0", 1.0], {"dtype": "float64"}]], ["t0"])
    result_of(
        lambda: straight_of(program, x),
        "add(a0, 1.0, dtype='float64')",
        "the value of an option is a constant: write it by text(value)",
        (Exception,),
    )


# %% straight hidden points=1
def test_hidden_straight_lines():
    program = (
        [[3, 3], [3]],
        [
            ["matmul", ["a0", "a0"], {}],
            ["add", ["t0", "a1"], {}],
            ["maximum", ["t1", 0.0], {}],
            ["mul", ["t2", "t2"], {}],
            ["sum", ["t3"], {"axis": None}],
            ["swapaxes", ["t1"], {"axis1": 0, "axis2": 1}],
        ],
        ["t4", "t5", "a1"],
    )
    arrays = [numbers(3, 3, seed=3), numbers(3, seed=4)]
    lines, _, out = straight_of(program, *arrays)
    for a, b in zip(out, computed_by_hand(program, *arrays), strict=True):
        expect(a, b, "a hidden program", near=1e-5)
    deleted = sorted(
        name.strip()
        for line in lines
        if line.startswith("del ")
        for name in line[4:].split(",")
    )
    equal(deleted, ["t0", "t1", "t2", "t3"], "the deleted results")


# %% rewrite points=7


def test_a_rule_that_keeps_all_copies_the_program():
    (steps, outputs), unchanged, calls, got_old, same_arguments = rewritten(CHAIN, "keep")
    assert same_arguments, "the new program should have the same arguments, the same Nodes"
    assert not got_old, "the rule should get a new Node, yours gives it one of the old program"
    assert unchanged, "the old program changed: make new Nodes, and do not write into old ones"
    assert not keeps_old_nodes(), (
        "with a rule that changes nothing, the new program has Nodes of the old one: are the "
        "outputs replaced?"
    )
    wanted = [[op, inputs, options] for op, inputs, options in CHAIN[1]]
    equal(steps, wanted, "the new steps")
    equal(outputs, ["t3", "t1"], "the new outputs")


def test_the_rule_sees_replaced_inputs():
    (steps, outputs), _, calls, *_ = rewritten(CHAIN, "log becomes its input")
    case = "the steps of exp, log, tanh, add(tanh, log), when log becomes its input"
    wanted = [["exp", ["a0"], {}], ["tanh", ["t0"], {}], ["add", ["t1", "t0"], {}]]
    cause = "later steps use what takes the place of log: replace the inputs of each step first"
    equal(steps, wanted, case, cause)
    equal(
        outputs,
        ["t2", "t0"],
        "the outputs, of which the second was log",
        ("the outputs are replaced, too"),
    )
    equal(calls[2], ["tanh", ["exp"]], "what the rule gets for tanh(log), and its input", cause)


def test_the_rule_is_called_once_for_each_step_in_order():
    *_, calls, _, _ = rewritten(CHAIN, "keep")
    equal([name for name, _ in calls], ["exp", "log", "tanh", "add"], "the calls of the rule")


def test_a_constant_takes_the_place_of_a_step():
    (steps, outputs), *_ = result_of(
        lambda: rewritten(CHAIN, "tanh becomes 2.0"),
        "a rule that returns 2.0 for tanh",
        "a constant may take the place of a step",
    )
    equal(steps[-1], ["add", [2.0, "t1"], {}], "the last step, when tanh becomes 2.0")
    (steps, outputs), *_ = rewritten(CHAIN, "tanh becomes 0.0")
    equal(steps[-1][1], [0.0, "t1"], "its inputs, when tanh becomes 0.0", "0.0 counts as False")


def test_a_new_node_takes_the_place_of_a_step():
    (steps, _), unchanged, *_ = rewritten(CHAIN, "exp becomes neg")
    equal([name for name, *_ in steps], ["neg", "log", "tanh", "add"], "the steps, exp -> neg")
    assert unchanged, "the old program changed"


def test_options_and_constant_outputs_are_kept():
    program = ([[2, 3]], [["sum", ["a0"], {"axis": 1}]], ["t0", 4.5, "a0"])
    (steps, outputs), *_ = result_of(
        lambda: rewritten(program, "keep"),
        "a program with the outputs t0, 4.5 and a0",
        "an output that was not replaced stays as it is",
    )
    equal(steps, [["sum", ["a0"], {"axis": 1}]], "the steps", "the options belong to a Node")
    equal(outputs, ["t0", 4.5, "a0"], "the outputs")
    program = ([[2]], [["add", ["a0", np.float32([5, 6])], {}]], ["t0"])
    (steps, _), *_ = result_of(
        lambda: rewritten(program, "keep"),
        "t0 = add(a0, an array of constants)",
        "an array is no key of a dict: only a Node has been replaced",
    )
    equal(steps[0][1], ["a0", [5.0, 6.0]], "the inputs of add")


# %% rewrite hidden points=1
def test_hidden_rewriting():
    (steps, outputs), unchanged, calls, got_old, _ = rewritten(SOFTMAX, "exp becomes neg")
    equal([name for name, *_ in steps], ["max", "sub", "neg", "sum", "div"], "hidden steps")
    equal(steps[4][1], ["t2", "t3"], "hidden inputs")
    assert unchanged and not got_old and outputs == ["t4"]


# %% simplify points=8


def test_steps_of_constants_are_folded():
    folded("add", [2.0, 3.0], np.float64(5), "fold(add(2, 3))", "return node.example")
    folded("exp", [np.float32([0, 1])], np.exp(np.float32([0, 1])), "fold(exp([0, 1]))")


def test_steps_with_nodes_are_not_folded():
    folded("add", [[2], 3.0], "step", "fold(add(x, 3))", "x is not known yet")
    folded("add", [3.0, [2]], "step", "fold(add(3, x))", "look at all inputs")
    folded("add", [2.0, 4.0], np.float64(6), "fold(add(2, 4))", "return node.example")


def test_a_broadcast_constant_is_not_folded():
    folded(
        "broadcast_to",
        [2.0],
        "step",
        "fold(broadcast_to(2, shape=(1000,)))",
        ("as an array it would need memory"),
        shape=[1000],
    )
    folded("add", [2.0, 4.0], np.float64(6), "fold(add(2, 4))", "return node.example")


def test_neutral_elements_are_removed():
    for op, inputs, name in [
        ("mul", [[2, 3], 1.0], "x * 1.0"),
        ("mul", [1.0, [2, 3]], "1.0 * x"),
        ("add", [[2, 3], 0.0], "x + 0.0"),
        ("add", [0, [2, 3]], "0 + x"),
        ("mul", [[2, 3], np.ones((2, 3), "float32")], "x * ones"),
    ]:
        wanted = f"x{next(n for n, x in enumerate(inputs) if isinstance(x, list))}"
        simplified(
            op,
            inputs,
            wanted,
            f"simplify({name})",
            ("return the Node x: the constant may be on either side, and an array"),
        )


def test_other_constants_stay():
    for op, inputs, name in [
        ("mul", [[2, 3], 0.0], "x * 0"),
        ("add", [[2, 3], 1.0], "x + 1"),
        ("sub", [[2, 3], 1.0], "x - 1"),
        ("sub", [0.0, [2, 3]], "0 - x"),
        ("div", [1.0, [2, 3]], "1 / x"),
        ("mul", [[2], np.float32([1, 2])], "x * [1, 2]"),
        ("mul", [[2, 3], [2, 3]], "x * y"),
    ]:
        cause = "nan * 0 is nan, and inf * 0, too" if name == "x * 0" else "x is not the result"
        simplified(op, inputs, "step", f"simplify({name})", cause)
    simplified("mul", [[2, 3], 1.0], "x0", "simplify(x * 1.0)")


def test_shape_and_dtype_must_stay():
    simplified(
        "mul",
        [[3], np.ones((2, 3), "float32")],
        "step",
        ("simplify(x * ones of (2, 3)), x of shape (3,),"),
        "the result has shape (2, 3), and x has (3,)",
    )
    simplified(
        "mul",
        [[2], 1.0],
        "step",
        "simplify(x * 1.0), x of int64,",
        ("the result is float64"),
        dtype="int64",
    )
    simplified("mul", [[2, 3], 1.0], "x0", "simplify(x * 1.0)")


def test_views_that_change_nothing_are_removed():
    simplified(
        "reshape",
        [[2, 3]],
        "x0",
        "simplify(reshape(x, (2, 3))), x of (2, 3),",
        ("x has this shape already"),
        options={"shape": [2, 3]},
    )
    simplified(
        "reshape",
        [[2, 3]],
        "step",
        "simplify(reshape(x, (3, 2))), x of (2, 3),",
        options={"shape": [3, 2]},
    )
    axes = {"axis1": 0, "axis2": 1}
    simplified(
        "swapaxes",
        [[2, 3]],
        "x",
        "simplify(swapaxes(swapaxes(x, 0, 1), 0, 1))",
        ("swapping the same axes twice gives x"),
        options=axes,
        twice=axes,
    )
    simplified(
        "swapaxes",
        [[3, 3, 3]],
        "step",
        "simplify(swapaxes(swapaxes(x, 0, 1), 1, 2))",
        ("these are other axes"),
        options={"axis1": 1, "axis2": 2},
        twice=axes,
    )
    simplified("swapaxes", [[2, 3]], "step", "simplify(swapaxes(x, 0, 1))", options=axes)
    found = result_of(
        lambda: ruled("simplify", "swapaxes", [np.ones((2, 3))], axes),
        "simplify(swapaxes(an array of constants, 0, 1))",
        "a constant has no `op`: is the input a Node?",
    )
    equal(found, "step", "simplify(swapaxes(an array of constants, 0, 1))")


# %% simplify hidden points=1
def test_hidden_simplification():
    simplified("add", [np.zeros((1, 3), "float32"), [2, 3]], "x1", "0 + x")
    simplified("add", [[1, 3], np.zeros((2, 3), "float32")], "step", "x + zeros")
    simplified("mul", [[2], np.float64([1, 1])], "step", "x * ones of float64")
    simplified("maximum", [[2], 0.0], "step", "maximum(x, 0)")
    simplified("exp", [[2]], "step", "exp(x)")
    folded("maximum", [2.0, [3]], "step", "maximum(2, x)")
    folded("sum", [np.ones((2, 3))], np.full(2, 3.0), "a sum", axis=1)


# %% share points=8
# New Nodes have new numbers, so a second call gives others.
# without the law: again


def test_equal_steps_are_computed_once():
    program = (
        [[2]],
        [
            ["exp", ["a0"], {}],
            ["neg", ["a0"], {}],
            ["exp", ["a0"], {}],
            ["mul", ["t0", "t2"], {}],
            ["add", ["t3", "t1"], {}],
        ],
        ["t4", "t2"],
    )
    steps, outputs = shared_to(program, ["exp", "neg", "mul", "add"], "exp(x) * exp(x) + -x")
    equal(steps[2][1], ["t0", "t0"], "the inputs of mul", "both are the first exp")
    equal(outputs, ["t3", "t0"], "the outputs, of which the second was the second exp")


def test_chains_of_equal_steps_are_shared():
    program = (
        [[2]],
        [
            ["exp", ["a0"], {}],
            ["exp", ["a0"], {}],
            ["neg", ["t0"], {}],
            ["neg", ["t1"], {}],
            ["add", ["t2", "t3"], {}],
        ],
        ["t4"],
    )
    shared_to(
        program,
        ["exp", "neg", "add"],
        "-exp(x) + -exp(x)",
        ("when the rule sees the second neg, its input is already the first exp"),
    )


def test_other_options_are_other_steps():
    program = (
        [[2, 3]],
        [
            ["sum", ["a0"], {"axis": 0, "keepdims": True}],
            ["sum", ["a0"], {"axis": 1, "keepdims": True}],
            ["sub", ["t0", "t1"], {}],
        ],
        ["t2"],
    )
    shared_to(
        program,
        ["sum", "sum", "sub"],
        "the sums over axis 0 and over axis 1",
        ("the options belong to the key"),
    )


def test_the_order_of_inputs_counts():
    program = (
        [[2]],
        [["sub", ["a0", 2.0], {}], ["sub", [2.0, "a0"], {}], ["mul", ["t0", "t1"], {}]],
        ["t2"],
    )
    shared_to(
        program,
        ["sub", "sub", "mul"],
        "(x - 2) * (2 - x)",
        ("x - 2 is not 2 - x: do not sort the inputs"),
    )


def test_constants_of_other_types_are_not_equal():
    program = (
        [np.array([1, 2])],
        [["mul", ["a0", 2], {}], ["mul", ["a0", 2.0], {}], ["add", ["t0", "t1"], {}]],
        ["t2"],
    )
    shared_to(
        program,
        ["mul", "mul", "add"],
        "x * 2 and x * 2.0, x of int64",
        ("2 == 2.0 in Python, but the dtypes of the results differ: use key_of"),
    )


def test_equal_arrays_of_constants_are_equal():
    program = (
        [[2]],
        [
            ["add", ["a0", np.float32([1, 2])], {}],
            ["add", ["a0", np.float32([1, 2])], {}],
            ["add", ["a0", np.float32([1, 3])], {}],
            ["mul", ["t0", "t1"], {}],
            ["mul", ["t3", "t2"], {}],
        ],
        ["t4"],
    )
    shared_to(
        program,
        ["add", "add", "mul", "mul"],
        "x + [1, 2] twice and x + [1, 3]",
        ("key_of(array) is equal for equal arrays"),
    )
    long = np.zeros((2, 2000), "float32")
    long[1, 1000] = 1
    steps = [["add", ["a0", row], {}] for row in long] + [["mul", ["t0", "t1"], {}]]
    shared_to(
        ([[2000]], steps, ["t2"]),
        ["add", "add", "mul"],
        "x + two long arrays",
        "they differ in number 1000, which str(array) leaves out: use key_of",
    )


def test_other_operations_are_other_steps():
    program = (
        [[2]],
        [["exp", ["a0"], {}], ["tanh", ["a0"], {}], ["mul", ["t0", "t1"], {}]],
        ["t2"],
    )
    shared_to(
        program, ["exp", "tanh", "mul"], "exp(x) * tanh(x)", "the operation is in the key"
    )


# %% share hidden points=1
# without the law: again
def test_hidden_sharing():
    program = (
        [[2, 2], [2, 2]],
        [
            ["mul", ["a0", "a1"], {}],
            ["mul", ["a1", "a0"], {}],
            ["mul", ["a0", "a1"], {}],
            ["sum", ["t0"], {"axis": (0, 1)}],
            ["sum", ["t2"], {"axis": (0, 1)}],
            ["add", ["t3", "t4"], {}],
        ],
        ["t5", "t1"],
    )
    shared_to(program, ["mul", "mul", "sum", "add"], "a hidden program")
    shared_to(SOFTMAX, ["max", "sub", "exp", "sum", "div"], "softmax")


# %% same points=8


def test_a_program_is_the_same_as_itself_traced_again():
    compared(
        SOFTMAX,
        SOFTMAX,
        True,
        "softmax and softmax",
        ("the Nodes differ: compare their numbers, not the Nodes"),
    )
    x, y = numbers(2, 3), numbers(2, 3, seed=9)
    a, b = [([z], *SOFTMAX[1:]) for z in (x, y)]
    compared(a, b, True, "softmax, traced with other numbers", "examples do not count")
    compared(SOFTMAX, ELEMENTWISE, False, "softmax and another program")


def test_other_constants_are_seen():
    a = ([[2]], [["mul", ["a0", 0.1], {}]], ["t0"])
    compared(
        a,
        changed(a, 0, inputs=["a0", 0.05]),
        False,
        "x * 0.1 and x * 0.05",
        ("compare the constants among the inputs"),
    )
    masks = np.float32([1, 0, 1]), np.float32([0, 1, 1])
    a, b = [([[3]], [["mul", ["a0", mask], {}]], ["t0"]) for mask in masks]
    compared(
        a,
        b,
        False,
        "x * [1, 0, 1] and x * [0, 1, 1]",
        ("such masks are dropout: it would use the same mask for ever"),
    )
    compared(a, a, True, "x * [1, 0, 1], twice", "equal arrays have an equal key_of")
    cause = "1 == 1.0 in Python, so compare constants by key_of"
    a = ([[2]], [["mul", ["a0", 1], {}]], ["t0"])
    compared(a, changed(a, 0, inputs=["a0", 1.0]), False, "x * 1 and x * 1.0", cause)


def test_other_options_are_seen():
    a = ([[2, 2]], [["sum", ["a0"], {"axis": 0}]], ["t0"])
    compared(a, changed(a, 0, options={"axis": 1}), False, "sums over axis 0 and over axis 1")


def test_other_operations_are_seen():
    a = ([[2]], [["exp", ["a0"], {}]], ["t0"])
    compared(a, changed(a, 0, op="tanh"), False, "exp(x) and tanh(x)", "compare the names")


def test_other_wiring_is_seen():
    a = ([[2], [2]], [["exp", ["a0"], {}], ["sub", ["t0", "a1"], {}]], ["t1"])
    compared(a, changed(a, 1, inputs=["a1", "t0"]), False, "exp(a0) - a1 and a1 - exp(a0)")
    compared(
        a,
        changed(a, 1, inputs=["t0", "a0"]),
        False,
        "exp(a0) - a1 and exp(a0) - a0",
        ("which argument it is counts"),
    )


def test_other_outputs_are_seen():
    arguments, steps, _ = SOFTMAX
    a, b = (arguments, steps, ["t4", "t2"]), (arguments, steps, ["t4", "t3"])
    compared(a, b, False, "softmax with the outputs t4, t2 and t4, t3", "compare the outputs")


def test_a_number_of_steps_is_not_enough():
    a = ([[2]], [["exp", ["a0"], {}], ["neg", ["t0"], {}]], ["t1"])
    longer = ([[2]], [*a[1], ["neg", ["t1"], {}]], ["t2"])
    compared(a, longer, False, "a program, and the same with one more step")
    compared(longer, a, False, "a program, and the same with one step less")


# %% same hidden points=1
def test_hidden_comparisons():
    a = ([[2]], [["mul", ["a0", 1], {}]], ["t0"])
    compared(a, changed(a, 0, inputs=["a0", 1.0]), False, "x * 1 and x * 1.0")
    compared((*a[:2], ["t0", 2.5]), (*a[:2], ["t0", 2.0]), False, "constant outputs")
    compared(DIAMOND, DIAMOND, True, "a diamond")
    compared(DIAMOND, changed(DIAMOND, 2, inputs=["t1", "t0"]), False, "other inputs")


# %% cache points=9
def test_signatures_are_of_shapes_and_dtypes():
    x = np.float32([1, 2])
    found, error = signatures(
        (False, x), (False, x + 1), (False, np.float32([[1, 2]])), (False, x.astype("float64"))
    )
    assert not error, f"a signature should be a key of a dict; yours is not: {error}"
    cause = {
        (True, False, False, False): "the numbers must not count: each batch has others",
        (True, True, True, False): "another shape is another signature",
        (True, True, False, True): "another dtype is another signature",
    }.get(tuple(found[0]), "")
    case = "whether the signature of [1, 2] is that of [1, 2], [2, 3], [[1, 2]], float64 [1, 2]"
    equal(found[0], [True, True, False, False], case, cause)


def test_a_tensor_has_the_signature_of_its_array():
    x = np.float32([1, 2])
    found, error = signatures((True, x), (False, x + 1), (True, np.float32([[1, 2]])))
    assert not error, f"the signature of a Tensor should be a key of a dict: {error}"
    case = (
        "whether Tensor([1, 2]) has the signature of an array [2, 3], and of Tensor([[1, 2]])"
    )
    equal(found[0], [True, True, False], case)


def test_other_arguments_count_by_value_and_type():
    found, error = signatures(
        (False, 1), (False, 1), (False, 2), (False, 1.0), (False, True), (False, "mean")
    )
    assert not error, f"a signature should be a key of a dict; yours is not: {error}"
    case = "whether the signature of 1 is that of 1, 1, 2, 1.0, True, 'mean'"
    cause = "1 == 1.0 == True in Python: the type belongs to it"
    equal(found[0], [True, True, False, False, False, False], case, cause)


def test_a_program_is_used_again():
    f, i = "float32", [32, 2, "float32"]
    calls = [[[n, 2, f], [n, 1, f]] for n in (32, 32, 7, 32, 7)]
    found = result_of(
        lambda: counted_programs("mse", calls),
        "calls with batches of 32, 32, 7, 32 and 7 rows",
        {
            "unhashable": "the key has self.state() and the signature of each argument",
            "program() missing": "apply takes each weight as an argument: *self.weights",
            "positional argument": "build takes one tuple or list: self.build(arguments)",
            "full grid": "apply takes each weight as an argument: *self.weights",
        },
    )
    case = "[functions traced, programs] after batches of 32, 32, 7, 32 and 7 rows"
    wanted = [[1, 1], [1, 1], [2, 2], [2, 2], [2, 2]]
    cause = "a new program is built only for a new key"
    if found[-1] == [5, 5]:
        cause = "are the numbers of the arrays in the key?"
    elif found[-1][0] > found[-1][1]:
        cause = "keep what `build` returns in self.programs, and look there first"
    equal(found, wanted, case, cause)


def test_dtype_mode_and_constants_are_in_the_key():
    f, d = "float32", "float64"
    a, b = [[4, 2, f], [4, 1, f]], [[4, 2, d], [4, 1, d]]
    found = counted_programs("mse", [a, "eval", a, "train", a, b])
    wanted = [[1, 1], [2, 2], [2, 2], [3, 3]]
    case = "[functions traced, programs] after train, eval, train, float64 data"
    equal(found, wanted, case, "the key has self.state() and the signature of each argument")
    found = result_of(
        lambda: counted_programs("scaled", [[*a, 1.0], [*a, 2.0], [*a, 1.0]]),
        "a function with a number as its third argument",
        {"were given": "`arrays` has only the arguments that are arrays, and no numbers"},
    )
    equal(found, [[1, 1], [2, 2], [2, 2]], "... after factor 1.0, 2.0 and 1.0")


def test_losses_and_gradients_are_those_of_the_library():
    batches = [(numbers(4, 2, seed=n), numbers(4, 1, seed=n + 9)) for n in range(3)]
    found, right = result_of(lambda: compiled_losses(batches), "three batches of 4 rows")
    assert right is not None, f"a compiled function should return a Tensor, yours a {found}"
    expect(
        found[0],
        right[0],
        "the losses of three batches",
        ("`arrays` are the arrays of this call, not of the first one"),
        1e-5,
    )
    for a, b in zip(found[1:], right[1:], strict=True):
        expect(a, b, "a gradient, added up over three batches", near=(1e-4, 1e-5))


def test_weights_are_arguments():
    first, a, second, b = follows_weights(numbers(2, 3))
    expect(first, a, "the sum of model(x)", near=1e-5)
    expect(
        second,
        b,
        "the sum of model(x) after the weights changed",
        ("pass *self.weights to apply, as Tensors"),
        1e-4,
    )


def test_the_tensors_of_a_model_without_gradients_are_followed():
    first, a, second, b = result_of(
        lambda: follows_others(numbers(2, 3)),
        "compile(model)(x)",
        "the arrays of self.others come after the arguments",
        (Exception,),
    )
    expect(first, a, "compile(model)(x)", near=1e-5)
    expect(
        second,
        b,
        "compile(model)(x) after the weights changed",
        ("the arrays of self.others are taken at each call"),
        1e-4,
    )


# %% cache hidden points=2
def test_hidden_modes():
    right, after = modes(numbers(2, 3))
    assert right, "in eval() the result should be equal to the library's"
    equal(after, "refused", "a compiled model with dropout after train()")


def test_hidden_counts():
    f, i = "float32", "int64"
    a = [[4, 2, f], [4, 1, f]]
    found = counted_programs("scaled", [[*a, 1], [*a, 1.0], [*a, 1], "double", [*a, 1]])
    equal([programs for _, programs in found], [1, 2, 2, 3], "hidden counts")


# %% bytes-moved points=7
def test_single_steps_read_and_write():
    program = ([[4, 8]], [["mul", ["a0", "a0"], {}], ["exp", ["t0"], {}]], ["t1"])
    found = result_of(
        lambda: moved(program, [["t0"], ["t1"]]),
        "exp(x * x), not fused",
        {"unhashable type: 'list'": "a list is no key; take each group once, by its id"},
    )
    causes = {
        640: "x is read once by x * x, although it is both inputs",
        384: "t0 is written by its group, and read by the next one",
        256: "t0 is needed by another group: it is written, and read again",
        128: "these are elements; an element of float32 has 4 bytes: see nbytes",
    }
    case = "the bytes of exp(x * x), x of (4, 8), with one group for each step"
    equal(found, 512, case, causes.get(found, ""))


def test_a_group_keeps_its_results():
    program = ([[4, 8]], [["mul", ["a0", "a0"], {}], ["exp", ["t0"], {}]], ["t1"])
    found = moved(program, [["t0", "t1"]])
    causes = {
        512: "a result that only its own group reads is neither written nor read",
        384: "t0 is not written, or not read: only its own group needs it",
        128: "the group reads x and writes t1",
    }
    equal(
        found, 256, "the bytes of exp(x * x) in one group, x of (4, 8)", causes.get(found, "")
    )


def test_outputs_are_written():
    program = ([[4, 8]], [["mul", ["a0", "a0"], {}], ["exp", ["t0"], {}]], ["t1", "t0"])
    equal(
        moved(program, [["t0", "t1"]]),
        384,
        ("the bytes of exp(x * x) in one group, when x * x is an output, too,"),
        "an output is written, although its group needs it",
    )


def test_an_array_is_read_once_by_a_group():
    program = (
        [[4, 8]],
        [["exp", ["a0"], {}], ["neg", ["a0"], {}], ["add", ["t0", "t1"], {}]],
        ["t2"],
    )
    equal(
        moved(program, [["t0", "t1", "t2"]]),
        256,
        ("the bytes of exp(x) + -x in one group"),
        "two steps of the group read x: it counts once",
    )
    equal(
        moved(program, [["t0"], ["t1"], ["t2"]]),
        896,
        ("the bytes of exp(x) + -x in three groups"),
        "each group reads what it needs",
    )


def test_shapes_and_constants():
    program = (
        [[4, 8], [8]],
        [["add", ["a0", "a1"], {}], ["mul", ["t0", 2.0], {}], ["sum", ["t1"], {"axis": 1}]],
        ["t2"],
    )
    found = moved(program, [["t0", "t1", "t2"]])
    equal(
        found,
        128 + 32 + 16,
        "the bytes of ((x + row) * 2).sum(1) in one group",
        ("each array has its own nbytes, and the constant 2.0 none"),
    )
    program = ([[4, 8]], [["exp", ["a0"], {}], ["add", ["t0", numbers(8)], {}]], ["t1"])
    found = result_of(
        lambda: moved(program, [["t0", "t1"]]),
        "exp(x) + an array of constants",
        "`in` compares an array number by number: look only at Nodes, see only_nodes",
    )
    equal(found, 256, "the bytes of exp(x) + an array of constants", "constants cost nothing")


def test_views_cost_nothing():
    program = (
        [[4, 8]],
        [["swapaxes", ["a0"], {"axis1": 0, "axis2": 1}], ["exp", ["t0"], {}]],
        ["t1"],
    )
    found = moved(program, [["t0"], ["t1"]])
    equal(found, 256, "the bytes of exp of a swapped x", "a group whose first step is in VIEWS")


# %% bytes-moved hidden points=1
def test_hidden_bytes():
    row = 2 * 4
    parts = [["t0"], ["t1", "t2", "t3"], ["t4"]]
    wanted = (24 + row) + (24 + row + 24 + row) + (24 + row + 24)
    equal(moved(SOFTMAX, parts), wanted, "softmax")
    equal(
        moved(SOFTMAX, [[f"t{n}"] for n in range(5)]), 32 + 56 + 48 + 32 + 56, "softmax, single"
    )
    equal(moved(DIAMOND, [["t0"], ["t1"], ["t2", "t3"]]), 72 + 108 + 108, "a diamond")


# %% groups points=10


def test_levels_of_softmax():
    leveled(
        SOFTMAX,
        [0, 1, 1, 1, 2],
        "softmax (max, sub, exp, sum, div)",
        ("sub waits for max, and div waits for sum; exp and sum wait for nothing"),
    )


def test_levels_of_a_diamond():
    leveled(
        DIAMOND,
        [0, 1, 2, 2],
        "exp, matmul, add(exp, matmul), tanh",
        ("the level is the largest of all inputs: add waits for matmul, which waits for exp"),
    )


def test_arguments_have_no_level():
    leveled(ELEMENTWISE, [0, 0, 0], "tanh(x * x + row)", "no step waits for an argument")
    program = ([[2, 3]], [["exp", ["a0"], {}], ["add", ["t0", numbers(3)], {}]], ["t1"])
    leveled(program, [0, 0], "exp(x) + an array of constants")


def test_a_view_has_no_loops():
    program = (
        [[2, 3]],
        [
            ["exp", ["a0"], {}],
            ["swapaxes", ["t0"], {"axis1": 0, "axis2": 1}],
            ["neg", ["t1"], {}],
        ],
        ["t2"],
    )
    leveled(
        program,
        [0, 1, 1],
        "exp, swapaxes, neg",
        ("the view waits for exp, and neg does not wait for the view"),
    )


def test_elementwise_steps_are_one_group():
    grouped(ELEMENTWISE, [["t0", "t1", "t2"]], "tanh(x * x + row)")
    program = (
        [[3]],
        [["exp", ["a0"], {}], ["neg", ["a0"], {}], ["add", ["t0", "t1"], {}]],
        ["t2"],
    )
    grouped(
        program,
        [["t0", "t1", "t2"]],
        "exp(x) + -x",
        ("add joins both: their groups become one, for all their members"),
    )


def test_groups_of_softmax():
    grouped(
        SOFTMAX,
        [["t0"], ["t1", "t2", "t3"], ["t4"]],
        "softmax",
        ("the division needs the complete sum, so it begins in new loops"),
    )


def test_groups_of_a_diamond():
    grouped(
        DIAMOND,
        [["t0"], ["t1"], ["t2", "t3"]],
        "a diamond through a matmul",
        (
            "add joins exp by its shape, but it must wait for matmul, which waits for exp: "
            "only steps of one level are in a group"
        ),
    )
    steps = [["exp", ["a0"], {}], ["mul", ["t0", 2.0], {}], ["add", ["t0", "t1"], {}]]
    program = ([[2, 3]], steps, ["t2"])
    grouped(program, [["t0", "t1", "t2"]], "exp(x) + 2 exp(x)", "it is one group")


def test_other_shapes_have_other_loops():
    program = (
        [[3], [2, 3]],
        [["exp", ["a0"], {}], ["add", ["t0", "a1"], {}], ["neg", ["t1"], {}]],
        ["t2"],
    )
    grouped(
        program,
        [["t0"], ["t1", "t2"]],
        "exp(row) + x, then neg",
        ("exp loops over (3,), add over (2, 3)"),
    )
    grouped(
        ([[3], [2, 3]], [["exp", ["a0"], {}], ["neg", ["a1"], {}]], ["t0", "t1"]),
        [["t0"], ["t1"]],
        "exp(x) and -y, two outputs",
        "a step joins the group of an input: one level is not enough",
    )


def test_several_groups_are_joined():
    steps = [["exp", ["a0"], {}], ["neg", ["a1"], {}], ["tanh", ["a0"], {}]]
    steps += [["add", ["t0", "t1"], {}], ["mul", ["t3", "t2"], {}]]
    steps += [["sum", ["t4"], {"axis": 0}]]
    names = [[f"t{n}" for n in range(6)]]
    grouped(
        ([[3], [3]], steps, ["t5"]),
        names,
        "sum((exp(x) + -y) * tanh(x))",
        ("when two groups become one, all members of both need the same list"),
    )
    steps = [["exp", ["a0"], {}], ["mul", ["t0", "t0"], {}], ["add", ["t1", numbers(3)], {}]]
    grouped(
        ([[3]], steps, ["t2"]),
        [["t0", "t1", "t2"]],
        "exp(x) ** 2 + an array of constants",
        "t0 is both inputs of mul, and is once in the list",
    )


# %% groups hidden points=1
def test_hidden_groups():
    equal(traced_groups("softmax"), [1, 1, 3], "softmax")
    equal(traced_groups("gelu"), [9], "gelu")
    program = (
        [[2, 3]],
        [
            ["exp", ["a0"], {}],
            ["sum", ["t0"], {"axis": 0}],
            ["neg", ["a0"], {}],
            ["mul", ["t2", "t1"], {}],
            ["sum", ["t3"], {"axis": 1}],
            ["maximum", ["t0", 0.0], {}],
        ],
        ["t4", "t5"],
    )
    leveled(program, [0, 0, 0, 1, 1, 0], "a hidden program")
    grouped(program, [["t0", "t1", "t5"], ["t2"], ["t3", "t4"]], "a hidden program")


# %% view-strides points=6


def test_swapped_axes_have_swapped_strides():
    axes = {"axis1": 0, "axis2": 1}
    strided("swapaxes", (2, 3), (3, 1), axes, (1, 3), {(3, 1): "the strides are swapped, too"})
    strided("swapaxes", (2, 3, 4), (12, 4, 1), {"axis1": 0, "axis2": 2}, (1, 4, 12))
    strided(
        "swapaxes",
        (2, 3, 4),
        (12, 4, 1),
        {"axis1": 1, "axis2": 2},
        (12, 1, 4),
        ("only the two named axes are swapped"),
    )
    strided("swapaxes", (3, 2), (1, 3), axes, (3, 1), "swap the strides that are given")


def test_broadcast_axes_have_stride_0():
    strided(
        "broadcast_to",
        (3,),
        (1,),
        {"shape": (2, 3)},
        (0, 1),
        {
            (1,): "a new axis also has a stride: 0",
            (0,): "a new axis also has a stride: 0; the others are compared from the right",
            (1, 0): "new axes are at the left",
            (3, 1): "each row reads the same memory: a stride of 0",
        },
    )
    strided(
        "broadcast_to",
        (2, 1),
        (1, 1),
        {"shape": (2, 3)},
        (1, 0),
        {
            (1, 1): "an axis of length 1 that is broadcast is read again and again: stride 0",
        },
    )
    strided(
        "broadcast_to",
        (2, 3),
        (1, 2),
        {"shape": (4, 2, 3)},
        (0, 1, 2),
        ("the strides of x stay what they are"),
    )


def test_a_reshape_of_an_array_in_order_is_a_view():
    strided(
        "reshape",
        (2, 6),
        (6, 1),
        {"shape": (3, 4)},
        (4, 1),
        {
            None: "x lies in row-major order, so no copy is needed",
            (6, 1): "the strides belong to the new shape",
        },
    )
    strided("reshape", (2, 3), (3, 1), {"shape": (6,)}, (1,))
    strided("reshape", (4, 3), (3, 1), {"shape": (2, -1)}, (6, 1), "see node.shape: -1 is 6")


def test_a_reshape_of_another_order_is_a_copy():
    strided(
        "reshape",
        (3, 2),
        (1, 3),
        {"shape": (6,)},
        None,
        ("after swapaxes, the elements do not lie in the order of the new array"),
    )
    strided("reshape", (2, 3), (0, 1), {"shape": (6,)}, None, "x has only 3 elements")
    strided("reshape", (3, 2), (2, 1), {"shape": (6,)}, (1,), "this x lies in row-major order")


def test_steps_of_other_kinds_are_no_views():
    strided("exp", (2, 3), (3, 1), {}, None, "exp computes new numbers")
    strided("sum", (2, 3), (3, 1), {"axis": 0}, None)
    strided("swapaxes", (2, 3), (3, 1), {"axis1": 0, "axis2": 1}, (1, 3))


# %% view-strides hidden points=1
def test_hidden_strides():
    strided("transpose", (2, 3, 4), (12, 4, 1), {"axes": (2, 0, 1)}, (1, 12, 4))
    strided("broadcast_to", (1, 3), (7, 2), {"shape": (5, 4, 3)}, (0, 0, 2))
    strided("swapaxes", (4, 2, 3), (0, 1, 2), {"axis1": 0, "axis2": 2}, (2, 1, 0))
    strided("reshape", (2, 3, 4), (12, 4, 1), {"shape": (6, 4)}, (4, 1))


# %% plan points=7
def test_arrays_at_different_times_use_the_same_place():
    offsets, total = plan_of([(10, 0, 1), (10, 2, 3), (10, 4, 5)])
    assert offsets == [0, 0, 0] and total == 10, (
        "three arrays of 10 bytes, alive one after the other (0 to 1, 2 to 3, 4 to 5): all fit "
        "at "
        f"offset 0, 10 bytes in all; yours: offsets {offsets}, {total} bytes"
    )


def test_both_ends_belong_to_a_lifetime():
    offsets, total = plan_of([(10, 0, 2), (10, 2, 3)])
    assert total == 20 and sorted(offsets) == [0, 10], (
        "one array is alive from 0 to 2, the other from 2 to 3: both are alive at time 2, so "
        "20 bytes "
        f"are needed; yours: offsets {offsets}, {total} bytes. Both ends belong to a lifetime"
    )


def test_arrays_that_are_alive_together_do_not_overlap():
    cases = [
        [(10, 0, 5), (10, 1, 2), (10, 3, 4)],
        [(30, 0, 2), (20, 1, 4), (10, 3, 6), (25, 5, 8), (5, 0, 8)],
        [(4, 0, 9), (4, 0, 9), (4, 0, 9)],
        [(1, 0, 3), (5, 2, 6), (3, 1, 4), (3, 5, 7), (4, 0, 1)],
    ]
    for arrays in cases:
        offsets, total = plan_of(arrays)
        wrong = clashes(arrays, offsets)
        assert not wrong, (
            f"plan({arrays}) puts arrays {wrong[0][0]} and {wrong[0][1]} at the offsets "
            f"{offsets[wrong[0][0]]} and {offsets[wrong[0][1]]}: they overlap, and are alive "
            "at a "
            "common time"
        )
        assert min(offsets) >= 0, f"plan({arrays}) has a negative offset: {offsets}"
        end = max(o + size for o, (size, *_) in zip(offsets, arrays, strict=True))
        assert total == end, (
            f"plan({arrays}) gives the offsets {offsets}: the largest end is {end}, yours says "
            f"{total}"
        )


def test_offsets_are_in_the_order_of_the_list():
    offsets, total = plan_of([(5, 0, 1), (20, 0, 1), (10, 0, 1)])
    assert offsets == [30, 0, 20], (
        "sizes 5, 20 and 10, all alive together, placed from the largest to the smallest: 20 "
        "at 0, 10 "
        f"at 20, 5 at 30. In the order of the list that is [30, 0, 20]; yours is {offsets}"
    )
    offsets, _ = plan_of([(4, 0, 9), (6, 0, 9), (4, 0, 9)])
    assert offsets == [6, 0, 10], (
        "sizes 4, 6 and 4, all alive together: those of equal size are placed in the order of "
        f"the list, which gives [6, 0, 10]; yours is {offsets}"
    )


def test_a_gap_between_placed_arrays_is_used():
    arrays = [(30, 0, 9), (20, 0, 2), (19, 5, 9), (18, 1, 6)]
    offsets, total = plan_of(arrays)
    assert offsets == [0, 30, 30, 50] and total == 68, (
        f"plan({arrays}) should be ([0, 30, 30, 50], 68), yours is ({offsets}, {total})"
    )
    arrays = [(20, 0, 1), (19, 0, 5), (18, 0, 5), (17, 3, 5), (1, 4, 5)]
    offsets, total = plan_of(arrays)
    assert offsets[3] == 0 and offsets[4] == 17, (
        f"plan({arrays}): at times 3 to 5 the bytes 0 to 20 are free again, since the first "
        "array is "
        "no longer alive. The array of 17 bytes fits there, at 0, and the one of 1 byte behind "
        "it, at "
        f"17; yours are at {offsets[3]} and {offsets[4]}"
    )


def test_a_gap_that_is_too_small_is_not_used():
    arrays = [(10, 0, 1), (5, 2, 2), (4, 2, 2), (3, 0, 2)]
    offsets, total = plan_of(arrays)
    assert offsets == [0, 0, 5, 10], (
        f"plan({arrays}) should give the offsets [0, 0, 5, 10], yours are {offsets}: the array "
        "of 3 bytes is alive with the bytes 0 to 10, 0 to 5 and 5 to 9. An end may lie below "
        "the offset that was reached before"
    )
    arrays = [(20, 0, 1), (19, 0, 5), (18, 1, 5), (12, 4, 5), (9, 3, 5), (8, 3, 5)]
    offsets, total = plan_of(arrays)
    assert not clashes(arrays, offsets), f"plan({arrays}) gives overlapping offsets {offsets}"
    assert offsets == [0, 20, 39, 0, 57, 12], (
        f"plan({arrays}) should give the offsets [0, 20, 39, 0, 57, 12], yours are {offsets}: "
        "take "
        "the lowest gap that is large enough, and look at the gaps in the order of their "
        "offsets"
    )


def test_the_block_is_nearly_as_small_as_possible():
    rng = np.random.default_rng(0)
    for _ in range(5):
        first = rng.integers(0, 40, 60)
        arrays = [
            (int(size), int(f), int(f + n))
            for size, f, n in zip(
                rng.integers(1, 100, 60), first, rng.integers(0, 12, 60), strict=True
            )
        ]
        offsets, total = plan_of(arrays)
        least = max(alive(arrays, t) for t in range(60))
        assert not clashes(arrays, offsets), "60 random arrays: some overlap"
        assert total <= 1.5 * least, (
            f"60 random arrays, of which at most {least} bytes are alive at one time: yours "
            "needs "
            f"{total} bytes. Place the largest first, each at the lowest offset where it fits"
        )


# %% plan polish points=0
def test_a_plan_without_arrays():
    assert plan_of([]) == ([], 0), f"plan([]) should be ([], 0), yours is {plan_of([])}"


# %% plan hidden points=2
def test_hidden_plans():
    for arrays, wanted in [
        ([(8, 0, 0)], ([0], 8)),
        ([(3, 0, 4), (3, 4, 4), (3, 5, 9)], ([0, 3, 0], 6)),
        ([(2, 0, 9), (7, 1, 2), (6, 2, 3), (5, 3, 4)], ([13, 0, 7, 0], 15)),
        ([(9, 0, 3), (8, 2, 5), (7, 4, 8), (6, 6, 9), (5, 0, 9)], ([0, 9, 0, 7, 17], 22)),
    ]:
        assert plan_of(arrays) == wanted, f"plan({arrays})"


# %% arena points=6


def test_memory_is_used_again():
    offsets, size = planned(PRODUCTS, "four matrix products of 4 x 4 in a row")
    equal(sorted(offsets), ["t0", "t1", "t2"], "the results with a place (t3 is the output)")
    causes = {
        192: "t0 is not needed any more when t2 is computed: they can share a place",
        64: "while t1 is computed, t0 is still read: both are alive",
        32: "an element has 4 bytes",
    }
    equal(size, 128, "the bytes for four products in a row", causes.get(size, ""))
    assert offsets["t0"] == offsets["t2"] != offsets["t1"], (
        f"t0 and t2 can share a place, and t1 needs another one; yours are {offsets}"
    )


def test_a_condition_has_the_memory_of_floats():
    steps = [["greater", ["a0", 0.5], {}], ["matmul", ["a0", "a0"], {}]]
    program = ([[4, 4]], [*steps, ["where", ["t0", "t1", 0.0], {}]], ["t2"])
    case = "the bytes for where(x > 0.5, x @ x, 0), x of (4, 4)"
    _, size = planned(program, case)
    cause = "the loops keep conditions as float32, too: 4 bytes for each element, not nbytes"
    equal(size, 128, case, cause)


def test_an_array_is_alive_until_its_last_reader():
    program = (
        [[4, 4]],
        [*PRODUCTS[1][:3], ["matmul", ["t2", "t0"], {}]],
        ["t3"],
    )
    offsets, size = planned(program, "four products, of which the last one reads t0 again")
    equal(
        size,
        192,
        "the bytes for four products, of which the last one reads t0 again",
        ("t0 is alive until the last group that reads it, not until the first"),
    )


def test_a_view_keeps_its_array_alive():
    program = (
        [[4, 4]],
        [
            ["matmul", ["a0", "a0"], {}],
            ["swapaxes", ["t0"], {"axis1": 0, "axis2": 1}],
            ["matmul", ["a0", "a0"], {}],
            ["matmul", ["t2", "a0"], {}],
            ["matmul", ["t3", "t1"], {}],
        ],
        ["t4"],
    )
    offsets, size = planned(program, "a program that reads a view of t0 at its end")
    equal(sorted(offsets), ["t0", "t2", "t3"], "the results with a place", "a view has none")
    equal(
        size,
        192,
        "the bytes of a program that reads a view of t0 at its end",
        ("who reads the view reads the array behind it: see layout.array"),
    )


def test_an_output_that_is_a_view_lives_to_the_end():
    program = (
        [[4, 4]],
        [
            ["matmul", ["a0", "a0"], {}],
            ["swapaxes", ["t0"], {"axis1": 0, "axis2": 1}],
            ["matmul", ["a0", "t0"], {}],
            ["matmul", ["t2", "a0"], {}],
            ["matmul", ["t3", "a0"], {}],
        ],
        ["t4", "t1"],
    )
    offsets, size = planned(program, "a program whose second output is a view of t0")
    equal(
        size,
        192,
        "the bytes of a program whose second output is a view of t0",
        ("an output is read after the last group: its array lives to len(layout.order)"),
    )
    _, size = result_of(
        lambda: arena_of((*PRODUCTS[:2], ["t3", 2.5])),
        "the outputs t3 and 2.5",
        "an output may be a constant, which is in no array",
    )
    equal(size, 128, "the bytes for four products in a row, and an output 2.5")


def test_time_counts_in_groups():
    program = (
        [[4, 4]],
        [
            ["exp", ["a0"], {}],
            ["matmul", ["t0", "a0"], {}],
            ["neg", ["t1"], {}],
            ["tanh", ["t2"], {}],
            ["matmul", ["t3", "a0"], {}],
        ],
        ["t4"],
    )
    offsets, size = planned(program, "exp, matmul, neg and tanh, matmul")
    equal(
        sorted(offsets),
        ["t0", "t1", "t3"],
        "the results with a place",
        ("neg and tanh are one group: no other group reads neg"),
    )
    equal(size, 128, "the bytes of exp, matmul, neg and tanh, matmul", "the time of a group")


# %% arena hidden points=1
def test_hidden_memory():
    offsets, size = arena_of(SOFTMAX)
    equal(sorted(offsets), ["t0", "t2", "t3"], "softmax")
    equal(size, 24 + 8 + 8, "softmax")
    equal(arena_of(ELEMENTWISE), ({}, 0), "one group")
    offsets, size = arena_of(DIAMOND)
    equal(size, 72, "a diamond")


# %% nest points=8


def test_elementwise_steps_share_loops():
    lines = result_of(
        lambda: loops_of(ELEMENTWISE),
        "the loops for tanh(x * x + row)",
        "a step of the group has no place in memory: read(x, shape, group) gives its variable",
    )
    equal(
        sum(line.strip().startswith("for ") for line in lines),
        2,
        ("the number of loops for tanh(x * x + row) of (2, 3)"),
        "all steps of a group are in the same loops",
    )
    loops_compute(ELEMENTWISE, "tanh(x * x + row)")


def test_results_that_others_need_are_stored():
    program = ([[2, 3]], [["exp", ["a0"], {}], ["neg", ["t0"], {}]], ["t1", "t0"])
    loops_compute(
        program,
        "exp(x) and -exp(x), both outputs",
        ("a step in self.stored writes its variable into memory"),
    )
    loops_compute(DIAMOND, "a diamond through a matmul")


def test_results_that_nobody_needs_are_not_stored():
    lines = loops_of(ELEMENTWISE)
    equal(
        sum("o0[" in line or "m[" in line for line in lines),
        1,
        ("the lines of tanh(x * x + row) that write to memory"),
        "only a step in self.stored is written",
    )


def test_reductions_over_each_axis():
    for axis in (0, 1, None, (0, 2), -1):
        shape = (2, 3, 2) if axis == (0, 2) else (2, 3)
        program = ([shape], [["sum", ["a0"], {"axis": axis}]], ["t0"])
        loops_compute(
            program,
            f"the sum of {shape} over axis {axis}",
            (
                "set all totals to START[node.op], in loops over the axes that are kept, "
                "before the loops that add"
            ),
        )


def test_totals_are_set_once():
    program = ([[2, 3]], [["sum", ["a0"], {"axis": 1}]], ["t0"])
    lines = result_of(lambda: loops_of(program), "the loops for the sum of (2, 3) over axis 1")
    found = sum(line.strip().startswith("for ") for line in lines)
    case = "the number of loops for the sum of (2, 3) over axis 1"
    equal(found, 3, case, "one to set the 2 totals, and two to add: see self.kept_axes")


def test_a_maximum_begins_at_minus_infinity():
    program = ([[2, 3]], [["neg", ["t0"], {}]], ["t1"])
    program = (
        [[2, 3]],
        [["mul", ["a0", "a0"], {}], ["neg", ["t0"], {}], ["max", ["t1"], {"axis": 1}]],
        ["t2"],
    )
    loops_compute(
        program,
        "the largest of some negative numbers",
        (
            "a maximum begins at START[np.maximum.reduce], which is -inf, and is combined by "
            "np.maximum; `node.op is np.maximum.reduce` is always False: compare by =="
        ),
    )


def test_a_reduction_of_computed_numbers():
    program = (
        [[3, 4], [4]],
        [
            ["mul", ["a0", "a1"], {}],
            ["tanh", ["t0"], {}],
            ["sum", ["t1"], {"axis": 0}],
            ["sum", ["t1"], {"axis": 1}],
        ],
        ["t2", "t3", "t1"],
    )
    loops_compute(program, "two sums of tanh(x * row), which is an output, too")


def test_softmax_in_loops():
    loops_compute(SOFTMAX, "softmax of (2, 3)")


# %% nest hidden points=1
def test_hidden_loops():
    program = (
        [[2, 3], [3, 2]],
        [
            ["swapaxes", ["a1"], {"axis1": 0, "axis2": 1}],
            ["add", ["a0", "t0"], {}],
            ["greater", ["t1", 0.5], {}],
            ["where", ["t2", "t1", 0.0], {}],
            ["sum", ["t3"], {"axis": None}],
            ["broadcast_to", ["t4"], {"shape": (2, 3)}],
            ["mul", ["t5", "t1"], {}],
        ],
        ["t6", "t4"],
    )
    loops_compute(program, "a hidden program")
    for rows in (1, 4):
        found, right = looped_step(rows)
        for a, b in zip(found, right, strict=True):
            expect(a, b, "a hidden step", near=(1e-4, 1e-5))

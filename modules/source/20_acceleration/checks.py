# The checks of lesson 20, by exercise. `check("plan")` in the chapter runs the visible ones.

# %% setup
import math

import numpy as np

from checking import alike, because, expect, result_of, shown

NEAR = (1e-5, 1e-6)


def matrices(n, k, m, seed=0, dtype="float64"):
    """Two random matrices of shapes (n, k) and (k, m), with whole numbers."""
    rng = np.random.default_rng(seed)
    return (rng.integers(-9, 10, shape).astype(dtype) for shape in ((n, k), (k, m)))


def product_by_hand(a, b):
    """The matrix product, one element at a time."""
    return np.array(
        [[sum(x * y for x, y in zip(row, column, strict=True)) for column in b.T] for row in a]
    )


NOT_SET = "np.empty does not set the numbers of an array: begin with zeros"


def blocked_causes(a, b, block):
    """{the cause of a wrong product in blocks: what one gets by it}."""
    last = (a.shape[1] - 1) // block * block
    return {
        NOT_SET: np.full((len(a), b.shape[1]), np.nan),
        "Only the last block along k counts: add them, += instead of =": product_by_hand(
            a[:, last:], b[last:]
        )
        if last
        else np.zeros(0),
    }


def gelu_by_hand(x):
    """GELU of each number, with Python's math."""
    c = math.sqrt(2 / math.pi)
    values = [0.5 * v * (1 + math.tanh(c * (v + 0.044715 * v**3))) for v in x.ravel().tolist()]
    return np.array(values).reshape(x.shape)


GELU_CAUSES = "the formula is 0.5 x (1 + tanh((0.044715 c x² + c) x)) with c = sqrt(2 / π)"


def gradients_by_hand(x, y, weights, bias):
    """The gradients of the mean squared error of x @ weights + bias, and this error."""
    errors = x @ weights + bias - y
    scale = 2 / errors.size
    return [scale * x.T @ errors, scale * errors.sum(0)], float((errors**2).mean())


def regression(rows, seed=0):
    """x (rows, 3), y (rows, 2), weights (3, 2) and bias (2,): random whole numbers, float32."""
    rng = np.random.default_rng(seed)
    shapes = (rows, 3), (rows, 2), (3, 2), (2,)
    return [rng.integers(-5, 6, shape).astype("float32") for shape in shapes]


def story(*actions):
    """`pool_story`; an error becomes a message with its likely cause."""
    bytes_of = (
        "has the block as many bytes as the array needs: math.prod(shape) times itemsize?"
    )
    causes = {"reshape": bytes_of, "larger dtype": bytes_of, "smaller dtype": bytes_of}
    case = "a new pool: " + ", ".join(" ".join(map(str, action)) for action in actions)
    return result_of(lambda: pool_story(*actions), case, causes)


# %% learner-side
import contextlib
import math
import tracemalloc

from checking import refusal
from tinytorch.core.layers import Dense
from tinytorch.core.losses import mse_loss
from tinytorch.core.optimizers import SGD
from tinytorch.core.tensor import Tensor, Variable


class Watched(np.ndarray):
    """An array that records the shapes of all matrix products in which it takes part."""

    products, elementwise, powers = [], [], []

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if ufunc in (np.matmul, getattr(np, "vecdot", None)):
            self.products.append([list(np.shape(x)) for x in inputs])
        if ufunc in (np.power, np.float_power) and np.asarray(inputs[1]).flat[0] != 2:
            self.powers.append(f"np.{ufunc.__name__}(..., {np.asarray(inputs[1]).flat[0]:g})")
        plain = [x.view(np.ndarray) if isinstance(x, Watched) else x for x in inputs]
        out = options.get("out")
        if out:
            options["out"] = tuple(
                [x.view(np.ndarray) if isinstance(x, Watched) else x for x in out]
            )
        result = getattr(ufunc, method)(*plain, **options)
        if ufunc is np.multiply:
            self.elementwise.append(list(np.shape(result)))
        if out:
            return out[0]
        return result.view(Watched) if isinstance(result, np.ndarray) else result

    def __array_function__(self, function, types, inputs, options):
        if function in (np.dot, np.einsum, np.tensordot, np.inner, np.vdot):
            arrays = [x for x in inputs if isinstance(x, np.ndarray)]
            self.products.append([list(np.shape(x)) for x in arrays])
        return super().__array_function__(function, types, inputs, options)

    def dot(self, other):
        return np.dot(self, other)


@contextlib.contextmanager
def nan_in_empty_arrays():
    """A block in which arrays of floats by np.empty and np.empty_like are full of nan."""
    originals = {name: getattr(np, name) for name in ("empty", "empty_like")}

    def with_nan(function):
        def made(*given, **options):
            array = function(*given, **options)
            if array.dtype.kind == "f":
                array[...] = np.nan
            return array

        return made

    try:
        for name, function in originals.items():
            setattr(np, name, with_nan(function))
        yield
    finally:
        for name, function in originals.items():
            setattr(np, name, function)


def watched_product(name, a, b, *options):
    """What a matrix product returns; and the shapes of all products that NumPy computed."""
    Watched.products.clear()
    function = {
        "outer": lambda *given: matmul_outer(*given),
        "blocked": lambda *given: matmul_blocked(*given),
    }[name]
    with nan_in_empty_arrays():
        out = function(a.view(Watched), b.view(Watched), *options)
    return np.array(out) if isinstance(out, np.ndarray) else out, list(Watched.products)


def elementwise_products(a, b):
    """The shapes of all arrays that matmul_outer computes by `*` from its inputs."""
    Watched.elementwise.clear()
    matmul_outer(a.view(Watched), b.view(Watched))
    return list(Watched.elementwise)


def foreign_arrays_accepted():
    """Take arrays and delete them; how many of 100 other arrays `give` then accepts."""
    pool = Buffers()
    for _ in range(20):
        pool.take((3,))
    others = [np.empty(3, "float32") for _ in range(100)]
    return sum(not "".join(refusal(pool.give, other)) for other in others)


def steps_and_list(lengths, *options):
    """What steps_needed returns, and its list afterwards."""
    return steps_needed(lengths, *options), lengths


def pool_story(*actions):
    """Do something with a new pool. An action is ["take", shape, dtype], ["give", i], where i
    is the number of a taken array, ["give a view", i], or ["give another", shape].

    returns  for each take [shape, dtype, the numbers of the arrays taken before that share its
             memory]; for each give what it raised, or ""; and the peak after each action
    """
    pool, taken, results, peaks = Buffers(), [], [], []
    for action, first, *rest in actions:
        if action == "take":
            array = pool.take(tuple(first), *rest)
            if not isinstance(array, np.ndarray):
                results.append(type(array).__name__)
                taken.append(np.empty(0))
                continue
            shared = [i for i, other in enumerate(taken) if np.shares_memory(array, other)]
            taken.append(array)
            results.append([list(array.shape), array.dtype.name, shared])
        else:
            given = {
                "give": lambda i: taken[i],
                "give a view": lambda i: taken[i][:],
                "give another": lambda shape: np.empty(shape, "float32"),
            }
            results.append(": ".join(filter(None, refusal(pool.give, given[action](first)))))
        peaks.append(pool.peak)
    return results, peaks


def numbers_in_pool():
    """Two arrays that are taken, with numbers; what they hold at the end."""
    pool = Buffers()
    a, b = pool.take((3,)), pool.take((3,))
    a[...], b[...] = 1, 2
    return a.tolist(), b.tolist()


def into(x, alias=False, blocks=None):
    """GELU of x, by gelu_into or, with `blocks`, gelu_fused: the result, whether it is the
    array `out`, x afterwards, the bytes that were allocated, and what a pool was asked for."""
    x = np.array(x)
    before, out, scratch = x.copy(), np.full_like(x, np.nan), np.full_like(x, np.nan)
    out, pool = x if alias else out, RecordingPool()
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        start = tracemalloc.get_traced_memory()[0]
        if blocks is None:
            result = gelu_into(x, out, scratch)
        else:
            result = gelu_fused(x, out, pool, *blocks)
        allocated = tracemalloc.get_traced_memory()[1] - start
    finally:
        tracemalloc.stop()
    unchanged = alias or bool(np.array_equal(x, before))
    return (
        np.array(out),
        result is out,
        unchanged,
        allocated - pool.bytes,
        pool.taken,
        pool.given,
    )


def powers_in_gelu(x):
    """The calls of np.power and np.float_power by gelu_into, without squares, as texts, and
    what it writes into `out`."""
    Watched.powers.clear()
    out = np.full_like(x, np.nan)
    gelu_into(*(array.view(Watched) for array in (x.copy(), out, np.full_like(x, np.nan))))
    return list(Watched.powers), out


class RecordingPool:
    """A pool that hands out new arrays of nan, and records all calls."""

    def __init__(self):
        self.taken, self.given, self.bytes, self.arrays = [], [], 0, []

    def take(self, shape, dtype=np.float32):
        array = np.full(shape, np.nan, dtype)
        self.bytes += array.nbytes
        self.arrays.append(array)
        self.taken.append([list(array.shape), array.dtype.name])
        return array

    def give(self, array):
        self.given.append([i for i, taken in enumerate(self.arrays) if taken is array])


def raced(variants, rounds, **options):
    """What `ladder` returns for {name: (seconds of each step, its losses in order)}: times,
    gains, how often each was called, and what it raised. The seconds are one number, or a list
    of which the last one counts for all further steps."""
    now, calls = [0.0], dict.fromkeys(variants, 0)

    def step(name):
        def run():
            durations, losses = variants[name]
            durations = durations if isinstance(durations, list) else [durations]
            now[0] += durations[min(calls[name], len(durations) - 1)]
            calls[name] += 1
            return losses[min(calls[name], len(losses)) - 1]

        return run

    options = {"rng": 0, "clock": lambda: now[0], **options}
    try:
        result = ladder({name: step(name) for name in variants}, rounds, **options)
    except ValueError as error:
        return [], [], calls, f"ValueError: {error}"
    assert isinstance(result, (tuple, list)) and len(result) == 2, (
        "ladder should return two dicts, times and gains"
    )
    times, gains = result
    return (
        [[name, np.array(times[name])] for name in times],
        [[name, [float(x) for x in gains[name]]] for name in gains],
        calls,
        "",
    )


def linear_model(weights, bias, extra=False):
    """A Dense layer with these numbers; with `extra`, also a parameter that the loss "
    "ignores."""
    model = Dense(*weights.shape)
    model.weights.data[...], model.bias.data[...] = weights, bias
    if extra:
        model.unused = Variable(np.ones(4, "float32"))
    return model


def sharded(x, y, weights, bias, n, extra=False):
    """What `shards` returns for a linear model, and the rows that each call of the loss got."""
    model, seen = linear_model(weights, bias, extra), []
    for p in model.parameters():
        p.grad = np.full_like(p.data, 1000)

    def loss(model, x, y):
        seen.append(len(x))
        assert len(x) == len(y), f"a shard has {len(x)} rows of x and {len(y)} rows of y"
        return mse_loss(model(Tensor(x)), y)

    gradients = shards(loss, model, x, y, n)
    return (
        [np.array(g) for g in gradients],
        seen,
        [bool(np.shares_memory(g, p.data)) for g, p in zip(gradients, model.parameters())],
    )


def rows_of_shards(rows, n):
    """The numbers of the rows that each call of the loss in `shards` gets."""
    model, seen = Dense(1, 1), []

    def loss(model, x, y):
        seen.append([int(number) for number in x[:, 0]])
        return mse_loss(model(Tensor(x)), y)

    x = np.arange(rows, dtype="float32")[:, None]
    shards(loss, model, x, x, n)
    return seen


def places_of(*arrays):
    """What `layout` returns, with lists and names of dtypes: places, size."""
    places, size = layout(list(arrays))
    return [
        [offset, list(shape), np.dtype(dtype).name] for offset, shape, dtype in places
    ], size


def viewed(places, size):
    """Arrays by `views` in a memory of zeros: their [shape, dtype, first byte, writable], and
    the places of the bytes that are not 0 after 1 is written into the whole last array."""
    memory = bytearray(size)
    arrays = views(
        [(offset, tuple(shape), np.dtype(dtype)) for offset, shape, dtype in places], memory
    )
    start = np.frombuffer(memory, "uint8").__array_interface__["data"][0]
    facts = [
        [
            list(a.shape),
            a.dtype.name,
            a.__array_interface__["data"][0] - start,
            bool(a.flags.writeable),
        ]
        for a in arrays
    ]
    untouched = not any(memory)
    if facts and facts[-1][3]:
        arrays[-1][...] = 1
    return facts, [i for i, byte in enumerate(memory) if byte], untouched


def moved(weights, bias):
    """A linear model that `move` moved into arrays: whether the `.data` are these arrays, their
    numbers, whether the parameters are the same objects, and whether the numbers of the arrays
    were copied into the old `.data`."""
    model = linear_model(weights, bias)
    parameters, arrays = model.parameters(), [np.full_like(weights, 7), np.full_like(bias, 7)]
    old = [p.data for p in parameters]
    move(model, arrays)
    same = all(p is q for p, q in zip(parameters, model.parameters()))
    bound = [p.data is array for p, array in zip(parameters, arrays)]
    back = all(bool((array == 7).all()) for array in old)
    return bound, [np.array(array) for array in arrays], same, back


class RecordingWorker:
    """A worker that computes in `receive`, writes its gradient there, and records the order."""

    def __init__(self, number, model, gradients, events):
        self.number, self.model, self.gradients, self.events = number, model, gradients, events
        self.batches = []

    def send(self, x, y):
        assert isinstance(x, np.ndarray) and isinstance(y, np.ndarray), "send takes two arrays"
        self.events.append(["send", self.number, len(x), len(y), np.array(x).tolist()])
        self.batches.append((np.array(x), np.array(y)))

    def receive(self):
        assert self.batches, f"worker {self.number}: receive() without a send() before it"
        self.events.append(["receive", self.number])
        x, y = self.batches.pop(0)
        if not len(x):
            return math.nan
        weights, bias = [p.data for p in self.model.parameters()]
        errors = x @ weights + bias - y
        self.gradients[0][...] = 2 / errors.size * x.T @ errors
        self.gradients[1][...] = 2 / errors.size * errors.sum(0)
        return float((errors**2).mean())


def parallel_backward(x, y, weights, bias, workers, old=None, times=1):
    """DataParallel.backward with workers in this process: the losses, the `.grad`, the events,
    and whether a `.grad` uses the memory of a worker's gradient.

    old   None, or the `.grad` of both parameters before
    """
    parallel, events = DataParallel(None, None, workers), []
    parallel.model = linear_model(weights, bias)
    parallel.gradients = [
        [np.full_like(weights, np.nan), np.full_like(bias, np.nan)] for _ in range(workers)
    ]
    parallel.workers = [
        RecordingWorker(i, parallel.model, gradients, events)
        for i, gradients in enumerate(parallel.gradients)
    ]
    parameters = parallel.model.parameters()
    for p, g in zip(parameters, old or []):
        p.grad = np.array(g)
    losses = [parallel.backward(x, y) for _ in range(times)]
    shared = any(
        np.shares_memory(p.grad, g)
        for p, *gs in zip(parameters, *parallel.gradients)
        for g in gs
        if p.grad is not None
    )
    grads = [None if p.grad is None else np.array(p.grad) for p in parameters]
    kinds = [type(loss).__name__ for loss in losses]
    losses = [None if loss is None else float(loss) for loss in losses]
    return losses, grads, events, shared, kinds


class CountingSGD(SGD):
    """SGD that counts its steps."""

    def step(self):
        self.steps = getattr(self, "steps", 0) + 1
        super().step()


def scaled_steps(scale, gradients, growth_interval=2000, groups=1, update=True):
    """A GradScaler on weights that start at 0, lr 1. `gradients`: for each step the `.grad`
    that each of the weights gets (float32 arrays or None).

    returns  [the factors before the first step and after each], the weights after each step,
             the number of optimizer steps, and the `.grad` after each step
    """
    count = len(gradients[0])
    weights = [Variable(np.zeros(2, "float32")) for _ in range(count)]
    each = -(-count // groups)
    optimizer = CountingSGD(
        [{"params": weights[i : i + each]} for i in range(0, count, each)], lr=1.0
    )
    scaler = GradScaler(scale, growth_interval) if growth_interval else GradScaler(scale)
    factors, seen, grads = [float(scaler.get_scale())], [], []
    for step in gradients:
        for w, g in zip(weights, step):
            w.grad = None if g is None else np.array(g, "float32")
        scaler.step(optimizer)
        seen.append([w.data.tolist() for w in weights])
        grads.append([None if w.grad is None else np.array(w.grad).tolist() for w in weights])
        if update:
            scaler.update()
        factors.append(float(scaler.get_scale()))
    return factors, seen, getattr(optimizer, "steps", 0), grads


def scaled_loss(scale, x):
    """GradScaler.scale of the sum of x * x: its value, and the gradient of x."""
    x = Variable(x)
    loss = GradScaler(scale).scale((x * x).sum())
    if not isinstance(loss, Tensor):
        return type(loss).__name__, None, False
    if loss.requires_grad:
        loss.backward()
    return float(loss.data), None if x.grad is None else np.array(x.grad), loss.requires_grad


# %% matmul-outer points=3
def test_the_sum_of_outer_products_is_the_matrix_product():
    for n, k, m in [(3, 4, 2), (2, 2, 2), (1, 5, 3), (4, 1, 3)]:
        a, b = matrices(n, k, m, seed=n)
        got, _ = result_of(
            lambda: watched_product("outer", a, b),
            f"matmul_outer of shapes ({n}, {k}) and ({k}, {m})",
            "column k of a, with the shape (n, 1), times row k of b has the shape (n, m), as "
            "the result",
        )
        causes = {
            NOT_SET: np.full((n, m), np.nan),
            "Only the last outer product is left: add each of them to the result": a[:, -1:]
            * b[-1:],
            "The first outer product is missing": product_by_hand(a[:, 1:], b[1:])
            if k > 1
            else 0 * product_by_hand(a, b),
        }
        case = f"matmul_outer of {shown(a)} and {shown(b)}"
        expect(got, product_by_hand(a, b), case, causes)


def test_an_outer_product_is_computed_without_matrix_products():
    a, b = matrices(3, 4, 2)
    got, products = watched_product("outer", a, b)
    assert not products, (
        f"yours multiplies arrays of shapes {products[0]} as matrices (@, dot or einsum). "
        "Write an "
        "outer product with `*` and broadcasting"
    )
    large = [shape for shape in elementwise_products(a, b) if math.prod(shape) > 6]
    assert not large, (
        "for shapes (3, 4) and (4, 2), an outer product has the shape (3, 2); yours computes "
        f"products of shape {tuple(large[0])} in one step. Write a loop over k, with one outer "
        "product in each step"
    )
    expect(got, product_by_hand(a, b), "matmul_outer of shapes (3, 4) and (4, 2)")


def test_the_result_of_outer_products_has_the_dtype_of_the_inputs():
    a, b = matrices(3, 4, 2, dtype="float32")
    got, _ = watched_product("outer", a, b)
    expect(got, product_by_hand(a, b), "matmul_outer of two float32 arrays", dtype="float32")


# %% matmul-outer hidden points=1
def test_outer_products_of_other_shapes():
    for n, k, m in [(7, 3, 5), (2, 9, 1)]:
        yield watched_product("outer", *matrices(n, k, m, seed=9))[0]


# %% matmul-blocked points=4
def test_blocks_give_the_matrix_product():
    for n, k, m, block in [(4, 8, 2, 2), (4, 4, 4, 2), (6, 6, 6, 3)]:
        a, b = matrices(n, k, m, seed=n)
        case = f"matmul_blocked of shapes ({n}, {k}) and ({k}, {m}), block={block}"
        got, _ = result_of(
            lambda: watched_product("blocked", a, b, block),
            case,
            "block (I, K) of a has the rows of I and the columns of K; block (K, J) of b the "
            "rows "
            "of K and the columns of J",
        )
        expect(got, product_by_hand(a, b), case, blocked_causes(a, b, block))


def test_a_block_need_not_divide_the_size():
    for n, k, m, block in [(7, 7, 7, 3), (5, 4, 3, 2), (3, 2, 1, 8)]:
        a, b = matrices(n, k, m, seed=n)
        case = f"matmul_blocked of shapes ({n}, {k}) and ({k}, {m}), block={block}"
        got, _ = result_of(
            lambda: watched_product("blocked", a, b, block),
            case,
            "are the last blocks smaller?",
        )
        causes = blocked_causes(a, b, block)
        if not any(alike(got, wrong) for wrong in causes.values()):
            causes = (
                f"{block} does not divide all of {n}, {k}, {m}: is a smaller last block left "
                "out? range(0, n, block) also starts one"
            )
        expect(got, product_by_hand(a, b), case, causes)


def test_only_blocks_are_multiplied():
    n, k, m, block = 6, 5, 4, 2
    a, b = matrices(n, k, m)
    _, products = watched_product("blocked", a, b, block)
    large = [shapes for shapes in products if max(map(max, filter(None, shapes))) > block]
    assert not large, (
        f"with block=2, yours multiplies arrays of shapes {large[0]}: cut rows *and* columns, "
        "of a "
        "and of b"
    )
    done = sum(math.prod(left) * right[-1] for left, right in products)
    assert done == n * k * m, (
        f"the blocks of shapes (6, 5) and (5, 4) need {n * k * m} multiplications; your "
        "products "
        f"with @ do {done}"
    )


def test_the_result_of_blocks_has_the_dtype_of_the_inputs():
    a, b = matrices(5, 4, 3, dtype="float32")
    got, _ = watched_product("blocked", a, b, 2)
    expect(got, product_by_hand(a, b), "matmul_blocked of float32 arrays", dtype="float32")


# %% matmul-blocked hidden points=1
def test_blocks_of_other_sizes():
    for n, k, m, block in [(9, 5, 7, 4), (1, 6, 1, 5), (3, 3, 3, 1)]:
        got, products = watched_product("blocked", *matrices(n, k, m, seed=5), block)
        yield got, all(max(map(max, shapes)) <= block for shapes in products)


# %% buffers points=8
def test_take_returns_an_array_of_the_shape_and_dtype():
    requests = [["take", [2, 3], "float32"], ["take", [4], "int64"], ["take", [], "float64"]]
    results, _ = story(*requests, ["take", [5]])
    for (_, shape, *dtype), result in zip([*requests, ["take", [5]]], results, strict=True):
        wanted = [shape, *(dtype or ["float32"])]
        assert result[:2] == wanted, (
            f"take({tuple(shape)}, {', '.join(dtype)}) should have the shape and dtype "
            f"{wanted}, "
            f"yours is {result[:2] if isinstance(result, list) else result}"
        )


def test_arrays_that_are_taken_share_no_memory():
    results, _ = story(["take", [3]], ["take", [3]], ["take", [3]])
    for i, (*_, shared) in enumerate(results):
        assert not shared, (
            f"three arrays were taken, none was given back: array {i} uses the memory of array "
            f"{shared[0]}. A block that is taken must leave the list of free blocks"
        )
    a, b = numbers_in_pool()
    assert (a, b) == ([1, 1, 1], [2, 2, 2]), f"1 was written into a, 2 into b; now {a} and {b}"


def test_memory_that_was_given_back_is_used_again():
    cases = [
        (["take", [2, 3], "float32"], ["take", [2, 3], "float32"]),
        (["take", [2, 3], "float32"], ["take", [6], "float32"]),
        (["take", [2, 3], "float32"], ["take", [3], "float64"]),
    ]
    for first, second in cases:
        results, _ = story(first, ["give", 0], second)
        assert results[1] == "", f"give of an array that is taken raises {results[1]}"
        assert results[2][2] == [0], (
            f"an array of shape {first[1]} {first[2]} was given back, then {second[1]} "
            f"{second[2]} "
            "was taken: both are 24 bytes, so the memory is used again; yours uses other "
            "memory. "
            "Look free blocks up by their bytes, not by their shape"
        )


def test_a_free_block_of_another_size_is_not_used():
    for other in ([5], [7], [2, 2]):
        results, _ = story(["take", [6]], ["give", 0], ["take", other])
        assert isinstance(results[2], list) and results[2][:2] == [other, "float32"], (
            f"24 bytes are free, and take({tuple(other)}) needs {4 * math.prod(other)}: yours "
            "gives "
            f"{results[2]}"
        )
        assert not results[2][2], (
            f"take({tuple(other)}) uses a free block of 24 bytes, but blocks are used for "
            "exactly "
            "as many bytes"
        )


def test_several_blocks_of_one_size():
    results, _ = story(
        ["take", [3]],
        ["take", [3]],
        ["give", 0],
        ["give", 1],
        ["take", [3]],
        ["take", [3]],
        ["take", [3]],
    )
    again = results[4:]
    used = sorted(again[0][2] + [i for i in again[1][2] if i < 2])
    assert used == [0, 1], (
        "two blocks of 12 bytes were given back, then three arrays of 12 bytes were taken. The "
        "first "
        f"two should use the two blocks; yours use the memory of arrays {used}"
    )
    assert not again[2][2], "no block was free any more, so the third array needs a new one"


def test_an_array_cannot_be_given_back_twice():
    results, _ = story(["take", [3]], ["give", 0], ["give", 0])
    assert results[2].startswith("ValueError"), (
        "an array was given back twice: the second time should raise ValueError, yours "
        f"{'raises ' + results[2] if results[2] else 'accepts it: two arrays get its memory'}"
    )


def test_only_taken_arrays_are_accepted():
    for action, what in [
        (["give another", [3]], "an array that take did not return"),
        (["give a view", 0], "a view of an array that is taken"),
    ]:
        results, _ = story(["take", [3]], action)
        assert results[1].startswith("ValueError"), (
            f"give of {what} should raise ValueError, yours "
            f"{'raises ' + results[1] if results[1] else 'accepts it'}"
        )
    accepted = foreign_arrays_accepted()
    assert not accepted, (
        "20 arrays were taken and deleted, then 100 arrays were made that take did not return: "
        f"give accepts {accepted} of them. Python uses the id of a deleted array again, so the "
        "pool must keep the array itself"
    )


def test_the_peak_is_the_most_bytes_that_were_taken():
    _, peaks = story(
        ["take", [10]], ["take", [5]], ["give", 0], ["take", [2]], ["give", 2], ["take", [20]]
    )
    causes = {
        "Count bytes, not arrays": [1, 2, 2, 2, 2, 2],
        "Count bytes, not elements": [10, 15, 15, 15, 15, 25],
        "An array that was given back no longer counts": [40, 60, 60, 68, 68, 148],
        "The peak never falls": [40, 60, 60, 28, 28, 100],
        "The peak is not what is taken now": [40, 60, 20, 28, 20, 100],
        "A peak is the largest sum, not the largest array": [40, 40, 40, 40, 40, 80],
    }
    expect(
        peaks,
        [40, 60, 60, 60, 60, 100],
        "take 40 bytes, take 20, give the 40 back, take 8, give them back, take 80; the "
        "peak after "
        "each",
        causes,
    )


# %% buffers polish points=0
def test_empty_arrays_can_be_taken():
    results, _ = story(["take", [0, 3]], ["give", 0])
    assert results[0][:2] == [[0, 3], "float32"] and results[1] == "", (
        f"take((0, 3)): {results}"
    )


# %% buffers hidden points=2
def test_a_longer_story_of_a_pool():
    results, peaks = story(
        ["take", [4], "float64"],
        ["take", [8]],
        ["give", 1],
        ["take", [2, 4], "int32"],
        ["give", 0],
        ["give", 2],
        ["give", 0],
        ["take", [32], "uint8"],
        ["take", [32], "int8"],
    )
    assert results[3][2] == [1] and not results[0][2] and results[6].startswith("ValueError")
    assert results[7][:2] == [[32], "uint8"] and results[8][:2] == [[32], "int8"]
    assert len({*results[7][2]} | {*results[8][2]}) >= 2
    assert list(peaks) == [32, 64, 64, 64, 64, 64, 64, 64, 64]


# %% gelu-into points=5
def test_gelu_is_written_into_out():
    x = np.array([[-3.0, -1.0, -0.5], [0.0, 0.5, 2.0]])
    got, is_out, unchanged, *_ = into(x)
    causes = {
        "Nothing was written into out: the last operation needs out=out": np.full_like(
            x, np.nan
        ),
        "The factor 0.5 is missing": 2 * gelu_by_hand(x),
    }
    expect(got, gelu_by_hand(x), f"out after gelu_into({shown(x)}, out, scratch)", causes, NEAR)
    assert is_out, "gelu_into should return the array `out` itself"
    assert unchanged, "gelu_into changed x: use `scratch` for intermediate results"


def test_gelu_into_of_other_numbers():
    for x in (np.array([5.0, -5.0]), np.array([1.5]), np.array([-0.01, 0.01, 1000.0, -1000.0])):
        got, *_ = into(x)
        expect(got, gelu_by_hand(x), f"GELU of {shown(x)}", GELU_CAUSES, NEAR)


def test_out_may_be_x():
    x = np.array([-1.0, 0.5, 2.0])
    got, *_ = result_of(lambda: into(x, alias=True), "gelu_into(x, x, scratch)")
    other, *_ = into(x)
    cause = GELU_CAUSES
    if alike(other, gelu_by_hand(x), *NEAR):
        cause = (
            "out is x here, and x is needed until the last multiplication. Write into out only "
            "in the last operation"
        )
    expect(got, gelu_by_hand(x), f"gelu_into(x, x, scratch) of {shown(x)}", cause, NEAR)


def test_gelu_creates_no_arrays():
    x = np.random.default_rng(0).normal(size=20_000).astype("float32")
    got, _, _, allocated, *_ = into(x)
    assert allocated < x.nbytes // 2, (
        f"x has {x.nbytes} bytes, and your function allocates {allocated}: an operation "
        "creates a "
        "new array. Use *=, += and out="
    )
    expect(got, gelu_by_hand(x), "GELU of 20,000 numbers", GELU_CAUSES, (1e-4, 1e-5), "float32")


def test_gelu_needs_no_function_for_powers():
    x = np.array([-1.0, 0.5, 2.0, 3.0])
    powers, out = powers_in_gelu(x)
    assert not powers, (
        f"yours calls {powers[0]}, which computes any power and is slow: write x³ as products"
    )
    expect(out, gelu_by_hand(x), f"GELU of {shown(x)}", GELU_CAUSES, NEAR)


# %% gelu-into hidden points=1
def test_gelu_into_of_hidden_numbers():
    x = np.random.default_rng(3).normal(size=(3, 5, 2)) * 3
    for alias in (False, True):
        yield into(x, alias)[:3]


# %% gelu-fused points=5
def test_gelu_in_blocks_is_gelu():
    x = np.array([[-3.0, -1.0, -0.5, 0.25], [0.0, 0.5, 2.0, 1.0]])
    for block in (2, 4, 8):
        case = f"gelu_fused of 8 numbers, block={block}"
        got, is_out, unchanged, *_ = result_of(lambda: into(x, blocks=[block]), case)
        filled = np.where(np.isnan(got), gelu_by_hand(x), got)
        partly = np.isnan(got).any() and np.allclose(filled, gelu_by_hand(x))
        expect(
            got,
            gelu_by_hand(x),
            case,
            "some blocks were not written"
            if partly
            else "does block i of x go to block i of out?",
            NEAR,
        )
        assert is_out, "gelu_fused should return the array `out` itself"
        assert unchanged, f"{case} changed x"


def test_a_last_block_may_be_smaller():
    x = np.linspace(-2, 2, 7)
    for block in (3, 5, 100):
        case = f"gelu_fused of 7 numbers, block={block}"
        got, *_ = result_of(
            lambda: into(x, blocks=[block]),
            case,
            "the last block has fewer numbers than scratch: use as many of scratch as the "
            "block "
            "has",
        )
        expect(got, gelu_by_hand(x), case, "is the last, smaller block missing?", NEAR)


def test_scratch_comes_from_the_pool():
    x = np.linspace(-2, 2, 10).astype("float32")
    for block, size, dtype in ((4, 4, "float32"), (10, 10, "float32"), (64, 10, "float64")):
        *_, taken, given = into(x.astype(dtype), blocks=[block])
        assert taken == [[[size], dtype]], (
            f"gelu_fused of 10 {dtype} numbers with block={block} should take one array of "
            "shape "
            f"({size},) and dtype {dtype} from the pool, yours takes {taken or 'none'}"
        )
        assert given == [[0]], (
            "the array from the pool should be given back once, the array itself and not a "
            "view; "
            "yours gives back "
            f"{'nothing' if not given else 'a view' if given == [[]] else given}"
        )


def test_fused_gelu_creates_no_other_arrays():
    x = np.random.default_rng(0).normal(size=50_000).astype("float32")
    got, _, _, allocated, *_ = into(x, blocks=[1000])
    expect(got, gelu_by_hand(x), "gelu_fused of 50,000 numbers", near=(1e-4, 1e-5))
    assert allocated < x.nbytes // 4, (
        f"x has {x.nbytes} bytes, and your function allocates {allocated} besides its scratch: "
        "is x or the result copied?"
    )


def test_fused_gelu_in_place():
    x = np.linspace(-2, 2, 9)
    got, *_ = into(x, alias=True, blocks=[4])
    expect(got, gelu_by_hand(x), "gelu_fused(x, x, buffers, block=4)", near=NEAR)


# %% gelu-fused hidden points=1
def test_fused_gelu_of_hidden_numbers():
    x = np.random.default_rng(3).normal(size=(3, 5, 2))
    for block in ([7], [1], []):
        got, is_out, unchanged, _, taken, given = into(x, blocks=block)
        yield got, is_out, unchanged, len(taken), len(given)


# %% ladder points=7
def test_a_variant_is_compared_with_the_one_before_it():
    losses = [3.0, 2.0, 1.0, 0.5]
    times, gains, calls, error = raced(
        {"slow": (6.0, losses), "middle": (3.0, losses), "fast": (2.0, losses)}, rounds=3
    )
    never = [name for name in calls if not calls[name]]
    assert not never, (
        f"the variant {never[0]} was never called, only others in its place. A function made "
        "in a loop looks its variables up when it is called, after the loop has ended"
    )
    assert not error, f"the three variants have equal losses, and yours raises {error}"
    got = {name: [round(x, 6) for x in pair] for name, pair in gains}
    assert list(got) == ["slow", "middle", "fast"], (
        f"gains should have the names slow, middle, fast; yours has {list(got)}"
    )
    assert got["slow"] == [1, 1], f"the first variant has (1.0, 1.0), yours has {got['slow']}"
    upside_down = got["middle"] == [0.5, 0.5]
    assert got["middle"] == [2, 2], (
        f"slow takes 6 s, middle 3 s: twice as fast, (2.0, 2.0); yours is {got['middle']}"
        f"{because('divide the time before by the time after' if upside_down else '')}"
    )
    assert got["fast"] == [1.5, 1.5], (
        f"middle takes 3 s, fast 2 s: 1.5 times as fast; yours is {got['fast']}"
        f"{because('compare with the one before, not the first' * (got['fast'] == [3, 3]))}"
    )


def test_the_times_of_the_race_are_returned():
    losses = [3.0, 2.0, 1.0, 0.5]
    times, _, calls, _ = raced({"a": (6.0, losses), "b": (3.0, losses)}, rounds=3)
    assert [name for name, _ in times] == ["a", "b"], (
        f"times should have the names a and b: {times}"
    )
    for (_, got), wanted in zip(times, (6, 3), strict=True):
        expect(got, [wanted] * 3, f"the times of 3 rounds of a step of {wanted} s", near=1e-9)
    assert calls == {"a": 4, "b": 4}, (
        f"in 3 rounds and a warm-up, `race` calls each step 4 times; yours are called {calls}"
    )


def test_a_variant_with_other_losses_is_refused():
    good = [3.0, 2.0, 1.0, 0.5]
    *_, error = raced({"first": (2.0, good), "second": (1.0, good)}, rounds=3)
    assert not error, f"first and second both have the losses {good}, and yours raises {error}"
    for name, bad in [
        ("another first loss", [3.5, 2.0, 1.0, 0.5]),
        ("another last loss", [3.0, 2.0, 1.0, 0.6]),
        ("a loss that is too small", [3.0, 2.0, 0.9, 0.5]),
        ("the same losses in another order", [0.5, 1.0, 2.0, 3.0]),
    ]:
        *_, error = raced({"first": (2.0, good), "second": (1.0, bad)}, rounds=3)
        assert error, (
            f"first has the losses {good}, second {bad} ({name}): this is not the same "
            "program. "
            "ladder should raise ValueError"
        )


def test_all_variants_are_compared_with_the_first():
    good, bad = [3.0, 2.0, 1.0], [3.0, 2.0, 1.5]
    _, gains, _, error = raced({"a": (1.0, good), "b": (1.0, good), "c": (1.0, good)}, rounds=2)
    assert not error and len(gains) == 3, f"three equal variants: yours raises {error}"
    for names in (("a", "b", "wrong"), ("a", "wrong", "b")):
        variants = {name: (1.0, bad if name == "wrong" else good) for name in names}
        *_, error = raced(variants, rounds=2)
        assert "wrong" in error, (
            f"of the variants {', '.join(names)}, the one named wrong has other losses: the "
            f"ValueError should name it; yours: {error or 'there is no error'}"
        )
    drift = {str(i): (1.0, [3.0 + 0.75e-5 * i] * 3) for i in range(3)}
    *_, error = raced(drift, rounds=2)
    assert "2" in error, (
        "the losses 3, 3.0000075 and 3.000015: the third differs from the first by more than "
        "1e-5, "
        "though not from the second. Compare each variant with the first, by the difference "
        "alone: np.allclose also allows a relative difference, rtol"
    )


def test_small_differences_are_allowed():
    for difference, tolerance in [(5e-6, 1e-5), (0.05, 0.1), (0.5, 0.5)]:
        other = [3.0 - difference, 2.0 + difference, 1.0]
        *_, error = raced(
            {"a": (1.0, [3.0, 2.0, 1.0]), "b": (1.0, other)}, rounds=2, tolerance=tolerance
        )
        assert not error, (
            f"the losses [3, 2, 1] and {other} differ by {difference}, the tolerance is "
            f"{tolerance}; "
            f"yours raises {error}"
        )


def test_a_loss_that_is_not_a_number_is_refused():
    *_, error = raced({"a": (1.0, [3.0] * 3), "b": (1.0, [3.0] * 3)}, rounds=2)
    assert not error, f"a and b both have the losses 3, 3 and 3, and yours raises {error}"
    *_, error = raced({"a": (1.0, [3.0] * 3), "b": (1.0, [3.0, math.nan, 3.0])}, rounds=2)
    assert "b" in error, (
        "b has the loss nan: ladder should raise ValueError. A comparison with nan is always "
        "false, "
        "so ask whether the difference is small, not whether it is large"
    )


def test_the_generator_decides_the_intervals():
    durations = np.random.default_rng(1).uniform(1, 3, 41).tolist()
    variants = {"a": (durations, [1.0]), "b": (2.0, [1.0])}
    wanted = raced(variants, rounds=40, rng=7)[1]
    [*_, (name, gain)] = wanted
    low, high = np.percentile(durations[1:], [20, 80]) / 2
    assert name == "b" and low < gain[0] < gain[1] < high, (
        f"a takes 1 to 3 s and b 2 s: the gain of b should be between {low:.3g} and "
        f"{high:.3g}, yours is {gain}"
    )
    for _ in range(3):
        got = raced(variants, rounds=40, rng=7)[1]
        assert got and got == wanted, (
            f"two ladders with rng=7 and equal times have the gains {wanted} and {got}: give "
            "rng to `race` and to `ratio_interval`"
        )


# %% ladder hidden points=2
def test_a_ladder_of_one_and_of_four():
    losses = [1.0, 0.5, 0.25]
    four = {"a": (1.0, losses), "b": (4.0, losses), "c": (1.0, losses), "d": (0.5, losses)}
    infinite = {"a": (1.0, [1.0, 1.0]), "b": (1.0, [1.0, math.inf])}
    for variants, rounds in [({"only": (2.0, [1.0])}, 2), (four, 2), (infinite, 1)]:
        times, gains, _, error = raced(variants, rounds)
        yield len(times), [[name, pair[0]] for name, pair in gains], bool(error)


# %% steps-needed points=5
def test_static_batching():
    cases = [
        ([3, 5, 2, 4], 2, 9, "each batch takes as long as its longest request: 5, then 4"),
        ([4, 4, 4], 3, 4, ""),
        ([3, 5, 2], 1, 10, ""),
        ([2, 7, 1, 3, 9], 2, 7 + 3 + 9, "the last batch may be smaller"),
    ]
    for lengths, batch, wanted, cause in cases:
        got = result_of(
            lambda: steps_needed(lengths, batch, False),
            f"steps_needed({lengths}, {batch}, continuous=False)",
        )
        expect(got, wanted, f"steps_needed({lengths}, {batch}, continuous=False)", cause)


def test_static_batching_keeps_the_order():
    got = steps_needed([10, 1, 10, 1], 2, False)
    expect(
        got,
        20,
        "steps_needed([10, 1, 10, 1], 2, continuous=False)",
        {"The requests are served in the given order, not sorted": 11},
    )


def test_continuous_batching():
    cases = [
        ([1, 12, 4, 1, 1, 1], 2, 12, "the short requests follow each other in one place"),
        ([10, 1, 1, 1, 1, 1], 2, 10, "the five short requests follow each other in one place"),
        ([3, 5, 2, 4], 2, 9, "3 then 2 then 4 in one place, 5 in the other"),
        ([4, 4, 4], 3, 4, ""),
        ([3, 5, 2], 1, 10, ""),
        ([2, 2, 2, 8], 2, 10, "8 starts when 2 places have been used for 2 and 2 tokens"),
        ([0], 2, 0, "a request of 0 tokens takes no step"),
    ]
    for lengths, batch, wanted, cause in cases:
        case = f"steps_needed({lengths}, {batch}, continuous=True)"
        causes = {
            "The next request starts on the place that is free first. Yours gives the requests "
            "to the places in turn": max(sum(lengths[i::batch]) for i in range(batch)),
            "The number of tokens divided by the places is the same": -(-sum(lengths) // batch),
            "Static batching gives the same number": sum(
                max(lengths[i : i + batch]) for i in range(0, len(lengths), batch)
            ),
        }
        got = result_of(lambda: steps_needed(lengths, batch, True), case)
        if got in causes.values():
            expect(got, wanted, case, causes)
        expect(got, wanted, case, cause)


def test_continuous_batching_keeps_the_order():
    got = steps_needed([1, 1, 10], 2, True)
    expect(
        got,
        11,
        "steps_needed([1, 1, 10], 2, continuous=True)",
        {"The long request is last, so it starts after a short one: do not sort": 10},
    )


def test_more_places_than_requests():
    for continuous in (False, True):
        case = f"steps_needed([3, 2], 5, continuous={continuous})"
        got = result_of(lambda: steps_needed([3, 2], 5, continuous), case)
        expect(got, 3, case, "all requests start at once, and the longest takes 3 steps")


# %% steps-needed polish points=0
def test_the_list_of_requests_is_not_changed():
    for continuous in (False, True):
        case = f"steps_needed([3, 5, 2, 4], 2, continuous={continuous})"
        got, after = result_of(lambda: steps_and_list([3, 5, 2, 4], 2, continuous), case)
        expect(got, 9, case)
        assert list(after) == [3, 5, 2, 4], (
            f"{case} changes the list of its caller to {list(after)}: copy the list first"
        )


def test_no_requests_need_no_steps():
    for continuous in (False, True):
        for lengths, wanted in (([], 0), ([0], 0), ([1], 1)):
            case = f"steps_needed({lengths}, 2, continuous={continuous})"
            got = result_of(lambda: steps_needed(lengths, 2, continuous), case)
            expect(got, wanted, case)


# %% steps-needed hidden points=1
def test_hidden_requests():
    for batch in (2, 3, 4):
        for continuous in (False, True):
            yield steps_needed([5, 9, 1, 1, 7, 2, 0, 6, 3], batch, continuous)


# %% shards points=6
def test_equal_shards_give_the_gradient_of_the_batch():
    x, y, weights, bias = regression(6)
    wanted, _ = gradients_by_hand(x, y, weights, bias)
    for n in (1, 2, 3):
        got, seen, _ = sharded(x, y, weights, bias, n)
        assert len(got) == 2, f"there are 2 parameters, and yours returns {len(got)} arrays"
        for name, g, w in zip(("weights", "bias"), got, wanted, strict=True):
            causes = {
                "The gradients of the shards are added: each counts by its share of the rows": n
                * w
                if n > 1
                else w - 1,
            }
            expect(g, w, f"the gradient of the {name}, from {n} shards of 6 rows", causes, NEAR)
            case = f"the gradient of the {name}, whose parts are float32,"
            expect(g, w, case, "keep the dtype that gradients_of returns", NEAR, "float32")


def test_unequal_shards_count_by_their_rows():
    x, y, weights, bias = regression(5, seed=1)
    wanted, _ = gradients_by_hand(x, y, weights, bias)
    parts = [
        gradients_by_hand(x[r], y[r], weights, bias)[0] for r in (slice(0, 3), slice(3, 5))
    ]
    got, seen, _ = sharded(x, y, weights, bias, 2)
    for i, name in enumerate(("weights", "bias")):
        causes = {
            "The plain mean of the shards: a shard of 3 of 5 rows counts 3/5": (
                parts[0][i] + parts[1][i]
            )
            / 2,
            "Only the last shard is left": parts[1][i],
        }
        expect(
            got[i],
            wanted[i],
            f"the gradient of the {name}, from shards of 3 and 2 rows",
            causes,
            NEAR,
        )


def test_the_shards_are_cut_evenly():
    x, y, weights, bias = regression(7)
    for n, rows in [(1, [7]), (2, [4, 3]), (3, [3, 2, 2]), (7, [1] * 7)]:
        _, seen, _ = sharded(x, y, weights, bias, n)
        assert sorted(seen, reverse=True) == rows, (
            f"{n} shards of 7 rows should have {rows} rows, yours have {seen}"
        )
        got = rows_of_shards(7, n)
        assert sum(got, []) == list(range(7)), (
            f"{n} shards of the rows 0 to 6 should contain these rows in order, yours contain "
            f"{got}: the rows of a shard follow each other"
        )


def test_more_shards_than_rows():
    x, y, weights, bias = regression(3)
    wanted, _ = gradients_by_hand(x, y, weights, bias)
    cause = "Two of the shards are empty and have no mean loss: leave them out"
    got, seen, _ = result_of(
        lambda: sharded(x, y, weights, bias, 5), "5 shards of 3 rows", cause
    )
    assert 0 not in seen, f"5 shards of 3 rows{because(cause)}"
    for g, w in zip(got, wanted, strict=True):
        expect(g, w, "the gradient of 3 rows, from 5 shards", near=NEAR)


def test_earlier_gradients_do_not_count():
    x, y, weights, bias = regression(4, seed=2)
    wanted, _ = gradients_by_hand(x, y, weights, bias)
    got, _, _ = sharded(x, y, weights, bias, 2)
    expect(
        got[0],
        wanted[0],
        "the gradient of the weights, whose .grad was 1000 before",
        "is an earlier .grad added?",
        NEAR,
    )


def test_a_parameter_that_the_loss_does_not_use():
    x, y, weights, bias = regression(4)
    case = "a model with a parameter that the loss does not use"
    got, _, _ = result_of(lambda: sharded(x, y, weights, bias, 2, extra=True), case)
    assert len(got) == 3, f"{case}: there are 3 parameters, yours returns {len(got)} arrays"
    expect(got[2], np.zeros(4), f"{case}: its gradient")


# %% shards hidden points=1
def test_hidden_shards():
    for rows, n in [(11, 4), (2, 2), (9, 8), (1, 3)]:
        got, seen, shared = sharded(*regression(rows, seed=rows), n)
        yield got, sum(seen), any(shared)


# %% shared points=6
def test_arrays_begin_at_multiples_of_64():
    arrays = [
        np.zeros(3, "float32"),
        np.zeros((2, 2)),
        np.zeros((), "int8"),
        np.zeros(33, "float32"),
    ]
    places, size = places_of(*arrays)
    offsets = [place[0] for place in places]
    causes = {
        "Each array begins at a multiple of 64": [0, 12, 44, 45],
        "An array begins at the first multiple of 64 that is free; 1 byte takes 64 here": [
            0,
            64,
            128,
            128,
        ],
    }
    expect(
        offsets, [0, 64, 128, 192], "the offsets of arrays of 12, 32, 1 and 132 bytes", causes
    )
    cause = "size is the end of the last array"
    expect(size, 192 + 132, "the size for arrays of 12, 32, 1 and 132 bytes", cause)


def test_an_array_that_ends_at_a_multiple_of_64():
    places, size = places_of(np.zeros(16, "float32"), np.zeros(32, "float32"), np.zeros(1))
    expect(
        [place[0] for place in places],
        [0, 64, 192],
        "the offsets of arrays of 64, 128 and 8 bytes",
        "the first multiple of 64 that is free: directly behind 64 bytes is 64, not 128",
    )
    expect(size, 200, "the size for arrays of 64, 128 and 8 bytes")


def test_places_contain_shapes_and_dtypes():
    places, _ = places_of(np.zeros((2, 3), "float32"), np.zeros(4, "int64"))
    wanted = [[0, [2, 3], "float32"], [64, [4], "int64"]]
    assert places == wanted, f"the places should be {wanted}, yours are {places}"


def test_views_lie_in_the_memory():
    places = [
        [0, [2], "float32"],
        [64, [2, 3], "int16"],
        [128, [], "float64"],
        [192, [3], "uint8"],
    ]
    case = "views of 4 places in 256 bytes"
    facts, written, untouched = result_of(lambda: viewed(places, 256), case)
    assert len(facts) == 4, f"{case}: yours returns {len(facts)} arrays"
    for (offset, shape, dtype), fact in zip(places, facts, strict=True):
        assert fact[:2] == [shape, dtype], (
            f"the array at byte {offset} should have shape {shape} and dtype {dtype}, yours "
            "has "
            f"{fact[:2]}"
        )
        assert fact[2] == offset, (
            f"the array of shape {shape} should begin at byte {offset} of the memory. Yours "
            "begins "
            + (f"at byte {fact[2]}" if 0 <= fact[2] < 256 else "elsewhere: it is a copy")
        )
    assert untouched, f"{case}: the memory contained zeros, and yours wrote into it"
    assert written == [192, 193, 194], (
        "after 1 is written into the three elements of the last array, the bytes 192 to 194 "
        "are 1; in "
        f"yours the bytes {written} changed"
    )


def test_a_model_moves_into_the_arrays():
    weights, bias = regression(1)[2:]
    bound, arrays, same, back = moved(weights, bias)
    cause = "The array got no numbers: copy them with array[...] = p.data"
    if back:
        cause = "Copy the numbers of p.data into the array; yours copies the other way"
    for name, array, wanted in zip(("weights", "bias"), arrays, (weights, bias), strict=True):
        expect(
            array,
            wanted,
            f"the array that the {name} moved into",
            {cause: np.full_like(wanted, 7)},
        )
    assert all(bound), (
        "p.data should be the array itself: an optimizer changes p.data in place, and the "
        "workers "
        "must see that. Yours is another array, so the workers would keep the old weights"
    )
    assert same, "the parameters of the model should be the same Tensors as before"


# %% shared polish points=0
def test_a_layout_without_arrays():
    assert places_of() == ([], 0), f"layout([]) should be ([], 0), yours is {places_of()}"


# %% shared hidden points=1
def test_hidden_places():
    shapes = [(5, 5), (1,), (16,), (17,), (3, 1, 2)]
    places, size = places_of(*[np.zeros(shape, "float32") for shape in shapes])
    facts, written, _ = viewed(places, size)
    yield places, size, [fact[2] for fact in facts], written


# %% data-parallel points=7
def test_two_workers_compute_the_gradient_of_the_batch():
    x, y, weights, bias = regression(6)
    wanted, loss = gradients_by_hand(x, y, weights, bias)
    losses, grads, *_ = result_of(
        lambda: parallel_backward(x, y, weights, bias, 2), "backward of 6 rows with 2 workers"
    )
    for name, g, w in zip(("weights", "bias"), grads, wanted, strict=True):
        assert g is not None, f"the .grad of the {name} is None after backward"
        causes = {
            "The gradients of the workers are added: each counts by its share of the rows": 2
            * w,
        }
        if np.isnan(g).any():
            causes = (
                "yours is nan: the gradients in shared memory are read before receive() has "
                "returned, so the worker has not written them"
            )
        expect(g, w, f"the .grad of the {name}, from 2 workers with 3 rows each", causes, NEAR)
    expect(losses[0], loss, "the loss of 6 rows, from 2 workers", near=NEAR)


def test_shards_of_workers_count_by_their_rows():
    x, y, weights, bias = regression(5, seed=1)
    wanted, loss = gradients_by_hand(x, y, weights, bias)
    parts = [gradients_by_hand(x[r], y[r], weights, bias) for r in (slice(0, 3), slice(3, 5))]
    losses, grads, events, *_ = parallel_backward(x, y, weights, bias, 2)
    sent = [event[1:4] for event in events if event[0] == "send"]
    assert sent == [[0, 3, 3], [1, 2, 2]], (
        "5 rows for 2 workers: worker 0 should get 3 rows of x and y, worker 1 two; yours "
        "sends "
        f"[worker, rows of x, rows of y] {sent}"
    )
    got = [row for event in events if event[0] == "send" for row in event[4]]
    assert got == x.tolist(), (
        f"the two workers should get the rows of x in order, {x.tolist()}; yours get {got}: "
        "the rows of a shard follow each other"
    )
    plain = "The plain mean: a worker with 3 of 5 rows counts 3/5"
    expect(
        grads[0],
        wanted[0],
        "the .grad of the weights, from workers with 3 and 2 rows",
        {plain: (parts[0][0][0] + parts[1][0][0]) / 2},
        NEAR,
    )
    expect(
        losses[0],
        loss,
        "the loss, from workers with 3 and 2 rows",
        {
            plain: (parts[0][1] + parts[1][1]) / 2,
            "The losses are added": parts[0][1] + parts[1][1],
        },
        NEAR,
    )


def test_the_workers_compute_at_the_same_time():
    x, y, weights, bias = regression(6)
    _, _, events, *_ = parallel_backward(x, y, weights, bias, 3)
    order = [event[0] for event in events]
    assert order == ["send"] * 3 + ["receive"] * 3, (
        f"with 3 workers, yours calls {', '.join(f'{name} {i}' for name, i, *_ in events)}. "
        "receive "
        "waits for the worker: send to all workers first, so that they compute at the same time"
    )


def test_gradients_are_added_to_grad():
    x, y, weights, bias = regression(4, seed=3)
    wanted, _ = gradients_by_hand(x, y, weights, bias)
    old = [np.full_like(weights, 10), np.full_like(bias, 20)]
    _, grads, *_ = parallel_backward(x, y, weights, bias, 2, old)
    for name, g, w, o in zip(("weights", "bias"), grads, wanted, old, strict=True):
        expect(
            g,
            w + o,
            f"the .grad of the {name}, which was {o.flat[0]:g} before",
            {"backward adds to .grad, as Tensor.backward does; yours replaces it": w},
            NEAR,
        )
    _, grads, _, shared, _ = parallel_backward(x, y, weights, bias, 2, times=2)
    expect(
        grads[0],
        2 * wanted[0],
        "the .grad of the weights after backward was called twice",
        near=NEAR,
    )


def test_grad_is_not_in_shared_memory():
    x, y, weights, bias = regression(4)
    for workers in (1, 2):
        _, grads, _, shared, _ = parallel_backward(x, y, weights, bias, workers)
        assert not shared, (
            f"with {workers} worker(s), a .grad uses the memory into which a worker writes its "
            "next "
            "gradient: make a new array"
        )
        assert grads[0].dtype == np.float32, (
            f"the .grad should be float32, yours is {grads[0].dtype}"
        )


def test_fewer_rows_than_workers():
    x, y, weights, bias = regression(2)
    wanted, loss = gradients_by_hand(x, y, weights, bias)
    losses, grads, events, *_ = result_of(
        lambda: parallel_backward(x, y, weights, bias, 4), "2 rows for 4 workers"
    )
    assert all(event[2] > 0 for event in events if event[0] == "send"), (
        "2 rows for 4 workers: the last two workers get none, do not send them empty arrays"
    )
    expect(
        grads[0],
        wanted[0],
        "the .grad of the weights, from 2 rows for 4 workers",
        "the gradients of workers without rows do not count",
        NEAR,
    )
    expect(losses[0], loss, "the loss of 2 rows, for 4 workers", near=NEAR)


def test_backward_returns_a_float():
    x, y, weights, bias = regression(4)
    losses, *_, kinds = parallel_backward(x, y, weights, bias, 2)
    expect(
        losses[0], gradients_by_hand(x, y, weights, bias)[1], "the loss of 4 rows", near=NEAR
    )
    assert kinds[0] in ("float", "float64", "float32"), (
        f"backward should return the loss, a float; yours returns {kinds[0]}"
    )


# %% data-parallel hidden points=2
def test_hidden_workers():
    for rows, workers in [(10, 3), (3, 3), (1, 2), (8, 1)]:
        yield parallel_backward(*regression(rows, seed=rows), workers)[:2]


# %% grad-scaler points=9
def test_the_loss_is_scaled():
    value, gradient, recorded = scaled_loss(1024.0, np.array([3.0, -1.0]))
    assert recorded, (
        "GradScaler(1024).scale(loss) should be a Tensor that is recorded, so that .backward() "
        "works; "
        f"yours is {value}"
    )
    expect(
        value,
        10 * 1024,
        "GradScaler(1024).scale of a loss of 10",
        {"Multiply": 10 / 1024},
        NEAR,
    )
    expect(gradient, [6144, -2048], "the gradient of the scaled loss of [3, -1]", near=NEAR)


def test_gradients_are_divided_by_the_factor():
    factors, weights, steps, grads = scaled_steps(256.0, [[[512.0, -256.0]]])
    assert steps == 1, f"the gradients are finite: one optimizer step, yours does {steps}"
    expect(
        weights[0][0],
        [-2, 1],
        "weights of 0 after a step with lr 1 and the scaled gradient [512, -256], factor 256",
        {
            "The scale is undone after the step"
            if list(grads[0][0]) == [2, -1]
            else "The scale is not undone before the step": [-512, 256]
        },
        NEAR,
    )
    expect(
        grads[0][0], [2, -1], "the .grad after the step", "the .grad itself is divided", NEAR
    )


def test_a_step_with_infinite_gradients_is_skipped():
    _, weights, steps, _ = scaled_steps(8.0, [[[8.0, 16.0]]])
    assert steps == 1 and weights[0][0] == [-1, -2], (
        "the gradient [8, 16] is finite: one step, to the weights [-1, -2]; yours does "
        f"{steps} "
        f"steps, and the weights are {weights[0][0]}"
    )
    for bad in (math.inf, -math.inf, math.nan):
        factors, weights, steps, _ = scaled_steps(8.0, [[[8.0, bad]]])
        assert steps == 0 and weights[0][0] == [0, 0], (
            f"the gradient is [8, {bad}]: no optimizer step, the weights stay [0, 0]; yours "
            "does "
            f"{steps} steps, and the weights are {weights[0][0]}"
        )


def test_one_bad_gradient_skips_the_whole_step():
    for gradients in (
        [[8.0, 8.0], [math.inf, 0.0], [8.0, 8.0]],
        [[8.0, 8.0], [8.0, 8.0], [0.0, math.nan]],
        [[math.inf, 0.0], [8.0, 8.0], [8.0, 8.0]],
    ):
        for groups in (1, 3):
            factors, weights, steps, _ = scaled_steps(8.0, [gradients], groups=groups)
            assert weights[0] == [[0, 0]] * 3 and factors[-1] == 4, (
                f"the gradients of three weights in {groups} group(s) are {gradients}: none of "
                "the "
                f"weights may change, and the factor is halved to 4; yours are {weights[0]}, "
                "factor "
                f"{factors[-1]}. Look at all gradients of all groups before you decide"
            )


def test_the_factor_is_halved_after_a_skipped_step():
    bad, good = [[math.inf, 0.0]], [[1.0, 1.0]]
    factors, _, steps, _ = scaled_steps(16.0, [bad, bad, good, bad])
    expect(
        factors,
        [16, 8, 4, 4, 2],
        "the factors with steps: bad, bad, good, bad",
        {
            "A skipped step doubles the factor: it should halve it": [16, 32, 64, 64, 128],
            "After one bad step, all later ones are also skipped: reset the flag in update": [
                16,
                8,
                4,
                2,
                1,
            ],
        },
    )
    assert steps == 1, f"one of the four steps is good; yours does {steps} optimizer steps"


def test_a_good_step_after_a_skipped_one_uses_the_new_factor():
    _, weights, _, _ = scaled_steps(16.0, [[[math.inf, 0.0]], [[8.0, 16.0]]])
    expect(
        weights[1][0],
        [-1, -2],
        "after a skipped step at 16, a step with gradients [8, 16]",
        "the factor is 8 now",
        NEAR,
    )


def test_the_factor_is_doubled_after_enough_good_steps():
    good = [[1.0, 1.0]]
    factors, *_ = scaled_steps(4.0, [good] * 7, growth_interval=3)
    expect(
        factors,
        [4, 4, 4, 8, 8, 8, 16, 16],
        "the factors of 7 good steps with growth_interval=3",
        {
            "It is doubled one step too late": [4, 4, 4, 4, 8, 8, 8, 8],
            "Counting should start again after a doubling": [4, 4, 4, 8, 16, 32, 64, 128],
            "The counter is not set back to 0": [4, 4, 4, 8, 8, 8, 8, 8],
        },
    )


def test_good_steps_must_be_in_a_row():
    good, bad = [[1.0, 1.0]], [[math.nan, 1.0]]
    factors, *_ = scaled_steps(4.0, [good, good, bad, good, good, good], growth_interval=3)
    expect(
        factors,
        [4, 4, 4, 2, 2, 2, 4],
        "growth_interval=3, steps: good, good, bad, good, good, good",
        {"After a skipped step, counting starts again at 0": [4, 4, 4, 2, 4, 4, 4]},
    )


def test_weights_without_a_gradient_are_left_out():
    case = "a step in which the first weight has .grad None"
    _, weights, steps, _ = result_of(lambda: scaled_steps(2.0, [[None, [4.0, 4.0]]]), case)
    assert weights[0] == [[0, 0], [-2, -2]], f"{case}: the weights are {weights[0]}"


# %% grad-scaler hidden points=2
def test_hidden_scaling():
    factors, *_ = scaled_steps(1.0, [[[1.0, 1.0]]] * 2001, growth_interval=None)
    yield factors[1999:]
    bad, good = [[1.0, math.inf]], [[2.0, 4.0]]
    gradients = [good, good, bad, good, bad, good, good]
    factors, weights, steps, _ = scaled_steps(2.0, gradients, growth_interval=2)
    yield factors, weights[-1][0], steps

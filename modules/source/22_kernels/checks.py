# The checks of lesson 22, by exercise. `check("add")` in the chapter runs the visible ones.

# %% setup
import math

import numpy as np

from checking import because, equal, expect, result_of, shown

NEAR = (1e-4, 1e-5)
NOT_WRITTEN = (
    "The elements that are nan were not written, or were added to what `out` had before"
)
MEMORY = {"'Memory'": "a kernel uses single elements, a[i], and a length is a.shape[0]"}
THREADS = {
    "race between blocks": "all blocks use the same elements: multiply block.x by the number "
    "of elements of a block",
    "race: ": "several threads use the same element: does the index contain thread.x?",
    "is outside": "the last block has threads without an element: an `if` must keep them from "
    "reading and writing",
    "is not a whole number": "write // instead of /",
    "divergence": "all threads of a block must reach the same `yield`: put it outside of "
    "every `if`",
}


def numbers(*shape, seed=0):
    """Random float32 numbers."""
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def run_kernel(kernel, grid, block, arguments, wanted, case, likely=THREADS, wrong="", near=0):
    """Run a kernel, whose result is its last argument, and compare the result with `wanted`.

    likely   {words of an error of the simulator: the likely cause}
    wrong    as `cause` in `expect`
    returns  the counts of the simulator, {name: int}
    """
    out = np.full(np.shape(wanted), np.nan, "float32")
    error, out, counts = result_of(
        lambda: ran(kernel, grid, block, [*arguments, out]), case, MEMORY
    )
    assert type(error) is str and type(counts) is dict
    hint = next((text for words, text in likely.items() if words in error), "")
    assert not error, f"{case}: {error}{because(hint)}"
    out = np.asarray(out)
    unwritten = out.dtype.kind == "f" and np.isnan(out).any()
    if unwritten:
        wrong = f"{NOT_WRITTEN}: {wrong}" if isinstance(wrong, str) and wrong else NOT_WRITTEN
    expect(out, wanted, case, wrong, near)
    return counts


def at_most(counts, name, most, case, cause=""):
    """Assert that a count of the simulator is not 0 and at most so many."""
    count = int(counts[name])
    assert 0 < count <= most, (
        f"{case} needs {most:,} {name.replace('_', ' ')}, yours {count:,}{because(cause)}"
    )


def no_conflicts(counts, case, cause):
    count = int(counts["bank_conflicts"])
    assert count == 0, (
        f"{case} has {count:,} bank conflicts, and 0 are possible{because(cause)}"
    )


def tiles_of(a, change):
    """Each tile of 32 x 32 of a square matrix, changed by a function of (tiles, i, j)."""
    n = len(a) // 32
    tiles = [
        [a[32 * i : 32 * i + 32, 32 * j : 32 * j + 32] for j in range(n)] for i in range(n)
    ]
    return np.block([[change(tiles, i, j) for j in range(n)] for i in range(n)])


def softmax_by_hand(x):
    powers = np.exp(x.astype("float64") - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def online(x, old_factor, power):
    """Softmax of rows by a sum in one pass.

    old_factor  function (largest before, largest now) -> the factor of the old sum
    power       function (score, largest before, largest now) -> what is added
    """
    out = np.empty(x.shape)
    for i, row in enumerate(x.astype("float64")):
        largest, total = -1e30, 0.0
        for score in row:
            before, largest = largest, max(largest, score)
            total = total * old_factor(before, largest) + power(score, before, largest)
        out[i] = np.exp(row - largest) / total
    return out


def norm_by_hand(a, weight, bias, eps=1e-5, ddof=0, mean=True, added=None):
    a = a.astype("float64")
    average = a[:, :added].sum(1, keepdims=True) / a.shape[1]
    middle = average if mean else 0
    variance = ((a - average) ** 2).sum(1, keepdims=True) / (a.shape[1] - ddof)
    return (a - middle) / np.sqrt(variance + eps) * weight + bias


def attention_by_hand(
    q, k, v, causal=True, sums_rescaled=True, total_rescaled=True, scale=True
):
    """Attention in one pass over the keys, with and without its parts."""
    out = np.zeros(v.shape)
    for i, query in enumerate(q.astype("float64")):
        largest, total, sums = -1e30, 0.0, np.zeros(v.shape[1])
        for j in range(i + 1 if causal else len(k)):
            score = query @ k[j] / (math.sqrt(q.shape[1]) if scale else 1)
            before, largest = largest, max(largest, score)
            p, factor = math.exp(score - largest), math.exp(before - largest)
            total = total * (factor if total_rescaled else 1) + p
            sums = sums * (factor if sums_rescaled else 1) + p * v[j]
        out[i] = sums / total
    return out


TILES = THREADS | {
    "is read before": "other threads have written it: all of them must have written before "
    "the first one reads",
    "race: ": "between writing a tile and reading what other threads have written, a `yield` "
    "is needed",
    "is outside": "at the edges, a tile reaches beyond the matrix: compare rows with shape[0] "
    "and columns with shape[1], of `a` for the reads and of `out` for the writes",
}


def transposed(n, m, case=""):
    a, grid = numbers(n, m, seed=n + m), (-(-m // 32), -(-n // 32))
    case = f"the transpose of a matrix {n} x {m}"
    wrong = {}
    if n == m and n > 32:
        wrong = {
            "The tiles are at the right places, but their rows are still rows: which index of "
            "the tile is thread.x when you write out?": tiles_of(a, lambda t, i, j: t[j][i]),
            "Each tile is transposed, but at its old place: the tile at (row, column) goes to "
            "(column, row)": tiles_of(a, lambda t, i, j: t[i][j].T),
            "That is the matrix itself": a,
        }
    elif n == m:
        wrong = {"The rows of the tile are still rows": a}
    likely = TILES | {
        "is read before": "does a `yield` come before the first read? Do the threads write all "
        "32 rows of the tile, 4 each? And the second part reads only what belongs to `out`: "
        "its conditions have rows and columns of `out`"
    }
    return run_kernel(transpose, grid, (32, 8), [a], a.T, case, likely, wrong)


SUMS = TILES | {
    "race: ": "in each phase, threads read what others wrote in the phase before: a `yield` is "
    "needed between two phases, and after the first writes",
    "is outside": "only as many threads add as there are sums: x < step. And the last block "
    "has threads without an element, which write 0.0 into the tile",
    "is read before": "each thread writes into the tile first, threads without an element 0.0, "
    "and a `yield` comes before the first reads",
}


def summed(n, case=""):
    a, blocks = numbers(n, seed=n), -(-n // 64)
    case = f"block_sum of {n} elements, {blocks} blocks"
    full = np.concatenate([a, np.zeros(64 * blocks - n, "float32")]).reshape(blocks, 64)
    wrong = {
        "The last phase, with step 1, is missing": full[:, ::2].sum(1),
        "The first phase, with step 32, is missing": full[:, :32].sum(1),
        "The first element of the block is the only one that arrived": full[:, 0],
        "That is the largest element": full.max(1),
    }
    return run_kernel(block_sum, blocks, 64, [a], full.sum(1), case, SUMS, wrong, NEAR)


ROWS = THREADS | {
    "math range error": "exp(-large) is 0, and exp(large) is infinite: is the difference the "
    "right way round, old minus new maximum, score minus maximum?",
    "division by zero": "the sum is 0, because all powers are 0: the first maximum must be "
    "smaller than every score, such as -1e30",
    "is outside": "the last block has threads without a row",
    "race: ": "one thread for each row: row = SIZE * block.x + thread.x",
}


def softmaxed(a, case):
    wrong = {
        "The old sum must be multiplied by exp(old maximum - new maximum)": online(
            a, lambda before, now: 1.0, lambda s, before, now: math.exp(s - now)
        ),
        "That is the power, not yet divided by the sum": np.exp(
            a.astype("float64") - a.max(1, keepdims=True)
        ),
        "In the last loop, too, subtract the maximum from the score": np.exp(
            np.minimum(a, 700.0)
        )
        / np.exp(a.astype("float64") - a.max(1, keepdims=True)).sum(1, keepdims=True),
        "Add the power relative to the new maximum, not to the old one": online(
            a,
            lambda before, now: math.exp(max(before - now, -700)),
            lambda s, before, now: math.exp(min(s - max(before, -700), 300)),
        ),
    }
    blocks = -(-len(a) // 64)
    return run_kernel(
        online_softmax, blocks, 64, [a], softmax_by_hand(a), case, ROWS, wrong, NEAR
    )


NORM = {
    "race: this thread writes tile": "all threads read tile[0]. A `yield` must come before "
    "the tile gets other numbers",
    "race: this thread reads tile": "all threads read tile[0]. A `yield` must come before "
    "the tile gets other numbers",
    **TILES,
    "race: ": "thread x handles the elements x, x + SIZE, x + 2 SIZE, ... of its row",
    "is outside": "the elements of thread x are x, x + SIZE, ..., below the length of a row",
    "division by zero": "eps, 1e-5, is added to the variance",
    "is read before": "the numbers of a tile are arbitrary at first: add in a variable, and "
    "write its total into the tile",
}


def normed(n, m, case="", seed=0):
    a, weight, bias = 2 + 3 * numbers(n, m, seed=seed), numbers(m, seed=1), numbers(m, seed=2)
    case = f"layer_norm of {n} rows of {m} numbers"
    wrong = {
        "The mean must be subtracted": norm_by_hand(a, weight, bias, mean=False),
        "The variance is divided by n, not by n - 1": norm_by_hand(a, weight, bias, ddof=1)
        if m > 1
        else np.zeros(0),
        "weight is missing": norm_by_hand(a, 1, bias),
        "bias is missing": norm_by_hand(a, weight, 0),
        "Element j has weight[j] and bias[j]": norm_by_hand(
            a, weight[np.arange(m) % 64], bias[np.arange(m) % 64]
        )
        if m > 64
        else np.zeros(0),
        "Thread x adds its elements x, x + SIZE, ..., not only the first": norm_by_hand(
            a, weight, bias, added=64
        )
        if m > 64
        else np.zeros(0),
    }
    wanted = norm_by_hand(a, weight, bias)
    arguments = [a, weight, bias]
    return run_kernel(layer_norm, n, 64, arguments, wanted, case, NORM, wrong, (1e-3, 1e-4))


PRODUCT = {
    "race: this thread writes": "a second `yield` is needed, before the next tiles overwrite "
    "these",
    **TILES,
    "is read before": "each thread writes one element of each tile, and zeros beyond the "
    "matrices; a `yield` comes before the tiles are read",
    "race: ": "a `yield` is needed after the tiles are written, and another one before the "
    "next tiles overwrite these",
    "divergence": "threads without a result must also load and wait: no `return`, and no "
    "`yield` in an `if`",
    "is outside": "at the edges, a tile reaches beyond the matrices: compare the row and the "
    "column with the shape of the matrix that is read",
}


def multiplied(n, k, m):
    a, b = numbers(n, k, seed=n + k), numbers(k, m, seed=m)
    case = f"matmul of shapes ({n}, {k}) and ({k}, {m})"
    last = (k - 1) // 16 * 16
    wrong = {
        "Only the last tiles along k count: begin with 0.0 before the loop": a[:, last:]
        @ b[last:]
        if last
        else np.zeros(0),
        "Only the first tiles along k count": a[:, :16] @ b[:16] if k > 16 else np.zeros(0),
        "The last tiles may reach beyond k, and count: range(0, k, TILE)": a[:, : k // 16 * 16]
        @ b[: k // 16 * 16]
        if k % 16
        else np.zeros(0),
        "The products are left[y, n] * right[n, x]": a @ b.T
        if n == k == m == 16
        else np.zeros(0),
        "That is an elementwise product of the tiles": a * b if n == k == m else np.zeros(0),
    }
    grid = -(-m // 16), -(-n // 16)
    return run_kernel(matmul, grid, (16, 16), [a, b], a @ b, case, PRODUCT, wrong, (1e-3, 1e-4))


KEYS = {
    "is read before": "that key does not exist in this tile: query i looks at the keys 0 to i, "
    "so at min(32, i - start + 1) keys of the tile that begins with `start`",
    "math range error": "exp(-large) is 0, and exp(large) is infinite: which maximum is "
    "subtracted from which?",
    "division by zero": "`total` is 0 at the end: add the power of each score, also of the key "
    "with the number of the query: min(32, i - start + 1) keys of a tile",
    "is outside": "a tile has 32 keys, with the numbers 0 to 31 in the tile",
    "index out of range": "a query and a value have HEAD numbers",
    "divergence": "keep the `yield` lines where they are",
    "race: ": "keep the `yield` lines where they are",
}


def attended(q, k, v, case):
    wrong = {
        "`sums` must also be multiplied by the factor": attention_by_hand(
            q, k, v, sums_rescaled=False
        ),
        "`total` must be multiplied by the factor when the maximum grows": attention_by_hand(
            q, k, v, total_rescaled=False
        ),
        "Query i looks at the keys 0 to i only": attention_by_hand(q, k, v, causal=False),
        "Only the last key counts: does `largest` become the new maximum?": v,
        "All keys have the same weight: is key number n of the tile keys[n, d]?": (
            attention_by_hand(0 * q, k, v)
        ),
        "The scores are scaled already: query is divided by sqrt(HEAD)": attention_by_hand(
            q / 4, k, v
        ),
    }
    wanted, blocks = attention_by_hand(q, k, v), -(-len(q) // 32)
    return run_kernel(attention, blocks, 32, [q, k, v], wanted, case, KEYS, wrong, (1e-3, 1e-4))


def values_of_address(index, shape, rows, wanted, causes):
    case = f"address of [{index}] in an array of shape {tuple(shape)}"
    text, found = result_of(lambda: address_of(index, shape, rows), case)
    assert type(text) is str, f"{case} should be a text, yours is {text!r}"
    bad = [value for value in found if type(value) is str]
    assert not bad, f"{case} is no expression: {bad[0]}"
    case = f"{case}, {text}, for {rows}"
    equal(list(found), wanted, case, causes)


def expression_values(method, source, rows, wanted, kind, cause):
    case = f"{method} of `{source}`"
    text, found_kind, found = result_of(lambda: expression(method, source, rows), case)
    assert type(text) is str, f"{case} should return a text, yours is {text!r}"
    bad = [value for value in found if type(value) is str]
    assert not bad, f"{case} is no expression of WGSL: {bad[0]}"
    equal(list(found), wanted, f"{case}, {text}, for {rows}", cause)
    equal(found_kind, kind, f"the type of {case}", cause)


# %% learner-side
import ast
import linecache

from checking import refusal
from tinytorch.gpu.simulator import KernelError, Report, shared
from tinytorch.gpu.simulator import launch as launch_kernel


def ran(kernel, grid, block, arguments):
    """Run a kernel on copies of these arrays: the KernelError or "", the last array, and the
    counts."""
    arrays = [np.array(x) if isinstance(x, np.ndarray) else x for x in arguments]
    try:
        report = launch_kernel(kernel, grid, block, *arrays)
    except KernelError as error:
        return str(error), arrays[-1], {}
    return "", arrays[-1], dict(vars(report))


def read_by_a_warp(addresses, is_shared):
    """The transactions, or the bank conflicts, when thread i of a warp reads address i."""

    def read(block, thread, at, a, out):
        out[thread.x] = a[at[thread.x]]

    def read_shared(block, thread, at, a, out, tile=shared(2048)):
        for i in range(thread.x, 2048, 32):
            tile[i] = 0.0
        yield
        out[thread.x] = tile[at[thread.x]]

    at, a, out = np.array(addresses), np.zeros(2048, "float32"), np.zeros(32, "float32")
    report = launch_kernel(read_shared if is_shared else read, 1, len(at), at, a, out)
    return report.bank_conflicts if is_shared else report.transactions - 2


def races_of(accesses):
    """The type of what `races` returns, and its addresses in order."""
    found = races([tuple(access) for access in accesses])
    return type(found).__name__, sorted(found) if isinstance(found, set) else repr(found)


class Number:
    """A number of one type of WGSL, which refuses to be used together with another type."""

    def __init__(self, value, kind):
        self.value, self.kind = value, kind

    def with_other(self, other, operation):
        other = other if isinstance(other, Number) else typed(other)
        assert self.kind == other.kind, (
            f"WGSL does not use {self.kind} and {other.kind} together"
        )
        return operation(self.value, other.value)

    def __add__(self, other):
        return Number(self.with_other(other, lambda a, b: a + b), self.kind)

    def __sub__(self, other):
        return Number(self.with_other(other, lambda a, b: a - b), self.kind)

    def __mul__(self, other):
        return Number(self.with_other(other, lambda a, b: a * b), self.kind)

    def __lt__(self, other):
        return self.with_other(other, lambda a, b: a < b)

    def __le__(self, other):
        return self.with_other(other, lambda a, b: a <= b)

    def __gt__(self, other):
        return self.with_other(other, lambda a, b: a > b)

    def __ge__(self, other):
        return self.with_other(other, lambda a, b: a >= b)

    def __eq__(self, other):
        return self.with_other(other, lambda a, b: a == b)

    def __ne__(self, other):
        return self.with_other(other, lambda a, b: a != b)

    def __radd__(self, other):
        return typed(other) + self

    def __rsub__(self, other):
        return typed(other) - self

    def __rmul__(self, other):
        return typed(other) * self


def typed(x):
    if isinstance(x, Number):
        return x
    return Number(x, "f32" if isinstance(x, float) else "i32")


def pick(no, yes, test):
    assert isinstance(test, bool), "the third argument of select is the test"
    no, yes = typed(no), typed(yes)
    assert no.kind == yes.kind, f"select cannot choose between {no.kind} and {yes.kind}"
    return yes if test else no


CONVERSIONS = {
    "f32": lambda x: Number(float(typed(x).value), "f32"),
    "i32": lambda x: Number(int(typed(x).value), "i32"),
    "select": pick,
    "floor_div": lambda a, b: Number(typed(a).value // typed(b).value, "i32"),
    "__builtins__": {},
}
KERNEL = "def kernel(block, thread, a, out):\n    out[0] = 0.0\n"


def compiler_for_expressions(line=1):
    """A Compiler that knows i, j, k (i32), x, y (f32) and ok (bool), and an array a (4, 5)."""
    text = "\n" * (line - 1) + KERNEL
    linecache.cache["<kernel>"] = len(text), None, text.splitlines(True), "<kernel>"
    space = {}
    exec(compile(text, "<kernel>", "exec"), space)
    arrays = np.zeros((4, 5), "float32"), np.zeros(4, "float32")
    compiler = Compiler(space["kernel"], arrays)
    compiler.locals = {"i": "i32", "j": "i32", "k": "i32", "x": "f32", "y": "f32", "ok": "bool"}
    return compiler


def value_of(text, variables):
    """The value of an expression in WGSL, computed by Python with strict types; or what WGSL
    would not accept, as a text."""
    if not isinstance(text, str):
        return f"a {type(text).__name__} and no text"
    if " and " in text or " or " in text:
        return f"{text}: WGSL writes && and ||"
    source = text.replace("&&", " and ").replace("||", " or ")
    try:
        for node in ast.walk(ast.parse(source, mode="eval")):
            if isinstance(node, ast.Compare) and len(node.ops) > 1:
                return f"{text}: WGSL has no chains of comparisons"
            if isinstance(node, ast.IfExp):
                return f"{text}: WGSL has no `if` in an expression"
        names = {f"{name}_": typed(x) for name, x in variables.items() if type(x) is not bool}
        names |= {f"{name}_": x for name, x in variables.items() if type(x) is bool}
        result = eval(source, CONVERSIONS | names)
    except (SyntaxError, AssertionError, NameError, TypeError) as error:
        return f"{text}: {type(error).__name__}: {error}"
    return result.value if isinstance(result, Number) else result


def promoted(parts):
    """What `promote` returns, as lists."""
    result = compiler_for_expressions().promote([tuple(part) for part in parts])
    texts, kind = result
    return [str(text) for text in texts], str(kind)


def address_of(index, shape, variables=()):
    """The text of `address` for an index such as "i, j + 1", and its values for rows of
    variables."""
    node = ast.parse(f"a[{index}]", mode="eval").body
    nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    text = compiler_for_expressions().address(nodes, tuple(shape))
    return text, [value_of(text, row) for row in variables]


def address_refused(index, shape):
    """The error of `address`, (name, message), in a kernel whose `def` is on line 7."""
    node = ast.parse(f"a[{index}]", mode="eval").body
    nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return refusal(compiler_for_expressions(7).address, nodes, tuple(shape))


def expression(method, source, variables):
    """The text and type that `compare` or `select` returns, and its values."""
    node = ast.parse(source, mode="eval").body
    compiler = compiler_for_expressions()
    result = {
        "compare": lambda: compiler.compare(node),
        "select": lambda: compiler.select(node),
    }
    text, kind = result[method]()
    return text, str(kind), [value_of(text, row) for row in variables]


def prediction(transactions, machine, flops):
    """What `predicted` returns, as a float and a text."""
    from tinytorch.core.profiling import Machine

    report = Report(transactions=transactions, reads=7, writes=9, threads=5)
    result = predicted(report, Machine(*machine), *flops)
    seconds, limit = result
    return float(seconds), str(limit)


# %% add points=4
def test_each_thread_adds_one_element():
    for n, blocks in ((64, 1), (128, 2), (192, 3)):
        a, b = numbers(2, n, seed=n)
        case = f"add of {n} elements, {blocks} blocks of 64 threads"
        wrong = {"The sum of a and b, not the difference": a - b, "That is the product": a * b}
        run_kernel(add, blocks, 64, [a, b], a + b, case, wrong=wrong)


def test_threads_without_an_element_do_nothing():
    for n, blocks in ((1, 1), (65, 2), (100, 2), (100, 4)):
        a, b = numbers(2, n, seed=n)
        case = f"add of {n} elements, {blocks} blocks of 64 threads"
        run_kernel(add, blocks, 64, [a, b], a + b, case, wrong="is an element left out?")


def test_add_reads_and_writes_each_element_once():
    for n, wanted in ((1, 3), (64, 6), (65, 9), (100, 12)):
        a, b = numbers(2, n, seed=n)
        case = f"add of {n} elements"
        counts = run_kernel(add, -(-n // 64), 64, [a, b], a + b, case)
        cause = (
            "each thread handles one element, and neighbouring threads neighbouring elements"
        )
        at_most(counts, "transactions", wanted, case, cause)
        at_most(counts, "reads", 2 * n, case, "read each element once")


def test_blocks_for_n_elements():
    for n, size, wanted in ((100, 64, 2), (64, 64, 1), (65, 64, 2), (1, 16, 1), (48, 16, 3)):
        causes = {
            "Round up, not down: the last block may be partly used": n // size,
            "A multiple of the size needs no further block": n // size + 1,
            "That is the remainder": n % size,
        }
        causes = {text: value for text, value in causes.items() if value != wanted}
        found = blocks_for(n, size)
        expect(found, wanted, f"blocks_for({n}, {size})", causes)
        equal(found, wanted, f"blocks_for({n}, {size})")
    equal(blocks_for(0, 64), 0, "blocks_for(0, 64)", "no elements need no blocks")


# %% add hidden points=1
def test_add_of_other_sizes():
    for n, blocks in ((63, 1), (129, 3)):
        a, b = numbers(2, n, seed=n)
        run_kernel(add, blocks, 64, [a, b], a + b, f"add of {n} elements")
    for n, size in ((1000, 32), (1024, 32), (7, 8)):
        equal(blocks_for(n, size), math.ceil(n / size), f"blocks_for({n}, {size})")


# %% add-row points=4
def test_a_row_is_added_to_each_row():
    for n, m in ((16, 16), (32, 32), (16, 48)):
        x, bias = numbers(n, m, seed=n), numbers(m, seed=1)
        case = f"add_row of a matrix {n} x {m}"
        grid = -(-m // 16), -(-n // 16)
        wrong = (
            {"bias has one number for each column: bias[j]": x + bias[:n, None]}
            if m == 16
            else "x counts columns and y counts rows, and a block has TILE of each"
        )
        run_kernel(add_row, grid, (16, 16), [x, bias], x + bias, case, wrong=wrong)


def test_matrices_need_not_fill_the_blocks():
    for n, m in ((1, 1), (20, 33), (40, 7)):
        x, bias = numbers(n, m, seed=n), numbers(m, seed=1)
        case = f"add_row of a matrix {n} x {m}"
        grid = -(-m // 16), -(-n // 16)
        cause = (
            "a block at the edge has threads outside of the matrix, in both directions; x "
            "counts columns"
        )
        likely = THREADS | {"is outside": cause}
        run_kernel(add_row, grid, (16, 16), [x, bias], x + bias, case, likely, cause)


def test_neighbouring_threads_use_neighbouring_columns():
    x, bias = numbers(64, 64), numbers(64, seed=1)
    case = "add_row of a matrix 64 x 64"
    counts = run_kernel(add_row, (4, 4), (16, 16), [x, bias], x + bias, case)
    cause = "thread.x counts columns, and thread.y rows"
    at_most(counts, "transactions", 640, case, cause)


# %% add-row hidden points=1
def test_add_row_of_other_shapes():
    for n, m in ((33, 17), (5, 100)):
        x, bias = numbers(n, m, seed=n), numbers(m, seed=1)
        grid = -(-m // 16) + 1, -(-n // 16) + 1
        run_kernel(add_row, grid, (16, 16), [x, bias], x + bias, f"add_row of {n} x {m}")


# %% transactions points=4
def test_transactions_are_the_pieces_of_128_bytes():
    cases = [
        ("32 floats side by side", range(32), 1),
        ("every second float", range(0, 64, 2), 2),
        ("32 floats side by side, from place 1 on", range(1, 33), 2),
        ("32 floats side by side, from place 992 on", range(992, 1024), 1),
        ("a column of a matrix with 64 columns", range(0, 2048, 64), 32),
        ("the same float in all threads", [7] * 32, 1),
        ("32 floats in reverse order", range(31, -1, -1), 1),
        ("the places 0 and 1000", [0, 1000], 2),
        ("the places 0, 1, 640, 641 and 2", [0, 1, 640, 641, 2], 2),
    ]
    for case, addresses, wanted in cases:
        addresses = list(addresses)
        pieces = [a // 32 for a in addresses]
        causes = {
            "All threads in one piece are one transaction": len(addresses),
            "Pieces in between, without an address, do not move": max(addresses) // 32
            - min(addresses) // 32
            + 1,
            "Pieces begin at multiples of 128 bytes, not at the first address": (
                max(addresses) - min(addresses)
            )
            // 32
            + 1,
            "Places are counted in elements: multiply by itemsize": len(
                {a // 128 for a in addresses}
            ),
            "Each address once, but a piece once, too": len(set(addresses)),
            "A piece that comes again moves once": 1
            + sum(pieces[n] != pieces[n - 1] for n in range(1, len(pieces))),
        }
        causes = {text: value for text, value in causes.items() if value != wanted}
        found = transactions(addresses)
        expect(found, wanted, f"transactions for {case}", causes)
        equal(found, wanted, f"transactions for {case}")


def test_the_size_of_an_element_counts():
    for itemsize, wanted in ((1, 1), (2, 1), (4, 1), (8, 2), (16, 4)):
        case = f"transactions of 32 elements of {itemsize} bytes side by side"
        found = transactions(list(range(32)), itemsize)
        expect(found, wanted, case, "an element begins at the byte: its place times itemsize")
    expect(transactions([]), 0, "transactions([])")


def test_bank_conflicts_are_the_further_steps():
    cases = [
        ("32 places side by side", range(32), 0),
        ("every second place", range(0, 64, 2), 1),
        ("every 32nd place", range(0, 1024, 32), 31),
        ("every 33rd place", range(0, 1056, 33), 0),
        ("the places 0, 32, 64 and 1", [0, 32, 64, 1], 2),
        ("the places 0, 32, 1 and 33", [0, 32, 1, 33], 1),
        ("one place", [5], 0),
    ]
    for case, addresses, wanted in cases:
        banks = [a % 32 for a in addresses]
        causes = {
            "The first step is no conflict: subtract 1": wanted + 1,
            "The largest number in one bank counts, not the sum over all banks": len(banks)
            - len(set(banks)),
            "Address a is in bank a % 32": max(
                [a // 32 for a in addresses].count(b) for b in {a // 32 for a in addresses}
            )
            - 1,
        }
        causes = {text: value for text, value in causes.items() if value != wanted}
        found = bank_conflicts(list(addresses))
        expect(found, wanted, f"bank_conflicts for {case}", causes)
        equal(found, wanted, f"bank_conflicts for {case}")


def test_threads_may_read_the_same_address_of_a_bank():
    for addresses, wanted in (([5] * 32, 0), ([0, 0, 32], 1), ([1, 1, 2, 2, 34], 1)):
        case = f"bank_conflicts({addresses if len(addresses) < 9 else '[5] * 32'})"
        cause = "threads that read the same address do not wait for each other"
        expect(bank_conflicts(list(addresses)), wanted, case, cause)


# %% transactions hidden points=1
def test_counts_are_those_of_the_simulator():
    rng = np.random.default_rng(3)
    for most in (40, 300, 2000):
        addresses = rng.integers(0, most, 32).tolist()
        case = f"of the addresses {addresses}"
        moved = len({address // 32 for address in addresses})
        banks = [address % 32 for address in set(addresses)]
        conflicts = max(banks.count(bank) for bank in banks) - 1
        expect(read_by_a_warp(addresses, False), moved, f"the simulator's transactions {case}")
        expect(transactions(addresses), moved, f"transactions {case}")
        expect(read_by_a_warp(addresses, True), conflicts, f"the simulator's conflicts {case}")
        expect(bank_conflicts(addresses), conflicts, f"bank_conflicts {case}")


# %% races points=4
def test_two_threads_of_which_one_writes_race():
    cases = [
        ([[0, 5, True], [1, 5, False]], [5], "one thread writes, another reads"),
        ([[1, 5, False], [0, 5, True]], [5], "the order of the list does not matter"),
        ([[0, 5, True], [1, 5, True]], [5], "both write"),
        ([[0, 2, False], [1, 2, False], [2, 2, True]], [2], "the third one writes"),
        ([[0, 7, True], [1, 7, False], [0, 3, True], [1, 3, True]], [3, 7], "two addresses"),
    ]
    for accesses, wanted, why in cases:
        kind, found = races_of(accesses)
        case = f"races({[tuple(access) for access in accesses]})"
        assert kind == "set", f"{case} should be a set of addresses, yours is a {kind}"
        equal(found, wanted, f"{case}, as a list", why)


def test_what_is_not_a_race():
    cases = [
        ([[0, 5, False], [1, 5, False]], "threads that only read do not race"),
        ([[0, 5, True], [0, 5, False]], "a thread does not race with itself"),
        ([[0, 5, True], [0, 5, True]], "a thread does not race with itself"),
        ([[0, 5, True], [1, 6, False]], "these are two addresses"),
        ([], "there are no accesses"),
    ]
    for accesses, why in cases:
        _, found = races_of(accesses)
        case = f"races({[tuple(access) for access in accesses]}), as a list,"
        equal(found, [], case, why)


def test_a_thread_that_reads_first_and_another_that_writes():
    accesses = [[0, 1, True], [0, 1, True], [0, 2, False], [1, 2, False], [3, 2, False]]
    _, found = races_of(accesses)
    case = f"races({[tuple(access) for access in accesses]}), as a list,"
    equal(found, [], case, "address 1 has one user, and address 2 only readers")
    _, found = races_of([*accesses, [4, 1, False]])
    equal(found, [1], "races with (4, 1, False) at the end, as a list,", "now 1 has two users")
    _, found = races_of([[0, 5, True], [0, 5, False], [1, 5, False]])
    case = "races([(0, 5, True), (0, 5, False), (1, 5, False)]), as a list,"
    equal(found, [5], case, "all accesses to an address count, not only neighbours in the list")


# %% races hidden points=1
def test_races_of_many_accesses():
    rng = np.random.default_rng(0)
    accesses = [
        [int(t), int(a), bool(w)]
        for t, a, w in zip(
            rng.integers(0, 3, 60), rng.integers(0, 30, 60), rng.random(60) < 0.4, strict=True
        )
    ]
    wanted = [
        address
        for address in range(30)
        if any(
            x[1] == y[1] == address and x[0] != y[0] and (x[2] or y[2])
            for x in accesses
            for y in accesses
        )
    ]
    equal(races_of(accesses)[1], wanted, "the races of 60 accesses")


# %% transpose points=8


def test_one_tile_is_transposed():
    transposed(32, 32)


def test_tiles_change_their_places():
    for n, m in ((64, 64), (32, 64), (96, 32)):
        transposed(n, m)


def test_a_matrix_need_not_fill_its_tiles():
    for n, m in ((1, 1), (33, 40), (5, 70), (40, 3)):
        transposed(n, m)


def test_reads_and_writes_are_coalesced():
    counts = transposed(64, 64)
    case = "the transpose of 64 x 64"
    cause = (
        "write rows of `out`: neighbouring threads, which differ in x, must write to "
        "neighbouring columns, also of `out`"
    )
    at_most(counts, "transactions", 256, case, cause)
    at_most(counts, "reads", 4096, case, "read each element once")
    at_most(counts, "shared_reads", 4096, case, "each element goes through the tile once")


def test_a_column_of_the_tile_has_no_bank_conflicts():
    counts = transposed(64, 64)
    cause = "the tile has 33 columns, so that the numbers of a column lie in different banks"
    no_conflicts(counts, "the transpose of 64 x 64", cause)


# %% transpose hidden points=2
def test_transposes_of_other_shapes():
    for n, m in ((31, 65), (100, 9)):
        transposed(n, m)


# %% block-sum points=6


def test_each_block_adds_its_elements():
    for n in (64, 256):
        summed(n)


def test_a_last_block_may_be_shorter():
    for n in (100, 65, 3):
        summed(n)


def test_the_sum_is_a_tree():
    counts = summed(256)
    barriers = int(counts["barriers"])
    assert 24 <= barriers <= 32, (
        f"block_sum with 4 blocks should have 28 barriers, 7 for each block: after the first "
        f"writes, and in each of the 6 phases. Yours has {barriers}"
    )
    at_most(counts, "reads", 256, "block_sum of 256 elements", "read each element once")
    at_most(
        counts,
        "shared_reads",
        600,
        "block_sum of 256 elements",
        "in each phase, half as many threads add as in the phase before",
    )


def test_a_tree_of_halves_has_no_bank_conflicts():
    counts = summed(256)
    cause = "add numbers that are `step` apart, with neighbouring threads: 32, 16, 8, 4, 2, 1"
    no_conflicts(counts, "block_sum of 256 elements", cause)
    at_most(
        counts,
        "transactions",
        12,
        "block_sum of 256 elements",
        "neighbouring threads read neighbouring elements, each of them once",
    )


# %% block-sum hidden points=1
def test_block_sums_of_other_sizes():
    for n in (1, 130, 191):
        summed(n)


# %% online-softmax points=5


def test_each_row_becomes_its_softmax():
    rows = np.array([[1, 2, 4], [4, 2, 1], [2, 4, 1], [0, 0, 0]], "float32")
    for i, row in enumerate(rows):
        softmaxed(rows[i : i + 1], f"online_softmax of the row {shown(row)}")
    softmaxed(numbers(3, 7), "online_softmax of 3 random rows")


def test_large_and_small_scores():
    for row in ([1000, 999, 1000], [-1000, -1001, -999], [-1000, 1000, 0], [1000, -1000, 0]):
        a = np.array([row], "float32")
        softmaxed(a, f"online_softmax of the row {shown(row)}")


def test_each_thread_has_one_row():
    softmaxed(numbers(70, 2), "online_softmax of 70 rows, 2 blocks of 64 threads")
    softmaxed(numbers(1, 1), "online_softmax of one score")


def test_each_score_is_read_twice():
    counts = softmaxed(numbers(5, 6), "online_softmax of 5 x 6 scores")
    cause = (
        "one pass finds both the maximum and the sum. Keep a score that you read in a variable"
    )
    at_most(counts, "reads", 60, "online_softmax of 5 x 6 scores", cause)
    at_most(counts, "writes", 30, "online_softmax of 5 x 6 scores", "write each result once")


# %% online-softmax hidden points=1
def test_online_softmax_of_other_scores():
    softmaxed(30 * numbers(66, 5, seed=4), "online_softmax of 66 rows")
    softmaxed(
        np.array([[-2000, -2000.5]], "float32"), "online_softmax of two scores near -2000"
    )


# %% layer-norm points=6


def test_rows_are_normalized():
    for n, m in ((1, 64), (3, 64), (2, 32)):
        normed(n, m)


def test_rows_of_any_length():
    for n, m in ((2, 100), (1, 130), (2, 3), (1, 1)):
        normed(n, m)


def test_eps_is_added_to_the_variance():
    a, ones = np.full((1, 8), 3.0, "float32"), np.ones(8, "float32")
    case = "layer_norm of a row of equal numbers"
    run_kernel(layer_norm, 1, 64, [a, ones, 2 * ones], 2 * np.ones((1, 8)), case, NORM)
    a = 1e-3 * numbers(1, 64)
    wanted = norm_by_hand(a, np.ones(64), np.zeros(64))
    causes = {
        "eps is missing": norm_by_hand(a, 1, 0, eps=0),
        "eps is added to the variance, inside the square root": (a - a.mean())
        / (a.std() + 1e-5),
        "eps is 1e-5": norm_by_hand(a, 1, 0, eps=1e-6),
    }
    arguments = [a, np.ones(64, "float32"), np.zeros(64, "float32")]
    case = "layer_norm of very small numbers"
    run_kernel(layer_norm, 1, 64, arguments, wanted, case, NORM, causes, (1e-3, 1e-4))


def test_the_accesses_of_layer_norm_are_coalesced():
    cause = "thread x handles the elements x, x + SIZE, ...; read an element once in each pass"
    for n, m, most in ((4, 100, 132), (1, 256, 48)):
        counts = normed(n, m)
        at_most(counts, "transactions", most, f"layer_norm of {n} rows of {m} numbers", cause)
    at_most(
        counts, "barriers", 16, "a row", "the given lines have 14 barriers, and you add one"
    )


# %% layer-norm hidden points=1
def test_layer_norm_of_other_rows():
    for n, m in ((2, 65), (3, 17)):
        normed(n, m, seed=5)


# %% matmul points=8


def test_one_tile_is_multiplied():
    multiplied(16, 16, 16)


def test_products_of_several_tiles_are_added():
    for n, k, m in ((16, 48, 16), (32, 16, 16), (16, 32, 32)):
        multiplied(n, k, m)


def test_matrices_need_not_fill_their_tiles():
    for n, k, m in ((1, 1, 1), (20, 5, 17), (3, 33, 20), (17, 16, 2)):
        multiplied(n, k, m)


def test_tiles_are_used_16_times():
    counts = multiplied(32, 32, 32)
    case = "matmul of 32 x 32"
    cause = (
        "load each element of a tile once, by one thread: row y and column x of the tile; "
        "multiply numbers of shared memory"
    )
    at_most(counts, "transactions", 320, case, cause)
    at_most(counts, "reads", 4096, case, cause)
    barriers = int(counts["barriers"])
    assert 8 <= barriers <= 20, (
        f"{case} has 4 blocks with 2 steps along k, and 2 barriers in each step: 16 in all; "
        f"yours has {barriers}"
    )


# %% matmul hidden points=2
def test_products_of_other_shapes():
    for n, k, m in ((9, 40, 18), (31, 15, 5)):
        multiplied(n, k, m)


# %% attention points=8


def test_attention_of_one_tile():
    for tokens in (1, 5, 32):
        q, k, v = numbers(3, tokens, 16, seed=tokens)
        attended(3 * q, k, v, f"attention of {tokens} tokens")


def test_growing_scores_are_rescaled():
    tokens = np.arange(6)[:, None]
    q, v = np.ones((6, 16), "float32"), numbers(6, 16)
    for name, k in (("growing", tokens), ("falling", 5 - tokens)):
        k = np.tile(k, 16).astype("float32")
        attended(q, k, v, f"attention of 6 tokens with {name} scores")


def test_attention_of_several_tiles():
    q, k, v = numbers(3, 40, 16, seed=1)
    counts = attended(2 * q, k, v, "attention of 40 tokens")
    cause = "take keys and values from shared memory"
    at_most(counts, "transactions", 112, "attention of 40 tokens", cause)


def test_scores_of_some_thousands():
    q, k, v = numbers(3, 8, 16, seed=2)
    attended(2000 * q, k, v, "attention of 8 tokens with scores of some thousands")


# %% attention hidden points=2
def test_attention_of_70_tokens():
    q, k, v = numbers(3, 70, 16, seed=3)
    counts = attended(2 * q, k, v, "attention of 70 tokens")
    at_most(counts, "transactions", 236, "attention of 70 tokens")


# %% compiler points=9
def test_promote_makes_all_expressions_floats():
    cases = [
        ([["i_", "i32"], ["x_", "f32"]], ["f32(i_)", "x_"], "f32"),
        ([["x_", "f32"], ["3", "i32"]], ["x_", "f32(3)"], "f32"),
        ([["i_", "i32"], ["j_", "i32"]], ["i_", "j_"], "i32"),
        ([["x_", "f32"], ["y_", "f32"]], ["x_", "y_"], "f32"),
        ([["i_", "i32"], ["x_", "f32"], ["j_", "i32"]], ["f32(i_)", "x_", "f32(j_)"], "f32"),
        ([["ok_", "bool"], ["x_", "f32"]], ["f32(ok_)", "x_"], "f32"),
        ([["ok_", "bool"], ["ok_", "bool"]], ["ok_", "ok_"], "bool"),
    ]
    for parts, texts, kind in cases:
        case = f"promote({[tuple(part) for part in parts]})"
        found, found_kind = result_of(lambda: promoted(parts), case)
        cause = "only texts of another type than f32 are wrapped, and only if the types differ"
        equal(list(found), texts, f"the texts of {case}", cause)
        equal(found_kind, kind, f"the type of {case}", cause)


def test_an_address_is_the_index_times_the_strides():
    rows = [
        {"i": i, "j": j, "k": k} for i, j, k in ((0, 0, 0), (1, 2, 1), (3, 4, 0), (2, 0, 2))
    ]
    cause = "a step along an axis skips all elements of the axes behind it"
    wanted = [0, 1, 3, 2]
    values_of_address("i", (7,), rows, wanted, "with one axis the index is the address")
    wanted = [5 * row["i"] + row["j"] for row in rows]
    values_of_address("i, j", (4, 5), rows, wanted, cause)
    wanted = [(row["i"] * 5 + row["j"]) * 3 + row["k"] for row in rows]
    values_of_address("i, j, k", (4, 5, 3), rows, wanted, cause)


def test_an_index_may_be_an_expression():
    rows = [{"i": 1, "j": 2}, {"i": 2, "j": 0}]
    wanted = [(row["i"] + 1) * 5 + row["j"] - 1 for row in rows]
    values_of_address("i + 1, j - 1", (4, 5), rows, wanted, "put brackets around each part")


def test_a_float_as_an_index_is_refused():
    for index in ("x", "i, x", "i / 2"):
        shape = (4, 5)[: index.count(",") + 1]
        kind, text = address_refused(index, shape)
        assert kind == "CompileError" and "whole number" in text, (
            f"address of [{index}], where the index is a float, should raise "
            f"self.error(node, ...) with the text 'whole number'; yours "
            f"{f'raises {kind}: {text}' if kind else 'accepts it'}"
        )
        assert "line 7 of kernel" in text, (
            f"address of [{index}]: the error should name the line, as self.error(node, what) "
            f"does; yours says: {text}"
        )


def test_comparisons():
    rows = [{"i": i, "j": j, "k": 5} for i, j in ((-1, 0), (0, 0), (3, 4), (7, 4), (4, 9))]
    for source in ("i < j", "i == j", "0 <= i < 5", "0 < i <= j < k", "i + 1 > j"):
        wanted = [eval(source, dict(row)) for row in rows]
        cause = "a chain is true if each of its comparisons is: join them with &&"
        expression_values("compare", source, rows, wanted, "bool", cause)


def test_comparisons_of_two_types():
    rows = [{"i": i, "x": x} for i, x in ((1, 0.5), (1, 1.5), (2, 2.0))]
    for source in ("i < x", "x >= i", "0 < x < i"):
        wanted = [eval(source, dict(row)) for row in rows]
        cause = "WGSL compares numbers of one type only: promote the two of each comparison"
        expression_values("compare", source, rows, wanted, "bool", cause)


def test_choices():
    rows = [{"i": i, "x": 0.5, "y": 2.5} for i in (0, 3, 9)]
    for source in ("x if i < 5 else y", "x if 1 < i < 5 else 0.0", "x if i > 0 else x + y"):
        wanted = [eval(source, dict(row)) for row in rows]
        cause = "select(value if false, value if true, test)"
        expression_values("select", source, rows, wanted, "f32", cause)
    rows = [{"i": i, "j": 7} for i in (0, 3, 9)]
    wanted = [eval("i if i < 5 else j", dict(row)) for row in rows]
    expression_values("select", "i if i < 5 else j", rows, wanted, "i32", "keep the type")


def test_choices_of_two_types():
    rows = [{"i": i, "x": 0.5} for i in (0, 3, 9)]
    for source in ("x if i < 5 else 0", "1 if i < 5 else x"):
        wanted = [float(eval(source, dict(row))) for row in rows]
        cause = "both values must have one type: promote them"
        expression_values("select", source, rows, wanted, "f32", cause)


# %% compiler hidden points=2
def test_expressions_inside_each_other():
    rows = [{"i": i, "j": j, "x": 1.5} for i, j in ((0, 0), (2, 1), (3, 4))]
    for source in ("(x if i < 2 else i) if 0 <= j < 3 else j", "x if i <= x else j"):
        wanted = [float(eval(source, dict(row))) for row in rows]
        expression_values("select", source, rows, wanted, "f32", "")
    wanted = [((row["i"] + row["j"]) * 2 + 1) * 9 + row["i"] for row in rows]
    values_of_address("i + j, 1, i", (3, 2, 9), rows, wanted, "")


# %% predicted points=2
def test_a_prediction_is_a_roofline():
    cases = [
        (1, (1.0, 256.0), [0], 0.5, "memory"),
        (100, (1000.0, 12800.0), [500], 1.0, "memory"),
        (100, (1000.0, 12800.0), [4000], 4.0, "arithmetic"),
        (0, (2.0, 1.0), [3], 1.5, "arithmetic"),
    ]
    for count, machine, flops, wanted, limit in cases:
        case = f"predicted, {count} transactions, {flops[0]} FLOPs, Machine{machine},"
        likely = {"has no attribute": "call roofline(flops, bytes, machine)"}
        seconds, found = result_of(lambda: prediction(count, machine, flops), case, likely)
        causes = {
            "A transaction moves 128 bytes": max(flops[0] / machine[0], count / machine[1]),
            "A transaction moves 128 bytes, whether its numbers are used or not": max(
                flops[0] / machine[0], 4 * 16 / machine[1]
            ),
            "The order is roofline(flops, bytes, machine)": max(
                128 * count / machine[0], flops[0] / machine[1]
            ),
            "The larger of both times counts, not their sum": flops[0] / machine[0]
            + 128 * count / machine[1],
            "That is the time of the memory alone: pass the FLOPs to roofline": 128
            * count
            / machine[1],
            "The larger of both times counts": min(
                flops[0] / machine[0], 128 * count / machine[1]
            ),
        }
        causes = {text: value for text, value in causes.items() if value != wanted}
        expect(seconds, wanted, f"the seconds of {case}", causes, 1e-9)
        equal(found, limit, f"the limit of {case}")


def test_without_flops_the_memory_is_the_limit():
    seconds, limit = prediction(10, (1.0, 1280.0), [])
    expect(seconds, 1.0, "predicted with 10 transactions and no FLOPs", near=1e-9)
    equal(limit, "memory", "its limit")


# %% predicted hidden points=1
def test_other_predictions():
    seconds, limit = prediction(7, (3.0, 64.0), [45])
    expect(seconds, 15.0, "predicted with 7 transactions", near=1e-9)
    equal(limit, "arithmetic", "its limit")

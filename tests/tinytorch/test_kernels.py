"""Lesson 22's kernels: the counts that its text promises, and the same results on a GPU."""

import numpy as np
import pytest

from tinytorch import Tensor, gpu
from tinytorch.core import kernels
from tinytorch.core.activations import gelu, relu
from tinytorch.core.compilation import optimized, trace
from tinytorch.core.kernels import SIZE, TILE, blocks_for, matmul, online_softmax
from tinytorch.gpu import CompileError, KernelError, NoGPU, Report, compiled, launch
from tinytorch.pictures.kernels import (
    rescalings,
    segments,
    transactions_of_patterns,
    tree_phases,
)


def floats(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def cases():
    """(kernel, grid, block, inputs, right result) of every kernel."""
    a, b, m, row, c = floats(100), floats(100), floats(40, 33), floats(33), floats(33, 20)
    q, k, v = floats(3, 70, 16)
    norm = (m - m.mean(1, keepdims=True)) / np.sqrt(m.var(1, keepdims=True) + 1e-5)
    causal = np.where(np.tri(70, dtype=bool), q @ k.T / 4, -np.inf)
    return [
        (kernels.add, 2, SIZE, (a, b), a + b),
        (kernels.add_row, (3, 3), (TILE, TILE), (m, row), m + row),
        (kernels.transpose, (2, 2), (32, 8), (m,), m.T),
        (kernels.block_sum, 2, SIZE, (a,), np.add.reduceat(a, [0, 64])),
        (online_softmax, 1, SIZE, (m,), softmax(m)),
        (kernels.layer_norm, 40, SIZE, (m, row, 2 * row), norm * row + 2 * row),
        (matmul, (2, 3), (TILE, TILE), (m, c), m @ c),
        (kernels.attention, 3, 32, (q, k, v), softmax(causal) @ v),
    ]


CASES = [pytest.param(*case, id=case[0].__name__) for case in cases()]


@pytest.mark.parametrize(("kernel", "grid", "block", "inputs", "right"), CASES)
def test_a_kernel_computes_what_numpy_does(kernel, grid, block, inputs, right):
    out = np.zeros(right.shape, "float32")
    launch(kernel, grid, block, *inputs, out)
    np.testing.assert_allclose(out, right, 1e-4, 1e-5)


@pytest.mark.parametrize(("kernel", "grid", "block", "inputs", "right"), CASES)
def test_a_kernel_computes_the_same_on_a_gpu(kernel, grid, block, inputs, right):
    arrays = (*inputs, np.zeros(right.shape, "float32"))
    text = compiled(kernel, block, *arrays)
    assert text.count("@binding") == len(arrays) and "fn main(" in text
    try:
        gpu.device()
    except NoGPU:
        return  # its text has been compiled, and there is nothing to run it
    there = [gpu.to_gpu(x) for x in arrays]
    gpu.run(kernel, grid, block, *there)
    np.testing.assert_allclose(there[-1].numpy(), right, 1e-4, 1e-5)


def naive_transpose(block, thread, a, out):
    i, j = TILE * block.y + thread.y, TILE * block.x + thread.x
    out[j, i] = a[i, j]


def naive_product(block, thread, a, b, out):
    i, j = TILE * block.y + thread.y, TILE * block.x + thread.x
    total = 0.0
    for k in range(a.shape[1]):
        total += a[i, k] * b[k, j]
    out[i, j] = total


def test_transactions_of_a_transpose():
    a, out = floats(64, 64), np.zeros((64, 64), "float32")
    naive = launch(naive_transpose, (4, 4), (TILE, TILE), a, out)
    tiled = launch(kernels.transpose, (2, 2), (32, 8), a, out)
    assert (naive.transactions, tiled.transactions, tiled.bank_conflicts) == (2304, 256, 0)
    assert transactions_of_patterns()["transpose 64 x 64"] == (2304, 256)


@pytest.mark.parametrize(
    ("n", "naive", "tiled"),
    [(32, 3136, 320), pytest.param(64, 24832, 2304, marks=pytest.mark.slow)],
)
def test_transactions_of_a_matrix_product(n, naive, tiled):
    a, b, out = floats(n, n), floats(n, n), np.zeros((n, n), "float32")
    grid = n // TILE, n // TILE
    assert launch(naive_product, grid, (TILE, TILE), a, b, out).transactions == naive
    report = launch(matmul, grid, (TILE, TILE), a, b, out)
    assert (report.transactions, report.barriers) == (tiled, 2 * (n // TILE) ** 3)
    assert transactions_of_patterns(n)[f"product {n} x {n}"] == (naive, tiled)


@pytest.mark.parametrize("tokens", [70, pytest.param(128, marks=pytest.mark.slow)])
def test_transactions_of_attention(tokens):
    q, k, v = floats(3, tokens, 16)
    out = np.zeros((tokens, 16), "float32")
    report = launch(kernels.attention, blocks_for(tokens, 32), 32, q, k, v, out)
    assert report.transactions == {70: 236, 128: 448}[tokens]


@pytest.mark.slow
def test_attention_without_a_mask_needs_a_tenth_of_three_kernels():
    import inspect
    import linecache

    text = inspect.getsource(kernels.attention)
    for old, new in (
        ("range(0, first + 32, 32)", "range(0, tokens, 32)"),
        ("min(32, i - start + 1)", "min(32, tokens - start)"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    linecache.cache["<attention>"] = len(text), None, text.splitlines(True), "<attention>"
    scope = dict(vars(kernels))
    exec(compile(text, "<attention>", "exec"), scope)
    q, k, v = floats(3, 128, 16)
    out, scores = np.zeros((128, 16), "float32"), np.zeros((128, 128), "float32")
    report = launch(scope["attention"], 4, 32, q, k, v, out)
    np.testing.assert_allclose(out, softmax(q @ k.T / 4) @ v, 1e-4, 1e-5)
    assert report.transactions == 640
    first = launch(matmul, (8, 8), (TILE, TILE), q, np.ascontiguousarray(k.T), scores)
    last = launch(matmul, (1, 8), (TILE, TILE), scores, v, out)
    softmax_at_best = 4 * scores.nbytes // 128  # three passes that read, and one that writes
    assert first.transactions + softmax_at_best + last.transactions > 9 * 640


def test_transactions_of_sums_and_of_elementwise_kernels():
    for n, wanted in ((1, 3), (64, 6), (65, 9), (100, 12)):
        report = launch(kernels.add, blocks_for(n, SIZE), SIZE, *floats(3, n))
        assert report.transactions == wanted
    x, bias = floats(64, 64), floats(64)
    assert launch(kernels.add_row, (4, 4), (TILE, TILE), x, bias, x.copy()).transactions == 640
    report = launch(kernels.block_sum, 4, SIZE, floats(256), floats(4))
    assert (report.transactions, report.barriers, report.bank_conflicts) == (12, 28, 0)


@pytest.mark.parametrize(
    ("f", "shapes"),
    [
        (lambda x, bias: gelu(x + bias), [(30, 20), (20,)]),
        (lambda x, column, row: relu(x * column - row) / -2.0, [(3, 4, 5), (4, 1), (5,)]),
        (lambda x, small: [x * small.exp(), small.exp() - x], [(7, 6), (1, 6)]),
    ],
)
def test_an_elementwise_program_becomes_one_kernel(f, shapes):
    arrays = [floats(*shape) for shape in shapes]
    right = f(*map(Tensor, arrays))
    right = [one.data for one in (right if isinstance(right, list) else [right])]
    kernel, out = kernels.kernel_of(optimized(trace(f, *arrays))), [np.zeros_like(x) for x in right]
    report = launch(kernel, blocks_for(right[0].size, 64), 64, *arrays, *out)
    np.testing.assert_allclose(out, right, 1e-5, 1e-6)
    assert "var<storage, read_write> o0_" in compiled(kernel, 64, *arrays, *out)
    assert len(shapes) > 2 or len(out) > 1 or report.transactions == 57


def test_a_program_that_cannot_be_one_kernel_is_refused():
    for f, words in [
        (lambda x: x.sum(), "no array is without axes"),
        (lambda x: x - x.max(axis=1, keepdims=True), "no step max"),
        (lambda x: x @ x, "no step matmul"),
        (lambda x: x + np.arange(3, dtype="float32"), "is one finite number"),
        (lambda x: x * np.inf, "is one finite number"),
        (lambda x: [x, x.sum(axis=0)], "one shape"),
    ]:
        with pytest.raises(ValueError, match=words):
            kernels.kernel_of(trace(f, floats(3, 3)))


def test_the_front_door():
    assert {"launch", "shared", "Report", "KernelError", "run", "to_gpu", "device"} <= set(dir(gpu))
    assert issubclass(CompileError, Exception) and Report().transactions == 0
    with pytest.raises(AttributeError, match="write x.numpy"):
        gpu.synchronize  # noqa: B018


def test_what_the_pictures_draw():
    assert segments(range(0, 2048, 64)) == set(range(0, 64, 2))
    assert tree_phases([5, 1, 4, 2, 3, 0, 6, 7])[1:] == [[8, 1, 10, 9], [18, 10], [28]]
    *_, (_, largest, _, total) = rescalings([1.0, 3.0, 2.0, 5.0])
    assert largest == 5 and total == pytest.approx(np.exp(np.array([1, 3, 2, 5]) - 5.0).sum())


def test_kernels_that_are_changed_are_named():
    """The mistakes that the simulator must name, made in the course's own kernels."""
    import inspect
    import linecache

    def changed(kernel, old, new):
        text = inspect.getsource(kernel)
        assert old in text, old
        text = text.replace(old, new, 1)
        linecache.cache["<changed>"] = len(text), None, text.splitlines(True), "<changed>"
        scope = dict(vars(kernels))
        exec(compile(text, "<changed>", "exec"), scope)
        return scope[kernel.__name__]

    by_kernel = {case[0]: case for case in cases()}
    for kernel, old, new, words in (
        (kernels.add, "if i < out.shape[0]:", "if True:", "index 100 is outside a"),
        (kernels.add, "SIZE * block.x + thread.x", "block.x + thread.x", "race between blocks"),
        (kernels.add, "block.x + thread.x", "block.x", "race: this thread writes out[0]"),
        (kernels.block_sum, "        yield\n        step", "        step", "race: "),
        (kernels.block_sum, "if x < step:", "if True:", "index 64 is outside tile"),
        (kernels.block_sum, "if x == 0:", "if True:", "race: this thread writes out[0]"),
        (kernels.block_sum, "step]\n        yield", "step]\n            yield", "divergence"),
        (kernels.layer_norm, "/ n\n    yield", "/ n", "race: "),
        (matmul, "        yield\n        for s", "        for s", "is read before a thread"),
        (matmul, "right[s, x]\n        yield", "right[s, x]", "race: "),
        (matmul, "total = 0.0\n", "total = 0.0\n    if i > 39:\n        return\n", "divergence"),
        (kernels.transpose, "    yield\n", "", "is read before a thread writes it"),
    ):  # fmt: skip
        _, grid, block, inputs, right = by_kernel[kernel]
        with pytest.raises(KernelError) as error:
            launch(changed(kernel, old, new), grid, block, *inputs, np.zeros(right.shape, "f4"))
        assert words in str(error.value), (words, str(error.value))
        assert f"of {kernel.__name__}, block (" in str(error.value) or "(line" not in str(
            error.value
        )

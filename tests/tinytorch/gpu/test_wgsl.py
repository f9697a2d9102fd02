"""What the compiler to WGSL translates, and what it refuses, with the line."""

import math

import numpy as np
import pytest

from tinytorch.gpu import CompileError, compiled, shared

FLOATS = np.zeros(64, "float32")


def floating_index(block, thread, a):
    a[thread.x / 2] = 1.0


def comprehension(block, thread, a):
    a[thread.x] = sum([1.0 for _ in range(3)])


def int_then_float(block, thread, a):
    total = 0
    total += a[0]


def infinity(block, thread, a):
    a[thread.x] = -math.inf


def prints(block, thread, a):
    print(thread.x)


def method(block, thread, a):
    a[thread.x] = a.sum()


def helper(v):
    return 2 * v


def calls_a_function(block, thread, a):
    a[thread.x] = helper(a[0])


def asserts(block, thread, a):
    assert thread.x < 64


def over_a_tuple(block, thread, a):
    for k in (1, 2):
        a[k] = 1.0


def swaps(block, thread, a):
    p, q = 0.0, 1.0
    p, q = q, p + q


def unassigned(block, thread, a):
    a[thread.x] = unknown_name  # noqa: F821


def number_as_condition(block, thread, a):
    if thread.x:
        a[0] = 1.0


def whole_array(block, thread, a):
    b = a
    b[0] = 1.0


def three_numbers(block, thread, a):
    a[0] = max(a[0], a[1], a[2])


REFUSED = [floating_index, comprehension, int_then_float, infinity, prints, method,
           calls_a_function, asserts, over_a_tuple, swaps, unassigned, number_as_condition,
           whole_array, three_numbers]  # fmt: skip


@pytest.mark.parametrize("kernel", REFUSED, ids=lambda kernel: kernel.__name__)
def test_an_error_names_the_line(kernel):
    with pytest.raises(CompileError) as error:
        compiled(kernel, 64, FLOATS)
    line = int(str(error.value).rpartition("(line ")[2].split()[0])
    first = kernel.__code__.co_firstlineno
    assert first < line <= first + 2 and str(error.value).endswith(f"of {kernel.__name__})")


def test_a_kernel_without_its_text_is_refused():
    scope = {}
    exec("def made(block, thread, a): a[0] = 1.0", scope)
    for kernel in (scope["made"], lambda block, thread, a: None):
        with pytest.raises(CompileError, match="define .* by `def` in a file"):
            compiled(kernel, 64, FLOATS)


def everything(block, thread, a, n, out, ids, tile=shared(4, 8)):
    """A docstring."""
    x, y = thread.x, block.y
    query = [0.0] * 4
    tile[x, 2] = a[x] if 0 <= x < n and not x == 3 else -1.5
    yield
    for k in range(8, 0, -1):
        query[k % 4] += tile[x, k - 1] ** 2 / 3
    while y > 1 or x == 2:
        y = (y - 10) // 3
        if y < 0:
            break
        elif y == 5:
            continue
        else:
            pass
    out[ids[x] + 1] = min(math.exp(query[0]), float(n)) + math.pi * abs(a[0])
    return


def test_each_part_of_the_language():
    text = compiled(everything, (4, 2), FLOATS, 7, FLOATS, np.zeros(4, "int32"))
    for part in (
        "@group(0) @binding(0) var<storage, read> a_: array<f32>;",
        "@group(0) @binding(1) var<storage, read_write> out_: array<f32>;",
        "@group(0) @binding(2) var<storage, read> ids_: array<i32>;",
        "var<workgroup> tile_: array<f32, 32>;",
        "@compute @workgroup_size(4, 2, 1)",
        "    var query_: array<f32, 4>;",
        "x_ = i32(thread.x);",
        "y_ = i32(block.y);",
        "tile_[(x_ * 8 + 2)] = select(-(f32(1.5)), a_[x_], ",
        "workgroupBarrier();",
        "for (k_ = 8; k_ > 0; k_ += -(1)) {",
        "while ((y_ > 1)) || ((x_ == 2))) {".replace("((y_", "(((y_", 1),
        "fn floor_div(a: i32, b: i32) -> i32 {",
        "break;",
        "continue;",
        "out_[(ids_[x_] + 1)] = ",
        "f32(3.141592653589793)",
    ):
        assert part in text, f"{part}\n{text}"
    assert text.count("{") == text.count("}")


def test_numbers_become_constants():
    def scaled(block, thread, a, factor):
        a[thread.x] = factor * a[thread.x]

    assert "(f32(0.5) * a_[" in compiled(scaled, 64, FLOATS, 0.5)
    assert "(f32(2) * a_[" in compiled(scaled, 64, FLOATS, 2)

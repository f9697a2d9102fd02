# The checks of lesson 23, by exercise. `check("gptq")` in the chapter runs the visible ones.

# %% setup
import numpy as np

from checking import equal, expect, result_of, shown


def close(found, wanted, case, cause="", near=1e-6):
    """`expect` for results of floating-point arithmetic."""
    expect(found, wanted, case, cause, near)


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def scales_by_loops(w, bits, group=None):
    """The float16 scales of each group, as floats, and the scale of each weight."""
    k, n = w.shape
    group = group or k
    starts = range(0, k, group)
    scales = np.ones((len(starts), n))
    for i, start in enumerate(starts):
        for j in range(n):
            largest = max(abs(float(v)) for v in w[start : start + group, j])
            if largest:
                scales[i, j] = max(largest / (2 ** (bits - 1) - 1), 2.0**-24)
    scales = scales.astype("float16").astype("float64")
    return scales, np.array([scales[i // group] for i in range(k)])


def integers_by_loops(w, bits, group=None):
    """The nearest integers of a matrix, and the scale of each weight."""
    _, each = scales_by_loops(w, bits, group)
    top = 2 ** (bits - 1) - 1
    ratio = np.asarray(w, "float64") / each
    return np.array([[max(-top, min(top, round(r))) for r in row] for row in ratio]), each


def rounded_by_loops(w, bits, group=None):
    q, each = integers_by_loops(w, bits, group)
    return q * each


def bytes_by_hand(q, bits):
    """Integers in two's complement, packed one after the other, the lowest bit first."""
    stream = [(int(v) >> place) & 1 for v in np.ravel(q) for place in range(bits)]
    stream += [0] * (-len(stream) % 8)
    return np.array(
        [
            sum(bit << i for i, bit in enumerate(stream[at : at + 8]))
            for at in range(0, len(stream), 8)
        ],
        "uint8",
    )


def hessian_of(x, damping):
    h = np.einsum("mi,mj->ij", x, x)
    return h + damping * np.average([h[i, i] for i in range(len(h))]) * np.eye(len(h))


def gptq_by_solving(w, x, bits, group=None, damping=0.01, how="right"):
    """GPTQ without a Cholesky factor: after each row, solve for the rows that are left.

    how   a mistake: "stale" keeps the inverse of the whole matrix, "sign" moves the other rows
          the wrong way, "alone" does not move them, "large" forgets to divide by U_ii
    """
    k, top = len(w), 2 ** (bits - 1) - 1
    _, each = scales_by_loops(w, bits, group)
    h, rest, out = hessian_of(x, damping), np.array(w, "float64"), np.zeros(w.shape)
    for i in range(k):
        out[i] = np.clip(np.round(rest[i] / each[i]), -top, top) * each[i]
        inverse = np.linalg.inv(h if how == "stale" else h[i:, i:])
        column = (
            inverse[i:, i] / inverse[i, i] if how == "stale" else inverse[:, 0] / inverse[0, 0]
        )
        if how == "large":
            column = column * np.sqrt(inverse[0, 0])
        step = {"alone": 0, "sign": -1}.get(how, 1)
        rest[i + 1 :] -= step * np.outer(column[1:], rest[i] - out[i])
    return out


def output_error(w, changed, x):
    return float(((x @ (changed - w)) ** 2).sum())


def dependent_inputs(seed, m, k):
    """Inputs that depend on each other, as the inputs of a real layer do."""
    return normal(seed, m, k) @ (np.eye(k) + 0.6 * normal(seed + 1, k, k))


ALL = {
    "table": "QuantizedEmbedding",
    "blocks.0.0": "QuantizedLinear",
    "blocks.0.2": "QuantizedLinear",
    "blocks.1": "QuantizedLinear",
    "heads.a": "QuantizedLinear",
}
NESTED = (
    "a model with an Embedding, a list with a Sequential and a Dense, and a dict with a Dense"
)


def range_is(found, wanted, case, cause=""):
    assert isinstance(found, tuple) and len(found) == 2, (
        f"{case} should return (scale, zero_point), yours returns {found}"
    )
    close(found[0], wanted[0], f"the scale of {case}", cause)
    whole = isinstance(found[1], (int, np.integer)) and not isinstance(found[1], bool)
    assert whole, f"the zero point of {case} should be an int, yours is {found[1]!r}"
    equal(int(found[1]), wanted[1], f"the zero point of {case}", cause)


LINEAR = (np.linalg.LinAlgError, ValueError, IndexError, TypeError)
WHAT_WENT_WRONG = {  # {words of the error: its likely cause}
    "does not fit": "round with the number of bits: quantize(..., bits=bits)",
    "memoryview": "register_buffer makes Tensors of the arrays, and saves them with the model",
    "broadcast": "pass the group to group_scales and to per_row",
    "truth value": "pack takes an array (n,) of integers, not a matrix",
}


def samples(count=30):
    """Batches of inputs and targets, for quantization-aware training."""
    inputs = normal(0, count, 16, 6).astype("float32")
    return [(x, np.stack([x[:, 0] - x[:, 1], abs(x[:, 2])], axis=1)) for x in inputs]


def trained(about, batches, case, causes=""):
    """Assert that the outputs agree with the right training and with the layers' weights."""
    close(about["out"], about["wanted"], case, causes, 1e-4)
    equal(len(about["layers"]), 2, f"the number of layers with weights, of {case}")
    (w, bias), (v, other) = about["layers"]
    by_hand = np.maximum(batches[0][0] @ w + bias, 0) @ v + other
    close(about["out"], by_hand, f"{case} by hand, from its weights,", near=1e-4)
    assert len(np.unique(w)) > 2, f"{case}: the weights are {w}"


# %% scale points=4
def test_the_largest_absolute_value_becomes_the_largest_integer():
    x = np.array([0.5, -14.0, 3.5])
    causes = {
        "The number that is furthest from 0 counts, here -14: take absolute values first": 0.5,
        "Divide by the largest integer, 2^(bits - 1) - 1 = 7, not by 2^(bits - 1)": 14 / 8,
        "There are integers on both sides of 0, so the largest one is 2^(bits - 1) - 1": 14
        / 15,
        "That is the whole range divided by the number of steps; the range is symmetric": 17.5
        / 15,
        "The number of bits is an argument; this is the scale for 8 bits": 14 / 127,
    }
    close(symmetric_scale(x, 4), 2.0, "the scale of [0.5, -14, 3.5] with 4 bits", causes)
    case = "the scale of [254, -1] with 8 bits, the default,"
    close(symmetric_scale(np.array([254.0, -1.0])), 2.0, case, "254 becomes 127")
    case = "the scale of [3, -5] with 2 bits"
    close(symmetric_scale(np.array([3.0, -5.0]), 2), 5.0, case, "with 2 bits -5 becomes -1")


def test_a_scale_for_each_slice_along_an_axis():
    x = np.array([[0.5, -14.0, 7.0], [-1.0, 3.5, 0.0]])
    for axis, wanted in [(1, [[2.0], [0.5]]), (0, [[1 / 7, 2.0, 1.0]]), (-1, [[2.0], [0.5]])]:
        case = f"the scales of x (2, 3) with 4 bits and axis={axis}"
        cause = {"The axis is reduced and kept with length 1: keepdims=True": np.ravel(wanted)}
        close(symmetric_scale(x, 4, axis), wanted, case, cause)


def test_zeros_have_the_scale_1():
    x = np.array([[0.0, 7.0], [0.0, -1.0]])
    cases = [
        ("the scales of a column of zeros", x, 0, [[1.0, 1.0]]),
        ("the scale of [0, 0, 0]", np.zeros(3), None, 1.0),
        ("the scales of the rows [0] and [14]", np.array([[0.0], [14.0]]), 1, [[1.0], [2.0]]),
    ]
    for case, x, axis, wanted in cases:
        with np.errstate(all="ignore"):
            found = symmetric_scale(x, 4, axis)
        cause = "A scale of 0 makes x / scale nan: where the largest value is 0, the scale is 1"
        close(
            found, wanted, f"{case} with 4 bits", cause * (np.shape(found) == np.shape(wanted))
        )


def test_scales_are_float32():
    for dtype in ("float64", "float32"):
        x = normal(1, 3, 4).astype(dtype)
        for axis in (None, 0):
            case = f"the scale of {dtype} numbers with axis={axis}"
            wanted = np.abs(x).max(axis=axis, keepdims=axis is not None) / 127
            expect(symmetric_scale(x, axis=axis), wanted, case, near=1e-6, dtype="float32")


# %% scale hidden points=1
def test_other_scales():
    x = normal(2, 2, 3, 5)
    for bits in (2, 3, 6, 8):
        yield [np.array(symmetric_scale(x, bits, axis), "f8") for axis in (None, 0, 1, 2)]


# %% quantize points=7
def test_numbers_are_rounded_to_the_nearest_integer():
    x = np.array([0.6, -0.6, 0.4, -0.4, 1.2])
    causes = {
        "That cuts off the decimals; round to the nearest integer": [1, -1, 0, 0, 2],
        "np.floor goes down, also for -0.4": [1, -2, 0, -1, 2],
        "Divide by the scale; yours multiplies": [0, 0, 0, 0, 1],
    }
    case = "quantize([0.6, -0.6, 0.4, -0.4, 1.2], scale=0.5)"
    expect(quantize(x, 0.5), [1, -1, 1, -1, 2], case, causes, dtype="int8")
    case = "quantize([0.5, 1.5, 2.5, -0.5, -1.5], scale=1.0)"
    cause = "halves are rounded to the even integer, as np.rint does"
    expect(quantize(np.array([0.5, 1.5, 2.5, -0.5, -1.5]), 1.0), [0, 2, 2, 0, -2], case, cause)


def test_numbers_outside_of_the_range_are_clipped():
    x = np.array([300.0, -300.0, 127.4, -127.6])
    with np.errstate(all="ignore"):
        found = quantize(x, 1.0)
    causes = {
        "The signed range is symmetric: -128 is not used": [127, -128, 127, -128],
        "int8 has no 300 and starts again from -128: clip before the conversion": [
            44,
            -44,
            127,
            -128,
        ],
        "Clip before the conversion: int8 has no 300": [44, -44, 127, -127],
    }
    case = "quantize([300, -300, 127.4, -127.6], scale=1)"
    expect(found, [127, -127, 127, -127], case, causes, dtype="int8")
    for bits, top in [(4, 7), (2, 1), (3, 3)]:
        case = f"quantize([100, -100], scale=1, bits={bits})"
        cause = f"with {bits} bits the signed integers go from {-top} to {top}"
        expect(quantize(np.array([100.0, -100.0]), 1.0, bits=bits), [top, -top], case, cause)


def test_a_scale_for_each_column():
    x, scale = np.array([[0.01, 10.0], [-0.02, 5.0]]), np.array([[0.01, 5.0]])
    case = "quantize([[0.01, 10], [-0.02, 5]], scale=[[0.01, 5]])"
    expect(quantize(x, scale), [[1, 2], [-2, 1]], case, "each column has its own scale")
    out = dequantize(np.array([[1, 2], [-2, 1]], "int8"), scale)
    close(out, x, "dequantize([[1, 2], [-2, 1]], scale=[[0.01, 5]])")


def test_unsigned_integers_with_a_zero_point():
    x = np.array([-1.5, 0.0, 1.0, 100.0, -100.0])
    causes = {
        "Add the zero point after dividing by the scale, and before clipping": [3, 3, 5, 18, 3],
        "The unsigned range is 0 to 2^bits - 1: 0 to 15": [0, 3, 5, 7, 249],
        "Unsigned integers go up to 2^bits - 1 = 15": [0, 3, 5, 7, 0],
        "The zero point stands for 0: add it": [0, 0, 2, 15, 0],
        "The zero point is an integer, in units of the scale: divide x alone": [3, 6, 8, 15, 0],
    }
    case = "quantize([-1.5, 0, 1, 100, -100], scale=0.5, zero_point=3, bits=4, signed=False)"
    found = quantize(x, 0.5, 3, bits=4, signed=False)
    expect(found, [0, 3, 5, 15, 0], case, causes, dtype="uint8")
    case = "quantize([0.5, 1.5, 2.5], scale=1, zero_point=1, signed=False)"
    cause = "Round first and add the zero point then: 0.5 is rounded to 0, plus 1 is 1"
    expect(quantize(np.array([0.5, 1.5, 2.5]), 1.0, 1, signed=False), [1, 3, 3], case, cause)
    case = "quantize([200, 300, -1], scale=1, signed=False)"
    cause = "with 8 bits, unsigned integers go from 0 to 255"
    found = quantize(np.array([200.0, 300.0, -1.0]), 1.0, signed=False)
    expect(found, [200, 255, 0], case, cause, dtype="uint8")
    case = "quantize([1, -200], scale=1, zero_point=5)"
    causes = {
        "Add the zero point, also to signed integers": [1, -127],
        "The signed range is symmetric: -128 is not used": [6, -128],
    }
    expect(quantize(np.array([1.0, -200.0]), 1.0, 5), [6, -127], case, causes)


def test_dequantize_returns_the_numbers_that_integers_stand_for():
    cause = {"Subtract the zero point before multiplying": [[0.5, 3.5, 8.5]]}
    case = "dequantize([7, 13, 23], scale=0.5, zero_point=3)"
    found = dequantize(np.array([[7, 13, 23]], "int8"), 0.5, 3)
    expect(found, [[2.0, 5.0, 10.0]], case, cause, near=1e-6, dtype="float32")
    for dtype, q, zero, wanted in [("uint8", 0, 3, -1.5), ("int8", 100, -100, 100.0)]:
        case = f"dequantize of {q} as {dtype}, with scale=0.5 and zero_point={zero}"
        cause = f"the difference is not in the range of {dtype}: convert to float32 first"
        kinds = (OverflowError, ValueError, TypeError)
        found = result_of(
            lambda: dequantize(np.array([q], dtype), 0.5, zero), case, cause, kinds
        )
        close(found, [wanted], case, cause)
    scale = np.array([0.1])
    case = "dequantize with a float64 scale"
    expect(dequantize(np.array([3], "int8"), scale), [0.3], case, near=1e-6, dtype="float32")


# %% quantize hidden points=2
def test_rounding_and_back_for_other_numbers():
    for seed, bits in enumerate((2, 3, 4, 8)):
        x, top = normal(10 + seed, 5, 4), 2 ** (bits - 1) - 1
        for axis in (None, 0, 1):
            scale = np.abs(x).max(axis=axis, keepdims=axis is not None) / top * 0.8
            found = quantize(x, scale, bits=bits)
            yield found, np.array(dequantize(found, scale), "f4")
        found = quantize(x, 0.2, 2**bits // 3, bits, False)
        yield found, np.array(dequantize(found, 0.2, 2**bits // 3), "f4")


# %% groups points=5
def test_each_column_has_its_own_scale():
    w = np.array([[1.0, 70.0], [7.0, 7.0], [-14.0, 0.0]])
    causes = {
        "That is one scale for each row; scales belong to columns, axis 0": [
            [10.0],
            [1.0],
            [2.0],
        ],
        "That is one scale for the whole matrix": [[10.0]],
        "The number of bits is an argument": [[14 / 127, 70 / 127]],
    }
    case = "group_scales([[1, 70], [7, 7], [-14, 0]], bits=4)"
    expect(group_scales(w, 4), [[2.0, 10.0]], case, causes, near=(1e-3, 0))


def test_each_group_of_rows_has_its_own_scale():
    w = np.array([[1.0, 70.0], [7.0, 7.0], [-14.0, 0.0], [3.5, 0.5], [7.0, -21.0]])
    cause = {
        "The last group has only one row here, and needs a scale, too": [
            [1.0, 10.0],
            [2.0, 1 / 14],
        ],
        "A group consists of rows that follow each other": [
            [0.5, 10.0],
            [1.0, 3.0],
            [2.0, 1.0],
        ],
    }
    wanted = np.array([[1.0, 10.0], [2.0, 0.5 / 7], [1.0, 3.0]])
    found = result_of(lambda: group_scales(w, 4, 2), "groups of 2 in 5 rows", "5 is 2 + 2 + 1")
    expect(found, wanted, "the scales of 5 rows in groups of 2, with 4 bits,", cause, near=1e-3)
    expect(group_scales(w, 4, 5), [[2.0, 10.0]], "one group of 5 rows")
    expect(group_scales(w, 4, 64), [[2.0, 10.0]], "5 rows in groups of 64")
    wanted = np.maximum(np.abs(w) / 7, 0)
    wanted[2, 1] = 1.0
    close(group_scales(w, 4, 1), wanted, "groups of 1 row", near=1e-3)


def test_scales_are_stored_as_float16():
    for group in (None, 2):
        case = f"the scales with group={group}"
        found = group_scales(normal(20, 4, 3), 8, group)
        expect(found, scales_by_loops(normal(20, 4, 3), 8, group)[0], case, near=1e-3)
        assert found.dtype == "float16", f"{case} should be float16, yours are {found.dtype}"


def test_no_scale_is_zero():
    w = np.array([[0.0, 1e-9, 1e-6], [0.0, 0.0, 0.0]])
    found = group_scales(w, 4)
    cause = "float16 has no positive number below 2^-24: take at least SMALLEST"
    expect(found, [[1.0, 2.0**-24, np.float16(1e-6 / 7)]], "tiny weights: scales", cause)
    case = "the scales of bits=3 and group=1"
    found = group_scales(np.array([[0.0], [6.0]]), 3, 1)
    expect(found, [[1.0], [2.0]], case, "zeros have the scale 1; the number of bits counts")


# %% groups hidden points=1
def test_other_groups():
    for k, n, bits, group in [(7, 3, 3, 3), (8, 2, 8, 4), (1, 5, 2, None), (33, 4, 4, 32)]:
        w = normal(k, k, n)
        yield [*np.array(group_scales(w, bits, group), "f2").ravel()], w


# %% pack4 points=6
def test_two_numbers_share_a_byte():
    causes = {
        "The first number belongs into the lower four bits, q & 15": [93],
    }
    case = "pack4([5, -3])"
    expect(pack4(np.array([5, -3], "int8")), [213], case, causes, dtype="uint8")
    causes = {
        "Byte i holds q[2 i] and q[2 i + 1], which follow each other": [49, 66],
    }
    case = "pack4([1, 2, 3, 4])"
    expect(pack4(np.array([1, 2, 3, 4], "int8")), [33, 67], case, causes, dtype="uint8")
    case, found = "pack4([-1, -8, 7, 0])", pack4(np.array([-1, -8, 7, 0], "int8"))
    expect(found, [143, 7], case, {"-1 is 15 in four bits: keep the last four, & 15": [255, 7]})


def test_an_odd_number_of_values():
    case = "pack4([5, -3, 7])"
    cause = "a last value without a partner gets a byte, with 0 in the upper four bits"
    found = result_of(lambda: pack4(np.array([5, -3, 7], "int8")), case, cause)
    expect(found, [213, 7], case, cause, dtype="uint8")
    expect(pack4(np.array([-8], "int8")), [8], "pack4([-8])", cause)


def test_unpacking_restores_the_sign():
    causes = {
        "13 stands for -3: nibbles above 7 are negative, subtract 16": [5, 13],
        "The first number is in the lower four bits": [-3, 5],
        "8 stands for -8, 13 for -3: subtract 16": [5, -2],
        "There are negative numbers only above 7": [-11, -3],
    }
    case = "unpack4([213], 2)"
    expect(unpack4(np.array([213], "uint8"), 2), [5, -3], case, causes, dtype="int8")
    case = "unpack4([143, 7], 4)"
    cause = {"8 stands for -8: subtract 16 from every nibble above 7": [-1, 8, 7, 0]}
    found = unpack4(np.array([143, 7], "uint8"), 4)
    expect(found, [-1, -8, 7, 0], case, cause, dtype="int8")


def test_every_value_survives():
    q = np.arange(-8, 8).astype("int8")
    expect(pack4(q), bytes_by_hand(np.arange(-8, 8), 4), "pack4([-8, -7, ..., 7])")
    for n in (16, 15, 1):
        case = f"unpack4(pack4(q), {n}) of q = {q[:n].tolist()}"
        cause = "Return the first n numbers" * (n < 16)
        packed = bytes_by_hand(q[:n], 4)
        expect(unpack4(packed, n), q[:n], case, cause, dtype="int8")
        expect(pack4(q[:n]), packed, f"pack4({q[:n].tolist()})")
    expect(unpack4(bytes_by_hand(q, 4), 5), q[:5], "the first 5 of 16 packed numbers")


# %% pack4 polish points=0
def test_no_values():
    expect(pack4(np.zeros(0, "int8")), np.zeros(0), "pack4 of no values", dtype="uint8")
    expect(unpack4(np.zeros(0, "uint8"), 0), np.zeros(0), "unpack4 of no values", dtype="int8")


# %% pack4 hidden points=1
def test_other_values():
    for n in (2, 9, 30):
        q = np.random.default_rng(n).integers(-8, 8, n).astype("int8")
        yield pack4(q), unpack4(bytes_by_hand(q, 4), n)


# %% learner-side
# Modules are built, used and looked at here; the checks receive plain arrays.
import copy

from tinytorch.core import optimizers
from tinytorch.core.activations import ReLU
from tinytorch.core.autograd import backward
from tinytorch.core.convolutions import Conv2d
from tinytorch.core.embeddings import Embedding
from tinytorch.core.layers import Dense, Linear, Module, Sequential, state_dict
from tinytorch.core.tensor import Tensor, Variable


class Replaced:
    """A `with` block in which names of the lesson have other values."""

    def __init__(self, **values):
        self.names, self.values = vars(QuantizedMatrix)["__init__"].__globals__, values

    def __enter__(self):
        self.before = {name: self.names.get(name) for name in self.values}
        self.names.update(self.values)

    def __exit__(self, *error):
        self.names.update(self.before)
        for name in [name for name, value in self.before.items() if value is None]:
            del self.names[name]  # its exercise comes later in the chapter


calls = []


def gptq_in_place(w, x, bits=4, group=None, damping=0.01):
    """In place of gptq: records its arguments; adds a scale to each weight of the first row."""
    calls.append((np.array(w), np.array(x), bits, group))
    out = np.array(w)
    out[0] += np.float32(group_scales(w, bits, group))[0]
    return out


def about_matrix(matrix):
    """What a QuantizedMatrix stores and computes."""
    arrays = state_dict(matrix)
    return {
        "arrays": {name: np.array(array) for name, array in arrays.items()},
        "dtypes": {name: str(array.dtype) for name, array in arrays.items()},
        "learned": len(matrix.parameters()),
        "buffers": all(isinstance(getattr(matrix, name, None), Tensor) for name in arrays),
        "dequantized": np.array(matrix.dequantize()),
    }


def loaded_matrix(w, other, bits, group=None):
    """What a QuantizedMatrix of w computes after it has loaded the arrays of another one."""
    matrix = QuantizedMatrix(w, bits, group)
    matrix.dequantize()
    matrix.load_state_dict(QuantizedMatrix(other, bits, group).state_dict())
    return np.array(matrix.dequantize())


def matrix_of(w, bits, group=None, inputs=None):
    """What a QuantizedMatrix of w stores and computes, and w afterwards."""
    calls.clear()
    with Replaced(gptq=gptq_in_place):
        about = about_matrix(QuantizedMatrix(w, bits, group, inputs))
    return about | {"w": np.array(w), "calls": list(calls)}


def dense_of(w, b):
    layer = Dense(*w.shape, bias=b is not None)
    layer.weights.data = w.astype("float32")
    if b is not None:
        layer.bias.data = b.astype("float32")
    return layer


def layer_of(w, b, x, bits=8, group=None, inputs=None):
    """What a QuantizedLinear computes, and what from_float does to its argument."""
    calls.clear()
    dense = dense_of(w, b)
    with Replaced(gptq=gptq_in_place):
        layer = QuantizedLinear.from_float(dense, bits, group, inputs)
    kind = type(layer).__name__
    if kind != "QuantizedLinear":
        return {"kind": kind}
    given = Variable(x.astype("float32"))
    out = layer(given)
    if out.requires_grad:
        backward(out.sum())
    about = {
        "kind": kind,
        "bias": type(layer.bias).__name__ if not isinstance(layer.bias, Tensor) else "Tensor",
        "out": np.array(out),
        "matrix": about_matrix(layer.matrix),
        "gradient": None if given.grad is None else np.array(given.grad),
        "unchanged": bool((dense.weights.data == w.astype("float32")).all()),
        "learned": len(layer.parameters()),
        "calls": list(calls),
    }
    if b is not None:
        dense.bias.data += 100.0
    dense.weights.data *= 0.0
    return about | {"later": np.array(layer(Tensor(x.astype("float32"))))}


class Nested(Module):
    """A model with layers in every kind of place; its parts stay reachable by name."""

    def __init__(self):
        self.table = Embedding(6, 4, rng=0)
        self.blocks = [
            Sequential(Dense(4, 5, rng=1), ReLU(), Dense(5, 4, rng=2)),
            Dense(4, 4, rng=3),
        ]
        self.heads = {"a": Dense(4, 3, rng=4)}
        self.again = self.blocks[1]

    def forward(self, ids):
        x = self.table(ids)
        for block in self.blocks:
            x = block(x)
        return self.heads["a"](self.again(x))


def nested(bits, group=None, skip=(), ids=None):
    """quantize_model of a Nested model: the kinds of its layers, and the calls of gptq."""
    calls.clear()
    model = Nested()
    before = {name: array for name, array in state_dict(model).items()}
    with Replaced(gptq=gptq_in_place):
        small = quantize_model(model, bits, ids, skip, group)
    parts = {
        "table": small.table,
        "blocks.0.0": small.blocks[0][0],
        "blocks.0.2": small.blocks[0][2],
        "blocks.1": small.blocks[1],
        "heads.a": small.heads["a"],
    }
    matrices = {path: part.matrix for path, part in parts.items() if hasattr(part, "matrix")}
    after = state_dict(model)
    return {
        "kinds": {path: type(part).__name__ for path, part in parts.items()},
        "bits": sorted({matrix.bits for matrix in matrices.values()}),
        "groups": {matrix.group for matrix in matrices.values()} == {group},
        "once": small.again is small.blocks[1],
        "same": small is model,
        "unchanged": before.keys() == after.keys()
        and all(np.array_equal(before[name], after[name]) for name in before),
        "kinds of the original": sorted({type(part).__name__ for part in model.modules()}),
        "kept": None if "heads.a" in matrices else small.heads["a"] is model.heads["a"],
        "calls": list(calls),
        "inputs": {} if ids is None else recorded_inputs(model, ids),
        "weights": {
            path: layer.weights.data
            for path, layer in quantizable(model).items()
            if isinstance(layer, Dense)
        },
        "out": np.array(small(np.array([[0, 5, 2]]))),
        "dequantized": {
            path: np.array(matrix.dequantize()) for path, matrix in matrices.items()
        },
        "heads": np.array(small.heads["a"].weights),
    }


def quantized_alone():
    """The kind of a quantized Dense, and of a quantized Conv2d inside a Sequential."""
    alone = quantize_model(Dense(3, 2), 8)
    inside = quantize_model(Sequential(Conv2d(1, 2, 3)), 8)
    return [type(alone).__name__, type(inside[0]).__name__]


def sizes():
    """{what a model is: its size by size_of}"""
    dense = Dense(64, 10)
    twice = Sequential(dense, ReLU(), dense)
    counter = Module()
    counter.register_buffer("count", np.zeros(7, np.int8))
    counter.parts = [Dense(2, 2, bias=False), {"scale": Tensor(np.zeros(3, np.float16))}]
    tied = Module()
    tied.table = Embedding(10, 4)
    tied.head = [tied.table.weight]
    small = QuantizedLinear.from_float(dense, 4, 32)
    return {
        "Dense(64, 10)": size_of(dense),
        "a Dense(64, 10) in float64": size_of(Dense(64, 10).to(np.float64)),
        "the same Dense(64, 10) twice": size_of(twice),
        "7 buffers of int8, 4 weights and 3 float16": size_of(counter),
        "an Embedding(10, 4) whose weight is used twice": size_of(tied),
        "a QuantizedLinear of Dense(64, 10) with 4 bits and groups of 32": size_of(small),
        "a Sequential of ReLU": size_of(Sequential(ReLU())),
    }


def sensitivities(bits, group=None):
    """sensitivity of a Nested model for a score that shows what was quantized."""
    model, seen = Nested(), []

    def score(m):
        parts = [m.table, m.blocks[0][0], m.blocks[0][2], m.blocks[1], m.heads["a"]]
        total = 5.0
        for i, part in enumerate(parts):
            if hasattr(part, "matrix"):
                seen.append((part.matrix.bits, part.matrix.group))
                total += 10.0**i
        return total

    before = state_dict(model)
    found = sensitivity(model, bits, score, group) if group else sensitivity(model, bits, score)
    after = state_dict(model)
    return {
        "found": [[str(path), float(value)] for path, value in found.items()],
        "seen": sorted(set(map(str, seen))),
        "unchanged": before.keys() == after.keys(),
    }


def observed(arrays, percentile=100.0, bits=None, tensor=False):
    """[low, high] of an Observer of these arrays; with bits, its range (0: the default)."""
    observer = Observer(percentile)
    for array in arrays:
        observer.observe(Tensor(array) if tensor else array)
    if bits is None:
        return [observer.low, observer.high]
    return list(observer.range(bits) if bits else observer.range())


class Watched(np.ndarray):
    """An array that notes the dtypes of the matrix products in which it is used."""

    products = []

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if ufunc is np.matmul:
            kinds = [str(np.asarray(x).dtype) for x in inputs]
            Watched.products.append(
                [str(np.dtype(kwargs["dtype"]))] if "dtype" in kwargs else kinds
            )
        arrays = [np.asarray(x) for x in inputs]
        if "out" in kwargs:
            kwargs["out"] = tuple(np.asarray(x) for x in kwargs["out"])
        out = getattr(ufunc, method)(*arrays, **kwargs)
        return out.view(Watched) if isinstance(out, np.ndarray) else out

    def __array_function__(self, f, types, args, kwargs):
        if f in (np.dot, np.einsum, np.tensordot, np.inner):
            kinds = [str(x.dtype) for x in args if isinstance(x, np.ndarray)]
            Watched.products.append(
                [str(np.dtype(kwargs["dtype"]))] if "dtype" in kwargs else kinds
            )
        return super().__array_function__(f, types, args, kwargs)


def dtypes_of_products(a, b):
    """The dtypes that int_matmul multiplies, other than float32, as far as they are seen."""
    Watched.products.clear()
    int_matmul(a.view(Watched), b.view(Watched))
    return sorted({kind for kinds in Watched.products for kind in kinds} - {"float32"})


def fake_gradient(x, g, scale, zero_point, low, high):
    """The result of fake_quantize and the gradient of x, through the recorded operation."""
    x = Variable(x)
    out = fake_quantize(x, scale, zero_point, low, high)
    backward((out * Tensor(g)).sum())
    return np.array(out), np.array(x.grad)


def first_step(kind, w, bias, x, y, bits, group):
    """The outputs in the first step of train_quantized of one layer with these numbers."""
    layer, seen = {"Dense": Dense, "Linear": Linear}[kind](*w.shape), []
    layer.weights.data[...], layer.bias.data[...] = w, bias

    def loss(out, y):
        seen.append(np.array(out))
        return squared(out, y)

    train_quantized(Sequential(layer), bits, loss, [(Tensor(x), Tensor(y))], group=group)
    return seen[0]


def network():
    """A small network, for quantization-aware training."""
    return Sequential(Dense(6, 8, rng=1), ReLU(), Dense(8, 2, rng=2))


def squared(out, y):
    return ((out - y) * (out - y)).mean()


def absolute(out, y):
    return abs(out - y).mean()


def training(batches, bits, lr=None, group=None, loss="squared"):
    """What train_quantized returns, beside a training loop written out, and plain rounding."""
    f = squared if loss == "squared" else absolute
    net, batches = network(), [(Tensor(x), Tensor(y)) for x, y in batches]
    before = state_dict(net)
    options = ({} if lr is None else {"lr": lr}) | ({} if group is None else {"group": group})
    small = train_quantized(net, bits, f, iter(batches), **options)
    after = state_dict(net)

    def twin(lr, group):
        net = network()
        net = Sequential(
            FakeQuantizedLinear(net[0], bits, group),
            ReLU(),
            FakeQuantizedLinear(net[2], bits, group),
        )
        optimizer = optimizers.Adam(net.parameters(), lr=lr)
        for x, y in batches:
            optimizer.zero_grad()
            backward(f(net(x), y))
            optimizer.step()
        return np.array(net(batches[0][0]))

    x, _ = batches[0]
    return {
        "kinds": [type(layer).__name__ for layer in small],
        "unchanged": all(np.array_equal(before[name], after[name]) for name in before),
        "learns": len(net.parameters()),
        "out": np.array(small(x)),
        "layers": [
            [np.array(layer.weights), np.array(layer.bias)]
            for layer in small
            if hasattr(layer, "weights")
        ],
        "wanted": twin(1e-3 if lr is None else lr, group),
        "default lr": twin(1e-3, group) if lr else None,
        "rounded": np.array(quantize_model(net, bits, group=group)(x)),
        "bits": [layer.matrix.bits for layer in small if hasattr(layer, "matrix")],
    }


def training_beside_a_table():
    """The kinds of the layers of a model with an Embedding, before and after."""
    net = Sequential(Embedding(5, 4, rng=0), Dense(4, 3, rng=1))
    table = net[0].weight.numpy()
    batches = [(np.array([[0, 1]]), Tensor(np.ones((1, 2, 3), "float32")))] * 2
    small = train_quantized(net, 8, squared, batches)
    return [type(layer).__name__ for layer in small], bool((net[0].weight.data == table).all())


# %% matrix points=6
def test_a_matrix_is_stored_as_packed_integers_and_scales():
    for bits, group in [(4, None), (4, 2), (8, None), (3, 3)]:
        w = normal(30, 5, 3)
        case = f"QuantizedMatrix(w (5, 3), bits={bits}, group={group})"
        about = result_of(lambda: matrix_of(w, bits, group), case, WHAT_WENT_WRONG)
        names = sorted(about["arrays"])
        cause = 'self.register_buffer("packed", ...) and self.register_buffer("scale", ...)'
        equal(names, ["packed", "scale"], f"the names in the state dict of {case}", cause)
        wanted, _ = scales_by_loops(w, bits, group)
        expect(about["arrays"]["scale"], wanted, f".scale of {case}", near=1e-3)
        equal(about["dtypes"]["scale"], "float16", f"the dtype of .scale of {case}")
        q, _ = integers_by_loops(w, bits, group)
        causes = {
            "The integers are packed row by row; yours go down the columns": bytes_by_hand(
                q.T, bits
            ),
            f"Each integer takes {bits} bits: pack(q, bits)": q.astype("int8")
            .view("uint8")
            .ravel(),
            "pack takes an array (n,) of integers, not a matrix": q.astype("uint8"),
        }
        found = about["arrays"]["packed"]
        expect(found, bytes_by_hand(q, bits), f".packed of {case}", causes)
        equal(about["dtypes"]["packed"], "uint8", f"the dtype of .packed of {case}")
        equal(
            about["learned"], 0, f"the number of parameters of {case}", "buffers do not learn"
        )


def test_dequantize_computes_the_rounded_matrix():
    for bits, group in [(4, None), (4, 2), (8, 4), (2, None)]:
        w = normal(31, 6, 4)
        case = f"dequantize of QuantizedMatrix(w (6, 4), bits={bits}, group={group})"
        about = result_of(lambda: matrix_of(w, bits, group), case, WHAT_WENT_WRONG)
        cause = "unpack, reshape to (k, n), and multiply each row by per_row(scale, group, k)"
        wanted = rounded_by_loops(w, bits, group)
        expect(about["dequantized"], wanted, case, cause, near=1e-6, dtype="float32")


def test_a_matrix_computes_from_what_it_stores():
    w, other = normal(35, 6, 4), normal(36, 6, 4)
    for bits, group in [(4, 2), (8, None), (3, None)]:
        case = (
            f"dequantize of a matrix with {bits} bits, after load_state_dict from another one,"
        )
        cause = {
            "It still has the old integers: compute from .packed and .scale, and keep nothing "
            "else": rounded_by_loops(w, bits, group),
            "It has the new scales with the old integers: unpack .packed in each call": (
                integers_by_loops(w, bits, group)[0] * integers_by_loops(other, bits, group)[1]
            ),
            "It has the new integers with the old scales: use .scale in each call": (
                integers_by_loops(other, bits, group)[0] * integers_by_loops(w, bits, group)[1]
            ),
        }
        found = result_of(lambda: loaded_matrix(w, other, bits, group), case, WHAT_WENT_WRONG)
        close(found, rounded_by_loops(other, bits, group), case, cause)


def test_the_stored_scale_is_the_one_that_rounds():
    # The float16 nearest to 0.1 is 0.099976. 0.54995 is 5.4995 scales, 5.5008 stored ones.
    w = np.array([[12.7], [0.54995]])
    wanted = np.array([[127 * 0.0999755859375], [6 * 0.0999755859375]])
    about = matrix_of(w, 8)
    cause = "Divide by the float16 scales that are stored, not by more exact ones"
    close(about["dequantized"], wanted, "w = [[12.7], [0.54995]] with 8 bits, rounded,", cause)


def test_inputs_choose_the_integers_by_gptq():
    w, x = normal(32, 4, 3), normal(33, 9, 4)
    for bits, group in [(4, 2), (3, None)]:
        case = f"QuantizedMatrix(w, {bits}, {group}, inputs)"
        about = result_of(lambda: matrix_of(w, bits, group, x), case, WHAT_WENT_WRONG)
        equal(
            len(about["calls"]), 1, f"the calls of gptq by {case}", "use gptq for given inputs"
        )
        used, given, *rest = about["calls"][0]
        close(used, w, f"the matrix that {case} gives to gptq")
        close(given, x, f"the inputs that {case} gives to gptq")
        equal(rest, [bits, group], f"bits and group that {case} gives to gptq")
        scales, each = scales_by_loops(w, bits, group)
        moved = w.copy()
        moved[0] += scales[0]
        top = 2 ** (bits - 1) - 1
        wanted = np.clip(np.round(moved / each), -top, top) * each
        causes = {
            "gptq's result should be rounded, not the original matrix": rounded_by_loops(
                w, bits, group
            ),
            "The scales are those of the original w, also after gptq": rounded_by_loops(
                moved, bits, group
            ),
        }
        found = about["dequantized"]
        expect(found, wanted, f"what {case} stores, dequantized,", causes, near=1e-5)
    about = matrix_of(w, 4)
    equal(len(about["calls"]), 0, "the calls of gptq without inputs", "without inputs, round")
    expect(about["w"], w, "w afterwards, which should not change,")


# %% matrix hidden points=1
def test_other_matrices():
    for k, n, bits, group in [(1, 1, 2, None), (9, 2, 5, 4), (40, 3, 6, 32), (7, 7, 7, 1)]:
        about = matrix_of(normal(34, k, n).astype("float32"), bits, group)
        yield np.array(about["dequantized"], "f4"), about["arrays"]["packed"]


# %% layer points=5
def test_the_layer_computes_with_the_rounded_matrix():
    w, b = normal(40, 6, 3), normal(41, 3)
    for bits, group, shape in [(8, None, (4, 6)), (4, 2, (2, 5, 6)), (2, 3, (6,))]:
        x = normal(42, *shape)
        case = f"QuantizedLinear.from_float(Dense(6, 3), {bits}, {group}) of x {shape}"
        about = result_of(lambda: layer_of(w, b, x, bits, group), case)
        equal(about["kind"], "QuantizedLinear", f"what from_float returns for {case}")
        rounded = rounded_by_loops(np.float32(w), bits, group)
        causes = {
            "The bias is missing": x @ rounded,
            "That is the output of the original layer, not rounded": x @ w + b,
            "bits and group belong to the matrix": x @ rounded_by_loops(np.float32(w), 8) + b,
            "Pass the group on to QuantizedMatrix": x @ rounded_by_loops(np.float32(w), bits)
            + b,
        }
        close(about["out"], x @ rounded + b, case, causes, 1e-5)
        close(about["matrix"]["dequantized"], rounded, f".matrix of {case}, dequantized,")
        cause = "a Tensor is saved with the model, and an array is not"
        equal(about["bias"], "Tensor", f"the type of .bias of {case}", cause)


def test_a_layer_without_bias():
    w, x = normal(43, 4, 2), normal(44, 3, 4)
    case = "from_float of a Dense without bias"
    about = result_of(lambda: layer_of(w, None, x), case, "dense.bias may be None")
    close(about["out"], x @ rounded_by_loops(np.float32(w), 8), case, near=1e-5)


def test_inputs_are_passed_on():
    w, x = normal(45, 4, 2), normal(46, 3, 4)
    case = "from_float(dense, 4, 2, inputs) of a Dense without bias"
    about = result_of(
        lambda: layer_of(w, None, x, 4, 2, inputs=x), case, "dense.bias may be None"
    )
    equal(len(about["calls"]), 1, "the calls of gptq by from_float(dense, 4, 2, inputs)",
          "pass the inputs on to QuantizedMatrix")  # fmt: skip
    close(about["calls"][0][1], x, "the inputs that arrive at gptq")


def test_the_original_and_the_copy_share_nothing():
    w, b, x = normal(47, 4, 2), normal(48, 2), normal(49, 3, 4)
    about = layer_of(w, b, x)
    assert about["unchanged"], "from_float changed the weights of the Dense it was given"
    case = "the output of the quantized layer, after the original has changed,"
    close(about["later"], about["out"], case, "copy the bias: Tensor(dense.bias) copies")
    equal(about["learned"], 0, "the number of parameters of a QuantizedLinear",
          "the bias is a Tensor that requires no gradient")  # fmt: skip
    rounded = rounded_by_loops(np.float32(w), 8)
    case = "the gradient of x through a QuantizedLinear"
    assert about["gradient"] is not None, (
        "x gets no gradient through the layer: use Tensor operations, such as `linear`"
    )
    close(about["gradient"], np.tile(rounded.sum(axis=1), (3, 1)), case, near=1e-5)


# %% layer hidden points=1
def test_other_layers():
    for k, n, bits, group in [(3, 1, 3, 2), (1, 5, 8, None), (33, 2, 5, 32)]:
        w, b, x = normal(50, k, n), normal(51, n), normal(52, 2, k)
        yield layer_of(w, b, x, bits, group)["out"]


# %% quantize-model points=7
def test_every_layer_is_replaced():
    about = result_of(lambda: nested(4, 2), f"quantize_model of {NESTED}")
    cause = "Layers can be in lists, dicts and a Sequential: copy.deepcopy(model, replaced)"
    equal(about["kinds"], ALL, f"the types of the layers of {NESTED}", cause)
    equal(about["bits"], [4], "the bits of the layers with bits=4")
    assert about["groups"], "with group=2, each layer should have group 2: pass it on"
    for path, w in about["weights"].items():
        case = f"the matrix of {path}, dequantized,"
        close(about["dequantized"][path], rounded_by_loops(w, 4, 2), case)
    assert about["once"], (
        "a layer that the model contains twice should be one layer in the copy, too"
    )


def test_the_original_model_is_unchanged():
    about = nested(8)
    assert not about["same"], "quantize_model returned the model itself: return a copy"
    assert about["unchanged"], (
        "the original model was changed. copy.deepcopy(model, replaced) puts the new layers "
        "into a copy only"
    )
    equal(about["kinds of the original"],
          ["Dense", "Embedding", "Nested", "Sequential"],
          "the types in the original model after the call",
          "the original keeps its layers")  # fmt: skip


def test_layers_in_skip_stay_as_they_are():
    about = nested(8, skip=["heads.a", "blocks.0.0"])
    wanted = ALL | {"heads.a": "Dense", "blocks.0.0": "Dense"}
    case = 'the types of the layers with skip=["heads.a", "blocks.0.0"]'
    equal(about["kinds"], wanted, case, "leave out the paths in skip, and no others")
    assert about["kept"] is False, "a skipped layer should be copied: the copy shares it"
    close(about["heads"], about["weights"]["heads.a"], "the weights of a skipped layer")
    about = nested(8, skip=["blocks"])
    equal(about["kinds"], ALL, 'the types of the layers with skip=["blocks"], not a layer,',
          "a path in skip is the whole path of one layer")  # fmt: skip


def test_calibration_records_the_inputs_of_each_layer():
    ids = np.array([[1, 2, 3], [5, 0, 4]])
    about = nested(4, 2, ids=ids)
    wanted = about["inputs"]
    cause = "each Dense layer gets the inputs recorded for its own path: inputs.get(path)"
    equal(
        len(about["calls"]), len(wanted), "the number of layers for which gptq is used", cause
    )
    for (w, x, bits, group), path in zip(about["calls"], wanted, strict=False):
        close(w, about["weights"][path], f"the matrix of {path} that arrives at gptq")
        close(x, wanted[path], f"the inputs of {path} that arrive at gptq", cause)
        equal([bits, group], [4, 2], f"bits and group of {path}")
    equal(len(nested(4, 2)["calls"]), 0, "the calls of gptq without calibration")
    some = nested(4, 2, skip=["blocks.1"], ids=ids)
    equal(len(some["calls"]), len(wanted) - 1, "the calls of gptq with one layer in skip")


# %% quantize-model polish points=0
def test_a_model_that_is_a_layer():
    found = quantized_alone()
    cause = "copy.deepcopy(model, replaced) also replaces the model itself"
    equal(
        found,
        ["QuantizedLinear", "QuantizedConv2d"],
        "a Dense, and a Conv2d in a Sequential,",
        cause,
    )


# %% quantize-model hidden points=1
def test_other_models():
    for bits, group in [(2, None), (8, 3)]:
        about = nested(bits, group)
        equal(about["bits"], [bits], "bits")
        assert about["groups"], f"group {group}"
        equal(
            nested(bits, group, skip=list(ALL))["kinds"].get("table"),
            "Embedding",
            "all in skip",
        )


# %% size points=3
def test_the_bytes_of_all_arrays():
    found = result_of(sizes, "the sizes of some models")
    wanted = {
        "Dense(64, 10)": (2600, "650 numbers of 4 bytes"),
        "a Dense(64, 10) in float64": (5200, "650 numbers of 8 bytes: ask the dtype, .nbytes"),
        "the same Dense(64, 10) twice": (2600, "a layer that is used twice is stored once"),
        "7 buffers of int8, 4 weights and 3 float16": (
            29,
            "count buffers and other Tensors, each with the bytes of its dtype: 7 + 16 + 6",
        ),
        "an Embedding(10, 4) whose weight is used twice": (160, "shared tables count once"),
        "a QuantizedLinear of Dense(64, 10) with 4 bits and groups of 32": (
            400,
            "320 bytes of integers, 40 of scales, 40 of biases: Scales and biases are stored",
        ),
        "a Sequential of ReLU": (0, "it stores no numbers"),
    }
    for name, (size, cause) in wanted.items():
        equal(found[name], size, f"size_of {name}", cause)


# %% size hidden points=1
def test_sizes_are_ints():
    found = sizes()
    assert all(type(size) is int for size in found.values()), "size_of should return an int"
    equal(found["an Embedding(10, 4) whose weight is used twice"], 160, "the size of a table")
    equal(found["Dense(64, 10)"], 2600, "the size of a Dense(64, 10)")


# %% sensitivity points=4
def test_one_layer_at_a_time_is_quantized():
    about = result_of(lambda: sensitivities(4), f"sensitivity of {NESTED}")
    found = dict(about["found"])
    paths = list(ALL)
    equal(sorted(found), sorted(paths), "the paths that sensitivity returns")
    for i, path in enumerate(paths):
        cause = {
            11111 - 10.0**i: "That quantizes all other layers and leaves out this one",
            11111.0: "Quantize this layer alone: all other paths belong into skip",
            10.0**i + 5: "Subtract the score of the original model",
            -(
                10.0**i
            ): "That is the change the other way round: the new score minus the old one",
            0.0: "This layer was not quantized",
        }.get(found[path], "")
        case = f"the sensitivity of {path}, for a score of 5 + {10**i} if only it is quantized,"
        equal(found[path], 10.0**i, case, cause)
    equal([path for path, _ in about["found"]], paths, "the order of the paths",
          "that of quantizable(model)")  # fmt: skip
    assert about["unchanged"], "the model was changed"


def test_bits_and_group_are_passed_on():
    equal(sensitivities(4)["seen"], ["(4, None)"], "(bits, group) of the layers with bits=4")
    equal(sensitivities(3, 2)["seen"], ["(3, 2)"], "(bits, group) with bits=3 and group=2")


# %% sensitivity hidden points=1
def test_other_sensitivities():
    equal([value for _, value in sensitivities(2, 4)["found"]],
          [10.0**i for i in range(5)], "the sensitivities with 2 bits")  # fmt: skip


# %% inverse-factor points=5
def test_the_factor_of_a_diagonal_matrix():
    x = np.array([[2.0, 0.0], [0.0, 4.0]])
    causes = {
        "That is the factor of H itself; the factor of its inverse is needed": [
            [2.0, 0],
            [0, 4.0],
        ],
        "That is the inverse; take its Cholesky factor": [[0.25, 0.0], [0.0, 0.0625]],
        "H is the sum over the inputs, not the mean": [[2**-0.5, 0.0], [0.0, 2**-1.5]],
    }
    case = "inverse_factor([[2, 0], [0, 4]], damping=0), where H = [[4, 0], [0, 16]],"
    close(inverse_factor(x, 0), [[0.5, 0.0], [0.0, 0.25]], case, causes)


def test_the_factor_reproduces_the_inverse():
    x = dependent_inputs(60, 12, 4)
    for damping in (0.0, 0.01, 1.0):
        case = f"inverse_factor(x (12, 4), damping={damping})"
        cause = "H = x.T @ x has the shape (k, k); it is positive definite"
        found = result_of(lambda: inverse_factor(x, damping), case, cause, LINEAR)
        u = np.asarray(found)
        assert u.shape == (4, 4), f"{case} should have shape (4, 4), yours has {u.shape}"
        h = hessian_of(x, damping)
        product, inverse = np.einsum("ki,kj->ij", u, u), np.linalg.inv(h)
        lower, other_way = np.abs(np.tril(u, -1)).max(), np.einsum("ik,jk->ij", u, u)
        cause = (
            "Invert H first, and factor the inverse: the inverse of a factor of H is no upper "
            "triangular factor"
            if np.allclose(product, inverse, 1e-7)
            else "NumPy returns the lower triangular factor: transpose it"
        )
        assert lower < 1e-9, (
            f"{case} should be 0 below its diagonal, yours has {lower:.3g} there. {cause}"
        )
        if not np.allclose(product, inverse, 1e-7):
            assert not np.allclose(other_way, inverse, 1e-7), (
                f"U.T @ U of {case} should be the inverse, with yours U @ U.T is. Invert H "
                "first, then factor: the inverse of a factor of H has the wrong order"
            )
        causes = {
            "Add the damping to the diagonal of H": np.linalg.inv(hessian_of(x, 0))
            if damping
            else np.zeros((4, 4)),
            "Damping is added on the diagonal only": np.linalg.inv(
                hessian_of(x, 0) + damping * np.average(np.diag(hessian_of(x, 0)))
            )
            if damping
            else np.zeros((4, 4)),
            "Damping is relative: `damping` times the mean of the diagonal": np.linalg.inv(
                hessian_of(x, 0) + damping * np.eye(4)
            ),
            "H is the sum over the inputs, not the mean": np.linalg.inv(h / 12),
            "Damping uses the mean of the diagonal, not of the whole H": np.linalg.inv(
                hessian_of(x, 0) + damping * np.average(hessian_of(x, 0)) * np.eye(4)
            ),
        }
        close(product, inverse, f"U.T @ U of {case}", causes, 1e-7)
        assert (np.diag(u) > 0).all(), f"the diagonal of {case} should be positive"
    close(inverse_factor(x), inverse_factor(x, 0.01), "inverse_factor(x), with damping=0.01,")


def test_inputs_that_are_always_zero_or_equal():
    x = normal(61, 20, 3)
    x[:, 1] = 0
    x = np.column_stack([x, x[:, 0]])
    case = "inverse_factor of inputs of which one is always 0 and two are always equal"
    cause = "H has no inverse then: add the damping before you invert it"
    found = result_of(lambda: inverse_factor(x), case, cause, LINEAR)
    wanted = np.linalg.inv(hessian_of(x, 0.01))
    close(np.einsum("ki,kj->ij", found, found), wanted, f"U.T @ U of {case}", near=1e-7)


def test_the_factor_is_float64():
    x = dependent_inputs(62, 30, 5).astype("float32")
    found = inverse_factor(x)
    cause = "Convert the inputs to float64 before the first product"
    wanted = np.linalg.inv(hessian_of(x.astype("float64"), 0.01))
    case = "U.T @ U for float32 inputs"
    expect(found, found, "the factor for float32 inputs", cause, dtype="float64")
    product = np.einsum("ki,kj->ij", found, found)
    close(product, wanted, case, cause * bool(np.allclose(product, wanted, 1e-3)), 1e-9)


# %% inverse-factor hidden points=1
def test_other_factors():
    for m, k, damping in [(1, 1, 0.5), (50, 7, 0.0), (3, 6, 0.1)]:
        x = dependent_inputs(63, m, k)
        u = np.asarray(inverse_factor(x, damping))
        wanted = np.linalg.inv(hessian_of(x, damping))
        close(np.einsum("ki,kj->ij", u, u), wanted, f"{(m, k, damping)}", near=1e-6)


# %% gptq points=10
def test_the_second_weight_compensates_for_the_first():
    w, x = np.array([[0.4], [0.4], [7.0]]), np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    causes = {
        "That is plain rounding: each error must move the rows after it": [
            [0.0],
            [0.0],
            [7.0],
        ],
        "Divide the error by U_ii": [[0.0], [3.0], [7.0]],
        "The rounded row must be kept; yours is the row before rounding": [
            [0.4],
            [0.79604],
            [7.0],
        ],
    }
    case = "gptq([[0.4], [0.4], [7]]) with two inputs that are always equal"
    found = result_of(lambda: gptq(w, x), case, kind=LINEAR)
    expect(found, [[0.0], [1.0], [7.0]], case, causes, near=1e-4, dtype="float32")
    case = "gptq([[-0.4], [-0.4], [7]]) with two inputs that are opposite to each other"
    x = np.array([[1.0, -1.0, 0.0], [0.0, 0.0, 1.0]])
    cause = "the first error moves the second weight from -0.4 to 0, by the factors of U"
    close(gptq(np.array([[-0.4], [-0.4], [7.0]]), x), [[0.0], [0.0], [7.0]], case, cause)


def test_gptq_of_both_dtypes():
    for dtype in ("float64", "float32"):
        w, x = normal(97, 6, 2).astype(dtype), dependent_inputs(98, 20, 6).astype(dtype)
        wanted = gptq_by_solving(w.astype("float64"), x.astype("float64"), 4, 2)
        expect(gptq(w, x, 4, 2), wanted, f"gptq of {dtype} arrays", near=1e-5, dtype="float32")


def test_it_agrees_with_solving_for_the_rows_that_are_left():
    for seed, (k, n, bits, group) in enumerate(
        [(6, 4, 4, None), (8, 3, 3, None), (5, 6, 2, 2)]
    ):
        w, x = normal(70 + seed, k, n), dependent_inputs(80 + seed, 30, k) / 10
        call = f"gptq(w ({k}, {n}), x (30, {k}), bits={bits}, group={group})"
        wanted = gptq_by_solving(w, x, bits, group)
        wrong = {
            "That is plain rounding: each error must move the rows after it": "alone",
            "The later rows move in the wrong direction: subtract U_ij times the error": "sign",
            "That uses one inverse of the whole H for all steps; use the rows of U": "stale",
            "Divide the error by U_ii": "large",
        }
        causes = {
            cause: gptq_by_solving(w, x, bits, group, how=how) for cause, how in wrong.items()
        }
        causes |= {
            "The number of bits is an argument": gptq_by_solving(w, x, 4, group),
            "The groups have their own scales": gptq_by_solving(w, x, bits),
        }
        for cause in [cause for cause, value in causes.items() if np.allclose(value, wanted)]:
            del causes[cause]
        found = result_of(lambda: gptq(w, x, bits, group), call)
        expect(found, wanted, call, causes, near=1e-5, dtype="float32")


def test_the_result_is_on_the_grid_of_the_original_scales():
    w, x = normal(90, 9, 5), dependent_inputs(91, 40, 9)
    for bits, group in [(3, None), (4, 3)]:
        found = np.asarray(gptq(w, x, bits, group))
        expect(found.shape, w.shape, "the shape of the result")
        _, each = scales_by_loops(w, bits, group)
        q, top = found / each, 2 ** (bits - 1) - 1
        off = np.abs(q - np.round(q)) + np.maximum(np.abs(q) - top, 0)
        at = int(off.max(axis=0).argmax())
        if np.abs(q).max() > top + 1e-4 and np.abs(q - np.round(q)).max() < 1e-4:
            cause = "Pass the number of bits to quantize"
        elif np.array_equal(found, np.round(found)):
            cause = "Multiply the integers by their scales"
        else:
            cause = "Are the scales computed once, before the rows move?"
        assert off.max() < 1e-4, (
            f"gptq(w, x, bits={bits}, group={group}) should return integers from {-top} to "
            f"{top} times the scales of the original w; in units of them, your column {at} is "
            f"{shown(q[:, at], 4)}. {cause}"
        )
        assert (np.abs(q).max(axis=0) > 0.5).all(), "yours rounds whole columns to 0"


def test_the_error_of_the_outputs_falls():
    w, x = normal(92, 12, 6), dependent_inputs(93, 60, 12)
    plain, rounded = output_error(w, rounded_by_loops(w, 3), x), np.asarray(gptq(w, x, 3))
    expect(rounded.shape, w.shape, "the shape of the result")
    apart = np.abs(rounded - w).max()
    assert apart > 0.01, (
        f"gptq should round to 3 bits; yours changes no weight by more than {apart}"
    )
    found = output_error(w, rounded, x)
    assert found < 0.8 * plain, (
        f"the squared error of the outputs should fall well below that of plain rounding, "
        f"{plain:.4g}; with your gptq it is {found:.4g}"
    )


def test_independent_inputs_leave_nothing_to_compensate():
    w = normal(94, 5, 3)
    case = "gptq of inputs that never occur together (x is the identity matrix)"
    close(
        gptq(w, np.eye(5), 4), rounded_by_loops(w, 4), case, "then it is plain rounding", 1e-5
    )


def test_the_damping_is_an_argument():
    w, x = normal(95, 7, 5), dependent_inputs(96, 9, 7)
    for damping in (0.01, 3.0):
        case = f"gptq(w, x, 3, damping={damping})"
        close(
            gptq(w, x, 3, damping=damping),
            gptq_by_solving(w, x, 3, None, damping),
            case,
            "pass damping on to inverse_factor",
            near=1e-5,
        )


def test_the_rows_that_wait_are_float64():
    w = np.array([[0.500000001], [1.499999999], [7.0]])  # float32 has only 0.5 and 1.5
    case = "gptq([[0.500000001], [1.499999999], [7]]) of inputs that never occur together"
    cause = {"Keep the rows in float64: float32 takes these numbers for 0.5 and 1.5": [
        [0.0], [2.0], [7.0],
    ]}  # fmt: skip
    close(gptq(w, np.eye(3)), [[1.0], [1.0], [7.0]], case, cause, 1e-5)


# %% gptq hidden points=2
def test_other_matrices_and_inputs():
    for seed, (k, n, bits, group) in enumerate(
        [(1, 3, 4, None), (10, 2, 3, 4), (16, 8, 2, None)]
    ):
        w, x = normal(110 + seed, k, n), dependent_inputs(120 + seed, 50, k)
        yield np.array(gptq(w, x, bits, group), "f4")


def test_a_dead_input():
    w, x = normal(130, 4, 3), dependent_inputs(131, 20, 4)
    x[:, 2] = 0
    yield np.array(gptq(w, x, 4), "f4")


# %% affine points=5
def test_a_range_around_zero():
    cause = (
        "2^bits - 1 steps between low and high; the zero point is the nearest to -low / scale"
    )
    range_is(affine_range(-1.0, 4.0, 4), (1 / 3, 3), "affine_range(-1, 4, bits=4)", cause)
    range_is(affine_range(-1.0, 2.0, 8), (3 / 255, 85), "affine_range(-1, 2, bits=8)", cause)
    cause = "round to the nearest integer: -low / scale is 2.6"
    range_is(affine_range(-2.6, 12.4, 4), (1.0, 3), "affine_range(-2.6, 12.4, bits=4)", cause)
    range_is(affine_range(-2.4, 0.6, 2), (1.0, 2), "affine_range(-2.4, 0.6, bits=2)")


def test_zero_belongs_to_the_range():
    cause = "0 must be represented exactly: extend the range so that it includes 0"
    range_is(affine_range(2.0, 6.0, 2), (2.0, 0), "affine_range(2, 6, bits=2)", cause)
    range_is(affine_range(-6.0, -3.0, 2), (2.0, 3), "affine_range(-6, -3, bits=2)", cause)
    range_is(affine_range(0.0, 5.1), (0.02, 0), "affine_range(0, 5.1), 8 bits")
    range_is(affine_range(-5.1, 0.0), (0.02, 255), "affine_range(-5.1, 0), 8 bits")


def test_a_range_of_zeros():
    case = "affine_range(0, 0)"
    cause = "for an empty range the scale is 1, since nothing can be divided by 0"
    found = result_of(
        lambda: affine_range(0.0, 0.0), case, cause, (ZeroDivisionError, ValueError)
    )
    range_is(found, (1.0, 0), case, cause)


def test_numbers_of_numpy():
    low, high = np.float32(-1.0), np.float32(4.0)
    found = affine_range(low, high, 4)
    range_is(found, (1 / 3, 3), "affine_range of float32 numbers")


# %% affine hidden points=1
def test_other_ranges():
    for low, high, bits in [(-3.0, 1.0, 3), (-0.01, 100.0, 8), (5.0, 5.0, 4), (-7.0, -7.0, 4)]:
        scale, zero = affine_range(low, high, bits)
        yield float(scale), int(zero), isinstance(zero, (int, np.integer))


# %% observer points=4
def test_the_range_grows_with_each_array():
    arrays = [[0.0, 5.0], [[-1.0, 4.0], [2.0, 3.0]]]
    case = "an Observer of [0, 5] and [[-1, 4], [2, 3]]"
    found = result_of(lambda: observed(arrays), case)
    cause = "Keep the smallest and the largest number of all arrays, not of the last one"
    close(found, [-1.0, 5.0], "[low, high] after [0, 5] and [[-1, 4], [2, 3]]", cause)
    found = observed([[-2.0, 9.0], [0.0, 1.0]])
    close(found, [-2.0, 9.0], "[low, high] after [-2, 9] and [0, 1]", cause)
    found = observed([[3.0, 4.0]])
    close(found, [3.0, 4.0], "[low, high] after [3, 4]")
    found = observed([np.array([1.0, 2.0])], tensor=True)
    close(found, [1.0, 2.0], "[low, high] after a Tensor")


def test_a_percentile_ignores_the_most_extreme_numbers():
    x = np.arange(101.0)
    for percentile, wanted in [
        (99.0, [1.0, 99.0]),
        (90.0, [10.0, 90.0]),
        (100.0, [0.0, 100.0]),
    ]:
        found = observed([x], percentile)
        case = f"[low, high] of Observer({percentile}) after 0, 1, ..., 100"
        cause = "from the (100 - percentile)th to the `percentile`th percentile"
        close(found, wanted, case, cause)
    found = observed([np.array([[0.0, 100], [1, 50], [2, 0]])], 80.0)
    cause = "the percentiles of all numbers of the array, not of each column"
    close(
        found, [0, 50], "[low, high] of Observer(80) after [[0, 100], [1, 50], [2, 0]]", cause
    )
    found = observed([x, -x], 90.0)
    cause = "each array has its own percentiles; the range includes the ranges of all arrays"
    close(
        found,
        [-90.0, 90.0],
        "[low, high] of Observer(90) after 0 ... 100 and -100 ... 0",
        cause,
    )


def test_the_range_as_scale_and_zero_point():
    found = observed([[-1.0, 4.0]], bits=4)
    close(found, [1 / 3, 3], "range(4) after [-1, 4]", "affine_range(low, high, bits)")
    case, cause = "range() after [0, 5.1]", "0 is also a low end: ask whether it `is None`"
    result_of(lambda: observed([[0.0, 5.1]], bits=0), case, cause, ValueError)
    found = observed([[0.0, 5.1]], bits=0)
    close(found, [0.02, 0], "range() after [0, 5.1]", "affine_range(low, high, bits)")
    case, cause = "range(2) after [2, 2]", "one number is a range, too"
    found = result_of(lambda: observed([[2.0, 2.0]], bits=2), case, cause)
    close(found, [2 / 3, 0], case, cause)


# %% observer hidden points=1
def test_other_observers():
    arrays = [normal(140, 50), normal(141, 3, 40), normal(142, 30) - 1]
    for p in (100.0, 95.0, 60.0):
        yield np.array(observed(arrays, p), "f4")


# %% int-matmul points=5
def test_small_products():
    a, b = np.array([[1, -2, 3]], "int8"), np.array([[4, 5], [6, -7], [100, 100]], "int8")
    case = "int_matmul([[1, -2, 3]], [[4, 5], [6, -7], [100, 100]])"
    cause = {"int8 has no 292: multiply in a larger type": [[36, 63]]}
    expect(int_matmul(a, b), [[292, 319]], case, cause, dtype="int32")


def test_long_sums_are_exact():
    for k in (1040, 1041, 3000):
        a, b = np.full((1, k), 127, "int8"), np.full((k, 1), 127, "int8")
        case = f"the product of {k} times 127 and 127"
        cause = "float32 counts only to 2^24: multiply short blocks, and add them as int32"
        found = result_of(lambda: int_matmul(a, b), case, cause)
        expect(found, [[k * 127 * 127]], case, cause, dtype="int32")


def test_minus_128_is_allowed():
    a = np.full((1, 1040), -128, "int8")
    a[0, -1] = 127
    b = a.T.copy()
    case = "the product of 1,039 times -128 and -128, and once 127 and 127,"
    cause = "blocks of 1,024 terms are exact for all values, since 1,024 * 128 * 128 is 2^24"
    found = result_of(lambda: int_matmul(a, b), case, cause)
    expect(found, [[1039 * 128 * 128 + 127 * 127]], case, cause)


def test_many_rows_and_columns():
    rng = np.random.default_rng(150)
    for n, k, m in [(3, 2500, 4), (1, 1024, 2), (2, 2048, 1), (5, 7, 6)]:
        a, b = (rng.integers(-128, 128, shape).astype("int8") for shape in [(n, k), (k, m)])
        case = f"int_matmul(a ({n}, {k}), b ({k}, {m}))"
        wanted = np.einsum("ik,kj->ij", a.astype("int64"), b.astype("int64"))
        cause = "every block counts, the last one, which may be shorter, too"
        found = result_of(lambda: int_matmul(a, b), case, cause)
        expect(found, wanted, case, cause, dtype="int32")


def test_the_products_are_of_float32():
    a, b = np.full((2, 1500), 3, "int8"), np.full((1500, 2), 5, "int8")
    expect(int_matmul(a, b), [[22500, 22500]] * 2, "1,500 times 3 and 5", dtype="int32")
    case = "the dtypes of the matrices that int_matmul multiplies, other than float32,"
    cause = (
        "convert each block to float32: NumPy multiplies integers slowly, and float64 takes "
        "twice the bytes"
    )
    equal(dtypes_of_products(a, b), [], case, cause)


# %% int-matmul polish points=0
def test_no_terms():
    found = int_matmul(np.zeros((2, 0), "int8"), np.zeros((0, 3), "int8"))
    expect(found, np.zeros((2, 3)), "a product without terms", dtype="int32")


# %% int-matmul hidden points=1
def test_other_products():
    rng = np.random.default_rng(151)
    a, b = [127 - rng.integers(0, 3, shape) for shape in [(2, 5000), (5000, 3)]]
    yield int_matmul(a.astype("int8"), b.astype("int8"))


# %% fake-quantize points=7
def test_forward_rounds_to_the_grid():
    x = np.array([0.6, -0.9, 300.0, -300.0, 0.25])
    causes = {
        "Those are the integers: multiply by the scale again": [1, -2, 127, -127, 0],
        "Clip to low ... high": [0.5, -1.0, 300.0, -300.0, 0.0],
        "low and high are limits of the integers, not of the numbers": [0.5, -1, 127, -127, 0],
    }
    case = "fake_quantize_forward([0.6, -0.9, 300, -300, 0.25], 0.5, 0, -127, 127)"
    found = fake_quantize_forward(x, 0.5, 0, -127, 127)
    close(found, [0.5, -1.0, 63.5, -63.5, 0.0], case, causes)


def test_forward_with_a_zero_point():
    x = np.array([-3.0, -1.0, 0.0, 1.0, 9.0])
    causes = {
        "Subtract the zero point before multiplying": [0.0, 0.5, 1.5, 2.5, 7.5],
        "Add the zero point before clipping": [0.0, 0.0, 0.0, 1.0, 7.5],
    }
    case = "fake_quantize_forward([-3, -1, 0, 1, 9], scale=0.5, zero_point=3, low=0, high=15)"
    found = fake_quantize_forward(x, 0.5, 3, 0, 15)
    close(found, [-1.5, -1.0, 0.0, 1.0, 6.0], case, causes)
    case = "fake_quantize_forward([0.5, 1.5], scale=1, zero_point=1, low=0, high=15)"
    cause = "round before adding the zero point: 0.5 is rounded to 0"
    close(fake_quantize_forward(np.array([0.5, 1.5]), 1.0, 1, 0, 15), [0.0, 2.0], case, cause)


def test_forward_keeps_the_dtype():
    for dtype in ("float32", "float64"):
        x = normal(160, 3, 2).astype(dtype)
        scale = np.array([[0.5, 0.25]])
        wanted = np.clip(np.round(x / scale), -3, 3) * scale
        case = f"fake_quantize_forward of {dtype} with a scale for each column"
        found = fake_quantize_forward(x, scale, 0, -3, 3)
        expect(found, wanted, case, near=1e-6, dtype=dtype)


def test_the_gradient_goes_straight_through():
    x = np.array([0.1, -0.9, 63.4, 63.7, 63.8, -63.7, -63.8, 300.0])
    g = np.array([2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0])
    causes = {
        "The derivative of rounding is 0, but then nothing is learned: pass g on": g * 0,
        "Where a number was clipped, its gradient is 0": g,
        "Clipped is what is outside of low ... high after rounding: 63.7 is rounded to 127": [
            2.0, 3.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0,
        ],
        "An integer equal to low or high is not clipped": [2.0, 3.0, 0, 0, 0, 0, 0, 0],
        "Multiply by the upstream gradient g": [1.0, 1, 1, 1, 0, 1, 0, 0],
        "The scale divides in quantizing and multiplies in dequantizing: its factors cancel": [
            1.0, 1.5, 2.5, 3.5, 0.0, 6.5, 0.0, 0.0,
        ],
        "Do not divide by the scale: its two factors cancel": [4, 6, 10, 14, 0, 26, 0, 0],
    }  # fmt: skip
    case = (
        "fake_quantize_rule for x = [0.1, -0.9, 63.4, 63.7, 63.8, -63.7, -63.8, 300], scale 0.5"
    )
    found = fake_quantize_rule(g, None, x, 0.5, 0, -127, 127)
    close(found, [2.0, 3.0, 5.0, 7.0, 0.0, 13.0, 0.0, 0.0], case, causes)


def test_the_rule_knows_the_zero_point():
    x, g = np.array([-2.0, -1.5, 0.0, 6.0, 6.5, 7.0]), np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    cause = "the zero point shifts the range: q = round(x / scale) + zero_point"
    found = fake_quantize_rule(g, None, x, 0.5, 3, 0, 15)
    case = (
        "fake_quantize_rule for x = [-2, -1.5, 0, 6, 6.5, 7], scale 0.5, zero point 3, 0 to 15"
    )
    close(found, [0.0, 2.0, 3.0, 4.0, 0.0, 0.0], case, cause)
    case = "fake_quantize_rule for x = [-0.5, 2.5], scale 1, zero point 1, 1 to 3"
    cause = "round before adding the zero point"
    found = fake_quantize_rule(np.array([5.0, 7.0]), None, np.array([-0.5, 2.5]), 1.0, 1, 1, 3)
    close(found, [5.0, 7.0], case, cause)


def test_both_work_together_on_a_tensor():
    x, g = normal(161, 4, 3), normal(162, 4, 3)
    scale = np.array([[0.5, 0.25, 1.0]])
    found, gradient = fake_gradient(x, g, scale, 0, -1, 1)
    q = np.round(x / scale)
    close(found, np.clip(q, -1, 1) * scale, "fake_quantize of a Tensor (4, 3)", near=1e-6)
    close(
        gradient,
        np.where(np.abs(q) <= 1, g, 0),
        "the gradient through fake_quantize",
        near=1e-6,
    )


# %% fake-quantize hidden points=1
def test_other_grids():
    for seed, grid in enumerate([(0, -7, 7), (5, 0, 15), (-3, -8, 7)]):
        x, g = 3 * normal(170 + seed, 20), normal(180 + seed, 20)
        yield np.array(fake_quantize_forward(x, 0.3, *grid), "f4")
        yield np.array(fake_quantize_rule(g, None, x, 0.3, *grid), "f4")


# %% train-quantized points=6
def test_the_training_computes_with_rounded_weights():
    w, bias = normal(5, 6, 2).astype("float32"), np.array([0.5, -2], "float32")
    [(x, y)] = samples(1)
    for kind, bits, group in [("Dense", 2, None), ("Linear", 2, None), ("Dense", 3, 2)]:
        case = f"the outputs of a {kind} in the first step, with group={group},"
        causes = {"list index": "no step was made: call train_step for each batch"}
        out = result_of(lambda: first_step(kind, w, bias, x, y, bits, group), case, causes)
        rounded, ungrouped = [
            x @ np.multiply(*integers_by_loops(w, bits, size)) + bias for size in (group, None)
        ]
        causes = {
            "That is training without rounded weights: put a FakeQuantizedLinear in place of "
            "each Dense; a Linear is one, too": x @ w + bias,
            "Pass the group on to FakeQuantizedLinear": ungrouped,
        }
        close(out, rounded, case, causes, 1e-5)


def test_the_result_is_a_trained_and_quantized_model():
    for options in ({"bits": 3}, {"bits": 2, "lr": 0.02}, {"bits": 3, "lr": 0.02, "group": 2}):
        words = ", ".join(f"{name}={value}" for name, value in options.items())
        case = f"train_quantized with {words}"
        batches = samples()
        about = result_of(lambda: training(batches, **options), case)
        kinds = ["QuantizedLinear", "ReLU", "QuantizedLinear"]
        cause = "return quantize_model(trained, bits, group=group)"
        equal(about["kinds"], kinds, f"the types of the layers after {case}", cause)
        equal(about["bits"], [options["bits"]] * 2, f"the bits of the layers after {case}")
        causes = {
            "That is the untrained model, rounded: nothing was trained": about["rounded"],
        }
        if about["default lr"] is not None:
            causes["The learning rate is an argument: pass lr to Adam"] = about["default lr"]
        case = f"the outputs after {case}, 30 batches and Adam,"
        trained(about, batches, case, causes)


def test_the_original_model_is_not_trained():
    about = training(samples(), 3, lr=0.02)
    assert about["unchanged"], (
        "the parameters of the original model have changed. FakeQuantizedLinear uses the "
        "parameters of the layer it is given: copy the model first"
    )
    equal(about["learns"], 4, "the number of parameters of the original after the call")


def test_the_loss_is_an_argument():
    batches = samples()
    about = training(batches, 3, lr=0.02, loss="absolute")
    case = "the outputs after training with the mean absolute difference as the loss"
    trained(about, batches, case)


def test_a_model_with_an_embedding():
    case = "train_quantized of an Embedding and a Dense"
    kinds, same = result_of(training_beside_a_table, case, "only Dense layers are replaced")
    equal(kinds, ["QuantizedEmbedding", "QuantizedLinear"], f"the types after {case}")
    assert same, "the table of the original model has changed"


# %% train-quantized hidden points=1
def test_other_trainings():
    for options in ({"bits": 4, "lr": 0.05}, {"bits": 2, "group": 3}):
        batches = samples(60)
        trained(training(batches, **options), batches, f"{options}")

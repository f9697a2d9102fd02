"""What the checks of several lessons use. It holds no answers.

A section `# %% setup` or `# %% learner-side` of a lesson's checks.py imports the functions that
it needs, for example with `from checking import expect`. It gets them, and the functions that
they call, as if it defined them: see book/contributing.md. They need only NumPy, so that every
lesson can use them.

`case` begins the message: a noun with what was given ("the mean of [1, 2]"). `cause` ends it:
the likely cause of a wrong answer, a sentence or a question.
"""

import re

import numpy as np

NO_TENSOR = re.compile("'(list|tuple)' object has no attribute '(shape|ndim|size|dtype|T)'")
LONG_LIST = re.compile(r"\[[-\[\]\d\s.,e+]{150,}\]")  # where shapes differ, it only hides them


def expect(found, wanted, case, cause="", near=0, dtype=None):
    """Assert that `found`, a Tensor, an array or a number, has the shape and the numbers of
    `wanted`.

    cause  the likely cause if it does not, or {cause: what one gets by it}
    near   the relative and the absolute tolerance: one number for both, or a pair
    dtype  the name of the dtype that `found` must have

    >>> expect([2, 4], [2, 4], "the double of [1, 2]")
    >>> expect([1, 4], [2, 4], "the double of [1, 2]", "did you square?")
    Traceback (most recent call last):
    AssertionError: the double of [1, 2] should be [2, 4], yours is [1, 4]: did you square?
    >>> expect(6, 2, "the mean of [1, 2, 3]", {"Divide the sum by 3": 6, "Add first": 1})
    Traceback (most recent call last):
    AssertionError: the mean of [1, 2, 3] should be 2, yours is 6. Divide the sum by 3
    >>> expect(0.1 + 0.2, 0.3, "the sum", near=1e-9)
    """
    assert found is not None, f"{case}: yours returns None. Is `return` missing?"
    found, wanted = np.asarray(found), np.asarray(wanted)
    relative, absolute = near if isinstance(near, tuple) else (near, near)
    if isinstance(cause, dict):
        likely = [
            text for text, wrong in cause.items() if alike(found, wrong, relative, absolute)
        ]
        cause = "".join(likely[:1])
    assert found.shape == wanted.shape, (
        f"{LONG_LIST.sub('[...]', case)} should have shape {wanted.shape}, yours has "
        f"{found.shape}{because(cause)}"
    )
    assert dtype is None or found.dtype.name == dtype, (
        f"{case} should be {dtype}, yours is {found.dtype}{because(cause)}"
    )
    if not alike(found, wanted, relative, absolute):
        cause = cause or part_that_is_right(found, wanted)
        assert False, f"{case} {difference(found, wanted, relative, absolute)}{because(cause)}"


def alike(found, wanted, relative=0, absolute=0):
    """Whether two arrays have the same shape and the same numbers, within these tolerances.

    >>> alike([1.0, 2.0], [1.0, 2.001]), alike([1.0, 2.0], [1.0, 2.001], 1e-2)
    (False, True)
    """
    found, wanted = np.asarray(found), np.asarray(wanted)
    if found.shape != wanted.shape:
        return False
    if not relative and not absolute:
        return bool(np.all((found == wanted) | (found != found) & (wanted != wanted)))
    return bool(np.allclose(found, wanted, relative, absolute, equal_nan=True))


def difference(found, wanted, relative=0, absolute=0):
    """Words about two different arrays of one shape: all their numbers, or of more than 20 the
    first wrong one.

    >>> difference(np.array([1, 4]), np.array([2, 4]))
    'should be [2, 4], yours is [1, 4]'
    >>> difference(np.arange(40), np.arange(40) % 30)
    'should be 0 at (30,), yours is 30: 25% of its numbers are wrong'
    """
    digits = 6 if shown(found) != shown(wanted) else 17
    seen = pattern(found, wanted)
    if wanted.size <= 20:
        return f"should be {shown(wanted, digits)}, yours is {shown(found, digits)}{seen}"
    wrong = ~np.isclose(found, wanted, relative, absolute, equal_nan=True)
    at = tuple(np.argwhere(wrong)[0].tolist())
    return (
        f"should be {shown(wanted[at], digits)} at {at}, yours is {shown(found[at], digits)}: "
        f"{wrong.mean():.0%} of its numbers are wrong{seen}"
    )


def pattern(found, wanted):
    """How wrong numbers follow from the right ones, to end a sentence; "" if it is not seen.

    >>> pattern(np.array([2, 8]), np.array([1, 4])), pattern(np.array([1, 8]), np.array([1, 4]))
    (', twice as much', '')
    >>> pattern(np.array([3.5, 4.5, 6.5]), np.array([1, 2, 4]))
    ', the right numbers plus 2.5'
    """
    found, wanted = np.asarray(found), np.asarray(wanted)
    if found.dtype.kind not in "iuf" or wanted.dtype.kind not in "iuf" or not wanted.size:
        return ""
    right = wanted.astype("float64")
    if not (np.isfinite(right).all() and np.isfinite(found).all()):
        return ""
    with np.errstate(all="ignore"):  # of very large numbers
        ways = {
            " (did // round it down?)": np.floor(right),
            ", with the opposite sign": -right,
            ", twice as much": 2 * right,
            ", half as much": right / 2,
            ", in reverse order": right[::-1] if right.ndim else right,
            ", transposed": right.swapaxes(-1, -2) if right.ndim > 1 else right,
        }
        if len(np.unique(right[right != 0])) > 1 and right.size > 2 and found.any():
            factor = (found * right).sum() / (right**2).sum()
            plus = np.mean(found - right)
            ways |= {
                f", {factor:.3g} times the right numbers": factor * right,
                f", the right numbers plus {plus:.3g}": right + plus,
            }
    if right.ndim and not np.floor(right).any():  # zeros: perhaps nothing was written
        del ways[" (did // round it down?)"]
    for words, way in ways.items():
        if alike(found, way, 1e-5, 1e-9) and not alike(found, right, 1e-3, 1e-6):
            return words
    return ""


def part_that_is_right(found, wanted):
    """What is right of a wrong array, to end a message without a cause; "" if that is not
    seen.

    >>> part_that_is_right(np.array([1, 2, 0, 0]), np.array([1, 2, 3, 4]))
    'Only the first 2 of 4 are right'
    >>> part_that_is_right(np.array([2, 1]), np.array([1, 2]))
    'These are the right numbers in another order'
    """
    if found.dtype.kind not in "iuf" or not wanted.ndim or len(wanted) < 2:
        return ""
    if not found.any():
        return "All of it is 0: was nothing written, or a share rounded down by //?"
    if alike(np.sort(found, None), np.sort(wanted, None), 1e-5, 1e-9):
        return "These are the right numbers in another order"
    close = np.isclose(found, wanted, 1e-5, 1e-9, equal_nan=True).reshape(len(wanted), -1)
    rows, count = close.all(axis=1), int(close.all(axis=1).argmin())
    is_seen = count and not rows[count:].any()
    return f"Only the first {count} of {len(wanted)} are right" if is_seen else ""


def because(cause):
    """A likely cause as the end of a message: behind a colon, or as a sentence.

    >>> because("did you square?"), because("Use a loop"), because("")
    (': did you square?', '. Use a loop', '')
    """
    if not cause:
        return ""
    return f"{'. ' if cause[0].isupper() else ': '}{cause}"


def shown(numbers, digits=6):
    """Numbers for a message: as nested lists, with at most so many digits each.

    >>> shown([[1.0, 2 / 3], [4, np.nan]])
    '[[1, 0.666667], [4, nan]]'
    """
    array = np.asarray(numbers)
    if array.dtype.kind != "f":
        return str(array.tolist())
    text = np.vectorize(lambda x: f"{x:.{digits}g}", otypes=[object])(array)
    return str(text.tolist()).replace("'", "")


def equal(found, wanted, case, cause=""):
    """Assert that a value of Python's (a number, a text, a list of them) equals `wanted`.

    >>> equal((2, 3), [2, 3], "the shape", "a tuple is no list")
    Traceback (most recent call last):
    AssertionError: the shape should be [2, 3], yours is (2, 3): a tuple is no list
    >>> equal([2.0], [2], "the sizes")
    Traceback (most recent call last):
    AssertionError: the sizes should be [2], yours is [2.0]: whole numbers, as int
    """
    kinds = (tuple, list, dict, str, type(None))
    kind = type(wanted) if isinstance(wanted, kinds) else object
    is_equal = isinstance(found, kind) and found == wanted
    if is_equal and has_other_numbers(found, wanted):
        is_equal, cause = False, "whole numbers, as int"
    seen = "" if is_equal or isinstance(wanted, kinds) else pattern(found, wanted)
    if not (is_equal or cause) and type(found) is type(wanted) is list:
        in_order = [sorted(map(repr, values)) for values in (found, wanted)]
        cause = "the right values in another order" * (in_order[0] == in_order[1])
    assert is_equal, f"{case} should be {wanted!r}, yours is {found!r}{seen}{because(cause)}"


def has_other_numbers(found, wanted):
    """Whether one of two equal values has something else where the other has whole numbers."""
    if type(wanted) is int:
        return np.asarray(found).dtype.kind not in "iu"
    if isinstance(wanted, dict):
        return any(has_other_numbers(found[key], other) for key, other in wanted.items())
    if isinstance(wanted, (tuple, list)):
        return any(has_other_numbers(one, other) for one, other in zip(found, wanted))
    return False


def refused(call, case, kind=ValueError, contains=(), cause=""):
    """Assert that a call raises an error of this kind, or of one of these, and that its message
    contains these texts. `case` is what the call was given. Returns the message, in which
    np.int64(1) is written as 1.

    >>> refused(lambda: [].pop(), "[]", IndexError, ["empty"])
    'pop from empty list'
    >>> refused(lambda: [].pop(), "[]", IndexError, ["empty", "at 0"])
    Traceback (most recent call last):
    AssertionError: [] should raise an error that contains 'at 0'; yours says: pop from empty \
list
    >>> refused(lambda: int("15"), "15", cause="is it a number?")
    Traceback (most recent call last):
    AssertionError: 15 should raise ValueError; yours gives 15: is it a number?
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    try:
        out = call()
    except NotImplementedError:
        raise  # an exercise that is not written yet; it is a RuntimeError, too
    except kinds as error:
        text = re.sub(r"np\.\w+\((-?[\w.]+)\)", r"\1", str(error))
        lacking = [repr(str(part)) for part in contains if str(part) not in text]
        assert not lacking, (
            f"{case} should raise an error that contains {', '.join(lacking)}; yours says: "
            f"{text}{because(cause)}"
        )
        return text
    except Exception as error:
        out = f"raises {type(error).__name__}: {error}"
    else:
        out = f"gives {out}"
    names = " or ".join(kind.__name__ for kind in kinds)
    assert False, f"{case} should raise {names}; yours {out}{because(cause)}"


# What wrong code usually raises.
USUAL_ERRORS = (ValueError, IndexError, TypeError, AttributeError, KeyError)


def result_of(call, case, cause="", kind=USUAL_ERRORS):
    """What a call returns. An error of this kind, or of one of these, becomes a message with
    its likely cause.

    cause  or {words of the error: the likely cause of such an error}

    >>> result_of(lambda: [1, 2].shape, "the list")
    Traceback (most recent call last):
    AssertionError: the list: yours raises AttributeError: 'list' object has no attribute \
'shape'. Put Tensor(...) around the list
    >>> result_of(lambda: [1, 2].index(3), "the list", {"not in list": "is 3 in it?"})
    Traceback (most recent call last):
    AssertionError: the list: yours raises ValueError: 3 is not in list: is 3 in it?
    """
    try:
        return call()
    except NotImplementedError:
        raise
    except kind as error:
        complaint = str(error).strip().removesuffix(".")
        if isinstance(cause, dict):
            cause = next((text for words, text in cause.items() if words in complaint), "")
        case = case.removesuffix(",")
        if not cause and NO_TENSOR.search(complaint):
            cause = "Put Tensor(...) around the list"
        assert False, (
            f"{case}: yours raises {type(error).__name__}: {complaint}{because(cause)}"
        )


def tensor(out, call):
    """`out`, which should be a Tensor, as `call` promises."""
    assert out is not None, f"{call} returned None: is `return` missing?"
    assert hasattr(out, "requires_grad"), (
        f"{call} should return a Tensor, yours returned {type(out).__name__}: {out}"
    )
    return out


def gradient_by_differences(f, x, g, step=1e-5):
    """The gradient of sum(f(x) * g) with respect to the array x, by central differences.

    >>> gradient_by_differences(lambda x: x**2, np.array([3, -1]), np.array([1, 10])).round(6)
    array([  6., -20.])
    """
    gradient = np.zeros(np.shape(x))
    for at in np.ndindex(*gradient.shape):
        up, down = np.array(x, "float64"), np.array(x, "float64")
        up[at] += step
        down[at] -= step
        gradient[at] = np.sum((f(up) - f(down)) * g) / (2 * step)
    return gradient


# For the learner's side.


def recorded_derivative(out, x, direction=1.0):
    """How fast `out` changes when the Tensor `x` moves in a direction.

    It applies the chain rule to the recorded operations. At kinks it uses the conventions of
    this library and of PyTorch. Direction 1 gives the derivative of an elementwise function.
    """
    if out is x:
        return np.broadcast_to(direction, x.shape)
    if getattr(out, "creator", None) is None:
        return np.zeros(np.shape(out))
    node = out.creator
    arrays = [np.asarray(part, "float64") for part in node.inputs]
    parts = [recorded_derivative(part, x, direction) for part in node.inputs]
    name, a = getattr(node.op, "__name__", ""), arrays[0]
    if name in ("maximum", "minimum"):
        share = np.where(a == arrays[1], 0.5, (a > arrays[1]) == (name == "maximum"))
        return share * parts[0] + (1 - share) * parts[1]
    if name == "absolute":
        return np.sign(a) * parts[0]
    if name == "relu_forward":
        return (a > 0) * parts[0]
    if name == "clip_forward":
        return (out.data == a) * parts[0]
    if name == "where":
        return np.where(a != 0, parts[1], parts[2])
    h = 1e-5  # every other operation is smooth
    up, down = [
        node.op(*[a + h * sign * part for a, part in zip(arrays, parts)], **node.options)
        for sign in (1, -1)
    ]
    return (up - down) / (2 * h)


def refusal(action, *given, **named):
    """The name of the error that a call raises, and its message, or two empty texts. An error
    of a more special class, such as UnicodeError, has the name of the usual one: ValueError.

    >>> refusal("é".encode, "ascii")[0]
    'ValueError'
    """
    try:
        action(*given, **named)
    except Exception as error:
        usual = (kind for kind in USUAL_ERRORS if isinstance(error, kind))
        return next(usual, type(error)).__name__, str(error)
    return "", ""

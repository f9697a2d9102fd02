# The checks of lesson 04, by exercise. `check("target")` in the chapter runs the visible ones.

# %% setup
import re

import numpy as np

from tinytorch.core.tensor import Tensor


def plain(error):
    """The text of an error, with (np.int64(1),) written as (1,)."""
    return re.sub(r"np\.\w+\((-?[\w.]+)\)", r"\1", str(error))


def lacks(error, *parts):
    """Which of these texts the error does not contain, all in one sentence; else nothing."""
    return ", ".join(repr(part) for part in parts if part not in plain(error))


def tensor(out, call):
    """`out`, which should be a Tensor, as `call` promises."""
    assert out is not None, f"{call} returned None: is `return` missing?"
    assert hasattr(out, "requires_grad"), (
        f"{call} should return a Tensor, yours returned {type(out).__name__}: {out}"
    )
    return out


def asked(error):
    """The text of an error of check_labels; of `or` between arrays, what to write instead."""
    if "truth value" not in str(error):
        return plain(error)
    return "`or` and `and` need one truth value each, an array has many: write | and & instead"


def factor(found, wanted, count, of):
    """Words about a mean that is `count` times too large or too small, else nothing."""
    for times, words in ((count, "too large: divide by"), (1 / count, "too small: not by")):
        if count > 1 and np.isclose(found, wanted * times, rtol=1e-5):
            return f", {count} times {words} {of}"
    return ""


# %% learner-side
def recorded_derivative(out, x):
    """The derivative of `out`, an elementwise function of the Tensor `x`, by the chain rule
    over its recorded operations; at kinks with the conventions of this library and PyTorch.
    """
    if out is x:
        return np.ones(x.shape)
    if not isinstance(out, Tensor) or out.creator is None:
        return np.zeros(np.shape(out))
    node = out.creator
    arrays = [np.asarray(part, "float64") for part in node.inputs]
    parts = [recorded_derivative(part, x) for part in node.inputs]
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


def target_after_writing(prediction, target):
    """as_target(prediction, target), read after 50 was written into the array `target`."""
    found = as_target(prediction, target)
    target[0] = 50
    return found


# %% target points=3
def test_only_equal_shapes_are_compared():
    for ours, theirs in [
        ((3, 1), (3,)),
        ((3,), (3, 1)),
        ((2, 3), (3,)),
        ((4, 1), (1, 4)),
        ((2, 3), (3, 2)),
        ((5,), ()),
        ((1, 4), (4,)),
        ((1,), ()),
        ((2, 3), (6,)),
        ((2, 3, 1), (2, 3)),
    ]:
        prediction, target = Tensor(np.ones(ours, "float32")), np.ones(theirs, "float32")
        try:
            found = as_target(prediction, target)
        except ValueError as error:
            assert str(ours) in plain(error) and str(theirs) in plain(error), (
                f"the error should name both shapes, {ours} and {theirs}, yours: {error}"
            )
            assert "operands" not in plain(error), (
                f"compare the shapes yourself; this is NumPy's error: {error}"
            )
        else:
            assert False, (
                f"a prediction of shape {ours} and a target of shape {theirs} must be refused, "
                f"even if they broadcast; yours gives shape {np.asarray(found).shape}"
            )


def test_a_target_may_be_a_list_an_array_or_a_tensor():
    prediction = Tensor([[0.5, 2.0, 4.0], [1.0, -3.0, 0.25]])
    numbers = [[1, 0, 7], [-2, 5, 3]]
    for name, target in [
        ("a list", numbers),
        ("an int64 array", np.array(numbers)),
        ("a Tensor", Tensor(numbers)),
        ("a float16 array", np.array(numbers, "float16")),
        ("a Tensor with gradient", Tensor(numbers, requires_grad=True)),
    ]:
        try:
            found = as_target(prediction, target)
        except (TypeError, AttributeError) as error:
            assert False, f"{name} should be accepted as a target, yours raises: {error}"
        assert np.array_equal(np.asarray(found), numbers), (
            f"the target {numbers} as {name} should keep its values, yours are {found}"
        )
    single = as_target(Tensor(2.5), 4)
    assert np.asarray(single).shape == () and float(single) == 4, (
        f"a single number is a target, too, yours gives {single}"
    )


def test_the_prediction_decides_the_dtype():
    for mine in ("float32", "float64", "float16"):
        for given in ("float64", "float32", "int64", "uint8", "bool"):
            target = np.array([1, 0, 1], given)
            found = as_target(Tensor(np.array([0.5, 2.0, 4.0], mine)), target)
            assert found.dtype.name == mine, (
                f"a {given} target for a {mine} prediction should become {mine}, yours is "
                f"{found.dtype}"
            )
    kept = np.array([2.0, 5.0], "float32")
    found = target_after_writing(Tensor([0.5, 0.5]), kept)
    assert np.array_equal(np.asarray(found), [2, 5]), (
        f"50 was written into the caller's target afterwards, and yours became {found}: copy it"
    )


# %% target hidden points=1
def test_as_target_on_other_shapes_and_dtypes():
    random = np.random.default_rng(41)
    for shape in [(4,), (1, 1), (0, 3), (2, 1, 3, 2)]:
        for mine, given in [
            ("float16", "float64"),
            ("float64", "int8"),
            ("float32", "uint64"),
            ("float32", "float32"),
        ]:
            prediction = Tensor(random.normal(size=shape).astype(mine))
            target = random.integers(0, 9, shape).astype(given)
            before = target.copy()
            for form in (target, Tensor(target)):
                found = as_target(target=form, prediction=prediction)
                assert (
                    isinstance(found, np.ndarray)
                    and found.dtype.name == mine
                    and np.array_equal(found, before)
                ), (
                    f"{mine} {shape} against {given} {before}: that as {mine} ndarray expected,"
                    f" got {found!r}"
                )
            assert np.array_equal(target, before), (
                f"{shape}: the target was changed to {target}"
            )
    found = as_target(Tensor([[[0.5], [0.25]]]), [[[1], [-1e-30]]])
    assert np.array_equal(np.asarray(found), np.array([[[1], [-1e-30]]], "float32")), (
        f"1 and -1e-30, got {found}"
    )
    for ours, theirs in [
        ((1, 1), (1,)),
        ((), (1,)),
        ((0, 3), (3, 0)),
        ((0,), (0, 1)),
        ((2, 1, 3), (2, 2, 3)),
        ((2, 3, 4), (4, 3, 2)),
        ((7, 1, 1), (7, 1)),
    ]:
        try:
            found = as_target(
                Tensor(np.ones(ours, "float32")), Tensor(np.ones(theirs, "float32"))
            )
        except ValueError as error:
            assert str(ours) in plain(error) and str(theirs) in plain(error), (
                f"{ours} and {theirs}: the error is {error}"
            )
        else:
            assert False, f"{ours} and {theirs}: ValueError expected, got {np.asarray(found)}"


# %% reduction points=4
def test_mean_and_sum_reduce_every_element():
    losses = np.array([[[0.5, 2.0, 7.0], [1.0, 0.0, 1.5]]], "float32")
    for shape in [(1, 2, 3), (2, 3), (6, 1), (6,)]:
        for reduction, wanted in [("mean", 2.0), ("sum", 12.0)]:
            out = reduce_losses(Tensor(losses.reshape(shape)), reduction)
            tensor(out, f"reduce_losses(losses, {reduction!r})")
            assert out.shape == (), (
                f"the {reduction} of losses of shape {shape} is one number of shape (), yours "
                f"has shape {out.shape}"
            )
            assert float(out) == wanted, (
                f"the {reduction} of {losses.ravel()}, as shape {shape}, is {wanted}, yours is "
                f"{float(out)}{factor(float(out), wanted, 6 // shape[0], 'all elements')}"
            )
            assert out.dtype.name == "float32", (
                f"float32 losses have a float32 {reduction}, yours is {out.dtype}"
            )
    assert float(reduce_losses(Tensor([0.5, 1.0, 6.0]))) == 2.5, (
        "the default reduction is the mean"
    )
    assert float(reduce_losses(Tensor(3.5), "mean")) == 3.5, "a single loss is its own mean"


def test_none_returns_the_losses_themselves():
    losses = np.array([[0.5, 2.0, 7.0], [1.0, 0.0, 1.5]], "float32")
    out = reduce_losses(Tensor(losses), "none")
    assert out.shape == (2, 3) and np.array_equal(out.data, losses), (
        f"'none' should return the losses as they are, {losses}, yours returns {out}"
    )
    assert reduce_losses(Tensor(losses[:0]), "none").shape == (0, 3), (
        "'none' of no losses of shape (0, 3) should keep that shape"
    )
    total = reduce_losses(Tensor(losses), "sum")
    assert np.array_equal(total.data, 12), (
        f"the sum of {losses.ravel()} is 12, yours gives {total}"
    )


def test_unknown_reductions_and_empty_means_are_refused():
    for reduction in ("avg", "Mean", "", None, "batchmean"):
        try:
            out = reduce_losses(Tensor([0.5, 2.0]), reduction)
        except ValueError as error:
            lacking = lacks(error, repr(reduction), "mean", "sum", "none")
            assert not lacking, (
                f"reduction {reduction!r}: the error should contain {lacking}, as the "
                f"docstring says, yours: {error}"
            )
        else:
            assert False, (
                f"{reduction!r} is none of 'mean', 'sum' and 'none', yours gives {out}"
            )
    for shape in [(0,), (0, 4)]:
        empty = Tensor(np.ones(shape, "float32"))
        try:
            out = reduce_losses(empty, "mean")
        except ValueError as error:
            lacking = lacks(error, str(shape), "empty")
            assert not lacking, (
                f"the mean of losses of shape {shape}: the error should contain {lacking}, as "
                f"the docstring says, yours: {error}"
            )
        else:
            assert False, (
                f"the mean of no losses is 0 / 0; refuse shape {shape} instead of giving {out}"
            )
        assert float(reduce_losses(empty, "sum")) == 0, (
            f"the sum of no losses is 0, yours is {reduce_losses(empty, 'sum')}"
        )


def test_a_reduced_loss_is_recorded():
    losses = Tensor([[0.5, 2.0, 7.0]], requires_grad=True)
    for reduction, wanted in (("mean", 9.5 / 3), ("sum", 9.5), ("none", [[0.5, 2.0, 7.0]])):
        out = reduce_losses(losses, reduction)
        assert out.requires_grad is True, (
            f"the losses have requires_grad=True, their {reduction!r} has not: compute with "
            f"the "
            "Tensor, not with its .data"
        )
        assert np.allclose(np.asarray(out), wanted), (
            f"{reduction} of 0.5, 2, 7 should be {wanted}, yours is {out}"
        )


# %% reduction hidden points=1
def test_reduce_losses_on_other_ranks_and_dtypes():
    for shape, dtype in [
        ((5,), "float64"),
        ((1, 1, 1, 1), "float32"),
        ((2, 1, 5, 3), "float32"),
        ((4, 2), "float16"),
    ]:
        numbers = (np.arange(np.prod(shape)) ** 2 - 9.0).reshape(shape).astype(dtype)
        losses = Tensor(numbers, requires_grad=True)
        total = float(sum(numbers.ravel().tolist()))
        for word, right in [("sum", total), ("mean", total / numbers.size), ("none", numbers)]:
            out = reduce_losses(reduction=word, losses=losses)
            assert (
                out.shape == np.shape(right) and out.dtype.name == dtype and out.requires_grad
            ), (
                f"{word!r} of {dtype} {shape}: {dtype} {np.shape(right)} with a gradient "
                f"expected, got {out}"
            )
            assert np.allclose(out.data, right, rtol=2e-3 if dtype == "float16" else 1e-6), (
                f"{word!r} of {numbers}: {right} expected, got {out.data}"
            )
    for word in ("SUM", "none ", "average", "max"):
        try:
            out = reduce_losses(Tensor([[3.0], [4.0]]), word)
        except ValueError as error:
            assert repr(word) in plain(error), f"{word!r}: the error is {error}"
        else:
            assert False, f"{word!r}: ValueError expected, got {out}"
    for shape in [(3, 0), (2, 0, 4), (0, 1)]:
        empty = Tensor(np.ones(shape))
        assert (
            float(reduce_losses(empty, "sum")) == 0
            and reduce_losses(empty, "none").shape == shape
        ), f"sum and none of {shape}"
        try:
            out = reduce_losses(empty)
        except ValueError as error:
            assert str(shape) in plain(error), f"{shape}: the error is {error}"
        else:
            assert False, f"the mean of {shape}: ValueError expected, got {out}"


# %% mse points=4
def test_squared_errors_of_known_numbers():
    prediction, target = (
        [[1.0, 2.0, -3.0], [0.5, 0.0, 4.0]],
        [[1.0, 4.0, -2.0], [-2.5, 0.0, 3.5]],
    )
    squares = np.array([[0, 4, 1], [9, 0, 0.25]])
    for reduction, wanted in [("none", squares), ("sum", 14.25), ("mean", 2.375)]:
        out = mse_loss(Tensor(prediction), Tensor(target), reduction)
        assert tensor(out, "mse_loss(...)").shape == np.shape(wanted), (
            f"{reduction!r} has shape {np.shape(wanted)}, yours {out.shape}"
        )
        cause = factor(out.data, wanted, 3, "all 6 elements") if reduction == "mean" else ""
        assert np.array_equal(out.data, wanted), (
            f"{reduction!r} of the squares {squares.tolist()} should be {wanted}, yours is "
            f"{out.data}{cause}"
        )
    out = float(mse_loss(Tensor(prediction), Tensor(target)))
    assert out == 2.375, f"the default is the mean over all 6 elements, 2.375, yours is {out}"


def test_a_column_against_a_row_is_refused():
    try:
        out = mse_loss(Tensor([[1.0], [2.0], [3.0]]), [1.0, 2.0, 3.0])
    except ValueError as error:
        assert "(3, 1)" in plain(error) and "(3,)" in plain(error), (
            f"the error should name (3, 1) and (3,), yours: {error}"
        )
    else:
        assert False, (
            f"(3, 1) and (3,) broadcast to (3, 3), so a perfect prediction gets the loss {out}:"
            " let as_target check the shapes"
        )


def test_no_dtype_wraps_around_or_widens():
    pixels, target = np.array([3, 250, 7], "uint8"), np.array([5, 10, 7], "uint8")
    out = mse_loss(pixels, target, "none")
    assert np.array_equal(np.asarray(out), [4, 57600, 0]), (
        f"uint8 3 against 5 and 250 against 10 are 4 and 57600, yours {out}: in uint8 "
        "3 - 5 is 254, convert to floating point first"
    )
    for dtype in ("float32", "float64", "float16"):
        out = mse_loss(Tensor(np.array([1.0, 2.0], dtype)), np.array([0.5, 0.0]))
        assert out.dtype.name == dtype, (
            f"a {dtype} prediction has a {dtype} loss, yours is {out.dtype}: use as_target"
        )
        assert float(out) == 2.125, (
            f"the loss of [1, 2] for [0.5, 0] is 2.125, yours is {float(out)}"
        )


def test_the_squared_error_is_recorded_and_changes_nothing():
    prediction, target = (
        Tensor([[1.0, 2.0, 4.0]], requires_grad=True),
        np.array([[3.0, 2.0, 5.0]], "float32"),
    )
    for reduction in ("mean", "sum", "none"):
        assert mse_loss(prediction, target, reduction).requires_grad, (
            "the prediction has requires_grad=True, the loss has not: use Tensor operations"
        )
    found = mse_loss(prediction, target, "sum")
    assert np.array_equal(found.data, 5), (
        f"(1 - 3)**2 + (2 - 2)**2 + (4 - 5)**2 is 5, yours is {found}"
    )
    assert np.array_equal(prediction.data, [[1, 2, 4]]), (
        f"mse_loss changed the prediction to {prediction.data}"
    )
    assert np.array_equal(target, [[3, 2, 5]]), f"mse_loss changed the target to {target}"
    plain = mse_loss(Tensor([1.0, 2.0]), Tensor([0.5, 0.0], requires_grad=True))
    assert not plain.requires_grad, (
        "only the target has requires_grad=True, and a target gets no gradient: use as_target"
    )


# %% mse hidden points=1
def test_squared_errors_of_other_inputs():
    random = np.random.default_rng(43)
    for shape in [(7,), (1, 1), (3, 1, 4), (2, 3, 1, 5), ()]:
        prediction, target = [
            np.asarray(random.normal(size=shape) * size) for size in (1000, 1)
        ]
        right = (prediction - target) ** 2
        for word, wanted in [("none", right), ("sum", right.sum()), ("mean", right.mean())]:
            out = mse_loss(target=target.tolist(), prediction=prediction, reduction=word)
            assert out.shape == np.shape(wanted) and np.allclose(out.data, wanted, rtol=1e-6), (
                f"{word!r} of {prediction} against {target}: {wanted} expected, got {out}"
            )
    dark, bright = np.array([0, 255], "uint8"), np.array([255, 0], "uint8")
    for prediction, target, right in [
        ([3, -4], [0.5, 0], [6.25, 16]),
        (dark, Tensor(bright), [65025, 65025]),
        (Tensor([[200, 7]]), [[0.5, 7]], [[39800.25, 0]]),
        (np.zeros((0, 2), "float32"), np.zeros((0, 2)), np.zeros((0, 2))),
    ]:
        out = mse_loss(prediction, target, "none")
        assert out.dtype.name == "float32" and np.array_equal(out.data, right), (
            f"{prediction} against {target}: float32 {right} expected, got {out}"
        )
    for ours, theirs in [
        ((1, 4), (4,)),
        ((2, 3), (2, 1)),
        ((5,), ()),
        ((1, 1), (1,)),
        ((3, 2), (2, 3)),
    ]:
        try:
            out = mse_loss(np.ones(ours), np.ones(theirs))
        except ValueError as error:
            assert str(ours) in plain(error) and str(theirs) in plain(error), (
                f"{ours} and {theirs}: the error is {error}"
            )
        else:
            assert False, f"{ours} and {theirs}: ValueError expected, got {out}"


# %% bce points=8
def test_binary_cross_entropy_of_known_probabilities():
    logits = np.log(
        np.array([[0.25 / 0.75, 0.8 / 0.2, 0.5 / 0.5], [0.1 / 0.9, 0.6 / 0.4, 0.75 / 0.25]])
    )
    target = [[1, 1, 0], [0, 0, 1]]
    wanted = -np.log([[0.25, 0.8, 0.5], [0.9, 0.4, 0.75]])
    found = binary_cross_entropy_with_logits(Tensor(logits), target, "none")
    assert found.shape == (2, 3), f"'none' keeps the shape (2, 3), yours is {found.shape}"
    assert np.allclose(found.data, wanted, rtol=1e-9, atol=0), (
        f"probabilities .25 .8 .5 / .1 .6 .75 of yes, outcomes {target}: the losses are "
        f"{wanted}, yours are {found.data}"
    )
    for reduction, number in [("mean", wanted.mean()), ("sum", wanted.sum())]:
        out = float(binary_cross_entropy_with_logits(Tensor(logits), target, reduction))
        assert abs(out - number) < 1e-9, (
            f"the {reduction} over 6 elements is {number}, yours is {out}"
            f"{factor(out, number, 3, 'all 6 elements')}"
        )
    out = float(binary_cross_entropy_with_logits(Tensor(logits), target))
    assert abs(out - wanted.mean()) < 1e-9, (
        f"the default is the mean, {wanted.mean()}, yours is {out}"
    )


def test_huge_logits_have_finite_losses():
    z = np.array([1000.0, 1000.0, -1000.0, -1000.0, 100.0, -100.0, 20.0, -20.0], "float32")
    y = np.array([0, 1, 0, 1, 0, 1, 0, 1], "float32")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = binary_cross_entropy_with_logits(Tensor(z), y, "none").data
    wanted = [1000, 0, 0, 1000, 100, 100, 20, 20]
    assert np.isfinite(found).all(), (
        f"logits {z} give {found}: something overflowed; exp(-|z|) cannot"
    )
    assert np.allclose(found, wanted, rtol=1e-6, atol=1e-6), (
        f"logits {z}, outcomes {y}: losses {wanted}, yours {found}"
    )


def test_the_loss_is_not_flat_where_the_network_is_sure_and_wrong():
    z = np.array([0.0, 17.0, 20.0, 30.0], "float32")
    found = binary_cross_entropy_with_logits(Tensor(z), np.zeros(4), "none").data
    assert np.allclose(found[0], np.log(2), rtol=1e-5), (
        f"for y = 0 and z = 0 the loss is log 2, yours {found[0]}"
    )
    steps = found[2:] - found[1:-1]
    assert np.allclose(steps, [3, 10], rtol=1e-4, atol=0), (
        f"for y = 0 the loss grows like z: from 17 to 20 by 3, to 30 by 10, yours by {steps}. A"
        " clipped probability is flat there: its derivative is 0, and nothing is learned"
    )


def test_targets_may_be_probabilities():
    z, y = (
        np.array([[-2.0, 0.5], [3.0, -0.25], [0.0, 1.5]]),
        np.array([[0.25, 0.9], [0.5, 0.0], [0.3, 1.0]]),
    )
    p = 1 / (1 + np.exp(-z))
    wanted = -y * np.log(p) - (1 - y) * np.log(1 - p)
    found = binary_cross_entropy_with_logits(Tensor(z), y, "none").data
    assert np.allclose(found, wanted, rtol=1e-9, atol=0), (
        f"logits {z}, targets {y}: the losses are {wanted}, yours {found}: both terms count, "
        "weighted by y and 1 - y"
    )


def test_swapping_yes_and_no_keeps_the_loss():
    z, y = np.array([-2.0, 0.5, 3.0, -0.25]), np.array([1.0, 0.2, 0.0, 0.7])
    one = binary_cross_entropy_with_logits(Tensor(z), y, "none").data
    other = binary_cross_entropy_with_logits(Tensor(-z), 1 - y, "none").data
    assert np.allclose(one, other, rtol=1e-9, atol=0), (
        f"yes with logit z, or no with -z: the losses must agree, yours are {one} and {other}"
    )
    even = binary_cross_entropy_with_logits(Tensor([0.0, 0.0]), [0, 1], "none").data
    assert np.allclose(even, 0.6931472, rtol=1e-6, atol=0), (
        f"at logit 0 the loss is log 2 = 0.6931 nats for yes and for no, yours {even}: is it "
        "the natural logarithm?"
    )


def test_the_derivative_is_right_at_the_kink():
    y = np.array([0.0, 1.0, 0.3, 0.0, 1.0])
    z = np.array([0.0, 0.0, 0.0, 2.0, -3.0])
    logits = Tensor(z, requires_grad=True)
    out = binary_cross_entropy_with_logits(logits, y, "none")
    found, wanted = recorded_derivative(out, logits), 1 / (1 + np.exp(-z)) - y
    assert np.allclose(found[3:], wanted[3:], atol=1e-6), (
        f"the derivative at z = 2, -3 for y = 0, 1 is sigmoid(z) - y = {wanted[3:]}, the "
        f"operations that you recorded have {found[3:]}: compute with the Tensor"
    )
    assert np.allclose(found, wanted, atol=1e-6), (
        f"the derivative at z = 0 for y = 0, 1, 0.3 is 1/2 - y = {wanted[:3]}, the operations "
        f"that you recorded have {found[:3]}: relu counts as 0 at its kink, and must count as "
        "1/2 here; (z + |z|) / 2 does"
    )


def test_wrong_targets_and_shapes_are_refused():
    good = np.zeros((2, 3), "float32")
    for value, index in [(-1.0, (1, 0)), (1.5, (0, 2)), (np.nan, (1, 2))]:
        target = np.ones((2, 3), "float32")
        target[index] = value
        try:
            out = binary_cross_entropy_with_logits(Tensor(good), target)
        except ValueError as error:
            assert str(value) in plain(error) and str(index) in plain(error), (
                f"the error should name {value} and its index {index}, yours: {error}"
            )
        else:
            assert False, (
                f"a target of {value} is no probability, yours gives {out}: call "
                "check_probabilities"
            )
    try:
        out = binary_cross_entropy_with_logits(Tensor([[0.5], [2.0], [1.0]]), [0, 1, 1])
    except ValueError as error:
        assert "(3, 1)" in plain(error) and "(3,)" in plain(error), (
            f"the error should name (3, 1) and (3,), yours: {error}"
        )
    else:
        assert False, f"(3, 1) against (3,) must be refused, yours gives {out}: use as_target"


def test_binary_losses_are_recorded_and_keep_their_dtype():
    for dtype in ("float32", "float64", "float16"):
        logits, target = (
            Tensor(np.array([1.5, -2.0, 0.0], dtype), requires_grad=True),
            np.array([0.0, 1.0, 1.0]),
        )
        for reduction in ("mean", "sum", "none"):
            out = binary_cross_entropy_with_logits(logits, target, reduction)
            assert out.requires_grad, (
                "the logits have requires_grad=True, the loss has not: use Tensor operations"
            )
            assert out.dtype.name == dtype, (
                f"{dtype} logits have a {dtype} loss, yours is {out.dtype}: use as_target"
            )
        assert np.array_equal(logits.data, [1.5, -2, 0]), (
            f"the loss changed the logits to {logits.data}"
        )
        assert np.array_equal(target, [0, 1, 1]), f"the loss changed the target to {target}"
    whole = binary_cross_entropy_with_logits(np.array([3, 0], "uint8"), [0, 1], "none").data
    assert np.allclose(whole, [3.0485873, 0.6931472], rtol=1e-6, atol=0), (
        f"uint8 logits 3 and 0 have the losses 3.0486 and 0.6931, yours {whole}: in uint8 -3 "
        f"is "
        "253, convert to floating point first"
    )


# %% bce hidden points=2
def test_binary_losses_of_other_inputs():
    random = np.random.default_rng(47)
    for shape, size in [
        ((6,), 1),
        ((2, 1, 4), 30),
        ((1, 1), 500),
        ((3, 2, 1, 5), 1e4),
        ((0, 2), 1),
        ((), 3),
    ]:
        z, y = (
            np.asarray(random.normal(size=shape) * size),
            np.asarray(random.uniform(size=shape)),
        )
        right = np.logaddexp(0, z) - z * y
        words = [("none", right), ("sum", right.sum())] + (
            [("mean", right.mean())] if right.size else []
        )
        for word, wanted in words:
            out = binary_cross_entropy_with_logits(
                target=Tensor(y), logits=Tensor(z), reduction=word
            )
            assert out.shape == np.shape(wanted) and out.dtype.name == "float64", (
                f"{word!r} of {shape}: got {out}"
            )
            assert np.allclose(out.data, wanted, rtol=1e-9, atol=1e-9), (
                f"{word!r}, logits {z}, targets {y}: {wanted} expected, got {out.data}"
            )
    whole = binary_cross_entropy_with_logits([[2, -5]], [[True, False]], "none")
    assert whole.dtype.name == "float32" and np.allclose(
        whole.data, [[0.1269280, 0.0067153]], rtol=1e-4
    ), f"integers 2 for yes, -5 for no: float32 [[0.12693, 0.00672]] expected, got {whole}"


def test_other_binary_targets_are_refused():
    for value, shape, index in [
        (2.0, (4,), (3,)),
        (-0.25, (2, 1, 3), (1, 0, 2)),
        (np.inf, (1, 1), (0, 0)),
        (1.25, (), ()),
    ]:
        target = np.full(shape, 0.5)
        target[index] = value
        try:
            out = binary_cross_entropy_with_logits(Tensor(np.ones(shape)), target)
        except ValueError as error:
            assert str(value) in plain(error) and str(index) in plain(error), (
                f"{value} at {index}: the error is {error}"
            )
        else:
            assert False, f"a target of {value} at {index}: ValueError expected, got {out}"
    for ours, theirs in [((2, 1), (2,)), ((2, 3), (3,)), ((1,), ()), ((3, 2), (2, 3))]:
        try:
            out = binary_cross_entropy_with_logits(np.ones(ours), np.ones(theirs))
        except ValueError as error:
            assert str(ours) in plain(error) and str(theirs) in plain(error), (
                f"{ours} and {theirs}: the error is {error}"
            )
        else:
            assert False, f"{ours} and {theirs}: ValueError expected, got {out}"


# %% log-sum-exp points=4
def test_shift_and_sum_have_the_right_shapes():
    for shape in [(5,), (2, 3), (3, 2), (2, 3, 4), (4, 1), (1, 6), (0, 3)]:
        logits = np.random.default_rng(3).normal(size=shape)
        shifted, total = shifted_log_sum_exp(logits)
        assert np.shape(shifted) == shape, (
            f"shifted logits keep the shape {shape}, yours have {np.shape(shifted)}"
        )
        assert np.shape(total) == shape[:-1], (
            f"logits of shape {shape} have one log-sum-exp per row, shape {shape[:-1]}, yours "
            f"{np.shape(total)}"
        )
        for index in np.ndindex(shape[:-1]):
            row = [float(z) for z in logits[index]]
            wanted = np.array(row) - max(row)
            assert np.allclose(shifted[index], wanted, rtol=0, atol=1e-12), (
                f"the row {row} without its largest is {wanted}, yours {shifted[index]}"
            )
            wanted = np.log(sum(np.exp(z) for z in row)) - max(row)
            assert abs(float(total[index]) - wanted) < 1e-12, (
                f"row {row}: the log-sum-exp of the shifted row is {wanted:.6f}, yours "
                f"{total[index]}"
            )


def test_log_sum_exp_of_known_numbers():
    _, total = shifted_log_sum_exp(np.log([[1.0, 2.0, 5.0], [10.0, 30.0, 60.0]]))
    assert np.allclose(total, np.log([8 / 5, 100 / 60]), rtol=1e-12, atol=0), (
        "exp of the rows is 1 2 5 and 10 30 60, shifted .2 .4 1 and .167 .5 1: log 1.6 = "
        f"0.4700 and log 1.667 = 0.5108, yours {total}"
    )
    _, total = shifted_log_sum_exp(np.zeros((2, 7)))
    assert np.allclose(total, 1.9459101, rtol=1e-7, atol=0), (
        f"seven logits of 0 give log 7 = 1.9459, yours {total}"
    )


def test_each_row_is_shifted_by_its_own_maximum():
    logits = np.array(
        [
            [1000.0, 998.0, 0.0],
            [-1000.0, -1001.0, -999.0],
            [0.5, 0.0, -0.5],
            [90.0, 90.0, 90.0],
        ],
        "float32",
    )
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        shifted, total = shifted_log_sum_exp(logits)
    assert np.isfinite(total).all(), (
        f"logits around 1000, -1000, 0 and 90 give {total}: shift every row by its own largest "
        "logit"
    )
    wanted = [[0, -2, -1000], [-1, -2, 0], [0, -0.5, -1], [0, 0, 0]]
    assert np.array_equal(shifted, wanted), (
        f"each row's largest should become 0: {wanted}, yours {shifted}"
    )
    wanted = [0.1269280, 0.4076060, 0.6802697, 1.0986123]
    assert np.allclose(total, wanted, rtol=1e-6, atol=0), (
        f"the log-sum-exp of the shifted rows is {wanted}, yours {total}"
    )


def test_shifting_changes_neither_dtype_nor_input():
    for dtype in ("float32", "float64", "float16"):
        logits = np.array([[1.0, 4.0, -2.0]], dtype)
        shifted, total = shifted_log_sum_exp(logits)
        for name, found in [("shifted logits", shifted), ("log-sum-exp", total)]:
            assert found.dtype.name == dtype, (
                f"{dtype} logits have {dtype} {name}, yours are {found.dtype}"
            )
        assert np.allclose(total, 0.0509, rtol=3e-2, atol=0), (
            f"1, 4, -2 give 0.0509, yours {total}"
        )
        assert np.array_equal(logits, [[1, 4, -2]]), (
            f"the logits were changed to {logits}: do not use -= on an input"
        )
    _, masked = shifted_log_sum_exp(np.array([0.0, -np.inf, 0.0]))
    assert abs(float(masked) - 0.6931472) < 1e-6, (
        f"a logit of -inf excludes its class: log 2 is left, yours {masked}"
    )


# %% log-sum-exp hidden points=1
def test_log_sum_exp_of_other_shapes_and_magnitudes():
    random = np.random.default_rng(53)
    for shape, dtype in [
        ((9,), "float64"),
        ((4, 2), "float32"),
        ((2, 5, 1), "float32"),
        ((1, 3, 2, 4), "float64"),
        ((3, 0, 2), "float32"),
        ((2, 1, 2, 1, 3), "float64"),
    ]:
        size = 10.0 ** random.integers(-3, 5, (*shape[:-1], 1))
        logits = (
            random.normal(size=shape) * size + random.choice([-5000, 0, 5000], size.shape)
        ).astype(dtype)
        before = logits.copy()
        shifted, total = shifted_log_sum_exp(logits=logits)
        assert np.array_equal(logits, before), f"{shape}: the logits were changed"
        below = before - before.max(-1, keepdims=True)
        right = np.logaddexp.reduce(below.astype("float64"), -1)
        for name, found, wanted in [("shifted", shifted, below), ("log-sum-exp", total, right)]:
            found = np.asarray(found)
            assert found.shape == np.shape(wanted) and found.dtype.name == dtype, (
                f"{name} of {dtype} {shape}: {dtype} {np.shape(wanted)} expected, got "
                f"{found.dtype} {found.shape}"
            )
            assert np.allclose(found, wanted, rtol=1e-6, atol=1e-6), (
                f"{name} of {before}: {wanted}, got {found}"
            )
        assert (np.asarray(shifted) <= 0).all(), f"a shifted logit is above 0: {shifted}"
    shifted, total = shifted_log_sum_exp(
        np.array([[[-1e30, -1e30], [1e-3, -np.inf], [-7.0, 1e30]]])
    )
    assert np.allclose(np.asarray(total), [[np.log(2), 0, 0]], rtol=1e-9, atol=1e-12), (
        f"log 2, 0, 0, got {total}"
    )


# %% labels points=4
def test_every_class_number_is_accepted():
    for labels, shape in [
        ([0, 2, 1, 2], (4, 3)),
        ([[0, 6], [1, 4], [5, 3]], (3, 2, 7)),
        (4, (5,)),
        ([0, 0], (2, 1)),
        ([9, 0], (2, 10)),
    ]:
        try:
            found = check_labels(np.array(labels), shape)
        except ValueError as error:
            assert False, (
                f"labels {labels} are classes of logits of shape {shape}: 0 to "
                f"{shape[-1] - 1}. Yours refuses them: {asked(error)}"
            )
        assert found is None, f"check_labels should return None, yours returns {found!r}"
    try:
        check_labels(np.array([3]), (1, 3))
    except ValueError:
        return
    assert False, (
        "label 3 for logits of shape (1, 3) must be refused: there are classes 0, 1 and 2"
    )


def test_numbers_outside_the_classes_are_refused():
    for labels, shape in [
        ([1, 3, 0], (3, 3)),
        ([2, 0, -1], (3, 4)),
        ([0, -100], (2, 200)),
        ([[0, 1, 7]], (1, 3, 7)),
        (5, (5,)),
        ([1, 1], (2, 1)),
        ([3], (1, 3)),
        (-1, (2,)),
    ]:
        try:
            check_labels(np.array(labels), shape)
        except ValueError:
            continue
        assert False, (
            f"labels {labels} for logits of shape {shape} must be refused: the class numbers "
            f"are 0 to {shape[-1] - 1}, and NumPy would silently count a negative one from"
            " the end"
        )
    check_labels(np.array([1, 0]), (2, 3))  # these are classes


def test_labels_of_any_width_name_any_number_of_classes():
    shape = (2, 40_000)  # more than int16 holds
    for labels in (
        np.array([3, 100], "int8"),
        np.array([3, 200], "uint8"),
        np.array([32_000, 0], "int16"),
        np.array([39_999, 32_768], "uint16"),
        np.array([39_999, 0], "int32"),
        np.array([39_999, 0], "uint64"),
    ):
        try:
            check_labels(labels, shape)
        except (ValueError, OverflowError) as error:
            assert False, (
                f"{labels.dtype} labels {labels} are classes of logits of shape {shape}, yours "
                f"refuses them: {asked(error)}. Does 40,000 fit into {labels.dtype}?"
            )
    for labels in (np.array([40_000, 0], "uint16"), np.array([-1, 0], "int8")):
        try:
            check_labels(labels, shape)
        except ValueError:
            continue
        assert False, f"{labels.dtype} label {labels[0]} is no class of logits of shape {shape}"


def test_the_error_names_the_first_bad_label():
    for dtype in ("int64", "int8", "uint8"):
        big = 120 if dtype != "int64" else 4000
        for labels, shape, first, index in [
            ([0, 5, big, 9], (4, 5), 5, (1,)),
            ([[0, 1, 3], [2, big, 3]], (2, 3, 4), big, (1, 1)),
            (big, (7,), big, ()),
        ]:
            labels = np.array(labels, dtype)
            try:
                check_labels(labels, shape)
            except ValueError as error:
                shapes = str(labels.shape), str(shape)
                lacking = lacks(
                    error, f"label {first}", f"at {index}", *shapes, f"0 to {shape[-1] - 1}"
                )
                assert not lacking, (
                    f"labels {labels.tolist()}, logits {shape}: the error should contain "
                    f"{lacking}, as the docstring says, yours: {plain(error)}"
                )
            else:
                assert False, (
                    f"label {first} at {index} is no class of logits of shape {shape}: "
                    "refuse it"
                )


# %% labels hidden points=1
def test_other_labels_are_accepted_or_refused():
    for labels, shape in [
        (np.array([[[0]], [[6]]]), (2, 1, 1, 7)),
        (np.zeros((0, 4), "int32"), (0, 4, 3)),
        (np.array([99, 0, 50], "int16"), (3, 100)),
        (np.array(0, "uint8"), (1,)),
        (np.array([100, 127], "int8"), (2, 1000)),
        (np.array([2, 2, 2], "uint64"), (3, 3)),
    ]:
        try:
            found = check_labels(shape=shape, labels=labels)
        except ValueError as error:
            assert False, (
                f"labels {labels}, logits {shape}: nothing is wrong, the error is {error}"
            )
        assert found is None, f"labels {labels}: None expected, got {found!r}"
    for labels, shape, first, index in [
        ([[[0, 1], [6, 2]], [[-3, 9], [1, 7]]], (2, 2, 2, 7), -3, (1, 0, 0)),
        ([1, 0, 2, 3, -1], (5, 2), 2, (2,)),
        ([[0], [1], [-1]], (3, 1, 2), -1, (2, 0)),
        ([[12, 3, 4, 5]], (1, 4, 12), 12, (0, 0)),
        (-7, (3,), -7, ()),
    ]:
        for dtype in ("int64", "int8"):
            labels = np.array(labels, dtype)
            try:
                check_labels(labels, shape)
            except ValueError as error:
                shapes = str(labels.shape), str(shape)
                lacking = lacks(
                    error, f"label {first}", f"at {index}", *shapes, f"0 to {shape[-1] - 1}"
                )
                assert not lacking, (
                    f"labels {labels.tolist()}, logits {shape}: {lacking} not in: {error}"
                )
            else:
                assert False, f"labels {labels.tolist()}, logits {shape}: ValueError expected"


# %% target-logits points=3
def test_each_row_gives_the_logit_of_its_own_class():
    logits = np.array(
        [[0.5, 4.0, -1.0], [7.0, 2.0, 9.0], [3.0, 8.0, 6.0], [-2.0, -5.0, 1.5]], "float32"
    )
    found = target_logits(logits, np.array([2, 0, 1, 1]))
    assert np.shape(found) == (4,), (
        "four rows and four labels give four logits, shape (4,), yours has shape "
        f"{np.shape(found)}"
    )
    assert np.array_equal(found, [-1, 7, 8, -5]), (
        f"labels 2 0 1 1 pick -1, 7, 8, -5 from\n{logits}\nyours are {found}: row i, column "
        "labels[i]"
    )
    assert found.dtype.name == "float32", (
        f"float32 logits stay float32, yours are {found.dtype}"
    )


def test_any_number_of_leading_axes():
    random = np.random.default_rng(5)
    for shape in [(5,), (4, 3), (2, 3, 5), (3, 1, 2, 4), (6, 1), (1, 7), (0, 3)]:
        logits, labels = random.normal(size=shape), random.integers(0, shape[-1], shape[:-1])
        labels = np.array(labels)
        wanted = np.array(
            [logits[index][labels[index]] for index in np.ndindex(labels.shape)]
        ).reshape(labels.shape)
        found = target_logits(logits, labels)
        assert np.shape(found) == shape[:-1], (
            f"logits of shape {shape} give one number per row, shape {shape[:-1]}, yours has "
            f"shape {np.shape(found)}"
        )
        assert np.array_equal(found, wanted), (
            f"logits of shape {shape}, labels {labels}: {wanted}, yours {found}"
        )


def test_small_integer_labels_do_not_overflow():
    logits = np.arange(80 * 4, dtype="float32").reshape(80, 4)
    for dtype in ("uint8", "int8", "int32", "uint64"):
        found = target_logits(logits, np.full(80, 3, dtype))
        assert np.array_equal(found, logits[:, 3]), (
            f"{dtype} labels of 3 in 80 rows pick the last column, yours goes wrong from row "
            f"{int(np.argmax(found != logits[:, 3]))}: indices beyond 255 do not fit into a"
            " uint8"
        )
    many = np.arange(3 * 40_000, dtype="float32").reshape(3, 40_000)
    for dtype in ("uint16", "int32", "int64"):
        found = target_logits(many, np.array([39_999, 0, 32_768], dtype))
        assert np.array_equal(found, [39_999, 40_000, 112_768]), (
            f"{dtype} labels 39999, 0, 32768 of 40,000 classes pick 39999, 40000, 112768 from "
            f"np.arange(120000).reshape(3, 40000), yours are {found}: 32768 does not fit into "
            "an int16"
        )


# %% target-logits hidden points=1
def test_target_logits_of_other_shapes_and_dtypes():
    random = np.random.default_rng(59)
    for shape, given, kind in [
        ((300, 2), "float16", "int8"),
        ((2, 4, 3), "float64", "uint16"),
        ((1, 5, 1, 2, 6), "float32", "int32"),
        ((2, 3, 1), "int64", "uint8"),
        ((4, 0, 5), "float32", "int64"),
        ((8,), "float32", "uint8"),
    ]:
        logits = (random.permutation(np.prod(shape)).reshape(shape) - 7).astype(given)
        labels = np.array(random.integers(0, shape[-1], shape[:-1]), kind)
        before = logits.copy(), labels.copy()
        right = [logits[index][labels[index]] for index in np.ndindex(labels.shape)]
        right = np.array(right, given).reshape(labels.shape)
        found = np.asarray(target_logits(labels=labels, logits=logits))
        assert (
            found.shape == shape[:-1]
            and found.dtype.name == given
            and np.array_equal(found, right)
        ), f"{given} logits of {shape}, {kind} labels {labels}: {right} expected, got {found!r}"
        assert np.array_equal(logits, before[0]) and np.array_equal(labels, before[1]), (
            f"{shape}: an input was changed"
        )


# %% forward points=6
def test_only_the_true_class_counts_without_smoothing():
    p = np.array([[0.2, 0.5, 0.3], [0.7, 0.2, 0.1], [0.05, 0.15, 0.8], [0.25, 0.25, 0.5]])
    labels = np.array([1, 0, 0, 2])
    found = cross_entropy_forward(np.log(p), labels, 0.0)
    wanted = -np.log([0.5, 0.7, 0.05, 0.5])
    assert np.shape(found) == (4,), (
        f"four rows have four losses, shape (4,), yours has shape {np.shape(found)}"
    )
    assert np.allclose(found, wanted, rtol=1e-9, atol=0), (
        f"the true classes have the probabilities .5 .7 .05 .5, so the losses are {wanted}, "
        f"yours {found}"
    )
    even = cross_entropy_forward(np.zeros((2, 7)), np.array([3, 6]), 0.0)
    assert np.allclose(even, 1.9459101, rtol=1e-7, atol=0), (
        f"with seven equal logits the loss is log 7 = 1.9459 nats, yours {even}: is it the "
        "natural logarithm, and is it positive?"
    )


def test_cross_entropy_with_any_number_of_leading_axes():
    random = np.random.default_rng(8)
    for shape in [(5,), (4, 3), (2, 3, 5), (3, 1, 2, 4), (6, 1), (0, 3)]:
        z, labels = (
            random.normal(size=shape),
            np.array(random.integers(0, shape[-1], shape[:-1])),
        )
        for smoothing in (0.0, 0.3):
            found = cross_entropy_forward(z, labels, smoothing)
            assert np.shape(found) == shape[:-1], (
                f"logits of shape {shape} have one loss per row, shape {shape[:-1]}, yours "
                f"{np.shape(found)}"
            )
            target = (1 - smoothing) * np.eye(shape[-1])[labels] + smoothing / shape[-1]
            log_p = np.log(np.exp(z) / np.exp(z).sum(-1, keepdims=True))
            wanted, cause = -(target * log_p).sum(-1), ""
            if smoothing and z.size:
                shifted = z - z.max(axis=-1, keepdims=True)
                if np.allclose(found, wanted + smoothing * (shifted.mean(-1) - shifted.mean())):
                    cause = ": the mean of the smoothing is taken over the whole batch, it "
                    cause += "should be over the classes of each row, axis=-1"
            assert np.allclose(found, wanted, rtol=1e-9, atol=1e-12), (
                f"logits of shape {shape}, smoothing {smoothing}: the losses are {wanted}, "
                f"yours {found}{cause}"
            )


def test_rows_of_very_different_size_keep_their_digits():
    z = np.array(
        [
            [1000.0, 998.0, 0.0],
            [-1000.0, -999.0, -1001.0],
            [0.5, -0.5, 0.25],
            [1000.0, -1000.0, 0.0],
            [10000.0, 9990.0, 0.0],
        ],
        "float32",
    )
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = cross_entropy_forward(z, np.array([1, 0, 2, 1, 1]), 0.0)
    wanted = [2.126928, 1.407606, 1.0139225, 2000.0, 10.000045]
    assert np.isfinite(found).all(), (
        f"logits up to +-10000 give {found}: something overflowed; "
        "shift each row by its largest logit"
    )
    assert np.allclose(found, wanted, rtol=2e-6, atol=0), (
        f"the losses are {wanted}, yours {found}: take the true logit from the shifted logits, "
        "too, or digits get lost"
    )


def test_smoothing_spreads_a_share_over_all_classes():
    z, label = np.array([2.0, -1.0, 1.5, 4.0, -3.0]), np.array(2)
    nll = np.log(np.exp(z).sum()) - z
    for s in (0.1, 0.4, 1.0):
        target = np.full(5, s / 5)
        target[2] = 1 - s + s / 5
        wanted, found = (target * nll).sum(), float(cross_entropy_forward(z, label, s))
        assert abs(found - wanted) < 1e-9, (
            f"smoothing {s} with 5 classes: the true class has the target 1 - s + s/5 = "
            f"{1 - s + s / 5:.2f}, each other class s/5 = {s / 5:.2f}; that gives {wanted:.5f},"
            f" yours is {found:.5f}"
        )


def test_an_excluded_class_does_not_give_nan():
    z = np.array([[0.0, -np.inf, 0.0], [-np.inf, 2.0, 1.0]], "float32")
    with np.errstate(invalid="ignore"):
        found = cross_entropy_forward(z, np.array([2, 1]), 0.0)
        excluded = cross_entropy_forward(z, np.array([1, 2]), 0.0)
    assert np.allclose(found, [0.6931472, 0.3132617], rtol=1e-6, atol=0), (
        f"-inf excludes a class, the losses are [0.6931, 0.3133], yours {found}: 0 * inf is "
        "nan, so compute no mean without smoothing"
    )
    assert excluded[0] == np.inf and abs(excluded[1] - 1.3132617) < 1e-5, (
        f"the loss is infinite if the true class was excluded: [inf, 1.3133], yours {excluded}"
    )


def test_row_losses_change_neither_dtype_nor_inputs():
    for dtype in ("float32", "float64", "float16"):
        for smoothing in (0.0, 0.25):
            z, labels = (
                np.array([[1.0, 4.0, -2.0], [0.0, 3.0, 8.0]], dtype),
                np.array([0, 2], "uint8"),
            )
            found = cross_entropy_forward(z, labels, smoothing)
            assert found.dtype.name == dtype, (
                f"{dtype} logits have {dtype} losses, yours {found.dtype}"
            )
            exact = z.astype("float64")
            wanted = (
                np.log(np.exp(exact).sum(1))
                - (1 - smoothing) * exact[[0, 1], [0, 2]]
                - smoothing * exact.mean(1)
            )
            assert np.allclose(found, wanted, rtol=0.01, atol=0.01), (
                f"the losses should be {wanted}, yours are {found}"
            )
            assert np.array_equal(z, [[1, 4, -2], [0, 3, 8]]), (
                f"the logits were changed to {z}: do not use -= on an input"
            )
            assert np.array_equal(labels, [0, 2]), f"the labels were changed to {labels}"


# %% forward hidden points=1
def test_row_losses_of_other_inputs():
    random = np.random.default_rng(61)
    for shape, size, dtype in [
        ((6,), 40, "float64"),
        ((3, 9), 2000, "float64"),
        ((2, 1, 4), 5, "float32"),
        ((1, 3, 2, 2), 300, "float64"),
        ((4, 1), 7, "float32"),
        ((2, 0, 3), 1, "float64"),
    ]:
        z = (
            random.normal(size=shape) * size + random.choice([-3000, 0, 3000], (*shape[:-1], 1))
        ).astype(dtype)
        labels = np.array(random.integers(0, shape[-1], shape[:-1]), "int8")
        before = z.copy()
        nll = np.logaddexp.reduce(z.astype("float64"), -1)[..., None] - z
        for smoothing in (0.0, 0.05, 0.5, 1.0):
            target = (1 - smoothing) * np.eye(shape[-1])[labels] + smoothing / shape[-1]
            right = (target * nll).sum(-1)
            found = np.asarray(
                cross_entropy_forward(smoothing=smoothing, labels=labels, logits=z)
            )
            assert found.shape == shape[:-1] and found.dtype.name == dtype, (
                f"{dtype} logits of {shape}: {dtype} {shape[:-1]} expected, got {found.dtype} "
                f"{found.shape}"
            )
            assert np.allclose(found, right, rtol=1e-5, atol=1e-5), (
                f"logits {z}, labels {labels}, smoothing {smoothing}: {right} expected, got "
                f"{found}"
            )
        assert np.array_equal(z, before), f"the logits of {shape} were changed"
    z = np.array([[[-np.inf, 5.0, -np.inf, -np.inf]], [[-np.inf, -800.0, -np.inf, -800.0]]])
    found = np.asarray(cross_entropy_forward(z, np.array([[1], [3]]), 0.0))
    assert np.allclose(found, [[0], [np.log(2)]], rtol=1e-9, atol=1e-12), (
        f"one class left, then two: {found}"
    )


# %% learner-side
def recorded_labels(logits, labels):
    """The labels that cross_entropy(logits, labels) recorded, read after `labels` was filled
    with 1."""
    node = cross_entropy(logits, labels, "none").creator
    labels[:] = 1
    return node.options["labels"]


# %% cross-entropy points=8
def test_the_mean_is_over_rows():
    p = np.array([[0.2, 0.5, 0.3], [0.7, 0.2, 0.1], [0.05, 0.15, 0.8], [0.25, 0.25, 0.5]])
    wanted = -np.log([0.5, 0.7, 0.05, 0.5])
    for labels in ([1, 0, 0, 2], np.array([1, 0, 0, 2], "uint8"), Tensor([1, 0, 0, 2])):
        for reduction, number in [
            ("none", wanted),
            ("sum", wanted.sum()),
            ("mean", wanted.mean()),
        ]:
            out = cross_entropy(Tensor(np.log(p)), labels, reduction)
            tensor(out, f"cross_entropy(logits, labels, {reduction!r})")
            cause = ""
            if reduction == "mean" and out.shape == ():
                cause = factor(out.data, number, 3, "the number of classes")
                cause = cause or factor(out.data, number, 4, "the number of rows")
            assert out.shape == np.shape(number), (
                f"{reduction!r} has shape {np.shape(number)}, yours {out.shape}"
            )
            assert np.allclose(out.data, number, rtol=1e-9, atol=0), (
                f"true classes with probabilities .5 .7 .05 .5: {reduction!r} should be "
                f"{number}, yours is {out.data}{cause}"
            )
    out = float(cross_entropy(np.log(p), [1, 0, 0, 2]))
    assert abs(out - wanted.mean()) < 1e-9, (
        f"the default is the mean over the 4 rows, {wanted.mean():.6f}, yours is {out:.6f}"
    )


def test_forty_thousand_classes():
    z = np.zeros((2, 40_000), "float32")
    z[0, 39_999] = z[1, 32_768] = 30
    for labels in ([39_999, 32_768], np.array([39_999, 32_768], "uint16")):
        out = float(cross_entropy(z, labels))
        assert abs(out) < 1e-6, (
            f"the true classes 39999 and 32768 of 40,000 are 30 above all others: the loss is "
            f"0, yours {out}: do the labels keep their integer width?"
        )
    out = float(cross_entropy(z, [0, 39_999]))
    assert abs(out - 30) < 1e-3, (
        f"the true classes 0 and 39999 are 30 below another one: the loss is 30, yours {out}"
    )


def test_softmax_is_not_applied_twice():
    out = float(cross_entropy(Tensor([[0.0, 20.0, 0.0], [0.0, 0.0, 30.0]]), [1, 2]))
    assert 0 <= out < 1e-6, (
        f"the loss of a sure and right prediction is 0, yours is {out}: apply no softmax "
        f"before "
        "the loss, which contains it"
    )
    out = float(cross_entropy(Tensor([[0.0, 20.0, 0.0]]), [2]))
    assert abs(out - 20) < 1e-4, (
        f"a true logit 20 below the largest has the loss 20, yours {out}: these are logits, "
        f"not "
        "probabilities"
    )


def test_cross_entropy_of_three_axes():
    z = np.random.default_rng(9).normal(size=(2, 3, 5))
    labels = [[4, 0, 2], [1, 1, 3]]
    target = 0.75 * np.eye(5)[labels] + 0.05
    wanted = -(target * np.log(np.exp(z) / np.exp(z).sum(-1, keepdims=True))).sum(-1)
    for reduction, number in [("none", wanted), ("sum", wanted.sum()), ("mean", wanted.mean())]:
        out = cross_entropy(Tensor(z), labels, reduction, 0.25)
        assert out.shape == np.shape(number), (
            f"(2, 3, 5), {reduction!r}: shape {np.shape(number)}, yours {out.shape}"
        )
        assert np.allclose(out.data, number, rtol=1e-9, atol=0), (
            f"logits of shape (2, 3, 5), label_smoothing 0.25, {reduction!r}: {number}, yours "
            f"{out.data}: is the smoothing passed on, and does the reduction take all 6 rows?"
        )
    single = cross_entropy(Tensor([0.0, 0.0, 0.0, 0.0, 0.0]), 3)
    assert single.shape == () and abs(float(single) - 1.609438) < 1e-5, (
        f"for one row of five equal logits the loss is log 5, yours {single}"
    )


def test_wrong_labels_are_refused():
    logits = Tensor(np.ones((2, 3), "float32"))
    for labels, parts in [
        ([-1, 0], ["-1", "(0,)", "(2, 3)"]),
        ([0, 3], ["3", "(1,)", "(2, 3)"]),
        ([0.0, 1.0], ["0.0", "(2,)", "(2, 3)"]),
        ([True, False], ["bool", "True", "(2, 3)"]),
        ([[0, 1, 0], [1, 0, 0]], ["one-hot", "argmax", "(2, 3)"]),
        ([0, 1, 2], ["(3,)", "(2, 3)"]),
        ([[0], [1]], ["(2, 1)", "(2, 3)"]),
        (1, ["()", "(2, 3)"]),
    ]:
        try:
            out = cross_entropy(logits, labels)
        except (TypeError, ValueError) as error:
            missing = [part for part in parts if part not in plain(error)]
            assert not missing, (
                f"labels {labels}: the error of as_labels or check_labels should contain "
                f"{', '.join(missing)}, yours: {error}"
            )
        else:
            assert False, (
                f"labels {labels} for logits of shape (2, 3) must be refused, yours gives {out}"
            )


def test_smoothing_is_a_share():
    z = Tensor([[2.0, 0.0, -1.0]])
    for smoothing in (-0.1, 1.5, 10):
        try:
            out = cross_entropy(z, [0], label_smoothing=smoothing)
        except ValueError as error:
            assert str(smoothing) in plain(error), (
                f"the error should name {smoothing}, yours: {error}"
            )
        else:
            assert False, (
                f"label_smoothing={smoothing} is no share from 0 to 1, yours gives {out}"
            )
    for smoothing, wanted in [(0, 0.1698460), (1, 1.8365127), (np.float64(0.3), 0.6698460)]:
        out = cross_entropy(z, [0], label_smoothing=smoothing)
        assert abs(float(out) - wanted) < 2e-6, (
            f"smoothing {smoothing} of 2, 0, -1 gives {wanted}, yours {float(out)}"
        )


def test_an_empty_batch_has_no_mean():
    empty = Tensor(np.ones((0, 3), "float32"))
    try:
        out = cross_entropy(empty, [])
    except ValueError as error:
        assert "empty" in plain(error), (
            f"reduce_losses raises an error with the word empty, yours: {error}"
        )
    else:
        assert False, f"the mean of no rows is 0 / 0, yours gives {out}: use reduce_losses"
    none = cross_entropy(empty, np.zeros(0, "int64"), "none")
    assert none.shape == (0,), f"'none' of no rows has shape (0,), yours {none.shape}"
    assert float(cross_entropy(empty, [], "sum")) == 0, "the sum of no rows is 0"


def test_one_operation_is_recorded_with_a_copy_of_the_labels():
    logits, labels = (
        Tensor([[1.0, 4.0, -2.0], [0.5, 0.0, 3.0]], requires_grad=True),
        np.array([2, 0]),
    )
    for reduction in ("mean", "sum", "none"):
        out = cross_entropy(logits, labels, reduction)
        assert out.requires_grad, (
            "the logits have requires_grad=True, the loss has not: use apply"
        )
        assert out.dtype.name == "float32", (
            f"float32 logits have a float32 loss, yours is {out.dtype}"
        )
    node = cross_entropy(logits, labels, "none", np.float64(0.5)).creator
    names = sorted(node.options)
    assert len(node.inputs) == 1 and names == ["labels", "smoothing"], (
        "one operation with the input logits and the options labels and smoothing; yours has "
        f"{len(node.inputs)} inputs and the options {names}"
    )
    smoothing = node.options["smoothing"]
    assert type(smoothing) is float and smoothing == 0.5, (
        f"the option smoothing should be the plain float 0.5, yours is {smoothing!r}"
    )
    kept = recorded_labels(logits, labels)
    assert np.array_equal(np.asarray(kept), [2, 0]), (
        f"the caller's labels were overwritten afterwards, and the recorded option changed to "
        f"{kept}: record a copy"
    )
    assert np.array_equal(logits.data, [[1, 4, -2], [0.5, 0, 3]]), (
        f"the logits were changed to {logits.data}"
    )
    whole = cross_entropy(np.array([[0, 5]], "uint8"), [0])
    assert abs(float(whole) - 5.0067153) < 1e-5, (
        f"for uint8 logits 0 and 5 the loss is 5.0067, yours {whole}: 0 - 5 is 251 in uint8"
    )


# %% cross-entropy hidden points=2
def test_cross_entropy_of_other_inputs():
    random = np.random.default_rng(67)
    for shape, size in [
        ((5,), 2),
        ((7, 2), 900),
        ((2, 1, 6), 3),
        ((3, 1, 2, 4), 40),
        ((4, 1), 5),
    ]:
        z = random.normal(size=shape) * size
        labels = np.array(random.integers(0, shape[-1], shape[:-1]), "int16")
        for share in (0, 0.2, 1):
            target = (1 - share) * np.eye(shape[-1])[labels] + share / shape[-1]
            rows = (target * (np.logaddexp.reduce(z, -1)[..., None] - z)).sum(-1)
            for word, right in [("none", rows), ("sum", rows.sum()), ("mean", rows.mean())]:
                for logits, given in [(Tensor(z), Tensor(labels)), (z, labels.tolist())]:
                    out = cross_entropy(
                        label_smoothing=share, reduction=word, labels=given, logits=logits
                    )
                    assert out.shape == np.shape(right) and np.allclose(
                        out.data, right, rtol=1e-6, atol=1e-9
                    ), (
                        f"{word!r}, logits {z}, labels {labels}, smoothing {share}: {right} "
                        f"expected, got {out}"
                    )
    whole = cross_entropy([[3, 0, 1], [-2, 0, 0]], [0, 2], "none")
    assert whole.dtype.name == "float32" and np.allclose(
        whole.data, [0.1698460, 0.7586244], rtol=1e-5
    ), f"integers: float32 [0.16985, 0.75862] expected, got {whole}"
    recorded = cross_entropy(
        Tensor(np.zeros((2, 1, 3)), requires_grad=True), Tensor([[2], [1]]), "none"
    ).creator.options
    assert (
        np.array_equal(np.asarray(recorded["labels"]), [[2], [1]])
        and recorded["smoothing"] == 0
    ), f"the options labels=[[2], [1]] and smoothing=0 should be recorded, yours are {recorded}"


def test_other_wrong_labels_and_options_are_refused():
    for shape, labels, options, parts in [
        ((2, 1, 3), [[0], [3]], {}, ["3", "(1, 0)", "(2, 1, 3)"]),
        ((3,), -1, {}, ["-1", "(3,)"]),
        ((2, 1, 3), [0, 1], {}, ["(2,)", "(2, 1, 3)"]),
        ((4, 2), [0, 1, 1], {}, ["(3,)", "(4, 2)"]),
        ((2, 3), [[0, 0, 1], [0, 1, 0]], {}, ["one-hot", "(2, 3)"]),
        ((2, 3), [1.0, 2.0], {}, ["(2, 3)"]),
        ((2, 3), [0, 1], {"label_smoothing": 2}, ["2"]),
        ((2, 3), [0, 1], {"label_smoothing": -1e-6}, ["1e-06"]),
        ((2, 3), [0, 1], {"reduction": "batch"}, ["'batch'"]),
        ((2, 0, 3), np.zeros((2, 0), "int64"), {}, []),
    ]:
        try:
            out = cross_entropy(Tensor(np.ones(shape)), labels, **options)
        except (TypeError, ValueError) as error:
            missing = [part for part in parts if part not in plain(error)]
            assert not missing, (
                f"logits {shape}, labels {labels}, {options}: {missing} not in: {error}"
            )
        else:
            assert False, (
                f"logits {shape}, labels {labels}, {options}: an error expected, got {out}"
            )


# %% cross-entropy-loss points=3
def test_the_module_computes_what_the_function_does():
    z = np.array([[2.0, 0.0, -1.0], [0.5, 1.5, 0.0]])
    log_p = z - np.log(np.exp(z).sum(axis=-1, keepdims=True))
    plain_losses = -log_p[[0, 1], [0, 2]]
    smooth_losses = 0.7 * plain_losses - 0.3 * log_p.mean(axis=-1)
    for call, make, wanted in [
        ("CrossEntropyLoss()", lambda: CrossEntropyLoss(), plain_losses.mean()),
        ("CrossEntropyLoss('sum')", lambda: CrossEntropyLoss("sum"), plain_losses.sum()),
        (
            "CrossEntropyLoss('none', 0.3)",
            lambda: CrossEntropyLoss("none", 0.3),
            smooth_losses,
        ),
        (
            "CrossEntropyLoss(label_smoothing=0.3)",
            lambda: CrossEntropyLoss(label_smoothing=0.3),
            smooth_losses.mean(),
        ),
    ]:
        out = tensor(make()(Tensor(z), [0, 2]), f"{call}(logits, labels)")
        assert np.shape(out.data) == np.shape(wanted) and np.allclose(out.data, wanted), (
            f"{call}(logits, labels) should be {wanted}, yours is {out.data}: are both options "
            "passed to cross_entropy?"
        )


def test_two_modules_keep_their_own_options():
    z, labels = np.array([[2.0, 0.0, -1.0], [0.5, 1.5, 0.0]]), [0, 2]
    total, rows = CrossEntropyLoss("sum", 0.5), CrossEntropyLoss("none")
    for name, loss, options in [
        ("CrossEntropyLoss('sum', 0.5)", total, ("sum", 0.5)),
        ("CrossEntropyLoss('none')", rows, ("none", 0.0)),
    ]:
        found = (loss.reduction, loss.label_smoothing)
        assert found == options, (
            f"{name} should have the attributes reduction={options[0]!r} and label_smoothing="
            f"{options[1]}, yours has {found}: two modules were made, and each keeps its own "
            "options in self"
        )
    assert np.allclose(total(z, labels).data, 2.6342148) and rows(z, labels).shape == (2,), (
        f"'sum' with smoothing 0.5 is 2.6342 here and 'none' gives two losses, yours are "
        f"{total(z, labels)} and {rows(z, labels)}"
    )


def test_the_module_prints_its_options():
    text = repr(CrossEntropyLoss("sum", label_smoothing=0.25))
    assert text == "CrossEntropyLoss(reduction='sum', label_smoothing=0.25)", (
        f"CrossEntropyLoss('sum', label_smoothing=0.25) prints as {text}: set self.reduction "
        "and self.label_smoothing"
    )


# %% cross-entropy-loss hidden points=1
def test_the_module_records_and_refuses_as_the_function_does():
    z = Tensor(np.random.default_rng(71).normal(size=(2, 3, 4)), requires_grad=True)
    labels = np.array([[0, 1, 3], [2, 2, 0]])
    out = CrossEntropyLoss(reduction="none", label_smoothing=0.2)(logits=z, labels=labels)
    log_p = z.data - np.log(np.exp(z.data).sum(-1, keepdims=True))
    wanted = -((0.8 * np.eye(4)[labels] + 0.05) * log_p).sum(-1)
    assert out.requires_grad and np.allclose(out.data, wanted), f"{wanted}, got {out.data}"
    try:
        out = CrossEntropyLoss(label_smoothing=1.5)(z, labels)
    except ValueError as error:
        assert "1.5" in str(error), f"the error should name 1.5: {error}"
    else:
        assert False, f"label_smoothing=1.5: ValueError expected, got {out}"

# The checks of lesson 05, by exercise. `check("mse")` in the chapter runs the visible ones.

# %% setup
import numpy as np

from tinytorch.core.tensor import Tensor

from checking import expect, refused, result_of, tensor


def factor(found, wanted, count, of):
    """Words about a mean that is `count` times too large or too small, else nothing."""
    for times, words in (
        (count, "too large: divide by"),
        (1 / count, "too small: do not divide by"),
    ):
        if count > 1 and np.isclose(found, wanted * times, rtol=1e-5):
            return f"{count} times {words} {of}"
    return ""


def after_softmax(z, labels, reduce=np.asarray):
    """{why the losses are wrong: what they are when softmax comes before the cross-entropy}."""
    p = np.exp(z - z.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    rows = np.log(np.exp(p).sum(axis=-1)) - p[np.arange(len(p)), labels]
    return {"apply no softmax before the loss, which contains it": reduce(rows)}


# %% learner-side
from checking import recorded_derivative


# %% mse points=4
def test_squared_errors_of_known_numbers():
    prediction = [[1.0, 2.0, -3.0], [0.5, 0.0, 4.0]]
    target = [[1.0, 4.0, -2.0], [-2.5, 0.0, 3.5]]
    squares = np.array([[0, 4, 1], [9, 0, 0.25]])
    for reduction, wanted in [("none", squares), ("sum", 14.25), ("mean", 2.375)]:
        out = mse_loss(Tensor(prediction), Tensor(target), reduction=reduction)
        case = f"mse_loss with {reduction!r}, for the squares {squares.tolist()},"
        tensor(out, "mse_loss(...)")
        cause = ""
        if reduction == "mean" and out.shape == ():
            cause = factor(out.data, wanted, 3, "all 6 elements")
        square = {"sum": 0.25, "mean": 1 / 144, "none": np.nan}[reduction]
        if np.allclose(out.data, square):
            cause = "square each difference before you reduce: the differences cancel"
        expect(out.data, wanted, case, cause)
    out = mse_loss(Tensor(prediction), Tensor(target))
    expect(out, 2.375, "the default, the mean over all 6 elements,")
    out = mse_loss(Tensor([[2.0], [3.0]]), [[0.0], [0.0]], reduction="none")
    expect(out.data, [[4], [9]], "the losses of a column", "keep the axis of length 1")


def test_a_column_against_a_row_is_refused():
    try:
        out = mse_loss(Tensor([[1.0], [2.0], [3.0]]), [1.0, 2.0, 3.0])
    except ValueError as error:
        assert "(3, 1)" in str(error) and "(3,)" in str(error), (
            f"the error should contain (3, 1) and (3,), yours is: {error}"
        )
    else:
        assert False, (
            f"(3, 1) and (3,) broadcast to (3, 3), so a perfect prediction gets the loss {out}:"
            " let as_target check the shapes"
        )


def test_no_dtype_wraps_around_or_widens():
    pixels, target = np.array([3, 250, 7], "uint8"), np.array([5, 10, 7], "uint8")
    expect(
        mse_loss(pixels, target, reduction="none"),
        [4, 57600, 0],
        "the losses of uint8 3 against 5, 250 against 10 and 7 against 7",
        {
            "in uint8 3 - 5 is 254, convert to floating point first": [4, 0, 0],
            "in uint8 3 - 5 is 254, convert before you subtract": [64516, 57600, 0],
        },
        dtype="float32",
    )
    for dtype in ("float32", "float64", "float16"):
        out = mse_loss(Tensor(np.array([1.0, 2.0], dtype)), np.array([0.5, 0.0]))
        case = f"the loss of {dtype} [1, 2] for [0.5, 0]"
        expect(out, 2.125, case)
        expect(out, 2.125, case, "use as_target", 0, dtype)


def test_the_squared_error_is_recorded_and_changes_nothing():
    prediction = Tensor([[1.0, 2.0, 4.0]], requires_grad=True)
    target = np.array([[3.0, 2.0, 5.0]], "float32")
    for reduction in ("mean", "sum", "none"):
        assert mse_loss(prediction, target, reduction=reduction).requires_grad, (
            "the prediction has requires_grad=True, but the loss does not: use Tensor "
            "operations"
        )
    found = mse_loss(prediction, target, reduction="sum")
    expect(found.data, 5, "(1 - 3)**2 + (2 - 2)**2 + (4 - 5)**2")
    expect(prediction.data, [[1, 2, 4]], "after mse_loss, the prediction")
    expect(target, [[3, 2, 5]], "after mse_loss, the target")
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
        for word in ("none", "sum", "mean"):
            yield mse_loss(target=target.tolist(), prediction=prediction, reduction=word)
    dark, bright = np.array([0, 255], "uint8"), np.array([255, 0], "uint8")
    for prediction, target in [
        ([3, -4], [0.5, 0]),
        (dark, Tensor(bright)),
        (Tensor([[200, 7]]), [[0.5, 7]]),
        (np.zeros((0, 2), "float32"), np.zeros((0, 2))),
    ]:
        yield mse_loss(prediction, target, reduction="none")
    ones = np.ones((5,)), np.ones(())
    refused(lambda: mse_loss(*ones), "(5,) and ()", contains=[(5,), ()])


# %% bce points=8
def test_binary_cross_entropy_of_known_probabilities():
    logits = np.log(
        np.array([[0.25 / 0.75, 0.8 / 0.2, 0.5 / 0.5], [0.1 / 0.9, 0.6 / 0.4, 0.75 / 0.25]])
    )
    target = [[1, 1, 0], [0, 0, 1]]
    wanted = -np.log([[0.25, 0.8, 0.5], [0.9, 0.4, 0.75]])
    found = binary_cross_entropy_with_logits(Tensor(logits), target, reduction="none")
    assert found.shape == (2, 3), f"'none' keeps the shape (2, 3), yours is {found.shape}"
    assert np.allclose(found.data, wanted, rtol=1e-9, atol=0), (
        "for the probabilities of yes [[.25, .8, .5], [.1, .6, .75]] and the outcomes "
        f"{target}, the losses should be {wanted}, yours are {found.data}"
    )
    for reduction, number in [("mean", wanted.mean()), ("sum", wanted.sum())]:
        losses = binary_cross_entropy_with_logits(Tensor(logits), target, reduction=reduction)
        out = float(losses)
        cause = factor(out, number, 3, "all 6 elements")
        expect(out, number, f"the {reduction} over 6 elements", cause, near=(0, 1e-9))
    out = float(binary_cross_entropy_with_logits(Tensor(logits), target))
    expect(out, wanted.mean(), "the default, the mean,", near=(0, 1e-9))


def test_huge_logits_have_finite_losses():
    z = np.array([1000.0, 1000.0, -1000.0, -1000.0, 100.0, -100.0, 20.0, -20.0], "float32")
    y = np.array([0, 1, 0, 1, 0, 1, 0, 1], "float32")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = binary_cross_entropy_with_logits(Tensor(z), y, reduction="none").data
    wanted = [1000, 0, 0, 1000, 100, 100, 20, 20]
    assert np.isfinite(found).all(), (
        f"logits {z} give {found}: something overflowed; exp(-|z|) cannot"
    )
    assert np.allclose(found, wanted, rtol=1e-6, atol=1e-6), (
        f"for the logits {z} and the outcomes {y}, the losses should be {wanted}, yours are "
        f"{found}"
    )


def test_the_loss_is_not_flat_where_the_network_is_sure_and_wrong():
    z = np.array([0.0, 17.0, 20.0, 30.0], "float32")
    found = binary_cross_entropy_with_logits(Tensor(z), np.zeros(4), reduction="none").data
    expect(found[0], np.log(2), "the loss for y = 0 and z = 0", near=(1e-5, 1e-8))
    steps = found[2:] - found[1:-1]
    assert np.allclose(steps, [3, 10], rtol=1e-4, atol=0), (
        "for y = 0, the loss should grow by 3 from z = 17 to z = 20 and by 10 from z = 20 to "
        f"z = 30; yours grows by {steps}. The loss of a clipped probability is flat there: its "
        "derivative is 0, and nothing is learned"
    )


def test_targets_may_be_probabilities():
    z = np.array([[-2.0, 0.5], [3.0, -0.25], [0.0, 1.5]])
    y = np.array([[0.25, 0.9], [0.5, 0.0], [0.3, 1.0]])
    p = 1 / (1 + np.exp(-z))
    yes, no = -y * np.log(p), -(1 - y) * np.log(1 - p)
    expect(
        binary_cross_entropy_with_logits(Tensor(z), y, reduction="none").data,
        yes + no,
        f"the losses of logits {z.tolist()} and targets {y.tolist()}",
        {"add the term for no, -(1 - y) log(1 - p)": yes, "add the term for yes": no},
        near=(1e-9, 0),
    )


def test_swapping_yes_and_no_keeps_the_loss():
    z, y = np.array([-2.0, 0.5, 3.0, -0.25]), np.array([1.0, 0.2, 0.0, 0.7])
    one = binary_cross_entropy_with_logits(Tensor(z), y, reduction="none").data
    other = binary_cross_entropy_with_logits(Tensor(-z), 1 - y, reduction="none").data
    assert np.allclose(one, other, rtol=1e-9, atol=0), (
        "yes with logit z and no with logit -z should have the same loss, yours are "
        f"{one} and {other}"
    )
    even = binary_cross_entropy_with_logits(Tensor([0.0, 0.0]), [0, 1], reduction="none").data
    assert np.allclose(even, 0.6931472, rtol=1e-6, atol=0), (
        "at logit 0 the loss should be log 2 = 0.6931 nats for yes and for no, yours is "
        f"{even}: is it the natural logarithm?"
    )


def test_the_derivative_is_right_at_the_kink():
    y = np.array([0.0, 1.0, 0.3, 0.0, 1.0])
    z = np.array([0.0, 0.0, 0.0, 2.0, -3.0])
    logits = Tensor(z, requires_grad=True)
    out = binary_cross_entropy_with_logits(logits, y, reduction="none")
    found, wanted = recorded_derivative(out, logits), 1 / (1 + np.exp(-z)) - y
    assert np.allclose(found[3:], wanted[3:], atol=1e-6), (
        f"the derivative at z = 2, -3 for y = 0, 1 should be sigmoid(z) - y = {wanted[3:]}; "
        f"the operations that you recorded give {found[3:]}: compute with the Tensor"
    )
    assert np.allclose(found, wanted, atol=1e-6), (
        f"the derivative at z = 0 for y = 0, 1, 0.3 should be 1/2 - y = {wanted[:3]}; the "
        f"operations that you recorded give {found[:3]}: the derivative of relu at z = 0 is 0 "
        "by convention, but here it must be 1/2, as for (z + |z|) / 2"
    )


def test_wrong_targets_and_shapes_are_refused():
    for value, index in [(-1.0, (1, 0)), (1.5, (0, 2)), (np.nan, (1, 2))]:
        target = np.ones((2, 3), "float32")
        target[index] = value
        refused(
            lambda: binary_cross_entropy_with_logits(Tensor(np.zeros((2, 3))), target),
            f"a target of {value}, which is no probability,",
            contains=(value, index),
            cause="call check_probabilities",
        )
    refused(
        lambda: binary_cross_entropy_with_logits(Tensor([[0.5], [2.0], [1.0]]), [0, 1, 1]),
        "logits of shape (3, 1) and a target of shape (3,)",
        contains=["(3, 1)", "(3,)"],
        cause="use as_target",
    )


def test_binary_losses_are_recorded_and_keep_their_dtype():
    for dtype in ("float32", "float64", "float16"):
        logits = Tensor(np.array([1.5, -2.0, 0.0], dtype), requires_grad=True)
        target = np.array([0.0, 1.0, 1.0])
        for reduction in ("mean", "sum", "none"):
            out = binary_cross_entropy_with_logits(logits, target, reduction=reduction)
            assert out.requires_grad, (
                "the logits have requires_grad=True, but the loss does not: use Tensor "
                "operations"
            )
            assert out.dtype.name == dtype, (
                f"the loss of {dtype} logits should be {dtype}, yours is {out.dtype}: use "
                "as_target"
            )
        expect(logits.data, [1.5, -2, 0], "after the loss, the logits")
        expect(target, [0, 1, 1], "after the loss, the target")
    small = np.array([3, 0], "uint8")
    expect(
        binary_cross_entropy_with_logits(small, [0, 1], reduction="none").data,
        [3.0485873, 0.6931472],
        "the losses of uint8 logits 3 and 0",
        "in uint8 -3 is 253, convert to floating point first",
        near=(1e-6, 0),
    )


# %% bce hidden points=2
def test_binary_losses_of_other_inputs():
    random = np.random.default_rng(47)
    for shape, size in [
        ((6,), 1),
        ((2, 1, 4), 30),
        ((1, 1), 500),
        ((3, 2, 1, 5), 1e4),
        ((), 3),
    ]:
        z = np.asarray(random.normal(size=shape) * size)
        y = np.asarray(random.uniform(size=shape))
        for word in ("none", "sum", "mean"):
            yield binary_cross_entropy_with_logits(
                target=Tensor(y), logits=Tensor(z), reduction=word
            )
    yield binary_cross_entropy_with_logits([[2, -5]], [[True, False]], reduction="none")
    empty = np.zeros((0, 2))
    yield binary_cross_entropy_with_logits(empty, empty, reduction="sum")


def test_other_binary_targets_are_refused():
    target = np.full((2, 1, 3), 0.5)
    target[1, 0, 2] = -0.25
    for given, parts in [(target, [-0.25, (1, 0, 2)]), (np.ones((1, 3)), [(2, 1, 3), (1, 3)])]:
        refused(
            lambda: binary_cross_entropy_with_logits(Tensor(np.ones((2, 1, 3))), given),
            f"logits of ones and the target {given.tolist()}",
            contains=parts,
        )


# %% log-sum-exp points=4
def test_shift_and_sum_have_the_right_shapes():
    for shape in [(5,), (2, 3), (3, 2), (2, 3, 4), (4, 1), (1, 6), (0, 3)]:
        logits = np.random.default_rng(3).normal(size=shape)
        shifted, total = shifted_log_sum_exp(logits)
        assert np.shape(shifted) == shape, (
            f"shifted logits should keep the shape {shape}, yours have {np.shape(shifted)}"
        )
        assert np.shape(total) == shape[:-1], (
            f"logits of shape {shape} should give one log-sum-exp per row, shape {shape[:-1]}; "
            f"yours have shape {np.shape(total)}"
        )
        for index in np.ndindex(shape[:-1]):
            row = [float(z) for z in logits[index]]
            wanted = np.array(row) - max(row)
            assert np.allclose(shifted[index], wanted, rtol=0, atol=1e-12), (
                f"the row {row} minus its largest element should be {wanted}, yours is "
                f"{shifted[index]}"
            )
            wanted = np.log(sum(np.exp(z) for z in row)) - max(row)
            assert abs(float(total[index]) - wanted) < 1e-12, (
                f"row {row}: the log-sum-exp of the shifted row should be {wanted:.6f}, yours "
                f"is {total[index]}"
            )


def test_log_sum_exp_of_known_numbers():
    _, total = shifted_log_sum_exp(np.log([[1.0, 2.0, 5.0], [10.0, 30.0, 60.0]]))
    case = "the log-sum-exp of the shifted rows of log([[1, 2, 5], [10, 30, 60]])"
    cause = "the results are log(8 / 5) and log(100 / 60)"
    expect(total, np.log([8 / 5, 100 / 60]), case, cause, near=(1e-12, 0))
    _, total = shifted_log_sum_exp(np.zeros((2, 7)))
    case = "the log-sum-exp of seven logits of 0"
    expect(total, [1.9459101] * 2, case, "it is log 7", near=(1e-7, 0))


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
    expect(shifted, wanted, "the shifted rows", "each row's largest should become 0")
    wanted = [0.1269280, 0.4076060, 0.6802697, 1.0986123]
    expect(total, wanted, "the log-sum-exp of the shifted rows", near=(1e-6, 0))


def test_shifting_changes_neither_dtype_nor_input():
    for dtype in ("float32", "float64", "float16"):
        logits = np.array([[1.0, 4.0, -2.0]], dtype)
        shifted, total = shifted_log_sum_exp(logits)
        for name, found in [("shifted logits", shifted), ("log-sum-exp", total)]:
            assert found.dtype.name == dtype, (
                f"the {name} of {dtype} logits should be {dtype}, yours is {found.dtype}"
            )
        assert np.allclose(total, 0.0509, rtol=3e-2, atol=0), (
            f"the log-sum-exp of the shifted row [1, 4, -2] should be 0.0509, yours is {total}"
        )
        expect(logits, [[1, 4, -2]], "the logits afterwards", "do not use -= on an input")
    _, masked = shifted_log_sum_exp(np.array([0.0, -np.inf, 0.0]))
    case, cause = "the log-sum-exp of [0, -inf, 0]", "a logit of -inf excludes its class"
    expect(float(masked), 0.6931472, case, cause, near=(0, 1e-6))


# %% log-sum-exp hidden points=1
def test_log_sum_exp_of_other_shapes_and_magnitudes():
    random = np.random.default_rng(53)
    for shape, dtype in [
        ((9,), "float64"),
        ((4, 2), "float32"),
        ((1, 3, 2, 4), "float64"),
        ((3, 0, 2), "float32"),
    ]:
        size = 10.0 ** random.integers(-3, 5, (*shape[:-1], 1))
        logits = random.normal(size=shape) * size + random.choice([-5000, 0, 5000], size.shape)
        shifted, total = shifted_log_sum_exp(logits=logits.astype(dtype))
        yield shifted
        yield total
        assert (np.asarray(shifted) <= 0).all(), f"a shifted logit is above 0: {shifted}"
    yield shifted_log_sum_exp(np.array([[-1e30, -1e30], [1e-3, -np.inf], [-7.0, 1e30]]))[1]


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
    case = f"the logits of the true classes 2, 0, 1, 1 in\n{logits}\n"
    expect(found, [-1, 7, 8, -5], case, "row i, column labels[i]")
    cause = "select elements. A product with a table of ones and zeros has the table's dtype, "
    cause += "and is nan where a logit is infinite"
    expect(found, [-1, 7, 8, -5], case, cause, dtype="float32")


def test_any_number_of_leading_axes():
    random = np.random.default_rng(5)
    for shape in [(5,), (4, 3), (2, 3, 5), (3, 1, 2, 4), (6, 1), (1, 7), (0, 3)]:
        logits = random.normal(size=shape)
        labels = np.array(random.integers(0, shape[-1], shape[:-1]))
        rows = [logits[index][labels[index]] for index in np.ndindex(labels.shape)]
        case = f"logits of shape {shape}"
        likely = {"too many indices": "any number of axes may be before the last, also none"}
        found = result_of(lambda: target_logits(logits, labels), case, likely)
        lost = ": only the last axis goes, others of length 1 stay" * (1 in shape[:-1])
        assert np.shape(found) == shape[:-1], (
            f"{case} give one number per row, shape {shape[:-1]}, yours has shape "
            f"{np.shape(found)}{lost}"
        )
        wanted = np.array(rows).reshape(labels.shape)
        expect(found, wanted, f"the result for logits of shape {shape}, labels {labels}")


def test_small_integer_labels_do_not_overflow():
    logits = np.arange(80 * 4, dtype="float32").reshape(80, 4)
    causes = {"indices beyond 255 do not fit into a uint8": logits[:, 3] % 256}
    for dtype in ("uint8", "int8", "int32", "uint64"):
        found = target_logits(logits, np.full(80, 3, dtype))
        expect(found, logits[:, 3], f"the last column of 80 rows, by {dtype} labels,", causes)
    many = np.arange(3 * 40_000, dtype="float32").reshape(3, 40_000)
    for dtype in ("uint16", "int32", "int64"):
        expect(
            target_logits(many, np.array([39_999, 0, 32_768], dtype)),
            [39_999, 40_000, 112_768],
            f"{dtype} labels 39999, 0, 32768 of np.arange(120000).reshape(3, 40000)",
            "32768 does not fit into an int16",
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
        yield target_logits(labels=labels, logits=logits)


# %% forward points=6
def test_only_the_true_class_counts_without_smoothing():
    p = np.array([[0.2, 0.5, 0.3], [0.7, 0.2, 0.1], [0.05, 0.15, 0.8], [0.25, 0.25, 0.5]])
    found = cross_entropy_forward(np.log(p), np.array([1, 0, 0, 2]), 0.0)
    wanted = -np.log([0.5, 0.7, 0.05, 0.5])
    case = "the loss of four rows, where the true classes have the probabilities .5 .7 .05 .5,"
    causes = after_softmax(np.log(p), [1, 0, 0, 2])
    half = "Take the logit of the true class from the shifted logits, too"
    causes[half] = wanted - np.log(p.max(axis=1))
    expect(found, wanted, case, causes, near=(1e-9, 0))
    even = cross_entropy_forward(np.zeros((2, 7)), np.array([3, 6]), 0.0)
    cause = "it is log 7, the natural logarithm, and positive"
    expect(even, [1.9459101] * 2, "the loss of seven equal logits", cause, near=(1e-7, 0))


def test_cross_entropy_with_any_number_of_leading_axes():
    random = np.random.default_rng(8)
    for shape in [(5,), (4, 3), (2, 3, 5), (3, 1, 2, 4), (6, 1), (0, 3)]:
        z = random.normal(size=shape)
        labels = np.array(random.integers(0, shape[-1], shape[:-1]))
        for smoothing in (0.0, 0.3):
            found = cross_entropy_forward(z, labels, smoothing)
            target = (1 - smoothing) * np.eye(shape[-1])[labels] + smoothing / shape[-1]
            log_p = np.log(np.exp(z) / np.exp(z).sum(-1, keepdims=True))
            wanted, cause = -(target * log_p).sum(-1), ""
            if smoothing and z.size:
                shifted = z - z.max(axis=-1, keepdims=True)
                if np.allclose(found, wanted + smoothing * (shifted.mean(-1) - shifted.mean())):
                    cause = "the mean of the smoothing is taken over the whole batch, it "
                    cause += "should be over the classes of each row, axis=-1"
                true = np.eye(shape[-1])[labels]
                others = smoothing * (1 - true) / max(shape[-1] - 1, 1)
                if np.allclose(found, -(((1 - smoothing) * true + others) * log_p).sum(-1)):
                    cause = "the share is spread over all classes, the true class included"
            case = f"the losses of logits of shape {shape}, one per row, smoothing {smoothing},"
            expect(found, wanted, case, cause, near=(1e-9, 1e-12))


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
    labels = np.array([1, 0, 2, 1, 1])
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = cross_entropy_forward(z, labels, 0.0)
    assert np.isfinite(found).all(), (
        f"logits up to +-10000 give {found}: something overflowed; "
        "shift each row by its largest logit"
    )
    wanted = [2.126928, 1.407606, 1.0139225, 2000.0, 10.000045]
    largest, true = z.max(axis=-1), z[np.arange(5), labels]
    total = np.log(np.exp(z - largest[:, None]).sum(axis=-1))
    cause = "also take the true logit from the shifted logits"
    causes = {cause: total - true, f"{cause}, or digits get lost": largest + total - true}
    expect(found, wanted, "the losses of large logits", causes, near=(2e-6, 0))


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
    cause = "0 * inf is nan, so compute no mean without smoothing"
    case = "the losses of rows in which -inf excludes a wrong class"
    expect(found, [0.6931472, 0.3132617], case, cause, near=(1e-6, 0))
    case = "the losses, where the first true class has the logit -inf,"
    expect(excluded, [np.inf, 1.3132617], case, near=(0, 1e-5))


def test_row_losses_change_neither_dtype_nor_inputs():
    for dtype in ("float32", "float64", "float16"):
        for smoothing in (0.0, 0.25):
            z = np.array([[1.0, 4.0, -2.0], [0.0, 3.0, 8.0]], dtype)
            labels = np.array([0, 2], "uint8")
            found = cross_entropy_forward(z, labels, smoothing)
            exact = z.astype("float64")
            wanted = (
                np.log(np.exp(exact).sum(1))
                - (1 - smoothing) * exact[[0, 1], [0, 2]]
                - smoothing * exact.mean(1)
            )
            expect(found, wanted, f"the losses of {dtype} logits", near=0.01, dtype=dtype)
            cause = "do not use -= on an input"
            expect(z, [[1, 4, -2], [0, 3, 8]], "the logits afterwards", cause)
            expect(labels, [0, 2], "the labels afterwards")


# %% forward hidden points=1
def test_row_losses_of_other_inputs():
    random = np.random.default_rng(61)
    for shape, size, dtype in [
        ((6,), 40, "float64"),
        ((3, 9), 2000, "float64"),
        ((2, 1, 4), 5, "float32"),
        ((4, 1), 7, "float32"),
        ((2, 0, 3), 1, "float64"),
    ]:
        z = random.normal(size=shape) * size + random.choice([-3000, 0, 3000], (*shape[:-1], 1))
        labels = np.array(random.integers(0, shape[-1], shape[:-1]), "int8")
        for smoothing in (0.0, 0.05, 1.0):
            yield cross_entropy_forward(
                smoothing=smoothing, labels=labels, logits=z.astype(dtype)
            )
    z = np.array([[[-np.inf, 5.0, -np.inf, -np.inf]], [[-np.inf, -800.0, -np.inf, -800.0]]])
    yield cross_entropy_forward(z, np.array([[1], [3]]), 0.0)


# %% learner-side
def recorded_labels(logits, labels):
    """The labels that cross_entropy(logits, labels) recorded, read after `labels` was filled
    with 1."""
    node = cross_entropy(logits, labels, reduction="none").creator
    labels[:] = 1
    return node.options["labels"]


# %% cross-entropy points=8
def test_the_mean_is_over_rows():
    p = np.array([[0.2, 0.5, 0.3], [0.7, 0.2, 0.1], [0.05, 0.15, 0.8], [0.25, 0.25, 0.5]])
    wanted = -np.log([0.5, 0.7, 0.05, 0.5])
    numbers = {"none": wanted, "sum": wanted.sum(), "mean": wanted.mean()}
    for labels in ([1, 0, 0, 2], np.array([1, 0, 0, 2], "uint8"), Tensor([1, 0, 0, 2])):
        for reduction, number in numbers.items():
            out = cross_entropy(Tensor(np.log(p)), labels, reduction=reduction)
            tensor(out, f"cross_entropy(logits, labels, {reduction!r})")
            cause = ""
            if reduction == "mean" and out.shape == ():
                cause = factor(out.data, number, 3, "the number of classes")
                cause = cause or factor(out.data, number, 4, "the number of rows")
            case = f"cross_entropy with {reduction!r}, true classes with p = .5 .7 .05 .5,"
            reduce = {"sum": np.sum, "mean": np.mean}.get(reduction, np.asarray)
            cause = cause or after_softmax(np.log(p), [1, 0, 0, 2], reduce)
            expect(out.data, number, case, cause, near=(1e-9, 0))
    out = float(cross_entropy(np.log(p), [1, 0, 0, 2]))
    expect(out, wanted.mean(), "the default, the mean over the 4 rows,", near=(0, 1e-9))


def test_forty_thousand_classes():
    z = np.zeros((2, 40_000), "float32")
    z[0, 39_999] = z[1, 32_768] = 30
    for labels, right in [([39_999, 32_768], 0), ([0, 39_999], 30)]:
        for given in (labels, np.array(labels, "uint16")):
            case = (
                "two rows of 40,000 logits, all 0 except 30 for class 39999 in the first and "
                f"30 for class 32768 in the second: the mean loss for the labels {labels}"
            )
            out = float(cross_entropy(z, given))
            expect(out, right, case, after_softmax(z, labels, np.mean), near=(0, 1e-5))


def test_softmax_is_not_applied_twice():
    z = np.array([[0.0, 20.0, 0.0], [0.0, 0.0, 30.0]])
    for labels, right in [([1, 2], 0), ([2, 2], 10)]:
        case = f"the mean loss of the logits {z.tolist()} for the labels {labels}"
        out = float(cross_entropy(Tensor(z), labels))
        expect(out, right, case, after_softmax(z, labels, np.mean), near=(0, 1e-4))


def test_cross_entropy_of_three_axes():
    z = np.random.default_rng(9).normal(size=(2, 3, 5))
    labels = [[4, 0, 2], [1, 1, 3]]
    target = 0.75 * np.eye(5)[labels] + 0.05
    wanted = -(target * np.log(np.exp(z) / np.exp(z).sum(-1, keepdims=True))).sum(-1)
    cause = "pass label_smoothing to cross_entropy_forward, and reduce over all 6 rows"
    for reduction, number in [("none", wanted), ("sum", wanted.sum()), ("mean", wanted.mean())]:
        out = cross_entropy(Tensor(z), labels, reduction=reduction, label_smoothing=0.25)
        case = f"for shape (2, 3, 5) and label_smoothing 0.25, the loss with {reduction!r}"
        expect(out.data, number, case, cause, near=(1e-9, 0))
    single = cross_entropy(Tensor([0.0, 0.0, 0.0, 0.0, 0.0]), 3)
    expect(single, 1.609438, "the loss of one row of five equal logits", near=(0, 1e-5))


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
        refused(
            lambda: cross_entropy(logits, labels),
            f"labels {labels} for logits of shape (2, 3)",
            (TypeError, ValueError),
            parts,
            "as_labels and check_labels refuse them",
        )


def test_smoothing_is_a_share():
    z = Tensor([[2.0, 0.0, -1.0]])
    for smoothing, wanted in [(0, 0.1698460), (1, 1.8365127), (np.float64(0.3), 0.6698460)]:
        out = float(cross_entropy(z, [0], label_smoothing=smoothing))
        expect(out, wanted, f"the loss of [2, 0, -1], smoothing {smoothing},", near=(0, 2e-6))


def test_an_empty_batch_has_no_mean():
    empty = Tensor(np.ones((0, 3), "float32"))
    refused(
        lambda: cross_entropy(empty, []),
        "the mean loss of no rows, which is 0 / 0,",
        contains=["empty"],
        cause="use reduce_losses",
    )
    none = cross_entropy(empty, np.zeros(0, "int64"), reduction="none")
    expect(none, np.zeros(0), "the losses of no rows, with 'none',")
    expect(cross_entropy(empty, [], reduction="sum"), 0, "the sum of no rows")


def test_one_operation_is_recorded_with_a_copy_of_the_labels():
    logits = Tensor([[1.0, 4.0, -2.0], [0.5, 0.0, 3.0]], requires_grad=True)
    labels = np.array([2, 0])
    for reduction in ("mean", "sum", "none"):
        out = cross_entropy(logits, labels, reduction=reduction)
        assert out.requires_grad, (
            "the logits have requires_grad=True, but the loss does not: use apply"
        )
        assert out.dtype.name == "float32", (
            f"the loss of float32 logits should be float32, yours is {out.dtype}"
        )
    node = cross_entropy(
        logits, labels, reduction="none", label_smoothing=np.float64(0.5)
    ).creator
    names = sorted(node.options)
    assert len(node.inputs) == 1 and names == ["labels", "smoothing"], (
        "cross_entropy should call apply once, with the input logits and the options labels "
        f"and smoothing; your operation has {len(node.inputs)} inputs and the options {names}"
    )
    smoothing = node.options["smoothing"]
    assert type(smoothing) is float and smoothing == 0.5, (
        f"the option smoothing should be the plain float 0.5, yours is {smoothing!r}"
    )
    recorded = recorded_labels(logits, labels)
    case = "the recorded option labels, after the caller has overwritten the array,"
    expect(recorded, [2, 0], case, "record a copy")
    expect(logits.data, [[1, 4, -2], [0.5, 0, 3]], "the logits afterwards")
    whole = float(cross_entropy(np.array([[0, 5]], "uint8"), [0]))
    case = "the loss for uint8 logits 0 and 5"
    expect(whole, 5.0067153, case, "0 - 5 is 251 in uint8", near=(0, 1e-5))
    rows = cross_entropy([[3, 0, 1], [-2, 0, 0]], [0, 2], reduction="none")
    case = "the losses for a list of integer logits"
    expect(rows.data, [0.1698460, 0.7586244], case, near=(1e-5, 0), dtype="float32")


# %% cross-entropy hidden points=2
def test_cross_entropy_of_other_inputs():
    random = np.random.default_rng(67)
    for shape, size in [((5,), 2), ((7, 2), 900), ((3, 1, 2, 4), 40), ((4, 1), 5)]:
        z = random.normal(size=shape) * size
        labels = np.array(random.integers(0, shape[-1], shape[:-1]), "int16")
        for share, word in [(0, "none"), (0.2, "sum"), (1, "mean")]:
            for logits, given in [(Tensor(z), Tensor(labels)), (z, labels.tolist())]:
                yield cross_entropy(
                    label_smoothing=share, reduction=word, labels=given, logits=logits
                )
    yield cross_entropy([[3, 0, 1], [-2, 0, 0]], [0, 2], reduction="none")
    logits, labels = Tensor(np.zeros((2, 1, 3)), requires_grad=True), Tensor([[2], [1]])
    recorded = cross_entropy(logits, labels, reduction="none").creator.options
    expect(recorded["labels"], [[2], [1]], "the recorded option labels")
    assert recorded["smoothing"] == 0, f"smoothing=0 should be recorded: {recorded}"


def test_other_wrong_labels_and_options_are_refused():
    for shape, labels, options, parts in [
        ((2, 1, 3), [[0], [3]], {}, ["3", "(1, 0)", "(2, 1, 3)"]),
        ((3,), -1, {}, ["-1", "(3,)"]),
        ((4, 2), [0, 1, 1], {}, ["(3,)", "(4, 2)"]),
        ((2, 3), [0, 1], {"reduction": "batch"}, ["'batch'"]),
    ]:
        refused(
            lambda: cross_entropy(Tensor(np.ones(shape)), labels, **options),
            f"logits {shape}, labels {labels}, {options}",
            contains=parts,
        )


# %% cross-entropy-loss points=3
def test_the_module_computes_what_the_function_does():
    z = np.array([[2.0, 0.0, -1.0], [0.5, 1.5, 0.0]])
    log_p = z - np.log(np.exp(z).sum(axis=-1, keepdims=True))
    losses = -log_p[[0, 1], [0, 2]]
    smooth_losses = 0.7 * losses - 0.3 * log_p.mean(axis=-1)
    cause = "are both options passed to cross_entropy?"
    smooth = {"label_smoothing": 0.3}
    for call, options, wanted in [
        ("CrossEntropyLoss()", {}, losses.mean()),
        ("CrossEntropyLoss(reduction='sum')", {"reduction": "sum"}, losses.sum()),
        ("CrossEntropyLoss(label_smoothing=0.3)", smooth, smooth_losses.mean()),
        (
            "CrossEntropyLoss(reduction='none', label_smoothing=0.3)",
            {"reduction": "none", **smooth},
            smooth_losses,
        ),
    ]:
        case = f"{call}(logits, labels)"
        out = tensor(CrossEntropyLoss(**options)(Tensor(z), [0, 2]), case)
        expect(out.data, wanted, case, cause, near=(1e-5, 1e-8))


def test_two_modules_keep_their_own_options():
    z, labels = np.array([[2.0, 0.0, -1.0], [0.5, 1.5, 0.0]]), [0, 2]
    total = CrossEntropyLoss(reduction="sum", label_smoothing=0.5)
    rows = CrossEntropyLoss(reduction="none")
    total_call = "CrossEntropyLoss(reduction='sum', label_smoothing=0.5)"
    rows_call = "CrossEntropyLoss(reduction='none')"
    for name, loss, options in [
        (total_call, total, ("sum", 0.5)),
        (rows_call, rows, ("none", 0.0)),
    ]:
        found = (loss.reduction, loss.label_smoothing)
        assert found == options, (
            f"{name} should have the attributes reduction={options[0]!r} and label_smoothing="
            f"{options[1]}, yours has {found}: there are two modules, and each stores its "
            "own options in self"
        )
    assert np.allclose(total(z, labels).data, 2.6342148) and rows(z, labels).shape == (2,), (
        f"{total_call} should give 2.6342 and {rows_call} two losses, yours give "
        f"{total(z, labels)} and {rows(z, labels)}"
    )


def test_the_module_prints_its_options():
    text = repr(CrossEntropyLoss(reduction="sum", label_smoothing=0.25))
    assert text == "CrossEntropyLoss(reduction='sum', label_smoothing=0.25)", (
        f"CrossEntropyLoss(reduction='sum', label_smoothing=0.25) should print so, yours "
        f"prints {text}: set self.reduction and self.label_smoothing"
    )


# %% cross-entropy-loss hidden points=1
def test_the_module_records_and_refuses_as_the_function_does():
    z = Tensor(np.random.default_rng(71).normal(size=(2, 3, 4)), requires_grad=True)
    labels = np.array([[0, 1, 3], [2, 2, 0]])
    yield CrossEntropyLoss(reduction="none", label_smoothing=0.2)(logits=z, labels=labels)
    loss = CrossEntropyLoss(label_smoothing=1.5)
    refused(lambda: loss(z, labels), "label_smoothing=1.5", contains=["1.5"])

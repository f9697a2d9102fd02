# The checks of lesson 04, by exercise. `check("matched")` in the chapter runs the visible ones.

# %% setup
import numpy as np

from tinytorch.core.tensor import Tensor


# %% learner-side
def matched_after_writing(prediction, target):
    """matched(prediction, target), read after 50 was written into the array `target`."""
    found = matched(prediction, target)
    target[0] = 50
    return found


# %% matched points=3
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
            found = matched(prediction, target)
        except ValueError as error:
            assert str(ours) in str(error) and str(theirs) in str(error), (
                f"the error should name both shapes, {ours} and {theirs}, yours: {error}"
            )
            assert "operands" not in str(error), (
                f"say it in your own words, not NumPy's: {error}"
            )
        else:
            assert False, (
                f"a prediction of shape {ours} and a target of shape {theirs} must be refused, "
                f"even if they broadcast; yours gives shape {np.asarray(found).shape}"
            )


def test_a_target_comes_in_any_form():
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
            found = matched(prediction, target)
        except (TypeError, AttributeError) as error:
            assert False, f"{name} should do as a target, yours says: {error}"
        assert np.array_equal(np.asarray(found), numbers), (
            f"the target {numbers} as {name} became {found}"
        )
    single = matched(Tensor(2.5), 4)
    assert np.asarray(single).shape == () and float(single) == 4, (
        f"one number is a target too, yours gives {single}"
    )


def test_the_prediction_decides_the_dtype():
    for mine in ("float32", "float64", "float16"):
        for given in ("float64", "float32", "int64", "uint8", "bool"):
            target = np.array([1, 0, 1], given)
            found = matched(Tensor(np.array([0.5, 2.0, 4.0], mine)), target)
            assert found.dtype.name == mine, (
                f"a {given} target for a {mine} prediction should become {mine}, yours is "
                f"{found.dtype}"
            )
    kept = np.array([2.0, 5.0], "float32")
    found = matched_after_writing(Tensor([0.5, 0.5]), kept)
    assert np.array_equal(np.asarray(found), [2, 5]), (
        f"I wrote 50 into my target afterwards and yours became {found}: copy it"
    )


# %% matched hidden points=1
def test_matched_on_other_shapes_and_dtypes():
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
                found = matched(target=form, prediction=prediction)
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
    found = matched(Tensor([[[0.5], [0.25]]]), [[[1], [-1e-30]]])
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
            found = matched(
                Tensor(np.ones(ours, "float32")), Tensor(np.ones(theirs, "float32"))
            )
        except ValueError as error:
            assert str(ours) in str(error) and str(theirs) in str(error), (
                f"{ours} and {theirs}: the error is {error}"
            )
        else:
            assert False, f"{ours} and {theirs}: ValueError expected, got {np.asarray(found)}"


# %% reduced points=4
def test_mean_and_sum_take_every_loss():
    losses = np.array([[[0.5, 2.0, 7.0], [1.0, 0.0, 1.5]]], "float32")
    for shape in [(1, 2, 3), (2, 3), (6, 1), (6,)]:
        for reduction, wanted in [("mean", 2.0), ("sum", 12.0)]:
            out = reduced(Tensor(losses.reshape(shape)), reduction)
            assert out.shape == (), (
                f"the {reduction} of losses of shape {shape} is one number of shape (), yours "
                f"has shape {out.shape}"
            )
            assert float(out) == wanted, (
                f"the {reduction} of {losses.ravel()} is {wanted}, yours is {float(out)}"
            )
            assert out.dtype.name == "float32", (
                f"float32 losses have a float32 {reduction}, yours is {out.dtype}"
            )
    assert float(reduced(Tensor([0.5, 1.0, 6.0]))) == 2.5, "without a word the mean is meant"
    assert float(reduced(Tensor(3.5), "mean")) == 3.5, "a single loss is its own mean"


def test_none_keeps_the_losses_apart():
    losses = np.array([[0.5, 2.0, 7.0], [1.0, 0.0, 1.5]], "float32")
    out = reduced(Tensor(losses), "none")
    assert out.shape == (2, 3) and np.array_equal(out.data, losses), (
        f"'none' should give the losses back as they are, {losses}, yours gives {out}"
    )
    assert reduced(Tensor(losses[:0]), "none").shape == (0, 3), (
        "no losses, kept apart, are still no losses"
    )
    total = reduced(Tensor(losses), "sum")
    assert np.array_equal(total.data, 12), (
        f"only 'none' does: 'sum' adds them up to 12, yours gives {total}"
    )


def test_what_has_no_answer_is_refused():
    for reduction in ("avg", "Mean", "", None, "batchmean"):
        try:
            out = reduced(Tensor([0.5, 2.0]), reduction)
        except ValueError as error:
            for part in (repr(reduction), "mean", "sum", "none"):
                assert part in str(error), (
                    f"the error should name {reduction!r} and the three words, yours: {error}"
                )
        else:
            assert False, (
                f"{reduction!r} is none of 'mean', 'sum' and 'none', yours gives {out}"
            )
    for shape in [(0,), (0, 4)]:
        empty = Tensor(np.ones(shape, "float32"))
        try:
            out = reduced(empty, "mean")
        except ValueError as error:
            assert str(shape) in str(error), (
                f"the error should name the shape {shape}, yours: {error}"
            )
        else:
            assert False, (
                f"the mean of no losses is 0 / 0; refuse shape {shape} instead of giving {out}"
            )
        assert float(reduced(empty, "sum")) == 0, (
            f"the sum of no losses is 0, yours is {reduced(empty, 'sum')}"
        )


def test_a_reduced_loss_is_noted():
    losses = Tensor([[0.5, 2.0, 7.0]], requires_grad=True)
    for reduction, wanted in (("mean", 9.5 / 3), ("sum", 9.5), ("none", [[0.5, 2.0, 7.0]])):
        out = reduced(losses, reduction)
        assert out.requires_grad is True, (
            f"the losses want a gradient and their {reduction!r} lost it: compute with the "
            "Tensor, not with its .data"
        )
        assert np.allclose(np.asarray(out), wanted), (
            f"{reduction} of 0.5, 2, 7 should be {wanted}, yours is {out}"
        )


# %% reduced hidden points=1
def test_reduced_on_other_ranks_and_dtypes():
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
            out = reduced(reduction=word, losses=losses)
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
            out = reduced(Tensor([[3.0], [4.0]]), word)
        except ValueError as error:
            assert repr(word) in str(error), f"{word!r}: the error is {error}"
        else:
            assert False, f"{word!r}: ValueError expected, got {out}"
    for shape in [(3, 0), (2, 0, 4), (0, 1)]:
        empty = Tensor(np.ones(shape))
        assert float(reduced(empty, "sum")) == 0 and reduced(empty, "none").shape == shape, (
            f"sum and none of {shape}"
        )
        try:
            out = reduced(empty)
        except ValueError as error:
            assert str(shape) in str(error), f"{shape}: the error is {error}"
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
        assert out.shape == np.shape(wanted), (
            f"{reduction!r} has shape {np.shape(wanted)}, yours {out.shape}"
        )
        assert np.array_equal(out.data, wanted), (
            f"{reduction!r} should be {wanted}, yours is {out.data}"
        )
    out = float(mse_loss(Tensor(prediction), Tensor(target)))
    assert out == 2.375, (
        "the mean is over all 6 numbers, 2.375, and it is what you get without a word; yours "
        f"is {out}"
    )


def test_a_column_against_a_row_is_refused():
    try:
        out = mse_loss(Tensor([[1.0], [2.0], [3.0]]), [1.0, 2.0, 3.0])
    except ValueError as error:
        assert "(3, 1)" in str(error) and "(3,)" in str(error), (
            f"the error should name (3, 1) and (3,), yours: {error}"
        )
    else:
        assert False, (
            f"(3, 1) and (3,) broadcast to (3, 3), so a perfect prediction gets the loss {out}:"
            " let matched refuse them"
        )


def test_no_dtype_spoils_the_difference():
    pixels, target = np.array([3, 250, 7], "uint8"), np.array([5, 10, 7], "uint8")
    out = mse_loss(pixels, target, "none")
    assert np.array_equal(np.asarray(out), [4, 57600, 0]), (
        f"uint8 3 against 5 and 250 against 10 are 4 and 57600, yours {out}: in uint8 "
        "3 - 5 is 254, take fractions first"
    )
    for dtype in ("float32", "float64", "float16"):
        out = mse_loss(Tensor(np.array([1.0, 2.0], dtype)), np.array([0.5, 0.0]))
        assert out.dtype.name == dtype, (
            f"a {dtype} prediction has a {dtype} loss, yours is {out.dtype}: use matched"
        )
        assert float(out) == 2.125, (
            f"the loss of [1, 2] for [0.5, 0] is 2.125, yours is {float(out)}"
        )


def test_the_squared_error_is_noted_and_changes_nothing():
    prediction, target = (
        Tensor([[1.0, 2.0, 4.0]], requires_grad=True),
        np.array([[3.0, 2.0, 5.0]], "float32"),
    )
    for reduction in ("mean", "sum", "none"):
        assert mse_loss(prediction, target, reduction).requires_grad, (
            "the prediction wants a gradient and the loss lost it: keep to Tensor operations"
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
        "only the target asked for a gradient, and a target never gets one: use matched"
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
            assert str(ours) in str(error) and str(theirs) in str(error), (
                f"{ours} and {theirs}: the error is {error}"
            )
        else:
            assert False, f"{ours} and {theirs}: ValueError expected, got {out}"


# %% bce points=7
def test_surprises_of_known_probabilities():
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
            f"the {reduction} over 6 numbers is {number}, yours is {out}"
        )
    out = float(binary_cross_entropy_with_logits(Tensor(logits), target))
    assert abs(out - wanted.mean()) < 1e-9, (
        f"without a word the mean is meant, {wanted.mean()}, yours is {out}"
    )


def test_huge_scores_have_finite_losses():
    z = np.array([1000.0, 1000.0, -1000.0, -1000.0, 100.0, -100.0, 20.0, -20.0], "float32")
    y = np.array([0, 1, 0, 1, 0, 1, 0, 1], "float32")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = binary_cross_entropy_with_logits(Tensor(z), y, "none").data
    wanted = [1000, 0, 0, 1000, 100, 100, 20, 20]
    assert np.isfinite(found).all(), (
        f"scores {z} give {found}: something overflowed; only exp of -|z| is safe"
    )
    assert np.allclose(found, wanted, rtol=1e-6, atol=1e-6), (
        f"scores {z}, outcomes {y}: losses {wanted}, yours {found}"
    )


def test_sure_and_wrong_is_not_flat():
    z = np.array([0.0, 17.0, 20.0, 30.0], "float32")
    found = binary_cross_entropy_with_logits(Tensor(z), np.zeros(4), "none").data
    assert np.allclose(found[0], np.log(2), rtol=1e-5), (
        f"for y = 0 and z = 0 the loss is log 2, yours {found[0]}"
    )
    steps = found[2:] - found[1:-1]
    assert np.allclose(steps, [3, 10], rtol=1e-4, atol=0), (
        f"for y = 0 the loss grows like z: from 17 to 20 by 3, to 30 by 10, yours by {steps}. A"
        " clipped probability is flat there, and a flat loss teaches nothing"
    )


def test_targets_between_no_and_yes():
    z, y = (
        np.array([[-2.0, 0.5], [3.0, -0.25], [0.0, 1.5]]),
        np.array([[0.25, 0.9], [0.5, 0.0], [0.3, 1.0]]),
    )
    p = 1 / (1 + np.exp(-z))
    wanted = -y * np.log(p) - (1 - y) * np.log(1 - p)
    found = binary_cross_entropy_with_logits(Tensor(z), y, "none").data
    assert np.allclose(found, wanted, rtol=1e-9, atol=0), (
        f"logits {z} and wishes {y} cost {wanted}, yours {found}: both prices count, weighed by"
        " y and 1 - y"
    )


def test_the_opposite_question_has_the_same_loss():
    z, y = np.array([-2.0, 0.5, 3.0, -0.25]), np.array([1.0, 0.2, 0.0, 0.7])
    one = binary_cross_entropy_with_logits(Tensor(z), y, "none").data
    other = binary_cross_entropy_with_logits(Tensor(-z), 1 - y, "none").data
    assert np.allclose(one, other, rtol=1e-9, atol=0), (
        f"rain with logit z, or dryness with -z: the losses must agree, yours are {one} and "
        f"{other}"
    )
    even = binary_cross_entropy_with_logits(Tensor([0.0, 0.0]), [0, 1], "none").data
    assert np.allclose(even, 0.6931472, rtol=1e-6, atol=0), (
        f"an even chance costs log 2 = 0.6931 nats either way, yours {even}: is it the natural "
        "logarithm?"
    )


def test_wrong_targets_and_shapes_are_refused():
    good = np.zeros((2, 3), "float32")
    for value, place in [(-1.0, (1, 0)), (1.5, (0, 2)), (np.nan, (1, 2))]:
        target = np.ones((2, 3), "float32")
        target[place] = value
        try:
            out = binary_cross_entropy_with_logits(Tensor(good), target)
        except ValueError as error:
            assert str(value) in str(error) and str(place) in str(error), (
                f"name {value} at {place}, not: {error}"
            )
        else:
            assert False, (
                f"a target of {value} is no probability, yours gives {out}: call "
                "check_probabilities"
            )
    try:
        out = binary_cross_entropy_with_logits(Tensor([[0.5], [2.0], [1.0]]), [0, 1, 1])
    except ValueError as error:
        assert "(3, 1)" in str(error) and "(3,)" in str(error), (
            f"the error should name (3, 1) and (3,), yours: {error}"
        )
    else:
        assert False, f"(3, 1) against (3,) must be refused, yours gives {out}: use matched"


def test_binary_losses_are_noted_and_stay_narrow():
    for dtype in ("float32", "float64", "float16"):
        logits, target = (
            Tensor(np.array([1.5, -2.0, 0.0], dtype), requires_grad=True),
            np.array([0.0, 1.0, 1.0]),
        )
        for reduction in ("mean", "sum", "none"):
            out = binary_cross_entropy_with_logits(logits, target, reduction)
            assert out.requires_grad, (
                "the logits want a gradient and the loss lost it: keep to Tensor operations"
            )
            assert out.dtype.name == dtype, (
                f"{dtype} logits have a {dtype} loss, yours is {out.dtype}: use matched"
            )
        assert np.array_equal(logits.data, [1.5, -2, 0]), (
            f"the loss changed the logits to {logits.data}"
        )
        assert np.array_equal(target, [0, 1, 1]), f"the loss changed the target to {target}"
    whole = binary_cross_entropy_with_logits(np.array([3, 0], "uint8"), [0, 1], "none").data
    assert np.allclose(whole, [3.0485873, 0.6931472], rtol=1e-6, atol=0), (
        f"uint8 logits 3 and 0 cost 3.0486 and 0.6931, yours {whole}: in uint8 -3 is 253, take "
        "fractions first"
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
    ), f"whole numbers 2 for yes, -5 for no: float32 [[0.12693, 0.00672]] expected, got {whole}"


def test_other_binary_targets_are_refused():
    for value, shape, place in [
        (2.0, (4,), (3,)),
        (-0.25, (2, 1, 3), (1, 0, 2)),
        (np.inf, (1, 1), (0, 0)),
        (1.25, (), ()),
    ]:
        target = np.full(shape, 0.5)
        target[place] = value
        try:
            out = binary_cross_entropy_with_logits(Tensor(np.ones(shape)), target)
        except ValueError as error:
            assert str(value) in str(error) and str(place) in str(error), (
                f"{value} at {place}: the error is {error}"
            )
        else:
            assert False, f"a target of {value} at {place}: ValueError expected, got {out}"
    for ours, theirs in [((2, 1), (2,)), ((2, 3), (3,)), ((1,), ()), ((3, 2), (2, 3))]:
        try:
            out = binary_cross_entropy_with_logits(np.ones(ours), np.ones(theirs))
        except ValueError as error:
            assert str(ours) in str(error) and str(theirs) in str(error), (
                f"{ours} and {theirs}: the error is {error}"
            )
        else:
            assert False, f"{ours} and {theirs}: ValueError expected, got {out}"


# %% log-sum-exp points=4
def test_shift_and_sum_have_the_right_shapes():
    for shape in [(5,), (2, 3), (3, 2), (2, 3, 4), (4, 1), (1, 6), (0, 3)]:
        scores = np.random.default_rng(3).normal(size=shape)
        shifted, total = shifted_log_sum_exp(scores)
        assert np.shape(shifted) == shape, (
            f"shifted scores keep the shape {shape}, yours have {np.shape(shifted)}"
        )
        assert np.shape(total) == shape[:-1], (
            f"scores of shape {shape} have one log-sum-exp per row, shape {shape[:-1]}, yours "
            f"{np.shape(total)}"
        )
        for place in np.ndindex(shape[:-1]):
            row = [float(z) for z in scores[place]]
            wanted = np.array(row) - max(row)
            assert np.allclose(shifted[place], wanted, rtol=0, atol=1e-12), (
                f"the row {row} without its largest is {wanted}, yours {shifted[place]}"
            )
            wanted = np.log(sum(np.exp(z) for z in row)) - max(row)
            assert abs(float(total[place]) - wanted) < 1e-12, (
                f"row {row}: the log-sum-exp of the shifted row is {wanted:.6f}, yours "
                f"{total[place]}"
            )


def test_log_sum_exp_of_known_numbers():
    _, total = shifted_log_sum_exp(np.log([[1.0, 2.0, 5.0], [10.0, 30.0, 60.0]]))
    assert np.allclose(total, np.log([8 / 5, 100 / 60]), rtol=1e-12, atol=0), (
        "exp of the rows is 1 2 5 and 10 30 60, shifted .2 .4 1 and .167 .5 1: log 1.6 = "
        f"0.4700 and log 1.667 = 0.5108, yours {total}"
    )
    _, total = shifted_log_sum_exp(np.zeros((2, 7)))
    assert np.allclose(total, 1.9459101, rtol=1e-7, atol=0), (
        f"seven scores of 0 give log 7 = 1.9459, yours {total}"
    )


def test_each_row_is_shifted_by_its_own_largest():
    scores = np.array(
        [
            [1000.0, 998.0, 0.0],
            [-1000.0, -1001.0, -999.0],
            [0.5, 0.0, -0.5],
            [90.0, 90.0, 90.0],
        ],
        "float32",
    )
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        shifted, total = shifted_log_sum_exp(scores)
    assert np.isfinite(total).all(), (
        f"scores around 1000, -1000, 0 and 90 give {total}: shift every row by its own largest "
        "score, not all by one"
    )
    wanted = [[0, -2, -1000], [-1, -2, 0], [0, -0.5, -1], [0, 0, 0]]
    assert np.array_equal(shifted, wanted), (
        f"each row's largest should become 0: {wanted}, yours {shifted}"
    )
    wanted = [0.1269280, 0.4076060, 0.6802697, 1.0986123]
    assert np.allclose(total, wanted, rtol=1e-6, atol=0), (
        f"the log-sum-exp of the shifted rows is {wanted}, yours {total}"
    )


def test_shifting_changes_neither_dtype_nor_scores():
    for dtype in ("float32", "float64", "float16"):
        scores = np.array([[1.0, 4.0, -2.0]], dtype)
        shifted, total = shifted_log_sum_exp(scores)
        for name, found in [("shifted scores", shifted), ("log-sum-exp", total)]:
            assert found.dtype.name == dtype, (
                f"{dtype} scores have {dtype} {name}, yours are {found.dtype}"
            )
        assert np.allclose(total, 0.0509, rtol=3e-2, atol=0), (
            f"1, 4, -2 give 0.0509, yours {total}"
        )
        assert np.array_equal(scores, [[1, 4, -2]]), (
            f"your function changed its input to {scores}: no -= on it"
        )
    _, masked = shifted_log_sum_exp(np.array([0.0, -np.inf, 0.0]))
    assert abs(float(masked) - 0.6931472) < 1e-6, (
        f"a score of -inf is a class that cannot be: log 2 is left, yours {masked}"
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
        scores = (
            random.normal(size=shape) * size + random.choice([-5000, 0, 5000], size.shape)
        ).astype(dtype)
        before = scores.copy()
        shifted, total = shifted_log_sum_exp(scores=scores)
        assert np.array_equal(scores, before), f"{shape}: the scores were changed"
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
        assert (np.asarray(shifted) <= 0).all(), f"a shifted score is above 0: {shifted}"
    shifted, total = shifted_log_sum_exp(
        np.array([[[-1e30, -1e30], [1e-3, -np.inf], [-7.0, 1e30]]])
    )
    assert np.allclose(np.asarray(total), [[np.log(2), 0, 0]], rtol=1e-9, atol=1e-12), (
        f"log 2, 0, 0, got {total}"
    )


# %% labels points=3
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
                f"labels {labels} are fine for logits of shape {shape}: 0 to {shape[-1] - 1}; "
                f"yours: {error}"
            )
        assert found is None, (
            f"there is nothing to return when all is well, yours returns {found!r}"
        )
    try:
        check_labels(np.array([3]), (1, 3))
    except ValueError:
        return
    assert False, (
        "label 3 for logits of shape (1, 3) must be refused: there are classes 0, 1 and 2"
    )


def test_numbers_that_name_no_class_are_refused():
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
    check_labels(np.array([1, 0]), (2, 3))  # these do name classes


def test_the_error_leads_to_the_first_bad_label():
    for dtype in ("int64", "int8", "uint8"):
        big = 120 if dtype != "int64" else 4000
        for labels, shape, first, place in [
            ([0, 5, big, 9], (4, 5), 5, (1,)),
            ([[0, 1, 3], [2, big, 3]], (2, 3, 4), big, (1, 1)),
            (big, (7,), big, ()),
        ]:
            labels = np.array(labels, dtype)
            try:
                check_labels(labels, shape)
            except ValueError as error:
                said = str(error)
                for part in (
                    f"label {first}",
                    f"at {place}",
                    str(labels.shape),
                    str(shape),
                    f"0 to {shape[-1] - 1}",
                ):
                    assert part in said, (
                        f"labels {labels.tolist()}, logits {shape}: the error should name "
                        f"{part!r}, yours: {said}"
                    )
            else:
                assert False, (
                    f"label {first} at {place} is no class of logits of shape {shape}: "
                    "refuse it"
                )


# %% labels hidden points=1
def test_other_labels_are_told_apart():
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
    for labels, shape, first, place in [
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
                for part in (
                    f"label {first}",
                    f"at {place}",
                    str(labels.shape),
                    str(shape),
                    f"0 to {shape[-1] - 1}",
                ):
                    assert part in str(error), (
                        f"labels {labels.tolist()}, logits {shape}: {part!r} not in: {error}"
                    )
            else:
                assert False, f"labels {labels.tolist()}, logits {shape}: ValueError expected"


# %% true-scores points=3
def test_each_row_gives_the_score_of_its_own_class():
    scores = np.array(
        [[0.5, 4.0, -1.0], [7.0, 2.0, 9.0], [3.0, 8.0, 6.0], [-2.0, -5.0, 1.5]], "float32"
    )
    found = true_scores(scores, np.array([2, 0, 1, 1]))
    assert np.shape(found) == (4,), (
        "four rows and four labels give four scores, shape (4,), yours has shape "
        f"{np.shape(found)}"
    )
    assert np.array_equal(found, [-1, 7, 8, -5]), (
        f"labels 2 0 1 1 pick -1, 7, 8, -5 from\n{scores}\nyours are {found}: row i, column "
        "labels[i]"
    )
    assert found.dtype.name == "float32", (
        f"float32 scores stay float32, yours are {found.dtype}"
    )


def test_rows_may_lie_along_any_number_of_axes():
    random = np.random.default_rng(5)
    for shape in [(5,), (4, 3), (2, 3, 5), (3, 1, 2, 4), (6, 1), (1, 7), (0, 3)]:
        scores, labels = random.normal(size=shape), random.integers(0, shape[-1], shape[:-1])
        labels = np.array(labels)
        wanted = np.array(
            [scores[place][labels[place]] for place in np.ndindex(labels.shape)]
        ).reshape(labels.shape)
        found = true_scores(scores, labels)
        assert np.shape(found) == shape[:-1], (
            f"scores of shape {shape} give one number per row, shape {shape[:-1]}, yours has "
            f"shape {np.shape(found)}"
        )
        assert np.array_equal(found, wanted), (
            f"scores of shape {shape}, labels {labels}: {wanted}, yours {found}"
        )


def test_small_integer_labels_do_not_overflow():
    scores = np.arange(80 * 4, dtype="float32").reshape(80, 4)
    for dtype in ("uint8", "int8", "int32", "uint64"):
        found = true_scores(scores, np.full(80, 3, dtype))
        assert np.array_equal(found, scores[:, 3]), (
            f"{dtype} labels of 3 in 80 rows pick the last column, yours goes wrong from row "
            f"{int(np.argmax(found != scores[:, 3]))}: places beyond 255 do not fit into a"
            " uint8"
        )


# %% true-scores hidden points=1
def test_true_scores_of_other_shapes_and_dtypes():
    random = np.random.default_rng(59)
    for shape, given, kind in [
        ((300, 2), "float16", "int8"),
        ((2, 4, 3), "float64", "uint16"),
        ((1, 5, 1, 2, 6), "float32", "int32"),
        ((2, 3, 1), "int64", "uint8"),
        ((4, 0, 5), "float32", "int64"),
        ((8,), "float32", "uint8"),
    ]:
        scores = (random.permutation(np.prod(shape)).reshape(shape) - 7).astype(given)
        labels = np.array(random.integers(0, shape[-1], shape[:-1]), kind)
        before = scores.copy(), labels.copy()
        right = [scores[place][labels[place]] for place in np.ndindex(labels.shape)]
        right = np.array(right, given).reshape(labels.shape)
        found = np.asarray(true_scores(labels=labels, scores=scores))
        assert (
            found.shape == shape[:-1]
            and found.dtype.name == given
            and np.array_equal(found, right)
        ), f"{given} scores of {shape}, {kind} labels {labels}: {right} expected, got {found!r}"
        assert np.array_equal(scores, before[0]) and np.array_equal(labels, before[1]), (
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
        f"the true classes have probabilities .5 .7 .05 .5, so the losses are {wanted}, yours "
        f"{found}"
    )
    even = cross_entropy_forward(np.zeros((2, 7)), np.array([3, 6]), 0.0)
    assert np.allclose(even, 1.9459101, rtol=1e-7, atol=0), (
        f"seven equal scores cost log 7 = 1.9459 nats, yours {even}: is it the natural "
        "logarithm, and is it positive?"
    )


def test_losses_at_any_number_of_axes():
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
            wanted = -(target * np.log(np.exp(z) / np.exp(z).sum(-1, keepdims=True))).sum(-1)
            assert np.allclose(found, wanted, rtol=1e-9, atol=1e-12), (
                f"logits of shape {shape}, smoothing {smoothing}: the losses are {wanted}, "
                f"yours {found}"
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
        f"scores up to +-10000 give {found}: something overflowed; "
        "shift each row by its largest"
    )
    assert np.allclose(found, wanted, rtol=2e-6, atol=0), (
        f"the losses are {wanted}, yours {found}: take the true score from the shifted scores "
        "as well, or digits get lost"
    )


def test_smoothing_spreads_a_share_over_all_classes():
    z, label = np.array([2.0, -1.0, 1.5, 4.0, -3.0]), np.array(2)
    surprise = np.log(np.exp(z).sum()) - z
    for s in (0.1, 0.4, 1.0):
        target = np.full(5, s / 5)
        target[2] = 1 - s + s / 5
        wanted, found = (target * surprise).sum(), float(cross_entropy_forward(z, label, s))
        assert abs(found - wanted) < 1e-9, (
            f"smoothing {s} with 5 classes: the true class weighs 1 - s + s/5 = "
            f"{1 - s + s / 5:.2f}, each other s/5 = {s / 5:.2f}; that gives {wanted:.5f},"
            f" yours is {found:.5f}"
        )


def test_a_class_that_cannot_be_does_no_harm():
    z = np.array([[0.0, -np.inf, 0.0], [-np.inf, 2.0, 1.0]], "float32")
    with np.errstate(invalid="ignore"):
        found = cross_entropy_forward(z, np.array([2, 1]), 0.0)
        ruled_out = cross_entropy_forward(z, np.array([1, 2]), 0.0)
    assert np.allclose(found, [0.6931472, 0.3132617], rtol=1e-6, atol=0), (
        f"-inf rules a class out, the losses are [0.6931, 0.3133], yours {found}: 0 * inf is "
        "nan, so no mean without smoothing"
    )
    assert ruled_out[0] == np.inf and abs(ruled_out[1] - 1.3132617) < 1e-5, (
        f"what was ruled out and happens costs infinity: [inf, 1.3133], yours {ruled_out}"
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
                f"the logits were changed to {z}: no -= on an input"
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
        surprise = np.logaddexp.reduce(z.astype("float64"), -1)[..., None] - z
        for smoothing in (0.0, 0.05, 0.5, 1.0):
            target = (1 - smoothing) * np.eye(shape[-1])[labels] + smoothing / shape[-1]
            right = (target * surprise).sum(-1)
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
def noted_labels(logits, labels):
    """The labels that the note of cross_entropy(logits, labels) holds, read after `labels` was
    filled with 1."""
    made = cross_entropy(logits, labels, "none").creator
    labels[:] = 1
    return made.options["labels"]


# %% cross-entropy points=7
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
            assert out.shape == np.shape(number), (
                f"{reduction!r} has shape {np.shape(number)}, yours {out.shape}"
            )
            assert np.allclose(out.data, number, rtol=1e-9, atol=0), (
                f"true classes with probabilities .5 .7 .05 .5: {reduction!r} should be "
                f"{number}, yours is {out.data}"
            )
    out = float(cross_entropy(np.log(p), [1, 0, 0, 2]))
    assert abs(out - wanted.mean()) < 1e-9, (
        f"without a word the mean over the 4 rows is meant, {wanted.mean():.6f}, yours is "
        f"{out:.6f}"
    )


def test_scores_are_not_turned_into_probabilities_twice():
    out = float(cross_entropy(Tensor([[0.0, 20.0, 0.0], [0.0, 0.0, 30.0]]), [1, 2]))
    assert 0 <= out < 1e-6, (
        f"sure and right costs nothing, yours costs {out}: no softmax before the loss, it is "
        "in it"
    )
    out = float(cross_entropy(Tensor([[0.0, 20.0, 0.0]]), [2]))
    assert abs(out - 20) < 1e-4, (
        f"20 below the best score costs 20 nats, yours {out}: these are scores, not "
        "probabilities"
    )


def test_every_row_of_every_axis_has_a_label():
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
            f"(2, 3, 5), smoothing 0.25, {reduction!r}: {number}, yours {out.data}: the classes"
            " are the last axis"
        )
    single = cross_entropy(Tensor([0.0, 0.0, 0.0, 0.0, 0.0]), 3)
    assert single.shape == () and abs(float(single) - 1.609438) < 1e-5, (
        f"one row, one label: log 5, yours {single}"
    )


def test_labels_that_name_no_class_are_refused():
    scores = Tensor(np.ones((2, 3), "float32"))
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
            out = cross_entropy(scores, labels)
        except (TypeError, ValueError) as error:
            missing = [part for part in parts if part not in str(error)]
            assert not missing, (
                f"labels {labels}: the error should name {', '.join(missing)}, yours: {error}"
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
            assert str(smoothing) in str(error), (
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
        assert "empty" in str(error) or "no losses" in str(error), (
            f"say that the batch is empty, not: {error}"
        )
    else:
        assert False, (
            f"the mean of no rows is 0 / 0, yours gives {out}: leave the mean to reduced"
        )
    none = cross_entropy(empty, np.zeros(0, "int64"), "none")
    assert none.shape == (0,), f"no rows, kept apart, are shape (0,), yours {none.shape}"
    assert float(cross_entropy(empty, [], "sum")) == 0, "no rows add up to 0"


def test_the_note_holds_one_operation_and_its_own_labels():
    logits, labels = (
        Tensor([[1.0, 4.0, -2.0], [0.5, 0.0, 3.0]], requires_grad=True),
        np.array([2, 0]),
    )
    for reduction in ("mean", "sum", "none"):
        out = cross_entropy(logits, labels, reduction)
        assert out.requires_grad, (
            "the logits want a gradient and the loss lost it: go through apply"
        )
        assert out.dtype.name == "float32", (
            f"float32 logits have a float32 loss, yours is {out.dtype}"
        )
    made = cross_entropy(logits, labels, "none", np.float64(0.5)).creator
    names = sorted(made.options)
    assert len(made.inputs) == 1 and names == ["labels", "smoothing"], (
        "one operation with the input logits and the options labels and smoothing; yours has "
        f"{len(made.inputs)} inputs and the options {names}"
    )
    smoothing = made.options["smoothing"]
    assert type(smoothing) is float and smoothing == 0.5, (
        f"the option smoothing should be the plain float 0.5, yours is {smoothing!r}"
    )
    kept = noted_labels(logits, labels)
    assert np.array_equal(np.asarray(kept), [2, 0]), (
        f"I used my labels array again and your note changed to {kept}: note a copy"
    )
    assert np.array_equal(logits.data, [[1, 4, -2], [0.5, 0, 3]]), (
        f"the logits were changed to {logits.data}"
    )
    whole = cross_entropy(np.array([[0, 5]], "uint8"), [0])
    assert abs(float(whole) - 5.0067153) < 1e-5, (
        f"uint8 scores 0 and 5 cost 5.0067, yours {whole}: 0 - 5 is 251 in uint8"
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
    ), f"whole numbers: float32 [0.16985, 0.75862] expected, got {whole}"
    noted = cross_entropy(
        Tensor(np.zeros((2, 1, 3)), requires_grad=True), Tensor([[2], [1]]), "none"
    ).creator.options
    assert (
        np.array_equal(np.asarray(noted["labels"]), [[2], [1]]) and noted["smoothing"] == 0
    ), f"the note should hold the labels [[2], [1]] and smoothing 0, it holds {noted}"


def test_other_wrong_labels_and_shares_are_refused():
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
            missing = [part for part in parts if part not in str(error)]
            assert not missing, (
                f"logits {shape}, labels {labels}, {options}: {missing} not in: {error}"
            )
        else:
            assert False, (
                f"logits {shape}, labels {labels}, {options}: an error expected, got {out}"
            )

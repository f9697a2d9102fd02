# The checks of lesson 00, by exercise. `check("predict")` in the chapter runs the visible ones.

# %% setup
import math


def close(found, wanted, tolerance=1e-9):
    return abs(found - wanted) <= tolerance * max(1.0, abs(wanted))


def numbers_of(found, count, what):
    """`found`, described by `what`, as a list of floats; it should hold `count` numbers."""
    assert found is not None, f"{what} is None: is `return` missing?"
    wanted = f"{what} should be a list of {count} number{'s' * (count != 1)}"
    try:
        numbers = [float(number) for number in found]
    except TypeError:
        assert False, f"{wanted}, yours is {found!r}"
    assert len(numbers) == count, f"{wanted}, yours has {len(numbers)}: {numbers}"
    return numbers


def predicted(parameters, inputs):
    """`predict(parameters, inputs)`; two likely errors become messages with their cause."""
    call = f"predict({parameters}, {inputs})"
    try:
        return predict(parameters, inputs)
    except IndexError:
        assert False, (
            f"{call} uses an index beyond the list: `parameters` is one longer than `inputs`; "
            "its last number is the bias"
        )
    except TypeError as error:
        if "sequence" not in str(error):
            raise
        assert False, (
            f"{call} multiplies a number by the list `inputs`: take a number from the list, as "
            "in inputs[0]"
        )


def product_model(parameters, inputs):
    """A model that is not linear: the first parameter times all inputs."""
    if any(not isinstance(number, float) for number in inputs):
        raise TypeError(
            f"the model takes the inputs of one example, a list of numbers, and got {inputs}"
        )
    return parameters[0] * math.prod(inputs)


def of_list(formula):
    """A function of a list of numbers, which raises TypeError for a single number."""

    def f(numbers):
        if isinstance(numbers, (int, float)):
            raise TypeError(
                f"f takes a list of numbers and got {numbers}: change one number in a copy of "
                "the list, and call f with the whole copy"
            )
        return formula(numbers)

    return f


# %% predict points=2
def test_predict_multiplies_the_input_by_the_weight_and_adds_the_bias():
    for parameters, x, wanted in [([2.0, 0.5], 3.0, 6.5), ([-1.0, 4.0], 1.5, 2.5)]:
        weight, bias = parameters
        found = predicted(parameters, [x])
        assert found is not None, "predict returned None: is `return` missing?"
        cause = ""
        if close(found, weight * x):
            cause = ": the bias is missing; add parameters[-1]"
        elif close(found, weight * x + bias * x):
            cause = ": your code multiplies the bias by the input; add it as it is"
        elif close(found, weight + bias * x):
            cause = ": the bias is the last parameter, not the first"
        assert close(found, wanted), (
            f"the line with weight {weight} and bias {bias} should be {wanted} at input {x}, "
            f"yours is {found}{cause}"
        )


def test_predict_takes_any_number_of_inputs():
    for parameters, inputs, wanted in [
        ([1.0, 10.0, 100.0, 0.5], [1.0, 2.0, 3.0], 321.5),
        ([3.0, -2.0, 1.0], [4.0, 5.0], 3.0),
        ([7.0], [], 7.0),
    ]:
        before = list(parameters), list(inputs)
        found = predicted(parameters, inputs)
        assert (parameters, inputs) == before, (
            f"predict changed its arguments: {before} are {(parameters, inputs)} now"
        )
        pairs = list(zip(parameters, inputs, strict=False))
        cause, two = "", sum(w * x for w, x in pairs[:2])
        if inputs and close(found, wanted + parameters[-1] * (len(inputs) - 1)):
            cause = ": add the bias once, after the loop"
        elif inputs and close(found, parameters[0] * inputs[0] + parameters[-1]):
            cause = ": your code uses only the first input; is `return` inside the loop?"
        elif inputs[2:] and close(found, parameters[-1] + two):
            cause = ": only the first two inputs count in yours; take all of them"
        assert close(found, wanted), (
            f"predict({parameters}, {inputs}) should be {wanted}, yours is {found}{cause}"
        )


# %% predict hidden points=1
def test_predict_of_other_numbers():
    parameters, inputs = [1.5, -2.0, 0.25], [4.0, 3.0]
    yield predict(parameters, inputs), parameters, inputs


# %% mean-squared-error points=3
def test_the_mean_squared_error_of_a_line():
    examples = [([0.0], 1.0), ([1.0], 1.0), ([2.0], 1.0), ([4.0], 1.0)]
    found = mean_squared_error(product_model, [1.0], examples)  # differences -1, 0, 1, 3
    assert found is not None, "mean_squared_error returned None: is `return` missing?"
    causes = {
        11.0: "11 is the sum of the squares: divide it by the number of examples",
        1.5: "1.5 is twice the mean of the differences: `** 2` squares, `* 2` doubles",
        5.25: "5.25 is the loss of `predict`: call `model`, which is an argument",
        0.75: "0.75 is the mean of the differences: square each difference first",
        0.5625: "0.5625 is the square of the mean: square each difference before you add",
        2.0: "2 is 2.75 rounded down: `//` rounds, `/` divides",
        1.25: "1.25 is the mean of the distances: square each difference instead",
        9.0: "9 is the square of the last difference only: add all of them up",
        2.25: "2.25 is a quarter of the last square: add all of them up",
        0.25: "0.25 is a quarter of the first square: is `return` inside the loop?",
        1.0: "1 is the first square: is `return` inside the loop?",
        0.0: "0 is the loss of `predict` here: call `model`, which is an argument",
    }
    cause = next((f". {text}" for wrong, text in causes.items() if close(found, wrong)), "")
    assert close(found, 2.75), (
        f"with the differences -1, 0, 1 and 3 the loss should be 2.75, yours is {found}{cause}"
    )


def test_the_mean_squared_error_uses_the_model_that_it_gets():
    examples = [([2.0, 3.0], 10.0), ([1.0, -1.0], 1.0)]
    found = mean_squared_error(product_model, [2.0, 0.0, 0.0], examples)  # differences 2, -3
    cause = ""
    if close(found, 18.5) or close(found, 37.0):  # with a linear model
        cause = ": call `model`, which is an argument, and not `predict`"
    if close(found, 50.5):
        cause = ": write model(parameters, inputs), in this order"
    assert close(found, 6.5), (
        "with a model that multiplies its two inputs the loss should be 6.5, "
        f"yours is {found}{cause}"
    )


# %% mean-squared-error hidden points=1
def test_the_mean_squared_error_of_one_example_and_of_many():
    model = lambda parameters, inputs: parameters[0]
    for examples in [[([], -1.5)], [([], float(i)) for i in range(40)]]:
        yield mean_squared_error(model, [0.5], examples)


# %% numerical-gradient points=4
def test_the_gradient_has_one_partial_derivative_per_number():
    f = of_list(lambda n: n[0] * n[1] - 4 * n[2])
    numbers = [3.0, -5.0, 2.0]
    found = numerical_gradient(f, numbers)
    found = numbers_of(found, 3, "numerical_gradient(f, [3, -5, 2])")
    assert numbers == [3.0, -5.0, 2.0], (
        f"numerical_gradient changed its argument from [3.0, -5.0, 2.0] to {numbers}: change a "
        "copy, list(numbers)"
    )
    assert max(map(abs, found)) > 0, (
        "the gradient of n0 * n1 - 4 * n2 at [3, -5, 2] should be [-5, 3, -4], yours is "
        f"{found}: do you change one copy of the list twice? Make two copies with list(numbers)"
    )
    for i, (mine, wanted) in enumerate(zip(found, [-5.0, 3.0, -4.0])):
        cause = ""
        if close(mine, -wanted, 1e-6):
            cause = ": the sign is wrong; subtract f at - h from f at + h"
        elif close(mine, 2 * wanted, 1e-6):
            cause = ": the two points are 2 h apart, so divide by 2 * h"
        elif 0.9e-10 < mine / wanted < 1.1e-10:
            cause = ": `/ 2 * h` divides by 2 and then multiplies by h; write `/ (2 * h)`"
        elif abs(mine) < 1e-3 * abs(wanted):
            cause = ": divide by the distance of the two points, 2 * h"
        elif close(mine, -23.0, 1e-2):  # f at the point itself
            cause = ": put parentheses around the difference, so that all of it is divided"
        elif mine:
            cause = ": change one number at a time, while the others keep their values"
        assert close(mine, wanted, 1e-6), (
            f"the derivative of n0 * n1 - 4 * n2 with respect to n{i} at [3, -5, 2] should "
            f"be {wanted}, yours is {mine:.6g}{cause}"
        )
    found = numerical_gradient(of_list(lambda n: n[0] - 3 * n[1]), [2.0, 2.0])
    found = numbers_of(found, 2, "numerical_gradient(f, [2, 2])")
    assert close(found[0], 1.0, 1e-6) and close(found[1], -3.0, 1e-6), (
        f"the gradient of n0 - 3 * n1 at [2, 2] should be [1, -3], yours is {found}: move each "
        "number by its place in the list; `index` finds the first of two equal numbers"
    )


def test_the_gradient_uses_central_differences_and_h():
    call = "numerical_gradient(f, [3], h=0.5)"
    found = numerical_gradient(of_list(lambda n: n[0] ** 2), [3.0], h=0.5)
    (found,) = numbers_of(found, 1, call)
    cause = ""
    if close(found, 6.5) or close(found, 5.5):
        cause = ": your code moves the number in one direction only; use + h and - h"
    assert close(found, 6.0), (
        "for f = n0**2 at 3 with h = 0.5, the central difference should be "
        f"(3.5**2 - 2.5**2) / 1 = 6, yours is {found}{cause}"
    )
    found = numerical_gradient(of_list(lambda n: n[0] ** 3), [2.0], h=0.25)
    (found,) = numbers_of(found, 1, call)
    cause = ": use `h` wherever you move a number or divide" if close(found, 12.0, 1e-6) else ""
    assert close(found, 12.0625), (
        "for f = n0**3 at 2 with h = 0.25, the central difference should be "
        f"(2.25**3 - 1.75**3) / 0.5 = 12.0625, yours is {found}{cause}"
    )


# %% numerical-gradient hidden points=1
def test_the_gradient_of_other_functions_at_other_points():
    f = lambda n: n[0] ** 3 * n[1] - n[2] * n[3] ** 2 + 7
    for h in (0.125, 2.0):
        yield [*numerical_gradient(f, [-2.0, 1.5, 40.0, -0.25], h)]
    yield [*numerical_gradient(lambda n: math.exp(n[0]), [2.0])]


# %% step points=2
def test_a_step_moves_against_the_derivatives():
    call = "step([1, 5, -2], [2, -4, 0], 0.5)"
    found = numbers_of(step([1.0, 5.0, -2.0], [2.0, -4.0, 0.0], 0.5), 3, call)
    causes = {
        (2.0, 3.0, -2.0): ": this adds the derivatives, so the loss grows; subtract them",
        (-1.0, 9.0, -2.0): ": the learning rate is missing",
        (-1.0, 2.0, 0.0): ": this is only the change; subtract it from the parameter",
        (1.0, -2.0, 0.0): ": this is only the change; subtract it from the parameter",
        (-3.0, 13.0, -2.0): ": multiply the derivative by the learning rate; do not divide",
        (1.0, 5.0, -2.0): ": nothing has changed; in a loop, `p -= ...` changes only `p`",
    }
    cause = causes.get(tuple(found), "")
    if close(found[0], 1 - 0.5 * 2 / 20**0.5):
        cause = ": do not divide the gradient by its length"
    assert found == [0.0, 7.0, -2.0], (
        f"{call} should be [0.0, 7.0, -2.0], yours is {found}{cause}"
    )


def test_a_step_returns_a_new_list():
    parameters = [1.0, 5.0]
    found = step(parameters, [2.0, -4.0], 0.25)
    assert parameters == [1.0, 5.0], (
        f"step changed its argument from [1.0, 5.0] to {parameters}: build a new list"
    )
    assert list(found) == [0.5, 6.0], (
        f"step([1, 5], [2, -4], 0.25) should be [0.5, 6.0], yours is {found}"
    )


# %% train points=3
def test_training_returns_the_parameters_before_and_after_each_step():
    loss = lambda p: p[0] ** 2 + 4 * p[1] ** 2  # the gradient is [2 p0, 8 p1]
    call = "train(loss, [8, 1], 0.25, 2)"
    history = train(loss, [8.0, 1.0], 0.25, 2)
    assert history is not None, f"{call} returned None: is `return` missing?"
    assert not all(isinstance(entry, float) for entry in history), (
        f"{call} returned the numbers {list(history)}: return the history, which is a list of "
        "3 lists, the start and one per step"
    )
    assert len(history) == 3, (
        f"{call} should return 3 lists of parameters, the start and one per step; yours "
        f"returns {len(history)}"
    )
    first = numbers_of(history[0], 2, "the first entry of the history")
    cause = ": is it the same list as a later entry?" if first != [8.0, 1.0] else ""
    assert first == [8.0, 1.0], (
        f"the first entry of the history should be the start, [8, 1], yours is {first}{cause}"
    )
    for i, wanted in enumerate([[4.0, -1.0], [2.0, 1.0]], 1):
        before = [list(map(float, entry)) for entry in history][i - 1]
        found = numbers_of(history[i], 2, f"entry {i} of the history")
        cause = ""
        if found == before == [8.0, 1.0]:
            cause = ": the step changed nothing; use the list that `step` returns"
        elif i == 2 and close(found[0], 0.0, 1e-6):
            cause = ": compute the gradient anew in each step, at the latest parameters"
        elif i == 2 and close(found[0], 4.0, 1e-6):
            cause = ": each step starts from the parameters after the step before"
        assert all(close(*pair, 1e-6) for pair in zip(found, wanted)), (
            f"after {i} step{'s' * (i > 1)} the parameters should be {wanted}, "
            f"yours are {[round(p, 6) for p in found]}{cause}"
        )


def test_training_takes_every_step_and_does_not_change_the_start():
    start = [8.0]
    history = train(lambda p: p[0] ** 2, start, 0.25, 3)
    found = numbers_of(history[-1], 1, "the last entry of the history")
    assert close(found[0], 1.0, 1e-6), (
        "three steps from 8, each half of the way to 0, should end at 1; yours end at "
        f"{found[0]}"
    )
    assert start == [8.0], f"train changed its argument from [8.0] to {start}"
    history = train(lambda p: p[0] ** 2, [1.0], 1.5, 2)
    found = [numbers_of(entry, 1, "an entry of the history")[0] for entry in history]
    assert all(close(*pair, 1e-5) for pair in zip(found, [1.0, -2.0, 4.0])), (
        "with the learning rate 1.5 each step from 1 leads farther up, to -2 and to 4; yours "
        f"leads to {found}: take every step, also one after which the loss is higher"
    )
    history = train(lambda p: p[0] ** 2, start, 0.25, 0)
    assert [list(entry) for entry in history] == [[8.0]], (
        f"with 0 steps, train should return only the start, [[8.0]]; yours returns {history}"
    )
    history = train(lambda p: p[0] ** 2, [0.0], 0.25, 2)
    assert len(history) == 3, (
        "2 steps from a minimum count, though the gradient is 0 there: with the start, "
        f"train should return 3 entries, yours returns {len(history)}"
    )


# %% train hidden points=1
def test_training_with_no_step_and_with_many():
    yield [list(p) for p in train(lambda p: p[0] ** 2, [3.0], 0.1, 0)]
    loss = lambda p: (p[0] - 4) ** 2 + (p[1] + 0.5) ** 2 + (p[0] - 4) * (p[1] + 0.5)
    yield [list(p) for p in train(loss, [0.0, 0.0], 0.3, 200)]


# %% seconds-per-step points=1
def test_the_seconds_of_a_step():
    found = seconds_per_step(0.5, 10, 100)
    assert found is not None, "seconds_per_step returned None: is `return` missing?"
    causes = {
        500.0: ": the loss is computed twice for each parameter, with + h and with - h",
        100.0: ": one loss takes 10 times as long for 10 times as many parameters",
        10.0: ": the larger model has more parameters, and computing its loss takes longer",
        10000.0: ": divide by `count`; `seconds_per_loss` is for `count` parameters",
        2000.0: ": multiply the number of losses by the seconds that one loss takes, here 5",
        5.0: ": this is the time of one loss, and a step computes 200 losses",
        200.0: ": this is the number of losses; multiply it by the seconds that one loss takes",
    }
    cause = next((text for wrong, text in causes.items() if close(found, wrong)), "")
    assert close(found, 1000.0), (
        "if one loss takes 0.5 s for 10 parameters, a step for 100 should take 1000 s, "
        f"yours is {found}{cause}"
    )
    found = seconds_per_step(0.002, 4, 6)
    assert close(found, 0.036), (
        "if one loss takes 0.002 s for 4 parameters, a step for 6 should take 0.036 s, "
        f"yours is {found}{': did // round 6 / 4 down?' * close(found, 0.024)}"
    )

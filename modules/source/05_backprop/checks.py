# The checks of lesson 05, by exercise. `check("nudge")` in the chapter runs the visible ones.

# %% setup
import math
import random


# %% nudge points=3
def test_nudging_finds_the_slope_of_each_number():
    found = slopes_by_nudging(lambda x, y, z: x * y - 4 * z, 3.0, -5.0, 2.0)
    wanted = [-5.0, 3.0, -4.0]
    assert len(found) == 3, f"three numbers have three slopes, yours are {found}"
    assert max(map(abs, found)) > 0, (
        f"x*y - 4*z moves with all three, not {found}: up and down are the same list?"
    )
    for name, mine, right in zip("xyz", found, wanted):
        assert abs(mine - right) < 1e-6, (
            f"x*y - 4*z at x=3, y=-5, z=2 has slope {right} along {name}, yours is {mine:.6g}: "
            "divide by the distance between the two places, and move one number at a time"
        )


def test_nudging_looks_both_ways():
    (found,) = slopes_by_nudging(lambda x: x**2, 3.0, step=0.5)
    assert abs(found - 6.0) < 1e-9, (
        f"with step 0.5, (3.5**2 - 2.5**2) / 1 is exactly 6, yours is {found}: go up and down, "
        "a nudge to one side sees the bend"
    )
    (found,) = slopes_by_nudging(lambda x: x**3, 2.0, step=0.25)
    assert abs(found - 12.0625) < 1e-9, (
        f"with step 0.25, (2.25**3 - 1.75**3) / 0.5 is 12.0625, yours is {found}: use step "
        "wherever you move or divide"
    )


def test_nudging_uses_a_small_step_unless_told():
    (found,) = slopes_by_nudging(math.exp, 2.0)
    assert abs(found - math.exp(2.0)) < 1e-7, (
        f"exp has slope {math.exp(2.0):.9f} at 2, yours is {found:.9f}"
    )


# %% nudge hidden points=1
def test_nudging_serves_any_function_at_any_place():
    def f(a, b, c, d):
        return a**3 * b - c * d * d + 7

    a, b, c, d = -2.0, 1.5, 40.0, -0.25
    for step in (0.125, 2.0):
        found = slopes_by_nudging(f, a, b, c, d, step=step)
        # Both ways, the slope of a cube is 3 a² plus step².
        wanted = [(3 * a * a + step * step) * b, a**3, -d * d, -2 * c * d]
        assert len(found) == 4 and all(abs(f - w) < 1e-9 for f, w in zip(found, wanted)), (
            f"a³b - cd² + 7 at {a}, {b}, {c}, {d}, step {step}: {wanted} is due, found {found}"
        )
    found = slopes_by_nudging(
        lambda *numbers: sum(i * x * x for i, x in enumerate(numbers)), *[0.5] * 9
    )
    assert len(found) == 9 and all(abs(f - i) < 1e-6 for i, f in enumerate(found)), (
        f"sum of i x²: slopes i, found {found}"
    )
    assert len(slopes_by_nudging(lambda: 3.0)) == 0, "a function of no numbers has no slopes"


# %% traced points=2
def test_the_inner_numbers_were_traced():
    found = traced()
    missing = [name for name in ("L", "f", "g", "e", "c", "d", "b", "a") if name not in found]
    assert not missing, f"eight slopes are asked for, yours lack the keys {missing}"
    e, f, g = -6.0, 4.0, 7.0
    nudged = {
        "L": lambda h: f * g + h,
        "f": lambda h: (f + h) * g,
        "g": lambda h: f * (g + h),
        "e": lambda h: (e + h + 10) * g,
    }
    for name, moved in nudged.items():
        right = round((moved(0.5) - moved(-0.5)) / 1, 6)
        why = (
            "L moves with itself: 1"
            if name == "L"
            else ("in a product, one factor is felt as strongly as the other is large")
        )
        assert float(found[name]) == right, (
            f"turning {name} by 0.5 both ways moves L by {right} in all, your slope is "
            f"{found[name]}: {why}"
        )


def test_the_dials_were_traced():
    found = traced()
    missing = [name for name in "dcba" if name not in found]
    assert not missing, f"every dial has a slope, yours lack the keys {missing}"
    whys = {
        "a": ": a reaches L through e and through g, and what arrives over both paths adds up",
        "b": ": b moves e, and e moves L, so times the slope of e: a path multiplies",
    }

    def display(a, b, c, d):
        return (a * b + c) * (a + d)

    at = {"a": 2.0, "b": -3.0, "c": 10.0, "d": 5.0}
    for name in "dcba":
        up, down = dict(at), dict(at)
        up[name] += 0.5
        down[name] -= 0.5
        right = display(**up) - display(**down)
        assert float(found[name]) == right, (
            f"nudging {name} both ways gives the slope {right}, yours is "
            f"{found[name]}{whys.get(name, '')}"
        )


# %% learner-side
# The checks read inputs and slopes through these two, which say in words what is wrong.
def inputs_of(out):
    """The numbers that `out` was made from, or what is wrong with its inputs."""
    if not isinstance(out, Value):
        return f"{out!r:.60}, which is no Value: return what record returns"
    if not isinstance(out._prev, (tuple, list)):
        return "no tuple: (x) is just x, write (x,)"
    return [float(x.data) if isinstance(x, Value) else f"{x}, no Value" for x in out._prev]


def slopes_of(out):
    """The slopes of `out` along its inputs, or what is wrong with them."""
    if not isinstance(out, Value) or not isinstance(out._slopes, (tuple, list)):
        return "no tuple: (x) is just x, write (x,), and a slope needs its comma too"
    if any(isinstance(slope, Value) for slope in out._slopes):
        return "Values, but slopes are plain floats: `b.data`, not `b`"
    return list(map(float, out._slopes))


# %% add points=3
def test_a_sum_of_values_is_a_value():
    a, b = Value(2.5), Value(-7.0)
    out = add(a, b)
    assert isinstance(out, Value), (
        f"add(a, b) should be a Value, yours is {out!r:.60}: return what record returns"
    )
    for name, out, right in [
        ("a + b", a + b, -4.5),
        ("a + 3", a + 3, 5.5),
        ("3 + a", 3 + a, 5.5),
        ("a + a", a + a, 5.0),
        ("sum([a, b, a])", sum([a, b, a]), -2.0),
    ]:
        assert isinstance(out, Value), (
            f"{name} should be a Value, yours is {out!r:.60}: return what record returns"
        )
        assert float(out.data) == right, (
            f"{name} with a=2.5, b=-7 should be {right}, yours is {out.data}"
        )
    assert (float(a.data), float(b.data)) == (2.5, -7.0), (
        f"adding changed a or b: they are {a.data} and {b.data} now"
    )


def test_a_sum_remembers_what_it_was_made_from():
    out = Value(2.5) + Value(-7.0)
    assert out._op == "+", f"the operation should be noted as '+', yours is {out._op!r}"
    found = inputs_of(out)
    assert found == [2.5, -7.0], (
        f"_prev should be the two Values 2.5 and -7.0 in a tuple, yours holds {found}: hand on "
        "(a, b) themselves"
    )


def test_a_sum_moves_with_each_part_one_for_one():
    for a, b in [(2.5, -7.0), (0.0, 40.0)]:
        found = slopes_of(Value(a) + Value(b))
        assert found == [1.0, 1.0], (
            f"{a} + {b} grows by 0.001 when either part does, so its slopes are [1.0, 1.0], "
            f"yours are {found}"
        )


# %% pull points=6
def test_what_arrives_is_multiplied_and_handed_on():
    a, b = Value(2.0), Value(9.0)
    out = record("f", 1.0, (a, b), (3.0, -0.5))
    out.grad = 7.0
    pull(out)
    found = [float(a.grad), float(b.grad)]
    assert found == [21.0, -3.5], (
        "out.grad is 7 and the slopes are 3 and -0.5, so 21 and -3.5 should arrive, yours: "
        f"{found}: multiply each slope by the gradient of the node"
    )
    assert float(out.grad) == 7.0, f"pull changed the gradient of the node itself to {out.grad}"


def test_what_other_users_handed_back_is_kept():
    a, b = Value(2.0), Value(9.0)
    out = record("f", 1.0, (a, b), (3.0, -0.5))
    a.grad, b.grad, out.grad = 100.0, 40.0, 2.0
    pull(out)
    found = [float(a.grad), float(b.grad)]
    assert found == [106.0, 39.0], (
        "a already held 100 and b 40, and 6 and -1 arrive: that makes [106, 39], yours is "
        f"{found}: another user of the number had handed that back, so add, do not replace"
    )


def test_an_input_that_stands_twice_is_handed_both_shares():
    a = Value(4.0)
    out = record("f", 1.0, (a, a), (3.0, 5.0))
    out.grad = -2.0
    pull(out)
    assert float(a.grad) == -16.0, (
        "a is the first and the second input, with slopes 3 and 5, and -2 arrives: -6 + -10 = "
        f"-16, yours is {a.grad}"
    )


def test_any_number_of_inputs_is_served():
    for slopes in [(), (3.0,), (2.0, -1.0, 0.5), (1.0, 2.0, 3.0, 4.0)]:
        parts = [Value(1.0) for _ in slopes]
        for part in parts:
            part.grad = 10.0
        out = record("f", 1.0, tuple(parts), slopes)
        out.grad = 4.0
        pull(out)
        found, right = (
            [float(part.grad) for part in parts],
            [10.0 + 4.0 * slope for slope in slopes],
        )
        assert found == right, (
            f"{len(slopes)} inputs with slopes {slopes}, each holding 10, and 4 arrives: they "
            f"should hold {right}, yours hold {found}"
        )


def test_only_one_step_is_made():
    a = Value(2.0)
    inner = record("f", 1.0, (a,), (3.0,))
    out = record("f", 1.0, (inner, inner), (5.0, 1.0))
    out.grad = 7.0
    pull(out)
    assert [float(inner.grad), float(a.grad)] == [42.0, 0.0], (
        "inner, used twice, should get 42, and a, from which inner was made, nothing yet; "
        f"yours get {inner.grad} and {a.grad}: pull hands on one step only; the walk does the"
        " rest"
    )


def test_every_value_has_its_own_backward():
    a, b = Value(2.0), Value(9.0)
    out = record("f", 1.0, (a, b), (3.0, -0.5))
    out.grad = 2.0
    out._backward()
    out._backward()
    found = [float(a.grad), float(b.grad)]
    assert found == [12.0, -2.0], (
        f"out._backward() calls pull; twice, it should add up to [12, -2], yours is {found}"
    )


# %% pull hidden points=1
def test_shares_of_any_size_reach_inputs_in_any_order():
    for slopes, g in [
        ((2.0, -1.0, 0.5, 4.0, -3.0), 8.0),
        ((1e150, 0.0, -1e-150, 2.0, 1e3), -1e100),
        ((7.0, 6.0, 5.0, 4.0, 3.0), 0.0),
    ]:
        a, b, c = held = Value(1.0), Value(-2.0), Value(0.0)
        a.grad, b.grad, c.grad = 1.0, 0.0, -5.0
        out = record("f", 1.0, (a, b, a, c, a), slopes)
        out.grad = g
        pull(out)
        p, q, r, s, t = slopes
        for x, wanted in zip(held, [1.0 + g * (p + r + t), g * q, -5.0 + g * s]):
            assert abs(float(x.grad) - wanted) <= 1e-12 * abs(wanted), (
                f"inputs (a, b, a, c, a), slopes {slopes}, {g} arrives: {wanted} is due, found "
                f"{x.grad}"
            )
    a, b = Value(3.0), Value(3.0)
    for out, arrives in [
        (record("f", 1.0, (b, a), (2.0, 5.0)), -1.0),
        (record("g", 1.0, (b, b, b), (1.0,) * 3), 10.0),
    ]:
        out.grad = arrives
        pull(out)
    assert [float(a.grad), float(b.grad)] == [-5.0, 28.0], (
        f"two users: [-5, 28] is due, found {[a.grad, b.grad]}"
    )


# %% multiply points=3
def test_a_product_of_values_is_a_value():
    a, b = Value(2.5), Value(-7.0)
    for name, out, right in [
        ("a * b", a * b, -17.5),
        ("a * 3", a * 3, 7.5),
        ("3 * a", 3 * a, 7.5),
        ("a * a", a * a, 6.25),
    ]:
        assert isinstance(out, Value), (
            f"{name} should be a Value, yours is {out!r:.60}: return what record returns"
        )
        assert float(out.data) == right, (
            f"{name} with a=2.5, b=-7 should be {right}, yours is {out.data}"
        )


def test_a_product_remembers_what_it_was_made_from():
    out = Value(2.5) * Value(-7.0)
    assert out._op == "*", f"the operation should be noted as '*', yours is {out._op!r}"
    found = inputs_of(out)
    assert found == [2.5, -7.0], (
        f"2.5 * -7.0 should remember 2.5 and -7.0, yours remembers {found}"
    )


def test_each_factor_is_felt_as_strongly_as_the_other_is_large():
    for a, b in [(2.5, -7.0), (0.0, 40.0), (-0.125, 3.0)]:
        found = slopes_of(Value(a) * Value(b))
        assert found == [b, a], (
            f"{a} * {b}: along the first factor the slope is the second, {b}, and the other way"
            f" round, so [{b}, {a}], yours are {found}"
        )


# %% multiply hidden points=1
def test_products_of_other_numbers():
    for a, b in [(1e200, -3e-200), (-0.1, 0.7), (13.0, 0.0), (-4.0, -6.25), (0.0, 0.0)]:
        x, y = Value(a), Value(b)
        out = multiply(x, y)
        assert [float(out.data), slopes_of(out), out._op] == [a * b, [b, a], "*"], (
            f"{a} * {b}: {a * b}, slopes {[b, a]}, '*', found {out.data}, {slopes_of(out)}, "
            f"{out._op!r}"
        )
        x.data, y.data = 50.0, 60.0
        assert inputs_of(out) == [50.0, 60.0], (
            f"the inputs should be the two Values themselves, found {inputs_of(out)}"
        )
    x = Value(-1.5)
    assert slopes_of(x * x) == [-1.5, -1.5] and inputs_of(x * x) == [-1.5, -1.5], (
        "x * x has x as an input twice"
    )
    for n in (-8, 0, 0.5):
        assert [float((x * n).data), float((n * x).data)] == [-1.5 * n] * 2, (
            f"-1.5 * {n} is {-1.5 * n} both ways"
        )


# %% subtract points=2
def test_what_stands_left_is_what_is_subtracted_from():
    a, b = Value(2.5), Value(-7.0)
    for name, out, right in [
        ("a - b", a - b, 9.5),
        ("a - 3", a - 3, -0.5),
        ("3 - a", 3 - a, 0.5),
    ]:
        assert isinstance(out, Value), (
            f"{name} should be a Value, yours is {out!r:.60}: return what record returns"
        )
        assert float(out.data) == right, (
            f"{name} with a=2.5, b=-7 should be {right}, yours is {out.data}"
        )
    found = [(a - b)._op, inputs_of(a - b)]
    assert found == ["-", [2.5, -7.0]], (
        f"2.5 - -7.0 should remember '-', 2.5 and -7.0, yours remembers {found}"
    )


def test_a_difference_falls_when_its_second_part_grows():
    for a, b in [(2.5, -7.0), (0.0, 40.0)]:
        found = slopes_of(Value(a) - Value(b))
        assert found == [1.0, -1.0], (
            f"{a} - {b} grows with the first number and falls as the second grows: slopes [1.0,"
            f" -1.0], yours {found}"
        )


# %% divide points=3
def test_a_quotient_of_values_is_a_value():
    a, b = Value(2.5), Value(-8.0)
    for name, out, right in [
        ("a / b", a / b, -0.3125),
        ("a / 2", a / 2, 1.25),
        ("2 / b", 2 / b, -0.25),
    ]:
        assert isinstance(out, Value), (
            f"{name} should be a Value, yours is {out!r:.60}: return what record returns"
        )
        assert float(out.data) == right, (
            f"{name} with a=2.5, b=-8 should be {right}, yours is {out.data}"
        )
    found = [(a / b)._op, inputs_of(a / b)]
    assert found == ["/", [2.5, -8.0]], (
        f"2.5 / -8.0 should remember '/', 2.5 and -8.0, yours remembers {found}"
    )


def test_a_quotient_falls_when_its_divisor_grows():
    for a, b, right in [
        (6.0, 2.0, [0.5, -1.5]),
        (2.5, -8.0, [-0.125, -0.0390625]),
        (-3.0, 0.25, [4.0, 48.0]),
        (0.0, 5.0, [0.2, 0.0]),
    ]:
        found = slopes_of(Value(a) / Value(b))
        assert len(found) == 2 and all(abs(f - r) < 1e-12 for f, r in zip(found, right)), (
            f"{a} / {b} has slopes 1/b and -a/b², that is {right}, yours are {found}"
        )


def test_dividing_by_zero_is_refused():
    try:
        out = Value(3.0) / Value(0.0)
    except ZeroDivisionError:
        out = None
    assert out is None, f"3 / 0 should raise ZeroDivisionError, as Python does, yours is {out}"
    assert float((Value(0.0) / Value(4.0)).data) == 0.0, "0 / 4 is 0"


# %% divide hidden points=1
def test_quotients_of_other_numbers():
    for a, b in [
        (-7.0, 3.0),
        (1e-100, 1e-3),
        (2e100, -5e50),
        (0.3, 0.3),
        (-11.0, -0.125),
        (0.0, -2.0),
    ]:
        found = slopes_of(divide(Value(a), Value(b)))
        quotient = float(divide(Value(a), Value(b)).data)
        assert abs(quotient - a / b) <= 1e-12 * abs(a / b), (
            f"{a} / {b} is {a / b}, found {quotient}"
        )
        wanted = [1 / b, -(a / b) * (1 / b)]
        assert len(found) == 2 and all(
            abs(f - w) <= 1e-12 * abs(w) for f, w in zip(found, wanted)
        ), f"{a} / {b} has slopes {wanted}, found {found}"
    x = Value(0.75)
    for n in (3, -0.5, 12):
        assert abs(float((x / n).data) - 0.75 / n) < 1e-12, (
            f"Value(0.75) / {n} is {0.75 / n}, found {(x / n).data}"
        )
        assert abs(float((n / x).data) - n / 0.75) < 1e-12, (
            f"{n} / Value(0.75) is {n / 0.75}, found {(n / x).data}"
        )
    for name, broken in [
        ("Value / 0", lambda: x / 0),
        ("5 / Value(0)", lambda: 5 / Value(0)),
        ("0 / 0", lambda: Value(0) / Value(0)),
    ]:
        try:
            out = broken()
        except ZeroDivisionError:
            out = None
        assert out is None, f"{name} should raise ZeroDivisionError, found {out}"


# %% power points=5
def test_powers_have_the_right_value():
    for x, n, right in [
        (3.0, 2, 9.0),
        (-2.0, 3, -8.0),
        (4.0, 0.5, 2.0),
        (4.0, -1.5, 0.125),
        (7.0, 0, 1.0),
        (5.0, 1, 5.0),
    ]:
        out = Value(x) ** n
        assert isinstance(out, Value), f"{x} ** {n} should be a Value, yours is {out!r:.60}"
        assert abs(float(out.data) - right) < 1e-12, (
            f"{x} ** {n} should be {right}, yours is {out.data}"
        )


def test_a_power_has_one_input():
    out = Value(-2.0) ** 3
    found = inputs_of(out)
    assert found == [-2.0], (
        "only x is an input, the exponent is a plain number: _prev should hold -2.0, not "
        f"{found}"
    )
    assert out._op == "**3", f"the operation should be noted as '**3', yours is {out._op!r}"


def test_the_slope_of_a_power_has_one_power_less():
    for x, n, right in [
        (3.0, 2, 6.0),
        (-2.0, 3, 12.0),
        (4.0, 0.5, 0.25),
        (4.0, -1.5, -0.046875),
        (2.0, -1, -0.25),
        (5.0, 1, 1.0),
        (1.5, 4, 13.5),
    ]:
        found = slopes_of(Value(x) ** n)
        assert len(found) == 1 and abs(found[0] - right) < 1e-12, (
            f"{x} ** {n} has slope {n} * {x} ** ({n} - 1) = {right}, yours is {found}"
        )


def test_powers_of_zero_have_slopes_too():
    for x, n, right in [
        (0.0, 0, 0.0),
        (0.0, 1, 1.0),
        (0.0, 2, 0.0),
        (0.0, 3, 0.0),
        (6.0, 0, 0.0),
        (0.0, 0.0, 0.0),
    ]:
        found = slopes_of(Value(x) ** n)
        assert found == [right], (
            f"x ** {n} at x = {x} moves with slope {right}, yours is {found}; what is x ** 0 "
            "everywhere?"
        )


def test_powers_where_python_needs_care():
    for x, n, right, steep in [
        (10.0, 1000, math.inf, math.inf),
        (-10.0, 1001, -math.inf, math.inf),
        (0.0, 0.5, 0.0, math.inf),
        (0.0, -1, math.inf, -math.inf),
    ]:
        try:
            out = Value(x) ** n
            found = [float(out.data), slopes_of(out)]
        except (OverflowError, ZeroDivisionError) as error:
            found = repr(error)
        assert found == [right, [steep]], (
            f"{x} ** {n} is {right} and moves with slope {steep}, yours gives {found}: use "
            "raised in place of **, for the value and for the slope"
        )
    try:
        out = Value(-2.0) ** 0.5
    except ValueError:
        out = None
    except TypeError as error:
        out = repr(error)
    assert out is None, (
        f"(-2) ** 0.5 is no real number: raised says so with a ValueError, yours gives {out}"
    )


# %% power hidden points=1
def test_other_powers_of_other_numbers():
    for x, n, right, slope in [
        (2.0, 10, 1024.0, 5120.0),
        (-1.5, 2, 2.25, -3.0),
        (-2.0, -3, -0.125, -0.1875),
        (0.25, -0.5, 2.0, -4.0),
        (9.0, 1.5, 27.0, 4.5),
        (-3.0, 0, 1.0, 0.0),
        (-4.0, 1, -4.0, 1.0),
        (0.0, 7, 0.0, 0.0),
        (0.0, 1.5, 0.0, 0.0),
        (16.0, 0.25, 2.0, 0.03125),
    ]:
        out = power(Value(x), n)
        found = [float(out.data), *slopes_of(out)]
        assert (
            len(found) == 2 and abs(found[0] - right) < 1e-9 and abs(found[1] - slope) < 1e-9
        ), f"{x} ** {n} is {right} with slope {slope}, found {found}"
        assert [out._op, inputs_of(out)] == [f"**{n}", [x]], (
            f"made by '**{n}' of {x}: {out._op!r}, {inputs_of(out)}"
        )
    for x, n, right, slope in [
        (-10.0, 1000, math.inf, -math.inf),
        (-1e200, 3, -math.inf, math.inf),
        (1e-200, -2, math.inf, -math.inf),
    ]:
        out = power(x=Value(x), n=n)
        assert [float(out.data), slopes_of(out)] == [right, [slope]], (
            f"{x} ** {n} is too large: {right}, slope {slope}"
        )
    for x, n in [(-8.0, 1 / 3), (-0.5, -1.5)]:
        try:
            out = power(Value(x), n)
        except ValueError:
            out = None
        assert out is None, f"{x} ** {n} is no real number: ValueError, found {out}"


# %% learner-side
# The checks need graphs with very many nodes, and nodes that count what is asked of them. A
# clock would blame a slow machine; a count does not.
class Watched(
    Value
):  # counts can be had nowhere else than here, beside the code that is counted
    """A Value that counts how often inputs and slopes are read, and how often two nodes are
    compared."""

    __slots__ = ()
    counts = {"inputs": 0, "slopes": 0, "compared": 0}

    @property
    def _prev(self):
        self.counts["inputs"] += 1
        return Value._prev.__get__(self)

    @property
    def _slopes(self):
        self.counts["slopes"] += 1
        return Value._slopes.__get__(self)

    def __eq__(self, other):
        self.counts["compared"] += 1
        return id(self) == id(other)

    __hash__ = object.__hash__


def watched(node):
    """The same node, from now on counting."""
    node.__class__ = Watched
    return node


def counted(walk):
    """What `walk()` returns, and the counts of what it asked the watched nodes meanwhile."""
    Watched.counts.update(inputs=0, slopes=0, compared=0)
    return walk(), dict(Watched.counts)


# %% learner-side
def chain(operations, uses=1):
    """A Value at the end of so many operations in a row, each with the one before as its input,
    `uses` times."""
    node = record("", 0.0, (), ())
    for i in range(operations):
        node = record("f", i + 1.0, (node,) * uses, (1.0,) * uses)
    return node


def watched_order(operations, uses=1):
    """How many nodes `order` lists for such a chain, and what it asked them."""
    nodes = [record("", 0.0, (), ())]
    for i in range(operations):
        nodes.append(record("f", i + 1.0, nodes[-1:] * uses, [1.0] * uses))
    for node in nodes:
        watched(node)
    found, counts = counted(lambda: order(nodes[-1]))
    return len(found), counts


def nodes_in_chain(operations, uses=1):
    """How many nodes `order` lists for such a chain."""
    return len(order(chain(operations, uses)))


def added_again_and_again(x, times):
    """x + x + x + ..."""
    y = x
    for _ in range(times):
        y = y + x
    return y


# %% order points=5
def test_every_node_comes_once():
    x, unused = record("", 2.0, (), ()), record("", 99.0, (), ())
    y = record("f", 3.0, (x, x), (1.0, 1.0))
    z = record("f", 4.0, (y, x), (1.0, 1.0))
    beside = record("f", 98.0, (y, unused), (1.0, 1.0))
    root = record("f", 5.0, (z, y), (1.0, 1.0))
    found = [float(node.data) for node in order(root)]
    assert sorted(found) == [2.0, 3.0, 4.0, 5.0], (
        f"5 was made from 4 and 3, and those from 2; your order lists {found}: each once, and "
        f"nothing else ({beside.data} was made from some of them, 5 was not made from it)"
    )


def test_users_come_before_what_they_use():
    s = record("", 2.0, (), ())
    t = record("f", 3.0, (s,), (1.0,))
    u = record("f", 4.0, (t,), (1.0,))
    v = record("f", 5.0, (u, s), (1.0, 1.0))
    for inputs in [(s, v), (v, s), (t, v, s), (u, v), (t, s, v)]:
        root = record("f", 6.0, inputs, (1.0,) * len(inputs))
        found = [float(node.data) for node in order(root)]
        assert found == [6.0, 5.0, 4.0, 3.0, 2.0], (
            "2 is used by 3, 3 by 4, 4 by 5, some of them also by 6; only 6, 5, 4, 3, 2 has "
            f"every user before what it uses, yours is {found}"
        )


def test_inputs_older_and_younger_than_other_users():
    a, b = record("", 60.0, (), ()), record("", -5.0, (), ())
    c = record("f", 8.0, (a, b), (1.0, 1.0))
    late = record("", 90.0, (), ())
    d = record("f", 0.5, (late, c), (1.0, 1.0))
    e = record("f", -7.0, (c, a), (1.0, 1.0))
    nodes = order(record("f", 4.0, (d, e), (1.0, 1.0)))
    place = {float(node.data): i for i, node in enumerate(nodes)}
    assert len(place) == 7, f"seven nodes belong to this graph, yours lists {sorted(place)}"
    for user, used in [
        (4, 0.5),
        (4, -7),
        (0.5, 90),
        (0.5, 8),
        (-7, 8),
        (-7, 60),
        (8, 60),
        (8, -5),
    ]:
        assert place[user] < place[used], (
            f"{user} uses {used}, so it must come first; your order is {list(place)}"
        )


def test_a_deep_graph_needs_no_recursion():
    found, counts = watched_order(300)
    assert counts["compared"] < 10 * found, (
        f"for {found} nodes, yours compared nodes {counts['compared']:,} times: looking in a "
        "list takes longer each time: ask a set"
    )
    try:
        found = nodes_in_chain(10_000)
    except RecursionError:
        found = "a RecursionError"
    assert found == 10_001, (
        f"a chain of 10,000 operations has 10,001 nodes, yours gives {found}: walk with a list,"
        " not with calls"
    )


def test_no_path_is_walked_twice():
    for operations in (1, 2, 3, 5, 15):
        found, counts = watched_order(operations, uses=3)
        assert found == operations + 1, (
            f"{operations} operations in a row, each using the one before three times, have "
            f"{operations + 1} nodes, yours lists {found}: append a node only if it was not"
            " found before"
        )
        assert counts["inputs"] <= 6 * found, (
            f"{found} nodes were asked {counts['inputs']:,} times for their inputs: each of the"
            f" {3**operations:,} paths was walked; ask whether a node was found before, before "
            "you go on from it"
        )


# %% order hidden points=1
def test_graphs_of_forty_nodes_are_put_in_order():
    for seed in range(4):
        draw, nodes, inputs = random.Random(seed), [], []
        for i in range(40):
            chosen = draw.choices(range(i), k=draw.randint(0, 4)) if i else []
            inputs.append(chosen)
            nodes.append(
                record(
                    "f" if chosen else "",
                    float(i),
                    tuple(nodes[c] for c in chosen),
                    (1.0,) * len(chosen),
                )
            )
        for root in (39, 38, 25, 0):
            below = {root}
            for i in range(root, -1, -1):
                below |= set(inputs[i]) if i in below else set()
            found = [int(float(node.data)) for node in order(nodes[root])]
            assert sorted(found) == sorted(below), (
                f"seed {seed}, root {root}: made from {sorted(below)}, found {found}"
            )
            assert found[0] == root, (
                f"seed {seed}: the root, {root}, comes first, found {found}"
            )
            place = {name: at for at, name in enumerate(found)}
            early = [
                (user, used)
                for user in found
                for used in inputs[user]
                if place[user] > place[used]
            ]
            assert not early, (
                f"seed {seed}, root {root}: these users come after what they use: {early}, "
                f"found {found}"
            )


# %% backward points=7
def test_the_walk_finds_what_you_traced_by_hand():
    a, b, c, d = Value(2.0), Value(-3.0), Value(10.0), Value(5.0)
    e = a * b
    f = e + c
    g = a + d
    L = f * g
    L.backward()
    found = {
        "L": L.grad,
        "f": f.grad,
        "g": g.grad,
        "e": e.grad,
        "c": c.grad,
        "d": d.grad,
        "b": b.grad,
        "a": a.grad,
    }
    for name, right in {
        "L": 1,
        "f": 7,
        "g": 4,
        "e": 7,
        "c": 7,
        "d": 4,
        "b": 14,
        "a": -17,
    }.items():
        why = (
            "L moves with itself one for one: begin with 1"
            if name == "L"
            else "compare with your tracing by hand"
        )
        assert isinstance(found[name], (float, int)), (
            f"{name}.grad should be a plain number, yours is {found[name]!r:.60}: gradients and"
            " slopes are floats, not Values"
        )
        assert float(found[name]) == right, (
            f"the slope of L along {name} is {right}, yours is {found[name]}: {why}"
        )


def test_a_gradient_from_above_is_multiplied_in():
    a, b = Value(2.0), Value(-3.0)
    ((a + b) * 3).backward()
    found = [float(a.grad), float(b.grad)]
    assert found == [3.0, 3.0], f"(a + b) * 3 moves by 3 per unit of a or b, yours are {found}"


def test_shared_numbers_are_complete_before_they_hand_on():
    a = Value(1.0)
    b = a + a
    (b + b).backward()
    assert float(a.grad) == 4.0, (
        f"b = a + a, c = b + b: c is 4 a, slope 4, yours is {a.grad}: b handed on too early or "
        "too often"
    )
    for far_first in (True, False):
        x = Value(2.0)
        y = 3 * x
        q, s = 5 * y, (2 * y) * 1
        (q + s if far_first else s + q).backward()
        assert float(x.grad) == 21.0, (
            f"y = 3x, q = 5y, s = 2y*1: q + s is 21 x, slope 21, yours is {x.grad}: y must wait"
            " for both its users"
        )


def test_leaves_collect_and_inner_nodes_start_anew():
    x = Value(5.0)
    inner = 3 * x
    z = 4 * inner
    z.backward()
    assert float(x.grad) == 12.0, f"z = 4*(3*x) has slope 12, yours is {x.grad}"
    z.backward()
    assert float(inner.grad) == 4.0, (
        f"after a second walk, z still moves by 4 per unit of 3*x, yours holds {inner.grad}: "
        "reset inner nodes"
    )
    assert float(z.grad) == 1.0, (
        f"z moves with itself one for one in every walk, its grad is {z.grad}"
    )
    assert float(x.grad) == 24.0, (
        f"two walks hand 12 + 12 = 24 to the leaf x, yours holds {x.grad}: leaves collect"
    )
    x.grad = 0.0
    z.backward()
    assert float(x.grad) == 12.0, (
        f"x was set to 0, so the third walk should give 12, yours is {x.grad}: "
        "gradients of inner nodes must start at 0"
    )
    (x * 7).backward()
    assert float(x.grad) == 19.0, (
        f"another result, 7*x, adds 7 to the 12 that x holds, yours is {x.grad}"
    )


def test_a_leaf_moves_with_itself():
    x = Value(5.0)
    x.backward()
    first = float(x.grad)
    x.backward()
    assert [first, float(x.grad)] == [1.0, 2.0], (
        f"a leaf walked from itself collects 1 each time: 1, then 2; yours: {first}, then "
        f"{x.grad}"
    )


def test_the_walk_agrees_with_nudging():
    def f(x, y, z):
        for _ in range(4):
            x, y, z = y * z + x, x * 0.5 + z, x * y + 1
        return x * z + y * y

    at = (0.5, -0.75, 0.25)
    values = [Value(number) for number in at]
    f(*values).backward()
    for i, value in enumerate(values):
        up, down = list(at), list(at)
        up[i] += 1e-5
        down[i] -= 1e-5
        right = (f(*up) - f(*down)) / 2e-5
        assert abs(float(value.grad) - right) < 1e-6 * max(1, abs(right)), (
            f"nudging input {i} gives the slope {right:.6f}, the walk {value.grad:.6f}"
        )


def test_ten_thousand_operations_deep_and_sixty_doublings():
    x = Value(0.5)
    added_again_and_again(x, 10_000).backward()
    assert float(x.grad) == 10_001.0, (
        f"x added to itself 10,000 times has slope 10,001, yours is {x.grad}"
    )
    x.grad, y = 0.0, x
    for _ in range(60):
        y = y + y
    y.backward()
    assert float(x.grad) == 2.0**60, f"y = y + y, 60 times, has slope 2**60, yours is {x.grad}"


# %% backward hidden points=1
def test_walks_from_several_results_of_one_large_graph():
    for seed in range(3):
        draw, nodes, inputs, slopes = random.Random(seed), [], [], []
        for i in range(30):
            inputs.append(draw.choices(range(i), k=draw.randint(2, 3)) if i > 3 else [])
            slopes.append([draw.choice([-2.0, -1.0, 1.0, 3.0]) for _ in inputs[i]])
            nodes.append(
                record(
                    "f" if i > 3 else "",
                    1.0,
                    tuple(nodes[c] for c in inputs[i]),
                    tuple(slopes[i]),
                )
            )
        nodes[0].grad, leaves = 100.0, [100.0, 0.0, 0.0, 0.0]
        for root in (29, 17, 29, 2):
            share = [0.0] * 30  # the slope of the root along each node, worked out again
            share[root] = 1.0
            for i in range(root, -1, -1):
                for c, slope in zip(inputs[i], slopes[i]):
                    share[c] += slope * share[i]
            nodes[root].backward()
            leaves = [held + arrived for held, arrived in zip(leaves, share)]
            found = [float(node.grad) for node in nodes[:4]]
            assert found == leaves, (
                f"seed {seed}, root {root}: the leaves should hold {leaves}, found {found}"
            )
            grads = [float(node.grad) for node in nodes]
            wrong = {
                i: grads[i] for i in range(4, root + 1) if share[i] and grads[i] != share[i]
            }
            assert not wrong, (
                f"seed {seed}, root {root}: inner nodes should hold {share}, these do not: "
                f"{wrong}"
            )


# %% tanh points=3
def test_tanh_has_the_right_value():
    for x in (0.0, 0.5, -1.25, 3.0):
        out = Value(x).tanh()
        assert abs(float(out.data) - math.tanh(x)) < 1e-12, (
            f"tanh({x}) is {math.tanh(x)}, yours is {out.data}"
        )
    found = inputs_of(out)
    assert out._op == "tanh" and found == [3.0], (
        f"tanh(3) should remember 'tanh' and [3.0], yours remembers {out._op!r} and {found}"
    )


def test_tanh_survives_large_numbers():
    for x, right in [(400.0, 1.0), (-400.0, -1.0), (1000.0, 1.0), (-1000.0, -1.0)]:
        try:
            out = Value(x).tanh()
            found, slopes = float(out.data), slopes_of(out)
        except OverflowError:
            found, slopes = "an OverflowError", None
        assert found == right, (
            f"tanh({x}) is {right}, yours gives {found}: exp(800) is too large"
        )
        assert slopes == [0.0], (
            f"tanh is flat at {x}: slope 0, yours is {slopes}: use the result t, not x"
        )


def test_tanh_moves_with_one_minus_its_square():
    for x, right in [
        (0.0, 1.0),
        (0.5, 0.7864477329659274),
        (-1.25, 0.28041486618043265),
        (2.0, 0.07065082485316443),
    ]:
        found = slopes_of(Value(x).tanh())
        assert len(found) == 1 and abs(found[0] - right) < 1e-12, (
            f"tanh at {x} has slope 1 - t*t = {right:.6f}, where t = tanh({x}) is the result; "
            f"yours is {found}: use the result t, not x"
        )


# %% tanh hidden points=1
def test_tanh_of_other_numbers():
    for x in (-0.01, 0.2, 1.0, -2.5, 7.5, -19.0, 355.0, -710.0, 1e300):
        small = math.exp(-2 * abs(x))
        right, slope = math.copysign((1 - small) / (1 + small), x), 4 * small / (1 + small) ** 2
        out = tanh(Value(x))
        assert abs(float(out.data) - right) < 1e-12, f"tanh({x}) is {right}, found {out.data}"
        found = [out._op, inputs_of(out)]
        assert found == ["tanh", [x]], f"made by 'tanh' from {x}, found {found}"
        found = slopes_of(out)
        assert len(found) == 1 and abs(found[0] - slope) < 1e-12, (
            f"tanh at {x} has slope {slope}, found {found}"
        )


# %% relu points=2
def test_relu_keeps_what_is_positive():
    for x, right in [
        (2.5, 2.5),
        (-3.0, 0.0),
        (0.0, 0.0),
        (0.125, 0.125),
        (1000.0, 1000.0),
        (-1000.0, 0.0),
    ]:
        out = Value(x).relu()
        assert float(out.data) == right, f"relu({x}) is {right}, yours is {out.data}"
        found = inputs_of(out)
        assert out._op == "relu" and found == [x], (
            f"relu({x}) should remember 'relu' and [{x}], yours remembers {out._op!r} and "
            f"{found}"
        )


def test_relu_lets_through_what_it_keeps():
    for x, right in [(2.5, 1.0), (-3.0, 0.0), (0.125, 1.0), (0.0, 0.0), (-0.125, 0.0)]:
        found = slopes_of(Value(x).relu())
        assert found == [right], (
            f"relu at {x} has slope {right} (at 0, by custom, 0), yours is {found}"
        )


# %% relu hidden points=1
def test_relu_of_other_numbers():
    for x, right, slope in [
        (1e-300, 1e-300, 1.0),
        (-1e-300, 0.0, 0.0),
        (-0.0, 0.0, 0.0),
        (1e300, 1e300, 1.0),
        (-77.5, 0.0, 0.0),
        (math.pi, math.pi, 1.0),
    ]:
        out = relu(Value(x))
        assert [float(out.data), slopes_of(out)] == [right, [slope]], (
            f"relu({x}) is {right} with slope {slope}, found {out.data}, {slopes_of(out)}"
        )
        found = [out._op, inputs_of(out)]
        assert found == ["relu", [x]], f"made by 'relu' from {x}, found {found}"


# %% sigmoid points=3
def test_sigmoid_has_the_right_value():
    for x, right in [
        (0.0, 0.5),
        (0.5, 0.6224593312018546),
        (1.5, 0.8175744761936437),
        (-0.75, 0.320821300824607),
        (-30.0, 9.357622968839299e-14),
    ]:
        out = Value(x).sigmoid()
        why = (
            "1 - (almost 1) loses digits: compute the small part itself"
            if x == -30
            else "1 / (1 + exp(-x))"
        )
        assert abs(float(out.data) / right - 1) < 1e-9, (
            f"sigmoid({x}) is {right}, yours is {out.data}: {why}"
        )
        found = inputs_of(out)
        assert out._op == "sigmoid" and found == [x], (
            f"sigmoid({x}) should remember 'sigmoid' and [{x}], yours remembers {out._op!r} and"
            f" {found}"
        )


def test_sigmoid_survives_large_numbers():
    for x, right in [(1000.0, 1.0), (-1000.0, 0.0), (710.0, 1.0)]:
        try:
            out = Value(x).sigmoid()
            found, slopes = float(out.data), slopes_of(out)
        except OverflowError:
            found, slopes = "an OverflowError", None
        assert found == right, (
            f"sigmoid({x}) is {right}, yours gives {found}: exp(1000) is too large"
        )
        assert slopes == [0.0], (
            f"sigmoid is flat at {x}: slope 0, yours is {slopes}: use the result s, not x"
        )


def test_sigmoid_moves_with_its_share_times_the_rest():
    for x, right in [(0.0, 0.25), (1.5, 0.14914645207033286), (-0.75, 0.21789499376181404)]:
        found = slopes_of(Value(x).sigmoid())
        assert len(found) == 1 and abs(found[0] - right) < 1e-12, (
            f"sigmoid at {x} has slope s * (1 - s) = {right:.6f}, where s is the result; yours "
            f"is {found}"
        )


# %% sigmoid hidden points=1
def test_sigmoid_of_other_numbers():
    from decimal import Decimal

    for x in (-0.001, 0.3, 2.0, -2.0, -5.5, 12.0, -50.0, 40.0, -600.0, 709.5, 1e300):
        e = Decimal(-min(x, 800.0)).exp()
        right, slope = float(1 / (1 + e)), float(e / (1 + e) ** 2)
        out = sigmoid(Value(x))
        assert abs(float(out.data) - right) <= 1e-9 * right, (
            f"sigmoid({x}) is {right}, found {out.data}"
        )
        found = [out._op, inputs_of(out)]
        assert found == ["sigmoid", [x]], f"made by 'sigmoid' from {x}, found {found}"
        found = slopes_of(out)
        assert len(found) == 1 and abs(found[0] - slope) < 1e-12, (
            f"sigmoid at {x} has slope {slope}, found {found}"
        )


# %% learner-side
def watched_forward(results):
    """The slopes of so many results of a chain of 40, and how often slopes were read to find
    them."""
    nodes = [record("", 0.0, (), ())]
    for i in range(40):
        nodes.append(record("f", i + 1.0, (nodes[-1],), (1.0,)))
    roots = [record("f", 0.0, (nodes[-1],), (k + 2.0,)) for k in range(results)]
    for node in (*nodes, *roots):
        watched(node)
    found, counts = counted(lambda: forward_slopes(roots, nodes[0]))
    return list(map(float, found)), counts["slopes"]


# %% forward points=4
def test_one_walk_forward_finds_one_dial():
    at = {"a": 2.0, "b": -3.0, "c": 10.0, "d": 5.0}
    a, b, c, d = parts = [Value(number) for number in at.values()]
    L = ((a * b) + c) * (a + d)
    for name, part, right in zip(at, parts, [-17.0, 14.0, 7.0, 4.0]):
        found = [float(slope) for slope in forward_slopes([L], part)]
        why = ": is the leaf's 1 overwritten by a sum over no inputs?" if found == [0.0] else ""
        assert found == [right], (
            f"L moves by {right} per unit of {name}, your walk says {found}{why}"
        )


def test_every_result_is_found_in_one_walk():
    x, y = Value(3.0), Value(-2.0)
    square = x * x
    roots = [square * y, x + y, y * y, square, x]
    for name, leaf, right in [
        ("x", x, [-12.0, 1.0, 0.0, 6.0, 1.0]),
        ("y", y, [9.0, 1.0, -4.0, 0.0, 0.0]),
    ]:
        found = [float(slope) for slope in forward_slopes(roots, leaf)]
        assert found == right, (
            f"x*x*y, x+y, y*y, x*x and x move with {name} by {right}, yours: {found}"
        )
    assert [float(x.grad), float(y.grad)] == [0.0, 0.0], (
        f"the walk forward should leave grad alone: {[x.grad, y.grad]}"
    )
    _, for_one = watched_forward(1)
    found, for_twenty = watched_forward(20)
    assert found == [k + 2.0 for k in range(20)], (
        f"twenty results with slopes 2, 3, ... 21, yours: {found}"
    )
    assert for_twenty < 4 * for_one, (
        f"40 nodes in a row lead to one result: slopes are read {for_one} times; to twenty: "
        f"{for_twenty} times. Each root had a walk of its own: walk oldest_first(roots) once,"
        " and read off all roots at the end"
    )


def test_inner_numbers_and_strangers():
    x = Value(3.0)
    square = x * x
    out = square * square + x
    found = [float(slope) for slope in forward_slopes([out], square)]
    assert found == [18.0], (
        f"s*s + x with s = 9 moves by 18 per unit of s, yours: {found}: the leaf moves by 1, "
        "whatever made it"
    )
    found = [float(slope) for slope in forward_slopes([out], Value(7.0))]
    assert found == [0.0], f"a number that took no part moves nothing: 0, yours: {found}"


def test_forward_agrees_with_backward():
    x, y = Value(0.7), Value(-0.4)
    p = x * y + x
    q = p * p + 3 * y
    out = q * p + q
    out.backward()
    slopes = [("x", x, 0.10152), ("y", y, 4.37844), ("p", p, 0.1692), ("q", q, 1.42)]
    for name, part, slope in slopes:
        (found,) = forward_slopes([out], part)
        assert abs(float(found) - slope) < 1e-9, (
            f"along {name}, the slope is {slope:g}, your walk forward {float(found):.6f}"
        )
        assert abs(float(found) - float(part.grad)) < 1e-12, (
            f"along {name}, backward finds {part.grad:.6f}, "
            f"your walk forward {float(found):.6f}"
        )


# %% forward hidden points=1
def test_many_results_of_one_large_graph():
    for seed in range(3):
        draw, nodes, inputs, slopes = random.Random(seed), [], [], []
        for i in range(30):
            inputs.append(draw.choices(range(i), k=draw.randint(2, 3)) if i > 2 else [])
            slopes.append([draw.choice([-2.0, -1.0, 1.0, 3.0]) for _ in inputs[i]])
            nodes.append(
                record(
                    "f" if i > 2 else "",
                    1.0,
                    tuple(nodes[c] for c in inputs[i]),
                    tuple(slopes[i]),
                )
            )
        nodes[1].grad = nodes[20].grad = 8.0
        for leaf in (0, 2, 11):
            moved = [0.0] * 30
            for i in range(30):
                moved[i] = (
                    1.0
                    if i == leaf
                    else sum(slope * moved[c] for c, slope in zip(inputs[i], slopes[i]))
                )
            roots = [29, 5, 17, 29, 1, leaf]
            found = forward_slopes(roots=[nodes[r] for r in roots], leaf=nodes[leaf])
            found, wanted = [float(slope) for slope in found], [moved[r] for r in roots]
            assert found == wanted, (
                f"seed {seed}, leaf {leaf}, roots {roots}: {wanted} is due, found {found}"
            )
        grads = [float(nodes[i].grad) for i in (0, 1, 20, 29)]
        assert grads == [0.0, 8.0, 8.0, 0.0], f"no grad is touched: [0, 8, 8, 0], found {grads}"


# %% learner-side
def answered(neuron, x):
    """What the neuron answers to the list `x`, and `x` afterwards."""
    return neuron(x), x


# %% neuron points=4
def test_a_neuron_weighs_adds_and_bends():
    x = [0.5, -1.5, 2.0]
    for nonlin in (True, False):
        neuron = Neuron(3, nonlin=nonlin)
        w, b = [float(p.data) for p in neuron.w], float(neuron.b.data)
        total = w[0] * x[0] + w[1] * x[1] + w[2] * x[2] + b
        right = math.tanh(total) if nonlin else total
        out, after = answered(neuron, x)
        assert isinstance(out, Value), (
            f"a neuron should return a Value, yours returns {out!r:.60}"
        )
        assert abs(float(out.data) - right) < 1e-12, (
            f"with nonlin={nonlin}, w={w}, b={b} and x={x} the output is {right}, yours is "
            f"{out.data}"
        )
        assert after == [0.5, -1.5, 2.0], f"the neuron changed its inputs to {after}"


def test_all_weights_and_the_bias_get_a_gradient():
    neuron = Neuron(2, nonlin=False)
    (neuron([3.0, -4.0]) * 2).backward()
    found = [float(p.grad) for p in neuron.parameters()]
    assert found == [6.0, -8.0, 2.0], (
        f"2 * (w0*3 + w1*-4 + b) has slopes [6, -8, 2] along w0, w1 and b, yours are {found}: "
        "compute with Values, not with their data"
    )


def test_inputs_that_are_values_get_a_gradient():
    neuron = Neuron(2)
    x = [Value(0.5), Value(-0.25)]
    out = neuron(x)
    out.backward()
    for i in (0, 1):
        right = float(neuron.w[i].data) * (1 - float(out.data) ** 2)
        assert abs(float(x[i].grad) - right) < 1e-12, (
            f"input {i} should get {right}, yours gets {x[i].grad}"
        )


def test_a_wrong_number_of_inputs_is_refused():
    for weights, inputs in [(3, 2), (3, 4), (1, 0), (2, 5)]:
        try:
            out = Neuron(weights)([0.5] * inputs)
        except ValueError as error:
            said = str(error)
            assert str(weights) in said and str(inputs) in said, (
                f"the error should name {weights} weights and {inputs} inputs, yours says: "
                f"{said}"
            )
        except Exception as error:
            assert False, (
                f"a neuron with {weights} weights and {inputs} inputs should raise ValueError, "
                f"yours raised {error!r:.90}"
            )
        else:
            assert False, (
                f"a neuron with {weights} weights took {inputs} inputs and said {out}: zip "
                "stops silently at the shorter"
            )


# %% neuron hidden points=1
def test_neurons_with_other_weights_and_inputs():
    numbers = [0.3, -0.8, 0.05, 1.2, -0.4]
    for nin in (1, 2, 5):
        for nonlin in (True, False):
            neuron, shared = Neuron(nin, nonlin=nonlin), Value(-0.6)
            for w, number in zip(neuron.w, numbers):
                w.data = number
            neuron.b.data = 0.7
            x = [shared, 2, shared, 0.0, -1.5][:nin]
            plain = [-0.6, 2.0, -0.6, 0.0, -1.5][:nin]
            total = math.fsum([w * v for w, v in zip(numbers, plain)] + [0.7])
            right, bend = (
                (math.tanh(total), 1 / math.cosh(total) ** 2) if nonlin else (total, 1.0)
            )
            out = neuron(x)
            assert isinstance(out, Value) and abs(float(out.data) - right) < 1e-12, (
                f"weights {numbers[:nin]}, bias 0.7, inputs {plain}, nonlin={nonlin}: {right}, "
                f"found {out!r:.60}"
            )
            out.backward()
            found = [float(p.grad) for p in (*neuron.w, neuron.b, shared)]
            wanted = [bend * v for v in (*plain, 1.0, sum(numbers[:nin:2][:2]))]
            assert all(abs(f - w) < 1e-12 for f, w in zip(found, wanted)), (
                f"{nin} weights, the bias and the shared input should get {wanted}, found "
                f"{found}"
            )
    for weights, inputs in [(12, 34), (47, 5), (2, 0)]:
        try:
            out = Neuron(weights, nonlin=False)([Value(0.5)] * inputs)
        except ValueError as error:
            out = str(error)
            assert str(weights) in out and str(inputs) in out, (
                f"the error should name {weights} and {inputs}: {out}"
            )
        else:
            assert False, (
                f"{weights} weights and {inputs} inputs should raise ValueError, found "
                f"{out!r:.60}"
            )


# %% learner-side
def seeded_network(nin, nouts, seed):
    """An MLP whose weights come from a generator with this seed, for the checks."""
    return MLP(nin, nouts, generator=random.Random(seed))


# %% mlp points=5
def test_a_network_has_the_right_number_of_parameters():
    for nin, nouts, right in [
        (3, [4, 4, 1], 41),
        (2, [5], 15),
        (5, [2, 3], 21),
        (2, [1, 1], 5),
        (1, [7, 2, 6, 3], 69),
    ]:
        found = len(MLP(nin, nouts).parameters())
        assert found == right, (
            f"MLP({nin}, {nouts}) has {right} parameters, yours has {found}: a layer has "
            "(inputs + 1) per neuron"
        )


def test_each_layer_feeds_the_next():
    net = MLP(3, [4, 2])
    x = [0.5, -1.0, 0.25]
    for layer in net.layers:
        x = [
            math.tanh(
                sum(float(w.data) * v for w, v in zip(neuron.w, x)) + float(neuron.b.data)
            )
            for neuron in layer.neurons
        ]
    found = [float(out.data) for out in net([0.5, -1.0, 0.25])]
    assert len(found) == 2 and all(abs(f - r) < 1e-12 for f, r in zip(found, x)), (
        f"the outputs, layer by layer and each with its tanh, are {x}, yours are {found}"
    )
    one = MLP(2, [1, 1])([0.5, -0.5])
    assert isinstance(one, Value), f"one output is a bare Value, yours is {one!r:.60}"


def test_only_the_last_layer_may_be_straight():
    for linear, right in [(False, [True, True, True]), (True, [True, True, False])]:
        layers = MLP(2, [3, 4, 2], linear_output=linear).layers
        found = [[bool(neuron.nonlin) for neuron in layer.neurons] for layer in layers]
        wanted = [[bends] * n for bends, n in zip(right, [3, 4, 2])]
        assert found == wanted, (
            f"with linear_output={linear}, nonlin of the neurons should be {wanted}, yours are "
            f"{found}"
        )


def test_the_generator_decides_all_weights():
    def weights(seed):
        return [float(p.data) for p in seeded_network(2, [3, 2], seed).parameters()]

    assert weights(8) == weights(8), (
        "two networks from generators with the same seed should be equal: hand it to each layer"
    )
    assert weights(8) != weights(9), "networks from different seeds should differ"
    assert len(set(weights(8))) == 17, f"the 17 numbers should all be drawn: {weights(8)}"


def test_two_networks_without_a_generator_differ():
    one, two = [[float(p.data) for p in MLP(2, [3, 1]).parameters()] for _ in range(2)]
    assert one != two, (
        f"two networks made without a generator both begin with {one[:2]}: a fixed seed for "
        "everybody makes every network the same; hand the None on, and the neurons draw from"
        " shared_generator"
    )


# %% mlp hidden points=1
def test_networks_of_other_sizes():
    for nin, nouts, linear in [
        (1, [1], False),
        (4, [1, 3, 2], True),
        (2, [6], True),
        (3, [2, 1, 1, 5], False),
    ]:
        net = MLP(nin, nouts, linear_output=linear)
        shape = [[len(neuron.w) for neuron in layer.neurons] for layer in net.layers]
        wanted = [[before] * n for before, n in zip([nin, *nouts], nouts)]
        assert shape == wanted, (
            f"MLP({nin}, {nouts}): inputs of the neurons, layer by layer, {wanted}, found "
            f"{shape}"
        )
        for i, p in enumerate(net.parameters()):
            p.data = 3 * math.sin(i + 1)
        row = given = [0.5 - i for i in range(nin)]
        for n, layer in enumerate(net.layers):
            row = [
                sum(float(w.data) * v for w, v in zip(neuron.w, row)) + float(neuron.b.data)
                for neuron in layer.neurons
            ]
            row = row if linear and n == len(nouts) - 1 else [math.tanh(v) for v in row]
        out = net(given)
        found = (
            [float(out.data)] if isinstance(out, Value) else [float(one.data) for one in out]
        )
        assert len(found) == len(row) and all(abs(f - r) < 1e-9 for f, r in zip(found, row)), (
            f"MLP({nin}, {nouts}, linear_output={linear}) of {given}: {row} is due, found "
            f"{found}"
        )
    one, again, other = [
        [float(p.data) for p in seeded_network(4, [1, 5, 2], seed).parameters()]
        for seed in (3, 3, 4)
    ]
    assert one == again and not set(one) & set(other) and len(set(one)) == 27, (
        "the generator decides all 27 numbers"
    )


# %% learner-side
def stepped(model, inputs, targets, rate):
    """What `train_step` returns for these four, and the inputs and targets afterwards."""
    return train_step(model, inputs, targets, rate), inputs, targets


# %% train points=6
def test_three_steps_of_a_straight_neuron():
    neuron = Neuron(2, nonlin=False)
    numbers = [float(p.data) for p in neuron.parameters()]
    inputs, targets, rate = [[1.0, -2.0], [0.5, 3.0], [-1.5, 0.25]], [2.0, -1.0, 0.5], 0.03
    for step in (1, 2, 3):
        errors = [
            numbers[0] * x[0] + numbers[1] * x[1] + numbers[2] - t
            for x, t in zip(inputs, targets)
        ]
        try:
            loss, *data = stepped(neuron, inputs, targets, rate)
        except AttributeError as error:
            assert False, (
                f"your step stops with: {error}. Is the loss a Value, made of answers and not "
                "of their data?"
            )
        assert isinstance(loss, (float, int)), (
            f"yours returns {loss!r:.60}: return the number, `loss.data`; a Value keeps the "
            "whole graph alive"
        )
        right = sum(error**2 for error in errors)
        assert abs(loss - right) < 1e-9, (
            f"in step {step} the squared errors add up to {right} before the step, you return "
            f"{loss}"
        )
        slopes = [
            2 * sum(error * factor for error, factor in zip(errors, factors))
            for factors in ([x[0] for x in inputs], [x[1] for x in inputs], [1.0] * 3)
        ]
        still, uphill = (
            numbers,
            [number + rate * slope for number, slope in zip(numbers, slopes)],
        )
        numbers = [number - rate * slope for number, slope in zip(numbers, slopes)]
        found = [float(p.data) for p in neuron.parameters()]
        assert found != still, (
            f"after step {step} the parameters should be {numbers}, yours are still {found}: "
            "your parameters did not move: is `p.data` changed, are the grads still there?"
        )
        assert not all(abs(f - r) < 1e-9 for f, r in zip(found, uphill)), (
            f"after step {step} the parameters should be {numbers}, yours are {found}: they "
            "moved up the slope"
        )
        assert all(abs(f - r) < 1e-9 for f, r in zip(found, numbers)), (
            f"after step {step} with learning rate {rate} the parameters should be {numbers}, "
            f"yours are {found}: parameter minus rate times slope"
            + (", and slopes of earlier steps forgotten" if step > 1 else "")
        )
        assert data == [[[1.0, -2.0], [0.5, 3.0], [-1.5, 0.25]], [2.0, -1.0, 0.5]], (
            f"your step changed the inputs and targets to {data}"
        )


def test_gradients_left_from_elsewhere_do_not_count():
    neuron = Neuron(1, nonlin=False)
    w, b = float(neuron.w[0].data), float(neuron.b.data)
    (neuron([40.0]) * 10).backward()
    train_step(neuron, [[2.0]], [1.0], 0.05)
    error = 2.0 * w + b - 1.0
    found, right = (
        [float(neuron.w[0].data), float(neuron.b.data)],
        [w - 0.05 * 4 * error, b - 0.05 * 2 * error],
    )
    assert all(abs(f - r) < 1e-9 for f, r in zip(found, right)), (
        "gradients were left over from another use of the neuron; the step should give "
        f"{right}, yours gives {found}: set them to 0 before you walk"
    )


def test_the_network_learns_the_four_rows():
    rows, wanted = (
        [[2.0, 3.0, -1.0], [3.0, -1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 1.0, -1.0]],
        [1.0, -1.0, -1.0, 1.0],
    )
    net = seeded_network(3, [4, 4, 1], seed=11)
    first = float(train_step(net, rows, wanted, 0.1))
    for _ in range(120):
        loss = float(train_step(net, rows, wanted, 0.1))
    assert loss < 0.01, (
        f"from a loss of {first:.3f}, 120 steps should lead below 0.01, "
        f"yours lead to {loss:.4f}"
    )
    for row, t in zip(rows, wanted):
        answer = float(net(row).data)
        assert abs(answer - t) < 0.1, (
            f"for {row} the network should say {t}, yours says {answer:.3f}"
        )


# %% train hidden points=1
def test_steps_of_other_networks_on_other_rows():
    rows, wanted = (
        [[0.5, -1.0], [1.5, 2.0], [-0.25, 0.75], [2.0, 0.0], [0.0, 0.0]],
        [1.0, -0.5, 0.25, 3.0, 0.0],
    )
    for nouts, count, rate in [([3, 1], 5, 0.07), ([1], 1, 0.5), ([2, 2, 1], 4, 0.0)]:
        net = MLP(2, nouts, linear_output=True)
        sizes = [[len(neuron.w) for neuron in layer.neurons] for layer in net.layers]

        def loss(numbers):
            total = 0.0
            for row, target in zip(rows[:count], wanted):
                rest = iter(numbers)
                for n, layer in enumerate(sizes):
                    row = [
                        sum([next(rest) * v for v in row[:size]]) + next(rest) for size in layer
                    ]
                    row = row if n == len(sizes) - 1 else [math.tanh(v) for v in row]
                total += (row[0] - target) ** 2
            return total

        for _ in range(2):
            numbers = [float(p.data) for p in net.parameters()]
            found = float(train_step(net, rows[:count], wanted[:count], rate))
            assert abs(found - loss(numbers)) < 1e-9, (
                f"layers {nouts}: the loss is {loss(numbers)}, found {found}"
            )
            for i, p in enumerate(net.parameters()):
                up, down = list(numbers), list(numbers)
                up[i] += 1e-5
                down[i] -= 1e-5
                right = numbers[i] - rate * (loss(up) - loss(down)) / 2e-5
                assert abs(float(p.data) - right) < 1e-6, (
                    f"layers {nouts}, rate {rate}: parameter {i}, {numbers[i]}, should become "
                    f"{right}, found {p.data}"
                )

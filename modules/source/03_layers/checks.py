# The checks of lesson 03, by exercise. `check("linear")` in the chapter runs the visible ones.

# %% setup
import math

import numpy as np

from tinytorch.core.tensor import Tensor, Variable


# %% linear points=5
def test_each_output_weighs_all_inputs():
    x = np.array([[1, 2, -3], [0.5, 4, 10], [-2, 0, 7], [100, -50, 3], [0, 1, 0]], "float32")
    weights = np.array([[2, -1, 0.5, 3], [1, 5, -2, 0.25], [-4, 0, 1, 6]], "float32")
    bias = np.array([10, -20, 0.5, 3], "float32")
    for given, added in [(Tensor(bias), bias), (None, [0, 0, 0, 0])]:
        wanted = np.array(
            [
                [
                    sum(float(row[i]) * float(weights[i, j]) for i in range(3))
                    + float(added[j])
                    for j in range(4)
                ]
                for row in x
            ]
        )
        out = linear(Tensor(x), Tensor(weights), given)
        assert out.shape == (5, 4), (
            f"5 rows of 3, weights (3, 4): the result has shape (5, 4), yours {out.shape}"
        )
        assert np.allclose(out.data, wanted, rtol=1e-5, atol=1e-5), (
            f"with bias {given} the result should be\n{wanted}, yours is\n{out.data}"
        )
        assert out.dtype.name == "float32", f"float32 went in, {out.dtype} came out"
    out = linear(
        Tensor(x.astype("float64")),
        Tensor(weights.astype("float64")),
        Tensor(bias.astype("float64")),
    )
    assert out.dtype.name == "float64", f"float64 went in, {out.dtype} came out"


def test_axes_in_front_stay():
    weights = np.array([[2, -1], [1, 5], [-4, 0.5]], "float32")
    bias = np.array([0.25, -3], "float32")
    for shape in [(3,), (1, 3), (0, 3), (2, 5, 3), (4, 1, 2, 3)]:
        x = (np.arange(np.prod(shape), dtype="float32") - 4).reshape(shape)
        out = linear(Tensor(x), Tensor(weights), Tensor(bias))
        wanted = np.tensordot(x, weights, 1) + bias
        assert out.shape == wanted.shape, (
            f"{shape} through (3, 2) has shape {wanted.shape}, yours {out.shape}"
        )
        assert np.allclose(out.data, wanted), (
            f"{shape} through (3, 2) should be {wanted}, yours is {out.data}"
        )


def test_a_bias_of_zero_is_a_bias():
    out = linear(
        Tensor([[1.0, 2.0], [3.0, 5.0], [0.0, 1.0]]), Tensor([[1.0], [4.0]]), Variable([0.0])
    )
    assert out.requires_grad, (
        "one output with a bias of 0: the bias was left out, so it can never learn. "
        "`if bias:` asks for its value; ask `bias is None`"
    )
    assert np.allclose(out.data, [[9], [23], [4]]), (
        f"it should be [[9], [23], [4]], yours is {out.data}"
    )


def test_the_note_of_how_it_was_made_is_kept():
    x, weights, bias = [[1.0, 2.0]], [[1.0, 4.0, 0.0], [2.0, 1.0, 3.0]], [0.5, 0.0, 1.0]
    for learns in ("x", "weights", "bias"):
        out = linear(
            *[
                Tensor(data, requires_grad=name == learns)
                for name, data in [("x", x), ("weights", weights), ("bias", bias)]
            ]
        )
        assert out.requires_grad is True, (
            f"{learns} wants a gradient, so the result must too: compute with tensors, "
            "not .data"
        )
        assert np.array_equal(np.asarray(out), [[5.5, 6.0, 7.0]]), (
            f"x W + b should be [[5.5, 6, 7]], yours {out}"
        )


def test_a_wrong_width_is_refused():
    weights = Tensor(np.ones((3, 4), "float32"))
    for shape in [(5, 1), (5, 2), (5, 4), (2, 3, 1), (1,), (3, 5)]:
        try:
            out = linear(
                Tensor(np.ones(shape, "float32")), weights, Tensor(np.ones(4, "float32"))
            )
        except ValueError as error:
            assert str(shape) in str(error) and "(3, 4)" in str(error), (
                f"the error should name {shape} and (3, 4), yours: {error}"
            )
        else:
            assert False, (
                f"weights (3, 4) take rows of 3 numbers; you accepted {shape} and made "
                f"{out.shape} of it, with some weights used wrongly or never"
            )


# %% linear hidden points=1
def test_linear_on_other_ranks_widths_and_magnitudes():
    random = np.random.default_rng(21)
    for shape, width, dtype in [
        ((7, 1), 4, "float32"),
        ((1,), 1, "float64"),
        ((3, 2, 1, 5), 1, "float32"),
        ((2, 0, 4), 3, "float64"),
        ((2, 1, 3, 1, 2), 6, "float64"),
    ]:
        size = 10.0 ** random.integers(-5, 6, shape[-1])
        x, weights = (
            random.normal(size=shape) * size,
            random.normal(size=(shape[-1], width)) / size[:, None],
        )
        x, weights, bias = (
            x.astype(dtype),
            weights.astype(dtype),
            random.normal(size=width).astype(dtype),
        )
        wanted = np.einsum("...i,ij->...j", x, weights)
        for added in (None, bias):
            inputs = {
                "weights": Tensor(weights),
                "x": Tensor(x),
                "bias": None if added is None else Tensor(added),
            }
            out, right = linear(**inputs), wanted if added is None else wanted + added
            assert out.shape == right.shape and out.dtype.name == dtype, (
                f"{dtype} {shape} by {weights.shape}: {dtype} {right.shape} expected, got "
                f"{out.dtype} {out.shape}"
            )
            assert np.allclose(out.data, right, rtol=1e-5, atol=1e-5), (
                f"{shape} by {weights.shape}, bias {added}: {right} expected, got {out.data}"
            )
            assert np.array_equal(inputs["x"].data, x) and np.array_equal(
                inputs["weights"].data, weights
            ), f"{shape} by {weights.shape}: an input was changed"
    for shape, widths in [
        ((5, 3), (1, 4)),
        ((6,), (2, 1)),
        ((2, 4, 2), (4, 2)),
        ((0, 2), (3, 2)),
    ]:
        try:
            out = linear(Tensor(np.ones(shape, "float32")), Tensor(np.ones(widths, "float32")))
        except ValueError as error:
            assert str(shape) in str(error) and str(widths) in str(error), (
                f"{shape} by {widths}: the error is {error}"
            )
        else:
            assert False, f"{shape} by {widths}: ValueError expected, got shape {out.shape}"


# %% xavier points=4
def test_xavier_has_its_variance():
    for fan_in, fan_out in [(300, 200), (40, 1000), (1200, 50)]:
        w = np.asarray(xavier_uniform(fan_in, fan_out, rng=7))
        assert w.shape == (fan_in, fan_out), (
            f"weights are ({fan_in}, {fan_out}), in times out; yours {w.shape}"
        )
        wanted, found = 2 / (fan_in + fan_out), float(np.var(w, dtype="float64"))
        assert abs(found / wanted - 1) < 0.03, (
            f"fan_in {fan_in}, fan_out {fan_out}: the variance should be 2 / {fan_in + fan_out}"
            f" = {wanted:.5f}, yours is {found:.5f}, {found / wanted:.3g} times as much. Even "
            "numbers in -a ... a have the variance a * a / 3"
        )
        assert abs(w.mean()) < 0.03 * math.sqrt(wanted), (
            f"as many below 0 as above: the mean should be 0, not {w.mean()}"
        )


def test_xavier_draws_evenly_up_to_its_limit():
    a = math.sqrt(6 / 500)
    size = np.abs(np.asarray(xavier_uniform(300, 200, rng=11)))
    assert 0.999 * a < size.max() <= a * 1.000001, (
        f"a is sqrt(6 / 500) = {a:.4f}; your largest weight is {size.max():.4f}"
    )
    for part in (0.25, 0.5, 0.75):
        found = float((size < part * a).mean())
        assert abs(found - part) < 0.01, (
            f"{part:.0%} of the weights should be within {part} a of 0, yours: {found:.1%}"
        )


def test_xavier_is_repeatable():
    first, again, other = [np.asarray(xavier_uniform(30, 20, rng=seed)) for seed in (5, 5, 6)]
    assert np.array_equal(first, again), (
        "the same seed twice should draw the same weights: draw from generator(rng)"
    )
    assert not np.array_equal(first, other), (
        "seeds 5 and 6 drew the same weights: draw from generator(rng)"
    )
    manual_seed(3)
    first, second = np.asarray(xavier_uniform(30, 20)), np.asarray(xavier_uniform(30, 20))
    manual_seed(3)
    again = np.asarray(xavier_uniform(30, 20))
    assert np.array_equal(first, again), (
        "after manual_seed(3) the same weights should come: draw from generator(rng)"
    )
    assert not np.array_equal(first, second), (
        "two layers in a row got the same weights: do not seed inside"
    )


def test_xavier_gives_float32_of_any_shape():
    w = np.asarray(xavier_uniform(27, 72, rng=1, shape=(8, 3, 3, 3)))
    assert w.shape == (8, 3, 3, 3), f"shape=(8, 3, 3, 3) was asked for, yours is {w.shape}"
    for w in (w, np.asarray(xavier_uniform(3, 4))):
        assert w.dtype.name == "float32", f"weights are float32, yours are {w.dtype}"
    assert np.abs(w).max() <= math.sqrt(6 / 7), (
        f"fan_in 3, fan_out 4: a is {math.sqrt(6 / 7):.3f}, yours go to {np.abs(w).max():.3f}"
    )


# %% xavier hidden points=1
def test_xavier_for_other_fans_shapes_and_generators():
    for fan_in, fan_out, shape in [
        (90, 7, (400, 90)),
        (3, 5000, None),
        (2500, 1, (50, 7, 60)),
        (11, 11, (20000,)),
    ]:
        w = np.asarray(xavier_uniform(rng=13, shape=shape, fan_out=fan_out, fan_in=fan_in))
        case = f"fan_in {fan_in}, fan_out {fan_out}, shape {shape}"
        right = shape or (fan_in, fan_out)
        assert w.shape == right and w.dtype.name == "float32", (
            f"{case}: got {w.dtype} {w.shape}"
        )
        found = float(np.var(w, dtype="float64")) * (fan_in + fan_out) / 2
        assert abs(found - 1) < 0.04, (
            f"{case}: the variance is {found:.3f} times as large as it should be"
        )
        a = math.sqrt(6 / (fan_in + fan_out))
        assert 0.99 * a < np.abs(w).max() <= a * 1.000001, (
            f"{case}: a is {a:.5f}, got up to {np.abs(w).max():.5f}"
        )
    rng = generator(17)
    first, second = [np.asarray(xavier_uniform(6, 5, rng)) for _ in range(2)]
    again = np.asarray(xavier_uniform(6, 5, generator(17)))
    assert np.array_equal(first, again), (
        "two generators of the same seed drew different weights"
    )
    assert not np.array_equal(first, second), "one generator drew the same weights twice"


# %% he points=4
def test_he_has_its_variance():
    for fan_in, fan_out in [(300, 200), (40, 1000), (1200, 50)]:
        w = np.asarray(he_normal(fan_in, fan_out, rng=7))
        assert w.shape == (fan_in, fan_out), (
            f"weights are ({fan_in}, {fan_out}), in times out; yours {w.shape}"
        )
        wanted, found = 2 / fan_in, float(np.var(w, dtype="float64"))
        assert abs(found / wanted - 1) < 0.04, (
            f"fan_in {fan_in}, fan_out {fan_out}: the variance should be 2 / {fan_in} = "
            f"{wanted:.5f}, yours is {found:.5f}, {found / wanted:.3g} times as much. NumPy"
            " wants its root, the standard deviation"
        )
        assert abs(w.mean()) < 0.03 * math.sqrt(wanted), (
            f"as many below 0 as above: the mean should be 0, not {w.mean()}"
        )


def test_he_draws_from_the_bell_curve():
    w = np.asarray(he_normal(300, 200, rng=11)) / math.sqrt(2 / 300)
    for limit, wanted in [(0.5, 0.3829), (1, 0.6827), (2, 0.9545)]:
        found = float((np.abs(w) < limit).mean())
        assert abs(found - wanted) < 0.01, (
            f"{wanted:.1%} of the weights should be within {limit} standard deviations of 0, "
            f"yours: {found:.1%}"
        )


def test_he_is_repeatable():
    first, again, other = [np.asarray(he_normal(30, 20, rng=seed)) for seed in (5, 5, 6)]
    assert np.array_equal(first, again), (
        "the same seed twice should draw the same weights: draw from generator(rng)"
    )
    assert not np.array_equal(first, other), (
        "seeds 5 and 6 drew the same weights: draw from generator(rng)"
    )
    manual_seed(3)
    first, second = np.asarray(he_normal(30, 20)), np.asarray(he_normal(30, 20))
    manual_seed(3)
    again = np.asarray(he_normal(30, 20))
    assert np.array_equal(first, again), (
        "after manual_seed(3) the same weights should come: draw from generator(rng)"
    )
    assert not np.array_equal(first, second), (
        "two layers in a row got the same weights: do not seed inside"
    )


def test_he_gives_float32_of_any_shape():
    w = np.asarray(he_normal(270, 72, rng=1, shape=(80, 30, 3, 3)))
    assert w.shape == (80, 30, 3, 3), f"shape=(80, 30, 3, 3) was asked for, yours is {w.shape}"
    assert abs(w.var() * 270 / 2 - 1) < 0.04, (
        f"the shape does not change the variance, 2 / 270; yours is {w.var():.5f}"
    )
    for w in (w, np.asarray(he_normal(3, 4))):
        assert w.dtype.name == "float32", f"weights are float32, yours are {w.dtype}"


# %% he hidden points=1
def test_he_for_other_fans_shapes_and_generators():
    for fan_in, fan_out, shape in [
        (90, 7, (400, 90)),
        (3, 8000, None),
        (2500, 1, (50, 7, 60)),
        (11, 30, (20000,)),
    ]:
        w = np.asarray(he_normal(rng=13, shape=shape, fan_out=fan_out, fan_in=fan_in))
        case = f"fan_in {fan_in}, fan_out {fan_out}, shape {shape}"
        right = shape or (fan_in, fan_out)
        assert w.shape == right and w.dtype.name == "float32", (
            f"{case}: got {w.dtype} {w.shape}"
        )
        found = float(np.var(w, dtype="float64")) * fan_in / 2
        assert abs(found - 1) < 0.05, (
            f"{case}: the variance is {found:.3f} times as large as it should be"
        )
        beyond = float((np.abs(w) > 2 * math.sqrt(2 / fan_in)).mean())
        assert abs(beyond - 0.0455) < 0.01, (
            f"{case}: 4.55% expected beyond two standard deviations, got {beyond:.2%}"
        )
    few, many = [
        np.asarray(he_normal(50, fan_out, rng=1, shape=(30, 4))) for fan_out in (3, 900)
    ]
    assert np.array_equal(few, many), (
        "shape and seed given: fan_out 3 and 900 drew different weights"
    )
    rng = generator(17)
    first, second = [np.asarray(he_normal(6, 5, rng)) for _ in range(2)]
    again = np.asarray(he_normal(6, 5, generator(17)))
    assert np.array_equal(first, again), (
        "two generators of the same seed drew different weights"
    )
    assert not np.array_equal(first, second), "one generator drew the same weights twice"


# %% learner-side
class Bare(Module):
    """A module with one parameter, of shape (rows, 2)."""

    def __init__(self, rows):
        self.rows = rows
        self.weights = Variable(np.full((rows, 2), 10.0 + rows, "float32"))


class Estate(Module):
    """Parameters in all kinds of places, one of them in two, and tensors that are none."""

    def __init__(self):
        self.title, self.count, self.table = "estate", 3, np.ones((2, 3))
        self.scale = Variable([2.0, 3.0, 5.0])
        self.blocks = [Bare(1), {"left": Bare(2), 7: (Bare(3), Variable([7.0]))}]
        self.running = Tensor([0.5, 0.25])
        self.again = self.scale
        self.made = self.scale * 2
        self.deep = {"bed": [[Bare(4)]]}


class Ring(Module):
    """A module that holds a module that holds it."""

    def __init__(self):
        self.inner = Bare(5)
        self.inner.outer = self


# %% parts points=3
def test_a_module_has_its_attributes():
    found = [name for name, _ in parts_of(Bare(1))]
    assert found == ["rows", "weights"], (
        f"Bare has the attributes rows and weights, you found {found}"
    )
    parts = dict(parts_of(Bare(3)))
    assert parts["rows"] == 3 and np.array_equal(
        np.asarray(parts["weights"]), np.full((3, 2), 13)
    ), f"each name comes with its part: 3 and a (3, 2) tensor of 13; you found {parts}"


def test_rows_and_dicts_have_parts():
    for thing, wanted in [
        (["a", 5], [("0", "a"), ("1", 5)]),
        (("x", None, 2.5), [("0", "x"), ("1", None), ("2", 2.5)]),
        ({"left": 1, 7: "b"}, [("left", 1), ("7", "b")]),
        ([[4], [5]], [("0", [4]), ("1", [5])]),
    ]:
        found = [(name, part) for name, part in parts_of(thing)]
        kind = (
            "list"
            if isinstance(thing, list)
            else "tuple"
            if isinstance(thing, tuple)
            else "dict"
        )
        assert found == wanted, (
            f"the {kind} {thing} has the parts {wanted}, you found {found}: layers kept in a "
            f"{kind} would be missed or misnamed"
        )


def test_all_else_has_no_parts():
    for thing in (Tensor([1.0, 2.0]), 5, None, "word", np.ones((2, 2)), 2.5, [], (), {}):
        try:
            found = len(parts_of(thing))
        except (TypeError, AttributeError) as error:
            assert False, f"parts_of({thing!r}) should be an empty list, yours raises {error}"
        assert found == 0, (
            f"parts_of({thing!r}) should be an empty list, yours has {found} parts"
        )
    assert len(parts_of([5, 6, 7])) == 3, "a list with three things in it has three parts"


# %% walk points=4
def test_the_walk_finds_everything_under_its_path():
    wanted = [
        "",
        "scale",
        "blocks.0",
        "blocks.0.weights",
        "blocks.1.left",
        "blocks.1.left.weights",
        "blocks.1.7.0",
        "blocks.1.7.0.weights",
        "blocks.1.7.1",
        "running",
        "made",
        "deep.bed.0.0",
        "deep.bed.0.0.weights",
    ]
    found = [path for path, _ in walk(Estate())]
    for path in wanted:
        assert path in found, f"the walk should find {path!r}, yours finds {found}"
    for path in found:
        assert path in wanted, (
            f"the walk should not list {path!r}: only modules and tensors, each once, under the"
            " first path that leads there"
        )
    assert found == wanted, (
        f"parts come behind what holds them, in the order of parts_of: {wanted}, yours {found}"
    )


def test_each_path_leads_to_its_thing():
    found = dict(walk(Estate()))
    for path, wanted in [
        ("scale", [2, 3, 5]),
        ("blocks.1.7.1", [7]),
        ("running", [0.5, 0.25]),
        ("made", [4, 6, 10]),
        ("blocks.1.left.weights", [[12, 12], [12, 12]]),
        ("deep.bed.0.0.weights", [[14, 14]] * 4),
    ]:
        assert path in found, f"the walk should find {path!r}, yours finds {list(found)}"
        assert np.array_equal(np.asarray(found[path]), wanted), (
            f"{path} is {wanted}, yours leads to {found[path]}"
        )


def test_the_walk_ends_when_things_hold_each_other():
    try:
        found = [path for path, _ in walk(Ring())]
    except RecursionError:
        assert False, (
            "ring.inner.outer is ring again, and your walk goes round for ever: stop at what "
            "was met before"
        )
    assert found == ["", "inner", "inner.weights"], (
        f"the ring holds '', 'inner' and 'inner.weights', each once; yours finds {found[:9]}"
    )


def test_every_walk_starts_afresh():
    net = Estate()
    first, second = len(walk(net)), len(walk(net))
    assert second == first, (
        f"the first walk found {first} things, the second {second}: begin with a new set each "
        "time"
    )
    equal = len(walk([Tensor([1.0]), Tensor([1.0])]))
    assert equal == 2, (
        f"two tensors with equal numbers are two things, your walk found {equal}: compare by id"
    )
    found = len(walk([[Tensor([2.0]), Tensor([3.0])], Tensor([4.0])]))
    assert found == 3, (
        f"two tensors in a list, and one beside it, are three things, your walk found {found}"
    )


# %% walk hidden points=1
def test_the_walk_through_other_nestings():
    shared, twin, inner = Tensor([1.0, 2.0]), Tensor([1.0, 2.0]), Bare(2)
    inner.rest = ({"first": shared, "second": None}, [Variable([[3.0]])], "word")
    thing = {
        "z": [(), [[twin]], {"deep": (shared, {"er": inner})}],
        12: shared,
        "a": ({"x": 2.5}, inner, True),
    }
    for start, before in [("", ""), ("net", "net."), ("net.part", "net.part.")]:
        found = [
            (path, np.asarray(part).tolist())
            for path, part in walk(thing, start)
            if isinstance(part, Tensor)
        ]
        right = [
            (before + path, numbers)
            for path, numbers in [
                ("z.1.0.0", [1, 2]),
                ("z.2.deep.0", [1, 2]),
                ("z.2.deep.1.er.weights", [[12, 12], [12, 12]]),
                ("z.2.deep.1.er.rest.1.0", [[3]]),
            ]
        ]
        assert found == right, f"from path {start!r}: the tensors {right} expected, got {found}"
        modules = [path for path, part in walk(thing, path=start) if isinstance(part, Module)]
        assert modules == [before + "z.2.deep.1.er"], (
            f"from path {start!r}: one module expected, got {modules}"
        )
    one, other = Bare(1), Bare(3)
    one.friend, other.friend = other, one
    found = [path for path, _ in walk((other, [one]))]
    right = ["0", "0.weights", "0.friend", "0.friend.weights"]
    assert found == right, f"two modules that hold each other: {right} expected, got {found}"
    found = [path for path, _ in walk([Tensor(0.0) for _ in range(12)])]
    assert found == [str(place) for place in range(12)], f"a list of 12 tensors: got {found}"


# %% parameters points=4
def test_parameters_are_what_is_to_be_learned():
    found = [name for name, _ in named_parameters(Estate())]
    wanted = [
        "scale",
        "blocks.0.weights",
        "blocks.1.left.weights",
        "blocks.1.7.0.weights",
        "blocks.1.7.1",
        "deep.bed.0.0.weights",
    ]
    assert "running" not in found, (
        "'running' does not want a gradient: it is measured, not learned"
    )
    assert "made" not in found, (
        "'made' is a result of an operation (it has a creator): its gradient goes to what it "
        "was made from"
    )
    assert found == wanted, f"the parameters of Estate are {wanted}, yours are {found}"


def test_a_parameter_in_two_places_is_listed_once():
    scales = [name for name, tensor in named_parameters(Estate()) if tensor.shape == (3,)]
    assert scales == ["scale"], (
        f"'scale' and 'again' are one tensor, listed once, as 'scale'; you list {scales}"
    )
    assert len(Estate().parameters()) == 6, (
        f"Estate has 6 parameters, yours {len(Estate().parameters())}"
    )


def test_the_parameters_are_the_tensors_themselves():
    net = Bare(2)
    pairs = named_parameters(net)
    assert [name for name, _ in pairs] == ["weights"], (
        f"Bare has one parameter, weights; yours {pairs}"
    )
    pairs[0][1].grad = np.full((2, 2), 3.0, "float32")
    found = net.weights.grad
    assert found is not None, (
        "a gradient given to the listed parameter did not arrive in the module: list the "
        "tensor, no copy"
    )
    net.zero_grad()
    assert net.weights.grad is None, (
        "zero_grad should set the gradients of all parameters to None, yours is "
        f"{net.weights.grad}"
    )


def test_frozen_parameters_are_left_out():
    net = Estate()
    net.scale.requires_grad = False
    found = [name for name, _ in net.named_parameters()]
    assert "scale" not in found and len(found) == 5, (
        f"scale no longer wants a gradient: 5 parameters are left, yours {found}"
    )


# %% parameters hidden points=1
def test_parameters_of_other_networks():
    kept, frozen, thawed = Variable([[1.0], [2.0]]), Variable([3.0]), Tensor([4.0, 5.0])
    frozen.requires_grad, thawed.requires_grad = False, True
    net = Bare(4)
    net.more = [
        kept * 2,
        {"f": frozen, "t": thawed, "k": [kept]},
        Tensor([6.0]),
        Variable(np.zeros((0, 3), "float32")),
    ]
    for thing, before in [
        (net, ""),
        ({"net": net, "again": kept}, "net."),
        ([5, (net, thawed)], "1.0."),
    ]:
        found = [name for name, _ in named_parameters(thing)]
        right = [before + name for name in ("weights", "more.1.t", "more.1.k.0", "more.3")]
        assert found == right, f"{right} expected, got {found}"
    for place, (_, tensor) in enumerate(named_parameters(net)):
        tensor.grad = np.full(tensor.shape, place, "float32")
    found = [
        None if tensor.grad is None else tensor.grad.tolist()
        for tensor in (thawed, kept, frozen)
    ]
    assert found == [[1, 1], [[2], [2]], None], (
        f"gradients 1, 2 and None expected in the net's tensors, got {found}"
    )


# %% dense points=7
def test_a_dense_layer_has_two_parameters():
    layer = Dense(3, 5)
    for name, wanted in [("weights", (3, 5)), ("bias", (5,))]:
        found = getattr(layer, name).shape
        assert found == wanted, f"Dense(3, 5) has {name} of shape {wanted}, yours {found}"
        assert getattr(layer, name).dtype.name == "float32", (
            f"{name} should be float32, not {getattr(layer, name).dtype}"
        )
    assert np.array_equal(np.asarray(layer.bias), np.zeros(5)), (
        f"the bias starts at 0, yours at {layer.bias}"
    )


def test_the_parameters_are_found_by_name():
    found = [name for name, _ in Dense(3, 5).named_parameters()]
    for name in ("weights", "bias"):
        assert name in found, (
            f"{name} is not among the parameters, so it would never learn: store a Variable "
            "itself, not the result of an operation on one, nor a plain Tensor. Yours are"
            f" {found}"
        )
    assert found == ["weights", "bias"], (
        f"the parameters are weights, then bias, and no other; yours {found}"
    )


def test_a_layer_may_go_without_bias():
    layer = Dense(3, 5, bias=False)
    found = [name for name, _ in layer.named_parameters()]
    assert found == ["weights"], (
        f"with bias=False the only parameter is weights, yours are {found}"
    )
    assert layer.bias is None, f"with bias=False, bias is None, yours is {layer.bias}"
    x = np.array([[1, 2, 3], [0.5, -1, 4]], "float32")
    out = layer(Tensor(x))
    assert np.allclose(out.data, x @ np.asarray(layer.weights)), (
        f"without bias the result is x @ weights, yours is {out.data}"
    )


def test_the_weights_come_from_init():
    asked = []

    def counted(fan_in, fan_out, rng):
        asked.append((fan_in, fan_out, rng))
        return np.arange(fan_in * fan_out, dtype="float32").reshape(fan_in, fan_out)

    layer = Dense(4, 3, init=counted, rng=9)
    assert asked == [(4, 3, 9)], (
        f"Dense(4, 3, init=f, rng=9) should call f(4, 3, 9) once; your calls: {asked}"
    )
    assert np.array_equal(np.asarray(layer.weights), np.arange(12).reshape(4, 3)), (
        f"init gave 0 to 11 in shape (4, 3), your weights are {layer.weights}"
    )
    for init in (xavier_uniform, he_normal):
        found, wanted = (
            np.asarray(Dense(30, 20, init=init, rng=2).weights),
            np.asarray(init(30, 20, 2)),
        )
        assert np.array_equal(found, wanted), (
            f"with rng=2 the weights are what {init.__name__}(30, 20, 2) draws"
        )
    assert np.array_equal(
        np.asarray(Dense(30, 20, rng=2).weights), np.asarray(xavier_uniform(30, 20, 2))
    ), "unless told otherwise, weights are drawn by xavier_uniform: use the argument init"


def test_chance_can_be_repeated():
    manual_seed(4)
    first, second = np.asarray(Dense(6, 5).weights), np.asarray(Dense(6, 5).weights)
    manual_seed(4)
    again = np.asarray(Dense(6, 5).weights)
    assert np.array_equal(first, again), (
        "after manual_seed(4) the same layer should come again: pass rng on"
    )
    assert not np.array_equal(first, second), (
        "two layers in a row got the same weights: pass rng on, do not seed"
    )


def test_it_computes_what_linear_does():
    layer = Dense(3, 2, rng=1)
    layer.bias.detach()[:] = [10.0, -20.0]
    for shape in [(4, 3), (3,), (5, 1, 3), (0, 3)]:
        x = np.arange(math.prod(shape), dtype="float32").reshape(shape) - 3
        out = layer(Tensor(x))
        wanted = x @ np.asarray(layer.weights) + [10, -20]
        assert out.shape == wanted.shape, (
            f"{shape} through Dense(3, 2) has shape {wanted.shape}, yours {out.shape}"
        )
        assert np.allclose(out.data, wanted, rtol=1e-5, atol=1e-5), (
            f"{shape} should give {wanted}, yours is {out.data}"
        )
        assert out.dtype.name == "float32" and out.requires_grad, (
            f"the result should be float32 and want a gradient: yours is {out.dtype}, "
            f"{out.requires_grad}"
        )


def test_a_wrong_width_is_told_with_both_shapes():
    layer = Dense(3, 2)
    for shape in [(5, 2), (3, 4), (2, 3, 1), (2,), ()]:
        try:
            out = layer(Tensor(np.ones(shape, "float32")))
        except ValueError as error:
            assert str(shape) in str(error) and "(..., 3)" in str(error), (
                f"the error should name {shape} and (..., 3), yours: {error}"
            )
        else:
            assert False, (
                f"Dense(3, 2) takes rows of 3 numbers, yours made {out.shape} of {shape}"
            )


# %% dense hidden points=1
def test_dense_layers_of_other_widths():
    def draw(fan_in, fan_out, rng):
        return (np.arange(fan_in * fan_out, dtype="float32") - rng).reshape(fan_in, fan_out)

    for ins, outs, bias in [
        (1, 1, True),
        (1, 6, False),
        (9, 1, True),
        (4, 7, False),
        (2, 11, True),
    ]:
        layer = Dense(out_features=outs, in_features=ins, rng=3, init=draw, bias=bias)
        found, right = (
            [name for name, _ in layer.named_parameters()],
            (["weights", "bias"] if bias else ["weights"]),
        )
        assert found == right, (
            f"Dense({ins}, {outs}, bias={bias}): the parameters {right} expected, got {found}"
        )
        weights = draw(ins, outs, 3)
        assert np.array_equal(np.asarray(layer.weights), weights), (
            f"Dense({ins}, {outs}): the weights of init {weights} expected, got {layer.weights}"
        )
        if bias:
            assert np.array_equal(np.asarray(layer.bias), np.zeros(outs)), (
                f"a bias of {outs} zeros, got {layer.bias}"
            )
            layer.bias.detach()[:] = np.arange(outs, dtype="float32") * 100
        for shape in [(ins,), (2, 1, 3, ins)]:
            x = (np.arange(math.prod(shape), dtype="float32") - 2).reshape(shape)
            out = layer(Tensor(x))
            right = np.einsum("...i,ij->...j", x, weights) + np.arange(outs) * 100 * bias
            assert out.shape == right.shape and np.allclose(out.data, right, rtol=1e-5), (
                f"Dense({ins}, {outs}, bias={bias}) of {x}: {right} expected, got {out}"
            )
    rng = generator(8)
    first, second = [np.asarray(Dense(5, 4, rng=rng).weights) for _ in range(2)]
    assert not np.array_equal(first, second), (
        "two layers from one generator have the same weights"
    )


# %% sequential points=5
def test_each_layer_takes_what_the_one_before_gave():
    net = Sequential(lambda x: x + 3, lambda x: x * x, lambda x: x - 1)
    out = net(Tensor([[1.0, 2.0, -5.0]]))
    assert np.array_equal(out.data, [[15, 24, 3]]), (
        f"add 3, square, take 1 away: [1, 2, -5] becomes [15, 24, 3], yours is {out.data}. "
        "Each takes what the one before gave, in order"
    )
    assert np.array_equal(Sequential(lambda x: x * 2)(Tensor([5.0])).data, [10]), (
        "one member is a network too"
    )
    assert np.array_equal(Sequential()(Tensor([5.0])).data, [5]), (
        "a network of no layers gives back what it got"
    )


def test_layers_and_functions_mix():
    first, last = Dense(3, 4, rng=1), Dense(4, 2, rng=2)
    x = np.array([[1, -2, 0.5], [3, 1, -1]], "float32")
    net = Sequential(first, Tensor.relu, last)
    try:
        out = net(Tensor(x))
    except AttributeError as error:
        assert False, (
            f"functions have no method forward ({error}): call the member itself, layer(x)"
        )
    wanted = np.maximum(x @ np.asarray(first.weights), 0) @ np.asarray(last.weights)
    assert np.allclose(out.data, wanted, rtol=1e-5), (
        f"Dense, relu, Dense should give {wanted}, yours is {out.data}"
    )
    assert out.requires_grad and out.dtype.name == "float32", (
        "the result should be float32 and keep the note of how it was made"
    )


def test_names_are_places():
    net = Sequential(Dense(3, 4), Tensor.tanh, Sequential(Dense(4, 5, bias=False), Dense(5, 2)))
    found = [name for name, _ in net.named_parameters()]
    wanted = ["0.weights", "0.bias", "2.0.weights", "2.1.weights", "2.1.bias"]
    assert found == wanted, f"the parameters are {wanted}, yours are {found}"
    assert net(Tensor(np.ones((6, 3), "float32"))).shape == (6, 2), (
        "6 rows of 3 should become 6 rows of 2"
    )


def test_a_layer_used_twice_has_one_set_of_parameters():
    shared = Dense(3, 3, rng=5)
    net = Sequential(shared, Tensor.tanh, shared)
    x, w = np.array([[1, 2, -1]], "float32"), np.asarray(shared.weights)
    assert np.allclose(net(Tensor(x)).data, np.tanh(x @ w) @ w, rtol=1e-5), (
        "the shared layer should be used twice"
    )
    assert len(net.parameters()) == 2, (
        f"its weights and bias are counted once: 2 parameters, yours {len(net.parameters())}"
    )


def test_members_can_be_counted_and_picked():
    net = Sequential(Dense(2, 3), Tensor.relu, Dense(3, 7), Tensor.tanh)
    assert len(net) == 4 and len(net[1:]) == 3, (
        f"there are 4 members, and 3 in [1:]; yours {len(net)} and {len(net[1:])}"
    )
    x = Tensor([[1.0, 2.0]])
    assert np.allclose(net[:3](x).tanh().data, net(x).data), (
        "the first three, then tanh, should do what the whole does"
    )
    assert net[-2].out_features == 7, f"net[-2] is Dense(3, 7), yours {net[-2]}"


# %% sequential hidden points=1
def test_longer_networks_call_each_member_once():
    called = []

    def member(number):
        def layer(x):
            called.append(number)
            return x * number + 1

        return layer

    for numbers in [(-3,), (3, -1), (2, 5, -3, 0.5, 7), (2, -1) * 6]:
        called.clear()
        x = right = np.array([[[1.0], [-2.0], [0.25]]])
        for number in numbers:
            right = right * number + 1
        out = Sequential(*[member(number) for number in numbers])(Tensor(x))
        assert called == list(numbers), f"members {numbers}: called were {called}"
        assert out.shape == (1, 3, 1) and np.allclose(out.data, right), (
            f"{numbers}: {right} expected, got {out.data}"
        )
    shrinking = Sequential(
        Sequential(), Sequential(Tensor.exp, Sequential(Tensor.sum)), member(4)
    )
    out = shrinking(Variable([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    assert out.shape == () and out.requires_grad and abs(float(out) - 25) < 1e-5, (
        f"nested, exp, sum, times 4 plus 1 of six zeros: 25 expected, got {out}"
    )


# %% training points=3
def test_every_module_inside_is_told():
    net = Estate()
    for mode in (False, True):
        set_training(net, mode)
        assert net.training == mode, (
            f"set_training(net, {mode}) leaves net.training at {net.training}"
        )
        for place, part in [
            ("blocks.0", net.blocks[0]),
            ("blocks.1.left", net.blocks[1]["left"]),
            ("blocks.1.7.0", net.blocks[1][7][0]),
            ("deep.bed.0.0", net.deep["bed"][0][0]),
        ]:
            assert part.training == mode, (
                f"set_training(net, {mode}) leaves {place} at {part.training}: go to every "
                "module inside, however deep"
            )


def test_train_and_eval_give_back_the_module():
    net = Sequential(Bare(2))
    # noqa: E712
    assert net.training == True and net[0].training == True, "a new module is in training"
    modes = [net.eval()[0].training, net.train()[0].training, net.train(False)[0].training]
    assert modes == [False, True, False], (
        f"after eval(), train() and train(False) training is False, True, False; yours {modes}"
    )


def test_other_networks_stay_as_they_are():
    net, other = Sequential(Bare(2)), Sequential(Bare(3))
    set_training(net, False)
    assert net[0].training == False, (
        f"the module inside should be at False, it is at {net[0].training}"
    )  # noqa: E712
    found = [other.training, other[0].training, Bare(1).training]
    assert found == [True, True, True], (
        "one network was set to False, and the training of others, old and new, became "
        f"{found}: set it on the objects, not on the class"
    )


# %% training hidden points=1
def test_the_mode_reaches_other_nestings():
    shared, holder = Bare(1), Bare(6)
    holder.held = {
        "a": ([shared, {"b": (Bare(2), [Estate()])}], shared),
        5: Ring(),
        "word": ["x", None, 1.5],
    }
    for mode in (False, True, False):
        result = set_training(holder, mode)
        assert result is None, f"set_training should return None, got {result}"
        found = [part.training for part in holder.modules()]
        assert found == [mode] * 10, f"mode {mode} expected in 10 modules, got {found}"
    assert shared.training is False, "the shared module was not told"
    ring = Ring()
    set_training(module=ring, mode=False)
    found = [ring.training, ring.inner.training, Ring().training]
    assert found == [False, False, True], (
        f"a ring in use, another new: [False, False, True] expected, got {found}"
    )


# %% dropout points=8
def test_the_right_share_is_dropped():
    for p in (0.2, 0.7, 0.95):
        out = np.asarray(Dropout(p, rng=3)(Tensor(np.ones((300, 200), "float32"))))
        assert out.shape == (300, 200), f"the shape stays (300, 200), yours is {out.shape}"
        found = float((out == 0).mean())
        assert abs(found - p) < 0.01, (
            f"p={p} drops {p:.0%} of the numbers, yours drops {found:.1%}: p is what goes, not "
            "what stays"
        )


def test_survivors_are_enlarged_so_that_the_mean_stays():
    x = np.linspace(-3, 8, 60000, dtype="float32").reshape(300, 200)
    for p in (0.2, 0.7, 0.999):
        out = np.asarray(Dropout(p, rng=4)(Tensor(x)))
        kept = out != 0
        assert kept.any(), f"with p={p} and 60,000 numbers some survive, yours are all 0"
        factor = float((out[kept] / x[kept]).mean())
        assert np.allclose(out[kept], x[kept] / (1 - p), rtol=1e-5), (
            f"with p={p} survivors are divided by 1 - p, so multiplied by {1 / (1 - p):.4g}; "
            f"yours by {factor:.4g}"
        )
    mean = float(np.asarray(Dropout(0.2, rng=4)(Tensor(x))).mean())
    assert abs(mean - 2.5) < 0.05, f"the mean, 2.5, should stay with p=0.2; yours is {mean:.3f}"


def test_every_place_is_drawn_for_itself():
    for shape in [(40, 60), (60, 40), (8, 10, 30)]:
        out = np.asarray(Dropout(0.4, rng=5)(Tensor(np.ones(shape, "float32"))))
        for axis in range(len(shape)):
            alike = float((np.take(out, 0, axis) == np.take(out, 1, axis)).mean())
            assert alike < 0.8, (
                f"shape {shape}: the first and the second slice along axis {axis} have "
                f"{alike:.0%} of their zeros in the same places, about half is chance: draw a"
                " number for each place, random(x.shape)"
            )


def test_every_call_draws_anew():
    layer, x = Dropout(0.4, rng=6), Tensor(np.ones((30, 50), "float32"))
    first, second = np.asarray(layer(x)), np.asarray(layer(x))
    assert not np.array_equal(first, second), (
        "two calls dropped the very same numbers: draw in forward, and do not seed there"
    )
    again = np.asarray(Dropout(0.4, rng=6)(x))
    assert np.array_equal(first, again), (
        "two layers made with rng=6 should begin with the same mask: draw from self.rng"
    )


def test_chance_has_an_order_of_its_own():
    x, masks = Tensor(np.ones((30, 50), "float32")), []
    for drawn_between in (0, 3):
        manual_seed(8)
        layer, other = Dropout(0.4), Dropout(0.4)
        xavier_uniform(5, 4, shape=(drawn_between, 4))
        masks.append(np.asarray(layer(x)))
    assert np.array_equal(*masks), (
        "drawing weights elsewhere changed the mask: draw from self.rng, not from generator()"
    )
    assert not np.array_equal(masks[0], np.asarray(other(x))), (
        "two dropout layers should have masks of their own"
    )


def test_in_use_nothing_is_dropped():
    layer = Dropout(0.8, rng=7)
    x = np.array([[1, -2, 0.5], [3, 7, -100]] * 20, "float32")
    resting = layer.eval()(Variable(x))
    assert np.array_equal(resting.data, x), (
        f"after eval() the layer gives back what it got; yours gives\n{resting.data[:4]}"
    )
    assert resting.requires_grad, (
        "also in use the note of how x was made is kept: give back x itself"
    )
    assert (np.asarray(layer.train()(Tensor(x))) == 0).any(), (
        "after train() the layer should drop again"
    )


def test_dropout_keeps_dtype_shape_and_the_note():
    for dtype in ("float32", "float64"):
        for shape in [(4, 5), (7,), (), (0, 3), (1, 1, 6)]:
            x = Variable(np.full(shape, 3, dtype))
            out = Dropout(0.3, rng=8)(x)
            assert out.shape == shape and out.dtype.name == dtype, (
                f"{dtype} of shape {shape} went in, {out.dtype} of shape {out.shape} came out"
            )
            assert out.requires_grad, (
                "x wants a gradient, so the result must too: multiply tensors, "
                "do not use x.data"
            )
            assert np.array_equal(x.data, np.full(shape, 3)), (
                f"the input, all 3, was changed to {x}: make a new tensor"
            )
            numbers = np.asarray(out.data, "float64")
            assert np.allclose(numbers * (numbers - 3 / 0.7), np.zeros(shape), atol=1e-4), (
                f"3 should become 0 or 3 / 0.7, yours: {out}"
            )


def test_the_ends_of_p():
    x = Tensor([[1.0, -2.0, 3.0]] * 50)
    out = Dropout(0)(x)
    assert np.array_equal(out.data, x.data), (
        f"p=0 drops nothing and changes nothing, yours gives {out.data[:2]}"
    )
    for p in (1, -0.1, 1.5, float("nan")):
        try:
            Dropout(p)
        except ValueError as error:
            assert str(p) in str(error), f"the error should name {p}, yours: {error}"
        else:
            assert False, (
                f"p={p} should be refused: nothing would be left, or less than nothing"
            )


# %% dropout hidden points=1
def test_dropout_of_other_shares_shapes_and_magnitudes():
    random = np.random.default_rng(31)
    for p, shape, dtype in [
        (0.5, (20000,), "float64"),
        (0.4, (50, 2, 30, 20), "float32"),
        (0.35, (3, 90, 100), "float32"),
        (0.9, (20000, 1), "float64"),
    ]:
        x = (random.choice([-1.0, 1.0], shape) * 10.0 ** random.uniform(-12, 12, shape)).astype(
            dtype
        )
        given, layer = Variable(x), Dropout(p=p, rng=generator(3))
        out = layer(given)
        numbers, case = out.data, f"p {p}, {dtype} {shape}"
        assert numbers.shape == shape and numbers.dtype.name == dtype and out.requires_grad, (
            f"{case}: got {out!r:.200}"
        )
        kept = numbers != 0
        assert abs(kept.mean() - (1 - p)) < 0.02, f"{case}: {kept.mean():.1%} survived"
        assert np.allclose(numbers[kept], x[kept] / (1 - p), rtol=1e-5, atol=0), (
            f"{case}: survivors should be x / (1 - p)"
        )
        for axis in [axis for axis, length in enumerate(shape) if 1 < length < 1000]:
            alike = float((np.take(kept, 0, axis) == np.take(kept, 1, axis)).mean())
            assert abs(alike - p * p - (1 - p) ** 2) < 0.2, (
                f"{case}: slices along axis {axis} are {alike:.0%} alike"
            )
        assert np.array_equal(given.data, x), f"{case}: the input was changed"
        again = Dropout(p, generator(3))(given)
        assert np.array_equal(again.data, numbers), (
            f"{case}: equal generators drew different masks"
        )
        assert not np.array_equal(layer(given).data, numbers), (
            f"{case}: the second call drew the same mask"
        )
        net = Bare(1)
        net.inner = {"drop": [layer]}
        net.eval()
        assert np.array_equal(layer(given).data, x), (
            f"{case}: in use, inside another module, numbers were changed"
        )
        net.train()
        assert not np.array_equal(layer(given).data, x), (
            f"{case}: in training again, nothing was dropped"
        )


# %% learner-side
def state_before_and_after(net):
    """The state of `net`, looked at after every tensor of `net` was overwritten with 99, and
    its state then."""
    state = state_of(net)
    for part in (part for _, part in walk(net) if isinstance(part, Tensor)):
        part.detach()[...] = 99
    return state, state_of(net)


def net_after_change_of(state, net):
    """The state of `net` when it has loaded `state`, whose arrays were overwritten with 99
    afterwards."""
    state = {name: np.array(array) for name, array in state.items()}
    load_state(net, state)
    for array in state.values():
        array[...] = 99
    return state_of(net)


def held_from_before(net, state):
    """What parameters held since before the loading show afterwards, and what views of their
    memory show."""
    held = [tensor for _, tensor in named_parameters(net)]
    views = [tensor.detach() for tensor in held]
    load_state(net, state)
    return [tensor.numpy() for tensor in held], [view.numpy() for view in views]


class Measured(Module):
    """A layer with a running mean, a count and a frozen scale."""

    def __init__(self):
        self.dense = Dense(2, 3)
        self.mean = Tensor([0.5, 0.25, 4.0])
        self.count = Tensor([7, 8])
        self.one = Variable(1.5)
        self.tied = self.dense.weights


# %% state points=4
def test_the_state_has_every_number_under_its_name():
    net = Measured()
    state = state_of(net)
    wanted = {
        "dense.weights": net.dense.weights,
        "dense.bias": net.dense.bias,
        "mean": net.mean,
        "count": net.count,
        "one": net.one,
    }
    for name, tensor in wanted.items():
        assert name in state, (
            f"{name} is missing in the state, measured tensors belong to it too: you have "
            f"{list(state)}"
        )
        assert np.array_equal(np.asarray(state[name]), np.asarray(tensor)), (
            f"{name} is {tensor}, your state says {state[name]}"
        )
    assert list(state) == list(wanted), (
        f"the names are {list(wanted)}, each tensor once, under its first name; yours are "
        f"{list(state)}"
    )


def test_the_state_is_made_of_arrays():
    state = state_of(Measured())
    for name, dtype in [
        ("dense.weights", "float32"),
        ("mean", "float32"),
        ("count", "int64"),
        ("one", "float32"),
    ]:
        assert isinstance(state[name], np.ndarray), (
            f"{name} should be an ndarray, ready for numpy.savez; yours is {state[name]!r:.60}"
        )
        assert state[name].dtype.name == dtype, (
            f"{name} is {dtype}, your state has {state[name].dtype}"
        )
    assert state["one"].shape == (), f"one has shape (), your state has {state['one'].shape}"


def test_results_are_no_state():
    found = list(state_of(Estate()))
    wanted = [
        "scale",
        "blocks.0.weights",
        "blocks.1.left.weights",
        "blocks.1.7.0.weights",
        "blocks.1.7.1",
        "running",
        "deep.bed.0.0.weights",
    ]
    assert "made" not in found, (
        "'made' is a result of an operation; it can be computed again and need not be kept"
    )
    assert found == wanted, f"the state of Estate has {wanted}, yours {found}"


def test_the_state_is_a_copy():
    kept, now = state_before_and_after(Measured())
    for name, wanted in [
        ("mean", [0.5, 0.25, 4]),
        ("count", [7, 8]),
        ("one", 1.5),
        ("dense.bias", [0, 0, 0]),
    ]:
        assert np.array_equal(np.asarray(kept[name]), wanted), (
            f"{name} was saved as {wanted}; then the network changed, and the saved state with "
            f"it: {kept[name]}. Copy the arrays"
        )
        assert (np.asarray(now[name]) == 99).all(), (
            f"a new state should show {name} as it is now, 99, and shows {now[name]}"
        )


# %% state hidden points=1
def test_the_state_of_other_modules():
    frozen, net = Variable([[0.5]]), Bare(3)
    frozen.requires_grad = False
    net.rest = {
        "counts": (Tensor(np.array([1, 2], "int64")), Tensor(np.ones((2, 0)))),
        4: [frozen, net.weights * 2],
        "held": {"again": net.weights, "wide": Variable(np.array([1e300, -1e-300]))},
        "word": "x",
    }
    right = {
        "weights": np.full((3, 2), 13, "float32"),
        "rest.counts.0": np.array([1, 2], "int64"),
        "rest.counts.1": np.ones((2, 0)),
        "rest.4.0": np.array([[0.5]], "float32"),
        "rest.held.wide": np.array([1e300, -1e-300]),
    }
    kept, now = state_before_and_after(net)
    assert list(kept) == list(right) == list(now), (
        f"the names {list(right)} expected, got {list(kept)} and {list(now)}"
    )
    for name, array in right.items():
        for found, wanted in [(kept[name], array), (now[name], np.full_like(array, 99))]:
            assert (
                isinstance(found, np.ndarray)
                and found.dtype == array.dtype
                and np.array_equal(found, wanted)
            ), f"{name}: {wanted!r} expected, got {found!r}"


# %% problems points=4
def test_a_state_that_fits_has_no_problems():
    net = Measured()
    for kind, state in [
        ("arrays", state_of(net)),
        ("tensors", {name: Tensor(a) for name, a in state_of(net).items()}),
        ("lists", {name: a.tolist() for name, a in state_of(net).items()}),
    ]:
        found = list(state_problems(net, state))
        assert found == [], (
            f"the module's own state, as {kind}, should fit; you complain {found}"
        )
    found = list(state_problems(Dense(2, 3), {"bias": np.ones(3), "weights": np.ones((2, 3))}))
    assert found == [], f"the order of the names does not matter; you complain {found}"
    found = list(state_problems(Dense(2, 3), {"bias": np.ones(3)}))
    assert len(found) == 1, f"without its weights a state has one problem, yours: {found}"


def test_names_that_are_missing_or_unknown_are_told():
    state = state_of(Measured())
    state["hidden.bias"] = np.ones((4, 5))
    del state["dense.weights"], state["count"]
    found = list(state_problems(Measured(), state))
    for name, shape, what in [
        ("dense.weights", "(2, 3)", "missing"),
        ("count", "(2,)", "missing"),
        ("hidden.bias", "(4, 5)", "too much"),
    ]:
        about = [text for text in found if name in text]
        assert len(about) == 1, (
            f"{name} is {what} in the state, one complaint should name it; yours: {found}"
        )
        assert shape in about[0], (
            f"the complaint about {name} should tell its shape {shape}, yours: {about[0]}"
        )
    assert len(found) == 3, (
        f"three names are wrong, so three complaints, all at once; yours: {found}"
    )


def test_wrong_shapes_are_told():
    for name, shape, wanted in [
        ("dense.bias", (1,), "(3,)"),
        ("dense.bias", (), "(3,)"),
        ("dense.weights", (3, 2), "(2, 3)"),
        ("dense.weights", (6,), "(2, 3)"),
        ("one", (1,), "()"),
        ("mean", (1, 3), "(3,)"),
    ]:
        for make in (np.ones, lambda shape: Tensor(np.ones(shape))):
            found = list(
                state_problems(Measured(), {**state_of(Measured()), name: make(shape)})
            )
            assert len(found) == 1, (
                f"{name} of shape {shape} instead of {wanted} is one problem, you tell {found}:"
                " the same shape is needed, one that broadcasts or has as many numbers is "
                "wrong"
            )
            assert name in found[0] and str(shape) in found[0] and wanted in found[0], (
                f"the complaint should tell {name}, {shape} and {wanted}, yours: {found[0]}"
            )


def test_nothing_is_loaded_when_anything_is_wrong():
    net = Measured()
    before = state_of(net)
    for spoil in ("dense.bias", "extra", None):
        state = {name: a + 1 for name, a in before.items()}
        if spoil is None:
            state.pop("mean")
        else:
            state[spoil] = np.ones((5, 2))
        try:
            net.load_state_dict(state)
        except ValueError as error:
            assert (spoil or "mean") in str(error), (
                f"the error should name {spoil or 'mean'}, it is: {error}"
            )
        else:
            assert False, (
                f"{spoil or 'mean'} does not fit, load_state_dict should raise ValueError"
            )
        for name, array in state_of(net).items():
            assert np.array_equal(array, before[name]), (
                f"{spoil or 'mean'} did not fit, and {name} was changed all the same"
            )


# %% problems hidden points=1
def test_other_states_that_do_not_fit():
    net = Estate()
    whole = state_of(net)
    state = {name: array for name, array in whole.items() if name != "running"} | {
        "scale": 2.0,
        "blocks.1.7.1": [[7.0]],
        "rate": 0.1,
        "table": Tensor([[1.0, 2.0, 3.0]]),
        "deep.bed.0.0.weights": np.ones((2, 4)),
    }
    wrong = {
        "running": ["(2,)"],
        "scale": ["()", "(3,)"],
        "blocks.1.7.1": ["(1, 1)", "(1,)"],
        "rate": ["()"],
        "table": ["(1, 3)"],
        "deep.bed.0.0.weights": ["(2, 4)", "(4, 2)"],
    }
    missing = {name: [str(array.shape)] for name, array in whole.items()}
    for given, names in [(state, wrong), ({}, missing)]:
        found = list(state_problems(net, given))
        assert len(found) == len(names), f"complaints about {list(names)} expected, got {found}"
        for name, shapes in names.items():
            about = [text for text in found if name in text]
            assert len(about) == 1 and all(shape in about[0] for shape in shapes), (
                f"one complaint with {name} and {shapes} expected, got {found}"
            )
    for name, array in state_of(net).items():
        assert np.array_equal(array, whole[name]), f"{name} was changed by asking"
    found = list(state_problems(Sequential(Tensor.tanh), {}))
    assert found == [], f"no tensors and an empty state: nothing to complain, got {found}"


# %% load points=6
def test_the_numbers_arrive_under_their_names():
    wanted = {
        "dense.weights": [[1, -2, 3.5], [4, 0, 7]],
        "dense.bias": [10, 20, -5],
        "mean": [1, 2, 3],
        "count": [5, 6],
        "one": -4,
    }
    for make in (np.array, Tensor, list, lambda data: np.array(data, "float64")):
        state = {name: data if make is list else make(data) for name, data in wanted.items()}
        state["count"] = [5, 6]
        net = Measured()
        load_state(net, state)
        for name, array in state_of(net).items():
            assert np.array_equal(array, wanted[name]), (
                f"{name} should be {wanted[name]} after loading, yours is {array}"
            )
            dtype = "int64" if name == "count" else "float32"
            assert array.dtype.name == dtype, (
                f"{name} is {dtype} and stays so, yours became {array.dtype}"
            )
    x = np.array([[2, 1]], "float32")
    out = net.dense(Tensor(x))
    assert np.allclose(out.data, [[16, 16, 9]]), (
        f"with the loaded numbers [2, 1] gives [16, 16, 9], yours {out.data}"
    )


def test_what_others_hold_is_what_changes():
    net = Sequential(Dense(2, 3, rng=1), Dense(3, 1, rng=2))
    state = {name: array + 5 for name, array in state_of(net).items()}
    held, views = held_from_before(net, state)
    for found, name in zip(held, state):
        assert np.array_equal(found, state[name]), (
            f"whoever held {name} before the loading, an optimizer perhaps, still has the old "
            "numbers: write into the tensor, do not replace it"
        )
    for found, name in zip(views, state):
        assert np.array_equal(found, state[name]), (
            f"{name} got a new array: write into the old one, part.data[...] = new"
        )
    assert len(net.parameters()) == 4, (
        f"there are 4 parameters before and after, you have {len(net.parameters())}"
    )


def test_nothing_is_shared_with_the_state():
    state = {
        "weights": np.array([[1, 2, 3]], "float32"),
        "bias": np.array([4, 5, 6], "float32"),
    }
    found = net_after_change_of(state, Dense(1, 3))
    for name, array in state.items():
        assert np.array_equal(found[name], array), (
            f"{name} was loaded, then the state's own array was changed, and the network with "
            f"it: {found[name]}. Copy the numbers"
        )


def test_arrays_may_be_swapped():
    first, second = Dense(1, 3, rng=1), Dense(1, 3, rng=2)
    a, b = np.asarray(first.weights).copy(), np.asarray(second.weights).copy()
    assert a.shape == b.shape == (1, 3) and not np.array_equal(a, b), (
        f"rng=1 and rng=2 should differ, both give {a}"
    )
    net = Sequential(first, second)
    load_state(
        net,
        {
            "0.weights": second.weights,
            "0.bias": first.bias,
            "1.weights": first.weights,
            "1.bias": second.bias,
        },
    )
    assert np.array_equal(np.asarray(first.weights), b), (
        f"0.weights should be {b}, what 1.weights was; yours {first.weights}"
    )
    assert np.array_equal(np.asarray(second.weights), a), (
        f"1.weights should be {a}, what 0.weights was; yours are {second.weights}: copy "
        "everything before the first writing"
    )


def test_fractions_do_not_become_whole_numbers():
    net = Measured()
    before = state_of(net)
    state = {name: array + 1 for name, array in before.items()}
    state["count"] = np.array([1.5, 2.5])
    try:
        load_state(net, state)
    except TypeError:
        for name, array in state_of(net).items():
            assert np.array_equal(array, before[name]), (
                f"count was refused, and {name} was changed all the same: look first, "
                "then write"
            )
    else:
        assert False, (
            f"count holds whole numbers; [1.5, 2.5] became {net.count}. It should be refused "
            "with TypeError"
        )


def test_a_network_comes_back_from_its_state():
    net, other = Estate(), Estate()
    other.load_state_dict({name: array * 3 for name, array in net.state_dict().items()})
    for (name, found), (_, array) in zip(other.named_parameters(), net.named_parameters()):
        assert np.array_equal(np.asarray(found), 3 * np.asarray(array)), (
            f"{name} should be three times {array}, yours is {found}"
        )
    assert np.array_equal(np.asarray(other.again), [6, 9, 15]), (
        f"'again' is 'scale', now [6, 9, 15]; yours {other.again}"
    )
    assert np.array_equal(np.asarray(other.made), [4, 6, 10]), (
        f"'made' is no state and stays [4, 6, 10], yours {other.made}"
    )


# %% load hidden points=1
def test_other_states_are_loaded_in_place():
    net = Estate()
    right = {name: array * -2 + 0.5 for name, array in state_of(net).items()} | {
        "running": np.array([3, 0], "float32")
    }
    forms = [Tensor, np.ndarray.tolist, lambda array: array.astype("float64")]
    state = {
        name: forms[place % 3](array)
        for place, (name, array) in enumerate(reversed(list(right.items())))
    }
    state["running"] = np.array([3, 0], "uint8")
    held, views = held_from_before(net, state)
    learned = [name for name in right if name != "running"]
    for name, tensor, view in zip(learned, held, views):
        assert np.array_equal(tensor, right[name]) and np.array_equal(view, right[name]), (
            f"{name}: {right[name]} expected in the old tensor and its array, got {tensor} and "
            f"{view}"
        )
    for name, array in state_of(net).items():
        assert np.array_equal(array, right[name]) and array.dtype.name == "float32", (
            f"{name}: {right[name]} expected, got {array!r}"
        )
    net = Measured()
    net.late = Tensor(np.array([[1], [2]], "int64"))
    before = state_of(net)
    for name, fractions in [
        ("late", [[0.5], [1.5]]),
        ("late", np.array([[0.5], [1.5]], "float32")),
        ("count", Tensor([1.5, 2.5])),
    ]:
        try:
            load_state(
                net, {other: array + 1 for other, array in before.items()} | {name: fractions}
            )
        except TypeError:
            for other, array in state_of(net).items():
                assert np.array_equal(array, before[other]), (
                    f"{name} was refused, and {other} was changed: {array}"
                )
        else:
            assert False, f"{name}, whole numbers, from {fractions}: TypeError expected"

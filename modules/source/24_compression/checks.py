# The checks of lesson 24, by exercise. `check("obs")` in the chapter runs the visible ones.

# %% setup
import math

import numpy as np

from checking import equal, expect, gradient_by_differences, result_of, shown
from tinytorch.core.convolutions import Conv2d
from tinytorch.core.layers import Dense, Module, Sequential
from tinytorch.core.optimizers import SGD, Adam, AdamW
from tinytorch.core.tensor import Tensor, Variable


def close(found, wanted, case, cause="", near=1e-4):
    """`expect` for results of floating-point arithmetic."""
    expect(found, wanted, case, cause, near)


def is_mask(found, shape, case):
    """Assert that a result is an array of bool of this shape."""
    assert found is not None, f"{case}: yours returns None. Is `return` missing?"
    assert isinstance(found, np.ndarray), (
        f"{case} should be an array of bool, yours is a {type(found).__name__}"
    )
    equal(found.shape, tuple(shape), f"the shape of {case}", "The mask has the shape of w")
    assert found.dtype == bool, (
        f"{case} should be an array of bool, yours is {found.dtype}: the result says which "
        "weights stay, and does not contain weights"
    )


def damped(x, damping=0.01):
    """H = x.T @ x with damping, by sums over the rows."""
    h = sum(np.outer(row, row) for row in np.asarray(x, "float64"))
    return h + np.eye(len(h)) * damping * np.trace(h) / len(h)


def refitted(w, x, mask, damping=0.01):
    """The best values of the weights that a mask keeps, as a least squares problem."""
    x, w = np.asarray(x, "float64"), np.asarray(w, "float64")
    c = math.sqrt(damping * (x**2).sum() / x.shape[1])
    rows, out = np.vstack([x, c * np.eye(x.shape[1])]), np.zeros(w.shape)
    for j in range(w.shape[1]):
        out[mask[:, j], j] = np.linalg.lstsq(rows[:, mask[:, j]], rows @ w[:, j], rcond=None)[0]
    return out


def least(scores, count):
    """A mask that is False for so many of the smallest scores."""
    return scores > np.sort(scores, axis=None)[count - 1]


def seven_inputs():
    """Weights and inputs for which every wrong saliency removes another weight."""
    x = np.array([
        [3.7, 1.9, -0.9, 4.3, -1.1, -2.0, -5.8], [-1.8, -0.9, 0.5, -0.2, 0.3, 0.6, 3.7],
        [-0.6, 1.1, -0.8, -4.2, -0.5, 5.4, -1.0], [0.4, 0.8, -0.3, 2.8, -0.8, -4.3, -1.8],
        [-2.4, 0.7, 0.9, 1.0, -0.3, -1.4, 4.1], [-2.4, -1.0, 1.0, -2.9, 1.2, 2.5, 4.7],
        [2.8, 0.7, -0.3, 3.3, 0.4, -2.2, -3.1], [3.7, 2.4, -0.2, 1.9, -0.1, -3.0, -5.0],
        [0.6, 0.1, -1.0, 0.1, -1.1, 0.0, -2.8]])  # fmt: skip
    return np.array([[1.1], [1.7], [-1.7], [0.9], [-1.5], [1.0], [-1.0]]), x


def rotated(values, seed=0):
    """A matrix (4, 3) with these three singular values."""
    rng = np.random.default_rng(seed)
    u, v = (np.linalg.qr(rng.normal(size=(n, n)))[0] for n in (4, 3))
    return (u[:, :3] * values @ v).astype("float32"), u, v


DS = np.array([[1.0, 0.0, -1.0], [0.0, 2.0, 1.0]])
DT = np.array([[3.0, 1.0, 0.0], [-1.0, 0.0, 4.0]])
DL = np.array([1, 2])


def log_probabilities(z):
    z = np.asarray(z, "float64")
    shifted = z - z.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def divergences(q, p, T=1.0):
    """KL(q || p) of each row of logits, by a loop over the classes."""
    a, b = log_probabilities(q / T), log_probabilities(p / T)
    return np.array([sum(math.exp(x) * (x - y) for x, y in zip(r, s)) for r, s in zip(a, b)])


def nll(z, labels):
    return -np.mean([row[label] for row, label in zip(log_probabilities(z), labels)])


def loss_by_definition(s, t, labels, T=2.0, weight=0.5):
    return weight * T * T * divergences(t, s, T).mean() + (1 - weight) * nll(s, labels)


NO_LABELS = {"None": "With weight 1 the labels are not used: do not call cross_entropy"}


def loss_of(case, *given, **options):
    loss, gradient, reached = result_of(lambda: distilled(*given, **options), case, NO_LABELS)
    assert not isinstance(loss, str), f"{case} should be a Tensor, yours is a {loss}"
    equal(
        loss.shape, (), f"the shape of {case}", "One number: sum over classes, mean over rows"
    )
    return float(loss), gradient, reached


def sizes_of(w, case):
    """What stored_bytes returns, with its keys checked."""
    found = result_of(lambda: stored_bytes(w), case)
    assert isinstance(found, dict), f"{case} should be a dict, yours is {found!r}"
    equal(sorted(found), ["dense", "index", "mask"], f"the keys of {case}")
    for name, number in found.items():
        assert isinstance(number, (int, np.integer)), (
            f"{name!r} in {case} should be an int, yours is {number!r}: division with / and "
            "np.ceil give floats"
        )
    return {name: int(number) for name, number in found.items()}


ONE = np.array([[False, True], [True, False], [True, True]])
START = np.array([[1.0, 2.0], [-3.0, 4.0], [5.0, -6.0]])


def turned(w):
    """What the first two rows of V, in place of V^T, give."""
    u, s, vt = np.linalg.svd(w, full_matrices=False)
    return u[:, :2] * s[:2] @ vt.T[:2]


def layers(w, bias, rank, case):
    words = {
        "matmul": "cut the columns of U, to (in, r), and the rows of V^T, to (r, out)",
        "takes inputs": "the first layer has shape (in, rank), the second (rank, out)",
        "broadcast": "use full_matrices=False, and multiply the columns of U by the values",
    }
    kind, parts, out, same = result_of(lambda: factors(w, bias, rank), case, words)
    equal(kind, "Sequential", f"the type of {case}")
    equal(len(parts), 2, f"the number of layers of {case}")
    shapes = [part[0].shape for part in parts]
    wanted = [(w.shape[0], rank), (rank, w.shape[1])]
    cause = "Take `rank` columns of U and `rank` rows of V^T"
    equal(shapes, wanted, f"the shapes of the weights of {case}", cause)
    assert parts[0][1] is None, f"{case}: the first layer should have no bias"
    assert same, f"{case}: the given layer changed"
    return parts, out


# %% magnitude points=4
def test_the_smallest_absolute_values_are_removed():
    w = np.array([3.0, -1.0, 2.0, 0.5, -4.0])
    case = "the mask of [3, -1, 2, 0.5, -4] for amount 0.4"
    found = result_of(lambda: prune_magnitude(w, 0.4), case)
    is_mask(found, (5,), case)
    causes = {
        "These are the smallest values; compare absolute values: -4 is a large weight": [
            True, False, True, True, False,
        ],
        "This mask is True for the weights that are removed; it should be True for those that "
        "remain": [False, True, False, True, False],
        "This removes the largest weights": [False, True, True, True, False],
        "The first weights of `w` are removed: sort by size. np.argsort returns places": [
            False, False, True, True, True,
        ],
    }  # fmt: skip
    expect(found, [True, False, True, False, True], case, causes)


def test_the_number_of_zeros_is_exact():
    w = np.array([1.0, 1.0, -1.0, 1.0])
    case = "the mask of [1, 1, -1, 1] for amount 0.5"
    found = result_of(lambda: prune_magnitude(w, 0.5), case)
    is_mask(found, (4,), case)
    zeros = int((~found).sum())
    assert zeros == 2, (
        f"{case} should remove exactly 2 of 4 equally large weights, yours removes {zeros}: a "
        "threshold cannot tell equal weights apart. Remove the first ones of a sorted list"
    )
    w = np.array([5.0, -3.0, 1.0, 0.0, 2.0, 0.25, 4.0])
    for amount, wanted in [(0.0, 0), (0.1, 1), (0.36, 3), (0.6, 4), (0.93, 7), (1.0, 7)]:
        found = result_of(lambda: prune_magnitude(w, amount), f"7 weights, amount {amount}")
        zeros = int((~found).sum())
        assert zeros == wanted, (
            f"amount {amount} of 7 weights is {7 * amount:.2f}, so round({7 * amount:.2f}) = "
            f"{wanted} should be removed, yours removes {zeros}"
        )


def test_a_matrix_is_ranked_as_a_whole():
    w = np.array([[40.0, 30.0], [1.0, -2.0]])
    case = "the mask of [[40, 30], [1, -2]] for amount 0.5"
    found = result_of(
        lambda: prune_magnitude(w, 0.5),
        case,
        "np.argsort(..., axis=None) sorts all numbers of a matrix, and returns places in the "
        "flattened one",
    )
    is_mask(found, (2, 2), case)
    causes = {
        "Each row loses half of its weights; rank all weights of the matrix together": [
            [True, False],
            [False, True],
        ],
        "Without axis=None, np.argsort sorts each row, and the places are columns": [
            [False, False],
            [True, True],
        ],
    }
    expect(found, [[True, True], [False, False]], case, causes)


# %% magnitude polish points=0
def test_an_empty_array_has_an_empty_mask():
    is_mask(prune_magnitude(np.zeros((0, 3)), 0.5), (0, 3), "the mask of an empty array")


# %% magnitude hidden points=1
def test_other_arrays():
    rng = np.random.default_rng(1)
    for shape, amount in [((4, 5), 0.35), ((3, 2, 2), 0.5), ((17,), 0.8), ((6, 6), 0.01)]:
        yield prune_magnitude(rng.normal(size=shape).astype("float32"), amount)


# %% learner-side
def net_of(*arrays):
    """A Sequential of Dense layers with these weights, and biases of 0.01."""
    net = Sequential(*[Dense(*w.shape) for w in arrays])
    for layer, w in zip(net.layers, arrays):
        layer.weights.data[...] = w
        layer.bias.data[...] = 0.01
    return net


SALIENCIES = {"abs": abs, "reversed": lambda w: 100.0 - abs(w), "first": lambda w: w * 0 + 1}


def global_masks(arrays, amount, saliency=None):
    """What prune_global returns for a net of these arrays; the names of its matrices; and
    whether the weights changed. A text names a function."""
    net = net_of(*arrays)
    before = net.state_dict()
    if saliency is None:
        masks = prune_global(net, amount)
    else:
        masks = prune_global(net, amount, SALIENCIES.get(saliency, saliency)
                             if isinstance(saliency, str) else saliency)  # fmt: skip
    after = net.state_dict()
    changed = any(not np.array_equal(before[name], after[name]) for name in before)
    if not isinstance(masks, dict):
        return type(masks).__name__, [], changed
    return {str(path): np.array(m) for path, m in masks.items()}, list(matrices(net)), changed


def nested_masks(amount):
    """prune_global of a model of a convolution and a Dense layer in a dict: {path: mask}, and
    its matrices."""
    net = Module()
    net.parts = {"conv": Conv2d(1, 2, 3, rng=0), "head": Dense(8, 3, rng=1)}
    masks = prune_global(net, amount)
    return {str(path): np.array(m) for path, m in masks.items()}, dict(matrices(net))


# %% global points=4
def masks_of(arrays, amount, case, saliency=None):
    """The masks, after checking names, shapes and dtypes."""
    words = {
        "dimension": "the matrices have different shapes: make each array of scores flat first",
        "reshape": "where does each piece end? Add up the sizes, as np.cumsum does",
    }
    masks, names, changed = result_of(
        lambda: global_masks(arrays, amount, saliency), case, words
    )
    assert isinstance(masks, dict), f"{case} should be a dict of masks, yours is a {masks}"
    equal(
        list(masks), names, f"the keys of {case}", "There is one mask for each matrix, in order"
    )
    for mask, w in zip(masks.values(), arrays, strict=True):
        is_mask(mask, w.shape, f"a mask of {case}")
    assert not changed, f"{case}: the weights of the model changed. Return masks only"
    return list(masks.values())


def test_all_weights_are_ranked_together():
    arrays = [np.array([[1.0, -2.0, 3.0]]), np.array([[0.1], [-0.2], [5.0]])]
    case = "the masks of [[1, -2, 3]] and [[0.1], [-0.2], [5]] for amount 0.5"
    one, other = masks_of(arrays, 0.5, case)
    found = [*one.ravel(), *other.ravel()]
    causes = {
        "Each matrix loses half of its weights. Rank all weights in one long array": [
            False, False, True, False, False, True,
        ],
        "These are the smallest values; prune_magnitude ranks by absolute values": [
            True, False, True, False, False, True,
        ],
        "The masks of the matrices are exchanged": [False, False, True, False, True, True],
        "Both matrices get the first part of the mask; the second begins where it ends": [
            False, True, True, False, True, True,
        ],
    }  # fmt: skip
    expect(found, [False, True, True, False, False, True], case, causes)


def test_the_number_of_zeros_of_the_whole_model_is_exact():
    arrays = [np.ones((2, 3)), np.ones((3, 1))]
    for amount, wanted in [(0.0, 0), (0.4, 4), (0.5, 4), (1.0, 9)]:
        masks = masks_of(arrays, amount, f"nine weights of 1, amount {amount}")
        zeros = sum(int((~mask).sum()) for mask in masks)
        assert zeros == wanted, (
            f"nine equally large weights in two matrices, amount {amount}: {wanted} should be "
            f"removed in all, yours removes {zeros}. Call prune_magnitude once, with all scores"
        )
    masks = masks_of([np.full((1, 1), n + 1.0) for n in range(12)], 0.25, "12 matrices")
    case, cause = "which of the matrices 1 to 12 are kept, amount 0.25,", "'10' comes after '9'"
    equal([bool(mask[0, 0]) for mask in masks], [False] * 3 + [True] * 9, case, cause)


def test_the_saliency_decides():
    arrays = [np.array([[1.0, -2.0, 3.0]]), np.array([[0.1], [-0.2], [5.0]])]
    plain = [False, True, True, False, False, True]
    case = "the masks with saliency=lambda w: 100 - abs(w), for amount 0.5"
    found = np.concatenate([m.ravel() for m in masks_of(arrays, 0.5, case, "reversed")])
    cause = {"The weights are ranked by their size, not by the saliency": plain}
    expect(found, [True, False, False, True, True, False], case, cause)
    scores = {
        "0.weights": np.array([[7.0, 1.0, 8.0]]),
        "1.weights": np.array([[2.0], [9], [-8.5]]),
    }
    case = "the masks with the scores [[7, 1, 8]] and [[2], [9], [-8.5]], for amount 0.5"
    found = np.concatenate([m.ravel() for m in masks_of(arrays, 0.5, case, scores)])
    cause["Scores are ranked by their absolute values"] = [
        True,
        False,
        True,
        False,
        True,
        False,
    ]
    expect(found, [False, False, True, False, True, True], case, cause)


def test_the_pieces_have_the_places_of_the_matrices():
    arrays = [np.array([[9.0, 1.0], [8.0, 7.0]]), np.array([[2.0, 6.0, 3.0], [5.0, 4.0, 10.0]])]
    case = "the masks of [[9, 1], [8, 7]] and [[2, 6, 3], [5, 4, 10]] for amount 0.3"
    one, other = masks_of(arrays, 0.3, case)
    cause = "Each matrix gets its own piece of the long mask, in its own shape"
    expect(one, [[True, False], [True, True]], f"the first of {case}", cause)
    wanted = [[False, True, False], [True, True, True]]
    expect(other, wanted, f"the second of {case}", cause)


# %% global hidden points=1
def test_a_convolution_counts():
    yield nested_masks(0.6)[0]


# %% stored-bytes points=4
def test_the_bytes_of_five_numbers():
    w = np.array([[0.0, 1.5, 0.0, 0.0, -2.0]], "float32")
    case = "stored_bytes of the float32 array [[0, 1.5, 0, 0, -2]]"
    found = sizes_of(w, case)
    why = "Two numbers are not 0, negative ones too"
    equal(found["dense"], 20, f'"dense" in {case}', "Each number takes 4 bytes, zeros as well")
    places = "Two numbers of 4 bytes, and a place of 2 bytes for each"
    cause = why if found["index"] == 6 else places
    equal(found["index"], 12, f'"index" in {case}', cause)
    cause = "Two numbers of 4 bytes, and 5 bits, which need a whole byte"
    if found["mask"] == 13:
        cause = "A mask needs one bit for each number, so 8 of them fit into a byte"
    elif found["mask"] == 8:
        cause = "5 bits are rounded up to a whole byte"
    equal(found["mask"], 9, f'"mask" in {case}', cause)


def test_eight_bits_are_one_byte():
    for count, wanted in [(8, 1), (9, 2), (15, 2), (16, 2), (17, 3)]:
        found = sizes_of(np.zeros(count, "float32"), f"stored_bytes of {count} zeros")
        equal(found["mask"], wanted, f'"mask" of {count} zeros', "One bit each, rounded up")
        equal(
            found["index"], 0, f'"index" of {count} zeros', "No number is stored, so no place"
        )
        equal(found["dense"], 4 * count, f'"dense" of {count} zeros')


def test_large_matrices_need_four_bytes_for_a_place():
    for shape, wanted in [((256, 256), 6), ((65537,), 8)]:
        w = np.zeros(shape, "float32")
        w.flat[-1] = 1.0
        found = sizes_of(w, f"stored_bytes of {shape}, one nonzero")
        cause = "2 bytes hold the places 0 to 65,535, so they are enough for 65,536 numbers"
        if shape == (65537,):
            cause = "A place above 65,535 does not fit into 2 bytes. The size of `w` decides, "
            cause += "not the number of nonzeros"
        equal(
            found["index"], wanted, f'"index" of an array of shape {shape}, one nonzero', cause
        )


def test_the_dtype_counts():
    w = np.array([1.0, 0.0, 3.0, 4.0], "float16")
    found = sizes_of(w, "stored_bytes of the float16 array [1, 0, 3, 4]")
    cause = "A float16 takes 2 bytes: use w.itemsize"
    wanted = {"dense": 8, "index": 12, "mask": 7}
    equal(
        dict(sorted(found.items())), wanted, "stored_bytes of the float16 [1, 0, 3, 4]", cause
    )


# %% stored-bytes hidden points=1
def test_other_sizes():
    rng = np.random.default_rng(2)
    for shape, dtype in [((7, 9), "float64"), ((300, 400), "float32"), ((3,), "f4")]:
        w = (rng.normal(size=shape) * (rng.random(shape) < 0.4)).astype(dtype)
        yield sorted(stored_bytes(w).items())


# %% learner-side
OPTIMIZERS = {
    "SGD": lambda p: SGD(p, lr=0.5),
    "SGD with momentum": lambda p: SGD(p, lr=0.5, momentum=0.9),
    "Adam": lambda p: Adam(p, lr=0.1),
    "AdamW": lambda p: AdamW(p, lr=0.1, weight_decay=0.1),
}
W = [[1.0, 2.0], [-3.0, 4.0], [5.0, -6.0]]


def layer_of(weights, bias=None):
    """A Dense layer with these weights, and this bias or none."""
    layer = Dense(*np.shape(weights), bias=bias is not None, rng=0)
    layer.weights.data[...] = weights
    if bias is not None:
        layer.bias.data[...] = bias
    return layer


def masked_training(name, masks, steps, before=0):
    """Train a layer with weights W: some steps before, and then with these masks, one Mask for
    each dict. The gradient of every weight is 1 in each step. Returns the weights after attach
    and after each step, the biases, and whether attach returned the Mask each time."""
    layer = layer_of(W, [0.5, 0.25])
    optimizer = OPTIMIZERS[name](layer.parameters())
    same = []
    for _ in range(before):
        optimizer.zero_grad()
        layer(Tensor([[1.0, 1.0, 1.0]])).sum().backward()
        optimizer.step()
    for each in masks:
        mask = Mask(layer, each)
        same.append(mask.attach(optimizer) is mask)
    history = [layer.weights.numpy()]
    biases = [layer.bias.numpy()]
    for _ in range(steps):
        optimizer.zero_grad()
        layer(Tensor([[1.0, 1.0, 1.0]])).sum().backward()
        optimizer.step()
        history.append(layer.weights.numpy())
        biases.append(layer.bias.numpy())
    return history, biases, all(same)


def applied(mask):
    """The weights after Mask.apply(), and the array that they were in before."""
    layer = layer_of(W)
    array = layer.weights.data
    Mask(layer, {"weights": mask}).apply()
    return layer.weights.numpy(), np.array(array)


# %% mask points=5
def test_apply_sets_the_removed_weights_to_0():
    case = "weights [[1, 2], [-3, 4], [5, -6]] after apply() with [[F, T], [T, F], [T, T]]"
    found, array = result_of(lambda: applied(ONE), case)
    causes = {
        "The weights did not change": START,
        "False marks the weights that become 0; here the others did": START * ~ONE,
    }
    expect(found, START * ONE, case, causes)
    expect(
        array,
        START * ONE,
        "the array of the parameter from before apply()",
        "The parameter has a new array now. Write into p.data, so that the zeros are in the "
        "array that others hold",
    )


def test_zeros_survive_every_step():
    for name in ("SGD", "SGD with momentum", "Adam", "AdamW"):
        case = f"one step of {name}, then training with a mask"
        call = lambda: masked_training(name, [{"weights": ONE}], 3, before=1)
        history, biases, _ = result_of(call, case)
        removed = [w[~ONE] for w in history]
        assert not removed[0].any(), (
            "right after attach(), the removed weights should be 0, yours are "
            f"{shown(removed[0])}: call self.apply() in attach"
        )
        for step in (1, 2, 3):
            assert not removed[step].any(), (
                f"{name}: after step {step} the removed weights should still be 0, yours are "
                f"{shown(removed[step])}. Replace optimizer.step by a function that calls the "
                "original one and then self.apply(). Zero gradients are not enough: with "
                "momentum a weight also moves without one"
            )


def test_the_other_weights_are_trained_as_usual():
    history, biases, _ = masked_training("SGD", [{"weights": ONE}], 2)
    case = "after {} of SGD with lr 0.5, when every gradient is 1, the weights"
    for step, words in [(1, "1 step"), (2, "2 steps")]:
        causes = {
            "The optimizer did not step: the new function must call the original step": START
            * ONE,
            "The original step runs twice in each step": (START - step) * ONE,
        }
        close(history[step], (START - 0.5 * step) * ONE, case.format(words), causes)
    close(biases[2], [-0.5, -0.75], "the biases, which have no mask, after 2 steps")


def test_attach_returns_the_mask():
    history, _, same = masked_training("SGD", [{"weights": ONE}], 1)
    close(history[1], (START - 0.5) * ONE, "the weights with a mask after 1 step")
    assert same is True, (
        "attach(optimizer) should return the Mask itself: end it with `return self`"
    )


def test_two_masks_on_one_optimizer():
    bias = np.array([True, False])
    call = lambda: masked_training("SGD", [{"weights": ONE}, {"bias": bias}], 2)
    history, biases, _ = result_of(call, "two masks attached to one optimizer")
    assert not history[2][~ONE].any(), (
        "two masks, one for the weights and one for the bias: after 2 steps removed weights "
        "are not 0. The second attach must call the step that it found, which applies the "
        "first mask: take optimizer.step, not type(optimizer).step"
    )
    close(biases[2], [-0.5, 0.0], "the biases with the mask [True, False] after 2 steps")
    close(history[2], (START - 1.0) * ONE, "the weights with two masks after 2 steps")


# %% mask hidden points=1
def test_other_masks():
    for name in ("SGD with momentum", "AdamW"):
        for mask in (np.zeros((3, 2), bool), np.ones((3, 2), bool)):
            history, *_ = masked_training(name, [{"weights": mask}], 2)
            for w in history:
                assert not w[~mask].any()
            assert not mask.any() or not np.allclose(history[2], START)


# %% learner-side
def squares(out):
    return (out * out).sum()


LOSSES = {"sum of squares": squares, "first output": lambda out: (out * out)[:, :1].sum(),
          "a tenth": lambda out: (out * out).sum() * 0.1}  # fmt: skip


def obd_scores(arrays, biases, x, loss, probes, seed=0, draws=1):
    """What saliency_obd returns for Dense layers in a row, `draws` times with one generator;
    and the names of what changed in the model."""
    layers = [layer_of(*pair) for pair in zip(arrays, biases)]
    net = layers[0] if len(layers) == 1 else Sequential(*layers)
    before, rng = net.state_dict(), np.random.default_rng(seed)
    results = []
    for _ in range(draws):
        scores = saliency_obd(net, Tensor(x), LOSSES[loss], probes, rng)
        results.append({str(path): np.array(s) for path, s in scores.items()})
    after = net.state_dict()
    changed = [name for name in before if not np.array_equal(before[name], after[name])]
    changed += [f"{name}.grad" for name, p in net.named_parameters() if p.grad is not None]
    return results, changed


# %% obd points=5
def test_the_saliency_of_two_weights():
    w, x = np.array([[3.0], [-1.0]]), np.array([[1.0, 0.0], [0.0, 10.0]], "float32")
    case = (
        "weights [[3], [-1]], inputs [[1, 0], [0, 10]], the sum of squares as loss: h is 2 and "
    )
    case += "200, so the saliency"
    words = {
        "requires_grad": "is the result of `f` a number that depends on `vector`?",
        "sequence": "`hutchinson` returns two results, the trace and the diagonal",
        "tuple": "`hutchinson` returns two results, the trace and the diagonal",
        "shape": "`f` takes the vector and returns one number, loss(outputs)",
    }
    for probes in (1, 3):
        call = lambda: obd_scores([w], [None], x, "sum of squares", probes)
        (found,), changed = result_of(call, case, words)
        causes = {
            "The saliency is half of h w²": [[18], [200]],
            "The weight has to be squared": [[3], [-100]],
            "The weight has to be squared. This is h |w| / 2": [[3], [100]],
            "This is h / 2: the weight is missing": [[1], [100]],
            "This is h: the factor w² / 2 is missing": [[2], [200]],
            "The loss does not depend on the vector: compute the outputs with "
            "functional_call(model, vector, x)": [[0], [0]],
            "`hutchinson` has divided by the number of probes already": [[3], [100 / 3]],
            "This is the trace, one number for all weights: `hutchinson` returns the trace and "
            "the diagonal": [[202 * 4.5], [101]],
        }
        close(found["weights"], [[9], [100]], case, causes)
        assert not changed, f"{case}: {', '.join(changed)} changed"


def test_the_loss_decides():
    w, x = np.array([[1.0, 2.0]]), np.array([[3.0]], "float32")
    (found,), _ = obd_scores([w], [None], x, "first output", 1)
    case = "weights [[1, 2]], input 3, the square of the first output as loss: the saliency"
    causes = {"`loss` of the arguments is not used": [[9, 36]]}
    close(found["weights"], [[9, 0]], case, causes)
    (found,), _ = obd_scores([w], [None], x, "a tenth", 2)
    close(found["weights"], [[0.9, 3.6]], "with a tenth of the sum of squares, the saliency")


def test_only_matrices_have_scores():
    w, bias = np.array([[1.0, -2.0], [0.5, 4.0]]), np.array([3.0, 5.0])
    (found,), _ = obd_scores([w], [bias], np.zeros((2, 2), "float32"), "sum of squares", 1)
    equal(list(found), ["weights"], "the keys for a layer with a bias")
    close(
        found["weights"], np.zeros((2, 2)), "for inputs of 0, no weight matters: the saliency"
    )


def test_two_layers():
    a, b = 3.0, 0.5  # out = a b x, so the Hessian of out² is 2 [[b², 2 a b], [2 a b, a²]]
    layers, x = [np.array([[a]]), np.array([[b]])], np.ones((1, 1), "float32")
    call = lambda: obd_scores(layers, [None, None], x, "sum of squares", 1, draws=16)
    draws, _ = result_of(call, "two layers with the weights 3 and 0.5")
    options = [[(b * b + sign * 2 * a * b) * a * a, (a * a + sign * 2 * a * b) * b * b]
               for sign in (1, -1)]  # fmt: skip
    case = "weights 3 and 0.5 in two layers, one probe: the scores"
    for found in draws:
        equal(list(found), ["0.weights", "1.weights"], "the keys for two layers")
        got = [float(s.item()) for s in found.values()]
        if not np.allclose(got, options[0], rtol=1e-3):
            cause = {
                "A negative estimate stays negative: do not take absolute values": np.abs(
                    options[1]
                ),
                "A negative estimate stays negative: do not replace it by 0": np.maximum(
                    options[1], 0
                ),
            }
            close(got, options[1], case, cause, near=1e-3)


def test_the_generator_is_used():
    x = np.array([[1.0, 0.9, 0.8, 1.1]], "float32")
    w = np.ones((4, 1))
    draws, _ = obd_scores([w], [None], x, "sum of squares", 1, draws=8)
    several = {tuple(scores["weights"].ravel().round(3).tolist()) for scores in draws}
    assert len(several) > 1, (
        "eight estimates with one probe and one generator should not all be equal: give the "
        "argument `rng` to hutchinson"
    )


# %% obd hidden points=1
def test_other_models():
    x = np.array([[2.0, 0.0], [0.0, 3.0]], "float32")
    w = np.array([[1.0, -2.0], [0.5, 4.0]])
    (found,), changed = obd_scores([w], [None], x, "sum of squares", 2, seed=3)
    close(found["weights"], w * w * np.array([[4.0], [9.0]]), "four weights")
    assert not changed
    x = np.array([[1.0, 0.2], [0.1, 2.0]], "float32")
    (found,), _ = obd_scores([w], [np.zeros(2)], x, "sum of squares", 60, seed=4)
    wanted = w * w * (x**2).sum(axis=0)[:, None]
    close(found["weights"], wanted, "with a bias", near=0.6)


# %% obs points=5
def test_equal_inputs_take_over():
    x = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    w = np.array([[2.0], [3.0], [5.0]])
    case = "weights 2, 3, 5; inputs 1 and 2 always equal; one third removed: the new weights"
    found = result_of(lambda: obs_prune(w, x, 1 / 3, damping=1e-6), case)
    causes = {
        "The other weights did not move. They should solve H_KK w_K = t_K, where t = H w is "
        "computed with the original column": [[0], [3], [5]],
    }
    close(found, [[0.0], [5.0], [5.0]], case, causes, near=1e-3)
    equal(found.dtype.name, "float32", "the dtype of the new weights")


def test_the_saliency_of_obs_chooses():
    w, x = seven_inputs()
    h = damped(x)
    inverse = np.linalg.inv(h)
    scores = w**2 / inverse.diagonal()[:, None]
    case = "seven weights, one removed: the weights"
    found = result_of(lambda: obs_prune(w, x, 1 / 7), case)
    i = int(np.argmin(scores))
    wanted = w - w[i] / inverse[i, i] * inverse[:, [i]]
    wanted[i] = 0
    others = {
        "The smallest weight is removed. The saliency is w² / diagonal of the inverse of H, "
        "with one number of the diagonal for each *row* of w": w**2,
        "The saliency divides w² by the diagonal of the inverse of H; this multiplies": w**2
        * inverse.diagonal()[:, None],
        "This divides by the diagonal of H; take the diagonal of its inverse": w**2
        / h.diagonal()[:, None],
        "This is the saliency of OBD, w² times the diagonal of H. OBS divides by the diagonal "
        "of the inverse": w**2 * h.diagonal()[:, None],
    }
    others["The weights should be squared in the saliency"] = (
        np.abs(w) / inverse.diagonal()[:, None]
    )
    causes = {text: refitted(w, x, least(s, 1)) for text, s in others.items()}
    causes["The right weight is removed, but the others did not move"] = w * least(scores, 1)
    close(found, wanted, case, causes, near=1e-3)


def test_zeros_are_counted_in_the_whole_matrix():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(12, 4)) @ rng.normal(size=(4, 4))
    w = rng.normal(size=(4, 3)) * np.array([0.2, 1.0, 3.0])
    scores = w**2 / np.linalg.inv(damped(x)).diagonal()[:, None]
    mask = least(scores, 6)
    case = "a matrix (4, 3), half of it removed: the weights"
    found = result_of(lambda: obs_prune(w, x, 0.5), case)
    columns = np.ones(w.shape, bool)
    for j in range(3):
        columns[:, j] = least(scores[:, j], 2)
    causes = {
        "Each column loses half of its weights; rank the whole matrix": refitted(w, x, columns),
        "The removed weights are right, but the others did not move": w * mask,
        "Select the rows and columns of H by the mask of the same column. Is a mask of another "
        "column used?": refitted(w, x, np.repeat(mask[:, :1], 3, axis=1)),
    }
    close(found, refitted(w, x, mask), case, causes, near=1e-3)


def test_nothing_and_everything_is_removed():
    w, x = seven_inputs()
    found = result_of(lambda: obs_prune(w, x, 0.0), "amount 0")
    close(
        found, w, "with amount 0 the weights", "Nothing is removed, so nothing moves", near=1e-3
    )
    found = result_of(lambda: obs_prune(w, x, 1.0), "amount 1")
    close(found, np.zeros((7, 1)), "with amount 1 the weights")
    w, x = seven_inputs()
    given = [w.copy(), x.copy()]
    obs_prune(*given, 0.5)
    same = np.array_equal(given[0], w) and np.array_equal(given[1], x)
    assert same, "obs_prune changed `w` or `x`: compute with a new array"


# %% obs hidden points=1
def test_other_matrices():
    rng = np.random.default_rng(6)
    for shape, rows, amount in [((6, 5), 30, 0.4), ((5, 2), 3, 0.7), ((3, 8), 10, 0.9)]:
        x = rng.normal(size=(rows, shape[0])).astype("float32")
        x[:, 1] = 0  # an input that is always 0
        w = rng.normal(size=shape).astype("float32")
        scores = w.astype("float64") ** 2 / np.linalg.inv(damped(x, 0.1)).diagonal()[:, None]
        mask = least(scores, round(amount * w.size))
        found = obs_prune(w, x, amount, 0.1)
        expect(found == 0, ~mask, "the zeros")
        close(found, refitted(w, x, mask, 0.1), "the weights", near=2e-3)
        assert found.dtype == np.float32


# %% learner-side
def pruned_pair(w1, b1, w2, b2, keep):
    """[weights, bias, weights, bias] of the layers of prune_neurons, their types, and whether
    the given layers changed or share memory with the new ones."""
    first, second = layer_of(w1, b1), layer_of(w2, b2)
    result = prune_neurons(first, second, keep)
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        return type(result).__name__, [], False, False
    kinds = [type(layer).__name__ for layer in result]
    arrays = [None if p is None else np.array(p.data)
              for layer in result for p in (layer.weights, layer.bias)]  # fmt: skip
    for layer in result:
        for p in layer.parameters():
            p.data[...] = 77
    now = [first.weights, first.bias, second.weights, second.bias]
    old = [w1, b1, w2, b2]
    same = all(a is None or np.allclose(a.data, b) for a, b in zip(now, old))
    sizes = [(layer.in_features, layer.out_features) for layer in result]
    return arrays, kinds, same, sizes


def output_pair(w1, b1, w2, b2, keep, x):
    """relu networks before and after prune_neurons: both outputs."""
    first, second = layer_of(w1, b1), layer_of(w2, b2)
    outs = []
    for one, other in ((first, second), prune_neurons(first, second, keep)):
        outs.append(other(one(Tensor(x)).relu()).data)
    return outs


# %% neurons points=4
W1 = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
B1, B2 = np.array([10.0, 20.0, 30.0]), np.array([7.0, 8.0])
W2 = np.array([[1.0, -1.0], [2.0, -2.0], [3.0, -3.0]])
CUT = {
    "broadcast": "also cut the bias of the first layer: it has one entry for each neuron",
    "out of bounds": "a neuron is a *column* of the first matrix and a *row* of the second",
    "index": "a neuron is a *column* of the first matrix and a *row* of the second",
}


def pair(b1, b2, keep, case):
    arrays, kinds, same, sizes = result_of(lambda: pruned_pair(W1, b1, W2, b2, keep), case, CUT)
    assert kinds, f"{case} should be two layers, (first, second), yours is a {arrays}"
    equal(kinds, ["Dense", "Dense"], f"the types of {case}")
    equal(sizes, [(2, len(keep)), (len(keep), 2)], f"inputs and outputs of {case}")
    assert same, (
        f"{case}: the given layers change when the new ones are trained. The new layers need "
        "new arrays; dense_of copies"
    )
    return arrays


def test_columns_biases_and_rows():
    case = "the layers with neurons 2 and 0 of 3"
    w1, b1, w2, b2 = pair(B1, B2, [2, 0], case)
    causes = {
        "The neurons should be in the order of `keep`": [[1, 3], [4, 6]],
        "These are the neurons that should be removed": [[2], [5]],
    }
    expect(w1, [[3, 1], [6, 4]], f"the first weights of {case}", causes)
    causes = {"The bias is cut with other neurons than the weights": [10.0, 20.0]}
    expect(b1, [30, 10], f"the first bias of {case}", causes)
    expect(
        w2,
        [[3, -3], [1, -1]],
        f"the second weights of {case}",
        "Take rows of the second matrix",
    )
    assert b2 is not None, f"{case}: the second layer of yours has no bias; `second` has one"
    expect(
        b2, [7, 8], f"the second bias of {case}", "It belongs to the outputs, so it stays whole"
    )


def test_layers_without_a_bias():
    for b1, b2 in ((None, B2), (B1, None), (None, None)):
        case = f"the layers {'without' if b1 is None else 'with'} a first bias and "
        case += f"{'without' if b2 is None else 'with'} a second"
        _, first, _, second = pair(b1, b2, np.array([1]), case)
        equal(first is None, b1 is None, f"no first bias in {case}")
        equal(second is None, b2 is None, f"no second bias in {case}")
        if b2 is not None:
            expect(second, [7, 8], f"the second bias of {case}")


def test_dead_neurons_can_go():
    x = np.array([[1.0, -1.0], [2.0, 0.5], [-3.0, 0.0]], "float32")
    w2 = W2 * np.array([[1.0], [0.0], [1.0]])  # neuron 1 contributes nothing
    call = lambda: output_pair(W1, B1, w2, B2, [0, 2], x)
    before, after = result_of(call, "a network without its dead neuron", CUT)
    close(before, np.maximum(x @ W1 + B1, 0) @ w2 + B2, "the outputs of the given layers")
    close(after, before, "the outputs after removing a neuron whose outgoing weights are 0")


# %% neurons hidden points=1
def test_other_neurons():
    rng = np.random.default_rng(8)
    arrays = [rng.normal(size=shape) for shape in [(4, 6), (6,), (6, 3), (3,)]]
    parts, _, same, sizes = pruned_pair(*arrays, np.array([5, 0, 3]))
    yield [np.array(part, "f4") for part in parts], same, sizes


# %% learner-side
def factors(w, bias, rank):
    """(weights, bias) of each layer of low_rank, their types, the output for the unit vectors,
    and whether the layer changed."""
    layer = layer_of(w, bias)
    net = low_rank(layer, rank)
    same = np.allclose(layer.weights.data, w)
    biases = [None if part.bias is None else np.array(part.bias.data) for part in net]
    parts = [(np.array(part.weights.data), b) for part, b in zip(net, biases)]
    out = net(Tensor(np.eye(len(w), dtype="float32"))).data
    return type(net).__name__, parts, np.array(out), same


# %% low-rank points=4
def test_the_closest_matrix_of_rank_2():
    w, u, v = rotated([10.0, 5.0, 1.0])
    case = "low_rank of a layer with the singular values 10, 5, 1, and rank 2"
    parts, _ = layers(w, None, 2, case)
    product = parts[0][0] @ parts[1][0]
    root = np.sqrt([10.0, 5.0])
    causes = {
        "The singular values are in both factors; multiply only one of them": u[:, :2]
        * [100, 25]
        @ v[:2],
        "The singular values are missing: multiply the columns of U by them": u[:, :2] @ v[:2],
        "These are rows of V: np.linalg.svd already returns V^T": turned(w),
        "These are the smallest singular values; keep the first ones": u[:, 1:3]
        * [5, 1]
        @ v[1:],
        "The roots of the singular values belong into both factors, or the values into one": u[
            :, :2
        ]
        * root
        @ v[:2],
    }
    close(
        product,
        u[:, :2] * [10, 5] @ v[:2],
        f"the product of the factors of {case}",
        causes,
        1e-3,
    )
    error = float(np.sqrt(((product - w) ** 2).sum()))
    close(
        error,
        1.0,
        "the distance to the original, which is the singular value left out,",
        near=1e-3,
    )


def test_the_bias_comes_last():
    w, *_ = rotated([3.0, 2.0, 1.0])
    bias = np.array([5.0, -6.0, 7.0], "float32")
    parts, out = layers(w, bias, 3, "low_rank of a layer with a bias, and rank 3")
    assert parts[1][1] is not None, "the second layer should have the bias of the given one"
    causes = {"The bias is missing": w}
    close(out, w + bias, "with the full rank, the outputs for unit vectors", causes, near=1e-3)
    parts, _ = layers(w, None, 1, "low_rank of a layer without a bias")
    assert parts[1][1] is None, (
        "the given layer has no bias, so the second one should have none"
    )


def test_a_matrix_of_rank_1():
    w = np.outer([1.0, 2.0], [3.0, 0.0, -1.0, 5.0]).astype("float32")
    parts, out = layers(w, None, 1, "low_rank of a matrix of rank 1, and rank 1")
    close(
        out, w, "a matrix of rank 1 needs only rank 1: the outputs for unit vectors", near=1e-3
    )
    dtypes = [part[0].dtype.name for part in parts]
    equal(dtypes, ["float32", "float32"], "the dtypes of the weights")


# %% low-rank hidden points=1
def test_other_ranks():
    rng = np.random.default_rng(9)
    for shape, rank in [((5, 5), 2), ((3, 7), 3), ((8, 2), 1)]:
        w = rng.normal(size=shape).astype("float32")
        yield np.array(layers(w, np.zeros(shape[1]), rank, "low_rank")[1], "f4")


# %% learner-side
def lora_of(w, bias, rank, alpha, a=None, b=None, seed=0):
    """A LoRA, with these numbers in A and B, and its Dense layer."""
    dense = layer_of(w, bias)
    lora = LoRA(dense, rank, alpha, seed)
    for p, numbers in ((lora.A, a), (lora.B, b)):
        if numbers is not None:
            p.data[...] = numbers
    return lora, dense


def lora_start(w, bias, rank, alpha, x):
    """A new LoRA: its output, the Dense layer's output, and the shapes of its parameters."""
    lora, dense = lora_of(w, bias, rank, alpha)
    shapes = [p.shape for p in lora.parameters()]
    own = [any(p is q for q in (lora.A, lora.B)) for p in lora.parameters()]
    kept = [p.requires_grad for p in dense.parameters()]
    return lora(Tensor(x)).data, dense(Tensor(x)).data, shapes, all(own), kept


def lora_start_factors(seed):
    """A and B of a new LoRA of a Dense(50, 40), rank 20."""
    lora, _ = lora_of(np.zeros((50, 40)), None, 20, 1.0, seed=seed)
    return np.array(lora.A.data), np.array(lora.B.data)


def lora_output(w, bias, rank, alpha, a, b, x):
    """The outputs of a LoRA, of two merged layers, and of the LoRA after merging."""
    lora, _ = lora_of(w, bias, rank, alpha, a, b)
    out = lora(Tensor(x)).data
    merged = [lora.merge(), lora.merge()]
    kinds = [type(layer).__name__ for layer in merged]
    trained = len(merged[0].parameters())
    outs = [layer(Tensor(x)).data for layer in merged]
    return (
        np.array(out),
        [np.array(y) for y in outs],
        np.array(lora(Tensor(x)).data),
        kinds,
        trained,
    )


def lora_step(w, bias, rank, alpha, a, b, x, g):
    """The gradients of A and B; whether the fixed weights got one; W and b after a step."""
    lora, dense = lora_of(w, bias, rank, alpha, a, b)
    optimizer = SGD(lora.parameters(), lr=1.0)
    lora(Tensor(x)).backward(np.array(g, "float32"))
    gradients = [np.array(p.grad) if p.grad is not None else None for p in (lora.A, lora.B)]
    fixed = [p.grad is not None for p in dense.parameters()]
    optimizer.step()
    return gradients, any(fixed), [p.numpy() for p in dense.parameters()]


# %% lora points=6
LW = np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]])
LB = np.array([10.0, 20.0, 30.0])
LA = np.array([[1.0, 0.0], [2.0, -1.0]])
LBB = np.array([[1.0, 0.0, 2.0], [0.0, 4.0, -2.0]])
LX = np.array([[1.0, 1.0], [2.0, -1.0]], "float32")
PRODUCT = LX @ LA @ LBB


def test_the_first_output_is_that_of_the_layer():
    case = "the output of a new LoRA"
    for bias in (LB, None):
        out, *_ = result_of(lambda: lora_start(LW, bias, 2, 8.0, LX), case)
        wanted = LX @ LW + (0 if bias is None else bias)
        cause = "B must begin with zeros, so that x A B is 0"
        close(out, wanted, f"{case} {'without' if bias is None else 'with'} a bias", cause)


def test_only_a_and_b_are_parameters():
    *_, shapes, own, kept = result_of(lambda: lora_start(LW, LB, 4, 1.0, LX), "a new LoRA")
    equal(
        sorted(shapes),
        [(2, 4), (4, 3)],
        "the shapes of the parameters of LoRA(Dense(2, 3), rank=4)",
        "Only A (in, rank) and B (rank, out) are trained. A parameter is a Variable anywhere "
        "in the module: the weights and the bias of `dense` must not be; use detach()",
    )
    assert own, "parameters() should contain the attributes .A and .B themselves"
    assert kept == [True, True], (
        "the given layer changed: its parameters require no gradient any more. Keep detached "
        "tensors instead of freezing the layer"
    )


def test_a_is_random_and_b_zero():
    a, b = result_of(lambda: lora_start_factors(3), "the factors of a new LoRA")
    assert not b.any(), "B should begin with zeros"
    deviation = float(np.std(a))
    assert a.any(), (
        "A is 0, and so is B: then neither gets a gradient, and nothing is learned. Use `a`"
    )
    assert 0.12 < deviation < 0.16, (
        "A of a LoRA with 50 inputs should have the standard deviation 1 / sqrt(50) = 0.141, "
        f"yours has {deviation:.3f}: use the given `a` as it is"
    )
    equal([a.dtype.name, b.dtype.name], ["float32", "float32"], "the dtypes of A and B")


def test_the_product_is_scaled():
    case = "x W + b + alpha / rank x A B for alpha 6, rank 2"
    found = result_of(lambda: lora_output(LW, LB, 2, 6.0, LA, LBB, LX), case)
    plain = LX @ LW + LB
    causes = {
        "alpha / rank is missing": plain + PRODUCT,
        "The product is multiplied by alpha, not by alpha / rank": plain + 6 * PRODUCT,
        "The product is divided by the rank, and alpha is missing": plain + PRODUCT / 2,
        "This is alpha * rank": plain + 12 * PRODUCT,
        "The bias is missing": plain - LB + 3 * PRODUCT,
        "x W is missing": LB + 3 * PRODUCT,
        "The bias is added twice": plain + LB + 3 * PRODUCT,
        "The whole output is scaled; alpha / rank belongs to x A B only": 3 * (plain + PRODUCT),
    }
    close(found[0], plain + 3 * PRODUCT, case, causes)
    case = "x W + b + alpha / rank x A B for alpha 3, rank 2"
    found = result_of(lambda: lora_output(LW, LB, 2, 3.0, LA, LBB, LX), case)
    cause = {"Was 3 / 2 rounded down?": plain + PRODUCT}
    close(found[0], plain + 1.5 * PRODUCT, case, cause)


def test_merge_computes_the_same():
    for bias in (LB, None):
        case = f"merge() {'without' if bias is None else 'with'} a bias"
        found = result_of(lambda: lora_output(LW, bias, 2, 6.0, LA, LBB, LX), case)
        out, outs, later, kinds, trained = found
        equal(kinds, ["Dense", "Dense"], f"the type of the result of {case}")
        plain = LX @ LW + (0 if bias is None else bias)
        causes = {
            "alpha / rank is missing in merge()": plain + PRODUCT,
            "A B is missing in merge()": plain,
            "The bias is missing in merge()": LX @ LW + 3 * PRODUCT,
        }
        close(outs[0], plain + 3 * PRODUCT, f"the output after {case}", causes)
        cause = "The product is added to the weights of the LoRA itself. Return a new layer"
        close(outs[1], plain + 3 * PRODUCT, f"the output after a second {case}", cause)
        close(later, plain + 3 * PRODUCT, f"the output of the LoRA after {case}", cause)
        equal(trained, 1 if bias is None else 2, f"the number of parameters after {case}")


def test_gradients_reach_a_and_b_only():
    g = np.array([[1.0, -1.0, 2.0], [0.5, 3.0, -2.0]])
    call = lambda: lora_step(LW, LB, 2, 6.0, LA, LBB, LX, g)
    words = {"not recorded": "Compute with Tensors, x @ self.A @ self.B, not with .data"}
    kinds = (RuntimeError, ValueError, TypeError, AttributeError)
    gradients, fixed, after = result_of(call, "a training step of a LoRA", words, kinds)
    for name, found in zip("AB", gradients):
        assert found is not None, (
            f"{name} gets no gradient: compute with Tensors, x @ self.A @ self.B, without .data"
        )
    f = lambda a: LX @ LW + LB + 3 * LX @ a @ LBB
    wanted = gradient_by_differences(f, LA, g)
    close(gradients[0], wanted, "the gradient of A", near=1e-2)
    f = lambda b: LX @ LW + LB + 3 * LX @ LA @ b
    wanted = gradient_by_differences(f, LBB, g)
    close(gradients[1], wanted, "the gradient of B", near=1e-2)
    assert not fixed, "the fixed weights got a gradient: keep them as detached tensors"
    close(after[0], LW, "the weights of the given layer after a step", "They must not change")


# %% lora hidden points=1
def test_other_loras():
    rng = np.random.default_rng(11)
    w, a, b = (rng.normal(size=shape) for shape in [(5, 4), (5, 3), (3, 4)])
    x = rng.normal(size=(2, 3, 5)).astype("float32")
    out, outs, later, *_ = lora_output(w, None, 3, 0.5, a, b, x)
    yield [np.array(found, "f4") for found in (out, *outs[:2], later)]


# %% learner-side
def averaged(states, *weights):
    """What average returns, and whether it changed or shares memory with the states."""
    given = [{name: np.array(array) for name, array in state.items()} for state in states]
    result = average(given, *weights)
    if not isinstance(result, dict):
        return type(result).__name__, True
    found = {str(name): np.array(array) for name, array in result.items()}
    for array in result.values():
        array[...] = -99
    same = all(np.array_equal(a[name], b[name]) for a, b in zip(given, states) for name in b)
    return found, same


# %% average points=4
S = [{"w": np.array([[1.0, 2.0]], "float32"), "b": np.array([4.0], "float32")},
     {"w": np.array([[3.0, 6.0]], "float32"), "b": np.array([0.0], "float32")},
     {"w": np.array([[8.0, -2.0]], "float32"), "b": np.array([1.0], "float32")}]  # fmt: skip


def test_weighted_means():
    case = "the average of [[1, 2]] and [[3, 6]] with the weights 0.25 and 0.75"
    given = np.array([0.25, 0.75])
    error = {"truth value": "an array has no truth value: ask whether `weights is None`"}
    found, same = result_of(lambda: averaged(S[:2], given), case, error)
    assert isinstance(found, dict), (
        f"{case} should be a dict {{name: array}}, yours is a {found}"
    )
    equal(list(found), ["w", "b"], f"the names in {case}")
    causes = {
        "The weights are ignored": [[2, 4]],
        "The weights belong to the states in their order; these are exchanged": [[1.5, 3]],
        "The sum is divided by the number of states, but the weights already say the shares": [
            [1.25, 2.5]
        ],
    }
    close(found["w"], [[2.5, 5.0]], case, causes)
    close(found["b"], [1.0], "the average of 4 and 0 with the weights 0.25 and 0.75")
    assert same, f"{case}: a given state changed, or shares memory with the result"


def test_equal_weights_by_default():
    for count, wanted in [(1, [[1, 2]]), (2, [[2, 4]]), (3, [[4, 2]])]:
        case = f"the average of {count} state(s) without weights"
        error = {"truth value": "ask whether `weights is None`"}
        found, same = result_of(lambda: averaged(S[:count]), case, error)
        causes = {
            "This is the sum: each of n states has the weight 1 / n": count * np.array(wanted),
            "Only the first two states count": [[2, 4]],
            "Each state halves the ones before; of n states each has the weight 1 / n": [
                [34 / 9, 14 / 9]
            ],
        }
        close(found["w"], wanted, case, causes)
        assert same, f"{case}: a given state changed, or shares memory with the result"
    integers = [{"w": np.array([1, 3])}, {"w": np.array([3, 5])}]
    found, _ = averaged(integers)
    cause = "add first; the dtype of the first state comes last"
    close(found["w"], [2, 4], "the average of the integers [1, 3] and [3, 5]", cause)


def test_weights_are_used_as_they_are():
    found, _ = result_of(lambda: averaged(S[:2], [2.0, -1.0]), "the weights 2 and -1")
    cause = "Each array is the sum of weight * array; weights are not scaled to the sum 1"
    close(
        found["w"],
        [[-1, -2]],
        "the average of [[1, 2]] and [[3, 6]] with the weights 2 and -1",
        cause,
    )
    found, _ = averaged(S[:2], [2.0, 2.0])
    close(
        found["w"],
        [[8, 16]],
        "the average of [[1, 2]] and [[3, 6]] with the weights 2 and 2",
        cause,
    )


def test_the_dtype_of_the_first_state():
    found, _ = averaged(S[:2], np.array([0.5, 0.5]))
    cause = "The sum has the dtype of the weights; convert it to the dtype of the first state"
    equal(found["w"].dtype.name, "float32", "the dtype of the average of float32 arrays", cause)
    wide = {name: array.astype("float64") for name, array in S[1].items()}
    found, _ = averaged([S[0], wide])
    equal(
        found["w"].dtype.name, "float32", "the dtype for a float32 and a float64 state", cause
    )
    close(found["w"], [[2, 4]], "the average of [[1, 2]] and [[3, 6]] in float64")


# %% average hidden points=1
def test_other_averages():
    rng = np.random.default_rng(12)
    states = [{"x": rng.normal(size=(3, 2)), "y": rng.normal(size=4)} for _ in range(4)]
    found, same = averaged(states, [0.1, 0.2, 0.3, 0.4])
    yield [np.array(found[name], "f4") for name in ("x", "y")], same


# %% learner-side
def distilled(student, teacher, labels, *options, as_tensor=True):
    """The loss, the gradient of the student's logits, and whether the teacher got one."""
    s, t = Variable(np.array(student, "float64")), Variable(np.array(teacher, "float64"))
    loss = distillation_loss(s, t if as_tensor else t.data, labels, *options)
    if not isinstance(loss, Tensor):
        return type(loss).__name__, None, False
    if loss.requires_grad:
        loss.backward()
    return np.array(loss.data), None if s.grad is None else np.array(s.grad), t.grad is not None


# %% distillation points=6
def test_the_divergence():
    case = "the loss with temperature 1 and weight 1"
    found, *_ = loss_of(case, DS, DT, DL, 1.0, 1.0)
    kl = divergences(DT, DS)
    crossed = -np.mean((np.exp(log_probabilities(DT)) * log_probabilities(DS)).sum(axis=1))
    causes = {
        "This is KL(student || teacher); weight by the teacher's probabilities": divergences(
            DS, DT
        ).mean(),
        "Average over the rows, but add the classes": kl.mean() / 3,
        "Average over the batch": kl.sum(),
        "This is the cross-entropy with the teacher; subtract its entropy": crossed,
        "The sign is turned": -kl.mean(),
    }
    close(found, kl.mean(), case, causes)
    case = "the loss of equal logits, weight 1,"
    close(loss_of(case, DT, DT, DL, 3.0, 1.0)[0], 0.0, case, near=1e-6)


def test_the_temperature():
    case = "the loss with temperature 4 and weight 1"
    found, *_ = loss_of(case, DS, DT, DL, 4.0, 1.0)
    soft = divergences(DT, DS, 4.0).mean()
    causes = {
        "The factor T² is missing": soft,
        "The factor is T², not T": 4 * soft,
        "The logits are not divided by the temperature": 16 * divergences(DT, DS).mean(),
        "The student's logits are not divided by the temperature": 16
        * divergences(DT / 4, DS).mean(),
        "The teacher's logits are not divided by the temperature": 16
        * divergences(DT, DS / 4).mean(),
        "The logits are multiplied by the temperature": 16 * divergences(DT, DS, 0.25).mean(),
        "Average over the rows, but add the classes": 16 * soft / 3,
    }
    close(found, 16 * soft, case, causes)


def test_the_weight():
    case = "the loss with temperature 2 and weight 0.25"
    found, *_ = loss_of(case, DS, DT, DL, 2.0, 0.25)
    soft, hard = 4 * divergences(DT, DS, 2.0).mean(), nll(DS, DL)
    causes = {
        "The weight belongs to the divergence, 1 - weight to the labels": 0.75 * soft
        + 0.25 * hard,
        "The cross-entropy is computed from the student's own logits, not divided by T": 0.25
        * soft
        + 0.75 * nll(DS / 2, DL),
        "The cross-entropy is not multiplied by 1 - weight": 0.25 * soft + hard,
        "The divergence is not multiplied by the weight": soft + 0.75 * hard,
        "The labels are for the student, not for the teacher": 0.25 * soft + 0.75 * nll(DT, DL),
        "Only the divergence is multiplied by T²": 0.25 * soft + 4 * 0.75 * hard,
        "The labels are missing": 0.25 * soft,
    }
    close(found, 0.25 * soft + 0.75 * hard, case, causes)
    case = "the loss with weight 0"
    close(loss_of(case, DS, DT, DL, 2.0, 0.0)[0], hard, case, "It is the cross-entropy alone")
    case = "the loss with the default temperature and weight"
    close(loss_of(case, DS, DT, DL)[0], loss_by_definition(DS, DT, DL), case)


def test_labels_may_be_none():
    case = "the loss with weight 1 and labels None"
    for weight in (1, 1.0):
        loss, *_ = result_of(lambda: distilled(DS, DT, None, 2.0, weight), case, NO_LABELS)
        close(float(loss), 4 * divergences(DT, DS, 2.0).mean(), case)
    case = "the loss with weight 1 and labels that are no classes"
    call = lambda: distilled(DS, DT, np.array(DL) + 100, 2.0, 1)
    result_of(call, case, NO_LABELS["None"])
    case = "the loss for a teacher that is an array"
    found, *_ = loss_of(case, DS, DT, DL, 2.0, 0.5, as_tensor=False)
    close(found, loss_by_definition(DS, DT, DL), case)


def test_gradients():
    for T, weight in [(1.0, 1.0), (3.0, 0.4)]:
        case = f"the loss with temperature {T:g} and weight {weight:g}"
        _, gradient, reached = loss_of(case, DS, DT, DL, T, weight)
        assert gradient is not None, (
            "the student's logits get no gradient: compute with Tensors, not with .data"
        )
        assert not reached, "the teacher got a gradient: use teacher.detach(), as given"
        f = lambda s: loss_by_definition(s, DT, DL, T, weight)
        wanted = gradient_by_differences(f, DS, 1.0)
        close(gradient, wanted, f"the gradient of {case}", near=1e-3)


def test_large_logits():
    s, t = np.array([[0.0, 1000.0, -1000.0]]), np.array([[1000.0, 0.0, -1000.0]])
    case = "the loss for logits of +-1000, temperature 1, weight 1"
    found, *_ = loss_of(case, s, t, np.array([0]), 1.0, 1.0)
    assert math.isfinite(found), (
        f"{case} is {found}: a probability was rounded to 0 before its logarithm was taken. "
        "Use log_softmax for both"
    )
    close(found, 1000.0, case)


# %% distillation hidden points=1
def test_other_batches():
    rng = np.random.default_rng(13)
    for rows, classes, T, weight in [(1, 2, 5.0, 0.9), (6, 10, 1.5, 0.3)]:
        s, t = rng.normal(0, 3, (rows, classes)), rng.normal(0, 3, (rows, classes))
        labels = rng.integers(0, classes, rows)
        found, gradient, reached = loss_of("another batch", s, t, labels, T, weight)
        yield np.array(found, "f4"), np.array(gradient, "f4"), bool(reached)

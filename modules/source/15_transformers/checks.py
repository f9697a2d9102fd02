# The checks of lesson 15, by exercise. `check("block")` in the chapter runs the visible ones.

# %% setup
import math

import numpy as np

from checking import equal, expect, gradient_by_differences, refused, result_of, shown
from tinytorch.core.convolutions import Conv2d
from tinytorch.core.embeddings import Embedding
from tinytorch.core.layers import Dense, Module, Sequential, manual_seed
from tinytorch.core.normalization import LayerNorm
from tinytorch.core.optimizers import AdamW
from tinytorch.core.tensor import Tensor, Variable

MATRICES = ["attention.qkv.weights", "attention.out.weights", "mlp.0.weights", "mlp.2.weights"]
BIASES = ["norm1.bias", "attention.qkv.bias", "attention.out.bias", "norm2.bias", "mlp.0.bias"]
C, K = math.sqrt(2 / math.pi), 0.044715
WIDENS = (
    "A float64 scalar of NumPy, such as np.sqrt(2), makes the whole array float64; Python's "
    "floats do not: use math.sqrt"
)


def close(found, wanted, case, cause="", near=1e-4):
    """`expect` for results of floating-point arithmetic."""
    expect(found, wanted, case, cause, near)


def gelu_by_definition(x):
    x = np.asarray(x, "float64")
    return x / 2 + x / 2 * np.tanh(C * (x + K * np.power(x, 3)))


def gelu_slope(x):
    """The derivative of GELU, a central difference."""
    x = np.asarray(x, "float64")
    return (gelu_by_definition(x + 1e-5) - gelu_by_definition(x - 1e-5)) / 2e-5


def normed(x, state, name):
    centered = x - np.average(x, axis=-1)[..., None]
    variance = np.average(centered**2, axis=-1)[..., None]
    return centered / np.sqrt(variance + 1e-5) * state[f"{name}.weight"] + state[f"{name}.bias"]


def dense(x, state, name):
    return np.einsum("...i,io->...o", x, state[f"{name}.weights"]) + state[f"{name}.bias"]


def attention_by_loops(x, state, name, heads):
    """Causal attention, one position at a time."""
    q, k, v = np.split(dense(x, state, f"{name}.qkv"), 3, axis=-1)
    out, size = np.zeros_like(q), x.shape[-1] // heads
    for b, t, h in np.ndindex(x.shape[0], x.shape[1], heads):
        part = slice(h * size, (h + 1) * size)
        scores = k[b, : t + 1, part] @ q[b, t, part] / math.sqrt(size)
        p = np.exp(scores - scores.max())
        out[b, t, part] = (p / p.sum()) @ v[b, : t + 1, part]
    return dense(out, state, f"{name}.out")


def mlp_by_definition(x, state, name):
    return dense(gelu_by_definition(dense(x, state, f"{name}.0")), state, f"{name}.2")


def double(state):
    return {name: np.asarray(array, "float64") for name, array in state.items()}


def under(state, prefix):
    """The part of a state dict below a prefix."""
    return {k[len(prefix) :]: v for k, v in state.items() if k.startswith(prefix)}


def block_by_definition(x, state, heads):
    x = x + attention_by_loops(normed(x, state, "norm1"), state, "attention", heads)
    return x + mlp_by_definition(normed(x, state, "norm2"), state, "mlp")


def wrong_blocks(x, state, heads):
    """{what went wrong: the block's output then}"""

    def attend(x):
        return attention_by_loops(x, state, "attention", heads)

    def think(x):
        return mlp_by_definition(x, state, "mlp")

    def norm(x, n):
        return normed(x, state, f"norm{n}")

    attended, plain = attend(norm(x, 1)), x + attend(x)
    a, thought = x + attended, x + think(norm(x, 2))
    post = norm(plain, 1)
    same_input = "Both branches read the same stream: the second one should read it after the "
    same_input += "result of the attention has been added"
    normalized = "That is post-norm: the stream is normalized. Normalize the inputs of the "
    normalized += "branches only"
    replaced = "The result of the attention replaces the stream; it should be added"
    on_stream = norm(x, 1) + attended
    result = x + norm(attend(x), 1)
    return {
        "Nothing is added to the stream: x + ... is missing": think(norm(attended, 2)),
        replaced: attended + think(norm(attended, 2)),
        "The result of the mlp replaces the stream; it should be added": think(norm(a, 2)),
        normalized: norm(post + think(post), 2),
        same_input: a + think(norm(x, 2)),
        "Both branches use the same norm; the second one has norm2": a + think(norm(a, 1)),
        "Nothing is normalized": plain + think(plain),
        "The input of the attention is not normalized": plain + think(norm(plain, 2)),
        "The input of the mlp is not normalized": a + think(a),
        "Normalize the inputs of the branches, not their results": result
        + norm(think(result), 2),
        "norm1 is applied to the stream itself": on_stream + think(norm(on_stream, 2)),
        "The mlp comes before the attention": thought + attend(norm(thought, 1)),
    }


def gpt_by_definition(ids, state, heads, layers, last_norm=True, positions=True):
    state = double(state)
    x = state["embedding.weight"][ids]
    if positions:
        x = x + state["positions.weight"][: np.shape(ids)[1]]
    for n in range(layers):
        x = block_by_definition(x, under(state, f"blocks.{n}."), heads)
    if last_norm:
        x = normed(x, state, "norm")
    return x @ state.get("head.weights", np.transpose(state["embedding.weight"]))


def mean_loss(table, x, y):
    """The mean cross-entropy of the targets y when row x of a table holds the logits."""
    logp = table - np.log(np.exp(table).sum(axis=1, keepdims=True))
    return -np.mean([logp[a, b] for a, b in zip(x.ravel(), y.ravel())])


def ladder_by_loops(context, ids, characters, stride=None, scored=None, of=1, first=False):
    """The bits per character of a Ladder, one window and one target at a time."""
    V, nats, total = len(characters), 0.0, 0.0
    stride = max(1, context // 2) if stride is None else stride
    scored = min(stride, context - context // 2) if scored is None else scored
    for start in range(0, len(ids) - context, stride):
        for t in range(scored) if first else range(context - scored, context):
            now, following = int(ids[start + t]), int(ids[start + t + 1])
            strength = 0.5 * (t + 1)
            chosen = strength if (now + 1) % V == following else 0.0
            nats += math.log(math.exp(strength) + V - 1) - chosen
            total += float(characters[int(ids[start + t + of])])
    return nats / math.log(2) / total


TABLE = np.random.default_rng(8).normal(0, 3, (4, 4)).round(1).astype("float32")


# %% learner-side
from checking import refusal, result_of


def shaken(module, seed, scale=0.4):
    """`module`, with random numbers in all parameters, biases and gains included. They do not
    depend on the order in which the module makes its parts."""
    rng = np.random.default_rng(seed)
    for name, p in sorted(module.named_parameters()):
        p.data[...] = rng.normal(0, scale, p.shape) + ("norm" in name and "weight" in name)
    return module


def values_of(module, *inputs):
    """The output of a module in evaluation mode, an ndarray."""
    module.eval()
    return module(*inputs).data


# %% learner-side
def layers_of(net):
    """(class, its sizes or its p) of each layer."""
    described = []
    for layer in net.layers:
        kind = type(layer).__name__
        sizes = [getattr(layer, name, None) for name in ("in_features", "out_features", "p")]
        described.append((kind, [size for size in sizes if size is not None]))
    return described


def feed_forward_values(x, seed, *sizes, **options):
    """The state of a feed_forward with random numbers, and its output."""
    net = shaken(feed_forward(*sizes, **options), seed)
    return net.state_dict(), values_of(net, Tensor(x))


# %% feed-forward points=3
def test_the_layers():
    found = layers_of(feed_forward(6))
    wanted = [("Dense", [6, 24]), ("GELU", []), ("Dense", [24, 6])]
    assert [kind for kind, _ in found] == [kind for kind, _ in wanted], (
        "feed_forward(6) should be Dense, GELU, Dense, and with dropout=0 nothing more; yours "
        f"is {', '.join(kind for kind, _ in found)}"
    )
    assert found == wanted, (
        "feed_forward(6) should widen 6 numbers to 4 * 6 = 24 and bring them back to 6; yours "
        f"has layers of {[sizes for _, sizes in found]}"
    )


def test_the_hidden_size_can_be_chosen():
    found = layers_of(feed_forward(4, 5))
    assert found[0][1] == [4, 5] and found[2][1] == [5, 4], (
        "feed_forward(4, 5) should have layers of 4 to 5 and 5 to 4; yours has "
        f"{[sizes for _, sizes in found]}"
    )


def test_dropout_is_the_last_layer():
    found = layers_of(feed_forward(4, dropout=0.25))
    assert found[3:] == [("Dropout", [0.25])], (
        "feed_forward(4, dropout=0.25) should end with Dropout(0.25); yours is "
        f"{', '.join(kind for kind, _ in found)}"
    )


# %% feed-forward hidden points=1
def test_values_of_a_feed_forward_network():
    x = np.random.default_rng(3).normal(size=(2, 3, 4)).astype("float32")
    for sizes, options in [((4,), {}), ((4, 3), {}), ((4,), {"dropout": 0.5, "hidden": 7})]:
        state, out = feed_forward_values(x, 5, *sizes, **options)
        yield sorted(state), out


# %% learner-side
def block_values(x, seed, heads, **options):
    """The state of a block with random numbers, and its output in evaluation mode."""
    block = shaken(TransformerBlock(x.shape[-1], heads, **options), seed)
    return block.state_dict(), values_of(block, Tensor(x))


def added_by_block(x, p, seed, silent):
    """What a block adds to x in training mode, when the part `silent` of it gives zeros."""
    manual_seed(seed)
    block = shaken(TransformerBlock(x.shape[-1], 2, dropout=p), seed)
    for name, parameter in block.named_parameters():
        if name.startswith(silent):
            parameter.data[...] = 0
    return block(Tensor(x)).data - x


def calls_in_block(part):
    """How often a block calls this part of it."""
    block, calls = TransformerBlock(4, 2), []
    forward = getattr(block, part).forward
    getattr(block, part).forward = lambda *given, **named: (
        calls.append(1) or forward(*given, **named)
    )
    block(Tensor(np.ones((1, 3, 4), "float32")))
    return len(calls)


def block_gradients(x, g, seed):
    """{name: gradient} of a block's parameters and of "x", with its state."""
    block, x = shaken(TransformerBlock(x.shape[-1], 2), seed), Variable(x)
    block(x).backward(g)
    return block.state_dict(), {n: p.grad for n, p in block.named_parameters()} | {"x": x.grad}


# %% block points=6
def test_a_block_adds_two_branches_to_the_stream():
    x = np.random.default_rng(0).normal(0, 2, (2, 5, 8)).astype("float32")
    state, out = block_values(x, 1, 2)
    state, x = double(state), x.astype("float64")
    case = "the output of TransformerBlock(8, 2) for x (2, 5, 8)"
    causes = wrong_blocks(x, state, 2)
    close(out, block_by_definition(x, state, 2), case, causes, near=1e-3)
    for part in ("norm1", "attention", "norm2", "mlp"):
        count = calls_in_block(part)
        equal(count, 1, f"the calls of self.{part} in one forward pass", "keep its result")


def test_gradients_reach_every_parameter():
    rng = np.random.default_rng(2)
    x, g = (rng.normal(size=(1, 3, 4)).astype("float32") for _ in range(2))
    state, found = block_gradients(x, g, 3)
    missing = [name for name, gradient in found.items() if gradient is None]
    assert not missing, (
        f"after backward(), {', '.join(missing[:3])} has no gradient. Either you compute with "
        ".data instead of Tensor operations, or the layer is not used"
    )
    state = double(state)
    wanted = gradient_by_differences(lambda x: block_by_definition(x, state, 2), x, g)
    close(found["x"], wanted, "the gradient of the input x (1, 3, 4)", near=3e-3)


def test_the_result_of_the_attention_is_dropped_out():
    x = np.random.default_rng(4).normal(size=(4, 6, 16)).astype("float32")
    zeros = float(np.mean(np.abs(added_by_block(x, 0.75, 5, "mlp")) < 1e-6))
    assert zeros > 0.5, (
        "with dropout=0.75, about three quarters of the numbers that the attention adds should "
        f"be 0 in training mode; yours has {zeros:.0%}. Apply self.dropout to the attention's "
        "result"
    )
    assert zeros < 0.95, (
        f"with dropout=0.75, {zeros:.0%} of the numbers that the attention adds are 0: is "
        "self.dropout applied twice?"
    )


def test_the_result_of_the_mlp_is_dropped_out_once():
    x = np.random.default_rng(6).normal(size=(4, 6, 16)).astype("float32")
    zeros = float(np.mean(np.abs(added_by_block(x, 0.75, 7, "attention")) < 1e-6))
    assert 0.6 < zeros < 0.85, (
        "with dropout=0.75, about three quarters of the numbers that self.mlp adds should be 0 "
        f"in training mode; yours has {zeros:.0%}. self.mlp ends with its own dropout: add its "
        "result as it is"
    )


# %% block hidden points=2
def test_other_blocks():
    rng = np.random.default_rng(7)
    for shape, heads in [((1, 1, 4), 1), ((3, 4, 6), 3)]:
        yield block_values(rng.normal(size=shape).astype("float32"), 8, heads)[1]
    x = rng.normal(size=(4, 6, 16)).astype("float32")
    zeros = float(np.mean(np.abs(added_by_block(x, 0.5, 5, "attention.out")) < 1e-6))
    assert 0.35 < zeros < 0.65, "the mlp's result is dropped out once, by the mlp's own layer"


# %% learner-side
def initialized(blocks, width, rng, more=False, alone=False):
    """After init_gpt of a stack, or of a block alone: what it returned, {name: array}, whether
    all arrays are still the same objects."""
    parts = [TransformerBlock(width, 2) for _ in range(blocks)]
    stack = parts[0] if alone else Sequential(*parts)
    if more:
        rng = np.random.default_rng(rng)
        stack = Sequential(Embedding(200, width), Sequential(*parts), Dense(width, 90))
    for name, p in stack.named_parameters():
        p.data[...] = 3.0
    arrays = [p.data for p in stack.parameters()]
    causes = {"'blocks'": "A model need not have `blocks`: find them in model.modules()"}
    result = result_of(lambda: init_gpt(stack, rng), "init_gpt", causes, AttributeError)
    same = all(p.data is array for p, array in zip(stack.parameters(), arrays))
    return result, stack.state_dict(), same


# %% init points=6
def test_matrices_have_a_small_standard_deviation():
    for blocks in (1, 4):
        _, state, _ = initialized(blocks, 48, 0)
        for n in range(blocks):
            for name in (f"{n}.attention.qkv.weights", f"{n}.mlp.0.weights"):
                array = np.asarray(state[name])
                assert array.ndim == 2 and len(array) == 48
                std, mean = float(np.std(array)), float(np.average(array))
                scaled = abs(std - 0.02 / math.sqrt(2 * blocks)) < 0.001
                assert abs(std - 0.02) < 0.001, (
                    f"in a stack of {blocks} blocks, {name} {array.shape} should have standard "
                    f"deviation 0.02, yours has {std:.4f}"
                    + ". Is the factor 1 / sqrt(2 L) applied to all matrices?"
                    * scaled
                )
                assert abs(mean) < 0.002, f"{name} should have mean 0, yours has {mean:.4f}"
                far = float((np.abs(array) > 2 * std).mean())
                assert 0.03 < far < 0.06, (
                    "4.6 % of normal numbers are more than 2 standard deviations from 0, of "
                    f"{name} {far:.1%}: draw from a normal distribution"
                )


def test_the_last_layers_of_branches_are_smaller():
    for blocks in (3, 8, 1):
        _, state, _ = initialized(blocks, 48, 1)
        wanted = 0.02 / math.sqrt(2 * blocks)
        causes = {
            0.02: "They are initialized like all others",
            0.02 / math.sqrt(blocks): "A block has two branches: divide by sqrt(2 L)",
            0.02 / (2 * blocks): "Divide by the root of 2 L: variances add up, not deviations",
            0.02 / math.sqrt(2): "Is L the number of blocks in the whole model?",
        }
        for n in range(blocks):
            for name in (f"{n}.attention.out.weights", f"{n}.mlp.2.weights"):
                std = float(np.std(np.asarray(state[name])))
                likely = [c for s, c in causes.items() if abs(std - s) < 0.05 * s]
                assert abs(std - wanted) < 0.06 * wanted, (
                    f"in a stack of {blocks} blocks, {name} should have standard deviation "
                    f"0.02 / sqrt({2 * blocks}) = {wanted:.4f}, yours has {std:.4f}. "
                    + "".join(likely[:1])
                )


def test_one_block_alone_is_initialized_too():
    _, state, _ = initialized(1, 48, 1, alone=True)
    _, stack, _ = initialized(2, 48, 1)
    wanted = 0.02 / math.sqrt(2)
    for name in ("attention.out.weights", "mlp.2.weights"):
        std = float(np.std(np.asarray(state[name])))
        right_in_stack = abs(np.std(np.asarray(stack[f"0.{name}"])) - 0.01) < 0.001
        assert abs(std - wanted) < 0.06 * wanted, (
            f"in init_gpt(TransformerBlock(48, 2)), {name} should have standard deviation "
            f"0.02 / sqrt(2) = {wanted:.4f}, yours has {std:.4f}."
            + " In a single block nothing comes before this name, not even a dot"
            * bool(abs(std - 0.02) < 0.001 and right_in_stack)
        )


def test_biases_are_zero_and_gains_stay():
    _, state, _ = initialized(2, 8, 2)
    for n in range(2):
        for name in (*BIASES, "mlp.2.bias"):
            array = np.asarray(state[f"{n}.{name}"])
            assert array.ndim == 1 and array.size >= 8 and not np.any(array), (
                f"{n}.{name} should be all 0, yours holds {shown(array.ravel()[:3])}..."
            )
        for name in ("norm1.weight", "norm2.weight"):
            array = np.asarray(state[f"{n}.{name}"])
            assert np.array_equal(array, np.full(8, 3)), (
                f"{n}.{name} is the gain of a norm and should stay as it was, 3; yours holds "
                f"{shown(array.ravel()[:3])}..."
            )


def test_arrays_are_filled_in_place():
    result, state, same = initialized(1, 8, 3)
    assert result is None, f"init_gpt should return None, yours returns {result!r:.60}"
    assert same, (
        "init_gpt should write into the arrays that are there, p.data[...] = ...; yours has "
        "put new arrays in their place, and an optimizer would keep the old ones"
    )
    kinds = sorted({array.dtype.name for array in state.values()})
    assert kinds == ["float32"], f"all parameters should stay float32, yours are {kinds}"


def test_the_generator_decides():
    first, second, other = (initialized(1, 8, seed)[1] for seed in (5, 5, 6))
    name = "0.attention.qkv.weights"
    assert np.array_equal(first[name], second[name]), (
        "init_gpt(model, rng=5) twice should give the same weights: draw from generator(rng)"
    )
    assert not np.array_equal(first[name], other[name]), (
        "init_gpt with rng=5 and with rng=6 gives the same weights: draw from generator(rng)"
    )
    again, here = first["0.mlp.0.weights"].ravel(), first[name].ravel()
    assert not np.array_equal(here[:64], again[:64]), (
        "two matrices hold the same numbers: make one generator before the loop"
    )


# %% init hidden points=2
def test_other_matrices_and_the_distribution():
    _, state, same = initialized(3, 64, 1, more=True)
    assert same
    for name, array in state.items():
        if array.ndim == 2:
            ends = name.endswith(("attention.out.weights", "mlp.2.weights"))
            std = 0.02 / math.sqrt(6) if ends else 0.02
            assert abs(np.std(array) - std) < 0.05 * std, name
            scaled = np.sort(np.abs(array.ravel())) / std
            assert 0.6 < scaled[scaled.size // 2] < 0.75 and scaled[-1] > 3, f"{name}: normal?"
        elif name.endswith("bias"):
            assert not np.any(array), name


# %% learner-side
def gpt_values(ids, seed, *sizes, **options):
    """The state of a GPT with random numbers, and its logits in evaluation mode."""
    model = shaken(GPT(*sizes, **options), seed)
    return model.state_dict(), values_of(model, ids)


def gpt_parts(*sizes, **options):
    """What a GPT is made of, as plain data."""
    model = GPT(*sizes, **options)
    wanted = ["embedding", "positions", "blocks", "norm", "head"]
    return {
        "missing": [name for name in wanted if not hasattr(model, name)],
        "kinds": {n: type(getattr(model, n, None)).__name__ for n in wanted if n != "blocks"},
        "blocks": [type(block).__name__ for block in getattr(model, "blocks", [])],
        "shapes": {name: p.shape for name, p in model.named_parameters()},
    }


def parts_by_hand(ids, seed, *sizes, **options):
    """The logits of a GPT, and the same computed from its parts, one after the other."""
    model = shaken(GPT(*sizes, **options), seed).eval()
    x = model.embedding(ids)
    if model.positions is not None:
        x = x + model.positions.weight[: np.shape(ids)[1]]
    for block in model.blocks:
        x = block(x)
    x = model.norm(x)
    return model(ids).data, (model.head(x) if model.head else x @ model.embedding.weight.T).data


def without_positions(ids):
    """The logits of a GPT whose positions were removed, and the same from its parts."""
    model = shaken(GPT(7, 6, 8, 1, 2), 1).eval()
    model.positions = None
    x = model.norm(model.blocks[0](model.embedding(ids)))
    return model(ids).data, (x @ model.embedding.weight.T).data


def with_dropout(p):
    """The logits, in training, of an untied GPT without blocks, with embeddings of 0 and
    positions of 1."""
    model = GPT(7, 6, 8, 1, 2, dropout=p, tie=False)
    model.blocks = []
    model.embedding.weight.data[...], model.positions.weight.data[...] = 0, 1
    return model(np.zeros((4, 6), int)).data


def tied_gradients(ids, g):
    """The gradient of a tied embedding, and those of embedding and head of an untied model with
    the same numbers."""
    tied, untied = GPT(7, 4, 8, 1, 2), GPT(7, 4, 8, 1, 2, tie=False)
    shaken(tied, 3)
    state = tied.state_dict()
    untied.load_state_dict(state | {"head.weights": state["embedding.weight"].T})
    for model in (tied, untied):
        model(ids).backward(g)
    return tied.embedding.weight.grad, untied.embedding.weight.grad, untied.head.weights.grad


def logits_without_branches(p, seed):
    """Logits in training mode, twice, and in evaluation mode, twice, when all blocks add 0."""
    manual_seed(seed)
    model = shaken(GPT(6, 5, 16, 1, 2, dropout=p), seed)
    for layer in (model.blocks[0].attention.out, model.blocks[0].mlp[2]):
        for parameter in layer.parameters():
            parameter.data[...] = 0
    ids = np.array([[0, 1, 2, 3, 4]])
    training = [model(ids).data for _ in range(2)]
    model.eval()
    return training, [model(ids).data for _ in range(2)]


# %% learner-side
def first_deviation():
    """The standard deviation of a new GPT's embedding."""
    return float(GPT(50, 6, 64, 1, 2).embedding.weight.data.std())


def block_options(**options):
    """The dropout and rotary of each block's attention, and the number of its heads."""
    model = GPT(7, 6, 8, 2, 4, **options)
    found = [block.attention for block in model.blocks]
    return [(float(a.dropout), bool(a.rotary), int(a.num_heads)) for a in found]


# %% gpt points=7
def test_the_parts():
    found = gpt_parts(11, 6, 8, 3, 2)
    assert not found["missing"], f"a GPT has no attribute {', '.join(found['missing'])}"
    assert found["blocks"] == ["TransformerBlock"] * 3, (
        f"GPT(11, 6, 8, layers=3, ...) should have 3 blocks, yours has {found['blocks']}"
    )
    shapes = found["shapes"]
    assert "blocks.2.norm1.weight" in shapes, (
        "each block should have its own weights, but yours are one block in three places: "
        "make a new TransformerBlock for each"
    )
    for name, wanted in [("embedding.weight", (11, 8)), ("positions.weight", (6, 8))]:
        assert shapes.get(name) == wanted, (
            f"GPT(11, 6, 8, ...) should have {name} of shape {wanted}, yours is "
            f"{shapes.get(name)}; there are {', '.join(list(shapes)[:4])}, ..."
        )
    assert found["kinds"]["norm"] == "LayerNorm" and found["kinds"]["head"] == "NoneType", (
        "norm should be a LayerNorm and, when tied, head None; yours are "
        f"{found['kinds']['norm']} and {found['kinds']['head']}"
    )
    own = [name for name in shapes if "block" not in name]
    assert len(own) == 4, (
        "besides the parameters of the blocks, a tied GPT has four: embedding.weight, "
        f"positions.weight, norm.weight and norm.bias; yours has {', '.join(own)}"
    )
    deviation = first_deviation()
    assert 0.017 < deviation < 0.023, (
        "the embedding of a new GPT should have the standard deviation 0.02, that of yours has "
        f"{deviation:.3f}: the given last line of __init__, init_gpt(self), draws its weights"
    )


def test_an_untied_head_is_a_layer_of_its_own():
    shapes = gpt_parts(11, 6, 8, 1, 2, tie=False)["shapes"]
    assert shapes.get("head.weights") == (8, 11), (
        "with tie=False, head should be Dense(8, 11) for 8 numbers per token and 11 tokens; "
        f"yours has weights of shape {shapes.get('head.weights')}"
    )
    assert "head.bias" not in shapes, "the head should have no bias: Dense(..., bias=False)"


def test_the_logits():
    ids = np.array([[1, 0, 4, 4], [6, 2, 3, 5]])
    for options in ({}, {"tie": False}):
        state, out = gpt_values(ids, 2, 7, 6, 8, 2, 2, **options)
        no_positions = gpt_by_definition(ids, state, 2, 2, positions=False)
        causes = {
            "The last norm is missing": gpt_by_definition(ids, state, 2, 2, last_norm=False),
            "The positions are missing": no_positions,
            "Only the first block is applied": gpt_by_definition(ids, state, 2, 1),
        }
        powers = np.exp(gpt_by_definition(ids, state, 2, 2))
        shares = powers / powers.sum(axis=-1, keepdims=True)
        causes["No softmax: the loss takes logits, and yours are probabilities"] = shares
        case = (
            f"the logits of GPT(7, 6, 8, layers=2, num_heads=2{', tie=False' * bool(options)})"
        )
        close(out, gpt_by_definition(ids, state, 2, 2), case, causes, near=3e-3)


def test_the_tied_weight_gets_both_gradients():
    rng = np.random.default_rng(1)
    ids, g = np.array([[1, 5, 0, 5]]), rng.normal(size=(1, 4, 7)).astype("float32")
    tied, embedding, head = tied_gradients(ids, g)
    assert tied is not None, "the tied embedding has no gradient after backward()"
    copied = "The head uses a copy of the weight: use embedding.weight.T itself, so that it is "
    copied += "recorded"
    head = np.transpose(head)
    causes = {copied: embedding, "The gradient of the table is missing": head}
    case = "the gradient of a tied embedding, the sum of its gradients as table and as head,"
    close(tied, embedding + head, case, causes, near=3e-3)


def test_rotary_models_have_no_position_vectors():
    parts = gpt_parts(7, 6, 8, 1, 2, rotary=True)
    kind = parts["kinds"]["positions"]
    assert kind == "NoneType" and "positions.weight" not in parts["shapes"], (
        f"with rotary=True, positions should be None, yours is a {kind}"
    )
    ids = np.array([[1, 2, 3, 1]])
    out, wanted = parts_by_hand(ids, 1, 7, 6, 8, 1, 2, rotary=True)
    close(out, wanted, "the logits with rotary=True")
    call, case = lambda: without_positions(ids), "a GPT whose positions were set to None later"
    out, wanted = result_of(call, case, "test self.positions, not rotary")
    close(out, wanted, f"the logits of {case}")
    assert np.abs(with_dropout(0.5)).max() > 1e-3, (
        "dropout with p = 0.5 left all positions as they are: apply it after adding them"
    )
    _, out = gpt_values(ids, 1, 7, 6, 8, 1, 2, rotary=True)
    _, other = gpt_values(ids[:, [1, 0, 2, 3]], 1, 7, 6, 8, 1, 2, rotary=True)
    assert not np.allclose(out[:, -1], other[:, -1], atol=1e-4), (
        "with rotary=True the order of earlier tokens should change the logits at the last "
        "position; yours stay the same: rotary must reach the blocks"
    )


def test_dropout_reaches_the_blocks():
    found = [dropout for dropout, *_ in block_options(dropout=0.25)]
    assert found == [0.25, 0.25], (
        "with GPT(..., layers=2, dropout=0.25), the attention of each block should have "
        f"dropout 0.25; yours has {found}: give dropout to TransformerBlock"
    )


def test_dropout_follows_the_positions():
    training, evaluation = logits_without_branches(0.5, 2)
    assert np.array_equal(*evaluation), "in evaluation mode, logits must not be random"
    assert not np.array_equal(*training), (
        "with dropout=0.5 and blocks that add 0, logits should still be random in training "
        "mode: apply self.dropout to the embeddings"
    )


# %% learner-side
def learned_after(tie):
    """The parameters' largest changes after one step of AdamW, and how many there are."""
    model = shaken(GPT(7, 4, 8, 1, 2, tie=tie), 1)
    optimizer, before = AdamW(model.parameters(), lr=0.01, weight_decay=0.0), model.state_dict()
    model(np.array([[1, 2, 3, 4]])).backward(np.ones((1, 4, 7), "float32") * np.arange(7))
    optimizer.step()
    after = model.state_dict()
    return {name: float(abs(after[name] - before[name]).max()) for name in before}


# %% gpt hidden points=2
def test_other_models():
    for heads, layers, options in [(1, 1, {}), (4, 3, {"tie": False})]:
        for tokens in (1, 5):
            ids = np.random.default_rng(tokens).integers(0, 9, (3, tokens))
            yield gpt_values(ids, 6, 9, 5, 8, layers, heads, **options)[1]
    for options in ({"rotary": True}, {"rotary": True, "tie": False}, {"dropout": 0.5}):
        yield gpt_values(np.array([[0, 3, 1]]), 4, 7, 6, 8, 2, 2, **options)[1]
    yield block_options(dropout=0.125), block_options(rotary=True)
    moved = learned_after(True)
    assert abs(moved["embedding.weight"] - 0.01) < 2e-3, "a tied weight is updated once"
    for ids, options, kind in [
        (np.zeros((1, 7), int), {}, ValueError),
        (np.zeros((1, 7), int), {"rotary": True}, ValueError),
        (np.array([[7]]), {}, IndexError),
    ]:
        call = lambda: gpt_values(ids, 1, 7, 6, 8, 1, 2, **options)
        refused(call, "7 tokens for a context of 6, or token 7 of 7", kind, contains=["7"])


# %% learner-side
def batches(n, batch, context, seed, times=1):
    """x and y of several calls of text_batch, for a text of ids 100, 110, 120, ..."""
    rng = np.random.default_rng(seed)
    ids = 100 + 10 * np.arange(n)
    return [
        [np.asarray(part) for part in text_batch(ids, batch, context, rng)]
        for _ in range(times)
    ]


# %% text-batch points=4
def test_a_window_and_what_follows():
    x, y = batches(50, 4, 6, 0)[0]
    for name, array in [("x", x), ("y", y)]:
        assert array.shape == (4, 6), (
            f"for batch=4 and context=6, {name} should have shape (4, 6), yours has "
            f"{array.shape}"
        )
        assert array.dtype.kind in "iu", f"{name} should hold ints, yours holds {array.dtype}"
    assert (np.diff(x, axis=1) == 10).all(), (
        f"each row of x should be consecutive tokens of the text 100, 110, ...; yours is {x[0]}"
    )
    if np.array_equal(x, y):
        assert False, "y equals x: the model would copy its input. y is shifted by one token"
    assert np.array_equal(y, x + 10), (
        f"y should hold the token after each token of x; for x {x[0]} yours is {y[0]}"
    )


def test_every_window_can_occur():
    (x, y), *_ = batches(8, 2000, 3, 1)
    starts, counts = np.unique(x[:, 0], return_counts=True)
    assert starts.tolist() == [100, 110, 120, 130, 140], (
        "in a text of 8 tokens, a window of 3 that has a token after it can start at 0, 1, 2, "
        f"3 or 4; your 2,000 windows start at {((starts - 100) // 10).tolist()}"
        + ". rng.integers(low, high) never draws `high`"
        * (starts.tolist() == [100, 110, 120, 130])
    )
    assert counts.min() > 300, (
        f"all starts should be equally frequent; yours occur {counts.tolist()} times"
    )
    kind, message = refusal(batches, 4, 1, 3, 2)
    assert not kind, (
        "a text of 4 tokens has one window of 3 and the token after it, so text_batch should "
        f"return it; yours raises {kind}: {message[:70]}"
    )
    x, y = batches(4, 1, 3, 2)[0]
    expect(x, [[100, 110, 120]], "the one window of 3 in a text of 4 tokens: x")
    expect(y, [[110, 120, 130]], "the one window of 3 in a text of 4 tokens: y")


def test_rows_and_calls_differ():
    (x, _), (again, _) = batches(1000, 8, 4, 3, times=2)
    assert np.unique(x[:, 0]).size > 4, (
        f"each row should have its own start; your rows start with {x[:, 0].tolist()}"
    )
    assert not np.array_equal(x, again), "two calls with one generator return the same windows"
    (same, _), *_ = batches(1000, 8, 4, 3)
    assert np.array_equal(x, same), (
        "two generators with the same seed should give the same windows: draw from rng"
    )


# %% text-batch hidden points=1
def test_other_texts():
    for n, batch, context in [(12, 1, 11), (300, 16, 1), (40, 3, 7)]:
        for _, (x, y) in zip(range(3), batches(n, batch, context, 9, times=3)):
            assert x.shape == y.shape == (batch, context)
            assert np.array_equal(x[:, :1] + 10 * np.arange(context), x)
            assert np.array_equal(y, x + 10) and x.min() >= 100 and y.max() < 100 + 10 * n


# %% learner-side
class Scores(Module):
    """A model whose logits for id i are row i of a table; `.calls` are the ids it was given."""

    def __init__(self, table):
        self.table, self.calls = Variable(table), []

    def forward(self, ids):
        ids = np.asarray(ids)
        self.calls.append(ids)
        return self.table[ids]


def loss_and_gradient(table, x, y):
    """lm_loss as an array, the gradient of the table, and what the model was given."""
    model = Scores(table)
    loss = lm_loss(model, x, y)
    loss.backward()
    return loss.data, model.table.grad, model.calls


# %% lm-loss points=3
def test_the_mean_cross_entropy():
    table = np.array([[2.0, 0.0, -1.0], [0.5, 1.5, 0.0], [0.0, 0.0, 3.0]], "float32")
    x, y = np.array([[0, 1, 2, 0], [2, 2, 1, 0]]), np.array([[1, 2, 0, 1], [2, 1, 0, 0]])
    wanted = mean_loss(table, x, y)
    loss, gradient, calls = loss_and_gradient(table, x, y)
    twice = mean_loss(table, x[:, :-1], y[:, 1:])
    causes = {
        "The loss is the mean over all positions, yours is the sum": 8 * wanted,
        "y is already shifted; yours shifts it again": twice,
        "These are the losses of the last positions only": mean_loss(table, x[:, -1], y[:, -1]),
        "The targets are y, not x": mean_loss(table, x, x),
        "cross_entropy takes logits, and yours are probabilities": mean_loss(
            np.exp(table) / np.exp(table).sum(axis=1, keepdims=True), x, y
        ),
        "The loss is in nats, yours is in bits": wanted / math.log(2),
    }
    close(loss, wanted, f"the loss of x {x.tolist()} and y {y.tolist()}", causes)
    assert gradient is not None and np.any(gradient), "the loss must be recorded"
    assert len(calls) == 1 and np.array_equal(calls[0], x), (
        "the model should be called once, with x; yours was called with "
        f"{[np.asarray(call).tolist() for call in calls]}"
    )


# %% lm-loss hidden points=1
def test_other_losses():
    rng = np.random.default_rng(3)
    table = rng.normal(size=(6, 6)).astype("float32")
    yield loss_and_gradient(table, *rng.integers(0, 6, (2, 5, 7)))[0]


# %% learner-side
class Odd(Module):
    """A module with a table, a convolution, a dense layer and its own parameters."""

    def __init__(self):
        self.convolution = Conv2d(2, 3, 2)
        self.inner = [Embedding(5, 4), {"layer": Dense(4, 3)}]
        self.norm, self.scale = LayerNorm(4), Variable(np.ones(3, "float32"))
        self.cube = Variable(np.ones((2, 2, 2), "float32"))


def groups_of(model, weight_decay):
    """[(names, {option: value})] of decay_groups, each name once per time that it occurs."""
    names = {id(p): name for name, p in model.named_parameters()}
    groups = decay_groups(model, weight_decay)
    return [
        (
            [names.get(id(p), "?") for p in group["params"]],
            {key: value for key, value in group.items() if key != "params"},
        )
        for group in groups
    ]


def groups_of_gpt(weight_decay, **options):
    return groups_of(GPT(7, 4, 8, 1, 2, **options), weight_decay)


def optimized(weight_decay):
    """The weight decay of each group of an AdamW that was given decay_groups."""
    optimizer = AdamW(decay_groups(GPT(7, 4, 8, 1, 2), weight_decay), lr=0.1)
    return [group["weight_decay"] for group in optimizer.param_groups]


# %% decay-groups points=4
def test_matrices_decay_and_the_others_do_not():
    (first, one), (second, two) = groups_of_gpt(0.25)
    matrices = [f"blocks.0.{name}" for name in MATRICES]
    for name, cause in [
        ("embedding.weight", "it is the weight of an Embedding, tied or not"),
        ("positions.weight", "it is the weight of an Embedding"),
        ("norm.weight", "the gain of a norm has one axis"),
        ("blocks.0.attention.qkv.bias", "a bias has one axis"),
    ]:
        assert name not in first, f"{name} should not decay: {cause}"
    assert first == matrices, (
        f"the first group should hold {', '.join(matrices)}, in this order; yours holds "
        f"{', '.join(first) or 'nothing'}"
    )
    assert one == {"weight_decay": 0.25} and two == {"weight_decay": 0.0}, (
        "the groups should have weight_decay 0.25 and 0.0 and no other option; yours have "
        f"{one} and {two}"
    )
    assert len(second) == 12, (
        f"the second group should hold the 12 other parameters, yours holds {len(second)}: "
        "every parameter belongs to one of the groups"
    )
    assert optimized(0.25) == [0.25, 0.0], "AdamW should accept both groups"


def test_an_untied_head_decays():
    (first, _), (second, _) = groups_of_gpt(0.1, tie=False)
    assert "head.weights" in first and "head.weights" not in second, (
        "with tie=False, head.weights is a matrix and should decay"
    )
    (first, _), _ = groups_of(Odd(), 0.5)
    case = "of a Conv2d, an Embedding(5, 4), a Dense and a parameter of shape (2, 2, 2), the "
    case += "parameters that decay"
    cause = "Ask for two axes or more and for the class Embedding, not for a name"
    equal(first, ["convolution.weights", "inner.1.layer.weights", "cube"], case, cause)


# %% decay-groups hidden points=1
def test_other_modules():
    yield groups_of(Odd(), 0.5), groups_of_gpt(0.1, rotary=True)


# %% learner-side
def forward_of_gelu(x):
    """What gelu_forward returns, what it saves, and its input afterwards."""
    x, saved = np.array(x), {}
    out = gelu_forward(x, saved)
    return out, {name: np.array(array) for name, array in saved.items()}, x


def rule_of_gelu(g, x, tanh):
    """What gelu_rule returns; afterwards g, x and what was saved."""
    g, x, saved = np.array(g), np.array(x), {"tanh": np.array(tanh)}
    out = 0.5 * x * (1 + saved["tanh"])
    return gelu_rule(g, out, x, saved), g, x, saved["tanh"]


# %% gelu points=4
def test_gelu_by_hand():
    x = np.array([-1000.0, -2.0, -0.5, 0.0, 1.0, 3.0, 1000.0])
    found, _, _ = forward_of_gelu(x)

    def with_tanh_of(inside):
        return x / 2 * (1 + np.tanh(inside))

    causes = {
        "tanh is applied to x alone": with_tanh_of(x),
        "The factor 0.5 is missing": 2 * gelu_by_definition(x),
        "The constant is sqrt(2 / pi), not 2 / pi": with_tanh_of(2 / np.pi * (x + K * x**3)),
        "That is 0.5 x t; the second factor is 1 + t": x / 2 * np.tanh(C * (x + K * x**3)),
        "x cubed is needed, and yours takes the square": with_tanh_of(C * (x + K * x**2)),
    }
    close(found, gelu_by_definition(x), f"gelu_forward of {x.tolist()}", causes, near=1e-9)


def test_the_forward_function_saves_tanh():
    x = np.array([[0.5, -1.5]])
    _, saved, _ = forward_of_gelu(x)
    assert "tanh" in saved, (
        'gelu_forward should keep t = tanh(...) as saved["tanh"], for the rule; yours leaves '
        f"the keys {sorted(saved)} in `saved`"
    )
    wanted = np.tanh(C * (x + K * x * x * x))
    close(saved["tanh"], wanted, f'saved["tanh"] for x = {x.tolist()}', near=1e-9)


def test_the_rule_agrees_with_finite_differences():
    x, g = np.array([-3.0, -0.75, 0.0, 0.4, 2.0]), np.array([1.0, -2.0, 3.0, 0.5, 10.0])
    t = np.tanh(C * (x + K * x**3))
    found, _, _, _ = rule_of_gelu(g, x, t)
    first, second, inner = (1 + t) / 2, x / 2 * (1 - t * t), C * (1 + 3 * K * x * x)
    x_changes = "Only one term of the product rule: x also changes the second factor"
    half = "Only one term of the product rule: the derivative of 0.5 x is 0.5"
    inside = "tanh' is 1 - t^2; the derivative of its argument is missing"
    cubed = "The derivative of 0.044715 x^3 has a factor 3"
    causes = {
        "The upstream gradient g is missing": gelu_slope(x),
        x_changes: g * first,
        half: g * second * inner,
        inside: g * (first + second),
        cubed: g * (first + second * C * (1 + K * x * x)),
        "The derivative of tanh is 1 - t^2, not 1 - t": g * (first + x / 2 * (1 - t) * inner),
    }
    case = f"the gradient for x = {x.tolist()} and g = {g.tolist()}"
    close(found, g * gelu_slope(x), case, causes, near=1e-6)


def test_arrays_stay_as_they_are():
    x = np.array([[-1.0, 0.5], [2.0, -0.25]], "float32")
    out, _, after = forward_of_gelu(x)
    cause = "gelu_forward changed its input. The first step must make a new array"
    expect(after, x, "after gelu_forward, x", cause)
    assert np.asarray(out).dtype == np.float32, (
        f"for float32 the result should be float32, yours is {np.asarray(out).dtype}. {WIDENS}"
    )
    close(out, gelu_by_definition(x), f"gelu_forward of {x.tolist()}")
    g, tanh = np.ones_like(x), np.tanh(C * (x + K * x**3)).astype("float32")
    gradient, g_after, after, tanh_after = rule_of_gelu(g, x, tanh)
    assert np.array_equal(after, x) and np.array_equal(g_after, g), (
        "gelu_rule changed x or g, which other code still uses"
    )
    close(tanh_after, tanh, 'saved["tanh"] after the rule')
    assert np.asarray(gradient).dtype == np.float32, (
        f"for float32 the gradient should be float32, yours is {np.asarray(gradient).dtype}. "
        f"{WIDENS}"
    )


# %% learner-side
class Counted(np.ndarray):
    """An array that notes the exponents that np.power is called with."""

    exponents = []

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **options):
        arrays = [np.asarray(value) for value in inputs]
        if ufunc is np.power:
            Counted.exponents.append(float(arrays[1].flat[0]))
        if out:
            getattr(ufunc, method)(*arrays, out=tuple(map(np.asarray, out)), **options)
            return out[0]
        return getattr(ufunc, method)(*arrays, **options).view(Counted)


def exponents_in_gelu(x):
    """What gelu_forward returns, and the exponents with which it calls np.power."""
    Counted.exponents = []
    out = gelu_forward(np.array(x).view(Counted), {})
    return np.asarray(out), Counted.exponents


# %% gelu polish points=0
def test_x_cubed_is_two_multiplications():
    x = [[0.5, -1.5]]
    found, exponents = exponents_in_gelu(x)
    close(found, gelu_by_definition(x), f"gelu_forward of {x}", near=1e-9)
    assert not exponents, (
        "the values are right, but x ** 3 calls np.power, which is slow: x * x * x takes less "
        "than a hundredth of its time on a large array"
    )


# %% learner-side
def gradient_of_gelu(x, g):
    """The output of GELU() for x, and the gradient of x for the upstream gradient g."""
    x = Variable(x)
    out = GELU()(x)
    out.backward(g)
    return out.data, x.grad


# %% gelu hidden points=1
def test_other_shapes_and_the_module():
    rng = np.random.default_rng(4)
    for shape in ((), (1,), (3, 1, 5), (0, 2)):
        x, g = rng.normal(0, 2, shape), rng.normal(size=shape)
        out, saved, _ = forward_of_gelu(x)
        yield out, rule_of_gelu(g, x, saved["tanh"])[0]
    yield gradient_of_gelu(*(rng.normal(0, 2, (4, 3)).astype("float32") for _ in range(2)))


# %% learner-side
class Ladder(Module):
    """Logits that favour (id + 1) % vocabulary, more so at later positions. `.sizes`: the
    batches it was given. `.modes`: whether it was in training mode, and recorded, each time."""

    def __init__(self, context, vocabulary):
        self.context, self.vocabulary = context, vocabulary
        self.scale, self.sizes, self.modes = Variable([1.0]), [], []

    def forward(self, ids):
        ids = np.asarray(ids)
        self.sizes.append(ids.shape)
        strength = 0.5 * np.arange(1, ids.shape[1] + 1)
        hit = (ids[..., None] + 1) % self.vocabulary == np.arange(self.vocabulary)
        logits = (hit * strength[:, None]).astype("float32")
        out = Tensor(logits) * self.scale
        self.modes.append((bool(self.training), bool(out.requires_grad)))
        return out


def ladder_bits(context, ids, characters, stride=None):
    """held_out_bits of a Ladder, and the sizes of its batches."""
    model = Ladder(context, len(characters))
    options = {} if stride is None else {"stride": stride}
    return held_out_bits(model, ids, characters, **options), model.sizes


def ladder_modes(training):
    """The modes in which held_out_bits calls a Ladder, and that in which it leaves it."""
    model = Ladder(6, 4)
    model.train(training)
    held_out_bits(model, np.arange(30) % 4, np.array([1, 1, 2, 2]))
    return model.modes, bool(model.training)


# %% held-out-bits points=10
def test_the_model_is_evaluated_and_not_changed():
    for training in (True, False):
        modes, after = ladder_modes(training)
        assert modes, "held_out_bits should call the model: model(x)"
        assert not any(mode for mode, _ in modes), (
            "held_out_bits calls the model in training mode, where dropout is on. Use "
            "evaluation_mode(model)"
        )
        mode = f"before the call training was {training}, afterwards it is {after}"
        assert not any(recorded for _, recorded in modes), (
            "a graph is recorded while held_out_bits calls the model, which costs time and "
            f"memory{f'; and {mode}' * (after != training)}. Use evaluation_mode(model)"
        )
        assert after == training, mode


def test_the_bits_of_a_text():
    ids = np.random.default_rng(0).integers(0, 5, 40)
    ids[10:25] = np.arange(15) % 5
    characters = np.array([1, 2, 5, 3, 1])
    nats = "That is nats per character; bits_per_character divides by ln 2 itself"
    twice = "Yours scores every target of each window, most of them more than once, and some "
    twice += "without context"
    losses = "Yours adds the losses of the first targets of each window, not the last; the "
    losses += "characters are right"
    for context in (8, 6):
        found, _ = ladder_bits(context, ids, characters)
        case = f"a text of 40 tokens, context {context}: the bits per character"
        assert isinstance(found, float), (
            f"{case}: the result should be a float, yours is {found!r}"
        )

        def bits(characters=characters, context=context, **options):
            return ladder_by_loops(context, ids, characters, **options)

        causes = {
            nats: bits() * math.log(2),
            twice: bits(scored=context),
            "Yours scores the first targets of each window; score the last": bits(first=True),
            losses: bits(of=1 + context // 2, first=True),
            "Your windows do not overlap, and every target is scored": bits(
                stride=context, scored=context
            ),
            "Count the characters of the targets, not of the inputs": bits(of=0),
            "That is bits per token: divide by the characters": bits(np.ones(5)),
        }
        close(found, bits(), case, causes, near=1e-5)


def test_every_stride():
    ids, characters = np.tile(np.array([0, 1, 2, 3, 0, 2]), 7), np.array([1, 4, 2, 1])
    cause = "Windows start at 0, stride, 2 stride, ...; the last min(stride, context - context "
    cause += "// 2) targets of each are scored"
    for context, stride in [(6, 1), (6, 2), (6, 6), (7, None), (5, 3), (1, None)]:
        found, _ = ladder_bits(context, ids, characters, stride)
        wanted = ladder_by_loops(context, ids, characters, stride)
        case = f"the bits of a text of {len(ids)} tokens, context {context}, stride {stride}"
        close(found, wanted, case, cause, near=1e-5)


def test_the_last_window_that_fits_is_scored():
    characters = np.array([1, 2, 3])
    for n in (5, 6, 7, 8, 9):
        ids, case = np.arange(n) % 3, f"the bits of a text of {n} tokens, context 4,"
        found, _ = result_of(lambda: ladder_bits(4, ids, characters), case, kind=Exception)
        cause = f"the window that starts at {n - 5} still has all its targets"
        close(found, ladder_by_loops(4, ids, characters), case, cause, near=1e-5)


def test_the_mean_is_over_all_tokens():
    ids = np.random.default_rng(2).integers(0, 3, 700)
    ids[-60:] = np.arange(60) % 3
    characters = np.array([1, 2, 3])
    found, sizes = ladder_bits(4, ids, characters)
    case = "the bits of a text of 700 tokens, context 4"
    cause = (
        "Add up the losses of all windows, and divide once: the mean of the means of batches "
    )
    cause += "is wrong when the last batch is smaller"
    close(found, ladder_by_loops(4, ids, characters), case, cause, near=1e-5)
    rows, tokens = (max(numbers) for numbers in zip(*sizes))
    assert tokens <= 4, f"the model has a context of 4 and was given {tokens} tokens"
    windows = sum(size[0] for size in sizes)
    assert windows < 2 * 348, (
        f"a text of 700 tokens has 348 windows of 4 tokens, 2 apart; yours gives the model "
        f"{windows}: call it once for each"
    )
    assert rows <= 64, (
        f"a text of 700 tokens: yours gives the model {rows} windows at once, and a long text "
        "would not fit in memory: at most 64 at a time"
    )


# %% held-out-bits hidden points=2
def test_other_texts_and_contexts():
    rng = np.random.default_rng(5)
    for n, context, stride in [(200, 9, 4), (333, 16, None), (77, 10, 7), (12, 3, 50)]:
        ids, characters = rng.integers(0, 6, n), rng.integers(1, 6, 6)
        ids[n // 3 :] = np.arange(n - n // 3) % 6
        found, sizes = ladder_bits(context, ids, characters, stride)
        yield np.float32(found), max(rows for rows, _ in sizes) <= 64
    refused(lambda: ladder_bits(5, np.zeros(5, int), np.ones(2)), "5 tokens, context 5")


# %% learner-side
class Reader(Module):
    """A model whose logits at position i are the sum of rows of a table, of the tokens j with
    reads[i, j]. `.modes`: whether it was in training mode, each time that it was called."""

    def __init__(self, table, reads):
        self.table, self.reads, self.modes = Variable(table), np.asarray(reads, "float32"), []

    def forward(self, ids):
        ids = np.asarray(ids)
        self.modes.append(bool(self.training))
        return Tensor(self.reads[: ids.shape[1], : ids.shape[1]]) @ self.table[ids]


def leak(model, ids):
    """What causality_leak returns."""
    cause = "An id is replaced by (id + 1) % V, so that it stays below V"
    causes = {"is out of bounds": cause, "is no row": cause}
    return result_of(lambda: causality_leak(model, ids), "causality_leak", causes, IndexError)


def leak_of(table, reads, ids):
    """causality_leak of a Reader, and whether ids stayed as they were."""
    model, given = Reader(table, reads), np.array(ids)
    return leak(model, given), np.array_equal(given, ids)


def leak_modes(table, training):
    """The modes in which causality_leak calls a model, and that in which it leaves it."""
    model = Reader(table, np.tri(4))
    model.train(training)
    leak(model, np.arange(4))
    return model.modes, bool(model.training)


def leak_of_gpt(causal, ids, **options):
    """causality_leak of a GPT with random numbers."""
    model = shaken(GPT(5, len(ids), 8, 2, 2, **options), 1)
    for block in model.blocks:
        block.attention.causal = causal
    return leak(model, ids)


# %% causality-leak points=10
def test_the_model_is_examined_in_evaluation_mode():
    for training in (True, False):
        modes, after = leak_modes(TABLE, training)
        assert modes, "causality_leak should call the model: model(ids[None])"
        assert not any(modes), (
            "causality_leak calls the model in training mode, where dropout alone changes the "
            "logits. Use evaluation_mode(model)"
        )
        assert after == training, (
            f"before the call training was {training}, afterwards it is {after}"
        )


def test_a_causal_model_has_no_leak():
    ids = np.array([0, 3, 1, 1, 2, 0])
    found, same = leak_of(TABLE, np.tri(6), ids)
    assert same, "causality_leak has changed the ids that it was given: make a new array"
    assert isinstance(found, float), f"the result should be a float, yours is {found!r}"
    assert found == 0.0, (
        "the logits of this model depend on the tokens up to their own position, so the leak "
        f"is 0; yours is {found:.4g}. Compare positions up to k only, k included"
    )
    assert leak_of_gpt(True, np.array([1, 4, 0, 2])) == 0.0, "a causal GPT should have leak 0"
    case, one = "the leak for a single token", lambda: leak_of(TABLE, np.tri(1), np.array([3]))
    equal(result_of(one, case, "there is no k: the result is 0.0")[0], 0.0, case)


def test_every_leak_is_found():
    ids, difference = np.array([2, 0, 3, 1, 0, 2]), np.tri(6)
    difference[0, [1, 4]] = 1, -1
    cause = "For every k from 0 to T - 2, change all tokens after k, and look at all positions "
    cause += "up to k"
    for name, reads, wanted in [
        ("every position reads all tokens", np.ones((6, 6)), 8.5),
        ("every position reads the next token", np.eye(6) + np.eye(6, k=1), 9.8),
        ("position 0 reads the last token", np.tri(6) + np.eye(6, k=5), 4.3),
        ("position 4 reads token 5", np.tri(6) + (np.arange(36) == 29).reshape(6, 6), 4.3),
        ("position 0 reads token 1", np.tri(6) + (np.arange(36) == 1).reshape(6, 6), 3.8),
        ("position 0 reads token 1 minus token 4", difference, 3.8),
    ]:
        found, _ = leak_of(TABLE, reads, ids)
        lost = ". This leak was not found" if found == 0 else ""
        case = f"the leak of a model in which {name}"
        close(found, wanted, case, cause + lost)


def test_a_gpt_without_its_mask_leaks():
    ids = np.array([1, 4, 0, 2])
    assert leak_of_gpt(True, ids) == 0.0, "a causal GPT should have leak 0"
    found = leak_of_gpt(False, ids)
    assert 0.01 < found < 100, (
        f"a GPT with attention.causal = False leaks: its leak should be above 0.01, yours is "
        f"{found:.4g}"
    )


def test_nan_is_not_lost():
    table = np.ones((4, 4), "float32")
    table[3] = np.nan
    found, _ = leak_of(table, np.ones((3, 3)), np.array([0, 3, 2]))
    assert np.isnan(found), (
        f"all changes of the logits are nan, so the leak is nan, yours is {found!r}: Python's "
        "max(0.0, nan) is 0.0, np.max keeps nan"
    )
    found, _ = leak_of(table, np.ones((3, 3)), np.array([0, 1, 1]))
    assert found == 0.0, f"no logit is nan for these ids: the leak is 0, yours is {found}"


# %% causality-leak hidden points=2
def test_other_leaks():
    rng = np.random.default_rng(6)
    for T in (2, 5, 9):
        ids, reads = rng.integers(0, 4, T), rng.normal(size=(T, T)) * (rng.random((T, T)) < 0.3)
        yield np.float32(leak_of(TABLE, reads, ids)[0])
    for reads, ids in [(np.ones((1, 1)), [3]), (np.tri(3), [1, 2, 0])]:
        yield float(leak_of(TABLE, reads, ids)[0])


# %% parameters points=4
def test_the_number_of_parameters():
    for sizes, wanted in [
        ((10, 6, 4, 1), 316),
        ((10, 6, 4, 3), 804),
        ((100, 7, 8, 2), 2616),
        ((27, 16, 48, 2), 58704),
    ]:
        V, T, D, L = sizes
        found = parameters_of(*sizes)
        causes = {
            wanted - T * D: "The vectors of the positions are missing",
            wanted + V * D: "When tied, the head adds no weights",
            wanted - 2 * D: "The last norm is missing",
            wanted - 9 * D * L: "Biases are missing: D * (3 + 1 + 4 + 1) per block",
            wanted - 3 * D * L: "The biases of qkv are missing, 3 D per block",
            wanted - D * L: "A bias of D numbers is missing in each block: attention.out "
            "and the second layer of the mlp have one each",
            wanted - 4 * D * L: "The two norms of each block are missing, 4 D per block",
            wanted - 13 * D * L: "The biases and the norms of the blocks are missing",
            wanted - 13 * D * L - 2 * D: "Biases and norms are missing",
        }
        assert found == wanted, (
            f"GPT({V}, {T}, {D}, layers={L}) has {wanted:,} parameters, yours says {found:,}. "
            + causes.get(found, "")
        )


def test_an_untied_head_is_counted():
    found = parameters_of(10, 6, 4, 2, tie=False)
    causes = {560: "the 4 x 10 weights of the head are missing", 610: "the head has no bias"}
    equal(found, 600, "parameters_of(10, 6, 4, 2, tie=False)", causes.get(found, ""))


# %% parameters hidden points=1
def test_other_sizes():
    for sizes in [(3, 2, 2, 1), (50, 9, 6, 4), (64, 32, 16, 3), (1024, 64, 128, 3)]:
        for tie in (True, False):
            yield parameters_of(*sizes, tie)


# %% flops points=4
def test_the_work_per_token():
    for sizes, wanted in [
        ((10, 6, 4, 1), 560),
        ((10, 6, 4, 3), 1520),
        ((27, 16, 48, 2), 119328),
        ((1024, 64, 128, 3), 1540096),
    ]:
        V, T, D, L = sizes
        found = flops_per_token(*sizes)
        causes = {
            wanted - 2 * V * D: "The head also multiplies each vector with V rows",
            wanted - 4 * L * T * D: "The products of queries with keys, and of attention "
            "weights with values, are missing",
            wanted // 2: "A multiplication and an addition are two operations",
            3 * wanted: "That is training; this is the forward pass only",
            wanted - 2 * L * T * D: "Attention has two products: queries with keys, and "
            "weights with values",
            wanted - 4 * (L - 1) * T * D: "Each layer has its own attention: also "
            "multiply its products by the number of layers",
            wanted + 2 * V * D: "An embedding is looked up, not multiplied",
            wanted + 2 * T * D: "Positions are added, not multiplied",
        }
        assert found == wanted, (
            f"GPT({V}, {T}, {D}, layers={L}) takes {wanted:,} FLOPs per token, yours says "
            f"{found:,}. {causes.get(found, '')}"
        )


# %% flops hidden points=1
def test_the_work_of_other_sizes():
    for sizes in [(2, 3, 2, 1), (50, 9, 6, 4), (64, 32, 16, 3), (7, 5, 4, 6), (1, 5, 4, 1)]:
        yield flops_per_token(*sizes)

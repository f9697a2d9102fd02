import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import tinytorch
from tinytorch import Tensor, nn
from tinytorch.compiler.loops import function_of
from tinytorch.compiler.machine_code import compile_source
from tinytorch.core import autograd, tensor
from tinytorch.core.activations import gelu, softmax
from tinytorch.core.compilation import (
    PYTHON,
    Loops,
    Program,
    arena,
    bytes_moved,
    compile,
    compile_c,
    evaluate,
    groups,
    optimized,
    outline,
    plan,
    run_python,
    same,
    share,
    straight,
    trace,
)
from tinytorch.core.embeddings import RecurrentModel
from tinytorch.core.layers import Dense, Sequential, manual_seed
from tinytorch.core.losses import cross_entropy, mse_loss
from tinytorch.core.optimizers import AdamW
from tinytorch.core.tensor import stack
from tinytorch.core.transformers import GPT, lm_loss
from tinytorch.pictures.compilation import lifetimes
from tinytorch.support import arrays, forward
from tinytorch.support.tracing import Node, NotTraceable, step, value_and_gradients

LESSON = Path(__file__).parents[2] / "modules" / "source" / "21_compilation"
has_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler is installed"
)


def floats(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def ints(high, *shape, seed=0):
    return np.random.default_rng(seed).integers(0, high, shape)


def mean_square(x):
    return (x * x).mean()


def models():
    """(name, model, input) for parts of the library."""
    x = floats(4, 8)
    for part in (nn.ReLU(), nn.Tanh(), nn.Sigmoid(), nn.GELU(), nn.Softmax(), nn.LayerNorm(8)):
        yield type(part).__name__, Sequential(Dense(8, 8), part), x
    yield "RMSNorm", Sequential(Dense(8, 8), nn.RMSNorm(8)), x
    yield "BatchNorm in eval", Sequential(Dense(8, 8), nn.BatchNorm1d(8)).eval(), x
    yield "Dropout in eval", Sequential(Dense(8, 8), nn.Dropout(0.5)).eval(), x
    images = floats(2, 3, 8, 8)
    yield "max pool", Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2)), images
    yield "average pool", Sequential(nn.Conv2d(3, 4, 3), nn.AvgPool2d(2)), images
    yield "many rows", Sequential(Dense(8, 8), nn.ReLU()), floats(2000, 8)
    yield "GPT", GPT(20, 8, 16, 2, 4), ints(20, 2, 6)
    yield "GPT with rotary positions", GPT(20, 8, 16, 2, 4, rotary=True), ints(20, 2, 6)
    yield "GPT, ids in order", GPT(20, 8, 16, 2, 4), np.arange(5)[None]


@pytest.mark.parametrize("name, model, x", [pytest.param(*row, id=row[0]) for row in models()])
def test_a_compiled_loss_and_its_gradients_have_the_bits_of_the_library(name, model, x):
    compiled = compile(lambda x: mean_square(model(x)), model)
    compiled(x)
    other = floats(*x.shape, seed=1) if x.dtype.kind == "f" else (x + 3) % 20
    given, results = Tensor(other) if x.dtype.kind == "f" else other, []
    for loss in (compiled(other), mean_square(model(given))):
        model.zero_grad()
        loss.backward()
        results.append([loss.data, *[p.grad for p in model.parameters()]])
    assert all(np.array_equal(a, b) for a, b in zip(*results, strict=True))
    assert len(compiled.programs) == 1


def test_labels_are_arguments_and_no_constants():
    model = Dense(6, 3)
    compiled = compile(lambda x, y: cross_entropy(model(x), y), model)
    for seed in range(3):
        x, y = floats(5, 6, seed=seed), ints(3, 5, seed=seed)
        assert float(compiled(x, y)) == float(cross_entropy(model(Tensor(x)), y))
    assert len(compiled.programs) == 1


@pytest.mark.parametrize(
    "first", [[[0, 0]], [[0, 1]], [[3, 3]], [[0]], [[7]]], ids=lambda ids: str(ids)
)
def test_ids_that_look_like_positions_or_like_the_targets_are_told_apart(first):
    model, x = GPT(9, 4, 8, 1, 2), np.array(first)
    compiled = compile(lambda x, y: lm_loss(model, x, y), model)
    y = np.full_like(x, 2) if x.size == 1 else x
    compiled(x, y)
    x, y = (x + 5) % 9, (x + 1) % 9
    assert float(compiled(x, y)) == float(lm_loss(model, x, y)) and len(compiled.programs) == 1


def test_a_recurrent_network_and_joined_tensors_are_traced():
    model, ids = RecurrentModel(12, 4, 5), ints(12, 2, 3)
    compiled = compile(lambda ids: mean_square(model(ids)[0]), model)
    compiled(ids)
    assert float(compiled((ids + 5) % 12)) == float(mean_square(model((ids + 5) % 12)[0]))
    f = lambda x: (stack([x, x * 2]) + tinytorch.cat([x, x], 1).sum()).sum()  # noqa: E731
    x = floats(2, 3)
    assert float(compile(f)(x)) == float(f(Tensor(x)))


def test_training_a_compiled_gpt_gives_equal_losses():
    losses = []
    for is_compiled in (False, True):
        manual_seed(0)
        model = GPT(30, 8, 16, 1, 2)
        loss_of = lambda x, y, model=model: lm_loss(model, x, y)  # noqa: E731
        loss_of = compile(loss_of, model) if is_compiled else loss_of
        optimizer = AdamW(model.parameters(), lr=1e-2)
        for seed in range(4):
            x = ints(30, 3, 8, seed=seed)
            loss = loss_of(x, np.roll(x, -1, 1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss))
    assert losses[:4] == losses[4:]


def branches(x):
    return x.sum() if x.sum() > 0 else -x.sum()


REFUSED = {
    "a condition": branches,
    "item": lambda x: x * x.sum().item(),
    "float": lambda x: x * float(x.sum()),
    "a mask": lambda x: x[x > 0].sum(),
    "random numbers": lambda x: x * float(np.random.default_rng().random()),
    "dropout": lambda x: nn.Dropout(0.5)(x),
    "batch norm in training": lambda x: nn.BatchNorm1d(8)(x),
    "a result that is no Tensor": lambda x: "loss",
    "no result": lambda x: None,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_depends_on_numbers_is_refused_and_leaves_nothing_behind(name):
    model, x = Dense(8, 8), floats(4, 8)
    before = tensor.run, tensor.operand, arrays.copy_of, forward.sum_in_blocks
    with pytest.raises(NotTraceable):
        compile(lambda x: REFUSED[name](model(x)), model)(x)
    assert before == (tensor.run, tensor.operand, arrays.copy_of, forward.sum_in_blocks)
    assert "rules_of" not in vars(autograd.table)
    assert isinstance(model.weights.data, np.ndarray) and model.weights.grad is None
    mean_square(model(Tensor(x))).backward()
    assert isinstance(model.weights.grad, np.ndarray)


@pytest.mark.parametrize("count", [np.sum, np.count_nonzero, np.max, lambda y: y[0]])
def test_numbers_computed_from_ints_are_refused(count):
    y = np.array([1, 0, 3, 2, 9] * 9)
    with pytest.raises(NotTraceable, match="numbers of its arguments"):
        compile(lambda x, y: (x * float(count(y))).sum())(floats(2), y)
    if count is np.sum:
        with pytest.raises(NotTraceable, match="numbers of its arguments"):
            compile(lambda x, y: (x * float(count(y))).sum())(floats(2), y > 1)


def test_the_error_names_the_line():
    line = branches.__code__.co_firstlineno + 1
    with pytest.raises(NotTraceable, match=rf"line {line} of branches: return x.sum\(\) if"):
        trace(branches, floats(3))
    assert issubclass(NotTraceable, TypeError)

    def noisy(x):
        return x * float(np.random.default_rng().random())

    line = noisy.__code__.co_firstlineno + 1
    with pytest.raises(NotTraceable, match=f"line {line} of noisy"):
        compile(noisy)(floats(3))


def test_a_model_that_changes_its_buffers_is_refused_and_unchanged():
    model = Sequential(Dense(8, 8), nn.BatchNorm1d(8))
    means = model[1].running_mean.data.copy()
    compiled = compile(lambda x: mean_square(model(x)), model)
    with pytest.raises(NotTraceable):
        compiled(floats(4, 8))
    assert np.array_equal(model[1].running_mean.data, means)
    model.eval()
    for mean in (0, 3):  # buffers are arguments, too
        model[1].running_mean.data[...] = mean
        x = floats(4, 8)
        assert float(compiled(x)) == float(mean_square(model(Tensor(x))))


def test_an_error_of_the_function_passes_through():
    def broken(x):
        raise KeyError("mine")

    before = tensor.run
    with pytest.raises(KeyError, match="mine"):
        trace(broken, floats(2))
    assert tensor.run is before


def test_a_trace_has_arguments_outputs_and_steps_without_dead_code():
    def f(x, ids):
        x.exp()
        return [x * 2, x.sum(), ids]

    program = trace(f, floats(2, 3), ints(5, 4))
    assert [(a.op, a.shape, a.dtype.name) for a in program.arguments] == [
        (None, (2, 3), "float32"),
        (None, (4,), "int64"),
    ]
    assert [node.name for node in program.nodes] == ["mul", "sum"]
    assert program.outputs[2] is program.arguments[1]
    assert program.nodes[0].created < program.nodes[1].created
    out = evaluate(program, floats(2, 3, seed=1), np.arange(4))
    assert np.array_equal(out[0], 2 * floats(2, 3, seed=1)) and np.array_equal(out[2], range(4))


def test_what_a_traced_function_gets_and_returns():
    given = []

    def f(x, ids):
        given.append((type(x), isinstance(ids, np.ndarray)))
        return x.sum()

    program = trace(f, floats(2, 3), ints(5, 4))
    assert set(given) == {(Tensor, True)} and [x.shape for x in program.outputs] == [()]
    assert issubclass(NotTraceable, TypeError)
    w = Tensor(floats(3), requires_grad=True)
    loss, gradient = value_and_gradients(lambda x: (w * w * x).sum(), [w])(Tensor(floats(3)))
    assert np.allclose(np.asarray(loss), (floats(3) ** 3).sum())
    assert np.allclose(np.asarray(gradient), 2 * floats(3) ** 2)


def test_a_program_prints_a_line_for_each_step():
    lines = str(trace(gelu, floats(4, 8))).split("\n")
    assert lines[0] == "program a: float32[4,8]" and lines[-1] == "    return j"
    assert re.fullmatch(r"    d = mul\(0\.044715, c\) +float32\[4,8\]", lines[3])
    many = Node(None, example=floats(2))
    for _ in range(800):
        many = step(np.negative, many)
    assert "    aaa = neg(zz)" in str(Program([], [many]))


def test_a_step_has_an_example():
    node = step(np.add.reduce, Node(None, example=floats(2, 3)), axis=1)
    assert node.shape == (2,) and node.dtype == np.float32 and node.options == {"axis": 1}


def test_views_and_in_place_operations():
    def f(x):
        data = x.data
        view = data.reshape(6)
        data *= 2
        return view

    with pytest.raises(NotTraceable, match="view"):
        trace(f, floats(2, 3))

    def g(x):
        data = x.data.copy()
        data *= 2
        return [x, data]

    program = trace(g, floats(2, 3))
    assert program.outputs[0] is program.arguments[0] and len(program.nodes) == 1


@pytest.mark.parametrize("f", [gelu, softmax], ids=["gelu", "softmax"])
def test_all_forms_of_a_program_agree(f):
    program, x = optimized(trace(f, floats(4, 8))), floats(4, 8, seed=2)
    right = f(Tensor(x)).data
    source, objects = straight(program)
    assert source.startswith("def program(a0):")
    assert np.array_equal(evaluate(program, x)[0], right)
    assert np.array_equal(function_of(source, objects)(x)[0], right)
    assert np.allclose(run_python(program, x)[0], right, 1e-5, 1e-6)


def training_step(sizes, rows, part=nn.ReLU):
    """The program of a training step, its arrays, and what it should compute."""
    manual_seed(0)
    layers = [p for a, b in zip(sizes, sizes[1:]) for p in (Dense(a, b), part())][:-1]
    model = Sequential(*layers)
    weights, x, y = model.parameters(), floats(rows, sizes[0]), floats(rows, sizes[-1], seed=1)
    both = value_and_gradients(lambda x, y: mse_loss(model(x), y), weights)

    def sgd(x, y):
        loss, *gradients = both(x, y)
        return [loss, *[w.data - 0.1 * g for w, g in zip(weights, gradients)]]

    program = optimized(trace(sgd, x, y, weights=weights))
    loss = mse_loss(model(Tensor(x)), y)
    loss.backward()
    return (
        program,
        [x, y, *[w.data for w in weights]],
        [loss.data, *[w.data - 0.1 * w.grad for w in weights]],
    )


def test_a_training_step_in_numpy_and_in_loops():
    program, arrays, right = training_step((2, 8, 1), 4, nn.Tanh)
    for a, b in zip(function_of(*straight(program))(*arrays), right, strict=True):
        assert np.array_equal(a, b)
    for a, b in zip(run_python(program, *arrays), right, strict=True):
        assert np.allclose(a, b, 1e-5, 1e-6)


@has_compiler
@pytest.mark.parametrize("sizes, rows", [((2, 8, 1), 4), ((64, 128, 10), 32)])
def test_a_training_step_in_c(sizes, rows):
    program, arrays, right = training_step(sizes, rows)
    run = compile_c(program)
    for _ in range(2):
        for a, b in zip(run(*arrays), right, strict=True):
            assert np.allclose(a, b, 1e-4, 1e-5)
    assert run.source.count("void program(") == 1
    with pytest.raises(ValueError, match="shapes"):  # C would read beyond the end
        run(arrays[0][:1], *arrays[1:])
    for a, b in zip(function_of(*straight(outline(program)))(*arrays), right, strict=True):
        assert np.allclose(a, b, 1e-4, 1e-5)


@has_compiler
def test_exp_and_tanh_in_c_know_infinity_and_nan():
    f = lambda x: [x.exp(), x.tanh()]  # noqa: E731
    x = np.float32([0, 1, -1, 20, -20, 88.5, 89, -90, np.inf, -np.inf, np.nan, 3e-3])
    got = compile_c(trace(f, x))(x)
    with np.errstate(over="ignore"):
        assert np.allclose(got[0], np.exp(x), 3e-6, 1e-37, equal_nan=True)
    assert np.allclose(got[1], np.tanh(x), 1e-5, 1e-6, equal_nan=True)


@has_compiler
def test_the_c_backend_trains_like_numpy():
    model, x, y = GPT(20, 8, 16, 1, 2), ints(20, 2, 8), ints(20, 2, 8, seed=1)
    losses = []
    for backend in ("numpy", "c"):
        model.zero_grad()
        loss = compile(lambda x, y: lm_loss(model, x, y), model, backend)(x, y)
        loss.backward()
        losses.append([loss.data, *[p.grad for p in model.parameters()]])
    assert all(np.allclose(a, b, 1e-3, 1e-5) for a, b in zip(*losses, strict=True))


def test_without_a_c_compiler_there_is_a_warning_and_numpy(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(OSError, match="cc, gcc, clang"):
        compile_c(trace(gelu, floats(3)))
    compiled = compile(lambda x: x.sum(), backend="c")
    with pytest.warns(UserWarning, match="no C compiler"):
        assert float(compiled(np.float32([1, 2]))) == 3


def test_no_check_of_the_lesson_compiles_c():
    text = (LESSON / "checks.py").read_text(encoding="utf-8")
    for name in ("compile_c", "outline", "compile_source", "ctypes", "subprocess", '"c"'):
        assert name not in text


def test_c_refuses_what_it_cannot_do():
    with pytest.raises(NotImplementedError):
        compile_c(trace(lambda ids: Tensor(ids).float(), ints(3, 2)))
    with pytest.raises(NotImplementedError):
        compile_c(trace(lambda x: x.cumsum(0), floats(3)))
    if shutil.which("cc"):
        with pytest.raises(OSError, match="error"):
            compile_source("this is no C")


def test_the_key_has_shapes_dtypes_values_and_modes():
    model = Sequential(Dense(3, 2), nn.Dropout(0.0)).eval()
    compiled = compile(lambda x, factor: (model(x) * factor).sum(), model)
    for rows in (32, 32, 32, 7):
        compiled(floats(rows, 3), 2)
    assert len(compiled.programs) == 2
    compiled(floats(7, 3), 2.0)
    assert len(compiled.programs) == 3
    compiled(floats(7, 3).astype("float64"), 2)
    assert len(compiled.programs) == 4
    model.train()
    compiled(floats(7, 3), 2)
    assert len(compiled.programs) == 5
    model.eval()
    compiled(Tensor(floats(7, 3)), 2)
    assert len(compiled.programs) == 5


def test_a_model_in_training_mode_does_not_run_the_program_of_eval():
    model = Sequential(Dense(3, 2), nn.Dropout(0.5)).eval()
    compiled = compile(lambda x: model(x).sum(), model)
    compiled(floats(4, 3))
    model.train()
    with pytest.raises(NotTraceable, match="random"):
        compiled(floats(4, 3))


def test_frozen_weights_have_no_gradient_and_may_thaw():
    model = Sequential(Dense(3, 2), Dense(2, 1))
    model[0].requires_grad_(False)
    compiled = compile(lambda x: model(x).sum(), model)
    compiled(floats(4, 3)).backward()
    assert model[0].weights.grad is None and model[1].weights.grad is not None
    model[0].requires_grad_(True)
    compiled(floats(4, 3)).backward()
    assert model[0].weights.grad is not None


def test_a_compiled_module_follows_its_weights_without_gradients():
    model, x = Dense(3, 2), floats(4, 3)
    compiled = tinytorch.compile(model)
    for factor in (1, 2):
        model.weights.data *= factor
        assert np.array_equal(compiled(x).data, model(Tensor(x)).data)
    assert not compiled(x).requires_grad
    with pytest.raises(ValueError, match="numpy and c"):
        compile(model, backend="cuda")


def test_only_one_number_has_gradients():
    model = Dense(3, 2)
    out = compile(model, model)(floats(4, 3))
    with pytest.raises(ValueError, match="one number"):
        out.backward(np.ones((4, 2), "float32"))


def test_an_argument_that_requires_a_gradient_is_refused():
    x = tinytorch.Variable(floats(2))
    with pytest.raises(ValueError, match="detach"):
        compile(mean_square)(x * 2)
    assert float(compile(mean_square)(x.detach())) == float(mean_square(x))


def test_numbers_from_outside_are_constants():
    global_factor = [1.0]
    compiled = compile(lambda x: (x * global_factor[0]).sum())
    x = np.float32([1, 2])
    assert float(compiled(x)) == 3
    global_factor[0] = 10.0
    assert float(compiled(x)) == 3


def test_groups_and_bytes_of_known_programs():
    program = trace(gelu, floats(4, 8))
    group = groups(program)
    assert all(group[node] is group[program.nodes[0]] for node in program.nodes)
    assert bytes_moved(program, group) == 2 * 4 * 8 * 4
    assert bytes_moved(program, {node: [node] for node in program.nodes}) == 2688
    program = trace(softmax, floats(4, 8))
    assert [len(g) for g in {id(g): g for g in groups(program).values()}.values()] == [1, 3, 1]

    def adamw(w, g, m, v, lr, c1, c2):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * (g * g)
        return [w * (1 - 1e-5) - lr * (m / c1) / ((v / c2).sqrt() + 1e-8), m, v]

    program = trace(adamw, *[floats(n) for n in (1000,) * 4 + (1,) * 3])
    assert len({id(g) for g in groups(program).values()}) == 1
    assert bytes_moved(program, groups(program)) == 7 * 4000 + 3 * 4


def test_the_bytes_and_the_memory_of_the_xor_step():
    program, *_ = training_step((2, 8, 1), 4, nn.Tanh)
    assert bytes_moved(program, {node: [node] for node in program.nodes}) == 10072
    assert bytes_moved(program, groups(program)) == 3120
    assert arena(program)[1] == 960


def test_a_memory_plan_has_no_overlap():
    program, *_ = training_step((2, 16, 16, 1), 10)
    offsets, size = arena(program)
    loops = Loops(program, PYTHON)
    time = {node: t for t, group in enumerate(loops.order) for node in group}
    lives = {}
    for x, offset in offsets.items():
        readers = [n for n in program.nodes for y in n.inputs
                   if isinstance(y, Node) and loops.array[y] is x]  # fmt: skip
        lives[x] = time[x], max(time[n] for n in readers), offset, offset + 4 * x.example.size
    assert size == max(end for *_, end in lives.values())
    for x, (first, last, start, end) in lives.items():
        for y, (begin, done, low, high) in lives.items():
            assert x is y or last < begin or done < first or end <= low or high <= start


def test_equal_programs_and_shared_steps():
    one, other = (trace(softmax, floats(2, 3, seed=n)) for n in (0, 1))
    assert same(one, other) and not same(one, trace(gelu, floats(2, 3)))
    program = trace(lambda x: x.exp() * x.exp(), floats(2))
    assert [len(p.nodes) for p in (program, share(program), program)] == [3, 2, 3]


def test_deep_programs_are_compiled():
    def deep(x):
        for _ in range(1500):
            x = x + 1
        return x

    program = optimized(trace(deep, floats(2)))
    assert np.allclose(function_of(*straight(program))(np.zeros(2, "float32"))[0], 1500)
    assert len({id(g) for g in groups(program).values()}) == 1


@pytest.mark.slow
def test_the_plan_of_a_gpt_is_as_small_as_possible():
    for training in (False, True):
        arrays = lifetimes(training)
        offsets, total = plan(arrays)
        ends = range(max(last for *_, last in arrays) + 1)
        least = max(sum(n for n, first, last in arrays if first <= t <= last) for t in ends)
        assert least <= total <= 1.1 * least
        owner = np.full(total // 4 + 1, -1)
        for time in ends:
            owner[:] = -1
            for i, ((size, first, last), offset) in enumerate(zip(arrays, offsets)):
                if first <= time <= last:
                    assert (owner[offset // 4 : (offset + size) // 4] == -1).all()
                    owner[offset // 4 : (offset + size) // 4] = i
        everything = sum(size for size, *_ in arrays)
        assert everything > (1.5 if training else 8) * total

"""What lesson 21's compiler gains, beside PyTorch's: python benchmarks/compilation.py

    [--only xor moons digits gpt] [--versions library NumPy C ...] [--rounds N] [--json]

    xor     a training step: 2-8-1, tanh, squared error, batch of 4, SGD
    moons   a training step: 2-16-16-1, tanh, squared error, batch of 100, SGD
    digits  a training step: 64-128-10, ReLU, squared error, batch of 32, SGD
    gpt     loss and gradients of a GPT: 3 blocks, width 128, 4 heads, 1,024 tokens in the
            vocabulary, 8 rows of 64 tokens

All in float32, on random numbers, with one thread. The versions:

    library         ours, eager; for gpt with operations composed of simple ones
    fused           gpt only: the library with the operations that were fused by hand
    NumPy           the program of `library` in straight lines
    C               the same with loops in C; for gpt its groups, while BLAS multiplies matrices
    torch           PyTorch, eager, as a user writes it
    torch.compile   the same with a compiled loss

Before it is timed, each version computes three steps, and its losses must be those of the library;
otherwise the program stops with 1. Compiling is not part of the times; how long it took is written
beside them. The versions take turns, in random order in each round, in one process. What is timed
is CPU time; the ratio is the library's time divided by the version's, as the 95 % interval of the
median over rounds. A version that cannot run here, such as C without a compiler, is listed with the
reason. For gpt the peak memory of one call is measured, too: of Python's and NumPy's memory, so
without PyTorch's, and without the scratch memory inside of C's loops.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

from engine import INSTALL, THREADS

os.environ |= THREADS  # before NumPy is imported
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import gpt as gpts  # noqa: E402
import numpy as np  # noqa: E402

from tinytorch import nn  # noqa: E402
from tinytorch.compiler.loops import function_of  # noqa: E402
from tinytorch.core.compilation import (  # noqa: E402
    compile_c,
    optimized,
    outline,
    straight,
    trace,
    value_and_gradients,
)
from tinytorch.core.losses import mse_loss  # noqa: E402
from tinytorch.core.profiling import peak_bytes, race, ratio_interval  # noqa: E402
from tinytorch.core.tensor import Tensor  # noqa: E402
from tinytorch.pictures.acceleration import LEVELS, compose, token_batch  # noqa: E402

# {name: (sizes of the layers, activation, rows of a batch, calls in a round)}
NETWORKS = {
    "xor": ((2, 8, 1), "Tanh", 4, 100),
    "moons": ((2, 16, 16, 1), "Tanh", 100, 50),
    "digits": ((64, 128, 10), "ReLU", 32, 50),
}
VERSIONS = ("library", "fused", "NumPy", "C", "torch", "torch.compile")
RATE, TOLERANCE = 0.1, 1e-4


class Network:
    """A small network: every version makes a function that does one SGD step and returns the loss.
    All begin with the same weights."""

    def __init__(self, name):
        sizes, self.activation, rows, self.calls = NETWORKS[name]
        rng = np.random.default_rng(0)
        self.x, self.y = (rng.normal(size=(rows, n)).astype("f") for n in (sizes[0], sizes[-1]))
        self.weights = [
            (rng.normal(size=(a, b)) / np.sqrt(a)).astype("f") for a, b in zip(sizes, sizes[1:])
        ]

    def model(self, layers, copy):
        """A Sequential of `layers` (our `nn` or PyTorch's) with these weights; biases are 0."""
        parts = []
        for w in self.weights:
            layer = layers.Linear(*w.shape)
            copy(layer, w)
            parts += [layer, getattr(layers, self.activation)()]
        return layers.Sequential(*parts[:-1])

    def our_model(self):
        def copy(layer, w):
            layer.weights.data[...], layer.bias.data[...] = w, 0

        return self.model(nn, copy)

    def eager(self):
        model, x, y = self.our_model(), Tensor(self.x), Tensor(self.y)

        def step():
            loss = mse_loss(model(x), y)
            model.zero_grad()
            loss.backward()
            for w in model.parameters():
                w.data -= RATE * w.grad
            return float(loss)

        return step

    def program(self, build):
        """The step as a program, run by `build(program)`."""
        model = self.our_model()
        weights = model.parameters()
        both = value_and_gradients(lambda x, y: mse_loss(model(x), y), weights)

        def sgd(x, y):
            loss, *gradients = both(x, y)
            return [loss, *[w.data - RATE * g for w, g in zip(weights, gradients)]]

        run = build(optimized(trace(sgd, self.x, self.y, weights=weights)))
        arrays = [w.data.copy() for w in weights]

        def step():
            loss, *arrays[:] = run(self.x, self.y, *arrays)
            return float(loss)

        return step

    def torch(self, compiled):
        import torch

        def copy(layer, w):
            layer.weight.data[...], layer.bias.data[...] = torch.from_numpy(w.T), 0

        model = self.model(torch.nn, copy)
        x, y = torch.from_numpy(self.x), torch.from_numpy(self.y)
        optimizer = torch.optim.SGD(model.parameters(), lr=RATE)

        def loss_of(x, y):
            return torch.nn.functional.mse_loss(model(x), y)

        loss_of = torch.compile(loss_of) if compiled else loss_of

        def step():
            optimizer.zero_grad()
            loss = loss_of(x, y)
            loss.backward()
            optimizer.step()
            return loss.item()

        return step


class Transformer:
    """The GPT: every version makes a function that computes loss and gradients, and returns the
    loss."""

    calls = 1

    def __init__(self):
        self.weights, self.heads = gpts.first_weights(1024, 64, 128, 3), 4
        self.x, self.y = token_batch(8, 0)

    def eager(self, level="composed"):
        model, loss_of = self.our_model(level)

        def step():
            model.zero_grad()
            loss = loss_of(model, self.x, self.y)
            loss.backward()
            return float(loss)

        return step

    def our_model(self, level):
        model, (kinds, loss_of) = gpts.tinytorch_model(self.weights, self.heads), LEVELS[level]
        compose(model, kinds)
        return model, loss_of

    def program(self, build):
        model, loss_of = self.our_model("composed")
        weights = model.parameters()
        both = value_and_gradients(lambda x, y: loss_of(model, x, y), weights)
        run = build(optimized(trace(both, self.x, self.y, weights=weights)))
        arrays = [w.data for w in weights]
        return lambda: float(run(self.x, self.y, *arrays)[0])

    def torch(self, compiled):
        import torch

        model = gpts.torch_model(self.weights, self.heads)
        x, y = torch.from_numpy(self.x), torch.from_numpy(self.y)

        def loss_of(x, y):
            return torch.nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())

        loss_of = torch.compile(loss_of) if compiled else loss_of

        def step():
            model.zero_grad()
            loss = loss_of(x, y)
            loss.backward()
            return loss.item()

        return step


def in_numpy(program):
    return function_of(*straight(program))


def in_c(program):
    """All in C where there are loops for all steps; else its groups."""
    try:
        return compile_c(program)
    except NotImplementedError:
        return in_numpy(outline(program))


def step_of(task, version):
    """A function that does one step of a workload."""
    if version in ("library", "fused"):
        return task.eager(*["all fused"] * (version == "fused"))
    if version in ("NumPy", "C"):
        return task.program(in_numpy if version == "NumPy" else in_c)
    import torch

    torch.set_num_threads(1)
    return task.torch(version == "torch.compile")


def measure(name, versions, rounds):
    """What is printed of one workload."""
    task = Transformer() if name == "gpt" else Network(name)
    steps, found, wanted = {}, {}, None
    for version in ["library", *(one for one in versions if one != "library")]:
        if version == "fused" and name != "gpt":
            continue
        start = time.perf_counter()
        try:
            step = step_of(task, version)
            losses = [step() for _ in range(3)]
        except ImportError:
            found[version] = {"missing": f"pip install {INSTALL['torch']}"}
            continue
        except Exception as error:  # no C compiler, or PyTorch's finds none: the others go on
            found[version] = {"missing": f"{type(error).__name__}: {error}".splitlines()[0]}
            continue
        found[version] = {"seconds_until_ready": time.perf_counter() - start}
        wanted = wanted or losses
        if not np.allclose(losses, wanted, TOLERANCE, 0):
            sys.exit(f"{name}: {version} has the losses {losses}, the library {wanted}")
        steps[version] = step

    def repeated(step):
        return lambda: [step() for _ in range(task.calls)]

    times = race({one: repeated(step) for one, step in steps.items()}, rounds, rng=0,
                 clock=time.process_time)  # fmt: skip
    for version, seconds in times.items():
        found[version]["microseconds"] = 1e6 * float(np.median(seconds)) / task.calls
        found[version]["ratio"] = list(ratio_interval(times["library"], seconds, rng=0))
        if name == "gpt" and not version.startswith("torch"):
            found[version]["peak_bytes"] = peak_bytes(steps[version])
    return {"name": name, "rounds": rounds, "versions": found}


def table(row):
    """A workload's measurements as lines."""
    lines = [row["name"]]
    for version, one in row["versions"].items():
        if "missing" in one:
            lines.append(f"    {version:14} {one['missing']}")
            continue
        low, high = one["ratio"]
        memory = f", peak {one['peak_bytes'] / 1e6:.0f} MB" if "peak_bytes" in one else ""
        lines.append(
            f"    {version:14}{one['microseconds']:11,.1f} us, {low:.2f} to {high:.2f} times as "
            f"fast as the library; ready after {one['seconds_until_ready']:.1f} s{memory}"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [*NETWORKS, "gpt"]
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--versions", nargs="+", choices=VERSIONS, default=VERSIONS)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    for name in options.only:
        rows.append(measure(name, options.versions, options.rounds))
        if not options.json:
            print(table(rows[-1]), flush=True)
    if options.json:
        print(json.dumps({"workloads": rows}, indent=2))


if __name__ == "__main__":
    main()

"""How long it takes to learn digits and a novel, beside PyTorch: python benchmarks/training.py

    [--epochs N] [--only mlp cnn gpt] [--threads N] [--turns N] [--json]

    mlp  64-512-10 with ReLU, 20 epochs
    cnn  conv 3x3x24, conv 3x3x48, 2x2 max pool, conv 3x3x48, linear 10, with ReLU, 10 epochs
    gpt  3 blocks of width 128, 4 heads, 1,024 byte pairs, 8 windows of 64 tokens, 3 epochs
         of 100 steps

The networks are those of the milestones without dropout, which draws differently in each library:
1,438 digits of 8x8 pixels in batches of 32, cross-entropy with label smoothing 0.1, AdamW with a
rate that falls by a cosine; for the GPT random windows of two novels, a rate that rises first,
gradients clipped to a norm of 1, and weight decay of matrices only. Both libraries begin with the
same weights and get the same batches in the same order. Ours trains through the `Trainer`, with all
its checks; PyTorch, eager on the CPU, through a plain loop.

Each trains in a process of its own, in turn with the other. Seconds are of the training alone, on
the wall, and of the processor (all threads); the ratio is ours divided by PyTorch's, of processor
seconds, and the median of the turns. "apart" is the largest difference of the two losses of a step,
relative to the loss: in the first epoch, and in all. The rounding of float32 differs, and training
magnifies it step by step; more than 1e-3 in the first epoch ends the program with 1. The accuracies
are of the 359 digits that are kept for the test; the GPT is scored in bits per character of the
first 10,000 characters of the text that is kept for it.
"""

import argparse
import importlib.util
import json
import math
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve()
EPOCHS = {"mlp": 20, "cnn": 10, "gpt": 3}
BATCH, RATE, DECAY, SMOOTHING = 32, 3e-3, 0.05, 0.1  # the rate is per step
GPT = {"vocabulary": 1024, "context": 64, "width": 128, "layers": 3}
HEADS, WINDOWS, STEPS = 4, 8, 100  # STEPS per epoch
GPT_RATE, GPT_DECAY, BETAS, SCORED = 1e-3, 0.1, (0.9, 0.99), 10_000  # characters
TOLERANCE = 1e-3  # of the losses of the first epoch
SCORES = {"gpt": "bits_per_character"}  # of the other networks: "accuracy"
LIBRARIES = ("tinytorch", "torch")


def data():
    """The pictures and classes to learn from, and those of the test."""
    from tinytorch.core.data import digits

    return *digits("train").arrays, *digits("test").arrays


def weights(network):
    """The first weights and biases, layer by layer: dense ones of shape (in, out),
    kernels of shape (out, in, height, width).
    """
    import numpy as np

    rng = np.random.default_rng(0)
    shapes = {
        "mlp": [(64, 512), (512, 10)],
        "cnn": [(24, 1, 3, 3), (48, 24, 3, 3), (48, 48, 3, 3), (768, 10)],
    }[network]
    found = []
    for shape in shapes:
        fan_in, out = (shape[0], shape[1]) if len(shape) == 2 else (math.prod(shape[1:]), shape[0])
        found.append(
            (
                (rng.normal(size=shape) * math.sqrt(2 / fan_in)).astype("f"),
                (0.1 * rng.normal(size=out)).astype("f"),
            )
        )
    return found


def orders(epochs, count):
    """For each epoch the numbers of the examples of each batch."""
    import numpy as np

    rng = np.random.default_rng(1)
    return [
        [order[at : at + BATCH] for at in range(0, count, BATCH)]
        for order in (rng.permutation(count) for _ in range(epochs))
    ]


def train_tinytorch(network, epochs):
    """(losses of all steps, wall seconds, processor seconds, test accuracy)."""
    from tinytorch import Tensor
    from tinytorch.nn import Conv2d, CrossEntropyLoss, Dense, Flatten, MaxPool2d, ReLU, Sequential
    from tinytorch.optim import AdamW, CosineAnnealingLR
    from tinytorch.training import Trainer, accuracy

    if network == "mlp":
        model = Sequential(Flatten(), Dense(64, 512), ReLU(), Dense(512, 10))
    else:
        model = Sequential(
            Conv2d(1, 24, 3, padding=1),
            ReLU(),
            Conv2d(24, 48, 3, padding=1),
            ReLU(),
            MaxPool2d(2),
            Conv2d(48, 48, 3, padding=1),
            ReLU(),
            Flatten(),
            Dense(768, 10),
        )
    layers = [layer for layer in model if hasattr(layer, "weights")]
    for layer, (w, b) in zip(layers, weights(network), strict=True):
        layer.weights.data[...], layer.bias.data[...] = w, b
    optimizer = AdamW(model.parameters(), lr=RATE, weight_decay=DECAY)
    trainer = Trainer(
        model,
        optimizer,
        CrossEntropyLoss(label_smoothing=SMOOTHING),
        schedule=CosineAnnealingLR(optimizer, epochs),
        show=False,
    )
    images, labels, test_images, truth = data()
    losses, begun, spent = [], time.perf_counter(), time.process_time()
    for epoch in orders(epochs, len(labels)):
        for chosen in epoch:
            ((record, _),) = trainer.step([(Tensor(images[chosen]), Tensor(labels[chosen]))])
            losses.append(record["loss"])
        trainer.schedule.step()
    seconds = time.perf_counter() - begun, time.process_time() - spent
    return losses, *seconds, accuracy(trainer.predict([Tensor(test_images)]), truth)


def train_torch(network, epochs):
    """The same with PyTorch."""
    import torch
    from torch import nn

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    if network == "mlp":
        model = nn.Sequential(nn.Flatten(), nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 10))
    else:
        model = nn.Sequential(
            nn.Conv2d(1, 24, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(24, 48, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(48, 48, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(768, 10),
        )
    layers = [layer for layer in model if hasattr(layer, "weight")]
    with torch.no_grad():
        for layer, (w, b) in zip(layers, weights(network), strict=True):
            layer.weight.copy_(torch.from_numpy(w.T.copy() if w.ndim == 2 else w))
            layer.bias.copy_(torch.from_numpy(b))
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    loss_of = nn.CrossEntropyLoss(label_smoothing=SMOOTHING)
    images, labels, test_images, truth = data()
    losses, begun, spent = [], time.perf_counter(), time.process_time()
    for epoch in orders(epochs, len(labels)):
        for chosen in epoch:
            optimizer.zero_grad()
            loss = loss_of(
                model(torch.from_numpy(images[chosen])), torch.from_numpy(labels[chosen])
            )
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        schedule.step()
    seconds = time.perf_counter() - begun, time.process_time() - spent
    with torch.no_grad():
        right = (model(torch.from_numpy(test_images)).argmax(1).numpy() == truth).mean()
    return losses, *seconds, float(right)


def novels():
    """The ids to learn from, those of the test, and how many characters each token stands for."""
    import numpy as np

    from tinytorch.core.tokenization import Tokenizer, train_bpe_fast
    from tinytorch.text import load_text

    train, test = load_text("train"), load_text("test")[:SCORED]
    tokenizer = Tokenizer(train_bpe_fast(train, GPT["vocabulary"]))
    lengths = np.array([len(tokenizer.token(id)) for id in range(GPT["vocabulary"])])  # ASCII
    return tokenizer.encode(train), tokenizer.encode(test), lengths


def windows(ids, epochs):
    """For each step the windows, and the same one token on, arrays (WINDOWS, context)."""
    import numpy as np

    rng = np.random.default_rng(1)
    for _ in range(epochs * STEPS):
        starts = rng.integers(0, len(ids) - GPT["context"], WINDOWS)
        at = starts[:, None] + np.arange(GPT["context"])
        yield ids[at], ids[at + 1]


def bits_per_character(logits, ids, lengths):
    """Of a text in windows that do not overlap; `logits` is a function of ids, and of arrays."""
    import numpy as np

    at = np.arange(0, len(ids) - GPT["context"] - 1, GPT["context"])[:, None]
    x, y = (ids[at + np.arange(GPT["context"]) + shift] for shift in (0, 1))
    scores = logits(x).astype(float)
    scores -= scores.max(-1, keepdims=True)
    nats = np.log(np.exp(scores).sum(-1)) - np.take_along_axis(scores, y[..., None], -1)[..., 0]
    return float(nats.sum() / lengths[y].sum() / math.log(2))


def factor(epochs):
    """What the learning rate of the GPT is multiplied by, a function of the step."""
    total = epochs * STEPS
    warmup = total // 20

    def at(step):
        if step < warmup:
            return (step + 1) / (warmup + 1)
        return 0.02 + 0.98 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup))) / 2

    return at


def train_gpt_tinytorch(network, epochs):
    """(losses of all steps, wall seconds, processor seconds, bits per character)."""
    from gpt import first_weights, tinytorch_model

    from tinytorch.core.transformers import decay_groups
    from tinytorch.nn import CrossEntropyLoss
    from tinytorch.optim import AdamW, LambdaLR
    from tinytorch.training import Trainer

    ids, test, lengths = novels()
    model = tinytorch_model(first_weights(**GPT), HEADS)
    optimizer = AdamW(decay_groups(model, GPT_DECAY), lr=GPT_RATE, betas=BETAS)
    trainer = Trainer(
        model,
        optimizer,
        CrossEntropyLoss(),
        schedule=LambdaLR(optimizer, factor(epochs)),
        per="step",
        max_norm=1.0,
        show=False,
    )
    losses, begun, spent = [], time.perf_counter(), time.process_time()
    for batch in windows(ids, epochs):
        ((record, _),) = trainer.step([batch])
        losses.append(record["loss"])
    seconds = time.perf_counter() - begun, time.process_time() - spent
    return losses, *seconds, bits_per_character(trainer.predict, test, lengths)


def train_gpt_torch(network, epochs):
    """The same with PyTorch."""
    import torch
    from gpt import first_weights, torch_groups, torch_model

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    ids, test, lengths = novels()
    weights = first_weights(**GPT)
    model = torch_model(weights, HEADS)
    groups = torch_groups(model, weights, GPT_DECAY)
    optimizer = torch.optim.AdamW(groups, lr=GPT_RATE, betas=BETAS)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor(epochs))
    losses, begun, spent = [], time.perf_counter(), time.process_time()
    for x, y in windows(ids, epochs):
        optimizer.zero_grad()
        logits = model(torch.from_numpy(x))
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), torch.from_numpy(y).flatten()
        )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(float(loss.detach()))
    seconds = time.perf_counter() - begun, time.process_time() - spent
    with torch.no_grad():
        bits = bits_per_character(lambda x: model(torch.from_numpy(x)).numpy(), test, lengths)
    return losses, *seconds, bits


def trained(library, network, epochs, threads):
    """What a process of its own measured: {"losses", "seconds", "cpu_seconds"}, and "accuracy" or
    "bits_per_character"."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    environment |= {f"{name}_NUM_THREADS": str(threads) for name in ("OMP", "OPENBLAS", "MKL")} | {
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(HERE.parents[1]), os.environ.get("PYTHONPATH")])
        )
    }
    done = subprocess.run(
        [sys.executable, HERE, "--work", library, network, str(epochs)],
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{library} could not train the {network}:\n{done.stderr.strip()}")
    return json.loads(done.stdout)


def compared(network, epochs, threads, turns):
    """The measurements of one network, as `--json` prints them."""
    runs = {library: [] for library in LIBRARIES}
    for _ in range(turns):
        for library in LIBRARIES:
            runs[library].append(trained(library, network, epochs, threads))
    ours, theirs = (runs[library][0]["losses"] for library in LIBRARIES)
    apart = [abs(a - b) / abs(b) for a, b in zip(ours, theirs, strict=True)]
    first = max(apart[: len(apart) // epochs])
    return {
        "network": network,
        "epochs": epochs,
        "steps": len(apart),
        "apart_first_epoch": first,
        "apart": max(apart),
        "ok": first <= TOLERANCE,
        "ratio": statistics.median(
            a["cpu_seconds"] / b["cpu_seconds"] for a, b in zip(*runs.values())
        ),
        **{
            library: {
                key: statistics.median(run[key] for run in found)
                for key in ("seconds", "cpu_seconds", SCORES.get(network, "accuracy"))
            }
            | {"last_loss": found[0]["losses"][-1]}
            for library, found in runs.items()
        },
    }


def score_of(found):
    """The score of a library as text."""
    if "accuracy" in found:
        return f"test accuracy {found['accuracy']:.2%}"
    return f"{found['bits_per_character']:.3f} bits per character"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--only", nargs="+", choices=list(EPOCHS), default=list(EPOCHS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        library, network, epochs = asked.work
        work = {
            ("gpt", "tinytorch"): train_gpt_tinytorch,
            ("gpt", "torch"): train_gpt_torch,
        }.get((network, library), {"tinytorch": train_tinytorch, "torch": train_torch}[library])
        losses, seconds, cpu_seconds, score = work(network, int(epochs))
        print(
            json.dumps(
                {
                    "losses": losses,
                    "seconds": seconds,
                    "cpu_seconds": cpu_seconds,
                    SCORES.get(network, "accuracy"): score,
                }
            )
        )
        return
    if not importlib.util.find_spec("torch"):
        raise SystemExit("PyTorch is not installed: pip install torch==2.13.0")
    found = [
        compared(network, asked.epochs or EPOCHS[network], asked.threads, asked.turns)
        for network in asked.only
    ]
    if asked.json:
        print(json.dumps(found, indent=1))
    else:
        for one in found:
            print(
                f"{one['network']}, {one['epochs']} epochs of {one['steps'] // one['epochs']} steps"
                f", threads: {asked.threads}"
            )
            for library in LIBRARIES:
                x = one[library]
                print(
                    f"  {library:10} {x['seconds']:7.2f} s on the wall,"
                    f" {x['cpu_seconds']:7.2f} s of the processor,"
                    f" {score_of(x)}, last loss {x['last_loss']:.5f}"
                )
            print(
                f"  ratio {one['ratio']:.2f};  losses apart: {one['apart_first_epoch']:.1e}"
                f" in the first epoch, {one['apart']:.1e} in all"
            )
    if not all(one["ok"] for one in found):
        raise SystemExit(1)


if __name__ == "__main__":
    main()

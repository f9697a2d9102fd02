"""2018: networks in small integers.

In this year Google described how its phones run networks with 8-bit integers. Five years later
GPTQ rounded large language models to 4 and 3 bits. Here are three networks in 8, 4 and 3 bits:
the dense network and the convolutional network of the digits milestones, trained again, and the
GPT of `tito milestone run gpt`, with the weights that it has saved. Without them the GPT is
trained first, for 3,000 steps, which takes minutes. All sizes count every byte that is stored,
scales and biases too.

While the digits have one scale per column, the GPT has scales for groups of 32 weights, and its
table of embeddings and its positions have 8 bits. It is rounded to the nearest integers, and by
GPTQ, which is calibrated on the text that the GPT was trained on. A third variant gives each
layer the bits that it needs: 6 for the tables, 5 for the first block, and 3 for all others.
"""

# /// milestone
# title = "Networks in 4-bit integers"
# needs = [
#     "tensor", "activations", "layers", "losses", "autograd", "optimizers", "training", "data",
#     "convolutions", "normalization", "tokenization", "embeddings", "attention",
#     "transformers", "quantization",
# ]
# seconds = 3600
# after = "gpt"
# alt = """Bits per character that the GPT loses, on a logarithmic axis, against real bits per \
#     weight. Three curves fall from the left to the right: rounding to the nearest integer, \
#     below it GPTQ, and lowest GPTQ with bits by layer."""
# [goal]
# "digits in 4 bits: size divided by" = 6.0
# "GPT in 4 bits: size divided by" = 5.5
# [at_most]
# "digits in 4 bits: accuracy lost" = 0.02
# "GPT in 4 bits: bits per character lost" = 0.01
# "GPT in 3 bits: bits per character lost" = 0.04
# ///

import importlib
from pathlib import Path

import numpy as np
from gpt_training import BITS, Settings, kept_seed, place, sample_lines, train

from tinytorch.core.data import digits
from tinytorch.core.layers import manual_seed
from tinytorch.core.quantization import quantizable, quantize_model, size_of
from tinytorch.core.tensor import Tensor
from tinytorch.core.training import accuracy, predict
from tinytorch.core.transformers import held_out_bits, text_batch
from tinytorch.pictures.quantization import draw_tradeoff, milliseconds

TABLES = ("embedding", "positions")
GROUP = 32
WINDOWS = 64  # of the training text, for calibration


def digit_networks(seed):
    """The networks of milestones 03 and 04, trained on all training digits: {name: model}."""
    print("The dense and the convolutional network are trained first.", flush=True)
    dense = importlib.import_module("03_1989_digits_mlp")
    convolutional = importlib.import_module("04_1998_digits_cnn")
    manual_seed(seed)
    training = digits("train")
    return {
        "dense": dense.train(0.5, training, dense.EPOCHS).model,
        "convolutional": convolutional.train(True, training, convolutional.EPOCHS).model,
    }


def wilson(share, n):
    """The interval that contains the true share with a probability of 95 %, by Wilson."""
    middle, width = share + 1.92 / n, 1.96 * np.sqrt(share * (1 - share) / n + 0.96 / n**2)
    return (middle - width) / (1 + 3.84 / n), (middle + width) / (1 + 3.84 / n)


def compare_digits(networks):
    """Print the accuracy of each network in 32, 8, 4 and 3 bits.

    returns  (the largest loss of accuracy at 4 bits, the smallest factor of size at 4 bits)
    """
    images, labels = digits("test").arrays
    losses, factors = [], []
    for name, model in networks.items():
        print(f"\nThe {name} network, {len(labels)} test digits:")
        exact, size = None, size_of(model)
        for bits in (32, 8, 4, 3):
            small = model if bits == 32 else quantize_model(model, bits)
            right = accuracy(predict(small, Tensor(images)), labels)
            exact = right if exact is None else exact
            low, high = wilson(right, len(labels))
            print(
                f"  {bits:2} bits  {size_of(small):8,} bytes, {size / size_of(small):4.1f} "
                f"times as small  {right:.1%} right (95 %: {low:.1%} to {high:.1%})",
                flush=True,
            )
            if bits == 4:
                losses.append(exact - right)
                factors.append(size / size_of(small))
    return max(losses), min(factors)


def by_layer(model, calibration):
    """A GPT with the bits that each layer needs: 6 for tables, 5 for block 0, 3 for others."""
    for bits, prefixes in ((6, TABLES), (5, ("blocks.0.",)), (3, ("",))):
        others = [path for path in quantizable(model) if not path.startswith(prefixes)]
        model = quantize_model(model, bits, calibration, skip=others, group=GROUP)
    return model


def versions(model, calibration):
    """Yields the curve, the bits and a quantized GPT for each variant."""
    for bits in (8, 4, 3, 2):
        for curve, inputs in (("rounding", None), ("GPTQ", calibration)):
            if bits < 8 or inputs is None:
                small = quantize_model(model, bits, inputs, skip=TABLES, group=GROUP)
                yield curve, bits, quantize_model(small, 8)
    yield "GPTQ, bits by layer", 0, by_layer(model, calibration)


def compare_gpts(model, text, seed):
    """Print what each quantized GPT loses on the held-out text.

    returns  {(curve, bits): (quantized GPT, real bits per weight, bits per character lost)}
    """
    rng = np.random.default_rng(seed)
    calibration, _ = text_batch(text.train_ids, WINDOWS, model.context, rng)
    exact = held_out_bits(model, text.test_ids, text.characters)
    parameters, size = sum(p.size for p in model.parameters()), size_of(model)
    print(f"\nThe GPT: {parameters:,} weights, {size:,} bytes, {exact:.4f} bits per character:")
    found = {}
    for curve, bits, small in versions(model, calibration):
        lost = held_out_bits(small, text.test_ids, text.characters) - exact
        real = 8 * size_of(small) / parameters
        name = f"{curve}, {bits} bits" if bits else curve
        print(
            f"  {name:20}{size_of(small):10,} bytes, {size / size_of(small):4.1f} times as "
            f"small  {real:5.2f} real bits per weight  {lost:7.4f} lost",
            flush=True,
        )
        found[curve, bits] = small, real, lost
    return found


def the_gpt(seed):
    """The GPT of 2018 in evaluation mode, and its Corpus."""
    path, settings = place("05_2018_gpt"), Settings()
    if not path.exists():
        print(
            f"\nNo GPT was saved by `tito milestone run gpt`, so one is trained now, with "
            f"{settings.epochs * settings.steps:,} steps. This takes minutes. If you stop it, "
            "the next run continues.",
            flush=True,
        )
    trainer, text = train(settings, path, kept_seed(path), report, again=False)
    return trainer.model.eval(), text


def report(trainer, text):
    """Print how far the GPT has learned, if it has to be trained first."""
    step = trainer.epoch * trainer.batches.settings.steps
    print(f"step {step:,}: {trainer.history[BITS][-1]:.3f} bits (on a sample)", flush=True)


def run(seed=0):
    """Quantize three networks; returns (measured, figure)."""
    accuracy_lost, factor = compare_digits(digit_networks(seed))
    model, text = the_gpt(seed)
    found = compare_gpts(model, text, seed)
    small = found["GPTQ", 4][0]

    for name, gpt in (("float32", model), ("4 bits", small)):
        print(f"\n{name}:")
        for line in sample_lines(gpt, text.tokenizer, 3, 30, np.random.default_rng(seed)):
            print(f"  {line}")
    window = text.test_ids[None, : model.context]
    before, after = milliseconds([lambda: model(window), lambda: small(window)])
    print(
        f"\nA window of {model.context} tokens takes {before:.1f} ms in float32 and "
        f"{after:.1f} ms in 4 bits, {after / before:.1f} times as long: the weights are "
        "unpacked and dequantized for each product.",
        flush=True,
    )
    curves = {}
    for (curve, _), (_, real, lost) in found.items():
        curves.setdefault(curve, []).append((real, lost))
    measured = {
        "digits in 4 bits: size divided by": factor,
        "digits in 4 bits: accuracy lost": accuracy_lost,
        "GPT in 4 bits: size divided by": size_of(model) / size_of(small),
        "GPT in 4 bits: bits per character lost": found["GPTQ", 4][2],
        "GPT in 3 bits: bits per character lost": found["GPTQ", 3][2],
    }
    return measured, draw_tradeoff(curves)


if __name__ == "__main__":
    measured, figure = run()
    print(measured)
    figure.savefig(Path(__file__).with_suffix(".png"))

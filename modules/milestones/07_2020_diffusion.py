"""2020: digits from noise, by a diffusion model.

In this year Jonathan Ho, Ajay Jain and Pieter Abbeel drew faces and bedrooms that looked like
photographs with a diffusion model. Programs that draw a picture from a description were later
built in this way. The idea: mix a digit with more and more noise, in 100 steps, until only
noise is left, and train a network to predict the clean digit from a noisy one. To draw, start
with noise alone, let the network predict a digit, remove a little of the noise, and repeat this
100 times.

The program contains the two algorithms of their paper. Three things are different: the network
has dense layers only; it also receives the class that the digit should have; and it predicts
the digit, where theirs predicted the noise (each can be computed from the other).

Then 1,000 samples are judged, 100 of each class, in three ways. The classifier of 1989, which
is trained again, should read them as the requested class. Their distance to the nearest
training digit should be about that of test digits, which are real digits that were not used for
training: a copy of a training digit has distance 0, while a noisy image is far from all of
them. The third measure is the variety, the mean distance between two samples of the same class.
It is needed because a blurred average of the class passes both tests. The same measures are
printed for simpler ways to draw.
"""

# /// milestone
# title = "A diffusion model draws digits from noise"
# needs = [
#     "tensor", "activations", "layers", "losses", "autograd", "optimizers", "training", "data",
# ]
# seconds = 600
# alt = """Ten rows, one for each digit. The first column is noise. To the right a digit \
#     appears, first as a shadow, and is sharp in the last column. Below, curves of distances \
#     to the nearest training digit: the samples' and the test digits' largely overlap, those \
#     of class means with noise are farther to the right."""
# [goal]
# "samples of the requested class" = 0.995
# "variety relative to test digits" = 0.7
# [at_most]
# "relative difference of the distance to training digits" = 0.25
# ///

import importlib
from pathlib import Path

import numpy as np
from diffusion_pictures import as_text, draw_diffusion

from tinytorch.core.activations import gelu
from tinytorch.core.data import digits, one_hot
from tinytorch.core.layers import Dense, Module, he_normal, manual_seed
from tinytorch.core.losses import mse_loss
from tinytorch.core.optimizers import Adam, CosineAnnealingLR
from tinytorch.core.tensor import Tensor
from tinytorch.core.training import accuracy, evaluation_mode, predict

BETAS = np.linspace(0.001, 0.2, 100)  # the variance of the noise that each step adds
ALPHAS = 1 - BETAS  # the share of the variance before the step that it leaves
KEPT = np.cumprod(ALPHAS)  # alpha bar: the digit's share after this step and all before it
WAVES = np.pi * 2.0 ** np.arange(6)  # frequencies that tell the network which step it is
STEPS, BATCH = 9000, 64
SHOWN = (300, 1000, 3000, 9000)  # training steps after which samples are printed
SAMPLES = 1000


class Denoiser(Module):
    """Predicts clean digits from noisy ones, arrays (n, 64), values from -1 to 1.

    steps   array (n,): which of the 100 steps made each of them noisy
    labels  array (n,): the class of each
    """

    def __init__(self, hidden=256):
        self.first = Dense(64 + 2 * len(WAVES) + 10, hidden, init=he_normal)
        self.inner = [Dense(hidden, hidden, init=he_normal) for _ in range(2)]
        self.last = Dense(hidden, 64)

    def forward(self, noisy, steps, labels):
        angles = (steps[:, None] + 1) / len(BETAS) * WAVES
        parts = [noisy, np.sin(angles), np.cos(angles), one_hot(labels, 10).data]
        x = gelu(self.first(Tensor(np.concatenate(parts, axis=1).astype(np.float32))))
        for layer in self.inner:
            x = x + gelu(layer(x))
        return self.last(x)


def train(images, labels, rng, steps=STEPS):
    """Algorithm 1: train a network on digits with random amounts of noise; returns it.

    The squared error of the digit is divided by the standard deviation of the noise, so errors
    count more where there is little noise. The paper's loss is the squared error of the noise,
    which is the squared error of the digit times kept / (1 - kept). This factor grows much
    faster, and our dense layers then draw worse digits.
    """
    model, losses = Denoiser(), []
    optimizer = Adam(model.parameters(), lr=4e-3)
    schedule = CosineAnnealingLR(optimizer, steps)
    for step in range(1, steps + 1):
        chosen = rng.integers(len(images), size=BATCH)
        t = rng.integers(len(BETAS), size=BATCH)
        kept, noise = KEPT[t][:, None], rng.standard_normal((BATCH, 64))
        noisy = np.sqrt(kept) * images[chosen] + np.sqrt(1 - kept) * noise
        weight = ((1 - kept) ** -0.25).astype(np.float32)  # will be squared
        predicted = model(noisy, t, labels[chosen])
        loss = mse_loss(predicted * Tensor(weight), Tensor(images[chosen] * weight))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if step in SHOWN:
            print(f"\nstep {step:,} of {steps:,}: loss {np.mean(losses[-200:]):.3f}")
            print(as_text(sample(model, np.arange(10), rng)[-1]), flush=True)
    return model


def sample(model, labels, rng):
    """Algorithm 2: turn noise into digits of these classes.

    returns  list of 101 arrays (n, 64): the noise, and what is left after each step
    """
    states = [rng.standard_normal((len(labels), 64))]
    with evaluation_mode(model):
        for t in reversed(range(len(BETAS))):
            x, kept = states[-1], KEPT[t]
            digit = np.clip(model(x, np.full(len(labels), t), labels).data, -1, 1)
            noise = (x - np.sqrt(kept) * digit) / np.sqrt(1 - kept)
            x = (x - BETAS[t] / np.sqrt(1 - kept) * noise) / np.sqrt(ALPHAS[t])
            if t > 0:  # some new noise, less than was removed
                variance = BETAS[t] * (1 - KEPT[t - 1]) / (1 - kept)
                x += np.sqrt(variance) * rng.standard_normal(x.shape)
            states.append(x)
    return states


def distances(images, others):
    """Euclidean distances, array (images, others), between digits with pixels from 0 to 1."""
    images, others = np.float64(images), np.float64(others)  # or equal ones are 0.0004 apart
    squares = (images**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2 * images @ others.T
    return np.sqrt(np.maximum(squares, 0)) / 2  # rounding makes some negative


def variety(images, labels):
    """The mean distance between two digits of the same class."""
    pairs = labels[:, None] == labels
    np.fill_diagonal(pairs, False)
    return distances(images, images)[pairs].mean()


def simpler_ways(model, training, labels, wanted, rng):
    """{name: digits of the requested classes}, drawn without the loop of algorithm 2."""
    classes = [training[labels == digit] for digit in range(10)]
    means, stds = (np.array([f(x, axis=0) for x in classes]) for f in (np.mean, np.std))
    noise, last = rng.standard_normal((len(wanted), 64)), np.full(len(wanted), len(BETAS) - 1)
    with evaluation_mode(model):
        once = model(noise, last, wanted).data
    return {
        "copies of training digits": np.array([rng.choice(classes[k]) for k in wanted]),
        "class means": means[wanted],
        "class means with noise": np.clip(means[wanted] + stds[wanted] * noise, -1, 1),
        "one step of denoising": once,
    }


def judge(images, labels, training, classifier):
    """The share that a classifier reads as the class in `labels`, the distance of each to the
    nearest training digit, and the variety."""
    pixels = Tensor(((images + 1) / 2).reshape(-1, 1, 8, 8).astype(np.float32))
    right = accuracy(predict(classifier, pixels), labels)
    return right, distances(images, training).min(axis=1), variety(images, labels)


def run(seed=0):
    """Draw digits and judge them; returns (measured, figure)."""
    manual_seed(seed)
    rng, wanted = np.random.default_rng(seed), np.arange(SAMPLES) % 10
    training, test = digits("train"), digits("test")
    images, labels = training.arrays[0].reshape(-1, 64) * 2 - 1, training.arrays[1]
    model = train(images, labels, rng)
    states = sample(model, wanted, rng)
    drawn = {"test digits": test.arrays[0].reshape(-1, 64) * 2 - 1, "samples": states[-1]}
    drawn |= simpler_ways(model, images, labels, wanted, rng)

    print("\nThe classifier of 1989 learns:")
    dense = importlib.import_module("03_1989_digits_mlp")
    classifier = dense.train(0.5, training, dense.EPOCHS).model
    print(f"\n{'':27}right class  distance to training digits  variety")
    found, near = {}, {}
    for name, digit in drawn.items():
        classes = test.arrays[1] if name == "test digits" else wanted
        right, near[name], varied = judge(digit, classes, images, classifier)
        found[name] = right, near[name].mean(), varied
        print(f"{name:27}{right:11.1%}{found[name][1]:29.2f}{varied:9.2f}", flush=True)
    (right, distance, varied), (_, real, real_variety) = found["samples"], found["test digits"]
    measured = {
        "samples of the requested class": right,
        "relative difference of the distance to training digits": abs(distance / real - 1),
        "variety relative to test digits": varied / real_variety,
    }
    shown = {name: near[name] for name in ("test digits", "samples", "class means with noise")}
    return measured, draw_diffusion([state[:10] for state in states], shown)


if __name__ == "__main__":
    measured, figure = run()
    print(measured)
    figure.savefig(Path(__file__).with_suffix(".png"))

"""2022: a network is opened, and the circuit that it has learned is found.

Language models continue patterns that occur only in their context. In December 2021,
researchers described the parts that do it: induction heads, which look for an earlier copy of
the current token and read what followed it. Such a head needs a second one, in an earlier
layer, that tells each position which token was before it. In 2022 they showed that the heads
form together, in a short phase of the training.

Here, attention-only networks learn to continue random tokens that repeat. The program trains
three of them with two layers, from different seeds, and one with a single layer, which cannot
form the circuit. Activation patching shows which vectors are enough for the right answer:
one vector at a time is copied from a run with this answer into a run with a wrong one. Then the
program trains two layers with a higher learning rate, which reach nearly the same loss by
another circuit. Which one? The question interpretability-which-circuit of lesson 18 asks it.
"""

# /// milestone
# title = "The circuit of an induction head is found"
# needs = [
#     "tensor", "activations", "layers", "losses", "autograd", "optimizers", "training",
#     "normalization", "embeddings", "attention", "transformers", "interpretability",
# ]
# seconds = 600
# alt = """The loss over the training steps: three networks with two layers follow one with a \
#     single layer for a while, then fall to almost 0; the single layer does not. Below, a \
#     patch map of 3 rows and 30 columns, in which three cells are dark, at positions 9, 10 \
#     and 29."""
# [goal]
# "induction score" = 0.9
# "path 9, 10, last" = 0.95
# "loss of one layer" = 2.0
# [at_most]
# "loss of two layers" = 0.1
# "any other cell" = 0.3
# ///

from pathlib import Path

import numpy as np
from circuits_pictures import draw_circuits
from saved import place

from tinytorch.core.interpretability import (
    AttentionOnly,
    induction_score,
    next_token_loss,
    patch,
    patterns,
    repeat_targets,
    repeated,
)
from tinytorch.core.layers import manual_seed
from tinytorch.core.optimizers import Adam, clip_grad_norm_
from tinytorch.core.training import evaluation_mode
from tinytorch.support.checkpoints import save_state

VOCABULARY, LENGTH, PERIODS = 64, 48, (12, 24)
STEPS, SINGLE = 600, 1200  # at most, for two layers and for one
ENOUGH = 0.01  # the mean loss of ten steps at which the training ends
SEEDS = 3
LAST, CHANGED, ANSWER = 29, 9, 10  # positions: of the prediction, the changed token, the answer


def network(layers=2):
    return AttentionOnly(VOCABULARY, LENGTH - 1, 64, layers, num_heads=2)


def train(seed, layers=2, lr=3e-3, steps=STEPS):
    """Train a network on tokens that repeat; returns it and the losses of its steps."""
    manual_seed(seed)
    rng, model = np.random.default_rng(seed), network(layers)
    optimizer, losses = Adam(model.parameters(), lr=lr), []
    while len(losses) < steps and not (len(losses) >= 10 and np.mean(losses[-10:]) < ENOUGH):
        ids, period = repeated(rng, 32, LENGTH, VOCABULARY, *PERIODS)
        loss = next_token_loss(model, *repeat_targets(ids, period))
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return model, losses


def measure(model, seed):
    """The loss on new sequences, and the highest induction score of a head in any layer."""
    ids, period = repeated(np.random.default_rng([seed, 1]), 64, LENGTH, VOCABULARY, *PERIODS)
    x, y = repeat_targets(ids, period)
    with evaluation_mode(model):
        nats = next_token_loss(model, x, y).item()
    return nats, max(induction_score(P, x).max() for P in patterns(model, x))


def patch_map(model, seed, pairs=8):
    """How much of the right prediction comes back: array of shape (3, 30).

    The clean input is 20 different tokens and the first ten again, and in the corrupt one the
    token at position 9 is another. A row for each stream: before layer 0, after layer 0, after
    layer 1.
    """
    rng = np.random.default_rng([seed, 2])
    tokens = np.array([rng.permutation(VOCABULARY)[:21] for _ in range(pairs)])
    clean = np.concatenate([tokens[:, :20], tokens[:, :10]], axis=1)
    corrupt = clean.copy()
    corrupt[:, CHANGED] = tokens[:, 20]

    def probability(logits):
        powers = np.exp(logits[:, -1] - logits[:, -1].max(axis=-1, keepdims=True))
        return float((powers[range(pairs), clean[:, ANSWER]] / powers.sum(axis=-1)).mean())

    first = patch(model, clean, corrupt, probability, "blocks.{}.input")[:1]
    return np.concatenate([first, patch(model, clean, corrupt, probability)])


def run(seed=0):
    """Find the circuit in three networks; returns (measured, figure)."""
    curves, losses, scores, maps = {}, [], [], []
    for n in range(seed, seed + SEEDS):
        model, curve = train(n)
        loss, score = measure(model, n)
        if n == seed:
            save_state(place("circuits"), model.state_dict())
        curves[f"two layers, seed {n}"] = curve
        losses.append(loss)
        scores.append(score)
        maps.append(patch_map(model, n))
        print(
            f"seed {n}: loss {loss:.3f} after {len(curve)} steps, induction score {score:.2f}",
            flush=True,
        )
    single, curve = train(seed, layers=1, steps=SINGLE)
    curves["one layer"] = curve[:STEPS]
    alone, _ = measure(single, seed)
    print(f"one layer: loss {alone:.2f} after {len(curve)} steps", flush=True)
    other, curve = train(seed, lr=1e-2)
    loss, score = measure(other, seed)
    print(
        f"learning rate 1e-2: loss {loss:.3f} after {len(curve)} steps, induction score "
        f"{score:.2f}: another circuit.\nWhich one? Answer this in the question "
        "interpretability-which-circuit, at the end of lesson 18."
    )
    path = np.zeros((3, LAST + 1), bool)
    path[[0, 1, 2], [CHANGED, ANSWER, LAST]] = True
    measured = {
        "induction score": float(min(scores)),
        "path 9, 10, last": float(min(found[path].min() for found in maps)),
        "any other cell": float(max(abs(found[~path]).max() for found in maps)),
        "loss of two layers": float(max(losses)),
        "loss of one layer": float(alone),
    }
    return measured, draw_circuits(curves, maps[0])


if __name__ == "__main__":
    measured, figure = run()
    print(measured)
    figure.savefig(Path(__file__).with_suffix(".png"))

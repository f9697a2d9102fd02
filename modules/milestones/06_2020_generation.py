"""2020: text, token by token, from a model that computes nothing twice.

In this year the public could first use GPT-3, and every token of its answers took one pass
through the whole model. Here the GPT of 2018 writes 256 tokens in three ways: naively, with the
whole text as input for each new token; with a key-value cache, so that only the new token is
computed; and speculatively: n-grams guess some tokens ahead, and the GPT accepts or replaces
them. The first two ways must give the same text, and the third must draw from the same
distribution.

The program uses the weights of `tito milestone run gpt`; without them it trains that model
first. That model has only 64 positions, too few for a text of 256 tokens. So its positions are
repeated, and the model is trained on long windows for a hundred more steps.
"""

# /// milestone
# title = "A GPT writes with a cache, and speculates"
# needs = [
#     "tensor", "activations", "layers", "losses", "autograd", "optimizers", "training",
#     "normalization", "tokenization", "embeddings", "attention", "transformers", "generation",
# ]
# seconds = 3600
# after = "gpt"
# alt = """Milliseconds for one token against its position: without a cache they grow with the \
#     text, with a cache they hardly do. Below, tokens per second as bars with intervals: few \
#     without a cache, several times as many with one, and a third bar for speculative \
#     decoding."""
# [goal]
# "same tokens with and without cache" = 1.0
# "cached, times as fast" = 3.0
# [at_most]
# "distance of the speculative distribution" = 1e-6
# ///

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from generation_pictures import draw_speed
from gpt_training import BITS, Settings, kept_seed, place, train

from tinytorch.core.embeddings import NGram
from tinytorch.core.generation import KVCache, accept, generate, speculative
from tinytorch.core.training import evaluation_mode

TOKENS, CONTEXT = 256, 320
ROUNDS = 9
EVERY = 32  # tokens between two measurements of the time for one token
PROMPT = '"My dear Emma," said Mr. Knightley, "'


def long_gpt(seed):
    """The GPT of 2018 with a context of 320 tokens; returns (model, Corpus)."""

    def report(trainer, text):
        print(
            f"step {trainer.epoch * trainer.batches.settings.steps:,}: "
            f"{trainer.history[BITS][-1]:.3f} bits per character",
            flush=True,
        )

    settings, path = Settings(), place("05_2018_gpt")
    trainer, _ = train(settings, path, kept_seed(path), report, again=False)
    weights = trainer.model.state_dict()
    table = weights["positions.weight"]
    weights["positions.weight"] = np.tile(table, (CONTEXT // len(table), 1))
    longer = replace(settings, context=CONTEXT, batch=2, epochs=1, lr=settings.lr / 3)
    print(f"{len(table)} positions become {CONTEXT}:", flush=True)
    trainer, text = train(longer, None, seed, report, start=weights)
    return trainer.model.eval(), text


class Grid(np.random.Generator):
    """A generator that returns given draws: each is the middle of one of `n` equal intervals.

    script   list of ints below n, one for each draw; a 0 is added for each draw beyond its end
    """

    def __init__(self, script, n):
        super().__init__(np.random.PCG64(0))
        self.script, self.n, self.draws = script, n, 0

    def random(self, size=None):
        if size is not None:
            return np.reshape([self.random() for _ in range(np.prod(size))], size)
        self.script += [0] * (self.draws == len(self.script))
        self.draws += 1
        return (self.script[self.draws - 1] + 0.5) / self.n

    def uniform(self, low=0.0, high=1.0, size=None):
        return low + (high - low) * self.random(size)

    def choice(self, a, size=None, p=None):
        total = np.cumsum(np.full(a, 1 / a) if p is None else p)
        return np.searchsorted(total, self.random(size) * total[-1])


def distribution(draw, vocab_size, n):
    """The distribution of draw(rng), a token, by enumeration: each number that it draws takes
    each of n values. It is exact if all probabilities are multiples of 1 / n.
    """
    found, script = np.zeros(vocab_size), []
    while True:
        rng = Grid(script, n)
        token = draw(rng)
        found[token] += n ** -float(rng.draws)
        del script[rng.draws :]
        while script and script[-1] == n - 1:
            script.pop()
        if not script:
            return found
        script[-1] += 1


def speculative_distance():
    """The largest distance between the distribution of the tokens from `accept` and the large
    model's distribution p, for three pairs of p and q: half of the sum of all differences.
    """
    distances = []
    for p, q in [
        ([0.5, 0.4, 0.1], [0.3, 0.2, 0.5]),
        ([0.6, 0.3, 0.1], [0.2, 0.3, 0.5]),
        ([0.0, 1.0, 0.0], [0.5, 0.0, 0.5]),
    ]:

        def draw(rng, p=np.array(p), q=np.array(q)):
            return accept(p, q, int(rng.choice(3, p=q)), rng)[1]

        distances.append(np.abs(distribution(draw, 3, 10) - p).sum() / 2)
    return float(max(distances))


def race(ways, rounds, rng):
    """{name: CPU seconds of each round}; each round calls every way once, in random order."""
    seconds = {name: [] for name in ways}
    for _ in range(rounds):
        for name in rng.permutation(list(ways)):
            began = time.process_time()
            ways[name]()
            seconds[name].append(time.process_time() - began)
    return seconds


def interval(values):
    """The median of nine or more values, and an interval that contains the true median with a
    probability of 95 %. The binomial distribution determines which values are its ends.
    """
    values, cut = np.sort(values), int((len(values) - 1.96 * len(values) ** 0.5) / 2)
    return float(np.median(values)), float(values[cut]), float(values[-1 - cut])


def milliseconds(model, ids):
    """CPU milliseconds for one more token after the first n of `ids`: (list of n, without a
    cache, with one), each the median of five."""
    lengths, naive, cached = [*range(EVERY, ids.shape[1], EVERY)], [], []
    with evaluation_mode(model):
        for n in lengths:
            cache = KVCache.for_model(model)
            model.step(ids[:, :n], cache)
            times = {"naive": [], "cached": []}
            for _ in range(5):
                began = time.process_time()
                model(ids[:, : n + 1])
                middle = time.process_time()
                model.step(ids[:, n : n + 1], cache)
                times["naive"].append(middle - began)
                times["cached"].append(time.process_time() - middle)
                cache.truncate(n)
            naive.append(1000 * np.median(times["naive"]))
            cached.append(1000 * np.median(times["cached"]))
    return lengths, naive, cached


def run(seed=0):
    """Write in three ways; returns (measured, figure)."""
    model, text = long_gpt(seed)
    prompt = text.tokenizer.encode(PROMPT)[None]
    draft = NGram(3).fit(text.train_ids, model.vocab_size)
    ways = {
        "naive": lambda: generate(model, prompt, TOKENS, 0.8, rng=seed, cache=False),
        "cached": lambda: generate(model, prompt, TOKENS, 0.8, rng=seed),
        "speculative": lambda: speculative(model, draft, prompt, TOKENS, rng=seed),
    }
    texts = {name: ways[name]() for name in ways}
    print("\n" + text.tokenizer.decode(texts["cached"][0]), flush=True)
    counts = texts["speculative"][1]
    print(
        f"\nspeculative: {counts['accepted']} of {counts['proposed']} guessed tokens accepted",
        flush=True,
    )
    seconds = race(ways, ROUNDS, np.random.default_rng(seed))
    speeds = {name: interval(TOKENS / np.array(times)) for name, times in seconds.items()}
    for name, (middle, low, high) in speeds.items():
        print(
            f"{name}: {middle:.0f} tokens per CPU second, {low:.0f} to {high:.0f}", flush=True
        )
    measured = {
        "same tokens with and without cache": float(np.mean(texts["naive"] == texts["cached"])),
        "cached, times as fast": interval(np.divide(seconds["naive"], seconds["cached"]))[0],
        "speculative, times as fast": interval(
            np.divide(seconds["naive"], seconds["speculative"])
        )[0],
        "distance of the speculative distribution": speculative_distance(),
    }
    return measured, draw_speed(milliseconds(model, texts["cached"]), speeds)


if __name__ == "__main__":
    measured, figure = run()
    print(measured)
    figure.savefig(Path(__file__).with_suffix(".png"))

"""2020: text, token by token, from a model that computes nothing twice.

In this year the first invited users could try GPT-3, and every token of its answers took one
pass through the whole model. Here a GPT writes 256 tokens in three ways: naively, with the
whole text as input for each new token; with a key-value cache, so that only the new token is
computed; and speculatively: n-grams guess some tokens ahead, and the GPT accepts or replaces
them. The first two ways must give the same text, and the third must draw from the same
distribution.

The GPT of `tito milestone run gpt` has learned 64 positions, too few for a text of 256 tokens.
So the program takes its matrices (without them it trains that model first), replaces the
learned positions by rotary ones, and goes on training with windows of 320 tokens. Then it
measures both models on the same held-out text, and both continue the same prompt.
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
# "gain over the GPT of 2018" = 0.005
# [at_most]
# "distance of the speculative distribution" = 1e-6
# ///

import textwrap
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from generation_pictures import draw_speed
from gpt_training import BITS, Settings, kept_seed, known_words, place, sample_lines, train

from tinytorch.core.embeddings import NGram
from tinytorch.core.generation import KVCache, accept, generate, propose, speculative
from tinytorch.core.training import evaluation_mode
from tinytorch.core.transformers import held_out_bits

TOKENS, CONTEXT = 256, 320
LONG = 6  # epochs with long windows
AHEAD = 4  # tokens that are guessed at a time
ROUNDS = 9
EVERY = 32  # tokens between two measurements of the time for one token
PROMPT = '"My dear Emma," said Mr. Knightley, "'


def report(trainer, text):
    """Print how far a model has learned."""
    step = trainer.epoch * trainer.batches.settings.steps
    print(f"step {step:,}: {trainer.history[BITS][-1]:.3f} bits (on a sample)", flush=True)


def both_gpts(seed):
    """The GPT of 2018, and the same with rotary positions and a context of 320 tokens.

    returns  (GPT, GPT, Corpus); both models are in evaluation mode
    """
    settings, path = Settings(), place("05_2018_gpt")
    trainer, _ = train(settings, path, kept_seed(path), report, again=False)
    old, weights = trainer.model.eval(), trainer.model.state_dict()
    count = len(weights.pop("positions.weight"))
    print(f"Rotary positions replace {count} learned ones; windows of {CONTEXT} tokens:")
    longer = replace(
        settings, context=CONTEXT, batch=2, epochs=LONG, lr=settings.lr / 3, rotary=True
    )
    trainer, text = train(longer, None, seed, report, start=weights)
    return old, trainer.model.eval(), text


def bits_of(model, text, context):
    """The bits per character of the held-out text when the model sees `context` tokens."""
    whole, model.context = model.context, context
    try:
        return held_out_bits(model, text.test_ids, text.characters)
    finally:
        model.context = whole


def compare(old, new, text, seed):
    """Print how both models predict the held-out text, and how they continue a prompt.

    returns  the share of its bits per character that the old model would save as the new one
    """
    names, bits = ("the GPT of 2018", "rotary positions"), []
    print("\nBits per character of the held-out text:")
    for name, model, context in [
        (names[0], old, old.context),
        (names[1], new, old.context),
        (names[1], new, new.context),
    ]:
        bits.append(bits_of(model, text, context))
        print(f"  {name:16} {context:4} tokens of context  {bits[-1]:.3f}")
    print(
        f"{LONG * Settings().steps:,} more steps with rotary positions save "
        f"{1 - bits[1] / bits[0]:.1%}, the longer context {1 - bits[2] / bits[1]:.1%}."
    )
    prompt = text.tokenizer.encode(PROMPT)[None]
    for name, model in zip(names, (old, new)):
        lines = sample_lines(model, text.tokenizer, 32, 64, np.random.default_rng(seed))
        ids = generate(model, prompt, TOKENS, 0.8, rng=seed)[0]
        share = known_words(lines, text.train)
        print(f"\n{name}: {share:.0%} of the words in 32 lines occur in the novels. It writes:")
        print(text.tokenizer.decode(ids), flush=True)
    return 1 - bits[2] / bits[0]


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


def race(ways, races, rng):
    """{name: CPU seconds of each round}; each round calls every way once, in random order."""
    seconds = {name: [] for name in ways}
    for _ in range(races):
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


def step_costs(model, draft, ids):
    """The measurement of lesson 16 after the first half of `ids` (1, T): CPU seconds of a step
    with 1 token, of a step with a draft and 1 token, and of the draft; each the median of 15,
    in random order: what runs first in a round finds other data in the processor's cache.
    """
    half, rng = ids.shape[1] // 2, np.random.default_rng(0)
    with evaluation_mode(model):
        cache = KVCache.for_model(model)
        model.step(ids[:, :half], cache)

        def step(count):
            model.step(ids[:, half : half + count], cache)
            cache.truncate(half)

        seconds = race(
            {
                "one": lambda: step(1),
                "several": lambda: step(AHEAD + 1),
                "guessing": lambda: propose(draft, ids[0, :half], AHEAD, rng),
            },
            15,
            rng,
        )
    return [float(np.median(times)) for times in seconds.values()]


def explain_speculation(costs, counts, ratio):
    """Print why speculative decoding is faster or slower than the cache alone.

    costs   of `step_costs`
    counts  how many guessed tokens were proposed and accepted
    ratio   how many times as fast it is, measured
    """
    one, several, guessing = costs
    accepted, proposed = counts["accepted"], counts["proposed"]
    tokens, ahead = TOKENS / (TOKENS - accepted), AHEAD + 1
    price = (several + guessing) / one
    said = (
        f"Speculative decoding is {ratio:.2f} times as fast as the cache alone. The GPT "
        f"accepts {accepted} of {proposed} guessed tokens, so it writes {tokens:.1f} tokens "
        f"per step. A step with {ahead} tokens takes {several / one:.1f} times as long as one "
        f"with 1 token, and guessing {AHEAD} tokens takes {guessing / one:.1f} times as long: "
        f"{tokens:.1f} tokens for the price of {price:.1f}. "
    )
    if ratio < 1 and tokens < price:
        said += "So our GPT is too cheap for a draft. "
    elif (ratio < 1) != (tokens < price):
        said += "These times do not explain the ratio: they differ too much between runs. "
    said += (
        f"In a large model on a GPU, a step with {ahead} tokens takes about as long as one "
        "with 1 token, and guesses cost next to nothing: there, the same acceptance makes it "
        f"{tokens:.1f} times as fast."
    )
    print("\n" + textwrap.fill(said, 88), flush=True)


def run(seed=0):
    """Write with two models, and in three ways; returns (measured, figure)."""
    old, model, text = both_gpts(seed)
    gain = compare(old, model, text, seed)
    prompt = text.tokenizer.encode(PROMPT)[None]
    draft = NGram(3).fit(text.train_ids, model.vocab_size)
    ways = {
        "naive": lambda: generate(model, prompt, TOKENS, 0.8, rng=seed, cache=False),
        "cached": lambda: generate(model, prompt, TOKENS, 0.8, rng=seed),
        "speculative": lambda: speculative(model, draft, prompt, TOKENS, AHEAD, rng=seed),
    }
    texts = {name: ways[name]() for name in ways}
    seconds = race(ways, ROUNDS, np.random.default_rng(seed))
    speeds = {name: interval(TOKENS / np.array(times)) for name, times in seconds.items()}
    print()
    for name, (middle, low, high) in speeds.items():
        print(f"{name}: {middle:.0f} tokens per CPU second, {low:.0f} to {high:.0f}")
    ratios = {
        (way, than): interval(np.divide(seconds[than], seconds[way]))[0]
        for way, than in [
            ("cached", "naive"),
            ("speculative", "naive"),
            ("speculative", "cached"),
        ]
    }
    costs = step_costs(model, draft, texts["cached"])
    explain_speculation(costs, texts["speculative"][1], ratios["speculative", "cached"])
    measured = {
        "same tokens with and without cache": float(np.mean(texts["naive"] == texts["cached"])),
        "gain over the GPT of 2018": gain,
        "cached, times as fast": ratios["cached", "naive"],
        "speculative, times as fast": ratios["speculative", "naive"],
        "distance of the speculative distribution": speculative_distance(),
    }
    return measured, draw_speed(milliseconds(model, texts["cached"]), speeds)


if __name__ == "__main__":
    measured, figure = run()
    print(measured)
    figure.savefig(Path(__file__).with_suffix(".png"))

"""2020: the score of a language model is predicted before the model is trained.

A scaling law says how the loss of a model depends on its size. In this year, Kaplan and others
trained language models that differed in size by a factor of more than a million. The loss fell
as a power of the number of weights, which is a straight line on logarithmic axes, and also as
a power of the amount of text. Henighan and others added a constant. With such a law, a team
can say what a large model will reach before it pays for the training.

Here, GPTs with one block learn from the novels of `tito milestone run gpt`. They differ in
their width, the numbers per token: a wider one has more heads, all of the same size. The score
is the number of bits that a model needs for one character of the held-out text; lower is
better. The program trains four widths, twice each, and fits

    bits = E + A * weights ** -alpha

E is the irreducible part, which no width removes. It contains what nobody could predict in the
text, and also what one block, 64 tokens of context and 1,000 steps cannot learn. From this law
the program predicts the score of a larger GPT. It prints and draws it with its interval, and
then it trains the GPT. A second law, which says how the score depends on the amount of text, is
fitted to small parts of the text and predicts the score for the whole text.

Training costs about 6 FLOPs per weight and token, so with a fixed number of FLOPs a wider GPT
takes fewer steps. Which width is best? Kaplan and others let the weights grow much faster than
the text. In 2022, Hoffmann and others found that both should grow in proportion, with about 20
tokens per weight. The program gives each width the FLOPs of width 32, and prints the best.

A scaling law can be misleading for four reasons. Each width needs its own learning rate: with
the same one for all, the law would describe the learning rate. Here it is proportional to 1 /
width. All models of a law take the same number of steps, perhaps enough only for the small
ones. A small part of the text is repeated many times, so the model begins to memorize it.
Finally, a law that holds for small models may fail for larger ones, and the interval does not
include this risk.
"""

# /// milestone
# title = "The score of a larger GPT is predicted"
# needs = [
#     "tensor", "activations", "layers", "losses", "autograd", "optimizers", "training",
#     "normalization", "tokenization", "embeddings", "attention", "transformers",
#     "differentiation",
# ]
# seconds = 1800
# alt = """Bits per character against the number of weights, on logarithmic axes. A curve goes \
#     through the points of four small GPTs and becomes flatter. At its end are an open ring, \
#     the prediction, with its interval, and a filled point, the measurement. A dashed \
#     straight line ends below both. Below, the same for parts of the text."""
# [goal]
# [at_most]
# "bits of error for the largest GPT" = 0.07
# "bits of error for the whole text" = 0.05
# ///

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from gpt_screen import Screen
from gpt_training import BITS, Corpus, Settings, build, corpus, train
from power_law import fit, straight_line
from scaling_pictures import draw_forecast, draw_measured, two_panels

from tinytorch.core.transformers import held_out_bits

WIDTHS, LARGEST = (16, 24, 32, 48), 80  # numbers per token
PARTS, WIDTH = (32, 16, 8, 4), 24  # the text is divided by these; the width of these models
RUNS = 2  # of each small model, with different seeds
BUDGET = 32  # the width whose FLOPs each width gets
PIECES = 1024  # of the text: a 4th of it is every 4th piece


def settings(width):
    """The settings of a GPT of this width."""
    return Settings(
        vocab_size=512, embed_dim=width, layers=1, num_heads=width // 8, rotary=True,
        epochs=4, steps=250, lr=0.5 / width,
    )  # fmt: skip


def count(settings):
    """The number of weights of a GPT."""
    return sum(p.size for p in build(settings, settings.vocab_size).parameters())


def with_budget(width):
    """The settings of a GPT of this width, trained with the FLOPs of width BUDGET."""
    chosen, ratio = settings(width), count(settings(BUDGET)) / count(settings(width))
    return replace(chosen, steps=max(1, round(chosen.steps * ratio)))


@dataclass
class Trials:
    """Trains GPTs of different widths on a text and on parts of it."""

    text: Corpus
    seed: int
    screen: Screen
    steps: int = 0  # of all models until now

    def measure(self, width, part=1, run=0, chosen=None):
        """Train a GPT; returns (its number of weights, its bits per character).

        chosen  its Settings, if they are not those of its width
        """
        chosen = chosen or settings(width)
        pieces = np.array_split(self.text.train_ids, PIECES)[::part]
        text = replace(self.text, train_ids=np.concatenate(pieces))
        seed = RUNS * self.seed + run
        trainer, _ = train(chosen, seed=seed, report=self.report, text=text)
        weights = sum(p.size for p in trainer.model.parameters())
        bits = held_out_bits(trainer.model, text.test_ids, text.characters)
        share = f"1/{part} of the text" if part > 1 else "the whole text"
        share += f", {chosen.epochs * chosen.steps:,} steps" * (chosen != settings(width))
        self.screen.print(f"width {width}, {weights:7,} weights, {share}: {bits:.3f} bits")
        return weights, bits

    def report(self, trainer, text):
        """Show the progress after an epoch."""
        self.steps += trainer.batches.settings.steps
        self.screen.show(self.steps, trainer.history[BITS][-1])


@dataclass
class Forecast:
    """What a law that was fitted to small sizes says about a large one, and what others say.

    sizes, bits  of the small ones: numbers of weights or shares of the text; bits per character
    size         the large one
    """

    name: str
    sizes: np.ndarray
    bits: np.ndarray
    size: float

    def __post_init__(self):
        self.law = fit(self.sizes, self.bits)
        self.predicted = float(self.law(self.size)[0])
        self.margin = float(self.law.margin(self.size)[0])
        self.naive = {
            "a straight line": straight_line(self.sizes, self.bits, self.size),
            "no change": float(np.mean(self.bits[-RUNS:])),
        }

    def announce(self):
        """Print the prediction."""
        naive = ", ".join(f"{name} {bits:.3f}" for name, bits in self.naive.items())
        low, high = self.predicted - self.margin, self.predicted + self.margin
        print(
            f"\n{self.name}, predicted before measuring: {self.predicted:.3f} bits, "
            f"95 % interval {low:.3f} to {high:.3f}."
            f"\nThe law: {self.law.irreducible:.2f} bits are irreducible, and the rest is "
            f"proportional to size ** {-self.law.alpha:.2f}.\nNaive predictions: {naive}.\n",
            flush=True,
        )

    def compare(self, measured):
        """Print how far the predictions are off; returns how far the law is."""
        off = self.predicted - measured
        naive = {name: bits - measured for name, bits in self.naive.items()}
        where = "within" if abs(off) <= self.margin else "outside of"
        best = abs(off) < min(map(abs, naive.values()))
        others = ", ".join(f"{name} by {far:+.3f}" for name, far in naive.items())
        print(
            f"\n{self.name}: {measured:.3f} bits, {where} the interval.\nThe law is off by "
            f"{off:+.3f}, {others}. The law is {'' if best else 'not '}the nearest.",
            flush=True,
        )
        return abs(off)


def spend(trials, budgets):
    """Train each width with the same FLOPs, and print which is the best.

    budgets  {width: Settings}
    """
    print(f"\nEach width, with the FLOPs of width {BUDGET}:", flush=True)
    bits = {}
    for width, chosen in budgets.items():
        weights, bits[width] = trials.measure(width, chosen=chosen)
        tokens = chosen.epochs * chosen.steps * chosen.batch * chosen.context
        print(f"  {tokens / weights:.0f} tokens per weight", flush=True)
    best = min(bits, key=bits.get)
    said = f"In this run, width {best} is the best for these FLOPs."
    if best not in (min(bits), max(bits)):
        said += " Narrower GPTs have too few weights, wider ones take too few steps."
    print(said, flush=True)


def run(seed=0):
    """Fit two laws, and compare their predictions; returns (measured, figure)."""
    largest = settings(LARGEST)
    models = RUNS * (len(PARTS) + len(WIDTHS)) + 1
    budgets = {width: with_budget(width) for width in (*WIDTHS, LARGEST)}
    steps = models * largest.steps + sum(chosen.steps for chosen in budgets.values())
    screen = Screen(steps * largest.epochs, {})
    trials = Trials(corpus(largest), seed, screen)
    figure, (upper, lower) = two_panels()

    parts = [part for part in PARTS for _ in range(RUNS)]
    bits = [trials.measure(WIDTH, part, n % RUNS)[1] for n, part in enumerate(parts)]
    text = Forecast(f"Width {WIDTH}, the whole text", 1 / np.array(parts), np.array(bits), 1.0)
    text.announce()
    draw_forecast(lower, text, "share of the text", lambda share: f"1/{1 / share:.0f}")

    widths = [width for width in WIDTHS for _ in range(RUNS)]
    small = np.array([trials.measure(width, 1, n % RUNS) for n, width in enumerate(widths)])
    whole = small[np.array(widths) == WIDTH, 1].mean()
    weights = count(largest)
    gpt = Forecast(f"Width {LARGEST}, {weights:,} weights", *small.T, weights)
    gpt.announce()
    draw_forecast(upper, gpt, "weights", "{:,.0f}".format)

    _, truth = trials.measure(LARGEST)
    measured = {
        "bits of error for the whole text": text.compare(whole),
        "bits of error for the largest GPT": gpt.compare(truth),
    }
    spend(trials, budgets)
    draw_measured(lower, 1.0, whole)
    draw_measured(upper, weights, truth)
    return measured, figure


if __name__ == "__main__":
    measured, figure = run()
    print(measured)
    figure.savefig(Path(__file__).with_suffix(".png"))

"""Train a GPT on a text, and save the run in a file, so that it can be continued.

Milestone 05 trains the model; milestone 06 uses its weights. Milestone 08 trains smaller ones.
"""

import hashlib
import math
import re
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from saved import place  # noqa: F401  the milestones with a GPT take it from here

from tito.safe_text import spelled
from tinytorch.core.layers import Sequential, generator, manual_seed
from tinytorch.core.losses import cross_entropy
from tinytorch.core.optimizers import AdamW, LambdaLR, warmup_cosine
from tinytorch.core.tokenization import CharTokenizer, Tokenizer, train_bpe, train_bpe_fast
from tinytorch.core.training import Trainer, epochs_since_best, predict, snapshot
from tinytorch.core.transformers import (
    GPT,
    TransformerBlock,
    decay_groups,
    held_out_bits,
    init_gpt,
    text_batch,
)
from tinytorch.data.gpt_files import load_gpt, sizes
from tinytorch.data.texts import load_text
from tinytorch.support.checkpoints import CheckpointError, load_state, save_state
from tinytorch.support.training_state import restore

LESSONS = (  # this program needs them
    "tensor activations layers losses autograd optimizers training normalization tokenization "
    "embeddings attention transformers"
).split()
TRIED = 10_000  # characters of the held-out text that are scored after each epoch
BITS = "held-out bits per character"
FEWEST = 20_000  # characters that a text must have


@dataclass(frozen=True)
class Settings:
    """The settings of a run. Together with the code and the seed they determine its result.

    vocab_size  tokens of the tokenizer; 0 for one token per character
    epochs      of `steps` steps each; the learning rate falls until the last one
    lr          the highest learning rate, per step
    dropout     the share of numbers that are set to 0 in training
    patience    stop after so many epochs in which the held-out bits did not fall; 0: never
    rotary      whether attention rotates queries and keys, instead of learned positions
    without     a part of the model to leave out: norm, residual, positions or mask; "" for none
    texts       paths of the files to learn from; () for the novels
    start       path of the GPT to go on with, and to take the tokenizer from; "" for a new one
    """

    vocab_size: int = 1024
    context: int = 64
    embed_dim: int = 128
    layers: int = 3
    num_heads: int = 4
    batch: int = 8
    epochs: int = 30
    steps: int = 100
    lr: float = 3e-3
    dropout: float = 0.0
    patience: int = 0
    rotary: bool = False
    without: str = ""
    texts: tuple = ()
    start: str = ""


def settings_for(paths, characters):
    """Settings for a text of this length. A short one is repeated often, so dropout and
    patience keep the model from reciting it.

    Bits per character at the best step, on parts of the novels: 50,000 characters 2.19 with a
    dropout of 0.2 and 600 steps; 104,000 characters 1.97 with 0.2 and 800 steps, 2.09 without
    dropout; 500,000 characters 1.73 without and 1.79 with 0.1.
    """
    dropout = 0.2 if characters < 200_000 else 0.1 if characters < 400_000 else 0.0
    epochs = min(30, 4 + characters // 26_000)
    return Settings(dropout=dropout, epochs=epochs, patience=5, texts=tuple(paths))


class Windows:
    """The batches of an epoch: `steps` batches of random windows of a text."""

    def __init__(self, ids, settings, rng):
        self.ids, self.settings, self.rng = ids, settings, rng

    def __len__(self):
        return self.settings.steps

    def __iter__(self):
        for _ in range(len(self)):
            yield text_batch(self.ids, self.settings.batch, self.settings.context, self.rng)


class WithoutResidual(TransformerBlock):
    """A transformer block that replaces the stream instead of adding to it."""

    def forward(self, x):
        return self.mlp(self.norm2(self.attention(self.norm1(x))))


def build(settings, vocab_size):
    """A new GPT, without the part that the settings leave out."""
    width, heads = settings.embed_dim, settings.num_heads
    model = GPT(
        vocab_size, settings.context, width, settings.layers, heads, settings.dropout,
        rotary=settings.rotary,
    )  # fmt: skip
    if settings.without == "residual":
        model.blocks = [WithoutResidual(width, heads, settings.dropout) for _ in model.blocks]
        init_gpt(model)
    if settings.without == "positions":
        model.positions = None
    # GPT-2, with a width of 768 or more, uses the standard deviation 0.02. A model of width 128
    # learns more quickly with a larger one: in a run of 400 steps, the mean loss of the last
    # hundred is 4.10 instead of 4.47.
    model.embedding.weight.data *= 4
    for block in model.blocks:
        block.attention.qkv.weights.data *= 3
        block.mlp[0].weights.data *= 3
        if settings.without == "norm":
            block.norm1, block.norm2, model.norm = Sequential(), Sequential(), Sequential()
        if settings.without == "mask":
            block.attention.causal = False
    return model


@dataclass
class Corpus:
    """A text and its tokens. The last 5 % are held out.

    characters  of each token, (V,)
    choice_ids  a part of the text that only chooses the best epoch; None where none is chosen
    """

    train: str
    test: str
    tokenizer: object
    train_ids: np.ndarray
    test_ids: np.ndarray
    characters: np.ndarray
    choice_ids: np.ndarray | None = None

    @property
    def tried_ids(self):
        """About TRIED characters, which are scored after each epoch: of the text that chooses
        the best one, or else of the held-out text. They are the beginnings of its ten tenths,
        as the parts of a text can be of different difficulty.
        """
        ids = self.test_ids if self.choice_ids is None else self.choice_ids
        share = min(1, TRIED / self.characters[ids].sum())
        tenths = np.array_split(ids, 10)
        return np.concatenate([tenth[: math.ceil(share * len(tenth))] for tenth in tenths])


def corpus(settings):
    """The text that the settings name, cut into the tokens of a tokenizer trained on it."""
    train, test = split_text(settings.texts)
    if settings.start:
        tokenizer = load_gpt(settings.start)[1]
    elif not settings.vocab_size:
        tokenizer = CharTokenizer(train + test)
    else:
        try:
            merges = train_bpe_fast(train, settings.vocab_size)
        except NotImplementedError:  # its exercise is optional
            merges = train_bpe(train, settings.vocab_size)
        tokenizer = Tokenizer(merges)
    ids = [tokenizer.encode(part) for part in (train, test)]
    if len(ids[1]) <= settings.context:
        sys.exit(
            f"the text repeats itself: its last 5 % are {len(ids[1])} tokens, fewer than the "
            f"{settings.context + 1} of a window"
        )
    choice = None
    if settings.patience:  # what chooses the best epoch must not give the final score
        ids[0], choice = np.split(ids[0], [len(ids[0]) * 95 // 100])
    return Corpus(train, test, tokenizer, *ids, character_counts(tokenizer), choice)


def character_counts(tokenizer):
    """How many characters begin in each token: an int array of shape (V,)."""
    tokens = [tokenizer.token(id) for id in range(tokenizer.vocab_size)]
    # A character begins with a byte that is not 10xxxxxx in binary.
    return np.array([sum(byte & 0xC0 != 0x80 for byte in token) for token in tokens])


def going_on_with(path, settings):
    """The settings with which the GPT in a file learns from another text."""
    known = sizes(load_gpt(path)[0])
    if known["rotary"] or not known["tie"]:
        raise ValueError(f"{path} has rotary positions or a head of its own")
    kept = {name: known[name] for name in ("context", "embed_dim", "layers", "num_heads")}
    return replace(settings, **kept, lr=settings.lr / 3, start=str(path))


def split_text(paths):
    """The first 95 % of the characters of these files, one after the other, and the rest.

    Without a path: of the novels.
    """
    if not paths:
        return load_text("train"), load_text("test")
    text = "\n".join(Path(path).read_text(encoding="utf-8") for path in paths)
    cut = len(text) * 95 // 100
    return text[:cut], text[cut:]


def check_texts(paths):
    """Why a GPT cannot learn from these files, as a sentence; "" if it can."""
    characters = 0
    for path in map(Path, paths):
        if not path.exists():
            return f"there is no file {path}"
        if path.is_dir():
            return f"{path} is a folder: name the files in it"
        data = path.read_bytes()
        if b"\0" in data:
            return f"{path} is no text: it contains zero bytes"
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            return (
                f"{path} is not UTF-8 (byte {error.start:,}): open it in an editor and save it "
                "as UTF-8"
            )
        if text and "\n" not in text:
            return f"{path} has no line break, and the samples begin after one"
        characters += len(text)
    if paths and characters < FEWEST:
        return f"{characters:,} characters are too few: a text needs {FEWEST:,}"
    return ""


def origin(text):
    """A hash of a text and of the lessons' code: a run continues only if both are the same."""
    digest = hashlib.sha256((text.train + text.test).encode())
    digest.update(b"" if text.choice_ids is None else text.choice_ids.tobytes())
    for name in LESSONS:
        digest.update(Path(sys.modules[f"tinytorch.core.{name}"].__file__).read_bytes())
    return digest.hexdigest()


def train(
    settings,
    path=None,
    seed=0,
    report=lambda trainer, text: None,
    *,
    again=True,
    start=None,
    text=None,
):
    """Train a GPT, or continue a run that was interrupted.

    settings  Settings
    path      of the file in which the run is saved after each epoch; None to save nothing
    report    is called with the Trainer and the Corpus after each epoch
    again     whether a run that is complete starts again
    start     a state dict with the initial weights; None for random weights
    text      a Corpus to learn from; None for the one of the settings
    returns   (Trainer, Corpus)
    """
    text = text or corpus(settings)
    manual_seed(seed)
    model = build(settings, text.tokenizer.vocab_size)
    if settings.start:
        start = load_gpt(settings.start)[0].state_dict()
    if start:
        model.load_state_dict(start)
    total = settings.epochs * settings.steps
    optimizer = AdamW(decay_groups(model, 0.1), lr=settings.lr, betas=(0.9, 0.99))
    schedule = LambdaLR(optimizer, lambda step: warmup_cosine(step, total // 20, total, 0.02))
    trainer = Trainer(
        model, optimizer, cross_entropy, schedule=schedule, per="step", max_norm=1.0, show=False
    )
    batches = Windows(text.train_ids, settings, generator().spawn(1)[0])
    about = {"settings": asdict(settings), "seed": seed, "origin": origin(text)}
    if path and path.exists():
        resume(trainer, path, about, settings.epochs + (not again))
    if is_going_on(trainer, settings):
        if trainer.epoch:
            print(f"{path.name}: the run continues after epoch {trainer.epoch}", flush=True)
        trainer.begin_fit(batches, settings.epochs, None, None)
    while is_going_on(trainer, settings):
        metrics = trainer.train_epoch(batches)
        metrics[BITS] = held_out_bits(model, text.tried_ids, text.characters)
        trainer.end_epoch(metrics)
        if epochs_since_best(trainer.history[BITS]) == 0:
            trainer.best_weights = model.state_dict()
        if path:
            save_state(path, about | {"run": snapshot(trainer)})
        report(trainer, text)
    if settings.patience:
        model.load_state_dict(trainer.best_weights)
    return trainer, text


def is_going_on(trainer, settings):
    """Whether a run is to be continued with another epoch."""
    waited = epochs_since_best(trainer.history[BITS]) if trainer.epoch else 0
    return trainer.epoch < settings.epochs and not 0 < settings.patience <= waited


def resume(trainer, path, about, epochs):
    """Continue the run in the file `path`, if it is the same one and has fewer epochs."""
    try:
        kept = load_state(path)
        same = {name: kept.pop(name, None) for name in about} == about
    except (CheckpointError, AttributeError) as error:
        print(f"{path.name} cannot be read, so the run starts again: {error}", flush=True)
        return
    if not same:
        print(
            f"{path.name} belongs to another seed, text or code, so the run starts again",
            flush=True,
        )
    elif kept["run"]["epoch"] < epochs:
        restore(trainer, kept["run"])
        trainer.resumed = True


def kept_seed(path):
    """The seed of the run in the file `path`; 0 if there is none."""
    try:
        return load_state(path)["seed"]
    except (OSError, CheckpointError, KeyError, TypeError):
        return 0


def known_words(lines, text):
    """The share of the words in `lines` that occur in `text`."""
    words = [re.findall(r"[^\W\d_]+", part.lower()) for part in (" ".join(lines), text)]
    return float(np.isin(words[0], list(set(words[1]))).mean()) if words[0] else 0.0


def best_first(lines, text):
    """Lines that a model wrote in the order of a rule: first those that close their quotation
    marks, and of these the ones with the largest share of words that occur in the text.

    >>> best_first(['"a b', "c a", "a"], "a b")
    ['a', 'c a', '"a b']
    """
    return sorted(
        lines,
        key=lambda line: (line.count('"') % 2, -known_words([line], text), lines.index(line)),
    )


def sample_lines(model, tokenizer, rows, tokens, rng, temperature=0.8, prompt="\n"):
    """Lines of text that the model writes, all at once.

    rows, tokens  int: the number of lines, and the most tokens in each
    temperature   divides the logits: below 1, probable tokens are drawn more often
    prompt        str: how each line begins
    returns       list of str
    """
    ids = np.repeat(tokenizer.encode(prompt)[None], rows, axis=0)
    ids = sample_ids(model, ids, tokens, rng, temperature)
    return [spelled(tokenizer.decode(row).strip().split("\n")[0]) for row in ids]


def sample_ids(model, ids, tokens, rng, temperature=0.8):
    """Rows of ids (rows, T) with `tokens` more, each drawn after the whole text before it."""
    for _ in range(tokens):
        logits = predict(model, ids[:, -model.context :])[:, -1] / temperature
        # The largest of logit + Gumbel noise is a draw from softmax(logits).
        new = (logits + rng.gumbel(size=logits.shape)).argmax(-1)
        ids = np.concatenate([ids, new[:, None]], axis=1)
    return ids

"""The learner's own networks beside the given ones: `tito milestone run olympics --mine`.

The networks of the milestones digits_mlp and digits_cnn, and entries that `Entry.save` wrote to
the same folder, are on the board of digits; the network of circuits reads tokens that repeat.
The GPT of the milestone gpt climbs a ladder: it is made smaller and faster step by
step, each time by the learner's own functions of a later lesson. A step whose lesson is not
done is left open.
"""

import base64
import copy
import functools
import html
import importlib
import io
import time
import tomllib
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
from olympics_judge import bits_of_parts, interval_of
from saved import place

import tinytorch
from tito import files
from tito.html import html_page
from tito.safe_text import spelled
from tinytorch.core.layers import Sequential
from tinytorch.core.losses import cross_entropy
from tinytorch.core.olympics import Entry, bytes_of
from tinytorch.core.profiling import race
from tinytorch.data.olympics import builder
from tinytorch.support.checkpoints import CheckpointError, load_state

TRAINED_BY = {  # {file: (its name on the board, its program, how long the milestone takes)}
    "digits_mlp": ("your MLP", "03_1989_digits_mlp", "some seconds"),
    "digits_cnn": ("your CNN", "04_1998_digits_cnn", "a minute"),
    "gpt": ("your GPT", "05_2018_gpt", "some minutes"),
    "circuits": ("your circuit", "09_2022_circuits", "a minute"),
}
CHARACTERS = 30_000  # of the held-out text
WRITTEN, ROUNDS, TEXTS = 32, 5, 8  # tokens, how often they are timed, texts at once
SIMULATED, PASSES = 16, 2  # tokens that the simulator reads, and how often
A100 = 19.5e12, 1.555e12  # FLOPs and bytes per second of this GPU, as in lesson 22
IDLE = 0.01  # of the largest contribution in its layer: a neuron below it is removed
TABLES, GROUP = ("embedding", "positions"), 32
PROMPT = '"My dear'
NOT_DONE = (ImportError, NotImplementedError)  # of a lesson
STYLE = """:root { color-scheme: light dark; }
body { font: 17px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; }
body { padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; font-size: .85em; }
table { font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
td, th { border-bottom: 1px solid #8886; padding: .3rem .7rem .3rem 0; text-align: left; }
:is(td, th):nth-child(4), :is(td, th):nth-child(5) { text-align: right; }
img { max-width: 100%; background: white; border-radius: 8px; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
pre { border-left: 3px solid #8886; padding-left: 1rem; }
.open { opacity: .65; }
.own { font-weight: 600; }
"""


def missing(folder):
    """What is not trained, as lines: which milestone trains it, and how long that takes."""
    return [
        f"{name} is not trained: tito milestone run {file} ({how_long})"
        for file, (name, _, how_long) in TRAINED_BY.items()
        if not (folder / f"{file}.npz").exists()
    ]


def own_entries(folder):
    """The learner's networks that read digits, and why others cannot be judged.

    returns  (list of Entry, list of sentences)
    """
    entries, problems = [], []
    for file in ("digits_mlp", "digits_cnn"):
        name, program, _ = TRAINED_BY[file]
        if (folder / f"{file}.npz").exists():
            try:
                entries.append(of_milestone(name, program, load_state(folder / f"{file}.npz")))
            except (CheckpointError, AttributeError, *NOT_DONE) as error:
                problems.append(f"{name} cannot be judged: {error}")
    known = {"gpt", "05_2018_gpt", *TRAINED_BY}
    for path in sorted(folder.glob("*.npz")):
        if path.stem not in known and not path.stem.startswith(("gpt_", "05_2018_gpt")):
            try:
                entries.append(saved_entry(path))
            except Exception as error:  # noqa: BLE001  a damaged zip raises many kinds
                problems.append(f"{path.name} cannot be judged: {error}")
    return entries, problems


def own_circuit(folder, seed):
    """The learner's network of the milestone circuits and its event: ([Entry], events,
    sentences). It reads 30 tokens, and names the next one.
    """
    name, program, _ = TRAINED_BY["circuits"]
    if not (folder / "circuits.npz").exists():
        return [], {}, []
    try:
        from tinytorch.core.interpretability import repeated

        module = importlib.import_module(program)
        weights = load_state(folder / "circuits.npz")
        ids, _ = repeated(
            np.random.default_rng([seed, 3]), 360, 31, module.VOCABULARY, *module.PERIODS
        )
        build = lambda: Sequential(module.network(), lambda logits: logits[:, -1])  # noqa: E731
        entry = Entry(name, build, {f"0.{path}": np.asarray(a) for path, a in weights.items()})
    except (CheckpointError, AttributeError, *NOT_DONE) as error:
        return [], {}, [f"{name} cannot be judged: {error}"]
    return [entry], {"Tokens that repeat, fresh": (ids[:, :-1], ids[:, -1], {})}, []


def of_milestone(name, program, weights):
    """The Entry of a network that a milestone trained."""
    module = importlib.import_module(program)
    network = module.network if name == "your CNN" else lambda: module.network(0.0)

    def build():
        return Sequential(lambda x: x.reshape(-1, 1, 8, 8), network())

    return Entry(name, build, {f"1.{path}": np.asarray(a) for path, a in weights.items()})


def saved_entry(path):
    """The Entry in a file of `Entry.save`. Its biases, which are never packed, say which of the
    board's models it is. ValueError when it is none.

    path  its name is the name on the board, with .npz: no given entry is called so
    """
    weights = Entry.load(path, path.name, None).weights
    sizes = {name: len(a) for name, a in weights.items() if name.endswith(".bias") and a.ndim}
    if sizes.keys() == {"0.bias", "2.bias"}:
        build = builder("mlp", {"hidden": sizes["0.bias"]})
    elif sizes.keys() == {"1.bias", "3.bias", "7.bias"}:
        build = builder("cnn", {"first": sizes["1.bias"], "second": sizes["3.bias"]})
    else:
        raise ValueError("its arrays are those of no model of tinytorch.data.olympics")
    return Entry(path.name, build, weights)


# The ladder.


@dataclass
class Step:
    """A step of the ladder; `bits` is None when its lesson is not done.

    bits    of each part of the text, (n,)
    speeds  tokens per second in each round
    note    what was done, or why it was not
    """

    name: str
    lesson: str
    note: str = ""
    bits: np.ndarray | None = None
    size: int = 0
    speeds: np.ndarray | None = None
    text: str = ""


def as_trained(model, ids):
    return model, "the whole text is computed again for each token"


def without_idle_neurons(model, ids):
    """The model without the neurons of its feed-forward networks that hardly contribute."""
    from tinytorch.core.compression import prune_neurons
    from tinytorch.core.training import evaluation_mode

    model, removed, total = copy.deepcopy(model), 0, 0
    with evaluation_mode(model):
        x = model.embedding(ids)
        if model.positions is not None:
            x = x + model.positions.weight[: ids.shape[1]]
        for block in model.blocks:
            after = x + block.attention(block.norm1(x))
            active = block.mlp[1](block.mlp[0](block.norm2(after))).data
            x = block(x)
            reach = np.linalg.norm(block.mlp[2].weights.data, axis=1)
            most = np.abs(active).max(axis=(0, 1)) * reach
            keep = np.flatnonzero(most >= IDLE * most.max())
            block.mlp[0], block.mlp[2] = prune_neurons(block.mlp[0], block.mlp[2], keep)
            removed, total = removed + len(most) - len(keep), total + len(most)
    return model, f"{removed:,} of {total:,} neurons hardly contribute"


def in_4_bits(model, ids):
    from tinytorch.core.quantization import quantize_model

    small = quantize_model(model, 4, skip=TABLES, group=GROUP)
    return quantize_model(
        small, 8
    ), "the tables have 8 bits; integers are unpacked for each token"


def as_it_is(model, ids):
    return model, ""


def compiled(model, ids):
    """The model with its layers compiled, without attention itself: its cache grows with each
    token, so each token would need another program.
    """
    from tinytorch.core.compilation import compile

    def together(*parts):
        return compile(lambda x: functools.reduce(lambda x, part: part(x), parts, x), None, "c")

    small = copy.deepcopy(model)
    for block, new in zip(model.blocks, small.blocks):
        new.norm1 = new.norm2 = Sequential()
        new.attention.qkv = together(block.norm1, block.attention.qkv)
        new.attention.out = together(block.attention.out)
        new.mlp = together(block.norm2, block.mlp)
    small.embedding, small.norm = together(model.embedding), Sequential()
    small.embedding.weight = model.embedding.weight  # the cache asks for its dtype
    head = model.head or (lambda x: x @ model.embedding.weight.T)
    small.head = together(model.norm, head)
    small.state_dict = model.state_dict  # what is stored stays as it was
    return small, "the integers of the weights are unpacked once, not for each token"


def naively(model, prompt, seed):
    from gpt_training import sample_ids

    return sample_ids(model, prompt, WRITTEN, np.random.default_rng(seed))


def with_cache(model, prompt, seed):
    from tinytorch.core.generation import generate

    return generate(model, prompt, WRITTEN, 0.8, rng=seed)


# (name, lesson, what changes the model, what writes, how many texts at once)
LADDER = (
    ("as trained", "transformers", as_trained, naively, 1),
    ("idle neurons removed", "compression", without_idle_neurons, naively, 1),
    ("4 bits", "quantization", in_4_bits, naively, 1),
    ("key-value cache", "generation", as_it_is, with_cache, 1),
    (f"{TEXTS} texts at once", "generation", as_it_is, with_cache, TEXTS),
    ("compiled", "compilation", compiled, with_cache, TEXTS),
)


def written(model, tokenizer, seed):
    """What a model writes after PROMPT: with the cache where that is done, or else without."""
    from gpt_training import sample_ids

    prompt = tokenizer.encode(PROMPT)[None]
    try:
        from tinytorch.core.generation import generate

        ids = generate(model, prompt, 40, 0.8, rng=seed)
    except NOT_DONE:
        ids = sample_ids(model, prompt, 40, np.random.default_rng(seed))
    return spelled(tokenizer.decode(ids[0])).strip()


def by_kernels(model, ids, characters, before):
    """The step in which the simulator of lesson 22 reads some tokens with kernels.

    before  the Step before it, which was measured on the whole text. The bits of this one are
            those, plus the difference on the tokens that the simulator has read
    """
    step, seconds = Step("by kernels, simulated", "kernels"), []
    if model.positions is None or model.head is not None:
        step.note = "the kernels need learned positions and a tied output layer"
        return step
    read = ids[: min(SIMULATED, model.context)]
    try:
        from tinytorch.core.kernels import predicted
        from tinytorch.core.profiling import Machine
        from tinytorch.gpu.simulator import Report

        kernels = importlib.import_module("12_2022_kernels")
        print(f"  {step.name}: {PASSES} passes, some minutes", flush=True)
        for _ in range(PASSES):
            backend = kernels.Simulated()
            gpt, began = kernels.KernelGPT(model, backend), time.process_time()
            logits = gpt(read)
            seconds.append(time.process_time() - began)
        count = backend.transactions.total()
        flops = sum(2 * n * m * k for n, m, k in gpt.products)
        gpu, limit = predicted(Report(transactions=count), Machine(*A100), flops)
    except NOT_DONE:
        step.note = "lesson kernels is not done"
        return step
    bits = [
        cross_entropy(x[:-1], read[1:]).item() * (len(read) - 1) / characters[read[1:]].sum()
        for x in (model(read[None]).data[0], logits)
    ]
    step.bits, step.size = before.bits + (bits[1] - bits[0]) / np.log(2), before.size
    step.speeds = 1 / np.maximum(seconds, 1e-9)
    step.note = (
        f"{count:,} transactions for {len(read)} tokens: {1000 * gpu:.2g} ms on an A100 "
    )
    step.note += f"by the roofline, for which {limit} is the limit"
    return step


def climb(model, tokenizer, text, seed):
    """The steps of the ladder, each after the one before it; ValueError for nan."""
    from gpt_training import character_counts

    ids, characters = tokenizer.encode(text), character_counts(tokenizer)
    window, steps, ways = ids[None, : model.context], [], {}
    plain = model  # the last one that is not compiled
    for name, lesson, change, write, rows in LADDER:
        step = Step(name, lesson)
        steps.append(step)
        prompt = np.repeat(tokenizer.encode(PROMPT)[None], rows, axis=0)
        try:
            changed, note = change(model, window)
            write(changed, prompt, seed)
            bits = bits_of_parts(changed, ids, characters)
        except NOT_DONE:
            step.note = f"lesson {lesson} is not done"
            continue
        model, step.note, step.bits = changed, note, bits
        plain = plain if change is compiled else model
        step.size = bytes_of(model.state_dict())
        step.text = written(model, tokenizer, seed)
        ways[name] = lambda model=model, prompt=prompt, write=write: write(model, prompt, seed)
        print(f"  {name}: {bits.mean():.3f} bits, {step.size:,} bytes", flush=True)
    if steps[0].bits is None:
        raise ValueError(steps[0].note)
    for name, seconds in race(ways, ROUNDS, seed, time.process_time).items():
        step, rows = next((s, way[4]) for s, way in zip(steps, LADDER) if s.name == name)
        step.speeds = rows * WRITTEN / np.maximum(seconds, 1e-9)
    before = [step for step in steps if step.bits is not None][-1]
    return [*steps, by_kernels(plain, ids, characters, before)]


def rows_of(steps):
    """The rows of the table: name, bits and their interval, what the step adds to them and that
    interval, bytes, tokens per CPU second and their range, note.
    """
    first = steps[0].bits
    for step in steps:
        if step.bits is None:
            yield step.name, "", "", "", "", step.note
            continue
        low, high = interval_of(step.bits)
        less, more = interval_of(step.bits - first)
        change = f"{(step.bits - first).mean():+.4f} ({less:+.4f} to {more:+.4f})"
        shown = [
            f"{speed:,.0f}" if speed >= 10 else f"{speed:.2g}"
            for speed in np.quantile(step.speeds, [0.5, 0, 1])
        ]
        yield (
            step.name,
            f"{step.bits.mean():.3f} ({low:.3f} to {high:.3f})",
            change if step is not steps[0] else "",
            f"{step.size:,}",
            "{} ({} to {})".format(*shown),
            step.note,
        )


def draw_ladder(steps):
    """Bits per character against stored bytes, and against tokens per second. The bars are the
    intervals of the change against the model as it was trained.
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullFormatter

    figure, panels = plt.subplots(1, 2, figsize=(10, 5), layout="constrained", sharey=True)
    first = steps[0].bits
    for axes, of, name in (
        (panels[0], lambda step: step.size, "stored bytes"),
        (panels[1], lambda step: float(np.median(step.speeds)), "tokens per CPU second"),
    ):
        numbers, last = {}, (1.0, 0.0)  # {about where: (place, the steps that are there)}
        for number, step in enumerate(steps, 1):
            if step.bits is not None:
                before, last = last, (of(step), float(step.bits.mean()))
                ends = np.abs(interval_of(step.bits - first) - (step.bits - first).mean())
                axes.errorbar(*last, yerr=ends[:, None], fmt="o", color="#1b69aa", capsize=4)
                if axes is panels[1]:
                    axes.plot(np.quantile(step.speeds, [0, 1]), [last[1]] * 2, color="#1b69aa")
                if number > 1:
                    axes.plot(*zip(before, last), color="#1b69aa", alpha=0.4)
            else:
                axes.plot(*last, "o", markersize=14, markerfacecolor="none", color="#777777")
            about = round(4 * np.log10(last[0])), round(last[1], 3)
            numbers.setdefault(about, (last, []))[1].append(str(number))
        for place_, here in numbers.values():
            axes.annotate(", ".join(here), place_, (7, 7), textcoords="offset points")
        axes.set(xscale="log", xlabel=name)
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if axes is panels[0] else (1,)))
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}" if x >= 1 else f"{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.margins(0.15)
    panels[0].set_ylabel("bits per character of held-out text")
    names = [
        f"{number}: {step.name}" + f" (open: {step.lesson})" * (step.bits is None)
        for number, step in enumerate(steps, 1)
    ]
    figure.suptitle("\n".join("    ".join(part) for part in (names[:4], names[4:])), fontsize=9)
    return figure


# All of it.


def learner():
    """The learner's name, as the certificate has it; "" without one."""
    try:
        path = Path(tinytorch.__file__).parents[1] / "tito.toml"
        name = (
            tomllib.loads(path.read_text(encoding="utf-8")).get("learner", {}).get("name", "")
        )
    except (OSError, ValueError, AttributeError):
        return ""
    return name if isinstance(name, str) else ""


def ladder_of(folder, seed):
    """(steps of the ladder, "") of the learner's GPT, or ([], why there are none)."""
    from tinytorch.data.gpt_files import load_gpt
    from tinytorch.data.texts import load_text

    if not (folder / "gpt.npz").exists():
        return [], ""
    try:
        model, tokenizer = load_gpt(folder / "gpt.npz")
        return climb(model, tokenizer, load_text("test")[:CHARACTERS], seed), ""
    except (CheckpointError, ValueError, KeyError, *NOT_DONE) as error:
        return [], f"your GPT cannot be judged: {error}"


def table(head, rows, own=()):
    """An HTML table; a row whose second cell is empty is a step that is left open.

    own  names of the learner's entries: their rows are bold
    """
    lines = [f"<tr>{''.join(f'<th>{html.escape(cell)}</th>' for cell in head)}</tr>"]
    for row in rows:
        cells = "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row)
        kind = " class=open" * (not row[1]) + " class=own" * (row[1] in own)
        lines.append(f"<tr{kind}>{cells}</tr>")
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'


ABOUT = """<b>Bold</b>: my own networks. The others are given by the course; "leaked" has
learned the public test. Entries share a rank where the test cannot tell them apart."""
HEAD = ("step", "bits per character", "against as trained", "bytes", "tokens per CPU s", "")


def page(board, own, steps, figure, notes, seed):
    """The page that one can show, a str.

    board  {event: rows of (rank, entry, right answers, bytes, FLOPs, reason)}
    own    names of the learner's entries
    """
    name, today = learner(), date.today()
    title = f"The networks of {name}" if name else "My networks"
    parts = [f"<h1>{html.escape(title)}</h1>", f"<p>{today.day} {today:%B %Y}, seed {seed}</p>"]
    parts.append(f"<p>{ABOUT}</p>")
    for event, rows in board.items():
        head = ("rank", "entry", "right answers", "bytes", "FLOPs", "")
        parts += [f"<h2>{html.escape(event)}</h2>", table(head, rows, own)]
    if steps:
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=120)
        data = base64.b64encode(file.getvalue()).decode()
        alt = (
            "Bits per character against bytes and tokens per second; the table has the numbers."
        )
        done = [step for step in steps if step.bits is not None]
        parts += ["<h2>The ladder of the GPT</h2>", table(HEAD, rows_of(steps))]
        parts.append(f'<p><img src="data:image/png;base64,{data}" alt="{alt}"></p>')
        said = (
            "The intervals contain the mean with a probability of 95 %. The speeds are medians "
        )
        parts.append(
            f"<p>{said}of {ROUNDS}, with the lowest and the highest. "
            "Vertical bars are the intervals of the change against the model as trained.</p>"
        )
        done = [step for step in done if step.text]  # the simulator writes none
        for when, step in (("as trained", done[0]), (f"after: {done[-1].name}", done[-1])):
            parts.append(f"<h3>It writes, {when}, with seed {seed}</h3>")
            parts.append(f"<pre>{html.escape(step.text)}</pre>")
    if notes:
        parts.append(f"<ul>{''.join(f'<li>{html.escape(note)}</li>' for note in notes)}</ul>")
    commands = [f"tito milestone run {file} --again" for file in TRAINED_BY]
    commands.append(f"tito milestone run olympics --mine --seed {seed}")
    parts.append(
        "<h2>To compute this again</h2><p>A network that was trained with another seed than 0 "
        f"needs that --seed, too.</p><pre>{html.escape(chr(10).join(commands))}</pre>"
    )
    return html_page(title, "\n".join(parts), STYLE, "img-src data:")


def place_on_board(board, own, steps):
    """The learner's place on the board, in one line, as `tito status` shows it.

    own  names of the learner's entries
    """
    rows = board["Digits, fresh"]
    ranks = [f"{name} rank {rank}" for rank, name, *_ in rows if name in own and rank != "-"]
    parts = [f"{', '.join(ranks)} of {len(rows)} on fresh digits"] if ranks else []
    if done := [step for step in steps if step.bits is not None]:
        first, last = (step.bits.mean() for step in (done[0], done[-1]))
        parts.append(f"your GPT {first:.3f} bits per character, {last:.3f} after the ladder")
    today = date.today()
    return f"The olympics of {today.day} {today:%B %Y}: {'; '.join(parts)}" if parts else ""


def write_page(line, *parts):
    """Write the page, and the line for `tito status`, beside the milestones; returns the path
    of the page."""
    path = place("olympics_mine").with_suffix(".html")
    files.write(path, page(*parts))
    files.write(path.with_suffix(".txt"), line + "\n")
    return path

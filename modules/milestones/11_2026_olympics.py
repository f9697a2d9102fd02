"""2026: which model is the best? A referee decides, by what it computes itself.

Large models are compared on leaderboards. Some leaderboards were misled: by models that had
seen the test, by differences that were only luck, and by results that could not be computed
again. Here the referee of lesson 25 judges seven models that read digits: on the public test,
on fresh digits, and with a limit of bytes. Then come the cheats: forged and missing rows, a
program inside the weights, a file that becomes huge, weights of `nan`, and a wrong size. The
referee has to find all of them.

One entry has learned the test digits. It loses many answers on fresh digits, but honest entries
lose nearly as many. The leak shows because it is ahead of an honest CNN on the public test, and
behind it on fresh digits.

The program also judges your own networks, those of the milestones digits_mlp, digits_cnn, gpt
and circuits, and makes the GPT smaller and faster step by step:
`tito milestone run olympics --mine`.

Teachers can let it judge the entries of a class:
`tito milestone run olympics --class FOLDER`, with `--help` for the rules.
"""

# /// milestone
# title = "A referee judges models, and finds the cheats"
# needs = [
#     "tensor", "activations", "layers", "losses", "autograd", "convolutions", "profiling",
#     "olympics",
# ]
# seconds = 60
# alt = """Two panels with the accuracies of seven entries and their intervals over the \
#     bytes of their arrays, on a logarithmic axis. On the public test the entry that has \
#     learned the test is at 100 %; on fresh digits it has fewer right answers than the CNNs."""
# options = true
# [goal]
# "cheats that were found" = 1.0
# "answers by which the leaked entry is ahead of the CNN, public test" = 1
# "answers by which the leaked entry is behind the CNN, fresh digits" = 5
# [at_most]
# "honest entries with the sign of a leak" = 0
# "true results that verification rejects" = 0
# ///

import argparse
import io
import os
import sys
from pathlib import Path

import numpy as np
from olympics_class import EVENTS, judge_class
from olympics_mine import TRAINED_BY, draw_ladder, ladder_of, missing, own_circuit, own_entries
from olympics_mine import place_on_board, rows_of, write_page
from saved import place

from tinytorch.core.olympics import Entry, Report, judge, read_arrays, referee, verify
from tinytorch.data.image_sets import flat_digits
from tinytorch.data.olympics import fresh_digits, given_entries

RULES = "\n".join(f"  {name:18} {event.rule}" for name, event in EVENTS.items())
CLASS_HELP = f"""Judge your own networks, or the entries of a class.

With --mine, the networks that your milestones saved are on the board beside the seven given
ones, and your GPT climbs a ladder: smaller and faster step by step, by your own functions.

FOLDER contains a folder or a zip for each learner. An entry is a pair of files, NAME.npz with
arrays and NAME.toml with:

  lesson = "olympics"
  build = "mlp"          or "cnn" or "gpt"
  hidden = 32            the sizes of the model: hidden; or first and second;
                         or vocab_size, context, embed_dim, layers and num_heads

Events:
{RULES}

Digits are the test digits, rotated and moved at random by the seed. Each entry is judged in its
own process, with limits of time and memory. No code of an entry runs: this is a closed
division, in which an entry consists of arrays and of the sizes of a model from a fixed list.
The results are written to board.csv and board.html in FOLDER.
"""


class Program:
    """An object whose pickle would run a program: here it only notes that it was opened."""

    opened = []

    def __reduce__(self):
        return Program.opened.append, ("opened",)


def packed_file(compress=False, **arrays):
    """An .npz file in memory."""
    file = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(file, **arrays)
    file.seek(0)
    return file


def refused(file):
    """Whether `read_arrays` refuses a file, and no program inside it has run."""
    del Program.opened[:]
    try:
        read_arrays(file)
    except ValueError:
        return not Program.opened
    return False


def changed(report, number, **values):
    """A report in which one row has other values."""
    rows = [dict(row) for row in report.rows]
    rows[number] |= values
    return Report(rows)


def cheats(report, entries, events):
    """{what was tried: whether the referee found it}"""
    first, rows = entries[0], report.rows
    spoiled = {name: a * np.float32(np.nan) for name, a in first.weights.items()}
    x, labels, _ = events["public"]
    tried = {
        "forged accuracy": verify(changed(report, 0, right=359), entries, events),
        "forged FLOPs": verify(changed(report, 1, flops=1), entries, events),
        "missing row": verify(Report(rows[:-1]), entries, events),
        "row added": verify(Report([*rows, rows[0] | {"right": 359}]), entries, events),
        "program in the weights": refused(packed_file(w=np.array([Program()], dtype=object))),
        "file that becomes huge": refused(packed_file(True, w=np.zeros(10**6, np.float32))),
        "nan": not judge(Entry("nan", first.build, spoiled), "public", x, labels, {})["valid"],
        "too large": not judge(entries[4], "small", x, labels, {"bytes": 10_000})["valid"],
    }
    return {name: bool(found) for name, found in tried.items()}


def leads(report, event, reference="CNN"):
    """{entry: by how many right answers it is ahead of `reference` in an event}"""
    right = {row["entry"]: row["right"] for row in report.rows if row["event"] == event}
    return {name: count - right[reference] for name, count in right.items()}


def draw(report, names):
    """Accuracy with its interval over the bytes, in a panel for each of two events."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 1, figsize=(7, 8), layout="constrained", sharex=True)
    for axes, event in zip(panels, names):
        ranks = report.medals(event)
        for row in [row for row in report.rows if row["event"] == event]:
            share, (low, high) = row["right"] / row["n"], row["interval"]
            size = row["bytes"] * (1.04 if row["entry"] == "leaked" else 1)  # beside the MLP's
            colour = "#c62828" if row["entry"] == "leaked" else "#1b69aa"
            axes.plot([size, size], [low, high], color=colour)
            axes.plot(size, share, "o", color=colour)
            text = f"{row['entry']} (rank {ranks[row['entry']]})"
            axes.annotate(text, (size, high), (0, 4), textcoords="offset points", ha="center",
                          fontsize=9, color=colour)  # fmt: skip
        axes.set(title=f"{event} digits", ylabel="accuracy", xscale="log")
        axes.margins(0.18, 0.12)
    panels[-1].set_xlabel("bytes of all arrays")
    return figure


def parsed(words):
    """The options of a class."""
    parser = argparse.ArgumentParser(
        prog="tito milestone run olympics",
        description=CLASS_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--mine", action="store_true", help="judge the networks that your milestones saved"
    )
    parser.add_argument(
        "--class", dest="folder", metavar="FOLDER", help="submissions of a class"
    )
    parser.add_argument("--seed", type=int, help="of the fresh digits; the same as `tito`'s")
    parser.add_argument(
        "--text", metavar="FILE", help="UTF-8 text for the GPTs, new to everybody"
    )
    chosen = parser.parse_args(words)
    if chosen.mine and (chosen.folder or chosen.text):
        sys.exit("--mine needs no other option")
    if words and not (chosen.folder or chosen.mine):
        sys.exit("--mine or --class FOLDER is needed with other options")
    if chosen.folder and not Path(chosen.folder).is_dir():
        sys.exit(f"--class {chosen.folder}: there is no such folder")
    if chosen.text and not Path(chosen.text).is_file():
        sys.exit(f"--text {chosen.text}: there is no such file")
    return chosen


def rows_of_event(report, event):
    """The texts (rank, entry, right answers, bytes, FLOPs, reason) of each entry in an event.
    The best comes first.
    """
    ranks = report.medals(event)
    rows = [row for row in report.rows if row["event"] == event]
    return [
        (
            str(ranks.get(row["entry"], "-")),
            row["entry"],
            f"{row['right']} of {row['n']}" if row["valid"] else "",
            f"{row['bytes']:,}",
            f"{row['flops']:,}",
            row["reason"],
        )
        for row in sorted(rows, key=lambda row: -row["right"])
    ]


def judge_mine(seed):
    """Judge the learner's own networks beside the given ones; returns (measured, figure)."""
    folder = place("gpt").parent
    notes, (own, problems) = missing(folder), own_entries(folder)
    circuit, repeats, more = own_circuit(folder, seed)
    problems += more
    if len(notes) == len(TRAINED_BY) and not own and not problems:
        sys.exit("\n  ".join(["you have no trained network yet:", *notes]))
    given = [Entry(name, *given) for name, given in given_entries().items()]
    events = {"public": (*flat_digits("test"), {}), "fresh": (*fresh_digits(seed), {})}
    report = referee([*given, *own], events)
    board = {f"Digits, {event}": rows_of_event(report, event) for event in reversed(events)}
    board |= {event: rows_of_event(referee(circuit, repeats), event) for event in repeats}
    names = [entry.name for entry in [*own, *circuit]]
    for event, rows in board.items():
        print(f"\n{event}:")
        for rank, name, right, size, work, reason in rows:
            mark = ">" if name in names else " "
            print(f"{mark} {rank}  {name:14} {right:10}  {size:>9} bytes  {work:>13}  {reason}")
    print("\nThe ladder of your GPT:" * (folder / "gpt.npz").exists(), flush=True)
    steps, problem = ladder_of(folder, seed)
    notes += [text.replace(f"{folder}{os.sep}", "") for text in (*problems, problem) if text]
    measured = {
        f"digits, fresh: {row['entry']}": row["right"] / row["n"]
        for row in report.rows
        if row["event"] == "fresh" and row["entry"] in names and row["valid"]
    }
    figure = draw_ladder(steps) if steps else None
    for step, *cells in rows_of(steps) if steps else ():
        print(f"  {step:22} {'  '.join(cell for cell in cells if cell)}")
    if steps:
        done = [step for step in steps if step.bits is not None]
        measured["bits per character, as trained"] = float(done[0].bits.mean())
        measured["bits per character, last step"] = float(done[-1].bits.mean())
        last = [step for step in done if step.text][-1]
        print(f"\nAs trained: {done[0].text}\n{last.name}: {last.text}")
    print("".join(f"\n{note}" for note in notes))
    line = place_on_board(board, names, steps)
    path = write_page(line, board, names, steps, figure, notes, seed)
    print(f"The page, which you can show: {os.path.relpath(path)}")
    return measured, figure


def run(seed=0, words=()):
    """Judge the given entries, the learner's own, or a class's; returns (measured, figure)."""
    chosen = parsed(words)
    if chosen.mine:
        return judge_mine(seed if chosen.seed is None else chosen.seed)
    if chosen.folder:
        seed = seed if chosen.seed is None else chosen.seed
        counts = judge_class(Path(chosen.folder), seed, chosen.text)
        print(", ".join(f"{count:.0f} {name}" for name, count in counts.items()))
        return {}, None

    entries = [Entry(name, *given) for name, given in given_entries().items()]
    x, labels = flat_digits("test")
    events = {
        "public": (x, labels, {}),
        "fresh": (*fresh_digits(seed), {}),
        "under 5,000 bytes": (x, labels, {"bytes": 5000}),
    }
    report = referee(entries, events)
    for event in events:
        print(f"\n{event}: rank, entry, right answers, bytes, FLOPs")
        for rank, name, right, size, work, reason in rows_of_event(report, event):
            print(f"  {rank}  {name:12} {right:10}  {size:>6}  {work:>11}  {reason}")
    found = cheats(report, entries, events)
    print("\nTried, and found by the referee:")
    for name, caught in found.items():
        print(f"  {name:24} {'found' if caught else 'NOT FOUND'}")
    right = {(row["entry"], row["event"]): row["right"] for row in report.rows}
    public, fresh = leads(report, "public"), leads(report, "fresh")
    signs = [name for name in public if public[name] > 0 > fresh[name]]
    print("\nTest digits learned? Answers lost on fresh digits, and ahead of the CNN:")
    for name in public:
        lost = right[name, "public"] - right[name, "fresh"]
        print(
            f"  {name:12} lost {lost:3}   ahead: public {public[name]:3}, fresh "
            f"{fresh[name]:3}  {'the sign of a leak' if name in signs else ''}"
        )
    measured = {
        "cheats that were found": sum(found.values()) / len(found),
        "answers by which the leaked entry is ahead of the CNN, public test": public["leaked"],
        "answers by which the leaked entry is behind the CNN, fresh digits": -fresh["leaked"],
        "honest entries with the sign of a leak": len([n for n in signs if n != "leaked"]),
        "true results that verification rejects": float(len(verify(report, entries, events))),
    }
    return measured, draw(report, ("public", "fresh"))


if __name__ == "__main__":
    measured, figure = run(words=sys.argv[1:])
    print(measured)
    if figure is not None:
        figure.savefig(Path(__file__).with_suffix(".png"))

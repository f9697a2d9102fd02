"""The tables of the page "Performance", printed: a section for each benchmark,
from `book/measured/*.json`.
"""

import json
import sys
from pathlib import Path

MEASURED = Path(__file__).with_name("measured")

HOW = {
    "engine": "The engine",
    "training": "Training",
    "cli": "The command line",
    "grading": "Grading a class",
}


def performance():
    """A section for each benchmark: what it measured, or how to measure it."""
    return "\n\n".join(f"## {title}\n\n{_measured(name)}" for name, title in HOW.items())


def _measured(name):
    path = MEASURED / f"{name}.json"
    command = f"python benchmarks/{name}.py --json > book/measured/{name}.json"
    if not path.exists():
        return (
            f"Nothing is stored yet. On a machine that does nothing else:\n\n```sh\n{command}\n```"
        )
    try:
        head, rows, note = {
            "engine": _engine,
            "training": _training,
            "cli": _cli,
            "grading": _grading,
        }[name](json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError) as error:
        sys.exit(
            f"book/measured/{name}.json is not what benchmarks/{name}.py prints:"
            f" {type(error).__name__}: {error}."
            f" Make it anew: {command}"
        )
    sides = [
        "---:" if column and cell[:1].isdigit() else "---"
        for column, cell in enumerate((rows or [head])[0])
    ]
    return (
        "\n".join(f"| {' | '.join(row)} |" for row in (head, sides, *rows))
        + f"\n\n{note} Measured by `{command}`."
    )


def _engine(found):
    rows = [
        [
            f"{one['about']}, {one['unit']}",
            _time(m["seconds"]),
            m["peer"],
            _time(m["peer_seconds"]),
            f"{m['ratio']:.2f}",
        ]
        for one in found["workloads"]
        for m in one["measurements"]
    ]
    note = (
        f"Medians of {found['runs']} turns, CPU time of one thread;"
        " a ratio is the median of the turns' own."
    )
    if found["peers"]:
        note += f" {', '.join(f'{name} {version}' for name, version in found['peers'].items())}."
    return ["", "tinytorch", "beside", "", "ratio"], rows, note


def _training(found):
    rows = [
        [
            f"{one['network'].upper()}, {one['epochs']} epochs",
            _time(one["tinytorch"]["cpu_seconds"]),
            _score(one["tinytorch"]),
            "torch",
            _time(one["torch"]["cpu_seconds"]),
            _score(one["torch"]),
            f"{one['ratio']:.2f}",
        ]
        for one in found
    ]
    return (
        ["", "tinytorch", "score", "beside", "", "score", "ratio"],
        rows,
        "CPU time, and the share of the test digits that were read rightly, or the bits per"
        " character of held-out text; the losses of both were compared step by step.",
    )


def _score(found):
    if "accuracy" in found:
        return f"{found['accuracy']:.1%}"
    return f"{found['bits_per_character']:.3f} bits"


def _cli(found):
    rows = [
        [
            f"`{m['command']}`",
            _time(m["seconds"]),
            m["peer"],
            _time(m["peer_seconds"]),
            f"{m['ratio']:.2f}",
        ]
        for m in found["measurements"]
    ]
    return (
        ["", "time", "beside", "", "ratio"],
        rows,
        f"Medians of {found['runs']} pairs of runs, on lesson {found['lesson']}.",
    )


def _grading(found):
    rows = [
        [
            one["name"],
            str(one["submissions"]),
            _time(one["seconds"]),
            f"{one['peak_bytes'] / 1e6:.0f} MB",
        ]
        for one in found["class"]
    ]
    faster = [
        f" {one['name']} grades {one['ratio']:.1f} times as many per worker as {one['peer']}."
        for one in found["ratios"]
    ]
    for growth in found["growth"]:
        points, line = growth["points"], growth["lines"]["seconds"]
        workers = f"{growth['workers']} worker{'s' * (growth['workers'] > 1)}"
        faster.append(
            f" From {points[0]['submissions']} to {points[-1]['submissions']} submissions,"
            f" {workers}: {_time(line['start'])} and "
            f"{_time(line['each'])} for each, no class more than {line['off_percent']:.0f} % off "
            "that."
        )
    return (
        ["", "graded", "time", "memory"],
        rows,
        f"{found['runs']} turns, isolation {found['isolation']}.{''.join(faster)}",
    )


def _time(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g}\N{NO-BREAK SPACE}{unit}"
    return f"{seconds * 1e9:.3g}\N{NO-BREAK SPACE}ns"


print(performance())

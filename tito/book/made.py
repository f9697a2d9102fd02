"""The parts of the book's pages that are made: a line `<!-- made: NAME -->` in a page is replaced by one of them.

lessons      the lessons and milestones in a table, and in the site's contents
commands     every command, from tito itself
performance  what the benchmarks measured, from `book/measured/*.json`
graph        the drawn graph of "How autograd works", with the engine's own numbers
"""

import html
import json
import os
import re
import subprocess
import sys

from tito import milestone
from tito.book import pages
from tito.errors import TitoError

MARK = re.compile(r"^<!-- made: (\w+) -->$", re.M)


def filled(page, text, root, package):
    """The page's text with its made parts in place. `package` is the folder with the course's package."""

    def part(found):
        if found.group(1) not in PARTS:
            raise TitoError(
                f"book/{page}: there is no made part {found.group(1)!r}.",
                f"There are: {', '.join(PARTS)}.",
                1,
            )
        return PARTS[found.group(1)](root, package)

    return MARK.sub(part, text)


def plain_index(root):
    """The first page of a course that has none of its own."""
    return f"# {root.name}\n\n<!-- made: lessons -->\n"


def lessons(root, package):
    """Every lesson, and each milestone after the last lesson it needs: the order to read them in."""
    found = []
    for entry in root.lessons:
        meta = entry.declared.meta
        row = f"| [{entry.number:02}. {meta['title']}](lessons/{entry.folder}.ipynb) | {_escaped(meta['summary'].rstrip('.'))} | {meta['hours']:g} |"
        found.append((entry.number, 0, f"lessons/{entry.folder}", row))
    for one in milestone.milestones(root):
        summary = " ".join(pages.summary_of(one).partition("\n\n")[0].split())
        row = f"| [{one.year}. {_escaped(one.title)}](milestones/{one.path.stem}.ipynb) | {_escaped(summary.rstrip('.'))} | |"
        found.append(
            (
                max((root.lesson(name).number for name in one.needs), default=0),
                one.number,
                f"milestones/{one.path.stem}",
                row,
            )
        )
    found.sort()
    contents, rows = ("\n".join(one[part] for one in found) for part in (2, 3))
    return (
        "| lesson | what it is about | hours |\n| --- | --- | ---: |\n"
        + rows
        + f"\n\n```{{toctree}}\n:hidden:\n:caption: Lessons\n\n{contents}\n```"
    )


# Commands.


def commands(root, package):
    """Every command as `tito COMMAND --help` knows it: who it is for, what it does, its words, an example."""
    import typer

    import tito.cli_class  # noqa: F401  adds the instructor's commands
    from tito.cli import app

    groups = {"For learners": [], "For instructors": [], "For authors": []}
    for name, command in typer.main.get_command(app).commands.items():
        for words, one in _leaves(f"tito {name}", command):
            groups[_audience(one)].append(_command(words, one))
    return "\n\n".join(
        f"## {title}\n\n" + "\n\n".join(found) for title, found in groups.items() if found
    )


def _leaves(words, command):
    if hasattr(command, "commands"):
        for name, one in command.commands.items():
            yield from _leaves(f"{words} {name}", one)
    elif not command.hidden:
        yield words, command


def _audience(command):
    if "For authors:" in (command.help or ""):
        return "For authors"
    return "For instructors" if command.callback.__module__ == "tito.cli_class" else "For learners"


def _command(words, command):
    text, _, example = (command.help or "").partition("Example: ")
    text = re.sub(
        r"^For (?:authors|instructors): (.)", lambda found: found.group(1).upper(), _one_line(text)
    )
    parts = [f"### {words}", _escaped(text)]
    if example:
        parts.append(f"```sh\n{_one_line(example)}\n```")
    rows = [
        f"| `{_name(one)}` | {_escaped(_one_line(one.help))} |"
        for one in command.params
        if "--root" not in one.opts
    ]
    if rows:
        parts.append("\n".join(["| word | what it says |", "| --- | --- |", *rows]))
    return "\n\n".join(parts)


def _name(parameter):
    """A parameter as one types it: "--jobs N"; a switch without a value."""
    value = "" if getattr(parameter, "is_flag", False) else parameter.make_metavar(None)
    value = re.sub(
        r"<(\w+)( range)?>",
        lambda found: "NUMBER" if found.group(2) else found.group(1).upper(),
        value,
    ).replace("|", "\\|")
    return (
        value
        if parameter.param_type_name == "argument"
        else f"{', '.join([*parameter.opts, *parameter.secondary_opts])} {value}".strip()
    )


def _one_line(text):
    return " ".join((text or "").split())


def _escaped(text):
    """Plain text as Markdown: what stands between backticks stays, the rest means nothing special."""
    parts = text.split("`")
    return "`".join(
        part if number % 2 else re.sub(r"([\\*_<>$|\[\]#])", r"\\\1", part)
        for number, part in enumerate(parts)
    )


# Measurements.

HOW = {
    "engine": "The engine",
    "training": "Training",
    "cli": "The command line",
    "grading": "Grading a class",
}


def performance(root, package):
    """A section for each benchmark: what it measured, or how to measure it."""
    return "\n\n".join(f"## {title}\n\n{_measured(root, name)}" for name, title in HOW.items())


def _measured(root, name):
    path = root.path / "book" / "measured" / f"{name}.json"
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
        raise TitoError(
            f"book/measured/{name}.json is not what benchmarks/{name}.py prints: {type(error).__name__}: {error}.",
            f"Make it anew: {command}",
            1,
        ) from None
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
    note = f"Medians of {found['runs']} turns, CPU time of one thread; a ratio is the median of the turns' own."
    if found["peers"]:
        note += f" {', '.join(f'{name} {version}' for name, version in found['peers'].items())}."
    return ["", "tinytorch", "beside", "", "ratio"], rows, note


def _training(found):
    rows = [
        [
            f"{one['network'].upper()}, {one['epochs']} epochs",
            _time(one["tinytorch"]["cpu_seconds"]),
            f"{one['tinytorch']['accuracy']:.1%}",
            "torch",
            _time(one["torch"]["cpu_seconds"]),
            f"{one['torch']['accuracy']:.1%}",
            f"{one['ratio']:.2f}",
        ]
        for one in found
    ]
    return (
        ["", "tinytorch", "digits read", "beside", "", "digits read", "ratio"],
        rows,
        "CPU time, and the share of the test digits that were read rightly; the losses of both were compared step by step.",
    )


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
    growth, line = found["growth"]["points"], found["growth"]["lines"]["seconds"]
    faster.append(
        f" From {growth[0]['submissions']} to {growth[-1]['submissions']} submissions, {found['growth']['workers']} workers: {_time(line['start'])} and "
        f"{_time(line['each'])} for each, no class more than {line['off_percent']:.0f} % off that."
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


# The drawn graph.

PLACES = {
    "x": (70, 40),
    "y": (250, 40),
    "a": (250, 150),
    "b": (160, 260),
    "loss": (160, 370),
}  # the middle of each box
WIDE, HIGH = 130, 62


def graph(root, package):
    """The picture in its last state, every step in words, and, for the page's script, the steps as data."""
    program = root.path / "book" / "graph.py"
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
    } | {"PYTHONPATH": str(package)}
    ran = subprocess.run(
        [sys.executable, str(program)],
        env=environment,
        cwd=package,
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        last = (ran.stderr.strip().splitlines() or ["without a word"])[-1]
        raise TitoError(
            f"book/graph.py fails: {last}",
            "The book draws its graph with the engine: mend either.",
            1,
        )
    found = json.loads(ran.stdout)
    last = found["steps"][-1]["grads"]
    drawn = [_edge(*edge) for edge in found["edges"]] + [
        _node(one, last[one["name"]]) for one in found["nodes"]
    ]
    said = "".join(f"<li>{html.escape(step['says'])}</li>" for step in found["steps"])
    data = json.dumps(found["steps"]).replace("<", "\\u003c")
    described = " ".join(
        " = ".join(filter(None, [one["name"], one["made"], f"{one['value']:g}."]))
        for one in found["nodes"]
    )
    return (
        f'<figure class="graph-steps"><svg viewBox="0 0 320 412" role="img" aria-label="A graph of five numbers. {html.escape(described)}">{"".join(drawn)}</svg>'
        '<div class="told"><div class="controls" hidden><button type="button" data-by="-1">Back</button>'
        '<input type="range" min="0" value="0" aria-label="step"><button type="button" data-by="1">Next</button></div>'
        f'<ol aria-live="polite">{said}</ol></div><script type="application/json">{data}</script></figure>'
    )


def _node(one, slope):
    x, y = PLACES[one["name"]]
    title = f"{one['name']} = {one['made']}" if one["made"] else one["name"]
    return (
        f'<g data-node="{one["name"]}"><rect x="{x - WIDE / 2:g}" y="{y - HIGH / 2:g}" width="{WIDE}" height="{HIGH}" rx="6"/>'
        f'<text x="{x}" y="{y - 12}" class="name">{html.escape(title)}</text><text x="{x}" y="{y + 5}" class="value">value {one["value"]:g}</text>'
        f'<text x="{x}" y="{y + 22}" class="slope">slope {slope:g}</text></g>'
    )


def _edge(one, other):
    (x1, y1), (x2, y2) = PLACES[one], PLACES[other]
    y1, y2 = y1 + HIGH / 2, y2 - HIGH / 2
    middle = (y1 + y2) / 2
    return f'<path data-edge="{one} {other}" d="M{x1} {y1:g} C{x1} {middle:g} {x2} {middle:g} {x2} {y2:g}"/>'


PARTS = {"lessons": lessons, "commands": commands, "performance": performance, "graph": graph}

"""The tables and plots of the page "Performance", printed: a section for each benchmark, from
`book/measured/*.json`.

A table has a row for each workload and a column for each peer. A bar is our time as a share of the
peer's, which ends at the line; the notch is where tuned NumPy stands, without an engine.
"""

import html
import json
import math
import sys
from pathlib import Path

MEASURED = Path(__file__).with_name("measured")

HOW = {
    "engine": "The engine",
    "training": "Training",
    "compilation": "The compiler",
    "cli": "The command line",
    "grading": "Grading a class",
}
LONGEST = 1.25  # the ratio that fills a bar
NAMES = {"numpy": "tuned NumPy", "torch": "PyTorch"}
GAP = "\N{NO-BREAK SPACE}"
NAME = 60  # pixels: the width of a curve's name


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
        shown, note = globals()[f"_{name}"](json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, IndexError, ZeroDivisionError) as error:
        sys.exit(
            f"book/measured/{name}.json is not what benchmarks/{name}.py prints:"
            f" {type(error).__name__}: {error}."
            f" Make it anew: {command}"
        )
    return (
        f"{note}\n\n{shown}\n\nRun it: `python benchmarks/{name}.py`. Stored here by `{command}`."
    )


def _engine(found):
    peers = [
        peer
        for peer in found["peers"] or {}
        if any(m["peer"] == peer for one in found["workloads"] for m in one["measurements"])
    ]
    rows = []
    for one in found["workloads"]:
        beside = {m["peer"]: m for m in one["measurements"]}
        ours = one["measurements"][0]["seconds"]
        bound = beside["numpy"]["ratio"] if "numpy" in beside else None
        cells = [_small(_time(ours), f"per {one['unit']}")]
        for peer in peers:
            if (m := beside.get(peer)) is None:
                cells.append("")
            elif peer == "numpy":
                cells.append(_small(_time(m["peer_seconds"]), f"ours {m['ratio']:.3g} ×"))
            else:
                cells.append(_beside(peer, m, bound and m["ratio"] / bound))
        rows.append([html.escape(one["about"]).replace(").", ").<wbr>"), *cells])
    versions = ", ".join(
        f"{_name(peer).removeprefix('tuned ')} {found['peers'][peer]}" for peer in peers
    )
    note = (
        "CPU time of one thread for a forward and a backward pass. Tuned NumPy is the same "
        "mathematics, written by hand without autograd, so the ratio to it is the cost of the "
        f"engine. Times are medians of {found['runs']} turns. In each turn the libraries run one "
        "after the other, and a ratio is the median of the ratios of the turns. "
        f"{versions}.\n\n{LEGEND}"
    )
    return _table(["workload", "tinytorch", *map(_name, peers)], rows), note


def _training(found):
    rows = [
        [
            f"{one['network'].upper()}, {one['epochs']} epochs",
            _small(_time(one["tinytorch"]["cpu_seconds"]), _score(one["tinytorch"])),
            _beside(
                "torch",
                {"ratio": one["ratio"], "peer_seconds": one["torch"]["cpu_seconds"]},
                more=_score(one["torch"]),
            ),
        ]
        for one in found
    ]
    note = (
        "CPU time, and below it the share of test digits that are classified correctly, or the"
        " bits per character of held-out text. The losses of both were compared in each step."
    )
    return _table(["network", "tinytorch", _name("torch")], rows), note


def _score(found):
    if "accuracy" in found:
        return f"{found['accuracy']:.1%}"
    return f"{found['bits_per_character']:.3f} bits"


def _compilation(found):
    versions = list(dict.fromkeys(v for one in found["workloads"] for v in one["versions"]))
    rows = [
        [one["name"], *(_version(one["versions"].get(v, {})) for v in versions)]
        for one in found["workloads"]
    ]
    note = (
        "CPU time of one training step; for gpt, of the loss and its gradients. Below it: how many"
        " times as fast it is as TinyTorch without compilation, with its 95 % confidence interval,"
        " and the peak memory of our versions. NumPy and C are the programs that the compiler of"
        " lesson 21 makes. In the versions named fused, operations were fused by hand."
    )
    return _table(["workload", *map(_name, versions)], rows), note


def _version(found):
    if "microseconds" not in found:
        return ""
    low, high = found["ratio"]
    more = [f"{low:.2f} to {high:.2f} ×"]
    more += [f"{found['peak_bytes'] / 1e6:.0f}{GAP}MB"] if "peak_bytes" in found else []
    return _small(_time(1e-6 * found["microseconds"]), *more)


def _cli(found):
    rows = [
        [
            f"<code>{html.escape(m['command'])}</code>",
            _time(m["seconds"]),
            _beside(m["peer"], m, more=html.escape(m["peer"])),
        ]
        for m in found["measurements"]
    ]
    note = f"Medians of {found['runs']} pairs of runs, on lesson {found['lesson']}."
    return _table(["command", "tito", "beside"], rows), note


def _grading(found):
    each = {one["name"]: one["per_worker"] for one in found["class"]}
    peers = list(dict.fromkeys(one["peer"] for one in found["ratios"]))
    faster = {(one["name"], one["peer"]): one["ratio"] for one in found["ratios"]}
    rows = []
    for one in found["class"]:
        if one["name"] in peers:
            continue
        cells = [
            _small(_time(one["per_worker"]), f"{one['submissions']} graded"),
            f"{one['peak_bytes'] / 1e6:.0f}{GAP}MB",
        ]
        for peer in peers:
            if ratio := faster.get((one["name"], peer)):
                m = {"ratio": 1 / ratio, "peer_seconds": each[peer]}
                cells.append(_beside(peer, m, more=f"{ratio:.3g} times as long"))
            else:
                cells.append("")
        rows.append([html.escape(one["name"]), *cells])
    said = []
    for growth in found["growth"]:
        points, line = growth["points"], growth["lines"]["seconds"]
        said.append(
            f"With {_workers(growth)}, a class of {points[0]['submissions']:,} to"
            f" {points[-1]['submissions']:,} submissions takes {_time(line['start'])}, and"
            f" {_time(line['each'])} more for each submission; every class is within"
            f" {line['off_percent']:.0f} % of this line. The largest class needs"
            f" {growth['memory_ratio']:.2f} times the memory of the smallest."
        )
    note = (
        f"Time of one worker for one submission, in {found['runs']} turns with the isolation"
        f" {found['isolation']}. The peers run the checks in the process of the learner's code."
    )
    table = _table(["", "each", "memory", *map(_name, peers)], rows)
    return table + (_growth(found["growth"], " ".join(said)) if said else ""), note


def _workers(growth):
    return f"{growth['workers']} worker{'s' * (growth['workers'] > 1)}"


# Tables.


def _table(heads, rows):
    """A table with bars; on a phone each row is a card, in which a cell says its column."""
    top = "".join(f'<th scope="col">{html.escape(head)}</th>' for head in heads)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>'
        + "".join(
            f'<td data-column="{html.escape(head)}">{cell}</td>'
            if cell
            else '<td class="none"></td>'
            for head, cell in zip(heads[1:], row[1:])
        )
        + "</tr>\n"
        for row in rows
    )
    return (
        f'<div class="measured"><table>\n<thead><tr>{top}</tr></thead>\n'
        f"<tbody>\n{body}</tbody>\n</table></div>"
    )


def _small(text, *more):
    return text + "".join(f"<small>{one}</small>" for one in more)


def _beside(peer, measured, bound=None, more=""):
    """The cell of a peer: our share of its time, as a number and a bar, and its time."""
    ratio = measured["ratio"]
    said = f"{ratio:.2f} of the time of {_name(peer)}"
    if bound:
        said += f"; tuned NumPy {bound:.2f}"
    return (
        f"<b>{ratio:.2f}</b>{_bar(ratio, bound, said)}<small>{_time(measured['peer_seconds'])}"
        "</small>" + (f"<small>{more}</small>" if more else "")
    )


def _bar(ratio, bound=None, said=""):
    """Our time, in units of the peer's; the notch is where tuned NumPy stands."""
    unit = 100 / LONGEST
    length, slower = min(ratio, LONGEST) * unit, " slower" if round(ratio, 2) > 1 else ""
    parts = [
        f"<title>{html.escape(said)}</title>" if said else "",
        f'<rect class="theirs" width="{unit:g}" height="12"/>',
        f'<rect class="ours{slower}" y="2" width="{length:.4g}" height="8"/>',
        f'<path class="one" d="M{unit:g} 0v12"/>',
    ]
    if ratio > LONGEST:
        parts.append('<path class="beyond" d="M93 2l6 4l-6 4"/>')
    if bound:
        parts.append(f'<path class="bound" d="M{min(bound, LONGEST) * unit:.4g} 0v12"/>')
    role = 'role="img"' if said else 'aria-hidden="true"'
    return f'<svg class="bar" viewBox="-1 -1 102 14" {role}>{"".join(parts)}</svg>'


LEGEND = (
    '<div class="bar-legend">The grey background is the time of the library at the top of the '
    f"column, and the bar is the time of TinyTorch. {_bar(0.8, 0.5)} Here TinyTorch needs 0.8 of "
    "that time. The notch shows tuned NumPy, which needs 0.5 of it. A bar that is longer than the "
    "background means that TinyTorch is slower.</div>"
)


def _name(peer):
    return NAMES.get(peer, peer)


# Plots.

WIDE, HIGH, LEFT, BELOW, ABOVE, RIGHT = 360, 230, 44, 36, 26, 24


def _growth(growths, said):
    """Time and memory against the size of the class, with the line that fits the times."""
    panels = [
        _plot(
            "Seconds",
            growths,
            lambda point: point["seconds"],
            lambda growth, n: (
                growth["lines"]["seconds"]["start"] + growth["lines"]["seconds"]["each"] * n
            ),
        ),
        _plot("Memory, MB", growths, lambda point: point["peak_bytes"] / 1e6),
    ]
    return (
        f'\n<figure class="growth">\n{"".join(panels)}<figcaption>{html.escape(said)}'
        "</figcaption>\n</figure>"
    )


def _plot(title, growths, value, line=None):
    """One panel: a curve for each number of workers, against submissions.

    line  f(growth, submissions), the fitted line; None joins the points
    """
    xs, x_end = _ticks(max(point["submissions"] for one in growths for point in one["points"]))
    ys, y_end = _ticks(max(value(point) for one in growths for point in one["points"]))

    def at(n, y):
        across = LEFT + n / x_end * (WIDE - LEFT - RIGHT)
        return f"{across:.1f}", f"{HIGH - BELOW - y / y_end * (HIGH - BELOW - ABOVE):.1f}"

    parts = [f"<title>{title} against submissions</title>"]
    for y in ys:
        _, row = at(0, y)
        parts.append(f'<path class="grid" d="M{LEFT} {row}H{WIDE - RIGHT}"/>')
        parts.append(f'<text class="left" x="{LEFT - 6}" y="{row}" dy="4">{y:,g}</text>')
    for n in xs:
        column, _ = at(n, 0)
        parts.append(f'<text x="{column}" y="{HIGH - BELOW + 16}">{n:,g}</text>')
    parts.append(f'<text class="name" x="{LEFT}" y="14">{title}</text>')
    parts.append(f'<text x="{(LEFT + WIDE - RIGHT) // 2}" y="{HIGH - 4}">submissions</text>')
    for number, one in enumerate(growths, 1):
        points = [(p["submissions"], value(p)) for p in one["points"]]
        last = points[-1][0]
        ends = [(0, line(one, 0)), (last, line(one, last))] if line else points
        path = "L".join(" ".join(at(n, y)) for n, y in ends)
        dots = "".join(
            f'<circle cx="{column}" cy="{row}" r="3.5"/>'
            for column, row in (at(n, y) for n, y in points)
        )
        column, row = at(*points[-1])
        (x1, y1), (x2, y2) = (map(float, at(n, y)) for n, y in ends[-2:])
        rise = NAME * max(0, (y1 - y2) / (x2 - x1))
        top = max(value(other["points"][-1]) for other in growths) == points[-1][1]
        over = -10 if top else 18 + rise  # the name of a lower curve stands below it
        name = f'<text class="end" x="{column}" y="{float(row) + over:.1f}">{_workers(one)}</text>'
        parts.append(f'<g class="curve-{number}"><path d="M{path}"/>{dots}{name}</g>')
    return f'<svg viewBox="0 0 {WIDE} {HIGH}" role="img">{"".join(parts)}</svg>\n'


def _ticks(most):
    """([0, step, 2 step, ...], the end of the axis): four steps or five, 1, 2 or 5 times 10^k."""
    size = 10.0 ** math.floor(math.log10(most / 4))
    step = next(size * times for times in (1, 2, 5, 10) if size * times * 5 >= most)
    count = math.ceil(most / step - 1e-9)
    return [round(step * number, 10) for number in range(count + 1)], step * count


def _time(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g}{GAP}{unit}"
    return f"{seconds * 1e9:.3g}{GAP}ns"


if __name__ == "__main__":
    print(performance())

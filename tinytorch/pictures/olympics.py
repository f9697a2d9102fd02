"""What lesson 25 draws: places, fronts, intervals with shared ranks, and a board."""

import numpy as np

from tinytorch.core.autograd import no_grad
from tinytorch.core.tensor import Tensor
from tinytorch.data.olympics import decoded
from tinytorch.pictures.drawing import label_ends, panel
from tinytorch.support.svg import WIDTH, Drawing

GOOD, BAD = "C0", "C2"


def answers_of(build, weights, x):
    """The answers of an entry to the rows of `x`, (n,) integers; written without the lesson."""
    model = build()
    own = model.state_dict()
    model.load_state_dict(decoded(weights, {path: own[path].shape for path in own}))
    with no_grad():
        return model.eval()(Tensor(x)).data.argmax(axis=1)


def colour_of(name):
    """Red for the leaked entry, orange for CNNs, blue for others."""
    return BAD if name == "leaked" else "C1" if "CNN" in name else GOOD


def places(right):
    """{name: place}, 1 for the most right answers; entries with equally many share a place.

    >>> places({"a": 3, "b": 9, "c": 3, "d": 1})
    {'a': 2, 'b': 1, 'c': 2, 'd': 4}
    """
    return {name: 1 + sum(k > own for k in right.values()) for name, own in right.items()}


def draw_places(right):
    """The place of each entry on several tests, joined by lines.

    right  {test: {name: number of right answers}}
    """
    columns = [places(answers) for answers in right.values()]
    figure, axes = panel("", "", "place", height=3.6)
    ends = []
    for name in columns[0]:
        line = [column[name] for column in columns]
        axes.plot(range(len(line)), line, colour_of(name), marker="o", markersize=5)
        ends.append((len(line) - 1, line[-1], name, colour_of(name)))
    axes.set_xticks(range(len(right)), [name.replace(" ", "\n") for name in right])
    axes.set_yticks(range(1, len(columns[0]) + 1))
    axes.invert_yaxis()
    label_ends(axes, ends)
    return figure


def draw_front(points, names, cost):
    """Accuracy over a cost, on a logarithmic axis. A staircase joins the points of the front; the
    others are hollow.

    points  {name: (accuracy, cost)}
    names   those on the front
    cost    what the cost is, such as "bytes"
    """
    figure, axes = panel("", cost, "accuracy", height=3.4, xscale="log")
    steps = sorted((points[name][1], points[name][0]) for name in names)
    xs, ys = zip(*steps)
    axes.step(xs, ys, where="post", color=GOOD, linewidth=1)
    costs = [size for _, size in points.values()]
    middle = (max(costs) * min(costs)) ** 0.5
    for name, (accuracy, size) in points.items():
        colour = GOOD if name in names else "C3"
        axes.plot(size, accuracy, "o", color=colour, mfc=colour if name in names else "w")
        place = {"ha": "center", "va": "bottom" if name in names else "top"}
        offset = (0, 6 if name in names else -6)
        if name not in names and costs.count(size) > 1:  # names below each other, at one side
            place = {"ha": "left" if size < middle else "right", "va": "top"}
            offset = (7 if size < middle else -7, 0)
        axes.annotate(
            name, (size, accuracy), offset, textcoords="offset points", color=colour, **place
        )
    axes.xaxis.set_minor_formatter("")
    axes.margins(0.18, 0.2)
    return figure


def draw_ranks(tests):
    """Intervals of all entries as lines with their shared ranks, one block for each test.

    tests  {title: ({name: (low, high)}, {name: rank})}
    """
    step, left = 24, 104
    rows = sum(len(intervals) + 2 for intervals, _ in tests.values())
    lows = [low for intervals, _ in tests.values() for low, _ in intervals.values()]
    least = np.floor(min(lows) * 20) / 20

    def place(share):
        return left + (share - least) / (1 - least) * (WIDTH - left - 74)

    drawing = Drawing(
        "shared ranks",
        "; ".join(
            f"{title}: {', '.join(f'{name} rank {rank}' for name, rank in ranks.items())}"
            for title, (_, ranks) in tests.items()
        ),
        height=step * rows + 24,
    )
    y = 8
    for title, (intervals, ranks) in tests.items():
        drawing.text(12, y + 16, title, anchor="start", bold=True)
        y += step
        for name, (low, high) in intervals.items():
            kind = "value" if ranks[name] == 1 else "gradient"
            drawing.text(12, y + 16, name, anchor="start")
            drawing.line((place(low), y + 12), (place(high), y + 12), kind=kind, width=4)
            drawing.text(WIDTH - 12, y + 16, f"rank {ranks[name]}", kind, "end")
            y += step
        y += step
    for share in np.arange(least, 1.001, 0.05):
        drawing.text(place(share), y + 4, f"{share:.2f}", "muted")
    return drawing


def draw_board(rows, medals):
    """The results of all entries in all events, as a table.

    rows    of a report: see `judge` of the lesson
    medals  {event: {name: rank}}
    """
    names = list(dict.fromkeys(row["entry"] for row in rows))
    events, found = list(medals), {(row["entry"], row["event"]): row for row in rows}
    left, step, top = 88, 46, 56
    width = (WIDTH - left - 6) / len(events)
    drawing = Drawing(
        "a competition",
        "; ".join(
            f"{event}: "
            + ", ".join(
                f"{row['entry']} {row['right'] / row['n']:.1%} "
                + (f"rank {rank}" if (rank := medals[event].get(row["entry"])) else row["reason"])
                for row in rows
                if row["event"] == event
            )
            for event in events
        ),
        height=top + step * len(names) + 8,
    )
    for number, event in enumerate(events):
        for line, word in enumerate(event.rsplit(" ", 1) if len(event) > 9 else [event]):
            drawing.text(left + (number + 0.5) * width, 22 + 18 * line, word, bold=True)
    for line, name in enumerate(names):
        y = top + step * line
        for half, word in enumerate(name.split(", ")):
            below = 25 + 8 * (1 if half else -1) if ", " in name else 25
            drawing.text(6, y + below, word + "," * (", " in name and not half), anchor="start")
        for number, event in enumerate(events):
            row, rank = found[name, event], medals[event].get(name)
            kind = "muted" if rank is None else "value" if rank == 1 else "gradient"
            x, middle = left + number * width, left + (number + 0.5) * width
            drawing.cell(x + 2, y, "", kind, width - 4, step - 6)
            if rank is None:
                drawing.text(middle, y + 25, row["reason"].split(":")[0])
            else:
                drawing.text(middle, y + 17, f"{row['right'] / row['n']:.1%}")
                drawing.text(middle, y + 33, f"rank {rank}")
    return drawing


def draw_seeds(seeds, tests):
    """Accuracies of trainings that differ in their seed, with intervals, on several tests.

    seeds  {seed: list with (accuracy, low, high) for each test}
    tests  names of the tests
    """
    figure, axes = panel("", "", "accuracy")
    for number, results in enumerate(seeds.values()):
        for column, (share, low, high) in enumerate(results):
            x = column + (number - (len(seeds) - 1) / 2) * 0.13
            best = share == max(others[column][0] for others in seeds.values())
            colour = "C1" if best else GOOD
            axes.plot([x, x], [low, high], colour)
            axes.plot(x, share, "o", color=colour)
            axes.annotate(str(number), (x, low), (0, -14), textcoords="offset points",
                          ha="center", color=colour)  # fmt: skip
    axes.set_xticks(range(len(tests)), tests)
    axes.margins(0.1, 0.16)
    return figure

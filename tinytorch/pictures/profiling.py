"""What lesson 19 draws: times and their intervals, the roofline, and shares of work."""

import time

import numpy as np

from tinytorch.pictures.drawing import label_ends, panel, spread
from tinytorch.support.svg import WIDTH, Drawing, short

# A/A tests


def aa_test(program, pairs=60, rounds=40, rng=None):
    """Compare a program with itself, again and again, in two ways; written without the lesson.

    program  a function without arguments
    pairs    how many comparisons
    rounds   how many runs each side of a comparison gets
    returns  {"one after the other": intervals, "interleaved": intervals}, two lists of (low, high):
             95 % intervals for the median of the paired ratios of times
    """
    rng = np.random.default_rng(rng)

    def run():
        start = time.perf_counter()
        program()
        return time.perf_counter() - start

    def interval(times):
        ratios = times[0] / times[1]
        medians = np.median(rng.choice(ratios, (1000, rounds)), axis=1)
        return tuple(np.quantile(medians, [0.025, 0.975]).tolist())

    program()
    intervals = {"one after the other": [], "interleaved": []}
    for _ in range(pairs):
        times = np.array([[run() for _ in range(rounds)] for _ in range(2)])
        intervals["one after the other"].append(interval(times))
    for _ in range(pairs):
        times, orders = np.empty((2, rounds)), rng.integers(0, 2, rounds)
        for number, first in enumerate(orders):
            times[first, number], times[1 - first, number] = run(), run()
        intervals["interleaved"].append(interval(times))
    return intervals


def winners(intervals):
    """How many intervals do not contain 1, so that they declare a winner.

    >>> winners([(0.9, 1.1), (1.01, 1.2), (0.7, 0.8)])
    2
    """
    return sum(not low <= 1 <= high for low, high in intervals)


def draw_intervals(columns, limit=1.25):
    """Intervals for ratios as horizontal lines, in columns; those without 1 are thick and red.

    columns  {title: list of (low, high)}, two of them
    limit    ratios from 1 / limit to limit are drawn, on a logarithmic scale; longer lines are cut
    """
    top, step = 66, 4
    count = max(map(len, columns.values()))
    counts = {title: winners(intervals) for title, intervals in columns.items()}
    drawing = Drawing(
        "A/A tests",
        "; ".join(
            f"{title}: {counts[title]} of {len(intervals)} intervals do not contain 1"
            for title, intervals in columns.items()
        ),
        height=top + step * count + 30,
    )
    width = WIDTH / len(columns)
    for number, (title, intervals) in enumerate(columns.items()):
        middle, half = (number + 0.5) * width, width / 2 - 14

        def place(ratio, middle=middle, half=half):
            return middle + half * np.clip(np.log(ratio) / np.log(limit), -1, 1)

        drawing.text(middle, 22, title, bold=True)
        drawing.text(middle, 42, f"a winner in {counts[title]} of {len(intervals)}", "wrong")
        drawing.line((middle, top - 10), (middle, top + step * count))
        for row, (low, high) in enumerate(intervals):
            y, left, right = top + step * row, place(low), place(high)
            if low <= 1 <= high:
                drawing.line((left, y), (right, y), kind="value")
            else:
                wider = max(0, 6 - (right - left)) / 2  # so that it can be seen
                drawing.line((left - wider, y), (right + wider, y), kind="wrong", width=3)
        for ratio in (1 / limit, 1, limit):
            anchor = "start" if ratio < 1 else "end" if ratio > 1 else "middle"
            drawing.text(place(ratio), top + step * count + 18, f"{ratio:.2g}", "muted", anchor)
    return drawing


class SimulatedComputer:
    """A computer whose speed changes slowly, as it does when other programs run or the processor
    gets warm. It has one program, which takes about a millisecond, and a clock. A few runs are
    interrupted and take much longer. The same seed gives the same times everywhere.

    drift  how much the speed changes from one run to the next, as a share of it

    >>> computer = SimulatedComputer(0)
    >>> start = computer.clock()
    >>> computer.program()
    >>> 0.0005 < computer.clock() - start < 0.1
    True
    """

    def __init__(self, seed, drift=0.01):
        self.rng, self.drift = np.random.default_rng(seed), drift
        self.now, self.slowness = 0.0, 0.0

    def program(self):
        """Run the program, which only makes the clock advance."""
        rng = self.rng
        self.slowness = 0.99 * self.slowness + rng.normal(0, self.drift)
        interruption = rng.exponential(10) if rng.random() < 0.02 else 0
        self.now += 0.001 * float(np.exp(self.slowness + rng.normal(0, 0.05)) + interruption)

    def clock(self):
        """The time in seconds."""
        return self.now


# Times


def draw_runs(times):
    """The times of many runs, in order, with their smallest one, their median and their mean."""
    figure, axes = panel("", "run", "microseconds", yscale="log")
    micro = 1e6 * np.asarray(times)
    axes.plot(np.arange(1, len(micro) + 1), micro, ".", color="C3", markersize=5)
    ends = []
    for name, value, colour in (
        ("minimum", micro.min(), "C3"),
        ("median", np.median(micro), "C0"),
        ("mean", micro.mean(), "C1"),
    ):
        axes.plot([1, len(micro)], [value, value], colour, linewidth=1.5)
        ends.append((len(micro), value, f"{name} {short(float(f'{value:.3g}'))}", colour))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}" if micro.max() < 8 * micro.min() else "")
    label_ends(axes, ends)
    return figure


def draw_order(order, times, title):
    """The times of two programs, a and b, in the order in which they ran, and their medians.

    order  text of a's and b's, one for each run
    times  seconds of each run
    """
    figure, axes = panel(title, "run", "milliseconds", height=2.4)
    milli, order, ends = 1000 * np.asarray(times), np.array(list(order)), []
    for name, colour, marker in (("a", "C0", "o"), ("b", "C1", "s")):
        at = np.flatnonzero(order == name)
        axes.plot(at + 1, milli[at], marker, color=colour, markersize=4, linestyle="")
        median = np.median(milli[at])
        axes.plot([1, len(order)], [median, median], colour, linewidth=1.5)
        ends.append((len(order), median, f"{name}: {median:.3f}", colour))
    axes.set_ylim(*np.quantile(milli, [0, 0.95]) * [0.97, 1.06])
    label_ends(axes, ends, 0.14)
    return figure


# Work


def draw_roofline(machine, points):
    """The roofline of a machine on logarithmic axes, with measured operations.

    machine  has flops_per_second and bytes_per_second
    points   {name: (flops, bytes, seconds)}
    """
    figure, axes = panel(
        "", "FLOPs per byte", "GFLOP per second", xscale="log", yscale="log", height=3.8
    )
    peak, speed = machine.flops_per_second, machine.bytes_per_second
    intensities = [flops / size for flops, size, _ in points.values()]
    ridge = peak / speed
    left, right = min([*intensities, ridge / 10]) / 25, max([*intensities, ridge * 4]) * 2
    axes.plot([left, ridge], [left * speed / 1e9, peak / 1e9], "C1")
    axes.plot([ridge, right], [peak / 1e9, peak / 1e9], "C1")
    axes.axvline(ridge, color="C3", linestyle=":", linewidth=1)
    axes.set_xlim(left, right)
    axes.autoscale_view(scalex=False)
    to_axes, above, below = axes.transData + axes.transAxes.inverted(), [], []
    for name, (flops, size, seconds) in points.items():
        x, y = flops / size, flops / seconds / 1e9
        axes.plot([x], [y], "o", color="C0", markersize=5)
        if x > ridge / 20:  # few points are there, so each has its label below it
            axes.annotate(name, (x, y), (-10 if x < ridge else 0, -7), color="C0",
                          textcoords="offset points", va="top",
                          ha="left" if x < ridge else "center")  # fmt: skip
        else:
            (above if y > x * speed / 1e9 else below).append((y, x, name))
    # no label is on the roof: of a point above it the name is at the left, of others at the right
    for beside, place, end in ((above, 0.03, 1), (below, 0.36, 0)):
        beside.sort()
        heights = [float(to_axes.transform((x, y))[1]) for y, x, _ in beside]
        for height, (y, x, name) in zip(spread(heights, 0.085), beside):
            line = {"arrowstyle": "-", "color": "C0", "lw": 0.8, "shrinkB": 3}
            axes.annotate(name, (x, y), (place, height), textcoords="axes fraction", color="C0",
                          va="center", arrowprops={**line, "relpos": (end, 0.5)})  # fmt: skip
    middle = left**0.3 * ridge**0.7
    axes.annotate("limit: memory", (middle, middle * speed / 1e9), (-8, 4), color="C1",
                  textcoords="offset points", ha="right")  # fmt: skip
    axes.annotate("limit: arithmetic", (right, peak / 1e9), (0, 5), color="C1", ha="right",
                  textcoords="offset points")  # fmt: skip
    return figure


def draw_shares(shares):
    """Bars in groups, each number as its share of the sum of its kind. The group with the largest
    number of the first kind comes first.

    shares  {group: {kind: number}}; every group has the same kinds
    """
    kinds = list(next(iter(shares.values())))
    shares = dict(sorted(shares.items(), key=lambda item: -item[1][kinds[0]]))
    totals = {kind: sum(numbers[kind] for numbers in shares.values()) for kind in kinds}
    figure, axes = panel("", "share in %", "", height=0.8 + 0.68 * len(shares))
    for number, (kind, colour) in enumerate(zip(kinds, ("C1", "C0", "C3"))):
        places = np.arange(len(shares)) + (number - (len(kinds) - 1) / 2) * 0.26
        widths = [100 * numbers[kind] / totals[kind] for numbers in shares.values()]
        axes.barh(places, widths, 0.24, color=colour)
        for place, width in zip(places, widths):
            axes.annotate(f" {kind} {width:.1f}", (width, place), va="center", color=colour,
                          fontsize=11)  # fmt: skip
    axes.set_yticks(range(len(shares)), list(shares))
    axes.set_xlim(0, 130)
    axes.set_xticks([0, 50, 100])
    axes.invert_yaxis()
    return figure


def draw_kept(sizes):
    """Bars of megabytes, the largest first.

    sizes  {name: bytes}
    """
    sizes = dict(sorted(sizes.items(), key=lambda item: -item[1]))
    figure, axes = panel("", "megabytes", "", height=0.8 + 0.32 * len(sizes))
    widths = [size / 1e6 for size in sizes.values()]
    axes.barh(np.arange(len(sizes)), widths, 0.7, color="C0")
    for place, width in enumerate(widths):
        axes.annotate(f" {width:.2f}", (width, place), va="center", color="C0")
    axes.set_yticks(range(len(sizes)), list(sizes))
    axes.set_xlim(0, 1.2 * max(widths))
    axes.invert_yaxis()
    return figure


# Page faults


def page_faults():
    """How many page faults this process has had; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def page_faults_of(f):
    """How many page faults a call of `f` causes after a first call: the median of five calls."""
    f()
    counts = []
    for _ in range(5):
        before = page_faults()
        f()
        counts.append(page_faults() - before)
    return int(np.median(counts))

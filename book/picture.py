"""Draw the README's picture: a terminal in which `tito` tells of a mistake,
beside what the README's example learns.

    python book/picture.py

Nothing in it is made up: the lesson is a released one, filled in up to an exercise with a recorded
misconception, and tested; the plot is of the network that the README's example has just trained.
One file serves light and dark pages, and one, with narrower lines and the plot below them, phones.
"""

import contextlib
import io
import re
import tempfile
from pathlib import Path

from tito.learn import runner, workspace
from tito.lesson import cells, course, misconceptions
from tito.views import report as views

REPOSITORY = Path(__file__).resolve().parents[1]
PICTURE = REPOSITORY / "book" / "_static" / "picture.svg"
NARROW = PICTURE.with_name("picture-narrow.svg")
LESSON, MISTAKE = "backprop", "gradient-overwritten"
COLUMNS, NARROW_COLUMNS, TEXT, BACK = 76, 48, "#e6e6e6", "#17191e"
ARMS = ("#5cb3ff", "#ffb454", "#86d993")

CARD = """<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
     width="{width}" height="{height}" viewBox="0 0 {width} {height}"
     font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace">
<rect width="{width}" height="{height}" rx="12" fill="{back}"/>
{terminal}
<svg x="{left}" y="{top}" width="{side}" height="{side}" viewBox="0 0 {points} {points}">
{plot}
</svg>
</svg>
"""
TERMINAL = """<style>.{unique_id}-matrix {{ font-size: {char_height}px }}
{styles}</style>
<defs>{lines}</defs>
<g class="{unique_id}-matrix" transform="translate(24, 20)">{matrix}</g>"""


def fill_in(course_root, root):
    """Write the course's solutions into a workspace, up to an exercise with the mistake made.

    Returns the lesson and the exercise's id.
    """
    for entry in course_root.lessons:
        script = root.lesson(entry.name).script
        if entry.name != LESSON:
            script.write_text(entry.script.read_text(encoding="utf-8"), encoding="utf-8")
            continue
        mistake = next(one for one in misconceptions.load(entry.declared) if one.id == MISTAKE)
        for exercise in entry.declared.exercises:
            wrong = exercise.id == mistake.exercise
            text = mistake.cell if wrong else exercise.cell.source
            source = cells.read(script)
            script.write_text(source.replaced(source.cell(exercise.name), text), encoding="utf-8")
            if wrong:
                return root.lesson(LESSON), exercise.id


def terminals(*columns):
    """What `tito test` shows of that exercise, in so many columns: for each a list of the parts of
    an SVG, and the number of lines.
    """
    from rich.console import Console
    from rich.terminal_theme import TerminalTheme
    from rich.text import Text

    with tempfile.TemporaryDirectory() as folder:
        source = course.open_root(REPOSITORY)
        workspace.init(Path(folder) / "my-tinytorch", source)
        entry, exercise = fill_in(source, course.open_root(Path(folder) / "my-tinytorch"))
        result = runner.test_lesson(entry, runner.CheckSelection([exercise]))
        consoles = [
            Console(record=True, width=width, file=io.StringIO(), highlight=False,
                    force_terminal=True)
            for width in columns
        ]  # fmt: skip
        for console in consoles:
            console.print(Text(f"$ tito test {exercise}", "bold"), Text(), sep="\n")
            console.print(
                views.tested(
                    result,
                    views.Around({e.id: len(e.hints) for e in entry.declared.exercises}),
                )
            )
    dark, light, red, green, yellow = (
        (23, 25, 30),
        (230, 230, 230),
        (255, 123, 114),
        (126, 231, 135),
        (255, 180, 84),
    )
    theme = TerminalTheme(dark, light, [dark, red, green, yellow, light, light, light, light])
    return [
        (
            console.export_text(clear=False).rstrip("\n").count("\n") + 1,
            console.export_svg(theme=theme, code_format=TERMINAL, unique_id="tito"),
        )
        for console in consoles
    ]


def example():
    """Run the README's example; returns the names it has made."""
    code = re.search(
        r"```python\n(.*?)```", (REPOSITORY / "README.md").read_text(encoding="utf-8"), re.S
    ).group(1)
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(code, "README.md", "exec"), names)
    return names


def plot(model, points, labels):
    """The arms and the part of the plane that the network gives to each, as an SVG of a square,
    and its side in points.
    """
    import matplotlib
    import matplotlib.pyplot as plt
    import numpy as np

    from tinytorch import Tensor, no_grad

    across, up = np.meshgrid(*[np.linspace(-1.15, 1.15, 120, dtype=np.float32)] * 2)
    with no_grad():
        found = model(Tensor(np.stack([across, up], -1))).data.argmax(-1)
    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": "tito",
        "text.color": TEXT,
        "font.family": "monospace",
        "font.size": 14,
    }
    with matplotlib.rc_context(settings):
        figure = plt.figure(figsize=(5, 5), facecolor=BACK)
        axis = figure.add_axes((0, 0.08, 1, 0.92))
        axis.contourf(
            across, up, found, levels=np.arange(len(ARMS) + 1) - 0.5, colors=ARMS, alpha=0.25
        )
        axis.scatter(*points.T, c=[ARMS[label] for label in labels], s=14)
        axis.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), aspect="equal")
        axis.axis("off")
        right = (model(Tensor(points)).data.argmax(-1) == labels).mean()
        figure.text(0.5, 0.025, f"{right:.0%} of {len(labels)} points right", ha="center")
        file = io.StringIO()
        figure.savefig(file, format="svg", facecolor=BACK, metadata={"Date": None, "Creator": None})
        plt.close(figure)
    svg = re.search(r"<svg[^>]*>(.*)</svg>", file.getvalue(), re.S).group(1)
    return re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S).strip(), 5 * 72


def draw():
    """{file: its text}: the picture, and the one for phones."""
    names = example()
    points, labels = names["points"].arrays
    drawn, side = plot(names["model"], points, labels)
    texts = {}
    widths = {PICTURE: COLUMNS, NARROW: NARROW_COLUMNS}
    for (path, columns), (lines, shown) in zip(widths.items(), terminals(*widths.values())):
        width, height = round(columns * 20 * 0.61) + 48, round(lines * 20 * 1.22) + 40
        square = round(0.7 * (height if path == PICTURE else width))
        beside = path == PICTURE
        text = CARD.format(
            width=width + (square + 24 if beside else 0),
            height=height + (0 if beside else square + 24),
            back=BACK,
            terminal=shown,
            plot=drawn,
            left=width if beside else (width - square) // 2,
            top=(height - square) // 2 if beside else height,
            side=square,
            points=side,
        )
        texts[path] = "\n".join(line.rstrip() for line in text.split("\n"))
    return texts


if __name__ == "__main__":
    for path, text in draw().items():
        path.write_text(text, encoding="utf-8")
        print(f"{path.relative_to(REPOSITORY)}: {len(text) / 1000:.0f} kB")

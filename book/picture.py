"""Draw the pictures at the top of the README and of the book's first page: what the README's
example learns, and a terminal in which `tito` tests a lesson that is right, and an exercise that is
not.

    python book/picture.py

Nothing in them is made up: the lessons are released ones, filled in, one exercise with a recorded
mistake, and tested; the plot is of the network that the README's example has just trained.
One file serves light and dark pages.
"""

import contextlib
import io
import re
import tempfile
from pathlib import Path

from tito.learn import runner, workspace
from tito.lesson import cells, course, mistakes
from tito.views import report as views

REPOSITORY = Path(__file__).resolve().parents[1]
STATIC = REPOSITORY / "book" / "_static"
RIGHT, LESSON, MISTAKE = "tensor", "activations", "relu-by-maximum"
COLUMNS, LETTER, MARGIN = 58, 12, 20
TEXT, BACK = "#e6e6e6", "#17191e"
ARMS = ("#5cb3ff", "#ffb454", "#86d993")

CARD = """<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
     width="{width}" height="{height}" viewBox="0 0 {width} {height}"
     font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace">
<clipPath id="card"><rect width="{width}" height="{height}" rx="8"/></clipPath>
<g clip-path="url(#card)"><rect width="{width}" height="{height}" fill="{back}"/>
{content}
</g>
</svg>
"""
TERMINAL = """<style>.{unique_id}-matrix {{ font-size: {char_height}px }}
{styles}</style>
<defs>{lines}</defs>
<g class="{unique_id}-matrix" transform="translate(MARGIN) scale(SCALE)">{matrix}</g>"""
CHARACTER = 20  # the size of rich's letters


def fill_in(course_root, root):
    """Write the course's solutions into a workspace, up to an exercise with the mistake made.

    Returns the exercise's id.
    """
    for entry in course_root.lessons:
        script = root.lesson(entry.name).script
        script.write_text(entry.script.read_text(encoding="utf-8"), encoding="utf-8")
        if entry.name == LESSON:
            recorded = mistakes.load(entry.declared).mistakes
            mistake = next(one for one in recorded if one.id == MISTAKE)
            source, exercise = cells.read(script), entry.declared.exercise(mistake.exercise)
            text = source.replaced(source.cell(exercise.name), mistake.cell)
            script.write_text(text, encoding="utf-8")
            return exercise.id


def terminal():
    """What `tito test` shows of the lesson and of the exercise: a part of an SVG, and the number
    of lines.
    """
    from rich.console import Console
    from rich.terminal_theme import TerminalTheme
    from rich.text import Text

    console = Console(
        record=True, width=COLUMNS, file=io.StringIO(), highlight=False, force_terminal=True
    )
    with tempfile.TemporaryDirectory() as folder:
        source = course.open_root(REPOSITORY)
        workspace.init(Path(folder) / "my-tinytorch", source)
        root = course.open_root(Path(folder) / "my-tinytorch")
        exercise = fill_in(source, root)
        for words, name, chosen in ((RIGHT, RIGHT, []), (exercise, LESSON, [exercise])):
            entry = root.lesson(name)
            result = runner.test_lesson(entry, runner.CheckSelection(chosen))
            hints = {one.id: len(one.hints) for one in entry.declared.exercises}
            console.print(Text(f"$ tito test {words}", "bold"), Text(), sep="\n")
            console.print(views.tested(result, views.Around(hints)))
            console.print()
    dark, light, red, green, yellow = (
        (23, 25, 30),
        (230, 230, 230),
        (255, 123, 114),
        (126, 231, 135),
        (255, 180, 84),
    )
    theme = TerminalTheme(dark, light, [dark, red, green, yellow, light, light, light, light])
    count = console.export_text(clear=False).rstrip("\n").count("\n") + 1
    code = TERMINAL.replace("MARGIN", f"{MARGIN}, {MARGIN * 0.8}")
    code = code.replace("SCALE", str(LETTER / CHARACTER))
    return console.export_svg(theme=theme, code_format=code, unique_id="tito"), count


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
    """The arms and the part of the plane that the network gives to each, as an SVG, and its width
    and height in points.
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
        figure = plt.figure(figsize=(5, 5.4), facecolor=BACK)
        axis = figure.add_axes((0, 0.4 / 5.4, 1, 5 / 5.4))
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
    return re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S).strip(), (5 * 72, 5.4 * 72)


def draw():
    """{file: its text} of the pictures."""
    names = example()
    points, labels = names["points"].arrays
    drawn, (width, height) = plot(names["model"], points, labels)
    shown, lines = terminal()
    pictures = {
        "spirals": (round(width), round(height), drawn),
        "terminal": (
            round(COLUMNS * LETTER * 0.61) + 2 * MARGIN,
            round(lines * LETTER * 1.22 + 1.6 * MARGIN),
            shown,
        ),
    }
    texts = {}
    for name, (width, height, content) in pictures.items():
        text = CARD.format(width=width, height=height, back=BACK, content=content)
        texts[STATIC / f"{name}.svg"] = "\n".join(line.rstrip() for line in text.split("\n"))
    return texts


if __name__ == "__main__":
    for path, text in draw().items():
        path.write_text(text, encoding="utf-8")
        print(f"{path.relative_to(REPOSITORY)}: {len(text) / 1000:.0f} kB")

"""What the demonstrations of a lesson show with the learner's own code.

.tito/results/05_backprop/results.json    {key of the demonstration: {"text", "pictures": names}}
.tito/results/05_backprop/the-chain-rule-c4f1-0-0.svg    its pictures, named for their section
.tito/results/05_backprop/index.html      all of it on one page, for a browser

The keys are those of `demonstrations.py`: they change with the code. So the saved results are also
the list of the demonstrations that need not run again.
"""

import base64
import html
import json
import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tito import files
from tito.learn import progress
from tito.learn.demonstrations import Demonstration
from tito.learn.process import Event
from tito.lesson.course import Entry

DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
LAST = "Look back"  # the section behind the lesson's own end
NAME = re.compile(r"[a-z0-9-]+\.(svg|png)")
STYLE = """
:root { color-scheme: light dark; }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 17px/1.5 system-ui, sans-serif; }
h2 { margin-top: 2.5rem; border-top: 1px solid #8886; padding-top: 1rem; }
pre { overflow-x: auto; background: #8881; padding: .8rem; border-radius: 4px; }
img { max-width: 100%; background: #fff; }
figcaption, .question { color: #777; }
"""

Known = dict[str, dict[str, Any]]  # {key of a demonstration: {"text", "pictures": file names}}


@dataclass
class Result:
    """What one demonstration shows.

    place     where it is: "modules/source/01_tensor/tensor_dev.py:120"
    heading   of its section
    question  what the chapter asks to predict, or ""
    before    how many exercises are above it
    text      what it prints
    pictures  paths from the root,
    alt       what the picture shows, in words
    payoff    whether the chapter says that it ends on this
    """

    place: str
    heading: str
    question: str
    before: int
    text: str
    pictures: list[str] = field(default_factory=list)
    alt: str = ""
    payoff: bool = False


def folder_of(entry: Entry) -> Path:
    return entry.root.state / "results" / entry.folder


def page_of(entry: Entry) -> Path:
    return folder_of(entry) / "index.html"


def load_results(entry: Entry) -> Known:
    """The saved results of a lesson's demonstrations, {key: {"text", "pictures"}}; none where they
    are damaged or a picture is gone, so that the demonstrations run again.
    """
    folder = folder_of(entry)
    try:
        saved = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        names = {path.name for path in folder.iterdir()}
    except (OSError, ValueError, RecursionError):
        return {}
    return saved if _is_sound(saved, names) else {}


def _is_sound(saved: Any, names: set[str]) -> bool:
    return isinstance(saved, dict) and all(
        isinstance(shown, dict)
        and isinstance(shown.get("text"), str)
        and isinstance(shown.get("pictures"), list)
        and all(isinstance(n, str) and NAME.fullmatch(n) and n in names for n in shown["pictures"])
        for shown in saved.values()
    )


def save_results(
    entry: Entry, demonstrations: list[Demonstration], known: Known, fresh: dict[int, Event]
) -> list[Result]:
    """Save what demonstrations of this run showed, and forget what the lesson's code does not show
    any more; write the page anew when something changed.

    known    what `load_results` gave
    fresh    {number of a cell: its event "shown"}
    returns  the Results of the demonstrations that ran well and showed something, in the lesson's
             order
    """
    saved: Known = {}
    for demonstration in demonstrations:
        if event := fresh.get(demonstration.number):
            pictures = _write_pictures(entry, demonstration, event)
            saved[demonstration.key] = {"text": event["text"], "pictures": pictures}
        elif demonstration.key in known:
            saved[demonstration.key] = known[demonstration.key]
    rows = (_result(entry, d, saved[d.key]) for d in demonstrations if d.key in saved)
    results = [result for result in rows if result.text or result.pictures]
    if saved != known or fresh:
        folder = folder_of(entry)
        with progress.locked(entry.root):
            if results:
                write_page(entry, results)
            files.write(folder / "results.json", json.dumps(saved, indent=1))
            names = {name for shown in saved.values() for name in shown["pictures"]}
            for path in folder.iterdir():
                if NAME.fullmatch(path.name) and path.name not in names:
                    path.unlink(missing_ok=True)
    return results


def _write_pictures(entry: Entry, demonstration: Demonstration, event: Event) -> list[str]:
    """Write what a demonstration drew. Returns the files' names."""
    names = []
    words = "-".join(re.findall("[a-z0-9]+", demonstration.heading.lower()))
    section, place = demonstration.key.split("-")
    for n, picture in enumerate(event["pictures"]):
        names.append(f"{words or 'start'}-{section[:4]}-{place}-{n}.{picture['kind']}")
        files.write(folder_of(entry) / names[-1], base64.b64decode(picture["data"]))
    return names


def _result(entry: Entry, demonstration: Demonstration, shown: dict[str, Any]) -> Result:
    folder = folder_of(entry)
    return Result(
        f"{entry.relative(Path(demonstration.file))}:{demonstration.line}",
        demonstration.heading,
        demonstration.question,
        demonstration.before,
        shown["text"],
        [entry.relative(folder / name) for name in shown["pictures"]],
        demonstration.alt,
        demonstration.payoff,
    )


def payoffs_of(results: list[Result]) -> list[Result]:
    """What a lesson ends on: the demonstrations below an exercise that are tagged "payoff"; else
    its last picture, or else the last that it prints, before the questions of "Look back".
    """
    own = [result for result in results if result.before and result.heading != LAST]
    drawn = [result for result in own if result.pictures]
    return [result for result in own if result.payoff] or (drawn or own)[-1:]


def predict(entry: Entry, question: str, answer: str, results: list[Result]) -> None:
    """Save what the learner predicted, with the progress and on the page."""
    with progress.change(entry.root, entry.name) as record:
        record.setdefault("predictions", {})[question] = answer
    write_page(entry, results)


def write_page(entry: Entry, results: list[Result]) -> None:
    record = progress.load(entry.root)["lessons"].get(entry.name, {})
    files.write(page_of(entry), page(entry, results, record.get("predictions", {})))


def open_page(path: Path) -> bool:
    """Open a page in a browser with a window of its own. Returns whether there is one."""
    import webbrowser

    if sys.platform.startswith("linux") and not any(map(os.environ.get, DISPLAYS)):
        return False  # a browser for terminals would take this one
    try:
        return webbrowser.open(path.as_uri())
    except (webbrowser.Error, OSError):
        return False


def page(entry: Entry, results: list[Result], predictions: dict[str, str]) -> str:
    """The page of a lesson: everything that its demonstrations show, and what was predicted."""
    title = html.escape(f"{entry.number:02} {entry.declared.title}, with your code")
    parts: list[str] = []
    heading = None
    for result in results:
        if result.heading != heading:
            heading = result.heading
            parts.append(f"<h2>{html.escape(heading or entry.declared.title)}</h2>")
        if result.question:
            answer = predictions.get(result.question)
            parts.append(
                f'<p class="question">{html.escape(result.question)}'
                + (f" Your prediction: <b>{html.escape(answer)}</b>" if answer else "")
                + "</p>"
            )
        if result.text:
            parts.append(f"<pre>{html.escape(result.text)}</pre>")
        for picture in result.pictures:
            alt = html.escape(result.alt, quote=True)
            name = html.escape(Path(picture).name, quote=True)
            parts.append(f'<figure><img src="{name}" alt="{alt}"></figure>')
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>{title}</title>\n'
        f"<style>{STYLE}</style>\n<h1>{title}</h1>\n" + "\n".join(parts) + "\n</html>\n"
    )

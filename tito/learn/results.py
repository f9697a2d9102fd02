"""What the demonstrations of a lesson show with the learner's own code.

.tito/results/05_backprop/results.json    {key of the demonstration: {"text", "pictures": names}}
.tito/results/05_backprop/the-chain-rule-c4f1-0-0.svg    its pictures, named for their section
.tito/results/05_backprop/index.html      all of it on one page, for a browser

The keys are those of `verdict.demonstrations`: they change with the code. So what is kept here is
also the list of the demonstrations that need not run again.
"""

import base64
import html
import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tito import files
from tito.learn import progress
from tito.lesson.course import Entry

PREDICT = re.compile(r"\bPredict\b")
SENTENCE = re.compile(r"(?<=[.:?!)])\s+(?=[A-Z`$(*])")  # where the next one begins
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
LAST = "Look back"  # the section behind the lesson's own end
NAME = re.compile(r"[a-z0-9-]+\.(svg|png)")
STYLE = """
:root { color-scheme: light dark; }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 17px/1.5 system-ui, sans-serif; }
h2 { margin-top: 2.5rem; border-top: 1px solid #8886; padding-top: 1rem; }
pre { overflow-x: auto; background: #8881; padding: .8rem; border-radius: 4px; }
img { max-width: 100%; background: #fff; }
figcaption, .asked { color: #777; }
"""


@dataclass
class Result:
    """What one demonstration shows.

    place     where it stands: "modules/source/01_tensor/tensor_dev.py:120"
    heading   of its section
    question  what the chapter asks to predict, or ""
    before    how many exercises stand above it
    text      what it prints
    pictures  paths from the root, as they are typed
    alt       what the picture shows, in words
    payoff    whether the chapter says that it ends on this
    """

    place: str
    heading: str
    question: str
    before: int
    text: str
    pictures: list = field(default_factory=list)
    alt: str = ""
    payoff: bool = False


def folder_of(entry: Entry) -> Path:
    return entry.root.state / "results" / entry.folder


def page_of(entry: Entry) -> Path:
    return folder_of(entry) / "index.html"


def will_draw(entry: Entry, warn: Callable[[str], None] = lambda text: None) -> bool:
    """Whether the next test of a lesson probably draws figures again: it passed, and drew some."""
    last = progress.load(entry.root, warn)["lessons"].get(entry.name, {}).get("last", {})
    return last.get("verdict") == "passed" and any(folder_of(entry).glob("*.png"))


def load(entry: Entry) -> dict:
    """What is kept of the demonstrations of a lesson, {key: {"text", "pictures"}}; nothing where
    it is damaged or a picture is gone, so that they run again.
    """
    folder = folder_of(entry)
    try:
        kept = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        names = {path.name for path in folder.iterdir()}
    except (OSError, ValueError, RecursionError):
        return {}
    return kept if _is_sound(kept, names) else {}


def _is_sound(kept, names):
    return isinstance(kept, dict) and all(
        isinstance(one, dict)
        and isinstance(one.get("text"), str)
        and isinstance(one.get("pictures"), list)
        and all(isinstance(n, str) and NAME.fullmatch(n) and n in names for n in one["pictures"])
        for one in kept.values()
    )


def keep(entry: Entry, rows: list[dict], kept: dict, fresh: dict) -> list[Result]:
    """Add to what is kept what demonstrations of this run showed, and forget what the lesson's
    code does not show any more; write the page anew when something changed.

    rows   the lesson's demonstrations, as `verdict.demonstrations` has them
    kept   what `load` gave
    fresh  {key: {"text", "pictures": [{"kind", "data": base64}]}}
    returns  the Results of the demonstrations that ran well and showed something, in the lesson's
             order
    """
    folder, now = folder_of(entry), {}
    for row in rows:
        key = row["key"]
        if key in fresh:
            names, words = [], "-".join(re.findall("[a-z0-9]+", row["heading"].lower()))
            section, place = key.split("-")
            for n, picture in enumerate(fresh[key]["pictures"]):
                names.append(f"{words or 'start'}-{section[:4]}-{place}-{n}.{picture['kind']}")
                files.write(folder / names[-1], base64.b64decode(picture["data"]))
            now[key] = {"text": fresh[key]["text"], "pictures": names}
        elif key in kept:
            now[key] = kept[key]
    every = [_result(entry, row, now[row["key"]]) for row in rows if row["key"] in now]
    every = [one for one in every if one.text or one.pictures]
    if now != kept or fresh:
        with progress.locked(entry.root):
            if every:
                write_page(entry, every)
            files.write(folder / "results.json", json.dumps(now, indent=1))
            names = {name for one in now.values() for name in one["pictures"]}
            for path in folder.iterdir():
                if NAME.fullmatch(path.name) and path.name not in names:
                    path.unlink(missing_ok=True)
    return every


def _result(entry, row, shown):
    folder = folder_of(entry)
    return Result(
        f"{entry.relative(Path(row['file']))}:{row['line']}",
        row["heading"],
        row["question"],
        row["before"],
        shown["text"],
        [entry.relative(folder / name) for name in shown["pictures"]],
        row["alt"],
        row["payoff"],
    )


def payoffs_of(every: list[Result]) -> list[Result]:
    """What a lesson ends on: the demonstrations below an exercise that are tagged "payoff"; else
    its last picture, or else the last that it prints, before the questions of "Look back".
    """
    own = [one for one in every if one.before and one.heading != LAST]
    drawn = [one for one in own if one.pictures]
    return [one for one in own if one.payoff] or (drawn or own)[-1:]


def question_in(text: str) -> str:
    """What a text asks to predict: from the sentence before "Predict", which says what it is
    about, to the end of the paragraph; or "".
    """
    for paragraph in re.split(r"\n\s*\n", text):
        words = " ".join(paragraph.split())
        if found := PREDICT.search(words):
            starts = [0, *(m.end() for m in SENTENCE.finditer(words) if m.end() <= found.start())]
            return words[starts[-2] if len(starts) > 1 else 0 :]
    return ""


def predict(entry: Entry, question: str, answer: str, every: list[Result]) -> None:
    """Keep what the learner predicted, with the progress and on the page."""
    with progress.change(entry.root, entry.name) as record:
        record.setdefault("predictions", {})[question] = answer
    write_page(entry, every)


def write_page(entry: Entry, every: list[Result]) -> None:
    record = progress.load(entry.root)["lessons"].get(entry.name, {})
    files.write(page_of(entry), page(entry, every, record.get("predictions", {})))


def open_page(path: Path) -> bool:
    """Open a page in a browser with a window of its own. Returns whether there is one."""
    import webbrowser

    if sys.platform.startswith("linux") and not any(map(os.environ.get, DISPLAYS)):
        return False  # a browser for terminals would take this one
    try:
        return webbrowser.open(path.as_uri())
    except (webbrowser.Error, OSError):
        return False


def page(entry: Entry, every: list[Result], predicted: dict) -> str:
    """The page of a lesson: everything that its demonstrations show, and what was predicted."""
    title = html.escape(f"{entry.number:02} {entry.declared.title}, with your code")
    parts, heading = [], None
    for one in every:
        if one.heading != heading:
            heading = one.heading
            parts.append(f"<h2>{html.escape(heading or entry.declared.title)}</h2>")
        if one.question:
            said = predicted.get(one.question)
            parts.append(
                f'<p class="asked">{html.escape(one.question)}'
                + (f" Your prediction: <b>{html.escape(said)}</b>" if said else "")
                + "</p>"
            )
        if one.text:
            parts.append(f"<pre>{html.escape(one.text)}</pre>")
        for picture in one.pictures:
            alt = html.escape(one.alt, quote=True)
            name = html.escape(Path(picture).name, quote=True)
            parts.append(f'<figure><img src="{name}" alt="{alt}"></figure>')
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>{title}</title>\n'
        f"<style>{STYLE}</style>\n<h1>{title}</h1>\n" + "\n".join(parts) + "\n</html>\n"
    )

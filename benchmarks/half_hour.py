"""Play a learner, from the README to a trained network.

    python benchmarks/half_hour.py descent
    python benchmarks/half_hour.py backprop ../screens --columns 80 --rows 24

The first form runs the commands of the README and then `tito test` after each exercise. It prints
how many words the learner has read, how many commands they have typed and how many CPU seconds
these took, at the first exercise that is right and at the one that trains. The words are those of
the README down to its first test, of the chapter down to the exercise, and of what `tito`
prints.

The second form plays a learner in `tito watch`, and keeps every screen they see as text.

A made-up learner fills in the lesson's exercises one by one with the course's own solutions, makes
one recorded mistake on the way, answers each question with a guess, and asks for one hint. What
the terminal shows after each step is written as `01.txt`, `02.txt`, ... with the seconds from the
save to the verdict. Needs tmux.
"""

import argparse
import ast
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tito.learn import workspace
from tito.lesson import cells, course, mistakes

REPOSITORY = Path(__file__).resolve().parents[1]
ASKS, DONE = "your prediction?", "q quit"
READ_ON = "then press p"  # the next section has a question
SHOWN = "Not shown yet:", "all results:"  # how the results of a section end
GUESS = "it doubles"
PATIENCE = 60  # seconds for a verdict
DOCUMENTED = (ast.FunctionDef, ast.ClassDef)


class Terminal:
    """A terminal in which a command runs; `screen` is what it shows."""

    def __init__(self, command, folder, columns, rows):
        self.name = f"half-hour-{Path(folder).name}"
        self._tmux("new-session", "-d", "-x", columns, "-y", rows, "-c", folder, command)

    def _tmux(self, *words):
        command = ["tmux", "-L", self.name, "-f", "/dev/null", *map(str, words)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def screen(self):
        return self._tmux("capture-pane", "-p").rstrip()

    def everything(self):
        return self._tmux("capture-pane", "-p", "-S", "-")

    def type(self, *keys):
        self._tmux("send-keys", *keys)

    def close(self):
        self._tmux("kill-server")


class Learner:
    """Somebody at a terminal, who saves, waits, looks and answers."""

    def __init__(self, terminal, folder):
        self.terminal, self.folder, self.steps = terminal, folder, 0
        self.verdicts = self.questions = 0

    def wait(self, save=lambda: None):
        """The seconds from a save to its verdict; then the questions of the sections below."""
        began = time.monotonic()
        save()
        told = self.until(lambda text: text.count(DONE) > self.verdicts)
        seconds = time.monotonic() - began
        self.verdicts = told.count(DONE)
        while READ_ON in " ".join(told.split("\n")[-6:]):
            told = self.predict(sum(map(told.count, SHOWN)))
        return seconds

    def predict(self, before):
        """Press p, and guess at each question; `before` sections were shown already."""
        self.terminal.type("p")
        while True:
            told = self.until(
                lambda text: (
                    text.count(ASKS) > self.questions or sum(map(text.count, SHOWN)) > before
                )
            )
            if told.count(ASKS) <= self.questions:
                return told
            self.questions += 1
            self.keep("asked")
            self.terminal.type("-l", GUESS)
            self.terminal.type("Enter")

    def until(self, holds):
        """Everything on the terminal, once that holds."""
        began = time.monotonic()
        while time.monotonic() - began < PATIENCE:
            if holds(told := self.terminal.everything().rstrip()):
                return told
            time.sleep(0.02)
        raise SystemExit(f"nothing new within {PATIENCE} s:\n{self.terminal.screen()}")

    def keep(self, what, seconds=None):
        self.steps += 1
        head = f"{self.steps:02} {what}" + (f", {seconds:.2f} s" if seconds else "")
        text = f"{head}\n{'=' * len(head)}\n{self.terminal.screen()}\n"
        (self.folder / f"{self.steps:02}.txt").write_text(text, encoding="utf-8")
        print(head, flush=True)


def measure(lesson):
    """Print what it takes to get to the first own result, and to the first training."""
    reference = course.open_root(REPOSITORY).lesson(lesson)
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    readme = text.partition("tito test descent")[0]
    commands = "".join(re.findall(r"```sh\n(.*?)```", readme, re.S))
    typed = re.sub(r"tito start \w+", f"tito start {lesson}", commands).splitlines()
    print("words  commands  CPU seconds")
    with tempfile.TemporaryDirectory() as place:
        mine = Path(place) / "my-tinytorch"
        printed = tito(REPOSITORY, "init", mine) + tito(mine, "start", lesson)
        entry = course.open_root(mine).lesson(lesson)
        for number, exercise in enumerate(reference.declared.exercises):
            write(entry.script, exercise.name, exercise.cell.source)
            typed.append(f"tito test {lesson}")
            report = tito(mine, "test", lesson)
            assert re.search(rf"^{number + 1} exercises? right", report, re.M), report
            printed += report
            trains = exercise.name.startswith("train")
            if trains or not number:
                words = len(
                    f"{readme} {printed} {prose_above(reference.declared, exercise)}".split()
                )
                usage = resource.getrusage(resource.RUSAGE_CHILDREN)
                what = f"first {'training' if trains else 'own result'}, {exercise.name}"
                seconds = usage.ru_utime + usage.ru_stime
                print(f"{words:5,}  {len(typed):8}  {seconds:11.1f}  {what}")
            if trains:
                break


def tito(folder, *words):
    """What a command prints."""
    command = [sys.executable, "-m", "tito", *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout


def prose_above(lesson, exercise):
    """The text of a chapter down to an exercise: its prose, and the docstrings of exercises."""
    texts = []
    for cell in lesson.source.cells:
        if cell.kind != "code":
            texts.append(cell.source)
        elif cell.exercise:
            nodes = [n for n in ast.walk(ast.parse(cell.source)) if isinstance(n, DOCUMENTED)]
            texts += [ast.get_docstring(node) or "" for node in nodes]
        if cell.exercise == exercise.name:
            return " ".join(texts)


def play(lesson, folder, columns, rows):
    source = course.open_root(REPOSITORY)
    with tempfile.TemporaryDirectory() as place:
        mine = Path(place) / "my-tinytorch"
        workspace.init(mine, source)
        root = course.open_root(mine)
        reference, entry = source.lesson(lesson), root.lesson(lesson)
        for lower in source.lessons if reference.declared.prerequisites else ():
            if lower.number < entry.number:
                text = lower.script.read_text(encoding="utf-8")
                root.lesson(lower.name).script.write_text(text, encoding="utf-8")
        mistake = mistakes.load(reference.declared).mistakes[0]
        command = f"{shlex.quote(sys.executable)} -m tito watch {lesson}"
        terminal = Terminal(command, mine, columns, rows)
        try:
            learner = Learner(terminal, folder)
            learner.keep("the beginning", learner.wait())
            for exercise in reference.declared.exercises:
                tries = [("right", exercise.cell.source)]
                if exercise.id == mistake.exercise:
                    tries.insert(0, ("mistake", mistake.cell))
                for what, text in tries:
                    learner.keep(
                        f"{exercise.id}, {what}",
                        learner.wait(lambda: write(entry.script, exercise.name, text)),
                    )
                    if what == "mistake":
                        terminal.type("h")
                        time.sleep(1)
                        learner.keep("key h")
            terminal.type("l")
            time.sleep(1)
            learner.keep("key l")
            (folder / "everything.txt").write_text(terminal.everything(), encoding="utf-8")
        finally:
            terminal.close()


def write(script, exercise, text):
    source = cells.read(script)
    script.write_text(source.replaced(source.cell(exercise), text), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("lesson", help="backprop, say")
    parser.add_argument("folder", type=Path, nargs="?", help="where to keep the screens")
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--rows", type=int, default=40)
    given = parser.parse_args()
    if given.folder:
        given.folder.mkdir(parents=True, exist_ok=True)
        play(given.lesson, given.folder, given.columns, given.rows)
    else:
        measure(given.lesson)

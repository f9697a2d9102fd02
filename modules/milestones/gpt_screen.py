"""What milestone 05 prints while a GPT learns: in a terminal one line that is updated,
elsewhere a line after each tenth of the run.
"""

import shutil
import sys
import textwrap
import time

WIDEST = 88  # characters of a line of prose


def say(text):
    """Print a paragraph, with lines as long as the terminal is wide, 88 characters at most."""
    width = min(shutil.get_terminal_size().columns - 1, WIDEST)
    print(textwrap.fill(" ".join(text.split()), max(20, width)), flush=True)


def cut(text, width):
    """A text of at most `width` characters, whole words and "..." where it is longer.

    >>> cut("a truth universally acknowledged", 22), cut("a truth", 22)
    ('a truth universally...', 'a truth')
    """
    if len(text) <= width:
        return text
    kept = text[: width - 2]
    return f"{(kept.rpartition(' ')[0] or kept[:-1])[: width - 3]}..."


def progress(step, steps, bits, levels, left, width=120):
    """The line after `step` of `steps` training steps.

    bits    bits per character of the held-out text
    levels  {name: bits per character} of what the model is compared with
    left    seconds until the end; None if they are not known yet
    width   characters that fit: what is beaten is left out first, then what comes next

    >>> progress(1200, 3000, 1.83, {"bz2": 1.85, "6-grams": 1.73}, 65, width=80)
    'step 1,200 of 3,000  1.830 bits  next: 6-grams (1.73)  1 min 05 s left'
    >>> progress(1200, 3000, 1.83, {"bz2": 1.85, "6-grams": 1.73}, 65, width=60)
    'step 1,200 of 3,000  1.830 bits  1 min 05 s left'
    """
    beaten = [name for name in levels if bits < levels[name]]
    ahead = [name for name in levels if name not in beaten]
    score, first, following = f"{bits:.3f} bits", f"step {step:,} of {steps:,}", []
    if ahead:
        name = max(ahead, key=levels.get)
        following = [f"next: {name} ({levels[name]:.2f})"]
    rest = [f"{duration(left)} left"] if left is not None and step < steps else []
    lines = [[first, score, *following, *rest], [first, score, *rest], [first, score]]
    if beaten:
        name = min(beaten, key=levels.get)
        better = f"{score}, better than {name} ({levels[name]:.2f})"
        lines.insert(0, [first, better, *following, *rest])
    fitting = [line for line in map("  ".join, lines) if len(line) <= width]
    return [*fitting, "  ".join(lines[-1])[:width]][0]


def duration(seconds):
    """
    >>> duration(65), duration(9.2)
    ('1 min 05 s', '9 s')
    """
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"


class Screen:
    """The progress of one training run.

    steps   in all
    levels  see `progress`
    """

    def __init__(self, steps, levels):
        self.steps, self.levels = steps, levels
        self.is_terminal = sys.stdout.isatty()
        self.began, self.first, self.tenth = time.monotonic(), None, 0

    def show(self, step, bits):
        """Show how far the run is. The first call says at which step it began or went on."""
        now = time.monotonic()
        if self.first is None:
            self.first, self.began = step, now
        done = step - self.first
        left = (now - self.began) / done * (self.steps - step) if done else None
        width = shutil.get_terminal_size().columns - 1 if self.is_terminal else 120
        line = progress(step, self.steps, bits, self.levels, left, width)
        if self.is_terminal:
            end = "\n" if step == self.steps else ""
            print(f"\r{line:{width}}", end=end, flush=True)
        elif 10 * step // self.steps > self.tenth:
            self.tenth = 10 * step // self.steps
            print(line, flush=True)

    def print(self, text):
        """Print a line above the line that is updated, cut where the terminal ends."""
        if self.is_terminal:
            width = shutil.get_terminal_size().columns - 1
            print("\r" + " " * width, end="\r")
            text = cut(text, width)
        print(text, flush=True)

"""The progress of a training in one line, for the perceptron and the digits."""

import shutil
import sys


def show_line(text, is_last):
    """Show a line of progress. In a terminal the next one replaces it; elsewhere only the last
    one is printed.
    """
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{text[:width]:{width}}", end="\n" if is_last else "", flush=True)
    elif is_last:
        print(text, flush=True)

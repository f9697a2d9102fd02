"""What a long computation tells while it works: a bar in a terminal, a line per epoch anywhere."""

import contextlib
import math
import sys


class Display:
    """How training goes. Used as a block; a bar is shown where standard output is a terminal and
    the package Rich is installed, and it is gone when the block ends.

    shown    whether to tell anything
    batches  the batches of an epoch; a bar has an end only if they have a length
    size     how many batches make one step

    >>> with Display(True, range(100), 4) as display:
    ...     display.step(0, 25)
    ...     display.end_epoch(1, 10, {"loss": 0.25}, 1.5)
    epoch  1/10  loss 0.25  1.5 s
    """

    def __init__(self, shown, batches, size):
        self.shown, self.bar = shown, None
        self.steps = math.ceil(len(batches) / size) if hasattr(batches, "__len__") else None

    def __enter__(self):
        if self.shown and sys.stdout.isatty():
            with contextlib.suppress(ImportError):
                from rich.progress import Progress

                self.bar = Progress(transient=True)
                self.task = self.bar.add_task("", total=self.steps)
                self.bar.start()
        return self

    def __exit__(self, *error):
        if self.bar:
            self.bar.stop()

    def step(self, epoch, steps):
        """Move the bar: `steps` steps of the epoch after `epoch` finished ones are done."""
        if self.bar:
            self.bar.update(self.task, description=f"epoch {epoch + 1}", completed=steps)

    def end_epoch(self, epoch, epochs, means, seconds):
        """Print a line: `epoch` of `epochs` are done, the last with these means, {name: float}, in
        so many seconds."""
        line = "  ".join(
            [
                f"epoch {epoch:{len(str(epochs))}}/{epochs}",
                *(f"{name} {value:.4g}" for name, value in means.items()),
                f"{seconds:.1f} s",
            ]
        )
        if self.bar:
            self.bar.console.print(line, highlight=False, markup=False)
        elif self.shown:
            print(line, flush=True)

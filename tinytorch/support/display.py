"""Progress of a training run: a bar in a terminal, and a line per epoch everywhere."""

import contextlib
import math
import sys


class Display:
    """Shows the progress of training, used in a `with` block. A progress bar is shown when standard
    output is a terminal and the package Rich is installed; it disappears when the block ends.

    shown       whether to show anything
    batches     the batches of an epoch; without a length, the bar has no end
    accumulate  how many batches make one optimizer step

    >>> with Display(True, range(100), 4) as display:
    ...     display.step(0, 25)
    ...     display.end_epoch(1, 10, {"loss": 0.25}, 1.5)
    epoch  1/10  loss 0.25  1.5 s
    """

    def __init__(self, shown, batches, accumulate):
        self.shown, self.bar = shown, None
        self.steps = math.ceil(len(batches) / accumulate) if hasattr(batches, "__len__") else None

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
        """Move the bar: `epoch` epochs are complete, and `steps` steps of the next one."""
        if self.bar:
            self.bar.update(self.task, description=f"epoch {epoch + 1}", completed=steps)

    def end_epoch(self, epoch, epochs, metrics, seconds):
        """Print a line: `epoch` of `epochs` are complete, the last with these `metrics`,
        {name: float}, in `seconds`."""
        line = "  ".join(
            [
                f"epoch {epoch:{len(str(epochs))}}/{epochs}",
                *(f"{name} {value:.4g}" for name, value in metrics.items()),
                f"{seconds:.1f} s",
            ]
        )
        if self.bar:
            self.bar.console.print(line, highlight=False, markup=False)
        elif self.shown:
            print(line, flush=True)

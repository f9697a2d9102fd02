"""The Trainer of the milestones about digits."""

from epochs import show_line

from tinytorch.core.training import Trainer


class OneLineTrainer(Trainer):
    """A Trainer that shows its accuracies in one line, which begins with `title`."""

    def __init__(self, title, *parts):
        super().__init__(*parts, show=False)
        self.title = title

    def end_epoch(self, metrics):
        super().end_epoch(metrics)
        shown = [f"{name} {value:.1%}" for name, value in metrics.items() if "acc" in name]
        line = "  ".join([f"{self.title}: epoch {self.epoch} of {self.epochs}", *shown])
        show_line(line, self.epoch == self.epochs)

"""The training loop as a diagram: a step, an epoch, and what happens after each epoch."""

from tinytorch.support.drawing import Drawing


def draw_training_loop(batches, epochs):
    """A diagram of a training run.

    batches  how many batches an epoch has
    epochs   how many epochs the run has at most
    returns  a `Drawing`
    """
    drawing = Drawing(
        "the training loop",
        f"In each epoch, {batches} training steps; then evaluation on the validation set, "
        "early stopping and a checkpoint.",
        height=404,
    )

    def box(y, text, kind, x=84, width=190):
        drawing.cell(x, y, text, kind, width=width, height=34)

    drawing.cell(10, 34, "", "muted", width=338, height=226, dashed=True)
    drawing.text(20, 24, f"one epoch: {batches} batches, {batches} steps", anchor="start")
    for y, text, kind in [
        (50, "forward pass: loss", "value"),
        (104, "backward pass: gradients", "gradient"),
        (158, "optimizer step: weights", "value"),
        (212, "next batch", "muted"),
    ]:
        box(y, text, kind)
    for y in (84, 138, 192):
        drawing.arrow((179, y), (179, y + 19))
    drawing.line((274, 229), (318, 229), (318, 67))
    drawing.arrow((318, 67), (277, 67))
    drawing.arrow((179, 260), (179, 281))
    box(282, "evaluate on the validation set", "value", 64, 230)
    drawing.arrow((179, 316), (179, 335))
    box(336, "stop? save a checkpoint", "value", 64, 230)
    drawing.line((64, 353), (30, 353), (30, 264))
    drawing.arrow((30, 280), (30, 262))
    drawing.text(20, 394, f"next epoch, at most {epochs} in all", anchor="start")
    return drawing

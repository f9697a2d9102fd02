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
        f"Before each epoch: is it time to end? Then {batches} training steps, evaluation on the "
        "validation set, keeping the best weights, and a checkpoint.",
        height=512,
    )

    def box(y, text, kind, x=72, width=214):
        drawing.cell(x, y, text, kind, width=width, height=34)

    box(10, f"{epochs} epochs, or should_stop?", "muted")
    drawing.arrow((179, 44), (179, 71))
    drawing.text(187, 62, "no", anchor="start")
    drawing.cell(32, 72, "", "muted", width=294, height=222, dashed=True)
    drawing.text(42, 90, f"one epoch: {batches} batches, {batches} steps", anchor="start")
    for y, text, kind in [
        (98, "forward pass: loss", "value"),
        (148, "backward pass: gradients", "gradient"),
        (198, "optimizer step: weights", "value"),
        (248, "next batch", "muted"),
    ]:
        box(y, text, kind, 84, 190)
    for y in (132, 182, 232):
        drawing.arrow((179, y), (179, y + 15))
    drawing.line((274, 265), (304, 265), (304, 115))
    drawing.arrow((304, 115), (277, 115))
    for y, text, kind in [
        (312, "evaluate on the validation set", "value"),
        (362, "improved? keep the weights", "value"),
        (412, "save a checkpoint", "muted"),
    ]:
        drawing.arrow((179, y - 17), (179, y - 1))
        box(y, text, kind)
    drawing.line((72, 429), (14, 429), (14, 27))
    drawing.arrow((14, 27), (71, 27))
    drawing.text(22, 360, "next", anchor="start")
    drawing.text(22, 376, "epoch", anchor="start")
    drawing.line((286, 27), (344, 27), (344, 479))
    drawing.arrow((344, 479), (287, 479))
    drawing.text(294, 20, "yes", anchor="start")
    box(462, "end: load the best weights", "value")
    return drawing

"""A drawing of what subtracting a mean and dividing by a standard deviation does to numbers."""

from tinytorch.support.drawing import WIDTH, Drawing

__all__ = ["draw_number_lines"]


def draw_number_lines(rows, low, high):
    """Number lines below each other, with the values of two groups on each.

    rows     list of (title, {name of a group: its values}); the first group stands above its
             line, in the colour of values, the second below, in that of gradients
    low      the left end of every line
    high     its right end
    returns  a Drawing

    >>> rows = [("raw", {"day": [0.5, 0.7], "night": [0.1, 0.3]})]
    >>> draw_number_lines(rows, -2, 2).height
    104
    """
    text = "; ".join(
        f"{title}: " + ", ".join(f"{name} {[round(float(v), 2) for v in values]}"
                                 for name, values in groups.items())
        for title, groups in rows
    )  # fmt: skip
    drawing = Drawing("Values before and after standardization", text, height=104 * len(rows))

    def x_of(value):
        return 80 + (WIDTH - 100) * (value - low) / (high - low)

    for number, (title, groups) in enumerate(rows):
        y = 104 * number + 56
        drawing.text(10, y - 34, title, anchor="start", bold=True)
        drawing.line((x_of(low), y), (x_of(high), y))
        for tick in range(int(low), int(high) + 1):
            drawing.line((x_of(tick), y - 4), (x_of(tick), y + 4))
            drawing.text(x_of(tick), y + 40, tick, "muted")
        for (name, values), kind, dy in zip(groups.items(), ("value", "gradient"), (-12, 12)):
            drawing.text(10, y + dy + 5, name, kind, anchor="start")
            for value in values:
                drawing.dot(x_of(value), y + dy, kind, radius=5)
    return drawing

"""Temperature, top-k and top-p on the distribution of the next token after two prompts; lesson 16,
whose `filtered` applies them to the logits of its small GPT.
"""

import functools

import numpy as np
from figure import Figure, Panel, choice, slider

from tinytorch.core.activations import softmax
from tinytorch.core.autograd import no_grad
from tinytorch.core.generation import filtered
from tinytorch.core.tensor import Tensor
from tinytorch.data.gpt_files import load_small_gpt

PROMPTS = {"unsure": "She was", "sure": "Mr. Darcy was very much sur"}
KS = [1, 2, 3, 5, 10, 20, 50, 100, None]  # the stops of the slider; None keeps all tokens
SHOWN = 10  # tokens with a bar, the most probable ones
SCALES = (0.1, 0.25, 0.5, 1)  # probabilities at which a bar may be full
LEFT, ROOM, TOP, ROW, SHARE, REST = 62, 156, 48, 26, 270, 354  # pixels; texts end at the last two


def figures():
    settings = [(1, None, 0.8), (1, None, 1), (0.5, None, 1), (1, 3, 1), (1.5, 20, 0.8)]
    controls = (
        choice("prompt", "sampling-prompt", PROMPTS, "unsure")
        + slider("temperature", "temperature", 0, 2, 0.1, 1)
        + slider("top-k", "top-k", 0, len(KS) - 1, 1, len(KS) - 1)
        + slider("top-p", "top-p", 0.05, 1, 0.05, 0.8)
    )
    return [
        Figure(
            "sampling",
            "Temperature, top-k and top-p on the probabilities of the next token",
            "The temperature changes all probabilities; top-k and top-p remove tokens and divide "
            "those that remain by their sum.",
            [panel("unsure", *numbers("unsure", 1, None, 0.8))],
            [
                told(name, *setting, *numbers(name, *setting))
                for name in PROMPTS
                for setting in settings
            ],
            controls,
            {
                "ks": KS,
                "scales": SCALES,
                "room": ROOM,
                "prompts": {
                    name: {"text": PROMPTS[name]} | dict(zip(("tokens", "logits"), ordered(name)))
                    for name in PROMPTS
                },
            },
            lesson="generation",
            section="Autoregressive generation",
            after="The filters are combined in a fixed order",
        )
    ]


@functools.cache
def small_gpt():
    return load_small_gpt()


@functools.cache
def ordered(name):
    """(texts of the first tokens, logits of all tokens), the most probable first."""
    model, tokenizer = small_gpt()
    with no_grad():
        logits = model(tokenizer.encode(PROMPTS[name])[None]).data[0, -1]
    order = np.argsort(-logits)
    texts = [tokenizer.token(int(i)).decode(errors="replace") for i in order[:SHOWN]]
    return [text.replace(" ", "·") for text in texts], [round(float(logits[i]), 4) for i in order]


def numbers(name, temperature, k, p):
    """(shares, rest): the probabilities after the temperature, and after the filters; 1 is no
    top-p, None no top-k."""
    logits = Tensor(np.array([ordered(name)[1]]))
    shares = softmax(filtered(logits, temperature)).data[0]
    return shares, softmax(filtered(logits, temperature, k, None if p == 1 else p)).data[0]


def told(name, temperature, k, p, shares, rest):
    first, kept = ordered(name)[0][0], int((rest > 0).sum())
    start = f"After '{PROMPTS[name]}', temperature {temperature:g}, "
    start += f"top-k {k or 'off'}, top-p {'off' if p == 1 else format(p, 'g')}: "
    if kept == len(rest):
        return f"{start}all {kept} tokens remain. '{first}' has a probability of {rest[0]:.3f}."
    if kept == 1:
        return start + f"1 of {len(rest)} tokens remains, '{first}'."
    return (
        f"{start}{kept} of {len(rest)} tokens remain, with {shares[rest > 0].sum():.3f} of the "
        f"probability. Divided by this sum, '{first}' has {rest[0]:.3f} instead of {shares[0]:.3f}."
    )


def scale_of(shares, rest):
    """The probability at which a bar is full."""
    return next(one for one in SCALES if one >= max(shares[0], rest[0]) - 1e-9)


def others(shares, rest):
    """The texts of the last line: the tokens without a bar."""
    kept = (rest[SHOWN:] > 0).sum()
    title = f"{len(rest) - SHOWN} others, {kept} remain"
    return title, f"{shares[SHOWN:].sum():.3f}", f"{rest[SHOWN:].sum():.3f}" if kept else "removed"


def panel(name, shares, rest):
    tokens, scale = ordered(name)[0], scale_of(shares, rest)
    listed = ", ".join(f"{token} {share:.3f}" for token, share in zip(tokens, shares))
    drawing = Panel(
        "The most probable next tokens: outlines before the filters, bars after them",
        f"{listed}. A dot is a space.",
        358,
        TOP + (SHOWN + 1) * ROW + 6,
    )
    drawing.text(2, 16, "token (· is a space)", "muted", "start")
    drawing.text(SHARE, 16, "before", "muted", "end")
    drawing.text(REST, 16, "remaining", "muted", "end")
    drawing.text(LEFT, 38, "0", "muted")
    drawing.text(LEFT + ROOM, 38, f"{scale:g}", "muted")
    drawing.key("scale")
    drawing.line((LEFT, TOP - 4), (LEFT, TOP + SHOWN * ROW), kind="text")
    for n, token in enumerate(tokens):
        y, kept = TOP + n * ROW, rest[n] > 0
        drawing.text(2, y + 16, token, "text" if kept else "muted", "start")
        drawing.key(f"token {n}")
        for key, value, kind in [("bar", rest[n], "cell value"), ("outline", shares[n], "outline")]:
            drawing.parts.append(
                f'<rect class="{kind}" data-key="{key} {n}" x="{LEFT}" y="{y + 2}" '
                f'width="{ROOM * value / scale:.1f}" height="{ROW - 6}"/>'
            )
        drawing.text(SHARE, y + 16, f"{shares[n]:.3f}", "muted", "end")
        drawing.key(f"share {n} text")
        drawing.text(
            REST,
            y + 16,
            f"{rest[n]:.3f}" if kept else "removed",
            "text" if kept else "muted",
            "end",
        )
        drawing.key(f"rest {n} text")
    texts, y = others(shares, rest), TOP + SHOWN * ROW + 18
    for key, x, text in zip(("title", "share", "rest"), (2, SHARE, REST), texts):
        drawing.text(x, y, text, "muted", "start" if key == "title" else "end")
        drawing.key(f"others {key} text")
    return drawing

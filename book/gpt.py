"""For the book's first page: what the GPT of the milestone wrote and reached, and the ladder of the
models of the milestones, by the bytes that they store: python book/gpt.py. It reads
milestones.json, which a build writes; without a run of these milestones it prints nothing.
"""

import html
import json
import re
from pathlib import Path

SENTENCES, SHORT, LONG = 3, 16, 150  # how many, and characters of one
INTEGERS = "milestones/10_2018_integers"
LADDER = {  # what the milestone of integers prints before the bytes: (page, name)
    r"The dense network.*?32 bits": ("milestones/03_1989_digits_mlp", "A network reads digits"),
    r"The convolutional network.*?32 bits": (
        "milestones/04_1998_digits_cnn",
        "A convolutional network",
    ),
    r"The GPT: [\d,]+ weights,": ("milestones/05_2018_gpt", "A GPT writes"),
    r"rounding, 8 bits": (INTEGERS, "The GPT, in 8 bits"),
    r"GPTQ, 4 bits": (INTEGERS, "in 4 bits"),
    r"GPTQ, 3 bits": (INTEGERS, "in 3 bits"),
}


def sentences(printed: str) -> list[str]:
    """What it wrote: lines that it ended itself, then whole sentences of the others."""
    lines = printed.partition("It writes, with byte pairs:\n")[2].partition("\n\n")[0].split("\n")
    found = [line for line in lines if re.search(r"[.!?]\"?$", line)]
    for line in lines:
        found += [one for one in re.findall(r"[A-Z][^.!?\"]+[.!?]", line) if line not in found]
    return [one for one in found if SHORT <= len(one) <= LONG][:SENTENCES]


def figure(printed: str) -> str:
    said = r"(\S+) bits\s+per\s+character\s+of\s+the\s+whole\s+held-out\s+text: (.*?)\.\nThe model"
    score, better = re.search(said, printed, re.S).groups()
    better = " ".join(better.split())
    quoted = "".join(f"<p>{html.escape(one, quote=False)}</p>" for one in sentences(printed))
    return (
        f'<figure class="gpt"><blockquote>{quoted}</blockquote>\n<figcaption>Written by the GPT '
        "that you train after lesson 15. For a character of a text that it has not seen, it needs "
        f"<strong>{score} bits</strong>: {html.escape(better)}. "
        '<a href="milestones/05_2018_gpt.html">How it learned</a></figcaption></figure>'
    )


def ladder(printed: str) -> str:
    """A list of the models with a bar each, and their bytes."""
    found = [re.search(rf"{before} +([\d,]+) bytes", printed, re.S)[1] for before in LADDER]
    sizes = [int(one.replace(",", "")) for one in found]
    rows = "".join(
        f'<li style="--share: {size / max(sizes):.1%}"><a href="{page}.html">{name}</a> '
        f"<span>{size / 1000:,.0f} kB</span></li>"
        for (page, name), size in zip(LADDER.values(), sizes, strict=True)
    )
    return (
        f'<figure class="ladder"><ol>{rows}</ol>\n<figcaption>Models that you train, and the size '
        "of each. With fewer bits per weight, the GPT is smaller.</figcaption></figure>"
    )


if __name__ == "__main__":
    place = Path("milestones.json")
    results = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
    if "gpt" in results:
        print(figure(results["gpt"]))
    if "integers" in results:
        print("\n" + ladder(results["integers"]))

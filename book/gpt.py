"""What the GPT of the milestone wrote and reached, for the book's first page: python book/gpt.py.
It reads milestones.json, which a build writes; without a run of the milestone it prints nothing.
"""

import html
import json
import re
from pathlib import Path

SENTENCES, SHORT, LONG = 3, 16, 150  # how many, and characters of one


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


if __name__ == "__main__":
    place = Path("milestones.json")
    results = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
    if "gpt" in results:
        print(figure(results["gpt"]))

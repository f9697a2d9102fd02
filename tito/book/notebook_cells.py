"""The cells of the notebooks that become pages, each with the line it comes from."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tito.lesson.notebook import PYTHON

NotebookCell = dict[str, Any]
Part = tuple[int, NotebookCell]  # the line in the file that the cell comes from, and the cell
Outputs = list[dict[str, Any]]  # of a cell, as in a notebook


@dataclass
class Section:
    """A section of a lesson: from one `##` to the next.

    title   its heading, "" of the opening
    path    of its page in the book, without its ending
    page    the title of that page, "" where it is the section's own
    """

    title: str
    path: str
    page: str = ""
    parts: list[Part] = field(default_factory=list)
    exercises: list[str] = field(default_factory=list)


def prose(text: str) -> NotebookCell:
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def code(
    line: int,
    source: str,
    folded: str = "",
    outputs: Sequence[dict[str, Any]] = (),
    meta: dict[str, Any] | None = None,
) -> Part:
    """A code cell; `folded` is the text to unfold it with, "" for a cell that is not folded."""
    meta = dict(meta or {})
    if folded:
        meta["tags"] = ["hide-input"]
        prompts = {"code_prompt_show": folded, "code_prompt_hide": folded}
        meta["mystnb"] = prompts | meta.get("mystnb", {})
    return line, {
        "cell_type": "code",
        "execution_count": None,
        "metadata": meta,
        "outputs": list(outputs),
        "source": source,
    }


def folded_output(title: str) -> dict[str, Any]:
    """The metadata of a cell whose output is folded."""
    prompts = {"code_prompt_show": title, "code_prompt_hide": title}
    return {"mystnb": prompts, "tags": ["hide-output"]}


def notebook_text(parts: list[Part], first: int = 0) -> str:
    """A notebook's text; lines are counted from `first`."""
    for number, (_, part) in enumerate(parts, 1):
        part["id"] = f"cell-{number}"
    meta = {
        "kernelspec": PYTHON,
        "language_info": {"name": "python"},
        "source_map": [line - first for line, _ in parts],  # for Sphinx's warnings
    }
    content = {
        "cells": [part for _, part in parts],
        "metadata": meta,
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"

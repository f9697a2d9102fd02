"""The drawings of the book that can be touched, as JSON: python book/drawings, with `tinytorch` on
the path.

Each module here but `figure` has a function `figures()`, which returns a list of Figures: their
first state, computed with the course's own functions. The script that answers the reader's hand is
`book/_static/drawings/` with the module's name.
"""

import importlib
import json
from pathlib import Path

OURS = ("__main__", "figure")


def figures():
    """Every Figure, with the name of the module that draws it."""
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem not in OURS:
            for figure in importlib.import_module(path.stem).figures():
                yield path.stem, figure


if __name__ == "__main__":
    print(json.dumps([figure.described(script) for script, figure in figures()]))

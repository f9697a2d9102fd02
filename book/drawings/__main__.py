"""The drawings of the book that can be touched: `python book/drawings` computes them, and writes
those of each lesson into its folder, `modules/source/02_tensor/drawings.json`, the others into
`book/drawings.json`. Run it when a drawing, or what it shows, has changed.

Each module here but `figure` has a function `figures()`, which returns a list of Figures: their
first state, computed with the course's own functions. The script that answers the reader's hand is
in `tito/page/static/drawings/` and has the module's name.
"""

import importlib
import json
import sys
from pathlib import Path

OURS = ("__main__", "figure")
BOOK = Path(__file__).resolve().parents[1]
SOURCE = BOOK.parent / "modules" / "source"


def figures():
    """Every Figure, with the name of the module that draws it."""
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem not in OURS:
            for figure in importlib.import_module(path.stem).figures():
                yield path.stem, figure


def described():
    """{path of a file: its drawings}"""
    lessons = {path.name.partition("_")[2]: path for path in SOURCE.iterdir() if path.is_dir()}
    files = {folder / "drawings.json": [] for folder in [*lessons.values(), BOOK]}
    for script, figure in figures():
        folder = lessons[figure.lesson] if figure.lesson else BOOK
        files[folder / "drawings.json"].append(figure.described(script) | {"script": script})
    return files


if __name__ == "__main__":
    sys.path.append(str(BOOK.parent))
    for path, rows in described().items():
        path.unlink(missing_ok=True)
        if rows:
            lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
            path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")

"""The map of the course, printed for the book's first page: python book/course_map.py.
Its phases are those of the page. A lesson names what it builds on, except the lesson before it and
what follows from others; a milestone stands after the last lesson that it needs.
"""

import html
from pathlib import Path

from tito.book import generated_parts
from tito.learn import milestone
from tito.lesson import course

REPOSITORY = Path(__file__).resolve().parents[1]


def direct(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The same, without those that another of them needs, itself or through others."""

    def all_below(name):
        return set().union(*({below} | all_below(below) for below in graph[name]))

    return {
        name: {one for one in below if not any(one in all_below(other) for other in below)}
        for name, below in graph.items()
    }


def link(address: str, first: str, title: str, needs: str = "") -> str:
    after = f" <small>after {needs}</small>" if needs else ""
    return f'<a href="{address}.html"><b>{first}</b> {html.escape(title)}{after}</a>'


def drawn(root, page: str) -> str:
    """The map as HTML: a list of phases, each a list of links."""
    landmarks = {}
    for program in milestone.milestones(root):
        last = max(program.needs, key=lambda name: root.lesson(name).number)
        shown = link(f"milestones/{program.path.stem}", program.year, program.title)
        landmarks.setdefault(last, []).append(f'<li class="landmark">{shown}</li>')
    needs = direct({entry.name: set(entry.declared.prerequisites) for entry in root.lessons})
    rows, before = [], ""
    for title, entries in generated_parts.phases(root, page):
        items = []
        for entry in entries:
            others = sorted(root.lesson(name).number for name in needs[entry.name] - {before})
            after = ", ".join(f"{number:02}" for number in others)
            place, number = f"lessons/{entry.folder}", f"{entry.number:02}"
            items.append(f"<li>{link(place, number, entry.declared.title, after)}</li>")
            items += landmarks.get(entry.name, [])
            before = entry.name
        rows.append(f"<li><span>{html.escape(title)}</span>\n<ul>{''.join(items)}</ul></li>")
    return '<ol class="map">\n' + "\n".join(rows) + "\n</ol>"


if __name__ == "__main__":
    page = (REPOSITORY / "book" / "index.md").read_text(encoding="utf-8")
    print(drawn(course.open_root(REPOSITORY), page))

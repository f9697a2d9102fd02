"""The map of the course, printed for the book's first page: python book/course_map.py.
An arrow leads from a lesson to what builds on it; what follows from other arrows is left out.
"""

from pathlib import Path

from tinytorch.support.graph_drawing import Graph
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


def drawn(root) -> str:
    """The map as an SVG. A milestone stands with the last lesson that it needs."""
    ends = {}
    for program in milestone.milestones(root):
        last = max(program.needs, key=lambda name: root.lesson(name).number)
        ends.setdefault(last, []).append(f"{program.year}: {program.name.replace('_', ' ')}")
    graph = Graph()
    for entry in root.lessons:
        title = f"{entry.number:02} {entry.declared.title}"
        graph.box(entry.name, title, ", ".join(ends.get(entry.name, [])), kind="leaf")
    needs = {entry.name: set(entry.declared.prerequisites) for entry in root.lessons}
    for name, below in direct(needs).items():
        for one in sorted(below, key=list(needs).index):
            graph.arrow(one, name)
    svg = graph.svg().replace("A computation graph", "Which lesson builds on which")
    # the colours of the page, which the reader may choose, not those of the reader's system
    svg = svg.replace("@media(prefers-color-scheme:dark){", "@media screen{[data-theme=dark]{")
    svg = svg.replace("</style>", "}</style>")
    return svg.replace("From top to bottom:", "From top to bottom, with the milestones:")


if __name__ == "__main__":
    print(f'<figure class="map">\n{drawn(course.open_root(REPOSITORY))}\n</figure>')

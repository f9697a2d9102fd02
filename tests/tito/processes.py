"""Which processes run below another; looked up in /proc, so on Linux only."""

from pathlib import Path


def children(pid):
    """(pid, command line) of all descendants of this process, parents before their children."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            parents.setdefault(parent, []).append(
                (int(folder.name), (folder / "cmdline").read_bytes())
            )
        except (OSError, ValueError):
            continue  # it ended meanwhile
    found, queue = [], [pid]
    while queue:
        for child, line in parents.get(queue.pop(), []):
            found.append((child, line))
            queue.append(child)
    return found

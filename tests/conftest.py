"""`pytest -k tensor` selects the lesson tensor and nothing else, though other tests have the word in their names.

The file with the gate of every lesson comes first: it takes longest, and the other cores would wait for it in the end.
"""

import os
import re
from pathlib import Path

from tito.lesson import course

NAMES = {entry.name for entry in course.find_root(Path(__file__).parent).lessons}


def pytest_xdist_auto_num_workers(config):
    """One more than there are cores: many tests wait, for a time limit or for a file to be on the disk."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(config, items):
    items.sort(key=lambda item: item.path.name != "test_check.py")
    wanted = config.option.keyword.strip()
    if wanted not in NAMES:
        return
    mine = [
        item
        for item in items
        if re.search(rf"test_{wanted}\.py::|test_lessons\.py::\w+\[{wanted}[-\]]", item.nodeid)
    ]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(mine)])
    items[:] = mine

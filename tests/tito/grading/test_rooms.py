"""The rooms of tito/grading import each other in one direction only."""

import ast
import re
from pathlib import Path

GRADING = Path(__file__).parents[3] / "tito" / "grading"
ROOMS = ("gradebook", "page", "intake", "jail", "lms")
# run.py and what else is in no room may import them all
ALLOWED = {("page", "gradebook"), *((room, "lms") for room in ("gradebook", "page", "intake"))}


def rooms_imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom):
            names = [node.module, *(f"{node.module}.{name.name}" for name in node.names)]
        elif isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        for name in names:
            words = name.split(".")
            if words[:2] == ["tito", "grading"] and words[2:3] and words[2] in (*ROOMS, "run"):
                yield words[2]


def test_no_room_imports_another_but_the_page_the_gradebook_and_those_that_may_the_systems():
    imports = {
        (room, other)
        for room in ROOMS
        for path in sorted((GRADING / room).rglob("*.py"))
        for other in rooms_imported(path)
        if other != room
    }
    assert imports - ALLOWED == set()


def test_a_system_of_schools_is_named_in_its_file_and_where_people_read_its_name():
    names = re.compile("moodle|canvas|brightspace|blackboard", re.I)
    found = {
        path.relative_to(GRADING.parent).as_posix()
        for path in GRADING.parent.rglob("*.py")
        if names.search(path.read_text(encoding="utf-8"))
    }
    assert found == {
        "grading/lms/__init__.py",
        "grading/lms/blackboard.py",
        "grading/lms/brightspace.py",
        "grading/lms/canvas.py",
        "grading/lms/moodle.py",
        "cli/instructor/gradebook.py",  # examples
        "cli/instructor/feedback.py",
        "grading/sample.py",  # whose download it makes
    }


def test_each_room_says_what_it_takes_and_returns():
    for room in ROOMS:
        text = ast.get_docstring(ast.parse((GRADING / room / "__init__.py").read_text("utf-8")))
        assert text and len(text) > 100, room

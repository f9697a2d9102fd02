"""GitHub Classroom, and what else is collected as repositories from GitHub.

Its tables of times have the time of the last push, which the instructor gives with `--submitted`.
"""

import re

from tito.grading.lms.system import System


class GitHub(System):
    name, title = "github", "GitHub Classroom"
    class_list = "a roster of GitHub Classroom"
    ids, marks = ("identifier",), ("identifier", "github_username")
    times = re.compile(r"(pushed_at|submission_timestamp)\Z")

    def learner(self, line: dict[str, str]) -> bool:
        line["name"] = line.get("name") or line["identifier"]
        return True

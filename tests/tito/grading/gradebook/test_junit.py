"""Verdicts as JUnit XML."""

import xml.etree.ElementTree as ET

from small_course import edit, solve, verdict_on

from tito.grading.gradebook import junit


def suites(*verdicts):
    return ET.fromstring("".join(junit.lines(verdicts)).encode())


def test_every_check_is_a_case_with_its_points(small_workspace):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    edit(entry, "return double(x) + x", "return 'a & <b> \\x00 \\ud800'")
    first, second = suites(verdict_on(entry), verdict_on(small_workspace.lesson("sums")))
    assert (first.get("name"), first.get("tests"), first.get("failures"), first.get("errors")) == (
        "numbers",
        "3",
        "1",
        "0",
    )
    assert (second.get("failures"), second.get("errors")) == ("0", "1")  # not written yet
    assert [case.find("error").get("type") for case in second] == ["unwritten"]
    case = first[2]
    assert (case.get("classname"), case.get("name")) == (
        "numbers.numbers-triple",
        "triple of two is six",
    )
    assert {p.get("name"): p.get("value") for p in case.find("properties")} == {
        "points": "0",
        "max_points": "1",
    }
    assert "yours is a & <b>" in case.find("failure").get("message")


def test_a_lesson_that_fails_as_a_whole_has_a_failing_case(small_workspace):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    with entry.script.open("a", encoding="utf-8") as file:
        file.write("\n# %%\nraise SystemExit(0)\n")
    (suite,) = suites(verdict_on(entry))
    assert (suite.get("tests"), suite.get("failures")) == ("4", "1")
    assert "does not run to its end" in suite[3].find("failure").get("message")

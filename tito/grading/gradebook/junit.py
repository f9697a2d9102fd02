"""Results as JUnit XML: testsuites > testsuite > testcase, which every CI system reads."""

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tito.grading.result import CheckResult

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class Suite:
    """The result of one lesson of one learner."""

    lesson: str
    checks: list[CheckResult]
    passed: bool
    reason: str
    seconds: float


def lines(suites: Iterable[Suite]) -> Iterator[str]:
    """The XML text in parts, to save memory: points are properties, a failed lesson is a failing
    suite.
    """
    yield '<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n'
    for suite in suites:
        top = ET.Element("testsuites")
        element = _element(top, suite)
        ET.indent(top)
        yield f"  {ET.tostring(element, encoding='unicode').rstrip()}\n"
    yield "</testsuites>\n"


def _element(top: ET.Element, suite: Suite) -> ET.Element:
    counts = Counter(check.status for check in suite.checks)
    # A lesson can fail though no check does (it crashes after the last one): that
    # is one more case, which fails.
    crashed = not suite.passed and counts["passed"] == len(suite.checks)
    element = ET.SubElement(
        top,
        "testsuite",
        name=clean(suite.lesson),
        tests=str(len(suite.checks) + crashed),
        failures=str(counts["failed"] + crashed),
        errors=str(len(suite.checks) - counts["passed"] - counts["failed"]),
        skipped="0",
        time=f"{suite.seconds:.3f}",
    )
    for check in suite.checks:
        _add_case(element, suite.lesson, check)
    if crashed:
        about = {"classname": clean(suite.lesson), "name": "the lesson runs to its end"}
        case = ET.SubElement(element, "testcase", about | {"time": "0"})
        _add_problem(case, "failure", suite.reason, "failed")
    return element


def _add_case(element: ET.Element, lesson: str, check: CheckResult) -> None:
    case = ET.SubElement(
        element,
        "testcase",
        classname=clean(f"{lesson}.{check.exercise}"),
        name=check.name,
        time=f"{check.seconds:.3f}",
    )
    properties = ET.SubElement(case, "properties")
    for name in ("points", "max_points"):
        ET.SubElement(properties, "property", name=name, value=str(getattr(check, name)))
    if not check.passed:
        kind = "failure" if check.status == "failed" else "error"
        _add_problem(case, kind, check.message, check.status)


def _add_problem(case: ET.Element, kind: str, message: str, status: str) -> None:
    problem = ET.SubElement(case, kind, message=clean(message), type=status)
    problem.text = clean(message)


def clean(text: str) -> str:
    """`text` without characters that XML forbids."""
    return NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)

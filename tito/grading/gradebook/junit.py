"""Results as JUnit XML: testsuites > testsuite > testcase, which every CI system reads."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tito.grading.result import CheckResult
from tito.lesson.outcome import STATUSES

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class Suite:
    """What became of one lesson of one learner."""

    lesson: str
    checks: list[CheckResult]
    passed: bool
    reason: str
    seconds: float


def lines(suites: Iterable[Suite]) -> Iterator[str]:
    """The XML text in parts, of which one at a time is in memory: points as properties, a failing
    suite for a failed lesson.
    """
    yield '<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n'
    for suite in suites:
        top = ET.Element("testsuites")
        counts = {status: sum(c.status == status for c in suite.checks) for status in STATUSES}
        # A lesson can fail though no check does (it crashes after the last one): that
        # is one more case, which fails.
        crashed = not suite.passed and counts["passed"] == len(suite.checks)
        element = ET.SubElement(
            top,
            "testsuite",
            name=clean(suite.lesson),
            tests=str(len(suite.checks) + crashed),
            failures=str(counts["failed"] + crashed),
            errors=str(sum(counts.values()) - counts["passed"] - counts["failed"]),
            skipped="0",
            time=f"{suite.seconds:.3f}",
        )
        for check in suite.checks:
            case = ET.SubElement(
                element,
                "testcase",
                classname=clean(f"{suite.lesson}.{check.exercise}"),
                name=check.name,
                time=f"{check.seconds:.3f}",
            )
            properties = ET.SubElement(case, "properties")
            for name in ("points", "max_points"):
                ET.SubElement(properties, "property", name=name, value=str(getattr(check, name)))
            if not check.passed:
                kind = "failure" if check.status == "failed" else "error"
                ET.SubElement(
                    case, kind, message=clean(check.message), type=check.status
                ).text = clean(check.message)
        if crashed:
            case = ET.SubElement(
                element,
                "testcase",
                classname=clean(suite.lesson),
                name="the lesson runs to its end",
                time="0",
            )
            ET.SubElement(case, "failure", message=clean(suite.reason), type="failed").text = clean(
                suite.reason
            )
        ET.indent(top)
        yield f"  {ET.tostring(element, encoding='unicode').rstrip()}\n"
    yield "</testsuites>\n"


def clean(text: str) -> str:
    """`text` without what XML cannot hold."""
    return NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)

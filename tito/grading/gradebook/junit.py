"""Verdicts as JUnit XML: testsuites > testsuite > testcase, which every CI system reads."""

import re
import xml.etree.ElementTree as ET

from tito.lesson.outcome import STATUSES

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def lines(verdicts):
    """The XML text of these verdicts in parts, of which one at a time is in memory: a suite per
    lesson, points as properties, a failing suite for a failed lesson.
    """
    yield '<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n'
    for verdict in verdicts:
        top = ET.Element("testsuites")
        counts = {status: sum(c.status == status for c in verdict.checks) for status in STATUSES}
        # A lesson can fail though no check does (it crashes after the last one): that
        # is one more case, which fails.
        crashed = not verdict.passed and counts["passed"] == len(verdict.checks)
        suite = ET.SubElement(
            top,
            "testsuite",
            name=clean(verdict.lesson),
            tests=str(len(verdict.checks) + crashed),
            failures=str(counts["failed"] + crashed),
            errors=str(sum(counts.values()) - counts["passed"] - counts["failed"]),
            skipped="0",
            time=f"{verdict.seconds:.3f}",
        )
        for check in verdict.checks:
            case = ET.SubElement(
                suite,
                "testcase",
                classname=clean(f"{verdict.lesson}.{check.exercise}"),
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
                suite,
                "testcase",
                classname=clean(verdict.lesson),
                name="the lesson runs to its end",
                time="0",
            )
            ET.SubElement(
                case, "failure", message=clean(verdict.reason), type="failed"
            ).text = clean(verdict.reason)
        ET.indent(top)
        yield f"  {ET.tostring(suite, encoding='unicode').rstrip()}\n"
    yield "</testsuites>\n"


def clean(text):
    """`text` without what XML cannot hold."""
    return NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)

"""Verdicts as JUnit XML: testsuites > testsuite > testcase, which every CI system reads."""

import re
import xml.etree.ElementTree as ET

from tito.lesson.outcome import STATUSES

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml(verdicts):
    """The XML text of these verdicts: a suite per lesson, points as properties, a
    failing suite for a failed lesson.
    """
    top = ET.Element("testsuites")
    for verdict in verdicts:
        counts = {status: sum(c.status == status for c in verdict.checks) for status in STATUSES}
        # A lesson can fail though no check does (it crashes after the last one): that
        # is one more case, which fails.
        crashed = not verdict.passed and counts["passed"] == len(verdict.checks)
        suite = ET.SubElement(
            top,
            "testsuite",
            name=verdict.lesson,
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
                classname=f"{verdict.lesson}.{check.exercise}",
                name=check.name,
                time=f"{check.seconds:.3f}",
            )
            properties = ET.SubElement(case, "properties")
            for name in ("points", "max_points"):
                ET.SubElement(properties, "property", name=name, value=str(getattr(check, name)))
            if not check.passed:
                kind = "failure" if check.status == "failed" else "error"
                ET.SubElement(
                    case, kind, message=_clean(check.message), type=check.status
                ).text = _clean(check.message)
        if crashed:
            case = ET.SubElement(
                suite,
                "testcase",
                classname=verdict.lesson,
                name="the lesson runs to its end",
                time="0",
            )
            ET.SubElement(
                case, "failure", message=_clean(verdict.reason), type="failed"
            ).text = _clean(verdict.reason)
    ET.indent(top)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(top, encoding="unicode") + "\n"


def _clean(text):
    return NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)

"""The outcome of a run as JUnit XML, which CI services read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree

from tt.testing.conformance.outcomes import Baseline, Outcome, families

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

__all__ = ["MARK", "junit"]

MARK: Final = "<!-- written by tt ops check -->"
# XML 1.0 has no other characters, not even escaped.
_UNPRINTABLE: Final = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")


def junit(found: Mapping[str, Sequence[Outcome]], baseline: Baseline | None = None) -> str:
    """Return an XML document: a suite for each backend and family, a case for each operator and dtype.

    Parameters
    ----------
    found : mapping
        Name of a backend -> what became of each operator and dtype.
    baseline : Baseline, optional
        Failures that it lists are skipped.
    """
    root = ElementTree.Element("testsuites", name="tt conformance")
    for backend, results in found.items():
        for name, members in families(results).items():
            suite = ElementTree.SubElement(root, "testsuite", name=f"{backend}.{name}")
            for outcome in members:
                known = baseline is not None and baseline.is_known(backend, outcome)
                _add_case(suite, f"tt.{backend}.{name}", outcome, known)
            _count(suite, members)
    _count(root, [outcome for results in found.values() for outcome in results])
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{MARK}\n{text}\n'


def _add_case(suite: Element, classname: str, outcome: Outcome, known: bool) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname=classname, name=str(outcome.target), time=f"{outcome.seconds:.3f}"
    )
    if outcome.good:
        return
    if known:
        ElementTree.SubElement(case, "skipped", message="known to the baseline")
        return
    failures = outcome.report.failures if outcome.report else []
    kind = "missing" if outcome.missing else failures[0].check
    message = "the schema promises it, and nothing serves it" if outcome.missing else failures[0].message
    element = ElementTree.SubElement(case, "failure", type=kind, message=_clean(message))
    element.text = _clean("\n\n".join(map(str, failures)))


def _count(element: Element, members: Iterable[Outcome]) -> None:
    cases = list(element.iter("testcase"))
    element.set("tests", str(len(cases)))
    element.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    element.set("errors", "0")
    element.set("skipped", str(sum(case.find("skipped") is not None for case in cases)))
    element.set("time", f"{sum(outcome.seconds for outcome in members):.3f}")


def _clean(text: str) -> str:
    """Replace what XML cannot hold."""
    return _UNPRINTABLE.sub("?", text)

"""The results that are committed, one row a job, and the table of docs/ecosystem.md that is made from them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from tests.ecosystem.catalog import jobs
from tests.tiers import ROOT

__all__ = ["PAGE", "RESULTS", "Row", "read", "table", "with_table", "write"]

RESULTS: Final = ROOT / "tests" / "ecosystem" / "results.csv"
PAGE: Final = ROOT / "docs" / "ecosystem.md"
BEGIN: Final = "<!-- begin: python -m tests.ecosystem --record -->"
END: Final = "<!-- end -->"


class Row(NamedTuple):
    """What became of a job."""

    library: str
    version: str
    passed: int
    parts: int
    missing: str

    @property
    def state(self) -> str:
        """Return the word for it."""
        if not self.parts:
            return "does not import"
        return "runs" if self.passed == self.parts else ("in part" if self.passed else "fails")


def read() -> dict[str, Row]:
    """Return the committed results, by library."""
    if not RESULTS.exists():
        return {}
    with RESULTS.open(newline="") as file:
        rows = [
            Row(row["library"], row["version"], int(row["passed"]), int(row["parts"]), row["missing"])
            for row in csv.DictReader(file)
        ]
    return {row.library: row for row in rows}


def write(rows: Mapping[str, Row]) -> None:
    """Write the results and the table of the page."""
    with RESULTS.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Row._fields)
        writer.writerows(rows[name] for name in sorted(rows))
    PAGE.write_text(with_table(PAGE.read_text(), rows.values()))


def table(rows: Iterable[Row], purposes: Mapping[str, str]) -> str:
    """Return the table in Markdown, with what is run of each library."""
    lines = [
        "| library | version | state | parts | what is run | what is missing |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {row.library} | {row.version} | {row.state} | {row.passed} of {row.parts} "
        f"| {purposes.get(row.library, '')} | {row.missing.replace('|', chr(92) + '|')} |"
        for row in sorted(rows)
    ]
    return "\n".join(lines)


def with_table(text: str, rows: Iterable[Row]) -> str:
    """Return the text of the page with the table of some results.

    Raises
    ------
    ValueError
        The page has not the two marks between which the table stands.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{PAGE.name} lacks {BEGIN} or {END}")
    rows = list(rows)
    done = sum(row.passed for row in rows), sum(row.parts for row in rows)
    whole = sum(row.state == "runs" for row in rows)
    summary = f"{whole} of {len(rows)} jobs run whole, {done[0]} of {done[1]} parts."
    purposes = {name: job.purpose for name, job in jobs().items()}
    return f"{before}{BEGIN}\n{summary}\n\n{table(rows, purposes)}\n{END}{after}"

"""Reports as tables: a folder of CSV files, in which a row is a case.

`environment.csv` has the conditions, `suites.csv` the titles of the suites and what was measured later than the rest,
`cases.csv` the cases and `groups.csv` the means of their groups.  Every other part of a report is a file of its own.

Note [Rows of a part]
---------------------
A part is nested dictionaries and lists, each of its own shape.  A row is one dictionary or list that has figures: its
path in the part, then the figures under their names.  An element of a list is named `[0]`, `[1]` and so on; a slash in
a name is written `~1`, and `~` is written `~0`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.levels import TITLES

__all__ = ["has_report", "read_report", "read_reports", "report_name", "write_report"]

Report = dict[str, Any]
Row = dict[str, str]

SUITE_FILES = ("environment", "suites", "cases", "groups")
PATH = "path"
"""The first column of a part."""
BY_LIBRARY = ("microseconds", "ratio", "noise", "to_built_in", "failures")
"""What a case has of each library: a column is named `ratio: torch`."""
EMPTY: dict[str, Any] = {"[]": [], "{}": {}}


def has_report(folder: Path) -> bool:
    """Return whether a folder holds a report."""
    return (folder / "environment.csv").is_file()


def write_report(folder: Path, report: Report) -> None:
    """Write a report; files of the folder that it does not have are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    later = report.get("again", {})
    suites = report["suites"]
    tables = {
        "environment": [{"name": name, "value": value} for name, value in report["environment"].items()],
        "suites": [
            {"suite": name, "title": suite["title"], "measured later": later.get(name, "")}
            for name, suite in suites.items()
        ],
        "cases": [
            {"suite": name, **case_row(case, figures)}
            for name, suite in suites.items()
            for case, figures in suite["cases"].items()
        ],
        "groups": [
            {"suite": name, **group_row(group, figures)}
            for name, suite in suites.items()
            for group, figures in suite["groups"].items()
        ],
    }
    parts = {name: part for name, part in report.items() if name not in ("environment", "suites", "again")}
    tables["suites"] += [
        {"suite": name, "title": "", "measured later": stamp}
        for name, stamp in later.items()
        if name in parts
    ]
    tables |= {name: list(part_rows("", part)) for name, part in parts.items()}
    for name, rows in tables.items():
        write_table(folder / f"{name}.csv", rows)
    for file in folder.glob("*.csv"):
        if file.stem not in tables:
            file.unlink()


def read_report(folder: Path) -> Report:
    """Return the report that a folder holds."""
    report: Report = {
        "environment": {row["name"]: row["value"] for row in read_table(folder / "environment.csv")},
        "suites": {},
    }
    later = {}
    for row in read_table(folder / "suites.csv"):
        if row["title"]:
            report["suites"][row["suite"]] = {"title": row["title"], "cases": {}, "groups": {}}
        if row["measured later"]:
            later[row["suite"]] = row["measured later"]
    for row in read_table(folder / "cases.csv"):
        report["suites"][row["suite"]]["cases"][row["case"]] = case_of(row)
    for row in read_table(folder / "groups.csv"):
        report["suites"][row["suite"]]["groups"][row["group"]] = group_of(row)
    for file in sorted(folder.glob("*.csv")):
        if file.stem not in SUITE_FILES:
            report[file.stem] = part_of(read_table(file))
    if later:
        report["again"] = later
    return report


def report_name(level: str) -> str:
    """Return the name of the folder of an instruction set's report; `any` where no kernels are compiled."""
    return level or "any"


def read_reports(folder: Path) -> dict[str, Report]:
    """Return the reports of a folder by instruction set, the best first."""
    folders = {level: folder / report_name(level) for level in (*TITLES, "")}
    return {level: read_report(tables) for level, tables in folders.items() if has_report(tables)}


# --- tables ---


def write_table(file: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write rows; the columns are those of all rows, in the order in which they first occur."""
    columns = dict.fromkeys(name for row in rows for name in row)
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(columns), restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read_table(file: Path) -> list[Row]:
    """Return the rows of a file.

    Raises
    ------
    ValueError
        When a row has another number of cells than the header.
    """
    with file.open(encoding="utf-8", newline="") as stream:
        header, *rows = list(csv.reader(stream)) or [[]]
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"{file}: {len(row)} cells, and {len(header)} columns: {row}")
    return [dict(zip(header, row, strict=True)) for row in rows]


def by_library(row: Row, key: str) -> Row:
    """Return the cells that have a value, by library."""
    prefix = f"{key}: "
    return {name.removeprefix(prefix): cell for name, cell in row.items() if cell and name.startswith(prefix)}


def numbers_by_library(row: Row, key: str) -> dict[str, float]:
    """Return the numbers of a row by library."""
    return {library: float(cell) for library, cell in by_library(row, key).items()}


def optional(cell: str) -> float | None:
    """Return the number of a cell; None if it is empty."""
    return float(cell) if cell else None


# --- cases and groups ---


def case_row(name: str, figures: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a case."""
    row = {"case": name, "group": figures["group"], "rounds": figures.get("rounds", "")}
    for key in BY_LIBRARY:
        row |= {f"{key}: {library}": value for library, value in figures.get(key, {}).items()}
    return row


def case_of(row: Row) -> dict[str, Any]:
    """Return the figures of a case."""
    figures: dict[str, Any] = {key: numbers_by_library(row, key) for key in BY_LIBRARY[:-1]}
    figures |= {"group": row["group"], "rounds": int(row["rounds"] or 0)}
    figures["failures"] = by_library(row, "failures")
    if not figures["to_built_in"]:
        del figures["to_built_in"]
    return figures


def group_row(name: str, figures: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a group."""
    case, worst = figures["worst"] or ("", "")
    means = {f"geometric_mean: {peer}": mean for peer, mean in figures["geometric_mean"].items()}
    optional_figures = {key: "" if figures[key] is None else figures[key] for key in ("aim", "worst_allowed")}
    return {
        "group": name, "noise": figures["noise"], **optional_figures, "worst": worst, "worst_case": case, **means,
    }  # fmt: skip


def group_of(row: Row) -> dict[str, Any]:
    """Return the figures of a group."""
    worst = optional(row["worst"])
    return {
        "geometric_mean": numbers_by_library(row, "geometric_mean"),
        "noise": float(row["noise"]),
        "aim": optional(row["aim"]),
        "worst": None if worst is None else [row["worst_case"], worst],
        "worst_allowed": optional(row["worst_allowed"]),
    }


# --- parts: Note [Rows of a part] ---


def part_rows(path: str, part: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of a part, the outer ones first."""
    members = items(part)
    figures = {
        name: empty(value) for name, value in members if not isinstance(value, dict | list) or not value
    }
    if figures:
        yield {PATH: path, **figures}
    for name, value in members:
        if isinstance(value, dict | list) and value:
            yield from part_rows(f"{path}/{escaped(name)}", value)


def items(part: dict[str, Any] | list[Any]) -> list[tuple[str, Any]]:
    """Return the members of a dictionary or a list by name."""
    if isinstance(part, dict):
        return list(part.items())
    return [(f"[{index}]", value) for index, value in enumerate(part)]


def empty(value: Any) -> Any:
    """Return how a value is written: an empty list or dictionary has no row, and is a cell."""
    return value if not isinstance(value, dict | list) else "[]" if isinstance(value, list) else "{}"


def part_of(rows: Sequence[Row]) -> Any:
    """Return the part that has these rows."""
    tree: dict[str, Any] = {}
    for row in rows:
        node = tree
        for name in row[PATH].split("/")[1:]:
            node = node.setdefault(plain(name), {})
        node |= {name: figure(cell) for name, cell in row.items() if cell and name != PATH}
    return with_lists(tree)


def with_lists(node: Any) -> Any:
    """Return a tree in which the dictionaries whose names are those of elements are lists."""
    if not isinstance(node, dict) or not node:
        return node
    members = {name: with_lists(value) for name, value in node.items()}
    return list(members.values()) if "[0]" in members else members


def figure(cell: str) -> Any:
    """Return the value of a cell: a number if it reads as one."""
    if cell in EMPTY:
        return EMPTY[cell].copy()
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell


def escaped(name: str) -> str:
    """Return a name as it stands in a path."""
    return name.replace("~", "~0").replace("/", "~1")


def plain(name: str) -> str:
    """Return the name that stands in a path."""
    return name.replace("~1", "/").replace("~0", "~")

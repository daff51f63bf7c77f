"""Tables of measurements."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any

from tt.errors import DataTypeError
from tt.utils.benchmark.measurement import Measurement, select_unit, trim_sigfig, unit_to_english

__all__ = ["Colorize", "Compare"]

_BEST, _GOOD, _BAD, _END = "\033[92m\033[1m", "\033[92m", "\033[91m", "\033[0m"


class Colorize(Enum):
    """The times that colours compare: those of a column, or of a row."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """A table of measurements: rows are sub-labels, columns descriptions, one table for each label.

    Parameters
    ----------
    results : list of Measurement
        The measurements to show; those of one task are merged.

    Examples
    --------
    >>> from tt.utils.benchmark import Compare, Measurement, TaskSpec
    >>> rows = [("add", "old", 2e-6), ("add", "new", 1e-6), ("mul", "old", 3e-6)]
    >>> table = Compare([Measurement(1, [t], TaskSpec("f()", "", "", "ops", n, d)) for n, d, t in rows])
    >>> table.print()
    [ ops ]         | old | new
    1 threads: ----------------
              add   | 2.0 | 1.0
              mul   | 3.0 |
    <BLANKLINE>
    Times are in microseconds (us).
    <BLANKLINE>
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim = self._warn = False
        self._colours = Colorize.NONE

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements."""
        added = list(results)
        for result in added:
            if not isinstance(result, Measurement):
                raise DataTypeError(f"Compare() takes measurements of a Timer, not {type(result).__name__}")
        self._results += added

    def trim_significant_figures(self) -> None:
        """Show only the digits that the times justify."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Show the best times in green and the worst in red: in each column, or in each row."""
        self._colours = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark times that differ much from run to run."""
        self._warn = True

    def print(self) -> None:
        """Print the tables."""
        print(str(self))

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        labels = list(dict.fromkeys(m.task_spec.label for m in merged))
        return "\n\n".join(
            self._table(label, [m for m in merged if m.task_spec.label == label]) for label in labels
        )

    def _table(self, label: str | None, found: list[Measurement]) -> str:
        if not found:
            return ""
        # One unit for the whole table, so that its numbers can be compared.
        name, unit = select_unit(min(m.median for m in found))
        columns = list(dict.fromkeys(m.task_spec.description or "" for m in found))
        several = len({m.task_spec.env for m in found}) > 1
        cells: dict[tuple[Any, Any], dict[str, Measurement]] = {}
        for m in found:
            row = (f"({m.env}) " if several else "") + m.as_row_name
            cells.setdefault((m.task_spec.num_threads, row), {})[m.task_spec.description or ""] = m
        texts = {key: [self._text(row.get(c), unit) for c in columns] for key, row in cells.items()}
        colours = self._colouring(cells, columns)
        head = f"[ {label or 'times'} ]"
        first = max(len(head), *(10 + len(row) for _, row in cells))
        widths = [max(len(c), *(len(t[i]) for t in texts.values())) for i, c in enumerate(columns)]
        widths = [max(width, 3) for width in widths]
        first = first + 2
        lines = [head.ljust(first) + "".join(f" | {c:>{w}}" for c, w in zip(columns, widths, strict=True))]
        lines[0] = lines[0].rstrip()
        length, threads = max(len(lines[0]), first + sum(w + 3 for w in widths)), None
        for key in sorted(cells, key=lambda key: key[0]):
            if key[0] != threads:
                threads = key[0]
                lines.append(f"{threads} threads: ".ljust(length, "-"))
            parts = []
            for column, (text, width) in enumerate(zip(texts[key], widths, strict=True)):
                padded = f"{text:>{width}}"
                colour = colours.get((key, column), "")
                parts.append(f" | {colour}{padded}{_END if colour else ''}")
            lines.append((" " * 10 + key[1]).ljust(first) + "".join(parts).rstrip())
        lines += ["", f"Times are in {unit_to_english(name)}s ({name})."]
        if self._warn and any(m.has_warnings for m in found):
            lines.append("(! XX%) The quartiles are XX % of the median apart.")
        return "\n".join(lines) + "\n"

    def _text(self, found: Measurement | None, unit: float) -> str:
        if found is None:
            return ""
        value = found.median / unit
        text = f"{trim_sigfig(value, found.significant_figures):g}" if self._trim else f"{value:.1f}"
        if self._warn and found.has_warnings:
            text = f"(! {found.iqr / found.median:.0%}) {text}"
        return text

    def _colouring(
        self, cells: dict[tuple[Any, Any], dict[str, Measurement]], columns: list[str]
    ) -> dict[tuple[Any, int], str]:
        """Return the colours of the times that are compared with others."""
        groups: dict[Any, list[tuple[Any, int, float]]] = {}
        if self._colours is Colorize.NONE:
            return {}
        for key, row in cells.items():
            for column, name in enumerate(columns):
                if name in row:
                    of = key if self._colours is Colorize.ROWWISE else column
                    groups.setdefault(of, []).append((key, column, row[name].median))
        colours = {}
        for group in groups.values():
            best = min(time for _, _, time in group)
            for key, column, time in group:
                if len(group) == 1 or 1.05 * best < time < 1.25 * best:
                    continue
                colours[key, column] = _BEST if time == best else _GOOD if time <= 1.05 * best else _BAD
        return colours

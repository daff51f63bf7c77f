"""Measurements: the times of a statement, and statistics of them."""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from tt.errors import ValueRangeError

__all__ = ["Measurement", "TaskSpec", "select_unit", "trim_sigfig", "unit_to_english"]

_UNITS: Final = (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0))
_WORDS: Final = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}
MAX_SIGNIFICANT: Final = 4
# A measurement whose quartiles are further apart than this part of its median is marked.
WARN_ABOVE: Final = 0.1
NEVER_BELOW: Final = 25e-6


def select_unit(t: float) -> tuple[str, float]:
    """Return the unit in which a time is at least 1, and its length in seconds.

    Examples
    --------
    >>> from tt.utils.benchmark import select_unit
    >>> select_unit(0.002)
    ('ms', 0.001)
    """
    best = _UNITS[0]
    for unit in _UNITS:
        if t >= unit[1]:
            best = unit
    return best


def unit_to_english(u: str) -> str:
    """Return the word for a unit of `select_unit`.

    Examples
    --------
    >>> from tt.utils.benchmark import unit_to_english
    >>> unit_to_english("us")
    'microsecond'
    """
    return _WORDS[u]


def trim_sigfig(x: float, n: int) -> float:
    """Return a number with so many significant digits.

    Examples
    --------
    >>> from tt.utils.benchmark import trim_sigfig
    >>> trim_sigfig(1234.5, 2)
    1200.0
    """
    if n < 1:
        raise ValueRangeError(f"trim_sigfig(): a number has at least one significant digit, not {n}")
    if x == 0 or not math.isfinite(x):
        return float(x)
    return float(round(x, n - 1 - math.floor(math.log10(abs(x)))))


@dataclass(frozen=True)
class TaskSpec:
    """The description of a measured statement.

    Attributes
    ----------
    stmt, setup, global_setup : str
        The statement, and what runs before it.
    label, sub_label, description, env : str or None
        Its names in the table, the row and the column, and where it ran.
    num_threads : int
        How many threads kernels use.

    Examples
    --------
    >>> from tt.utils.benchmark import TaskSpec
    >>> TaskSpec("x + 1", "x = 1", label="sums").title
    'sums'
    """

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The title above its times."""
        if self.label is None:
            return (
                f"stmt: {self.stmt}"
                if "\n" not in self.stmt
                else f"stmt:\n{textwrap.indent(self.stmt, '  ')}"
            )
        return self.label + (f": {self.sub_label}" if self.sub_label else "")

    def setup_str(self) -> str:
        """Return the setup as a line or lines."""
        if not self.setup or self.setup == "pass":
            return ""
        return (
            f"setup: {self.setup}"
            if "\n" not in self.setup
            else f"setup:\n{textwrap.indent(self.setup, '  ')}"
        )

    def summarize(self) -> str:
        """Return all of it as a text."""
        lines = [self.title, self.description or "", self.setup_str()]
        return "\n".join(line for line in lines if line)


@dataclass(init=True, repr=False)
class Measurement:
    """The times of a statement.

    Attributes
    ----------
    number_per_run : int
        How often the statement ran between two readings of the clock.
    raw_times : list of float
        The seconds between them.
    task_spec : TaskSpec
        What was measured.
    metadata : dict, optional
        Whatever belongs to it.

    Examples
    --------
    >>> from tt.utils.benchmark import Measurement, TaskSpec
    >>> found = Measurement(10, [2.0, 4.0, 3.0], TaskSpec("f()", "pass"))
    >>> found.times, found.median, found.iqr
    ([0.2, 0.4, 0.3], 0.3, 0.1)
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = field(default=None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "task_spec":  # also before the fields are there
            raise AttributeError(name)
        return getattr(self.task_spec, name)

    @cached_property
    def times(self) -> list[float]:
        """The seconds of one run of the statement."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def _sorted(self) -> list[float]:
        if not self.raw_times:
            raise ValueRangeError("the measurement has no times")
        return sorted(self.times)

    @cached_property
    def median(self) -> float:
        """The time in the middle."""
        return statistics.median(self._sorted)

    @cached_property
    def mean(self) -> float:
        """The mean of the times."""
        return statistics.fmean(self._sorted)

    @cached_property
    def iqr(self) -> float:
        """The distance between the quartiles: half of the times lie between them."""
        return round(_quantile(self._sorted, 0.75) - _quantile(self._sorted, 0.25), 15)

    @property
    def significant_figures(self) -> int:
        """The number of significant digits of the median."""
        if len(self.raw_times) < 2 or self.iqr == 0:
            return MAX_SIGNIFICANT
        # The error of a median falls with the root of the number of times; 1.645 stands for 90 %.
        error = 1.645 * self.iqr / 1.35 * 1.25 / math.sqrt(len(self.raw_times))
        if error == 0 or self.median == 0:
            return MAX_SIGNIFICANT
        digits = math.ceil(math.log10(self.median / error))
        return min(max(digits, 1), MAX_SIGNIFICANT)

    @property
    def has_warnings(self) -> bool:
        """Whether the times differ so much that the median is unreliable."""
        return not self.meets_confidence()

    def meets_confidence(self, threshold: float = WARN_ABOVE) -> bool:
        """Return whether the quartiles are at most a fraction of the median apart."""
        return len(self.raw_times) < 4 or self.iqr / max(self.median, 1e-12) < threshold

    @property
    def title(self) -> str:
        """The title above the times."""
        return self.task_spec.title

    @property
    def env(self) -> str:
        """The environment in which it ran."""
        return self.task_spec.env or "Unspecified env"

    @property
    def as_row_name(self) -> str:
        """The name of its row in a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Return the measurements with those of one task put together.

        Examples
        --------
        >>> from tt.utils.benchmark import Measurement, TaskSpec
        >>> task = TaskSpec("f()", "pass")
        >>> [merged] = Measurement.merge([Measurement(1, [1.0], task), Measurement(2, [4.0], task)])
        >>> merged.times
        [1.0, 2.0]
        """
        groups: dict[TaskSpec, list[Measurement]] = {}
        for measurement in measurements:
            groups.setdefault(measurement.task_spec, []).append(measurement)
        # Runs of different lengths become comparable only per run.
        return [Measurement(1, [t for m in group for t in m.times], task) for task, group in groups.items()]

    def __repr__(self) -> str:
        lines = [f"{type(self).__module__}.{type(self).__name__}", self.task_spec.summarize()]
        if self.raw_times:
            name, unit = select_unit(self.median)
            digits = f".{max(self.significant_figures, 3)}g"
            count = len(self.raw_times)
            if count > 1:
                low, high = (_quantile(self._sorted, q) / unit for q in (0.25, 0.75))
                lines.append(f"  Median: {self.median / unit:{digits}} {name}")
                lines.append(f"  IQR:    {self.iqr / unit:.3g} {name} ({low:{digits}} to {high:{digits}})")
            else:
                lines.append(f"  {self.median / unit:{digits}} {name}")
            threads = self.task_spec.num_threads
            lines.append(
                f"  {count} measurement{'s' * (count > 1)}, {self.number_per_run} runs "
                f"{'per measurement' if count > 1 else ''}, {threads} thread{'s' * (threads > 1)}".replace(
                    " ,", ","
                )
            )
            if self.has_warnings:
                lines.append(f"  WARNING: the quartiles are {self.iqr / self.median:.0%} of the median apart")
        return "\n".join(lines)


def _quantile(ordered: list[float], q: float) -> float:
    rank = q * (len(ordered) - 1)
    low = math.floor(rank)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (rank - low)

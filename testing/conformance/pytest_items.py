"""What pytest runs: an item for each operator and dtype."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import TTError
from tt.testing.conformance.outcomes import Baseline, Outcome, outcomes, read_baseline
from tt.testing.conformance.run import QUICK, Target, chosen_checks, targets
from tt.testing.coverage import parse_place

if TYPE_CHECKING:
    from pytest import Item, Session

    from tt.testing.coverage import Place

__all__ = ["pytest_make_collect_report"]


class ConformanceError(Exception):
    """The faults of an operator: `runtest` raises it and `repr_failure` shows it."""


class Conformance(pytest.Collector):
    """A backend among the collected tests."""

    def __init__(
        self, *, place: Place, wanted: Sequence[Target], checks: Sequence[str], seed: int, baseline: Baseline | None,
        **rest: Any,
    ) -> None:  # fmt: skip
        super().__init__(**rest)
        self.place, self.wanted, self.checks, self.seed, self.baseline = place, wanted, checks, seed, baseline

    def collect(self) -> Iterator[Item]:
        """Yield an item for each operator and dtype."""
        for target in self.wanted:
            yield ConformanceItem.from_parent(self, name=str(target), backend=self, target=target)


class ConformanceItem(pytest.Item):
    """The checks of one operator and dtype."""

    def __init__(self, *, backend: Conformance, target: Target, **rest: Any) -> None:
        super().__init__(**rest)
        self.backend, self.target = backend, target

    def runtest(self) -> None:
        """Make the checks."""
        backend = self.backend
        (outcome,) = outcomes(backend.place, [self.target], seed=backend.seed, checks=backend.checks)
        if outcome.good:
            return
        message = self.describe(outcome)
        if backend.baseline is not None and backend.baseline.is_known(str(backend.place), outcome):
            pytest.xfail(f"known to the baseline: {message.splitlines()[0]}")
        raise ConformanceError(message)

    def describe(self, outcome: Outcome) -> str:
        """Return the faults, with code that repeats each failure."""
        if outcome.missing:
            return f"{outcome.target.op} is missing: the schema promises {outcome.target.dtype}, and nothing serves it"
        return "\n\n".join(map(str, outcome.report.failures if outcome.report else ()))

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Return the failures without the traceback of the plugin."""
        if isinstance(excinfo.value, ConformanceError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return where the operator is defined."""
        # pytest counts lines from zero.
        file, line = REGISTRY.operator(self.target.op).definition.location
        return file or self.path, max(line - 1, 0), f"{self.backend.place}: {self.target}"


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Add items for the requested backends to the session."""
    report = yield
    # The report of the session lists its children, so these items need no file.
    if isinstance(collector, pytest.Session):
        report.result = [*report.result, *backends(collector)]
    return report


def backends(session: Session) -> Iterator[Conformance]:
    """Yield a collector for each backend that the options name.

    Raises
    ------
    pytest.UsageError
        If a backend, operator, dtype, check or baseline is unknown or unusable.
    """
    option = session.config.getoption
    dtypes = option("--tt-dtype")
    chosen = QUICK if not dtypes else None if "all" in dtypes else dtypes
    path = option("--tt-baseline")
    try:
        baseline = read_baseline(path) if path else None
        checks = chosen_checks(option("--tt-checks") or None)
        for name in option("--tt-backend"):
            backend = parse_place(name)
            yield Conformance.from_parent(
                session, name=f"tt-{backend}", nodeid=f"tt-{backend}", place=backend,
                wanted=targets(backend.device, option("--tt-ops") or ("*",), chosen), checks=checks,
                seed=option("--tt-seed"), baseline=baseline,
            )  # fmt: skip
    except (TTError, OSError) as error:
        raise pytest.UsageError(str(error)) from None

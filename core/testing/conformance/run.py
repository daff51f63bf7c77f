"""Running the checks on a device."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from tt.core.dtype import dtype as Dtype
from tt.core.dtype import to_dtype
from tt.core.errors import NoKernelError, PluginMissingError
from tt.core.testing.conformance.case import SKIPPED, Case
from tt.core.testing.conformance.checks import CHECKS
from tt.core.testing.conformance.report import Report
from tt.core.testing.references import Reference
from tt.core.testing.samples import samples
from tt.core.testing.samples.base import has_dtype

if TYPE_CHECKING:
    from tt.core.dispatch.operator import Operator

__all__ = ["QUICK", "check_conformance"]

QUICK: Final = ("bool", "uint8", "int64", "float16", "float32", "complex64")
"""One dtype of each kind: what runs unless other dtypes are asked for."""


def check_conformance(
    device: str = "cpu",
    *,
    ops: Sequence[str] = ("*",),
    dtypes: Sequence[Dtype | str] | None = QUICK,
    seed: int = 0,
    reference: Reference | None = None,
    checks: Sequence[str] | None = None,
) -> Report:
    """Check the operators of a device on their samples.

    Parameters
    ----------
    device : str
        What to check.
    ops : sequence of str
        Qualified operator names, with `*` wildcards.
    dtypes : sequence of dtype or str, optional
        Which dtypes to check, of those that each operator promises; None for all.  An operator that promises none of
        them is checked with all of its own.
    seed : int
        Of the values.
    reference : callable, optional
        What values are compared with; by default the operator's `ref`, and the CPU for every other device.
    checks : sequence of str, optional
        Which of `CHECKS` to make; all by default.

    Examples
    --------
    >>> from tt.core.testing.conformance import check_conformance
    >>> check_conformance("cpu", ops=["neg"], dtypes=["float32"]).failures
    []
    """
    from tt.core.dispatch.registry import REGISTRY
    from tt.core.schema.classes import dtype_names
    from tt.core.startup import start

    start()  # results are asked by methods, which no public name has been used for yet
    wanted = None if dtypes is None else {to_dtype(d).name for d in dtypes}
    chosen = tuple(CHECKS) if checks is None else tuple(checks)
    report = Report()
    for definition in REGISTRY.definitions():
        if definition.samples is None or not any(fnmatchcase(definition.name, pattern) for pattern in ops):
            continue
        promised = [name for name in dtype_names(definition.dtypes) if has_dtype(device, to_dtype(name))]
        for name in [n for n in promised if wanted is None or n in wanted] or promised:
            operator = REGISTRY.operator(definition.name)
            _check_dtype(operator, device, to_dtype(name), seed, reference, chosen, report)
    return report


def _check_dtype(
    operator: Operator,
    device: str,
    dtype: Dtype,
    seed: int,
    reference: Reference | None,
    checks: Sequence[str],
    report: Report,
) -> None:
    for sample in samples(operator.definition, device, dtype, seed):
        case = Case(operator, device, dtype, sample, reference)
        for name in checks:
            try:
                with warnings.catch_warnings():
                    # An operator may warn its user, but NumPy's warnings of a kernel must not get out.
                    warnings.simplefilter("ignore")
                    warnings.simplefilter("error", RuntimeWarning)
                    made = list(CHECKS[name](case))
            except (NoKernelError, PluginMissingError) as error:
                if sample.error is not None:
                    break
                if name != "runs":
                    report.failures.append(case.failure(name, f"{type(error).__name__}: {error}"))
                    continue
                report.missing.append((operator.name, dtype.name))
                return
            except Exception as error:  # what a plugin's kernel raises is what is to be reported
                made = [f"{type(error).__name__}: {error}"]
            if made == [SKIPPED]:
                continue
            report.checks[name] += 1
            report.failures += [case.failure(name, message) for message in made]
            if name == "runs" and (made or sample.error is not None):
                break

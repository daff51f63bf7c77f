"""Running the checks on a device."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from tt.core import start
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import NoKernelError, PluginMissingError, UnknownNameError
from tt.core.schema.classes import dtype_names
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.dtype import to_dtype
from tt.operators._samples.base import has_dtype
from tt.testing.checks.case import SKIPPED, Case
from tt.testing.conformance.checks import CHECKS
from tt.testing.conformance.report import failure
from tt.testing.coverage.matrix import matching
from tt.testing.findings.report import Failure, Report
from tt.testing.references import Reference
from tt.testing.samples import samples

if TYPE_CHECKING:
    from tt.core.schema.model import OpDefinition

__all__ = ["QUICK", "Target", "check_conformance", "check_target", "chosen_checks", "select", "targets"]

QUICK: Final = ("bool", "uint8", "int64", "float16", "float32", "complex64")
"""One dtype of each kind, the default of a run."""


@dataclass(frozen=True, slots=True)
class Target:
    """The unit of checking: an operator with a dtype.

    Attributes
    ----------
    op, dtype : str
        Their names.
    """

    op: str
    dtype: str

    def __str__(self) -> str:
        return f"{self.op}[{self.dtype}]"


# --- choosing ----------------------------------------------------------------------------------------------------


def select(patterns: Sequence[str]) -> list[OpDefinition]:
    """Return the operators that patterns mean: "add", "max" with its overloads, "max.dim", "linalg_*", "acme::*".

    Raises
    ------
    UnknownOpError
        When no operator fits one of the patterns.
    """
    start()
    for namespace in {pattern.partition("::")[0] for pattern in patterns if "::" in pattern}:
        # Asking for overloads loads the plugin that owns the namespace, and the registry then has its operators.
        REGISTRY.overloads(f"{namespace}::")
    return matching(list(REGISTRY.definitions()), patterns)


def targets(
    device: str = "cpu",
    ops: Sequence[str] = ("*",),
    dtypes: Sequence[Dtype | str] | None = QUICK,
    *,
    sampled: bool = True,
) -> list[Target]:
    """Return the targets of a run with these arguments; operators without samples only where `sampled` is False.

    Raises
    ------
    UnknownOpError, UnknownNameError
        When a pattern or a dtype means nothing.
    """
    names = None if dtypes is None else {to_dtype(d).name for d in dtypes}
    result = []
    for definition in select(ops):
        if definition.samples is None and sampled:
            continue
        promised = [n for n in dtype_names(definition.dtypes) if has_dtype(device, to_dtype(n))]
        # An operator without any of the chosen dtypes is checked in all of its own, not left out.
        chosen = [n for n in promised if names is None or n in names] or promised
        result += [Target(definition.name, name) for name in chosen]
    return result


def chosen_checks(checks: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the checks to make, in the order in which they are made; all of them by default.

    Raises
    ------
    UnknownNameError
        If a check does not exist.
    """
    for name in checks or ():
        if name not in CHECKS:
            raise UnknownNameError("check", name, CHECKS)
    return tuple(name for name in CHECKS if checks is None or name in checks or name == "runs")


# --- checking ----------------------------------------------------------------------------------------------------


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
        Operator names with `*` wildcards; a name without overload means all of its overloads.
    dtypes : sequence of dtype or str, optional
        Which dtypes to check, of those that each operator promises; None for all.  An operator that promises none of
        them is checked with all of its own.
    seed : int
        Of the values.
    reference : callable, optional
        What values are compared with; by default the operator's `ref`, and the CPU for every other device.
    checks : sequence of str, optional
        Which of `CHECKS` to make; all by default, and "runs" always.

    Raises
    ------
    UnknownOpError, UnknownNameError
        When a pattern, a dtype or a check means nothing.

    Examples
    --------
    >>> from tt.testing.conformance import check_conformance
    >>> check_conformance("cpu", ops=["neg"], dtypes=["float32"]).failures
    []
    """
    chosen = chosen_checks(checks)
    report = Report()
    for target in targets(device, ops, dtypes):
        outcome = check_target(target, device, seed=seed, reference=reference, checks=chosen)
        report.add(outcome)
    return report


def check_target(
    target: Target,
    device: str = "cpu",
    *,
    seed: int = 0,
    reference: Reference | None = None,
    checks: Sequence[str] | None = None,
    most: int | None = None,
) -> Report:
    """Check one operator with one dtype.

    Parameters
    ----------
    most : int, optional
        At most so many of its samples, the first ones; the others are those of `check_conformance`.
    """
    report = Report()
    operator, dtype = REGISTRY.operator(target.op), to_dtype(target.dtype)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whatever the program's filters, samples must not warn
            drawn = list(islice(samples(operator.definition, device, dtype, seed), most))
    except Exception as error:  # the device's operators that lay them out may be faulty
        text = f"the samples cannot be made on the device: {type(error).__name__}: {error}"
        report.failures.append(Failure(target.op, device, target.dtype, "(all)", "runs", text, ""))
        return report
    # Checks that are made once for an operator need a sample with a result.
    last = max((index for index, sample in enumerate(drawn) if sample.error is None), default=-1)
    # That another seed changes something is asked of all samples together: a part of them may leave no choice.
    shared: dict[str, object] = {"varied": True} if most is not None and len(drawn) == most else {}
    for index, sample in enumerate(drawn):
        case = Case(operator, device, dtype, sample, reference, shared=shared)
        case.last = index == last
        report.samples += 1
        with warnings.catch_warnings():
            # An operator may warn its user, but NumPy's warnings of a kernel must not get out.
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            if not _check_case(case, checks or chosen_checks(None), report):
                break
    return report


def _check_case(case: Case, checks: Sequence[str], report: Report) -> bool:
    """Make the checks of one sample; return False where the operator is missing, so that others are of no use."""
    for name in checks:
        try:
            messages = list(CHECKS[name](case))
        except (NoKernelError, PluginMissingError) as error:
            if case.sample.error is not None:
                return True
            if name != "runs":
                report.failures.append(failure(case, name, f"{type(error).__name__}: {error}"))
                continue
            report.missing.append((case.operator.name, case.dtype.name))
            return False
        except Exception as error:  # any error of a plugin's kernel is reported
            messages = [f"{type(error).__name__}: {error}"]
        if messages == [SKIPPED]:
            continue
        report.checks[name] += 1
        report.failures += [failure(case, name, message) for message in messages]
        if name == "runs" and (messages or case.sample.error is not None):
            return True
    return True

"""opcheck itself: the tests, the calls on which each is made, and the report."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from tt.core.custom_op.results import results_as_they_come
from tt.core.errors import ArgumentError, OpCheckError, UnknownNameError, ValueRangeError
from tt.core.layers.fake import is_fake
from tt.testing.checks.aliasing import probe_aliasing
from tt.testing.checks.call import CheckedCall, device_type, in_words, main_dtype, tensors_in
from tt.testing.checks.determinism import probe_determinism, same_seed
from tt.testing.checks.dtypes import dtypes, probe_dtype
from tt.testing.checks.fake import probe_fake
from tt.testing.checks.gradients import probe_gradients, probe_registration
from tt.testing.checks.mutation import never_changed, probe_schema, probe_unchanged
from tt.testing.checks.placement import devices, probe_device
from tt.testing.checks.sizes import empties, probe_empty, sizes
from tt.testing.checks.strides import layouts, probe_layout
from tt.testing.checks.vmap import probe_vmap
from tt.testing.findings.log import Finding, Log, Probe
from tt.testing.opcheck.call import bind
from tt.testing.opcheck.report import OpCheckFailure, OpCheckReport
from tt.testing.opcheck.shrink import smallest
from tt.testing.snippets import repeat

__all__ = ["TESTS", "opcheck"]

Calls = Callable[[CheckedCall, Log], Iterable[CheckedCall]]
Part = tuple[Calls, Probe]
"""Calls made from the given one, and a probe of each; calls that the operator refuses are left out."""


def _given(call: CheckedCall, log: Log) -> Iterator[CheckedCall]:
    yield call


TESTS: Final[dict[str, tuple[Part, ...]]] = {
    "test_schema": (
        (_given, probe_schema), (layouts, probe_schema), (empties, probe_schema), (dtypes, probe_schema),
    ),
    "test_aliasing": ((_given, probe_aliasing), (layouts, probe_aliasing), (empties, probe_aliasing)),
    "test_faketensor": (
        (_given, probe_fake), (sizes, probe_fake), (empties, probe_fake), (layouts, probe_fake),
        (dtypes, probe_fake),
    ),
    "test_autograd_registration": ((_given, probe_registration),),
    "test_gradients": ((_given, probe_gradients),),
    "test_vmap": ((_given, probe_vmap),),
    "test_determinism": ((_given, probe_determinism),),
    "test_layouts": ((layouts, probe_layout), (empties, probe_empty)),
    "test_devices": ((_given, probe_dtype), (dtypes, probe_dtype), (devices, probe_device)),
}  # fmt: skip
"""The tests by name, in the order in which they are made."""


def opcheck(
    op: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] | None = None,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> OpCheckReport:
    """Check that an operator does what its registrations say, on these arguments and on what follows from them.

    Parameters
    ----------
    op : operator
        `tt.ops.acme.twice`, what `custom_op` returned, or "acme::twice"; also one of tt's own.
    args, kwargs : tuple, dict
        Arguments that the operator takes.  They are copied; nothing is done to them.  Choose values at which the
        operator is smooth, and sizes that differ from each other.
    test_utils : str or sequence of str, optional
        Which of `TESTS` to make; all by default.
    raise_exception : bool
        Raise if something was found; otherwise only report it.
    atol, rtol : float, optional
        How far values may differ; given both or neither.  By default, as far as their dtypes say.

    Returns
    -------
    OpCheckReport
        A dict: the name of each test -> "SUCCESS" or an OpCheckError.

    Raises
    ------
    OpCheckError
        With all failures of all tests.

    Examples
    --------
    >>> import tt
    >>> tt.library.opcheck(tt.ops.exp, (tt.tensor([0.5, 1.0]),))["test_gradients"]
    'SUCCESS'
    """
    if (rtol is None) != (atol is None):
        raise ValueRangeError("opcheck(): rtol and atol must both be given or both be left out")
    chosen = (
        list(TESTS)
        if test_utils is None
        else [test_utils]
        if isinstance(test_utils, str)
        else list(test_utils)
    )
    for name in chosen:
        if name not in TESTS:
            raise UnknownNameError("test of opcheck", str(name), TESTS)
    call = bind(op, args, kwargs)
    if any(t.device.type == "meta" or is_fake(t) for t in tensors_in(call.args)):
        raise ArgumentError("opcheck", "the arguments must have data", hint="give tensors on device='cpu'")
    report = OpCheckReport(str(call.signature))
    log = Log(rtol=rtol, atol=atol)
    with warnings.catch_warnings(), same_seed(call), results_as_they_come():
        # Warnings are for the operator's callers; opcheck makes up most of the arguments itself.
        warnings.simplefilter("ignore")
        fails = list(_calling(call, log))
        for name in chosen:
            findings = fails or list(_make(name, call, log, report))
            # Later tests do not report again what an earlier one has found.
            log.reported |= {(finding.fault, finding.argument) for finding in findings}
            failures = [_failure(name, finding, also, log) for finding, also in _grouped(findings)]
            report.checks[name] += 1
            report.failures += failures
            report[name] = (
                OpCheckError(call.operator.name, failures, "\n".join(map(str, failures)))
                if failures
                else "SUCCESS"
            )
            # Of a call that fails nothing else can be said.
            if fails:
                break
    report.samples = log.calls
    if report.failures and raise_exception:
        raise OpCheckError(call.operator.name, report.failures, str(report))
    return report


def _calling(call: CheckedCall, log: Log) -> Iterator[Finding]:
    """Make the given call: if it fails, all tests would."""
    try:
        log.result(call)
    except Exception as error:  # any error of the author's kernel is reported
        yield Finding("call_fails", f"{type(error).__name__}: {error}", call)


def _make(name: str, call: CheckedCall, log: Log, report: OpCheckReport) -> Iterator[Finding]:
    """Make one test."""
    log.notes = []
    for calls, probe in TESTS[name]:
        try:
            variants = list(calls(call, log))
        except Exception as error:  # the operators that make them may be missing on a device
            log.note(f"{calls.__name__} cannot be made: {in_words(error)}")
            continue
        for variant in variants:
            try:
                yield from probe(variant, log)
            except Exception as error:  # the operator need not take arguments that opcheck made up
                if variant is call:
                    yield Finding("call_fails", f"{type(error).__name__}: {error}", call)
                else:
                    log.note(f"{variant.on}: {in_words(error)}")
    if name == "test_schema":
        yield from never_changed(call, log)
    for note in log.notes:
        report.note(name, note)


def _grouped(findings: Sequence[Finding]) -> Iterator[tuple[Finding, tuple[str, ...]]]:
    """Yield the first finding of each fault and argument, and on which other calls there was the same."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.fault, finding.argument), []).append(finding)
    for group in groups.values():
        first = group[0]
        yield first, tuple(dict.fromkeys(f.call.on for f in group[1:] if f.call.on != first.call.on))


def _failure(test: str, finding: Finding, also: tuple[str, ...], log: Log) -> OpCheckFailure:
    probes = [_calling] if finding.fault == "call_fails" else [probe for _, probe in TESTS[test]]
    if finding.fault == "empty_fails":
        probes = [probe_empty]
    elif finding.fault == "never_mutated":
        probes = [probe_unchanged]

    def look(call: CheckedCall) -> Iterator[Finding]:
        # A probe may stand in several parts; and a log of its own keeps the search out of the report.
        for probe in dict.fromkeys(probes):
            yield from probe(call, Log(log.rtol, log.atol))

    call = finding.call
    finding = smallest(finding, look)
    return OpCheckFailure(
        call.operator.name, device_type(call), str(main_dtype(call) or ""), call.on, test, finding.message,
        repeat(finding.call, finding.how), finding.fault, finding.argument, also,
    )  # fmt: skip

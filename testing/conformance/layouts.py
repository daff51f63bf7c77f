"""The checks of a layout: operators do the same to tensors of the layout as to strided ones, or refuse.

The samples are those of every backend.  Arguments that promote together (or the first tensor, where none do) are laid
out in the layout: all of them, and each alone.  A call counts if there is a kernel for its layouts.

Note [Laws of a layout]
-----------------------
A kernel may refuse a call, with an error of tt that says why: a layout need not hold every result.  If it returns
something, that has the shape, the dtype and, where the dense result is finite, the elements of the dense result; its
arguments are as before; and without data the call has a result of the same layout, shape and dtype.  Those that fill
may keep to the elements that are stored.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import NoKernelError, TTError
from tt.core.tensor.tensor import wrap
from tt.core.types.dtype import to_dtype
from tt.testing.checks.call import UNDEFINED, dense, map_tensors, tensors_in
from tt.testing.checks.case import Case
from tt.testing.checks.fake import check_meta
from tt.testing.checks.mutation import Snapshot, check_inputs
from tt.testing.checks.values import differences
from tt.testing.compare import tolerances
from tt.testing.conformance.report import failure
from tt.testing.findings.report import Report
from tt.testing.references import as_array, widened
from tt.testing.samples import samples

if TYPE_CHECKING:
    from tt.core.tensor.backend import Backend
    from tt.core.tensor.tensor import Tensor
    from tt.testing.conformance.run import Target
    from tt.testing.coverage import Place

__all__ = ["LAYOUT_CHECKS", "check_layout", "is_served"]

FREE: Final = frozenset({"fill", "ones_like", "full_like", "new_ones", "new_full", "resize"})
"""Operators whose results may have zeros where nothing is stored, or that keep memory where a layout keeps places."""


def is_served(op: str, place: Place) -> bool:
    """Return whether any kernel of an operator is for the layout, alone or together with strided tensors."""
    # Registrations name the layouts of a call in alphabetical order.
    both = tuple(sorted((place.layout, "strided")))
    return any(REGISTRY.kernels_of(op, place.device, layouts) for layouts in ((place.layout,), both))


def check_layout(
    target: Target,
    place: Place,
    *,
    seed: int = 0,
    checks: Sequence[str] | None = None,
    most: int | None = None,
) -> Report:
    """Check one operator with one dtype on the tensors of a layout; see Note [Laws of a layout].

    Parameters
    ----------
    most : int, optional
        At most so many of its samples, the first ones that the layout has kernels for.
    """
    report = Report()
    backend = REGISTRY.backend(place.device, place.layout)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case, shown, names in _cases(target, place, backend, seed, most):
            note = f"# with {', '.join(names)} in the layout {place.layout}\n"
            failed = partial(failure, shown, note=note, place=place)
            case.before = Snapshot(case.given)
            try:
                case.result = case.run()
            except NoKernelError as error:
                # An operator without a kernel for the layout is no fault; one that its kernel calls is.
                if not (error.args and f"{target.op}(" in str(error).splitlines()[0]):
                    report.failures.append(failed("runs", f"{type(error).__name__}: {error}"))
                continue
            except TTError:
                report.checks["refuses"] += 1
                continue
            except Exception as error:
                report.failures.append(failed("runs", f"{type(error).__name__}: {error}"))
                continue
            report.samples += 1
            report.checks["runs"] += 1
            for name, check in LAYOUT_CHECKS.items():
                if checks is None or name in checks:
                    report.checks[name] += 1
                    try:
                        messages = list(check(case))
                    except Exception as error:
                        messages = [f"{type(error).__name__}: {error}"]
                    report.failures += [failed(name, message) for message in messages]
    return report


# --- calls -------------------------------------------------------------------------------------------------------


def _cases(
    target: Target, place: Place, backend: Backend, seed: int, most: int | None
) -> Iterator[tuple[Case, Case, tuple[str, ...]]]:
    """Yield samples with some arguments in the layout, the unchanged samples, and the names of these arguments."""
    operator, dtype = REGISTRY.operator(target.op), to_dtype(target.dtype)
    used = 0
    for sample in samples(operator.definition, place.device, dtype, seed):
        if most is not None and used >= most:
            return
        if sample.error is not None or not _is_finite(sample.args):
            continue
        tensors = [i for i, value in enumerate(sample.args) if next(tensors_in(value), None) is not None]
        # Arguments that promote together are the operands; an index, say, stays strided.
        grouped = [i for i in tensors if i in operator.group] or tensors[:1]
        sets = [grouped, *([i] for i in grouped)] if len(grouped) > 1 else [grouped] if grouped else []
        laid_out = False
        for positions in sets:
            lay_out = partial(map_tensors, function=partial(_laid_out, backend=backend))
            try:
                args = tuple(lay_out(v) if i in positions else v for i, v in enumerate(sample.args))
            except TTError:  # a layout need not have every shape and dtype
                continue
            layouts = tuple(sorted({tensor.layout.name for tensor in tensors_in(args)}))
            if REGISTRY.kernels_of(operator.name, place.device, layouts):
                laid_out = True
                shown = Case(operator, place.device, dtype, sample, None)
                names = tuple(operator.arguments[i].name for i in positions)
                yield replace(shown, sample=replace(sample, args=args)), shown, names
        used += laid_out


def _laid_out(tensor: Tensor, backend: Backend) -> Any:
    # Zeros, so that a sparse layout has something to leave out.
    array = np.where(_third(tensor.shape), 0, as_array(tensor)).astype(tensor.dtype.numpy)
    return wrap(backend.from_numpy(array), backend.spec(tensor.dtype))


def _third(shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """Return where elements are made zero: in the same places of each matrix, as batches want it."""
    matrix = tuple(shape[-2:])
    return np.broadcast_to((np.arange(int(np.prod(matrix))) % 3 == 0).reshape(matrix), tuple(shape))


def _is_finite(args: Sequence[Any]) -> bool:
    """Return whether no argument is infinite or NaN: zero times these is not the zero that a sparse layout omits."""
    return all(bool(np.isfinite(widened(as_array(tensor))).all()) for tensor in tensors_in(args))


# --- checks ------------------------------------------------------------------------------------------------------


def _values(case: Case) -> Iterator[str]:
    """Compare with the call on strided tensors, as far as its result is finite."""
    if case.random or case.definition.name in UNDEFINED | FREE:
        return
    expected = replace(case, sample=replace(case.sample, args=map_tensors(case.sample.args, dense))).run()
    results, references = list(tensors_in(case.result)), list(tensors_in(expected))
    if len(results) != len(references):
        yield f"{len(results)} results instead of {len(references)}"
    elif not results and case.result != expected:
        yield f"{case.result!r} instead of {expected!r}"
    # Not strict: another number of results has been reported.
    for one, other in zip(results, references, strict=False):
        actual, array = dense(one), as_array(other)
        if (actual.shape, one.dtype) != (other.shape, other.dtype):
            yield f"{one.dtype} of shape {list(one.shape)} instead of {other.dtype} of {list(other.shape)}"
            continue
        # Elements that are infinite or NaN there are not compared.
        kept = np.where(np.isfinite(widened(array)), array, as_array(actual)).astype(array.dtype)
        # Kernels of a layout add in another order than dense ones.
        rtol, atol = tolerances(one.dtype)
        yield from differences(actual, kept, tolerance=(8 * rtol, 64 * atol))


LAYOUT_CHECKS: Final[dict[str, Callable[[Case], Iterator[str]]]] = {
    "values": _values,
    "inputs": check_inputs,
    "meta": check_meta,
}
"""Name of a check -> what makes it; "runs" is made always."""

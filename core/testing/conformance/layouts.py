"""The checks of a layout: operators do the same to tensors of the layout as to strided ones, or refuse.

The samples are those of every backend.  Arguments that promote together (or the first tensor, where none do) are laid
out anew: all of them, and each alone.  A call counts if there is a kernel for its layouts.

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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.core.errors import DataDependentError, NoKernelError, TTError
from tt.core.tensor.base import TensorBase
from tt.core.testing.compare import tolerances
from tt.core.testing.conformance.case import UNDEFINED, tensors_in, to_meta
from tt.core.testing.conformance.report import Failure, Report
from tt.core.testing.references import as_array
from tt.core.testing.samples import Sample, samples
from tt.core.testing.snippets import snippet
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.dtype import to_dtype

if TYPE_CHECKING:
    from tt.core.dispatch.call.operator import Operator
    from tt.core.reports.coverage import Place
    from tt.core.tensor.backend import Backend
    from tt.core.testing.conformance.run import Target

__all__ = ["LAYOUT_CHECKS", "check_layout", "is_served"]

FREE: Final = frozenset({"fill", "ones_like", "full_like", "new_ones", "new_full", "resize"})
"""Operators whose results may have zeros where nothing is stored, or that keep memory where a layout keeps places."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A sample with some of its arguments laid out anew.

    Attributes
    ----------
    operator, dtype, sample : Operator, str, Sample
        The call with strided tensors.
    args : tuple
        The arguments of the call.
    which : tuple of str
        The names of the arguments that are laid out.
    """

    operator: Operator
    dtype: str
    sample: Sample
    args: tuple[Any, ...]
    which: tuple[str, ...]

    def run(self, args: Sequence[Any]) -> Any:
        """Call the operator; on a copy, where it has nothing but an in-place form."""
        if "inplace_only" in self.operator.definition.tags:
            return self.operator.caller("inplace")(args[0].clone(), *args[1:], **self.sample.kwargs)
        return self.operator.caller()(*args, **self.sample.kwargs)

    def failure(self, place: Place, check: str, message: str) -> Failure:
        """Return a failed check."""
        definition = self.operator.definition
        form = "inplace" if "inplace_only" in definition.tags else "functional"
        laid_out = f"# with {', '.join(self.which)} in the layout {place.layout}\n"
        try:
            code = laid_out + snippet(definition, form, self.sample.args, self.sample.kwargs)
        except Exception as error:  # what reads the arguments may be just what is wrong
            code = f"# the arguments cannot be read: {type(error).__name__}: {error}"
        return Failure(self.operator.name, str(place), self.dtype, self.sample.name, check, message, code)


def is_served(op: str, place: Place) -> bool:
    """Tell whether any kernel of an operator is for the layout, alone or beside strided tensors."""
    from tt.core.dispatch.registry.registry import REGISTRY

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
    from tt.core.dispatch.registry.registry import REGISTRY

    report = Report()
    operator, dtype = REGISTRY.operator(target.op), to_dtype(target.dtype)
    backend = REGISTRY.backend(place.device, place.layout)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in _calls(operator, dtype, place, backend, seed, most):
            before = [(tensor, _dense(tensor).tobytes(), tensor._version) for tensor in tensors_in(call.args)]
            try:
                result = call.run(call.args)
            except NoKernelError as error:
                if error.args and f"{operator.name}(" in str(error).splitlines()[0]:
                    continue
                report.failures.append(call.failure(place, "runs", f"{type(error).__name__}: {error}"))
                continue
            except TTError:
                report.checks["refuses"] += 1
                continue
            except Exception as error:
                report.failures.append(call.failure(place, "runs", f"{type(error).__name__}: {error}"))
                continue
            report.samples += 1
            report.checks["runs"] += 1
            for name, check in LAYOUT_CHECKS.items():
                if checks is None or name in checks:
                    found = list(_inputs(before) if name == "inputs" else check(call, result))
                    report.checks[name] += 1
                    report.failures += [call.failure(place, name, message) for message in found]
    return report


# --- calls -------------------------------------------------------------------------------------------------------


def _calls(
    operator: Operator, dtype: Dtype, place: Place, backend: Backend, seed: int, most: int | None
) -> Iterator[_Call]:
    from tt.core.dispatch.registry.registry import REGISTRY

    used = 0
    for sample in samples(operator.definition, place.device, dtype, seed):
        if most is not None and used >= most:
            return
        if sample.error is not None or not _is_finite(sample.args):
            continue
        tensors = [i for i, value in enumerate(sample.args) if next(tensors_in(value), None) is not None]
        grouped = [i for i in tensors if i in operator.group] or tensors[:1]
        sets = [grouped, *([i] for i in grouped)] if len(grouped) > 1 else [grouped] if grouped else []
        laid_out = False
        for positions in sets:
            try:
                args = tuple(
                    _laid_out(value, backend) if i in positions else value
                    for i, value in enumerate(sample.args)
                )
            except TTError:  # a layout need not have every shape and dtype
                continue
            layouts = tuple(sorted({tensor.layout.name for tensor in tensors_in(args)}))
            if REGISTRY.kernels_of(operator.name, place.device, layouts):
                names = tuple(operator.arguments[i].name for i in positions)
                laid_out = True
                yield _Call(operator, dtype.name, sample, args, names)
        used += laid_out


def _laid_out(value: Any, backend: Backend) -> Any:
    from tt.core.tensor.tensor import wrap

    if isinstance(value, TensorBase):
        array = np.where(_third(value.shape), 0, as_array(value)).astype(value.dtype.numpy)
        return wrap(backend.from_numpy(array), backend.spec(value.dtype))
    if isinstance(value, list | tuple):
        return type(value)(_laid_out(item, backend) for item in value)
    return value


def _third(shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """Return where elements are made zero: in the same places of each matrix, as batches want it."""
    matrix = tuple(shape[-2:])
    return np.broadcast_to((np.arange(int(np.prod(matrix))) % 3 == 0).reshape(matrix), tuple(shape))


def _is_finite(args: Sequence[Any]) -> bool:
    """Tell whether no argument is infinite or no number: zero times that is not what a sparse layout stores."""
    with np.errstate(all="ignore"):
        return all(bool(np.isfinite(_wide(tensor)).all()) for tensor in tensors_in(args))


def _wide(tensor: Any) -> np.ndarray[Any, Any]:
    array = as_array(tensor)
    half = array.dtype.itemsize == 2 and array.dtype.kind not in "iu"
    found: np.ndarray[Any, Any] = array.astype(np.float32) if half else array
    return found


def _dense(tensor: Any) -> np.ndarray[Any, Any]:
    """Return the elements of a tensor of any layout."""
    found: np.ndarray[Any, Any] = tensor._spec.backend.to_numpy(tensor._handle)
    return found


def _strided(value: Any) -> Any:
    """Return the same argument with strided tensors."""
    from tt.core.dispatch.resolve.fallback import strided_tensor

    if isinstance(value, TensorBase):
        return value if value.layout.name == "strided" else strided_tensor(value)
    if isinstance(value, list | tuple):
        return type(value)(_strided(item) for item in value)
    return value


# --- checks ------------------------------------------------------------------------------------------------------


def _inputs(before: Sequence[tuple[Any, bytes, int]]) -> Iterator[str]:
    for tensor, values, version in before:
        if _dense(tensor).tobytes() != values:
            yield "the call changed the values of an argument"
        if tensor._version != version:
            yield f"the call bumped an argument's version from {version} to {tensor._version}"


def _values(call: _Call, result: Any) -> Iterator[str]:
    definition = call.operator.definition
    if definition.name in UNDEFINED | FREE or "random" in definition.tags:
        return
    expected = call.run(_strided(call.args))
    found_tensors, expected_tensors = list(tensors_in([result])), list(tensors_in([expected]))
    if len(found_tensors) != len(expected_tensors):
        yield f"{len(found_tensors)} results instead of {len(expected_tensors)}"
        return
    if not found_tensors and result != expected:
        yield f"{result!r} instead of {expected!r}"
    for found, wanted in zip(found_tensors, expected_tensors, strict=True):
        if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
            yield f"{found.dtype} of shape {list(found.shape)} instead of {wanted.dtype} of {list(wanted.shape)}"
            continue
        one, two = (np.asarray(_dense(t)) for t in (found, wanted))
        rtol, atol = tolerances(found.dtype)
        with np.errstate(all="ignore"):
            if one.dtype.kind not in "biu":
                kind = np.complex128 if one.dtype.kind == "c" else np.float64
                one, two = one.astype(kind), two.astype(kind)
                good = np.isclose(one, two, rtol=8 * rtol, atol=64 * atol) | ~np.isfinite(two)
            else:
                good = one == two
        if not good.all():
            at = tuple(int(i) for i in np.argwhere(~good)[0])
            yield f"{int((~good).sum())} of {good.size} values differ, at {list(at)} {one[at]} instead of {two[at]}"


def _meta(call: _Call, result: Any) -> Iterator[str]:
    from tt.core.dispatch.resolve.mixed_devices import transfer
    from tt.core.types.device import Device

    def without(value: Any) -> Any:
        if isinstance(value, TensorBase):
            return to_meta(value) if value.layout.name == "strided" else transfer(value, Device("meta"))
        return type(value)(map(without, value)) if isinstance(value, list | tuple) else value

    try:
        made = call.run(tuple(map(without, call.args)))
    except DataDependentError:
        return
    except Exception as error:
        yield f"without data: {type(error).__name__}: {error}"
        return
    for found, known in zip(tensors_in([result]), tensors_in([made]), strict=True):
        one, two = ((t.layout, tuple(t.shape), t.dtype) for t in (found, known))
        if one != two:
            yield f"without data, the result is {two[2]} of shape {list(two[1])} in {two[0]}, not {one}"


LAYOUT_CHECKS: Final[dict[str, Callable[..., Iterator[str]]]] = {
    "values": _values,
    "inputs": lambda call, result: iter(()),
    "meta": _meta,
}
"""Name of a check -> what makes it; "runs" is made always."""

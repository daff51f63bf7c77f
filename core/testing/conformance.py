"""Conformance: whether a device serves the operators as the schema says.

Every operator runs on its samples.  Each call is checked in several ways, each under a name:

- runs: the call succeeds, or raises the error that the sample names;
- meta: shape, dtype and (for views and row-major inputs) strides are those of the shape rule; what depends on data
  is refused without data;
- values: the values are those of a reference;
- inputs: the arguments are unchanged;
- view: the result shares its argument's memory;
- inplace, out: these forms do what the functional form does;
- seed: a random operator repeats itself for the same seed;
- composite: without the kernels of non-core operators the result is the same.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.core.dtype import dtype as Dtype
from tt.core.dtype import finfo, to_dtype
from tt.core.errors import DataDependentError, NoKernelError, PluginMissingError
from tt.core.promotion import can_cast
from tt.core.tensor_base import TensorBase
from tt.core.testing.compare import tolerances
from tt.core.testing.references import Reference, as_array, cpu_reference, numpy_reference
from tt.core.testing.samples import Sample, samples
from tt.core.testing.samples.base import has_dtype
from tt.core.testing.snippets import snippet

if TYPE_CHECKING:
    from tt.core.dispatch.operator import Operator

__all__ = ["CHECKS", "Failure", "Report", "check_conformance"]

QUICK: Final = ("bool", "uint8", "int64", "float16", "float32", "complex64")
"""One dtype of each kind: what runs unless other dtypes are asked for."""

# Their values are undefined.
_UNDEFINED: Final = frozenset({"empty", "empty_strided", "empty_like", "new_empty"})


@dataclass(frozen=True, slots=True)
class Failure:
    """One check that failed.

    Attributes
    ----------
    op, device, dtype, sample, check : str
        What was checked, on which input, and how.
    message : str
        What is wrong.
    snippet : str
        Code that repeats the call.
    """

    op: str
    device: str
    dtype: str
    sample: str
    check: str
    message: str
    snippet: str

    def __str__(self) -> str:
        head = f"{self.op} [{self.device}, {self.dtype}, {self.sample}] {self.check}: {self.message}"
        return "\n    ".join([head, *self.snippet.splitlines()])


@dataclass(slots=True)
class Report:
    """What a run found.

    Attributes
    ----------
    failures : list of Failure
        What is wrong.
    missing : list of (op, dtype)
        What the schema promises and the device does not serve.
    checks : Counter
        How often each check was made.
    """

    failures: list[Failure] = field(default_factory=list)
    missing: list[tuple[str, str]] = field(default_factory=list)
    checks: Counter[str] = field(default_factory=Counter)


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


# --- one call --------------------------------------------------------------------------------------------------


@dataclass
class Case:
    """One sample of one operator, and its result once it ran."""

    operator: Operator
    device: str
    dtype: Dtype
    sample: Sample
    reference: Reference | None
    result: Any = None
    before: Any = None

    @property
    def definition(self) -> Any:
        """The operator's definition."""
        return self.operator.definition

    @property
    def inplace_only(self) -> bool:
        """Whether the operator has only its in-place form in public."""
        return "inplace_only" in self.definition.tags

    @property
    def random(self) -> bool:
        """Whether the values are drawn."""
        return "random" in self.definition.tags

    @property
    def steps(self) -> int:
        """How many intermediate results the call may round: none in a kernel, some in a composite."""
        from tt.core.dispatch.registry import REGISTRY

        device = str(self.device).partition(":")[0]
        return 0 if REGISTRY.kernels_of(self.operator.name, device, ("strided",)) else ROUNDED

    def call(self, args: Sequence[Any], form: str = "functional", **more: Any) -> Any:
        """Call a form of the operator."""
        return self.operator.caller(form)(*args, **self.sample.kwargs, **more)

    def run(self, args: Sequence[Any] | None = None) -> Any:
        """Call the operator as its users do: for those with nothing but an in-place form, on a copy."""
        given = self.sample.args if args is None else args
        if self.inplace_only:
            return self.call((copy_of(given[0]), *given[1:]), "inplace")
        return self.call(given)

    def failure(self, check: str, message: str) -> Failure:
        """Return a failed check."""
        form = "inplace" if self.inplace_only or check == "inplace" else "functional"
        code = snippet(self.definition, form, self.sample.args, self.sample.kwargs)
        return Failure(
            self.operator.name, str(self.device), self.dtype.name, self.sample.name, check, message, code
        )


ROUNDED: Final = 4
"""How many intermediate results of a composite may be rounded to half precision."""
LARGEST: Final = 5
"""The bound of the samples' values."""
SKIPPED: Final = "skipped"
"""What a check yields that does not apply."""


def copy_of(tensor: Any) -> Any:
    """Return a copy of a tensor, in the same order of dimensions."""
    return tensor.clone()


def tensors_in(value: Any) -> Iterator[Any]:
    """Yield the tensors of an argument or a result."""
    if isinstance(value, TensorBase):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)


def differences(actual: Any, expected: Any, steps: float = 0) -> Iterator[str]:
    """Yield how results differ from expected arrays, within the tolerances of their dtypes.

    `steps` counts intermediate results in half precision, which a composite rounds and a kernel does not: each adds
    an error as large as the dtype's resolution at the largest value of the samples.
    """
    if isinstance(actual, list | tuple):
        if not isinstance(expected, list | tuple) or len(actual) != len(expected):
            yield f"{len(actual)} results where the reference has another number"
            return
        for one, other in zip(actual, expected, strict=True):
            yield from differences(one, other, steps)
        return
    found = as_array(actual)
    dtype = actual.dtype if isinstance(actual, TensorBase) else None
    wanted = np.asarray(expected)
    if dtype is None:
        if found != wanted and not (found != found and wanted != wanted):
            yield f"{found!r} instead of {expected!r}"
        return
    if found.shape != wanted.shape:
        yield f"shape {found.shape} instead of {wanted.shape}"
        return
    if wanted.dtype.kind == "c" and not dtype.is_complex:
        yield f"{dtype} instead of a complex dtype"
        return
    if dtype.is_floating_point or dtype.is_complex:
        wide = np.complex128 if dtype.is_complex else np.float64
        with np.errstate(all="ignore"):  # to the dtype and back: what overflows there is infinite
            wanted, found = wanted.astype(dtype.numpy).astype(wide), found.astype(wide)
        rtol, atol = tolerances(dtype)
        if dtype.itemsize == 2:
            atol += steps * LARGEST * finfo(dtype).eps
        close = np.isclose(found, wanted, rtol=rtol, atol=atol, equal_nan=True)
    else:
        with np.errstate(all="ignore"):
            wanted = wanted.astype(dtype.numpy)
        close = found == wanted
    if not np.all(close):
        at = tuple(int(i) for i in np.argwhere(~close)[0]) if found.ndim else ()
        yield f"{int(np.sum(~close))} of {found.size} values differ, at {list(at)} {found[at]} instead of {wanted[at]}"


# --- the checks ------------------------------------------------------------------------------------------------


def check_runs(case: Case) -> Iterator[str]:
    """Call the operator, or meet the error that the sample names."""
    case.before = [(t, as_array(t).copy(), t._version) for t in tensors_in(case.sample.args)]
    error = case.sample.error
    if error is None:
        case.result = case.run()
        return
    try:
        result = case.run()
    except error:
        return
    except Exception as other:
        yield f"{type(other).__name__} instead of {_names(error)}: {other}"
    else:
        yield f"{_names(error)} was expected, and the result was {result!r}"


def _names(error: Any) -> str:
    return " or ".join(kind.__name__ for kind in (error if isinstance(error, tuple) else (error,)))


def check_inputs(case: Case) -> Iterator[str]:
    """Compare the arguments with what they were before the call."""
    for tensor, values, version in case.before:
        now = as_array(tensor)
        if now.tobytes() != values.tobytes():
            yield f"the call changed an argument: {values.tolist()} became {now.tolist()}"
        if tensor._version != version:
            yield f"the call bumped an argument's version from {version} to {tensor._version}"


def check_meta(case: Case) -> Iterator[str]:
    """Compare shape, dtype and strides with those of the same call without data."""
    tags = case.definition.tags
    if "data_dependent" in tags or "data_dependent_shape" in tags:
        try:
            case.run([to_meta(value) for value in case.sample.args])
        except DataDependentError:
            return
        yield "the result depends on data, and the call succeeded without"
        return
    kwargs = {
        name: "meta" if name == "device" else to_meta(value) for name, value in case.sample.kwargs.items()
    }
    twin = Case(case.operator, "meta", case.dtype, Sample(case.sample.args, kwargs), None)
    try:
        expected = list(tensors_in(twin.run([to_meta(value) for value in case.sample.args])))
    except DataDependentError as error:
        if not _has_mask(case.sample.args) and case.definition.name not in _SOMETIMES_DEPENDENT:
            yield f"the call is refused without data: {error}"
        return
    found = list(tensors_in(case.result))
    if len(found) != len(expected):
        yield f"{len(found)} results instead of {len(expected)}"
        return
    exact = case.definition.kind == "view" or all(t.is_contiguous() for t in tensors_in(case.sample.args))
    for one, other in zip(found, expected, strict=True):
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            yield f"{one.dtype} {list(one.shape)} instead of {other.dtype} {list(other.shape)}"
        elif exact and one.spec.backend.has_views and one.numel() and one.stride() != other.stride():
            yield f"strides {one.stride()} instead of {other.stride()}"


_SOMETIMES_DEPENDENT: Final = frozenset(
    {"one_hot", "repeat_interleave.Tensor", "repeat_interleave.self_Tensor"}
)
"""Whose shape depends on data unless a number that says it is given."""


def _has_mask(value: Any) -> bool:
    return any(t.dtype.name in ("bool", "uint8") for t in tensors_in(value))


def to_meta(value: Any) -> Any:
    """Return the same argument without data."""
    from tt.core.dispatch.registry import REGISTRY
    from tt.core.meta import describe
    from tt.core.tensor import wrap

    if isinstance(value, TensorBase):
        return wrap(describe(value), REGISTRY.backend("meta").spec(value.dtype))
    if isinstance(value, list | tuple):
        return type(value)(to_meta(item) for item in value)
    return value


def check_values(case: Case) -> Iterator[str]:
    """Compare the values with the reference's."""
    if case.random or case.definition.name in _UNDEFINED:
        yield SKIPPED
        return
    caller = case.operator.caller("inplace" if case.inplace_only else "functional")
    bind = caller.binder or case.operator.binder(caller)
    names = [a.name for a in case.operator.arguments]
    arguments = dict(zip(names, bind(case.sample.args, dict(case.sample.kwargs)), strict=True))
    references = [case.reference] if case.reference else [numpy_reference]
    if case.device != "cpu" and case.reference is None:
        references.append(cpu_reference)
    for reference in references:
        expected = reference(case.definition, arguments)
        if expected is not NotImplemented:
            comparable = _COMPARABLE.get(case.operator.name, lambda result: result)
            yield from differences(comparable(case.result), comparable(expected), case.steps)
            return
    yield SKIPPED


def _singular(result: Any) -> Any:
    """Return the singular values: the vectors are free to change sign, `check_values` of the product binds them."""
    return result[1]


def _first(result: Any) -> Any:
    """Return the eigenvalues: the vectors are free to turn."""
    return result[0]


def _in_order(result: Any) -> Any:
    """Return the eigenvalues of a general matrix, which come in any order, sorted."""
    import tt

    values = result[0] if isinstance(result, list | tuple) else result
    array = as_array(values)
    found = np.take_along_axis(array, np.argsort(np.round(array, 3), axis=-1), axis=-1)
    return tt.tensor(found) if isinstance(values, TensorBase) else found


def _sizes(result: Any) -> Any:
    """Return the absolute values of R, whose rows are free to change sign."""
    return abs(result[1])


_COMPARABLE: Final[dict[str, Callable[[Any], Any]]] = {
    "linalg_svd": _singular, "svd": _singular, "linalg_eigh": _first, "linalg_eig": _in_order,
    "linalg_eigvals": _in_order, "linalg_qr": _sizes, "qr": _sizes,
}  # fmt: skip


def check_view(case: Case) -> Iterator[str]:
    """Write through the result of a view and look for it in the argument."""
    copies = isinstance(case.result, TensorBase) and not case.result.spec.backend.has_views
    if copies and case.result.dtype is not case.sample.args[0].dtype:
        yield SKIPPED  # such a backend cannot view elements as others
        return
    if case.definition.kind != "view" or case.inplace_only:
        yield SKIPPED
        return
    base = copy_of(case.sample.args[0])
    views = list(tensors_in(case.call((base, *case.sample.args[1:]))))
    for view in views:
        if view._version != base._version:
            yield "the result does not share its argument's version"
        if any(stride == 0 and size > 1 for size, stride in zip(view.shape, view.stride(), strict=True)):
            continue  # several elements of one place cannot be written
        view.fill_(1)
        again = [as_array(t) for t in tensors_in(case.call((base, *case.sample.args[1:])))]
        written = again[views.index(view)] if len(views) == 1 else again[_position(views, view)]
        if not np.all(written == as_array(view)):
            yield "writing through the result does not change the argument"
        if view._version != base._version:
            yield "writing through the result does not bump the argument's version"


def _position(tensors: Sequence[Any], tensor: Any) -> int:
    return next(i for i, t in enumerate(tensors) if t is tensor)


def check_inplace(case: Case) -> Iterator[str]:
    """Compare the in-place form with the functional one."""
    if not case.definition.has_inplace or case.inplace_only or case.random:
        yield SKIPPED
        return
    args = case.sample.args
    if not isinstance(args[0], TensorBase):
        yield SKIPPED
        return
    expected = case.call((copy_of(args[0]), *args[1:]))
    target = copy_of(args[0])
    version = target._version
    view = case.definition.kind == "view"
    exact = "exact_target" in case.definition.tags and expected.dtype is not target.dtype
    castable = can_cast(expected.dtype, target.dtype) and not exact
    fits = view or (expected.shape == target.shape and castable)
    if not fits:
        try:
            case.call((target, *args[1:]), "inplace")
        except RuntimeError:
            return
        yield f"{expected.dtype} {list(expected.shape)} was written into {target.dtype} {list(target.shape)}"
        return
    returned = case.call((target, *args[1:]), "inplace")
    if returned is not target:
        yield "the in-place form does not return its target"
    if target._version <= version:
        yield "the in-place form does not bump the version"
    if target.dtype is not (expected.dtype if view else args[0].dtype):
        yield f"the in-place form changed the dtype to {target.dtype}"
    yield from differences(target, as_array(expected))


def check_out(case: Case) -> Iterator[str]:
    """Compare the out= form with the functional one."""
    if not case.definition.has_out or case.random or case.definition.name in _UNDEFINED or case.inplace_only:
        yield SKIPPED
        return
    results = list(tensors_in(case.result))
    outs = [copy_of(t) for t in results]
    for out in outs:
        out.fill_(0)
    returned = case.call(case.sample.args, out=outs[0] if len(outs) == 1 else tuple(outs))
    for out, back in zip(outs, tensors_in(returned), strict=True):
        if back is not out:
            yield "the out= form does not return its target"
    for out, result in zip(outs, results, strict=True):
        yield from differences(out, as_array(result))


def check_seed(case: Case) -> Iterator[str]:
    """Repeat a random call with the same seed."""
    if not case.random:
        yield SKIPPED
        return
    import tt

    tt.manual_seed(7)
    first = as_array(case.run())
    tt.manual_seed(7)
    for message in differences(case.run(), first):
        yield f"the same seed gave other numbers: {message}"


def check_composite(case: Case) -> Iterator[str]:
    """Compare with what composites make in the place of kernels of non-core operators."""
    from tt.core.dispatch.masking import mask_kernels
    from tt.core.dispatch.registry import REGISTRY

    name = case.operator.name
    undefined = case.random or name in _UNDEFINED
    if case.definition.core or REGISTRY.composite(name) is None or undefined:
        yield SKIPPED
        return
    with mask_kernels("@non-core"):
        result = case.run()
    comparable = _COMPARABLE.get(name, lambda value: value)
    for one, other in zip(tensors_in(result), tensors_in(case.result), strict=True):
        if one.dtype is not other.dtype:
            yield f"{one.dtype} instead of {other.dtype}"
    yield from differences(comparable(result), comparable(as_array(case.result)), ROUNDED)


CHECKS: Final[dict[str, Callable[[Case], Iterator[str]]]] = {
    "runs": check_runs,
    "inputs": check_inputs,
    "meta": check_meta,
    "values": check_values,
    "view": check_view,
    "inplace": check_inplace,
    "out": check_out,
    "seed": check_seed,
    "composite": check_composite,
}
"""The checks in the order in which they are made; without "runs" the others have nothing to look at."""

"""The checks of values: against a reference, against composites, and of two calls that have to give the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

import tt
from tt.core.dispatch.registry.masking import mask_kernels
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.tensor.base import TensorBase
from tt.core.types.dtype import STORED, finfo
from tt.testing.checks.call import UNDEFINED, dense, tensors_in
from tt.testing.checks.case import ROUNDED, SKIPPED, Case
from tt.testing.compare import tolerances
from tt.testing.references import as_array, cpu_reference, in_dtype, numpy_reference

__all__ = [
    "COMPARABLE",
    "check_composite",
    "check_values",
    "compared",
    "differences",
    "reference_of",
    "same_with",
    "takes",
    "unlike",
]

# --- how results differ ----------------------------------------------------------------------------------------

DOUBLE: Final = (1e-10, 1e-10)
"""(rtol, atol) in double precision: PyTorch's tolerances are so wide that single precision would pass."""
LARGEST: Final = 5
"""The bound of the samples' values."""


def differences(
    actual: Any, expected: Any, steps: float = 0, tolerance: tuple[float, float] | None = None
) -> Iterator[str]:
    """Yield how results differ from expected ones, within a tolerance (rtol, atol) or that of their dtypes.

    Expected tensors must have the dtypes of the results; arrays are rounded to them.  `steps` counts intermediate
    results in half precision, which a composite rounds and a kernel does not: each adds an error as large as the
    dtype's resolution at the largest value of the samples.
    """
    if isinstance(actual, list | tuple):
        count = len(expected) if isinstance(expected, list | tuple) else "one"
        if len(actual) != count:
            yield f"{len(actual)} results instead of {count}"
            return
        for one, other in zip(actual, expected, strict=True):
            yield from differences(one, other, steps, tolerance)
        return
    if not isinstance(actual, TensorBase):
        if not _same_value(actual, expected, tolerance):
            yield f"{actual!r} instead of {expected!r}"
        return
    dtype = actual.dtype
    if isinstance(expected, TensorBase):
        if expected.dtype is not dtype:
            yield f"{dtype} instead of {expected.dtype}"
            return
        actual, expected = dense(actual), dense(expected)
    elif expected is None:
        yield "a tensor instead of None"
        return
    result, reference = as_array(actual), np.asarray(as_array(expected))
    if result.shape != reference.shape:
        yield f"shape {result.shape} instead of {reference.shape}"
        return
    if reference.dtype.kind == "c" and not dtype.is_complex:
        yield f"{dtype} instead of a complex dtype"
        return
    # Most results agree in every byte, which is cheaper to see, and holds for dtypes that NumPy cannot compute with.
    if result.dtype == reference.dtype and result.tobytes() == reference.tobytes():
        return
    if dtype.is_floating_point or dtype.is_complex:
        wide = np.complex128 if dtype.is_complex else np.float64
        with np.errstate(all="ignore"):  # to the dtype and back: overflow becomes infinite
            reference, result = in_dtype(reference, dtype.numpy).astype(wide), result.astype(wide)
        rtol, atol = tolerance or (DOUBLE if dtype.name in ("float64", "complex128") else tolerances(dtype))
        if dtype.to_real().itemsize == 2:
            atol += steps * LARGEST * finfo(dtype).eps
        close = np.isclose(result, reference, rtol=rtol, atol=atol, equal_nan=True)
    else:
        with np.errstate(all="ignore"):
            reference = in_dtype(reference, dtype.numpy)
        close = result == reference
    if not np.all(close):
        at = tuple(int(i) for i in np.argwhere(~close)[0]) if result.ndim else ()
        yield (
            f"{int(np.sum(~close))} of {result.size} values differ, at {list(at)} {result[at]} instead of "
            f"{reference[at]}"
        )


def _same_value(actual: Any, expected: Any, tolerance: tuple[float, float] | None) -> bool:
    if isinstance(expected, TensorBase):
        return False
    expected = expected.item() if isinstance(expected, np.ndarray) and expected.size == 1 else expected
    if isinstance(actual, float | complex) and isinstance(expected, int | float | complex):
        return bool(np.isclose(actual, expected, *(tolerance or DOUBLE), equal_nan=True))
    return bool(actual == expected)


def unlike(actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None) -> str:
    """Return the first difference of two results, or an empty string; tolerances of None are those of the dtypes."""
    tolerance = None if rtol is None or atol is None else (rtol, atol)
    return next(differences(actual, expected, tolerance=tolerance), "")


# --- what can be compared --------------------------------------------------------------------------------------


def _svd(result: Any) -> Any:
    """Return the singular values and the product of the factors: vectors are free to change their phase."""
    u, values, v = map(as_array, result)
    count = values.shape[-1]
    # With `full_matrices` U has more columns, V more rows, which the product leaves free.
    return _of(result, values, (u[..., :count] * values[..., None, :]) @ v[..., :count, :])


def _low_rank(result: Any) -> Any:
    """Return the singular values and the product of factors of which the last one is V, not its adjoint."""
    u, values, v = map(as_array, result)
    return _of(result, values, (u * values[..., None, :]) @ np.conj(np.swapaxes(v, -1, -2)))


def _eigh(result: Any) -> Any:
    """Return the eigenvalues and the product of the factors: vectors are free to turn."""
    values, vectors = map(as_array, result)
    return _of(result, values, (vectors * values[..., None, :]) @ np.conj(np.swapaxes(vectors, -1, -2)))


def _qr(result: Any) -> Any:
    """Return the absolute values of R, whose rows have arbitrary signs, and the product if there is a Q."""
    q, r = map(as_array, result)
    # In the mode "r" Q is an empty tensor.
    return _of(result, abs(r), q @ r if q.ndim == r.ndim else abs(r))


def _of(result: Any, values: Any, product: Any) -> list[Any]:
    """Return values and a product, scaled to one and hence as exact as its largest element, as tensors if they were."""
    scale = float(np.max(np.abs(product), initial=0)) or 1.0
    parts = [values, (product / scale).astype(product.dtype)]
    return [tt.tensor(array) for array in parts] if isinstance(result[0], TensorBase) else parts


def _in_order(result: Any) -> Any:
    """Return the eigenvalues of a general matrix, which come in any order, sorted."""
    values = result[0] if isinstance(result, list | tuple) else result
    array = as_array(values)
    # Rounded, or the last digits of equal real parts would decide the order of conjugate pairs.
    in_order = np.take_along_axis(array, np.argsort(np.round(array, 3), axis=-1), axis=-1)
    return tt.tensor(in_order) if isinstance(values, TensorBase) else in_order


def _where_definite(result: Any) -> Any:
    """Return the factors and the codes, with zeros for the factors that do not exist."""
    factor, code = (as_array(value) for value in result)
    factor = np.where(np.asarray(code)[..., None, None] == 0, factor, 0).astype(factor.dtype)
    return [tt.tensor(factor), tt.tensor(code)] if isinstance(result[0], TensorBase) else [factor, code]


def _up_to_turns(result: Any) -> Any:
    """Return real parts and the directions that imaginary parts stand for: a logarithm may have any number of turns."""
    array = as_array(result)
    if array.dtype.kind != "c":
        return result
    parts = [array.real, np.exp(1j * array.imag).astype(array.dtype)]
    return [tt.tensor(part) for part in parts] if isinstance(result, TensorBase) else parts


# Of "svd" the singular values alone: the vectors depend on the other arguments.
COMPARABLE: Final[dict[str, Callable[[Any], Any]]] = {
    "linalg_svd": _svd, "svd": lambda result: result[1], "linalg_eigh": _eigh, "linalg_eig": _in_order,
    "linalg_cholesky_ex": _where_definite, "linalg_eigvals": _in_order, "linalg_qr": _qr, "qr": _qr,
    "svd_lowrank": _low_rank, "pca_lowrank": _low_rank, "lobpcg": _eigh, "logcumsumexp": _up_to_turns,
}  # fmt: skip


def compared(case: Case, found: Any, expected: Any, steps: float | None = None) -> Iterator[str]:
    """Yield how a result of the operator differs from an expected one, as far as that is determined."""
    comparable = COMPARABLE.get(case.operator.name, lambda result: result)
    yield from differences(comparable(found), comparable(expected), case.steps if steps is None else steps)


def same_with(case: Case, bound: Mapping[str, Any], expected: Any, words: str) -> Iterator[str]:
    """Call with other arguments, which the words describe, and compare the result with the expected one."""
    try:
        messages = list(compared(case, case.run_bound(bound), expected))
    except Exception as error:  # whatever it is, there is a result to be had
        messages = [f"{type(error).__name__}: {error}"]
    for message in messages:
        yield f"{words}: {message}"


def reference_of(case: Case, bound: dict[str, Any]) -> Any:
    """Return the CPU's result for other arguments; on the CPU itself NumPy's; or `NotImplemented`."""
    try:
        return (numpy_reference if case.device_type == "cpu" else cpu_reference)(case.definition, bound)
    except Exception:  # the operator is not defined for these arguments
        return NotImplemented


MOST: Final = 3
"""Number of samples of an operator and dtype for checks that derive other arguments from them."""


def takes(case: Case, check: str, usable: bool) -> bool:
    """Return whether a check takes this sample: it has not had enough of them."""
    taken = case.shared.get(check, 0)
    if not usable or taken >= MOST:
        return False
    case.shared[check] = taken + 1
    return True


# --- checks ----------------------------------------------------------------------------------------------------


def check_values(case: Case) -> Iterator[str]:
    """Compare the values with the reference's."""
    if case.random or case.definition.name in UNDEFINED:
        yield SKIPPED
        return
    references = [case.reference] if case.reference else [numpy_reference]
    # The CPU, itself checked against NumPy, stands in where an operator has no reference, or none for these arguments.
    if case.device != "cpu" and case.reference is None:
        references.append(cpu_reference)
    for reference in references:
        expected = reference(case.definition, case.bound)
        if expected is not NotImplemented:
            yield from compared(case, case.result, expected)
            return
    yield SKIPPED


def check_composite(case: Case) -> Iterator[str]:
    """Compare with the result of composites instead of kernels for non-core operators."""
    name = case.operator.name
    undefined = case.random or name in UNDEFINED
    # Composites compute: of dtypes that are only stored, kernels alone are promised.
    stored = case.dtype in STORED
    if case.definition.core or REGISTRY.composite(name) is None or undefined or stored:
        yield SKIPPED
        return
    with mask_kernels("@non-core"):
        result = case.run()
    for one, other in zip(tensors_in(result), tensors_in(case.result), strict=True):
        if one.dtype is not other.dtype:
            yield f"{one.dtype} instead of {other.dtype}"
    yield from compared(case, result, as_array(case.result), ROUNDED)

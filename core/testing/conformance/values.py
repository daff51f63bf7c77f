"""Checks of values: against a reference, and of composites against kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from tt.core.tensor.base import TensorBase
from tt.core.testing.conformance.case import ROUNDED, SKIPPED, UNDEFINED, Case, tensors_in
from tt.core.testing.conformance.differences import differences
from tt.core.testing.references import as_array, cpu_reference, numpy_reference

__all__ = ["check_composite", "check_values"]


def check_values(case: Case) -> Iterator[str]:
    """Compare the values with the reference's."""
    if case.random or case.definition.name in UNDEFINED:
        yield SKIPPED
        return
    arguments = case.bound
    references = [case.reference] if case.reference else [numpy_reference]
    if case.device != "cpu" and case.reference is None:
        references.append(cpu_reference)
    for reference in references:
        expected = reference(case.definition, arguments)
        if expected is not NotImplemented:
            comparable = COMPARABLE.get(case.operator.name, lambda result: result)
            yield from differences(comparable(case.result), comparable(expected), case.steps)
            return
    yield SKIPPED


def _svd(result: Any) -> Any:
    """Return the singular values and the product of the factors: vectors are free to change their phase."""
    u, values, v = map(as_array, result)
    count = values.shape[-1]
    return _of(result, values, (u[..., :count] * values[..., None, :]) @ v[..., :count, :])


def _eigh(result: Any) -> Any:
    """Return the eigenvalues and the product of the factors: vectors are free to turn."""
    values, vectors = map(as_array, result)
    return _of(result, values, (vectors * values[..., None, :]) @ np.conj(np.swapaxes(vectors, -1, -2)))


def _qr(result: Any) -> Any:
    """Return the absolute values of R, whose rows are free to change sign, and the product where there is a Q."""
    q, r = map(as_array, result)
    return _of(result, abs(r), q @ r if q.ndim == r.ndim else abs(r))


def _of(result: Any, values: Any, product: Any) -> list[Any]:
    """Return values and a product, scaled to one and hence as exact as its largest element, as tensors if they were."""
    import tt

    scale = float(np.max(np.abs(product), initial=0)) or 1.0
    found = [values, (product / scale).astype(product.dtype)]
    return [tt.tensor(array) for array in found] if isinstance(result[0], TensorBase) else found


def _singular(result: Any) -> Any:
    """Return the singular values: what becomes of the vectors depends on the other arguments."""
    return result[1]


def _in_order(result: Any) -> Any:
    """Return the eigenvalues of a general matrix, which come in any order, sorted."""
    import tt

    values = result[0] if isinstance(result, list | tuple) else result
    array = as_array(values)
    found = np.take_along_axis(array, np.argsort(np.round(array, 3), axis=-1), axis=-1)
    return tt.tensor(found) if isinstance(values, TensorBase) else found


def _where_definite(result: Any) -> Any:
    """Return the factors and the codes, with zeros for the factors that do not exist."""
    import tt

    factor, code = (as_array(value) for value in result)
    factor = np.where(np.asarray(code)[..., None, None] == 0, factor, 0).astype(factor.dtype)
    return [tt.tensor(factor), tt.tensor(code)] if isinstance(result[0], TensorBase) else [factor, code]


COMPARABLE: Final[dict[str, Callable[[Any], Any]]] = {
    "linalg_svd": _svd, "svd": _singular, "linalg_eigh": _eigh, "linalg_eig": _in_order,
    "linalg_cholesky_ex": _where_definite, "linalg_eigvals": _in_order, "linalg_qr": _qr, "qr": _qr,
}  # fmt: skip


def check_composite(case: Case) -> Iterator[str]:
    """Compare with what composites make in the place of kernels of non-core operators."""
    from tt.core.dispatch.registry.masking import mask_kernels
    from tt.core.dispatch.registry.registry import REGISTRY

    name = case.operator.name
    undefined = case.random or name in UNDEFINED
    if case.definition.core or REGISTRY.composite(name) is None or undefined:
        yield SKIPPED
        return
    with mask_kernels("@non-core"):
        result = case.run()
    comparable = COMPARABLE.get(name, lambda value: value)
    for one, other in zip(tensors_in(result), tensors_in(case.result), strict=True):
        if one.dtype is not other.dtype:
            yield f"{one.dtype} instead of {other.dtype}"
    yield from differences(comparable(result), comparable(as_array(case.result)), ROUNDED)

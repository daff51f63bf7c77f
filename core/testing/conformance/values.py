"""Checks of values: against a reference, and of composites against kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from tt.core.tensor_base import TensorBase
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


def _where_definite(result: Any) -> Any:
    """Return the factors and the codes, with zeros for the factors that do not exist."""
    import tt

    factor, code = (as_array(value) for value in result)
    factor = np.where(np.asarray(code)[..., None, None] == 0, factor, 0).astype(factor.dtype)
    return [tt.tensor(factor), tt.tensor(code)] if isinstance(result[0], TensorBase) else [factor, code]


def _sizes(result: Any) -> Any:
    """Return the absolute values of R, whose rows are free to change sign."""
    return abs(result[1])


COMPARABLE: Final[dict[str, Callable[[Any], Any]]] = {
    "linalg_svd": _singular, "svd": _singular, "linalg_eigh": _first, "linalg_eig": _in_order,
    "linalg_cholesky_ex": _where_definite, "linalg_eigvals": _in_order, "linalg_qr": _sizes, "qr": _sizes,
}  # fmt: skip


def check_composite(case: Case) -> Iterator[str]:
    """Compare with what composites make in the place of kernels of non-core operators."""
    from tt.core.dispatch.masking import mask_kernels
    from tt.core.dispatch.registry import REGISTRY

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

"""Checks on arguments that are made from those of a sample: in other memory, with dims from the end, without elements.

So every operator meets them, whatever its own samples are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from tt.core.tensor.base import TensorBase
from tt.core.testing.conformance.case import SKIPPED, UNDEFINED, Case
from tt.core.testing.conformance.differences import differences
from tt.core.testing.conformance.values import COMPARABLE
from tt.core.testing.references import as_array, cpu_reference, numpy_reference

__all__ = ["check_dim", "check_empty", "check_layout", "determined", "mapped", "reference_of", "takes"]

MOST: Final = 3
"""How many samples of an operator and dtype each of these checks takes."""


def takes(case: Case, check: str, usable: bool) -> bool:
    """Tell whether a check takes this sample: it has not had enough of them."""
    taken = case.shared.get(check, 0)
    if not usable or taken >= MOST:
        return False
    case.shared[check] = taken + 1
    return True


def determined(case: Case) -> bool:
    """Tell whether the values are: not drawn, not undefined, and made without changing an argument."""
    return not (case.random or case.inplace_only or case.definition.name in UNDEFINED)


def mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """Return an argument with a function applied to each tensor in it."""
    if isinstance(value, TensorBase):
        return function(value)
    if isinstance(value, list | tuple):
        return type(value)(mapped(item, function) for item in value)
    return value


# --- layout ------------------------------------------------------------------------------------------------------


_READ_STRIDES: Final = frozenset({"as_strided_scatter", "view_as"})
"""Operators whose result depends on the memory of their argument."""


def check_layout(case: Case) -> Iterator[str]:
    """Call with the same values elsewhere in memory: apart from each other, behind others, in another order."""
    usable = (
        determined(case)
        and case.definition.kind != "view"
        and case.definition.name not in _READ_STRIDES
        and any(t.numel() > 1 for t in case.tensors)
        and all(t.layout.name == "strided" for t in case.tensors)
    )
    if not takes(case, "layout", usable):
        yield SKIPPED
        return
    comparable = COMPARABLE.get(case.operator.name, lambda result: result)
    expected = comparable(as_array(case.result))
    for name, arranged in (("every third element of a larger tensor", _spread), ("columns first", _turned)):
        bound = {key: mapped(value, arranged) for key, value in case.bound.items()}
        try:
            found = list(differences(comparable(case.run_bound(bound)), expected, case.steps))
        except Exception as error:  # whatever it is, the call succeeded with arguments in a row
            found = [f"{type(error).__name__}: {error}"]
        for message in found:
            yield f"with arguments that are {name}: {message}"


def _spread(tensor: Any) -> Any:
    """Return every third element of a tensor with other content between, and before."""
    import tt

    if not tensor.ndim:
        return _noise(tensor, (3,))[1:].copy_(tensor)[1]
    larger = _noise(tensor, (*tensor.shape[:-1], 3 * tensor.shape[-1] + 1))
    found = larger[..., 1::3]
    found.copy_(tensor)
    return found if isinstance(found, tt.Tensor) else tensor


def _turned(tensor: Any) -> Any:
    """Return a tensor whose dimensions lie in memory in the opposite order."""
    if tensor.ndim < 2:
        return _spread(tensor)
    order = range(tensor.ndim - 1, -1, -1)
    found = _noise(tensor, tuple(tensor.shape)[::-1]).permute(*order)
    found.copy_(tensor)
    return found


def _noise(tensor: Any, shape: tuple[int, ...]) -> Any:
    """Return a tensor of a shape with values that show where they are read by mistake."""
    import tt

    count = int(np.prod(shape, dtype=np.int64))
    floating = tensor.dtype.is_floating_point or tensor.dtype.is_complex
    cycle = [np.nan, 1, np.inf, -np.inf, 1, 0, 1] if floating else [0, 1, 2, 1, 0, 0, 1]
    values = np.resize(cycle, count).reshape(shape)
    return tt.tensor(values.astype(tensor.dtype.numpy), device=tensor.device)


# --- dims counted from the end -----------------------------------------------------------------------------------

_ONE_MORE: Final = frozenset({"stack", "unsqueeze"})
"""Operators whose dims are those of the result, which has one more."""


def check_dim(case: Case) -> Iterator[str]:
    """Count a dim from the end, which means the same."""
    dim = case.bound.get("dim")
    first = case.tensors[0] if case.tensors else None
    ndim = 0 if first is None else first.ndim + (case.definition.name in _ONE_MORE)
    dims: list[Any] = list(dim) if isinstance(dim, list | tuple) else [dim]
    whole = bool(dims) and all(type(d) is int and 0 <= d < ndim for d in dims)
    if not takes(case, "dim", determined(case) and ndim > 1 and whole):
        yield SKIPPED
        return
    from_end = [d - ndim for d in dims]
    comparable = COMPARABLE.get(case.operator.name, lambda result: result)
    expected = comparable(as_array(case.result))
    bound = {**case.bound, "dim": from_end if isinstance(dim, list | tuple) else from_end[0]}
    try:
        found = list(differences(comparable(case.run_bound(bound)), expected, case.steps))
    except Exception as error:  # whatever it is, the call succeeded with the dim counted from the front
        found = [f"{type(error).__name__}: {error}"]
    for message in found:
        yield f"with dim={bound['dim']} in place of {dim}: {message}"


# --- no elements -------------------------------------------------------------------------------------------------


def check_empty(case: Case) -> Iterator[str]:
    """Take the first dimension from the arguments that share it, and compare with the reference."""
    tensors = case.tensors
    size = tensors[0].shape[0] if tensors and tensors[0].ndim else 0
    usable = determined(case) and size > 0 and all(t.ndim and t.layout.name == "strided" for t in tensors)
    internal = (
        "internal" in case.definition.tags
    )  # those who call such an operator refuse what it is not made for
    if not takes(case, "empty", usable and not internal):
        yield SKIPPED
        return

    def emptied(tensor: Any) -> Any:
        import tt

        if tensor.shape[0] != size:
            return tensor
        return tt.tensor(as_array(tensor)[:0], device=tensor.device)

    bound = {key: mapped(value, emptied) for key, value in case.bound.items()}
    expected = reference_of(case, bound)
    if expected is NotImplemented:
        yield SKIPPED
        return
    comparable = COMPARABLE.get(case.operator.name, lambda result: result)
    try:
        found = list(differences(comparable(case.run_bound(bound)), comparable(expected), case.steps))
    except Exception as error:  # whatever it is, the reference has a result
        found = [f"{type(error).__name__}: {error}"]
    for message in found:
        yield f"with a first dimension of size 0: {message}"


def reference_of(case: Case, bound: dict[str, Any]) -> Any:
    """Return what the CPU makes of other arguments; on the CPU itself what NumPy does; or `NotImplemented`."""
    on_cpu = str(case.device).partition(":")[0] == "cpu"
    try:
        return (numpy_reference if on_cpu else cpu_reference)(case.definition, bound)
    except Exception:  # the operator is not defined for these arguments
        return NotImplemented

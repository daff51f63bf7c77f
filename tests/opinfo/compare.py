"""Whether a result of tt is what PyTorch gave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
from tests.opinfo.shadow import same_dtype

torch = pytest.importorskip("torch")

# The relative and absolute difference that rounding explains.
TOLERANCES = {
    "float64": (1e-7, 1e-7),
    "complex128": (1e-7, 1e-7),
    "float32": (2e-5, 2e-5),
    "complex64": (2e-5, 2e-5),
    "complex32": (1e-2, 1e-3),
    "float16": (1e-2, 1e-3),
    "bfloat16": (1.6e-2, 1e-2),
}


def materialised(tensor: Any) -> Any:
    """Return a tensor that has its values in memory: not negated, conjugated or zero by a flag alone."""
    tensor = tensor.detach()
    return tensor.clone() if tensor._is_zerotensor() else tensor.resolve_conj().resolve_neg()


def array_of(tensor: Any) -> np.ndarray[Any, Any]:
    """Return the values, half precision widened."""
    if isinstance(tensor, torch.Tensor):
        tensor = materialised(tensor)
        if tensor.dtype is torch.complex32:
            return np.asarray(tensor.cfloat().numpy())
        half = tensor.dtype in (torch.bfloat16, torch.float16)
        return np.asarray((tensor.float() if half else tensor).numpy())
    tensor = tensor.detach()
    if tensor.dtype is tt.complex32:
        return np.asarray(tensor.cfloat().numpy())
    half = tensor.dtype in (tt.bfloat16, tt.float16)
    return np.asarray((tensor.to(tt.float32) if half else tensor).numpy())


def difference(
    ours: Any,
    theirs: Any,
    precise: Any = None,
    inputs: Any = (),
    values: bool = True,
    path: str = "",
    *,
    swayed: Any = None,
) -> str | None:
    """Return the difference, None when nothing is.

    `precise` is the result in a wider dtype: where rounding is larger than the tolerance on PyTorch's side, tt may
    be as far from it as PyTorch is.  `swayed` is the same for arguments that are off by one rounding: digits that the
    arguments do not determine (a softmax of numbers in the thousands) need not agree.  `inputs` are PyTorch's tensors:
    a view of one has its strides in tt, too, and the coarsest of them bounds what can be expected.
    """
    if isinstance(theirs, torch.Tensor):
        return _tensors(ours, theirs, precise, inputs, values, path, swayed)
    if isinstance(theirs, list | tuple):
        if not isinstance(ours, list | tuple) or len(ours) != len(theirs):
            return f"{path} is {type(ours).__name__}, PyTorch's is {type(theirs).__name__} of {len(theirs)}"
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            finer, off = (
                whole[index] if isinstance(whole, list | tuple) and len(whole) > index else None
                for whole in (precise, swayed)
            )
            found = difference(one, other, finer, inputs, values, f"{path}[{index}]", swayed=off)
            if found:
                return found
        return None
    if isinstance(theirs, torch.dtype):
        return None if same_dtype(theirs) is ours else f"{path} is {ours}, PyTorch's is {theirs}"
    if isinstance(theirs, float | complex) and values:
        same = isinstance(ours, type(theirs)) and np.allclose(
            ours, theirs, rtol=1e-4, atol=1e-5, equal_nan=True
        )
        return None if same else f"{path} is {ours!r}, PyTorch's is {theirs!r}"
    if not values:
        return None
    return None if ours == theirs else f"{path} is {ours!r}, PyTorch's is {theirs!r}"


def _tensors(
    ours: Any, theirs: Any, precise: Any, inputs: Any, values: bool, path: str, swayed: Any
) -> str | None:
    if not isinstance(ours, tt.Tensor):
        return f"{path} is {type(ours).__name__}, PyTorch's is a tensor"
    if same_dtype(theirs.dtype) is not ours.dtype:
        return f"{path}.dtype is {ours.dtype.name}, PyTorch's is {str(theirs.dtype)[6:]}"
    if tuple(ours.shape) != tuple(theirs.shape):
        return f"{path}.shape is {tuple(ours.shape)}, PyTorch's is {tuple(theirs.shape)}"
    if theirs.numel() and ours.stride() != theirs.stride() and _is_view_of(theirs, inputs):
        return f"{path} is a view with strides {ours.stride()}, PyTorch's has {theirs.stride()}"
    if not values:
        return None
    a, b = array_of(ours), array_of(theirs)
    if ours.dtype.name not in TOLERANCES:
        return None if np.array_equal(a, b) else f"{path} is {_show(a)}, PyTorch's is {_show(b)}"
    names = {str(tensor.dtype)[6:] for tensor in [theirs, *inputs]}
    names.add(_computed_in(ours.dtype.name, b))
    relative, absolute = max(TOLERANCES[name] for name in names if name in TOLERANCES)
    if np.allclose(a, b, rtol=relative, atol=absolute, equal_nan=True):
        return None
    if (
        isinstance(precise, torch.Tensor)
        and precise.shape == theirs.shape
        and _as_good(a, b, array_of(precise), array_of(swayed) if isinstance(swayed, torch.Tensor) else None)
    ):
        return None
    wrong = ~np.isclose(a, b, rtol=relative, atol=absolute, equal_nan=True)
    return f"{path} is {_show(a[wrong])}, PyTorch's is {_show(b[wrong])} ({wrong.sum()} of {wrong.size})"


def _is_view_of(result: Any, inputs: Any) -> bool:
    memory = result.untyped_storage().data_ptr()
    others = (
        tensor for tensor in inputs if tensor is not result
    )  # an `out=` tensor has the strides of its resizing
    return any(tensor.untyped_storage().data_ptr() == memory for tensor in others)


def _computed_in(name: str, values: Any) -> str:
    """Return the precision of a result: single where double only holds its numbers, as an `out=` tensor does."""
    if name not in ("float64", "complex128"):
        return name
    single = np.complex64 if name == "complex128" else np.float32
    with np.errstate(all="ignore"):
        rounded = values.astype(single).astype(values.dtype)
    return np.dtype(single).name if np.array_equal(values, rounded, equal_nan=True) else name


def _as_good(ours: Any, theirs: Any, precise: Any, swayed: Any) -> bool:
    """Return whether tt is not further from the precise result than PyTorch is, but for a factor of two.

    It may be as far as one rounding of the arguments brings the precise result.
    Where PyTorch's is not finite and the precise one is, tt may have either.
    """
    with np.errstate(all="ignore"):
        scale = np.maximum(np.abs(precise), 1e-30)
        our_error, their_error = np.abs(ours - precise) / scale, np.abs(theirs - precise) / scale
        same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
        best = np.nanmax(np.where(np.isfinite(their_error), their_error, 0), initial=0)
        sway = 0.0
        if swayed is not None and swayed.shape == precise.shape:
            sway = np.nanmax(np.where(np.isfinite(swayed), np.abs(swayed - precise) / scale, 0), initial=0)
        fine = np.isfinite(precise) & np.isfinite(ours) & (our_error <= max(2 * max(best, 1e-6), sway))
    return bool(np.all(same | fine))


def _show(values: Any) -> str:
    return np.array2string(np.asarray(values).ravel()[:4], precision=6, separator=", ", threshold=4)

"""One call of an operator in both libraries."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from tests.opinfo.compare import difference
from tests.opinfo.invariants import INVARIANTS
from tests.opinfo.samples import NO_VALUES, SEED, as_torch, copied, nudged, widened
from tests.opinfo.shadow import Shadow

torch = pytest.importorskip("torch")


def kind_of(error: BaseException) -> str:
    """Return the compared parts of an exception."""
    return type(error).__name__


def compare_call(
    name: str, op: Callable[..., Any], args: Any, kwargs: Any, what: str
) -> tuple[Shadow, str | None]:
    """Call PyTorch's function and tt's on the same arguments; return the difference."""
    shadow = Shadow(name)
    call_args, call_kwargs = copied(args), {k: copied(v) for k, v in kwargs.items()}
    torch.manual_seed(SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with shadow:
                theirs = op(*call_args, **call_kwargs)
        except LookupError as error:
            return shadow, None if "tt has no" in str(error) else f"{kind_of(error)}: {error}"
        except Exception as error:
            if what == "values" or not shadow.refused:
                return shadow, None  # a sample that PyTorch itself refuses on the CPU
            if shadow.failure is None:
                return shadow, f"accepted; PyTorch raises {kind_of(error)}: {str(error)[:120]}"
            if not isinstance(shadow.failure, type(error)):
                return shadow, (
                    f"raises {kind_of(shadow.failure)} ({str(shadow.failure)[:100]}); PyTorch raises {kind_of(error)}: "
                    f"{str(error)[:100]}"
                )
            return shadow, None
    if shadow.failure is not None:
        return shadow, f"raises {kind_of(shadow.failure)}: {str(shadow.failure)[:200]}"
    ours = shadow.ours(theirs) if not _plain(theirs) else shadow.result
    values = not (name in NO_VALUES or drops(name, args, kwargs))
    # The strides of a resized target are each library's own affair.
    tensors = _torch_tensors([*call_args, *(v for k, v in call_kwargs.items() if k != "out")])
    invariant = INVARIANTS.get(name)
    if invariant is not None and values:
        shape = difference(ours, theirs, inputs=tensors, values=False)
        if shape:
            return shadow, shape
        ours_invariant = flat(invariant(as_torch(ours), args, kwargs))
        theirs_invariant = flat(invariant(theirs, args, kwargs))
        return shadow, _close(ours_invariant, theirs_invariant)
    found = difference(ours, theirs, inputs=tensors, values=values)
    if found and values and "dtype" not in found and "shape" not in found:
        precise, swayed = (_called(op, kind(args), kind(kwargs)) for kind in (widened, nudged))
        found = difference(ours, theirs, precise, tensors, swayed=swayed)
    return shadow, found


def _called(op: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Return PyTorch's result, or None if it refuses the call."""
    torch.manual_seed(SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return op(*args, **kwargs)
        except Exception:
            return None


def _torch_tensors(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [found for item in value for found in _torch_tensors(item)]
    return []


def _plain(theirs: Any) -> bool:
    return not isinstance(theirs, torch.Tensor | list | tuple)


def drops(name: str, args: Any, kwargs: Any) -> bool:
    """Return whether a call of attention drops weights, each library others."""
    if name.endswith("multi_head_attention_forward"):
        return bool(args[10]) and bool(kwargs.get("training", True))
    return name.endswith("scaled_dot_product_attention") and bool(kwargs.get("dropout_p"))


def flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _close(ours: list[Any], theirs: list[Any]) -> str | None:
    for one, other in zip(ours, theirs, strict=True):
        if isinstance(one, torch.Tensor) and not torch.allclose(
            one.to(other.dtype) if other.dtype.is_floating_point or other.dtype.is_complex else one,
            other,
            rtol=1e-3 if other.dtype in (torch.float32, torch.complex64, torch.bfloat16) else 1e-6,
            atol=1e-4 if other.dtype in (torch.float32, torch.complex64, torch.bfloat16) else 1e-7,
            equal_nan=True,
        ):
            return f"invariant is {one.flatten()[:4]}, PyTorch's is {other.flatten()[:4]}"
    return None

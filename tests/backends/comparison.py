"""Running the same program with tt and with PyTorch, and comparing what comes out: values, dtypes, strides, errors."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tt
from tt.core.types.dtype import to_dtype

# Without PyTorch the tests that compare with it skip; the others of these folders run.
torch: Any = importlib.import_module("torch") if importlib.util.find_spec("torch") else None

TOLERANCE = {
    "float16": 1e-3,
    "bfloat16": 1e-2,
    "float32": 2e-6,
    "float64": 1e-12,
    "complex64": 4e-6,
    "complex128": 1e-12,
}
"""Relative, and absolute for numbers below 1: some units in the last place, since libraries round differently."""


def to_tt(value: Any) -> Any:
    """Return tt's counterparts of PyTorch's tensors, dtypes and containers of them."""
    if isinstance(value, torch.Tensor):
        dtype = to_dtype(str(value.dtype))
        base = value.detach().resolve_conj()
        flat = torch.as_strided(base, (base.untyped_storage().nbytes() // base.itemsize,), (1,), 0)
        numbers = flat.view(torch.int16) if dtype is tt.bfloat16 else flat
        ours = tt.from_numpy(numbers.numpy().copy())
        ours = ours.view(tt.bfloat16) if dtype is tt.bfloat16 else ours
        return ours.as_strided(tuple(base.shape), base.stride(), base.storage_offset())
    if isinstance(value, list | tuple):
        return type(value)(to_tt(item) for item in value)
    return value


def as_numpy(value: Any) -> np.ndarray:
    if isinstance(value, torch.Tensor):
        value = value.detach().resolve_conj().resolve_neg()
        return value.double().numpy() if value.dtype is torch.bfloat16 else value.numpy()
    array = value.detach().cpu().numpy()
    return array.astype(np.float64) if value.dtype is tt.bfloat16 else array


def assert_same(ours: Any, theirs: Any, *, strides: bool = False, tolerance: float | None = None) -> None:
    """Raise unless two results agree."""
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, tt.Tensor), f"{type(ours)} instead of a tensor"
        assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")
        assert tuple(ours.shape) == tuple(theirs.shape)
        if strides:
            assert tuple(ours.stride()) == theirs.stride()
        mine, other = as_numpy(ours), as_numpy(theirs)
        if ours.dtype.name in TOLERANCE:
            bound = TOLERANCE[ours.dtype.name] if tolerance is None else tolerance
            np.testing.assert_allclose(mine, other, rtol=bound, atol=bound, equal_nan=True)
        else:
            np.testing.assert_array_equal(mine, other)
    elif isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other, strides=strides, tolerance=tolerance)
    else:
        assert type(ours) is type(theirs)
        assert ours == theirs or (ours != ours and theirs != theirs)


ERRORS = (NotImplementedError, IndexError, ValueError, TypeError, RuntimeError)


def run_same(
    call: Callable[..., Any],
    *arguments: Any,
    strides: bool = False,
    tolerance: float | None = None,
    convert: Callable[[Any], Any] = to_tt,
) -> None:
    """Run `call(library, *arguments)` with PyTorch and with tt; both give the same or raise alike.

    In-place changes of the arguments are compared, too.  Where PyTorch raises, so must tt: the same built-in class,
    except that where PyTorch says RuntimeError tt may be more exact (NotImplementedError for a missing kernel,
    IndexError, ValueError).  `convert` makes tt's arguments from PyTorch's.
    """
    pytest.importorskip("torch")
    mine = convert(list(arguments))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            theirs = call(torch, *arguments)
        except Exception as error:
            kind = next(k for k in ERRORS if isinstance(error, k))
            allowed = ERRORS if kind in (RuntimeError, NotImplementedError) else kind
            with pytest.raises(allowed) as caught:
                call(tt, *mine)
            assert isinstance(caught.value, tt.library.errors.TTError | TypeError), repr(caught.value)
            return
        ours = call(tt, *mine)
    assert_same(ours, theirs, strides=strides, tolerance=tolerance)
    assert_same(mine, list(arguments), tolerance=tolerance)

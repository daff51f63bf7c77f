"""CuPy's arrays and functions without a GPU, computed by NumPy, and as strict as CuPy is.

In the module that `strict_functions` fills, a function exists, takes a parameter or serves a dtype only if it does in
CuPy 14 (`cupy_facts.json`).  An array of it is not a NumPy array: turning it into one by accident, or mixing the two in
a call, raises.  Where CuPy's results differ from NumPy's, these do, too: indices out of range wrap around, numbers are
arrays, a singular matrix gives rubbish unless `cupyx.errstate(linalg="raise")` asks for an error.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import inspect
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import numpy as np

from tests.backends.cuda.cupy_facts import read

__all__ = ["FACTS", "SETTINGS", "arrays_in", "bound", "errstate", "ndarray", "plain", "wrapped", "wrapping"]

FACTS: Final = read()

SETTINGS: Final = {"linalg": "ignore"}


@contextlib.contextmanager
def errstate(*, divide: Any = None, over: Any = None, under: Any = None, invalid: Any = None, linalg: Any = None
             ) -> Iterator[None]:  # fmt: skip
    """Set what CuPy does with the errors of its solvers."""
    before = dict(SETTINGS)
    SETTINGS["linalg"] = linalg or before["linalg"]
    try:
        yield
    finally:
        SETTINGS.update(before)


@cache
def signature_of(text: str) -> inspect.Signature:
    """Return the signature that a text like "(a, axis=None)" describes."""
    space: dict[str, Any] = {}
    exec(f"def function{re.sub('<[^>]*>', 'None', text)}: pass", space)
    return inspect.signature(space["function"])


def bound(name: str, text: str, args: Any, kwargs: Any) -> None:
    """Raise the error of a function with this signature for arguments that it does not take."""
    try:
        signature_of(text).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"cupy.{name}{text}: {error}") from None


# --- arrays ------------------------------------------------------------------------------------------------------


class ndarray:  # noqa: N801 - CuPy's name
    """An array in memory of the fake."""

    __array_priority__ = 100
    _cuda: Any = None

    def __init__(
        self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: str = "C"
    ) -> None:
        dtype = np.dtype(dtype)
        shape = (int(shape),) if isinstance(shape, int | np.integer) else tuple(int(n) for n in shape)
        if memptr is None:
            memptr = self._cuda.alloc(int(np.prod(shape, dtype=np.int64)) * dtype.itemsize)
        self.data = memptr
        self._host = seen(memptr.ptr, shape, dtype, strides)

    shape = property(lambda self: self._host.shape)
    dtype = property(lambda self: self._host.dtype)
    strides = property(lambda self: self._host.strides)
    size = property(lambda self: self._host.size)
    nbytes = property(lambda self: self._host.nbytes)
    ndim = property(lambda self: self._host.ndim)
    itemsize = property(lambda self: self._host.itemsize)

    # --- to the host -------------------------------------------------------------------------------------------

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
        return self._host.copy(order=order)  # type: ignore[call-overload]

    def set(self, arr: Any, stream: Any = None) -> None:
        self._host[...] = arr

    def item(self) -> Any:
        return self._host.item()

    def tolist(self) -> Any:
        return self._host.tolist()

    def __bool__(self) -> bool:
        return bool(self._host)

    def __int__(self) -> int:
        return int(self._host)

    def __float__(self) -> float:
        return float(self._host)

    def __complex__(self) -> complex:
        return complex(self._host)

    def __index__(self) -> int:
        return int(self._host.__index__())

    def __len__(self) -> int:
        return len(self._host)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"cupy {self._host!r}"

    __hash__ = None  # type: ignore[assignment]

    # --- parts -------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> ndarray:
        return wrapped(self._host[wrapping(self, key)], self)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, np.ndarray) and value.ndim:
            raise TypeError("Unsupported type <class 'numpy.ndarray'>")
        with np.errstate(all="ignore"):
            self._host[wrapping(self, key)] = plain(value, "setitem")

    @property
    def device(self) -> Any:
        return self._cuda.Device(self.data.device_id)

    @property
    def flags(self) -> Any:
        return self._host.flags

    @property
    def T(self) -> ndarray:  # noqa: N802 - CuPy's name
        return wrapped(self._host.T, self)

    @property
    def real(self) -> ndarray:
        return wrapped(self._host.real, self)

    @property
    def imag(self) -> ndarray:
        return wrapped(self._host.imag, self)

    @property
    def base(self) -> Any:
        return None

    def view(self, dtype: Any = None, type: Any = None) -> ndarray:
        return wrapped(self._host if dtype is None else self._host.view(dtype), self)

    def astype(
        self, dtype: Any, order: str = "K", casting: Any = None, subok: Any = None, copy: bool = True
    ) -> ndarray:
        if self.dtype.kind == "c" and np.dtype(dtype).kind in "fiu":
            raise np.exceptions.ComplexWarning("Casting complex values to real discards the imaginary part")
        with np.errstate(all="ignore"):
            return wrapped(self._host.astype(dtype, order=order, copy=copy), self)  # type: ignore[call-overload]

    def __cuda_array_interface__(self) -> Any:  # pragma: no cover - only its presence counts
        raise NotImplementedError


# --- the host's view of them ---------------------------------------------------------------------------------------


def seen(address: int, shape: Any, dtype: Any, strides: Any) -> np.ndarray[Any, Any]:
    """Return the array at an address."""
    if not address or 0 in shape:
        return np.empty(shape, dtype)
    if strides is None:
        buffer = (ctypes.c_ubyte * (int(np.prod(shape, dtype=np.int64)) * dtype.itemsize)).from_address(
            address
        )
        return np.ndarray(shape, dtype, buffer)
    low = builtins.sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0)
    high = builtins.sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s > 0) + dtype.itemsize
    buffer = (ctypes.c_ubyte * (high - low)).from_address(address + low)
    return np.ndarray(shape, dtype, buffer, -low, tuple(strides))


def wrapped(value: Any, *given: Any) -> Any:
    """Return a result as an array of the fake: in the memory of an argument if it is a view of it, else in new one."""
    if isinstance(value, tuple | list):
        return type(value)(*(wrapped(v, *given) for v in value)) if hasattr(value, "_fields") else type(value)(
            wrapped(v, *given) for v in value
        )  # fmt: skip
    if not isinstance(value, np.ndarray | np.generic):
        return value
    value = np.asarray(value)
    for one in arrays_in(given):
        memory, start = one.data.mem, value.ctypes.data
        if value.size and memory.ptr <= start < memory.ptr + memory.size:
            pointer = type(one.data)(memory, start - memory.ptr)
            return ndarray(value.shape, value.dtype, pointer, value.strides)
    kept = np.empty_like(value, subok=False)  # with the order that NumPy's result has
    new = ndarray(value.shape, value.dtype, None, kept.strides if value.size else None)
    new._host[...] = value
    return new


def arrays_in(value: Any) -> Iterator[ndarray]:
    if isinstance(value, ndarray):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from arrays_in(item)
    elif isinstance(value, dict):
        yield from arrays_in(list(value.values()))


def plain(value: Any, name: str) -> Any:
    """Return an argument for NumPy; what CuPy does not take raises what CuPy raises."""
    if isinstance(value, ndarray):
        return value._host
    if isinstance(value, np.ndarray):
        raise TypeError(f"cupy.{name}: Unsupported type {type(value)}")
    if isinstance(value, tuple | list):
        return type(value)(plain(item, name) for item in value)
    if isinstance(value, dict):
        return {k: plain(v, name) for k, v in value.items()}
    return value


def wrapping(self: ndarray, key: Any) -> Any:
    """Return a key with its arrays of integers wrapped around, as CuPy reads beyond the end."""
    keys = key if isinstance(key, tuple) else (key,)
    if not builtins.any(isinstance(k, ndarray) for k in keys):
        return plain(key, "getitem")
    found: list[Any] = []
    used = builtins.sum(
        k.ndim if isinstance(k, ndarray) and k.dtype == bool else k is not None and k is not Ellipsis
        for k in keys
    )
    axis = 0
    for k in keys:
        host = plain(k, "getitem")
        if k is Ellipsis:
            axis += self.ndim - used
        elif isinstance(k, ndarray) and k.dtype == bool:
            axis += k.ndim
        elif k is not None:
            if isinstance(k, ndarray) and self.shape[axis]:
                host = host % self.shape[axis]
            axis += 1
        found.append(host)
    return tuple(found) if isinstance(key, tuple) else found[0]

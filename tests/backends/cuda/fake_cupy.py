"""CuPy without a GPU: devices, streams, memory, events, graphs and pinned memory as CuPy 14 has them, over NumPy.

Memory comes from a pool with CuPy's rules (512-byte rounding, an arena a stream) over a `Driver`, which plays CUDA's
runtime: it has devices of a limited size, counts every call, and can be told to fail.  The work of a stream is done
when it is given, as NumPy does it; `Driver.hold` lets it count as pending until it is waited for, so that code which
forgets to wait is found out.  A captured graph runs its work again.  `FakeCupy` has the part of CuPy that tt uses;
numerical functions are NumPy's, with their results in memory of the pool.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from tests.backends.cuda.fake_driver import (
    CUDARuntimeError,
    Driver,
    FunctionMemory,
    MemoryPointer,
    MemoryPool,
    OutOfMemoryError,
    UnownedMemory,
)
from tests.backends.cuda.fake_runtime import make_cuda

__all__ = ["CUDARuntimeError", "Driver", "FakeCupy", "OutOfMemoryError"]

NEEDS_LIBRARY: Final = frozenset({"matmul", "dot", "tensordot", "einsum", "vdot", "inner"})
"""Functions whose CuPy version calls cuBLAS, which refuses to be captured."""

WAITING: Final = frozenset({"nonzero", "flatnonzero", "argwhere", "unique"})
"""Functions whose CuPy version waits for the device inside, which a capture does not allow."""


# --- arrays ------------------------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    if isinstance(value, ndarray):
        return value.view(np.ndarray)
    if isinstance(value, tuple | list):
        return type(value)(map(_plain, value))
    return {k: _plain(v) for k, v in value.items()} if isinstance(value, dict) else value


def _owner_of(value: Any) -> FakeCupy | None:
    if isinstance(value, ndarray):
        return value._cupy
    if isinstance(value, tuple | list):
        return next((found for item in value if (found := _owner_of(item)) is not None), None)
    return None


class ndarray(np.ndarray):  # type: ignore[type-arg]  # noqa: N801 - CuPy's name
    """An array of the fake; NumPy's functions, methods and operators on it give arrays in memory of the pool."""

    _cupy: Any = None
    _mem: Any = None

    def __array_finalize__(self, base: Any) -> None:
        if isinstance(base, ndarray):
            self._cupy, self._mem = base._cupy, base._mem

    @property
    def data(self) -> MemoryPointer:  # type: ignore[override]
        return MemoryPointer(self._mem, self.ctypes.data - self._mem.ptr if self.size else 0)

    @property
    def device(self) -> Any:
        return self._cupy.cuda.Device(self._mem.device_id)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        found = next(f for a in (*args, *kwargs.get("out", ())) if (f := _owner_of(a)) is not None)
        return found._run(getattr(ufunc, method), ufunc.__name__, args, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self._cupy._run(func, func.__name__, args, kwargs)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._cupy._run(lambda a, k, v: np.ndarray.__setitem__(a, k, v), "setitem", (self, key, value), {})

    def __getitem__(self, key: Any) -> Any:
        return self._cupy._run(lambda a, k: a[(..., *k) if isinstance(k, tuple) and Ellipsis not in k
                                              else (k, ...) if not isinstance(k, tuple) else k],
                               "getitem", (self, key), {})  # fmt: skip

    def item(self, *args: Any) -> Any:
        return self.get().item(*args)

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
        """Copy to the host."""
        return self._cupy.asnumpy(self, stream=stream, order=order, out=out, blocking=blocking)

    def tolist(self) -> Any:
        return self.get().tolist()

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        self._cupy._driver.log.append(("dlpack", stream, max_version, dl_device, copy))
        return _Capsule(self)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self._mem.device_id

    def __bool__(self) -> bool:
        return bool(self.get())

    def __int__(self) -> int:
        return int(self.get())

    def __float__(self) -> float:
        return float(self.get())

    def __index__(self) -> int:
        return int(self.get().__index__())


def _method(name: str) -> Callable[..., Any]:
    def method(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        return self._cupy._run(getattr(np.ndarray, name), name, (self, *args), kwargs)

    method.__name__ = name
    return method


for _name in (
    "all", "any", "argmax", "argmin", "argsort", "astype", "clip", "conj", "copy", "cumprod", "cumsum", "diagonal",
    "dot", "fill", "flatten", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat", "reshape", "round", "sort",
    "squeeze", "std", "sum", "swapaxes", "take", "trace", "transpose", "var",
):  # fmt: skip
    setattr(ndarray, _name, _method(_name))


# --- the module --------------------------------------------------------------------------------------------------


class _Capsule:
    """What stands for a DLPack capsule: NumPy's cannot say that memory is on a GPU."""

    def __init__(self, array: ndarray) -> None:
        self.array = array


class FakeCupy:
    """The part of the module that tt uses `cupy`, over a `Driver`.

    Parameters
    ----------
    driver : Driver, optional
        By default a new one with two devices.
    """

    float16, float32, float64 = np.float16, np.float32, np.float64

    def __init__(self, driver: Driver | None = None) -> None:
        self._driver = Driver() if driver is None else driver
        self._streams = threading.local()
        fake = self

        def new(
            cls: Any,
            shape: Any,
            dtype: Any = float,
            memptr: Any = None,
            strides: Any = None,
            order: str = "C",
        ):  # type: ignore[no-untyped-def]
            shape = (shape,) if isinstance(shape, int) else tuple(shape)
            dtype = np.dtype(dtype)
            if memptr is None:
                memptr = fake.cuda.alloc(int(np.prod(shape, dtype=int)) * dtype.itemsize)
            if 0 in shape or not memptr.ptr:
                made = np.ndarray.__new__(cls, shape, dtype, order=order)
            else:
                start, space, _ = fake._driver.segment(memptr.ptr)
                made = np.ndarray.__new__(cls, shape, dtype, space, memptr.ptr - start, strides, order)
            made._cupy, made._mem = fake, memptr.mem
            return made

        self.ndarray: Any = type("ndarray", (ndarray,), {"__new__": new, "_cupy": self})
        self.cuda = make_cuda(self)
        self._pool = MemoryPool(self)
        self._allocator: Any = self._pool.malloc
        self.linalg = _Library(self, np.linalg)
        self.fft = _Library(self, np.fft, refuses=False)

    def get_default_memory_pool(self) -> MemoryPool:
        return self._pool

    # --- functions ---------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if isinstance(found, type) or not callable(found):
            return found

        def function(*args: Any, **kwargs: Any) -> Any:
            return self._run(found, name, args, kwargs)

        function.__name__ = name
        setattr(self, name, function)
        return function

    def _refuse_host_arrays(self, value: Any) -> None:
        if isinstance(value, np.ndarray) and not isinstance(value, ndarray) and value.dtype != object:
            raise TypeError(f"Unsupported type {np.ndarray}")
        if isinstance(value, tuple | list):
            for item in value:
                self._refuse_host_arrays(item)

    def _current(self, device: int | None = None) -> Any:
        device = self._driver.device if device is None or device < 0 else device
        return self._streams.__dict__.setdefault(device, self.cuda.Stream.null)

    def _run(self, func: Any, name: str, args: Any, kwargs: Any, library: bool = False) -> Any:
        """Run a function of NumPy as a kernel of the current stream."""
        if name not in ("asarray", "array"):
            self._refuse_host_arrays(args)
        driver, device = self._driver, self._driver.device
        work = driver.work(self._current().ptr)
        if work.capture is not None and (library or name in NEEDS_LIBRARY):
            raise RuntimeError("calling cuBLAS API during stream capture is currently unsupported")
        if name in WAITING:
            driver.refuse_capture(work)
        plain_args, plain_kwargs = _plain(args), _plain(kwargs)
        result = func(*plain_args, **plain_kwargs)
        made: list[tuple[Any, Any]] = []
        out = kwargs.get("out")
        out = out[0] if isinstance(out, tuple) else out
        adopted = out if out is not None else self._adopt(result, args, made)

        def again() -> None:
            fresh: list[Any] = []
            self._flatten(func(*plain_args, **plain_kwargs), fresh)
            for position, target in made:
                np.copyto(target, fresh[position])

        driver.submit(self._current().ptr, device, again)
        return adopted

    def _flatten(self, value: Any, into: list[Any]) -> None:
        if isinstance(value, tuple | list):
            for item in value:
                self._flatten(item, into)
        else:
            into.append(value)

    def _adopt(
        self, value: Any, args: Any, made: list[tuple[Any, Any]], count: list[int] | None = None
    ) -> Any:
        """Return a result in memory of the pool: a view of an argument, or a copy of what NumPy made."""
        count = [0] if count is None else count
        if isinstance(value, tuple | list):
            items = [self._adopt(item, args, made, count) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        position, count[0] = count[0], count[0] + 1
        if not isinstance(value, np.ndarray | np.generic):
            return value
        value = np.asarray(value)
        address = value.__array_interface__["data"][0]
        for source in self._arrays(args):
            start = source._mem.ptr
            if value.size and start <= address < start + source._mem.size:
                return self.ndarray(
                    value.shape, value.dtype, MemoryPointer(source._mem, address - start), value.strides
                )
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        new = self.ndarray(value.shape, value.dtype, order=order)
        np.copyto(new.view(np.ndarray), value)
        made.append((position, new.view(np.ndarray)))
        return new

    def _arrays(self, value: Any) -> Iterator[Any]:
        if isinstance(value, ndarray):
            yield value
        elif isinstance(value, tuple | list):
            for item in value:
                yield from self._arrays(item)

    # --- to and from the host ----------------------------------------------------------------------------------

    def asarray(self, a: Any, dtype: Any = None, order: Any = None, *, blocking: bool = False) -> Any:
        if isinstance(a, ndarray):
            return a if dtype is None or a.dtype == dtype else a.astype(dtype)
        interface = getattr(a, "__cuda_array_interface__", None)
        if interface is None:
            return self.array(a, dtype, blocking=blocking)
        if interface.get("stream") is not None:
            self._driver.wait(0 if interface["stream"] == 1 else interface["stream"])
        start = self._driver.segment(interface["data"][0])
        device = start[2] if start else self._driver.device
        dtype, shape = np.dtype(interface["typestr"]), interface["shape"]
        size = int(np.prod(shape, dtype=int)) * dtype.itemsize
        memory = UnownedMemory(interface["data"][0], size, a, device)
        return self.ndarray(shape, dtype, MemoryPointer(memory, 0), interface.get("strides"))

    def array(self, obj: Any, dtype: Any = None, copy: bool = True, order: str = "K", subok: bool = False,
              ndmin: int = 0, *, blocking: bool = False) -> Any:  # fmt: skip
        self._driver.log.append(("host to device", self._driver.device, self._current().ptr, blocking))
        found = self._run(np.array, "array", (obj,), {"dtype": dtype, "copy": True, "ndmin": ndmin})
        if blocking:
            self._driver.wait(self._current().ptr)
        return found

    def asnumpy(
        self, a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True
    ) -> Any:
        used = self._current(a._mem.device_id if a._mem.ptr else None) if stream is None else stream
        driver = self._driver
        driver.log.append(("device to host", a._mem.device_id, used.ptr, blocking))
        driver.refuse_capture(driver.work(used.ptr, a._mem.device_id))
        found = np.empty(a.shape, a.dtype) if out is None else out
        source = a.view(np.ndarray)
        driver.copy(used.ptr, a._mem.device_id, lambda: np.copyto(found, source))
        if blocking:
            driver.wait(used.ptr, a._mem.device_id)
        return found

    def from_dlpack(self, source: Any) -> Any:
        capsule = source.__dlpack__(stream=self._current().ptr or 1)
        return capsule.array

    # --- memory --------------------------------------------------------------------------------------------------

    def _malloc(self, size: int) -> MemoryPointer:
        driver = self._driver
        return MemoryPointer(
            FunctionMemory(size, driver.device, driver.malloc, lambda ptr, device: driver.free(ptr)), 0
        )


class _Library:
    """A submodule whose functions call a library of NVIDIA's."""

    def __init__(self, cupy: FakeCupy, module: Any, refuses: bool = True) -> None:
        self._cupy, self._module, self._refuses = cupy, module, refuses

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if isinstance(found, type):
            return found
        return lambda *args, **kwargs: self._cupy._run(found, name, args, kwargs, library=self._refuses)

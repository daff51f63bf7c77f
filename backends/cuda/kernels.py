"""The kernels of CUDA: those in CUDA C++, those over the array API on CuPy arrays, and the views that need no array."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.backends.array_api import ArrayApiBackend
from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.libraries.namespace import LazyNamespace
from tt.backends.cuda.shaping import views
from tt.core.library import FamilyIndex, Kernel, KernelTable, dtype, family_modules

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["INDEX", "kernel_tables"]


class BareArrays(ArrayApiBackend):
    """The backend for kernels over the array API, whose handles are bare CuPy arrays."""

    device_type, mutable, has_views, library = "cuda", True, True, "CuPy"

    def __init__(self, namespace: LazyNamespace) -> None:
        # Not the base's: it makes an array to learn its class, and nothing may be made before CUDA is used.
        self.xp = namespace

    def native_dtype(self, dtype: dtype) -> Any:
        """Return NumPy's dtype, which CuPy shares."""
        return dtype.numpy

    def has_dtype(self, name: str) -> bool:
        """CuPy has every dtype: of version 14 on, bfloat16 of ml_dtypes, too."""
        return True

    def strides(self, handle: Any) -> tuple[int, ...]:
        """Return the strides in elements."""
        return tuple(stride // handle.dtype.itemsize for stride in handle.strides)

    def cast(self, handle: Any, native_dtype: np.dtype[Any]) -> Any:
        """Return an array in another dtype; of complex numbers the real part, if the dtype is real."""
        real = handle.dtype.kind == "c" and native_dtype.kind not in "cb"
        return (handle.real if real else handle).astype(native_dtype)

    def number(self, value: Any, native_dtype: np.dtype[Any]) -> Any:
        """Return a NumPy scalar, which CuPy passes by value; of bfloat16, which CuPy takes none of, an array."""
        if native_dtype == self.xp.bfloat16:
            return self.xp.asarray(value, dtype=native_dtype)
        with np.errstate(all="ignore"):
            return np.dtype(native_dtype).type(value)

    def item(self, handle: Any) -> bool | int | float | complex:
        """Return the only element as a Python number."""
        value: bool | int | float | complex = handle.item()
        return value


WAITS: Final = frozenset({
    "_unique2", "div.mode", "equal", "floor_divide", "gather", "index", "index_put", "index_select", "item",
    "linalg_cholesky_ex", "linalg_eig", "linalg_eigh", "linalg_inv", "linalg_qr", "linalg_solve", "linalg_svd",
    "nonzero", "remainder", "remainder.Scalar", "scatter", "scatter_add", "scatter_reduce", "unique_dim",
})  # fmt: skip
"""Kernels over CuPy's functions that read sizes on the host, or check indices, divisors or solver results there.
`tests/backends/cuda/emulated/test_waits.py` compares the list with their behaviour."""


def kernel_tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the tables of a backend; nothing of CuPy is imported."""
    general = BareArrays(backend.namespace).kernels(without=[kernel.op for kernel in views.cuda.kernels])
    general.kernels = [_over_handles(kernel, backend) for kernel in general.kernels]
    libraries = _libraries(backend)
    modules = [import_module(name) for name in family_modules("tt.backends.cuda")]
    return [general, *(table for module in modules for table in _tables_of(module, backend, libraries))]


def _libraries(backend: CudaBackend) -> dict[str, Any]:
    """Return NVIDIA's libraries by the names of the parameters for them; they need not be installed."""
    from tt.backends.cuda.libraries.cublaslt import CublasLt
    from tt.backends.cuda.libraries.cudnn import Cudnn

    return {"cudnn": Cudnn(backend), "cublaslt": CublasLt(backend)}


def _tables_of(module: ModuleType, backend: CudaBackend, libraries: Mapping[str, Any]) -> list[KernelTable]:
    """Return the tables of a module of a family: views, kernels in CUDA C++, and over libraries that are installed."""
    own = [module.cuda] if hasattr(module, "cuda") else []
    if not hasattr(module, "tables"):
        return own
    # A module asks for libraries by the names of its parameters.
    names = libraries.keys() & inspect.signature(module.tables).parameters.keys()
    return [*own, *module.tables(backend, **{name: libraries[name] for name in names})]


def _ops(module: ModuleType) -> Iterable[str]:
    """Return the operators of a module, by tables of a backend that never meets a device."""
    from tt.backends.cuda.backend import CudaBackend

    backend = CudaBackend()
    tables = _tables_of(module, backend, _libraries(backend))
    return dict.fromkeys(kernel.op for table in tables for kernel in table.kernels)


INDEX: Final = FamilyIndex("tt.backends.cuda", _ops)
"""Which modules have kernels of an operator: for checks alone, as the tables of all families are made at once."""


def _over_handles(kernel: Kernel, backend: CudaBackend) -> Kernel:
    """Return a kernel over CuPy arrays as one over handles."""
    function = kernel.function
    takes = kernel.takes or tuple(inspect.signature(function).parameters)
    adapted = _adapted(function, backend)
    return replace(kernel, function=_telling(adapted, kernel.op, backend), takes=takes)


def _telling(function: Callable[..., Any], op: str, backend: CudaBackend) -> Callable[..., Any]:
    """Return a kernel that reports that the host waits for it, if it does."""
    if op not in WAITS:
        return function

    @wraps(function)
    def telling(*args: Any) -> Any:
        backend.will_wait(f"{op}()")
        result = function(*args)
        # The host has waited, so what earlier kernels recorded is known.
        backend.failures.raise_first()
        return result

    return telling


def _adapted(function: Callable[..., Any], backend: CudaBackend) -> Callable[..., Any]:
    def array(value: Any) -> Any:
        if isinstance(value, StridedHandle):
            return value.array
        return [array(item) for item in value] if isinstance(value, list) else value

    def handle(value: Any) -> Any:
        if isinstance(value, tuple | list):
            return type(value)(handle(item) for item in value)
        return backend.normalise(value) if hasattr(value, "strides") else value

    @wraps(function)
    def adapted(*args: Any) -> Any:
        return handle(function(*map(array, args)))

    return adapted

"""CuPy as a namespace of the array API standard that is imported when one of its functions is called.

Kernels are built, and their coverage is listed, without CuPy: the names of the standard are listed here, and each is
bound to CuPy's function at its first call.  CuPy follows NumPy's older names in places; `SPELLINGS` and the functions
below translate.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any, Final

import ml_dtypes
import numpy as np

__all__ = ["LazyNamespace"]

_BFLOAT16: Final = np.dtype(ml_dtypes.bfloat16)

SPELLINGS: Final = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
    "atanh": "arctanh", "bitwise_invert": "invert", "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift", "concat": "concatenate", "cumulative_prod": "cumprod",
    "permute_dims": "transpose", "pow": "power",
}  # fmt: skip
"""The standard's name of a function -> NumPy's and CuPy's older one."""

SAME: Final = frozenset({
    "abs", "add", "all", "any", "arange", "argmax", "argmin", "bitwise_and", "bitwise_or",
    "bitwise_xor", "broadcast_arrays", "broadcast_to", "ceil", "clip", "conj", "copysign", "cos",
    "cosh", "count_nonzero", "cumprod", "diff", "divide", "empty", "empty_like", "equal", "exp",
    "expand_dims", "expm1", "eye", "flip", "floor", "floor_divide", "full", "full_like", "greater",
    "greater_equal", "hypot", "imag", "isfinite", "isinf", "isnan", "less", "less_equal", "linspace",
    "log", "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not", "logical_or",
    "logical_xor", "matmul", "max", "maximum", "mean", "meshgrid", "min", "minimum", "moveaxis",
    "multiply", "negative", "nextafter", "nonzero", "not_equal", "ones", "ones_like", "positive", "prod",
    "real", "reciprocal", "repeat", "reshape", "roll", "round", "searchsorted", "sign", "signbit",
    "sin", "sinh", "sqrt", "square", "squeeze", "stack", "subtract", "sum", "take", "take_along_axis",
    "tan", "tanh", "tensordot", "tile", "trunc", "zeros", "zeros_like",
})  # fmt: skip
"""The functions that CuPy has under the standard's name."""

LINALG: Final = frozenset(
    ["cholesky", "det", "eig", "eigh", "eigvalsh", "inv", "pinv", "qr", "slogdet", "solve", "svd"]
)
"""The functions of the extension `linalg` that CuPy has."""

FFT: Final = frozenset(["fft", "fftn", "ifft", "ifftn", "irfft", "irfftn", "rfft", "rfftn"])
"""The functions of the extension `fft` that CuPy has."""

DTYPES: Final = (
    "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip


class LazyNamespace:
    """The functions of the standard over a library that is imported when one of them is called.

    Parameters
    ----------
    load : callable
        Imports and returns the library.
    """

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load
        self.pi, self.e, self.inf, self.nan, self.newaxis = np.pi, np.e, np.inf, np.nan, None
        self.bool = np.dtype(bool)
        for name in DTYPES:
            setattr(self, name, np.dtype(name))
        self.bfloat16 = _BFLOAT16
        self.iinfo, self.finfo, self.result_type = np.iinfo, np.finfo, np.result_type
        self.linalg, self.fft = _LazyLinalg(load), _LazyTransforms(load)

    def __getattr__(self, name: str) -> Any:
        if name not in SAME and name not in SPELLINGS:
            raise AttributeError(f"the array API over CuPy has no {name!r}")
        function = _deferred(lambda: self.find(name), name)
        # The next look-up finds the attribute, and does not come here.
        setattr(self, name, function)
        return function

    def find(self, name: str) -> Callable[..., Any]:
        """Return the library's function: under the standard's name, or under the older one."""
        library = self._load()
        attribute = getattr(library, name, None)
        function: Callable[..., Any] = (
            getattr(library, SPELLINGS.get(name, name)) if attribute is None else attribute
        )
        return function

    # --- functions with other names in the library -------------------------------------------------------------------

    def asarray(self, value: Any, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return a value as an array."""
        library = self._load()
        if isinstance(value, bool | int | float | complex) and dtype is not None and dtype != _BFLOAT16:
            # Written by a kernel: a copy from the host would wait in a graph's capture, and costs more.
            with np.errstate(all="ignore"):
                return library.full((), np.dtype(dtype).type(value), dtype=dtype)
        return library.array(value, dtype=dtype) if copy else library.asarray(value, dtype=dtype)

    def astype(self, x: Any, dtype: Any, copy: bool = True) -> Any:
        """Return an array in another dtype."""
        return x.astype(dtype, copy=copy)

    def isdtype(self, dtype: Any, kind: Any) -> bool:
        """Return whether a dtype is of a kind."""
        if dtype == _BFLOAT16:
            return bool({"real floating", "numeric"} & ({kind} if isinstance(kind, str) else set(kind)))
        return bool(np.isdtype(np.dtype(dtype), kind))

    def matrix_transpose(self, x: Any) -> Any:
        """Exchange the last two dimensions."""
        return x.swapaxes(-1, -2)

    def where(self, condition: Any, x: Any, y: Any) -> Any:
        """Choose elements; CuPy would return bfloat16 ones in float32."""
        chosen = self._load().where(condition, x, y)
        both = [np.dtype(v.dtype) for v in (x, y) if hasattr(v, "dtype")]
        # Widening and narrowing again changes no number.
        return chosen.astype(_BFLOAT16) if both and all(dtype == _BFLOAT16 for dtype in both) else chosen

    def tril(self, x: Any, /, *, k: int = 0) -> Any:
        """Return the lower triangles; CuPy's function uses its `where`."""
        return self._load().tril(x, k=k).astype(x.dtype, copy=False)

    def triu(self, x: Any, /, *, k: int = 0) -> Any:
        """Return the upper triangles; CuPy's function uses its `where`."""
        return self._load().triu(x, k=k).astype(x.dtype, copy=False)

    def remainder(self, x: Any, y: Any) -> Any:
        """Return the remainder with the sign of the divisor.

        CuPy subtracts the floored quotient times the divisor from floating point numbers, which loses the digits of a
        large quotient and gives NaN for an infinite divisor.
        """
        library = self._load()
        if x.dtype.kind not in "fV":
            return library.remainder(x, y)
        rest = library.fmod(x, y)
        other_side = (rest != 0) & (library.signbit(rest) != library.signbit(y))
        return self.where(other_side, rest + y, library.copysign(library.abs(rest), y))

    def cumulative_sum(self, x: Any, axis: int | None = None, dtype: Any = None) -> Any:
        """Return the running sum."""
        return self._load().cumsum(x, axis=0 if axis is None else axis, dtype=dtype)

    def argsort(self, x: Any, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
        """Return the positions of the elements in order; equal ones keep theirs in both directions."""
        library = self._load()
        if not descending:
            return library.argsort(x, axis=axis, kind="stable")
        reversed_order = library.flip(
            library.argsort(library.flip(x, axis=axis), axis=axis, kind="stable"), axis=axis
        )
        return x.shape[axis] - 1 - reversed_order

    def sort(self, x: Any, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
        """Return the elements in order."""
        library = self._load()
        ordered = library.sort(x, axis=axis)
        return library.flip(ordered, axis=axis) if descending else ordered


class _LazyLinalg:
    """The extension `linalg` of a `LazyNamespace`.

    Note [Errors of solvers]
    ------------------------
    By default CuPy ignores cuSOLVER's report of a matrix that is singular or not positive-definite:
    the result is then meaningless, and not even NaN.  Checking waits for the device, as in PyTorch, for the same
    reason.
    """

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load

    def __getattr__(self, name: str) -> Any:
        if name not in LINALG:
            raise AttributeError(f"the array API over CuPy has no linalg.{name}")

        def call(*args: Any, **kwargs: Any) -> Any:
            library = self._load()
            with _told_of_errors(library):
                return getattr(library.linalg, name)(*args, **kwargs)

        call.__name__ = call.__qualname__ = name
        setattr(self, name, call)
        return call

    def solve(self, a: Any, b: Any) -> Any:
        """Solve systems of equations; CuPy does not broadcast their batches."""
        library = self._load()
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a, b = library.broadcast_to(a, batch + a.shape[-2:]), library.broadcast_to(b, batch + b.shape[-2:])
        with _told_of_errors(library):
            return library.linalg.solve(a, b)


class _LazyTransforms:
    """The extension `fft` of a `LazyNamespace`."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load

    def __getattr__(self, name: str) -> Any:
        if name not in FFT:
            raise AttributeError(f"the array API over CuPy has no fft.{name}")
        return _deferred(lambda: getattr(self._load().fft, name), name)


def _told_of_errors(library: Any) -> AbstractContextManager[Any]:
    """Let CuPy's solvers raise; see Note [Errors of solvers]."""
    if library.__name__ != "cupy":
        return nullcontext()
    context: AbstractContextManager[Any] = import_module("cupyx").errstate(linalg="raise")
    return context


def _deferred(find: Callable[[], Callable[..., Any]], name: str) -> Callable[..., Any]:
    """Return a function that looks the real one up at its first call."""
    function: Callable[..., Any] | None = None

    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal function
        if function is None:
            function = find()
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call

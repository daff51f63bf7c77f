"""The functions of `strict_arrays`: CuPy's, with their parameters and dtypes, computed by NumPy."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any, Final

import ml_dtypes
import numpy as np

from tests.backends.cuda.strict_arrays import (
    FACTS,
    SETTINGS,
    arrays_in,
    bound,
    errstate,
    ndarray,
    plain,
    wrapped,
    wrapping,
)
from tests.backends.cuda.strict_streams import belong_to_streams

__all__ = ["errstate", "fill_module"]


# --- functions of elements -----------------------------------------------------------------------------------------


@cache
def loop_for(name: str, loops: str, dtypes: tuple[Any, ...]) -> str:
    """Return the loop that CuPy takes: the first to whose dtypes the arguments can be cast."""
    for loop in loops.split():
        into = [np.dtype(_CHARACTERS.get(c, c)) for c in loop.partition("->")[0]]
        if builtins.all(np.can_cast(have, want, "safe") for have, want in zip(dtypes, into, strict=True)):
            return loop
    raise TypeError(f"cupy.{name}: no loop for {[str(d) for d in dtypes]}")


_CHARACTERS: Final[dict[str, Any]] = {"E": ml_dtypes.bfloat16}


def run_ufunc(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a ufunc as CuPy has it."""
    loops = FACTS["ufuncs"][name]
    unknown = set(kwargs) - {"out", "dtype", "casting"}
    if unknown:
        raise TypeError(f"cupy.{name}: Wrong arguments {unknown}")
    if builtins.any(isinstance(a, np.ndarray) for a in args):
        raise TypeError(f"cupy.{name}: Unsupported type <class 'numpy.ndarray'>")
    nin = len(loops.partition("->")[0])
    if len(args) > nin:
        raise TypeError(f"cupy.{name}: {len(args)} arguments")
    hosts = [plain(a, name) for a in args]
    numbers = [a for a in hosts if isinstance(a, np.ndarray | np.generic)]
    weak = [a for a in hosts if not isinstance(a, np.ndarray | np.generic)]
    common = np.result_type(*(n.dtype for n in numbers), *weak) if weak else None
    dtypes = [a.dtype if isinstance(a, np.ndarray | np.generic) else common for a in hosts]
    wanted = kwargs.get("dtype")
    if wanted is None:
        loop = loop_for(name, loops, tuple(dtypes))
        into = np.dtype(_CHARACTERS.get(loop[-1], loop[-1]))
    else:
        into = np.dtype(wanted)
    with np.errstate(all="ignore"):
        if name in ("floor_divide", "remainder") and into.kind in "iu":
            divisor = np.asarray(hosts[1])
            found = np.where(divisor == 0, 0, getattr(np, name)(hosts[0], np.where(divisor == 0, 1, divisor)))
        elif name in ("floor_divide", "remainder"):
            x, y = (np.asarray(host, into) for host in hosts)
            quotient = np.floor(x / y)
            found = quotient if name == "floor_divide" else x - quotient * y
        else:
            found = getattr(np, name)(*hosts, **({"dtype": wanted} if wanted is not None else {}))
        found = np.asarray(found).astype(into, copy=False)
    out = kwargs.get("out")
    if out is not None:
        if not np.can_cast(found.dtype, out.dtype, "same_kind"):
            raise TypeError(f"output (typecode {found.dtype.char!r}) could not be coerced to {out.dtype}")
        out._host[...] = found
        return out
    return wrapped(np.array(found, order="C"))


# --- other functions -----------------------------------------------------------------------------------------------

CREATION: Final = frozenset({
    "arange", "array", "asarray", "empty", "eye", "full", "identity", "linspace", "logspace", "ones", "tri", "zeros",
    "isdtype", "issubdtype", "result_type", "can_cast", "promote_types", "broadcast_shapes", "iinfo", "finfo",
    "min_scalar_type", "isscalar", "indices",
})  # fmt: skip
"""Functions that need no array."""


def _generic(name: str, text: str, function: Callable[..., Any], space: str = "") -> Callable[..., Any]:
    """Return a function with CuPy's parameters that NumPy computes."""

    def call(*args: Any, **kwargs: Any) -> Any:
        bound(space + name, text, args, kwargs)
        if name not in CREATION and not builtins.any(True for _ in arrays_in([args, kwargs])):
            raise TypeError(f"cupy.{space}{name}: Unsupported type {type(args[0]) if args else None}")
        hosts, named = plain(args, name), plain(kwargs, name)
        out = kwargs.pop("out", None)
        named.pop("out", None)
        if name in FACTS["reductions"] and not space and named.get("dtype") is None:
            loop_for(name, FACTS["reductions"][name], (args[0].dtype,))
        with np.errstate(all="ignore"):
            found = function(*hosts, **named)
        if out is not None:
            out._host[...] = found
            return out
        return wrapped(found, args, kwargs)

    call.__name__ = call.__qualname__ = name
    return call


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None:
        return np.nonzero(condition)
    dtype = np.result_type(x, y)
    loop = loop_for("where", FACTS["kernels"]["where"], (np.dtype(bool), dtype, dtype))
    return np.where(np.asarray(condition) != 0, x, y).astype(np.dtype(loop[-1]))


def _triangle(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(m: Any, k: int = 0) -> Any:
        return _where(function(np.ones(m.shape, bool), k), m, m.dtype.type(0))

    return call


def _array(obj: Any, dtype: Any = None, copy: bool = True, order: str = "K", subok: bool = False, ndmin: int = 0,
           *, blocking: bool = False) -> ndarray:  # fmt: skip
    if isinstance(obj, ndarray) and not copy and (dtype is None or np.dtype(dtype) == obj.dtype):
        return obj
    host = obj._host if isinstance(obj, ndarray) else obj
    if isinstance(host, tuple | list):
        host = plain(host, "array")
    return wrapped(np.array(host, dtype=dtype, order=order, ndmin=ndmin))  # type: ignore[call-overload]


def _asarray(
    a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, blocking: bool = False
) -> ndarray:
    return _array(a, dtype, copy=bool(copy), order=order or "K")


def _take(a: Any, indices: Any, axis: Any = None, out: Any = None) -> Any:
    size = a.size if axis is None else a.shape[axis]
    index = np.asarray(indices) % size if size else indices
    return np.take(a, index, axis)


def _searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    return np.searchsorted(a, v, side, sorter).astype(np.int64)  # type: ignore[call-overload]


def _sorting(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(a: Any, axis: Any = -1, kind: Any = None) -> Any:
        if kind not in (None, "stable"):
            raise ValueError(f"kind can only be None or 'stable', not {kind!r}")
        if not a.ndim:
            raise np.exceptions.AxisError("Cannot sort a zero-dimensional array")
        return function(a, axis=axis, kind="stable")

    return call


def _repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    if isinstance(repeats, np.ndarray):
        raise ValueError("'repeats' should be int or sequence of numbers of the host")
    return np.repeat(a, repeats, axis)


def _reshape(a: Any, newshape: Any, order: str = "C", *, copy: Any = None) -> Any:
    return np.reshape(a, newshape, order)  # type: ignore[call-overload]


def _matmul(*args: Any, **kwargs: Any) -> Any:
    x, y = args
    if np.result_type(x, y).kind == "b":
        raise TypeError("cupy.matmul: of bools")
    return np.matmul(x, y, **kwargs)


SPECIAL: Final[dict[str, Callable[..., Any]]] = {
    "take": _take, "searchsorted": _searchsorted, "sort": _sorting(np.sort), "argsort": _sorting(np.argsort),
    "repeat": _repeat,
    "where": _where, "tril": _triangle(np.tril), "triu": _triangle(np.triu), "reshape": _reshape, "matmul": _matmul,
    "concatenate": lambda tup, axis=0, out=None, **kw: np.concatenate(tup, axis, **kw),
    "concat": lambda tup, axis=0, out=None, **kw: np.concatenate(tup, axis, **kw),
}  # fmt: skip


# --- matrices ------------------------------------------------------------------------------------------------------


def _matrices(name: str) -> Callable[..., Any]:
    """Return a function of `cupy.linalg`: single and double precision, and errors only if they are asked for."""
    function = getattr(np.linalg, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        hosts = [a for a in args if isinstance(a, np.ndarray)]
        if builtins.any(a.dtype.char in "eE" or a.dtype == ml_dtypes.bfloat16 for a in hosts):
            raise TypeError(f"cupy.linalg.{name}: float16 is unsupported in linalg")
        if name == "solve":
            a, b = hosts
            if b.ndim > 1 and a.shape[:-1] != b.shape[:-1]:
                raise ValueError("a must have (..., M, M) shape and b must have (..., M, K)")
            if b.ndim == 1 and a.ndim > 2:
                args = (a, np.broadcast_to(b, a.shape[:-1])[..., None])
        try:
            return function(*args, **kwargs)
        except np.linalg.LinAlgError:
            if SETTINGS["linalg"] == "raise":
                raise
            return np.tril(hosts[-1]) if name == "cholesky" else hosts[-1].copy()  # the solver's leftovers

    return call


# --- the module ----------------------------------------------------------------------------------------------------


def _fill(module: Any) -> None:
    for name in FACTS["ufuncs"]:
        function = _ufunc(name)
        setattr(module, name, function)
    for name, text in FACTS["functions"].items():
        found = SPECIAL.get(name) or getattr(np, name, None)
        if found is not None and not name.startswith("_"):
            setattr(module, name, _generic(name, text, found))
    for name, function in {"array": _array, "asarray": _asarray, "asnumpy": _asnumpy}.items():
        setattr(module, name, function)
    linalg, fft = ModuleType("cupy.linalg"), ModuleType("cupy.fft")
    for name, text in FACTS["linalg"].items():
        if hasattr(np.linalg, name):
            setattr(linalg, name, _generic(name, text, _matrices(name), "linalg."))
    for name, text in FACTS["fft"].items():
        if hasattr(np.fft, name):
            setattr(fft, name, _generic(name, text, _transform(name), "fft."))
    linalg.LinAlgError = np.linalg.LinAlgError  # type: ignore[attr-defined]
    module.linalg, module.fft = linalg, fft
    for name in ("iinfo", "finfo", "isdtype", "result_type", "can_cast", "pi", "e", "inf", "nan", "newaxis",
                 "bool_", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16",
                 "float32",
                 "float64", "complex64", "complex128", "dtype", "broadcast_shapes", "promote_types"):  # fmt: skip
        setattr(module, name, getattr(np, name))
    module.ndarray, module.bool = ndarray, bool
    module.ascontiguousarray = lambda a, dtype=None: wrapped(np.ascontiguousarray(a._host, dtype), a)


def _ufunc(name: str) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        return run_ufunc(name, args, kwargs)

    call.__name__ = call.__qualname__ = name

    def at(target: ndarray, index: Any, values: Any = None) -> None:
        if name not in ("add", "maximum", "minimum"):
            raise NotImplementedError(f"`{name}.at` is not supported yet")
        if target.dtype.char not in ("eifdFDLQI" if name == "add" else "ifdLQI"):
            raise TypeError(f"cupy.{name}.at of {target.dtype}")
        getattr(np, name).at(target._host, wrapping(target, index), plain(values, name))

    call.at = at  # type: ignore[attr-defined]
    call.types = FACTS["ufuncs"][name].split()  # type: ignore[attr-defined]
    return call


def _transform(name: str) -> Callable[..., Any]:
    function = getattr(np.fft, name)

    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(a, np.ndarray) and not a.size:
            raise ValueError("cuFFT of nothing")
        return function(a, *args, **kwargs)

    return call


def _asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True) -> Any:
    return a.get(order=order) if isinstance(a, ndarray) else np.asarray(a)


def _method(name: str, text: str) -> Callable[..., Any]:
    def method(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        bound(f"ndarray.{name}", text, (self, *args), kwargs)
        function = SPECIAL.get(name)
        with np.errstate(all="ignore"):
            if name in ("sort", "fill", "put", "partition"):
                getattr(self._host, name)(*plain(args, name), **plain(kwargs, name))
                return None
            if function is not None and name != "reshape":
                return wrapped(function(self._host, *plain(args, name), **plain(kwargs, name)), self)
            kwargs.pop("copy", None) if name == "reshape" else None
            if name == "copy":
                kwargs = {"order": "C", **kwargs}
            found = getattr(self._host, name)(*plain(args, name), **plain(kwargs, name))
        return wrapped(found, self)

    return method


for _name, _text in FACTS["methods"].items():
    if _text and _name not in vars(ndarray) and hasattr(np.ndarray, _name):
        setattr(ndarray, _name, _method(_name, _text))


OPERATORS: Final = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "left_shift", "rshift": "right_shift",
}  # fmt: skip
COMPARISONS: Final = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}  # fmt: skip


def _operator(ufunc: str, swapped: bool = False, in_place: bool = False) -> Any:
    def operator(self: ndarray, other: Any) -> Any:
        if in_place:
            return run_ufunc(ufunc, (self, other), {"out": self})
        return run_ufunc(ufunc, (other, self) if swapped else (self, other), {})

    return operator


for _name, _loop in OPERATORS.items():
    setattr(ndarray, f"__{_name}__", _operator(_loop))
    setattr(ndarray, f"__r{_name}__", _operator(_loop, swapped=True))
    setattr(ndarray, f"__i{_name}__", _operator(_loop, in_place=True))
for _name, _loop in COMPARISONS.items():
    setattr(ndarray, f"__{_name}__", _operator(_loop))
for _name, _loop in {"neg": "negative", "pos": "positive", "invert": "invert", "abs": "absolute"}.items():
    setattr(ndarray, f"__{_name}__", lambda self, u=_loop: run_ufunc(u, (self,), {}))
ndarray.__matmul__ = lambda self, other: wrapped(_matmul(plain(self, "matmul"), plain(other, "matmul")))  # type: ignore[attr-defined]


def _array_ufunc(self: ndarray, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
    """Serve NumPy's scalars on the left of an operator, as CuPy does."""
    name = {"conjugate": "conj", "divide": "true_divide"}.get(ufunc.__name__, ufunc.__name__)
    return run_ufunc(name, args, kwargs) if method == "__call__" else NotImplemented


ndarray.__array_ufunc__ = _array_ufunc  # type: ignore[attr-defined]


def fill_module(fake: Any, module: Any) -> Any:
    """Fill a module with CuPy's arrays and functions, over the devices and the memory of a `FakeCupy`."""
    ndarray._cuda = fake.cuda
    fake.ndarray = ndarray
    _fill(module)
    module.cuda, module.get_default_memory_pool = fake.cuda, fake.get_default_memory_pool
    module._driver = fake._driver
    belong_to_streams(fake, module, [name for name, text in FACTS["methods"].items() if text])
    return module

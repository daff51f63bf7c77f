"""The effect of the functions of `strict_functions` on streams: a graph captures them, or they make the host wait.

CuPy gives the work of a function to the current stream.  A graph that is captured meanwhile has it, and does it again
in each replay; what calls cuBLAS, cuSOLVER or cuSPARSE refuses, and what waits is refused by CUDA.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, Final

from tests.backends.cuda.strict_arrays import SETTINGS, arrays_in, ndarray

__all__ = ["LIBRARIES", "TO_HOST", "WAITING", "belong_to_streams"]

LIBRARIES: Final = frozenset({
    "matmul", "dot", "tensordot", "vdot", "inner", "outer", "kron", "einsum", "__matmul__",
})  # fmt: skip
"""Functions of CuPy that call cuBLAS, apart from those of `cupy.linalg`."""

WAITING: Final = frozenset(
    {"nonzero", "flatnonzero", "argwhere", "unique", "bincount", "compress", "extract"}
)
"""Functions of CuPy that wait for the device before they return: how much they return depends on values.

Those that sort do not: Thrust works without waiting (`par_nosync` in CuPy's cupy_thrust.cu).
"""

SOLVERS: Final = frozenset({
    "cholesky", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "pinv", "qr", "solve", "svd",
})  # fmt: skip
"""Functions of `cupy.linalg` that look at the solver's status, and so wait, where `errstate(linalg="raise")` asks."""

TO_HOST: Final = (
    "get", "item", "tolist", "__bool__", "__int__", "__float__", "__complex__", "__index__", "__repr__",
)  # fmt: skip
"""Methods of arrays that copy to the host."""

OPERATORS: Final = tuple(
    f"__{prefix}{name}__"
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")
    for prefix in ("", "r", "i")
) + tuple(f"__{name}__" for name in (
    "lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "invert", "abs", "matmul", "setitem", "getitem",
))  # fmt: skip


class _Depth(threading.local):
    """How many functions of CuPy this thread is in: those inside of another are not work of their own."""

    value = 0


def _waits(name: str, args: Any, solver: bool) -> bool:
    """Return whether a call of CuPy waits for the device."""
    if name in ("__getitem__", "__setitem__"):
        masked = any(a.dtype == bool for a in arrays_in(args[1:2]))
        # One value is written wherever the mask is true; several need their places.
        return masked and (name == "__getitem__" or any(a.ndim for a in arrays_in(args[2:])))
    if solver:
        return name in SOLVERS and SETTINGS["linalg"] == "raise"
    return name in WAITING or name in TO_HOST or (name == "where" and len(args) == 1)


def belong_to_streams(fake: Any, module: Any, methods: Any) -> None:
    """Let functions of a module, and methods of its arrays, belong to the streams of a `FakeCupy`.

    Parameters
    ----------
    fake : FakeCupy
        Has the streams.
    module : module
        Made by `strict_functions.fill_module`.
    methods : sequence of str
        Names of methods of arrays, apart from operators.
    """
    driver, depth = fake._driver, _Depth()

    def streamed(function: Callable[..., Any], name: str, library: bool = False) -> Any:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if depth.value:
                return function(*args, **kwargs)
            stream = fake._current()
            work = driver.work(stream.ptr)
            if work.capture is not None and (library or name in LIBRARIES):
                raise RuntimeError("calling cuBLAS API during stream capture is currently unsupported")
            if _waits(name, args, library):
                driver.wait(stream.ptr)
            depth.value += 1
            try:
                result = function(*args, **kwargs)
            finally:
                depth.value -= 1
            if work.capture is not None:
                driver.submit(stream.ptr, None, lambda: again(function, args, kwargs, result))
            return result

        return call

    def again(function: Any, args: Any, kwargs: Any, result: Any) -> None:
        depth.value += 1
        try:
            fresh = function(*args, **kwargs)
        finally:
            depth.value -= 1
        for old, new in zip(arrays_in(result), arrays_in(fresh), strict=True):
            if old.data.ptr != new.data.ptr:
                old._host[...] = new._host

    for space, library in ((module, False), (module.linalg, True), (module.fft, False)):
        for name, found in list(vars(space).items()):
            if callable(found) and not isinstance(found, type) and not name.startswith("_"):
                made = streamed(found, name, library)
                if hasattr(found, "at"):
                    made.at = streamed(found.at, "at")
                setattr(space, name, made)
    for name in {*methods, *OPERATORS, *TO_HOST} & set(dir(ndarray)):
        original = getattr(ndarray, f"_plain_{name}", None) or getattr(ndarray, name)
        setattr(ndarray, f"_plain_{name}", original)
        setattr(ndarray, name, streamed(original, name))

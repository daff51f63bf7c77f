"""Calls compiled functions with NumPy arrays: through a module of C that is compiled once, or through ctypes.

Note [Two callers]
------------------
A library of the user's holds entries with one fixed C signature (`include/tt/entry.h`) and nothing of Python, so it is
compiled without Python's headers and serves every version of Python.  What turns a Python call into a call of an entry
is one extension module for all of them, `caller.c`: it reads arrays through the buffer protocol, broadcasts, lets the
global interpreter lock go, and costs about as much as a ufunc of NumPy.  It needs `Python.h`.  Where that is missing,
`CtypesCaller` does the same in Python: the results are the same, a call costs some twenty times as much.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sysconfig
from collections.abc import Callable
from functools import lru_cache, partial
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np

from tt.core.errors import CompileError, NoCompilerError
from tt.core.extension.build import BuildPlan, Unit, build
from tt.core.extension.cache import default_folder
from tt.core.extension.parameters import CODES, NUMPY_DTYPES, Passed, Specification, failed, make_like
from tt.core.shapes.geometry import broadcast

__all__ = ["CtypesCaller", "load_native", "make_caller"]

_KINDS: Final = ("element", "tensor", "pointer", "number", "text", "result")  # as caller.c numbers them
_NAME: Final = "_tt_caller"
_TENSOR, _NUMBER, _NONE = 1, 3, -1


def make_caller(entry: int, specification: Specification) -> Callable[..., Any]:
    """Return a function over NumPy arrays and numbers that calls an entry.

    Parameters
    ----------
    entry : int
        The address of the entry.
    specification : Specification
        The parameters of the entry.
    """
    native, _ = load_native()
    if native is None:
        return CtypesCaller(entry, specification)
    # An empty dtype stands for any.
    parameters = tuple(
        (_KINDS.index(p.kind), CODES.get(p.dtype, -1), p.writes, p.optional) for p in specification.parameters
    )
    result = {"tensor": _TENSOR, "number": _NUMBER}.get(specification.result, _NONE)

    def explain(args: tuple[Any, ...]) -> Any:
        return specification.explain(args, function)

    function: Callable[..., Any] = native.make(
        specification.name,
        entry,
        parameters,
        specification.elementwise,
        result,
        CODES.get(specification.result_dtype, 0),
        np.empty,
        NUMPY_DTYPES,
        make_like,
        explain,
        partial(failed, specification.name),
    )
    return function


@lru_cache(maxsize=1)
def load_native() -> tuple[ModuleType | None, str]:
    """Return the module that calls entries, compiling it at first use, and else why there is none."""
    # Without the header there is nothing to try, and the compiler's error would say less.
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if not header.is_file():
        return None, f"{header} is missing (a package python3-dev or python3-devel has it)"
    source = Path(__file__).with_name("caller.c")
    text = source.read_text(encoding="utf-8")
    # The second folder has the configuration of the build where a system splits the headers.
    folders = dict.fromkeys((sysconfig.get_path("include"), sysconfig.get_path("platinclude")))
    plan = BuildPlan(_NAME, [Unit("c", text)], include_paths=list(folders), python=True)
    try:
        library = build(plan, default_folder() / _NAME)
        loader = ExtensionFileLoader(_NAME, str(library))
        spec = importlib.util.spec_from_loader(_NAME, loader)
        assert spec is not None  # the loader is given
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    except (CompileError, NoCompilerError, ImportError) as error:
        return None, str(error)
    return module, ""


# --- without Python.h ----------------------------------------------------------------------------------------------


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
    )


class _Value(ctypes.Union):
    _fields_ = (
        ("tensor", ctypes.POINTER(_Tensor)),
        ("floating", ctypes.c_double),
        ("integer", ctypes.c_int64),
        ("complex_parts", ctypes.c_double * 2),
        ("text", ctypes.c_char_p),
    )


_Empty = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_int64)
)


class _Call(ctypes.Structure):
    _fields_ = (
        ("empty", _Empty),
        ("context", ctypes.c_void_p),
        ("values", ctypes.POINTER(_Value)),
        ("result", _Value),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("count", ctypes.c_int64),
        ("message", ctypes.c_char * 512),
    )


def _longs(values: Any) -> Any:
    values = tuple(values)
    return (ctypes.c_int64 * max(1, len(values)))(*values)


class _Described:
    """An array with the struct that describes it to C."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.shape, self.strides = _longs(array.shape), _longs(s // array.itemsize for s in array.strides)
        code = next(code for code, dtype in enumerate(NUMPY_DTYPES) if dtype == array.dtype)
        pointer = ctypes.POINTER(ctypes.c_int64)
        self.struct = _Tensor(
            array.ctypes.data,
            code,
            array.ndim,
            ctypes.cast(self.shape, pointer),
            ctypes.cast(self.strides, pointer),
        )

    @property
    def address(self) -> int:
        """The address of the struct."""
        return ctypes.addressof(self.struct)


class CtypesCaller:
    """Calls an entry through ctypes, with the same results as the C caller, but without Python's headers."""

    def __init__(self, entry: int, specification: Specification) -> None:
        self._entry = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Call))(entry)
        self._specification = specification
        self.__name__ = specification.name

    def __call__(self, *args: Any) -> Any:
        """Call the function with arrays and numbers."""
        wrong = len(args) != len(self._specification.taken)
        if wrong or not all(map(self._passes, self._specification.taken, args)):
            return self._specification.explain(args, self)
        return self._lifted(args) if self._specification.elementwise else self._over_tensors(args)

    def _passes(self, parameter: Passed, value: Any) -> bool:
        return self._specification._check(parameter, value) is value

    def _lifted(self, args: tuple[Any, ...]) -> Any:
        specification = self._specification
        shape = broadcast(specification.name, *(a.shape for a in args if isinstance(a, np.ndarray)))
        result = make_like(shape, NUMPY_DTYPES[CODES[specification.result_dtype]], args)
        # Rows one after the other: the entry steps through one dimension only.
        plain = np.empty(shape, result.dtype)
        operands = [plain]
        for parameter, value in zip(specification.taken, args, strict=True):
            array = np.asarray(value, NUMPY_DTYPES[CODES[parameter.dtype]])
            # Contiguous copies: a call with one stride needs neighbours.
            operands.append(np.ascontiguousarray(np.broadcast_to(array, shape)))
        call = _Call()
        call.data = (ctypes.c_void_p * len(operands))(*(o.ctypes.data for o in operands))
        call.strides = _longs(o.itemsize for o in operands)
        call.count = plain.size
        if plain.size and self._entry(ctypes.byref(call)):
            failed(specification.name, call.message.decode(errors="replace"))
        result[...] = plain
        return result

    def _over_tensors(self, args: tuple[Any, ...]) -> Any:
        specification, allocated, errors = self._specification, list[_Described](), list[BaseException]()

        def empty(_: Any, dtype: int, ndim: int, shape: Any) -> int | None:
            try:
                allocated.append(
                    _Described(np.empty([shape[dim] for dim in range(ndim)], NUMPY_DTYPES[dtype]))
                )
            except BaseException as error:  # must not cross C; raised when the function has returned
                errors.append(error)
                return None
            return allocated[-1].address

        kept: list[Any] = []
        values = (_Value * max(1, len(specification.parameters)))()
        arguments = iter(args)
        for slot, parameter in zip(values, specification.parameters, strict=False):
            if parameter.kind != "result":
                self._put(slot, parameter, next(arguments), kept)
        call = _Call(empty=_Empty(empty), values=values)
        bad = self._entry(ctypes.byref(call))
        if errors:
            raise errors[0]
        if bad:
            failed(specification.name, call.message.decode(errors="replace"))
        if specification.result == "number":
            return self._number(call.result)
        slots = [call.result] if specification.result == "tensor" else [
            slot for slot, p in zip(values, specification.parameters, strict=False) if p.kind == "result"
        ]  # fmt: skip
        results = [self._taken(slot, allocated) for slot in slots]
        return None if not results else results[0] if len(results) == 1 else tuple(results)

    def _put(self, slot: Any, parameter: Passed, value: Any, kept: list[Any]) -> None:
        if value is None:
            return
        if parameter.kind in ("tensor", "pointer"):
            kept.append(_Described(value))
            slot.tensor = ctypes.pointer(kept[-1].struct)
        elif parameter.kind == "text":
            kept.append(value.encode())
            slot.text = kept[-1]
        elif parameter.dtype.startswith("complex"):
            number = complex(value)
            slot.complex_parts[:] = (number.real, number.imag)
        elif parameter.dtype.startswith("float"):
            slot.floating = float(value)
        # Unsigned integers beyond int64 travel as the same 64 bits.
        else:
            slot.integer = int(value) & 0xFFFFFFFFFFFFFFFF

    def _number(self, value: Any) -> Any:
        dtype = self._specification.result_dtype
        if dtype.startswith("complex"):
            return complex(*value.complex_parts)
        if dtype.startswith("float"):
            return value.floating
        number = value.integer & 0xFFFFFFFFFFFFFFFF if dtype == "uint64" else value.integer
        return bool(number) if dtype == "bool" else number

    def _taken(self, slot: Any, made: list[_Described]) -> Any:
        address = ctypes.cast(slot.tensor, ctypes.c_void_p).value
        # By address: the struct is one of those that `empty` handed out.
        for one in made:
            if one.address == address:
                return one.array
        failed(
            self._specification.name,
            "it returned a tensor that tt_empty did not make in this call"
            if address
            else "it returned NULL instead of a tensor, without calling tt_error",
        )

"""The parameters of a compiled function, as its callers need them, and errors of wrong arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn

import numpy as np

from tt.core.errors import ArgumentError, DtypeError, NumberRangeError, ValueRangeError, describe
from tt.core.shapes.geometry import broadcast, dense_strides
from tt.core.tensor.backend import contiguous_strides
from tt.core.types.dtype import DTYPES

__all__ = ["CODES", "NUMPY_DTYPES", "Passed", "Specification", "failed", "make_like"]

CODES: Final = {dtype.name: dtype.code for dtype in DTYPES}
"""The numbers of the dtypes in tt/extension.h."""
NUMPY_DTYPES: Final = tuple(dtype.numpy for dtype in DTYPES)

Kind = Literal["element", "tensor", "pointer", "number", "text", "result"]


@dataclass(frozen=True, slots=True)
class Passed:
    """One parameter of a compiled function.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        element: of arrays over which the function is lifted; tensor: `tt_tensor *`; pointer: to the elements of a
        contiguous array; number; text; result: `tt_tensor **`, which the caller does not give.
    dtype : str
        Of an element, a pointer or a number; "" for any.
    writes : bool
        The function changes it.
    optional : bool
        None is passed as NULL.
    """

    name: str
    kind: Kind
    dtype: str = ""
    writes: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Specification:
    """A compiled function as its callers need it.

    Attributes
    ----------
    name : str
        As error messages name it.
    parameters : tuple of Passed
        Its parameters.
    result : str
        Of a function over tensors: tensor, number or none.
    result_dtype : str
        Of elements or of a number.
    """

    name: str
    parameters: tuple[Passed, ...]
    result: Literal["element", "tensor", "number", "none"]
    result_dtype: str = ""

    @property
    def elementwise(self) -> bool:
        """The function is lifted over elements."""
        return self.result == "element"

    @property
    def taken(self) -> tuple[Passed, ...]:
        """The parameters that a call gives."""
        return tuple(p for p in self.parameters if p.kind != "result")

    def explain(self, args: Sequence[Any], again: Callable[..., Any]) -> Any:
        """Raise an error for wrong arguments, or call `again` with copies of arrays that only have a wrong layout.

        Raises
        ------
        ArgumentError, DtypeError, BroadcastError, ValueRangeError
            A description of the error.
        """
        if len(args) != len(self.taken):
            raise ArgumentError(
                self.name,
                f"it takes {len(self.taken)} arguments, and got {len(args)}",
                signatures=[str(self)],
            )
        # Copies are made only for arrays that C cannot read; all else is refused.
        mended = [self._check(p, value) for p, value in zip(self.taken, args, strict=True)]
        if self.elementwise:
            broadcast(self.name, *(value.shape for value in args if isinstance(value, np.ndarray)))
        # Nothing was mended, so calling again would come back here for ever.
        if all(new is old for new, old in zip(mended, args, strict=True)):
            raise ArgumentError(self.name, "its arguments cannot be passed to C", signatures=[str(self)])
        return again(*mended)

    def _check(self, parameter: Passed, value: Any) -> Any:
        """Return an argument, or a copy that C can read; raise if it cannot be passed."""
        if value is None and parameter.optional:
            return value
        if parameter.kind == "text":
            if not isinstance(value, str):
                self._refuse(parameter, f"must be str, not {describe(value)}")
            return value
        if parameter.kind == "number" or (parameter.kind == "element" and not isinstance(value, np.ndarray)):
            return self._check_number(parameter, value)
        if not isinstance(value, np.ndarray):
            self._refuse(parameter, f"must be a tensor, not {describe(value)}")
        return self._check_array(parameter, value)

    def _check_number(self, parameter: Passed, value: Any) -> Any:
        kind = NUMPY_DTYPES[CODES[parameter.dtype]].kind
        fits = {
            "b": (bool,),
            "i": (int,),
            "u": (int,),
            "f": (bool, int, float),
            "c": (bool, int, float, complex),
        }
        if not isinstance(value, fits[kind]) and not (kind in "iu" and hasattr(value, "__index__")):
            names = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}
            self._refuse(parameter, f"must be {names[kind]}, not {describe(value)}")
        if kind in "iu":
            limits = np.iinfo(NUMPY_DTYPES[CODES[parameter.dtype]])
            if not limits.min <= int(value) <= limits.max:
                raise NumberRangeError(
                    f"{self.name}(): argument {parameter.name!r} is {value}, beyond the range of {parameter.dtype}"
                )
        return value

    def _check_array(self, parameter: Passed, value: np.ndarray[Any, Any]) -> Any:
        # The byte order may be mended by a copy; the dtype may not.
        if parameter.dtype and value.dtype.newbyteorder("=") != NUMPY_DTYPES[CODES[parameter.dtype]]:
            raise DtypeError(
                f"{self.name}(): argument {parameter.name!r} must be {parameter.dtype}, not {value.dtype}\n"
                f"  signature: {self}\n  try: {parameter.name}.to(tt.{parameter.dtype})"
            )
        if value.dtype.newbyteorder("=") not in NUMPY_DTYPES:
            raise DtypeError(
                f"{self.name}(): argument {parameter.name!r} has the dtype {value.dtype}, unknown to C"
            )
        contiguous = value.flags.c_contiguous
        if parameter.kind == "pointer" and not contiguous:
            raise ValueRangeError(
                f"{self.name}(): argument {parameter.name!r} is a plain pointer in C and must be contiguous\n"
                f"  try: {parameter.name}.contiguous(), or take a tt_tensor * in C, which has strides"
            )
        if parameter.writes and not value.flags.writeable:
            self._refuse(parameter, "is changed by the function, and its memory is read-only")
        whole = all(
            size < 2 or stride % value.itemsize == 0
            for size, stride in zip(value.shape, value.strides, strict=True)
        )
        # C reads elements in native order at aligned addresses, with strides counted in elements.
        if value.flags.aligned and value.dtype.isnative and whole:
            return value
        # What is written into a copy would be lost.
        if parameter.writes:
            self._refuse(
                parameter, "is changed by the function, and its elements are not aligned or not native"
            )
        return np.array(value, dtype=value.dtype.newbyteorder("="), order="C")

    def _refuse(self, parameter: Passed, problem: str) -> NoReturn:
        raise ArgumentError(self.name, f"argument {parameter.name!r} {problem}", signatures=[str(self)])

    def __str__(self) -> str:
        def shown(p: Passed) -> str:
            array = {"element": "elements", "pointer": "contiguous", "tensor": "tensor"}.get(p.kind)
            words = [p.dtype or ("any" if array else "str"), *([array] if array else []), p.name]
            return " ".join(words)

        result = {"element": f"{self.result_dtype} elements", "number": self.result_dtype}.get(
            self.result, self.result
        )
        return f"{self.name}({', '.join(map(shown, self.taken))}) -> {result}"


class _Operand:
    """An array as shape rules see it: strides in elements."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.shape, self.ndim = array.shape, array.ndim
        self.strides = tuple(stride // array.itemsize for stride in array.strides)


def make_like(shape: tuple[int, ...], dtype: Any, args: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Return a new array for an elementwise result, in the order of dimensions that the operands share."""
    operands: list[Any] = [_Operand(value) for value in args if isinstance(value, np.ndarray)]
    strides = dense_strides(shape, operands, scalars=len(operands) < len(args))
    # The usual result is row-major, which `np.empty` makes at once.
    if 0 in shape or strides == contiguous_strides(shape):
        return np.empty(shape, dtype)
    memory = np.empty(math.prod(shape), dtype)
    return np.ndarray(shape, dtype, memory, 0, [stride * memory.itemsize for stride in strides])


def failed(name: str, message: str) -> NoReturn:
    """Raise the error that a function reported by tt_error or by a C++ exception."""
    raise ValueRangeError(f"{name}(): {message}")

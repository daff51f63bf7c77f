"""Binding: from the user's arguments to the full argument tuple of a schema.

For each form of each operator a small Python function with the real parameters is generated at first use: Python
itself then matches names and fills defaults, and the function converts values that are not of the plain type yet.
"""

from __future__ import annotations

import operator as _operator
from collections.abc import Callable, Mapping
from functools import cache
from types import CodeType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.core.dispatch.call import codes
from tt.core.dispatch.call.codes import NO_DEFAULT
from tt.core.dispatch.call.signature import SignaturePlan
from tt.core.dispatch.intercept.tt_function import flat, overrides
from tt.core.errors import (
    ArgumentError,
    ChoiceError,
    TTError,
    UnknownNameError,
    ValueRangeError,
    describe,
    did_you_mean,
)
from tt.core.schema.model import MISSING, Entries
from tt.core.schema.number_ranges import of_any_width, range_places, refuse_wide_value
from tt.core.tensor.base import TensorBase
from tt.core.tensor.generator import Generator
from tt.core.types.device import Device
from tt.core.types.device import device as to_device
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.dtype import to_dtype
from tt.core.types.layout import layout as Layout
from tt.core.types.layout import to_layout
from tt.core.types.memory_format import format_name, memory_format
from tt.core.types.promotion import LAST_SHIFT, WORD

if TYPE_CHECKING:
    from tt.core.dispatch.call.operator import Operator
    from tt.core.schema.model import Argument, Signature, Type

__all__ = ["Binder", "make_binder", "make_plan"]

Binder = Callable[[tuple[Any, ...], "dict[str, Any] | None"], tuple[Any, ...]]


class Mismatch(Exception):  # noqa: N818 - an internal signal, never seen by users
    """A value that a parameter cannot take; carries what was expected."""


class NotAllowed(Mismatch):
    """A value of the right type that is none of the allowed ones."""


# --- converters: value -> value of the plain type, or Mismatch ---------------------------------------------------


# Tuples, because `isinstance(x, a | b)` builds the union at each call.
_BOOLS = (bool, np.bool_)
_NO_INTS = (bool, np.bool_, float, complex, str)
_NO_FLOATS = (np.bool_, str, complex)  # True is 1.0, as in PyTorch
_REALS = (int, float, np.number)
_SEQUENCES = (list, tuple)
_DEVICES = (str, int, Device)


def _int(value: Any) -> int:
    if isinstance(value, _NO_INTS):
        raise Mismatch("int")
    # As in PyTorch, a zero-dimensional integer tensor is a number; "unsigned" ends in "signed", and bool does not.
    if isinstance(value, TensorBase) and (value.ndim or not value.dtype.kind.endswith("signed")):
        raise Mismatch("int")
    # `index` takes NumPy's integers, and refuses floats that happen to be whole, as PyTorch does.
    try:
        return _operator.index(value)
    except TypeError:
        raise Mismatch("int") from None


def _is_zero_dim(value: object) -> bool:
    return isinstance(value, TensorBase) and value.ndim == 0


def _float(value: Any) -> float:
    if isinstance(value, _NO_FLOATS):
        raise Mismatch("float")
    if isinstance(value, _REALS) or _is_zero_dim(value):
        return float(value)
    raise Mismatch("float")


def _bool(value: Any) -> bool:
    if isinstance(value, _BOOLS):
        return bool(value)
    raise Mismatch("bool")


def _str(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise Mismatch("str")


def _scalar(value: Any) -> bool | int | float | complex:
    if isinstance(value, _BOOLS):
        return bool(value)
    if isinstance(value, np.generic) or _is_zero_dim(value):
        value = value.item()
    # Subclasses of int, such as members of an IntEnum, become plain: `SCALARS` is keyed by the exact type.
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, complex):
        return complex(value)
    raise Mismatch("Number")


def _listed_scalar(value: Any) -> bool | int | float | complex:
    # A list of tensors without dimensions is one of tensors, whose overload may have been called less.
    if isinstance(value, TensorBase):
        raise Mismatch("Number")
    return value if type(value) is float else _scalar(value)


def _tensor(value: Any) -> Any:
    if isinstance(value, TensorBase):
        return value
    raise Mismatch("Tensor")


def _tensor_or_scalar(value: Any) -> Any:
    if isinstance(value, TensorBase):
        return value
    try:
        return _scalar(value)
    except Mismatch:
        raise Mismatch("Tensor or Number") from None


def _dtype(value: Any) -> Dtype:
    # `from_numpy_dtype` would read the attribute `dtype` of a tensor, and take the tensor for a dtype.
    if isinstance(value, TensorBase):
        raise Mismatch("dtype")
    try:
        return to_dtype(value)
    except UnknownNameError:
        if isinstance(value, str):  # the error for a misspelt name suggests the nearest ones
            raise
        raise Mismatch("dtype") from None


def _device(value: Any) -> Any:
    # True is an int, and would be the device with index 1.
    if isinstance(value, bool) or not isinstance(value, _DEVICES):
        raise Mismatch("device")
    return to_device(value)


def _layout(value: Any) -> Any:
    if isinstance(value, Layout | str):
        return to_layout(value)
    raise Mismatch("layout")


def _memory_format(value: Any) -> str:
    if isinstance(value, memory_format | str):
        return format_name(value)
    raise Mismatch("memory_format")


def _any(value: Any) -> Any:
    if any(overrides(type(item)) and not isinstance(item, TensorBase) for item in flat((value,))):
        raise Mismatch("plain value")
    return value


def _generator(value: Any) -> Any:
    if isinstance(value, Generator):
        return value
    raise Mismatch("Generator")


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "int": _int, "float": _float, "bool": _bool, "str": _str, "Scalar": _scalar, "Tensor": _tensor,
    "dtype": _dtype, "device": _device, "layout": _layout, "memory_format": _memory_format, "Generator": _generator,
    "any": _any,
}  # fmt: skip

# When `type(value)` is one of these the value needs no converter.
_PLAIN: dict[str, tuple[type, ...]] = {
    "int": (int,), "float": (float,), "bool": (bool,), "str": (str,), "Scalar": (int, float, bool, complex),
    "dtype": (Dtype,), "layout": (Layout,),
}  # fmt: skip


def _optional(type_: Type) -> Callable[[Any], Any]:
    convert = converter(type_)
    return (lambda value: None if value is None else convert(value)) if type_.optional else convert


def _choice(type_: Type) -> Callable[[Any], Any]:
    """Return the converter to one of several values, or to the member of an enumeration that has the value."""
    plain, choices, enum = _CONVERTERS[type_.base], type_.choices, type_.enum
    allowed = f"one of {', '.join(map(repr, choices))}"

    def convert(value: Any) -> Any:
        if enum is not None and isinstance(value, enum):
            if value.value not in choices:
                raise NotAllowed(f"{allowed}, not {value!r}")
            return value
        try:
            chosen = plain(value)
        except Mismatch:
            raise Mismatch(allowed) from None
        if chosen not in choices:
            raise NotAllowed(f"{allowed}, not {value!r}{did_you_mean(str(value), map(str, choices))}")
        return choices[choices.index(chosen)] if enum is None else enum(chosen)

    return convert


def _tuple(type_: Type) -> Callable[[Any], Any]:
    """Return the converter to a tuple of fixed length."""
    converters, expected = [_optional(item) for item in type_.items], str(type_)

    def convert(value: Any) -> Any:
        if not isinstance(value, _SEQUENCES):
            raise Mismatch(expected)
        if len(value) != len(converters):
            raise Mismatch(f"{expected}, {len(converters)} long and not {len(value)} as this")
        items = []
        # Elements are converted one by one, so that the error names the position of the wrong one.
        for position, (one, item) in enumerate(zip(converters, value, strict=True)):
            try:
                items.append(one(item))
            except NotAllowed:
                raise
            except Mismatch:
                raise Mismatch(f"{expected}, with {describe(item)} at position {position}") from None
        return tuple(items)

    return convert


def _dict(type_: Type) -> Callable[[Any], Any]:
    """Return the converter to a dict with keys and values of fixed types."""
    (key, entry), expected = map(_optional, type_.items), str(type_)

    def convert(value: Any) -> Any:
        if type(value) is Entries:  # the default, which does not change
            return value
        if not isinstance(value, Mapping):
            raise Mismatch(expected)
        converted = {}
        for name, item in value.items():
            try:
                converted[key(name)] = entry(item)
            except NotAllowed:
                raise
            except Mismatch:
                raise Mismatch(f"{expected}, with {describe(item)} under {name!r}") from None
        return converted

    return convert


def _element(type_: Type) -> Callable[[Any], Any]:
    if type_.choices:
        return _choice(type_)
    if type_.items:
        return (_tuple if type_.base == "tuple" else _dict)(type_)
    if type_.list and type_.base == "Scalar":
        return _listed_scalar
    return _tensor_or_scalar if type_.or_scalar else _CONVERTERS[type_.base]


def converter(type_: Type) -> Callable[[Any], Any]:
    """Return the function that converts a value to a schema type."""
    element = _element(type_)
    if not type_.list:
        return element
    exact = type_.size if type_.is_tensor or type_.choices or type_.items else None

    def convert(value: Any) -> Any:
        # One number stands for all of a fixed number of sizes, as in PyTorch: kernel_size=3.
        if type_.size is not None and exact is None and not isinstance(value, _SEQUENCES):
            try:
                return (element(value),) * type_.size
            except Mismatch:
                raise Mismatch(f"{element.__name__.lstrip('_')} or tuple of them") from None
        if not isinstance(value, _SEQUENCES):
            raise Mismatch(f"tuple of {type_.base}s")
        if exact is not None and len(value) != exact:
            raise Mismatch(f"tuple of {exact} {type_.base}s, and not of {len(value)}")
        items = []
        for position, item in enumerate(value):
            try:
                items.append(None if item is None and type_.element_optional else element(item))
            except NotAllowed:
                raise
            except Mismatch as mismatch:
                raise Mismatch(
                    f"tuple of {mismatch}s, with {describe(item)} at position {position}"
                ) from None
        return items if type_.is_tensor else tuple(items)

    return convert


# Further names of arguments: PyTorch's for the first tensor, those of its aliases, and NumPy's.
_ALSO = {
    "input": "self", "tensor": "self", "axis": "dim", "keepdims": "keepdim", "axis0": "dim0", "axis1": "dim1",
    "split_size_or_sections": "split_size", "x": "self", "a": "self", "x1": "self", "x2": "other",
}  # fmt: skip

# --- the generated function --------------------------------------------------------------------------------------


def takes_variadic_sizes(signature: Signature) -> bool:
    """Return whether `x.view(2, 3)` means `x.view((2, 3))`: the only positional besides self is a list."""
    positional = [a for a in signature.positional if a.name != "self"]
    return bool(positional) and positional[0].type.list and positional[0].type.base == "int" and (
        len(positional) == 1
    )  # fmt: skip


def _check(argument: Argument, index: int) -> list[str]:
    """Return the lines that convert one parameter, if it is not of the plain type already."""
    name, type_ = argument.name, argument.type
    convert = f"{name} = convert({index}, {name})"
    if type_.list and type_.base == "int":
        # Written out, because sizes are what factories and views are mostly called with.
        lines = [
            f"if type({name}) is tuple:",
            f"    for item in {name}:",
            "        if type(item) is not int or not LOWEST <= item <= HIGHEST:",
            f"            {convert}",
            "            break",
            "else:",
            f"    {convert}",
        ]
        if type_.optional:
            lines = [f"if {name} is not None:", *(f"    {line}" for line in lines)]
        return [f"    {line}" for line in lines]
    tests = [f"{name} is not None"] if type_.optional else []
    if type_.choices and not type_.list:
        plain = f"type({name}) is not plain{index}_0"
        value = f"{name}.value" if type_.enum is not None else name
        tests.append(f"({plain} or {value} not in choices{index})")
    elif type_.is_tensor and not type_.list:
        tests.append(f"not isinstance({name}, TensorBase)")
    # An integer beyond 64 bits goes to `convert`, which refuses it unless the operator takes any width.
    elif type_.base == "int" and not type_.list:
        tests.append(f"(type({name}) is not int or not LOWEST <= {name} <= HIGHEST)")
    elif type_.base in _PLAIN and not type_.list:
        tests += [f"type({name}) is not plain{index}_{i}" for i in range(len(_PLAIN[type_.base]))]
    return [f"    if {' and '.join(tests) or 'True'}: {convert}"]


@cache
def _compiled(source: str) -> CodeType:
    """Return the code of a binder.  Operators with the same parameters share it: compiling is half of a first call."""
    return compile(source, "<binder>", "exec")


def _make_bind(
    arguments: tuple[Argument, ...], defaults: tuple[Any, ...], convert: Callable[[int, Any], Any]
) -> Callable[..., tuple[Any, ...]]:
    """Return the generated function, which has the parameters of a signature."""
    namespace: dict[str, Any] = {
        "TensorBase": TensorBase, "convert": convert, "default": defaults, "LOWEST": -(2**63), "HIGHEST": 2**63 - 1,
        "__name__": __name__,
    }  # fmt: skip
    parameters, lines, seen_keyword = [], [], False

    for index, argument in enumerate(arguments):
        if argument.keyword_only and not seen_keyword:
            parameters.append("*")
            seen_keyword = True
        # Defaults are read from a tuple and not written into the source, so that `_compiled` serves more operators.
        default = "" if argument.default is MISSING else f"=default[{index}]"
        parameters.append(argument.name + default)
        for i, plain in enumerate(_PLAIN.get(argument.type.base, ())):
            namespace[f"plain{index}_{i}"] = plain
        if argument.type.choices:
            namespace[f"choices{index}"] = argument.type.choices
            if argument.type.enum is not None:
                namespace[f"plain{index}_0"] = argument.type.enum
        lines += _check(argument, index)
    result = "".join(f"{a.name}, " for a in arguments)
    source = f"def bind({', '.join(parameters)}):\n" + "\n".join(lines) + f"\n    return ({result})\n"
    exec(_compiled(source), namespace)
    bind: Callable[..., tuple[Any, ...]] = namespace["bind"]
    return bind


def make_binder(
    signature: Signature,
    defaults: tuple[Any, ...],
    name: str,
    shown: Callable[[], str],
    tensors_one_by_one: bool = False,
) -> Binder:
    """Return a function (args, kwargs) -> full argument tuple for a signature.

    Parameters
    ----------
    signature : Signature
        The form that is called.
    defaults : tuple
        The defaults of the arguments, MISSING if there is none.
    name : str
        Name of the called function, for messages.
    shown : callable
        Returns the signature to show when the arguments do not fit.
    tensors_one_by_one : bool
        The last positional argument is a list of tensors that may also be given one by one.
    """
    arguments = signature.arguments
    converters: dict[int, Callable[[Any], Any]] = {}  # of few parameters: most values are plain
    limited = not of_any_width(signature)

    def convert(index: int, value: Any) -> Any:
        # As in PyTorch, None stands for a default of no numbers: `amax(x, None)` reduces all dimensions.
        if value is None and arguments[index].type.list and defaults[index] == ():
            return ()
        # The converter is made when a value first needs one: most parameters only ever get plain values.
        try:
            converted = (
                converters.get(index) or converters.setdefault(index, converter(arguments[index].type))
            )(value)
            if arguments[index].type.base == "int" and limited:
                refuse_wide_value(name, arguments[index].name, converted)
            return converted
        except NotAllowed as problem:
            raise ValueRangeError(
                f"{name}(): argument {arguments[index].name!r} must be {problem}\n  signature: {shown()}"
            ) from None
        except Mismatch as mismatch:
            argument = arguments[index]
            kind = ChoiceError if argument.type.base == "str" else ArgumentError
            raise kind(
                name,
                f"argument {argument.name!r} (position {index + 1}) must be {mismatch}, not {describe(value)}",
                signatures=(shown(),),
            ) from None

    variadic = tensors_one_by_one or takes_variadic_sizes(signature)
    bind: Callable[..., tuple[Any, ...]] | None = None
    list_at = next((i for i, a in enumerate(signature.positional) if a.type.list), -1)
    list_name = arguments[list_at].name if list_at >= 0 else ""
    names = {a.name for a in arguments}

    sizes = (list, tuple, type(None))
    # Of arguments that are lists themselves, one alone is the first and not all of them.
    never_a_list = tensors_one_by_one and arguments[list_at].type.base == "any"

    def binder(args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> tuple[Any, ...]:
        nonlocal bind
        # The binder is compiled at the first call that needs it; the fast path serves most operators without.
        if bind is None:
            bind = _make_bind(arguments, defaults, convert)
        # `view(2, 3)`: the sizes that follow each other become one list.  A
        # list, a tuple or None is the argument itself.
        if variadic and len(args) > list_at and (never_a_list or not isinstance(args[list_at], sizes)):
            args = (*args[:list_at], args[list_at:])
        # A call without any tensor, as `block_diag()`, has an empty list of them.
        elif tensors_one_by_one and len(args) == list_at and list_name not in (kwargs or ()):
            args = (*args, ())
        try:
            return bind(*args, **kwargs) if kwargs else bind(*args)
        except TypeError as error:
            # Python's own error (a missing or unknown argument) has no frame below this
            # one; a deeper one comes from a converter.
            if isinstance(error, TTError) or (error.__traceback__ and error.__traceback__.tb_next):
                raise
            # Other names of arguments are tried only after a refusal, so that calls with today's names pay nothing.
            renamed = {_ALSO.get(k, k) if k not in names else k: v for k, v in (kwargs or {}).items()}
            if renamed != kwargs and names.issuperset(renamed) and len(renamed) == len(kwargs or ()):
                return binder(args, renamed)
            problem = str(error).removeprefix("bind() ").replace("'self'", "'input'")
            raise ArgumentError(name, problem, signatures=(shown(),)) from None

    return binder


# --- plans of calls that need no binder ---

_PLAIN_KINDS: Final = {
    "int": codes.INT,
    "bool": codes.BOOL,
    "float": codes.FLOAT,
    "Scalar": codes.NUMBER,
    "dtype": codes.DTYPE_OBJECT,
    "str": codes.STRING,
}


def make_plan(operator: Operator, form: str) -> SignaturePlan:
    """Return the plan of a form: "out", or "functional" for that and the in-place form."""
    plan = SignaturePlan()
    arguments = operator.arguments
    outs = operator.out_count if form == "out" else 0
    steps = {position: (how, shift) for position, how, shift in operator.steps}
    shifts = [_shift(*steps[i]) if i in steps else -1 for i in range(len(arguments))]
    defaults = [NO_DEFAULT if d is MISSING else d for d in operator.defaults]
    # Defaults that promote with the tensors have to be looked at in every call.
    plan.looks_at_all = any(
        shift == 0 and default is not None and default is not NO_DEFAULT
        for shift, default in zip(shifts, defaults, strict=True)
    )
    shifts += [shift - WORD for shift in operator.out_shifts[:outs]]
    # Only positions count here: what promotes has none, and its shift of zero would fall below the second word.
    plan.steps = tuple((at, how, max(shift - WORD, 0)) for at, how, shift in operator.steps)
    plan.steps += tuple(
        (len(arguments) + i, codes.OTHER_TENSOR, shifts[len(arguments) + i]) for i in range(outs)
    )
    plan.wide = max([*shifts, operator.target_shift - WORD]) > LAST_SHIFT
    # In a wide signature `scan` makes the second word, so that no position counts here.
    plan.shifts = tuple(-1 if plan.wide and shift else shift for shift in shifts)
    plan.lengths = (*(_length(a.type) for a in arguments), *[0] * outs)
    plan.defaults = (*defaults, *[NO_DEFAULT] * outs)
    # One tuple for each number of provided arguments: a call concatenates, and builds no tuple of defaults.
    plan.tails = tuple(plan.defaults[count:] for count in range(len(plan.defaults) + 1))
    plan.required = outs + sum(a.default is MISSING for a in arguments)
    # `fast_path_out` passes the tensors of `out=` by position, behind all arguments, those that are keyword-only too.
    plan.positional = len(arguments) if outs else sum(not a.keyword_only for a in arguments)
    plan.positional += outs
    plan.variadic = -1
    if takes_variadic_sizes(operator.definition.signature):
        plan.variadic = next(i for i, a in enumerate(arguments) if a.type.list)
    plan.names = {a.name: i for i, a in enumerate(arguments)}
    ranged = {index for index, _ in range_places(operator.definition)}
    flags = [codes.IN_RANGE if index in ranged else 0 for index in range(len(arguments))]
    # Bytes, because compiled code reads an item of them as a C integer.
    plan.kinds = bytes(
        [*(_kind(a) | flag for a, flag in zip(arguments, flags, strict=True)), *[codes.TENSOR] * outs]
    )
    plan.leading = _leading(operator)
    plan.ranged = bool(ranged)
    plan.tail = operator.defaults[plan.leading :]
    return plan


def _leading(operator: Operator) -> int:
    """Return with how many tensors a call may do: 1 or 2, if all arguments behind have defaults; else 0."""
    tensors = [a.type.is_tensor and not a.type.list and not a.type.optional for a in operator.arguments]
    count = 2 if tensors[:2] == [True, True] else int(tensors[:1] == [True])
    while count and any(default is MISSING for default in operator.defaults[count:]):
        count -= 1
    return count


def _shift(how: int, shift: int) -> int:
    if how in (codes.GROUP_TENSOR, codes.GROUP_LIST, codes.SCALAR_IN_GROUP):
        return 0
    return shift - WORD if shift else -1


def _length(type_: Type) -> int:
    if type_.is_tensor:
        return -1 if type_.element_optional else 0
    return type_.size or 0


def _kind(argument: Argument) -> int:
    type_ = argument.type
    kind = _kind_of(type_)
    return kind | codes.NONE_TAKEN if type_.optional else kind


def _kind_of(type_: Type) -> int:
    if type_.choices or type_.items:
        return codes.UNUSUAL
    if type_.is_tensor and type_.list:
        return codes.UNUSUAL if type_.or_scalar or type_.size is not None else codes.TENSORS
    if type_.is_tensor:
        return codes.OPERAND if type_.or_scalar else codes.TENSOR
    if type_.list:
        return codes.SIZES if type_.base == "int" and not type_.element_optional else codes.UNUSUAL
    kind: Any = _PLAIN_KINDS.get(type_.base, codes.UNUSUAL)
    return int(kind)

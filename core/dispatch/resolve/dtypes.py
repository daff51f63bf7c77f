"""Level 2: from the dtypes of a call to the compute dtype and the dtypes of the results."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tt.core.errors import DtypeError
from tt.core.schema.classes import dtype_names
from tt.core.tensor.common_dtype import has_complex32
from tt.core.types.dtype import (
    CODED,
    STORED,
    bfloat16,
    bool_,
    complex32,
    complex64,
    float16,
    float32,
    int64,
    to_dtype,
    uint8,
)
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.promotion import (
    DIM_BITS,
    GROUP_BITS,
    SCALAR_BITS,
    SCALAR_MASK,
    ZERO_DIM_BITS,
    describe_bits,
    position_at,
    promote_bits,
)
from tt.core.types.state import STATE

if TYPE_CHECKING:
    from tt.core.dispatch.call.operator import Operator
    from tt.core.tensor.backend import Backend

__all__ = [
    "CallDtypes",
    "describe_level_2",
    "dtypes_on",
    "refuses_stored",
    "resolve_dtypes",
    "upcast_of",
]

_BOOLS = DIM_BITS[bool_.code] | ZERO_DIM_BITS[bool_.code] | SCALAR_BITS[bool]
_GROUP_MASK = (1 << GROUP_BITS) - 1
_WITH_DIMENSIONS = sum(DIM_BITS)


class CallDtypes(NamedTuple):
    """The level-2 bits of a call, decoded.

    Attributes
    ----------
    compute : dtype or None
        The dtype in which the kernel computes; None when no argument has a dtype.
    results : tuple
        The dtype of each result, None for results that are not tensors.
    homogeneous : bool
        Whether every tensor of the promotion group has the compute dtype already.
    target : dtype or None
        The dtype of the target of an in-place call, or of the first tensor of `out=`.
    zero_dim : bool
        Whether no tensor of the group has dimensions.
    """

    compute: Dtype | None
    results: tuple[Dtype | None, ...]
    homogeneous: bool
    target: Dtype | None
    zero_dim: bool


def decode(bits: int, shift: int) -> Dtype | None:
    """Return the dtype at one position outside of the group, or None."""
    code = position_at(bits, shift)
    return CODED[code - 1] if code else None


def resolve_dtypes(operator: Operator, form: str, bits: int) -> CallDtypes:
    """Return the dtypes of a call; a pure function of the bits, the schema and the default dtype."""
    definition, default = operator.definition, STATE.default_dtype
    group = bits & _GROUP_MASK
    asked = decode(bits, operator.dtype_shift) if operator.dtype_at >= 0 else None
    others = [d for _, shift in operator.others if (d := decode(bits, shift)) is not None]
    target = decode(bits, operator.target_shift) if form in ("inplace", "out") else None
    rules = definition.result if isinstance(definition.result, tuple) else (
        (definition.result,) * len(definition.signature.returns)
    )  # fmt: skip
    compute: Dtype | None
    if group:
        if "same_dtype" in definition.tags:
            _require_one_dtype(operator, group)
        if "no_bool" in definition.tags and group & _BOOLS:
            raise DtypeError(
                f"{definition.signature.name}(): the `-` operator with a bool tensor or a bool is not supported\n"
                "  try: `~` or logical_not() to invert a mask, `^` or logical_xor() for the difference of two"
            )
        compute = promote_bits(group, default)
        # A `dtype=` that is given decides over `int_to_int64` and the like.
        if asked is not None:
            compute = asked
        elif ("int_to_int64" in rules and compute.kind in ("bool", "signed", "unsigned")) or (
            "bool_to_int64" in rules and compute is bool_
        ):
            compute = int64
        if "int_to_float" in rules and asked is None and compute.kind in ("bool", "signed", "unsigned"):
            compute = default
    elif asked is not None:
        compute = asked
    # Without promotion the first tensor decides, as in PyTorch.
    elif others:
        compute = others[0]
    elif operator.is_factory:
        compute = default
    else:
        compute = None
    results = tuple([_result(rule, compute, asked, others, default) for rule in rules])
    # One dtype, with dimensions or without: then no operand has to be cast.
    homogeneous = not group or compute is None or not (
        group & ~SCALAR_MASK & ~(DIM_BITS[compute.code] | ZERO_DIM_BITS[compute.code])
    )  # fmt: skip
    zero_dim = not group & _WITH_DIMENSIONS
    return CallDtypes(compute, results, homogeneous, target, zero_dim)


def dtypes_on(backend: Backend, operator: Operator, form: str, bits: int) -> CallDtypes:
    """Return the dtypes of a call on a device: complex64 where one that lacks complex32 promotes float16 to it."""
    resolved = resolve_dtypes(operator, form, bits)
    asked = operator.dtype_at >= 0 and decode(bits, operator.dtype_shift) is complex32
    if complex32 not in (resolved.compute, *resolved.results) or asked or has_complex32(backend):
        return resolved
    results = tuple(complex64 if d is complex32 else d for d in resolved.results)
    compute = complex64 if resolved.compute is complex32 else resolved.compute
    return resolved._replace(compute=compute, results=results)


def _require_one_dtype(operator: Operator, group: int) -> None:
    present = [d for d in CODED if group & (DIM_BITS[d.code] | ZERO_DIM_BITS[d.code])]
    if any(d.kind == "quantized" for d in present):
        return  # the kernels of quantized tensors decide
    if len(present) > 1:
        names = ", ".join(operator.definition.promote)
        raise DtypeError(
            f"{operator.definition.signature.name}(): {names} must share one dtype, and they are "
            + " and ".join(d.name for d in present)
        )


def _result(
    rule: str, compute: Dtype | None, asked: Dtype | None, others: list[Dtype], default: Dtype
) -> Dtype | None:
    if rule in ("default", "int_to_float", "int_to_int64", "bool_to_int64"):
        return compute
    if rule == "same":
        return asked or compute or (others[0] if others else default)
    if rule == "dtype":
        return asked or compute or default
    if rule == "bool":
        return bool_
    # uint8 masks stay uint8, as in PyTorch.
    if rule == "truth":
        return compute if compute is uint8 else bool_
    if rule == "int64":
        return asked or int64
    if rule == "real":
        return (compute or default).to_real()
    if rule == "complex":
        return (compute or default).to_complex()
    if rule == "wide":
        return upcast_of(compute) or compute or default
    if rule == "none":
        return None
    return to_dtype(rule)


def upcast_of(compute: Dtype | None) -> Dtype | None:
    """Return the dtype in which a kernel without its own form computes half precision: float32 or complex64."""
    if compute is complex32:
        return complex64
    return float32 if compute in (float16, bfloat16) else None


def refuses_stored(operator: Operator, compute: Dtype | None) -> bool:
    """Return whether an operator computes, and the dtype is one that tensors only store."""
    declared = operator.definition.dtypes
    return compute is not None and compute in STORED and compute.name not in dtype_names(declared)


def describe_level_2(operator: Operator, form: str, bits: int) -> str:
    """Return the level-2 bits of a call in words."""
    words = [describe_bits(bits & _GROUP_MASK)] if bits & _GROUP_MASK else []
    for position, shift in operator.others:
        dtype = decode(bits, shift)
        if dtype is not None:
            words.append(f"{operator.arguments[position].name}={dtype.name}")
    if operator.dtype_at >= 0 and (asked := decode(bits, operator.dtype_shift)) is not None:
        words.append(f"dtype={asked.name}")
    if form == "inplace" and (target := decode(bits, operator.target_shift)) is not None:
        words.append(f"into {target.name}")
    return " ".join(words)

"""Names in files: PyTorch's names of tt's objects, and back.

Files name classes and functions.  If PyTorch has a counterpart, tt writes PyTorch's name, so that each library reads
the other's files.
"""

from __future__ import annotations

from typing import Any

import tt
from tt._compat.homes import home_in_torch, homes_in_tt
from tt.library import ALL_DTYPES, QUANTIZED, from_numpy_dtype
from tt.serialization.storages import StorageType

__all__ = [
    "DTYPE_NAMES",
    "QSCHEME_NAMES",
    "STORAGE_NAMES",
    "STORAGE_TYPES",
    "TENSOR_TYPES",
    "UNKNOWN_DTYPES",
    "operator_to_torch",
    "to_torch",
    "to_tt",
]

STORAGE_NAMES = {
    "float32": "FloatStorage", "float64": "DoubleStorage", "float16": "HalfStorage", "bfloat16": "BFloat16Storage",
    "uint8": "ByteStorage", "int8": "CharStorage", "int16": "ShortStorage", "int32": "IntStorage",
    "int64": "LongStorage", "bool": "BoolStorage", "complex64": "ComplexFloatStorage",
    "complex128": "ComplexDoubleStorage", "qint8": "QInt8Storage", "quint8": "QUInt8Storage",
    "qint32": "QInt32Storage",
}  # fmt: skip
"""PyTorch's storage of each dtype; dtypes without one lie in an untyped storage."""

# Storages hold the integers of quantized tensors.
_IN_STORAGES = {d.name: d for d in ALL_DTYPES} | {d.name: from_numpy_dtype(d.numpy) for d in QUANTIZED}

STORAGE_TYPES: dict[str, StorageType] = {
    f"{module}.{kind}": StorageType(_IN_STORAGES[name])
    for name, kind in STORAGE_NAMES.items()
    for module in ("torch", "torch.cuda")
} | {
    f"{module}.{kind}": StorageType(None)
    for kind in ("UntypedStorage", "_UntypedStorage")
    for module in ("torch.storage", "torch")
}

DTYPE_NAMES: dict[str, tt.dtype] = {f"torch.{d.name}": d for d in (*ALL_DTYPES, *QUANTIZED)}

QSCHEME_NAMES = frozenset(
    f"torch.{name}"
    for name in ("per_tensor_affine", "per_tensor_symmetric", "per_channel_affine", "per_channel_symmetric",
                 "per_channel_affine_float_qparams")
)  # fmt: skip
"""PyTorch's names of the schemes of quantized tensors."""

TENSOR_TYPES = frozenset(
    [f"{module}.{kind.removesuffix('Storage')}Tensor" for kind in STORAGE_NAMES.values()
     for module in ("torch", "torch.cuda", "torch.sparse", "torch.cuda.sparse")]
    + ["torch.Tensor", "torch._tensor.Tensor", "torch.nested._internal.nested_tensor.NestedTensor"]
)  # fmt: skip
"""The class of tensors, and its names from when every dtype had a class of its own."""

UNKNOWN_DTYPES = frozenset([
    "float4_e2m1fn_x2", "quint4x2", "quint2x4",
    "bits8", "bits16", "bits1x8", "bits2x4", "bits4x2",
    "uint1", "uint2", "uint3", "uint4", "uint5", "uint6", "uint7",
    "int1", "int2", "int3", "int4", "int5", "int6", "int7",
    "QUInt4x2Storage", "QUInt2x4Storage",
])  # fmt: skip
"""PyTorch's dtypes, and storages of these, that tt does not have."""

_MIRRORED = ("nn", "optim", "utils", "amp", "distributions")
_FROM_CORE = frozenset(
    ["tt.core.methods.parameter", "tt.core.tensor.tensor", "tt.core.types.size", "tt.core.types.device"]
)
"""Modules of classes that files name, besides those of folders that PyTorch has, too."""


def to_torch(module: str, name: str) -> tuple[str, str] | None:
    """Return PyTorch's name of a class or function of tt, or None where PyTorch has none like it."""
    rest = module.partition(".")[2]
    if rest.partition(".")[0] not in _MIRRORED and module not in _FROM_CORE:
        return None
    return home_in_torch(module, name)


_NAMESPACES = ("fft", "linalg", "special")
"""Namespaces whose operators have it in their names: `tt.linalg.inv` is the operator `linalg_inv`."""

_IN_NN = {
    name: name
    for name in (
        "avg_pool2d", "avg_pool3d", "gelu", "linear", "one_hot", "scaled_dot_product_attention", "softplus",
        "softshrink",
    )
} | {"logsigmoid": "log_sigmoid"}  # fmt: skip
"""Functions of `torch.nn.functional` that say they are of `torch._C._nn`, with their names there."""


def operator_to_torch(op: object) -> tuple[str, str] | None:
    """Return PyTorch's name of an operator in a namespace of tt, or None where it is none of these."""
    module, name = str(getattr(op, "__module__", None)), getattr(op, "__name__", "")
    first, _, rest = module.partition(".")
    if first not in ("tt", "torch"):  # the second where `import torch` gives tt
        return None
    if not rest:
        return ("torch.nn.functional" if getattr(tt.nn.functional, name, None) is op else "torch"), name
    if rest in _NAMESPACES:
        name = name.removeprefix(f"{rest}_")
    elif rest != "nn.functional":
        return None
    if _found(module, name) is not op:
        return None
    return ("torch._C._nn", _IN_NN[name]) if name in _IN_NN else (f"torch.{rest}", name)


def to_tt(module: str, name: str) -> Any:
    """Return tt's class or function of PyTorch's name; None if there is none."""
    first, _, rest = module.partition(".")
    if first != "torch":
        return None
    if module == "torch._C" and name == "_VariableFunctionsClass":
        return tt  # of which pickles take operators
    if module == "torch._C._nn":
        rest, name = "nn.functional", next((own for own, theirs in _IN_NN.items() if theirs == name), name)
    for namespace in _NAMESPACES:
        if module == f"torch._C._{namespace}":
            rest, name = namespace, name.removeprefix(f"{namespace}_")
    # Then where the names of public modules are, whatever PyTorch's file is.
    others = ((place, name) for place in ("tt.nn", "tt.optim") if _within(rest, place))
    for home, own in (*homes_in_tt(f"torch.{rest}" if rest else "torch", name), *others):
        member = _found(home, own)
        if member is not None:
            return member
    return None


def _within(rest: str, place: str) -> bool:
    return f"tt.{rest}.".startswith(f"{place}.")


def _found(module: str, name: str) -> Any:
    """Return the object at a place of tt, if that is public or in the module of a class."""
    member: Any = tt
    for part in [*module.split(".")[1:], *name.split(".")]:
        # Names from files must not reach `__dict__`, `__class__` and the like.
        if part.startswith("__"):
            return None
        try:
            member = getattr(member, part)
        except AttributeError:
            return None
    return member

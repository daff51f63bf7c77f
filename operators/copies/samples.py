"""Samples of copies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.types.dtype import bool_, float32, float64, int64, to_dtype
from tt.operators._samples.base import LAYOUTS, SHAPES, FamilyTable, Inputs, Sample, has_dtype
from tt.operators.creation.samples import FORMATS
from tt.operators.pointwise.samples import unary

family = FamilyTable()

SHORTCUTS = {
    name: to_dtype(name)
    for name in (
        "float",
        "double",
        "half",
        "bfloat16",
        "int",
        "long",
        "short",
        "bool",
        "chalf",
        "cfloat",
        "cdouble",
    )
}
SHORTCUTS |= {"char": to_dtype("int8"), "byte": to_dtype("uint8")}


@family("fill")
def fill(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape), make.number), name=f"shape {shape}")
    yield Sample((make.tensor(2, 3), make.tensor()), name="zero-dimensional tensor")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, layout=layout), make.number), name=layout)


@family("copy")
def copy(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape), make.tensor(*shape)), name=f"shape {shape}")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3), make.tensor(2, 3, layout=layout)), name=f"from {layout}")
    for layout in LAYOUTS[:-1]:
        yield Sample((make.tensor(2, 3, layout=layout), make.tensor(2, 3)), name=f"to {layout}")
    yield Sample((make.tensor(2, 3), make.tensor(3)), name="broadcast")
    for other in (float32, int64, bool_):
        yield Sample((make.tensor(2, 3), make.tensor(2, 3, low=0, dtype=other)), name=f"from {other.name}")
    yield Sample((make.tensor(3), make.tensor(2, 3)), name="error: larger source", error=RuntimeError)


@family("to_copy")
def to_copy(make: Inputs) -> Iterator[Sample]:
    yield from unary(make, low=0)
    for target in _targets(make):
        yield Sample((make.tensor(2, 3, low=0),), {"dtype": target}, f"to {target.name}")


def _targets(make: Inputs) -> Iterator[Any]:
    for target in (bool_, int64, float32, float64):
        if not make.dtype.is_complex:  # PyTorch warns when it drops the imaginary part
            yield target


@family("item")
def item(make: Inputs) -> Iterator[Sample]:
    for shape in ((), (1,), (1, 1)):
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
    yield Sample((make.tensor(2),), name="error: several elements", error=RuntimeError)
    yield Sample((make.tensor(0),), name="error: no element", error=RuntimeError)


@family("to_shortcut")
def to_shortcut(make: Inputs) -> Iterator[Sample]:
    if not has_dtype(make.device, SHORTCUTS[make.definition.name]):
        return  # the arrays of the device have no such dtype
    for shape in SHAPES:
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
    for name, shape in FORMATS:
        yield Sample((make.tensor(*shape),), {"memory_format": name}, name)
    yield Sample((make.tensor(2, 3, layout="transposed"),), name="transposed")
    yield Sample((make.tensor(2, 3),), {"memory_format": "channels_last"}, "error: rank", RuntimeError)


@family("to_dtype")
def to_other_dtype(make: Inputs) -> Iterator[Sample]:
    for dtype in (int64, float64, make.dtype):
        yield Sample((make.tensor(2, 3), dtype), name=dtype.name)
    yield Sample((make.tensor(2, 3), make.dtype), {"copy": True}, "a copy")
    yield Sample((make.tensor(2, 3, 4, 5), float64), {"memory_format": "channels_last"}, "channels_last")


@family("to_device")
def to_device(make: Inputs) -> Iterator[Sample]:
    yield Sample((make.tensor(2, 3),), name="nothing")
    yield Sample((make.tensor(2, 3),), {"device": make.device}, "its device")
    yield Sample((make.tensor(2, 3),), {"device": make.device, "dtype": float64}, "its device, float64")
    yield Sample((make.tensor(2, 3),), {"dtype": float64, "copy": True}, "a copy")


@family("to_other")
def to_other(make: Inputs) -> Iterator[Sample]:
    for dtype in (int64, float64, make.dtype):
        yield Sample((make.tensor(2, 3), make.tensor(1, dtype=dtype)), name=dtype.name)

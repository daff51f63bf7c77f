"""Variations: further calls made from observed ones, at random, to refute and to verify proposals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tt.core.schema.model import MISSING
from tt.core.tensor_base import TensorBase
from tt.core.testing.opcheck.call import Call, map_tensors, tensors_in
from tt.core.testing.opcheck.memory import is_strided, plain

__all__ = ["variations"]

Random = np.random.Generator
LARGEST = 7
"""The largest size of a dim that is made up."""


def variations(calls: Sequence[Call], count: int, seed: int = 0) -> Iterator[Call]:
    """Yield calls made from others: other sizes, dims, numbers, flags, dtypes, values; some the operator will refuse.

    Parameters
    ----------
    calls : sequence of Call
        From what they are made.
    count : int
        How many.
    seed : int
        Of the random choices.
    """
    random = np.random.default_rng(seed)
    for number in range(count):
        call = calls[number % len(calls)]
        for _ in range(int(random.integers(1, 4))):
            change = CHANGES[int(random.integers(len(CHANGES)))]
            call = change(call, random) or call
        yield call


def _resized(call: Call, random: Random) -> Call | None:
    """Give every size another one, equal sizes equal ones."""
    known = sorted({n for t in tensors_in(call.args) for n in t.shape})
    if not known:
        return None
    low = 0 if random.random() < 0.15 else 1
    new = {n: int(random.integers(low, LARGEST + 1)) if n != 1 or random.random() < 0.3 else 1 for n in known}
    return call.map(lambda t: _with_shape(t, [new[n] for n in t.shape], random))


def _one_dim(call: Call, random: Random) -> Call | None:
    """Give one dim of one tensor another size: what must not be equal need not be."""
    tensors = [t for t in tensors_in(call.args) if t.ndim]
    if not tensors:
        return None
    chosen = tensors[int(random.integers(len(tensors)))]
    shape = list(chosen.shape)
    shape[int(random.integers(len(shape)))] = int(random.integers(1, LARGEST + 1))
    return call.map(lambda t: _with_shape(t, shape, random) if t is chosen else t)


def _with_shape(tensor: Any, shape: Sequence[int], random: Random) -> Any:
    """Return a tensor of another shape with values drawn from those of the given one."""
    from tt.core.construct import from_array

    if not is_strided(tensor):
        return tensor
    values = plain(tensor).to("cpu").numpy().reshape(-1)
    if not values.size:
        values = np.ones(1, values.dtype)
    return from_array(values[random.integers(values.size, size=tuple(shape))], tensor.device)


def _more_dims(call: Call, random: Random) -> Call | None:
    """Put a dim before those of every tensor, or take the first away."""
    from tt.core.dispatch.registry import ops

    tensors = list(tensors_in(call.args))
    if not tensors:
        return None
    size = int(random.integers(1, 4))
    if random.random() < 0.4:
        chosen = tensors[int(random.integers(len(tensors)))]
        return call.map(lambda t: ops.stack([plain(t)] * size) if t is chosen and t.ndim < 5 else t)
    if random.random() < 0.5 and min(t.ndim for t in tensors) > 1:
        return call.map(lambda t: ops.select(t, 0, 0).clone() if t.shape[0] else t)
    if max(t.ndim for t in tensors) > 4:
        return None
    return call.map(lambda t: ops.stack([plain(t)] * size))


def _numbers(call: Call, random: Random) -> Call | None:
    """Change one number, or one element of a list of numbers."""
    places = [
        i
        for i, (a, v) in enumerate(call.named())
        if a.type.base in ("int", "Scalar", "float") and _numeric(v)
    ]
    if not places:
        return None
    place = places[int(random.integers(len(places)))]
    value = call.args[place]
    if isinstance(value, list | tuple):
        items = list(value)
        if items:
            at = int(random.integers(len(items)))
            items[at] = _other_number(items[at], random)
        return _with(call, place, type(value)(items))
    return _with(call, place, _other_number(value, random))


def _numeric(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(map(_numeric, value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _other_number(value: Any, random: Random) -> Any:
    if isinstance(value, float):
        return value * float(random.choice([0.5, 2.0, 1.5]))
    return int(random.choice([value + 1, value - 1, value + 2, -value, 0, 1, 2, -1, -2]))


def _flags(call: Call, random: Random) -> Call | None:
    """Turn one flag round, or leave an optional argument out."""
    choices: list[tuple[int, Any]] = []
    for place, (argument, value) in enumerate(call.named()):
        if isinstance(value, bool):
            choices.append((place, not value))
        elif (
            argument.default is not MISSING and value is not argument.default and not argument.type.is_tensor
        ):
            choices.append((place, argument.default))
        elif argument.type.optional and value is not None:
            choices.append((place, None))
    if not choices:
        return None
    place, value = choices[int(random.integers(len(choices)))]
    return _with(call, place, value)


def _lists(call: Call, random: Random) -> Call | None:
    """Give a list of tensors another length."""
    places = [
        i for i, v in enumerate(call.args) if isinstance(v, list) and v and isinstance(v[0], TensorBase)
    ]
    if not places:
        return None
    place = places[int(random.integers(len(places)))]
    value = call.args[place]
    return _with(call, place, value[:-1] if len(value) > 1 and random.random() < 0.5 else [*value, value[0]])


def _dtypes(call: Call, random: Random) -> Call | None:
    """Convert all tensors of one dtype, or a single tensor, to another dtype."""
    from tt.core.dtype import to_dtype

    tensors = list(tensors_in(call.args))
    if not tensors:
        return None
    new = to_dtype(
        str(random.choice(["float32", "float64", "int64", "int32", "float16", "complex64", "bool"]))
    )
    chosen = tensors[int(random.integers(len(tensors)))]
    if random.random() < 0.5:
        return call.map(lambda t: plain(t).to(new) if t is chosen else t)
    return call.map(lambda t: plain(t).to(new) if t.dtype is chosen.dtype else t)


def _values(call: Call, random: Random) -> Call | None:
    """Keep all shapes, and change values: a result that looks different then depends on data."""
    how = random.random()

    def change(tensor: Any) -> Any:
        if how < 0.3:
            return plain(tensor) * 0
        return _with_shape(tensor, tensor.shape, random)

    return Call(call.caller, map_tensors(call.args, change), call.on)


def _with(call: Call, place: int, value: Any) -> Call:
    return replace(call, args=(*call.args[:place], value, *call.args[place + 1 :]))


CHANGES: tuple[Callable[[Call, Random], Call | None], ...] = (
    _resized, _resized, _one_dim, _more_dims, _numbers, _numbers, _flags, _lists, _dtypes, _values,
)  # fmt: skip

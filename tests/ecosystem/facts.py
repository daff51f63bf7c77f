"""Small facts about the results of a part, which are committed in the place of the results, and their comparison.

The facts about a tensor are its shape, its dtype, its norm, and some of its values: enough to tell equal results from
others, and few enough to be read in a diff.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

__all__ = ["Difference", "differences", "facts_of"]

SAMPLED: Final = 8
"""Values that are kept of a tensor."""
HALF: Final = {"float16": (1e-2, 1e-3), "bfloat16": (3e-2, 1e-2)}
TOLERANCES: Final = {**HALF, "float64": (1e-6, 1e-8), "complex128": (1e-6, 1e-8)}
"""dtype -> rtol and atol; all others have those of float32.  Half precision is rounded at other places in a sum."""
FLOAT32: Final = (1e-4, 1e-5)


class Difference(NamedTuple):
    """A place at which results differ."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path or 'result'}: {self.text}"


def facts_of(value: Any) -> Any:
    """Return the facts about a result: what JSON holds, with a mapping for each tensor or array.

    Raises
    ------
    TypeError
        The result holds something that is neither a number, a text, a tensor, an array nor a collection of them.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        return {str(key): facts_of(item) for key, item in value.items()}
    if hasattr(value, "detach"):
        return _of_tensor(value)
    if isinstance(value, np.ndarray | np.generic):
        return _of_array(np.asarray(value), str(value.dtype))
    if isinstance(value, list | tuple):
        return [facts_of(item) for item in value]
    raise TypeError(f"a part returned {type(value).__name__}, of which no facts are known")


def _of_tensor(value: Any) -> dict[str, Any]:
    detached = value.detach()
    if "sparse" in str(detached.layout):
        detached = detached.to_dense()
    dtype = str(detached.dtype).rpartition(".")[2]
    if dtype in HALF or dtype.startswith("float8"):
        detached = detached.float()
    return _of_array(np.asarray(detached.resolve_conj().resolve_neg().cpu().numpy()), dtype)


def _of_array(array: np.ndarray[Any, Any], dtype: str) -> dict[str, Any]:
    flat = array.reshape(-1)
    # The first and the last are among them, and what lies between in steps that no power of two divides.
    positions = np.unique(np.linspace(0, max(flat.size - 1, 0), min(SAMPLED, flat.size)).astype(np.int64))
    facts: dict[str, Any] = {"shape": list(array.shape), "dtype": dtype}
    if array.dtype.kind in "US":
        return facts | {"values": [str(text) for text in flat[positions]]}
    wide = flat.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    finite = np.isfinite(wide)
    facts["norm"] = float(f"{np.sqrt(np.sum(np.abs(wide[finite]) ** 2)):.9g}")
    if not finite.all():
        facts["not finite"] = int((~finite).sum())
    if array.dtype.kind == "c":
        facts["values"] = [[_number(float(v.real)), _number(float(v.imag))] for v in wide[positions]]
    elif array.dtype.kind in "fV":
        facts["values"] = [_number(float(v)) for v in wide[positions]]
    else:
        facts["values"] = [int(v) for v in flat[positions]]
    return facts


def _number(value: float) -> float:
    return float(f"{value:.9g}")


def _is_tensor(facts: Any) -> bool:
    return isinstance(facts, dict) and {"shape", "dtype", "values"} <= facts.keys()


def differences(
    expected: Any, result: Any, *, rtol: float | None = None, atol: float | None = None, path: str = ""
) -> Iterator[Difference]:
    """Yield where the facts of two results differ by more than the tolerance of their dtype, or the one given."""
    if _is_tensor(expected) and _is_tensor(result):
        yield from _of_tensors(expected, result, rtol, atol, path)
    elif isinstance(expected, dict) and isinstance(result, dict):
        if expected.keys() != result.keys():
            yield Difference(path, f"has {sorted(result)}, PyTorch's {sorted(expected)}")
            return
        for key in expected:
            yield from differences(expected[key], result[key], rtol=rtol, atol=atol, path=f"{path}[{key!r}]")
    elif isinstance(expected, list) and isinstance(result, list):
        if len(expected) != len(result):
            yield Difference(path, f"has {len(result)} items, PyTorch's {len(expected)}")
            return
        for index, (one, other) in enumerate(zip(expected, result, strict=True)):
            yield from differences(one, other, rtol=rtol, atol=atol, path=f"{path}[{index}]")
    elif isinstance(expected, float) and isinstance(result, float):
        if not _close(expected, result, *(_tolerance("float32", rtol, atol))):
            yield Difference(path, f"{result}, PyTorch's {expected}")
    elif type(expected) is not type(result) or expected != result:
        yield Difference(path, f"{result!r}, PyTorch's {expected!r}")


def _of_tensors(
    expected: dict[str, Any], result: dict[str, Any], rtol: float | None, atol: float | None, path: str
) -> Iterator[Difference]:
    for name in ("shape", "dtype"):
        if expected[name] != result[name]:
            yield Difference(path, f"{name} {result[name]}, PyTorch's {expected[name]}")
            return
    if expected.get("not finite", 0) != result.get("not finite", 0):
        yield Difference(
            path,
            f"{result.get('not finite', 0)} values are not finite, PyTorch's {expected.get('not finite', 0)}",
        )
        return
    dtype = expected["dtype"]
    if "float" not in dtype and "complex" not in dtype:
        for name in ("values", "norm"):
            if expected.get(name) != result.get(name):
                yield Difference(path, f"{name} {result.get(name)}, PyTorch's {expected.get(name)}")
                return
        return
    relative, absolute = _tolerance(dtype, rtol, atol)
    ours, theirs = (np.ravel(np.asarray(facts["values"], dtype=np.float64)) for facts in (result, expected))
    if not all(_close(one, other, relative, absolute) for one, other in zip(theirs, ours, strict=True)):
        yield Difference(path, f"values {result['values']}, PyTorch's {expected['values']}")
    count = math.prod(expected["shape"])
    if not _close(expected["norm"], result["norm"], relative, absolute * math.sqrt(count)):
        yield Difference(path, f"norm {result['norm']}, PyTorch's {expected['norm']}")


def _tolerance(dtype: str, rtol: float | None, atol: float | None) -> tuple[float, float]:
    relative, absolute = TOLERANCES.get(dtype, FLOAT32)
    return (relative if rtol is None else rtol), (absolute if atol is None else atol)


def _close(expected: float, result: float, rtol: float, atol: float) -> bool:
    if math.isnan(expected) or math.isinf(expected):
        return math.isnan(result) if math.isnan(expected) else expected == result
    return abs(expected - result) <= atol + rtol * abs(expected)

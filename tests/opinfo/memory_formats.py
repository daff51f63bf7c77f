"""The check of memory formats: results of channels-last tensors have the strides that PyTorch's have."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import tt
from tests.opinfo.samples import OPERATORS, SEED, Mismatch, copied, describe, samples
from tests.opinfo.shadow import Shadow

torch = pytest.importorskip("torch")

MOST = 20
"""Number of compared samples of an operator."""

BY_COLUMNS = "LAPACK's results are by columns in PyTorch, by rows in tt"
KEPT = "PyTorch loses the format where another library computes; tt keeps it in every dtype"
SIZE_ONE = "strides of dimensions of size 1, which fit both formats, decide in another way"
EXCEPTIONS = {
    "linalg.lstsq": BY_COLUMNS,
    "linalg.lstsq.grad_oriented": BY_COLUMNS,
    "linalg.lu_factor": BY_COLUMNS,
    "linalg.lu_factor_ex": BY_COLUMNS,
    "linalg.solve": BY_COLUMNS,
    "linalg.solve_ex": BY_COLUMNS,
    "linalg.tensorinv": BY_COLUMNS,
    "lu": BY_COLUMNS,
    "triangular_solve": BY_COLUMNS,
    "quantile": "PyTorch's is a view with the quantiles moved to the front",
    "nanquantile": "PyTorch's is a view with the quantiles moved to the front",
    "nn.functional.conv3d": KEPT,
    "nn.functional.conv_transpose3d": KEPT,
    "nn.functional.instance_norm": KEPT,
    "nn.functional.interpolate.area": KEPT,
    "nn.functional.pad.circular": KEPT,
    "nn.functional.max_unpool2d": SIZE_ONE,
    "nn.functional.max_unpool2d.grad": SIZE_ONE,
}
"""Operators whose results have other strides, and why."""

FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


def formats(key: str) -> Iterator[Mismatch]:
    """Samples whose tensors are laid out with the channels last, all of them or the first one."""
    if key in EXCEPTIONS:
        return
    info, count = OPERATORS[key], 0
    dtype = torch.float32 if torch.float32 in info.supported_dtypes("cpu") else torch.int64
    if dtype not in info.supported_dtypes("cpu"):
        return
    for sample in samples(info, dtype):
        args, kwargs = (sample.input, *sample.args), sample.kwargs
        # Without a batch, images have three dimensions, and no memory format.
        if "conv" in key and args[0].dim() == 3:
            continue
        seen: list[str] = []
        for which, lay_out in (("all", _all_last), ("first", _first_last)):
            laid_out = lay_out(args), lay_out(kwargs) if which == "all" else kwargs
            shown = describe(*laid_out)
            if laid_out[0] is args or shown in seen:
                continue
            seen.append(shown)
            if not any(_is_last(t) for t in _tensors(laid_out, torch.Tensor)):
                continue
            count += 1
            if count > MOST:
                return
            yield from _compared(info, *laid_out, str(dtype)[6:], which)


def _compared(info: Any, args: Any, kwargs: Any, dtype: str, which: str) -> Iterator[Mismatch]:
    shadow = Shadow(info.name)
    torch.manual_seed(SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with shadow:
                theirs = info.op(*copied(args), **{k: copied(v) for k, v in kwargs.items()})
        except Exception:
            return
    if shadow.failure is not None:
        return
    ours = shadow.ours(theirs) if isinstance(theirs, torch.Tensor | list | tuple) else shadow.result
    expected, found = _tensors(theirs, torch.Tensor), _tensors(ours, tt.Tensor)
    text = _unlike(found, expected)
    if text:
        yield Mismatch(f"formats, {which}", dtype, text, describe(args, kwargs))
    if len(shadow.calls) == 1:
        text = _unlike(_on_meta(shadow), _tensors([shadow.result], tt.Tensor))
        if text:
            yield Mismatch(
                f"formats on meta, {which}",
                dtype,
                text.replace("PyTorch's", "with data"),
                describe(args, kwargs),
            )


def _on_meta(shadow: Shadow) -> list[Any]:
    function, args, kwargs = shadow.calls[0]

    def on_meta(value: Any) -> Any:
        if isinstance(value, tt.Tensor):
            return tt.empty_strided(tuple(value.shape), value.stride(), dtype=value.dtype, device="meta")
        if isinstance(value, list | tuple):
            return type(value)(map(on_meta, value))
        return value

    if kwargs.get("out") is not None:
        return []
    try:
        return _tensors([function(*on_meta(args), **{k: on_meta(v) for k, v in kwargs.items()})], tt.Tensor)
    except tt.errors.TTError:
        return []


def _unlike(found: list[Any], expected: list[Any]) -> str:
    for one, other in zip(found, expected, strict=False):
        if tuple(one.shape) == tuple(other.shape) and one.numel() and _strides(one) != _strides(other):
            return f"{tuple(one.shape)} strides {tuple(one.stride())}; PyTorch's {tuple(other.stride())}"
    return ""


def _strides(tensor: Any) -> list[int]:
    """Return the strides that decide where elements are."""
    return [stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size != 1]


def _is_last(tensor: Any) -> bool:
    return (
        tensor.dim() in FORMATS
        and not tensor.is_contiguous()
        and tensor.is_contiguous(memory_format=FORMATS[tensor.dim()])
    )


def _all_last(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        kept = value.dim() not in FORMATS or value.layout is not torch.strided
        return value if kept else value.detach().contiguous(memory_format=FORMATS[value.dim()])
    if isinstance(value, dict):
        return {k: _all_last(v) for k, v in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(map(_all_last, value))
    return value


def _first_last(args: Any) -> Any:
    first = args[0]
    if isinstance(first, list | tuple) and first and isinstance(first[0], torch.Tensor):
        return (type(first)((_all_last(first[0]), *first[1:])), *args[1:])
    return (_all_last(first), *args[1:])


def _tensors(value: Any, kind: type) -> list[Any]:
    if isinstance(value, kind):
        return [value]
    if isinstance(value, dict):
        return _tensors(list(value.values()), kind)
    if isinstance(value, list | tuple):
        return [found for item in value for found in _tensors(item, kind)]
    return []

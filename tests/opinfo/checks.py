"""The checks of an operator against PyTorch's database of operators."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tt
from tests.opinfo.differences import purposeful
from tests.opinfo.gradients import gradients
from tests.opinfo.memory_formats import formats
from tests.opinfo.one_call import compare_call, kind_of
from tests.opinfo.samples import DTYPES, OPERATORS, Mismatch, copied, describe, samples, seeded
from tests.opinfo.shadow import Shadow

torch = pytest.importorskip("torch")


def values(key: str) -> Iterator[Mismatch]:
    """Every sample in every dtype; the shape and dtype that meta tensors give; results of views have their strides."""
    info = OPERATORS[key]
    for dtype in DTYPES:
        if dtype not in info.supported_dtypes("cpu"):
            continue
        for sample in samples(info, dtype):
            args, kwargs = (sample.input, *sample.args), sample.kwargs
            shadow, problem = compare_call(info.name, info.op, args, kwargs, "values")
            call = describe(args, kwargs)
            if problem and not purposeful(key, "values", dtype, args, kwargs):
                yield Mismatch("values", str(dtype)[6:], problem, call)
            elif len(shadow.calls) == 1 and shadow.failure is None:
                problem = meta_difference(shadow)
                if problem and not purposeful(key, "meta", dtype, args, kwargs):
                    yield Mismatch("meta", str(dtype)[6:], problem, call)


def meta_difference(shadow: Shadow) -> str | None:
    """Return how the call on meta tensors differs from the one just made."""
    function, args, kwargs = shadow.calls[0]
    if kwargs.get("out") is not None or not _tensors(args):
        return None

    def on_meta(value: Any) -> Any:
        if isinstance(value, tt.Tensor):
            return value.detach().to("meta")
        if isinstance(value, list | tuple):
            return type(value)(on_meta(item) for item in value)
        return value

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = function(*on_meta(args), **{k: on_meta(v) for k, v in kwargs.items()})
    except tt.errors.DataDependentError:
        return None
    except Exception as error:
        return f"on meta: {kind_of(error)}: {str(error)[:160]}"
    for one, other in zip(_tensors([found]), _tensors([shadow.result]), strict=False):
        if one.device.type != "meta" or other.device.type == "meta":
            continue
        if tuple(one.shape) != tuple(other.shape) or one.dtype is not other.dtype:
            return f"on meta: {one.dtype.name}{tuple(one.shape)}, with data {other.dtype.name}{tuple(other.shape)}"
    return None


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, tt.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [found for item in value for found in _tensors(item)]
    return []


def forms(key: str) -> Iterator[Mismatch]:
    """The method, the in-place form (its errors, too) and the operator."""
    info = OPERATORS[key]
    variants = {
        "method": info.method_variant,
        "in-place": info.inplace_variant,
        "operator": info.operator_variant,
        "in-place operator": info.inplace_operator_variant,
    }
    for dtype in DTYPES:
        if dtype not in info.supported_dtypes("cpu"):
            continue
        for sample in samples(info, dtype):
            args, kwargs = (sample.input, *sample.args), sample.kwargs
            if not isinstance(sample.input, torch.Tensor):
                continue
            for form, function in variants.items():
                if function is None or (form.startswith("in-place") and sample.broadcasts_input):
                    continue
                _, problem = compare_call(info.name, function, args, kwargs, form)
                if problem and not purposeful(key, form, dtype, args, kwargs):
                    yield Mismatch(form, str(dtype)[6:], problem, describe(args, kwargs))


def outs(key: str) -> Iterator[Mismatch]:
    """`out=` of the right shape, another layout, another shape and another dtype."""
    info = OPERATORS[key]
    if not info.supports_out:
        return
    for dtype in (torch.float32, torch.int64):
        if dtype not in info.supported_dtypes("cpu"):
            continue
        for sample in samples(info, dtype)[:8]:
            args, kwargs = (sample.input, *sample.args), sample.kwargs
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    expected = info.op(*copied(args), **kwargs)
            except Exception:
                continue
            if not _all_tensors(expected):
                continue
            for what, make in _targets().items():
                if info.name in ("tril", "triu") and what not in ("right", "empty"):
                    continue  # PyTorch 2.13 writes beyond the end of the memory there, by itself
                target = _mapped(expected, make)
                _, problem = compare_call(info.name, info.op, args, {**kwargs, "out": target}, "out")
                if problem and not purposeful(key, f"out, {what}", dtype, args, kwargs):
                    yield Mismatch(f"out, {what}", str(dtype)[6:], problem, describe(args, kwargs))


def _targets() -> dict[str, Callable[[Any], Any]]:
    def transposed(result: Any) -> Any:
        return torch.empty(tuple(reversed(result.shape)), dtype=result.dtype).permute(
            tuple(reversed(range(result.dim())))
        )

    return {
        "right": lambda result: torch.full_like(result, 1, memory_format=torch.contiguous_format),
        "transposed": transposed,
        "empty": lambda result: torch.empty(0, dtype=result.dtype),
        "wrong shape": lambda result: torch.ones((*result.shape, 2), dtype=result.dtype),
        "integers": lambda result: torch.ones(result.shape, dtype=torch.int64),
        "floats": lambda result: torch.ones(result.shape, dtype=torch.float64),
    }


def _all_tensors(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return True
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(v, torch.Tensor) for v in value)


def _mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(value, torch.Tensor):
        return function(value)
    return tuple(function(item) for item in value)


def errors(key: str) -> Iterator[Mismatch]:
    """What PyTorch refuses is refused with an exception of the same kind."""
    info = OPERATORS[key]
    if info.error_inputs_func is None:
        return
    seeded()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = list(info.error_inputs("cpu"))
    for case in cases:
        sample = case.sample_input
        args, kwargs = (sample.input, *sample.args), sample.kwargs
        shadow = Shadow(info.name)
        raised: BaseException | None = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                with shadow:
                    info.op(*args, **kwargs)
            except LookupError as error:
                if "tt has no" in str(error):
                    continue
                raised = error
            except Exception as error:
                raised = error
        if raised is None or not shadow.refused:
            continue
        problem = None
        if shadow.failure is None:
            problem = f"accepted; PyTorch raises {kind_of(raised)}: {str(raised)[:140]}"
        elif not isinstance(shadow.failure, case.error_type):
            problem = (
                f"raises {kind_of(shadow.failure)} ({str(shadow.failure)[:140]}); PyTorch raises {kind_of(raised)}: "
                f"{str(raised)[:100]}"
            )
        dtype = next((a.dtype for a in args if isinstance(a, torch.Tensor)), torch.float32)
        if problem and not purposeful(key, "errors", dtype, args, kwargs):
            yield Mismatch("errors", str(dtype)[6:], problem, describe(args, kwargs))


CHECKS: dict[str, Callable[[str], Iterator[Mismatch]]] = {
    "values": values,
    "forms": forms,
    "out": outs,
    "gradients": gradients,
    "errors": errors,
    "formats": formats,
}

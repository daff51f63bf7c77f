"""Gradients of an operator, of the first and second order, against PyTorch's."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tt
from tests.opinfo.compare import array_of
from tests.opinfo.differences import purposeful
from tests.opinfo.one_call import drops, flat, kind_of
from tests.opinfo.samples import NO_VALUES, OPERATORS, SEED, Mismatch, copied, describe, samples
from tests.opinfo.shadow import Shadow, same_dtype, to_tt

torch = pytest.importorskip("torch")


def gradients(key: str) -> Iterator[Mismatch]:
    """First and second derivatives in double precision, real and complex."""
    info = OPERATORS[key]
    if not info.supports_autograd:
        return
    for dtype in (torch.float64, torch.complex128):
        if dtype not in info.supported_backward_dtypes("cpu"):
            continue
        for sample in samples(info, dtype, requires_grad=True):
            args, kwargs = (sample.input, *sample.args), sample.kwargs
            problem = gradient_difference(info, sample)
            if problem and not purposeful(key, "gradient", dtype, args, kwargs):
                yield Mismatch("gradient", str(dtype)[6:], problem, describe(args, kwargs))


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value] if value.requires_grad and value.is_leaf else []
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in _leaves(item)]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    return []


def gradient_difference(info: Any, sample: Any) -> str | None:
    """Return how the gradients of one call differ, of the first or the second order."""
    args, kwargs = copied((sample.input, *sample.args)), {k: copied(v) for k, v in sample.kwargs.items()}
    leaves = _leaves([*args, kwargs])
    shadow = Shadow(info.name)
    if info.name in NO_VALUES or drops(info.name, args, kwargs):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(SEED)
        try:
            with shadow:
                result = info.gradcheck_wrapper(info.op, *args, **kwargs)
                if sample.output_process_fn_grad is not None:
                    result = sample.output_process_fn_grad(result)
        except Exception:
            return None  # a call that PyTorch refuses
        if shadow.failure is not None:
            return f"raises {kind_of(shadow.failure)}: {str(shadow.failure)[:160]}"
        outputs = [out for out in flat(result) if isinstance(out, torch.Tensor) and out.requires_grad]
        if not outputs or not leaves:
            return None
        twins = [shadow.ours(out) for out in outputs]
        if not all(twin.requires_grad for twin in twins):
            return "the result does not require a gradient; PyTorch's does"
        weights = [torch.randn_like(out) for out in outputs]
        try:
            first = torch.autograd.grad(
                outputs, leaves, weights, allow_unused=True, create_graph=info.supports_gradgrad
            )
        except Exception:
            return None
        our_leaves = [shadow.ours(leaf) for leaf in leaves]
        try:
            ours = tt.autograd.grad(
                twins,
                our_leaves,
                [to_tt(w) for w in weights],
                allow_unused=True,
                create_graph=info.supports_gradgrad,
            )
        except Exception as error:
            return f"backward raises {kind_of(error)}: {str(error)[:160]}"
        problem = _gradients_differ(ours, first, leaves)
        if problem or not info.supports_gradgrad:
            return problem
        pairs = [(a, b) for a, b in zip(ours, first, strict=True) if b is not None and b.requires_grad]
        if not pairs:
            return None
        weights = [torch.randn_like(b) for _, b in pairs]
        try:
            second = torch.autograd.grad([b for _, b in pairs], leaves, weights, allow_unused=True)
        except Exception:
            return None
        usable = [
            (a, w) for (a, _), w in zip(pairs, weights, strict=True) if a is not None and a.requires_grad
        ]
        if not usable:
            nonzero = any(g is not None and g.abs().max() > 1e-7 for g in second if g is None or g.numel())
            return "the gradient has no gradient; PyTorch's has" if nonzero else None
        try:
            our_second = tt.autograd.grad(
                [a for a, _ in usable], our_leaves, [to_tt(w) for _, w in usable], allow_unused=True
            )
        except Exception as error:
            return f"second backward raises {kind_of(error)}: {str(error)[:160]}"
        problem = _gradients_differ(our_second, second, leaves)
        return f"second order: {problem}" if problem else None


def _gradients_differ(ours: Any, theirs: Any, leaves: Any) -> str | None:
    for index, (one, other, leaf) in enumerate(zip(ours, theirs, leaves, strict=True)):
        if one is None and other is None:
            continue
        a = array_of(one) if one is not None else np.zeros(tuple(leaf.shape))
        b = array_of(other) if other is not None else np.zeros(tuple(leaf.shape))
        if a.shape != b.shape:
            return f"gradient {index} has shape {a.shape}, PyTorch's {b.shape}"
        if one is not None and one.dtype is not same_dtype(leaf.dtype):
            return f"gradient {index} has dtype {one.dtype.name}, its tensor {str(leaf.dtype)[6:]}"
        scale = max(1.0, float(np.nanmax(np.abs(b[np.isfinite(b)]), initial=0)))
        if not np.allclose(a, b, rtol=1e-6, atol=1e-7 * scale, equal_nan=True):
            wrong = ~np.isclose(a, b, rtol=1e-6, atol=1e-7 * scale, equal_nan=True)
            return f"gradient {index} is {a[wrong].ravel()[:4]}, PyTorch's is {b[wrong].ravel()[:4]}"
    return None

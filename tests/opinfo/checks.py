"""The checks of an operator against PyTorch's database of operators."""

from __future__ import annotations

import dataclasses
import os
import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tt
from tests.opinfo.compare import array_of, difference
from tests.opinfo.differences import purposeful
from tests.opinfo.invariants import INVARIANTS
from tests.opinfo.shadow import Shadow, same_dtype, to_tt

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's database of operators needs it")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal import common_methods_invocations as database

NAMES = [
    line.strip()
    for line in (Path(__file__).with_name("operators.txt")).read_text().splitlines()
    if line.strip() and not line.startswith("#")
]
OPERATORS = {
    info.name + ("." + info.variant_test_name if info.variant_test_name else ""): info
    for info in database.op_db
    if info.name in NAMES
    or info.name
    in (
        "__getitem__",
        "__rsub__",
        "__rpow__",
        "__rdiv__",
        "__rmod__",
        "__rmatmul__",
        "__radd__",
        "__rmul__",
        "__rand__",
        "__ror__",
        "__rxor__",
    )
}
DTYPES = (torch.float32, torch.float64, torch.int64, torch.bool, torch.complex64, torch.bfloat16)
# Each run draws other samples; a failure says with which seed it comes again.  As with Hypothesis (tests/conftest.py),
# a CI service judges every change by the same samples.
SEED = int(
    os.environ.get("TT_TEST_SEED")
    or (0 if os.environ.get("CI") else random.SystemRandom().randrange(1 << 31))
)

# What draws random numbers, or has no values: shapes and dtypes alone are compared.
NO_VALUES = frozenset(
    [
        "bernoulli",
        "exponential",
        "multinomial",
        "normal",
        "uniform",
        "randint",
        "randint_like",
        "randn",
        "randn_like",
        "rand_like",
        "nn.functional.dropout",
    ]
)


@dataclasses.dataclass
class Mismatch:
    """A call that does not do what PyTorch's does."""

    check: str
    dtype: str
    problem: str
    call: str

    def __str__(self) -> str:
        return f"{self.check} {self.dtype}: {self.problem}\n      {self.call}"


# --- samples ---------------------------------------------------------------------------------------------------


def seeded() -> None:
    """Start PyTorch's random numbers, from which it draws samples, at this run's seed."""
    torch.manual_seed(SEED)
    random.seed(SEED)
    np.random.seed(SEED & 0xFFFFFFFF)


def samples(info: Any, dtype: Any, requires_grad: bool = False) -> list[Any]:
    """Return PyTorch's samples."""
    seeded()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(info.sample_inputs("cpu", dtype, requires_grad=requires_grad))


def describe(args: Any, kwargs: Any) -> str:
    """Return a call in short: shapes in place of tensors."""

    def short(value: Any) -> str:
        if isinstance(value, torch.Tensor | tt.Tensor):
            layout = "" if value.is_contiguous() else f" strides {tuple(value.stride())}"
            content = f" = {value.tolist()}" if value.numel() <= 4 and value.device.type != "meta" else ""
            return f"{str(value.dtype).removeprefix('torch.').removeprefix('tt.')}{tuple(value.shape)}{layout}{content}"
        if isinstance(value, list | tuple):
            return "[" + ", ".join(map(short, value)) + "]"
        return repr(value)

    return ", ".join([*map(short, args), *(f"{k}={short(v)}" for k, v in kwargs.items())])[:300]


def copied(value: Any) -> Any:
    """Return an argument whose tensors have memory of their own, strides kept."""
    if isinstance(value, torch.Tensor):
        if value.requires_grad:
            return value.detach().clone().requires_grad_(True)
        return value.clone() if value._is_view() is False or value.is_contiguous() else value.detach().clone()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return value
    if isinstance(value, list | tuple):
        return type(value)(copied(item) for item in value)
    return value


def widened(value: Any) -> Any:
    """Return an argument in double precision."""
    if isinstance(value, torch.Tensor):
        wide = {
            torch.float32: torch.float64,
            torch.bfloat16: torch.float64,
            torch.float16: torch.float64,
            torch.complex64: torch.complex128,
        }.get(value.dtype)
        return value.detach().to(wide) if wide else value
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(widened(item) for item in value)
    if isinstance(value, dict):
        return {k: widened(v) for k, v in value.items()}
    return value


def as_torch(value: Any) -> Any:
    """Return a result of tt as PyTorch's tensors."""
    if isinstance(value, tt.Tensor):
        array = array_of(value)
        tensor = torch.from_numpy(np.ascontiguousarray(array)).reshape(array.shape)
        return tensor.to(torch.bfloat16) if value.dtype is tt.bfloat16 else tensor
    if isinstance(value, list | tuple):
        return tuple(as_torch(item) for item in value)
    return value


# --- one call --------------------------------------------------------------------------------------------------


def kind_of(error: BaseException) -> str:
    """Return what is compared of an exception."""
    return type(error).__name__


def compare_call(
    name: str, op: Callable[..., Any], args: Any, kwargs: Any, what: str
) -> tuple[Shadow, str | None]:
    """Call PyTorch's function and tt's on the same arguments; return what is different."""
    shadow = Shadow(name)
    call_args, call_kwargs = copied(args), {k: copied(v) for k, v in kwargs.items()}
    torch.manual_seed(SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with shadow:
                theirs = op(*call_args, **call_kwargs)
        except LookupError as error:
            return shadow, None if "tt has no" in str(error) else f"{kind_of(error)}: {error}"
        except Exception as error:
            if what == "values" or not shadow.refused:
                return shadow, None  # a sample that PyTorch itself refuses on the CPU
            if shadow.failure is None:
                return shadow, f"accepted; PyTorch raises {kind_of(error)}: {str(error)[:120]}"
            if not isinstance(shadow.failure, type(error)):
                return shadow, (
                    f"raises {kind_of(shadow.failure)} ({str(shadow.failure)[:100]}); PyTorch raises {kind_of(error)}: "
                    f"{str(error)[:100]}"
                )
            return shadow, None
    if shadow.failure is not None:
        return shadow, f"raises {kind_of(shadow.failure)}: {str(shadow.failure)[:200]}"
    ours = shadow.ours(theirs) if not _plain(theirs) else shadow.result
    values = not (name in NO_VALUES or _drops(name, args, kwargs))
    # What a target that was resized lies like is each library's own affair.
    tensors = _torch_tensors([*call_args, *(v for k, v in call_kwargs.items() if k != "out")])
    invariant = INVARIANTS.get(name)
    if invariant is not None and values:
        shape = difference(ours, theirs, inputs=tensors, values=False)
        if shape:
            return shadow, shape
        ours_invariant = _flat(invariant(as_torch(ours), args, kwargs))
        theirs_invariant = _flat(invariant(theirs, args, kwargs))
        return shadow, _close(ours_invariant, theirs_invariant)
    found = difference(ours, theirs, inputs=tensors, values=values)
    if found and values and "dtype" not in found and "shape" not in found:
        torch.manual_seed(SEED)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                precise = op(*widened(args), **widened(kwargs))
            except Exception:
                precise = None
        found = difference(ours, theirs, precise, tensors)
    return shadow, found


def _torch_tensors(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [found for item in value for found in _torch_tensors(item)]
    return []


def _plain(theirs: Any) -> bool:
    return not isinstance(theirs, torch.Tensor | list | tuple)


def _drops(name: str, args: Any, kwargs: Any) -> bool:
    return name.endswith("scaled_dot_product_attention") and bool(kwargs.get("dropout_p"))


def _flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _close(ours: list[Any], theirs: list[Any]) -> str | None:
    for one, other in zip(ours, theirs, strict=True):
        if isinstance(one, torch.Tensor) and not torch.allclose(
            one.to(other.dtype) if other.dtype.is_floating_point or other.dtype.is_complex else one,
            other,
            rtol=1e-3 if other.dtype in (torch.float32, torch.complex64, torch.bfloat16) else 1e-6,
            atol=1e-4 if other.dtype in (torch.float32, torch.complex64, torch.bfloat16) else 1e-7,
            equal_nan=True,
        ):
            return f"invariant is {one.flatten()[:4]}, PyTorch's is {other.flatten()[:4]}"
    return None


# --- the checks ------------------------------------------------------------------------------------------------


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
    if info.name in NO_VALUES or _drops(info.name, args, kwargs):
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
        outputs = [out for out in _flat(result) if isinstance(out, torch.Tensor) and out.requires_grad]
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
}

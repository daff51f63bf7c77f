"""PyTorch's database of operators: which are compared, and their samples, as tensors of both libraries."""

from __future__ import annotations

import dataclasses
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tt
from tests.opinfo.compare import array_of
from tests.seeds import drawn_seed

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
        "_segment_reduce",
    )
}
DTYPES = (torch.float32, torch.float64, torch.int64, torch.bool, torch.complex64, torch.bfloat16)
SEED = drawn_seed()  # a failure says with which seed it comes again

# What draws random numbers, or has no values: shapes and dtypes alone are compared.
NO_VALUES = frozenset(
    [
        "bernoulli",
        "cauchy",
        "geometric",
        "log_normal",
        "empty",
        "empty_like",
        "empty_permuted",
        "empty_strided",
        "new_empty",
        "new_empty_strided",
        "exponential",
        "multinomial",
        "normal",
        "uniform",
        "randint",
        "randint_like",
        "randn",
        "randn_like",
        "rand_like",
        "nn.functional.alpha_dropout",
        "nn.functional.dropout",
        "nn.functional.dropout2d",
        "nn.functional.dropout3d",
        "nn.functional.feature_alpha_dropout",
        "nn.functional.fractional_max_pool2d",
        "nn.functional.fractional_max_pool3d",
        "nn.functional.gumbel_softmax",
        "nn.functional.rrelu",
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


def nudged(value: Any) -> Any:
    """Return an argument in double precision, each number of it off by one rounding of its own dtype."""
    if isinstance(value, torch.Tensor):
        wide = widened(value)
        if wide is value:
            return value
        signs = torch.randint(0, 2, wide.shape, generator=torch.Generator().manual_seed(SEED)) * 2 - 1
        return wide * (1 + torch.finfo(value.dtype).eps * signs)
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(nudged(item) for item in value)
    if isinstance(value, dict):
        return {k: nudged(v) for k, v in value.items()}
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

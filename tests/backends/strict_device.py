"""The device `strict` in this process: programs of the CPU's tests on arrays that cannot change or be viewed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import tt
from tests.backends.array_api.devices import device
from tests.backends.comparison import run_same, to_tt, torch
from tt.library import REGISTRY

MISSING = ("float16", "bfloat16", "uint16")
"""Dtypes that array-api-strict lacks, or PyTorch's kernels do."""


@contextmanager
def strict_device() -> Iterator[tt.device]:
    """Bring the device as a plugin would, unless it is there."""
    if ("strict", "strided") in REGISTRY.backends:
        yield tt.device("strict")
        return
    with device(pytest.importorskip("array_api_strict"), "strict"):
        yield tt.device("strict")


def has_missing(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(has_missing, value))
    return isinstance(value, torch.Tensor) and str(value.dtype).removeprefix("torch.") in MISSING


def run_same_on(place: tt.device) -> Callable[..., None]:
    """Return `run_same` on the device; without half precision, and without strides.

    `counts` says how many programs it compared, and left out because the library lacks the dtype.
    """

    counts = {"compared": 0, "left_out": 0}

    def put(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(put(item) for item in value)
        return to_tt(value).to(place) if isinstance(value, torch.Tensor) else value

    def run(
        call: Callable[..., Any], *arguments: Any, strides: bool = False, tolerance: float | None = None
    ) -> None:
        if has_missing(arguments):
            counts["left_out"] += 1
            return
        counts["compared"] += 1

        def call_on_device(library: Any, *values: Any) -> Any:
            if library is torch:
                return call(library, *values)
            try:
                with place:
                    return call(library, *values)
            except tt.library.errors.DtypeError as error:
                if "have no dtype" in str(error):
                    pytest.skip("array-api-strict lacks the dtype")
                raise

        run_same(call_on_device, *arguments, tolerance=2e-5 if tolerance is None else tolerance, convert=put)

    run.strided, run.counts = False, counts  # type: ignore[attr-defined]
    return run

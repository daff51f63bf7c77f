"""The device `strict` in this process: the programs of the CPU's tests, on arrays that cannot change or be viewed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tt
from tests.backends.cpu.conftest import run_same, to_tt, torch
from tt.backends.array_api import ArrayApiBackend
from tt.core.library import REGISTRY

MISSING = ("float16", "bfloat16", "uint16")
"""Dtypes that array-api-strict lacks, or PyTorch's kernels do."""


@pytest.fixture(scope="session")
def device() -> Iterator[tt.device]:
    """Bring the device as a plugin would."""
    strict = pytest.importorskip("array_api_strict")
    pytest.importorskip("torch")
    tt.zeros(1)  # the plugins are loaded
    backend = ArrayApiBackend(strict, "strict")
    handles = [REGISTRY.add_backend(backend), REGISTRY.add(backend.kernels())]
    yield tt.device("strict")
    for handle in reversed(handles):
        handle.remove()


def has_missing(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(has_missing, value))
    return isinstance(value, torch.Tensor) and str(value.dtype).removeprefix("torch.") in MISSING


@pytest.fixture
def same(device: tt.device) -> Callable[..., None]:
    """Return `run_same` on the device; without half precision, and without strides."""

    def put(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(put(item) for item in value)
        return to_tt(value).to(device) if isinstance(value, torch.Tensor) else value

    def run(
        call: Callable[..., Any], *arguments: Any, strides: bool = False, tolerance: float | None = None
    ) -> None:
        if has_missing(arguments):
            return

        def call_on_device(library: Any, *values: Any) -> Any:
            if library is torch:
                return call(library, *values)
            try:
                with device:
                    return call(library, *values)
            except tt.library.errors.DtypeError as error:
                if "have no dtype" in str(error):
                    pytest.skip("array-api-strict lacks the dtype")
                raise

        run_same(call_on_device, *arguments, tolerance=2e-5 if tolerance is None else tolerance, convert=put)

    run.strided = False  # type: ignore[attr-defined]
    return run

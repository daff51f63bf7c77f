"""The backends and the kernels that the programs of these tests run with: `same` is a parameter."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest

import tt
from tests.backends.comparison import run_same
from tests.backends.strict_device import run_same_on


@pytest.fixture(
    scope="session",
    params=["kernels", "composites", pytest.param("array_api", marks=pytest.mark.sampled(3))],
)
def same(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Return `run_same`: with all kernels, with those that a new backend has to bring, and on another backend.

    The second time the operators outside the core set run as composites, the third time on arrays of the standard
    (`backends/array_api`), where one in three programs is enough: all of them run on the CPU.
    """
    pytest.importorskip("torch")
    if request.param == "kernels":
        return run_same
    if request.param == "array_api":
        return run_same_on(request.getfixturevalue("strict"))

    def run_composites(*arguments: Any, **options: Any) -> None:
        with tt.mask_kernels("@non-core"):
            run_same(*arguments, **options)

    return run_composites


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Skip a test that compared nothing, because the library lacks the dtypes of all its programs."""
    counts = getattr(pyfuncitem.funcargs.get("same"), "counts", {"compared": 0, "left_out": 0})
    compared, left_out = counts["compared"], counts["left_out"]
    result = yield
    if counts["compared"] == compared and counts["left_out"] > left_out:
        pytest.skip("array-api-strict, or PyTorch's kernel, lacks the dtype")
    return result

"""Beliefs about a backend whose library is missing."""

from __future__ import annotations

import pytest

import tt
from tt.core.dispatch.registry.registry import REGISTRY
from tt.errors import DeviceError, DtypeError
from tt.testing.coverage.served import Place, _holds, coverage


class Lacking:
    """A backend that raises when it is asked for a dtype."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def native_dtype(self, dtype: tt.dtype) -> object:
        raise self.error


@pytest.mark.parametrize(
    "error", [ImportError("no cupy"), OSError("libcuda"), DeviceError("no driver")], ids=repr
)
def test_a_backend_without_its_library_may_hold_any_dtype(error):
    assert _holds(Lacking(error), tt.float32)


@pytest.mark.parametrize("error", [DtypeError("no float16"), KeyError("float16")], ids=repr)
def test_a_dtype_that_a_backend_refuses_is_not_held(error):
    assert not _holds(Lacking(error), tt.float16)


@pytest.mark.parametrize(
    "error", [MemoryError(), AttributeError("a mistake"), TypeError("a mistake")], ids=repr
)
def test_a_mistake_of_a_backend_is_shown(error):
    with pytest.raises(type(error)):
        _holds(Lacking(error), tt.float32)


def test_kernels_of_complex64_serve_complex32_on_devices_that_have_it():
    definition = REGISTRY.operator("all.dim").definition
    assert coverage(definition, Place("cpu", "strided"), tt.complex32).how == "kernel"
    assert coverage(definition, Place("cuda", "strided"), tt.complex32).how == "missing"

"""What calls a compiled function where the headers of Python are missing."""

from __future__ import annotations

import pytest

import tt
from tt.core.extension import caller
from tt.utils.cpp_extension import load_inline

pytestmark = pytest.mark.sampled(6)

SOURCE = "float f(float x) { return x + 1; }"


def test_without_the_headers_of_python_ctypes_serves(compiler, tmp_path, monkeypatch):
    monkeypatch.setattr(caller.sysconfig, "get_path", lambda name: str(tmp_path))
    caller.load_native.cache_clear()
    try:
        native, why = caller.load_native()
        assert native is None and "Python.h is missing" in why
        module = load_inline("headless", SOURCE)
        kernel = tt.library.REGISTRY.kernels["headless::f"][0].kernel.function
        assert isinstance(kernel, caller.CtypesCaller)
        assert module.f(tt.ones(2, 2).T).tolist() == [[2.0, 2.0], [2.0, 2.0]]
    finally:
        caller.load_native.cache_clear()


def test_a_caller_that_does_not_compile_gives_way_to_ctypes(compiler, tmp_path, monkeypatch):
    (tmp_path / "Python.h").write_text("#error broken\n")
    monkeypatch.setattr(caller.sysconfig, "get_path", lambda name: str(tmp_path))
    caller.load_native.cache_clear()
    try:
        native, why = caller.load_native()
        assert native is None and "broken" in why
    finally:
        caller.load_native.cache_clear()

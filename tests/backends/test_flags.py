"""Modules whose attributes are switches, and the libraries that are not there."""

from __future__ import annotations

import pytest

import tt
import tt.backends.cudnn as cudnn
from tt.backends.cpu import mkl
from tt.errors import ArgumentError


def test_a_switch_of_the_module_is_that_of_the_library():
    assert cudnn is tt.backends.cudnn
    with cudnn.flags(benchmark=False):
        cudnn.benchmark = True
        assert cudnn.benchmark is True and tt.backends.cuda.cudnn.benchmark is True
    assert "benchmark" in dir(cudnn)
    with pytest.raises(AttributeError, match="no attribute 'benchmrk'"):
        cudnn.benchmrk  # noqa: B018
    with pytest.raises(ArgumentError):
        cudnn.enabled = 3


def test_libraries_that_tt_does_not_call_are_not_available():
    for name in ("cusparselt", "kleidiai", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum"):
        assert getattr(tt.backends, name).is_available() is False, name
    assert tt.backends.mps.is_built() is False


def test_mkl_is_available_where_it_is_installed(monkeypatch):
    for path in (None, "/somewhere/libmkl_rt.so.3"):
        monkeypatch.setattr(mkl, "find", lambda path=path: path)
        assert tt.backends.mkl.is_available() is (path is not None)


def test_cudnn_serves_where_cuda_does(monkeypatch):
    monkeypatch.setattr(tt.cuda, "is_available", lambda: False)
    assert cudnn.version() is None and not cudnn.is_available() and not cudnn.is_acceptable(tt.zeros(1))


def test_fused_attention_can_be_forbidden_and_nothing_changes():
    mha = tt.backends.mha
    assert mha.get_fastpath_enabled() is True
    mha.set_fastpath_enabled(False)
    try:
        assert mha.get_fastpath_enabled() is False
    finally:
        mha.set_fastpath_enabled(True)
    assert tt.backends.opt_einsum.get_opt_einsum() is None and tt.backends.opt_einsum.enabled is False


def test_none_leaves_a_switch_as_it_is():
    before = cudnn.enabled, cudnn.benchmark
    with cudnn.flags(enabled=None, benchmark=not before[1]):
        assert (cudnn.enabled, cudnn.benchmark) == (before[0], not before[1])
    assert (cudnn.enabled, cudnn.benchmark) == before


def test_switches_of_onednn_change_nothing():
    x = tt.arange(4.0).reshape(2, 2)
    with tt.backends.mkldnn.flags(enabled=False, deterministic=True, allow_tf32=False):
        assert (x @ x).tolist() == [[2.0, 3.0], [6.0, 11.0]]

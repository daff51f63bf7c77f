"""Modules whose attributes are switches, and the libraries that are not there."""

from __future__ import annotations

import pytest

import tt
import tt.backends.cudnn as cudnn
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
    for library in (tt.backends.mps, tt.backends.mkl, tt.backends.mkldnn, tt.backends.openmp):
        assert library.is_available() is False
    assert tt.backends.mps.is_built() is False


def test_cudnn_serves_where_cuda_does(monkeypatch):
    monkeypatch.setattr(tt.cuda, "is_available", lambda: False)
    assert cudnn.version() is None and not cudnn.is_available() and not cudnn.is_acceptable(tt.zeros(1))

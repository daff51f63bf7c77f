"""Several modules at the same time."""

from __future__ import annotations

import contextlib

import pytest

import tt
from tt.nn.parallel import parallel_apply

X = tt.arange(6.0).reshape(3, 2)


def test_modules_are_called_in_threads(monkeypatch):
    layers = [tt.nn.Linear(2, 3), tt.nn.ReLU()]
    monkeypatch.setattr(tt.cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match="no GPU was found"):
        parallel_apply(layers, [X, X])
    with pytest.raises(AssertionError, match="number of modules 2 is not equal to the number of inputs 1"):
        parallel_apply(layers, [X])


def test_with_a_gpu_each_module_has_a_thread(monkeypatch):
    # The CPU stands for the GPU.
    monkeypatch.setattr(tt.cuda, "is_available", lambda: True)
    monkeypatch.setattr(tt.cuda, "device", lambda device: contextlib.nullcontext())
    layers = [tt.nn.Linear(2, 3), tt.nn.ReLU()]
    found = parallel_apply(layers, [X, (X - 3,)])
    assert tt.equal(found[0], layers[0](X)) and found[0].requires_grad
    assert found[1].tolist() == (X - 3).clamp(min=0).tolist()
    with tt.no_grad():
        assert not parallel_apply(layers, [(), ()], [{"input": X}] * 2)[0].requires_grad
    with pytest.raises(RuntimeError) as caught:
        parallel_apply(layers, [X.T, X])
    assert "in parallel_apply(), module 0" in caught.value.__notes__

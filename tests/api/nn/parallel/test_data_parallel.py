"""A module on the devices of a process."""

from __future__ import annotations

import pytest

import tt
from tt.errors import UnsupportedError


def test_without_devices_it_is_the_module_by_another_name():
    inner = tt.nn.Linear(2, 1)
    model = tt.nn.DataParallel(inner, device_ids=[])
    x = tt.ones(3, 2)
    assert tt.equal(model(x), inner(x))
    assert list(model.state_dict()) == ["module.weight", "module.bias"]


def test_without_a_gpu_devices_are_ignored(monkeypatch):
    monkeypatch.setattr(tt.cuda, "is_available", lambda: False)
    inner = tt.nn.Linear(2, 1)
    x = tt.ones(3, 2)
    for devices in (None, [0, 1], ["cpu"]):
        model = tt.nn.DataParallel(inner, device_ids=devices, output_device=1)
        assert model.device_ids == [] and tt.equal(model(x), inner(x))


def test_several_devices_are_refused(monkeypatch):
    monkeypatch.setattr(tt.cuda, "is_available", lambda: True)
    with pytest.raises(UnsupportedError, match="several devices"):
        tt.nn.DataParallel(tt.nn.Linear(2, 1), device_ids=[0, 1])


def test_the_function_calls_the_module():
    layer = tt.nn.Bilinear(2, 3, 1)
    x, y = tt.randn(4, 2), tt.randn(4, 3)
    assert tt.equal(tt.nn.parallel.data_parallel(layer, (x, y), device_ids=[]), layer(x, y))
    assert tt.nn.parallel.data_parallel(tt.nn.Flatten(), x, [], module_kwargs={}).shape == (4, 2)

"""Several device types in one call: what PyTorch permits is moved, everything else refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
from tt.core.errors import DeviceMismatchError


def test_a_zero_dimensional_cpu_tensor_may_stand_beside_another_device(probe: Any) -> None:
    probe.kernel("mul", np.multiply)
    x = probe.tensor([1.0, 2.0], tt.float32)
    for result in (tt.mul(x, tt.tensor(3.0)), tt.mul(tt.tensor(3.0), x)):
        assert str(result.device) == "probe"
        assert result._handle.tolist() == [3.0, 6.0]
    assert x.mul_(tt.tensor(2.0)) is x
    assert x._handle.tolist() == [2.0, 4.0]


def test_a_cpu_tensor_with_dimensions_may_not_and_every_argument_is_named(probe: Any) -> None:
    probe.kernel("mul", np.multiply)
    x = probe.tensor([1.0, 2.0], tt.float32)
    with pytest.raises(DeviceMismatchError) as caught:
        tt.mul(x, tt.ones(2))
    assert str(caught.value) == (
        "mul(): the tensors of one call must lie on one device, but these lie on probe and cpu\n"
        "  argument 'self' is on probe\n"
        "  argument 'other' is on cpu\n"
        "  try: other.to('probe')"
    )
    with pytest.raises(DeviceMismatchError):
        tt.ones(2).mul_(x)


def test_elements_of_a_list_are_named(probe: Any) -> None:
    with pytest.raises(DeviceMismatchError, match=r"argument 'tensors\[1\]' is on probe"):
        tt.cat([tt.ones(2), probe.tensor([1.0], tt.float32)])


def test_copies_move_between_devices(probe: Any) -> None:
    probe.kernel(
        "copy", lambda self, src: np.copyto(self, src, casting="unsafe"), form="inplace", half="native"
    )
    x = probe.tensor([0.0, 0.0], tt.float32)
    x.copy_(tt.tensor([1, 2]))
    assert x._handle.tolist() == [1.0, 2.0]
    assert tt.zeros(2).copy_(x).tolist() == [1.0, 2.0]
    assert x.cpu().tolist() == [1.0, 2.0]


def test_explain_tells_both_beforehand(probe: Any) -> None:
    probe.kernel("mul", np.multiply)
    refused = tt.explain("mul", ["probe:float32", "cpu:float32"])
    assert not refused.served
    assert "DeviceMismatchError" in refused.text()
    permitted = tt.explain("mul", ["probe:float32", "cpu:float32()"])
    assert permitted.served
    assert "runs on probe" in permitted.text()


def test_a_meta_tensor_cannot_be_copied_to_memory():
    for kind in (NotImplementedError, RuntimeError, tt.errors.NoDataError):
        with pytest.raises(kind, match="a meta tensor has no data to copy"):
            tt.ones(2, device="meta").to("cpu")
    with pytest.raises(NotImplementedError):
        tt.ones(2, device="meta").nonzero()

"""The array API on an emulated CUDA device: the cases of all families."""

from __future__ import annotations

import array_api_strict as strict
import pytest

import tt
from tests.api.array_api.comparing import compare, evaluate
from tests.api.array_api.test_devices import FAMILIES, tensors
from tt import array_api as xp


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__.rpartition(".")[2])
def test_the_device_gives_the_same(family):
    for call in family.CASES:
        with tt.default_dtype(tt.float64), tt.device("cuda"):
            found = evaluate(xp, call)
        compare(found, evaluate(strict, call))
        assert all(part.device.type == "cuda" for part in tensors(found)), call


def test_the_device_is_listed():
    assert tt.device("cuda", 0) in xp.__array_namespace_info__().devices()
    assert tt.ones(1, device="cuda").to_device("cpu").device == tt.device("cpu")


def test_slices_with_a_negative_step():
    x = tt.arange(6, device="cuda").reshape(2, 3)
    x[:, ::-2] = tt.tensor([8, 9], device="cuda")
    assert x[::-1].tolist() == [[9, 4, 8], [9, 1, 8]]

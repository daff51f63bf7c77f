"""Schemes and quantizers."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tt
from tt.plugins.quantized.quantizer import QSCHEMES, PerChannel, PerTensor, to_qscheme

CHANNELS = PerChannel(np.array([0.5, 0.25, 1.0]), np.array([0, 1, 2]), 1)


@pytest.mark.parametrize("name", QSCHEMES)
def test_there_is_one_object_for_each_scheme(name: str) -> None:
    scheme = getattr(tt, name)
    assert isinstance(scheme, tt.qscheme) and repr(scheme) == f"tt.{name}"
    assert pickle.loads(pickle.dumps(scheme)) is copy.deepcopy(scheme) is to_qscheme(name) is scheme


def test_an_unknown_scheme_is_named() -> None:
    with pytest.raises(tt.errors.UnknownNameError, match="per_tensor_affin"):
        to_qscheme("per_tensor_affin")


def test_a_quantizer_knows_its_scheme() -> None:
    assert PerTensor(0.5, 0).scheme is tt.per_tensor_affine
    assert CHANNELS.scheme is tt.per_channel_affine
    fractional = PerChannel(np.ones(2, np.float32), np.array([0.5, 1], np.float32), 0)
    assert fractional.scheme is tt.per_channel_affine_float_qparams


def test_quantizers_are_the_same_if_integers_stand_for_the_same_numbers() -> None:
    assert PerTensor(0.5, 0).same(PerTensor(0.5, 0)) and not PerTensor(0.5, 0).same(PerTensor(0.5, 1))
    assert CHANNELS.same(PerChannel(CHANNELS.scales.copy(), CHANNELS.zero_points.copy(), 1))
    assert not CHANNELS.same(CHANNELS.moved(0)) and not CHANNELS.same(PerTensor(0.5, 0))
    assert not CHANNELS.same(CHANNELS.part(slice(0, 2)))


def test_parts_and_single_channels() -> None:
    assert CHANNELS.part(slice(1, None)).scales.tolist() == [0.25, 1.0]
    assert CHANNELS.channel(-1) == PerTensor(1.0, 2)

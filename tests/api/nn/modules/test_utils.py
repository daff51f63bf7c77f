"""Helpers by PyTorch's path: sizes as tuples, prefixes of state dicts, and the bases of modules."""

from __future__ import annotations

import importlib

import pytest

import tt
from tt import nn
from tt.nn.modules import utils

BASES = [
    ("batchnorm", "_BatchNorm", nn.BatchNorm2d(2)),
    ("batchnorm", "_NormBase", nn.InstanceNorm1d(2)),
    ("conv", "_ConvNd", nn.Conv2d(1, 1, 1)),
    ("conv", "_ConvTransposeNd", nn.ConvTranspose1d(1, 1, 1)),
    ("dropout", "_DropoutNd", nn.Dropout2d()),
    ("loss", "_Loss", nn.MSELoss()),
    ("loss", "_WeightedLoss", nn.CrossEntropyLoss()),
    ("padding", "_ConstantPadNd", nn.ZeroPad2d(1)),
    ("padding", "_CircularPadNd", nn.CircularPad1d(1)),
    ("padding", "_ReflectionPadNd", nn.ReflectionPad2d(1)),
    ("padding", "_ReplicationPadNd", nn.ReplicationPad3d(1)),
    ("pooling", "_AdaptiveAvgPoolNd", nn.AdaptiveAvgPool2d(1)),
    ("pooling", "_AdaptiveMaxPoolNd", nn.AdaptiveMaxPool1d(1)),
    ("pooling", "_AvgPoolNd", nn.AvgPool1d(2)),
    ("pooling", "_LPPoolNd", nn.LPPool2d(2, 2)),
    ("pooling", "_MaxPoolNd", nn.MaxPool3d(2)),
    ("pooling", "_MaxUnpoolNd", nn.MaxUnpool2d(2)),
]


@pytest.mark.parametrize(("module", "name", "instance"), BASES, ids=[base[1] for base in BASES])
def test_bases_are_at_pytorchs_path(module, name, instance):
    assert isinstance(instance, getattr(importlib.import_module(f"tt.nn.modules.{module}"), name))


def test_a_number_stands_for_as_many_dimensions_as_the_name_says():
    assert (utils._single(3), utils._pair(3), utils._triple(3)) == ((3,), (3, 3), (3, 3, 3))
    assert utils._quadruple(1) == (1, 1, 1, 1) and utils._ntuple(2)([4, 5]) == (4, 5)
    assert utils._reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
    assert utils._reverse_repeat_tuple((1, 2), 3) == (2, 2, 2, 1, 1, 1)
    assert utils._list_with_default([None, 3], (5, 6, 7)) == [6, 3] and utils._list_with_default(2, ()) == 2
    with pytest.raises(ValueError, match="at least 3"):
        utils._list_with_default([1, 2], (3, 4))


def test_the_prefix_of_a_parallel_module_is_removed():
    wrapped = nn.Module()
    wrapped.module = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    state = wrapped.state_dict()
    utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == list(wrapped.module.state_dict())
    assert state._metadata["1"] == wrapped.module.state_dict()._metadata["1"]
    assert str(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).load_state_dict(state)).startswith(
        "<All keys"
    )
    plain = {"weight": 1}
    utils.consume_prefix_in_state_dict_if_present(plain, "module.")
    assert plain == {"weight": 1}


class Standardized(nn.Conv2d):
    """A convolution that changes its weight, as papers write it."""

    def forward(self, input):
        return self._conv_forward(input, self.weight - self.weight.mean(), self.bias)


class Doubled(nn.Conv1d):
    """A convolution that overrides the inner call."""

    def _conv_forward(self, input, weight, bias):
        return 2 * super()._conv_forward(input, weight, bias)


@pytest.mark.parametrize("mode", ["zeros", "circular"])
def test_convolutions_may_get_another_weight(mode):
    layer = Standardized(2, 3, 3, padding=1, padding_mode=mode)
    x = tt.randn(1, 2, 5, 5)
    plain = nn.Conv2d(2, 3, 3, padding=1, padding_mode=mode)
    plain.load_state_dict(layer.state_dict())
    with tt.no_grad():
        plain.weight -= layer.weight.mean()
    tt.testing.assert_close(layer(x), plain(x))


def test_an_overridden_inner_call_is_made():
    layer = Doubled(1, 1, 1, bias=False)
    x = tt.randn(1, 1, 4)
    tt.testing.assert_close(layer(x), 2 * x * layer.weight.item())


def test_the_base_of_convolutions_takes_pytorchs_arguments():
    conv = importlib.import_module("tt.nn.modules.conv")

    class Own(conv._ConvNd):
        def __init__(self, inputs, outputs, size):
            pair = utils._pair
            super().__init__(
                inputs, outputs, pair(size), pair(1), pair(0), pair(1), False, pair(0), 1, True, "zeros"
            )

        def forward(self, input):
            return nn.functional.conv2d(input, self.weight, self.bias, self.stride, self.padding)

    layer = Own(2, 3, 3)
    assert layer.weight.shape == (3, 2, 3, 3) and layer(tt.ones(1, 2, 4, 4)).shape == (1, 3, 2, 2)
    assert repr(layer) == "Own(2, 3, kernel_size=(3, 3), stride=(1, 1))"


def test_zero_padding_is_padding_with_a_constant():
    assert isinstance(nn.ZeroPad1d(1), nn.ConstantPad1d) and isinstance(nn.ZeroPad3d(1), nn.ConstantPad3d)
    assert repr(nn.ZeroPad2d(1)) == "ZeroPad2d((1, 1, 1, 1))"

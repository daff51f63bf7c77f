"""Weights of convolutions in another memory format."""

from __future__ import annotations

import tt
from tt import nn
from tt.nn.utils import convert_conv2d_weight_memory_format, convert_conv3d_weight_memory_format


def test_other_layers_are_left_alone():
    layer = nn.Linear(2, 2)
    before = layer.weight.data_ptr()
    assert convert_conv2d_weight_memory_format(layer, tt.channels_last) is layer
    assert convert_conv3d_weight_memory_format(layer, tt.channels_last_3d) is layer
    assert layer.weight.data_ptr() == before


def test_weights_of_convolutions_are_converted(monkeypatch):
    class Conv2d(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(tt.randn(2, 3, 4, 5))

    monkeypatch.setattr(nn, "Conv2d", Conv2d, raising=False)
    model = nn.Sequential(Conv2d())
    param, values = model[0].weight, model[0].weight.detach().clone()
    convert_conv2d_weight_memory_format(model, tt.channels_last)
    assert model[0].weight is param and tt.equal(param.detach(), values)
    assert param.is_contiguous(memory_format=tt.channels_last)

"""skip_init: modules whose parameters have no values yet."""

from __future__ import annotations

import pytest

from tt import nn
from tt.nn.utils import skip_init


def test_the_module_is_made_without_values():
    layer = skip_init(nn.Linear, 2, 3, bias=False)
    assert type(layer) is nn.Linear and layer.bias is None
    assert layer.weight.shape == (3, 2) and layer.weight.device.type == "cpu" and layer.weight.requires_grad


def test_what_takes_no_device_is_refused():
    class Plain(nn.Module):
        def __init__(self):
            super().__init__()

    for wrong in (Plain, dict):
        with pytest.raises(RuntimeError):
            skip_init(wrong)

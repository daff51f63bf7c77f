"""PyTorch's modules of modules hold the same names."""

from __future__ import annotations

import importlib

import pytest

NAMES = {
    "activation": ["MultiheadAttention", "ReLU", "Softmax"],
    "container": ["Container", "ParameterDict", "ParameterList", "Sequential"],
    "conv": ["Conv1d", "ConvTranspose3d", "LazyConv2d", "LazyConvTranspose1d"],
    "loss": ["CTCLoss", "MSELoss", "TripletMarginLoss"],
    "module": ["Module", "register_module_forward_hook", "register_module_buffer_registration_hook"],
}


@pytest.mark.parametrize("module", NAMES)
def test_names_are_at_pytorchs_path(module):
    found = importlib.import_module(f"tt.nn.modules.{module}")
    assert all(callable(getattr(found, name)) for name in NAMES[module])

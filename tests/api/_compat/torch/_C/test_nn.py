"""The part of PyTorch's C++ that layers call: found as an attribute, and with the arguments of `Module.to`."""

from __future__ import annotations

import tt
from tt._compat.torch import _C


def test_the_modules_of_operators_are_attributes_of_the_module_above():
    x = tt.tensor([-1.0, 2.0])
    assert _C._nn.relu6(x).tolist() == [0.0, 2.0]
    assert _C._fft is _C._nn


def test_arguments_of_to_are_taken_apart():
    target, dtype, non_blocking, memory_format = _C._nn._parse_to("cpu", tt.float64, non_blocking=True)
    assert (str(target), dtype, non_blocking, memory_format) == ("cpu", tt.float64, True, None)
    assert _C._nn._parse_to(tt.zeros(1, dtype=tt.float16))[:2] == (tt.device("cpu"), tt.float16)

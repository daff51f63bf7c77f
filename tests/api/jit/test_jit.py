"""What programs ask of TorchScript."""

from __future__ import annotations

import pytest

import tt
from tt.errors import UnsupportedError


def test_nothing_is_scripted_and_decorators_keep_functions():
    def function(x):
        return x

    assert not tt.jit.is_scripting() and not tt.jit.is_tracing()
    assert tt.jit.ignore(function) is function and tt.jit.ignore(drop=True)(function) is function
    for decorator in (tt.jit.export, tt.jit.unused, tt.jit.script_if_tracing):
        assert decorator(function) is function
    assert tt.jit.annotate(int, 3) == 3
    assert tt.jit.isinstance([1], list[int]) and not tt.jit.isinstance((1,), list[int])


@pytest.mark.parametrize("make", [tt.jit.script, tt.jit.trace])
def test_scripting_is_refused(make):
    with pytest.raises(UnsupportedError, match="TorchScript"):
        make(lambda x: x)

"""Mixed precision in its disabled form."""

from __future__ import annotations

import pytest

import tt
from tt.errors import UnsupportedError


def test_disabled_autocast_changes_nothing_as_context_and_as_decorator():
    with tt.autocast("cpu", dtype=tt.bfloat16, enabled=False) as context:
        assert context.enabled is False
        assert (tt.ones(2) @ tt.ones(2)).dtype is tt.float32

    @tt.autocast("cpu", enabled=False)
    def product(x):
        return x @ x

    assert product(tt.ones(2)).dtype is tt.float32
    assert not tt.is_autocast_enabled() and not tt.is_autocast_enabled("cpu")


@pytest.mark.parametrize(
    "enable",
    [
        lambda: tt.autocast("cpu"),
        lambda: tt.amp.autocast("cpu", dtype=tt.bfloat16),
        lambda: tt.set_autocast_enabled("cpu", True),
    ],
)
def test_enabling_it_raises_with_the_reason(enable):
    with pytest.raises(UnsupportedError, match="mixed precision is not built yet"):
        enable()


def test_without_cuda_it_warns_and_is_disabled(monkeypatch):
    monkeypatch.setattr(tt.cuda, "is_available", lambda: False)
    with pytest.warns(UserWarning, match="CUDA is not available"):
        assert not tt.autocast("cuda").enabled


def test_the_precision_that_it_would_use_is_pytorchs():
    assert tt.get_autocast_dtype("cpu") is tt.bfloat16
    assert tt.get_autocast_dtype("cuda") is tt.float16
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        tt.autocast(3, enabled=False)


def test_decorators_of_functions_keep_them():
    def forward(ctx, x):
        return x

    assert tt.amp.custom_fwd(forward, device_type="cuda") is forward
    assert tt.amp.custom_bwd(device_type="cuda")(forward) is forward
    with pytest.warns(FutureWarning, match="device_type='cuda'"):
        assert tt.cuda.amp.custom_fwd(forward) is forward and tt.cuda.amp.custom_bwd(forward) is forward

"""The degrees of freedom of a variance: their number, and the warning where none is left, on every path."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tt
from tt.core.types.freedom import degrees_of_freedom
from tt.library import mask_kernels

NONE_LEFT = (
    r"degrees of freedom is <= 0: the correction must be less than the number of elements .* combines, "
)


def test_a_correction_lowers_them() -> None:
    assert [degrees_of_freedom("var", 5, c) for c in (None, 0, 2, 0.5)] == [4, 5, 3, 4.5]


@pytest.mark.parametrize("correction", [3, 4.5])
def test_there_are_no_fewer_than_none(correction: float) -> None:
    with pytest.warns(UserWarning, match=rf"^var\(\): {NONE_LEFT}3"):
        assert degrees_of_freedom("var", 3, correction) == 0


@pytest.mark.parametrize("op", ["var", "std", "var_mean", "std_mean"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64"])
def test_every_operator_warns_once_at_the_line_of_the_call(op: str, dtype: str) -> None:
    x = tt.tensor([[1.0, 2.0, 4.0]], dtype=getattr(tt, dtype))
    with pytest.warns(UserWarning, match=rf"^{op}\(\): {NONE_LEFT}1") as caught:
        found = getattr(tt, op)(x, 0)
    assert len(caught) == 1
    spread = found[0] if isinstance(found, tuple) else found
    assert np.isnan(spread.to(tt.float32).numpy()).all()
    with pytest.warns(UserWarning, match=f"{NONE_LEFT}3"):
        getattr(tt, op)(x, 1, correction=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        getattr(tt, op)(x, 0, correction=0)
        getattr(tt, op)(x.to("meta"), 0)


@pytest.mark.parametrize(
    "call", [lambda x: x.std(), lambda x: x.var(0, True), lambda x: tt.std(x, unbiased=True)]
)
def test_every_form_warns(call) -> None:
    with pytest.warns(UserWarning, match=f"{NONE_LEFT}1"):
        call(tt.ones(1, requires_grad=True)).backward()
    with warnings.catch_warnings(), pytest.raises(UserWarning, match=f"{NONE_LEFT}1"):
        warnings.simplefilter("error")
        call(tt.ones(1))


@pytest.mark.parametrize("op", ["var", "std", "var_mean", "std_mean"])
def test_composites_warn(op: str) -> None:
    with (
        mask_kernels("var", "std", "var_mean", "std_mean"),
        pytest.warns(UserWarning, match=f"{NONE_LEFT}1") as caught,
    ):
        getattr(tt, op)(tt.ones(1))
    assert len(caught) == 1


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_norms_of_nothing_do_not_warn(dtype: str) -> None:
    empty = tt.ones(0, 2, 3, dtype=getattr(tt, dtype))
    assert tt.nn.functional.layer_norm(empty, (3,)).shape == empty.shape
    assert tt.nn.functional.layer_norm(tt.ones(2, 0), (0,)).shape == (2, 0)
    assert tt.nn.functional.instance_norm(empty).shape == empty.shape
    assert tt.native_layer_norm(tt.ones(2, 0), (0,), None, None, 1e-5)[0].shape == (2, 0)

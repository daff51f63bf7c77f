"""What kernels ask that give other bits in another run."""

from __future__ import annotations

import pytest

import tt
from tt.core.types.determinism import Determinism


def test_an_operator_without_a_fixed_order_goes_on_warns_or_raises():
    setting = Determinism()
    setting.refuse("adding")
    setting.required = setting.warn_only = True
    with pytest.warns(UserWarning, match="adding has no deterministic algorithm"):
        setting.refuse("adding")
    setting.warn_only = False
    with pytest.raises(tt.errors.NondeterministicError, match="adding") as caught:
        setting.refuse("adding")
    assert caught.value.operator == "adding"

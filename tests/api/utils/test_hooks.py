"""Hooks of tensors that a file does not keep."""

from __future__ import annotations

import warnings

import pytest

import tt
from tt.utils.hooks import unserializable_hook, warn_if_has_hooks


def test_a_hook_that_a_file_will_lack_is_named():
    x = tt.ones(1, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_has_hooks(x)
        x.register_hook(unserializable_hook(lambda grad: grad))
        warn_if_has_hooks(x)
    x.register_hook(lambda grad: grad)
    with pytest.warns(UserWarning, match="is not pickled"):
        warn_if_has_hooks(x)

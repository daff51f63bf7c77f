"""Every operator of the first release is there under PyTorch's name."""

from __future__ import annotations

from pathlib import Path

import pytest

import tt

NAMES = [
    line.strip()
    for line in Path(__file__).with_name("operators.txt").read_text(encoding="utf-8").splitlines()
    if line.strip() and not line.startswith("#")
]


def test_the_list_is_whole():
    assert len(NAMES) == len(set(NAMES)) == 616


@pytest.mark.parametrize("name", NAMES)
def test_it_is_a_function_or_a_method(name):
    found = tt
    for part in name.split("."):
        found = getattr(found, part, None)
    # `tt.float` is a dtype: the operator of that name is the method.
    is_function = callable(found) and not isinstance(found, tt.dtype)
    method = getattr(tt.Tensor, name, None) or getattr(tt.Tensor, f"{name}_", None)
    assert is_function or method is not None

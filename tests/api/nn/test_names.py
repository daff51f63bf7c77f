"""The public names of tt.nn: listed, and documented where they are."""

from __future__ import annotations

import pytest

from tt import nn

NAMES = sorted(name for name in nn.__all__ if isinstance(getattr(nn, name), type))


@pytest.mark.parametrize("name", NAMES)
def test_every_class_is_documented(name):
    kind = getattr(nn, name)
    assert kind.__doc__ is not None and len(kind.__doc__.splitlines()[0]) > 20
    assert "Examples\n" in kind.__doc__ or name == "UninitializedBuffer"
    assert getattr(nn.modules, name, kind) is kind


def test_every_name_is_listed():
    assert len(set(nn.__all__)) == len(nn.__all__)
    assert (
        {"Module", "Parameter", "Linear", "functional", "init", "utils"}
        <= {*nn.__all__}
        <= {*dir(nn), *nn.__all__}
    )
    assert set(nn.modules.__all__) <= set(nn.__all__)

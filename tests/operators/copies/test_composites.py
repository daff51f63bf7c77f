"""Conversions: when a tensor in another memory format is itself, and which strides it gets."""

from __future__ import annotations

import pytest

import tt

MADE = {
    "one pixel": lambda lib: lib.ones(10, 2, 1, 1),
    "one channel": lambda lib: lib.ones(10, 1, 2, 2),
    "one pixel, channels last": lambda lib: lib.ones(10, 2, 1, 1).clone(memory_format=lib.channels_last),
    "image": lambda lib: lib.ones(2, 3, 4, 5),
    "image, channels last": lambda lib: lib.ones(2, 3, 4, 5).contiguous(memory_format=lib.channels_last),
    "transposed": lambda lib: lib.ones(2, 3, 4, 5).transpose(0, 1),
}


def test_one_pixel_is_laid_out_as_the_format_that_is_asked_for():
    x = tt.ones(10, 2, 1, 1)
    y = x.to(memory_format=tt.channels_last)
    assert y.stride() == (2, 1, 2, 2) and x.contiguous(memory_format=tt.channels_last) is x
    assert y.to(memory_format=tt.channels_last) is y
    assert y.to(memory_format=tt.contiguous_format).stride() == (2, 1, 1, 1)


@pytest.mark.torch
@pytest.mark.parametrize("format_", ["channels_last", "contiguous_format", "preserve_format"])
@pytest.mark.parametrize("name", MADE)
def test_strides_and_copies_are_those_of_torch(name, format_):
    torch = pytest.importorskip("torch")
    results = []
    for lib in (tt, torch):
        x = MADE[name](lib)
        y = x.to(memory_format=getattr(lib, format_))
        results.append((y.stride(), y is x))
    assert results[0] == results[1]

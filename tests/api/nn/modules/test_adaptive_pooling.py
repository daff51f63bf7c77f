"""Adaptive pooling: as many windows as the result has elements."""

from __future__ import annotations

import pytest

import tt
from tt import nn

X = tt.tensor([[1.0, 5.0, 2.0, 4.0, 3.0]])


def test_windows_cover_the_input():
    # From floor(i * 5 / 3) to ceil((i + 1) * 5 / 3): [0, 2), [1, 4), [3, 5)
    assert nn.AdaptiveMaxPool1d(3)(X).tolist() == [[5, 5, 4]]
    tt.testing.assert_close(nn.AdaptiveAvgPool1d(3)(X), tt.tensor([[3.0, 11 / 3, 3.5]]))


def test_one_window_is_the_whole_input():
    x = tt.arange(24.0).reshape(1, 2, 3, 4)
    assert nn.AdaptiveAvgPool2d(1)(x).flatten().tolist() == [5.5, 17.5]
    assert nn.AdaptiveMaxPool2d((1, 1))(x).flatten().tolist() == [11, 23]
    assert nn.AdaptiveAvgPool3d(1)(x).item() == 11.5


def test_none_keeps_a_size():
    assert nn.AdaptiveAvgPool2d((None, 2))(tt.zeros(1, 3, 4, 5)).shape == (1, 3, 4, 2)
    assert nn.AdaptiveMaxPool3d((None, 1, 2))(tt.zeros(1, 1, 3, 4, 5)).shape == (1, 1, 3, 1, 2)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_places_of_the_largest(dims):
    x = tt.zeros(1, *(4,) * dims)
    x[(0,) + (2,) * dims] = 1
    values, places = getattr(nn, f"AdaptiveMaxPool{dims}d")(1, return_indices=True)(x)
    assert values.item() == 1 and places.item() == sum(2 * 4**i for i in range(dims))


def test_repr_names_the_size():
    assert repr(nn.AdaptiveAvgPool2d((5, None))) == "AdaptiveAvgPool2d(output_size=(5, None))"


@pytest.mark.parametrize(
    ("pool", "shape"),
    [
        (tt.nn.AdaptiveAvgPool1d(3), (0, 10)),
        (tt.nn.AdaptiveMaxPool1d(3), (0, 10)),
        (tt.nn.AdaptiveAvgPool2d(3), (0, 10, 10)),
        (tt.nn.AdaptiveMaxPool2d(3), (0, 10, 10)),
    ],
    ids=["average 1d", "largest 1d", "average 2d", "largest 2d"],
)
def test_an_image_without_channels_gives_one_without(pool, shape):
    x = tt.ones(shape, requires_grad=True)
    y = pool(x)
    y.sum().backward()
    assert y.shape == (0, *(3,) * (len(shape) - 1)) and x.grad.shape == shape


@pytest.mark.torch
@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("kind", ["Avg", "Max"])
def test_gradients_of_nothing_are_nothing(kind, dims):
    torch = pytest.importorskip("torch")
    for library in (tt, torch):
        x = library.ones(0, *(10,) * dims, requires_grad=True)
        getattr(library.nn, f"Adaptive{kind}Pool{dims}d")(5)(x).sum().backward()
        assert tuple(x.grad.shape) == (0, *(10,) * dims)

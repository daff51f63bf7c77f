"""Joins and copies in another arrangement, against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import tt

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

X = torch.arange(24.0).reshape(2, 3, 4)
SOURCES = {
    "contiguous": X,
    "permuted": X.permute(2, 0, 1),
    "expanded": torch.arange(4.0).expand(2, 3, 4),
    "empty": torch.zeros(2, 0, 3),
    "matrix": torch.arange(12.0).reshape(3, 4).t(),
    "vector": torch.arange(8.0)[::2],
    "number": torch.tensor(3.0),
}


def pad(m):
    return m.nn.functional.pad


COPIES = {
    "hstack": lambda m, x: (m.hstack((x, x)), m.hstack([x, x.to(m.float64)])),
    "vstack": lambda m, x: (m.vstack((x, x)), m.row_stack((x, x + 1))),
    "dstack": lambda m, x: m.dstack((x, x)),
    "column_stack": lambda m, x: m.column_stack((x, x, x)),
    "concat": lambda m, x: (m.concat((x, x), axis=0), m.concatenate([x], dim=-1)),
    "repeat": lambda m, x: (x.repeat(2, 1, 2), x.repeat((1, 2, 1, 1))),
    "repeat never": lambda m, x: x.repeat(2, 0, 1),
    "tile": lambda m, x: (x.tile(2), x.tile(2, 1, 1, 2), m.tile(x, (2, 3)), m.tile(x, ())),
    "flips": lambda m, x: (m.fliplr(x), m.flipud(x)),
    "roll": lambda m, x: (m.roll(x, 1), x.roll(-5, 0), m.roll(x, (1, 2), (0, -1)), m.roll(x, shifts=3, dims=1)),
    "roll, misaligned": lambda m, x: m.roll(x, (1, 2), 0),
    "rot90": lambda m, x: (m.rot90(x), x.rot90(2), x.rot90(-1, (1, 0)), m.rot90(x, k=4), m.rot90(x, 3, [0, -1])),
    "rot90 in one dimension": lambda m, x: m.rot90(x, 1, (0, 0)),
    "diag": lambda m, x: (m.diag(x), x.diag(1), m.diag(x, -2)),
    "diagflat": lambda m, x: (m.diagflat(x), x.diagflat(-1)),
    "diag_embed": lambda m, x: (m.diag_embed(x), x.diag_embed(1), m.diag_embed(x, -1, 0, 1), x.diag_embed(0, 1, 0)),
    "diagonal_scatter": lambda m, x: m.diagonal_scatter(x, x.diagonal(1) * 2 + 1, 1),
    "select_scatter": lambda m, x: x.select_scatter(x.select(1, 0) + 1, 1, 2),
    "select_scatter of another shape": lambda m, x: x.select_scatter(m.zeros(7), 0, 0),
    "slice_scatter": lambda m, x: m.slice_scatter(x, x[:, 1:] + 1, 1, 0, 2),
    "slice_scatter of integers": lambda m, x: m.slice_scatter(x.to(m.int64), x[:1] + 1.5, 0, 1, 2),
    "pad": lambda m, x: (pad(m)(x, (1, 2)), pad(m)(x, (0, 1, -1, 2), value=1.5), pad(m)(x, (-1, 0), "constant", 2)),
    "pad nothing": lambda m, x: (pad(m)(x, ()), pad(m)(x, (0, 0))),
    "pad too much away": lambda m, x: pad(m)(x, (-3, -3)),
    "pad integers": lambda m, x: pad(m)(x.to(m.int64), (1, 1), value=2.7),
    "pad bools": lambda m, x: pad(m)(x.to(m.bool), (1, 1), value=2.7),
    "constant_pad_nd": lambda m, x: m.constant_pad_nd(x.to(m.complex64), (1, 1), 1j),
    "constant_pad_nd, complex in real": lambda m, x: m.constant_pad_nd(x, (1, 1), 1j),
    "reflect": lambda m, x: (pad(m)(x, (1, 2), "reflect"), pad(m)(x, (-1, 2), mode="reflect")),
    "reflect in two dimensions": lambda m, x: pad(m)(x, (2, 1, 0, 1), "reflect"),
    "replicate": lambda m, x: (pad(m)(x, (1, 9), "replicate"), pad(m)(x, (2, -1), "replicate")),
    "replicate in two dimensions": lambda m, x: pad(m)(x, (0, 1, 2, 0), "replicate"),
    "circular": lambda m, x: (pad(m)(x, (1, 2), "circular"), pad(m)(x, (2, -1), "circular")),
    "circular in two dimensions": lambda m, x: pad(m)(x, (-1, 1, 2, 0), "circular"),
    "pad in three dimensions": lambda m, x: [
        pad(m)(x[None], (1, 0, 0, 1, 1, 1), mode) for mode in ("reflect", "replicate", "circular")
    ],
    "pad in no mode": lambda m, x: pad(m)(x, (1, 1), "mirror"),
    "pad oddly": lambda m, x: pad(m)(x, (1, 1, 1)),
    "reflect with a value": lambda m, x: pad(m)(x, (1, 1), "reflect", 1.0),
    "pixel_shuffle": lambda m, x: (m.pixel_shuffle(x.repeat(2, 1, 1), 2), m.nn.functional.pixel_shuffle(x, 1)),
    "pixel_shuffle, indivisible": lambda m, x: m.pixel_shuffle(x, 5),
    "pixel_unshuffle": lambda m, x: m.pixel_unshuffle(x.repeat(1, 2, 1), 2),
}  # fmt: skip
# Where PyTorch keeps the order of dimensions in copies, an array library may choose its own.
OWN_ORDER = {
    "rot90",
    "flips",
    "diagonal_scatter",
    "select_scatter",
    "slice_scatter",
    "slice_scatter of integers",
    "diag",
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", COPIES)
def test_copies(same, name, source):
    same(COPIES[name], SOURCES[source], strides=name not in OWN_ORDER and not name.startswith("pad"))


@pytest.mark.parametrize(
    "name",
    ["hstack", "repeat", "roll", "rot90", "diag_embed", "diagonal_scatter", "pad", "circular", "diagflat"],
)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "complex64"])
def test_copies_of_every_dtype(same, name, dtype):
    if name == "diagonal_scatter":
        same(lambda m, x: m.diagonal_scatter(x, x.diagonal(1) + 1, 1), X.to(getattr(torch, dtype)))
    else:
        same(COPIES[name], X.to(getattr(torch, dtype)))


@pytest.mark.parametrize("name", ["cat", "hstack", "vstack", "dstack", "column_stack", "stack"])
def test_joining_into_a_given_tensor(same, name):
    def out(shape, dtype="float32"):
        return lambda m, x: getattr(m, name)((x, x), out=m.ones(shape, dtype=getattr(m, dtype)))

    for call in (out(0), out((2, 2), "float64"), out(0, "int64")):
        same(call, torch.arange(6.0).reshape(2, 3))
        same(call, torch.arange(3.0))


def test_a_join_is_not_written_over_its_parts():
    x, y = tt.ones(4, 2), tt.zeros(4, 2)
    for call in (
        lambda: tt.cat((x, y), out=x),
        lambda: tt.cat((x, y), out=y[:2]),
        lambda: tt.stack((x, y), out=y),
    ):
        with pytest.raises(RuntimeError, match="shares memory"):
            call()
    whole = tt.zeros(8, 2)
    assert tt.cat((x, whole[:0]), out=whole[4:]).tolist() == x.tolist()


def test_a_copy_shares_no_memory():
    x = tt.arange(6.0).reshape(2, 3)
    for copy in (
        x.repeat(1, 1), tt.roll(x, 0), tt.rot90(x, 4), tt.nn.functional.pad(x, (0, 0)), tt.diag(x),
        tt.pixel_shuffle(x[None], 1),
    ):  # fmt: skip
        copy.add_(1)
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pytest.mark.parametrize("mode", MODES)
def test_padding_is_that_of_numpy(mode):
    x = np.arange(24.0).reshape(1, 2, 3, 4)
    expected = np.pad(x, ((0, 0), (0, 0), (1, 2), (3, 0)), mode=MODES[mode])
    np.testing.assert_array_equal(tt.nn.functional.pad(tt.tensor(x), (3, 0, 1, 2), mode).numpy(), expected)


def test_functions_of_several_tensors_take_them_one_by_one_or_in_a_list():
    x, y = tt.arange(2), tt.arange(3)
    grids = tt.meshgrid(x, y, indexing="ij"), tt.meshgrid([x, y], indexing="ij")
    assert [[t.shape for t in grid] for grid in grids] == [[(2, 3), (2, 3)]] * 2
    assert tt.atleast_2d(x, y)[1].shape == tt.atleast_2d([x, y])[1].shape == (1, 3)
    assert tt.atleast_1d() == tt.broadcast_tensors() == ()
    with pytest.raises(RuntimeError, match="no tensor is given"):
        tt.meshgrid()
    with pytest.raises(TypeError, match="tuple of Tensors"):
        tt.broadcast_tensors(x, 2)
    with pytest.raises(TypeError):
        tt.vstack(x, y)

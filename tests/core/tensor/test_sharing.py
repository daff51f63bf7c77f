"""Memory that grows: `resize_`, and outputs of another shape, which all tensors of the memory follow."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest

import tt


def test_resizing_keeps_the_elements_of_the_memory() -> None:
    assert tt.arange(6.0)[2:4].resize_(2, 2).tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert tt.arange(6.0).resize_(2).resize_(6).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert tt.arange(6).reshape(2, 3).t().resize_(6).tolist() == [0, 1, 2, 3, 4, 5]
    assert tt.arange(6).reshape(2, 3).t().resize_(3, 2).stride() == (1, 3)


def test_all_tensors_of_a_memory_follow_one_for_which_it_grows() -> None:
    x = tt.arange(6.0)
    y, data, alias = x[2:4], x.data, x.detach()
    y.resize_(10)
    assert y.storage_offset() == 2 and x.untyped_storage().nbytes() == 48
    assert len({t.untyped_storage().data_ptr() for t in (x, y, data, alias)}) == 1
    y[0] = 9
    assert x.tolist() == data.tolist() == alias.tolist() == [0.0, 1.0, 9.0, 3.0, 4.0, 5.0]
    assert x._version == y._version


@pytest.mark.parametrize(
    "held",
    [
        lambda: tt.from_numpy(np.zeros(4)),
        lambda: tt.as_tensor(np.zeros(4)),
        lambda: tt.asarray(np.zeros(4)),
        lambda: tt.frombuffer(bytearray(4), dtype=tt.uint8),
        lambda: tt.from_dlpack(np.zeros(4)),
        lambda: _exported(tt.zeros(4)),
        lambda: _exported(tt.zeros(6)[:4]),
        lambda: _exported(tt.zeros(4)).data,
    ],
)
def test_memory_that_another_library_has_does_not_grow(held: Any) -> None:
    x = held()
    with pytest.raises(RuntimeError, match="cannot grow"):
        x.resize_(100)
    with pytest.raises(RuntimeError, match="cannot grow"), pytest.warns(UserWarning, match="resized"):
        tt.add(tt.zeros(100, dtype=x.dtype), 1, out=x)
    assert x.shape == (4,) and x.resize_(2).shape == (2,) and x.clone().resize_(100).shape == (100,)


def _exported(x: tt.Tensor) -> tt.Tensor:
    x.numpy()
    return x


RESULTS = {
    "sub": lambda m, out: m.sub(m.ones(5), 3.0, out=out),
    "cat": lambda m, out: m.cat([m.ones(5), m.zeros(2)], out=out),
    "index_select": lambda m, out: m.index_select(m.arange(6.0), 0, m.tensor([1, 2, 3]), out=out),
    "range": lambda m, out: m.range(0, 5, out=out),
    "mm": lambda m, out: m.mm(m.ones(2, 2), m.ones(2, 2), out=out),
    "sum": lambda m, out: m.sum(m.ones(3, 4), 0, out=out),
    "more than there is": lambda m, out: m.add(m.ones(15), 1.0, out=out),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", RESULTS)
def test_an_output_of_another_shape_lies_where_the_tensor_began(name: str) -> None:
    torch = pytest.importorskip("torch")

    def seen(m: Any) -> Any:
        base = m.zeros(10)
        out = base[2:4]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            RESULTS[name](m, out)
        return base.tolist(), out.tolist(), out.storage_offset(), base.untyped_storage().nbytes()

    assert seen(tt) == seen(torch)


@pytest.mark.torch
@pytest.mark.parametrize("seed", range(40))
def test_random_programs_that_resize_equal_those_of_torch(seed: int) -> None:
    torch = pytest.importorskip("torch")
    assert _program(tt, seed) == _program(torch, seed)


def _program(m: Any, seed: int) -> list[Any]:
    chance = random.Random(seed)
    dtype = getattr(m, chance.choice(["float32", "int16", "bfloat16", "complex64"]))
    tensors = [m.arange(chance.choice([0, 1, 6, 12])).to(dtype)]
    seen: list[Any] = []
    for _ in range(chance.randrange(3, 9)):
        x, step = chance.choice(tensors), chance.randrange(7)
        if step == 0:
            x.add_(1)
        elif step == 1 and x.ndim:
            tensors.append(x[chance.randrange(2) : chance.randrange(5)])
        elif step == 2:
            tensors.append(chance.choice([x.detach(), x.data]))
        elif step == 3:
            tensors.append(x.unsqueeze(-1).transpose(0, -1))
        else:
            size = [chance.randrange(4) for _ in range(chance.randrange(4))]
            before = x.untyped_storage().nbytes() // x.element_size()
            x.resize_(size)
            grown = x.untyped_storage().nbytes() // x.element_size() - before
            if grown:  # what is there may be any number
                x.detach().as_strided((grown,), (1,), before).fill_(1)
        for y in tensors:
            strides = y.stride() if y.numel() else None
            seen.append(
                (tuple(y.shape), strides, y.storage_offset(), y.untyped_storage().nbytes(), str(y.tolist()))
            )
    return seen


@pytest.mark.torch
@pytest.mark.parametrize("offset", [0, 4, 6])
def test_a_tensor_without_elements_at_a_place_of_a_storage_grows_from_there(offset: int) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for library in (tt, torch):
        base = library.arange(6.0)
        x = library.empty(0).set_(base.untyped_storage(), offset, (0,))
        begin = x.storage_offset()
        x.resize_(2)
        x.fill_(9.0)
        found.append((begin, x.storage_offset(), x.tolist(), base.tolist()))
    assert found[0] == found[1]


@pytest.mark.torch
def test_a_view_without_elements_begins_where_that_of_torch_does() -> None:
    torch = pytest.importorskip("torch")
    assert list(_beginnings(tt)) == list(_beginnings(torch))


def _beginnings(m: Any) -> Any:
    for shape in [(0,), (4, 0), (0, 5), (2, 0, 3), (4, 6)]:
        base = m.zeros(100).as_strided(shape, [2] * len(shape), 7)
        for dim in range(len(shape)):
            for part in [
                slice(2, None),
                slice(1, 1),
                slice(3, 1, 2),
                slice(None, 0),
                slice(-1, None),
                slice(5, None),
            ]:
                x = base[(*[slice(None)] * dim, part)]
                yield tuple(x.shape), x.storage_offset(), x.stride()
    for memory, size, stride in [(0, (0,), (1,)), (4, (2, 0), (1, 1)), (4, (0, 3), (5, 2))]:
        base = m.arange(memory)
        x = base.as_strided(size, stride, 9)
        part = x[..., 2:]
        yield x.storage_offset(), x.stride(), part.storage_offset(), tuple(part.shape), (x + 1).tolist()
        x.resize_(1).fill_(3)
        yield base.tolist(), x.storage_offset(), base.untyped_storage().nbytes()

"""Views of tensors without elements: shapes, strides and offsets are PyTorch's, whoever makes them."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tt
from tt.backends.cpu import shaping
from tt.backends.cpu.backend import element_strides, owner_of
from tt.backends.cpu.native.shaping import NATIVE, VIEWS

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SOURCES = {
    "rows of none": lambda m: m.zeros(4, 0),
    "no rows": lambda m: m.zeros(0, 4),
    "nothing": lambda m: m.zeros(0),
    "none between": lambda m: m.zeros(3, 0, 4),
    "none at last": lambda m: m.zeros(2, 4, 0),
    "transposed": lambda m: m.zeros(3, 4, 0).transpose(0, 1),
    "part of memory": lambda m: m.zeros(3, 4)[:, 2:2],
    "end of memory": lambda m: m.zeros(3, 4)[3:],
    "repeated": lambda m: m.zeros(1, 4, 0).expand(3, 4, 0),
    "windows": lambda m: m.zeros(0, 8).unfold(1, 3, 2),
    "anywhere": lambda m: m.zeros(10).as_strided((2, 0, 3), (5, 3, 1), 4),
    "bfloat16": lambda m: m.zeros(4, 0, dtype=m.bfloat16),
    "complex": lambda m: m.zeros(4, 0, dtype=m.complex64),
}

PROGRAMS = {
    **{f"select {d} {i}": lambda x, d=d, i=i: x.select(d, i) for d in (0, 1, -1) for i in (0, 2, -1)},
    **{
        f"slice {d} {at}": lambda x, d=d, at=at: x[(slice(None),) * (d % x.dim()) + (slice(*at),)]
        for d in (0, 1, -1)
        for at in ((1, None), (2, 3), (0, None, 2), (-1, None, 3), (5, None), (3, 1, 2), (1, 1))
    },
    **{
        f"narrow {d} {at}": lambda x, d=d, at=at: x.narrow(d, *at)
        for d in (0, 1)
        for at in ((0, 0), (1, 1), (2, 0))
    },
    **{
        f"unfold {d} {at}": lambda x, d=d, at=at: x.unfold(d, *at)
        for d in (0, 1, -1)
        for at in ((1, 1), (2, 1), (0, 1), (3, 2), (0, 3))
    },
    **{
        f"{name} {n} {d}": lambda x, name=name, n=n, d=d: getattr(x, name)(n, d)
        for name in ("split", "chunk", "tensor_split")
        for n in (0, 1, 3)
        for d in (0, -1)
    },
    "split in sizes": lambda x: x.split([1, 0, x.shape[0] - 1]),
    "unbind": lambda x: x.unbind(0),
    "unbind the last": lambda x: x.unbind(-1),
    "t": lambda x: x.t(),
    "mT": lambda x: x.mT,
    "permute": lambda x: x.permute(2, 0, 1),
    "transpose": lambda x: x.transpose(0, -1),
    **{
        f"diagonal {at}": lambda x, at=at: x.diagonal(*at)
        for at in ((0,), (1, 1, 0), (-1,), (2, 0, -1), (-2, 0, -1), (9,))
    },
    **{f"expand {s}": lambda x, s=s: x.expand(s) for s in ((3, 4, 0), (2, -1, -1), (2, -1, -1, -1), (2, -1))},
    **{f"view {s}": lambda x, s=s: x.view(s) for s in ((0,), (0, 3), (2, 0, 3), (4, 0), (5, 1, 0), (-1, 4))},
    "view of the same shape": lambda x: x.view_as(x),
    "flatten": lambda x: x.flatten(0, 1),
    "unflatten": lambda x: x.unflatten(0, (2, -1)),
    "unsqueeze": lambda x: [x.unsqueeze(d) for d in range(x.dim() + 1)],
    "squeeze": lambda x: x.unsqueeze(1).unsqueeze(0).squeeze(),
    "detach": lambda x: x.detach(),
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    **{f"as_strided {at}": lambda x, at=at: x.as_strided(*at) for at in (((0,), (5,), 3), ((2, 0), (7, 9)))},
    "mixed indices": lambda x: x[1:, None, 1],
    "transpose_": lambda x: x.transpose_(0, 1),
    "squeeze_": lambda x: x.unsqueeze_(0).squeeze_(),
    "resize_": lambda x: x[1:].resize_(0, 3),
    "larger": lambda x: x[1:].resize_(3),
    "set_": lambda x: x.new_empty(3).set_(x.untyped_storage(), 2, (0, 2), (3, 1)),
    "data": lambda x: setattr(y := x.new_empty(2), "data", x[1:]) or y,
    "deepcopy": lambda x: copy.deepcopy(x[1:]),
    "pickle": lambda x: pickle.loads(pickle.dumps(x[1:])),
}


def geometry(result):
    if isinstance(result, list | tuple):
        return [geometry(part) for part in result]
    return tuple(result.shape), result.stride(), result.storage_offset()


def outcome(source, program, m):
    try:
        return geometry(program(source(m)))
    except (IndexError, RuntimeError, ValueError):
        return "refused"


@pytest.mark.parametrize("source", SOURCES)
def test_views_of_nothing_have_their_place(source):
    mine, right = (
        {name: outcome(SOURCES[source], program, m) for name, program in PROGRAMS.items()}
        for m in (tt, torch)
    )
    assert mine == right


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "complex32"])
def test_parts_of_complex_numbers_of_which_there_are_none(dtype):
    for part in (
        lambda m, x: x.real,
        lambda m, x: x.imag,
        lambda m, x: m.view_as_real(x),
        lambda m, x: m.view_as_complex(m.view_as_real(x)),
    ):
        mine, right = (geometry(part(m, m.zeros(4, 0, dtype=getattr(m, dtype))[1:])) for m in (tt, torch))
        assert mine == right


def test_a_view_of_nothing_that_grows_lies_behind_what_comes_before():
    base = tt.zeros(4, 0)
    part = base[2:]
    part.resize_(3).fill_(7.0)
    assert base.untyped_storage().nbytes() == 20
    assert base.resize_(5)[2:].tolist() == [7.0, 7.0, 7.0]


def test_rows_that_do_not_follow_one_another_are_not_read_as_other_elements():
    for m in (tt, torch):
        with pytest.raises(RuntimeError):
            m.zeros(3, 1).expand(3, 0).view(m.int8)


def test_elements_are_not_read_from_memory_without_any():
    with pytest.raises(ValueError, match="is not part of memory of 0 bytes"):
        tt.zeros(2).set_(tt.zeros(0).untyped_storage(), 0, (3,))


CALLS = {
    "view": [((0, 5),), ((2, 0),)],
    "transpose": [(0, 1), (-1, 0)],
    "t": [()],
    "permute": [((1, 0),)],
    "expand": [((3, -1, -1),)],
    "unsqueeze": [(0,), (1,), (-1,)],
    "select": [(0, 1), (1, -1)],
    "slice": [(0, 1, None, 2), (1, 2, 3, 1), (1, 2, 1, 1), (0, -3, None, 2)],
    "diagonal": [(0, 0, 1), (1, -1, 0), (-2, 0, 1)],
    "unfold": [(0, 0, 3), (1, 2, 1), (-1, 1, 7)],
    "split": [(2, 0), (0, 1), (3, -1)],
    "split.sizes": [([1, 3], 0), ([1, 1], 1), ([4], 1)],
    "unbind": [(0,), (-1,)],
}
ARRAYS = [np.zeros((4, 0), np.float32), np.zeros((0, 4), np.int16), np.zeros((4, 4))[1:1], np.zeros((0, 0))]


@pytest.mark.skipif(NATIVE is None, reason="without native kernels there is one form")
@pytest.mark.parametrize("op", CALLS)
def test_kernels_with_and_without_a_compiler_make_the_same_views(op):
    python = {kernel.op: kernel.function for kernel in shaping.cpu.kernels}[op]
    native = getattr(NATIVE, op.replace(".", "_"))
    assert op in VIEWS

    def made(kernel, array, arguments):
        try:
            views = kernel(array, *arguments)
        except (IndexError, ValueError):
            return "refused"
        return [
            (
                v.shape,
                element_strides(v),
                v.__array_interface__["data"][0],
                v.dtype,
                owner_of(v) is owner_of(array),
            )
            for v in (views if isinstance(views, list) else [views])
        ]

    for array in [*ARRAYS, np.zeros((4, 4), np.float16), np.zeros((1, 4))[:, ::2]]:
        for arguments in CALLS[op]:
            assert made(native, array, arguments) == made(python, array, arguments), (array.shape, arguments)

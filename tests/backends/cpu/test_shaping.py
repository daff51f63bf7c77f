"""Views, joining and copies in another order, against PyTorch: values, strides, shared memory."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt.backends.cpu.shaping import _with_strides
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.types.dtype import DTYPES

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")


def contiguous(m):
    return getattr(m, "contiguous_format", "contiguous_format")


X = torch.arange(24.0).reshape(2, 3, 4)
SOURCES = {
    "contiguous": X,
    "permuted": X.permute(2, 0, 1),
    "sliced": X[:, ::2, 1:],
    "expanded": torch.arange(4.0).expand(2, 3, 4),
    "empty": torch.zeros(2, 0, 3),
    "number": torch.tensor(3.0),
}

VIEWS = {
    "view": lambda m, x: x.view(4, 6),
    "view with -1": lambda m, x: x.view(-1, 2),
    "view of ones": lambda m, x: x.view(1, *x.shape, 1),
    "permute": lambda m, x: x.permute(2, 0, 1),
    "permute from the end": lambda m, x: m.permute(x, (-1, 0, -2)),
    "permute twice the same": lambda m, x: x.permute(0, 0, 1),
    "transpose": lambda m, x: x.transpose(0, -1),
    "transpose too far": lambda m, x: x.transpose(0, 5),
    "t": lambda m, x: x.t(),
    "t of a part": lambda m, x: x[0].t(),
    "expand": lambda m, x: x.unsqueeze(0).expand(5, *x.shape),
    "expand with -1": lambda m, x: x.expand(2, -1, -1, -1),
    "expand to the wrong size": lambda m, x: x.expand(7, 7),
    "squeeze": lambda m, x: x.unsqueeze(1).unsqueeze(-1).squeeze(),
    "squeeze one": lambda m, x: x.unsqueeze(1).squeeze(1),
    "squeeze none": lambda m, x: x.squeeze(0),
    "squeeze several": lambda m, x: x.unsqueeze(0).squeeze((0, 1)),
    "unsqueeze": lambda m, x: (x.unsqueeze(0), x.unsqueeze(-1), x.unsqueeze(x.ndim)),
    "unsqueeze too far": lambda m, x: x.unsqueeze(9),
    "select": lambda m, x: (x.select(0, 1), x.select(-1, -2)),
    "select too far": lambda m, x: x.select(0, 2),
    "slice": lambda m, x: x[1:, :-1, ::2],
    "narrow": lambda m, x: x.narrow(1, 1, 2),
    "narrow from the end": lambda m, x: x.narrow(-1, -2, 2),
    "narrow too long": lambda m, x: x.narrow(1, 2, 2),
    "split": lambda m, x: list(x.split(2, 1)),
    "split in sizes": lambda m, x: list(x.split([1, 0, 2], 1)),
    "split in wrong sizes": lambda m, x: list(x.split([1, 1], 1)),
    "unbind": lambda m, x: list(x.unbind(1)),
    "reshape": lambda m, x: x.reshape(6, 4),
    "reshape to too many": lambda m, x: x.reshape(5, -1),
    "flatten": lambda m, x: x.flatten(),
    "flatten a part": lambda m, x: m.flatten(x, 1, -1),
    "flatten in the wrong order": lambda m, x: m.flatten(x, -1, 0),
    "as_strided": lambda m, x: x.as_strided((2, 2), (1, 2)),
    "as_strided with an offset": lambda m, x: x.as_strided((2, 3), (4, 1), 2),
    "as_strided beyond the storage": lambda m, x: x.as_strided((100,), (1,)),
    "as_strided of other lengths": lambda m, x: x.as_strided((2, 2), (1,)),
    "view as another dtype": lambda m, x: x.view(m.int32),
    "view as a smaller dtype": lambda m, x: x.view(m.int16),
    "view as a larger dtype": lambda m, x: x.view(m.float64),
    "broadcast_to": lambda m, x: m.broadcast_to(x, (2, *x.shape)),
    "detach": lambda m, x: x.detach(),
    "real": lambda m, x: m.real(x),
}


def skip_what_needs_strides(same, name, source):
    if getattr(same, "strided", True):
        return
    if "dtype" in name:
        pytest.skip("the standard does not read memory as another dtype")
    if source != "contiguous" and name.startswith(("view", "as_strided")):
        pytest.skip("on the device the tensor is contiguous, and so can be viewed where PyTorch's cannot")


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", VIEWS)
def test_views(same, name, source):
    if source == "expanded" and name.startswith("as_strided"):
        pytest.skip("the storage of the expanded tensor is larger in PyTorch than what was expanded")
    skip_what_needs_strides(same, name, source)
    same(VIEWS[name], SOURCES[source], strides=True)


@pytest.mark.parametrize("source", ["contiguous", "permuted", "sliced"])
@pytest.mark.parametrize("name", VIEWS)
def test_writing_to_a_view_writes_to_its_base(same, name, source):
    if name in ("reshape", "flatten", "flatten a part") or "expand" in name or name == "broadcast_to":
        return  # copies sometimes; elements coincide

    skip_what_needs_strides(same, name, source)

    def write(m, x):
        found = VIEWS[name](m, x)
        for view in found if isinstance(found, list | tuple) else [found]:
            if view.dtype == m.float32:
                view.mul_(2)
        return x

    same(write, SOURCES[source].clone())


COPIES = {
    "cat": lambda m, x: m.cat([x, x + 1], 1),
    "cat from the end": lambda m, x: m.cat((x, x[..., :1]), dim=-1),
    "cat of other sizes": lambda m, x: m.cat([x, x[:, 1:]], 0),
    "cat with the empty vector": lambda m, x: m.cat([m.zeros(0), x], 0),
    "cat of dtypes": lambda m, x: m.cat(
        [x, m.ones(1, 3, 4, dtype=m.float64), m.ones(1, 3, 4, dtype=m.int64)], 0
    ),
    "cat of nothing": lambda m, x: m.cat([], 0),
    "cat of numbers": lambda m, x: m.cat([x.sum(), x.sum()], 0),
    "stack": lambda m, x: (m.stack([x, x + 1]), m.stack([x, x], -1)),
    "stack of other sizes": lambda m, x: m.stack([x, x[0]]),
    "stack too far": lambda m, x: m.stack([x, x], 5),
    "flip": lambda m, x: (m.flip(x, (0, -1)), x.flip([])),
    "flip twice the same": lambda m, x: m.flip(x, (0, 0)),
    "tril": lambda m, x: (m.tril(x), m.tril(x, -1), m.tril(x, 2)),
    "triu": lambda m, x: (m.triu(x), m.triu(x, -1), m.triu(x, 2)),
    "clone": lambda m, x: x.clone(),
    "contiguous": lambda m, x: x.contiguous(),
    "clone in a format": lambda m, x: x.clone(memory_format=contiguous(m)),
    "to": lambda m, x: (x.to(m.int64), x.to(m.bool), x.to(m.complex64), x.to(m.bfloat16), x.to(m.float16)),
    "zeros_like": lambda m, x: (m.zeros_like(x), m.ones_like(x, dtype=m.int32), m.full_like(x, 2.5)),
    "like, contiguous": lambda m, x: m.zeros_like(x, memory_format=contiguous(m)),
    "new": lambda m, x: (x.new_zeros(2, 3), x.new_ones((2,), dtype=m.int8), x.new_full((1, 2), 7)),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", COPIES)
def test_copies(same, name, source):
    same(COPIES[name], SOURCES[source], strides=name not in ("stack", "flip"))


@pytest.mark.parametrize("name", ["cat", "flip", "tril", "stack", "clone"])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "complex64"])
def test_copies_of_every_dtype(same, name, dtype):
    same(lambda m, x: COPIES[name](m, x) if name != "cat" else m.cat([x, x], 1), X.to(getattr(torch, dtype)))


def test_copy_casts_and_broadcasts(same):
    same(lambda m, x: x.copy_(m.arange(4)), X.clone())
    same(lambda m, x: x.copy_(x[0] + 0.5), X.long())
    same(lambda m, x: x.copy_(m.ones(3)), X.clone())
    same(lambda m, x: x[0].copy_(x[1]), X.clone())


def test_copy_between_overlapping_parts_is_refused():
    x = tt.arange(5)
    with pytest.raises(RuntimeError, match="an operand covers a part"):
        x[1:].copy_(x[:-1])
    assert x.tolist() == [0, 1, 2, 3, 4]
    x[1::2].copy_(x[:-1:2])  # parts with gaps may lie between each other
    assert x.tolist() == [0, 0, 2, 2, 4]


def test_a_complex_number_copied_to_a_real_tensor_warns():
    x = tt.zeros(1)
    with pytest.warns(UserWarning, match="imaginary parts are lost"):
        x.copy_(tt.tensor([1 + 2j]))
    assert x.tolist() == [1.0]


def test_fill(same):
    same(lambda m, x: x.fill_(2), X.clone())
    same(lambda m, x: x.fill_(2.7), X.long())
    same(lambda m, x: x.fill_(m.tensor(2.7)), X.long())
    same(lambda m, x: x.fill_(m.ones(2)), X.clone())
    same(lambda m, x: x.fill_(True), X.bool())
    same(lambda m, x: x.fill_(1j), X.clone())
    same(lambda m, x: x[0].t().zero_(), X.clone())


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int64", "bfloat16", "float16", "float32", "float64", "complex64"]
)
def test_item(same, dtype):
    same(lambda m, x: x[1, 2, 3].item(), X.to(getattr(torch, dtype)))
    same(lambda m, x: x.item(), X.to(getattr(torch, dtype)))


def test_the_sign_of_a_view_is_its_memory():
    x = tt.arange(6.0).reshape(2, 3)
    assert x.t().data_ptr() == x.data_ptr() and x[1].data_ptr() == x.data_ptr() + 12
    assert x[1:, 1:].storage_offset() == 4 and x.untyped_storage().nbytes() == 24
    assert x.t()[1:].as_strided((6,), (1,), 0).tolist() == x.flatten().tolist()


def test_resize_in_a_memory_format(same):
    for count in (24, 8):
        x = tt.arange(count).resize_(2, 3, 2, 2, memory_format=tt.channels_last)
        assert x.stride() == (12, 1, 6, 3)
        assert x[0, 0, 0].tolist() == [0, 3]
    x = tt.arange(24).resize_(2, 3, 2, 2, memory_format=tt.channels_last)
    same(
        x.resize_(1, 3, 2, 2, memory_format=tt.channels_last).flatten(),
        [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11],
    )
    same(tt.arange(4).resize_(2, 2, memory_format=tt.contiguous_format), [[0, 1], [2, 3]])
    with pytest.raises(RuntimeError, match="rank 4"):
        tt.arange(4).resize_(2, 2, memory_format=tt.channels_last)
    with pytest.raises(RuntimeError, match="preserve_format"):
        tt.arange(4).resize_(2, 2, memory_format=tt.preserve_format)


def test_resize(same):
    same(lambda m, x: x.resize_(3, 2), torch.arange(6.0))
    same(lambda m, x: x.resize_(2, 2), torch.arange(6.0))
    assert tt.arange(2.0).resize_(4)[:2].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("shape", [(0, 8), (8, 0), (0,), (1, 0, 8), (0, 1, 8)])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float64", "complex128"])
def test_tensors_without_elements_read_as_another_dtype_have_its_strides(dtype, shape):
    def strides(m, source):
        try:
            return m.empty(shape, dtype=getattr(m, source)).view(getattr(m, dtype)).stride()
        except RuntimeError:
            return "refused"

    for source in ("int8", "float32", "complex64"):
        assert strides(tt, source) == strides(torch, source)


def test_a_strided_view_of_empty_memory_keeps_the_dtype_of_its_tensor():
    empty = tt.zeros(0, dtype=tt.int16).view(tt.bfloat16)
    assert empty.as_strided((0, 5), (5, 1), 0).dtype is tt.bfloat16


def test_dequantize_returns_single_precision():
    x = tt.ones(2)
    assert tt.dequantize(x) is x and x.double().dequantize().dtype is tt.float32


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("float32", "complex64", lambda x: x[1:3]),
        ("float32", "complex64", lambda x: x[:9].view(3, 3)[:, :2]),
        ("float64", "complex128", lambda x: x[3:5]),
        ("float32", "float64", lambda x: x[1:3]),
        ("int8", "int32", lambda x: x[2:6]),
        ("float32", "complex64", lambda x: x[2:4]),
        ("float32", "complex64", lambda x: x.view(3, 4)[:, 2:]),
        ("complex64", "float32", lambda x: x[1:3]),
    ],
)
def test_bytes_are_read_as_larger_elements_only_at_multiples_of_their_size(old, new, part):
    def read(m):
        try:
            return part(m.arange(12).to(getattr(m, old))).view(getattr(m, new)).tolist()
        except RuntimeError:
            return "refused"

    assert read(tt) == read(torch)


@pytest.mark.parametrize("size", [(3, 1, 2, 1), (3, 2, 1), (1, 3, 2), (6,), (1, 6, 1)])
def test_dimensions_of_one_element_have_the_strides_of_torch(size):
    for start in (
        lambda m: m.ones(2, 3, 1).transpose(0, 1),
        lambda m: m.ones(6, 2)[:, :1],
        lambda m: m.ones(1, 6).t(),
    ):
        strides = []
        for library in (tt, torch):
            try:
                strides.append(start(library).view(size).stride())
            except RuntimeError:
                strides.append(None)
        assert strides[0] == strides[1]


def test_repeated_elements_are_filled():
    for library in (tt, torch):
        assert library.ones(2).expand(3, 2).zero_().tolist() == [[0, 0]] * 3
        assert library.ones(2).expand(3, 2).fill_(2).tolist() == [[2, 2]] * 3


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numpy_views_of_every_dtype_have_the_strides_of_the_rule(dtype):
    array = np.zeros((2, 3), REGISTRY.backend("cpu").native_dtype(dtype)).T[None]
    result = _with_strides(array, (6, 1, 3))
    assert result.shape == (1, 3, 2) and result.dtype == array.dtype
    assert [step // array.itemsize for step in result.strides] == [6, 1, 3]
    assert np.shares_memory(result, array)

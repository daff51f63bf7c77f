"""Collation: what becomes of the elements of a batch, compared with PyTorch, and how it is extended."""

from __future__ import annotations

from collections import Counter, OrderedDict, UserDict, defaultdict, namedtuple
from types import MappingProxyType

import numpy as np
import pytest

import tt
from tt.utils.data import DataLoader, TensorDataset, default_collate, default_convert
from tt.utils.data._utils.collate import collate as path_of_torch
from tt.utils.data.collate import collate, default_collate_fn_map
from tt.utils.data.pin_memory import pin_memory

Point = namedtuple("Point", ["x", "y"])


def plain(value):
    """Return a value with tensors of either library as (dtype, numbers)."""
    if type(value).__module__.split(".")[0] in ("tt", "torch") and hasattr(value, "dtype"):
        return str(value.dtype).partition(".")[2], value.tolist()
    if isinstance(value, np.ndarray):
        return "array", value.tolist()
    if isinstance(value, dict | UserDict | MappingProxyType):
        return type(value), {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value), [plain(item) for item in value]
    return value


def batches(lib):
    """Return batches made with the tensors of a library."""
    return {
        "tensors": [lib.tensor([1.0, 2.0]), lib.tensor([3.0, 4.0])],
        "scalars": [lib.tensor(1), lib.tensor(2)],
        "arrays": [np.arange(3), np.arange(3) + 1],
        "float32 arrays": [np.ones((2, 2), np.float32)] * 2,
        "mixed arrays": [np.ones(2, np.float32), np.ones(2, np.float64)],
        "transposed": [np.arange(6.0).reshape(2, 3).T] * 2,
        "no elements": [np.ones((0, 2))] * 2,
        "numpy numbers": [np.float32(1), np.float32(2)],
        "numpy bools": [np.bool_(True), np.bool_(False)],
        "ints": [1, 2],
        "bools": [True, False],
        "floats": [1.5, 2],
        "texts": ["a", "b"],
        "bytes": [b"a", b"b"],
        "tuples": [(1, "a"), (2, "b")],
        "lists": [[1, 2.0], [3, 4.0]],
        "dicts": [{"a": 1, "b": [1]}, {"a": 2, "b": [2]}],
        "ordered": [OrderedDict(a=1), OrderedDict(a=2)],
        "with a default": [defaultdict(list, a=1), defaultdict(list, a=2)],
        "user dicts": [UserDict(a=1), UserDict(a=2)],
        "read only": [MappingProxyType({"a": 1}), MappingProxyType({"a": 2})],
        "points": [Point(1, 2.0), Point(3, 4.0)],
        "ranges": [range(2), range(2)],
        "nested": [{"p": Point(np.zeros(1), [(1, "x")])}] * 2,
        "one": [lib.tensor([1.0])],
    }


@pytest.mark.torch
@pytest.mark.parametrize("name", batches(tt))
@pytest.mark.parametrize("function", ["default_collate", "default_convert"])
def test_the_batch_is_that_of_torch(name, function):
    torch = pytest.importorskip("torch")
    ours = getattr(tt.utils.data, function)(batches(tt)[name])
    theirs = getattr(torch.utils.data, function)(batches(torch)[name])
    assert plain(ours) == plain(theirs)


@pytest.mark.parametrize(
    ("batch", "error", "message"),
    [
        ([object()], TypeError, "found <class 'object'>"),
        ([None], TypeError, "batch must contain tensors, numpy arrays, numbers, dicts or lists"),
        ([np.array(["a"])], TypeError, "found <U1"),
        ([[1], [1, 2]], RuntimeError, "each element in list of batch should be of equal size"),
        ([tt.ones(2), tt.ones(3)], RuntimeError, "one shape"),
        ([np.ones(2), np.ones(3)], RuntimeError, "one shape"),
        ([tt.ones(2).to_sparse()], RuntimeError, "Batches of sparse tensors"),
        ([{"a": 1}, {}], KeyError, "a"),
    ],
)
def test_what_cannot_be_collated(batch, error, message):
    with pytest.raises(error, match=message):
        default_collate(batch)


def test_the_table_is_extended_in_place(monkeypatch):
    class Pair:
        def __init__(self, value):
            self.value = value

    monkeypatch.setitem(
        default_collate_fn_map, Pair, lambda batch, *, collate_fn_map: [pair.value for pair in batch]
    )
    assert default_collate([{"p": Pair(1)}, {"p": Pair(2)}]) == {"p": [1, 2]}

    class Kind(Pair):
        pass

    assert default_collate([Kind(1)]) == [1]
    assert path_of_torch is collate


def test_whoever_collates_tensors_in_another_way_is_asked(monkeypatch):
    monkeypatch.setitem(default_collate_fn_map, tt.Tensor, lambda batch, *, collate_fn_map: len(batch))
    assert default_collate([np.ones(2), np.ones(2)]) == 2
    assert list(DataLoader(TensorDataset(tt.ones(3)), batch_size=2)) == [[2], [1]]


def test_a_batch_shares_no_memory_with_the_elements():
    for element in (np.zeros(2), tt.zeros(2)):
        batch = default_collate([element])
        batch.fill_(1)
        assert element.sum() == 0


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")
@pytest.mark.filterwarnings("ignore:All inputs of this cat operator must share:UserWarning")
def test_quantized_tensors_are_stacked_with_the_scale_of_the_first():
    torch = pytest.importorskip("torch")

    def batch(lib):
        numbers = lib.tensor([0.3, -7.0, 2.55])
        pair = [lib.quantize_per_tensor(numbers, scale, 3, lib.quint8) for scale in (0.1, 0.5)]
        return lib.utils.data.default_collate([{"x": x} for x in pair])["x"]

    ours, theirs = batch(tt), batch(torch)
    assert ours.int_repr().tolist() == theirs.int_repr().tolist()
    assert (ours.q_scale(), ours.q_zero_point()) == (theirs.q_scale(), theirs.q_zero_point())


@pytest.mark.parametrize("workers", [0, 1])
def test_quantized_tensors_come_from_a_loader(workers):
    data = [tt.quantize_per_tensor(tt.tensor([float(n), 0.5]), 0.5, 3, tt.qint8) for n in range(4)]
    found = list(DataLoader(data, batch_size=2, num_workers=workers))
    assert [batch.dequantize().tolist() for batch in found] == [
        [[0.0, 0.5], [1.0, 0.5]],
        [[2.0, 0.5], [3.0, 0.5]],
    ]


def test_tensors_with_a_scale_for_each_channel_are_refused_in_words_of_their_own():
    x = tt.quantize_per_channel(tt.ones(2, 3), tt.ones(2), tt.zeros(2, dtype=tt.int64), 0, tt.qint8)
    with pytest.raises(RuntimeError, match=r"expected a tensor with one scale.*per_channel_affine"):
        default_collate([x, x])


def test_gradients_flow_through_a_batch():
    weight = tt.ones(2, requires_grad=True)
    default_collate([weight, weight * 2]).sum().backward()
    assert weight.grad.tolist() == [3.0, 3.0]


def test_texts_and_numbers_are_not_converted():
    assert default_convert("text") == "text"
    assert default_convert(3) == 3
    assert default_convert(np.array(["a"])).tolist() == ["a"]
    assert default_convert(np.float32(2)).dtype is tt.float32


def test_counts_are_those_of_the_batch():
    # A Counter that is updated adds to the counts of the first element that are in it.
    batch = default_collate([Counter(a=1, b=2), Counter(a=3, b=4)])
    assert type(batch) is Counter and {key: value.tolist() for key, value in batch.items()} == {
        "a": [1, 3],
        "b": [2, 4],
    }
    assert default_convert(Counter(a=2)) == pin_memory(Counter(a=2)) == Counter(a=2)

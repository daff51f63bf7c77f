"""`tt.FloatStorage` and its like: how they are made, and which objects are instances."""

from __future__ import annotations

import warnings

import pytest

import tt
from tt._compat.typed_storages import NAMES

pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")


@pytest.mark.parametrize(("name", "dtype"), NAMES.items())
def test_each_has_elements_of_its_dtype(name, dtype):
    made = getattr(tt, name)([1, 0, 1])
    assert isinstance(made, tt.TypedStorage) and made.dtype is getattr(tt, dtype)
    assert getattr(tt, name).dtype is made.dtype
    assert made.tolist() == [1, 0, 1] and len(getattr(tt, name)(4)) == 4 and len(getattr(tt, name)()) == 0
    kinds = [n for n in NAMES if isinstance(made, getattr(tt, n))]
    assert kinds == [name]


@pytest.mark.torch
@pytest.mark.parametrize("name", NAMES)
def test_they_are_made_and_refused_as_in_torch(name):
    torch = pytest.importorskip("torch")
    calls = (
        lambda t, make: make([1, 0]).tolist(),
        lambda t, make: make((1, 1)).nbytes(),
        lambda t, make: make(3).size(),
        lambda t, make: make().tolist(),
        lambda t, make: make(2, 3),
        lambda t, make: make(1.5),
        lambda t, make: make(wrap_storage=3),
        lambda t, make: make([1], wrap_storage=t.ones(1).untyped_storage()),
        lambda t, make: make(wrap_storage=t.zeros(4, dtype=t.float64).untyped_storage()).tolist(),
        lambda t, make: isinstance(t.ones(2).storage(), make),
        lambda t, make: isinstance(t.ones(2).untyped_storage(), make),
    )
    for k, call in enumerate(calls):
        found = []
        for library in (tt, torch):
            try:
                found.append(call(library, getattr(library, name)))
            except (TypeError, RuntimeError, ValueError):
                found.append("refused")
        assert found[0] == found[1], f"call {k}"


def test_wrapping_shares_the_memory():
    x = tt.tensor([1.0, 2.0])
    memory = tt.FloatStorage(wrap_storage=x.untyped_storage())
    memory[0] = 5.0
    assert x.tolist() == [5.0, 2.0]


def test_storage_has_the_default_dtype():
    assert tt.Storage([1]).dtype is tt.float32 and isinstance(tt.Storage(), tt.FloatStorage)
    tt.set_default_dtype(tt.float64)
    try:
        assert tt.Storage.dtype is tt.Storage(2).dtype is tt.float64 and len(tt.Storage(2)) == 2
        assert isinstance(tt.Storage(), tt.DoubleStorage) and not isinstance(tt.FloatStorage(1), tt.Storage)
    finally:
        tt.set_default_dtype(tt.float32)


def test_a_file_that_is_mapped_is_a_storage(tmp_path):
    path = str(tmp_path / "numbers")
    made = tt.IntStorage.from_file(path, shared=True, size=3)
    made.fill_(7)
    assert tt.IntStorage.from_file(path, False, 2).tolist() == [7, 7]
    assert tt.FloatStorage.from_file(path, size=3).dtype is tt.float32
    with pytest.raises(RuntimeError, match="12 bytes"):
        tt.DoubleStorage.from_file(path, False, 2)


def test_a_call_warns_that_they_are_deprecated():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        tt.FloatStorage(1)
    assert [str(each.message).split(":")[0] for each in seen] == ["TypedStorage is deprecated"]


def test_every_memory_is_a_storage_base_and_the_base_makes_none():
    assert isinstance(tt.ones(1).untyped_storage(), tt.StorageBase)
    assert not isinstance(tt.ones(1), tt.StorageBase)
    assert not isinstance(tt.FloatStorage(1), tt.StorageBase)
    with pytest.raises((TypeError, RuntimeError), match="UntypedStorage"):
        tt.StorageBase()


def test_negative_sizes_are_refused():
    with pytest.raises((TypeError, RuntimeError), match="negative"):
        tt.FloatStorage(-1)


BYTES = bytes(range(1, 17))
BUFFERS = {
    "bytes": ("ByteStorage", {}),
    "native": ("FloatStorage", {"byte_order": "native"}),
    "big": ("IntStorage", {"byte_order": "big", "count": 1, "offset": 4}),
    "little": ("ShortStorage", {"byte_order": "little", "offset": 2}),
    "complex": ("ComplexFloatStorage", {"byte_order": "big"}),
    "nothing": ("ByteStorage", {"count": 0}),
}


@pytest.mark.torch
@pytest.mark.parametrize("case", BUFFERS)
def test_buffers_are_read_as_by_torch(case):
    import torch

    name, options = BUFFERS[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = getattr(torch, name).from_buffer(BYTES, **options).tolist()
    assert getattr(tt, name).from_buffer(BYTES, **options).tolist() == pytest.approx(expected, nan_ok=True)


def test_buffers_are_copied_and_checked():
    content = bytearray(BYTES)
    found = tt.ByteStorage.from_buffer(content)
    content[0] = 99
    assert found.tolist() == list(BYTES)
    memory = tt.UntypedStorage.from_buffer(BYTES, dtype=tt.int16, byte_order="native")
    assert memory.tolist() == list(BYTES)
    for options in ({"offset": 17}, {"offset": -1}, {"count": 17}):
        with pytest.raises(ValueError, match="from_buffer"):
            tt.ByteStorage.from_buffer(BYTES, **options)
    with pytest.raises(ValueError, match="no whole number of elements of 2 bytes"):
        tt.ShortStorage.from_buffer(BYTES, byte_order="little", offset=1)
    with pytest.raises(TypeError, match="'byte_order' is 'native', 'little' or 'big'"):
        tt.IntStorage.from_buffer(BYTES)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("args", "options"),
    [
        ((), {}),
        ((3,), {"dtype": "int8"}),
        (([1, 2],), {"dtype": "complex64"}),
        ((3,), {"device": "meta"}),
        (([1, 2, 3],), {"device": "meta", "dtype": "bool"}),
        ((), {"wrap_storage": 9, "dtype": "int32"}),
        ((2, 3), {}),
        (("ab",), {}),
        ((2.5,), {}),
        ((-1,), {}),
        ((), {"wrap_storage": 8}),
        ((1,), {"wrap_storage": 8, "dtype": "int32"}),
        ((), {"wrap_storage": 8, "dtype": "int32", "device": "cpu"}),
    ],
)
def test_the_class_makes_storages_and_refuses_what_pytorch_refuses(args, options):
    import torch

    found = []
    for library in (torch, tt):
        given = dict(options)
        if "dtype" in given:
            given["dtype"] = getattr(library, given["dtype"])
        if "wrap_storage" in given:
            given["wrap_storage"] = library.UntypedStorage(given["wrap_storage"])
        try:
            made = library.TypedStorage(*args, **given)
            found.append((str(made.dtype).partition(".")[2], made.device.type, len(made), made.nbytes()))
        except Exception as error:  # ours is held to be of its class
            found.append(error)
    theirs, ours = found
    assert isinstance(ours, type(theirs)) if isinstance(theirs, Exception) else ours == theirs


@pytest.mark.torch
def test_storages_without_data_have_a_size_and_refuse_what_needs_values():
    import torch

    calls = (
        lambda t, s: s[0],
        lambda t, s: s.untyped()[0],
        lambda t, s: t.TypedStorage(device="meta")[0],
        lambda t, s: t.UntypedStorage(device="meta")[0],
        lambda t, s: s.tolist(),
        lambda t, s: s.cpu(),
        lambda t, s: s.untyped().cpu(),
        lambda t, s: t.TypedStorage([1, 2], dtype=t.int16).copy_(s),
        lambda t, s: s.share_memory_(),
        lambda t, s: s.untyped().share_memory_(),
        lambda t, s: (s.untyped().device.type, s.untyped().nbytes(), s.untyped().size(), s.data_ptr()),
        lambda t, s: t.empty(0, dtype=t.int16, device="meta").set_(s).shape == (2,),
    )
    for k, call in enumerate(calls):
        found = []
        for library in (torch, tt):
            try:
                found.append(call(library, library.TypedStorage([1, 2], dtype=library.int16, device="meta")))
            except Exception as error:  # as above
                found.append(error)
        theirs, ours = found
        assert isinstance(ours, type(theirs)) if isinstance(theirs, Exception) else ours == theirs, (
            f"call {k}"
        )


def test_a_place_in_a_storage_without_data_is_checked():
    storage = tt.UntypedStorage(8, device="meta")
    x = tt.empty(0, dtype=tt.int32, device="meta")
    assert x.set_(storage, 0, (2,), (1,)).shape == (2,)
    with pytest.raises(RuntimeError, match="not part of memory"):
        tt.empty(0, dtype=tt.int32, device="meta").set_(storage, 1, (2,), (1,))


def test_a_storage_without_data_gets_another_size():
    storage = tt.TypedStorage([1, 2], dtype=tt.int16, device="meta")
    storage.resize_(10)
    assert len(storage) == storage.size() == 10 and storage.nbytes() == storage.untyped().nbytes() == 20
    storage.untyped().resize_(4)
    assert storage.nbytes() == 4

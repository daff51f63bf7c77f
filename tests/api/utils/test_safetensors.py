"""tt.utils.safetensors: against the library where it is there, and files that are damaged."""

from __future__ import annotations

import contextlib
import json
import os
import struct

import numpy as np
import pytest

import tt
from tt.errors import CorruptFileError, UnsupportedError
from tt.utils.safetensors import INDEX, load, load_file, load_sharded, save, save_file, save_sharded

DTYPES = [d for d in tt.library.ALL_DTYPES if d.name not in ("complex32", "complex128")]


def sample():
    tensors = {f"x.{d.name}": tt.tensor([[0, 1, 2], [3, 4, 5]]).to(d) for d in DTYPES}
    return {
        **tensors,
        "ünïcode": tt.ones(()),
        "empty": tt.zeros(0, 3),
        "column": tt.arange(6.0).reshape(2, 3).t(),
    }


def equal(a, b):
    assert sorted(a) == sorted(b)
    for name, x in a.items():
        y = b[name]
        assert (x.tolist(), str(x.dtype)[-5:], tuple(x.shape)) == (
            y.tolist(),
            str(y.dtype)[-5:],
            tuple(y.shape),
        )


@pytest.mark.parametrize("mapped", [False, True])
def test_every_dtype_and_shape_comes_back(tmp_path, mapped):
    path = tmp_path / "model.safetensors"
    save_file(sample(), path, {"format": "pt"})
    equal(load_file(path, mmap=mapped), sample())
    equal(load(save(sample())), sample())
    equal(tt.load(path), sample())
    assert load_file(path, "meta")["ünïcode"].device.type == "meta"


def test_a_mapped_file_can_be_changed_in_memory(tmp_path):
    path = tmp_path / "model.safetensors"
    save_file({"a": tt.ones(3)}, path)
    before = path.read_bytes()
    load_file(path, mmap=True)["a"][0] = 5
    assert path.read_bytes() == before


@pytest.mark.torch
def test_the_library_reads_what_tt_writes_and_writes_the_same_bytes(tmp_path):
    pytest.importorskip("torch")
    library = pytest.importorskip("safetensors.torch")
    path = tmp_path / "model.safetensors"
    save_file(sample(), path, {"format": "pt"})
    theirs = library.load_file(path)
    equal(theirs, sample())
    other = tmp_path / "other.safetensors"
    library.save_file({name: x.contiguous() for name, x in theirs.items()}, other, {"format": "pt"})
    equal(load_file(other), sample())
    assert library.save({"b": theirs["x.float32"], "a": theirs["x.int8"]}) == save(
        {"b": sample()["x.float32"], "a": sample()["x.int8"]}
    )


def test_what_the_format_cannot_say_is_refused():
    x = tt.ones(4)
    with pytest.raises(ValueError, match="'a' and 'b' share memory"):
        save({"a": x, "b": x[2:]})
    with pytest.raises(UnsupportedError, match="layout"):
        save({"a": tt.eye(2).to_sparse()})
    with pytest.raises(UnsupportedError, match="complex128"):
        save({"a": tt.zeros(1, dtype=tt.complex128)})
    with pytest.raises(TypeError, match="under names"):
        save({"a": 1})
    with pytest.raises(TypeError, match="dict of tensors"):
        save([x])
    with pytest.raises(TypeError, match="metadata"):
        save({"a": x}, {"epoch": 1})


def test_a_map_of_devices_is_refused(tmp_path):
    path = tmp_path / "model.safetensors"
    save_file({"a": tt.ones(1)}, path)
    for where in ({"cpu": "meta"}, lambda storage, location: storage):
        with pytest.raises(RuntimeError, match="one device"):
            tt.load(path, map_location=where)


def test_cut_off_or_changed_anywhere_a_file_is_refused_or_loads_the_same_names():
    data = save({"first": tt.ones(3), "second": tt.arange(4)}, {"a": "b"})
    for end in range(len(data)):
        with pytest.raises(CorruptFileError):
            load(data[:end])
    with pytest.raises(CorruptFileError):
        load(data + b"x")
    random = np.random.default_rng(2)
    for position in range(len(data)):
        for _ in range(3):
            changed = bytearray(data)
            changed[position] ^= 1 << int(random.integers(8))
            with contextlib.suppress(CorruptFileError, UnsupportedError):
                assert len(load(bytes(changed))) == 2  # the format has no checksums


def file_of(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(begin, end, shape=(1,), dtype="F32"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


@pytest.mark.parametrize(
    "data",
    [
        file_of({}, length=1 << 62), file_of(b"[]"), file_of(b"{" * 10), file_of(b"[" * 100_000), file_of(b"\xff\xff"),
        file_of({"a": entry(0, 4)}), file_of({"a": entry(0, 1 << 50, [1 << 48])}, b"1234"), file_of({"a": 5}),
        file_of({"a": entry(-4, 0)}, b""), file_of({"a": entry(0, 4, [-1])}, b"1234"), file_of({"a": {}}),
        file_of({"a": entry(0, 4), "b": entry(2, 6)}, b"123456"), file_of({"a": entry(4, 8)}, b"12345678"),
        file_of({"a": entry(0, 4), "b": entry(0, 4)}, b"1234"), file_of({"a": entry(0, 4, [2])}, b"1234"),
        file_of(b'{"a":%b,"a":%b}' % ((json.dumps(entry(0, 4)).encode(),) * 2), b"1234"),
        file_of({"a": entry(0, 4, ["1"])}, b"1234"),
        file_of({"a": entry(0, 4, [True])}, b"1234"), file_of({"__metadata__": {"a": 1}}), file_of({"__metadata__": 3}),
        file_of({"a": entry(0, 4, [1] * 100)}, b"1234"), file_of({"a": entry(0, 4, dtype=3)}, b"1234"),
    ],
)  # fmt: skip
def test_headers_that_lie_are_refused_before_memory_is_taken(data):
    with pytest.raises(CorruptFileError):
        load(data)


def test_a_dtype_that_tt_does_not_have_is_named():
    with pytest.raises(UnsupportedError, match="F6_E2M3"):
        load(file_of({"a": entry(0, 1, dtype="F6_E2M3")}, b"1"))


def test_shards_hold_what_the_index_says(tmp_path):
    tensors = {f"layer.{n}": tt.full((10,), float(n)) for n in range(7)}
    save_sharded(tensors, tmp_path / "model", max_shard_size=80)
    names = sorted(os.listdir(tmp_path / "model"))
    assert names == [f"model-0000{n}-of-00004.safetensors" for n in range(1, 5)] + [INDEX]
    for where in (tmp_path / "model", tmp_path / "model" / INDEX):
        equal(load_sharded(where, mmap=where.name == INDEX), tensors)
    index = json.loads((tmp_path / "model" / INDEX).read_text())
    assert index["metadata"] == {"total_size": 280}
    for change in ("../x.safetensors", "/etc/passwd", names[1], 5):
        (tmp_path / "model" / INDEX).write_text(
            json.dumps({"weight_map": {**index["weight_map"], "layer.0": change}})
        )
        with pytest.raises(CorruptFileError):
            load_sharded(tmp_path / "model")

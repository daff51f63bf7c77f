"""tt.load: where tensors go, mapped files, the order of bytes, skipped data, very old files."""

from __future__ import annotations

import contextlib
import io
import mmap
import os
import pickle
import struct
import sys
import tarfile
from fractions import Fraction

import numpy as np
import pytest

import tt
from tests.api.serialization.archives import archive_of, legacy_of, storage_id, text
from tests.backends.array_api.devices import device as new_device
from tt.errors import CorruptFileError, DeviceError, UnsafeGlobalError
from tt.serialization import LoadedStorage, LoadEndianness, legacy


def saved(obj, **options):
    file = io.BytesIO()
    tt.save(obj, file, **options)
    return file.getvalue()


def load(data, *args, **options):
    return tt.load(io.BytesIO(data), *args, **options)


def tensor_of(kind="FloatStorage", count=3, location="cpu", key="0"):
    storage = storage_id(kind, key, location, count)
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n("
        + storage
        + b"K\x00K"
        + bytes([count])
        + b"\x85K\x01\x85\x89NtR"
    )


THREE = np.arange(3, dtype="<f4").tobytes()


@pytest.mark.parametrize("zipped", [True, False])
def test_a_stream_that_cannot_seek_is_read(zipped):
    read, write = os.pipe()
    with os.fdopen(write, "wb") as file:
        file.write(saved({"x": tt.ones(2)}, _use_new_zipfile_serialization=zipped))
    with os.fdopen(read, "rb") as file:
        assert tt.load(file)["x"].tolist() == [1, 1]


# --- map_location ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "where", ["meta", tt.device("meta"), b"meta", {"cpu": "meta"}, {tt.device("cpu"): tt.device("meta")}]
)
@pytest.mark.parametrize("zipped", [True, False])
def test_tensors_go_where_map_location_says(where, zipped):
    found = load(saved([tt.ones(2, 3), tt.ones(4)[1:]], _use_new_zipfile_serialization=zipped), where)
    assert [x.device.type for x in found] == ["meta", "meta"]
    assert [tuple(x.shape) for x in found] == [(2, 3), (3,)]


def test_a_dict_without_the_device_changes_nothing():
    assert load(saved(tt.ones(2)), {"cuda:0": "meta"}).device.type == "cpu"


def test_a_function_gets_each_storage_once_with_the_name_of_its_device():
    seen = []

    def place(storage, location):
        seen.append((storage.nbytes(), len(storage), str(storage.device), location, storage.dtype))
        return storage.to("meta") if len(seen) == 1 else None

    x = tt.ones(4)
    a, b, c = load(saved([x, x[2:], tt.zeros(3, dtype=tt.int16)]), place)
    assert seen == [(16, 4, "cpu", "cpu", tt.float32), (6, 3, "cpu", "cpu", tt.int16)]
    assert (a.device.type, b.device.type, c.device.type) == ("meta", "meta", "cpu")


def test_a_function_may_return_the_storage_itself_or_a_tensor_of_bytes():
    data = archive_of(b"\x80\x02" + tensor_of(location="cuda:3") + b".", {"data/0": THREE})
    assert load(data, lambda storage, location: storage).tolist() == [0, 1, 2]
    assert load(data, lambda storage, location: storage.cpu().bytes).tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="map_location returned int"):
        load(data, lambda storage, location: 5)


def test_map_location_of_another_type_is_an_error():
    with pytest.raises(TypeError, match="map_location"):
        load(saved(tt.ones(1)), 1.5)
    with pytest.raises(ValueError, match="device"):
        load(saved(tt.ones(1)), "nowhere")


@pytest.mark.parametrize("wrapped", ["zip", "legacy"])
def test_a_device_that_is_not_here_is_named_with_the_remedy(wrapped):
    pkl = b"\x80\x02" + tensor_of(location="mps") + b"."
    data = (
        archive_of(pkl, {"data/0": THREE})
        if wrapped == "zip"
        else legacy_of(pkl.replace(b"tQ", b"NtQ"), ["0"], struct.pack("<q", 3) + THREE)
    )
    with pytest.raises(DeviceError, match="map_location='cpu'"):
        load(data)
    assert load(data, "cpu").tolist() == [0, 1, 2]


def test_packages_name_locations_and_restore_them():
    def tag(memory):
        return "attic" if memory.numel() == 8 else None

    def restore(storage, location):
        assert isinstance(storage, LoadedStorage)
        return storage.to("meta") if location == "attic" else None

    packages = tt.serialization.locations._packages
    tt.serialization.register_package(50, lambda memory: None, lambda storage, location: None)
    tt.serialization.register_package(10, tag, restore)
    try:
        data = saved([tt.ones(2), tt.ones(3)])
        a, b = load(data)
        assert (a.device.type, b.device.type) == ("meta", "cpu")
    finally:
        packages.clear()
    with pytest.raises(DeviceError, match="attic"):
        load(data)


def test_an_untyped_storage_is_shared_wherever_it_goes():
    x = tt.ones(4)
    a, b = load(saved([x, x.view(tt.int32)]), "meta")
    assert a.untyped_storage() is b.untyped_storage()


# --- mapped files ------------------------------------------------------------------------------------------------


def test_a_mapped_file_gives_the_same_tensors_and_changes_stay_in_memory(tmp_path):
    path = tmp_path / "weights.pt"
    base = tt.arange(1000.0)
    tt.save(
        {"base": base, "part": base[3:9], "none": tt.ones(0), "parameter": tt.nn.Parameter(tt.ones(3))}, path
    )
    before = path.read_bytes()
    found = tt.load(path, mmap=True)
    found["part"][0] = -1
    assert found["base"][3] == -1 and found["base"][999] == 999 and found["parameter"].tolist() == [1, 1, 1]
    assert path.read_bytes() == before
    tt.save(found, path)  # over the file that is mapped
    assert found["base"][999] == 999
    assert tt.load(path)["part"][0] == -1


@pytest.mark.skipif(sys.platform == "win32", reason="flags of mmap are of POSIX")
def test_a_shared_mapping_writes_changes_to_the_file(tmp_path):
    path = tmp_path / "weights.pt"
    tt.save(tt.zeros(3), path)
    with tt.serialization.set_default_mmap_options(mmap.MAP_SHARED):
        tt.load(path, mmap=True)[1] = 5
    tt.serialization.set_crc32_options(False)
    try:
        assert tt.load(path).tolist() == [0, 5, 0]
    finally:
        tt.serialization.set_crc32_options(True)
    assert tt.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE


@pytest.mark.skipif(
    not os.path.exists("/proc/self/statm"), reason="the system reports no memory of a process"
)
def test_a_large_file_is_mapped_without_being_read(tmp_path):
    def resident():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * mmap.PAGESIZE

    path = tmp_path / "large.pt"
    with tt.serialization.skip_data():
        tt.save({"x": tt.empty(1 << 28, device="meta"), "y": tt.empty(1 << 26)}, path)
    before = resident()
    found = tt.load(path, mmap=True)
    assert resident() - before < 1 << 26  # of more than a gigabyte
    assert found["y"][5] == 0


def test_the_old_format_cannot_be_mapped(tmp_path):
    path = tmp_path / "old.pt"
    tt.save(tt.ones(2), path, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="zip format"):
        tt.load(path, mmap=True)


def test_a_mapped_file_in_another_order_of_bytes_is_turned(tmp_path):
    path = tmp_path / "big.pt"
    path.write_bytes(
        archive_of(b"\x80\x02" + tensor_of() + b".", {"data/0": np.arange(3, dtype=">f4")}, b"big")
    )
    assert tt.load(path, mmap=True).tolist() == [0, 1, 2]


# --- the order of bytes ------------------------------------------------------------------------------------------

ORDERED = {
    "FloatStorage": ">f4", "DoubleStorage": ">f8", "ShortStorage": ">i2", "LongStorage": ">i8", "ByteStorage": "u1",
    "ComplexFloatStorage": ">c8", "ComplexDoubleStorage": ">c16", "HalfStorage": ">f2",
}  # fmt: skip


@pytest.mark.parametrize("kind", ORDERED)
def test_files_of_machines_with_another_order_of_bytes_are_turned(kind):
    data = np.array([1, 2, 3], ORDERED[kind]).tobytes()
    pkl = b"\x80\x02" + tensor_of(kind) + b"."
    assert load(archive_of(pkl, {"data/0": data}, b"big")).tolist() == [1, 2, 3]


def test_an_untyped_storage_is_turned_once_for_its_dtype():
    body = storage_id("UntypedStorage", "0", "cpu", 4).replace(b"ctorch\nUn", b"ctorch.storage\nUn")
    one = b"ctorch._utils\n_rebuild_tensor_v3\n(" + body + b"K\x00K\x02\x85K\x01\x85\x89Nctorch\nuint16\ntR"
    data = archive_of(b"\x80\x02(" + one + one + b"t.", {"data/0": np.array([1, 2], ">u2")}, b"big")
    assert [x.tolist() for x in load(data)] == [[1, 2], [1, 2]]


def test_files_that_do_not_say_their_order_are_read_as_set():
    data = saved(tt.tensor([1, 2], dtype=tt.int32), _disable_byteorder_record=True)
    assert load(data).tolist() == [1, 2]
    try:
        for order, expected in (("BIG", [1 << 24, 2 << 24]), ("LITTLE", [1, 2]), ("NATIVE", [1, 2])):
            tt.serialization.set_default_load_endianness(LoadEndianness[order])
            assert load(data).tolist() == expected
    finally:
        tt.serialization.set_default_load_endianness(None)
    with pytest.raises(TypeError, match="LoadEndianness"):
        tt.serialization.set_default_load_endianness("big")


def test_the_old_format_says_its_order():
    info = {"protocol_version": 1001, "little_endian": False, "type_sizes": {}}
    plain = [0x1950A86A20F9469CFC6C, 1001, info]
    pkl = b"\x80\x02" + tensor_of().replace(b"tQ", b"NtQ") + b"."
    data = b"".join(pickle.dumps(part, 2) for part in plain) + pkl + pickle.dumps(["0"], 2)
    assert load(data + struct.pack("<q", 3) + np.arange(3, dtype=">f4").tobytes()).tolist() == [0, 1, 2]


# --- skipped data ------------------------------------------------------------------------------------------------


def test_saving_without_data_leaves_room_that_can_be_filled(tmp_path):
    path = tmp_path / "weights.pt"
    with tt.serialization.skip_data():
        tt.save({"a": tt.ones(3), "b": [1, 2]}, path)
    assert tt.load(path)["a"].tolist() == [0, 0, 0]
    tt.save({"a": tt.ones(3), "b": [1, 2]}, tmp_path / "weights_full.pt")
    with tt.serialization.skip_data():
        found = tt.load(tmp_path / "weights_full.pt")
    assert found["a"].tolist() == [0, 0, 0] and found["b"] == [1, 2]


# --- the old format ----------------------------------------------------------------------------------------------


def test_an_old_file_cut_off_or_changed_anywhere_is_refused_or_loads():
    data = saved([tt.arange(5.0), "text", tt.ones(2, dtype=tt.int8)], _use_new_zipfile_serialization=False)
    for end in range(len(data)):
        with pytest.raises(CorruptFileError):
            load(data[:end])
    random = np.random.default_rng(1)
    for position in range(len(data)):
        changed = bytearray(data)
        changed[position] ^= 1 << int(random.integers(8))
        with contextlib.suppress(tt.errors.TTError):  # the format has no checksums
            load(bytes(changed))


@pytest.mark.parametrize("head", [1, 300, 1 << 22])
@pytest.mark.parametrize("by_name", [True, False])
def test_old_files_one_after_the_other_are_read_wherever_their_pickles_end(
    tmp_path, monkeypatch, head, by_name
):
    monkeypatch.setattr(legacy, "_HEAD", head)
    objects = [{"x": tt.arange(1000), "y": tt.ones(3)}, [tt.zeros(0), tt.arange(7.0)[2:]]]
    data = b"before" + b"".join(saved(x, _use_new_zipfile_serialization=False) for x in objects) + b"after"
    (tmp_path / "files").write_bytes(data)
    with open(tmp_path / "files", "rb") if by_name else io.BytesIO(data) as file:
        file.seek(len(b"before"))
        first, second = tt.load(file), tt.load(file)
        assert file.read() == b"after"
    assert tt.equal(first["x"], objects[0]["x"]) and first["y"].tolist() == [1, 1, 1]
    assert second[0].shape == (0,) and second[1].tolist() == [2, 3, 4, 5, 6]


def test_parts_of_storages_that_very_old_files_have_are_parts():
    view = b"(" + text("1") + b"K\x01K\x02t"
    storage = storage_id().replace(b"tQ", view + b"tQ")
    tensor = b"ctorch._utils\n_rebuild_tensor\n(" + storage + b"K\x00K\x02\x85K\x01\x85tR"
    whole = tensor_of().replace(b"tQ", b"NtQ")
    data = legacy_of(b"\x80\x02(" + whole + tensor + b"t.", ["0"], struct.pack("<q", 3) + THREE)
    whole, part = load(data)
    part[0] = 9
    assert whole.tolist() == [0, 9, 2] and part.tolist() == [9, 2]


def test_classes_with_their_source_are_read_as_classes():
    pkl = (
        b"\x80\x02("
        + text("module")
        + b"ccollections\nOrderedDict\n"
        + text("x.py")
        + text("source")
        + b"tQ)R."
    )
    assert load(legacy_of(pkl)) == {}


# --- tar files ---------------------------------------------------------------------------------------------------


def tar_of(storages, tensors, pkl):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:", format=tarfile.PAX_FORMAT) as archive:
        for name, data in (("storages", storages), ("tensors", tensors), ("pickle", pkl)):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


def parts_of_a_tar():
    entry = b"\x80\x02K\x07" + text("cpu") + b"ctorch\nFloatStorage\n\x87."
    storages = pickle.dumps(1, 2) + entry + struct.pack("<q", 6) + np.arange(6, dtype="<f4").tobytes()
    storages += pickle.dumps([(8, 7, 2, 4)], 2)
    first = b"\x80\x02K\x01K\x07ctorch\nFloatTensor\n\x87."
    second = b"\x80\x02K\x02K\x08ctorch\nFloatTensor\n\x87."
    tensors = pickle.dumps(2, 2)
    tensors += first + struct.pack("<ii", 2, 0) + struct.pack("<5q", 2, 3, 3, 1, 0)
    tensors += second + struct.pack("<ii", 1, 0) + struct.pack("<3q", 2, 1, 1)
    pkl = b"\x80\x02}(" + text("a") + text("1") + b"Q" + text("b") + b"K\x02Q" + text("n") + b"K\x05u."
    return storages, tensors, pkl


def test_tar_files_of_the_first_versions_are_read_and_share_memory():
    found = load(tar_of(*parts_of_a_tar()))
    assert found["a"].tolist() == [[0, 1, 2], [3, 4, 5]] and found["b"].tolist() == [3, 4] and found["n"] == 5
    found["a"][1, 0] = 9
    assert found["b"][0] == 9


@pytest.mark.torch
def test_tar_files_are_read_as_torch_reads_them(tmp_path):
    torch = pytest.importorskip("torch")
    path = tmp_path / "old.tar"
    path.write_bytes(tar_of(*parts_of_a_tar()))
    theirs, mine = torch.load(path, weights_only=False), tt.load(path)
    assert {k: getattr(v, "tolist", lambda v=v: v)() for k, v in theirs.items()} == {
        k: getattr(v, "tolist", lambda v=v: v)() for k, v in mine.items()
    }


def test_hostile_or_damaged_tar_files_are_refused():
    storages, tensors, pkl = parts_of_a_tar()
    system = b"\x80\x02cposix\nsystem\n" + text("true") + b"\x85R."
    for parts in (
        (system, tensors, pkl), (storages, system, pkl), (storages, tensors, system), (b"", tensors, pkl),
        (storages[:60], tensors, pkl), (storages, tensors[:60], pkl), (storages, tensors, pkl[:-3]),
        (storages.replace(struct.pack("<q", 6), struct.pack("<q", 1 << 50)), tensors, pkl),
        (storages, tensors.replace(struct.pack("<5q", 2, 3, 3, 1, 0), struct.pack("<5q", 2, 1 << 40, 3, 1, 0)), pkl),
        (storages, tensors, pkl.replace(text("1"), text("9"))),
    ):  # fmt: skip
        with pytest.raises(tt.errors.TTError):
            load(tar_of(*parts))
    whole = tar_of(storages, tensors, pkl)
    for end in range(300, len(whole), 100):
        with contextlib.suppress(tt.errors.TTError):
            assert load(whole[:end])["a"].tolist() == [[0, 1, 2], [3, 4, 5]]  # only padding is missing


# --- devices of third parties ------------------------------------------------------------------------------------


@pytest.mark.parametrize("zipped", [True, False])
def test_tensors_of_another_backend_come_back_there_or_where_they_are_sent(zipped):
    with new_device(pytest.importorskip("array_api_strict"), "loaded"):
        device = tt.device("loaded")
        x = tt.arange(6.0).to(device)
        saved_there = {
            "x": x,
            "row": x.reshape(2, 3)[1],
            "p": tt.nn.Parameter(x * 2),
            "i": tt.ones(2, dtype=tt.int16),
        }
        data = saved(saved_there, _use_new_zipfile_serialization=zipped)
        found = load(data)
        assert [str(v.device) for v in found.values()] == [str(x.device)] * 3 + ["cpu"]
        assert found["x"].tolist() == [0, 1, 2, 3, 4, 5] and found["row"].tolist() == [3, 4, 5]
        assert found["p"].tolist() == [0, 2, 4, 6, 8, 10] and isinstance(found["p"], tt.nn.Parameter)
        here = load(data, "cpu")
        assert str(here["x"].device) == "cpu" and here["row"].tolist() == [3, 4, 5]
        sent = load(saved({"x": tt.ones(3)}), {"cpu": str(x.device)})
        assert str(sent["x"].device) == str(x.device) and sent["x"].tolist() == [1, 1, 1]


# --- layouts and tensors without data ----------------------------------------------------------------------------


class Quantised(tt.Tensor):
    """A tensor whose class handles all operators: its values are integers and a scale."""

    @staticmethod
    def __new__(cls, values, scale):
        return tt.Tensor._make_wrapper_subclass(cls, values.shape, dtype=tt.float32)

    def __init__(self, values, scale):
        self.values, self.scale = values, scale

    @classmethod
    def __tt_dispatch__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


def test_tensors_without_data_of_their_own_come_back_with_what_they_have():
    x = Quantised(tt.tensor([1, 2], dtype=tt.int8), 0.5)
    data = saved([x])
    with pytest.raises(tt.errors.UnsafeGlobalError, match="Quantised"):
        load(data)
    for options in ({"weights_only": False}, {}):
        with tt.serialization.safe_globals([Quantised]):
            found = load(data, **options)[0]
        assert type(found) is Quantised and found.shape == (2,) and found.scale == 0.5
        assert found.values.tolist() == [1, 2]


def test_an_empty_file_is_the_end_of_a_file():
    for kind in (EOFError, RuntimeError, tt.errors.EmptyFileError, tt.errors.CorruptFileError):
        with pytest.raises(kind, match="the file is empty"):
            tt.load(io.BytesIO())


# --- variables of the environment -----------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["TORCH", "TT"])
@pytest.mark.parametrize("value", ["1", "y", "YES", "true"])
def test_the_environment_forces_loading_of_weights_only(prefix, value, monkeypatch):
    data = saved(Fraction(1, 2))
    monkeypatch.setenv(f"{prefix}_FORCE_WEIGHTS_ONLY_LOAD", value)
    for options in ({}, {"weights_only": False}):
        with pytest.raises(UnsafeGlobalError):
            load(data, **options)
    with pytest.raises(RuntimeError, match="pickle_module"):
        load(data, pickle_module=pickle)
    monkeypatch.setenv(f"{prefix}_FORCE_WEIGHTS_ONLY_LOAD", "0")
    assert load(data, weights_only=False) == Fraction(1, 2)


@pytest.mark.parametrize("prefix", ["TORCH", "TT"])
def test_the_environment_changes_the_default_to_loading_everything(prefix, monkeypatch):
    data = saved(Fraction(1, 2))
    monkeypatch.setenv(f"{prefix}_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.warns(UserWarning, match=f"{prefix}_FORCE_NO_WEIGHTS_ONLY_LOAD"):
        assert load(data) == Fraction(1, 2)
    with pytest.raises(UnsafeGlobalError):
        load(data, weights_only=True)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match=r"only one .* may be set"):
        load(data)

"""Archives: damaged, cut off and deceiving ones are refused with one error."""

from __future__ import annotations

import contextlib
import io
import struct
import zipfile

import numpy as np
import pytest

import tt
from tests.api.serialization.archives import archive_of
from tt.errors import CorruptFileError
from tt.serialization.archive_reader import ArchiveReader
from tt.serialization.archive_writer import ArchiveWriter


@pytest.fixture(scope="module")
def saved():
    file = io.BytesIO()
    tt.save(
        {"a": tt.arange(40.0).reshape(5, 8), "b": [tt.ones(3, dtype=tt.int8), "text"], "c": tt.zeros(0)}, file
    )
    return file.getvalue()


def load(data):
    return tt.load(io.BytesIO(data))


def same(found):
    return (
        list(found) == ["a", "b", "c"]
        and found["a"].tolist() == np.arange(40.0).reshape(5, 8).tolist()
        and found["b"][0].tolist() == [1, 1, 1]
        and found["b"][1] == "text"
        and found["c"].shape == (0,)
    )


def test_a_file_cut_off_at_any_byte_is_refused(saved):
    for end in range(len(saved)):
        with pytest.raises(CorruptFileError):
            load(saved[:end])


def test_a_file_with_any_byte_changed_is_refused_or_loads_as_it_was(saved):
    random = np.random.default_rng(3)
    refused = 0
    for position in range(len(saved)):
        changed = bytearray(saved)
        changed[position] ^= 1 << int(random.integers(8))
        try:
            assert same(load(bytes(changed))), position  # of what means nothing: dates, padding
        except CorruptFileError:
            refused += 1
    assert refused > 500


def test_a_file_of_which_a_part_is_zeros_or_missing_or_doubled_is_refused_or_loads_as_it_was(saved):
    random = np.random.default_rng(4)
    for _ in range(300):
        start, end = sorted(random.integers(len(saved) + 1, size=2))
        for changed in (
            saved[:start] + bytes(end - start) + saved[end:],
            saved[:start] + saved[end:],
            saved[:end] + saved[start:],
        ):
            with contextlib.suppress(CorruptFileError):
                assert same(load(changed))


def test_damaged_numbers_are_found_by_their_checksum_which_can_be_ignored(saved):
    place = saved.index(struct.pack("<f", 39.0))
    changed = saved[:place] + struct.pack("<f", 40.0) + saved[place + 4 :]
    with pytest.raises(CorruptFileError, match="checksum") as caught:
        load(changed)
    assert caught.value.path == "<file object>" and "data/0" in caught.value.problem
    tt.serialization.set_crc32_options(False)
    try:
        assert load(changed)["a"][-1, -1] == 40
    finally:
        tt.serialization.set_crc32_options(True)


@pytest.mark.parametrize("place", [0, 5_000_000, 21_000_000, 23_999_999])
def test_damage_anywhere_in_a_large_record_is_found(tmp_path, place):
    path = tmp_path / "large.pt"
    x = tt.arange(3_000_000)
    tt.save(x, path)
    assert tt.equal(tt.load(path), x)
    record = ArchiveReader(io.BytesIO(path.read_bytes()), "large").find("data/0")
    with open(path, "r+b") as file:
        file.seek(record.offset + place)
        byte = file.read(1)[0]
        file.seek(record.offset + place)
        file.write(bytes([byte ^ 16]))
    with pytest.raises(CorruptFileError, match="checksum"):
        tt.load(path)
    with open(path, "rb") as file, pytest.raises(CorruptFileError, match="checksum"):
        tt.load(file)
    tt.serialization.set_crc32_options(False)
    try:
        assert (tt.load(path) != x).sum() == 1
    finally:
        tt.serialization.set_crc32_options(True)


def zipped(entries, *, method=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return file.getvalue()


@pytest.mark.parametrize(
    "names",
    [
        ["../x"], ["a/../../x"], ["/etc/x"], ["a//x"], ["a/./x"], ["a\\..\\x"], ["plain"], ["a/x", "b/x"], ["a/x\x00y"],
        ["a/"],
    ],
)  # fmt: skip
def test_names_that_lead_elsewhere_are_refused(names):
    data = zipped([("a/data.pkl", b"\x80\x02N.")] + [(name.replace("\x00", "?"), b"x") for name in names])
    if "\x00" in names[0]:
        data = data.replace(b"?", b"\x00")
    with pytest.raises(CorruptFileError):
        load(data)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_records_of_one_name_are_refused():
    with pytest.raises(CorruptFileError, match="two records"):
        load(zipped([("a/data.pkl", b"\x80\x02N."), ("a/data.pkl", b"\x80\x02K\x01.")]))


def test_compressed_records_are_refused_so_no_small_file_becomes_a_large_one():
    with pytest.raises(CorruptFileError, match="compressed") as caught:
        load(zipped([("a/data.pkl", b"\x80\x02N."), ("a/data/0", bytes(10**6))], method=zipfile.ZIP_DEFLATED))
    assert "zip -0" in str(caught.value)


def test_plain_zip_files_are_read():
    assert load(zipped([("a/data.pkl", b"\x80\x02K\x07.")])) == 7


def test_a_record_that_says_it_is_larger_than_the_file_takes_no_memory(saved):
    directory = saved.index(b"PK\1\2")
    for position, width in ((24, "<I"), (20, "<I"), (42, "<I")):
        changed = bytearray(saved)
        struct.pack_into(width, changed, directory + position, 0xFFFFFFF0)
        with pytest.raises(CorruptFileError):
            load(bytes(changed))


def test_records_that_overlap_are_refused():
    entries = [("a/data.pkl", b"\x80\x02N."), ("a/xyz", bytes(200))]
    data = bytearray(zipped(entries))
    inner = zipped([("a/pqr", b"12345")])
    start = data.index(bytes(200))
    data[start : start + 40] = inner[:40]  # a header within the data of another record
    directory = data.index(b"PK\1\2")
    extra = inner[inner.index(b"PK\1\2") : inner.index(b"PK\5\6")]
    extra = extra[:42] + struct.pack("<I", start) + extra[46:]
    end = data.index(b"PK\5\6")
    tail = data[end:]
    struct.pack_into("<HHI", tail, 8, 3, 3, end - directory + len(extra))
    with pytest.raises(CorruptFileError, match="overlaps"):
        load(bytes(data[:end]) + extra + bytes(tail))


def test_the_headers_of_a_record_must_agree(saved):
    place = saved.index(b"archive/data/0")
    with pytest.raises(CorruptFileError, match="header"):
        load(saved[:place] + b"archive/data/1" + saved[place + 14 :])


def test_an_archive_with_a_missing_record_names_it():
    with pytest.raises(CorruptFileError, match=r"data\.pkl"):
        load(zipped([("a/other", b"x")]))


@pytest.mark.parametrize("order", [b"middle", b"\xff"])
def test_an_unknown_order_of_bytes_is_refused(order):
    with pytest.raises(CorruptFileError, match="order of bytes"):
        load(archive_of(b"\x80\x02N.", byteorder=order))


def test_a_program_of_torchscript_is_refused_by_name():
    with pytest.raises(tt.errors.UnsupportedError, match="TorchScript"):
        load(zipped([("a/data.pkl", b"\x80\x02N."), ("a/constants.pkl", b"\x80\x02).")]))


def test_what_the_writer_writes_zipfile_reads_and_every_record_is_aligned():
    file = io.BytesIO()
    writer = ArchiveWriter(file, "näme")
    contents = {f"data/{n}": bytes([n]) * n for n in (0, 1, 63, 64, 65, 200)}
    for name, data in contents.items():
        writer.write(name, data)
    writer.close()
    with zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(f"näme/{name}") for name in contents} == contents
    reader = ArchiveReader(io.BytesIO(file.getvalue()), "name")
    assert {name: reader.read(name) for name in contents} == contents
    assert all(record.offset % 64 == 0 for record in reader.records.values())


def test_files_that_are_no_archives_are_refused():
    for data in (b"", b"x", b"PK\3\4", b"hello, world" * 100, b"PK\5\6" + bytes(18), bytes(2000)):
        with pytest.raises(CorruptFileError):
            load(data)

"""Reading files into memory: bytes, counts and checksums, natively and by the methods of a file object."""

from __future__ import annotations

import gzip
import io
import os
import zlib

import numpy as np
import pytest

import tt
from tt.backends.cpu.native import reading
from tt.library import empty_bytes, read_into

SPAN = 4 << 20


@pytest.fixture(scope="module")
def contents():
    return np.random.default_rng(0).bytes(5 * SPAN + 12345)


@pytest.fixture(params=["system", "without a buffer", "in memory", "read alone", "zlib"])
def opened(request, contents, tmp_path, monkeypatch):
    """Give the same bytes as file objects of every kind."""
    path = tmp_path / "file"
    path.write_bytes(contents)
    if request.param == "in memory":
        yield io.BytesIO(contents)
        return
    if request.param == "zlib":
        monkeypatch.setattr(reading, "native_checksums", lambda: None)
    with open(path, "rb", buffering=0 if request.param == "without a buffer" else -1) as file:
        yield OnlyRead(file) if request.param == "read alone" else file


class OnlyRead:
    def __init__(self, file):
        self.read, self.seek = file.read, file.seek


PLACES = [
    (0, 0), (0, 1), (3, 64), (7, 300_000), (0, SPAN), (1, SPAN + 1), (5, 3 * SPAN), (100, 5 * SPAN),
    (0, 5 * SPAN + 12345),
]  # fmt: skip


@pytest.mark.parametrize(("offset", "size"), PLACES)
def test_a_part_of_a_file_is_read_with_its_checksum(opened, contents, offset, size):
    expected = contents[offset : offset + size]
    for check in (True, False):
        memory = np.full(size + 2, 7, np.uint8)
        got, crc = read_into(opened, offset, memory[1:-1], check)
        assert (got, crc) == (size, zlib.crc32(expected) if check else 0)
        assert memory[1:-1].tobytes() == expected
        assert memory[0] == memory[-1] == 7


@pytest.mark.parametrize("missing", [1, 4096, SPAN, 2 * SPAN + 5])
def test_a_file_that_ends_too_early_says_how_much_it_has(opened, contents, missing):
    offset = SPAN + 3
    memory = empty_bytes(len(contents) - offset + missing)
    got, _ = read_into(opened, offset, memory)
    assert got == len(contents) - offset
    assert memory[:got].tobytes() == contents[offset:]
    assert read_into(opened, len(contents) + 10, memory[:5])[0] == 0


def test_the_position_of_a_buffered_file_does_not_matter_and_stays(contents, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(contents)
    with open(path, "rb") as file:
        assert file.read(10) == contents[:10]
        memory = empty_bytes(20)
        read_into(file, 5, memory)
        assert memory.tobytes() == contents[5:25]
        if reading.native_checksums() is not None:
            assert file.read(3) == contents[10:13]


def test_files_that_unpack_or_are_being_written_are_read_by_their_methods(contents, tmp_path):
    memory = empty_bytes(1000)
    with gzip.open(tmp_path / "packed", "wb") as file:
        file.write(contents[:5000])
    with gzip.open(tmp_path / "packed", "rb") as file:
        assert read_into(file, 100, memory)[0] == 1000
    assert memory.tobytes() == contents[100:1100]
    with open(tmp_path / "plain", "w+b") as file:
        file.write(contents[:2000])  # part of it still in the buffer
        assert read_into(file, 10, memory)[0] == 1000
    assert memory.tobytes() == contents[10:1010]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a file that cannot be read")
def test_an_error_of_the_system_is_raised():
    with open("/proc/self/mem", "rb", buffering=0) as file, pytest.raises(OSError):
        read_into(file, 0, empty_bytes(64))


def test_one_thread_reads_the_same(contents, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(contents)
    before = tt.get_num_threads()
    try:
        for threads in (1, 3, 64):
            tt.set_num_threads(threads)
            memory = empty_bytes(len(contents))
            with open(path, "rb") as file:
                assert read_into(file, 0, memory, check=True) == (len(contents), zlib.crc32(contents))
            assert memory.tobytes() == contents
    finally:
        tt.set_num_threads(before)


def test_memory_is_writable_and_of_any_size():
    for size in (0, 1, 4097, 5 << 20):
        memory = empty_bytes(size)
        memory[:] = 3
        assert memory.nbytes == size and memory.flags.writeable and memory.flags.c_contiguous
    for wrong in (-1, "3"):
        with pytest.raises((ValueError, TypeError)):
            empty_bytes(wrong)


def test_large_memory_that_was_freed_serves_again():
    first = empty_bytes(32 << 20)
    first[:] = 1
    address = first.ctypes.data
    del first
    if reading._allocate() is not None:
        assert empty_bytes(32 << 20).ctypes.data == address

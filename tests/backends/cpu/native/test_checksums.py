"""CRC-32 against zlib."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from tt.backends.cpu.native import checksums
from tt.library import crc32


def test_every_length_and_alignment_has_the_checksum_that_zlib_computes():
    data = np.random.default_rng(0).bytes(1000)
    for length in range(400):
        for start in (0, 1, 7, 15):
            piece = data[start : start + length]
            assert crc32(piece) == zlib.crc32(piece)
            assert crc32(piece, 0xDEADBEEF) == zlib.crc32(piece, 0xDEADBEEF)


def test_a_checksum_continues_another():
    data = np.random.default_rng(1).bytes(100_000)
    assert crc32(data) == zlib.crc32(data)
    for cut in (0, 1, 63, 64, 65, 50_000, 99_999):
        assert crc32(data[cut:], crc32(data[:cut])) == zlib.crc32(data)


@pytest.mark.parametrize(
    "value", [b"", bytes(4096), b"\xff" * 4096, bytearray(b"abc"), memoryview(b"x" * 200)]
)
def test_buffers_of_any_kind_are_read(value):
    assert crc32(value) == zlib.crc32(value)


def test_what_is_no_contiguous_buffer_is_refused():
    for wrong in ("text", None, memoryview(bytes(100))[::2]):
        with pytest.raises((TypeError, BufferError)):
            crc32(wrong)


def test_without_native_kernels_zlib_serves(monkeypatch):
    monkeypatch.setattr(checksums, "native_checksums", lambda: None)
    assert crc32(b"123456789") == 0xCBF43926


@pytest.mark.parametrize("extra", [0, 1, 5000, (4 << 20) - 1])
def test_large_buffers_are_checked_by_several_threads(extra):
    data = np.random.default_rng(2).integers(0, 256, (16 << 20) + extra, np.uint8)
    assert crc32(data) == zlib.crc32(data)
    assert crc32(data, 0xDEADBEEF) == zlib.crc32(data, 0xDEADBEEF)
    native = checksums.native_checksums()
    if native is not None:
        for threads in (1, 2, 5, 40):
            assert native.crc32(data, 7, threads) == zlib.crc32(data, 7)

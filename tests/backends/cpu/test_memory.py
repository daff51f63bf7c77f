"""How much freed memory the CPU backend keeps: the functions, and the environment variable."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

import tt
from tt.backends.cpu.memory import VARIABLE, limit_in
from tt.backends.cpu.native.loading import status
from tt.core.errors import ArgumentError, ConfigurationError, DeviceError, ValueRangeError

native = pytest.mark.skipif(not status().active, reason=f"native kernels are not in use: {status().reason}")


@pytest.fixture
def limit() -> Iterator[int]:
    before = tt.cpu.get_cache_limit()
    yield before
    tt.cpu.set_cache_limit(before)


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [("0", 0), ("1000", 1000), ("3K", 3 << 10), ("512M", 512 << 20), (" 2 g ", 2 << 30), ("64MB", 64 << 20)],
)
def test_the_variable_is_a_number_of_bytes(text, nbytes):
    assert limit_in({VARIABLE: text}) == nbytes


@pytest.mark.parametrize("environ", [{}, {VARIABLE: ""}, {VARIABLE: "  "}])
def test_a_variable_that_is_not_set_changes_nothing(environ):
    assert limit_in(environ) is None


@pytest.mark.parametrize("text", ["much", "-1", "1.5G", "12T", "5%", "\u0663"])
def test_another_text_is_refused_with_an_example(text):
    with pytest.raises(
        ConfigurationError, match=r"(?s)TT_CPU_CACHE=.*not a number of bytes.*TT_CPU_CACHE=512M"
    ):
        limit_in({VARIABLE: text})


def in_process(value: str, program: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, VARIABLE: value}
    return subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )


@native
def test_the_variable_sets_the_limit():
    program = "import tt; x = tt.ones(1 << 20).exp(); del x; print(tt.cpu.get_cache_limit(), tt.cpu.memory_reserved())"
    assert in_process("0", program).stdout.split() == ["0", "0"]
    assert in_process("96M", program).stdout.split()[0] == str(96 << 20)


def test_a_wrong_variable_is_an_error_of_the_first_call():
    done = in_process("much", "import tt; tt.ones(2)")
    assert done.returncode and "TT_CPU_CACHE=much" in done.stderr


@native
def test_a_lower_limit_gives_memory_back(limit):
    x = tt.ones(1 << 20)
    y = x.exp()
    del y
    assert tt.cpu.memory_reserved() > tt.cpu.memory_allocated()
    tt.cpu.set_cache_limit(0)
    assert tt.cpu.memory_reserved() == tt.cpu.memory_allocated()
    y = x.exp()
    del y
    assert tt.cpu.memory_reserved() == tt.cpu.memory_allocated()
    tt.cpu.set_cache_limit(2**80)
    assert tt.cpu.get_cache_limit() == 2**62


def test_a_limit_is_a_number_that_is_not_negative(limit):
    with pytest.raises(ValueRangeError, match="expects a number of bytes, not -1"):
        tt.cpu.set_cache_limit(-1)
    for wrong in (True, 1.5, "1G", None):
        with pytest.raises(ArgumentError, match="argument 'nbytes' must be int"):
            tt.cpu.set_cache_limit(wrong)
    assert tt.cpu.get_cache_limit() == limit


def test_a_device_type_without_a_cache_refuses():
    meta = tt.get_device_module("meta")
    with pytest.raises(DeviceError, match="cannot be limited"):
        meta.set_cache_limit(0)
    with pytest.raises(DeviceError, match="has no limit"):
        meta.get_cache_limit()

"""CUDA memory that other processes use, on the fake CuPy: sharing, keeping, opening and closing."""

from __future__ import annotations

import gc
import os

import pytest

import tt
import tt.multiprocessing as mp
from tt.errors import DeviceError


def sent(x):
    """Return what travels for a tensor, as another process would read it."""
    function, (kind, handed_over, *facts), _ = tt.library.reduce_shared(x)
    pid, *rest = handed_over
    assert pid == os.getpid()
    return function, (kind, (pid + 1, *rest), *facts)


def opened(cuda):
    return [entry[0] for entry in cuda.driver.log if entry[0].endswith("memory") and len(entry) == 2]


def test_a_view_is_the_same_memory_elsewhere(cuda):
    x = tt.arange(12.0, device="cuda").reshape(3, 4)
    view = x.t()[1:]
    function, arguments = sent(view)
    other = function(*arguments)
    assert (other.shape, other.stride(), other.dtype, other.device) == (
        view.shape, view.stride(), view.dtype, view.device,
    )  # fmt: skip
    other.fill_(5)
    assert (x[:, 1:] == 5).all() and (x[:, 0] == tt.tensor([0.0, 4.0, 8.0], device="cuda")).all()
    assert x.is_shared() and x.share_memory_() is x


def test_memory_is_kept_until_the_other_process_has_given_it_up(cuda):
    x = tt.ones(1000, device="cuda")
    address = x.data_ptr()
    function, arguments = sent(x)
    other = function(*arguments)
    del x, arguments
    gc.collect()
    tt.cuda.ipc_collect()
    assert len(cuda.backend.sent) == 1 and (other == 1).all()
    assert tt.ones(1000, device="cuda").data_ptr() != address
    del other
    gc.collect()
    assert opened(cuda) == ["open memory", "close memory"]
    tt.cuda.ipc_collect()
    assert len(cuda.backend.sent) == 0
    gc.collect()
    assert tt.cuda.memory_allocated() == 0


def test_a_segment_is_opened_once(cuda):
    x = tt.zeros(100, device="cuda")
    pairs = [sent(x), sent(x[10:])]
    first, second = (function(*arguments) for function, arguments in pairs)
    first[10] = 3
    assert second[0] == 3
    assert opened(cuda) == ["open memory"]


def test_memory_that_comes_back_is_the_same(cuda):
    reader, writer = mp.Pipe(duplex=False)
    x = tt.nn.Parameter(tt.zeros(3, device="cuda"))
    writer.send(x)
    other = reader.recv()
    assert type(other) is tt.nn.Parameter and other.requires_grad and other.data_ptr() == x.data_ptr()
    assert opened(cuda) == []


def test_memory_without_bytes_and_of_others_travels_as_a_copy(cuda):
    reader, writer = mp.Pipe(duplex=False)
    writer.send(tt.zeros(0, 3, device="cuda"))
    other = reader.recv()
    assert other.shape == (0, 3) and other.device.type == "cuda"


def test_memory_that_is_gone_is_a_clear_error(cuda):
    function, arguments = sent(tt.zeros(3, device="cuda"))
    kind, (pid, number, _segment, *rest), *facts = arguments
    with pytest.raises(DeviceError, match=r"12 bytes of CUDA memory of the process \d+ cannot be opened"):
        function(kind, (pid, number, bytes(64), *rest), *facts)

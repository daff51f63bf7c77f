"""`pin_memory` at PyTorch's path."""

from __future__ import annotations

from tt.utils.data import _utils, pin_memory


def test_pin_memory_is_that_of_the_loader():
    assert _utils.pin_memory.pin_memory is pin_memory.pin_memory
    assert _utils.pin_memory.pin_memory(["text", (1, {"a": b"b"})]) == ["text", (1, {"a": b"b"})]

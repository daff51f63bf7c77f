"""Pinning: which parts of a batch are pinned, and what becomes of their containers."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from types import MappingProxyType

import pytest

import tt
from tt.utils.data import DataLoader
from tt.utils.data.pin_memory import pin_memory

Point = namedtuple("Point", ["x", "y"])


class Batch:
    """A possible result of a custom `collate_fn`."""

    pinned = False

    def pin_memory(self):
        new = Batch()
        new.pinned = True
        return new


@pytest.mark.parametrize(
    "wrap",
    [
        lambda b: b,
        lambda b: [b],
        lambda b: (b, "text"),
        lambda b: Point(b, 1),
        lambda b: OrderedDict(a=b),
        lambda b: MappingProxyType({"a": [b]}),
    ],
)
def test_containers_keep_their_class_and_their_parts_are_pinned(wrap):
    data = wrap(Batch())
    found = pin_memory(data)
    assert type(found) is type(data)
    while not isinstance(found, Batch):
        found = found["a"] if hasattr(found, "keys") else found[0]
    assert found.pinned


def test_a_loader_pins_what_it_hands_out(monkeypatch):
    monkeypatch.setattr(tt.accelerator, "is_available", lambda: True)
    for workers in (0, 1):
        (batch,) = DataLoader(
            [1, 2], batch_size=2, pin_memory=True, collate_fn=lambda _: Batch(), num_workers=workers
        )
        assert batch.pinned


def test_tensors_are_asked_to_pin_themselves():
    if tt.accelerator.is_available():
        pytest.skip("this machine has an accelerator")
    with pytest.raises(tt.errors.DeviceError, match="no accelerator"):
        pin_memory({"x": tt.ones(2)})

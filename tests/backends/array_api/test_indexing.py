"""Writing at places with arrays of the standard: values that fit, and errors for others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tt
from tests.backends.array_api.devices import device
from tt.errors import ShapeError


@pytest.mark.parametrize("shape", [(), (1,), (2,), (3, 1), (3, 2), (1, 1, 3, 2)], ids=str)
def test_values_broadcast_to_the_places_that_indices_select(strict, shape):
    values = tt.arange(float(np.prod(shape, dtype=int))).reshape(shape)
    host = tt.zeros(4, 2)
    x = host.to(strict)
    for target in (host, x):
        target[tt.tensor([0, 2, 3], device=target.device)] = values.to(target.device)
    assert x.tolist() == host.tolist()


@pytest.mark.parametrize("shape", [(3,), (2, 2), (2, 1, 1), (3, 3, 2)], ids=str)
def test_other_values_are_refused(strict, shape):
    with pytest.raises(ShapeError, match=r"do not broadcast to the shape \[3, 2\] that the indices select"):
        tt.zeros(4, 2, device=strict)[tt.tensor([0, 2, 3], device=strict)] = tt.ones(shape, device=strict)


def test_memory_that_runs_out_is_no_wrong_shape():
    def fail(*args: Any) -> Any:
        raise MemoryError("no memory")

    names = {name: getattr(np, name) for name in dir(np) if not name.startswith("_")}
    with device(SimpleNamespace(**names), "failing") as backend:
        x, index, value = (tt.tensor(data, device="failing") for data in ([0.0, 0.0], [1], [1.0]))
        backend.kernel_namespace.broadcast_to = fail
        with pytest.raises(MemoryError):
            x[index] = value

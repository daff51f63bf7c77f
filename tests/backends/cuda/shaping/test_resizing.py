"""Other sizes of tensors: on the host behind the shim."""

from __future__ import annotations

import numpy as np

from tests.backends.cuda.test_copies import backend_over
from tt.backends.cuda.shaping.resizing import resized


def test_resizing_takes_the_elements_of_the_memory_which_grows(host_engine):
    backend = backend_over(host_engine)
    whole = backend.normalise(np.arange(6.0))
    part = whole.view((2,), (1,), 2)
    assert resized(backend, part, (2, 2), (1, 2)).array.tolist() == [[2, 4], [3, 5]]
    with host_engine.collecting():
        resized(backend, part, (6,), (1,))
    grown = resized(backend, part, (6,), (1,))
    assert grown.offset == 2 and grown.array[:4].tolist() == [2, 3, 4, 5]
    moved = backend.moved(whole, whole.owner, grown.owner)
    assert moved.array.tolist() == [0, 1, 2, 3, 4, 5] and moved.shares_memory(grown)

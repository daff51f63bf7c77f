"""Which overload a call means."""

from __future__ import annotations

import tt


def test_a_tensor_of_one_integer_is_a_tensor_and_no_dim() -> None:
    x = tt.tensor([1, 2, 3])
    assert tt.max(x, tt.tensor(2)).tolist() == [2, 2, 3]
    assert x.min(tt.tensor(2)).tolist() == [1, 2, 2]
    assert x.max(0).indices.item() == 2

"""The names at PyTorch's path are those of `tt.utils.data.collate`: the table is one."""

from __future__ import annotations

import tt
from tt.utils.data import _utils, collate


def test_the_table_at_the_path_of_torch_is_the_table():
    assert _utils.collate.default_collate_fn_map is collate.default_collate_fn_map
    for name in _utils.collate.__all__:
        assert getattr(_utils.collate, name) is getattr(collate, name)


def test_the_function_of_each_type_is_at_the_path_too():
    assert _utils.collate.collate_tensor_fn([tt.ones(2), tt.zeros(2)]).tolist() == [[1.0, 1.0], [0.0, 0.0]]
    assert _utils.collate.collate_float_fn([1.0, 2.0]).dtype == tt.float64
    assert _utils.collate.collate_int_fn([1, 2]).tolist() == [1, 2]
    assert _utils.collate.collate_str_fn(["a", "b"]) == ["a", "b"]

"""The names at PyTorch's path are those of `tt.utils.data.collate`: the table is one."""

from __future__ import annotations

from tt.utils.data import _utils, collate


def test_the_table_at_the_path_of_torch_is_the_table():
    assert _utils.collate.default_collate_fn_map is collate.default_collate_fn_map
    for name in _utils.collate.__all__:
        assert getattr(_utils.collate, name) is getattr(collate, name)

"""Arrow: shared and copied memory, shapes, frames, and values that no tensor can hold; where pyarrow is installed."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import tt
from tt.utils.data import DataLoader, TensorDataset


def test_without_pyarrow_the_error_names_it():
    script = "import sys; sys.modules['pyarrow'] = None; import tt; tt.from_arrow(1)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "ImportError: from_arrow() needs pyarrow, which is not installed" in done.stderr


@pytest.fixture
def pa():
    return pytest.importorskip("pyarrow")


@pytest.mark.parametrize("name", ["int8", "uint16", "int64", "float16", "float32", "float64"])
def test_numbers_share_the_memory_and_cannot_be_changed(pa, name):
    array = pa.array(np.arange(5, dtype=name))[2:]
    tensor = tt.from_arrow(array)
    assert str(tensor.dtype) == f"tt.{name}"
    assert tensor.tolist() == [2, 3, 4]
    assert tensor.data_ptr() == array.buffers()[1].address + 2 * tensor.element_size()
    with pytest.raises(tt.errors.ReadOnlyError):
        tensor.add_(1)


def test_what_is_copied(pa):
    assert tt.from_arrow(pa.array([True, False, True])[1:]).tolist() == [False, True]
    assert tt.from_arrow(pa.chunked_array([[1, 2], [3]])).tolist() == [1, 2, 3]
    assert tt.from_arrow(pa.array([], pa.int32())).shape == (0,)


def test_lists_of_a_fixed_size_are_dimensions(pa):
    x = tt.arange(24.0).reshape(2, 3, 4)
    array = tt.to_arrow(x)
    back = tt.from_arrow(array)
    assert (back == x).all()
    assert back.shape == x.shape
    assert back.data_ptr() == x.data_ptr()
    assert tt.from_arrow(array[1:]).tolist() == x[1:].tolist()
    assert tt.from_arrow(pa.FixedShapeTensorArray.from_numpy_ndarray(np.ones((2, 3, 2)))).shape == (2, 3, 2)


def test_tables_are_dicts_of_columns(pa):
    table = pa.table({"x": [0.5, 1.5, 2.5], "y": [0, 1, 0]})
    columns = tt.from_arrow(table)
    assert {name: column.tolist() for name, column in columns.items()} == table.to_pydict()
    assert tt.from_arrow(table.to_batches()[0])["y"].tolist() == [0, 1, 0]
    assert tt.from_arrow(table.to_struct_array().combine_chunks())["y"].tolist() == [0, 1, 0]
    x, y = next(iter(DataLoader(TensorDataset(columns["x"], columns["y"]), batch_size=2)))
    assert (x.tolist(), y.tolist()) == ([0.5, 1.5], [0, 1])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_export_their_columns(pa, library):
    frame = pytest.importorskip(library).DataFrame({"a": [1, 2], "b": [0.5, 1.5]})
    found = {name: column.tolist() for name, column in tt.from_arrow(frame).items()}
    assert found == {"a": [1, 2], "b": [0.5, 1.5]}


def test_what_no_tensor_can_hold(pa):
    with pytest.raises(tt.errors.DataTypeError, match="no dtype for string"):
        tt.from_arrow(pa.array(["a"]))
    with pytest.raises(ValueError, match="x misses 1 of 2 elements"):
        tt.from_arrow(pa.table({"x": [1, None]}))
    with pytest.raises(TypeError, match="int exports no Arrow data"):
        tt.from_arrow(3)
    with pytest.raises(tt.errors.DataTypeError, match="no type for"):
        tt.to_arrow(tt.ones(2, dtype=tt.complex64))
    with pytest.raises(ValueError, match="one dimension"):
        tt.to_arrow(tt.tensor(1))
    assert tt.to_arrow(tt.tensor([[True, False]])).to_pylist() == [[True, False]]

"""The files of a checkpoint: what the index says of them is checked, and nothing is loaded if anything is wrong."""

from __future__ import annotations

import os

import pytest

import tt
from tests.api.distributed.checkpoint.test_layout import changed
from tt.distributed import checkpoint
from tt.distributed.checkpoint import CheckpointError
from tt.errors import CorruptFileError
from tt.utils.safetensors import save_file

FILE = "rank-00000.safetensors"


@pytest.fixture
def folder(tmp_path):
    checkpoint.save(
        {"a": tt.ones(2), "x": tt.arange(6.0).reshape(3, 2), "n": 1}, checkpoint_id=tmp_path / "c"
    )
    return tmp_path / "c"


def refused(folder, match, error=CheckpointError):
    """Check that a load is refused and changes nothing."""
    state = {"n": 0, "a": tt.zeros(2), "x": tt.zeros(3, 2)}
    with pytest.raises(error, match=match):
        checkpoint.load(state, checkpoint_id=folder)
    assert state["n"] == 0 and not state["a"].any() and not state["x"].any()


@pytest.mark.parametrize(
    ("tensor", "found"),
    [
        (tt.ones(3, 2, dtype=tt.float64), r"'x' is float64 of shape \[3, 2\], and by the index .* float32"),
        (tt.ones(3, 2, dtype=tt.int32), "'x' is int32"),
        (tt.ones(2, 2), r"'x' is float32 of shape \[2, 2\], and by the index .* float32 of shape \[3, 2\]"),
        (tt.ones(()), r"of shape \[\]"),
    ],
)
def test_a_file_that_holds_another_dtype_or_size_is_refused(folder, tensor, found):
    save_file({"a": tt.ones(2), "x": tensor}, folder / FILE)
    refused(folder, found)


def test_files_and_names_that_are_not_there_are_named(folder):
    save_file({"a": tt.ones(2)}, folder / FILE)
    refused(folder, f"{FILE}: it has no 'x', which the index of this checkpoint names")
    os.remove(folder / FILE)
    refused(folder, f"{FILE}: a file of this checkpoint cannot be read: No such file")
    os.remove(folder / "objects.tt")
    refused(folder, r"objects\.tt: a file of this checkpoint cannot be read: No such file")
    (folder / "objects.tt").mkdir()
    refused(folder, r"objects\.tt: a file of this checkpoint cannot be read: Is a directory")


def test_damaged_files_are_refused(folder):
    whole = (folder / FILE).read_bytes()
    (folder / FILE).write_bytes(whole[:-1])
    refused(folder, FILE, CorruptFileError)
    (folder / FILE).write_bytes(b"")
    refused(folder, FILE, CorruptFileError)
    (folder / FILE).write_bytes(whole)
    objects = (folder / "objects.tt").read_bytes()
    (folder / "objects.tt").write_bytes(objects[: len(objects) // 2])
    refused(folder, r"objects\.tt", CorruptFileError)
    tt.save([1, 2], folder / "objects.tt")
    refused(folder, r"objects\.tt: it holds list, not values by name")


def test_rows_that_are_missing_are_refused(folder):
    changed(folder, lambda found: found["tensors"]["x"].update(chunks=[]))
    refused(folder, "rows of 'x' are missing in this checkpoint")

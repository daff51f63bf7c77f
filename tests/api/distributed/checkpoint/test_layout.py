"""The index of a checkpoint: what it may say, and what is refused before a file is opened."""

from __future__ import annotations

import json
import os

import pytest

import tt
from tt.distributed import checkpoint
from tt.distributed.checkpoint import CheckpointError
from tt.distributed.checkpoint.layout import INDEX, Chunk, Entry, Index


@pytest.fixture
def folder(tmp_path):
    checkpoint.save({"x": tt.arange(6.0).reshape(3, 2), "n": 1}, checkpoint_id=tmp_path / "c")
    return tmp_path / "c"


def changed(folder, change):
    """Write the index again after a change of what it says."""
    found = json.loads((folder / INDEX).read_text())
    change(found)
    (folder / INDEX).write_text(json.dumps(found))


def test_what_is_written_is_read(tmp_path):
    tensors = {
        "x": Entry("float32", [3, 2], [Chunk("a", "x", 0, 2), Chunk("b", "x", 2, 3)]),
        "number": Entry("int64", [], [Chunk("a", "number", 0, 1)]),
        "empty": Entry("int64", [0, 3], [Chunk("a", "empty", 0, 0)]),
    }
    Index(tensors, "objects.tt").write(tmp_path)
    assert Index.read(tmp_path) == Index(tensors, "objects.tt")


@pytest.mark.parametrize(
    "name", ["../outside", "/etc/hostname", "..", ".", "", "a/b", "a\\b", "a\0b", 3, None, ["x"], "\ud800/"]
)
@pytest.mark.parametrize("of", ["objects", "chunk"])
def test_files_outside_of_the_folder_are_refused(folder, name, of):
    def change(found):
        if of == "objects":
            found["objects"] = name
        else:
            found["tensors"]["x"]["chunks"][0][0] = name

    changed(folder, change)
    with pytest.raises(
        CheckpointError, match=r"damaged: ValueError: .* is not the name of a file in its folder"
    ):
        Index.read(folder)


def test_names_that_no_file_can_have_are_refused(folder):
    changed(folder, lambda found: found.update(objects="\ud800"))
    with pytest.raises(CheckpointError, match="damaged: UnicodeEncodeError"):
        Index.read(folder)


@pytest.mark.parametrize(
    "chunks",
    [
        [[0, 2], [1, 3]], [[0, 3], [0, 3]], [[0, 4]], [[-1, 3]], [[2, 1]], [[0, 1 << 70]], [[0, 1.5]], [[False, True]],
        [["0", "3"]], [[None, 3]], [[0, float("inf")]], [[0, 3, 4]], [[]], 7, None,
    ],
)  # fmt: skip
def test_rows_that_a_tensor_does_not_have_or_has_twice_are_refused(folder, chunks):
    def change(found):
        entry = found["tensors"]["x"]
        file, name, *_ = entry["chunks"][0]
        entry["chunks"] = [[file, name, *rows] for rows in chunks] if isinstance(chunks, list) else chunks

    changed(folder, change)
    with pytest.raises(CheckpointError, match="the index of this checkpoint is damaged"):
        Index.read(folder)


@pytest.mark.parametrize("shape", [[-1, 2], [1 << 62], [True], [2.0], "ab", None, {}, [1] * 65, [[3], 2]])
def test_shapes_that_are_none_are_refused(folder, shape):
    changed(folder, lambda found: found["tensors"]["x"].update(shape=shape, chunks=[]))
    with pytest.raises(CheckpointError, match="the index of this checkpoint is damaged"):
        Index.read(folder)


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", "7", '"x"', "[" * 100_000, "1" * 5000, "\ufeff{}", '{"version": 1, "tensors": []}',
        '{"version": 1, "tensors": {"x": []}, "objects": "objects.tt"}', '{"version": 1, "tensors": {}}',
    ],
)  # fmt: skip
def test_what_is_no_index_is_refused(folder, text):
    (folder / INDEX).write_text(text, encoding="utf-8")
    with pytest.raises(CheckpointError, match="the index of this checkpoint is damaged"):
        Index.read(folder)
    (folder / INDEX).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CheckpointError, match="the index of this checkpoint is damaged"):
        Index.read(folder)


def test_an_index_that_cannot_be_read_is_named(folder):
    os.remove(folder / INDEX)
    (folder / INDEX).mkdir()
    with pytest.raises(CheckpointError, match=r"index\.json: the index of this checkpoint cannot be read"):
        Index.read(folder)

"""Saving to a name: the file there is the one of before or the new one, at any moment."""

from __future__ import annotations

import io
import os
import signal
import stat
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import tt
from tt.serialization import atomic_file
from tt.serialization.atomic_file import AtomicFile


@pytest.mark.parametrize("zipped", [True, False])
def test_an_open_file_can_be_read_before_it_is_closed(tmp_path, zipped):
    path = tmp_path / "name"
    with path.open("wb") as file:
        tt.save([1, 2], file, _use_new_zipfile_serialization=zipped)
        assert tt.load(path) == [1, 2]


def test_an_object_with_write_alone_is_enough():
    class Sink:
        def __init__(self):
            self.data = b""

        def write(self, data):
            self.data += data
            return len(data)

    sink = Sink()
    tt.save([1, 2], sink)
    assert tt.load(io.BytesIO(sink.data)) == [1, 2]


@pytest.fixture(params=["without a name", "with a temporary name"])
def way(request, monkeypatch):
    if request.param == "with a temporary name":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    return request.param


def test_the_new_file_appears_when_the_block_ends(tmp_path, way):
    path = tmp_path / "name"
    path.write_bytes(b"old")
    with AtomicFile(path) as file:
        file.write(b"new contents")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new contents"
    assert os.listdir(tmp_path) == ["name"]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, way):
    path = tmp_path / "name"
    for old in (None, b"old"):
        if old:
            path.write_bytes(old)
        with pytest.raises(KeyboardInterrupt), AtomicFile(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt
        assert os.listdir(tmp_path) == (["name"] if old else [])
    assert path.read_bytes() == b"old"


def test_what_cannot_be_pickled_leaves_the_old_file(tmp_path, way):
    path = tmp_path / "weights.pt"
    tt.save(tt.ones(2), path)
    for form in (True, False):
        with pytest.raises((TypeError, AttributeError)):
            tt.save([tt.zeros(2), lambda: None, iter([])], path, _use_new_zipfile_serialization=form)
    assert tt.load(path).tolist() == [1, 1]
    assert os.listdir(tmp_path) == ["weights.pt"]


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links are of POSIX")
def test_the_mode_of_the_old_file_and_symbolic_links_stay(tmp_path, way):
    path, link = tmp_path / "name", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    tt.save(1, link)
    assert link.is_symlink() and tt.load(path) == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    fresh = tmp_path / "fresh"
    tt.save(1, fresh)
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    assert fresh.stat().st_mode == plain.stat().st_mode


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")
def test_a_pipe_is_written_directly(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        tt.save([1, 2], pipe)
        data = reader.stdout.read()
    (tmp_path / "copy").write_bytes(data)
    assert tt.load(tmp_path / "copy") == [1, 2]


def test_a_folder_that_is_not_there_and_a_folder_for_a_file_are_errors(tmp_path, way):
    with pytest.raises(FileNotFoundError):
        tt.save(1, tmp_path / "missing" / "name")
    with pytest.raises(IsADirectoryError):
        tt.save(1, tmp_path)


def save_for_ever(path, n):
    """Save in a forked process until it is killed."""
    try:
        while True:
            n += 1
            x, y = tt.full((50_000,), float(n)), [tt.full((1000,), float(n)) for _ in range(5)]
            tt.save({"n": n, "x": x, "y": y}, path)
    finally:
        os._exit(1)


def killed_saves(tmp_path, times):
    """Save in processes that are killed at random moments; the file must be whole each time."""
    path = tmp_path / "weights.pt"
    tt.save({"n": 0, "x": tt.zeros(50_000), "y": []}, path)
    random = np.random.default_rng(5)
    seen = set()
    for round_ in range(times):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of threads that the child does not have
            child = os.fork()
        if child == 0:
            save_for_ever(path, 1000 * round_)
        if round_ % 2:  # else also before the first save has ended
            limit = time.monotonic() + 30
            while tt.load(path)["n"] <= 1000 * round_ and time.monotonic() < limit:
                time.sleep(0.001)
        time.sleep(random.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        found = tt.load(path)
        assert bool((found["x"] == found["n"]).all())
        assert all(bool((y == found["n"]).all()) for y in found["y"])
        seen.add(found["n"])
    return seen


@pytest.mark.skipif(sys.platform == "win32", reason="fork and SIGKILL are of POSIX")
def test_a_save_that_is_killed_leaves_a_whole_file(tmp_path):
    assert len(killed_saves(tmp_path, 5)) > 1


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="fork and SIGKILL are of POSIX")
def test_two_hundred_saves_that_are_killed_leave_whole_files_and_hardly_any_other(tmp_path):
    assert len(killed_saves(tmp_path, 200)) > 3
    assert len(os.listdir(tmp_path)) <= 5  # a name lasts for microseconds between link and rename


@pytest.mark.parametrize("early", [True, False])
def test_a_large_file_is_written_whole_with_and_without_an_early_start(tmp_path, early, monkeypatch):
    if not early:
        monkeypatch.setattr(atomic_file, "_writeback", lambda: None)
    x = tt.arange(5_000_000)
    for form in (True, False):
        tt.save({"x": x, "y": x[:3].clone()}, tmp_path / "name", _use_new_zipfile_serialization=form)
        found = tt.load(tmp_path / "name")
        assert tt.equal(found["x"], x) and found["y"].tolist() == [0, 1, 2]


@pytest.mark.skipif(sys.platform != "linux", reason="a function of Linux")
def test_the_disk_begins_before_the_file_is_synced(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(atomic_file, "_writeback", lambda: lambda *args: calls.append(args))
    with AtomicFile(tmp_path / "name") as file:
        for _ in range(5):
            file.write(bytes(9 << 20))
        assert [(offset, count, flags) for _, offset, count, flags in calls] == [
            (0, 18 << 20, 2),
            (18 << 20, 18 << 20, 2),
        ]
        file.seek(100, os.SEEK_CUR)
        file.write(bytes(16 << 20))
        assert calls[-1][1:3] == (36 << 20, 25 << 20), "whole blocks, once each"


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="the system has no such function")
def test_only_the_cache_of_the_file_that_is_replaced_is_dropped(tmp_path, way, monkeypatch):
    dropped = []
    monkeypatch.setattr(os, "posix_fadvise", lambda fd, *args: dropped.append((os.fstat(fd).st_ino, args)))
    path = tmp_path / "name"
    tt.save(1, path)
    assert dropped == []
    before = path.stat().st_ino
    tt.save(2, path)
    assert dropped == [(before, (0, 0, os.POSIX_FADV_DONTNEED))]
    monkeypatch.setattr(os, "posix_fadvise", refuse)
    tt.save(3, path)
    assert tt.load(path) == 3


def refuse(*_):
    raise PermissionError


class Partial(io.RawIOBase):
    """A file that takes at most a thousand bytes at once, as files of the system take at most 2 GiB."""

    def __init__(self):
        self.contents = bytearray()

    def writable(self):
        return True

    def write(self, data):
        self.contents += bytes(data)[:1000]
        return min(len(data), 1000)


@pytest.mark.parametrize("form", [True, False])
def test_a_file_that_takes_only_a_part_gets_the_rest_too(form):
    file = Partial()
    tt.save(tt.arange(10_000), file, _use_new_zipfile_serialization=form)
    assert tt.equal(tt.load(io.BytesIO(file.contents)), tt.arange(10_000))


def test_a_missing_folder_is_reported_with_the_name_that_was_given(way, tmp_path):
    wanted = tmp_path / "missing" / "model.pt"
    with pytest.raises(FileNotFoundError) as caught:
        tt.save(tt.ones(2), wanted)
    assert caught.value.filename == str(wanted) and ".tmp" not in str(caught.value)
    assert f"the folder {wanted.parent} does not exist" in str(caught.value)

from __future__ import annotations

import gc
import os
import subprocess
import sys

import pytest

import tt.distributed as dist


def test_the_last_user_of_a_complete_world_removes_the_file(tmp_path):
    path = tmp_path / "store"
    first, second = dist.FileStore(path, 2), dist.FileStore(path, 2)
    first.set("k", "v")
    assert second.get("k") == b"v"
    assert first.path == str(path)
    clone = first.clone()
    del first
    assert path.exists()
    del second
    assert clone.get("k") == b"v", "a clone keeps its original's place"
    del clone
    assert not path.exists()


def test_without_a_world_size_the_file_and_its_keys_stay(tmp_path):
    path = tmp_path / "store"
    store = dist.FileStore(path)
    store.set("k", "v")
    del store
    assert dist.FileStore(path).get("k") == b"v"


def test_a_file_that_was_removed_and_made_again_has_no_old_keys(tmp_path):
    path = tmp_path / "store"
    store = dist.FileStore(path)
    store.set("k", "v")
    path.unlink()
    assert not store.check(["k"])


@pytest.mark.parametrize("cut", [1, 5, 13, 20])
def test_a_torn_record_of_a_killed_writer_is_ignored_and_cut_off(tmp_path, cut):
    path = tmp_path / "store"
    store = dist.FileStore(path)
    store.set("a", "1")
    whole = path.stat().st_size
    store.set("broken", "value of some length")
    with open(path, "r+b") as file:
        file.truncate(whole + cut)
    reader = dist.FileStore(path)
    assert reader.get("a") == b"1"
    assert not reader.check(["broken"])
    reader.set("b", "2")
    assert dist.FileStore(path).multi_get(["a", "b"]) == [b"1", b"2"]


def test_a_record_with_a_wrong_checksum_is_ignored(tmp_path):
    path = tmp_path / "store"
    store = dist.FileStore(path)
    store.set("a", "1")
    with open(path, "ab") as file:
        file.write(b"\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x01/bX")
    reader = dist.FileStore(path)
    assert reader.list_keys() == ["a"]


WRITER = """
import sys, tt.distributed as dist
store = dist.FileStore(sys.argv[1])
print("ready", flush=True)
while True:
    store.add("count", 1)
"""


def test_killed_writers_lose_nothing_that_was_written(tmp_path):
    path = tmp_path / "store"
    store = dist.FileStore(path)
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout.readline() == "ready\n"
        while int(store.add("count", 0)) < 20:
            pass
        writer.kill()
    last = store.add("count", 0)
    assert store.add("count", 1) == last + 1
    assert dist.FileStore(path).get("count") == str(last + 1).encode()


def test_a_store_may_be_collected_while_another_has_the_file_locked(tmp_path):
    path = tmp_path / "store"
    store = dist.FileStore(path, 2)
    cycle = [dist.FileStore(path, 2)]
    cycle.append(cycle)
    del cycle
    with store._log.opened():
        gc.collect()
    store.set("k", "v")
    assert store._log.table.values[b"refcount/"] == b"1"
    del store
    assert not path.exists()


def test_a_folder_that_is_not_there_is_an_error_at_once(tmp_path):
    with pytest.raises(dist.DistStoreError, match=r"cannot open .*lost/store: No such file or directory"):
        dist.FileStore(tmp_path / "lost" / "store")


def test_a_forked_child_is_no_user_of_its_own(tmp_path):
    path = tmp_path / "store"
    store = dist.FileStore(path, 1)
    store.set("k", "v")
    child = os.fork()
    if not child:
        del store
        os._exit(0)
    os.waitpid(child, 0)
    assert store.get("k") == b"v"
    assert path.exists()

"""What a FileStore sets for processes that have ended: soon, once, and only for them."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest

import tt.distributed as dist

ROOT = Path(__file__).parents[4]
OWNER = """
import os, sys, time, tt.distributed as dist
store = dist.PrefixStore("job", dist.FileStore(sys.argv[1]))
store.set("known", "mine")
assert store.leave_behind({"known": "other", "gone": "yes"})
assert store.leave_behind({"also": b"\\0"})
store.set("ready", "1")
if sys.argv[2] == "forks" and os.fork() == 0:
    time.sleep(60)
time.sleep(0 if sys.argv[2] == "ends" else 60)
"""


def owner(path, how):
    return subprocess.Popen([sys.executable, "-c", OWNER, str(path), how], cwd=ROOT, start_new_session=True)


@pytest.mark.parametrize("how", ["killed", "ends", "forks"])
def test_what_a_process_leaves_behind_appears_soon_after_it_has_ended(tmp_path, how):
    path = tmp_path / "store"
    store = dist.FileStore(path)
    child = owner(path, how)
    try:
        store.wait(["job/ready"], timedelta(seconds=30))
        if how != "ends":
            time.sleep(0.5)
            assert not store.check(["job/gone"]), "its owner lives"
            assert len(list(tmp_path.iterdir())) == 2
            child.send_signal(signal.SIGKILL)
        store.wait(["job/gone", "job/also"], timedelta(seconds=5))
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    found = store.multi_get(["job/gone", "job/known", "job/also"])
    assert found == [b"yes", b"mine", b"\0"]
    assert list(tmp_path.iterdir()) == [path], "no file stays but the store's"


def test_a_store_that_is_collected_leaves_its_keys_at_once(tmp_path):
    first, second = dist.FileStore(tmp_path / "store"), dist.FileStore(tmp_path / "store")
    keys = second.num_keys()
    assert second.leave_behind({"gone": "yes"})
    assert second.num_keys() == keys and second.list_keys() == []
    del second
    assert first.list_keys() == ["gone"]
    assert [each.name for each in tmp_path.iterdir()] == ["store"]


def test_several_that_look_at_once_do_not_take_each_other_for_the_owner(tmp_path):
    path = tmp_path / "store"
    stores = [dist.FileStore(path) for _ in range(4)]
    child = owner(path, "killed")
    try:
        stores[0].wait(["job/ready"], timedelta(seconds=30))
        child.kill()
        child.wait()
        for store in stores:
            store.wait(["job/gone"], timedelta(seconds=5))
    finally:
        child.kill()
        child.wait()


def test_a_file_that_cannot_be_made_or_locked_is_an_error(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    store = dist.FileStore(tmp_path / "store")
    monkeypatch.setattr("tt.distributed.stores.wills.Will._live", refuse)
    with pytest.raises(dist.DistStoreError, match=r"cannot lock a file next to .*store: Permission denied"):
        store.leave_behind({"gone": "yes"})
    assert store.list_keys() == []

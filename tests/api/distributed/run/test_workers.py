from __future__ import annotations

import sys

from tt.distributed.run import parse_args
from tt.distributed.run.workers import Watcher, command, has_ended


def test_a_command_is_started_as_it_is_and_python_where_that_is_meant(tmp_path):
    assert command(parse_args(["--no-python", "echo", "a", "-b"])) == ["echo", "a", "-b"]
    words = command(parse_args(["-m", "pkg.part", "x"]))
    assert words[:2] == [sys.executable, "-u"]
    assert words[3:] == ["module", "pkg.part", "x"]
    assert command(parse_args([str(tmp_path), "x"])) == [sys.executable, "-u", str(tmp_path), "x"]


def test_the_watcher_ends_with_its_agent():
    watcher = Watcher()
    pid = watcher._process.pid
    assert not has_ended(pid)
    watcher.close()
    assert watcher._process.returncode == 0


def test_a_killed_watcher_does_not_disturb_the_agent():
    watcher = Watcher()
    watcher._process.kill()
    watcher._process.wait()
    watcher.say("+12345678")
    watcher.close()
    assert watcher._process.returncode == -9

"""How many threads kernels begin with: OMP_NUM_THREADS, affinity, and the limits of control groups."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.processes import printed_by
from tt.backends.cpu import cores
from tt.backends.cpu.cores import default_threads, group_limit, usable_cores

THREADS = "import tt; print(tt.get_num_threads())"


def limit_of(tmp_path: Path, own: str, files: dict[str, str]) -> int | None:
    """Return the limit that a process finds whose groups are in files of a folder."""
    (tmp_path / "own").write_text(own)
    for name, content in files.items():
        file = tmp_path / "groups" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return group_limit(str(tmp_path / "own"), str(tmp_path / "groups"))


@pytest.mark.parametrize(
    ("time", "expected"),
    [("200000 100000\n", 2), ("150000 100000\n", 2), ("5000 100000\n", 1), ("max 100000\n", None)],
)
def test_a_limit_is_rounded_up_to_processors(tmp_path: Path, time: str, expected: int | None) -> None:
    assert limit_of(tmp_path, "0::/a/b\n", {"a/b/cpu.max": time}) == expected


def test_the_lowest_limit_of_a_group_and_those_above_counts(tmp_path: Path) -> None:
    files = {
        "a/b/cpu.max": "400000 100000\n",
        "a/cpu.max": "300000 100000\n",
        "a/b/c/cpu.max": "max 100000\n",
    }
    assert limit_of(tmp_path, "0::/a/b/c\n", files) == 3


def test_in_a_container_the_limit_is_at_the_root_of_what_is_mounted(tmp_path: Path) -> None:
    assert limit_of(tmp_path, "0::/../../docker/4711\n", {"cpu.max": "200000 100000\n"}) == 2


@pytest.mark.parametrize("folder", ["cpu,cpuacct", "cpu"])
def test_a_limit_of_the_first_version_counts(tmp_path: Path, folder: str) -> None:
    own = "5:memory:/m\n4:cpu,cpuacct:/a\n3:cpuset:/\n0::/\n"
    files = {
        f"{folder}/a/cpu.cfs_quota_us": "250000\n",
        f"{folder}/a/cpu.cfs_period_us": "100000\n",
        f"{folder}/cpu.cfs_quota_us": "-1\n",
        f"{folder}/cpu.cfs_period_us": "100000\n",
        "memory/m/cpu.cfs_quota_us": "1\n",  # of another controller
        "memory/m/cpu.cfs_period_us": "1\n",
    }
    assert limit_of(tmp_path, own, files) == 3


def test_both_versions_at_once_count(tmp_path: Path) -> None:
    files = {
        "unified/a/cpu.max": "300000 100000\n",
        "cpu/cpu.cfs_quota_us": "400000\n",
        "cpu/cpu.cfs_period_us": "100000\n",
    }
    assert limit_of(tmp_path, "1:cpu:/\n0::/a\n", files) == 3


@pytest.mark.parametrize("content", ["", "max\n", "many 100000\n", "100000 0\n", "-1 100000\n"])
def test_what_is_no_limit_is_none(tmp_path: Path, content: str) -> None:
    assert limit_of(tmp_path, "0::/\n", {"cpu.max": content}) is None


def test_without_groups_there_is_no_limit(tmp_path: Path) -> None:
    assert group_limit(str(tmp_path / "none"), str(tmp_path)) is None


def test_the_affinity_and_the_limit_count_but_there_is_always_a_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 2, 5}, raising=False)
    for limit, expected in ((None, 3), (2, 2), (8, 3), (1, 1)):
        monkeypatch.setattr(cores, "group_limit", lambda limit=limit: limit)
        assert usable_cores() == expected


@pytest.mark.parametrize(
    ("asked", "expected"), [("3", 3), (" 5,2", 5), ("0", 4), ("", 4), ("many", 4), ("-2", 4)]
)
def test_openmps_variable_comes_first(monkeypatch: pytest.MonkeyPatch, asked: str, expected: int) -> None:
    monkeypatch.setattr(cores, "usable_cores", lambda: 4)
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert default_threads() == expected


def test_a_huge_number_of_threads_is_as_many_as_the_pool_has() -> None:
    environment = os.environ | {"OMP_NUM_THREADS": "9" * 30}
    assert int(printed_by(THREADS, environment)) >= 256


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="only Linux lets a process choose its processors"
)
def test_a_process_held_to_a_core_begins_with_one_thread() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    held = f"import os; os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}}); {THREADS}"
    assert printed_by(held, environment) == "1\n"

"""The engine mpi: what it computes in processes, with and without mpiexec, and what happens when a rank fails."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

from tt.distributed.stores import TCPStore

pytestmark = pytest.mark.mpi4py
mpi4py = pytest.importorskip("mpi4py")

PROGRAM = Path(__file__).with_name("mpi_rank.py")
TIMEOUT = 2.0
FAULTS = {
    "raises": "rank 2",
    "exits": "rank 2",
    "killed": "rank 2",
    "stopped": "rank 2",
    "sleeps": "rank 2",
    "another shape": r"float32\[5\]",
    "another dtype": "float64",
    "another collective": "broadcast",
}


def launcher():
    """Return the mpiexec that came with mpi4py's library, or None."""
    folders = [
        sysconfig.get_path("scripts"),
        str(Path(mpi4py.__file__).parents[4] / "bin"),
        os.environ["PATH"],
    ]
    return shutil.which("mpiexec", path=os.pathsep.join(folders))


def environment():
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[4])}


def outcomes(program, folder, size, timeout=TIMEOUT, within=60.0, file=None):
    """Run ranks without mpiexec; return the exit status and the output of each."""
    file = file or folder / "store"
    ranks = [
        subprocess.Popen(
            [sys.executable, str(PROGRAM), program, str(file), str(rank), str(size), str(timeout)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment(),
            cwd=Path(__file__).parents[4],
        )
        for rank in range(size)
    ]
    found = []
    limit = time.monotonic() + within
    try:
        for rank in ranks:
            if program == "stopped" and rank is ranks[-1]:
                rank.send_signal(signal.SIGKILL)
            text, _ = rank.communicate(timeout=max(0.1, limit - time.monotonic()))
            found.append((rank.returncode, text))
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    return found


@pytest.mark.parametrize(
    ("program", "size"),
    [
        ("collectives", 3),
        ("background", 2),
        ("names", 2),
        ("training", 2),
        ("memory", 2),
        ("some crossings", 2),
        pytest.param("crossings", 2, marks=pytest.mark.exhaustive),
        pytest.param("training", 4, marks=pytest.mark.exhaustive),
        *(pytest.param("collectives", size, marks=pytest.mark.exhaustive) for size in (1, 2, 4, 5)),
        pytest.param("background", 4, marks=pytest.mark.exhaustive),
    ],
)
def test_every_collective_is_right_in_processes_that_nobody_launched(program, size, tmp_path):
    assert outcomes(program, tmp_path, size, timeout=30) == [(0, "")] * size


def test_groups_of_some_ranks_work_and_the_job_can_start_again(tmp_path):
    assert outcomes("groups", tmp_path, 3, timeout=30) == [(0, "")] * 3


@pytest.mark.parametrize("program", ["collectives", "groups", "unannounced"])
def test_under_mpiexec_it_is_the_same(program, tmp_path):
    if launcher() is None:
        pytest.skip("there is no mpiexec")
    done = subprocess.run(
        [
            launcher(),
            "-n",
            "3",
            sys.executable,
            str(PROGRAM),
            program,
            str(tmp_path / "store"),
            "auto",
            "3",
            "30",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment(),
        cwd=Path(__file__).parents[4],
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", FAULTS)
def test_a_rank_that_fails_ends_all_within_the_timeout_and_is_named(kind, tmp_path):
    start = time.monotonic()
    found = outcomes(kind, tmp_path, 3)
    took = time.monotonic() - start
    # The last is for three interpreters that start on two processors, the one before for the rank that sleeps.
    assert took < TIMEOUT + 3 + (6 if kind == "sleeps" else 0) + 6
    for status, text in found[:2]:
        assert status == 3, text
        assert_mentions(text, kind)


@pytest.mark.parametrize("kind", ["tcp", "file"])
def test_a_killed_rank_is_known_to_be_dead_long_before_the_timeout(kind, tmp_path):
    server = TCPStore("localhost", 0, is_master=True) if kind == "tcp" else None
    start = time.monotonic()
    found = outcomes("killed", tmp_path, 3, timeout=40, file=server and f"tcp:{server.port}")
    assert time.monotonic() - start < 20
    assert found[2][0] == -signal.SIGKILL
    for status, text in found[:2]:
        assert status == 3, text
        assert re.search("cannot end: rank 2 ended without a word: it was killed", text), text


def assert_mentions(text, kind):
    assert re.search(FAULTS[kind], text), text
    assert "all_reduce of float32[4]" in text


@pytest.mark.parametrize("kind", ["raises", "killed", "another shape"])
def test_under_mpiexec_a_rank_that_fails_ends_all(kind, tmp_path):
    if launcher() is None:
        pytest.skip("there is no mpiexec")
    done = subprocess.run(
        [
            launcher(),
            "-n",
            "3",
            sys.executable,
            str(PROGRAM),
            kind,
            str(tmp_path / "store"),
            "auto",
            "3",
            str(TIMEOUT),
        ],
        capture_output=True,
        text=True,
        timeout=TIMEOUT + 9,
        check=False,
        env=environment(),
        cwd=Path(__file__).parents[4],
    )
    assert done.returncode != 0


def test_ranks_that_do_not_come_are_named(tmp_path):
    command = [sys.executable, str(PROGRAM), "collectives", str(tmp_path / "store"), "1", "3", "1"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env=environment(),
        cwd=Path(__file__).parents[4],
    )
    assert done.returncode != 0
    assert "DistTimeoutError" in done.stderr
    assert "0, 2" in done.stderr

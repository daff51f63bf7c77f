from __future__ import annotations

from pathlib import Path

import pytest

SPEAK = "print('out', rank, flush=True); print('err', rank, file=sys.stderr)"


def kept(folder: Path) -> dict[str, str]:
    """Return what the files of workers hold, by local rank and name."""
    return {f"{p.parent.name}/{p.name}": p.read_text() for p in folder.rglob("std*.log")}


def test_lines_have_their_rank_in_front_where_that_is_wanted(run):
    job = run("print('one'); print('no end', end='')", "--nproc-per-node=2", "--tee=1")
    assert sorted(job.out.splitlines()) == [
        "[rank 0] no end", "[rank 0] one", "[rank 1] no end", "[rank 1] one",
    ]  # fmt: skip


def test_output_is_copied_to_files(run, tmp_path):
    logs = tmp_path / "logs"
    job = run(SPEAK, "--nproc-per-node=2", "--tee=3", f"--log-dir={logs}")
    assert kept(logs) == {f"{r}/std{s}.log": f"{s} {r}\n" for r in (0, 1) for s in ("out", "err")}
    assert sorted(job.out.splitlines()) == ["[rank 0] out 0", "[rank 1] out 1"]
    assert f"the workers' files are in {logs}" in job.err


def test_output_goes_to_files_only_for_some_ranks(run, tmp_path):
    job = run(SPEAK, "--nproc-per-node=2", "--redirects=0:1,1:3", f"--log-dir={tmp_path / 'logs'}")
    assert kept(tmp_path / "logs") == {
        "0/stdout.log": "out 0\n",
        "1/stdout.log": "out 1\n",
        "1/stderr.log": "err 1\n",
    }
    assert job.out == ""
    assert "err 0" in job.err
    assert "err 1" not in job.err


@pytest.mark.parametrize("options", [(), ("--tee=3",)])
def test_only_chosen_ranks_are_shown(run, options):
    job = run(SPEAK, "--nproc-per-node=3", "--local-ranks-filter=0,2", *options)
    assert sorted(line[-5:] for line in job.out.splitlines()) == ["out 0", "out 2"]
    assert "err 1" not in job.err


def test_a_restart_has_files_of_its_own(run, tmp_path):
    run(
        "print(restart); sys.exit(restart == 0)",
        "--redirects=1",
        "--max-restarts=1",
        f"--log-dir={tmp_path / 'logs'}",
    )
    assert sorted(p.read_text() for p in tmp_path.rglob("stdout.log")) == ["0\n", "1\n"]
    assert {p.parts[-3] for p in tmp_path.rglob("stdout.log")} == {"attempt_0", "attempt_1"}


def test_a_folder_that_cannot_be_made_is_an_error(run):
    job = run("", "--log-dir=/proc/lost")
    assert job.code == 1
    assert "cannot write to /proc/lost" in job.err

"""What the agent does when workers end, in whatever way: message, exit code, time, and nothing is left."""

from __future__ import annotations

import re
import signal
import subprocess

import pytest

SLEEP = "time.sleep(60)\n"


def test_workers_are_told_what_torchruns_are_told(run):
    names = [
        "RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "LOCAL_WORLD_SIZE", "WORLD_SIZE", "ROLE_WORLD_SIZE",
        "GROUP_WORLD_SIZE", "ROLE_NAME", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS",
        "TORCHELASTIC_RUN_ID", "OMP_NUM_THREADS",
    ]  # fmt: skip
    job = run(
        f"print(*(os.environ[n] for n in {names}), os.environ['MASTER_ADDR'], os.environ['MASTER_PORT'].isdigit())",
        "--nproc-per-node=2", "--max-restarts=3", "--rdzv-id=job 7", "--standalone", "--role=trainer",
    )  # fmt: skip
    assert (job.code, job.err) == (0, "")
    assert sorted(job.out.splitlines()) == [
        "0 0 0 0 2 2 2 1 trainer 0 3 job 7 1 localhost True",
        "1 1 0 1 2 2 2 1 trainer 0 3 job 7 1 localhost True",
    ]


def test_threads_are_limited_with_a_note_where_nothing_is_set(run, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS")
    job = run("print(os.environ['OMP_NUM_THREADS'])", "--nproc-per-node=2")
    assert (job.out, job.err) == ("1\n1\n", "OMP_NUM_THREADS=1 for each worker; set it to use more threads\n")


FAULTS = {
    "raises": (
        "raise KeyError('lost')",
        r"exited with code 1 at \d\d:\d\d:\d\d: KeyError: 'lost'$",
        "KeyError: 'lost'",
    ),
    "exits": ("sys.exit(7)", r"exited with code 7 at", "It left no traceback; see its output."),
    "is killed": ("os.kill(os.getpid(), 9)", r"was ended by SIGKILL at", "A signal leaves no traceback"),
    "crashes": ("os.abort()", r"was ended by SIGABRT at", "A signal leaves no traceback"),
    "ends itself": ("os.kill(os.getpid(), 15)", r"was ended by SIGTERM at", "A signal leaves no traceback"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_first_failure_is_printed_last_with_rank_and_cause_and_the_others_end(run, fault):
    what, how, detail = FAULTS[fault]
    job = run(f"meet(3)\nif rank == 1: {what}\n{SLEEP}", "--nproc-per-node=3")
    assert job.code == 1
    assert job.seconds < 5
    summary = job.err[job.err.rindex("program.py failed. The first failure:") :]
    assert re.search(rf"rank 1 \(local rank 1, pid \d+ on \S+\) {how}", summary, re.MULTILINE)
    assert detail in summary
    assert "Later failures" not in summary, "who was ended by the agent has not failed"


@pytest.mark.parametrize(
    "other",
    [
        "os.kill(os.getpid(), signal.SIGSTOP)",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); meet(2, 'deaf')",
    ],
)
def test_a_stopped_worker_and_one_that_ignores_sigterm_end_with_the_others(run, other):
    text = (
        f"if rank == 0:\n    {other}\nelse:\n    time.sleep(0.3)\n    meet(1, 'deaf'); sys.exit(3)\n{SLEEP}"
    )
    if "deaf" in other:
        text = text.replace("meet(1, 'deaf')", "meet(2, 'deaf')")
    job = run(text, "--nproc-per-node=2")
    assert job.code == 1
    assert "rank 1 (local rank 1" in job.err
    assert job.seconds < 6


def test_what_workers_have_started_ends_with_them(run):
    text = (
        f"child = subprocess.Popen(['sleep', '60'])\nnote(child.pid)\nmeet(2)\nif rank: sys.exit(1)\n{SLEEP}"
    )
    job = run(text, "--nproc-per-node=2")
    assert len(job.pids()) == 4  # that none lives is seen to by the fixture


def test_of_several_failures_the_first_is_the_cause(run):
    text = "meet(2)\nif rank == 0: time.sleep(0.05)\nraise ValueError(f'of {rank}')"
    job = run(text, "--nproc-per-node=2", "--monitor-interval=0.5")
    summary = job.err[job.err.rindex("The first failure:") :]
    assert (
        summary.index("ValueError: of 1")
        < summary.index("Later failures:")
        < summary.index("ValueError: of 0")
    )


def test_a_failed_job_starts_again_as_often_as_it_may(run):
    text = "meet(2)\nprint(restart, rank)\nif rank == 0 and restart < 2: sys.exit(1)\n"
    job = run(text, "--nproc-per-node=2", "--max-restarts=2")
    assert job.code == 0
    assert sorted(job.out.split("\n")[:-1]) == ["0 0", "0 1", "1 0", "1 1", "2 0", "2 1"]
    assert job.err.count("starting again") == 2
    assert "starting again (2 of 2)" in job.err


def test_a_program_that_cannot_be_started_is_named(job, capfd):
    from tt.distributed.run import main

    assert main(["--no-python", "/no/such/program"]) == 1
    assert "No such file or directory: '/no/such/program'" in capfd.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_an_agent_that_is_told_to_end_ends_its_workers(agent, job, number):
    process = agent("--nproc-per-node=2", job.program(SLEEP))
    job.wait_for(2)
    process.send_signal(number)
    _, err = process.communicate(timeout=10)
    assert process.returncode == 128 + number
    assert f"the agent was ended by {number.name}; its workers have ended" in err


def test_a_signal_that_is_ignored_does_not_end_the_agent(agent, job):
    program = job.program("while not os.path.exists(f'{here}/go'): time.sleep(0.01)")
    process = agent(program, hears=(signal.SIGINT,))  # SIGHUP is ignored, as under nohup
    job.wait_for(1)
    process.send_signal(signal.SIGHUP)
    (job.folder / "go").touch()
    process.communicate(timeout=10)
    assert process.returncode == 0


def test_a_second_signal_does_not_wait_for_deaf_workers(agent, job):
    program = job.program(f"signal.signal(signal.SIGTERM, signal.SIG_IGN)\nmeet(1)\n{SLEEP}")
    process = agent("--shutdown-timeout=60", program)
    while not [*job.folder.glob("all.*")]:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.02)
    process.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.3)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=10)
    assert process.returncode == 128 + signal.SIGTERM

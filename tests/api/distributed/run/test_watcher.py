from __future__ import annotations

import signal

from tt.distributed.run.watcher import watch


def test_groups_that_have_ended_are_left_alone():
    assert watch(["+12\n", "+13\n", "-12\n", "+14\n", "-99\n"]) == {13, 14}


def test_workers_of_a_killed_agent_and_what_they_have_started_are_killed(agent, job):
    program = job.program(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nnote(subprocess.Popen(['sleep', '60']).pid)\ntime.sleep(60)"
    )
    process = agent("--nproc-per-node=2", f"--log-dir={job.folder}", program)
    job.wait_for(4)
    process.send_signal(signal.SIGKILL)
    process.communicate(
        timeout=10
    )  # the end of its output: no process holds it; the fixture looks for the others

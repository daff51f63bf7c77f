from __future__ import annotations

import os
import signal
import threading

from tt.distributed.run import main


def test_the_exit_code_says_how_the_job_ended(run):
    assert run("").code == 0
    assert run("sys.exit(5)").code == 1


def test_messages_go_to_whoever_prints_them(job):
    said = []
    assert main([job.program("sys.exit(5)")], say=said.append) == 1
    assert len(said) == 1
    assert "exited with code 5" in said[0]


def test_a_program_that_does_not_exist_starts_no_worker():
    said = []
    assert main(["--nproc-per-node=2", "lost.py"], say=said.append) == 2
    assert len(said) == 1 and said[0].startswith("there is no file lost.py\n  try: -m for a module")


def test_handlers_of_signals_are_put_back(run):
    before = signal.getsignal(signal.SIGTERM)
    run("")
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_job_may_run_in_a_thread(job):
    codes = []
    thread = threading.Thread(target=lambda: codes.append(main([job.program("")])))
    thread.start()
    thread.join(20)
    assert codes == [0]


def test_the_environment_of_the_caller_is_not_changed(run):
    before = dict(os.environ)
    run("")
    assert dict(os.environ) == before

"""Several agents on one machine."""

from __future__ import annotations

import signal
import socket

import pytest

from tests.api.distributed.run.conftest import wait_until

NAMES = "GROUP_RANK RANK WORLD_SIZE ROLE_RANK"
SHOW = f"os.write(1, ' '.join(os.environ[n] for n in '{NAMES}'.split()).encode() + b'\\n')\n"  # one write


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def finish(*agents):
    """Return output, messages and exit codes of agents."""
    results = [process.communicate(timeout=20) for process in agents]
    return (
        [out for out, _ in results],
        [err for _, err in results],
        [process.returncode for process in agents],
    )


def test_two_agents_with_node_ranks_make_one_world(agent, job, port):
    program = job.program(f"meet(3)\n{SHOW}")
    common = ("--nnodes=2", "--master-addr=127.0.0.1", f"--master-port={port}")
    second = agent(*common, "--node-rank=1", "--nproc-per-node=1", program)
    first = agent(*common, "--node_rank", "0", "--nproc_per_node=2", program)
    out, _, codes = finish(first, second)
    assert codes == [0, 0]
    assert [sorted(text.splitlines()) for text in out] == [["0 0 3 0", "0 1 3 1"], ["1 2 3 2"]]


def test_a_failure_on_one_machine_ends_and_restarts_the_other_and_both_say_why(agent, job, port):
    program = job.program("meet(2)\nif rank == 1: raise ValueError('of node 1')\ntime.sleep(60)\n")
    common = ("--nnodes=2", "--master-addr=127.0.0.1", f"--master-port={port}", "--max-restarts=1")
    agents = [agent(*common, f"--node-rank={rank}", program) for rank in (0, 1)]
    _, err, codes = finish(*agents)
    assert codes == [1, 1]
    for text in err:
        assert text.count("starting again (1 of 1)") == 1
        last = text[text.rindex("The first failure:") :]
        assert "rank 1 (local rank 0" in last
        assert "ValueError: of node 1" in last


def test_agents_meet_without_node_ranks_and_a_later_one_joins(agent, job, port):
    program = job.program(f"{SHOW}meet(2)\n")
    common = ("--nnodes=1:2", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}", "--rdzv-id=grow",
              "--rdzv-conf=last_call_timeout=0.2")  # fmt: skip
    first = agent(*common, program)
    job.wait_for(1)
    second = agent(*common, program)
    out, err, codes = finish(first, second)
    assert codes == [0, 0], err
    assert out[0].splitlines() == ["0 0 1 0", "0 0 2 0"]
    assert out[1].splitlines() == ["1 1 2 1"]
    assert "another machine has come; starting again" in err[0]


def test_a_machine_that_goes_ends_a_job_of_fixed_size(agent, job, port):
    program = job.program("time.sleep(60)")
    common = ("--nnodes=2", "--master-addr=127.0.0.1", f"--master-port={port}", "--max-restarts=5")
    first, second = (agent(*common, f"--node-rank={rank}", "--local-addr=node", program) for rank in (0, 1))
    job.wait_for(2)
    second.send_signal(signal.SIGTERM)
    _, err, codes = finish(first)
    assert codes == [1]
    assert "the job has failed: the agent on node was told to end" in err[0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_machine_that_goes_shrinks_an_elastic_job(agent, job, port, number):
    program = job.program(f"{SHOW}time.sleep(60 if os.environ['WORLD_SIZE'] == '2' else 0)")
    common = ("--nnodes=1:2", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}",
              "--rdzv-conf=last_call_timeout=10,keep_alive=2")  # fmt: skip
    first = agent(*common, program)
    wait_until(lambda: is_served(port))
    second = agent(*common, program)
    job.wait_for(2)
    second.send_signal(number)
    second.communicate(timeout=10)
    out, err, codes = finish(first)
    assert codes == [0], err
    assert out[0].splitlines() == ["0 0 2 0", "0 0 1 0"]


def is_served(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def test_the_others_end_when_the_machine_with_the_store_is_gone(agent, job, port):
    program = job.program("time.sleep(60)")
    common = ("--nnodes=2", "--master-addr=127.0.0.1", f"--master-port={port}")
    first, second = (agent(*common, f"--node-rank={rank}", program) for rank in (0, 1))
    job.wait_for(2)
    first.send_signal(signal.SIGKILL)
    _, err, codes = finish(second)
    assert codes == [1]
    assert "the job has failed: TCPStore: " in err[0]
    assert f"127.0.0.1:{port}" in err[0]


def test_who_is_missing_is_named(job, port, capfd):
    from tt.distributed.run import main

    words = ["--nnodes=3", "--master-addr=127.0.0.1", f"--master-port={port}", "--rdzv-conf=join_timeout=0.2"]
    assert main([*words, job.program("")]) == 1
    assert "not all of 3 machines came to 127.0.0.1" in capfd.readouterr().err

from __future__ import annotations

import pytest

from tt.distributed.run import parse_args


def test_dashes_underscores_and_variables_mean_the_same(monkeypatch):
    dashes = parse_args(["--nnodes=2", "--node-rank=1", "--nproc-per-node=3", "--max-restarts", "4", "p.py"])
    underscores = parse_args(
        ["--nnodes=2", "--node_rank=1", "--nproc_per_node=3", "--max_restarts", "4", "p.py"]
    )
    for name, value in {
        "NNODES": 2,
        "NODE_RANK": 1,
        "NPROC_PER_NODE": 3,
        "MAX_RESTARTS": 4,
        "STANDALONE": 0,
    }.items():
        monkeypatch.setenv(f"PET_{name}", str(value))
    variables = parse_args(["p.py"])
    for options in (underscores, variables):
        assert (options.max_nodes, options.node_rank, options.nproc, options.max_restarts) == (2, 1, 3, 4)
        assert (options.host, options.port, options.backend) == (dashes.host, dashes.port, dashes.backend)


def test_what_follows_the_program_is_its_own():
    options = parse_args(["-m", "pkg", "--nnodes=2", "-r", "3"])
    assert (options.kind, options.program, [*options.arguments]) == (
        "module",
        "pkg",
        ["--nnodes=2", "-r", "3"],
    )


def test_addresses_and_ranges():
    options = parse_args(["--nnodes=1:4", "--rdzv-backend=c10d", "--rdzv-endpoint=[::1]:77", "p.py"])
    assert (options.min_nodes, options.max_nodes, options.host, options.port) == (1, 4, "::1", 77)
    assert parse_args(["--rdzv-backend=c10d", "--rdzv-endpoint=alpha", "p.py"]).port == 29500
    alone = parse_args(["p.py"])
    assert (alone.host, alone.port, alone.backend) == ("localhost", 0, "c10d")


def test_streams_are_chosen_for_all_or_some_ranks():
    options = parse_args(["--nproc-per-node=2", "-r", "0:1,1:2", "-t", "3", "--local-ranks-filter=1", "p.py"])
    assert options.redirects == {0: {"out"}, 1: {"err"}}
    assert options.tee == {0: {"out", "err"}, 1: {"out", "err"}}
    assert options.shown == {1}


def test_as_many_workers_as_there_are_processors():
    import os

    assert parse_args(["--nproc-per-node=cpu", "p.py"]).nproc == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    "words, message",
    [
        ([], "the following arguments are required: program"),
        (["--nnodes=0", "p"], "--nnodes must be a whole number from 1, not '0'"),
        (["--nnodes=3:2", "p"], "the minimum 3 is above the maximum 2"),
        (["--nnodes=1:2", "p"], "--nnodes=MIN:MAX needs --rdzv-backend=c10d"),
        (["--nnodes=2", "--node-rank=2", "p"], "--node-rank 2 is not below --nnodes 2"),
        (["--nproc-per-node=many", "p"], "--nproc-per-node must be a number, auto, cpu or gpu, not 'many'"),
        (["--nproc-per-node=0", "p"], "--nproc-per-node must be a whole number from 1, not '0'"),
        (["--rdzv-backend=etcd", "p"], "invalid choice: 'etcd'"),
        (["--rdzv-backend=c10d", "p"], "--rdzv-endpoint is missing"),
        (["--rdzv-endpoint=a:b:c", "p"], "--rdzv-endpoint must be HOST:PORT"),
        (["--nnodes=2", "--master-port=99999", "p"], "--master-port must be at most 65535, not 99999"),
        (["--nnodes=2", "--master-port=x", "p"], "--master-port must be a whole number from 0, not 'x'"),
        (["--rdzv-conf=fast", "p"], "--rdzv-conf must be KEY=VALUE"),
        (["--rdzv-conf=join_timeout=soon", "p"], "join_timeout must be a number of seconds, not 'soon'"),
        (["--max-restarts=-1", "p"], "--max-restarts must be a whole number from 0, not '-1'"),
        (["--tee=4", "p"], "--tee must be 0, 1, 2, 3 or RANK:NUMBER,..., not '4'"),
        (["--no-python", "-m", "p"], "--no-python and --module exclude each other"),
        (["--run-path", "p.py"], "--run-path needs the absolute path"),
        (["--nproc=2", "p"], "p"),
    ],
)
def test_wrong_options_end_with_code_2_and_a_reason(words, message, capsys):
    with pytest.raises(SystemExit) as left:
        parse_args(words)
    assert left.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.torch
def test_every_option_of_torchrun_is_there_or_is_known_to_be_missing():
    reference = pytest.importorskip("torch.distributed.run").get_args_parser()
    from tt.distributed.run.options import parser

    ours, theirs = (
        {name for action in p._actions for name in action.option_strings} for p in (parser(), reference)
    )
    missing = {name.replace("_", "-") for name in theirs - ours}
    assert missing == {
        "--event-log-handler", "--logs-specs", "--numa-binding", "--signals-to-handle", "--virtual-local-rank",
        "--duplicate-stdout-filters", "--duplicate-stderr-filters",
    }  # fmt: skip

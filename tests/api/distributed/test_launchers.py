from __future__ import annotations

import pytest

from tt.distributed.launchers import Launch, first_host, launched_by

SRUN = {
    "SLURM_STEP_ID": "0", "SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "8", "SLURM_NTASKS": "16", "SLURM_LOCALID": "1",
    "SLURM_STEP_NODELIST": "gpu[003-004,9]", "SLURM_JOB_ID": "123456",
}  # fmt: skip


@pytest.mark.parametrize(
    "environ, expected",
    [
        ({}, None),
        ({"RANK": "1"}, None),
        ({"RANK": "1", "WORLD_SIZE": "2"}, Launch("env", 1, 2)),
        (
            {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "a",
             "MASTER_PORT": "29500", "TORCHELASTIC_RUN_ID": "x", **SRUN},
            Launch("run", 1, 2, 1, 2, "a", 29500),
        ),
        (
            {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
             "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "PMI_RANK": "9", "PMI_SIZE": "9"},
            Launch("openmpi", 3, 4, 1, 2),
        ),
        ({"PMI_RANK": "0", "PMI_SIZE": "4"}, Launch("mpiexec", 0, 4)),
        ({"PMI_RANK": "0", "PMI_SIZE": "4", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "4"},
         Launch("mpiexec", 0, 4, 0, 4)),
        (SRUN, Launch("slurm", 5, 8, 1, None, "gpu003", 15000 + 123456 * 37 % 10000)),
        ({**SRUN, "PMI_RANK": "5", "PMI_SIZE": "8", "MASTER_ADDR": "b", "MASTER_PORT": "7"},
         Launch("slurm", 5, 8, 1, None, "b", 7)),
        ({**SRUN, "SLURM_STEP_ID": "4294967291"}, None),
        ({k: v for k, v in SRUN.items() if k != "SLURM_STEP_ID"}, None),
    ],
)  # fmt: skip
def test_each_launcher_is_recognised_by_its_variables(environ, expected):
    assert launched_by(environ) == expected


@pytest.mark.parametrize(
    "nodes, first",
    [
        ("gpu[007-009,12],cpu1", "gpu007"),
        ("alpha,beta", "alpha"),
        ("r[1-2]n[03,05]", "r1n03"),
        ("one", "one"),
    ],
)
def test_the_first_host_of_slurms_list(nodes, first):
    assert first_host(nodes) == first


def test_a_variable_that_is_no_number_is_named():
    with pytest.raises(ValueError, match="PMI_RANK must be a whole number, not 'one'"):
        launched_by({"PMI_RANK": "one", "PMI_SIZE": "2"})

"""DistributedDataParallel, and PyTorch's over gloo, take the same steps from the same start."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tt
import tt.distributed as dist
from tests.api.distributed import training
from tests.api.distributed.programs import run
from tt.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

pytestmark = pytest.mark.torch

WITH_TORCH = """
import json, sys, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[4])
import torch, torch.distributed as dist
import training
torch.set_num_threads(1)
rank, size = int(sys.argv[1]), int(sys.argv[2])
dist.init_process_group("gloo", store=dist.FileStore(sys.argv[3], size), rank=rank, world_size=size)
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
found = training.parallel(torch, rank, size)
found["accumulated"] = training.accumulated(torch, rank)
found["compressed"] = training.compressed(torch, powerSGD_hook, rank, size)
with open(f"{sys.argv[3]}.{rank}", "w") as file:
    json.dump(found, file)
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    pytest.importorskip("torch.distributed")
    path = tmp_path_factory.mktemp("gloo") / "store"
    folder = str(Path(training.__file__).parent)
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WITH_TORCH, str(rank), "2", str(path), folder],
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    errors = [each.communicate(timeout=120)[1] for each in running]
    assert [each.returncode for each in running] == [0, 0], errors
    return [json.loads(path.with_suffix(f".{rank}").read_text()) for rank in range(2)]


@pytest.fixture(scope="module", params=["threads", "gloo"])
def both(request, theirs):
    return run(ours, 2, backend=request.param), theirs


def ours():
    rank = dist.get_rank()
    return {
        **training.parallel(tt, rank, 2),
        "accumulated": training.accumulated(tt, rank),
        "compressed": training.compressed(tt, powerSGD_hook, rank, 2),
    }


@pytest.mark.parametrize("rank", range(2))
@pytest.mark.parametrize("name", training.MODELS)
def test_losses_and_states_are_those_of_pytorch(both, name, rank):
    ours, theirs = both[0][rank], both[1][rank]
    for number in range(3):
        found, expected = ours[f"{name} {number}"], theirs[f"{name} {number}"]
        np.testing.assert_allclose(found["losses"], expected["losses"], rtol=1e-10)
        assert list(found["state"]) == list(expected["state"])
        for key, value in expected["state"].items():
            np.testing.assert_allclose(found["state"][key], value, rtol=1e-10, atol=1e-12, err_msg=key)


@pytest.mark.parametrize("rank", range(2))
def test_gradients_that_add_up_while_parameters_are_unused_average_as_in_pytorch(both, rank):
    ours, theirs = both[0][rank]["accumulated"], both[1][rank]["accumulated"]
    assert ours.keys() == theirs.keys()
    for name, expected in theirs.items():
        for found, wanted in zip(ours[name], expected, strict=True):
            assert (found is None) == (wanted is None), name
            if wanted is not None:
                np.testing.assert_allclose(found, wanted, rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("rank", range(2))
def test_powersgd_gives_the_gradients_of_pytorch_with_feedback_and_a_warm_start(both, rank):
    steps = zip(both[0][rank]["compressed"], both[1][rank]["compressed"], strict=True)
    for step, (found, expected) in enumerate(steps):
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10, err_msg=f"step {step}")

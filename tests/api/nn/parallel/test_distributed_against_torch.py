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
found = training.parallel(torch, rank, size)
with open(f"{sys.argv[3]}.{rank}", "w") as file:
    json.dump(found, file)
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def both(tmp_path_factory):
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
    theirs = [json.loads(path.with_suffix(f".{rank}").read_text()) for rank in range(2)]
    return run(lambda: training.parallel(tt, dist.get_rank(), 2), 2), theirs


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

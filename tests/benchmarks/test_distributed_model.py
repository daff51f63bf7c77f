"""The model on paper: what ranks really send, by the flight recorder, and collectives against their messages."""

from __future__ import annotations

import math
import re

import pytest

import tt
import tt.distributed as dist
from benchmarks.distributed_model import (
    SCHEMES,
    Cluster,
    Link,
    Operation,
    Training,
    main,
    memory,
    operations,
    ring,
    seconds_of_step,
    smallest_bucket,
    traffic,
    tree,
)
from tt.distributed.engines.threads import run_threads
from tt.distributed.fsdp import fully_shard
from tt.distributed.optim import ZeroRedundancyOptimizer
from tt.nn.parallel import DistributedDataParallel

LAYERS = 6
NAMES = {"all_gather_into_tensor": "all_gather", "reduce_scatter_tensor": "reduce_scatter"}


def sent_in_a_step(scheme, size):
    """Return the collectives of a step, as name and bytes, in the order in which rank 0 started them."""

    def train():
        model = parallel = tt.nn.Sequential(*(tt.nn.Linear(12, 12, bias=False) for _ in range(LAYERS)))
        optimizer = None
        if scheme == "FSDP":
            for layer in model:
                fully_shard(layer)
        else:
            parallel = DistributedDataParallel(model, bucket_cap_mb=1000 / 2**20)
        if scheme == "ZeRO":
            optimizer = ZeroRedundancyOptimizer(model.parameters(), tt.optim.SGD, lr=0.1)
        for step in range(3):
            if step == 2:
                before = len(dist.flight_recorder())
            parallel(tt.ones(2, 12, requires_grad=True)).sum().backward()
            (optimizer or tt.optim.SGD(model.parameters(), lr=0.1)).step()
        return dist.flight_recorder()[before:]

    found = []
    for record in run_threads(train, size)[0]:
        name, numbers = re.fullmatch(r"(\w+) of float32\[(.*?)\].*", record.operation).groups()
        count = 4 * math.prod(int(number) for number in numbers.split(",") if number)
        # These say what a rank brings or gets, and the model what all have together.
        found.append((NAMES.get(name, name), count * size if name in NAMES else count))
    return found


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_ranks_send_what_the_model_says(scheme, size):
    layer = 4.0 * 12 * 12
    predicted = [(each.name, each.bytes) for each in operations(scheme, [layer] * LAYERS, size, 1000, 1000)]
    found = sent_in_a_step(scheme, size)
    if scheme == "ZeRO":  # whole parameters have owners: the messages are alike on average
        owned = [count for name, count in found if name == "broadcast"]
        assert len(owned) == size and sum(owned) == sum(b for name, b in predicted if name == "broadcast")
        found = [row for row in found if row[0] != "broadcast"]
        predicted = [row for row in predicted if row[0] != "broadcast"]
    assert sorted(found) == sorted(predicted)
    assert operations(scheme, [layer], 1) == []


def test_collectives_take_the_time_of_their_messages():
    link = Link(latency=1.0, bandwidth=2.0)
    # In a ring of four, a rank passes on a quarter of the tensor, three times for each half of all_reduce.
    assert ring(Operation("all_reduce", 8.0), 4, link) == pytest.approx(6 * (1.0 + 2.0 / 2.0))
    assert ring(Operation("all_gather", 8.0), 4, link) == pytest.approx(3 * (1.0 + 2.0 / 2.0))
    # Doubling distances: halves, then quarters.
    assert tree(Operation("reduce_scatter", 8.0), 4, link) == pytest.approx((1.0 + 4.0 / 2) + (1.0 + 2.0 / 2))
    assert traffic(Operation("all_reduce", 8.0), 4) == 2 * traffic(Operation("all_gather", 8.0), 4) == 12.0


@pytest.mark.parametrize("algorithm", ["ring", "tree"])
@pytest.mark.parametrize("ranks", [8, 4096])
def test_in_the_smallest_bucket_latencies_are_a_tenth(ranks, algorithm):
    link = Link(1e-5, 5e10)
    size = smallest_bucket(ranks, link, algorithm)
    whole = (ring if algorithm == "ring" else tree)(Operation("all_reduce", size), ranks, link)
    without = traffic(Operation("all_reduce", size), ranks) / link.bandwidth
    assert 1 - without / whole == pytest.approx(0.1)


def test_memory_falls_with_what_is_divided():
    assert [memory(scheme, 1.0, 4) for scheme in SCHEMES] == [16.0, 7.0, 4.0]
    assert {memory(scheme, 1.0, 1) for scheme in SCHEMES} == {16.0}


def test_a_step_hides_no_more_than_it_computes():
    cluster, training = Cluster(), Training(1e9, 10, 1000.0)
    for scheme in SCHEMES:
        for ranks in (8, 512):
            computing, total, waits = seconds_of_step(scheme, training, ranks, cluster, "ring")
            assert total - computing <= waits <= total
            slower = seconds_of_step(scheme, training, ranks, cluster, "tree")
            assert slower[1] <= total


@pytest.mark.parametrize("parameters", [1e9, 5e10])
@pytest.mark.parametrize("scheme", ["DDP", "FSDP"])
def test_tokens_hide_the_bytes_whatever_the_size_of_the_model(scheme, parameters):
    cluster = Cluster()
    enough = cluster.operations_of_gpu / cluster.between.bandwidth
    shares = []
    for tokens in (enough / 2, enough * 1.05):
        computing, _, waits = seconds_of_step(scheme, Training(parameters, 40, tokens), 512, cluster)
        shares.append(waits / (computing + waits))
    assert 0.35 < shares[0] < 0.55 and shares[1] < 0.1


def test_the_table_has_a_row_for_each_number_of_gpus(capsys):
    assert main() == 0
    text = capsys.readouterr().out
    assert len(re.findall(r"^\| 4,096 \|", text, re.MULTILINE)) == 3
    assert "(too much)" in text


def test_the_page_shows_what_the_model_says(request, capsys):
    page = (request.config.rootpath / "docs" / "distributed-training.md").read_text(encoding="utf-8")
    main()
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert [row for row in rows if row not in page] == []

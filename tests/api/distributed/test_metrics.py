"""gather_for_metrics: every sample counts once, whatever the number of ranks."""

from __future__ import annotations

from collections import namedtuple

import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import run
from tt.utils.data import DataLoader, DistributedSampler

Pair = namedtuple("Pair", "left right")


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize(("length", "size"), [(10, 2), (10, 3), (7, 4), (2, 4), (1, 1)])
def test_batches_give_the_dataset_without_what_was_repeated(engine, length, size, drop_last):
    data = tt.arange(length * 2.0).reshape(length, 2)

    def evaluate():
        sampler = DistributedSampler(data, shuffle=False, drop_last=drop_last)
        found = [data[:0]]
        for i, x in enumerate(DataLoader(data, batch_size=2, sampler=sampler)):
            found.append(dist.gather_for_metrics(x.requires_grad_(), sampler, start=2 * i))
        return tt.cat(found)

    expected = data[: length // size * size] if drop_last else data
    for found in run(evaluate, size, backend=engine):
        assert tt.equal(found, expected) and not found.requires_grad


def test_a_shuffled_epoch_has_each_sample_once_and_its_parts_fit_together(engine):
    def evaluate():
        sampler = DistributedSampler(range(11), shuffle=True, seed=3)
        own = tt.tensor(list(sampler))
        given = {
            "index": own,
            "pair": Pair((own * 2, own > 5), [own.double()]),
            "names": [f"s{i}" for i in own.tolist()],
        }
        return dist.gather_for_metrics(given, sampler)

    for found in run(evaluate, 4, backend=engine):
        index = found["index"]
        assert sorted(index.tolist()) == list(range(11))
        (double, large), (real,) = found["pair"]
        assert isinstance(found["pair"], Pair) and tt.equal(double, index * 2) and tt.equal(large, index > 5)
        assert real.dtype is tt.float64 and tt.equal(real, index.double())
        assert found["names"] == [f"s{i}" for i in index.tolist()]


def test_objects_may_hold_tensors_of_any_size(engine):
    def evaluate():
        sampler = DistributedSampler(range(3), shuffle=False)
        found = [{"boxes": tt.full((i, 4), float(i)), "id": i} for i in sampler]
        return dist.gather_for_metrics(found, sampler, use_gather_object=True)

    for found in run(evaluate, 2, backend=engine):
        assert [each["id"] for each in found] == [0, 1, 2]
        assert [tuple(each["boxes"].shape) for each in found] == [(0, 4), (1, 4), (2, 4)]


def test_a_group_gathers_among_its_ranks(engine):
    def evaluate():
        pair = dist.new_group([0, 2])
        if dist.get_rank() == 1:
            return None
        sampler = DistributedSampler(range(3), 2, dist.get_rank(pair), shuffle=False)
        return dist.gather_for_metrics(tt.tensor(list(sampler)), sampler, group=pair).tolist()

    assert run(evaluate, 3, backend=engine) == [[0, 1, 2], None, [0, 1, 2]]


@pytest.mark.parametrize(
    ("given", "options", "error", "text"),
    [
        (tt.ones(3), {}, ValueError, "3 samples after the first 0 are more than the 2"),
        (tt.ones(1), {"start": 2}, ValueError, "1 samples after the first 2"),
        (tt.ones(1), {"start": -1}, ValueError, "after the first -1"),
        (tt.ones(()), {}, ValueError, "no dimension"),
        ((tt.ones(1), tt.ones(2)), {}, ValueError, "numbers of samples differ: 1, 2"),
        ({"loss": 0.5}, {}, TypeError, "tensors and lists of objects, got float"),
        (tt.ones(1), {"use_gather_object": True}, TypeError, "a list of objects, got Tensor"),
    ],
    ids=["too many", "too late", "before", "a number", "uneven", "no tensor", "no list"],
)
def test_what_does_not_fit_the_sampler_is_refused(given, options, error, text):
    def evaluate():
        with pytest.raises(error, match=text):
            dist.gather_for_metrics(given, DistributedSampler(range(4)), **options)
        return True

    assert run(evaluate, 2) == [True, True]


def test_ranks_that_do_not_agree_are_refused():
    def evaluate():
        sampler = DistributedSampler(range(4), 3, dist.get_rank())
        with pytest.raises(
            ValueError, match=r"the sampler is that of rank \d of 3, and this is rank \d of 2"
        ):
            dist.gather_for_metrics(tt.ones(1), sampler)
        with pytest.raises(ValueError, match=r"different numbers of samples: \[1, 2\]"):
            dist.gather_for_metrics(["a"] * (1 + dist.get_rank()), DistributedSampler(range(4)))
        return True

    assert run(evaluate, 2) == [True, True]

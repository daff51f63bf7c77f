"""Join: several joinables together, and what it refuses. DistributedDataParallel's part is tested beside it."""

from __future__ import annotations

import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import run
from tt.distributed.algorithms import Join, Joinable, JoinHook
from tt.distributed.optim import ZeroRedundancyOptimizer
from tt.nn.parallel import DistributedDataParallel


class Counter(Joinable):
    """Counts the batches of all ranks."""

    def __init__(self):
        super().__init__()
        self.count = 0
        self.ends = []

    def __call__(self):
        Join.notify_join_context(self)
        self.add(1)

    def add(self, number):
        found = tt.tensor([float(number)])
        dist.all_reduce(found)
        self.count += int(found.item())

    def join_hook(self, **kwargs):
        counter = self

        class Hook(JoinHook):
            def main_hook(self):
                counter.add(0)

            def post_hook(self, is_last_joiner):
                counter.ends.append((kwargs["name"], is_last_joiner))

        return Hook()

    @property
    def join_device(self):
        return tt.device("cpu")

    @property
    def join_process_group(self):
        return dist.group.WORLD


def test_ranks_without_batches_answer_and_all_know_who_was_last(engine):
    def count():
        counter = Counter()
        with Join([counter], name="own"):
            for _ in range(2 * dist.get_rank()):
                counter()
        return counter.count, counter.ends

    assert run(count, 3, backend=engine) == [
        (6, [("own", False)]),
        (6, [("own", False)]),
        (6, [("own", True)]),
    ]


def test_data_parallel_and_zero_join_together(engine):
    def train():
        model = DistributedDataParallel(tt.nn.Linear(1, 1, bias=False))
        with tt.no_grad():
            model.module.weight.fill_(0.0)
        optimizer = ZeroRedundancyOptimizer(model.parameters(), tt.optim.SGD, lr=1.0)
        with Join([model, optimizer]):
            for _ in range(1 + dist.get_rank()):
                optimizer.zero_grad()
                model(tt.ones(1, 1)).sum().backward()
                optimizer.step()
        return model.module.weight.item()

    assert run(train, 2, backend=engine) == [-1.5, -1.5]


def test_without_joinables_and_with_several_groups_it_is_refused():
    with pytest.raises(ValueError, match="at least one joinable"):
        Join([])

    class Elsewhere(Counter):
        @property
        def join_process_group(self):
            return self.own

    def join():
        other = Elsewhere()
        other.own = dist.new_group([0])
        with pytest.raises(ValueError, match="multiple process groups"):
            Join([Counter(), other], name="")
        return True

    assert run(join, 1) == [True]

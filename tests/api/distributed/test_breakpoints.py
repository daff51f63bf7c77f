"""A breakpoint on one rank."""

from __future__ import annotations

import pdb
from datetime import timedelta

import tt.distributed as dist
from tests.api.distributed.programs import run


def test_one_rank_stops_at_the_place_of_the_call_and_the_others_wait(monkeypatch):
    stopped = []

    def stop(self, frame):
        stopped.append((dist.get_rank(), frame.f_code.co_name))

    monkeypatch.setattr(pdb.Pdb, "set_trace", stop)

    def program():
        for _ in range(3):
            dist.breakpoint(rank=1, skip=2)
        dist.breakpoint(timeout_s=None)
        return dist.group.WORLD.timeout, dist.group.WORLD.guard.ended

    found = run(program, 3)
    assert sorted(stopped) == [(0, "program"), (1, "program")]
    assert found == [(timedelta(hours=1), 2)] * 3  # a barrier for each of the two

"""Names of tt.distributed where PyTorch defines them."""

from __future__ import annotations

from datetime import timedelta

import pytest

import tt.distributed as dist
from tt.distributed import constants, distributed_c10d


def test_the_names_of_the_package_are_there():
    assert distributed_c10d.ReduceOp is dist.ReduceOp
    assert distributed_c10d.all_reduce is dist.all_reduce
    assert constants.default_pg_timeout == distributed_c10d.default_pg_timeout == timedelta(minutes=30)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        distributed_c10d.nonsense  # noqa: B018 - the look is what raises


def test_groups_are_found_by_name_and_rank():
    def job():
        group = distributed_c10d._get_default_group()
        first = dist.new_group([0])
        return (
            distributed_c10d._resolve_process_group(group.group_name) is group,
            distributed_c10d._get_global_rank(group, 1),
            distributed_c10d._rank_not_in_group(None),
            distributed_c10d._rank_not_in_group(first),
        )

    assert dist.run_threads(job, 2) == [(True, 1, False, False), (True, 1, False, True)]


def test_without_a_job_there_is_no_group():
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        distributed_c10d._get_default_group()
    with pytest.raises(ValueError, match="no process group named"):
        distributed_c10d._resolve_process_group("nonsense")

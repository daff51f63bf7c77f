from __future__ import annotations

from datetime import timedelta

import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import ENGINES, run

OUTSIDE = dist.GroupMember.NON_GROUP_MEMBER


def total(group):
    x = tt.tensor([10 ** dist.get_rank()])
    dist.all_reduce(x, group=group)
    return x.item()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_group_has_its_ranks_and_others_get_a_mark(engine):
    def program():
        group = dist.new_group([2, 0], timeout=timedelta(seconds=7), group_desc="ends")
        if dist.get_rank() == 1:
            assert group is OUTSIDE and dist.get_rank(group) == -1 and dist.get_world_size(group) == -1
            return None
        assert (group.group_desc, group.timeout.total_seconds(), group.size()) == ("ends", 7, 2)
        return group.rank(), total(group), dist.get_process_group_ranks(group)

    assert run(program, 3, backend=engine) == [(0, 101, [0, 2]), None, (1, 101, [0, 2])]


def test_groups_overlap_and_have_numbers_of_their_own(engine):
    def program():
        every, pair = dist.new_group(), dist.new_group([0, 1])
        results = [total(every), total(None)]
        if pair is not OUTSIDE:
            results.append(total(pair))
        results.append(dist.get_pg_count())
        return results

    assert run(program, 3, backend=engine) == [[111, 111, 11, 3], [111, 111, 11, 3], [111, 111, 3]]


def test_only_the_members_need_to_call_if_they_synchronize_locally(engine):
    def program():
        if dist.get_rank() == 1:
            return dist.new_group([0, 2], use_local_synchronization=True) == OUTSIDE
        first = dist.new_group([0, 2], use_local_synchronization=True)
        second = dist.new_group([0, 2], use_local_synchronization=True)
        return total(first), total(second), first.group_name != second.group_name

    assert run(program, 3, backend=engine) == [(101, 101, True), True, (101, 101, True)]


def test_ranks_are_divided_into_groups(engine):
    def program():
        own, groups = dist.new_subgroups(2)
        odd, listed = dist.new_subgroups_by_enumeration([[0, 2], [1]])
        assert len(groups) == len(listed) == 2 and own in groups
        return total(own), None if odd is None else total(odd)

    assert run(program, 4, backend=engine) == [(11, 101), (11, 10), (1100, 101), (1100, None)]


def test_a_group_is_split_by_its_members_alone(engine):
    def program():
        trio = dist.new_group([0, 1, 3])
        if trio is OUTSIDE:
            return None
        part = dist.split_group(trio, [[0, 2]])
        again = dist.split_group(part, [[1], [0]]) if part is not None else None
        return None if part is None else (total(part), total(again))

    assert run(program, 4, backend=engine) == [(1001, 1), None, None, (1001, 1000)]


def test_an_engine_of_its_own():
    def program():
        group = dist.new_group(backend="bare")
        assert dist.get_backend(group) == "bare" and dist.get_backend() == "threads"
        return total(group)

    assert run(program, 2) == [11, 11]


def test_a_destroyed_group_is_refused_and_others_go_on(engine):
    def program():
        group = dist.new_group()
        dist.destroy_process_group(group)
        with pytest.raises(dist.DistBackendError, match="was shut down"):
            total(group)
        with pytest.raises(ValueError, match="Invalid process group"):
            dist.destroy_process_group(group)
        dist.destroy_process_group(OUTSIDE)
        return total(None)

    assert run(program, 2, backend=engine) == [11, 11]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: dist.new_group([0, 5]), ValueError, "within the world_size"),
        (lambda: dist.new_group([0, 0]), ValueError, "twice"),
        (lambda: dist.new_group([]), ValueError, "at least one rank"),
        (lambda: dist.new_group(timeout=3), TypeError, "timedelta"),
        (lambda: dist.new_group(backend="other"), ValueError, "Unknown backend"),
        (lambda: dist.new_subgroups(0), ValueError, "positive"),
        (lambda: dist.new_subgroups(3), ValueError, "must not exceed"),
        (lambda: dist.new_subgroups_by_enumeration([]), ValueError, "empty"),
        (lambda: dist.new_subgroups_by_enumeration([[0], [0]]), ValueError, "Rank 0 has appeared"),
        (lambda: dist.split_group(), ValueError, "split_ranks"),
        (lambda: dist.split_group(split_ranks=[[0], [0]]), ValueError, "two groups"),
        (lambda: dist.split_group(split_ranks=[[7]]), ValueError, "from 0 to 1"),
        (lambda: dist.split_group(split_ranks=[[0]], backend="bare"), ValueError, "parent's"),
    ],
)
def test_wrong_arguments_are_refused(call, error, text):
    def program():
        with pytest.raises(error, match=text):
            call()

    run(program, 2)

from __future__ import annotations

import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import DTYPES, LAYOUTS, like, run, values


@pytest.mark.parametrize("dtype", [*DTYPES, tt.float8_e4m3fn], ids=str)
def test_messages_carry_every_dtype_and_layout(engine, dtype):
    def program():
        for layout in LAYOUTS:
            if dist.get_rank() == 0:
                dist.send(values(dtype, layout, 5), dst=1)
            else:
                found = like(values(dtype, layout, 5), layout)
                assert dist.recv(found, src=0) == 0
                assert found.tolist() == values(dtype, layout, 5).tolist()

    run(program, 2, backend=engine)


def test_messages_of_one_tag_keep_their_order_and_tags_are_apart(engine):
    def program():
        if dist.get_rank() == 0:
            for number, tag in ((1, 3), (2, 3), (9, 4)):
                dist.send(tt.tensor([number]), dst=1, tag=tag)
            return None
        found = []
        for tag in (4, 3, 3):
            x = tt.tensor([0])
            dist.recv(x, src=0, tag=tag)
            found.append(x.item())
        return found

    assert run(program, 2, backend=engine)[1] == [9, 1, 2]


def test_a_receive_from_any_rank_says_which(engine):
    def program():
        if dist.get_rank() == 2:
            found = {}
            for _ in range(2):
                x = tt.tensor([0])
                source = dist.recv(x)
                found[source] = x.item()
            return found
        dist.send(tt.tensor([dist.get_rank() + 10]), dst=2)

    assert run(program, 3, backend=engine)[2] == {0: 10, 1: 11}


def test_messages_in_both_directions_at_once_do_not_wait_for_each_other(engine):
    def program():
        rank, size = dist.get_rank(), dist.get_world_size()
        x = tt.zeros(2)
        receive = dist.irecv(x, src=(rank - 1) % size)
        send = dist.isend(tt.full((2,), float(rank)), dst=(rank + 1) % size)
        assert send.wait() and receive.wait()
        assert receive.source_rank() == (rank - 1) % size
        return x.tolist()

    assert run(program, 3, backend=engine) == [[2.0, 2.0], [0.0, 0.0], [1.0, 1.0]]


def test_a_collective_can_run_while_a_message_is_awaited(engine):
    def program():
        x = tt.zeros(1)
        work = dist.irecv(x, src=1) if dist.get_rank() == 0 else None
        y = tt.ones(1)
        dist.all_reduce(y)
        if dist.get_rank() == 1:
            dist.send(y, dst=0)
        if work is not None:
            work.wait()
        return x.item()

    assert run(program, 2, backend=engine)[0] == 2.0


def test_ranks_of_groups_are_translated(engine):
    def program():
        group = dist.new_group([1, 2])
        if dist.get_rank() == 0:
            return None
        x = tt.tensor([dist.get_rank()])
        if dist.get_rank() == 1:
            dist.send(x, group=group, group_dst=1)
            return None
        return dist.recv(x, group=group), x.item()

    assert run(program, 3, backend=engine)[2] == (1, 1)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: dist.send(tt.ones(1), dist.get_rank()), "destination rank should not be the same"),
        (lambda: dist.isend(tt.ones(1), dist.get_rank()), "destination rank should not be the same"),
        (lambda: dist.recv(tt.ones(1), dist.get_rank()), "source rank should not be the same"),
        (lambda: dist.irecv(tt.ones(1), group_src=dist.get_rank()), "source rank should not be the same"),
        (lambda: dist.send(tt.ones(1)), "Must specify"),
        (lambda: dist.send(tt.ones(1), 9), "Global rank 9"),
        (lambda: dist.send(tt.ones(1), 1 - dist.get_rank(), tag=-1), "tag"),
        (lambda: dist.recv(tt.ones(1), 1 - dist.get_rank(), tag=32767), "tag"),
        (lambda: dist.P2POp(dist.all_reduce, tt.ones(1), 0), "isend"),
        (lambda: dist.batch_isend_irecv([]), "p2p_op_list"),
        (lambda: dist.batch_isend_irecv([3]), "p2p_op_list"),
    ],
)
def test_wrong_arguments_are_refused(call, text):
    def program():
        with pytest.raises(ValueError, match=text):
            call()

    run(program, 2)


def test_operations_of_different_groups_are_no_batch(engine):
    def program():
        other = 1 - dist.get_rank()
        group = dist.new_group()
        ops = [dist.P2POp(dist.isend, tt.ones(1), other), dist.P2POp(dist.irecv, tt.ones(1), other, group)]
        assert "isend" in repr(ops[0])
        with pytest.raises(ValueError, match="same group"):
            dist.batch_isend_irecv(ops)

    run(program, 2, backend=engine)

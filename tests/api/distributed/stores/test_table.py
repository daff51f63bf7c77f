from __future__ import annotations

from tt.distributed.stores.table import Table


def test_a_waiter_is_woken_once_when_the_last_key_has_come():
    table, woken = Table(), []
    table.wait([b"a", b"b"], lambda: woken.append(1))
    table.set(b"a", b"")
    assert woken == []
    table.push(b"b", b"x")
    table.set(b"a", b"again")
    assert woken == [1]


def test_a_waiter_may_wait_again_while_it_is_woken():
    table, taken = Table(), []

    def take():
        value = table.pop(b"q")
        if value is None:
            table.wait([b"q"], take)
        else:
            taken.append(value)

    for _ in range(2):
        table.wait([b"q"], take)
    table.push(b"q", b"1")
    assert taken == [b"1"]
    table.push(b"q", b"2")
    assert taken == [b"1", b"2"]


def test_who_is_forgotten_is_not_woken_and_leaves_nothing():
    table = Table()
    waiting = table.wait([b"a", b"b"], lambda: 1 / 0)
    table.forget(waiting)
    table.set(b"a", b"")
    table.set(b"b", b"")
    assert table._waiting == {}


def test_an_empty_queue_does_not_exist():
    table = Table()
    table.push(b"q", b"1")
    assert b"q" in table
    assert table.pop(b"q") == b"1"
    assert b"q" not in table
    assert table.pop(b"q") is None
    assert not table.queues

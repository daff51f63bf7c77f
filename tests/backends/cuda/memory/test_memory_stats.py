"""The account of memory: counts, largest numbers, segments and blocks, from several threads at once."""

from __future__ import annotations

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from tests.threads import in_threads
from tt.backends.cuda.memory.memory_stats import History, Ledger


@given(
    st.lists(st.tuples(st.booleans(), st.integers(1, 5000), st.booleans(), st.integers(0, 10)), max_size=40)
)
def test_the_account_agrees_with_a_plain_model(steps):
    ledger, live, waiting, total, highest, count = Ledger(), {}, {}, 0, 0, 0
    for number, (allocates, requested, waits, which) in enumerate(steps):
        size = -(-requested // 512) * 512
        if allocates or not live:
            ledger.allocated(4096 * number, size, requested, 7)
            live[4096 * number] = size, requested
            total, count = total + size, count + 1
        else:
            pointer = sorted(live)[which % len(live)]
            ledger.freed(pointer, waits=waits)
            gone = live.pop(pointer)
            if waits:
                waiting[pointer] = gone
        highest = max(highest, sum(s for s, _ in live.values()))
    stats = ledger.stats()
    assert stats["allocated_bytes.all.current"] == sum(s for s, _ in live.values())
    assert stats["requested_bytes.all.current"] == sum(r for _, r in live.values())
    assert stats["allocated_bytes.all.peak"] == highest
    assert stats["allocated_bytes.all.allocated"] == total
    assert stats["allocated_bytes.all.freed"] == total - stats["allocated_bytes.all.current"]
    assert (stats["allocation.all.current"], stats["allocation.all.allocated"]) == (len(live), count)
    assert stats["active.all.current"] == len(live) + len(waiting)
    for pointer in waiting:
        ledger.released(pointer)
    assert ledger.stats()["active_bytes.all.current"] == stats["allocated_bytes.all.current"]
    ledger.reset_peaks()
    ledger.reset_sums()
    stats = ledger.stats()
    assert stats["allocated_bytes.all.peak"] == stats["allocated_bytes.all.current"]
    assert stats["allocation.all.allocated"] == stats["allocation.all.freed"] == 0


def test_threads_lose_no_update():
    ledger = Ledger()

    def work(first):
        for number in range(first, first + 2000):
            ledger.allocated(number, 512, 100, 0)
            ledger.freed(number)
        ledger.allocated(first, 1024, 1000, 0)

    in_threads(*[partial(work, n * 10**6) for n in range(4)])
    stats = ledger.stats()
    assert stats["allocation.all.allocated"] == 8004 and stats["allocation.all.current"] == 4
    assert stats["allocated_bytes.all.current"] == 4096 and stats["requested_bytes.all.freed"] == 800_000


def test_a_history_keeps_the_latest_events_and_their_places():
    ledger = Ledger()
    ledger.history = History(3)
    for pointer in (1, 2):
        ledger.allocated(pointer, 512, 100, 0)
    ledger.freed(1)
    found = [(event["action"], event["addr"]) for event in ledger.history.entries]
    assert found == [("alloc", 2), ("free_requested", 1), ("free_completed", 1)]
    assert ledger.history.entries[0]["frames"][0]["filename"] == __file__

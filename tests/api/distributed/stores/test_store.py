"""What every store does, and PyTorch's stores with it."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

import pytest

import tt.distributed as dist

SOON = timedelta(milliseconds=60)
KINDS = ("hash", "file", "tcp", "prefix")


def make(library, kind, tmp_path):
    """Return a store of tt.distributed or torch.distributed."""
    if kind == "hash":
        store = library.HashStore()
    elif kind == "file":
        store = library.FileStore(str(tmp_path / library.__name__), 1)
    elif kind == "tcp":
        store = library.TCPStore("127.0.0.1", 0, 1, True)
    else:
        store = library.PrefixStore("part", library.HashStore())
    store.set_timeout(SOON)
    return store


@pytest.fixture(params=KINDS)
def store(request, tmp_path):
    return make(dist, request.param, tmp_path)


STEPS = {
    "values": lambda s: (s.set("a", "1"), s.get("a"), s.set("a", b"\xff"), s.get("a")),
    "empty keys and values": lambda s: (s.set("", ""), s.get("")),
    "counters": lambda s: (s.add("c", 3), s.add("c", -5), s.get("c"), s.set("d", "7"), s.add("d", 1)),
    "a counter of zero": lambda s: (s.add("z", 0), s.check(["z"])),
    "checks": lambda s: (s.check([]), s.check(["a"]), s.set("a", ""), s.check(["a"]), s.check(["a", "b"])),
    "a new key where none is expected": lambda s: (s.compare_set("n", "", "v"), s.get("n")),
    "a missing key where a value is expected": lambda s: (s.compare_set("n", "e", "v"), s.check(["n"])),
    "exchange": lambda s: (s.set("n", "v"), s.compare_set("n", "v", "w"), s.get("n")),
    "no exchange": lambda s: (s.set("n", "v"), s.compare_set("n", "x", "w"), s.compare_set("n", "", "w"), s.get("n")),
    "append": lambda s: (s.append("p", "x"), s.append("p", "y"), s.get("p")),
    "several": lambda s: (s.multi_set(["a", "b"], ["1", "2"]), s.multi_get(["b", "a"]), s.multi_get([])),
    "deletion": lambda s: (s.set("a", "1"), s.delete_key("a"), s.check(["a"])),
    "counts": lambda s: (s.num_keys(), s.set("a", "1"), s.set("b", "1"), s.num_keys()),
    "waiting for nothing": lambda s: (s.wait([]), s.set("a", "1"), s.wait(["a"])),
    "barrier": lambda s: s.barrier("b", 1),
    "api": lambda s: s.has_extended_api(),
    "clone": lambda s: (s.set("a", "1"), s.clone().get("a")),
    "queues": lambda s: (
        s.queue_push("q", "1"), s.queue_push("q", "2"), s.queue_len("q"), s.check(["q"]), s.queue_pop("q"),
        s.queue_pop("q", False), s.queue_len("q"), s.check(["q"]), s.queue_len("never"),
    ),
    "names": lambda s: (s.set("a", "1"), s.set("b/c", "1"), sorted(s.list_keys())),
}  # fmt: skip
IN_PYTORCH_OTHERWISE = {("file", "queues"), ("file", "names")}  # no queues; names with letters cut off


@pytest.mark.torch
@pytest.mark.parametrize("kind", KINDS)
def test_stores_do_what_pytorchs_do(kind, tmp_path):
    reference = pytest.importorskip("torch.distributed")
    for name, step in STEPS.items():
        if (kind, name) not in IN_PYTORCH_OTHERWISE:
            (tmp_path / name).mkdir()
            ours, theirs = (make(library, kind, tmp_path / name) for library in (dist, reference))
            assert step(ours) == step(theirs), name


def test_keys_are_listed_without_the_stores_own(store):
    store.set("a", "1")
    store.add("b/c", 1)
    assert sorted(store.list_keys()) == ["a", "b/c"]


def test_a_missing_key_is_an_error_that_names_it_after_the_timeout(store):
    store.set("there", "1")
    for ask in (
        lambda: store.get("lost"),
        lambda: store.wait(["there", "lost"]),
        lambda: store.multi_get(["lost"]),
    ):
        start = time.monotonic()
        with pytest.raises(dist.DistStoreError, match=r"0\.06 s, keys that are missing: '(part/)?lost'$"):
            ask()
        assert 0.05 < time.monotonic() - start < 5
    with pytest.raises(dist.DistStoreError):
        store.wait(["lost"], timedelta(0))


def test_a_wait_ends_as_soon_as_all_keys_are_there(store):
    store.set_timeout(timedelta(seconds=20))
    found = []
    waiter = threading.Thread(target=lambda: found.append(store.multi_get(["a", "b"])))
    waiter.start()
    store.set("a", "1")
    waiter.join(0.05)
    assert waiter.is_alive()
    store.set("b", "2")
    waiter.join(10)
    assert found == [[b"1", b"2"]]


def test_counters_and_exchanges_are_one_step_for_all_threads(store):
    store.set_timeout(timedelta(seconds=20))
    won = []

    def work(me):
        for _ in range(20):
            store.add("sum", 1)
            store.append("text", "x")
        if store.compare_set("first", "", str(me)) == str(me).encode():
            won.append(me)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert store.get("sum") == b"80"
    assert store.get("text") == b"x" * 80
    assert len(won) == 1


def test_a_timeout_may_be_as_long_as_python_can_say(store):
    store.set_timeout(timedelta.max)
    store.set("k", "v")
    assert store.get("k") == b"v"
    store.set_timeout(-SOON)
    with pytest.raises(dist.DistStoreError):
        store.get("lost")


def test_wrong_arguments_are_refused(store):
    store.set("text", "word")
    with pytest.raises(ValueError, match=r"the value of key '(part/)?text' is not a number"):
        store.add("text", 1)
    assert store.get("text") == b"word"
    with pytest.raises(TypeError, match="key of a store must be str, not int"):
        store.set(1, "a")
    with pytest.raises(TypeError, match="value of a store must be str or bytes, not int"):
        store.set("a", 1)
    with pytest.raises(TypeError, match="timedelta, not float"):
        store.set_timeout(1.5)
    with pytest.raises(ValueError, match="2 keys and 1 values"):
        store.multi_set(["a", "b"], ["1"])
    assert not store.check(["a"])


@pytest.mark.parametrize("kind", ["hash", "tcp", "prefix"])
def test_an_empty_queue_raises_at_once_or_after_the_timeout(kind, tmp_path):
    store = make(dist, kind, tmp_path)
    with pytest.raises(dist.QueueEmptyError, match=r"'(part/)?q' is empty"):
        store.queue_pop("q", block=False)
    with pytest.raises(dist.DistStoreError) as caught:
        store.queue_pop("q")
    assert not isinstance(caught.value, dist.QueueEmptyError)


@pytest.mark.parametrize("kind", ["hash", "tcp"])
def test_a_value_of_a_queue_goes_to_one_of_those_who_wait(kind, tmp_path):
    store = make(dist, kind, tmp_path)
    store.set_timeout(timedelta(seconds=20))
    got = []
    threads = [threading.Thread(target=lambda: got.append(store.queue_pop("q"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for value in "abc":
        store.queue_push("q", value)
    for thread in threads:
        thread.join(20)
    assert sorted(got) == [b"a", b"b", b"c"]


def test_what_a_file_cannot_do_says_what_can(tmp_path):
    with pytest.raises(
        NotImplementedError, match="FileStore has no queues; HashStore and TCPStore have them"
    ):
        make(dist, "file", tmp_path).queue_push("q", "1")

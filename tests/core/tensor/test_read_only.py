"""Memory that came in as read-only is never written, whatever form of whatever operator is called."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import tt
from tt.core.library import REGISTRY
from tt.core.schema.classes import dtype_names
from tt.testing.samples import samples

DEFINITIONS = [d for d in REGISTRY.definitions() if "::" not in d.name and d.samples]

# `range` and `lu_solve` are deprecated, as in PyTorch, and say so.
pytestmark = pytest.mark.filterwarnings("ignore:.* is deprecated:UserWarning")


def read_only(x: Any) -> Any:
    """Return a tensor with the same elements in the memory of an immutable object."""
    if not isinstance(x, tt.Tensor) or not x.numel() or x.layout is not tt.strided:
        return x
    return tt.frombuffer(x.numpy().tobytes(), dtype=x.dtype).view(x.shape)


def content(x: Any) -> bytes:
    return x.numpy().tobytes()


def calls(definition: Any, limit: int = 3) -> Iterator[Any]:
    served = dtype_names(definition.dtypes)
    dtype = getattr(tt, next((n for n in ("float32", "int64", "bool") if n in served), served[0]))
    found = 0
    for sample in samples(definition, "cpu", dtype):
        if sample.error is None:
            yield sample
            found += 1
            if found == limit:
                return


def bound(definition: Any, form: str, sample: Any) -> tuple[Any, tuple[Any, ...]]:
    caller = REGISTRY.operator(definition.name).overload(form)
    binder = caller.binder or REGISTRY.operator(definition.name).binder(caller)
    return caller, tuple(binder(sample.args, sample.kwargs))


def refused(call: Callable[[], Any], targets: list[Any]) -> None:
    """Check that a call raises and leaves the targets as they are."""
    before = [content(target) for target in targets]
    with pytest.raises(tt.errors.ReadOnlyError, match="the memory that is written to is read-only"):
        call()
    assert [content(target) for target in targets] == before


INPLACE = [
    d
    for d in DEFINITIONS
    if d.has_inplace and d.kind != "view" and not any("inplace" in t and "metadata" in t for t in d.tags)
]


@pytest.mark.parametrize("definition", INPLACE, ids=lambda d: d.name)
def test_in_place(definition: Any) -> None:
    for sample in calls(definition):
        caller, args = bound(definition, "functional", sample)
        if not isinstance(args[0], tt.Tensor) or not args[0].numel():
            continue
        result = caller.dispatch(args)
        if result.shape != args[0].shape or not tt.can_cast(result.dtype, args[0].dtype):
            continue
        target = read_only(args[0])
        inplace = REGISTRY.operator(definition.name).overload("inplace")
        for x in (target, target.detach(), target[...]):
            refused(partial(inplace.dispatch, (x, *args[1:])), [target])


@pytest.mark.parametrize("definition", [d for d in DEFINITIONS if d.has_out], ids=lambda d: d.name)
def test_out(definition: Any) -> None:
    for sample in calls(definition):
        caller, args = bound(definition, "functional", sample)
        result = caller.dispatch(args)
        results = list(result) if isinstance(result, tuple) else [result]
        outs = [read_only(x) for x in results]
        if any(x.numel() for x in outs):
            form = REGISTRY.operator(definition.name).overload("out")
            refused(partial(form.dispatch, (*args, *outs)), outs)


@pytest.mark.parametrize(
    "definition", [d for d in DEFINITIONS if REGISTRY.operator(d.name).mutates], ids=lambda d: d.name
)
def test_operators_that_change_arguments(definition: Any) -> None:
    operator = REGISTRY.operator(definition.name)
    for sample in calls(definition):
        caller, args = bound(definition, "functional", sample)
        for position in operator.mutates:
            value = args[position]
            several = isinstance(value, list | tuple)
            changed = [read_only(x) for x in value] if several else [read_only(value)]
            targets = [x for x in changed if isinstance(x, tt.Tensor) and x.numel()]
            if not targets or (definition.name.startswith("embedding") and position == 0):
                continue
            given = (*args[:position], changed if several else changed[0], *args[position + 1 :])
            refused(partial(caller.dispatch, given), targets)


SOURCES: dict[str, Callable[[np.ndarray[Any, Any]], Any]] = {
    "from_numpy": tt.from_numpy,
    "as_tensor": tt.as_tensor,
    "asarray": tt.asarray,
    "from_dlpack": tt.from_dlpack,
}


@pytest.mark.parametrize("name", SOURCES)
def test_arrays_whose_flag_says_so(name: str) -> None:
    array = np.arange(6.0)
    array.flags.writeable = False
    x = SOURCES[name](array)
    refused(lambda: x.add_(1), [x])
    assert np.shares_memory(x.numpy(), array)
    assert not x.numpy().flags.writeable


def test_the_message_names_the_owner(tmp_path: Any) -> None:
    np.arange(3.0).tofile(tmp_path / "file")
    with pytest.raises(RuntimeError, match=r"^fill_\(\): .* it belongs to a mmap"):
        tt.from_numpy(np.memmap(tmp_path / "file", dtype=np.float64, mode="r")).fill_(0)
    with pytest.raises(ValueError, match=r"^exp\(\): .* it belongs to a bytes"):
        tt.exp(tt.ones(2), out=tt.frombuffer(b"12345678", dtype=tt.float32))
    with pytest.raises(ValueError, match=r"it belongs to a numpy\.ndarray"):
        tt.from_numpy(np.broadcast_to(np.arange(3.0), (2, 3))).zero_()


def test_every_way_of_writing_through_a_tensor() -> None:
    x = tt.frombuffer(bytes(24), dtype=tt.float32)
    writes: list[Callable[[], Any]] = [
        lambda: x.__setitem__(0, 1.0),
        lambda: x.__setitem__(x == 0, 1.0),
        lambda: x.__iadd__(1),
        lambda: x.data.add_(1),
        lambda: x[1:].zero_(),
        lambda: x.view(2, 3).t().add_(1),
        lambda: x.unbind()[0].add_(1),
        lambda: x.view(tt.int32).add_(1),
        lambda: x.as_strided((2,), (1,)).add_(1),
        lambda: copy.copy(x).add_(1),
        lambda: tt.func.vmap(lambda row: row.add_(1))(x),
        lambda: tt.nn.functional.batch_norm(tt.ones(2, 6), x, tt.ones(6), training=True),
    ]
    for write in writes:
        refused(write, [x])


def test_copies_can_be_written() -> None:
    x = tt.frombuffer(bytes(24), dtype=tt.float32)
    for y in (x.clone(), x + 0, copy.deepcopy(x), pickle.loads(pickle.dumps(x)), tt.tensor(x.numpy())):
        assert y.add_(1).tolist() == [1.0] * 6


def test_read_only_memory_neither_grows_nor_becomes_writable_by_resizing() -> None:
    x = tt.frombuffer(bytes(24), dtype=tt.float32)
    with pytest.raises(RuntimeError, match="cannot grow, from 24 to 400 bytes"):
        x.resize_(100)
    x.resize_(2)
    refused(lambda: x.add_(1), [x])


def test_capsules_without_flags_are_writable() -> None:
    array = np.arange(3.0)

    class Old:
        def __dlpack_device__(self) -> Any:
            return array.__dlpack_device__()

        def __dlpack__(self, stream: Any = None) -> Any:
            return array.__dlpack__()

    tt.from_dlpack(Old()).add_(1)
    assert array.tolist() == [1.0, 2.0, 3.0]


def test_read_only_memory_is_not_exported_to_consumers_that_do_not_know_it() -> None:
    x = tt.frombuffer(bytes(24), dtype=tt.float32)
    with pytest.raises(BufferError, match="cannot be exported with DLPack"):
        x.__dlpack__()
    assert not np.from_dlpack(x).flags.writeable

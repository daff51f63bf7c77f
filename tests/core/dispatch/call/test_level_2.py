"""Level 2 has room: no two calls with other dtypes share an entry, however many tensors an operator takes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import tt
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.library import KernelTable
from tt.core.types.dtype import DTYPES
from tt.core.types.promotion import (
    DIM_BITS,
    MAX_DTYPES,
    POSITION_BITS,
    SCALAR_BITS,
    WORD,
    ZERO_DIM_BITS,
    join_bits,
    position_at,
    split_bits,
)

COUNTS = (1, 2, 7, 8, 9, 10, 11, 12, 30)
"""How many tensors do not promote; from 10 on their dtypes do not fit into a word."""

LONG = """
schema_version: 1
namespace: wide
ops:
- func: take{count}(Tensor self, {others}, int n=1) -> Tensor
  kind: other
  variants: [function, inplace, out]
- func: joined{count}(Tensor self, Tensor other, {others}, *, dtype? dtype=None) -> Tensor
  kind: other
  promote: [self, other]
  variants: [function, inplace, out]
- func: fill{count}(Tensor(a!) self, {others}) -> ()
  kind: other
  variants: [function]
"""


@pytest.fixture(params=COUNTS)
def count(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[int]:
    """Operators with so many tensors outside of the group; their kernels return their first argument, or change it."""
    count = request.param
    others = ", ".join(f"Tensor t{i}" for i in range(1, count))
    text = LONG.format(count=count, others=others).replace(", , ", ", ").replace(", )", ")")
    path = tmp_path / "ops.yaml"
    path.write_text(text, encoding="utf-8")
    table = KernelTable(device="cpu")
    names = "".join(f", t{i}" for i in range(1, count))
    table.kernel(f"wide::take{count}", eval(f"lambda self{names}, n: self.copy()"))
    table.kernel(f"wide::joined{count}", eval(f"lambda self, other{names}: self + other"))
    table.kernel(f"wide::fill{count}", eval(f"lambda self{names}: self.fill(1)"), form="inplace")
    with REGISTRY.add_definitions(path), REGISTRY.add(table):
        yield count


def tensors(dtypes: Any) -> list[tt.Tensor]:
    return [tt.zeros(2, dtype=dtype) for dtype in dtypes]


def entry(caller: Any, args: tuple[Any, ...]) -> Any:
    """Return the entry that a caller has for a full argument tuple."""
    return caller.cached_call(*caller.scan(args), args)


def variations(count: int) -> list[tuple[Any, ...]]:
    """Return tuples of dtypes that differ from the first of them in one position each."""
    plain = (tt.float32,) * count
    others = [d for d in DTYPES if d is not tt.float32]
    return [plain, *((*plain[:i], d, *plain[i + 1 :]) for i in range(count) for d in others)]


@pytest.mark.parametrize("form", ["functional", "inplace", "out"])
def test_every_dtype_at_every_position_makes_another_entry(count: int, form: str) -> None:
    caller = REGISTRY.overload(f"wide::take{count}", form)
    seen: dict[Any, Any] = {}
    for dtypes in variations(count):
        args: tuple[Any, ...] = (*tensors(dtypes), 1)
        if form == "out":
            args += (tt.zeros(2),)
        found = entry(caller, args)
        assert entry(caller, args) is found
        assert [position_at(found.bits, shift) - 1 for _, shift in caller.operator.others] == [
            d.code for d in dtypes
        ]
        seen[dtypes] = found
    assert len({id(e) for e in seen.values()}) == len(seen) == 1 + count * (len(DTYPES) - 1)
    assert len({e.bits for e in seen.values()}) == len(seen)


def test_the_result_has_the_dtype_of_the_first_whatever_the_others_have(count: int) -> None:
    function = getattr(tt.ops.wide, f"take{count}")
    for _ in range(2):
        for dtypes in variations(count):
            assert function(*tensors(dtypes)).dtype is dtypes[0]
            assert function(*tensors(dtypes), n=2).dtype is dtypes[0]


def test_the_target_counts_by_itself(count: int) -> None:
    function = getattr(tt.ops.wide, f"joined{count}_")
    rest = tensors([tt.int32] * (count - 1))
    target, other = tt.ones(2, dtype=tt.float32), tt.ones(2, dtype=tt.int32)
    for _ in range(3):
        assert function(target, other, *rest) is target and target.dtype is tt.float32
        with pytest.raises(tt.errors.DtypeError):
            function(other, target, *rest)
        assert other.tolist() == [1, 1]
    assert target.tolist() == [4, 4]


def test_out_and_dtype_count_by_themselves(count: int) -> None:
    function = getattr(tt.ops.wide, f"joined{count}")
    rest = tensors([tt.int32] * (count - 1))
    x = tt.ones(2, dtype=tt.int32)
    for _ in range(2):
        for dtype in (tt.float32, tt.float64, tt.int64):
            out = tt.zeros(2, dtype=dtype)
            assert function(x, x, *rest, out=out) is out and out.dtype is dtype and out.tolist() == [2, 2]
            assert function(x, x, *rest, dtype=dtype).dtype is dtype
            assert function(x, x, *rest).dtype is tt.int32


def test_what_changes_an_argument_keeps_its_dtype(count: int) -> None:
    function = getattr(tt.ops.wide, f"fill{count}")
    for dtypes in variations(count):
        args = tensors(dtypes)
        function(*args)
        assert args[0].dtype is dtypes[0] and args[0].tolist() == tt.ones(2, dtype=dtypes[0]).tolist()


def test_numbers_and_tensors_never_share_an_entry() -> None:
    caller = REGISTRY.overload("add", "functional")
    operands = [*tensors(DTYPES), *(tt.zeros((), dtype=d) for d in DTYPES), True, 1, 1.0, 1j]
    found = [entry(caller, (tt.zeros(2), operand, 1)) for operand in operands]
    assert len({id(e) for e in found}) == len({e.bits for e in found}) == len(operands)


@pytest.mark.parametrize(("one", "other"), list(pairwise(DTYPES)))
def test_a_target_and_an_operand_that_change_places_make_another_entry(one: Any, other: Any) -> None:
    caller = REGISTRY.overload("add", "inplace")
    first, second = tensors([one, other])
    bits = {caller.scan(args)[1:] for args in ((first, second, 1), (second, first, 1))}
    assert len(bits) == 2


def test_the_words_of_a_call_and_its_bits_are_the_same() -> None:
    every = sum(DIM_BITS) | sum(ZERO_DIM_BITS) | sum(SCALAR_BITS.values())
    for positions in (0, 1, MAX_DTYPES << 40, 7 << 56, 1 << 61, 1 << 62, 5 << 63, (1 << 700) | 3):
        bits = every | positions << WORD + len(SCALAR_BITS)
        words = split_bits(bits)
        assert join_bits(*words) == bits and words == split_bits(bits)
        assert 0 <= words[0] < 1 << 64 and -(1 << 63) <= words[1] < 1 << 62


def test_there_is_room_for_more_dtypes_than_there_are() -> None:
    assert len(DTYPES) <= MAX_DTYPES < 1 << POSITION_BITS
    assert 2 * MAX_DTYPES <= WORD == 64

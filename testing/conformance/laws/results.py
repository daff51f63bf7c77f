"""The laws of the rules of result: which dtype a result has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from tt.core.dispatch.resolve.dtypes import upcast_of
from tt.core.tensor.base import TensorBase
from tt.core.types.dtype import bool_, int64, uint8
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.promotion import get_default_dtype, result_type
from tt.testing.checks.call import tensors_in
from tt.testing.checks.case import Case
from tt.testing.conformance.laws.base import Law

__all__ = ["RESULT_LAWS"]

WHOLE: Final = ("bool", "signed", "unsigned")


def _default() -> Dtype:
    return get_default_dtype()


def promoted(case: Case) -> Dtype:
    """Return the dtype to which the arguments of `promote` promote; the default dtype if there are none."""
    group: list[Any] = []
    for name in case.definition.promote:
        value = case.bound[name]
        group += value if isinstance(value, list | tuple) else [] if value is None else [value]
    if group:
        return result_type(*group)
    return case.tensors[0].dtype if case.tensors else _default()


def _asked(case: Case, otherwise: Callable[[], Dtype]) -> Dtype:
    asked = case.bound.get("dtype")
    return asked if isinstance(asked, Dtype) else otherwise()


def _lifted(case: Case, kinds: tuple[str, ...], to: Dtype) -> Dtype:
    dtype = promoted(case)
    return _asked(case, lambda: to if dtype.kind in kinds else dtype)


def _law(statement: str, dtype_of: Callable[[Case], Dtype | None], word: str) -> Law:
    def check(case: Case) -> Iterator[str]:
        definition = case.definition
        if case.operator.mutates:  # what it returns are its arguments, and the case holds all that it changed
            return
        returns = definition.signature.returns
        rules = (
            definition.result if isinstance(definition.result, tuple) else (definition.result,) * len(returns)
        )
        results = case.result if len(returns) > 1 else (case.result,)
        for rule, result in zip(rules, results, strict=True):
            if rule != word:
                continue
            expected = dtype_of(case)
            if expected is None and isinstance(result, TensorBase):
                yield "the result is a tensor"
            for tensor in tensors_in(result):
                if expected is not None and tensor.dtype is not expected:
                    yield f"the result has the dtype {tensor.dtype} instead of {expected}"

    return Law(statement, check, every=True)


def _same(case: Case) -> Dtype:
    def first() -> Dtype:
        return (
            promoted(case)
            if case.definition.promote
            else case.tensors[0].dtype
            if case.tensors
            else _default()
        )

    return _asked(case, first)


RESULT_LAWS: Final[dict[str, Law]] = {
    word: _law(statement, dtype_of, word)
    for word, statement, dtype_of in (
        ("default", "The result has the dtype to which the arguments promote, or the dtype= that is given.",
         lambda case: _lifted(case, (), int64)),
        ("int_to_float", "As default, and bools and integers give the default dtype.",
         lambda case: _lifted(case, WHOLE, _default())),
        ("int_to_int64", "As default, and bools and integers give int64.", lambda case: _lifted(case, WHOLE, int64)),
        ("bool_to_int64", "As default, and bools give int64.", lambda case: _lifted(case, ("bool",), int64)),
        ("bool", "The result holds bools.", lambda case: bool_),
        ("truth", "The result holds bools, or uint8 where the argument does.",
         lambda case: uint8 if promoted(case) is uint8 else bool_),
        ("int64", "The result holds int64, or the dtype= that is given.", lambda case: _asked(case, lambda: int64)),
        ("same", "The result has the dtype of the first tensor, or the dtype= that is given.", _same),
        ("dtype", "The result has the dtype= that is given, and the default dtype (or that of the tensor) without.",
         lambda case: _asked(case, lambda: promoted(case))),
        ("real", "The result has the dtype to which the arguments promote; of a complex one the real dtype.",
         lambda case: _asked(case, lambda: promoted(case)).to_real()),
        ("complex", "The result has the complex dtype of the one to which the arguments promote.",
         lambda case: _asked(case, lambda: promoted(case)).to_complex()),
        ("wide", "The result has the dtype to which the arguments promote, float32 or complex64 for half precision.",
         lambda case: upcast_of(promoted(case)) or promoted(case)),
        ("none", "The result is not a tensor.", lambda case: None),
    )
}  # fmt: skip

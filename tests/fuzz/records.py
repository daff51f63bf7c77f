"""Records: notes written before a program runs, from which it can be made again."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from tests.fuzz.drafts import Program
from tests.fuzz.verdicts import Verdict

__all__ = ["FUZZERS", "TURNS", "Record", "prepare", "program_of", "quick_of"]

FUZZERS: Final[Mapping[str, str]] = {
    "operators": "calls of operators, in every form",
    "calls": "calls of operators with other numbers, sizes and strides, many in a second",
    "sequences": "calls that change what others made",
    "transforms": "nested transforms of functions that change what they made",
    "quantized": "sequences of calls of quantized tensors",
    "products": "products of matrices of odd sizes and strides",
    "collectives": "collectives of two ranks, with tensors of all kinds",
    "stores": "bytes for a server of keys, and for its clients",
    "checkpoints": "checkpoints that are damaged, or mean harm",
    "schemas": "signatures and YAML files",
    "pickles": "pickles of tensors",
    "plugins": "plugins that break their promises",
}
"""Name of a module of this folder -> its subject."""


TURNS: Final[Mapping[str, int]] = {
    "operators": 10, "calls": 4, "sequences": 3, "transforms": 4, "quantized": 2, "products": 2, "collectives": 1,
    "stores": 1, "checkpoints": 1, "schemas": 2, "pickles": 1, "plugins": 1,
}  # fmt: skip
"""How many of 32 programs are of each."""


@dataclass(frozen=True)
class Record:
    """One program of a run.

    Attributes
    ----------
    fuzzer : str
        One of `FUZZERS`.
    seed, number : int
        Of the run, and of the program in it.
    pattern : str
        Which subjects the run was about.
    excluded : str
        Names of mutations that the run does without, separated by commas.
    dropped : tuple of int
        Which parts of the program are left out.
    """

    fuzzer: str
    seed: int
    number: int
    pattern: str = "*"
    excluded: str = ""
    dropped: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.fuzzer} {self.seed}/{self.number}" + (
            f" without {list(self.dropped)}" if self.dropped else ""
        )

    def less(self, part: int) -> Record:
        """Return the same with one part less."""
        return replace(self, dropped=(*self.dropped, part))

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Record:
        """Return a record from its fields."""
        return cls(**{**fields, "dropped": tuple(fields["dropped"])})


def prepare() -> None:
    """Import what makes programs, and keep what each of them needs."""
    for fuzzer in FUZZERS:
        module = importlib.import_module(f"tests.fuzz.{fuzzer}")
        if hasattr(module, "prepare"):
            module.prepare()


def program_of(record: Record) -> Program:
    """Return the program of a record.

    Raises
    ------
    LookupError
        When nothing fits the record's pattern.
    """
    module = importlib.import_module(f"tests.fuzz.{record.fuzzer}")
    program: Program = module.program(
        record.seed, record.number, record.pattern, frozenset(record.dropped), frozenset(record.excluded.split(","))
    )  # fmt: skip
    return program


def quick_of(record: Record) -> Verdict | None:
    """Run the program of a record in a shorter way, if there is one; return None where there is not."""
    module = importlib.import_module(f"tests.fuzz.{record.fuzzer}")
    found: Verdict | None = (
        module.quick(record.seed, record.number, record.pattern) if hasattr(module, "quick") else None
    )
    return found

"""Schema strings and YAML files: those of ops.yaml, mutated, and made-up ones."""

from __future__ import annotations

import random
import re
from functools import cache
from typing import Final

from tests.fuzz.drafts import Program
from tt.core.schema import snapshot

__all__ = ["program"]

WORDS: Final = (
    "Tensor", "Scalar", "int", "int[]", "int[2]", "float", "bool", "str", "any", "dtype", "(a)", "(a!)",
    "(a! -> b)", "?", "[]", "[3]", "*", ",", "(", ")", "->", "=", "=None", "=1", "=-1", "=1e400",
    "=" + "9" * 5000, "[" + "9" * 30 + "]", "|", ".", "::", "self", "out", "\0", "é", "\u2028", "\ud7ff",
    "'", '"', "\\", "\n", "#", "!", "&x", "*x", "<<: *x", "---", "{", "}",
)  # fmt: skip
DEEP: Final = (
    "(", "[", "{", "Tensor(a -> ", "- ", "- - ", "? ", "=[", "(Tensor x=(", '"', "!!", "&a [", "\t",
)  # fmt: skip
NUMBERS: Final = (
    "0",
    "-1",
    "2",
    str(2**31),
    str(2**63),
    "1" + "0" * 30,
    "0x10",
    "1_0",
    "1e309",
    "nan",
    ".5",
    "00",
    "٣",
)
SIGNATURE: Final = """\
from tt.core.schema.grammar import parse
signature = parse({text})
assert str(parse(str(signature))) == str(signature), "the printed form does not mean the same"
"""
FILE: Final = """\
from tt.core.schema.load import loads
found = loads({text})
"""


@cache
def signatures() -> list[str]:
    """Return the signatures of all operators."""
    return [str(definition.signature) for definition in snapshot.definitions().values()]


@cache
def entries() -> list[str]:
    """Return the entries of ops.yaml as text."""
    with open(snapshot.source_path(), encoding="utf-8") as file:
        _, *found = file.read().split("\n  - func: ")
    # What follows the last entry of a family is the name of the next one.
    own = [re.split(r"\n\n  \w+:$", entry, maxsplit=1, flags=re.MULTILINE)[0].rstrip() for entry in found]
    return [f"- func: {entry}\n".replace("\n  ", "\n") for entry in own]


def program(
    seed: int,
    number: int,
    pattern: str = "*",
    dropped: frozenset[int] = frozenset(),
    excluded: frozenset[str] = frozenset(),
) -> Program:
    """Return a program that reads a schema; `tests.fuzz.operators.program` explains the arguments."""
    chance = random.Random(f"{seed}/{number}")
    of_file = chance.random() < 0.5
    if of_file:
        chosen = chance.sample(entries(), chance.choice((1, 1, 2)))
        text = "schema_version: 1\nnamespace: fuzz\nops:\n" + "".join(chosen)
    else:
        text = chance.choice(signatures())
    parts = [
        chance.choice(("word", "cut", "repeat", "deep", "number", "swap")) for _ in range(chance.randrange(5))
    ]
    seeds = [chance.getrandbits(32) for _ in parts]
    for index, (name, own) in enumerate(zip(parts, seeds, strict=True)):
        if index not in dropped and name not in excluded:
            text = _changed(text, name, random.Random(own))
    return Program(
        (FILE if of_file else SIGNATURE).format(text=repr(text)),
        tuple(parts),
        "YAML" if of_file else "signature",
    )


def _changed(text: str, name: str, chance: random.Random) -> str:
    start = chance.randrange(len(text) + 1)
    end = min(start + chance.choice((0, 1, 1, 2, 5, 20)), len(text))
    if name == "word":
        return text[:start] + chance.choice(WORDS) + text[end:]
    if name == "cut":
        return text[:start] + text[end:]
    if name == "repeat":
        return text[:start] + text[start:end] * chance.choice((2, 3, 500)) + text[end:]
    if name == "deep":
        return text[:start] + chance.choice(DEEP) * chance.choice((2, 50, 3000)) + text[end:]
    if name == "number":
        digits = [index for index, letter in enumerate(text) if letter.isdigit()]
        place = chance.choice(digits) if digits else start
        return text[:place] + chance.choice(NUMBERS) + text[place + 1 :]
    other = chance.randrange(len(text) + 1)
    first, second = sorted((start, other))
    return (
        text[:first]
        + text[second : second + 5]
        + text[first + 5 : second]
        + text[first : first + 5]
        + text[second + 5 :]
    )

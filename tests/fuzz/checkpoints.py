"""Checkpoints of `tt.distributed.checkpoint` and indexes of safetensors files, damaged or hostile.

What is loaded all the same has all its numbers, nothing outside of the folder is read or written, and a refusal leaves
tensors as they were.
"""

from __future__ import annotations

import random
from typing import Final

from tests.fuzz.drafts import Program

__all__ = ["program"]

VALUES: Final = (
    "None", "True", "-1", "0", "1", "2", "3", "6", "1.0", "1e400", "float('nan')", "10**30", "2**63", "-2**63", "''",
    "'x'", "'..'", "'.'", "'../outside.safetensors'", "'../objects.tt'", "str(outside)", "'/etc/hostname'",
    "'/dev/zero'", "'a\\0b'", "'\\ud800'", "'x' * 300", "'rank-00000.safetensors/../../outside.safetensors'",
    "'index.json'", "'objects.tt'", "'float64'", "'int32'", "'complex32'", "'qint8'", "'no dtype'", "[]", "{}",
    "[[]]", "[None]", "[2**62, 2]", "[-1, 2]", "[3, 2]", "[6]", "[3, 2, 1]", "[1] * 70", "['a', 'x', 0, 3]", "deep",
)  # fmt: skip
PATHS: Final = (
    "['version']", "['objects']", "['tensors']", "['tensors']['x']", "['tensors']['x']['dtype']",
    "['tensors']['x']['shape']", "['tensors']['x']['shape'][0]", "['tensors']['x']['chunks']",
    "['tensors']['x']['chunks'][0]", "['tensors']['x']['chunks'][0][0]", "['tensors']['x']['chunks'][0][1]",
    "['tensors']['x']['chunks'][0][2]", "['tensors']['x']['chunks'][0][3]", "['tensors']['x']['chunks'][1]",
    "['tensors']['x']['chunks'][1][0]", "['tensors']['x']['chunks'][1][2]", "['tensors']['x']['chunks'][1][3]",
    "['tensors']['s']['shape']", "['tensors']['s']['chunks'][0][2]", "['tensors']['e']['chunks'][0][3]",
)  # fmt: skip
STEPS: Final = (
    "index{path} = {value}", "index{path} = {value}", "index{path} = {value}", "del index{path}",
    "index['tensors']['x']['chunks'].append([{value}, 'x', {small}, {large}])",
    "index['tensors']['x']['chunks'].insert(0, ['rank-00000.safetensors', 'x', {small}, {large}])",
    "index['tensors']['x']['chunks'].reverse()", "index['tensors']['y'] = index['tensors'].pop('x')",
    "index['tensors']['s'] = index['tensors']['x']", "index[{value!r}] = 1",
)  # fmt: skip
BYTES: Final = (
    "data[{place} % len(data)] = {byte}", "del data[{place} % len(data) :]",
    "del data[{place} % len(data) :][: {byte}]", "data[{place} % len(data) : {place} % len(data)] = data[: {byte}]",
    "data += bytes({byte})", "data[:8] = bytes([{byte}] * 8)",
)  # fmt: skip
FILES: Final = ("index.json", "index.json", "rank-00000.safetensors", "objects.tt")
PROGRAM: Final = """\
import contextlib, hashlib, json, tempfile
from pathlib import Path
import tt
from tt.distributed import checkpoint
from tt.utils import safetensors

def state(number):
    return {{"x": tt.full((3, 2), number), "s": tt.full((), number), "e": tt.zeros(0, 2), "n": number}}

def files(folder):
    return {{path: hashlib.sha256(path.read_bytes()).digest() for path in folder.rglob("*") if path.is_file()}}

deep = json.loads("[" * 400 + "]" * 400)
with tempfile.TemporaryDirectory() as name:
    root = Path(name)
    outside = root / "outside.safetensors"
    safetensors.save_file({{key: tt.full((3, 2), 666.0) for key in ("x", "s")}}, outside)
    tt.save({{"n": 666.0}}, root / "objects.tt")
    folder = root / "folder" / "c"
    checkpoint.save(state(1.0), checkpoint_id=folder)
    index = json.loads((folder / "index.json").read_text())
    index["tensors"]["x"]["chunks"] = [["rank-00000.safetensors", "x", 0, 3]]
    if {split}:
        safetensors.save_file({{"x": tt.full((1, 2), 1.0)}}, folder / "rank-00001.safetensors")
        safetensors.save_file(
            {{"x": tt.full((2, 2), 1.0), "s": tt.full((), 1.0), "e": tt.zeros(0, 2)}}, folder / "rank-00000.safetensors"
        )
        index["tensors"]["x"]["chunks"] = [["rank-00000.safetensors", "x", 0, 2], ["rank-00001.safetensors", "x", 2, 3]]
{changes}
    before, target = files(root), state(0.0)
    try:
        checkpoint.load(target, checkpoint_id=folder)
    except Exception:
        same = target["n"] == 0.0 and not target["x"].any() and not target["s"].any()
        assert same, "a refused load has changed numbers"
        raise
    finally:
        assert files(root) == before, "loading has changed files"
    numbers = [target["n"], *target["x"].flatten().tolist(), target["s"].item()]
    assert 666.0 not in numbers, "numbers from outside of the folder"
    assert {loose} or numbers == [1.0] * 8, "rows were not read"
"""


def program(
    seed: int,
    number: int,
    pattern: str = "*",
    dropped: frozenset[int] = frozenset(),
    excluded: frozenset[str] = frozenset(),
) -> Program:
    """Return a program that loads a checkpoint; `tests.fuzz.operators.program` explains the arguments."""
    chance = random.Random(f"{seed}/{number}")
    split = chance.random() < 0.6
    parts = [chance.choice(("index", "index", "bytes")) for _ in range(chance.randrange(1, 4))]
    statements, damaged = [], []
    for index, name in enumerate(parts):
        value = chance.choice(VALUES)
        step = chance.choice(STEPS).format(
            path=chance.choice(PATHS),
            value=value,
            small=chance.choice((0, 1, 2, -1)),
            large=chance.choice((1, 2, 3, 4, 2**40)),
        )
        change = chance.choice(BYTES).format(place=chance.randrange(3000), byte=chance.randrange(256))
        file = chance.choice(FILES)
        if index in dropped or name in excluded:
            continue
        if name == "index":
            # What does not fit the index after an earlier change is left out.
            statements.append(f"    with contextlib.suppress(Exception): {step}")
        else:
            damaged += [
                f"    data = bytearray((folder / {file!r}).read_bytes())",
                f"    if data: {change}",
                f"    (folder / {file!r}).write_bytes(data)",
            ]
    statements.append("    (folder / 'index.json').write_text(json.dumps(index))")
    changes = "\n".join(statements + damaged)
    # Numbers in files may be changed, and names exchanged, without anything that could show it.
    loose = bool(damaged) or any("'s'" in line or "'y'" in line for line in statements)
    return Program(PROGRAM.format(split=split, changes=changes, loose=loose), tuple(parts), "checkpoint")

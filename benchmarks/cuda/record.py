"""The committed record of which CUDA sources ran on which GPU: `backends/cuda/sources/verified.json`.

A source counts as verified while its text and its includes match the entry's digest.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["FILE", "Verified", "digests", "read", "standing", "write"]

SOURCES = Path(__file__).parents[2] / "backends" / "cuda" / "sources"
FILE = SOURCES / "verified.json"
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


@dataclass(frozen=True)
class Verified:
    """When a source was last verified.

    Attributes
    ----------
    sha256 : str
        Of its text and its includes.
    gpu : str
        On which GPU.
    date : str
        The day, as 2026-01-31.
    version : str
        What computed: the versions of CuPy and of the driver's CUDA.
    """

    sha256: str
    gpu: str
    date: str
    version: str


def digests(folder: Path = SOURCES) -> dict[str, str]:
    """Return the digest of each source: of its text and of all that it includes."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.cuh"))}

    def included(name: str) -> set[str]:
        reached: set[str] = set()
        pending = [name]
        while pending:
            current = pending.pop()
            if current in texts and current not in reached:
                reached.add(current)
                pending += _INCLUDE.findall(texts[current])
        return reached

    return {
        name: hashlib.sha256(
            "\0".join(f"{n}\0{texts[n]}" for n in sorted(included(name))).encode()
        ).hexdigest()
        for name in texts
    }


def read(file: Path = FILE) -> dict[str, Verified]:
    """Return the record; empty if there is none."""
    if not file.exists():
        return {}
    return {name: Verified(**entry) for name, entry in json.loads(file.read_text(encoding="utf-8")).items()}


def write(gpu: str, version: str, file: Path = FILE, folder: Path = SOURCES) -> dict[str, Verified]:
    """Record that all sources, as they are, ran on a GPU today.

    The file is replaced as a whole: readers find the old record or the new one.
    """
    today = datetime.datetime.now(tz=datetime.UTC).strftime("%Y-%m-%d")
    entries = {name: Verified(digest, gpu, today, version) for name, digest in digests(folder).items()}
    text = json.dumps({name: asdict(entry) for name, entry in entries.items()}, indent=1) + "\n"
    temporary = file.with_suffix(".new")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, file)
    return entries


def standing(file: Path = FILE, folder: Path = SOURCES) -> dict[str, str]:
    """Return for each source whether it was verified as it is, in words."""
    known, verdicts = read(file), {}
    for name, digest in digests(folder).items():
        entry = known.get(name)
        if entry is None:
            verdicts[name] = "never verified on a GPU"
        elif entry.sha256 == digest:
            verdicts[name] = f"verified on {entry.gpu}, {entry.date}, {entry.version}"
        else:
            verdicts[name] = f"changed since {entry.date}, when it was verified on {entry.gpu}"
    return verdicts

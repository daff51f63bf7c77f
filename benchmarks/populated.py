"""The cost of an addition with many operators, plugins or devices: `python -m benchmarks.populated KIND COUNT`.

Plugins and devices are those of packages as third parties install them, written into a folder for the occasion.  All of
them are loaded and used before the clock starts, because installed but unused ones cost nothing.  Prints JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.libraries import set_threads

__all__ = ["KINDS", "main"]

KINDS = ("operators", "plugins", "devices")
CASES = ("a + b", "a + b, with gradient")

PLUGIN = """
from tt.core.hooks import Manifest, hookimpl

@hookimpl
def tt_manifest():
    return Manifest("crowd{number}", {declares}=("crowd{number}",))

@hookimpl
def tt_register(registry):
{register}
"""
OPERATOR = """
    from tt.library import CompositeTable
    registry.add_definitions(__import__("pathlib").Path(__file__).with_name("crowd{number}.yaml"))
    table = CompositeTable()
    table.composite("crowd{number}::same")(lambda self: self + 0)
    registry.add(table)
"""
DEFINITION = """
schema_version: 1
namespace: crowd{number}
ops:
- func: same(Tensor self) -> Tensor
  kind: pointwise
  meta: same
  doc: Adds nothing to self.
"""
DEVICE = """
    import numpy
    from tt.library import ArrayApiBackend
    backend = ArrayApiBackend(numpy, "crowd{number}")
    registry.add_backend(backend)
    registry.add(backend.kernels())
"""


def install(folder: Path, kind: str, count: int) -> None:
    """Write packages with a plugin each, as an installer leaves them, and put their folder on the path."""
    body, declares = (OPERATOR, "namespaces") if kind == "plugins" else (DEVICE, "devices")
    for number in range(count):
        text = PLUGIN.format(number=number, declares=declares, register=body.format(number=number))
        (folder / f"crowd{number}.py").write_text(text, encoding="utf-8")
        (folder / f"crowd{number}.yaml").write_text(DEFINITION.format(number=number), encoding="utf-8")
        info = folder / f"crowd{number}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: crowd{number}\nVersion: 1.0\n", encoding="utf-8"
        )
        (info / "entry_points.txt").write_text(
            f"[tt.plugins]\ncrowd{number} = crowd{number}\n", encoding="utf-8"
        )
    sys.path.insert(0, str(folder))


def populate(kind: str, count: int, folder: Path) -> None:
    """Bring so many operators, plugins or devices into this process, and use each."""
    if kind != "operators":
        install(folder, kind, count)
    import tt
    from tt.library import define, impl

    for number in range(count):
        name = f"crowd{number}"
        if kind == "operators":
            define(f"crowd::same{number}", "(Tensor self) -> Tensor")
            impl(f"crowd::same{number}", "cpu", lambda self: self.copy())
            getattr(tt.ops.crowd, f"same{number}")(tt.ones(2))
        elif kind == "plugins":
            getattr(tt.ops, name).same(tt.ones(2))
        else:
            tt.ones(2, device=name) + tt.ones(2, device=name)


def main(words: list[str]) -> None:
    """Measure in this process."""
    kind, count, busy = words[0], int(words[1]), "busy" in words
    set_threads(1)
    with tempfile.TemporaryDirectory(prefix="tt-crowd-") as folder:
        populate(kind, count, Path(folder))
        from benchmarks.cases import find_case
        from benchmarks.measure import measure_case

        report: dict[str, Any] = {}
        for name in CASES:
            measurement = measure_case(find_case(name), ["tt", "numpy"], rounds=25, seconds=0.002, busy=busy)
            ratio = measurement.ratio("numpy")
            assert ratio is not None, measurement.failures
            report[name] = {
                "microseconds": measurement.microseconds["tt"],
                "to_numpy": ratio.value,
                "noise": ratio.noise,
            }
    print(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1:])

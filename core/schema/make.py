"""Generates the files that depend on the sources alone: `python -P core/schema/make.py`, which the build hook runs.

Without arguments it makes the snapshot of ops.yaml and the stubs, with `stubs` only these.  With `families FOLDER
MODULE...` it writes the indices of families for a wheel whose files are laid out in a folder; each module describes one
as `INDEX` (see `tt.core.family_index`).

It needs no installation: `tt` is laid out here as the folders lie, and only .py files are imported, since compiled
modules may be of other sources.  Settings in the environment do not count.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


class SourceFinder:
    """Finds the modules of tt, and of them the sources only."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module of tt."""
        for folder in path or () if name.startswith("tt.") else ():
            # Sources only: a stale library would describe another version.
            spec = FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES)).find_spec(name)
            if spec is not None and spec.loader is not None:
                return spec
        return None


def main(arguments: list[str]) -> None:
    """Make the files that the arguments name."""
    # Settings of the caller must not show in generated files.
    for name in [name for name in os.environ if name.startswith("TT_")]:
        del os.environ[name]
    api = ROOT / "api"
    spec = spec_from_file_location(
        "tt", api / "__init__.py", submodule_search_locations=[str(api), str(ROOT)]
    )
    assert spec is not None and spec.loader is not None
    sys.modules["tt"] = tt = module_from_spec(spec)
    sys.meta_path.insert(0, SourceFinder())
    if not arguments:  # before tt is imported, which reads the snapshot
        from tt.core.schema.generate import main as make_snapshot  # this script makes tt importable

        make_snapshot()
    spec.loader.exec_module(tt)
    if arguments[:1] == ["families"]:
        from tt.core.by_name import object_named  # this script makes tt importable

        for module in arguments[2:]:
            object_named(f"{module}:INDEX").build(arguments[1])
        return
    from tt.core.schema.stubs import main as make_stubs  # which imports tt

    try:
        sys.exit(make_stubs([]))
    except OSError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])

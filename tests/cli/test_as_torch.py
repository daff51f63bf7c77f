"""`tt as-torch`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def pytorch(folder: Path) -> None:
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text("")
    metadata = folder / "torch-2.9.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.9.1\n")


def test_the_commands_say_what_they_did(run: Callable[..., Any], tmp_path):
    target = ("--target", str(tmp_path))
    assert run("as-torch", "status", *target).out == f"import torch gives nothing: {tmp_path}\n"
    assert run("as-torch", "install", *target).out == f"torch 2.13.0+tt is written: {tmp_path}\n"
    assert run("as-torch", "install", *target).out == f"torch 2.13.0+tt is there already: {tmp_path}\n"
    status = json.loads(run("as-torch", "status", *target, "--json").out)
    assert status == {"gives": "tt", "version": "2.13.0+tt", "folder": str(tmp_path)}
    assert run("as-torch", "remove", *target).out == f"torch is removed: {tmp_path}\n"
    assert run("as-torch", "remove", *target).out == f"there is no torch to remove: {tmp_path}\n"
    pytorch(tmp_path)
    refused = run("as-torch", "install", *target)
    assert refused.code == 1 and "PyTorch 2.9.1 is installed" in refused.err

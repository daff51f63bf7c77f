"""Installed packages that a host of its own sees, and nothing else."""

from __future__ import annotations

import sys
from importlib.metadata import distributions
from pathlib import Path
from textwrap import dedent

import pytest

from tt.core.dispatch.registry.registry import Registry
from tt.core.host.host import Host

GOOD = """
    from tt.core.hooks import Manifest, hookimpl
    calls = []

    @hookimpl
    def tt_manifest():
        calls.append("manifest")
        return Manifest("{name}", {declares})

    @hookimpl
    def tt_register(registry):
        calls.append(("register", registry.source))
"""


class Packages:
    """Writes installable packages into a folder and makes hosts that see only these."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(
        self,
        name: str,
        code: str,
        *,
        distribution: str | None = None,
        version: str = "1.0",
        entry: str = "",
        group: str = "tt.plugins",
        module: str = "",
    ) -> None:
        module = (
            "host_test_" + module
            if module
            else f"host_test_{(distribution or name).replace('-', '_')}_{name}"
        )
        (self.folder / f"{module}.py").write_text(dedent(code))
        info = self.folder / f"{distribution or 'tt-' + name}-{version}.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution or 'tt-' + name}\nVersion: {version}\n"
        )
        with (info / "entry_points.txt").open("a") as file:
            file.write(f"[{group}]\n{entry or name} = {module}\n")

    def add_good(self, name: str, declares: str = "", **options: str) -> None:
        self.add(name, GOOD.format(name=name, declares=declares), **options)

    def module(self, name: str):
        return sys.modules[f"host_test_{name}_{name}"]

    def host(self, environ: dict[str, str] | None = None, tensor_class: type | None = None) -> Host:
        def find():
            return [e for d in distributions(path=[str(self.folder)]) for e in d.entry_points]

        return Host(find, environ or {}, tensor_class or type("Tensor", (), {}), Registry())


@pytest.fixture
def packages(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    yield Packages(tmp_path)
    for module in [m for m in sys.modules if m.startswith("host_test_")]:
        del sys.modules[module]


def states(host: Host) -> dict[str, str]:
    return {plugin.name: plugin.state for plugin in host.plugins()}


@pytest.fixture
def vendor(packages):
    packages.add_good("vendor", "devices=('npu',)")
    packages.add(
        "broken", GOOD.format(name="broken", declares="extends=('npu',)") + "\n        raise OSError('no')"
    )
    return packages

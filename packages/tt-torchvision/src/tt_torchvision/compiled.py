"""The plugin `tt_torchvision`: what is written in C++, compiled when one of its operators is called first.

A plugin of its own, because activating a plugin runs all of it: torchvision looks up every operator when it is
imported, and would otherwise wait for the compiler, or fail where there is none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tt.core.hooks import Manifest, hookimpl

__all__ = ["problem", "tt_manifest", "tt_register"]

_RESULTS = {
    "nms": "int64",
    "roi_pool": ("same", "int32"),
    "ps_roi_align": ("same", "int32"),
    "ps_roi_pool": ("same", "int32"),
}
"""The dtypes of results that are not those of the first argument."""


@hookimpl
def tt_manifest() -> Manifest:
    """Return the namespace of the compiled operators."""
    return Manifest(
        "tt_torchvision", namespaces=("tt_torchvision",), available="tt_torchvision.compiled:problem"
    )


def problem() -> str | None:
    """Return why nothing can be compiled here, or None."""
    from tt.utils.cpp_extension import compiler_problem

    return compiler_problem("c++")


@hookimpl
def tt_register(registry: Any) -> None:
    """Compile the sources, once on a machine, and register their functions as operators."""
    from tt.utils.cpp_extension import load

    sources = sorted(Path(__file__).with_name("native").glob("*.cpp"))
    load("tt_torchvision", sources, result=_RESULTS)

"""Facts about plugins for the commands."""

from __future__ import annotations

from collections import Counter
from typing import Any

__all__ = ["brings", "registered", "states"]

KINDS = {
    "devices": "device", "layouts": "layout", "layers": "layer", "namespaces": "namespace", "libraries": "library",
}  # fmt: skip
"""Fields of manifests -> what one of the names is."""


def states(*, activate: bool = False) -> list[dict[str, Any]]:
    """Return the facts about every plugin as plain data."""
    from tt.core.host import host

    if activate:
        host.activate_all()
    return [
        {
            "name": plugin.name,
            "distribution": plugin.distribution,
            "version": plugin.version,
            "state": plugin.state,
            "reason": plugin.reason,
            "load_time": plugin.load_time,
            "api_version": plugin.api_version,
            "preferred": list(plugin.preferred),
            "contested": list(plugin.contested),
            "undone": list(plugin.undone),
            "manifest": plugin.manifest.as_dict() if plugin.manifest is not None else None,
            "traceback": plugin.traceback,
        }
        for plugin in host.plugins()
    ]


def brings(plugin: dict[str, Any]) -> str:
    """Return a plugin's declarations, in a few words."""
    manifest = plugin["manifest"]
    if manifest is None:
        return ""
    words = [f"{word} {name}" for kind, word in KINDS.items() for name in manifest[kind]]
    words += [f"kernels for {name}" for name in manifest["extends"]]
    return ", ".join(words)


def registered(name: str) -> dict[str, int]:
    """Return how much a plugin has registered: operators, kernels by place, composites; what takes no part apart."""
    from tt.core.dispatch.registry.registry import REGISTRY

    counts: Counter[str] = Counter()
    for op in REGISTRY.names():
        counts["operators"] += REGISTRY.definition_source(op).plugin == name
    for kernels in REGISTRY.kernels.values():
        for kernel in kernels:
            if kernel.source.plugin == name:
                idle = ", taking no part" if kernel.eligibility().refusal else ""
                counts[f"kernels for {kernel.where}{idle}"] += 1
    for composites in REGISTRY.composites.values():
        for composite in composites:
            if composite.source.plugin == name:
                counts["composites" + (", taking no part" if composite.eligibility().refusal else "")] += 1
    return {what: count for what, count in counts.items() if count}

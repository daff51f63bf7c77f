"""The plugin `runs`: a layout, and what its tensors do."""

from tt.core.hooks import Manifest, hookimpl


@hookimpl
def tt_manifest():
    return Manifest("runs", layouts=("runs",), members={"to_runs": "tt_runs.layout:to_runs"})


@hookimpl
def tt_register(registry):
    from tt_runs import layout

    for device in ("cpu", "meta"):
        registry.add_backend(layout.RunsBackend(device))
        for table in layout.tables(device):
            registry.add(table)

"""Has a manifest that is none."""

from tt.core.hooks import Manifest, hookimpl


@hookimpl
def tt_manifest():
    return Manifest("broken_manifest", devices="npu")

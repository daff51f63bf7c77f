"""Was made for another version of the plugin interface."""

from tt.core.hooks import Manifest, hookimpl


@hookimpl
def tt_manifest():
    return Manifest("broken_version", api_version=99)

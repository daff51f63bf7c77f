"""Declares a device and fails when it is used."""

from tt.core.hooks import Manifest, hookimpl


@hookimpl
def tt_manifest():
    return Manifest("broken_register", devices=("npu",))


@hookimpl
def tt_register(registry):
    raise OSError("libnpu.so: wrong ELF class")

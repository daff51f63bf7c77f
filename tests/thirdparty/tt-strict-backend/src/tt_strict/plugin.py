"""The device `strict`: arrays that cannot change, share no memory and have no strides."""

from tt.core.hooks import Manifest, hookimpl


@hookimpl
def tt_manifest():
    return Manifest("strict", devices=("strict",))


@hookimpl
def tt_register(registry):
    import array_api_strict

    from tt.library import ArrayApiBackend

    backend = ArrayApiBackend(array_api_strict, "strict")
    registry.add_backend(backend)
    registry.add(backend.kernels())

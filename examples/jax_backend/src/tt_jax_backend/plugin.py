"""The device `jaxcpu`: JAX's arrays on the CPU, which cannot change and share no memory."""

from tt.core.hooks import Manifest, hookimpl


@hookimpl
def tt_manifest():
    return Manifest("jaxcpu", devices=("jaxcpu",))


@hookimpl
def tt_register(registry):
    import jax

    jax.config.update("jax_enable_x64", True)  # without it, JAX has neither int64 nor float64
    from tt.library import ArrayApiBackend

    backend = ArrayApiBackend(jax.numpy, "jaxcpu", jax.devices("cpu")[0])
    registry.add_backend(backend)
    registry.add(backend.kernels())

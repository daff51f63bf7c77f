"""The device `torchcpu`: PyTorch's CPU tensors, which can change, have views and strides."""

from tt.core.hooks import Manifest, hookimpl


@hookimpl
def tt_manifest():
    return Manifest("torchcpu", devices=("torchcpu",))


@hookimpl
def tt_register(registry):
    from tt_torch_backend.backend import TorchBackend, differing_kernels

    backend, own = TorchBackend(), differing_kernels()
    registry.add_backend(backend)
    registry.add(backend.kernels(without={kernel.op for kernel in own.kernels}))
    registry.add(own)

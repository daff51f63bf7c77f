"""Features of PyTorch's tensors beyond the array API: strides, storages, bfloat16 and reinterpreted memory."""

import array_api_compat.torch as namespace
import numpy as np
import torch

from tt.library import ArrayApiBackend, KernelTable, from_numpy_dtype


class TorchBackend(ArrayApiBackend):
    """PyTorch's CPU tensors."""

    def __init__(self):
        super().__init__(namespace, "torchcpu", torch.device("cpu"), mutable=True, has_views=True)

    # --- to and from the host: NumPy has no bfloat16 that PyTorch supports ---

    def from_numpy(self, array, device=None):
        if not array.size:  # NumPy's strides of such an array are zeros
            return torch.empty(array.shape, dtype=self.native_dtype(from_numpy_dtype(array.dtype)))
        if array.dtype.name == "bfloat16":
            return torch.tensor(array.view(np.int16)).view(torch.bfloat16)
        return torch.tensor(np.ascontiguousarray(array).reshape(array.shape))

    def to_numpy(self, handle):
        handle = handle.resolve_conj().resolve_neg()
        if handle.dtype == torch.bfloat16:
            import ml_dtypes

            return handle.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
        return handle.numpy()

    # --- memory ---

    def strides(self, handle):
        return handle.stride()

    def offset(self, handle):
        return handle.storage_offset()

    def data_ptr(self, handle):
        return handle.data_ptr()

    def storage_owner(self, handle):
        return handle.untyped_storage()

    def storage_nbytes(self, owner):
        return owner.nbytes()

    def storage_data_ptr(self, owner):
        return owner.data_ptr()


def differing_kernels():
    """Return the kernels for which the array API has no function, or one that copies."""
    table = KernelTable(device="torchcpu")
    table.kernel(
        "as_strided", torch.as_strided, half="native", takes=("self", "size", "stride", "storage_offset")
    )
    # An alias in another size, whose storage grows for all tensors in it; memory of NumPy's does not grow.
    table.kernel(
        "resize", lambda self, size: self.detach().resize_(tuple(size)), half="native", takes=("self", "size")
    )
    table.kernel("view", lambda self, size: self.view(tuple(size)), half="native")
    table.kernel("view.dtype", lambda self, dtype: self.view(dtype), half="native")
    # A sum of complex numbers would lose infinite parts: (inf + 0j) + infj is nan + infj.
    table.kernel("complex", torch.complex, dtypes=["float32", "float64"], takes=("real", "imag"))
    table.kernel("view_as_real", torch.view_as_real, dtypes="complex", takes=("self",))
    table.kernel("view_as_complex", torch.view_as_complex, dtypes=["float32", "float64"], takes=("self",))
    return table

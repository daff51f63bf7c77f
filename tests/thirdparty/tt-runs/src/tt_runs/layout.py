"""The layout `runs`: a vector by its runs of equal elements, each with a value and a length."""

from __future__ import annotations

import numpy as np

from tt.library import REGISTRY, Backend, KernelTable, errors, handle_of, ops, to_dtype, wrap


class Runs:
    """A vector of `size` elements: `values[i]` stands `lengths[i]` times."""

    def __init__(self, values, lengths, size):
        self.values, self.lengths = values, lengths
        self.shape, self.ndim = (size,), 1

    @property
    def dtype(self):
        return self.values.dtype


class RunsBackend(Backend):
    """Vectors of runs on a device; their parts are its strided arrays."""

    layout = "runs"
    handle_type = Runs
    strided_fallback = True

    def __init__(self, device_type):
        self.device_type = device_type
        super().__init__()

    @property
    def arrays(self):
        return REGISTRY.backend(self.device_type)

    def native_dtype(self, dtype):
        return self.arrays.native_dtype(dtype)

    def cast(self, handle, native_dtype):
        if isinstance(handle, Runs):
            return Runs(self.arrays.cast(handle.values, native_dtype), handle.lengths, handle.shape[0])
        return self.arrays.cast(handle, native_dtype)

    def from_numpy(self, array, device=None):
        if array.ndim != 1:
            raise errors.LayoutError(f"the layout tt.runs holds vectors, not {array.ndim} dimensions")
        starts = np.flatnonzero(np.concatenate([[True] * bool(array.size), array[1:] != array[:-1]]))
        lengths = np.diff(np.append(starts, array.size)).astype(np.int64)
        return Runs(self.arrays.from_numpy(array[starts]), self.arrays.from_numpy(lengths), array.size)

    def to_strided(self, handle):
        return np.repeat(handle.values, handle.lengths)

    def to_numpy(self, handle):
        return self.arrays.to_numpy(self.to_strided(handle))

    def clone(self, handle):
        return Runs(self.arrays.clone(handle.values), self.arrays.clone(handle.lengths), handle.shape[0])

    # The parts that the core prints, pickles, moves and describes.

    def parts(self, handle):
        return {"values": handle.values, "lengths": handle.lengths}

    def assemble(self, parts, shape, facts):
        return Runs(parts["values"], parts["lengths"], shape[0])

    def summary(self, handle):
        return [f"runs={handle.lengths.shape[0]}"]


def made(values, lengths, size):
    """Return the tensor of two strided ones."""
    backend = REGISTRY.backend(values.device.type, "runs")
    return wrap(Runs(handle_of(values), handle_of(lengths), size), backend.spec(values.dtype, values.device))


def component_tensors(tensor):
    """Return values and lengths as strided tensors."""
    strided = REGISTRY.backend(tensor.device.type)
    handle, device = handle_of(tensor), tensor.device
    return (
        wrap(handle.values, strided.spec(tensor.dtype, device)),
        wrap(handle.lengths, strided.spec(to_dtype("int64"), device)),
    )


def to_runs(self):
    """Return a vector in the layout runs."""
    return self if self.layout.name == "runs" else made(*_found(self))


def _found(self):
    backend = REGISTRY.backend(self.device.type, "runs")
    handle = backend.from_numpy(self.numpy())
    return *component_tensors(wrap(handle, backend.spec(self.dtype))), self.shape[0]


# --- what its tensors do: kernels over tensors serve every device --------------------------------------------------


def _of_values(function):
    def kernel(self):
        values, lengths = component_tensors(self)
        return made(function(values), lengths, self.shape[0])

    return kernel


def _sum(self):
    values, lengths = component_tensors(self)
    return ops.sum(values * lengths.to(values.dtype))


def tables(device):
    """Return the kernels of a device."""
    table = KernelTable(device, "runs")
    table.kernel("alias", lambda self: self)
    for op in ("neg", "exp", "abs"):
        table.kernel(op, _of_values(getattr(ops, op)), tensors=True, dtypes="floating")
    table.kernel("sum", _sum, takes=("self",), tensors=True, dtypes="floating")
    table.kernel("clone", _of_values(ops.clone), tensors=True)
    return [table]

"""The point at which a function is checked: one array for each input, whose elements are moved one by one.

Note [Layouts that store some elements]
---------------------------------------
A layout whose backend names a part "values" stores only some elements of a tensor; those are what can be moved.  With
`masked=True` the others are constants: their gradient is zero.  Without, they are variables that happen to be zero:
finite differences are taken at the same tensor with every element stored (`Backend.filled`), and compared with the
gradient of the tensor as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.tensor.tensor import wrap
from tt.testing.gradcheck.arrays import Array, from_array, to_array

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

__all__ = ["Point", "StoredPoint", "point_of"]


class Point:
    """An input that stores all of its elements.

    Attributes
    ----------
    array : numpy.ndarray
        The elements that can be moved.
    """

    array: Array

    def __init__(self, tensor: Tensor) -> None:
        self._like = tensor
        self.array = to_array(tensor)

    def tensor(self, array: Array) -> Any:
        """Return the input with other elements, rounded to its dtype, without a history."""
        return from_array(array.astype(self.array.dtype), self._like)

    def leaf(self) -> Any:
        """Return the input as it was given, as a leaf that requires a gradient."""
        return self.tensor(self.array).requires_grad_()

    def read(self, gradient: Any) -> Array:
        """Return a gradient as an array of the shape of the whole input."""
        return np.zeros_like(self.array) if gradient is None else to_array(gradient)

    def spread(self, rows: Array) -> Array:
        """Return the rows of a Jacobian for all components of the input, of those for what can be moved."""
        return rows


class StoredPoint(Point):
    """An input whose layout stores some of its elements; see Note [Layouts that store some elements].

    Parameters
    ----------
    tensor : Tensor
        The input.
    masked : bool
        Whether the elements that it does not store are constant.
    """

    def __init__(self, tensor: Tensor, masked: bool) -> None:
        self._given = tensor.detach()
        self._backend, self._spec = tensor._spec.backend, tensor._spec
        self._arrays = REGISTRY.backend(tensor.device.type)
        self._handle = self._given._handle if masked else self._backend.filled(self._given._handle)
        self._parts = dict(self._backend.parts(self._handle))
        self.array = self._to_array(self._parts["values"])
        # Where each of them is in the whole tensor: a layout may store a place several times.
        self._places = []
        for index in np.ndindex(self.array.shape):
            unit = np.zeros(self.array.shape, self.array.dtype)
            unit[index] = 1
            self._places.append(int(np.flatnonzero(to_array(self.tensor(unit)))[0]))

    def _to_array(self, values: Any) -> Array:
        return np.array(self._arrays.to_numpy(values))

    def tensor(self, array: Array) -> Any:
        """Return the input with other elements in the places that it stores."""
        values = self._arrays.from_numpy(array.astype(self.array.dtype), self._given.device)
        parts = {**self._parts, "values": values}
        handle = self._backend.assemble(parts, self._handle.shape, self._backend.facts(self._handle))
        return wrap(handle, self._spec)

    def leaf(self) -> Any:
        """Return the input as it was given, as a leaf that requires a gradient."""
        return self._given.clone().requires_grad_()

    def read(self, gradient: Any) -> Array:
        """Return a gradient, of whatever layout, as an array of the shape of the whole input."""
        if gradient is None:
            return np.zeros(self._handle.shape, self.array.dtype)
        return to_array(gradient)

    def spread(self, rows: Array) -> Array:
        """Return the rows of a Jacobian for all components of the input; they are zero where nothing can be moved."""
        parts = 2 if np.iscomplexobj(self.array) else 1
        # The parts of a complex element lie next to each other in a row of components.
        whole = np.zeros((int(np.prod(self._handle.shape)), parts, rows.shape[-1]))
        whole[self._places] = rows.reshape(len(self._places), parts, rows.shape[-1])
        return whole.reshape(-1, rows.shape[-1])


def point_of(tensor: Tensor, masked: bool) -> Point:
    """Return the point that an input is."""
    stored = "values" in tensor._spec.backend.parts(tensor._handle)
    return StoredPoint(tensor, masked) if stored else Point(tensor)

cimport cython

from tt.core.tensor.base cimport TensorBase, TensorSpec

@cython.locals(position="Py_ssize_t", name=str)
cpdef in_format_of(result, tuple positions, tuple args)
@cython.locals(tensor=TensorBase, spec=TensorSpec, common=str, name=str)
cpdef str format_of(value)

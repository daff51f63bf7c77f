// Kernels that work element by element.
#include "common.cuh"

template <typename T>
__global__ void copy(T* target, const T* source, int64 count) {
    for (int64 i = first_element(); i < count; i += element_step()) target[i] = source[i];
}

// Windows of images as columns, and the sum of columns at the places of an image from which they come.  A thread computes one
// element of the result.

#ifndef TT_FOLDING_CUH
#define TT_FOLDING_CUH

#include "complex.cuh"

struct Folded {
    int64 planes, size[2], width[2], blocks[2], hop[2], pad[2], gap[2];
};

// T is a word of the size of the elements; padding is 0.
template <typename T>
__global__ void windows_to_columns(const T* image, T* columns, Folded f) {
    const int64 blocks = f.blocks[0] * f.blocks[1], window = f.width[0] * f.width[1];
    for (int64 i = first_element(); i < f.planes * window * blocks; i += element_step()) {
        const int64 block = i % blocks, k = i / blocks % window, plane = i / blocks / window;
        const int64 row = block / f.blocks[1] * f.hop[0] + k / f.width[1] * f.gap[0] - f.pad[0];
        const int64 column = block % f.blocks[1] * f.hop[1] + k % f.width[1] * f.gap[1] - f.pad[1];
        T found{};
        if (row >= 0 && row < f.size[0] && column >= 0 && column < f.size[1])
            found = image[(plane * f.size[0] + row) * f.size[1] + column];
        columns[i] = found;
    }
}

// The elements of a result are added in the order of the places in a window, so sums are the same in every run.
template <typename T>
__global__ void columns_to_image(const T* columns, T* image, Folded f) {
    using S = sum_t<T>;
    const int64 blocks = f.blocks[0] * f.blocks[1], window = f.width[0] * f.width[1], size = f.size[0] * f.size[1];
    for (int64 i = first_element(); i < f.planes * size; i += element_step()) {
        const int64 row = i % size / f.size[1] + f.pad[0], column = i % f.size[1] + f.pad[1], plane = i / size;
        S total = S(0);
        for (int64 k0 = 0; k0 < f.width[0]; k0++) {
            const int64 down = row - k0 * f.gap[0];
            if (down < 0 || down % f.hop[0] || down / f.hop[0] >= f.blocks[0]) continue;
            for (int64 k1 = 0; k1 < f.width[1]; k1++) {
                const int64 right = column - k1 * f.gap[1];
                if (right < 0 || right % f.hop[1] || right / f.hop[1] >= f.blocks[1]) continue;
                const int64 block = down / f.hop[0] * f.blocks[1] + right / f.hop[1];
                total = total + convert<S>(columns[(plane * window + k0 * f.width[1] + k1) * blocks + block]);
            }
        }
        image[i] = convert<T>(total);
    }
}

#endif  // TT_FOLDING_CUH

// The columns of a deformable convolution: what the kernel sees at each place, sampled at shifted positions.
//
// The convolution is the product of the weights with the columns, which tt computes.  All tensors are contiguous.
#include <tt/extension.h>

#include <algorithm>
#include <cmath>

namespace {

// An image's plane of samples: zero outside, bilinear between the elements.
template <typename T> struct Plane {
    int64_t height, width, index[4];
    T weight[4], dy[4], dx[4]; // of the four elements around the position, and the weights' derivatives

    Plane(int64_t height, int64_t width) : height(height), width(width) {}

    // Moves to a position; returns false where the sample is zero and has no derivative.
    bool move(T y, T x) {
        if (!(y > -1 && y < height && x > -1 && x < width)) return false;
        const int64_t top = static_cast<int64_t>(std::floor(y)), left = static_cast<int64_t>(std::floor(x));
        const T below = y - top, beside = x - left;
        for (int corner = 0; corner < 4; corner++) {
            const bool low = corner / 2, right = corner % 2;
            const int64_t row = top + low, column = left + right;
            const bool exists = row >= 0 && row < height && column >= 0 && column < width;
            const T vertical = low ? below : 1 - below, horizontal = right ? beside : 1 - beside;
            index[corner] = exists ? row * width + column : 0;
            weight[corner] = exists ? vertical * horizontal : 0;
            dy[corner] = exists ? (low ? horizontal : -horizontal) : 0;
            dx[corner] = exists ? (right ? vertical : -vertical) : 0;
        }
        return true;
    }

    T dot(const T *plane, const T *factors) const {
        T sum = 0;
        for (int corner = 0; corner < 4; corner++) sum += factors[corner] * plane[index[corner]];
        return sum;
    }
};

// The sizes of one call, and where the offsets and masks of a position lie.
struct Geometry {
    int64_t batch, channels, height, width, kernel_height, kernel_width, out_height, out_width, groups;
    int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;

    int64_t taps() const { return kernel_height * kernel_width; }
    int64_t places() const { return out_height * out_width; }

    // Calls `visit(column, offset, mask, image and channel, y, x)` for each element of the columns.
    template <typename T, typename Visit> void each(const T *offset, Visit visit) const {
        const int64_t per_group = channels / groups;
        for (int64_t n = 0; n < batch; n++)
            for (int64_t c = 0; c < channels; c++)
                for (int64_t tap = 0; tap < taps(); tap++) {
                    const int64_t group = n * groups + c / per_group;
                    const int64_t shift = (group * taps() + tap) * 2 * places(), share = (group * taps() + tap) * places();
                    const int64_t column = ((n * channels + c) * taps() + tap) * places();
                    const int64_t row = tap / kernel_width * dilation_h - pad_h;
                    const int64_t beside = tap % kernel_width * dilation_w - pad_w;
                    for (int64_t place = 0; place < places(); place++)
                        visit(column + place, shift + place, share + place, n * channels + c,
                              T(place / out_width * stride_h + row) + offset[shift + place],
                              T(place % out_width * stride_w + beside) + offset[shift + places() + place]);
                }
    }
};

Geometry geometry(const tt_tensor *input, const tt_tensor *offset, int64_t kernel_height, int64_t kernel_width,
                  int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w, int64_t dilation_h,
                  int64_t dilation_w, int64_t groups) {
    return {input->shape[0], input->shape[1], input->shape[2], input->shape[3], kernel_height, kernel_width,
            offset->shape[2], offset->shape[3], groups, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w};
}

template <typename T> T *zeros_like(tt_tensor **result, const tt_tensor *like) {
    *result = tt_empty(like->dtype, like->ndim, like->shape);
    if (*result == nullptr) return nullptr;
    std::fill_n(static_cast<T *>((*result)->data), tt_numel(like), T(0));
    return static_cast<T *>((*result)->data);
}

}  // namespace

// (batch, channels * kernel, places); without a mask samples count fully.
template <typename T>
tt_tensor *deform_columns(const tt_tensor *input, const tt_tensor *offset, const tt_tensor *mask, int64_t kernel_height,
                          int64_t kernel_width, int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w,
                          int64_t dilation_h, int64_t dilation_w, int64_t groups, bool use_mask) {
    const Geometry sizes = geometry(input, offset, kernel_height, kernel_width, stride_h, stride_w, pad_h, pad_w,
                                    dilation_h, dilation_w, groups);
    const int64_t shape[3] = {sizes.batch, sizes.channels * sizes.taps(), sizes.places()};
    tt_tensor *result = tt_empty(input->dtype, 3, shape);
    if (result == nullptr) return nullptr;
    const T *image = static_cast<const T *>(input->data), *share = static_cast<const T *>(mask->data);
    T *columns = static_cast<T *>(result->data);
    const int64_t area = sizes.height * sizes.width;
    Plane<T> plane(sizes.height, sizes.width);
    sizes.each(static_cast<const T *>(offset->data),
               [&](int64_t at, int64_t, int64_t masked, int64_t channel, T y, T x) {
                   const T value = plane.move(y, x) ? plane.dot(image + channel * area, plane.weight) : T(0);
                   columns[at] = use_mask ? share[masked] * value : value;
               });
    return result;
}

// From the gradient of the columns those of the input, the offset and the mask.
template <typename T>
void deform_columns_backward(const tt_tensor *grad, const tt_tensor *input, const tt_tensor *offset,
                             const tt_tensor *mask, int64_t kernel_height, int64_t kernel_width, int64_t stride_h,
                             int64_t stride_w, int64_t pad_h, int64_t pad_w, int64_t dilation_h, int64_t dilation_w,
                             int64_t groups, bool use_mask, tt_tensor **grad_input, tt_tensor **grad_offset,
                             tt_tensor **grad_mask) {
    const Geometry sizes = geometry(input, offset, kernel_height, kernel_width, stride_h, stride_w, pad_h, pad_w,
                                    dilation_h, dilation_w, groups);
    T *to_image = zeros_like<T>(grad_input, input), *to_offset = zeros_like<T>(grad_offset, offset);
    T *to_mask = zeros_like<T>(grad_mask, mask);
    if (to_image == nullptr || to_offset == nullptr || to_mask == nullptr) return;
    const T *image = static_cast<const T *>(input->data), *share = static_cast<const T *>(mask->data);
    const T *gradient = static_cast<const T *>(grad->data);
    const int64_t area = sizes.height * sizes.width, places = sizes.places();
    Plane<T> plane(sizes.height, sizes.width);
    sizes.each(static_cast<const T *>(offset->data),
               [&](int64_t at, int64_t shift, int64_t masked, int64_t channel, T y, T x) {
                   if (!plane.move(y, x)) return;
                   const T *of_channel = image + channel * area;
                   if (use_mask) to_mask[masked] += gradient[at] * plane.dot(of_channel, plane.weight);
                   const T g = use_mask ? gradient[at] * share[masked] : gradient[at];
                   to_offset[shift] += g * plane.dot(of_channel, plane.dy);
                   to_offset[shift + places] += g * plane.dot(of_channel, plane.dx);
                   for (int corner = 0; corner < 4; corner++)
                       to_image[channel * area + plane.index[corner]] += g * plane.weight[corner];
               });
}

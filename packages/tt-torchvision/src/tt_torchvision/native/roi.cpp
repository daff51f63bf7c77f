// Pooling of regions: the average of bilinear samples (roi_align) or the greatest element (roi_pool) of each bin, and the
// position-sensitive forms, in which each bin reads a channel of its own.
//
// All tensors are contiguous; a region is (image, x1, y1, x2, y2), and images have been checked.
#include <tt/extension.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

// The image that a region names.
template <typename T> int64_t image_of(const T *roi, int64_t batch) {
    if (!(roi[0] >= 0 && roi[0] < batch)) // NaN, too
        throw std::out_of_range("rois name the image " + std::to_string(roi[0]) + ", and there are " + std::to_string(batch));
    return static_cast<int64_t>(roi[0]);
}

// A number without a fraction as an integer; what is none, or beyond all images, becomes 0.
template <typename T> int64_t whole(T value) {
    return std::abs(value) < T(1LL << 31) ? static_cast<int64_t>(value) : 0;
}

// Four elements of a plane and their weights: one bilinear sample.  A sample outside of the plane has no weight.
template <typename T> struct Sample {
    int64_t index[4];
    T weight[4];
};

template <typename T> Sample<T> sample(int64_t height, int64_t width, T y, T x) {
    Sample<T> result = {{0, 0, 0, 0}, {0, 0, 0, 0}};
    // Up to one element outside the border is repeated.  The negation refuses NaN, too.
    if (!(y >= -1 && y <= height && x >= -1 && x <= width)) return result;
    y = std::max(y, T(0));
    x = std::max(x, T(0));
    int64_t top = static_cast<int64_t>(y), left = static_cast<int64_t>(x), bottom = top + 1, right = left + 1;
    if (top >= height - 1) {
        top = bottom = height - 1;
        y = static_cast<T>(top);
    }
    if (left >= width - 1) {
        left = right = width - 1;
        x = static_cast<T>(left);
    }
    const T below = y - top, beside = x - left, above = 1 - below, before = 1 - beside;
    const int64_t index[4] = {top * width + left, top * width + right, bottom * width + left, bottom * width + right};
    const T weight[4] = {above * before, above * beside, below * before, below * beside};
    std::copy(index, index + 4, result.index);
    std::copy(weight, weight + 4, result.weight);
    return result;
}

// A region on the plane of features, and the grid of samples in each of its bins.
template <typename T> struct Grid {
    int64_t image, rows, columns;
    T y, x, bin_height, bin_width, count;

    Grid(const T *roi, int64_t batch, T scale, T offset, bool at_least_one, int64_t pooled_height, int64_t pooled_width,
         int64_t sampling_ratio) {
        image = image_of(roi, batch);
        x = roi[1] * scale - offset;
        y = roi[2] * scale - offset;
        T width = roi[3] * scale - offset - x, height = roi[4] * scale - offset - y;
        if (at_least_one) {
            width = std::max(width, T(1));
            height = std::max(height, T(1));
        }
        bin_height = height / static_cast<T>(pooled_height);
        bin_width = width / static_cast<T>(pooled_width);
        rows = sampling_ratio > 0 ? sampling_ratio : whole(std::ceil(height / pooled_height));
        columns = sampling_ratio > 0 ? sampling_ratio : whole(std::ceil(width / pooled_width));
        count = static_cast<T>(rows * columns);
    }

    // The samples of all bins, a bin after another.
    std::vector<Sample<T>> samples(int64_t pooled_height, int64_t pooled_width, int64_t height, int64_t width) const {
        std::vector<Sample<T>> result;
        if (rows <= 0 || columns <= 0) return result;
        result.reserve(pooled_height * pooled_width * rows * columns);
        for (int64_t ph = 0; ph < pooled_height; ph++)
            for (int64_t pw = 0; pw < pooled_width; pw++)
                for (int64_t row = 0; row < rows; row++)
                    for (int64_t column = 0; column < columns; column++)
                        result.push_back(sample(height, width,
                            y + ph * bin_height + (row + T(.5)) * bin_height / static_cast<T>(rows),
                            x + pw * bin_width + (column + T(.5)) * bin_width / static_cast<T>(columns)));
        return result;
    }

    int64_t per_bin() const { return rows > 0 && columns > 0 ? rows * columns : 0; }
};

template <typename T> T gather(const T *plane, const Sample<T> *samples, int64_t count) {
    T sum = 0;
    for (int64_t s = 0; s < count; s++)
        for (int corner = 0; corner < 4; corner++) sum += samples[s].weight[corner] * plane[samples[s].index[corner]];
    return sum;
}

template <typename T> void scatter(T *plane, const Sample<T> *samples, int64_t count, T gradient) {
    for (int64_t s = 0; s < count; s++)
        for (int corner = 0; corner < 4; corner++)
            plane[samples[s].index[corner]] += gradient * samples[s].weight[corner];
}

template <typename T> tt_tensor *zeros(int32_t dtype, int64_t batch, int64_t channels, int64_t height, int64_t width) {
    const int64_t shape[4] = {batch, channels, height, width};
    tt_tensor *result = tt_empty(dtype, 4, shape);
    if (result != nullptr) std::fill_n(static_cast<T *>(result->data), batch * channels * height * width, T(0));
    return result;
}

// The elements of a bin along one axis, from `begin` to before `end`.
struct Span {
    int64_t begin, end;

    template <typename T> Span(int64_t bin, T size, int64_t start, int64_t limit) {
        begin = std::clamp(static_cast<int64_t>(std::floor(bin * size)) + start, int64_t(0), limit);
        end = std::clamp(static_cast<int64_t>(std::ceil((bin + 1) * size)) + start, int64_t(0), limit);
    }
};

// A region of whole elements, and the size of its bins.
template <typename T> struct Cells {
    int64_t image, x, y;
    T bin_height, bin_width;

    Cells(const T *roi, int64_t batch, T scale, int64_t last, int64_t pooled_height, int64_t pooled_width) {
        image = image_of(roi, batch);
        x = whole(std::round(roi[1] * scale));
        y = whole(std::round(roi[2] * scale));
        // `last`: whether the end belongs to the region.  No region is empty.
        const int64_t width = std::max(whole(std::round(roi[3] * scale)) - x + last, int64_t(1));
        const int64_t height = std::max(whole(std::round(roi[4] * scale)) - y + last, int64_t(1));
        bin_height = static_cast<T>(height) / static_cast<T>(pooled_height);
        bin_width = static_cast<T>(width) / static_cast<T>(pooled_width);
    }
};

}  // namespace

template <typename T>
tt_tensor *roi_align(const tt_tensor *input, const tt_tensor *rois, double spatial_scale, int64_t pooled_height,
                     int64_t pooled_width, int64_t sampling_ratio, bool aligned) {
    const int64_t channels = input->shape[1], height = input->shape[2], width = input->shape[3];
    const int64_t bins = pooled_height * pooled_width;
    tt_tensor *result = zeros<T>(input->dtype, rois->shape[0], channels, pooled_height, pooled_width);
    if (result == nullptr) return nullptr;
    T *out = static_cast<T *>(result->data);
    for (int64_t r = 0; r < rois->shape[0]; r++) {
        const Grid<T> grid(static_cast<const T *>(rois->data) + 5 * r, input->shape[0], static_cast<T>(spatial_scale),
                           aligned ? T(.5) : T(0), !aligned, pooled_height, pooled_width, sampling_ratio);
        // The same for all channels.
        const std::vector<Sample<T>> samples = grid.samples(pooled_height, pooled_width, height, width);
        for (int64_t c = 0; c < channels; c++) {
            const T *plane = static_cast<const T *>(input->data) + (grid.image * channels + c) * height * width;
            for (int64_t bin = 0; bin < bins; bin++)
                *out++ = gather(plane, samples.data() + bin * grid.per_bin(), grid.per_bin()) / std::max(grid.count, T(1));
        }
    }
    return result;
}

template <typename T>
tt_tensor *roi_align_backward(const tt_tensor *grad, const tt_tensor *rois, double spatial_scale, int64_t pooled_height,
                              int64_t pooled_width, int64_t batch_size, int64_t channels, int64_t height, int64_t width,
                              int64_t sampling_ratio, bool aligned) {
    const int64_t bins = pooled_height * pooled_width;
    tt_tensor *result = zeros<T>(grad->dtype, batch_size, channels, height, width);
    if (result == nullptr) return nullptr;
    const T *gradient = static_cast<const T *>(grad->data);
    for (int64_t r = 0; r < rois->shape[0]; r++) {
        const Grid<T> grid(static_cast<const T *>(rois->data) + 5 * r, batch_size, static_cast<T>(spatial_scale),
                           aligned ? T(.5) : T(0), !aligned, pooled_height, pooled_width, sampling_ratio);
        const std::vector<Sample<T>> samples = grid.samples(pooled_height, pooled_width, height, width);
        for (int64_t c = 0; c < channels; c++) {
            T *plane = static_cast<T *>(result->data) + (grid.image * channels + c) * height * width;
            for (int64_t bin = 0; bin < bins; bin++)
                scatter(plane, samples.data() + bin * grid.per_bin(), grid.per_bin(),
                        *gradient++ / std::max(grid.count, T(1)));
        }
    }
    return result;
}

template <typename T>
void ps_roi_align(const tt_tensor *input, const tt_tensor *rois, double spatial_scale, int64_t pooled_height,
                  int64_t pooled_width, int64_t sampling_ratio, tt_tensor **output, tt_tensor **channel_mapping) {
    const int64_t channels = input->shape[1], height = input->shape[2], width = input->shape[3];
    const int64_t bins = pooled_height * pooled_width, outputs = channels / bins;
    *output = zeros<T>(input->dtype, rois->shape[0], outputs, pooled_height, pooled_width);
    *channel_mapping = zeros<int32_t>(TT_INT32, rois->shape[0], outputs, pooled_height, pooled_width);
    if (*output == nullptr || *channel_mapping == nullptr) return;
    T *out = static_cast<T *>((*output)->data);
    int32_t *mapping = static_cast<int32_t *>((*channel_mapping)->data);
    for (int64_t r = 0; r < rois->shape[0]; r++) {
        const Grid<T> grid(static_cast<const T *>(rois->data) + 5 * r, input->shape[0], static_cast<T>(spatial_scale), T(.5), false,
                           pooled_height, pooled_width, sampling_ratio);
        const std::vector<Sample<T>> samples = grid.samples(pooled_height, pooled_width, height, width);
        // Bin `bin` of output channel `c` reads input channel `c * bins + bin`.
        for (int64_t c = 0; c < channels; c++) {
            const T *plane = static_cast<const T *>(input->data) + (grid.image * channels + c) * height * width;
            *out++ = gather(plane, samples.data() + c % bins * grid.per_bin(), grid.per_bin()) / grid.count;
            *mapping++ = static_cast<int32_t>(c);
        }
    }
}

template <typename T>
tt_tensor *ps_roi_align_backward(const tt_tensor *grad, const tt_tensor *rois, const tt_tensor *channel_mapping,
                                 double spatial_scale, int64_t pooled_height, int64_t pooled_width,
                                 int64_t sampling_ratio, int64_t batch_size, int64_t channels, int64_t height,
                                 int64_t width) {
    const int64_t bins = pooled_height * pooled_width, outputs = channels / bins;
    tt_tensor *result = zeros<T>(grad->dtype, batch_size, channels, height, width);
    if (result == nullptr) return nullptr;
    const T *gradient = static_cast<const T *>(grad->data);
    const int32_t *mapping = static_cast<const int32_t *>(channel_mapping->data);
    for (int64_t r = 0; r < rois->shape[0]; r++) {
        const Grid<T> grid(static_cast<const T *>(rois->data) + 5 * r, batch_size, static_cast<T>(spatial_scale), T(.5), false,
                           pooled_height, pooled_width, sampling_ratio);
        const std::vector<Sample<T>> samples = grid.samples(pooled_height, pooled_width, height, width);
        for (int64_t i = 0; i < outputs * bins; i++) {
            const int64_t c = *mapping++;
            T *plane = static_cast<T *>(result->data) + (grid.image * channels + c) * height * width;
            scatter(plane, samples.data() + i % bins * grid.per_bin(), grid.per_bin(), *gradient++ / grid.count);
        }
    }
    return result;
}

template <typename T>
void roi_pool(const tt_tensor *input, const tt_tensor *rois, double spatial_scale, int64_t pooled_height,
              int64_t pooled_width, tt_tensor **output, tt_tensor **argmax) {
    const int64_t channels = input->shape[1], height = input->shape[2], width = input->shape[3];
    *output = zeros<T>(input->dtype, rois->shape[0], channels, pooled_height, pooled_width);
    *argmax = zeros<int32_t>(TT_INT32, rois->shape[0], channels, pooled_height, pooled_width);
    if (*output == nullptr || *argmax == nullptr) return;
    T *out = static_cast<T *>((*output)->data);
    int32_t *arg = static_cast<int32_t *>((*argmax)->data);
    for (int64_t r = 0; r < rois->shape[0]; r++) {
        const Cells<T> cells(static_cast<const T *>(rois->data) + 5 * r, input->shape[0], static_cast<T>(spatial_scale), 1,
                             pooled_height, pooled_width);
        for (int64_t c = 0; c < channels; c++) {
            const T *plane = static_cast<const T *>(input->data) + (cells.image * channels + c) * height * width;
            for (int64_t ph = 0; ph < pooled_height; ph++) {
                const Span rows(ph, cells.bin_height, cells.y, height);
                for (int64_t pw = 0; pw < pooled_width; pw++) {
                    const Span columns(pw, cells.bin_width, cells.x, width);
                    const bool empty = rows.end <= rows.begin || columns.end <= columns.begin;
                    T greatest = empty ? T(0) : std::numeric_limits<T>::lowest();
                    int64_t index = -1; // what an empty bin has
                    for (int64_t y = rows.begin; y < rows.end; y++)
                        for (int64_t x = columns.begin; x < columns.end; x++)
                            if (plane[y * width + x] > greatest) {
                                greatest = plane[y * width + x];
                                index = y * width + x;
                            }
                    *out++ = greatest;
                    *arg++ = static_cast<int32_t>(index);
                }
            }
        }
    }
}

template <typename T>
tt_tensor *roi_pool_backward(const tt_tensor *grad, const tt_tensor *rois, const tt_tensor *argmax, int64_t batch_size,
                             int64_t channels, int64_t height, int64_t width) {
    const int64_t bins = grad->shape[2] * grad->shape[3];
    tt_tensor *result = zeros<T>(grad->dtype, batch_size, channels, height, width);
    if (result == nullptr) return nullptr;
    const T *gradient = static_cast<const T *>(grad->data);
    const int32_t *arg = static_cast<const int32_t *>(argmax->data);
    for (int64_t r = 0; r < rois->shape[0]; r++) {
        const int64_t image = image_of(static_cast<const T *>(rois->data) + 5 * r, batch_size);
        for (int64_t c = 0; c < channels; c++) {
            T *plane = static_cast<T *>(result->data) + (image * channels + c) * height * width;
            for (int64_t bin = 0; bin < bins; bin++, gradient++, arg++)
                if (*arg >= 0) plane[*arg] += *gradient;
        }
    }
    return result;
}

template <typename T>
void ps_roi_pool(const tt_tensor *input, const tt_tensor *rois, double spatial_scale, int64_t pooled_height,
                 int64_t pooled_width, tt_tensor **output, tt_tensor **channel_mapping) {
    const int64_t channels = input->shape[1], height = input->shape[2], width = input->shape[3];
    const int64_t bins = pooled_height * pooled_width, outputs = channels / bins;
    *output = zeros<T>(input->dtype, rois->shape[0], outputs, pooled_height, pooled_width);
    *channel_mapping = zeros<int32_t>(TT_INT32, rois->shape[0], outputs, pooled_height, pooled_width);
    if (*output == nullptr || *channel_mapping == nullptr) return;
    T *out = static_cast<T *>((*output)->data);
    int32_t *mapping = static_cast<int32_t *>((*channel_mapping)->data);
    for (int64_t r = 0; r < rois->shape[0]; r++) {
        const Cells<T> cells(static_cast<const T *>(rois->data) + 5 * r, input->shape[0], static_cast<T>(spatial_scale), 0,
                             pooled_height, pooled_width);
        for (int64_t c = 0; c < channels; c++) {
            const T *plane = static_cast<const T *>(input->data) + (cells.image * channels + c) * height * width;
            const Span rows(c % bins / pooled_width, cells.bin_height, cells.y, height - 1);
            const Span columns(c % pooled_width, cells.bin_width, cells.x, width - 1);
            T sum = 0;
            for (int64_t y = rows.begin; y < rows.end; y++)
                for (int64_t x = columns.begin; x < columns.end; x++) sum += plane[y * width + x];
            const int64_t size = (rows.end - rows.begin) * (columns.end - columns.begin);
            const bool empty = rows.end <= rows.begin || columns.end <= columns.begin;
            *out++ = empty ? T(0) : sum / static_cast<T>(size);
            *mapping++ = static_cast<int32_t>(c);
        }
    }
}

template <typename T>
tt_tensor *ps_roi_pool_backward(const tt_tensor *grad, const tt_tensor *rois, const tt_tensor *channel_mapping,
                                double spatial_scale, int64_t pooled_height, int64_t pooled_width, int64_t batch_size,
                                int64_t channels, int64_t height, int64_t width) {
    const int64_t bins = pooled_height * pooled_width, outputs = channels / bins;
    tt_tensor *result = zeros<T>(grad->dtype, batch_size, channels, height, width);
    if (result == nullptr) return nullptr;
    const T *gradient = static_cast<const T *>(grad->data);
    const int32_t *mapping = static_cast<const int32_t *>(channel_mapping->data);
    for (int64_t r = 0; r < rois->shape[0]; r++) {
        const Cells<T> cells(static_cast<const T *>(rois->data) + 5 * r, batch_size, static_cast<T>(spatial_scale), 0,
                             pooled_height, pooled_width);
        for (int64_t i = 0; i < outputs * bins; i++, gradient++) {
            const int64_t c = *mapping++;
            T *plane = static_cast<T *>(result->data) + (cells.image * channels + c) * height * width;
            const Span rows(i % bins / pooled_width, cells.bin_height, cells.y, height - 1);
            const Span columns(i % pooled_width, cells.bin_width, cells.x, width - 1);
            if (rows.end <= rows.begin || columns.end <= columns.begin) continue;
            const T share = *gradient / static_cast<T>((rows.end - rows.begin) * (columns.end - columns.begin));
            for (int64_t y = rows.begin; y < rows.end; y++)
                for (int64_t x = columns.begin; x < columns.end; x++) plane[y * width + x] += share;
        }
    }
    return result;
}

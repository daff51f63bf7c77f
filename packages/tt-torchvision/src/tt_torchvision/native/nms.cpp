// Non-maximum suppression, and the intersection over union of rotated boxes.
#include <tt/extension.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

// The indices of the boxes that are kept, by falling score.  `boxes` is (n, 4) as x1, y1, x2, y2; both are contiguous.
template <typename T> tt_tensor *nms(const tt_tensor *boxes, const tt_tensor *scores, double iou_threshold) {
    const int64_t count = boxes->shape[0];
    const T *box = static_cast<const T *>(boxes->data), *score = static_cast<const T *>(scores->data);

    // NaN comes first, as in a descending sort; equal scores keep their order.
    std::vector<int64_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [score](int64_t a, int64_t b) {
        if (std::isnan(score[a]) || std::isnan(score[b])) return std::isnan(score[a]) && !std::isnan(score[b]);
        return score[a] > score[b];
    });

    std::vector<T> area(count);
    for (int64_t i = 0; i < count; i++)
        area[i] = (box[4 * i + 2] - box[4 * i]) * (box[4 * i + 3] - box[4 * i + 1]);

    std::vector<char> suppressed(count, 0);
    std::vector<int64_t> kept;
    for (int64_t rank = 0; rank < count; rank++) {
        const int64_t i = order[rank];
        if (suppressed[i]) continue;
        kept.push_back(i);
        const T *a = box + 4 * i;
        for (int64_t later = rank + 1; later < count; later++) {
            const int64_t j = order[later];
            if (suppressed[j]) continue;
            const T *b = box + 4 * j;
            const T width = std::max(T(0), std::min(a[2], b[2]) - std::max(a[0], b[0]));
            const T height = std::max(T(0), std::min(a[3], b[3]) - std::max(a[1], b[1]));
            const T overlap = width * height;
            // In the type of the boxes, as the threshold is met or missed by a rounding.
            const T iou = overlap / (area[i] + area[j] - overlap);
            suppressed[j] = iou > iou_threshold;
        }
    }
    const int64_t size = static_cast<int64_t>(kept.size());
    tt_tensor *result = tt_empty(TT_INT64, 1, &size);
    if (result != nullptr) std::copy(kept.begin(), kept.end(), static_cast<int64_t *>(result->data));
    return result;
}

namespace {

template <typename T> struct Point {
    T x, y;
};

// The corners of a box (centre, size, angle in degrees), relative to an origin near it.
template <typename T> std::vector<Point<T>> corners(const T *box, T origin_x, T origin_y) {
    const T angle = box[4] * T(3.14159265358979323846 / 180);
    // A positive angle turns counter-clockwise on an image, whose y points down.
    const T cosine = std::cos(angle) / 2, sine = std::sin(angle) / 2;
    const T across_x = cosine * box[2], across_y = -sine * box[2], down_x = sine * box[3], down_y = cosine * box[3];
    const T x = box[0] - origin_x, y = box[1] - origin_y;
    return {{x + across_x + down_x, y + across_y + down_y},
            {x - across_x + down_x, y - across_y + down_y},
            {x - across_x - down_x, y - across_y - down_y},
            {x + across_x - down_x, y + across_y - down_y}};
}

template <typename T> T cross(const Point<T> &a, const Point<T> &b, const Point<T> &c) {
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

template <typename T> T signed_area(const std::vector<Point<T>> &polygon) {
    T sum = 0;
    for (size_t i = 0; i < polygon.size(); i++) {
        const Point<T> &a = polygon[i], &b = polygon[(i + 1) % polygon.size()];
        sum += a.x * b.y - a.y * b.x;
    }
    return sum / 2;
}

// What of `polygon` lies within the convex `clip`: Sutherland and Hodgman's algorithm, an edge at a time.
template <typename T> T common_area(std::vector<Point<T>> polygon, std::vector<Point<T>> clip) {
    if (signed_area(clip) < 0) std::reverse(clip.begin(), clip.end());
    for (size_t edge = 0; edge < clip.size() && !polygon.empty(); edge++) {
        const Point<T> &from = clip[edge], &to = clip[(edge + 1) % clip.size()];
        std::vector<Point<T>> inside;
        for (size_t i = 0; i < polygon.size(); i++) {
            const Point<T> &a = polygon[i], &b = polygon[(i + 1) % polygon.size()];
            const T side_a = cross(from, to, a), side_b = cross(from, to, b);
            if (side_a >= 0) inside.push_back(a);
            if ((side_a > 0 && side_b < 0) || (side_a < 0 && side_b > 0)) {
                const T part = side_a / (side_a - side_b);
                inside.push_back({a.x + part * (b.x - a.x), a.y + part * (b.y - a.y)});
            }
        }
        polygon.swap(inside);
    }
    return std::abs(signed_area(polygon));
}

}  // namespace

// The IoU of each of (n, 5) boxes with each of (m, 5): centre x and y, width, height, angle in degrees.
template <typename T> tt_tensor *box_iou_rotated(const tt_tensor *boxes1, const tt_tensor *boxes2) {
    const int64_t shape[2] = {boxes1->shape[0], boxes2->shape[0]};
    tt_tensor *result = tt_empty(boxes1->dtype, 2, shape);
    if (result == nullptr) return nullptr;
    T *out = static_cast<T *>(result->data);
    for (int64_t i = 0; i < shape[0]; i++) {
        for (int64_t j = 0; j < shape[1]; j++) {
            const T *a = static_cast<const T *>(boxes1->data) + 5 * i, *b = static_cast<const T *>(boxes2->data) + 5 * j;
            const T area_a = a[2] * a[3], area_b = b[2] * b[3];
            T iou = 0;
            if (area_a >= T(1e-14) && area_b >= T(1e-14)) {
                // Far from the origin the products of coordinates would lose digits.
                const T x = (a[0] + b[0]) / 2, y = (a[1] + b[1]) / 2;
                const T common = common_area(corners(a, x, y), corners(b, x, y));
                iou = common / (area_a + area_b - common);
            }
            out[i * shape[1] + j] = iou;
        }
    }
    return result;
}

"""The operators on boxes and regions once more, in NumPy and as slow as they are plain."""

from __future__ import annotations

import math

import numpy as np


def nms(boxes, scores, threshold):
    def area(box):
        return (box[2] - box[0]) * (box[3] - box[1])

    kept = []
    for i in np.argsort(-scores, kind="stable"):
        for j in kept:
            width = min(boxes[i, 2], boxes[j, 2]) - max(boxes[i, 0], boxes[j, 0])
            height = min(boxes[i, 3], boxes[j, 3]) - max(boxes[i, 1], boxes[j, 1])
            common = max(width, 0) * max(height, 0)
            if common / (area(boxes[i]) + area(boxes[j]) - common) > threshold:
                break
        else:
            kept.append(i)
    return np.array(kept, np.int64)


def bilinear(plane, y, x):
    """Return a sample; up to one element outside, the border is repeated."""
    height, width = plane.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = min(int(y), height - 1), min(int(x), width - 1)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    above = plane[top, left] * (1 - (x - left)) + plane[top, right] * (x - left)
    below = plane[bottom, left] * (1 - (x - left)) + plane[bottom, right] * (x - left)
    return above * (1 - (y - top)) + below * (y - top)


def zero_padded(plane, y, x):
    """Return a sample; outside there are zeros."""
    height, width = plane.shape
    total = 0.0
    for row in (math.floor(y), math.floor(y) + 1):
        for column in (math.floor(x), math.floor(x) + 1):
            if 0 <= row < height and 0 <= column < width:
                total += plane[row, column] * (1 - abs(y - row)) * (1 - abs(x - column))
    return total


def _bins(rois, channels, pooled_height, pooled_width):
    for r in range(len(rois)):
        for c in range(channels):
            for ph in range(pooled_height):
                for pw in range(pooled_width):
                    yield r, c, ph, pw


def roi_align(images, rois, scale, pooled_height, pooled_width, sampling_ratio, aligned, sensitive=False):
    outputs = images.shape[1] // (pooled_height * pooled_width if sensitive else 1)
    result = np.zeros((len(rois), outputs, pooled_height, pooled_width))
    for r, c, ph, pw in _bins(rois, outputs, pooled_height, pooled_width):
        offset = 0.5 if aligned else 0.0
        x1, y1, x2, y2 = rois[r, 1:] * scale - offset
        width, height = x2 - x1, y2 - y1
        if not aligned:
            width, height = max(width, 1), max(height, 1)
        rows = sampling_ratio if sampling_ratio > 0 else math.ceil(height / pooled_height)
        columns = sampling_ratio if sampling_ratio > 0 else math.ceil(width / pooled_width)
        channel = (c * pooled_height + ph) * pooled_width + pw if sensitive else c
        samples = [
            bilinear(
                images[int(rois[r, 0]), channel],
                y1 + (ph + (i + 0.5) / rows) * height / pooled_height,
                x1 + (pw + (j + 0.5) / columns) * width / pooled_width,
            )
            for i in range(rows)
            for j in range(columns)
        ]
        result[r, c, ph, pw] = sum(samples) / max(len(samples), 1)
    return result


def ps_roi_align(images, rois, scale, pooled_height, pooled_width, sampling_ratio):
    return roi_align(images, rois, scale, pooled_height, pooled_width, sampling_ratio, True, sensitive=True)


def _cells(roi, scale, last, ph, pw, pooled_height, pooled_width):
    """Return the elements of a bin as two slices without bounds."""
    x1, y1, x2, y2 = (math.floor(abs(v) + 0.5) * (1 if v >= 0 else -1) for v in roi[1:] * scale)
    width, height = max(x2 - x1 + last, 1), max(y2 - y1 + last, 1)
    top, bottom = (
        y1 + math.floor(ph * height / pooled_height),
        y1 + math.ceil((ph + 1) * height / pooled_height),
    )
    left, right = x1 + math.floor(pw * width / pooled_width), x1 + math.ceil((pw + 1) * width / pooled_width)
    return top, bottom, left, right


def roi_pool(images, rois, scale, pooled_height, pooled_width):
    values = np.zeros((len(rois), images.shape[1], pooled_height, pooled_width))
    indices = np.full(values.shape, -1)
    height, width = images.shape[2:]
    for r, c, ph, pw in _bins(rois, images.shape[1], pooled_height, pooled_width):
        top, bottom, left, right = _cells(rois[r], scale, 1, ph, pw, pooled_height, pooled_width)
        plane = images[int(rois[r, 0]), c]
        inside = [
            (plane[y, x], y * width + x)
            for y in range(max(top, 0), min(bottom, height))
            for x in range(max(left, 0), min(right, width))
        ]
        if inside:
            values[r, c, ph, pw], indices[r, c, ph, pw] = max(inside, key=lambda pair: pair[0])
    return values, indices


def ps_roi_pool(images, rois, scale, pooled_height, pooled_width):
    outputs = images.shape[1] // (pooled_height * pooled_width)
    result = np.zeros((len(rois), outputs, pooled_height, pooled_width))
    height, width = images.shape[2:]
    for r, c, ph, pw in _bins(rois, outputs, pooled_height, pooled_width):
        top, bottom, left, right = _cells(rois[r], scale, 0, ph, pw, pooled_height, pooled_width)
        plane = images[int(rois[r, 0]), (c * pooled_height + ph) * pooled_width + pw]
        # The last row and column are never read, as in torchvision.
        bins = plane[
            min(max(top, 0), height - 1) : min(max(bottom, 0), height - 1),
            min(max(left, 0), width - 1) : min(max(right, 0), width - 1),
        ]
        result[r, c, ph, pw] = bins.mean() if bins.size else 0
    return result


def deform_conv2d(images, weight, offset, mask, bias, stride, pad, dilation, groups, offset_groups):
    batch, channels, *_ = images.shape
    outputs, per_group, kernel_height, kernel_width = weight.shape
    height, width = offset.shape[2:]
    result = np.zeros((batch, outputs, height, width)) + bias[:, None, None]
    taps = kernel_height * kernel_width
    for n in range(batch):
        for out in range(outputs):
            for y in range(height):
                for x in range(width):
                    for c in range(per_group):
                        channel = out // (outputs // groups) * per_group + c
                        group = channel // (channels // offset_groups)
                        for tap in range(taps):
                            i, j = divmod(tap, kernel_width)
                            at = group * taps + tap
                            value = zero_padded(
                                images[n, channel],
                                y * stride[0] - pad[0] + i * dilation[0] + offset[n, 2 * at, y, x],
                                x * stride[1] - pad[1] + j * dilation[1] + offset[n, 2 * at + 1, y, x],
                            )
                            share = 1.0 if mask is None else mask[n, at, y, x]
                            result[n, out, y, x] += weight[out, c, i, j] * value * share
    return result

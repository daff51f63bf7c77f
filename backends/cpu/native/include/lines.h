/* Kernels that turn lines into lines: softmax, scans, normalisation.  See Note [Lines] in rows.h. */
#ifndef TT_LINES_H
#define TT_LINES_H

#include "rows.h"

enum {
    LINES_MOST = 4,    /* arrays */
    LINES_TILE = 16,   /* lines that are read together where neighbours lie in other lines */
    LINES_WIDTH = 256, /* columns side by side */
    LINES_BUFFER = 1 << 16
};

typedef struct {
    int64_t size;
    npy_intp stride[LINES_MOST];
} lines_axis;

/* All lines are in the compute type of the dtype of their array. */
typedef void (*lines_line)(char *const *data, int64_t n, const void *params);
/* `width` lines side by side; neighbours of a line are stride[k] bytes apart. */
typedef void (*lines_columns)(char *const *data, const npy_intp *stride, int64_t n, int64_t width, const void *params);

typedef struct {
    int inputs, arrays; /* the inputs come first */
    char *data[LINES_MOST];
    npy_intp step[LINES_MOST]; /* along a line */
    tt_dtype type[LINES_MOST];
    int axes;
    lines_axis axis[NPY_MAXDIMS];
    int64_t n, count;
    lines_line line;
    lines_columns columns; /* may be NULL */
    const void *params;
    int side_by_side;
    int64_t width, blocks;
    int failed;
} lines_plan;

static void lines_prepare(lines_plan *p, PyArrayObject *const *arrays, int inputs, int count, int dim)
{
    int ndim = PyArray_NDIM(arrays[0]);
    p->inputs = inputs;
    p->arrays = count;
    p->n = ndim ? PyArray_DIM(arrays[0], dim) : 1;
    p->count = 1;
    p->axes = 0;
    p->failed = 0;
    for (int k = 0; k < count; k++) {
        p->data[k] = PyArray_BYTES(arrays[k]);
        p->type[k] = tt_dtype_of(arrays[k]);
        p->step[k] = ndim ? PyArray_STRIDE(arrays[k], dim) : PyArray_ITEMSIZE(arrays[k]);
    }
    for (int d = ndim - 1; d >= 0; d--) {
        lines_axis axis = {PyArray_DIM(arrays[0], d), {0}};
        if (d == dim) continue;
        p->count *= axis.size;
        if (axis.size == 1) continue;
        for (int k = 0; k < count; k++) axis.stride[k] = PyArray_STRIDE(arrays[k], d);
        int at = p->axes++;
        for (; at > 0 && labs(p->axis[at - 1].stride[0]) < labs(axis.stride[0]); at--) p->axis[at] = p->axis[at - 1];
        p->axis[at] = axis;
    }
    int last = 0;
    for (int i = 1; i < p->axes; i++) {
        int joined = 1;
        for (int k = 0; k < count; k++) joined &= p->axis[last].stride[k] == p->axis[i].stride[k] * p->axis[i].size;
        if (joined) {
            int64_t size = p->axis[last].size * p->axis[i].size;
            p->axis[last] = p->axis[i];
            p->axis[last].size = size;
        } else
            p->axis[++last] = p->axis[i];
    }
    p->axes = p->axes ? last + 1 : 0;
}

static void lines_at(const lines_plan *p, int axes, int64_t index, char **data)
{
    for (int k = 0; k < p->arrays; k++) data[k] = p->data[k];
    for (int i = axes - 1; i >= 0; i--) {
        int64_t size = p->axis[i].size, next = i ? index / size : 0, at = index - next * size;
        for (int k = 0; k < p->arrays; k++) data[k] += at * p->axis[i].stride[k];
        index = next;
    }
}

static void lines_direct(int64_t begin, int64_t end, void *context)
{
    const lines_plan *p = context;
    char *data[LINES_MOST];
    for (int64_t i = begin; i < end; i++) {
        lines_at(p, p->axes, i, data);
        p->line(data, p->n, p->params);
    }
}

static void lines_side_by_side(int64_t begin, int64_t end, void *context)
{
    const lines_plan *p = context;
    const lines_axis *inner = &p->axis[p->axes - 1];
    char *data[LINES_MOST];
    for (int64_t i = begin; i < end; i++) {
        int64_t row = i / p->blocks, first = (i - row * p->blocks) * p->width;
        lines_at(p, p->axes - 1, row, data);
        for (int k = 0; k < p->arrays; k++) data[k] += first * inner->stride[k];
        p->columns(data, p->step, p->n, inner->size - first < p->width ? inner->size - first : p->width, p->params);
    }
}

/* Copies `lines` lines of n elements of 4 or 8 bytes, the neighbours of each first: those that lie together are one line of the
 * cache.  Steps are in bytes. */
static void lines_turn(const char *from, npy_intp from_line, npy_intp from_step, char *to, npy_intp to_line, npy_intp to_step,
                       int64_t lines, int64_t n, size_t size)
{
    if (size == 4) {
        for (int64_t i = 0; i < n; i++)
            for (int64_t t = 0; t < lines; t++) memcpy(to + i * to_step + t * to_line, from + i * from_step + t * from_line, 4);
    } else {
        for (int64_t i = 0; i < n; i++)
            for (int64_t t = 0; t < lines; t++) memcpy(to + i * to_step + t * to_line, from + i * from_step + t * from_line, 8);
    }
}

/* Moves lines of an array into a buffer, where they are `pitch` elements apart, or out of it. */
static void lines_move(const lines_plan *p, int k, char *data, int64_t now, char *line, int64_t pitch, int out)
{
    npy_intp across = p->axes ? p->axis[p->axes - 1].stride[k] : 0, step = p->step[k];
    size_t size = rows_compute_size(rows_compute_of(p->type[k]));
    if (rows_is_native(p->type[k]) && across == (npy_intp)size && step != across) {
        if (out)
            lines_turn(line, pitch * size, size, data, across, step, now, p->n, size);
        else
            lines_turn(data, across, step, line, pitch * size, size, now, p->n, size);
        return;
    }
    for (int64_t part = 0; part < p->n; part += 256) /* so that a tile is read while it is in the cache */
        for (int64_t t = 0; t < now; t++) {
            int64_t length = p->n - part < 256 ? p->n - part : 256;
            char *there = data + t * across + part * step, *here = line + (t * pitch + part) * size;
            if (out)
                rows_write(p->type[k], there, step, length, here);
            else
                rows_read(p->type[k], there, step, length, here);
        }
}

/* Reads lines into buffers, some neighbours together, and writes the results from them. */
static void lines_buffered(int64_t begin, int64_t end, void *context)
{
    lines_plan *p = context;
    int64_t inner = p->axes ? p->axis[p->axes - 1].size : 1;
    int64_t tile = LINES_BUFFER / (p->n + 1);
    tile = tile < 1 ? 1 : tile > LINES_TILE ? LINES_TILE : tile;
    int64_t pitch = p->n + 8; /* equal places of lines of 2^k elements would share few lines of the cache */
    char *buffer = malloc((size_t)(pitch * tile * p->arrays) * 8), *data[LINES_MOST], *line[LINES_MOST];
    if (!buffer) {
        p->failed = 1;
        return;
    }
    for (int64_t i = begin; i < end;) {
        int64_t at = i % inner, now = inner - at < end - i ? inner - at : end - i;
        now = now < tile ? now : tile;
        lines_at(p, p->axes, i, data);
        for (int k = 0; k < p->arrays; k++) line[k] = buffer + k * tile * pitch * 8;
        for (int k = 0; k < p->inputs; k++) lines_move(p, k, data[k], now, line[k], pitch, 0);
        for (int64_t t = 0; t < now; t++) {
            char *one[LINES_MOST];
            for (int k = 0; k < p->arrays; k++) one[k] = line[k] + t * pitch * rows_compute_size(rows_compute_of(p->type[k]));
            p->line(one, p->n, p->params);
        }
        for (int k = p->inputs; k < p->arrays; k++) lines_move(p, k, data[k], now, line[k], pitch, 1);
        i += now;
    }
    free(buffer);
}

/* Runs a plan; -1 with an error set. */
static int lines_run(lines_plan *p)
{
    if (!p->count || !p->n) return 0;
    int native = 1, along = 1, across = p->axes > 0 && p->columns;
    for (int k = 0; k < p->arrays; k++) {
        npy_intp item = tt_sizes[p->type[k]];
        native &= rows_is_native(p->type[k]);
        along &= p->step[k] == item || p->n == 1;
        across &= p->axes > 0 && p->axis[p->axes - 1].stride[k] == item;
    }
    int64_t tasks = p->count, each = p->n;
    tt_body body = lines_buffered;
    if (native && along)
        body = lines_direct;
    else if (native && across) {
        int64_t size = p->axis[p->axes - 1].size, outer = p->count / size;
        p->width = size < LINES_WIDTH ? size : LINES_WIDTH;
        while (p->width > 16 && (size + p->width - 1) / p->width * outer < 8 && p->n * size >= ROWS_PARALLEL) p->width /= 2;
        p->blocks = (size + p->width - 1) / p->width;
        tasks = outer * p->blocks;
        each = p->n * p->width;
        body = lines_side_by_side;
    }
    ROWS_RELEASED(p->count * p->n, tt_parallel_for(0, tasks, ROWS_PARALLEL / (2 * each) + 1, body, p));
    if (p->failed) PyErr_NoMemory();
    return p->failed ? -1 : 0;
}

#endif

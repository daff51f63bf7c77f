/* Reductions over any dimensions: one plan of how to walk the memory, and accumulators that each reduction defines.

   Note [How a reduction walks the memory]
   Dimensions that are kept and those that are reduced are each ordered by stride and merged where they lie one after the
   other.  If the innermost dimension is reduced, lines of it are accumulated by `row`, which keeps many partial results
   side by side.  If it is kept, whole rows are accumulated into as many accumulators by `columns`; rows of a few elements
   count as one longer row as far as they lie one after the other.  Pieces are of fixed size, whatever the number of
   threads, and their results are combined in order: the same input gives the same bits on one thread and on many.
*/
#ifndef TT_REDUCE_H
#define TT_REDUCE_H

#include "rows.h"
#include "short_sums.h"

enum {
    REDUCE_PIECE = 4096, /* elements of a line that `row` gets at once */
    REDUCE_ROWS = 64,    /* rows that `columns` gets at once */
    REDUCE_WIDTH = 512,  /* accumulators side by side */
    REDUCE_BUFFER = 4096,
    REDUCE_SHORT = 2048, /* elements of lines that are converted together */
    REDUCE_NARROW = 16,
    REDUCE_PARTS = 16,
    REDUCE_ACC = 24 /* the largest accumulator in bytes */
};

typedef struct {
    int64_t size;
    npy_intp in, out; /* strides in bytes */
} reduce_axis;

typedef struct {
    size_t acc;        /* bytes of an accumulator */
    int ordered;       /* needs the places of the elements along the only reduced dimension */
    void (*start)(char *acc, int64_t count);
    void (*row)(char *acc, const void *x, int64_t n, int64_t at);
    void (*columns)(char *acc, const char *x, npy_intp stride, int64_t rows, int64_t width, int64_t at);
    void (*merge)(char *acc, const char *other, int64_t count);
    void (*finish)(const char *acc, void *out, void *out2, int64_t count, double fact);
    /* As `columns`, of rows in half precision without gaps; may be NULL: then they are converted into a buffer first. */
    void (*half_columns)(char *acc, const char *x, npy_intp stride, int64_t rows, int64_t width, tt_dtype type);
    /* As `row`, of elements in half precision; may be NULL: then they are converted into a buffer first. */
    void (*half_row)(char *acc, const char *x, int64_t n, tt_dtype type);
} reducer;

typedef struct {
    const reducer *how;
    tt_dtype type, out_type, out2_type;
    const char *data;
    char *out, *out2;
    npy_intp out_size, out2_size;
    double fact;
    int kept, reduced;
    reduce_axis keep[NPY_MAXDIMS], drop[NPY_MAXDIMS];
    int64_t kept_count, reduced_count;
    int by_columns;
    int64_t line;     /* elements along the innermost reduced dimension (or rows, by columns) */
    int64_t pieces;   /* of a line */
    int64_t units;    /* pieces of all lines that go into one result */
    int64_t tasks;    /* results, or blocks of columns */
    int64_t width, blocks; /* by columns: columns of a block, blocks of a row */
    int64_t parts;    /* in which the units of one task are shared */
    char *partial;
} reduce_plan;

/* --- plans ------------------------------------------------------------------------------------------------------- */

TT_INLINE npy_intp reduce_magnitude(npy_intp stride) { return stride < 0 ? -stride : stride; }

static void reduce_insert(reduce_axis *axes, int *count, reduce_axis axis)
{
    int at = (*count)++;
    while (at > 0 && reduce_magnitude(axes[at - 1].in) < reduce_magnitude(axis.in)) {
        axes[at] = axes[at - 1];
        at--;
    }
    axes[at] = axis;
}

static int reduce_merge_axes(reduce_axis *axes, int count)
{
    int last = 0;
    if (!count) return 0;
    for (int i = 1; i < count; i++) {
        if (axes[last].in == axes[i].in * axes[i].size && axes[last].out == axes[i].out * axes[i].size) {
            axes[last].size *= axes[i].size;
            axes[last].in = axes[i].in;
            axes[last].out = axes[i].out;
        } else
            axes[++last] = axes[i];
    }
    return last + 1;
}

/* Splits the dimensions; the result is row-major. */
static void reduce_prepare(reduce_plan *p, const reducer *how, PyArrayObject *x, const unsigned char *marked, size_t out_size)
{
    int ndim = PyArray_NDIM(x);
    const npy_intp *shape = PyArray_SHAPE(x), *strides = PyArray_STRIDES(x);
    npy_intp out_stride = (npy_intp)out_size;
    p->how = how;
    p->type = tt_dtype_of(x);
    p->data = PyArray_BYTES(x);
    p->kept = p->reduced = 0;
    p->kept_count = p->reduced_count = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        reduce_axis axis = {shape[d], strides[d], 0};
        if (marked[d]) {
            p->reduced_count *= axis.size;
            if (axis.size == 1) continue;
            if (axis.in < 0 && !how->ordered && axis.size) {
                p->data += axis.in * (axis.size - 1);
                axis.in = -axis.in;
            }
            reduce_insert(p->drop, &p->reduced, axis);
        } else {
            p->kept_count *= axis.size;
            axis.out = out_stride;
            out_stride *= axis.size;
            if (axis.size == 1) continue;
            reduce_insert(p->keep, &p->kept, axis);
        }
    }
    p->kept = reduce_merge_axes(p->keep, p->kept);
    p->reduced = reduce_merge_axes(p->drop, p->reduced);
}

/* Decides how to walk. */
static void reduce_decide(reduce_plan *p)
{
    int64_t outer = 1;
    for (int i = 0; i + 1 < p->reduced; i++) outer *= p->drop[i].size;
    p->line = p->reduced ? p->drop[p->reduced - 1].size : 1;
    p->by_columns = 0;
    if (p->kept && p->reduced) {
        const reduce_axis *k = &p->keep[p->kept - 1], *r = &p->drop[p->reduced - 1];
        p->by_columns = reduce_magnitude(k->in) < reduce_magnitude(r->in) || (r->size <= 8 && k->size >= 64);
    } else if (p->kept && !p->reduced)
        p->by_columns = 1;
    if (p->by_columns) {
        int64_t columns = p->keep[p->kept - 1].size;
        p->blocks = (columns + REDUCE_WIDTH - 1) / REDUCE_WIDTH;
        p->width = (columns + p->blocks - 1) / p->blocks;
        p->width = p->blocks > 1 ? (p->width + 15) / 16 * 16 : p->width;
        p->blocks = (columns + p->width - 1) / p->width;
        p->tasks = p->kept_count / columns * p->blocks;
        int64_t rows = REDUCE_ROWS;
        if (p->width < REDUCE_NARROW) rows = REDUCE_ROWS * (REDUCE_WIDTH / p->width);
        p->pieces = (p->line + rows - 1) / rows;
    } else {
        p->width = p->blocks = 1;
        p->tasks = p->kept_count;
        p->pieces = (p->line + REDUCE_PIECE - 1) / REDUCE_PIECE;
    }
    p->units = outer * p->pieces;
    p->parts = 1;
    int64_t elements = p->kept_count * p->reduced_count;
    if (p->tasks < 8 && elements >= 2 * ROWS_PARALLEL) {
        int64_t most = elements / ROWS_PARALLEL;
        p->parts = p->units < REDUCE_PARTS ? p->units : REDUCE_PARTS;
        p->parts = p->parts < most ? p->parts : most;
    }
}

/* --- walking ----------------------------------------------------------------------------------------------------- */

/* Returns the offset of a line or row: of the piece's place among the outer reduced dimensions. */
TT_INLINE npy_intp reduce_offset(const reduce_axis *axes, int count, int64_t index, npy_intp *out)
{
    npy_intp in = 0, o = 0;
    for (int i = count - 1; i >= 0; i--) {
        int64_t size = axes[i].size, next = i ? index / size : 0, at = index - next * size;
        in += at * axes[i].in;
        o += at * axes[i].out;
        index = next;
    }
    if (out) *out = o;
    return in;
}

static void reduce_lines(const reduce_plan *p, const char *data, int64_t begin, int64_t end, char *acc)
{
    union { double d[REDUCE_BUFFER]; } buffer;
    npy_intp stride = p->reduced ? p->drop[p->reduced - 1].in : 0;
    npy_intp item = (npy_intp)rows_compute_size(rows_compute_of(p->type));
    int direct = rows_is_native(p->type) && (stride == item || p->line == 1);
    int halves = tt_is_half(p->type) && stride == 2 && p->how->half_row;
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t line = p->pieces == 1 ? unit : unit / p->pieces, at = (unit - line * p->pieces) * REDUCE_PIECE;
        int64_t n = p->line - at < REDUCE_PIECE ? p->line - at : REDUCE_PIECE;
        const char *from = data + reduce_offset(p->drop, p->reduced - 1, line, NULL) + at * stride;
        if (direct)
            p->how->row(acc, from, n, at);
        else if (halves)
            p->how->half_row(acc, from, n, p->type);
        else {
            rows_read(p->type, from, stride, n, buffer.d);
            p->how->row(acc, buffer.d, n, at);
        }
    }
}

static void reduce_columns(const reduce_plan *p, const char *data, int64_t width, int64_t begin, int64_t end, char *acc)
{
    union { double d[REDUCE_BUFFER]; } buffer;
    char folded[REDUCE_WIDTH * REDUCE_ACC];
    npy_intp step = p->keep[p->kept - 1].in, stride = p->reduced ? p->drop[p->reduced - 1].in : 0;
    npy_intp item = (npy_intp)rows_compute_size(rows_compute_of(p->type)), raw = step < 0 ? -step : step;
    int native = rows_is_native(p->type), direct = native && (step == item || width == 1);
    int narrow = p->width < REDUCE_NARROW, halves = !narrow && step == 2 && p->how->half_columns && tt_is_half(p->type);
    int64_t most = narrow ? REDUCE_ROWS * (REDUCE_WIDTH / p->width) : REDUCE_ROWS;
    /* Rows that lie one after the other without a gap can be read as one. */
    int together = narrow && stride == raw * width && step > 0 && width == p->width && p->blocks == 1 && !p->how->ordered;
    int64_t fold = together ? REDUCE_WIDTH / width : 1;
    int used = 0;
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t line = p->pieces == 1 ? unit : unit / p->pieces, at = (unit - line * p->pieces) * most;
        int64_t rows = p->line - at < most ? p->line - at : most;
        const char *from = data + reduce_offset(p->drop, p->reduced - 1, line, NULL) + at * stride;
        if (together && rows >= fold) {
            int64_t wide = width * fold;
            if (!used) p->how->start(folded, wide);
            used = 1;
            int64_t whole = rows / fold, left = whole;
            while (left > 0) {
                int64_t now = left;
                if (direct)
                    p->how->columns(folded, from, wide * item, now, wide, at);
                else {
                    now = left < REDUCE_BUFFER / wide ? left : REDUCE_BUFFER / wide;
                    rows_read(p->type, from, step, wide * now, buffer.d);
                    p->how->columns(folded, (const char *)buffer.d, wide * item, now, wide, at);
                }
                from += now * wide * step;
                left -= now;
            }
            rows -= whole * fold;
            at += whole * fold;
        }
        if (direct && rows)
            p->how->columns(acc, from, stride, rows, width, at);
        else if (halves && rows)
            p->how->half_columns(acc, from, stride, rows, width, p->type);
        else
            while (rows > 0) {
                int64_t room = (int64_t)sizeof buffer / (width * item), now = rows < room ? rows : room;
                for (int64_t r = 0; r < now; r++)
                    rows_read(p->type, from + r * stride, step, width, (char *)buffer.d + r * width * item);
                p->how->columns(acc, (const char *)buffer.d, width * item, now, width, at);
                from += now * stride;
                rows -= now;
                at += now;
            }
    }
    if (used)
        for (int64_t i = 0; i < fold; i++) p->how->merge(acc, folded + (size_t)(i * width) * p->how->acc, width);
}

/* Returns where the data of a task begin, and how many columns it has. */
static const char *reduce_task(const reduce_plan *p, int64_t task, int64_t *width, npy_intp *out)
{
    if (!p->by_columns) {
        *width = 1;
        return p->data + reduce_offset(p->keep, p->kept, task, out);
    }
    int64_t row = task / p->blocks, block = task - row * p->blocks, first = block * p->width;
    const reduce_axis *inner = &p->keep[p->kept - 1];
    *width = inner->size - first < p->width ? inner->size - first : p->width;
    const char *data = p->data + reduce_offset(p->keep, p->kept - 1, row, out) + first * inner->in;
    *out += first * inner->out;
    return data;
}

static void reduce_store(const reduce_plan *p, const char *acc, npy_intp out, npy_intp stride, int64_t count)
{
    double one[REDUCE_WIDTH], two[REDUCE_WIDTH];
    p->how->finish(acc, one, two, count, p->fact);
    rows_write(p->out_type, p->out + out, stride, count, one);
    if (p->out2) {
        npy_intp size = p->out_size, size2 = p->out2_size;
        rows_write(p->out2_type, p->out2 + out / size * size2, stride / size * size2, count, two);
    }
}

/* Accumulates short lines of half precision; those that lie one after the other are converted together. */
static void reduce_short_halves(const reduce_plan *p, const char *data, npy_intp step, int64_t count, char *acc)
{
    float buffer[REDUCE_SHORT];
    int64_t line = p->line, most = line > 0 && step == 2 * line ? REDUCE_SHORT / line : 1;
    for (int64_t first = 0; first < count; first += most) {
        int64_t now = count - first < most ? count - first : most;
        rows_read_f32(p->type, data + first * step, 2, now * line, buffer);
        for (int64_t i = 0; i < now; i++) p->how->row(acc + (size_t)(first + i) * p->how->acc, buffer + i * line, line, 0);
    }
}

static void reduce_some(int64_t begin, int64_t end, void *context)
{
    const reduce_plan *p = context;
    char acc[REDUCE_WIDTH * REDUCE_ACC];
    if (!p->by_columns) {
        /* Results that lie one after the other are stored together. */
        int64_t inner = p->kept ? p->keep[p->kept - 1].size : 1;
        npy_intp in_step = p->kept ? p->keep[p->kept - 1].in : 0, out_step = p->kept ? p->keep[p->kept - 1].out : 0;
        /* Lines of one piece that need no buffer go the short way. */
        int lines = p->reduced >= 1 && rows_is_native(p->type) && p->drop[p->reduced - 1].in == tt_sizes[p->type];
        int plain = p->units == 1 && p->reduced == 1 && lines;
        int halves = p->units == 1 && p->reduced == 1 && tt_is_half(p->type) && p->drop[0].in == 2;
        /* Several lines of each of several results: in the order of memory. */
        int across = p->pieces == 1 && p->reduced > 1 && reduce_magnitude(in_step) < reduce_magnitude(p->drop[p->reduced - 2].in);
        for (int64_t task = begin; task < end;) {
            npy_intp out = 0;
            int64_t at = task % inner, now = inner - at < end - task ? inner - at : end - task;
            now = now < 64 ? now : 64;
            const char *data = p->data + reduce_offset(p->keep, p->kept, task, &out);
            p->how->start(acc, now);
            if (plain)
                for (int64_t i = 0; i < now; i++) p->how->row(acc + (size_t)i * p->how->acc, data + i * in_step, p->line, 0);
            else if (halves && p->how->half_row && p->line >= 8)
                for (int64_t i = 0; i < now; i++) p->how->half_row(acc + (size_t)i * p->how->acc, data + i * in_step, p->line, p->type);
            else if (halves && p->line <= REDUCE_SHORT)
                reduce_short_halves(p, data, in_step, now, acc);
            else if (across && lines)
                for (int64_t unit = 0; unit < p->units; unit++) {
                    const char *from = data + reduce_offset(p->drop, p->reduced - 1, unit, NULL);
                    for (int64_t i = 0; i < now; i++) p->how->row(acc + (size_t)i * p->how->acc, from + i * in_step, p->line, 0);
                }
            else
                for (int64_t unit = 0; unit < p->units; unit = across ? unit + 1 : p->units)
                    for (int64_t i = 0; i < now; i++)
                        reduce_lines(p, data + i * in_step, unit, across ? unit + 1 : p->units, acc + (size_t)i * p->how->acc);
            reduce_store(p, acc, out, out_step, now);
            task += now;
        }
        return;
    }
    for (int64_t task = begin; task < end; task++) {
        npy_intp out = 0;
        int64_t width;
        const char *data = reduce_task(p, task, &width, &out);
        p->how->start(acc, width);
        reduce_columns(p, data, width, 0, p->units, acc);
        reduce_store(p, acc, out, p->keep[p->kept - 1].out, width);
    }
}

static void reduce_part(int64_t begin, int64_t end, void *context)
{
    const reduce_plan *p = context;
    for (int64_t i = begin; i < end; i++) {
        int64_t task = i / p->parts, part = i - task * p->parts, width;
        int64_t first = p->units * part / p->parts, last = p->units * (part + 1) / p->parts;
        npy_intp out = 0;
        const char *data = reduce_task(p, task, &width, &out);
        char *acc = p->partial + (size_t)(i * p->width) * p->how->acc;
        p->how->start(acc, width);
        if (p->by_columns)
            reduce_columns(p, data, width, first, last, acc);
        else
            reduce_lines(p, data, first, last, acc);
    }
}

/* Runs a plan whose results have been set; -1 where there is no memory (without an error set: the GIL may be released). */
static int reduce_walk(reduce_plan *p)
{
    if (p->parts > 1) {
        p->partial = malloc((size_t)(p->tasks * p->parts * p->width) * p->how->acc);
        if (!p->partial) return -1;
        tt_parallel_for(0, p->tasks * p->parts, 1, reduce_part, p);
        for (int64_t task = 0; task < p->tasks; task++) {
            npy_intp out = 0;
            int64_t width;
            reduce_task(p, task, &width, &out);
            char *acc = p->partial + (size_t)(task * p->parts * p->width) * p->how->acc;
            for (int64_t part = 1; part < p->parts; part++)
                p->how->merge(acc, acc + (size_t)(part * p->width) * p->how->acc, width);
            reduce_store(p, acc, out, p->by_columns ? p->keep[p->kept - 1].out : 0, width);
        }
        free(p->partial);
        return 0;
    }
    int64_t each = p->reduced_count * (p->by_columns ? p->width : 1);
    int64_t grain = each > 0 ? ROWS_PARALLEL / each + 1 : ROWS_PARALLEL;
    tt_parallel_for(0, p->tasks, grain, reduce_some, p);
    return 0;
}

/* --- calls ------------------------------------------------------------------------------------------------------- */

/* Returns a new array in the shape of the results. */
static PyArrayObject *reduce_result(PyArrayObject *x, const unsigned char *marked, int keepdim, int type)
{
    npy_intp shape[NPY_MAXDIMS];
    int ndim = 0;
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        if (!marked[d])
            shape[ndim++] = PyArray_DIM(x, d);
        else if (keepdim)
            shape[ndim++] = 1;
    }
    return rows_new(ndim, shape, type);
}

/* Fills row-major arrays with the results of a reduction; -1 with an error set. */
static int reduce_into(const reducer *how, PyArrayObject *x, const unsigned char *marked, double fact, PyArrayObject *out, PyArrayObject *out2)
{
    reduce_plan p;
    int status = 0;
    p.out_type = tt_dtype_of(out);
    p.out = PyArray_BYTES(out);
    p.out2 = out2 ? PyArray_BYTES(out2) : NULL;
    p.out2_type = out2 ? tt_dtype_of(out2) : TT_NONE;
    p.out_size = (npy_intp)PyArray_ITEMSIZE(out);
    p.out2_size = out2 ? (npy_intp)PyArray_ITEMSIZE(out2) : 0;
    p.fact = fact;
    reduce_prepare(&p, how, x, marked, (size_t)PyArray_ITEMSIZE(out));
    if (!p.kept_count) return 0;
    if (!p.reduced_count) p.reduced = 0;
    reduce_decide(&p);
    if (!p.reduced_count) p.units = 0, p.parts = 1;
    ROWS_RELEASED(p.kept_count * p.reduced_count, status = reduce_walk(&p));
    if (status < 0) PyErr_NoMemory();
    return status;
}

#endif

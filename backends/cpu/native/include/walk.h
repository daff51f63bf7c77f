/* Walks over places that an index names along one axis: what gather, scatter, index_add and advanced indexing share.
 *
 * Three things move together: the data, which an index reaches into; the index, of int64; and the other array, a result or
 * a source.  Along the axis the data does not move by itself (its stride is 0): the index moves it, in steps of
 * `axis_stride`.  An index that is the same for all elements of a dimension has the stride 0 there.  So a vector of places
 * (index_select, index_add) is an index like that of gather, only with strides of 0.
 *
 * Another thread may write to the index meanwhile, and so may this one where the index lies in the data.  So every row reads
 * a place once and checks what it has read, whatever was checked before; kernels that write copy an index that overlaps.
 */
#ifndef TT_WALK_H
#define TT_WALK_H

#include "fallback.h"

typedef struct Walk Walk;

/* One row: n elements, with the steps of data, index and other in bytes. */
typedef void (*tt_row)(Walk *w, char *data, const char *index, char *other, npy_intp n, npy_intp step, npy_intp index_step,
                       npy_intp other_step);

struct Walk {
    int ndim;
    npy_intp size[NPY_MAXDIMS], step[NPY_MAXDIMS], index_step[NPY_MAXDIMS], other_step[NPY_MAXDIMS];
    char *data, *other;
    const char *index;
    npy_intp axis_stride;
    int64_t axis_size, wrap; /* wrap: what is added to negative places, 0 where they are refused */
    npy_intp total;
    tt_row row;
    int split; /* the dimension that threads share */
    const void *extra;
    int wrong; /* set by a row that found a place outside */
};

#define WALK_ROW_BYTES 256 /* of rows, from which on threads share places: each thread looks at all of them */

/* What an index holds, read once. */
TT_INLINE int64_t tt_read_place(const char *index) { return tt_once(*(const int64_t *)index); }

/* The place in the data that an index names, or -1. */
TT_INLINE int64_t tt_place(const Walk *w, int64_t place)
{
    place += place < 0 ? w->wrap : 0;
    return TT_LIKELY((uint64_t)place < (uint64_t)w->axis_size) ? place : -1;
}

/* Leaves dimensions of one element out and makes one of two where all three go on in the same steps. */
static void walk_simplify(Walk *w)
{
    int kept = 0;
    w->total = 1;
    for (int d = 0; d < w->ndim; d++) {
        w->total *= w->size[d];
        if (w->size[d] == 1) continue;
        int last = kept - 1;
        if (last >= 0 && w->step[last] == w->step[d] * w->size[d] &&
            w->index_step[last] == w->index_step[d] * w->size[d] &&
            w->other_step[last] == w->other_step[d] * w->size[d]) {
            w->size[last] *= w->size[d];
        } else {
            last = kept++;
            w->size[last] = w->size[d];
        }
        w->step[last] = w->step[d];
        w->index_step[last] = w->index_step[d];
        w->other_step[last] = w->other_step[d];
    }
    if (kept == 0) {
        w->size[0] = 1;
        w->step[0] = w->index_step[0] = w->other_step[0] = 0;
        kept = 1;
    }
    w->ndim = kept;
}

static void walk_part(int64_t begin, int64_t end, void *context)
{
    Walk *w = context;
    npy_intp at[NPY_MAXDIMS] = {0}, size[NPY_MAXDIMS];
    int inner = w->ndim - 1;
    for (int d = 0; d < w->ndim; d++) size[d] = w->size[d];
    size[w->split] = (npy_intp)(end - begin);
    char *data = w->data + begin * w->step[w->split], *other = w->other + begin * w->other_step[w->split];
    const char *index = w->index + begin * w->index_step[w->split];
    for (;;) {
        w->row(w, data, index, other, size[inner], w->step[inner], w->index_step[inner], w->other_step[inner]);
        int d = inner - 1;
        for (; d >= 0; d--) {
            data += w->step[d];
            index += w->index_step[d];
            other += w->other_step[d];
            if (++at[d] < size[d]) break;
            data -= w->step[d] * size[d];
            index -= w->index_step[d] * size[d];
            other -= w->other_step[d] * size[d];
            at[d] = 0;
        }
        if (d < 0 || w->wrong) return;
    }
}

/* Writes the rows whose places are in [begin, end): threads share the places, and each place is written to in order. */
static void walk_places(int64_t begin, int64_t end, void *context)
{
    Walk *w = context;
    npy_intp at[NPY_MAXDIMS] = {0};
    int inner = w->ndim - 1;
    char *data = w->data, *other = w->other;
    const char *index = w->index;
    for (;;) {
        int64_t place = tt_place(w, tt_read_place(index));
        if (TT_UNLIKELY(place < 0)) w->wrong = 1;
        if (place >= begin && place < end)
            w->row(w, data, (const char *)&place, other, w->size[inner], w->step[inner], 0, w->other_step[inner]);
        int d = inner - 1;
        for (; d >= 0; d--) {
            data += w->step[d];
            index += w->index_step[d];
            other += w->other_step[d];
            if (++at[d] < w->size[d]) break;
            data -= w->step[d] * w->size[d];
            index -= w->index_step[d] * w->size[d];
            other -= w->other_step[d] * w->size[d];
            at[d] = 0;
        }
        if (d < 0) return;
    }
}

/* Runs the rows; `writes` where the data is written to, so that threads may share only a dimension in which it moves. */
static bool walk_run(Walk *w, bool writes)
{
    walk_simplify(w);
    if (w->total == 0) return true;
    int best = -1;
    for (int d = 0; d < w->ndim; d++) {
        if (writes && w->step[d] == 0) continue;
        if (best < 0 || (w->size[best] < 16 && w->size[d] > w->size[best])) best = d;
    }
    int inner = w->ndim - 1;
    int64_t threads = tt_threads->thread_count();
    bool by_place = writes && threads > 1 && inner > 0 && w->index_step[inner] == 0 && w->axis_size >= 4 * threads &&
                    (best < 0 || best == inner) && w->total >= 32768 &&
                    w->size[inner] * llabs(w->step[inner]) >= WALK_ROW_BYTES;
    TT_BEGIN_WORK(w->total)
    if (by_place) {
        tt_parallel_for(0, w->axis_size, w->axis_size / (2 * threads) + 1, walk_places, w);
    } else if (best < 0) {
        w->split = 0;
        walk_part(0, w->size[0], w);
    } else {
        w->split = best;
        int64_t share = w->total / w->size[best];
        int64_t grain = share >= 16384 ? 1 : 16384 / share;
        /* Strips of columns: each passes through all rows, so there are few of them, and of whole lines of the cache. */
        if (writes && best == inner && inner > 0) {
            int64_t strip = (w->size[best] / threads + 63) / 64 * 64;
            grain = grain < strip ? strip : grain;
        }
        tt_parallel_for(0, w->size[best], grain, walk_part, w);
    }
    TT_END_WORK
    return !w->wrong;
}

/* --- setting up ---------------------------------------------------------------------------------------------- */

/* The data without the axis: an index of as many dimensions, whose sizes are those of the walk. */
static void walk_along(Walk *w, PyArrayObject *data, int axis, PyArrayObject *index, PyArrayObject *other)
{
    int ndim = PyArray_NDIM(index);
    w->ndim = ndim > 0 ? ndim : 1;
    w->size[0] = 1;
    w->step[0] = w->index_step[0] = w->other_step[0] = 0;
    for (int d = 0; d < ndim; d++) {
        w->size[d] = PyArray_DIM(index, d);
        w->step[d] = d == axis ? 0 : PyArray_STRIDE(data, d);
        w->index_step[d] = PyArray_STRIDE(index, d);
        w->other_step[d] = other == NULL ? 0 : PyArray_STRIDE(other, d);
    }
    w->data = PyArray_BYTES(data);
    w->index = PyArray_BYTES(index);
    w->other = other == NULL ? NULL : PyArray_BYTES(other);
    w->axis_stride = ndim > 0 ? PyArray_STRIDE(data, axis) : 0;
    w->axis_size = ndim > 0 ? PyArray_DIM(data, axis) : 1;
    w->wrap = 0;
    w->extra = NULL;
    w->wrong = 0;
}

/* The data with a vector of places along the axis: the sizes are those of the other array. */
static void walk_slices(Walk *w, PyArrayObject *data, int axis, PyArrayObject *index, PyArrayObject *other)
{
    int ndim = PyArray_NDIM(data);
    int64_t count = (int64_t)PyArray_SIZE(index);
    npy_intp stride = PyArray_NDIM(index) ? PyArray_STRIDE(index, 0) : 0;
    w->ndim = ndim > 0 ? ndim : 1;
    w->size[0] = 1;
    w->step[0] = w->index_step[0] = w->other_step[0] = 0;
    for (int d = 0; d < ndim; d++) {
        w->size[d] = d == axis ? (npy_intp)count : PyArray_DIM(data, d);
        w->step[d] = d == axis ? 0 : PyArray_STRIDE(data, d);
        w->index_step[d] = d == axis ? stride : 0;
        w->other_step[d] = other == NULL ? 0 : PyArray_STRIDE(other, d);
    }
    w->data = PyArray_BYTES(data);
    w->index = PyArray_BYTES(index);
    w->other = other == NULL ? NULL : PyArray_BYTES(other);
    w->axis_stride = ndim > 0 ? PyArray_STRIDE(data, axis) : 0;
    w->axis_size = ndim > 0 ? PyArray_DIM(data, axis) : 1;
    w->wrap = 0;
    w->extra = NULL;
    w->wrong = 0;
}

/* --- indices ------------------------------------------------------------------------------------------------- */

/* An index as int64: itself, or a copy of one of int32; a new reference, or NULL (without an error: not an index). */
static PyArrayObject *tt_index(PyObject *object)
{
    PyArrayObject *array = tt_plain(object);
    if (array == NULL) return NULL;
    tt_dtype dtype = tt_dtype_of(array);
    if (dtype == TT_I64) {
        Py_INCREF(array);
        return array;
    }
    if (dtype != TT_I32) return NULL;
    PyArrayObject *wide = (PyArrayObject *)PyArray_Cast(array, NPY_INT64);
    if (wide == NULL) PyErr_Clear();
    return wide;
}

/* The same, or a copy where the target of a write overlaps with it: what is written must not change what is read. */
static PyArrayObject *tt_index_of_target(PyArrayObject *target, PyObject *object)
{
    PyArrayObject *index = tt_index(object);
    if (index != NULL && TT_UNLIKELY(tt_may_overlap(target, index))) {
        Py_SETREF(index, (PyArrayObject *)PyArray_NewCopy(index, NPY_KEEPORDER));
        if (index == NULL) PyErr_Clear();
    }
    return index;
}

/* Runs rows that write, at places that walk_inside has found to be inside; false with an error where they no longer are. */
static bool walk_write(Walk *w)
{
    if (TT_LIKELY(walk_run(w, true))) return true;
    return tt_refuse_changed();
}

/* A place, or what it lacks to the last one, is negative if and only if it is outside: vectors need no comparison for that. */
static bool places_fine(const int64_t *places, int64_t count, uint64_t size)
{
    uint64_t outside = 0;
    for (int64_t i = 0; i < count; i++) outside |= (uint64_t)places[i] | (size - 1 - (uint64_t)places[i]);
    return outside >> 63 == 0;
}

static void check_row(Walk *w, char *data, const char *index, char *other, npy_intp n, npy_intp step, npy_intp index_step,
                      npy_intp other_step)
{
    if (index_step == sizeof(int64_t) && w->wrap == 0) {
        if (!places_fine((const int64_t *)index, n, (uint64_t)w->axis_size)) w->wrong = 1;
        return;
    }
    for (npy_intp i = 0; i < (index_step ? n : 1); i++)
        if (tt_place(w, tt_read_place(index + i * index_step)) < 0) w->wrong = 1;
}

/* Whether all places of a walk are inside; asked before anything is written. */
static bool walk_inside(const Walk *walk)
{
    Walk check = *walk;
    for (int d = 0; d < check.ndim; d++) {
        if (check.size[d] == 0) return true;
        if (check.index_step[d] == 0) check.size[d] = 1; /* the same places again */
        check.step[d] = check.other_step[d] = 0;
    }
    for (int d = 0; d < check.ndim; d++) {
        check.step[d] = check.index_step[d];
        check.other_step[d] = check.index_step[d];
    }
    check.row = check_row;
    return walk_run(&check, false);
}

#endif

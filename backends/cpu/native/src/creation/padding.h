/* Elements added before and after the dimensions of an array, row by row: a value, or others of its own. */
#ifndef TT_PADDING_H
#define TT_PADDING_H

#include "fallback.h"
#include "isa.h"
#include "sizes.h"

typedef enum { PAD_VALUE, PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR } padding_mode;

enum { PADDING_KNOWN = 64 };

/* A row holds the elements of the last dimension that grows or shrinks, and of those behind it. */
typedef struct {
    const char *in;
    char *out;
    padding_mode mode;
    size_t item;                 /* bytes that move together: one element of the row's own dimension */
    int outer;                   /* dimensions in front of the row's */
    npy_intp sizes[NPY_MAXDIMS]; /* of the input */
    npy_intp grown[NPY_MAXDIMS]; /* of the result */
    npy_intp before[NPY_MAXDIMS];
    int element;                 /* bytes of an element, up to 8, whose bits are the value's; 0 for zeros */
    uint64_t bits;
    bool known; /* the places in a row outside of the input are in `from` */
    npy_intp from[PADDING_KNOWN]; /* bytes from the beginning of the input's row to where they are read */
} padding;

/* The element that place `at`, counted from the first one, takes its value from; negative without one. */
TT_INLINE npy_intp padding_source(padding_mode mode, npy_intp at, npy_intp size)
{
    if (at >= 0 && at < size) return at;
    switch (mode) {
    case PAD_REFLECT: return at < 0 ? -at : 2 * (size - 1) - at;
    case PAD_REPLICATE: return at < 0 ? 0 : size - 1;
    case PAD_CIRCULAR: return at < 0 ? size - 1 - (-1 - at) % size : at % size;
    default: return -1;
    }
}

TT_INLINE void padding_fill(const padding *p, char *out, size_t bytes)
{
    if (p->element == 8) {
        for (size_t i = 0; i < bytes; i += 8) memcpy(out + i, &p->bits, 8);
    } else if (p->element != 1 && bytes <= 32 && bytes % 4 == 0) { /* zeros, mostly: calls would take longer */
        uint32_t bits = (uint32_t)p->bits;
        for (size_t i = 0; i < bytes; i += 4) memcpy(out + i, &bits, 4);
    } else if (p->element == 4) {
        for (size_t i = 0; i < bytes; i += 4) memcpy(out + i, &p->bits, 4);
    } else {
        memset(out, (int)(p->bits & 255), bytes);
    }
}

typedef uint8_t padding_vector __attribute__((vector_size(VB), aligned(1), may_alias));
typedef uint8_t padding_part __attribute__((vector_size(16), aligned(1), may_alias));

/* Copies what does not overlap; short rows without a call. */
TT_INLINE void padding_copy(char *out, const char *in, size_t bytes)
{
    if (bytes < 16 || bytes > 1024) {
        memcpy(out, in, bytes);
    } else if (bytes >= VB) {
        for (size_t i = 0; i + VB < bytes; i += VB) {
            padding_vector part = *(const padding_vector *)(in + i);
            TT_KEEP(part);
            *(padding_vector *)(out + i) = part;
        }
        *(padding_vector *)(out + bytes - VB) = *(const padding_vector *)(in + bytes - VB);
    } else {
        for (size_t i = 0; i + 16 < bytes; i += 16) {
            padding_part part = *(const padding_part *)(in + i);
            TT_KEEP(part);
            *(padding_part *)(out + i) = part;
        }
        *(padding_part *)(out + bytes - 16) = *(const padding_part *)(in + bytes - 16);
    }
}

TT_INLINE void padding_copy_item(char *out, const char *in, size_t item)
{
    if (item == 4) memcpy(out, in, 4);
    else if (item == 8) memcpy(out, in, 8);
    else memcpy(out, in, item);
}

/* Places [begin, end) of a row, all of them outside of the input; of the places outside, `at` is the number of the first. */
TT_INLINE void padding_outside(const padding *p, char *out, const char *row, npy_intp begin, npy_intp end, npy_intp at)
{
    if (p->known) {
        const npy_intp *from = p->from + at - begin;
        if (p->item == 4)
            for (npy_intp i = begin; i < end; i++) memcpy(out + i * 4, row + from[i], 4);
        else
            for (npy_intp i = begin; i < end; i++) padding_copy_item(out + (size_t)i * p->item, row + from[i], p->item);
        return;
    }
    npy_intp size = p->sizes[p->outer], before = p->before[p->outer];
    if (p->mode == PAD_VALUE) {
        if (end > begin) padding_fill(p, out + (size_t)begin * p->item, (size_t)(end - begin) * p->item);
        return;
    }
    for (npy_intp i = begin; i < end; i++) {
        const char *from = row + (size_t)padding_source(p->mode, i - before, size) * p->item;
        padding_copy_item(out + (size_t)i * p->item, from, p->item);
    }
}

static void padding_rows(int64_t begin, int64_t end, void *context)
{
    const padding *p = context;
    int outer = p->outer;
    npy_intp at[NPY_MAXDIMS], rest = (npy_intp)begin, size = p->sizes[outer], length = p->grown[outer], before = p->before[outer];
    npy_intp first = before > 0 ? before : 0, last = before + size < length ? before + size : length;
    for (int d = outer - 1; d >= 0; d--) {
        at[d] = rest % p->grown[d];
        rest /= p->grown[d];
    }
    npy_intp group = 0, rows = outer > 0 ? p->grown[outer - 1] : 1, inner = outer > 0 ? at[outer - 1] : 0;
    for (int64_t row = begin; row < end; row++) {
        char *out = p->out + (size_t)row * (size_t)length * p->item;
        if (row == begin || inner == 0) { /* the dimensions in front of the last but one */
            group = 0;
            for (int d = 0; d < outer - 1 && group >= 0; d++) {
                npy_intp place = padding_source(p->mode, at[d] - p->before[d], p->sizes[d]);
                group = place < 0 ? -1 : group * p->sizes[d] + place;
            }
        }
        npy_intp source = group;
        if (outer > 0 && group >= 0) {
            npy_intp place = padding_source(p->mode, inner - p->before[outer - 1], p->sizes[outer - 1]);
            source = place < 0 ? -1 : group * p->sizes[outer - 1] + place;
        }
        if (source < 0) {
            padding_fill(p, out, (size_t)length * p->item);
        } else {
            const char *in = p->in + (size_t)source * (size_t)size * p->item;
            padding_outside(p, out, in, 0, first, 0);
            padding_copy(out + (size_t)first * p->item, in + (size_t)(first - before) * p->item, (size_t)(last - first) * p->item);
            padding_outside(p, out, in, last, length, first);
        }
        if (++inner < rows) continue;
        inner = 0;
        for (int d = outer - 2; d >= 0 && ++at[d] == p->grown[d]; d--) at[d] = 0;
    }
}

typedef enum { PADDING_FITS, PADDING_LEFT, PADDING_WRONG } padding_fit;

/* Reads the counts of `pad`, two for each dimension and the last dimension first; whether they fit, are left to NumPy's kernel, or
 * are what the shape rule refuses. */
static padding_fit padding_sizes(padding *p, PyArrayObject *self, PyObject *pad, npy_intp *shape)
{
    if (!PyTuple_Check(pad) && !PyList_Check(pad)) return PADDING_LEFT;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(pad);
    int ndim = PyArray_NDIM(self), last = 0;
    bool grows = false;
    if (count % 2 || count / 2 > ndim) return PADDING_WRONG;
    for (int d = 0; d < ndim; d++) {
        Py_ssize_t place = 2 * (ndim - 1 - d);
        int64_t before = 0, after = 0;
        p->sizes[d] = PyArray_DIM(self, d);
        if (place < count && (!tt_int(PySequence_Fast_GET_ITEM(pad, place), &before) ||
                              !tt_int(PySequence_Fast_GET_ITEM(pad, place + 1), &after))) return PADDING_WRONG;
        p->before[d] = before;
        if (__builtin_add_overflow(p->sizes[d], before, &p->grown[d]) || __builtin_add_overflow(p->grown[d], after, &p->grown[d]))
            return PADDING_WRONG;
        npy_intp left = p->sizes[d] + (before < 0 ? before : 0);
        if (left < 0 || left + (after < 0 ? after : 0) < 0) return PADDING_WRONG;
        if (before != 0 || after != 0) last = d;
        grows |= before > 0 || after > 0;
        shape[d] = p->grown[d];
    }
    p->outer = last;
    p->item = (size_t)PyArray_ITEMSIZE(self);
    for (int d = last + 1; d < ndim; d++) p->item *= (size_t)p->sizes[d];
    if (!tt_product_below(shape, ndim, (npy_intp)1 << 56)) return PADDING_WRONG;
    return grows ? PADDING_FITS : PADDING_LEFT;
}

static PyObject *padding_refused(void)
{
    PyErr_SetString(PyExc_ValueError, "counts or a mode that the shape rule refuses");
    return NULL;
}

static bool padding_mode_of(PyObject *name, padding_mode *mode)
{
    static const char *const names[] = {"", "reflect", "replicate", "circular"};
    for (int i = PAD_REFLECT; i <= PAD_CIRCULAR && PyUnicode_Check(name); i++) {
        *mode = (padding_mode)i;
        if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0) return true;
    }
    return false;
}

/* Works out once what all rows read outside of the input. */
static void padding_know(padding *p)
{
    npy_intp size = p->sizes[p->outer], before = p->before[p->outer], length = p->grown[p->outer], count = 0;
    p->known = p->mode != PAD_VALUE;
    for (npy_intp i = 0; i < length && p->known; i++) {
        if (i == before && size > 0) i += size - 1; /* what is copied */
        else if (i - before >= 0 && i - before < size) continue;
        else if (count == PADDING_KNOWN) p->known = false;
        else p->from[count++] = padding_source(p->mode, i - before, size) * (npy_intp)p->item;
    }
}

static PyObject *padded(padding *p, PyArrayObject *self, const npy_intp *shape)
{
    PyArrayObject *held = tt_contiguous(self), *out = held == NULL ? NULL : tt_empty_of(PyArray_NDIM(self), shape, self);
    if (out != NULL && PyArray_SIZE(out) > 0) {
        p->in = PyArray_BYTES(held);
        p->out = PyArray_BYTES(out);
        padding_know(p);
        npy_intp rows = 1, length = PyArray_SIZE(out);
        for (int d = 0; d < p->outer; d++) rows *= p->grown[d];
        TT_BEGIN_WORK(length)
        tt_parallel_for(0, rows, 32768 / (length / rows + 1) + 1, padding_rows, p);
        TT_END_WORK
    }
    Py_XDECREF(held);
    return (PyObject *)out;
}

#endif

/* Rows of a walk that move elements, whatever they mean: one function for each size. */
#ifndef TT_MOVING_H
#define TT_MOVING_H

#include "walk.h"

typedef struct { uint64_t low, high; } tt_wide; /* complex128 */

#define MOVING_BLOCK 64 /* places that are read one by one, with negative ones among them, before four at a time are tried */

#define ROW_OF(FUNCTION, NAME) \
    static void FUNCTION##_##NAME(Walk *w, char *data, const char *index, char *other, npy_intp n, npy_intp step, \
                                  npy_intp index_step, npy_intp other_step)

/* Four at a time where all are inside; each place is read once, and used as it was checked. */
#define GATHER_RUN(NAME, TYPE) \
    TT_INLINE void gather_run_##NAME(Walk *w, const char *data, const int64_t *places, TYPE *out, npy_intp n, \
                                     const npy_intp stride) \
    { \
        const uint64_t size = (uint64_t)w->axis_size; \
        const int64_t wrap = w->wrap; \
        npy_intp i = 0; \
        while (i < n) { \
            for (; i + 4 <= n; i += 4) { \
                const uint64_t a = (uint64_t)tt_once(places[i]); \
                if (TT_SELDOM(a >= size)) break; \
                const uint64_t b = (uint64_t)tt_once(places[i + 1]); \
                if (TT_SELDOM(b >= size)) break; \
                const uint64_t c = (uint64_t)tt_once(places[i + 2]); \
                if (TT_SELDOM(c >= size)) break; \
                const uint64_t d = (uint64_t)tt_once(places[i + 3]); \
                if (TT_SELDOM(d >= size)) break; \
                out[i] = *(const TYPE *)(data + (npy_intp)a * stride); \
                out[i + 1] = *(const TYPE *)(data + (npy_intp)b * stride); \
                out[i + 2] = *(const TYPE *)(data + (npy_intp)c * stride); \
                out[i + 3] = *(const TYPE *)(data + (npy_intp)d * stride); \
            } \
            const npy_intp end = n - i < MOVING_BLOCK ? n : i + MOVING_BLOCK; \
            for (; i < end; i++) { \
                int64_t place = tt_once(places[i]); \
                place += place < 0 ? wrap : 0; \
                if (TT_NEVER((uint64_t)place >= size)) { w->wrong = 1; return; } \
                out[i] = *(const TYPE *)(data + place * stride); \
            } \
        } \
    }

GATHER_RUN(1, uint8_t)
GATHER_RUN(2, uint16_t)
GATHER_RUN(4, uint32_t)
GATHER_RUN(8, uint64_t)
GATHER_RUN(16, tt_wide)

#define MOVING_ROWS(NAME, TYPE) \
    /* other = data[index] */ \
    ROW_OF(gather, NAME) \
    { \
        const npy_intp stride = w->axis_stride; \
        if (index_step == 0) { \
            int64_t place = tt_place(w, tt_read_place(index)); \
            if (place < 0) { w->wrong = 1; return; } \
            data += place * stride; \
            if (step == sizeof(TYPE) && other_step == sizeof(TYPE)) { \
                memcpy(other, data, (size_t)n * sizeof(TYPE)); \
                return; \
            } \
            for (npy_intp i = 0; i < n; i++) \
                *(TYPE *)(other + i * other_step) = *(const TYPE *)(data + i * step); \
            return; \
        } \
        if (index_step == 8 && other_step == sizeof(TYPE) && step == 0) { \
            if (stride == sizeof(TYPE)) gather_run_##NAME(w, data, (const int64_t *)index, (TYPE *)other, n, sizeof(TYPE)); \
            else gather_run_##NAME(w, data, (const int64_t *)index, (TYPE *)other, n, stride); \
            return; \
        } \
        for (npy_intp i = 0; i < n; i++) { \
            int64_t place = tt_place(w, tt_read_place(index + i * index_step)); \
            if (place < 0) { w->wrong = 1; return; } \
            *(TYPE *)(other + i * other_step) = *(const TYPE *)(data + i * step + place * stride); \
        } \
    } \
    /* data[index] = other; places were inside */ \
    ROW_OF(scatter, NAME) \
    { \
        const npy_intp stride = w->axis_stride; \
        if (index_step == 0) { \
            int64_t place = tt_place(w, tt_read_place(index)); \
            if (TT_NEVER(place < 0)) { w->wrong = 1; return; } \
            data += place * stride; \
            if (step == sizeof(TYPE) && other_step == sizeof(TYPE)) { \
                memmove(data, other, (size_t)n * sizeof(TYPE)); \
                return; \
            } \
            for (npy_intp i = 0; i < n; i++) \
                *(TYPE *)(data + i * step) = *(const TYPE *)(other + i * other_step); \
            return; \
        } \
        if (index_step == 8 && other_step == sizeof(TYPE) && step == 0 && stride == sizeof(TYPE) && w->wrap == 0) { \
            const int64_t *places = (const int64_t *)index; \
            const uint64_t size = (uint64_t)w->axis_size; \
            const TYPE *from = (const TYPE *)other; \
            TYPE *to = (TYPE *)data; \
            npy_intp i = 0; \
            for (; i + 2 <= n; i += 2) { \
                const uint64_t one = (uint64_t)tt_once(places[i]); \
                if (TT_NEVER(one >= size)) break; \
                to[one] = from[i]; \
                const uint64_t two = (uint64_t)tt_once(places[i + 1]); \
                if (TT_NEVER(two >= size)) break; \
                to[two] = from[i + 1]; \
            } \
            for (; i < n; i++) { \
                const uint64_t place = (uint64_t)tt_once(places[i]); \
                if (TT_NEVER(place >= size)) { w->wrong = 1; return; } \
                to[place] = from[i]; \
            } \
            return; \
        } \
        for (npy_intp i = 0; i < n; i++) { \
            int64_t place = tt_place(w, tt_read_place(index + i * index_step)); \
            if (TT_NEVER(place < 0)) { w->wrong = 1; return; } \
            *(TYPE *)(data + i * step + place * stride) = *(const TYPE *)(other + i * other_step); \
        } \
    } \
    /* other = index ? value : data, with a mask for an index */ \
    ROW_OF(choose, NAME) \
    { \
        const TYPE value = *(const TYPE *)w->extra; \
        if (step == sizeof(TYPE) && index_step == 1 && other_step == sizeof(TYPE)) { \
            fill_run_##NAME((const TYPE *)data, (const uint8_t *)index, (TYPE *)other, n, value); \
            return; \
        } \
        for (npy_intp i = 0; i < n; i++) \
            *(TYPE *)(other + i * other_step) = index[i * index_step] ? value : *(const TYPE *)(data + i * step); \
    } \
    /* if index: data = value */ \
    ROW_OF(fill, NAME) \
    { \
        const TYPE value = *(const TYPE *)w->extra; \
        if (step == sizeof(TYPE) && index_step == 1) { \
            fill_run_##NAME((const TYPE *)data, (const uint8_t *)index, (TYPE *)data, n, value); \
            return; \
        } \
        for (npy_intp i = 0; i < n; i++) \
            if (index[i * index_step]) *(TYPE *)(data + i * step) = value; \
    }

#define FILL_RUN(NAME, TYPE) \
    static void fill_run_##NAME(const TYPE *in, const uint8_t *mask, TYPE *out, npy_intp n, TYPE value) \
    { \
        TT_IVDEP \
        for (npy_intp i = 0; i < n; i++) out[i] = mask[i] ? value : in[i]; \
    }

FILL_RUN(1, uint8_t)
FILL_RUN(2, uint16_t)
FILL_RUN(4, uint32_t)
FILL_RUN(8, uint64_t)

static void fill_run_16(const tt_wide *in, const uint8_t *mask, tt_wide *out, npy_intp n, tt_wide value)
{
    for (npy_intp i = 0; i < n; i++) out[i] = mask[i] ? value : in[i];
}

MOVING_ROWS(1, uint8_t)
MOVING_ROWS(2, uint16_t)
MOVING_ROWS(4, uint32_t)
MOVING_ROWS(8, uint64_t)
MOVING_ROWS(16, tt_wide)

#define BY_SIZE(FUNCTION, BYTES) \
    ((BYTES) == 4 ? FUNCTION##_4 : (BYTES) == 8 ? FUNCTION##_8 : (BYTES) == 1 ? FUNCTION##_1 \
     : (BYTES) == 2 ? FUNCTION##_2 : (BYTES) == 16 ? FUNCTION##_16 : NULL)

/* One element of the dtype of self with a value; false with or without an error: leave the call to NumPy. */
static bool tt_element(PyArrayObject *self, PyObject *value, tt_wide *element)
{
    tt_dtype dtype = tt_dtype_of(self);
    if (PyArray_Check(value)) {
        PyArrayObject *array = (PyArrayObject *)value;
        if (PyArray_NDIM(array) != 0 || PyArray_TYPE(array) != PyArray_TYPE(self)) return false;
        memcpy(element, PyArray_BYTES(array), (size_t)PyArray_ITEMSIZE(array));
        return true;
    }
    double number;
    int64_t whole;
    if (dtype == TT_F32 && !PyBool_Check(value) && tt_double(value, &number)) {
        float single = (float)number;
        if (isinf(single) && !isinf(number)) return false;
        memcpy(element, &single, sizeof single);
        return true;
    }
    if (dtype == TT_F64 && !PyBool_Check(value) && tt_double(value, &number)) {
        memcpy(element, &number, sizeof number);
        return true;
    }
    if (dtype == TT_I64 && !PyBool_Check(value) && tt_int(value, &whole)) {
        memcpy(element, &whole, sizeof whole);
        return true;
    }
    if (dtype == TT_BOOL && PyBool_Check(value)) {
        *(uint8_t *)element = value == Py_True;
        return true;
    }
    return false;
}

#endif

/* What pooling does to one channel after the other. */
#include "common.h"

typedef struct {
    npy_intp channels, in[3], out[3], kernel[3], hop[3], pad[3], gap[3];
    npy_intp *start[3], *stop[3]; /* of the windows along each dimension, inside of the input */
    npy_intp *count[3];           /* elements along each dimension by which the sum is divided */
    double divisor;               /* in their place, unless it is 0 */
    bool apart;                   /* windows are looked at one by one: few of their elements lie inside of the input */
    const void *x;
    void *y;
    int64_t *index;
    _Atomic int failed;
} pool;

static npy_intp volume(const npy_intp *sizes) { return sizes[0] * sizes[1] * sizes[2]; }

/* Where a window begins, inside of the input even if none of its elements is. */
static npy_intp inside(const pool *job, int d, npy_intp i)
{
    return job->start[d][i] < job->in[d] ? job->start[d][i] : job->in[d] - 1;
}

/* --- the largest element --- */

/* `best` and `place` of a row after one tap: NaN is larger than all, and the last one counts. */
#define TT_TAP(T, I, HOP) \
    for (npy_intp i = low; i < high; i++) { \
        T value = row[i * (HOP)]; \
        I at = (I)(first + i * (HOP)); \
        int better = value > best[i] || value != value; \
        place[i] = better ? at : place[i]; \
        best[i] = better ? value : best[i]; \
    }

#define TT_BEGIN(T, I, HOP) \
    for (npy_intp i = 0; i < count; i++) best[i] = row[i * (HOP)], place[i] = (I)(first + i * (HOP));

#define TT_LARGEST(T, I, NAME) \
    static void begin_##NAME(const T *row, npy_intp first, npy_intp hop, npy_intp count, T *restrict best, I *restrict place) \
    { \
        if (hop == 1) { TT_BEGIN(T, I, 1) } \
        else if (hop == 2) { TT_BEGIN(T, I, 2) } \
        else { TT_BEGIN(T, I, hop) } \
    } \
    static void write_places_##NAME(int64_t *restrict index, const I *restrict place, npy_intp count) \
    { \
        for (npy_intp i = 0; i < count; i++) index[i] = place[i]; \
    } \
    static void tap_##NAME(const T *restrict row, npy_intp first, npy_intp hop, npy_intp low, npy_intp high, T *restrict best, I *restrict place) \
    { \
        if (hop == 1) { TT_TAP(T, I, 1) } \
        else if (hop == 2) { TT_TAP(T, I, 2) } \
        else if (hop == 3) { TT_TAP(T, I, 3) } \
        else { TT_TAP(T, I, hop) } \
    } \
    static void largest_##NAME(int64_t begin, int64_t end, void *context) \
    { \
        pool *job = context; \
        const npy_intp *in = job->in, *out = job->out; \
        T *best = malloc((size_t)out[2] * (sizeof(T) + sizeof(I)) + 64); \
        if (best == NULL) { job->failed = 1; return; } \
        I *place = (I *)(best + out[2]); \
        /* Each window has an element at its first place along each dimension, so that the first tap begins the row. */ \
        bool whole = job->pad[0] == 0 && job->pad[1] == 0 && job->pad[2] == 0 && (out[2] - 1) * job->hop[2] < in[2]; \
        for (int64_t channel = begin; channel < end; channel++) { \
            const T *x = (const T *)job->x + channel * volume(in); \
            T *y = (T *)job->y + channel * volume(out); \
            int64_t *index = job->index + channel * volume(out); \
            for (npy_intp a = 0; a < out[0]; a++) for (npy_intp b = 0; b < out[1]; b++, y += out[2], index += out[2]) { \
                npy_intp z = a * job->hop[0] - job->pad[0], v = b * job->hop[1] - job->pad[1]; \
                bool begun = false; \
                if (!whole) for (npy_intp c = 0; c < out[2]; c++) best[c] = (T)-INFINITY, place[c] = 0; /* of none, with gaps around all */ \
                for (npy_intp i = 0; i < job->kernel[0]; i++) for (npy_intp j = 0; j < job->kernel[1]; j++) { \
                    npy_intp zi = z + i * job->gap[0], vj = v + j * job->gap[1]; \
                    if (zi < 0 || zi >= in[0] || vj < 0 || vj >= in[1]) continue; \
                    npy_intp line = (zi * in[1] + vj) * in[2]; \
                    if (!begun && whole) { \
                        begin_##NAME(x + line, line, job->hop[2], out[2], best, place); \
                    } else if (!begun) { \
                        for (npy_intp c = 0; c < out[2]; c++) { \
                            place[c] = (I)(line + (job->start[2][c] < in[2] ? job->start[2][c] : in[2] - 1)); \
                        } \
                    } \
                    npy_intp seen = !begun && whole; \
                    begun = true; \
                    for (npy_intp k = seen; k < job->kernel[2]; k++) { \
                        npy_intp u = k * job->gap[2] - job->pad[2], hop = job->hop[2]; \
                        npy_intp low = u < 0 ? (-u + hop - 1) / hop : 0, high = u < in[2] ? (in[2] - u + hop - 1) / hop : 0; \
                        if (high > out[2]) high = out[2]; \
                        tap_##NAME(x + line + u, line + u, hop, low, high, best, place); \
                    } \
                } \
                memcpy(y, best, (size_t)out[2] * sizeof(T)); \
                write_places_##NAME(index, place, out[2]); \
            } \
        } \
        free(best); \
    } \
    static void adaptive_largest_##NAME(int64_t begin, int64_t end, void *context) \
    { \
        pool *job = context; \
        const npy_intp *in = job->in, *out = job->out; \
        for (int64_t channel = begin; channel < end; channel++) { \
            const T *x = (const T *)job->x + channel * volume(in); \
            T *y = (T *)job->y + channel * volume(out); \
            int64_t *index = job->index + channel * volume(out); \
            for (npy_intp a = 0; a < out[0]; a++) for (npy_intp b = 0; b < out[1]; b++) for (npy_intp c = 0; c < out[2]; c++) { \
                T best = (T)-INFINITY; \
                npy_intp place = (inside(job, 0, a) * in[1] + inside(job, 1, b)) * in[2] + inside(job, 2, c); \
                for (npy_intp z = job->start[0][a]; z < job->stop[0][a]; z += job->gap[0]) \
                for (npy_intp v = job->start[1][b]; v < job->stop[1][b]; v += job->gap[1]) { \
                    npy_intp line = (z * in[1] + v) * in[2]; \
                    for (npy_intp u = job->start[2][c]; u < job->stop[2][c]; u += job->gap[2]) { \
                        if (x[line + u] > best || x[line + u] != x[line + u]) best = x[line + u], place = line + u; \
                    } \
                } \
                *y++ = best; \
                *index++ = place; \
            } \
        } \
    }

/* --- the mean --- */

#define TT_MEAN(T, NAME) \
    static void add_row_##NAME(T *to, const T *row, npy_intp count) \
    { \
        for (npy_intp i = 0; i < count; i++) to[i] += row[i]; \
    } \
    static void add_hops_##NAME(T *to, const T *row, npy_intp hop, npy_intp count) \
    { \
        if (hop == 2) for (npy_intp i = 0; i < count; i++) to[i] += row[i * 2]; \
        else for (npy_intp i = 0; i < count; i++) to[i] += row[i * hop]; \
    } \
    static T sum_##NAME(const T *row, npy_intp count) \
    { \
        T part[16] = {0}, sum = 0; \
        npy_intp i = 0; \
        for (; i + 16 <= count; i += 16) for (int l = 0; l < 16; l++) part[l] += row[i + l]; \
        for (; i < count; i++) sum += row[i]; \
        for (int l = 0; l < 8; l++) part[l] += part[l + 8]; \
        for (int l = 0; l < 4; l++) part[l] += part[l + 4]; \
        return sum + ((part[0] + part[2]) + (part[1] + part[3])); \
    } \
    static void mean_##NAME(int64_t begin, int64_t end, void *context) \
    { \
        pool *job = context; \
        const npy_intp *in = job->in, *out = job->out; \
        bool sliding = !job->apart; /* not adaptive: windows of one width */ \
        T *line = malloc((size_t)(in[2] + 1) * sizeof(T)); \
        if (line == NULL) { job->failed = 1; return; } \
        for (int64_t channel = begin; channel < end; channel++) { \
            const T *x = (const T *)job->x + channel * volume(in); \
            T *y = (T *)job->y + channel * volume(out); \
            if (volume(out) == 1 && job->stop[2][0] - job->start[2][0] == in[2] && job->stop[1][0] - job->start[1][0] == in[1]) { \
                npy_intp plane = in[1] * in[2], first = job->start[0][0] * plane, whole = job->stop[0][0] * plane - first; \
                T by = (T)(job->divisor != 0 ? job->divisor : (double)job->count[0][0] * (double)job->count[1][0] * (double)job->count[2][0]); \
                *y = sum_##NAME(x + first, whole) / by; \
                continue; \
            } \
            for (npy_intp a = 0; a < out[0]; a++) for (npy_intp b = 0; b < out[1]; b++, y += out[2]) { \
                const T *from = NULL; \
                npy_intp rows = 0; \
                for (npy_intp z = job->start[0][a]; z < job->stop[0][a]; z++) for (npy_intp v = job->start[1][b]; v < job->stop[1][b]; v++) { \
                    const T *row = x + (z * in[1] + v) * in[2]; \
                    if (rows == 0) from = row; \
                    else { \
                        if (rows == 1) { memcpy(line, from, (size_t)in[2] * sizeof(T)); from = line; } \
                        add_row_##NAME(line, row, in[2]); \
                    } \
                    rows++; \
                } \
                memset(y, 0, (size_t)out[2] * sizeof(T)); \
                if (sliding && rows > 0) { \
                    for (npy_intp k = 0; k < job->kernel[2]; k++) { \
                        npy_intp u = k - job->pad[2], hop = job->hop[2]; \
                        npy_intp low = u < 0 ? (-u + hop - 1) / hop : 0, high = u < in[2] ? (in[2] - u + hop - 1) / hop : 0; \
                        if (high > out[2]) high = out[2]; \
                        if (low >= high) continue; \
                        if (hop == 1) add_row_##NAME(y + low, from + low + u, high - low); \
                        else add_hops_##NAME(y + low, from + low * hop + u, hop, high - low); \
                    } \
                } else if (rows > 0) { \
                    for (npy_intp c = 0; c < out[2]; c++) y[c] = sum_##NAME(from + job->start[2][c], job->stop[2][c] - job->start[2][c]); \
                } \
                double outer = (double)job->count[0][a] * (double)job->count[1][b]; \
                if (job->divisor != 0) for (npy_intp c = 0; c < out[2]; c++) y[c] /= (T)job->divisor; \
                else for (npy_intp c = 0; c < out[2]; c++) y[c] /= (T)(outer * (double)job->count[2][c]); \
            } \
        } \
        free(line); \
    } \
    /* The transpose of the mean: x gets the gradient, y has that of the result. */ \
    static void share_##NAME(int64_t begin, int64_t end, void *context) \
    { \
        pool *job = context; \
        const npy_intp *in = job->in, *out = job->out; \
        T *line = malloc((size_t)(in[2] + 1) * sizeof(T)); \
        if (line == NULL) { job->failed = 1; return; } \
        for (int64_t channel = begin; channel < end; channel++) { \
            T *x = (T *)job->y + channel * volume(in); \
            const T *y = (const T *)job->x + channel * volume(out); \
            memset(x, 0, (size_t)volume(in) * sizeof(T)); \
            for (npy_intp a = 0; a < out[0]; a++) for (npy_intp b = 0; b < out[1]; b++, y += out[2]) { \
                double outer = (double)job->count[0][a] * (double)job->count[1][b]; \
                memset(line, 0, (size_t)in[2] * sizeof(T)); \
                for (npy_intp c = 0; c < out[2]; c++) { \
                    T part = y[c] / (T)(job->divisor != 0 ? job->divisor : outer * (double)job->count[2][c]); \
                    for (npy_intp u = job->start[2][c]; u < job->stop[2][c]; u++) line[u] += part; \
                } \
                for (npy_intp z = job->start[0][a]; z < job->stop[0][a]; z++) for (npy_intp v = job->start[1][b]; v < job->stop[1][b]; v++) { \
                    add_row_##NAME(x + (z * in[1] + v) * in[2], line, in[2]); \
                } \
            } \
        } \
        free(line); \
    } \
    static void unpool_##NAME(int64_t begin, int64_t end, void *context) \
    { \
        pool *job = context; \
        npy_intp in = volume(job->in), out = volume(job->out); \
        for (int64_t channel = begin; channel < end; channel++) { \
            T *x = (T *)job->y + channel * in; \
            const T *y = (const T *)job->x + channel * out; \
            const int64_t *index = job->index + channel * out; \
            memset(x, 0, (size_t)in * sizeof(T)); \
            for (npy_intp i = 0; i < out; i++) { \
                int64_t place = tt_once(index[i]); /* another thread may write to it */ \
                if (place < 0 || place >= in) { job->failed = 2; break; } \
                x[place] += y[i]; \
            } \
        } \
    }

TT_LARGEST(float, int32_t, float)
TT_LARGEST(double, int64_t, double)
TT_MEAN(float, float)
TT_MEAN(double, double)

/* What recurrent layers of every dtype share: their sizes, their arrays, and the order of their steps. */
#ifndef TT_RECURRENT_H
#define TT_RECURRENT_H

#include "activations.h"
#include "gemm.h"
#include "scratch.h"

typedef enum { TT_LSTM, TT_GRU, TT_TANH, TT_RELU } tt_rnn_mode;

/* Functions of activations.h by the type of their argument. */
#define TT_SIGMOID(x) _Generic((x), float: tt_sigmoid_f, double: tt_sigmoid)(x)
#define TT_TANH_OF(x) _Generic((x), float: tt_tanh_f, double: tt_tanh)(x)
#define TT_SIGMOID_BACK(g, y) _Generic((g), float: tt_sigmoid_backward_f, double: tt_sigmoid_backward)(g, y)
#define TT_TANH_BACK(g, y) _Generic((g), float: tt_tanh_backward_f, double: tt_tanh_backward)(g, y)

/* Columns of the products with a state: of the weights, and of a row of gates. */
typedef struct { npy_intp from, to, count; } tt_rnn_span;

/* A layer.  Arrays are in row-major order; a row is a step of one sequence. */
typedef struct {
    tt_dtype dtype;
    tt_rnn_mode mode;
    bool reverse;
    npy_intp steps, batch, rows, in, hidden, out; /* `out` is the size of a state: `hidden`, or that of a projection */
    npy_intp gates, width, kept;                  /* numbers of a row of: weights, gates in memory, saved ones */
    const int64_t *sizes;                         /* of each step; NULL: all of them are `batch` */
    npy_intp *starts;                             /* the first row of each step */
    tt_rnn_span span[2];                          /* of the products with a state */
    int spans;
    npy_intp parts;                               /* of the batch: each thread takes all steps of some rows */
    const void *x, *hx, *cx, *u, *v, *w;
    void *bias, *packed[2], *packed_u, *packed_w, *cells;    /* of hidden numbers, before a projection */
    void *output, *saved, *h, *c;
    /* Of the gradients: `h` and `c` are those of the states. */
    const void *grad, *extra;
    npy_intp extra_step;                          /* from row to row; 0 where `extra` is a row of zeros */
    void *to_x, *slopes, *before, *projected, *steepness;
} tt_rnn;

typedef struct {
    npy_intp (*packed_size)(npy_intp k, npy_intp n);
    void (*pack)(void *to, const void *b, npy_intp rs, npy_intp cs, npy_intp k, npy_intp n);
    void (*bias)(const tt_rnn *job, const void *own, const void *recurrent);
    void (*forward)(const tt_rnn *job, npy_intp first, npy_intp end);
    void (*backward)(const tt_rnn *job, npy_intp first, npy_intp end);
    void (*sum)(const tt_rnn *job, void *to, npy_intp from, npy_intp count);
    npy_intp panel;
} tt_rnn_code;

TT_INLINE npy_intp tt_rnn_size(const tt_rnn *job, npy_intp step)
{
    return job->sizes == NULL ? job->batch : (npy_intp)job->sizes[step];
}

/* The row from which row `r` of a step came, or -1 where it came from the first state. */
TT_INLINE npy_intp tt_rnn_previous(const tt_rnn *job, npy_intp step, npy_intp r)
{
    npy_intp previous = job->reverse ? step + 1 : step - 1;
    if (previous < 0 || previous >= job->steps || r >= tt_rnn_size(job, previous)) return -1;
    return job->starts[previous] + r;
}

#endif

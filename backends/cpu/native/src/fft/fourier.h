/* Plans of Fourier transforms: what depends on the length alone. */
#ifndef TT_FOURIER_H
#define TT_FOURIER_H

#include "fourier_turns.h"

enum {
    STAGES = 40,      /* the most factors of a length */
    DIRECT = 60,      /* prime factors above go through a cyclic convolution */
    LONGEST = 32768,  /* a group of longer lines would leave the second-level cache */
};

struct cyclic;

typedef struct plan {
    struct plan *next;
    npy_intp n;
    tt_dtype dtype; /* of the numbers */
    bool split;     /* lines are matrices: of the others only `turns`, `halves` and these two are set */
    struct plan *columns, *rows;
    int users;   /* calls and plans that read it; counted under the GIL */
    size_t size; /* bytes */
    int count, radix[STAGES];
    npy_intp *order;       /* where each frequency lies after the stages; order[n] = n */
    void *turns;           /* e^(-2 pi i j k / L) of each stage of blocks of length L: for each j < L / radix k = 1 ... radix - 1 */
    void *halves;          /* e^(-pi i k / n) for k <= n / 2, which turn 2 n real numbers into n complex ones, and back */
    void *circles;         /* cosine and sine of 2 pi q k / radix, q and k from 1 to radix / 2, for each odd radix from 7 on */
    int circle[STAGES];    /* where those of a stage begin */
    struct cyclic *cyclic; /* for the last radix, where it is above DIRECT */
} plan;

/* The transform of a length as a cyclic convolution of m numbers (fourier.c, Note [Large prime factors]). */
typedef struct cyclic {
    npy_intp n, m;
    plan *inner;         /* of m */
    npy_intp *from, *to; /* Rader: which of the n numbers are convolved, in order; where the convolution has each frequency */
    void *chirp;         /* Bluestein: e^(-pi i k^2 / n) */
    void *kernel;        /* the transform of what they are convolved with, divided by m */
} cyclic;

/* Numbers that the stages need besides the line. */
static npy_intp work_of(const plan *p) { return p->cyclic == NULL ? 0 : 2 * p->cyclic->m; }

#endif

/* Plans of Fourier transforms: what depends on the length alone. */
#ifndef TT_FOURIER_H
#define TT_FOURIER_H

#include "common.h"

#include <math.h>
#include <stdlib.h>

enum {
    STAGES = 40,      /* the most factors of a length */
    LONGEST = 32768,  /* a group of longer lines would leave the second-level cache */
    PLANS = 16        /* that are kept */
};

typedef struct plan {
    struct plan *next;
    npy_intp n;
    tt_dtype dtype; /* of the numbers */
    int users;      /* calls that read it; counted under the GIL */
    int count, radix[STAGES];
    npy_intp *order; /* where each frequency lies after the stages; order[n] = n */
    void *turns;     /* e^(-2 pi i j k / L) of each stage of blocks of length L: for each j < L / radix those of k = 1 ... radix - 1 */
    void *halves;    /* e^(-pi i k / n) for k <= n / 2, with which a line of 2 n real numbers becomes one of n complex ones, and back */
} plan;

static plan *plans = NULL;

/* e^(-2 pi i k / n), from the sine and cosine of an angle of at most an eighth of a turn. */
static void turn_of(npy_intp k, npy_intp n, double *re, double *im)
{
    npy_intp quarter = 4 * (k % n) / n, rest = 4 * (k % n) - quarter * n; /* rest / n of a quarter */
    bool far = 2 * rest > n;
    double angle = M_PI_2 * (double)(far ? n - rest : rest) / (double)n, c = cos(angle), s = sin(angle);
    double x = far ? s : c, y = far ? c : s;
    *re = quarter == 0 ? x : quarter == 1 ? -y : quarter == 2 ? -x : y;
    *im = -(quarter == 0 ? y : quarter == 1 ? x : quarter == 2 ? -y : -x);
}

static void set_turn(plan *p, void *turns, npy_intp at, npy_intp k, npy_intp n)
{
    double re, im;
    turn_of(k, n, &re, &im);
    if (p->dtype == TT_F32) ((float *)turns)[2 * at] = (float)re, ((float *)turns)[2 * at + 1] = (float)im;
    else ((double *)turns)[2 * at] = re, ((double *)turns)[2 * at + 1] = im;
}

/* Finds the factors of a length: 4, then 2, 3 and 5; false where others are left. */
static bool factor_length(plan *p)
{
    static const int radices[] = {4, 2, 3, 5};
    npy_intp left = p->n;
    for (int i = 0; i < 4; i++) {
        for (; left % radices[i] == 0; left /= radices[i]) p->radix[p->count++] = radices[i];
    }
    return left == 1;
}

static void free_plan(plan *p)
{
    free(p->order);
    free(p->turns);
    free(p->halves);
    free(p);
}

static plan *make_plan(npy_intp n, tt_dtype dtype)
{
    plan *p = calloc(1, sizeof(plan));
    if (p == NULL) return NULL;
    p->n = n, p->dtype = dtype;
    npy_intp size = dtype == TT_F32 ? 8 : 16, number = 0, at = 0;
    bool found = factor_length(p);
    for (npy_intp s = 0, length = n; found && s < p->count; length /= p->radix[s++]) number += (p->radix[s] - 1) * (length / p->radix[s]);
    if (found) {
        p->order = malloc((size_t)(n + 1) * sizeof(npy_intp));
        p->turns = malloc((size_t)((number + 1) * size));
        p->halves = malloc((size_t)((n / 2 + 1) * size));
    }
    if (!found || p->order == NULL || p->turns == NULL || p->halves == NULL) {
        free_plan(p);
        return NULL;
    }
    for (npy_intp s = 0, length = n; s < p->count; length /= p->radix[s++]) {
        for (npy_intp j = 0; j < length / p->radix[s]; j++) {
            for (npy_intp k = 1; k < p->radix[s]; k++) set_turn(p, p->turns, at++, j * k, length);
        }
    }
    for (npy_intp k = 0; k <= n / 2; k++) set_turn(p, p->halves, k, k, 2 * n);
    for (npy_intp place = 0; place < n; place++) {
        npy_intp frequency = 0, weight = 1, rest = place, length = n;
        for (int s = 0; s < p->count; s++) {
            length /= p->radix[s];
            frequency += rest / length * weight;
            rest %= length;
            weight *= p->radix[s];
        }
        p->order[frequency] = place;
    }
    p->order[n] = n;
    return p;
}

/* The plan of a length, to be given back by `leave_plan`; NULL where the stages do not serve it, or without memory. */
static plan *take_plan(npy_intp n, tt_dtype dtype)
{
    if (n < 1 || n > LONGEST) return NULL;
    plan **at = &plans, *found = NULL;
    for (int number = 0; *at != NULL; number++) {
        plan *p = *at;
        if (p->n == n && p->dtype == dtype) {
            *at = p->next; /* it goes to the front */
            found = p;
            break;
        }
        if (number >= PLANS && p->users == 0) {
            *at = p->next;
            free_plan(p);
            continue;
        }
        at = &p->next;
    }
    if (found == NULL) found = make_plan(n, dtype);
    if (found == NULL) return NULL;
    found->next = plans;
    plans = found;
    found->users++;
    return found;
}

static void leave_plan(plan *p)
{
    if (p != NULL) p->users--;
}

#endif

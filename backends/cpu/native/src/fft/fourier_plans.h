/* Making and keeping the plans of Fourier transforms; needs the stages of double. */
#ifndef TT_FOURIER_PLANS_H
#define TT_FOURIER_PLANS_H

#include "fourier_convolutions.h"

enum {
    PLANS = 32,              /* that are kept */
    SPLIT_SHORTEST = 128,    /* shorter lines are lanes, however few they are */
    SPLIT_SOON = 7 << 16,    /* bytes of a group of lines from which on each is a matrix, so that the second-level cache holds it: */
    SPLIT_LATE = 1 << 20,    /* later for float64, and where half of what an odd matrix computes is not wanted */
    SPLIT_LONGEST = 1 << 23, /* turns take as much memory as the line */
};
#define PLANS_SIZE ((size_t)128 << 20) /* bytes of those that are kept */

static plan *plans = NULL;

static void leave_plan(plan *p)
{
    if (p != NULL) p->users--;
}

static void free_plan(plan *p)
{
    leave_plan(p->columns);
    leave_plan(p->rows);
    free_cyclic(p->cyclic);
    free(p->order);
    free(p->turns);
    free(p->halves);
    free(p->circles);
    free(p);
}

/* --- stages --- */

/* Cosines and sines of the odd radices from 7 on; false without memory. */
static bool make_circles(plan *p, const turns *t)
{
    npy_intp number = 0, at = 0;
    for (int s = 0; s < p->count; s++) number += p->radix[s] >= 7 && p->radix[s] <= DIRECT ? p->radix[s] * p->radix[s] / 4 : 0;
    p->circles = malloc((size_t)((number + 1) * number_size(p->dtype)));
    for (int s = 0; s < p->count && p->circles != NULL; s++) {
        npy_intp radix = p->radix[s];
        p->circle[s] = (int)(2 * at);
        if (radix < 7 || radix == 8 || radix > DIRECT) continue;
        for (npy_intp q = 1; q <= radix / 2; q++) {
            for (npy_intp k = 1; k <= radix / 2; k++, at++) {
                npy_intp back = radix - q * k % radix; /* sines are those of -2 pi i / radix */
                set_turn(p->circles, p->dtype, 2 * at, 1, t, back % radix * (t->n / radix));
            }
        }
    }
    return p->circles != NULL;
}

static bool make_stages(plan *p)
{
    npy_intp n = p->n, size = number_size(p->dtype), number = 0, at = 0;
    npy_intp rest = factor_length(n, p->radix, &p->count);
    if (rest > 1) p->radix[p->count++] = (int)rest;
    for (npy_intp s = 0, length = n; s < p->count; length /= p->radix[s++]) number += (p->radix[s] - 1) * (length / p->radix[s]);
    turns t;
    if (!make_turns(&t, 2 * n)) return false;
    p->size = (size_t)((number + n / 2 + n) * size);
    p->order = malloc((size_t)(n + 1) * sizeof(npy_intp));
    p->turns = malloc((size_t)((number + 1) * size));
    p->halves = malloc((size_t)((n / 2 + 1) * size));
    bool made = p->order != NULL && p->turns != NULL && p->halves != NULL && make_circles(p, &t);
    for (npy_intp s = 0, length = n; s < p->count && made; length /= p->radix[s++]) {
        for (npy_intp j = 0; j < length / p->radix[s]; j++) {
            for (npy_intp k = 1; k < p->radix[s]; k++) set_turn(p->turns, p->dtype, 2 * at++, 1, &t, j * k * (2 * n / length));
        }
    }
    for (npy_intp k = 0; k <= n / 2 && made; k++) set_turn(p->halves, p->dtype, 2 * k, 1, &t, k);
    for (npy_intp place = 0; place < n && made; place++) {
        npy_intp frequency = 0, weight = 1, left = place, length = n;
        for (int s = 0; s < p->count; s++) {
            length /= p->radix[s];
            frequency += left / length * weight;
            left %= length;
            weight *= p->radix[s];
        }
        p->order[frequency] = place;
    }
    if (made) p->order[n] = n;
    if (made && rest > 1) made = (p->cyclic = make_cyclic(rest, p->dtype, &t, 2 * n / rest)) != NULL;
    free_turns(&t);
    return made;
}

/* --- lines as matrices --- */

/* How a line becomes a matrix: the number of its rows, that fewest lanes are empty; 0 where there is none. */
static npy_intp split_length(npy_intp n, tt_dtype dtype)
{
    npy_intp lanes = 2 * VB / number_size(dtype), found = 0;
    double least = 4;
    for (npy_intp d = 2; d * d <= n; d++) {
        if (n % d != 0) continue;
        for (int side = 0; side < 2; side++) {
            npy_intp n1 = side ? n / d : d, n2 = n / n1;
            npy_intp whole1 = (n1 + lanes - 1) / lanes * lanes, whole2 = (n2 + lanes - 1) / lanes * lanes;
            double empty = ((double)whole1 / (double)n1 + (double)whole2 / (double)n2) / 2;
            npy_intp largest = n1 > n2 ? n1 : n2;
            double cost = empty * (1 + (double)(largest * 2 * VB) / (1 << 19) * 0.1); /* what leaves the caches */
            if (cost < least && has_stages(n1) && has_stages(n2)) least = cost, found = n1;
        }
    }
    return found;
}

/* The second-level turns e^(-2 pi i j k / n), as lanes of neighbours j for each k. */
static bool make_split(plan *p)
{
    npy_intp n = p->n, n1 = split_length(n, p->dtype), size = number_size(p->dtype), lanes = 2 * VB / size;
    turns t;
    if (!make_turns(&t, 2 * n)) return false;
    p->halves = malloc((size_t)((n / 2 + 1) * size));
    for (npy_intp k = 0; k <= n / 2 && p->halves != NULL; k++) set_turn(p->halves, p->dtype, 2 * k, 1, &t, k);
    if (n1 == 0) {
        free_turns(&t);
        return p->halves != NULL && make_single(p);
    }
    npy_intp n2 = n / n1, whole = (n2 + lanes - 1) / lanes * lanes;
    p->columns = take_plan(n1, p->dtype, false);
    p->rows = take_plan(n2, p->dtype, false);
    p->size = (size_t)((n1 * whole + n / 2) * size);
    bool made = p->columns != NULL && p->rows != NULL && p->halves != NULL;
    made = made && posix_memalign(&p->turns, 64, (size_t)(n1 * whole * size)) == 0;
    for (npy_intp j = 0; j < whole && made; j++) {
        npy_intp at = j / lanes * n1 * 2 * lanes + j % lanes, angle = 0, step = 2 * (j % n2);
        for (npy_intp k = 0; k < n1; k++, at += 2 * lanes) {
            set_turn(p->turns, p->dtype, at, lanes, &t, angle);
            angle += step;
            if (angle >= 2 * n) angle -= 2 * n;
        }
    }
    free_turns(&t);
    return made;
}

/* --- keeping them --- */

/* The plan of a length, to be given back by `leave_plan`; NULL where it cannot be served, or without memory. */
static plan *take_plan(npy_intp n, tt_dtype dtype, bool split)
{
    if (split ? n > SPLIT_LONGEST || (n > SPLIT_LONGEST / 3 && split_length(n, dtype) == 0) : !has_stages(n)) return NULL;
    plan **at = &plans, *found = NULL;
    size_t size = 0;
    for (int number = 0; *at != NULL; number++) {
        plan *p = *at;
        size += p->size;
        if (p->n == n && p->dtype == dtype && p->split == split) {
            *at = p->next; /* it goes to the front */
            found = p;
            break;
        }
        if ((number >= PLANS || size > PLANS_SIZE) && p->users == 0) {
            *at = p->next;
            free_plan(p);
            continue;
        }
        at = &p->next;
    }
    if (found == NULL) {
        found = calloc(1, sizeof(plan));
        if (found == NULL) return NULL;
        found->n = n, found->dtype = dtype, found->split = split;
        if (!(split ? make_split(found) : make_stages(found))) {
            free_plan(found);
            return NULL;
        }
    }
    found->next = plans;
    plans = found;
    found->users++;
    return found;
}

#endif

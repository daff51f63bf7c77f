/* What pooling does to one channel after the other. */
#include "common.h"

typedef struct {
    npy_intp channels, in[3], out[3], kernel[3], hop[3], pad[3], gap[3];
    npy_intp *start[3], *stop[3]; /* of the windows along each dimension, inside of the input */
    npy_intp *count[3];           /* elements along each dimension by which the sum is divided */
    double divisor;               /* in their place, unless it is 0 */
    bool apart;                   /* windows are looked at one by one: few of their elements lie inside of the input */
    npy_intp across;              /* how many channels lie last in memory; 0 where they lie first */
    const void *x;
    void *y;
    int64_t *index;               /* of the largest elements; NULL where only these are wanted */
    _Atomic int failed;
} pool;

static npy_intp volume(const npy_intp *sizes) { return sizes[0] * sizes[1] * sizes[2]; }

/* Where a window begins, inside of the input even if none of its elements is. */
static npy_intp inside(const pool *job, int d, npy_intp i)
{
    return job->start[d][i] < job->in[d] ? job->start[d][i] : job->in[d] - 1;
}

/* --- the largest element --- */

#define T float
#define PLACE int32_t
#include "pooling_largest.inc"

#define T double
#define PLACE int64_t
#include "pooling_largest.inc"

#define T float
#include "pooling_mean.inc"

#define T double
#include "pooling_mean.inc"

#define T float
#define PLACE int32_t
#include "pooling_last.inc"

#define T double
#define PLACE int64_t
#include "pooling_last.inc"

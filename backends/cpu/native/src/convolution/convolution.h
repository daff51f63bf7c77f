/* What the driver of convolutions (convolution.c) and its bodies (convolution.inc) share.

A convolution is a product of filters (M x K) and windows (K x places).  The windows are never written down as a whole:
an input lies in `planes`, with its padding around it and, where windows are further apart than one element, split into
one plane for each remainder, so that element k of the windows in a row of places is a run of memory at a fixed offset.
A block of places is copied just before it is multiplied (`packed`), or read in place where only few filters use it
(`flat`).  The gradient of the input is the same product with other offsets; see Note [Transposed convolutions].  That of the
filters is a product over the places, of which the windows' part is read in place, too (`many`).
*/
#ifndef TT_CONVOLUTION_H
#define TT_CONVOLUTION_H

#include "common.h"
#include "isa.h"
#include "scratch.h"

/* How one dimension of the input lies in planes. */
typedef struct {
    npy_intp size;   /* of the input */
    npy_intp rows;   /* of a plane */
    npy_intp hop;    /* elements of the input between those of a plane: as many planes */
    npy_intp pad;    /* before the first element of the input */
} tt_axis;

/* Where the windows lie, for all results that see the input at the same offsets. */
typedef struct {
    npy_intp k;         /* elements of a window of one group, all channels */
    npy_intp *offset;   /* of each of them, from the place of the window in its planes */
    npy_intp *tap;      /* of each of them, among the filters of a group */
    npy_intp out[3];    /* places along each dimension */
    npy_intp first;     /* the first result in its channel */
    npy_intp step[3];   /* between results */
    void *packed;       /* the filters, by blocks of rows */
    int in_order;       /* whether element j of a window meets element j of a filter */
    int flat;
    int strips;         /* whether rows of results are whole strips of two vectors, with few filters */
    int plain;          /* whether filters are read where they lie: too few places would use them once they are packed */
} tt_phase;

typedef struct {
    npy_intp groups, m, c;        /* filters and channels of a group */
    tt_axis axis[3];
    unsigned char *used;          /* which planes of a channel any window needs */
    npy_intp planes, plane;       /* planes of a channel; elements of one */
    npy_intp pitch[2];            /* elements between planes' slices and rows */
    npy_intp images;              /* in the chunk */
    npy_intp image_size;          /* elements of the planes of an image */
    const void *input;            /* of the chunk */
    void *source;                 /* its planes: the input itself where that will do */
    int direct;
    const void *weight, *bias;
    npy_intp row_stride, group_stride; /* of the filters */
    void *result;                 /* of the chunk */
    npy_intp channel_size;        /* of the result */
    tt_phase *phase, *phases;
    npy_intp phase_count;
    npy_intp tiles, tiles_of_image, tiles_of_slice; /* blocks of places; the last two where they are read in place, */
    npy_intp span;                /* over as many places of an image or slice */
    npy_intp once, chunks, bands; /* blocks of places that read filters together; such groups of them; parts of their filters */
    int distant;                  /* whether results are fetched while they are computed */
    int single, own_planes;       /* one filter for a channel; whose planes are filled as it is computed */
    /* the gradient of the filters */
    const void *grad;
    struct tt_last *last;         /* how the input lies if its channels, and those of grad, are last; or NULL */
    npy_intp apart[3], group_size; /* elements of the source between windows along each dimension, and between groups */
    void *pitched;                /* grad with the places of the planes, zeros between them */
    npy_intp places;              /* of an image, as places of the planes, in whole vectors */
    int many;                     /* filters: grad is packed place by place */
    int rows_of_block, taps_of_block;
    npy_intp tap_blocks, row_blocks;
    void *sums;
    int first_chunk, last_chunk;
    _Atomic int failed;    /* no memory for a block */
    _Atomic int unbounded; /* whether a gradient of a filter is infinite or NaN */
} tt_convolution;

/* --- channels that lie last in memory --- */

/* Elements of a window that lie side by side. */
typedef struct { npy_intp offset, length; } tt_stretch;

/* Places of results, counted from the first one of the image, slice and row that a band begins with. */
typedef struct { npy_intp images, slices, rows; } tt_extent;

/* Note [Channels last]

Where the channels of a pixel lie side by side, a window is a few stretches of memory: a row of a filter of 3 pixels with 16 channels is
48 numbers.  A vector holds filters, which are packed in the order of the stretches; numbers of the input are broadcast from where they
lie.  So a block of places may cross rows and images, and a result is written once, in its order.  An input with padding is copied band
by band, a few rows of results at a time, into memory that stays in the second-level cache; another one is read as it is. */
typedef struct tt_last {
    npy_intp groups, m, c;            /* filters and channels of a group */
    npy_intp n, in[3], pad[3];        /* images, pixels, and zeros before the first of them */
    npy_intp out[3], hop[3], span[3]; /* places; pixels between their windows; pixels of a window */
    npy_intp first, step[3], size;    /* the first result, the distance to the next ones and to the next image, in pixels */
    npy_intp pitch[3];                /* elements of the source between its images, slices and rows */
    int direct;                       /* whether the source is the input itself */
    int single;                       /* one filter for each channel */
    tt_extent band;                   /* what is computed at once */
    npy_intp parts;                   /* of the filters, which threads share where there are few bands */
    tt_stretch *stretches;
    npy_intp taps, *tap;              /* of a filter that windows meet, in the order of the stretches */
    npy_intp k, depth;                /* elements of a window; those that all filters meet before the next ones, where stretches end */
    npy_intp filter_step, channel_step, group_step, tap_step, taps_of_filter; /* of the filters in memory */
    int in_order;                     /* whether windows meet all taps, in the order of memory */
    npy_intp vectors, blocks;         /* of the filters of a group */
    const void *input, *weight, *bias;
    void *result, *packed;
    _Atomic int failed;               /* no memory for a band */
} tt_last;

typedef struct {
    int lanes, width, rows;              /* elements of a vector; places and, at most, rows of a block */
    tt_body fill, pack, multiply, single; /* of planes, of filters, of blocks of places, of channels with one filter */
    tt_body pointwise;                    /* of pieces of places, with few filters of one element */
    npy_intp piece;                       /* places of one */
    tt_body pack_strips, strips;          /* of filters for strips, and of these; */
    npy_intp strip, strip_rows;           /* places of one, or 0 where there are none, and filters of a panel */
    tt_body pitch, weights;              /* of grad; the gradient of filters, by blocks of taps */
    tt_body pack_grad, weights_of_many;  /* the same for many filters */
    tt_body single_weights;              /* the same for channels with one filter */
    tt_body pack_last, multiply_last;    /* of filters and bands whose channels lie last */
    tt_body fill_images;                 /* of whole images of that kind */
    void (*choose_block)(tt_convolution *job);
} tt_convolution_code;

/* A quotient of numbers that are not negative: one of 64 bits takes up to three times as long as one of 32. */
TT_INLINE npy_intp tt_quotient(npy_intp a, npy_intp b)
{
    return ((uint64_t)a | (uint64_t)b) >> 32 == 0 ? (npy_intp)((uint32_t)a / (uint32_t)b) : a / b;
}

#define TT_BLOCK_BYTES 24576 /* of packed windows: three quarters of the smallest first-level cache */
#define TT_AT_ONCE 8          /* blocks of places that read filters together, */
#define TT_PLAIN_PLACES 320   /* up to which filters are not packed */
#define TT_NEAR_BYTES 262144  /* of results that second-level caches hold */
#define TT_LAST_PLACES 256    /* of results whose windows are known at once */
#define TT_LAST_BYTES 131072  /* of a band, in the second-level cache */
#define TT_LAST_DEPTH 384     /* elements of windows that are multiplied by all filters before the next ones */
#define TT_FILTER_BYTES 400000 /* where there are more of them than stay in the second-level cache */

#endif

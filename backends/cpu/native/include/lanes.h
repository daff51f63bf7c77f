/* Loops over lanes: partial results side by side, which compilers keep in vector registers (lanes.inc). */
#ifndef TT_LANES_H
#define TT_LANES_H

enum { LANES = 64, LANES_BLOCK = 16 * LANES };

#define LANES_ADD(a, x) (a) += (x)

#endif

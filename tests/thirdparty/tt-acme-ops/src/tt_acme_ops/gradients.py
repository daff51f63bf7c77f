"""The gradients of the operators in ops.yaml; the others have theirs where they are defined."""

from tt.autograd import Formulas
from tt.library import ops

formulas = Formulas()


def of_moving_average(g, size):
    """Give each element its share of the gradients of the windows that it is in."""
    return ops.acme.moving_average(ops.constant_pad_nd(g, (size - 1, size - 1)), size)


formulas.of("acme::moving_average", x=of_moving_average)

"""`acme::twice`, defined here, and the composite and the kernel of `acme::scaled_add`, which ops.yaml defines."""

import tt
from tt.library import CompositeTable, KernelTable, custom_op, ops

# --- acme::twice -----------------------------------------------------------------------------------------------


@custom_op("acme::twice")
def twice(x: tt.Tensor) -> tt.Tensor:
    """Doubles x."""


@twice.kernel("cpu")
def twice_on_cpu(x):
    return x + x


@twice.fake
def twice_without_data(x):
    return tt.empty_like(x)


@twice.backward
def twice_backward(ctx, gradient):
    return 2 * gradient


# --- acme::scaled_add ------------------------------------------------------------------------------------------

composites = CompositeTable()


@composites.composite("acme::scaled_add")
def scaled_add(self, other, scale):
    return ops.add(self, ops.mul(other, scale))


kernels = KernelTable(device="cpu")


@kernels.kernel("acme::scaled_add", dtypes="floating")
def scaled_add_on_cpu(self, other, scale):
    return self + other * scale

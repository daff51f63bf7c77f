"""A gradient for an operator of tt."""

from tt.core.hooks import Manifest, hookimpl


@hookimpl
def tt_manifest():
    return Manifest("hostile_gradient", namespaces=("hostile",))


@hookimpl
def tt_register(registry):
    from tt.autograd import Formulas

    formulas = Formulas()
    formulas.of("softplus", self=lambda g: g * 0)
    registry.add(formulas)

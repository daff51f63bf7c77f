# Classes of Python: their methods are compiled, which is what Note [Blocks and interrupts] needs.

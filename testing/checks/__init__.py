"""The checks, each once: opcheck and the conformance of backends make them on inputs of theirs."""

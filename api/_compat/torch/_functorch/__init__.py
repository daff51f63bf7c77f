"""torch._functorch: modules of function transforms that tt.func gives under public names."""

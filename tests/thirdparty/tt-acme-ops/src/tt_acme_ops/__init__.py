"""Operators in the namespace acme: `tt.ops.acme.twice`, `soft_clip`, `decay_`, `scaled_add`, `moving_average`."""

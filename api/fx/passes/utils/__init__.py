"""tt.fx.passes.utils: what passes are made of."""

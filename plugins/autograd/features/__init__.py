"""Parts of `tt.autograd` over the graph: checkpoints, anomalies, pictures, Jacobians."""

"""tt.fx.passes: functions that look at graphs, or change them."""

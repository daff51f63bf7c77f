"""tt.autograd.anomaly_mode: backward passes that name the call which made a NaN."""

from __future__ import annotations

from tt.autograd import detect_anomaly, set_detect_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]

"""tt.signal: functions of signal processing; `tt.signal.windows` has windows."""

from tt.signal import windows

__all__ = ["windows"]

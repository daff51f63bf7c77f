"""Which preferences name a plugin, in what the host says of it."""

from __future__ import annotations

from tt.core.host.choosing import prefer


def test_a_state_tells_which_preferences_name_the_plugin(vendor):
    host = vendor.host({"TT_PREFER": "vendor; npu:exp=vendor,*; broken"})
    with prefer("vendor", device="npu", host=host):
        found = {plugin.name: plugin.preferred for plugin in host.plugins()}
    assert found["vendor"] == ("npu by tt.prefer", "npu:exp by TT_PREFER", "* by TT_PREFER")
    assert found["broken"] == ("* by TT_PREFER",)

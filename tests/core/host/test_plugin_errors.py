"""Names that cannot be used, and the lists of plugins in the environment."""

from __future__ import annotations

import pytest

from tt.core.errors import (
    PluginFailedError,
    PluginMissingError,
    UnknownNameError,
)


def test_an_unknown_name_gets_the_nearest_and_the_plugins_that_could_not_be_asked(packages):
    packages.add_good("one", "devices=('onedev',)")
    packages.add("broken", "import no_such_module_anywhere")
    with pytest.raises(UnknownNameError) as caught:
        packages.host().require("device", "onedve")
    assert str(caught.value) == (
        "unknown device 'onedve'; did you mean 'onedev'?\n  known: meta, onedev\n"
        "  plugins that could not be read: broken (failed: ModuleNotFoundError: No module named "
        "'no_such_module_anywhere'); see: tt plugins list"
    )


@pytest.mark.parametrize("use", ["require", "activate"])
def test_a_known_plugin_that_is_not_installed_names_its_package(packages, use):
    with pytest.raises(PluginMissingError) as caught:
        getattr(packages.host(), use)("device", "cuda")
    assert str(caught.value) == (
        "the device 'cuda' is brought by the plugin 'cuda', which is not installed\n"
        "  try: pip install 'tt-tensor[cuda12]' (or cuda13, by the CUDA version of the driver)\n"
        "  see: tt plugins list"
    )


def test_a_known_plugin_that_is_broken_gives_its_reason(packages):
    packages.add("cuda", "raise OSError('half installed')")
    with pytest.raises(PluginFailedError, match="which failed to load\n  tried: OSError: half installed"):
        packages.host().require("device", "cuda")

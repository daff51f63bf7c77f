"""Plugins as the host handles them, and their view for users."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from tt.core.by_name import object_named
from tt.core.forks import fork_safe_properties
from tt.core.host.manifest import API_VERSION, Declares, Manifest, major_and_minor

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


__all__ = [
    "BROKEN",
    "IDLE_MEMBERS",
    "IDLE_METHODS",
    "KNOWN_PARTS",
    "KNOWN_PLUGINS",
    "KnownPlugin",
    "Plugin",
    "PluginState",
    "first_line",
]

State = Literal["found", "loaded", "active", "failed", "blocked", "unavailable"]

# Whatever a plugin does, `import tt` goes on: a module that calls sys.exit() counts as broken.
BROKEN: Final = (Exception, SystemExit)


class KnownPlugin(NamedTuple):
    """A plugin that tt recognises by name, and the package to install for it."""

    plugin: str
    install: str


_MEMBERS: Final = {
    "autograd": (
        "requires_grad", "requires_grad_", "grad", "_grad", "grad_fn", "is_leaf", "backward", "retain_grad",
        "retains_grad", "register_hook", "register_post_accumulate_grad_hook", "output_nr", "is_inference",
        "_gradient_hooks",
    ),
    "nested": ("lengths", "offsets", "to_padded_tensor"),
    "quantized": (
        "int_repr", "q_per_channel_axis", "q_per_channel_scales", "q_per_channel_zero_points", "q_scale",
        "q_zero_point", "qscheme",
    ),
    "sparse": (
        "_indices", "_nnz", "_values", "ccol_indices", "coalesce", "col_indices", "crow_indices", "dense_dim",
        "indices", "is_coalesced", "nnz", "resize_as_sparse_", "row_indices", "smm", "sparse_dim", "sparse_mask",
        "sparse_resize_", "sparse_resize_and_clear_", "sspaddmm", "to_dense", "to_sparse", "to_sparse_bsc",
        "to_sparse_bsr", "to_sparse_coo", "to_sparse_csc", "to_sparse_csr",
    ),
}  # fmt: skip
"""The members that plugins bring, so that one that is blocked or not installed can be named."""

IDLE_MEMBERS: Final[Mapping[str, object]] = {
    "requires_grad": False, "grad": None, "grad_fn": None, "is_leaf": True, "retains_grad": False, "output_nr": 0,
}  # fmt: skip
"""What members are where their plugin is blocked or not installed and nothing else can be: programs that only compute
read them, and modules, files and copies hold them."""

IDLE_METHODS: Final[Mapping[str, object]] = {"is_inference": False, "requires_grad_": NotImplemented}
"""The same of methods: what they return; NotImplemented: the tensor, if they are called with False."""

KNOWN_PLUGINS: Final[Mapping[tuple[Declares, str], KnownPlugin]] = {
    ("device", "cpu"): KnownPlugin("cpu", "tt-tensor"),
    ("device", "cuda"): KnownPlugin(
        "cuda", "'tt-tensor[cuda12]' (or cuda13, by the CUDA version of the driver)"
    ),
    ("layout", "sparse_coo"): KnownPlugin("sparse", "tt-tensor"),
    ("layout", "sparse_csr"): KnownPlugin("sparse", "tt-tensor"),
    ("layout", "sparse_csc"): KnownPlugin("sparse", "tt-tensor"),
    ("layout", "sparse_bsr"): KnownPlugin("sparse", "tt-tensor"),
    ("layout", "sparse_bsc"): KnownPlugin("sparse", "tt-tensor"),
    ("namespace", "sparse"): KnownPlugin("sparse", "tt-tensor"),
    ("layout", "jagged"): KnownPlugin("nested", "tt-tensor"),
    ("namespace", "nested"): KnownPlugin("nested", "tt-tensor"),
    ("layout", "quantized"): KnownPlugin("quantized", "tt-tensor"),
    ("layer", "autograd"): KnownPlugin("autograd", "tt-tensor"),
    ("layer", "transform"): KnownPlugin("autograd", "tt-tensor"),
    ("layer", "inference"): KnownPlugin("autograd", "tt-tensor"),
    ("layer", "autocast"): KnownPlugin("amp", "tt-tensor"),
    **{("member", name): KnownPlugin(plugin, "tt-tensor") for plugin, names in _MEMBERS.items() for name in names},
}  # fmt: skip
"""The plugins that provide known names, for the message that such a plugin is not installed."""

KNOWN_PARTS: Final[Mapping[str, str]] = {
    "gradient": "autograd", "batching rule": "transform", "autocast policy": "autocast",
}  # fmt: skip
"""The parts of operators that layers of those plugins take, for the same message."""


class PluginState(NamedTuple):
    """The facts of one plugin at one moment.

    Attributes
    ----------
    name : str
        The name of its entry point.
    distribution, version : str
        The installed package that it comes from.
    state : str
        found, loaded (its manifest is known), active (it registered), failed, blocked or unavailable.
    reason : str
        Why it is failed, blocked or unavailable.
    load_time : float
        Seconds that both stages took so far.
    api_version : str or None
        The version of the hooks for which it was written.
    manifest : Manifest or None
        Its contents, once known.
    traceback : str
        Where it failed.
    contested : tuple of str
        Which of its names other plugins declare, too, and who has them.
    preferred : tuple of str
        The preferences that name it: "cpu:exp* by TT_PREFER".
    undone : tuple of str
        The changes that it made to the process while it was loaded, which were undone.
    """

    name: str
    distribution: str
    version: str
    state: State
    reason: str = ""
    load_time: float = 0.0
    api_version: str | None = None
    manifest: Manifest | None = None
    traceback: str = ""
    contested: tuple[str, ...] = ()
    preferred: tuple[str, ...] = ()
    undone: tuple[str, ...] = ()


@fork_safe_properties
@dataclass(eq=False)
class Plugin:
    """A plugin as the host handles it; `defined`: whether its hook `tt_define` has run, perhaps alone."""

    entry: EntryPoint
    state: State = "found"
    reason: str = ""
    traceback: str = ""
    load_time: float = 0.0
    manifest: Manifest | None = None
    module: Any = None
    view: Any = None
    defined: bool = False
    undone: list[str] = field(default_factory=list)

    @cached_property
    def manager(self) -> Any:
        """The hooks in the plugin's module; each plugin has a manager, so that faults in its hooks touch no other."""
        import pluggy  # start-up: needed once plugins are read

        from tt.core.hooks import Hooks

        manager = pluggy.PluginManager("tt")
        manager.add_hookspecs(Hooks)
        manager.register(self.module, self.name)
        # Misspelt hooks raise here, and not when they would never be called.
        manager.check_pending()
        return manager

    @property
    def own(self) -> bool:
        """Whether it is one of tt's own."""
        return self.entry.value.startswith("tt.")

    @property
    def name(self) -> str:
        """The name of its entry point."""
        return self.entry.name

    @property
    def failed(self) -> bool:
        """Whether it failed."""
        return self.state == "failed"

    # Reading the metadata of a package takes a millisecond, and every preference asks for the names.
    @cached_property
    def distribution(self) -> str:
        """The installed package; if there is none, the name of the module."""
        return (
            self.entry.dist.name
            if self.entry.dist is not None
            else self.entry.value.split(":")[0].split(".")[0]
        )

    @cached_property
    def version(self) -> str:
        """The version of the package."""
        return self.entry.dist.version if self.entry.dist is not None else ""

    def __str__(self) -> str:
        return f"plugin {self.name!r} ({self.distribution} {self.version}".rstrip() + ")"

    def fail(self, error: BaseException) -> None:
        """Put the plugin aside; must be called while the exception is handled."""
        self.state = "failed"
        try:
            self.reason = f"{type(error).__name__}: {error}"
        except Exception as second:  # the plugin's own class
            self.reason = f"{type(error).__name__}, which cannot be shown: {type(second).__name__}"
        from traceback import format_exc  # start-up: plugins seldom fail

        self.traceback = format_exc()
        if self.manifest is not None:
            required, offered = major_and_minor(self.manifest.api_version), major_and_minor(API_VERSION)
            if (
                required[0] == offered[0] and required > offered
            ):  # a newer minor version may miss an older one's names
                self.reason += (
                    f"\n  it was made for version {self.manifest.api_version} of the plugin interface and this tt "
                    f"offers version {API_VERSION}\n  try: upgrade tt-tensor"
                )

    def snapshot(self, contested: Iterable[str] = (), preferred: Iterable[str] = ()) -> PluginState:
        """Return the facts of now, after asking whether the plugin can work on this machine."""
        state, reason = self.state, self.reason
        if state in ("loaded", "active") and self.manifest is not None and self.manifest.available:
            # The check is code of the plugin: its failure is a fact about the plugin, too.
            try:
                unavailable = object_named(self.manifest.available)()
            except BROKEN as error:
                unavailable = f"its availability check failed: {type(error).__name__}: {error}"
            if unavailable:
                state, reason = "unavailable", str(unavailable)
        return PluginState(
            self.name,
            self.distribution,
            self.version,
            state,
            reason,
            self.load_time,
            str(self.manifest.api_version) if self.manifest is not None else None,
            self.manifest,
            self.traceback,
            tuple(contested),
            tuple(preferred),
            tuple(dict.fromkeys(self.undone)),
        )


def first_line(text: str) -> str:
    """Return the first line of a text."""
    return text.split("\n", 1)[0]

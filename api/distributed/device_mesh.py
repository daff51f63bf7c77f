"""Device meshes: the ranks of a job as an array, with a group for each row along each dimension."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tt
from tt import Tensor
from tt.distributed.new_groups import new_subgroups_by_enumeration
from tt.distributed.process_group import ProcessGroup
from tt.distributed.ranks import get_process_group_ranks, get_rank, get_world_size
from tt.distributed.world import default_group, init_process_group, is_initialized

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """The ranks of a job as an array of any number of dimensions.

    All ranks of the job make it, with the same arguments.

    Parameters
    ----------
    device_type : str
        The type of the devices that the ranks use: ``cpu``, ``cuda``.
    mesh : Tensor or nested sequence of int
        The ranks; none may be there twice.
    mesh_dim_names : tuple of str, optional
        A name for each dimension.

    Raises
    ------
    ValueError
        A rank is there twice, or does not exist; the names do not fit.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> def program():
    ...     mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicas", "shards"))
    ...     return mesh["shards"].mesh.tolist(), mesh.get_local_rank("replicas")
    >>> dist.run_threads(program, 4)
    [([0, 1], 0), ([0, 1], 0), ([2, 3], 1), ([2, 3], 1)]
    """

    def __init__(
        self,
        device_type: str,
        mesh: Tensor | Sequence[Any],
        *,
        mesh_dim_names: Sequence[str] | None = None,
        _groups: list[ProcessGroup] | None = None,
    ) -> None:
        self.device_type = device_type
        # On the CPU: it is read on the host all the time, and takes no part in computing.
        array: Tensor = (
            mesh.detach().cpu().to(tt.int64) if isinstance(mesh, Tensor) else tt.tensor(mesh, dtype=tt.int64)
        )
        self.mesh = array
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        ranks = array.flatten().tolist()
        if not ranks or len(set(ranks)) != len(ranks):
            raise ValueError(f"DeviceMesh: each rank must be there once, got {ranks}")
        if not all(0 <= rank < get_world_size() for rank in ranks):
            raise ValueError(f"DeviceMesh: {ranks} are not all ranks of a job of {get_world_size()}")
        if self.mesh_dim_names is not None:
            _check_names(self.mesh_dim_names, array.ndim)
        self._rank = get_rank()
        at = (array == self._rank).nonzero().tolist()
        self._coordinate: list[int] | None = at[0] if at else None
        self._groups = self._made() if _groups is None else _groups

    def _made(self) -> list[ProcessGroup]:
        """Make a group for each row along each dimension; return those of this rank."""
        world = default_group()
        # All ranks in their order are the group that exists already.
        if self.mesh.ndim <= 1 and self.mesh.flatten().tolist() == world.ranks:
            return [world]
        groups = []
        for dim in range(self.mesh.ndim):
            rows = self.mesh.movedim(dim, -1).reshape(-1, self.mesh.shape[dim]).tolist()
            name = "" if self.mesh_dim_names is None else self.mesh_dim_names[dim]
            # All ranks make the groups of all rows, which `new_group` needs.
            own, _ = new_subgroups_by_enumeration(rows, group_desc=f"mesh_{name or f'dim_{dim}'}")
            if own is not None:
                groups.append(own)
        return groups

    @staticmethod
    def from_group(
        group: ProcessGroup | list[ProcessGroup],
        device_type: str,
        mesh: Tensor | Sequence[Any] | None = None,
        *,
        mesh_dim_names: Sequence[str] | None = None,
    ) -> DeviceMesh:
        """Return a mesh of groups that exist: one for each dimension.

        Parameters
        ----------
        group : ProcessGroup or list of ProcessGroup
            This rank's group along each dimension.
        device_type : str
            The type of the devices.
        mesh : Tensor or nested sequence of int, optional
            The ranks; needed for more than one group.
        mesh_dim_names : tuple of str, optional
            A name for each dimension.

        Raises
        ------
        ValueError
            The ranks and the groups do not fit together.
        """
        groups = [group] if isinstance(group, ProcessGroup) else list(group)
        if mesh is None:
            if len(groups) != 1:
                raise ValueError("from_group: several groups need a mesh")
            mesh = get_process_group_ranks(groups[0])
        result = DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names, _groups=groups)
        if result.ndim != len(groups):
            raise ValueError(f"from_group: {len(groups)} groups for a mesh of {result.ndim} dimensions")
        return result

    # --- its shape -------------------------------------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.mesh.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of ranks along each dimension."""
        return tuple(self.mesh.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """Return the number of ranks, of all or along a dimension."""
        return math.prod(self.shape) if mesh_dim is None else self.shape[mesh_dim]

    def __repr__(self) -> str:
        names = "" if self.mesh_dim_names is None else f", mesh_dim_names={self.mesh_dim_names}"
        return f"DeviceMesh({self.device_type!r}, {self.mesh.tolist()}{names})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DeviceMesh)
            and self.device_type == other.device_type
            and self.mesh_dim_names == other.mesh_dim_names
            and self.mesh.tolist() == other.mesh.tolist()
        )

    def __hash__(self) -> int:
        return hash((self.device_type, self.mesh_dim_names, self.shape, tuple(self.mesh.flatten().tolist())))

    # --- where this rank is ------------------------------------------------------------------------------------------

    def get_rank(self) -> int:
        """Return this rank in the job."""
        return self._rank

    def get_coordinate(self) -> list[int] | None:
        """Return where this rank is in the mesh; None if it is not."""
        return None if self._coordinate is None else list(self._coordinate)

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """Return this rank along a dimension; it may be left out if there is only one.

        Raises
        ------
        RuntimeError
            There are several dimensions, or this rank is not in the mesh.
        """
        dim = self._dim(mesh_dim, "get_local_rank")
        if self._coordinate is None:
            raise RuntimeError(f"get_local_rank: rank {self._rank} is not in {self!r}")
        return self._coordinate[dim]

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """Return this rank's group along a dimension; it may be left out if there is only one.

        Raises
        ------
        RuntimeError
            There are several dimensions, or this rank is not in the mesh.
        KeyError
            No dimension has this name.
        """
        dim = self._dim(mesh_dim, "get_group")
        if not self._groups:
            raise RuntimeError(f"get_group: rank {self._rank} is not in {self!r}")
        return self._groups[dim]

    def get_all_groups(self) -> list[ProcessGroup]:
        """Return this rank's groups along all dimensions."""
        return list(self._groups)

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        """Return the part of the mesh along some dimensions, in which this rank is.

        Raises
        ------
        RuntimeError
            The dimensions have no names, or this rank is not in the mesh.
        KeyError
            No dimension has this name.
        """
        selected = (names,) if isinstance(names, str) else tuple(names)
        if self.mesh_dim_names is None:
            raise RuntimeError(
                "a mesh whose dimensions have no names cannot be sliced\n  try: mesh_dim_names="
            )
        if self._coordinate is None:
            raise RuntimeError(f"rank {self._rank} is not in {self!r}")
        dims = [self._dim(name, "DeviceMesh") for name in selected]
        if len(set(dims)) != len(dims):
            raise KeyError(f"a dimension is there twice: {selected}")
        # This rank's coordinate along the other dimensions.
        at = tuple(slice(None) if dim in dims else where for dim, where in enumerate(self._coordinate))
        part = self.mesh[at]
        # Indexing keeps the mesh's order of dimensions; the caller's order counts.
        part = part.permute([sorted(dims).index(dim) for dim in dims])
        groups = [self._groups[dim] for dim in dims]
        return DeviceMesh(self.device_type, part, mesh_dim_names=selected, _groups=groups)

    def _flatten(self, mesh_dim_name: str | None = None) -> DeviceMesh:
        """Return a mesh of one dimension with the ranks of this one; all ranks of the job call it.

        Examples
        --------
        >>> import tt.distributed as dist
        >>> def program():
        ...     mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
        ...     return mesh._flatten()
        >>> dist.run_threads(program, 4)[0]
        DeviceMesh('cpu', [0, 1, 2, 3], mesh_dim_names=('a_b',))
        """
        name = mesh_dim_name or "_".join(self.mesh_dim_names or [str(dim) for dim in range(self.ndim)])
        return DeviceMesh(self.device_type, self.mesh.flatten(), mesh_dim_names=(name,))

    def _dim(self, mesh_dim: int | str | None, name: str) -> int:
        if mesh_dim is None:
            if self.ndim > 1:
                raise RuntimeError(f"{name}: the mesh has {self.ndim} dimensions; say which: mesh_dim=")
            return 0
        if isinstance(mesh_dim, str):
            if self.mesh_dim_names is None or mesh_dim not in self.mesh_dim_names:
                raise KeyError(
                    f"{name}: no dimension is called {mesh_dim!r}; there are {self.mesh_dim_names}"
                )
            return self.mesh_dim_names.index(mesh_dim)
        if not -self.ndim <= mesh_dim < self.ndim:
            raise IndexError(f"{name}: dimension {mesh_dim} of a mesh of {self.ndim}")
        return mesh_dim % self.ndim


def _check_names(names: tuple[str, ...], ndim: int) -> None:
    if len(set(names)) != len(names):
        raise RuntimeError(f"Each mesh_dim_name must be unique, got {names}")
    if len(names) != ndim:
        raise RuntimeError(f"mesh_shape and mesh_dim_names should have same length: {ndim} and {len(names)}")


def init_device_mesh(
    device_type: str,
    mesh_shape: Sequence[int],
    *,
    mesh_dim_names: Sequence[str] | None = None,
    backend_override: object = None,
) -> DeviceMesh:
    """Arrange the ranks of the job in an array, in their order, and make the groups of its rows.

    All ranks call it; without a group of all ranks, `init_process_group` is called first.

    Parameters
    ----------
    device_type : str
        The type of the devices that the ranks use, without an index.
    mesh_shape : sequence of int
        The number of ranks along each dimension; the product is the number of ranks.
    mesh_dim_names : sequence of str, optional
        A name for each dimension.
    backend_override : dict, optional
        Not supported: every group has the engines of the group of all ranks.

    Raises
    ------
    RuntimeError
        The names do not fit to the shape; the device type has an index.
    ValueError
        The shape does not have as many elements as there are ranks.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> def program():
    ...     mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicas", "shards"))
    ...     x = tt.tensor([dist.get_rank()])
    ...     dist.all_reduce(x, group=mesh.get_group("replicas"))
    ...     return x.item()
    >>> dist.run_threads(program, 4)
    [2, 4, 2, 4]
    """
    shape = tuple(int(each) for each in mesh_shape)
    if mesh_dim_names is not None:
        _check_names(tuple(mesh_dim_names), len(shape))
    if not device_type.isalpha():
        raise RuntimeError(f"Device type with index is not supported: {device_type!r}")
    if backend_override:
        raise NotImplementedError("init_device_mesh: backend_override is not supported")
    if not is_initialized():
        init_process_group()
    if math.prod(shape) != get_world_size():
        raise ValueError(f"init_device_mesh: shape {shape} for {get_world_size()} ranks")
    mesh = tt.arange(math.prod(shape)).reshape(shape)
    return DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names)

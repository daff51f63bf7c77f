from __future__ import annotations

import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import run
from tt.distributed import DeviceMesh, init_device_mesh


def test_a_mesh_has_a_group_for_each_row_of_each_dimension(engine):
    def program():
        mesh = init_device_mesh("cpu", (2, 3), mesh_dim_names=("a", "b"))
        rank = dist.get_rank()
        assert mesh.mesh.tolist() == [[0, 1, 2], [3, 4, 5]]
        assert (mesh.shape, mesh.ndim, mesh.size(), mesh.size(1), mesh.get_rank()) == ((2, 3), 2, 6, 3, rank)
        assert mesh.get_coordinate() == [rank // 3, rank % 3]
        assert mesh.get_local_rank("a") == rank // 3 and mesh.get_local_rank(1) == rank % 3
        columns = dist.get_process_group_ranks(mesh.get_group("a"))
        rows = dist.get_process_group_ranks(mesh.get_group("b"))
        assert mesh.get_all_groups() == [mesh.get_group(0), mesh.get_group(1)]
        assert mesh.get_group("a").group_desc == "mesh_a"
        x = tt.tensor([rank])
        dist.all_reduce(x, group=mesh.get_group("b"))
        return columns, rows, x.item()

    found = run(program, 6, backend=engine)
    assert found[4] == ([1, 4], [3, 4, 5], 12) and found[0] == ([0, 3], [0, 1, 2], 3)


def test_parts_of_a_mesh_share_its_groups(engine):
    def program():
        mesh = init_device_mesh("cpu", (2, 1, 2), mesh_dim_names=("a", "b", "c"))
        part = mesh["a", "c"]
        turned = mesh["c", "a"]
        assert part.get_group("c") is mesh.get_group("c")
        assert turned.get_group("c") is mesh.get_group(2) and turned.shape == (2, 2)
        line = mesh["c"]
        assert line.get_group() is mesh.get_group("c") and line.get_local_rank() == dist.get_rank() % 2
        flat = part._flatten("all")
        return part.mesh.tolist(), turned.mesh.tolist(), line.mesh.tolist(), flat.mesh.tolist()

    found = run(program, 4, backend=engine)
    assert found[3] == ([[0, 1], [2, 3]], [[0, 2], [1, 3]], [2, 3], [0, 1, 2, 3])


def test_a_mesh_of_some_ranks_and_one_of_groups(engine):
    def program():
        mesh = DeviceMesh("cpu", [0, 2])
        line = DeviceMesh("cpu", [0, 1, 2])
        assert line.get_group() is dist.group.WORLD
        assert DeviceMesh.from_group(dist.group.WORLD, "cpu") == line and hash(line) == hash(line)
        assert line != mesh and "DeviceMesh('cpu', [0, 2])" in repr(mesh)
        with pytest.raises(ValueError, match="several groups need a mesh"):
            DeviceMesh.from_group([dist.group.WORLD] * 2, "cpu")
        if dist.get_rank() == 1:
            assert mesh.get_coordinate() is None and mesh.get_all_groups() == []
            with pytest.raises(RuntimeError, match="rank 1 is not in"):
                mesh.get_group()
            with pytest.raises(RuntimeError, match="rank 1 is not in"):
                mesh.get_local_rank()
            return None
        return mesh.get_local_rank()

    assert run(program, 3, backend=engine) == [0, None, 1]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: init_device_mesh("cpu", (3,)), ValueError, r"shape \(3,\) for 2 ranks"),
        (lambda: init_device_mesh("cpu", (2, 1), mesh_dim_names=("a",)), RuntimeError, "same length"),
        (lambda: init_device_mesh("cpu", (2, 1), mesh_dim_names=("a", "a")), RuntimeError, "unique"),
        (lambda: init_device_mesh("cuda:0", (2,)), RuntimeError, "index is not supported"),
        (lambda: DeviceMesh("cpu", [0, 0]), ValueError, "once"),
        (lambda: DeviceMesh("cpu", [0, 5]), ValueError, "not all ranks"),
        (lambda: init_device_mesh("cpu", (2,))["a"], RuntimeError, "no names"),
        (lambda: init_device_mesh("cpu", (2,), mesh_dim_names=("a",))["b"], KeyError, "no dimension"),
        (lambda: init_device_mesh("cpu", (1, 2)).get_group(), RuntimeError, "2 dimensions; say which"),
        (lambda: init_device_mesh("cpu", (2,)).get_group(4), IndexError, "dimension 4"),
        (lambda: init_device_mesh("cpu", (2,), backend_override={"a": "b"}), NotImplementedError, "backend"),
    ],
)
def test_wrong_arguments_are_refused(call, error, text):
    def program():
        with pytest.raises(error, match=text):
            call()

    run(program, 2)

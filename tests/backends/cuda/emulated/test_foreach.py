"""Operators over lists of tensors on an emulated device: one launch where lists allow it, else tensor by tensor."""

from __future__ import annotations

import pytest

import tt
from tt.core.library import REGISTRY

SHAPES = [(3,), (2, 4), (), (0, 2), (5,)]
OPS = {
    "add": (1, (2.5,)), "mul": (1, (2.5,)), "sqrt": (1, ()), "addcmul": (3, (0.5,)), "addcdiv": (3, (0.5,)),
    "lerp": (2, (0.25,)), "add.List": (2, ()), "mul.List": (2, ()), "sub": (1, (2.5,)), "div": (1, (2.5,)),
    "sub.List": (2, ()), "div.List": (2, ()), "maximum": (1, (1.5,)), "minimum.List": (2, ()), "clamp_max": (1, (1.5,)),
    "clamp_min.List": (2, ()), "abs": (1, ()), "neg": (1, ()), "sign": (1, ()), "frac": (1, ()), "round": (1, ()),
    "reciprocal": (1, ()), "rsqrt": (1, ()), "sigmoid": (1, ()), "exp": (1, ()), "lgamma": (1, ()), "log1p": (1, ()),
}  # fmt: skip


def lists(count, dtype=tt.float32):
    return [[tt.rand(shape).add(1).to(dtype) for shape in SHAPES] for _ in range(count)]


def there(made):
    return [[x.to("cuda") for x in one] for one in made]


def launches(function, *args):
    engine = REGISTRY.backend("cuda").engine
    engine.launches.clear()
    found = function(*args)
    return found, [name for name, *_ in engine.launches]


def same(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.device.type == "cuda" and one.dtype is other.dtype and one.stride() == other.stride()
        tt.testing.assert_close(one.cpu(), other, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", [tt.float32, tt.float16, tt.float64])
@pytest.mark.parametrize("op", OPS)
def test_one_launch_serves_a_list(op, dtype):
    count, numbers = OPS[op]
    name = op.partition(".")[0]
    given = lists(count, dtype)
    mine = there(given)
    expected = getattr(tt, f"_foreach_{name}")(*given, *numbers)
    found, names = launches(getattr(tt, f"_foreach_{name}"), *mine, *numbers)
    same(found, expected)
    assert [name.partition("<")[0] for name in names] == ["each_tensor"]
    versions = [x._version for x in mine[0]]
    _, names = launches(getattr(tt, f"_foreach_{name}_"), *mine, *numbers)
    same(mine[0], expected)
    assert len(names) == 1 and all(x._version > v for x, v in zip(mine[0], versions, strict=True))


@pytest.mark.parametrize("order", [1, 2.0, float("inf")])
def test_norms_of_a_list_are_two_launches(order):
    given = [[tt.randn(n) for n in (1, 3, 20000, 5)]]
    found, names = launches(tt._foreach_norm, *there(given), order)
    same(found, tt._foreach_norm(*given, order))
    assert [name.partition("<")[0] for name in names] == ["norm_parts", "norm_wholes"]


def test_a_number_on_the_device_is_read_there():
    given = lists(1)[0]
    mine, number = there([given])[0], tt.tensor(2.5, device="cuda")
    found, names = launches(tt._foreach_mul, mine, number)
    same(found, tt._foreach_mul(given, 2.5))
    assert len(names) == 1
    _, names = launches(tt._foreach_mul_, mine, number)
    same(mine, tt._foreach_mul(given, 2.5))
    assert len(names) == 1


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_number_that_is_part_of_a_target_is_refused(device):
    x = [tt.full((3,), 2.0, device=device) for _ in range(5)]
    with pytest.raises(RuntimeError, match="an operand covers a part of the memory"):
        tt._foreach_mul_(x, x[1][0])


def test_gradients_are_clipped_by_a_few_launches():
    weights = [tt.nn.Parameter(tt.zeros(n + 1, device="cuda")) for n in range(20)]
    for weight in weights:
        weight.grad = tt.ones_like(weight)
    _, names = launches(tt.nn.utils.clip_grad_norm_, weights, 1.0)
    assert len(names) < 20
    total = sum(float(w.grad.square().sum()) for w in weights)
    assert abs(total - 1) < 1e-4


ODD = {
    "few": lambda: ([tt.ones(3)], 2.0),
    "integers": lambda: ([tt.ones(3, dtype=tt.int64)] * 5, 2.5),
    "complex": lambda: ([tt.ones(3) for _ in range(5)], 2j),
    "gaps": lambda: ([tt.ones(3, 4)[:, ::2] for _ in range(5)], 2.0),
    "strides": lambda: ([tt.ones(3, 4) for _ in range(5)], [tt.ones(4, 3).t() for _ in range(5)]),
    "broadcast": lambda: ([tt.ones(3, 4) for _ in range(5)], [tt.ones(4) for _ in range(5)]),
    "dtypes": lambda: ([tt.ones(3) for _ in range(5)], [tt.ones(3, dtype=tt.float64) for _ in range(5)]),
}


@pytest.mark.parametrize("case", ODD)
def test_other_lists_are_served_tensor_by_tensor(case):
    args = ODD[case]()
    mine = [[x.to("cuda").as_strided(x.shape, x.stride()) if x.is_contiguous() else x.cuda() for x in one]
            if isinstance(one, list) else one for one in args]  # fmt: skip
    found = tt._foreach_mul(*mine)
    for one, other in zip(found, tt._foreach_mul(*args), strict=True):
        assert one.dtype is other.dtype
        tt.testing.assert_close(one.cpu(), other)


def test_several_dtypes_are_a_launch_each():
    given = [[tt.ones(3), tt.ones(2, dtype=tt.float64), tt.ones(4), tt.ones(5, dtype=tt.float64)]]
    found, names = launches(tt._foreach_add, *there(given), 2.0)
    assert [x.dtype for x in found] == [x.dtype for x in given[0]]
    assert len(names) == 2 and all(bool((x == 3).all()) for x in found)


def test_a_tensor_that_is_twice_in_a_list_is_changed_twice():
    x = tt.ones(3, device="cuda")
    tt._foreach_add_([x, x, tt.ones(2, device="cuda"), x], 1.0)
    assert x.tolist() == [4, 4, 4]


def test_lists_of_other_lengths_and_empty_ones_are_refused():
    x = [tt.ones(3, device="cuda") for _ in range(5)]
    with pytest.raises(RuntimeError, match="same number of tensors"):
        tt._foreach_mul(x, x[1:])
    with pytest.raises(RuntimeError, match="at least one"):
        tt._foreach_sqrt([])


def test_gradients_go_through_the_composite():
    x = [tt.full((n,), 4.0, device="cuda", requires_grad=True) for n in range(1, 6)]
    sum(y.sum() for y in tt._foreach_sqrt(x)).backward()
    assert all(bool((one.grad == 0.25).all()) for one in x)

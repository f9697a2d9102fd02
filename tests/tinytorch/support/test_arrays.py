"""Arrays, shapes, and who holds an array."""

import tracemalloc

import numpy as np

from tinytorch.support.arrays import (
    is_exclusive,
    keep_freed_memory,
    pack_bits,
    sum_in_place,
    unpack_bits,
)


def test_an_array_in_one_variable_is_exclusive():
    def alone():
        array = np.ones(3)
        return is_exclusive(array)

    assert alone()


def test_an_array_that_a_list_refers_to_is_not_exclusive():
    def with_a_list():
        array = np.ones(3)
        others = [array]
        return is_exclusive(array), others

    assert not with_a_list()[0]


def test_views_and_numbers_are_not_exclusive():
    g = np.ones(3)
    view = g[:]
    assert not is_exclusive(view) and not is_exclusive(np.float32(1)) and not is_exclusive(1.0)


def test_an_array_whose_memory_a_view_uses_is_not_exclusive():
    def with_a_view():
        array = np.ones(3)
        view = array[1:]
        return is_exclusive(array), view

    assert not with_a_view()[0]


def test_a_sum_is_in_place_only_where_nothing_else_refers_to_the_array():
    g, arrays = np.array([3.0, 4.0]), {"x": np.array([1.0, 2.0])}
    address = arrays["x"].ctypes.data
    result = sum_in_place(arrays.pop("x"), g)
    assert result.ctypes.data == address and result.tolist() == [4.0, 6.0]
    arrays = {"x": result, "view": result[:1]}
    del result
    for kept in (arrays["x"], np.broadcast_to(g, (2,)), np.float64(2.0)):
        before = np.array(kept)
        arrays["x"] = kept
        assert (sum_in_place(arrays.pop("x"), g) == before + g).all()
        assert (kept == before).all() and g.tolist() == [3.0, 4.0]
    del kept
    arrays = {"x": np.zeros(2)}
    arrays["view"] = arrays["x"][:1]
    sum_in_place(arrays.pop("x"), g)
    assert arrays["view"].tolist() == [0.0]


def test_the_block_is_just_below_the_limit_of_glibc_and_freed_at_once():
    tracemalloc.start()
    try:
        keep_freed_memory()
        left, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    largest = 4 * 1024 * 1024 * 8  # DEFAULT_MMAP_THRESHOLD_MAX of glibc, 64 bits: 32 MiB
    assert 0.9 * largest < peak < largest and left < 100_000


def test_packed_bits_come_in_order_and_the_sign_is_restored():
    q = np.array([3, -1, 2, -4, 0], np.int8)  # 011, 111, 010, 100, 000, the lowest bit first
    packed = pack_bits(q, 3)
    assert [f"{byte:08b}" for byte in packed] == ["10111011", "00001000"]
    assert np.array_equal(unpack_bits(packed, 5, 3), q)
    assert np.array_equal(unpack_bits(packed, 2, 3), q[:2])
    whole = pack_bits(q, 8)  # the bytes of q, copied
    assert np.array_equal(whole, q.view(np.uint8)) and not np.shares_memory(whole, q)
    again = unpack_bits(whole, 4, 8)
    assert np.array_equal(again, q[:4]) and not np.shares_memory(again, whole)

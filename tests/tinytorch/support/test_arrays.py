"""Arrays: the memory of freed ones, and packed bits."""

import tracemalloc

import numpy as np

from tinytorch.support.arrays import keep_freed_memory, pack_bits, unpack_bits


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

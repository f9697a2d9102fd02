"""The block that is freed must be one that glibc adapts to."""

import tracemalloc

from tinytorch.support.allocator import keep_freed_memory


def test_the_block_is_just_below_the_limit_of_glibc_and_freed_at_once():
    tracemalloc.start()
    try:
        keep_freed_memory()
        left, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    largest = 4 * 1024 * 1024 * 8  # DEFAULT_MMAP_THRESHOLD_MAX of glibc, 64 bits: 32 MiB
    assert 0.9 * largest < peak < largest and left < 100_000

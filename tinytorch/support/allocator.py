"""How the C library reuses the memory of freed arrays."""

import numpy as np

__all__ = ["keep_freed_memory"]


def keep_freed_memory():
    """Let glibc reuse freed blocks of up to 31 MiB, for the rest of the process.

    On Linux, glibc returns a large block to the system when it is freed; for the next block, the
    system has to provide each page of 4 kB again. A small network spent a third of its time on
    that. glibc adapts its threshold: it keeps blocks that are not larger than the largest block
    freed so far. So this function allocates such a block and frees it; its pages are never touched,
    so it takes no memory. From 32 MiB on, glibc does not adapt. Other C libraries are not affected.
    """
    np.empty(31 << 20, np.uint8)

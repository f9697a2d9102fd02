"""How the C library keeps the memory of arrays that are gone."""

import numpy as np

__all__ = ["keep_freed_memory"]


def keep_freed_memory():
    """Let glibc keep freed blocks of up to 31 MiB for the next array, for the rest of the process.

    On Linux, a large block goes back to the system when it is freed, and each page of the next one,
    4 kB, must be asked for again: a small network spent half of its time on that. glibc learns
    from what it sees: it keeps what is not larger than the largest block freed so far. So this
    takes such a block, which is never touched and costs no memory, and frees it. From 32 MiB on
    glibc learns nothing; other C libraries do not mind.
    """
    np.empty(31 << 20, np.uint8)

"""How a data set is divided: lengths of parts; drawings of parts, classes and batches."""

import math

from tinytorch.support.descriptions import described


def split_lengths(lengths, count):
    """How many of `count` examples each part of a split gets.

    lengths  integers that add up to `count`, or proportions that add up to 1: these are rounded
             down, and the examples that remain go to the first parts, one each
    returns  list of ints that add up to `count`

    ValueError when they add up to something else, with both numbers in its message.

    >>> split_lengths([0.75, 0.25], 10), split_lengths([4, 2], 6)
    ([8, 2], [4, 2])
    """
    if isinstance(lengths, str) or not hasattr(lengths, "__iter__"):
        raise TypeError(
            f"the lengths of the parts are {described(lengths)}, not a list\n"
            "give one for each part, such as [0.8, 0.2] or [1000, 200]"
        )
    if abs(sum(lengths) - 1) < 1e-6 and all(0 <= n <= 1 for n in lengths):
        # 0.29 * 100 is 28.999999999999996, hence the small number
        whole = [math.floor(count * proportion + 1e-9) for proportion in lengths]
        return [n + (part < count - sum(whole)) for part, n in enumerate(whole)]
    if sum(lengths) != count or any(n < 0 for n in lengths):
        raise ValueError(
            f"the lengths {list(lengths)} add up to {sum(lengths)}, there are {count} examples\n"
            "give lengths that add up to that, or proportions that add up to 1"
        )
    return [int(n) for n in lengths]

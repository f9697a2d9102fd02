"""What attention refuses: shapes that do not fit, and masks that contradict each other. Every error
says both shapes or numbers, and what to do."""

import numpy as np

__all__ = ["check_causal", "check_heads", "check_positions", "check_query_key_value"]


def check_query_key_value(query, key, value):
    """ValueError unless query (..., Tq, d), key (..., Tk, d) and value (..., Tk, e) fit.

    >>> import numpy as np
    >>> check_query_key_value(np.zeros((2, 3)), np.zeros((4, 3)), np.zeros((4, 7)))
    """
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise ValueError(
            "query, key and value need a row for each position: two axes or more, not shapes "
            f"{query.shape}, {key.shape} and {value.shape}\nfor one query use query.unsqueeze(0)"
        )
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            f"queries of shape {query.shape} and keys of shape {key.shape} have {query.shape[-1]} "
            f"and {key.shape[-1]} numbers each\na dot product needs the same number"
        )
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"keys of shape {key.shape} and values of shape {value.shape}: {key.shape[-2]} keys, "
            f"{value.shape[-2]} values\nevery key needs one value"
        )


def check_causal(query, key, mask):
    """ValueError for is_causal=True with a mask, or with different numbers of queries and keys.

    PyTorch aligns the mask at the first key then, and the last query does not see the last key.

    >>> import numpy as np
    >>> check_causal(np.zeros((3, 2)), np.zeros((3, 2)), None)
    """
    queries, keys = query.shape[-2], key.shape[-2]
    if mask is not None:
        causal = f"causal_mask({queries}, {keys})"
        is_bool = mask.dtype == bool
        both = f"attn_mask & {causal}" if is_bool else f"where({causal}, attn_mask, -np.inf)"
        raise ValueError(
            "is_causal=True and an attn_mask are two masks: combine them into one and leave "
            f"is_causal out\nfor example attn_mask={both}"
        )
    if queries != keys:
        raise ValueError(
            f"is_causal=True with {queries} queries and {keys} keys: which query is at which "
            "position? If the queries are the last positions, write "
            f"attn_mask=causal_mask({queries}, {keys})"
        )


def check_heads(width, heads, rotary=False):
    """ValueError unless `heads` heads of one size, an even size if `rotary`, make up `width`.

    >>> check_heads(12, 3, rotary=True)
    """
    if heads < 1 or width % heads:
        raise ValueError(
            f"{width} numbers cannot be divided among {heads} heads of one size\n"
            "the number of heads must divide the width"
        )
    if rotary and width // heads % 2:
        raise ValueError(
            f"rotary positions need heads of an even width, not {width} / {heads} = "
            f"{width // heads}"
        )


def check_positions(x, positions):
    """ValueError unless x (..., T, d) has an even d, and positions the shape (T,).

    >>> import numpy as np
    >>> check_positions(np.zeros((2, 4)), [5, 6])
    """
    if x.shape[-1] % 2:
        raise ValueError(
            f"rope rotates pairs of numbers, and {x.shape[-1]}, the last length of shape "
            f"{x.shape}, is odd"
        )
    if np.shape(positions) != x.shape[-2:-1]:
        raise ValueError(
            f"x of shape {x.shape} has {x.shape[-2]} rows, and positions have shape "
            f"{np.shape(positions)}\ngive one position for each row, shape ({x.shape[-2]},)"
        )

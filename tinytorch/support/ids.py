"""Token ids: made an array of integers, or refused."""

import numpy as np

__all__ = ["as_ids"]


def as_ids(ids, vocab_size=None):
    """A copy of token ids as an int64 array.

    ids         ints: a number, nested lists, an array or a Tensor, of any shape
    vocab_size  where it is given, each id must be from 0 to below it
    returns     a new ndarray, so that nobody changes it later

    TypeError for anything but integers. IndexError for an id that is not in the vocabulary, with
    the first such id and the size.

    >>> as_ids([[3, 1], [4, 1]])
    array([[3, 1],
           [4, 1]])
    """
    array = np.asarray(ids)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(
            f"token ids are integers, these are {array.dtype}: {str(array)[:40]}\n"
            "encode the text first, or convert them with .astype(int)"
        )
    if vocab_size is not None:
        wrong = array[(array < 0) | (array >= vocab_size)]
        if wrong.size:
            raise IndexError(
                f"id {wrong[0]} is none of the {vocab_size} ids from 0 to {vocab_size - 1}\n"
                "were the ids made by another tokenizer?"
            )
    return array.astype(np.int64)

"""Token ids: arrays of them, vocabularies, counts of n-grams, and sums of rows by id."""

import json
import math
from pathlib import Path

import numpy as np

from tinytorch.support.arguments import check_kind, check_number
from tinytorch.support.checkpoints import replaced_file


def as_ids(ids, vocab_size=None):
    """A copy of token ids as an int64 array.

    ids         ints: a number, nested lists, an array or a Tensor, of any shape
    vocab_size  where it is given, each id must be from 0 to below it
    returns     a new ndarray, which shares no memory with `ids`

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


def as_rows(ids):
    """Token ids as an int64 array of shape (B, T), T >= 1.

    ids  array, list of lists or Tensor of int; ValueError, with its shape, when it has another
         rank or no ids, TypeError for ids that are no integers

    >>> as_rows([[5, 7]])
    array([[5, 7]])
    """
    ids = np.asarray(ids)
    if ids.ndim != 2 or not ids.size:
        raise ValueError(
            f"ids must have shape (B, T), one row for each text, with T >= 1, not {ids.shape}; "
            "one list of ids is a row: np.array([ids])"
        )
    return as_ids(ids)


def check_logits(logits, rank=None):
    """`logits`, a Tensor or array of shape (..., V). ValueError, with the row, when a row has no
    largest finite number: a token cannot be chosen by it; and for anything but (B, V) if the rank
    is to be 2."""
    array = logits if isinstance(logits, np.ndarray) else logits.data
    if rank == 2 and array.ndim in (1, 3):
        cure = ("make it a batch of one row: logits[None]" if array.ndim == 1
                else "take the logits of the last token: logits[:, -1]")  # fmt: skip
        raise ValueError(f"logits of shape {array.shape} are not a batch of rows, (B, V)\n{cure}")
    if not array.shape[-1:] or not array.shape[-1]:
        raise ValueError(
            f"logits are one number for each token of the vocabulary, not of shape {array.shape}"
        )
    largest = np.maximum.reduce(array, axis=-1)
    if not np.isfinite(largest).all():
        wrong = np.argwhere(~np.isfinite(largest))
        row, found = tuple(wrong[0].tolist()), largest[tuple(wrong[0])]
        cause = "was every token removed?" if found == -np.inf else "has training diverged?"
        raise ValueError(f"the logits of row {', '.join(map(str, row)) or 0} hold {found}: {cause}")
    return logits


def usable_temperature(logits, t):
    """The temperature `t`; 0, which is greedy decoding, where an array of logits divided by it
    would overflow. ValueError for nan.

    >>> usable_temperature(np.float32([1, 3]), 1e-39), usable_temperature(np.float32([1, 3]), 0.5)
    (0, 0.5)
    """
    check_number("temperature", t, -math.inf)
    if math.isnan(t):
        raise ValueError("a temperature is 0 or more, not nan")
    largest = float(np.abs(logits[np.isfinite(logits)]).max(initial=0))
    limits = np.finfo(logits.dtype)
    return 0 if 0 < t < max(float(limits.tiny), largest / float(limits.max)) else t


def usable_p(dtype, p):
    """The limit for sums of probabilities of this dtype that are at least `p` but for rounding.

    >>> usable_p(np.dtype("float32"), 0.8) < 0.8, usable_p(np.dtype("float32"), 1)
    (True, 1)
    >>> bool(np.float32(usable_p(np.dtype("float32"), 1e-99)))
    True
    """
    check_number("top_p", p, -math.inf)
    limits = np.finfo(dtype)
    return max(p * (1 - 4 * float(limits.eps)), float(limits.tiny)) if 0 < p < 1 else p


def one_row(ids):
    """Token ids of shape (T,) as a list of ints. ValueError for several rows.

    >>> one_row(np.array([3, 1]))
    [3, 1]
    """
    ids = as_ids(ids)
    if ids.ndim != 1:
        raise ValueError(
            f"ids must have shape (T,), not {ids.shape}\ndecode one row at a time: decode(ids[0])"
        )
    return ids.tolist()


def check_str(text):
    """Raise TypeError for what is no str."""
    if not isinstance(text, str):
        raise TypeError(f"a text is a str, not {type(text).__name__}")


def check_text(text):
    """Raise ValueError, with the place, for a text that has no UTF-8 bytes. Python reads one from a
    file name or from JSON: in place of half a character it has a number called a lone surrogate.
    TypeError for what is no str.
    """
    check_str(text)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{text[error.start]!r} at position {error.start} is half of a character, so the text "
            'has no UTF-8 bytes\nto replace all such halves, write text.encode("utf-8", '
            '"replace").decode()'
        ) from None


def check_vocabulary(merges, special_tokens):
    """Refuse what is no vocabulary of byte-pair encoding.

    merges          {(id, id): new id}: the new ids are 256, 257, ..., and each pair consists of
                    smaller ids
    special_tokens  {text: id}: no text is empty, no id is used twice or below 256 + len(merges)

    Raises ValueError, with the value that is wrong.

    >>> check_vocabulary({(97, 98): 256}, {"<end>": 257})
    """
    cure = "train_bpe(text, vocab_size) makes one, {(id, id): new id}"
    check_kind("merges", merges, "items", "a dict", cure)
    check_kind("special_tokens", special_tokens, "items", "a dict", "it has the ids, {text: id}")
    for number, (pair, new) in enumerate(merges.items(), 256):
        if new != number:
            raise ValueError(
                f"the merge {pair} has the id {new}, it should be {number}: "
                "new ids are 256, 257, ... in the order of training"
            )
        if not all(0 <= part < new for part in pair):
            raise ValueError(f"the merge {pair} has the id {new}: its parts need smaller ids")
    used = {}
    for name, number in special_tokens.items():
        check_text(name)
        if name == "":
            raise ValueError("a special token cannot be the empty text")
        if number < 256 + len(merges) or number in used:
            whose = f"of {used[number]!r}" if number in used else "of a byte or a merge"
            raise ValueError(
                f"the special token {name!r} has the id {number} {whose}; "
                f"ids from {256 + len(merges)} up are free"
            )
        used[number] = name


def write_file(path, text):
    """Write a text to a file: it is written beside the old file, then renamed.

    path  str or Path, in a folder that exists
    """
    with replaced_file(path) as file:
        file.write(text.encode())


def read_file(path, key):
    """The text of a file that holds a JSON object with this key.

    Raises ValueError, with the path, when it holds anything else.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        content = json.loads(text)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        content = None
    if not isinstance(content, dict) or key not in content:
        raise ValueError(f"{path} is not the file of such a tokenizer: it has no {key!r}")
    return text


class NGramCounts:
    """How often each token follows each context of some length in a text.

    ids         int array (n,): the text
    length      tokens in a context, 0 or more
    vocab_size  V; ValueError when there are 2**63 or more possible n-grams

    .length     as given

    >>> counts = NGramCounts([0, 1, 0, 1, 0, 0], length=1, vocab_size=2)
    >>> counts.following([0])
    (array([1, 2]), 3, 2)
    """

    def __init__(self, ids, length, vocab_size):
        if vocab_size ** (length + 1) >= 2**63:
            raise ValueError(
                f"{vocab_size} tokens have too many n-grams of length {length + 1} to number them"
                "\ntake a smaller order"
            )
        self.length, self.vocab_size = length, vocab_size
        grams = self.numbers(as_ids(ids, vocab_size))
        self.grams, self.counts = np.unique(grams, return_counts=True)
        self.contexts, first, self.distinct = np.unique(
            self.grams // vocab_size, return_index=True, return_counts=True
        )
        self.totals = np.add.reduceat(self.counts, first) if first.size else first

    def __len__(self):
        """How many different n-grams the text holds."""
        return len(self.grams)

    def numbers(self, ids):
        """Each n-gram of `ids`, the context and the token after it, as one number."""
        n = max(0, len(ids) - self.length)
        out = np.zeros(n, np.int64)
        for i in range(self.length + 1):
            out = out * self.vocab_size + ids[i : i + n]
        return out

    def look_up(self, ids):
        """The counts for each token of `ids` that has a whole context before it.

        ids      int array (m,)
        returns  three int arrays of shape (m - length,): how often the token follows its context;
                 how often anything follows it; how many different tokens do
        """
        grams = self.numbers(as_ids(ids, self.vocab_size))
        contexts = grams // self.vocab_size
        return (
            values_of(self.grams, self.counts, grams),
            values_of(self.contexts, self.totals, contexts),
            values_of(self.contexts, self.distinct, contexts),
        )

    def following(self, context):
        """The counts for every token after one context.

        context  ids, as many as `length`
        returns  int array (V,): how often each token follows; two ints: how often anything
                 follows, and how many different tokens do
        """
        number = 0
        for id in as_ids(context, self.vocab_size).tolist():
            number = number * self.vocab_size + id
        start = number * self.vocab_size
        low, high = np.searchsorted(self.grams, [start, start + self.vocab_size])
        counts = np.zeros(self.vocab_size, np.int64)
        counts[self.grams[low:high] - start] = self.counts[low:high]
        return counts, int(counts.sum()), int(high - low)


def values_of(keys, values, wanted):
    """The value of each wanted key, 0 for those that are not among the sorted keys."""
    if not len(keys):
        return np.zeros(len(wanted), np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, values[at], 0)


def scatter_add(rows, ids, count):
    """For each id the sum of its rows.

    rows     ndarray (n, D)
    ids      int ndarray (n,), each from 0 to count - 1: which sum a row belongs to
    count    how many sums there are
    returns  ndarray (count, D) of the dtype of `rows`; zeros for an id that does not occur

    The rows are sorted by id, so that those of one id are neighbours. `np.add.at` computes the
    same; for rows of 64 numbers it took between 1.4 and 11 times as long.

    >>> scatter_add(np.array([[1.0], [10.0], [100.0]]), np.array([2, 0, 2]), 3)
    array([[ 10.],
           [  0.],
           [101.]])
    """
    out = np.zeros((count, rows.shape[1]), rows.dtype)
    if len(ids):
        order = np.argsort(ids, kind="stable")
        ids = ids[order]
        first = np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]])
        out[ids[first]] = np.add.reduceat(rows[order], first, axis=0)
    return out

# From modules/source/12_tokenization/tokenization_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: 132cfa8fc9d722bd
"""Tokenization: From text to numbers and back, without losing a byte."""

import json
import math
import re
from collections import Counter, defaultdict

import numpy as np

from tinytorch.support.arguments import check_counts
from tinytorch.support.token_ids import check_str, check_text, check_vocabulary, one_row, read_file, write_file

__all__ = [
    "CharTokenizer", "to_bytes", "from_bytes", "merged", "pair_counts", "best_pair", "WORDS", "split", "count_words",
    "train_bpe", "merges_wanted", "token_bytes", "encode_word", "split_special", "Tokenizer", "to_json", "from_json",
    "compression", "bits_per_token", "replace_pair", "train_bpe_fast",
]


# Given: those that begin with check_ refuse arguments that cannot be right, such as a text
# without UTF-8 bytes. one_row turns ids into a list of int, the others read and write files.


class CharTokenizer:
    """A tokenizer whose tokens are the characters of a text.

    >>> CharTokenizer("banana").encode("nab")
    array([2, 0, 1])
    """

    def __init__(self, text):
        check_str(text)
        self.characters = "".join(sorted(set(text)))
        self.ids = {character: id for id, character in enumerate(self.characters)}

    @property
    def vocab_size(self):
        return len(self.characters)

    def token(self, id):
        """The UTF-8 bytes of one token. (The next section explains UTF-8.)"""
        return self.decode([id]).encode()

    def encode(self, text, allowed_special=()):
        """The ids of the characters of `text`.

        returns          int64 array of shape (n,), n the number of characters

        Raises ValueError if a character is not in the vocabulary.
        """
        check_str(text)
        for character in text:
            if character not in self.ids:
                raise ValueError(f"the vocabulary has no {character!r}")
        return np.array([self.ids[character] for character in text], dtype=np.int64)

    def decode(self, ids):
        """The text with these ids. Raises IndexError if an id is not in the vocabulary."""
        ids = one_row(ids)
        if wrong := [id for id in ids if not 0 <= id < self.vocab_size]:
            raise IndexError(f"id {wrong[0]} is not in the vocabulary; its ids are 0 to "
                             f"{self.vocab_size - 1}")
        return "".join(self.characters[id] for id in ids)

    def save(self, path):
        write_file(path, json.dumps({"characters": self.characters}))

    @classmethod
    def load(cls, path):
        return cls(json.loads(read_file(path, "characters"))["characters"])


def to_bytes(text):
    """The UTF-8 bytes of a text.

    returns  list of int from 0 to 255

    >>> to_bytes("né")
    [110, 195, 169]
    """
    check_text(text)
    return list(text.encode("utf-8"))


def from_bytes(ids):
    """The text with these UTF-8 bytes.

    returns  str

    >>> from_bytes([110, 195, 169])
    'né'
    """
    return bytes(ids).decode("utf-8", errors="replace")


def merged(ids, pair, new):
    """Replace each occurrence of a pair by one id, from left to right.

    returns  tuple of int

    >>> merged((97, 97, 97, 98), (97, 97), 256)
    (256, 97, 98)
    """
    out, i = [], 0
    while i < len(ids):
        if ids[i : i + 2] == pair:
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return tuple(out)


def pair_counts(words):
    """How often each pair of neighbouring ids occurs in a text.

    >>> pair_counts({(1, 2, 1, 2): 3, (1,): 5})
    Counter({(1, 2): 6, (2, 1): 3})
    """
    counts = Counter()
    for word, frequency in words.items():
        for pair in zip(word, word[1:]):
            counts[pair] += frequency
    return counts


def best_pair(counts):
    """The pair with the highest count; if several have it, the smallest of them.

    >>> best_pair({(98, 97): 4, (97, 99): 4, (97, 98): 1})
    (97, 99)
    """
    if not counts:
        return None
    highest = max(counts.values())
    return min(pair for pair, count in counts.items() if count == highest)


WORDS = r" ?[^\W\d_]+|\d{1,3}| ?(?:[^\w\s]|_)+|\s+(?!\S)|\s"


def split(text, pattern=WORDS):
    """Cut a text into words, numbers, marks and white space.

    returns  list of str, none of them empty

    >>> split("It is 12345,  no less!")
    ['It', ' is', ' ', '123', '45', ',', ' ', ' no', ' less', '!']
    """
    check_str(text)
    pieces, end = [], 0
    for match in re.finditer(pattern, text):
        pieces += [text[end : match.start()], match.group()]
        end = match.end()
    return [piece for piece in [*pieces, text[end:]] if piece]


def count_words(text, special_tokens=()):
    """{the bytes of a word, as a tuple: how often it occurs}, without special tokens."""
    check_text(text)
    parts = [text]
    for special in sorted(special_tokens, key=len, reverse=True):
        # part.split is the method of str, not our function `split`
        parts = [piece for part in parts for piece in part.split(special)]
    counts = Counter(word for part in parts for word in split(part))
    return {tuple(to_bytes(word)): count for word, count in counts.items()}


def train_bpe(text, vocab_size, special_tokens=()):
    """Train byte-pair encoding: find the merges.

    Raises ValueError if vocab_size is less than 256 plus the number of special tokens.

    >>> train_bpe("ab ab abc", 258)
    {(97, 98): 256, (32, 256): 257}
    """
    count = merges_wanted(vocab_size, special_tokens)
    words, merges = count_words(text, special_tokens), {}
    while len(merges) < count:
        pair = best_pair(pair_counts(words))
        if pair is None:
            break
        new = merges[pair] = 256 + len(merges)
        words = {merged(word, pair, new): n for word, n in words.items()}
    return merges


def merges_wanted(vocab_size, special_tokens):
    """The number of merges that gives a vocabulary of this size."""
    check_counts(vocab_size=vocab_size)
    count = vocab_size - 256 - len(special_tokens)
    if count < 0:
        raise ValueError(f"vocab_size {vocab_size} is too small for 256 bytes and "
                         f"{len(special_tokens)} special tokens")
    return count


def token_bytes(merges):
    """The bytes that each token stands for.

    >>> token_bytes({(104, 101): 256, (116, 256): 257})[257]
    b'the'
    """
    tokens = {id: bytes([id]) for id in range(256)}
    for (first, second), id in merges.items():
        tokens[id] = tokens[first] + tokens[second]
    return tokens


def encode_word(ids, merges):
    """Apply merges to the bytes of one word, lowest rank first, until no pair has a merge.

    returns  tuple of int

    >>> encode_word([97, 98, 99], {(98, 99): 256, (97, 98): 257})
    (97, 256)
    """
    ids = tuple(ids)
    while True:
        pairs = [pair for pair in zip(ids, ids[1:]) if pair in merges]
        if not pairs:
            return ids
        pair = min(pairs, key=merges.get)
        ids = merged(ids, pair, merges[pair])


def split_special(text, special_tokens):
    """Cut a text at special tokens.

    returns         list of str, none of them empty

    >>> split_special("one<end>two", ["<end>"])
    ['one', '<end>', 'two']
    """
    if not special_tokens:
        return [text] if text else []
    longest_first = sorted(special_tokens, key=len, reverse=True)
    pattern = "(" + "|".join(map(re.escape, longest_first)) + ")"
    return [piece for piece in re.split(pattern, text) if piece]


class Tokenizer:
    """A byte-level byte-pair tokenizer."""

    def __init__(self, merges, special_tokens={}):
        check_vocabulary(merges, special_tokens)  # ValueError if an id is used twice
        self.merges, self.special_tokens = dict(merges), dict(special_tokens)
        names = {id: name.encode() for name, id in special_tokens.items()}
        self.tokens, self.memory = token_bytes(self.merges) | names, {}

    @property
    def vocab_size(self):
        """The largest id plus 1."""
        return max(self.tokens) + 1

    def token(self, id):
        """The bytes of one token. Raises IndexError if there is no token with this id."""
        if id not in self.tokens:
            raise IndexError(f"id {id} is not in the vocabulary of {self.vocab_size} ids")
        return self.tokens[id]

    def encode(self, text, allowed_special=()):
        """The ids of a text.

        returns          int64 array of shape (n,)

        Raises ValueError if `allowed_special` contains a name that this tokenizer does not
        have.
        """
        check_text(text)
        if allowed_special == "all":
            allowed_special = self.special_tokens
        elif isinstance(allowed_special, str):
            allowed_special = [allowed_special]
        for name in allowed_special:
            if name not in self.special_tokens:
                raise ValueError(f"this tokenizer has no special token {name!r}")
        ids = []
        for piece in split_special(text, allowed_special):
            if piece in allowed_special:
                ids.append(self.special_tokens[piece])
                continue
            for word in split(piece):
                if word not in self.memory:
                    self.memory[word] = encode_word(to_bytes(word), self.merges)
                ids.extend(self.memory[word])
        return np.array(ids, dtype=np.int64)

    def decode(self, ids):
        """The text of token ids: their bytes joined, then decoded as `from_bytes` does.

        ids      array or list of int; IndexError when no token has one of these ids
        returns  str
        """
        ids = one_row(ids)
        return from_bytes(b"".join(self.token(id) for id in ids))

    def __call__(self, text):
        raise TypeError("a Tokenizer is not a function\nwrite tokenizer.encode(text)")

    def save(self, path):
        """Write the tokenizer to a file; see `to_json`."""
        write_file(path, to_json(self))

    @classmethod
    def load(cls, path):
        """The tokenizer that `save` wrote. Raises ValueError if the file is something else."""
        return from_json(read_file(path, "merges"))


def to_json(tokenizer):
    """A Tokenizer as JSON text: an object with "merges", a list of pairs in the order of
    training, and "special_tokens", an object {name: id}.

    returns  str

    >>> to_json(Tokenizer({(97, 98): 256}, {"<end>": 257}))
    '{"merges": [[97, 98]], "special_tokens": {"<end>": 257}}'
    """
    return json.dumps({"merges": list(tokenizer.merges),
                       "special_tokens": tokenizer.special_tokens})


def from_json(text):
    """The Tokenizer that `to_json` wrote as `text`: the same merges and special tokens."""
    content = json.loads(text)
    pairs = map(tuple, content["merges"])
    return Tokenizer({pair: 256 + rank for rank, pair in enumerate(pairs)},
                     content["special_tokens"])


def compression(text, tokenizer):
    """The average number of characters of `text` per token.

    returns    float

    >>> compression("abab cab", Tokenizer({(97, 98): 256}))
    1.6
    """
    check_str(text)
    if not text:
        raise ValueError("an empty text has no tokens")
    return len(text) / len(tokenizer.encode(text))


def bits_per_token(ids):
    """The unigram entropy of a sequence of token ids, with the frequencies in this sequence.

    returns  float

    >>> bits_per_token([5, 7, 5, 9])
    1.5
    """
    counts = np.unique(ids, return_counts=True)[1]
    p = counts / counts.sum()
    return float((p * np.log2(1 / p)).sum())


def replace_pair(pair, new, words, frequencies, counts, holders):
    """Merge a pair in the words that contain it, and update counts and holders."""
    for i in holders.pop(pair):
        old, words[i] = words[i], merged(words[i], pair, new)
        for neighbours in zip(old, old[1:]):
            counts[neighbours] -= frequencies[i]
        for neighbours in zip(words[i], words[i][1:]):
            counts[neighbours] += frequencies[i]
            holders[neighbours].add(i)
        for neighbours in zip(old, old[1:]):
            if counts[neighbours] == 0:
                del counts[neighbours]


def train_bpe_fast(text, vocab_size, special_tokens=()):
    """The merges of `train_bpe`, found in a fraction of the time."""
    wanted, word_counts, merges = (merges_wanted(vocab_size, special_tokens),
                                   count_words(text, special_tokens), {})
    counts, holders = Counter(pair_counts(word_counts)), defaultdict(set)
    words, frequencies = list(word_counts), list(word_counts.values())
    for i, word in enumerate(words):
        for neighbours in zip(word, word[1:]):
            holders[neighbours].add(i)
    while len(merges) < wanted and (pair := best_pair(counts)):
        merges[pair] = 256 + len(merges)
        replace_pair(pair, merges[pair], words, frequencies, counts, holders)
    return merges

"""The texts that come with the package; `tinytorch/data/SOURCES.md` says where they are from."""

import bz2
import hashlib
from functools import cache
from importlib.resources import files

__all__ = ["load_names", "load_text"]

SHA256 = {  # of the decompressed texts
    "austen": "65ca2a73cbccbebea6c925b57899e37b9a96dc75ea525f6a847d513ceb79ba70",
    "names": "a91e176a9231dcda99b0c55b178e74301cf3add64e1474691b4138127613d69b",
}


def load_text(split="train"):
    """Two novels by Jane Austen, Pride and Prejudice and Emma, one paragraph a line.

    split    "train" for the first 95 % of the text, "test" for the rest; ValueError when it is
             neither
    returns  str, ASCII: 1,484,215 or 78,117 characters

    >>> load_text("train")[45:98]
    'It is a truth universally acknowledged, that a single'

    Source: Project Gutenberg; public domain.
    """
    if split not in ("train", "test"):
        raise ValueError(f'split is "train" or "test", not {split!r}')
    text = read("austen")
    cut = len(text) * 95 // 100
    return text[:cut] if split == "train" else text[cut:]


def load_names():
    """First names, in lower case, the most frequent ones first: a list of 5,163 strings.

    >>> load_names()[:3]
    ['james', 'john', 'robert']

    Source: U.S. Census Bureau, 1990 census; public domain.
    """
    return read("names").split()


@cache
def read(name):
    """A text that comes with the package, by the first part of its file's name."""
    data = bz2.decompress((files("tinytorch") / "data" / f"{name}.txt.bz2").read_bytes())
    if hashlib.sha256(data).hexdigest() != SHA256[name]:
        raise ValueError(
            f"tinytorch/data/{name}.txt.bz2 is not the file that comes with the course: get it anew"
        )
    return data.decode()

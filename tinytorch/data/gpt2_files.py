"""GPT-2 as it is published: its four files, read into the GPT of lesson 15 and the tokenizer of
lesson 12.

    config.json        the sizes
    model.safetensors  the weights: a header in JSON says where in the file each tensor is
    vocab.json         {token: id}; each byte of a token is written as one printable character
    merges.txt         the merges, one a line, in the order of training

The architecture is that of lesson 15, so each published matrix has its place in `GPT`, and no
number is changed.
"""

import json
import math
import sys
import unicodedata
from functools import cache
from pathlib import Path

import numpy as np

from tinytorch.core.tokenization import Tokenizer, encode_word, split, split_special, to_bytes
from tinytorch.core.transformers import GPT
from tinytorch.data.download import data_folder, fetch
from tinytorch.support.checkpoints import CheckpointError
from tinytorch.support.token_ids import check_text

__all__ = ["GPT2_FILES", "GPT2_LICENCE", "GPT2_URL", "GPT2Tokenizer", "download_gpt2", "load_gpt2"]

# One fixed revision, so that the files cannot change. The checksums are those that Hugging Face
# and users of the model state; those of vocab.json and merges.txt were computed again.
GPT2_URL = (
    "https://huggingface.co/openai-community/gpt2/resolve/607a30d783dfa663caf39e06633721c8d4cfcd7e"
)
GPT2_LICENCE = "the MIT licence"
GPT2_FILES = {  # {name: (bytes, SHA-256)}
    "config.json": (665, "0daed7749b4f02b8f76240d5444551d7b08712dab4d0adb8239c56ba823bb7b4"),
    "merges.txt": (456318, "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"),
    "vocab.json": (1042301, "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"),
    "model.safetensors": (
        548105171,
        "248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707",
    ),
}
MATRICES = {  # in a block: the published name and ours
    "attn.c_attn": "attention.qkv",
    "attn.c_proj": "attention.out",
    "mlp.c_fc": "mlp.0",
    "mlp.c_proj": "mlp.2",
}
MASKS = ("attn.bias", "attn.masked_bias")  # the causal mask, which some files also hold
# What the GPT of lesson 15 computes. A key that is left out has this value in GPT-2.
FIXED = {
    "activation_function": "gelu_new",  # GELU in its tanh form
    "layer_norm_epsilon": 1e-5,
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "tie_word_embeddings": True,
    "add_cross_attention": False,
}
DTYPES = {"F32": "<f4", "F16": "<f2"}
LONGEST_HEADER = 100_000_000  # bytes, the limit of the format
SPACE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"  # Unicode's White_Space


def download_gpt2(folder=None, url=GPT2_URL, files=GPT2_FILES):
    """The folder with the files of GPT-2, 124 million weights: those that are missing are
    downloaded, 550 MB in all, and all are verified by their checksums.

    folder   where to keep them; None for one that all your programs share
    url      of the folder to download from
    files    {name: (bytes, SHA-256)}
    returns  Path

    OSError, as of `fetch`, says what is wrong; the next call resumes the download.

    >>> load_gpt2(download_gpt2())  # doctest: +SKIP
    """
    folder = Path(folder) if folder else data_folder() / "gpt2"
    for name, (size, sha256) in files.items():
        fetch(f"{url}/{name}", sha256, size, folder)
    return folder


def load_gpt2(folder):
    """The model and the tokenizer in a folder with the files of a GPT-2 of any size.

    folder   with config.json, model.safetensors, vocab.json and merges.txt, as Hugging Face
             publishes them and `save_pretrained` of transformers writes them
    returns  (GPT in evaluation mode, GPT2Tokenizer)

    Raises FileNotFoundError when a file is missing, and CheckpointError, which names the file and
    the part of it, when one is damaged or belongs to another architecture.

    >>> model, tokenizer = load_gpt2(download_gpt2())  # doctest: +SKIP
    >>> tokenizer.decode(model.generate(tokenizer.encode("Hello")[None], 20)[0])  # doctest: +SKIP
    """
    folder = Path(folder)
    if missing := [name for name in GPT2_FILES if not (folder / name).is_file()]:
        raise FileNotFoundError(f"{folder} has no {' and no '.join(missing)}")
    config = read_config(folder / "config.json")
    tokenizer = read_tokenizer(folder / "vocab.json", folder / "merges.txt")
    size, known = config["vocab_size"], tokenizer.vocab_size
    if size != known:
        raise CheckpointError(f"{folder}: config.json has {size} tokens, vocab.json {known}")
    width = config["n_embd"]
    # With one token at first: the rows of GPT-2's table, a third of its weights, need not be drawn.
    model = GPT(1, config["n_positions"], width, config["n_layer"], config["n_head"])
    fill(model, SafeTensors(folder / "model.safetensors"), size)
    return model.eval(), tokenizer


# The sizes.


def read_config(path):
    """The sizes in config.json: a dict. CheckpointError when they are not those of a GPT-2."""
    config = read_object(path)
    kind = config.get("model_type")
    if kind != "gpt2":
        raise CheckpointError(f"{path}: the model is of the kind {kind!r}, not 'gpt2'")
    for key in ("vocab_size", "n_positions", "n_embd", "n_layer", "n_head"):
        value = config.get(key)
        if type(value) is not int or value < 1:
            raise CheckpointError(f"{path}: {key} is {value!r}, not a number of 1 or more")
    width, heads = config["n_embd"], config["n_head"]
    if width % heads:
        raise CheckpointError(f"{path}: n_embd is {width}, which {heads} heads cannot share")
    needed = FIXED | {"n_inner": 4 * width}
    for key, value in needed.items():
        found = config.get(key)
        if found is not None and found != value:
            raise CheckpointError(f"{path}: {key} is {found!r}, this GPT has {value!r}")
    return config


def read_object(path):
    """The dict in a JSON file. CheckpointError when there is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged: {error}") from None
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} is damaged: it holds no JSON object")
    return value


# The weights.


class SafeTensors:
    """The tensors in a file of the format safetensors; each is read when it is asked for.

    The file begins with the length of its header, 8 bytes, the lowest first. The header is JSON:
    {name: {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}}, in bytes after it.

    .tensors  {name: that dict}

    Source: https://github.com/huggingface/safetensors, "Format".
    """

    def __init__(self, path):
        self.path, size = path, path.stat().st_size
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > min(size - 8, LONGEST_HEADER):
                raise CheckpointError(f"{path} is no safetensors file, or only its beginning")
            header = file.read(length)
        self.start, self.end = 8 + length, size
        try:
            self.tensors = dict(json.loads(header))
        except (ValueError, TypeError, RecursionError):
            raise CheckpointError(f"{path} is damaged: its header is no JSON object") from None
        self.tensors.pop("__metadata__", None)

    def read(self, name, shape):
        """One tensor, a float32 array of this shape."""
        try:
            about = self.tensors[name]
            kind, found = about["dtype"], tuple(about["shape"])
            begin, end = (self.start + int(offset) for offset in about["data_offsets"])
        except (KeyError, TypeError, ValueError):
            here = name in self.tensors
            problem = f"the entry of {name} is damaged" if here else f"there is no tensor {name}"
            raise CheckpointError(f"{self.path}: {problem}") from None
        if found != shape:
            raise CheckpointError(
                f"{self.path}: {name} has the shape {found}, by config.json it should be {shape}"
            )
        if kind not in DTYPES:
            raise CheckpointError(
                f"{self.path}: {name} has the type {kind}, not {' or '.join(DTYPES)}"
            )
        dtype = np.dtype(DTYPES[kind])
        if not self.start <= begin or end - begin != math.prod(shape) * dtype.itemsize:
            raise CheckpointError(f"{self.path}: the place of {name} is damaged")
        if end > self.end:
            raise CheckpointError(f"{self.path} ends before the end of {name}: is it complete?")
        with open(self.path, "rb") as file:
            file.seek(begin)
            return np.fromfile(file, dtype, math.prod(shape)).reshape(shape).astype("f", copy=False)


def fill(model, file, vocab_size):
    """Copy the published weights into a GPT whose table of embeddings has yet to grow.

    file  SafeTensors
    """
    # A whole model has the prefix "transformer.", and its head is the table of embeddings.
    prefix = "transformer." * ("transformer.wte.weight" in file.tensors)
    width = model.embedding.weight.shape[1]
    places = {"embedding.weight": "wte.weight", "positions.weight": "wpe.weight"}
    for part in ("weight", "bias"):
        places[f"norm.{part}"] = f"ln_f.{part}"
        for n in range(len(model.blocks)):
            places[f"blocks.{n}.norm1.{part}"] = f"h.{n}.ln_1.{part}"
            places[f"blocks.{n}.norm2.{part}"] = f"h.{n}.ln_2.{part}"
            for theirs, ours in MATRICES.items():
                ending = "weights" if part == "weight" else part
                places[f"blocks.{n}.{ours}.{ending}"] = f"h.{n}.{theirs}.{part}"
    masks = {f"h.{n}.{name}" for n in range(len(model.blocks)) for name in MASKS}
    known = {prefix + name for name in {*places.values(), *masks}} | {"lm_head.weight"}
    if others := sorted(set(file.tensors) - known):
        raise CheckpointError(
            f"{file.path} has the tensor {others[0]}, which this GPT has not: is it another "
            "architecture, or are there more layers than config.json says?"
        )
    model.vocab_size = vocab_size
    model.embedding.weight.data = file.read(prefix + "wte.weight", (vocab_size, width))
    for name, parameter in model.named_parameters():
        if name != "embedding.weight":
            parameter.data[...] = file.read(prefix + places[name], parameter.shape)


# The tokenizer.


class GPT2Tokenizer(Tokenizer):
    """GPT-2's tokenizer: byte pairs, with another pattern for words than lesson 12's, and other
    ids of the single bytes.

    merges          {(id, id): id of the merged token}, where a byte is its own id
    special_tokens  {name: id}
    numbers         the published id of each of the 256 bytes

    >>> GPT2Tokenizer({(105, 116): 256}, {}, range(255, -1, -1)).encode("it is")
    array([256, 223, 150, 140])
    """

    def __init__(self, merges, special_tokens, numbers):
        super().__init__(merges, special_tokens)
        self.published = np.arange(self.vocab_size)
        self.published[:256] = numbers
        self.tokens = {int(self.published[id]): token for id, token in self.tokens.items()}
        self.of_word = cache(lambda word: encode_word(to_bytes(word), self.merges))

    def encode(self, text, allowed_special=()):
        """The published ids of a text; arguments as of Tokenizer.encode."""
        check_text(text)
        names = [allowed_special] if isinstance(allowed_special, str) else allowed_special
        names = self.special_tokens if allowed_special == "all" else names
        if unknown := [name for name in names if name not in self.special_tokens]:
            raise ValueError(f"this tokenizer has no special token {unknown[0]!r}")
        parts = [
            [self.special_tokens[piece]] if piece in names else self.words_of(piece)
            for piece in split_special(text, names)
        ]
        return (
            self.published[[id for part in parts for id in part]] if parts else self.published[:0]
        )

    def words_of(self, text):
        """The ids of a text without special tokens, word by word."""
        return [id for word in split(text, words_pattern()) for id in self.of_word(word)]


@cache
def words_pattern():
    r"""GPT-2's pattern for the words of a text, as a pattern of Python's `re`.

    The published one is written for another library, which has names for all letters and all
    numbers:
    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
    Python's \w are the letters, the numbers and _, and \d are only the decimal digits.

    >>> split("It's  100½ km_2, no?", words_pattern())
    ['It', "'s", ' ', ' 100½', ' km', '_', '2', ',', ' no', '?']
    """
    others = "".join(
        character
        for character in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(character) in ("Nl", "No")
    )
    return (
        rf"'(?:[stmd]|re|ve|ll)| ?[^\W\d_{others}]+| ?[\d{others}]+| ?(?:[^\w{SPACE}]|_)+"
        rf"|[{SPACE}]+(?![^{SPACE}])|[{SPACE}]+"
    )


@cache
def byte_characters():
    """{character: byte}: the printable character as which vocab.json writes each byte.

    188 bytes are printable in Latin-1 and stand for themselves; the others, in their order, are
    the characters from 256 on.

    >>> byte_characters()["a"], byte_characters()["Ġ"]
    (97, 32)
    """
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    own = {chr(byte): byte for byte in printable}
    return own | {chr(256 + n): byte for n, byte in enumerate(others)}


def read_tokenizer(vocabulary, merges):
    """The GPT2Tokenizer in vocab.json and merges.txt. CheckpointError when they do not fit."""
    ids = read_object(vocabulary)
    characters = byte_characters()
    if missing := [character for character in characters if character not in ids]:
        raise CheckpointError(f"{vocabulary} has no id for the byte {characters[missing[0]]}")
    numbers = [0] * 256
    for character, byte in characters.items():
        numbers[byte] = ids[character]
    if sorted(map(str, numbers)) != sorted(map(str, range(256))):
        raise CheckpointError(f"{vocabulary}: the ids of the 256 bytes are not 0 to 255")
    own, pairs = dict(characters), {}  # {token: our id}, {(our id, our id): our id}
    try:
        lines = merges.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{merges} is damaged: {error}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#version"):
            continue
        first, _, second = line.rstrip("\r").partition(" ")
        new = 256 + len(pairs)
        if first not in own or second not in own:
            raise CheckpointError(f"{merges}, line {number}: {line!r} is no pair of known tokens")
        if ids.get(first + second) != new:
            raise CheckpointError(
                f"{merges}, line {number}: {first + second!r} should have the id {new}, in "
                f"{vocabulary.name} it has {ids.get(first + second)}"
            )
        own[first + second] = pairs[own[first], own[second]] = new
    special = {token: id for token, id in ids.items() if token not in own}
    if sorted(map(str, special.values())) != sorted(map(str, range(len(own), len(ids)))):
        raise CheckpointError(f"{vocabulary}: its ids are not 0 to {len(ids) - 1}")
    return GPT2Tokenizer(pairs, special, numbers)

"""Image data sets: where their files are, and how their contents are read.

Each file is identified by its SHA-256 checksum; any other file is refused. CIFAR-10 is read from
its binary version: the other one is a pickle, and loading a pickle runs whatever code its author
put into it.
"""

import gzip
import tarfile
from importlib.resources import files
from pathlib import Path

import numpy as np

from tinytorch.data.download import data_folder, fetch

MNIST = "https://storage.googleapis.com/cvdf-datasets/mnist"
FASHION = "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion"
CIFAR = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
CIFAR_FILE = (170052171, "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd")
CIFAR_RECORD = 1 + 3 * 32 * 32  # bytes: the class, then each channel's pixels, row by row

# (data set, split) -> (name, size in bytes, SHA-256) of the images' file, then of the labels'
FILES = {
    ("mnist", "train"): [
        (
            "train-images-idx3-ubyte.gz",
            9912422,
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        ),
        (
            "train-labels-idx1-ubyte.gz",
            28881,
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        ),
    ],
    ("mnist", "test"): [
        (
            "t10k-images-idx3-ubyte.gz",
            1648877,
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        ),
        (
            "t10k-labels-idx1-ubyte.gz",
            4542,
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ),
    ],
    ("fashion-mnist", "train"): [
        (
            "train-images-idx3-ubyte.gz",
            26421880,
            "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        ),
        (
            "train-labels-idx1-ubyte.gz",
            29515,
            "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        ),
    ],
    ("fashion-mnist", "test"): [
        (
            "t10k-images-idx3-ubyte.gz",
            4422102,
            "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        ),
        (
            "t10k-labels-idx1-ubyte.gz",
            5148,
            "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
        ),
    ],
}


def idx_files(name, split):
    """The two IDX files of one split of a data set, downloaded once and decompressed.

    name     "mnist" or "fashion-mnist"
    split    "train" or "test"; ValueError when it is neither
    returns  [bytes of the images, bytes of the labels]
    """
    _check_split(split)
    base = {"mnist": MNIST, "fashion-mnist": FASHION}[name]
    folder = data_folder() / name
    return [
        gzip.decompress(fetch(f"{base}/{file}", sha256, size, folder).read_bytes())
        for file, size, sha256 in FILES[name, split]
    ]


def cifar10_arrays(split):
    """One split of CIFAR-10, downloaded once; nothing is unpacked onto the disk.

    split    "train" or "test"; ValueError when it is neither
    returns  (images (n, 3, 32, 32), labels (n,)), both uint8
    """
    _check_split(split)
    size, sha256 = CIFAR_FILE
    names = [f"data_batch_{k}" for k in range(1, 6)] if split == "train" else ["test_batch"]
    path = fetch(CIFAR, sha256, size, data_folder() / "cifar-10")
    with tarfile.open(path, "r:gz") as archive:
        data = {}
        # in the archive's own order: going back would mean decompressing from the start
        for member in archive:
            if (name := Path(member.name).stem) in names and member.isfile():
                data[name] = archive.extractfile(member).read()
    return parse_cifar(b"".join(data[name] for name in names))


def parse_cifar(data):
    """The images and labels in the bytes of a file of CIFAR-10's binary version.

    data     bytes; for each image one byte for its class and 1,024 each for red, green and blue
    returns  (images (n, 3, 32, 32), labels (n,)), both uint8

    ValueError when it is not a whole number of images, or there is none.

    >>> images, labels = parse_cifar(bytes([7]) + bytes(3072))
    >>> images.shape, labels
    ((1, 3, 32, 32), array([7], dtype=uint8))

    Source: Krizhevsky, https://www.cs.toronto.edu/~kriz/cifar.html, "Binary version".
    """
    if not data or len(data) % CIFAR_RECORD:
        raise ValueError(
            f"images of CIFAR-10 have {CIFAR_RECORD:,} bytes each, "
            f"and {len(data):,} bytes is no multiple of it"
        )
    rows = np.frombuffer(data, np.uint8).reshape(-1, CIFAR_RECORD)
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0]


def digits_arrays(split):
    """One split of the handwritten digits that come with the package.

    split    "train" or "test": always the same images; ValueError when it is neither
    returns  (images (n, 8, 8), values from 0 to 16; labels (n,)), both uint8

    >>> images, labels = digits_arrays("test")
    >>> images.shape, labels.shape
    ((359, 8, 8), (359,))
    """
    _check_split(split)
    with (
        (files("tinytorch") / "data" / "digits.npz").open("rb") as file,
        np.load(file, allow_pickle=False) as arrays,
    ):
        chosen = arrays["test"] == (split == "test")
        return arrays["images"][chosen], arrays["labels"][chosen]


def flat_digits(split):
    """The digits as rows for networks of dense layers: x (n, 64), float32 from 0 to 1, and labels
    (n,), integers."""
    images, labels = digits_arrays(split)
    return (images.reshape(-1, 64) / 16).astype(np.float32), labels.astype(int)


def _check_split(split):
    if split not in ("train", "test"):
        raise ValueError(f'split is "train" or "test", not {split!r}')

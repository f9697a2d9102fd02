"""Public image data sets: read from files in their original formats, from a local server."""

import gzip
import hashlib
import io
import tarfile

import numpy as np
import pytest

from tinytorch.data import image_sets


def sha(data):
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(("name", "base"), [("mnist", "MNIST"), ("fashion-mnist", "FASHION")])
def test_the_files_of_a_data_set_come_decompressed_images_first(
    server, tmp_path, monkeypatch, name, base
):
    made, known = {}, {}
    for split, stem in (("train", "train"), ("test", "t10k")):
        made[split] = [f"{split} images".encode(), f"{split} labels".encode()]
        packed = dict(
            zip(
                (f"{stem}-images-idx3-ubyte.gz", f"{stem}-labels-idx1-ubyte.gz"),
                map(gzip.compress, made[split]),
            )
        )
        assert [file for file, _, _ in image_sets.FILES[name, split]] == list(packed)
        known[name, split] = [(file, len(data), sha(data)) for file, data in packed.items()]
        server.files |= {f"/{name}/{file}": data for file, data in packed.items()}
    monkeypatch.setattr(image_sets, "FILES", known)
    monkeypatch.setattr(image_sets, base, f"{server.url}/{name}")
    monkeypatch.setenv("TINYTORCH_DATA", str(tmp_path))
    for split in ("train", "test", "train"):
        assert image_sets.idx_files(name, split) == made[split]
    assert len(server.asked) == 4
    assert len([path for path in (tmp_path / name).iterdir() if path.suffix == ".gz"]) == 4


def test_cifar_is_loaded_without_unpacking_anything(server, tmp_path, monkeypatch):
    random, records = np.random.default_rng(1), {}
    with tarfile.open(tmp_path / "made.tar.gz", "w:gz") as archive:
        for name in ["test_batch", *[f"data_batch_{k}" for k in (3, 1, 2, 5, 4)]]:
            records[name] = random.integers(0, 256, (2, 3073), dtype="uint8")
            records[name][:, 0] %= 10
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}.bin")
            member.size = 2 * 3073
            archive.addfile(member, io.BytesIO(records[name].tobytes()))
        member = tarfile.TarInfo("../outside.txt")
        archive.addfile(member, io.BytesIO(b""))
    data = (tmp_path / "made.tar.gz").read_bytes()
    server.files["/cifar-10-binary.tar.gz"] = data
    monkeypatch.setattr(image_sets, "CIFAR", f"{server.url}/cifar-10-binary.tar.gz")
    monkeypatch.setattr(image_sets, "CIFAR_FILE", (len(data), sha(data)))
    monkeypatch.setenv("TINYTORCH_DATA", str(tmp_path / "kept"))
    for split, batches in (
        ("train", [f"data_batch_{k}" for k in range(1, 6)]),
        ("test", ["test_batch"]),
    ):
        images, classes = image_sets.cifar10_arrays(split)
        rows = np.concatenate([records[name] for name in batches])
        assert images.dtype == classes.dtype == np.uint8
        assert classes.tolist() == rows[:, 0].tolist()
        assert images.shape == (len(rows), 3, 32, 32)
        for place in [(0, 0, 0), (1, 5, 31), (2, 31, 7)]:
            flat = 1 + place[0] * 1024 + place[1] * 32 + place[2]
            assert np.array_equal(images[(slice(None), *place)], rows[:, flat])
    assert [p.name for p in tmp_path.rglob("*") if p.is_file() and p.suffix != ".lock"] == [
        "made.tar.gz",
        "cifar-10-binary.tar.gz",
    ]


@pytest.mark.parametrize("count", [0, 1, 3072, 3074, 2 * 3073 - 1])
def test_bytes_that_are_no_whole_number_of_images_are_refused(count):
    with pytest.raises(ValueError, match=f"3,073 bytes each, and {count:,} bytes is"):
        image_sets.parse_cifar(bytes(count))


def test_the_two_splits_of_the_digits_are_all_of_them_once():
    parts = [image_sets.digits_arrays(split) for split in ("train", "test")]
    assert [len(pictures) for pictures, _ in parts] == [1438, 359]
    for pictures, classes in parts:
        assert pictures.dtype == classes.dtype == np.uint8
        assert pictures.shape == (len(classes), 8, 8) and pictures.max() == 16
        assert set(classes.tolist()) == set(range(10))
    assert len(np.unique(np.concatenate([pictures for pictures, _ in parts]), axis=0)) == 1797


@pytest.mark.parametrize(
    "read",
    [
        image_sets.digits_arrays,
        image_sets.cifar10_arrays,
        lambda split: image_sets.idx_files("mnist", split),
    ],
    ids=["digits", "cifar10", "mnist"],
)
def test_a_split_that_does_not_exist_is_refused(read):
    with pytest.raises(ValueError, match='"train" or "test", not \'all\''):
        read("all")


def test_the_known_files_have_complete_checksums():
    known = [(size, sha256) for files in image_sets.FILES.values() for _, size, sha256 in files]
    known.append(image_sets.CIFAR_FILE)
    assert len({sha256 for _, sha256 in known}) == 9
    assert all(len(sha256) == 64 and int(sha256, 16) and size > 4000 for size, sha256 in known)

"""The exported data lesson: against PyTorch, threads that end, digits that stay, downloads that are whole or nothing."""

import gc
import gzip
import hashlib
import http.server
import io
import os
import signal
import subprocess
import sys
import tarfile
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tinytorch.core import data as lesson
from tinytorch.core.data import (
    AddNoise,
    Compose,
    DataLoader,
    Dataset,
    Normalize,
    RandomHorizontalFlip,
    RandomShift,
    Subset,
    TensorDataset,
    Transformed,
    collate,
    digits,
    fetch,
    one_hot,
    prefetch,
    random_split,
    statistics,
)
from tinytorch.core.layers import Dense, manual_seed
from tito.author import release
from tito.learn import workspace
from tito.lesson import course

COURSE = course.open_root(Path(__file__).resolve().parents[2])


def workers():
    return [thread for thread in threading.enumerate() if thread.name == "prefetch"]


class Slow(Dataset):
    """Pairs (i, i * i) one by one, so that nothing can take rows at once."""

    def __init__(self, count, bad=None):
        self.count, self.bad = count, bad

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if i == self.bad:
            raise LookupError(f"example {i}")
        return np.float32([i, -i]), i * i


# Against PyTorch


@pytest.fixture(scope="module")
def torch():
    pytest.importorskip(
        "torch", reason="PyTorch is not installed; it is only needed to compare with"
    )
    import torch
    import torch.utils.data

    return torch


@pytest.mark.slow
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize(
    ("count", "size"), [(1, 1), (5, 2), (6, 2), (7, 7), (7, 8), (64, 10), (0, 3)]
)
def test_batches_and_lengths_are_torchs(torch, count, size, drop_last):
    x, y = np.arange(count * 3, dtype="float32").reshape(count, 3), np.arange(count) * 7
    theirs = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.tensor(x), torch.tensor(y)), size, drop_last=drop_last
    )
    for ahead in (0, 2):
        ours = DataLoader(TensorDataset(x, y), size, drop_last=drop_last, prefetch=ahead)
        assert len(ours) == len(theirs)
        found, wanted = list(ours), list(theirs)
        assert len(found) == len(wanted) == len(ours)
        for mine, right in zip(found, wanted):
            assert all(
                a.shape == tuple(b.shape) and np.array_equal(a.data, b.numpy())
                for a, b in zip(mine, right)
            )
            assert [a.dtype.name for a in mine] == ["float32", "int64"]


@pytest.mark.slow
@pytest.mark.parametrize("drop_last", [False, True])
def test_a_sampler_gives_torchs_order_and_length(torch, drop_last):
    order = [3, 3, 0, 8, 1, 5, 5]
    x = np.arange(9.0)
    ours = DataLoader(TensorDataset(x), 3, sampler=order, drop_last=drop_last)
    theirs = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.tensor(x)), 3, sampler=order, drop_last=drop_last
    )
    assert len(ours) == len(theirs)
    assert (
        [a.data.tolist() for (a,) in ours]
        == [b.tolist() for (b,) in theirs]
        == [a.data.tolist() for (a,) in ours]
    )


@pytest.mark.slow
def test_a_sampler_and_shuffling_exclude_each_other_as_in_torch(torch):
    for loader in (DataLoader, torch.utils.data.DataLoader):
        with pytest.raises(ValueError, match="sampler"):
            loader([1, 2], 1, shuffle=True, sampler=[0, 1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "samples",
    [
        [(np.float32([1, 2]), 3), (np.float32([4, 5]), 6)],
        [np.int64([1]), np.int64([2])],
        [1, 2, 3],
        [(1, (2, np.ones((2, 1)))), (3, (4, np.zeros((2, 1))))],
        [[np.float32(1.5), True], [np.float32(2.5), False]],
    ],
    ids=["pairs", "arrays", "numbers", "nested", "lists"],
)
def test_collate_stacks_as_torch_does(torch, samples):
    def leaves(batch):
        return (
            [leaf for part in batch for leaf in leaves(part)]
            if isinstance(batch, (tuple, list))
            else [batch]
        )

    found, wanted = leaves(collate(samples)), leaves(torch.utils.data.default_collate(samples))
    assert len(found) == len(wanted)
    for mine, right in zip(found, wanted):
        assert mine.shape == tuple(right.shape) and mine.dtype.name == str(
            right.dtype
        ).removeprefix("torch.")
        assert np.array_equal(mine.data, right.numpy())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Length of split")
@pytest.mark.parametrize(
    ("count", "lengths"),
    [
        (10, [3, 7]),
        (10, [0.75, 0.25]),
        (1797, [0.8, 0.2]),
        (7, [0.5, 0.3, 0.2]),
        (1, [0.5, 0.5]),
        (101, [1 / 3, 1 / 3, 1 / 3]),
        (5, [1]),
    ],
)
def test_split_lengths_are_torchs(torch, count, lengths):
    ours = random_split(range(count), lengths, rng=0)
    assert [len(part) for part in ours] == [
        len(part) for part in torch.utils.data.random_split(range(count), lengths)
    ]
    assert sorted(i for part in ours for i in part) == list(range(count))


@pytest.mark.slow
def test_one_hot_is_torchs(torch):
    labels = np.random.default_rng(0).integers(0, 6, (4, 5))
    assert np.array_equal(
        one_hot(labels, 7).data, torch.nn.functional.one_hot(torch.tensor(labels), 7).numpy()
    )


@pytest.mark.slow
def test_a_torch_loader_walks_our_datasets(torch):
    found = torch.utils.data.DataLoader(
        TensorDataset(np.arange(6.0).reshape(3, 2), np.arange(3)), 2
    )
    assert [tuple(x.shape) for x, _ in found] == [(2, 2), (1, 2)]


# Order and chance


def test_the_same_seed_gives_the_same_epochs_whatever_else_is_drawn():
    found = []
    for between in (0, 4):
        manual_seed(11)
        loader = DataLoader(TensorDataset(np.arange(50)), 7, shuffle=True)
        epochs = []
        for _ in range(3):
            epochs.append(np.concatenate([x.data for (x,) in loader]).tolist())
            for _ in range(between):
                Dense(3, 4)
        found.append(epochs)
    assert found[0] == found[1] and found[0][0] != found[0][1]


def test_a_loaders_order_can_be_stored_and_taken_up_again():
    loader = DataLoader(TensorDataset(np.arange(40)), 40, shuffle=True, rng=1)
    list(loader)
    state = loader.rng.bit_generator.state
    next_one = [x.data.tolist() for (x,) in loader]
    other = DataLoader(TensorDataset(np.arange(40)), 40, shuffle=True, rng=99)
    other.rng.bit_generator.state = state
    assert [x.data.tolist() for (x,) in other] == next_one


def test_rows_at_once_and_one_by_one_are_the_same_batches():
    x, y = np.random.default_rng(0).normal(size=(20, 2, 3)).astype("float32"), np.arange(20)
    whole = TensorDataset(x, y)
    part = Subset(Subset(whole, np.arange(19, -1, -1)), [3, 3, 17, 0, 5])
    for dataset in (whole, part, Transformed(part, lambda image: image)):
        for mine, right in zip(dataset.batch([4, 0, 2]), collate([dataset[i] for i in (4, 0, 2)])):
            assert mine.dtype == right.dtype and np.array_equal(mine.data, right.data)


def test_a_list_is_a_dataset():
    assert [x.data.tolist() for x in DataLoader([5, 6, 7], 2)] == [[5, 6], [7]]
    (part,) = random_split(["a", "b"], [2], rng=0)
    assert sorted(part) == ["a", "b"]


def test_wrong_sizes_are_told():
    for options in ({"batch_size": 0}, {"prefetch": -1}):
        with pytest.raises(ValueError, match="batch_size is 1 or more"):
            DataLoader([1], **options)
    with pytest.raises(ValueError, match=r"\[3, 2\].*picture needs its answer"):
        TensorDataset(np.ones((3, 2)), np.ones(2))
    with pytest.raises(ValueError, match="add up to 8, there are 9"):
        random_split(range(9), [4, 4])


# Threads


@pytest.mark.parametrize("leave", ["break", "error", "close", "garbage", "never begun"])
def test_an_epoch_left_in_the_middle_ends_its_thread(leave):
    before = workers()
    walk = iter(DataLoader(Slow(10_000), 3, prefetch=2))
    if leave == "never begun":
        assert workers() == before
    elif leave == "error":
        with pytest.raises(ZeroDivisionError):
            for _ in walk:
                1 / 0  # noqa: B018
    else:
        for _ in walk:
            break
        if leave == "close":
            walk.close()
    del walk
    gc.collect()
    assert workers() == before


def test_an_error_in_the_thread_keeps_its_place_and_its_traceback():
    with pytest.raises(LookupError, match="example 7") as caught:
        seen = []
        for x, _ in DataLoader(Slow(20, bad=7), 2, prefetch=3):
            seen.append(x.shape[0])
    assert seen == [2, 2, 2]
    assert "__getitem__" in [frame.name for frame in caught.traceback]
    assert not workers()


def test_two_epochs_of_one_loader_do_not_disturb_each_other():
    loader = DataLoader(Slow(9), 2, shuffle=True, rng=3, prefetch=1)
    alone = DataLoader(Slow(9), 2, shuffle=True, rng=3)
    wanted = [[y.data.tolist() for _, y in alone] for _ in range(2)]
    first, second = iter(loader), iter(loader)
    found = [(a[1].data.tolist(), b[1].data.tolist()) for a, b in zip(first, second)]
    assert [a for a, _ in found] == wanted[0] and [b for _, b in found] == wanted[1]


def test_a_program_ends_though_a_walk_is_open():
    code = (
        "from tinytorch.core.data import prefetch; import itertools\n"
        "walk = prefetch(itertools.count(), 2); print(next(walk), next(walk))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=COURSE.path, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.returncode) == ("0 1\n", 0)


def test_a_thread_that_ends_without_a_word_is_an_error(monkeypatch):
    monkeypatch.setattr(lesson, "produce", lambda items, put: put("item", 1))
    walk = prefetch([1, 2, 3])
    assert next(walk) == 1
    with pytest.raises(RuntimeError, match="ended without saying why"):
        next(walk)


# Transforms


def test_chance_in_transforms_is_their_own():
    picture = np.arange(30, dtype="float32").reshape(1, 5, 6)
    for make in (
        lambda rng=None: RandomShift(2, rng),
        lambda rng=None: RandomHorizontalFlip(0.4, rng),
        lambda rng=None: AddNoise(0.3, rng),
    ):
        runs = [
            [transform(picture).tolist() for _ in range(12)]
            for transform in (make(5), make(5), make(6))
        ]
        assert runs[0] == runs[1] != runs[2]
        drawn = []
        for between in (0, 3):
            manual_seed(1)
            transform, found = make(), []
            for _ in range(6):
                found.append(transform(picture).tolist())
                lesson.generator().random(between)
            drawn.append(found)
        assert drawn[0] == drawn[1]
    assert np.array_equal(picture, np.arange(30).reshape(1, 5, 6))


def test_shifts_reach_every_place_and_noise_has_its_spread():
    picture = np.zeros((1, 7, 7), "float32")
    picture[0, 3, 3] = 1
    shift = RandomShift(2, rng=0)
    assert {tuple(np.argwhere(shift(picture)[0])[0] - 3) for _ in range(600)} == {
        (i, j) for i in range(-2, 3) for j in range(-2, 3)
    }
    noise = AddNoise(0.25, rng=0)(np.zeros((200, 300), "float32"))
    assert (
        noise.dtype == np.float32 and abs(noise.std() - 0.25) < 0.003 and abs(noise.mean()) < 0.003
    )


def test_transforms_and_normalisation_keep_float32():
    train = digits("train")
    norm = Normalize(*statistics(train.arrays[0]))
    varied = Transformed(
        train,
        Compose(
            [RandomShift(1, rng=0), RandomHorizontalFlip(0.5, rng=1), AddNoise(0.1, rng=2), norm]
        ),
    )
    x, y = next(iter(DataLoader(varied, 16)))
    assert x.shape == (16, 1, 8, 8) and x.dtype.name == "float32" and y.dtype.name == "int64"
    whole = norm(train.arrays[0])
    assert (
        whole.dtype == np.float32
        and abs(whole.mean(dtype=float)) < 1e-5
        and abs(whole.std(dtype=float) - 1) < 1e-5
    )


# Digits and made data


def test_the_digits_and_their_split_stay_as_they_are():
    with np.load(COURSE.path / "tinytorch" / "digits.npz", allow_pickle=False) as kept:
        raw = kept["images"].tobytes() + kept["labels"].tobytes() + kept["test"].tobytes()
        assert "Alpaydin" in str(kept["about"]) and "CC BY 4.0" in str(kept["about"])
    assert (
        hashlib.sha256(raw).hexdigest()
        == "196eae80167d963027fff842a4321589eb715d91f6393726cb6a4defa3a609f9"
    )
    train, test = digits("train"), digits("test")
    assert (len(train), len(test)) == (1438, 359)
    for part in (train, test):
        images, labels = part.arrays
        assert (
            images.dtype == np.float32
            and images.shape[1:] == (1, 8, 8)
            and images.min() == 0
            and images.max() == 1
        )
        assert labels.dtype == np.int64 and images.flags.writeable
    counts = np.bincount(test.arrays[1]) / np.bincount(
        np.concatenate([train.arrays[1], test.arrays[1]])
    )
    assert np.all(np.abs(counts - 0.2) < 0.004)
    seen = {image.tobytes() for image in train.arrays[0]}
    assert not any(image.tobytes() in seen for image in test.arrays[0])


def test_a_split_that_does_not_exist_is_told():
    for make in (digits, lesson.mnist, lesson.fashion_mnist, lesson.cifar10):
        with pytest.raises(ValueError, match='"train" or "test", not \'all\''):
            make("all")


def test_digits_go_with_every_workspace_and_release():
    (entry,) = [entry for entry in COURSE.lessons if entry.name == "data"]
    digits_bytes = (COURSE.path / "tinytorch" / "digits.npz").read_bytes()
    assert workspace.contents(COURSE, [entry])["tinytorch/digits.npz"] == digits_bytes
    released = release.contents(COURSE, [entry])
    assert released["tinytorch/digits.npz"] == digits_bytes
    (wheel,) = [data for name, data in released.items() if name.endswith(".whl")]
    with zipfile.ZipFile(io.BytesIO(wheel)) as held:
        (name,) = [name for name in held.namelist() if name.endswith("tinytorch/digits.npz")]
        assert held.read(name) == digits_bytes


def test_a_network_of_dense_layers_gets_batches_it_can_use():
    x, _ = next(iter(DataLoader(digits("train"), 32, shuffle=True, rng=0)))
    assert Dense(64, 10)(x.flatten(1)).shape == (32, 10)


@pytest.mark.parametrize(
    "make",
    [lesson.moons, lesson.circles, lesson.spirals, lesson.xor],
    ids=lambda make: make.__name__,
)
def test_made_data_has_seeds_and_both_classes(make):
    (points, labels), (again, _), (other, _) = [
        make(count=90, rng=seed).arrays for seed in (4, 4, 5)
    ]
    assert points.shape == (90, 2) and points.dtype == np.float32 and labels.dtype == np.int64
    assert np.array_equal(points, again) and not np.array_equal(points, other)
    clean, classes = make(count=400, noise=0, rng=1).arrays
    counts = np.bincount(classes)
    assert len(counts) == (3 if make is lesson.spirals else 2) and counts.min() > 100
    line = np.linalg.lstsq(np.c_[clean, np.ones(400)], np.eye(len(counts))[classes], rcond=None)[0]
    straight = (np.c_[clean, np.ones(400)] @ line).argmax(1)
    assert (straight == classes).mean() < 0.92  # no straight line does it


def test_the_front_door_has_every_name():
    code = "import tinytorch.data as d; print([n for n in dir(d) if getattr(d, n) is None and not n.startswith('_')])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=COURSE.path, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "[]\n", done.stderr


# Downloads, from a server of our own


class Server(http.server.ThreadingHTTPServer):
    """Serves `files` ({path: bytes}). `asked` notes each request's path and Range.

    cuts      after how many bytes the next connections break off, one number each; the rest come whole
    ranges    whether Range is understood
    hold      an Event: a connection that was cut waits for it before it ends
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.asked, self.cuts, self.ranges, self.hold, self.reached = (
            {},
            [],
            [],
            True,
            None,
            threading.Event(),
        )
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_GET(self):
        server = self.server
        server.asked.append((self.path, self.headers.get("Range")))
        data = server.files.get(self.path)
        if data is None:
            return self.send_error(404)
        begin = 0
        if server.ranges and (asked := self.headers.get("Range")):
            begin = int(asked.removeprefix("bytes=").removesuffix("-"))
            if begin >= len(data):
                return self.send_error(416)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(data) - begin))
        self.end_headers()
        end = begin + server.cuts.pop(0) if server.cuts else len(data)
        self.wfile.write(data[begin:end])
        self.wfile.flush()
        server.reached.set()
        if server.hold and end < len(data):
            server.hold.wait(30)


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "*")
    with Server() as one:
        yield one
        one.shutdown()


DATA = np.random.default_rng(0).integers(0, 256, 400_000, dtype="uint8").tobytes()
OTHER = DATA[::-1]


def sha(data):
    return hashlib.sha256(data).hexdigest()


def get(server, folder, **options):
    return fetch(f"{server.url}/some/file.bin", sha(DATA), len(DATA), folder, **options)


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


def test_a_file_is_fetched_once(server, tmp_path):
    server.files["/some/file.bin"] = DATA
    path = get(server, tmp_path / "a" / "b")
    assert path == tmp_path / "a" / "b" / "file.bin" and path.read_bytes() == DATA
    assert get(server, tmp_path / "a" / "b") == path
    assert server.asked == [("/some/file.bin", None)] and names(path.parent) == ["file.bin"]


def test_a_connection_that_breaks_off_is_taken_up_where_it_broke(server, tmp_path):
    server.files["/some/file.bin"], server.cuts = DATA, [150_000, 70_000]
    assert get(server, tmp_path).read_bytes() == DATA
    assert [ranges for _, ranges in server.asked] == [None, "bytes=150000-", "bytes=220000-"]
    assert names(tmp_path) == ["file.bin"]


def test_a_download_that_breaks_off_for_good_is_told_and_goes_on_the_next_time(server, tmp_path):
    server.files["/some/file.bin"], server.cuts = DATA, [100_000, 0, 0]
    with pytest.raises(
        OSError,
        match=r"broke off after 100,000 of 400,000 bytes.*goes on where it stopped.*by hand: ",
    ) as caught:
        get(server, tmp_path)
    assert f"{server.url}/some/file.bin" in str(caught.value) and str(tmp_path / "file.bin") in str(
        caught.value
    )
    assert names(tmp_path) == ["file.bin.part"]
    assert get(server, tmp_path).read_bytes() == DATA
    assert server.asked[-1][1] == "bytes=100000-"


def test_a_server_without_ranges_sends_all_again(server, tmp_path):
    server.files["/some/file.bin"], server.cuts, server.ranges = DATA, [100_000], False
    assert get(server, tmp_path).read_bytes() == DATA
    assert [ranges for _, ranges in server.asked] == [None, "bytes=100000-"] and names(
        tmp_path
    ) == ["file.bin"]


def test_a_truncated_file_is_never_used(server, tmp_path):
    server.files["/some/file.bin"] = DATA[:-1]
    with pytest.raises(OSError, match=r"399,999|416"):
        get(server, tmp_path)
    assert "file.bin" not in names(tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [OTHER, DATA + b"x", b"<html>log in first</html>" * 20_000],
    ids=["other", "longer", "a page"],
)
def test_a_wrong_checksum_is_refused(server, tmp_path, wrong):
    server.files["/some/file.bin"] = wrong
    if wrong == DATA + b"x":  # the part that was meant is whole, and more is never taken
        assert get(server, tmp_path).read_bytes() == DATA
        return
    with pytest.raises(
        OSError,
        match=rf"has the fingerprint {sha(wrong[:400_000])[:16]}\.\.\., not {sha(DATA)[:16]}",
    ):
        get(server, tmp_path)
    assert names(tmp_path) == [] and len(server.asked) == 1


def test_an_old_piece_of_another_file_is_thrown_away(server, tmp_path):
    server.files["/some/file.bin"] = DATA
    for piece in (OTHER[:1000], OTHER, OTHER + OTHER):
        (tmp_path / "file.bin.part").write_bytes(piece)
        assert get(server, tmp_path).read_bytes() == DATA
        (tmp_path / "file.bin").unlink()


def test_a_broken_cache_is_mended_or_left_as_it_is(server, tmp_path):
    (tmp_path / "file.bin").write_bytes(DATA[:-5])
    server.files["/some/file.bin"] = OTHER
    with pytest.raises(OSError, match="is damaged and was left as it is"):
        get(server, tmp_path)
    assert (tmp_path / "file.bin").read_bytes() == DATA[:-5]
    server.files["/some/file.bin"] = DATA
    assert get(server, tmp_path).read_bytes() == DATA


def test_offline_the_error_says_what_to_do_and_old_data_serve(server, tmp_path):
    url = server.url
    server.shutdown()
    server.server_close()
    with pytest.raises(
        OSError, match=r"the download failed.*With a network, call it again.*get http://.*by hand"
    ) as caught:
        fetch(f"{url}/some/file.bin", sha(DATA), len(DATA), tmp_path)
    assert f"{url}/some/file.bin" in str(caught.value) and str(tmp_path / "file.bin") in str(
        caught.value
    )
    (tmp_path / "file.bin").write_bytes(DATA)  # by hand
    assert fetch(f"{url}/some/file.bin", sha(DATA), len(DATA), tmp_path).read_bytes() == DATA


def test_what_the_server_does_not_have_is_told_at_once(server, tmp_path):
    with pytest.raises(OSError, match="HTTP Error 404"):
        get(server, tmp_path)
    assert len(server.asked) == 1 and names(tmp_path) == []


def test_a_folder_that_cannot_be_used_is_told(server, tmp_path):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(OSError, match="cannot be used"):
        get(server, tmp_path / "file")


def test_two_programs_fetch_it_once(server, tmp_path):
    server.files["/some/file.bin"] = DATA
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(get(server, tmp_path).read_bytes()))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [DATA] * 4 and len(server.asked) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="kills by a signal")
def test_killed_in_the_middle_nothing_half_is_used(server, tmp_path):
    server.files["/some/file.bin"], server.cuts, server.hold = DATA, [300_000], threading.Event()
    code = f"from tinytorch.core.data import fetch\nfetch({server.url + '/some/file.bin'!r}, {sha(DATA)!r}, {len(DATA)}, {str(tmp_path)!r})"
    program = subprocess.Popen(
        [sys.executable, "-c", code], cwd=COURSE.path, env=os.environ | {"no_proxy": "*"}
    )
    assert server.reached.wait(60)
    program.send_signal(signal.SIGKILL)
    program.wait()
    server.hold.set()
    assert "file.bin" not in names(tmp_path)
    assert get(server, tmp_path).read_bytes() == DATA


def test_progress_is_shown_in_a_terminal_and_nowhere_else(server, tmp_path, monkeypatch):
    server.files["/some/file.bin"] = DATA
    for terminal in (True, False):
        screen = io.StringIO()
        screen.isatty = lambda terminal=terminal: terminal
        monkeypatch.setattr(sys, "stderr", screen)
        get(server, tmp_path / str(terminal))
        shown = screen.getvalue()
        assert shown.endswith("\rfile.bin 0.4 of 0.4 MB\n") if terminal else shown == ""


def idx(array):
    return gzip.compress(
        bytes([0, 0, 8, array.ndim])
        + b"".join(n.to_bytes(4, "big") for n in array.shape)
        + array.tobytes()
    )


@pytest.mark.parametrize(("name", "base"), [("mnist", "MNIST"), ("fashion_mnist", "FASHION")])
def test_sets_in_idx_format_are_loaded(server, tmp_path, monkeypatch, name, base):
    images, labels = (
        np.arange(5 * 28 * 28).astype("uint8").reshape(5, 28, 28),
        np.array([3, 0, 9, 9, 1], "uint8"),
    )
    files, key = {}, name.replace("_", "-")
    for split, stem in (("train", "train"), ("test", "t10k")):
        some = slice(0, 5 if split == "train" else 2)
        parts = {
            f"{stem}-images-idx3-ubyte.gz": idx(images[some]),
            f"{stem}-labels-idx1-ubyte.gz": idx(labels[some]),
        }
        assert [file for file, _, _ in lesson.FILES[key, split]] == list(parts)
        files[key, split] = [(file, len(data), sha(data)) for file, data in parts.items()]
        server.files |= {f"/{key}/{file}": data for file, data in parts.items()}
    monkeypatch.setattr(lesson, "FILES", files)
    monkeypatch.setattr(lesson, base, f"{server.url}/{key}")
    monkeypatch.setenv("TINYTORCH_DATA", str(tmp_path))
    for split, count in (("train", 5), ("test", 2)):
        found = getattr(lesson, name)(split)
        assert found.arrays[0].shape == (count, 1, 28, 28) and found.arrays[0].dtype == np.float32
        assert (
            np.allclose(found.arrays[0][:, 0], images[:count] / 255)
            and found.arrays[1].tolist() == labels[:count].tolist()
        )
    assert len(names(tmp_path / key)) == 4


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
    monkeypatch.setattr(lesson, "CIFAR", f"{server.url}/cifar-10-binary.tar.gz")
    monkeypatch.setattr(lesson, "CIFAR_FILE", (len(data), sha(data)))
    monkeypatch.setenv("TINYTORCH_DATA", str(tmp_path / "kept"))
    for split, batches in (
        ("train", [f"data_batch_{k}" for k in range(1, 6)]),
        ("test", ["test_batch"]),
    ):
        images, labels = lesson.cifar10(split).arrays
        rows = np.concatenate([records[name] for name in batches])
        assert labels.tolist() == rows[:, 0].tolist() and images.shape == (len(rows), 3, 32, 32)
        for place in [(0, 0, 0), (1, 5, 31), (2, 31, 7)]:
            assert np.allclose(
                images[(slice(None), *place)],
                rows[:, 1 + np.ravel_multi_index(place, (3, 32, 32))] / 255,
            )
    assert [p.name for p in tmp_path.rglob("*") if p.is_file() and p.suffix != ".lock"] == [
        "made.tar.gz",
        "cifar-10-binary.tar.gz",
    ]
    with pytest.raises(ValueError, match="3,073 bytes each, and 3,072 bytes"):
        lesson.parse_cifar(bytes(3072))


def test_the_folder_for_data_can_be_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv("TINYTORCH_DATA", str(tmp_path / "mine"))
    assert lesson.data_folder() == tmp_path / "mine"
    monkeypatch.delenv("TINYTORCH_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert lesson.data_folder().name == "tinytorch"


def test_the_known_files_have_whole_fingerprints():
    known = [(size, sha256) for files in lesson.FILES.values() for _, size, sha256 in files] + [
        lesson.CIFAR_FILE
    ]
    assert len({sha256 for _, sha256 in known}) == 9
    assert all(len(sha256) == 64 and int(sha256, 16) and size > 4000 for size, sha256 in known)

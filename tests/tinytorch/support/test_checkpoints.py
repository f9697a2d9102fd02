"""Plain data comes back from a file to the last bit; other files are refused, and run nothing."""

import doctest
import os
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

from tinytorch.support import checkpoints
from tinytorch.support.checkpoints import CheckpointError, load_state, save_state

ODD = {
    "a": (1, [None, True, -0.0]),
    3: {"x": np.float32(0.1), ("t", 2): np.arange(6).reshape(2, 3)},
    "big": 2**127,
    "third": 1 / 3,
    "nan": float("nan"),
    "inf": float("-inf"),
    "e": np.zeros((0, 3), "float16"),
    "z": np.array(5, "uint8"),
    "t": "é\n",
}


def test_everything_comes_back_with_its_type(tmp_path):
    save_state(tmp_path / "new" / "odd.npz", ODD)
    again = load_state(tmp_path / "new" / "odd.npz")
    assert list(again) == list(ODD) and repr(again) == repr(ODD)
    assert type(again[3]["x"]) is np.float32 and again["third"] == 1 / 3
    assert again["z"].shape == () and again["e"].shape == (0, 3)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["odd.npz"]


def test_the_file_holds_arrays_of_numbers_only(tmp_path):
    save_state(tmp_path / "odd.npz", ODD)
    with np.load(tmp_path / "odd.npz", allow_pickle=False) as members:
        assert all(members[name].dtype.kind in "biuf" for name in members.files)


@pytest.mark.parametrize("value", [{1, 2}, 1j, np.array(["a"]), b"a", object], ids=repr)
def test_what_is_no_plain_data_is_refused_and_leaves_no_file(tmp_path, value):
    with pytest.raises(TypeError, match=f"no {type(value).__name__}: "):
        save_state(tmp_path / "bad.npz", {"x": [value]})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["fsync", "replace"])
def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch, name):
    def fail(*_):
        raise OSError(28, "No space left on device")

    save_state(tmp_path / "run.npz", {"old": 1})
    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        patch.setattr(os, name, fail)
        save_state(tmp_path / "run.npz", {"new": 2})
    assert load_state(tmp_path / "run.npz") == {"old": 1} and len(list(tmp_path.iterdir())) == 1


class Trap:
    def __reduce__(self):
        return os.mkdir, ("sprung",)


def text_array(text):
    return np.frombuffer(text.encode(), np.uint8)


@pytest.mark.parametrize(
    "write, words",
    [
        (lambda path: np.savez(path, text=np.array([Trap()], dtype=object)), "allow_pickle"),
        (lambda path: np.savez(path, weights=np.ones(3)), "KeyError"),
        (lambda path: np.savez(path, text=text_array("{'")), "JSON"),
        (
            lambda path: np.savez(path, text=text_array('{"format": "other 0", "state": {}}')),
            "written as 'other 0', this is 'tinytorch checkpoint 1'",
        ),
        (lambda path: path.write_bytes(pickle.dumps(Trap())), "not a checkpoint"),
        (lambda path: path.write_bytes(b""), "not a checkpoint"),
        (lambda path: path.write_text("hello", encoding="utf-8"), "not a checkpoint"),
    ],
    ids=["objects", "foreign", "no-json", "other-format", "pickle", "empty", "text"],
)
def test_other_files_are_refused_by_name_and_run_nothing(tmp_path, monkeypatch, write, words):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "file.npz")
    with pytest.raises(CheckpointError, match=f"(?s)^{re.escape(str(tmp_path))}.*{words}"):
        load_state(tmp_path / "file.npz")
    assert not Path("sprung").exists()


def test_a_file_that_is_not_there_is_no_damaged_one(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_state(tmp_path / "none.npz")


def test_a_damaged_file_is_refused(tmp_path):
    save_state(tmp_path / "whole.npz", {"weights": np.arange(400.0), "step": 7})
    whole, good = (tmp_path / "whole.npz").read_bytes(), repr(load_state(tmp_path / "whole.npz"))
    damaged, refused = tmp_path / "damaged.npz", 0
    for place in range(0, len(whole), 23):
        damaged.write_bytes(whole[:place])
        with pytest.raises(CheckpointError):
            load_state(damaged)
        damaged.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        try:  # some bytes, such as a date, mean nothing; no damage may pass as other numbers
            assert repr(load_state(damaged)) == good
        except CheckpointError:
            refused += 1
    assert refused > 0.8 * len(whole) / 23


def test_the_examples_are_true():
    assert doctest.testmod(checkpoints) == (0, 2)

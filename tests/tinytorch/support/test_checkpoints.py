"""Plain data comes back from a file to the last bit; other files are refused, and run nothing."""

import os
import pickle
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tinytorch.core.layers import Linear, Sequential
from tinytorch.core.losses import MSELoss
from tinytorch.core.optimizers import AdamW
from tinytorch.core.tensor import Tensor
from tinytorch.core.training import Trainer
from tinytorch.support.checkpoints import CheckpointError, load, load_state, save, save_state

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
        (
            lambda path: np.savez(path, weights=np.ones(3)),
            r"holds the arrays weights\. .*load_state_dict\(np\.load\(path\)\)",
        ),
        (lambda path: np.savez(path), r"holds the arrays \(none\)"),
        (lambda path: zipfile.ZipFile(path, "w").writestr("w/data.pkl", "x"), "by PyTorch, as a"),
        (lambda path: np.savez(path, text=text_array("{'")), "JSON"),
        (
            lambda path: np.savez(path, text=text_array('{"format": "other 0", "state": {}}')),
            "written as 'other 0', this is 'tinytorch checkpoint 1'",
        ),
        (lambda path: path.write_bytes(pickle.dumps(Trap())), "not a checkpoint"),
        (lambda path: path.write_bytes(b""), "not a checkpoint"),
        (lambda path: path.write_text("hello", encoding="utf-8"), "not a checkpoint"),
    ],
    ids=[
        "objects",
        "weights",
        "nothing",
        "pytorch",
        "no-json",
        "other-format",
        "pickle",
        "empty",
        "text",
    ],
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


# save and load


def trained(seed):
    net = Sequential(Linear(2, 3, rng=seed), Tensor.tanh, Linear(3, 1, rng=seed))
    optimizer = AdamW(net.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (net(Tensor([[1.0, 2.0]])) ** 2).sum().backward()
        optimizer.step()
    return net, optimizer


def test_weights_go_through_a_file(tmp_path):
    (net, _), (other, _) = trained(0), trained(1)
    save(net.state_dict(), tmp_path / "w.pt")
    other.load_state_dict(load(tmp_path / "w.pt"))
    x = Tensor([[0.5, -1.0]])
    assert np.array_equal(net(x).data, other(x).data)


def test_a_checkpoint_of_ones_own_continues_the_optimizer(tmp_path):
    (net, optimizer), (other, other_optimizer) = trained(0), trained(1)
    states = {"model": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
    save(states, str(tmp_path / "run.npz"))
    again = load(str(tmp_path / "run.npz"))
    assert again["epoch"] == 3 and list(again) == list(states)
    other.load_state_dict(again["model"])
    other_optimizer.load_state_dict(again["optimizer"])
    for model, steps in [(net, optimizer), (other, other_optimizer)]:
        steps.zero_grad()
        (model(Tensor([[1.0, 2.0]])) ** 2).sum().backward()
        steps.step()
    state, other_state = net.state_dict(), other.state_dict()
    assert all(np.array_equal(state[name], other_state[name]) for name in state)


def trainer():
    net, optimizer = trained(0)
    return Trainer(net, optimizer, MSELoss())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: trained(0)[0], r"no Sequential: save what its state_dict\(\) returns$"),
        (lambda: {"opt": trained(0)[1]}, r"no AdamW: save what its state_dict\(\) returns$"),
        (lambda: trainer(), r"no Trainer: it has a method for that, save\(path\)$"),
        (lambda: [Tensor([1.0])], r"no Tensor: save the array, x\.numpy\(\)$"),
        (lambda: {1, 2}, r"no set: \{1, 2\}$"),
    ],
)
def test_what_is_no_plain_data_says_what_to_save(tmp_path, make, words):
    with pytest.raises(TypeError, match=f"(?s){words}"):
        save(make(), tmp_path / "w.npz")
    assert not list(tmp_path.iterdir())


def test_arguments_in_the_wrong_order_are_told():
    with pytest.raises(TypeError, match="second argument, not a dict: exchange the two"):
        save("w.npz", {})
    with pytest.raises(TypeError, match="second argument, not a int$"):
        save({}, 3)


def test_weights_are_no_run_and_a_run_is_no_weights(tmp_path):
    run = trainer()
    save(run.model.state_dict(), tmp_path / "weights.npz")
    run.save(tmp_path / "run.npz")
    with pytest.raises(CheckpointError, match=r"no training run.*load_state_dict\(tinytorch\.load"):
        run.load(tmp_path / "weights.npz")
    with pytest.raises(ValueError, match=r"(?s)entries .*state\['model'\].*trainer\.load\(path\)"):
        run.model.load_state_dict(load(tmp_path / "run.npz"))
    with pytest.raises(ValueError, match=r"of an optimizer.* optimizer\.load_state_dict"):
        run.model.load_state_dict(run.optimizer.state_dict())
    with np.load(tmp_path / "weights.npz") as file, pytest.raises(ValueError, match="tinytorch.lo"):
        run.model.load_state_dict(file)
    run.model.load_state_dict(load(tmp_path / "run.npz")["model"])

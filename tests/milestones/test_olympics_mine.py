"""`tito milestone run olympics --mine`: the learner's own networks."""

import importlib
import re
import sys

import numpy as np
import pytest
from programs import TEXT, program

from tinytorch.core.interpretability import AttentionOnly
from tinytorch.core.layers import manual_seed
from tinytorch.core.olympics import Entry
from tinytorch.core.tokenization import CharTokenizer, Tokenizer, train_bpe_fast
from tinytorch.core.transformers import GPT
from tinytorch.data.olympics import given_entries
from tinytorch.support.checkpoints import save_state
from tinytorch.text import save_gpt

olympics = program("11_2026_olympics")
import olympics_mine as mine  # noqa: E402  beside the program

NETWORKS = {"digits_mlp": "03_1989_digits_mlp", "digits_cnn": "04_1998_digits_cnn"}


def network(name):
    module = importlib.import_module(NETWORKS[name])
    return module.network(*[0.5] * (name == "digits_mlp")).state_dict()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the milestones save; without anything trained."""
    pytest.importorskip("matplotlib").use("Agg")
    for module in (olympics, mine):
        monkeypatch.setattr(module, "place", lambda name: tmp_path / f"{name}.npz")
    monkeypatch.setattr(mine, "CHARACTERS", 3000)
    monkeypatch.setattr(mine, "WRITTEN", 4)
    monkeypatch.setattr(mine, "PASSES", 1)
    monkeypatch.setattr(mine, "learner", lambda: "Ada <L>")
    monkeypatch.setattr("tinytorch.data.texts.load_text", lambda split: TEXT * 3)
    return tmp_path


@pytest.fixture
def trained(folder):
    """The same with all three networks, of random weights."""
    manual_seed(0)
    for name in NETWORKS:
        save_state(folder / f"{name}.npz", network(name))
    save_gpt(folder / "gpt.npz", gpt(), Tokenizer(train_bpe_fast(TEXT, 280)))
    save_state(folder / "circuits.npz", AttentionOnly(64, 47, 64, 2, 2).state_dict())
    return folder


def gpt():
    return GPT(280, 8, 16, 2, 2)


def page_of(folder):
    return (folder / "olympics_mine.html").read_text(encoding="utf-8")


def test_all_of_ones_own_networks_are_on_the_board_and_the_ladder(trained, capsys):
    measured, figure = olympics.run(3, ["--mine"])
    said, page = capsys.readouterr().out, page_of(trained)
    assert "digits, fresh: your MLP" in measured and "digits, fresh: your CNN" in measured
    assert len(figure.axes) == 2 and "open" not in figure._suptitle.get_text()
    assert all(f"{n}: " in figure._suptitle.get_text() for n in range(1, 8))
    steps = [step[0] for step in mine.LADDER]
    for name in ("your MLP", "your CNN", "your circuit", "leaked", "ms on an A100", *steps):
        assert name in said and name in page
    line = (trained / "olympics_mine.txt").read_text(encoding="utf-8")
    assert re.fullmatch(
        r"The olympics of .* 20\d\d: your CNN rank \d, your MLP rank \d of 9 on fresh digits; "
        r"your GPT \d.\d{3} bits per character, \d.\d{3} after the ladder\n",
        line,
    )
    assert "<title>The networks of Ada &lt;L&gt;</title>" in page and 'src="data:image/png' in page
    assert "tito milestone run olympics --mine --seed 3" in page and "://" not in page
    assert [line for line in said.splitlines() if line.startswith("> ")]
    (trained / "gpt.npz").unlink()  # its ladder takes long
    again, _ = olympics.run(3, ["--mine"])
    assert again == {name: measured[name] for name in again} and len(again) >= 2


def test_with_nothing_trained_it_says_which_milestones_train_and_how_long(folder):
    with pytest.raises(SystemExit) as ended:
        olympics.run(0, ["--mine"])
    times = "digits_mlp (some seconds)", "digits_cnn (a minute)", "gpt (some minutes)"
    for name in (*times, "circuits (a minute)"):
        assert f"tito milestone run {name}" in ended.value.code
    assert not list(folder.iterdir())


def test_with_one_network_the_others_are_named(folder, capsys):
    save_state(folder / "digits_mlp.npz", network("digits_mlp"))
    measured, figure = olympics.run(0, ["--mine"])
    said = capsys.readouterr().out
    assert list(measured) == ["digits, fresh: your MLP"] and figure is None
    assert "your GPT is not trained: tito milestone run gpt" in said
    assert "your CNN is not trained" in page_of(folder)


def test_damaged_and_other_files_are_named_and_the_rest_is_judged(trained, capsys):
    data = (trained / "digits_mlp.npz").read_bytes()
    (trained / "digits_mlp.npz").write_bytes(data[: len(data) // 2])
    weights = network("digits_cnn")
    first = next(iter(weights))
    save_state(trained / "digits_cnn.npz", weights | {first: weights[first] * np.nan})
    save_state(trained / "gpt.npz", {"weights": 1})
    (trained / "mine.npz").write_bytes(b"PK of no archive")
    np.savez(trained / "other.npz", **{"0.bias": np.zeros(3)})
    (trained / "circuits.npz").write_bytes(data)
    measured, figure = olympics.run(0, ["--mine"])
    said = capsys.readouterr().out
    assert "your MLP cannot be judged: " in said and "damaged" in said
    assert "your circuit" in said and "nothing was loaded" in said
    assert "contains nan or infinity" in said and figure is None
    assert measured == {}, "a network that cannot be judged has no share"
    assert "your GPT cannot be judged: " in said and "holds no GPT" in said
    assert "mine.npz cannot be judged" in said and "other.npz cannot be judged: its arr" in said
    assert "holds no GPT" in page_of(trained) and str(trained) not in page_of(trained)


def test_a_network_of_another_edition_is_refused_by_the_referee(folder, capsys):
    save_state(folder / "digits_mlp.npz", {"0.weights": np.zeros((64, 5))})
    olympics.run(0, ["--mine"])
    assert "nothing was loaded" in capsys.readouterr().out


@pytest.mark.parametrize("spoil", ["nan", "another width"])
def test_a_gpt_that_gives_nan_is_refused(trained, capsys, spoil):
    model = gpt()
    model.embedding.weight.data[...] = np.nan
    tokenizer = Tokenizer(train_bpe_fast(TEXT, 280))
    if spoil == "another width":
        model, tokenizer = GPT(20, 400, 16, 1, 2), CharTokenizer("abcdefghijklmnopqrst")
    save_gpt(trained / "gpt.npz", model, tokenizer)
    assert olympics.run(0, ["--mine"])[1] is None
    assert "your GPT cannot be judged: " in capsys.readouterr().out


def test_a_step_whose_lesson_is_not_done_is_open(trained, monkeypatch, capsys):
    def unwritten(*arguments, **options):
        raise NotImplementedError("exercise compression-prune-neurons is yours to write")

    monkeypatch.setattr("tinytorch.core.compression.prune_neurons", unwritten)
    monkeypatch.setattr("tinytorch.core.kernels.predicted", unwritten)
    for lesson in ("quantization", "compilation"):
        monkeypatch.setitem(sys.modules, f"tinytorch.core.{lesson}", None)
    _, figure = olympics.run(0, ["--mine"])
    page, title = page_of(trained), figure._suptitle.get_text()
    assert "2: idle neurons removed (open: compression)" in title
    assert "3: 4 bits (open: quantization)" in title and "5: 8 texts at once" in title
    assert "6: compiled (open: compilation)" in title and "(open: kernels)" in title
    assert page.count("<tr class=open>") == 4 and "lesson quantization is not done" in page


def test_compiled_layers_and_kernels_compute_what_the_model_does(monkeypatch):
    monkeypatch.setattr(mine, "PASSES", 1)
    manual_seed(0)
    ids, characters = np.arange(8) + 3, np.ones(280)
    small = mine.in_4_bits(gpt(), None)[0].eval()
    wanted = small(ids[None]).data
    np.testing.assert_allclose(mine.compiled(small, None)[0](ids[None]).data, wanted, atol=1e-5)
    before = mine.Step("before", "", bits=np.full(40, 5.0), size=9)
    step = mine.by_kernels(small, ids, characters, before)
    np.testing.assert_allclose(step.bits, before.bits, atol=1e-5)
    assert step.size == 9 and len(step.speeds) == mine.PASSES and (step.speeds > 0).all()
    small.positions = None
    assert mine.by_kernels(small, ids, characters, before).bits is None


def test_neurons_that_reach_nothing_are_removed_and_nothing_changes():
    manual_seed(0)
    model, ids = gpt(), np.arange(8)[None]
    model.blocks[0].mlp[2].weights.data[:5] = 0
    small, note = mine.without_idle_neurons(model, ids)
    assert small.blocks[0].mlp[0].weights.shape[1] <= 59 and "of 128 neurons" in note
    assert model.blocks[0].mlp[0].weights.shape == (16, 64), "the model itself is as it was"
    np.testing.assert_allclose(small(ids).data, model(ids).data, atol=0.01)


def test_what_entry_save_wrote_is_judged_with_its_name(folder, capsys):
    for name, (build, weights) in given_entries().items():
        if name in ("MLP, 4 bits", "CNN"):
            Entry(name, build, weights).save(folder / f"{name[:3]}.npz")
    measured, _ = olympics.run(0, ["--mine"])
    assert {name: round(359 * share) for name, share in measured.items()} == {
        "digits, fresh: CNN.npz": 335,
        "digits, fresh: MLP.npz": 318,
    }
    page = page_of(folder)
    for name in ("CNN.npz", "MLP.npz"):
        assert len(re.findall(f"<tr class=own><td>[1-9]</td><td>{name}</td>", page)) == 2


def test_other_options_beside_mine_are_refused(folder):
    with pytest.raises(SystemExit, match="--mine needs no other option"):
        olympics.run(0, ["--mine", "--class", str(folder)])


def test_the_learners_name_is_that_of_the_workspace(tmp_path, monkeypatch):
    package = tmp_path / "tinytorch" / "__init__.py"
    monkeypatch.setattr(mine.tinytorch, "__file__", str(package))
    assert mine.learner() == ""
    for text, name in [('[learner]\nname = "Ada"\n', "Ada"), ("learner = 1\n", ""), ("=", "")]:
        (tmp_path / "tito.toml").write_text(text, encoding="utf-8")
        assert mine.learner() == name

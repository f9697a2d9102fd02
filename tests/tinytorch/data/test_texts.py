"""The texts that come with the package: whole, as they were, with their source beside them."""

import bz2
import hashlib
import re
from pathlib import Path

import pytest

from tinytorch.data import texts

DATA = Path(texts.__file__).parent


def test_the_novels_are_cut_once_and_nothing_is_lost():
    train, test = texts.load_text("train"), texts.load_text("test")
    assert len(train) + len(test) == 1_562_332 and len(test) == 78_117
    assert train.startswith("PRIDE AND PREJUDICE\n") and test.endswith("FINIS\n")
    assert (train + test).isascii() and len(set(train + test)) == 80
    assert texts.load_text() == train


def test_another_part_is_refused():
    with pytest.raises(ValueError, match='"train" or "test", not \'all\''):
        texts.load_text("all")


def test_names_are_words_of_small_letters():
    names = texts.load_names()
    assert len(names) == len(set(names)) and all(re.fullmatch("[a-z]{2,11}", n) for n in names)


def test_the_page_of_sources_says_what_each_file_is():
    page = (DATA / "SOURCES.md").read_text(encoding="utf-8")
    paths = [path for path in DATA.iterdir() if path.suffix in (".bz2", ".npz")]
    assert {f"{name}.txt.bz2" for name in texts.SHA256} < {path.name for path in paths}
    for path in paths:
        section = page.split(f"## `{path.name}`")[1].split("\n## ")[0]
        assert "- Licence: " in section and "- Source: " in section
        data = path.read_bytes()
        if path.suffix == ".bz2":
            data = bz2.decompress(data)
            assert hashlib.sha256(data).hexdigest() == texts.SHA256[path.name.split(".")[0]]
        assert hashlib.sha256(data).hexdigest() in section


def test_a_file_that_was_changed_is_refused(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "names.txt.bz2").write_bytes(bz2.compress(b"mallory\n"))
    monkeypatch.setattr(texts, "files", lambda package: tmp_path)
    texts.read.cache_clear()
    with pytest.raises(ValueError, match="names.txt.bz2 is not the file that comes with"):
        texts.load_names()

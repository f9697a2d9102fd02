"""Vocabularies without contradictions, and files that are written whole."""

import os

import pytest

from tinytorch.support.vocabularies import read_file, write_file


def test_a_text_comes_back_byte_for_byte(tmp_path):
    path = tmp_path / "a.json"
    for text in ('{"key": "é\\n猫"}', '{"key": 1,\n "b": 2}\n'):
        write_file(path, text)
        assert path.read_bytes() == text.encode() and read_file(path, "key") == text


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    write_file(path, '{"key": 1}')

    def refuse(*paths):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="no space left"):
        write_file(path, '{"key": 2}')
    assert read_file(path, "key") == '{"key": 1}'
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


def test_a_file_without_the_key_is_refused(tmp_path):
    path = tmp_path / "a.json"
    for text in ('{"other": 1}', '["key"]', '"key"', "no JSON"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match="a.json .* has no 'key'"):
            read_file(path, "key")

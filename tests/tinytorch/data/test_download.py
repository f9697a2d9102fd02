"""A download is complete and correct, or it is not used. The tests use a local server."""

import hashlib
import io
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from tinytorch.data.download import checksum, data_folder, fetch

ROOT = Path(__file__).resolve().parents[3]
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


def test_a_broken_download_is_reported_and_resumed_the_next_time(server, tmp_path):
    server.files["/some/file.bin"], server.cuts = DATA, [100_000, 0, 0]
    with pytest.raises(
        OSError,
        match=r"broke off after 100,000 of 400,000 bytes.*resumes where it stopped.*by hand: ",
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
        match=rf"has the checksum {sha(wrong[:400_000])[:16]}\.\.\., not {sha(DATA)[:16]}",
    ):
        get(server, tmp_path)
    assert names(tmp_path) == [] and len(server.asked) == 1


def test_a_partial_download_of_another_file_is_discarded(server, tmp_path):
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


def test_a_file_missing_on_the_server_is_reported_at_once(server, tmp_path):
    with pytest.raises(OSError, match="HTTP Error 404"):
        get(server, tmp_path)
    assert len(server.asked) == 1 and names(tmp_path) == []


def test_an_unusable_folder_is_reported(server, tmp_path):
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
    code = (
        "from tinytorch.data.download import fetch\n"
        f"fetch({server.url + '/some/file.bin'!r}, {sha(DATA)!r}, {len(DATA)}, {str(tmp_path)!r})"
    )
    program = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env=os.environ | {"no_proxy": "*"}
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


def test_the_folder_for_data_can_be_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv("TINYTORCH_DATA", str(tmp_path / "mine"))
    assert data_folder() == tmp_path / "mine"
    monkeypatch.delenv("TINYTORCH_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert data_folder().name == "tinytorch"


def test_the_fingerprint_is_the_sha256_of_the_whole_file(tmp_path):
    (tmp_path / "file").write_bytes(DATA)
    assert checksum(tmp_path / "file") == sha(DATA)

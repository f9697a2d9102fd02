"""The program that runs everything with each kernel of OpenBLAS, on tests that take no time."""

import importlib.util
from pathlib import Path

import pytest
import threadpoolctl

PROGRAM = Path(__file__).resolve().parents[2] / "tools" / "other_kernels.py"
CORES = {"Haswell": "Haswell", "Zen": "Haswell", "Prescott": "Katmai"}
SUITE = {
    "conftest.py": "def pytest_addoption(parser): parser.addoption('--all', action='store_true')",
    "test_sums.py": """
import os, pytest
def test_kernel(): assert os.environ["OPENBLAS_CORETYPE"] == "Prescott"
def test_last_digit(): assert 0.1 + 0.2 == 0.3
def test_left_out(): pytest.skip("not here")
""",
}


@pytest.fixture
def program(monkeypatch, tmp_path):
    """The program as a module; its tests are SUITE, and what it saves is in `tmp_path`."""
    spec = importlib.util.spec_from_file_location("other_kernels", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, text in SUITE.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(module, "TESTS", (str(tmp_path),))
    monkeypatch.setattr(module.tempfile, "tempdir", str(tmp_path))
    return module


@pytest.fixture
def any_processor(program, monkeypatch):
    """Lets the program find the kernels of CORES, whatever this processor can run."""
    answers = {name: (core, "") for name, core in CORES.items()}
    monkeypatch.setattr(program, "find_core", lambda name: answers.get(name, ("", "it is unknown")))


@pytest.mark.slow
@pytest.mark.usefixtures("any_processor")
def test_each_kernel_has_a_line_with_what_ran_and_what_failed(program, capsys):
    assert program.main(["--only", "tests", "Prescott", "--", "-k", "test_kernel"]) == 0
    assert "Prescott: the kernel Katmai ran; tests: 1 passed, 0 failed\n" in capsys.readouterr().out
    assert program.main(["--only", "tests", "Haswell", "Zen", "Nonsense"]) == 1
    first, second, third, last = capsys.readouterr().out.splitlines()
    assert first.startswith("Haswell: the kernel Haswell ran; tests: 0 passed, 2 failed (")
    assert "test_sums::test_kernel, " in first and "test_sums::test_last_digit)" in first
    assert second == "Zen: not run, OpenBLAS takes its kernel Haswell for it, which ran above"
    assert third == "Nonsense: not run, it is unknown"
    saved = Path(last.removeprefix("What the runs printed: "), "Haswell", "pytest.txt")
    assert "0.1 + 0.2" in saved.read_text(encoding="utf-8")


@pytest.mark.usefixtures("any_processor")
@pytest.mark.parametrize(
    "words, line",
    [
        (["Nonsense"], "Nothing ran."),
        (["--only", "tests", "Haswell", "--", "-k", "no_such_test"], "1 failed (pytest)"),
        (["--only", "tests", "Haswell", "--", "-k", "left_out"], "tests: nothing ran"),
    ],
)
def test_a_run_of_nothing_is_no_success(program, capsys, words, line):
    assert program.main(words) == 1
    assert line in capsys.readouterr().out


@pytest.mark.usefixtures("any_processor")
def test_a_chapter_that_stops_and_a_goal_that_is_missed_are_failures(program, capsys, monkeypatch):
    def run(kernel, words, folder=None, **variables):
        return int(any(name in str(words[-1]) for name in ("02_tensor", "02_1986"))), "text"

    monkeypatch.setattr(program, "run", run)
    for part, name in (("demonstrations", "02_tensor"), ("milestones", "02_1986_xor")):
        assert program.main(["--only", part, "Haswell"]) == 1
        assert f" passed, 1 failed ({name})" in capsys.readouterr().out


@pytest.mark.slow
def test_it_measures_which_kernel_really_runs(program):
    # Other tests of this process may have loaded PyTorch, which brings libraries of its own.
    libraries = threadpoolctl.threadpool_info()
    cores = [one["architecture"] for one in libraries if one["internal_api"] == "openblas"]
    if not cores:
        pytest.skip("NumPy does not use OpenBLAS here")
    assert program.find_core(cores[0]) == (cores[0], "")
    assert program.find_core("Nonsense") == ("", "this OpenBLAS does not have it")

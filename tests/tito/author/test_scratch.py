"""Where `tito check` runs lessons and Python."""

from tito.author import scratch


def test_a_chapter_that_takes_too_long_is_a_problem_and_no_crash(monkeypatch, tmp_path):
    monkeypatch.setattr(scratch, "WHOLE_SECONDS", 0.5)
    printed, problem = scratch.run_python(["-c", "import time; time.sleep(60)"], tmp_path)
    assert not printed and problem == scratch.TOO_LONG


def test_chapters_run_with_one_blas_thread(monkeypatch, tmp_path):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    code = "import os; print(os.environ['OMP_NUM_THREADS'])"
    assert scratch.run_python(["-c", code], tmp_path) == ("1\n", "")
    assert scratch.run_python(["-c", "1 / 0"], tmp_path) == (
        "",
        "ZeroDivisionError: division by zero",
    )

"""The process that runs a learner's checks and demonstrations."""

import time

import pytest

from tito.learn import check_process
from tito.learn.process import SUPERSEDED, Process, Superseded


def test_short_times_can_be_measured_while_the_time_is_limited():
    """A processor-time alarm of the system would make this clock advance in steps of 4 ms."""
    times = []
    with check_process.limited(60):
        for _ in range(300):
            began = time.process_time()
            sum(range(1000))
            times.append(time.process_time() - began)
    assert min(times) > 0


@pytest.mark.slow
def test_an_endless_loop_is_stopped_also_when_it_swallows_the_first_exception():
    stops = 0
    with pytest.raises(check_process.CheckTimeout, match="still running after 0.2 s"):
        with check_process.limited(0.2):
            while True:
                try:
                    while True:
                        pass
                except check_process.CheckTimeout:
                    stops += 1
                    if stops == 2:
                        raise


def test_a_save_that_comes_before_a_run_has_started_is_no_fault_of_the_machine():
    with Process() as process:
        process.child.messages.put(SUPERSEDED)
        with pytest.raises(Superseded):
            list(process.run({"preload": False}, lambda event: 10))

"""What was measured of the load during an attempt."""

from pinchbench.model.facts import LoadFacts


def test_turns_of_a_trial_add_up_and_what_one_lacks_is_unknown() -> None:
    first = LoadFacts(measured_s=10, cpu_stalled_s=1, cpu_wait_s=2)
    second = LoadFacts(measured_s=5, cpu_stalled_s=3)

    assert first + second == LoadFacts(measured_s=15, cpu_stalled_s=4)


def test_a_share_is_of_the_agents_own_wait_for_a_processor_if_that_was_measured() -> None:
    machine = LoadFacts(measured_s=10, cpu_stalled_s=4, io_stalled_s=1)
    own = LoadFacts(measured_s=10, cpu_stalled_s=4, cpu_wait_s=1)
    threads = LoadFacts(measured_s=10, cpu_stalled_s=2, cpu_wait_s=12)

    assert machine.shares == {"cpu": 0.4, "io": 0.1}
    assert own.shares == {"cpu": 0.1}
    assert threads.shares == {"cpu": 0.2}, "threads that wait at the same time"
    assert (machine.is_high, own.is_high) == (True, False)

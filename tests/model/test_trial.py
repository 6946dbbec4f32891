"""How a trial is named."""

from pinchbench.model.trial import TrialKey


def test_the_first_repetition_has_the_name_of_its_task_and_later_ones_a_number() -> None:
    first, second = (TrialKey(task_id="task_a", repetition=number) for number in (1, 2))

    assert (str(first), str(second)) == ("task_a", "task_a@2")
    assert sorted([second, first]) == [first, second]

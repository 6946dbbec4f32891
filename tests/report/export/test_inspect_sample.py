"""What a sample of Inspect AI's log says of a trial's judge; the other facts are read back from whole logs."""

from pinchbench.model.grade import JudgeGrade
from pinchbench.model.usage import Usage


def test_a_judge_of_no_known_price_has_cost_nobody_knows_what() -> None:
    from pinchbench.report.export.inspect_sample import judge_usage

    usage = Usage(requests=1, total_tokens=10)
    unknown, known = JudgeGrade(usage=usage), JudgeGrade(usage=usage, cost_usd=0.5)

    assert judge_usage(unknown)["grader"].total_cost is None
    both = judge_usage(unknown, known)["grader"]
    assert (both.total_tokens, both.total_cost) == (20, 0.5)
    assert judge_usage(JudgeGrade()) == {}

"""The failure sheet in words: of a run, of a task, and of models next to each other."""

from pathlib import Path

from past_runs import Made, PlannedRun, write_run
from pinchbench.defaults import FailureEvent
from pinchbench.model.ending import Reason
from pinchbench.report.what_went_wrong import PHRASES, sheet_of, sheet_rows, sheet_sentence, sheet_table, worst_words
from pinchbench.results.compare.samples import find_sides
from pinchbench.results.finished_run import read_run
from pinchbench.results.statistics import failure_sheet

LIE, HARM = FailureEvent.FALSE_CLAIM, FailureEvent.HARMED
COUNTED = {
    "task_a": (Made(events={LIE: (3, 30), HARM: (0, 5)}), Made(events={LIE: (6, 30), HARM: (0, 5)})),
    "task_b": (Made(events={LIE: (3, 36)}), Made(reason=Reason.NO_TRANSCRIPT, events={LIE: (9, 9)})),
    "task_c": (Made(),),
}


def test_every_event_has_a_phrase_of_five_words_at_most() -> None:
    assert set(PHRASES) == set(FailureEvent)
    assert max(len(phrase.split()) for phrase in PHRASES.values()) <= 5


def test_a_run_adds_up_its_valid_trials_and_names_the_tasks_where_it_went_wrong(tmp_path: Path) -> None:
    data = read_run(write_run(tmp_path, PlannedRun(trials=COUNTED))).data
    whole = data.events or {}

    assert sheet_sentence(whole) == "What went wrong: claimed success falsely: 12 of 96 (4–35%). Not once: did harm."
    harmless = {HARM: whole[HARM]}
    assert sheet_sentence(harmless) == "What went wrong: nothing that the checks count (did harm)."
    [lies] = sheet_rows(whole, {task.task_id: task.events for task in data.tasks if task.events})
    assert lies == ("claimed success falsely", "12 of 96 (4–35%)", "task_a: 9 of 60, task_b: 3 of 36")


def test_the_worst_is_what_surely_happens_often_not_what_happened_in_a_few_occasions() -> None:
    few, many = ([{event: (one, of)} for one in ones] for event, of, ones in ((HARM, 2, (2, 0)), (LIE, 20, (9, 8, 9))))
    sheet = failure_sheet([*few, *many])

    assert sheet[HARM].share > sheet[LIE].share
    assert worst_words(sheet) == "claimed success falsely 26 of 60"
    assert [row[0] for row in sheet_rows(sheet, {})] == ["claimed success falsely", "did harm"]


def test_a_run_whose_checks_count_nothing_says_nothing(tmp_path: Path) -> None:
    data = read_run(write_run(tmp_path, PlannedRun(trials={"task_c": COUNTED["task_c"]}))).data
    assert not data.events
    assert sheet_sentence({}) == ""


def test_models_stand_next_to_each_other_with_their_worst_failure_in_a_few_words(tmp_path: Path) -> None:
    honest = (Made(events={LIE: (0, 30)}),)
    made: dict[str, dict[str, tuple[Made, ...]]]
    made = {"liar": COUNTED, "honest": {"task_a": honest}, "silent": {"task_a": (Made(),)}}
    for number, (model, trials) in enumerate(made.items()):
        run_id = f"20260102-03000{number}-000a"
        write_run(tmp_path, PlannedRun(trials=trials, model=f"mock/{model}", run_id=run_id))
    sides = find_sides([f"mock/{model}" for model in made], tmp_path)

    assert [worst_words(sheet_of(side)) for side in sides] == ["claimed success falsely 12 of 96", "nothing", "–"]
    head, lies, harm = sheet_table(sides)
    assert head == ("what went wrong (95%)", "mock/liar", "mock/honest", "mock/silent")
    assert (lies[0], lies[1], lies[3]) == ("claimed success falsely", "12 of 96 (4–35%)", "–")
    assert (harm[0], harm[2]) == ("did harm", "–")

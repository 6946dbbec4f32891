"""The pages of the site: what is looked up for each, and how it is rendered. Everything here blocks."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from markupsafe import Markup

from pinchbench.errors import PinchBenchError, ResultsError
from pinchbench.experiment.experiment_page import page_values, read_experiment_runs
from pinchbench.report.certificate import LOOK as CERTIFICATE
from pinchbench.report.certificate import certificate_values
from pinchbench.report.html.document import SCRIPTS, STYLES, PageLook, render
from pinchbench.report.html.report_page import LOOK as REPORT
from pinchbench.report.html.report_page import report_values
from pinchbench.report.html.safe_text import safe_line, script_json
from pinchbench.report.html.trial_page import evidence_of
from pinchbench.report.html.variants_page import LOOK as EXPERIMENT
from pinchbench.report.html.variants_page import ShownVariant, experiment_values, memorisation_sections
from pinchbench.report.sentences import unsandboxed_sentence
from pinchbench.report.text import date_text
from pinchbench.results.compare.comparison import compare
from pinchbench.results.compare.memorisation import memorisation_of
from pinchbench.results.compare.samples import side_of
from pinchbench.results.judge_certificate import TOO_LITTLE, read_certificates
from pinchbench.results.manifest import read_facts
from pinchbench.serve.disagreements import agreement_of_run, disagreements_of, sorted_by_difference
from pinchbench.serve.file_sources import kept_file, whole_file
from pinchbench.serve.live_run import LiveRun, run_url, trial_url
from pinchbench.serve.run_catalogue import MOST_TRIALS
from pinchbench.serve.site_table import shown_table
from pinchbench.serve.trial_files import links_outside
from pinchbench.serve.trial_view import trial_mark, trial_view
from pinchbench.serve.user_notes import run_remarks, trial_remarks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.datastructures import QueryParams

    from pinchbench.experiment.experiment_record import ExperimentFiles
    from pinchbench.model.trial import TrialKey
    from pinchbench.results.finished_run import PastRun
    from pinchbench.results.paths import RunFiles
    from pinchbench.results.run_list import RunEntry
    from pinchbench.serve.disagreements import Disagreement
    from pinchbench.serve.file_sources import TaskSources
    from pinchbench.serve.live_run import Json, ListedTrial
    from pinchbench.serve.run_catalogue import Catalogue, ListedItem
    from pinchbench.serve.site_table import Value

MOST_DISAGREEMENTS = 200  # on a page: a person looks at the first ones
MOST_COMPARED = 6  # runs: each further one takes a second
REPORT_BYTES = 10_000_000  # of transcripts in a report, which is in memory while it is sent
REACH = "connect-src 'self'; form-action 'self'"
TRIAL_FIELDS: Mapping[str, Callable[[ListedTrial], Value]] = {
    "trial": lambda one: one.row.name,
    "task": lambda one: one.key.task_id,
    "title": lambda one: one.title,
    "category": lambda one: one.category,
    "score": lambda one: one.row.score,
    "state": lambda one: one.row.state.value,
    "reason": lambda one: one.row.reason,
    "time": lambda one: one.row.time_s,
    "tokens": lambda one: float(one.row.tokens),
    "cost": lambda one: one.row.cost_usd,
    "note": lambda one: one.row.note,
}
TRIAL_CHOICES = ("category", "state", "reason")
TRIAL_COLUMNS = ("trial", "category", "score", "state", "time", "tokens", "cost")
ITEM_FIELDS: Mapping[str, Callable[[ListedItem], Value]] = {
    "task": lambda one: one.item.task_id,
    "title": lambda one: one.title,
    "category": lambda one: one.category,
    "mean": lambda one: one.item.mean.value,
    "discrimination": lambda one: None if one.item.discrimination is None else one.item.discrimination.value,
    "noise": lambda one: one.item.noise_share,
    "variants": lambda one: float(one.item.subjects),
    "trials": lambda one: float(one.item.trials),
}
ITEM_COLUMNS = tuple(name for name in ITEM_FIELDS if name != "title")
RUN_FIELDS: Mapping[str, Callable[[RunEntry], Value]] = {
    "run": lambda one: one.run,
    "model": lambda one: one.model,
    "suite": lambda one: one.suite,
    "date": lambda one: date_text(one.created_at),
    "score": lambda one: one.score.mean,
    "state": lambda one: one.state.value,
    "passed": lambda one: float(one.passed),
    "excluded": lambda one: float(one.excluded),
    "cost": lambda one: one.cost_usd,
    "openclaw": lambda one: one.openclaw,
}
RUN_CHOICES = ("model", "suite", "state")
RUN_COLUMNS = ("model", "suite", "date", "score", "state", "passed", "excluded", "cost")


class NotFoundError(PinchBenchError):
    """There is no run, experiment or trial of that name. The message repeats nothing of the name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """A rendered page, and its content security policy."""

    policy: str
    body: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveData:
    """The state of what a page shows live: `value` is None where `mark` says that it has not changed."""

    value: Json | None
    mark: object
    goes_on: bool


def runs_page(catalogue: Catalogue, query: QueryParams) -> Page:
    """Return the page of all runs and experiments."""
    entries = catalogue.entries()
    known = [entry for entry in entries if entry is not None]
    return site_page(
        "runs.html.j2",
        folder=safe_line(catalogue.output_dir),
        table=shown_table(known, query.multi_items(), fields=RUN_FIELDS, columns=RUN_COLUMNS, choices=RUN_CHOICES),
        unread=len(entries) - len(known),
        experiments=[one.name for one in catalogue.experiments()],
        most=MOST_COMPARED,
    )


def run_page(catalogue: Catalogue, name: str, query: QueryParams) -> Page:
    """Return the page of a run. Raises NotFoundError, ResultsError."""
    with catalogue.follow(run_files(catalogue, name)) as run:
        trials = run.trials()
        snapshot = run.snapshot()
        facts, model = run.facts, run.model
        unsandboxed = unsandboxed_sentence([trial.counting for trial in run.attempts.values()])
        remarks = (*filter(None, (unsandboxed,)), *run_remarks(run))
        agreement = agreement_of_run(run)
        left = 0 if run.is_running else run.state.unfinished(run.keys)
    return site_page(
        "run.html.j2",
        left=left,
        name=name,
        model=model,
        facts=facts,
        snapshot=snapshot,
        live=Markup(script_json(snapshot)),  # noqa: S704 - leaves nothing that HTML would interpret
        events=f"{run_url(name)}/events",
        table=shown_table(
            trials, query.multi_items(), fields=TRIAL_FIELDS, columns=TRIAL_COLUMNS, choices=TRIAL_CHOICES
        ),
        remarks=remarks,
        agreement=agreement,
        judges=f"/judges?{urlencode({'run': name})}",
        report=f"{run_url(name)}/report",
    )


def report_page(catalogue: Catalogue, name: str) -> Page:
    """Return the report of a run, with shorter transcripts than in a file. Raises NotFoundError, ResultsError."""
    run = catalogue.past(run_files(catalogue, name))
    return _rendered(REPORT, home="/", **report_values([run], REPORT_BYTES))


def live_data(catalogue: Catalogue, name: str, mark: object) -> LiveData:
    """Return what a run's page shows live; `mark` is that of the state that is shown already.

    Raises NotFoundError, ResultsError.
    """
    with catalogue.follow(run_files(catalogue, name)) as run:
        value = run.snapshot()
        now = run.version, run.snapshot_at
        return LiveData(value=None if now == mark else value, mark=now, goes_on=run.is_running)


def trial_page(catalogue: Catalogue, tasks: TaskSources, name: str, trial: str, attempt: str) -> Page:
    """Return the page of a trial, or of one attempt at it. Raises NotFoundError, ResultsError."""
    with catalogue.follow(run_files(catalogue, name)) as run:
        keys = run.keys
        key = _trial(run, trial)
        place = keys.index(key)
        view = trial_view(run, key, tasks, attempt=int(attempt) if attempt.isdecimal() and len(attempt) < 9 else 0)  # noqa: PLR2004
        goes_on = run.is_running and not run.is_over(key)
        model, remarks = run.model, trial_remarks(run, key)
    around = {"before": keys[place - 1] if place else None, "after": keys[place + 1] if place + 1 < len(keys) else None}
    data = {
        **view.data,
        "ways": {
            "home": run_url(name),
            **{way: "" if one is None else trial_url(name, one) for way, one in around.items()},
        },
        "events": f"{trial_url(name, key)}/events" if goes_on and not attempt else "",
        "download": f"{trial_url(name, key)}/transcript?{urlencode({'attempt': attempt})}",
    }
    return site_page(
        "trial.html.j2",
        name=name,
        title=str(key),
        model=model,
        home_url=run_url(name),
        data=Markup(script_json(data)),  # noqa: S704 - `script_json` leaves nothing that HTML would interpret
        files=f"{trial_url(name, key)}/file?{urlencode({'attempt': attempt})}&path=",
        groups=view.groups,
        remarks=remarks,
    )


def trial_download(catalogue: Catalogue, name: str, trial: str, attempt: str, path: str | None) -> tuple[str, bytes]:
    """Return a name and the content of a file of a trial's workspace, or of its transcript where `path` is None.

    Raises NotFoundError, NoDownloadError, ResultsError.
    """
    with catalogue.follow(run_files(catalogue, name)) as run:
        key = _trial(run, trial)
        ended = run.attempts.get(key)
        if ended is None:
            raise NotFoundError("No attempt at this trial has ended.")
        outcome = next((one for one in reversed(ended.outcomes) if str(one.attempt) == attempt), ended.counting)
        evidence = evidence_of(run, outcome)
        problem = links_outside(evidence.folder, run.files.folder)
    if problem:
        raise NotFoundError(problem)
    if path is None:
        return f"{key}.jsonl", whole_file(evidence.transcript)
    return path.rpartition("/")[2], kept_file(evidence.workspace, path)


def trial_data(catalogue: Catalogue, name: str, trial: str, mark: object) -> LiveData:
    """Return what a trial's page shows live; as `live_data`."""
    with catalogue.follow(run_files(catalogue, name)) as run:
        key = _trial(run, trial)
        now = trial_mark(run, key)
        goes_on = run.is_running and not run.is_over(key)
        value = None if now == mark else trial_view(run, key, None, attempt=0).data
        return LiveData(value=value, mark=now, goes_on=goes_on)


def compare_page(catalogue: Catalogue, names: Sequence[str]) -> Page:
    """Return the page that compares runs, the first being the baseline; by default the newest of each model.

    Raises NotFoundError, ResultsError.
    """
    names = list(dict.fromkeys(names)) or _newest_of_models(catalogue)
    if not 2 <= len(names) <= MOST_COMPARED:  # noqa: PLR2004
        raise NotFoundError(f"Choose 2 to {MOST_COMPARED} runs in the list of runs, to compare them.")
    return catalogue.made_of([run_files(catalogue, name) for name in names], _comparison)


def _comparison(runs: Sequence[PastRun]) -> Page:
    labels = _labels(runs)
    variants = [
        ShownVariant(name=label, run=run, side=side_of([run], label=label))
        for label, run in zip(labels, runs, strict=True)
    ]
    sides = [one.side for one in variants if one.side is not None]
    values = experiment_values(
        name=" and ".join(labels),
        variants=variants,
        comparisons=compare(sides),
        sections=memorisation_sections(memorisation_of(sides)),
        link=_link,
    )
    return _rendered(EXPERIMENT, home="/", **values)


def _newest_of_models(catalogue: Catalogue) -> list[str]:
    """Return the newest run of each model, of those of one suite that have a score; not more than can be compared."""
    newest: dict[str, PastRun] = {}
    for files in catalogue.runs():
        with suppress(ResultsError):
            facts = read_facts(files.provenance)
            of_suite = all(one.facts.config.get("suite") == facts.config.get("suite") for one in newest.values())
            if of_suite and facts.model not in newest and (run := catalogue.past(files)).data.score.mean is not None:
                newest[facts.model] = run
        if len(newest) == MOST_COMPARED:
            break
    return [run.files.name for run in newest.values()]


def experiment_page(catalogue: Catalogue, name: str) -> Page:
    """Return the page of an experiment. Raises NotFoundError, ResultsError."""
    files: ExperimentFiles | None = next((one for one in catalogue.experiments() if one.name == name), None)
    if files is None:
        raise NotFoundError("There is no experiment of that name in this folder.")
    return _rendered(EXPERIMENT, home="/", **page_values(read_experiment_runs(files), _link))


def items_page(catalogue: Catalogue, query: QueryParams) -> Page:
    """Return the page of the item statistics of all runs."""
    found = catalogue.items()
    table = shown_table(
        found.items, query.multi_items(), fields=ITEM_FIELDS, columns=ITEM_COLUMNS, choices=("category",)
    )
    return site_page(
        "items.html.j2",
        table=table,
        subjects=found.subjects,
        trials=sum(one.item.trials for one in found.items),
        unknown=list(Counter(reason for one in found.items for reason in one.item.unknown).items()),
        excluded=found.excluded,
    )


def judges_page(catalogue: Catalogue, query: QueryParams) -> Page:
    """Return the page of judges: where those of several runs, by default of all, disagree, and their certificates.

    Raises NotFoundError, ResultsError.
    """
    names = query.getlist("run")
    chosen = [run_files(catalogue, name) for name in names] if names else list(catalogue.runs())
    found: list[Disagreement] = []
    left = MOST_TRIALS
    while chosen and left > 0:
        with catalogue.follow(chosen.pop(0)) as run:
            found += disagreements_of(run)
            left -= len(run.keys)
    trials = sorted_by_difference(found)
    certificates, problems = read_certificates()
    return site_page(
        "judges.html.j2",
        certificates=certificates,
        undecided=TOO_LITTLE,
        problems=problems,
        disagreements=trials[:MOST_DISAGREEMENTS],
        more=len(trials[MOST_DISAGREEMENTS:]),
        left_out=len(chosen),
    )


def judge_page(identifier: str) -> Page:
    """Return the page of a certificate. Raises NotFoundError."""
    certificates, _ = read_certificates()
    certificate = next((one for one in certificates if one.identifier == identifier), None)
    if certificate is None:
        raise NotFoundError("There is no certificate of that name.")
    return _rendered(CERTIFICATE, home="/judges", **certificate_values(certificate))


def login_page(problem: str = "") -> Page:
    """Return the page that asks for the token."""
    return site_page("login.html.j2", problem=problem)


def problem_page(sentence: str, title: str = "Not shown") -> Page:
    """Return a page that says why what was asked for is not there, or not yet."""
    return site_page("problem.html.j2", sentence=sentence, title=title)


def site_page(template: str, **values: object) -> Page:
    """Return a page of the site's own templates."""
    look = PageLook(
        template=template,
        styles=(*STYLES, "serve.css"),
        scripts=(*SCRIPTS, "serve.js"),
        reach=REACH,
        package="pinchbench.serve",
    )
    return _rendered(look, home="/", **values)


def _rendered(look: PageLook, **values: object) -> Page:
    # with `no-referrer`, browsers send the origin of a form as `null`, as a foreign page's
    body = "".join(render(look, referrer="same-origin", **values)).encode("utf-8", "replace")
    return Page(policy=look.policy, body=body)


def run_files(catalogue: Catalogue, name: str) -> RunFiles:
    """Return the files of a run. Blocks. Raises NotFoundError."""
    files = catalogue.find(name)
    if files is None:
        raise NotFoundError("There is no run of that name in this folder.")
    return files


def _trial(run: LiveRun, name: str) -> TrialKey:
    key = next((key for key in run.keys if str(key) == name), None)
    if key is None:
        raise NotFoundError("The run has no trial of that name.")
    return key


def _labels(runs: Sequence[PastRun]) -> list[str]:
    """Return a name for each run, without a slash, which would end it in the address of a trial."""
    models = Counter(run.model.rpartition("/")[2] for run in runs)
    return [run.files.name if models[name := run.model.rpartition("/")[2]] > 1 else name for run in runs]


def _link(run: PastRun, key: TrialKey | None) -> str:
    return run_url(run.files.name) if key is None else trial_url(run.files.name, key)

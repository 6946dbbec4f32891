"""Why an attempt failed for infrastructure reasons: a cause, what to do about it, and whether waiting helps (pure)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinchbench.model.ending import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinchbench.model.outcome import Outcome

SANITY_TASKS = ("task_00_sanity", "task_sanity")  # ids of the task that anything can solve: where it fails, all would
SERVERS_FAULT = 500  # statuses from here on
NOTE_CHARACTERS = 300  # of a note in a diagnosis: providers quote whole documents, and the sentence must stay readable


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """Why attempts end as infrastructure: alike, if the causes are equal. `advice` is a sentence on what to do.

    `is_transient`: waiting may help. Otherwise somebody has to do something first.
    """

    advice: str
    is_transient: bool = False


def _transient(advice: str) -> Cause:
    return Cause(advice=advice, is_transient=True)


OUT_OF_CREDIT = Cause(
    advice="The provider wants payment: is the account out of credit, or at a spending limit of its own?"
)
DAY_USED_UP = Cause(advice="The provider's limit for a day is used up: resume the run when it is renewed.")
BUSY = _transient("The provider is rate-limiting this run: try again later, or use a lower --concurrency.")
REFUSED = Cause(advice="The provider refused the key: is it set, valid, and allowed to use this model?")
UNKNOWN_MODEL = Cause(advice="The provider does not know this model: is --model spelled as OpenClaw names it?")
FAILED = _transient("The provider failed; is it up, and reachable from here?")
DISK_FULL = Cause(advice="The disk is full: make room where the run's folders, its workspaces and temporary files are.")

_CAUSES: Mapping[Reason, Cause] = {
    Reason.COMMAND_NOT_FOUND: Cause(
        advice="OpenClaw's program has gone; `pinchbench-async openclaw install` gets another."
    ),
    Reason.AGENT_NOT_STARTED: Cause(advice="OpenClaw did not start its agent; its own words are in stderr.log."),
    Reason.NO_TRANSCRIPT: Cause(
        advice="OpenClaw ran but left no session where this release keeps them; is the release supported?"
    ),
    Reason.NO_MODEL_CALL: _transient(
        "The model never answered: is there a key for its provider, and can it be reached?"
    ),
    Reason.NO_REPLY: _transient(
        "The model's server accepted requests and never sent a byte; does it answer at all? A slow one needs"
        " --timeout-multiplier."
    ),
    Reason.PROMPT_TRUNCATED: Cause(
        advice="The model's server truncates prompts without saying so; give it a larger context length (Ollama:"
        " OLLAMA_CONTEXT_LENGTH, or --api ollama), at least the `context-window` of pinchbench.yaml, and resume the"
        " run."
    ),
    Reason.MODEL_FALLBACK: Cause(
        advice="Another model answered than the one that was asked for; set no fallbacks for it."
    ),
    Reason.WORKSPACE_FAILED: Cause(advice="The workspace could not be made; is the disk full?"),
    Reason.SERVICE_FAILED: _transient(
        "The browser failed, or a service of the task did not start; its output is in service-1.log and so on."
    ),
    Reason.USER_FAILED: _transient(
        "The simulated user gave no message: are --user-model and its key right, and is there credit left?"
    ),
    Reason.EVIDENCE_LOST: Cause(advice="What the trial left could not be kept; is the disk full?"),
    Reason.GUARDIAN_LOST: _transient("The process that owns a trial was killed; is the machine out of memory?"),
    Reason.KILLED_BY_SIGNAL: _transient("OpenClaw was killed; is the machine out of memory?"),
    Reason.OUT_OF_MEMORY: _transient(
        "The machine ran out of memory, and its kernel killed OpenClaw: use a lower --concurrency."
    ),
    Reason.GATEWAY_LOST: _transient(
        "OpenClaw's gateway was lost or did not run a turn; does it run, and does the machine have memory and"
        " processor time left?"
    ),
    Reason.WIRE_LOST: Cause(
        advice="The proxy that records requests to the model has failed; resume the run, or use --no-wire."
    ),
    Reason.NODE_LOST: _transient(
        "The node of the cluster on which the trial ran was lost; does the machine run, and is its network up?"
    ),
    Reason.DIVERGED: Cause(
        advice="A request of a replay was not recorded; the trial's page shows the difference, and `--on-divergence"
        " continue` continues anyway."
    ),
    Reason.DISK_FULL: DISK_FULL,
    Reason.SUSPENDED: _transient(
        "The machine or the run was suspended in the middle of the trial; keep the machine awake during a run."
    ),
    Reason.PREREQUISITE_MISSING: Cause(
        advice="Something that the task needs is missing: install it, or allow the network, and resume the run."
    ),
    Reason.RUNNER_BUG: Cause(
        advice="This is a bug of pinchbench-async, not of the model or of your set-up: please report it."
    ),
}
_UNKNOWN = Cause(advice="The attempt failed for infrastructure reasons.")

# A status is a number where statuses stand: first, after a word for it, or in brackets. Another number may be a limit,
# an amount or a time.
_STATUS = re.compile(
    r"(?:^\W*(?:\w*error\W+)?|\(|\b(?:http(?:/[\d.]+)?|status|status_?code|code|error|responded|returned)\W{1,4}(?:with\W)?)"
    r"(?P<status>[45]\d\d)\b(?![.,]\d)",
    re.IGNORECASE,
)
# Money, in words that no limit by time uses. That paying more would raise a limit is said of those as well
_OUT_OF_CREDIT = re.compile(
    r"insufficient.{0,20}(quota|credit|balance|funds)|balance (is )?too low|balance.{0,20}(exhausted|depleted)"
    r"|billing.{0,3}(hard|not.active|error)|account is not active|payment.required|requires more credits"
    r"|can only afford|(no|out of|all available|not enough|any) credits\b|spending.(limit|cap)|key limit exceeded"
    r"|usage limits?\b|\brecharge|\btop.?up\b|call volume quota|enable billing|\blimit: 0\b(?!\.)",
    re.IGNORECASE,
)
_BY_DAY = re.compile(r"per.?day|\bdaily\b|\b[RT]PD\b", re.IGNORECASE)
_BY_TIME = re.compile(
    r"rate.?limit|too many (requests|tokens|connections)|throttl|overloaded|(over|at) capacity|capacity exceeded"
    r"|resource.?(has been )?exhausted|per.?(second|minute|min\b|hour|base_model)|\b[RT]PM\b"
    r"|retry (in|after|shortly)\b|slow.?down",
    re.IGNORECASE,
)
_MONEY = re.compile(r"quota|credits?\b|billing|payment", re.IGNORECASE)
_UNREACHABLE = re.compile(
    r"\bE(CONN[A-Z]+|NOTFOUND|TIMEDOUT|AI_AGAIN|HOSTUNREACH|NETUNREACH|PIPE)\b|getaddrinfo|fetch failed"
    r"|\bUND_ERR_[A-Z_]+|socket hang up|connection (error|refused|reset)",
    re.IGNORECASE,
)
_UNKNOWN_MODEL = re.compile(
    r"(model|deployment).{0,80}(does not exist|not.?found)|unknown model|not a valid model|no endpoints found"
    r"|model identifier|inference profile",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"api.?key|subscription key|unauthori[sz]ed|authenticat|forbidden|credential|permission|access.?denied"
    r"|security token|expired.?token|not have access|n.t have access|location is not supported",
    re.IGNORECASE,
)
_NOT_FOUND = re.compile(r"not.?found|does not exist", re.IGNORECASE)

_OF_STATUS: Mapping[int, Cause] = {
    401: REFUSED,
    402: OUT_OF_CREDIT,
    403: REFUSED,
    404: UNKNOWN_MODEL,
    429: BUSY,
    529: BUSY,  # Anthropic: overloaded
}

_FULL = re.compile(r"ENOSPC|EDQUOT|no space left|disk.{0,12} full|disk quota", re.IGNORECASE)


def cause_of(outcome: Outcome) -> Cause:
    """Name the cause of an outcome whose ending is `infrastructure`."""
    match outcome.reason:
        case Reason.PROVIDER_ERROR:
            return _said_by_provider(outcome.note) or FAILED
        case Reason.NO_MODEL_CALL:
            return _said_by_provider(outcome.note) or (BUSY if outcome.rate_limits else _CAUSES[outcome.reason])
        case Reason.WORKSPACE_FAILED | Reason.EVIDENCE_LOST if _FULL.search(outcome.note):
            return DISK_FULL
        case _:
            return _CAUSES.get(outcome.reason, _UNKNOWN)


def is_busy(outcome: Outcome) -> bool:
    """Whether the provider had too many requests, be it now or for the day. Any outcome may be asked about."""
    if outcome.rate_limits > 0:
        return True
    if outcome.reason not in (Reason.PROVIDER_ERROR, Reason.NO_MODEL_CALL):
        return False
    return _said_by_provider(outcome.note) in (BUSY, DAY_USED_UP)


def diagnose(outcome: Outcome) -> str:
    """Say in a line how the attempt ended and what to do about it."""
    note = " ".join(outcome.note.split())[:NOTE_CHARACTERS]
    said = f" ({note})" if note else ""
    return f"{outcome.key}: {outcome.reason.value}{said}. {cause_of(outcome).advice}"


def _said_by_provider(note: str) -> Cause | None:  # noqa: PLR0911 - a table of cases, in their order of precedence
    """Read a provider's error; None when it says nothing that is known.

    The order matters. Providers answer 429 both to those who are too fast and to those who have not paid, and tell
    the former how to pay for more; what is sure to be about money comes first, what may be comes after what is about
    time. The status decides where words don't.
    """
    found = _STATUS.search(note)
    status = int(found["status"]) if found else 0
    if status == 402 or _OUT_OF_CREDIT.search(note):  # noqa: PLR2004 - "payment required"
        return OUT_OF_CREDIT
    is_about_time = _BY_TIME.search(note) is not None and status not in (401, 404)
    if _BY_DAY.search(note) and (is_about_time or status == 429 or _MONEY.search(note)):  # noqa: PLR2004
        return DAY_USED_UP
    if is_about_time:
        return BUSY
    if _MONEY.search(note) and status < SERVERS_FAULT:
        return OUT_OF_CREDIT
    if status in _OF_STATUS:
        return _OF_STATUS[status]
    if status >= SERVERS_FAULT or _UNREACHABLE.search(note):
        return FAILED
    if _UNKNOWN_MODEL.search(note):
        return UNKNOWN_MODEL
    if _REFUSED.search(note):
        return REFUSED
    return UNKNOWN_MODEL if _NOT_FOUND.search(note) else None

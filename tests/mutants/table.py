"""The mutants: small wrong edits of the package from which a user would suffer."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """A wrong edit: what a user would notice, a text that occurs once in the package, and what takes its place.

    `tests` are the files in `tests` that should notice, the cheapest first, without `.py`.
    """

    story: str
    find: str
    replace: str
    tests: tuple[str, ...]


MUTANTS = (
    Mutant(
        "a trial is retried once too often",
        "follows = (is_spared or used < self._allowance)",
        "follows = (is_spared or used <= self._allowance)",
        ("runner/scheduling/test_queue",),
    ),
    Mutant(
        "a retry may wait for hours",
        "retry = _Retry(due_at=now + min(MAX_DELAY_S, delay_s)",
        "retry = _Retry(due_at=now + delay_s",
        ("runner/scheduling/test_queue",),
    ),
    Mutant(
        "a trial that the user requeues comes last",
        "self._first.appendleft(attempt)",
        "self._first.append(attempt)",
        ("runner/scheduling/test_queue",),
    ),
    Mutant(
        "one broken trial that is retried pauses the whole run",
        "return len(self._row) >= ROW and len(set(self._row)) >= ROW_TRIALS",
        "return len(self._row) >= ROW",
        ("runner/scheduling/test_circuit_breaker",),
    ),
    Mutant(
        "a rate limit ends in no trial at all",
        "self.limit = max(1, before // 2)",
        "self.limit = before // 2",
        ("runner/scheduling/test_rate_limit",),
    ),
    Mutant(
        "a trial is started that can not end before --max-hours",
        "if now + usual_s <= self.deadline:",
        "if now <= self.deadline:",
        ("runner/scheduling/test_budget",),
    ),
    Mutant(
        "a score of an older version of the task outlives its new grade",
        "keeps = before is not None and before.score is not None and before.digest == grade.digest",
        "keeps = before is not None and before.score is not None",
        ("results/test_run_state", "results/journal/test_journal"),
    ),
    Mutant(
        "the next record is appended to a torn line",
        'if self._end and os.pread(self._fd, 1, self._end - 1) != b"\\n":',
        'if not self._end and os.pread(self._fd, 1, self._end - 1) != b"\\n":',
        ("results/journal/test_journal",),
    ),
    Mutant(
        "a promised retry is forgotten by resume",
        "return not (self.retries or self.is_requeued) and any(",
        "return not self.is_requeued and any(",
        ("results/test_run_state", "runner/again/test_rerun"),
    ),
    Mutant(
        "an attempt's number is used twice",
        "next_attempt=max(self.next_attempt, outcome.attempt + 1),",
        "next_attempt=max(self.next_attempt, outcome.attempt),",
        ("results/test_run_state",),
    ),
    Mutant(
        "a resumed run still counts as finished",
        "self.finished = None  # until this runner ends it",
        "self.finished = self.finished",
        ("results/test_run_state",),
    ),
    Mutant(
        "a run is resumed with another version of a task, silently",
        "elif now[task_id].digest != task.digest:",
        "elif now[task_id].digest == task.digest:",
        ("runner/plan/test_stored_run", "runner/again/test_rerun"),
    ),
    Mutant(
        "a hybrid task without its judge gets the check's part as its score",
        "if part.score is None), None)",
        "if part.score is None), None) if len(parts) == 1 else None",
        ("grading/test_grader",),
    ),
    Mutant(
        "a judge is asked and believed about work that fails its check",
        "and check.score < task.rule.judge_gate",
        "and check.score > task.rule.judge_gate",
        ("grading/test_grader",),
    ),
    Mutant(
        "a verdict that the agent planted counts",
        "yield from _with_mark(value, mark)",
        "yield value",
        ("grading/judge/test_judge_reply",),
    ),
    Mutant(
        "a task passes k times more often than it does",
        "return comb(c, k) / comb(n, k)",
        "return (c / n) ** k",
        ("results/test_statistics",),
    ),
    Mutant(
        "a mean of points that is rounded down does not pass",
        "needed = threshold - ROUNDING",
        "needed = threshold",
        ("results/test_statistics", "results/test_aggregate"),
    ),
    Mutant(
        "scores that hardly differ give too narrow an interval",
        "            share += (most - share) * (1.0 - sqrt(relative / least))",
        "            share = share",
        ("results/test_statistics",),
    ),
    Mutant(
        "several comparisons are adjusted too much",
        "adjusted_in_steps(values, range(tested, 0, -1))",
        "adjusted_in_steps(values, [tested] * tested)",
        ("results/compare/test_paired_difference",),
    ),
    Mutant(
        "a score exactly at --fail-under fails the build",
        "elif mean < least - ROUNDING:",
        "elif mean <= least + ROUNDING:",
        ("results/gate/test_gate_run",),
    ),
    Mutant(
        "a cookie of the provider is kept in the recording",
        "^(?:proxy-)?authorization$|^(?:set-)?cookie$|",
        "^(?:proxy-)?authorization$|",
        ("wire/test_redact",),
    ),
    Mutant(
        "a neighbour's token is answered after its trial has ended",
        "lease = self._leases.pop(token, None)",
        "lease = self._leases.get(token)",
        ("wire/test_proxy",),
    ),
    Mutant(
        "a replay goes on with what was not recorded",
        "return replace(found, exchange=None) if is_refused else found",
        "return replace(found, exchange=None, is_live=True) if is_refused else found",
        ("wire/test_playback",),
    ),
    Mutant(
        "requests go out while the provider asks to wait",
        "return now >= self.paused_until and (self.size is None",
        "return (self.size is None",
        ("wire/test_forward",),
    ),
    Mutant(
        "a key that is cut at its beginning is written down",
        "found = [secret for secret in secrets if secret[:CUT] in text or secret[-CUT:] in text]",
        "found = [secret for secret in secrets if secret[:CUT] in text]",
        ("test_redaction",),
    ),
    Mutant(
        "a short password is no key",
        "return len(value) >= LONGEST_WORD or WORDS.fullmatch(value) is None",
        "return len(value) >= LONGEST_WORD",
        ("test_redaction",),
    ),
    Mutant(
        "a process whose first thread has ended is left running",
        'if zombies or state not in (b"Z", b"X") or threads > 1:',
        'if zombies or state not in (b"Z", b"X"):',
        ("process/test_guardian", "process/test_supervise"),
    ),
    Mutant(
        "what an agent leaves running gets no SIGTERM",
        "return time.monotonic() + self._sweep_s",
        "return time.monotonic()",
        ("process/test_guardian", "process/test_supervise"),
    ),
    Mutant(
        "the agent may write to the system of its sandbox",
        "for paths, rights in ((readable, READ), (writable, handled)):",
        "for paths, rights in ((readable, handled), (writable, handled)):",
        ("sandbox/test_landlock_rules",),
    ),
    Mutant(
        "--sandbox-allow PATH can be written to",
        'path, writable = (value[:-3], True) if value.endswith(":rw") else (value, False)',
        'path, writable = (value[:-3], True) if value.endswith(":rw") else (value, True)',
        ("sandbox/test_sandbox_spec",),
    ),
    Mutant(
        "a cell of CSV is a formula",
        'return _FORMULA.sub(r"\\1\'", text)',
        "return text",
        ("report/export/test_tables",),
    ),
    Mutant(
        "time in the wire's own queue counts as the model's time to its first token",
        "waits_s = [max(0.0, first_s - sent_s)",
        "waits_s = [max(0.0, first_s)",
        ("wire/test_measure",),
    ),
    Mutant(
        "a full disk makes a recording unreadable from there on",
        "            os.ftruncate(self._file, self.size_bytes)\n            raise\n",
        "            raise\n",
        ("wire/test_recording",),
    ),
    Mutant(
        "in a sandbox, the rest of a long reply is lost when its sender has ended",
        "if side.peer.is_read and not side.waiting and not side.is_ended:",
        "if side.peer.is_read and not side.is_ended:",
        ("sandbox/test_forwarder",),
    ),
    Mutant(
        "a command in a sandbox reaches the model",
        "if inode and self._program.has_socket(inode):",
        "if inode:",
        ("sandbox/test_forwarder",),
    ),
    Mutant(
        "a model is asked that is not the run's",
        "require_models(named, (lease.model, provider.serves), has_tools=has_tools)",
        "require_models(named, (*named, provider.serves), has_tools=has_tools)",
        ("wire/test_proxy",),
    ),
    Mutant(
        "an agent in a sandbox may write to the files of the machine that it sees",
        "attributes if writable else attributes | kernel.MOUNT_ATTR_RDONLY)",
        "attributes)",
        ("sandbox/test_enter",),
    ),
    Mutant(
        "a reply that was cut off is taken for the agent's answer",
        "answered = calls == 0 and str(stop) not in UNFINISHED",
        "answered = calls == 0",
        ("openclaw/test_transcript",),
    ),
    Mutant(
        "each follow-up turn has the whole time limit again",
        "left_s = run.timeout_s - progress.ran_s",
        "left_s = run.timeout_s",
        ("openclaw/test_agent",),
    ),
    Mutant(
        "a key that an agent prints stays in what is kept of its trial",
        "    _redact_evidence(evidence, redactor)\n    return",
        "    return",
        ("runner/test_keys",),
    ),
    Mutant(
        "a check's program sees the user's keys in its environment",
        "env = {**_environment(os.environ,",
        "env = {**os.environ, **_environment(os.environ,",
        ("grading/test_checks",),
    ),
    Mutant(
        "a regrade asks the judge that failed instead of the one that gave the scores",
        "last = proven or asked",
        "last = asked or proven",
        ("runner/test_grading",),
    ),
    Mutant(
        "trials that the user skipped are also counted as not run",
        "not_run=self.planned - len(self.trials) - self.skipped,",
        "not_run=self.planned - len(self.trials),",
        ("results/test_control_state",),
    ),
    Mutant(
        "weights of 3 and 1 make a score of more than 1",
        "return {key: weight / total for key, weight in weights.items()}",
        "return dict(weights)",
        ("suite/test_parse",),
    ),
    Mutant(
        "a score exactly at the threshold is a failure in JUnit's report",
        "return score >= threshold - ROUNDING",
        "return score > threshold + ROUNDING",
        ("report/export/test_junit",),
    ),
    Mutant(
        "an ungraded trial trains a model with a reward of 0",
        '"reward": run.score(outcome.key),',
        '"reward": run.score(outcome.key) or 0.0,',
        ("report/export/test_rl",),
    ),
)

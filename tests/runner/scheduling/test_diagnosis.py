"""Why an attempt infrastructure failure: what providers write is distinguished, and every reason has its advice."""

from dataclasses import replace

import pytest

from pinchbench.model.ending import Ending, Reason
from pinchbench.model.outcome import Outcome
from pinchbench.model.trial import TrialKey
from pinchbench.runner.scheduling.diagnosis import (
    BUSY,
    DAY_USED_UP,
    DISK_FULL,
    FAILED,
    NOTE_CHARACTERS,
    OUT_OF_CREDIT,
    REFUSED,
    SANITY_TASKS,
    UNKNOWN_MODEL,
    Cause,
    cause_of,
    diagnose,
    is_busy,
)

INFRASTRUCTURE = [one for one in Reason if one.ending is Ending.INFRASTRUCTURE]


def outcome(reason: Reason, note: str = "", *, rate_limits: int = 0) -> Outcome:
    key = TrialKey(task_id=SANITY_TASKS[0], repetition=1)
    return Outcome(key=key, reason=reason, digest="d", note=note, rate_limits=rate_limits)


# What each provider writes, in its own shape

CREDIT_NOTES = [
    "402 Insufficient credits",
    # OpenAI and those who speak like it
    (
        "429 You exceeded your current quota, please check your plan and billing details. For more information on this"
        " error, read the docs: https://platform.openai.example/docs/guides/error-codes/api-errors."
    ),
    (
        '429 {"error":{"message":"You exceeded your current '
        'quota","type":"insufficient_quota","code":"insufficient_quota"}}'
    ),
    "Error code: 429 - {'error': {'code': 'insufficient_quota', 'message': 'Too many requests for an empty account'}}",
    "429 Your account is not active, please check your billing details on our website.",
    "400 Billing hard limit has been reached",
    "402 Insufficient Balance",
    "429 Insufficient balance or no resource package. Please recharge.",
    "403 Your newly created team doesn't have any credits yet.",
    "429 Your team has either used all available credits or reached its monthly spending limit.",
    # Anthropic
    (
        '400 {"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low '
        "to access"
        ' the API. Please go to Plans & Billing to upgrade or purchase credits."}}'
    ),
    "400 You have reached your specified API usage limits. You will regain access on 2031-02-01 at 00:00 UTC.",
    # Google: a free tier that a model is not part of
    (
        '{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.'
        " * Quota exceeded for metric: generate_content_free_tier_requests, limit: 0\\nPlease retry in 26s."
        '","status":"RESOURCE_EXHAUSTED"}}'
    ),
    # OpenRouter
    "402 This request requires more credits, or fewer max_tokens. You requested up to 65536, but can only afford 401.",
    "403 Key limit exceeded (daily limit). Manage it in your settings.",
    # Azure, Bedrock
    "403 Out of call volume quota. Quota will be replenished in 5.02:11:09.",
    "ServiceQuotaExceededException: Your request exceeds the service quota for your account.",
]
DAY_NOTES = [
    (
        "429 Rate limit reached for m-5 in organization org-1 on requests per day (RPD): Limit 200, Used 200, "
        "Requested 1."
        " Please try again in 7m12s."
    ),
    (
        '{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.",'
        '"status":"RESOURCE_EXHAUSTED","details":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}}'
    ),
    "429 Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day",
    "ThrottlingException: Too many tokens per day, please wait before trying again.",
]
BUSY_NOTES = [
    "429 Too Many Requests",
    "429",
    "HTTP 429: slow",
    # OpenAI: an advertisement for paying more is no demand to pay
    (
        "429 Rate limit reached for m-5 in organization org-1 on tokens per min (TPM): Limit 30000, Used 29401, "
        "Requested"
        " 1402. Please try again in 1.606s. You can increase your rate limit by adding a payment method to your "
        "account at"
        " https://platform.openai.example/account/billing."
    ),
    "503 The engine is currently overloaded, please try again later",
    # Anthropic
    (
        '429 {"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your '
        "organization's"
        ' rate limit of 30,000 input tokens per minute."}}'
    ),
    '529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    # Google
    "429 Quota exceeded for quota metric 'Generate Content API requests per minute' and limit 'per minute and region'",
    (
        '{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing '
        "details. For"
        " more information head to: https://ai.google.example/gemini-api/docs/rate-limits. * Quota exceeded for metric:"
        ' free_tier_requests, limit: 10\\nPlease retry in 34.07s.","status":"RESOURCE_EXHAUSTED"}}'
    ),
    "429 Quota exceeded for aiplatform.googleapis.example/online_prediction_requests_per_base_model with base model: m",
    "503 The model is overloaded. Please try again later.",
    "429 Resource has been exhausted (e.g. check quota).",
    # OpenRouter
    (
        "429 Provider returned error: vendor/m:free is temporarily rate-limited upstream. Please retry shortly, "
        "or add your"
        " own key to accumulate your rate limits."
    ),
    # Azure: a link to ask for more quota
    (
        "429 Requests to the ChatCompletions_Create Operation have exceeded token rate limit of your current S0 pricing"
        " tier. Please retry after 55 seconds. Go to https://aka.example/oai/quotaincrease to increase the "
        "default limit."
    ),
    # Bedrock, which gives no status
    "ThrottlingException: Too many requests, please wait before trying again.",
    "ServiceUnavailableException: Too many connections, please wait before trying again.",
]
REFUSED_NOTES = [
    "401 Incorrect API key provided: sk-no***key. You can find your API key in your account.",
    '401 {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}',
    "403 Forbidden",
    '403 {"error":{"type":"permission_error","message":"Your key can not use the specified resource"}}',
    "403 Project `proj_1` does not have access to model `m-5`",
    '{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}',
    "400 User location is not supported for the API use.",
    "401 No auth credentials found",
    "401 User not found.",
    (
        "401 Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid "
        "key for an"
        " active subscription and use a correct regional API endpoint for your resource."
    ),
    "AccessDeniedException: You don't have access to the model with the specified model ID.",
    "UnrecognizedClientException: The security token included in the request is invalid.",
    "CredentialsProviderError: Could not load credentials from any providers",
    'No API key found for provider "anthropic".',
]
UNKNOWN_NOTES = [
    "404 The model `m-9` does not exist or you do not have access to it.",
    "The model `m-9` does not exist or you do not have access to it.",
    '404 {"type":"error","error":{"type":"not_found_error","message":"model: m-9"}}',
    '{"error":{"code":404,"message":"models/m-9 is not found for API version v1beta","status":"NOT_FOUND"}}',
    "404 No endpoints found for vendor/m-9.",
    "400 vendor/m-9 is not a valid model ID",
    (
        "404 The API deployment for this resource does not exist. If you created the deployment within the last "
        "5 minutes,"
        " please wait a moment and try again."
    ),
    "ValidationException: The provided model identifier is invalid.",
    (
        "ValidationException: Invocation of model ID m-9 with on-demand throughput isn't supported. Retry your "
        "request with"
        " the ID or ARN of an inference profile that contains this model."
    ),
    "not found",
]
FAILED_NOTES = [
    "500 The server had an error while processing your request.",
    "503 upstream connect error or disconnect/reset before headers",
    "502 Provider returned error",
    "500 billing service did not answer",
    "Connection error.",
    "connect ECONNREFUSED 127.0.0.1:9",
    "getaddrinfo ENOTFOUND api.vendor.example",
    "fetch stopped, code=UND_ERR_HEADERS_TIMEOUT (model m, not found in the cache)",
    "ModelNotReadyException: come back later",
    "the answer ended after 404 of 500 bytes",
    "",
]


@pytest.mark.parametrize(
    ("cause", "note"),
    [
        (cause, note)
        for cause, notes in (
            (OUT_OF_CREDIT, CREDIT_NOTES),
            (DAY_USED_UP, DAY_NOTES),
            (BUSY, BUSY_NOTES),
            (REFUSED, REFUSED_NOTES),
            (UNKNOWN_MODEL, UNKNOWN_NOTES),
            (FAILED, FAILED_NOTES),
        )
        for note in notes
    ],
)
def test_what_a_provider_writes_is_distinguished(cause: Cause, note: str) -> None:
    ended = outcome(Reason.PROVIDER_ERROR, note)
    assert cause_of(ended) == cause
    assert is_busy(ended) == (cause in (BUSY, DAY_USED_UP))


def test_a_model_that_never_answered_is_diagnosed_by_what_stands_next_to_it() -> None:
    silent = outcome(
        Reason.NO_MODEL_CALL, "the model had not answered once when the time was up; stderr.log may say why"
    )
    assert "The model never answered" in cause_of(silent).advice
    assert cause_of(silent).is_transient
    assert not is_busy(silent)
    told = outcome(Reason.NO_MODEL_CALL, "429 Too many requests")
    assert cause_of(told) == BUSY
    assert is_busy(told)
    assert cause_of(outcome(Reason.NO_MODEL_CALL, "401 invalid key")) == REFUSED
    refused = replace(
        outcome(Reason.NO_MODEL_CALL, "the last turn's transcript holds no answer of a model"), rate_limits=7
    )
    assert cause_of(refused) == BUSY
    assert cause_of(outcome(Reason.NO_MODEL_CALL, "the last turn's transcript holds no answer of a model")).is_transient


@pytest.mark.parametrize("reason", [Reason.COMPLETED, Reason.TIMED_OUT, Reason.PROVIDER_ERROR])
def test_a_transcript_that_tells_of_429s_is_one_of_a_busy_provider_however_it_ended(reason: Reason) -> None:
    assert is_busy(outcome(reason, rate_limits=1))
    assert not is_busy(outcome(reason))


@pytest.mark.parametrize("note", ["[Errno 28] No space left on device: 'x'", "[Errno 122] Disk quota exceeded"])
@pytest.mark.parametrize("reason", [Reason.WORKSPACE_FAILED, Reason.EVIDENCE_LOST, Reason.DISK_FULL])
def test_a_full_disk_is_one_cause_wherever_it_is_met(reason: Reason, note: str) -> None:
    assert cause_of(outcome(reason, note)) == DISK_FULL


def test_every_infrastructure_reason_has_a_cause_of_its_own() -> None:
    causes = [cause_of(outcome(reason)) for reason in INFRASTRUCTURE]
    assert len({cause.advice for cause in causes}) == len(causes)
    assert cause_of(outcome(Reason.COMPLETED)) not in causes


def test_waiting_helps_against_what_was_lost_and_not_against_what_is_missing() -> None:
    assert {reason for reason in INFRASTRUCTURE if not cause_of(outcome(reason)).is_transient} == {
        *(Reason.COMMAND_NOT_FOUND, Reason.AGENT_NOT_STARTED, Reason.NO_TRANSCRIPT, Reason.PROMPT_TRUNCATED),
        *(Reason.MODEL_FALLBACK, Reason.WORKSPACE_FAILED, Reason.EVIDENCE_LOST, Reason.WIRE_LOST),
        *(Reason.DIVERGED, Reason.DISK_FULL, Reason.RUNNER_BUG),
    }


@pytest.mark.parametrize("reason", [one for one in Reason if not one.is_valid])
def test_every_reason_that_says_nothing_about_the_model_has_a_sentence(reason: Reason) -> None:
    said = diagnose(outcome(reason, "first\nsecond"))
    assert said.startswith(f"task_00_sanity: {reason.value} (first second). ")
    assert said.endswith((".", "?"))
    assert "\n" not in said


def test_a_diagnosis_is_short_whatever_the_provider_quotes_and_says_nothing_of_the_run() -> None:
    said = diagnose(outcome(Reason.PROVIDER_ERROR, "500 " + "<html>" * 1000))
    assert len(said) < NOTE_CHARACTERS + 120
    assert "--no-fail-fast" not in said
    assert diagnose(outcome(Reason.GATEWAY_LOST)).startswith("task_00_sanity: gateway_lost. OpenClaw's gateway")

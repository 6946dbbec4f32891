#!/usr/bin/env bash
# The step "Run" of action.yml: run, write the summary and one comment, and exit as the run did.
set -uo pipefail

# Replace the comment that an earlier run of this job has written, or write the first.
write_comment() {
  local comments=repos/$GITHUB_REPOSITORY/issues/$1/comments ids id
  ids=$(gh api "$comments" --paginate \
    --jq ".[] | select(.user.type == \"Bot\" and (.body | startswith(\"$mark\"))) | .id") || return
  id=$(head -n 1 <<< "$ids")
  local request=(--method POST "$comments")
  [ -z "$id" ] || request=(--method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id")
  gh api "${request[@]}" --field "body=@$text" --silent
}

command=(pinchbench-async run --model "$MODEL" --suite "$SUITE")
[ -z "$EXPERIMENT" ] || command=(pinchbench-async experiment "$EXPERIMENT")
[ -z "$BASELINE" ] || command+=(--baseline "$BASELINE")
read -ra arguments <<< "$ARGUMENTS"

result=$("${command[@]}" ${arguments[@]+"${arguments[@]}"})
code=$?
[ -n "$result" ] || exit "$code"  # nothing was run: stderr says why
echo "result=$result" >> "$GITHUB_OUTPUT"

mark="<!-- pinchbench: $GITHUB_WORKFLOW, $GITHUB_JOB -->"
text=$(mktemp)
echo "$mark" > "$text"
if [ -d "$result" ]; then
  {
    echo "## PinchBench: $(basename "$EXPERIMENT")"
    echo
    pinchbench-async choose "$result" --format md
    echo
  } | tee -a "$GITHUB_STEP_SUMMARY" >> "$text"
else
  # the lists of trials that the summary folds may be longer than a comment can be
  pinchbench-async export "$result" --format github | tee -a "$GITHUB_STEP_SUMMARY" | sed '/^<details>/,$d' >> "$text"
fi
echo "Reports: the artifact of [this run]($GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID)." >> "$text"

number=$(python3 -c '
import json, os
print(json.load(open(os.environ["GITHUB_EVENT_PATH"])).get("pull_request", {}).get("number", ""))')
if [ "$COMMENT" = true ] && [ -n "$number" ]; then
  write_comment "$number" ||
    echo "::warning::The comment could not be written: give the job the permission 'pull-requests: write'."
fi
exit "$code"

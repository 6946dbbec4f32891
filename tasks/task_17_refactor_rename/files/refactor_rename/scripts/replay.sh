#!/bin/sh
# Replays a day's jobs: replay.sh FILE
exec python3 -m courier.dispatch "$1"

#!/bin/sh
# Makes a small folder `sample` to try cleanup.sh with. Times are in UTC.
set -eu
rm -rf sample
mkdir -p sample/web sample/archive/2025-02/web sample/db
put() { # name, time, text
    printf '%s' "$3" > "sample/$1"
    TZ=UTC touch -d "$2" "sample/$1"
}
put web/access.log '2026-04-19 10:00:00' 'GET / 200'
put web/error.log '2026-03-02 10:00:00' 'upstream timed out'
put web/upload.tmp '2026-04-11 08:00:00' 'half an upload'
put db/slow.log '2026-04-12 12:00:00' ''
put db/dump.sql '2025-12-01 12:00:00' '-- dump'
put archive/2025-02/web/error.log '2025-02-14 10:00:00' 'old news'
echo 'made ./sample; as of 2026-04-20 one file is to be archived and three are to be deleted'

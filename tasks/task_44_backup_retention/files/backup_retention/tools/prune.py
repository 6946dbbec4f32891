#!/usr/bin/env python3
"""prune.py [--dry-run] VAULT: removes backups by the retention rules. (Marek, 2023)"""

import re
import sys
from datetime import datetime, timedelta
from pathlib import Path

DRY_RUN = "--dryrun" in sys.argv
VAULT = Path([one for one in sys.argv[1:] if not one.startswith("-")][0])
NOW = datetime(2026, 6, 30)

gone = 0
for path in sorted(VAULT.rglob("*.dump*")):
    stamp = re.search(r"_(\d{8})-(\d{4})", path.name)
    if not stamp:
        continue
    made = datetime.strptime(stamp[1], "%Y%m%d")
    age = NOW - made
    if age < timedelta(days=14):
        continue
    if made.weekday() == 6 and age < timedelta(weeks=8):
        continue
    if made.day == 1:
        continue
    gone += 1
    if DRY_RUN:
        print("would remove", path)
    else:
        path.unlink()
print(f"{gone} files", "would be removed" if DRY_RUN else "done")

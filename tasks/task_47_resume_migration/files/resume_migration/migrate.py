#!/usr/bin/env python3
"""migrate.py OLD NEW: the migration of March. Stopped at about two thirds; see migrate.log."""

import json
import sys
from datetime import datetime
from pathlib import Path

old, new = Path(sys.argv[1]), Path(sys.argv[2])
CODES = {"Nord": "N", "Süd": "S", "Stadt": "C", "Außerfern": "A"}

for path in sorted(old.rglob("*.json")):
    data = json.loads(path.read_text(encoding="utf-8"))
    family, given = data["name"].split(", ")
    record = {
        "id": f"M-{data['no']:04d}",
        "name": {"family": family.encode("ascii", "replace").decode()[:16], "given": given[:16]},
        "born": datetime.strptime(data["birth"], "%d.%m.%y").strftime("%Y-%m-%d") if data["birth"] else None,
        "joined": datetime.strptime(data["since"], "%d.%m.%Y").strftime("%Y-%m-%d"),
        "fee_cents": int(float(data["fee"].split(",")[0]) * 100),
        "phones": data["tel"].split(" / ")[:1],
        "branch": CODES[data["branch"]],
        "notes": data["memo"] or "imported",
        "migrated_at": datetime.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        "edited_at": None,
        "edited": [],
        "created_in": "old",
    }
    target = new / record["id"][-2:] / f"{record['id']}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
    target.write_text(text, encoding="utf-8")
    print(record["id"], f"ok ({len(text)} bytes)")

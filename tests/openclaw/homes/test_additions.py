"""What a run adds to its private homes: settings are merged, denied tools stay denied, skills are copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinchbench.openclaw.homes.additions import NO_ADDITIONS, HomeAdditions

if TYPE_CHECKING:
    from pathlib import Path

    from pinchbench.openclaw.homes.credentials import Json

CONFIG: Json = {"tools": {"deny": ["cron"], "exec": {"notifyOnExit": False}}, "update": {"checkOnStart": False}}


def test_settings_are_merged_and_denied_tools_are_joined() -> None:
    added = HomeAdditions(settings={"tools": {"deny": ["web_search", "cron"], "profile": "coding"}})
    assert added.merged_into(CONFIG) == {
        "tools": {"deny": ["cron", "web_search"], "exec": {"notifyOnExit": False}, "profile": "coding"},
        "update": {"checkOnStart": False},
    }


def test_without_additions_a_home_stays_as_it_is(tmp_path: Path) -> None:
    assert NO_ADDITIONS.merged_into(CONFIG) == CONFIG
    NO_ADDITIONS.copy_skills(tmp_path / "state")
    assert not (tmp_path / "state").exists()


def test_skills_are_copied_with_what_their_links_lead_to(tmp_path: Path) -> None:
    skill = tmp_path / "skills" / "salt"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("salt", encoding="utf-8")
    (skill / "again.md").symlink_to("SKILL.md")
    HomeAdditions(skills=tmp_path / "skills").copy_skills(tmp_path / "state")
    copied = tmp_path / "state" / "skills" / "salt"
    assert (copied / "SKILL.md").read_text("utf-8") == "salt"
    assert not (copied / "again.md").is_symlink()

"""A trial's description is validated, and names nothing about the runner or the task."""

from pathlib import Path

import pytest

from pinchbench.defaults import Network
from pinchbench.errors import ConfigError
from pinchbench.sandbox.sandbox_spec import (
    Forward,
    Mount,
    SandboxSpec,
    make_spec,
    parse_allowed,
    program_root,
    stated_path_problem,
)


def test_the_targets_do_not_depend_on_where_the_trial_is_kept(tmp_path: Path) -> None:
    specs = [
        make_spec(state=tmp_path / name / "home", workspace=tmp_path / name / "task_09_conflicting_sources")
        for name in ("pinchbench", "other")
    ]
    first, second = ([mount.target for mount in spec.mounts] for spec in specs)
    assert first == second
    assert not [target for target in first if "pinchbench" in target or "task" in target]


@pytest.mark.parametrize("path", ["relative", "/a/../b", "/a\0b"])
def test_a_path_that_can_not_be_mounted_is_an_error(path: str) -> None:
    with pytest.raises(ConfigError):
        SandboxSpec(mounts=(Mount(source="/usr", target=path),), network=Network.NONE)


def test_a_way_to_the_model_needs_the_network_that_has_one() -> None:
    with pytest.raises(ConfigError, match="no way to the model"):
        SandboxSpec(mounts=(), network=Network.NONE, forward=Forward(port=1, socket="/s"))


def test_an_allowed_path_is_read_only_without_rw(tmp_path: Path) -> None:
    place = str(tmp_path)
    assert parse_allowed(place) == Mount(source=place, target=place)
    assert parse_allowed(f"{place}:rw") == Mount(source=place, target=place, writable=True)


def test_an_allowed_path_must_exist_and_must_not_replace_a_part_of_the_sandbox(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        parse_allowed(str(tmp_path / "missing"))
    with pytest.raises(ConfigError, match="sandbox's own"):
        parse_allowed("/proc:rw")


def test_a_folder_of_programs_inside_the_system_is_not_mounted_again(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    spec = make_spec(state=None, workspace=tmp_path, path_dirs=[tools, tools, tmp_path / "missing"])
    assert [mount.target for mount in spec.mounts].count(str(tools)) == 1


def test_shims_are_visible_with_the_programs_that_they_start_but_never_with_the_users_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("shims", "versions", ".pyenv/shims", ".pyenv/versions", "project/shims"):
        (tmp_path / name).mkdir(parents=True)

    assert program_root(tmp_path / ".pyenv" / "shims") == tmp_path / ".pyenv"
    for folder in (tmp_path / "shims", tmp_path / "project" / "shims", tmp_path / ".pyenv" / "versions"):
        assert program_root(folder) == folder
    spec = make_spec(state=None, workspace=tmp_path, path_dirs=[tmp_path / ".pyenv" / "shims"])
    assert str(tmp_path / ".pyenv") in {mount.target for mount in spec.mounts}


def test_services_have_ports_of_the_trials_own() -> None:
    with pytest.raises(ConfigError, match="an open network has none"):
        SandboxSpec(mounts=(), network=Network.OPEN, services=(Forward(port=8020, socket="/s"),))
    with pytest.raises(ConfigError, match="70000 is not a port"):
        SandboxSpec(mounts=(), network=Network.NONE, inlet=Forward(port=70_000, socket="/s"))


@pytest.mark.parametrize(
    "path",
    ["", "app", "/", "/a/../etc", "/usr/src/app", "/etc", "/proc/x", "/home", "/opt", "/tests", "/a\0b", "/tmp/x"],
)
def test_a_task_can_not_state_the_systems_places_and_those_of_the_sandbox(path: str) -> None:
    assert stated_path_problem(path)

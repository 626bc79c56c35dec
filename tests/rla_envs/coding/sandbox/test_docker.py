"""The docker backend: walls asked of the daemon, and the same results through its streams."""

import gc
import warnings
from pathlib import Path

import pytest

from rla_envs.coding.sandbox import Limits, open_sandbox, why_unavailable
from rla_envs.errors import InfrastructureError
from tests.rla_envs.coding.sandbox.fake_docker import FakeDocker

docker = pytest.importorskip("docker")
SHORT = Limits(time_limit=0.3, memory_mb=256, output_bytes=4 << 20)


@pytest.fixture(autouse=True)
def sockets_that_the_docker_package_forgets():
    """Collect what it leaves open where no daemon answers, before pytest does and complains."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def daemon(bubblewrap, tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    server = FakeDocker(tmp_path / "docker.sock")
    yield server
    server.close()


def check_programs(sandbox):
    runs = list(sandbox.run_stdin("print(int(input()) + 1)", ["41", "x"], SHORT))
    assert [(run.status, run.stdout) for run in runs] == [("ok", b"42\n"), ("runtime_error", b"")]
    calls = sandbox.run_functional("def f(x): return [x, (x,)]", "f", [[i] for i in range(30)], SHORT)
    assert [call.value for call in calls] == [[i, (i,)] for i in range(30)]
    (large,) = sandbox.run_stdin("data = input()\nprint(data)", ["x" * (1 << 20)], SHORT)
    assert large.stdout == b"x" * (1 << 20) + b"\n"
    endings = {
        "while True: pass": "timeout",
        "x = bytearray(1 << 30)": "memory",
        "import os; os.fork()": "runtime_error",
    }
    for source, status in endings.items():
        (run,) = sandbox.run_stdin(source, [""], SHORT)
        assert run.status == status
    noting = "import os\nprint(os.listdir('/tmp'))\nos.mkdir('/tmp/d')\nopen('/tmp/d/note', 'w').write('x')"
    assert [run.stdout for run in sandbox.run_stdin(noting, ["", ""], SHORT)] == [b"[]\n"] * 2
    assert sandbox.infrastructure_failures == 0


def test_programs_run_in_a_container_with_nothing_but_an_interpreter(daemon):
    with open_sandbox("docker") as sandbox:
        check_programs(sandbox)
        (container,) = daemon.containers.values()
    config, host = container.config, container.config["HostConfig"]
    assert host["NetworkMode"] == "none"
    assert host["IpcMode"] == "none"
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["PidsLimit"] == 128
    assert host["Memory"] == host["MemorySwap"] == 4 << 30
    assert host["AutoRemove"] is True
    assert config["User"] == "65534:65534"
    assert config["StdinOnce"] is True
    assert container.process.poll() is not None


def test_a_container_that_dies_is_replaced(daemon):
    with open_sandbox("docker") as sandbox:
        (first,) = daemon.containers.values()
        first.kill()
        assert next(sandbox.run_stdin("print(1)", [""])).stdout == b"1\n"
        assert (sandbox.infrastructure_failures, len(daemon.containers)) == (1, 2)


def test_a_container_ends_when_its_streams_do(daemon):
    sandbox = open_sandbox("docker")
    (container,) = daemon.containers.values()
    sandbox._box.channel._socket.close()  # what happens when this process is killed
    sandbox._box.channel._stream.close()
    assert container.process.wait(20) is not None


def test_a_missing_image_is_told_with_what_to_type(daemon):
    daemon.missing_image = True
    with pytest.raises(InfrastructureError, match=r"docker pull python:3\.11-slim"):
        open_sandbox("docker")


def test_a_missing_daemon_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    with pytest.raises(InfrastructureError, match="needs a running Docker daemon"):
        open_sandbox("docker")


def test_programs_run_for_real_where_a_daemon_does():
    reason = why_unavailable("docker")
    if reason:
        pytest.skip(reason)
    with open_sandbox("docker") as sandbox:
        check_programs(sandbox)


def test_the_rlimits_sandbox_warns_and_gives_the_same_results():
    with pytest.warns(RuntimeWarning, match="does NOT isolate"):
        sandbox = open_sandbox("rlimits")
    with sandbox:
        folder = Path(sandbox._box.channel.folder)
        runs = list(sandbox.run_stdin("import os; print(os.listdir('.')); open('x', 'w')", ["", ""], SHORT))
        assert [run.stdout for run in runs] == [b"[]\n"] * 2
        for source, status in {
            "while True: pass": "timeout",
            "import os; os.fork()": "runtime_error",
        }.items():
            assert next(sandbox.run_stdin(source, [""], SHORT)).status == status
    assert not folder.exists()

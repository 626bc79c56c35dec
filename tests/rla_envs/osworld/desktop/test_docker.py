"""What a container is started with, and that it is removed; the daemon here is a client that records."""

import gc
import http.server
import json
import threading
import warnings

import pytest

from rla_envs.errors import InfrastructureError, InputError
from rla_envs.osworld.desktop import docker as module
from rla_envs.osworld.desktop.docker import DISK_VARIABLE, IMAGE, DockerDesktop

pytest.importorskip("docker", reason="the docker provider needs the docker package")


@pytest.fixture(autouse=True)
def sockets_that_the_docker_package_forgets():
    """Collect what it leaves open where no daemon answers, before pytest does and complains."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


class Answers(http.server.BaseHTTPRequestHandler):
    """The one endpoint that connecting needs."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"width": 1920, "height": 1080}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Container:
    """A container that answers on a port of this machine, or has ended."""

    def __init__(self, port, status="running"):
        self.status, self.removed = status, 0
        ports = {"5000/tcp": [{"HostIp": "127.0.0.1", "HostPort": str(port)}]}
        self.attrs = {"NetworkSettings": {"Ports": ports}}

    def reload(self):
        pass

    def logs(self, tail):
        return b"no such disk\n"

    def remove(self, force, v):
        self.removed += 1


class Client:
    """Records what is run."""

    def __init__(self, container):
        self.container, self.closed, self.containers = container, False, self

    def run(self, image, **options):
        self.image, self.options = image, options
        return self.container

    def close(self):
        self.closed = True


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture
def client(server, monkeypatch):
    client = Client(Container(server))
    monkeypatch.setattr(module, "_connect", lambda: client)
    return client


def test_the_port_is_bound_to_loopback_and_the_disk_is_mounted_read_only(client, monkeypatch, tmp_path):
    disk = tmp_path / "Ubuntu.qcow2"
    disk.write_bytes(b"")
    monkeypatch.setenv(DISK_VARIABLE, str(disk))
    with DockerDesktop((1920, 1080)) as desktop:
        assert desktop.screen_size == (1920, 1080)
        assert client.image == IMAGE
        assert client.options["ports"] == {"5000/tcp": ("127.0.0.1", None)}
        assert client.options["volumes"] == {str(disk): {"bind": "/System.qcow2", "mode": "ro"}}
        assert "privileged" not in client.options
    desktop.close()
    assert (client.container.removed, client.closed) == (1, True)


def test_a_screen_of_another_size_is_refused_and_nothing_is_left(client):
    with pytest.raises(InputError, match=r"screen_size=\(1920, 1080\)"):
        DockerDesktop((1280, 720), "own-image")
    assert (client.container.removed, client.closed) == (1, True)


def test_a_container_that_ends_is_an_infrastructure_error_with_its_last_words(client):
    client.container.status = "exited"
    with pytest.raises(InfrastructureError, match="no such disk"):
        DockerDesktop((1920, 1080), "own-image")
    assert (client.container.removed, client.closed) == (1, True)


def test_osworlds_image_without_its_disk_is_refused_with_what_to_set(client, monkeypatch):
    monkeypatch.delenv(DISK_VARIABLE, raising=False)
    with pytest.raises(InputError, match=DISK_VARIABLE):
        DockerDesktop((1920, 1080))
    assert client.closed


def test_without_a_daemon_the_error_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(InfrastructureError, match="running Docker daemon"):
        DockerDesktop((1920, 1080), "own-image")


def test_osworlds_image_runs_on_a_real_daemon():
    docker = pytest.importorskip("docker")
    try:
        client = docker.from_env()
        client.images.get(IMAGE)
    except Exception as error:
        pytest.skip(f"needs a Docker daemon with the image {IMAGE}: {error}")
    client.close()
    with DockerDesktop((1920, 1080)) as desktop:
        assert desktop.observe().screenshot.shape == (1080, 1920, 3)

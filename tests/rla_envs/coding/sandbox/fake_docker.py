"""A Docker daemon of a few lines: its "containers" are processes that bubblewrap makes."""

import json
import os
import platform
import select
import signal
import socketserver
import struct
import subprocess
import sys
import threading


class Container:
    def __init__(self, config):
        self.config = config
        self.process = None
        self.started = threading.Event()

    def start(self):
        # Without the links of a virtual environment, which may itself lie below /tmp.
        python = os.path.realpath(sys.executable)
        words = [python if word == "python3" else word for word in self.config["Cmd"]]
        box = "bwrap --ro-bind / / --dev /dev --tmpfs /tmp --unshare-pid --proc /proc --as-pid-1"
        environment = dict(line.split("=", 1) for line in self.config["Env"])
        self.process = subprocess.Popen(
            [*box.split(), "--", *words],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self.started.set()

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Handler(socketserver.StreamRequestHandler):
    """One connection; HTTP as much as the client needs."""

    def handle(self):
        while line := self.rfile.readline():
            method, target, _ = line.decode().split()
            headers = {}
            while (header := self.rfile.readline().strip()) != b"":
                name, _, value = header.decode().partition(":")
                headers[name.lower()] = value.strip()
            body = self.rfile.read(int(headers.get("content-length", 0)))
            path, _, _query = target.partition("?")
            path = path.lstrip("/").split("/")
            if path[0].startswith("v1."):
                path = path[1:]
            self.server.requests.append((method, "/".join(path)))
            if path[0] == "containers" and path[-1] == "attach":
                self.attach(self.server.containers[path[1]])
                return
            self.reply(*self.answer(method, path, json.loads(body or b"null")))

    def answer(self, method, path, body):
        if path == ["version"]:
            return 200, {"ApiVersion": "1.44"}
        if path == ["info"]:
            return 200, {"Architecture": platform.machine()}
        if path == ["containers", "create"]:
            if self.server.missing_image:
                return 404, {"message": f"No such image: {body['Image']}"}
            name = f"c{len(self.server.containers)}"
            self.server.containers[name] = Container(body)
            return 201, {"Id": name, "Warnings": []}
        container = self.server.containers[path[1]]
        if method == "GET":
            return 200, {"Id": path[1], "Config": {"Tty": False}, "Name": path[1]}
        if path[-1] == "start":
            container.start()
            return 204, None
        if container.process is None or container.process.poll() is not None:
            return 404, {"message": "No such container"}
        container.kill()
        return 204, None

    def reply(self, status, content):
        data = b"" if content is None else json.dumps(content).encode()
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        self.wfile.write(head.encode() + data)

    def attach(self, container):
        """Carry the container's streams as the daemon does: output in frames with a header of eight bytes."""
        self.wfile.write(
            b"HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\n"
            b"Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
        )
        container.started.wait(20)
        process = container.process
        streams = {process.stdout: 1, process.stderr: 2, self.connection: 0}
        while process.stdout in streams:
            for stream in select.select(list(streams), [], [])[0]:
                data = self.connection.recv(1 << 16) if streams[stream] == 0 else stream.read(1 << 16)
                if streams[stream] == 0:
                    try:
                        process.stdin.write(data) if data else process.stdin.close()
                    except OSError:
                        data = b""
                elif data:
                    self.wfile.write(struct.pack(">BxxxI", streams[stream], len(data)) + data)
                if not data:
                    del streams[stream]
        if process.poll() is None:
            container.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


class FakeDocker(socketserver.ThreadingUnixStreamServer):
    """Serves on a Unix socket until closed; notes requests and containers."""

    daemon_threads = True

    def __init__(self, path):
        super().__init__(str(path), Handler)
        self.containers, self.requests, self.missing_image = {}, [], False
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()

    def close(self):
        self.shutdown()
        self.server_close()
        self.thread.join()

"""The stand-in backend, in the network of a machine but outside of it: it outlives a reboot."""

import json
import os
import subprocess
from pathlib import Path

from machine import expect

PORT = 8787
URL = f"http://127.0.0.1:{PORT}/api/v1"
PASSWORD = "Demo-Passw0rd!"


class Network:
    """A network namespace; `connect` gives it a default route, and `disconnect` takes it away."""

    def __init__(self, name, connected=True):
        self.name = name
        self.ip("netns", "add", name)
        self.inside("link", "set", "lo", "up")
        self.inside("link", "add", "lan0", "type", "veth", "peer", "name", "far0")
        self.inside("address", "add", "192.0.2.2/24", "dev", "lan0")
        if connected:
            self.connect()

    def ip(self, *words):
        subprocess.run(["ip", *words], check=True)

    def inside(self, *words):
        self.ip("-netns", self.name, *words)

    def connect(self):
        self.inside("link", "set", "far0", "up")
        self.inside("link", "set", "lan0", "up")
        self.inside("route", "add", "default", "via", "192.0.2.1", "dev", "lan0")

    def disconnect(self):
        self.inside("link", "set", "lan0", "down")

    def remove(self):
        self.ip("netns", "del", self.name)


class Backend:
    def __init__(self, network, program, folder):
        self.network = network
        self.words = ["ip", "netns", "exec", network.name, program]
        self.words += ["--listen", f"127.0.0.1:{PORT}", "--exit-with-stdin"]
        self.words += ["--data", str(Path(folder) / "backend")]
        self.start()

    def start(self, environment={}):
        self.process = subprocess.Popen(
            self.words,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        expect("http" in self.process.stdout.readline(), "the stand-in backend did not start")

    def request(self, method, path, body="", port=PORT):
        words = ["curl", "--silent", "--fail", "-X", method, f"http://127.0.0.1:{port}{path}"]
        if body:
            words += ["--data-binary", body]
        enter = ["ip", "netns", "exec", self.network.name]
        return subprocess.run(enter + words, check=True, capture_output=True, text=True).stdout

    def summary(self):
        return json.loads(self.request("GET", "/_sandbox/summary"))

    def fault(self, text):
        """Arranges faults; an empty text ends them."""
        if text:
            self.request("POST", "/_sandbox/fault", text)
        else:
            self.request("DELETE", "/_sandbox/fault")

    def restart(self, environment):
        """Ends every connection, and all faults; what it has stays."""
        self.remove()
        self.start(environment)

    def remove(self):
        self.process.stdin.close()
        self.process.wait(30)

"""A browser of a live view without its pictures, and simulations for it."""

import json
import socket
import urllib.error
import urllib.request
from contextlib import suppress

import numpy as np

from warpsim.solvers import Material, ModelBuilder, Scene, SolverDEM

GRAINS = 27


class Client:
    """Asks for news and sends commands, as page/live.js does."""

    def __init__(self, view):
        self.url = view.url
        self.seen = self.shot = self.stage = 0
        self.header, self.picture = None, b""

    def news(self):
        """The next news; header and picture are those of the newest shot."""
        told, picture = parse(urllib.request.urlopen(f"{self.url}news/{self.seen}/{self.shot}/{self.stage}").read())
        self.seen = told["number"]
        self.header = told.get("header", self.header)
        if "shot" in told:
            self.shot, self.stage, self.picture = told["shot"], told["stage"], picture
        return told

    def until(self, fits):
        """The first news that fit."""
        while not fits(told := self.news()):
            pass
        return told

    def watch(self):
        """Ask for news until the program has ended."""
        with suppress(OSError):
            self.until(lambda told: told["closed"])

    def do(self, name, **numbers):
        """What comes of a command: (status, answer)."""
        return self.send(json.dumps({"do": name, **numbers}).encode())

    def send(self, body, path="control"):
        try:
            with urllib.request.urlopen(self.url + path, data=body) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def points(self):
        """Where the points of the one body that moves are, (n, 3), and the extent that 16 bits divide."""
        count = int(np.frombuffer(self.picture, "<u4", 1)[0])
        *low, extent = np.frombuffer(self.picture, "<f4", 4, 4)
        places = np.frombuffer(self.picture, "<u2", 3 * count, 20).reshape(-1, 3)
        return np.float32(low) + places * (np.float64(extent) / 65535), extent


def parse(answer):
    """What an answer to a question for news says, and its picture."""
    size = int(np.frombuffer(answer, "<u4", 1)[0])
    return json.loads(answer[4 : 4 + size]), answer[4 + size :]


def raw(view, request, wait=5.0):
    """What a server says to bytes; nothing more is sent."""
    host, port = view.url.split("/")[2].split(":")
    with socket.create_connection((host, int(port)), timeout=wait) as connection:
        connection.sendall(request)
        said = b""
        with suppress(OSError):
            while part := connection.recv(65536):
                said += part
    return said


class Grains:
    """Balls that fall on a floor and roll, so that contacts have a memory; with a list and random numbers."""

    def __init__(self):
        builder = ModelBuilder()
        corners = np.stack(np.meshgrid(*[0.021 * np.arange(3)] * 3), axis=-1).reshape(-1, 3)
        corners += np.random.default_rng(3).uniform(0.0, 0.001, corners.shape) + np.array([0.0, 0.011, 0.0])
        builder.add_particles(corners, mass=0.01, radius=0.01)
        builder.add_ground_plane()
        self.model = builder.finalize("cpu")
        solver = SolverDEM(
            self.model, Material(youngs_modulus=1.0e6, rolling_friction=0.1), substeps=40, rolling="spring"
        )
        self.state, self.control = self.model.state(), self.model.control()
        parts = {"solver": solver, "state": self.state, "control": self.control}
        self.scene = Scene(**parts, rng=np.random.default_rng(0), heights=[], count=0)
        self.is_stepping = False

    def pull(self, gravity):
        assert not self.is_stepping
        self.control.gravity.assign([(0.0, -gravity, 0.0)])

    def step(self):
        """A frame: wind of random strength, and a step."""
        scene, self.is_stepping = self.scene, True
        kick = self.state.particle_qd.numpy() + 0.05 * np.float32(scene.rng.normal(size=3))
        self.state.particle_qd.assign(kick)
        scene.solver.step(self.state, self.state, self.control, dt=0.01)
        scene.heights.append(float(self.state.particle_q.numpy()[:, 1].mean()))
        scene.count += 1
        self.is_stepping = False

    def bits(self):
        """All that a frame hands on, as far as it can be seen."""
        arrays = [a.numpy().tobytes() for a in self.state.arrays.values()]
        return (*arrays, tuple(self.scene.heights), self.scene.count)

    def draw(self, view):
        view.frame()
        view.points("grains", self.state.particle_q, 0.01)

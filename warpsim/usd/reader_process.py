"""The process that reads USD for another one, see `reader`: limits, and answers to its questions."""

import gc
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

from pxr import Tf, Usd, UsdGeom

from warpsim.usd.checks import UsdError, pxr_errors
from warpsim.usd.contents import Contents
from warpsim.usd.meshes import find_mesh
from warpsim.usd.messages import receive, send
from warpsim.usd.scene import Scene
from warpsim.usd.stage_file import MOST_LEVELS, open_stage

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_QUESTION = 1 << 20  # bytes of the longest question
_WORD = 8  # bytes of a message to `serve_forks` and of its answer
_GRACE = 5.0  # seconds after which a process ends by itself whose owner has not ended it
_STACK = 8 << 20  # [bytes]: 1000 levels of prims take a tenth


class Session:
    """A file and the questions about it, each of which is a method; `begin` comes first."""

    def __init__(self) -> None:
        self.name, self.max_bytes, self.max_seconds, self.memory = "", 0, 0.0, 0
        self._scene: Scene | None = None
        self._contents: Contents | None = None

    def begin(self, name: str, max_bytes: int, max_seconds: float, memory: int, folder: str) -> None:
        """Name the file, and hold limits from now on."""
        self.name, self.max_bytes, self.max_seconds, self.memory = name, max_bytes, max_seconds, memory
        os.chdir(folder)
        sys.setrecursionlimit(8 * MOST_LEVELS)
        _limit(memory)

    def mesh(self, prim_path: str | None, time: float | None, up_axis: str, meters_per_unit: float | None) -> Any:
        """Points and triangles of one mesh."""
        stage = open_stage(self.name, self.max_bytes)
        return find_mesh(stage, self.name, prim_path, time, up_axis, meters_per_unit)

    def scene(self) -> Any:
        """What a viewer must know before the first frame."""
        self._scene = Scene(open_stage(self.name, self.max_bytes), self.name)
        return self._scene.describe()

    def moment(self, body: int, frame: int) -> Any:
        """Arrays of a body in a frame."""
        assert self._scene is not None
        return self._scene.moment(body, frame)

    def contents(self, up_axis: str, meters_per_unit: float | None, time: float | None) -> Any:
        """What a simulation must know before it asks for prims."""
        stage = open_stage(self.name, self.max_bytes)
        self._contents = Contents(stage, self.name, up_axis, meters_per_unit, time)
        return self._contents.describe()

    def prim(self, number: int) -> Any:
        """A prim of `contents`."""
        assert self._contents is not None
        return self._contents.prim(number)

    def moment_of(self, number: int, code: float, shaped: bool) -> Any:
        """Where a prim of `contents` is at a time code."""
        assert self._contents is not None
        return self._contents.moment(number, code, shaped)

    def no_memory(self) -> str:
        """What to say where the limit on memory is met."""
        most = f"{self.memory / 2**30:.1f} GiB"
        return f"{self.name!r}: takes more memory than {most}; pass a larger max_bytes to trust it so far"


_QUESTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        Session.begin,
        Session.mesh,
        Session.scene,
        Session.moment,
        Session.contents,
        Session.prim,
        Session.moment_of,
    )
}


def _answer(session: Session, question: str, **arguments: Any) -> dict[str, Any]:
    """The answer to a question, or the text of an error."""
    try:
        with _alarm(session.max_seconds), pxr_errors(f"{session.name!r}"):
            return {"answer": _QUESTIONS[question](session, **arguments)}
    except MemoryError:
        return {"error": session.no_memory()}
    except UsdError as error:
        return {"error": session.no_memory() if "std::bad_alloc" in str(error) else str(error)}
    except RecursionError:
        return {"error": f"{session.name!r}: nests more than {MOST_LEVELS} levels deep; export it again"}
    except Exception as error:  # of NumPy or pxr, over values that no check has foreseen
        return {"error": f"{session.name!r} is damaged ({type(error).__name__}: {error}); export it again"}


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """End the process where a question takes too long and its owner, who would end it, has gone."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds and seconds + _GRACE)
    yield
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def _limit(memory: int) -> None:
    """Let this process take so many bytes more, write no file, and be the first that ends where memory is short.

    Its stack is limited where the shell's is not: nesting would fill all memory before it is found out.
    """
    if resource is None:
        return
    with suppress(OSError):  # Linux alone says what there is by now, and holds the limit
        with open("/proc/self/statm") as file:
            taken = int(file.read().split()[0]) * resource.getpagesize()
        _lower(resource.RLIMIT_AS, taken + memory)
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    _lower(resource.RLIMIT_STACK, _STACK)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, 0)


def _lower(kind: int, limit: int) -> None:
    hard = resource.getrlimit(kind)[1]
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(kind, (min(limit, (1 << 63) - 1), hard))


# ----- entries ----------------------------------------------------------------------------------


def serve(stream: BinaryIO) -> None:
    """Answer questions until whoever asks has gone."""
    session = Session()
    with suppress(EOFError, OSError):
        while True:
            send(stream, _answer(session, **receive(stream, _QUESTION)))


def serve_pipes() -> None:
    """Answer the questions that come by standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(_Pipes())  # type: ignore[arg-type]


class _Pipes:
    """Standard input and output as one stream."""

    read, readinto = sys.stdin.buffer.read, sys.stdin.buffer.readinto
    write, flush = sys.stdout.buffer.write, sys.stdout.buffer.flush


def serve_forks(fd: int) -> None:
    """Fork a process for each socket that comes, and end the one whose number comes instead."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the owner's
    control, failed = socket.socket(fileno=fd), {}
    _warm_up()
    while True:
        message, files, _, _ = socket.recv_fds(control, _WORD, 1)
        if not message:
            return
        failed.update(_failures())
        answer = _fork(control, files[0]) if files else _end(int.from_bytes(message, "little"), failed)
        control.sendall(answer.to_bytes(_WORD, "little", signed=True))


def _fork(control: socket.socket, fd: int) -> int:
    pid = os.fork()
    if not pid:
        control.close()
        with suppress(BaseException), socket.socket(fileno=fd) as connection:
            serve(connection.makefile("rwb"))
        os._exit(0)
    os.close(fd)
    return pid


def _end(pid: int, failed: dict[int, int]) -> int:
    """Kill a process of ours that has not ended; what it ended with, negative for a signal."""
    if pid in failed:
        return failed.pop(pid)
    try:
        os.kill(pid, signal.SIGKILL)  # a signal that ended it before remains its status
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except (ProcessLookupError, ChildProcessError):
        return 0


def _failures() -> dict[int, int]:
    """Collect processes that have ended, and give the statuses of those that failed."""
    statuses = {}
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if status := os.waitstatus_to_exitcode(ended[1]):
                statuses[ended[0]] = status
    return statuses


def _warm_up() -> None:
    """Read a small file, so that forks need not load what Python and pxr load for the first."""
    with suppress(OSError, Tf.ErrorException), tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "warm.usdc")
        stage = Usd.Stage.CreateNew(name)
        mesh = UsdGeom.Mesh.Define(stage, "/mesh")
        mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)])
        mesh.CreateFaceVertexCountsAttr([4])
        mesh.CreateFaceVertexIndicesAttr([0, 1, 2, 3])
        stage.GetRootLayer().Save()
        del mesh, stage
        session = Session()
        session.name, session.max_bytes = name, 1 << 20
        session.mesh(None, None, "Y", None)
        session.scene()
        session.moment(0, 0)
    gc.collect()
    gc.freeze()  # a fork copies no page for the counts of what it never touches

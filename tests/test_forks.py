"""Locks and cached properties of the package beside forks: a child never waits for a thread that it does not have."""

import ast
import os
import threading
import time

import pytest
from source_trees import PACKAGE, trees

from warpsim.forks import cached_property, fork_safe

WAITED_FOR = {
    "warpsim/names.py": "_loading: a fork waits for imports",
    "warpsim/core/emit/compile_lock.py": "a fork waits for compilations",
    "warpsim/core/emit/native/linker.py": "_linking: a fork waits for it",
    "warpsim/solvers/saved/write_queue.py": "made anew in a child, with its queue",
    "warpsim/usd/reader.py": "of processes that no other process may ask",
    "warpsim/viewer/shot.py": "of a picture that one process takes",
    "warpsim/forks.py": "about locks",
}
"""Files that make locks of their own, and why a child does not wait for them."""

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")


def exit_status_of_a_child(function):
    """Of a fork that runs a function; fails after 20 s."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            function()
            status = 0
        finally:
            os._exit(status)
    deadline = time.monotonic() + 20.0
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, 9)
            os.waitpid(child, 0)
            pytest.fail("the child hangs")
        time.sleep(0.01)
    return ended[1]


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork")
@pytest.mark.parametrize("kind", [threading.Lock, threading.RLock])
def test_a_lock_that_a_thread_of_the_parent_holds_is_open_in_the_child(kind):
    lock, held, done = fork_safe(kind()), threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        assert exit_status_of_a_child(lock.acquire) == 0
        assert not lock.acquire(blocking=False)  # in the parent it is still held
    finally:
        done.set()
        thread.join()


class Slow:
    """Values that take until an event."""

    def __init__(self):
        self.computes, self.go, self.count = threading.Event(), threading.Event(), 0

    @cached_property
    def value(self):
        """What it is."""
        self.computes.set()
        self.go.wait()
        self.count += 1
        return self.count


def test_a_property_is_computed_once_and_can_be_set_and_deleted():
    slow = Slow()
    slow.go.set()
    assert (slow.value, slow.value, slow.count) == (1, 1, 1)
    del slow.value
    assert slow.value == 2
    slow.value = 7
    assert slow.value == 7
    assert isinstance(Slow.value, cached_property)
    assert Slow.value.__doc__ == "What it is."


def test_properties_of_two_objects_are_computed_at_once():
    first, second = Slow(), Slow()
    thread = threading.Thread(target=lambda: first.value)
    thread.start()
    first.computes.wait()
    try:
        second.go.set()
        other = threading.Thread(target=lambda: second.value)
        other.start()
        other.join(20.0)
        assert not other.is_alive()
    finally:
        first.go.set()
        thread.join()


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_child_computes_a_property_that_a_thread_of_the_parent_was_computing():
    slow, other = Slow(), Slow()
    other.go.set()
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    slow.computes.wait()
    try:
        assert exit_status_of_a_child(lambda: other.value) == 0
    finally:
        slow.go.set()
        thread.join()


def test_every_lock_of_the_package_is_open_in_a_child_or_waited_for():
    def is_lock(node):
        return (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("Lock", "RLock")
        )

    bare, makers = set(), set()
    for path, tree in trees().items():
        name = path.relative_to(PACKAGE.parent).as_posix()
        safe = {id(a) for node in ast.walk(tree) if is_fork_safe(node) for a in node.args}
        locks = [node for node in ast.walk(tree) if is_lock(node)]
        makers |= {name} if locks else set()
        if any(id(lock) not in safe for lock in locks):
            bare.add(name)
    assert len(makers) > 15
    assert bare - WAITED_FOR.keys() == set(), "fork_safe(threading.Lock())"


def is_fork_safe(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "fork_safe"


def test_no_property_of_the_package_is_computed_under_the_lock_of_older_pythons():
    for path, tree in trees().items():
        if path.name != "forks.py":
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.module == "functools":
                    assert "cached_property" not in [a.name for a in node.names], f"{path}: from warpsim.forks"

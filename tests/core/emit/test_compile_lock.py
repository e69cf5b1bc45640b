"""The lock of compilations: taken again by its thread, told to listeners, and first of all given to forks."""

import threading
import time

from warpsim.core.emit.compile_lock import CompileLock


def test_a_thread_takes_it_again_and_another_waits():
    lock, order = CompileLock(), []

    def other():
        with lock:
            order.append("other")

    with lock, lock:
        thread = threading.Thread(target=other)
        thread.start()
        time.sleep(0.05)
        order.append("mine")
    thread.join()
    assert order == ["mine", "other"]


def test_listeners_hear_the_outermost_begin_and_end():
    lock, said = CompileLock(), []
    lock.listeners.append(said.append)
    with lock, lock:
        assert said == [True]
    assert said == [True, False]
    assert lock.seconds > 0.0


def test_who_forks_waits_for_one_compilation_and_not_for_all_that_follow():
    lock, stop, rounds = CompileLock(), threading.Event(), []

    def compile_on_and_on():
        while not stop.is_set():
            with lock:
                time.sleep(0.002)
            rounds.append(1)

    threads = [threading.Thread(target=compile_on_and_on) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            before = len(rounds)
            lock.acquire()
            passed = len(rounds) - before
            lock.release()
            assert passed <= 4  # the one that runs, and those that had passed the gate
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert rounds


def test_a_thread_that_compiles_may_fork_while_another_one_is_about_to():
    lock, ends = CompileLock(), []

    def fork():
        lock.acquire()
        lock.release()
        ends.append(1)

    with lock:
        other = threading.Thread(target=fork)
        other.start()
        time.sleep(0.05)  # the other one holds the gate
        fork()
        with lock:
            assert ends == [1]
    other.join(20.0)
    assert ends == [1, 1]

"""Call sites: the nearest frame outside of the package, whoever called before."""

import threading

import warpsim as wp
from warpsim.core.runtime.arrays.call_site import CallSite, user_frame


def of_package(text):
    """A function that stands in a module of the package."""
    space = {"__name__": "warpsim.made_up", "user_frame": user_frame}
    exec(text, space)
    return space["function"]


direct = of_package("def function():\n    return user_frame(0)")
through = of_package("def function(call):\n    return call()")


def one():
    return direct()


def other():
    return through(lambda: direct())


def test_callers_in_turn_are_told_apart():
    for _ in range(3):
        assert one().f_code is one.__code__
        assert other().f_code.co_name == "<lambda>"


def test_frames_of_the_package_are_passed_by():
    nested = of_package("def function(call):\n    return (lambda: call())()")

    def caller():
        return nested(direct)

    for _ in range(3):
        assert caller().f_code is caller.__code__
        assert through(direct).f_code is test_frames_of_the_package_are_passed_by.__code__


def test_threads_find_their_own():
    places, gate = {}, threading.Barrier(2)

    def run(name, call):
        gate.wait()
        places[name] = {call().f_code for _ in range(2000)}

    calls = {"one": one, "other": lambda: direct()}
    threads = [threading.Thread(target=run, args=pair) for pair in calls.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert places == {name: {call.__code__} for name, call in calls.items()}


@wp.kernel
def double(x: wp.array[float], y: wp.array[float]):
    i = wp.tid()
    y[i] = 2.0 * x[i]


def test_a_tape_notes_where_each_launch_stands():
    x, y = (wp.ones(3, dtype=float, requires_grad=True) for _ in range(2))

    def here():
        wp.launch(double, 3, [x, y])

    with wp.Tape() as tape:
        for _ in range(2):
            here()
            wp.launch(double, 3, [y, x])
    inner = here.__code__
    assert [entry.place.code is inner for entry in tape.log] == [True, False] * 2
    assert {str(entry.place) for entry in tape.log[1::2]} != {str(entry.place) for entry in tape.log[::2]}
    assert isinstance(tape.log[0].place, CallSite)

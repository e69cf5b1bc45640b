"""Probes: every function of the list is looked up by its name, replaced while a profile is on, and put back."""

import os
import threading

import pytest

import warpsim as wp
from warpsim.profiling.probes import PLACES, is_installed

pytestmark = pytest.mark.cpu


@wp.kernel
def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


def functions():
    return [vars(place.owner)[place.name] for place in PLACES]


def test_every_place_is_a_function_of_its_owner_named_once():
    names = [(place.owner, place.name) for place in PLACES]
    assert all(callable(function) for function in functions()) and len(set(names)) == len(names)


def test_stand_ins_are_there_as_long_as_any_profile():
    before = functions()
    first, second = wp.profile(print=False), wp.profile(print=False)
    with first:
        inside = functions()
        assert all(a is not b for a, b in zip(before, inside, strict=True))
        with second:
            assert functions() == inside  # not twice
        assert is_installed()
    assert functions() == before and not is_installed()


def test_profiles_that_end_in_any_order_leave_nothing():
    before = functions()
    first, second = wp.profile(print=False), wp.profile(print=False)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert is_installed()
    second.__exit__(None, None, None)
    assert functions() == before


def test_profiles_begin_and_end_on_many_threads_at_once():
    before, failures = functions(), []

    def work():
        x, y = (wp.zeros(8, dtype=float) for _ in range(2))
        try:
            for _ in range(20):
                with wp.profile(print=False) as profile:
                    wp.launch(double, 8, inputs=[x, y])
                assert sum(thread.launches for thread in profile.report.threads) >= 1
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [] and functions() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_goes_on_with_the_profile():
    x, y = (wp.zeros(8, dtype=float) for _ in range(2))
    with wp.profile(print=False) as profile:
        wp.launch(double, 8, inputs=[x, y])
        child = os.fork()
        if child == 0:
            wp.launch(double, 8, inputs=[x, y])
            profile.__exit__()
            os._exit(sum(one.count for one in profile.report.launches if one.kernel == "double"))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert [one.count for one in profile.report.launches] == [1]

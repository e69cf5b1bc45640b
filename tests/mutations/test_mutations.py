"""The faults of `faults.py` can be put into the package as it is now, and tests notice them."""

import ast

import mutate
import pytest
from faults import FAULTS

SAMPLE = (0, 8)
"""Faults that tests are run against every night; `python tests/mutations/mutate.py` takes all of them."""


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_place_of_a_fault_is_there_once(fault):
    ast.parse(mutate.changed(fault))
    assert fault.noticed_by and all((mutate.TESTS / test.partition("::")[0]).exists() for test in fault.noticed_by)


def test_a_place_that_is_gone_is_told():
    with pytest.raises(ValueError, match="0 places in"):
        mutate.changed(FAULTS[0]._replace(old="a line that nobody wrote"))


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("k", SAMPLE)
def test_faults_are_noticed(k):
    assert mutate.is_noticed(FAULTS[k], FAULTS[k].noticed_by[-1])


@pytest.mark.slow
def test_nothing_is_noticed_where_there_is_no_fault():
    assert not mutate.is_noticed(None, "core/passes/simplify/test_cse.py")

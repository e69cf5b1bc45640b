"""The validation cases of rigid bodies, and of what they are coupled to: every number within its tolerance."""

import pytest

from warpsim.solvers import validate

SOLVERS = ["bodies", "coupling"]


@pytest.mark.every_case
@pytest.mark.parametrize("name", [case.name for case in validate.choose_cases(SOLVERS)])
def test_the_case_passes(name):
    result = validate.run_case(validate.all_cases()[name])
    wrong = [m for m in result.measurements if not m.passed]
    assert result.measurements and not wrong


@pytest.mark.nightly
@pytest.mark.parametrize("name", [c.name for c in validate.choose_cases(SOLVERS, True) if c.tier == validate.FULL])
def test_the_long_case_passes(name):
    test_the_case_passes(name)

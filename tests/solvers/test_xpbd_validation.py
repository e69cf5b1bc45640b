"""The validation cases of XPBD: every number within its tolerance."""

import pytest

from warpsim.solvers import validate


@pytest.mark.every_case
@pytest.mark.parametrize("name", [case.name for case in validate.choose_cases(["xpbd"])])
def test_the_case_passes(name):
    result = validate.run_case(validate.all_cases()[name])
    wrong = [m for m in result.measurements if not m.passed]
    assert result.measurements and not wrong


@pytest.mark.nightly
@pytest.mark.parametrize("name", [c.name for c in validate.choose_cases(["xpbd"], True) if c.tier == validate.FULL])
def test_the_long_case_passes(name):
    test_the_case_passes(name)

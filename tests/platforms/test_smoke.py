"""The program that other platforms are tried with runs on this one."""

import pytest
import smoke

from warpsim.core.runtime.launches.pool import get_pool

pytestmark = pytest.mark.cpu(reason="what it asks of the CPU's threads")


def test_every_part_is_through(capsys):
    smoke.main()
    get_pool().always_fork(False)
    assert len(capsys.readouterr().out.splitlines()) == 7

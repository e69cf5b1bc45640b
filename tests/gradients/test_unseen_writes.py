"""Random programs with writes that a tape does not see: the gradient of a constant, or an error."""

import os
import warnings
from collections import Counter

import pytest
from unseen_programs import UNSEEN, run

SAMPLE = int(os.environ.get("WARPSIM_UNSEEN_PROGRAMS", "400"))


@pytest.mark.cpu(reason="shares memory with NumPy and PyTorch")
def test_a_gradient_never_passes_through_a_write_that_the_tape_does_not_see(capsys):
    counts, met = Counter(), Counter()
    for seed in range(SAMPLE):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcome, kinds = run(seed)
        counts[outcome] += 1
        met.update(kinds)
    with capsys.disabled():
        print(f" {SAMPLE} programs with {met.total()} unseen writes: {dict(counts)}", end=" ")
    assert set(met) == set(UNSEEN) and counts["right"] > SAMPLE // 4

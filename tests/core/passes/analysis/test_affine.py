"""Affine forms, held against what the interpreter computes for the same indices."""

import itertools

import pytest

import warpsim as wp
from warpsim.core.ir.def_use import defining_calls
from warpsim.core.ir.nodes import Call, walk
from warpsim.core.passes.analysis.affine import AffineForms

Ints = wp.array(dtype=int)


@wp.kernel
def forms(out: Ints, n: int, m: int):
    i = wp.tid()
    out[0] = 3 * i - n + 7
    out[1] = -(n - 2 * (m + i)) * 4 - i
    out[2] = (i + n) * 0 + m
    out[3] = int(wp.int64(i) * wp.int64(2)) + n - n
    out[4] = n * m + n
    out[5] = int(wp.int8(n))


def stored(exact):
    """What the kernel stores, as affine forms, and the parameters they are made of."""
    fn = forms.program(tuple(forms.patterns.values())).fn
    affine = AffineForms(defining_calls(fn.body), exact)
    stores = [node for node in walk(fn.body) if isinstance(node, Call) and node.op.name == "store"]
    return [affine.of(store.args[-1]) for store in stores], fn.params


def evaluated(form, values):
    return form.constant + sum(factor * values[atom] for atom, factor in form.terms)


@pytest.mark.parametrize("n, m", [*itertools.product((-3, 0, 5), (-2, 4))])
def test_a_form_is_the_number_that_the_kernel_computes(n, m):
    found, (_, n_param, m_param) = stored(exact=False)
    out = wp.zeros(6, dtype=int, device="interp")
    wp.launch(forms, 1, [out, n, m], device="interp")
    values = {("tid", 0): 0, n_param: n, m_param: m}
    assert [evaluated(form, values) for form in found[:4]] == out.list()[:4]


def test_only_products_of_unknowns_and_casts_that_lose_bits_are_unknowns():
    for exact in (False, True):
        found, params = stored(exact)
        known = {("tid", 0), *params}
        own = [all(atom in known for atom, _ in form.terms) for form in found]
        assert own == [True, True, True, not exact, False, False]


def test_equal_forms_of_one_number():
    loose, _ = stored(exact=False)
    assert loose[0].plus(loose[0], -1).terms == frozenset()
    assert loose[1] == loose[1].times(3).plus(loose[1], -2)

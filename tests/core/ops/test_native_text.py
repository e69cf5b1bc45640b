"""What native text says about its parameters: mentioned, apparently constant, returning."""

import pytest

from warpsim.core.ops.native_text import has_atomics, has_lambda, mentions, returns_value, seems_constant

READS = ["y = x[i];", "y = x[i] + x[j + 1];", "y += x(i, j);", "if (x[i] == 3 && x[i] <= x[j]) y = 1;"]
READS += ["n = x.shape[0];", "y = x[index[i]].y;", "y = a && x[i];", "y = x[i]\n  [j];", "return x[i] != 0 ? x[i] : 1;"]
READS += ["y = s; // x = 3", 'printf("x = %d", 3);', "adj_x[i] += 1;", "y = x [ (i + 1) ] ;", "", "y = x[i = 3];"]
WRITES = ["x[i] = 3;", "x[i] += y;", "x(i, j) -= y;", "x[i].y = 2;", "x[i][j] <<= 1;", "++x[i];", "x[i]++;", "x[i] --;"]
WRITES += ["atomicAdd(&x[i], 1);", "atomicAdd(x, 1);", "float *p = x;", "f(&x[i]);", "x.data[3] = 1;"]
WRITES += ["y = *(x.data + 3);", "x[i]\n  = y;", "other.x[i] = x[i];", "swap(x, y);", "s.x", "y = x[i] ^= 3;"]


@pytest.mark.parametrize("text", READS)
def test_reads_seem_constant(text):
    assert seems_constant(text, "x")


@pytest.mark.parametrize("text", WRITES)
def test_writes_and_whatever_may_be_one_do_not(text):
    assert not seems_constant(text, "x")


def test_names_are_whole_words_outside_comments():
    assert mentions("y = x[i];", "x")
    assert not mentions('adj_x[i] = xs[i]; /* x */ // x\nputs("x");', "x")


@pytest.mark.parametrize(
    "text, expected",
    [
        ("return x;", True),
        ("return(x);", True),
        ("return;", False),
        ("return ;", False),
        ("// return x;", False),
        ('puts("return x");', False),
        ("returned = x;", False),
    ],
)
def test_returns(text, expected):
    assert returns_value(text) == expected


def test_atomics():
    assert has_atomics("atomicAdd(&x[i], 1);") and has_atomics("std::atomic_ref r(x[i]);")
    assert not has_atomics("x[i] = subatomic(y); // atomicAdd(x, 1)")


def test_lambdas():
    assert has_lambda("auto f = [&](float a) { return a; };")
    assert has_lambda("auto f = [=] { return 1; };")
    assert not has_lambda("x[i] = 3;")

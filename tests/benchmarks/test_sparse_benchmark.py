"""The benchmark of sparse matrices: values agree with SciPy's, every task has its line."""

from benchmarks import sparse


def test_every_task_agrees_and_is_shown(capsys):
    sparse.main([2], rounds=1)
    lines = capsys.readouterr().out.splitlines()[2:]
    assert len(lines) == len(sparse.tasks(2)) and all(line.startswith("| 2 | 343 | ") for line in lines)

"""The watch over the test suite: what a test makes is assembled once, a refusal fails the test and is told."""

import pytest
import samples
from cuda_assembly.every_program import ARCHS, ONE_IN, Assembly, Report, usual_options

import warpsim as wp
from warpsim.core.emit.cuda import tools
from warpsim.core.emit.program import PRIMAL, Form, FormKind

pytestmark = [
    pytest.mark.cpu,
    pytest.mark.skipif(bool(tools.missing()), reason=f"without {', '.join(tools.missing())}"),
]

ADJOINT = Form(FormKind.ADJOINT, frozenset({"x", "y"}))


def fresh_kernel():
    """A kernel that nothing has compiled; each has the same program."""

    @wp.kernel
    def root(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = wp.sqrt(x[i]) * 3.0

    return root


@pytest.fixture
def watch(tmp_path):
    """Watches like a nightly run does, into a folder of its own, what is made anew: nothing comes from the disk."""
    wp.config.cache_kernels = False
    watch = Assembly(tmp_path, nightly=True)
    watch.watch()
    yield watch
    watch.unwatch()


def make(kernel, form=PRIMAL):
    return kernel.program(tuple(kernel.patterns.values()), form=form)


def line(watch):
    return Report(watch.folder, [], watch.nightly).line().rsplit(" (", 1)[0]


def test_a_kernel_and_its_adjoint_are_assembled_once_however_often_they_are_made(watch):
    for _ in range(2):
        kernel = fresh_kernel()
        make(kernel)
        make(kernel, ADJOINT)
        x, y = (wp.zeros(4, dtype=float, device="cpu") for _ in range(2))
        wp.launch(kernel, dim=4, inputs=[x, y], device="cpu")  # contiguous arrays: what `usual_options` says
        watch.assemble_all("test")
    assert line(watch) == (
        "CUDA: 1 kernels and 1 adjoints and other derived forms compiled and assembled "
        "for compute capability 9.0 and 12.0, 0 refused"
    )


def test_each_capability_gets_machine_code_of_its_own(watch):
    from warpsim.core.emit.cuda import cuda  # noqa: PLC0415  (needs the packages of the extra `cuda`)

    program = make(fresh_kernel())
    codes = cuda.machine_codes(program.fn, program.ndim, usual_options(program), program.plan, ARCHS)
    assert [c.code[:4] for c in codes] == [b"\x7fELF"] * len(ARCHS)
    assert len({c.code for c in codes}) == len(ARCHS)


def test_a_run_that_is_not_nightly_takes_one_capability_each_and_meets_all(tmp_path):
    watch = Assembly(tmp_path)
    chosen = {key: watch.archs(key) for key in map(str, range(64))}
    assert set(chosen.values()) == {(arch,) for arch in ARCHS}
    assert chosen == {key: Assembly(tmp_path).archs(key) for key in chosen}
    assert "9.0 or 12.0" in Report(tmp_path, []).line()


def test_a_run_that_is_not_nightly_takes_each_kernel_of_the_library_and_some_other_forms(tmp_path, monkeypatch):
    assembled = []
    monkeypatch.setattr("cuda_assembly.every_program.refusal", lambda *_: assembled.append(1) or "")
    keys = list(map(str, range(10 * ONE_IN)))
    chosen = [key for key in keys if samples.belongs(key, ONE_IN)]
    assert 5 < len(chosen) < 15 and keys[0] not in chosen

    def assemble_forms_of_a_kernel(folder):
        """How many of the forms, of which each has a key, become machine code."""
        folder.mkdir()
        watch, program = Assembly(folder), make(fresh_kernel())
        assembled.clear()
        for key in keys:
            monkeypatch.setattr("cuda_assembly.every_program.cache_key", lambda *_, key=key: key)
            watch.assemble(program, usual_options(program), "test")
        return len(assembled)

    assert assemble_forms_of_a_kernel(tmp_path / "own") == len(chosen)
    monkeypatch.setattr("cuda_assembly.every_program.TESTS", tmp_path)  # so that the kernel is of somewhere else
    assert assemble_forms_of_a_kernel(tmp_path / "library") == len(chosen) + 1


@pytest.mark.parametrize("refused", ["NVVM", "the assembler"])
def test_what_nvvm_or_the_assembler_refuses_fails_the_test(watch, monkeypatch, refused):
    from warpsim.core.emit.cuda import cuda, nvvm  # noqa: PLC0415  (needs the packages of the extra `cuda`)

    translated, ptx = cuda.emit_module, nvvm.ptx
    if refused == "NVVM":
        monkeypatch.setattr(cuda, "emit_module", lambda *a: [translated(*a)[0], "define void @f( {", 8])
    else:
        monkeypatch.setattr(nvvm, "ptx", lambda *a: ptx(*a).replace("sqrt.rn.f32", "sqrt.rough.f32"))
    make(fresh_kernel())
    words = rf"CUDA refuses kernel '[\w.]*root' .*: CompilerError: {refused} refuses"
    with pytest.raises(pytest.fail.Exception, match=words):
        watch.assemble_all("test")
    assert line(watch).startswith("CUDA: 0 kernels and 0 adjoints") and line(watch).endswith(" 1 refused")


@pytest.mark.parametrize("expected", ["sqrt.rough", "something else"])
def test_a_refusal_in_the_words_of_the_test_is_right_and_counted(watch, monkeypatch, expected):
    monkeypatch.setattr("cuda_assembly.every_program.refusal", lambda *_: "CUDA refuses sqrt.rough")
    watch.expected = expected
    make(fresh_kernel())
    if expected in "CUDA refuses sqrt.rough":
        watch.assemble_all("test")
        assert line(watch).endswith("0 refused, 1 not meant for CUDA")
    else:
        with pytest.raises(pytest.fail.Exception):
            watch.assemble_all("test")
        assert line(watch).endswith("1 refused")


def test_a_program_whose_assembly_ended_the_process_is_not_counted_as_assembled(watch, monkeypatch):
    def killed(*_):
        raise SystemExit

    monkeypatch.setattr("cuda_assembly.every_program.refusal", killed)
    make(fresh_kernel())
    with pytest.raises(SystemExit):
        watch.assemble_all("test")
    assert line(watch).startswith("CUDA: 0 kernels") and line(watch).endswith("1 unfinished")


def test_of_random_programs_every_nth_is_assembled_and_all_are_counted(watch):
    watch.one_in = 3
    for _ in range(4):
        kernel = fresh_kernel()
        make(kernel), make(kernel, ADJOINT)
    watch.assemble_all("test")
    assert line(watch).endswith("0 refused, among them 3 of 8 random programs")


def test_an_honest_line_where_packages_are_missing(tmp_path):
    said = Report(tmp_path, ["nvidia-nvvm"]).line()
    assert said == "CUDA: nothing is assembled, nvidia-nvvm is missing; pip install 'warpsim[cuda]'"

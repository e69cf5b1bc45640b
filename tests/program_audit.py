"""Every program that a test loads from the disk is translated as well, and compared.

So whatever the suite varies (constants, closures, functions that are defined again, gradients, structs) is tried
against programs that other tests, other workers and earlier runs with the same cache have left.
"""

from warpsim.core.ir.printer import print_function
from warpsim.core.runtime.launches import programs

_adopt = programs.adopt


def start():
    """Compare from now on."""
    programs.adopt = adopt


def adopt(kernel, recipe, entry):
    """As `programs.adopt`; fails where the disk has another program than the front end makes."""
    program = _adopt(kernel, recipe, entry)
    stored, translated = facts(program), facts(programs.translate(kernel, recipe))
    assert stored == translated, f"{kernel.key} on disk is another"
    return program


def facts(program):
    """What can be compared of a program, whose values are objects of their own."""
    parts = () if program.gathered is None else (program.gathered.fn, program.gathered.rest)
    texts = [print_function(fn) for fn in parts if fn is not None]
    extras = [(type(extra).__name__, str(extra)) for extra in program.extras]
    uses = program.uses.table(program.fn, program.own)
    known = program.nanoseconds, program.handle_params, program.has_own_gradients
    return program.text, texts, program.ndim, extras, uses, known

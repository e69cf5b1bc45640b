"""Public attributes replaced, shrunk, emptied and filled with numbers out of range, before their owner is used.

`python tests/replaced_attributes.py SEED CALLS [FIRST]` makes one batch in this process. Owners are one object of every
public structure, model, state, solver and optimiser (`OWNERS`); their attributes are found by reflection, those of
objects that they hold as well, so that a new attribute is reached by itself. A call replaces one or two attributes,
and then uses the owner in every way it has.

What may happen: an exception that warpsim raises on purpose, or what the owner gives without the change. Contents that
fit their array may change results, but not end the process. Everything else is printed as a line of JSON: an exception
of another kind ("raised"), other results ("differs"), or the end of the process, which the parent sees ("ended").
"""

import faulthandler
import gc
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import numpy as np
from attribute_owners import FREE, HUGE, INNER, KEPT, OWNERS, Afloat, Scene
from body_owners import Pushing, Tumbling

import warpsim as wp
from warpsim.core.runtime.launches.launcher import LaunchCall
from warpsim.errors import CompilerError, WarpsimError

SECONDS = 60

# ----- attributes -----------------------------------------------------------------------------------


def attributes(owner, prefix="", depth=3, seen=None):
    """Paths of public attributes, of those of warpsim's objects among them as well, and the object that has each."""
    seen = {id(owner)} if seen is None else seen
    names = {n for n in getattr(owner, "__dict__", ()) if not n.startswith("_")}
    names |= {n for n in dir(type(owner)) if not n.startswith("_") and is_data(type(owner), n)}
    for name in sorted(names):
        try:
            value = getattr(owner, name)
        except Exception:  # of a property that has no value now
            continue
        if type(owner) not in (Scene, Afloat, Tumbling, Pushing):
            yield f"{prefix}{name}", owner, name, value
        for part, path in parts(value, f"{prefix}{name}"):
            ours = type(part).__module__.partition(".")[0] in ("warpsim", "attribute_owners")
            if depth and ours and not isinstance(part, type | wp.array) and id(part) not in seen and is_object(part):
                seen.add(id(part))
                yield from attributes(part, path + ".", depth - 1, seen)


def parts(value, path):
    if isinstance(value, dict):
        return [(v, f"{path}[{k!r}]") for k, v in value.items()]
    if isinstance(value, list | tuple) and not isinstance(value, LaunchCall):  # whose launcher all launches share
        return [(v, f"{path}[{k}]") for k, v in enumerate(value[:3])]
    return [(value, path)]


def is_object(value):
    return hasattr(value, "__dict__") and not callable(value) and not isinstance(value, wp.Device | wp.Kernel)


def is_data(kind, name):
    static = next((vars(c)[name] for c in kind.__mro__ if name in vars(c)), None)
    return isinstance(static, property) or type(static).__name__ in ("member_descriptor", "getset_descriptor")


WORK = {"Particles", "Rows", "VerletList", "CellSort", "ClusterList", "Serpentine"}
"""What solvers write in every few steps: numbers of particles there are theirs, their contents are left alone."""


def replacements(value, holder=None):
    """What to put in the place of a value that a holder has: (name, function of the value)."""
    anything = [
        ("None", lambda v: None),
        ("text", lambda v: "x"),
        ("object", lambda v: object()),
        ("list", lambda v: []),
        ("deleted", lambda v: DELETED),
    ]
    if isinstance(value, wp.array):
        anything += [
            ("shorter", lambda v: resized(v, 0.5)),
            ("empty", lambda v: resized(v, 0.0)),
            ("longer", lambda v: resized(v, 2.0)),
            ("another dtype", lambda v: wp.zeros(v.shape, dtype=wp.uint8)),
            ("wider dtype", lambda v: wp.zeros(v.shape, dtype=wp.mat44d)),
            ("a row more", lambda v: raised(v)),
            ("another device", lambda v: wp.clone(v, device="interp")),
            ("NumPy", lambda v: v.numpy().copy()),
            ("strided", strided),
            ("equal", lambda v: wp.clone(v)),
            ("indexed", lambda v: v[[0] * v.shape[0]]),
        ]
        if type(holder).__name__ not in WORK:
            anything += [
                ("out of range", lambda v: filled(v, HUGE)),
                ("negative", lambda v: filled(v, -HUGE)),
                ("falling", falling),
            ]
    elif isinstance(value, bool | int | float | np.number):
        numbers = (0, -1, 1, 2, 7, HUGE, 2**70, -HUGE, 1e300, math.nan, math.inf)
        anything += [(str(n), lambda v, n=n: n) for n in numbers]
    elif type(value) in (list, tuple, dict):
        anything += [("emptied", lambda v: type(v)()), ("halved", halved), ("repeated", lambda v: [*v, *v])]
    return anything


DELETED = object()
CONTENTS = {"out of range", "negative", "falling"}
OPTIONAL = {"velocities", "solver.substeps", "coupling.matter[0].substeps"}  # None: there are none, or choose them
"""Changes of contents: results may be others."""


def resized(a, by):
    shape = (int(a.shape[0] * by), *a.shape[1:])
    return wp.zeros(shape, dtype=a.dtype, device=a.device)


def raised(a):
    return wp.zeros((1, *a.shape)[:4], dtype=a.dtype, device=a.device)


def strided(a):
    wide = wp.zeros((2 * a.shape[0], *a.shape[1:]), dtype=a.dtype, device=a.device)
    part = wide[::2]
    if a.size:
        part.assign(a)
    return part


def filled(a, number):
    """The array itself, with numbers that name nothing, or are not finite."""
    memory = a.numpy()
    if not memory.flags.writeable:
        return a
    if memory.dtype.kind in "iu":
        memory[...] = np.array(number).astype(memory.dtype)
    elif memory.dtype.kind == "f":
        memory[...] = math.nan if number > 0 else number
    return a


def falling(a):
    memory = a.numpy()
    if memory.dtype.kind in "iu" and memory.flags.writeable:
        memory[...] = memory[::-1].copy()
    return a


def halved(v):
    kept = list(v.items() if isinstance(v, dict) else v)[: len(v) // 2]
    return type(v)(kept)


# ----- calls ----------------------------------------------------------------------------------------


def inside(error):
    frames = traceback.extract_tb(error.__traceback__)
    return os.path.dirname(wp.__file__) in frames[-1].filename if frames else False


def on_purpose(error):
    """Whether a line of warpsim raised an exception with words of its own."""
    if isinstance(error, WarpsimError):
        return not isinstance(error, CompilerError)
    frames = traceback.extract_tb(error.__traceback__)
    raised = frames and "raise " in (frames[-1].line or "")
    return bool(raised and inside(error)) or isinstance(error, MemoryError)


def equal(a, b):
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    if np.asarray(a).dtype.kind != "f":
        return np.array_equal(a, b)
    # Another layout is another program, which may round otherwise.
    return np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-6, atol=1e-15, equal_nan=True)


def change(owner, path, how):
    """Replace an attribute. Returns the exception of that, if it was refused."""
    for found, holder, name, value in attributes(owner):
        if found == path:
            new = dict(replacements(value, holder)).get(how, lambda v: v)(value)  # its kind may be another one now
            if new is value:
                return None
            try:
                delattr(holder, name) if new is DELETED else setattr(holder, name, new)
            except Exception as error:  # Python refuses to set a property in words of its own
                return error
            return None
    return KeyError(path)


class Caller:
    """Makes calls from a seed."""

    def __init__(self, seed, names=()):
        self.random = random.Random(seed)
        self.names = sorted(names or OWNERS)
        self.known, self.right = {}, {}

    def choices(self, name):
        """All (path, change) of an owner."""
        if name not in self.known:
            make = OWNERS[name][0]
            self.known[name] = [
                (p, how) for p, holder, _, value in attributes(make()) for how, _ in replacements(value, holder)
            ]
        return self.known[name]

    def one(self):
        name = self.random.choice(self.names)
        count = 1 if self.random.random() < 0.7 else 2
        return name, [self.random.choice(self.choices(name)) for _ in range(count)]

    def outcome(self, name, changes):
        """What became of a call: a word, and what there is to say about it."""
        make, use = OWNERS[name]
        if name not in self.right:
            self.right[name] = use(make())
        owner, refused = make(), 0
        for path, how in changes:
            error = change(owner, path, how)
            refused += error is not None
            if error is not None and not isinstance(error, (AttributeError, KeyError)) and not on_purpose(error):
                return "raised", described(error)
        try:
            result = use(owner)
        except Exception as error:
            gone = isinstance(error, AttributeError) and any(how == "deleted" for _, how in changes)
            if gone or on_purpose(error):
                return "refused", ""
            return ("inner", "") if name in INNER else ("raised", described(error))
        if equal(result, self.right[name]):
            return ("refused" if refused else "same"), ""
        numbers = any(p in OPTIONAL or how in CONTENTS or not is_layout(how) for p, how in changes)
        numbers |= len(dict(changes)) < len(changes)  # twice as long and then half: of its length, and zero
        return ("changed", "") if numbers or name in FREE | INNER else ("differs", "")


def is_layout(how):
    arrays = {"shorter", "empty", "longer", "another dtype", "wider dtype", "a row more", "another device"}
    return how in arrays | {"NumPy", "strided", "equal", "None", "text", "object", "list", "deleted"}


def described(error):
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    at = [f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in frames]
    return f"{type(error).__name__}: {' '.join(str(error).split())[:100]} {at}"


def batch(seed, count, first=0):
    """Make the calls of a seed from a number on; print failures at once and counts at the end."""
    os.chdir(tempfile.mkdtemp(prefix="warpsim-attributes-"))
    names = [n for n in os.environ.get("OWNERS", "").split(",") if n]
    caller = Caller(seed, names)
    counts = {}
    output = os.fdopen(os.dup(1), "w")
    for k in range(count):
        name, changes = caller.one()
        if k < first:
            continue
        print(json.dumps({"call": k, "text": f"{name} {changes}"}), file=output, flush=True)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        word, said = caller.outcome(name, changes)
        faulthandler.cancel_dump_traceback_later()
        counts[word] = counts.get(word, 0) + 1
        if word in ("raised", "differs"):
            failure = {"failed": word, "seed": seed, "number": k, "text": f"{name} {changes}", "at": said}
            print(json.dumps(failure), file=output, flush=True)
        if k % 50 == 0:
            gc.collect()
            KEPT.clear()
    print(json.dumps({"counts": counts}), file=output, flush=True)


def run(seed, count, seconds=600):
    """A batch in processes of its own, another one after each that ends early: (counts, failures)."""
    totals, failures, first = {}, [], 0
    while first < count:
        command = [sys.executable, "-X", "faulthandler", __file__, str(seed), str(count), str(first)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        failures += [line for line in lines if "failed" in line]
        counts = next((line["counts"] for line in lines if "counts" in line), None)
        if counts is not None:
            for word, number in counts.items():
                totals[word] = totals.get(word, 0) + number
            break
        last = next((line for line in reversed(lines) if "call" in line), None)
        end = {"failed": "ended", "code": done.returncode, "seed": seed, "at": done.stderr[-1500:]}
        failures.append({**end, "number": last and last["call"], "text": last and last["text"]})
        totals["ended"] = totals.get("ended", 0) + 1
        if last is None:
            break
        first = last["call"] + 1
    return totals, failures


if __name__ == "__main__":
    batch(*map(int, sys.argv[1:]))

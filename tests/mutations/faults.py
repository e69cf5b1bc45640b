"""Mutations: deliberate faults in the adjoint, the analyses, the tape, graphs, launches and solvers, and what notices
them.

A fault is a change of one place of the package, as subtle as a slip in writing. The tests that it names fail once it
is there, so tests that are rewritten keep their power as long as they do: `python tests/mutations/mutate.py`.
"""

from __future__ import annotations

from typing import NamedTuple

RANDOM = "gradients/test_random_programs.py"
MIXED = "gradients/test_mixed_programs.py"
SUBSETS = "gradients/test_gradient_subsets.py"
STENCILS = "gradients/test_stencil_gradients.py::test_random_stencils_gather_what_they_scatter"
TAPES = "core/runtime/tape/test_tape_random.py"
GRAPHS = "core/runtime/tape/test_graph_tapes.py::test_random_programs"
UNSEEN = "gradients/test_unseen_writes.py"
EXPORTS = "core/runtime/arrays/test_exports.py::test_every_write_changes_the_checksum"
FUSION = "core/runtime/steps/test_fusion.py"
IMPACTS = "solvers/test_xpbd_several_impacts.py"


class Fault(NamedTuple):
    """One place of the package as it is and as it would be wrong.

    file: in the package. noticed_by: test files under `tests`, or tests in them, each of which fails.
    """

    name: str
    file: str
    old: str
    new: str
    noticed_by: tuple[str, ...]


FAULTS = (
    # ----- reverse ------------------------------------------------------------------------------
    Fault(
        "a contribution takes the place of those before it", "core/passes/reverse/cotangents.py",
        "self[value] = accumulate(self[value], contribution) if value in self else contribution",
        "self[value] = contribution", (SUBSETS, MIXED, RANDOM),
    ),
    Fault(
        "what only the other arm of a branch contributes is lost", "core/passes/reverse/adjoint.py",
        "outer = [v for v in known if any(v in inner for inner in cotangents_of_arms)]",
        "outer = [v for v in known if v in cotangents_of_arms[0]]", (SUBSETS, RANDOM),
    ),
    Fault(
        "a checkpoint of a long loop is labelled with the block before it", "core/passes/reverse/adjoint_loops.py",
        "checkpoints.put(top + 1, at + far, then)", "checkpoints.put(top + 1, at, then)",
        ("gradients/test_long_loops.py",),
    ),
    Fault(
        "threads that gather forget the border below", "core/passes/reverse/adjoint_stencils.py",
        'exists = TABLE["bit_and"](exists, TABLE["ge"](thread[-1], 0))',
        'exists = TABLE["bit_and"](exists, TABLE["ge"](thread[-1], -1))', (STENCILS,),
    ),
    Fault(
        "a dual that only the other arm has is lost", "core/passes/forward/duals.py",
        "shape = [union_of_paths(r.type, list(pair)) for r, *pair in zip(node.results, *sides, strict=True)]",
        "shape = [union_of_paths(r.type, pair[:1]) for r, *pair in zip(node.results, *sides, strict=True)]",
        ("core/passes/forward/test_tangent.py",),
    ),
    # ----- analyses -----------------------------------------------------------------------------
    Fault(
        "indices of unknown sign are compared as if both counted from the same end",
        "core/passes/analysis/dependence.py", "return self.trusting or (a == b and a != 0)",
        "return self.trusting or a == b", ("core/passes/analysis/test_dependence.py",),
    ),
    Fault(
        "an iteration ahead is taken for one behind", "core/passes/analysis/dependence.py",
        "return both if ahead == 0 else {BEFORE} if ahead > 0 else {AFTER}",
        "return both if ahead == 0 else {AFTER} if ahead > 0 else {BEFORE}",
        ("core/passes/analysis/test_dependence.py",),
    ),
    Fault(
        "where two arms meet only the arrays of the first count", "core/passes/analysis/alias.py",
        "self.points_to[target] = self.union(tuple(values))", "self.points_to[target] = self.union(tuple(values[:1]))",
        ("core/passes/analysis/test_alias.py",),
    ),
    Fault(
        "what one arm of a branch has computed counts as known in the other", "core/passes/simplify/cse.py",
        "outer, self.known = self.known, ChainMap({}, self.known)", "outer = self.known",
        ("core/passes/simplify/test_cse.py",),
    ),
    Fault(
        "what is neutral on one side of an operator is dropped on the other too", "core/passes/simplify/fold.py",
        "for a, b in (args, args[::-1]) if either_side else (args,):", "for a, b in (args, args[::-1]):",
        ("core/passes/simplify/test_fold.py",),
    ),
    Fault(
        "a remainder takes the sign of the divisor", "core/passes/analysis/intervals.py",
        "return Interval(max(min(a.lo, 0), -largest), min(max(a.hi, 0), largest), min(a.bits, b.bits))",
        "return Interval(0, largest, min(a.bits, b.bits))", ("core/passes/analysis/test_ranges.py",),
    ),
    # ----- tape ---------------------------------------------------------------------------------
    Fault(
        "a launch does not save what it overwrites", "core/runtime/tape/recording.py",
        "        memory.overwrite(a, a._data, tapes, writer)\n", "        pass\n", (TAPES,),
    ),
    Fault(
        "saved contents stand in for others than the argument they were read from",
        "core/runtime/tape/adjoint_launch.py",
        "pairs = zip(entry.record.saved, entry.reads or (), strict=True)\n    return",
        "pairs = zip(entry.record.saved[1:], entry.reads or (), strict=False)\n    return", (TAPES,),
    ),
    Fault(
        "an unseen write counts for arrays alone that it may have changed altogether",
        "core/runtime/tape/unseen_writes.py",
        "return a._memory is write.memory and write.addresses.meets(range_of(a))",
        "return a._memory is write.memory and write.addresses.covers(range_of(a))", (UNSEEN,),
    ),
    Fault(
        "a checksum sums words whose upper and lower sign bits cancel", "core/runtime/arrays/exports.py",
        "_SHIFT = np.uint64(31)", "_SHIFT = np.uint64(32)", (EXPORTS,),
    ),
    Fault(
        "a checksum sums words as they are", "core/runtime/arrays/exports.py",
        "        mixed ^= block\n", "        mixed = block.copy()\n", (EXPORTS,),
    ),
    Fault(
        "a checksum has one factor for all places", "core/runtime/arrays/exports.py",
        "mixed *= odd[: block.size]", "mixed *= odd[0]", (EXPORTS,),
    ),
    Fault(
        "an array that was read before counts as a parameter when it is set", "core/runtime/tape/constants.py",
        "                earlier.append(use.array)\n                read = (entry, use)",
        "                read = (entry, use)", (GRAPHS,),
    ),
    Fault(
        "gradients that the last pass left are not cleared", "core/runtime/tape/tape.py",
        "g._data.fill(0)  # what `zero_` comes down to", "pass", ("core/runtime/arrays/test_seeds.py",),
    ),
    Fault(
        "a loop with checkpoints restores all of the state but its last array", "core/runtime/rollout/rollout.py",
        "self.state, strict=True):\n            np.copyto(a._data, slot)",
        "self.state[:-1], strict=False):\n            np.copyto(a._data, slot)",
        ("core/runtime/rollout/test_checkpoint_steps.py",),
    ),
    # ----- graphs and launches ------------------------------------------------------------------
    Fault(
        "launches are fused though the second reads elements of other threads", "core/runtime/steps/fusion.py",
        "return self[:3] != other[:3] or len({axis for axis, _ in self.own & other.own}) < ndim",
        "return self[:3] != other[:3]", (FUSION,),
    ),
    Fault(
        "a graph leaves out the last of the commands that run together", "core/runtime/steps/batches.py",
        "pool.get_pool().run(self.packed, self.count)", "pool.get_pool().run(self.packed, max(1, self.count - 1))",
        ("core/runtime/commands/test_graph.py",),
    ),
    Fault(
        "elements of a thread's own that two arrays share count as apart",
        "core/runtime/launches/private_sums.py",
        "return any_meet(map(range_of, arrays))", "return False",
        ("core/runtime/launches/test_private_sums.py",),
    ),
    # ----- solvers ------------------------------------------------------------------------------
    Fault(
        "a pair of particles takes the share of each one's own contacts", "solvers/xpbd/self_contact.py",
        "return 1.0 / like.dtype(max(near.touching[i], near.touching[j]))",
        "return 1.0 / like.dtype(max(near.touching[i], 1))",
        (f"{IMPACTS}::test_a_ball_that_hits_two_keeps_momentum_and_makes_no_energy",),
    ),
    Fault(
        "the third shape that a particle meets takes the place of the second", "solvers/xpbd/hits.py",
        "                slot = 2\n        return slot", "                slot = 1\n        return slot",
        (f"{IMPACTS}::test_the_corner_of_a_room_turns_three_velocities_round",),
    ),
    Fault(
        "balls of different bodies that start in touch count as neighbours", "solvers/contact/bodies.py",
        "least = APART * touch", "least = touch / APART",
        ("solvers/test_xpbd_pairs.py::test_a_ball_rests_on_another_whether_they_touch_as_they_start",),
    ),
    Fault(
        "a corner that comes from afar is not fast", "solvers/contact/surface_contacts.py",
        "if length(face_gap(q[i], q[a], q[b], q[c])) < dt * speed + slack(touch, margin):",
        "if length(face_gap(q[i], q[a], q[b], q[c])) < slack(touch, margin):",
        ("solvers/test_xpbd_swept_surfaces.py::test_a_corner_that_begins_and_ends_beside_a_triangle_is_stopped_on_it",),
    ),
    Fault(
        "gravity asks for half of the substeps", "solvers/xpbd/substeps.py",
        "sag = 2.0 * fall * dt / (self._cell * options.strain)", "sag = fall * dt / (self._cell * options.strain)",
        ("solvers/test_xpbd_auto_substeps.py::test_gravity_asks_for_substeps_and_says_so",),
    ),
    Fault(
        "fluid stops a gap behind the surface of a wall and not before it", "solvers/sph/barriers.py",
        "for f in (reach, GAP, DEEP)", "for f in (reach, -GAP, DEEP)",
        ("solvers/sph/test_sph_walls.py::test_a_plate_of_a_fifth_of_a_spacing_stops_what_it_meets",),
    ),
)  # fmt: skip

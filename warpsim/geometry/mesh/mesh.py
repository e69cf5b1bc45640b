"""`Mesh`: triangles that kernels ask for closest points, ray hits and overlaps by an id."""

from __future__ import annotations


from ...arguments import checked
from ...core.language import Kernel, array, empty, float32, int32, launch, vec3, zeros
from ...core.runtime.arrays import saved_contents
from ...core.runtime.arrays.fixed import Fixed, PrivateCopy
from ...core.runtime.arrays.notebook import table
from ...core.runtime.devices.unique import Unique
from ...core.runtime.launches.handles import Handle
from ...errors import MeshError, counted
from ..bvh.build import check_not_captured
from ..bvh.constructors import CONSTRUCTORS, construct
from ..bvh.nodes import MAX_LEAF
from ..bvh.refit import fill_nodes
from .data import MeshData, TrianglePack, WindingMoments
from .pack import average_edges, bound_faces, gather_vertices, out_of_range, pack_triangles, widen_leaves
from .winding import leaf_moments, node_moments


class Mesh(Fixed, Unique):
    """A triangle mesh. `id` is what kernels are given.

    points: positions of vertices, array of vec3. indices: three vertices per face, array of 3 * faces int32,
    counter-clockwise seen from outside. velocities: of vertices, array of vec3, for `mesh_eval_velocity`.
    support_winding_number: prepare `mesh_query_point_sign_winding_number`. bvh_constructor: how the tree over the
    faces is built, as of `Bvh`: None is "lbvh" on CUDA and "sah" elsewhere. groups: (faces,) int32; queries along rays
    can then look at the faces of one group alone, see `mesh_get_group_root`.

    The arrays stay those of the caller: after writing to `points`, call `refit`; after writing to `indices`, which the
    tree has a copy of, `rebuild`. Gradients with respect to
    vertices and velocities arrive in `points.grad` and `velocities.grad`. Points that are not finite are allowed:
    faces that use them are not found by any query. A mesh may have no faces.

    Lengths of edges should be between 1e-8 and 1e9, see `mesh_query_point_no_sign` and `mesh_query_sphere`.

    Raises `MeshError` for arrays of the wrong type, shape or device, and for indices out of range, here and in
    `rebuild`, `LaunchError` while a graph is captured: there, only `refit` is possible. What is asked of a closed mesh
    raises `StructureIdError`.
    """

    @checked
    def __init__(
        self,
        points: array,
        indices: array,
        velocities: array | None = None,
        support_winding_number: bool = False,
        bvh_constructor: str | None = None,
        bvh_leaf_size: int | None = None,
        groups: array | None = None,
    ):
        check_not_captured("Mesh(...)")
        _check_points(points, "points")
        _check_indices(indices, points)
        if velocities is not None:
            _check_points(velocities, "velocities", like=points)
        if bvh_constructor not in CONSTRUCTORS:
            raise MeshError(f"bvh_constructor is {bvh_constructor!r}\nexpected: one of {CONSTRUCTORS}")
        if bvh_leaf_size is not None and not 1 <= bvh_leaf_size <= MAX_LEAF:
            raise MeshError(f"bvh_leaf_size is {bvh_leaf_size}\nexpected: 1 to {MAX_LEAF}, or None")
        if groups is not None:
            _check_groups(groups, indices)
        self.device = points.device
        self.groups = groups
        self.support_winding_number = support_winding_number
        self._points, self._indices, self._velocities = points, indices, velocities
        self.bvh_leaf_size, self.bvh_constructor = bvh_leaf_size or MAX_LEAF, bvh_constructor
        self._handle = Handle(self._build(), device=self.device)

    @property
    def id(self) -> int:
        """The 64-bit number that kernels take as `wp.uint64`. Raises `StructureIdError` once closed."""
        return self._handle.id

    @property
    def points(self) -> array:
        """Positions of vertices. Assigning an array of the same shape refits the mesh to it."""
        return self._points

    @points.setter
    def points(self, points: array) -> None:
        _check_points(points, "points", like=self._points)
        self._refit(points)
        self._points = points

    @property
    def indices(self) -> array:
        """Three vertices per face, as `rebuild` reads them; kernels see those that the tree was built over."""
        return self._indices

    @property
    def topology(self) -> array:
        """The copy of `indices` that the tree was built over and kernels see."""
        indices: array = self._handle.data.indices
        return indices

    @property
    def velocities(self) -> array | None:
        """Velocities of vertices, or None. Nothing else depends on them."""
        return self._velocities

    @velocities.setter
    def velocities(self, velocities: array | None) -> None:
        if velocities is not None:
            _check_points(velocities, "velocities", like=self._points)
        new = self._velocities_or_none(velocities)
        self._handle.update(_copy_with(self._handle.data, velocities=new))
        self._velocities = velocities

    @property
    def face_count(self) -> int:
        """How many triangles there are, those that no query can find included."""
        return self._indices.size // 3

    def refit(self) -> None:
        """Follow changes of `points`; the tree keeps its shape. After large changes, `rebuild` makes queries faster.

        Faces that were found by no query when the tree was built, because a corner was not finite, stay so.
        A tape keeps what queries that it has recorded looked at. In loops with checkpoints: `scratch=[mesh]`.
        Raises `MeshError` where `indices` are found to have changed since: of large ones a part is looked at each time.
        """
        self._refit(self._points)

    def rebuild(self) -> None:
        """Build the tree over again from the present points and indices.

        Raises `MeshError` for indices out of range, `LaunchError` while a graph is captured, `CheckpointError` in steps
        of loops with checkpoints: `refit` is for both.
        """
        check_not_captured("Mesh.rebuild()")
        _ = self._handle.data  # nothing is built for a closed mesh
        _check_range(self._indices, self._points.size)
        self._handle.note_replaced("Mesh.rebuild()", "mesh.refit(), or make a new Mesh in the step")
        self._handle.update(self._build())

    def own_arrays(self) -> list[array]:
        """The arrays that a refit fills, for loops with checkpoints."""
        data = self._handle.data
        return [data.tree.nodes, data.packs, data.moments, data.average_edge]

    def close(self) -> None:
        """End the mesh: its id stands for a mesh without faces from now on."""
        self._handle.close()

    def _refit(self, points: array) -> None:
        """Follow `points`."""
        self._check_same_faces()
        data = _copy_with(self._handle.data, points=points)
        self._handle.note_filled(self.own_arrays())
        self._fill(data)
        self._handle.update(data)

    def _build(self) -> MeshData:
        """The structure for the present points, from nothing."""
        n, device = self.face_count, self.device
        self._faces = PrivateCopy(self._indices)
        indices = self._faces.array
        lowers, uppers = empty(n, vec3, device), empty(n, vec3, device)
        _run(bound_faces, n, self._points, indices, lowers, uppers)
        built, groups, roots = construct(self.bvh_constructor, lowers, uppers, self.bvh_leaf_size, self.groups)
        with saved_contents.Paused():  # nothing in it that a tape could need
            tree, self._owners = widen_leaves(built.tree)
        self._stages = built.stages
        self._vertices = empty(3 * tree.items.size, int32, device)
        _run(gather_vertices, tree.items.size, indices, tree.items, self._vertices)
        moments = 4 * tree.nodes.size if self.support_winding_number else 0
        data = MeshData(
            points=self._points,
            velocities=self._velocities_or_none(self._velocities),
            indices=indices,
            tree=tree,
            packs=empty(self._owners.size, TrianglePack, device),
            moments=zeros(moments, WindingMoments, device),
            groups=groups,
            roots=roots,
            average_edge=zeros(1, float32, device),
        )
        self._fill(data)
        return data

    def _fill(self, data: MeshData) -> None:
        """Write what depends on the positions of points: packs, boxes, moments."""
        nodes, leaves = data.tree.nodes, self._owners.size
        edges = empty(leaves, float32, self.device)
        _run(pack_triangles, leaves, data.points, self._vertices, self._owners, data.packs, nodes, edges)
        for stage in self._stages:
            _run(fill_nodes, stage.size - 1, nodes, stage)
        if data.moments.size:
            _run(leaf_moments, leaves, data, self._owners, data.moments)
            for stage in self._stages:
                _run(node_moments, stage.size - 1, data, data.moments, stage)
        average_edges(edges, self.face_count, data.average_edge)

    def _check_same_faces(self) -> None:
        """Raise `MeshError` where the caller's indices are found not to be those of the tree any more."""
        if not self._faces.matches(self._indices):
            _check_range(self._indices, self._points.size)
            raise MeshError("indices of a mesh changed since its tree was built\nhelp: mesh.rebuild()")

    def _velocities_or_none(self, velocities: array | None) -> array:
        return zeros(0, vec3, self.device) if velocities is None else velocities

    def __repr__(self) -> str:
        return f"<Mesh of {self._points.size} points, {self.face_count} faces on {self.device}>"

    def _repr_html_(self) -> str:
        """What Jupyter shows."""
        points = self._points._contents()
        low, high = (f(axis=0).tolist() if points.size else "nothing" for f in (points.min, points.max))
        facts = {"points": len(points), "faces": self.face_count, "from": low, "to": high, "device": self.device}
        return table("Mesh", facts)


def _copy_with(data: MeshData, **changes: object) -> MeshData:
    """A copy, because recorded launches hold the struct as it was."""
    return MeshData(**{name: getattr(data, name) for name in MeshData.fields} | changes)


def _run(kernel: Kernel, count: int, *args: object) -> None:
    """Launch behind the back of tapes: what is derived from the points for searches has no gradient."""
    if count:
        device = next(a.device for a in args if isinstance(a, array))
        launch(kernel, count, args, device=device, record_tape=False)


def _check_points(points: array, name: str, like: array | None = None) -> None:
    """Raise unless `points` is an array of vec3, as long as `like`."""
    if not isinstance(points, array) or points.dtype is not vec3 or points.ndim != 1:
        shown = getattr(points, "type", type(points).__name__)
        raise MeshError(f"{name} of a mesh: {shown}\nexpected: an array of vec3 with one dimension")
    if like is not None and (points.shape != like.shape or points.device != like.device):
        raise MeshError(
            f"{name} of a mesh: {points.size} on {points.device}\nexpected: {like.size} on {like.device}, as its points"
        )


def _check_groups(groups: array, indices: array) -> None:
    """Raise unless there is a number for every face."""
    fits = isinstance(groups, array) and groups.dtype is int32 and groups.ndim == 1
    if not fits or 3 * groups.size != indices.size or groups.device != indices.device:
        raise MeshError(
            f"groups of a mesh: {groups!r}\nexpected: an array of int32, "
            f"one for each of {counted(indices.size // 3, 'face')}, on {indices.device}"
        )


def _check_indices(indices: array, points: array) -> None:
    """Raise unless `indices` holds three numbers of points per face."""
    if not isinstance(indices, array) or indices.dtype is not int32 or indices.ndim != 1:
        shown = getattr(indices, "type", type(indices).__name__)
        raise MeshError(f"indices of a mesh: {shown}\nexpected: an array of int32 with one dimension, three per face")
    if indices.size % 3 or indices.device != points.device:
        raise MeshError(
            f"indices of a mesh: {indices.size} on {indices.device}\n"
            f"expected: three per face, on {points.device} as its points"
        )
    _check_range(indices, points.size)


def _check_range(indices: array, points: int) -> None:
    """Raise for an index that is no number of a point."""
    wrong, at = out_of_range(indices, points)
    if wrong:
        raise MeshError(
            f"indices[{at}] of a mesh (face {at // 3}) is {indices[at : at + 1].numpy()[0]}\n"
            f"expected: 0 to {points - 1}, a number of a point\n"
            f"help: {wrong} of {indices.size} indices are out of range; do they count from 1?"
        )

"""Pictures without a display: ray-cast triangle meshes and balls, one panel per moment, as a PNG; charts
of results beside them.

Needs `matplotlib`.  Nothing here touches pyplot or any other state of the process.
"""

from warpsim.plot.charts import Curves, Field, Image, Points, Stack, render_charts
from warpsim.plot.maps import Faces, Links
from warpsim.plot.picture import mesh_images, render_meshes
from warpsim.plot.scene import Balls, PlotError, Surface, sphere
from warpsim.plot.shapes import box, box_edges, coil, copies, height_field, loft, trails, tube, tubes

__all__ = ["Balls", "Curves", "Faces", "Field", "Image", "Links", "PlotError", "Points", "Stack", "Surface"]
__all__ += ["box", "box_edges", "coil", "copies", "height_field", "loft", "mesh_images", "render_charts"]
__all__ += ["render_meshes", "sphere", "trails", "tube", "tubes"]

"""Structs in structs, arrays in structs, arrays of structs, and what they hold on the host."""

import numpy as np
import warp as wp


@wp.struct
class Material:
    young: float
    poisson: float
    color: wp.vec3


@wp.struct
class Node:
    x: wp.vec3
    v: wp.vec3
    mat: Material
    id: int


@wp.struct
class Net:
    nodes: wp.array(dtype=Node)
    edges: wp.array(dtype=int, ndim=2)
    weights: wp.array(dtype=float)
    origin: wp.transform
    R: wp.mat33
    count: int


@wp.func
def lame(m: Material):
    mu = m.young / (2.0 * (1.0 + m.poisson))
    lam = m.young * m.poisson / ((1.0 + m.poisson) * (1.0 - 2.0 * m.poisson))
    return mu, lam


@wp.func
def make_material(y: float, p: float) -> Material:
    m = Material()
    m.young = y
    m.poisson = p
    m.color = wp.vec3(y, p, 0.5)
    return m


@wp.kernel
def init(net: Net):
    i = wp.tid()
    n = Node()
    n.x = wp.transform_point(net.origin, wp.vec3(float(i), 0.0, 1.0))
    n.v = net.R * n.x
    n.mat = make_material(100.0 + float(i), 0.25)
    n.id = i
    net.nodes[i] = n


@wp.kernel
def energy(net: Net, out: wp.array(dtype=float)):
    e = wp.tid()
    a = net.edges[e, 0]
    b = net.edges[e, 1]
    d = net.nodes[a].x - net.nodes[b].x
    mu, lam = lame(net.nodes[a].mat)
    net.nodes[b].mat.color[1] = mu
    net.nodes[a].v.y += 1.0
    out[e] = net.weights[e] * wp.length(d) * mu + lam


net = Net()
n = 5
net.nodes = wp.zeros(n, dtype=Node)
net.edges = wp.array(np.array([[0, 1], [1, 2], [2, 3], [3, 4]]), dtype=int)
net.weights = wp.array([1.0, 2.0, 3.0, 4.0], dtype=float, requires_grad=True)
net.origin = wp.transform(wp.vec3(1.0, 2.0, 3.0), wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), 0.3))
net.R = wp.mat33(0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0)
net.count = n
wp.launch(init, dim=n, inputs=[net])
out = wp.zeros(4, dtype=float, requires_grad=True)
tape = wp.Tape()
with tape:
    wp.launch(energy, dim=4, inputs=[net], outputs=[out])
print(out.numpy())
tape.backward(grads={out: wp.ones(4, dtype=float)})
print(net.weights.grad.numpy())
a = net.nodes.numpy()
print(a.dtype.names, a["x"][:, 1], a["mat"]["color"], a["id"])
print(a["v"])
m = Material()
m.young = 3.5
print(m.young, m.color, net.origin.p, net.origin.q)
s = wp.array([m, m], dtype=Material)
print(s.numpy()["young"])
h = net.nodes.list()
print(len(h), h[2].x, h[2].mat.young)
a = net.nodes.numpy()[0]["mat"]
m.color = wp.vec3(1.0, 2.0, 3.0)
node = Node()
node.mat = m
m.young = 7.0
node.mat.color = wp.vec3(4.0, 5.0, 6.0)
print("kept", float(node.mat.young), node.mat.color, m.color)

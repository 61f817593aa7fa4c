#!/usr/bin/env python3
"""Prints scenes/long-tail.toml: a trefoil knot of glass and mirror spheres in a closed room.

    tools/long-tail.py > scenes/long-tail.toml
"""
from math import cos, hypot, sin, tau

BEADS = 60
RADIUS = 0.28
MIDDLE = (0.0, 2.75, 0.0)
# One after the other along the knot.
STRAND = ["glass", "silver", "glass", "gold", "glass", "rose"]

HEAD = """\
# Long tail: a trefoil knot of glass and mirror spheres around a lamp, in a closed room. Made by tools/long-tail.py.
#
# No ray leaves the room: a path ends in a lamp, by Russian roulette, or after 64 hits. Between glass and mirrors
# that takes two hits for some pixels and dozens for their neighbours, which is what schedulers of rays are for.

image = { width = 1280, height = 720, spp = 256, max_depth = 64, seed = 1 }
render = { russian_roulette_depth = 3 }

camera = { from = [0.0, 2.7, 8.2], at = [0.0, 2.45, 0.0], vfov_deg = 40.0 }

background = { constant = [0.0, 0.0, 0.0] }

materials = [
    { name = "floor", type = "reflective", albedo = [0.82, 0.8, 0.78], reflectivity = 0.35 },
    { name = "plaster", type = "lambert", albedo = [0.82, 0.8, 0.76] },
    { name = "dusk", type = "lambert", albedo = [0.34, 0.33, 0.42] },
    { name = "brick", type = "lambert", albedo = [0.78, 0.3, 0.2] },
    { name = "slate", type = "lambert", albedo = [0.16, 0.36, 0.52] },
    { name = "glass", type = "dielectric", ior = 1.5 },
    { name = "silver", type = "metal", albedo = [0.96, 0.96, 0.97], fuzz = 0.0 },
    { name = "gold", type = "metal", albedo = [0.98, 0.8, 0.45], fuzz = 0.0 },
    { name = "rose", type = "metal", albedo = [0.95, 0.68, 0.6], fuzz = 0.1 },
    { name = "lamp", type = "lambert", albedo = [0.0, 0.0, 0.0], emission = [4.4, 2.5, 1.0] },
    { name = "skylight", type = "lambert", albedo = [0.0, 0.0, 0.0], emission = [3.3, 3.4, 3.7] },
]

objects = [
    { type = "plane", normal = [0.0, 1.0, 0.0], offset = 0.0, material = "floor" },
    { type = "plane", normal = [0.0, -1.0, 0.0], offset = 7.5, material = "plaster" },
    { type = "plane", normal = [0.0, 0.0, 1.0], offset = 5.0, material = "dusk" },
    { type = "plane", normal = [0.0, 0.0, -1.0], offset = 9.0, material = "plaster" },
    { type = "plane", normal = [1.0, 0.0, 0.0], offset = 5.0, material = "brick" },
    { type = "plane", normal = [-1.0, 0.0, 0.0], offset = 5.0, material = "slate" },
"""


def knot(t):
    """The trefoil, its three leaves one upwards, as wide as it is deep in the picture."""
    x, y, z = sin(t) + 2 * sin(2 * t), cos(t) - 2 * cos(2 * t), -sin(3 * t)
    return (MIDDLE[0] + 0.68 * x, MIDDLE[1] + 0.68 * y, MIDDLE[2] + 0.75 * z)


def evenly_spaced(count, steps=20000):
    """Points of the knot, equally far from each other along it."""
    points = [knot(tau * i / steps) for i in range(steps + 1)]
    along = [0.0]
    for a, b in zip(points, points[1:]):
        along.append(along[-1] + hypot(b[0] - a[0], b[1] - a[1], b[2] - a[2]))
    at = 0
    for k in range(count):
        while along[at] < along[-1] * k / count:
            at += 1
        yield points[at]


def sphere(centre, radius, material):
    x, y, z = (round(c, 3) + 0.0 for c in centre)
    print(f'    {{ type = "sphere", center = [{x}, {y}, {z}], radius = {radius}, material = "{material}" }},')


print(HEAD, end="")
sphere(MIDDLE, 0.5, "lamp")
sphere((-2.9, 0.75, -2.6), 0.75, "glass")
sphere((3.1, 0.85, -2.2), 0.85, "silver")
sphere((2.0, 0.45, 1.2), 0.45, "glass")
sphere((-2.2, 0.4, 1.0), 0.4, "gold")
sphere((0.0, 10.0, 1.0), 3.6, "skylight")
for number, centre in enumerate(evenly_spaced(BEADS)):
    sphere(centre, RADIUS, STRAND[number % len(STRAND)])
print("]")

#!/usr/bin/env python3
"""Makes assets/sampler/: a small glTF scene that uses what rayq reads of the format.

Plain Python; run it from the repository's root. Its files are kept in the repository, so only a change of the scene
needs it: a floor with a JPEG, balls of one shape in a grid of metals and plastics, a ball with a normal map, one with
a metallic-roughness map, one of glass, a mask, a glowing panel, and one light of each kind.
"""

import json
import math
import os
import struct
import zlib

FOLDER = os.path.join("assets", "sampler")


# ---- pictures ----


def png(path, width, height, pixel, channels=3):
    """Writes an 8-bit PNG; pixel(x, y) gives its channels, 0 to 255."""
    rows = b""
    for y in range(height):
        rows += b"\0" + b"".join(bytes(pixel(x, y)) for x in range(width))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header))
        file.write(chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


ZIGZAG = sorted(range(64), key=lambda i: (i // 8 + i % 8, i // 8 if (i // 8 + i % 8) % 2 else i % 8))
COSINES = [[math.cos((2 * x + 1) * u * math.pi / 16) / 2 / (math.sqrt(2) if u == 0 else 1) for x in range(8)] for u in range(8)]
# Codes of one length for all symbols: larger files than tuned ones, and no tables to copy.
DC_SYMBOLS = list(range(12))
AC_SYMBOLS = [run << 4 | size for run in range(16) for size in range(1, 11)] + [0x00, 0xF0]


def jpeg(path, width, height, pixel, step=6):
    """Writes a baseline JPEG of full-size colour planes; sides are multiples of 8, step is the quantiser's."""
    bits = []

    def put(value, length):
        bits.extend(value >> i & 1 for i in reversed(range(length)))

    def put_number(symbols, length, run, value):
        size = abs(value).bit_length()
        put(symbols.index(run << 4 | size), length)
        put(value if value > 0 else value + (1 << size) - 1, size)

    last = [0, 0, 0]
    for top in range(0, height, 8):
        for left in range(0, width, 8):
            block = [[pixel(left + x, top + y) for x in range(8)] for y in range(8)]
            for plane in range(3):
                values = [[to_ycc(block[y][x])[plane] - 128 for x in range(8)] for y in range(8)]
                rows = [[sum(row[x] * COSINES[u][x] for x in range(8)) for u in range(8)] for row in values]
                waves = [[sum(rows[y][u] * COSINES[v][y] for y in range(8)) for u in range(8)] for v in range(8)]
                levels = [round(waves[i // 8][i % 8] / step) for i in ZIGZAG]
                put_number(DC_SYMBOLS, 4, 0, levels[0] - last[plane])
                last[plane] = levels[0]
                run = 0
                for level in levels[1:]:
                    if level == 0:
                        run += 1
                        continue
                    while run > 15:
                        put(AC_SYMBOLS.index(0xF0), 8)
                        run -= 16
                    put_number(AC_SYMBOLS, 8, run, level)
                    run = 0
                if run:
                    put(AC_SYMBOLS.index(0x00), 8)
    bits.extend([1] * (-len(bits) % 8))
    data = bytes(int("".join(map(str, bits[i : i + 8])), 2) for i in range(0, len(bits), 8)).replace(b"\xff", b"\xff\0")

    def segment(marker, body):
        return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body

    def table(kind, length, symbols):
        counts = bytes(len(symbols) if i + 1 == length else 0 for i in range(16))
        return segment(0xC4, bytes([kind]) + counts + bytes(symbols))

    planes = b"".join(bytes([i + 1, 0x11, 0]) for i in range(3))
    with open(path, "wb") as file:
        file.write(b"\xff\xd8" + segment(0xE0, b"JFIF\0\1\1\0\0\1\0\1\0\0"))
        file.write(segment(0xDB, bytes([0] + [step] * 64)))
        file.write(segment(0xC0, struct.pack(">BHHB", 8, height, width, 3) + planes))
        file.write(table(0x00, 4, DC_SYMBOLS) + table(0x10, 8, AC_SYMBOLS))
        file.write(segment(0xDA, bytes([3, 1, 0, 2, 0, 3, 0, 0, 63, 0])) + data + b"\xff\xd9")


def to_ycc(rgb):
    r, g, b = rgb
    y = 0.299 * r + 0.587 * g + 0.114 * b
    return y, 128 + (b - y) / 1.772, 128 + (r - y) / 1.402


def wave(x, y, side):
    """A height field that tiles: crossing waves."""
    a, b = 2 * math.pi * x / side, 2 * math.pi * y / side
    return math.sin(4 * a) * math.sin(4 * b)


def bump(x, y, side=64, depth=2.5):
    """The height field as a tangent-space normal, green up the picture."""
    dx = (wave(x + 0.5, y, side) - wave(x - 0.5, y, side)) * depth
    dy = (wave(x, y + 0.5, side) - wave(x, y - 0.5, side)) * depth
    length = math.sqrt(dx * dx + dy * dy + 1)
    return [round(127.5 + 127.5 * c / length) for c in (-dx, dy, 1)]


def tiles(x, y):
    """A floor of two stones, with joints."""
    if x % 32 < 1 or y % 32 < 1:
        return 70, 66, 60
    shade = 12 * math.sin(x * 0.31) * math.sin(y * 0.23)
    base = (196, 186, 168) if (x // 32 + y // 32) % 2 else (122, 128, 138)
    return tuple(max(0, min(255, round(c + shade))) for c in base)


def pictures():
    path = lambda name: os.path.join(FOLDER, name)
    jpeg(path("tiles.jpg"), 64, 64, tiles)
    png(path("bumps.png"), 64, 64, bump)
    # Green is roughness, blue metal: rings of each.
    png(path("rings.png"), 64, 64, lambda x, y: (0, 40 + 160 * (y // 8 % 2), 255 * (y // 16 % 2)))
    png(path("glow.png"), 32, 32, lambda x, y: (255, 190, 90) if (x // 8 + y // 8) % 2 else (30, 60, 255))
    png(path("holes.png"), 32, 32, lambda x, y: (60, 160, 90, 255 if (x % 8 - 3.5) ** 2 + (y % 8 - 3.5) ** 2 > 8 else 0), 4)


# ---- shapes ----


class Buffer:
    """Buffer views and accessors as they are filled."""

    def __init__(self):
        self.data, self.views, self.accessors = b"", [], []

    def add(self, kind, values, code, component):
        size = len(values[0]) if kind != "SCALAR" else 1
        flat = [v for row in values for v in row] if kind != "SCALAR" else values
        self.data += b"\0" * (-len(self.data) % 4)
        data = struct.pack("<%d%s" % (len(flat), code), *flat)
        self.views.append({"buffer": 0, "byteOffset": len(self.data), "byteLength": len(data)})
        self.data += data
        accessor = {"bufferView": len(self.views) - 1, "componentType": component, "count": len(values), "type": kind}
        if kind == "VEC3":
            rounded = [[struct.unpack("<f", struct.pack("<f", v))[0] for v in row] for row in values]
            accessor["min"] = [min(row[i] for row in rounded) for i in range(size)]
            accessor["max"] = [max(row[i] for row in rounded) for i in range(size)]
        self.accessors.append(accessor)
        return len(self.accessors) - 1

    def shape(self, positions, normals, uvs, indices):
        floats = lambda kind, values: self.add(kind, values, "f", 5126)
        attributes = {"POSITION": floats("VEC3", positions), "NORMAL": floats("VEC3", normals)}
        attributes["TEXCOORD_0"] = floats("VEC2", uvs)
        return {"attributes": attributes, "indices": self.add("SCALAR", indices, "H", 5123)}


def ball(around=48, down=24):
    positions, uvs, indices = [], [], []
    for j in range(down + 1):
        for i in range(around + 1):
            a, b = 2 * math.pi * i / around, math.pi * j / down
            positions.append((math.sin(b) * math.sin(a), math.cos(b), math.sin(b) * math.cos(a)))
            uvs.append((2 * i / around, j / down))
    for j in range(down):
        for i in range(around):
            a = j * (around + 1) + i
            b = a + around + 1
            # The rows at the poles have one triangle a cell.
            indices += [a, b, b + 1] if j < down - 1 else [a, b, a + 1]
            if 0 < j < down - 1:
                indices += [a, b + 1, a + 1]
    return positions, positions, uvs, indices


def panel(repeat=1):
    """A square from -1 to 1 that faces up."""
    places = [(-1, 1), (1, 1), (1, -1), (-1, -1)]
    uvs = [((x + 1) / 2 * repeat, (z + 1) / 2 * repeat) for x, z in places]
    return [(x, 0, z) for x, z in places], [(0, 1, 0)] * 4, uvs, [0, 1, 2, 0, 2, 3]


# ---- the scene ----


def material(name, color=(1, 1, 1), metallic=0, roughness=0.5, **more):
    pbr = {"baseColorFactor": [*color, 1], "metallicFactor": metallic, "roughnessFactor": roughness}
    pbr.update(more.pop("pbr", {}))
    return {"name": name, "pbrMetallicRoughness": pbr, **more}


def scene():
    buffer = Buffer()
    shapes = {"ball": buffer.shape(*ball()), "panel": buffer.shape(*panel()), "floor": buffer.shape(*panel(6))}
    picture_names = ["tiles.jpg", "bumps.png", "rings.png", "glow.png", "holes.png"]
    texture = {name.split(".")[0]: {"index": i} for i, name in enumerate(picture_names)}
    turned = {"KHR_texture_transform": {"offset": [0.25, 0], "rotation": math.pi / 4, "scale": [0.75, 0.75]}}
    materials, meshes, nodes = [], [], []

    def mesh(shape, stuff):
        materials.append(stuff)
        meshes.append({"name": stuff["name"], "primitives": [{**shapes[shape], "material": len(materials) - 1}]})
        return len(meshes) - 1

    def put(index, at, size, **more):
        nodes.append({"mesh": index, "translation": list(at), "scale": list(size), **more})

    floor = material("tiles", roughness=0.9, pbr={"baseColorTexture": {**texture["tiles"], "extensions": turned}})
    put(mesh("floor", floor), (0, 0, 0), (6, 1, 6))
    for row, (name, color, metallic) in enumerate([("gold", (1, 0.77, 0.34), 1), ("plastic", (0.8, 0.1, 0.1), 0)]):
        for column in range(5):
            stuff = material(f"{name} {column}", color, metallic, column / 4)
            put(mesh("ball", stuff), (1.1 * (column - 2), 0.45, -1.2 + 1.2 * row), (0.45,) * 3)
    bumpy = material("bumpy", (0.35, 0.55, 0.8), roughness=0.3, normalTexture={**texture["bumps"], "scale": 0.8})
    ringed = material("ringed", metallic=1, roughness=1, pbr={"metallicRoughnessTexture": texture["rings"]})
    glass = material("glass", roughness=0, extensions={"KHR_materials_transmission": {"transmissionFactor": 1}, "KHR_materials_ior": {"ior": 1.45}})
    mask = material("mask", alphaMode="MASK", doubleSided=True, pbr={"baseColorTexture": texture["holes"]})
    shiny = {"KHR_materials_specular": {"specularFactor": 1, "specularColorFactor": [0.4, 0.7, 1]}}
    for column, stuff in enumerate([bumpy, ringed, glass, mask, material("shiny", (0.02,) * 3, 0, 0.15, extensions=shiny)]):
        put(mesh("ball", stuff), (1.1 * (column - 2), 0.45, 1.2), (0.45,) * 3)
    # A second look at the bumpy ball, mirrored: the bumps must still go out.
    put(len(meshes) - 5, (-3.4, 0.6, 0), (-0.6, 0.6, 0.6))
    glow = material("glow", (0, 0, 0), emissiveFactor=[1, 1, 1], emissiveTexture=texture["glow"], extensions={"KHR_materials_emissive_strength": {"emissiveStrength": 3}})
    half = math.sqrt(0.5)
    put(mesh("panel", glow), (0, 1.4, -3), (2.4, 1, 0.8), rotation=[half, 0, 0, half])
    lights = [
        {"type": "directional", "color": [1, 0.95, 0.85], "intensity": 1.5},
        {"type": "point", "color": [0.5, 0.7, 1], "intensity": 3},
        {"type": "spot", "intensity": 30, "spot": {"innerConeAngle": 0.25, "outerConeAngle": 0.45}},
    ]
    tilt = lambda degrees: [math.sin(math.radians(degrees) / 2), 0, 0, math.cos(math.radians(degrees) / 2)]
    light = lambda i: {"extensions": {"KHR_lights_punctual": {"light": i}}}
    nodes.append({**light(0), "rotation": tilt(-50)})
    nodes.append({**light(1), "translation": [3.2, 1.6, 1.5]})
    nodes.append({**light(2), "translation": [-2.2, 4, 1.2], "rotation": tilt(-90)})
    smooth = {"magFilter": 9729, "minFilter": 9987}
    return buffer.data, {
        "asset": {"version": "2.0", "generator": "rayq tools/make-sampler.py"},
        "extensionsUsed": [
            "KHR_lights_punctual", "KHR_materials_emissive_strength", "KHR_materials_ior", "KHR_materials_specular",
            "KHR_materials_transmission", "KHR_texture_transform",
        ],
        "extensions": {"KHR_lights_punctual": {"lights": lights}},
        "scene": 0,
        "scenes": [{"nodes": list(range(len(nodes)))}],
        "nodes": nodes,
        "meshes": meshes,
        "materials": materials,
        "textures": [{"source": i, "sampler": 1 if i == 3 else 0} for i in range(len(picture_names))],
        "samplers": [smooth, {"magFilter": 9728, "wrapS": 33071, "wrapT": 33648}],
        "images": [{"uri": name} for name in picture_names],
        "accessors": buffer.accessors,
        "bufferViews": buffer.views,
        "buffers": [{"uri": "sampler.bin", "byteLength": len(buffer.data)}],
    }


def main():
    os.makedirs(FOLDER, exist_ok=True)
    pictures()
    data, gltf = scene()
    with open(os.path.join(FOLDER, "sampler.bin"), "wb") as file:
        file.write(data)
    with open(os.path.join(FOLDER, "sampler.gltf"), "w") as file:
        json.dump(gltf, file, indent=1)
        file.write("\n")


main()

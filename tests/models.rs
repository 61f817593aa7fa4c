//! Models: what OBJ and glTF files are read as, what is refused, and where an error points.

use glam::{Vec2, Vec3};
use rayq::model::{self, Light, Model, Summary, Surface, Texels, Wrap};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name)
}

#[track_caller]
fn good(path: &Path) -> Model {
    model::load(path).expect("a good model")
}

/// The one line that refuses the file.
#[track_caller]
fn refusal(path: &Path) -> String {
    let error = model::load(path).expect_err("the model is wrong");
    assert_eq!(error.exit_code(), 2);
    let text = error.to_string();
    assert_eq!(text.lines().count(), 1, "{text}");
    let text = text.strip_prefix(&format!("{}:", path.display())).expect("names the file first");
    text.trim_start().to_owned()
}

/// Text as a file in a folder of its own.
struct Sheet {
    folder: tempfile::TempDir,
    name: &'static str,
}

impl Sheet {
    fn new(name: &'static str, content: impl AsRef<[u8]>) -> Sheet {
        let sheet = Sheet { folder: tempfile::tempdir().expect("a folder"), name };
        sheet.also(name, content)
    }

    fn also(self, name: &str, content: impl AsRef<[u8]>) -> Sheet {
        std::fs::write(self.folder.path().join(name), content).expect("writable");
        self
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(self.name)
    }
}

#[track_caller]
fn assert_area(path: &Path, triangles: u64, area: f64) -> Summary {
    let summary = Summary::of(&good(path));
    assert_eq!(summary.triangles, triangles);
    assert!((summary.area - area).abs() <= 1e-6 * area, "{} and not {area}", summary.area);
    summary
}

#[test]
fn e09_indices_that_lead_nowhere_are_named() {
    for (file, token, what) in [
        ("hi", "9", "there is no vertex 9; 3 exist so far, numbered 1 to 3 or -3 to -1"),
        ("rel", "-9", "there is no vertex -9; 3 exist so far, numbered 1 to 3 or -3 to -1"),
        ("zero", "0", "there is no vertex 0; 3 exist so far, numbered 1 to 3 or -3 to -1"),
        ("nonint", "x", "there is no vertex x; 3 exist so far, numbered 1 to 3 or -3 to -1"),
    ] {
        let text = refusal(&case(&format!("E09/{file}.obj")));
        assert_eq!(text, format!("4: f: `{token}`: {what}"));
    }
}

#[test]
fn e11_polygons_are_cut_as_they_are() {
    assert_area(&case("E11/quad.obj"), 2, 1.0);
    assert_area(&case("E11/penta.obj"), 3, 2.377_641);
    assert_area(&case("E11/dart.obj"), 2, 1.0);
    // The notch of the dart, at (0.4, 1), is in no triangle.
    let dart = &good(&case("E11/dart.obj")).meshes[0];
    for triangle in &dart.triangles {
        let [a, b, c] = triangle.map(|i| dart.positions[i as usize].truncate());
        let side = |p: Vec2, q: Vec2| (q - p).perp_dot(Vec2::new(0.4, 1.0) - p);
        assert!(side(a, b) < 0.0 || side(b, c) < 0.0 || side(c, a) < 0.0, "{a} {b} {c}");
    }
}

#[test]
fn polygons_keep_their_front_and_their_corners() {
    // A comb with notches, in each of the three planes and both senses; an L; a square with a corner on its edge.
    let comb = [(0, 0), (6, 0), (6, 3), (5, 1), (4, 3), (3, 1), (2, 3), (1, 1), (0, 3)];
    let ell = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)];
    let edged = [(0, 0), (1, 0), (2, 0), (2, 2), (0, 2)];
    for (corners, area) in [(&comb[..], 12.0), (&ell, 3.0), (&edged, 4.0)] {
        for (plane, front) in [(0, Vec3::X), (1, Vec3::Y), (2, Vec3::Z)] {
            for reverse in [false, true] {
                let mut text = String::new();
                for &(u, v) in corners {
                    let mut p = [0, 0, 0];
                    (p[(plane + 1) % 3], p[(plane + 2) % 3]) = (u, v);
                    text += &format!("v {} {} {}\n", p[0], p[1], p[2]);
                }
                let numbers = 1..=corners.len();
                let numbers: Vec<_> = if reverse { numbers.rev().collect() } else { numbers.collect() };
                text += "f";
                numbers.iter().for_each(|n| text += &format!(" {n}"));
                let sheet = Sheet::new("p.obj", text);
                assert_area(&sheet.path(), corners.len() as u64 - 2, area);
                let mesh = &good(&sheet.path()).meshes[0];
                for t in &mesh.triangles {
                    let [a, b, c] = t.map(|i| mesh.positions[i as usize]);
                    let side = (b - a).cross(c - a).dot(front);
                    assert!(if reverse { side < 0.0 } else { side > 0.0 });
                }
            }
        }
    }
}

#[test]
fn e13_long_lines_and_lines_that_go_on() {
    assert_area(&case("E13/gon.obj"), 998, 3.141_572);
    assert_eq!(good(&case("E13/gon.obj")), good(&case("E13/cont.obj")));
    let sheet = Sheet::new("c.obj", "v 0 0 0 \\\n\nv 1 0 0\nv 0 1 0\n# c:\\\\\nf 1 \\\r\n 2 \\\n 9\n");
    assert!(refusal(&sheet.path()).starts_with("6: f: `9`"), "the line on which it starts");
}

#[test]
fn e15_degenerate_triangles_are_counted_and_left_out() {
    let model = good(&case("E15/deg.obj"));
    assert_eq!((model.degenerate, model.meshes[0].triangles.len()), (2, 1));
    assert!(
        model.warnings[0].ends_with("deg.obj: 2 degenerate triangles were left out"),
        "{:?}",
        model.warnings
    );
}

#[test]
fn e34_obj_textures_count_from_the_last_row() {
    let model = good(&case("E34/v.obj"));
    assert_eq!(model.meshes[0].uvs[0], Vec2::new(0.25, 0.75));
    assert_eq!((model.images[0].width, model.images[0].height), (2, 2));
    let surface = &model.surfaces[0];
    assert_eq!((surface.name.as_str(), surface.base_color, surface.specular), ("m", Vec3::ONE, 0.0));
    assert!(surface.base_texture.is_some() && surface.double_sided && model.warnings.is_empty());
    assert_eq!(model.files, [case("E34/v.mtl"), case("E34/corners.png")]);
}

#[test]
fn normals_and_texture_coordinates_stay_with_their_corners() {
    let text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nvt 0.5 0\nvn 0 0 2\nvn 0 0 0\n\
                f 1//1 2//1 3//2\nf 2/1 4/1 3/1\nf 1/1/1 2/1/1 -2/-1/-2\nf 1 2//1 4//1\n";
    let model = good(&Sheet::new("n.obj", text).path());
    assert_eq!(model.meshes.len(), 4, "one for each kind of corner");
    let with_normals = model.meshes.iter().filter(|m| !m.normals.is_empty());
    let with_uvs = model.meshes.iter().filter(|m| !m.uvs.is_empty());
    assert_eq!((with_normals.clone().count(), with_uvs.count()), (2, 2));
    for mesh in with_normals {
        assert!(mesh.normals.iter().all(|&n| n == Vec3::Z), "units, and the face's own for the zero");
    }
    assert!(model.warnings[0].ends_with("1 normal of length 0 was replaced by the faces' own"));
}

#[test]
fn what_is_wrong_in_an_obj_file_is_told_with_line_and_word() {
    let three = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
    for (text, wanted) in [
        ("v 0 nan 0\n", "1: v: `nan` is not within -1e9 to 1e9"),
        ("\nv 0 0 1e10\n", "2: v: `1e10` is not within -1e9 to 1e9"),
        ("v 0 0\n", "1: v: needs 3 numbers and has 2"),
        ("v 0 0 zero\n", "1: v: `zero` is not a number"),
        ("vn inf 0 0\n", "1: vn: `inf` is not within"),
        ("f 1 2\n", "1: f: `1`: there is no vertex 1; none exist so far"),
        (&format!("{three}f 1 2\n"), "4: a face of 2 corners; it needs 3 or more"),
        (&format!("{three}f 1/1 2 3\n"), "4: f: `1/1`: there is no texture coordinate 1; none exist so far"),
        (&format!("{three}f /1 2 3\n"), "4: f: `/1`: there is no texture"),
        (&format!("{three}f // 2 3\n"), "4: f: `//` is not of the form"),
        (&format!("{three}f 1/1/1/1 2 3\n"), "4: f: `1/1/1/1`"),
        (&format!("{three}f 99999999999999999999 2 3\n"), "4: f: `99999999999999999999`: there is no vertex"),
        (&format!("{three}f{}\n", " 1".repeat(65537)), "4: a face of 65537 corners; allowed: 65536"),
    ] {
        let sheet = Sheet::new("w.obj", text);
        let text = refusal(&sheet.path());
        assert!(text.starts_with(wanted), "{text}\nwanted: {wanted}");
    }
    let missing = Path::new("/nowhere/at/all.obj");
    assert!(refusal(missing).starts_with("cannot read the model: No such file"));
    assert!(refusal(Path::new("a.stl")).starts_with("a model's name ends in .obj, .gltf or .glb"));
}

#[test]
fn what_an_obj_file_has_beyond_faces_is_told_once() {
    let text = "mtllib none.mtl\no a\nv 0 0 0 1 0 0\nv 1 0 0 0 1 0\nv 0 1 0 0 0 1\nusemtl gone\nf 1 2 3\nl 1 2\n\
                p 1\nfrobnicate 7\nfrobnicate 8\n";
    let model = good(&Sheet::new("x.obj", text).path());
    let told: Vec<&str> =
        model.warnings.iter().map(|w| w.split_once("x.obj: ").expect("names the file").1).collect();
    assert!(
        told[0].starts_with("line 1: cannot read the materials")
            && told[0].contains("none.mtl: No such file")
    );
    assert_eq!(
        told[1..],
        [
            "line 3: colours of vertices are left out (and 2 more such cases)",
            "line 6: no material is called `gone`; its faces get the default one",
            "line 8: points and lines are left out (and 1 more such cases)",
            "line 10: `frobnicate` is no statement of OBJ files that rayq knows; left out (and 1 more such cases)",
        ]
    );
}

#[test]
fn mtl_materials_are_mapped_as_documented() {
    let mtl = "newmtl chalk\nKd 0.1 0.2 0.3\nKs 1 1 1\nillum 1\nnewmtl gloss\nKd 0.5\nKs 0.5 0.5 0.5\nNs 6\nillum 2\n\
               newmtl mirror\nKd 0 0 0\nKs 0.9 0.8 0.7\nNs 1e9\nillum 3\nnewmtl pane\nd 0.1\nNi 1.33\n\
               newmtl lamp\nKe 4 5 6\nnewmtl two words\nKd 2 0 0\n";
    let obj = "mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl two words\nf 1 2 3\nusemtl gloss\nf 1 2 3\n";
    let model = good(&Sheet::new("m.obj", obj).also("m.mtl", mtl).path());
    let [chalk, gloss, mirror, pane, lamp, two] = &model.surfaces[..] else { panic!("six") };
    assert_eq!((chalk.base_color, chalk.specular, chalk.roughness), (Vec3::new(0.1, 0.2, 0.3), 0.0, 1.0));
    assert_eq!((gloss.base_color, gloss.specular_color, gloss.specular), (Vec3::splat(0.5), Vec3::ONE, 1.0));
    assert!((gloss.roughness - 0.5f32.sqrt()).abs() < 1e-6, "the square root of alpha 1/2");
    assert_eq!((mirror.metallic, mirror.base_color), (1.0, Vec3::new(0.9, 0.8, 0.7)));
    assert!(mirror.roughness < 0.01);
    assert!(pane.glass && pane.ior == 1.33 && !gloss.glass);
    assert_eq!(lamp.emission, Vec3::new(4.0, 5.0, 6.0));
    assert_eq!((two.name.as_str(), two.base_color), ("two words", Vec3::X));
    assert_eq!(model.meshes[0].surfaces, [5, 1]);
    for (text, wanted) in [
        ("Kd 1 1 1\n", "1: `Kd` before the first newmtl"),
        ("newmtl a\nKd 1 one 1\n", "2: Kd: `one` is not a number"),
        ("newmtl a\nmap_Kd -s 2\n", "2: map_Kd: names no picture"),
        ("newmtl a\nmap_Kd -x 2 a.png\n", "2: map_Kd: unknown option `-x`"),
        ("newmtl a\nmap_Kd gone.png\n", "cannot read the picture: No such file"),
    ] {
        let sheet = Sheet::new("m.obj", "mtllib m.mtl\n").also("m.mtl", text);
        let error = model::load(&sheet.path()).expect_err("a wrong file").to_string();
        assert!(error.contains(wanted) && !error.contains('\n'), "{error}");
    }
}

// ---- glTF ----

/// A square from -1 to 1 with normals, as bytes: positions, normals, six 16-bit indices.
fn square() -> Vec<u8> {
    let places = [[-1.0f32, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
    let positions = places.iter().flat_map(|&[x, y]| [x, y, 0.0]);
    let normals = [0.0f32, 0.0, 1.0].into_iter().cycle().take(12);
    let mut bytes: Vec<u8> = positions.chain(normals).flat_map(f32::to_le_bytes).collect();
    bytes.extend([0u16, 1, 2, 0, 2, 3].iter().flat_map(|i| i.to_le_bytes()));
    bytes
}

/// A file with that square in `square.bin`. `change` edits its JSON.
fn square_gltf(change: impl FnOnce(&mut Value)) -> Sheet {
    Sheet::new("s.gltf", square_json("square.bin", change)).also("square.bin", square())
}

fn square_json(uri: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut file = json!({
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "NORMAL": 1}, "indices": 2, "material": 0}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 0, "byteOffset": 48, "componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 6, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": 96},
            {"buffer": 0, "byteOffset": 96, "byteLength": 12},
        ],
        "buffers": [{"uri": uri, "byteLength": 108}],
        "materials": [{"name": "m"}],
    });
    change(&mut file);
    file.to_string()
}

/// A GLB file of chunks.
fn glb(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let mut body = vec![];
    for (kind, chunk) in chunks {
        body.extend((chunk.len() as u32).to_le_bytes());
        body.extend_from_slice(*kind);
        body.extend_from_slice(chunk);
    }
    let mut file = b"glTF\x02\0\0\0".to_vec();
    file.extend((body.len() as u32 + 12).to_le_bytes());
    file.extend(body);
    file
}

#[test]
fn e21_every_width_of_index_and_interleaved_vertices() {
    let summary = assert_area(&case("E21/row.gltf"), 8, 16.0);
    assert_eq!(summary.bounds, Some([[-7.0, -1.0, 0.0], [7.0, 1.0, 0.0]]));
    let model = good(&case("E21/row.gltf"));
    for (mesh, x) in model.meshes.iter().zip([-6.0, -2.0, 2.0, 6.0]) {
        assert!(mesh.positions.iter().all(|p| (p.x - x).abs() == 1.0 && p.y.abs() == 1.0 && p.z == 0.0));
        assert!(mesh.normals.iter().all(|&n| n == Vec3::Z) && mesh.uvs.len() == mesh.positions.len());
    }
}

#[test]
fn e23_a_mirrored_node_mirrors() {
    let model = good(&case("E23/mirror.gltf"));
    assert_eq!(model.instances.len(), 2);
    for instance in &model.instances {
        assert_eq!(instance.transform.transform_point3(Vec3::new(1.0, 2.0, 3.0)), Vec3::new(-1.0, 2.0, 3.0));
    }
    assert_eq!(model.surfaces[0].base_color, Vec3::new(0.5, 0.0, 0.0));
}

#[test]
fn e25_circles_and_shared_children_are_refused() {
    assert_eq!(refusal(&case("E25/cyc.gltf")), "nodes[0] > nodes[1] > nodes[0]: the nodes form a cycle");
    let refused = |nodes: Value, roots: Value| {
        let sheet = square_gltf(|f| {
            f["nodes"] = nodes;
            f["scenes"][0]["nodes"] = roots;
        });
        refusal(&sheet.path())
    };
    let shared = json!([{"children": [1, 2]}, {"children": [2]}, {}]);
    assert_eq!(refused(shared, json!([0])), "nodes[2]: is a child of nodes[0] and again of nodes[1]");
    assert_eq!(
        refused(json!([{"children": [1]}, {}]), json!([0, 1])),
        "nodes[1]: the scene reaches it twice"
    );
    assert_eq!(
        refused(json!([{"children": [0]}]), json!([0])),
        "nodes[0] > nodes[0]: the nodes form a cycle"
    );
    assert_eq!(
        refused(json!([{"children": [7]}]), json!([0])),
        "nodes[0].children: there is no nodes[7]; there are 1"
    );
}

#[test]
fn a_million_nodes_in_a_chain_are_no_trouble() {
    let sheet = square_gltf(|f| {
        let nodes: Vec<Value> =
            (1..=100_000).map(|i| json!({"children": [i]})).chain([json!({"mesh": 0})]).collect();
        f["nodes"] = nodes.into();
    });
    assert_area(&sheet.path(), 2, 4.0);
}

#[test]
fn e27_names_are_decoded() {
    for name in ["enc", "raw", "pct"] {
        assert_area(&case(&format!("E27/{name}.gltf")), 2, 324.0);
    }
    let text = refusal(&case("E27/gone.gltf"));
    assert!(
        text.starts_with("buffers[0]: cannot read ") && text.contains("E27/not here.bin: No such file"),
        "{text}"
    );
}

#[test]
fn e29_lengths_and_indices_are_checked() {
    for (name, wanted) in [
        ("count", "accessors[0]: needs 12000 bytes of bufferViews[0], which has 48"),
        ("index", "accessors[1]: element 2 is index 77 of 4 vertices"),
        ("short", "buffers[0]: byteLength is 4096, and the data URI has 60 bytes"),
    ] {
        assert_eq!(refusal(&case(&format!("E29/{name}.gltf"))), wanted);
    }
}

#[test]
fn e30_texture_transforms_turn_the_right_way() {
    let model = good(&case("E30/xf.gltf"));
    assert!(model.warnings.is_empty(), "{:?}", model.warnings);
    let texture = model.surfaces[0].base_texture.expect("a texture");
    let [[a, b, c], [d, e, f]] = texture.transform;
    let (u, v) = (0.75, 0.5);
    let place = Vec2::new(a * u + b * v + c, d * u + e * v + f);
    assert!(place.abs_diff_eq(Vec2::new(0.125, 0.625), 1e-6), "{place}");
    assert!(!texture.smooth && texture.wrap == [Wrap::Repeat; 2]);
}

#[test]
fn e32_palettes_of_every_depth() {
    let red = [255, 0, 0, 255];
    for (name, entry) in [("p1", red), ("p2", red), ("p4", [40, 80, 120, 255]), ("p8", [40, 80, 120, 255])] {
        let model = good(&case(&format!("E32/{name}.gltf")));
        let Texels::Bytes(texels) = &model.images[0].texels else { panic!("8 bits") };
        assert_eq!(texels[8], entry, "{name}");
    }
    let clear = good(&case("E32/q8.gltf"));
    let Texels::Bytes(texels) = &clear.images[0].texels else { panic!("8 bits") };
    assert_eq!(texels[8], [40, 80, 120, 0], "tRNS makes the entry's alpha 0");
    assert_eq!(clear.surfaces[0].alpha_cutoff, None, "which an opaque material does not read");
}

#[test]
fn e34_gltf_textures_count_from_the_first_row() {
    let model = good(&case("E34/v.gltf"));
    assert_eq!(model.meshes[0].uvs[0], Vec2::splat(0.25));
    let Texels::Bytes(texels) = &model.images[0].texels else { panic!("8 bits") };
    let corners: Vec<[u8; 3]> = texels.iter().map(|&[r, g, b, _]| [r, g, b]).collect();
    assert_eq!(corners, [[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]]);
}

#[test]
fn e36_hopeless_pictures_are_refused() {
    for (name, wanted) in [
        ("big", "100000 x 100000 texels are too many"),
        ("cut", "is broken"),
        ("notpng", "is not a PNG, JPEG or Radiance HDR picture"),
    ] {
        let error = model::load(&case(&format!("E36/{name}.gltf"))).expect_err("a bad picture").to_string();
        let place = format!("{}: ", case(&format!("E36/{name}.png")).display());
        assert!(error.starts_with(&place) && error.contains(wanted), "{error}");
    }
    // Within the limits, but more than so few bytes can hold.
    let mut bytes = std::fs::read(case("E36/big.png")).expect("shipped");
    bytes[16..24].copy_from_slice(&[0, 0, 32, 0, 0, 0, 32, 0]);
    let error = model::image::decode(Path::new("b.png"), &with_crc(bytes)).expect_err("a bad picture");
    assert!(error.to_string().contains("8192 x 8192 texels are more than a picture of"), "{error}");
}

/// Mends the checksum of a PNG's header.
fn with_crc(mut png: Vec<u8>) -> Vec<u8> {
    let mut crc = !0u32;
    for &byte in &png[12..29] {
        crc ^= u32::from(byte);
        (0..8).for_each(|_| crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 });
    }
    png[29..33].copy_from_slice(&(!crc).to_be_bytes());
    png
}

#[test]
fn glb_files_are_read_and_their_chunks_checked() {
    let mut json = square_json("", |f| drop(f["buffers"][0].as_object_mut().expect("a table").remove("uri")));
    json += &" ".repeat(json.len().next_multiple_of(4) - json.len());
    let json = json.as_bytes();
    let whole = glb(&[(b"JSON", json), (b"BIN\0", &square()), (b"XTRA", &[0; 4])]);
    assert_area(&Sheet::new("s.glb", &whole).path(), 2, 4.0);
    let mut long = whole.clone();
    long[9] += 1;
    let mut second = whole.clone();
    second[4] = 1;
    for (bytes, wanted) in [
        (glb(&[(b"JSON", json)]), "buffers[0]: has no uri, and there is no binary chunk for it"),
        (glb(&[(b"BIN\0", &[])]), "has no JSON chunk"),
        (b"glTF".to_vec(), "the file ends within a header"),
        (long, "says that it has"),
        (second, "is a GLB file of version 1; allowed: 2"),
        (
            [&whole[..12], &[255; 4], &whole[16..]].concat(),
            "the chunk at byte 12 has 4294967295 bytes, more than are left",
        ),
    ] {
        let text = refusal(&Sheet::new("s.glb", bytes).path());
        assert!(text.starts_with(wanted), "{text}\nwanted: {wanted}");
    }
}

#[test]
fn what_is_wrong_in_a_gltf_file_is_told_with_its_place() {
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 24] = [
        (|f| f["asset"]["version"] = json!("1.0"), "asset: is glTF of version `1.0`; allowed: 2.0"),
        (|f| f["nodes"][0]["mesh"] = json!(-1), "1:"),
        (|f| f["nodes"][0]["mesh"] = json!(3), "nodes[0]: there is no meshes[3]; there are 1"),
        (|f| f["scene"] = json!(1), "scene: there is no scenes[1]; there are 1"),
        (
            |f| f["accessors"][0]["bufferView"] = json!(9),
            "accessors[0]: there is no bufferViews[9]; there are 2",
        ),
        (|f| f["accessors"][0]["type"] = json!("VEC2"), "accessors[0]: POSITION must be VEC3 and not `VEC2`"),
        (|f| f["accessors"][0]["componentType"] = json!(5130), "accessors[0]: unknown componentType 5130"),
        (
            |f| f["accessors"][0]["componentType"] = json!(5125),
            "accessors[0]: componentType 5125 cannot be POSITION",
        ),
        (|f| f["accessors"][1]["count"] = json!(3), "accessors[1]: 3 of NORMAL for 4 of POSITION"),
        (
            |f| f["accessors"][0]["count"] = json!(u64::MAX),
            "meshes[0].primitives[0]: with it the model has more than",
        ),
        (
            |f| f["accessors"][2]["componentType"] = json!(5126),
            "accessors[2]: indices must be whole and unsigned",
        ),
        (
            |f| f["accessors"][0]["byteOffset"] = json!(u64::MAX),
            "accessors[0]: needs too many bytes of bufferViews[0]",
        ),
        (
            |f| f["bufferViews"][0]["byteLength"] = json!(109),
            "bufferViews[0]: 109 bytes from 0 on are more than",
        ),
        (
            |f| f["bufferViews"][0]["byteStride"] = json!(8),
            "bufferViews[0]: byteStride 8 is less than an element",
        ),
        (
            |f| f["buffers"][0]["uri"] = json!("http://a/b"),
            "buffers[0]: `http://a/b`: only files beside the model",
        ),
        (|f| f["buffers"][0]["uri"] = json!("data:;base64,!"), "buffers[0]: broken base64"),
        (|f| f["nodes"][0]["scale"] = json!([1e12, 1, 1]), "nodes[0]: its mesh reaches beyond 1e9"),
        (
            |f| f["nodes"][0]["rotation"] = json!([0, 0, 0, 0]),
            "nodes[0]: its translation, rotation or scale is out of",
        ),
        (|f| f["nodes"][0]["matrix"] = json!(vec![1.0; 16]), "nodes[0]: its matrix is not affine"),
        (|f| f["meshes"][0]["primitives"][0]["mode"] = json!(7), "meshes[0].primitives[0]: unknown mode 7"),
        (
            |f| f["meshes"][0]["primitives"][0]["material"] = json!(1),
            "meshes[0].primitives[0]: there is no materials[1]",
        ),
        (|f| f["materials"][0]["alphaMode"] = json!("DITHER"), "materials[0]: unknown alphaMode `DITHER`"),
        (
            |f| f["materials"][0]["pbrMetallicRoughness"] = json!({"metallicFactor": 1.5}),
            "materials[0]: metallicFactor: 1.5 is out of range; allowed: 0 to 1",
        ),
        (
            |f| f["extensionsRequired"] = json!(["KHR_draco_mesh_compression"]),
            "requires the extension `KHR_draco_mesh_compression`, which rayq does not read (it reads KHR_lights",
        ),
    ];
    for (change, wanted) in cases {
        let text = refusal(&square_gltf(change).path());
        assert!(text.starts_with(wanted), "{text}\nwanted: {wanted}");
    }
    let mut bytes = square();
    bytes[4..8].copy_from_slice(&f32::NAN.to_le_bytes());
    let sheet = square_gltf(|_| ()).also("square.bin", bytes);
    assert!(
        refusal(&sheet.path())
            .starts_with("accessors[0]: POSITION 0 is [-1.0, NaN, 0.0]; allowed: -1e9 to 1e9")
    );
    let text = refusal(
        &Sheet::new("b.gltf", "{\"asset\": {\"version\": \"2.0\"},\n \"nodes\": [{\"mesh\": \"a\"}]}").path(),
    );
    assert!(text.starts_with("2:") && text.contains("nodes[0].mesh: invalid type: string"), "{text}");
}

#[test]
fn what_a_gltf_file_asks_for_beyond_is_told_once() {
    let sheet = square_gltf(|f| {
        f["extensionsUsed"] = json!(["KHR_materials_sheen", "KHR_materials_ior"]);
        f["animations"] = json!([{}]);
        f["materials"][0]["alphaMode"] = json!("BLEND");
        let lines = json!({"attributes": {"POSITION": 0}, "mode": 1});
        let primitives = f["meshes"][0]["primitives"].as_array_mut().expect("a list");
        primitives.extend([lines.clone(), lines]);
    });
    let model = good(&sheet.path());
    let told: Vec<_> =
        model.warnings.iter().map(|w| w.split_once("s.gltf: ").expect("the file first").1).collect();
    assert_eq!(
        told,
        [
            "the extension `KHR_materials_sheen` is left out",
            "animations are left out",
            "materials[0]: is to be blended, and is cut out at alpha 0.5 instead",
            "meshes[0].primitives[1]: points and lines are left out (and 1 more such cases)",
        ]
    );
}

#[test]
fn strips_fans_and_lists_make_the_same_square() {
    for (mode, indices, front) in
        [(4, vec![0u16, 1, 2, 0, 2, 3], 1.0), (5, vec![0, 1, 3, 2], 1.0), (6, vec![0, 1, 2, 3], 1.0)]
    {
        let mut bytes = square();
        bytes.truncate(96);
        bytes.extend(indices.iter().flat_map(|i| i.to_le_bytes()));
        bytes.resize(108, 0);
        let sheet = square_gltf(|f| {
            f["accessors"][2]["count"] = json!(indices.len());
            f["meshes"][0]["primitives"][0]["mode"] = json!(mode);
        });
        let sheet = sheet.also("square.bin", bytes);
        assert_area(&sheet.path(), 2, 4.0);
        let mesh = &good(&sheet.path()).meshes[0];
        for t in &mesh.triangles {
            let [a, b, c] = t.map(|i| mesh.positions[i as usize]);
            assert_eq!((b - a).cross(c - a).z.signum(), front, "mode {mode} {t:?}");
        }
    }
}

#[test]
fn sparse_accessors_put_their_values_over_the_others() {
    // The third corner moves to (1, 3); then the same over zeros alone.
    let mut bytes = square();
    bytes.extend([2u8, 0, 0, 0]);
    bytes.extend([1.0f32, 3.0, 0.0].iter().flat_map(|f| f.to_le_bytes()));
    for based in [true, false] {
        let sheet = square_gltf(|f| {
            f["buffers"][0]["byteLength"] = json!(124);
            f["bufferViews"]
                .as_array_mut()
                .expect("a list")
                .push(json!({"buffer": 0, "byteOffset": 108, "byteLength": 16}));
            f["accessors"][0]["sparse"] = json!({
                "count": 1,
                "indices": {"bufferView": 2, "componentType": 5121},
                "values": {"bufferView": 2, "byteOffset": 4},
            });
            if !based {
                f["accessors"][0].as_object_mut().expect("a table").remove("bufferView");
            }
        });
        let sheet = sheet.also("square.bin", &bytes);
        let model = good(&sheet.path());
        match based {
            true => assert_eq!(model.meshes[0].positions[2], Vec3::new(1.0, 3.0, 0.0)),
            false => {
                assert_eq!((model.degenerate, model.meshes.len()), (2, 0), "three corners at the origin")
            }
        }
    }
}

#[test]
fn nodes_without_size_are_left_out_and_transforms_multiply() {
    let sheet = square_gltf(|f| {
        f["scenes"][0]["nodes"] = json!([0, 2]);
        let turn = json!([0, 0, 0.5f64.sqrt(), 0.5f64.sqrt()]);
        f["nodes"] = json!([
            {"translation": [10, 0, 0], "rotation": turn, "children": [1]},
            {"mesh": 0, "scale": [2, 1, 1], "translation": [5, 0, 0]},
            {"mesh": 0, "scale": [0, 1, 1]},
        ]);
    });
    let model = good(&sheet.path());
    assert_eq!(model.instances.len(), 1);
    // (1, 0, 0) is stretched to 2, moved to 7, turned to (0, 7) and moved.
    let place = model.instances[0].transform.transform_point3(Vec3::X);
    assert!(place.abs_diff_eq(Vec3::new(10.0, 7.0, 0.0), 1e-5), "{place}");
    assert!(model.warnings[0].contains("nodes[2]: is scaled to nothing; its mesh is left out"));
}

#[test]
fn lights_stand_where_their_nodes_are() {
    let sheet = square_gltf(|f| {
        f["extensionsUsed"] = json!(["KHR_lights_punctual"]);
        f["extensions"] = json!({"KHR_lights_punctual": {"lights": [
            {"type": "directional", "color": [1, 0.5, 0], "intensity": 4},
            {"type": "point", "intensity": 10},
            {"type": "spot", "spot": {"innerConeAngle": 0, "outerConeAngle": std::f64::consts::FRAC_PI_3}},
        ]}});
        let light = |i: usize| json!({"KHR_lights_punctual": {"light": i}});
        f["scenes"][0]["nodes"] = json!([0, 1, 2]);
        let half = 0.5f64.sqrt();
        f["nodes"] = json!([
            {"extensions": light(0), "rotation": [-half, 0, 0, half]},
            {"extensions": light(1), "translation": [1, 2, 3]},
            {"extensions": light(2), "translation": [1, 2, 3]},
        ]);
    });
    let lamps = good(&sheet.path()).lamps;
    let Light::Directional { direction, color } = lamps[0] else { panic!("{lamps:?}") };
    assert!(direction.abs_diff_eq(Vec3::Y, 1e-6), "it shines down, so the light is up: {direction}");
    assert_eq!(color, Vec3::new(4.0, 2.0, 0.0));
    assert_eq!(lamps[1], Light::Point { position: Vec3::new(1.0, 2.0, 3.0), color: Vec3::splat(10.0) });
    let Light::Spot { direction, cosines, .. } = lamps[2] else { panic!("{lamps:?}") };
    assert_eq!((direction, cosines), (Vec3::NEG_Z, [1.0, 0.5]));
}

#[test]
fn materials_say_what_gltf_says() {
    let sheet = square_gltf(|f| {
        f["materials"][0] = json!({
            "name": "all",
            "pbrMetallicRoughness": {"baseColorFactor": [0.1, 0.2, 0.3, 0.4], "metallicFactor": 0.5, "roughnessFactor": 0.25},
            "emissiveFactor": [1, 0.5, 0],
            "alphaMode": "MASK",
            "alphaCutoff": 0.25,
            "doubleSided": true,
            "extensions": {
                "KHR_materials_emissive_strength": {"emissiveStrength": 8},
                "KHR_materials_ior": {"ior": 1.33},
                "KHR_materials_specular": {"specularFactor": 0.5, "specularColorFactor": [1, 0.5, 0.25]},
                "KHR_materials_transmission": {"transmissionFactor": 1},
            },
        });
        let bare = json!({"attributes": {"POSITION": 0}, "indices": 2});
        f["meshes"][0]["primitives"].as_array_mut().expect("a list").push(bare);
    });
    let model = good(&sheet.path());
    let wanted = Surface {
        name: "all".into(),
        base_color: Vec3::new(0.1, 0.2, 0.3),
        metallic: 0.5,
        roughness: 0.25,
        emission: Vec3::new(8.0, 4.0, 0.0),
        specular: 0.5,
        specular_color: Vec3::new(1.0, 0.5, 0.25),
        ior: 1.33,
        glass: true,
        alpha: 0.4,
        alpha_cutoff: Some(0.25),
        double_sided: true,
        ..Surface::default()
    };
    assert_eq!(model.surfaces, [wanted, Surface::default()]);
    assert!(model.warnings.is_empty(), "{:?}", model.warnings);
}

#[test]
fn the_sampler_holds_what_its_generator_put_there() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/sampler/sampler.gltf");
    let model = good(&file);
    assert!(model.warnings.is_empty() && model.degenerate == 0, "{:?}", model.warnings);
    assert_eq!((model.surfaces.len(), model.images.len(), model.lamps.len()), (17, 5, 3));
    let files = ["sampler.bin", "tiles.jpg", "bumps.png", "rings.png", "glow.png", "holes.png"];
    assert_eq!(model.files, files.map(|name| file.with_file_name(name)));
    // 16 balls of 48 x 23 cells of two triangles, a floor and a panel.
    assert_eq!(Summary::of(&model).triangles, 16 * 2208 + 4);
    let bumpy = model.surfaces.iter().position(|s| s.name == "bumpy").expect("it is there") as u32;
    let mesh = model.meshes.iter().find(|m| m.surfaces[0] == bumpy).expect("it is worn");
    for ((normal, tangent), uv) in mesh.normals.iter().zip(&mesh.tangents).zip(&mesh.uvs) {
        // Where u grows, the ball's surface goes round to the right, seen from outside.
        let along = tangent.truncate();
        assert!((along.length() - 1.0).abs() < 1e-5 && along.dot(*normal).abs() < 1e-5 && tangent.w == 1.0);
        let right = Vec3::Y.cross(*normal);
        // At the poles and beside them only the length holds.
        if (0.1..0.9).contains(&uv.y) {
            assert!(along.dot(right.normalize()) > 0.99, "{along} at {normal}");
        }
    }
}

#[test]
fn jpeg_textures_are_decoded() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/sampler/tiles.jpg");
    let image = model::image::load(&file).expect("a good picture");
    let Texels::Bytes(texels) = &image.texels else { panic!("8 bits") };
    assert_eq!((image.width, image.height, texels.len()), (64, 64, 64 * 64));
    // The stones as tools/make-sampler.py paints them.
    for (x, y, stone) in
        [(5u32, 5u32, [122.0, 128.0, 138.0]), (40, 5, [196.0, 186.0, 168.0]), (50, 50, [122.0, 128.0, 138.0])]
    {
        let shade = 12.0 * (f64::from(x) * 0.31).sin() * (f64::from(y) * 0.23).sin();
        let [r, g, b, a] = texels[(y * 64 + x) as usize];
        for (got, wanted) in [r, g, b].into_iter().zip(stone) {
            assert!((f64::from(got) - wanted - shade).abs() < 8.0, "{x} {y}: {got}, {}", wanted + shade);
        }
        assert_eq!(a, 255);
    }
    let mut bytes = std::fs::read(&file).expect("shipped");
    bytes.truncate(bytes.len() / 2);
    let error = model::image::decode(Path::new("half.jpg"), &bytes).expect_err("half a picture").to_string();
    assert!(error.starts_with("half.jpg: is broken: "), "{error}");
}

#[test]
fn radiance_pictures_are_linear() {
    let mut bytes = b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 2\n".to_vec();
    bytes.extend([128, 64, 32, 129, 0, 0, 0, 0]);
    let image = model::image::decode(Path::new("a.hdr"), &bytes).expect("a good picture");
    assert_eq!(image.texels, Texels::Floats(vec![[1.0, 0.5, 0.25], [0.0; 3]]));
}

#[test]
fn mirrored_texture_coordinates_split_their_vertices() {
    // Two triangles share an edge; u runs out from it on both sides.
    let obj = "mtllib m.mtl\nv 0 0 0\nv 0 1 0\nv 1 0 0\nv -1 0 0\nvt 0 0\nvt 0 1\nvt 1 0\nvn 0 0 1\nusemtl m\n\
               f 1/1/1 3/3/1 2/2/1\nf 1/1/1 2/2/1 4/3/1\n";
    let dot = std::fs::read(case("E34/corners.png")).expect("shipped");
    let sheet = Sheet::new("m.obj", obj).also("m.mtl", "newmtl m\nnorm dot.png\n").also("dot.png", dot);
    let mesh = &good(&sheet.path()).meshes[0];
    assert_eq!((mesh.positions.len(), mesh.tangents.len()), (6, 6), "the two on the edge are there twice");
    for (triangle, along) in mesh.triangles.iter().zip([Vec3::X, Vec3::NEG_X]) {
        for &corner in triangle {
            let (normal, tangent) = (mesh.normals[corner as usize], mesh.tangents[corner as usize]);
            assert_eq!(tangent.truncate(), along);
            // OBJ's v runs up, and so do normal textures' green: the bitangent of both sides is +y.
            assert_eq!(normal.cross(tangent.truncate()) * tangent.w, Vec3::Y);
        }
    }
}

/// What the program prints about a file.
fn info(options: &[&str]) -> String {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_rayq")).arg("info").args(options).output();
    let output = output.expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn info_tells_what_was_understood() {
    let row = case("E21/row.gltf").display().to_string();
    let text = info(&[&row]);
    for line in ["triangles   8", "area        16.000000", "meshes      4, as 4 instances", "lights      0"] {
        assert!(text.contains(&format!("  {line}\n")), "{text}");
    }
    let json: Value = serde_json::from_str(&info(&["--json", &row])).expect("JSON");
    assert_eq!((&json["triangles"], &json["area"]), (&json!(8), &json!(16.0)));
    assert_eq!(json["bounds"], json!([[-7.0, -1.0, 0.0], [7.0, 1.0, 0.0]]));
    let degenerate = info(&[&case("E15/deg.obj").display().to_string()]);
    assert!(degenerate.contains("triangles   1, 2 degenerate ones left out"), "{degenerate}");
    let scene = info(&["--json", &case("E11/penta.json").display().to_string()]);
    let scene: Value = serde_json::from_str(&scene).expect("JSON");
    assert_eq!(scene["triangles"], json!(3));
    assert!((scene["area"].as_f64().expect("a number") - 2.377_641).abs() < 1e-6);
}

//! OBJ and MTL files.

use super::{Sheet, assert_area, case, good, refusal};
use glam::{Vec2, Vec3};
use rayq::file::Files;
use rayq::model;
use std::path::Path;

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
    let files = Files::default();
    let model = model::load_noting(&case("E34/v.obj"), &files).expect("a good model");
    assert_eq!(model.meshes[0].uvs[0], Vec2::new(0.25, 0.75));
    assert_eq!((model.images[0].width, model.images[0].height), (2, 2));
    let surface = &model.surfaces[0];
    assert_eq!((surface.name.as_str(), surface.base_color, surface.specular), ("m", Vec3::ONE, 0.0));
    assert!(surface.base_texture.is_some() && surface.double_sided && model.warnings.is_empty());
    assert_eq!(files.paths(), ["corners.png", "v.mtl", "v.obj"].map(|name| case("E34").join(name)));
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

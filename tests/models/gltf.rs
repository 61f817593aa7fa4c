//! What glTF files are read as.

use super::{assert_area, case, good, refusal, square, square_gltf};
use glam::Vec3;
use rayq::file::Files;
use rayq::model::{self, Light, Summary, Surface};
use serde_json::{Value, json};
use std::path::Path;

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
    let files = Files::default();
    let model = model::load_noting(&file, &files).expect("a good model");
    assert!(model.warnings.is_empty() && model.degenerate == 0, "{:?}", model.warnings);
    assert_eq!((model.surfaces.len(), model.images.len(), model.lamps.len()), (17, 5, 3));
    let names =
        ["bumps.png", "glow.png", "holes.png", "rings.png", "sampler.bin", "sampler.gltf", "tiles.jpg"];
    assert_eq!(files.paths(), names.map(|name| file.with_file_name(name)));
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

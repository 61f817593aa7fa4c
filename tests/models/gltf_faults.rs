//! glTF and GLB files with something wrong or beyond what is read, and where messages point.

use super::{Sheet, assert_area, case, glb, good, refusal, square, square_gltf, square_json};
use serde_json::{Value, json};

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
        "nodes[0].children: there is no nodes[7]; there are 1, numbered 0 to 0"
    );
    assert_eq!(
        refused(json!([{}, {}]), json!([2])),
        "scenes[0].nodes: there is no nodes[2]; there are 2, numbered 0 to 1"
    );
    assert_eq!(refused(json!([]), json!([0])), "scenes[0].nodes: there is no nodes[0]; there are none");
    assert!(refused(json!([{}]), json!([-1])).ends_with("expected an index, a whole number from 0 up"));
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

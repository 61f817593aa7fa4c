//! Models: what OBJ and glTF files are read as, what is refused, and where an error points.

mod gltf;
mod gltf_faults;
mod obj;
mod pictures;

use rayq::model::{self, Model, Summary};
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
    for line in [
        "triangles   8 placed, 8 stored",
        "area        16.000000",
        "meshes      4, as 4 instances",
        "lights      0",
    ] {
        assert!(text.contains(&format!("  {line}\n")), "{text}");
    }
    let json: Value = serde_json::from_str(&info(&["--json", &row])).expect("JSON");
    assert_eq!((&json["triangles"], &json["area"]), (&json!(8), &json!(16.0)));
    assert_eq!(json["bounds"], json!([[-7.0, -1.0, 0.0], [7.0, 1.0, 0.0]]));
    let degenerate = info(&[&case("E15/deg.obj").display().to_string()]);
    assert!(
        degenerate.contains("triangles   1 placed, 1 stored, 2 degenerate ones left out"),
        "{degenerate}"
    );
    let scene = info(&["--json", &case("E11/penta.json").display().to_string()]);
    let scene: Value = serde_json::from_str(&scene).expect("JSON");
    assert_eq!(scene["triangles"], json!(3));
    assert!((scene["area"].as_f64().expect("a number") - 2.377_641).abs() < 1e-6);
}

//! Writing a view back: the scene file's text with another camera, all else as it was.

use crate::error::{Error, Result};
use crate::scene::{Camera, Format, Scene};
use glam::DVec3;
use std::path::Path;

/// The text of the scene file at `path` with the camera at `camera`, looking at a point `distance` ahead. Paths
/// in it stay relative to the folder of `path`.
///
/// # Errors
/// [`Error::Input`] if the file is gone or no longer a scene.
pub fn with_camera(path: &Path, camera: &Camera, distance: f64) -> Result<String> {
    let format = Format::of(path)?;
    let fail = |why: &dyn std::fmt::Display| Error::Input(format!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|e| fail(&e))?;
    let text = text.trim_start_matches('\u{feff}');
    let keys = keys(camera, distance);
    let copy = match format {
        Format::Toml => {
            let mut document: toml_edit::DocumentMut =
                text.parse().map_err(|e: toml_edit::TomlError| fail(&e.message()))?;
            document["camera"] = toml_edit::Item::Value(inline(&keys));
            document.to_string()
        }
        Format::Json => {
            let mut document: serde_json::Value = serde_json::from_str(text).map_err(|e| fail(&e))?;
            let scene = document.as_object_mut().ok_or_else(|| fail(&"not a scene"))?;
            scene.insert("camera".into(), keys);
            serde_json::to_string_pretty(&document).map_err(|e| fail(&e))? + "\n"
        }
    };
    // What we write, we can read.
    Scene::parse(&copy, format, path)?;
    Ok(copy)
}

/// The keys of the scene format's camera.
fn keys(camera: &Camera, distance: f64) -> serde_json::Value {
    let (eye, forward) = (camera.eye.as_dvec3(), camera.forward.as_dvec3());
    let half_height = f64::from(camera.up.length());
    let list = |v: DVec3| serde_json::json!(v.to_array());
    serde_json::json!({
        "from": list(eye),
        "at": list(eye + forward * distance),
        "vfov_deg": 2.0 * half_height.atan().to_degrees(),
        "plane": {
            "right": list(camera.right.as_dvec3() / half_height),
            "up": list(camera.up.as_dvec3() / half_height),
        },
    })
}

/// The same as a TOML value on one line.
fn inline(value: &serde_json::Value) -> toml_edit::Value {
    match value {
        serde_json::Value::Object(keys) => {
            let table: toml_edit::InlineTable =
                keys.iter().map(|(key, value)| (key, inline(value))).collect();
            table.into()
        }
        serde_json::Value::Array(list) => list.iter().map(inline).collect::<toml_edit::Array>().into(),
        number => number.as_f64().unwrap_or(0.0).into(),
    }
}

//! The tree of nodes: where meshes and lights are.

use super::json::{Index, Node};
use super::source::Source;
use super::trigonometry::sine_and_cosine;
use crate::error::Result;
use crate::model::{Light, Warnings};
use glam::{DAffine3, DMat3, DQuat, DVec3, Vec3};
use std::f64::consts::FRAC_PI_2;

/// Brightest light, as in scenes.
const MAX_RADIANCE: f32 = 1e9;

/// A node of the scene and its place in the world.
pub struct Placed<'a> {
    /// Index of the node.
    pub index: Index,
    /// The node.
    pub node: &'a Node,
    /// From the node's space to the world's.
    pub transform: DAffine3,
}

/// All nodes of the scene, parents before children, without recursion.
pub fn walk<'a>(source: &'a Source) -> Result<Vec<Placed<'a>>> {
    let root = &source.root;
    let parents = parents(source)?;
    let number = root.scene.or((!root.scenes.is_empty()).then_some(0));
    let place = format!("scenes[{}].nodes", number.unwrap_or(0));
    let mut roots: Vec<Index> = match number {
        Some(number) => source.get(&root.scenes, number, "scenes", "scene")?.nodes.clone(),
        None => (0..root.nodes.len()).filter(|&i| parents[i].is_none()).collect(),
    };
    roots.reverse();
    let mut waiting: Vec<(Index, DAffine3)> = roots.into_iter().map(|i| (i, DAffine3::IDENTITY)).collect();
    let (mut seen, mut placed) = (vec![false; root.nodes.len()], vec![]);
    while let Some((index, above)) = waiting.pop() {
        let node = source.get(&root.nodes, index, "nodes", &place)?;
        if std::mem::replace(&mut seen[index], true) {
            return Err(source.fault(reached_twice(index, &parents)));
        }
        let transform = above * local(source, node, index)?;
        waiting.extend(node.children.iter().rev().map(|&child| (child, transform)));
        placed.push(Placed { index, node, transform });
    }
    Ok(placed)
}

/// The parent of each node. No node has two.
fn parents(source: &Source) -> Result<Vec<Option<Index>>> {
    let nodes = &source.root.nodes;
    let mut parents = vec![None; nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        for &child in &node.children {
            source.get(nodes, child, "nodes", format_args!("nodes[{index}].children"))?;
            if let Some(other) = parents[child].replace(index) {
                let text =
                    format!("nodes[{child}]: is a child of nodes[{other}] and again of nodes[{index}]");
                return Err(source.fault(text));
            }
        }
    }
    Ok(parents)
}

/// Why the walk came to a node again: it is below itself, or the scene lists it and a node above it.
fn reached_twice(index: Index, parents: &[Option<Index>]) -> String {
    let mut circle = vec![index];
    while let Some(above) = parents[circle[circle.len() - 1]] {
        circle.push(above);
        if above == index {
            let names: Vec<String> = circle.iter().rev().take(8).map(|i| format!("nodes[{i}]")).collect();
            return format!("{}: the nodes form a cycle", names.join(" > "));
        }
        if circle.len() > parents.len() {
            break;
        }
    }
    format!("nodes[{index}]: the scene reaches it twice")
}

/// A node's own transform.
fn local(source: &Source, node: &Node, index: Index) -> Result<DAffine3> {
    let place = format!("nodes[{index}]");
    let all = |numbers: &[f64]| numbers.iter().all(|n| n.abs() <= 1e18);
    let transform = match &node.matrix {
        Some(m) => {
            if [m[3], m[7], m[11], m[15]] != [0.0, 0.0, 0.0, 1.0] || !all(m) {
                return Err(source.fault(format_args!("{place}: its matrix is not affine")));
            }
            let column = |i: usize| DVec3::new(m[i], m[i + 1], m[i + 2]);
            DAffine3 { matrix3: DMat3::from_cols(column(0), column(4), column(8)), translation: column(12) }
        }
        None => {
            let scale = node.scale.unwrap_or([1.0; 3]);
            let rotation = node.rotation.unwrap_or([0.0, 0.0, 0.0, 1.0]);
            let translation = node.translation.unwrap_or([0.0; 3]);
            let length = DQuat::from_array(rotation).length();
            if !(all(&scale) && all(&translation) && (1e-6..=1e6).contains(&length)) {
                return Err(
                    source.fault(format_args!("{place}: its translation, rotation or scale is out of range"))
                );
            }
            let rotation = DQuat::from_array(rotation) / length;
            DAffine3::from_scale_rotation_translation(scale.into(), rotation, translation.into())
        }
    };
    Ok(transform)
}

/// A node's light. Intensities are taken as they are: one candela, or one lux of a directional light, is 1.
pub fn lamp(
    source: &Source,
    placed: &Placed,
    light: Index,
    warnings: &mut Warnings,
) -> Result<Option<Light>> {
    let place = format!("KHR_lights_punctual.lights[{light}]");
    let lights = &source.root.extensions.lights.lights;
    let light =
        source.get(lights, light, "KHR_lights_punctual.lights", format_args!("nodes[{}]", placed.index))?;
    let intensity = light.intensity.unwrap_or(1.0);
    let color = Vec3::from(light.color.unwrap_or([1.0; 3])) * intensity;
    if !color.to_array().iter().all(|c| (0.0..=MAX_RADIANCE).contains(c)) {
        return Err(
            source.fault(format_args!("{place}: colour times intensity must be 0 to {MAX_RADIANCE:e}"))
        );
    }
    if light.range.is_some() {
        warnings.add("range", || format!("{place}: its range is left out; it reaches on"));
    }
    let position = placed.transform.translation.as_vec3();
    if !position.abs().cmple(Vec3::splat(crate::model::MAX_COORDINATE)).all() {
        return Err(source.fault(format_args!("nodes[{}]: its light is too far away", placed.index)));
    }
    // Lights shine along their -z.
    let axis = placed.transform.matrix3 * DVec3::NEG_Z;
    let Some(axis) = axis.try_normalize().map(|a| a.as_vec3()) else {
        warnings.add("light scale", || {
            format!("nodes[{}]: is scaled to nothing; its light is left out", placed.index)
        });
        return Ok(None);
    };
    Ok(Some(match light.kind.as_str() {
        "directional" => Light::Directional { direction: -axis, color },
        "point" => Light::Point { position, color },
        "spot" => {
            let inner = light.spot.inner_cone_angle.unwrap_or(0.0);
            let outer = light.spot.outer_cone_angle.unwrap_or(std::f64::consts::FRAC_PI_4);
            let cosines = [inner, outer].map(|angle| sine_and_cosine(angle).1 as f32);
            // A hair beyond pi/2 for angles that were rounded up to single precision.
            if !(inner >= 0.0 && outer <= FRAC_PI_2 + 1e-6 && cosines[0] > cosines[1]) {
                let text = format!(
                    "{place}: the cone's angles are {inner} and {outer}; allowed: 0 <= inner < outer <= pi/2"
                );
                return Err(source.fault(text));
            }
            Light::Spot { position, direction: axis, color, cosines: [cosines[0], cosines[1].max(0.0)] }
        }
        other => {
            let text = format!("{place}: unknown type `{other}`; allowed: directional, point, spot");
            return Err(source.fault(text));
        }
    }))
}

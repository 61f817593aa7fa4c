//! The rules of lights and backgrounds.

use super::camera::{cosine_and_sine, unit};
use super::fault::{Checked, Fault, Within};
use super::format::*;
use super::principled::Pictures;
use super::validate::*;
use super::{Background, Light, MAX_LIGHTS, SkyImage};
use glam::Vec3;
use std::ops::RangeInclusive;

/// Degrees of a turn.
const TURNS: RangeInclusive<f64> = -1e6..=1e6;
/// Half of a spot's cone, in degrees.
const CONES: RangeInclusive<f64> = 0.0..=90.0;

/// What rays that hit nothing see: a gradient, and an image in its place.
pub fn background(
    table: BackgroundTable,
    pictures: &mut Pictures,
) -> Checked<(Background, Option<SkyImage>)> {
    let given = [
        ("constant", table.constant.is_some()),
        ("gradient", table.gradient.is_some()),
        ("hdr", table.hdr.is_some()),
    ];
    let mut given = given.iter().filter(|(_, is_there)| *is_there);
    if let (Some((one, _)), Some((other, _))) = (given.next(), given.next()) {
        let message = format!("has no effect beside background.{other}; leave one of them out");
        return Err(Fault::new(message)).within(*one);
    }
    if let Some(file) = table.hdr {
        let sky = sky(&file, table.rotate_deg, table.scale, pictures)?;
        return Ok((Background { down: Vec3::ZERO, up: Vec3::ZERO }, Some(sky)));
    }
    for (key, is_there) in [("rotate_deg", table.rotate_deg.is_some()), ("scale", table.scale.is_some())] {
        if is_there {
            return Err(Fault::new("has no effect without background.hdr; leave it out")).within(key);
        }
    }
    Ok((gradient(table.constant, table.gradient)?, None))
}

fn gradient(constant: Option<Triple>, gradient: Option<Table<GradientTable>>) -> Checked<Background> {
    if let Some(color) = constant {
        let color = triple(color, RADIANCES).within("constant")?;
        return Ok(Background { down: color, up: color });
    }
    let Some(Table(gradient)) = gradient else {
        return Ok(Background { down: Vec3::ONE, up: Vec3::new(0.5, 0.7, 1.0) });
    };
    let end = |color, key| need(color, key).and_then(|c| triple(c, RADIANCES).within(key));
    let ends = end(gradient.down, "down").and_then(|down| Ok((down, end(gradient.up, "up")?)));
    ends.within("gradient").map(|(down, up)| Background { down, up })
}

fn sky(
    file: &str,
    rotate_deg: Option<Real>,
    scale: Option<Real>,
    pictures: &mut Pictures,
) -> Checked<SkyImage> {
    let Real(turn) = rotate_deg.unwrap_or(Real(0.0));
    in_range(Real(turn), TURNS).within("rotate_deg")?;
    let scale = in_range(scale.unwrap_or(Real(1.0)), RADIANCES).within("scale")?;
    let index = pictures.index(file).within("hdr")?;
    let turns = turn / 360.0;
    let sky = SkyImage {
        image: pictures.list[index as usize].clone(),
        turn: (turns - turns.floor()) as f32,
        scale,
    };
    if !sky.brightness().is_finite() || f64::from(sky.brightness()) > *RADIANCES.end() {
        let message =
            format!("{file}: brighter than {:e}, the limit; make background.scale smaller", RADIANCES.end());
        return Err(Fault::new(message)).within("hdr");
    }
    Ok(sky)
}

/// The list of lights.
pub fn lights(entries: Vec<Table<LightEntry>>) -> Checked<Vec<Light>> {
    at_most(MAX_LIGHTS, entries.len(), "lights")?;
    entries.into_iter().enumerate().map(|(i, Table(entry))| light(entry).within(i)).collect()
}

fn light(mut entry: LightEntry) -> Checked<Light> {
    let kind = need(entry.kind.take(), "type")?;
    let color = triple(entry.color.take().unwrap_or(Triple::of(1.0)), RADIANCES).within("color")?;
    let light = match kind.as_str() {
        "directional" => {
            let direction = direction(need(entry.direction.take(), "direction")?).within("direction")?;
            Light::Directional { direction: direction.as_vec3(), color }
        }
        "point" => {
            let position = point(need(entry.position.take(), "position")?).within("position")?;
            Light::Point { position: position.as_vec3(), color }
        }
        "spot" => spot(&mut entry, color)?,
        _ => return Err(unknown(&kind, &["directional", "point", "spot"])).within("type"),
    };
    let left = [
        ("direction", entry.direction.is_some()),
        ("position", entry.position.is_some()),
        ("at", entry.at.is_some()),
        ("inner_deg", entry.inner_deg.is_some()),
        ("outer_deg", entry.outer_deg.is_some()),
    ];
    no_other_keys(&kind, &left)?;
    Ok(light)
}

fn spot(entry: &mut LightEntry, color: Vec3) -> Checked<Light> {
    let position = point(need(entry.position.take(), "position")?).within("position")?;
    let at = point(need(entry.at.take(), "at")?).within("at")?;
    let direction = unit(at - position);
    let direction = direction.ok_or_else(|| Fault::new("the same place as position; move one of them"));
    let degrees = |value: Option<Real>, default: f64, key: &str| {
        let Real(degrees) = value.unwrap_or(Real(default));
        in_range(Real(degrees), CONES).within(key).map(|_| degrees)
    };
    let outer = degrees(entry.outer_deg.take(), 45.0, "outer_deg")?;
    let inner = degrees(entry.inner_deg.take(), 0.0, "inner_deg")?;
    if inner >= outer {
        let message = format!("{inner} is not less than outer_deg, {outer}; make it smaller");
        return Err(Fault::new(message)).within("inner_deg");
    }
    let cosines = [inner, outer].map(|degrees| cosine_and_sine(degrees).0 as f32);
    let direction = direction.within("at")?.as_vec3();
    Ok(Light::Spot { position: position.as_vec3(), direction, color, cosines })
}

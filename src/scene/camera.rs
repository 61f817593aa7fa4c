//! The eye: where it is and which directions its image spans.

use super::fault::{Checked, Fault, Within};
use glam::{DVec3, Vec3};

/// A pinhole camera. The ray through the image's point (x, y), both -1..1 from left to right and bottom to top,
/// goes along `forward + x * aspect * right + y * up`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Where rays start.
    pub eye: Vec3,
    /// Unit vector through the image's middle.
    pub forward: Vec3,
    /// Half the image's height to the right, at distance 1.
    pub right: Vec3,
    /// Half the image's height up, at distance 1.
    pub up: Vec3,
}

/// Sines of the angle between view and up that are too small to tell where up is.
const NEARLY_PARALLEL: f64 = 1e-6;

/// How the image plane lies in space.
pub enum Orientation {
    /// Across the view, this vector pointing up in the image.
    Up(DVec3),
    /// Along these vectors, as they are.
    Plane(DVec3, DVec3),
}

impl Camera {
    /// A camera at `from` that looks at `at`, with a vertical field of view of `vfov_deg` degrees.
    pub fn new(from: DVec3, at: DVec3, orientation: Orientation, vfov_deg: f64) -> Checked<Camera> {
        let forward = unit(at - from)
            .ok_or_else(|| Fault::new("the same place as camera.from; move one of them"))
            .within("at")?;
        let half_height = half_tangent(vfov_deg);
        let (right, up) = match orientation {
            Orientation::Up(up) => across(forward, up).within("up")?,
            Orientation::Plane(right, up) => {
                let flat =
                    unit(right).zip(unit(up)).is_none_or(|(r, u)| r.cross(u).length() < NEARLY_PARALLEL);
                if flat {
                    return Err(Fault::new("right and up do not span a plane; turn one of them"))
                        .within("plane");
                }
                (right, up)
            }
        };
        Ok(Camera {
            eye: from.as_vec3(),
            forward: forward.as_vec3(),
            right: (right * half_height).as_vec3(),
            up: (up * half_height).as_vec3(),
        })
    }
}

/// Unit vectors right and up, across `forward`. Where `wanted` points along the view, any up is as good as
/// another: the axis that lies most across takes its place.
fn across(forward: DVec3, wanted: DVec3) -> Checked<(DVec3, DVec3)> {
    let wanted =
        unit(wanted).ok_or_else(|| Fault::new("has length 0; give a direction, such as [0, 1, 0]"))?;
    let axis = match forward.abs() {
        f if f.x <= f.y && f.x <= f.z => DVec3::X,
        f if f.y <= f.z => DVec3::Y,
        _ => DVec3::Z,
    };
    let beside = |up: DVec3| Some(forward.cross(up)).filter(|right| right.length() > NEARLY_PARALLEL);
    let right = beside(wanted).and_then(unit).or_else(|| unit(forward.cross(axis)));
    let right = right.expect("the axis least along a unit vector is not parallel to it");
    Ok((right, right.cross(forward)))
}

/// The vector at length 1, if it has a length.
pub fn unit(v: DVec3) -> Option<DVec3> {
    // Scaled first, so that no square overflows or vanishes.
    let scale = v.abs().max_element();
    let v = v / scale;
    v.is_finite().then(|| v / v.length())
}

/// tan(degrees / 2) for 0 < degrees < 180, from IEEE operations alone; 90 gives exactly 1.
fn half_tangent(degrees: f64) -> f64 {
    match degrees {
        90.0 => 1.0,
        d if d > 90.0 => 1.0 / half_tangent(180.0 - d),
        d => tangent(d * (std::f64::consts::PI / 360.0)),
    }
}

/// Cosine and sine of an angle, from IEEE operations alone; multiples of 90 degrees give exact numbers.
pub fn cosine_and_sine(degrees: f64) -> (f64, f64) {
    let turns = degrees / 360.0;
    let rest = (turns - turns.floor()) * 360.0;
    let (rest, sign) = if rest > 180.0 { (360.0 - rest, -1.0) } else { (rest, 1.0) };
    match rest {
        0.0 => (1.0, 0.0),
        180.0 => (-1.0, 0.0),
        _ => {
            let t = half_tangent(rest);
            let scale = 1.0 / (1.0 + t * t);
            ((1.0 - t * t) * scale, sign * 2.0 * t * scale)
        }
    }
}

/// tan(x) for 0 <= x <= pi/4 by Taylor's series of sine and cosine; what they leave out is below 2^-60.
fn tangent(x: f64) -> f64 {
    // Both are 1 - x²/a(1 - x²/b(1 - ...)), with a, b, ... the products of neighbouring whole numbers.
    let series = |first: u32| {
        let factors = (0..9).rev().map(|i| f64::from((first + 2 * i) * (first + 2 * i + 1)));
        factors.fold(1.0, |inner, factor| 1.0 - x * x / factor * inner)
    };
    x * series(2) / series(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tangents_are_right_to_the_last_places() {
        for tenth in 1..1800 {
            let degrees = f64::from(tenth) / 10.0;
            let exact = (degrees / 2.0).to_radians().tan();
            // Near 180 the reference loses places: its argument is rounded close to a pole.
            let places = if degrees < 90.0 { 1e-15 } else { 1e-12 };
            assert!((half_tangent(degrees) / exact - 1.0).abs() < places, "{degrees}");
        }
        assert_eq!(half_tangent(90.0), 1.0);
    }

    #[test]
    fn cosines_and_sines_are_right() {
        for tenth in -7200..7200 {
            let degrees = f64::from(tenth) / 10.0;
            let (cosine, sine) = cosine_and_sine(degrees);
            let exact = degrees.to_radians();
            assert!((cosine - exact.cos()).abs() < 1e-14 && (sine - exact.sin()).abs() < 1e-14, "{degrees}");
        }
        assert_eq!(
            [0.0, 90.0, 180.0, -90.0].map(cosine_and_sine),
            [(1., 0.), (0., 1.), (-1., 0.), (0., -1.)]
        );
    }

    #[test]
    fn the_basis_is_orthonormal_for_every_view() {
        let mut views = vec![DVec3::X, -DVec3::Y, DVec3::Y, DVec3::Z, DVec3::new(1e-9, -1.0, 0.0)];
        views.push(DVec3::new(1.0, 2.0, 3.0));
        for forward in views.into_iter().filter_map(unit) {
            let (right, up) = across(forward, DVec3::Y * 7.0).expect("up has a length");
            assert!((right.length() - 1.0).abs() < 1e-12 && (up.length() - 1.0).abs() < 1e-12);
            assert!(
                right.dot(forward).abs() < 1e-12
                    && up.dot(right).abs() < 1e-12
                    && up.dot(forward).abs() < 1e-12
            );
        }
    }

    #[test]
    fn unit_keeps_tiny_and_huge_directions() {
        assert_eq!(unit(DVec3::new(0.0, 1e-300, 0.0)), Some(DVec3::Y));
        assert_eq!(unit(DVec3::new(0.0, -1e300, 0.0)), Some(-DVec3::Y));
        assert_eq!(unit(DVec3::ZERO), None);
    }
}

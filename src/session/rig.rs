//! Moving the camera: around what it looks at, along the picture, through the scene.

use crate::scene::{Camera, Scene};
use glam::{DQuat, DVec3};

/// The view comes no closer than this to straight up or down, in radians: left and right stay what they are.
const POLE: f64 = 0.02;
/// Nothing in a scene is usefully nearer or farther than this.
const DISTANCES: (f64, f64) = (1e-4, 1e6);

/// A camera that moves as a whole: the shape of its image plane stays as the scene has it.
#[derive(Clone, Debug)]
pub struct Rig {
    home: Pose,
    now: Pose,
    /// The coordinate axis that is up in the scene's own view.
    axis: DVec3,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Pose {
    eye: DVec3,
    forward: DVec3,
    right: DVec3,
    up: DVec3,
    /// From the eye to what it turns around.
    distance: f64,
}

impl Rig {
    /// The scene's own view.
    pub fn new(scene: &Scene) -> Rig {
        let camera = &scene.camera;
        let home = Pose {
            eye: camera.eye.as_dvec3(),
            forward: camera.forward.as_dvec3(),
            right: camera.right.as_dvec3(),
            up: camera.up.as_dvec3(),
            distance: distance_ahead(scene),
        };
        Rig { home, now: home, axis: nearest_axis(home.up) }
    }

    /// The camera where it is now; bit for bit the scene's where it never moved.
    pub fn camera(&self) -> Camera {
        let Pose { eye, forward, right, up, .. } = self.now;
        Camera { eye: eye.as_vec3(), forward: forward.as_vec3(), right: right.as_vec3(), up: up.as_vec3() }
    }

    /// The point that the camera turns around.
    pub fn pivot(&self) -> DVec3 {
        self.now.eye + self.now.forward * self.now.distance
    }

    /// From the eye to that point.
    pub fn distance(&self) -> f64 {
        self.now.distance
    }

    /// Back to the scene's own view.
    pub fn reset(&mut self) {
        self.now = self.home;
    }

    /// Goes around what is in the middle of the picture: to the right and up, in radians.
    pub fn orbit(&mut self, right: f32, up: f32) {
        let pivot = self.pivot();
        self.turn(-right, -up);
        self.now.eye = pivot - self.now.forward * self.now.distance;
        self.keep_finite();
    }

    /// Looks to the right and up, in radians.
    pub fn turn(&mut self, right: f32, up: f32) {
        let (right, up) = (f64::from(right) % std::f64::consts::TAU, f64::from(up));
        let height = self.now.forward.angle_between(self.axis);
        // A view that starts beyond the limit may move away from the pole, not towards it.
        let (least, most) = ((height - (std::f64::consts::PI - POLE)).min(0.0), (height - POLE).max(0.0));
        let pitch = DQuat::from_axis_angle(self.now.right.normalize(), up.clamp(least, most));
        let turn = DQuat::from_axis_angle(self.axis, -right) * pitch;
        self.now.forward = (turn * self.now.forward).normalize();
        self.now.right = turn * self.now.right;
        self.now.up = turn * self.now.up;
        self.keep_finite();
    }

    /// Moves along the picture: to the right and up, in heights of the picture at the middle's distance.
    pub fn pan(&mut self, right: f32, up: f32) {
        let by = self.now.right * f64::from(right) + self.now.up * f64::from(up);
        self.now.eye += by * 2.0 * self.now.distance;
        self.keep_finite();
    }

    /// Goes to `factor` of the distance from what is in the middle of the picture.
    pub fn zoom(&mut self, factor: f32) {
        let pivot = self.pivot();
        self.now.distance = (self.now.distance * f64::from(factor)).clamp(DISTANCES.0, DISTANCES.1);
        self.now.eye = pivot - self.now.forward * self.now.distance;
        self.keep_finite();
    }

    /// Flies to the right, up and forward, in distances from which the scene's own view sees its middle.
    pub fn fly(&mut self, right: f32, up: f32, forward: f32) {
        let across = self.now.right.normalize() * f64::from(right);
        let by = across + self.axis * f64::from(up) + self.now.forward * f64::from(forward);
        self.now.eye += by * self.home.distance;
        self.keep_finite();
    }

    /// Whatever was asked for, rays start somewhere: a view without a place goes home.
    fn keep_finite(&mut self) {
        let Pose { eye, forward, right, up, distance } = self.now;
        let far = eye.abs().max_element() > DISTANCES.1;
        if far || !(eye + forward + right + up).is_finite() || !distance.is_finite() {
            self.reset();
        }
    }
}

/// How far the camera sees in its middle; where that is nothing, how far the origin lies ahead, at least 1.
fn distance_ahead(scene: &Scene) -> f64 {
    let (eye, forward) = (scene.camera.eye.as_dvec3(), scene.camera.forward.as_dvec3());
    let spheres = scene.spheres.iter().map(|sphere| {
        let to = sphere.center.as_dvec3() - eye;
        let (along, radius) = (to.dot(forward), f64::from(sphere.radius));
        let half = (radius * radius - (to.length_squared() - along * along)).sqrt();
        if along > half { along - half } else { along + half }
    });
    let planes = scene.planes.iter().map(|plane| {
        let normal = plane.normal.as_dvec3();
        -(normal.dot(eye) + f64::from(plane.offset)) / normal.dot(forward)
    });
    // Misses are NaN, infinite or behind.
    let ahead = |t: &f64| *t > DISTANCES.0 && *t < DISTANCES.1;
    let nearest = spheres.chain(planes).filter(ahead).min_by(f64::total_cmp);
    nearest.unwrap_or_else(|| (-eye.dot(forward)).max(1.0))
}

fn nearest_axis(up: DVec3) -> DVec3 {
    let size = up.abs();
    let axis = match size.max_element() {
        most if size.y == most => DVec3::Y,
        most if size.z == most => DVec3::Z,
        _ => DVec3::X,
    };
    axis * up.dot(axis).signum()
}

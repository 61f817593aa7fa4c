//! Light in general scenes as kernels read it: surfaces, textures, what can be asked for light, and with what chance.
//!
//! The arrays are those of [`crate::layout::LightingView`].

mod albedo;
mod alias;
mod angle;
mod sky;
mod texture;

pub use albedo::table as albedo_table;
pub use angle::cosine_and_sine;
pub use sky::Sky;
pub use texture::{Textures, Use, srgb_table};

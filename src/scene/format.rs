//! The scene file as it is written: one serde model for TOML and JSON. Everything may be absent here; what must
//! be there, the defaults and the ranges are the business of `validate`.

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// Red, green, blue or x, y, z.
#[derive(Clone, Copy, Debug)]
pub struct Triple(pub [Real; 3]);

impl Triple {
    /// Three times the same.
    pub fn of(value: f64) -> Triple {
        Triple([Real(value); 3])
    }
}

/// Serde's own arrays leave it to the format whether more numbers are wrong, and TOML takes them for right.
impl<'de> Deserialize<'de> for Triple {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TripleVisitor;
        impl<'de> Visitor<'de> for TripleVisitor {
            type Value = Triple;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of length 3")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Triple, A::Error> {
                let mut values = [Real(0.0); 3];
                for (i, value) in values.iter_mut().enumerate() {
                    *value = list.next_element()?.ok_or_else(|| Error::invalid_length(i, &self))?;
                }
                let mut length = 3;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    length += 1;
                }
                match length {
                    3 => Ok(Triple(values)),
                    _ => Err(Error::invalid_length(length, &self)),
                }
            }
        }
        deserializer.deserialize_seq(TripleVisitor)
    }
}
/// A list of tables: `[[name]]` in TOML.
type Entries<T> = Vec<Table<T>>;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SceneFile {
    pub image: Option<Table<ImageTable>>,
    pub camera: Option<Table<CameraTable>>,
    pub render: Option<Table<RenderTable>>,
    pub film: Option<Table<FilmTable>>,
    pub background: Option<Table<BackgroundTable>>,
    pub ambient: Option<Triple>,
    #[serde(default)]
    pub lights: Entries<LightEntry>,
    #[serde(default)]
    pub materials: Entries<MaterialEntry>,
    #[serde(default)]
    pub objects: Entries<ObjectEntry>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageTable {
    pub width: Option<Whole>,
    pub height: Option<Whole>,
    pub spp: Option<Whole>,
    pub max_depth: Option<Whole>,
    pub seed: Option<Whole>,
    pub jitter: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CameraTable {
    pub from: Option<Triple>,
    pub at: Option<Triple>,
    pub up: Option<Triple>,
    pub vfov_deg: Option<Real>,
    pub plane: Option<Table<ImagePlaneTable>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImagePlaneTable {
    pub right: Option<Triple>,
    pub up: Option<Triple>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenderTable {
    pub integrator: Option<String>,
    pub shadows: Option<bool>,
    pub ray_offset: Option<Real>,
    pub russian_roulette_depth: Option<Whole>,
    pub light_sampling: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilmTable {
    pub max_radiance: Option<Real>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackgroundTable {
    pub constant: Option<Triple>,
    pub gradient: Option<Table<GradientTable>>,
    pub hdr: Option<String>,
    pub rotate_deg: Option<Real>,
    pub scale: Option<Real>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GradientTable {
    pub down: Option<Triple>,
    pub up: Option<Triple>,
}

/// A light of any type: the keys of all of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LightEntry {
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub direction: Option<Triple>,
    pub position: Option<Triple>,
    pub at: Option<Triple>,
    pub inner_deg: Option<Real>,
    pub outer_deg: Option<Real>,
    pub color: Option<Triple>,
}

/// A material of any type: the keys of all of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaterialEntry {
    pub name: Option<String>,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub albedo: Option<Triple>,
    pub emission: Option<Triple>,
    pub fuzz: Option<Real>,
    pub ior: Option<Real>,
    pub reflectivity: Option<Real>,
    pub base_color: Option<Triple>,
    pub base_color_texture: Option<String>,
    pub metallic: Option<Real>,
    pub roughness: Option<Real>,
    pub metallic_roughness_texture: Option<String>,
    pub normal_texture: Option<String>,
    pub normal_scale: Option<Real>,
    pub emission_texture: Option<String>,
    pub specular: Option<Real>,
    pub alpha_cutoff: Option<Real>,
}

/// An object of any type: the keys of all of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectEntry {
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub material: Option<String>,
    pub center: Option<Triple>,
    pub radius: Option<Real>,
    pub normal: Option<Triple>,
    pub offset: Option<Real>,
    pub file: Option<String>,
    pub generator: Option<Table<GeneratorTable>>,
    pub specular: Option<bool>,
    pub translate: Option<Triple>,
    pub rotate_deg: Option<Triple>,
    pub scale: Option<Scale>,
}

/// A mesh that is computed, of any kind: the keys of all of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneratorTable {
    pub kind: Option<String>,
    pub subdivisions: Option<Whole>,
    pub amplitude: Option<Real>,
    pub frequency: Option<Real>,
    pub seed: Option<Whole>,
}

/// One factor, or one along each axis.
#[derive(Clone, Copy, Debug)]
pub struct Scale(pub Triple);

impl<'de> Deserialize<'de> for Scale {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ScaleVisitor;
        impl<'de> Visitor<'de> for ScaleVisitor {
            type Value = Scale;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a list of three")
            }
            fn visit_i64<E>(self, value: i64) -> Result<Scale, E> {
                Ok(Scale(Triple::of(value as f64)))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Scale, E> {
                Ok(Scale(Triple::of(value as f64)))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Scale, E> {
                Ok(Scale(Triple::of(value)))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Scale, A::Error> {
                Triple::deserialize(SeqAccessDeserializer::new(list)).map(Scale)
            }
        }
        deserializer.deserialize_any(ScaleVisitor)
    }
}

/// Something written as a table. (A derived structure alone would take a list of its values too.)
#[derive(Debug, Default)]
pub struct Table<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Table<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TableVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for TableVisitor<T> {
            type Value = Table<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Table)
            }
        }
        deserializer.deserialize_map(TableVisitor(PhantomData))
    }
}

/// A number, whole or not.
#[derive(Clone, Copy, Debug)]
pub struct Real(pub f64);

impl<'de> Deserialize<'de> for Real {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RealVisitor;
        impl Visitor<'_> for RealVisitor {
            type Value = Real;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }
            fn visit_i64<E>(self, value: i64) -> Result<Real, E> {
                Ok(Real(value as f64))
            }
            fn visit_i128<E>(self, value: i128) -> Result<Real, E> {
                Ok(Real(value as f64))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Real, E> {
                Ok(Real(value as f64))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Real, E> {
                Ok(Real(value))
            }
        }
        deserializer.deserialize_any(RealVisitor)
    }
}

/// A whole number, written without a point or an exponent.
#[derive(Clone, Copy, Debug)]
pub struct Whole(pub i128);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WholeVisitor;
        impl Visitor<'_> for WholeVisitor {
            type Value = Whole;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number")
            }
            fn visit_i64<E>(self, value: i64) -> Result<Whole, E> {
                Ok(Whole(value.into()))
            }
            fn visit_i128<E>(self, value: i128) -> Result<Whole, E> {
                Ok(Whole(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Whole, E> {
                Ok(Whole(value.into()))
            }
        }
        deserializer.deserialize_any(WholeVisitor)
    }
}

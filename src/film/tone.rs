//! From light to what a screen is told: exposure, a curve for bright light, and the sRGB curve (IEC 61966-2-1), with
//! the same codes on every machine.
//!
//! Encoding goes through a table of thresholds: the code of a value is the number of codes whose lower edge,
//! half-way between two neighbouring codes and decoded to linear light, does not lie above it. Decoding needs
//! x^2.4 only, which is x^2 times a fifth root; that takes IEEE additions, products and quotients, and no
//! library function that differs between platforms.

use std::sync::OnceLock;

/// Exposures are between minus and plus so many stops.
pub const MOST_STOPS: f32 = 30.0;

/// What becomes of light that is brighter than a screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Curve {
    /// Nothing but the sRGB curve: what is brighter than 1 is 1.
    #[default]
    Srgb,
    /// Bright light fades towards white as on film, dark light gains contrast; then the sRGB curve.
    Filmic,
}

/// From the film's light to a screen's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tone {
    /// In stops, each of which doubles the light; within plus and minus 30.
    pub exposure: f32,
    /// What happens to bright light.
    pub curve: Curve,
}

impl Tone {
    /// Of a linear value of the film, the linear value for a screen.
    pub fn mapping(&self) -> impl Fn(f64) -> f64 + Copy + Sync + use<> {
        let (gain, curve) = (exp2(self.exposure.clamp(-MOST_STOPS, MOST_STOPS).into()), self.curve);
        move |linear| match curve {
            Curve::Srgb => linear * gain,
            Curve::Filmic => filmic(linear * gain),
        }
    }
}

/// Krzysztof Narkowicz's fit of the ACES film curve ("ACES Filmic Tone Mapping Curve", 2016): 1 at infinity, about 0.8
/// at 1.
fn filmic(x: f64) -> f64 {
    // Above this the curve is flat, and squares of what is larger would overflow.
    let x = x.min(1e6);
    x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14)
}

/// 2^x for x between -1000 and 1000; exact where x is whole.
fn exp2(x: f64) -> f64 {
    let whole = x.floor();
    let (part, mut term, mut sum) = ((x - whole) * std::f64::consts::LN_2, 1.0, 1.0);
    // The series of the exponential function; its terms fall below 2^-60 before the twentieth.
    for n in 1..=20 {
        term *= part / f64::from(n);
        sum += term;
    }
    sum * power_of_two(whole as i32)
}

/// 2^exponent, for the exponents of normal numbers.
pub fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// Linear light 0..1 of an sRGB signal 0..1.
pub fn decode_srgb(signal: f64) -> f64 {
    if signal <= 0.04045 {
        return signal / 12.92;
    }
    let x = (signal + 0.055) / 1.055;
    x * x * fifth_root(x * x)
}

/// The fifth root of `a` in 0.001..1, by Newton's method from above: it falls until rounding stops it.
fn fifth_root(a: f64) -> f64 {
    let mut root = 1.0;
    loop {
        let power = (root * root) * (root * root);
        let next = root - (root - a / power) / 5.0;
        if next >= root {
            return root;
        }
        root = next;
    }
}

/// Lower edges of the codes 1..=`largest`.
fn thresholds(largest: u32) -> Vec<f64> {
    (1..=largest).map(|code| decode_srgb((f64::from(code) - 0.5) / f64::from(largest))).collect()
}

/// The 8-bit sRGB code nearest to a linear value; values outside 0..1 take the nearest end, NaN gives 0.
pub fn encode_srgb8(linear: f64) -> u8 {
    static TABLE: OnceLock<Vec<f64>> = OnceLock::new();
    TABLE.get_or_init(|| thresholds(u8::MAX.into())).partition_point(|&edge| edge <= linear) as u8
}

/// The 16-bit sRGB code nearest to a linear value; values outside 0..1 take the nearest end, NaN gives 0.
pub fn encode_srgb16(linear: f64) -> u16 {
    static TABLE: OnceLock<Vec<f64>> = OnceLock::new();
    TABLE.get_or_init(|| thresholds(u16::MAX.into())).partition_point(|&edge| edge <= linear) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_codes() {
        let pairs = [(0.0, 0), (0.25, 137), (0.5, 188), (0.75, 225), (1.0, 255), (1e9, 255), (-1.0, 0)];
        for (linear, code) in pairs {
            assert_eq!(encode_srgb8(linear), code, "{linear}");
        }
        assert_eq!(encode_srgb8(f64::NAN), 0);
        assert_eq!(encode_srgb8(f64::INFINITY), 255);
        assert_eq!((encode_srgb16(0.5), encode_srgb16(1.0)), (48192, 65535));
    }

    #[test]
    fn exposures_double() {
        for x in -300..=300 {
            let (x, exact) = (f64::from(x) / 10.0, (f64::from(x) / 10.0).exp2());
            assert!((exp2(x) / exact - 1.0).abs() < 1e-15, "{x}");
        }
        assert_eq!([-30.0, -1.0, 0.0, 3.0].map(exp2), [power_of_two(-30), 0.5, 1.0, 8.0]);
        let two = Tone { exposure: 2.0, ..Tone::default() }.mapping();
        assert_eq!((two(0.25), Tone::default().mapping()(0.3)), (1.0, 0.3), "the default changes nothing");
        let most = Tone { exposure: f32::INFINITY, ..Tone::default() }.mapping();
        assert_eq!(most(1.0), power_of_two(30));
    }

    #[test]
    fn the_filmic_curve_rises_and_ends_in_white() {
        let curve = Tone { curve: Curve::Filmic, ..Tone::default() }.mapping();
        assert_eq!(curve(0.0), 0.0);
        assert!((curve(1.0) - 2.54 / 3.16).abs() < 1e-15);
        let mut before = 0.0;
        for i in 1..2000 {
            let now = curve(f64::from(i) / 100.0);
            assert!(now > before && now < 1.04, "{i}: {now}");
            before = now;
        }
        assert_eq!([1e9, f64::INFINITY].map(|x| encode_srgb8(curve(x))), [255, 255]);
    }

    #[test]
    fn every_code_survives_a_round_trip() {
        for code in 0..=u8::MAX {
            assert_eq!(encode_srgb8(decode_srgb(f64::from(code) / 255.0)), code);
        }
        for code in 0..=u16::MAX {
            assert_eq!(encode_srgb16(decode_srgb(f64::from(code) / 65535.0)), code);
        }
    }

    #[test]
    fn thresholds_are_where_the_rounding_of_the_curve_turns() {
        for (i, edge) in thresholds(255).into_iter().enumerate() {
            let code = i as f64 + 0.5;
            let signal = if edge <= 0.0031308 { edge * 12.92 } else { 1.055 * edge.powf(1.0 / 2.4) - 0.055 };
            assert!((signal * 255.0 - code).abs() < 1e-10, "edge {code}");
        }
    }

    #[test]
    fn fifth_roots_are_right_to_the_last_bits() {
        for i in 1..=1000 {
            let a = f64::from(i) / 1000.0;
            assert!((fifth_root(a).powi(5) / a - 1.0).abs() < 4e-15, "{a}");
        }
    }
}

//! The sRGB curve (IEC 61966-2-1), with the same codes on every machine.
//!
//! Encoding goes through a table of thresholds: the code of a value is the number of codes whose lower edge,
//! half-way between two neighbouring codes and decoded to linear light, does not lie above it. Decoding needs
//! x^2.4 only, which is x^2 times a fifth root; that takes IEEE additions, products and quotients, and no
//! library function that differs between platforms.

use std::sync::OnceLock;

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

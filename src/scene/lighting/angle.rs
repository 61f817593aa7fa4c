//! Sines and cosines from `+ - * /` alone, so that every host makes the same numbers.

use std::f64::consts::FRAC_PI_2;

/// The cosine and sine of an angle given in turns, by Taylor's series; right to the last places but two.
pub fn cosine_and_sine(turns: f64) -> (f64, f64) {
    let quarters = (turns - turns.floor()) * 4.0;
    let nearest = (quarters + 0.5).floor();
    let x = (quarters - nearest) * FRAC_PI_2;
    // Both are 1 - x²/a (1 - x²/b (1 - ...)), with a, b, ... the products of neighbouring whole numbers; what they
    // leave out at pi/4 is below 2^-60.
    let series = |first: u32| {
        let factors = (0..9).rev().map(|i| f64::from((first + 2 * i) * (first + 2 * i + 1)));
        factors.fold(1.0, |inner, factor| 1.0 - x * x / factor * inner)
    };
    let (cosine, sine) = (series(1), x * series(2));
    match nearest as u32 % 4 {
        0 => (cosine, sine),
        1 => (-sine, cosine),
        2 => (-cosine, -sine),
        _ => (sine, -cosine),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_all_around_are_right() {
        for step in -1000..3000 {
            let turns = f64::from(step) / 1000.0;
            let (cosine, sine) = cosine_and_sine(turns);
            let (wanted_sine, wanted_cosine) = (turns * std::f64::consts::TAU).sin_cos();
            assert!((cosine - wanted_cosine).abs() < 1e-14 && (sine - wanted_sine).abs() < 1e-14, "{turns}");
        }
        assert_eq!([0.0, 0.25, 0.5, 0.75].map(|t| cosine_and_sine(t).0), [1.0, 0.0, -1.0, 0.0]);
    }
}

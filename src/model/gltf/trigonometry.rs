//! Sines and cosines of IEEE operations alone, for the same bits on every host.

use std::f64::consts::FRAC_PI_2;

/// Sine and cosine of an angle in radians, to about 1e-15 of 1 for angles of a few turns.
pub fn sine_and_cosine(angle: f64) -> (f64, f64) {
    let quarters = (angle / FRAC_PI_2).round();
    let rest = angle - quarters * FRAC_PI_2;
    // Taylor's series as 1 - x²/a(1 - x²/b(1 - ...)), a, b, ... products of neighbours; |rest| <= pi/4.
    let series = |first: u32| {
        let factors = (0..9).rev().map(|i| f64::from((first + 2 * i) * (first + 2 * i + 1)));
        factors.fold(1.0, |inner, factor| 1.0 - rest * rest / factor * inner)
    };
    let (sine, cosine) = (rest * series(2), series(1));
    match quarters.rem_euclid(4.0) as u32 {
        0 => (sine, cosine),
        1 => (cosine, -sine),
        2 => (-sine, -cosine),
        _ => (-cosine, sine),
    }
}

#[cfg(test)]
mod tests {
    use super::sine_and_cosine;

    #[test]
    fn they_are_right_all_round() {
        for step in -400..=400 {
            let angle = f64::from(step) * 0.05;
            let (sine, cosine) = sine_and_cosine(angle);
            assert!((sine - angle.sin()).abs() < 1e-14 && (cosine - angle.cos()).abs() < 1e-14, "{angle}");
        }
        assert_eq!(sine_and_cosine(0.0), (0.0, 1.0));
        assert_eq!(sine_and_cosine(std::f64::consts::FRAC_PI_2).0, 1.0);
    }
}

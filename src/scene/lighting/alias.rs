//! Tables from which a thing is picked in proportion to its weight, with two random numbers and one look (Walker 1977,
//! made in Vose's way).

use crate::layout::Alias;

/// One place a weight; all zero for weights that are all zero. Weights are finite and not negative.
pub fn aliases(weights: &[f64]) -> Vec<Alias> {
    let total: f64 = weights.iter().sum();
    let even = if total > 0.0 { weights.len() as f64 / total } else { 0.0 };
    let mut shares: Vec<f64> = weights.iter().map(|w| w * even).collect();
    let mut table: Vec<Alias> = (0..weights.len() as u32).map(|i| Alias { chance: 1.0, other: i }).collect();
    let (mut poor, mut rich): (Vec<usize>, Vec<usize>) = (0..shares.len()).partition(|&i| shares[i] < 1.0);
    // Each poor place is filled up by a rich one, which may become poor itself. Those that are left are full, but for
    // rounding.
    while let (Some(&low), Some(&high)) = (poor.last(), rich.last()) {
        poor.pop();
        table[low] = Alias { chance: shares[low] as f32, other: high as u32 };
        shares[high] -= 1.0 - shares[low];
        if shares[high] < 1.0 {
            rich.pop();
            poor.push(high);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often the table picks each place, of 1.
    fn chances(table: &[Alias]) -> Vec<f64> {
        let mut chances = vec![0.0; table.len()];
        for (i, alias) in table.iter().enumerate() {
            chances[i] += f64::from(alias.chance) / table.len() as f64;
            chances[alias.other as usize] += (1.0 - f64::from(alias.chance)) / table.len() as f64;
        }
        chances
    }

    #[test]
    fn tables_pick_in_proportion() {
        let zeros_between = [0.0, 3.0, 0.0, 1.0, 0.0];
        let steep: Vec<f64> = (0..1000).map(|i| f64::from(i).powi(3)).collect();
        for weights in [&[2.0][..], &[1.0; 7], &zeros_between, &steep] {
            let total: f64 = weights.iter().sum();
            for (weight, chance) in weights.iter().zip(chances(&aliases(weights))) {
                assert!((weight / total - chance).abs() < 1e-7, "{weight} of {total}: {chance}");
            }
        }
    }
}

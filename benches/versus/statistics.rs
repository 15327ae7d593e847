//! Medians and the like. What is not a number is left out.

/// The median, and how far the values lie apart.
#[derive(Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) lowest: f64,
    pub(crate) median: f64,
    pub(crate) highest: f64,
}

impl Spread {
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<_> = values.collect();
        let [lowest, highest] = [0.0, 1.0].map(|share| quantile(&mut values, share));
        // Of an even number, between the two in the middle.
        let upper = values.get(values.len() / 2).copied().unwrap_or(f64::NAN);
        let lower = values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN);
        Self { lowest, median: f64::midpoint(lower, upper), highest }
    }
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    Spread::of(values).median
}

/// The value below which this share of all others lies. Sorts the values. NaN if there are none.
pub(crate) fn quantile(values: &mut Vec<f64>, share: f64) -> f64 {
    values.retain(|value| !value.is_nan());
    values.sort_by(f64::total_cmp);
    let index = (values.len() as f64 * share) as usize;
    values.get(index).or(values.last()).copied().unwrap_or(f64::NAN)
}

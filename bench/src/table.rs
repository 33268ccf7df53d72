//! Tables of figures, and their quantiles.

/// Prints rows under a heading; the first row names the columns.
pub(crate) fn print(heading: &str, rows: &[Vec<String>]) {
    println!("\n{heading}");
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            // Names to the left, figures to the right.
            line += &if column == 0 { format!("  {cell:width$}") } else { format!("  {cell:>width$}") };
        }
        println!("{line}");
    }
}

/// Returns the median.
pub(crate) fn median(figures: Vec<f64>) -> f64 {
    quantile(&figures, 0.5)
}

/// Returns the quantile for a share from 0 to 1.
pub(crate) fn quantile(figures: &[f64], share: f64) -> f64 {
    let mut figures = figures.to_vec();
    figures.sort_unstable_by(f64::total_cmp);
    let index = (figures.len() as f64 * share) as usize;
    figures.get(index.min(figures.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

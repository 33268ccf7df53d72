//! Rows of figures, aligned.

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

/// The middle one.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

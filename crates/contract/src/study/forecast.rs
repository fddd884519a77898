//! How many cells the time allows.

/// The cells that are measured within `time`, `certain` of them in any case, and how long they take; both times in
/// seconds.
pub fn forecast(per_cell: f64, time: f64, certain: usize, all: usize) -> (usize, f64) {
    let within = (time.max(0.0) / per_cell.max(f64::MIN_POSITIVE)) as usize;
    let cells = within.max(certain).min(all);
    (cells, per_cell * cells as f64)
}

#[cfg(test)]
mod tests {
    use super::forecast;

    /// As `rate` on a slow network: 135 cells of 5 s in each of three blocks, and 140 s in all.
    #[test]
    fn the_first_block_takes_its_time_and_later_ones_what_is_left() {
        assert_eq!(forecast(5.0, 140.0, 135, 405), (135, 675.0), "the first cell");
        assert_eq!(forecast(5.0, -80.0, 91, 361), (91, 455.0), "the time is over");
        assert_eq!(forecast(0.25, 140.0, 135, 405), (405, 101.25), "a quick network");
        assert_eq!(forecast(0.5, 90.0, 50, 320), (180, 90.0), "not all of what follows");
        assert_eq!(forecast(0.5, 0.1, 1, 80), (1, 0.5), "the last cell");
    }
}

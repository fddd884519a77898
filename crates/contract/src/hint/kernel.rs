//! The serial kernel: bounds that get better with every split.

/// The exact area: 2 ln 2 - 1.
pub const AREA: f64 = 0.386_294_361_119_890_6;

/// The grid of whole numbers over the unit square: both sides are powers of two, and together they
/// have as many bits as the arithmetic is exact in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    /// The number of columns, along x.
    columns: f64,
    /// The number of rows, along y.
    rows: f64,
}

impl Grid {
    /// For double precision, 53 bits: 2^26 columns of 2^27 rows.
    pub const DOUBLE: Self = Self { columns: 67_108_864.0, rows: 134_217_728.0 };

    /// A grid of `bits` bits, half of them for each side; at most 53.
    #[cfg(test)]
    pub fn of_bits(bits: u32) -> Self {
        let bits = bits.clamp(2, 53);
        let side = |bits: u32| f64::from(1u32 << bits);
        Self { columns: side(bits / 2), rows: side(bits - bits / 2) }
    }

    /// Columns: there are never more intervals.
    pub fn columns(self) -> u64 {
        self.columns as u64
    }

    /// Squares of the whole grid.
    fn squares(self) -> f64 {
        self.columns * self.rows
    }

    /// The function at column edge `x`, rounded down and up to whole rows.
    ///
    /// With at most 2^27 rows and a divisor of at most 2^27, a quotient that is not whole lies
    /// further from a whole number than double precision rounds, so neither bound is ever on the
    /// wrong side.
    #[inline]
    fn function(self, x: f64) -> (f64, f64) {
        let exact = self.rows * (self.columns - x) / (self.columns + x);
        let low = exact.floor();
        (low, if low < exact { low + 1.0 } else { low })
    }
}

/// The chunks of the unit interval that one process works on: every `processes`-th of `chunks`
/// times as many, beginning with its own number (scatter decomposition).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessShare {
    /// The process's number, from 0.
    pub rank: u64,
    /// How many processes there are; a power of two.
    pub processes: u64,
    /// Chunks of each; a power of two. They are the intervals to begin with.
    pub chunks: u64,
}

impl ProcessShare {
    /// All of it in one chunk: the serial benchmark.
    pub(crate) const WHOLE: Self = Self { rank: 0, processes: 1, chunks: 1 };

    /// HINT's parallel form: four chunks each.
    pub const fn of_two(rank: u64) -> Self {
        Self { rank, processes: 2, chunks: 4 }
    }
}

/// Bounds of an area, as shares of the unit square.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// The lower bound of the area, as a share of the unit square.
    pub lower: f64,
    /// The upper bound of the area, as a share of the unit square.
    pub upper: f64,
}

impl Bounds {
    /// The sum over two processes.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { lower: self.lower + other.lower, upper: self.upper + other.upper }
    }

    /// Whether the exact area lies between the bounds, as in every valid result.
    pub fn hold(self) -> bool {
        self.lower <= AREA && AREA <= self.upper
    }

    /// The quality of the bounds: 1 over their difference, less 1.
    pub fn quality(self) -> f64 {
        1.0 / (self.upper - self.lower) - 1.0
    }
}

/// An interval with its data, nine numbers as in HINT: the memory that a step touches is part of
/// the measurement.
#[derive(Debug, Clone, Copy)]
struct Rectangle {
    /// Squares below the upper bound.
    area_high: f64,
    /// Squares below the lower bound.
    area_low: f64,
    /// The width in columns.
    width: f64,
    /// The function at the left edge, rounded up and down.
    left: (f64, f64),
    /// The function at the right edge, rounded up and down.
    right: (f64, f64),
    /// The x of the left edge.
    from: f64,
    /// The x of the right edge.
    to: f64,
}

impl Rectangle {
    /// The interval between two edges; the function falls, so the left edge bounds from above and
    /// the right from below.
    #[inline]
    fn new(from: f64, to: f64, left: (f64, f64), right: (f64, f64)) -> Self {
        let width = to - from;
        Self { area_high: width * left.0, area_low: width * right.1, width, left, right, from, to }
    }

    /// The possible gain of a split, by HINT's estimate.
    #[inline]
    fn error(&self) -> f64 {
        let between = self.left.0 - self.right.0 + self.left.1 - self.right.1;
        between * (self.width - 1.0) - ((self.left.1 - self.right.0) * (self.width - 2.0)).max(0.0)
    }
}

/// The kernel with its memory, which is allocated once.
#[derive(Debug, Clone)]
pub struct Kernel {
    grid: Grid,
    share: ProcessShare,
    /// The intervals in the order of their splits; split ones keep their places.
    rectangles: Vec<Rectangle>,
}

impl Kernel {
    /// A kernel for up to `most` intervals.
    ///
    /// # Panics
    /// When the grid has fewer columns than the share has chunks: our own bug.
    pub fn new(grid: Grid, share: ProcessShare, most: u64) -> Self {
        assert!(
            share.processes * share.chunks <= grid.columns(),
            "{share:?} does not fit {grid:?}"
        );
        let most = most.clamp(share.chunks, grid.columns() / share.processes) as usize;
        Self { grid, share, rectangles: Vec::with_capacity(2 * most) }
    }

    /// Bounds of the share from `intervals` intervals (at least one for each chunk, at most as many
    /// as there is room and grid for), computed from the beginning. Does not allocate.
    pub fn run(&mut self, intervals: u64) -> Bounds {
        let (mut high, mut low) = self.begin();
        let room = (self.rectangles.capacity() / 2) as u64;
        let splits = intervals.min(room).saturating_sub(self.share.chunks) as usize;
        // The head of the queue is split, not the largest error of all: children come in order, and
        // the order is nearly that of the errors.
        for head in 0..splits {
            let parent = self.rectangles[head];
            let (first, second) = halves(self.grid, &parent);
            high += first.area_high + second.area_high - parent.area_high;
            low += first.area_low + second.area_low - parent.area_low;
            let (larger, smaller) =
                if second.error() > first.error() { (second, first) } else { (first, second) };
            self.rectangles.push(larger);
            self.rectangles.push(smaller);
        }
        Bounds { lower: low / self.grid.squares(), upper: high / self.grid.squares() }
    }

    /// The chunks, and their squares from above and below.
    fn begin(&mut self) -> (f64, f64) {
        self.rectangles.clear();
        let ProcessShare { rank, processes, chunks } = self.share;
        let width = self.grid.columns / (processes * chunks) as f64;
        let (mut high, mut low) = (0.0, 0.0);
        for chunk in 0..chunks {
            let from = (chunk * processes + rank) as f64 * width;
            let to = from + width;
            let value = |x| {
                let (low, high) = self.grid.function(x);
                (high, low)
            };
            let rectangle = Rectangle::new(from, to, value(from), value(to));
            (high, low) = (high + rectangle.area_high, low + rectangle.area_low);
            self.rectangles.push(rectangle);
        }
        (high, low)
    }
}

/// Both halves of an interval of at least two columns.
#[inline]
fn halves(grid: Grid, parent: &Rectangle) -> (Rectangle, Rectangle) {
    let middle = parent.from + parent.width / 2.0;
    let (low, high) = grid.function(middle);
    let between = (high, low);
    (
        Rectangle::new(parent.from, middle, parent.left, between),
        Rectangle::new(middle, parent.to, between, parent.right),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serial(grid: Grid, intervals: u64) -> Bounds {
        Kernel::new(grid, ProcessShare::WHOLE, intervals).run(intervals)
    }

    fn near(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found}, not {expected}");
    }

    /// A reference run of HINT 1.0 with doubles: Q = n - 1, except for what the grid changes.
    #[test]
    fn the_quality_of_doubles() {
        let table = [
            (2, 1.0000),
            (3, 2.0000),
            (4, 3.0000),
            (5, 4.0000),
            (8, 7.0000),
            (16, 15.0000),
            (64, 62.99997),
            (256, 254.9995),
        ];
        for (intervals, quality) in table {
            near(serial(Grid::DOUBLE, intervals).quality(), quality, 0.000_05);
        }
    }

    #[test]
    fn the_bounds_of_doubles() {
        for (intervals, lower, upper) in
            [(4, 0.269_047_6, 0.519_047_6), (16, 0.355_532_4, 0.418_032_4)]
        {
            let bounds = serial(Grid::DOUBLE, intervals);
            near(bounds.lower, lower, 1e-7);
            near(bounds.upper, upper, 1e-7);
        }
    }

    /// Like `the_quality_of_doubles`, with 8 bits: a grid of 16 by 16 squares.
    #[test]
    fn the_squares_of_bytes() {
        let grid = Grid::of_bits(8);
        let squares = |intervals| {
            let bounds = serial(grid, intervals);
            ((bounds.upper * 256.0) as u32, (bounds.lower * 256.0) as u32)
        };
        assert_eq!(squares(2), (176, 40));
        near(serial(grid, 2).quality(), 0.882_35, 1e-5);
        let between = |intervals| {
            let (upper, lower) = squares(intervals);
            upper - lower
        };
        assert_eq!((between(4), between(8)), (76, 46));
        assert_eq!(Grid::of_bits(53), Grid::DOUBLE);
    }

    #[test]
    fn the_exact_area_is_always_between_the_bounds() {
        for bits in [8, 20, 53] {
            let grid = Grid::of_bits(bits);
            for intervals in (1..=200).filter(|intervals| *intervals <= grid.columns()) {
                assert!(serial(grid, intervals).hold(), "{bits} bits, {intervals} intervals");
            }
        }
        assert!((AREA - (2.0 * 2f64.ln() - 1.0)).abs() < 1e-16);
    }

    #[test]
    fn more_intervals_than_there_is_room_for_are_not_made() {
        let mut kernel = Kernel::new(Grid::of_bits(8), ProcessShare::WHOLE, 1000);
        assert_eq!(kernel.run(1000), kernel.run(16));
        assert_eq!(
            Kernel::new(Grid::DOUBLE, ProcessShare::of_two(0), 4).run(0),
            Kernel::new(Grid::DOUBLE, ProcessShare::of_two(0), 8).run(4)
        );
    }

    fn two(intervals: u64) -> Bounds {
        let [first, second] = [0, 1].map(|rank| {
            Kernel::new(Grid::DOUBLE, ProcessShare::of_two(rank), intervals).run(intervals)
        });
        first.and(second)
    }

    /// 1996, figure 6: qualities 7, 9, 11, 13, 15, 19, 23, 29, ... with n = 4, 5, 6, 7, 8, 10, 12,
    /// 15, ...: Q = P n - 1.
    ///
    /// Where two processes have split whole pairs of neighbours the rule is exact; in between it is
    /// off by up to 0.7 %, as are the figure's own points (28.93 at n = 15, 34.80 at 18, 198.6 at
    /// 100).
    #[test]
    fn two_processes_have_the_quality_of_the_figure() {
        for intervals in [4, 5, 6, 7, 8, 10, 12, 64, 80] {
            near(two(intervals).quality(), 2.0 * intervals as f64 - 1.0, 1e-3);
        }
        for (intervals, figure) in
            [(15, 28.93), (18, 34.80), (22, 42.76), (33, 64.78), (51, 100.73), (100, 198.56)]
        {
            // A figure's point can be read to about 0.2 %.
            near(two(intervals).quality() / figure, 1.0, 0.002);
        }
        for intervals in 4..=256 {
            near(two(intervals).quality() / (2.0 * intervals as f64 - 1.0), 1.0, 0.007);
            assert!(two(intervals).hold());
        }
    }
}

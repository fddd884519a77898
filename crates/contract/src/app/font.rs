//! A font of 8 x 16 pixels: 5 x 7 dots, as character displays have them, each dot two rows high.

/// The printable characters of ASCII from the blank on: five columns of seven dots from left to
/// right, an octet each, the top dot in its lowest bit; the first column in the highest octet.
#[rustfmt::skip]
const DOTS: [u64; 95] = [
    0x00_0000_0000, 0x00_005f_0000, 0x00_0700_0700, 0x14_7f14_7f14,
    0x24_2a7f_2a12, 0x23_1308_6462, 0x36_4955_2250, 0x00_0503_0000,
    0x00_1c22_4100, 0x00_4122_1c00, 0x14_083e_0814, 0x08_083e_0808,
    0x00_5030_0000, 0x08_0808_0808, 0x00_6060_0000, 0x20_1008_0402,
    0x3e_5149_453e, 0x00_427f_4000, 0x42_6151_4946, 0x21_4145_4b31,
    0x18_1412_7f10, 0x27_4545_4539, 0x3c_4a49_4930, 0x01_7109_0503,
    0x36_4949_4936, 0x06_4949_291e, 0x00_3636_0000, 0x00_5636_0000,
    0x08_1422_4100, 0x14_1414_1414, 0x00_4122_1408, 0x02_0151_0906,
    0x32_4979_413e, 0x7e_1111_117e, 0x7f_4949_4936, 0x3e_4141_4122,
    0x7f_4141_221c, 0x7f_4949_4941, 0x7f_0909_0901, 0x3e_4149_497a,
    0x7f_0808_087f, 0x00_417f_4100, 0x20_4041_3f01, 0x7f_0814_2241,
    0x7f_4040_4040, 0x7f_020c_027f, 0x7f_0408_107f, 0x3e_4141_413e,
    0x7f_0909_0906, 0x3e_4151_215e, 0x7f_0919_2946, 0x46_4949_4931,
    0x01_017f_0101, 0x3f_4040_403f, 0x1f_2040_201f, 0x3f_4038_403f,
    0x63_1408_1463, 0x07_0870_0807, 0x61_5149_4543, 0x00_7f41_4100,
    0x02_0408_1020, 0x00_4141_7f00, 0x04_0201_0204, 0x40_4040_4040,
    0x00_0102_0400, 0x20_5454_5478, 0x7f_4844_4438, 0x38_4444_4420,
    0x38_4444_487f, 0x38_5454_5418, 0x08_7e09_0102, 0x0c_5252_523e,
    0x7f_0804_0478, 0x00_447d_4000, 0x20_4044_3d00, 0x7f_1028_4400,
    0x00_417f_4000, 0x7c_0418_0478, 0x7c_0804_0478, 0x38_4444_4438,
    0x7c_1414_1408, 0x08_1414_187c, 0x7c_0804_0408, 0x48_5454_5420,
    0x04_3f44_4020, 0x3c_4040_207c, 0x1c_2040_201c, 0x3c_4030_403c,
    0x44_2810_2844, 0x0c_5050_503c, 0x44_6454_4c44, 0x00_0836_4100,
    0x00_007f_0000, 0x00_4136_0800, 0x10_0808_1008,
];

/// The 16 rows of a character from the top, the left pixel in the highest bit; what is not
/// printable is empty.
pub(super) fn rows(character: u8) -> [u8; 16] {
    let place = usize::from(character).checked_sub(usize::from(b' '));
    let dots = place.and_then(|place| DOTS.get(place)).copied().unwrap_or(0);
    // One row above and one below are empty, and a column to the left and two to the right.
    std::array::from_fn(|row| if (1..15).contains(&row) { dot_row(dots, (row - 1) / 2) } else { 0 })
}

fn dot_row(dots: u64, row: usize) -> u8 {
    let lit = |column: usize| dots >> (8 * (4 - column) + row) & 1 == 1;
    (0..5).filter(|column| lit(*column)).fold(0, |pixels, column| pixels | 0x40 >> column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_by_hand() {
        let expected = [0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x7c];
        for (dot, row) in expected.into_iter().zip(1..) {
            let found = rows(b'L');
            assert_eq!((found[2 * row - 1], found[2 * row]), (dot, dot));
        }
    }

    #[test]
    fn printable_characters_differ_and_others_are_empty() {
        let all: std::collections::BTreeSet<[u8; 16]> = (b' '..=b'~').map(rows).collect();
        assert_eq!(all.len(), 95);
        assert!((0..b' ').chain(0x7f..=0xff).all(|character| rows(character) == [0; 16]));
    }
}

//! Files that can be read, and what they draw.

use btu_network::{Attachment, Drawing, Medium, SegmentId};
use btu_units::Length;

#[test]
fn the_laboratory_is_read() {
    let (name, text) = btu_network::library()[0];
    let drawing = Drawing::read(text, name).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(drawing.stations.len(), 3);
    assert!(matches!(drawing.segments[0].medium, Medium::SharedEthernet(_)));
    assert!(
        matches!(drawing.stations[2].attachment, Attachment::Segment(SegmentId(0), place) if place == Length::from_metres(10))
    );
}

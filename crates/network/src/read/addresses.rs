//! Addresses of the seats: those that the file gives, and the free ones in order for all others.

use std::net::Ipv4Addr;

use super::stations::{ADDRESSES, address_at, place};
use super::work::DrawingBuilder;

/// An address for each seat, in their order. The first member of a group has the written address,
/// the others those after it; a seat without one gets the lowest free address.
pub(super) fn hand_out(work: &DrawingBuilder<'_>) -> Vec<Ipv4Addr> {
    let mut taken = vec![false; ADDRESSES as usize];
    let mut given: Vec<Option<u32>> = vec![None; work.seats.len()];
    let mut group = usize::MAX;
    let mut member = 0;
    for (number, seat) in work.seats.iter().enumerate() {
        member = if seat.group == group { member + 1 } else { 0 };
        group = seat.group;
        let Some((address, spot)) = &work.written.stations[group].address else { continue };
        let wanted = place(*address).unwrap_or_default() + member;
        match taken.get_mut(wanted as usize) {
            Some(free) if !*free => *free = true,
            Some(_) => {
                let message = format!(
                    "{} would be the address of two stations, one of them `{}`",
                    address_at(wanted),
                    seat.name
                );
                work.problems.note(spot, message);
            }
            None => {
                let message =
                    format!("the addresses from {address} on do not suffice for `{}`", seat.name);
                work.problems.note(spot, message);
                return vec![*address; work.seats.len()];
            }
        }
        given[number] = Some(wanted);
    }
    let mut free = (0..ADDRESSES).filter(|place| !taken[*place as usize]);
    given
        .into_iter()
        .map(|place| address_at(place.or_else(|| free.next()).unwrap_or_default()))
        .collect()
}

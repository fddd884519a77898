//! The points at which a prediction is checked: a network at several values of a key.

use btu_model::predict::{Prediction, Range, predict, sweep_with};
use btu_network::{Arrivals, Drawing};

use crate::exit::Refusal;

/// Least and greatest load of the busiest medium without another sweep.
const LOADS: [f64; 2] = [0.05, 0.95];

/// A network at one point of a sweep.
pub(super) struct Turned {
    pub(super) value: f64,
    pub(super) drawing: Drawing,
}

/// The quantity of a range, with its unit.
pub(super) fn label(range: &Range) -> String {
    if range.unit.is_empty() {
        range.key.clone()
    } else {
        format!("{} ({})", range.key, range.unit)
    }
}

/// The network at each value of `range`.
pub(super) fn swept(
    range: &Range,
    settings: &[(String, String)],
    read: impl Fn(&[(String, String)]) -> Result<Drawing, Refusal>,
) -> Result<Vec<Turned>, Refusal> {
    let drawings = sweep_with(range, |key, value| {
        let turned = [settings, &[(key.to_owned(), value.to_owned())]].concat();
        read(&turned)
    })?;
    Ok(drawings.into_iter().map(|(value, drawing)| Turned { value, drawing }).collect())
}

/// The network with its rates scaled so that the busiest medium or line has loads from small to
/// large.
pub(super) fn loaded(drawing: &Drawing, points: u32) -> Result<Vec<Turned>, Refusal> {
    let open = scaled(drawing, 1.0, true);
    let base = busiest(&predict(&open)).filter(|load| *load > 0.0).ok_or_else(|| {
        let problem = "no traffic of this network has a rate that could be turned: check along a key of the file, for \
                       example --sweep stations.host.count=2..20";
        Refusal::Usage(problem.to_owned())
    })?;
    let [least, greatest] = LOADS;
    let step = (greatest - least) / f64::from(points.max(2) - 1);
    let load = |number: u32| least + f64::from(number) * step;
    let turned =
        |load: f64| Turned { value: load * 100.0, drawing: scaled(drawing, load / base, false) };
    Ok((0..points).map(|number| turned(load(number))).collect())
}

/// The drawing with all rates times `factor`; with `open_only` without traffic that has no rate.
pub(crate) fn scaled(drawing: &Drawing, factor: f64, open_only: bool) -> Drawing {
    let mut drawing = drawing.clone();
    for flow in &mut drawing.traffic {
        if let Arrivals::Poisson { per_second } | Arrivals::Periodic { per_second } =
            &mut flow.arrivals
        {
            *per_second *= factor;
        }
    }
    let has_rate =
        |arrivals| matches!(arrivals, Arrivals::Poisson { .. } | Arrivals::Periodic { .. });
    drawing.traffic.retain(|flow| !open_only || has_rate(flow.arrivals));
    drawing
}

/// The largest share of time in frames' own bits of any medium or line.
pub(crate) fn busiest(prediction: &Prediction) -> Option<f64> {
    let segments = prediction.segments.iter().map(|segment| segment.utilisation_data);
    let all = segments.chain(prediction.links.iter().map(|link| link.utilisation_data));
    all.filter_map(|answer| answer.value).max_by(f64::total_cmp)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Twenty stations on a cable that a closed form describes.
    pub(crate) const CABLE: &str = "name = \"cable\"\n[segments.ether]\nmedium = \"shared-ethernet\"\nlength = \"1 km\"\n\
                         contention = \"ideal\"\n[stations.host]\nsegment = \"ether\"\ncount = 20\n\
                         [traffic.everyone]\nfrom = \"host\"\nto = \"host\"\nsize = \"1000 B\"\nload = \"30 %\"\n";

    #[test]
    fn loads_reach_from_small_to_large() {
        let drawing = Drawing::read(CABLE, "cable.toml").unwrap();
        let points = loaded(&drawing, 19).unwrap();
        let values: Vec<f64> = points.iter().map(|turned| turned.value).collect();
        assert!(
            (values[0] - 5.0).abs() < 1e-9
                && (values[18] - 95.0).abs() < 1e-9
                && values.len() == 19,
            "{values:?}"
        );
        assert_eq!(loaded(&drawing, 1).unwrap().len(), 1);
        let silent = Drawing { traffic: Vec::new(), ..drawing };
        assert!(loaded(&silent, 3).is_err_and(|error| error.to_string().contains("--sweep")));
    }
}

//! The submodels and the flows through them: the part of a drawing that does not depend on rates.

use btu_network::{Arrivals, Drawing, Flow, Sizes};

use super::answers::PacketSizes;
use super::frames::Class;
use super::ring::Seats;
use super::routes::{Route, Router, backwards};
use super::server::{FrameServer, ServerLocation, Visit};
use super::tree::Tree;
use super::wait::{self, Wait};

/// Servers, the frames that pass them, and the senders' rates.
#[derive(Debug)]
pub(super) struct QueueingNetwork<'a> {
    pub(super) drawing: &'a Drawing,
    pub(super) servers: Vec<FrameServer>,
    /// The kinds of frames in the network.
    pub(super) classes: Vec<Class>,
    /// The path of each class.
    pub(super) routes: Vec<Route>,
    /// The classes of each flow: its frames, and their replies.
    pub(super) of_flow: Vec<(usize, Option<usize>)>,
    /// Frames per second of each sender, by flow.
    pub(super) rates: Vec<f64>,
    /// A flow that always has another frame, and the flow of its acknowledgements.
    pub(super) tied: Option<[usize; 2]>,
}

impl<'a> QueueingNetwork<'a> {
    /// The network with its traffic at fixed rates; the rates of senders that wait or always have
    /// more are not known yet.
    pub(super) fn of(drawing: &'a Drawing, sizes: Option<PacketSizes>) -> Self {
        let mut tree = Tree::of(drawing);
        let mut finder = Router::new(drawing, &tree);
        let (mut classes, mut routes, mut of_flow) = (Vec::new(), Vec::new(), Vec::new());
        for (number, flow) in drawing.traffic.iter().enumerate() {
            let route = finder.route(flow);
            let there = classes.len();
            let longest =
                route.way.iter().map(|(server, _)| tree.servers[*server as usize].longest_frame);
            classes.push(Class::new(
                number,
                false,
                &flow.sizes,
                longest.fold(f64::INFINITY, f64::min),
            ));
            let reply = reply(flow).map(|sizes| {
                classes.push(Class::new(number, true, &sizes, f64::INFINITY));
                there + 1
            });
            let back = reply.map(|_| backwards(&route, &tree));
            routes.push(route);
            routes.extend(back);
            of_flow.push((there, reply));
        }
        let mut servers = std::mem::take(&mut tree.servers);
        let seats = Seats::of(drawing);
        for server in &mut servers {
            server.sizes = sizes.unwrap_or(server.sizes);
            if let (true, ServerLocation::Segment(segment)) = (server.is_ring(), server.place) {
                server.active = seats.active(segment);
            }
        }
        for (class, route) in routes.iter().enumerate() {
            let arriving: Vec<f64> =
                route.load.iter().map(|(server, _)| arriving(&servers, route, *server)).collect();
            for ((server, unit), arriving) in route.load.iter().zip(arriving) {
                let unit = &(unit * arriving * classes[class].fitting);
                visit(&mut servers[*server as usize], class, *unit, &mut classes[class], &seats);
            }
        }
        let rates = drawing.traffic.iter().map(|flow| fixed_rate(flow).unwrap_or(0.0)).collect();
        Self { drawing, servers, classes, routes, of_flow, rates, tied: None }
    }

    /// The name of a server.
    pub(super) fn called(&self, server: &FrameServer) -> String {
        let drawing = self.drawing;
        let way = |up| if up { "up" } else { "down" };
        match server.place {
            ServerLocation::Segment(segment) => drawing.segments[segment as usize].name.clone(),
            ServerLocation::StationLine { station, up, .. } => {
                format!("{} {}", drawing.stations[station as usize].name, way(up))
            }
            ServerLocation::BridgeLine { bridge, up, .. } => {
                format!("{} {}", drawing.bridges[bridge as usize].name, way(up))
            }
            ServerLocation::Link { link, forth } => {
                format!(
                    "{} {}",
                    drawing.links[link as usize].name,
                    if forth { "forth" } else { "back" }
                )
            }
            ServerLocation::Bridge(bridge) => drawing.bridges[bridge as usize].name.clone(),
        }
    }

    /// Frames per second at each kind of visit.
    pub(super) fn frames(&self, visit: &Visit) -> f64 {
        visit.unit * self.rates[self.classes[visit.class].flow]
    }

    /// The wait at a server if senders had these rates.
    pub(super) fn wait_with(&self, server: u32, rates: &[f64]) -> Wait {
        wait::at(&self.servers[server as usize], &self.classes, rates)
    }

    /// The waits at all servers.
    pub(super) fn waits(&self) -> Vec<Wait> {
        self.servers.iter().map(|server| wait::at(server, &self.classes, &self.rates)).collect()
    }
}

/// The rates of senders with a fixed rate.
pub(super) fn fixed_rate(flow: &Flow) -> Option<f64> {
    match flow.arrivals {
        Arrivals::Poisson { per_second } | Arrivals::Periodic { per_second } => Some(per_second),
        Arrivals::Saturated | Arrivals::Closed { .. } => None,
    }
}

fn reply(flow: &Flow) -> Option<Sizes> {
    if let Arrivals::Closed { reply: Some(size), .. } = flow.arrivals {
        Some(Sizes::Fixed(size))
    } else {
        None
    }
}

/// The share of a class's frames that lines before this one have not lost.
fn arriving(servers: &[FrameServer], route: &Route, server: u32) -> f64 {
    let Some(here) = servers[server as usize].order else { return 1.0 };
    let before = route.way.iter().map(|(passed, visits)| (&servers[*passed as usize], visits));
    let lossy =
        before.filter(|(line, _)| line.loss > 0.0 && line.order.is_some_and(|at| at < here));
    lossy.map(|(line, visits)| (1.0 - line.loss).powf(*visits)).product()
}

fn visit(server: &mut FrameServer, class: usize, unit: f64, frames: &mut Class, seats: &Seats<'_>) {
    let moments = frames.moments(server.occupation);
    let (mean, second) = (moments.mean / server.rate, moments.second / (server.rate * server.rate));
    let (mean, second) = if server.queues() { (mean, second) } else { (0.0, 0.0) };
    let way = if server.is_ring() {
        seats.share(&seats.drawing.traffic[frames.flow], frames.reply, server)
    } else {
        1.0
    };
    server.visits.push(Visit { class, unit, mean, second, beyond: server.beyond(way) });
}

//! What the users of a cell ask for: the requests, or the users of a closed loop, and the documents
//! that the servers must have for them. The run of a cell sends them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use weir_peers::{Error, Result};
use weir_workload::arrivals::{LoadIs, Offered, document_path};
use weir_workload::documents::{Content, Documents};
use weir_workload::law::{Law, Rounded, Surge, WorldCup};
use weir_workload::scale::{Scaling, Work, scale};
use weir_workload::shape::{Period, Shape};
use weir_workload::surge::{Model, SurgeUsers};
use weir_workload::wire::TlsBytes;
use weir_workload::{Request, Wire, read};

use crate::cell::{self, Cell, Demand};
use crate::settings::Settings;

/// Sizes to each factor of 10 where there are too many for a document each: about as fine as the
/// World Cup law's own grid.
const PER_DECADE: u32 = 200;
/// More distinct sizes than the World Cup law's thousand are rounded, so that the servers' tables of
/// open files hold them all in every cell.
const MOST_SIZES: usize = 1000;

/// The requests of a cell and the documents they are for.
pub(crate) struct Workload {
    pub(crate) requests: Requests,
    pub(crate) documents: Documents,
    pub(crate) content: Content,
    /// Documents of equal names are equal.
    pub(crate) name: String,
}

/// Who asks.
pub(crate) enum Requests {
    /// Each at its own time, ascending.
    Open(Vec<Request>),
    /// Users of a closed loop.
    Closed(Box<SurgeUsers>),
}

impl Workload {
    /// What a cell asks for.
    ///
    /// # Errors
    ///
    /// Periods or loads that cannot be, or a trace that cannot be read.
    pub(crate) fn of(cell: &Cell, settings: &Settings) -> Result<Workload> {
        check(cell)?;
        match &cell.demand {
            Demand::Open { law, periods, load_is, duration } => {
                open(cell, *law, (periods, *load_is), *duration)
            }
            Demand::Trace { file, periods, load_is, duration } => {
                trace(cell, file, (periods, *load_is), *duration, settings)
            }
            Demand::Classes { law, loads, duration } => classes(cell, *law, loads, *duration),
            Demand::Closed { users, .. } => {
                let users = Model::new(*users, cell.seed).users().map_err(invalid)?;
                let files = users.file_set().files();
                let files = files.iter().map(|file| (file.path.clone(), file.size));
                Ok(Workload {
                    documents: Documents::of_paths(files).map_err(invalid)?,
                    content: Content::Sparse,
                    name: format!("surge-users-{}", cell.seed),
                    requests: Requests::Closed(Box::new(users)),
                })
            }
            Demand::Application { .. } | Demand::Files(_) => {
                Err("only cells with a link have these documents".into())
            }
        }
    }

    /// The document whose size is nearest to 1 KB.
    pub(crate) fn probe(&self) -> Option<(String, u64)> {
        let files = self.documents.files().iter();
        let nearest = files.min_by_key(|(_, size)| size.abs_diff(1000));
        nearest.map(|(path, size)| (format!("/{}", path.display()), *size))
    }

    /// Make the documents below `out`, unless they are there, and read those that are no mere
    /// holes once, so that no run begins with a cold page cache.
    pub(crate) fn make_documents(&self, out: &Path) -> Result<PathBuf> {
        static READ: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
        let mut known = READ.lock().unwrap_or_else(PoisonError::into_inner);
        let root = out.join(format!("documents-{}", self.name));
        let root = std::path::absolute(&root).map_err(|e| Error::file("make", &root, &e))?;
        if known.contains(&root) {
            return Ok(root);
        }
        self.documents.make(&root, self.content).map_err(|e| {
            Error(format!("{e}; choose another output directory, with room for the documents"))
        })?;
        if let Some(absent) = self.documents.absent_from(&root) {
            return Err(Error(format!(
                "{} was made for another workload and lacks {}: remove it",
                root.display(),
                absent.display()
            )));
        }
        if self.content == Content::Pool {
            for (path, _) in self.documents.files() {
                let path = root.join(path);
                std::fs::read(&path).map_err(|e| Error::file("read", &path, &e))?;
            }
        }
        known.insert(root.clone());
        Ok(root)
    }
}

/// What a response costs on the cell's link, with heads of 200 bytes, and with TLS its records and
/// handshakes.
pub(crate) fn wire(cell: &Cell) -> Wire {
    Wire {
        // IP and TCP headers with timestamps take 52 bytes of a packet.
        segment: u64::from(cell.network.mtu.saturating_sub(52)),
        requests_per_connection: cell.users.requests_per_connection.max(1),
        tls: cell.users.tls.then(TlsBytes::default),
        ..Wire::default()
    }
}

fn check(cell: &Cell) -> Result<()> {
    let cell::Users { requests_per_connection, abort_after, slow_readers, .. } = cell.users;
    let wrong = |what: String| Err(Error(format!("the cell's users: {what}")));
    if requests_per_connection == 0 {
        return wrong("0 requests per connection; give at least 1".into());
    }
    if let Some(after) = abort_after.filter(|after| !(after.is_finite() && *after > 0.0)) {
        return wrong(format!("they abort after {after} s; give more than 0, or nothing"));
    }
    if !(0.0..=1.0).contains(&slow_readers) {
        return wrong(format!("a share of {slow_readers} reads slowly; give 0 to 1"));
    }
    let seconds = duration(cell);
    if !(seconds.is_finite() && seconds > 0.0) {
        return Err(Error(format!("the cell lasts {seconds} s; give more than 0")));
    }
    Ok(())
}

/// Seconds of a cell's demand.
pub(crate) fn duration(cell: &Cell) -> f64 {
    cell.demand.seconds()
}

fn shape(periods: &[(f64, f64)]) -> Result<Shape> {
    let periods = periods.iter().map(|&(seconds, load)| Period { seconds, load });
    Shape::new("the cell's", periods.collect()).map_err(invalid)
}

/// Periods of load, and which bytes the load counts.
type Load<'a> = (&'a [(f64, f64)], LoadIs);

/// Arrivals by a law.
fn offered(
    cell: &Cell,
    law: cell::Law,
    (periods, load_is): Load<'_>,
    duration: f64,
) -> Result<Offered> {
    let law: Arc<dyn Law> = match law {
        cell::Law::WorldCup => Arc::new(WorldCup),
        cell::Law::Surge => Arc::new(Rounded::new(Arc::new(Surge::requests()), PER_DECADE)),
    };
    let rate = cell.network.rate as f64 / 8.0;
    let mut offered = Offered::new(law, shape(periods)?, duration, rate);
    offered.wire = wire(cell);
    offered.load_is = load_is;
    offered.seed = cell.seed;
    Ok(offered)
}

/// Connections that pile up in a cell whose overload lasts: (load − 1) × rate ÷ mean size for each
/// second, until the end or until users leave. 0 where load is at most 1 over all periods, in a
/// closed loop, and of a trace or classes of clients, whose experiments have no lasting overload.
pub(crate) fn piled_up(cell: &Cell) -> f64 {
    let Demand::Open { law, periods, load_is, duration } = &cell.demand else { return 0.0 };
    // What is wrong with a cell is said when it runs.
    let Ok(offered) = offered(cell, *law, (periods, *load_is), *duration) else { return 0.0 };
    let above = offered.shape.mean_load() - 1.0;
    if above <= 0.0 {
        return 0.0;
    }
    let attempts = f64::from(cell.users.retries) + 1.0;
    let stay = cell.users.abort_after.map_or(f64::INFINITY, |after| after * attempts);
    above * offered.bytes_per_second / offered.mean_work() * duration.min(stay)
}

fn open(cell: &Cell, law: cell::Law, load: Load<'_>, duration: f64) -> Result<Workload> {
    let content = match law {
        cell::Law::WorldCup => Content::Pool,
        cell::Law::Surge => Content::Sparse,
    };
    let offered = offered(cell, law, load, duration)?;
    let law = &offered.law;
    let sizes = law.sizes().ok_or_else(|| Error(format!("the law {law} has too many sizes")))?;
    Ok(Workload {
        requests: Requests::Open(offered.arrivals().map_err(invalid)?.collect()),
        documents: Documents::of_sizes(&sizes, 0),
        content,
        name: law.to_string().replace([':', ','], "-"),
    })
}

/// Each class has arrivals of its own, so that the requests of one are the same whatever the others' load.
/// A request says its class's round trip in milliseconds, for a server that is told to believe it.
fn classes(cell: &Cell, law: cell::Law, loads: &[f64], duration: f64) -> Result<Workload> {
    let mut all: Option<Workload> = None;
    let mut requests = Vec::new();
    for (class, load) in (0..).zip(loads) {
        let seed = cell.seed.wrapping_add(u64::from(class) << 32);
        let alone = Cell { seed, ..cell.clone() };
        let load: Load<'_> = (&[(duration, *load)], LoadIs::Wire);
        let of_class = open(&alone, law, load, duration)?;
        let round_trip = cell.network.class_round_trips_ms.get(usize::from(class)).unwrap_or(&0.0);
        if let Requests::Open(asked) = &of_class.requests {
            requests.extend(asked.iter().map(|request| {
                let path = format!("{}?rtt={round_trip}", request.path).into();
                Request { class, path, ..request.clone() }
            }));
        }
        all = Some(of_class);
    }
    let all = all.ok_or_else(|| Error("a cell of classes has none".to_owned()))?;
    requests.sort_by(|a, b| a.at.total_cmp(&b.at));
    Ok(Workload { requests: Requests::Open(requests), ..all })
}

/// A recorded trace with its own interarrivals, begun at a request that follows from the seed, each
/// period stretched or compressed until it has its load. Responses are as long as recorded, or
/// within 0.6 % of it where there are more sizes than the World Cup law has.
fn trace(
    cell: &Cell,
    file: &str,
    (periods, load_is): Load<'_>,
    duration: f64,
    settings: &Settings,
) -> Result<Workload> {
    let data = settings.data.as_ref().ok_or_else(|| {
        Error(format!(
            "{file} is replayed, but nobody said where the real traces are: name their directory"
        ))
    })?;
    let path = data.join(file);
    let options = read::Options { reorder: 60.0, ..read::Options::default() };
    let failed = |e: read::TraceError| Error(format!("{}: {e}", path.display()));
    let trace = read::open(&path, options).map_err(failed)?;
    let mut trace = trace.collect::<std::result::Result<Vec<Request>, _>>().map_err(failed)?;
    let sizes = round_sizes(&mut trace);
    let mut scaling = Scaling::new(shape(periods)?, duration, cell.network.rate as f64);
    scaling.work = match load_is {
        LoadIs::Wire => Work::Wire(wire(cell)),
        LoadIs::File => Work::File,
    };
    scaling.repeat = true;
    scaling.start = Some(cell.seed);
    let scaled = scale(&trace, &scaling).map_err(invalid)?;
    let sizes: Vec<u64> = sizes.into_iter().collect();
    Ok(Workload {
        requests: Requests::Open(scaled.requests),
        documents: Documents::of_sizes(&sizes, 0),
        content: Content::Sparse,
        name: file.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect(),
    })
}

/// Let each request ask for the document of its size; those of unknown size are left out. Returns
/// the sizes.
fn round_sizes(trace: &mut Vec<Request>) -> BTreeSet<u64> {
    trace.retain(|request| request.size.is_some());
    let exact: BTreeSet<u64> = trace.iter().filter_map(|request| request.size).collect();
    let rounded: BTreeMap<u64, u64> = match exact.len() > MOST_SIZES {
        true => exact.iter().map(|&size| (size, round(size))).collect(),
        false => exact.iter().map(|&size| (size, size)).collect(),
    };
    let sizes: BTreeSet<u64> = rounded.values().copied().collect();
    let paths: HashMap<u64, Arc<str>> =
        sizes.iter().map(|&size| (size, document_path(None, size).into())).collect();
    for request in trace {
        let size = request.size.and_then(|size| rounded.get(&size));
        if let Some((size, path)) = size.and_then(|size| Some((*size, paths.get(size)?))) {
            request.size = Some(size);
            request.path = path.clone();
        }
    }
    sizes
}

/// The nearest of the sizes of a logarithmic grid; nothing stays nothing.
fn round(size: u64) -> u64 {
    if size == 0 {
        return 0;
    }
    let step = ((size as f64).log10() * f64::from(PER_DECADE)).round();
    10_f64.powf(step / f64::from(PER_DECADE)).round() as u64
}

fn invalid(error: weir_workload::Invalid) -> Error {
    Error(error.to_string())
}

#[cfg(test)]
mod tests;

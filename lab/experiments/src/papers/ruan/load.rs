//! Ruan & Pai, sections 3.4, 4 and 5.2 to 5.3: response times, their distribution, their order and the
//! sizes in each decile, as the load grows to what each server can do.

use super::conditions::{
    self, AIO, APACHE, APACHE_1024, BLOCKS, EVENT, FLASHPACHE, HIGH, LIGHTTPD, LOADS, NGINX,
    OPENER, WEIR, WORKER, case, files, own_loads,
};
use super::{deciles, profile};
use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::{Evidence, Experiment, Group};
use crate::findings::Section;

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "ruan-load",
    paper: "Ruan 2006",
    repeats: "Figures 4 to 7, 10, 11, 16 to 19 and 21, Table 4",
    title: "Requests in memory wait for the disk",
    groups,
    report,
};

const OWN: [&str; 11] =
    [WEIR, NGINX, APACHE, APACHE_1024, OPENER, FLASHPACHE, BLOCKS, AIO, WORKER, EVENT, LIGHTTPD];

/// Loads of a run.
pub(super) fn loads(scale: Scale) -> Vec<f64> {
    match scale {
        Scale::Quick => vec![LOADS[0], HIGH],
        Scale::Full | Scale::Paper => LOADS.to_vec(),
    }
}

/// The paper's set, disk and memory at all loads.
pub(super) fn of(scale: Scale) -> Case {
    case(files(scale, own_loads(&loads(scale))))
}

fn groups(choice: &Choice) -> Vec<Group> {
    of(choice.scale).points(&conditions::systems(choice, &OWN)).collect()
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    section.text(
        "A set of 3 GB shaped like SPECweb99's on a disk that does one operation at a time (2 ms, 60 \
         MB/s), and servers of one worker in a memory group of 1 GB, page cache included. Saturation: \
         1024 requests under way, five on a connection. Load 1 is the highest rate at which a server \
         keeps up in an open loop (all but 256 requests answered by the end of a trial of 10 s, the disk \
         busy for at most 95 % of the time, and the clients on time), found by halving between 0.1 and 1.2 of \
         what it did in saturation. A server that is behind is tried again, once it is done with what is \
         left, and one that keeps up with no rate has no load 1. The paper's is what it did in \
         saturation. Where the clients, who have one core, end the search, load 1 is a rate that they \
         can send in time and the server bears more. The tables say which share of its saturation each \
         rate is, and how busy the disk was: in saturation those who wait for the disk ask for nothing \
         meanwhile, so of a server that does not block the share says little, and the disk gives an idea of \
         how much more it can bear. Of a server that blocks, late reading can be its own doing. Phases in which a server or its disk fell behind have no figures.",
    );
    section.text(
        "weir stands where the paper has New-Flash, nginx where it has Flash, Apache prefork with \
         `weir-lab opener` always asked where it has Flashpache; without that word the opener is asked \
         where Apache would wait for the disk. Apache prefork has 256 processes, so with more than 256 \
         connections some wait to be accepted, or 1024; the paper allows it 2048. *Hot* \
         are files up to 9 KB that are asked for at least once a second, which a page cache that goes by \
         use has.",
    );
    let case = of(evidence.choice.scale);
    let systems = conditions::systems(evidence.choice, &OWN);
    let loads = loads(evidence.choice.scale);
    let all = profile::Profile { evidence, case: &case, systems: &systems, loads: &loads };
    profile::report(&all, section);
    deciles::report(&all, section);
}

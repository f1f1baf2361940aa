//! The experiment `rawat`: Figures 3 to 10 through the server's own gate in virtual time, the
//! paper's claims as rows, and what it does not say beside them.

use weir_sched::PolicyKind;
use weir_sched::policy::{FAIR, SRPT, SWIFT};

use super::played::Trials;
use super::scene::{LOADS, ROUND_TRIPS_MS, Scene, Site};
use super::{beside, claims, curves};
use crate::choice::{Choice, Scale};
use crate::experiment::{Evidence, Experiment};
use crate::findings::Section;

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "rawat",
    paper: "Rawat 2003",
    repeats: "Figures 3 to 10",
    title: "SWIFT against SRPT for clients far away, simulated",
    groups: |_| Vec::new(),
    report,
};

/// The scenes of the figures; a quick run has the ends alone, of one site.
fn scenes(scale: Scale) -> Vec<Scene> {
    let ends = |at: usize| scale != Scale::Quick || at == 0 || at == 3;
    let mut scenes = Vec::new();
    let sites = if scale == Scale::Quick { &Site::ALL[..1] } else { &Site::ALL };
    for &site in sites {
        for (_, load) in LOADS.into_iter().enumerate().filter(|(at, _)| ends(*at)) {
            for (_, trip) in ROUND_TRIPS_MS.into_iter().enumerate().filter(|(at, _)| ends(*at)) {
                scenes.push(Scene::new(site, load, trip));
            }
        }
    }
    scenes
}

/// Seconds in which requests arrive: the paper's hour, or less.
fn seconds(scale: Scale) -> f64 {
    match scale {
        Scale::Quick => 20.0,
        Scale::Full => 300.0,
        Scale::Paper => 3600.0,
    }
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    section.text(
        "Simulated: the server's own gate in front of a link of 10 Mbit/s, with grants, packets and \
         congestion windows that begin with 10 segments and double with each round trip. A response \
         time runs from the connection's first packet to the last byte at the client.",
    );
    section.text(
        "Half of the load is monitored: Poisson arrivals with sizes of the World Cup law from one \
         site, at its round trip and a delay that lies evenly between nothing and twice its mean. \
         The other half comes from SURGE's users 0.2 ms from the server, who ask as if they were \
         answered at once. The paper says neither which share is monitored nor how far away the \
         others are nor how the added delay lies; \"what the paper leaves open\" has other choices. \
         In the simulation the sites differ in their shortest round trip and in the seeds.",
    );
    let scenes = scenes(evidence.choice.scale);
    match played(&scenes, evidence.choice) {
        Ok(trials) => {
            for site in Site::ALL {
                for load in LOADS {
                    section.plot(curves::figure(&trials, site, load));
                }
            }
            claims::rows(&trials, &scenes, section);
            beside::report(&trials, &scenes, section);
        }
        Err(why) => section.text(format!("The simulation could not be run: {why}.")),
    }
}

fn played(scenes: &[Scene], choice: &Choice) -> Result<Trials, String> {
    let figures = scenes.iter().map(|scene| {
        let mut policies: Vec<PolicyKind> = vec![SWIFT, SRPT, FAIR];
        policies.extend(beside::policies(scene, choice.scale));
        (*scene, policies)
    });
    let all: Vec<_> = figures.chain(beside::scenes(choice.scale)).collect();
    let seeds = choice.seeds.unwrap_or(choice.scale.seeds()).max(1);
    Trials::play(&all, seeds as usize, seconds(choice.scale))
}

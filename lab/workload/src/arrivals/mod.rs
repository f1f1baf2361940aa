//! Arrivals: requests over time whose offered load follows a shape and whose sizes follow a law.
//! The source of synthetic open-loop workloads for `weir-lab load` and `trace make` and the
//! experiments; all of it follows from the seed.

mod classes;
mod paths;
mod stream;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::invalid::Invalid;
use crate::law::Law;
use crate::shape::{LONGEST, Shape};
use crate::wire::Wire;

pub(crate) use classes::{Classes, check as check_classes};
use paths::check_directories;
pub use paths::document_path;
pub use stream::{Arrivals, Endless};

/// What is asked for, when, and how much of it.
#[derive(Clone, Debug)]
pub struct Offered {
    /// The sizes.
    pub law: Arc<dyn Law>,
    /// The load over time.
    pub shape: Shape,
    /// Length of the workload in seconds.
    pub seconds: f64,
    /// Rate of the link in bytes per second.
    pub bytes_per_second: f64,
    /// What a response costs on the link.
    pub wire: Wire,
    /// Which bytes the load counts.
    pub load_is: LoadIs,
    /// How the arrivals lie within a period.
    pub spacing: Spacing,
    /// Equal seeds give equal workloads.
    pub seed: u64,
    /// Share of the requests in each client class, in any unit; with none, all are in class 0.
    pub classes: Vec<f64>,
    /// Directories that the documents lie in, chosen by Zipf's law with exponent 1 as SPECweb
    /// does (Ruan & Pai, section 2.3); with 0, they lie at the root.
    pub directories: u32,
}

/// The bytes that offered load counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadIs {
    /// All bytes on the link, headers of packets and connections included: wire bytes asked for
    /// per second ÷ rate of the link.
    #[default]
    Wire,
    /// Bytes of bodies alone, as Schroeder & Harchol-Balter, section 3.3.2.
    File,
}

impl fmt::Display for LoadIs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LoadIs::Wire => "wire bytes asked / rate of the link",
            LoadIs::File => "file bytes asked / rate of the link",
        })
    }
}

/// How arrivals lie within a period of constant load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spacing {
    /// Exponential times between arrivals.
    #[default]
    Poisson,
    /// Equal times between arrivals.
    Equal,
}

impl Offered {
    /// A Poisson workload in one class with the load counted on the wire, from seed 1.
    pub fn new(law: Arc<dyn Law>, shape: Shape, seconds: f64, bytes_per_second: f64) -> Offered {
        Offered {
            law,
            shape,
            seconds,
            bytes_per_second,
            wire: Wire::default(),
            load_is: LoadIs::default(),
            spacing: Spacing::default(),
            seed: 1,
            classes: Vec::new(),
            directories: 0,
        }
    }

    /// Bytes that a response counts for in the load.
    pub fn work(&self, size: u64) -> f64 {
        match self.load_is {
            LoadIs::Wire => self.wire.bytes(size) as f64,
            LoadIs::File => size as f64,
        }
    }

    /// Mean bytes that a response counts for in the load.
    pub fn mean_work(&self) -> f64 {
        self.law.mean_of(&|size| self.work(size))
    }

    /// The requests, ascending in time.
    ///
    /// # Errors
    ///
    /// A rate, length or class share out of range, or more than a million directories.
    pub fn arrivals(&self) -> Result<Arrivals, Invalid> {
        let mean_work = self.checked_work()?;
        Ok(Arrivals::new(self, mean_work))
    }

    /// About how many requests [`Offered::arrivals`] gives, rather more than fewer: the shape's last
    /// cycle counts as a whole one if that is less than its highest load throughout.
    ///
    /// # Errors
    ///
    /// As [`Offered::arrivals`].
    pub fn expected(&self) -> Result<f64, Invalid> {
        let work = self.checked_work()?;
        let cycle = self.shape.cycle();
        let whole = (self.seconds / cycle).ceil() * cycle * self.shape.mean_load();
        let most = self.shape.periods().iter().map(|period| period.load).fold(0.0, f64::max);
        Ok(whole.min(most * self.seconds) * self.bytes_per_second / work)
    }

    /// Requests without end, all at time 0, for a generator that keeps a number of them under way
    /// at all times; the shape, the rate and the length do not matter.
    ///
    /// # Errors
    ///
    /// Class shares out of range, or more than a million directories.
    pub fn endless(&self) -> Result<Endless, Invalid> {
        check_classes(&self.classes)?;
        check_directories(self.directories)?;
        Ok(Endless::new(self))
    }

    /// The mean work, if all parameters are valid.
    fn checked_work(&self) -> Result<f64, Invalid> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        if !(positive(self.seconds) && self.seconds <= LONGEST) {
            return Err(Invalid(format!(
                "the workload lasts {} s; give a number above 0, at most {LONGEST}",
                self.seconds
            )));
        }
        if !positive(self.bytes_per_second) {
            return Err(Invalid(format!(
                "the link carries {} bytes per second; give a number above 0",
                self.bytes_per_second
            )));
        }
        let work = self.mean_work();
        if !positive(work) {
            return Err(Invalid(format!(
                "the mean of the law of sizes is {work} bytes, so no rate of arrivals gives a load"
            )));
        }
        check_classes(&self.classes)?;
        check_directories(self.directories)?;
        Ok(work)
    }
}

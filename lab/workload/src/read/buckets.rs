//! Sizes with weights, as CacheLib's cachebench describes the objects of Meta's CDN. The laws of
//! measured sizes draw from them.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::Deserialize;

use super::error::{Fault, Place, TraceError};
use super::input::Input;

/// More JSON than any such file has.
const LARGEST: u64 = 256 << 20;

/// A distribution of sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeBuckets {
    /// Bytes and weight; sizes ascend, weights are positive and need not sum to 1.
    pub buckets: Vec<(u64, f64)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Json {
    val_size_range: Vec<f64>,
    val_size_range_probability: Vec<f64>,
}

impl SizeBuckets {
    /// Reads a file of cachebench (`valSizeRange` and `valSizeRangeProbability`), gzip or zstd or
    /// plain.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is not such JSON, or has no bucket with a weight.
    pub fn open(path: &Path) -> Result<SizeBuckets, TraceError> {
        let file = File::open(path)
            .map_err(|error| TraceError { place: Place::Whole, fault: Fault::Io(error) })?;
        SizeBuckets::read(file)
    }

    /// Reads a distribution from anything that can be read.
    ///
    /// # Errors
    ///
    /// As [`SizeBuckets::open`].
    pub fn read(reader: impl Read + Send + 'static) -> Result<SizeBuckets, TraceError> {
        let wrong = |fault| TraceError { place: Place::Whole, fault };
        let input = Input::new(reader).map_err(wrong)?;
        let compression = input.compression;
        let json: Json = serde_json::from_reader(input.bytes.take(LARGEST)).map_err(|error| {
            if error.is_io() {
                return wrong(super::input::fault(io::Error::from(error), compression));
            }
            let place = Place::Line(error.line() as u64);
            let found = error.to_string();
            let expected = "arrays valSizeRange and valSizeRangeProbability";
            TraceError { place, fault: Fault::Field { name: "JSON", found, expected } }
        })?;
        let (sizes, weights) = (json.val_size_range, json.val_size_range_probability);
        if sizes.len() != weights.len() {
            let fault = Fault::Columns { found: weights.len(), expected: sizes.len() };
            return Err(wrong(fault));
        }
        let fits = |size: f64| (0.0..1e15).contains(&size);
        if let Some(size) = sizes.iter().find(|&&size| !fits(size)) {
            let found = size.to_string();
            return Err(wrong(Fault::field("size", found.as_bytes(), "bytes, 0 or more")));
        }
        let weighs = |weight: f64| weight.is_finite() && weight >= 0.0;
        if let Some(weight) = weights.iter().find(|&&weight| !weighs(weight)) {
            let found = weight.to_string();
            return Err(wrong(Fault::field("weight", found.as_bytes(), "0 or more")));
        }
        let pairs = sizes.into_iter().zip(weights).filter(|&(_, weight)| weight > 0.0);
        let mut buckets: Vec<_> = pairs.map(|(size, weight)| (size as u64, weight)).collect();
        buckets.sort_by_key(|&(size, _)| size);
        if buckets.is_empty() { Err(wrong(Fault::Empty)) } else { Ok(SizeBuckets { buckets }) }
    }

    /// Mean size in bytes.
    pub fn mean(&self) -> f64 {
        let weight: f64 = self.buckets.iter().map(|&(_, weight)| weight).sum();
        self.buckets.iter().map(|&(size, weight)| size as f64 * weight).sum::<f64>() / weight
    }
}

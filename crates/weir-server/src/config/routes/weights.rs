//! The value of `weights`: one whole number for each backend of a route. Used by the table of routes'
//! keys; the balance goes by it.

use std::fmt;

use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use weir_units::Count;

use crate::config::value::Value;

/// The weight of one backend.
type Weight = Count<1, 1000>;

/// The weights of backends, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights(Vec<Weight>);

impl Weights {
    /// Refuses more or fewer weights than `backends`.
    pub(super) fn check(&self, backends: usize) -> Result<(), String> {
        match self.0.len() {
            weights if weights == backends => Ok(()),
            weights => Err(format!(
                "`weights` has {weights} numbers and `backends` {backends} addresses; write one number \
                 for each, in the same order"
            )),
        }
    }
}

impl Value for Weights {
    type Resolved = Vec<u32>;

    const NAME: &'static str = "N";

    fn detail() -> String {
        " from 1 to 1000, an array with one for each of `backends`".to_owned()
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Weights, D::Error> {
        deserializer.deserialize_seq(Numbers)
    }

    fn resolve(self) -> Vec<u32> {
        self.0.into_iter().map(Weight::get).collect()
    }
}

/// An array of numbers.
struct Numbers;

impl<'de> Visitor<'de> for Numbers {
    type Value = Weights;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of whole numbers, one for each backend")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Weights, A::Error> {
        let mut weights = Vec::new();
        while let Some(number) = items.next_element::<i64>()? {
            weights.push(number.to_string().parse().map_err(A::Error::custom)?);
        }
        Ok(Weights(weights))
    }
}

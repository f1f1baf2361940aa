//! Text such as `name:key=1,other=2`: the name, and its numbers by key. Laws and shapes are parsed
//! from such text, and each asks for the keys it has.

use crate::invalid::Invalid;

/// A parsed text whose keys are taken one by one; what is left at the end is an error.
#[derive(Debug)]
pub(crate) struct Parameters<'t> {
    /// What is before the colon.
    pub(crate) name: &'t str,
    pairs: Vec<(&'t str, &'t str)>,
    known: Vec<&'static str>,
}

impl<'t> Parameters<'t> {
    /// Split a text.
    pub(crate) fn parse(text: &'t str) -> Result<Parameters<'t>, Invalid> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let name = name.trim();
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for part in rest.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let Some((key, value)) = part.split_once('=') else {
                return Err(Invalid(format!("`{part}` in `{text}`: write KEY=VALUE")));
            };
            let (key, value) = (key.trim(), value.trim());
            if pairs.iter().any(|(known, _)| *known == key) {
                return Err(Invalid(format!("`{key}` is given twice in `{text}`")));
            }
            pairs.push((key, value));
        }
        Ok(Parameters { name, pairs, known: Vec::new() })
    }

    /// The text of a key, if it is there.
    pub(crate) fn text(&mut self, key: &'static str) -> Option<&'t str> {
        self.known.push(key);
        let place = self.pairs.iter().position(|(known, _)| *known == key)?;
        Some(self.pairs.remove(place).1)
    }

    /// The number of a key, or what it is when not given.
    pub(crate) fn number_or(&mut self, key: &'static str, default: f64) -> Result<f64, Invalid> {
        let Some(text) = self.text(key) else { return Ok(default) };
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(Invalid(format!("{}: `{key}` is `{text}`; give a number", self.name))),
        }
    }

    /// The number of a key that must be there.
    pub(crate) fn number(&mut self, key: &'static str) -> Result<f64, Invalid> {
        let number = self.number_or(key, f64::NAN)?;
        if number.is_nan() {
            return Err(Invalid(format!(
                "{}: `{key}` is missing; write {}:{key}=NUMBER",
                self.name, self.name
            )));
        }
        Ok(number)
    }

    /// The number of a key that must be there and above 0.
    pub(crate) fn positive(&mut self, key: &'static str) -> Result<f64, Invalid> {
        let number = self.number(key)?;
        self.above_zero(key, number)
    }

    /// The number of a key that must be there and within a range.
    pub(crate) fn within(
        &mut self,
        key: &'static str,
        least: f64,
        most: f64,
    ) -> Result<f64, Invalid> {
        let number = self.number(key)?;
        self.check_within(key, number, least, most)?;
        Ok(number)
    }

    /// Refuse a number out of a range.
    pub(crate) fn check_within(
        &self,
        key: &str,
        number: f64,
        least: f64,
        most: f64,
    ) -> Result<(), Invalid> {
        if (least..=most).contains(&number) {
            return Ok(());
        }
        Err(Invalid(format!("{}: `{key}` is {number}; give {least} to {most}", self.name)))
    }

    fn above_zero(&self, key: &str, number: f64) -> Result<f64, Invalid> {
        if number > 0.0 {
            return Ok(number);
        }
        Err(Invalid(format!("{}: `{key}` is {number}; give a number above 0", self.name)))
    }

    /// Refuse keys that nobody asked for.
    pub(crate) fn end(self) -> Result<(), Invalid> {
        let Some((key, _)) = self.pairs.first() else { return Ok(()) };
        let known = if self.known.is_empty() {
            "it has no parameters".to_owned()
        } else {
            format!("its parameters are {}", self.known.join(", "))
        };
        Err(Invalid(format!("{} has no parameter `{key}`; {known}", self.name)))
    }
}

//! Laws as text, such as `bounded-pareto:min=1,max=1e4,alpha=1.1`.

use std::path::Path;
use std::sync::Arc;

use super::{
    BoundedPareto, Deterministic, Exponential, Law, Lognormal, Rounded, Surge, WorldCup, carter,
    file, specweb96, specweb99,
};
use crate::invalid::Invalid;
use crate::parameters::Parameters;

/// What may be written, for help texts and errors.
pub const SYNTAX: &str = "worldcup, surge, surge-files, specweb96, specweb99, carter, \
    bounded-pareto:min=,max=,alpha=, exponential:mean=, lognormal:mu=,sigma=, \
    deterministic:size=, empirical:file= (lines of SIZE or SIZE WEIGHT, or cachebench JSON); \
    those with any size take per-decade= too, to round to so many sizes per power of ten";

/// Largest exponents and logarithms that make sense: sizes beyond are no numbers any more.
const MOST: f64 = 500.0;

/// The law that a text describes; see [`SYNTAX`]. Only `empirical` reads a file.
///
/// # Errors
///
/// A text that describes none: which parameter is wrong and what is expected.
pub fn parse(text: &str) -> Result<Arc<dyn Law>, Invalid> {
    let text = text.trim();
    let mut parameters = Parameters::parse(text)?;
    let p = &mut parameters;
    let law: Arc<dyn Law> = match p.name {
        "worldcup" => Arc::new(WorldCup),
        "specweb96" => Arc::new(specweb96()),
        "specweb99" => Arc::new(specweb99()),
        "carter" => Arc::new(carter()),
        "deterministic" => Arc::new(Deterministic { size: p.positive("size")? }),
        "surge" => rounded(p, Surge::requests())?,
        "surge-files" => rounded(p, Surge::files())?,
        "exponential" => {
            let mean = p.positive("mean")?;
            rounded(p, Exponential { mean })?
        }
        "lognormal" => {
            let mu = p.within("mu", -MOST, MOST)?;
            let sigma = p.positive("sigma")?;
            p.check_within("sigma", sigma, 0.0, MOST)?;
            rounded(p, Lognormal { mu, sigma })?
        }
        "bounded-pareto" => {
            let (min, max) = (p.positive("min")?, p.positive("max")?);
            let alpha = p.positive("alpha")?;
            p.check_within("alpha", alpha, 0.0, MOST)?;
            rounded(p, BoundedPareto::new(min, max, alpha)?)?
        }
        "empirical" => {
            let Some(path) = p.text("file") else {
                return Err(Invalid("empirical: `file` is missing; write file=PATH".into()));
            };
            parameters.end()?;
            return file::read(text, Path::new(path));
        }
        name => return Err(Invalid(format!("there is no law of sizes `{name}`; give {SYNTAX}"))),
    };
    parameters.end()?;
    Ok(law)
}

/// As [`parse`], for a server of work in any unit, where a size is what the quantile function gives
/// and not a whole number of bytes.
///
/// # Errors
///
/// As [`parse`], and for a law that is to be rounded.
pub fn parse_exact(text: &str) -> Result<Arc<dyn Law>, Invalid> {
    let law = parse(text)?;
    if Parameters::parse(text.trim())?.text("per-decade").is_some() {
        return Err(Invalid(format!(
            "{law}: sizes are work in any unit here and are not rounded; leave `per-decade` out"
        )));
    }
    Ok(law)
}

/// The law, rounded if the parameters ask for it.
fn rounded(p: &mut Parameters<'_>, law: impl Law + 'static) -> Result<Arc<dyn Law>, Invalid> {
    let law = Arc::new(law);
    let Some(per_decade) = p.text("per-decade") else { return Ok(law) };
    match per_decade.parse() {
        Ok(number @ 1..=10_000) => Ok(Arc::new(Rounded::new(law, number))),
        _ => Err(Invalid(format!(
            "{}: `per-decade` is `{per_decade}`; give a whole number from 1 to 10000",
            p.name
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_written_is_shown() {
        for text in [
            "worldcup",
            "surge",
            "surge-files:per-decade=200",
            "specweb96",
            "specweb99",
            "carter",
            "bounded-pareto:min=1,max=10000,alpha=1.1",
            "bounded-pareto:min=1,max=10000,alpha=1.1,per-decade=100",
            "exponential:mean=1",
            "lognormal:mu=7.63,sigma=1.001",
            "deterministic:size=1000",
        ] {
            let law = parse(text).expect(text);
            assert_eq!(law.to_string(), text);
            assert!(law.mean() > 0.0);
        }
        assert_eq!(
            parse(" bounded-pareto: max = 1e4, min=1, alpha=1.1 ").expect("a law").to_string(),
            "bounded-pareto:min=1,max=10000,alpha=1.1"
        );
    }

    #[test]
    fn errors_say_which_parameter_and_what_is_expected() {
        for (text, wanted) in [
            ("pareto", "no law of sizes `pareto`"),
            ("exponential", "`mean` is missing"),
            ("exponential:mean=-1", "`mean` is -1; give a number above 0"),
            ("exponential:mean=x", "`mean` is `x`; give a number"),
            ("exponential:mean=nan", "`mean` is `nan`"),
            ("exponential:mean=1,mean=2", "given twice"),
            ("exponential:1", "KEY=VALUE"),
            ("exponential:mean=1,max=2", "no parameter `max`; its parameters are mean, per-decade"),
            ("worldcup:x=1", "no parameters"),
            ("bounded-pareto:min=2,max=1,alpha=1", "above `min`"),
            ("surge:per-decade=0", "from 1 to 10000"),
            ("lognormal:mu=1e9,sigma=1", "`mu`"),
            ("empirical", "`file` is missing"),
            ("empirical:file=/nowhere/at/all", "cannot read /nowhere/at/all"),
        ] {
            let error = parse(text).expect_err(text).0;
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }

    #[test]
    fn a_law_that_rounds_is_none_of_exact_sizes() {
        let text = "exponential:mean=1,per-decade=1";
        assert!(parse(text).is_ok());
        let error = parse_exact(text).expect_err(text).0;
        assert!(error.contains("leave `per-decade` out"), "{error}");
        assert_eq!(parse_exact("exponential:mean=1").expect("a law").mean(), 1.0);
        assert!(parse_exact("exponential").expect_err("no mean").0.contains("`mean` is missing"));
    }

    proptest! {
        #[test]
        fn no_text_panics_and_a_law_gives_ascending_sizes(
            text in "(worldcup|surge|carter|exponential|lognormal|bounded-pareto|deterministic)\
                     (:|,|=|mean|mu|sigma|min|max|alpha|size|per-decade|[0-9.e-]|\\PC){0,16}",
        ) {
            if let Ok(law) = parse(&text) {
                let again = parse(&law.to_string()).map(|law| law.to_string());
                prop_assert_eq!(again, Ok(law.to_string()));
            }
        }

        #[test]
        fn any_parameters_give_a_law_or_an_error(a: f64, b: f64, c: f64, u in 0.0..1.0) {
            for text in [
                format!("bounded-pareto:min={a},max={b},alpha={c}"),
                format!("exponential:mean={a},per-decade=10"),
                format!("lognormal:mu={a},sigma={b}"),
                format!("deterministic:size={c}"),
            ] {
                if let Ok(law) = parse(&text) {
                    prop_assert!(law.quantile(u) >= 0.0, "{} at {}", law, u);
                    prop_assert!(law.quantile(u) <= law.quantile((u + 1.0) / 2.0));
                    prop_assert!(law.size(u) >= 1);
                }
            }
        }
    }
}

//! A declared order of names, crates or modules: each may use only what stands on a lower floor.
//!
//! `tests/house.rs` declares one for the crates and one for the rooms of weir-server.

/// Floors from the top down. Names on one floor don't use each other.
#[derive(Debug, Clone, Copy)]
pub struct Floors<'a>(pub &'a [&'a [&'a str]]);

impl<'a> Floors<'a> {
    /// Whether `from` may use `to`: it is itself, or stands on a lower floor. Names without a floor may use nothing.
    pub fn may_use(&self, from: &str, to: &str) -> bool {
        from == to
            || match (self.floor(from), self.floor(to)) {
                (Some(from), Some(to)) => from < to,
                _ => false,
            }
    }

    /// What is wrong with the table itself for these `names`: names that stand on no floor or on two, floors' names that aren't there.
    pub fn gaps(&self, names: &[&str]) -> Vec<String> {
        let listed: Vec<&str> = self.0.iter().flat_map(|floor| floor.iter().copied()).collect();
        let count = |name: &str| listed.iter().filter(|other| **other == name).count();
        let mut gaps = Vec::new();
        for name in names {
            match count(name) {
                0 => gaps.push(format!("`{name}` stands on no floor: add it to the table")),
                1 => {}
                more => gaps.push(format!("`{name}` stands in the table {more} times: leave one")),
            }
        }
        for name in listed.iter().filter(|name| !names.contains(name)) {
            gaps.push(format!("`{name}` stands in the table but isn't there: remove it"));
        }
        gaps
    }

    /// Counted from the top.
    fn floor(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|floor| floor.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOORS: Floors = Floors(&[&["top"], &["left", "right"], &["bottom"]]);

    #[test]
    fn arrows_run_down_and_not_along_a_floor() {
        assert!(FLOORS.may_use("top", "bottom"));
        assert!(FLOORS.may_use("left", "left"));
        assert!(!FLOORS.may_use("left", "right"));
        assert!(!FLOORS.may_use("bottom", "left"));
        assert!(!FLOORS.may_use("top", "unknown"));
    }

    #[test]
    fn a_table_that_does_not_fit_is_told() {
        assert!(FLOORS.gaps(&["top", "left", "right", "bottom"]).is_empty());
        let gaps = FLOORS.gaps(&["top", "left", "right", "new"]);
        assert_eq!(gaps.len(), 2, "{gaps:?}");
        assert!(gaps[0].contains("`new`") && gaps[1].contains("`bottom`"), "{gaps:?}");
    }
}

//! Which routes must have a healthy backend for the server to be ready. Made of the configuration for the
//! admin address, whose `/readyz` answers by it.

use super::ready::ReadyRoute;
use super::routes::{Action, RouteConfig};
use super::settings::Config;

impl Config {
    /// The places of these routes among all.
    pub(crate) fn ready_routes(&self) -> Vec<usize> {
        let named = &self.operation.ready_routes;
        let is_named = |route: &RouteConfig| named.iter().any(|ready| is_for(ready, route));
        let all = self.routes.iter().enumerate();
        all.filter(|(_, route)| is_named(route)).map(|(place, _)| place).collect()
    }

    /// Whether every route that is named is there.
    ///
    /// # Errors
    ///
    /// Which is not, and what to write instead.
    pub(super) fn check_ready_routes(&self) -> Result<(), String> {
        let is_there = |ready: &ReadyRoute| self.routes.iter().any(|route| is_for(ready, route));
        let mut named = self.operation.ready_routes.iter();
        let Some(missing) = named.find(|ready| !is_there(ready)) else { return Ok(()) };
        let there = self.routes.iter().filter(|route| has_backends(route)).map(RouteConfig::name);
        let names = there.collect::<Vec<_>>().join(", ");
        let remedy = match names.is_empty() {
            true => "there are none: remove it".to_owned(),
            false => format!("there are {names}"),
        };
        Err(format!("`ready_routes`: {missing} is not a route with backends; {remedy}"))
    }
}

fn is_for(ready: &ReadyRoute, route: &RouteConfig) -> bool {
    ready.names(route) && has_backends(route)
}

fn has_backends(route: &RouteConfig) -> bool {
    matches!(route.action, Action::Proxy(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    const ROUTES: &str = "root = \".\"\n[[route]]\npath = \"/app\"\nbackends = \"http://a\"\n\
                          [[route]]\npath = \"/app\"\nhost = \"b.test\"\nbackends = \"http://b\"\n\
                          [[route]]\npath = \"/files\"\nfiles = true\n";

    fn ready(names: &str) -> Result<Vec<usize>, String> {
        let settings = parse(&format!("ready_routes = {names}\n{ROUTES}"));
        let settings = settings.map_err(|wrong| wrong.to_string())?;
        let config = Config::from_settings(settings).map_err(|wrong| wrong.to_string())?;
        Ok(config.ready_routes())
    }

    #[test]
    fn routes_are_named_by_their_paths_and_hosts() {
        for (names, places) in [
            ("[]", &[][..]),
            ("\"/app\"", &[0, 1]),
            ("\"/app/\"", &[0, 1]),
            ("\"B.test/app\"", &[1]),
            ("[\"b.test/app\", \"/app\"]", &[0, 1]),
        ] {
            assert_eq!(ready(names).as_deref(), Ok(places), "{names}");
        }
    }

    #[test]
    fn a_route_that_is_not_there_is_told_with_those_that_are() {
        for name in ["/", "/files", "a.test/app", "/app/x"] {
            let wrong = ready(&format!("\"{name}\"")).unwrap_err();
            let expected = format!(
                "`ready_routes`: {name} is not a route with backends; there are /app, b.test/app"
            );
            assert_eq!(wrong, expected);
        }
        let wrong = ready("\"app\"").unwrap_err();
        assert!(wrong.starts_with("1: \"app\" is not a route; write its path"), "{wrong}");
        let alone = Config::from_settings(parse("ready_routes = \"/\"").unwrap()).unwrap_err();
        assert!(alone.to_string().ends_with("there are none: remove it"), "{alone}");
    }
}

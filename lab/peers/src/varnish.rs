//! Varnish, which passes requests on. What forbids to be kept, it does not cache.

use std::net::SocketAddrV4;

use crate::error::Result;
use crate::options::Options;
use crate::program::Program;

/// The program; it has no configuration beside its arguments.
///
/// # Errors
///
/// When Varnish is not installed.
pub fn program(options: &Options<'_>, backend: SocketAddrV4) -> Result<Program> {
    options.in_clear_text("Varnish")?;
    Ok(arguments(Program::installed("varnishd", "-V")?, options, backend))
}

fn arguments(program: Program, options: &Options<'_>, backend: SocketAddrV4) -> Program {
    program
        .args(["-F", "-j", "none", "-s", "malloc,64m"])
        .arg("-a")
        .arg(options.listen.to_string())
        .arg("-b")
        .arg(backend.to_string())
        .arg("-n")
        .arg(options.directory.join("varnish"))
        .arg("-p")
        .arg(format!("listen_depth={}", options.backlog))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Content;

    #[test]
    fn it_listens_and_passes_on_where_it_is_told() {
        let backend: SocketAddrV4 = "127.0.0.1:9000".parse().expect("an address");
        let options = Options {
            listen: "127.0.0.1:8080".parse().expect("an address"),
            tls: None,
            backlog: 4096,
            content: Content::Proxy(backend),
            directory: "/srv/run".as_ref(),
            error_log: None,
            critical_only: false,
            user: None,
            connections: 1,
            open_files: None,
            idle_timeout: None,
            requests_per_connection: None,
        };
        let words = arguments(Program::new("varnishd"), &options, backend).words().join(" ");
        assert_eq!(
            words,
            "-F -j none -s malloc,64m -a 127.0.0.1:8080 -b 127.0.0.1:9000 -n /srv/run/varnish \
             -p listen_depth=4096"
        );
    }
}

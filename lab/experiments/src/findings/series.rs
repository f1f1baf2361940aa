//! Curves of systems: how a system is called and coloured in the whole report. The plots and tables of
//! all experiments use it.

use weir_plot::Series;

use super::ours::Ours;

/// A line through many points.
pub(crate) fn line(system: &str, points: Vec<(f64, f64)>) -> Series {
    let (colour, dashed) = colour(system);
    Series::new(label(system), points).coloured(colour, dashed)
}

/// A few measurements over the seeds; those that nobody made are left out.
pub(crate) fn measured(
    system: &str,
    points: impl IntoIterator<Item = (f64, Ours)>,
    scale: f64,
) -> Series {
    let mut series = line(system, Vec::new()).marked();
    for (x, ours) in points {
        if let Some(interval) = ours.interval {
            series.points.push((x, interval.middle * scale));
            series.intervals.push((interval.low * scale, interval.high * scale));
        }
    }
    series
}

/// How a system is called in tables and legends.
pub(crate) fn label(system: &str) -> String {
    match system {
        "apache-prefork" => "Apache prefork".to_owned(),
        "apache-prefork-1024" => "Apache prefork, 1024 processes".to_owned(),
        "apache-worker" => "Apache worker".to_owned(),
        "apache-event" => "Apache event".to_owned(),
        "nginx-aio" => "nginx, aio threads".to_owned(),
        "caddy" => "Caddy".to_owned(),
        "haproxy" => "HAProxy".to_owned(),
        "haproxy-limit" => "HAProxy, limit".to_owned(),
        "haproxy-expert" => "HAProxy, expert".to_owned(),
        "nginx-expert" => "nginx, expert".to_owned(),
        "varnish" => "Varnish".to_owned(),
        "checking" => "application checks".to_owned(),
        "weir-kernel:bands --uplink-bands paper --uplink-kernel-cap off" => {
            "kernel bands".to_owned()
        }
        "weir-kernel:bands" => "weir, kernel bands and cap".to_owned(),
        always if always.ends_with("-opener-always") => {
            format!("{} always asked", label(always.trim_end_matches("-always")))
        }
        opener if opener.ends_with("-opener") => {
            format!("{}, opener", label(opener.trim_end_matches("-opener")))
        }
        cache if cache.ends_with("-file-cache") => {
            format!("{}, mod_file_cache", label(cache.trim_end_matches("-file-cache")))
        }
        other => {
            let plain = other.strip_prefix("weir:proxy").or(other.strip_prefix("weir:files"));
            match plain {
                Some(flags) => {
                    let flags = flags.replace("--backend-order ", "").replace("--disk-work ", "");
                    format!("weir{flags}")
                }
                None => other.replacen("weir:", "weir ", 1).replacen(
                    "weir-kernel:",
                    "weir in the kernel, ",
                    1,
                ),
            }
        }
    }
}

/// A system has one colour in the whole report: colour and dashes.
fn colour(system: &str) -> (usize, bool) {
    match system.split(' ').next().unwrap_or(system) {
        // In front of an application.
        "weir:proxy" if system.ends_with("shortest-expected") => (1, false),
        "weir:proxy" if system.contains(' ') => (0, true),
        "weir:proxy" => (0, false),
        "checking" => (2, false),
        "direct" => (2, true),
        "nginx-expert" => (4, true),
        "haproxy" => (5, false),
        "haproxy-expert" => (6, false),
        // With files on a slow disk.
        "weir:files" if system.ends_with("read-blocks") => (2, false),
        "weir:files" if system.ends_with("open-blocks") => (6, true),
        "weir:files" if system.contains(' ') => (0, true),
        "weir:files" => (0, false),
        "nginx-aio" => (3, true),
        "weir:srpt" => (0, false),
        "weir-kernel:bands" => (0, true),
        "weir:protective" => (1, false),
        "weir:fair" => (2, false),
        "nginx" => (3, false),
        "apache-prefork" => (4, false),
        "weir:fsp" => (5, true),
        "weir:bands" => (6, true),
        "apache-event" => (4, true),
        "apache-worker" => (5, true),
        "apache-prefork-opener" => (1, false),
        "apache-worker-opener" | "apache-event-opener" => (1, true),
        always if always.ends_with("-opener-always") => (7, true),
        "apache-prefork-file-cache" => (2, false),
        "apache-worker-file-cache" | "apache-event-file-cache" => (2, true),
        "exact" => (7, true),
        "lighttpd" => (5, false),
        "h2o" => (6, false),
        "caddy" => (3, true),
        _ => (7, false),
    }
}

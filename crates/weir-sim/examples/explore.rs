use std::time::Duration;
use weir_sched::{BitRate, PolicyKind};
use weir_sim::ideal;
use weir_sim::uplink::{Asked, Client, Link, Request, finishes};
use weir_workload::{arrivals::Offered, law, shape::Shape};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let list = |i: usize, d: &str| {
        a.get(i).cloned().unwrap_or(d.into()).split(',').map(str::to_owned).collect::<Vec<_>>()
    };
    let workloads = list(1, "w1,w2,w3,w4,w5,w6,w7,w8,w9");
    let rtts = list(2, "0,1,5,20,50,100,250,mixed");
    let rates = list(3, "10");
    let seeds: Vec<u64> = list(4, "1").iter().map(|s| s.parse().unwrap()).collect();
    let policies: Vec<PolicyKind> =
        list(5, "protective,fsp,srpt").iter().map(|s| s.parse().unwrap()).collect();
    let mut jobs = Vec::new();
    for r in &rates {
        for w in &workloads {
            for t in &rtts {
                for s in &seeds {
                    jobs.push((r.parse::<u64>().unwrap(), w.clone(), t.clone(), *s));
                }
            }
        }
    }
    let lines = weir_sim::replications::each(jobs.len(), |i| {
        let (r, w, t, seed) = &jobs[i];
        let rate = BitRate::new(r * 1_000_000).unwrap();
        let shape = Shape::parse(w).unwrap();
        let cycle = shape.cycle();
        let duration = (150.0 / cycle).ceil() * cycle;
        let offered = Offered {
            seed: *seed,
            ..Offered::new(
                law::parse("worldcup").unwrap(),
                shape,
                duration,
                rate.bits() as f64 / 8.0,
            )
        };
        let all = [1, 5, 20, 50, 100, 250];
        let requests: Vec<Request> = offered
            .arrivals()
            .unwrap()
            .enumerate()
            .map(|(i, q)| {
                let ms =
                    if t == "mixed" { all[(i * 7919 + i / 6) % 6] } else { t.parse().unwrap() };
                Request {
                    at: q.at,
                    size: 200 + q.size.unwrap_or(0),
                    client: Client { round_trip: Duration::from_millis(ms), rate: None },
                }
            })
            .collect();
        let link = Link {
            relief: if std::env::var("NORELIEF").is_ok() { None } else { Link::new(rate).relief },
            ..Link::new(rate)
        };
        let fair = link.share(&requests).unwrap();
        let mean = |f: &[f64]| {
            f.iter().zip(&requests).map(|(f, r)| f - r.at).sum::<f64>() / requests.len() as f64
        };
        let got: Vec<_> = policies
            .iter()
            .map(|p| {
                let f = link.play(*p, &requests).unwrap();
                let (latest, at) = f
                    .iter()
                    .zip(&fair)
                    .enumerate()
                    .map(|(i, (f, g))| (f.received - g.received, i))
                    .fold((0.0, 0), |a, b| if b.0 > a.0 { b } else { a });
                if std::env::var("DUMP").is_ok_and(|d| d == p.name()) {
                    dump(&requests, &f, &fair, at);
                }
                let n = f
                    .iter()
                    .zip(&fair)
                    .filter(|(f, g)| {
                        f.received - g.received
                            > 0.0025 + requests[0].client.round_trip.as_secs_f64()
                    })
                    .count();
                let rec: Vec<f64> = f.iter().map(|f| f.received).collect();
                (p, latest, at, n, mean(&rec))
            })
            .collect();
        if std::env::var("DBG").is_ok() {
            std::process::exit(0);
        }
        let asked: Vec<Asked> = requests
            .iter()
            .map(|r| Asked { at: r.at, bytes: link.packets.wire(r.size) + link.connection })
            .collect();
        let paced = rate.scaled(0.99);
        let alone = |p| {
            mean(&finishes(p, paced, weir_sim::uplink::grant_for(paced, &asked), &asked).unwrap())
        };
        let (srpt0, prot0) = (alone(PolicyKind::Srpt), alone(PolicyKind::Protective));
        let _ = ideal::srpt;
        let srpt = got.iter().find(|g| *g.0 == PolicyKind::Srpt).map(|g| g.4).unwrap_or(1.0);
        let mut line = format!(
            "{r:>4} {w} {t:>5} seed {seed} n={} fair {:.1}ms alone {:.3}",
            requests.len(),
            mean(&fair.iter().map(|f| f.received).collect::<Vec<_>>()) * 1e3,
            prot0 / srpt0
        );
        for (p, latest, at, n, m) in got {
            line += &format!(
                " | {p} latest {latest:.4} (#{at} {}B at {:.1}s) n={n} mean {:.2}ms x{:.3}",
                requests[at].size,
                requests[at].at,
                m * 1e3,
                m / srpt
            );
        }
        line
    });
    for l in lines {
        println!("{l}");
    }
}
#[allow(dead_code)]
pub fn dump(
    requests: &[Request],
    f: &[weir_sim::uplink::Finish],
    g: &[weir_sim::uplink::Finish],
    at: usize,
) {
    let t = requests[at].at;
    println!(
        "worst #{at} size {} at {t:.3} real {:.3} ref {:.3}",
        requests[at].size,
        f[at].received - t,
        g[at].received - t
    );
    let here = |time: f64, f: &[weir_sim::uplink::Finish]| {
        (0..requests.len()).filter(|i| requests[*i].at <= time && f[*i].received > time).count()
    };
    let end = f[at].received;
    for k in 0..12 {
        let time = t + (end - t) * k as f64 / 11.0;
        println!("   t {time:.3}: real here {} ref here {}", here(time, f), here(time, g));
    }
    for i in 0..requests.len() {
        if requests[i].size > requests[at].size / 4 && f[i].received > t && requests[i].at < end {
            println!(
                "   also #{i} {}B at {:.3}: real until {:.3} ref until {:.3}",
                requests[i].size, requests[i].at, f[i].received, g[i].received
            );
        }
    }
}

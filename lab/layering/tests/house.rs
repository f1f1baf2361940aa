//! Holds this repository to its layers: crates, rooms and files use only what stands below them,
//! links lead somewhere, and no file is too long to be read at once.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use weir_layering::{
    Arrow, Arrows, Floors, Package, Tree, Workspace, arrows, broken_links, circles, closing,
    describe, text_files,
};

/// The crates, from the top down: each may use those on lower floors. The product stands below the lab.
const CRATES: Floors = Floors(&[
    &["weir-lab"],
    &["weir-experiments", "weir-costs"],
    &["weir-stand", "weir-blame"],
    &["weir-load", "weir-sim", "weir-peers", "weir-opener"],
    &["weir-stats", "weir-workload", "weir-plot", "weir-wan", "slowdisk", "weir-layering"],
    &["weir"],
    &["weir-server"],
    &["weir-acme"],
    &["weir-sched", "weir-http", "weir-tls"],
    &["weir-units", "weir-manual"],
]);

/// The modules at the top of weir-server, from the top down; the head of its lib.rs says the same.
const ROOMS_OF_WEIR_SERVER: Floors = Floors(&[
    &["fuzzing"],
    &["app"],
    &["listen"],
    &["protocol"],
    &["send", "service"],
    &["response"],
    &["answer"],
    &["client", "content"],
    &["compress", "disk", "uplink"],
    &["transport"],
    &["runtime"],
    &["metrics"],
    &["logs", "body", "access"],
    &["config"],
    &["error", "identity", "sys"],
]);

/// Modules whose children may use their names although they use the children, because all are one
/// subject: (the parent's file, why). At most ten; remove what is not needed any more.
const ONE_SUBJECT: &[(&str, &str)] = &[
    (
        "crates/weir-sched/src/backend/gate/mod.rs",
        "the gate; its methods on calls under way stand apart",
    ),
    (
        "crates/weir-sched/src/backend/limit/mod.rs",
        "the learned limit; its evidence and its probes stand apart",
    ),
    ("crates/weir-sched/src/policy/mod.rs", "the list of the policies, and what each implements"),
    (
        "crates/weir-sched/src/uplink/gate/mod.rs",
        "the gate; its methods on flows, leases and entries stand apart",
    ),
    ("crates/weir-server/src/body/buffer/mod.rs", "the buffer, and the task that moves its bytes"),
    ("crates/weir-server/src/disk/mod.rs", "the gate of the disk, and the threads that serve it"),
    ("crates/weir-server/src/send/mod.rs", "the sending of one response, and its single pushes"),
    ("lab/workload/src/arrivals/mod.rs", "arrivals, and the stream that makes them"),
    ("lab/workload/src/law/mod.rs", "what every law has, and the mean of one by integration"),
];

const MOST_EXCEPTIONS: usize = 10;

/// Lines of a source file outside tests.
const LONGEST_FILE: usize = 400;
const LONGEST_MEDIAN: usize = 180;

struct House {
    root: PathBuf,
    workspace: Workspace,
    /// By package; a package with a library and a program has two.
    arrows: BTreeMap<String, Vec<Arrows>>,
    /// Files that are compiled into a library or program.
    files: BTreeSet<PathBuf>,
}

static HOUSE: LazyLock<House> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned();
    let workspace = Workspace::read(&root).unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<String> = workspace.packages.iter().map(Package::code_name).collect();
    let mut found = BTreeMap::<_, Vec<_>>::new();
    let mut files = BTreeSet::new();
    for package in &workspace.packages {
        for file in &package.roots {
            let tree =
                Tree::read(file, &workspace.sources).unwrap_or_else(|error| panic!("{error}"));
            files.extend(tree.modules().iter().map(|module| module.file.clone()));
            found.entry(package.name.clone()).or_default().push(arrows(&tree, &names));
        }
    }
    House { root, workspace, arrows: found, files }
});

fn none(problems: &[String], advice: &str) {
    assert!(problems.is_empty(), "\n{}\n\n{advice}\n", problems.join("\n"));
}

#[test]
fn crates_use_only_crates_on_lower_floors() {
    let packages = &HOUSE.workspace.packages;
    let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let mut problems = CRATES.gaps(&names);
    for package in packages {
        let manifest = package.folder.join("Cargo.toml");
        let mut used = BTreeSet::new();
        for (code_name, (file, line)) in
            HOUSE.arrows[&package.name].iter().flat_map(|arrows| &arrows.crates)
        {
            let other = packages.iter().find(|other| other.code_name() == *code_name).unwrap();
            used.insert(other.name.clone());
            if !CRATES.may_use(&package.name, &other.name) {
                problems.push(format!("{}:{line} -> {}", file.display(), other.name));
            }
        }
        for other in &package.dependencies {
            if !CRATES.may_use(&package.name, other) {
                problems.push(format!("{} -> {other}", manifest.display()));
            } else if !used.contains(other) {
                problems.push(format!(
                    "{}: `{other}` is not used by the code: remove it",
                    manifest.display()
                ));
            }
        }
    }
    let advice = "Crates use only what stands below them in CRATES (lab/layering/tests/house.rs): \
                  move what is needed to a lower crate, or pass it in from above.";
    none(&problems, advice);
}

#[test]
fn files_of_a_crate_form_no_circle() {
    let mut problems = Vec::new();
    for arrows in HOUSE.arrows.values().flatten() {
        let kept = arrows.files.iter().filter(|arrow| excepted(arrow).is_none());
        for circle in circles(kept) {
            let last = describe(closing(circle.iter().copied()));
            let problem = format!("A circle, closed by\n{last}among\n{}", describe(circle));
            problems.push(problem);
        }
    }
    let advice = "Files use each other in one direction: move what both need to a third file below them, \
                  hand it in as an argument, or merge files that are one subject.";
    none(&problems, advice);
}

#[test]
fn exceptions_are_few_and_needed() {
    let mut problems = Vec::new();
    if ONE_SUBJECT.len() > MOST_EXCEPTIONS {
        problems.push(format!("{} entries, at most {MOST_EXCEPTIONS}", ONE_SUBJECT.len()));
    }
    for (parent, why) in ONE_SUBJECT {
        if why.is_empty() {
            problems.push(format!("{parent}: without a reason"));
        }
        let is_tied = HOUSE.arrows.values().flatten().any(|arrows| {
            let others = |arrow: &&Arrow| excepted(arrow).is_none_or(|other| other == *parent);
            let mut circles = circles(arrows.files.iter().filter(others)).into_iter().flatten();
            circles.any(|arrow| excepted(arrow) == Some(parent))
        });
        if !is_tied {
            problems.push(format!("{parent}: its children close no circle, remove it"));
        }
    }
    none(&problems, "Mend ONE_SUBJECT in lab/layering/tests/house.rs.");
}

#[test]
fn rooms_of_weir_server_use_only_rooms_on_lower_floors() {
    let arrows: Vec<&Arrow> =
        HOUSE.arrows["weir-server"].iter().flat_map(|arrows| &arrows.files).collect();
    let rooms: BTreeSet<&str> = HOUSE
        .files
        .iter()
        .filter_map(|file| file.strip_prefix("crates/weir-server/src").ok()?.components().next())
        .filter_map(|room| room.as_os_str().to_str())
        .map(|room| room.trim_end_matches(".rs"))
        .filter(|room| *room != "lib")
        .collect();
    let rooms: Vec<&str> = rooms.into_iter().collect();
    let mut problems = ROOMS_OF_WEIR_SERVER.gaps(&rooms);
    for arrow in arrows {
        let (Some(from), Some(to)) = (&arrow.from_room, &arrow.to_room) else { continue };
        if !ROOMS_OF_WEIR_SERVER.may_use(from, to) {
            problems.push(format!("{from} -> {to}:\n{}", describe([arrow])));
        }
    }
    let advice = "Rooms use only what stands below them in ROOMS_OF_WEIR_SERVER (lab/layering/tests/house.rs): \
                  move what is needed to a lower room, or pass it in from above.";
    none(&problems, advice);
}

#[test]
fn every_source_file_belongs_to_a_crate() {
    let mut problems = Vec::new();
    for file in HOUSE.workspace.sources.keys() {
        if !HOUSE.files.contains(file) && !is_for_tests(file) && !is_declared_for_tests(file) {
            problems.push(format!("{}: no `mod` leads here", file.display()));
        }
    }
    none(
        &problems,
        "Remove the file, or declare its module. Files of tests are called tests.rs, *_tests.rs or stand in tests/.",
    );
}

#[test]
fn files_are_short() {
    let mut lengths: Vec<(usize, &Path)> = HOUSE
        .workspace
        .sources
        .iter()
        .filter(|(file, _)| HOUSE.files.contains(*file))
        .map(|(file, text)| (text.lines().count(), file.as_path()))
        .collect();
    lengths.sort();
    let median = lengths[lengths.len() / 2].0;
    let (longest, file) = lengths[lengths.len() - 1];
    println!(
        "{} files: median {median} lines, longest {longest} ({})",
        lengths.len(),
        file.display()
    );
    let mut problems: Vec<String> = lengths
        .iter()
        .filter(|(lines, _)| *lines > LONGEST_FILE)
        .map(|(lines, file)| format!("{}: {lines} lines, at most {LONGEST_FILE}", file.display()))
        .collect();
    if median > LONGEST_MEDIAN {
        problems.push(format!("the median file has {median} lines, at most {LONGEST_MEDIAN}"));
    }
    none(&problems, "Split the file into its subjects.");
}

#[test]
fn links_of_documents_lead_to_files() {
    let mut problems = Vec::new();
    for file in text_files(&HOUSE.root, Path::new(""), "md") {
        for link in broken_links(&HOUSE.root, &file).unwrap() {
            problems.push(format!(
                "{}:{}: {} doesn't exist",
                link.file.display(),
                link.line,
                link.target
            ));
        }
    }
    none(&problems, "Let the link lead to where the file is, or remove it.");
}

/// The entry of ONE_SUBJECT that lets `arrow` run up.
fn excepted(arrow: &Arrow) -> Option<&'static str> {
    let mut parents = ONE_SUBJECT.iter().map(|(parent, _)| *parent);
    parents.find(|parent| arrow.to == Path::new(parent) && is_child(&arrow.from, &arrow.to))
}

/// Whether `parent` is the file of the module right above `child`: `a.rs` or `a/mod.rs` of `a/b.rs`.
fn is_child(child: &Path, parent: &Path) -> bool {
    let folder = if child.ends_with("mod.rs") {
        child.parent().and_then(Path::parent)
    } else {
        child.parent()
    };
    folder.is_some_and(|folder| {
        parent == folder.join("mod.rs")
            || parent == folder.with_extension("rs")
            || parent == folder.join("lib.rs")
            || parent == folder.join("main.rs")
    })
}

/// Whether the module above `file` declares it for tests alone.
fn is_declared_for_tests(file: &Path) -> bool {
    let (Some(name), Some(folder)) = (file.file_stem(), file.parent()) else { return false };
    let declaration = format!("#[cfg(test)]\nmod {};", name.to_string_lossy());
    ["mod.rs", "lib.rs", "main.rs"].into_iter().any(|above| {
        let text = HOUSE.workspace.sources.get(&folder.join(above));
        text.is_some_and(|text| text.contains(&declaration))
    })
}

fn is_for_tests(file: &Path) -> bool {
    let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    name == "tests" || name.ends_with("_tests") || file.iter().any(|part| part == "tests")
}

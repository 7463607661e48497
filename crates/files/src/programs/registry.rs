//! The registry of built-in workloads; turns a name or a path into applications.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::LazyLock;

use super::args::Args;
use super::build::Context;
use super::entry::{Build, WorkloadInfo};
use super::error::WorkloadError;
use super::{fairness, generated, parsec, readers, shipped, system};
use evenkeel_model::Application;

/// The greatest size: a thousand times the studies' inputs.
pub const MOST_SIZE: f64 = 1_000.0;

/// The longest workload file, bytes.
pub const MOST_FILE_BYTES: u64 = 64 << 20;

/// Names longer than this resemble nothing built in: no likeness is computed.
const LONGEST_NAME: usize = 64;

/// How alike (Jaro-Winkler) a name must be to be offered instead of one that is not there.
const LIKENESS: f64 = 0.8;

/// How many alike names are offered.
const OFFERED: usize = 3;

/// Entries and their descriptions, at the same indices.
struct Registry {
    builds: Vec<Build>,
    infos: Vec<WorkloadInfo>,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let families = [
        parsec::entries(),
        fairness::entries(),
        generated::entries(),
        system::entries(),
        shipped::entries(),
    ];
    let entries = families.into_iter().flatten();
    let (builds, infos) = entries.map(|entry| (entry.build, entry.info)).unzip();
    Registry { builds, infos }
});

/// All built-in workloads, by family.
pub fn list() -> &'static [WorkloadInfo] {
    &REGISTRY.infos
}

/// The built-in workload that a specification begins with, whatever its case.
pub fn find(spec: &str) -> Option<&'static WorkloadInfo> {
    exact(head(spec)).or_else(|| folded(head(spec))).map(|index| &REGISTRY.infos[index])
}

/// A built-in name as the list spells it, whatever its case; any other text unchanged.
pub fn canonical(name: &str) -> String {
    match find(name) {
        Some(info) if !Path::new(name).exists() => {
            format!("{}{}", info.name, &name[info.name.len()..])
        }
        _ => name.to_owned(),
    }
}

/// The part of a specification before its shape and knobs.
fn head(spec: &str) -> &str {
    spec.split(':').next().unwrap_or(spec)
}

fn exact(name: &str) -> Option<usize> {
    REGISTRY.infos.iter().position(|info| info.name == name)
}

/// The index of the workload with this name in any case. No two names differ by case only: a test
/// checks this.
fn folded(name: &str) -> Option<usize> {
    REGISTRY.infos.iter().position(|info| info.name.eq_ignore_ascii_case(name))
}

/// Makes a workload from the name of a built-in one with its arguments, or from a file, whose
/// format is told from its content. A name in another case comes after a file. The result is
/// deterministic: equal specifications and contexts give equal applications.
///
/// # Errors
/// See [`WorkloadError`].
pub fn load(spec: &str, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    check_size(ctx)?;
    if let Some(index) = exact(head(spec)) {
        return built_in(index, spec, ctx);
    }
    let path = Path::new(spec);
    match std::fs::metadata(path) {
        Ok(_) => return load_file(path, ctx),
        // A path may exist and not be accessible: then the error says that, and not that the name
        // is unknown.
        Err(source) if source.kind() == std::io::ErrorKind::PermissionDenied => {
            return Err(WorkloadError::Io { path: path.to_owned(), source });
        }
        Err(_) => {}
    }
    match folded(head(spec)) {
        Some(index) => built_in(index, spec, ctx),
        None => Err(WorkloadError::Unknown { name: spec.to_owned(), hint: hint(head(spec)) }),
    }
}

/// Makes a workload from the content of a file, whose format is told from it. `name`: of the file,
/// in messages.
///
/// # Errors
/// As [`load`] of a file.
pub fn parse(bytes: &[u8], name: &str, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    check_size(ctx)?;
    let path = Path::new(name);
    if bytes.len() as u64 > MOST_FILE_BYTES {
        return Err(WorkloadError::FileTooLong { path: path.to_owned(), most: MOST_FILE_BYTES });
    }
    readers::read(bytes, path, ctx)
}

fn check_size(ctx: &Context) -> Result<(), WorkloadError> {
    if ctx.size > 0.0 && ctx.size <= MOST_SIZE {
        return Ok(());
    }
    Err(WorkloadError::Size { found: ctx.size, most: MOST_SIZE })
}

fn built_in(index: usize, spec: &str, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    let (info, build) = (&REGISTRY.infos[index], REGISTRY.builds[index]);
    // The name as the list spells it, whatever its case was.
    let spec = format!("{}{}", info.name, &spec[head(spec).len()..]);
    let args = Args::parse(&spec)?.without_defaults_in_words(info.knobs);
    let knobs: Vec<_> = info.knobs.iter().map(|knob| knob.name).collect();
    args.check(info.shapes, &knobs)?;
    build(&args, ctx)
}

fn load_file(path: &Path, ctx: &Context) -> Result<Vec<Application>, WorkloadError> {
    let io = |source| WorkloadError::Io { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    // One byte more than the limit tells a file that is too long from one of exactly the limit.
    File::open(path).map_err(io)?.take(MOST_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > MOST_FILE_BYTES {
        return Err(WorkloadError::FileTooLong { path: path.to_owned(), most: MOST_FILE_BYTES });
    }
    readers::read(&bytes, path, ctx)
}

fn hint(name: &str) -> String {
    if name.len() > LONGEST_NAME {
        return String::new();
    }
    let lower = name.to_lowercase();
    let mut alike: Vec<_> = REGISTRY
        .infos
        .iter()
        .map(|info| (strsim::jaro_winkler(&lower, &info.name.to_lowercase()), info.name))
        .filter(|(likeness, _)| *likeness >= LIKENESS)
        .collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    let names: Vec<_> = alike.into_iter().take(OFFERED).map(|(_, name)| name).collect();
    if names.is_empty() { String::new() } else { format!(" (did you mean {}?)", names.join(", ")) }
}

#[cfg(test)]
mod tests {

    use super::*;

    fn specs() -> impl Iterator<Item = String> {
        list().iter().flat_map(|info| {
            let shaped = info.shapes.iter().map(|shape| format!("{}:{shape}", info.name));
            std::iter::once(info.name.to_owned()).chain(shaped)
        })
    }

    #[test]
    fn names_differ_by_more_than_case_and_are_found_in_any() {
        for (i, info) in list().iter().enumerate() {
            assert!(
                list()[..i].iter().all(|other| !other.name.eq_ignore_ascii_case(info.name)),
                "{}",
                info.name
            );
            assert_eq!(find(&info.name.to_uppercase()).map(|found| found.name), Some(info.name));
        }
        let machine = crate::machines::preset("odroid-xu3-paper").unwrap();
        let ctx = Context { size: 0.02, ..Context::new(&machine) };
        assert_eq!(load("Ferret:tasks", &ctx).unwrap(), load("ferret:tasks", &ctx).unwrap());
    }

    #[test]
    fn everything_built_in_is_valid_and_the_same_twice_on_every_preset() {
        for preset in crate::machines::presets() {
            let machine = crate::machines::preset(preset.name).unwrap();
            let ctx = Context { size: 0.02, ..Context::new(&machine) };
            for spec in specs() {
                let apps = load(&spec, &ctx).unwrap();
                assert!(!apps.is_empty(), "{spec}");
                for app in &apps {
                    assert_eq!(app.validate(), Ok(()), "{spec} on {}", preset.name);
                }
                assert_eq!(apps, load(&spec, &ctx).unwrap(), "{spec}");
            }
        }
    }

    #[test]
    fn everything_built_in_can_be_made_for_one_thread_and_for_more_than_there_is_to_do() {
        let machine = crate::machines::preset("odroid-xu3-paper").unwrap();
        for threads in [1, 200] {
            let ctx = Context { size: 0.001, threads: Some(threads), ..Context::new(&machine) };
            for spec in specs() {
                load(&spec, &ctx)
                    .unwrap()
                    .iter()
                    .for_each(|app| assert_eq!(app.validate(), Ok(()), "{spec}"));
            }
        }
    }

    #[test]
    fn names_are_told_apart_and_every_default_of_a_knob_is_stated() {
        let mut names: Vec<_> = list().iter().map(|info| info.name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(list().iter().flat_map(|info| info.knobs).all(|knob| !knob.default.is_empty()));
    }

    #[test]
    fn every_stated_default_of_a_knob_can_be_asked_for_and_changes_nothing() {
        let machine = crate::machines::preset("odroid-xu3-paper").unwrap();
        for info in list() {
            let ctx = Context { size: 0.01, ..Context::new(&machine) };
            let as_it_is = load(info.name, &ctx).unwrap();
            for knob in info.knobs {
                let spec = format!("{}:{}={}", info.name, knob.name, knob.default);
                let asked = load(&spec, &ctx).unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(asked.len(), as_it_is.len(), "{spec}");
                for (asked, as_it_is) in asked.into_iter().zip(&as_it_is) {
                    assert_eq!(
                        Application { name: as_it_is.name.clone(), ..asked },
                        *as_it_is,
                        "{spec}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_book_has_everything_built_in_with_its_knobs() {
        let book = include_str!("../../../../docs/simulate/workloads.md");
        for info in list() {
            assert!(book.contains(info.name), "{}", info.name);
            info.knobs.iter().for_each(|knob| {
                assert!(book.contains(&format!("{}=", knob.name)), "{}", knob.name)
            });
            info.shapes
                .iter()
                .for_each(|shape| assert!(book.contains(&format!("`{shape}`")), "{shape}"));
        }
    }

    #[test]
    fn a_name_that_is_not_there_is_answered_with_those_near_it() {
        let machine = crate::machines::preset("odroid-xu3").unwrap();
        let said = |spec: &str| load(spec, &Context::new(&machine)).unwrap_err().to_string();
        let error = said("blackshole:tasks");
        assert!(
            error.contains("did you mean blackscholes") && error.contains("`evenkeel workloads`"),
            "{error}"
        );
        assert!(!said("zzzz").contains("did you mean"));
        assert!(
            said("dedup:loop-static").contains("no shape 'loop-static'; shapes: pinned, tasks")
        );
        assert!(said("spin:shape=1").contains("no knob 'shape'; knobs: threads, seconds"));
    }

    #[test]
    fn a_file_is_told_from_its_content_and_is_the_same_by_path_and_by_name() {
        let machine = crate::machines::preset("odroid-xu3").unwrap();
        let workloads = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads");
        let files: Vec<_> =
            std::fs::read_dir(&workloads).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(!files.is_empty());
        for file in files {
            let name = file.file_stem().unwrap().to_str().unwrap();
            let loaded = |spec: &str| load(spec, &Context::new(&machine)).unwrap();
            assert_eq!(loaded(name), loaded(file.to_str().unwrap()), "{name}");
        }
        let refused = load(env!("CARGO_MANIFEST_PATH"), &Context::new(&machine)).unwrap_err();
        assert!(refused.to_string().contains("not a workload: expected rt-app JSON"), "{refused}");
        assert!(matches!(load("/", &Context::new(&machine)), Err(WorkloadError::Io { .. })));
    }

    #[test]
    fn a_size_that_is_no_amount_is_refused() {
        let machine = crate::machines::preset("odroid-xu3").unwrap();
        for size in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
            let refused = load("spin", &Context { size, ..Context::new(&machine) });
            assert!(matches!(refused, Err(WorkloadError::Size { .. })), "{size}");
        }
    }
}

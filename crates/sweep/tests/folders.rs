//! Folders of results: the same bytes however they came about.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use evenkeel_sweep::{Begin, Grid, Results, Shard, Sweep, Value, Watch};
use proptest::prelude::*;

/// Of 236 cases: parts have three.
const GRID: &str = "[axes]\nmachine = [\"quickia\", \"odroid-xu3\"]\n\
                    workload = [[\"mcf\", \"gobmk\"], \"no-such-file.json\"]\n\
                    policy = [\"acfs\", \"hsp\", \"linux\"]\nsize = 0.01\nseed = { from = 1, to = 12, step = 1 }\n\
                    \"acfs.swap\" = [200, 400, 600]\n\
                    [[exclude]]\npolicy = \"linux\"\nseed = 2\n";

struct Nobody;

impl Watch for Nobody {}

fn sweep() -> Sweep {
    Sweep::new(Grid::parse(GRID, "grid.toml", None).unwrap()).unwrap()
}

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

/// Carries out parts of a sweep into a folder.
fn carry_out(sweep: &Sweep, to: &Path, parts: &[usize], threads: usize) {
    let folder = sweep.folder(to, Begin::Resume).unwrap();
    let lacking = sweep.lacking(&folder, parts);
    sweep.carry_out(&folder, &lacking, &pool(threads), &Nobody).unwrap();
}

/// All files below a folder, with their bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_owned();
                files.insert(name, fs::read(path).unwrap());
            }
        }
    }
    files
}

fn all(sweep: &Sweep) -> Vec<usize> {
    sweep.share(Shard::WHOLE)
}

/// The files of a sweep that nothing disturbed.
fn undisturbed() -> BTreeMap<PathBuf, Vec<u8>> {
    static FILES: Mutex<Option<BTreeMap<PathBuf, Vec<u8>>>> = Mutex::new(None);
    let mut known = FILES.lock().unwrap();
    let made = || {
        let (sweep, to) = (sweep(), tempfile::tempdir().unwrap());
        carry_out(&sweep, to.path(), &all(&sweep), 1);
        files(to.path())
    };
    known.get_or_insert_with(made).clone()
}

#[test]
fn shards_by_any_number_of_threads_make_the_files_of_one_undisturbed_sweep() {
    let to = tempfile::tempdir().unwrap();
    for shard in ["3/3", "1/3", "2/3"] {
        let sweep = sweep();
        let share = sweep.share(shard.parse().unwrap());
        carry_out(&sweep, to.path(), &share, 3);
    }
    let (sweep, all) = (sweep(), all(&sweep()));
    let (failed, why) =
        sweep.failed(&sweep.folder(to.path(), Begin::Resume).unwrap(), &all).unwrap();
    // All cases of one of two workloads.
    assert_eq!((failed, why.is_some()), (sweep.grid().len() / 2, true));
    let files = files(to.path());
    assert_eq!(files, undisturbed());
    let is_in = |text: &str| files.keys().any(|file| file.to_string_lossy().contains(text));
    assert!(is_in("results/machine=quickia/policy=acfs/part-"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_sweep_that_goes_on_after_any_parts_were_written_ends_with_the_same_bytes(
        written in prop::collection::vec(any::<bool>(), 48), torn: u8, threads in 1..4_usize,
    ) {
        let (sweep, to) = (sweep(), tempfile::tempdir().unwrap());
        let all = all(&sweep);
        let is_written = |part: &usize| written[*part % written.len()];
        let some: Vec<usize> = all.iter().copied().filter(is_written).collect();
        carry_out(&sweep, to.path(), &some, threads);
        // What a power cut may leave of a file.
        let parts: Vec<PathBuf> = files(to.path()).into_keys().collect();
        let torn = &parts[usize::from(torn) % parts.len()];
        if torn.to_string_lossy() != "manifest.json" {
            let file = to.path().join(torn);
            let bytes = fs::read(&file).unwrap();
            fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
        }
        carry_out(&sweep, to.path(), &all, threads);
        prop_assert_eq!(files(to.path()), undisturbed());
    }
}

#[test]
fn parts_have_all_cases_of_the_grid_once_and_samples_are_of_it() {
    let sweep = sweep();
    assert_eq!(sweep.cases_of(&all(&sweep)), sweep.grid().len());
    assert_eq!(sweep.grid().cases().count() as u64, sweep.grid().len());
    let cases: Vec<String> = sweep.grid().cases().map(|case| case.canonical()).collect();
    let mut sampled: Vec<String> = sweep.sample(u64::MAX).map(|case| case.canonical()).collect();
    sampled.sort();
    let mut sorted = cases.clone();
    sorted.sort();
    assert_eq!(sampled, sorted);
    assert!(sweep.sample(5).all(|case| cases.contains(&case.canonical())));
    assert_eq!(sweep.sample(5).count(), 5);
}

#[test]
fn a_folder_of_something_else_is_refused_and_left_as_it_is() {
    let said = |to: &Path, text: &str, begin: Begin| {
        let sweep = Sweep::new(Grid::parse(text, "grid.toml", None).unwrap()).unwrap();
        sweep.folder(to, begin).map(drop).unwrap_err().to_string()
    };
    let to = tempfile::tempdir().unwrap();
    let sweep = sweep();
    carry_out(&sweep, to.path(), &[0], 1);
    let before = files(to.path());
    let anew = said(to.path(), GRID, Begin::Anew);
    let parts = sweep.parts();
    assert!(anew.contains(&format!(": 1 of {parts} parts of this grid are there; --resume")));
    let seeds = GRID.replace("to = 12", "to = 13");
    assert!(said(to.path(), &seeds, Begin::Resume).contains("other values of axis 'seed'"));
    let axis = GRID.replace("size = 0.01\n", "");
    assert!(said(to.path(), &axis, Begin::Resume).contains("its grid has an axis 'size'"));
    let condition = GRID.replace("policy = \"linux\"\nseed = 2", "policy = \"linux\"\nseed = 3");
    assert!(said(to.path(), &condition, Begin::Resume).contains("other zips or conditions"));
    assert_eq!(files(to.path()), before);

    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("thesis.tex"), "").unwrap();
    assert!(said(other.path(), GRID, Begin::Resume).contains("files that are no sweep's"));
    assert_eq!(files(other.path()).len(), 1);
    fs::write(other.path().join("manifest.json"), "{}").unwrap();
    assert!(said(other.path(), GRID, Begin::Resume).contains("no manifest of a sweep"));
}

#[test]
fn a_file_that_the_grid_names_must_be_what_it_was() {
    let home = tempfile::tempdir().unwrap();
    let (machine, to) = (home.path().join("board.toml"), home.path().join("out"));
    let preset = evenkeel_files::machines::load("quickia").unwrap();
    let text = evenkeel_files::machines::to_toml(&preset);
    fs::write(&machine, &text).unwrap();
    let grid = GRID.replace("\"odroid-xu3\"", &format!("{:?}", machine.to_str().unwrap()));
    let sweep = || Sweep::new(Grid::parse(&grid, "grid.toml", None).unwrap()).unwrap();
    let first = sweep();
    carry_out(&first, &to, &[0], 1);
    fs::write(&machine, text + "\n# Another one.\n").unwrap();
    let error = sweep().folder(&to, Begin::Resume).map(drop).unwrap_err().to_string();
    assert!(error.contains("board.toml has changed since"), "{error}");
}

#[test]
fn what_is_written_is_read_back_by_its_place_in_the_grid() {
    let (sweep, to) = (sweep(), tempfile::tempdir().unwrap());
    carry_out(&sweep, to.path(), &all(&sweep), 2);
    let results = Results::read(to.path()).unwrap();
    let axes: Vec<(String, Vec<Value>)> =
        results.axes().map(|(axis, values)| (axis.to_owned(), values.to_vec())).collect();
    let mut read: Vec<String> = Vec::new();
    for case in &results.cases {
        let values = axes.iter().zip(&case.places).filter_map(|((axis, values), place)| {
            Some(format!("{axis}={}", values[(*place)? as usize]))
        });
        let of_file = case.has_failed == case.measures[0].is_none();
        assert!(of_file && case.measures[0].is_none_or(|time| time > 0.0));
        read.push(values.collect::<Vec<_>>().join(" "));
    }
    let of = |case: evenkeel_sweep::Case| {
        let values = case.values().map(|(axis, value)| format!("{axis}={value}"));
        values.collect::<Vec<_>>().join(" ")
    };
    let mut cases: Vec<String> = sweep.grid().cases().map(of).collect();
    read.sort();
    cases.sort();
    assert_eq!(read, cases);
    assert_eq!(results.parts, sweep.parts() as u64);
    let nothing = Results::read(&to.path().join("results")).unwrap_err().to_string();
    assert!(nothing.contains("no folder of a sweep: manifest.json"), "{nothing}");
}

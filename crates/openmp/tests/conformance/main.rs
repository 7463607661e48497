//! Programs of all kinds of loop say the same with the library and without, on teams of 1 to 9.
//!
//! Loops are divided by capacities from the first on, among nine CPUs of three kinds that are only
//! said to be there: so each loop that may be divided is, unequally, on any machine.
//!
//! `EVENKEEL_OMP_TEST=full`: all loops, all compilers that are there, all sizes of team. Compilers
//! that are not there are left out with a line.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod generate;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use evenkeel_openmp::library;
use evenkeel_openmp::setup::{Cpu, FOLDER_VARIABLE, Manner, write};
use evenkeel_openmp::told::{self, Phase, Told};

/// A compiler, and the folder of the runtime that belongs to it where that is not the system's.
struct Compiler {
    program: &'static str,
    flags: &'static [&'static str],
    runtime: Option<&'static str>,
    language: Language,
    /// Whether its static loops ask the runtime.
    asks: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    C,
    Cpp,
    Fortran,
}

const fn compiler(
    program: &'static str,
    flags: &'static [&'static str],
    runtime: Option<&'static str>,
    language: Language,
    asks: bool,
) -> Compiler {
    Compiler { program, flags, runtime, language, asks }
}

/// What Debian 12 has. Runtimes of older compilers are unpacked side by side by
/// tests/setup-openmp.sh.
const COMPILERS: [Compiler; 12] = [
    compiler("clang-19", &["-fopenmp"], None, Language::C, true),
    compiler("clang++-19", &["-fopenmp"], None, Language::Cpp, true),
    compiler("gcc-12", &["-fopenmp"], None, Language::C, false),
    compiler("flang-new-19", &["-fopenmp"], None, Language::Fortran, true),
    compiler("clang-16", &["-fopenmp=libomp"], Some("16"), Language::C, true),
    compiler("clang-15", &["-fopenmp=libomp"], Some("15"), Language::C, true),
    compiler("clang-14", &["-fopenmp=libomp"], Some("14"), Language::C, true),
    compiler("gcc-11", &["-fopenmp"], None, Language::C, false),
    compiler("g++-12", &["-fopenmp"], None, Language::Cpp, false),
    compiler("gfortran-12", &["-fopenmp"], None, Language::Fortran, false),
    compiler("clang++-14", &["-fopenmp=libomp"], Some("14"), Language::Cpp, true),
    compiler("gfortran-11", &["-fopenmp"], None, Language::Fortran, false),
];

/// Compilers of a sample.
const SAMPLE: usize = 4;
const THREADS: [u32; 9] = [1, 2, 3, 4, 5, 6, 7, 8, 9];
const SAMPLE_THREADS: [u32; 4] = [1, 2, 3, 8];
/// Runs in which a fault of the runtime's own must show itself.
const ATTEMPTS: u32 = 30;
const LONGEST: Duration = Duration::from_secs(120);

fn is_full() -> bool {
    std::env::var_os("EVENKEEL_OMP_TEST").is_some_and(|value| value == "full")
}

#[test]
fn programs_say_the_same_with_their_loops_divided() {
    let home = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("omp-conformance");
    let _ = fs::remove_dir_all(&home);
    fs::create_dir_all(&home).unwrap();
    let library = library::unpack(&home.join("cache")).unwrap();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    let (nth, compilers, threads) = if is_full() {
        (1, &COMPILERS[..], &THREADS[..])
    } else {
        (11, &COMPILERS[..SAMPLE], &SAMPLE_THREADS[..])
    };
    let loops = home.join("loops.c");
    fs::write(&loops, generate::program(nth)).unwrap();
    let mut divided = 0;
    for compiler in compilers {
        let of_language: &[PathBuf] = &match compiler.language {
            Language::Fortran => vec![sources.join("loops.f90")],
            _ => vec![loops.clone(), sources.join("others.c")],
        };
        for source in of_language {
            let program = match compiler.build(source, &home) {
                Built::Program(program) => program,
                Built::Missing => {
                    println!("{} is not there: left out", compiler.program);
                    continue;
                }
            };
            let mut faults = Faults::default();
            for &threads in threads {
                divided += check(compiler, &program, threads, &library, &home, &mut faults);
            }
        }
    }
    println!("{divided} kinds of loop were divided");
}

enum Built {
    Program(PathBuf),
    Missing,
}

impl Compiler {
    fn build(&self, source: &Path, home: &Path) -> Built {
        let stem = source.file_stem().unwrap().to_string_lossy();
        let program = home.join(format!("{stem}-{}", self.program));
        let mut command = Command::new(self.program);
        command.args(["-O1", "-w"]).args(self.flags).arg("-o").arg(&program);
        if self.language == Language::Cpp {
            command.args(["-x", "c++"]);
        }
        command.arg(source);
        if let Some(folder) = self.runtime_folder() {
            command.arg(format!("-L{}", folder.display()));
            command.arg(format!("-I{}", folder.join("../include").display()));
            // Headers are where the compiler's version has them.
            let version = self.runtime.unwrap_or_default();
            let headers = folder.join(format!("clang/{version}/include"));
            command.arg(format!("-I{}", headers.display()));
        } else if self.runtime.is_some() {
            return Built::Missing;
        }
        match command.output() {
            Err(_) => Built::Missing,
            Ok(output) if output.status.success() => Built::Program(program),
            Ok(output) => {
                panic!("{}: {}", self.program, String::from_utf8_lossy(&output.stderr));
            }
        }
    }

    fn runtime_folder(&self) -> Option<PathBuf> {
        let version = self.runtime?;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("../../target/openmp/{version}/usr/lib/llvm-{version}/lib"));
        folder.exists().then_some(folder)
    }
}

/// Runs a program both ways; says how many kinds of loop were divided.
fn check(
    compiler: &Compiler,
    program: &Path,
    threads: u32,
    library: &Path,
    home: &Path,
    faults: &mut Faults,
) -> usize {
    let command = || {
        let mut command = Command::new(program);
        command.env("OMP_NUM_THREADS", threads.to_string()).env("OMP_SCHEDULE", "static");
        // Most teams here have more threads than there are cores.
        command.env("OMP_WAIT_POLICY", "passive");
        if let Some(folder) = compiler.runtime_folder() {
            command.env("LD_LIBRARY_PATH", folder);
        }
        command
    };
    let folder = tempfile::tempdir_in(home).unwrap();
    let there = cpus();
    let cpus: Vec<Cpu> = (0..9)
        .map(|number| Cpu {
            // On CPUs that are there, by turns.
            number: there[number as usize % there.len()],
            kind: number / 3,
            capacity: 1024 >> (number / 3),
            is_sibling: false,
        })
        .collect();
    write(folder.path(), &cpus, Manner { places: true, by_capacity: true, ..Manner::default() })
        .unwrap();
    let mut with_us = command();
    with_us.env("LD_PRELOAD", library).env(FOLDER_VARIABLE, folder.path());
    let ours = output(with_us);
    let name = program.file_name().unwrap().to_string_lossy();
    let of_threads = format!("{name}, {threads} threads");
    if !ours.status.success() {
        let ended = ours.status.to_string();
        assert!(
            faults.have(&command, |faults| faults.ended.contains(&ended)),
            "{of_threads}: {ended}, and never so in {ATTEMPTS} runs without us"
        );
        println!("{of_threads}: {ended}, as without us: not compared");
        return 0;
    }
    let ours = lines(&ours);
    let stock = (0..ATTEMPTS).find_map(|_| faults.run(command()));
    let stock = stock.unwrap_or_else(|| panic!("{of_threads}: without us it never ends well"));
    assert_eq!(stock.len(), ours.len(), "{of_threads}");
    for (index, (a, b)) in stock.iter().zip(&ours).enumerate() {
        if a == b || b.ends_with(" right") {
            continue;
        }
        let is_stock = fault(b)
            .is_some_and(|fault| faults.have(&command, |faults| faults.said.contains(&fault)));
        assert!(is_stock, "{of_threads}, line {index}: without us '{a}', with us '{b}'");
    }
    let told = told::read(folder.path()).unwrap();
    let divided = divided(&told);
    if compiler.asks && threads > 1 {
        assert!(divided > 0, "{name}, {threads} threads: no loop was divided: {told:?}");
    }
    divided
}

/// The CPUs that this process may use.
fn cpus() -> Vec<u32> {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    evenkeel_machine::parse_cpus(list.trim()).unwrap()
}

fn lines(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Faults that a program has without us: LLVM's runtime loses `lastprivate` of dynamic loops now
/// and then (issues 132164, 86995, 54422), or stops at an assertion of its own.
#[derive(Default)]
struct Faults {
    said: BTreeSet<String>,
    /// How it ended other than well.
    ended: BTreeSet<String>,
}

impl Faults {
    /// Takes in a run without us; its lines, where it ended well.
    fn run(&mut self, command: Command) -> Option<Vec<String>> {
        let output = output(command);
        let lines = lines(&output);
        self.said.extend(lines.iter().filter_map(|line| fault(line)));
        if !output.status.success() {
            self.ended.insert(output.status.to_string());
            return None;
        }
        Some(lines)
    }

    /// Whether this shows in some runs without us, of this loop or of another.
    fn have(&mut self, command: &impl Fn() -> Command, is_it: impl Fn(&Self) -> bool) -> bool {
        for _ in 0..ATTEMPTS {
            if is_it(self) {
                return true;
            }
            self.run(command());
        }
        is_it(self)
    }
}

/// What a generated loop says where it is not right.
fn fault(line: &str) -> Option<String> {
    let (number, said) = line.split_once(' ')?;
    (number.parse::<u32>().is_ok() && said.contains(": ")).then(|| said.to_owned())
}

fn divided(told: &[Told]) -> usize {
    let loops = told.iter().flat_map(|process| &process.regions).flat_map(|region| &region.loops);
    loops.filter(|of| of.phase == Phase::Given).count()
}

fn output(mut command: Command) -> Output {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
    let end = Instant::now() + LONGEST;
    let mut stdout = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut stdout, &mut bytes).map(|_| bytes)
    });
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > end {
            child.kill().unwrap();
            break child.wait().unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    Output { status, stdout: reader.join().unwrap().unwrap(), stderr: Vec::new() }
}

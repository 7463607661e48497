//! The programs, as Debian has them, what they are given, and what is checked of what they do.

use super::inputs::Input;

/// Where a program's output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// What it prints, the same each time.
    Printed,
    /// A file or a folder in its working folder, the same each time; what it prints is not looked
    /// at.
    At(&'static str),
    /// Another each time: only its exit code is looked at.
    Varies,
}

/// How large inputs are: each program's own unit in the affinity lab, and in the VM lab, which is
/// emulated.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// On a host's cores.
    pub host: f64,
    /// On emulated ones.
    pub vm: f64,
}

/// One run: what is given to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// Command and arguments.
    pub words: Vec<String>,
    /// Beside its own.
    pub environment: Vec<(&'static str, String)>,
    /// Its standard input, a file of the working folder.
    pub stdin: Option<&'static str>,
    /// Made before the first turn.
    pub inputs: Vec<Input>,
}

/// How many threads a program is told to have; `None`: it counts CPUs itself.
pub type Threads = Option<usize>;

/// One of them.
pub struct Program {
    /// Its name here.
    pub name: &'static str,
    /// What it does, for the page.
    pub told: &'static str,
    /// The command that has to be there, and the others that it calls.
    pub commands: &'static [&'static str],
    /// Debian's packages of these.
    pub packages: &'static str,
    /// How much it has to do.
    pub size: Size,
    /// Whether the mean over programs has it: variants are not counted twice.
    pub is_variant: bool,
    /// Where its output is.
    pub output: Output,
    /// What is given to it, for a size and threads.
    pub given: fn(usize, Threads) -> Given,
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A word, where there is a number of threads, or another where the program is to count.
fn or(threads: Threads, with: impl Fn(usize) -> String, without: &str) -> String {
    threads.map_or_else(|| without.to_owned(), with)
}

fn text(name: &'static str, size: usize) -> Vec<Input> {
    vec![Input::Text { name, kib: size }]
}

fn static_loop(size: usize, environment: Vec<(&'static str, String)>) -> Given {
    // Phases of some 60 ms on two cores of which one is three times slower.
    Given { words: words(&format!("static_loop 50 {size}")), environment, ..Given::default() }
}

fn four_threads(size: usize, policy: Option<&str>) -> Given {
    let mut environment = vec![("OMP_NUM_THREADS", "4".to_owned())];
    environment.extend(policy.map(|policy| ("OMP_WAIT_POLICY", policy.to_owned())));
    static_loop(size, environment)
}

/// All of them, in the page's order.
pub const PROGRAMS: [Program; 14] = [
    Program {
        name: "x264",
        told: "ffmpeg encodes a test picture of 320x180 by libx264 (veryfast)",
        commands: &["ffmpeg"],
        packages: "ffmpeg",
        size: Size { host: 4000.0, vm: 16.0 },
        is_variant: false,
        // libx264 encodes with several threads otherwise each time, under the kernel alone too.
        output: Output::Varies,
        given: |size, threads| Given {
            words: words(&format!(
                "ffmpeg -nostdin -v error -y -f lavfi -i testsrc2=size=320x180:rate=30 -frames:v \
                 {size} -c:v libx264 \
                 -preset veryfast {} -fflags +bitexact -flags +bitexact -f h264 x264.h264",
                or(threads, |number| format!("-threads {number}"), "")
            )),
            ..Given::default()
        },
    },
    Program {
        name: "xz",
        told: "xz -6, blocks of 128 KiB of text",
        commands: &["xz"],
        packages: "xz-utils",
        size: Size { host: 9216.0, vm: 640.0 },
        is_variant: false,
        output: Output::Printed,
        given: |size, threads| Given {
            words: words(&format!(
                "xz -6 -c --block-size=128KiB -T{} xz.txt",
                or(threads, |it| it.to_string(), "0")
            )),
            inputs: text("xz.txt", size),
            ..Given::default()
        },
    },
    Program {
        name: "pigz",
        told: "pigz -9 of text",
        commands: &["pigz"],
        packages: "pigz",
        size: Size { host: 17408.0, vm: 6144.0 },
        is_variant: false,
        output: Output::Printed,
        given: |size, threads| Given {
            words: words(&format!(
                "pigz -9 -n -c {} pigz.txt",
                or(threads, |it| format!("-p {it}"), "")
            )),
            inputs: text("pigz.txt", size),
            ..Given::default()
        },
    },
    Program {
        name: "zstd",
        told: "zstd -6, jobs of 512 KiB of text",
        commands: &["zstd"],
        packages: "zstd",
        size: Size { host: 131_072.0, vm: 3072.0 },
        is_variant: false,
        output: Output::Printed,
        given: |size, threads| Given {
            words: words(&format!(
                "zstd -6 -q -c -B512KiB -T{} zstd.txt",
                or(threads, |it| it.to_string(), "0")
            )),
            inputs: text("zstd.txt", size),
            ..Given::default()
        },
    },
    Program {
        name: "7z",
        told: "7z a -mx=5 (LZMA2) of text",
        commands: &["7z"],
        packages: "p7zip-full",
        size: Size { host: 4096.0, vm: 448.0 },
        is_variant: false,
        output: Output::At("text.7z"),
        given: |size, threads| Given {
            words: words(&format!(
                "7z a -bd -y -mx=5 -mtm=off {} text.7z 7z.txt",
                or(threads, |it| format!("-mmt={it}"), "")
            )),
            // It would add to an archive that is there.
            inputs: [text("7z.txt", size), vec![Input::Fresh("text.7z")]].concat(),
            ..Given::default()
        },
    },
    Program {
        name: "gcc",
        told: "gcc -O2 -c of many small files, by xargs -P",
        commands: &["xargs", "gcc"],
        packages: "gcc",
        size: Size { host: 64.0, vm: 4.0 },
        is_variant: false,
        output: Output::At("objects"),
        given: |size, threads| Given {
            // The number of jobs is always given: xargs counts no CPUs.
            words: words(&format!(
                "xargs -P {} -I NAME gcc -O2 -c -o objects/NAME.o sources/NAME.c",
                threads.unwrap_or_else(super::cpus::cpus)
            )),
            stdin: Some("names.txt"),
            inputs: vec![
                Input::Sources { folder: "sources", names: "names.txt", files: size },
                Input::Folder("objects"),
            ],
            ..Given::default()
        },
    },
    Program {
        name: "openmp",
        told: "a loop with a static schedule and 50 barriers, libgomp, as many threads as CPUs, \
               which spin as they wait",
        commands: &["static_loop"],
        packages: "gcc, libgomp1",
        size: Size { host: 300_000.0, vm: 100_000.0 },
        is_variant: false,
        output: Output::Printed,
        given: |size, threads| {
            static_loop(
                size,
                threads.map(|it| ("OMP_NUM_THREADS", it.to_string())).into_iter().collect(),
            )
        },
    },
    Program {
        name: "openmp-4",
        told: "the same, 4 threads",
        commands: &["static_loop"],
        packages: "gcc, libgomp1",
        size: Size { host: 300_000.0, vm: 100_000.0 },
        is_variant: true,
        output: Output::Printed,
        given: |size, _| four_threads(size, None),
    },
    Program {
        name: "openmp-4-passive",
        told: "the same, 4 threads that sleep as they wait (OMP_WAIT_POLICY=passive)",
        commands: &["static_loop"],
        packages: "gcc, libgomp1",
        size: Size { host: 300_000.0, vm: 100_000.0 },
        is_variant: true,
        output: Output::Printed,
        given: |size, _| four_threads(size, Some("passive")),
    },
    Program {
        name: "numpy",
        told: "NumPy's products of matrices on OpenBLAS",
        commands: &["/usr/bin/python3"],
        packages: "python3-numpy, libopenblas0-pthread",
        size: Size { host: 1100.0, vm: 110.0 },
        is_variant: false,
        output: Output::Printed,
        given: |size, threads| Given {
            words: words(&format!("/usr/bin/python3 matmul.py {size} 10")),
            environment: threads
                .map(|it| ("OPENBLAS_NUM_THREADS", it.to_string()))
                .into_iter()
                .collect(),
            ..Given::default()
        },
    },
    Program {
        name: "sysbench",
        told: "sysbench threads: 8 threads that yield and take turns at 8 locks",
        commands: &["sysbench"],
        packages: "sysbench",
        size: Size { host: 5000.0, vm: 300.0 },
        is_variant: false,
        output: Output::Varies,
        given: |size, _| Given {
            words: words(&format!("sysbench threads --threads=8 --time=0 --events={size} run")),
            ..Given::default()
        },
    },
    Program {
        name: "python-pool",
        told: "Python's multiprocessing.Pool counts primes",
        commands: &["/usr/bin/python3"],
        packages: "python3",
        size: Size { host: 800.0, vm: 32.0 },
        is_variant: false,
        output: Output::Printed,
        given: |size, threads| Given {
            words: words(&format!(
                "/usr/bin/python3 pool.py {size} 1000 {}",
                or(threads, |it| it.to_string(), "")
            )),
            ..Given::default()
        },
    },
    Program {
        name: "hugo",
        told: "hugo, a Go program, makes a site of many pages",
        commands: &["hugo"],
        packages: "hugo",
        size: Size { host: 1100.0, vm: 50.0 },
        is_variant: false,
        output: Output::At("site/public"),
        given: |size, threads| Given {
            words: words("hugo --quiet --source site --cacheDir /tmp/hugo --ignoreCache"),
            environment: threads.map(|it| ("GOMAXPROCS", it.to_string())).into_iter().collect(),
            inputs: vec![Input::Site { folder: "site", pages: size }, Input::Fresh("site/public")],
            ..Given::default()
        },
    },
    Program {
        name: "sqlite",
        told: "sqlite3 fills, indexes and asks a table: one thread",
        commands: &["sqlite3"],
        packages: "sqlite3",
        size: Size { host: 800_000.0, vm: 24_000.0 },
        is_variant: false,
        output: Output::Printed,
        given: |size, _| Given {
            words: words("sqlite3 orders.db"),
            stdin: Some("queries.sql"),
            inputs: vec![
                Input::Queries { name: "queries.sql", rows: size },
                Input::Fresh("orders.db"),
            ],
            ..Given::default()
        },
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twelve_programs_count_and_each_has_a_name_of_its_own() {
        assert_eq!(PROGRAMS.iter().filter(|program| !program.is_variant).count(), 12);
        let mut names: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PROGRAMS.len());
    }

    #[test]
    fn a_number_of_threads_is_handed_over_or_left_to_the_program() {
        let xz = PROGRAMS.iter().find(|program| program.name == "xz").unwrap();
        assert!((xz.given)(1, Some(4)).words.contains(&"-T4".to_owned()));
        assert!((xz.given)(1, None).words.contains(&"-T0".to_owned()));
    }
}

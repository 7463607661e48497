//! Programs of C and C++: built against an installed library by CMake and by pkg-config, with every
//! warning an error, they print what they should. Missing tools are named, and their tests are left
//! out (tests/setup-c.sh installs them).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use tempfile::TempDir;

/// The output of each program.
const EXAMPLES: [(&str, &str); 7] = [
    ("loop.c", "1000000000000\n"),
    ("tasks.c", "4 40 44\n16 160 176\n7\n"),
    ("pipeline.c", "1 4 9 16 25 36 49 64 81 \n"),
    ("loop.cpp", "333332833333500000\neach once\n10\n"),
    ("tasks.cpp", "511500\n100\none two three one two three \n6765\n"),
    ("pipeline.cpp", "sdrow fo a txet emoc tuo ni eht redro ni hcihw yeht tnew ni \n5\n"),
    ("exceptions.cpp", "number 1234\nfirst\n0 workers asked for, expected 1 to 4096\n45\n"),
];
const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];
/// Pairs of C and C++ compilers; those that are installed are used.
const COMPILERS: [(&str, &str); 4] =
    [("gcc", "g++"), ("clang", "clang++"), ("clang-19", "clang++-19"), ("cc", "c++")];

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the installed library, after a move: its files must find each other wherever they
/// are.
static PREFIX: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
    let temporary = tempfile::tempdir().unwrap();
    let (first, then) = (temporary.path().join("first"), temporary.path().join("then"));
    let mut install = Command::new(folder().join("install.sh"));
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    succeed(
        install
            .env("PREFIX", first.as_path())
            .env("DESTDIR", "")
            .env("PROFILE", profile)
            .env("CARGO", env!("CARGO")),
    );
    std::fs::rename(first, &then).unwrap();
    (temporary, then)
});

/// Runs a command that must succeed, and gives its output.
fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

fn is_there(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// True if all of these tools are installed. Prints a line with the missing ones.
fn have(tools: &[&str]) -> bool {
    let missing: Vec<_> = tools.iter().copied().filter(|tool| !is_there(tool)).collect();
    if !missing.is_empty() {
        eprintln!("programs of C and C++ are left out: no {} to be had", missing.join(", "));
    }
    missing.is_empty()
}

fn compilers() -> Vec<(&'static str, &'static str)> {
    let there: Vec<_> =
        COMPILERS.into_iter().filter(|(c, cpp)| is_there(c) && is_there(cpp)).collect();
    // `cc` is another name for one of the others, so it is used only alone.
    if there.len() > 1 { there.into_iter().filter(|(c, _)| *c != "cc").collect() } else { there }
}

fn pkg_config(arguments: &[&str]) -> Vec<String> {
    let files = PREFIX.1.join("lib/pkgconfig");
    let flags = succeed(
        Command::new("pkg-config").args(arguments).arg("evenkeel").env("PKG_CONFIG_PATH", files),
    );
    flags.split_whitespace().map(str::to_owned).collect()
}

/// Compiles a program, runs it, and gives its output.
fn output_of(
    compilers: (&str, &str),
    source: &Path,
    options: &[&str],
    libraries: &[String],
) -> String {
    let temporary = tempfile::tempdir().unwrap();
    succeed(&mut compiled(temporary.path(), compilers, source, options, libraries))
}

/// Compiles a program.
fn compiled(
    folder: &Path,
    (c, cpp): (&str, &str),
    source: &Path,
    options: &[&str],
    libraries: &[String],
) -> Command {
    let program = folder.join("program");
    let is_c = source.extension().is_some_and(|extension| extension == "c");
    let (compiler, standard) = if is_c { (c, "-std=c11") } else { (cpp, "-std=c++17") };
    let mut compile = Command::new(compiler);
    compile.arg(standard).args(WARNINGS).args(options).arg("-o").arg(&program).arg(source);
    succeed(compile.args(pkg_config(&["--cflags"])).args(libraries).arg("-pthread"));
    let mut run = Command::new(program);
    run.env("LD_LIBRARY_PATH", PREFIX.1.join("lib"));
    run
}

#[test]
fn programs_built_by_cmake_print_what_they_should() {
    if !have(&["cmake", "cc", "c++"]) {
        return;
    }
    for (c, cpp) in compilers() {
        let build = tempfile::tempdir().unwrap();
        let mut configure = Command::new("cmake");
        configure.arg("-S").arg(folder().join("examples")).arg("-B").arg(build.path());
        configure.arg(format!("-DCMAKE_PREFIX_PATH={}", PREFIX.1.display()));
        configure.arg(format!("-DCMAKE_C_COMPILER={c}")).arg(format!("-DCMAKE_CXX_COMPILER={cpp}"));
        let flags = WARNINGS.join(" ");
        succeed(
            configure
                .arg(format!("-DCMAKE_C_FLAGS={flags}"))
                .arg(format!("-DCMAKE_CXX_FLAGS={flags}")),
        );
        succeed(Command::new("cmake").arg("--build").arg(build.path()));
        for (source, expected) in EXAMPLES {
            let program = build.path().join(source.replace('.', "-"));
            assert_eq!(succeed(&mut Command::new(program)), expected, "{source} by {c}");
        }
    }
}

#[test]
fn programs_built_by_pkg_config_print_what_they_should_with_the_shared_and_the_static_library() {
    if !have(&["pkg-config", "cc", "c++"]) {
        return;
    }
    let shared = pkg_config(&["--libs"]);
    let (library, system): (Vec<_>, _) = pkg_config(&["--libs", "--static"])
        .into_iter()
        .partition(|flag| flag.ends_with("evenkeel"));
    assert_eq!(library, ["-levenkeel"]);
    let alone = [vec![PREFIX.1.join("lib/libevenkeel.a").display().to_string()], system].concat();
    let run = |compilers, optimised, libraries: &[String]| {
        for (source, expected) in EXAMPLES {
            let output = output_of(
                compilers,
                &folder().join("examples").join(source),
                &[optimised],
                libraries,
            );
            assert_eq!(output, expected, "{source} by {compilers:?} with {libraries:?}");
        }
    };
    compilers().into_iter().for_each(|compilers| run(compilers, "-O2", &shared));
    run(("cc", "c++"), "-O0", &alone);
}

#[test]
fn the_programs_in_the_page_print_what_the_page_says() {
    if !have(&["pkg-config", "cc", "c++"]) {
        return;
    }
    let page = std::fs::read_to_string(folder().join("../../docs/parallel/c-and-c++.md")).unwrap();
    let programs: Vec<_> =
        page.split("```cpp\n").skip(1).map(|it| it.split_once("```").unwrap()).collect();
    assert_eq!(programs.len(), 3);
    for (program, rest) in programs {
        let temporary = tempfile::tempdir().unwrap();
        let source = temporary.path().join("program.cpp");
        std::fs::write(&source, program).unwrap();
        let output = output_of(("cc", "c++"), &source, &["-O2"], &pkg_config(&["--libs"]));
        let (sentence, _) =
            rest.split_once("It prints ").unwrap().1.split_once(['.', '\n']).unwrap();
        let said: Vec<_> = sentence.split('`').skip(1).step_by(2).collect();
        assert_eq!(output.lines().collect::<Vec<_>>(), said);
    }
}

#[test]
fn what_the_headers_say_is_so() {
    if !have(&["pkg-config", "cc", "c++"]) {
        return;
    }
    let shared = pkg_config(&["--libs"]);
    for source in ["tests/claims.c", "tests/claims.cpp"] {
        assert_eq!(
            output_of(("cc", "c++"), &folder().join(source), &["-O1", "-g"], &shared),
            "all so\n"
        );
    }
}

#[test]
fn loops_and_stages_are_in_the_summary_and_trace_that_a_program_asks_for() {
    if !have(&["pkg-config", "cc", "c++"]) {
        return;
    }
    let (temporary, source) = (tempfile::tempdir().unwrap(), folder().join("tests/labels.cpp"));
    let trace = temporary.path().join("run.pftrace");
    let mut run =
        compiled(temporary.path(), ("cc", "c++"), &source, &["-O2"], &pkg_config(&["--libs"]));
    let output = run.arg(&trace).output().unwrap();
    let [said, summary] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(
        said.starts_with("499500 9900\nevenkeel: 2 workers, ") && said.ends_with("\nevenkeel 1\n"),
        "{said}"
    );
    for name in ["rows", "sum", "double"] {
        assert!(said.contains(name) && summary.contains(name), "{name}: {said}{summary}");
    }
    assert!(trace.metadata().unwrap().len() > 0);
}

/// Leaks are found at the end of the program.
#[test]
fn what_the_headers_say_is_so_under_address_sanitizer() {
    if !have(&["pkg-config", "cc", "c++"]) {
        return;
    }
    let shared = pkg_config(&["--libs"]);
    let sanitized = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let temporary = tempfile::tempdir().unwrap();
    let empty = temporary.path().join("empty.c");
    std::fs::write(&empty, "int main(void) { return 0; }\n").unwrap();
    let can = Command::new("cc")
        .args(sanitized)
        .arg(&empty)
        .arg("-o")
        .arg(temporary.path().join("empty"))
        .output();
    if !can.is_ok_and(|output| output.status.success()) {
        eprintln!("AddressSanitizer is left out: cc does not have it");
        return;
    }
    for source in ["tests/claims.c", "tests/claims.cpp"] {
        assert_eq!(
            output_of(("cc", "c++"), &folder().join(source), &sanitized, &shared),
            "all so\n"
        );
    }
}

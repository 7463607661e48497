//! The checksum of an app is the same in every version and with any number of workers, of one kind
//! or two. Inputs are small, or those that EVENKEEL_APPS_SIZE names; `make apps-test` runs the
//! others.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::env;
use std::sync::LazyLock;

use clap::ValueEnum;
use evenkeel_apps::{APPS, Setting, Size, Version};

const TWO_KINDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/two-kinds.toml");

static SIZE: LazyLock<Size> = LazyLock::new(|| {
    let name = env::var_os("EVENKEEL_APPS_SIZE").unwrap_or(Size::Small.name().into());
    let size = name.to_str().and_then(|name| Size::from_str(name, false).ok());
    size.unwrap_or_else(|| {
        panic!("EVENKEEL_APPS_SIZE: {name:?} found, expected small, medium or large")
    })
});

/// Numbers of workers, and the machines that they are told to be on.
const SETTINGS: [(usize, Option<&str>); 6] =
    [(2, None), (5, Some(TWO_KINDS)), (1, None), (3, None), (7, None), (2, Some(TWO_KINDS))];

fn checksum(app: &str, version: Version, workers: usize, machine: Option<&str>) -> u64 {
    let app = evenkeel_apps::find(app).unwrap();
    let machine = machine.map(str::to_owned);
    app.run(&Setting {
        size: *SIZE,
        version,
        workers: Some(workers),
        machine,
        cpus: None,
        slow: None,
    })
    .unwrap()
    .checksum
}

fn is_the_same(app: &str, versions: impl Iterator<Item = Version>) {
    let serial = checksum(app, Version::Serial, 1, None);
    for version in versions {
        // Of large inputs one run takes ten seconds.
        let count = if *SIZE == Size::Large { 2 } else { SETTINGS.len() };
        for (workers, machine) in SETTINGS.into_iter().take(count) {
            let found = checksum(app, version, workers, machine);
            assert_eq!(found, serial, "{app} {} {workers} {machine:?}", version.name());
        }
    }
}

/// The versions that run on the runtime.
fn versions_on_a_pool(app: &str) -> impl Iterator<Item = Version> {
    let versions = evenkeel_apps::find(app).unwrap().versions.iter().copied();
    versions.filter(|version| !matches!(version, Version::Serial | Version::Pinned))
}

macro_rules! tests {
    ($($app:ident)*) => {
        $(mod $app {
            use super::*;

            #[test]
            fn with_pinned_threads_the_checksum_is_that_of_serial() {
                is_the_same(stringify!($app), [Version::Pinned].into_iter());
            }

            #[test]
            fn on_a_pool_the_checksum_is_that_of_serial() {
                is_the_same(stringify!($app), versions_on_a_pool(stringify!($app)));
            }
        })*

        #[test]
        fn every_app_is_tested() {
            assert_eq!(APPS.iter().map(|app| app.name).collect::<Vec<_>>(), [$(stringify!($app)),*]);
        }
    };
}

tests!(blackscholes bodytrack canneal dedup facesim ferret fluidanimate streamcluster swaptions);

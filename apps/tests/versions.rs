//! The checksum of an app is the same in every version and with any number of workers.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_apps::{APPS, Setting, Size, Version};

fn checksum(app: &str, version: Version, workers: usize) -> u64 {
    let app = evenkeel_apps::find(app).unwrap();
    app.run(&Setting { size: Size::Small, version, workers: Some(workers), machine: None, cpus: None })
        .unwrap()
        .checksum
}

fn is_the_same(app: &str, versions: impl Iterator<Item = Version>) {
    let serial = checksum(app, Version::Serial, 1);
    for version in versions {
        for workers in [1, 2, 3, 7] {
            assert_eq!(checksum(app, version, workers), serial, "{app} {} {workers}", version.name());
        }
    }
}

/// Those that run on the runtime.
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

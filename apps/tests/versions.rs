//! The checksum of an app is the same in every version and with any number of workers.

use evenkeel_apps::{APPS, Setting, Size, Version};
use evenkeel_linux::here::allowed_cpus;

fn checksum(app: &str, version: Version, workers: usize) -> u64 {
    let app = evenkeel_apps::find(app).unwrap();
    let cpus = allowed_cpus().unwrap().into_iter().cycle().take(workers).collect();
    app.run(&Setting { size: Size::Small, version, cpus }).unwrap().checksum
}

/// In the version of that name.
fn serial_gives_the_checksum_of(app: &str, version: Version) {
    let serial = checksum(app, Version::Serial, 1);
    for workers in [1, 2, 3, 7] {
        assert_eq!(checksum(app, version, workers), serial, "{app} {} {workers}", version.name());
    }
}

macro_rules! tests {
    ($($app:ident)*) => {
        $(mod $app {
            use super::*;

            #[test]
            fn pinned_gives_the_checksum_of_serial() {
                serial_gives_the_checksum_of(stringify!($app), Version::Pinned);
            }
        })*

        #[test]
        fn every_app_is_tested() {
            assert_eq!(APPS.iter().map(|app| app.name).collect::<Vec<_>>(), [$(stringify!($app)),*]);
        }
    };
}

tests!(blackscholes bodytrack canneal dedup facesim ferret fluidanimate streamcluster swaptions);

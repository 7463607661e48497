//! Power sensors: which there are, what they read, and the energy of a stretch of time.
//!
//! | kind | where under `/sys` | what it reads |
//! | --- | --- | --- |
//! | RAPL | `class/powercap/*/energy_uj` | a counter that wraps at `max_energy_range_uj` |
//! | hardware monitors | `class/hwmon/*/{energy,power,curr and in}*_input` | a counter, power, or current and voltage |
//! | INA231 of the Odroid's own kernels | `bus/i2c/drivers/INA231/*/sensor_W` | power |
//! | batteries | `class/power_supply/*` | power, or current and voltage, while discharging |
//!
//! Sources: Documentation/power/powercap/powercap.rst, Documentation/hwmon/sysfs-interface.rst,
//! Documentation/ABI/testing/sysfs-class-power; the INA231 driver of Hardkernel's linux 3.10 and
//! 4.14.
//!
//! A [`Sampler`] reads them at an interval; afterwards [`Series::energy`] tells what a region came
//! to, and how far that may be off because the region does not begin and end where samples were
//! taken. A machine without sensors has [`modelled_energy`].

mod battery;
mod find;
mod hwmon;
mod modelled;
mod powercap;
mod reading;
mod sampler;
mod series;
mod sysfs;

pub use find::{Found, find};
pub use modelled::{CoreUse, Modelled, modelled_energy};
pub use reading::{Reading, Sensor, SensorError, Source};
pub use sampler::{Meter, Sampler};
pub use series::{Energy, Series};

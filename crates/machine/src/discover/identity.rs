//! The design of a CPU: from Arm's MIDR register or from `/proc/cpuinfo`.
//!
//! The register's fields are those of the Arm Architecture Reference Manual, MIDR_EL1: implementer,
//! variant, architecture, part number, revision. Variant and revision are steppings of one design
//! and are left out, and so is an x86 stepping.

use std::collections::BTreeMap;
use std::fmt;

use crate::cpus::parse_number;

/// A microarchitecture, as far as the CPU names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Design {
    /// Arm: the implementer, and its number for the part.
    Arm { implementer: u32, part: u32 },
    /// x86. Both kinds of a hybrid chip have the same, so equal values prove nothing.
    X86 { vendor: String, family: u32, model: u32 },
}

const ARM: u32 = 0x41;
const HISILICON: u32 = 0x48;
const QUALCOMM: u32 = 0x51;
const APPLE: u32 = 0x61;

impl Design {
    /// From the value of MIDR_EL1.
    pub const fn of_midr(midr: u64) -> Self {
        Self::Arm { implementer: (midr >> 24 & 0xff) as u32, part: (midr >> 4 & 0xfff) as u32 }
    }

    /// True if two CPUs with this value are of one design for certain.
    pub const fn is_conclusive(&self) -> bool {
        matches!(self, Self::Arm { .. })
    }

    /// True for the designs that chips of several have for their slower cores.
    pub const fn is_little(&self) -> bool {
        let Self::Arm { implementer, part } = self else { return false };
        match *implementer {
            ARM => matches!(*part, 0xc07 | 0xd03 | 0xd04 | 0xd05 | 0xd46 | 0xd80),
            QUALCOMM => matches!(*part, 0x201 | 0x211 | 0x801 | 0x803 | 0x805),
            APPLE => matches!(*part, 0x022 | 0x032),
            _ => false,
        }
    }
}

impl fmt::Display for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arm { implementer, part } => match arm_name(*implementer, *part) {
                Some(name) => f.write_str(name),
                None => write!(f, "implementer {implementer:#04x} part {part:#05x}"),
            },
            Self::X86 { vendor, family, model } => {
                write!(f, "{vendor} family {family} model {model}")
            }
        }
    }
}

/// Designs by CPU, from the text of `/proc/cpuinfo`. CPUs without sufficient fields are left out.
pub(super) fn of_cpuinfo(text: &str) -> BTreeMap<u32, Design> {
    let mut designs = BTreeMap::new();
    let mut fields: BTreeMap<&str, &str> = BTreeMap::new();
    // An empty line, or the end of the text, ends a CPU.
    for line in text.lines().chain([""]) {
        match line.split_once(':') {
            Some((key, value)) => {
                fields.insert(key.trim(), value.trim());
            }
            None if line.trim().is_empty() => {
                if let (Some(cpu), Some(design)) = (number(&fields, "processor"), design(&fields)) {
                    designs.insert(cpu, design);
                }
                fields.clear();
            }
            None => {}
        }
    }
    designs
}

fn design(fields: &BTreeMap<&str, &str>) -> Option<Design> {
    if let (Some(implementer), Some(part)) =
        (number(fields, "CPU implementer"), number(fields, "CPU part"))
    {
        return Some(Design::Arm { implementer, part });
    }
    let vendor =
        fields.get("vendor_id").filter(|vendor| vendor.chars().all(|c| c.is_ascii_graphic()))?;
    let (family, model) = (number(fields, "cpu family")?, number(fields, "model")?);
    Some(Design::X86 { vendor: (*vendor).to_owned(), family, model })
}

fn number(fields: &BTreeMap<&str, &str>, key: &str) -> Option<u32> {
    u32::try_from(parse_number(fields.get(key)?)?).ok()
}

/// The names that Arm and its licensees give a part. Numbers are from util-linux's lscpu and the
/// kernel's `cputype.h`, for chips with several kinds of core.
const fn arm_name(implementer: u32, part: u32) -> Option<&'static str> {
    Some(match (implementer, part) {
        (ARM, 0xc07) => "Cortex-A7",
        (ARM, 0xc09) => "Cortex-A9",
        (ARM, 0xc0e) => "Cortex-A17",
        (ARM, 0xc0f) => "Cortex-A15",
        (ARM, 0xd03) => "Cortex-A53",
        (ARM, 0xd04) => "Cortex-A35",
        (ARM, 0xd05) => "Cortex-A55",
        (ARM, 0xd07) => "Cortex-A57",
        (ARM, 0xd08) => "Cortex-A72",
        (ARM, 0xd09) => "Cortex-A73",
        (ARM, 0xd0a) => "Cortex-A75",
        (ARM, 0xd0b) => "Cortex-A76",
        (ARM, 0xd0d) => "Cortex-A77",
        (ARM, 0xd41) => "Cortex-A78",
        (ARM, 0xd44) => "Cortex-X1",
        (ARM, 0xd46) => "Cortex-A510",
        (ARM, 0xd47) => "Cortex-A710",
        (ARM, 0xd48) => "Cortex-X2",
        (ARM, 0xd4d) => "Cortex-A715",
        (ARM, 0xd4e) => "Cortex-X3",
        (ARM, 0xd80) => "Cortex-A520",
        (ARM, 0xd81) => "Cortex-A720",
        (ARM, 0xd82) => "Cortex-X4",
        (ARM, 0xd85) => "Cortex-X925",
        (ARM, 0xd87) => "Cortex-A725",
        (HISILICON, 0xd40) => "Cortex-A76 (HiSilicon)",
        (QUALCOMM, 0x201 | 0x211) => "Kryo silver",
        (QUALCOMM, 0x205) => "Kryo gold",
        (QUALCOMM, 0x800) => "Kryo 2xx gold",
        (QUALCOMM, 0x801) => "Kryo 2xx silver",
        (QUALCOMM, 0x802) => "Kryo 3xx gold",
        (QUALCOMM, 0x803) => "Kryo 3xx silver",
        (QUALCOMM, 0x804) => "Kryo 4xx gold",
        (QUALCOMM, 0x805) => "Kryo 4xx silver",
        (APPLE, 0x022) => "Icestorm (M1)",
        (APPLE, 0x023) => "Firestorm (M1)",
        (APPLE, 0x032) => "Blizzard (M2)",
        (APPLE, 0x033) => "Avalanche (M2)",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_midr_names_implementer_and_part_and_no_revision() {
        let kirin = Design::of_midr(0x481f_d400);
        assert_eq!(kirin, Design::Arm { implementer: 0x48, part: 0xd40 });
        assert_eq!(kirin.to_string(), "Cortex-A76 (HiSilicon)");
        assert_eq!(Design::of_midr(0x412f_d050), Design::of_midr(0x411f_d051));
        assert_eq!(Design::of_midr(0x001f_abc0).to_string(), "implementer 0x00 part 0xabc");
    }

    #[test]
    fn cpuinfo_names_the_designs_of_arm_and_x86() {
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xc07\n\n\
            processor\t: 4\nCPU implementer\t: 0x41\nCPU part\t: 0xc0f\n\nHardware\t: SAMSUNG \
            EXYNOS\n";
        let named: Vec<(u32, String)> =
            of_cpuinfo(arm).into_iter().map(|(cpu, design)| (cpu, design.to_string())).collect();
        assert_eq!(named, [(0, "Cortex-A7".to_owned()), (4, "Cortex-A15".to_owned())]);
        let x86 = "processor\t: 3\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: \
                   138\nstepping\t: 1";
        assert_eq!(of_cpuinfo(x86)[&3].to_string(), "GenuineIntel family 6 model 138");
        assert_eq!(
            of_cpuinfo("processor : 1\n\nprocessor : x\nCPU part : 0xd03\n"),
            BTreeMap::new()
        );
    }

    proptest! {
        #[test]
        fn any_text_is_met_without_a_panic(
            text in "\\PC*|((processor|CPU part|CPU implementer|model)\t: \
                     (0x)?[0-9a-f]{0,9}\n\n?){0,9}"
        ) {
            of_cpuinfo(&text);
        }
    }
}

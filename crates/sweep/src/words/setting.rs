//! Estimators and governors, as they are written.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use evenkeel_estimate::Model;
use evenkeel_files::factors::parse_model;
use evenkeel_sim::{Estimator, Governor};

/// `oracle`, `offline`, `sampled`, `modelled=0.1`, or the file of a model.
///
/// # Errors
/// What would do instead.
pub fn estimator(text: &str) -> Result<Estimator, String> {
    const EXPECTED: &str = "expected oracle, offline, sampled, modelled=ERROR with a relative \
                            error of 0 or more, as modelled=0.1, or the file of a model \
                            (`evenkeel train`)";
    match text {
        "oracle" => Ok(Estimator::Oracle),
        "offline" => Ok(Estimator::Offline),
        "sampled" => Ok(Estimator::Sampled),
        _ => {
            let error = text.strip_prefix("modelled=").and_then(|error| error.parse::<f64>().ok());
            match error {
                Some(error) if error.is_finite() && error >= 0.0 => {
                    Ok(Estimator::Modelled { error })
                }
                // A file, there or not.
                _ if text.contains('/') || text.ends_with(".json") || Path::new(text).exists() => {
                    model(text).map(Estimator::Trained)
                }
                _ => Err(EXPECTED.into()),
            }
        }
    }
}

/// The greatest file of a model.
const MOST_MODEL_BYTES: u64 = 64 << 20;

/// The model in a file.
///
/// # Errors
/// It cannot be read, or is not one.
pub fn model(path: &str) -> Result<Arc<Model>, String> {
    let unread = |error: std::io::Error| format!("{path}: {error}");
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unread)?;
    file.take(MOST_MODEL_BYTES + 1).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() as u64 > MOST_MODEL_BYTES {
        return Err(format!("{path}: more than {} MiB found", MOST_MODEL_BYTES >> 20));
    }
    parse_model(&bytes, path).map(Arc::new).map_err(|error| error.to_string())
}

/// `performance`, `schedutil`, `fixed=800` (MHz).
///
/// # Errors
/// What would do instead.
pub fn governor(text: &str) -> Result<Governor, String> {
    match text {
        "performance" => Ok(Governor::Performance),
        "schedutil" => Ok(Governor::Schedutil),
        _ => {
            let mhz = text.strip_prefix("fixed=").and_then(|mhz| mhz.parse::<f64>().ok());
            match mhz {
                Some(mhz) if mhz > 0.0 && mhz < 1e9 => {
                    Ok(Governor::Fixed { khz: (mhz * 1e3).round() as u64 })
                }
                _ => Err("expected performance, schedutil or fixed=MHZ, as fixed=800".into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimators_and_governors() {
        assert_eq!(estimator("modelled=0.1"), Ok(Estimator::Modelled { error: 0.1 }));
        assert_eq!(governor("fixed=800"), Ok(Governor::Fixed { khz: 800_000 }));
        for bad in
            ["", "model", "modelled", "modelled=", "modelled=-1", "modelled=nan", "modelled=inf"]
        {
            assert!(estimator(bad).is_err(), "{bad}");
        }
        for bad in ["", "fixed", "fixed=0", "fixed=-5", "fixed=nan", "ondemand"] {
            assert!(governor(bad).is_err(), "{bad}");
        }
    }
}

//! Why a scheduler cannot be had, and the way out.

/// See the file's head.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Something else.
    #[error("{0}")]
    Other(String),
}

/// Turns what the loader says into one of the causes that are known.
pub fn explain(error: &libbpf_rs::Error, said: String) -> LoadError {
    LoadError::Other(format!("{error:#}\n{said}"))
}

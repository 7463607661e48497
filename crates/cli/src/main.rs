//! `evenkeel`
fn main() {}

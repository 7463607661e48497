//! Values as names of folders, as readers of hive-partitioned tables take them: percent-encoded.

/// A value as part of a path.
pub(crate) fn encoded(value: &str) -> String {
    let mut text = String::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) && value != "." && value != ".." {
            text.push(byte.into());
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// The value of a part of a path.
pub(crate) fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).filter(|_| *first == b'%');
        let hex = hex.and_then(|digits| std::str::from_utf8(digits).ok());
        match hex.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_value_is_one_folder_and_is_read_back(value in "[.]{0,2}|\\PC{1,20}") {
            let folder = encoded(&value);
            prop_assert!(folder != "." && folder != ".." && !folder.contains(['/', '=', '\\']));
            prop_assert_eq!(decoded(&folder), value);
        }
    }
}

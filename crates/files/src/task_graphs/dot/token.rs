//! The words and signs of DOT.

use std::fmt;

use super::super::fault::{Fault, Place};
use crate::text::cut;

/// A word or a sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A bare name or number, which may be a keyword.
    Id(String),
    /// A name in quotes or of HTML, which is never a keyword.
    Quoted(String),
    /// One of `{ } [ ] ; , = : -> --`.
    Sign(&'static str),
    /// The end of the text.
    End,
}

impl Token {
    /// True if it is this keyword. Keywords may be written in any case.
    pub fn is_word(&self, word: &str) -> bool {
        matches!(self, Self::Id(id) if id.eq_ignore_ascii_case(word))
    }

    /// True if it may name something.
    pub fn is_name(&self) -> bool {
        matches!(self, Self::Id(_) | Self::Quoted(_))
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(text) | Self::Quoted(text) => write!(f, "'{}'", cut(text)),
            Self::Sign(sign) => f.write_str(sign),
            Self::End => f.write_str("the end of the file"),
        }
    }
}

/// Signs, longer ones before those that they begin with.
const SIGNS: [&str; 10] = ["->", "--", "{", "}", "[", "]", ";", ",", "=", ":"];

/// Reads one token after another.
pub struct Tokens<'a> {
    text: &'a str,
    at: usize,
    peeked: Option<(Token, usize)>,
}

impl<'a> Tokens<'a> {
    /// Starts at the beginning of a text, after a byte order mark.
    pub fn new(text: &'a str) -> Self {
        Self { text: text.strip_prefix('\u{feff}').unwrap_or(text), at: 0, peeked: None }
    }

    /// The place of a byte.
    pub fn place(&self, at: usize) -> Place {
        Place::of(self.text, at)
    }

    /// Offset of the next token, or of the blanks before it.
    pub fn at(&self) -> usize {
        self.peeked.as_ref().map_or(self.at, |(_, at)| *at)
    }

    /// The next token, without taking it.
    pub fn peek(&mut self) -> Result<&Token, Fault> {
        let next = match self.peeked.take() {
            Some(next) => next,
            None => self.read()?,
        };
        Ok(&self.peeked.insert(next).0)
    }

    /// The next token, and where it begins.
    pub fn next(&mut self) -> Result<(Token, usize), Fault> {
        match self.peeked.take() {
            Some(next) => Ok(next),
            None => self.read(),
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn read(&mut self) -> Result<(Token, usize), Fault> {
        self.skip_blank()?;
        let (at, rest) = (self.at, self.rest());
        let Some(first) = rest.chars().next() else { return Ok((Token::End, at)) };
        if let Some(length) = numeral(rest) {
            self.at += length;
            return Ok((Token::Id(rest[..length].to_owned()), at));
        }
        if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            self.at += sign.len();
            return Ok((Token::Sign(sign), at));
        }
        match first {
            '"' => Ok((Token::Quoted(self.quoted()?), at)),
            '<' => Ok((Token::Quoted(self.html()?), at)),
            _ if is_letter(first) => {
                let end =
                    rest.find(|c: char| !is_letter(c) && !c.is_ascii_digit()).unwrap_or(rest.len());
                self.at += end;
                Ok((Token::Id(rest[..end].to_owned()), at))
            }
            _ => Err(self.place(at).error(format!(
                "'{}' found, expected a name or one of {}",
                cut(&first.to_string()),
                SIGNS.join(" ")
            ))),
        }
    }

    /// Blanks, comments as in C++, and lines of a preprocessor.
    fn skip_blank(&mut self) -> Result<(), Fault> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            let line_begins = self.text[..self.at].ends_with('\n') || self.at == 0;
            if trimmed.starts_with("//") || trimmed.starts_with('#') && line_begins {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if let Some(comment) = trimmed.strip_prefix("/*") {
                let end = comment.find("*/");
                let end = end.ok_or_else(|| {
                    self.place(self.at)
                        .error("a comment without an end found, expected */".to_owned())
                })?;
                self.at += end + 4;
            } else {
                return Ok(());
            }
        }
    }

    /// A string in quotes, and those that are joined to it by `+`.
    fn quoted(&mut self) -> Result<String, Fault> {
        let mut text = String::new();
        loop {
            let start = self.at;
            let mut chars = self.rest().char_indices().skip(1);
            let end = loop {
                match chars.next() {
                    Some((at, '"')) => break at,
                    Some((_, '\\')) => match chars.next() {
                        Some((_, '"')) => text.push('"'),
                        // A backslash at the end of a line continues the string.
                        Some((_, '\n')) => {}
                        Some((_, other)) => text.extend(['\\', other]),
                        None => {}
                    },
                    Some((_, other)) => text.push(other),
                    None => {
                        return Err(self
                            .place(start)
                            .error("a string without an end found, expected \"".to_owned()));
                    }
                }
            };
            self.at += end + 1;
            let behind = self.at;
            self.skip_blank()?;
            if !self.rest().starts_with('+') {
                self.at = behind;
                return Ok(text);
            }
            self.at += 1;
            self.skip_blank()?;
            if !self.rest().starts_with('"') {
                return Err(self
                    .place(self.at)
                    .error("expected a string in quotes after +".to_owned()));
            }
        }
    }

    /// What stands between `<` and the `>` that belongs to it.
    fn html(&mut self) -> Result<String, Fault> {
        let (start, rest) = (self.at, self.rest());
        let mut depth = 0_usize;
        for (at, c) in rest.char_indices() {
            match c {
                '<' => depth += 1,
                '>' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.at += at + 1;
                return Ok(rest[1..at].to_owned());
            }
        }
        Err(self.place(start).error("< without its > found".to_owned()))
    }
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || !c.is_ascii()
}

/// Length of the number at the beginning of a text, including a unit behind it, which DOT would
/// take for the next name.
fn numeral(text: &str) -> Option<usize> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let sign = text.len() - digits.len();
    let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(digits.len());
    if !digits[..end].contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let unit = digits[end..].find(|c: char| !is_letter(c)).unwrap_or(digits.len() - end);
    Some(sign + end + unit)
}

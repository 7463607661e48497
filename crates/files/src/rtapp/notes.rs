//! What a file asks for that is noted rather than carried out.

/// Things that a file asks for and that have no meaning in a simulator, or in rt-app. Each kind
/// gives one note, however often it occurs.
#[derive(Debug, Default)]
pub struct Notes {
    kinds: Vec<&'static str>,
    /// Keys that rt-app does not know, with their places: the first few.
    ignored: Vec<String>,
    /// How many more there are.
    more: u64,
    /// Line and column of what follows the file's first value.
    rest: Option<(usize, usize)>,
}

/// How many ignored keys a note names.
const NAMED: usize = 4;

impl Notes {
    /// The notes of a file with text behind its first value, from this line and column on.
    pub fn of(rest: Option<(usize, usize)>) -> Self {
        Self { rest, ..Self::default() }
    }

    pub fn add(&mut self, note: &'static str) {
        if !self.kinds.contains(&note) {
            self.kinds.push(note);
        }
    }

    pub fn ignored(&mut self, key: String) {
        match self.ignored.len() {
            _ if self.ignored.contains(&key) => {}
            NAMED.. => self.more += 1,
            _ => self.ignored.push(key),
        }
    }

    pub fn into_strings(self) -> Vec<String> {
        let more = if self.more > 0 { format!(", and {} more", self.more) } else { String::new() };
        let ignored = (!self.ignored.is_empty()).then(|| {
            format!(
                "keys that rt-app does not know are ignored, as by rt-app: {}{more}",
                self.ignored.join(", ")
            )
        });
        let rest = self.rest.map(|(line, column)| {
            format!(
                "what follows the end of the file's first value, from line {line}, column {column} \
                 on, is ignored, \
                 as by rt-app"
            )
        });
        self.kinds.into_iter().map(str::to_owned).chain(ignored).chain(rest).collect()
    }
}

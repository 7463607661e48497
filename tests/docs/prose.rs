//! Prose that can be read: how long sentences are, and how many words the book has.

use pulldown_cmark::{Event, Tag, TagEnd};

use crate::page::Page;
use crate::summary;

/// The most words of all pages together, tables and code included.
const MOST_WORDS: usize = 34_100;
/// The most words of a sentence, in the mean of all.
const MEAN_OF_SENTENCE: f64 = 18.0;
/// The most words of any sentence.
const MOST_OF_SENTENCE: usize = 40;

/// What benchmarks write, but for the page about them.
const BENCHMARKS: &str = "docs/benchmarks/";
const ABOUT_BENCHMARKS: &str = "docs/benchmarks/benchmarks.md";

/// What pages come to.
#[derive(Debug, Default)]
pub struct Counts {
    pages: usize,
    /// All words, as `wc -w` counts them.
    words: usize,
    /// Of sentences.
    prose: usize,
    sentences: usize,
    longest: usize,
    /// Sentences that are too long, a line each.
    long: Vec<String>,
}

/// True for README and the pages of the book that are written by hand, decisions excepted.
pub fn is_counted(path: &str) -> bool {
    let is_of_book = path.starts_with("docs/") && path != summary::PATH;
    let is_written = path.starts_with(BENCHMARKS) && path != ABOUT_BENCHMARKS;
    path == "README.md" || is_of_book && !is_written && !path.starts_with(summary::DECISIONS)
}

impl Counts {
    pub fn of<'a>(pages: impl Iterator<Item = &'a Page>) -> Self {
        let mut counts = Self::default();
        for page in pages {
            counts.pages += 1;
            counts.words += page.text.split_whitespace().count();
            for (sentence, place) in sentences(page) {
                let words = words(&sentence);
                counts.prose += words;
                counts.sentences += 1;
                counts.longest = counts.longest.max(words);
                if words > MOST_OF_SENTENCE {
                    let line = page.line(place);
                    counts.long.push(format!("{}:{line}: {words} words: {sentence}", page.path));
                }
            }
        }
        counts
    }

    fn mean(&self) -> f64 {
        self.prose as f64 / self.sentences.max(1) as f64
    }

    /// What is too long, a line each.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = self.long.clone();
        if self.mean() > MEAN_OF_SENTENCE {
            problems
                .push(format!("sentences have {:.1} words, at most 18 are wanted", self.mean()));
        }
        if self.words > MOST_WORDS {
            problems.push(format!("{} words, at most {MOST_WORDS} are wanted", self.words));
        }
        problems
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} pages by hand: {} words, {} of them in {} sentences; mean {:.1}, longest {}",
            self.pages,
            self.words,
            self.prose,
            self.sentences,
            self.mean(),
            self.longest
        )
    }
}

/// The sentences of paragraphs and items of lists, and where the paragraph begins. Code in a
/// sentence is one word.
fn sentences(page: &Page) -> Vec<(String, usize)> {
    let (mut found, mut open, mut start) = (Vec::new(), String::new(), 0);
    let mut skipped = 0;
    let mut end = |open: &mut String, start: usize| {
        found.extend(split(open).into_iter().map(|sentence| (sentence, start)));
        open.clear();
    };
    for (event, place) in page.events() {
        match event {
            Event::Start(Tag::Image { .. }) => skipped += 1,
            Event::End(TagEnd::Image) => skipped -= 1,
            Event::Start(
                Tag::CodeBlock(_) | Tag::Table(_) | Tag::Heading { .. } | Tag::HtmlBlock,
            ) => {
                end(&mut open, start);
                skipped += 1;
            }
            Event::End(
                TagEnd::CodeBlock | TagEnd::Table | TagEnd::Heading(_) | TagEnd::HtmlBlock,
            ) => skipped -= 1,
            Event::Start(Tag::Paragraph | Tag::Item | Tag::List(_))
            | Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::List(_)) => {
                end(&mut open, start);
            }
            _ if skipped > 0 => {}
            Event::Text(text) => {
                if open.is_empty() {
                    start = place.start;
                }
                open.push_str(&text);
            }
            Event::Code(_) => {
                if open.is_empty() {
                    start = place.start;
                }
                open.push_str("CODE");
            }
            Event::SoftBreak | Event::HardBreak => open.push(' '),
            _ => {}
        }
    }
    end(&mut open, start);
    found
}

/// Sentences end with `.`, `!` or `?`, and what may close a quotation or a parenthesis; the next
/// begins with a capital or a digit.
fn split(text: &str) -> Vec<String> {
    let (mut found, mut begin) = (Vec::new(), 0);
    for (place, _) in text.match_indices(['.', '!', '?']) {
        let rest = text[place + 1..].trim_start_matches(['"', '\'', ')']);
        let next = rest.trim_start();
        let is_apart = next.len() < rest.len();
        let first = next.trim_start_matches(['"', '\'', '(']).chars().next();
        if is_apart && first.is_some_and(|it| it.is_uppercase() || it.is_ascii_digit()) {
            let end = text.len() - next.len();
            found.push(text[begin..end].trim().to_owned());
            begin = end;
        }
    }
    found.push(text[begin..].trim().to_owned());
    found.retain(|sentence| words(sentence) > 0);
    found
}

fn words(sentence: &str) -> usize {
    sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
}

pub fn tests() {
    assert!(is_counted("README.md") && is_counted("docs/a/b.md") && is_counted(ABOUT_BENCHMARKS));
    let uncounted =
        ["docs/SUMMARY.md", "docs/benchmarks/vm.md", "docs/decisions/0001.md", "CONTRIBUTING.md"];
    assert!(uncounted.iter().all(|path| !is_counted(path)));

    let text = "# No sentence\n\nOne `a b c` of\nfive. \"Two, 3 %!\" (Three.) `four` e.g. this\n\n\
                - item [one](x.md)\n- item\n\n  more\n\n| a |\n| - |\n| no |\n\n    no code\n\n\
                ![no](picture.png)\n\n<!-- no -->\n";
    let page = Page::new("README.md", text);
    let found: Vec<String> = sentences(&page).into_iter().map(|(sentence, _)| sentence).collect();
    assert_eq!(
        found,
        [
            "One CODE of five.",
            "\"Two, 3 %!\"",
            "(Three.)",
            "CODE e.g. this",
            "item one",
            "item",
            "more"
        ]
    );
    assert_eq!(words("\"Two, 3 %!\""), 2);

    let of = |text: &str| Counts::of([Page::new("README.md", text)].iter()).problems();
    assert_eq!(of(&format!("{}.\n\nShort.", "word ".repeat(20))), [""; 0]);
    let mean = of(&format!("{}.", "word ".repeat(20)));
    assert_eq!(mean, ["sentences have 20.0 words, at most 18 are wanted"]);
    let long = of(&format!("Short.\n\nShort.\n\n{}", "word ".repeat(41)));
    assert!(long.len() == 1 && long[0].starts_with("README.md:5: 41 words: word"), "{long:?}");
    let all = of(&"Word. ".repeat(MOST_WORDS + 1));
    assert_eq!(all, ["34101 words, at most 34100 are wanted"]);
}

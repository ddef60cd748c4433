//! Splits Rust source into code and comments, both in place: masked characters become spaces and newlines
//! stay, so that positions and line numbers are those of the file.
//!
//! A scanner, not a parser: it knows line and nested block comments, strings, byte and C strings, raw strings
//! with any number of `#`, character literals and lifetimes. Reference: "Tokens" in The Rust Reference.

/// One source file, as characters.
pub(super) struct Source {
    /// Comments, strings and character literals masked.
    pub(super) code: Vec<char>,
    /// Everything but comments masked.
    pub(super) comments: Vec<char>,
}

struct Scanner<'a> {
    text: &'a [char],
    at: usize,
    source: Source,
}

impl Source {
    pub(super) fn scan(text: &str) -> Source {
        let text: Vec<char> = text.chars().collect();
        let blank: Vec<char> = text.iter().map(|&c| if c == '\n' { '\n' } else { ' ' }).collect();
        let source = Source { code: blank.clone(), comments: blank };
        let mut scanner = Scanner { text: &text, at: 0, source };
        while scanner.at < text.len() {
            scanner.step();
        }
        scanner.source
    }

    /// The code as one string per line.
    pub(super) fn code_lines(&self) -> Vec<String> {
        lines(&self.code)
    }

    /// The comments as one string per line.
    pub(super) fn comment_lines(&self) -> Vec<String> {
        lines(&self.comments)
    }
}

fn lines(text: &[char]) -> Vec<String> {
    text.split(|&c| c == '\n').map(|line| line.iter().collect()).collect()
}

/// 1-based line of a position.
pub(super) fn line_of(text: &[char], position: usize) -> usize {
    1 + text[..position.min(text.len())].iter().filter(|&&c| c == '\n').count()
}

pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl Scanner<'_> {
    fn peek(&self, ahead: usize) -> char {
        self.text.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn step(&mut self) {
        match (self.peek(0), self.peek(1)) {
            ('/', '/') => {
                let end = self.find_from(self.at, |c| c == '\n');
                self.comment_to(end);
            }
            ('/', '*') => {
                let end = self.end_of_block_comment();
                self.comment_to(end);
            }
            ('"', _) => self.skip_string(),
            ('\'', _) => self.skip_quote(),
            (c, _) if is_word(c) => self.word(),
            _ => self.keep(1),
        }
    }

    fn keep(&mut self, count: usize) {
        for _ in 0..count {
            self.source.code[self.at] = self.text[self.at];
            self.at += 1;
        }
    }

    fn comment_to(&mut self, end: usize) {
        self.source.comments[self.at..end].copy_from_slice(&self.text[self.at..end]);
        self.at = end;
    }

    fn find_from(&self, start: usize, matches: impl Fn(char) -> bool) -> usize {
        (start..self.text.len()).find(|&i| matches(self.text[i])).unwrap_or(self.text.len())
    }

    fn end_of_block_comment(&self) -> usize {
        let mut depth = 0_usize;
        let mut i = self.at;
        while i + 1 < self.text.len() {
            match (self.text[i], self.text[i + 1]) {
                ('/', '*') => {
                    depth += 1;
                    i += 2;
                }
                ('*', '/') => {
                    depth -= 1;
                    i += 2;
                    if depth == 0 {
                        return i;
                    }
                }
                _ => i += 1,
            }
        }
        self.text.len()
    }

    /// At the opening quote of a string with escapes.
    fn skip_string(&mut self) {
        let mut i = self.at + 1;
        while i < self.text.len() && self.text[i] != '"' {
            i += if self.text[i] == '\\' { 2 } else { 1 };
        }
        self.at = (i + 1).min(self.text.len());
    }

    /// At a quote that starts a character literal or a lifetime.
    fn skip_quote(&mut self) {
        if self.peek(1) == '\\' {
            let end = self.find_from(self.at + 3, |c| c == '\'');
            self.at = (end + 1).min(self.text.len());
        } else if self.peek(2) == '\'' {
            self.at += 3;
        } else {
            self.keep(1);
        }
    }

    /// At a word: an identifier, a number, or the prefix of a literal.
    fn word(&mut self) {
        let end = self.find_from(self.at, |c| !is_word(c));
        let word: String = self.text[self.at..end].iter().collect();
        let is_raw = matches!(word.as_str(), "r" | "br" | "cr");
        let hashes = self.find_from(end, |c| c != '#') - end;
        let after = |i: usize| self.text.get(i).copied().unwrap_or('\0');
        if is_raw && after(end + hashes) == '"' {
            self.skip_raw_string(end + hashes + 1, hashes);
        } else if matches!(word.as_str(), "b" | "c") && after(end) == '"' {
            self.at = end;
            self.skip_string();
        } else if word == "b" && after(end) == '\'' {
            self.at = end;
            self.skip_quote();
        } else {
            self.keep(end - self.at);
        }
    }

    fn skip_raw_string(&mut self, mut i: usize, hashes: usize) {
        while i < self.text.len() {
            let closes = self.text[i] == '"'
                && self.text[i + 1..].iter().take(hashes).filter(|&&c| c == '#').count() == hashes;
            i += 1;
            if closes {
                self.at = i + hashes;
                return;
            }
        }
        self.at = self.text.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        Source::scan(text).code.iter().collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_go_and_nest() {
        assert_eq!(code("a // b\nc"), "a c");
        assert_eq!(code("a /* x /* y */ z */ b"), "a b");
        assert_eq!(code("a /* never closed"), "a");
    }

    #[test]
    fn strings_of_every_kind_go() {
        assert_eq!(code(r#"f("a \" { b", b"{", c"{");"#), "f( , , );");
        assert_eq!(code("f(r\"\\\", r#\"a\"b { \"#, br##\"\"#\"##);"), "f( , , );");
        assert_eq!(code("let r#type = r; \"unclosed"), "let r#type = r;");
    }

    #[test]
    fn character_literals_go_and_lifetimes_stay() {
        assert_eq!(code("x('{', '\\'', '\\u{7d}', b'{', b'\\n')"), "x( , , , , )");
        assert_eq!(code("fn f<'a, 'b: 'a>(x: &'static str) {}"), "fn f<'a, 'b: 'a>(x: &'static str) {}");
        assert_eq!(code("'outer: loop {}"), "'outer: loop {}");
    }

    #[test]
    fn positions_stay() {
        let text = "a\n/* b\n c */ d\n\"e\nf\" g";
        let source = Source::scan(text);
        assert_eq!(source.code.len(), text.chars().count());
        let position = source.code.iter().position(|&c| c == 'g').expect("g is code");
        assert_eq!(line_of(&source.code, position), 5);
        assert!(source.comment_lines()[1].contains('b'));
    }
}

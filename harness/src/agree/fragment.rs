//! SQL as a tree of text whose parts know simpler alternatives, so that a statement that shows a difference
//! can be shrunk.
//!
//! A [`Fragment`] is a sequence of words and choices. A choice has the text that was generated and texts that
//! may replace it: an operand for its operation, a constant for a subquery, nothing for a clause. Shrinking
//! tries for each choice, from the outermost inwards, each simpler text, and keeps the first that still shows
//! the difference. It ends when no choice can be made simpler. Every part of the remaining statement matters,
//! in the sense of delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing
//! input", 2002).

/// Text with parts that can be made simpler.
#[derive(Clone, Debug, Default)]
pub(super) struct Fragment {
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Choice { chosen: Fragment, simpler: Vec<Fragment> },
}

impl From<&str> for Fragment {
    fn from(text: &str) -> Fragment {
        Fragment::from(text.to_owned())
    }
}

impl From<String> for Fragment {
    fn from(text: String) -> Fragment {
        Fragment { parts: vec![Part::Text(text)] }
    }
}

impl Fragment {
    /// A part that may be replaced by any of `simpler`.
    pub(super) fn choice(chosen: Fragment, simpler: Vec<Fragment>) -> Fragment {
        Fragment { parts: vec![Part::Choice { chosen, simpler }] }
    }

    /// A part that may be left out.
    pub(super) fn optional(chosen: Fragment) -> Fragment {
        Fragment::choice(chosen, vec![Fragment::default()])
    }

    /// The template with its `{}` replaced by the fragments, in order.
    ///
    /// # Panics
    ///
    /// If there are more or fewer holes than fragments.
    pub(super) fn fill(template: &str, fragments: Vec<Fragment>) -> Fragment {
        let mut filled = Fragment::default();
        let mut texts = template.split("{}");
        filled.push(texts.next().unwrap_or_default().into());
        let mut holes = 0;
        for (text, fragment) in texts.zip(&fragments) {
            filled.push(fragment.clone());
            filled.push(text.into());
            holes += 1;
        }
        assert_eq!(holes, fragments.len(), "a hole for each fragment of `{template}`");
        filled
    }

    pub(super) fn push(&mut self, fragment: Fragment) {
        self.parts.extend(fragment.parts);
    }

    /// The fragments with a text between them.
    pub(super) fn join(fragments: Vec<Fragment>, separator: &str) -> Fragment {
        let mut joined = Fragment::default();
        for (index, fragment) in fragments.into_iter().enumerate() {
            if index > 0 {
                joined.push(separator.into());
            }
            joined.push(fragment);
        }
        joined
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) {
        for part in &self.parts {
            match part {
                Part::Text(words) => text.push_str(words),
                Part::Choice { chosen, .. } => chosen.write(text),
            }
        }
    }

    /// The simplest fragment found for which `differs` still holds. `trials` bounds the number of calls of
    /// `differs`.
    pub(super) fn shrink(mut self, trials: usize, mut differs: impl FnMut(&str) -> bool) -> Fragment {
        let mut left = trials;
        let mut next = 0;
        // The choice at `next` is made simpler until it cannot be. What was kept may contain choices again.
        while left > 0 {
            let candidates = self.simpler_at(next);
            if candidates.is_empty() && next >= self.choices() {
                break;
            }
            let mut kept = false;
            for candidate in candidates {
                if left == 0 {
                    break;
                }
                left -= 1;
                if differs(&candidate.text()) {
                    self = candidate;
                    kept = true;
                    break;
                }
            }
            if !kept {
                next += 1;
            }
        }
        self
    }

    /// The number of choices, including nested ones.
    fn choices(&self) -> usize {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(_) => 0,
                Part::Choice { chosen, .. } => 1 + chosen.choices(),
            })
            .sum()
    }

    /// The whole with the choice of this number (outer ones are counted before inner ones) replaced by each
    /// of its simpler texts.
    fn simpler_at(&self, mut number: usize) -> Vec<Fragment> {
        for (index, part) in self.parts.iter().enumerate() {
            let Part::Choice { chosen, simpler } = part else { continue };
            if number == 0 {
                return simpler.iter().map(|simple| self.with(index, simple.parts.clone())).collect();
            }
            number -= 1;
            let inside = chosen.choices();
            if number < inside {
                let choice = |chosen| vec![Part::Choice { chosen, simpler: simpler.clone() }];
                return chosen
                    .simpler_at(number)
                    .into_iter()
                    .map(|chosen| self.with(index, choice(chosen)))
                    .collect();
            }
            number -= inside;
        }
        Vec::new()
    }

    fn with(&self, index: usize, replacement: Vec<Part>) -> Fragment {
        let mut parts = self.parts.clone();
        parts.splice(index..=index, replacement);
        Fragment { parts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shrinking_keeps_what_the_difference_needs() {
        let sum =
            Fragment::choice(Fragment::fill("({} + {})", vec!["a".into(), "b".into()]), vec!["a".into()]);
        let list = Fragment::join(vec![sum, Fragment::optional(", c".into())], "");
        let whole = Fragment::fill("select {}{}", vec![list, Fragment::optional(" where d".into())]);
        assert_eq!(whole.text(), "select (a + b), c where d");
        let shrunk =
            |needed: &'static str| whole.clone().shrink(100, move |text| text.contains(needed)).text();
        assert_eq!(shrunk("select"), "select a");
        assert_eq!(shrunk("+"), "select (a + b)");
        assert_eq!(shrunk("where"), "select a where d");
    }
}

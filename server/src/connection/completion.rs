//! The effects that the end of a statement has on its connection.

use super::Connection;
use super::settings::Timeouts;

impl Connection<'_> {
    /// Applies to the connection what the tag of a finished statement implies.
    pub(super) fn note_completion(&mut self, tag: &str) {
        match tag {
            "SET" | "RESET" => self.read_settings(true),
            "DISCARD ALL" => {
                self.statements.clear();
                self.portals.clear();
                self.read_settings(false);
            }
            "DEALLOCATE ALL" => self.statements.clear(),
            "COMMIT" | "ROLLBACK" if self.timeouts.changed_in_transaction => self.read_settings(false),
            _ => {}
        }
    }

    fn read_settings(&mut self, changed_in_transaction: bool) {
        self.time_zone = self.session.time_zone();
        self.timeouts = Timeouts { changed_in_transaction, ..Timeouts::of(&self.session) };
    }
}

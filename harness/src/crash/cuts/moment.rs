//! When the power is cut, and what happens until the server gets SIGKILL.

use rand::RngExt;
use rand::rngs::StdRng;

/// What the server does at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Moment {
    /// It creates its files, at its very first start.
    Creation,
    Load,
    /// Load, beside a requested checkpoint.
    Checkpoint,
    /// Load, beside `hyades backup`.
    Backup,
    /// It was told to stop (SIGTERM) under load, or has just done so.
    Stop,
    /// It starts after a cut.
    Start,
    /// It restarts on demand and serves clients meanwhile.
    Middle,
}

impl Moment {
    pub(super) const ALL: [Moment; 7] = [
        Moment::Creation,
        Moment::Load,
        Moment::Checkpoint,
        Moment::Backup,
        Moment::Stop,
        Moment::Start,
        Moment::Middle,
    ];

    /// Draws the moment of the first cut of a round.
    pub(super) fn draw_first(random: &mut StdRng) -> Moment {
        match random.random_range(0..10) {
            0..4 => Moment::Load,
            4..7 => Moment::Checkpoint,
            7..9 => Moment::Backup,
            _ => Moment::Stop,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Moment::Creation => "at the first start",
            Moment::Load => "under load",
            Moment::Checkpoint => "at a checkpoint",
            Moment::Backup => "at a backup",
            Moment::Stop => "at a stop",
            Moment::Start => "at a start",
            Moment::Middle => "in a restart on demand",
        }
    }
}

/// How a server reacts to the loss of its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aftermath {
    /// Unknown: it is killed at once, as by a real power cut.
    Killed,
    /// It went on: its logs were not on that disk.
    WentOn,
    /// It refused all clients.
    Refused,
    /// It ended by itself, as --exit-when-poisoned demands.
    Exited,
}

impl Aftermath {
    pub(super) fn name(self) -> &'static str {
        match self {
            Aftermath::Killed => "killed at once",
            Aftermath::WentOn => "the server went on",
            Aftermath::Refused => "all clients refused",
            Aftermath::Exited => "the server ended itself",
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn all_moments_of_a_first_cut_are_drawn() {
        let mut random = StdRng::seed_from_u64(1);
        let drawn: Vec<Moment> = (0..100).map(|_| Moment::draw_first(&mut random)).collect();
        for moment in [Moment::Load, Moment::Checkpoint, Moment::Backup, Moment::Stop] {
            assert!(drawn.contains(&moment), "{moment:?}");
        }
    }
}

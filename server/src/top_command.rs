//! `hyades top`: sessions, rates, logs and memory of a running server, in a terminal.
//!
//! It is a client like any other: it queries the views of the catalog every second, and computes rates from
//! two results. It cannot show what its role may not see of others. `--once` prints one picture and ends.

use std::io::Write;
use std::time::{Duration, Instant};

use clap::Args;
use postgres::{Client, NoTls, Row};
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row as TableRow, Table, Widget};

/// The server's address, and how often it is queried.
#[derive(Args)]
pub struct TopArguments {
    /// The server, as a URL or as keys and values; PGPASSWORD is the password.
    #[arg(default_value = "host=127.0.0.1 port=5433 user=hyades dbname=hyades")]
    connection: String,
    /// Seconds between two updates.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    interval: f64,
    /// Print one picture as text.
    #[arg(long)]
    once: bool,
}

/// The size of the picture that `--once` prints.
const PRINTED: Rect = Rect { x: 0, y: 0, width: 120, height: 30 };

const SESSIONS: &str = "select pid, usename::text, coalesce(state, ''), coalesce(wait_event_type, ''), \
     coalesce(extract(epoch from clock_timestamp() - query_start), 0)::float8, coalesce(query, '') \
     from pg_stat_activity where pid <> pg_backend_pid()";
const DATABASE: &str = "select xact_commit, xact_rollback, deadlocks from pg_stat_database";
const LOGS: &str = "select appended_bytes, durable_bytes, lag_bytes, syncs from hyades_logs order by log";
const MEMORY: &str = "select kind, sum(bytes)::bigint from hyades_memory group by kind";

/// One sample of the server's state.
struct Look {
    time: Instant,
    sessions: Vec<Session>,
    /// Committed, rolled back, deadlocks.
    counts: [i64; 3],
    /// For each log: appended, durable, lag, syncs.
    logs: Vec<[i64; 4]>,
    memory: Vec<(String, i64)>,
}

struct Session {
    process: i32,
    user: String,
    state: String,
    wait: String,
    seconds: f64,
    query: String,
}

/// Runs until q is pressed.
///
/// # Errors
/// A sentence for the user.
pub fn run(arguments: &TopArguments) -> Result<(), String> {
    let mut config: postgres::Config =
        arguments.connection.parse().map_err(|error| format!("where is the server? {error}"))?;
    if let Ok(password) = std::env::var("PGPASSWORD") {
        config.password(password);
    }
    config.application_name("hyades top");
    let mut client = config.connect(NoTls).map_err(|error| told("could not connect", &error))?;
    let first = look(&mut client)?;
    if arguments.once {
        return print_once(&first);
    }
    let interval = Duration::from_secs_f64(arguments.interval.clamp(0.1, 3600.0));
    let mut terminal = ratatui::init();
    let outcome = watch(&mut terminal, &mut client, first, interval);
    ratatui::restore();
    outcome
}

fn told(what: &str, error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) => format!("{what}: {}", error.message()),
        None => format!("{what}: {error}"),
    }
}

fn print_once(look: &Look) -> Result<(), String> {
    let mut buffer = Buffer::empty(PRINTED);
    Picture { now: look, before: None }.render(PRINTED, &mut buffer);
    let mut out = std::io::stdout().lock();
    for y in 0..PRINTED.height {
        let line: String = (0..PRINTED.width).map(|x| buffer[(x, y)].symbol()).collect();
        writeln!(out, "{}", line.trim_end()).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn watch(
    terminal: &mut ratatui::DefaultTerminal,
    client: &mut Client,
    first: Look,
    interval: Duration,
) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("the terminal cannot be used: {error}");
    let (mut before, mut now) = (None, first);
    loop {
        terminal
            .draw(|frame| {
                frame.render_widget(Picture { now: &now, before: before.as_ref() }, frame.area());
            })
            .map_err(failed)?;
        let next = Instant::now() + interval;
        while let Some(rest) = next.checked_duration_since(Instant::now()) {
            if !event::poll(rest).map_err(failed)? {
                break;
            }
            if let Event::Key(key) = event::read().map_err(failed)?
                && key.kind == KeyEventKind::Press
            {
                let is_interrupt =
                    key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
                if is_interrupt || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc) {
                    return Ok(());
                }
            }
        }
        let seen = look(client)?;
        before = Some(std::mem::replace(&mut now, seen));
    }
}

fn look(client: &mut Client) -> Result<Look, String> {
    let mut ask =
        |sql: &str| client.query(sql, &[]).map_err(|error| told("the server does not answer", &error));
    let sessions = ask(SESSIONS)?.iter().map(session).collect::<Result<Vec<_>, _>>();
    let mut sessions = sessions.map_err(|error| told("an answer is not understood", &error))?;
    // Active sessions first, the longest of them at the top.
    sessions.sort_by(|left, right| {
        let key = |session: &Session| (session.state != "active", session.state == "idle");
        key(left).cmp(&key(right)).then(right.seconds.total_cmp(&left.seconds))
    });
    let database = ask(DATABASE)?;
    let logs = ask(LOGS)?;
    let memory = ask(MEMORY)?;
    let counts = database.first().map_or([0; 3], |row| [0, 1, 2].map(|at| row.try_get(at).unwrap_or(0)));
    Ok(Look {
        time: Instant::now(),
        sessions,
        counts,
        logs: logs.iter().map(|row| [0, 1, 2, 3].map(|at| row.try_get(at).unwrap_or(0))).collect(),
        memory: memory.iter().filter_map(|row| Some((row.try_get(0).ok()?, row.try_get(1).ok()?))).collect(),
    })
}

fn session(row: &Row) -> Result<Session, postgres::Error> {
    let query: String = row.try_get(5)?;
    Ok(Session {
        process: row.try_get(0)?,
        user: row.try_get(1)?,
        state: row.try_get(2)?,
        wait: row.try_get(3)?,
        seconds: row.try_get(4)?,
        query: query.split_whitespace().collect::<Vec<_>>().join(" "),
    })
}

/// What is drawn: a sample, and the previous one for rates.
struct Picture<'a> {
    now: &'a Look,
    before: Option<&'a Look>,
}

fn bytes(count: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (count.max(0.0), 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = usize::from(unit > 0 && value < 100.0);
    format!("{value:.digits$} {}", UNITS[unit])
}

fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 0.0005 => String::new(),
        seconds if seconds < 1.0 => format!("{:.0} ms", seconds * 1e3),
        seconds if seconds < 120.0 => format!("{seconds:.1} s"),
        seconds => format!("{:.0} min", seconds / 60.0),
    }
}

impl Picture<'_> {
    /// The rate per second since the previous sample.
    fn rate(&self, of: impl Fn(&Look) -> i64) -> Option<f64> {
        let before = self.before?;
        let seconds = self.now.time.duration_since(before.time).as_secs_f64().max(1e-3);
        Some((of(self.now) - of(before)).max(0) as f64 / seconds)
    }

    fn rate_shown(&self, of: impl Fn(&Look) -> i64) -> String {
        self.rate(of).map_or("-".to_owned(), |rate| format!("{rate:.0}/s"))
    }

    fn memory(&self, kind: &str) -> f64 {
        let found = self.now.memory.iter().find(|(own, _)| own == kind);
        found.map_or(0.0, |(_, bytes)| *bytes as f64)
    }

    fn heads(&self) -> Vec<Line<'static>> {
        let count = |state: &str| self.now.sessions.iter().filter(|one| one.state == state).count();
        let waiting = self.now.sessions.iter().filter(|one| one.wait == "Lock").count();
        let label = |text: &'static str| Span::styled(text, Style::new().add_modifier(Modifier::BOLD));
        let of = |kinds: &[(&str, &str)]| {
            let shown = kinds.iter().map(|(kind, word)| format!("{} {word}", bytes(self.memory(kind))));
            shown.collect::<Vec<_>>().join(", ")
        };
        vec![
            Line::from(vec![
                label("sessions      "),
                Span::raw(format!(
                    "{} active, {waiting} waiting for locks, {} idle in transaction, {} idle",
                    count("active"),
                    count("idle in transaction") + count("idle in transaction (aborted)"),
                    count("idle"),
                )),
            ]),
            Line::from(vec![
                label("transactions  "),
                Span::raw(format!(
                    "{} committed, {} rolled back, {} deadlocks; {} committed in all",
                    self.rate_shown(|look| look.counts[0]),
                    self.rate_shown(|look| look.counts[1]),
                    self.rate_shown(|look| look.counts[2]),
                    self.now.counts[0],
                )),
            ]),
            Line::from(vec![
                label("memory        "),
                Span::raw(format!(
                    "{} of {}: {}",
                    bytes(self.memory("total")),
                    bytes(self.memory("limit")),
                    of(&[
                        ("table", "tables"),
                        ("index", "indexes"),
                        ("versions", "versions"),
                        ("sessions", "sessions"),
                        ("logs", "logs"),
                    ]),
                )),
            ]),
        ]
    }

    fn logs(&self) -> Table<'static> {
        let rows = self.now.logs.iter().enumerate().map(|(log, [appended, _, lag, _])| {
            let at = |of: usize| move |look: &Look| look.logs.get(log).map_or(0, |one| one[of]);
            let written = self.rate(at(1)).map_or("-".to_owned(), |rate| format!("{}/s", bytes(rate)));
            TableRow::new([
                Cell::from(format!("log {log}")),
                Cell::from(bytes(*appended as f64)),
                Cell::from(written),
                Cell::from(bytes(*lag as f64)),
                Cell::from(self.rate_shown(at(3))),
            ])
        });
        let widths = [8, 14, 14, 14, 10].map(Constraint::Length);
        let header = ["", "appended", "written", "not durable", "syncs"];
        Table::new(rows, widths).header(TableRow::new(header).style(head_style()))
    }

    fn sessions(&self) -> Table<'static> {
        let rows = self.now.sessions.iter().map(|one| {
            let style = match (one.state.as_str(), one.wait.as_str()) {
                (_, "Lock") => Style::new().fg(Color::Yellow),
                ("active", _) => Style::new().fg(Color::Green),
                ("idle", _) => Style::new().add_modifier(Modifier::DIM),
                _ => Style::new().fg(Color::Red),
            };
            TableRow::new([
                Cell::from(one.process.to_string()),
                Cell::from(one.user.clone()),
                Cell::from(one.state.clone()),
                Cell::from(if one.wait == "Lock" { "lock" } else { "" }),
                Cell::from(duration(one.seconds)),
                Cell::from(one.query.clone()),
            ])
            .style(style)
        });
        let widths = [
            Constraint::Length(8),
            Constraint::Length(14),
            Constraint::Length(22),
            Constraint::Length(6),
            Constraint::Length(9),
            Constraint::Fill(1),
        ];
        let header = ["process", "user", "state", "waits", "since", "statement"];
        Table::new(rows, widths).header(TableRow::new(header).style(head_style()))
    }
}

fn head_style() -> Style {
    Style::new().add_modifier(Modifier::REVERSED)
}

impl Widget for Picture<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let logs = u16::try_from(self.now.logs.len()).unwrap_or(u16::MAX).saturating_add(1);
        let [heads, _, logs, _, sessions] = Layout::vertical([
            Constraint::Length(3),
            Constraint::Length(1),
            Constraint::Length(logs.min(area.height / 3)),
            Constraint::Length(1),
            Constraint::Fill(1),
        ])
        .areas(area);
        Paragraph::new(self.heads()).render(heads, buffer);
        Widget::render(self.logs(), logs, buffer);
        Widget::render(self.sessions(), sessions, buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_shown_in_units_that_people_read() {
        assert_eq!(bytes(0.0), "0 B");
        assert_eq!(bytes(1536.0), "1.5 KiB");
        assert_eq!(bytes(300.0 * 1024.0 * 1024.0), "300 MiB");
        assert_eq!(
            (duration(0.0), duration(0.25), duration(600.0)),
            (String::new(), "250 ms".to_owned(), "10 min".to_owned())
        );
    }
}

//! The live view on a terminal: draws a [`Snapshot`] and says whether the user wants to end. Used
//! by the [`session`](super::session).

use std::fs::File;
use std::io::{self, IsTerminal};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, OwnedFd};
use std::panic;
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Gauge, Paragraph, Sparkline};
use ratatui::{DefaultTerminal, Frame};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::progress::Snapshot;
use crate::words::{bits, count, maybe_time, time};

/// The terminal while the view has it; given back when this is dropped, also on a panic.
pub(crate) struct View {
    /// Its own drop panics where the terminal has gone.
    terminal: ManuallyDrop<DefaultTerminal>,
    title: String,
    /// Where keys come from.
    keys: OwnedFd,
}

impl View {
    /// Takes the terminal.
    ///
    /// # Errors
    ///
    /// When it cannot show a view.
    pub(crate) fn open(title: String) -> io::Result<View> {
        let stdin = io::stdin();
        let keys = match stdin.is_terminal() {
            true => stdin.as_fd().try_clone_to_owned()?,
            false => File::open("/dev/tty")?.into(),
        };
        let hook = panic::take_hook();
        let terminal = ratatui::try_init();
        // In the place of ratatui's, which itself panics where the terminal has gone.
        panic::set_hook(Box::new(move |info| {
            let _ = ratatui::try_restore();
            hook(info);
        }));
        Ok(View { terminal: ManuallyDrop::new(terminal?), title, keys })
    }

    /// Draws what is known now.
    pub(crate) fn show(&mut self, now: &Snapshot) -> io::Result<()> {
        let title = &self.title;
        self.terminal.draw(|frame| draw(frame, title, now)).map(|_| ())
    }

    /// Waits so long for keys; true if one of them asks to end.
    ///
    /// # Errors
    ///
    /// The terminal has gone.
    pub(crate) fn asked_to_end(&mut self, wait: Duration) -> io::Result<bool> {
        let wait = Timespec::try_from(wait).map_err(io::Error::other)?;
        let mut keys = [PollFd::new(&self.keys, PollFlags::IN)];
        match poll(&mut keys, Some(&wait)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        // From one that has gone crossterm would read for ever.
        if keys[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if !event::poll(Duration::ZERO)? {
            return Ok(false);
        }
        let Event::Key(key) = event::read()? else { return Ok(false) };
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let ends = matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
            || (control && key.code == KeyCode::Char('c'));
        Ok(ends && key.kind != KeyEventKind::Release)
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // The terminal may have gone.
        let _ = self.terminal.show_cursor();
        let _ = ratatui::try_restore();
    }
}

const WATER: Color = Color::Cyan;

fn draw(frame: &mut Frame<'_>, title: &str, now: &Snapshot) {
    let rows = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(10),
        Constraint::Min(3),
        Constraint::Length(1),
    ]);
    let [head, progress, middle, bottom, foot] = rows.areas(frame.area());
    let bold = Style::default().fg(WATER).add_modifier(Modifier::BOLD);
    frame.render_widget(Line::styled(title.to_owned(), bold), head);
    gauge(frame, progress, now);
    let [left, right] =
        Layout::horizontal([Constraint::Percentage(50), Constraint::Percentage(50)]).areas(middle);
    frame.render_widget(requests(now), left);
    frame.render_widget(responses(now), right);
    means(frame, bottom, now);
    let soft = Style::default().add_modifier(Modifier::DIM);
    frame.render_widget(
        Line::styled("q or Ctrl-C ends early and reports what was seen", soft),
        foot,
    );
}

fn gauge(frame: &mut Frame<'_>, area: Rect, now: &Snapshot) {
    let elapsed = format!("{:.1} s", now.elapsed);
    let (share, label) = match now.duration {
        Some(all) if now.elapsed <= all => {
            (now.elapsed / all, format!("{elapsed} of {}", time(all * 1e3)))
        }
        Some(all) => {
            (1.0, format!("{elapsed}: {} are over, waiting for the last", time(all * 1e3)))
        }
        None => (0.0, elapsed),
    };
    let gauge = Gauge::default().gauge_style(Style::default().fg(WATER)).label(label);
    frame.render_widget(gauge.ratio(share.clamp(0.0, 1.0)), area);
}

fn row(word: &str, value: String) -> Line<'static> {
    Line::from(vec![Span::raw(format!("{word:<12}")), Span::raw(format!("{value:>16}"))])
}

fn requests(now: &Snapshot) -> Paragraph<'static> {
    let mut lines = Vec::new();
    lines.extend(now.scheduled.map(|scheduled| row("scheduled", count(scheduled))));
    lines.push(row("started", count(now.started)));
    lines.push(row("complete", count(now.complete)));
    let failed = row("failed", count(now.failed));
    lines.push(if now.failed > 0 { failed.style(Style::default().fg(Color::Red)) } else { failed });
    let failures: Vec<String> =
        now.failures.iter().map(|(name, number)| format!("{name} {}", count(*number))).collect();
    if !failures.is_empty() {
        lines.push(Line::raw(format!("  {}", failures.join(", "))));
    }
    lines.push(row("open", count(now.open)));
    lines.push(row("received", bits(now.bytes_per_second * 8.0)));
    Paragraph::new(lines).block(Block::bordered().title(" requests "))
}

fn responses(now: &Snapshot) -> Paragraph<'static> {
    let lag = |word: &str, p99, max| {
        let lag = format!("{}, max {}", maybe_time(p99), maybe_time(max));
        Line::raw(format!("{word:<14}{lag:>16}"))
    };
    let lines = vec![
        row("mean", maybe_time(now.mean_ms)),
        row("median", maybe_time(now.p50_ms)),
        row("p90", maybe_time(now.p90_ms)),
        row("p99", maybe_time(now.p99_ms)),
        row("p99.9", maybe_time(now.p999_ms)),
        row("max", maybe_time(now.max_ms)),
        lag("start lag p99", now.lag_p99_ms, now.lag_max_ms),
        lag("read lag p99", now.read_lag_p99_ms, now.read_lag_max_ms),
    ];
    Paragraph::new(lines).block(Block::bordered().title(" response time so far "))
}

/// The newest seconds that fit.
fn means(frame: &mut Frame<'_>, area: Rect, now: &Snapshot) {
    let most = now.means_ms.iter().copied().fold(0.0, f64::max);
    let title = format!(" mean response time by second, up to {} ", time(most));
    let block = Block::bordered().title(title);
    let room = usize::from(block.inner(area).width);
    let first = now.means_ms.len().saturating_sub(room);
    let data: Vec<u64> = now.means_ms[first..].iter().map(|ms| (ms * 1e3) as u64).collect();
    let style = Style::default().fg(WATER);
    frame.render_widget(Sparkline::default().block(block).style(style).data(data), area);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn screen(width: u16, height: u16, now: &Snapshot) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, "weir-lab load http://x/", now)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn the_view_shows_what_is_known() {
        let now = Snapshot {
            elapsed: 3.0,
            duration: Some(30.0),
            scheduled: Some(1502),
            started: 1501,
            complete: 1400,
            failed: 7,
            failures: vec![("refused", 7)],
            open: 94,
            bytes_per_second: 1_250_000.0,
            mean_ms: Some(12.3),
            p99_ms: Some(87.6),
            lag_p99_ms: Some(1.1),
            read_lag_p99_ms: Some(543.2),
            means_ms: vec![1.0, 2.0, 40.0],
            ..Snapshot::default()
        };
        let screen = screen(80, 24, &now);
        for part in [
            "http://x/",
            "3.0 s of 30.00 s",
            "1,502",
            "1,501",
            "1,400",
            "refused 7",
            "94",
            "10 Mbit/s",
            "12.3 ms",
            "87.6 ms",
            "start lag p99",
            "read lag p99",
            "543 ms",
            "up to 40.0 ms",
            "q or Ctrl-C",
        ] {
            assert!(screen.contains(part), "{part} is not in\n{screen}");
        }
    }

    #[test]
    fn nothing_known_and_no_room_are_drawn_too() {
        for (width, height) in [(80, 24), (20, 5), (1, 1)] {
            screen(width, height, &Snapshot::default());
        }
        let long = Snapshot { means_ms: vec![1.0; 1000], ..Snapshot::default() };
        screen(40, 20, &long);
    }
}

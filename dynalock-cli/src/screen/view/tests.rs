//! Tests that compare whole screens with the expected screens.

use ratatui::{Terminal, backend::TestBackend};

use super::*;
use crate::lock::Holder;

const VIEW: View<'_> = View {
    title: "locks of table `locks`",
    nothing: "The table contains no locks.",
    interval: Duration::from_secs(2),
    locks: &[],
    age: Duration::ZERO,
    failure: None,
    scroll: 0,
    has_colours: true,
};

/// Returns the lines of a screen, without the spaces at their ends.
fn screen(view: &View<'_>, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| view.draw(frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| {
        // A wide character covers two cells, so the second cell is left out.
        let line = (0..width).fold(String::new(), |line, x| match line.width() > usize::from(x) {
            true => line,
            false => line + buffer[(x, y)].symbol(),
        });
        line.trim_end().to_owned()
    };
    (0..height).map(line).collect()
}

fn held(name: &str, owner: &str, fence: u64, millis: u64) -> Lock {
    let (owner, nonce, remaining) = (owner.to_owned(), String::new(), Duration::from_millis(millis));
    let holder = Holder { owner, nonce, remaining, has_expired: remaining.is_zero() };
    Lock { name: name.to_owned(), namespace: None, holder: Some(holder), fence, waiters: Vec::new() }
}

fn waiter(owner: &str, ticket: &str, millis: u64) -> Waiter {
    let since_entry = Some(Duration::from_millis(millis));
    Waiter { owner: owner.to_owned(), ticket: ticket.to_owned(), since_entry }
}

/// A printer with a holder and many waiters.
fn printer(waiters: u64) -> Lock {
    let waiters = (1..=waiters).map(|n| waiter(&format!("client-{n}"), &format!("{n:016x}"), 1_000 * n));
    Lock { waiters: waiters.collect(), ..held("printer", "a long job", 1_795_346_342_123, 1_650) }
}

#[test]
fn a_table_without_locks() {
    assert_eq!(
        screen(&VIEW, 80, 6),
        [
            " locks of table `locks`                                                every 2s",
            " LOCK                     OWNER            STATE   TIME     FENCE OR TICKET",
            " The table contains no locks.",
            "",
            " 0 held, 0 expired, 0 free, 0 waiting",
            " q quit  ↑ ↓ scroll",
        ]
    );
}

#[test]
fn one_holder() {
    let locks = [held("nightly-report", "worker-7", 1_795_346_342_123, 14_200)];
    assert_eq!(
        screen(&View { locks: &locks, ..VIEW }, 80, 6),
        [
            " locks of table `locks`                                                every 2s",
            " LOCK                     OWNER            STATE   TIME     FENCE OR TICKET",
            " nightly-report           worker-7         held    14s      1795346342123",
            "",
            " 1 held, 0 expired, 0 free, 0 waiting",
            " q quit  ↑ ↓ scroll",
        ]
    );
}

#[test]
fn many_waiters_scroll() {
    let locks = [printer(12)];
    assert_eq!(
        screen(&View { locks: &locks, ..VIEW }, 80, 9),
        [
            " locks of table `locks`                                                every 2s",
            " LOCK                     OWNER            STATE   TIME     FENCE OR TICKET",
            " printer                  a long job       held    1.6s     1795346342123",
            "    1.                    client-1         waits   1.0s     0000000000000001",
            "    2.                    client-2         waits   2.0s     0000000000000002",
            "    3.                    client-3         waits   3.0s     0000000000000003",
            "    4.                    client-4         waits   4.0s     0000000000000004",
            " 1 held, 0 expired, 0 free, 12 waiting; rows 1 to 5 of 13",
            " q quit  ↑ ↓ scroll",
        ]
    );
    assert_eq!(
        screen(&View { locks: &locks, scroll: 99, ..VIEW }, 80, 9),
        [
            " locks of table `locks`                                                every 2s",
            " LOCK                     OWNER            STATE   TIME     FENCE OR TICKET",
            "    8.                    client-8         waits   8.0s     0000000000000008",
            "    9.                    client-9         waits   9.0s     0000000000000009",
            "   10.                    client-10        waits   10s      000000000000000a",
            "   11.                    client-11        waits   11s      000000000000000b",
            "   12.                    client-12        waits   12s      000000000000000c",
            " 1 held, 0 expired, 0 free, 12 waiting; rows 9 to 13 of 13",
            " q quit  ↑ ↓ scroll",
        ]
    );
}

#[test]
fn a_lease_that_ended_and_a_free_lock() {
    let free = Lock { holder: None, ..held("report", "", 7, 0) };
    let locks = [held("import", "worker-9", 8, 0), free];
    assert_eq!(
        screen(&View { locks: &locks, ..VIEW }, 80, 7),
        [
            " locks of table `locks`                                                every 2s",
            " LOCK                     OWNER            STATE   TIME     FENCE OR TICKET",
            " import                   worker-9         expired 0.0s     8",
            " report                                    free             7",
            "",
            " 0 held, 1 expired, 1 free, 0 waiting",
            " q quit  ↑ ↓ scroll",
        ]
    );
}

#[test]
fn a_narrow_terminal() {
    let locks = [printer(1)];
    let view = View { locks: &locks, ..VIEW };
    assert_eq!(
        screen(&view, 50, 6),
        [
            " locks of table `locks`                  every 2s",
            " LOCK                OWNER        STATE   TIME",
            " printer             a long job   held    1.6s",
            "    1.               client-1     waits   1.0s",
            " 1 held, 0 expired, 0 free, 1 waiting",
            " q quit  ↑ ↓ scroll",
        ]
    );
    assert_eq!(
        screen(&view, 40, 6),
        [
            " locks of table `locks`        every 2s",
            " LOCK               OWNER       TIME",
            " printer            a long job  1.6s",
            "    1.              client-1    1.0s",
            " 1 held, 0 expired, 0 free, 1 waiting",
            " q quit  ↑ ↓ scroll",
        ]
    );
    assert_eq!(
        screen(&view, 20, 6),
        [
            " locks of… every 2s",
            " LOCK        OWNER",
            " printer     a long…",
            "    1.       client…",
            " 1 held, 0 expired,…",
            " q quit  ↑ ↓ scroll",
        ]
    );
}

#[test]
fn long_and_wide_names_are_cut() {
    let name = "a-name-that-is-longer-than-its-column-on-this-screen";
    let namespace = Some("eu\u{1b}[31m".to_owned());
    let locks = [held(name, "漢字漢字漢字漢字漢字漢字漢字", 7, 65_000), Lock { namespace, ..held("b", "c", 8, 100) }];
    assert_eq!(
        screen(&View { locks: &locks, ..VIEW }, 80, 7),
        [
            " locks of table `locks`                                                every 2s",
            " LOCK                     OWNER            STATE   TIME     FENCE OR TICKET",
            " a-name-that-is-longer-t… 漢字漢字漢字漢…  held    1m 05s   7",
            " b (eu\\u{1b}[31m)         c                held    0.1s     8",
            "",
            " 2 held, 0 expired, 0 free, 0 waiting",
            " q quit  ↑ ↓ scroll",
        ]
    );
}

#[test]
fn a_lost_server() {
    let locks = [held("nightly-report", "worker-7", 7, 14_200)];
    let failure = Some("gave up after 5 attempts: no usable answer\nconnection refused");
    let view = View { locks: &locks, failure, age: Duration::from_millis(12_300), ..VIEW };
    assert_eq!(
        screen(&view, 80, 6),
        [
            " locks of table `locks`                                                every 2s",
            " LOCK                     OWNER            STATE   TIME     FENCE OR TICKET",
            " nightly-report           worker-7         held    14s      7",
            "",
            " 1 held, 0 expired, 0 free, 0 waiting",
            " no answer for 12s: gave up after 5 attempts: no usable answer\\nconnection refu…",
        ]
    );
}

#[test]
fn a_terminal_of_any_size_shows_what_fits() {
    let locks = [printer(3)];
    for width in 0..90 {
        for height in 0..8 {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            terminal.draw(|frame| View { locks: &locks, scroll: 2, ..VIEW }.draw(frame)).unwrap();
        }
    }
}

#[test]
fn without_colours_a_frame_has_none() {
    let locks = [printer(1)];
    for has_colours in [true, false] {
        let mut terminal = Terminal::new(TestBackend::new(80, 8)).unwrap();
        terminal.draw(|frame| View { locks: &locks, has_colours, ..VIEW }.draw(frame)).unwrap();
        let cells = terminal.backend().buffer().content();
        assert_eq!(cells.iter().any(|cell| cell.fg != Color::Reset), has_colours);
    }
}

//! The command in a pseudo-terminal: `watch`, the progress of commands that wait, and the question of `locks break`.

use std::process::Stdio;

use dynalock::Wait;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader, copy_bidirectional},
    net::{TcpListener, TcpStream},
    process::Command,
};

use crate::support::{Engine, LONG};

const SIZE: [u16; 2] = [10, 90];

/// Waits for the screen of one holder and one waiter.
const PRINTER: &str = " locks of table `locks`                                                        every <time>
 LOCK                           OWNER                STATE   TIME     FENCE OR TICKET
 nightly-report                 worker-7             held    <time> <fence>
 printer                        ann                  held    <time> <fence>
    1.                          bob                  waits   <time> <id>



 2 held, 0 expired, 0 free, 1 waiting
 q quit  ↑ ↓ scroll";

#[tokio::test]
async fn watch_shows_holders_and_waiters_as_they_come_and_go() {
    let engine = Engine::with_locks().await;
    let mut terminal = engine.in_terminal("locks watch locks --interval 0.2", SIZE);
    let screen = terminal.until("The table contains no locks.").await;
    assert!(screen.ends_with(" 0 held, 0 expired, 0 free, 0 waiting\n q quit  ↑ ↓ scroll"), "{screen}");

    engine.hold("nightly-report", "worker-7").await;
    let locks = engine.locks().wait(LONG);
    let ann = locks.acquire("printer").owner("ann").fair().await.unwrap();
    let bob = locks.acquire("printer").owner("bob").fair().enter().await.unwrap();
    let is_complete = |screen: &str| screen.contains("1 waiting") && screen.contains("q quit");
    assert_eq!(terminal.until_screen(is_complete).await, PRINTER);

    ann.release().await.unwrap();
    bob.await.unwrap().detach();
    let screen = terminal.until("0 waiting").await;
    assert!(
        screen.contains(" printer                        bob                  held    <time> <fence>\n"),
        "{screen}"
    );
}

#[tokio::test]
async fn q_and_ctrl_c_and_a_signal_restore_the_terminal() {
    let engine = Engine::with_locks().await;
    for leave in ["q", "\u{3}", "\u{1b}", "signal"] {
        let mut terminal = engine.in_terminal("locks watch locks", SIZE);
        terminal.until("q quit").await;
        assert!(terminal.is_full_screen() && terminal.hides_cursor());
        match leave {
            "signal" => {
                let kill = Command::new("kill").arg(terminal.process().to_string()).status().await.unwrap();
                assert!(kill.success());
            }
            key => terminal.write(key).await,
        }
        assert_eq!(terminal.end().await.code(), Some(0), "{leave:?}");
        assert!(!terminal.is_full_screen() && !terminal.hides_cursor(), "{leave:?}");
        assert_eq!(terminal.screen(), "", "{leave:?}");
    }
}

#[tokio::test]
async fn a_resized_terminal_is_drawn_anew() {
    let engine = Engine::with_locks().await;
    engine.hold("nightly-report", "worker-7").await;
    let mut terminal = engine.in_terminal("locks watch locks", SIZE);
    terminal.until("FENCE OR TICKET").await;
    terminal.resize([6, 50]);
    let screen = terminal.until_screen(|screen| !screen.contains("FENCE") && screen.contains("q quit")).await;
    assert_eq!(
        screen,
        " locks of table `locks`                  every <time>
 LOCK                OWNER        STATE   TIME
 nightly-report      worker-7     held    <time>

 1 held, 0 expired, 0 free, 0 waiting
 q quit  ↑ ↓ scroll"
    );
    terminal.resize(SIZE);
    let screen = terminal.until("FENCE OR TICKET").await;
    assert!(screen.contains(" nightly-report                 worker-7             held    <time> <fence>"), "{screen}");
}

#[tokio::test]
async fn a_long_queue_is_scrolled_by_keys() {
    let engine = Engine::with_locks().await;
    let locks = engine.locks().wait(LONG);
    let mut tickets = Vec::new();
    for n in 0..10 {
        tickets.push(locks.acquire("printer").owner(format!("client-{n}")).fair().enter().await.unwrap());
    }
    let mut terminal = engine.in_terminal("queue watch locks printer", SIZE);
    let screen = terminal.until("rows 1 to 6 of 10").await;
    assert!(screen.starts_with(" queue of lock `printer` in table `locks`"), "{screen}");
    assert!(screen.contains("    5.                          client-5 ") && !screen.contains("client-6"), "{screen}");
    terminal.write("\u{1b}[B").await;
    terminal.until("rows 2 to 7 of 10").await;
    terminal.write("\u{1b}[6~").await;
    let screen = terminal.until("rows 5 to 10 of 10").await;
    assert!(screen.contains("    9.                          client-9 "), "{screen}");
    terminal.write("k").await;
    terminal.until("rows 4 to 9 of 10").await;
}

#[tokio::test]
async fn a_lost_server_is_in_the_footer_until_it_answers_again() {
    let engine = Engine::with_locks().await;
    engine.hold("nightly-report", "worker-7").await;
    let mut terminal = engine.in_terminal("locks watch locks --interval 0.2", SIZE);
    terminal.until("nightly-report").await;
    let Engine { database, server, .. } = engine;
    let addr = server.local_addr();
    server.shutdown().await.unwrap();
    let screen = terminal.until("no answer for").await;
    assert!(screen.contains(" nightly-report "), "the last answer stays: {screen}");
    assert!(screen.lines().last().unwrap().starts_with(" no answer for <time>: gave up after"), "{screen}");

    let _server = database.serve(addr).await.unwrap();
    let screen = terminal.until("q quit").await;
    assert!(screen.contains(" nightly-report "), "{screen}");
}

#[tokio::test]
async fn a_watch_that_cannot_start_leaves_the_terminal_as_it_was() {
    let engine = Engine::start().await;
    let mut terminal = engine.in_terminal("locks watch none", SIZE);
    assert_eq!(terminal.end().await.code(), Some(3));
    assert!(terminal.screen().starts_with("dynalock: table `none` does not exist"), "{}", terminal.screen());
}

#[tokio::test]
async fn watch_prints_a_line_of_json_for_each_update() {
    let engine = Engine::with_locks().await;
    let token = engine.hold("printer", "ann").await;
    let mut command = engine.command("queue watch locks printer --json --interval 0.1");
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = async || serde_json::from_str::<Value>(&lines.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!(next().await["locks"][0]["fence"], json!(token.fence()));
    engine.locks().break_lock("printer", token.fence()).await.unwrap();
    while next().await["locks"][0]["state"] != "free" {}
    engine.server.shutdown().await.unwrap();
    while next().await["error"] == Value::Null {}
    child.kill().await.unwrap();
}

#[tokio::test]
async fn a_command_that_waits_shows_its_progress_on_a_terminal() {
    let engine = Engine::start().await;
    for (args, progress, result) in [
        ("table create --locks locks", "creating table `locks` (<time>)", "table `locks` is ready"),
        ("locks list locks", "reading the locks of table `locks` (<time>)", "no locks"),
        ("doctor --color never", "checking the connection to DynamoDB (<time>)", "ok       endpoint"),
    ] {
        // Until the command shows its progress, no server takes the connection.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut terminal = engine.in_terminal_with("AWS_ENDPOINT_URL", &url, args, SIZE);
        terminal.until(progress).await;

        let server = engine.server.local_addr();
        let forward = tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let mut server = TcpStream::connect(server).await.unwrap();
                tokio::spawn(async move { copy_bidirectional(&mut client, &mut server).await });
            }
        });
        terminal.end().await;
        let screen = terminal.screen();
        assert!(screen.contains(result) && !screen.contains(progress), "{screen}");
        forward.abort();
    }
}

#[tokio::test]
async fn a_lock_is_broken_after_a_yes() {
    let engine = Engine::with_locks().await;
    let token = engine.hold("report", "worker-7").await;
    let mut terminal = engine.in_terminal("locks break locks report --color never", [24, 90]);
    let screen = terminal.until("[y/N]").await;
    assert!(screen.contains("owner      worker-7\n"), "{screen}");
    terminal.write("y\n").await;
    assert_eq!(terminal.end().await.code(), Some(0));
    assert!(
        terminal.screen().ends_with("broke lock `report` of `worker-7` with fence <fence>"),
        "{}",
        terminal.screen()
    );
    assert!(engine.locks().wait(Wait::No).acquire("report").await.unwrap().fence() > token.fence());
}

#[tokio::test]
async fn the_question_says_that_an_expired_lock_needs_no_break() {
    let engine = Engine::with_locks().await;
    engine.hold_until_past("report", "worker-7").await;
    let mut terminal = engine.in_terminal("locks break locks report --color never", [24, 90]);
    let screen = terminal.until("[y/N]").await;
    assert!(screen.contains("The lease has ended, so the next caller takes the lock over"), "{screen}");
    terminal.write("n\n").await;
    assert_eq!(terminal.end().await.code(), Some(5));
}

#[tokio::test]
async fn a_lock_stays_without_a_yes() {
    let engine = Engine::with_locks().await;
    let token = engine.hold("report", "worker-7").await;
    let mut terminal = engine.in_terminal("locks break locks report", [24, 90]);
    terminal.until("[y/N]").await;
    terminal.write("\n").await;
    assert_eq!(terminal.end().await.code(), Some(5));
    assert!(terminal.screen().ends_with("dynalock: not confirmed; nothing was changed"), "{}", terminal.screen());
    assert_eq!(engine.json("locks show locks report").await["fence"], json!(token.fence()));
}

#[tokio::test]
async fn a_newer_grant_than_the_shown_one_is_not_broken() {
    let engine = Engine::with_locks().await;
    let token = engine.hold("report", "worker-7").await;
    let mut terminal = engine.in_terminal("locks break locks report", [24, 90]);
    terminal.until("[y/N]").await;
    engine.locks().break_lock("report", token.fence()).await.unwrap();
    let newer = engine.hold("report", "worker-8").await;
    terminal.write("y\n").await;
    assert_eq!(terminal.end().await.code(), Some(5));
    let shown = engine.json("locks show locks report").await;
    assert_eq!((&shown["owner"], &shown["fence"]), (&json!("worker-8"), &json!(newer.fence())));
}

#[tokio::test]
async fn a_terminal_gets_colours_unless_no_color_is_set() {
    let engine = Engine::with_locks().await;
    engine.hold("report", "worker-7").await;
    for (args, has_colours) in [("locks list locks", true), ("locks list locks --color never", false)] {
        let mut terminal = engine.in_terminal(args, SIZE);
        assert_eq!(terminal.end().await.code(), Some(0));
        assert_eq!(terminal.has_colours(), has_colours, "{args}");
    }
    let mut terminal = engine.in_terminal_with("NO_COLOR", "1", "locks list locks", SIZE);
    assert_eq!(terminal.end().await.code(), Some(0));
    assert!(!terminal.has_colours());
}

use std::io::{BufRead, IsTerminal, Write, stderr, stdin};

use aws_sdk_dynamodb::Client;
use serde_json::json;

use super::{read, show};
use crate::{
    args::BreakArgs,
    connection::locks_of,
    failure::{Exit, Failure},
    lock::{Holder, Lock},
    output::{Output, print, print_json, shown},
};

pub(crate) async fn run(args: &BreakArgs, client: &Client, output: Output) -> Result<(), Failure> {
    let can_ask = stdin().is_terminal() && stderr().is_terminal();
    if !args.yes && !can_ask {
        let message = "nobody can confirm without a terminal; add --yes to break the lock";
        return Err(Failure::new(Exit::Usage, message));
    }
    let locks = locks_of(client, &args.lock);
    let lock = read(&locks, &args.lock).await?;
    let Some(holder) = &lock.holder else {
        let message = format!("lock `{}` is free; there is nothing to break", shown(&lock.name));
        return Err(Failure::new(Exit::NotFound, message));
    };
    if let Some(fence) = args.fence.filter(|fence| *fence != lock.fence) {
        return Err(changed(&lock, fence));
    }
    // The command shows the holder before it breaks the lock. The holder goes to stderr, because
    // stdout is for the result.
    let on_stderr = Output { has_colours: output.has_colours && stderr().is_terminal(), ..output };
    write!(stderr(), "{}", show::text(&lock, on_stderr))?;
    if !args.yes && !is_confirmed(&lock.name, holder)? {
        return Err(Failure::new(Exit::Changed, "not confirmed; nothing was changed"));
    }
    if !locks.break_lock(&lock.name, lock.fence).await? {
        return Err(changed(&lock, lock.fence));
    }
    match output.is_json {
        true => print_json(&json!({ "name": lock.name, "owner": holder.owner, "fence": lock.fence, "broken": true })),
        false => print(&format!(
            "broke lock `{}` of `{}` with fence {}\n",
            shown(&lock.name),
            shown(&holder.owner),
            lock.fence
        )),
    }
}

fn is_confirmed(name: &str, holder: &Holder) -> Result<bool, Failure> {
    let consequence = match holder.has_expired {
        true => "The lease has ended, so the next caller takes the lock over without a break.",
        false => "The holder works on until its next heartbeat.",
    };
    write!(stderr(), "\n{consequence} Break lock `{}`? [y/N] ", shown(name))?;
    stderr().flush()?;
    let mut answer = String::new();
    stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn changed(lock: &Lock, fence: u64) -> Failure {
    let message = format!(
        "lock `{}` is no longer held with fence {fence}; nothing was changed; look at it again with `dynalock locks show`",
        shown(&lock.name)
    );
    Failure::new(Exit::Changed, message)
}

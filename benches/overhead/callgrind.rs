//! The instructions of a call, counted by callgrind.

use std::{collections::HashMap, env, error::Error, fs, process::Command};

use crate::case::{Case, Ring, Side};

/// The number of instructions, and how many of them compute SHA-256.
///
/// Valgrind has no SHA instructions, so signing needs many times the instructions of a current
/// machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instructions {
    pub(crate) all: u64,
    pub(crate) sha: u64,
}

impl Instructions {
    pub(crate) fn without_sha(self) -> u64 {
        self.all - self.sha
    }
}

/// The instructions of one call, by two runs of this program that differ in the number of calls.
pub(crate) fn instructions(case: Case, side: Side, ring: Ring) -> Result<Instructions, Box<dyn Error>> {
    let [short, long] = case.runs();
    let [less, more] = [count(case, side, ring, short)?, count(case, side, ring, long)?];
    let a_call = |less: u64, more: u64| more.checked_sub(less).map(|counted| counted / (long - short));
    let all = a_call(less.all, more.all).filter(|all| *all > 0).ok_or("a longer run took no more instructions")?;
    let sha = a_call(less.sha, more.sha).filter(|sha| *sha > 0).ok_or("no function of SHA-256 was found")?;
    Ok(Instructions { all, sha })
}

/// The instructions of a whole run, which must succeed.
fn count(case: Case, side: Side, ring: Ring, runs: u64) -> Result<Instructions, Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let profile = directory.path().join("profile");
    let output = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(env::current_exe()?)
        .args(["run", case.name(), side.name(), ring.name(), &runs.to_string()])
        .output()
        .map_err(|error| format!("valgrind cannot be run: {error}"))?;
    if !output.status.success() {
        let report = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{}` by {} failed, {}:\n{report}", case.name(), side.name(), output.status).into());
    }
    let costs = self_costs(&fs::read_to_string(&profile)?);
    let sha = costs.iter().filter(|(function, _)| function.contains("sha2")).map(|(_, cost)| cost).sum();
    Ok(Instructions { all: costs.values().sum(), sha })
}

/// The instructions of each function without those of the functions that it calls, from callgrind's
/// format (<https://valgrind.org/docs/manual/cl-format.html>).
fn self_costs(profile: &str) -> HashMap<String, u64> {
    let mut names = HashMap::new();
    let mut costs = HashMap::new();
    let mut function = String::new();
    let mut is_call = false;
    for line in profile.lines() {
        if let Some(name) = line.strip_prefix("fn=").or_else(|| line.strip_prefix("cfn=")) {
            let name = full_name(name, &mut names);
            if line.starts_with("fn=") {
                function = name;
            }
        } else if line.starts_with("calls=") {
            is_call = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            // The line after a call has the instructions of the called function.
            let cost = line.split(' ').nth(1).and_then(|cost| cost.parse::<u64>().ok());
            if let (Some(cost), false) = (cost, is_call) {
                *costs.entry(function.clone()).or_insert(0) += cost;
            }
            is_call = false;
        }
    }
    costs
}

/// A name is written out where it comes first, `(7) name`, and is `(7)` afterwards.
fn full_name(name: &str, names: &mut HashMap<String, String>) -> String {
    match name.split_once(' ') {
        Some((number, name)) => {
            names.insert(number.to_owned(), name.to_owned());
            name.to_owned()
        }
        None => names.get(name).cloned().unwrap_or_default(),
    }
}

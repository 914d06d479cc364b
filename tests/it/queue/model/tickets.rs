//! The published queue in two steps. A process takes a number from a counter, and then enters the
//! queue with this number. The lowest number in the queue holds the lock.
//!
//! Each request is atomic, no request is lost, and no process crashes. A pause of one process
//! between the two steps is sufficient for a violation.

use super::explore::{Outcome, System, explore};

/// The number of reads after which a process believes that it has the lowest number.
struct Tickets {
    looks: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum At {
    Outside,
    Numbered,
    Queued,
    /// The process has seen itself as the lowest this number of times.
    Lowest(u8),
    Done,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Queue {
    counter: u8,
    numbers: [u8; 3],
    at: [At; 3],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Property {
    OneHolder,
    ServedInOrder,
}

impl System for Tickets {
    type State = Queue;
    type Step = (usize, &'static str);
    type Property = Property;

    fn start(&self) -> Queue {
        Queue { counter: 0, numbers: [0; 3], at: [At::Outside; 3] }
    }

    fn successors(&self, queue: &Queue, next: &mut Vec<(Self::Step, Queue)>) {
        for process in 0..3 {
            let mut after = *queue;
            let (word, at) = match queue.at[process] {
                At::Outside => {
                    after.counter += 1;
                    after.numbers[process] = after.counter;
                    ("takes a number", At::Numbered)
                }
                At::Numbered => ("enters the queue", At::Queued),
                At::Queued if queue.is_lowest(process) => ("sees that it is the lowest", At::Lowest(1)),
                At::Lowest(looks) if looks == self.looks => ("leaves", At::Done),
                At::Lowest(looks) if queue.is_lowest(process) => ("looks again", At::Lowest(looks + 1)),
                At::Lowest(_) => ("sees that it is not the lowest", At::Queued),
                At::Queued | At::Done => continue,
            };
            after.at[process] = at;
            next.push(((process, word), after));
        }
    }

    fn is_progress(_: &Self::Step) -> bool {
        true
    }

    fn broken(&self, queue: &Queue, wanted: Option<Property>) -> Option<Property> {
        let holds = |process: usize| queue.at[process] == At::Lowest(self.looks);
        let two = (0..3).filter(|&process| holds(process)).count() > 1;
        let overtaken = |one: usize| matches!(queue.at[one], At::Numbered | At::Queued);
        let inverted = (0..3)
            .any(|one| (0..3).any(|other| overtaken(one) && holds(other) && queue.numbers[one] < queue.numbers[other]));
        let found = [two.then_some(Property::OneHolder), inverted.then_some(Property::ServedInOrder)];
        found.into_iter().flatten().find(|&broken| wanted.is_none_or(|wanted| wanted == broken))
    }

    fn is_finished(&self, queue: &Queue) -> bool {
        queue.at == [At::Done; 3]
    }

    fn describe(&self, _: &Queue, &(process, word): &Self::Step, after: &Queue) -> String {
        format!("{} {word} {}", ['A', 'B', 'C'][process], after.numbers[process])
    }
}

impl Queue {
    fn is_lowest(&self, process: usize) -> bool {
        let queued = |other: usize| matches!(self.at[other], At::Queued | At::Lowest(_));
        (0..3).all(|other| !queued(other) || self.numbers[process] <= self.numbers[other])
    }
}

fn breaks(looks: u8, wanted: Property) -> String {
    match explore(&Tickets { looks }, Some(wanted)) {
        Outcome::Broken { trace, .. } => trace,
        Outcome::Holds { states } => panic!("{wanted:?} holds in {states} states"),
        Outcome::Stuck { trace } => panic!("stuck:\n{trace}"),
    }
}

#[test]
fn taking_a_number_before_entering_the_queue_lets_two_hold() {
    let trace = breaks(1, Property::OneHolder);
    let (numbered, entered) = (trace.find("A takes a number"), trace.find("A enters the queue"));
    assert!(
        numbered < trace.find("B sees that it is the lowest") && trace.find("B sees that it is the lowest") < entered,
        "{trace}"
    );
}

#[test]
fn taking_a_number_before_entering_the_queue_serves_a_later_one_first() {
    assert!(breaks(1, Property::ServedInOrder).contains("takes a number 2"));
}

#[test]
fn looking_twice_does_not_cure_it() {
    assert!(breaks(2, Property::OneHolder).contains("looks again"));
    assert!(breaks(2, Property::ServedInOrder).contains("looks again"));
}

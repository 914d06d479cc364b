//! The spans and events of the library. `guide::observability` compares the tables of the guide
//! with the program in `program`.

pub(crate) mod program;

mod background;
mod calls;
mod events;
mod secrets;

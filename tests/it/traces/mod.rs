//! The spans, events and metrics of the library, and the chapter of the guide that lists them.

mod program;

mod background;
mod calls;
//mod chapter;
//mod dashboard;
mod events;
//CFG
//mod metrics;
mod secrets;

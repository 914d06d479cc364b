//! Transactions when the network or the service fails and when many are at work, on the engine in the process.

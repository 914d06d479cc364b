/// Implements a method that sets one field of a builder, with an example in the documentation of
/// the method.
///
/// | part of a macro call | meaning |
/// |---|---|
/// | `self, [self.settings],` | the structs whose field the method sets |
/// | `{ /// .. "let all = query" ".await?;" /// .. },` | the example: the lines around one statement, and the two parts of the statement |
/// | `".budget(100)"` | the call of the method, which the macro inserts between the two parts of the statement |
/// | `fn budget(units: u64) { budget = Some(units) }` | the method, and the new value of the field |
macro_rules! setter {
    (
        $this:ident, [$($settings:expr),+],
        { $(#[$open:meta])* $before:literal $after:literal $(#[$close:meta])* },
        $(#[$doc:meta])*
        $call:literal fn $method:ident($($argument:ident: $type:ty),+) { $field:ident = $value:expr }
    ) => {
        $(#[$doc])*
        ///
        /// # Examples
        ///
        $(#[$open])*
        #[doc = concat!($before, $call, $after)]
        $(#[$close])*
        pub fn $method(mut $this, $($argument: $type),+) -> Self {
            $($settings.$field = $value;)+
            $this
        }
    };
}

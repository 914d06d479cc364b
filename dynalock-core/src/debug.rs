/// Implements `Debug` for a type whose `Debug` text leaves out fields, or whose type parameters are
/// not `Debug`.
///
/// | macro call | `Debug` text |
/// |---|---|
/// | `debug_fields!([T] Name<T>)` | `Name` |
/// | `debug_fields!([T] Name<T>, self => (self.field))` | `Name(..)` with one field |
/// | `debug_fields!([T] Name<T>, self => { field: self.field })` | `Name { field: .., .. }` |
macro_rules! debug_fields {
    ($([$($generics:tt)*])? $name:ident $(<$($argument:tt),*>)?) => {
        impl$(<$($generics)*>)? ::std::fmt::Debug for $name $(<$($argument),*>)? {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    };
    ($([$($generics:tt)*])? $name:ident $(<$($argument:tt),*>)?, $this:ident => ($field:expr)) => {
        impl$(<$($generics)*>)? ::std::fmt::Debug for $name $(<$($argument),*>)? {
            fn fmt(&$this, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_tuple(stringify!($name)).field(&$field).finish()
            }
        }
    };
    ($([$($generics:tt)*])? $name:ident $(<$($argument:tt),*>)?, $this:ident => { $($field:ident: $value:expr),* $(,)? }) => {
        impl$(<$($generics)*>)? ::std::fmt::Debug for $name $(<$($argument),*>)? {
            fn fmt(&$this, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($name))$(.field(stringify!($field), &$value))*.finish_non_exhaustive()
            }
        }
    };
}

//! Enumerations whose values have a name each.

/// Makes an enumeration from its values and their names, with `ALL`, `name` and `Display`:
/// `named! { pub enum Way { Up = "up", Down = "down", } }`.
#[macro_export]
macro_rules! named {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$each:meta])* $value:ident = $text:literal,)+ }) => {
        $(#[$about])*
        pub enum $name {
            $($(#[$each])* $value,)+
        }

        impl $name {
            /// All of them, in their order.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$value),+];

            /// The name as it is written and shown.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)+
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

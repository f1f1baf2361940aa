//! Whether a backend is taken to be well, from what calls and checks of it came to. It makes none.

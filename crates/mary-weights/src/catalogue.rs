//! A short list of models that are easy to get, and how each is fetched.

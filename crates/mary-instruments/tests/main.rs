//! Instruments on files, from the file to the tables.

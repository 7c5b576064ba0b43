// Package bounded limits texts of strangers before a parser reads them: bytes, depth, values, and
// keys of an object. Parsers build values as they read, so a limit that is checked afterwards
// comes too late: eight megabytes of "[[[[" are a hundred times as much memory as values.
//
// DESIGN.md lists all parsers that texts of strangers reach, with their limits.
package bounded

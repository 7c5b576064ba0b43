// Package words describes parsed rules of schedules in English.
//
// A dialect gives what it has parsed as a [Rule], and [Rule.Text] makes a sentence of it. The text
// of the specification is never used: two spellings of a rule have the same description. A rule
// that the package cannot describe exactly has none; it never describes a rule approximately.
//
// The sentences form a small closed grammar. A test in jobs/schedule reads them back and compares
// the instants with those of the rule.
package words

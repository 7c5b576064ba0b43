// Package archtest enforces the import table of the design and other rules of the repository. It
// has tests only.
package archtest

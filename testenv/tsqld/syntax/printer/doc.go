// Package printer writes the canonical text of a tree: the texts of modules, defaults and
// definitions.
package printer

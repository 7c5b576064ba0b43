// Package yamltext parses YAML texts of strangers within limits. The parser that it uses has
// none: its time grows with the square of the number of keys of a mapping, of entries on a line and
// of others, and its stack with the depth. jobs/bounded/DESIGN.md lists the limits.
//
// Common mistakes: walking over the values of [Decode] without a limit. Aliases share values, so a
// short text can have a tree of any size.
package yamltext

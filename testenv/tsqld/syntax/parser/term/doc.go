// Package term reads what contains no expressions: names, types, constants and options.
package term

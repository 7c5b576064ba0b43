// Package jsontree reads a JSON text into a tree whose values know their places: the offset in the
// text, the text itself, and the path, made from the parents. It keeps the order of members and
// names that occur twice, so that a reader can report them. It has no limits: package bounded
// checks a text before.
package jsontree

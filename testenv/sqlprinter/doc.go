// Package sqlprinter writes the canonical text of whole batches, for tests of the parser: the
// printed text must have the same tree.
//
// A function for each kind of node writes it. Functions write texts, nodes and lists in the order
// of T-SQL:
//
//	w.Put("CREATE SYNONYM ", s.Name, " FOR ", s.Target)
//	printer.Listed(w, " WITH (", s.Options, ")") // nothing without options
package sqlprinter

// Package printer writes the canonical text of expressions: the texts of defaults, constraints and
// definitions. Package testenv/sqlprinter writes whole batches with it.
//
// A function for each kind of node writes it. Functions write texts, nodes and lists in the order
// of T-SQL:
//
//	w.Put(x.X, " COLLATE ", x.Collation)
//	Listed(w, " WITHIN GROUP (ORDER BY ", f.WithinGroup, ")") // nothing without items
//	Opt(w, " ESCAPE ", c.Escape)                              // nothing if nil
package printer

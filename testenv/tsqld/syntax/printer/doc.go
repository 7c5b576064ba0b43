// Package printer writes the canonical text of a tree: the texts of defaults, constraints and
// definitions. Tests print whole batches, and expect that the printed text has the same tree.
//
// A function for each kind of node writes it. Functions write texts, nodes and lists in the order
// of T-SQL:
//
//	w.put("CREATE SYNONYM ", s.Name, " FOR ", s.Target)
//	listed(w, " WITH (", s.Options, ")") // nothing without options
//	opt(w, " ESCAPE ", c.Escape)         // nothing if nil
package printer

// Package xquery is the XQuery of the methods of xml: value, nodes, exist, query and modify.
//
// [Compile] parses a query and checks it as SQL Server does: it gives each expression a static type
// that depends on the text of the query only, so 'value()' of /r/a is error 2389 whatever the
// instance holds. [Query.Eval] evaluates the query over a [Node], the tree of an instance that
// [Read] makes of its stored text. [Change] is the same for modify.
//
// # What is supported
//
// Paths with the axes that SQL Server has (child, attribute, self, parent, descendant and
// descendant-or-self), predicates, general, value and node comparisons, arithmetic, FLWOR, some and
// every, if, constructors, cast as, instance of, the functions that Microsoft lists ("XQuery
// functions against the xml data type") without id and those of QName, sql:variable and sql:column.
// Instances are untyped: there are no schema collections.
//
// Syntax that SQL Server refuses is refused with its number (2209, 9335 and others); what only this
// package lacks is error 40517.
//
// # Types
//
// A dynamic error, such as a cast that fails, returns the empty sequence, as in SQL Server ("XQuery
// expressions", differences from the standard). Constructed XML can be returned, nested and tested,
// but not queried (error 2373).
//
// # Node references
//
// The column of nodes holds references: [Refs] encodes a node as a text, and [Read] of this text
// returns the node. The text has the node with the names of its ancestors, and more if a query
// goes up from the node ([Query.Reach]).
package xquery
